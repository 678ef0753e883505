//! What each profile judges, and what is not judged once something else is broken (clause CON-01).

use std::collections::BTreeSet;

use megakernel_ir::rule::{Rule, clause};
use serde_json::json;

use super::accept::units::units;
use super::library::Library;
use super::sink::Sink;
use crate::builder::{Result, slug};
use crate::edit::{self, Edit};

/// A program that breaks a rule of one profile is accepted under the others.
pub fn other_classes(library: &Library, sink: &mut Sink) -> Result<()> {
    let proved = &["format", "memory-safety", "launch"][..];
    let chain = library.get("chain/mul-5")?;
    let joins = library.get("fan-in/shared-4")?;
    let tiles = library.get("gemv/four-tiles")?;
    let ring = library.get("placed/ring-3")?;
    let reuse = library.get("reuse/overwrite-after-2")?;
    let cache = library.get("attention/gqa")?;
    let turns = library.get("paged/turns-4-2")?;
    let chip = library.get("on-chip/smem")?;
    for (base, name, edit) in [
        (chain, "d01", edit::add_orphan_wait(&chain.program, "t2", 1)?),
        (joins, "d02", edit::raise(&joins.program, "join", "part0", 5)?),
        (chain, "d04", edit::add_wait(&chain.program, "t1", "t3", Rule::D04)?),
        (ring, "d06", edit::add_wait(&ring.program, "a0", "b2", Rule::D06)?),
        (ring, "d07", edit::set_sm(&ring.program, "b2", 128, Rule::D07)?),
        (joins, "r01", edit::weaken(&joins.program, "join", "part0", 3)?),
        (chain, "r02", edit::drop_wait(&chain.program, "t3", "t2", Rule::R02)?),
        (tiles, "r04", edit::set_param(&tiles.program, "tile[t1]", "N_tile", json!(17), Rule::R04)?),
        (reuse, "r05", edit::drop_wait(&reuse.program, "second", "reader1", Rule::R05)?),
        (cache, "r06", edit::drop_wait(&cache.program, "attention", "k_append", Rule::R06)?),
        (turns, "p01", edit::move_to_page(&turns.program, "b1", 0, Rule::P01)?),
        (turns, "p03", edit::move_to_page(&turns.program, "b1", 9, Rule::P03)?),
        (
            chip,
            "p06",
            Edit::breaking(Rule::P06, "a large page").replace("/pages/pages/2/nbytes", 1_i64 << 40),
        ),
    ] {
        sink.accept_under(proved, base, &format!("{name}-{}", base.slug()), edit)?;
    }
    let safe = &["format", "validate", "launch"][..];
    let gelu = library.get("opcode/gelu-plain")?;
    for (base, name, edit) in [
        (gelu, "m01", edit::set_dtype(&gelu.program, "i0", "I32", Rule::M01)?),
        (gelu, "m02", edit::set_shape(&gelu.program, "y", &[5, 2], Rule::M02)?),
        (tiles, "m03", edit::set_param(&tiles.program, "tile[t3]", "N_tile", json!(17), Rule::M03)?),
        (cache, "m04", edit::set_param(&cache.program, "attention", "kv_len", json!(33), Rule::M04)?),
        (tiles, "m05", edit::set_param(&tiles.program, "tile[t0]", "N_tile", json!(8), Rule::M05)?),
    ] {
        sink.accept_under(safe, base, &format!("{name}-{}", base.slug()), edit)?;
    }
    let launched = &["format", "validate", "memory-safety"][..];
    let config = library.get("launch/explicit")?;
    for (rule, pointer, value) in [
        (Rule::L01, "/config/smem_bytes_per_block", json!(16385)),
        (Rule::L02, "/config/threads_per_block", json!(0)),
        (Rule::L03, "/target/supports_cooperative", json!(false)),
        (Rule::L04, "/config/sm_assignment/0", json!(-1)),
    ] {
        let edit = Edit::breaking(rule, format!("`{pointer}` is {value}")).replace(pointer, value);
        sink.accept_under(launched, config, &format!("{}-{}", slug(rule.id()), config.slug()), edit)?;
    }
    Ok(())
}

/// Operands that do not fit are read whole, and need to be written before (clause EXE-04): the profile that judges races does not judge shapes.
pub fn misfits(library: &Library, sink: &mut Sink) -> Result<()> {
    let mut seen = BTreeSet::new();
    for unit in units() {
        // Opcodes with several forms are seen once.
        if !seen.insert(unit.op.name()) {
            continue;
        }
        let base = library.get(&unit.base("unplaced"))?;
        let misfit = edit::set_shape(&base.program, "y", &[7], Rule::M02)?;
        let name = format!("m02-{}", base.slug());
        sink.accept_under(&["format", "validate", "launch"], base, &name, misfit.clone())?;
        for input in (0..unit.inputs.len()).filter(|&input| !unit.is_cache(input)) {
            let edit = edit::drop_wait(&base.program, "op", &format!("make{input}"), Rule::R02)?;
            let edit = edit.clause(clause::EXE_04).clause(clause::CON_01);
            let edit = edit.at(edit::task_pointer(&base.program, "op", &format!("inputs/{input}"))?);
            sink.reject_as(base, &format!("i{input}-before-it-is-written"), &edit.also(misfit.clone()))?;
        }
    }
    Ok(())
}

/// A broken rule that keeps others from being judged.
pub fn judged_when(library: &Library, sink: &mut Sink) -> Result<()> {
    let chain = library.get("chain/mul-5")?;
    let cycle = edit::add_wait(&chain.program, "t0", "t1", Rule::D04)?.clause(clause::CON_01).at("/tasks/0");
    let drop = edit::wait_pointer(&chain.program, "t4", "t3")?;
    sink.reject(chain, "cycle-hides-unproduced-read", &cycle.remove(drop.clone()))?;
    let own =
        edit::add_wait(&chain.program, "t0", "t0", Rule::D03)?.clause(clause::CON_01).at("/tasks/0/waits/0");
    sink.reject(chain, "self-wait-hides-unproduced-read", &own.remove(drop.clone()))?;
    let init = Edit::breaking(Rule::S17, "a counter starts at 1, and a task waits for nothing")
        .clause(clause::CON_01);
    let init = init.at("/counters/0/init").replace("/counters/0/init", 1);
    sink.reject(chain, "structure-hides-race", &init.remove(drop))?;
    let version =
        Edit::breaking(Rule::S06, "another version, and members are missing").clause(clause::CON_01);
    let version = version.at("/ir_version").replace("/ir_version", "1.0").remove("/tasks");
    sink.reject(chain, "version-hides-members", &version)?;
    let member = Edit::breaking(Rule::S03, "a task without an opcode, and a counter that starts at 1")
        .clause(clause::CON_01);
    let member = member.at("/tasks/2").remove("/tasks/2/op").replace("/counters/0/init", 1);
    sink.reject(chain, "members-hide-values", &member)?;
    // A cycle leaves no order by which an element could be missed, so M05 is not judged.
    let tiles = library.get("gemv/four-tiles")?;
    let unwritten = edit::add_wait(&tiles.program, "source", "tile[t0]", Rule::D04)?;
    let pointer = edit::task_pointer(&tiles.program, "tile[t3]", "params/N_tile")?;
    sink.accept_under(
        &["memory-safety"],
        tiles,
        "cycle-hides-unwritten-read",
        unwritten.replace(pointer, 8),
    )?;
    // Partial waits order like any other, so nothing else is reported about their tasks.
    let edit =
        edit::weaken(&tiles.program, "reader", "tile[t0]", 1)?.clause(clause::CON_01).clause(clause::EXE_05);
    sink.reject(tiles, "partial-wait-orders-its-readers", &edit)
}
