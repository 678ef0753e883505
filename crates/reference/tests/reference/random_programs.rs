//! Random programs of up to some hundreds of tasks: accepted as they are generated, they survive every schedule that is tried; with
//! one edit, they break the rules that the edit breaks and no other.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::model::Program;
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::{Layout, Rule, TaskId, read, write};
use megakernel_reference::validate::{Classes, broken_rules};
use megakernel_test_support::part;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use crate::edits::EDITS;
use crate::random::{Plan, decoder_like, free_form, generate};
use crate::schedules::{Schedule, run};

/// Calls `holds` with so many random plans, the same in every run, and shrinks the first on which it fails.
fn each_plan(
    cases: u32,
    plans: impl Strategy<Value = Plan>,
    holds: impl Fn(Plan) -> Result<(), TestCaseError>,
) {
    let config = Config { cases, max_shrink_iters: 2_000, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    if let Err(error) = TestRunner::new_with_rng(config, rng).run(&plans, holds) {
        unreachable!("{error}");
    }
}

/// A program comes well through all schedules.
fn survives(program: &Program<'_>, seed: u64, text: &str) -> Result<(), TestCaseError> {
    let mut rng = SplitMix64::new(seed);
    let schedules = [
        Schedule::Random,
        Schedule::NewestFirst,
        Schedule::LateFinishes,
        Schedule::Starved(rng.index(4) as i64),
        Schedule::Held(TaskId::at(rng.index(program.tasks.len()))),
    ];
    for schedule in schedules {
        let fault = run(program, schedule, seed);
        prop_assert!(fault.is_none(), "{schedule:?}: {fault:?}\n{text}");
    }
    Ok(())
}

/// Changes that may or may not harm: waits are dropped, tasks moved to other SMs, tasks exchanged in the list, buffers bound
/// to other pages.
fn disturb(program: &mut Program<'_>, rng: &mut SplitMix64) {
    let count = program.tasks.len();
    for _ in 0..1 + rng.index(3) {
        let task = rng.index(count);
        match rng.index(5) {
            0 => {
                let waits = &mut program.tasks[task].waits;
                if !waits.is_empty() {
                    waits.remove(rng.index(waits.len()));
                }
            }
            1 => program.tasks[task].sm = Some(rng.index(4) as i64),
            2 => exchange(program, task, (task + 1) % count),
            3 => exchange(program, task, rng.index(count)),
            _ => {
                let pages = program.pages.as_mut().expect("a generated program has pages");
                let bound = &mut pages.buffer_to_page.0;
                if !bound.is_empty() {
                    let (buffer, page) = (rng.index(bound.len()), rng.index(pages.pages.len()));
                    bound[buffer].1 = page as i64;
                    pages.pages[page].nbytes = 1 << 20;
                }
            }
        }
    }
}

fn exchange(program: &mut Program<'_>, a: usize, b: usize) {
    program.tasks.swap(a, b);
    program.tasks[a].id = a as i64;
    program.tasks[b].id = b as i64;
}

/// What came of the programs that were run.
#[derive(Debug, Default)]
struct Survived {
    /// Tasks of the largest.
    largest: usize,
    disturbed: usize,
    /// How many of these were accepted.
    accepted: usize,
}

fn accepted_programs_survive(plans: impl Strategy<Value = Plan>, cases: u32) -> Survived {
    let survived = RefCell::new(Survived::default());
    each_plan(cases, plans, |plan| {
        let generated = generate(&plan);
        let program = read(generated.text.as_bytes()).expect("a generated program reads");
        prop_assert_eq!(broken_rules(&program, Classes::ALL), [], "{}", generated.text);
        survives(&program, plan.seed, &generated.text)?;
        let mut survived = survived.borrow_mut();
        survived.largest = survived.largest.max(program.tasks.len());
        let mut rng = SplitMix64::new(plan.seed);
        for _ in 0..6 {
            let mut other = program.clone();
            disturb(&mut other, &mut rng);
            survived.disturbed += 1;
            if broken_rules(&other, Classes::ALL).is_empty() {
                survived.accepted += 1;
                survives(&other, plan.seed, &write(&other, Layout::Compact))?;
            }
        }
        Ok(())
    });
    survived.into_inner()
}

#[test]
fn accepted_programs_survive_adversarial_schedules() {
    let free = accepted_programs_survive(free_form(), part::share(4, 250));
    let decoder = accepted_programs_survive(decoder_like(), part::share(2, 80));
    for found in [&free, &decoder] {
        // Both verdicts are common among the disturbed ones.
        let rejected = found.disturbed - found.accepted;
        assert!(found.largest > 150 && found.accepted > 50 && rejected > 50, "{free:?} {decoder:?}");
    }
    println!("{free:?} {decoder:?}");
}

/// How often each edit led to each set of rules.
type Seen = BTreeMap<&'static str, BTreeMap<Vec<Rule>, usize>>;

/// Every edit that the program has a place for breaks the rules that it is known to break.
fn edits_break_what_they_mean(plan: &Plan, seen: &RefCell<Seen>) -> Result<(), TestCaseError> {
    let generated = generate(plan);
    let program = read(generated.text.as_bytes()).expect("a generated program reads");
    let mut rng = SplitMix64::new(plan.seed);
    for (what, edit) in EDITS {
        let mut edited = program.clone();
        let Some(expected) = edit(&mut edited, &generated.model, &mut rng) else { continue };
        let found: BTreeSet<Rule> = broken_rules(&edited, Classes::ALL).into_iter().collect();
        prop_assert_eq!(&found, &expected, "{} in {}", what, generated.text);
        *seen.borrow_mut().entry(what).or_default().entry(found.into_iter().collect()).or_default() += 1;
    }
    Ok(())
}

#[test]
fn single_edits_break_the_rules_that_they_mean() {
    let seen = RefCell::new(Seen::new());
    each_plan(part::share(4, 2_000), free_form(), |plan| edits_break_what_they_mean(&plan, &seen));
    each_plan(part::share(4, 300), decoder_like(), |plan| edits_break_what_they_mean(&plan, &seen));
    let seen = seen.into_inner();
    // Every edit found its place often, and each rule was broken by some edit, alone.
    assert!(
        EDITS.iter().all(|(what, _)| seen
            .get(what)
            .is_some_and(|by| by.values().sum::<usize>() > part::share(4, 100))),
        "{seen:?}"
    );
    for rule in [
        Rule::D01,
        Rule::D02,
        Rule::D03,
        Rule::D04,
        Rule::D05,
        Rule::D07,
        Rule::R01,
        Rule::R02,
        Rule::R03,
        Rule::R04,
        Rule::R05,
        Rule::R06,
        Rule::P01,
        Rule::P02,
        Rule::P03,
        Rule::P04,
        Rule::P05,
    ] {
        assert!(seen.values().any(|by| by.contains_key(&vec![rule])), "{rule} alone: {seen:?}");
    }
    assert!(seen.values().any(|by| by.contains_key(&vec![Rule::D05, Rule::D06])), "{seen:?}");
    println!("{seen:#?}");
}
