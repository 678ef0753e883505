//! What the unit tests share.

use crate::edges::Edges;
use crate::graph::Graph;

/// SplitMix64, the generator of clause CON-09.
pub struct Rng(pub u64);

impl Rng {
    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ (mixed >> 31)) * u128::from(bound)) >> 64) as u64
    }
}

/// The graph of a random acyclic program of `size` tasks, some of which share counters.
pub fn random_dag(rng: &mut Rng, size: usize) -> Graph {
    let mut edges = Edges::default();
    let mut counters = 0u32;
    for _ in 0..size {
        let known = u64::from(counters);
        let waits: Vec<u32> = (0..rng.below(4).min(known)).map(|_| rng.below(known) as u32).collect();
        counters += rng.below(2) as u32 + u32::from(counters == 0 || !waits.is_empty() && counters < 2);
        let out = counters - 1;
        // No task waits on the counter that it shares with others, or on a later one.
        edges.push(out, waits.into_iter().filter(|&wait| wait != out));
    }
    Graph::new(&edges, counters as usize)
}
