//! Numbers of which a reading in a hurry makes others: what is infinite, low or masked, and states with dtypes of their own.

use megakernel_ir::prng::SplitMix64;
use serde_json::{Value, json};

use super::functions::{Draw, function, growing, matmul, online_softmax, scene, update};
use super::{Scene, count, integers, random};
use crate::build::{Draft, Kernel, Tile};
use crate::definition::shape;

/// The scene with other inputs, which say what comes out.
fn with(
    mut scene: Scene,
    inputs: &[(&str, &dyn Fn(usize) -> f64)],
    known: &dyn Fn(usize) -> Option<f64>,
) -> Scene {
    for (name, of) in inputs {
        let numbers = (0..count(&shape(&scene.document["values"][*name]))).map(of).collect();
        scene.inputs.insert((*name).to_owned(), numbers);
    }
    let known = (0..count(&shape(&scene.document["values"]["Y"]))).map(known).collect();
    scene.known.insert("Y".to_owned(), known);
    scene
}

/// Exponentials that are normal numbers of binary32, and barely so.
fn low() -> Scene {
    let tensors: [(&[i64], &str); 2] = [(&[37], "F32"), (&[37], "F32")];
    let mut made = function("exp-low", "exp", json!({}), &tensors, random);
    let numbers = (0..37).map(|place| -80.0 - f64::from(place) / 8.0 * 1.5).collect();
    made.inputs.insert("X0".to_owned(), numbers);
    made
}

/// Versions that begin to land in another order than that of their numbers.
fn later_first() -> Scene {
    let mut draft = Draft::default();
    draft.input("X", &[17], "F32");
    draft.output("Y", &[4], "F32");
    draft
        .tiles(&[Tile("x", &[4], "F32", "shared", "iteration"), Tile("s", &[4], "F32", "register", "block")]);
    draft.buffers("x", 3);
    let mut kernel = Kernel::new("sum", &[]);
    kernel.stream("j", 4, None, json!([16]));
    kernel.state("s", json!(0));
    kernel.prefetch("second", "X", "x", json!(["j"]), 1);
    kernel.prefetch("first", "X", "x", json!(["j"]), 0);
    kernel.each();
    kernel.prefetch("next", "X", "x", json!(["j"]), 2);
    kernel.wait("wait", json!([["x", 0]]));
    kernel.update("keep", "add", &["s", "x"], &["s"]);
    kernel.end();
    kernel.store("store", "s", "Y", json!([0]));
    draft.push(kernel);
    let made = scene(
        "prologue-later-first",
        "the version 1 begins to load before the version 0",
        &["MCI-06", "MCI-10"],
        draft,
        integers,
    );
    // Powers of 8, so that each sum says which elements are in it.
    let number = |place: usize| {
        if place < 16 {
            8_f64.powi(i32::try_from(place / 4).unwrap_or(0)) * (1 + place % 4) as f64
        } else {
            0.0
        }
    };
    with(made, &[("X", &number)], &|place| Some((1.0 + 8.0 + 64.0 + 512.0) * (1 + place) as f64))
}

/// States and factors in dtypes of their own, and a sum of weights that begins with a number.
fn softmax(name: &str, most: &str, factors: &str, begin: Value) -> Scene {
    let draft = online_softmax(["F32", "F32", factors, most], 12, begin);
    let summary = format!(
        "largest scores in {most} and factors in {factors}, which are rounded behind what is computed with them"
    );
    scene(name, &summary, &["MCI-06", "MCI-12"], draft, |draws, count| {
        random(draws, count).into_iter().map(|number| 4.0 * number).collect()
    })
}

/// A mask over tiles of columns, of which the last one has three.
fn masked() -> Scene {
    let mut draft = Draft::default();
    draft.input("X", &[5, 7], "F16");
    draft.output("Y", &[5, 7], "F16");
    draft.tiles(&[
        Tile("x", &[4, 4], "F16", "shared", "iteration"),
        Tile("y", &[4, 4], "F16", "register", "node"),
    ]);
    let mut kernel = Kernel::new("mask", &[("i", 5, 4)]);
    kernel.stream("j", 4, None, json!([7]));
    kernel.each();
    kernel.load("load", "X", "x", json!(["i", "j"]));
    kernel.compute("mask", "mask", &["x"], "y", json!({"rows": ["i", 1], "columns": "j"}));
    kernel.store("store", "y", "Y", json!(["i", "j"]));
    draft.push(kernel);
    let made = scene(
        "mask-tail-of-columns",
        "a mask over tiles of columns with a tail",
        &["MCI-06", "MCI-09"],
        draft,
        integers,
    );
    with(made, &[("X", &|place| place as f64)], &|place| {
        Some(if place % 7 <= place / 7 + 1 { place as f64 } else { f64::NEG_INFINITY })
    })
}

/// Columns that begin below 0, and some of which stay there; rows do so too in the last one.
fn below_zero(all: &mut Vec<Scene>) {
    let tensors: [(&[i64], &str); 2] = [(&[9, 8], "F16"), (&[9, 8], "F16")];
    for (name, rows, columns, window) in [
        ("mask-columns-below-0", json!("i"), json!(-3), json!(null)),
        ("mask-columns-below-0-in-a-window", json!(["i", 1]), json!(-6), json!(4)),
        ("mask-columns-that-rise-from-below-0", json!(2), json!([[3, "i"], -9]), json!(5)),
        ("mask-rows-and-columns-below-0", json!([[-1, "i"], -1]), json!(-7), json!(3)),
    ] {
        let more = json!({"rows": rows, "columns": columns, "window": window});
        all.push(function(name, "mask", more, &tensors, random));
    }
}

/// So many times the least subnormal number of a dtype.
fn subnormal(draws: &mut SplitMix64, count: usize, least: i32, most: u64) -> Vec<f64> {
    (0..count).map(|_| 2_f64.powi(least) * (1 + draws.below(most)) as f64).collect()
}

/// Quotients of subnormal numbers, which are normal ones in binary32; and normal numbers whose quotient is a subnormal one of binary16.
fn quotients(all: &mut Vec<Scene>) {
    let of_f32 = |draws: &mut SplitMix64, count: usize| subnormal(draws, count, -149, 1 << 22);
    let of_bf16 = |draws: &mut SplitMix64, count: usize| subnormal(draws, count, -133, 127);
    let of_f16 = |draws: &mut SplitMix64, count: usize| subnormal(draws, count, -24, 1023);
    for (dtype, out, draw) in [
        ("F32", "F32", of_f32 as Draw),
        ("F32", "BF16", of_f32),
        ("BF16", "F32", of_bf16),
        ("F16", "F16", of_f16),
    ] {
        let tensors: [(&[i64], &str); 3] = [(&[45], dtype), (&[45], dtype), (&[45], out)];
        all.push(function(&format!("div-subnormals-{dtype}-{out}"), "div", json!({}), &tensors, draw));
    }
    for (along, second) in [("rows", 6), ("columns", 5)] {
        let tensors: [(&[i64], &str); 3] = [(&[6, 5], "F32"), (&[second], "F32"), (&[6, 5], "F32")];
        let name = format!("div-subnormals-{along}");
        all.push(function(&name, "div", json!({"along": along}), &tensors, of_f32));
    }
    for (dtype, along) in [("F32", None), ("F16", None), ("F32", Some("rows"))] {
        let shape: &[i64] = if along.is_some() { &[6, 5] } else { &[45] };
        let tensors = [(shape, dtype), (&shape[..1], dtype), (shape, "F16")];
        let more = along.map_or(json!({}), |along| json!({"along": along}));
        let name = format!("div-to-subnormals-{dtype}{}", if along.is_some() { "-rows" } else { "" });
        let mut made = function(&name, "div", more, &tensors, integers);
        // From 1 to 2, by up to 2^15 or, where there are such numbers, 2^26.
        let most = if dtype == "F16" { 1 } else { 12 };
        let numbers = |of: &dyn Fn(usize) -> f64, count: usize| (0..count).map(of).collect::<Vec<f64>>();
        let above =
            |place: usize| (1.0 + (place * 37 % 64) as f64 / 64.0) * if most == 1 { 0.125 } else { 1.0 };
        let below = |place: usize| 2_f64.powi(14 + (place % most) as i32) * (1.0 + (place % 3) as f64 / 4.0);
        made.inputs.insert("X0".to_owned(), numbers(&above, count(shape)));
        made.inputs.insert("X1".to_owned(), numbers(&below, count(&shape[..1])));
        all.push(made);
    }
}

/// All of them.
pub fn all() -> Vec<Scene> {
    let five = |_: usize| 5.0;
    let mut all = vec![low(), later_first(), masked()];
    below_zero(&mut all);
    quotients(&mut all);
    // Without a second operand there is no direction.
    let tensors: [(&[i64], &str); 2] = [(&[6, 5], "F16"), (&[6, 5], "F32")];
    for (function_name, direction) in
        [("exp", json!("rows")), ("neg", json!("columns")), ("copy", json!(null))]
    {
        let name = format!("{function_name}-with-a-direction");
        all.push(function(&name, function_name, json!({"along": direction}), &tensors, random));
    }
    all.push(with(growing(json!("inf"), "growing-most", "F32", false), &[("X", &five)], &|_| {
        Some(f64::INFINITY)
    }));
    // An infinity in the first row of a, beside zeros of b.
    let a = |place: usize| if place == 2 { f64::INFINITY } else { 1.0 };
    let b = |place: usize| if place / 5 == 2 { 0.0 } else { 1.0 };
    let product = matmul("infinity-by-0", ["F32", "F32", "F32"], random);
    all.push(with(product, &[("A", &a), ("B", &b)], &|place| Some(if place < 5 { f64::NAN } else { 6.0 })));
    // A NaN in one place after the other of each row but the last.
    let tensors: [(&[i64], &str); 2] = [(&[6, 5], "F16"), (&[6], "F32")];
    let most = function("reduce-max-nan", "reduce-max", json!({"axis": 1}), &tensors, random);
    let x = |place: usize| if place / 5 == place % 5 { f64::NAN } else { -(place as f64) };
    all.push(with(most, &[("X0", &x)], &|row| Some(if row < 5 { f64::NAN } else { -25.0 })));
    // Products that are all below the initial value.
    let most = update("state-max-of-less", "max", "F32", json!(0), random);
    let [above, below] = [|place: usize| 1.0 + place as f64, |place: usize| -1.0 - place as f64];
    all.push(with(most, &[("X", &below), ("R", &above)], &|_| Some(0.0)));
    for (name, most, factors) in [
        ("BF16-F32", "BF16", "F32"),
        ("F16-F32", "F16", "F32"),
        ("F32-F16", "F32", "F16"),
        ("F32-BF16", "F32", "BF16"),
    ] {
        all.push(softmax(&format!("softmax-states-{name}"), most, factors, json!(0)));
    }
    all.push(softmax("softmax-begun", "F32", "F32", json!(5)));
    all
}
