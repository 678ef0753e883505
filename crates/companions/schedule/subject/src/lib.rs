//! Small schedules as a subject of proof: the validator of the companion against every run of every small schedule.

mod agreement;
mod explore;
mod family;
mod small;
#[cfg(test)]
mod tests;

use megakernel_ir::Rule;
use megakernel_ir::rule::Class;
use megakernel_prove::{Explored, Scope};

use agreement::REASONS;
use explore::Faults;
use family::Family;
use small::Small;

/// Small schedules.
pub struct Schedules;

/// For the list of what is proved.
pub static SUBJECT: Schedules = Schedules;

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
