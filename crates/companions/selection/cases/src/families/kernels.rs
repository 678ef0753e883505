//! Constraints, stages and costs of kernels.

use megakernel_ir::rule::clause;
use serde_json::{Value, json};

use crate::build::{Op, chain, kernel, link, op, request, request_with, with};
use crate::item::{Item, select};

/// Whether a kernel with a constraint takes ops of the class a, where a dearer one takes them all.
enum Takes {
    /// It does.
    Yes,
    /// It is viable and not complete.
    NotYet,
    /// It is not viable.
    No,
}

/// Constraints, met and unmet. The ops are one of class a, and one of class b that the kernel `more` takes as well.
#[rustfmt::skip] // tables
pub fn constraints() -> Vec<Item> {
    use Takes::{No, NotYet, Yes};
    let m = |value: Value| json!({"shape": {"m": value}});
    let ask_m = |range: Value| json!({"shape": {"m": range}});
    let dtype = |into: &str, out: &str| json!({"dtype": {"in": into, "out": out}});
    let none = json!({});
    let offered = |number: u64, row: Value| {
        let mut row = row;
        if let Some(members) = row.as_object_mut() {
            members.insert("requirements".to_owned(), json!({"offered": number}));
        }
        row
    };
    let cases: Vec<(&str, &str, Value, Value, Takes)> = vec![
        ("max-met", "the largest extent that it takes", m(json!(8)), ask_m(json!({"max": 8})), Yes),
        ("max-unmet", "one more than that", m(json!(9)), ask_m(json!({"max": 8})), No),
        ("min-met", "the smallest extent that it takes", m(json!(4)), ask_m(json!({"min": 4})), Yes),
        ("min-unmet", "one less than that", m(json!(3)), ask_m(json!({"min": 4})), No),
        ("multiple-met", "a multiple", m(json!(48)), ask_m(json!({"multiple": 16})), Yes),
        ("multiple-unmet", "no multiple", m(json!(40)), ask_m(json!({"multiple": 16})), No),
        ("range-met", "all three at once", m(json!(32)), ask_m(json!({"min": 16, "max": 32, "multiple": 16})), Yes),
        ("range-unmet", "within the range and no multiple", m(json!(24)), ask_m(json!({"min": 16, "max": 32, "multiple": 16})), No),
        ("max-null", "no limit", m(json!(2_147_483_647)), ask_m(json!({"max": null})), Yes),
        ("any-extent", "any extent, as long as it is known", m(json!(7)), ask_m(json!({})), Yes),
        ("unknown", "an unknown extent meets nothing", m(json!("?")), ask_m(json!({"max": 8})), NotYet),
        ("symbol", "nor does a symbol", m(json!("s")), ask_m(json!({"max": 8})), NotYet),
        ("symbol-any", "even where any extent would do", m(json!("s")), ask_m(json!({})), NotYet),
        ("role-absent", "nor a role that nobody has", json!({"shape": {"n": 4}}), ask_m(json!({})), NotYet),
        ("shape-absent", "nor an op without extents", none.clone(), ask_m(json!({"max": 8})), NotYet),
        ("in-met", "the dtype that comes in", dtype("F16", "F32"), json!({"dtype": {"in": ["BF16", "F16"]}}), Yes),
        ("in-unmet", "another one", dtype("F32", "F32"), json!({"dtype": {"in": ["BF16", "F16"]}}), No),
        ("in-absent", "none", none.clone(), json!({"dtype": {"in": ["F16"]}}), NotYet),
        ("out-met", "the dtype that goes out", dtype("F32", "F16"), json!({"dtype": {"out": ["F16"]}}), Yes),
        ("out-unmet", "another one, which later ops could change", dtype("F32", "F32"), json!({"dtype": {"out": ["F16"]}}), NotYet),
        ("out-absent", "none", none.clone(), json!({"dtype": {"out": ["F16"]}}), NotYet),
        ("weight-met", "the dtype of weights", json!({"dtype": {"weight": "I4"}}), json!({"dtype": {"weight": ["I4", "I8"]}}), Yes),
        ("weight-unmet", "another one", json!({"dtype": {"weight": "F16"}}), json!({"dtype": {"weight": ["I4", "I8"]}}), No),
        ("weight-absent", "none", none.clone(), json!({"dtype": {"weight": ["I4"]}}), NotYet),
        ("acc-met", "the accumulator", json!({"dtype": {"acc": "F32"}}), json!({"dtype": {"acc": ["F32"]}}), Yes),
        ("acc-below", "a narrower one, which later ops could widen", json!({"dtype": {"acc": "F16"}}), json!({"dtype": {"acc": ["F32"]}}), NotYet),
        ("acc-above", "a wider one", json!({"dtype": {"acc": "F32"}}), json!({"dtype": {"acc": ["F16", "BF16"]}}), No),
        ("acc-beside", "f8 is not below BF16", json!({"dtype": {"acc": "F8E4M3"}}), json!({"dtype": {"acc": ["BF16"]}}), No),
        ("acc-integers", "I4 is below I32", json!({"dtype": {"acc": "I4"}}), json!({"dtype": {"acc": ["I32"]}}), NotYet),
        ("acc-absent", "none", none.clone(), json!({"dtype": {"acc": ["F32"]}}), NotYet),
        ("order-met", "the order", json!({"layout": {"order": "row"}}), json!({"layout": {"order": ["row", "col"]}}), Yes),
        ("order-unmet", "another one", json!({"layout": {"order": "strided:8"}}), json!({"layout": {"order": ["row", "col"]}}), No),
        ("order-absent", "none: the op takes any", none.clone(), json!({"layout": {"order": ["row"]}}), Yes),
        ("order-any", "the same, said aloud", json!({"layout": {"order": "any"}}), json!({"layout": {"order": ["row"]}}), Yes),
        ("pack-met", "how tensors are packed", json!({"layout": {"pack": "gate-up"}}), json!({"layout": {"pack": ["gate-up"]}}), Yes),
        ("pack-unmet", "packed otherwise", json!({"layout": {"pack": "up-gate"}}), json!({"layout": {"pack": ["gate-up"]}}), No),
        ("pack-absent", "not known", none.clone(), json!({"layout": {"pack": ["gate-up"]}}), NotYet),
        ("trans-met", "how operands are transposed", json!({"layout": {"trans": "nt"}}), json!({"layout": {"trans": ["nt", "nn"]}}), Yes),
        ("trans-unmet", "otherwise", json!({"layout": {"trans": "tt"}}), json!({"layout": {"trans": ["nt", "nn"]}}), No),
        ("trans-absent", "not known", none.clone(), json!({"layout": {"trans": ["nt"]}}), NotYet),
        ("allow-met", "a flag that is allowed", json!({"epilogue": {"bias": true}}), json!({"epilogue": {"allow": ["bias"]}}), Yes),
        ("allow-unmet", "one that is not", json!({"epilogue": {"scale": true}}), json!({"epilogue": {"allow": ["bias"]}}), No),
        ("allow-none", "none is allowed, and none is there", json!({"epilogue": {"bias": false}}), json!({"epilogue": {"allow": []}}), Yes),
        ("allow-empty", "none is allowed, and one is there", json!({"epilogue": {"residual": true}}), json!({"epilogue": {"allow": []}}), No),
        ("require-met", "a flag that is required", json!({"epilogue": {"bias": true}}), json!({"epilogue": {"require": ["bias"]}}), Yes),
        ("require-unmet", "is missing", none.clone(), json!({"epilogue": {"require": ["bias"]}}), NotYet),
        ("require-two", "one of two is missing", json!({"epilogue": {"bias": true}}), json!({"epilogue": {"require": ["bias", "scale"]}}), NotYet),
        ("activation-met", "an activation", json!({"epilogue": {"activation": "gelu"}}), json!({"epilogue": {"activation": ["gelu", "silu"]}}), Yes),
        ("activation-unmet", "another one", json!({"epilogue": {"activation": "relu"}}), json!({"epilogue": {"activation": ["gelu", "silu"]}}), No),
        ("activation-absent", "none, where one is asked for", none.clone(), json!({"epilogue": {"activation": ["gelu"]}}), NotYet),
        ("activation-said", "none, said aloud, where one is asked for", json!({"epilogue": {"activation": "none"}}), json!({"epilogue": {"activation": ["relu"]}}), NotYet),
        ("activation-none", "none, where that is allowed", none.clone(), json!({"epilogue": {"activation": ["gelu", "none"]}}), Yes),
        ("effects-met", "an effect that it may have", json!({"effects": {"flags": ["cache"]}}), json!({"effects": ["cache", "alias"]}), Yes),
        ("effects-unmet", "one that it may not", json!({"effects": {"flags": ["cache", "random"]}}), json!({"effects": ["cache", "alias"]}), No),
        ("effects-none", "an effect, and none declared", json!({"effects": {"flags": ["alias"]}}), none.clone(), No),
        ("effects-read", "reading a storage is no flag", json!({"effects": {"reads": ["k"]}}), none.clone(), Yes),
        ("align-met", "an alignment", offered(32, none.clone()), json!({"requirements": {"align": 16}}), Yes),
        ("align-unmet", "less than that", offered(8, none.clone()), json!({"requirements": {"align": 16}}), No),
        ("align-other", "more, and no multiple", offered(24, none.clone()), json!({"requirements": {"align": 16}}), No),
        ("align-absent", "not known", none.clone(), json!({"requirements": {"align": 16}}), NotYet),
        ("align-one", "not known, and 1 is enough", none.clone(), json!({"requirements": {"align": 1}}), Yes),
        ("vector-met", "8 elements of 16 bits are 16 bytes", offered(16, dtype("F16", "F16")), json!({"requirements": {"vector": 8}}), Yes),
        ("vector-unmet", "8 elements of 32 bits are not", offered(16, dtype("F32", "F32")), json!({"requirements": {"vector": 8}}), No),
        ("vector-half", "2 elements of 4 bits are a byte", offered(1, dtype("I4", "I8")), json!({"requirements": {"vector": 2}}), Yes),
        ("vector-four", "4 elements of 4 bits are two", offered(1, dtype("I4", "I8")), json!({"requirements": {"vector": 4}}), No),
        ("vector-dtype", "the dtype is not known", offered(64, none.clone()), json!({"requirements": {"vector": 8}}), NotYet),
        ("vector-offered", "the alignment is not known", dtype("F16", "F16"), json!({"requirements": {"vector": 8}}), NotYet),
        ("vector-byte", "one element of a byte needs no alignment", dtype("I8", "I8"), json!({"requirements": {"vector": 1}}), Yes),
        ("vector-align", "vectors fit, the alignment does not", offered(16, dtype("F16", "F16")), json!({"requirements": {"align": 32, "vector": 8}}), No),
    ];
    let mut items = Vec::new();
    for (file, summary, rows, asked, takes) in cases {
        // With one op, complete or not is all that shows.
        let all = json!({"effects": ["cache", "alias", "random"]});
        let fallback = [with(kernel("wide_a", "9", "a!"), &all), with(kernel("wide_b", "9", "b!"), &all)];
        let mut kernels = fallback.to_vec();
        kernels.push(with(kernel("narrow", "1", "a!"), &asked));
        kernels.push(with(kernel("narrow_ab", "3", "a b!"), &asked));
        let first = link(op("a").rows(&rows), 0, true);
        let clause = if matches!(takes, NotYet) { [clause::SEL_14, clause::SEL_15] } else { [clause::SEL_14, clause::SEL_14] };
        let outline = if matches!(takes, Yes) { "0-0 narrow end" } else { "0-0 wide_a end" };
        items.push(select(&format!("constraint-{file}"), summary, &clause, request(&[first], &kernels)).plan(outline));
        // With a second op of an empty matrix, viable or not shows in the trigger.
        let ops = [link(op("a").rows(&rows), 0, false), link(op("b"), 1, true)];
        let outline = match takes {
            Yes => "0-1 narrow_ab end".to_owned(),
            NotYet => "0-0 wide_a end; 1-1 wide_b end".to_owned(),
            No => "0-0 wide_a empty; 1-1 wide_b end".to_owned(),
        };
        let summary = format!("{summary}; with another op behind it");
        items.push(select(&format!("constraint-{file}-more"), &summary, &clause, request(&ops, &kernels)).plan(&outline));
    }
    items
}

/// What is asked of the end of a region does not keep it from growing.
#[rustfmt::skip] // tables
pub fn later() -> Vec<Item> {
    let mut items = Vec::new();
    let chain = |into: &str, out: &str| json!({"dtype": {"in": into, "out": out}});
    let acc = |dtype: &str| json!({"dtype": {"acc": dtype}});
    for (file, summary, rows, asked) in [
        ("out-narrow", "a cast at the end", [chain("F32", "F32"), chain("F32", "F16")], json!({"dtype": {"out": ["F16"]}})),
        ("out-wide", "the other way", [chain("F16", "F16"), chain("F16", "F32")], json!({"dtype": {"out": ["F32"]}})),
        ("out-int", "to integers", [chain("F32", "F32"), chain("F32", "I8")], json!({"dtype": {"out": ["I8", "I4"]}})),
        ("acc-wide", "sums that become wider", [acc("F16"), acc("F32")], json!({"dtype": {"acc": ["F32"]}})),
        ("acc-join", "sums that become wider than both", [acc("F16"), acc("BF16")], json!({"dtype": {"acc": ["F32"]}})),
        ("require", "a flag that comes later", [json!({}), json!({"epilogue": {"bias": true}})], json!({"epilogue": {"require": ["bias"]}})),
        ("activation", "an activation that comes later", [json!({}), json!({"epilogue": {"activation": "gelu"}})], json!({"epilogue": {"activation": ["gelu"]}})),
        ("extent", "an extent that is known later", [json!({}), json!({"shape": {"m": 4}})], json!({"shape": {"m": {"max": 8}}})),
        ("symbol", "a symbol that is known later", [json!({"shape": {"m": "s"}}), json!({"shape": {"m": 4}})], json!({"shape": {"m": {"max": 8}}})),
        ("trans", "a layout that comes later", [json!({}), json!({"layout": {"trans": "nt"}})], json!({"layout": {"trans": ["nt"]}})),
        ("align", "an alignment that comes later", [json!({}), json!({"requirements": {"offered": 16}})], json!({"requirements": {"align": 16}})),
    ] {
        let [first, second] = &rows;
        let ops = [link(op("a").rows(first), 0, false), link(op("b").rows(second), 1, true)];
        let kernels = [kernel("a", "1", "a!"), kernel("b", "1", "b!"), with(kernel("ab", "3", "a b!"), &asked)];
        items.push(select(&format!("later-{file}"), summary, &[clause::SEL_14, clause::SEL_15], request(&ops, &kernels)).plan("0-1 ab end"));
    }
    items
}

/// Walks: optional stages, cores and chains.
#[rustfmt::skip] // tables
pub fn stages() -> Vec<Item> {
    let mut items = Vec::new();
    let optional = [kernel("opt", "5", "a? b c? d!? e?"), kernel("b", "9", "b!"), kernel("a", "9", "a!"), kernel("c", "9", "c!"), kernel("d", "9", "d!"), kernel("e", "9", "e!")];
    for (classes, outline) in [
        (vec!["a", "b", "c", "d", "e"], "0-3 opt end; 4-4 e end"),
        (vec!["a", "b", "c", "d"], "0-3 opt end"),
        (vec!["b", "d"], "0-1 opt end"),
        (vec!["a", "b", "d"], "0-2 opt end"),
        (vec!["b", "c", "d"], "0-2 opt end"),
        (vec!["b", "c"], "0-0 b end; 1-1 c end"),
        (vec!["a", "c"], "0-0 a empty; 1-1 c end"),
        (vec!["b", "b"], "0-0 b empty; 1-1 b end"),
        (vec!["d", "e"], "0-0 d empty; 1-1 e end"),
        (vec!["a", "b", "d", "c"], "0-2 opt empty; 3-3 c end"),
        (vec!["a", "b", "a", "b", "d"], "0-0 a empty; 1-1 b empty; 2-4 opt end"),
    ] {
        let ops = chain(&classes);
        let file = format!("optional-{}", classes.join(""));
        let summary = format!("optional stages: {}", classes.join(", "));
        items.push(select(&file, &summary, &[clause::SEL_13, clause::SEL_20], request(&ops, &optional)).plan(outline));
    }
    for (file, summary, cores, outline) in [
        ("core-met", "a stage with a core, and an op that has it", ["gemm", "ew"], "0-1 two end"),
        ("core-unmet", "an op of another core", ["norm", "ew"], "0-0 a empty; 1-1 b end"),
        ("core-absent", "an op without a core", ["", "ew"], "0-0 a empty; 1-1 b end"),
        ("core-second", "the second op has another core", ["gemm", ""], "0-0 a empty; 1-1 b end"),
    ] {
        let kernels = [kernel("two", "3", "a:gemm b:ew!"), kernel("a", "2", "a!"), kernel("b", "2", "b!"), kernel("ac", "2", "a c!")];
        let [first, second] = cores.map(|core| if core.is_empty() { json!({}) } else { json!({"sig": {"core": core}}) });
        let ops = [link(op("a").rows(&first), 0, false), link(op("b").rows(&second), 1, true)];
        items.push(select(&format!("stage-{file}"), summary, &[clause::SEL_13], request(&ops, &kernels)).plan(outline));
    }
    let add = |reads: &[&str]| vec![op("linear").reads(&["x", "w"]).writes("y"), op("add").reads(reads).writes("z").output()];
    let kernels = |stage: &str| {
        [kernel("fused", "4", &format!("linear {stage}")), kernel("linear", "3", "linear!"), kernel("add", "2", "add!")]
    };
    for (file, summary, reads, stage, fits) in [
        ("first", "operand 0 is chained", vec!["y", "r"], "add/0!", true),
        ("swapped", "the operands are swapped", vec!["r", "y"], "add/0!", false),
        ("second", "operand 1 is chained", vec!["r", "y"], "add/1!", true),
        ("both", "both operands are, one is asked for", vec!["y", "y"], "add/0!", false),
        ("both-asked", "both are, and both are asked for", vec!["y", "y"], "add/01!", true),
        ("both-second", "both operands are, the second is asked for", vec!["y", "y"], "add/1!", false),
        ("two-of-three", "two of three are, one is asked for", vec!["y", "s", "y"], "add/0!", false),
        ("both-one", "one is, and both are asked for", vec!["y", "r"], "add/01!", false),
        ("any", "any will do", vec!["r", "y"], "add!", true),
        ("none", "none is allowed, and one is", vec!["y", "r"], "add/!", false),
        ("none-input", "none is allowed, and only an input is shared", vec!["x", "r"], "add/!", true),
        ("input", "an input of the region is not chained", vec!["x", "r"], "add/0!", false),
        ("beyond", "an operand that the op does not have", vec!["y"], "add/1!", false),
        ("third", "the third of three operands", vec!["r", "s", "y"], "add/2!", true),
    ] {
        let mut ops = add(&reads);
        let mut fused = kernels(stage).to_vec();
        if !reads.contains(&"y") {
            ops = vec![op("linear").reads(&["x", "w"]).writes("y").output(), op("add").reads(&reads).writes("z").output()];
            fused = fused.into_iter().map(|kernel| if kernel["id"] == "fused" { crate::build::kernel("fused", "4", &format!("linear! {stage}")) } else { kernel }).collect();
        }
        let outline = if fits { "0-1 fused end" } else { "0-0 linear empty; 1-1 add end" };
        items.push(select(&format!("chain-operand-{file}"), summary, &[clause::SEL_13], request(&ops, &fused)).plan(outline));
    }
    let mut many: Vec<String> = (0..300).map(|n| format!("w{n}")).collect();
    if let Some(operand) = many.get_mut(200) {
        *operand = "y".to_owned();
    }
    let reads: Vec<&str> = many.iter().map(String::as_str).collect();
    for (file, position, outline) in [("met", 200, "0-1 fused end"), ("unmet", 255, "0-0 linear empty; 1-1 add end")] {
        let mut fused = kernel("fused", "4", "linear add!");
        if let Some(stage) = fused.pointer_mut("/stages/1").and_then(Value::as_object_mut) {
            stage.insert("chain".to_owned(), json!([position]));
        }
        let kernels = [fused, kernel("linear", "3", "linear!"), kernel("add", "2", "add!")];
        let summary = format!("operand {position} of 300 is asked for, operand 200 is chained");
        items.push(select(&format!("chain-operand-many-{file}"), &summary, &[clause::SEL_13], request(&add(&reads), &kernels)).plan(outline));
    }
    items
}

/// What is lost unless a kernel writes it out.
#[rustfmt::skip] // tables
pub fn escapes() -> Vec<Item> {
    let mut items = Vec::new();
    let index = |fused: &str| vec![kernel("fused", "4", fused), kernel("a", "3", "a!"), kernel("b", "2", "b!"), kernel("c", "2", "c!")];
    let a = || op("a").reads(&["x"]).writes("y");
    let b = || op("b").reads(&["y"]).writes("z").output();
    let stored = || op("a").reads(&["x"]).writes("y").rows(&json!({"effects": {"writes": ["k"]}}));
    let cases: Vec<(&str, &str, Vec<Op>, &str, &str)> = vec![
        ("none", "nobody else reads it", vec![a(), b()], "a b!", "0-1 fused end"),
        ("output", "it is a result too", vec![a().output(), b()], "a b!", "0-0 a end; 1-1 b end"),
        ("output-out", "it is a result too, and written out", vec![a().output(), b()], "a! b!", "0-1 fused end"),
        ("reader", "a later op reads it", vec![a(), b(), op("c").reads(&["y"]).writes("t").output()], "a b!", "0-0 a empty; 1-1 b empty; 2-2 c end"),
        ("reader-out", "a later op reads it, and it is written out", vec![a(), b(), op("c").reads(&["y"]).writes("t").output()], "a! b!", "0-1 fused empty; 2-2 c end"),
        ("reader-inside", "the later op is in the kernel", vec![a(), b(), op("c").reads(&["y"]).writes("t").output()], "a b! c!", "0-2 fused end"),
        ("last-lost", "the last op's value is not written out", vec![a(), b()], "a b", "0-0 a end; 1-1 b end"),
        ("last-unread", "and nobody wants it", vec![a(), op("b").reads(&["y"]).writes("z")], "a b", "0-1 fused end"),
        ("unread", "a value that nobody reads is not lost", vec![op("a").reads(&["x"]).writes("y").writes("t"), b()], "a b!", "0-1 fused end"),
        ("second-value", "the second value of an op is read later", vec![op("a").reads(&["x"]).writes("y").writes("t"), b(), op("c").reads(&["t"]).writes("u").output()], "a b!", "0-0 a empty; 1-1 b compose:not_connected; 2-2 c end"),
        ("stored", "a storage is written", vec![stored(), b()], "a b!", "0-0 a end; 1-1 b end"),
        ("stored-out", "a storage is written, and the stage writes out", vec![stored(), b()], "a! b!", "0-1 fused end"),
        ("stored-read", "a storage that is read is not lost", vec![a().rows(&json!({"effects": {"reads": ["k"]}})), b()], "a b!", "0-1 fused end"),
        ("readers-two", "read inside and beyond", vec![a(), b(), op("b").reads(&["y"]).writes("t").output()], "a b!", "0-0 a empty; 1-1 b empty; 2-2 b end"),
        ("far-reader", "the reader is far", vec![a(), b(), op("c").reads(&["z"]).writes("p"), op("c").reads(&["p"]).writes("q"), op("c").reads(&["y", "q"]).writes("t").output()], "a b!", "0-0 a empty; 1-1 b empty; 2-2 c empty; 3-3 c empty; 4-4 c end"),
        ("optional-out", "the stage that writes out is left out", vec![op("a").reads(&["x"]).writes("y"), op("c").reads(&["y"]).writes("z").output()], "a b!? c", "0-0 a end; 1-1 c end"),
    ];
    for (file, summary, ops, fused, outline) in cases {
        items.push(select(&format!("escape-{file}"), summary, &[clause::SEL_15, clause::SEL_21], request(&ops, &index(fused))).plan(outline));
    }
    // Several linears read one norm.
    let separate = |n: usize| {
        let mut ops = vec![op("norm").reads(&["x"]).writes("n")];
        for at in 0..n {
            ops.push(op("linear").reads(&["n", &format!("w{at}")]).writes(&format!("y{at}")).output());
        }
        ops
    };
    for n in 1..=4 {
        let kernels = [kernel("norm", "2", "norm!"), kernel("linear", "3", "linear!"), kernel("norm_linear", "4", "norm linear/0!")];
        let outline = match n {
            1 => "0-1 norm_linear end".to_owned(),
            n => {
                let mut regions = vec!["0-0 norm empty".to_owned()];
                regions.extend((1..=n).map(|at| format!("{at}-{at} linear {}", if at == n { "end" } else { "empty" })));
                regions.join("; ")
            }
        };
        let summary = format!("{n} products read one norm, and the fused kernel does not write it out");
        items.push(select(&format!("escape-norm-{n}"), &summary, &[clause::SEL_15, clause::SEL_21], request(&separate(n), &kernels)).plan(&outline));
        let kernels = [kernel("norm", "2", "norm!"), kernel("linear", "3", "linear!"), kernel("norm_linear", "4", "norm! linear/0!")];
        let outline = if n == 1 {
            "0-1 norm_linear end".to_owned()
        } else {
            let mut regions = vec!["0-1 norm_linear empty".to_owned()];
            regions.extend((2..=n).map(|at| format!("{at}-{at} linear {}", if at == n { "end" } else { "empty" })));
            regions.join("; ")
        };
        let summary = format!("{n} products read one norm, and the fused kernel writes it out");
        items.push(select(&format!("escape-norm-{n}-out"), &summary, &[clause::SEL_15], request(&separate(n), &kernels)).plan(&outline));
    }
    items
}

/// Costs and ties.
#[rustfmt::skip] // tables
pub fn costs() -> Vec<Item> {
    let mut items = Vec::new();
    // A kernel that could do more is no better.
    for (file, longer) in [("one", "a! b?"), ("two", "z? a! b? c?"), ("front", "y? z? a!")] {
        let kernels = [kernel("long", "2", longer), kernel("short", "1", "a!")];
        let summary = format!("the cheaper kernel beside one with the stages {longer}");
        items.push(select(&format!("cost-stages-{file}"), &summary, &[clause::SEL_18], request(&chain(&["a"]), &kernels)).plan("0-0 short end"));
    }
    let one = |kernels: &[Value]| request(&chain(&["a"]), kernels);
    for (file, summary, kernels, wins) in [
        ("cheaper", "the cheaper one", vec![("x", "2"), ("y", "1")], "y"),
        ("tie", "of equal costs the first id", vec![("y", "1"), ("x", "1")], "x"),
        ("tie-fraction", "1/2 is 0.5", vec![("y", "1/2"), ("x", "0.5")], "x"),
        ("tie-bytes", "ids are compared byte by byte: 10 before 9", vec![("9", "1"), ("10", "1")], "10"),
        ("tie-case", "capitals come first", vec![("a", "1"), ("B", "1")], "B"),
        ("tie-prefix", "a beginning comes first", vec![("ab", "1"), ("a", "1")], "a"),
        ("tie-length", "longer, and first", vec![("b", "1"), ("aaa", "1")], "aaa"),
        ("tie-longer", "two letters before one", vec![("c", "2"), ("bz", "2")], "bz"),
        ("tie-utf8", "bytes, not letters", vec![("é", "1"), ("z", "1")], "z"),
        ("tie-wide", "code points beyond 16 bits come last", vec![("\u{1f600}", "1"), ("\u{ffee}", "1")], "\u{ffee}"),
        ("thirds", "1/3 is less than 0.3334", vec![("x", "0.3334"), ("y", "1/3")], "y"),
        ("close", "a difference beyond binary64", vec![("x", "9007199254740993"), ("y", "9007199254740992")], "y"),
        ("close-fraction", "a small difference beside a large number", vec![("x", "100000000000000000000.0001"), ("y", "100000000000000000000")], "y"),
        ("decimals", "0.1 and 1/10", vec![("y", "0.1"), ("x", "1/10")], "x"),
        ("decimals-sum", "0.30000000000000004 is more than 3/10", vec![("x", "0.30000000000000004"), ("y", "3/10")], "y"),
        ("zero", "nothing costs least", vec![("x", "0.0001"), ("y", "0/7")], "y"),
        ("zeros", "leading zeros mean nothing", vec![("x", "010"), ("y", "9")], "y"),
        ("large", "40 digits", vec![("x", "9999999999999999999999999999999999999999"), ("y", "9999999999999999999999999999999999999998")], "y"),
        ("large-fraction", "fractions of 19 digits", vec![("x", "1000000000000000001/1000000000000000000"), ("y", "1000000000000000000/999999999999999999")], "x"),
    ] {
        let kernels: Vec<Value> = kernels.into_iter().map(|(id, cost)| kernel(id, cost, "a!")).collect();
        items.push(select(&format!("cost-{file}"), summary, &[clause::SEL_16, clause::SEL_18], one(&kernels)).plan(&format!("0-0 {wins} end")));
    }
    let term = |times: &str, dims: &[&str]| json!({"times": times, "dims": dims});
    let priced = |id: &str, fixed: &str, bytes: &[Value], flops: &[Value]| {
        with(kernel(id, fixed, "a!"), &json!({"cost": {"fixed": fixed, "bytes": bytes, "flops": flops}}))
    };
    let shaped = |row: Value| [link(op("a").member("shape", row), 0, true)];
    let machine = |gbs: &str, tflops: &str| json!({"machine": {"gbs": gbs, "tflops": tflops}});
    let formulas = [
        ("bytes", "bytes take longer than operations", json!({"m": 4, "k": 1024}), vec![priced("f", "0", &[term("2", &["m", "k"])], &[term("2", &["m", "k"])]), kernel("t", "2446", "a!")], machine("3350.0", "989.5"), "f"),
        ("bytes-dearer", "and that makes it the dearer one", json!({"m": 4, "k": 1024}), vec![priced("f", "0", &[term("2", &["m", "k"])], &[]), kernel("t", "2445", "a!")], machine("3350.0", "989.5"), "t"),
        ("flops", "operations take longer than bytes", json!({"m": 512, "n": 512, "k": 512}), vec![priced("f", "0", &[term("1", &["m", "k"])], &[term("2", &["m", "n", "k"])]), kernel("t", "1000000000", "a!")], machine("209.5", "1/2"), "f"),
        ("not-the-sum", "the longer of the two counts, not their sum", json!({"m": 10}), vec![priced("f", "0", &[term("1", &["m"])], &[term("10", &["m"])]), kernel("t", "15", "a!")], machine("1000", "10"), "f"),
        ("formula-tie", "a formula and a number that are equal", json!({"m": 10}), vec![priced("f", "0", &[term("1", &["m"])], &[]), kernel("e", "10", "a!")], machine("1000", "1"), "e"),
        ("decimal-machine", "209.5 is read as text", json!({"m": 419}), vec![priced("f", "0", &[term("1", &["m"])], &[]), kernel("e", "2000", "a!")], machine("209.5", "1"), "e"),
        ("fixed-part", "the fixed part is added", json!({"m": 10}), vec![priced("f", "1/3", &[term("1", &["m"])], &[]), kernel("t", "10.3334", "a!")], machine("1000", "1"), "f"),
        ("terms", "terms are added", json!({"m": 3, "n": 5}), vec![priced("f", "0", &[term("1", &["m"]), term("1", &["n"]), term("1/2", &[])], &[]), kernel("t", "9", "a!")], machine("1000", "1"), "f"),
        ("square", "a role twice in a term", json!({"m": 7}), vec![priced("f", "0", &[term("1", &["m", "m"])], &[]), kernel("t", "48", "a!")], machine("1000", "1"), "t"),
        ("unknown", "a role that is not known: no cost", json!({"m": "?"}), vec![priced("f", "0", &[term("1", &["m"])], &[]), kernel("t", "1000", "a!")], machine("1000", "1"), "t"),
        ("symbol", "a symbol: no cost", json!({"m": "s"}), vec![priced("f", "0", &[term("1", &["m"])], &[]), kernel("t", "1000", "a!")], machine("1000", "1"), "t"),
        ("absent", "a role that nobody has: no cost", json!({"n": 4}), vec![priced("f", "0", &[], &[term("1", &["m"])]), kernel("t", "1000", "a!")], machine("1000", "1"), "t"),
        ("no-machine", "no machine: no cost", json!({"m": 4}), vec![priced("f", "0", &[term("1", &["m"])], &[]), kernel("t", "1000", "a!")], json!({}), "t"),
        ("null-machine", "no machine, said aloud", json!({"m": 4}), vec![priced("f", "0", &[term("1", &["m"])], &[]), kernel("t", "1000", "a!")], json!({"machine": null}), "t"),
        ("constant-term", "a term without roles needs a machine too", json!({"m": 4}), vec![priced("f", "0", &[term("1", &[])], &[]), kernel("t", "1000", "a!")], json!({}), "t"),
        ("huge", "products beyond 128 bits", json!({"m": 2_147_483_647, "n": 2_147_483_647}), vec![priced("f", "0", &[term("1", &["m", "n", "m", "n", "m"])], &[]), priced("e", "1", &[term("1", &["m", "n", "m", "n", "m"])], &[])], machine("0.001", "1"), "f"),
        ("machine-unused", "a machine, and numbers only", json!({"m": 4}), vec![kernel("x", "2", "a!"), kernel("t", "1", "a!")], machine("1", "1"), "t"),
    ];
    for (file, summary, shape, kernels, options, wins) in formulas {
        let base = request_with(&shaped(shape), &kernels, options);
        items.push(select(&format!("cost-{file}"), summary, &[clause::SEL_16], base).plan(&format!("0-0 {wins} end")));
    }
    for (file, costs) in [("thirds", ["1/3", "1/3", "1/3"]), ("mixed", ["1/2", "1/3", "1/7"]), ("decimal", ["0.1", "0.2", "0.30"]), ("large", ["9999999999999999999.5", "1/3", "1/9999999999999999999"])] {
        let kernels: Vec<Value> = ["a", "b", "c"].into_iter().zip(costs).map(|(class, cost)| kernel(class, cost, &format!("{class}!"))).collect();
        let summary = format!("the cost of a plan of {}", costs.join(", "));
        items.push(select(&format!("cost-plan-{file}"), &summary, &[clause::SEL_23], request(&chain(&["a", "b", "c"]), &kernels)));
    }
    items
}
