//! What strangers bring along: headers and macros for their sources, and compiled kernels that are launched in a way of their own.

use std::collections::BTreeSet;

use megakernel_test_support::part;
use serde_json::json;

use crate::support::driver::Driver;
use crate::support::fewer;
use crate::support::worker::{Worker, chain, f32s};

/// A macro and a header, of a folder that is named, decide what ADD computes.
#[test]
fn sources_find_their_headers_and_macros() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let header = |factor: &str| {
        std::fs::create_dir_all(path("inc/theirs")).expect("a folder");
        let text = format!("AMK_DEVICE float scaled(float value) {{ return value * {factor}; }}\n");
        std::fs::write(path("inc/theirs/scale.cuh"), text).expect("a file");
    };
    let own = "#include <theirs/scale.cuh>\n\
        AMK_DEVICE void my_add(const amk_program_t& program, const amk_instruction_t& task) {\n\
        const amk_buffer_t &x = amk_input(program, task, 0), &y = amk_output(program, task, 0);\n\
        amk_each(y.numel, [&](amk_i64 i) { amk_store(y, i, scaled(amk_load(x, i)) + MORE); });\n}\n\
        #define AMK_REPLACE_ADD my_add\n";
    std::fs::write(path("kernels.cu"), format!("{}{own}", fewer::only(&fewer::CHAIN))).expect("a file");
    let add = chain(&[("ADD", &[])]);
    let run = |define: &str| {
        let options = ["--kernels", &path("kernels.cu"), "--include", &path("inc"), "--define", define];
        let mut worker = Worker::new(&options);
        let hello = worker.say(&json!({"type": "hello", "protocol": "1.0"}));
        let answer = worker.execute(std::slice::from_ref(&add), &[("x", f32s(&[1.0, -2.5, 3.0]))]);
        assert_eq!(answer["outcome"], "accept", "{answer}");
        (worker.reals("out-0", "y"), hello["device"]["kernels"].to_string())
    };
    header("2.0f");
    let first = run("MORE=1.0f");
    let second = run("MORE=(-1.0f)");
    header("3.0f");
    let third = run("MORE=1.0f");
    assert_eq!([&first.0, &second.0, &third.0], [&[3.0, -4.0, 7.0], &[1.0, -6.0, 5.0], &[4.0, -6.5, 10.0]]);
    // Each is something else that was judged.
    assert_eq!(BTreeSet::from([first.1, second.1, third.1]).len(), 3);
}

/// Blocks that run at once, each of which has variables of its own: every one passes its elements through them, from thread to thread.
const SHARED: &str = r#"
template <typename T>
AMK_DEVICE T* room() {
    __shared__ T words[64];
    return words;
}
AMK_DEVICE void passes(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &y = amk_output(program, task, 0);
    __shared__ int n;
    const int t = amk_thread();
    const bool fresh = room<float>()[t] != room<float>()[t];
    if (t == 0) n = int(y.numel), amk_shared()[48 * 1024 - 1] = 1;
    if (t < y.numel) room<float>()[t] = amk_load(x, t);
    __syncthreads();
    if (t < n) amk_store(y, t, room<float>()[n - 1 - t] + (fresh ? 0.0f : 1000.0f));
}
#define AMK_REPLACE_COPY passes
"#;

#[test]
fn blocks_share_no_variables_with_each_other() {
    let buffer = |id: usize, name: &str, kind: &str, n: usize| json!({"id": id, "name": name, "kind": kind, "dtype": "F32", "shape": [n]});
    let task = |id: usize| json!({"id": id, "op": "COPY", "inputs": [id], "outputs": [2 + id], "out_counter": id, "waits": [], "sm": id});
    let program = json!({"ir_version": "0.2.0", "abi_version": "0.2",
        "buffers": [buffer(0, "a", "IO_INPUT", 3), buffer(1, "b", "IO_INPUT", 5),
                    buffer(2, "c", "IO_OUTPUT", 3), buffer(3, "d", "IO_OUTPUT", 5)],
        "counters": [{"id": 0}, {"id": 1}], "tasks": [task(0), task(1)]});
    let tensors = [("a", f32s(&[1.0, 2.0, 3.0])), ("b", f32s(&[4.0, 5.0, 6.0, 7.0, 8.0]))];
    let kernels = fewer::file(&fewer::CHAIN, SHARED);
    let ways = [&[][..], &["--sanitize", "address,undefined"], &["--seed", "3"]];
    for options in part::one_in(2, ways.into_iter()) {
        let mut worker = Worker::new(&[&["--kernels", &kernels], options].concat());
        // In each launch they begin as memory does that nobody has written.
        for _ in 0..2 {
            let answer = worker.execute(std::slice::from_ref(&program), &tensors);
            assert_eq!(answer["outcome"], "accept", "{options:?}: {answer}");
            assert_eq!(worker.reals("out-0", "c"), [3.0, 2.0, 1.0], "{options:?}");
            assert_eq!(worker.reals("out-0", "d"), [8.0, 7.0, 6.0, 5.0, 4.0], "{options:?}");
        }
    }
}

/// A virtual machine with a name and arguments of its own, which has to find each of them as it was described.
const DESCRIBED: &str = r#"
#include "dispatch.cuh"
extern "C" __global__ void theirs(
    amk_u32 a, float b, const amk_program_t* at, unsigned long long c, amk_u32* scratch, amk_program_t program
) {
    const bool holds = a == 7u && b == 0.5f && c == 1ull << 40 && at->n_instructions == program.n_instructions && scratch[1023] == 0u;
    __syncthreads();
    // The last byte of shared memory that there is in any case.
    if (threadIdx.x == 0) scratch[1023] = 1u, amk_shared()[48 * 1024 - 1] = 1;
    for (int id = 0; holds && blockIdx.x == 0 && id < program.n_instructions; ++id) {
        const amk_instruction_t& task = program.instructions[id];
        amk_run(program, task);
        __syncthreads();
        if (threadIdx.x == 0) amk_increment_release(&program.counters[task.out_counter]);
        __syncthreads();
    }
}
#define AMK_STAND_IN_KERNEL "theirs"
#define AMK_STAND_IN_PROGRAM(arguments) (*static_cast<amk_program_t*>(arguments[5]))
template <typename T>
T argument(void* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}
#define AMK_STAND_IN_CALL(arguments, program)                                                              \
    [=, a = argument<amk_u32>(arguments[0]), b = argument<float>(arguments[1]),                             \
     at = argument<amk_program_t*>(arguments[2]), c = argument<unsigned long long>(arguments[3]),           \
     scratch = argument<amk_u32*>(arguments[4])] { theirs(a, b, at, c, scratch, program); }
"#;

#[test]
fn a_file_says_how_a_compiled_kernel_is_launched() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| std::fs::write(path(name), text).expect("a file");
    write("theirs.cu", &format!("{}{DESCRIBED}", fewer::only(&fewer::CHAIN)));
    write("theirs.fatbin", "\x7fELF stand-in");
    let mut driver = Driver::vm(&path("theirs.cu"));
    let described = |number: u32, more: &str| {
        let arguments = format!(
            r#"[{{"u32": {number}}}, {{"f32": 0.5}}, "program_address", {{"u64": 1099511627776}}, {{"zeros": 4096}}, "program"]"#
        );
        format!(r#"{{"binary": "theirs.fatbin", "kernel": "theirs", "arguments": {arguments}{more}}}"#)
    };
    let mut digests = BTreeSet::new();
    let x = [("x", f32s(&[1.0, -2.5, 3.0]))];
    let good = chain(&[("COPY", &[]), ("ADD", &[])]);
    for (number, more, passes) in [(7, "", true), (7, r#", "shared_bytes": 60000"#, true), (8, "", false)] {
        write("theirs.json", &described(number, more));
        driver = driver.given("--vm", path("theirs.json"));
        let mut worker = driver.worker("", &[]);
        // What is zero is so before the second launch, too.
        for _ in 0..2 {
            let answer = worker.execute(std::slice::from_ref(&good), &x);
            if passes {
                assert_eq!(answer["outcome"], "accept", "{answer}");
                assert_eq!(worker.reals("out-0", "y"), [2.0, -5.0, 6.0]);
            } else {
                assert!(answer["message"].as_str().is_some_and(|said| said.contains("counter ")), "{answer}");
            }
        }
        let hello = driver.worker("", &[]).say(&json!({"type": "hello", "protocol": "1.0"}));
        assert!(digests.insert(hello["device"]["kernels"].to_string()), "{hello}");
    }
    for (text, said) in [
        (r#"{"binary": "absent.cubin"}"#, "absent.cubin: No such file"),
        (r#"{"binary": "theirs.fatbin"}"#, "runs none of the kernels"),
        (r#"{"binary": "theirs.fatbin", "entry": "x"}"#, "theirs.json does not say how a kernel is launched"),
    ] {
        write("theirs.json", text);
        let output = driver.run("", &[]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && text.contains(said), "{text}");
    }
}
