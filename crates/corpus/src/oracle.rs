//! What the generator asks of the reference: values and bounds, never a verdict.
//!
//! The numbers that a correct implementation may yield are too many to declare by hand, so an oracle computes them. It is behind
//! a trait because this crate does not depend on the reference: whoever generates the corpus passes one in.

use std::collections::BTreeMap;

use megakernel_conformance::oracle::Expected;
use megakernel_ir::protocol::Accumulator;
use megakernel_numerics::Tensor;

/// One launch of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The program's text.
    pub document: Vec<u8>,
    /// What binds its buffers: WEIGHT and CONST by `source`, else by `name`; IO_INPUT by `name`; in the first launch
    /// also KV_CACHE by `name`.
    pub tensors: BTreeMap<String, Tensor>,
}

/// Runs programs and says what comes out, with bounds.
pub trait Oracle: Sync {
    /// Runs a session. For each launch: every `IO_OUTPUT` and `KV_CACHE` by name, as it is after the launch.
    ///
    /// # Errors
    /// A program breaks a rule, or a buffer is not bound as it should be.
    fn run(
        &self,
        launches: &[Launch],
        accumulator: Accumulator,
    ) -> Result<Vec<BTreeMap<String, Expected>>, String>;
}
