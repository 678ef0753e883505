//! What the validator says of a program beside what the explorer finds, and whether the two agree.
//!
//! An accepted program has no fault. A rejected one has, for each rule that it breaks, a fault that the rule forbids, or the
//! rule is stricter than the semantics in a way that clause EXE-11 lists. `cargo xtask prove` asks this of all small
//! programs, the fuzz target `agree` of random ones. Here alone do validator and explorer meet.

use std::fmt;
use std::ops::AddAssign;

use megakernel_ir::diagnostic::Witness;
use megakernel_ir::model::Program;
use megakernel_ir::rule::Class;
use megakernel_ir::{Diagnostic, Rule};

use crate::explore::{Compact, Explorer, FaultKind, Faults, Machine, NotReplayed, Outcome, Strength, replay};
use crate::validate::{Classes, broken_rules, validate_program};

/// Why a rule rejects a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Some run goes wrong in the way that the rule forbids.
    Shown,
    /// Only the queues of this placement keep the fault away.
    Placement,
    /// A partial wait, and nothing depends on which producers came first.
    AllJoin,
    /// A cycle through a partial wait, which is satisfied before the cycle closes.
    PartialCycle,
    /// A read of cache rows that this launch overwrites later, in order.
    Stale,
    /// Whole buffers, and one interval of use: the tasks do not meet, or the page goes back and forth.
    LiveRange,
    /// The faulty storage is not accessed where it is faulty.
    Unused,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Reason; 7] = [
        Reason::Shown,
        Reason::Placement,
        Reason::AllJoin,
        Reason::PartialCycle,
        Reason::Stale,
        Reason::LiveRange,
        Reason::Unused,
    ];

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Shown => "shown",
            Reason::Placement => "placement",
            Reason::AllJoin => "all-join",
            Reason::PartialCycle => "partial cycle",
            Reason::Stale => "stale",
            Reason::LiveRange => "live range",
            Reason::Unused => "unused",
        }
    }
}

/// What the two say of one program.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdicts {
    /// The rules that the validator finds broken.
    pub rules: Vec<Rule>,
    /// What the explorer finds.
    pub faults: Faults,
    /// Whether a second launch reads in a cache what another task wrote in the first.
    pub recalls: bool,
    /// Why, for each rule; nothing for one that no run bears out and that the specification does not call conservative.
    pub reasons: Vec<Option<Reason>>,
}

impl Verdicts {
    /// Whether an accepted program goes wrong, or a rule rejects one without cause.
    pub fn disagree(&self) -> bool {
        let goes_wrong = !self.faults.is_empty() || self.recalls;
        if self.rules.is_empty() { goes_wrong } else { self.reasons.contains(&None) }
    }
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules: Vec<&str> = self.rules.iter().map(|rule| rule.id()).collect();
        match rules.as_slice() {
            [] => writeln!(f, "validator: accept")?,
            rules => writeln!(f, "validator: reject, {}", rules.join(" "))?,
        }
        if self.recalls {
            writeln!(f, "explorer: a second launch reads in a cache what another task wrote in the first")?;
        }
        if self.faults.is_empty() {
            return write!(f, "explorer: no bad execution");
        }
        let faults: Vec<String> = self
            .faults
            .iter()
            .map(|(kind, strength)| match strength {
                Strength::Shows => kind.to_string(),
                Strength::Latent => format!("{kind} (kept away by queues only)"),
            })
            .collect();
        write!(f, "explorer: {}", faults.join(", "))
    }
}

/// Judges programs one after the other.
#[derive(Default)]
pub struct Judge {
    explorer: Explorer,
    compact: Compact,
    dropped: Option<Rule>,
    overlooks_replaced: bool,
}

impl Judge {
    /// A judge who drops the findings of a rule: a deliberately weakened validator.
    pub fn without(dropped: Rule) -> Judge {
        Judge { dropped: Some(dropped), ..Judge::default() }
    }

    /// A judge who takes a task's own write for the one that supplies its read: R06 then says nothing of a task that replaces in
    /// place what an earlier launch left in a cache.
    pub fn without_replaced() -> Judge {
        Judge { overlooks_replaced: true, ..Judge::default() }
    }

    /// Asks both. Nothing for a program that breaks an S rule or is too large: then it should not have been asked about.
    pub fn judge(&mut self, program: &Program<'_>) -> Option<Verdicts> {
        let mut rules = broken_rules(program, Classes::ALL);
        if rules.first().is_some_and(|rule| rule.class() == Class::STRUCTURE) {
            return None;
        }
        rules.retain(|&rule| Some(rule) != self.dropped);
        if self.overlooks_replaced && rules.contains(&Rule::R06) {
            let mut found = validate_program(program, Classes::ALL).diagnostics;
            found.retain(|diagnostic| diagnostic.rule == Rule::R06 && !is_of_replaced(program, diagnostic));
            rules.retain(|&rule| rule != Rule::R06 || !found.is_empty());
        }
        self.compact.fill(program).ok()?;
        let faults = self.explorer.explore(&self.compact);
        let reasons = rules.iter().map(|&rule| reason(rule, faults, program)).collect();
        Some(Verdicts { rules, faults, recalls: self.explorer.recalls(), reasons })
    }

    /// A run that leads to a fault of the program judged last.
    pub fn run(&self, kind: FaultKind, strength: Strength) -> Vec<megakernel_ir::diagnostic::Event> {
        self.explorer.run(kind, strength).map(|run| run.events().collect()).unwrap_or_default()
    }
}

/// Whether it is about an ordered read by a task that writes the same buffer.
fn is_of_replaced(program: &Program<'_>, diagnostic: &Diagnostic) -> bool {
    let Some(Witness::Unwritten { task, buffer, .. }) = diagnostic.witness else { return false };
    program[task].outputs.contains(&i64::from(buffer))
}

/// Why the rule rejects: a fault of the kinds that it forbids, or one of the ways of clause EXE-11 in which it is stricter.
fn reason(rule: Rule, faults: Faults, program: &Program<'_>) -> Option<Reason> {
    use FaultKind::*;
    let among = |kinds: &[FaultKind], strength| kinds.iter().any(|&kind| faults.has(kind, strength));
    let evidence = |kinds: &[FaultKind]| {
        // Tasks that never run show nothing; the deadlock does.
        if among(kinds, Strength::Shows) || faults.has(Deadlock, Strength::Shows) {
            Some(Reason::Shown)
        } else {
            among(kinds, Strength::Latent).then_some(Reason::Placement)
        }
    };
    match rule {
        Rule::D01 | Rule::D02 | Rule::D07 => evidence(&[]),
        Rule::D03 | Rule::D04 | Rule::D05 | Rule::D06 => {
            evidence(&[]).or_else(|| has_partial_wait(program).then_some(Reason::PartialCycle))
        }
        Rule::R01 => faults.shows().then_some(Reason::Shown).or(Some(Reason::AllJoin)),
        Rule::R02 | Rule::M05 => evidence(&[UnwrittenRead]),
        Rule::R03 | Rule::R05 => evidence(&[ReadWriteRace]),
        Rule::R04 => evidence(&[WriteWriteRace]),
        Rule::R06 => evidence(&[ReadWriteRace])
            .or_else(|| faults.has(StaleRead, Strength::Shows).then_some(Reason::Stale)),
        Rule::R07 => evidence(&[UnwrittenRead]).or(Some(Reason::Unused)),
        Rule::P01 => evidence(&[PageViolation]).or(Some(Reason::LiveRange)),
        Rule::P02 | Rule::P03 | Rule::P05 => evidence(&[PageViolation]).or(Some(Reason::Unused)),
        Rule::P04 => evidence(&[PageViolation, UnwrittenRead]).or(Some(Reason::Unused)),
        _ => None,
    }
}

fn has_partial_wait(program: &Program<'_>) -> bool {
    program.tasks.iter().flat_map(|task| &task.waits).any(|wait| {
        let producers = program.tasks.iter().filter(|task| task.out_counter == wait.counter);
        wait.threshold < producers.count() as i64
    })
}

/// How many diagnostics of a program lead to the execution that they are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Witnesses {
    /// Those that do.
    pub replayed: u64,
    /// Those that do not, because no run goes wrong in the way that the rule names.
    pub without: u64,
}

impl AddAssign for Witnesses {
    fn add_assign(&mut self, other: Witnesses) {
        self.replayed += other.replayed;
        self.without += other.without;
    }
}

/// Whether a rule is about executions: those of classes D, R and P, and M05, but for P06, which is about what an SM can
/// hold.
pub fn is_about_executions(rule: Rule) -> bool {
    [Class::DEADLOCK, Class::RACE, Class::PAGES].contains(&rule.class()) && rule != Rule::P06
        || rule == Rule::M05
}

impl Verdicts {
    /// Replays the diagnostics of the program of these verdicts.
    ///
    /// # Errors
    /// A witness does not fit the program, leads to a fault that the explorer does not know, or leads nowhere though the
    /// rule was found to be borne out by some run. The text says which.
    pub fn witnesses(&self, program: &Program<'_>) -> Result<Witnesses, String> {
        let mut found = Witnesses::default();
        if self.rules.is_empty() {
            return Ok(found);
        }
        let stuck = self.faults.has(FaultKind::Deadlock, Strength::Shows);
        let mut diagnostics = validate_program(program, Classes::ALL).diagnostics;
        diagnostics.retain(|diagnostic| is_about_executions(diagnostic.rule));
        for diagnostic in &diagnostics {
            match replay(program, diagnostic) {
                Ok(shown) => {
                    found.replayed += 1;
                    let mut machine = Machine::new(program);
                    for &event in &shown.events {
                        machine
                            .step(event)
                            .map_err(|blocked| format!("{event:?}: {blocked:?}: {diagnostic:?}"))?;
                    }
                    if let Outcome::Fault(fault) = shown.outcome
                        && !self.faults.has_any(fault.kind)
                    {
                        return Err(format!(
                            "the explorer knows of no such fault: {fault:?}: {diagnostic:?}"
                        ));
                    }
                }
                Err(NotReplayed::NoFault | NotReplayed::NoWitness) => {
                    found.without += 1;
                    let mut judged = self.rules.iter().zip(&self.reasons);
                    let reason =
                        judged.find_map(|(&rule, &reason)| reason.filter(|_| rule == diagnostic.rule));
                    // Faults are told apart by kind only: what is shown may be another diagnostic's.
                    let vague = diagnostic.witness.is_none() || diagnostic.rule.class() == Class::PAGES;
                    let others = vague && diagnostics.len() > 1;
                    if !stuck && !others && reason == Some(Reason::Shown) {
                        return Err(format!("no run was found: {diagnostic:?}"));
                    }
                }
                Err(other) => return Err(format!("{other}: {diagnostic:?}")),
            }
        }
        Ok(found)
    }
}
