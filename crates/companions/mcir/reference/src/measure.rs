//! What a document moves, computes and holds (clause MCI-15).

use std::collections::HashSet;

use megakernel_ir::Diagnostic;
use megakernel_ir::protocol::Answer;
use megakernel_mcir::{Body, Document, Function, Op, Unary, Update};
use megakernel_order::Findings;
use serde_json::{Value as Json, json};

use crate::axes::{Affine, Axes, Extent};
use crate::residency::{Lifetimes, peaks};
use crate::shapes::Shaped;
use crate::validate::{judge, read_document};
use crate::world::{Move, Site, World, moves, nodes};

/// Answers the method `measure`.
pub fn measure(text: &[u8]) -> Answer {
    let document = match read_document(text) {
        Ok(document) => document,
        Err(diagnostics) => return Answer::Reject { diagnostics },
    };
    let (diagnostics, measures) = measure_document(&document);
    match measures {
        Some(Ok(measures)) => Answer::Accept { diagnostics, document: Some(measures.to_string()) },
        Some(Err(reason)) => Answer::Unsupported { reason },
        None => Answer::Reject { diagnostics },
    }
}

/// The most points, blocks or iterations, at which extents are added up one by one, times the factors of each.
pub const MOST: i64 = 1 << 28;

/// What is found in a document, and its measures if it is accepted, or why they were not counted.
pub fn measure_document(document: &Document) -> (Vec<Diagnostic>, Option<Result<Json, String>>) {
    let world = World::new(document);
    let mut findings = Findings::default();
    let judged = judge(&world, &mut findings);
    let measures = judged.map(|(regions, lifetimes)| all(&world, &regions, &lifetimes));
    (findings.into_parts().0, measures)
}

#[derive(Default)]
struct Measures {
    loaded: i64,
    stored: i64,
    operations: i64,
    shared: i64,
    register: i64,
}

fn all(world: &World<'_>, regions: &[Shaped<'_>], lifetimes: &Lifetimes) -> Result<Json, String> {
    let mut left = MOST;
    let document = world.document;
    let mut sum = Measures::default();
    let mut rows = Vec::with_capacity(regions.len());
    let mut is_loaded = vec![false; document.values.len()];
    for shaped in regions {
        shaped.region.inputs.iter().for_each(|&name| is_loaded[world.place(name)] = true);
        let of = of_region(world, shaped, lifetimes, &mut left);
        let iterations = total(&shaped.axes, &[], Runs::EACH, &mut left);
        if left < 0 {
            return Err(format!("extents would be added up at more than {MOST} points"));
        }
        rows.push(json!({
            "id": world.name(shaped.region.id),
            "blocks": shaped.axes.count_blocks(),
            "iterations": iterations,
            "loaded": of.loaded, "stored": of.stored, "operations": of.operations,
            "shared": of.shared, "register": of.register,
        }));
        sum.loaded += of.loaded;
        sum.stored += of.stored;
        sum.operations += of.operations;
        sum.shared = sum.shared.max(of.shared);
        sum.register = sum.register.max(of.register);
    }
    let size = |name: u32| {
        let value = world.value(name);
        u128::try_from(value.shape.iter().product::<i64>() * value.dtype.bytes()).unwrap_or(0)
    };
    let inputs = document.inputs.iter().filter(|&&name| is_loaded[world.place(name)]);
    let compulsory = written(inputs.chain(&document.outputs).map(|&name| size(name)).sum())?;
    let outputs: HashSet<u32> = document.outputs.iter().copied().collect();
    let mut materialized: Vec<&str> = document
        .boundaries
        .iter()
        .filter(|boundary| !outputs.contains(&boundary.value))
        .map(|boundary| world.name(boundary.value))
        .collect();
    materialized.sort_unstable();
    Ok(json!({
        "regions": rows,
        "loaded": sum.loaded, "stored": sum.stored, "operations": sum.operations,
        "shared": sum.shared, "register": sum.register,
        "compulsory": compulsory, "materialized": materialized,
    }))
}

/// A number of bytes: tensors have at most 2^62 each, but there may be many.
fn written(bytes: u128) -> Result<Json, String> {
    if let Ok(bytes) = u64::try_from(bytes) {
        return Ok(json!(bytes));
    }
    let number = bytes as f64;
    if number as u128 == bytes {
        Ok(json!(number))
    } else {
        Err(format!("no number that is written has {bytes} bytes"))
    }
}

fn of_region(world: &World<'_>, shaped: &Shaped<'_>, lifetimes: &Lifetimes, left: &mut i64) -> Measures {
    let [shared, register] = peaks(world, shaped, lifetimes).map(|peak| peak.bytes);
    let mut measures = Measures { shared, register, ..Measures::default() };
    for site in nodes(shaped.number, shaped.region) {
        if let Some((of, bytes)) = moved(world, shaped, &site, left) {
            *(if of.stores { &mut measures.stored } else { &mut measures.loaded }) += bytes;
        } else {
            let of = |name: Option<&u32>| -> &[Extent] { name.map_or(&[], |&name| shaped.extents(name)) };
            let runs = if site.body == Body::Each { Runs::EACH } else { Runs::ONCE };
            let mut sum = |extents: &[Extent]| total(&shaped.axes, extents, runs, left);
            let (first, made) = (of(site.node.ins.first()), of(site.node.outs.first()));
            measures.operations += match &site.node.op {
                Op::Compute(Function::Matmul(_)) => {
                    let mut all = made.to_vec();
                    all.extend(first.get(1).cloned());
                    2 * sum(&all)
                }
                Op::Compute(function) => operations(function) * sum(made),
                Op::Reduce(..) => sum(first) - sum(made),
                Op::UpdateState(Update::ScaleAdd) => 2 * sum(made),
                Op::UpdateState(Update::OnlineSoftmax) => 4 * sum(first) + 3 * sum(made),
                Op::UpdateState(_) => sum(made),
                _ => 0,
            };
        }
    }
    measures
}

/// What a node moves in all blocks, and how many bytes that is, as long as enough is `left` to count them.
pub fn moved(world: &World<'_>, shaped: &Shaped<'_>, site: &Site<'_>, left: &mut i64) -> Option<(Move, i64)> {
    let of = moves(site.node)?;
    let is_each = site.body == Body::Each;
    let runs = match site.node.op {
        Op::Prefetch(_, version) if is_each => Runs { is_each: true, skipped: version, most: i64::MAX },
        Op::Prefetch(_, version) => Runs { is_each: true, skipped: version, most: 1 },
        _ if is_each => Runs::EACH,
        _ => Runs::ONCE,
    };
    let extents = shaped.part(world, site.node, &of);
    let bytes = total(&shaped.axes, &extents, runs, left) * world.value(of.tensor).dtype.bytes();
    Some((of, bytes))
}

/// Operations for an element of the result.
fn operations(function: &Function) -> i64 {
    match function {
        Function::Transpose | Function::Mask(..) | Function::Unary(Unary::Copy) => 0,
        Function::Unary(Unary::Silu) => 4,
        Function::Unary(Unary::Gelu) => 5,
        _ => 1,
    }
}

/// How often something happens in a block: once, or in all iterations but the first ones, and in at most so many.
#[derive(Clone, Copy)]
struct Runs {
    is_each: bool,
    skipped: i64,
    most: i64,
}

impl Runs {
    const ONCE: Runs = Runs { is_each: false, skipped: 0, most: i64::MAX };
    const EACH: Runs = Runs { is_each: true, ..Runs::ONCE };
}

/// The sum, over all blocks and runs in them, of the product of extents. Only axes on which something depends are run through; what that takes
/// is taken from what is `left`, and nothing is counted where that is not enough.
fn total(axes: &Axes, extents: &[Extent], runs: Runs, left: &mut i64) -> i64 {
    let of_extents = extents.iter().filter_map(|extent| extent.rest.as_ref());
    let bounds = axes.from.iter().chain(&axes.to).filter(|_| runs.is_each);
    let mut wanted: Vec<u32> =
        of_extents.chain(bounds).flat_map(|form| form.factors.iter().map(|&(place, _)| place)).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let stream = axes.stream_place();
    let runs_stream = wanted.last() == Some(&stream);
    wanted.retain(|&place| place != stream);
    let is_wanted = |place: u32| wanted.binary_search(&place).is_ok();
    let others = (0..).zip(&axes.blocks).filter(|(place, _)| !is_wanted(*place));
    let times: i64 = others.map(|(_, axis)| axis.count).product();
    let points = wanted
        .iter()
        .filter_map(|&place| axes.axis(place))
        .fold(1_i64, |all, axis| all.saturating_mul(axis.count));
    let iterations =
        axes.stream.filter(|_| runs_stream && runs.is_each).map_or(1, |stream| stream.count.max(1));
    let (of_block, of_point) = (
        cost(axes.from.iter().chain(&axes.to)),
        cost(extents.iter().filter_map(|extent| extent.rest.as_ref())),
    );
    let each = of_block.saturating_add(of_point.saturating_add(1).saturating_mul(iterations));
    *left = left.saturating_sub(points.saturating_mul(each));
    if *left < 0 {
        return 0;
    }
    let mut point: Vec<i64> = vec![0; axes.blocks.len() + 1];
    let mut sum = 0_i64;
    loop {
        sum += block(axes, extents, runs, runs_stream, &mut point);
        // The next block: an odometer of the wanted axes.
        let mut carried = true;
        for &place in &wanted {
            let axis = axes.blocks[place as usize];
            let value = &mut point[place as usize];
            *value += axis.step;
            if *value <= axis.most {
                carried = false;
                break;
            }
            *value = 0;
        }
        if carried {
            return sum * times;
        }
    }
}

/// The factors of affine forms, and one for each form.
fn cost<'f>(forms: impl Iterator<Item = &'f Affine>) -> i64 {
    forms.fold(0, |sum, form| {
        sum.saturating_add(i64::try_from(form.factors.len()).unwrap_or(i64::MAX)).saturating_add(1)
    })
}

fn block(axes: &Axes, extents: &[Extent], runs: Runs, runs_stream: bool, point: &mut [i64]) -> i64 {
    let Some(stream) = axes.stream.filter(|_| runs.is_each) else { return product(extents, point) };
    let first = axes.from.iter().map(|form| value(form, point)).max().unwrap_or(0);
    let end = axes.to.iter().map(|form| value(form, point)).min().unwrap_or(0);
    let count = if end > first { end.saturating_sub(first).saturating_sub(1) / stream.step + 1 } else { 0 };
    let count = (count - runs.skipped).clamp(0, runs.most);
    if count == 0 {
        return 0;
    }
    if !runs_stream {
        return count * product(extents, point);
    }
    let mut sum = 0;
    for iteration in runs.skipped..runs.skipped + count {
        point[axes.blocks.len()] = first + iteration * stream.step;
        sum += product(extents, point);
    }
    sum
}

fn value(form: &Affine, point: &[i64]) -> i64 {
    let add = |sum: i64, &(place, factor): &(u32, i64)| {
        sum.saturating_add(factor.saturating_mul(point[place as usize]))
    };
    form.factors.iter().fold(form.number, add)
}

fn product(extents: &[Extent], point: &[i64]) -> i64 {
    let extent = |extent: &Extent| {
        extent.rest.as_ref().map_or(extent.size, |rest| extent.size.min(value(rest, point)))
    };
    extents.iter().map(extent).product()
}
