//! A validator without one of its rules does not pass.

use megakernel_ir::Rule;
use megakernel_prove::{Options, Outcome, Scope, Subject, Tally, Weakness, run};

use crate::Collectives;
use crate::family::Family;

/// The rules that are about executions and their results.
const JUDGED: [Rule; 10] = [
    Rule::CD01,
    Rule::CD02,
    Rule::CD03,
    Rule::CD04,
    Rule::CT01,
    Rule::CT02,
    Rule::CT03,
    Rule::CT04,
    Rule::CT05,
    Rule::CB01,
];

fn quick() -> Scope<Family> {
    Collectives::scopes()
        .into_iter()
        .find(|scope| scope.name == "collectives-quick")
        .expect("a scope for tests")
}

#[test]
fn validator_and_explorer_agree_on_the_quick_scope() {
    let mut total = Tally::default();
    match run::<Collectives>(&quick(), &Options::default()).expect("every system can be judged") {
        Outcome::Agreement(tallies) => tallies.iter().for_each(|tally| total.add(tally)),
        Outcome::Disagreement(found) => unreachable!("{found}"),
    }
    assert!(total.documents > 10_000 && total.accepted > 20 && total.conservative == 0, "{total:?}");
    for rule in JUDGED {
        let shown = total.rules.get(&rule).and_then(|counts| counts.first()).copied();
        assert!(shown.unwrap_or(0) > 0, "no execution shows {rule}");
    }
}

#[test]
fn a_validator_without_a_rule_is_found_out() {
    let scope = quick();
    for rule in JUDGED {
        let options = Options { without: Some(Weakness::Rule(rule)), ..Options::default() };
        let Ok(Outcome::Disagreement(found)) = run::<Collectives>(&scope, &options) else {
            unreachable!("nothing is missing without {rule}")
        };
        let whole =
            Collectives::ask(&mut Collectives::judge(None), &found.document).expect("it can be judged");
        assert!(whole.rules.contains(&rule) && !Collectives::disagree(&whole), "{rule}: {found}");
    }
}
