//! One box, row or task among dozens and hundreds, crossed with what can be wrong with it, on the programs of `accept/many.rs`.

use megakernel_ir::rule::{Rule, clause};
use serde_json::json;

use crate::builder::Result;
use crate::edit::{self, Edit};
use crate::families::accept::many::{CACHES, GRIDS, PAGES, chosen_rows, page_base};
use crate::families::crossings::pages::one_more_reader;
use crate::families::library::{Base, Library};
use crate::families::sink::Sink;

/// R03 to R05 and M05: of many tiles one is not waited for, one too wide, one too late or too early, and one not written.
pub fn tiles(library: &Library, sink: &mut Sink) -> Result<()> {
    for grid in &GRIDS {
        let base = library.get(&grid.base())?;
        for (index, (row, column)) in grid.chosen().into_iter().enumerate() {
            let (tile, late) = (format!("t{row}.{column}"), format!("late{index}"));
            let slug = format!("{row}-{column}");
            // The reader that has elements of the tile and of the row of tiles above it.
            let reader = format!("r{}", row - 1);
            let at = |label: &str, rest: &str| edit::task_pointer(&base.program, label, rest);

            // `late` writes the same elements without order with `t` then, and the readers wait for the other tiles.
            let edit = edit::drop_wait(&base.program, "join", &tile, Rule::R03)?.and(Rule::R04);
            let edit = edit.clause(clause::EXE_07).at(at(&reader, "inputs/0")?);
            sink.reject_as(base, &format!("{slug}-not-waited-for"), &edit)?;

            let edit = edit::drop_wait(&base.program, &late, "r0", Rule::R05)?.clause(clause::EXE_07);
            sink.reject_as(base, &format!("{slug}-written-again-early"), &edit.at(at(&late, "outputs/0")?))?;

            let edit = edit::to_nop(&base.program, &tile, Rule::M05)?.clause(clause::EXE_08);
            sink.reject_as(base, &format!("{slug}-not-written"), &edit.at(at(&reader, "inputs/0")?))?;

            // Each reader writes two rows of the output.
            let edit = edit::to_nop(&base.program, &reader, Rule::M06)?.clause(clause::EXE_08);
            let output = format!("/buffers/{}", base.program.buffer("y")?);
            sink.reject_as(base, &format!("{slug}-not-read"), &edit.at(output))?;

            // Whatever races, nothing is unwritten.
            let races = [
                (Rule::R03, "join", tile.as_str(), "not-waited-for"),
                (Rule::R05, late.as_str(), "r0", "written-again-early"),
            ];
            for (rule, task, other, what) in races.into_iter().filter(|_| grid.is_small()) {
                let edit = edit::drop_wait(&base.program, task, other, rule)?;
                let name = format!("{}-{slug}-{what}-and-written", base.slug());
                sink.accept_under(&["memory-safety"], base, &name, edit)?;
            }

            if column + 1 < grid.columns {
                let width = base.program.int(&at(&tile, "params/N_tile")?)? + 1;
                let edit = edit::set_param(&base.program, &tile, "N_tile", width.into(), Rule::R04)?;
                if grid.is_small() {
                    let edit = edit.clone().also(written_over(base)?);
                    let name = format!("{}-{slug}-too-wide-and-written-over", base.slug());
                    sink.accept_under(&["memory-safety"], base, &name, edit)?;
                }
                let next = at(&format!("t{row}.{}", column + 1), "outputs/0")?;
                sink.reject_as(base, &format!("{slug}-too-wide"), &edit.clause(clause::EXE_04).at(next))?;
            }
            // The readers wait for the tiles, so who waits for the readers need not wait for the tiles.
            let edit =
                Edit::harmless(format!("`{late}` waits for the readers alone, which wait for the tiles"));
            let wait = edit::wait_pointer(&base.program, &late, "join")?;
            sink.accept(base, &format!("{}-{slug}-redundant-wait", base.slug()), &edit.remove(wait))?;
        }
        if grid.is_small() {
            sink.accept(base, &format!("{}-written-over", base.slug()), &written_over(base)?)?;
        }
    }
    Ok(())
}

/// One more task writes all of `h`, from what `use` has made of it.
fn written_over(base: &Base) -> Result<Edit> {
    let program = &base.program;
    let [counter, task] = [program.len("/counters")?, program.len("/tasks")?];
    let last = program.out_counter(program.task("use")?)?;
    let copy = json!({
        "id": task, "op": "COPY", "inputs": [program.buffer("z")?], "outputs": [program.buffer("h")?],
        "out_counter": counter, "waits": [{"counter": last, "threshold": 1}]
    });
    let edit = Edit::harmless("one more task writes all of `h` after all others");
    Ok(edit.insert("/counters/-", json!({"id": counter})).insert("/tasks/-", copy))
}

/// R06: of many rows of a cache one is not waited for, one is appended after its readers, and one is written again too early.
pub fn rows(library: &Library, sink: &mut Sink) -> Result<()> {
    for rows in CACHES {
        let base = library.get(&format!("many/rows-{rows}"))?;
        for (index, row) in chosen_rows(rows).into_iter().enumerate() {
            let (append, late) = (format!("a{row}"), format!("late{index}"));
            // The first window that the row is in.
            let window = format!("r{}", row.saturating_sub(1));
            let at = edit::task_pointer(&base.program, &window, "inputs/1")?;

            let edit = edit::drop_wait(&base.program, "join", &append, Rule::R06)?.and(Rule::R04);
            sink.reject_as(
                base,
                &format!("{row}-not-waited-for"),
                &edit.clause(clause::EXE_08).at(at.clone()),
            )?;

            let edit = edit::drop_wait(&base.program, &late, "r0", Rule::R06)?.clause(clause::EXE_08);
            sink.reject_as(base, &format!("{row}-written-again-early"), &edit.at(at.clone()))?;

            // The row is there from an earlier launch, and this one writes it later.
            let edit = edit::to_nop(&base.program, &append, Rule::R06)?.clause(clause::EXE_09);
            sink.reject_as(base, &format!("{row}-appended-after-its-readers"), &edit.at(at))?;
        }
    }
    Ok(())
}

/// P01: of many tasks of two buffers on one page, one of the second does not wait, or nobody waits for one of the first.
pub fn pages(library: &Library, sink: &mut Sink) -> Result<()> {
    for (tasks, turned) in PAGES {
        let base = library.get(&page_base((tasks, turned)))?;
        let at = format!("/pages/buffer_to_page/{}", base.program.buffer("b")?);
        let one = format!("ra{}", tasks / 2);
        let writers = if turned { vec![0] } else { vec![0, tasks / 2, tasks - 1] };
        for writer in writers.into_iter().map(|index| format!("b{index}")) {
            for (reader, what) in [(one.as_str(), "one"), ("ra0", "most")] {
                let edit = edit::drop_wait(&base.program, &writer, reader, Rule::P01)?;
                let edit = edit.clause(clause::PAG_02).at(at.clone());
                sink.reject_as(base, &format!("{writer}-does-not-wait-for-{what}"), &edit)?;
            }
        }
        if turned {
            // What signals with the task that takes the page over, and what has its waits, are not ordered with it for that.
            let waits = |task: &str| base.program.at(&edit::task_pointer(&base.program, task, "waits")?);
            let edit = one_more_reader(base, "a", "ra0", waits("ra0")?, Some("b0"))?.and(Rule::R01);
            sink.reject_as(base, "late-reader-of-one-counter", &edit.at(at.clone()))?;
            let edit = one_more_reader(base, "b", "b0", waits("b0")?, None)?.and(Rule::R02);
            sink.reject_as(base, "early-reader-with-the-same-waits", &edit.at(at.clone()))?;
            let edit = edit::set_dtype(&base.program, "b", "F16", Rule::P01)?.clause(clause::EXE_10);
            sink.reject_as(base, "narrower", &edit.at(at))?;
        }
    }
    Ok(())
}
