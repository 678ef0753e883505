//! What the runner itself costs: requests a second to a worker that hardly has to think, and to one that does nothing.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::path::Path;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use megakernel_conformance::run::{self, HANDSHAKE, Options, TIMEOUT};
use megakernel_conformance::store::Corpus;
use megakernel_conformance::worker::WorkerCommand;
use serde_json::json;

const CASES: usize = 1000;

/// Cases that edit a program of so many tasks.
fn write_corpus(root: &Path, tasks: usize) -> std::io::Result<()> {
    let task = |id: usize| json!({"id": id, "op": "NOP", "inputs": [], "outputs": [], "out_counter": id});
    let tasks: Vec<_> = (0..tasks).map(task).collect();
    let program = json!({"meta": {}, "tasks": tasks});
    std::fs::create_dir_all(root.join("programs"))?;
    std::fs::create_dir_all(root.join("cases"))?;
    std::fs::write(root.join("programs/chain.json"), program.to_string())?;
    for number in 0..CASES {
        let edit = json!([{"op": "add", "path": "/meta/number", "value": number}]);
        let case = json!({
            "id": format!("case-{number}"), "summary": "a benchmark", "profiles": ["validate"], "method": "validate",
            "clauses": ["DAT-01"], "document": {"base": "programs/chain.json", "edit": edit},
            "expect": {"verdict": "accept"},
            "provenance": {"family": "benchmark", "seed": 0, "generator": "0.1.0"}
        });
        std::fs::write(root.join(format!("cases/case-{number}.json")), case.to_string())?;
    }
    Ok(())
}

fn runner(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("runner");
    group.sample_size(10).throughput(Throughput::Elements(CASES as u64));
    for tasks in [10, 1000] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        write_corpus(directory.path(), tasks).expect("a corpus");
        group.bench_function(BenchmarkId::new("load", format!("{tasks} tasks")), |bencher| {
            bencher.iter(|| black_box(Corpus::load(directory.path())).expect("a corpus"));
        });
        let corpus = Corpus::load(directory.path()).expect("a corpus");
        // The time of a run of the second one, divided by the number of cases, is the overhead of a case.
        let workers = [("run", "good"), ("overhead", "answers-at-once")];
        for ((name, behaviour), jobs) in workers.into_iter().flat_map(|worker| [(worker, 1), (worker, 2)]) {
            let options = Options {
                jobs: NonZeroUsize::new(jobs).unwrap_or(NonZeroUsize::MIN),
                ..Options::new(WorkerCommand {
                    program: env!("CARGO_BIN_EXE_test-worker").to_owned(),
                    arguments: vec![behaviour.to_owned()],
                    timeout: TIMEOUT,
                    handshake: HANDSHAKE,
                })
            };
            group.bench_function(BenchmarkId::new(name, format!("{tasks} tasks, {jobs} jobs")), |bencher| {
                bencher.iter(|| {
                    let run = run::run(&corpus, &options, None, &|_| {}).expect("a run");
                    assert!(run.results.iter().all(|(_, outcome)| *outcome == run::Outcome::Passed));
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, runner);
criterion_main!(benches);
