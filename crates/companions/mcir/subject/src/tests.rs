//! A validator without one of its rules does not pass.

use megakernel_ir::Rule;
use megakernel_prove::{Options, Outcome, Scope, Subject, Tally, Weakness, run};

use crate::Documents;
use crate::family::Family;

/// The rules that are about runs.
const JUDGED: [Rule; 6] = [Rule::IO01, Rule::IO02, Rule::IO03, Rule::IO04, Rule::IO05, Rule::IL02];

fn quick() -> Scope<Family> {
    Documents::scopes().into_iter().find(|scope| scope.name == "mcir-quick").expect("a scope for tests")
}

#[test]
fn validator_and_explorer_agree_on_the_quick_scope() {
    let mut total = Tally::default();
    match run::<Documents>(&quick(), &Options::default()).expect("every document can be judged") {
        Outcome::Agreement(tallies) => tallies.iter().for_each(|tally| total.add(tally)),
        Outcome::Disagreement(found) => unreachable!("{found}"),
    }
    assert!(total.documents > 1_000 && total.accepted > 50 && total.shown > 1_000, "{total:?}");
    assert!(total.conservative < total.shown / 4, "{total:?}");
    for rule in JUDGED {
        let shown = total.rules.get(&rule).and_then(|counts| counts.first()).copied();
        assert!(shown.unwrap_or(0) > 0, "no run shows {rule}");
    }
}

#[test]
fn a_validator_without_a_rule_is_found_out() {
    let scope = quick();
    for rule in JUDGED {
        let options = Options { without: Some(Weakness::Rule(rule)), ..Options::default() };
        let Ok(Outcome::Disagreement(found)) = run::<Documents>(&scope, &options) else {
            unreachable!("nothing is missing without {rule}")
        };
        let whole = Documents::ask(&mut Documents::judge(None), &found.document).expect("it can be judged");
        assert!(whole.rules.contains(&rule) && !Documents::disagree(&whole), "{rule}: {found}");
    }
}
