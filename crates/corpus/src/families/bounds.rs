//! Rules M03 to M07: tiles and windows beyond their buffers, unwritten elements, and forbidden in-place use.

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::deadlock::plain;
use super::library::Library;
use super::sink::Sink;
use crate::builder::Result;
use crate::edit::{self, Edit};

/// M03: a tile reaches beyond its matrix.
pub fn tile_bounds(library: &Library, sink: &mut Sink) -> Result<()> {
    // Each of these tiles is the last of its row or column, so that a larger one meets no other tile.
    for (name, tile, key, value, at) in [
        ("gemv/one-tile", "tile[t0]", "N_tile", 17, "n_off"),
        ("gemv/four-tiles", "tile[t3]", "N_tile", 17, "n_off"),
        ("gemv/four-tiles", "tile[t3]", "N_tile", 2_147_483_647, "n_off"),
        ("gemv/ragged-five", "tile[t4]", "N_tile", 16, "n_off"),
        ("gemv/seven-tiles", "tile[t6]", "N_tile", 2, "n_off"),
        ("gemv/bias-three", "tile[t2]", "N_tile", 9, "n_off"),
        ("gemv/rows-five", "tile[t3]", "N_tile", 6, "n_off"),
        ("gemv/output-2", "tile[t1]", "N_tile", 12, "n_off"),
        ("gemv/output-4", "tile[t3]", "N_tile", 2_147_483_640, "n_off"),
        ("gemm/grid-2x2", "tile[t3]", "N_tile", 9, "n_off"),
        ("gemm/grid-2x2", "tile[t3]", "M_tile", 5, "m_off"),
        ("gemm/grid-3x4", "tile[t11]", "M_tile", 2_147_483_647, "m_off"),
        ("gemm/ragged-grid", "tile[t11]", "N_tile", 4, "n_off"),
        ("gemm/ragged-grid", "tile[t11]", "M_tile", 4, "m_off"),
        ("gemm/one-row-of-tiles", "tile[t1]", "M_tile", 8, "m_off"),
        ("gemm/row-counters-3", "row2[t1]", "N_tile", 100, "n_off"),
        ("opcode/gemv-tile-i8", "op", "N_tile", 5, "n_off"),
        ("opcode/gemv-tile-i4-bytes-zeros-u8", "op", "N_tile", 8, "n_off"),
        ("opcode/gemm-tile-i4-bytes", "op", "M_tile", 6, "m_off"),
        ("decoder/ragged-tiles", "L0.gate[t2]", "N_tile", 20, "n_off"),
        ("decoder/i8", "lm_head[t1]", "N_tile", 33, "n_off"),
    ] {
        let base = library.get(name)?;
        let edit = edit::set_param(&base.program, tile, key, Value::from(value), Rule::M03)?
            .clause(clause::EXE_04)
            .at(edit::task_pointer(&base.program, tile, &format!("params/{at}"))?);
        sink.reject_as(base, &format!("{}-{}-{value}", plain(tile), plain(key)), &edit)?;
    }
    // Tiles that move out of a buffer that nobody reads, or whose place another task has written already.
    for (name, tile, key, value) in [
        ("gemv/unread-tiles", "row[t1]", "n_off", 9),
        ("gemv/unread-tiles", "row[t0]", "n_off", 12),
        ("gemv/unread-tiles", "row[t2]", "n_off", 2_147_483_647),
        ("gemv/unread-tiles", "grid[t3]", "m_off", 3),
        ("gemv/unread-tiles", "grid[t0]", "m_off", 2_147_483_646),
        ("gemv/cover-then-tile", "tile[t3]", "n_off", 25),
        ("gemv/cover-then-tile", "tile[t3]", "n_off", 32),
        ("gemv/cover-then-tile", "tile[t2]", "n_off", 4096),
    ] {
        let base = library.get(name)?;
        let edit = edit::set_param(&base.program, tile, key, Value::from(value), Rule::M03)?
            .clause(clause::EXE_04)
            .at(edit::task_pointer(&base.program, tile, &format!("params/{key}"))?);
        sink.reject_as(base, &format!("{}-{}-{value}", plain(tile), plain(key)), &edit)?;
    }
    Ok(())
}

/// M04: a window reaches beyond its cache.
pub fn window_bounds(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, task, key, value, at) in [
        ("opcode/kv-append-row", "op", "pos", 8, "pos"),
        ("opcode/kv-append-row", "op", "pos", 2_147_483_647, "pos"),
        ("opcode/kv-append-flat", "op", "pos", 9, "pos"),
        ("opcode/kv-append-rows", "op", "pos", 6, "pos"),
        ("opcode/kv-append-batch", "op", "pos", 8, "pos"),
        ("opcode/attention-tile-plain", "op", "kv_len", 8, "kv_start"),
        ("opcode/attention-tile-plain", "op", "kv_start", 4, "kv_start"),
        ("opcode/attention-tile-plain", "op", "kv_start", 2_147_483_647, "kv_start"),
        ("opcode/attention-tile-plain", "op", "kv_len", 2_147_483_647, "kv_start"),
        ("opcode/attention-tile-partial", "op", "kv_len", 9, "kv_start"),
        ("opcode/attention-tile-batch", "op", "kv_start", 5, "kv_start"),
        ("opcode/attention-tile-mask-row", "op", "kv_start", 4, "kv_start"),
        ("attention/mha", "attention", "kv_len", 33, "kv_start"),
        ("attention/blocks", "k1", "pos", 13, "pos"),
        ("attention/split-4", "window3", "kv_len", 18, "kv_start"),
        ("attention/old-rows-unordered", "v_append", "pos", 32, "pos"),
        ("decoder/full-cache", "L0.v_cache.append", "pos", 32, "pos"),
        ("decoder/full-cache", "L0.attention", "kv_len", 33, "kv_start"),
        ("decoder/batch-2", "L0.k_cache.append", "pos", 33, "pos"),
    ] {
        let base = library.get(name)?;
        let edit = edit::set_param(&base.program, task, key, Value::from(value), Rule::M04)?
            .clause(clause::EXE_09)
            .at(edit::task_pointer(&base.program, task, &format!("params/{at}"))?);
        sink.reject_as(base, &format!("{}-{}-{value}", plain(task), plain(key)), &edit)?;
    }
    // An empty window may stand at the very end, but not behind it.
    let base = library.get("opcode/attention-tile-partial")?;
    let empty = |start: i64| -> Result<Edit> {
        let edit = edit::set_param(&base.program, "op", "kv_len", json!(0), Rule::M04)?;
        Ok(edit.insert("/tasks/0/params/kv_start", start).clause(clause::OPC_07))
    };
    for start in [0, 8] {
        let edit = Edit { rules: Vec::new(), ..empty(start)? };
        sink.accept(base, &format!("partial-empty-window-at-{start}"), &edit)?;
    }
    sink.reject_as(base, "empty-window-at-9", &empty(9)?.at("/tasks/0/params/kv_start"))
}

/// M05: a reader takes elements that no task has written.
pub fn unwritten_read(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, tile, key, value) in [
        ("gemv/one-tile", "tile[t0]", "N_tile", 15),
        ("gemv/one-tile", "tile[t0]", "n_off", 1),
        ("gemv/two-tiles", "tile[t0]", "N_tile", 15),
        ("gemv/four-tiles", "tile[t2]", "N_tile", 1),
        ("gemv/ragged-five", "tile[t4]", "N_tile", 7),
        ("gemv/sixteen-tiles", "tile[t8]", "N_tile", 4),
        ("gemv/bias-three", "tile[t1]", "N_tile", 7),
        ("gemv/rows-five", "tile[t3]", "N_tile", 4),
        ("gemv/waves-2-2", "tile[t3]", "N_tile", 5),
        ("gemm/grid-2x2", "tile[t0]", "M_tile", 3),
        ("gemm/grid-2x2", "tile[t3]", "N_tile", 7),
        ("gemm/grid-3x4", "tile[t5]", "M_tile", 1),
        ("gemm/row-counters-3", "row1[t0]", "N_tile", 2),
        ("gemv/two-tiles", "tile[t1]", "n_off", 0),
        ("gemv/four-tiles", "tile[t1]", "n_off", 15),
        ("gemm/grid-3x4", "tile[t4]", "m_off", 8),
        ("attention/activation-cache", "attention", "kv_len", 4),
        ("attention/activation-cache", "k2", "pos", 3),
    ] {
        let base = library.get(name)?;
        let reader = match name {
            "attention/activation-cache" => edit::task_pointer(&base.program, "attention", "inputs/1")?,
            _ => edit::task_pointer(&base.program, "reader", "inputs/0")?,
        };
        let edit =
            edit::set_param(&base.program, tile, key, Value::from(value), Rule::M05)?.clause(clause::EXE_08);
        // A first tile that begins late still leaves the first tile's columns to M05, and reaches beyond the matrix.
        let edit =
            if (name, key) == ("gemv/one-tile", "n_off") { edit.or(Rule::M03) } else { edit.at(reader) };
        sink.reject_as(base, &format!("{}-{}-{value}", plain(tile), plain(key)), &edit)?;
    }
    for (name, tile) in [
        ("gemv/two-tiles", "tile[t0]"),
        ("gemv/four-tiles", "tile[t3]"),
        ("gemv/ragged-five", "tile[t2]"),
        ("gemv/sixteen-tiles", "tile[t15]"),
        ("gemm/grid-3x4", "tile[t6]"),
        ("gemm/bias-grid", "tile[t1]"),
        ("gemm/in-order-2x2", "tile[t0]"),
        ("gemm/in-order-2x2", "tile[t1]"),
        ("gemm/in-order-2x2", "tile[t2]"),
        ("gemm/in-order-2x2", "tile[t3]"),
        ("gemm/in-order-3x4", "tile[t5]"),
        ("gemm/in-order-3x4", "tile[t11]"),
        ("gemv/rank-3", "tile[t1]"),
        ("gemv/rank-4", "tile[t0]"),
        ("gemv/rank-4", "tile[t1]"),
        ("reuse/generations-4", "one[t1]"),
    ] {
        let base = library.get(name)?;
        let edit = edit::to_nop(&base.program, tile, Rule::M05)?
            .clause(clause::EXE_08)
            .at(edit::task_pointer(&base.program, "reader", "inputs/0")?);
        sink.reject_as(base, &format!("{}-is-dropped", plain(tile)), &edit)?;
    }
    // The second generation covers what the first one left out, so the last reader is served; the first is not.
    let base = library.get("gemv/cover-then-tile")?;
    let edit = edit::to_nop(&base.program, "tile[t2]", Rule::M05)?;
    sink.accept(base, "cover-then-tile-dropped-tile", &Edit { rules: Vec::new(), ..edit })?;
    let edit = edit::to_nop(&base.program, "cover", Rule::M05)?.at(edit::task_pointer(
        &base.program,
        "reader",
        "inputs/0",
    )?);
    sink.reject_as(base, "cover-is-dropped", &edit)
}

/// M06: an output of the program is not wholly written.
pub fn output_coverage(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, tile, key, value) in [
        ("gemv/output-2", "tile[t0]", "N_tile", 7),
        ("gemv/output-2", "tile[t1]", "N_tile", 1),
        ("gemv/output-4", "tile[t2]", "N_tile", 5),
        ("gemv/output-4", "tile[t3]", "n_off", 16),
        ("opcode/gemv-tile-plain", "op", "N_tile", 3),
        ("opcode/gemv-tile-rows", "op", "N_tile", 1),
        ("opcode/gemm-tile-plain", "op", "M_tile", 2),
        ("opcode/gemm-tile-bias", "op", "N_tile", 2),
        ("opcode/gemm-tile-i4-bytes", "op", "M_tile", 1),
        ("reuse/pipelined-rows", "down1", "M_tile", 3),
        ("reuse/pipelined-rows", "down2", "N_tile", 2),
    ] {
        let base = library.get(name)?;
        let edit = edit::set_param(&base.program, tile, key, Value::from(value), Rule::M06)?
            .clause(clause::EXE_08)
            .at(format!("/buffers/{}", base.program.buffer("y")?));
        sink.reject_as(base, &format!("{}-{}-{value}", plain(tile), plain(key)), &edit)?;
    }
    for (name, tile) in
        [("gemv/output-2", "tile[t1]"), ("gemv/output-4", "tile[t0]"), ("reuse/pipelined-rows", "down0")]
    {
        let base = library.get(name)?;
        let edit = edit::to_nop(&base.program, tile, Rule::M06)?
            .clause(clause::DAT_04)
            .at(format!("/buffers/{}", base.program.buffer("y")?));
        sink.reject_as(base, &format!("{}-is-dropped", plain(tile)), &edit)?;
    }
    Ok(())
}

/// M07: in-place use that the opcode forbids.
pub fn in_place(library: &Library, sink: &mut Sink) -> Result<()> {
    for (op, params, extra) in [
        ("SOFTMAX", json!({}), false),
        ("LAYERNORM", json!({"eps": 1e-6, "hidden": 16}), true),
        ("GEMV_TILE", json!({"K": 4, "N_tile": 4, "n_off": 0}), true),
        ("GEMM_TILE", json!({"K": 4, "N_tile": 4, "n_off": 0, "M_tile": 4}), true),
    ] {
        // `change` works in place on a [4, 4] buffer; the second operand of some opcodes is the program's input.
        let base = library.get("reuse/in-place-after-reader")?;
        let change = base.program.task("change")?;
        let mut edit = Edit::breaking(Rule::M07, format!("{op} in place"))
            .clause(clause::EXE_10)
            .at(format!("/tasks/{change}/outputs/0"))
            .replace(format!("/tasks/{change}/op"), op)
            .replace(format!("/tasks/{change}/params"), params);
        if extra {
            edit = edit.insert(format!("/tasks/{change}/inputs/-"), base.program.buffer("x")?);
        }
        sink.reject_as(base, &plain(op), &edit)?;
    }
    for (name, task) in
        [("reuse/in-place-1", "step0"), ("reuse/in-place-2", "step1"), ("reuse/in-place-6", "step5")]
    {
        let base = library.get(name)?;
        let index = base.program.task(task)?;
        let a = base.program.buffer("a")?;
        let edit = Edit::breaking(Rule::M07, format!("`{task}` is a SOFTMAX in place"))
            .clause(clause::EXE_10)
            .at(format!("/tasks/{index}/outputs/0"))
            .replace(format!("/tasks/{index}/op"), "SOFTMAX")
            .replace(format!("/tasks/{index}/inputs"), json!([a]));
        sink.reject_as(base, &format!("{task}-softmax"), &edit)?;
    }
    for (name, task, output) in [
        ("attention/blocks", "k0", "v_cache"),
        ("attention/mha", "v_append", "k_cache"),
        ("attention/rows-2", "k1", "v_cache"),
        ("decoder/gqa", "L0.k_cache.append", "L0.v_cache"),
    ] {
        let base = library.get(name)?;
        let at = edit::task_pointer(&base.program, task, "outputs/0")?;
        let edit = Edit::breaking(Rule::M07, format!("`{task}` names one cache and writes the other"))
            .clause(clause::OPC_16)
            .at(at.clone())
            .replace(at, base.program.buffer(output)?);
        sink.reject_as(base, &format!("{}-writes-{}", plain(task), plain(output)), &edit)?;
    }
    let base = library.get("opcode/kv-append-flat")?;
    let edit = Edit::breaking(Rule::M07, "the new rows are the cache itself")
        .clause(clause::OPC_16)
        .at("/tasks/0/outputs/0")
        .replace("/tasks/0/inputs/0", base.program.buffer("y")?);
    sink.reject_as(base, "cache-appended-to-itself", &edit)
}
