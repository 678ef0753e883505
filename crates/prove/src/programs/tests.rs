//! A validator without one of its rules does not pass.

use megakernel_ir::model::Program;
use megakernel_ir::{Rule, read};
use megakernel_reference::agreement::{Judge, Witnesses, is_about_executions};
use megakernel_reference::explore::{Compact, Explorer};
use megakernel_test_support::part;

use super::family::Family;
use super::{Programs, text};
use crate::{Enumeration, Options, Outcome, Scope, Subject, Tally, Weakness, run};

fn quick() -> Scope<Family> {
    Programs::scopes().into_iter().find(|scope| scope.name == "quick").expect("there is a scope for tests")
}

/// Calls `visit` with every program of a scope.
fn each_program(scope: &Scope<Family>, mut visit: impl FnMut(&Program<'static>)) {
    for family in &scope.families {
        let enumeration = Programs::enumerate(family);
        enumeration.chunks().iter().for_each(|chunk| enumeration.visit(chunk, &mut visit));
    }
}

#[test]
fn validator_and_explorer_agree_on_the_quick_scope() {
    let mut tally = Tally::default();
    match run::<Programs>(&quick(), &Options::default()).expect("every program of a scope can be judged") {
        Outcome::Agreement(tallies) => tallies.iter().for_each(|of_family| tally.add(of_family)),
        Outcome::Disagreement(found) => unreachable!("{found}"),
    }
    assert!(tally.documents > 50_000, "{tally:?}");
    for count in [tally.accepted, tally.shown, tally.conservative] {
        assert!(count > 1_000, "{tally:?}");
    }
}

#[test]
fn a_validator_without_a_rule_is_found_out() {
    let scope = quick();
    let rules = Rule::ALL.iter().filter(|&&rule| is_about_executions(rule));
    let rules = rules.map(|&rule| (Weakness::Rule(rule), rule));
    let parts = Programs::PARTS.iter().map(|&part| {
        let rule = part.split_once('-').and_then(|(id, _)| Rule::from_id(id));
        (Weakness::Part(part), rule.expect("a part is named after its rule"))
    });
    for (weakness, rule) in part::one_in(3, rules.chain(parts)) {
        let options = Options { without: Some(weakness), ..Options::default() };
        let Ok(Outcome::Disagreement(found)) = run::<Programs>(&scope, &options) else {
            unreachable!("nothing is missing without {}", weakness.name())
        };
        assert!(found.verdicts.rules.is_empty(), "{rule}: {found}");
        assert!(found.verdicts.disagree(), "{rule}: {found}");
        // What is printed is a program that breaks this rule and no other, and that is as small as it gets.
        let printed = found.to_string();
        let text = text(&found.document);
        assert!(printed.starts_with(&text) && printed.contains("validator: accept"), "{printed}");
        let program = read(text.as_bytes()).expect("the printed program reads");
        let whole = Judge::default().judge(&program).expect("it can be judged");
        assert_eq!(whole.rules, [rule], "{printed}");
        assert!(!whole.disagree(), "{printed}");
        assert!(program.tasks.len() <= 3, "{rule}: {printed}");
    }
}

#[test]
fn what_the_explorer_leaves_out_hides_nothing() {
    let (mut reduced, mut thorough) = (Explorer::new(), Explorer::thorough());
    let (mut fewer, mut all) = (0, 0);
    each_program(&quick(), |program| {
        let compact = Compact::new(program).expect("every program of a scope fits");
        let found = reduced.explore(&compact);
        assert_eq!(found, thorough.explore(&compact), "{}", text(program));
        fewer += reduced.states();
        all += thorough.states();
    });
    assert!(2 * fewer < all, "{fewer} of {all} states");
}

/// Every finding about an execution leads to that execution, unless there is none.
#[test]
fn every_witness_of_the_quick_scope_replays() {
    let mut judge = Judge::default();
    let mut all = Witnesses::default();
    each_program(&quick(), |program| {
        let verdicts = judge.judge(program).expect("every program of a scope can be judged");
        match verdicts.witnesses(program) {
            Ok(found) => all += found,
            Err(wrong) => unreachable!("{wrong}\n{}", text(program)),
        }
    });
    assert!(all.replayed > 10 * all.without, "{all:?}");
}
