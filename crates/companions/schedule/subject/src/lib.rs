//! Small schedules as a subject of proof: the validator of the companion against every run of every small schedule; and small traces.

mod agreement;
mod explore;
mod family;
mod small;
#[cfg(test)]
mod tests;
mod traces;

use std::path::Path;

use megakernel_ir::Rule;
use megakernel_ir::rule::Class;
use megakernel_prove::{Explored, Options, Provable, Scope};

use agreement::REASONS;
use explore::Faults;
use family::Family;
use small::Small;
use traces::Traces;

/// Small schedules.
struct Schedules;

/// Small schedules, and small traces.
pub struct Both;

/// For the list of what is proved.
pub static SUBJECT: Both = Both;

impl Provable for Both {
    fn scopes(&self) -> Vec<&'static str> {
        [Provable::scopes(&Schedules), Provable::scopes(&Traces)].concat()
    }

    fn list(&self) -> String {
        [Schedules.list(), Traces.list()].concat()
    }

    fn prove(
        &self,
        root: &Path,
        scope: &str,
        options: &Options,
        print: &dyn Fn(&str) -> Result<(), String>,
    ) -> Result<bool, String> {
        match Provable::scopes(&Traces).contains(&scope) {
            true => Traces.prove(root, scope, options, print),
            false => Schedules.prove(root, scope, options, print),
        }
    }
}

impl Explored for Schedules {
    const NOUN: &'static str = "schedule";
    const DOCUMENT: &'static str = "spec/companions/schedule/soundness.md";
    const STRUCTURE: &'static str = "an ES";
    const STRUCTURE_CLASS: Class = Class::SCHEDULE_STRUCTURE;
    const EXACT: bool = true;
    const REASONS: &'static [&'static str] = &REASONS;

    type Small = Small;
    type Family = Family;
    type Faults = Faults;

    fn scopes() -> Vec<Scope<Family>> {
        family::scopes()
    }

    fn broken(small: &Small) -> Option<Vec<Rule>> {
        let schedule = megakernel_schedule::read(&small.document()).ok()?;
        let found = megakernel_schedule_reference::validate_schedule(&schedule).diagnostics;
        Some(found.iter().filter(|found| found.is_error()).map(|found| found.rule).collect())
    }

    fn explore(small: &Small) -> Option<Faults> {
        explore::explore(small)
    }

    fn reason(small: &Small, faults: &Faults, rule: Rule) -> Option<usize> {
        agreement::reason(small, faults, rule)
    }

    fn missed(rules: &[Rule], faults: &Faults) -> Option<&'static str> {
        agreement::missed(rules, faults)
    }

    fn smaller(small: &Small) -> Vec<Small> {
        small.smaller()
    }

    fn text(small: &Small) -> String {
        format!("{:#}\n", small.document())
    }
}
