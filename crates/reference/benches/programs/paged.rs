//! Chains whose activations take turns on few pages.

use super::Writer;

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
