//! The graph of one rank of several.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use megakernel_ir::rule::{Rule, clause};

use super::Expected::{Accepted, Broken, Warned};
use super::{Cases, Graphs};

/// One graph of several ranks: what the others may bring counts, and nothing else.
pub fn alone(_: &Library, sink: &mut Sink) -> Result<()> {
    const TW04: &[Rule] = &[Rule::TW04];
    let mut cases = Cases { sink, clauses: &[clause::TGR_01] };
    cases.rows(&[
        (
            "reduced-here",
            "a task reads a tile, and a REDUCE that waits for it writes the tile",
            Graphs::Bare(&["run r:a > f", "reduce f w:a"]),
            Accepted,
        ),
        (
            "copied-and-reduced",
            "a copy to another rank reads a tile, and a REDUCE that other ranks let go writes it",
            Graphs::Bare(&["copy r:a > 1.x", "reduce f w:a"]),
            Warned(TW04, "reduced-here"),
        ),
        (
            "put-and-signalled",
            "a put to another rank reads a tile, and a task that a put from there lets go writes it",
            Graphs::Bare(&["put r:a > 1.f", "run ^f w:a"]),
            Warned(TW04, "reduced-here"),
        ),
        (
            "copied-between-two",
            "between two that other ranks let go, a copy to another rank reads a tile that the second of them writes",
            Graphs::Bare(&["reduce f", "copy r:a > 1.x", "reduce g w:a"]),
            Warned(TW04, "reduced-here"),
        ),
        (
            "reduced-before",
            "a copy to another rank reads a tile that a REDUCE writes, which has the lower id",
            Graphs::Bare(&["reduce f w:a", "copy r:a > 1.x"]),
            Broken(&[Rule::TR02], "/all_tasks/3/inputs/0", "reduced-here"),
        ),
        (
            "one-of-two-before",
            "a copy to another rank reads a tile that is written by a task which waits for one event with it and with one of a lower id",
            Graphs::Bare(&["reduce f", "copy f r:a > 1.x", "reduce f w:a"]),
            Broken(&[Rule::TR03], "/all_tasks/4/outputs/0", "reduced-here"),
        ),
        (
            "written-here",
            "one of two tasks that let a third go reads the tile that the third writes",
            Graphs::Bare(&["run r:a > e", "run > e", "run e w:a"]),
            Accepted,
        ),
        (
            "copied-and-written",
            "a copy to another rank reads a tile, and a task that its own rank lets go writes it",
            Graphs::Bare(&["copy r:a > 1.x", "run > e", "run e w:a"]),
            Broken(&[Rule::TR03], "/all_tasks/4/outputs/0", "written-here"),
        ),
        (
            "met-here",
            "three tasks wait for each other, and the last reads what one before them writes",
            Graphs::Bare(&["run w:a > e", "run", "run e > f", "run f r:a"]),
            Accepted,
        ),
        (
            "met",
            "what comes before the start of a collective comes before the next one, which reads it",
            Graphs::Bare(&["run w:a > e", "meet", "meet e", "meet r:a"]),
            Warned(TW04, "met-here"),
        ),
        (
            "met-before",
            "a collective reads what comes before the start of the next one",
            Graphs::Bare(&["run w:a > e", "meet r:a", "meet e", "meet"]),
            Broken(&[Rule::TR02], "/all_tasks/3/inputs/0", "met-here"),
        ),
        (
            "met-and-reduced",
            "what comes before the start of a collective comes before a REDUCE that other ranks let go, which reads it",
            Graphs::Bare(&["run w:a > e", "meet e", "reduce f r:b r:a"]),
            Warned(TW04, "met-here"),
        ),
        (
            "around-right",
            "a task that two others wait for one after the other",
            Graphs::Bare(&["run", "run > e", "run e > f", "run f"]),
            Accepted,
        ),
        (
            "around-beside-a-copy",
            "beside a copy to another rank, two tasks wait for each other and nobody for them",
            Graphs::Bare(&["copy > 1.x", "run f > e", "run e > f", "run"]),
            Broken(&[Rule::TD03, Rule::TD05], "/all_tasks/3", "around-right"),
        ),
        (
            "around-beside-a-collective",
            "beside a collective, two tasks wait for each other and nobody for them",
            Graphs::Bare(&["meet", "run f > e", "run e > f", "run"]),
            Broken(&[Rule::TD03, Rule::TD05], "/all_tasks/3", "around-right"),
        ),
    ])
}
