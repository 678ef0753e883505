//! Certificates: which seeded faults a case rejects, found by executing it with each of them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use megakernel_adequacy::faults::{self, Fault, Watch};
use megakernel_adequacy::kernels::Kernels;
use megakernel_adequacy::launch::{self, session};
use megakernel_conformance::oracle::Expected;
use megakernel_corpus::generate::{Outputs, ToCertify};
use megakernel_ir::model::Program;
use megakernel_ir::protocol::Accumulator;
use megakernel_ir::{DType, Opcode};
use megakernel_numerics::Tensor;
use megakernel_numerics::{compare, compare_ints};

/// The ids of the faults that are rejected, in order.
///
/// # Errors
/// The implementation without a fault is rejected as well, so that the case would tell nothing.
pub fn certify(executed: &ToCertify<'_>) -> Result<Vec<String>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("the certificate: {error}");
    let prepared: Result<Vec<launch::Launch<'_>>, _> =
        executed.launches.iter().map(|each| launch::Launch::new(&each.document, &each.tensors)).collect();
    let prepared = prepared.map_err(|error| failed(&error))?;
    let watch = Watch::default();
    if let Some(what) = rejected(&watch, &prepared, executed.binary32) {
        return Err(format!("the certificate: an implementation without faults is rejected: {what}"));
    }
    let used: BTreeSet<Opcode> =
        prepared.iter().flat_map(|each| each.program().tasks.iter().map(|task| task.op)).collect();
    let concerns =
        |fault: &&Fault| fault.is_of_launches() || fault.opcodes.iter().any(|op| used.contains(op));
    let seen = watch.seen();
    let caught = faults::ALL.iter().filter(concerns).filter(|fault| fault.can_show(&seen));
    let caught = caught.filter(|fault| {
        let expected = match fault.accumulator {
            Accumulator::Binary32 => executed.binary32,
            Accumulator::Truncating => executed.truncating,
        };
        rejected(fault.kernels, &prepared, expected).is_some()
    });
    Ok(caught.map(|fault| fault.id.to_owned()).collect())
}

/// What is wrong with the first buffer that is, if one is. A run that does not come to its end is rejected too.
fn rejected(kernels: &dyn Kernels, launches: &[launch::Launch<'_>], expected: &[Outputs]) -> Option<String> {
    let outputs = match session(kernels, launches) {
        Ok(outputs) => outputs,
        Err(error) => return Some(error.to_string()),
    };
    let mut judged = launches.iter().zip(&outputs).zip(expected);
    judged.find_map(|((launch, found), expected)| first_wrong(launch.program(), found, expected))
}

fn first_wrong(
    program: &Program<'_>,
    found: &BTreeMap<String, Tensor>,
    expected: &Outputs,
) -> Option<String> {
    expected.iter().find_map(|(name, expected)| {
        let Some(tensor) = found.get(name) else { return Some(format!("`{name}` is missing")) };
        let judged = match expected {
            Expected::Reals { values, bounds } => compare(tensor, values, bounds).map(|_| ()),
            Expected::Ints(values) => compare_ints(&unpacked(program, name, tensor), values),
        };
        judged.err().map(|mismatch| format!("`{name}`: {mismatch}"))
    })
}

/// An I4 buffer as such: it travels as the bytes it is packed in (clause NUM-11).
fn unpacked<'t>(program: &Program<'_>, name: &str, tensor: &'t Tensor) -> Cow<'t, Tensor> {
    let buffer = program.buffers.iter().find(|buffer| *buffer.name == *name && buffer.dtype == DType::I4);
    let shape = buffer.map(|buffer| buffer.shape.iter().map(|extent| extent.unsigned_abs()).collect());
    let whole = shape.and_then(|shape| Tensor::new(DType::I4, shape, tensor.bytes.clone()).ok());
    whole.map_or(Cow::Borrowed(tensor), Cow::Owned)
}
