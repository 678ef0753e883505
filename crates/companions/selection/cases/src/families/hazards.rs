//! Effects, requirements and connection on pairs of ops (SEL-06, SEL-11, SEL-12), and the order of reasons.

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::rows::{pair, several};
use crate::build::{Op, kernel, link, op, request, with};
use crate::item::{Item, select};

/// Effects.
#[rustfmt::skip] // tables
pub fn effects() -> Vec<Item> {
    let conflict = Err("effect_conflict");
    let e = |flags: &[&str], reads: &[&str], writes: &[&str]| {
        json!({"effects": {"flags": flags, "reads": reads, "writes": writes}})
    };
    let none = json!({});
    let cases = [
        ("flags", "flags are united", vec![e(&["cache"], &[], &[]), e(&["alias"], &[], &[])], Ok(())),
        ("flag-twice", "a flag twice is one", vec![e(&["cache"], &[], &[]), e(&["cache"], &[], &[])], Ok(())),
        ("sticky", "a flag of the first op stays", vec![e(&["random"], &[], &[]), none.clone(), none.clone()], Ok(())),
        ("all", "four flags", vec![e(&["random", "alias"], &[], &[]), e(&["cache", "communication"], &[], &[])], Ok(())),
        ("read-read", "a storage that both read", vec![e(&[], &["k"], &[]), e(&[], &["k"], &[])], Ok(())),
        ("write-write", "a storage that both write", vec![e(&[], &[], &["k"]), e(&[], &[], &["k"])], conflict),
        ("write-write-apart", "and with an op between", vec![e(&[], &[], &["k"]), none.clone(), e(&[], &[], &["k"])], conflict),
        ("write-read", "written, then read", vec![e(&[], &[], &["k"]), e(&[], &["k"], &[])], Ok(())),
        ("read-write", "read, then written", vec![e(&[], &["k"], &[]), e(&[], &[], &["k"])], Ok(())),
        ("write-read-apart", "written, and read two ops later", vec![e(&[], &[], &["k"]), none.clone(), e(&[], &["k"], &[])], Ok(())),
        ("read-write-apart", "read, and written two ops later", vec![e(&[], &["k"], &[]), none.clone(), e(&[], &[], &["k"])], Ok(())),
        ("own", "what an op reads and writes itself", vec![e(&[], &["k"], &["k"]), none.clone()], Ok(())),
        ("own-after", "an op that updates what the region read", vec![e(&[], &["k"], &[]), e(&[], &["k"], &["k"])], Ok(())),
        ("own-twice", "two ops that each update a storage", vec![e(&[], &["k"], &["k"]), e(&[], &["k"], &["k"])], conflict),
        ("two", "two storages", vec![e(&[], &["v"], &["k"]), e(&[], &["k"], &["v"])], Ok(())),
        ("other", "storages of different names", vec![e(&[], &[], &["k"]), e(&[], &["K"], &["v"])], Ok(())),
        ("second-of-two", "the second of two storages is written twice", vec![e(&[], &[], &["k", "v"]), e(&[], &[], &["w", "v"])], conflict),
        ("sorted", "storages are sorted", vec![e(&[], &["z", "b"], &[]), e(&[], &["a", "é"], &["y"])], Ok(())),
        ("three-writers", "the third op writes what the first wrote", vec![e(&[], &[], &["k"]), e(&[], &[], &["v"]), e(&[], &[], &["k"])], conflict),
        ("read-write-write", "written by the op between and by the last", vec![e(&[], &["k"], &[]), e(&[], &[], &["k"]), e(&[], &[], &["k"])], conflict),
        ("write-write-read", "written twice before it is read", vec![e(&[], &[], &["a"]), e(&[], &[], &["a", "b"])], conflict),
        ("update-after-write", "an update of what the region wrote", vec![e(&[], &[], &["k"]), e(&[], &["k"], &["k"])], conflict),
        ("many", "one of many", vec![e(&[], &[], &["a", "b", "c", "d"]), e(&[], &[], &["e", "f", "d"])], conflict),
    ];
    let item = |(file, summary, rows, result): (&str, &str, Vec<Value>, Result<(), &str>)| {
        let rows: Vec<&Value> = rows.iter().collect();
        several(&format!("effects-{file}"), summary, clause::SEL_11, &rows, result)
    };
    let mut items: Vec<Item> = cases.into_iter().map(item).collect();
    // Everything that writes storage has to be written out: these kernels do.
    for item in &mut items {
        for stage in 0..3 {
            for kernel in ["whole", "most"] {
                let kernels = item.base.pointer_mut("/index/kernels").and_then(Value::as_array_mut);
                let found = kernels.into_iter().flatten().find(|one| one.get("id").and_then(Value::as_str) == Some(kernel));
                if let Some(Value::Object(stage)) = found.and_then(|kernel| kernel.get_mut("stages")?.get_mut(stage)) {
                    stage.insert("out".to_owned(), json!(true));
                }
            }
        }
    }
    items
}

/// Requirements.
#[rustfmt::skip] // tables
pub fn requirements() -> Vec<Item> {
    let conflict = Err("requirement_conflict");
    let r = |required: Option<u64>, offered: Option<u64>| {
        let mut row = serde_json::Map::new();
        required.map(|number| row.insert("required".to_owned(), json!(number)));
        offered.map(|number| row.insert("offered".to_owned(), json!(number)));
        json!({ "requirements": row })
    };
    let cases = [
        ("multiple", "16 and 8 require 16", vec![r(Some(16), Some(64)), r(Some(8), None)], Ok(())),
        ("multiple-six", "4 and 6 require 12", vec![r(Some(4), Some(24)), r(Some(6), None)], Ok(())),
        ("multiple-six-four", "6 and 4 require 12", vec![r(Some(6), Some(12)), r(Some(4), None)], Ok(())),
        ("multiple-ten", "10 and 4 require 20", vec![r(Some(10), Some(20)), r(Some(4), None)], Ok(())),
        ("multiple-nine", "9 and 6 require 18", vec![r(Some(9), Some(36)), r(Some(6), None)], Ok(())),
        ("multiple-unmet", "4 and 6 require 12, which 16 is not", vec![r(Some(4), Some(16)), r(Some(6), None)], conflict),
        ("divisor", "24 and 36 offer 12", vec![r(None, Some(24)), r(None, Some(36))], Ok(())),
        ("divisor-unmet", "24 and 36 offer 12, where 8 is required", vec![r(Some(8), Some(24)), r(None, Some(36))], conflict),
        ("one", "an unknown offset offers 1", vec![r(Some(2), None), r(None, Some(1))], conflict),
        ("one-enough", "and 1 is required", vec![r(Some(1), None), r(None, Some(1))], Ok(())),
        ("later", "required later than offered", vec![r(None, Some(8)), r(Some(16), None)], conflict),
        ("earlier", "required earlier than offered", vec![r(Some(16), None), r(None, Some(8))], conflict),
        ("met", "16 of 32", vec![r(Some(16), None), r(None, Some(32))], Ok(())),
        ("apart", "with an op between", vec![r(Some(16), None), r(None, None), r(None, Some(24))], conflict),
        ("most", "the largest alignment", vec![r(Some(1 << 32), None), r(None, Some(1 << 32))], Ok(())),
        ("beyond", "more than the largest is required", vec![r(Some(1 << 32), None), r(Some(3), None)], conflict),
        ("beyond-primes", "two large requirements without a common divisor", vec![r(Some(65_537), None), r(Some(65_539), None)], conflict),
        ("beyond-all", "no requirement is lost on the way", vec![r(Some(65_537), None), r(Some(257), None), r(Some(641), None)], conflict),
        ("odd", "3 of 9", vec![r(Some(3), Some(9)), r(None, Some(9))], Ok(())),
        ("coprime", "9 and 8 offer 1", vec![r(None, Some(9)), r(Some(2), Some(8))], conflict),
    ];
    let mut items = Vec::new();
    for (first, second) in [
        ((16, 16), (1, 24)),
        ((16, 32), (1, 8)),
        ((8, 8), (1, 12)),
        ((4, 4), (6, 6)),
        ((3, 3), (1, 4)),
        ((2, 2), (5, 5)),
        ((64, 64), (1, 32)),
        ((7, 7), (1, 10)),
        ((1, 8), (16, 16)),
        ((1, 9), (8, 8)),
        ((1, 1), (2, 2)),
    ] {
        let row = |(required, offered): (u64, u64)| r(Some(required), Some(offered));
        let file = format!("requirements-each-{}-{}-{}-{}", first.0, first.1, second.0, second.1);
        let summary = format!("each has what it requires: {} of {}, {} of {}; not both", first.0, first.1, second.0, second.1);
        items.push(pair(&file, &summary, clause::SEL_12, [&row(first), &row(second)], conflict));
    }
    for (file, summary, rows, result) in cases {
        let whole: Vec<&Value> = rows.iter().collect();
        let mut item = several(&format!("requirements-{file}"), summary, clause::SEL_12, &whole, result);
        // What is offered is needed to be complete: ops that only require get an alignment from the other side.
        if result.is_err() {
            item = loosened(item);
        }
        items.push(item);
    }
    items
}

/// Ops that require and offer nothing have no complete kernel: such a plan is none, and the case says so.
fn loosened(mut item: Item) -> Item {
    let needs = |op: &Value, name: &str| op.pointer(&format!("/requirements/{name}")).and_then(Value::as_u64);
    let ops = item.base.pointer("/sequence/ops").and_then(Value::as_array).cloned().unwrap_or_default();
    let count = ops.len();
    // The first region holds all ops but the last one.
    let regions = [(0, count - 1), (count - 1, count)];
    for (from, to) in regions {
        let part = ops.get(from..to).unwrap_or_default();
        let required = part.iter().filter_map(|op| needs(op, "required")).any(|required| required > 1);
        let offered = part.iter().any(|op| needs(op, "offered").is_some());
        if required && !offered {
            let first =
                part.first().is_some_and(|op| needs(op, "required").is_none_or(|required| required == 1));
            // Where the first op asks for nothing, its own region is complete.
            if first && to - from > 1 {
                continue;
            }
            item = item.stuck(from);
            item.clauses.push(*Rule::KN01.clause());
            break;
        }
    }
    item
}

/// Two rows fail at once: the first in the order of SEL-05 is named.
#[rustfmt::skip] // tables
pub fn reasons() -> Vec<Item> {
    // What makes each row fail between two ops.
    let rows: [(&str, Value, Value); 8] = [
        ("sig_conflict", json!({"sig": {"core": "gemm"}}), json!({"sig": {"core": "gemm"}})),
        ("activation_conflict", json!({"epilogue": {"activation": "relu"}}), json!({"epilogue": {"activation": "gelu"}})),
        ("epilogue_repeat", json!({"epilogue": {"bias": true}}), json!({"epilogue": {"bias": true}})),
        ("shape_mismatch", json!({"shape": {"m": 4}}), json!({"shape": {"m": 5}})),
        ("dtype_mismatch", json!({"dtype": {"acc": "I8"}}), json!({"dtype": {"acc": "F16"}})),
        ("layout_mismatch", json!({"layout": {"order": "row"}}), json!({"layout": {"order": "col"}})),
        ("effect_conflict", json!({"effects": {"writes": ["k"]}}), json!({"effects": {"writes": ["k"]}})),
        ("requirement_conflict", json!({"requirements": {"offered": 8}}), json!({"requirements": {"required": 16, "offered": 16}})),
    ];
    let mut items = Vec::new();
    let build = |file: &str, summary: &str, first: Op, second: Op, reason: &str| {
        let kernels = [kernel("a", "2", "a!"), kernel("b", "3", "b!"), kernel("whole", "4", "a! b!")];
        let outline = format!("0-0 a compose:{reason}; 1-1 b end");
        select(file, summary, &[clause::SEL_05, clause::SEL_19], request(&[first, second], &kernels)).plan(&outline)
    };
    for (at, (first, a, b)) in rows.iter().enumerate() {
        for (second, c, d) in rows.iter().skip(at + 1) {
            let one = link(op("a").rows(a).rows(c), 0, false);
            let two = link(op("b").rows(b).rows(d), 1, true);
            let summary = format!("{first} and {second} at once: the first is named");
            items.push(build(&format!("reason-{first}-{second}"), &summary, one, two, first));
        }
        let one = link(op("a").rows(a), 0, true);
        let two = op("b").rows(b).reads(&["other"]).writes("v2").output();
        let summary = format!("not connected and {first} at once: the first is named");
        items.push(build(&format!("reason-not-connected-{first}"), &summary, one, two, "not_connected"));
    }
    items
}

/// Which ops are connected.
#[rustfmt::skip] // tables
pub fn connections() -> Vec<Item> {
    let no = Err("not_connected");
    let cases = [
        ("chain", "reads what the region wrote", vec![op("a").reads(&["x"]).writes("y"), op("b").reads(&["y"]).writes("z").output()], Ok(())),
        ("input", "reads what the region read", vec![op("a").reads(&["x"]).writes("y").output(), op("b").reads(&["x"]).writes("z").output()], Ok(())),
        ("weight", "reads the weight that the region read", vec![op("a").reads(&["x", "w"]).writes("y").output(), op("b").reads(&["u", "w"]).writes("z").output()], Ok(())),
        ("nothing", "reads nothing", vec![op("a").reads(&["x"]).writes("y").output(), op("b").reads(&[]).writes("z").output()], no),
        ("other", "reads something else", vec![op("a").reads(&["x"]).writes("y").output(), op("b").reads(&["u"]).writes("z").output()], no),
        ("second-operand", "the second operand is the one", vec![op("a").reads(&["x"]).writes("y"), op("b").reads(&["u", "y"]).writes("z").output()], Ok(())),
        ("second-write", "the second value that the region wrote", vec![op("a").reads(&["x"]).writes("y").writes("t"), op("b").reads(&["t"]).writes("z").output()], Ok(())),
        ("far", "what the first op wrote, two ops later", vec![op("a").reads(&["x"]).writes("y"), op("a").reads(&["y"]).writes("t").output(), op("b").reads(&["y"]).writes("z").output()], Ok(())),
        ("far-input", "what the first op read, two ops later", vec![op("a").reads(&["x", "w"]).writes("y"), op("a").reads(&["y"]).writes("t").output(), op("b").reads(&["w"]).writes("z").output()], Ok(())),
        ("before", "what an op before the region wrote", vec![op("c").reads(&["x"]).writes("p"), op("a").reads(&["q"]).writes("y").output(), op("b").reads(&["p"]).writes("z").output()], Ok(())),
        ("storage", "the same storage is no connection", vec![op("a").reads(&["x"]).writes("y").output().rows(&json!({"effects": {"writes": ["k"]}})), op("b").reads(&["u"]).writes("z").output().rows(&json!({"effects": {"reads": ["k"]}}))], no),
        ("twice", "the same operand twice", vec![op("a").reads(&["x"]).writes("y"), op("b").reads(&["y", "y"]).writes("z").output()], Ok(())),
        ("many", "the last of many operands", vec![op("a").reads(&["x"]).writes("y"), op("b").reads(&["a", "b", "c", "d", "e", "f", "g", "y"]).writes("z").output()], Ok(())),
        ("case", "names differ in case", vec![op("a").reads(&["X"]).writes("y").output(), op("b").reads(&["x"]).writes("z").output()], no),
        ("nothing-twice", "neither reads anything", vec![op("a").writes("y").output(), op("b").writes("z").output()], no),
    ];
    let mut items = Vec::new();
    for (file, summary, ops, result) in cases {
        let effects = json!({"effects": ["read_after_write"]});
        let kernels: Vec<Value> = [
            kernel("a", "2", "a!"),
            kernel("b", "3", "b!"),
            kernel("c", "3", "c!"),
            kernel("ab", "4", "a! b!"),
            kernel("aab", "5", "a! a! b!"),
        ]
        .into_iter()
        .map(|kernel| with(kernel, &effects))
        .collect();
        let last = ops.len() - 1;
        let outline = match (result, file) {
            (_, "before") => "0-0 c compose:not_connected; 1-1 a compose:not_connected; 2-2 b end".to_owned(),
            (Ok(()), _) if last == 2 => "0-2 aab end".to_owned(),
            (Ok(()), _) => "0-1 ab end".to_owned(),
            (Err(reason), _) => format!("0-0 a compose:{reason}; 1-1 b end"),
        };
        items.push(select(&format!("connection-{file}"), summary, &[clause::SEL_06], request(&ops, &kernels)).plan(&outline));
    }
    items
}
