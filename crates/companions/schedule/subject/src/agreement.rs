//! What the validator says of a small schedule beside what its runs show, and whether the two agree.

use megakernel_ir::Rule;
use megakernel_ir::rule::Class;

use crate::explore::Faults;
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

/// Why a run bears out that a rule is broken; nothing if none does.
pub fn reason(small: &Small, faults: &Faults, rule: Rule) -> Option<usize> {
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

/// What goes wrong and no broken rule is about.
pub fn missed(rules: &[Rule], faults: &Faults) -> Option<&'static str> {
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
