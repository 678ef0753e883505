//! What covers a read of dozens of accesses, and what comes before it, where some of them race: on the programs of `accept/coverage.rs`.

use megakernel_ir::rule::{Rule, clause};

use crate::builder::Result;
use crate::edit::{self, Edit};
use crate::families::accept::coverage::{BLOCKS, CELLS, COLUMNS, OUTPUTS, columns_base};
use crate::families::library::{Base, Library};
use crate::families::sink::Sink;

/// The profile that judges what is unwritten, and no races.
const PROVED: &[&str] = &["memory-safety"];

fn at(base: &Base, task: &str, rest: &str) -> Result<String> {
    edit::task_pointer(&base.program, task, rest)
}

/// M06 and R04: of an output in many tiles one is not written, one is too small, and one too wide.
pub fn outputs(library: &Library, sink: &mut Sink) -> Result<()> {
    for grid in &OUTPUTS {
        let (rows, columns) = (grid.rows, grid.columns);
        let base = library.get(&format!("many/output-{rows}x{columns}"))?;
        let output = format!("/buffers/{}", base.program.buffer("y")?);
        for row in [0, rows / 2, rows - 1] {
            for column in [0, columns / 2, columns - 1] {
                let (tile, slug) = (format!("t{row}.{column}"), format!("{row}-{column}"));
                let edit = edit::to_nop(&base.program, &tile, Rule::M06)?.clause(clause::EXE_08);
                sink.reject_as(base, &format!("{slug}-not-written"), &edit.at(output.clone()))?;
            }
        }
        let (row, column) = (rows / 2, columns / 2);
        let tile = format!("t{row}.{column}");
        let width = base.program.int(&at(base, &tile, "params/N_tile")?)?;
        for (key, value) in [("N_tile", width - 1), ("M_tile", 1)] {
            let edit = edit::set_param(&base.program, &tile, key, value.into(), Rule::M06)?;
            let edit = edit.clause(clause::EXE_04).at(output.clone());
            sink.reject_as(base, &format!("{row}-{column}-{key}-{value}"), &edit)?;
        }
        let edit = edit::set_param(&base.program, &tile, "N_tile", (width + 1).into(), Rule::R04)?;
        let next = at(base, &format!("t{row}.{}", column + 1), "outputs/0")?;
        let edit = edit.clause(clause::EXE_04);
        sink.reject_as(base, &format!("{row}-{column}-too-wide"), &edit.clone().at(next))?;
        sink.accept_under(PROVED, base, &format!("{}-{row}-{column}-covered", base.slug()), edit)?;
    }
    Ok(())
}

/// R04 and M05: many readers read what one task each has written. A write that comes again races with the first one, and hides nothing; a
/// reader that goes on reads rows that nobody writes.
pub fn aligned(library: &Library, sink: &mut Sink) -> Result<()> {
    let base = library.get("many/aligned-18")?;
    let edit = edit::drop_wait(&base.program, "again", "t3", Rule::R04)?.clause(clause::EXE_07);
    sink.reject_as(base, "again-unordered", &edit.clone().at(at(base, "again", "outputs/0")?))?;
    sink.accept_under(PROVED, base, &format!("{}-again-unordered-and-written", base.slug()), edit)?;
    let edit = edit::set_param(&base.program, "r8", "M_tile", 3.into(), Rule::M05)?.clause(clause::EXE_08);
    sink.reject_as(base, "reader-goes-on", &edit.at(at(base, "r8", "inputs/0")?))
}

/// M05 beside R03: a reader does not wait for one of many columns, and another one is written after it, by itself, or by nobody.
pub fn columns(library: &Library, sink: &mut Sink) -> Result<()> {
    for (columns, in_place) in COLUMNS {
        let base = library.get(&columns_base((columns, in_place)))?;
        let input = at(base, "reader", "inputs/0")?;
        let (raced, last) = (format!("t{}", columns - 2), format!("t{}", columns - 1));
        let race = edit::drop_wait(&base.program, "reader", &raced, Rule::R03)?.clause(clause::EXE_07);
        // What is read in place is written as well.
        let race = if in_place { race.and(Rule::R04) } else { race };
        sink.reject_as(base, "one-not-waited-for", &race.clone().at(input.clone()))?;
        let name = format!("{}-one-not-waited-for-and-written", base.slug());
        sink.accept_under(PROVED, base, &name, race.clone())?;

        let missing = edit::to_nop(&base.program, &last, Rule::M05)?.clause(clause::EXE_08).at(input);
        let how = if in_place { "written-in-place-alone" } else { "written-later" };
        sink.reject_as(base, how, &missing)?;
        sink.reject_as(base, &format!("{how}-and-one-not-waited-for"), &missing.clone().also(race.clone()))?;
        if !in_place {
            let again = edit::set_param(&base.program, "late", "n_off", 0.into(), Rule::M05)?;
            let again = missing.clone().also(again).also(race.clone());
            sink.reject_as(base, "not-written-one-written-again-and-one-not-waited-for", &again)?;
            let missing = missing.also(edit::to_nop(&base.program, "late", Rule::M05)?);
            sink.reject_as(base, "not-written", &missing)?;
            sink.reject_as(base, "not-written-and-one-not-waited-for", &missing.clone().also(race))?;
        }
    }
    Ok(())
}

/// R03 and R05: more than a thousand writes race with one reader, and one with another.
pub fn cells(library: &Library, sink: &mut Sink) -> Result<()> {
    let base = library.get(&format!("many/cells-{CELLS}"))?;
    let race = edit::drop_wait(&base.program, "r1", "w1", Rule::R03)?.clause(clause::EXE_07);
    let early = edit::drop_wait(&base.program, "again", "r0", Rule::R05)?.clause(clause::EXE_07);
    sink.reject_as(base, "not-waited-for", &race.clone().at(at(base, "r1", "inputs/0")?))?;
    sink.reject_as(base, "written-again-early", &early.clone().at(at(base, "again", "outputs/0")?))?;
    let both = race.and(Rule::R05).also(early).at(at(base, "r1", "inputs/0")?);
    sink.reject_as(base, "not-waited-for-and-written-again-early", &both)
}

/// R03 and M05: readers wait for the writer of two of the rows that they read and not for those of the others, which come after a task
/// that is listed behind the reader. Of one block a part is not written at all.
pub fn blocks(library: &Library, sink: &mut Sink) -> Result<()> {
    for parts in BLOCKS {
        let base = library.get(&format!("many/blocks-{parts}"))?;
        let race = edit::drop_wait(&base.program, "join", "w0.0", Rule::R03)?.clause(clause::EXE_07);
        sink.reject_as(base, "not-waited-for", &race.clone().at(at(base, "r0", "inputs/0")?))?;
        let name = format!("{}-not-waited-for-and-written", base.slug());
        sink.accept_under(PROVED, base, &name, race.clone())?;
        let mut parts: Vec<(u64, u64)> = vec![(3, 0), (3, parts - 1), (6, parts / 2)];
        parts.dedup();
        for (block, part) in parts {
            let missing = edit::to_nop(&base.program, &format!("w{block}.{part}"), Rule::M05)?;
            let missing = missing.clause(clause::EXE_08).at(at(base, &format!("r{block}"), "inputs/0")?);
            let what = format!("{block}-{part}-not-written");
            sink.reject_as(base, &what, &missing)?;
            sink.reject_as(base, &format!("{what}-and-none-waited-for"), &missing.also(race.clone()))?;
        }
    }
    Ok(())
}

/// R04 and R06: a row of a cache is appended twice at once, which makes no other read a stale one; and what is read before it is written,
/// of a cache that is changed in place, read by many, or the second one.
pub fn caches(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, first) in [("many/updated-32", "a1"), ("many/overtaken-104", "two")] {
        let base = library.get(name)?;
        let edit = edit::drop_wait(&base.program, "again", first, Rule::R04)?.clause(clause::EXE_09);
        sink.reject_as(base, "appended-twice-at-once", &edit.at(at(base, "again", "outputs/0")?))?;
    }
    for (name, first, reader) in [("many/updated-32", "a0", "update"), ("many/overtaken-104", "one", "s0")] {
        let base = library.get(name)?;
        let edit = edit::to_nop(&base.program, first, Rule::R06)?.clause(clause::EXE_09);
        sink.reject_as(base, "appended-after-its-readers", &edit.at(at(base, reader, "inputs/0")?))?;
    }
    let base = library.get("many/two-caches-12")?;
    let late = |cache: &str| -> Result<Edit> {
        let edit = edit::to_nop(&base.program, &format!("{cache}.a6"), Rule::R06)?.clause(clause::EXE_09);
        Ok(edit.at(at(base, &format!("{cache}.r5"), "inputs/1")?))
    };
    for cache in ["one", "two"] {
        sink.reject_as(base, &format!("row-of-{cache}-appended-after-its-readers"), &late(cache)?)?;
    }
    sink.reject_as(base, "rows-of-both-appended-after-their-readers", &late("one")?.also(late("two")?))
}

/// R04 and M05 on two buffers that together have more accesses than 512, or one more, each with something wrong.
pub fn lanes(library: &Library, sink: &mut Sink) -> Result<()> {
    let base = library.get("many/shared-lanes-512")?;
    let program = &base.program;
    let unordered = edit::drop_wait(program, "a1", "a0", Rule::R04)?.clause(clause::EXE_07);
    let high = edit::set_param(program, "b0", "M_tile", 2.into(), Rule::R04)?.clause(clause::EXE_07);
    let [a, b] = [at(base, "a1", "outputs/0")?, at(base, "b1", "outputs/0")?];
    sink.reject_as(base, "a-at-once", &unordered.clone().at(a.clone()))?;
    sink.reject_as(base, "b-at-once", &high.clone().at(b))?;
    sink.reject_as(base, "both-at-once", &unordered.also(high).at(a))?;
    // `b1` comes after `last`, which waits for `b0` alone. Nobody writes `a`, whose one access is left to another profile.
    let late = edit::drop_wait(program, "last", "b1", Rule::M05)?.clause(clause::EXE_08);
    let late = late.also(edit::add_wait(program, "b1", "last", Rule::M05)?).at(at(base, "last", "inputs/0")?);
    sink.reject_as(base, "b-written-after-its-last-reader", &late)?;
    let nobody = edit::to_nop(program, "a0", Rule::M05)?.also(edit::to_nop(program, "a1", Rule::M05)?);
    sink.reject_as(base, "b-written-after-its-last-reader-and-a-by-nobody", &late.also(nobody))
}
