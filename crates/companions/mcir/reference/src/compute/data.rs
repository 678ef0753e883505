//! Data for documents that have none (clause MCI-17).

use megakernel_ir::Diagnostic;
use megakernel_ir::prng::SplitMix64;
use megakernel_numerics::encode;
use serde_json::{Map, Value as Json, json};

use crate::validate::read_document;

/// The most elements that [`with_data`] draws for a document.
pub const MOST: usize = 1 << 22;

/// What a document is not given data for.
#[derive(Debug)]
pub enum NoData {
    /// It is no document, for this.
    Rejected(Vec<Diagnostic>),
    /// So many elements are too many.
    TooLarge(usize),
}

/// The document of a text with a member `data`: of each input all elements, multiples of 1/64 from -1 to 1, which every dtype has.
///
/// # Errors
/// See [`NoData`].
pub fn with_data(text: &[u8], seed: u64) -> Result<Json, NoData> {
    let document = read_document(text).map_err(NoData::Rejected)?;
    let mut data = Map::new();
    let mut left = MOST;
    for &name in &document.inputs {
        let Some(value) = document.values.iter().find(|value| value.name == name) else { continue };
        let text = &document.names[name as usize];
        // Nobody has judged the document yet.
        let extents = value.shape.iter().map(|&extent| usize::try_from(extent).unwrap_or(0));
        let count = extents.fold(1_usize, usize::saturating_mul);
        left = left.checked_sub(count).ok_or(NoData::TooLarge(count))?;
        let mut draws = SplitMix64::for_family(&format!("mcir/data/{text}"), seed);
        let mut bits = || {
            let drawn = i64::try_from(draws.below(129)).unwrap_or(0) - 64;
            encode(super::format(value.dtype), drawn as f64 / 64.0)
        };
        data.insert(text.clone(), json!((0..count).map(|_| bits()).collect::<Vec<u32>>()));
    }
    // A document is an object.
    let mut whole: Json = serde_json::from_slice(text).unwrap_or_default();
    whole["data"] = Json::Object(data);
    Ok(whole)
}
