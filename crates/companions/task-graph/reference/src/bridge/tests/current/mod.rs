//! What the current generator has beyond the earlier one: sums of several tasks, batches of requests, experts. The values of a
//! program are those of a straightforward computation in binary64.

mod batch;
mod experts;
mod sums;

use std::collections::BTreeMap;

use megakernel_ir::model::Program;
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::{BufferKind, DType, read};
use megakernel_numerics::Tensor;
use megakernel_task_graph::read_task_graph;
use serde_json::{Value, json};

use crate::bridge::{Imported, Refusal, Request};
use crate::validate::{Graphs, broken_rules as broken_graph_rules};
use megakernel_reference::validate::{Classes, broken_rules};
use megakernel_reference::vm::{Loaded, Reference, Schedule, Session, Settings};

const F32: i64 = 950;
const I32: i64 = 955;

/// An operator whose operands have maps of three axes.
fn on_grid(
    task_type: i64,
    grid: [i64; 3],
    inputs: &[(&str, [i64; 3])],
    outputs: &[(&str, [i64; 3])],
    params: Value,
) -> Value {
    let operand = |&(tensor, map): &(&str, [i64; 3])| match tensor.is_empty() {
        true => Value::Null,
        false => json!({"tensor": tensor, "map": map}),
    };
    json!({"name": format!("op{task_type}"), "task_type": task_type, "grid": grid, "params": params,
           "inputs": inputs.iter().map(operand).collect::<Vec<_>>(),
           "outputs": outputs.iter().map(operand).collect::<Vec<_>>()})
}

/// Random matrices by name.
struct Matrices {
    prng: SplitMix64,
    all: BTreeMap<String, (Vec<u64>, Vec<f64>)>,
}

impl Matrices {
    fn new(shapes: &[(&str, &[u64])]) -> Matrices {
        let mut matrices = Matrices { prng: SplitMix64::new(11), all: BTreeMap::new() };
        for (name, shape) in shapes {
            let count = shape.iter().product();
            // Of a few bits, so that binary32 holds them.
            let values = (0..count).map(|_| matrices.element()).collect();
            matrices.all.insert((*name).to_owned(), (shape.to_vec(), values));
        }
        matrices
    }

    fn element(&mut self) -> f64 {
        (self.prng.next_u64() >> 52) as f64 / 2048.0 - 1.0
    }

    /// The row of a matrix, whatever axes it has before the last.
    fn row(&self, name: &str, row: usize) -> &[f64] {
        let (shape, values) = &self.all[name];
        let width = *shape.last().expect("an axis") as usize;
        &values[row * width..][..width]
    }

    fn tensors(&self) -> BTreeMap<String, Tensor> {
        let tensor = |(shape, values): &(Vec<u64>, Vec<f64>)| {
            Tensor::from_reals(DType::F32, shape.clone(), values).expect("a tensor")
        };
        self.all.iter().map(|(name, matrix)| (name.clone(), tensor(matrix))).collect()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(x: &[f64], weight: &[f64], eps: f64) -> Vec<f64> {
    let scale = (dot(x, x) / x.len() as f64 + eps).sqrt().recip();
    x.iter().zip(weight).map(|(x, w)| x * scale * w).collect()
}

fn softmax(x: &[f64]) -> Vec<f64> {
    let sum: f64 = x.iter().map(|x| x.exp()).sum();
    x.iter().map(|x| x.exp() / sum).collect()
}

/// The matrix `y` of rows of 8 after one launch of an import, whose program no rule rejects.
fn launch(found: &Imported, matrices: &Matrices, requests: &[Request]) -> Vec<f64> {
    let program: Program<'_> = read(found.program.as_bytes()).expect("a program");
    assert_eq!(broken_rules(&program, Classes::ALL), []);
    let tensors = matrices.tensors();
    let mut bound = found.binding.gather(|_, name| tensors.get(name)).expect("tensors");
    let positions =
        requests.iter().flat_map(|request| (0..request.tokens).map(|token| request.position + token));
    for (row, position) in (0..).zip(positions) {
        if let Some(name) = found.binding.row_positions.get(&row) {
            bound
                .insert(name.clone(), Tensor::from_ints(DType::I32, vec![1], &[position]).expect("a tensor"));
        }
    }
    let loaded = Loaded::load(&program).expect("no refusal");
    let settings = Settings { schedule: Schedule::seeded(5), ..Settings::default() };
    let finished = Session::new().launch(&loaded, &bound, &settings).expect("a run");
    let mut y = BTreeMap::new();
    for part in found.binding.buffers.iter().filter(|part| part.kind == BufferKind::IoOutput) {
        let output = finished.output(&part.buffer).expect("an output");
        for piece in part.pieces.iter().filter(|piece| piece.tensor == "y") {
            let Reference::Reals { values, .. } = &output.reference else { continue };
            let mut values = values[piece.at as usize..].iter();
            for row in piece.start[0]..piece.start[0] + piece.extents[0] {
                for column in piece.start[1]..piece.start[1] + piece.extents[1] {
                    assert_eq!(y.insert((row, column), *values.next().expect("an element")), None);
                }
            }
        }
    }
    y.into_values().collect()
}

fn assert_near(found: &[f64], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len());
    assert!(wanted.iter().any(|value| value.abs() > 0.01), "{wanted:?} says little");
    for (index, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert!((found - wanted).abs() < 1e-5, "element {index}: {found} and not {wanted}");
    }
}

fn refused(found: Result<Imported, Vec<Refusal>>, reason: &str) {
    let found: Vec<String> = found.err().unwrap_or_default().iter().map(ToString::to_string).collect();
    assert!(found.iter().any(|found| found.contains(reason)), "expected {reason}: {found:#?}");
}

/// The tasks of operators of a type.
fn of_type(graph: &mut Value, task_type: i64) -> Vec<&mut Value> {
    let tasks = graph["all_tasks"].as_array_mut().expect("tasks");
    tasks.iter_mut().filter(|task| task["task_type"] == task_type).collect()
}

/// That no rule rejects a graph.
fn assert_sound(graph: &Value) {
    let text = graph.to_string();
    let ranks = [read_task_graph(text.as_bytes()).expect("a graph")];
    assert_eq!(broken_graph_rules(Graphs::System(&ranks, None)), []);
}

const SPLIT_K: i64 = 251;
