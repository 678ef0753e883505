//! Attention: scores of every kind, and the formula without tiles.

use megakernel_ir::prng::SplitMix64;

use super::{Scene, count, random};
use crate::definition::shape;

/// What the scores look like.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scores {
    /// Any.
    Random,
    /// Each key has a larger one than the key before; so much larger.
    Rising(f64),
    /// As large as possible first.
    Falling(f64),
    /// One key has nearly all the weight.
    Dominant(i64),
    /// All are 0: the mean of the values.
    Zero,
    /// All are far below 0.
    Low,
    /// Near the largest that an exponential takes, and beyond.
    Large(f64),
}

/// Keys and queries for scores: queries are `8 / depth` in each place, and keys have their score in each.
fn inputs(scores: Scores, draws: &mut SplitMix64, name: &str, shape: &[i64]) -> Vec<f64> {
    let numbers = random(draws, count(shape));
    let depth = shape.last().copied().unwrap_or(1);
    let keys = shape.iter().rev().nth(1).copied().unwrap_or(1);
    let each = |of: &dyn Fn(i64, f64) -> f64| -> Vec<f64> {
        let place = |place: usize| i64::try_from(place).unwrap_or(0) / depth % keys;
        numbers.iter().enumerate().map(|(at, &number)| of(place(at), number)).collect()
    };
    match (name, scores) {
        ("V", _) => numbers,
        (_, Scores::Random) => each(&|_, number| 4.0 * number),
        ("Q", Scores::Zero) => each(&|_, _| 0.0),
        // Each query a little different, so that a row is not taken for another one.
        ("Q", _) => each(&|row, _| 8.0 / depth as f64 * (1.0 + row as f64 / 8.0)),
        (_, Scores::Zero) => numbers,
        (_, Scores::Rising(by)) => each(&|key, number| by * key as f64 + number / 16.0),
        (_, Scores::Falling(by)) => each(&|key, number| by * (keys - 1 - key) as f64 + number / 16.0),
        (_, Scores::Dominant(place)) => each(&|key, number| if key == place { 300.0 } else { number }),
        (_, Scores::Low) => each(&|_, number| number - 200.0),
        (_, Scores::Large(most)) => each(&|_, number| most * number),
    }
}

fn scene(base: &str, what: &str, summary: &str, scores: Scores) -> Scene {
    let mut draws = SplitMix64::for_family(&format!("mcir/attention/{base}/{what}"), 0);
    let base = format!("small-{base}");
    let scene = Scene::of(&base, what, summary, &mut |name, shape| inputs(scores, &mut draws, name, shape));
    scene.citing(&["MCI-08", "MCI-09", "MCI-12"])
}

/// Sets an element of an input.
fn put(mut scene: Scene, name: &str, row: i64, column: i64, number: f64) -> Scene {
    let wide = shape(&scene.document["values"][name]).last().copied().unwrap_or(1);
    let place = usize::try_from(row * wide + column).unwrap_or(usize::MAX);
    if let Some(element) = scene.inputs.get_mut(name).and_then(|numbers| numbers.get_mut(place)) {
        *element = number;
    }
    scene
}

/// What is known: with a dominant key, its values; with scores of 0, sums of powers of two. `keys` are those that a row meets.
fn known(mut scene: Scene, dominant: Option<i64>, keys: &dyn Fn(i64) -> Vec<i64>) -> Scene {
    let [rows, depth] = shape(&scene.document["values"]["O"])[..] else { return scene };
    let Some(values) = scene.inputs.get("V") else { return scene };
    let mut outputs = Vec::new();
    for row in 0..rows {
        let met = keys(row);
        for column in 0..depth {
            let value = |key: i64| values[usize::try_from(key * depth + column).unwrap_or(0)];
            outputs.push(match dominant {
                Some(key) => met.contains(&key).then(|| value(key)),
                None => {
                    let is_power = met.len().is_power_of_two();
                    is_power.then(|| met.iter().map(|&key| value(key)).sum::<f64>() / met.len() as f64)
                }
            });
        }
    }
    scene.known.insert("O".to_owned(), outputs);
    // What other keys weigh is no number of binary32, but it is not nothing.
    scene.is_exact = dominant.is_none();
    scene
}

/// Values that are small integers, so that their sums are known.
fn whole_values(mut scene: Scene) -> Scene {
    let values = scene.inputs.get_mut("V").into_iter().flatten();
    for (place, value) in values.enumerate() {
        *value = (place * 7 % 17) as f64 - 8.0;
    }
    scene
}

const WINDOWS: &[(&str, i64)] = &[
    ("attention-causal", i64::MAX),
    ("attention-masked", i64::MAX),
    ("attention-window", 3),
    ("attention-narrow", 2),
];

/// The keys that a row meets.
fn met(base: &str, keys: i64) -> impl Fn(i64) -> Vec<i64> {
    let window = WINDOWS.iter().find(|(name, _)| *name == base).map(|&(_, window)| window);
    move |row| match window {
        None => (0..keys).collect(),
        Some(window) => (row.saturating_sub(window - 1).max(0)..keys.min(row + 1)).collect(),
    }
}

/// All about attention.
pub fn all() -> Vec<Scene> {
    let mut all = Vec::new();
    let plain: &[(&str, i64)] = &[
        ("attention", 10),
        ("attention-f32", 10),
        ("attention-bf16", 10),
        ("attention-tails", 9),
        ("attention-plain-loads", 10),
        ("attention-deep", 18),
        ("attention-short", 3),
        ("attention-causal", 6),
        ("attention-masked", 6),
        ("attention-window", 6),
        ("attention-narrow", 9),
        ("attention-grouped", 10),
        ("attention-decode", 9),
        ("attention-naive", 10),
    ];
    for &(base, keys) in plain {
        all.push(scene(base, "random", "any scores", Scores::Random));
        let rising =
            scene(base, "rising", "each key has a larger score than the one before", Scores::Rising(3.0));
        all.push(rising.citing(&["MCI-06", "MCI-08"]));
        let zero = scene(base, "zero", "all scores are 0, and a row is a mean", Scores::Zero);
        let zero = whole_values(zero);
        let is_flat = !["attention-grouped", "attention-decode"].contains(&base);
        all.push(if is_flat { known(zero, None, &met(base, keys)) } else { zero });
    }
    for &(base, keys) in &plain[..6] {
        all.push(scene(base, "falling", "the first key has the largest score", Scores::Falling(3.0)));
        // A key in each tile, the tail included.
        for key in [0, keys / 2, keys - 1] {
            let what = format!("dominant-{key}");
            let one = scene(base, &what, "one key has all the weight", Scores::Dominant(key));
            all.push(known(one, Some(key), &met(base, keys)));
        }
    }
    for base in ["attention", "attention-f32", "attention-window", "attention-naive"] {
        all.push(scene(base, "low", "all scores are near -200, where no exponential is left", Scores::Low));
        all.push(scene(base, "large", "scores whose exponentials exceed binary32", Scores::Large(120.0)));
    }
    all.push(scene("attention-f32", "huge", "scores near 10,000", Scores::Large(10_000.0)));
    all.push(scene("attention-bf16", "huge", "scores near 10,000", Scores::Large(10_000.0)));
    for base in ["attention-causal", "attention-masked", "attention-narrow"] {
        all.push(scene(base, "falling", "masked keys would have the smallest scores", Scores::Falling(5.0)));
        all.push(scene(base, "steep", "masked keys would have the largest scores", Scores::Rising(40.0)));
    }
    let nan = f64::NAN;
    for (base, key) in
        [("attention", 9), ("attention-causal", 5), ("attention-masked", 3), ("attention-narrow", 4)]
    {
        let of = |what: &str, summary: &str| scene(base, what, summary, Scores::Random);
        let row = of("nan-query", "a NaN in a query reaches its row alone");
        all.push(put(row, "Q", 2, 3, nan).citing(&["MCI-06", "MCI-07"]));
        let value = of("nan-value", "a NaN in a value reaches a column of the rows whose blocks load it");
        all.push(put(value, "V", key, 1, nan).citing(&["MCI-06", "MCI-08"]));
        let score = of("nan-key", "a NaN in a key reaches the rows that are not masked there");
        all.push(put(score, "K", key, 2, nan).citing(&["MCI-06", "MCI-08"]));
        let value = of("infinite-value", "an infinity in a value, times 0 where it is masked");
        all.push(put(value, "V", key, 5, f64::INFINITY).citing(&["MCI-06", "MCI-08"]));
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::definition::run;

    /// Softmax of scores, times values, without tiles.
    fn formula(scene: &Scene, scale: f64, met: &dyn Fn(i64) -> Vec<i64>) -> Vec<f64> {
        let [rows, depth] = shape(&scene.document["values"]["O"])[..] else { return Vec::new() };
        let at = |name: &str, row: i64, column: i64| {
            scene.inputs[name][usize::try_from(row * depth + column).expect("a place")]
        };
        let mut outputs = Vec::new();
        for row in 0..rows {
            let met = met(row);
            let score = |key: i64| (0..depth).map(|d| at("Q", row, d) * at("K", key, d)).sum::<f64>() / scale;
            let most = met.iter().map(|&key| score(key)).fold(f64::NEG_INFINITY, f64::max);
            let weights: BTreeMap<i64, f64> =
                met.iter().map(|&key| (key, (score(key) - most).exp())).collect();
            let sum: f64 = weights.values().sum();
            let column = |d| weights.iter().map(|(&key, weight)| weight * at("V", key, d)).sum::<f64>() / sum;
            outputs.extend((0..depth).map(column));
        }
        outputs
    }

    #[test]
    fn the_definition_is_the_formula() {
        let mut compared = 0;
        for scene in all() {
            let base = scene.base.clone().unwrap_or_default();
            let base = base.trim_start_matches("small-");
            let is_flat = !["attention-grouped", "attention-decode"].contains(&base);
            let is_finite = scene.inputs.values().flatten().all(|number| number.is_finite());
            if !is_flat || !is_finite {
                continue;
            }
            let keys = shape(&scene.document["values"]["K"])[0];
            // The naive one has no scale.
            let scale = if base == "attention-naive" { 1.0 } else { 8.0 };
            let expected = formula(&scene, scale, &met(base, keys));
            let outputs = run(&scene.document, scene.arrays());
            for (place, (element, expected)) in outputs["O"].computed.iter().zip(expected).enumerate() {
                // Tiles in binary32 round on the way, and scores near 10,000 in their last digits. Bounds add up all that may happen.
                let (largest, widest) =
                    if scene.name.ends_with("huge") { (0.02, 0.05) } else { (4e-5, 0.002) };
                assert!(element.e < widest, "{} at {place}: {element:?}", scene.name);
                let off = (element.v - expected).abs();
                assert!(off <= largest, "{} at {place}: {element:?}, {expected}", scene.name);
                compared += 1;
            }
        }
        assert!(compared > 2000, "{compared} elements were compared");
    }
}
