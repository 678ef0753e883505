//! What the unit tests of the validator share.

use crate::validate::columns::Columns;
use crate::validate::graph::Graph;

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
    let mut tasks = Vec::new();
    let mut counter = 0u64;
    for _ in 0..size {
        let waits: Vec<String> = (0..rng.below(4).min(counter))
            .map(|_| format!(r#"{{"counter":{},"threshold":1}}"#, rng.below(counter)))
            .collect();
        counter += rng.below(2) + u64::from(counter == 0 || !waits.is_empty() && counter < 2);
        let out = counter.saturating_sub(1);
        // No task waits on the counter that it shares with others, or on a later one.
        let waits: Vec<String> =
            waits.into_iter().filter(|wait| !wait.contains(&format!(":{out},"))).collect();
        tasks.push(format!(
            r#"{{"id":{},"op":"NOP","inputs":[],"outputs":[],"out_counter":{out},"waits":[{}]}}"#,
            tasks.len(),
            waits.join(",")
        ));
    }
    let counters: Vec<String> = (0..counter).map(|id| format!(r#"{{"id":{id}}}"#)).collect();
    let text = format!(
        r#"{{"ir_version":"0.2.0","abi_version":"0.2","buffers":[],"counters":[{}],"tasks":[{}]}}"#,
        counters.join(","),
        tasks.join(",")
    );
    let program = megakernel_ir::read(text.as_bytes()).expect("the generated program reads");
    let mut columns = Columns::default();
    program.tasks.iter().for_each(|task| columns.push(task));
    Graph::new(&columns, program.counters.len())
}
