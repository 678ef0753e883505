//! Rules L01 to L04, by edits of config and target.

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::library::Library;
use super::sink::Sink;
use crate::builder::Result;
use crate::edit::Edit;

fn put(rule: Rule, pointer: &str, value: Value) -> Edit {
    Edit::breaking(rule, format!("`{pointer}` is {value}")).clause(clause::TGT_03).replace(pointer, value)
}

fn text(value: &Value) -> String {
    value.to_string().replace('-', "minus-")
}

/// L01: dynamic shared memory beyond what the target allows.
pub fn shared_memory(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, value) in [
        ("launch/laptop", 16385_i64),
        ("launch/laptop", i64::MAX),
        ("launch/limits", 16385),
        ("launch/server", 229_377),
        ("launch/server", -1),
        ("launch/config-only", -1),
        ("launch/smallest-block", i64::MIN),
        ("decoder/two-layers", 233_472),
    ] {
        let base = library.get(name)?;
        let at = "/config/smem_bytes_per_block";
        sink.reject_as(base, &text(&json!(value)), &put(Rule::L01, at, json!(value)).at(at))?;
    }
    for (name, optin) in [("launch/limits", 16383), ("launch/laptop", 8191), ("launch/server", 0)] {
        let base = library.get(name)?;
        let edit = put(Rule::L01, "/target/smem_bytes_per_block_optin", json!(optin)).clause(clause::TGT_01);
        sink.reject_as(base, &format!("target-of-{optin}"), &edit.at("/config/smem_bytes_per_block"))?;
    }
    let base = library.get("launch/config-only")?;
    let edit = Edit::harmless("any amount of shared memory, without a target").clause(clause::TGT_03);
    sink.accept(
        base,
        "config-only-any-amount",
        &edit.replace("/config/smem_bytes_per_block", 1_000_000_000_000_i64),
    )
}

/// L02: a block size that no launch takes.
pub fn threads(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, value) in [
        ("launch/laptop", 0_i64),
        ("launch/laptop", -32),
        ("launch/laptop", 1025),
        ("launch/limits", 1056),
        ("launch/server", 2048),
        ("launch/server", i64::MAX),
        ("launch/config-only", 1025),
        ("launch/config-only", 0),
        ("decoder/two-layers", 1536),
    ] {
        let base = library.get(name)?;
        let at = "/config/threads_per_block";
        sink.reject_as(base, &text(&json!(value)), &put(Rule::L02, at, json!(value)).at(at))?;
    }
    for (name, most) in [("launch/limits", 1023), ("launch/laptop", 511), ("launch/smallest-block", 0)] {
        let base = library.get(name)?;
        let edit = put(Rule::L02, "/target/max_threads_per_sm", json!(most)).clause(clause::TGT_01);
        sink.reject_as(base, &format!("target-of-{most}"), &edit.at("/config/threads_per_block"))?;
    }
    Ok(())
}

/// L03: a target without cooperative launch.
pub fn cooperative(library: &Library, sink: &mut Sink) -> Result<()> {
    for name in [
        "launch/laptop",
        "launch/server",
        "launch/target-only",
        "launch/explicit",
        "decoder/two-layers",
        "placed/ring-2",
        "record/every-record",
    ] {
        let base = library.get(name)?;
        let at = "/target/supports_cooperative";
        sink.reject_as(
            base,
            "not-cooperative",
            &put(Rule::L03, at, json!(false)).clause(clause::TGT_01).at(at),
        )?;
    }
    // The member is optional, and its default is true.
    let base = library.get("launch/target-only")?;
    let edit = Edit::harmless("the target does not say whether it supports cooperative launch");
    let edit = edit.clause(clause::FMT_03).remove("/target/supports_cooperative");
    sink.accept(base, "target-only-not-said", &edit)
}

/// L04: an explicit assignment to an SM that the target does not have.
pub fn assignment(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, task, sm) in [
        ("launch/explicit", 0, 4_i64),
        ("launch/explicit", 2, -1),
        ("launch/explicit", 0, i64::MAX),
        ("launch/explicit", 1, 132),
        ("launch/explicit-config-only", 0, -1),
        ("record/every-record", 1, 128),
        ("record/every-record", 2, i64::MIN),
    ] {
        let base = library.get(name)?;
        let at = format!("/config/sm_assignment/{task}");
        let edit = Edit::breaking(Rule::L04, format!("the config assigns task {task} to SM {sm}"));
        let edit = edit.clause(clause::TGT_02).at(at.clone()).insert(at, sm);
        sink.reject_as(base, &format!("task-{task}-to-{}", text(&json!(sm))), &edit)?;
    }
    let base = library.get("launch/explicit")?;
    let edit =
        put(Rule::L04, "/target/num_sms", json!(3)).clause(clause::TGT_01).at("/config/sm_assignment/0");
    sink.reject_as(base, "target-of-3", &edit)?;
    let base = library.get("launch/explicit-config-only")?;
    let edit = Edit::harmless("an SM that few targets have, without a target").clause(clause::TGT_02);
    sink.accept(base, "config-only-any-sm", &edit.replace("/config/sm_assignment/0", 4096))
}
