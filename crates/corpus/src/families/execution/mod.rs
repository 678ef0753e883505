//! Execution cases: whole programs, and sessions of several launches.
//!
//! | family | programs |
//! | --- | --- |
//! | `execution/blocks` | one launch: MLP and attention blocks, in every storage of weights, over preset caches |
//! | `execution/decode` | decoders over up to 12 launches, each fed the token that the one before picked |
//! | `execution/exact` | small integers, or elements that are only moved: nothing is left to rounding, so one element out of place anywhere shows |
//! | `execution/order` | exact as well: programs whose result tells in which order the tasks ran, and what they found |
//! | `execution/binding` | exact as well: sessions whose launches differ in buffers, tasks and weights; what is bound to what, and what lasts |
//! | `execution/several` | one launch: one opcode writes several dtypes |
//! | `execution/spaces` | exact as well, but for ROPE with several bases: buffers of every space and kind, with and without pages, and what caches carry |
//! | `execution/litmus` | exact as well: programs whose result tells whether signal and wait order memory, on a device |
//!
//! **How far bounds reach.** A bound grows with the depth of a program. Of the largest value of its buffer, it is at most
//!
//! | programs | bound |
//! | --- | --- |
//! | blocks in F32, and programs of `several` | 1e-4 |
//! | blocks in F16 and BF16, where an activation close to the border between two values counts as either | 5e-3 |
//! | decoders of one layer in F32 | 3e-4 |
//! | decoders of two layers in F32 | 3e-3 |
//! | decoders of one layer in F16 and BF16 | 1e-2 |
//! | ROPE with several bases | 1e-3 |
//!
//! Wrong elements, rows or steps change a result by 1e-2 and more. A second layer in 16 bits would leave little to
//! judge, and there is none. `xtask` tests these limits. What the bound of a deep program lets pass, the numeric cases of
//! its opcodes do not, and traces do not either.

mod arrange;
mod binding;
mod blocks;
mod contents;
mod decode;
mod exact;
mod exact_decoder;
mod ledger;
mod litmus;
mod order;
mod session;
mod several;
mod spaces;

use super::plan::{Draws, Plan};
use crate::builder::Result;

/// Every execution case.
pub fn plans(seed: u64, draws: &Draws) -> Result<Vec<Plan>> {
    let mut plans = blocks::plans(seed)?;
    plans.extend(decode::plans(seed, draws)?);
    plans.extend(exact::plans()?);
    plans.extend(exact_decoder::plans()?);
    plans.extend(order::plans()?);
    plans.extend(litmus::plans()?);
    plans.extend(binding::plans()?);
    plans.extend(several::plans(seed)?);
    plans.extend(spaces::plans()?);
    Ok(plans)
}

#[cfg(test)]
mod tests;
