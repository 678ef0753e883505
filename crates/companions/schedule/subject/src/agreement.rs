//! What the validator says of a small schedule beside what its runs show, and whether the two agree.

use std::fmt;

use megakernel_ir::Rule;
use megakernel_ir::rule::Class;
use megakernel_schedule_reference::validate_schedule;

use crate::explore::{Faults, explore};
use crate::small::{Held, Small};

/// Why a rule rejects, by name.
pub const REASONS: [&str; 5] = ["shown", "counts alone", "held worker", "drift alone", "put back"];
const SHOWN: usize = 0;
/// A wait that is not for all tells less than what comes before in every run.
const COUNTS: usize = 1;
/// A worker is held, and in every run what it waits for comes from elsewhere.
const HELD: usize = 2;
/// A period that is not the total does no harm in the launches explored.
const DRIFT: usize = 3;
/// A cache is written over, and written anew before the launch ends.
const BACK: usize = 4;

/// The races between accesses.
const RACES: [Rule; 5] = [Rule::ER01, Rule::ER02, Rule::ER03, Rule::ER04, Rule::ER07];

/// Asks both.
pub struct Judge {
    /// What the validator does not find.
    pub without: Option<Rule>,
}

/// What the two say.
#[derive(Debug)]
pub struct Verdicts {
    /// The rules that the validator finds broken.
    pub rules: Vec<Rule>,
    /// Why, for each of them.
    pub reasons: Vec<Option<usize>>,
    /// What the explorer finds.
    pub faults: Faults,
    /// What goes wrong and no rule about that rejects.
    pub missed: Option<&'static str>,
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules: Vec<&str> = self.rules.iter().map(|rule| rule.id()).collect();
        let verdict = if rules.is_empty() { "accept".to_owned() } else { rules.join(", ") };
        write!(f, "validator: {verdict}\nexplorer: {:?}", self.faults)
    }
}

impl Judge {
    /// What the two say of a schedule. Nothing for one that breaks an ES rule or is too large.
    pub fn ask(&mut self, small: &Small) -> Option<Verdicts> {
        let schedule = megakernel_schedule::read(&small.document()).ok()?;
        let found = validate_schedule(&schedule).diagnostics;
        let mut rules: Vec<Rule> =
            found.iter().filter(|found| found.is_error()).map(|found| found.rule).collect();
        rules.dedup();
        if rules.iter().any(|rule| rule.class() == Class::SCHEDULE_STRUCTURE) {
            return None;
        }
        rules.retain(|rule| Some(*rule) != self.without);
        let faults = explore(small)?;
        let reasons = rules.iter().map(|&rule| reason(small, &faults, rule)).collect();
        let missed = missed(&rules, &faults);
        Some(Verdicts { rules, reasons, faults, missed })
    }
}

fn reason(small: &Small, faults: &Faults, rule: Rule) -> Option<usize> {
    let or = |shown: bool, other: Option<usize>| if shown { Some(SHOWN) } else { other };
    match rule {
        Rule::ED01 | Rule::ED02 | Rule::ED03 | Rule::ED04 => or(faults.deadlock, None),
        Rule::ED05 => or(faults.later, Some(DRIFT)),
        Rule::ED06 => or(faults.deadlock, Some(HELD)),
        rule if RACES.contains(&rule) => {
            or(faults.races.contains(&rule), has_partial_wait(small).then_some(COUNTS))
        }
        Rule::ER08 => {
            or(faults.contents.contains(&rule), (small.setting.held == Held::Cache).then_some(BACK))
        }
        _ => or(faults.contents.contains(&rule), None),
    }
}

/// Whether some wait is for less than the total.
fn has_partial_wait(small: &Small) -> bool {
    let phases = || small.tasks.iter().flat_map(|task| &task.phases);
    let total = |event: u8| -> u64 {
        let signals = phases().flat_map(|phase| &phase.signals);
        signals.filter(|(of, _)| *of == event).map(|(_, amount)| amount).sum()
    };
    phases().flat_map(|phase| &phase.waits).any(|&(event, count)| count < total(event))
}

fn missed(rules: &[Rule], faults: &Faults) -> Option<&'static str> {
    let has_class = rules.iter().any(|rule| rule.class() == Class::SCHEDULE_DEADLOCK);
    if has_class {
        // Nothing else is judged. A deadlock has to be found by a rule about it.
        let about = |rule: &&Rule| **rule != Rule::ED05;
        let is_missed = faults.deadlock && !rules.iter().any(|rule| about(&rule));
        return is_missed.then_some("a deadlock");
    }
    if faults.deadlock {
        return Some("a deadlock");
    }
    if faults.later {
        return Some("what goes wrong in a later launch");
    }
    if faults.races.iter().any(|rule| !rules.contains(rule)) {
        return Some("a race");
    }
    let has_race = rules.iter().any(|rule| RACES.contains(rule));
    // ER08 is not judged of what breaks ER05 or ER06.
    let is_other = |rule: &&Rule| {
        **rule != Rule::ER08
            || !faults.contents.contains(&Rule::ER05) && !faults.contents.contains(&Rule::ER06)
    };
    let contents = faults.contents.iter().filter(is_other);
    let is_missed = !has_race && contents.into_iter().any(|rule| !rules.contains(rule));
    is_missed.then_some("what is read and should not be")
}
