//! A case that executes, ready to be played in process to any number of implementations.

use std::collections::{BTreeMap, BTreeSet};

use crate::faults::Fault;
use crate::kernels::Kernels;
use crate::launch::{Launch, session};
use megakernel_conformance::case::Case;
use megakernel_conformance::execution::{self, Bound, Expectation, Session, outputs};
use megakernel_conformance::oracle::Expected;
use megakernel_conformance::store::Corpus;
use megakernel_ir::model::Program;
use megakernel_ir::protocol::Accumulator;
use megakernel_ir::{DType, Opcode, Param};
use megakernel_numerics::{Mismatch, compare};
use megakernel_numerics::{Stored, Tensor, TensorFile};

use super::Line;

/// What an implementation makes of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Played {
    /// All that is judged passes; the largest share of its bound that an element uses.
    Passed(f64),
    /// The first buffer that is wrong, and by how many times its bound.
    Failed {
        /// As the runner says it.
        what: String,
        /// The largest error of an element over its bound; infinite where nothing but one result is admitted.
        worst: f64,
    },
}

/// A case in memory.
pub struct Subject<'a> {
    launches: Vec<Launch<'a>>,
    /// For each launch.
    binary32: Vec<Vec<Expectation>>,
    /// The same for a truncating accumulator.
    truncating: Vec<Vec<Expectation>>,
    /// The only opcode besides NOP, if there is only one.
    pub opcode: Option<Opcode>,
    /// What each opcode writes, NOP aside.
    pub writes: BTreeMap<Opcode, BTreeSet<DType>>,
    /// The longest sum of a matrix product.
    pub columns: i64,
}

impl<'a> Subject<'a> {
    /// Reads a case of a corpus.
    ///
    /// # Errors
    /// The corpus is broken.
    pub fn of_case(corpus: &Corpus, case: &Case, documents: &'a [Vec<u8>]) -> Result<Subject<'a>, String> {
        let failed = |cause: &dyn std::fmt::Display| format!("case `{}`: {cause}", case.id);
        let session = Session::new(corpus, case, documents).map_err(|cause| failed(&cause))?;
        let mut launches = Vec::new();
        for (prepared, document) in session.launches.iter().zip(documents) {
            let Bound { mut tensors, caches } = session.bound(prepared).map_err(|cause| failed(&cause))?;
            // As a worker finds them in its files, where a name has one tensor.
            tensors.extend(caches);
            launches.push(Launch::new(document, &tensors).map_err(|cause| failed(&cause))?);
        }
        let expectations = |accumulator| session.expectations(accumulator).map_err(|cause: _| failed(&cause));
        let binary32 = expectations(Accumulator::Binary32)?;
        let truncating = expectations(Accumulator::Truncating)?;
        Ok(Subject::new(launches, binary32, truncating))
    }

    fn new(
        launches: Vec<Launch<'a>>,
        binary32: Vec<Vec<Expectation>>,
        truncating: Vec<Vec<Expectation>>,
    ) -> Subject<'a> {
        let mut writes: BTreeMap<Opcode, BTreeSet<DType>> = BTreeMap::new();
        for program in launches.iter().map(Launch::program) {
            for task in program.tasks.iter().filter(|task| task.op != Opcode::Nop) {
                let outputs = task.outputs.iter().filter_map(|&id| usize::try_from(id).ok());
                let dtypes = outputs.filter_map(|id| program.buffers.get(id)).map(|buffer| buffer.dtype);
                writes.entry(task.op).or_default().extend(dtypes);
            }
        }
        let opcode = writes.keys().next().copied().filter(|_| writes.len() == 1);
        let long =
            |program: &Program<'_>| program.tasks.iter().filter_map(|task| task.params.int(Param::K)).max();
        let columns = launches.iter().filter_map(|launch| long(launch.program())).max().unwrap_or_default();
        Subject { launches, binary32, truncating, opcode, writes, columns }
    }

    /// What an implementation with this accumulator makes of it.
    pub fn play(&self, kernels: &dyn Kernels, accumulator: Accumulator) -> Played {
        let expectations = match accumulator {
            Accumulator::Binary32 => &self.binary32,
            Accumulator::Truncating => &self.truncating,
        };
        let left = match session(kernels, &self.launches) {
            Ok(left) => left,
            Err(cause) => return Played::Failed { what: cause.to_string(), worst: f64::INFINITY },
        };
        let mut largest = 0f64;
        for (n, (expectations, left)) in expectations.iter().zip(left).enumerate() {
            let tensors = left.into_iter().map(|(name, tensor)| (name, Stored::Buffer(tensor))).collect();
            let file = TensorFile { tensors };
            match outputs(&format!("launch {n}"), expectations, &file) {
                Ok(judged) => {
                    largest = judged.iter().filter_map(|judged| judged.share).fold(largest, f64::max)
                }
                Err(execution::Fault { mismatch, .. }) => {
                    let what = format!("{}; found {}", mismatch.expected, mismatch.actual);
                    return Played::Failed { what, worst: worst(expectations, &file) };
                }
            }
        }
        Played::Passed(largest)
    }

    /// Where its tightness counts.
    pub fn lines(&self) -> BTreeSet<Line> {
        self.binary32.iter().flatten().map(|expectation| (self.opcode, expectation.dtype)).collect()
    }

    /// Whether the fault can show in this case.
    pub fn concerns(&self, fault: &Fault) -> bool {
        if fault.is_of_launches() {
            return true;
        }
        fault.opcodes.iter().any(|opcode| self.writes.contains_key(opcode))
    }

    /// The element type under which a rejection of the fault counts: that of what the affected opcodes write, if it is
    /// one only.
    pub fn counts_for(&self, fault: &Fault) -> Option<DType> {
        let written: BTreeSet<DType> =
            fault.opcodes.iter().filter_map(|opcode| self.writes.get(opcode)).flatten().copied().collect();
        written.first().copied().filter(|dtype| written.len() == 1 && super::report::has_column(*dtype))
    }
}

/// By how many times its bound the worst element of a launch is off.
fn worst(expectations: &[Expectation], file: &TensorFile) -> f64 {
    let off = |expectation: &Expectation| {
        let Expectation { name, dtype, shape, expected } = expectation;
        let Ok(tensor) = file.buffer(name, *dtype, shape) else { return f64::INFINITY };
        match expected {
            Expected::Reals { values, bounds } => of_reals(&tensor, values, bounds),
            Expected::Ints(required) if tensor.ints() == *required => 0.0,
            Expected::Ints(_) => f64::INFINITY,
        }
    };
    let worst = expectations.iter().map(off).fold(0.0, f64::max);
    // The wrong side of a tie, or the other zero, is at no distance from what is admitted.
    if worst < 1.0 { f64::INFINITY } else { worst }
}

fn of_reals(tensor: &Tensor, values: &[f64], bounds: &[f64]) -> f64 {
    match compare(tensor, values, bounds) {
        Ok(_) => 0.0,
        Err(Mismatch::Elements(wrong)) => wrong.worst,
        Err(Mismatch::Lengths { .. }) => f64::INFINITY,
    }
}
