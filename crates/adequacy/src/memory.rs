//! Buffers of a launch, decoded.

use std::sync::Arc;

use megakernel_ir::{DType, Opcode};
use megakernel_numerics::Tensor;
use megakernel_numerics::{decode, encode_f32, pack};

use crate::kernels::Kernels;

/// Why a program cannot be executed. It breaks a rule that the validator checks, or a tensor does not fit it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(pub String);

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

/// What a step of the VM returns.
pub type Result<T> = std::result::Result<T, Broken>;

/// An error with this text.
pub fn broken<T>(text: &str) -> Result<T> {
    Err(Broken(text.to_owned()))
}

/// Elements in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    /// Of a float dtype; binary32 represents them all.
    Reals(Arc<Vec<f32>>),
    /// Of an integer dtype or BOOL. Elements of I4 are nibbles from 0 to 15.
    Ints(Arc<Vec<i64>>),
}

/// A buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<usize>,
    /// Contents.
    pub elements: Elements,
}

impl Buffer {
    /// A buffer of zeros.
    pub fn zeros(dtype: DType, shape: Vec<usize>) -> Buffer {
        let numel = shape.iter().product();
        let elements = if dtype.is_float() {
            Elements::Reals(Arc::new(vec![0.0; numel]))
        } else {
            Elements::Ints(Arc::new(vec![0; numel]))
        };
        Buffer { dtype, shape, elements }
    }

    /// A buffer of what nobody takes for a result: NaN, and integers at the end of their range.
    pub fn garbage(dtype: DType, shape: Vec<usize>) -> Buffer {
        let numel = shape.iter().product();
        let end = match dtype {
            DType::I32 => i64::from(i32::MIN),
            DType::I8 => -128,
            DType::U8 => 255,
            DType::I4 => 15,
            _ => 1,
        };
        let elements = if dtype.is_float() {
            Elements::Reals(Arc::new(vec![f32::NAN; numel]))
        } else {
            Elements::Ints(Arc::new(vec![end; numel]))
        };
        Buffer { dtype, shape, elements }
    }

    /// Changes the elements of a float buffer: `change` gets places and elements.
    pub fn change(&mut self, change: impl Fn(usize, f32) -> f32) {
        if let Elements::Reals(reals) = &mut self.elements {
            let places = Arc::make_mut(reals).iter_mut().enumerate();
            places.for_each(|(place, element)| *element = change(place, *element));
        }
    }

    /// The contents of a tensor, for a buffer of this dtype and shape.
    ///
    /// # Errors
    /// The tensor is of another size. An I4 buffer arrives as bytes.
    pub fn from_tensor(dtype: DType, shape: Vec<usize>, tensor: &Tensor) -> Result<Buffer> {
        let numel: usize = shape.iter().product();
        let elements = if dtype == DType::F32 && tensor.dtype == DType::F32 {
            // As they are stored, so that a NaN keeps its payload.
            let stored = tensor.bytes.chunks_exact(4).filter_map(|bytes| bytes.try_into().ok());
            Elements::Reals(Arc::new(stored.map(f32::from_le_bytes).collect()))
        } else if dtype.is_float() {
            Elements::Reals(Arc::new(tensor.reals().into_iter().map(|x| x as f32).collect()))
        } else if dtype == DType::I4 && tensor.dtype == DType::U8 {
            let nibbles = tensor.bytes.iter().flat_map(|byte| [i64::from(byte & 15), i64::from(byte >> 4)]);
            Elements::Ints(Arc::new(nibbles.take(numel).collect()))
        } else {
            Elements::Ints(Arc::new(tensor.ints()))
        };
        let buffer = Buffer { dtype, shape, elements };
        let found = buffer.len();
        if found == numel {
            Ok(buffer)
        } else {
            Err(Broken(format!("tensor has {found} elements, required {numel}")))
        }
    }

    /// The contents as they travel. A NaN has these bits; without them it is the quiet one without payload.
    pub fn to_tensor(&self, nan: Option<u32>) -> Tensor {
        let shape: Vec<u64> = self.shape.iter().map(|&extent| extent as u64).collect();
        match &self.elements {
            Elements::Reals(reals) => {
                let stored = |real: f32| match nan {
                    Some(bits) if real.is_nan() => bits,
                    _ => encode_f32(self.dtype, real),
                };
                let bytes = pack(self.dtype, reals.iter().map(|&real| stored(real)));
                Tensor { dtype: self.dtype, shape, bytes }
            }
            Elements::Ints(ints) => {
                let bytes = pack(self.dtype, ints.iter().map(|&int| int as u32));
                if self.dtype == DType::I4 {
                    return Tensor { dtype: DType::U8, shape: vec![bytes.len() as u64], bytes };
                }
                Tensor { dtype: self.dtype, shape, bytes }
            }
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match &self.elements {
            Elements::Reals(reals) => reals.len(),
            Elements::Ints(ints) => ints.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements of a float dtype.
    ///
    /// # Errors
    /// It is another one.
    pub fn reals(&self) -> Result<&[f32]> {
        match &self.elements {
            Elements::Reals(reals) => Ok(reals),
            Elements::Ints(_) => broken("operand is of an integer dtype, required a float dtype"),
        }
    }

    /// The elements of an integer dtype.
    ///
    /// # Errors
    /// It is another one.
    pub fn ints(&self) -> Result<&[i64]> {
        match &self.elements {
            Elements::Ints(ints) => Ok(ints),
            Elements::Reals(_) => broken("operand is of a float dtype, required an integer dtype"),
        }
    }

    /// Extent of axis `axis`.
    ///
    /// # Errors
    /// There is no such axis.
    pub fn extent(&self, axis: usize) -> Result<usize> {
        self.shape.get(axis).copied().ok_or_else(|| Broken(format!("operand has no axis {axis}")))
    }

    /// Extent of the last axis.
    ///
    /// # Errors
    /// There is none.
    pub fn last(&self) -> Result<usize> {
        self.shape.last().copied().ok_or_else(|| Broken("operand has rank 0, required at least 1".to_owned()))
    }
}

/// What a task writes, before it is visible to others.
pub struct Writer<'k> {
    kernels: &'k dyn Kernels,
    op: Opcode,
    dtype: DType,
    /// Elements of a float output, with their places.
    reals: Vec<(usize, f32)>,
    /// Elements of an integer output, with their places.
    ints: Vec<(usize, i64)>,
}

impl<'k> Writer<'k> {
    /// Nothing yet, of a task that writes `dtype`.
    pub fn new(kernels: &'k dyn Kernels, op: Opcode, dtype: DType) -> Writer<'k> {
        Writer { kernels, op, dtype, reals: Vec::new(), ints: Vec::new() }
    }

    /// Casts a held value and writes it.
    pub fn real(&mut self, place: usize, value: f64) {
        let stored = decode(self.dtype, self.kernels.cast(self.op, self.dtype, value));
        self.reals.push((place, stored as f32));
    }

    /// Writes an integer.
    pub fn int(&mut self, place: usize, value: i64) {
        self.ints.push((place, value));
    }

    /// Makes everything visible. What a fault puts outside the buffer is lost.
    pub fn finish(mut self, buffer: &mut Buffer) {
        self.reals.truncate(self.kernels.written(self.op, self.reals.len()));
        self.ints.truncate(self.kernels.written(self.op, self.ints.len()));
        match &mut buffer.elements {
            Elements::Reals(reals) => scatter(Arc::make_mut(reals).as_mut_slice(), self.reals),
            Elements::Ints(ints) => scatter(Arc::make_mut(ints).as_mut_slice(), self.ints),
        }
    }
}

fn scatter<T>(elements: &mut [T], written: Vec<(usize, T)>) {
    for (place, value) in written {
        if let Some(element) = elements.get_mut(place) {
            *element = value;
        }
    }
}
