//! Judges what a launch left behind.

use std::fmt::Write as _;

use megakernel_ir::DType;
use megakernel_numerics::{self as numerics, Admitted, Wrong, compare, compare_ints};
use megakernel_numerics::{Tensor, TensorError, TensorFile};

use super::{Elements, Expectation, Fault};
use crate::judge::Mismatch;
use crate::oracle::Expected;
use crate::text::excerpt;

/// A buffer that passed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// Its element type.
    pub dtype: DType,
    /// The largest share of the bound that an element used; nothing where all are exact by definition, as integers.
    pub share: Option<f64>,
}

/// Judges the file that an implementation wrote after a launch. What it has besides is left out of account.
///
/// `place` begins the message, such as `launch 0`.
///
/// # Errors
/// The first buffer that is missing, of another dtype or shape, or wrong.
pub fn outputs(place: &str, expectations: &[Expectation], file: &TensorFile) -> Result<Vec<Judged>, Fault> {
    let mut judged = Vec::with_capacity(expectations.len());
    for Expectation { name, dtype, shape, expected } in expectations {
        let what = format!("{place}, `{}`", excerpt(name.as_bytes()));
        let tensor = file.buffer(name, *dtype, shape).map_err(|error| {
            let required = format!("{what}: {dtype} {shape:?}{}", packed(*dtype));
            Fault::of_file(required, excerpt(error.to_string().as_bytes()))
        })?;
        let share = judge(&tensor, expected).map_err(|wrong| {
            let mut mismatch = in_words(&what, &wrong, &[]);
            mismatch.elements = Some(Box::new(Elements::of(name, &tensor, expected)));
            Fault { mismatch, key: Some((None, *dtype)), class: None }
        })?;
        judged.push(Judged { dtype: *dtype, share });
    }
    Ok(judged)
}

/// A file that is no file of tensors.
pub(super) fn unreadable(required: &str, error: &TensorError) -> Fault {
    Fault::of_file(required, format!("a file that cannot be read: {}", excerpt(error.to_string().as_bytes())))
}

fn packed(dtype: DType) -> &'static str {
    if dtype == DType::I4 { ", as U8 of rank 1" } else { "" }
}

/// Compares a tensor with what it has to hold; gives the largest share of a bound.
pub(super) fn judge(tensor: &Tensor, expected: &Expected) -> Result<Option<f64>, numerics::Mismatch> {
    match expected {
        Expected::Reals { values, bounds } => {
            compare(tensor, values, bounds).map(|tightness| Some(tightness.share))
        }
        Expected::Ints(values) => compare_ints(tensor, values).map(|()| None),
    }
}

/// Says what is wrong. `from` is where the tensor begins in its buffer.
pub(super) fn in_words(what: &str, wrong: &numerics::Mismatch, from: &[u64]) -> Mismatch {
    let wrong = match wrong {
        numerics::Mismatch::Elements(wrong) => wrong,
        // Shapes were compared before, so only a faulty oracle gets here.
        lengths @ numerics::Mismatch::Lengths { .. } => {
            return Mismatch::new(what, lengths.to_string());
        }
    };
    let Wrong { at, bits, got, admitted, wrong, of, worst, .. } = wrong;
    let at: Vec<u64> = at
        .iter()
        .enumerate()
        .map(|(axis, &index)| index.saturating_add(from.get(axis).copied().unwrap_or(0)))
        .collect();
    let tensor_of_ints = matches!(admitted, Admitted::Int(_));
    let admitted = match admitted {
        Admitted::Int(required) => required.to_string(),
        Admitted::Real { reference, bound, interval } => {
            format!("{interval} (reference {reference:?}, bound {bound:?})")
        }
    };
    let got = if tensor_of_ints { format!("{got}") } else { format!("{got:?}") };
    let mut actual = format!("{got} (bits {bits:#x}); {wrong} of {of} elements are wrong");
    if worst.is_finite() && *worst > 1.0 {
        // Writing to a string cannot fail.
        let _ = write!(actual, ", the worst by {worst:.3} times its bound");
    }
    Mismatch::new(format!("{what} {at:?}: {admitted}"), actual)
}
