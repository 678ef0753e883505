use std::fmt;

use crate::DType;

/// Why a tensor, or a file of tensors, is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TensorError {
    /// The bytes do not fit dtype and shape.
    Size {
        /// Type of each element.
        dtype: DType,
        /// Extents.
        shape: Vec<u64>,
        /// Bytes found.
        found: usize,
        /// Bytes that dtype and shape need.
        required: usize,
    },
    /// The number of values does not fit the shape.
    Count {
        /// Extents.
        shape: Vec<u64>,
        /// Values found.
        found: usize,
        /// Values that the shape needs.
        required: u64,
    },
    /// More bytes than memory can hold.
    TooLarge {
        /// Type of each element.
        dtype: DType,
        /// Extents.
        shape: Vec<u64>,
    },
    /// Reals for a dtype that holds none.
    NotFloat {
        /// The dtype.
        dtype: DType,
    },
    /// Integers for a float dtype.
    NotInteger {
        /// The dtype.
        dtype: DType,
    },
    /// An integer that the dtype does not have.
    OutOfRange {
        /// The dtype.
        dtype: DType,
        /// The integer.
        value: i64,
    },
    /// The file ends within its header.
    Truncated {
        /// Bytes of the file.
        found: usize,
        /// Bytes that its start asks for.
        required: u64,
    },
    /// The data behind the header are more or less than the header says.
    DataSize {
        /// Bytes behind the header.
        found: usize,
        /// Bytes that the header says.
        required: usize,
    },
    /// The file breaks the format in another way.
    Malformed(String),
    /// A tensor of a type that no buffer has.
    Unsupported {
        /// Name of the tensor.
        name: String,
        /// Its type as the file says it.
        dtype: String,
    },
    /// A tensor has the name that the format keeps for metadata.
    Reserved,
    /// There is no tensor with this name.
    Missing {
        /// The name.
        name: String,
        /// The names that there are.
        present: Vec<String>,
    },
    /// A tensor has another dtype or shape than it must have.
    Differs {
        /// Name of the tensor.
        name: String,
        /// Its dtype and shape.
        found: String,
        /// Those of the buffer.
        required: String,
    },
}

impl fmt::Display for TensorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TensorError::Size { dtype, shape, found, required } => {
                write!(f, "{found} bytes for {dtype} {shape:?}, which needs {required}")
            }
            TensorError::Count { shape, found, required } => {
                write!(f, "{found} values for shape {shape:?}, which needs {required}")
            }
            TensorError::TooLarge { dtype, shape } => {
                write!(f, "{dtype} {shape:?} is too large for any memory")
            }
            TensorError::NotFloat { dtype } => write!(f, "{dtype} holds integers, not reals"),
            TensorError::NotInteger { dtype } => write!(f, "{dtype} holds reals, not integers"),
            TensorError::OutOfRange { dtype, value } => write!(f, "{value} is no {dtype}"),
            TensorError::Truncated { found, required } => {
                write!(f, "the file ends in its header: it has {found} bytes and needs {required}")
            }
            TensorError::DataSize { found, required } => {
                write!(f, "the file has {found} bytes of data, its header says {required}")
            }
            TensorError::Malformed(what) => write!(f, "not a safetensors file: {what}"),
            TensorError::Unsupported { name, dtype } => {
                write!(f, "tensor `{name}` has type {dtype}, which no buffer has")
            }
            TensorError::Reserved => f.write_str(
                "no tensor can be stored by the name `__metadata__`, which the format keeps for itself",
            ),
            TensorError::Missing { name, present } if present.is_empty() => {
                write!(f, "tensor `{name}` is missing: the file is empty")
            }
            TensorError::Missing { name, present } => {
                write!(f, "tensor `{name}` is missing: the file has ")?;
                for (n, name) in present.iter().take(8).enumerate() {
                    write!(f, "{}`{name}`", if n == 0 { "" } else { ", " })?;
                }
                if present.len() > 8 { write!(f, " and {} more", present.len() - 8) } else { Ok(()) }
            }
            TensorError::Differs { name, found, required } => {
                write!(f, "tensor `{name}` is {found}, required is {required}")
            }
        }
    }
}

impl std::error::Error for TensorError {}
