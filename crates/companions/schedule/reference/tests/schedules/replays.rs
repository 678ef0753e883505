//! Every finding about runs, of every schedule of the corpus, is run to the state that it speaks of.

use std::path::PathBuf;

use megakernel_ir::Rule;
use megakernel_reference::commands::replay::{Kind, NoRun};
use megakernel_schedule_reference::COMPANION;
use megakernel_test_support::{files, root};

use crate::fixture;

fn kind() -> &'static (dyn Kind + Sync) {
    COMPANION.replay.expect("schedules can be replayed")
}

#[test]
fn no_finding_of_the_corpus_leads_nowhere() {
    let text = |case: PathBuf| {
        let case = files::json(&case);
        Some((case["id"].as_str()?.to_owned(), case["document"]["text"].as_str()?.as_bytes().to_vec()))
    };
    let (mut shown, mut without, mut wrong) = (0, Vec::new(), Vec::new());
    for (id, document) in
        files::json_below(&root().join("corpus/cases/schedule")).into_iter().filter_map(text)
    {
        let documents = [document];
        if !kind().is_one(&documents[0]) {
            continue;
        }
        let Ok(judged) = kind().open(&documents, std::slice::from_ref(&id)) else { continue };
        for finding in judged.findings() {
            match judged.replay(finding, 40) {
                Ok(run) => {
                    assert!(!run.outcome.is_empty(), "{id}");
                    shown += 1;
                }
                Err(NoRun::Without(why)) => without.push(format!("{id}: {} {why}", finding.rule)),
                Err(NoRun::Wrong(why)) => wrong.push(format!("{id}: {} {why}", finding.rule)),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    println!("{shown} shown, {} not: {without:#?}", without.len());
    assert!(shown > 20 * without.len(), "{shown} shown, not {without:#?}");
}

/// In a layer of some hundred tasks the run to a race is as long as what leads to it.
#[test]
fn a_race_of_a_large_schedule_is_told_in_few_steps() {
    let documents = [fixture("hazy_llama1b_1l_as_kernels_wait").to_string().into_bytes()];
    let judged = kind().open(&documents, &["layer".to_owned()]).expect("it could run");
    let finding = *judged.findings().first().expect("a finding");
    assert_eq!(finding.rule, Rule::ER03);
    let run = judged.replay(finding, usize::MAX).expect("a run");
    assert!(run.outcome[0].starts_with("race: "), "{:?}", run.outcome);
    // Of the tasks that add, only the one that races takes part, and none that stands behind them in the layer.
    let of = |op: &str| run.steps.iter().filter(|step| step.contains(op)).count();
    assert_eq!((of(" op6 "), of(" op7 ")), (1, 0), "{:#?}", run.steps);
    assert!(of(" op5 ") > 128 && of(" op4 ") > 0);
}
