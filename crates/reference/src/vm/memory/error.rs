//! Why a launch does not begin: its buffers could not be bound.

use std::fmt;

use megakernel_ir::{BufferId, BufferKind, DType};

/// Why a buffer could not be given its contents.
#[derive(Clone, Debug, PartialEq)]
pub enum BindError {
    /// Nothing of that name was given.
    Missing {
        /// The buffer.
        buffer: BufferId,
        /// Its kind.
        kind: BufferKind,
        /// The name that was looked for: the buffer's `source` or `name`.
        key: String,
    },
    /// What was given has another dtype or shape.
    Differs {
        /// The buffer.
        buffer: BufferId,
        /// The name.
        key: String,
        /// Dtype and shape given.
        found: (DType, Vec<u64>),
        /// Dtype and shape of the buffer.
        required: (DType, Vec<u64>),
    },
    /// A cache had another dtype or shape in the launch before.
    CacheChanged {
        /// The buffer.
        buffer: BufferId,
        /// Its name.
        name: String,
        /// Dtype and shape before.
        before: (DType, Vec<i64>),
        /// Dtype and shape now.
        now: (DType, Vec<i64>),
    },
    /// The buffers do not fit into memory.
    TooLarge {
        /// Elements of all buffers that are used.
        elements: u64,
        /// The most that are taken.
        limit: u64,
    },
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindError::Missing { buffer, kind, key } => {
                write!(f, "no tensor `{key}` for buffer {buffer}, which is {kind}")
            }
            BindError::Differs { buffer, key, found, required } => write!(
                f,
                "tensor `{key}` is {} {:?}; buffer {buffer} requires {} {:?}",
                found.0, found.1, required.0, required.1
            ),
            BindError::CacheChanged { buffer, name, before, now } => write!(
                f,
                "cache `{name}` (buffer {buffer}) was {} {:?} in the launch before and is {} {:?} now",
                before.0, before.1, now.0, now.1
            ),
            BindError::TooLarge { elements, limit } => {
                write!(f, "the program's buffers have {elements} elements; at most {limit} are executed")
            }
        }
    }
}

impl std::error::Error for BindError {}
