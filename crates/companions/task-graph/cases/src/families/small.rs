//! Small documents in which one thing decides, each beside one in which that is right: the last pair of many, a part of a tile, an
//! order that only other ranks could bring, one queue, one step from an iteration to the next.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Document, Library, Sink};
use megakernel_ir::rule::{Clause, Rule, clause};
use serde_json::{Value, json};

use super::base::GraphCases;
use crate::build::{system, text};
use crate::lines;

use Expected::{Accepted, Broken, Warned};

/// The lines of the ranks.
#[derive(Clone, Copy)]
enum Graphs {
    Bare(&'static [&'static str]),
    System(&'static [&'static [&'static str]]),
}

/// What is declared.
#[derive(Clone, Copy)]
enum Expected {
    Accepted,
    /// Accepted with these warnings. The twin is free of them.
    Warned(&'static [Rule], &'static str),
    /// Each of these rules is broken, and one of them there. The twin breaks none.
    Broken(&'static [Rule], &'static str, &'static str),
}

/// A case: its name, what it is, its graphs, and what is declared of them.
type Row = (&'static str, &'static str, Graphs, Expected);

/// The cases of one family.
struct Cases<'s> {
    sink: &'s mut Sink,
    clauses: &'static [Clause],
}

impl Cases<'_> {
    fn rows(&mut self, rows: &[Row]) -> Result<()> {
        for &(name, what, graphs, expected) in rows {
            let document = match graphs {
                Graphs::Bare(lines) => lines::bare(lines)?,
                Graphs::System(ranks) => lines::ranks(ranks)?,
            };
            self.add(name, what, &text(&document), expected)?;
        }
        Ok(())
    }

    fn add(&mut self, name: &str, what: &str, document: &str, expected: Expected) -> Result<()> {
        let (expect, cited, twin) = match expected {
            Accepted => (json!({"verdict": "accept", "warnings": []}), &[][..], None),
            Warned(rules, twin) => (json!({"verdict": "accept", "warnings": rules}), rules, Some(twin)),
            Broken(rules, at, twin) => {
                let mut expect = json!({"verdict": "reject", "rules": rules, "at": at});
                if rules.len() > 1 {
                    expect["every_rule"] = json!(true);
                }
                (expect, rules, Some(twin))
            }
        };
        self.put(name, what, document, expect, cited, twin)
    }

    fn put(
        &mut self,
        name: &str,
        what: &str,
        document: &str,
        expect: Value,
        rules: &[Rule],
        twin: Option<&str>,
    ) -> Result<()> {
        let cited: Vec<Clause> =
            rules.iter().map(|rule| *rule.clause()).chain(self.clauses.iter().copied()).collect();
        self.sink.graph_text("validate", name, what, &cited, &Document::Text(document), expect, twin)
    }
}

/// TR02 to TR04, each broken by pairs that stand apart: who finds that a tensor races has not found all of them.
pub fn pairs(_: &Library, sink: &mut Sink) -> Result<()> {
    let mut cases = Cases { sink, clauses: &[clause::TGR_08, clause::TGR_09] };
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

/// One graph of several ranks: what the others may bring counts, and nothing else.
pub fn alone(_: &Library, sink: &mut Sink) -> Result<()> {
    const TW04: &[Rule] = &[Rule::TW04];
    let mut cases = Cases { sink, clauses: &[clause::TGR_08, clause::TGR_01] };
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

/// TD04 over ranks: with one worker each, a rank waits for what stands behind in the queue of another.
pub fn queues(_: &Library, sink: &mut Sink) -> Result<()> {
    let mut cases = Cases { sink, clauses: &[clause::TGR_23, clause::TGR_09] };
    const FIRST: &str = "/ranks/0/all_tasks/2/dependent_event";
    const SECOND: &str = "/ranks/1/all_tasks/2/dependent_event";
    cases.rows(&[
        (
            "copies-first-right",
            "of two ranks that meet, one waits for a copy that the other makes before",
            Graphs::System(&[&["meet e"], &["copy > 0.e", "meet"]]),
            Accepted,
        ),
        (
            "copies-first-wrong",
            "of two ranks that meet, one waits for a copy that the other makes when they have met",
            Graphs::System(&[&["meet e"], &["meet", "copy > 0.e"]]),
            Broken(&[Rule::TD04], SECOND, "copies-first-right"),
        ),
        (
            "copies-first-turned-right",
            "of two ranks that meet, the second waits for a copy that the first makes before",
            Graphs::System(&[&["copy > 1.e", "meet"], &["meet e"]]),
            Accepted,
        ),
        (
            "copies-first-turned-wrong",
            "of two ranks that meet, the second waits for a copy that the first makes when they have met",
            Graphs::System(&[&["meet", "copy > 1.e"], &["meet e"]]),
            Broken(&[Rule::TD04], FIRST, "copies-first-turned-right"),
        ),
        (
            "copies-first-of-three-right",
            "of three ranks that meet, one waits for a copy that another makes before",
            Graphs::System(&[&["meet"], &["meet e"], &["copy > 1.e", "meet"]]),
            Accepted,
        ),
        (
            "copies-first-of-three-wrong",
            "of three ranks that meet, one waits for a copy that another makes when they have met",
            Graphs::System(&[&["meet"], &["meet e"], &["meet", "copy > 1.e"]]),
            Broken(&[Rule::TD04], "/ranks/2/all_tasks/2/dependent_event", "copies-first-of-three-right"),
        ),
        (
            "lets-mate-come-right",
            "a rank copies before it meets another, which waits for that",
            Graphs::System(&[&["copy h > 1.e", "meet"], &["copy > 0.h", "meet e"]]),
            Accepted,
        ),
        (
            "lets-mate-come-wrong",
            "a rank copies when it has met another, which waits for that before it comes",
            Graphs::System(&[&["meet", "copy h > 1.e"], &["copy > 0.h", "meet e"]]),
            Broken(&[Rule::TD04], FIRST, "lets-mate-come-right"),
        ),
        (
            "two-signs-right",
            "a task that waits for the signs of two ranks sends one itself, for which a later task of the first waits",
            Graphs::System(&[
                &["copy > 1.e", "put f > 1.END"],
                &["put e > 2.END", "put e > 0.END", "copy > 0.f"],
                &["copy > 1.e"],
            ]),
            Accepted,
        ),
        (
            "two-signs-wrong",
            "a rank sends one of two signs when it has had an answer that comes after both",
            Graphs::System(&[
                &["put f > 1.END", "copy > 1.e"],
                &["put e > 2.END", "put e > 0.END", "copy > 0.f"],
                &["copy > 1.e"],
            ]),
            Broken(&[Rule::TD04], FIRST, "two-signs-right"),
        ),
    ])
}

/// TX04, TX06 and what they pass over: whether the next iteration of a rank waits for the last one.
pub fn iterations(_: &Library, sink: &mut Sink) -> Result<()> {
    let mut cases = Cases { sink, clauses: &[clause::TGR_08, clause::TGR_23] };
    cases.rows(&[
        (
            "meets-elsewhere-right",
            "a collective leads to the end of the other rank alone, and waits for the begin there",
            Graphs::System(&[
                &["run h > e", "meet e > f", "copy f > 1.n", "run"],
                &["copy > 0.h", "meet", "run n"],
            ]),
            Accepted,
        ),
        (
            "meets-elsewhere-wrong",
            "a collective leads to the end of the other rank alone, and waits for what follows its own begin alone",
            Graphs::System(&[&["run > e", "meet e > f", "copy f > 1.n", "run"], &["meet", "run n"]]),
            Broken(&[Rule::TX04, Rule::TX06], "/ranks/0/all_tasks/3", "meets-elsewhere-right"),
        ),
        (
            "meets-elsewhere-turned-right",
            "a collective of the second rank leads to the end of the first alone, and waits for the begin there",
            Graphs::System(&[
                &["copy > 1.h", "meet", "run n"],
                &["run h > e", "meet e > f", "copy f > 0.n", "run"],
            ]),
            Accepted,
        ),
        (
            "meets-in-vain-right",
            "two ranks meet, and one has another task",
            Graphs::System(&[&["meet", "run"], &["meet"]]),
            Accepted,
        ),
        (
            "meets-in-vain-wrong",
            "a collective triggers nothing",
            Graphs::System(&[&["meet > -", "run"], &["meet"]]),
            Broken(&[Rule::TD05], "/ranks/0/all_tasks/2/trigger_event", "meets-in-vain-right"),
        ),
        (
            "meets-in-vain-turned-wrong",
            "a collective of the second rank triggers nothing",
            Graphs::System(&[&["meet"], &["meet > -", "run"]]),
            Broken(&[Rule::TD05], "/ranks/1/all_tasks/2/trigger_event", "meets-in-vain-right"),
        ),
        (
            "one-copy-right",
            "a copy lets a task of another rank go, and its own rank waits for the answer",
            Graphs::System(&[&["copy > 1.f", "run g"], &["run f > h", "copy h > 0.g", "run h"]]),
            Accepted,
        ),
        (
            "two-copies-wrong",
            "two copies of one rank let a task of another go, and their own rank does not wait for an answer",
            Graphs::System(&[&["copy > 1.f", "copy > 1.f", "run"], &["run f"]]),
            Broken(&[Rule::TX02], "/ranks/1/all_events/2", "one-copy-right"),
        ),
    ])?;
    // An event of which one producer follows the begin of its own rank alone, and nothing after it leads to the end there.
    let ahead = |ranks: usize, own: usize, other: usize, wrong: bool| -> Result<String> {
        let mut lines: Vec<Vec<String>> = vec![vec!["run".to_owned()]; ranks];
        let first = if wrong { "run > e" } else { "run h > e" };
        for (rank, list) in [
            (
                own,
                vec![
                    first.to_owned(),
                    "run h > e".to_owned(),
                    format!("copy e > {other}.f"),
                    "run".to_owned(),
                ],
            ),
            (other, vec![format!("copy > {own}.h"), "run f".to_owned()]),
        ] {
            if let Some(lines) = lines.get_mut(rank) {
                *lines = list;
            }
        }
        Ok(text(&lines::ranks(&lines)?))
    };
    for (name, ranks, own, other, at) in [
        ("first", 2, 0, 1, "/ranks/0/all_tasks/2/trigger_event"),
        ("second", 2, 1, 0, "/ranks/1/all_tasks/2/trigger_event"),
        ("third", 3, 2, 0, "/ranks/2/all_tasks/2/trigger_event"),
        ("sixty-fifth", 65, 64, 0, "/ranks/64/all_tasks/2/trigger_event"),
    ] {
        let twin = format!("ahead-{name}-right");
        let of = format!(
            "of {ranks} ranks the {name} has two tasks that trigger an event which leads to the end of rank {other} alone"
        );
        cases.add(
            &twin,
            &format!("{of}, whose begin both follow"),
            &ahead(ranks, own, other, false)?,
            Accepted,
        )?;
        let expect = json!({"verdict": "reject", "rules": ["TX04"], "at": at});
        let what = format!("{of}, whose begin one follows");
        cases.put(
            &format!("ahead-{name}-wrong"),
            &what,
            &ahead(ranks, own, other, true)?,
            expect,
            &[Rule::TX04],
            Some(&twin),
        )?;
    }
    // TX01, and no warning of what is missing then.
    let twin = "own-rank";
    let what = "a rank copies to itself";
    cases.add(twin, what, &text(&lines::ranks(&[["copy > 0.x", "run x"]])?), Accepted)?;
    let mut ranks =
        lines::graphs(&[&["copy > 1.f", "reduce g"][..], &["reduce f > h", "copy h > 0.g", "run h"]])?;
    ranks.reverse();
    for (name, what, document) in [
        ("no-such-rank", "the only rank copies to the fourth", lines::ranks(&[["copy > 3.x", "run"]])?),
        (
            "ranks-reversed",
            "two ranks that copy to each other stand in the other order",
            system(&ranks, None)?.value,
        ),
    ] {
        let expect = json!({"verdict": "reject", "rules": ["TX01"], "at": "/ranks/0", "warnings": []});
        cases.put(name, what, &text(&document), expect, &[Rule::TX01, Rule::TW04], Some(twin))?;
    }
    Ok(())
}
