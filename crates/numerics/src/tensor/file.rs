//! Files of tensors.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use safetensors::tensor::{Metadata, TensorInfo};
use safetensors::{Dtype, View};
use serde::de::{IgnoredAny, MapAccess, Visitor};

use super::{Tensor, TensorError, nbytes, numel};
use crate::DType;

/// The name in a header that stands for no tensor.
const METADATA: &str = "__metadata__";

/// What a file holds under one name.
#[derive(Clone, Debug, PartialEq)]
pub enum Stored {
    /// The contents of a buffer. An I4 buffer is written as U8 of rank 1, and read as that; see [`TensorFile::buffer`].
    Buffer(Tensor),
    /// Numbers in binary64, which no buffer holds: references and bounds.
    F64 {
        /// Extents, outermost first.
        shape: Vec<u64>,
        /// Row-major.
        values: Vec<f64>,
    },
}

/// Named tensors, as a safetensors file holds them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TensorFile {
    /// By name.
    pub tensors: BTreeMap<String, Stored>,
}

impl TensorFile {
    /// Reads the bytes of a safetensors file. Metadata are ignored.
    pub fn read(bytes: &[u8]) -> Result<TensorFile, TensorError> {
        TensorFile::read_some(bytes, &|_| true)
    }

    /// Reads the tensors with a wanted name; others may be of a type that no buffer has.
    pub fn read_some(bytes: &[u8], wanted: &dyn Fn(&str) -> bool) -> Result<TensorFile, TensorError> {
        let (header, data) = split(bytes)?;
        let text = std::str::from_utf8(header).map_err(|_| malformed("the header is not UTF-8"))?;
        unique_names(text)?;
        let metadata: Metadata =
            serde_json::from_str(text).map_err(|error| malformed(format!("the header: {error}")))?;
        if metadata.data_len() != data.len() {
            return Err(TensorError::DataSize { found: data.len(), required: metadata.data_len() });
        }
        let tensors = metadata.tensors().into_iter().filter(|(name, _)| wanted(name));
        let tensors = tensors.map(|(name, info)| stored(&name, info, data).map(|tensor| (name, tensor)));
        Ok(TensorFile { tensors: tensors.collect::<Result<_, _>>()? })
    }

    /// The bytes of the file: the same for the same tensors. Wider elements come first, then the order is that of the
    /// names.
    pub fn to_bytes(&self) -> Result<Vec<u8>, TensorError> {
        let mut views = Vec::with_capacity(self.tensors.len());
        for (name, tensor) in &self.tensors {
            if name == METADATA {
                return Err(TensorError::Reserved);
            }
            views.push((name.as_str(), raw(tensor)?));
        }
        safetensors::serialize(views, None).map_err(|error| malformed(error.to_string()))
    }

    /// The tensor of a buffer with this name, dtype and shape. I4 is unpacked from the U8 in which it travels.
    pub fn buffer(&self, name: &str, dtype: DType, shape: &[u64]) -> Result<Cow<'_, Tensor>, TensorError> {
        let tensor = match self.get(name)? {
            Stored::Buffer(tensor) => tensor,
            Stored::F64 { shape: found, .. } => {
                return Err(TensorError::Differs {
                    name: name.to_owned(),
                    found: format!("F64 {found:?}"),
                    required: description(dtype, shape),
                });
            }
        };
        if tensor.dtype == dtype && tensor.shape == shape {
            return Ok(Cow::Borrowed(tensor));
        }
        let size = nbytes(dtype, shape)?;
        if dtype == DType::I4 && tensor.dtype == DType::U8 && tensor.shape == [size as u64] {
            return Tensor::new(dtype, shape.to_vec(), tensor.bytes.clone()).map(Cow::Owned);
        }
        let packed = if dtype == DType::I4 { format!(" as U8 [{size}]") } else { String::new() };
        Err(TensorError::Differs {
            name: name.to_owned(),
            found: description(tensor.dtype, &tensor.shape),
            required: description(dtype, shape) + &packed,
        })
    }

    /// The binary64 tensor with this name: its shape and values.
    pub fn f64s(&self, name: &str) -> Result<(&[u64], &[f64]), TensorError> {
        match self.get(name)? {
            Stored::F64 { shape, values } => Ok((shape, values)),
            Stored::Buffer(tensor) => Err(TensorError::Differs {
                name: name.to_owned(),
                found: description(tensor.dtype, &tensor.shape),
                required: "F64".to_owned(),
            }),
        }
    }

    fn get(&self, name: &str) -> Result<&Stored, TensorError> {
        self.tensors.get(name).ok_or_else(|| TensorError::Missing {
            name: name.to_owned(),
            present: self.tensors.keys().cloned().collect(),
        })
    }
}

/// Header and data of a file.
fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), TensorError> {
    let (length, rest) =
        bytes.split_first_chunk().ok_or(TensorError::Truncated { found: bytes.len(), required: 8 })?;
    let length = u64::from_le_bytes(*length);
    let header = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
    header.ok_or(TensorError::Truncated { found: bytes.len(), required: length.saturating_add(8) })
}

/// Refuses a header that names a tensor twice: readers differ in which one they take.
fn unique_names(header: &str) -> Result<(), TensorError> {
    struct Names(BTreeSet<String>);
    impl<'de> Visitor<'de> for Names {
        type Value = Option<String>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of tensors")
        }
        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Option<String>, A::Error> {
            let mut twice = None;
            while let Some((name, IgnoredAny)) = map.next_entry::<String, _>()? {
                if !self.0.insert(name.clone()) {
                    twice = Some(name);
                }
            }
            Ok(twice)
        }
    }
    let mut reader = serde_json::Deserializer::from_str(header);
    match serde::Deserializer::deserialize_map(&mut reader, Names(BTreeSet::new())) {
        Ok(None) => Ok(()),
        Ok(Some(name)) => Err(malformed(format!("the header names tensor `{name}` twice"))),
        Err(error) => Err(malformed(format!("the header: {error}"))),
    }
}

fn stored(name: &str, info: &TensorInfo, data: &[u8]) -> Result<Stored, TensorError> {
    let (start, end) = info.data_offsets;
    let bytes = data.get(start..end).ok_or(TensorError::DataSize { found: data.len(), required: end })?;
    let shape = info.shape.iter().map(|&extent| extent as u64).collect();
    let dtype = match info.dtype {
        Dtype::F32 => DType::F32,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        Dtype::F8_E4M3 => DType::F8E4M3,
        Dtype::F8_E5M2 => DType::F8E5M2,
        Dtype::I32 => DType::I32,
        Dtype::I8 => DType::I8,
        Dtype::U8 => DType::U8,
        Dtype::BOOL => DType::Bool,
        Dtype::F64 => {
            let values = bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
            return Ok(Stored::F64 { shape, values });
        }
        other => return Err(TensorError::Unsupported { name: name.to_owned(), dtype: other.to_string() }),
    };
    Tensor::new(dtype, shape, bytes.to_vec()).map(Stored::Buffer)
}

/// A tensor as the file holds it.
struct Raw<'a> {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Cow<'a, [u8]>,
}

fn raw(tensor: &Stored) -> Result<Raw<'_>, TensorError> {
    let extents = |shape: &[u64]| shape.iter().map(|&extent| extent as usize).collect();
    match tensor {
        Stored::Buffer(Tensor { dtype, shape, bytes }) => {
            let required = nbytes(*dtype, shape)?;
            if bytes.len() != required {
                let shape = shape.clone();
                return Err(TensorError::Size { dtype: *dtype, shape, found: bytes.len(), required });
            }
            let (dtype, shape) = match dtype {
                DType::F32 => (Dtype::F32, extents(shape)),
                DType::F16 => (Dtype::F16, extents(shape)),
                DType::BF16 => (Dtype::BF16, extents(shape)),
                DType::F8E4M3 => (Dtype::F8_E4M3, extents(shape)),
                DType::F8E5M2 => (Dtype::F8_E5M2, extents(shape)),
                DType::I32 => (Dtype::I32, extents(shape)),
                DType::I8 => (Dtype::I8, extents(shape)),
                DType::I4 => (Dtype::U8, vec![bytes.len()]),
                DType::U8 => (Dtype::U8, extents(shape)),
                DType::Bool => (Dtype::BOOL, extents(shape)),
            };
            Ok(Raw { dtype, shape, bytes: Cow::Borrowed(bytes) })
        }
        Stored::F64 { shape, values } => {
            if numel(shape) != Some(values.len() as u64) {
                let required = numel(shape).unwrap_or(u64::MAX);
                return Err(TensorError::Count { shape: shape.clone(), found: values.len(), required });
            }
            let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            Ok(Raw { dtype: Dtype::F64, shape: extents(shape), bytes: Cow::Owned(bytes) })
        }
    }
}

impl View for Raw<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }
    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

fn malformed(what: impl Into<String>) -> TensorError {
    TensorError::Malformed(what.into())
}

fn description(dtype: DType, shape: &[u64]) -> String {
    format!("{dtype} {shape:?}")
}
