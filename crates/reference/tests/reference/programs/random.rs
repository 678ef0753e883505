//! Programs without helpful structure: every task has a counter of its own and waits on random earlier ones; buffers
//! are filled by tiles from all over the graph, joined through a tree, and read after the join.

use megakernel_ir::prng::SplitMix64;

use super::{Ready, Writer};

/// Tiles of a buffer.
const TILES: usize = 49;
/// Waits of a task; the ABI's capacity is 8.
const WAITS: usize = 7;

/// A random program of about `tasks` tasks; the same for the same seed.
pub fn program(tasks: usize, seed: u64) -> String {
    let mut prng = SplitMix64::new(seed);
    let mut below = |bound: usize| prng.index(bound);
    let mut writer = Writer::default();
    let x = writer.buffer("IO_INPUT", "F32", "[1,1]");
    let weight = writer.buffer("CONST", "F32", &format!("[{TILES},1]"));
    let mut done: Vec<Ready> = Vec::new();
    let mut groups = Vec::new();
    while writer.tasks.len() < tasks {
        // A group's tiles wait on anything that is done; groups overlap in time like the branches of a random graph.
        let buffer = writer.buffer("ACTIVATION", "F32", &format!("[1,{TILES}]"));
        let mut level: Vec<Ready> = (0..TILES)
            .map(|tile| {
                let waits: Vec<Ready> =
                    (0..below(3).min(done.len())).map(|_| done[below(done.len())]).collect();
                let params = format!(r#"{{"K":1,"N_tile":1,"n_off":{tile}}}"#);
                writer.task("GEMV_TILE", &[x, weight], buffer, &distinct(waits), &params)
            })
            .collect();
        done.extend(&level);
        while level.len() > 1 {
            level = level
                .chunks(WAITS)
                .map(|waits| {
                    let counter = writer.counter();
                    writer.push("NOP", &[], &[], waits, "{}", counter);
                    (counter, 1)
                })
                .collect();
        }
        groups.push((buffer, level[0]));
        for _ in 0..12 {
            let (from, ready) = groups[below(groups.len())];
            let to = writer.buffer("ACTIVATION", "F32", &format!("[1,{TILES}]"));
            let other = done[below(done.len())];
            // The order comes through a task that touches nothing, so that no wait shows it directly.
            let counter = writer.counter();
            writer.push("NOP", &[], &[], &distinct(vec![ready, other]), "{}", counter);
            done.push(writer.task("COPY", &[from], to, &[(counter, 1)], "{}"));
        }
    }
    writer.finish(0)
}

fn distinct(mut waits: Vec<Ready>) -> Vec<Ready> {
    waits.sort_unstable();
    waits.dedup();
    waits
}
