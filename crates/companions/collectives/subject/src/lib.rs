//! Small systems as a subject of proof: the validator of the companion against every reachable state of every small system.

mod agreement;
mod explore;
mod family;
mod sample;
mod small;
#[cfg(test)]
mod tests;

use megakernel_collectives::read_algorithm;
use megakernel_collectives_reference::answer::judged;
use megakernel_ir::Rule;
use megakernel_ir::rule::Class;
use megakernel_prove::{Explored, Scope};

use agreement::{Faults, REASONS};
use family::Family;
use small::Small;

/// Small systems.
pub struct Collectives;

/// For the list of what is proved.
pub static SUBJECT: Collectives = Collectives;

impl Explored for Collectives {
    const NOUN: &'static str = "system";
    const DOCUMENT: &'static str = "spec/companions/collectives/soundness.md";
    const STRUCTURE: &'static str = "a CS";
    const STRUCTURE_CLASS: Class = Class::COLLECTIVE_STRUCTURE;
    const EXACT: bool = true;
    const REASONS: &'static [&'static str] = &REASONS;

    type Small = Small;
    type Family = Family;
    type Faults = Faults;

    fn scopes() -> Vec<Scope<Family>> {
        family::scopes()
    }

    fn broken(small: &Small) -> Option<Vec<Rule>> {
        let algorithm = read_algorithm(&small.document()).ok()?;
        let found = judged(&algorithm, false).err().unwrap_or_default();
        Some(found.iter().map(|fault| fault.rule).collect())
    }

    fn explore(small: &Small) -> Option<Faults> {
        agreement::explored(small)
    }

    fn reason(_: &Small, faults: &Faults, rule: Rule) -> Option<usize> {
        faults.shown.contains(&rule).then_some(0)
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
