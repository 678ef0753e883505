//! What was executed, by opcode and dtype.

use megakernel_ir::Opcode;
use serde::Serialize;

use crate::execution::{Key, Row};

/// A line of what was executed. A case counts once in each line that it has to do with.
#[derive(Clone, Debug, Serialize)]
pub struct ExecutedResult {
    /// The opcode; absent for programs of several opcodes, which are judged as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opcode: Option<&'static str>,
    /// Element type of what was judged.
    pub dtype: &'static str,
    /// Cases played.
    pub cases: usize,
    /// Those of them that failed because of it.
    pub failed: usize,
    /// The largest error of an admitted element as a share of its bound, 0 to 1; absent where only integers were judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tightness: Option<f64>,
}

impl ExecutedResult {
    pub(super) fn new((opcode, dtype): Key, row: Row) -> ExecutedResult {
        ExecutedResult {
            opcode: opcode.map(Opcode::name),
            dtype: dtype.name(),
            cases: row.cases,
            failed: row.failed,
            tightness: row.share,
        }
    }
}
