//! A validator without one of its rules does not pass.

use megakernel_ir::Rule;
use megakernel_prove::{Enumeration, Options, Outcome, Scope, Subject, Tally, Weakness, run};
use megakernel_task_graph::read_system;
use megakernel_task_graph_reference::agreement::Reason;
use megakernel_task_graph_reference::explore::{Compact, Explorer, ITERATIONS, NotReplayed, Setup, replay};

use super::family::Family;
use super::{Systems, text, validate};

/// The rules that are about runs.
const JUDGED: [Rule; 16] = [
    Rule::TD01,
    Rule::TD02,
    Rule::TD03,
    Rule::TD04,
    Rule::TD05,
    Rule::TR01,
    Rule::TR02,
    Rule::TR03,
    Rule::TR04,
    Rule::TR05,
    Rule::TR06,
    Rule::TX02,
    Rule::TX03,
    Rule::TX04,
    Rule::TX05,
    Rule::TX06,
];

fn quick() -> Scope<Family> {
    Systems::scopes()
        .into_iter()
        .find(|scope| scope.name == "task-graph-quick")
        .expect("there is a scope for tests")
}

#[test]
fn validator_and_explorer_agree_on_the_quick_scope() {
    let mut total = Tally::default();
    match run::<Systems>(&quick(), &Options::default()).expect("every system can be judged") {
        Outcome::Agreement(tallies) => tallies.iter().for_each(|tally| total.add(tally)),
        Outcome::Disagreement(found) => unreachable!("{found}"),
    }
    assert!(total.documents > 10_000 && total.accepted > 500 && total.shown > 5_000, "{total:?}");
    assert!(total.conservative > 100, "{total:?}");
}

#[test]
fn a_validator_without_a_rule_is_found_out() {
    let scope = quick();
    for rule in JUDGED {
        let options = Options { without: Some(Weakness::Rule(rule)), ..Options::default() };
        let Ok(Outcome::Disagreement(found)) = run::<Systems>(&scope, &options) else {
            unreachable!("nothing is missing without {rule}")
        };
        // What is printed is a system that breaks this rule, and that is as small as it gets.
        let printed = found.to_string();
        let text = text(&found.document);
        assert!(printed.starts_with(&text) && printed.contains("validator: "), "{printed}");
        let system = read_system(text.as_bytes()).expect("the printed system reads");
        let whole = Systems::judge(None).judge(&system).expect("it can be judged");
        assert!(whole.rules.contains(&rule) && !whole.disagree(), "{rule}: {printed}");
        assert!(system.ranks.iter().all(|graph| graph.all_tasks.len() <= 5), "{rule}: {printed}");
    }
}

#[test]
fn every_finding_of_the_quick_scope_is_replayed_or_has_a_reason() {
    let scope = quick();
    let mut judge = Systems::judge(None);
    let (mut shown, mut without) = (0, 0);
    for family in &scope.families {
        let enumeration = Systems::enumerate(family);
        for chunk in enumeration.chunks() {
            enumeration.visit(&chunk, &mut |system| {
                let setup = Setup::new(system).expect("a system of the scope");
                let verdicts = judge.judge(system).expect("a system of the scope");
                let found = validate(system);
                let hulls = found.iter().any(|diagnostic| diagnostic.rule == Rule::TW03);
                for diagnostic in &found {
                    match replay(&setup, diagnostic) {
                        Ok(_) => shown += 1,
                        Err(NotReplayed::NoRun) => {}
                        Err(NotReplayed::NoFault) => {
                            // Tasks that never run leave nothing else to show.
                            let conservative = verdicts
                                .reasons
                                .iter()
                                .any(|reason| reason.is_some_and(|reason| reason != Reason::Shown));
                            assert!(
                                conservative || hulls || verdicts.faults.deadlock(),
                                "{diagnostic:?}\n{}",
                                text(system)
                            );
                            without += 1;
                        }
                        Err(other) => unreachable!("{other}: {diagnostic:?}\n{}", text(system)),
                    }
                }
            });
        }
    }
    assert!(shown > without, "{shown} shown, {without} not");
}

#[test]
fn what_is_not_run_twice_is_no_state() {
    // As many states as there are sets of finished tasks, and no more.
    let scope = quick();
    let family = scope.families.iter().find(|family| family.name == "counts").expect("a family");
    let enumeration = Systems::enumerate(family);
    let mut explorer = Explorer::default();
    let mut systems = 0;
    for chunk in enumeration.chunks() {
        enumeration.visit(&chunk, &mut |system| {
            let setup = Setup::new(system).expect("a system of the scope");
            explorer.explore(&Compact::new(&setup, ITERATIONS).expect("small"));
            systems += 1;
        });
    }
    assert!(explorer.states() <= systems * 16, "{} states of {systems}", explorer.states());
}
