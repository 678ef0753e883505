//! Each operator of SEL-07 to SEL-10 on pairs of ops.

use megakernel_ir::rule::{Clause, clause};
use serde_json::{Value, json};

use crate::build::{Op, kernel, link, op, request, with};
use crate::item::{Item, select};

/// Two ops in a row of the classes a and b, with kernels for each and for both.
pub(super) fn pair(
    file: &str,
    summary: &str,
    about: Clause,
    rows: [&Value; 2],
    result: Result<(), &str>,
) -> Item {
    several(file, summary, about, &rows, result)
}

/// Ops of the classes a, then b: all but the last compose, and the last one may not.
pub(super) fn several(
    file: &str,
    summary: &str,
    about: Clause,
    rows: &[&Value],
    result: Result<(), &str>,
) -> Item {
    let count = rows.len();
    let one = |(at, rows): (usize, &&Value)| {
        link(op(if at + 1 == count { "b" } else { "a" }).rows(rows), at, at + 1 == count)
    };
    let ops: Vec<Op> = rows.iter().enumerate().map(one).collect();
    let (before, last) = (count - 1, count - 1);
    let stages = vec!["a"; before].join(" ");
    let mut kernels =
        vec![kernel("a", "2", "a!"), kernel("b", "3", "b!"), kernel("whole", "4", &format!("{stages} b!"))];
    if before > 1 {
        kernels.push(kernel("most", "7/2", &format!("{stages}!")));
    }
    let all =
        json!({"effects": ["alias", "cache", "communication", "random", "read_after_write", "overwrite"]});
    let kernels: Vec<Value> = kernels.into_iter().map(|kernel| with(kernel, &all)).collect();
    let outline = match result {
        Ok(()) => format!("0-{last} whole end"),
        Err(reason) if before > 1 => {
            format!("0-{} most compose:{reason}; {last}-{last} b end", before - 1)
        }
        Err(reason) => format!("0-0 a compose:{reason}; 1-1 b end"),
    };
    let clauses = if result.is_err() { vec![about, clause::SEL_05, clause::SEL_19] } else { vec![about] };
    select(file, summary, &clauses, request(&ops, &kernels)).plan(&outline)
}

const CORES: [&str; 7] = ["", "ew", "norm", "move", "gemm", "attn", "opaque"];

fn core_row(core: &str) -> Value {
    if core.is_empty() { json!({}) } else { json!({"sig": {"core": core}}) }
}

fn or_none(name: &str) -> &str {
    if name.is_empty() { "none" } else { name }
}

/// The whole table of cores.
#[rustfmt::skip] // tables
pub fn cores() -> Vec<Item> {
    let mut items = Vec::new();
    for state in CORES.into_iter().chain(["norm+move"]) {
        for core in CORES {
            let top = ["gemm", "attn", "opaque"].contains(&state);
            let result = if top && !["", "ew"].contains(&core) { Err("sig_conflict") } else { Ok(()) };
            let file = format!("core-{}-{}", or_none(state), or_none(core));
            let summary = format!("core {} meets {}", or_none(state), or_none(core));
            items.push(if state == "norm+move" {
                let rows = [&core_row("norm"), &core_row("move"), &core_row(core)];
                several(&file, &summary, clause::SEL_07, &rows, result)
            } else {
                pair(&file, &summary, clause::SEL_07, [&core_row(state), &core_row(core)], result)
            });
        }
    }
    for (order, rows) in [
        ("gemm-ew-gemm", ["gemm", "ew", "gemm"]),
        ("gemm-ew-norm", ["gemm", "ew", "norm"]),
        ("ew-attn-move", ["ew", "attn", "move"]),
        ("norm-gemm-opaque", ["norm", "gemm", "opaque"]),
    ] {
        let rows = rows.map(core_row);
        let summary = format!("cores {order}: an elementwise op between does not help");
        let rows: Vec<&Value> = rows.iter().collect();
        items.push(several(&format!("core-{order}"), &summary, clause::SEL_07, &rows, Err("sig_conflict")));
    }
    items
}

/// Linearity: nonlinear dominates, and never fails.
#[rustfmt::skip] // tables
pub fn linearity() -> Vec<Item> {
    let mut items = Vec::new();
    for state in ["", "linear", "nonlinear"] {
        for added in ["", "linear", "nonlinear"] {
            let row = |name: &str| if name.is_empty() { json!({}) } else { json!({"sig": {"linearity": name}}) };
            let file = format!("linearity-{}-{}", or_none(state), or_none(added));
            let summary = format!("linearity {} meets {}", or_none(state), or_none(added));
            items.push(pair(&file, &summary, clause::SEL_07, [&row(state), &row(added)], Ok(())));
        }
    }
    let rows = ["nonlinear", "linear", "linear"].map(|name| json!({"sig": {"linearity": name}}));
    let rows: Vec<&Value> = rows.iter().collect();
    items.push(several("linearity-stays", "nonlinear first, and linear twice after it", clause::SEL_07, &rows, Ok(())));
    items
}

/// Activations.
#[rustfmt::skip] // tables
pub fn activations() -> Vec<Item> {
    const ALL: [&str; 9] =
        ["relu", "relu6", "hardtanh", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "exp"];
    let row = |name: &str| if name.is_empty() { json!({}) } else { json!({"epilogue": {"activation": name}}) };
    let mut items = Vec::new();
    for name in ALL {
        let once = ["relu", "relu6", "hardtanh"].contains(&name);
        let result = if once { Ok(()) } else { Err("activation_conflict") };
        let summary = format!("{name} twice");
        items.push(pair(&format!("activation-{name}-twice"), &summary, clause::SEL_08, [&row(name), &row(name)], result));
    }
    for (a, b) in [
        ("relu", "gelu"),
        ("gelu", "relu"),
        ("relu", "relu6"),
        ("relu6", "relu"),
        ("gelu", "gelu_tanh"),
        ("silu", "sigmoid"),
        ("hardtanh", "tanh"),
        ("exp", "relu"),
    ] {
        let summary = format!("{b} after {a}");
        let result = Err("activation_conflict");
        items.push(pair(&format!("activation-{a}-{b}"), &summary, clause::SEL_08, [&row(a), &row(b)], result));
    }
    for (a, b) in [("", "silu"), ("relu", ""), ("none", "gelu"), ("tanh", "none"), ("none", "none")] {
        let summary = format!("activation {} meets {}", or_none(a), or_none(b));
        let file = format!("activation-{}-{}-free", if a.is_empty() { "absent" } else { a }, if b.is_empty() { "absent" } else { b });
        items.push(pair(&file, &summary, clause::SEL_08, [&row(a), &row(b)], Ok(())));
    }
    let rows = [row("relu"), row(""), row("relu")];
    let rows: Vec<&Value> = rows.iter().collect();
    items.push(several("activation-relu-apart", "relu twice with another op between", clause::SEL_08, &rows, Ok(())));
    items
}

/// Flags of the epilogue.
#[rustfmt::skip] // tables
pub fn flags() -> Vec<Item> {
    let mut items = Vec::new();
    let names = ["bias", "scale", "residual"];
    for name in names {
        let row = |set: bool| json!({"epilogue": {name: set}});
        for (a, b) in [(true, true), (true, false), (false, true)] {
            let result = if a && b { Err("epilogue_repeat") } else { Ok(()) };
            let summary = format!("{name} {a}, then {b}");
            items.push(pair(&format!("flag-{name}-{a}-{b}"), &summary, clause::SEL_08, [&row(a), &row(b)], result));
        }
        for other in names.into_iter().filter(|other| *other != name) {
            let both = json!({"epilogue": {name: true, other: true}});
            let one = json!({"epilogue": {other: true}});
            let summary = format!("{name} and {other}, then {other} again");
            let file = format!("flag-{name}-{other}-again");
            items.push(pair(&file, &summary, clause::SEL_08, [&both, &one], Err("epilogue_repeat")));
        }
    }
    let rows = names.map(|name| json!({"epilogue": {name: true}}));
    let rows: Vec<&Value> = rows.iter().collect();
    items.push(several("flag-all", "each of the flags once", clause::SEL_08, &rows, Ok(())));
    let rows = [json!({"epilogue": {"bias": true}}), json!({"epilogue": {"scale": true}}), json!({"epilogue": {"bias": true}})];
    let rows: Vec<&Value> = rows.iter().collect();
    items.push(several("flag-apart", "bias twice, with scale between", clause::SEL_08, &rows, Err("epilogue_repeat")));
    items
}

/// Extents, symbols and what is unknown.
#[rustfmt::skip] // tables
pub fn shapes() -> Vec<Item> {
    let mismatch = Err("shape_mismatch");
    let s = |value: Value| json!({ "shape": value });
    let cases = [
        ("same", "one extent, twice", vec![json!({"m": 4}), json!({"m": 4})], Ok(())),
        ("different", "two extents of one role", vec![json!({"m": 4}), json!({"m": 5})], mismatch),
        ("one", "an extent of 1 is not any extent", vec![json!({"m": 1}), json!({"m": 5})], mismatch),
        ("one-after", "nor where it comes second", vec![json!({"m": 5}), json!({"m": 1})], mismatch),
        ("one-second", "1 of one role, another extent of it later", vec![json!({"m": 4, "n": 1}), json!({"n": 9})], mismatch),
        ("one-twice", "1 twice, then 2", vec![json!({"m": 1}), json!({"m": 1}), json!({"m": 2})], mismatch),
        ("roles", "two roles", vec![json!({"m": 4}), json!({"n": 5})], Ok(())),
        ("most", "the largest extent", vec![json!({"m": 2_147_483_647}), json!({"m": 2_147_483_647})], Ok(())),
        ("second-role", "the second role differs", vec![json!({"m": 4, "n": 8}), json!({"m": 4, "n": 9})], mismatch),
        ("unknown", "an unknown extent and 4", vec![json!({"m": "?"}), json!({"m": 4})], Ok(())),
        ("unknown-after", "4 and an unknown extent", vec![json!({"m": 4}), json!({"m": "?"})], Ok(())),
        ("unknown-both", "two unknown extents", vec![json!({"m": "?"}), json!({"m": "?"})], Ok(())),
        (
            "unknown-between",
            "4, unknown, 5: what is unknown does not part them",
            vec![json!({"m": 4}), json!({"m": "?"}), json!({"m": 5})],
            mismatch,
        ),
        (
            "unknown-roles",
            "unknown extents of two roles are not the same",
            vec![json!({"m": "?", "n": "?"}), json!({"m": 4}), json!({"n": 5})],
            Ok(()),
        ),
        ("symbol", "a symbol and 4", vec![json!({"m": "s"}), json!({"m": 4})], Ok(())),
        ("symbol-twice", "one symbol, twice", vec![json!({"m": "s"}), json!({"m": "s"})], Ok(())),
        ("symbols", "two symbols of one role become one", vec![json!({"m": "t"}), json!({"m": "s"})], Ok(())),
        (
            "symbol-two",
            "a symbol is 4 for one role and 5 for another",
            vec![json!({"m": "s", "n": "s"}), json!({"m": 4}), json!({"n": 5})],
            mismatch,
        ),
        (
            "symbol-known",
            "a symbol that is 4 makes another role 4",
            vec![json!({"m": "s"}), json!({"m": 4}), json!({"n": "s"})],
            Ok(()),
        ),
        (
            "symbol-chain",
            "three symbols, tied one by one",
            vec![json!({"m": "s"}), json!({"m": "t"}), json!({"n": "t", "k": "s"})],
            Ok(()),
        ),
        (
            "symbol-late",
            "two roles with extents of their own, tied by symbols afterwards",
            vec![json!({"m": 4, "n": 5}), json!({"m": "s"}), json!({"n": "s"})],
            mismatch,
        ),
        (
            "symbol-agree",
            "two roles of one extent, tied by a symbol",
            vec![json!({"m": 4, "n": 4}), json!({"m": "s"}), json!({"n": "s"})],
            Ok(()),
        ),
        (
            "symbol-merge",
            "two symbols of different extents are tied",
            vec![json!({"m": "s", "n": "t"}), json!({"m": 4, "n": 5}), json!({"k": "s", "m": "t"})],
            mismatch,
        ),
        (
            "symbol-unknown",
            "a symbol of an unknown role still ties another one",
            vec![json!({"m": "s"}), json!({"m": "?", "n": "s"}), json!({"m": 6})],
            Ok(()),
        ),
        ("symbol-named", "a symbol called like a role is none", vec![json!({"m": "n"}), json!({"n": 4, "m": 5})], Ok(())),
        ("symbol-empty", "a symbol without letters", vec![json!({"m": ""}), json!({"n": ""})], Ok(())),
        ("absent", "no extents at one of them", vec![json!({}), json!({"m": 4})], Ok(())),
    ];
    let mut items = Vec::new();
    for (file, summary, rows, result) in cases {
        let rows: Vec<Value> = rows.into_iter().map(s).collect();
        let rows: Vec<&Value> = rows.iter().collect();
        items.push(several(&format!("shape-{file}"), summary, clause::SEL_09, &rows, result));
    }
    items
}

/// Chains, accumulators and weights.
#[rustfmt::skip] // tables
pub fn dtypes() -> Vec<Item> {
    let mut items = Vec::new();
    let mismatch = Err("dtype_mismatch");
    let link = |pair: Option<(&str, &str)>| pair.map_or(json!({}), |(into, out)| json!({"dtype": {"in": into, "out": out}}));
    for (file, a, b, result) in [
        ("same", Some(("F16", "F16")), Some(("F16", "F16")), Ok(())),
        ("cast", Some(("F16", "F32")), Some(("F32", "BF16")), Ok(())),
        ("broken", Some(("F16", "F32")), Some(("F16", "F16")), mismatch),
        ("wider", Some(("F16", "F16")), Some(("F32", "F32")), mismatch),
        ("narrower", Some(("F32", "F32")), Some(("F16", "F16")), mismatch),
        ("other", Some(("BF16", "BF16")), Some(("F16", "F16")), mismatch),
        ("integers", Some(("I4", "I8")), Some(("I8", "I32")), Ok(())),
        ("bool", Some(("BOOL", "BOOL")), Some(("I8", "I8")), mismatch),
        ("absent-first", None, Some(("F16", "F32")), Ok(())),
        ("absent-second", Some(("F16", "F32")), None, Ok(())),
        ("swapped", Some(("F32", "F16")), Some(("F32", "F16")), mismatch),
    ] {
        let summary = format!("chain: {a:?}, then {b:?}").replace('"', "").replace("Some", "").replace("None", "none");
        items.push(pair(&format!("chain-{file}"), &summary, clause::SEL_10, [&link(a), &link(b)], result));
    }
    let rows = [link(Some(("F16", "F32"))), link(None), link(Some(("F16", "F16")))];
    let rows: Vec<&Value> = rows.iter().collect();
    items.push(several("chain-across", "an op without dtypes does not break a chain", clause::SEL_10, &rows, mismatch));
    let acc = |dtype: &str| json!({"dtype": {"acc": dtype}});
    const ALL: [&str; 9] = ["F32", "F16", "BF16", "F8E4M3", "F8E5M2", "I32", "I8", "I4", "BOOL"];
    for (at, a) in ALL.into_iter().enumerate() {
        for b in ALL.into_iter().skip(at) {
            let group = |dtype: &str| match dtype {
                "BOOL" => 0,
                "I32" | "I8" | "I4" => 1,
                _ => 2,
            };
            let result = if group(a) == group(b) { Ok(()) } else { mismatch };
            items.push(pair(&format!("acc-{a}-{b}"), &format!("sums in {a} meet sums in {b}"), clause::SEL_10, [&acc(a), &acc(b)], result));
        }
    }
    for (file, order) in [
        ("f8-f8-bf16", ["F8E4M3", "F8E5M2", "BF16"]),
        ("f8-bf16-f8", ["F8E4M3", "BF16", "F8E5M2"]),
        ("bf16-f8-f8", ["BF16", "F8E5M2", "F8E4M3"]),
        ("f16-bf16-f32", ["F16", "BF16", "F32"]),
        ("i4-i8-i32", ["I4", "I8", "I32"]),
    ] {
        let rows = order.map(acc);
        let rows: Vec<&Value> = rows.iter().collect();
        let summary = format!("sums in {}: the bound does not depend on the order", order.join(", "));
        items.push(several(&format!("acc-{file}"), &summary, clause::SEL_10, &rows, Ok(())));
    }
    let weight = |dtype: &str| if dtype.is_empty() { json!({}) } else { json!({"dtype": {"weight": dtype}}) };
    for (a, b) in [("F16", "F16"), ("I4", "I4"), ("F16", "BF16"), ("I8", "I4"), ("", "I8"), ("F8E4M3", ""), ("F8E4M3", "F8E5M2"), ("F32", "F16")] {
        let result = if a == b || a.is_empty() || b.is_empty() { Ok(()) } else { mismatch };
        let summary = format!("weights of {} and {}", or_none(a), or_none(b));
        items.push(pair(&format!("weight-{}-{}", or_none(a), or_none(b)), &summary, clause::SEL_10, [&weight(a), &weight(b)], result));
    }
    items
}

/// Order, pack and trans.
#[rustfmt::skip] // tables
pub fn layouts() -> Vec<Item> {
    let mut items = Vec::new();
    let mismatch = Err("layout_mismatch");
    for (sub, pairs) in [
        (
            "order",
            vec![
                ("row", "row"),
                ("row", "col"),
                ("any", "row"),
                ("col", "any"),
                ("any", "any"),
                ("strided:128", "strided:128"),
                ("strided:128", "strided:64"),
                ("strided:128", "row"),
                ("", "col"),
                ("Row", "row"),
                ("", "any"),
            ],
        ),
        (
            "pack",
            vec![
                ("gate-up", "gate-up"),
                ("gate-up", "qkv"),
                ("", "qkv"),
                ("qkv", ""),
                ("up-gate", "gate-up"),
                ("any", "qkv"),
                ("qkv:2", "qkv:4"),
                ("any", "any"),
                ("q", "qk"),
                ("", "any"),
            ],
        ),
        (
            "trans",
            vec![
                ("nt", "nt"),
                ("nt", "tn"),
                ("", "nt"),
                ("nn", ""),
                ("nn", "nn"),
                ("tt", "tn"),
                ("tt", "tt"),
                ("tn", "tn"),
                ("", "tt"),
                ("any", "nt"),
                ("tn", ""),
                ("nt", "nn"),
            ],
        ),
    ] {
        for (a, b) in pairs {
            let row = |text: &str| if text.is_empty() { json!({}) } else { json!({"layout": {sub: text}}) };
            let free = |text: &str| text.is_empty() || (sub == "order" && text == "any");
            let fits = free(a) || free(b) || (sub != "trans" && a == b);
            let name = |text: &str| if text.is_empty() { "absent".to_owned() } else { text.replace(':', "-") };
            let case = if a == "Row" { "-case" } else { "" };
            let file = format!("{sub}-{}-{}{case}", name(a).to_lowercase(), name(b));
            let summary = format!("{sub} {} meets {}", name(a), name(b));
            items.push(pair(&file, &summary, clause::SEL_10, [&row(a), &row(b)], if fits { Ok(()) } else { mismatch }));
        }
    }
    items
}
