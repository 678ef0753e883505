//! What has been seen, and how often.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use megakernel_ir::protocol::Profile;
use megakernel_ir::{Opcode, registry};

/// Crossings by how many documents had them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    seen: BTreeMap<String, u64>,
    verdicts: u64,
    executions: u64,
}

impl Coverage {
    /// Counts the crossings of a document.
    pub fn add(&mut self, profile: Profile, crossings: &BTreeSet<String>) {
        match profile == Profile::EXECUTE {
            true => self.executions += 1,
            false => self.verdicts += 1,
        }
        for crossing in crossings {
            *self.seen.entry(crossing.clone()).or_default() += 1;
        }
    }

    /// How often the rarest of these was seen. Documents whose rarest crossing is new come first.
    pub fn rarity(&self, crossings: &BTreeSet<String>) -> u64 {
        let counts = crossings.iter().map(|crossing| self.seen.get(crossing).copied().unwrap_or(0));
        counts.min().unwrap_or(u64::MAX)
    }

    /// What was seen, as text: rules with how often they were broken in how many ways, and opcodes likewise.
    pub fn text(&self, profiles: &[Profile]) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        if self.verdicts > 0 {
            let judged = registry::rules()
                .filter(|rule| profiles.iter().any(|profile| profile.judges(rule.class())))
                .map(|rule| (rule.id(), self.of(rule.id())));
            let (seen, never): (Vec<_>, Vec<_>) = judged.partition(|(_, (ways, _))| *ways > 0);
            let _ = writeln!(
                out,
                "Rules broken: how often, summed over crossings (crossings with opcode, kind, space and dtype)"
            );
            let _ =
                writeln!(out, "{}", columns(seen.iter().map(|(id, (ways, n))| format!("{id} {n} ({ways})"))));
            if !never.is_empty() {
                let never: Vec<&str> = never.iter().map(|(id, _)| *id).collect();
                let _ = writeln!(out, "  never broken: {}", never.join(", "));
            }
        }
        if self.executions > 0 {
            let all = Opcode::ALL.iter().map(|op| (op.name(), self.of(op.name())));
            let _ = writeln!(
                out,
                "Opcodes executed: crossings with dtype, rank and position of operands, and with parameters"
            );
            let _ = writeln!(out, "{}", columns(all.map(|(op, (ways, _))| format!("{op} {ways}"))));
        }
        let _ = writeln!(out, "{} crossings in all", self.seen.len());
        out
    }

    /// How many crossings begin with this name, and the sum of their documents.
    fn of(&self, name: &str) -> (usize, u64) {
        let own = self.seen.iter().filter(|(key, _)| key.split(' ').next() == Some(name));
        own.fold((0, 0), |(ways, n), (_, count)| (ways + 1, n + count))
    }
}

/// Entries in lines that a terminal holds.
fn columns(entries: impl Iterator<Item = String>) -> String {
    let mut lines = vec![String::from(" ")];
    for entry in entries {
        if lines.last().is_some_and(|line| line.len() + entry.len() > 110) {
            lines.push(String::from(" "));
        }
        if let Some(line) = lines.last_mut() {
            let _ = write!(line, " {entry},");
        }
    }
    lines.join("\n").trim_end_matches(',').to_owned()
}
