//! Rules P01 to P06, by edits of the page allocation.

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::deadlock::plain;
use super::library::{Base, Library};
use super::sink::Sink;
use crate::builder::Result;
use crate::edit::{self, Edit};

/// Pointer of the entry of a buffer in the map of pages.
fn entry(base: &Base, buffer: &str) -> Result<String> {
    Ok(format!("/pages/buffer_to_page/{}", base.program.buffer(buffer)?))
}

/// P01: two buffers of one page are in use at the same time.
pub fn clobber(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, buffer, page, blamed) in [
        ("paged/turns-4-2", "b1", 0, "b1"),
        ("paged/turns-4-2", "b0", 1, "b1"),
        ("paged/turns-7-2", "b5", 0, "b5"),
        ("paged/turns-7-2", "b0", 1, "b1"),
        ("paged/turns-9-3", "b2", 0, "b3"),
        ("paged/turns-9-3", "b2", 1, "b2"),
        ("paged/turns-9-3", "b7", 0, "b7"),
        ("paged/turns-5-4", "b1", 0, "b1"),
        ("paged/turns-5-4", "b2", 3, "b3"),
    ] {
        let base = library.get(name)?;
        let edit = edit::move_to_page(&base.program, buffer, page, Rule::P01)?
            .clause(clause::PAG_02)
            .at(entry(base, blamed)?);
        sink.reject_as(base, &format!("{buffer}-to-page-{page}"), &edit)?;
    }
    for (name, buffer, page, blamed) in [
        ("on-chip/register", "s0.1", 0, "s0.1"),
        ("on-chip/register", "s0.0", 1, "s0.1"),
        ("on-chip/register", "s1.1", 2, "s1.1"),
        ("on-chip/smem", "s0.1", 0, "s0.1"),
        ("on-chip/smem", "s1.0", 3, "s1.1"),
    ] {
        let base = library.get(name)?;
        // The page that is left shares a pool with the spare one, and both have to fit.
        let edit = edit::move_to_page(&base.program, buffer, page, Rule::P01)?
            .clause(clause::PAG_02)
            .at(entry(base, blamed)?)
            .replace("/pages/pages/4/nbytes", 64);
        sink.reject_as(base, &format!("{}-to-page-{page}", plain(buffer)), &edit)?;
    }
    for (readers, reader) in [(1, 0), (3, 0), (3, 2)] {
        let base = library.get(&format!("paged/after-{readers}-readers"))?;
        let edit = edit::drop_wait(&base.program, "second", &format!("reader{reader}"), Rule::P01)?
            .clause(clause::PAG_02)
            .at(entry(base, "b")?);
        sink.reject_as(base, &format!("without-reader{reader}"), &edit)?;
    }
    for name in ["copy", "gelu", "add", "mul", "silu-mul", "allreduce-shard"] {
        let base = library.get(&format!("paged/in-place-{name}"))?;
        let at = entry(base, "b")?;
        let edit =
            edit::set_dtype(&base.program, "b", "F16", Rule::P01)?.clause(clause::EXE_10).at(at.clone());
        sink.reject_as(base, "narrower-output", &edit)?;
        // A third task reads the first buffer of the page once the second has replaced it.
        let input = edit::task_pointer(&base.program, "last", "inputs/0")?;
        let edit = Edit::breaking(Rule::P01, "`last` reads the buffer whose page was taken over")
            .at(at)
            .replace(input, base.program.buffer("a")?);
        sink.reject_as(base, "late-reader", &edit)?;
    }
    for name in ["copy", "gelu"] {
        let base = library.get(&format!("paged/in-place-{name}"))?;
        let edit = Edit::breaking(Rule::P01, "the task on one page is a SOFTMAX, which may not be in place")
            .clause(clause::EXE_10)
            .at(entry(base, "b")?)
            .replace(edit::task_pointer(&base.program, "change", "op")?, "SOFTMAX");
        sink.reject_as(base, "softmax", &edit)?;
    }
    let base = library.get("paged/in-place-copy")?;
    for shape in [&[16][..], &[2, 8], &[4, 4, 1]] {
        let edit = edit::set_shape(&base.program, "b", shape, Rule::P01)?
            .clause(clause::EXE_10)
            .at(entry(base, "b")?);
        sink.reject_as(base, &format!("shape-of-rank-{}-from-{}", shape.len(), shape[0]), &edit)?;
    }
    let base = library.get("decoder/paged")?;
    for (buffer, other) in [("L0.k", "L0.q"), ("L0.up", "L0.gate"), ("L1.v", "L1.q"), ("L1.input_norm", "h0")]
    {
        let page = base.program.int(&entry(base, other)?)?;
        let edit = edit::move_to_page(&base.program, buffer, page, Rule::P01)?;
        if buffer == "L1.input_norm" {
            // h0 is done with long before the second layer begins.
            sink.accept(base, "decoder-paged-norm-reuses-h0", &Edit { rules: Vec::new(), ..edit })?;
        } else {
            sink.reject_as(
                base,
                &format!("{}-with-{}", plain(buffer), plain(other)),
                &edit.at(entry(base, buffer)?),
            )?;
        }
    }
    for buffer in ["b2", "b3"] {
        let base = library.get("paged/turns-5-4")?;
        let edit = edit::move_to_page(&base.program, buffer, 0, Rule::P01)?;
        sink.accept(base, &format!("turns-5-4-{buffer}-reuses-page-0"), &Edit { rules: Vec::new(), ..edit })?;
    }
    // Live ranges are hints: neither wrong ones nor right ones change a verdict.
    let base = library.get("paged/turns-4-2")?;
    let edit = Edit::harmless("live ranges that contradict the tasks")
        .clause(clause::PAG_02)
        .replace("/pages/pages/0/live_start", 7)
        .replace("/pages/pages/0/live_end", 3);
    sink.accept(base, "turns-4-2-wrong-live-range", &edit)?;
    for (name, what, start, end) in
        [("paged/turns-7-2", "turns-7-2-backwards", 6, 0), ("paged/turns-9-3", "turns-9-3-backwards", 9, 1)]
    {
        let edit = Edit::harmless("live ranges that end before they begin")
            .clause(clause::PAG_02)
            .replace("/pages/pages/0/live_start", start)
            .replace("/pages/pages/0/live_end", end);
        sink.accept(library.get(name)?, what, &edit)?;
    }
    let edit = edit::move_to_page(&base.program, "b1", 0, Rule::P01)?
        .at(entry(base, "b1")?)
        .replace("/pages/pages/0/live_start", 0)
        .replace("/pages/pages/0/live_end", 3);
    sink.reject_as(base, "live-range-does-not-help", &edit)?;
    for (name, buffer, page) in [("paged/turns-7-2", "b5", 0), ("paged/turns-9-3", "b2", 1)] {
        let base = library.get(name)?;
        let edit = edit::move_to_page(&base.program, buffer, page, Rule::P01)?
            .at(entry(base, buffer)?)
            .replace(format!("/pages/pages/{page}/live_start"), 0)
            .replace(format!("/pages/pages/{page}/live_end"), 9);
        sink.reject_as(base, "live-range-does-not-help", &edit)?;
    }
    Ok(())
}

/// P02: a page is smaller than a buffer on it.
pub fn too_small(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, page, nbytes, buffer) in [
        ("paged/turns-4-2", 0, 47, "b0"),
        ("paged/turns-4-2", 1, 1, "b1"),
        ("paged/turns-9-3", 2, 24, "b2"),
        ("paged/after-1-readers", 0, 47, "a"),
        ("paged/after-1-readers", 0, 24, "a"),
        ("paged/after-3-readers", 0, 23, "a"),
        ("paged/in-place-add", 0, 63, "a"),
        ("paged/every-kind", 0, 31, "h"),
        ("paged/every-kind", 1, 16, "sink"),
        ("record/every-record", 0, 31, "h"),
        ("on-chip/smem", 1, 63, "s0.1"),
        ("decoder/paged", 0, 127, "h0"),
    ] {
        let base = library.get(name)?;
        let edit = Edit::breaking(Rule::P02, format!("page {page} has {nbytes} bytes"))
            .clause(clause::PAG_01)
            .at(entry(base, buffer)?)
            .replace(format!("/pages/pages/{page}/nbytes"), nbytes);
        sink.reject_as(base, &format!("page-{page}-of-{nbytes}"), &edit)?;
    }
    let base = library.get("decoder/paged")?;
    for (buffer, other) in [("L0.act", "L0.k"), ("L1.down", "L1.v")] {
        let page = base.program.int(&entry(base, other)?)?;
        let edit = edit::move_to_page(&base.program, buffer, page, Rule::P02)?.at(entry(base, buffer)?);
        sink.reject_as(base, &format!("{}-to-page-of-{}", plain(buffer), plain(other)), &edit)?;
    }
    Ok(())
}

/// P03: the map names a buffer or a page that does not exist.
pub fn bad_mapping(library: &Library, sink: &mut Sink) -> Result<()> {
    for name in ["paged/turns-4-2", "paged/every-kind", "record/every-record"] {
        let base = library.get(name)?;
        let buffers = base.program.len("/buffers")? as i64;
        let pages = base.program.len("/pages/pages")? as i64;
        for (what, key) in
            [("first-unknown-buffer", buffers), ("buffer-4096", 4096), ("buffer-max", i64::MAX)]
        {
            let at = format!("/pages/buffer_to_page/{key}");
            let edit = Edit::breaking(Rule::P03, format!("the map names buffer {key}"))
                .clause(clause::PAG_01)
                .at(at.clone())
                .insert(at, 0);
            sink.reject_as(base, what, &edit)?;
        }
        let mapped = if name == "paged/turns-4-2" { "b1" } else { "h" };
        let at = entry(base, mapped)?;
        for (what, page) in [("first-unknown-page", pages), ("page-minus-1", -1), ("page-max", i64::MAX)] {
            let edit = Edit::breaking(Rule::P03, format!("`{mapped}` is mapped to page {page}"))
                .clause(clause::PAG_01)
                .at(at.clone())
                .replace(at.clone(), page);
            sink.reject_as(base, what, &edit)?;
        }
    }
    Ok(())
}

/// P04: a buffer that is no activation is on a page.
pub fn not_pageable(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, buffer, page) in [
        ("paged/every-kind", "x", 2),
        ("paged/every-kind", "w", 2),
        ("paged/every-kind", "bias", 2),
        ("paged/every-kind", "cache", 2),
        ("paged/every-kind", "y", 3),
        ("paged/turns-5-4", "x", 3),
        ("paged/turns-5-4", "y", 0),
    ] {
        let base = library.get(name)?;
        let edit = edit::move_to_page(&base.program, buffer, page, Rule::P04)?
            .clause(clause::PAG_01)
            .at(entry(base, buffer)?);
        sink.reject_as(base, &format!("{buffer}-on-page-{page}"), &edit)?;
    }
    for kind in ["KV_CACHE", "IO_OUTPUT"] {
        let base = library.get("paged/every-kind")?;
        let edit = Edit::breaking(Rule::P04, format!("a buffer on a page becomes a {kind}"))
            .at(entry(base, "sink")?)
            .replace(edit::buffer_pointer(&base.program, "sink", "kind")?, kind);
        sink.reject_as(base, &format!("sink-is-{}", plain(kind)), &edit)?;
    }
    Ok(())
}

/// P05: a buffer and its page are in different spaces.
pub fn space_mismatch(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, page, space, buffer) in [
        ("paged/turns-4-2", 0, "GLOBAL_SCRATCH", "b0"),
        ("paged/turns-4-2", 1, "SMEM", "b1"),
        ("paged/turns-7-2", 1, "HBM", "b1"),
        ("paged/turns-9-3", 2, "REGISTER", "b2"),
        ("paged/every-kind", 0, "GLOBAL_SCRATCH", "h"),
        ("on-chip/smem", 0, "REGISTER", "s0.0"),
        ("on-chip/register", 3, "SMEM", "s1.1"),
        ("on-chip/register", 0, "GLOBAL_SCRATCH", "s0.0"),
        ("on-chip/register", 0, "HBM", "s0.0"),
        ("on-chip/smem", 0, "GLOBAL_SCRATCH", "s0.0"),
        ("paged/every-kind", 1, "REGISTER", "sink"),
        ("record/every-record", 0, "HBM", "h"),
    ] {
        let base = library.get(name)?;
        let edit = Edit::breaking(Rule::P05, format!("page {page} is in {space}"))
            .clause(clause::PAG_01)
            .at(entry(base, buffer)?)
            .replace(format!("/pages/pages/{page}/space"), space);
        sink.reject_as(base, &format!("page-{page}-in-{}", plain(space)), &edit)?;
    }
    for (name, buffer) in [("paged/every-kind", "h"), ("paged/every-kind", "sink"), ("paged/turns-5-4", "b3")]
    {
        let base = library.get(name)?;
        let edit = Edit::breaking(Rule::P05, format!("buffer `{buffer}` is in GLOBAL_SCRATCH"))
            .at(entry(base, buffer)?)
            .replace(edit::buffer_pointer(&base.program, buffer, "space")?, "GLOBAL_SCRATCH");
        sink.reject_as(base, &format!("{buffer}-in-scratch"), &edit)?;
    }
    for buffer in ["h", "sink"] {
        let base = library.get("paged/every-kind")?;
        let edit = edit::move_to_page(&base.program, buffer, 4, Rule::P05)?.at(entry(base, buffer)?);
        sink.reject_as(base, &format!("{buffer}-to-scratch-page"), &edit)?;
    }
    Ok(())
}

/// P06: more pages on chip than one SM holds.
pub fn on_chip_capacity(library: &Library, sink: &mut Sink) -> Result<()> {
    for (space, member, limit) in
        [("smem", "smem_bytes_per_block_optin", 16383), ("register", "regs_per_sm", 4095)]
    {
        let base = library.get(&format!("on-chip/{space}"))?;
        let edits: [(String, String, Value); 8] = [
            ("one-byte-more".into(), "/pages/pages/0/nbytes".into(), json!(8193)),
            ("second-page-twice".into(), "/pages/pages/1/nbytes".into(), json!(16384)),
            ("other-sm".into(), "/pages/pages/3/nbytes".into(), json!(12289)),
            ("largest-page".into(), "/pages/pages/2/nbytes".into(), json!(i64::MAX)),
            ("unused-page".into(), "/pages/pages/4/nbytes".into(), json!(16385)),
            ("unused-page-far-too-large".into(), "/pages/pages/4/nbytes".into(), json!(1_i64 << 40)),
            ("smaller-target".into(), format!("/target/{member}"), json!(limit)),
            ("target-without".into(), format!("/target/{member}"), json!(0)),
        ];
        for (what, pointer, value) in edits {
            let edit = Edit::breaking(Rule::P06, format!("`{pointer}` is {value}"))
                .clause(clause::PAG_03)
                .clause(clause::TGT_01)
                .at("/pages/pages")
                .replace(pointer, value);
            sink.reject_as(base, &what, &edit)?;
        }
        let edit = edit::move_to_page(&base.program, "s1.0", 4, Rule::P06)?
            .clause(clause::PAG_03)
            .at("/pages/pages");
        sink.reject_as(base, "larger-page", &edit)?;
        let edit = Edit::breaking(
            Rule::P06,
            "a task that uses a page is not assigned, and shares a pool with a spare page",
        )
        .clause(clause::PAG_03)
        .at("/pages/pages")
        .replace(edit::task_pointer(&base.program, "t0.0", "sm")?, Value::Null);
        sink.reject_as(base, "unassigned-pool", &edit)?;
        let edit =
            Edit::harmless("the SM with room to spare is filled").replace("/pages/pages/2/nbytes", 8192);
        sink.accept(base, &format!("{space}-filled-to-the-limit"), &edit)?;
    }
    Ok(())
}
