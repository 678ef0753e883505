//! Order of cache accesses (R06), on-chip sharing (R07), and reads at the granularity of rows (R02, R03).

use super::deadlock::plain;
use super::library::{Base, Library};
use super::sink::Sink;
use crate::builder::Result;
use crate::edit::{self, Edit};
use megakernel_ir::rule::{Rule, clause};

/// R06: a cache row is read without order with the append, or before it.
pub fn kv_order(library: &Library, sink: &mut Sink) -> Result<()> {
    for name in
        ["attention/mha", "attention/gqa", "attention/mqa", "attention/batched-2", "attention/batched-3"]
    {
        let base = library.get(name)?;
        for (append, input) in [("k_append", 1), ("v_append", 2)] {
            let edit = edit::drop_wait(&base.program, "attention", append, Rule::R06)?
                .clause(clause::EXE_08)
                .at(edit::task_pointer(&base.program, "attention", &format!("inputs/{input}"))?);
            sink.reject_as(base, &format!("without-{}", plain(append)), &edit)?;
        }
    }
    for (name, reader, append, input) in [
        ("attention/split-2", "window1", "k_append", 1),
        ("attention/split-4", "window3", "v_append", 2),
        ("attention/split-8", "window7", "k_append", 1),
        ("attention/split-batched-3", "window2", "v_append", 2),
        ("attention/rows-2", "attention", "k1", 1),
        ("attention/rows-4", "attention", "v2", 2),
        ("attention/blocks", "attention", "k0", 1),
        ("attention/blocks", "attention", "v1", 2),
        ("attention/row-rewritten", "k_again", "attention", 1),
        ("attention/row-rewritten", "last", "k_again", 1),
        ("attention/row-rewritten", "attention", "v_append", 2),
        ("decoder/mha", "L0.attention", "L0.k_cache.append", 1),
        ("decoder/mqa", "L0.attention", "L0.v_cache.append", 2),
        ("decoder/two-layers", "L1.attention", "L1.k_cache.append", 1),
        ("decoder/batch-2", "L0.attention", "L0.v_cache.append", 2),
        ("decoder/split-kv", "L0.attention[w3]", "L0.k_cache.append", 1),
        ("decoder/paged", "L1.attention", "L1.k_cache.append", 1),
    ] {
        let base = library.get(name)?;
        // The waits of `k_again` order a rewrite after the reader: the reader is the one at fault then.
        let at = if reader == "k_again" { append } else { reader };
        let edit = edit::drop_wait(&base.program, reader, append, Rule::R06)?
            .clause(clause::EXE_08)
            .at(edit::task_pointer(&base.program, at, &format!("inputs/{input}"))?);
        sink.reject_as(base, &format!("{}-without-{}", plain(reader), plain(append)), &edit)?;
    }
    // A window over old rows grows into the appended row, or the append moves into the window.
    for (name, what) in [("attention/old-rows-unordered", "unordered"), ("attention/old-rows-first", "stale")]
    {
        let base = library.get(name)?;
        let at = edit::task_pointer(&base.program, "attention", "inputs/1")?;
        for len in [10, 32] {
            let edit =
                edit::set_param(&base.program, "attention", "kv_len", len.into(), Rule::R06)?.at(at.clone());
            sink.reject_as(base, &format!("{what}-window-of-{len}"), &edit)?;
        }
        for pos in [0, 8] {
            let edit =
                edit::set_param(&base.program, "k_append", "pos", pos.into(), Rule::R06)?.at(at.clone());
            sink.reject_as(base, &format!("{what}-append-to-row-{pos}"), &edit)?;
        }
        let v = edit::task_pointer(&base.program, "attention", "inputs/2")?;
        let edit = edit::set_param(&base.program, "v_append", "pos", 4.into(), Rule::R06)?.at(v);
        sink.reject_as(base, &format!("{what}-v-append-to-row-4"), &edit)?;
        let edit = edit::set_param(&base.program, "k_append", "pos", 31.into(), Rule::R06)?;
        let edit = Edit { rules: Vec::new(), ..edit };
        sink.accept(base, &format!("{}-append-to-row-31", base.slug()), &edit)?;
    }
    // Rows 2 and 3 are written before the read and again after it; row 4 only after it.
    let base = library.get("attention/block-rewritten")?;
    let at = edit::task_pointer(&base.program, "attention", "inputs/1")?;
    for len in [5, 6] {
        let edit = edit::set_param(&base.program, "attention", "kv_len", len.into(), Rule::R06)?
            .clause(clause::EXE_08)
            .at(at.clone());
        sink.reject_as(base, &format!("window-of-{len}-with-a-row-to-come"), &edit)?;
    }
    // A column of all rows is written last, and hides nothing of what a row was read without.
    for name in ["cache/rows-then-column", "cache/rows-then-column-batched"] {
        let base = library.get(name)?;
        let edit = edit::set_param(&base.program, "attention", "kv_start", 1.into(), Rule::R06)?;
        let at = edit::task_pointer(&base.program, "attention", "inputs/1")?;
        sink.reject_as(base, "window-of-the-row-to-come", &edit.clause(clause::EXE_08).at(at))?;
    }
    // A window that ends before the appended row need not wait for the append.
    for (name, window) in [("attention/split-2", 0), ("attention/split-8", 3)] {
        let base = library.get(name)?;
        let edit = edit::drop_wait(&base.program, &format!("window{window}"), "k_append", Rule::R06)?
            .clause(clause::EXE_04);
        let edit = Edit { rules: Vec::new(), ..edit };
        sink.accept(base, &format!("{}-old-window-does-not-wait", base.slug()), &edit)?;
    }
    Ok(())
}

/// R06: a cache is changed in place from what earlier launches left there, and written again by a later task. That the
/// task itself has written it in between does not help: its own write does not supply its read.
pub fn kv_in_place(library: &Library, sink: &mut Sink) -> Result<()> {
    let stale = |base: &Base, what: &str| -> Result<Edit> {
        Ok(Edit::breaking(Rule::R06, what)
            .clause(clause::EXE_10)
            .clause(clause::EXE_09)
            .at(edit::task_pointer(&base.program, "update", "inputs/0")?))
    };
    for name in ["gelu", "add", "mul", "silu-mul", "shards", "copy", "before-append", "before-update"] {
        let base = library.get(&format!("cache/{name}"))?;
        let (cache, other) = (base.program.buffer("cache")?, base.program.buffer("other")?);
        let mut edit = stale(base, "`overwrite` writes the cache that `update` has changed in place")?;
        let task = base.program.task("overwrite")?;
        for (list, position) in [("inputs", 0), ("inputs", 1), ("outputs", 0)] {
            let at = format!("/tasks/{task}/{list}/{position}");
            if base.program.int(&at).is_ok_and(|id| id == other as i64) {
                edit = edit.replace(at, cache);
            }
        }
        sink.reject_as(base, "overwritten", &edit)?;
    }
    let base = library.get("cache/filled-chain")?;
    let at = edit::task_pointer(&base.program, "fill", "outputs/0")?;
    let edit =
        stale(base, "`fill` writes another cache, so the chain begins with what earlier launches left")?
            .replace(at, base.program.buffer("other")?);
    sink.reject_as(base, "not-filled", &edit)?;
    let base = library.get("cache/appended")?;
    let at = edit::task_pointer(&base.program, "append", "inputs/0")?;
    let edit = stale(base, "three of the four rows are appended before `update` reads them all")?
        .replace(at, base.program.buffer("fewer")?);
    sink.reject_as(base, "without-the-last-row", &edit)
}

/// The cache that a KV_APPEND names as input is not read, and not where the task breaks a rule either.
pub fn kv_unread(library: &Library, sink: &mut Sink) -> Result<()> {
    // Were it read, it would race with the other append, which is unordered.
    for (name, task) in [("attention/rows-2", "k1"), ("attention/rows-4", "v2"), ("attention/rows-4", "k0")] {
        let base = library.get(name)?;
        let id = base.program.len("/buffers")?;
        let cache = base.program.int(&edit::task_pointer(&base.program, task, "inputs/1")?)?;
        let mut other = base.program.at(&format!("/buffers/{cache}"))?.clone();
        other["id"] = id.into();
        other["name"] = "another".into();
        let edit = Edit::breaking(Rule::M07, format!("`{task}` writes another cache than it names"))
            .clause(clause::EXE_04)
            .clause(clause::OPC_16)
            .insert("/buffers/-", other)
            .replace(edit::task_pointer(&base.program, task, "outputs/0")?, id);
        sink.accept_under(&["validate"], base, &format!("{}-{task}-writes-another", base.slug()), edit)?;
    }
    // Were it read, nobody would have written it before.
    let base = library.get("opcode/kv-append-row")?;
    let edit = edit::set_shape(&base.program, "i0", &[2, 3], Rule::M02)?
        .clause(clause::EXE_04)
        .clause(clause::OPC_16)
        .replace(edit::buffer_pointer(&base.program, "y", "kind")?, "ACTIVATION");
    sink.accept_under(&["validate"], base, "misshapen-append-to-an-activation", edit)
}

/// R02 and R03 where only some rows of a buffer are read or ordered.
pub fn rows(library: &Library, sink: &mut Sink) -> Result<()> {
    let base = library.get("reuse/pipelined-rows")?;
    for (block, other) in [(0, 1), (1, 0), (2, 1)] {
        let wait = edit::task_pointer(&base.program, &format!("down{block}"), "waits/0/counter")?;
        let counter = base.program.out_counter(base.program.task(&format!("up{other}"))?)?;
        let edit = Edit::breaking(Rule::R02, format!("`down{block}` waits for the rows of `up{other}`"))
            .clause(clause::EXE_04)
            .at(edit::task_pointer(&base.program, &format!("down{block}"), "inputs/0")?)
            .replace(wait, counter);
        sink.reject_as(base, &format!("down{block}-waits-for-up{other}"), &edit)?;
    }
    let base = library.get("attention/activation-cache")?;
    for row in 0..3 {
        for (letter, input) in [("k", 1), ("v", 2)] {
            let append = format!("{letter}{row}");
            let edit = edit::drop_wait(&base.program, "attention", &append, Rule::R03)?
                .clause(clause::EXE_04)
                .at(edit::task_pointer(&base.program, "attention", &format!("inputs/{input}"))?);
            sink.reject_as(base, &format!("without-{append}"), &edit)?;
        }
    }
    let base = library.get("gemm/row-counters-3")?;
    for row in 0..3 {
        let edit = edit::drop_wait(&base.program, "reader", &format!("row{row}[t0]"), Rule::R03)?
            .at(edit::task_pointer(&base.program, "reader", "inputs/0")?);
        sink.reject_as(base, &format!("without-row{row}"), &edit)?;
    }
    Ok(())
}

/// R02: a task reads what is written after it, by itself, or by nobody.
pub fn nothing_written(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, task, buffer, what) in [
        ("chain/mul-5", "t1", "a2", "later"),
        ("chain/mul-5", "t0", "a3", "much-later"),
        ("chain/mul-5", "t1", "a1", "own-output"),
        ("chain/gelu-2", "t0", "a0", "own-output"),
        ("chain/softmax-16", "t3", "a9", "later"),
        ("fan-out/readers-2", "source", "h", "own-output"),
    ] {
        let base = library.get(name)?;
        let at = edit::task_pointer(&base.program, task, "inputs/0")?;
        let mut edit = Edit::breaking(Rule::R02, format!("`{task}` reads `{buffer}`"))
            .clause(clause::EXE_08)
            .at(at.clone())
            .replace(at, base.program.buffer(buffer)?);
        if what == "own-output" {
            edit = edit.clause(clause::EXE_10);
        }
        sink.reject_as(base, &format!("{task}-reads-{what}"), &edit)?;
    }
    for (name, task) in [("chain/copy-1", "t0"), ("diamond/depth-1", "side0.1"), ("fan-in/shared-4", "part2")]
    {
        let base = library.get(name)?;
        let at = edit::task_pointer(&base.program, task, "inputs/0")?;
        let id = base.program.len("/buffers")?;
        let source = base.program.int(&at)?;
        let mut fresh = base.program.at(&format!("/buffers/{source}"))?.clone();
        fresh["id"] = id.into();
        fresh["name"] = "never written".into();
        fresh["kind"] = "ACTIVATION".into();
        let edit = Edit::breaking(Rule::R02, format!("`{task}` reads an activation that no task writes"))
            .clause(clause::EXE_08)
            .at(at.clone())
            .insert("/buffers/-", fresh)
            .replace(at, id);
        sink.reject_as(base, &format!("{}-reads-unwritten", plain(task)), &edit)?;
    }
    for (name, task, producer) in [
        ("decoder/gqa", "argmax", "lm_head[t0]"),
        ("decoder/i4-bytes", "L0.o[t0]", "L0.attention"),
        ("decoder/batch-3-split", "L0.k.rope", "L0.k.reshape"),
        ("decoder/two-layers", "L1.swiglu", "L1.gate[t0]"),
        ("decoder/placed-round-robin", "L0.post_norm", "L0.mid.add"),
        ("attention/split-4", "combine", "window0"),
    ] {
        let base = library.get(name)?;
        let edit = edit::drop_wait(&base.program, task, producer, Rule::R02)?.at(edit::task_pointer(
            &base.program,
            task,
            "inputs/0",
        )?);
        sink.reject_as(base, &format!("{}-without-{}", plain(task), plain(producer)), &edit)?;
    }
    Ok(())
}

/// R07: an on-chip buffer is used from two SMs.
pub fn on_chip_sharing(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, task, sm, buffer) in [
        ("on-chip/no-pages", "read0", 3, "hot0"),
        ("on-chip/no-pages", "write1", 3, "hot1"),
        ("on-chip/no-pages", "read2", 0, "hot2"),
        ("on-chip/smem", "out0", 2, "s0.1"),
        ("on-chip/smem", "t0.0", 3, "s0.0"),
        ("on-chip/smem", "t1.1", 3, "s1.0"),
        ("on-chip/register", "out1", 2, "s1.1"),
        ("record/every-record", "product", 2, "h"),
    ] {
        let base = library.get(name)?;
        let edit = edit::set_sm(&base.program, task, sm, Rule::R07)?
            .clause(clause::PAG_03)
            .at(format!("/buffers/{}", base.program.buffer(buffer)?));
        sink.reject_as(base, &format!("{}-moves-to-{sm}", plain(task)), &edit)?;
    }
    for space in ["SMEM", "REGISTER"] {
        let base = library.get("on-chip/scratch-shared")?;
        let pointer = edit::buffer_pointer(&base.program, "h", "space")?;
        let edit = Edit::breaking(Rule::R07, format!("the shared buffer is in {space}"))
            .at(format!("/buffers/{}", base.program.buffer("h")?))
            .replace(pointer, space);
        sink.reject_as(base, &format!("shared-in-{}", space.to_lowercase()), &edit)?;
    }
    Ok(())
}
