//! From the members of a document to the fields of a record.

use std::fmt;

use super::{Address, BufferRecord, InstructionRecord, MAX_RANK, ParamsRecord};
use megakernel_ir::model::{Buffer, Task};
use megakernel_ir::names::{DType, Opcode};
use megakernel_ir::params::{Number, Param, ParamKey, ParamKind, ParamValue, Params};

/// A member that does not fit into its field. In a program that breaks no rule of class S everything fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmarshallable {
    /// The field, such as `inputs`.
    pub field: &'static str,
    /// What was found.
    pub found: String,
    /// What the field takes.
    pub required: &'static str,
}

impl fmt::Display for Unmarshallable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}, the device record takes {}", self.field, self.found, self.required)
    }
}

impl std::error::Error for Unmarshallable {}

type Result<T> = std::result::Result<T, Unmarshallable>;

/// The parameters of a task (clause ABI-03).
///
/// # Errors
/// A known key holds no number that its field can hold (rule S14).
pub fn params(op: Opcode, n_inputs: usize, params: &Params<'_>) -> Result<ParamsRecord> {
    let mut record = ParamsRecord::default();
    match op {
        Opcode::Mul if n_inputs == 1 => record.scale = 1.0,
        Opcode::Softmax => record.dim = -1,
        _ => {}
    }
    for (key, value) in &params.0 {
        let ParamKey::Known(param) = *key else { continue };
        match place(&mut record, param) {
            Place::Int(field) => *field = integer(param, value)?,
            Place::Float(field) => *field = float(param, value)?,
        }
    }
    Ok(record)
}

enum Place<'a> {
    Int(&'a mut i32),
    Float(&'a mut f32),
}

fn place(record: &mut ParamsRecord, param: Param) -> Place<'_> {
    Place::Int(match param {
        Param::K => &mut record.k,
        Param::N => &mut record.n,
        Param::M => &mut record.m,
        Param::NTile => &mut record.n_tile,
        Param::MTile => &mut record.m_tile,
        Param::NOff => &mut record.n_off,
        Param::MOff => &mut record.m_off,
        Param::Hidden => &mut record.hidden,
        Param::Vocab => &mut record.vocab,
        Param::HeadDim => &mut record.head_dim,
        Param::NHeads => &mut record.n_heads,
        Param::NKvHeads => &mut record.n_kv_heads,
        Param::KvStart => &mut record.kv_start,
        Param::KvLen => &mut record.kv_len,
        Param::Pos => &mut record.pos,
        Param::QDType => &mut record.qdtype,
        Param::Group => &mut record.group,
        Param::Flags => &mut record.flags,
        Param::Dim => &mut record.dim,
        Param::Eps => return Place::Float(&mut record.eps),
        Param::Scale => return Place::Float(&mut record.scale),
        Param::Theta => return Place::Float(&mut record.theta),
    })
}

fn integer(param: Param, value: &ParamValue) -> Result<i32> {
    let int = match value {
        ParamValue::Number(Number::Int(int)) => i32::try_from(*int).ok(),
        // Rule S14 lets a reader take 4.0 for 4.
        ParamValue::Number(Number::Float(float)) if float.fract() == 0.0 => {
            Some(*float as i32).filter(|int| f64::from(*int) == *float)
        }
        _ => None,
    };
    int.ok_or_else(|| unfit(param, value))
}

/// Rounded once, ties to even.
fn float(param: Param, value: &ParamValue) -> Result<f32> {
    let float = match value {
        ParamValue::Number(Number::Int(int)) => Some(*int as f32),
        ParamValue::Number(Number::Float(float)) => Some(*float as f32),
        ParamValue::Other(_) => None,
    };
    float.filter(|float| float.is_finite()).ok_or_else(|| unfit(param, value))
}

fn unfit(param: Param, value: &ParamValue) -> Unmarshallable {
    let found = match value {
        ParamValue::Number(Number::Int(int)) => int.to_string(),
        ParamValue::Number(Number::Float(float)) => float.to_string(),
        ParamValue::Other(value) => value.to_string(),
    };
    let required = match param.kind() {
        ParamKind::Int => "an integer of 32 bits",
        ParamKind::Float => "a number that is finite in binary32",
    };
    Unmarshallable { field: param.name(), found, required }
}

/// The record of a task that stands in the queue of `sm`.
///
/// # Errors
/// Too many operands or waits (rule S12), a number that does not fit, or a parameter as in [`params`].
pub fn instruction(task: &Task<'_>, sm: i32) -> Result<InstructionRecord> {
    let mut record = InstructionRecord {
        op: i32::from(task.op.code()),
        sm,
        params: params(task.op, task.inputs.len(), &task.params)?,
        out_counter: narrow("out_counter", task.out_counter)?,
        ..InstructionRecord::default()
    };
    record.n_inputs = fill("inputs", &mut record.inputs, &task.inputs)?;
    record.n_outputs = fill("outputs", &mut record.outputs, &task.outputs)?;
    let counters: Vec<i64> = task.waits.iter().map(|wait| wait.counter).collect();
    let thresholds: Vec<i64> = task.waits.iter().map(|wait| wait.threshold).collect();
    record.n_waits = fill("waits", &mut record.wait_counter, &counters)?;
    fill("waits", &mut record.wait_threshold, &thresholds)?;
    Ok(record)
}

fn fill(field: &'static str, places: &mut [i32], values: &[i64]) -> Result<i32> {
    if values.len() > places.len() {
        let required = "no more than the capacities of DAT-09";
        return Err(Unmarshallable { field, found: format!("{} long", values.len()), required });
    }
    for (place, value) in places.iter_mut().zip(values) {
        *place = narrow(field, *value)?;
    }
    narrow(field, values.len() as i64)
}

fn narrow(field: &'static str, value: i64) -> Result<i32> {
    i32::try_from(value).map_err(|_| Unmarshallable {
        field,
        found: value.to_string(),
        required: "an integer of 32 bits",
    })
}

/// The record of a buffer that lies at `ptr`.
///
/// # Errors
/// The rank is too high (rule S12), or the extents do not multiply to a size (rule S20).
pub fn buffer(buffer: &Buffer<'_>, ptr: Address) -> Result<BufferRecord> {
    let about = |found: String, required| Unmarshallable { field: "shape", found, required };
    let rank = buffer.shape.len();
    if rank > MAX_RANK {
        return Err(about(format!("{rank} long"), "no more than the capacities of DAT-09"));
    }
    if buffer.nbytes().is_none() {
        return Err(about(format!("{:?}", buffer.shape), "positive extents and a size of 63 bits"));
    }
    let mut record = BufferRecord {
        ptr,
        rank: rank as i32,
        dtype: i32::from(DType::code(buffer.dtype)),
        space: i32::from(buffer.space.code()),
        shape: [1; MAX_RANK],
        stride: [1; MAX_RANK],
        ..BufferRecord::default()
    };
    // The size fits, so every product of some of the extents does.
    let mut stride = 1;
    for ((extent, shape), place) in buffer.shape.iter().zip(&mut record.shape).zip(&mut record.stride).rev() {
        (*shape, *place) = (*extent, stride);
        stride *= extent;
    }
    record.numel = stride;
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#"{"ir_version": "0.2.0", "abi_version": "0.2",
        "buffers": [
          {"id": 0, "name": "x", "kind": "IO_INPUT", "dtype": "BF16", "shape": [2, 3, 5]},
          {"id": 1, "name": "y", "kind": "IO_OUTPUT", "dtype": "F32", "shape": []}],
        "counters": [{"id": 0}, {"id": 1}],
        "tasks": [
          {"id": 0, "op": "MUL", "inputs": [0], "outputs": [1], "out_counter": 1},
          {"id": 1, "op": "MUL", "inputs": [0, 0], "outputs": [1], "out_counter": 0, "params": {"scale": 0.1, "K": 4.0, "own": "x"},
           "waits": [{"counter": 1, "threshold": 3}, {"counter": 0, "threshold": 1}]},
          {"id": 2, "op": "SOFTMAX", "inputs": [0], "outputs": [1], "out_counter": 0},
          {"id": 3, "op": "SOFTMAX", "inputs": [0], "outputs": [1], "out_counter": 0, "params": {"dim": 0, "theta": 16777217}},
          {"id": 4, "op": "COPY", "inputs": [0], "outputs": [1], "out_counter": 0, "params": {"pos": 4294967296}},
          {"id": 5, "op": "COPY", "inputs": [0], "outputs": [1], "out_counter": 0, "params": {"pos": 0.5}},
          {"id": 6, "op": "COPY", "inputs": [0], "outputs": [1], "out_counter": 0, "params": {"eps": 1e39}},
          {"id": 7, "op": "COPY", "inputs": [0,0,0,0,0,0,0,0,0], "outputs": [1], "out_counter": 0}]}"#;

    #[test]
    fn tasks_become_instructions() {
        let program =
            megakernel_ir::read(DOCUMENT.as_bytes()).unwrap_or_else(|found| unreachable!("{found:?}"));
        let records: Vec<_> = program.tasks.iter().map(|task| instruction(task, 5)).collect();
        let record = |task: usize| records[task].clone().unwrap_or_else(|found| unreachable!("{found}"));
        assert_eq!(
            (record(0).op, record(0).sm, record(0).params.scale, record(0).params.dim),
            (12, 5, 1.0, 0)
        );
        let second = record(1);
        assert_eq!((second.params.scale, second.params.k, second.out_counter), (0.1, 4, 0));
        assert_eq!((second.n_inputs, second.n_outputs, second.n_waits), (2, 1, 2));
        assert_eq!(
            (second.wait_counter[..3].to_vec(), second.wait_threshold[..3].to_vec()),
            (vec![1, 0, 0], vec![3, 1, 0])
        );
        assert_eq!((second.outputs, second.inputs[2]), ([1, 0, 0, 0], 0));
        assert_eq!((record(2).params.dim, record(2).params.scale), (-1, 0.0));
        assert_eq!((record(3).params.dim, record(3).params.theta), (0, 16_777_216.0));
        let refused = |task: usize| records[task].as_ref().err().map(ToString::to_string);
        assert_eq!(
            refused(4),
            Some("`pos` is 4294967296, the device record takes an integer of 32 bits".into())
        );
        assert!(refused(5).is_some() && refused(6).is_some() && refused(7).is_some());
    }

    #[test]
    fn buffers_have_strides_in_elements() {
        let program =
            megakernel_ir::read(DOCUMENT.as_bytes()).unwrap_or_else(|found| unreachable!("{found:?}"));
        let records: Vec<_> = program.buffers.iter().map(|each| buffer(each, Address(64))).collect();
        let expected = BufferRecord {
            ptr: Address(64),
            numel: 30,
            rank: 3,
            dtype: 2,
            shape: [2, 3, 5, 1],
            stride: [15, 5, 1, 1],
            ..BufferRecord::default()
        };
        assert_eq!(records[0], Ok(expected));
        let scalar = BufferRecord {
            ptr: Address(64),
            numel: 1,
            shape: [1; 4],
            stride: [1; 4],
            ..BufferRecord::default()
        };
        assert_eq!(records[1], Ok(scalar));
    }
}
