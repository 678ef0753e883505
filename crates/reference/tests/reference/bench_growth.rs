//! How the time to validate grows, of programs like those of compilers and of programs for which it could be quadratic: overlapping
//! tiles, races without end, a crowded page. From 3,300 to 100,000 tasks: `cargo bench -p megakernel-reference --bench growth`.
//!
//! Processor time of all threads, the least of some rounds, since other work on the machine lengthens elapsed time. A name, such
//! as `racing-copies`, runs one kind of program.

#![allow(missing_docs, clippy::unwrap_used)]

mod cost;
mod programs;

use std::hint::black_box;

use cost::{Cost, cost};
use megakernel_ir::read;
use megakernel_reference::validate::{Classes, validate_program};
use programs::tiles::{self, FirstTile};
use programs::{decoder, paged, random};

/// Name, whether it is accepted, and the program of about so many tasks.
type Kind = (&'static str, bool, fn(usize) -> String);

const KINDS: [Kind; 13] = [
    ("decoder", true, decoder::program),
    ("random", true, |tasks| random::program(tasks, 7)),
    ("paged", true, paged::program),
    ("tiles-in-phases", true, |tasks| tiles::phases(tasks, 300, 7)),
    ("tiles-in-a-chain", true, |tasks| tiles::chain(tasks, 7, true)),
    ("unwritten-tiles", false, |tasks| tiles::chain(tasks, 7, false)),
    ("unordered-tiles", false, |tasks| tiles::unordered(tasks, 7)),
    ("overtaken-reads", false, |tasks| tiles::overtaken(tasks / 2, tasks / 2, 7, FirstTile::Beside)),
    ("overtaken-reads-of-less", false, |tasks| tiles::overtaken(tasks / 2, tasks / 2, 7, FirstTile::Never)),
    ("stale-rows", false, |tasks| tiles::stale(tasks / 10, tasks - tasks / 10, 7)),
    ("racing-copies", false, tiles::copies),
    ("crowded-page", true, |tasks| paged::crowded(tasks, true)),
    ("crowded-page-unordered", false, |tasks| paged::crowded(tasks, false)),
];

const SIZES: [usize; 6] = [3_300, 10_000, 20_000, 30_000, 40_000, 100_000];
/// Between these the exponent is taken.
const GROWTH: [usize; 2] = [10_000, 100_000];
const ROUNDS: usize = 3;

/// The least processor time, in seconds.
fn measure(name: &str, is_accepted: bool, text: &str) -> f64 {
    let program = read(text.as_bytes()).unwrap();
    let rounds = (0..ROUNDS).map(|_| {
        cost(|| {
            let verdict = validate_program(black_box(&program), Classes::ALL);
            assert_eq!(verdict.accepts(), is_accepted, "{name}: {:?}", verdict.diagnostics.first());
        })
    });
    rounds.fold(Cost::NONE, Cost::least).cpu.as_secs_f64()
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    print!("| program | verdict |");
    SIZES.iter().for_each(|size| print!(" {size} |"));
    println!(" exponent |\n| --- | --- |{}", " ---: |".repeat(SIZES.len() + 1));
    for (name, is_accepted, program) in KINDS {
        if !wanted.is_empty() && !wanted.iter().any(|one| one == name) {
            continue;
        }
        let times = SIZES.map(|size| measure(name, is_accepted, &program(size)));
        let time = |size: usize| SIZES.iter().position(|&one| one == size).map(|index| times[index]).unwrap();
        let [small, large] = GROWTH;
        let exponent = (time(large) / time(small)).ln() / (large as f64 / small as f64).ln();
        print!("| {name} | {} |", if is_accepted { "accepted" } else { "rejected" });
        times.iter().for_each(|time| print!(" {time:.3} s |"));
        println!(" {exponent:.2} |");
    }
}
