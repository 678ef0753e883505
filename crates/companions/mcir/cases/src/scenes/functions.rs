//! Single functions: one node between loads and a store, each dtype, and numbers that are special.

use std::collections::BTreeMap;

use megakernel_ir::DType;
use megakernel_ir::prng::SplitMix64;
use megakernel_numerics::{decode, encode};
use serde_json::{Value, json};

use super::{Scene, count, integers, random};
use crate::build::{Draft, Kernel, Tile};
use crate::definition::{dtype, shape};
use crate::plant::list;

/// Zeros, ends of the ranges of all dtypes, infinities, a NaN, and some in between.
const SPECIAL: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    3.25,
    -7.0,
    1.0009765625,
    0.999,
    65504.0,
    65519.0,
    -65520.0,
    6.1e-5,
    5.96e-8,
    -3.0e-8,
    2.9e-8,
    1.2e-38,
    1.4e-45,
    3.4e38,
    -3.4e38,
    88.5,
    -88.5,
    104.0,
    -104.0,
    11.0,
    -11.0,
    1e-4,
    -20.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn special(draws: &mut SplitMix64, count: usize) -> Vec<f64> {
    let mut numbers = random(draws, count);
    for (number, special) in numbers.iter_mut().zip(SPECIAL) {
        *number = *special;
    }
    numbers
}

/// Special numbers in another order, so that each meets several.
fn mixed(draws: &mut SplitMix64, count: usize) -> Vec<f64> {
    let mut numbers = random(draws, count);
    for number in &mut numbers {
        if draws.below(2) == 0 {
            *number = draws.pick(SPECIAL).copied().unwrap_or(0.0);
        }
    }
    numbers
}

pub(super) type Draw = fn(&mut SplitMix64, usize) -> Vec<f64>;

/// A scene of a document that has no file.
pub(super) fn scene(name: &str, summary: &str, clauses: &[&'static str], draft: Draft, draw: Draw) -> Scene {
    let document = draft.value();
    let mut draws = SplitMix64::for_family(&format!("mcir/functions/{name}"), 0);
    let mut inputs = BTreeMap::new();
    for name in list(&document["inputs"]).iter().filter_map(Value::as_str) {
        let value = &document["values"][name];
        let cast = |number: f64| decode(dtype(value), encode(dtype(value), number));
        let numbers = draw(&mut draws, count(&shape(value)));
        inputs.insert(name.to_owned(), numbers.into_iter().map(cast).collect());
    }
    Scene {
        name: name.to_owned(),
        summary: summary.to_owned(),
        document,
        base: None,
        clauses: clauses.to_vec(),
        inputs,
        known: BTreeMap::new(),
        is_exact: true,
    }
}

/// A function of tiles that lie at one place of tensors: each with its shape and dtype, the result last. What each tile has
/// along the first axis is 4, with a tail.
pub(super) fn function(
    name: &str,
    function: &str,
    more: Value,
    tensors: &[(&[i64], &str)],
    draw: Draw,
) -> Scene {
    let mut draft = Draft::default();
    let mut kernel = Kernel::new("map", &[("i", tensors[0].0[0], 4)]);
    let names: Vec<String> = (0..tensors.len() - 1).map(|number| format!("x{number}")).collect();
    let at = |rank: usize, moves: bool| {
        let first = if moves { json!("i") } else { json!(0) };
        let mut at = vec![json!(0); rank];
        at[0] = first;
        json!(at)
    };
    let is_columns = more["along"] == "columns";
    for (place, ((extents, dtype), name)) in tensors.iter().zip(&names).enumerate() {
        let tensor = name.to_uppercase();
        draft.input(&tensor, extents, dtype);
        let mut sizes = extents.to_vec();
        let moves = !(is_columns && place == 1);
        if moves {
            sizes[0] = 4;
        }
        draft.tiles(&[Tile(name, &sizes, dtype, "shared", "block")]);
        kernel.load(&format!("load-{name}"), &tensor, name, at(extents.len(), moves));
    }
    let Some(&(extents, dtype)) = tensors.last() else { unreachable!("tensors end with a result") };
    draft.output("Y", extents, dtype);
    let mut sizes = extents.to_vec();
    sizes[0] = 4;
    draft.tiles(&[Tile("y", &sizes, dtype, "register", "node")]);
    kernel.each();
    let ins: Vec<&str> = names.iter().map(String::as_str).collect();
    if function.starts_with("reduce") {
        let axis = more["axis"].as_i64().unwrap_or(0);
        kernel.reduce("node", function.trim_start_matches("reduce-"), axis, "x0", "y");
    } else {
        kernel.compute("node", function, &ins, "y", more);
    }
    kernel.store("store", "y", "Y", at(extents.len(), true));
    draft.push(kernel);
    let dtypes: Vec<&str> = tensors.iter().map(|tensor| tensor.1).collect();
    let summary = format!("`{function}`, from {} to {dtype}", dtypes[..dtypes.len() - 1].join(" and "));
    scene(name, &summary, &["MCI-06", "MCI-12"], draft, draw)
}

fn none() -> Value {
    json!({})
}

fn unary(all: &mut Vec<Scene>) {
    let n = 37;
    for (from, to) in
        [("F32", "F32"), ("F32", "F16"), ("F32", "BF16"), ("F16", "F32"), ("F16", "BF16"), ("BF16", "F16")]
    {
        let mut copy =
            function(&format!("copy-{from}-{to}"), "copy", none(), &[(&[n], from), (&[n], to)], special);
        let cast = |number: &f64| {
            let dtype = DType::from_name(to).unwrap_or(DType::F32);
            Some(decode(dtype, encode(dtype, *number)))
        };
        let known = copy.inputs.get("X0").into_iter().flatten().map(cast).collect();
        copy.known.insert("Y".to_owned(), known);
        all.push(copy);
    }
    for name in ["neg", "exp", "rsqrt", "silu", "gelu"] {
        for (from, to) in [("F32", "F32"), ("F16", "F32"), ("F32", "F16"), ("BF16", "BF16"), ("BF16", "F32")]
        {
            let tensors: [(&[i64], &str); 2] = [(&[n], from), (&[n], to)];
            all.push(function(&format!("{name}-{from}-{to}"), name, none(), &tensors, special));
        }
    }
    for (name, by) in [
        ("eighth", [1, 8]),
        ("third", [1, 3]),
        ("thrice", [3, 1]),
        ("two-thirds", [2, 3]),
        ("minus-seven-tenths", [-7, 10]),
        ("minus-half-of-five", [-5, 2]),
        ("nothing", [0, 7]),
    ] {
        for dtype in ["F32", "F16"] {
            let tensors: [(&[i64], &str); 2] = [(&[n], dtype), (&[n], dtype)];
            let name = format!("scale-{name}-{dtype}");
            all.push(function(&name, "scale", json!({"by": by}), &tensors, special));
        }
    }
}

fn binary(all: &mut Vec<Scene>) {
    for name in ["add", "sub", "mul", "div", "max"] {
        for dtype in ["F32", "F16", "BF16"] {
            let tensors: [(&[i64], &str); 3] = [(&[45], dtype), (&[45], dtype), (&[45], dtype)];
            all.push(function(&format!("{name}-{dtype}"), name, none(), &tensors, mixed));
        }
        let rows: [(&[i64], &str); 3] = [(&[6, 5], "F32"), (&[6], "F16"), (&[6, 5], "F32")];
        all.push(function(&format!("{name}-rows"), name, json!({"along": "rows"}), &rows, random));
        let columns: [(&[i64], &str); 3] = [(&[6, 5], "F16"), (&[5], "F32"), (&[6, 5], "F16")];
        all.push(function(&format!("{name}-columns"), name, json!({"along": "columns"}), &columns, random));
    }
}

fn others(all: &mut Vec<Scene>) {
    for (kind, draw) in [("integers", integers as Draw), ("special", mixed), ("random", random)] {
        for fold in ["sum", "max"] {
            for (shape, left, axis) in
                [(&[6, 5][..], &[6][..], 1), (&[6, 3, 2], &[6, 2], 1), (&[6, 2, 4], &[6, 2], 2)]
            {
                let name = format!("reduce-{fold}-{axis}-of-{}-{kind}", shape.len());
                let tensors: [(&[i64], &str); 2] = [(shape, "F16"), (left, "F32")];
                all.push(function(&name, &format!("reduce-{fold}"), json!({"axis": axis}), &tensors, draw));
            }
        }
    }
    for (name, window) in [("mask", json!(null)), ("mask-window", json!(3)), ("mask-window-of-one", json!(1))]
    {
        let more = json!({"rows": ["i", 1], "columns": 2, "window": window});
        let tensors: [(&[i64], &str); 2] = [(&[9, 8], "F16"), (&[9, 8], "BF16")];
        all.push(function(name, "mask", more, &tensors, mixed));
    }
    for (dtypes, name) in [
        (["F16", "F16", "F32"], "F16-F32"),
        (["BF16", "BF16", "BF16"], "BF16"),
        (["F32", "F16", "F16"], "F32-F16"),
    ] {
        all.push(matmul(name, dtypes, random));
        all.push(matmul(&format!("{name}-special"), dtypes, mixed));
    }
}

/// Blocks of rows of a b, the columns of a are 7.
pub(super) fn matmul(name: &str, [a, b, y]: [&str; 3], draw: Draw) -> Scene {
    let mut draft = Draft::default();
    draft.input("A", &[6, 7], a);
    draft.input("B", &[7, 5], b);
    draft.output("Y", &[6, 5], y);
    draft.tiles(&[
        Tile("a", &[4, 7], a, "shared", "block"),
        Tile("b", &[7, 5], b, "shared", "block"),
        Tile("y", &[4, 5], y, "register", "block"),
    ]);
    let mut kernel = Kernel::new("product", &[("i", 6, 4)]);
    kernel.load("la", "A", "a", json!(["i", 0]));
    kernel.load("lb", "B", "b", json!([0, 0]));
    kernel.each();
    kernel.compute("mm", "matmul_nn", &["a", "b"], "y", none());
    kernel.store("store", "y", "Y", json!(["i", 0]));
    draft.push(kernel);
    scene(&format!("matmul-nn-{name}"), "a product of matrices", &["MCI-06", "MCI-12"], draft, draw)
}

/// A state that goes on over three tiles of rows, in its dtype.
pub(super) fn update(name: &str, function: &str, dtype: &str, init: Value, draw: Draw) -> Scene {
    let mut draft = Draft::default();
    draft.input("X", &[9, 5], "F32");
    draft.input("R", &[9, 4], "F32");
    draft.output("Y", &[4, 5], dtype);
    draft.tiles(&[
        Tile("x", &[1, 5], "F32", "shared", "iteration"),
        Tile("e", &[4, 5], "F32", "register", "iteration"),
        Tile("r", &[4], "F32", "shared", "iteration"),
        Tile("o", &[4, 1], "F32", "register", "iteration"),
        Tile("ro", &[1, 4], "F32", "shared", "iteration"),
        Tile("s", &[4, 5], dtype, "register", "block"),
    ]);
    let mut kernel = Kernel::new("update", &[]);
    kernel.stream("t", 1, None, json!([9]));
    kernel.state("s", init);
    kernel.each();
    kernel.load("lx", "X", "x", json!(["t", 0]));
    kernel.load("lr", "R", "r", json!(["t", 0]));
    kernel.load("lo", "R", "ro", json!(["t", 0]));
    kernel.compute("turn", "transpose", &["ro"], "o", none());
    kernel.compute("outer", "matmul_nn", &["o", "x"], "e", none());
    if function == "scale_add" {
        kernel.update("keep", function, &["s", "r", "e"], &["s"]);
    } else {
        kernel.compute("meet", "mul", &["e", "r"], "f", json!({"along": "rows"}));
        draft.tiles(&[Tile("f", &[4, 5], "F32", "register", "iteration")]);
        kernel.update("keep", function, &["s", "f"], &["s"]);
    }
    kernel.end();
    kernel.store("store", "s", "Y", json!([0, 0]));
    draft.push(kernel);
    let summary = format!("a state in {dtype} that goes on by `{function}`");
    scene(name, &summary, &["MCI-06", "MCI-08", "MCI-12"], draft, draw)
}

/// The four results of `online_softmax` over the rows of an input, all stored: with the dtypes of scores, weights, factors and largest
/// scores, the columns of the input, and what the sum of weights begins with.
pub(super) fn online_softmax([x, p, r, m]: [&str; 4], columns: i64, begin: Value) -> Draft {
    let mut draft = Draft::default();
    draft.input("X", &[6, columns], x);
    draft.output("P", &[6, columns], p);
    draft.output("R", &[3, 6], r);
    draft.output("M", &[6], m);
    draft.output("L", &[6], "F32");
    draft.tiles(&[
        Tile("x", &[4, 4], x, "shared", "iteration"),
        Tile("p", &[4, 4], p, "register", "node"),
        Tile("r", &[4], r, "register", "node"),
        Tile("m", &[4], m, "register", "block"),
        Tile("l", &[4], "F32", "register", "block"),
    ]);
    let mut kernel = Kernel::new("softmax", &[("i", 6, 4)]);
    kernel.stream("j", 1, None, json!([3]));
    kernel.state("m", json!("-inf"));
    kernel.state("l", begin);
    kernel.each();
    kernel.load("lx", "X", "x", json!(["i", [[4, "j"]]]));
    kernel.update("us", "online_softmax", &["x", "m", "l"], &["m", "l", "p", "r"]);
    kernel.store("sp", "p", "P", json!(["i", [[4, "j"]]]));
    kernel.store("sr", "r", "R", json!(["j", "i"]));
    kernel.end();
    kernel.store("sm", "m", "M", json!(["i"]));
    kernel.store("sl", "l", "L", json!(["i"]));
    draft.push(kernel);
    draft
}

/// Weights in a dtype of their own.
fn softmax(name: &str, scores: &str, weights: &str, draw: Draw) -> Scene {
    let draft = online_softmax([scores, weights, "F32", "F32"], 11, json!(0));
    let summary =
        format!("scores in {scores} and weights in {weights}, of which the sums are those in binary32");
    scene(&format!("softmax-{name}"), &summary, &["MCI-06", "MCI-08", "MCI-12"], draft, draw)
}

fn scores(draws: &mut SplitMix64, count: usize) -> Vec<f64> {
    random(draws, count).into_iter().map(|number| 8.0 * number).collect()
}

/// Rows that begin with a score of -∞ in each place of a tile or two, and one that has no other.
fn masked_rows(draws: &mut SplitMix64, count: usize) -> Vec<f64> {
    let mut numbers = scores(draws, count);
    for (place, number) in numbers.iter_mut().enumerate() {
        if place % 11 < [0, 4, 8, 11, 1, 10][place / 11 % 6] {
            *number = f64::NEG_INFINITY;
        }
    }
    numbers
}

/// A stream that has no iteration in the first block and one more in each later one, or all in the first and one fewer in each later one.
pub(super) fn growing(init: Value, name: &str, dtype: &str, shrinks: bool) -> Scene {
    let mut draft = Draft::default();
    draft.input("X", &[8], "F32");
    draft.output("Y", &[8], dtype);
    draft
        .tiles(&[Tile("x", &[1], "F32", "shared", "iteration"), Tile("s", &[1], dtype, "register", "block")]);
    let mut kernel = Kernel::new("growing", &[("i", 8, 1)]);
    let (from, to) = if shrinks { (Some(json!([0, "i"])), json!([8])) } else { (None, json!(["i"])) };
    kernel.stream("j", 1, from, to);
    kernel.state("s", init);
    kernel.each();
    kernel.load("load", "X", "x", json!(["j"]));
    kernel.update("keep", "add", &["s", "x"], &["s"]);
    kernel.end();
    kernel.store("store", "s", "Y", json!(["i"]));
    draft.push(kernel);
    let summary = if shrinks {
        "a stream that begins later in each block"
    } else {
        "a stream without iterations in the first block, and one more in each later one"
    };
    scene(name, summary, &["MCI-07", "MCI-08", "MCI-12"], draft, integers)
}

/// All of them.
pub fn all() -> Vec<Scene> {
    let mut all = Vec::new();
    unary(&mut all);
    binary(&mut all);
    others(&mut all);
    for dtype in ["F32", "F16", "BF16"] {
        all.push(update(&format!("state-add-{dtype}"), "add", dtype, json!(0), random));
        all.push(update(&format!("state-scale-add-{dtype}"), "scale_add", dtype, json!(1), random));
        all.push(update(&format!("state-max-{dtype}"), "max", dtype, json!("-inf"), random));
    }
    all.push(update("state-add-integers", "add", "F32", json!(5), integers));
    all.push(update("state-max-special", "max", "F16", json!("-inf"), mixed));
    all.push(update("state-max-from-0", "max", "F32", json!(0), random));
    for (name, scores_in, weights) in [
        ("F32", "F32", "F32"),
        ("F16-weights", "F32", "F16"),
        ("BF16-weights", "F32", "BF16"),
        ("F16", "F16", "F16"),
    ] {
        all.push(softmax(name, scores_in, weights, scores));
        all.push(softmax(&format!("{name}-masked"), scores_in, weights, masked_rows));
    }
    all.push(softmax("special", "F32", "F32", mixed));
    for (name, init, dtype) in [
        ("", json!(0), "F32"),
        ("-F16", json!(2049), "F16"),
        ("-BF16", json!(-257), "BF16"),
        ("-least", json!("-inf"), "F32"),
        ("-beyond", json!(70_000), "F16"),
        ("-large", json!(16_777_217), "F32"),
        ("-three", json!(3), "F32"),
    ] {
        all.push(growing(init.clone(), &format!("growing{name}"), dtype, false));
        all.push(growing(init, &format!("shrinking{name}"), dtype, true));
    }
    all
}
