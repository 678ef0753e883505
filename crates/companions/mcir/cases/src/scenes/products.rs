//! Products, norms, chains and reductions on the documents of a few tiles.

use megakernel_ir::prng::SplitMix64;

use super::{Scene, count, integers, random};
use crate::definition::shape;

fn scene(base: &str, what: &str, summary: &str, draw: fn(&mut SplitMix64, usize) -> Vec<f64>) -> Scene {
    let mut draws = SplitMix64::for_family(&format!("mcir/products/{base}/{what}"), 0);
    Scene::of(&format!("small-{base}"), what, summary, &mut |_, shape| draw(&mut draws, count(shape)))
}

/// X Wᵀ of integers.
fn product(mut scene: Scene) -> Scene {
    let [rows, inner] = shape(&scene.document["values"]["X"])[..] else { return scene };
    let columns = shape(&scene.document["values"]["W"])[0];
    let at = |name: &str, row: i64, column: i64| {
        scene.inputs[name][usize::try_from(row * inner + column).unwrap_or(0)]
    };
    let of = |row: i64, column: i64| (0..inner).map(|k| at("X", row, k) * at("W", column, k)).sum::<f64>();
    let known = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let known = known.map(|(row, column)| Some(of(row, column))).collect();
    scene.known.insert("Y".to_owned(), known);
    scene
}

/// A reduction of integers over the columns, or the rows, of X.
fn reduction(mut scene: Scene, is_max: bool, of_rows: bool) -> Scene {
    let [rows, columns] = shape(&scene.document["values"]["X"])[..] else { return scene };
    let at = |row: i64, column: i64| scene.inputs["X"][usize::try_from(row * columns + column).unwrap_or(0)];
    let fold = |numbers: Vec<f64>| {
        if is_max { numbers.into_iter().fold(f64::NEG_INFINITY, f64::max) } else { numbers.into_iter().sum() }
    };
    let known: Vec<Option<f64>> = if of_rows {
        (0..columns).map(|column| Some(fold((0..rows).map(|row| at(row, column)).collect()))).collect()
    } else {
        (0..rows).map(|row| Some(fold((0..columns).map(|column| at(row, column)).collect()))).collect()
    };
    scene.known.insert("Y".to_owned(), known);
    scene
}

/// The input, through a function of each number.
fn mapped(mut scene: Scene, of: fn(f64) -> f64) -> Scene {
    let known = scene.inputs.get("X").into_iter().flatten().map(|&number| Some(of(number))).collect();
    scene.known.insert("Y".to_owned(), known);
    scene
}

fn wide(draws: &mut SplitMix64, count: usize) -> Vec<f64> {
    random(draws, count).into_iter().map(|number| 6.0 * number).collect()
}

fn below_zero(draws: &mut SplitMix64, count: usize) -> Vec<f64> {
    random(draws, count).into_iter().map(|number| number - 5.0).collect()
}

/// Sums of which only an accumulator in binary32 is right: large numbers that cancel, and small ones between.
fn cancelling(draws: &mut SplitMix64, count: usize) -> Vec<f64> {
    let small = integers(draws, count);
    (0..count).map(|place| [4096.0, small[place], -4096.0, small[place] / 4.0][place % 4]).collect()
}

/// All of them.
pub fn all() -> Vec<Scene> {
    let mut all = Vec::new();
    for base in ["product", "product-plain", "product-deep"] {
        all.push(scene(base, "random", "any numbers", random).citing(&["MCI-06", "MCI-12"]));
        let whole = scene(base, "integers", "small integers, which no order of additions rounds", integers);
        all.push(product(whole).citing(&["MCI-06", "MCI-08", "MCI-09"]));
        let cancelling = scene(base, "cancelling", "large numbers that cancel", cancelling);
        all.push(cancelling.citing(&["MCI-12"]));
    }
    for base in ["product-gelu", "pair", "norm-product", "norm", "chain"] {
        all.push(scene(base, "random", "any numbers", random).citing(&["MCI-06", "MCI-07", "MCI-12"]));
        all.push(scene(base, "wide", "numbers up to 6", wide).citing(&["MCI-06", "MCI-12"]));
        all.push(scene(base, "integers", "small integers", integers).citing(&["MCI-06", "MCI-07"]));
    }
    for base in ["sum", "sum-deep"] {
        let whole = scene(base, "integers", "small integers", integers);
        all.push(reduction(whole, false, false).citing(&["MCI-08", "MCI-10"]));
        all.push(scene(base, "random", "any numbers", random).citing(&["MCI-08", "MCI-10"]));
    }
    let most = scene("maximum", "random", "any numbers", random);
    all.push(reduction(most, true, false).citing(&["MCI-06", "MCI-08"]));
    let most = scene("maximum", "below-zero", "no number is above 0", below_zero);
    all.push(reduction(most, true, false).citing(&["MCI-06", "MCI-08"]));
    for base in ["single", "early", "earlier", "both", "now"] {
        let whole = scene(base, "integers", "small integers, each iteration with its own version", integers);
        all.push(reduction(whole, false, true).citing(&["MCI-09", "MCI-10"]));
        all.push(scene(base, "random", "any numbers", random).citing(&["MCI-10"]));
    }
    for base in ["prologue", "prologue-large"] {
        all.push(scene(base, "random", "any numbers", random).citing(&["MCI-10", "MCI-11"]));
    }
    let whole = scene("parts", "integers", "small integers", integers);
    all.push(reduction(whole, false, false).citing(&["MCI-07", "MCI-08"]));
    all.push(scene("parts", "random", "any numbers", random).citing(&["MCI-07"]));
    all.push(mapped(scene("copy", "random", "any numbers", random), |x| x).citing(&["MCI-05", "MCI-09"]));
    all.push(
        mapped(scene("map", "random", "any numbers", random), |x| x / 2.0).citing(&["MCI-05", "MCI-08"]),
    );
    all
}
