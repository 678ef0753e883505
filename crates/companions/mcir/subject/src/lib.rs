//! Small documents as a subject of proof: the validator of the companion against every run of every small document.

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

/// Small documents of memory-centric IR.
pub struct Documents;

/// For the list of what is proved.
pub static SUBJECT: Documents = Documents;

impl Explored for Documents {
    const NOUN: &'static str = "document";
    const DOCUMENT: &'static str = "spec/companions/mcir/soundness.md";
    const STRUCTURE: &'static str = "an IS";
    const STRUCTURE_CLASS: Class = Class::MCIR_STRUCTURE;
    const EXACT: bool = false;
    const REASONS: &'static [&'static str] = &REASONS;

    type Small = Small;
    type Family = Family;
    type Faults = Faults;

    fn scopes() -> Vec<Scope<Family>> {
        family::scopes()
    }

    fn broken(small: &Small) -> Option<Vec<Rule>> {
        let document = megakernel_mcir::read(&small.document()).ok()?;
        let found = megakernel_mcir_reference::validate_document(&document).diagnostics;
        Some(found.iter().filter(|found| found.is_error()).map(|found| found.rule).collect())
    }

    fn explore(small: &Small) -> Option<Faults> {
        Some(explore::explore(small))
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
