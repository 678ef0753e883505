//! A builder of kernel graphs and translation requests.

use serde_json::{Map, Value, json};

use crate::build::Tensor;

/// A kernel graph that is being built.
#[derive(Clone, Debug, Default)]
pub struct KernelBuilder {
    tensors: Vec<Value>,
    operators: Vec<Value>,
}

/// An operand: a tensor's name and, for grid axis x, y, z, the axis of the tensor that it cuts or -1.
pub type Operand<'a> = (&'a Tensor, [i64; 3]);

/// Cut by no grid axis.
pub const WHOLE: [i64; 3] = [-1, -1, -1];

impl KernelBuilder {
    /// An empty graph.
    pub fn new() -> KernelBuilder {
        KernelBuilder::default()
    }

    /// Declares a tensor of the host.
    pub fn torch(&mut self, name: &str, dtype: i64, dims: &[i64]) -> Tensor {
        self.declare(name, dtype, dims, "torch")
    }

    /// Declares a tensor that is allocated for the graph.
    pub fn cuda(&mut self, name: &str, dtype: i64, dims: &[i64]) -> Tensor {
        self.declare(name, dtype, dims, "cuda")
    }

    /// Declares a tensor that is allocated symmetrically on all ranks.
    pub fn nvshmem(&mut self, name: &str, dtype: i64, dims: &[i64]) -> Tensor {
        self.declare(name, dtype, dims, "nvshmem")
    }

    fn declare(&mut self, name: &str, dtype: i64, dims: &[i64], io: &str) -> Tensor {
        self.tensors.push(json!({"name": name, "data_type": dtype, "dims": dims, "io": io}));
        Tensor::new(name, dtype, dims)
    }

    /// Declares a fused tensor of declared parts.
    pub fn fused(&mut self, name: &str, dims: &[i64], groups: i64, parts: &[&Tensor]) -> Tensor {
        self.of_parts(name, "fused", dims, groups, parts)
    }

    /// Declares a tensor into which declared parts are shuffled.
    pub fn shuffled(&mut self, name: &str, dims: &[i64], groups: i64, parts: &[&Tensor]) -> Tensor {
        self.of_parts(name, "shuffled", dims, groups, parts)
    }

    fn of_parts(&mut self, name: &str, io: &str, dims: &[i64], groups: i64, parts: &[&Tensor]) -> Tensor {
        let dtype = parts.first().map_or(crate::build::BF16, |part| part.dtype);
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        self.tensors.push(json!({
            "name": name, "data_type": dtype, "dims": dims, "io": io, "num_groups": groups, "parts": names
        }));
        Tensor::new(name, dtype, dims)
    }

    /// Adds an operator.
    pub fn operator(
        &mut self,
        name: &str,
        task_type: i64,
        grid: [i64; 3],
        inputs: &[Option<Operand<'_>>],
        outputs: &[Operand<'_>],
    ) {
        self.operator_with(name, task_type, grid, inputs, outputs, json!({}));
    }

    /// Adds an operator with parameters.
    pub fn operator_with(
        &mut self,
        name: &str,
        task_type: i64,
        grid: [i64; 3],
        inputs: &[Option<Operand<'_>>],
        outputs: &[Operand<'_>],
        params: Value,
    ) {
        let operand = |(tensor, map): &Operand<'_>| json!({"tensor": tensor.name, "map": map});
        let inputs: Vec<Value> =
            inputs.iter().map(|input| input.as_ref().map_or(Value::Null, operand)).collect();
        let outputs: Vec<Value> = outputs.iter().map(operand).collect();
        let mut record = Map::new();
        record.insert("name".into(), json!(name));
        record.insert("task_type".into(), json!(task_type));
        record.insert("grid".into(), json!(grid));
        record.insert("inputs".into(), json!(inputs));
        record.insert("outputs".into(), json!(outputs));
        if params.as_object().is_some_and(|params| !params.is_empty()) {
            record.insert("params".into(), params);
        }
        self.operators.push(Value::Object(record));
    }

    /// The document.
    pub fn value(&self) -> Value {
        json!({"tensors": self.tensors, "operators": self.operators})
    }

    /// A request to translate it.
    pub fn request(&self, ranks: i64, rank: i64, mode: &str) -> Value {
        json!({"kernel_graph": self.value(), "ranks": ranks, "rank": rank, "mode": mode})
    }
}
