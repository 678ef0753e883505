//! The VM against the validator, without values: what the rules accept runs under every schedule, and what they reject
//! goes wrong under some schedule wherever a run can show it. The VM shares no code with the rules beyond footprints.

#![allow(clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use megakernel_ir::model::Program;
use megakernel_ir::rule::Class;
use megakernel_ir::{Rule, read};
use megakernel_reference::explore::{FaultKind, Outcome, Replay, replay};
use megakernel_reference::validate::{Classes, broken_rules, validate_program};
use megakernel_reference::vm::{Loaded, Schedule};
use megakernel_test_support::{cases, fixtures, part, root};

/// Seeds of the schedules that every program is run under.
const SEEDS: u64 = 40;

/// The documents of the corpus' cases that are programs with edits, by case id. Those of single opcodes are left out, in which there
/// is nothing to order, and those of companions, which are no programs.
static DOCUMENTS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let companions = std::fs::read_dir(root().join("spec/companions")).expect("a folder");
    let mut left_out = vec!["numeric".to_owned()];
    left_out
        .extend(companions.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()));
    let left_out: Vec<&str> = left_out.iter().map(String::as_str).collect();
    let found = cases::documents_without("", &left_out).into_iter();
    let documents: Vec<(String, String)> = found.map(|found| (found.id().to_owned(), found.text)).collect();
    assert!(documents.len() > 500, "the corpus has programs: {}", documents.len());
    documents
});

fn seeds(program: &Program<'_>) -> u64 {
    if program.tasks.len() > 1000 { 4 } else { SEEDS }
}

#[test]
fn accepted_programs_run_to_their_end_under_every_schedule() {
    let (mut runs, mut programs, mut many_orders) = (0, 0, 0);
    let mut documents = DOCUMENTS.clone();
    for name in ["toy_decoder.json", "llama32_1b_decode.json"] {
        documents.push((name.to_owned(), fixtures::text(&format!("amk/{name}"))));
    }
    for (id, document) in part::one_in(3, documents.iter()) {
        let Ok(program) = read(document.as_bytes()) else { continue };
        let Ok(loaded) = Loaded::load(&program) else { continue };
        let mut orders = BTreeSet::new();
        let mut habits = Vec::new();
        for seed in 0..seeds(&program) {
            let schedule = Schedule::seeded(seed);
            let habit = schedule.habit();
            // A part has each habit at most once.
            if !part::is_whole() {
                if habits.contains(&habit) {
                    continue;
                }
                habits.push(habit);
            }
            match loaded.rehearse(schedule) {
                Ok(order) => drop(orders.insert(order)),
                Err(fault) => panic!("{id}, seed {seed} ({habit}): {}", fault.explain(&program)),
            }
            runs += 1;
        }
        many_orders += u32::from(orders.len() > 3);
        programs += 1;
    }
    // Chains and queues leave no choice; many programs do.
    assert!(
        many_orders > part::share(3, 150),
        "{many_orders} of {programs} programs ran in more than three orders"
    );
    assert!(runs > part::share(12, 10_000), "{runs} runs");
}

/// The faults that show that a program breaks a rule, by [`Fault::name`](megakernel_reference::vm::Fault::name).
fn shown_by(rule: Rule) -> &'static [&'static str] {
    match rule.class() {
        Class::DEADLOCK => &["deadlock"],
        Class::RACE => match rule {
            Rule::R01 => &["unordered", "unwritten"],
            Rule::R02 => &["unordered", "unwritten"],
            Rule::R07 => &["hidden"],
            _ => &["unordered"],
        },
        Class::PAGES => match rule {
            Rule::P01 => &["clobbered", "overwrites", "unordered"],
            // An IO_OUTPUT or a weight on a page has no contents there.
            Rule::P04 => &["unwritten", "clobbered"],
            _ => &["no-storage"],
        },
        _ => &[],
    }
}

/// Whether a run can show that a program breaks this rule, as the explorer's replay of the validator's witness has it.
/// A stale read of a cache is ordered, and takes what an earlier launch left (clause EXE-11).
fn can_be_shown(program: &Program<'_>, rule: Rule) -> bool {
    let verdict = validate_program(program, Classes::ALL);
    let mut diagnostics = verdict.diagnostics.iter().filter(|diagnostic| diagnostic.rule == rule);
    diagnostics.any(|diagnostic| match replay(program, diagnostic) {
        Ok(Replay { outcome: Outcome::Fault(fault), .. }) => fault.kind != FaultKind::StaleRead,
        _ => false,
    })
}

/// Whether the run has ended with a fault that this rule does not report: D03 and D04 leave no order to judge it by, and a task that may
/// not work in place (M07), or whose page somebody else has taken (P01), fails before it reads what nobody has written, and one that
/// reads what is written later (M05) before somebody writes without order.
fn is_first_found(program: &Program<'_>, rule: Rule, faults: &BTreeSet<&str>) -> bool {
    let is_of = |fault, other| faults.contains(fault) && broken_rules(program, Classes::ALL).contains(&other);
    match rule {
        Rule::D03 | Rule::D04 => !faults.is_empty(),
        Rule::R02 => is_of("overwrites", Rule::M07) || is_of("clobbered", Rule::P01),
        Rule::R04 => is_of("unwritten", Rule::M05),
        _ => false,
    }
}

#[test]
fn rejected_programs_go_wrong_where_a_run_can_show_it() {
    let mut shown: BTreeMap<Rule, u32> = BTreeMap::new();
    let mut quiet: BTreeMap<Rule, u32> = BTreeMap::new();
    let mut missed = Vec::new();
    for (id, document) in part::one_in(3, DOCUMENTS.iter()) {
        let Ok(program) = read(document.as_bytes()) else { continue };
        let Ok(loaded) = Loaded::load_unchecked(&program) else { continue };
        let rules = broken_rules(&program, Classes::of(&[Class::DEADLOCK, Class::RACE, Class::PAGES]));
        let faults: BTreeSet<&str> = (0..seeds(&program))
            .filter(|_| !rules.is_empty())
            .filter_map(|seed| loaded.rehearse(Schedule::seeded(seed)).err().map(|fault| fault.name()))
            .collect();
        for &rule in &rules {
            if shown_by(rule).iter().any(|name| faults.contains(name)) {
                *shown.entry(rule).or_default() += 1;
            } else if is_first_found(&program, rule, &faults) || !can_be_shown(&program, rule) {
                *quiet.entry(rule).or_default() += 1;
            } else {
                missed.push(format!("{rule} {id}: {faults:?}"));
            }
        }
    }
    println!("shown {shown:?}\nquiet {quiet:?}");
    assert!(missed.is_empty(), "{missed:#?}");
    // P06 is about what a device can hold; all other rules show in a run.
    let silent: Vec<Rule> = Rule::ALL
        .iter()
        .copied()
        .filter(|rule| matches!(rule.class(), Class::DEADLOCK | Class::RACE | Class::PAGES))
        .filter(|rule| !shown.contains_key(rule))
        .collect();
    assert_eq!(silent, [Rule::P06]);
}
