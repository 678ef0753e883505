//! What crosses two sentences: rows of two ops with a third between, names in the order of their bytes, what is known of an extent
//! and what is not, operands that several ops of a region have written, and the limit that holds where none is given.

use megakernel_ir::rule::{Clause, clause};
use serde_json::{Value, json};

use super::rows::{self, several};
use crate::build::{Op, kernel, link, op, request, request_with, with};
use crate::item::{Expect, Item, select};

/// Every pair of ops of the families of rows, with an op without rows between the two.
pub fn apart() -> Vec<Item> {
    let families: [fn() -> Vec<Item>; 6] =
        [rows::cores, rows::linearity, rows::activations, rows::flags, rows::dtypes, rows::layouts];
    let mut items = Vec::new();
    for item in families.iter().flat_map(|family| family()) {
        let ops = item.base.pointer("/sequence/ops").and_then(Value::as_array).cloned().unwrap_or_default();
        let (Expect::Answer(Some(outline)), [first, last]) = (&item.expect, ops.as_slice()) else { continue };
        let reason = outline.split_once("compose:").and_then(|(_, rest)| rest.split(';').next());
        let part = |op: &Value| {
            let mut rows = op.clone();
            if let Some(rows) = rows.as_object_mut() {
                rows.retain(|name, _| name != "reads" && name != "writes");
            }
            if let Some(Value::Object(sig)) = rows.get_mut("sig") {
                sig.remove("class");
            }
            rows
        };
        let about = item.clauses.first().copied().unwrap_or(clause::SEL_05);
        let result = reason.map_or(Ok(()), Err);
        let rows = [&part(first), &json!({}), &part(last)];
        let summary = format!("{}, with an op between", item.summary);
        items.push(several(&format!("{}-apart", item.file), &summary, about, &rows, result));
    }
    items
}

/// Ops of the classes a to z, kernels for each, and one for all of them with what is asked.
fn together(
    file: &str,
    summary: &str,
    clauses: &[Clause],
    rows: &[Value],
    asked: &Value,
    options: Value,
    outline: &str,
) -> Item {
    let names = ["a", "b", "c", "d"];
    let count = rows.len();
    let ops: Vec<Op> =
        (0..count).map(|at| link(op(names[at % 4]).rows(&rows[at]), at, at + 1 == count)).collect();
    let all = json!({"effects": ["cache", "alias", "random", "read_after_write", "overwrite"]});
    let whole: Vec<String> = names.iter().take(count).map(|name| format!("{name}!")).collect();
    let mut kernels: Vec<Value> =
        names.iter().take(count).map(|name| with(kernel(name, "90", &format!("{name}!")), &all)).collect();
    kernels.push(with(with(kernel("whole", "4", &whole.join(" ")), &all), asked));
    select(file, summary, clauses, request_with(&ops, &kernels, options)).plan(outline)
}

/// Extents that are known of a class and not of a role.
#[rustfmt::skip] // tables
pub fn extents() -> Vec<Item> {
    let s = |row: Value| json!({"shape": row});
    let max = |most: u32| json!({"shape": {"m": {"max": most}}});
    let any = json!({"shape": {"m": {}}});
    let none = || json!({});
    let (both, apart) = ("0-1 whole end", "0-0 a end; 1-1 b end");
    let empty = "0-0 a empty; 1-1 b end";
    let about = [clause::SEL_09, clause::SEL_14];
    let mut items = Vec::new();
    for (file, summary, rows, asked, outline) in [
        ("unknown-first", "what is unknown of a role, and 9 behind it, which is too much", vec![s(json!({"m": "?"})), s(json!({"m": 9}))], max(8), empty),
        ("unknown-second", "9, which is too much, and unknown behind it", vec![s(json!({"m": 9})), s(json!({"m": "?"}))], max(8), empty),
        ("unknown-by-symbol", "unknown, and an extent that nobody knows by way of a symbol", vec![s(json!({"m": "s"})), s(json!({"m": "?", "n": "s", "k": 1}))], max(8), apart),
        ("unknown-tied", "unknown, and too much by way of another role", vec![s(json!({"m": "s", "n": "s"})), s(json!({"m": "?", "n": 9}))], max(8), empty),
        ("unknown-and-fits", "4, and unknown behind it: viable, and never complete", vec![s(json!({"m": 4})), s(json!({"m": "?"}))], max(8), apart),
        ("unknown-and-fits-behind", "unknown, and 4 behind it", vec![s(json!({"m": "?"})), s(json!({"m": 4}))], max(8), apart),
        ("unknown-and-any", "4, and unknown behind it, where any extent would do", vec![s(json!({"m": 4})), s(json!({"m": "?"}))], any.clone(), apart),
        ("unknown-and-other", "the unknown role is tied to one that is asked for", vec![s(json!({"n": "?"})), s(json!({"n": "s", "m": "s"}))], any.clone(), apart),
        ("other-unknown", "a role that is known, tied to one that is unknown", vec![s(json!({"n": "?", "m": "s"})), s(json!({"n": "s", "m": 4}))], max(8), both),
        ("other-unknown-before", "known before the other one is unknown", vec![s(json!({"n": "s", "m": "s"})), s(json!({"n": "?", "m": 4}))], max(8), both),
        ("other-unknown-after", "known by way of another role and a symbol", vec![s(json!({"n": 4, "m": "s"})), s(json!({"n": "s", "k": 7}))], max(8), both),
        ("other-unknown-and-known", "known by way of another role, which is unknown", vec![s(json!({"n": "s", "m": "s"})), s(json!({"n": 4})), s(json!({"n": "?"}))], max(8), "0-2 whole end"),
        ("role-of-a-symbol", "a symbol with the name of a role that is there", vec![s(json!({"a": 4, "m": "a"})), s(json!({"m": 5}))], max(8), both),
        ("role-of-a-symbol-twice", "and of one that comes later", vec![s(json!({"a": 4, "b": "c", "c": 9})), s(json!({"b": 5, "m": "a"})), s(json!({"m": 6}))], max(8), "0-2 whole end"),
        ("role-of-a-symbol-known", "a symbol m of another role does not make m known", vec![s(json!({"m": "s", "n": "m"})), s(json!({"n": 4}))], max(8), apart),
        ("question-role", "a role with the name of a question mark", vec![s(json!({"?": 4, "m": "?"})), s(json!({"m": 5}))], any, apart),
        ("even-from-3", "a multiple of 2 from 3 on: 4", vec![s(json!({"m": 4})), none()], json!({"shape": {"m": {"min": 3, "multiple": 2}}}), both),
        ("odd-from-3", "a multiple of 2 from 3 on: 5", vec![s(json!({"m": 5})), none()], json!({"shape": {"m": {"min": 3, "multiple": 2}}}), empty),
        ("of-7-from-10", "a multiple of 7 from 10 on: 14", vec![s(json!({"m": 14})), none()], json!({"shape": {"m": {"min": 10, "multiple": 7}}}), both),
        ("of-7-from-10-not", "a multiple of 7 from 10 on: 17", vec![s(json!({"m": 17})), none()], json!({"shape": {"m": {"min": 10, "multiple": 7}}}), empty),
        ("least-of-7", "a multiple of 7: 7", vec![s(json!({"m": 7})), none()], json!({"shape": {"m": {"multiple": 7}}}), both),
    ] {
        items.push(together(&format!("extent-{file}"), summary, &about, &rows, &asked, json!({}), outline));
    }
    // Costs with what is not known: those of single ops do.
    let machine = || json!({"machine": {"gbs": "1000", "tflops": "1"}});
    let bytes = |dims: &[&str]| json!({"cost": {"bytes": [{"dims": dims}]}});
    for (file, summary, rows, asked, options, outline) in [
        ("unknown", "4, and unknown behind it: no cost", vec![s(json!({"m": 4})), s(json!({"m": "?"}))], bytes(&["m"]), machine(), apart),
        ("unknown-second-term", "the second role of a term is unknown", vec![s(json!({"n": 2, "m": 4})), s(json!({"m": "?"}))], bytes(&["n", "m"]), machine(), apart),
        ("unknown-first", "unknown, and 4 behind it: no cost", vec![s(json!({"m": "?"})), s(json!({"m": 4}))], bytes(&["m"]), machine(), apart),
        ("absent-second", "the second role of a term is nobody's", vec![s(json!({"m": 4})), none()], bytes(&["m", "n"]), machine(), apart),
        ("absent-flops", "a role of operations is nobody's", vec![s(json!({"m": 4})), none()], json!({"cost": {"bytes": [{"dims": ["m"]}], "flops": [{"dims": ["n"]}]}}), machine(), apart),
        ("known-later", "known with the second op", vec![s(json!({"m": "s"})), s(json!({"m": 4}))], bytes(&["m"]), machine(), both),
        ("nothing-without-machine", "a term that counts nothing, without a machine", vec![s(json!({"m": 4})), none()], json!({"cost": {"fixed": "1", "bytes": [{"times": "0", "dims": ["m"]}]}}), json!({}), apart),
        ("nothing-without-roles", "without roles, too", vec![none(), none()], json!({"cost": {"fixed": "1", "flops": [{"times": "0/7"}]}}), json!({}), apart),
        ("nothing-and-null", "with a machine that is null", vec![none(), none()], json!({"cost": {"fixed": "1", "bytes": [{"times": "0.0"}], "flops": []}}), json!({"machine": null}), apart),
        ("nothing-of-unknown", "a term that counts nothing of what is not known", vec![none(), none()], json!({"cost": {"fixed": "1", "bytes": [{"times": "0", "dims": ["m"]}]}}), machine(), apart),
        ("nothing-with-machine", "a term that counts nothing, with a machine", vec![s(json!({"m": 4})), none()], json!({"cost": {"fixed": "1", "bytes": [{"times": "0", "dims": ["m"]}]}}), machine(), both),
        ("beyond-64-bits", "2^64 and 80 bytes, which are not 80", vec![s(json!({"m": 65536, "n": 80})), none()], json!({"cost": {"bytes": [{"dims": ["m", "m", "m", "m"]}, {"dims": ["n"]}]}}), machine(), both),
    ] {
        items.push(together(&format!("extent-cost-{file}"), summary, &[clause::SEL_16], &rows, &asked, options, outline));
    }
    // Of two kernels for the same, the one that counts 2^64 and 80 is the dearer one.
    for (file, dims, times) in [("four", vec!["m"; 4], "1"), ("five", vec!["m"; 5], "1"), ("times", vec!["m"; 2], "4294967296"), ("double", vec!["m"; 2], "8589934592")] {
        let wrapping = json!({"cost": {"bytes": [{"times": times, "dims": dims}, {"dims": ["n"]}]}});
        let kernels = [with(kernel("k", "0", "a!"), &wrapping), kernel("l", "1000", "a!")];
        let ops = [link(op("a").rows(&s(json!({"m": 65536, "n": 80}))), 0, true)];
        let summary = format!("a cost that 64 bits do not hold: {file}");
        items.push(select(&format!("extent-wraps-{file}"), &summary, &[clause::SEL_16], request_with(&ops, &kernels, machine())).plan("0-0 l end"));
    }
    items
}

/// Names beyond 16 bits, in another case, and composed otherwise, where their order shows.
#[rustfmt::skip] // tables
pub fn names() -> Vec<Item> {
    let mut items = Vec::new();
    // In the order of bytes; in that of UTF-16, the last one comes before the one in front of it.
    let lists = [
        ("wide", ["a", "\u{ffee}", "\u{1f600}"]),
        ("private", ["~", "\u{e000}", "\u{10000}"]),
        ("case", ["B", "_", "a"]),
        ("composed", ["e\u{301}", "z", "\u{e9}"]),
        ("prefix", ["k", "k ", "k0"]),
    ];
    for (file, [first, second, third]) in lists {
        let effects = json!({"effects": {"reads": [third, first, second], "writes": [second, third, first]}});
        let about = [clause::SEL_23, clause::SEL_22];
        items.push(together(&format!("name-storages-{file}"), "storages in the order of their bytes", &about, &[effects.clone(), json!({})], &json!({}), json!({}), "0-1 whole end"));
        let (one, two) = (json!({"effects": {"reads": [third], "writes": [third]}}), json!({"effects": {"reads": [second, first], "writes": [first, second]}}));
        items.push(together(&format!("name-storages-united-{file}"), "storages of two ops in the order of their bytes", &about, &[one, two], &json!({}), json!({}), "0-1 whole end"));
        let symbols = |name: &str| json!({"shape": {"m": name}});
        items.push(together(&format!("name-symbols-{file}"), "of three symbols the one whose bytes come first", &[clause::SEL_09, clause::SEL_22], &[symbols(third), symbols(second), symbols(first)], &json!({}), json!({}), "0-2 whole end"));
        items.push(together(&format!("name-symbols-two-{file}"), "of two symbols the one whose bytes come first", &[clause::SEL_09, clause::SEL_22], &[symbols(second), symbols(third)], &json!({}), json!({}), "0-1 whole end"));
        items.push(together(&format!("name-symbols-turned-{file}"), "and so where it comes second", &[clause::SEL_09, clause::SEL_22], &[symbols(third), symbols(second)], &json!({}), json!({}), "0-1 whole end"));
        for (order, ids) in [("turned", [third, second, first]), ("straight", [second, third, first])] {
            let kernels = ids.map(|id| kernel(id, "1", "a!"));
            let ops = [link(op("a"), 0, true)];
            items.push(select(&format!("name-kernels-{file}-{order}"), "of equal costs the id whose bytes come first", &[clause::SEL_18, clause::SEL_22], request(&ops, &kernels)));
            let kernels = [kernel(third, "1", "a!"), kernel(second, "1", "a!"), kernel(first, "9", "a!")];
            items.push(select(&format!("name-kernels-two-{file}-{order}"), "two ids of equal costs, and the first one dearer", &[clause::SEL_18, clause::SEL_22], request(&ops, &kernels[..if order == "turned" { 2 } else { 3 }])));
        }
    }
    let explained: Vec<Item> = items.iter().map(Item::explained).collect();
    items.extend(explained);
    items
}

/// Operands that ops of the region have written, one or several ops ago.
#[rustfmt::skip] // tables
pub fn operands() -> Vec<Item> {
    let mut items = Vec::new();
    for (file, summary, reads, stage, fits) in [
        ("both", "one operand from each of two ops", vec!["y", "z"], "c/01!", true),
        ("both-turned", "the other way around", vec!["z", "y"], "c/01!", true),
        ("first-asked", "the one of the last op is asked for, both are", vec!["z", "y"], "c/0!", false),
        ("second-asked", "the one of the first op is asked for, both are", vec!["z", "y"], "c/1!", false),
        ("far", "one operand of the first op alone", vec!["w", "y"], "c/1!", true),
        ("far-other", "the other place is asked for", vec!["w", "y"], "c/0!", false),
        ("far-none", "none is asked for", vec!["y"], "c/!", false),
        ("twice", "the value of the last op twice, both asked for", vec!["z", "z"], "c/01!", true),
        ("twice-far", "the value of the first op twice, both asked for", vec!["y", "y"], "c/01!", true),
        ("twice-first", "the value of the first op twice, the first place asked for", vec!["y", "y"], "c/0!", false),
        ("three", "three operands, two of them from the first op", vec!["y", "z", "y"], "c/012!", true),
        ("three-inputs", "an input that the region has read, and an operand", vec!["x", "z"], "c/1!", true),
        ("three-inputs-asked", "the input is asked for as well", vec!["x", "z"], "c/01!", false),
    ] {
        let ops = [op("a").reads(&["x"]).writes("y").output(), op("b").reads(&["y"]).writes("z").output(), op("c").reads(&reads).writes("t").output()];
        let kernels = [kernel("whole", "4", &format!("a! b! {stage}")), kernel("a", "90", "a!"), kernel("b", "90", "b!"), kernel("c", "90", "c!"), kernel("ab", "9", "a! b!")];
        let outline = if fits { "0-2 whole end" } else { "0-1 ab empty; 2-2 c end" };
        items.push(select(&format!("operand-{file}"), summary, &[clause::SEL_13], request(&ops, &kernels)).plan(outline));
    }
    for (file, summary, cores, outline) in [
        ("given", "a stage without a core, and an op with one", [json!({"sig": {"core": "gemm"}}), json!({})], "0-1 whole end"),
        ("other", "a stage with a core, and an op with none behind one with another", [json!({"sig": {"core": "norm"}}), json!({})], "0-0 a empty; 1-1 b end"),
        ("both", "two stages with cores", [json!({"sig": {"core": "norm"}}), json!({"sig": {"core": "ew"}})], "0-1 cores end"),
        ("state", "the core that a stage asks for is the op's, and not the region's", [json!({"sig": {"core": "norm"}}), json!({"sig": {"core": "move"}})], "0-1 moves end"),
    ] {
        let ops = [link(op("a").rows(&cores[0]), 0, false), link(op("b").rows(&cores[1]), 1, true)];
        let mut kernels = vec![kernel("a", "90", "a!"), kernel("b", "90", "b!"), kernel("cores", "4", "a:norm b:ew!"), kernel("moves", "4", "a b:move!")];
        if file == "given" {
            kernels.push(kernel("whole", "3", "a b!"));
        }
        items.push(select(&format!("operand-core-{file}"), summary, &[clause::SEL_13], request(&ops, &kernels)).plan(outline));
    }
    items
}

/// Where no limit is given, it is 64; and what is required before it is offered.
#[rustfmt::skip] // tables
pub fn defaults() -> Vec<Item> {
    let mut items = Vec::new();
    for (file, count, options) in [("plain", 66, json!({})), ("more", 70, json!({})), ("with-a-machine", 66, json!({"machine": {"gbs": "1", "tflops": "1"}})), ("with-a-beam", 66, json!({"beam": 2}))] {
        let class = |at: usize| format!("c{at}");
        let ops: Vec<Op> = (0..count).map(|at| link(op(&class(at)), at, at + 1 == count)).collect();
        let stages = |from: usize, to: usize| (from..to).map(|at| format!("c{at}!")).collect::<Vec<_>>().join(" ");
        let kernels = [kernel("sixty-four", "1", &stages(0, 64)), kernel("sixty-five", "1", &stages(0, 65)), kernel("all", "1", &stages(0, count)), kernel("rest", "1", &stages(64, count))];
        let outline = format!("0-63 sixty-four limit; 64-{} rest end", count - 1);
        let summary = format!("a region of 64 of {count} ops, where a kernel could take 65");
        items.push(select(&format!("default-limit-{file}"), &summary, &[clause::SEL_19, clause::SEL_01], request_with(&ops, &kernels, options)).plan(&outline));
    }
    let needs = |sub: &str, value: u64| json!({"requirements": {sub: value}});
    let none = || json!({});
    let most = 1_u64 << 32;
    let each = |required: u64, offered: u64| json!({"requirements": {"required": required, "offered": offered}});
    for (file, summary, rows) in [
        ("later", "nothing, then 16 required, then 32 offered", vec![none(), needs("required", 16), needs("offered", 32)]),
        ("at-once", "16 required, nothing, then 16 offered", vec![needs("required", 16), none(), needs("offered", 16)]),
        ("twice", "2 and 3 required, then 6 offered", vec![needs("required", 2), needs("required", 3), needs("offered", 6)]),
        ("most", "2^31 required of 2^32, then 2^32", vec![each(1 << 31, most), needs("required", most), none()]),
        ("most-first", "2^32 required of 2^32, then 2", vec![each(most, most), needs("required", 2), none()]),
        ("most-of-two", "2^16 and 2^32 required of 2^32", vec![each(1 << 16, most), each(most, most), none()]),
    ] {
        items.push(together(&format!("default-required-{file}"), summary, &[clause::SEL_12], &rows, &json!({}), json!({}), "0-2 whole end"));
    }
    items
}
