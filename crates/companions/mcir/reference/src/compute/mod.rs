//! What a document computes (clauses MCI-16 and MCI-17). A document that is accepted computes the same in every order of its blocks, and
//! whenever its prefetches land; which of them is taken can be chosen, so that tests can look.

mod data;
mod functions;
mod plan;
mod run;

use std::collections::BTreeMap;

use megakernel_ir::protocol::Answer;
use megakernel_ir::{Diagnostic, read_value};
use megakernel_mcir::{Document, Dtype, read};
use megakernel_numerics::{DType, decode, encode};
use megakernel_order::Findings;
use serde_json::{Value as Json, json};

pub use self::data::{MOST as MOST_DATA, NoData, with_data};
use crate::validate::judge;
use crate::world::World;

/// The order of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Blocks {
    /// The last axis of the names first.
    #[default]
    Ascending,
    /// The other way round.
    Descending,
}

/// When prefetches land.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Landing {
    /// At once.
    #[default]
    Early,
    /// When a barrier waits for them.
    Late,
}

/// How a document is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// The order of blocks.
    pub blocks: Blocks,
    /// When prefetches land.
    pub landing: Landing,
}

/// The most elements that are computed, all runs of nodes together.
const MOST: i64 = 1 << 32;

/// The most elements of all tensors, and of the tiles of a region, together; they take eight bytes each.
const MOST_HELD: i64 = 1 << 28;

/// Numbers by the name of their tensor.
pub type Tensors = BTreeMap<String, Vec<f64>>;

/// Why nothing was computed.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// The document is rejected.
    Rejected(Vec<Diagnostic>),
    /// It would take too long.
    TooLarge,
    /// An input is not there as it should be.
    Data(String),
}

/// Answers the method `compute`.
pub fn compute(text: &[u8]) -> Answer {
    match compute_text(text, Choices::default()) {
        Ok((diagnostics, answer)) => Answer::Accept { diagnostics, document: Some(answer.to_string()) },
        Err(Refused::Rejected(diagnostics)) => Answer::Reject { diagnostics },
        Err(Refused::TooLarge) => {
            let reason =
                format!("more than {MOST} elements would be computed, or more than {MOST_HELD} held");
            Answer::Unsupported { reason }
        }
        Err(Refused::Data(message)) => Answer::Failed { message },
    }
}

/// Runs the document of a text on the data that it carries: warnings, and the answer.
///
/// # Errors
/// See [`Refused`].
pub fn compute_text(text: &[u8], choices: Choices) -> Result<(Vec<Diagnostic>, Json), Refused> {
    let value = read_value(text).map_err(Refused::Rejected)?;
    let document = read(&value)
        .map_err(|faults| Refused::Rejected(faults.into_iter().map(Diagnostic::from).collect()))?;
    // Decoded when the document is accepted: what is rejected may lack all of it.
    let data = || {
        let named = value.get("data").ok_or_else(|| "the document has no member `data`".to_owned())?;
        inputs(&World::new(&document), named)
    };
    let (diagnostics, tensors) = compute_document(&document, &data, choices)?;
    let world = World::new(&document);
    let output = |&name: &u32| {
        let (of, name) = (format(world.value(name).dtype), world.name(name));
        let numbers = tensors.get(name).map(Vec::as_slice).unwrap_or_default();
        let bits: Vec<u32> = numbers.iter().map(|&number| encode(of, number)).collect();
        (name.to_owned(), json!(bits))
    };
    let outputs: serde_json::Map<String, Json> = document.outputs.iter().map(output).collect();
    Ok((diagnostics, json!({"data": outputs})))
}

/// Runs a document: warnings, and what its tensors hold in the end.
///
/// # Errors
/// See [`Refused`].
pub fn compute_document(
    document: &Document,
    inputs: &dyn Fn() -> Result<Tensors, String>,
    choices: Choices,
) -> Result<(Vec<Diagnostic>, Tensors), Refused> {
    let world = World::new(document);
    let mut findings = Findings::default();
    let judged = judge(&world, &mut findings);
    let diagnostics = findings.into_parts().0;
    let Some((regions, _)) = judged else { return Err(Refused::Rejected(diagnostics)) };
    let plans: Vec<plan::Plan<'_>> = regions.iter().map(|region| plan::Plan::new(&world, region)).collect();
    let work = plans.iter().fold(0_i64, |work, plan| work.saturating_add(plan.work));
    let tensors = document.values.iter().filter(|value| !world.is_tile(value.name));
    let sizes =
        tensors.map(|value| value.shape.iter().fold(1_i64, |size, &extent| size.saturating_mul(extent)));
    let tiles = plans.iter().map(|plan| plan.held).max().unwrap_or(0);
    if work > MOST || sizes.fold(tiles, i64::saturating_add) > MOST_HELD {
        return Err(Refused::TooLarge);
    }
    let mut inputs = inputs().map_err(Refused::Data)?;
    let take = |value: &megakernel_mcir::Value| {
        inputs.remove(&document.names[value.name as usize]).unwrap_or_else(|| {
            let is_tensor = !world.is_tile(value.name);
            vec![f64::NAN; if is_tensor { plan::count(&value.shape) } else { 0 }]
        })
    };
    let mut memory: Vec<Vec<f64>> = document.values.iter().map(take).collect();
    for plan in &plans {
        run::Run::new(plan, &mut memory, choices).blocks();
    }
    let named = |(value, numbers): (&megakernel_mcir::Value, Vec<f64>)| {
        (document.names[value.name as usize].clone(), numbers)
    };
    Ok((diagnostics, document.values.iter().zip(memory).map(named).collect()))
}

/// The dtype as conversions know it.
pub(crate) fn format(dtype: Dtype) -> DType {
    match dtype {
        Dtype::F32 => DType::F32,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
    }
}

/// The numbers of the inputs, from their bits.
fn inputs(world: &World<'_>, named: &Json) -> Result<Tensors, String> {
    let bits = |text: &str| -> Option<Vec<u32>> {
        let found = named.get(text)?.as_array()?.iter();
        found.map(|bits| bits.as_i64().and_then(|bits| u32::try_from(bits).ok())).collect()
    };
    let mut all = Tensors::new();
    for &name in &world.document.inputs {
        let (value, text) = (world.value(name), world.name(name));
        let (of, count) = (format(value.dtype), plan::count(&value.shape));
        let found = bits(text).filter(|bits| {
            bits.len() == count && (value.dtype == Dtype::F32 || bits.iter().all(|&bits| bits <= 0xFFFF))
        });
        let Some(found) = found else {
            let dtype = value.dtype.name();
            return Err(format!("`data` needs {count} elements of `{text}`, the bits of {dtype} each"));
        };
        all.insert(text.to_owned(), found.into_iter().map(|bits| decode(of, bits)).collect());
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
