//! What the bits of an element mean, and which bits a correct result may have (clauses NUM-01 to NUM-04 and NUM-10).
//!
//! A float dtype is a set of reals, two zeros, NaN and perhaps infinities. [`encode`] is the only rounding: once, to
//! nearest, ties to even, from the exact value of a binary64. [`compare`] judges a tensor against a reference and a
//! bound; it applies the same rounding to both ends of the interval, so it needs no tolerance of its own.

mod compare;
mod convert;
mod dtype;
mod enumeration;

mod pack;
mod tensor;

pub use compare::{Admitted, Interval, Mismatch, Tightness, Wrong, compare, compare_ints, interval, share};
pub use convert::{FloatFormat, decode, encode, encode_f32, is_nan, ulp};
pub use dtype::DType;
pub use pack::{element, elements, pack};
#[doc(hidden)]
pub use serde;
pub use tensor::{Stored, Tensor, TensorError, TensorFile};
