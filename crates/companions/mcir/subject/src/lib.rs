//! Small documents as a subject of proof: the validator of the companion against every run of every small document.

mod agreement;
mod explore;
mod family;
mod small;
#[cfg(test)]
mod tests;

use megakernel_ir::Rule;
use megakernel_prove::{Scope, Subject, Weakness};

use agreement::{Judge, REASONS, Verdicts};
use family::Family;
use small::Small;

/// Small documents of memory-centric IR.
pub struct Documents;

/// For the list of what is proved.
pub static SUBJECT: Documents = Documents;

impl Subject for Documents {
    const NOUN: &'static str = "document";
    const DOCUMENT: &'static str = "spec/companions/mcir/soundness.md";
    const STRUCTURE: &'static str = "an IS";
    const EXACT: bool = false;
    const REASONS: &'static [&'static str] = &REASONS;

    type Document = Small;
    type Family = Family;
    type Enumeration = family::Enumeration;
    type Judge = Judge;
    type Verdicts = Verdicts;

    fn scopes() -> Vec<Scope<Family>> {
        family::scopes()
    }

    fn enumerate(family: &Family) -> family::Enumeration {
        family::Enumeration(family.clone())
    }

    fn judge(without: Option<Weakness>) -> Judge {
        Judge {
            without: match without {
                Some(Weakness::Rule(rule)) => Some(rule),
                Some(Weakness::Part(_)) | None => None,
            },
        }
    }

    fn ask(judge: &mut Judge, document: &Small) -> Option<Verdicts> {
        judge.ask(document)
    }

    fn disagree(verdicts: &Verdicts) -> bool {
        verdicts.missed.is_some() || verdicts.reasons.contains(&None)
    }

    fn alike(one: &Verdicts, other: &Verdicts) -> bool {
        one.missed == other.missed && one.rules.is_empty() == other.rules.is_empty()
    }

    fn rules(verdicts: &Verdicts) -> &[Rule] {
        &verdicts.rules
    }

    fn reason(verdicts: &Verdicts, rule: usize) -> Option<usize> {
        verdicts.reasons.get(rule).copied().flatten()
    }

    fn shows(verdicts: &Verdicts) -> bool {
        verdicts.faults.any()
    }

    fn smaller(document: &Small) -> Vec<Small> {
        document.smaller()
    }

    fn text(document: &Small) -> String {
        format!("{:#}\n", document.document())
    }

    fn remarks(_: &mut Judge, _: &Small, verdicts: &Verdicts) -> Vec<String> {
        verdicts.missed.map(|missed| format!("no rule about it rejects {missed}")).into_iter().collect()
    }
}
