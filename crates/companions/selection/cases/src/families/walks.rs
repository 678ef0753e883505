//! The walk: triggers and their precedence, checkpoints and rewinding, limits, beams, and long sequences.

use megakernel_ir::prng::SplitMix64;
use megakernel_ir::rule::{Clause, Rule, clause};
use serde_json::{Value, json};

use crate::build::{Op, chain, kernel, link, op, request, request_with, with};
use crate::item::{Item, select};

/// The triggers one by one, and two at once.
#[rustfmt::skip] // tables
pub fn triggers() -> Vec<Item> {
    let mut items = Vec::new();
    let all = json!({"effects": ["barrier", "cache"]});
    let kernels: Vec<Value> = [kernel("a", "2", "a!"), kernel("b", "2", "b!"), kernel("long", "3", "a a? b?!"), kernel("aa", "3", "a a!")]
        .into_iter()
        .map(|kernel| with(kernel, &all))
        .collect();
    let plain = |at: usize, last: bool| link(op("a"), at, last);
    // A feature of op 2 of three ops, alone and with others: barrier, marker, limit, rows that do not compose, no kernel.
    let features = ["barrier", "sync", "join", "limit", "compose", "empty"];
    let build = |chosen: &[&str]| {
        let class = if chosen.contains(&"empty") { "a" } else { "b" };
        let mut third = link(op(class), 2, true);
        let mut first = plain(0, false);
        if chosen.contains(&"barrier") {
            third = third.barrier();
        }
        for marker in ["sync", "join"] {
            if chosen.contains(&marker) {
                third = third.marker(marker);
            }
        }
        if chosen.contains(&"compose") {
            first = first.rows(&json!({"epilogue": {"bias": true}}));
            third = third.rows(&json!({"epilogue": {"bias": true}}));
        }
        let options = if chosen.contains(&"limit") { json!({"limit": 2}) } else { json!({}) };
        (vec![first, plain(1, false), third], options)
    };
    for (at, first) in features.iter().enumerate() {
        for second in features.iter().skip(at) {
            if (*first, *second) == ("sync", "join") {
                continue;
            }
            let (ops, options) = build(&[first, second]);
            let trigger = match *first {
                "sync" | "join" => "sync",
                "compose" => "compose:epilogue_repeat",
                other => other,
            };
            let last = if [first, second].contains(&&"empty") { "a" } else { "b" };
            let outline = format!("0-1 aa {trigger}; 2-2 {last} end");
            let file = if first == second { (*first).to_owned() } else { format!("{first}-{second}") };
            let summary = if first == second { format!("a region ends by {first}") } else { format!("{first} and {second} at once") };
            items.push(select(&format!("trigger-{file}"), &summary, &[clause::SEL_19], request_with(&ops, &kernels, options)).plan(&outline));
        }
    }
    let markers = |marked: &[usize], marker: &str| {
        let one = |at: usize| {
            let op = plain(at, at == 3);
            if marked.contains(&at) { op.marker(marker) } else { op }
        };
        (0..4).map(one).collect::<Vec<Op>>()
    };
    for (file, marked, outline) in [
        ("first", vec![0], "0-1 aa empty; 2-3 aa end"),
        ("second", vec![1], "0-0 a sync; 1-2 aa empty; 3-3 a end"),
        ("both", vec![1, 2], "0-0 a sync; 1-1 a sync; 2-3 aa end"),
        ("all", vec![0, 1, 2, 3], "0-0 a sync; 1-1 a sync; 2-2 a sync; 3-3 a end"),
        ("boundary", vec![2], "0-1 aa sync; 2-3 aa end"),
        ("last", vec![3], "0-1 aa empty; 2-2 a sync; 3-3 a end"),
    ] {
        for marker in ["sync", "join"] {
            let summary = format!("{marker} before op {marked:?}");
            items.push(select(&format!("marker-{marker}-{file}"), &summary, &[clause::SEL_19, clause::SEL_02], request(&markers(&marked, marker), &kernels)).plan(outline));
        }
    }
    for (file, barriers, outline) in [
        ("first", vec![0], "0-0 a barrier; 1-2 aa empty; 3-3 a end"),
        ("middle", vec![1], "0-0 a barrier; 1-1 a barrier; 2-3 aa end"),
        ("two", vec![1, 2], "0-0 a barrier; 1-1 a barrier; 2-2 a barrier; 3-3 a end"),
        ("last", vec![3], "0-1 aa empty; 2-2 a barrier; 3-3 a end"),
        ("all", vec![0, 1, 2, 3], "0-0 a barrier; 1-1 a barrier; 2-2 a barrier; 3-3 a end"),
    ] {
        let one = |at: usize| if barriers.contains(&at) { plain(at, at == 3).barrier() } else { plain(at, at == 3) };
        let ops: Vec<Op> = (0..4).map(one).collect();
        let summary = format!("barriers at {barriers:?}");
        items.push(select(&format!("barrier-{file}"), &summary, &[clause::SEL_19], request(&ops, &kernels)).plan(outline));
    }
    items.push(
        select("barrier-no-kernel", "no kernel may be a barrier", &[clause::SEL_18, *Rule::KN01.clause()], request(&[plain(0, false), plain(1, true).barrier()], &[kernel("a", "2", "a!")]))
            .stuck(1),
    );
    let many: Vec<Op> = chain(&["a"; 7]);
    let kernels = [kernel("a", "2", "a!"), kernel("aa", "3", "a a!"), kernel("aaa", "4", "a a a!"), kernel("aaaaa", "4", "a a a a a!")];
    for (limit, outline) in [
        (1, "0-0 a limit; 1-1 a limit; 2-2 a limit; 3-3 a limit; 4-4 a limit; 5-5 a limit; 6-6 a end"),
        (2, "0-1 aa limit; 2-3 aa limit; 4-5 aa limit; 6-6 a end"),
        (3, "0-2 aaa limit; 3-5 aaa limit; 6-6 a end"),
        (4, "0-2 aaa limit; 3-5 aaa end; 6-6 a end"),
        (5, "0-4 aaaaa limit; 5-6 aa end"),
        (6, "0-4 aaaaa empty; 5-6 aa end"),
        (64, "0-4 aaaaa empty; 5-6 aa end"),
        (4096, "0-4 aaaaa empty; 5-6 aa end"),
    ] {
        let summary = format!("seven ops under a limit of {limit}");
        items.push(select(&format!("limit-{limit}"), &summary, &[clause::SEL_19, clause::SEL_20], request_with(&many, &kernels, json!({"limit": limit}))).plan(outline));
    }
    items
}

/// Viable and complete: checkpoints, rewinding, and getting stuck.
#[rustfmt::skip] // tables
pub fn checkpoints() -> Vec<Item> {
    let mut items = Vec::new();
    let g = || kernel("g", "3", "gemm!");
    let gbr = || kernel("gbr", "5", "gemm bias relu!");
    let b = || kernel("b", "1", "bias!");
    let r = || kernel("r", "1", "relu!");
    let s = || kernel("s", "1", "scale!");
    let cases = [
        ("whole", "viable at gemm, complete two ops later", vec!["gemm", "bias", "relu"], vec![g(), gbr()], Ok("0-2 gbr end")),
        ("viable-only", "gemm, bias and then scale: the relu is not there", vec!["gemm", "bias", "scale"], vec![g(), gbr(), b(), s()], Ok("0-0 g empty; 1-1 b empty; 2-2 s end")),
        ("cut-short", "the sequence ends before the kernel is complete", vec!["gemm", "bias"], vec![g(), gbr(), b()], Ok("0-0 g end; 1-1 b end")),
        ("no-checkpoint", "nothing is complete on the way", vec!["gemm", "bias", "scale"], vec![gbr(), b(), s()], Err(0)),
        ("no-start", "no kernel begins with scale", vec!["gemm", "scale"], vec![g(), gbr()], Err(1)),
        ("first-op", "no kernel begins with the first op", vec!["tanh"], vec![g()], Err(0)),
        ("no-unit", "bias is fed again, and no kernel takes it", vec!["gemm", "bias"], vec![g(), gbr()], Err(1)),
        ("longest", "the longest of three", vec!["gemm", "bias", "relu"], vec![g(), kernel("gb", "4", "gemm bias!"), gbr(), b(), r()], Ok("0-2 gbr end")),
        ("longest-dearest", "the longest, though it is the dearest", vec!["gemm", "bias"], vec![g(), b(), kernel("gb", "100", "gemm bias!")], Ok("0-1 gb end")),
        ("rewind-one", "one op is fed again", vec!["gemm", "bias", "gemm"], vec![g(), gbr(), b()], Ok("0-0 g empty; 1-1 b empty; 2-2 g end")),
        ("rewind-two", "two ops are fed again", vec!["a", "b", "c", "e"], vec![kernel("a", "1", "a!"), kernel("abcd", "1", "a b c d!"), kernel("bc", "1", "b c!"), kernel("e", "1", "e!")], Ok("0-0 a empty; 1-2 bc empty; 3-3 e end")),
        ("rewind-twice", "what is fed again rewinds too", vec!["a", "b", "c", "d"], vec![kernel("a", "1", "a!"), kernel("b", "1", "b!"), kernel("c", "1", "c!"), kernel("d", "1", "d!"), kernel("abce", "1", "a b c e!"), kernel("bce", "1", "b c e!")], Ok("0-0 a empty; 1-1 b empty; 2-2 c empty; 3-3 d end")),
        ("rewind-end", "the flush at the end closes several regions", vec!["a", "b", "c"], vec![kernel("a", "1", "a!"), kernel("b", "1", "b!"), kernel("c", "1", "c!"), kernel("abcd", "1", "a b c d!")], Ok("0-0 a end; 1-1 b empty; 2-2 c end")),
        ("rewind-chosen", "fed again, it becomes part of another kernel", vec!["a", "b", "c", "d"], vec![kernel("a", "1", "a!"), kernel("abcx", "1", "a b c x!"), kernel("bcd", "2", "b c d!")], Ok("0-0 a empty; 1-3 bcd end")),
        ("comes-and-goes", "complete, not complete, complete, not complete", vec!["a", "b", "c", "d"], vec![kernel("a", "1", "a!"), kernel("abc", "1", "a b c!"), kernel("abcde", "1", "a b c d e!"), kernel("d", "1", "d!")], Ok("0-2 abc end; 3-3 d end")),
        ("greedy-stuck", "greed gets stuck where another plan exists", vec!["a", "b", "c"], vec![kernel("a", "1", "a!"), kernel("ab", "1", "a b!"), kernel("bc", "1", "b c!")], Err(2)),
        ("greedy-dear", "greed costs 16, where 15 would do", vec!["linear", "add", "norm"], vec![kernel("lin", "10", "linear!"), kernel("lin_add", "11", "linear add!"), kernel("norm", "5", "norm!"), kernel("add_norm", "5", "add norm!")], Ok("0-1 lin_add empty; 2-2 norm end")),
        ("munch-prefill", "the longest repeats work, and is taken", vec!["norm", "linear"], vec![kernel("102", "40", "norm linear!"), kernel("119", "3", "norm!"), kernel("120", "10", "linear!")], Ok("0-1 102 end")),
        ("empty-index", "no kernel at all", vec!["a"], vec![], Err(0)),
        ("empty-both", "no op and no kernel", vec![], vec![], Ok("")),
        ("empty-sequence", "no op", vec![], vec![g()], Ok("")),
        ("single", "one op", vec!["gemm"], vec![g()], Ok("0-0 g end")),
    ];
    for (file, summary, classes, kernels, result) in cases {
        let clauses: &[Clause] = if result.is_ok() { &[clause::SEL_15, clause::SEL_18, clause::SEL_20] } else { &[clause::SEL_18, clause::SEL_20, *Rule::KN01.clause()] };
        let item = select(&format!("checkpoint-{file}"), summary, clauses, request(&chain(&classes), &kernels));
        items.push(match result {
            Ok(outline) => item.plan(outline),
            Err(op) => item.stuck(op),
        });
    }
    // Every word of up to four classes against one tricky index.
    let index = [
        kernel("a", "3", "a!"),
        kernel("abc", "4", "a b c!"),
        kernel("bb", "2", "b b!"),
        kernel("b", "2", "b!"),
        kernel("c_b", "1", "c! b?!"),
        kernel("cac", "3/2", "c a c!"),
    ];
    for number in 0..40usize {
        let mut rest = number * 2 + 11;
        let mut classes = Vec::new();
        while rest > 0 {
            classes.push(["c", "a", "b"][rest % 3]);
            rest /= 3;
        }
        let file = format!("word-{}", classes.join(""));
        let summary = format!("the word {}", classes.join(" "));
        items.push(select(&file, &summary, &[clause::SEL_20, clause::SEL_26], request(&chain(&classes), &index)));
    }
    // The matrix of the plan is that of the checkpoint.
    for (file, rows) in [
        ("shape", json!({"shape": {"n": 8}})),
        ("dtype", json!({"dtype": {"in": "F16", "out": "F32"}})),
        ("flags", json!({"epilogue": {"bias": true, "activation": "relu"}})),
        ("effects", json!({"effects": {"flags": ["cache"], "reads": ["k"]}})),
        ("layout", json!({"layout": {"order": "row", "pack": "qkv", "trans": "nt"}})),
        ("requirements", json!({"requirements": {"required": 4, "offered": 16}})),
        ("core", json!({"sig": {"core": "norm", "linearity": "nonlinear"}})),
    ] {
        let effects = json!({"effects": ["cache"]});
        let kernels: Vec<Value> = [kernel("a", "1", "a!"), kernel("b", "1", "b!"), kernel("abc", "1", "a b c!"), kernel("d", "1", "d!")]
            .into_iter()
            .map(|kernel| with(kernel, &effects))
            .collect();
        let ops = [link(op("a"), 0, false), link(op("b").rows(&rows), 1, false), link(op("d"), 2, true)];
        let summary = format!("{file} of an op that is fed again does not show in the region before it");
        items.push(select(&format!("checkpoint-attrs-{file}"), &summary, &[clause::SEL_20, clause::SEL_23], request(&ops, &kernels)).plan("0-0 a empty; 1-1 b empty; 2-2 d end"));
        let one = [kernel("a", "1", "a!"), kernel("b", "1", "b!")].map(|kernel| with(kernel, &effects));
        let ops = [link(op("a"), 0, false), link(op("b").rows(&rows), 1, true)];
        let summary = format!("{file} of an op that finds no kernel with the region before it");
        items.push(select(&format!("attempt-attrs-{file}"), &summary, &[clause::SEL_19, clause::SEL_23], request(&ops, &one)).plan("0-0 a empty; 1-1 b end"));
    }
    items
}

/// The beam.
#[rustfmt::skip] // tables
pub fn beams() -> Vec<Item> {
    let mut items = Vec::new();
    // The cheaper beginning is the dearer plan: a narrow beam loses the other one.
    let lossy = vec![kernel("a", "5", "a!"), kernel("b", "9", "b!"), kernel("c", "9", "c!"), kernel("d", "9", "d!"), kernel("ab", "3", "a b!"), kernel("bcd", "1", "b c d!"), kernel("cd", "10", "c d!"), kernel("abcdx", "1", "a b c d x!")];
    let tables: Vec<(&str, Vec<&str>, Vec<Value>)> = vec![
        ("dear", vec!["linear", "add", "norm"], vec![kernel("lin", "10", "linear!"), kernel("lin_add", "11", "linear add!"), kernel("norm", "5", "norm!"), kernel("add_norm", "5", "add norm!")]),
        ("stuck", vec!["a", "b", "c"], vec![kernel("a", "1", "a!"), kernel("ab", "1", "a b!"), kernel("bc", "1", "b c!")]),
        ("ties", vec!["a", "a", "a", "a"], vec![kernel("a", "1", "a!"), kernel("aa", "2", "a a!"), kernel("aaa", "3", "a a a!")]),
        ("ties-fraction", vec!["a", "a", "a"], vec![kernel("a", "1/3", "a!"), kernel("aa", "2/3", "a a!"), kernel("aaa", "1", "a a a!")]),
        ("fewer", vec!["a", "b", "a", "b"], vec![kernel("a", "1", "a!"), kernel("b", "1", "b!"), kernel("ab", "2", "a b!"), kernel("ba", "2", "b a!"), kernel("bab", "3", "b a b!")]),
        ("late", vec!["a", "b", "c", "d", "e"], vec![kernel("a", "1", "a!"), kernel("b", "9", "b!"), kernel("c", "9", "c!"), kernel("d", "9", "d!"), kernel("e", "1", "e!"), kernel("abcd", "4", "a b c d!"), kernel("bc", "2", "b c!"), kernel("de", "2", "d e!")]),
        ("deep", vec!["a", "b", "c", "a", "b", "c", "a"], vec![kernel("a", "5", "a!"), kernel("b", "4", "b!"), kernel("c", "3", "c!"), kernel("abc", "13", "a b c!"), kernel("ca", "4", "c a!"), kernel("bca", "7", "b c a!")]),
        ("none", vec!["a", "b"], vec![kernel("a", "1", "a!"), kernel("abc", "1", "a b c!")]),
        ("never", vec!["a", "x", "b"], vec![kernel("a", "1", "a!"), kernel("b", "1", "b!")]),
        ("lossy", vec!["a", "b", "c", "d"], lossy.clone()),
        ("lossy-twice", vec!["a", "b", "c", "d", "a", "b", "c", "d"], lossy.clone()),
        ("lossy-late", vec!["d", "a", "b", "c", "d"], lossy.clone()),
        ("lossy-end", vec!["a", "b", "c", "d", "d"], lossy),
        ("open-cheap", vec!["a", "b", "c", "d"], vec![kernel("a", "1", "a!"), kernel("b", "1", "b!"), kernel("c", "1", "c!"), kernel("d", "1", "d!"), kernel("abcd", "100", "a b c d!")]),
        ("pruned", vec!["a", "b", "c", "d", "e"], vec![kernel("a", "1", "a!"), kernel("b", "1", "b!"), kernel("c", "1", "c!"), kernel("d", "1", "d!"), kernel("e", "1", "e!"), kernel("abcde", "1/2", "a b c d e!"), kernel("bcde", "1/2", "b c d e!"), kernel("cde", "9", "c d e!")]),
        // Two ways to the same anchor, and a dear region that begins there: unless they are merged, no state is left that cuts it.
        ("merge", vec!["a", "b", "c", "d"], vec![kernel("a", "1", "a!"), kernel("b", "1", "b!"), kernel("c", "1", "c!"), kernel("d", "1", "d!"), kernel("ab", "2", "a b!"), kernel("cd", "50", "c d!")]),
        ("merge-stuck", vec!["a", "b", "c", "d"], vec![kernel("a", "1", "a!"), kernel("b", "1", "b!"), kernel("c", "1", "c!"), kernel("d", "1", "d!"), kernel("ab", "2", "a b!"), kernel("cde", "1", "c d e!")]),
        ("merge-three", vec!["a", "b", "c", "d", "e"], vec![kernel("a", "1", "a!"), kernel("b", "1", "b!"), kernel("c", "1", "c!"), kernel("d", "1", "d!"), kernel("e", "1", "e!"), kernel("ab", "2", "a b!"), kernel("bc", "2", "b c!"), kernel("abc", "3", "a b c!"), kernel("de", "50", "d e!")]),
    ];
    for (file, classes, kernels) in tables {
        for beam in [1, 2, 3, 4, 64] {
            let base = request_with(&chain(&classes), &kernels, json!({"beam": beam}));
            let summary = format!("{} with a beam of {beam}", classes.join(" "));
            let item = select(&format!("beam-{file}-{beam}"), &summary, &[clause::SEL_25], base);
            items.push(match (file, beam) {
                ("never", _) => item.stuck(1),
                ("none", _) => item.stuck(1),
                ("stuck", 1) => item.stuck(2),
                ("stuck", 2..) => item.plan("0-0 a cut; 1-2 bc end"),
                ("merge" | "merge-stuck", 2..) => item.plan("0-1 ab empty; 2-2 c cut; 3-3 d end"),
                ("merge-three", 2..) => item.plan("0-2 abc empty; 3-3 d cut; 4-4 e end"),
                ("dear", 2..) => item.plan("0-0 lin cut; 1-2 add_norm end"),
                ("ties" | "ties-fraction", 4..) if file == "ties-fraction" => item.plan("0-2 aaa end"),
                _ => item,
            });
        }
    }
    let marked: Vec<Op> = (0..5).map(|at| if at == 2 { link(op("a"), at, false).marker("join") } else { link(op("a"), at, at == 4) }).collect();
    let kernels = [kernel("a", "2", "a!"), kernel("aa", "3", "a a!"), kernel("aaa", "4", "a a a!")];
    for beam in [2, 3, 4] {
        for limit in [1, 2, 3] {
            let base = request_with(&marked, &kernels, json!({"beam": beam, "limit": limit}));
            let summary = format!("a marker, and a limit of {limit}, with a beam of {beam}");
            items.push(select(&format!("beam-marker-{limit}-{beam}"), &summary, &[clause::SEL_25, clause::SEL_19], base));
        }
    }
    items
}

/// Long sequences, and regions as long as the limit.
#[rustfmt::skip] // tables
pub fn sizes() -> Vec<Item> {
    let mut items = Vec::new();
    let layer = ["norm", "linear", "bias", "gelu", "linear", "add"];
    let kernels = [
        kernel("norm", "2", "norm!"),
        kernel("linear", "5", "linear!"),
        kernel("bias", "1", "bias!"),
        kernel("gelu", "1", "gelu!"),
        kernel("add", "1", "add!"),
        kernel("norm_linear", "6", "norm linear/0!"),
        kernel("linear_bias_gelu", "6", "linear bias/0 gelu/0!"),
        kernel("linear_add", "11/2", "linear add/0!"),
    ];
    for ops in [50, 300, 1000, 2000] {
        let classes: Vec<&str> = layer.iter().copied().cycle().take(ops).collect();
        let summary = format!("{ops} ops in a row");
        items.push(select(&format!("size-{ops}"), &summary, &[clause::SEL_20, clause::SEL_23], request(&chain(&classes), &kernels)));
    }
    for (ops, limit) in [(64, 64), (65, 64), (256, 128), (600, 300)] {

        // One op of each class that is not optional, so that the index is not ambiguous.
        let words: Vec<String> = (0..ops.min(limit)).map(|at| format!("c{at}!")).collect();

        let classes: Vec<String> = (0..ops).map(|at| format!("c{}", at % limit)).collect();
        let classes: Vec<&str> = classes.iter().map(String::as_str).collect();
        let base = request_with(&chain(&classes), &[kernel("all", "1", &words.join(" ")), kernel("c0", "1", "c0!")], json!({"limit": limit}));
        let summary = format!("a region of {} ops of {ops}, and a limit of {limit}", ops.min(limit));
        items.push(select(&format!("size-region-{ops}-{limit}"), &summary, &[clause::SEL_20], base));
    }
    let many: Vec<Value> = (0..400).map(|at| kernel(&format!("k{at}"), &format!("{}/{}", 1 + at * 7 % 31, 1 + at % 13), &format!("{}!", layer[at % 6]))).collect();
    let classes: Vec<&str> = layer.iter().copied().cycle().take(36).collect();
    items.push(select("size-kernels", "400 kernels, most of them alike", &[clause::SEL_18], request(&chain(&classes), &many)));
    items
}

/// Random sequences and indices.
#[rustfmt::skip] // tables
pub fn randoms() -> Vec<Item> {
    let mut prng = SplitMix64::for_family("selection/random", 0);
    let mut items = Vec::new();
    let classes = ["a", "b", "c"];
    for number in 0..110usize {
        let count = prng.between(3, 9);
        let mut ops = Vec::new();
        for at in 0..count {
            let class = classes[prng.index(3)];
            let mut reads = vec![format!("v{at}")];
            match prng.below(8) {
                0 if at > 1 => reads.push(format!("v{}", at - 1)),
                1 if at > 2 => reads = vec![format!("v{}", at - 2), format!("v{at}")],
                2 => reads = vec![format!("in{at}")],
                _ => {}
            }
            let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
            let mut one = op(class).reads(&reads).writes(&format!("v{}", at + 1));
            if at + 1 == count || prng.below(12) == 0 {
                one = one.output();
            }
            let row = match prng.below(16) {
                0 => json!({"shape": {"m": 4}}),
                1 => json!({"shape": {"m": "?"}}),
                2 => json!({"shape": {"m": "s", "n": 8}}),
                3 => json!({"shape": {"n": "s"}}),
                4 => json!({"epilogue": {"bias": true}}),
                5 => json!({"epilogue": {"activation": "relu"}}),
                6 => json!({"sig": {"core": "gemm", "linearity": "linear"}}),
                7 => json!({"sig": {"core": "norm", "linearity": "nonlinear"}}),
                8 => json!({"effects": {"writes": [(["k", "v"][prng.index(2)])]}}),
                9 => json!({"effects": {"reads": [(["k", "v"][prng.index(2)])]}}),
                10 => json!({"requirements": {"offered": ([8, 16, 24][prng.index(3)])}}),
                11 => json!({"dtype": {"in": "F16", "out": "F16", "acc": "F32"}}),
                12 => json!({"effects": {"flags": ["cache"]}}),
                _ => json!({}),
            };
            one = one.rows(&row);
            match prng.below(20) {
                0 => one = one.marker("sync"),
                1 => one = one.barrier(),
                _ => {}
            }
            ops.push(one);
        }
        let effects = json!({"effects": ["barrier", "cache", "overwrite", "read_after_write"]});
        let mut kernels: Vec<Value> = classes.iter().map(|class| with(kernel(class, ["2", "3", "5/2"][prng.index(3)], &format!("{class}!")), &effects)).collect();
        for extra in 0..prng.between(2, 6) {
            let length = prng.between(2, 4);
            let mut stages: Vec<String> = Vec::new();
            for at in 0..length {
                let chain = if at > 0 && prng.below(3) == 0 { "/0" } else { "" };
                let out = if at + 1 == length || prng.below(2) == 0 { "!" } else { "" };
                stages.push(format!("{}{chain}{out}", classes[prng.index(3)]));
            }
            let mut one = kernel(&format!("k{extra}"), ["3", "7/2", "4", "9/2"][prng.index(4)], &stages.join(" "));
            if prng.below(3) > 0 {
                one = with(one, &effects);
            }
            if prng.below(4) == 0 {
                one = with(one, &json!({"shape": {"m": {"max": 4}}}));
            }
            kernels.push(one);
        }
        let options = json!({"limit": ([2, 3, 64][prng.index(3)]), "beam": ([1, 1, 1, 2][prng.index(4)])});
        let base = request_with(&ops, &kernels, options);
        let summary = format!("{count} random ops, {} kernels", kernels.len());
        items.push(select(&format!("random-{number}"), &summary, &[clause::SEL_20], base));
    }
    items
}
