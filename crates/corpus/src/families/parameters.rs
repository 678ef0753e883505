//! Structure rules about parameters and thresholds: S13 to S16.

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::accept::opcodes::forms;
use super::deadlock::plain;
use super::library::Library;
use super::sink::Sink;
use crate::builder::{Op, Result, clause_of, slug};
use crate::edit::{self, Edit};

/// The parameters that an opcode cannot do without.
pub fn required(op: Op, quantised: bool) -> &'static [&'static str] {
    match (op, quantised) {
        (Op::Embed, _) => &["hidden"],
        (Op::RmsNorm | Op::LayerNorm, _) => &["eps", "hidden"],
        (Op::GemvTile, false) => &["K", "N_tile", "n_off"],
        (Op::GemvTile, true) => &["K", "N_tile", "n_off", "group"],
        (Op::GemmTile, false) => &["K", "N_tile", "M_tile", "n_off"],
        (Op::GemmTile, true) => &["K", "N_tile", "M_tile", "n_off", "group"],
        (Op::AttentionTile, _) => &["head_dim", "kv_start", "kv_len", "scale", "n_heads", "n_kv_heads"],
        (Op::Rope, _) => &["head_dim", "theta"],
        (Op::Dequant, _) => &["qdtype", "group"],
        (Op::KvAppend, _) => &["pos"],
        _ => &[],
    }
}

/// S13: a required parameter is missing.
pub fn missing(library: &Library, sink: &mut Sink) -> Result<()> {
    let mut seen: Vec<(Op, bool)> = Vec::new();
    for form in forms() {
        let quantised = form.params.iter().any(|(key, _)| *key == "qdtype");
        if seen.contains(&(form.op, quantised)) {
            continue;
        }
        seen.push((form.op, quantised));
        let base = library.get(&format!("opcode/{}-{}", slug(form.op.name()), form.name))?;
        for key in required(form.op, quantised) {
            let edit = Edit::breaking(Rule::S13, format!("no `{key}`"))
                .clause(clause::DAT_08)
                .clause(clause_of(form.op))
                .at("/tasks/0/params")
                .remove(format!("/tasks/0/params/{key}"));
            sink.reject_as(base, &format!("no-{}", slug(key)), &edit)?;
        }
    }
    let base = library.get("opcode/gemv-tile-bias")?;
    let edit = Edit::breaking(Rule::S13, "`qdtype` without `group`").at("/tasks/0/params");
    sink.reject_as(base, "qdtype-without-group", &edit.insert("/tasks/0/params/qdtype", 6))?;
    let base = library.get("opcode/rmsnorm-plain")?;
    // No pointer is declared: the params that S13 would point at are not there.
    let edit = Edit::breaking(Rule::S13, "no params at all").clause(clause::FMT_03);
    sink.reject_as(base, "no-params", &edit.remove("/tasks/0/params"))?;
    let base = library.get("decoder/two-layers")?;
    let edit = Edit::breaking(Rule::S13, "a RoPE of the second layer has no `theta`");
    let edit = edit.at(edit::task_pointer(&base.program, "L1.q.rope", "params")?);
    sink.reject_as(
        base,
        "no-theta",
        &edit.remove(edit::task_pointer(&base.program, "L1.q.rope", "params/theta")?),
    )
}

/// S14: parameters of the wrong type. Keys that the opcode does not use are judged all the same.
pub fn types(library: &Library, sink: &mut Sink) -> Result<()> {
    for (form, key, value) in [
        ("rmsnorm-plain", "hidden", json!("8")),
        ("rmsnorm-plain", "hidden", json!(8.5)),
        ("rmsnorm-plain", "hidden", Value::Null),
        ("rmsnorm-plain", "eps", json!("1e-6")),
        ("rmsnorm-plain", "eps", Value::Null),
        ("rmsnorm-plain", "eps", json!(1e39)),
        ("rmsnorm-plain", "eps", json!(true)),
        ("gemv-tile-plain", "K", json!(2_147_483_648_i64)),
        ("gemv-tile-plain", "K", json!(4_294_967_302_i64)),
        ("gemv-tile-plain", "n_off", json!(-2_147_483_649_i64)),
        ("gemv-tile-plain", "N_tile", json!([4])),
        ("gemv-tile-plain", "N", json!("4")),
        ("gemv-tile-i8", "qdtype", json!("I8")),
        ("gemv-tile-i8", "group", json!({"size": 4})),
        ("gemm-tile-plain", "M_tile", json!(3.25)),
        ("gemm-tile-plain", "m_off", json!(false)),
        ("attention-tile-plain", "scale", json!(3.5e38)),
        ("attention-tile-plain", "scale", json!(-1e300)),
        ("attention-tile-plain", "scale", json!([0.5])),
        ("attention-tile-plain", "kv_len", json!(i64::MAX)),
        ("attention-tile-plain", "flags", json!("1")),
        ("rope-one-position", "theta", json!("10000")),
        ("rope-one-position", "theta", json!(3.402_823_5e39)),
        ("kv-append-row", "pos", json!(i64::MIN)),
        ("kv-append-row", "pos", Value::Null),
        ("dequant-i8", "group", json!(true)),
        ("softmax-plain", "dim", json!(2_147_483_648_i64)),
        ("nop-plain", "vocab", json!("many")),
        ("nop-plain", "theta", json!({})),
        ("gelu-plain", "hidden", json!(0.5)),
        ("mul-scale", "scale", json!("x")),
    ] {
        let base = library.get(&format!("opcode/{form}"))?;
        let at = format!("/tasks/0/params/{key}");
        let edit = Edit::breaking(Rule::S14, format!("`{key}` is {value}"));
        let edit = edit.clause(clause::DAT_08).at(at.clone()).insert(at, value.clone());
        sink.reject_as(base, &format!("{}-{}", slug(key), value_slug(&value)), &edit)?;
    }
    // The limits of the types themselves are fine.
    for (what, key, value) in [
        ("largest-dim", "dim", json!(2_147_483_647)),
        ("smallest-dim", "dim", json!(-2_147_483_648_i64)),
        ("integer-scale", "scale", json!(2)),
        ("largest-scale", "scale", json!(3.402_823_4e38)),
        ("subnormal-scale", "scale", json!(1e-320)),
    ] {
        let edit = Edit::harmless(format!("`{key}` is {value}")).clause(clause::DAT_08);
        let edit = edit.insert(format!("/tasks/0/params/{key}"), value);
        sink.accept(library.get("opcode/gelu-plain")?, what, &edit)?;
    }
    Ok(())
}

/// S15: parameters outside their range.
pub fn ranges(library: &Library, sink: &mut Sink) -> Result<()> {
    for (form, key, value) in [
        ("gemv-tile-plain", "K", json!(0)),
        ("gemv-tile-plain", "K", json!(-6)),
        ("gemv-tile-plain", "N_tile", json!(0)),
        ("gemv-tile-plain", "n_off", json!(-1)),
        ("gemv-tile-plain", "n_off", json!(-2_147_483_648_i64)),
        ("gemv-tile-sizes-given", "N", json!(0)),
        ("gemv-tile-sizes-given", "M", json!(-2)),
        ("gemm-tile-plain", "M_tile", json!(0)),
        ("gemm-tile-plain", "m_off", json!(-3)),
        ("gemv-tile-i8", "group", json!(0)),
        ("gemv-tile-i8", "qdtype", json!(5)),
        ("gemv-tile-i4", "qdtype", json!(8)),
        ("dequant-i8", "qdtype", json!(-6)),
        ("dequant-i8", "group", json!(-4)),
        ("embed-rows", "hidden", json!(0)),
        ("rmsnorm-plain", "hidden", json!(-8)),
        ("rmsnorm-plain", "eps", json!(-1e-6)),
        ("layernorm-bias", "eps", json!(-1)),
        ("attention-tile-plain", "head_dim", json!(0)),
        ("attention-tile-plain", "kv_start", json!(-1)),
        ("attention-tile-plain", "kv_len", json!(0)),
        ("attention-tile-causal", "kv_len", json!(0)),
        ("attention-tile-partial", "kv_len", json!(-1)),
        ("attention-tile-plain", "n_heads", json!(0)),
        ("attention-tile-plain", "n_heads", json!(3)),
        ("attention-tile-plain", "n_kv_heads", json!(0)),
        ("attention-tile-plain", "flags", json!(4)),
        ("attention-tile-plain", "flags", json!(65_536)),
        ("attention-tile-plain", "flags", json!(-1)),
        ("rope-one-position", "head_dim", json!(7)),
        ("rope-one-position", "head_dim", json!(-8)),
        ("rope-one-position", "theta", json!(0)),
        ("rope-one-position", "theta", json!(-10000.0)),
        ("rope-one-position", "theta", json!(1e-60)),
        ("kv-append-row", "pos", json!(-1)),
        ("nop-plain", "vocab", json!(0)),
        ("nop-plain", "flags", json!(8)),
        ("copy-plain", "kv_len", json!(-1)),
        ("gelu-plain", "qdtype", json!(0)),
    ] {
        let base = library.get(&format!("opcode/{form}"))?;
        let at = format!("/tasks/0/params/{key}");
        let edit = Edit::breaking(Rule::S15, format!("`{key}` is {value}"));
        let edit = edit.clause(clause::DAT_08).at(at.clone()).insert(at, value.clone());
        sink.reject_as(base, &format!("{}-{}", slug(key), value_slug(&value)), &edit)?;
    }
    let edit = Edit::harmless("`eps` rounds to minus zero, which is not negative").clause(clause::DAT_08);
    let edit = edit.replace("/tasks/0/params/eps", json!(-1e-60));
    sink.accept(library.get("opcode/rmsnorm-plain")?, "eps-rounds-to-zero", &edit)?;
    // More kv heads than divide the heads; the relation is reported at the heads.
    let base = library.get("opcode/attention-tile-plain")?;
    let edit = edit::set_param(&base.program, "op", "n_kv_heads", json!(3), Rule::S15)?;
    sink.reject_as(base, "n-kv-heads-3", &edit.clause(clause::OPC_07).at("/tasks/0/params/n_heads"))
}

/// S16: thresholds that are no positive 32-bit integer.
pub fn thresholds(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, task, producer) in [("chain/gelu-2", "t1", "t0"), ("gemv/four-tiles", "reader", "tile[t0]")] {
        let base = library.get(name)?;
        let at = format!("{}/threshold", edit::wait_pointer(&base.program, task, producer)?);
        for value in [
            json!(0),
            json!(-1),
            json!(4_294_967_296_i64),
            json!(4_294_967_297_i64),
            json!(i64::MAX),
            json!(i64::MIN),
            json!(1.5),
            json!(-0.25),
            json!(1e30),
        ] {
            let edit = Edit::breaking(Rule::S16, format!("`{task}` waits for {value}"));
            let edit = edit.clause(clause::DAT_07).at(at.clone()).replace(at.clone(), value.clone());
            sink.reject_as(base, &format!("{}-{}", plain(task), value_slug(&value)), &edit)?;
        }
    }
    Ok(())
}

/// A value as part of a case name.
pub fn value_slug(value: &Value) -> String {
    let name = match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string().replace('-', "minus-").replace('+', ""),
        Value::String(text) if text.is_empty() => "empty-string".to_owned(),
        Value::String(text) => format!("string-{text}"),
        Value::Array(items) => {
            if items.is_empty() {
                "empty-array".to_owned()
            } else {
                "array".to_owned()
            }
        }
        Value::Object(map) => {
            if map.is_empty() {
                "empty-object".to_owned()
            } else {
                "object".to_owned()
            }
        }
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
    name.chars().map(plain).collect()
}
