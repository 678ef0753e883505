//! Reading alone and reading with validation, in pairs, over three kinds of programs up to a million tasks, and the
//! straightforward validator beside them: `cargo bench -p megakernel-reference --bench scale`.
//!
//! Each program has a process of its own, so that its peak memory is its own. What is compared is run in turns, and of all
//! rounds the fastest counts: other work on the machine slows single rounds and not these. Times are elapsed times; the
//! processor time of all threads stands beside them. A name, such as `decoder-100000`, runs one program.

#![allow(missing_docs, clippy::unwrap_used)]

mod cost;
mod programs;
mod straightforward;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

use cost::{Cost, cost};
use megakernel_ir::model::{Program, Task};
use megakernel_ir::params::ParamKey;
use megakernel_ir::{BufferKind, Rule, read};
use megakernel_reference::validate::{Classes, broken_rules, validate, validate_program};

/// Kind, tasks, rounds, and whether the straightforward validator can be waited for.
const CASES: [(&str, usize, usize, bool); 6] = [
    ("decoder", 10_000, 60, true),
    ("decoder", 100_000, 15, true),
    ("decoder", 1_000_000, 7, false),
    ("random", 10_000, 40, true),
    ("random", 100_000, 7, true),
    ("paged", 100_000, 15, false),
];

fn text(kind: &str, tasks: usize) -> String {
    match kind {
        "decoder" => programs::decoder::program(tasks),
        "random" => programs::random::program(tasks, 7),
        _ => programs::paged::program(tasks),
    }
}

/// The most memory that this process has had, in bytes; nothing where the system does not say.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

const MEASURED: usize = 5;

/// Looks at the ids of every record once and does nothing with them: no validator can do less.
fn walk(program: &Program<'_>) -> i64 {
    let of_task = |task: &Task<'_>| {
        let ids = task.inputs.iter().chain(&task.outputs).sum::<i64>();
        let waits = task.waits.iter().map(|wait| wait.counter ^ wait.threshold).sum::<i64>();
        let params = task.params.0.iter().filter(|(key, _)| matches!(key, ParamKey::Known(_))).count();
        task.id ^ task.out_counter ^ ids ^ waits ^ params as i64 ^ task.est_flops
    };
    let buffers: i64 =
        program.buffers.iter().map(|buffer| buffer.id ^ buffer.shape.iter().sum::<i64>()).sum();
    let counters: i64 = program.counters.iter().map(|counter| counter.id).sum();
    program.tasks.iter().map(of_task).fold(buffers ^ counters, |all, one| all ^ one)
}

/// What one process measures, line by line: the costs of reading, reading and validating, validating, the straightforward
/// way, and a mere walk, each as elapsed and processor seconds, then tasks, bytes and peak memory.
fn child(kind: &str, tasks: usize, file: &Path) {
    let &(.., rounds, baseline) =
        CASES.iter().find(|&&(k, t, ..)| (k, t) == (kind, tasks)).expect("one of the cases");
    let bytes = std::fs::read(file).unwrap();
    let mut costs = [Cost::NONE; MEASURED];
    let mut keep = |index: usize, cost: Cost| costs[index] = costs[index].least(cost);
    let mut count = 0;
    for _ in 0..rounds {
        keep(0, cost(|| read(black_box(&bytes)).unwrap()));
        keep(1, cost(|| assert!(validate(black_box(&bytes), Classes::ALL).accepts())));
        let program = read(&bytes).unwrap();
        count = program.tasks.len();
        keep(2, cost(|| validate_program(black_box(&program), Classes::ALL)));
        keep(4, cost(|| walk(black_box(&program))));
    }
    let memory = peak();
    if baseline {
        let program = read(&bytes).unwrap();
        for _ in 0..rounds.min(5) {
            keep(3, cost(|| straightforward::judge(black_box(&program)).unwrap()));
        }
        agree(&program);
    }
    for cost in costs {
        println!("{} {}", cost.wall.as_secs_f64(), cost.cpu.as_secs_f64());
    }
    println!("{count} {} {}", bytes.len(), memory.unwrap_or(0));
}

/// The same verdict by both, on the program and without one wait here and there.
fn agree(program: &Program<'_>) {
    let judged = [Rule::R02, Rule::R03, Rule::R04, Rule::R05, Rule::R06, Rule::M05, Rule::P01];
    let rules = |program: &Program<'_>| {
        let found = straightforward::judge(program).unwrap();
        let mut rules: Vec<Rule> = found.into_iter().map(|(rule, _)| rule).collect();
        rules.dedup();
        rules
    };
    let compare = |program: &Program<'_>| {
        let mut ours = broken_rules(program, Classes::ALL);
        assert!(ours.iter().all(|rule| judged.contains(rule)), "{ours:?}");
        ours.sort_unstable();
        assert_eq!(ours, rules(program));
        ours
    };
    assert_eq!(compare(program), []);
    let mut rejected = 0;
    let reads = |task: &Task<'_>| {
        let kind = task.inputs.first().map(|&id| program.buffers[id as usize].kind);
        kind == Some(BufferKind::Activation)
    };
    for part in 1..4 {
        let mut other = program.clone();
        let from = program.tasks.len() * part / 4;
        let task = other.tasks[from..].iter_mut().find(|task| !task.waits.is_empty() && reads(task)).unwrap();
        task.waits.pop();
        rejected += usize::from(!compare(&other).is_empty());
    }
    assert!(rejected > 0, "no wait that was dropped mattered");
}

/// A row of the table.
struct Row {
    name: String,
    tasks: f64,
    bytes: f64,
    peak: f64,
    costs: [(f64, f64); MEASURED],
}

fn measure(kind: &str, tasks: usize) -> Row {
    let name = format!("{kind}-{tasks}");
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.json"));
    std::fs::write(&file, text(kind, tasks)).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--child", kind, &tasks.to_string()])
        .arg(&file)
        .stderr(std::process::Stdio::inherit())
        .output()
        .unwrap();
    let _ = std::fs::remove_file(&file);
    assert!(output.status.success(), "{name} failed");
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Vec<f64>> =
        printed.lines().map(|line| line.split(' ').map(|number| number.parse().unwrap()).collect()).collect();
    let costs = [0, 1, 2, 3, 4].map(|index| (lines[index][0], lines[index][1]));
    let last = &lines[MEASURED];
    Row { name, tasks: last[0], bytes: last[1], peak: last[2], costs }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [flag, kind, tasks, file] = arguments.as_slice()
        && flag == "--child"
    {
        return child(kind, tasks.parse().unwrap(), Path::new(file));
    }
    let wanted = |kind: &str, tasks: usize| {
        arguments.is_empty() || arguments.iter().any(|name| *name == format!("{kind}-{tasks}"))
    };
    println!(
        "| program | tasks | MB | read | read and validate | ratio | validate | walk | straightforward | ratio | peak MB |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut rows = Vec::new();
    for (kind, tasks, ..) in CASES.into_iter().filter(|&(kind, tasks, ..)| wanted(kind, tasks)) {
        let row = measure(kind, tasks);
        let ms = |(wall, cpu): (f64, f64)| format!("{:.1} ms ({:.1})", wall * 1e3, cpu * 1e3);
        let [reading, both, validating, baseline, walking] = row.costs;
        let (slow, times) = match baseline.0 < 1e6 {
            true => (ms(baseline), format!("{:.1}", baseline.0 / validating.0)),
            false => (String::new(), String::new()),
        };
        println!(
            "| {} | {} | {:.1} | {} | {} | {:.2} | {} | {} | {slow} | {times} | {:.0} |",
            row.name,
            row.tasks,
            row.bytes / 1e6,
            ms(reading),
            ms(both),
            both.0 / reading.0,
            ms(validating),
            ms(walking),
            row.peak / 1e6
        );
        rows.push(row);
    }
    println!("\nElapsed time, in brackets processor time; the least of all rounds.");
    let decoders: Vec<&Row> = rows.iter().filter(|row| row.name.starts_with("decoder")).collect();
    if let [first, .., last] = decoders.as_slice() {
        let exponent = |index: usize| {
            (last.costs[index].0 / first.costs[index].0).ln() / (last.tasks / first.tasks).ln()
        };
        println!(
            "From {} to {} decoder tasks: validate grows with the exponent {:.2}, reading and validating with {:.2}.",
            first.tasks,
            last.tasks,
            exponent(2),
            exponent(1)
        );
    }
}
