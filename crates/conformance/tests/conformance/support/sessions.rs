//! A small corpus of cases that execute, which `test-worker` conforms to.

use std::collections::BTreeMap;
use std::path::Path;

use megakernel_ir::{BufferKind, DType, read};
use megakernel_numerics::{Stored, Tensor, TensorFile};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::arithmetic;

/// How far a real may be off in this corpus.
pub const BOUND: f64 = 0.01;

/// The same for a truncating accumulator.
pub const WIDE: f64 = 0.1;

pub fn buffer(id: usize, name: &str, kind: &str, dtype: &str, shape: &[u64]) -> Value {
    json!({"id": id, "name": name, "kind": kind, "dtype": dtype, "shape": shape})
}

pub fn task(id: usize, op: &str, inputs: &[usize], output: usize, label: &str) -> Value {
    let waits = if id == 0 { json!([]) } else { json!([{"counter": id - 1, "threshold": 1}]) };
    json!({"id": id, "op": op, "inputs": inputs, "outputs": [output], "out_counter": id, "waits": waits, "label": label})
}

pub fn program(buffers: &[Value], tasks: &[Value]) -> Value {
    let counters: Vec<Value> = (0..tasks.len()).map(|id| json!({"id": id})).collect();
    json!({"ir_version": "0.2.0", "abi_version": "0.2", "buffers": buffers, "counters": counters, "tasks": tasks})
}

/// `h = x + w`, `c = c + h`, `y = h c`, `n = argmax y`: with a cache that lasts from launch to launch.
pub fn block() -> Value {
    let mut weight = buffer(1, "w", "WEIGHT", "F32", &[2, 3]);
    weight["source"] = json!("layer.w");
    program(
        &[
            buffer(0, "x", "IO_INPUT", "F32", &[2, 3]),
            weight,
            buffer(2, "h", "ACTIVATION", "F32", &[2, 3]),
            buffer(3, "c", "KV_CACHE", "F32", &[2, 3]),
            buffer(4, "y", "IO_OUTPUT", "F32", &[2, 3]),
            buffer(5, "n", "IO_OUTPUT", "I32", &[1]),
            // In nobody's memory, since no task lists it.
            buffer(6, "spare", "KV_CACHE", "F32", &[2]),
        ],
        &[
            task(0, "ADD", &[0, 1], 2, "sum"),
            task(1, "ADD", &[3, 2], 3, "cache"),
            task(2, "MUL", &[2, 3], 4, "product"),
            task(3, "SAMPLE_ARGMAX", &[4], 5, ""),
        ],
    )
}

pub fn single() -> Value {
    program(
        &[
            buffer(0, "i0", "IO_INPUT", "BF16", &[4]),
            buffer(1, "i1", "IO_INPUT", "BF16", &[4]),
            buffer(2, "y", "IO_OUTPUT", "BF16", &[4]),
        ],
        &[task(0, "ADD", &[0, 1], 2, "op")],
    )
}

pub type Tensors = BTreeMap<String, Tensor>;

pub fn write_tensors(root: &Path, path: &str, tensors: impl IntoIterator<Item = (String, Stored)>) {
    let file = TensorFile { tensors: tensors.into_iter().collect() };
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    std::fs::write(path, file.to_bytes().expect("a file of tensors")).expect("a file");
}

/// Writes a case and its files: `launches` are the tensors of each launch, of which the first has a name in the corpus.
pub fn write_case(root: &Path, id: &str, program: &Value, launches: &[Vec<(&str, Tensors)>]) {
    let text = program.to_string();
    let program_path = format!("programs/{}.json", id.replace('/', "-"));
    std::fs::create_dir_all(root.join("programs")).expect("a directory");
    std::fs::write(root.join(&program_path), &text).expect("a file");
    let parsed = read(text.as_bytes()).expect("a program");
    let mut caches = Tensors::new();
    let mut lines = Vec::new();
    for (n, files) in launches.iter().enumerate() {
        let mut bound = caches.clone();
        for (path, tensors) in files {
            let stored = tensors.iter().map(|(name, tensor)| (name.clone(), Stored::Buffer(tensor.clone())));
            write_tensors(root, path, stored);
            bound.extend(tensors.clone());
        }
        let mut memory = arithmetic::memory(&parsed, &bound);
        for task in 0..parsed.tasks.len() {
            let (buffer, values) = arithmetic::values(&parsed, &memory, task).expect("an opcode of the test");
            memory[buffer] = arithmetic::tensor(&memory[buffer], &values);
        }
        let mut expected = Vec::new();
        for (buffer, contents) in parsed.buffers.iter().zip(&memory) {
            let name = buffer.name.to_string();
            match buffer.kind {
                BufferKind::KvCache => drop(caches.insert(name, contents.clone())),
                BufferKind::IoOutput if buffer.dtype.is_float() => {
                    let reals = |values| Stored::F64 { shape: contents.shape.clone(), values };
                    let bound = if buffer.dtype == DType::F32 { BOUND } else { 0.0 };
                    let count = contents.reals().len();
                    expected.push((format!("{name}.bound"), reals(vec![bound; count])));
                    expected.push((format!("{name}.bound.truncating"), reals(vec![WIDE; count])));
                    expected.push((name, reals(contents.reals())));
                }
                BufferKind::IoOutput => expected.push((name, Stored::Buffer(contents.clone()))),
                _ => {}
            }
        }
        let path = format!("tensors/{id}.{n}.expected.safetensors");
        write_tensors(root, &path, expected);
        let paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
        lines.push(json!({"tensors": paths, "expected": path}));
    }
    let case = json!({
        "id": id, "summary": format!("what {id} shows"), "profiles": ["execute"], "method": "execute",
        "clauses": ["EXE-09"], "document": {"base": program_path}, "expect": {"verdict": "accept"},
        "execute": {"launches": lines}, "provenance": {"family": "test", "seed": 0, "generator": "0.1.0"}
    });
    let path = root.join("cases").join(format!("{id}.json"));
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    std::fs::write(path, case.to_string()).expect("a file");
}

pub fn tensors<const N: usize>(named: [(&str, DType, &[u64], &[f64]); N]) -> Tensors {
    let tensor = |(name, dtype, shape, values): (&str, DType, &[u64], &[f64])| {
        let tensor = Tensor::from_reals(dtype, shape.to_vec(), values).expect("as many values as elements");
        (name.to_owned(), tensor)
    };
    named.into_iter().map(tensor).collect()
}

/// [`write`] in a folder of its own.
pub fn corpus() -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    write(directory.path());
    directory
}

/// Writes two cases: a session of two launches, and a task of one opcode.
pub fn write(root: &Path) {
    let shape: &[u64] = &[2, 3];
    let weights = tensors([("layer.w", DType::F32, shape, &[1.0, 1.5, 2.0, -1.0, 0.5, 0.25])]);
    let first = tensors([("x", DType::F32, shape, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])]);
    let second = tensors([("x", DType::F32, shape, &[0.5, -2.0, 8.0, 1.0, 1.0, 1.0])]);
    let weights = ("tensors/execution/weights.safetensors", weights);
    let launches = [
        vec![weights.clone(), ("tensors/execution/first.safetensors", first)],
        vec![weights, ("tensors/execution/second.safetensors", second)],
    ];
    write_case(root, "execution/block", &block(), &launches);
    let four: &[u64] = &[4];
    let inputs = tensors([
        ("i0", DType::BF16, four, &[1.0, -2.0, f64::NAN, 3.0]),
        ("i1", DType::BF16, four, &[4.0, 2.0, 0.25, -1.0]),
    ]);
    write_case(root, "numeric/add/one", &single(), &[vec![("tensors/numeric/add.safetensors", inputs)]]);
}
