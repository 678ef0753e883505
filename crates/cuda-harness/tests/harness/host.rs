//! The worker with its kernels on the CPU: what it computes, and what it says of kernels and programs that go wrong.

use std::path::Path;
use std::process::Command;

use crate::support::corpus::{assert_runs, path};
use crate::support::fewer;
use crate::support::worker::{Worker, append, chain, f32s};
use megakernel_ir::{DType, Opcode};
use megakernel_numerics::{Tensor, pack};
use serde_json::{Value, json};

#[test]
fn programs_run_whole_and_task_by_task() {
    for options in [
        &["--trace"][..],
        &["--trace", "--opcode-only", "--zeros"],
        &["--trace", "--seed", "5", "--threads", "32"],
    ] {
        let mut worker = Worker::new(options);
        let hello = worker.say(&json!({"type": "hello", "protocol": "1.0"}));
        assert_eq!(
            (&hello["profiles"], &hello["trace"], &hello["targets"]),
            (&json!(["execute"]), &json!(true), &json!(["host"]))
        );
        match options.contains(&"--opcode-only") {
            true => assert_eq!(hello.get("device"), None),
            false => assert_eq!(hello["device"], own_device(&hello["device"], options)),
        }
        let mut program = chain(&[("COPY", &[]), ("ADD", &[]), ("ADD", &[])]);
        // The second task overwrites what the first one wrote; the trace has both.
        program["tasks"][1]["outputs"] = json!([1]);
        program["tasks"][2]["inputs"] = json!([1, 1]);
        let answer = worker.execute(&[program], &[("x", f32s(&[1.0, -2.5, 3.0]))]);
        assert_eq!(answer["outcome"], "accept", "{options:?}: {answer}");
        assert_eq!(worker.reals("out-0", "y"), [4.0, -10.0, 12.0]);
        assert_eq!(worker.reals("trace-0", "0"), [1.0, -2.5, 3.0]);
        assert_eq!(worker.reals("trace-0", "1"), [2.0, -5.0, 6.0]);
    }
}

#[test]
fn caches_last_from_launch_to_launch() {
    let step = |pos| append(pos, 3);
    let mut worker = Worker::new(&["--trace"]);
    for _ in 0..2 {
        let answer = worker.execute(&[step(2), step(0)], &[("x", f32s(&[1.0, 2.0, 3.0]))]);
        assert_eq!(answer["outcome"], "accept", "{answer}");
        assert_eq!(worker.reals("out-0", "c"), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(worker.reals("out-1", "c"), [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(worker.reals("trace-1", "0"), [1.0, 2.0, 3.0]);
    }
}

/// A collective algorithm as a program: `end` is what the simulator of collective algorithms makes of `tiles`.
#[test]
fn a_collective_algorithm_ends_with_the_bits_that_are_simulated() {
    let file = megakernel_test_support::root().join("examples/collectives/lowered.json");
    let made: Value = serde_json::from_slice(&std::fs::read(file).expect("it is there")).expect("JSON");
    let piece = made["piece"].as_u64().expect("a length");
    let pieces = |member: &str, name: &str| -> Vec<(String, Tensor)> {
        let rows = made[member].as_array().expect("tiles").iter().enumerate();
        let piece_of = |(element, tile): (usize, &Value)| {
            let bits: Vec<u32> = tile
                .as_array()
                .expect("bits")
                .iter()
                .map(|bits| bits.as_u64().expect("bits") as u32)
                .collect();
            let parts: Vec<_> =
                bits.chunks(piece as usize).map(|part| pack(DType::F16, part.iter().copied())).collect();
            let tensor = |bytes| Tensor::new(DType::F16, vec![piece], bytes).expect("a tensor");
            let named = move |(at, bytes)| (format!("{name}.{element}.{at}"), tensor(bytes));
            parts.into_iter().enumerate().map(named).collect::<Vec<_>>()
        };
        rows.flat_map(piece_of).collect()
    };
    let tiles = pieces("tiles", "tile");
    let tiles: Vec<(&str, Tensor)> =
        tiles.iter().map(|(name, tensor)| (name.as_str(), tensor.clone())).collect();
    for options in [&["--threads", "32"][..], &["--seed", "5"]] {
        let mut worker = Worker::new(options);
        let answer = worker.execute(std::slice::from_ref(&made["program"]), &tiles);
        assert_eq!(answer["outcome"], "accept", "{answer}");
        for (name, end) in pieces("end", "end") {
            assert_eq!(worker.reals("out-0", &name), end.reals(), "{name}");
        }
    }
}

#[test]
fn a_deadlock_is_a_timeout_that_names_the_stuck_tasks() {
    let mut worker = Worker::new(&[]);
    let program = chain(&[("COPY", &[]), ("COPY", &[(2, 1)]), ("COPY", &[(1, 1), (0, 1)])]);
    let message = worker.failure(&program);
    for part in [
        "launch 0: TIMEOUT: no task can go on",
        "task 1 (COPY) waits for counter 2 to reach 1 (it is at 0)",
        "task 2 (COPY) waits for counter 1 to reach 1 (it is at 0)",
        "1 of 3 were done",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_kernel_that_hangs_is_ended() {
    let text = "AMK_DEVICE void hangs(const amk_program_t&, const amk_instruction_t&) { for (volatile int i = 0;; ++i) {} }\n\
                #define AMK_REPLACE_ADD hangs\n";
    let mut worker = Worker::new(&["--limit", "1", "--kernels", &fewer::file(&fewer::CHAIN, text)]);
    let message = worker.failure(&chain(&[("COPY", &[]), ("ADD", &[])]));
    assert!(message.contains("TIMEOUT: the launch did not end in time: "), "{message}");
    assert!(message.contains("task 1 (ADD) runs"), "{message}");
}

#[test]
fn a_write_behind_a_buffer_names_the_task() {
    let kernels = fewer::including(&fewer::CHAIN, &path("tests/kernels/writes_outside.cu"));
    let expected = "task 1 (ADD): writes outside its buffers: byte 0 after the end of buffer 2 `a2`";
    for options in [&["--kernels", &kernels][..], &["--kernels", &kernels, "--opcode-only"]] {
        let message = Worker::new(options).failure(&chain(&[("COPY", &[]), ("ADD", &[]), ("COPY", &[])]));
        assert!(message.contains(expected), "{message}");
    }
    let mut checked = Worker::new(&["--kernels", &kernels, "--sanitize", "address,undefined"]);
    // What a launch that never ended left behind is no finding in the next one.
    let deadlock = chain(&[("COPY", &[(0, 1)]), ("COPY", &[])]);
    assert!(checked.failure(&deadlock).contains("TIMEOUT"));
    let message = checked.failure(&chain(&[("COPY", &[]), ("ADD", &[]), ("COPY", &[])]));
    assert!(
        message.contains("task 1 (ADD): the kernels crashed") && message.contains("AddressSanitizer"),
        "{message}"
    );
}

#[test]
fn what_kernels_keep_lasts_until_the_process_does_not() {
    let text = "static int launches = 0;\n\
                AMK_DEVICE void counts(const amk_program_t& program, const amk_instruction_t& task) {\n\
                if (amk_thread() != 0) return;\n\
                if (++launches == 5) __builtin_trap();\n\
                amk_store(amk_output(program, task, 0), 0, float(launches));\n}\n\
                #define AMK_REPLACE_ADD counts\n";
    let mut worker = Worker::new(&["--kernels", &fewer::file(&fewer::CHAIN, text)]);
    let program = chain(&[("ADD", &[])]);
    // Each is two launches, one of them for the trace.
    for expected in [1.0, 3.0] {
        let answer = worker.execute(std::slice::from_ref(&program), &[("x", f32s(&[1.0, 2.0, 3.0]))]);
        assert_eq!(
            (&answer["outcome"], worker.reals("out-0", "y")[0]),
            (&json!("accept"), expected),
            "{answer}"
        );
    }
    // The fifth launch crashes; to find the task, it runs once more, in a new process.
    let message = worker.failure(&program);
    assert!(message.contains("the kernels crashed") && message.contains("task 0 (ADD) runs"), "{message}");
    worker.execute(std::slice::from_ref(&program), &[("x", f32s(&[1.0, 2.0, 3.0]))]);
    assert_eq!(worker.reals("out-0", "y")[0], 2.0);
}

#[test]
#[ignore = "needs ThreadSanitizer, which does not run on every kernel"]
fn a_signal_without_its_fence_is_a_race() {
    let program = chain(&[("COPY", &[]), ("COPY", &[]), ("COPY", &[]), ("COPY", &[])]);
    let x = [("x", f32s(&[1.0, 2.0, 3.0]))];
    let options = ["--sanitize", "thread", "--limit", "60"];
    let right = fewer::file(&fewer::CHAIN, "");
    let right = [&options[..], &["--kernels", &right]].concat();
    let answer = Worker::new(&right).execute(std::slice::from_ref(&program), &x);
    assert_runs(&answer.to_string());
    assert_eq!(answer["outcome"], "accept", "{answer}");
    let kernels = fewer::including(&fewer::CHAIN, &path("tests/kernels/signal_without_fence.cu"));
    let answer = Worker::new(&[&options[..], &["--kernels", &kernels]].concat()).execute(&[program], &x);
    let message = answer["message"].as_str().unwrap_or_default();
    assert!(message.contains("ThreadSanitizer: data race"), "{answer}");
}

#[test]
fn a_write_outside_the_footprint_names_the_task() {
    let text = "AMK_DEVICE void adds(const amk_program_t& program, const amk_instruction_t& task) {\n\
                if (amk_thread() == 0) amk_store(amk_input(program, task, 0), 1, 7.0f);\n}\n\
                #define AMK_REPLACE_ADD adds\n";
    let message = Worker::new(&["--kernels", &fewer::file(&fewer::CHAIN, text)])
        .failure(&chain(&[("ADD", &[]), ("COPY", &[])]));
    assert!(message.contains("task 0 (ADD): writes to buffer 0 `x`, outside its footprint"), "{message}");
}

#[test]
fn without_a_gpu_one_sentence_says_what_is_missing() {
    let output = Command::new(env!("CARGO_BIN_EXE_megakernel-cuda"))
        .args(["--device", "cuda"])
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), text.lines().count()), (Some(2), 1), "{text}");
    assert!(text.contains("--device host runs the same kernels"), "{text}");
}

/// What the handshake has to say of the device, with the names that depend on the machine as they are.
fn own_device(said: &Value, options: &[&str]) -> Value {
    use megakernel_cuda_harness::{host, sources};
    for member in ["name", "toolkit"] {
        assert!(said[member].as_str().is_some_and(|name| !name.is_empty()), "{said}");
    }
    let kernels = sources::digest(sources::Kernels::Host, &host::OPTIONS, &[]);
    // What a compiler makes of the same sources is its own affair, so that the digest has a form and no value to expect.
    let binary = said["binary"].as_str().unwrap_or_default();
    assert!(binary.len() == 64 && binary != kernels, "{said}");
    let threads = if options.contains(&"--threads") { 32 } else { 64 };
    json!({"name": said["name"], "target": "host", "toolkit": said["toolkit"], "kernels": kernels, "binary": binary,
           "options": host::OPTIONS, "threads_per_block": threads, "fixed_threads": threads == 32,
           "seed": if options.contains(&"--seed") { 5 } else { 0 }, "repeats": 1, "delays": false, "undefined": "NaN",
           "sources": sources::files(sources::Kernels::Host, &[])})
}

#[test]
fn replaced_kernels_are_other_kernels_wherever_they_lie() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/gelu_tanh.cu");
    let folder = tempfile::tempdir().expect("a folder");
    let digest = |text: &str| {
        let path = folder.path().join(text.len().to_string());
        std::fs::create_dir(&path).expect("a folder");
        std::fs::write(path.join("gelu.cu"), text).expect("a file");
        let path = path.join("gelu.cu").display().to_string();
        let hello = Worker::new(&["--kernels", &path]).say(&json!({"type": "hello", "protocol": "1.0"}));
        hello["device"]["kernels"].as_str().expect("a digest").to_owned()
    };
    let kernel = std::fs::read_to_string(kernels).expect("kernels");
    let text = format!("{}{kernel}", fewer::only(&[Opcode::Gelu]));
    let (one, other) = (digest(&text), digest(&format!("{text}// changed\n")));
    assert_ne!(one, other);
    std::fs::rename(folder.path().join(text.len().to_string()), folder.path().join("moved")).expect("moved");
    assert_eq!(digest(&text), one);
}

/// More elements of a head than a block has accumulators for.
#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_heads_of_any_size_are_computed_within_shared_memory() {
    const DIM: usize = 1030;
    let buffer = |id: usize, name: &str, kind: &str, shape: Value| json!({"id": id, "name": name, "kind": kind, "dtype": "F32", "shape": shape});
    let program = |partial: bool| {
        let (width, flags) = if partial { (DIM + 2, 2) } else { (DIM, 0) };
        json!({"ir_version": "0.2.0", "abi_version": "0.2",
               "buffers": [buffer(0, "q", "IO_INPUT", json!([1, DIM])), buffer(1, "k", "IO_INPUT", json!([2, 1, DIM])),
                           buffer(2, "v", "IO_INPUT", json!([2, 1, DIM])), buffer(3, "y", "IO_OUTPUT", json!([1, width]))],
               "counters": [{"id": 0}],
               "tasks": [{"id": 0, "op": "ATTENTION_TILE", "inputs": [0, 1, 2], "outputs": [3], "out_counter": 0,
                          "params": {"head_dim": DIM, "n_heads": 1, "n_kv_heads": 1, "kv_start": 0, "kv_len": 2, "scale": 1.0,
                                     "flags": flags}}]})
    };
    // Both rows weigh the same, so that the output is half their sum.
    let v: Vec<f64> = (0..2 * DIM).map(|i| (i % DIM) as f64 + if i < DIM { 1.0 } else { 3.0 }).collect();
    let zeros = f32s(&vec![0.0; 2 * DIM]);
    let tensors = [("q", f32s(&vec![0.0; DIM])), ("k", zeros), ("v", f32s(&v))].map(|(name, tensor)| {
        (name, megakernel_numerics::Tensor { shape: shape_of(name, DIM as u64), ..tensor })
    });
    let kernels = fewer::file(&[Opcode::AttentionTile], "");
    let mut worker = Worker::new(&["--sanitize", "address,undefined", "--kernels", &kernels]);
    let mean: Vec<f64> = (0..DIM).map(|i| i as f64 + 2.0).collect();
    let sums: Vec<f64> = mean.iter().map(|mean| 2.0 * mean).chain([0.0, 2.0]).collect();
    for (partial, expected) in [(false, mean), (true, sums)] {
        let answer = worker.execute(&[program(partial)], &tensors);
        assert_eq!(answer["outcome"], "accept", "{answer}");
        assert!(worker.reals("out-0", "y") == expected, "{partial}");
    }
}

fn shape_of(name: &str, dim: u64) -> Vec<u64> {
    if name == "q" { vec![1, dim] } else { vec![2, 1, dim] }
}
