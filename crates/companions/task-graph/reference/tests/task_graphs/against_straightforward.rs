//! The validator of task graphs and the straightforward one report the same rules at the same places, on random systems;
//! and what the validator reports can be replayed.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::{Diagnostic, Layout, Rule, write_record};
use megakernel_task_graph::System;
use megakernel_task_graph_reference::explore::{Machine, NotReplayed, Setup, replay};
use megakernel_task_graph_reference::validate::{Graphs, validate_graphs};
use megakernel_test_support::part;

use crate::{random_graphs, straightforward};

const SYSTEMS: u64 = 24_000;

const JUDGED: [Rule; 15] = [
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
    Rule::TB01,
    Rule::TB02,
    Rule::TX02,
    Rule::TX03,
    Rule::TX04,
];

/// What the validator finds of a system of the seed.
fn found(system: &System<'_>, seed: u64) -> Vec<Diagnostic> {
    let verdict = validate_graphs(Graphs::System(&system.ranks, None));
    let structure = |rule: Rule| rule.id().starts_with("TS") || rule.id().starts_with('S');
    let broken = verdict.diagnostics.iter().find(|diagnostic| structure(diagnostic.rule));
    assert!(broken.is_none(), "seed {seed}: {broken:?}\n{}", write_record(system, Layout::Indent(1)));
    verdict.diagnostics
}

#[test]
fn both_find_the_same_in_random_systems() {
    let systems = part::share(3, SYSTEMS);
    let mut alone: BTreeMap<Rule, u64> = BTreeMap::new();
    let (mut accepted, mut several) = (0, 0);
    for seed in 0..systems {
        let system = random_graphs::system(seed);
        let judged = found(&system, seed).into_iter().filter(|d| JUDGED.contains(&d.rule));
        let mut ours: BTreeSet<(Rule, String)> = judged.map(|d| (d.rule, d.pointer)).collect();
        let mut expected: BTreeSet<(Rule, String)> = straightforward::judge(&system).into_keys().collect();
        if expected.iter().any(|(rule, _)| *rule == Rule::TB02) {
            // What a tile accesses that begins before its tensor, or within an element, is left open.
            let plain =
                |(rule, _): &(Rule, String)| rule.id().starts_with("TD") || rule.id().starts_with("TB");
            ours.retain(plain);
            expected.retain(plain);
        }
        if ours != expected {
            let text = write_record(&system, Layout::Indent(1));
            let (more, less): (Vec<_>, Vec<_>) =
                (ours.difference(&expected).collect(), expected.difference(&ours).collect());
            unreachable!(
                "seed {seed}: the validator alone {more:?}, the straightforward one alone {less:?}\n{text}"
            );
        }
        several += u64::from(system.ranks.len() > 1);
        let rules: BTreeSet<Rule> = expected.into_iter().map(|(rule, _)| rule).collect();
        accepted += u64::from(rules.is_empty());
        if let (Some(&rule), 1) = (rules.first(), rules.len()) {
            *alone.entry(rule).or_default() += 1;
        }
    }
    // A validator that lacks any of the rules would accept what the straightforward one rejects.
    assert!(
        accepted > systems / 40 && several > systems / 4,
        "{accepted} accepted, {several} of several ranks"
    );
    for rule in JUDGED {
        assert!(
            alone.get(&rule).is_some_and(|&count| count >= part::share(3, 3u64)),
            "{rule} is seldom broken alone: {alone:?}"
        );
    }
}

#[test]
fn findings_in_random_systems_are_replayed() {
    let (mut shown, mut without) = (0, 0);
    for seed in 0..SYSTEMS / 8 {
        let system = random_graphs::system(seed);
        let all = found(&system, seed);
        let setup = Setup::new(&system).expect("no rule of structure is broken");
        let rules: BTreeSet<Rule> = all.iter().map(|diagnostic| diagnostic.rule).collect();
        for diagnostic in &all {
            match replay(&setup, diagnostic) {
                Ok(run) => {
                    shown += 1;
                    let mut machine = Machine::new(&setup, 3);
                    for &step in &run.steps {
                        machine.step(step).unwrap_or_else(|blocked| {
                            unreachable!("seed {seed}: {blocked:?}: {diagnostic:?}")
                        });
                    }
                }
                Err(NotReplayed::NoRun) => {}
                Err(NotReplayed::NoFault) => {
                    without += 1;
                    // Tasks that never run, triggers that are not waited for, and hulls leave nothing to show.
                    let excuses = [
                        Rule::TD01,
                        Rule::TD02,
                        Rule::TD03,
                        Rule::TR01,
                        Rule::TX02,
                        Rule::TX04,
                        Rule::TW03,
                        Rule::TB01,
                    ];
                    let excused = rules.iter().any(|rule| excuses.contains(rule));
                    assert!(
                        excused,
                        "seed {seed}: no run shows {diagnostic:?}\n{}",
                        write_record(&system, Layout::Indent(1))
                    );
                }
                Err(other) => unreachable!("seed {seed}: {other}: {diagnostic:?}"),
            }
        }
    }
    assert!(shown > 2 * without, "{shown} shown, {without} not");
}
