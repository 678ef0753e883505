//! Races on transient buffers by edits of waits: rules R01, R02 and R03.

use super::deadlock::{plain, producers_of};
use super::library::Library;
use super::sink::Sink;
use crate::builder::Result;
use crate::edit::{self, Edit};
use megakernel_ir::rule::{Rule, clause};
use serde_json::json;

/// R01: the reader goes on after the first k of n producers.
pub fn first_k_of_n(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, task, producer) in [
        ("fan-in/shared-2", "join", "part0"),
        ("fan-in/shared-3", "join", "part0"),
        ("fan-in/shared-5", "join", "part0"),
        ("fan-in/shared-8", "join", "part0"),
        ("fan-in/nops-3", "join", "n0"),
        ("fan-in/nops-33", "join", "n0"),
        ("gemv/two-tiles", "reader", "tile[t0]"),
        ("gemv/four-tiles", "reader", "tile[t0]"),
        ("gemv/seven-tiles", "reader", "tile[t0]"),
        ("gemv/sixteen-tiles", "reader", "tile[t0]"),
        ("gemv/waves-2-2", "reader", "tile[t2]"),
        ("gemv/waves-5-3", "reader", "tile[t0]"),
        ("gemm/grid-2x2", "reader", "tile[t0]"),
        ("gemm/grid-3x4", "reader", "tile[t0]"),
        ("gemv/cover-then-tile", "reader", "tile[t2]"),
    ] {
        let base = library.get(name)?;
        let n = producers_of(&base.program, producer)?;
        let mut thresholds = vec![1, 2, n / 2, n - 1];
        thresholds.retain(|k| (1..n).contains(k));
        thresholds.sort_unstable();
        thresholds.dedup();
        for k in thresholds {
            let edit =
                edit::weaken(&base.program, task, producer, k)?.clause(clause::EXE_07).clause(clause::DAT_07);
            sink.reject_as(base, &format!("{k}-of-{n}"), &edit)?;
        }
    }
    // A NOP joins the producers of a counter, and the threshold of its waiters stays behind.
    for (name, waiter, producer) in
        [("fan-in/nops-3", "join", "n0"), ("fan-in/nops-9", "join", "n0"), ("chain/side-branch", "t1", "t0")]
    {
        let base = library.get(name)?;
        let edit = edit::redirect_out(&base.program, "loose", producer, Rule::R01)?.at(edit::wait_pointer(
            &base.program,
            waiter,
            producer,
        )?);
        sink.reject_as(base, "one-more-producer", &edit)?;
    }
    Ok(())
}

/// R02: a read of what no ordered task wrote, after its only wait is dropped.
pub fn drop_wait(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, reader, producer) in [
        ("chain/gelu-2", "t1", "t0"),
        ("chain/add-3", "t2", "t1"),
        ("chain/mul-5", "t1", "t0"),
        ("chain/rmsnorm-8", "t4", "t3"),
        ("chain/softmax-16", "t15", "t14"),
        ("chain/round-robin-6", "t3", "t2"),
        ("chain/one-sm-5", "t2", "t1"),
        ("chain/side-branch", "t2", "t1"),
        ("fan-in/shared-2", "join", "part0"),
        ("fan-in/shared-8", "join", "part0"),
        ("fan-out/readers-2", "reader1", "source"),
        ("fan-out/readers-16", "reader7", "source"),
        ("diamond/depth-1", "side0.0", "top0"),
        ("diamond/depth-3", "top1", "bottom0"),
        ("diamond/wide-6", "side0.5", "top0"),
        ("gemv/four-tiles", "tile[t3]", "source"),
        ("gemv/four-tiles", "reader", "tile[t0]"),
        ("gemv/rows-five", "reader", "tile[t0]"),
        ("gemm/ragged-grid", "tile[t4]", "source"),
        ("gemm/ragged-grid", "reader", "tile[t0]"),
    ] {
        let base = library.get(name)?;
        let edit = edit::drop_wait(&base.program, reader, producer, Rule::R02)?
            .clause(clause::EXE_08)
            .at(edit::task_pointer(&base.program, reader, "inputs/0")?);
        sink.reject_as(base, &format!("{}-without-{}", plain(reader), plain(producer)), &edit)?;
    }
    // One of several inputs is left unordered.
    for (parts, part) in [(2, 0), (5, 3), (8, 7)] {
        let base = library.get(&format!("fan-in/separate-{parts}"))?;
        let edit = edit::drop_wait(&base.program, "join", &format!("part{part}"), Rule::R02)?
            .at(edit::task_pointer(&base.program, "join", &format!("inputs/{part}"))?);
        sink.reject_as(base, &format!("join-without-part{part}"), &edit)?;
    }
    for (name, side) in [("diamond/depth-1", 1), ("diamond/wide-6", 4)] {
        let base = library.get(name)?;
        let edit = edit::drop_wait(&base.program, "bottom0", &format!("side0.{side}"), Rule::R02)?
            .at(edit::task_pointer(&base.program, "bottom0", &format!("inputs/{side}"))?);
        sink.reject_as(base, &format!("bottom-without-side{side}"), &edit)?;
    }
    Ok(())
}

/// R03, and R05: some of the tiles that a reader takes are ordered before it, others are not.
pub fn some_tiles_unordered(library: &Library, sink: &mut Sink) -> Result<()> {
    for (first, second) in [(1, 1), (2, 2), (3, 1), (5, 3)] {
        let base = library.get(&format!("gemv/waves-{first}-{second}"))?;
        let at = edit::task_pointer(&base.program, "reader", "inputs/0")?;
        for (what, producer) in [("first", 0), ("second", first)] {
            let edit = edit::drop_wait(&base.program, "reader", &format!("tile[t{producer}]"), Rule::R03)?
                .clause(clause::EXE_07)
                .at(at.clone());
            sink.reject_as(base, &format!("without-{what}-wave"), &edit)?;
        }
    }
    // The first tile is written twice, and the reader waits for the first time alone.
    for tiles in [2, 5] {
        let base = library.get(&format!("gemv/again-{tiles}"))?;
        let first = base.program.out_counter(base.program.task("tile[t0]")?)?;
        let what = "`reader` waits for the first tile alone, which is written again";
        let edit = Edit::breaking(Rule::R03, what).and(Rule::R05).clause(clause::EXE_07);
        let edit = edit.at(edit::task_pointer(&base.program, "reader", "inputs/0")?);
        let waits = edit::task_pointer(&base.program, "reader", "waits")?;
        let edit = edit.replace(waits, json!([{"counter": first, "threshold": 1}]));
        sink.reject_as(base, "reader-waits-for-the-first", &edit)?;
    }
    Ok(())
}
