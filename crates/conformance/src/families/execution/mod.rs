//! Execution cases: whole programs.

use super::plan::Plan;
use crate::builder::Result;

/// Every execution case.
pub fn plans(_seed: u64) -> Result<Vec<Plan>> {
    Ok(Vec::new())
}
