//! Small systems as a subject of proof: the validator of the companion against every reachable state of every small system.

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

/// Small systems.
pub struct Collectives;

/// For the list of what is proved.
pub static SUBJECT: Collectives = Collectives;

impl Subject for Collectives {
    const NOUN: &'static str = "system";
    const DOCUMENT: &'static str = "spec/companions/collectives/soundness.md";
    const STRUCTURE: &'static str = "a CS";
    const EXACT: bool = true;
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
        verdicts.missed.is_some() || verdicts.rules.iter().any(|rule| !verdicts.shown.contains(rule))
    }

    fn alike(one: &Verdicts, other: &Verdicts) -> bool {
        one.missed == other.missed && one.rules.is_empty() == other.rules.is_empty()
    }

    fn rules(verdicts: &Verdicts) -> &[Rule] {
        &verdicts.rules
    }

    fn reason(verdicts: &Verdicts, rule: usize) -> Option<usize> {
        verdicts.rules.get(rule).filter(|rule| verdicts.shown.contains(rule)).map(|_| 0)
    }

    fn shows(verdicts: &Verdicts) -> bool {
        !verdicts.shown.is_empty()
    }

    fn smaller(document: &Small) -> Vec<Small> {
        document.smaller()
    }

    fn text(document: &Small) -> String {
        format!("{:#}\n", document.document())
    }

    fn remarks(_: &mut Judge, _: &Small, verdicts: &Verdicts) -> Vec<String> {
        verdicts.missed.map(|missed| format!("the validator does not find {missed}")).into_iter().collect()
    }
}
