//! Rejected and warned documents: single edits of the bases.

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::bases::base;
use crate::item::{Expect, Item, select};

/// An edit: base, name, what it does, operations, and the pointer of the finding.
type Broken = (&'static str, &'static str, &'static str, Vec<Value>, Option<&'static str>);

fn replace(path: &str, value: Value) -> Value {
    json!({"op": "replace", "path": path, "value": value})
}

fn add(path: &str, value: Value) -> Value {
    json!({"op": "add", "path": path, "value": value})
}

fn remove(path: &str) -> Value {
    json!({"op": "remove", "path": path})
}

fn rejected(rule: Rule, method: &'static str, broken: Vec<Broken>) -> Vec<Item> {
    let one = |(file, name, summary, edit, at): Broken| {
        let item = select(file, summary, &[*rule.clause()], base(file));
        let item = Item { method, ..item.edited(&format!("{rule} {name}"), summary, edit) };
        Item { expect: Expect::Reject(rule, at.map(str::to_owned)), ..item }
    };
    broken.into_iter().map(one).collect()
}

/// S03 to S05: members that are missing, of another type, or no known name.
#[rustfmt::skip] // tables
pub fn members() -> Vec<Item> {
    let mut items = rejected(Rule::S03, "validate", vec![
        ("sequence-three", "ops", "no ops", vec![remove("/ops")], Some("")),
        ("sequence-three", "reads", "an op without reads", vec![remove("/ops/1/reads")], Some("/ops/1")),
        ("sequence-three", "writes", "an op without writes", vec![remove("/ops/1/writes")], Some("/ops/1")),
        ("sequence-three", "sig", "an op without sig", vec![remove("/ops/0/sig")], Some("/ops/0")),
        ("sequence-three", "class", "an op without a class", vec![remove("/ops/0/sig/class")], Some("/ops/0/sig")),
        ("sequence-three", "value", "a write without its value", vec![remove("/ops/0/writes/0/value")], Some("/ops/0/writes/0")),
        ("sequence-three", "readers", "a write without readers", vec![remove("/ops/2/writes/0/readers")], Some("/ops/2/writes/0")),
        ("index-basic", "id", "a kernel without an id", vec![remove("/kernels/0/id")], Some("/kernels/0")),
        ("index-basic", "stages", "a kernel without stages", vec![remove("/kernels/4/stages")], Some("/kernels/4")),
        ("index-basic", "cost", "a kernel without a cost", vec![remove("/kernels/4/cost")], Some("/kernels/4")),
        ("index-basic", "stage-class", "a stage without a class", vec![remove("/kernels/4/stages/1/class")], Some("/kernels/4/stages/1")),
        ("request-basic", "sequence", "a request without a sequence", vec![remove("/sequence")], Some("")),
        ("request-rich", "gbs", "a machine without gbs", vec![remove("/options/machine/gbs")], Some("/options/machine")),
        ("review-fused", "regions", "a plan without regions", vec![remove("/plan/regions")], Some("/plan")),
        ("review-fused", "kernel", "a region without a kernel", vec![remove("/plan/regions/0/kernel")], Some("/plan/regions/0")),
    ]);
    items.extend(rejected(Rule::S04, "validate", vec![
        ("sequence-three", "row", "a row that is null", vec![add("/ops/0/shape", Value::Null)], Some("/ops/0/shape")),
        ("sequence-three", "extent", "an extent with a fraction", vec![add("/ops/0/shape", json!({"m": 1.5}))], Some("/ops/0/shape/m")),
        ("sequence-three", "extent-null", "an extent that is null", vec![add("/ops/0/shape", json!({"m": null}))], Some("/ops/0/shape/m")),
        ("sequence-three", "output", "output as a number", vec![replace("/ops/2/writes/0/output", json!(1))], Some("/ops/2/writes/0/output")),
        ("sequence-three", "reads", "an operand that is a number", vec![replace("/ops/0/reads/0", json!(7))], Some("/ops/0/reads/0")),
        ("sequence-three", "marker", "a marker that is true", vec![add("/ops/0/marker", json!(true))], Some("/ops/0/marker")),
        ("index-basic", "fixed", "a cost as a number", vec![replace("/kernels/0/cost/fixed", json!(5))], Some("/kernels/0/cost/fixed")),
        ("index-basic", "chain", "a chain that is a number", vec![replace("/kernels/4/stages/1/chain", json!(0))], Some("/kernels/4/stages/1/chain")),
        ("index-rich", "max", "a max that is a text", vec![replace("/kernels/0/shape/m/max", json!("64"))], Some("/kernels/0/shape/m/max")),
        ("index-rich", "range", "a range that is a number", vec![replace("/kernels/0/shape/m", json!(64))], Some("/kernels/0/shape/m")),
        ("request-rich", "tflops", "tflops as a number", vec![replace("/options/machine/tflops", json!(989.5))], Some("/options/machine/tflops")),
        ("request-basic", "limit", "a limit that is a text", vec![add("/options/limit", json!("8"))], Some("/options/limit")),
        ("review-members", "reason", "a reason that is a number", vec![replace("/plan/regions/0/reason", json!(0))], Some("/plan/regions/0/reason")),
    ]));
    items.extend(rejected(Rule::S05, "validate", vec![
        ("sequence-three", "core", "a core that is none", vec![replace("/ops/0/sig/core", json!("GEMM"))], Some("/ops/0/sig/core")),
        ("sequence-three", "state-core", "a core that only regions have", vec![replace("/ops/0/sig/core", json!("norm+move"))], Some("/ops/0/sig/core")),
        ("sequence-rich", "dtype", "a dtype that is none", vec![replace("/ops/0/dtype/in", json!("bf16"))], Some("/ops/0/dtype/in")),
        ("sequence-rich", "linearity", "a linearity that is none", vec![replace("/ops/0/sig/linearity", json!("affine"))], Some("/ops/0/sig/linearity")),
        ("sequence-three", "activation", "an activation that is none", vec![replace("/ops/2/epilogue/activation", json!("swish"))], Some("/ops/2/epilogue/activation")),
        ("sequence-rich", "derived", "a flag that only composition adds", vec![replace("/ops/1/effects/flags/0", json!("overwrite"))], Some("/ops/1/effects/flags/0")),
        ("sequence-three", "marker", "a marker that is none", vec![add("/ops/1/marker", json!("barrier"))], Some("/ops/1/marker")),
        ("index-rich", "effect", "an effect that is none", vec![replace("/kernels/1/effects/0", json!("io"))], Some("/kernels/1/effects/0")),
        ("index-rich", "allow", "a flag that is none", vec![replace("/kernels/3/epilogue/allow/0", json!("activation"))], Some("/kernels/3/epilogue/allow/0")),
        ("review-members", "trigger", "a trigger that is none", vec![replace("/plan/regions/0/trigger", json!("full"))], Some("/plan/regions/0/trigger")),
        ("review-members", "reason", "a reason that is none", vec![replace("/plan/regions/0/reason", json!("limit"))], Some("/plan/regions/0/reason")),
    ]));
    items.extend(rejected(Rule::S03, "select", vec![
        ("request-basic", "index", "a request to select without an index", vec![remove("/index")], Some("")),
        ("request-basic", "both", "neither a sequence nor an index", vec![remove("/index"), remove("/sequence")], Some("")),
    ]));
    let harmless = |file: &str, name: &str, summary: &str, edit: Vec<Value>| {
        let item = select(file, summary, &[clause::SEL_01], base(file));
        Item { method: "validate", expect: Expect::Warn(Vec::new()), ..item.edited(&format!("unknown {name}"), summary, edit) }
    };
    items.push(harmless("sequence-three", "op", "an op with a member that nobody knows", vec![add("/ops/0/colour", json!({"a": [1.5]}))]));
    items.push(harmless("sequence-three", "row", "a row with a sub-row that nobody knows", vec![add("/ops/0/sig/shade", json!(3))]));
    items.push(harmless("index-basic", "kernel", "a kernel with one", vec![add("/kernels/0/tuned", json!(true))]));
    items.push(harmless("index-basic", "title", "an index with a title", vec![add("/title", json!("ops"))]));
    items.push(harmless("review-fused", "region", "a region with one", vec![add("/plan/regions/0/why", json!("it fits"))]));
    items.push(harmless("sequence-three", "shape-role", "a role with any name", vec![add("/ops/0/shape", json!({"": 1, "a/b": "~", "m": 3}))]));
    items
}

/// KS.
#[rustfmt::skip] // tables
pub fn structure() -> Vec<Item> {
    let mut items = rejected(Rule::KS01, "validate", vec![
        ("sequence-rich", "extent-zero", "an extent of 0", vec![replace("/ops/0/shape/m", json!(0))], Some("/ops/0/shape/m")),
        ("sequence-rich", "extent-negative", "an extent of -1", vec![replace("/ops/1/shape/m", json!(-1))], Some("/ops/1/shape/m")),
        ("sequence-rich", "extent-large", "an extent of 2^31", vec![replace("/ops/0/shape/n", json!(2_147_483_648i64))], Some("/ops/0/shape/n")),
        ("sequence-rich", "required", "an alignment of 0", vec![replace("/ops/0/requirements/required", json!(0))], Some("/ops/0/requirements/required")),
        ("sequence-rich", "offered", "an alignment above 2^32", vec![replace("/ops/0/requirements/offered", json!(4_294_967_312i64))], Some("/ops/0/requirements/offered")),
        ("index-rich", "min", "a min of 0", vec![replace("/kernels/0/shape/m/min", json!(0))], Some("/kernels/0/shape/m/min")),
        ("index-rich", "max", "a max of 2^31", vec![replace("/kernels/0/shape/m/max", json!(2_147_483_648i64))], Some("/kernels/0/shape/m/max")),
        ("index-rich", "multiple", "a multiple of 0", vec![replace("/kernels/0/shape/k/multiple", json!(0))], Some("/kernels/0/shape/k/multiple")),
        ("index-rich", "vector", "vectors of 4097", vec![replace("/kernels/0/requirements/vector", json!(4097))], Some("/kernels/0/requirements/vector")),
        ("index-rich", "align", "an align of 0", vec![replace("/kernels/0/requirements/align", json!(0))], Some("/kernels/0/requirements/align")),
        ("index-basic", "chain-negative", "operand -1", vec![replace("/kernels/4/stages/1/chain/0", json!(-1))], Some("/kernels/4/stages/1/chain/0")),
        ("index-basic", "chain-large", "operand 256", vec![replace("/kernels/4/stages/1/chain/0", json!(256))], Some("/kernels/4/stages/1/chain/0")),
    ]);
    items.extend(rejected(Rule::KS01, "select", vec![
        ("request-basic", "limit-zero", "a limit of 0", vec![add("/options/limit", json!(0))], Some("/options/limit")),
        ("request-basic", "limit-large", "a limit of 4097", vec![add("/options/limit", json!(4097))], Some("/options/limit")),
        ("request-basic", "beam-zero", "a beam of 0", vec![add("/options/beam", json!(0))], Some("/options/beam")),
        ("request-branch", "beam-large", "a beam of 4097", vec![replace("/options/beam", json!(4097))], Some("/options/beam")),
    ]));
    let fixed = "/kernels/0/cost/fixed";
    items.extend(rejected(Rule::KS02, "validate", vec![
        ("index-basic", "exponent", "an exponent", vec![replace(fixed, json!("5e3"))], Some(fixed)),
        ("index-basic", "negative", "a sign", vec![replace(fixed, json!("-5"))], Some(fixed)),
        ("index-basic", "plus", "a plus", vec![replace(fixed, json!("+5"))], Some(fixed)),
        ("index-basic", "empty", "no digits", vec![replace(fixed, json!(""))], Some(fixed)),
        ("index-basic", "space", "a space", vec![replace(fixed, json!(" 5"))], Some(fixed)),
        ("index-basic", "zero-denominator", "a denominator of 0", vec![replace(fixed, json!("5/00"))], Some(fixed)),
        ("index-basic", "point-last", "a point without digits behind it", vec![replace(fixed, json!("5."))], Some(fixed)),
        ("index-basic", "point-first", "a point without digits before it", vec![replace(fixed, json!(".5"))], Some(fixed)),
        ("index-basic", "both", "a point and a slash", vec![replace(fixed, json!("1.5/2"))], Some(fixed)),
        ("index-basic", "digits", "digits of another script", vec![replace(fixed, json!("５"))], Some(fixed)),
        ("index-basic", "long", "41 characters", vec![replace(fixed, json!("1".repeat(41)))], Some(fixed)),
        ("index-basic", "newline", "a line feed", vec![replace(fixed, json!("5\n"))], Some(fixed)),
        ("index-rich", "times", "a factor that is no number", vec![replace("/kernels/0/cost/bytes/1/times", json!("two"))], Some("/kernels/0/cost/bytes/1/times")),
    ]));
    items.extend(rejected(Rule::KS02, "select", vec![
        ("request-rich", "gbs", "no bytes a second", vec![replace("/options/machine/gbs", json!("0.0"))], Some("/options/machine/gbs")),
        ("request-rich", "tflops", "an infinity", vec![replace("/options/machine/tflops", json!("inf"))], Some("/options/machine/tflops")),
    ]));
    items.extend(rejected(Rule::KS03, "validate", vec![
        ("sequence-rich", "flags", "a flag twice", vec![add("/ops/1/effects/flags/-", json!("cache"))], Some("/ops/1/effects/flags/1")),
        ("sequence-rich", "reads", "a storage read twice", vec![add("/ops/0/effects/reads/-", json!("k"))], Some("/ops/0/effects/reads/1")),
        ("sequence-rich", "writes", "a storage written twice", vec![add("/ops/1/effects/writes/-", json!("k"))], Some("/ops/1/effects/writes/1")),
        ("index-rich", "effects", "an effect twice", vec![add("/kernels/1/effects/-", json!("cache"))], Some("/kernels/1/effects/3")),
        ("index-rich", "dtype", "a dtype twice", vec![add("/kernels/0/dtype/in/-", json!("BF16"))], Some("/kernels/0/dtype/in/2")),
        ("index-rich", "trans", "a layout twice", vec![replace("/kernels/0/layout/trans/1", json!("nt"))], Some("/kernels/0/layout/trans/1")),
        ("index-rich", "allow", "a flag twice", vec![replace("/kernels/3/epilogue/allow/1", json!("bias"))], Some("/kernels/3/epilogue/allow/1")),
        ("index-rich", "activation", "an activation twice", vec![add("/kernels/2/epilogue/activation/-", json!("relu"))], Some("/kernels/2/epilogue/activation/1")),
        ("index-basic", "chain", "an operand twice", vec![add("/kernels/4/stages/1/chain/-", json!(0))], Some("/kernels/4/stages/1/chain/1")),
    ]));
    items.extend(rejected(Rule::KS04, "validate", vec![
        ("sequence-rich", "out", "no out", vec![remove("/ops/0/dtype/out")], Some("/ops/0/dtype")),
        ("sequence-rich", "in", "no in", vec![remove("/ops/1/dtype/in")], Some("/ops/1/dtype")),
        ("sequence-rich", "last", "no out at the last op", vec![remove("/ops/2/dtype/out")], Some("/ops/2/dtype")),
        ("sequence-three", "added", "in alone", vec![add("/ops/1/dtype", json!({"in": "F16"}))], Some("/ops/1/dtype")),
        ("sequence-three", "acc", "out and acc", vec![add("/ops/0/dtype", json!({"out": "F16", "acc": "F32"}))], Some("/ops/0/dtype")),
    ]));
    items.extend(rejected(Rule::KS05, "validate", vec![
        ("index-basic", "first", "the first kernel has none", vec![replace("/kernels/0/stages", json!([]))], Some("/kernels/0/stages")),
        ("index-basic", "last", "the last kernel has none", vec![replace("/kernels/6/stages", json!([]))], Some("/kernels/6/stages")),
        ("index-rich", "rich", "a kernel with constraints has none", vec![replace("/kernels/0/stages", json!([]))], Some("/kernels/0/stages")),
        ("index-optional", "optional", "where all others are optional", vec![replace("/kernels/4/stages", json!([]))], Some("/kernels/4/stages")),
        ("index-basic", "added", "one more kernel", vec![add("/kernels/-", json!({"id": "", "stages": [], "cost": {}}))], Some("/kernels/7/stages")),
    ]));
    items
}

/// KQ.
#[rustfmt::skip] // tables
pub fn sequences() -> Vec<Item> {
    let mut items = rejected(Rule::KQ01, "validate", vec![
        ("sequence-three", "own", "an op reads what it writes", vec![replace("/ops/0/reads/0", json!("a")), replace("/ops/0/writes/0/readers", json!([0, 1]))], Some("/ops/0/reads/0")),
        ("sequence-three", "later", "an op reads what the last one writes", vec![replace("/ops/0/reads/1", json!("y"))], Some("/ops/0/reads/1")),
        ("sequence-three", "next", "an op reads what the next one writes", vec![add("/ops/0/reads/-", json!("c"))], Some("/ops/0/reads/2")),
        ("sequence-branch", "branch", "a branch reads the other one", vec![add("/ops/2/reads/-", json!("z"))], Some("/ops/2/reads/1")),
        ("sequence-rich", "listed", "and the list of readers says so", vec![add("/ops/0/reads/-", json!("y")), replace("/ops/2/writes/0/readers", json!([0]))], Some("/ops/0/reads/2")),
    ]);
    items.extend(rejected(Rule::KQ02, "validate", vec![
        ("sequence-three", "two-ops", "the last op writes what the first wrote", vec![replace("/ops/2/writes/0/value", json!("a"))], Some("/ops/2/writes/0/value")),
        ("sequence-three", "one-op", "an op writes a value twice", vec![add("/ops/2/writes/-", json!({"value": "y", "readers": []}))], Some("/ops/2/writes/1/value")),
        ("sequence-branch", "branches", "two branches write one value", vec![replace("/ops/3/writes/0/value", json!("y"))], Some("/ops/3/writes/0/value")),
        ("sequence-three", "added", "one more write", vec![add("/ops/1/writes/-", json!({"value": "a", "readers": [1]}))], Some("/ops/1/writes/1/value")),
        ("sequence-rich", "output", "and both are results", vec![add("/ops/0/writes/-", json!({"value": "y", "readers": [], "output": true}))], Some("/ops/2/writes/0/value")),
    ]));
    items.extend(rejected(Rule::KQ03, "validate", vec![
        ("sequence-three", "missing", "a reader is missing", vec![replace("/ops/0/writes/0/readers", json!([]))], Some("/ops/0/writes/0/readers")),
        ("sequence-three", "extra", "an op that does not read it", vec![replace("/ops/0/writes/0/readers", json!([1, 2]))], Some("/ops/0/writes/0/readers")),
        ("sequence-three", "other", "another op", vec![replace("/ops/1/writes/0/readers", json!([1]))], Some("/ops/1/writes/0/readers")),
        ("sequence-branch", "order", "the readers are not ascending", vec![replace("/ops/0/writes/0/readers", json!([3, 1]))], Some("/ops/0/writes/0/readers")),
        ("sequence-branch", "twice", "a reader twice", vec![replace("/ops/0/writes/0/readers", json!([1, 1, 3]))], Some("/ops/0/writes/0/readers")),
        ("sequence-branch", "one-of-two", "one of two is missing", vec![replace("/ops/0/writes/0/readers", json!([1]))], Some("/ops/0/writes/0/readers")),
        ("sequence-three", "beyond", "an op that there is not", vec![replace("/ops/2/writes/0/readers", json!([3]))], Some("/ops/2/writes/0/readers")),
        ("sequence-three", "negative", "a negative one", vec![replace("/ops/2/writes/0/readers", json!([-1]))], Some("/ops/2/writes/0/readers")),
        ("sequence-three", "renamed", "an operand is renamed", vec![replace("/ops/1/reads/0", json!("d"))], Some("/ops/0/writes/0/readers")),
    ]));
    items.extend(rejected(Rule::KQ04, "validate", vec![
        ("sequence-rich", "less", "less is offered", vec![replace("/ops/0/requirements/offered", json!(8))], Some("/ops/0/requirements")),
        ("sequence-rich", "other", "more, and no multiple", vec![replace("/ops/0/requirements/offered", json!(24))], Some("/ops/0/requirements")),
        ("sequence-rich", "more", "more is required", vec![replace("/ops/0/requirements/required", json!(256))], Some("/ops/0/requirements")),
        ("sequence-rich", "added", "a requirement is added", vec![add("/ops/1/requirements/required", json!(128))], Some("/ops/1/requirements")),
        ("sequence-three", "one", "2 is required, 1 offered", vec![add("/ops/0/requirements", json!({"required": 2, "offered": 1}))], Some("/ops/0/requirements")),
    ]));
    items
}

/// KI.
#[rustfmt::skip] // tables
pub fn indices() -> Vec<Item> {
    let mut items = rejected(Rule::KI01, "validate", vec![
        ("index-basic", "two", "two kernels of one id", vec![replace("/kernels/1/id", json!("linear"))], Some("/kernels/1/id")),
        ("index-basic", "far", "the first and the last", vec![replace("/kernels/6/id", json!("linear"))], Some("/kernels/6/id")),
        ("index-rich", "alike", "a kernel stands there twice", vec![json!({"op": "copy", "from": "/kernels/1", "path": "/kernels/-"})], Some("/kernels/5/id")),
        ("index-optional", "fused", "the fused one is called like another", vec![replace("/kernels/4/id", json!("norm"))], Some("/kernels/4/id")),
        ("index-basic", "added", "one more", vec![add("/kernels/-", json!({"id": "bias", "stages": [{"class": "bias"}], "cost": {}}))], Some("/kernels/7/id")),
    ]);
    items.extend(rejected(Rule::KI02, "validate", vec![
        ("index-optional", "next", "an optional stage and the next one", vec![replace("/kernels/4/stages/0/class", json!("linear"))], Some("/kernels/4/stages/1")),
        ("index-optional", "both", "two optional stages of one class", vec![replace("/kernels/4/stages/3/class", json!("scale"))], Some("/kernels/4/stages/3")),
        ("index-optional", "all", "a third one", vec![add("/kernels/4/stages/-", json!({"class": "scale", "optional": true}))], Some("/kernels/4/stages/4")),
        ("index-optional", "required", "optional, and then not", vec![add("/kernels/4/stages/-", json!({"class": "bias", "out": true}))], Some("/kernels/4/stages/4")),
        ("index-basic", "made-optional", "a stage becomes optional before one of its class", vec![add("/kernels/4/stages/0", json!({"class": "linear", "optional": true}))], Some("/kernels/4/stages/1")),
    ]));
    items.extend(rejected(Rule::KI03, "validate", vec![
        ("index-rich", "range", "no extent in the range", vec![replace("/kernels/0/shape/m/min", json!(65))], Some("/kernels/0/shape/m")),
        ("index-rich", "multiple", "no multiple in the range", vec![replace("/kernels/0/shape/m/multiple", json!(65))], Some("/kernels/0/shape/m")),
        ("index-rich", "multiple-min", "no multiple from min on", vec![replace("/kernels/0/shape/m", json!({"min": 49, "max": 63, "multiple": 16}))], Some("/kernels/0/shape/m")),
        ("index-rich", "dtype", "no dtype", vec![replace("/kernels/0/dtype/in", json!([]))], Some("/kernels/0/dtype/in")),
        ("index-rich", "weight", "no dtype of weights", vec![replace("/kernels/0/dtype/weight", json!([]))], Some("/kernels/0/dtype/weight")),
        ("index-rich", "order", "no order", vec![replace("/kernels/0/layout/order", json!([]))], Some("/kernels/0/layout/order")),
        ("index-rich", "activation", "no activation", vec![replace("/kernels/2/epilogue/activation", json!([]))], Some("/kernels/2/epilogue/activation")),
        ("index-rich", "require", "a required flag that is not allowed", vec![replace("/kernels/3/epilogue/allow", json!(["scale"]))], Some("/kernels/3/epilogue/require")),
        ("index-rich", "allow-none", "none is allowed, and one required", vec![replace("/kernels/3/epilogue/allow", json!([]))], Some("/kernels/3/epilogue/require")),
        ("index-rich", "beyond", "a multiple beyond all extents", vec![replace("/kernels/0/shape/k", json!({"min": 1_500_000_000, "multiple": 1_400_000_000}))], Some("/kernels/0/shape/k")),
    ]));
    items.extend(rejected(Rule::KI03, "select", vec![
        ("request-rich", "request", "in a request", vec![replace("/index/kernels/0/dtype/in", json!([]))], Some("/index/kernels/0/dtype/in")),
    ]));
    items
}

/// KN.
#[rustfmt::skip] // tables
pub fn stuck() -> Vec<Item> {
    let cases: Vec<(&str, &str, &str, Vec<Value>, usize)> = vec![
        ("request-basic", "none", "no kernel at all", vec![replace("/index/kernels", json!([]))], 0),
        ("request-basic", "core", "the product has another core", vec![replace("/sequence/ops/0/sig/core", json!("attn"))], 0),
        ("request-basic", "last-class", "the last op is something else", vec![replace("/sequence/ops/2/sig/class", json!("gelu"))], 2),
        ("request-basic", "first-class", "the first op is something else", vec![replace("/sequence/ops/0/sig/class", json!("conv"))], 0),
        ("request-branch", "class", "a class without kernels, with a beam", vec![replace("/sequence/ops/1/sig/class", json!("tanh"))], 1),
        ("request-branch", "none", "no kernel at all, with a beam", vec![replace("/index/kernels", json!([]))], 0),
        ("request-basic", "barrier", "a barrier that no kernel may be", vec![add("/sequence/ops/1/effects", json!({"flags": ["barrier"]}))], 1),
        ("request-basic", "storage", "a storage that no kernel writes", vec![replace("/index/kernels/1/stages/0/out", json!(false)), replace("/index/kernels/4/stages/1/out", json!(false)), replace("/index/kernels/5/stages/0/class", json!("other")), add("/sequence/ops/1/effects", json!({"writes": ["k"]}))], 1),
    ];
    let mut items = Vec::new();
    for (file, name, summary, edit, op) in cases {
        let item = select(file, summary, &[*Rule::KN01.clause()], base(file)).edited(&format!("KN01 {name}"), summary, edit).stuck(op);
        if !file.contains("branch") {
            items.push(Item { clauses: vec![*Rule::KN01.clause(), clause::SEL_24], ..item.explained() });
        }
        items.push(item);
    }
    items
}

/// KP.
#[rustfmt::skip] // tables
pub fn plans() -> Vec<Item> {
    let mut items = rejected(Rule::KP01, "validate", vec![
        ("review-single", "first", "the first op is in no region", vec![remove("/plan/regions/0")], Some("/plan/regions")),
        ("review-single", "middle", "nor the second", vec![remove("/plan/regions/1")], Some("/plan/regions")),
        ("review-single", "last", "nor the last", vec![remove("/plan/regions/2")], Some("/plan/regions")),
        ("review-single", "all", "no region at all", vec![replace("/plan/regions", json!([]))], Some("/plan/regions")),
        ("review-fused", "short", "the region is shorter", vec![replace("/plan/regions/0/last", json!(1))], Some("/plan/regions")),
        ("review-branch", "later", "a region begins later", vec![replace("/plan/regions/1/anchor", json!(2))], Some("/plan/regions")),
    ]);
    items.extend(rejected(Rule::KP02, "validate", vec![
        ("review-single", "overlap", "a region reaches into the next", vec![replace("/plan/regions/0/last", json!(1))], Some("/plan/regions/1")),
        ("review-single", "twice", "a region twice", vec![json!({"op": "copy", "from": "/plan/regions/2", "path": "/plan/regions/-"})], Some("/plan/regions/3")),
        ("review-single", "order", "regions in another order", vec![json!({"op": "move", "from": "/plan/regions/2", "path": "/plan/regions/1"})], Some("/plan/regions/2")),
        ("review-fused", "beyond", "a region beyond the end", vec![replace("/plan/regions/0/last", json!(3))], Some("/plan/regions/0")),
        ("review-fused", "negative", "a region before the begin", vec![replace("/plan/regions/0/anchor", json!(-1))], Some("/plan/regions/0")),
        ("review-branch", "within", "a region within another", vec![add("/plan/regions/2", json!({"anchor": 2, "last": 2, "kernel": "relu"}))], Some("/plan/regions/2")),
        ("review-fused", "empty", "an empty region", vec![add("/plan/regions/-", json!({"anchor": 3, "last": 2, "kernel": "relu"}))], Some("/plan/regions/1")),
    ]));
    items.extend(rejected(Rule::KP03, "validate", vec![
        ("review-fused", "unknown", "a kernel that there is not", vec![replace("/plan/regions/0/kernel", json!("linear_bias_gelu"))], Some("/plan/regions/0/kernel")),
        ("review-fused", "case", "in other letters", vec![replace("/plan/regions/0/kernel", json!("Linear_bias_relu"))], Some("/plan/regions/0/kernel")),
        ("review-single", "empty", "without letters", vec![replace("/plan/regions/1/kernel", json!(""))], Some("/plan/regions/1/kernel")),
        ("review-fused", "removed", "the kernel is gone from the index", vec![remove("/index/kernels/6")], Some("/plan/regions/0/kernel")),
        ("review-branch", "renamed", "the kernel has another id", vec![replace("/index/kernels/5/id", json!("bias_relu_2"))], Some("/plan/regions/1/kernel")),
    ]));
    items.extend(rejected(Rule::KP04, "validate", vec![
        ("review-single", "other", "a kernel for another op", vec![replace("/plan/regions/1/kernel", json!("relu"))], Some("/plan/regions/1")),
        ("review-single", "longer", "a kernel that does more", vec![replace("/plan/regions/0/kernel", json!("linear_bias")), add("/index/kernels/4/stages/0/out", json!(true))], Some("/plan/regions/0")),
        ("review-fused", "shorter", "a kernel that does less", vec![replace("/plan/regions/0/kernel", json!("linear_bias"))], Some("/plan/regions/0")),
        ("review-fused", "swapped", "the operands are swapped", vec![replace("/sequence/ops/1/reads", json!(["b", "a"]))], Some("/plan/regions/0")),
        ("review-fused", "core", "the product has another core", vec![replace("/sequence/ops/0/sig/core", json!("norm"))], Some("/plan/regions/0")),
        ("review-fused", "rows", "the rows do not compose", vec![add("/sequence/ops/2/epilogue/bias", json!(true))], Some("/plan/regions/0")),
        ("review-fused", "constraint", "a constraint is not met", vec![add("/index/kernels/6/epilogue", json!({"activation": ["gelu"]}))], Some("/plan/regions/0")),
        ("review-fused", "unknown", "an extent is not known", vec![add("/index/kernels/6/shape", json!({"m": {"max": 8}}))], Some("/plan/regions/0")),
        ("review-fused", "cost", "the cost cannot be computed", vec![replace("/index/kernels/6/cost", json!({"flops": [{"dims": []}]}))], Some("/plan/regions/0")),
        ("review-branch", "effects", "an effect that the kernel may not have", vec![add("/sequence/ops/2/effects", json!({"flags": ["alias"]}))], Some("/plan/regions/1")),
    ]));
    items.extend(rejected(Rule::KP05, "validate", vec![
        ("review-fused", "sync", "a marker in the middle", vec![add("/sequence/ops/1/marker", json!("sync"))], Some("/plan/regions/0")),
        ("review-fused", "join", "a join at the last op", vec![add("/sequence/ops/2/marker", json!("join"))], Some("/plan/regions/0")),
        ("review-branch", "branch", "a marker between bias and relu", vec![add("/sequence/ops/2/marker", json!("sync"))], Some("/plan/regions/1")),
        ("review-marked", "moved", "the marker is one op later", vec![remove("/sequence/ops/1/marker"), add("/sequence/ops/2/marker", json!("sync"))], Some("/plan/regions/1")),
        ("review-members", "members", "a marker, with all members there", vec![add("/sequence/ops/1/marker", json!("join"))], Some("/plan/regions/0")),
        ("review-fused", "barrier", "a barrier that the kernel may be", vec![add("/sequence/ops/0/effects", json!({"flags": ["barrier"]})), add("/index/kernels/6/effects", json!(["barrier"]))], Some("/plan/regions/0")),
        ("review-fused", "barrier-last", "and at the end", vec![add("/sequence/ops/2/effects", json!({"flags": ["barrier"]})), add("/index/kernels/6/effects", json!(["barrier"]))], Some("/plan/regions/0")),
    ]));
    items.extend(rejected(Rule::KP06, "validate", vec![
        ("review-fused", "output", "what the product computes is a result", vec![add("/sequence/ops/0/writes/0/output", json!(true))], Some("/plan/regions/0")),
        ("review-fused", "second", "what the bias computes is one", vec![add("/sequence/ops/1/writes/0/output", json!(true))], Some("/plan/regions/0")),
        ("review-branch", "fused", "the product is fused, and read by another branch", vec![replace("/plan/regions/0", json!({"anchor": 0, "last": 2, "kernel": "linear_bias_relu"})), remove("/plan/regions/1")], Some("/plan/regions/0")),
        ("review-fused", "storage", "the bias writes a storage", vec![add("/sequence/ops/1/effects", json!({"writes": ["k"]}))], Some("/plan/regions/0")),
        ("review-fused", "not-out", "the last stage writes nothing out", vec![remove("/index/kernels/6/stages/2/out")], Some("/plan/regions/0")),
        ("review-single", "single", "a kernel of one op writes nothing out", vec![remove("/index/kernels/1/stages/0/out")], Some("/plan/regions/1")),
        ("review-fused", "more-values", "the bias computes another value, a result", vec![add("/sequence/ops/1/writes/-", json!({"value": "u", "readers": [], "output": true}))], Some("/plan/regions/0")),
    ]));
    items.extend(rejected(Rule::KP07, "validate", vec![
        ("review-fused", "one", "a limit of 1", vec![add("/options/limit", json!(1))], Some("/plan/regions/0")),
        ("review-fused", "two", "a limit of 2", vec![add("/options/limit", json!(2))], Some("/plan/regions/0")),
        ("review-branch", "second", "a limit of 1, and the second region has 2", vec![add("/options/limit", json!(1))], Some("/plan/regions/1")),
        ("review-members", "members", "a lower limit", vec![replace("/options/limit", json!(1))], Some("/plan/regions/0")),
        ("review-marked", "marked", "a limit of 1, and a marker", vec![add("/options/limit", json!(1))], Some("/plan/regions/1")),
    ]));
    items.extend(rejected(Rule::KP08, "validate", vec![
        ("review-fused", "unfused", "one op a region", vec![replace("/plan/regions", json!([{"anchor": 0, "last": 0, "kernel": "linear"}, {"anchor": 1, "last": 1, "kernel": "bias"}, {"anchor": 2, "last": 2, "kernel": "relu"}]))], Some("/plan/regions/0")),
        ("review-fused", "shorter", "a shorter first region", vec![replace("/plan/regions", json!([{"anchor": 0, "last": 1, "kernel": "linear_bias"}, {"anchor": 2, "last": 2, "kernel": "relu"}]))], Some("/plan/regions/0")),
        ("review-fused", "later", "a longer second region", vec![replace("/plan/regions", json!([{"anchor": 0, "last": 0, "kernel": "linear"}, {"anchor": 1, "last": 2, "kernel": "bias_relu"}]))], Some("/plan/regions/0")),
        ("review-single", "limit", "the limit would allow more", vec![replace("/options/limit", json!(3))], Some("/plan/regions/0")),
        ("review-single", "limit-two", "the limit would allow two", vec![replace("/options/limit", json!(2))], Some("/plan/regions/0")),
        ("review-fused", "dearer", "a kernel that is as good, and cheaper", vec![add("/index/kernels/-", json!({"id": "z", "stages": [{"class": "linear"}, {"class": "bias"}, {"class": "relu", "out": true}], "cost": {"fixed": "6"}}))], Some("/plan/regions/0")),
        ("review-fused", "tie", "a kernel of the same cost, and a smaller id", vec![add("/index/kernels/-", json!({"id": "a", "stages": [{"class": "linear"}, {"class": "bias"}, {"class": "relu", "out": true}], "cost": {"fixed": "6.5"}}))], Some("/plan/regions/0")),
        ("review-branch", "second", "the second region is cut", vec![replace("/plan/regions/1", json!({"anchor": 1, "last": 1, "kernel": "bias"})), add("/plan/regions/2", json!({"anchor": 2, "last": 2, "kernel": "relu"}))], Some("/plan/regions/1")),
        ("review-fused", "beam", "a beam finds a cheaper plan", vec![add("/options/beam", json!(2)), replace("/index/kernels/6/cost/fixed", json!("100"))], Some("/plan/regions/0")),
    ]));
    items.extend(rejected(Rule::KP09, "validate", vec![
        ("review-members", "trigger", "another trigger", vec![replace("/plan/regions/0/trigger", json!("empty"))], Some("/plan/regions/0/trigger")),
        ("review-members", "reason", "a reason where there is none", vec![replace("/plan/regions/0/reason", json!("no_viable_kernel"))], Some("/plan/regions/0/reason")),
        ("review-members", "cost", "another cost", vec![replace("/plan/regions/1/cost", json!("3"))], Some("/plan/regions/1/cost")),
        ("review-members", "cost-form", "the cost in another form", vec![replace("/plan/regions/1/cost", json!("2.0"))], Some("/plan/regions/1/cost")),
        ("review-members", "total", "another cost of the plan", vec![replace("/plan/cost", json!("9"))], Some("/plan/cost")),
        ("review-members", "word", "another word", vec![replace("/plan/regions/0/attrs/sig/word/1", json!("relu"))], Some("/plan/regions/0/attrs")),
        ("review-members", "row", "a row is left out", vec![remove("/plan/regions/0/attrs/epilogue")], Some("/plan/regions/0/attrs")),
        ("review-members", "row-added", "a row that nobody filled", vec![add("/plan/regions/0/attrs/shape", json!({}))], Some("/plan/regions/0/attrs")),
        ("review-members", "last-trigger", "the last region ended by its limit", vec![replace("/plan/regions/1/trigger", json!("limit"))], Some("/plan/regions/1/trigger")),
    ]));
    let same = |name: &str, summary: &str, edit: Vec<Value>| {
        let item = select("review-members", summary, &[clause::SEL_23], base("review-members"));
        Item { method: "validate", expect: Expect::Warn(Vec::new()), ..item.edited(&format!("fewer {name}"), summary, edit) }
    };
    items.push(same("trigger", "without a trigger", vec![remove("/plan/regions/0/trigger")]));
    items.push(same("cost", "without the cost of the plan", vec![remove("/plan/cost")]));
    items.push(same("attrs", "without a matrix", vec![remove("/plan/regions/1/attrs")]));
    items
}

/// KW.
#[rustfmt::skip] // tables
pub fn warnings() -> Vec<Item> {
    let stage = |class: &str| json!({"class": class});
    let core = |class: &str, core: &str| json!({"class": class, "core": core});
    let out = |class: &str| json!({"class": class, "out": true});
    let new = |id: &str, cost: &str, stages: Value| json!({"id": id, "stages": stages, "cost": {"fixed": cost}});
    let cases: Vec<(Rule, &'static str, &'static str, &str, Value, &str)> = vec![
        (Rule::KW01, "two-products", "two products", "index-optional", new("k", "1", json!([core("linear", "gemm"), core("linear", "gemm")])), "/kernels/5"),
        (Rule::KW01, "norm-after", "a norm after a product", "index-optional", new("k", "1", json!([core("linear", "gemm"), core("norm", "norm")])), "/kernels/5"),
        (Rule::KW01, "move-after", "a move after attention", "index-optional", new("k", "1", json!([core("linear", "attn"), core("bias", "move")])), "/kernels/5"),
        (Rule::KW01, "apart", "with an elementwise op between", "index-optional", new("k", "1", json!([core("linear", "gemm"), core("scale", "ew"), core("linear", "opaque")])), "/kernels/5"),
        (Rule::KW01, "optional-between", "with an optional stage between", "index-optional", new("k", "1", json!([core("linear", "opaque"), {"class": "scale", "optional": true}, core("norm", "norm")])), "/kernels/5"),
        (Rule::KW02, "dearer", "the same for more", "index-basic", new("k", "6", json!([{"class": "linear", "core": "gemm", "out": true}])), "/kernels/7"),
        (Rule::KW02, "tie", "the same for as much, under a later id", "index-basic", new("relu_2", "2", json!([out("relu")])), "/kernels/7"),
        (Rule::KW02, "constraint", "less for as much", "index-basic", json!({"id": "s", "stages": [out("relu")], "shape": {"m": {"max": 8}}, "dtype": {"in": ["F16"]}, "cost": {"fixed": "2"}}), "/kernels/7"),
        (Rule::KW02, "effects", "fewer effects", "index-rich", json!({"id": "s", "stages": [out("bias")], "effects": ["cache"], "cost": {"fixed": "3"}}), "/kernels/5"),
        (Rule::KW02, "required", "a stage that could be optional", "index-optional", new("k", "7", json!([{"class": "norm", "optional": true}, stage("linear"), {"class": "scale", "chain": [0]}, {"class": "bias", "chain": [0], "optional": true, "out": true}])), "/kernels/5"),
        (Rule::KW03, "short", "nothing for linear and scale", "index-basic", new("k", "1", json!([stage("linear"), stage("relu"), stage("bias")])), "/kernels"),
        (Rule::KW03, "far", "nothing for three ops", "index-basic", new("k", "1", json!([stage("linear"), stage("bias"), stage("bias"), out("relu")])), "/kernels"),
        (Rule::KW03, "optional", "nothing without the last op", "index-optional", new("k", "1", json!([stage("norm"), stage("norm"), out("bias")])), "/kernels"),
        (Rule::KW03, "rich", "beside constraints", "index-rich", new("k", "1", json!([stage("bias"), stage("bias"), out("relu")])), "/kernels"),
        (Rule::KW03, "repeated", "one class three times", "index-optional", new("k", "1", json!([stage("bias"), stage("bias"), out("bias")])), "/kernels"),
        (Rule::KW04, "class", "a new class at the end", "index-basic", new("k", "1", json!([stage("linear"), out("gelu")])), "/kernels/7/stages/1"),
        (Rule::KW04, "middle", "a new class that may be left out", "index-basic", new("k", "1", json!([stage("linear"), {"class": "gelu", "optional": true}, out("relu")]) ), "/kernels/7/stages/1"),
        (Rule::KW04, "optional-end", "a new class that may be left out at the end", "index-optional", new("k", "1", json!([stage("bias"), {"class": "gelu", "optional": true, "out": true}])), "/kernels/5/stages/1"),
        (Rule::KW04, "rich", "beside constraints", "index-rich", new("k", "1", json!([stage("relu"), out("cast")])), "/kernels/5/stages/1"),
        (Rule::KW04, "two", "two of them", "index-optional", new("k", "1", json!([stage("bias"), {"class": "gelu", "optional": true}, {"class": "cast", "optional": true, "out": true}])), "/kernels/5/stages/1"),
    ];
    let mut items = Vec::new();
    for (rule, name, summary, file, kernel, _) in cases {
        let item = select(file, summary, &[*rule.clause()], base(file));
        let item = item.edited(&format!("{rule} {name}"), summary, vec![add("/kernels/-", kernel)]);
        let mut rules = vec![rule];
        if rule == Rule::KW04 && name == "middle" {
            // The beginning `linear, gelu` is a hole too.
            rules = vec![Rule::KW03, Rule::KW04];
        }
        items.push(Item { method: "validate", expect: Expect::Warn(rules), ..item });
    }
    items
}
