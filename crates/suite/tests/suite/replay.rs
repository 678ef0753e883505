//! Every D, R and P diagnostic of the corpus that carries a witness replays to a bad state of the kind that its rule
//! forbids; and which rules carry none.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_conformance::store::Corpus;
use megakernel_ir::rule::{Class, Rule};
use megakernel_ir::{Diagnostic, read};
use megakernel_reference::explore::{FaultKind, Machine, NotReplayed, Outcome, replay};
use megakernel_reference::validate::{Classes, validate};
use megakernel_test_support::{part, root};

/// What became of the diagnostics of one rule.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    replayed: usize,
    /// Of these, those that end without a fault: a partial wait on which nothing depends.
    early: usize,
    without_witness: usize,
    conservative: usize,
}

/// The kinds of fault that bear a rule out.
fn kinds(rule: Rule) -> &'static [FaultKind] {
    use FaultKind::*;
    match rule.class() {
        Class::DEADLOCK => &[Deadlock],
        Class::PAGES if rule == Rule::P04 => &[PageViolation, UnwrittenRead],
        Class::PAGES => &[PageViolation],
        _ => match rule {
            Rule::R01 => &[ReadWriteRace, WriteWriteRace, UnwrittenRead, StaleRead, PageViolation],
            Rule::R02 | Rule::M05 => &[UnwrittenRead, ReadWriteRace],
            Rule::R07 => &[UnwrittenRead],
            Rule::R04 => &[WriteWriteRace],
            Rule::R06 => &[ReadWriteRace, StaleRead],
            _ => &[ReadWriteRace],
        },
    }
}

#[test]
fn every_witness_of_the_corpus_replays() {
    let corpus = Corpus::load(&root().join("corpus")).expect("a corpus");
    let mut counts: BTreeMap<Rule, Counts> = BTreeMap::new();
    let mut problems = Vec::new();
    // What executes is accepted.
    let judged = corpus.cases().iter().filter(|case| case.execute.is_none());
    for case in part::one_in_each(7, judged, |case| case.provenance.family.clone()) {
        let document = corpus.document(case).expect("a document");
        let mut diagnostics = validate(&document, Classes::ALL).diagnostics;
        diagnostics.retain(is_about_executions);
        if diagnostics.is_empty() {
            continue;
        }
        let program = read(&document).expect("a program, or nothing would be said about its executions");
        for diagnostic in &diagnostics {
            let counts = counts.entry(diagnostic.rule).or_default();
            match replay(&program, diagnostic) {
                Ok(replayed) => {
                    counts.replayed += 1;
                    // The steps are a run, and it is the last of them that goes wrong.
                    let mut machine = Machine::new(&program);
                    let mut last = Vec::new();
                    for &event in &replayed.events {
                        last = machine
                            .step(event)
                            .unwrap_or_else(|blocked| unreachable!("{blocked:?}: {}", case.id));
                    }
                    match replayed.outcome {
                        Outcome::Early { .. } if diagnostic.rule == Rule::R01 => counts.early += 1,
                        Outcome::Early { .. } => problems.push(format!("{}: {diagnostic:?}", case.id)),
                        Outcome::Fault(fault) => {
                            let seen = last.contains(&fault) || machine.deadlock().as_ref() == Some(&fault);
                            if !seen || !kinds(diagnostic.rule).contains(&fault.kind) {
                                problems.push(format!("{}: {fault:?} for {diagnostic:?}", case.id));
                            }
                        }
                    }
                }
                Err(NotReplayed::NoWitness) => counts.without_witness += 1,
                // A partial wait is satisfied before the cycle closes, or whole buffers are judged: clause EXE-11.
                Err(NotReplayed::NoFault) => {
                    counts.conservative += 1;
                    if !matches!(diagnostic.rule, Rule::D04 | Rule::D05 | Rule::D06 | Rule::P01) {
                        problems.push(format!("{}: no fault for {diagnostic:?}", case.id));
                    }
                }
                Err(other) => problems.push(format!("{}: {other} for {diagnostic:?}", case.id)),
            }
        }
    }
    for (rule, counts) in &counts {
        println!("{rule} {}: {counts:?}", rule.slug());
    }
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    let without: BTreeSet<Rule> =
        counts.iter().filter(|(_, counts)| counts.without_witness > 0).map(|(&rule, _)| rule).collect();
    // A partial wait on one's own counter hangs nobody (D03); one that nothing can overtake, or only a schedule that is too
    // long to spell out, is rejected without one (R01). The P rules are about storage that may never be accessed, and P06 about
    // what an SM can hold. R07 forbids the use from two SMs also where nothing is read.
    let expected =
        [Rule::D03, Rule::D07, Rule::R01, Rule::R07, Rule::P02, Rule::P03, Rule::P04, Rule::P05, Rule::P06];
    assert!(without.is_subset(&expected.into()), "rules without a witness: {without:?}");
    let replayed: usize = counts.values().map(|counts| counts.replayed).sum();
    assert!(replayed > 50, "only {replayed} witnesses were replayed");
}

fn is_about_executions(diagnostic: &Diagnostic) -> bool {
    matches!(diagnostic.rule.class(), Class::DEADLOCK | Class::RACE | Class::PAGES)
        || diagnostic.rule == Rule::M05
}
