//! The validator agrees with the explorer, and one without one of its rules does not.

use std::collections::BTreeMap;

use megakernel_ir::Rule;
use megakernel_prove::{Enumeration, Judge, Options, Outcome, Scope, Subject, Tally, Weakness, run};

use crate::Schedules;
use crate::family::Family;
use crate::traces::Traces;

/// The rules that are about runs.
const JUDGED: [Rule; 14] = [
    Rule::ED01,
    Rule::ED02,
    Rule::ED03,
    Rule::ED04,
    Rule::ED05,
    Rule::ED06,
    Rule::ER01,
    Rule::ER02,
    Rule::ER03,
    Rule::ER04,
    Rule::ER05,
    Rule::ER06,
    Rule::ER07,
    Rule::ER08,
];

fn quick() -> Scope<Family> {
    Schedules::scopes().into_iter().find(|scope| scope.name == "schedule-quick").expect("a scope for tests")
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_validator_and_explorer_agree_on_the_quick_scope_and_no_rule_can_be_missing() {
    let (mut judge, mut total) = (Schedules::judge(None), Tally::default());
    // Validators that each lack a rule, and have not been found out.
    let mut weak: BTreeMap<Rule, Judge> =
        JUDGED.iter().map(|&rule| (rule, Schedules::judge(Some(Weakness::Rule(rule))))).collect();
    for family in &quick().families {
        let schedules = Schedules::enumerate(family);
        for chunk in schedules.chunks() {
            schedules.visit(&chunk, &mut |schedule| {
                let verdicts = Schedules::ask(&mut judge, schedule).expect("it can be judged");
                assert!(!Schedules::disagree(&verdicts), "{verdicts}\n{}", Schedules::text(schedule));
                total.count::<Schedules>(&verdicts);
                // Without its only rule it would be accepted, which a run may show to be wrong.
                if let [rule] = verdicts.rules[..]
                    && schedule.tasks.len() <= 3
                    && let Some(without) = weak.get_mut(&rule)
                    && Schedules::disagree(&Schedules::ask(without, schedule).expect("it can be judged"))
                {
                    weak.remove(&rule);
                }
            });
        }
    }
    assert!(weak.is_empty(), "nothing is missing without {:?}", weak.keys());
    assert!(total.documents > 100_000 && total.accepted > 5_000 && total.shown > 50_000, "{total:?}");
    assert!(total.conservative > 100 && total.conservative < total.shown / 10, "{total:?}");
    for rule in JUDGED {
        let shown = total.rules.get(&rule).and_then(|counts| counts.first()).copied();
        assert!(shown.unwrap_or(0) > 0, "no run shows {rule}");
    }
}

#[test]
fn what_disagrees_is_made_as_small_as_it_gets() {
    let options = Options { without: Some(Weakness::Rule(Rule::ER02)), ..Options::default() };
    let Ok(Outcome::Disagreement(found)) = run::<Schedules>(&quick(), &options) else {
        unreachable!("nothing is missing without ER02")
    };
    let whole = Schedules::ask(&mut Schedules::judge(None), &found.document).expect("it can be judged");
    assert!(whole.rules.contains(&Rule::ER02) && !Schedules::disagree(&whole), "{found}");
    assert_eq!(found.document.tasks.len(), 2, "{found}");
    assert!(found.document.tasks.iter().all(|task| task.phases.len() == 1), "{found}");
}

/// The rules on logs.
const LOGGED: [Rule; 12] = [
    Rule::ET01,
    Rule::ET02,
    Rule::ET03,
    Rule::ET04,
    Rule::ET05,
    Rule::ET06,
    Rule::ET07,
    Rule::ET08,
    Rule::ET09,
    Rule::ET10,
    Rule::ET11,
    Rule::ET12,
];

#[test]
fn a_trace_is_accepted_if_a_run_has_its_log_and_no_rule_can_be_missing() {
    let mut judge = Traces::judge(None);
    let (mut accepted, mut rejected) = (0, 0);
    // Of each rule, a trace that breaks it and no other one.
    let mut alone: BTreeMap<Rule, _> = BTreeMap::new();
    for family in &Traces::scopes()[0].families {
        let traces = Traces::enumerate(family);
        for chunk in traces.chunks() {
            traces.visit(&chunk, &mut |trace| {
                let verdicts = Traces::ask(&mut judge, trace).expect("it can be judged");
                assert!(!Traces::disagree(&verdicts), "{verdicts}\n{}", Traces::text(trace));
                match verdicts.rules[..] {
                    [] => accepted += 1,
                    [rule] => {
                        alone.entry(rule).or_insert_with(|| trace.clone());
                    }
                    _ => {}
                }
                rejected += usize::from(!verdicts.rules.is_empty());
            });
        }
    }
    assert!(rejected > 10_000 && accepted > 100, "{accepted} accepted, {rejected} rejected");
    for rule in LOGGED {
        let Some(trace) = alone.get(&rule) else { unreachable!("no log breaks {rule} alone") };
        let without = Traces::ask(&mut Traces::judge(Some(Weakness::Rule(rule))), trace);
        assert!(Traces::disagree(&without.expect("it can be judged")), "nothing is missing without {rule}");
    }
}
