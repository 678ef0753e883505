//! A worker in a session, and programs to give it.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use megakernel_ir::DType;
use megakernel_numerics::{Stored, Tensor, TensorFile};
use megakernel_test_support::tools::{Tool, require};
use serde_json::{Value, json};

/// A worker with options, in a session.
pub struct Worker {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    folder: tempfile::TempDir,
    id: u64,
}

impl Worker {
    /// Kernels are compiled once for all tests.
    pub fn new(options: &[&str]) -> Worker {
        Worker::with(options, &Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels"), &[])
    }

    /// With another folder for compiled kernels, and with variables of the environment.
    pub fn with(options: &[&str], cache: &Path, environment: &[(&str, &OsStr)]) -> Worker {
        require(Tool::Cxx);
        let mut child = Command::new(env!("CARGO_BIN_EXE_megakernel-cuda"))
            .args(options)
            .arg("--cache")
            .arg(cache)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the worker starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let folder = tempfile::tempdir().expect("a folder");
        Worker { child, input, output, folder, id: 0 }
    }

    pub fn say(&mut self, message: &Value) -> Value {
        writeln!(self.input, "{message}").expect("the worker reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the worker writes");
        serde_json::from_str(&line).expect("a message")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs programs in one session, on the tensors of one file.
    pub fn execute(&mut self, programs: &[Value], tensors: &[(&str, Tensor)]) -> Value {
        self.id += 1;
        let named = tensors.iter().map(|(name, tensor)| ((*name).to_owned(), Stored::Buffer(tensor.clone())));
        let bytes = TensorFile { tensors: named.collect() }.to_bytes().expect("a tensor file");
        std::fs::write(self.file("in"), bytes).expect("a file");
        let launches = programs.iter().enumerate().map(|(number, program)| {
            json!({"document": program.to_string(), "tensors": [self.file("in")],
                   "output": self.file(&format!("out-{number}")), "trace": self.file(&format!("trace-{number}"))})
        });
        let launches: Vec<Value> = launches.collect();
        self.say(&json!({"type": "request", "id": self.id, "method": "execute", "profile": "execute", "launches": launches}))
    }

    pub fn reals(&self, file: &str, name: &str) -> Vec<f64> {
        let bytes = std::fs::read(self.file(file)).expect("a file was written");
        match TensorFile::read(&bytes).expect("tensors").tensors.get(name) {
            Some(Stored::Buffer(tensor)) => tensor.reals(),
            _ => unreachable!("{file} has no `{name}`"),
        }
    }

    /// What the worker says of a request that fails. It lives on.
    pub fn failure(&mut self, program: &Value) -> String {
        let answer = self.execute(std::slice::from_ref(program), &[("x", f32s(&[1.0, 2.0, 3.0]))]);
        assert_eq!((&answer["type"], &answer["id"]), (&json!("error"), &json!(self.id)), "{answer}");
        let good = self.execute(&[chain(&[("COPY", &[])])], &[("x", f32s(&[1.0, 2.0, 3.0]))]);
        assert_eq!(good["outcome"], "accept", "{good}");
        answer["message"].as_str().expect("a message").to_owned()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn f32s(values: &[f64]) -> Tensor {
    Tensor::from_reals(DType::F32, vec![values.len() as u64], values).expect("a tensor")
}

/// Counters and thresholds.
pub type Waits<'a> = &'a [(usize, usize)];

/// Tasks one after the other on three elements, from `x` to `y`; each increments the counter of its number and waits, where
/// nothing else is given, for that of the one before.
pub fn chain(tasks: &[(&str, Waits<'_>)]) -> Value {
    let n = tasks.len();
    let buffer = |id: usize| {
        let (name, kind) = match id {
            0 => ("x".to_owned(), "IO_INPUT"),
            id if id == n => ("y".to_owned(), "IO_OUTPUT"),
            id => (format!("a{id}"), "ACTIVATION"),
        };
        json!({"id": id, "name": name, "kind": kind, "dtype": "F32", "shape": [3]})
    };
    let task = |(id, (op, waits)): (usize, &(&str, Waits<'_>))| {
        let before: Waits<'_> = if id == 0 { &[] } else { &[(id - 1, 1)] };
        let waits = if waits.is_empty() { before } else { waits };
        let waits: Vec<Value> = waits.iter().map(|(c, t)| json!({"counter": c, "threshold": t})).collect();
        let inputs = if *op == "ADD" { vec![id, id] } else { vec![id] };
        json!({"id": id, "op": op, "inputs": inputs, "outputs": [id + 1], "out_counter": id, "waits": waits})
    };
    json!({"ir_version": "0.2.0", "abi_version": "0.2",
           "buffers": (0..=n).map(buffer).collect::<Vec<_>>(),
           "counters": (0..n).map(|id| json!({"id": id})).collect::<Vec<_>>(),
           "tasks": tasks.iter().enumerate().map(task).collect::<Vec<_>>()})
}

/// A program that appends `x`, three elements, at a position of a cache `c` of so many rows.
pub fn append(pos: u64, rows: u64) -> Value {
    json!({"ir_version": "0.2.0", "abi_version": "0.2",
           "buffers": [{"id": 0, "name": "x", "kind": "IO_INPUT", "dtype": "F32", "shape": [3]},
                       {"id": 1, "name": "c", "kind": "KV_CACHE", "dtype": "F32", "shape": [rows, 1, 3]}],
           "counters": [{"id": 0}],
           "tasks": [{"id": 0, "op": "KV_APPEND", "inputs": [0, 1], "outputs": [1], "out_counter": 0, "params": {"pos": pos}}]})
}
