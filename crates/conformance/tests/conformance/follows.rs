//! An oracle of traces for workers that execute, and what a worker can do to one.

use std::io::{stdin, stdout};
use std::os::unix::process::parent_id;
use std::thread::{sleep, spawn};
use std::time::Duration;

use megakernel_ir::protocol::oracle::{Answer, Bytes, Numbers, ORACLE, Request, read, write};
use megakernel_numerics::Tensor;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::arithmetic;

/// How far a real may be off.
const BOUND: f64 = 0.01;

/// Answers until its input ends, with what `arithmetic` computes. A launch is begun so slowly that it can be disturbed.
pub fn serve() -> std::io::Result<()> {
    let (mut input, mut output) = (stdin().lock(), stdout());
    let (mut text, mut memory): (Vec<u8>, Vec<Tensor>) = Default::default();
    while let Some((request, payload)) = read::<Request>(&mut input)? {
        let mut rest = payload.as_slice();
        let (answer, bytes) = match request {
            Request::Hello { .. } => {
                let [oracle, name, version] = [ORACLE, "test", "1"].map(str::to_owned);
                (Answer::Hello { oracle, name, version }, Vec::new())
            }
            Request::Follow { program, tensors, caches, .. } => {
                sleep(Duration::from_millis(100));
                text = rest.split_off(..program as usize).expect("a text").to_vec();
                let bound = tensors
                    .iter()
                    .chain(&caches)
                    .map(|tensor| (tensor.name.clone(), tensor.take(&mut rest).expect("a tensor")))
                    .collect();
                let program = megakernel_ir::read(&text).expect("a program");
                memory = arithmetic::memory(&program, &bound);
                (Answer::Following { order: (0..program.tasks.len()).collect() }, Vec::new())
            }
            Request::Task { task } => {
                let program = megakernel_ir::read(&text).expect("a program");
                match arithmetic::values(&program, &memory, task) {
                    None => (Answer::Nothing, Vec::new()),
                    Some((buffer, values)) => written(buffer, &memory[buffer], &values),
                }
            }
            Request::Store { task, tensor } => {
                let program = megakernel_ir::read(&text).expect("a program");
                let output = program.tasks[task].outputs[0] as usize;
                memory[output] = tensor.take(&mut rest).expect("a tensor");
                (Answer::Stored, Vec::new())
            }
            Request::Buffer { buffer } => {
                let held = &memory[buffer];
                (Answer::Holds { tensor: Bytes::of("", held) }, held.bytes.clone())
            }
        };
        write(&mut output, &answer, &[&bytes])?;
    }
    Ok(())
}

fn written(buffer: usize, like: &Tensor, values: &[f64]) -> (Answer, Vec<u8>) {
    let (numbers, bytes) = if like.dtype.is_float() {
        let bounds = vec![BOUND; values.len()];
        (Numbers::Reals, values.iter().chain(&bounds).flat_map(|value| value.to_le_bytes()).collect())
    } else {
        (Numbers::Ints, values.iter().flat_map(|&value| (value as i64).to_le_bytes()).collect())
    };
    let region = like.shape.iter().map(|&extent| (0, extent)).collect();
    (Answer::Written { buffer, region, numbers, elements: values.len() as u64 }, bytes)
}

/// Sends a signal to every oracle of the run that this worker belongs to: they have the same parent.
pub fn disturb(signal: Signal) {
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let part = |name| std::fs::read(entry.path().join(name)).unwrap_or_default();
        let (line, status) = (part("cmdline"), part("stat"));
        let (line, status) = (String::from_utf8_lossy(&line), String::from_utf8_lossy(&status));
        let parent = status.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        if line.contains("\0follows") && parent == Some(parent_id()) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
}

/// The same for as long as this worker lives.
pub fn disturb_always(signal: Signal) {
    spawn(move || {
        loop {
            disturb(signal);
            sleep(Duration::from_millis(1));
        }
    });
}
