//! Tensors from and to files (clauses NUM-11 and CON-11), and random ones where there are no files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use megakernel_ir::model::{Buffer, Program};
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::{BufferKind, DType, input};
use megakernel_numerics::{Stored, Tensor, TensorError, TensorFile};

use super::session::{Finished, Output};

/// Why a file could not be read or written.
#[derive(Debug)]
pub enum FileError {
    /// The system said no.
    Io {
        /// The file.
        path: PathBuf,
        /// Whether it was to be written.
        writing: bool,
        /// What it said.
        error: std::io::Error,
    },
    /// It holds no tensors, or none can be made of the contents.
    Tensor {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: TensorError,
    },
    /// Two files have a tensor of this name, and not the same one.
    Twice {
        /// The second file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// Two buffers that go into one file have this name.
    Ambiguous {
        /// The name.
        name: String,
    },
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Io { path, writing, error } => {
                write!(f, "cannot {} {}: {error}", if *writing { "write" } else { "read" }, path.display())
            }
            FileError::Tensor { path, error } => write!(f, "{}: {error}", path.display()),
            FileError::Twice { path, name } => {
                write!(f, "{}: tensor `{name}` differs from the one in an earlier file", path.display())
            }
            FileError::Ambiguous { name } => {
                write!(f, "two outputs are called `{name}`, and a file has one tensor of a name")
            }
        }
    }
}

impl std::error::Error for FileError {}

/// The tensors of some files by name. Binary64 tensors are left out: no buffer holds any.
///
/// # Errors
/// A file cannot be read, or two of them disagree.
pub fn read_tensors<P: AsRef<Path>>(files: &[P]) -> Result<BTreeMap<String, Tensor>, FileError> {
    let mut tensors = BTreeMap::new();
    for path in files {
        let path = path.as_ref().to_path_buf();
        let bytes = input::read(&path).map_err(|error| FileError::Io {
            path: path.clone(),
            writing: false,
            error,
        })?;
        let file =
            TensorFile::read(&bytes).map_err(|error| FileError::Tensor { path: path.clone(), error })?;
        for (name, stored) in file.tensors {
            let Stored::Buffer(tensor) = stored else { continue };
            if tensors.get(&name).is_some_and(|other| *other != tensor) {
                return Err(FileError::Twice { path, name });
            }
            tensors.insert(name, tensor);
        }
    }
    Ok(tensors)
}

/// Writes the outputs and caches of a launch, by name.
///
/// # Errors
/// Two of them have one name, or the file cannot be written.
pub fn write_outputs(path: &Path, outputs: &[Output]) -> Result<(), FileError> {
    let mut file = TensorFile::default();
    for Output { name, tensor, .. } in outputs {
        if file.tensors.insert(name.clone(), Stored::Buffer(tensor.clone())).is_some() {
            return Err(FileError::Ambiguous { name: name.clone() });
        }
    }
    write_file(path, &file)
}

/// Writes what each task of a launch wrote, by the decimal id of the task (clause NUM-12).
///
/// # Errors
/// The file cannot be written.
pub fn write_trace(path: &Path, finished: &Finished) -> Result<(), FileError> {
    let entries = finished.trace.iter();
    let tensors = entries.map(|(task, tensor)| (task.to_string(), Stored::Buffer(tensor.clone()))).collect();
    write_file(path, &TensorFile { tensors })
}

fn write_file(path: &Path, file: &TensorFile) -> Result<(), FileError> {
    let bytes = file.to_bytes().map_err(|error| FileError::Tensor { path: path.to_path_buf(), error })?;
    std::fs::write(path, bytes).map_err(|error| FileError::Io {
        path: path.to_path_buf(),
        writing: true,
        error,
    })
}

/// Adds a random tensor for every buffer that the host binds and that has none: floats of a size that keeps activations
/// moderate, integers over the whole range, and zeros for I32, which are ids and positions. What a name gets depends on
/// the seed, the name, and the buffer alone.
///
/// # Errors
/// A buffer is too large for memory.
pub fn fill_random(
    program: &Program<'_>,
    tensors: &mut BTreeMap<String, Tensor>,
    seed: u64,
) -> Result<(), TensorError> {
    for buffer in &program.buffers {
        let key: &str = match buffer.kind {
            BufferKind::Weight | BufferKind::Const => buffer.source.as_ref().unwrap_or(&buffer.name),
            BufferKind::IoInput => &buffer.name,
            _ => continue,
        };
        if !tensors.contains_key(key) {
            tensors.insert(key.to_owned(), random(buffer, key, seed)?);
        }
    }
    Ok(())
}

fn random(buffer: &Buffer<'_>, key: &str, seed: u64) -> Result<Tensor, TensorError> {
    let shape: Vec<u64> = buffer.shape.iter().map(|&extent| extent.max(0) as u64).collect();
    // As a family's stream in clause CON-09.
    let mut draw = SplitMix64::for_family(key, seed);
    let zeros = Tensor::zeros(buffer.dtype, shape.clone())?;
    let count = zeros.numel();
    let mut ints = |least: i64, values: u64| -> Vec<i64> {
        (0..count).map(|_| least + draw.below(values) as i64).collect()
    };
    match buffer.dtype {
        DType::I32 => Ok(zeros),
        DType::I8 => Tensor::from_ints(buffer.dtype, shape, &ints(-128, 256)),
        DType::I4 => Tensor::from_ints(buffer.dtype, shape, &ints(0, 16)),
        DType::U8 => Tensor::from_ints(buffer.dtype, shape, &ints(0, 256)),
        DType::Bool => Tensor::from_ints(buffer.dtype, shape, &ints(0, 2)),
        _ => {
            // Between -1 and 1; the sum of a row of a matrix keeps that size.
            let row = if shape.len() > 1 { shape.last().copied().unwrap_or(1) } else { 1 };
            let scale = (row as f64).sqrt().recip();
            let unit = |bits: u64| (bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
            let values: Vec<f64> = (0..count).map(|_| unit(draw.next_u64()) * scale).collect();
            Tensor::from_reals(buffer.dtype, shape, &values)
        }
    }
}
