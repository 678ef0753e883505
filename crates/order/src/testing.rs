//! What the unit tests share.

use crate::edges::Edges;
use crate::graph::Graph;
use megakernel_ir::CounterId;
use megakernel_ir::prng::SplitMix64;

/// The graph of a random acyclic program of `size` tasks, some of which share counters.
pub fn random_dag(rng: &mut SplitMix64, size: usize) -> Graph {
    let mut edges = Edges::default();
    let mut counters = 0u32;
    for _ in 0..size {
        let known = u64::from(counters);
        let waits: Vec<u32> = (0..rng.below(4).min(known)).map(|_| rng.below(known) as u32).collect();
        counters += rng.below(2) as u32 + u32::from(counters == 0 || !waits.is_empty() && counters < 2);
        let out = counters - 1;
        // No task waits on the counter that it shares with others, or on a later one.
        let waits = waits.into_iter().filter(|&wait| wait != out).map(CounterId::from);
        edges.push(CounterId::from(out), waits);
    }
    Graph::new(&edges, counters as usize)
}
