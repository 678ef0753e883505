//! What was executed, by opcode and dtype.

use megakernel_ir::{DType, Opcode};
use serde::{Deserialize, Serialize};

use super::results::{Ended, Played};
use crate::execution::{Counts, Key, Sizes};
use crate::store::Corpus;

/// A line of what was executed. A case counts once in each line that it has to do with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutedResult {
    /// The opcode; absent for programs of several opcodes, which are judged as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opcode: Option<String>,
    /// Element type of what was judged.
    pub dtype: String,
    /// Cases played.
    pub cases: usize,
    /// Those of them that failed because of it.
    pub failed: usize,
    /// The largest error of an admitted element as a share of its bound, 0 to 1; absent where only integers were judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tightness: Option<f64>,
}

impl ExecutedResult {
    pub(super) fn new((opcode, dtype): Key, row: Counts) -> ExecutedResult {
        ExecutedResult {
            opcode: opcode.map(|opcode: Opcode| opcode.name().to_owned()),
            dtype: dtype.name().to_owned(),
            cases: row.cases,
            failed: row.failed,
            tightness: row.share,
        }
    }

    /// Adds the same line of another part of a run.
    pub(super) fn add(&mut self, other: &ExecutedResult) {
        self.cases += other.cases;
        self.failed += other.failed;
        self.tightness = match (self.tightness, other.tightness) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (one, other) => one.or(other),
        };
    }

    /// What decides where it stands: opcodes in their order, and programs of several last.
    pub(super) fn key(&self) -> (bool, Option<Opcode>, Option<DType>) {
        let opcode = self.opcode.as_deref().and_then(Opcode::from_name);
        (opcode.is_none(), opcode, DType::from_name(&self.dtype))
    }
}

/// How far what was executed reaches in an axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeResult {
    /// The opcode; absent for what is of programs as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opcode: Option<String>,
    /// The axis, in words.
    pub axis: String,
    /// The largest extent in a program of a case that passed.
    pub up_to: u64,
}

impl SizeResult {
    /// Those of the programs of cases that passed.
    pub(super) fn of_passed(corpus: &Corpus, results: &[Played<'_>]) -> Vec<SizeResult> {
        let mut sizes = Sizes::default();
        for (unit, ended) in results.iter().filter(|(unit, _)| unit.case.execute.is_some()) {
            if matches!(ended, Ended::Passed) {
                sizes.extend(Sizes::of(corpus, unit.case));
            }
        }
        let result = |(opcode, axis, up_to): (Option<Opcode>, &str, u64)| SizeResult {
            opcode: opcode.map(|opcode| opcode.name().to_owned()),
            axis: axis.to_owned(),
            up_to,
        };
        sizes.rows().into_iter().map(result).collect()
    }

    /// The sizes of models, over all opcodes, in words: what a reader looks for first.
    pub fn of_models(sizes: &[SizeResult]) -> Vec<String> {
        const MODELS: [&str; 5] = ["hidden", "K", "head_dim", "window", "vocabulary"];
        let largest = |axis: &str| sizes.iter().filter(|size| size.axis == axis).map(|size| size.up_to).max();
        MODELS.iter().filter_map(|axis| Some(format!("{axis} {}", largest(axis)?))).collect()
    }
}
