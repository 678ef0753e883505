//! The functions of clause MCI-06 with the bounds of clause MCI-16.

use megakernel_ir::DType;
use serde_json::Value;

use super::real::Term;
use super::{Array, Real, text};
use crate::plant::number;

/// What a node produces: the shape of each tile, and its elements before the cast.
type Made = Vec<(Vec<i64>, Vec<Real>)>;

/// The shapes of what a node produces.
pub fn shapes(node: &Value, ins: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let of = |place: usize| ins.get(place).cloned().unwrap_or_default();
    let extent = |place: usize, axis: usize| of(place).get(axis).copied().unwrap_or(0);
    match (text(&node["op"]), text(&node["fn"])) {
        ("Reduce", _) => {
            let mut left = of(0);
            left.remove(usize::try_from(number(&node["axis"])).unwrap_or(0));
            vec![left]
        }
        ("UpdateState", "online_softmax") => {
            let rows = vec![extent(0, 0)];
            vec![rows.clone(), rows.clone(), of(0), rows]
        }
        ("UpdateState", "scale_add") => vec![of(2)],
        ("UpdateState", _) => vec![of(1)],
        (_, "matmul_nn") => vec![vec![extent(0, 0), extent(1, 1)]],
        (_, "matmul_nt") => vec![vec![extent(0, 0), extent(1, 0)]],
        (_, "transpose") => vec![of(0).into_iter().rev().collect()],
        _ => vec![of(0)],
    }
}

fn size(extent: Option<&i64>) -> usize {
    extent.and_then(|&extent| usize::try_from(extent).ok()).unwrap_or(1)
}

/// What a node produces. `index` gives the value of an index here.
pub fn made(node: &Value, ins: &[&Array], dtypes: &[DType], index: &dyn Fn(&Value) -> i64) -> Made {
    let (Some(a), Some(&dtype)) = (ins.first(), dtypes.first()) else { return Made::new() };
    let all: Vec<Vec<i64>> = ins.iter().map(|tile| tile.shape.clone()).collect();
    let shapes = shapes(node, &all);
    let first = |elements: Vec<Real>| vec![(shapes[0].clone(), elements)];
    let each = |of: &dyn Fn(Real) -> Real| a.held.iter().map(|&element| of(element)).collect();
    let wide = size(a.shape.get(1));
    let pairs = |other: &dyn Fn(usize) -> Real, of: &dyn Fn(Real, Real) -> Real| {
        a.held.iter().enumerate().map(|(place, &element)| of(element, other(place))).collect()
    };
    match (text(&node["op"]), text(&node["fn"])) {
        ("Reduce", function) => first(reduced(node, function, a)),
        ("UpdateState", "online_softmax") => softmax(ins, &shapes),
        ("UpdateState", "scale_add") => {
            let wide = size(ins[2].shape.get(1));
            let of = |(place, &state): (usize, &Real)| {
                // Without a rounding between them, or with one: the bound of the second covers both.
                state.mul(ins[1].held[place / wide]).within().add(ins[2].held[place]).within().result()
            };
            first(a.held.iter().enumerate().map(of).collect())
        }
        (_, function @ ("matmul_nn" | "matmul_nt")) => first(product(function, a, ins[1])),
        (_, "transpose") => {
            let (rows, columns) = (size(a.shape.first()), wide);
            first((0..rows * columns).map(|place| a.held[place % rows * columns + place / rows]).collect())
        }
        (_, "copy") => first(a.held.clone()),
        (_, "neg") => first(each(&Real::neg)),
        (_, "exp") => first(each(&|element| element.exp().result())),
        (_, "rsqrt") => first(each(&|element| element.rsqrt().result())),
        (_, "silu") => first(each(&Real::silu)),
        (_, "gelu") => first(each(&Real::gelu)),
        (_, "scale") => {
            let [p, q] = [0, 1].map(|place| number(&node["by"][place]) as f64);
            let by = p / q;
            first(each(&|element| {
                if f64::from(by as f32) == by {
                    let by = Real::exact(by);
                    return element.mul(by).single([element, by], dtype);
                }
                element.mul(Real::exact(p)).within().div(Real::exact(q)).result()
            }))
        }
        (_, "mask") => first(masked(node, a, index)),
        (_, function) => {
            let b = ins[1];
            let other = |place: usize| match text(&node["along"]) {
                "rows" => b.held[place / wide],
                "columns" => b.held[place % wide],
                _ => b.held[place],
            };
            let of = |one: Real, two: Real| match function {
                "add" => one.add(two).single([one, two], dtype),
                "sub" => one.sub(two).single([one, two], dtype),
                "mul" => one.mul(two).single([one, two], dtype),
                "div" => one.div(two).result(),
                _ => one.max(two).result(),
            };
            first(pairs(&other, &of))
        }
    }
}

fn reduced(node: &Value, function: &str, a: &Array) -> Vec<Real> {
    let axis = usize::try_from(number(&node["axis"])).unwrap_or(0);
    let extent = size(a.shape.get(axis));
    let inner: usize = a.shape[axis + 1..].iter().map(|extent| size(Some(extent))).product();
    let line = |number: usize| {
        let first = number / inner * inner * extent + number % inner;
        (0..extent).map(move |along| a.held[first + along * inner])
    };
    let of = |number: usize| {
        if function == "max" {
            return line(number).fold(Real::exact(f64::NEG_INFINITY), Real::max).result();
        }
        Real::sum(&line(number).map(Term::of).collect::<Vec<_>>()).result()
    };
    (0..a.held.len() / extent.max(1)).map(of).collect()
}

fn product(function: &str, a: &Array, b: &Array) -> Vec<Real> {
    let (rows, inner) = (size(a.shape.first()), size(a.shape.get(1)));
    let is_turned = function == "matmul_nt";
    let columns = size(b.shape.get(usize::from(!is_turned)));
    let of = |place: usize| {
        let (row, column) = (place / columns, place % columns);
        let term = |along: usize| {
            let other = if is_turned { column * inner + along } else { along * columns + column };
            Term::product(a.held[row * inner + along], b.held[other])
        };
        Real::sum(&(0..inner).map(term).collect::<Vec<_>>()).result()
    };
    (0..rows * columns).map(of).collect()
}

fn masked(node: &Value, a: &Array, index: &dyn Fn(&Value) -> i64) -> Vec<Real> {
    let (top, left) = (index(&node["rows"]), index(&node["columns"]));
    let window = node["window"].as_i64();
    let wide = size(a.shape.get(1));
    let of = |(place, &element): (usize, &Real)| {
        let row = top + i64::try_from(place / wide).unwrap_or(0);
        let column = left + i64::try_from(place % wide).unwrap_or(0);
        let is_kept = column <= row && window.is_none_or(|window| column > row - window);
        if is_kept { element } else { Real::exact(f64::NEG_INFINITY) }
    };
    a.held.iter().enumerate().map(of).collect()
}

fn softmax(ins: &[&Array], shapes: &[Vec<i64>]) -> Made {
    let [scores, most, sums] = [0, 1, 2].map(|place| &ins[place].held);
    let wide = size(ins[0].shape.get(1));
    let (mut new_most, mut new_sums, mut weights, mut factors) = (vec![], vec![], vec![], vec![]);
    for (row, (&old, &sum)) in most.iter().zip(sums).enumerate() {
        let line = &scores[row * wide..(row + 1) * wide];
        let new = line.iter().fold(old, |most, &score| most.max(score));
        let is_empty = new.v == f64::NEG_INFINITY;
        let weight = |score: Real| if is_empty { Real::exact(0.0) } else { score.sub(new).within().exp() };
        let factor = if is_empty { Real::exact(1.0) } else { weight(old) };
        let line: Vec<Real> = line.iter().map(|&score| weight(score)).collect();
        let mut terms = vec![Term::of(sum.mul(factor).within())];
        terms.extend(line.iter().map(|&weight| Term::of(weight)));
        new_sums.push(Real::sum(&terms).result());
        new_most.push(new.result());
        factors.push(factor.result());
        weights.extend(line.into_iter().map(Real::result));
    }
    shapes.iter().cloned().zip([new_most, new_sums, weights, factors]).collect()
}
