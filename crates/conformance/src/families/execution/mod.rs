//! Execution cases: whole programs, and sessions of several launches.
//!
//! | family | programs |
//! | --- | --- |
//! | `execution/blocks` | one launch: MLP and attention blocks, in every storage of weights, over preset caches |
//! | `execution/decode` | decoders over up to 12 launches, each fed the token that the one before picked |
//! | `execution/exact` | small integers, or elements that are only moved: nothing is left to rounding, so one element out of place anywhere shows |
//! | `execution/order` | exact as well: programs whose result tells in which order the tasks ran, and what they found |
//!
//! **How far bounds reach.** The bound of a program grows with its depth, and where a 16-bit activation lies close to
//! the border between two of its values, it grows to one of its ulps. The tests of the generator print and limit the
//! largest bound, as a share of the largest value of its buffer. It stays below 1e-4 for programs in F32. Blocks in F16
//! and BF16 reach a few ulps of their type, as a wrong element would not; decoders in these types would not say more
//! than that the numbers are of the right size, and so those here are exact.
//!
//! What the bound of a deep program lets pass, the numeric cases of its opcodes do not, and traces do not either.

mod arrange;
mod blocks;
mod contents;
mod decode;
mod exact;
mod ledger;
mod order;
mod session;

use super::plan::Plan;
use crate::builder::Result;

/// Every execution case.
pub fn plans(seed: u64) -> Result<Vec<Plan>> {
    let mut plans = blocks::plans(seed)?;
    plans.extend(decode::plans(seed)?);
    plans.extend(exact::plans()?);
    plans.extend(order::plans()?);
    Ok(plans)
}

#[cfg(test)]
mod tests;
