//! Tensors in memory, and files of tensors in the safetensors format (clause NUM-11).

mod error;
mod file;

pub use error::TensorError;
pub use file::{Stored, TensorFile};

use crate::DType;
use crate::{decode, elements, encode, pack};

/// The contents of a buffer: row-major, little-endian, packed as DAT-02 says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Type of each element.
    pub dtype: DType,
    /// Extents, outermost first; empty for a scalar.
    pub shape: Vec<u64>,
    /// As many bytes as dtype and shape need.
    pub bytes: Vec<u8>,
}

impl Tensor {
    /// A tensor of the bytes given.
    pub fn new(dtype: DType, shape: Vec<u64>, bytes: Vec<u8>) -> Result<Tensor, TensorError> {
        let required = nbytes(dtype, &shape)?;
        if bytes.len() != required {
            return Err(TensorError::Size { dtype, shape, found: bytes.len(), required });
        }
        Ok(Tensor { dtype, shape, bytes })
    }

    /// A tensor of zeros.
    pub fn zeros(dtype: DType, shape: Vec<u64>) -> Result<Tensor, TensorError> {
        let size = nbytes(dtype, &shape)?;
        Ok(Tensor { dtype, shape, bytes: vec![0; size] })
    }

    /// A tensor of a float dtype from reals in row-major order, each correctly rounded.
    pub fn from_reals(dtype: DType, shape: Vec<u64>, values: &[f64]) -> Result<Tensor, TensorError> {
        if !dtype.is_float() {
            return Err(TensorError::NotFloat { dtype });
        }
        count(dtype, &shape, values.len())?;
        let bytes = pack(dtype, values.iter().map(|&value| encode(dtype, value)));
        Tensor::new(dtype, shape, bytes)
    }

    /// A tensor of an integer dtype or BOOL from integers in row-major order. An I4 is a nibble, 0 to 15 or -8 to 7.
    pub fn from_ints(dtype: DType, shape: Vec<u64>, values: &[i64]) -> Result<Tensor, TensorError> {
        let range = match dtype {
            DType::I32 => i64::from(i32::MIN)..=i64::from(i32::MAX),
            DType::I8 => -128..=127,
            DType::I4 => -8..=15,
            DType::U8 => 0..=255,
            DType::Bool => 0..=1,
            _ => return Err(TensorError::NotInteger { dtype }),
        };
        count(dtype, &shape, values.len())?;
        if let Some(&value) = values.iter().find(|value| !range.contains(value)) {
            return Err(TensorError::OutOfRange { dtype, value });
        }
        let bytes = pack(dtype, values.iter().map(|&value| value as u32));
        Tensor::new(dtype, shape, bytes)
    }

    /// Number of elements.
    pub fn numel(&self) -> u64 {
        numel(&self.shape).unwrap_or(u64::MAX)
    }

    /// Number of bytes.
    pub fn nbytes(&self) -> usize {
        self.bytes.len()
    }

    /// The bits of every element, in row-major order.
    pub fn elements(&self) -> Vec<u32> {
        let mut elements = elements(self.dtype, &self.bytes);
        // The nibble behind an odd number of I4.
        elements.truncate(usize::try_from(self.numel()).unwrap_or(usize::MAX));
        elements
    }

    /// The value of every element as a real, in row-major order; see [`decode`].
    pub fn reals(&self) -> Vec<f64> {
        self.elements().into_iter().map(|bits| decode(self.dtype, bits)).collect()
    }

    /// The value of every element of an integer dtype or BOOL, in row-major order. I4 gives raw nibbles, 0 to 15. Of a
    /// float dtype, the bits.
    pub fn ints(&self) -> Vec<i64> {
        let int =
            |bits| if self.dtype.is_float() { i64::from(bits) } else { decode(self.dtype, bits) as i64 };
        self.elements().into_iter().map(int).collect()
    }
}

/// Product of the extents; 1 for a scalar.
fn numel(shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(1u64, |product, &extent| product.checked_mul(extent))
}

/// Bytes of a buffer.
fn nbytes(dtype: DType, shape: &[u64]) -> Result<usize, TensorError> {
    let size = numel(shape).and_then(|count| usize::try_from(dtype.nbytes(count)).ok());
    // No memory holds more than this.
    size.filter(|&size| size <= isize::MAX as usize)
        .ok_or_else(|| TensorError::TooLarge { dtype, shape: shape.to_vec() })
}

/// Checks a number of values against a shape, before anything is made of them.
fn count(dtype: DType, shape: &[u64], found: usize) -> Result<(), TensorError> {
    nbytes(dtype, shape)?;
    match numel(shape) {
        Some(required) if required == found as u64 => Ok(()),
        required => {
            let required = required.unwrap_or(u64::MAX);
            Err(TensorError::Count { shape: shape.to_vec(), found, required })
        }
    }
}
