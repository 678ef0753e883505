//! A validator without one of its rules does not pass.

use megakernel_ir::{Rule, read};

use super::judge::{Judge, Tally};
use super::scopes::{self, Scope};
use super::{Disagreement, Enumeration, explain, report};

fn quick() -> Scope {
    scopes::all().into_iter().find(|scope| scope.name == "quick").expect("there is a scope for tests")
}

/// The first disagreement of a scope, shrunk, or the counts.
fn prove(judge: &mut Judge, scope: &Scope) -> Result<Tally, Box<Disagreement>> {
    let mut tally = Tally::default();
    for (index, family) in scope.families.iter().enumerate() {
        let enumeration = Enumeration::new(family);
        for chunk in enumeration.chunks(index) {
            let mut wrong = None;
            enumeration.visit(&chunk, |program| {
                if wrong.is_none() {
                    let verdicts = judge.judge(program).expect("every program of a scope can be judged");
                    if verdicts.disagree() { wrong = Some(program.clone()) } else { tally.count(&verdicts) }
                }
            });
            if let Some(program) = wrong {
                return Err(explain(judge, family, &program).expect("it was judged before"));
            }
        }
    }
    Ok(tally)
}

#[test]
fn validator_and_explorer_agree_on_the_quick_scope() {
    let tally = match prove(&mut Judge::default(), &quick()) {
        Ok(tally) => tally,
        Err(disagreement) => unreachable!("{disagreement}"),
    };
    assert!(tally.programs > 50_000, "{tally:?}");
    for count in [tally.accepted, tally.shown, tally.conservative] {
        assert!(count > 1_000, "{tally:?}");
    }
}

/// The rules of classes D, R and P, and M05, but for P06: it is about what an SM can hold, which no execution shows.
fn rules_about_executions() -> impl Iterator<Item = Rule> {
    use megakernel_ir::rule::Class::*;
    let classes = [Deadlock, Race, Pages];
    let about = move |rule: &Rule| classes.contains(&rule.class()) || *rule == Rule::M05;
    Rule::ALL.iter().copied().filter(about).filter(|&rule| rule != Rule::P06)
}

#[test]
fn a_validator_without_a_rule_is_found_out() {
    let scope = quick();
    for rule in rules_about_executions() {
        let mut weakened = Judge::without(Some(rule));
        let found = prove(&mut weakened, &scope);
        let Err(found) = found else { unreachable!("nothing is missing without {rule}") };
        assert!(found.verdicts.rules.is_empty(), "{rule}: {found}");
        assert!(found.verdicts.disagree(), "{rule}: {found}");
        // What is printed is a program that breaks this rule and no other, and that is as small as it gets.
        let printed = found.to_string();
        let text = report::document(&found.program);
        assert!(printed.starts_with(&text) && printed.contains("validator: accept"), "{printed}");
        let program = read(text.as_bytes()).expect("the printed program reads");
        let whole = Judge::default().judge(&program).expect("it can be judged");
        assert_eq!(whole.rules, [rule], "{printed}");
        assert!(!whole.disagree(), "{printed}");
        assert!(program.tasks.len() <= 3, "{rule}: {printed}");
    }
}
