//! A validator without one of its rules does not pass.

use megakernel_ir::Rule;
use megakernel_prove::{Explored, Options, Outcome, Scope, Subject, Tally, Weakness, run};

use crate::Collectives;
use crate::family::Family;
use crate::sample::{Algorithm, Kind, Sample};
use crate::small::{Small, Step, Way};

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

/// The rules that the validator finds broken, each once.
fn broken(small: &Small) -> Vec<Rule> {
    let mut rules = <Collectives as Explored>::broken(small).expect("a document");
    rules.sort_unstable();
    rules.dedup();
    rules
}

fn quick() -> Scope<Family> {
    <Collectives as Subject>::scopes()
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

#[test]
fn what_is_edited_is_right_before() {
    for algorithm in Algorithm::ALL {
        for (elements, to) in [(2, Way::Next), (3, Way::Before), (4, Way::Next), (5, Way::Before)] {
            let first = if algorithm.is_sum() { elements - 1 } else { 0 };
            let small =
                Small { is_sum: algorithm.is_sum(), capacity: 1, logs: algorithm.logs(elements, first, to) };
            let differs = algorithm == Algorithm::Flood && elements > 2;
            let expected = if differs { vec![Rule::CB01] } else { Vec::new() };
            assert_eq!(broken(&small), expected, "{algorithm:?} of {elements}");
        }
    }
}

#[test]
fn a_number_is_one_system_and_samples_have_right_and_wrong_ones() {
    for kind in [Kind::Runs(8), Kind::Edited] {
        let sample = Sample { name: "for-a-test", kind, elements: 3, systems: 200 };
        let mut judged = [0; 2];
        for number in 0..sample.systems {
            let small = sample.drawn(number);
            assert_eq!(small, sample.drawn(number));
            let rules = broken(&small);
            assert!(rules.iter().all(|rule| JUDGED.contains(rule)), "{rules:?}");
            judged[usize::from(rules.is_empty())] += 1;
            if let Kind::Runs(messages) = kind {
                let sends = small
                    .logs
                    .iter()
                    .flatten()
                    .filter(|step| matches!(step, Step::Send(_) | Step::SendOwn(_) | Step::SendLast(_)));
                assert!(sends.count() <= messages);
            }
        }
        assert!(judged[0] > 50, "{kind:?}: {judged:?}");
        assert!(judged[1] > 20 || matches!(kind, Kind::Runs(_)), "{kind:?}: {judged:?}");
    }
}
