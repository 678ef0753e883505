//! Chains whose activations take turns on few pages, and two buffers of very many tasks on one page.

#![allow(dead_code, reason = "each of those who share these programs uses some")]

use super::{Ready, Writer};

/// Chains that run side by side.
const CHAINS: usize = 64;
/// Pages of a chain.
const PAGES: usize = 2;

/// A program of about `tasks` tasks in which every page serves thousands of buffers.
pub fn program(tasks: usize) -> String {
    let mut writer = Writer::default();
    let x = writer.buffer("IO_INPUT", "F32", "[1,16]");
    let mut ends = Vec::new();
    for chain in 0..CHAINS {
        let (mut from, mut waits) = (x, Vec::new());
        for step in 0..tasks / CHAINS {
            let to = writer.buffer("ACTIVATION", "F32", "[1,16]");
            writer.bind(to, chain * PAGES + step % PAGES);
            waits = vec![writer.task("GELU", &[from], to, &waits, "{}")];
            from = to;
        }
        ends.push((from, waits));
    }
    for (from, waits) in ends {
        let y = writer.buffer("IO_OUTPUT", "F32", "[1,16]");
        writer.task("COPY", &[from], y, &waits, "{}");
    }
    writer.finish(64)
}

/// Waits of a task; the ABI's capacity is 8.
const WAITS: usize = 7;

/// Two buffers on one page. A third of the tasks write the first one, each under a counter of its own; one task turns it into
/// the second, in place; a third read that, each after another task that nothing but it waits for. Where `is_ordered` is not,
/// these others wait for nobody.
pub fn crowded(tasks: usize, is_ordered: bool) -> String {
    let mut writer = Writer::default();
    let count = tasks / 3;
    let x = writer.buffer("IO_INPUT", "F32", "[1,1]");
    let weight = writer.buffer("CONST", "F32", &format!("[{count},1]"));
    let shape = format!("[1,{count}]");
    let [first, second] = [(); 2].map(|()| writer.buffer("ACTIVATION", "F32", &shape));
    writer.bind(first, 0);
    writer.bind(second, 0);
    let tile = |at: usize| format!(r#"{{"K":1,"N_tile":1,"n_off":{at}}}"#);
    let mut level: Vec<Ready> =
        (0..count).map(|at| writer.task("GEMV_TILE", &[x, weight], first, &[], &tile(at))).collect();
    while level.len() > 1 {
        level = level.chunks(WAITS).map(|waits| nothing(&mut writer, waits)).collect();
    }
    let turned = writer.task("GELU", &[first], second, &level, "{}");
    for _ in 0..count {
        let waits = if is_ordered { vec![turned] } else { Vec::new() };
        let gate = nothing(&mut writer, &waits);
        let own = writer.buffer("ACTIVATION", "F32", &shape);
        writer.task("COPY", &[second], own, &[gate], "{}");
    }
    writer.finish(4 * count)
}

fn nothing(writer: &mut Writer, waits: &[Ready]) -> Ready {
    let counter = writer.counter();
    writer.push("NOP", &[], &[], waits, "{}", counter);
    (counter, 1)
}
