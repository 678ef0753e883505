//! Tensor files (NUM-11): safetensors, as much of the format as the suite uses.

use std::collections::BTreeMap;
use std::path::Path;

use crate::json::{Json, parse_with_repeats};

/// A dtype as the file names it, a shape, and the elements: row-major, little-endian bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// `F32`, `BF16`, `F8_E4M3`, ...
    pub dtype: String,
    /// The extents, outermost first.
    pub shape: Vec<u64>,
    /// The elements.
    pub data: Vec<u8>,
}

impl Tensor {
    /// Elements of F32.
    ///
    /// # Errors
    /// It is of another dtype.
    pub fn floats(&self) -> Result<Vec<f32>, String> {
        self.words("F32").map(|words| words.into_iter().map(f32::from_le_bytes).collect())
    }

    /// Elements of I32.
    ///
    /// # Errors
    /// It is of another dtype.
    pub fn ints(&self) -> Result<Vec<i32>, String> {
        self.words("I32").map(|words| words.into_iter().map(i32::from_le_bytes).collect())
    }

    fn words(&self, dtype: &str) -> Result<Vec<[u8; 4]>, String> {
        if self.dtype != dtype {
            return Err(format!("a tensor is {}, not {dtype}", self.dtype));
        }
        Ok(self.data.chunks_exact(4).filter_map(|word| word.try_into().ok()).collect())
    }

    /// A tensor of F32.
    pub fn of_floats(shape: &[u64], values: &[f32]) -> Tensor {
        let data = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Tensor { dtype: "F32".to_owned(), shape: shape.to_vec(), data }
    }

    /// A tensor of I32.
    pub fn of_ints(shape: &[u64], values: &[i32]) -> Tensor {
        let data = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Tensor { dtype: "I32".to_owned(), shape: shape.to_vec(), data }
    }

    fn check(&self) -> Result<(), String> {
        let size = match self.dtype.as_str() {
            "F64" => 8,
            "F32" | "I32" => 4,
            "F16" | "BF16" => 2,
            "I8" | "U8" | "BOOL" | "F8_E4M3" | "F8_E5M2" => 1,
            other => return Err(format!("dtype `{other}` is not known")),
        };
        let bytes = self.shape.iter().try_fold(size, |bytes: u64, extent| bytes.checked_mul(*extent));
        if bytes != u64::try_from(self.data.len()).ok() {
            return Err(format!(
                "{} bytes are no {} of the shape {:?}",
                self.data.len(),
                self.dtype,
                self.shape
            ));
        }
        Ok(())
    }
}

/// The tensors of a file by name.
///
/// # Errors
/// It cannot be read, or is no tensor file; with the path.
pub fn read_tensors(path: &Path) -> Result<BTreeMap<String, Tensor>, String> {
    let data = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    read(&data).map_err(|why| format!("{} is no tensor file: {why}", path.display()))
}

fn read(data: &[u8]) -> Result<BTreeMap<String, Tensor>, String> {
    let cut = || "it ends within its header".to_owned();
    let (length, rest) = data.split_first_chunk::<8>().ok_or_else(cut)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut())?;
    let (header, elements) = rest.split_at_checked(length).ok_or_else(cut)?;
    let (header, repeated) = parse_with_repeats(header).map_err(|error| error.to_string())?;
    let Json::Object(members) = header else { return Err("its header is no object".to_owned()) };
    if let Some(name) = repeated.first() {
        return Err(format!("`{name}` occurs twice"));
    }
    let mut found = BTreeMap::new();
    for (name, tensor) in members.into_iter().filter(|(name, _)| name != "__metadata__") {
        let numbers = |member: &str| -> Option<Vec<u64>> {
            tensor.get(member)?.as_array()?.iter().map(|n| n.as_i64()?.try_into().ok()).collect()
        };
        let read = || {
            let dtype = tensor.get("dtype")?.as_str()?.to_owned();
            let [first, end] = numbers("data_offsets")?.try_into().ok()?;
            let data = elements.get(usize::try_from(first).ok()?..usize::try_from(end).ok()?)?.to_vec();
            Some(Tensor { dtype, shape: numbers("shape")?, data })
        };
        let one = read().ok_or_else(|| format!("tensor `{name}` lies beyond it, or is not described"))?;
        one.check().map_err(|why| format!("tensor `{name}`: {why}"))?;
        found.insert(name, one);
    }
    Ok(found)
}

/// Writes a file. It is complete when this returns.
///
/// # Errors
/// A tensor is not as its shape says, or has the name `__metadata__`; or the file cannot be written. With the path.
pub fn write_tensors(path: &Path, tensors: &BTreeMap<String, Tensor>) -> Result<(), String> {
    let mut members = Vec::new();
    let mut elements: Vec<u8> = Vec::new();
    for (name, tensor) in tensors {
        let check = if name == "__metadata__" {
            Err("no tensor can travel by this name".to_owned())
        } else {
            tensor.check()
        };
        check.map_err(|why| format!("{}: tensor `{name}`: {why}", path.display()))?;
        let numbers =
            |values: &[u64]| Json::Array(values.iter().map(|n| Json::Number(n.to_string())).collect());
        let first = elements.len() as u64;
        elements.extend_from_slice(&tensor.data);
        let offsets = numbers(&[first, elements.len() as u64]);
        let entry = [
            ("dtype", Json::from(tensor.dtype.as_str())),
            ("shape", numbers(&tensor.shape)),
            ("data_offsets", offsets),
        ];
        members.push((
            name.clone(),
            Json::Object(entry.map(|(member, value)| (member.to_owned(), value)).into()),
        ));
    }
    let mut header = Json::Object(members).dump();
    // The elements begin at a multiple of 8.
    header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.append(&mut elements);
    std::fs::write(path, file).map_err(|error| format!("{}: {error}", path.display()))
}
