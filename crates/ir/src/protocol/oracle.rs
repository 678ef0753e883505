//! How the runner talks with an oracle: a process that says what each task of a launch should write, with bounds.
//!
//! Traces are judged by such values. No implementation has to speak this protocol, and no clause is about it; the runner's own
//! oracle is `megakernel-reference oracle`. `docs/oracle.md` describes it for those who want another one.
//!
//! A message is a JSON object on a line, and then as many raw bytes as its members say. The runner asks, the oracle answers:
//!
//! ```text
//! -> {"type":"hello","oracle":"2"}
//! <- {"type":"hello","oracle":"2","name":"megakernel-reference","version":"0.1.0"}
//! -> {"type":"follow","accumulator":"binary32","program":5120,"tensors":[{"name":"x","dtype":"F32","shape":[4],"bytes":16}],"caches":[]}
//! <- {"type":"following","order":[0,1,2]}
//! -> {"type":"task","task":0}
//! <- {"type":"written","buffer":3,"region":[[0,4]],"numbers":"reals","elements":4}
//! -> {"type":"store","task":0,"tensor":{"dtype":"F32","shape":[4],"bytes":16}}
//! <- {"type":"stored"}
//! -> {"type":"buffer","buffer":3}
//! <- {"type":"holds","tensor":{"dtype":"F32","shape":[4],"bytes":16}}
//! ```

use std::io::{self, BufRead, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Accumulator;
use crate::DType;
use megakernel_numerics::Tensor;

/// Version of the messages.
pub const ORACLE: &str = "2";

/// The longest line of a message.
pub const LINE_LIMIT: u64 = 64 << 20;

/// What stands for an integer that is not specified; no dtype has it.
pub const OPEN: i64 = i64::MIN;

/// A tensor whose bytes follow: those of its elements, row-major, as in a tensor file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// Name of the buffer that it binds; empty where the message says which buffer is meant.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Name of the dtype.
    pub dtype: String,
    /// Extents.
    pub shape: Vec<u64>,
    /// Number of bytes.
    pub bytes: u64,
}

impl Bytes {
    /// Describes a tensor.
    pub fn of(name: &str, tensor: &Tensor) -> Bytes {
        let (dtype, shape) = (tensor.dtype.name().to_owned(), tensor.shape.clone());
        Bytes { name: name.to_owned(), dtype, shape, bytes: tensor.bytes.len() as u64 }
    }

    /// The tensor, whose bytes are taken from the front of `payload`.
    ///
    /// # Errors
    /// There is no such dtype, or these are not its bytes.
    pub fn take(&self, payload: &mut &[u8]) -> Result<Tensor, String> {
        let dtype =
            DType::from_name(&self.dtype).ok_or_else(|| format!("no dtype is named `{}`", self.dtype))?;
        let bytes = usize::try_from(self.bytes).ok().and_then(|bytes| payload.split_at_checked(bytes));
        let (own, rest) = bytes.ok_or("a tensor has fewer bytes than its message says")?;
        *payload = rest;
        Tensor::new(dtype, self.shape.clone(), own.to_vec()).map_err(|error| error.to_string())
    }
}

/// What the runner asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Request {
    /// The first message.
    Hello {
        /// [`ORACLE`].
        oracle: String,
    },
    /// Begin to follow a launch, and forget the one before. The text of the program follows, then the bytes of the tensors and of
    /// the caches.
    Follow {
        /// How the implementation adds up.
        accumulator: Accumulator,
        /// Bytes of the program's text.
        program: u64,
        /// What binds its weights, constants and inputs.
        tensors: Vec<Bytes>,
        /// What its caches hold. They are apart, since a buffer of another kind may be bound by the name of a cache, to a tensor
        /// that the cache has not held since the first launch.
        caches: Vec<Bytes>,
    },
    /// What a task should write, from what memory holds now.
    Task {
        /// Its id.
        task: usize,
    },
    /// Put what the implementation says that a task wrote into memory. The elements follow.
    Store {
        /// Its id.
        task: usize,
        /// The box that it wrote.
        tensor: Bytes,
    },
    /// What a buffer holds now.
    Buffer {
        /// Its id.
        buffer: usize,
    },
}

/// What the oracle answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Answer {
    /// To the first message.
    Hello {
        /// [`ORACLE`].
        oracle: String,
        /// Name of the oracle.
        name: String,
        /// Its version.
        version: String,
    },
    /// The launch is followed.
    Following {
        /// The ids of all tasks, each after those that it depends on.
        order: Vec<usize>,
    },
    /// The task writes nothing.
    Nothing,
    /// What the task should write. References and bounds follow, or integers: 8 bytes each, little-endian.
    Written {
        /// The buffer's id.
        buffer: usize,
        /// The box, one half-open interval an axis.
        region: Vec<(u64, u64)>,
        /// What follows.
        numbers: Numbers,
        /// How many elements.
        elements: u64,
    },
    /// It is in memory.
    Stored,
    /// What a buffer holds. The elements follow.
    Holds {
        /// The whole buffer.
        tensor: Bytes,
    },
    /// There is no answer.
    Error {
        /// Why.
        message: String,
    },
}

/// What follows a message about what a task should write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Numbers {
    /// All references, then all bounds, as binary64.
    Reals,
    /// Signed 64-bit integers; [`OPEN`] where one is not specified.
    Ints,
}

/// A message that says how many raw bytes follow it.
pub trait Header {
    /// How many; nothing where that is no number of bytes.
    fn payload(&self) -> Option<u64>;
}

impl Header for Request {
    fn payload(&self) -> Option<u64> {
        match self {
            Request::Hello { .. } | Request::Task { .. } | Request::Buffer { .. } => Some(0),
            Request::Follow { program, tensors, caches, .. } => {
                let mut all = tensors.iter().chain(caches);
                all.try_fold(*program, |sum, tensor| sum.checked_add(tensor.bytes))
            }
            Request::Store { tensor, .. } => Some(tensor.bytes),
        }
    }
}

impl Header for Answer {
    fn payload(&self) -> Option<u64> {
        match self {
            Answer::Written { numbers: Numbers::Reals, elements, .. } => elements.checked_mul(16),
            Answer::Written { numbers: Numbers::Ints, elements, .. } => elements.checked_mul(8),
            Answer::Holds { tensor } => Some(tensor.bytes),
            _ => Some(0),
        }
    }
}

/// A message as bytes: its line, and what follows it.
///
/// # Errors
/// It cannot be written as JSON.
pub fn frame(header: &impl Serialize, payload: &[&[u8]]) -> io::Result<Vec<u8>> {
    let mut frame = serde_json::to_vec(header)?;
    frame.push(b'\n');
    payload.iter().for_each(|part| frame.extend_from_slice(part));
    Ok(frame)
}

/// Writes a message.
///
/// # Errors
/// It cannot be written.
pub fn write(output: &mut impl Write, header: &impl Serialize, payload: &[&[u8]]) -> io::Result<()> {
    output.write_all(&frame(header, payload)?)?;
    output.flush()
}

/// Reads a message and what follows it; nothing at the end of the input.
///
/// # Errors
/// The input cannot be read, ends within a message, or holds none.
pub fn read<H: DeserializeOwned + Header>(input: &mut impl BufRead) -> io::Result<Option<(H, Vec<u8>)>> {
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut line = Vec::new();
    input.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        return Err(invalid("a line is cut off or too long".to_owned()));
    }
    let header: H = serde_json::from_slice(&line).map_err(|cause| invalid(cause.to_string()))?;
    let bytes = header.payload().ok_or_else(|| invalid("the message is too long".to_owned()))?;
    let mut payload = Vec::new();
    // Not allocated before it is there: the number may be wrong.
    input.by_ref().take(bytes).read_to_end(&mut payload)?;
    if payload.len() as u64 != bytes {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the input ends within a message"));
    }
    Ok(Some((header, payload)))
}

/// Reads 8-byte numbers.
pub fn words(payload: &[u8]) -> impl Iterator<Item = [u8; 8]> {
    payload.chunks_exact(8).map(|chunk| {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        word
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_what_follows_them_survive() {
        let tensor = Tensor::from_reals(DType::F32, vec![2], &[1.0, -2.0]).expect("a tensor");
        let held = Tensor::from_reals(DType::F16, vec![3], &[3.0, 4.0, 5.0]).expect("a tensor");
        let follow = Request::Follow {
            accumulator: Accumulator::Truncating,
            program: 2,
            tensors: vec![Bytes::of("x", &tensor)],
            caches: vec![Bytes::of("x", &held)],
        };
        let mut bytes = frame(&follow, &[b"{}", &tensor.bytes, &held.bytes]).expect("a message");
        bytes.extend(frame(&Request::Task { task: 7 }, &[]).expect("a message"));
        let mut input = bytes.as_slice();
        let (header, payload) = read::<Request>(&mut input).expect("readable").expect("a message");
        assert_eq!(header, follow);
        let (program, mut rest) = payload.split_at(2);
        assert_eq!(program, b"{}");
        let Request::Follow { tensors, caches, .. } = header else { unreachable!("compared") };
        assert_eq!(tensors[0].take(&mut rest), Ok(tensor));
        assert_eq!(caches[0].take(&mut rest), Ok(held));
        let (header, _) = read::<Request>(&mut input).expect("readable").expect("a message");
        assert_eq!(header, Request::Task { task: 7 });
        assert!(read::<Request>(&mut input).expect("the end").is_none());
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        for bytes in [
            &b"{\"type\":\"task\""[..],
            b"nonsense\n",
            b"{\"type\":\"task\"}\n",
            b"{\"type\":\"store\",\"task\":0,\"tensor\":{\"dtype\":\"F32\",\"shape\":[1],\"bytes\":4}}\n12",
            b"{\"type\":\"follow\",\"accumulator\":\"binary32\",\"program\":18446744073709551615,\"tensors\":[{\"dtype\":\"F32\",\"shape\":[],\"bytes\":9}],\"caches\":[]}\n",
            b"{\"type\":\"follow\",\"accumulator\":\"binary32\",\"program\":1,\"tensors\":[],\"caches\":[{\"dtype\":\"F32\",\"shape\":[],\"bytes\":18446744073709551615}]}\n1",
        ] {
            let mut input = bytes;
            assert!(read::<Request>(&mut input).is_err(), "{}", String::from_utf8_lossy(bytes));
        }
        let wrong = Bytes { name: String::new(), dtype: "F32".to_owned(), shape: vec![3], bytes: 4 };
        assert!(wrong.take(&mut &[0; 4][..]).is_err());
        assert!(wrong.take(&mut &[0; 3][..]).is_err());
    }
}
