//! Races of single pairs, and of parts of tiles.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use megakernel_ir::rule::{Rule, clause};

use super::Expected::{Accepted, Broken, Warned};
use super::{Cases, Graphs};
use crate::build::text;
use crate::lines;

/// TR02 to TR04, each broken by pairs that stand apart: who finds that a tensor races has not found all of them.
pub fn pairs(_: &Library, sink: &mut Sink) -> Result<()> {
    let mut cases = Cases { sink, clauses: &[clause::TGR_09] };
    cases.rows(&[
        (
            "behind-a-writer-right",
            "three tasks in a row, of which two write a tile, the last of them for the third",
            Graphs::Bare(&["run > d w:b", "run d w:a > e", "run e r:a"]),
            Accepted,
        ),
        (
            "behind-a-writer-wrong",
            "a task waits for one of two that write the tile that it reads",
            Graphs::Bare(&["run w:a", "run w:a > e", "run e r:a"]),
            Broken(&[Rule::TR02, Rule::TR04], "/all_tasks/4/inputs/0", "behind-a-writer-right"),
        ),
        (
            "before-a-writer-right",
            "a tile is read twice and then written twice, for a reader each time",
            Graphs::Bare(&["run r:a > d", "run d w:a > e", "run e r:a > f", "run f w:a"]),
            Accepted,
        ),
        (
            "before-a-writer-wrong",
            "of two tasks that write a tile one after the other, none waits for one that reads and writes it",
            Graphs::Bare(&["run r:a w:a", "run w:a > e", "run e r:a > f", "run f w:a"]),
            Broken(&[Rule::TR02, Rule::TR03, Rule::TR04], "/all_tasks/4/inputs/0", "before-a-writer-right"),
        ),
        (
            "two-rows-right",
            "a tile is written, read, written, read and written, one after the other",
            Graphs::Bare(&[
                "run w:a > c",
                "run c r:a > d",
                "run d > e",
                "run e w:a > g",
                "run g r:a > f",
                "run f w:a",
            ]),
            Accepted,
        ),
        (
            "two-rows-wrong",
            "a short row of tasks writes a tile twice, and a long one writes and reads it later",
            Graphs::Bare(&["run w:a > f", "run > c", "run c > d", "run d w:a > g", "run g r:a", "run f w:a"]),
            Broken(&[Rule::TR02, Rule::TR03, Rule::TR04], "/all_tasks/6/inputs/0", "two-rows-right"),
        ),
        (
            "two-rows-read-first-right",
            "a tile is read, written, read and written, one after the other",
            Graphs::Bare(&["run r:a > c", "run c > d", "run d w:a > g", "run g r:a > f", "run f w:a"]),
            Accepted,
        ),
        (
            "two-rows-read-first-wrong",
            "a short row of tasks reads a tile and writes it, and a long one reads and writes it later",
            Graphs::Bare(&["run r:a > f", "run > c", "run c > d", "run d r:a > g", "run g w:a", "run f w:a"]),
            Broken(&[Rule::TR03, Rule::TR04], "/all_tasks/6/outputs/0", "two-rows-read-first-right"),
        ),
    ])?;
    // More than 3,000 pairs break one rule, and a few another.
    let many = |at: fn(usize) -> usize| -> Result<String> {
        let mut lines: Vec<String> = (0..79).map(|n| format!("run w:a@{}[1]", 4 * at(n))).collect();
        lines.push(format!("run w:a@{}[1] > e", 4 * at(79)));
        lines.push(format!("run e r:a@{}[1]", 4 * at(79)));
        Ok(text(&lines::bare(&lines)?))
    };
    let what = "eighty tasks write an element each, and one reads the last";
    cases.add("eighty-writers-right", what, &many(|n| n)?, Accepted)?;
    let what = "eighty tasks write the same element, and one that waits for the last reads it";
    let broken = Broken(&[Rule::TR02, Rule::TR04], "/all_tasks/82/inputs/0", "eighty-writers-right");
    cases.add("eighty-writers-wrong", what, &many(|_| 0)?, broken)?;
    // More tasks race than a validator may care to compare with each other.
    let rows = |count: usize, wrong: bool| -> Result<String> {
        let at = |task: usize| 4 * if wrong { task / 2 } else { task };
        let last = 2 * count + 1;
        let access = |task: usize| if task == last { "r" } else { "w" };
        let lines: Vec<String> =
            (0..=last).map(|task| format!("run {}:a@{}[1]", access(task), at(task))).collect();
        Ok(lines::bare(&lines)?.to_string())
    };
    let what = "nine tasks write an element each, and a tenth reads another one";
    cases.add("many-rows-right", what, &rows(4, false)?, Accepted)?;
    let what = "of 1,025 elements each has two tasks that nothing orders: both write it, but of the last one of them reads";
    let broken = Broken(&[Rule::TR02, Rule::TR04], "/all_tasks/2051/inputs/0", "many-rows-right");
    cases.add("many-rows-wrong", what, &rows(1024, true)?, broken)
}

/// TR02, TR05 and TR07, where tiles have parts in common.
pub fn parts(_: &Library, sink: &mut Sink) -> Result<()> {
    let mut cases = Cases { sink, clauses: &[clause::TGR_04, clause::TGR_05] };
    cases.rows(&[
        (
            "first-half-read",
            "of a tile that is written twice the first half is read in between",
            Graphs::Bare(&["run w:a[8] > e", "run e r:a > f", "run f w:a[8]"]),
            Accepted,
        ),
        (
            "last-half-read",
            "of a tile that is written twice the last half is read in between",
            Graphs::Bare(&["run w:a[8] > e", "run e r:a@16 > f", "run f w:a[8]"]),
            Accepted,
        ),
        (
            "middle-read",
            "of a tile that is written twice one element is read in between",
            Graphs::Bare(&["run w:a[8] > e", "run e r:a@12[1] > f", "run f w:a[8]"]),
            Accepted,
        ),
        (
            "no-part-read",
            "of a tile that is written twice no part is read in between, but what follows on it",
            Graphs::Bare(&["run w:a[8] > e", "run e r:a@32 > f", "run f w:a[8]"]),
            Broken(&[Rule::TR05], "/all_tasks/2/outputs/0", "last-half-read"),
        ),
        (
            "by-halves-right",
            "two tasks overwrite a tile by halves, and each half is read before",
            Graphs::Bare(&["run w:a[8] > e", "run e r:a w:a", "run e r:a@16 > f", "run f w:a@16"]),
            Accepted,
        ),
        (
            "by-halves-first-wrong",
            "two tasks overwrite a tile by halves, and the first half is not read before",
            Graphs::Bare(&["run w:a[8] > e", "run e w:a", "run e r:a@16 > f", "run f w:a@16"]),
            Broken(&[Rule::TR05], "/all_tasks/2/outputs/0", "by-halves-right"),
        ),
        (
            "by-halves-last-wrong",
            "two tasks overwrite a tile by halves, and the last half is not read before",
            Graphs::Bare(&["run w:a[8] > e", "run e r:a w:a", "run e > f", "run f w:a@16"]),
            Broken(&[Rule::TR05], "/all_tasks/2/outputs/0", "by-halves-right"),
        ),
        // Byte 4 * (256 + 16 + 1) * n is element n along each axis.
        (
            "cubes-right",
            "cubes on the diagonal: two that are read have a corner in common, and so have two that are written, which is read",
            Graphs::Bare(&[
                "run w:a[4x4x4/256x16x1] > e",
                "run r:a@8736[2x2x2/256x16x1]",
                "run r:a@9828[3x3x3/256x16x1]",
                "run e r:a@3276[4x4x4/256x16x1] w:a@3276[4x4x4/256x16x1]",
            ]),
            Accepted,
        ),
        (
            "cubes-wrong",
            "cubes on the diagonal: two that are read have a corner in common, and so have two that are written, which nobody reads",
            Graphs::Bare(&[
                "run w:a[4x4x4/256x16x1] > e",
                "run r:a@8736[2x2x2/256x16x1]",
                "run r:a@9828[3x3x3/256x16x1]",
                "run e w:a@3276[4x4x4/256x16x1]",
            ]),
            Broken(&[Rule::TR05], "/all_tasks/2/outputs/0", "cubes-right"),
        ),
        (
            "sums-right",
            "two tasks add to two tiles side by side, and both are set before",
            Graphs::Bare(&["run w:a[8] > e", "add e r:x r:w w:a", "add e r:x r:w w:a@16"]),
            Accepted,
        ),
        (
            "sums-last-wrong",
            "two tasks add to two tiles side by side, and that of the first alone is set before",
            Graphs::Bare(&["run w:a > e", "add e r:x r:w w:a", "add e r:x r:w w:a@16"]),
            Broken(&[Rule::TR07], "/all_tasks/4/outputs/0", "sums-right"),
        ),
        (
            "sums-first-wrong",
            "two tasks add to two tiles side by side, and that of the second alone is set before",
            Graphs::Bare(&["run w:a@16 > e", "add e r:x r:w w:a", "add e r:x r:w w:a@16"]),
            Broken(&[Rule::TR07], "/all_tasks/3/outputs/0", "sums-right"),
        ),
        (
            "sums-between-wrong",
            "three tasks add to tiles side by side, and that of the second is not set before",
            Graphs::Bare(&["run w:a w:a@32 > e", "add e r:x r:w w:a", "add e r:x r:w w:a@16", "add e r:x r:w w:a@32"]),
            Broken(&[Rule::TR07], "/all_tasks/4/outputs/0", "sums-right"),
        ),
        (
            "steps-right",
            "one of two unordered tasks writes every sixteenth element, and one reads every fourth of the first sixteen",
            Graphs::Bare(&["run w:a@64[2/16]", "run r:a[4/4]"]),
            Accepted,
        ),
        (
            "steps-wrong",
            "one of two unordered tasks writes every sixteenth element, and one reads every fourth of the first twenty",
            Graphs::Bare(&["run w:a@64[2/16]", "run r:a[5/4]"]),
            Broken(&[Rule::TR02], "/all_tasks/3/inputs/0", "steps-right"),
        ),
        (
            "steps-both-read",
            "a task reads every sixteenth element, and every fourth of the first twenty",
            Graphs::Bare(&["run r:a@64[2/16] r:a[5/4]"]),
            Warned(&[Rule::TW03], "steps-both-read-right"),
        ),
        (
            "steps-both-read-right",
            "a task reads every sixteenth element, and every fourth of the first sixteen",
            Graphs::Bare(&["run r:a@64[2/16] r:a[4/4]"]),
            Accepted,
        ),
    ])
}
