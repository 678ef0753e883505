//! Small schedules with logs as a subject of proof: the rules on traces against runs of the schedule along the log.

mod cover;
mod family;
mod small;

use megakernel_ir::Rule;
use megakernel_ir::rule::Class;
use megakernel_prove::{Explored, Scope};

use family::Family;
use small::Small;

/// Small traces.
pub struct Traces;

/// Whether no run of the schedule has the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IsUncovered(bool);

impl Explored for Traces {
    const NOUN: &'static str = "trace";
    const DOCUMENT: &'static str = "spec/companions/schedule/soundness.md";
    const STRUCTURE: &'static str = "an ES";
    const STRUCTURE_CLASS: Class = Class::SCHEDULE_STRUCTURE;
    const EXACT: bool = true;
    const REASONS: &'static [&'static str] = &["shown"];

    type Small = Small;
    type Family = Family;
    type Faults = IsUncovered;

    fn scopes() -> Vec<Scope<Family>> {
        family::scopes()
    }

    fn broken(small: &Small) -> Option<Vec<Rule>> {
        let document = small.document();
        let found = megakernel_schedule_reference::trace_of(&document, &document).diagnostics;
        Some(found.iter().map(|found| found.rule).collect())
    }

    fn explore(small: &Small) -> Option<IsUncovered> {
        Some(IsUncovered(!cover::covers(small)))
    }

    fn reason(_: &Small, faults: &IsUncovered, _: Rule) -> Option<usize> {
        faults.0.then_some(0)
    }

    fn missed(rules: &[Rule], faults: &IsUncovered) -> Option<&'static str> {
        (faults.0 && rules.is_empty()).then_some("a log that no run of the schedule has")
    }

    fn smaller(small: &Small) -> Vec<Small> {
        small.smaller()
    }

    fn text(small: &Small) -> String {
        format!("{:#}\n", small.document())
    }
}
