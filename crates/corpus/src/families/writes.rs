//! Races in which a write is at fault: rules R04 and R05.

use super::deadlock::plain;
use super::library::Library;
use super::sink::Sink;
use crate::builder::Result;
use crate::edit;
use megakernel_ir::rule::{Rule, clause};

/// R04: overlapping writes that nothing orders, after a wait is dropped.
pub fn unordered_writers(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, second, first) in [
        ("reuse/writers-2", "w1", "w0"),
        ("reuse/writers-3", "w1", "w0"),
        ("reuse/writers-3", "w2", "w1"),
        ("reuse/writers-5", "w3", "w2"),
        ("reuse/writers-5", "w4", "w3"),
        ("gemv/cover-then-tile", "tile[t2]", "cover"),
        ("gemv/cover-then-tile", "tile[t3]", "cover"),
        ("attention/same-row-twice", "k_again", "k_append"),
    ] {
        let base = library.get(name)?;
        let edit = edit::drop_wait(&base.program, second, first, Rule::R04)?
            .clause(clause::EXE_07)
            .at(edit::task_pointer(&base.program, second, "outputs/0")?);
        sink.reject_as(base, &format!("{}-without-{}", plain(second), plain(first)), &edit)?;
    }
    // The reader waits for the last writer alone, so that those before it race with the reader too.
    for (name, second, first) in [
        ("reuse/row-of-writers-2", "w1", "w0"),
        ("reuse/row-of-writers-3", "w1", "w0"),
        ("reuse/row-of-writers-3", "w2", "w1"),
    ] {
        let base = library.get(name)?;
        let edit = edit::drop_wait(&base.program, second, first, Rule::R04)?.and(Rule::R03);
        let edit = edit.clause(clause::EXE_07).at(edit::task_pointer(&base.program, second, "outputs/0")?);
        sink.reject_as(base, &format!("{second}-without-{first}"), &edit)?;
    }
    for (other, buffer) in [(1, 0), (5, 2)] {
        let base = library.get("record/spare-activations")?;
        let target = base.program.buffer(&format!("s{buffer}"))?;
        let pointer = edit::task_pointer(&base.program, &format!("w{other}"), "outputs/0")?;
        let edit = edit::Edit::breaking(Rule::R04, format!("`w{other}` writes what `w{buffer}` writes"))
            .at(pointer.clone())
            .replace(pointer, target);
        sink.reject_as(base, &format!("w{other}-writes-s{buffer}"), &edit)?;
    }
    // An in-place task that does not wait for the one before it races with its write and with its read.
    for (name, step) in [("reuse/in-place-2", 1), ("reuse/in-place-6", 3)] {
        let base = library.get(name)?;
        let edit =
            edit::drop_wait(&base.program, &format!("step{step}"), &format!("step{}", step - 1), Rule::R04)?
                .or(Rule::R05)
                .clause(clause::EXE_10);
        sink.reject_as(base, &format!("step{step}-does-not-wait"), &edit)?;
    }
    Ok(())
}

/// R04: two tiles of one buffer overlap.
pub fn overlapping_tiles(library: &Library, sink: &mut Sink) -> Result<()> {
    // A tile that reaches into the next one leaves nothing unwritten, so nothing else is wrong.
    for (name, tile, key, value, other) in [
        ("gemv/two-tiles", "tile[t0]", "N_tile", 17, "tile[t1]"),
        ("gemv/two-tiles", "tile[t0]", "N_tile", 32, "tile[t1]"),
        ("gemv/three-tiles", "tile[t1]", "N_tile", 20, "tile[t2]"),
        ("gemv/four-tiles", "tile[t0]", "N_tile", 64, "tile[t1]"),
        ("gemv/ragged-five", "tile[t3]", "N_tile", 24, "tile[t4]"),
        ("gemv/seven-tiles", "tile[t2]", "N_tile", 2, "tile[t3]"),
        ("gemv/sixteen-tiles", "tile[t7]", "N_tile", 9, "tile[t8]"),
        ("gemv/bias-three", "tile[t1]", "N_tile", 9, "tile[t2]"),
        ("gemv/rows-five", "tile[t2]", "N_tile", 6, "tile[t3]"),
        ("gemv/waves-2-2", "tile[t1]", "N_tile", 9, "tile[t2]"),
        ("gemv/output-4", "tile[t0]", "N_tile", 9, "tile[t1]"),
        ("gemm/grid-2x2", "tile[t0]", "N_tile", 9, "tile[t1]"),
        ("gemm/grid-2x2", "tile[t1]", "M_tile", 5, "tile[t3]"),
        ("gemm/grid-3x4", "tile[t5]", "N_tile", 5, "tile[t6]"),
        ("gemm/grid-3x4", "tile[t2]", "M_tile", 5, "tile[t6]"),
        ("gemm/ragged-grid", "tile[t6]", "N_tile", 6, "tile[t7]"),
        ("gemm/row-counters-3", "row1[t0]", "M_tile", 3, "row2[t0]"),
        ("gemv/unread-tiles", "row[t0]", "N_tile", 5, "row[t1]"),
    ] {
        let base = library.get(name)?;
        let edit = edit::set_param(&base.program, tile, key, value.into(), Rule::R04)?
            .clause(clause::EXE_04)
            .at(edit::task_pointer(&base.program, other, "outputs/0")?);
        sink.reject_as(base, &format!("{}-{}-{value}", plain(tile), plain(key)), &edit)?;
    }
    // A tile in the place of another one. What it should have written is a matter of the memory-safety profile.
    for (name, tile, key, value, later) in [
        ("gemv/two-tiles", "tile[t1]", "n_off", 0, "tile[t1]"),
        ("gemv/four-tiles", "tile[t0]", "n_off", 32, "tile[t2]"),
        ("gemv/four-tiles", "tile[t3]", "n_off", 47, "tile[t3]"),
        ("gemv/sixteen-tiles", "tile[t9]", "n_off", 71, "tile[t9]"),
        ("gemm/grid-2x2", "tile[t2]", "m_off", 0, "tile[t2]"),
        ("gemm/grid-3x4", "tile[t0]", "m_off", 8, "tile[t8]"),
        ("attention/rows-2", "k1", "pos", 0, "k1"),
        ("attention/rows-4", "v0", "pos", 3, "v3"),
        ("attention/blocks", "k1", "pos", 3, "k1"),
        ("attention/blocks", "v0", "pos", 1, "v1"),
    ] {
        let base = library.get(name)?;
        let edit = edit::set_param(&base.program, tile, key, value.into(), Rule::R04)?
            .clause(clause::EXE_04)
            .at(edit::task_pointer(&base.program, later, "outputs/0")?);
        sink.reject_as(base, &format!("{}-{}-{value}", plain(tile), plain(key)), &edit)?;
    }
    Ok(())
}

/// R05: a buffer is overwritten while a reader may still need it.
pub fn overwritten_early(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, writer, reader) in [
        ("reuse/overwrite-after-1", "second", "reader0"),
        ("reuse/overwrite-after-2", "second", "reader0"),
        ("reuse/overwrite-after-2", "second", "reader1"),
        ("reuse/overwrite-after-3", "second", "reader1"),
        ("reuse/overwrite-after-6", "second", "reader5"),
        ("reuse/in-place-after-reader", "change", "reader"),
        ("reuse/generations-2", "two[t0]", "reader"),
        ("reuse/generations-2", "two[t1]", "reader"),
        ("reuse/generations-4", "two[t2]", "reader"),
    ] {
        let base = library.get(name)?;
        let edit = edit::drop_wait(&base.program, writer, reader, Rule::R05)?
            .clause(clause::EXE_07)
            .at(edit::task_pointer(&base.program, writer, "outputs/0")?);
        sink.reject_as(base, &format!("{}-without-{}", plain(writer), plain(reader)), &edit)?;
    }
    // The reader waits for the first generation only, and the tiles overwrite a part of it.
    let base = library.get("gemv/cover-then-tile")?;
    let edit = edit::drop_wait(&base.program, "reader", "tile[t2]", Rule::R05)?.at(edit::task_pointer(
        &base.program,
        "tile[t2]",
        "outputs/0",
    )?);
    sink.reject_as(base, "reader-without-tiles", &edit)?;
    // The wait on the first writer is redundant: the readers wait for it.
    for name in ["reuse/overwrite-after-1", "reuse/overwrite-after-3"] {
        let base = library.get(name)?;
        let pointer = edit::wait_pointer(&base.program, "second", "first")?;
        let edit = edit::Edit::harmless("`second` waits for the readers only, which wait for `first`")
            .remove(pointer);
        sink.accept(base, &format!("{}-redundant-wait", base.slug()), &edit)?;
    }
    Ok(())
}
