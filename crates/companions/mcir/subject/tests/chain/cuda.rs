//! CUDA C++ of Kernel IR: what documents are lowered to is generated, compiled for the CPU with the shim of `crates/cuda-harness`, and run; and what comes out is
//! judged by the runner's judge, within the bounds of the case. Faults that are planted in the code are rejected by the same.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use megakernel_mcir_reference::{NoCode, THREADS, generate, lowered};
use megakernel_test_support::root;
use megakernel_test_support::tools::{Tool, require};
use serde_json::{Map, Value, json};

use super::plays::{Play, computing, lowering, wrong};

/// The code of a document, and its tensors in the order of the code.
struct Code {
    text: String,
    tensors: Vec<(String, usize)>,
}

fn code(play: &Play, threads: u32) -> Code {
    let (_, kernels) = lowered(play.document.to_string().as_bytes()).expect("an accepted document");
    let text = generate(kernels.to_string().as_bytes(), threads)
        .unwrap_or_else(|refused| unreachable!("{}: {refused:?}", play.name));
    let size = |tensor: &Value| if tensor["dtype"] == "F32" { 4 } else { 2 };
    let tensors = kernels["tensors"].as_object().expect("tensors");
    let mut tensors: Vec<_> = tensors.iter().map(|(name, tensor)| (name.clone(), size(tensor))).collect();
    tensors.sort();
    Code { text, tensors }
}

/// Compiles all codes as one program, runs it, and says for each play what the judge finds wrong.
fn judged(all: &[(&Play, Code)]) -> Vec<Option<String>> {
    require(Tool::Cxx);
    let folder = tempfile::tempdir().expect("a folder");
    let at = |number: usize| folder.path().join(number.to_string());
    let (mut source, mut calls) = (String::from("#include \"host.cpp\"\n"), String::new());
    for (number, (play, code)) in all.iter().enumerate() {
        std::fs::create_dir(at(number)).expect("a folder");
        std::fs::write(at(number).join("code.cuh"), &code.text).expect("written");
        for (place, (name, size)) in code.tensors.iter().enumerate() {
            let Some(bits) = play.document["data"][name.as_str()].as_array() else { continue };
            let bytes = bits.iter().flat_map(|bits| {
                let bits = bits.as_u64().expect("bits").to_le_bytes();
                bits.into_iter().take(*size).collect::<Vec<u8>>()
            });
            let bytes: Vec<u8> = bytes.collect();
            std::fs::write(at(number).join(format!("{place}.bin")), bytes).expect("written");
        }
        let _ = writeln!(
            source,
            "#undef MCIR_NAMESPACE\n#define MCIR_NAMESPACE d{number}\n#include \"{number}/code.cuh\""
        );
        // Threads take turns in another order in every second one.
        let seed = number % 2;
        let _ = writeln!(
            calls,
            "  play(d{number}::tensors_of_run, [](void *const *tensors, auto launch) {{ d{number}::run(tensors, launch); }}, \"{number}\", {seed});"
        );
    }
    let _ = writeln!(source, "int main() {{\n{calls}}}");
    std::fs::write(folder.path().join("main.cpp"), source).expect("written");
    let shim = root().join("crates/cuda-harness/cuda");
    let host = root().join("examples/mcir");
    let options = [
        "-std=c++20",
        "-O1",
        "-ffp-contract=off",
        "-fno-strict-aliasing",
        "-Wall",
        "-Wextra",
        "-Werror",
        // Of arrays that loops with the same bounds write and read, it cannot tell.
        "-Wno-maybe-uninitialized",
    ];
    let mut compiler = Command::new("c++");
    compiler.args(options).arg("-I").arg(shim).arg("-I").arg(host).args(["-o", "run", "main.cpp"]);
    succeeds(compiler.current_dir(folder.path()));
    let output = Command::new(folder.path().join("run")).current_dir(folder.path()).output();
    let output = output.expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "a code ended all that come after it: {said}");
    all.iter()
        .enumerate()
        .map(|(number, (play, code))| {
            let answer = answer(play, code, &at(number)).unwrap_or_else(|| json!({"nothing": said}));
            wrong(play, &answer)
        })
        .collect()
}

fn succeeds(command: &mut Command) {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What `compute` would answer, if the code had not been stopped.
fn answer(play: &Play, code: &Code, folder: &Path) -> Option<Value> {
    let mut data = Map::new();
    for name in play.outputs.keys() {
        let place = code.tensors.iter().position(|(tensor, _)| tensor == name)?;
        let bytes = std::fs::read(folder.join(format!("{place}.bin"))).ok()?;
        let bits =
            |element: &[u8]| element.iter().rev().fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
        let size = code.tensors[place].1;
        data.insert(name.clone(), bytes.chunks_exact(size).map(bits).collect());
    }
    Some(json!({"data": data}))
}

fn none_is_wrong(plays: &[Play], threads: &[u32]) {
    let numbers = threads.iter().cycle();
    let codes: Vec<(&Play, Code)> =
        plays.iter().zip(numbers).map(|(play, &threads)| (play, code(play, threads))).collect();
    let found: Vec<String> = judged(&codes).into_iter().flatten().collect();
    assert_eq!(found, Vec::<String>::new());
}

type Fault = fn(&str) -> String;

/// Lines of a code, each as it is made anew.
fn lines(code: &str, edit: impl Fn(&str) -> Option<String>) -> String {
    let kept = code.lines().filter_map(edit);
    kept.fold(String::new(), |text, line| text + &line + "\n")
}

/// What a generator may do wrong.
const FAULTS: &[(&str, Fault)] = &[
    ("threads do not meet", |code| {
        lines(code, |line| (line.trim() != "__syncthreads();").then(|| line.to_owned()))
    }),
    ("a cast to the other dtype of 16 bits", |code| {
        let kernels = code.find("__global__").unwrap_or(0);
        let (prelude, kernels) = code.split_at(kernels);
        let swapped = kernels.replace("F16::put", "@").replace("B@", "F16::put").replace('@', "BF16::put");
        prelude.to_owned() + &swapped
    }),
    ("every block loads and stores where the first one does", |code| {
        lines(code, |line| {
            let is_index = line.trim().starts_with("const long long a0 = ");
            Some(if is_index { "const long long a0 = 0ll;".to_owned() } else { line.to_owned() })
        })
    }),
    ("a sum that begins anew with each product", |code| code.replace("++k) sum += ", "++k) sum = ")),
    ("sums of weights that are never rescaled", |code| code.replace("mcir::rescale(before, top)", "1.0f")),
];

/// Which of the documents are played in every run: one in so many. The test of minutes plays all.
const ONE_IN: usize = 19;

#[test]
fn generated_code_computes_what_documents_do_and_faults_in_it_are_rejected() {
    let all: Vec<Play> = computing().into_iter().chain(lowering()).step_by(ONE_IN).collect();
    let mut codes: Vec<(&Play, Code)> = all
        .iter()
        .zip([THREADS, 32, 96].into_iter().cycle())
        .map(|(play, threads)| (play, code(play, threads)))
        .collect();
    let right = codes.len();
    let mut faulty = Vec::new();
    for (what, fault) in FAULTS {
        let mut count = 0;
        for play in &all {
            let code = code(play, 64);
            let text = fault(&code.text);
            if text != code.text && count < 4 {
                count += 1;
                codes.push((play, Code { text, ..code }));
                faulty.push(*what);
            }
        }
    }
    let found = judged(&codes);
    let wrong: Vec<&String> = found[..right].iter().flatten().collect();
    assert_eq!(wrong, Vec::<&String>::new());
    for (what, _) in FAULTS {
        let rejected =
            faulty.iter().zip(&found[right..]).filter(|(of, found)| *of == what && found.is_some());
        assert!(rejected.count() >= 3, "fewer than three documents reject: {what}");
    }
}

#[test]
fn what_is_no_kernel_ir_is_refused_with_its_place() {
    let sound = json!({
        "tensors": {"X": {"shape": [8], "dtype": "F16"}}, "inputs": ["X"], "outputs": [],
        "kernels": [{"id": "k", "blocks": [{"axis": "i", "to": 8, "step": 4}],
            "allocations": {"a": {"memory": "register", "bytes": 8}},
            "buffers": {"x": {"allocation": "a", "shape": [4], "dtype": "F16"}},
            "body": [{"op": "alloc", "allocation": "a"},
                {"op": "loop", "axis": "j", "to": 1, "step": 1, "body": [
                    {"op": "load", "tensor": "X", "at": ["i"], "out": {"buffer": "x"}}]}]}],
    });
    let generated = |value: &Value| generate(value.to_string().as_bytes(), THREADS);
    assert!(generated(&sound).is_ok_and(|code| code.contains("kernel_0(")));
    let load = "/kernels/0/body/1/body/0";
    for (at, wrong, pointer, reason) in [
        ("/inputs/0", json!("Y"), "/inputs/0", "`Y` is no tensor"),
        ("/kernels/0/body/1/body/0/at", json!(["k"]), load, "`k` is no integer that is known here"),
        ("/kernels/0/body/1/body/0/at", json!([]), load, "`X` has other axes"),
        ("/kernels/0/body/1/body/0/out/extent", json!([1, 1]), load, "more or fewer axes"),
        ("/kernels/0/body/1/axis", json!("i"), "/kernels/0/body/1", "declared again"),
        ("/kernels/0/body/0/allocation", json!("b"), "/kernels/0/body/0", "no such allocation"),
        ("/kernels/0/buffers/x/shape", json!([5]), "/kernels/0/buffers/x", "its allocation"),
        ("/kernels/0/blocks/0/step", json!(0), "/kernels/0/blocks", "out of range"),
    ] {
        let mut broken = sound.clone();
        let (parent, member) = at.rsplit_once('/').expect("a pointer");
        let parent = broken.pointer_mut(parent).expect("a place");
        match member.parse::<usize>() {
            Ok(place) => parent[place] = wrong,
            Err(_) => parent[member] = wrong,
        }
        let found = generated(&broken);
        let Err(NoCode::Refused(place, why)) = found else { unreachable!("{at}: {found:?}") };
        assert!(place == pointer && why.contains(reason), "{at}: {place} {why}");
    }
    // 64 bits hold no index like this one, wherever it is used.
    let most = i64::from(i32::MAX);
    let mut far = sound.clone();
    far["kernels"][0]["blocks"] = json!([{"axis": "i", "to": most, "step": 1}]);
    far["kernels"][0]["body"][1]["body"][0]["at"] = json!([[[most, "i"], [most, "i"]]]);
    let found = generated(&far);
    assert!(matches!(&found, Err(NoCode::Refused(_, why)) if why.contains("62 bits")), "{found:?}");
    assert!(matches!(generate(sound.to_string().as_bytes(), 0), Err(NoCode::Refused(..))));
}

#[test]
fn registers_that_lie_where_shared_memory_was_are_taken_after_threads_have_met() {
    // Registers with two buffers are memory that threads share, and have the place that `s` had.
    let view = |buffer: &str| json!({"buffer": buffer});
    let kernels = json!({
        "tensors": {"X": {"shape": [8], "dtype": "F32"}}, "inputs": ["X"], "outputs": [],
        "kernels": [{"id": "k",
            "allocations": {"s": {"memory": "shared", "bytes": 32}, "r": {"memory": "register", "bytes": 32},
                "c": {"memory": "register", "bytes": 32}},
            "buffers": {"x": {"allocation": "s", "shape": [8], "dtype": "F32"},
                "y": {"allocation": "r", "shape": [8], "dtype": "F32"},
                "a": {"allocation": "c", "shape": [4], "dtype": "F32"},
                "b": {"allocation": "c", "offset": 16, "shape": [4], "dtype": "F32"}},
            "body": [{"op": "alloc", "allocation": "s"},
                {"op": "load", "tensor": "X", "at": [0], "out": view("x")},
                {"op": "sync"},
                {"op": "alloc", "allocation": "r"},
                {"op": "compute", "fn": "neg", "in": [view("x")], "out": [view("y")]},
                {"op": "free", "allocation": "s"},
                {"op": "alloc", "allocation": "c"},
                {"op": "fill", "value": 0, "out": view("a")}]}],
    });
    let code = generate(kernels.to_string().as_bytes(), THREADS).expect("code");
    let (_, kernel) = code.split_once("__global__").expect("a kernel");
    let meetings: Vec<usize> = kernel.match_indices("__syncthreads();").map(|(at, _)| at).collect();
    let negated = kernel.find("put(-").expect("what is computed");
    let filled = kernel.rfind("0.0f").expect("what is filled");
    assert!(meetings.iter().any(|at| (negated..filled).contains(at)), "{kernel}");
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_generated_code_of_all_documents_computes_what_they_do() {
    none_is_wrong(&lowering(), &[32, 64, THREADS]);
    none_is_wrong(&computing(), &[THREADS]);
}
