//! How far the walk is from the optimum on random sequences: `cargo bench -p megakernel-selection-reference --bench greed`. Chains of four
//! classes, and a dozen kernels for words of one to four of them, whose costs are drawn too; with a kernel for each class alone, and
//! without that. The same numbers on every machine.

#![allow(missing_docs, clippy::unwrap_used)]

use megakernel_ir::prng::SplitMix64;
use megakernel_selection::document::{Constraints, Cost};
use megakernel_selection::{Index, Kernel, Op, Options, Rational, Request, Rows, Sequence, Stage, Write};
use megakernel_selection_reference::kernels::Kernels;
use megakernel_selection_reference::optimum::optimum;
use megakernel_selection_reference::plan;
use megakernel_selection_reference::plan::Region;

const CLASSES: usize = 4;
const INSTANCES: usize = 10_000;

fn index(draws: &mut SplitMix64, units: bool) -> Index {
    let kernels = (0..12).map(|number| {
        let alone = units && number < CLASSES;
        let length = if alone { 1 } else { draws.between(1, 4) };
        let classes: Vec<usize> =
            (0..length).map(|_| if alone { number } else { draws.index(CLASSES) }).collect();
        let stage = |(at, class): (usize, &usize)| Stage {
            class: format!("class{class}"),
            core: None,
            optional: false,
            chain: None,
            out: at + 1 == length,
            rounds: true,
        };
        Kernel {
            id: format!("kernel {number}"),
            stages: classes.iter().enumerate().map(stage).collect(),
            constraints: Constraints::default(),
            cost: Cost { fixed: draws.between(1, 9).to_string(), bytes: Vec::new(), flops: Vec::new() },
        }
    });
    Index { kernels: kernels.collect() }
}

fn sequence(draws: &mut SplitMix64, length: u32) -> Sequence {
    let op = |id: u32| {
        let rows = Rows::of_class(&format!("class{}", draws.index(CLASSES)));
        let readers = if id + 1 < length { vec![i64::from(id) + 1] } else { Vec::new() };
        let write = Write { value: id + 1, output: readers.is_empty(), readers };
        Op { reads: vec![id], writes: vec![write], marker: None, rows: rows.into() }
    };
    Sequence { ops: (0..length).map(op).collect(), values: Vec::new() }
}

fn cost(regions: &[Region]) -> Rational {
    regions.iter().fold(Rational::zero(), |sum, region| sum.plus(&region.cost))
}

fn main() {
    println!(
        "| ops | a kernel for each class | equal | dearer | on average then | at most | stuck where a plan exists | no plan |"
    );
    println!("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for units in [true, false] {
        for length in [7, 20, 100] {
            let mut draws = SplitMix64::for_family("greed", u64::from(length));
            let (mut equal, mut stuck, mut none, mut ratios) = (0, 0, 0, Vec::new());
            for _ in 0..INSTANCES {
                let (index, sequence) = (index(&mut draws, units), sequence(&mut draws, length));
                let kernels = Kernels::new(&index, None);
                let best = optimum(&kernels, &sequence, 64).map(|regions| cost(&regions));
                let request = Request { sequence, index, options: Options::default() };
                let walked = plan(&request, &kernels).map(|regions| cost(&regions));
                match (walked, best) {
                    (Ok(walked), Ok(best)) if walked == best => equal += 1,
                    (Ok(walked), Ok(best)) => ratios.push(walked.divided_by(&best).unwrap().approximately()),
                    (Err(_), Ok(_)) => stuck += 1,
                    (_, Err(_)) => none += 1,
                }
            }
            let most = ratios.iter().copied().fold(1.0, f64::max);
            let mean = ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
            let dearer = ratios.len();
            println!(
                "| {length} | {} | {equal} | {dearer} | {mean:.3} | {most:.2} | {stuck} | {none} |",
                if units { "yes" } else { "no" }
            );
        }
    }
}
