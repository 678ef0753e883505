//! The validator and the straightforward one report the same rules at the same places, on every program of the corpus
//! with every single wait dropped in turn, and on programs too large for the definitions.

use std::collections::BTreeSet;

use crate::programs;
use crate::straightforward::{Found, judge};
use megakernel_ir::model::Program;
use megakernel_ir::params::{ParamKey, ParamValue};
use megakernel_ir::rule::Class;
use megakernel_ir::{Number, Opcode, Param, Rule, read};
use megakernel_reference::validate::{Classes, validate_program};
use megakernel_test_support::{files, root};

/// The rules that both judge; P01 by its page, which the message names.
fn found(program: &Program<'_>) -> Option<Found> {
    let verdict = validate_program(program, Classes::ALL);
    let unjudged = |rule: Rule| rule.class() == Class::STRUCTURE || matches!(rule, Rule::D03 | Rule::D04);
    if !verdict.suppressed.is_empty() || verdict.diagnostics.iter().any(|d| unjudged(d.rule)) {
        return None;
    }
    let both = [Rule::R02, Rule::R03, Rule::R04, Rule::R05, Rule::R06, Rule::M05, Rule::P01];
    let judged = verdict.diagnostics.iter().filter(|d| both.contains(&d.rule));
    Some(
        judged
            .map(|d| match &d.witness {
                Some(megakernel_ir::diagnostic::Witness::Clobber { page, .. }) => {
                    (d.rule, format!("page {page}"))
                }
                _ => (d.rule, d.pointer.clone()),
            })
            .collect(),
    )
}

#[test]
fn both_agree_on_corpus_programs_without_one_wait() {
    let (mut compared, mut rejected) = (0, 0);
    for path in files::json_in(&root().join("corpus/programs")) {
        let bytes = files::bytes(&path);
        if bytes.len() > 40_000 {
            continue;
        }
        let program = read(&bytes).expect("a program of the corpus reads");
        let waits: Vec<(usize, usize)> = program
            .tasks
            .iter()
            .enumerate()
            .flat_map(|(task, record)| (0..record.waits.len()).map(move |wait| (task, wait)))
            .collect();
        // All of a small program's waits, a sample of a large one's.
        let step = waits.len().div_ceil(40).max(1);
        for &(task, wait) in waits.iter().step_by(step) {
            let mut mutant = program.clone();
            mutant.tasks[task].waits.remove(wait);
            let (Some(ours), Some(expected)) = (found(&mutant), judge(&mutant)) else { continue };
            assert_eq!(ours, expected, "{} without wait {wait} of task {task}", path.display());
            compared += 1;
            rejected += usize::from(!ours.is_empty());
        }
    }
    assert!(compared > 2_000 && rejected > 1_000, "{compared} compared, {rejected} of them rejected");
}

/// More accesses of one buffer than are compared at once, cut into more cells than are looked at one by one.
#[test]
fn both_agree_on_irregular_tiles() {
    let (mut compared, mut broken) = (0, BTreeSet::new());
    for (size, tiles) in [(25, 4), (200, 23), (1_200, 60)] {
        let text = programs::tiles::phases(size, tiles, 3);
        let program = read(text.as_bytes()).expect("reads");
        assert_eq!(found(&program), Some(Found::new()));
        assert_eq!(judge(&program), Some(Found::new()));
        for task in (0..program.tasks.len()).step_by(program.tasks.len().div_ceil(25)) {
            for damage in 0..4 {
                let mut mutant = program.clone();
                let record = &mut mutant.tasks[task];
                match damage {
                    0 => record.waits.clear(),
                    1 => drop(record.waits.pop()),
                    // Nobody writes what this one did.
                    2 => {
                        (record.op, record.inputs, record.outputs) =
                            (Opcode::Nop, Default::default(), Default::default())
                    }
                    // A tile grows into its neighbours.
                    _ => {
                        for (key, value) in &mut record.params.0 {
                            if let (
                                ParamKey::Known(Param::MTile | Param::NTile),
                                ParamValue::Number(Number::Int(size)),
                            ) = (key, value)
                            {
                                *size += *size / 2;
                            }
                        }
                    }
                }
                let (Some(ours), Some(expected)) = (found(&mutant), judge(&mutant)) else { continue };
                assert_eq!(ours, expected, "{size}: damage {damage} of task {task}");
                compared += 1;
                broken.extend(expected.into_iter().map(|(rule, _)| rule));
            }
        }
    }
    assert!(compared > 150, "{compared} compared");
    assert!(
        [Rule::R02, Rule::R03, Rule::R04, Rule::R05, Rule::M05].iter().all(|rule| broken.contains(rule)),
        "{broken:?}"
    );
}

/// Reads that race and are overtaken, stale ones, and tasks that change what they read: which elements they miss is found for
/// many at a time.
#[test]
fn both_agree_on_reads_that_are_overtaken() {
    use programs::tiles::{FirstTile, in_place, overtaken, stale};
    let mut broken = BTreeSet::new();
    for tiles in [20, 60, 600] {
        let mut texts = Vec::new();
        for (first, lacks) in [(FirstTile::Beside, false), (FirstTile::After, true), (FirstTile::Never, true)]
        {
            let text = overtaken(40, tiles, 5, first);
            let verdict = validate_program(&read(text.as_bytes()).expect("reads"), Classes::ALL);
            // Among many tiles the first is so small that no read meets it.
            let lacks = lacks && tiles == 20;
            assert_eq!(verdict.diagnostics.iter().any(|d| d.rule == Rule::M05), lacks, "{tiles} tiles");
            texts.push(text);
        }
        texts.push(stale(40, tiles, 5));
        for (kind, rule) in [("KV_CACHE", Rule::R06), ("ACTIVATION", Rule::M05)] {
            for (left_out, again) in [(false, 0), (false, 3), (true, 0), (true, 3)] {
                let text = in_place(kind, tiles, left_out, again, 5);
                let verdict = validate_program(&read(text.as_bytes()).expect("reads"), Classes::ALL);
                // A tile that no task of this launch writes before is stale only if one writes it later.
                let expected = left_out && (kind == "ACTIVATION" || again == 0);
                let is_named = verdict.diagnostics.iter().any(|d| d.rule == rule);
                assert_eq!(is_named, expected, "{kind}, {tiles} tiles: {left_out} {again}");
                texts.push(text);
            }
        }
        for text in texts {
            let program = read(text.as_bytes()).expect("reads");
            let ours = found(&program).expect("few enough are broken");
            assert_eq!(Some(&ours), judge(&program).as_ref());
            broken.extend(ours.into_iter().map(|(rule, _)| rule));
        }
    }
    let all = BTreeSet::from([Rule::R03, Rule::R04, Rule::R06, Rule::M05]);
    assert!(broken.is_superset(&all), "{broken:?}");
}

#[test]
fn both_agree_on_larger_programs() {
    for text in [
        programs::decoder::program(2_000),
        programs::random::program(2_000, 3),
        programs::paged::program(2_000),
        // More pairs of tasks on one page than are asked about one by one.
        programs::paged::crowded(450, true),
    ] {
        let program = read(text.as_bytes()).expect("reads");
        assert_eq!(found(&program), Some(Found::new()));
        assert_eq!(judge(&program), Some(Found::new()));
        for task in (5..program.tasks.len()).step_by(program.tasks.len() / 12) {
            let mut mutant = program.clone();
            mutant.tasks[task].waits.pop();
            let (Some(ours), Some(expected)) = (found(&mutant), judge(&mutant)) else { continue };
            assert_eq!(ours, expected, "without the last wait of task {task}");
        }
    }
}
