//! Round trips: what an implementation writes back says what it read.

use megakernel_ir::rule::clause;
use serde_json::{Value, json};

use super::library::Library;
use super::sink::Sink;
use crate::builder::Result;

/// Programs of the corpus as they are.
pub fn programs(library: &Library, sink: &mut Sink) -> Result<()> {
    for name in [
        "record/empty",
        "record/every-record",
        "record/capacities",
        "record/large-shapes",
        "launch/laptop",
        "launch/server",
        "launch/explicit",
        "launch/config-only",
        "launch/target-only",
        "paged/every-kind",
        "paged/turns-9-3",
        "on-chip/register",
        "chain/nop-8",
        "chain/rmsnorm-8",
        "gemv/ragged-five",
        "gemm/bias-grid",
        "attention/split-8",
        "attention/batched-3",
        "opcode/gemv-tile-i4-bytes-zeros-u8",
        "opcode/rope-positions",
        "opcode/kv-append-batch",
        "dtype/copy-bool",
        "decoder/two-layers",
        "decoder/paged",
        "decoder/batch-2",
        "decoder/i4",
        "placed/no-target",
        "random/layers-07",
        "random/layers-23",
        "random/layers-42",
    ] {
        let base = library.get(name)?;
        sink.round_trip_base(base, base.program.value().clone())?;
    }
    Ok(())
}

/// The smallest records, with every optional member left out.
fn sparse() -> (Value, Value) {
    let read = json!({
        "ir_version": "0.2.0", "abi_version": "0.2",
        "target": {"name": "t", "sm_arch": 90, "num_sms": 2, "smem_bytes_per_sm": 1, "smem_bytes_per_block_optin": 0,
                   "regs_per_sm": 0, "max_threads_per_sm": 1024, "max_regs_per_thread": 255, "l2_bytes": 0,
                   "hbm_bytes": 0, "hbm_bandwidth_gbs": 1, "fp16_tflops": 1.0},
        "buffers": [{"id": 0, "name": "x", "kind": "IO_INPUT", "dtype": "F32", "shape": []},
                    {"id": 1, "name": "y", "kind": "ACTIVATION", "dtype": "F32", "shape": [1]}],
        "counters": [{"id": 0}],
        "tasks": [{"id": 0, "op": "COPY", "inputs": [0], "outputs": [1], "out_counter": 0}],
        "pages": {"buffer_to_page": {}, "pages": [{"id": 0, "space": "HBM", "nbytes": 1}]},
        "config": {}
    });
    let mut full = read.clone();
    full["meta"] = json!({});
    full["target"]["clock_ghz"] = json!(0.0);
    full["target"]["supports_cooperative"] = json!(true);
    full["target"]["wddm_tdr"] = json!(false);
    full["target"]["note"] = json!("");
    for index in 0..2 {
        full["buffers"][index]["space"] = json!("HBM");
        full["buffers"][index]["source"] = Value::Null;
    }
    full["counters"][0] = json!({"id": 0, "init": 0, "note": ""});
    for (member, value) in [
        ("waits", json!([])),
        ("params", json!({})),
        ("sm", Value::Null),
        ("est_bytes", json!(0)),
        ("est_flops", json!(0)),
        ("label", json!("")),
    ] {
        full["tasks"][0][member] = value;
    }
    full["pages"]["pages"][0]["live_start"] = json!(-1);
    full["pages"]["pages"][0]["live_end"] = json!(-1);
    full["config"] = json!({
        "tiling": {}, "fusion_grouping": [], "sm_assignment": "load_balance", "pipelining_depth": 2,
        "page_allocation": "graph_color", "threads_per_block": 256, "smem_bytes_per_block": 0
    });
    (read, full)
}

/// Defaults, unknown members, texts and layouts.
pub fn texts(library: &Library, sink: &mut Sink) -> Result<()> {
    let clauses = &[clause::FMT_06, clause::FMT_03];
    let empty = library.get("record/empty")?.program.value().clone();
    let (read, full) = sparse();
    sink.round_trip(
        "defaults",
        "every optional member is left out",
        clauses,
        &read.to_string(),
        full.clone(),
    )?;
    let mut nothing = empty.clone();
    nothing["meta"] = json!({});
    let text = r#"{"ir_version":"0.2.0","abi_version":"0.2","buffers":[],"counters":[],"tasks":[]}"#;
    sink.round_trip("smallest", "a program without records", clauses, text, nothing.clone())?;
    let text = r#"{"tasks":[],"counters":[],"buffers":[],"abi_version":"0.2","ir_version":"0.2.0","config":null,"pages":null,"target":null}"#;
    sink.round_trip("explicit-null", "null for what is left out", clauses, text, nothing.clone())?;
    let mut measured = read.clone();
    measured["target"]["measured_bw_gbs"] = json!(0.0);
    let mut expected = full.clone();
    expected["target"]["measured_bw_gbs"] = json!(0.0);
    sink.round_trip("measured", "a measured bandwidth is kept", clauses, &measured.to_string(), expected)?;
    for (what, version, abi) in [("later-minor", "0.7.0", "0.9"), ("no-patch", "0.2", "0.2.1")] {
        let mut expected = nothing.clone();
        expected["ir_version"] = json!(version);
        expected["abi_version"] = json!(abi);
        let text =
            text.replace("\"0.2\"", &format!("\"{abi}\"")).replace("\"0.2.0\"", &format!("\"{version}\""));
        sink.round_trip(
            what,
            "the versions are kept as they are",
            &[clause::FMT_05, clause::FMT_06],
            &text,
            expected,
        )?;
    }
    // Unknown members: kept or dropped, as the implementation likes.
    let mut unknown = read;
    for (pointer, member) in [
        ("", "future"),
        ("/target", "tensor_cores"),
        ("/buffers/0", "stride"),
        ("/counters/0", "scope"),
        ("/tasks/0", "priority"),
        ("/pages", "total"),
        ("/pages/pages/0", "colour"),
        ("/config", "seed"),
    ] {
        if let Some(Value::Object(map)) = unknown.pointer_mut(pointer) {
            map.insert(member.into(), json!({"a": [1, 2.5, null], "b": "é"}));
        }
    }
    let summary = "an unknown member in every object";
    sink.round_trip("unknown-members", summary, clauses, &unknown.to_string(), full)?;
    layouts(library, sink)
}

fn layouts(library: &Library, sink: &mut Sink) -> Result<()> {
    let value = library.get("record/every-record")?.program.value().clone();
    let pretty = serde_json::to_string_pretty(&value).unwrap_or_default();
    let clauses = &[clause::FMT_06, clause::FMT_01];
    sink.round_trip("pretty", "a member a line", clauses, &pretty, value.clone())?;
    let windows = pretty.replace('\n', "\r\n");
    sink.round_trip("windows-lines", "lines that end in CR LF", clauses, &windows, value.clone())?;
    let wide = value.to_string().replace(',', " ,\n\n ").replace(':', " : ");
    sink.round_trip("wide", "white space wherever it may stand", clauses, &wide, value.clone())?;
    let ascii: String = value
        .to_string()
        .chars()
        .map(|c| if c.is_ascii() { c.to_string() } else { format!("\\u{:04X}", u32::from(c)) })
        .collect();
    let escaped = ascii.replace("\"op\"", "\"\\u006fp\"").replace("decode", "\\u0064ecode");
    sink.round_trip("escapes", "names and texts with escapes", clauses, &escaped, value)
}

/// Values in `meta` and in float members, as text and as value.
pub fn values(_: &Library, sink: &mut Sink) -> Result<()> {
    let text = |inside: &str| {
        format!(
            r#"{{"ir_version":"0.2.0","abi_version":"0.2","meta":{{"x":{inside}}},"target":null,"buffers":[],"counters":[],"tasks":[],"pages":null,"config":null}}"#
        )
    };
    let expected = |value: Value| {
        json!({"ir_version": "0.2.0", "abi_version": "0.2", "meta": {"x": value}, "target": null, "buffers": [],
               "counters": [], "tasks": [], "pages": null, "config": null})
    };
    for (name, written, value) in [
        ("small-float", "1e-06", json!(1e-6)),
        ("small-float-upper-case", "1E-6", json!(1e-6)),
        ("large-float", "1e16", json!(1e16)),
        ("large-float-with-plus", "1e+16", json!(1e16)),
        ("below-exponent-form", "9999999999999998.0", json!(9_999_999_999_999_998.0)),
        ("smallest-decimal-form", "0.0001", json!(0.0001)),
        ("below-decimal-form", "0.00001", json!(0.00001)),
        ("smallest-subnormal", "5e-324", json!(5e-324)),
        ("largest-float", "1.7976931348623157e308", json!(1.797_693_134_862_315_7e308)),
        ("largest-subnormal", "2.225073858507201e-308", json!(2.225_073_858_507_201e-308)),
        ("minus-zero", "-0.0", json!(-0.0)),
        ("zero", "0.0", json!(0.0)),
        ("integer-10000", "10000", json!(10000)),
        ("float-10000", "10000.0", json!(10000.0)),
        ("exponent-integral", "1E5", json!(100_000.0)),
        ("trailing-zeros", "0.10", json!(0.1)),
        ("one-third", "0.3333333333333333", json!(0.333_333_333_333_333_3)),
        ("many-digits", "0.1000000000000000055511151231257827021181583404541015625", json!(0.1)),
        ("halfway", "9007199254740993.0", json!(9_007_199_254_740_992.0)),
        ("large-integer", "9007199254740993", json!(9_007_199_254_740_993_i64)),
        ("largest-integer", "9223372036854775807", json!(i64::MAX)),
        ("smallest-integer", "-9223372036854775808", json!(i64::MIN)),
        ("long-mantissa", "123456789012345678.0", json!(1.234_567_890_123_456_8e17)),
        ("text", r#""a \"quoted\" \\ \/ \b\f\n\r\t text""#, json!("a \"quoted\" \\ / \u{8}\u{c}\n\r\t text")),
        ("accents", "\"é 漢字\"", json!("é 漢字")),
        ("surrogate-pair", r#""\ud83d\ude00""#, json!("😀")),
        ("raw-emoji", "\"😀\"", json!("😀")),
        ("delete-and-separators", "\"\u{7f}\u{85}\u{2028}\u{feff}\"", json!("\u{7f}\u{85}\u{2028}\u{feff}")),
        ("nul", r#""\u0000""#, json!("\u{0}")),
        ("nested", r#"{"b":[{},[],{"a":null}],"a":true}"#, json!({"b": [{}, [], {"a": null}], "a": true})),
        ("empty-name", r#"{"":0," ":1,"é":2,"\u0000":3}"#, json!({"": 0, " ": 1, "é": 2, "\u{0}": 3})),
    ] {
        let summary = format!("`{name}` in meta");
        sink.round_trip(name, &summary, &[clause::FMT_04, clause::FMT_06], &text(written), expected(value))?;
    }
    parameters(sink)
}

/// Float parameters and map keys.
fn parameters(sink: &mut Sink) -> Result<()> {
    let program = |params: Value, assignment: Value| {
        json!({"ir_version": "0.2.0", "abi_version": "0.2", "meta": {}, "target": null, "buffers": [],
            "counters": [{"id": 0, "init": 0, "note": ""}],
            "tasks": [{"id": 0, "op": "NOP", "inputs": [], "outputs": [], "out_counter": 0, "waits": [],
                       "params": params, "sm": null, "est_bytes": 0, "est_flops": 0, "label": ""}],
            "pages": {"buffer_to_page": {}, "pages": []},
            "config": {"tiling": {"10": {"2": 1}, "9": {"K": 3}}, "fusion_grouping": [[], ["a"]],
                       "sm_assignment": assignment, "pipelining_depth": 0, "page_allocation": "none",
                       "threads_per_block": 1, "smem_bytes_per_block": 0}})
    };
    for (name, params) in [
        ("param-eps", json!({"eps": 1e-6})),
        ("param-integer-theta", json!({"theta": 10000})),
        ("param-float-theta", json!({"theta": 500_000.0})),
        ("param-scale", json!({"scale": 0.088_388_347_648_318_44})),
        ("param-more-than-binary32", json!({"scale": 0.1, "eps": 1e-300})),
        ("param-integer-eps", json!({"eps": 0, "flags": 3})),
        ("param-limits", json!({"dim": i32::MIN, "pos": i32::MAX})),
    ] {
        let document = program(params, json!({"0": 0}));
        sink.round_trip(
            name,
            "parameters are kept by value",
            &[clause::FMT_04, clause::FMT_06, clause::DAT_08],
            &document.to_string(),
            document,
        )?;
    }
    let document = program(json!({}), json!({}));
    sink.round_trip(
        "empty-map",
        "an explicit assignment of no task",
        &[clause::FMT_03, clause::FMT_06],
        &document.to_string(),
        document,
    )
}
