//! Random contents of weights, by what they are for.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::numeric::Operand;
use super::super::numeric::data::{ints, normals, numel, reals, uniforms};
use super::super::plan::Inputs;
use crate::builder::{DType, Error, Program, Result};
use megakernel_ir::prng::SplitMix64;

/// A buffer as the program describes it.
pub struct Described {
    pub name: String,
    pub kind: String,
    pub dtype: DType,
    pub shape: Vec<u64>,
}

/// The buffers of a program.
pub fn buffers(program: &Program) -> Result<Vec<Described>> {
    let list = program.at("/buffers")?.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .map(|buffer| {
            let text = |key: &str| buffer[key].as_str().unwrap_or_default().to_owned();
            let dtype = DType::from_name(&text("dtype"));
            Ok(Described {
                name: text("name"),
                kind: text("kind"),
                dtype: dtype.ok_or_else(|| Error(format!("no dtype in {buffer}")))?,
                shape: buffer["shape"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect(),
            })
        })
        .collect()
}

/// Contents of every WEIGHT and CONST of a program. They depend on the seed, and on a buffer's name, dtype and shape
/// alone: programs that differ in other things can share a file.
pub fn weights(program: &Program, seed: u64) -> Result<Inputs> {
    let found = buffers(program)?;
    let bound = found.iter().filter(|buffer| matches!(buffer.kind.as_str(), "WEIGHT" | "CONST"));
    Ok(bound.map(|buffer| (buffer.name.clone(), weight(buffer, scaled_by(buffer, &found), seed))).collect())
}

/// Contents of every KV_CACHE of a program.
pub fn caches(program: &Program, seed: u64) -> Result<Inputs> {
    let found = buffers(program)?;
    let found = found.iter().filter(|buffer| buffer.kind == "KV_CACHE");
    Ok(found.map(|buffer| (buffer.name.clone(), normal(buffer, seed, 1.0))).collect())
}

/// Contents of every float IO_INPUT of a program.
pub fn activations(program: &Program, seed: u64) -> Result<Inputs> {
    let found = buffers(program)?;
    let found = found.iter().filter(|buffer| buffer.kind == "IO_INPUT" && is_float(buffer.dtype));
    Ok(found.map(|buffer| (buffer.name.clone(), normal(buffer, seed, 1.0))).collect())
}

/// One I32 input.
pub fn integers(name: &str, values: &[i64]) -> Inputs {
    BTreeMap::from([(name.to_owned(), ints(DType::I32, &[values.len() as u64], values.to_vec()))])
}

fn is_float(dtype: DType) -> bool {
    megakernel_numerics::FloatFormat::of(dtype).is_some()
}

/// The seed of the contents of a set of weights that has been drawn anew so often.
pub fn redrawn(seed: u64, draw: u64) -> u64 {
    if draw == 0 { seed } else { SplitMix64::for_family(&format!("execution/draw-{draw}"), seed).next_u64() }
}

fn stream(buffer: &Described, seed: u64) -> SplitMix64 {
    let Described { name, dtype, shape, .. } = buffer;
    SplitMix64::for_family(&format!("execution/{name}/{dtype}/{shape:?}"), seed)
}

fn normal(buffer: &Described, seed: u64, sigma: f64) -> Operand {
    let values = normals(&mut stream(buffer, seed), numel(&buffer.shape), sigma);
    reals(buffer.dtype, &buffer.shape, values)
}

/// The integers that a buffer of scales belongs to.
fn scaled_by<'a>(scales: &Described, all: &'a [Described]) -> Option<&'a Described> {
    let name = scales.name.strip_suffix(".scales")?;
    all.iter().find(|buffer| buffer.name == name)
}

/// The size of what a matrix yields, relative to what it multiplies. In the layers of a decoder it is small: with 1, the
/// bounds would grow a hundredfold with each layer.
fn gain(name: &str) -> f64 {
    if name.starts_with('L') { 0.3 } else { 0.75 }
}

/// Factors of norms are about 1.
fn weight(buffer: &Described, integers_of: Option<&Described>, seed: u64) -> Operand {
    let Described { name, dtype, shape, .. } = buffer;
    let (n, mut prng) = (numel(shape), stream(buffer, seed));
    let integers = |prng: &mut SplitMix64, low: i64, high: i64| -> Operand {
        let values = (0..n).map(|_| low + prng.below((high - low + 1) as u64) as i64).collect();
        ints(*dtype, shape, values)
    };
    match dtype {
        DType::I32 if name == "positions" => return ints(*dtype, shape, (3..).step_by(4).take(n).collect()),
        DType::I32 | DType::Bool => return ints(*dtype, shape, vec![0; n]),
        DType::I8 if name.ends_with(".zeros") => return integers(&mut prng, -9, 9),
        DType::U8 if name.ends_with(".zeros") => return integers(&mut prng, 0, 3),
        DType::I8 => return integers(&mut prng, -127, 127),
        DType::I4 => return integers(&mut prng, 0, 15),
        DType::U8 => return integers(&mut prng, 0, 255),
        _ => {}
    }
    let values = if let Some(integers) = integers_of {
        let columns = integers.shape.last().copied().unwrap_or(1) as f64;
        let unit = match integers.dtype {
            DType::I8 => gain(name) / (75.0 * columns.sqrt()),
            DType::U8 => gain(name) / (5.0 * (2.0 * columns).sqrt()),
            _ => gain(name) / (5.0 * columns.sqrt()),
        };
        uniforms(&mut prng, n, 0.75 * unit, 1.25 * unit)
    } else if name.contains("norm") && !name.ends_with(".bias") {
        uniforms(&mut prng, n, 0.75, 1.25)
    } else if name.ends_with(".bias") || name.starts_with("embed") {
        normals(&mut prng, n, 1.0)
    } else {
        let columns = shape.last().copied().unwrap_or(1) as f64;
        normals(&mut prng, n, gain(name) / columns.sqrt())
    };
    reals(*dtype, shape, values)
}
