//! Numbers, texts and lists at their limits, members that could be taken for others, and what just keeps or breaks a rule on
//! sequences and indices. Each edit that breaks a rule has a neighbour that does not.

use megakernel_ir::rule::{Clause, Rule, clause};
use serde_json::{Value, json};

use super::bases::base;
use crate::item::{Expect, Item, select};

fn replace(path: &str, value: Value) -> Value {
    json!({"op": "replace", "path": path, "value": value})
}

fn add(path: &str, value: Value) -> Value {
    json!({"op": "add", "path": path, "value": value})
}

fn remove(path: &str) -> Value {
    json!({"op": "remove", "path": path})
}

/// An edit of a base: accepted without warnings, or rejected for a rule.
fn edit(
    file: &str,
    name: &str,
    summary: &str,
    clauses: &[Clause],
    broken: Option<Rule>,
    edit: Vec<Value>,
) -> Item {
    let item = select(file, summary, clauses, base(file)).edited(name, summary, edit);
    let expect = broken.map_or(Expect::Warn(Vec::new()), |rule| Expect::Reject(rule, None));
    let clauses = match broken {
        Some(rule) if !clauses.contains(rule.clause()) => [clauses, &[*rule.clause()]].concat(),
        _ => clauses.to_vec(),
    };
    Item { method: "validate", expect, clauses, ..item }
}

/// Numbers at the ends of their ranges, and rational texts, in each member that has them.
pub fn numbers() -> Vec<Item> {
    const EXTENT: i64 = (1 << 31) - 1;
    const ALIGNED: i64 = 1 << 32;
    let mut items = Vec::new();
    let rich = "index-rich";
    for (file, name, path, low, high) in [
        ("sequence-rich", "extent", "/ops/0/shape/n", 1, EXTENT),
        ("sequence-rich", "required", "/ops/2/requirements", 1, ALIGNED),
        (rich, "min", "/kernels/1/shape/m/min", 1, EXTENT),
        (rich, "max", "/kernels/1/shape/m/max", 1, EXTENT),
        (rich, "multiple", "/kernels/1/shape/m/multiple", 1, EXTENT),
        (rich, "align", "/kernels/1/requirements/align", 1, ALIGNED),
        (rich, "vector", "/kernels/0/requirements/vector", 1, 4096),
        ("index-basic", "chain", "/kernels/4/stages/1/chain/0", 0, 255),
        ("index-basic", "chain of two", "/kernels/5/stages/1/chain/0", 0, 255),
        ("index-optional", "chain of an optional stage", "/kernels/4/stages/2/chain/0", 0, 255),
        ("request-basic", "limit", "/options/limit", 1, 4096),
        ("request-branch", "limit beside a beam", "/options/limit", 1, 4096),
        ("review-fused", "limit of a review", "/options/limit", 3, 4096),
        ("request-basic", "beam", "/options/beam", 1, 4096),
        ("request-rich", "beam beside a machine", "/options/beam", 1, 4096),
        ("review-branch", "beam of a review", "/options/beam", 1, 1),
    ] {
        for (which, value, fits) in [
            ("least", low, true),
            ("less", low - 1, low > 1),
            ("most", high, true),
            ("more", high + 1, high == 1),
        ] {
            // Of a review, other limits and beams may change what is chosen.
            if file.starts_with("review") && fits && which != "most" {
                continue;
            }
            if high == 1 && which == "more" {
                continue;
            }
            // What stands there anyway is no edit.
            if base(file).pointer(path) == Some(&json!(value)) {
                continue;
            }
            let parts: Vec<&str> = path.split('/').collect();
            let operations = match parts.as_slice() {
                [.., "shape", "m", bound] => vec![add("/kernels/1/shape", json!({"m": {*bound: value}}))],
                [.., "requirements", "align"] => {
                    vec![add("/kernels/1/requirements", json!({"align": value}))]
                }
                [.., "requirements"] => vec![add(path, json!({"required": value, "offered": value}))],
                [_, "options", _] => vec![add(path, json!(value))],
                _ => vec![replace(path, json!(value))],
            };
            let broken = (!fits).then_some(Rule::KS01);
            let summary = format!("{name}: {value}");
            items.push(edit(
                file,
                &format!("{name} {which}"),
                &summary,
                &[clause::SEL_01],
                broken,
                operations,
            ));
        }
    }
    let forty = |text: &str, digit: &str| format!("{}{text}", digit.repeat(40 - text.len()));
    let texts: Vec<(&str, String, bool, bool)> = vec![
        // Whether it is a number, and whether that is above 0.
        ("forty", forty("1", "0"), true, true),
        ("forty nines", forty("9", "9"), true, true),
        ("forty one", format!("0{}", forty("1", "0")), false, false),
        ("forty with a slash", forty("/7", "3"), true, true),
        ("forty one with a point", format!("0{}", forty(".5", "0")), false, false),
        ("zeros in front", "007".to_owned(), true, true),
        ("zeros below", "7/004".to_owned(), true, true),
        ("zeros behind", "7.500".to_owned(), true, true),
        ("zero", "0".to_owned(), true, false),
        ("zero with a point", "00.000".to_owned(), true, false),
        ("zero over something", "0/3".to_owned(), true, false),
        ("over zeros", "3/000".to_owned(), false, false),
        ("two slashes", "3/4/5".to_owned(), false, false),
        ("a fraction below", "3/4.5".to_owned(), false, false),
        ("arabic digits", "\u{664}".to_owned(), false, false),
        ("superscript", "1\u{b2}".to_owned(), false, false),
        ("line feed behind", "7\n".to_owned(), false, false),
        ("no-break space", "7\u{a0}".to_owned(), false, false),
        ("comma", "7,5".to_owned(), false, false),
        ("underscore", "7_5".to_owned(), false, false),
        ("hexadecimal", "0x7".to_owned(), false, false),
    ];
    for (file, member, path, must_be_positive) in [
        ("index-basic", "fixed", "/kernels/0/cost/fixed", false),
        (rich, "times", "/kernels/0/cost/flops/0/times", false),
        ("request-rich", "gbs", "/options/machine/gbs", true),
        ("request-rich", "tflops", "/options/machine/tflops", true),
    ] {
        for (name, text, is_number, is_positive) in &texts {
            let fits = *is_number && (*is_positive || !must_be_positive);
            // A kernel that costs nothing, or next to nothing, may do all that a dearer one does.
            let broken = (!fits).then_some(Rule::KS02);
            let summary = format!("{member}: {name}");
            let operations = vec![replace(path, json!(text))];
            items.push(edit(file, &summary, &summary, &[clause::SEL_01], broken, operations));
        }
    }
    items
}

/// Sets with an entry twice, side by side and apart, and entries that only look alike.
#[rustfmt::skip] // tables
pub fn lists() -> Vec<Item> {
    let mut items = Vec::new();
    for (file, name, path, entries) in [
        ("sequence-rich", "flags", "/ops/1/effects/flags", ["cache", "alias", "random"]),
        ("sequence-rich", "storages read", "/ops/0/effects/reads", ["k", "K", "v"]),
        ("sequence-rich", "storages written", "/ops/1/effects/writes", ["k", "\u{e9}", "e\u{301}"]),
        ("index-rich", "effects", "/kernels/1/effects", ["cache", "overwrite", "read_after_write"]),
        ("index-rich", "in", "/kernels/0/dtype/in", ["BF16", "F16", "F32"]),
        ("index-rich", "weight", "/kernels/0/dtype/weight", ["BF16", "I8", "I4"]),
        ("index-rich", "out", "/kernels/2/dtype/out", ["F32", "F16", "BF16"]),
        ("index-rich", "acc", "/kernels/3/dtype/acc", ["F32", "I32", "F16"]),
        ("index-rich", "order", "/kernels/0/layout/order", ["row", "Row", "col"]),
        ("index-rich", "trans", "/kernels/0/layout/trans", ["nt", "NT", "nn"]),
        ("index-rich", "allow", "/kernels/3/epilogue/allow", ["bias", "scale", "residual"]),
        ("index-rich", "activation", "/kernels/2/epilogue/activation", ["relu", "none", "gelu"]),
    ] {
        let [one, two, three] = entries;
        if base(file).pointer(path) != Some(&json!(entries)) {
            items.push(edit(file, &format!("{name} three"), &format!("{name}: three"), &[clause::SEL_03], None, vec![replace(path, json!(entries))]));
        }
        for (which, list) in [("first and last", json!([one, two, one])), ("last two", json!([one, three, three])), ("apart", json!([one, two, three, two]))] {
            items.push(edit(file, &format!("{name} {which}"), &format!("{name}: {which} alike"), &[clause::SEL_03], Some(Rule::KS03), vec![replace(path, list)]));
        }
    }
    for (name, list) in [("neighbours", json!([0, 1, 1])), ("ends", json!([1, 0, 1])), ("all", json!([2, 2, 2]))] {
        items.push(edit("index-basic", &format!("chain {name}"), &format!("chained operands: {name} alike"), &[clause::SEL_13], Some(Rule::KS03), vec![replace("/kernels/4/stages/1/chain", list)]));
    }
    for (file, at, value) in [("sequence-three", 1, "a"), ("sequence-branch", 2, "c"), ("sequence-rich", 2, "c")] {
        let path = format!("/ops/{at}/reads/-");
        items.push(edit(file, "operand twice", "an op that reads one value twice", &[clause::SEL_02], None, vec![add(&path, json!(value))]));
    }
    for (file, op, kept) in [("sequence-rich", 0, "in"), ("sequence-rich", 1, "out"), ("sequence-rich", 2, "out")] {
        let path = format!("/ops/{op}/dtype");
        items.push(edit(file, &format!("half of {op}"), &format!("a dtype row with `{kept}` and `weight`"), &[clause::SEL_03], Some(Rule::KS04), vec![replace(&path, json!({kept: "F32", "weight": "F16"}))]));
    }
    items.push(edit("sequence-three", "neither end", "a dtype row without a chain", &[clause::SEL_03], None, vec![add("/ops/0/dtype", json!({"weight": "F16", "acc": "F32"}))]));
    for flag in ["read_after_write", "overwrite"] {
        items.push(edit("sequence-rich", &format!("derived {flag}"), &format!("{flag} as a flag of an op"), &[clause::SEL_03], Some(Rule::S05), vec![replace("/ops/1/effects/flags", json!(["cache", flag]))]));
    }
    items
}

/// Which document it is, where members of several are there.
#[rustfmt::skip] // tables
pub fn kinds() -> Vec<Item> {
    let mut items = Vec::new();
    let clauses = &[clause::SEL_01];
    let sequence = || base("sequence-three");
    let index = || base("index-basic");
    let plan = || json!({"regions": []});
    for (file, name, summary, broken, operations) in [
        ("sequence-three", "plan", "a sequence with a plan is a review, without its sequence", Some(Rule::S03), vec![add("/plan", plan())]),
        ("sequence-three", "index", "a sequence with an index is a request, without its sequence", Some(Rule::S03), vec![add("/index", index())]),
        ("sequence-three", "sequence", "a sequence with another one is a request, without its index", Some(Rule::S03), vec![add("/sequence", sequence())]),
        ("sequence-three", "kernels", "a sequence with kernels is an index", Some(Rule::S04), vec![add("/kernels", json!({}))]),
        ("index-basic", "plan", "an index with a plan is a review", Some(Rule::S03), vec![add("/plan", plan())]),
        ("index-basic", "index", "an index with another one is a request", Some(Rule::S03), vec![add("/index", index())]),
        ("index-basic", "sequence", "an index with a sequence is a request", Some(Rule::S03), vec![add("/sequence", sequence())]),
        ("index-basic", "ops", "an index with ops is an index, whatever the ops are", None, vec![add("/ops", json!([7]))]),
        ("index-basic", "options", "and so it is with options", None, vec![add("/options", json!({"limit": "x"}))]),
        ("request-basic", "kernels", "a request with kernels is a request, whatever these are", None, vec![add("/kernels", json!(7))]),
        ("request-basic", "ops", "and so it is with ops", None, vec![add("/ops", json!(7))]),
        ("request-basic", "plan", "a request with a plan is a review", Some(Rule::KP01), vec![add("/plan", plan())]),
        ("review-fused", "kernels", "a review with kernels is a review", None, vec![add("/kernels", json!(7)), add("/ops", json!(7))]),
        ("review-fused", "no sequence", "and without its sequence, it still is", Some(Rule::S03), vec![remove("/sequence")]),
        ("review-fused", "no index", "or without its index", Some(Rule::S03), vec![remove("/index")]),
    ] {
        items.push(edit(file, &format!("taken for {name}"), summary, clauses, broken, operations));
    }
    let roles = json!({"heads": 8, "M": 3, "\u{394}": "s", "k ": "?"});
    for (name, role, broken) in [("named", json!(1), None), ("zero", json!(0), Some(Rule::KS01)), ("true", json!(true), Some(Rule::S04)), ("list", json!([1]), Some(Rule::S04))] {
        let mut roles = roles.clone();
        roles["rows"] = role;
        items.push(edit("sequence-three", &format!("roles {name}"), "roles of any name", &[clause::SEL_03], broken, vec![add("/ops/1/shape", roles)]));
    }
    items
}

/// Values, writers and readers.
#[rustfmt::skip] // tables
pub fn values() -> Vec<Item> {
    let mut items = Vec::new();
    let readers = |op: usize, write: usize, list: Value| replace(&format!("/ops/{op}/writes/{write}/readers"), list);
    let two = "sequence-two-values";
    for (file, name, summary, broken, operations) in [
        (two, "own second", "the last op reads what it writes", Some(Rule::KQ01), vec![add("/ops/2/reads/-", json!("z")), readers(2, 0, json!([2]))]),
        ("sequence-branch", "own last", "an op at the end of a branch reads what it writes", Some(Rule::KQ01), vec![replace("/ops/3/reads/0", json!("z")), readers(3, 0, json!([3])), readers(0, 0, json!([1]))]),
        ("sequence-rich", "own middle", "an op in the middle reads what it writes", Some(Rule::KQ01), vec![replace("/ops/1/reads/1", json!("c")), readers(1, 0, json!([1, 2]))]),
        ("sequence-three", "own unlisted", "and does not list itself", Some(Rule::KQ01), vec![add("/ops/1/reads/-", json!("c"))]),
        (two, "later unlisted", "an op reads what a later one writes, which does not list it", Some(Rule::KQ01), vec![add("/ops/1/reads/-", json!("z"))]),
        (two, "twice in one", "an op writes one value twice", Some(Rule::KQ02), vec![replace("/ops/0/writes/1/value", json!("a")), readers(0, 1, json!([1, 2])), replace("/ops/2/reads/0", json!("a"))]),
        (two, "thrice in one", "an op writes one value three times", Some(Rule::KQ02), vec![replace("/ops/2/writes", json!([{"value": "z", "readers": [], "output": true}, {"value": "z", "readers": []}, {"value": "z", "readers": [9]}]))]),
        (two, "twice with other readers", "two ops write one value, with lists that are both wrong", Some(Rule::KQ02), vec![replace("/ops/1/writes/0/value", json!("b")), readers(1, 0, json!([0])), readers(0, 1, json!([]))]),
        ("sequence-branch", "twice with readers", "two branches write one value, and each lists what it likes", Some(Rule::KQ02), vec![replace("/ops/3/writes/0/value", json!("y")), readers(3, 0, json!([1])), readers(2, 0, json!([0, 3]))]),
        (two, "second readers missing", "the readers of a second value: one is missing", Some(Rule::KQ03), vec![readers(0, 1, json!([]))]),
        (two, "second readers other", "another one", Some(Rule::KQ03), vec![readers(0, 1, json!([1]))]),
        (two, "second readers too many", "one too many", Some(Rule::KQ03), vec![readers(0, 1, json!([1, 2]))]),
        (two, "first readers descending", "the readers of a first value, descending", Some(Rule::KQ03), vec![readers(0, 0, json!([2, 1]))]),
        (two, "first readers twice", "the last one twice", Some(Rule::KQ03), vec![readers(0, 0, json!([1, 2, 2]))]),
        (two, "first readers around", "neither ascending nor descending, and one twice", Some(Rule::KQ03), vec![readers(0, 0, json!([2, 1, 2]))]),
        ("sequence-branch", "readers descending", "a result with readers, descending", Some(Rule::KQ03), vec![add("/ops/0/writes/0/output", json!(true)), readers(0, 0, json!([3, 1]))]),
        ("sequence-branch", "readers of a result", "a result with a reader that is not listed", Some(Rule::KQ03), vec![add("/ops/1/writes/0/output", json!(true)), readers(1, 0, json!([]))]),
        ("sequence-branch", "result with readers", "a result that is also read", None, vec![add("/ops/1/writes/0/output", json!(true))]),
        (two, "operands alike", "a reader that reads a value twice is listed once", None, vec![replace("/ops/2/reads/1", json!("a")), replace("/ops/2/reads/0", json!("a")), readers(0, 1, json!([]))]),
        (two, "operands alike listed twice", "and not twice", Some(Rule::KQ03), vec![replace("/ops/2/reads/1", json!("a")), replace("/ops/2/reads/0", json!("a")), readers(0, 1, json!([])), readers(0, 0, json!([1, 2, 2]))]),
        (two, "names in another case", "values whose names differ in case are others", None, vec![replace("/ops/1/writes/0/value", json!("A"))]),
    ] {
        items.push(edit(file, &format!("values {name}"), summary, &[clause::SEL_02], broken, operations));
    }
    for (required, offered, fits) in [(12, 16, false), (3, 4, false), (48, 64, false), (8, 24, true), (1, 7, true), (7, 7, true)] {
        let name = format!("needs {required} of {offered}");
        let broken = (!fits).then_some(Rule::KQ04);
        items.push(edit("sequence-three", &name, &name, &[clause::SEL_12], broken, vec![add("/ops/1/requirements", json!({"required": required, "offered": offered}))]));
    }
    items
}

/// Kernels that just contradict themselves or each other, or just do not.
#[rustfmt::skip] // tables
pub fn kernels() -> Vec<Item> {
    let mut items = Vec::new();
    let new = |id: &str, stages: Value, members: Value| {
        let mut kernel = json!({"id": id, "stages": stages, "cost": {"fixed": "9"}});
        kernel.as_object_mut().into_iter().for_each(|kernel| kernel.extend(members.as_object().into_iter().flatten().map(|(k, v)| (k.clone(), v.clone()))));
        vec![add("/kernels/-", kernel)]
    };
    let relu = || json!([{"class": "relu", "out": true}]);
    let effects = || json!({"effects": ["random"]});
    for (file, name, summary, broken, operations) in [
        ("index-basic", "id in capitals", "ids that differ in case", None, new("RELU", relu(), effects())),
        ("index-basic", "id with a space", "or in a space at the end", None, new("relu ", relu(), effects())),
        ("index-basic", "id composed", "or in how a letter is composed", None, vec![add("/kernels/-", json!({"id": "\u{e9}", "stages": relu(), "effects": ["random"], "cost": {"fixed": "9"}})), add("/kernels/-", json!({"id": "e\u{301}", "stages": relu(), "effects": ["alias"], "cost": {"fixed": "9"}}))]),
        ("index-basic", "id of the first", "the id of the first kernel again", Some(Rule::KI01), new("linear", relu(), effects())),
        ("index-rich", "id of the second", "the id of the second kernel again", Some(Rule::KI01), new("bias", relu(), effects())),
        ("index-optional", "id of the third", "the id of the third kernel again", Some(Rule::KI01), new("scale", relu(), effects())),
        ("index-basic", "ambiguous cores", "stages of one class and different cores can both come next", Some(Rule::KI02), new("k", json!([{"class": "relu", "core": "ew", "optional": true}, {"class": "relu", "core": "norm", "out": true}]), effects())),
        ("index-basic", "ambiguous later cores", "and behind another stage", Some(Rule::KI02), new("k", json!([{"class": "bias"}, {"class": "relu", "core": "ew", "optional": true}, {"class": "bias", "optional": true}, {"class": "relu", "core": "norm", "out": true}]), effects())),
        ("index-basic", "ambiguous chains", "stages of one class and different operands can both come next", Some(Rule::KI02), new("k", json!([{"class": "linear"}, {"class": "bias", "chain": [0], "optional": true}, {"class": "bias", "chain": [1], "out": true}]), effects())),
        ("index-basic", "ambiguous beyond an optional", "with two optional stages between", Some(Rule::KI02), new("k", json!([{"class": "bias", "optional": true}, {"class": "linear", "optional": true}, {"class": "relu", "optional": true}, {"class": "bias", "out": true}]), effects())),
        ("index-basic", "again behind a required", "one class again behind a stage that is not optional", None, new("k", json!([{"class": "bias"}, {"class": "relu"}]), effects())),
        ("index-basic", "multiple above max", "no multiple of 4 up to 3", Some(Rule::KI03), new("k", relu(), json!({"effects": ["random"], "shape": {"m": {"max": 3, "multiple": 4}}}))),
        ("index-rich", "multiple far above max", "no multiple of 100 up to 99", Some(Rule::KI03), new("k", relu(), json!({"effects": ["random"], "shape": {"m": {"max": 99, "multiple": 100}}}))),
        ("index-optional", "no multiple at all", "no multiple of 2^31 - 1 below it", Some(Rule::KI03), new("k", relu(), json!({"effects": ["random"], "shape": {"m": {"max": 2_147_483_646i64, "multiple": 2_147_483_647i64}}}))),
        ("index-basic", "multiple is max", "the one multiple of 4 up to 4", None, new("k", relu(), json!({"effects": ["random"], "shape": {"m": {"max": 4, "multiple": 4}}}))),
        ("index-basic", "multiple beyond", "a multiple of 2 from 2^31 - 1 on", Some(Rule::KI03), new("k", relu(), json!({"effects": ["random"], "shape": {"m": {"min": 2_147_483_647i64, "multiple": 2}}}))),
        ("index-rich", "multiple far beyond", "a multiple of 2 * 10^9 from there on", Some(Rule::KI03), new("k", relu(), json!({"effects": ["random"], "shape": {"m": {"min": 2_000_000_001i64, "multiple": 2_000_000_000i64, "max": null}}}))),
        ("index-basic", "multiple at the end", "a multiple of 2 from 2^31 - 2 on", None, new("k", relu(), json!({"effects": ["random"], "shape": {"m": {"min": 2_147_483_646i64, "multiple": 2}}}))),
        ("index-basic", "allow nothing", "no flag is allowed", None, new("k", relu(), json!({"effects": ["random"], "epilogue": {"allow": []}}))),
        ("index-basic", "require by default", "flags are required, and all three allowed by default", None, new("k", relu(), json!({"effects": ["random"], "epilogue": {"require": ["bias", "scale", "residual"]}}))),
        ("index-basic", "require one too many", "a flag is required that is not allowed", Some(Rule::KI03), new("k", relu(), json!({"effects": ["random"], "epilogue": {"require": ["bias", "scale"], "allow": ["bias", "residual"]}}))),
        ("index-basic", "require and null", "flags are required, and `allow` is null", None, new("k", relu(), json!({"effects": ["random"], "epilogue": {"require": ["residual"], "allow": null}}))),
    ] {
        items.push(edit(file, &format!("kernels {name}"), summary, &[clause::SEL_13], broken, operations));
    }
    for file in ["index-basic", "index-rich", "index-optional"] {
        for (row, sub) in [("dtype", "in"), ("dtype", "out"), ("dtype", "acc"), ("dtype", "weight"), ("layout", "order"), ("layout", "pack"), ("layout", "trans"), ("epilogue", "activation")] {
            items.push(edit(file, &format!("nothing for {sub}"), &format!("an array without entries for `{sub}`"), &[clause::SEL_14], Some(Rule::KI03), new("k", relu(), json!({"effects": ["random"], row: {sub: []}}))));
        }
    }
    items
}

/// KW01, KW03 and KW04 beside what is not warned of.
#[rustfmt::skip] // tables
pub fn hints() -> Vec<Item> {
    let mut items = Vec::new();
    let core = |class: &str, core: &str| json!({"class": class, "core": core});
    let may = |class: &str, core: &str| json!({"class": class, "core": core, "optional": true});
    let any = |class: &str| json!({"class": class});
    let left = |class: &str| json!({"class": class, "optional": true});
    for (name, summary, stages, rules) in [
        ("optional product", "of two products one may be left out", json!([may("linear", "gemm"), core("bias", "gemm")]), vec![]),
        ("optional products", "of three two may be", json!([core("linear", "gemm"), may("scale", "attn"), may("bias", "gemm")]), vec![]),
        ("optional norm", "a norm behind a product may be left out", json!([core("linear", "gemm"), may("bias", "norm")]), vec![]),
        ("elementwise behind", "something elementwise behind a product", json!([core("linear", "gemm"), core("scale", "ew")]), vec![]),
        ("elementwise behind attention", "and behind attention", json!([core("linear", "attn"), core("scale", "ew")]), vec![]),
        ("no core behind", "something without a core behind a product", json!([core("linear", "opaque"), any("scale")]), vec![]),
        ("norm and move", "a norm, a move and a product, of which nothing does the first two", json!([core("norm", "norm"), core("scale", "move"), core("linear", "gemm")]), vec![Rule::KW03]),
        ("move and norm", "a move and a product, and a norm that may be left out", json!([may("scale", "move"), may("norm", "norm"), core("linear", "gemm")]), vec![Rule::KW03]),
        ("far apart", "two products with two stages between", json!([core("linear", "gemm"), core("scale", "ew"), may("bias", "ew"), core("relu", "norm")]), vec![Rule::KW01, Rule::KW04]),
        ("far without cores", "with a stage without a core between", json!([core("linear", "attn"), any("scale"), core("linear", "move")]), vec![Rule::KW01]),
        ("far with others", "with something elementwise between", json!([core("linear", "opaque"), core("bias", "ew"), core("norm", "opaque")]), vec![Rule::KW01]),
        ("hole far in front", "nothing does the first two of four", json!([any("scale"), any("scale"), left("bias"), any("norm")]), vec![Rule::KW03]),
        ("hole of three", "the first two of three are a word, since the third may be left out", json!([any("scale"), any("norm"), left("bias")]), vec![]),
        ("unit by leaving out", "a class whose kernel may leave out the other one", json!([left("gelu"), any("cast")]), vec![Rule::KW03, Rule::KW04]),
        ("unit of an optional", "both classes alone are words", json!([left("norm"), any("cast")]), vec![]),
        ("unit at the end", "the class behind may be left out", json!([any("cast"), left("bias")]), vec![]),
        ("unit in front", "the classes in front and behind may be", json!([left("norm"), any("cast"), left("bias")]), vec![]),
    ] {
        let rules: Vec<Rule> = rules;
        let clauses = match rules.as_slice() {
            [] => vec![*Rule::KW01.clause(), *Rule::KW03.clause(), *Rule::KW04.clause()],
            rules => rules.iter().map(|rule| *rule.clause()).collect(),
        };
        let kernel = json!({"id": "k", "stages": stages, "cost": {"fixed": "1"}});
        let item = edit("index-optional", &format!("hints {name}"), summary, &clauses, None, vec![add("/kernels/-", kernel)]);
        items.push(Item { expect: Expect::Warn(rules), ..item });
    }
    items
}
