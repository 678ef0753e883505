//! Numbers of which a reading in a hurry makes others: what is infinite, low or masked, and states with dtypes of their own.

use serde_json::{Value, json};

use super::functions::{function, growing, matmul, online_softmax, scene, update};
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

/// All of them.
pub fn all() -> Vec<Scene> {
    let five = |_: usize| 5.0;
    let mut all = vec![low(), later_first(), masked()];
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
