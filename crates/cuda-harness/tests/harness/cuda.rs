//! `--device cuda` from end to end, on stand-ins for the driver and for NVRTC: a GPU is needed for none of what the harness
//! itself does.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use crate::support::driver::Driver;
use crate::support::worker::{Worker, append, chain, f32s};
use megakernel_test_support::root;
use serde_json::{Value, json};

/// The driver with the kernels as they are.
pub fn plain() -> &'static Driver {
    static PLAIN: OnceLock<Driver> = OnceLock::new();
    PLAIN.get_or_init(|| Driver::new(None))
}

fn x() -> [(&'static str, megakernel_numerics::Tensor); 1] {
    [("x", f32s(&[1.0, -2.5, 3.0]))]
}

fn message(answer: &Value) -> &str {
    answer["message"].as_str().or(answer["reason"].as_str()).unwrap_or_default()
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn programs_run_whole_and_task_by_task() {
    for options in [&["--trace"][..], &["--trace", "--opcode-only", "--zeros", "--threads", "32"]] {
        let mut worker = plain().worker("", options);
        let hello = worker.say(&json!({"type": "hello", "protocol": "1.0"}));
        assert_eq!(hello["targets"], json!(["sm_90a"]), "{hello}");
        let device = &hello["device"];
        // Task by task there is no evidence to be made, and so no device.
        let alone = options.contains(&"--opcode-only");
        let threads = if options.contains(&"--threads") { 32 } else { 256 };
        let expected = json!({
            "name": "stand-in", "target": "sm_90a", "toolkit": "NVRTC 13.7", "threads_per_block": threads,
            "uuid": "GPU-00112233-4455-6677-8899-aabbccddeeff", "sharing": "a whole GPU, without MPS",
            "clocks": "SMs at most 1500 MHz, memory at most 2000 MHz, ECC on", "placement": "16 blocks on 16 SMs, 1 on each",
            "options": ["--std=c++17", "--fmad=false", "--maxrregcount=128"],
            "fixed_threads": threads == 32, "seed": 0, "repeats": 1, "delays": false, "undefined": "NaN",
        });
        for (key, value) in expected.as_object().expect("an object") {
            assert_eq!(&device[key], if alone { &Value::Null } else { value }, "{key}: {device}");
        }
        let driver = device["driver"].as_str();
        let is_known = |text: &str| text == "CUDA 13.0" || text.starts_with("CUDA 13.0, driver ");
        assert!(if alone { driver.is_none() } else { driver.is_some_and(is_known) }, "{driver:?}");
        // What was loaded is what the cache holds.
        let cache = plain().folder().join("cache");
        let kept = files(&cache).into_iter().find(|name| name.ends_with(".cubin")).expect("a CUBIN");
        let digest = blake3::hash(&std::fs::read(cache.join(kept)).expect("a file")).to_hex().to_string();
        assert_eq!(device["binary"], if alone { Value::Null } else { json!(digest) });
        let program = chain(&[("COPY", &[]), ("ADD", &[]), ("ADD", &[])]);
        for _ in 0..2 {
            let answer = worker.execute(std::slice::from_ref(&program), &x());
            assert_eq!(answer["outcome"], "accept", "{options:?}: {answer}");
            assert_eq!(worker.reals("out-0", "y"), [4.0, -10.0, 12.0]);
            assert_eq!(worker.reals("trace-0", "1"), [2.0, -5.0, 6.0]);
        }
    }
}

#[test]
fn repeated_launches_are_placed_on_what_the_gpu_has() {
    let program = chain(&[("GELU", &[]), ("COPY", &[]), ("GELU", &[]), ("ADD", &[]), ("COPY", &[])]);
    let mut found = Vec::new();
    let options = ["--repeat", "6", "--perturb", "--seed", "3"];
    for mut worker in [plain().worker("", &options), Worker::new(&[])] {
        let answer = worker.execute(std::slice::from_ref(&program), &x());
        assert_eq!(answer["outcome"], "accept", "{answer}");
        found.push(worker.reals("out-0", "y"));
    }
    assert!(found[0] == found[1] && found[0][0] > 0.5, "{found:?}");
}

#[test]
fn caches_last_from_launch_to_launch() {
    let step = |pos| append(pos, 2);
    let mut worker = plain().worker("", &[]);
    let answer = worker.execute(&[step(1), step(0)], &x());
    assert_eq!(answer["outcome"], "accept", "{answer}");
    assert_eq!(worker.reals("out-0", "c"), [0.0, 0.0, 0.0, 1.0, -2.5, 3.0]);
    assert_eq!(worker.reals("out-1", "c"), [1.0, -2.5, 3.0, 1.0, -2.5, 3.0]);
}

#[test]
fn the_watchdog_stops_a_deadlock_and_names_the_stuck_tasks() {
    // Whether a process lasts is seen in what kernels keep in it.
    let driver = Driver::new(Some(
        "static int adds = 0;\n\
         AMK_DEVICE void counts(const amk_program_t& program, const amk_instruction_t& task) {\n\
         if (amk_thread() == 0) amk_store(amk_output(program, task, 0), 0, float(++adds));\n}\n\
         #define AMK_REPLACE_ADD counts\n",
    ));
    let mut worker = driver.worker("", &["--limit", "1"]);
    let adds = |worker: &mut Worker| {
        worker.execute(&[chain(&[("ADD", &[])])], &x());
        worker.reals("out-0", "y")[0]
    };
    // Each is two launches, one of them for the trace.
    assert_eq!([adds(&mut worker), adds(&mut worker)], [1.0, 3.0]);
    let found = worker.failure(&chain(&[("COPY", &[]), ("COPY", &[(2, 1)]), ("COPY", &[(1, 1), (0, 1)])]));
    for part in [
        "TIMEOUT: the launch did not end in time",
        "task 1 (COPY) waits for counter 2 to reach 1 (it is at 0)",
        "task 2 (COPY) waits for counter 1 to reach 1 (it is at 0)",
        "1 of 3 were done",
    ] {
        assert!(found.contains(part), "{found}");
    }
    assert_eq!(adds(&mut worker), 5.0);
}

/// Kernels that go wrong when they are to add, in a way that the first element says.
const WRONG: &str = r#"
AMK_DEVICE void wrong(const amk_program_t& program, const amk_instruction_t& task) {
    const float how = amk_load(amk_input(program, task, 0), 0);
    amk_store(amk_output(program, task, 0), 1, 5.0f);
    for (volatile int i = 0; how == 1.0f; ++i) {}
    if (how == 2.0f) *reinterpret_cast<volatile int*>(16) = 1;
    if (how == 3.0f) amk_store(amk_output(program, task, 0), 4, 7.0f);
}
#define AMK_REPLACE_ADD wrong
"#;

/// The driver with those.
fn wrong() -> &'static Driver {
    static WITH: OnceLock<Driver> = OnceLock::new();
    WITH.get_or_init(|| Driver::new(Some(WRONG)))
}

#[test]
fn a_kernel_that_hangs_crashes_or_writes_outside_costs_its_launch_and_no_other() {
    let mut worker = wrong().worker("", &["--limit", "1"]);
    let program = chain(&[("COPY", &[]), ("ADD", &[])]);
    let mut ended = |how: f64| {
        let answer = worker.execute(std::slice::from_ref(&program), &[("x", f32s(&[how, 1.0, 1.0]))]);
        message(&answer).to_owned()
    };
    let hangs = ended(1.0);
    assert!(hangs.contains("TIMEOUT") && hangs.contains("task 1 (ADD) runs"), "{hangs}");
    assert_eq!(ended(0.0), "");
    let crashes = ended(2.0);
    assert!(crashes.contains("an illegal memory access was encountered"), "{crashes}");
    assert!(crashes.contains("task 1 (ADD)") && !crashes.contains("task 0"), "{crashes}");
    assert_eq!(ended(0.0), "");
    let outside = ended(3.0);
    assert!(outside.contains("task 1 (ADD): writes outside its buffers: byte 4 after"), "{outside}");
    assert_eq!(ended(0.0), "");
}

#[test]
fn what_the_gpu_cannot_hold_is_refused_with_the_reason() {
    let mut wide = chain(&[("COPY", &[][..]); 17]);
    for (sm, task) in wide["tasks"].as_array_mut().expect("tasks").iter_mut().enumerate() {
        task["sm"] = json!(sm);
    }
    let mut narrow = chain(&[("COPY", &[][..]); 2]);
    let with_shared = |program: &Value, bytes: u64| {
        let mut program = program.clone();
        program["config"] = json!({"target": "test", "threads_per_block": 32, "smem_bytes_per_block": bytes});
        program
    };
    narrow["tasks"][0]["sm"] = json!(3);
    let outcome = |worker: &mut Worker, program: &Value| {
        let answer = worker.execute(std::slice::from_ref(program), &x());
        (answer["outcome"].as_str().unwrap_or("error").to_owned(), message(&answer).to_owned())
    };
    let mut worker = plain().worker("", &[]);
    assert_eq!(outcome(&mut worker, &with_shared(&narrow, 99 << 10)).0, "accept");
    for (program, reason) in [
        (&wide, "2 blocks of 256 threads are resident on each of its 8 SMs"),
        (&with_shared(&narrow, 100 << 10), "at most 101376 bytes of shared memory"),
    ] {
        let (outcome, found) = outcome(&mut worker, program);
        assert!(outcome == "unsupported" && found.contains(reason), "{outcome}: {found}");
    }
    let mut large = narrow.clone();
    large["buffers"][1]["shape"] = json!([1 << 20]);
    let (said, found) = outcome(&mut plain().worker("small", &[]), &large);
    assert!(said == "unsupported" && found.contains("bytes of free memory"), "{said}: {found}");
    let (outcome, found) = outcome(&mut plain().worker("", &["--threads", "1024"]), &narrow);
    assert!(
        outcome == "unsupported" && found.contains("blocks of at most 512 threads"),
        "{outcome}: {found}"
    );
}

#[test]
fn kernels_are_compiled_once_for_each_target_and_can_be_brought_along() {
    let driver = Driver::new(Some("// nothing is replaced"));
    let cache = driver.folder().join("cache");
    for (kind, target) in [("", "sm_90a"), ("sm_75", "sm_75"), ("", "sm_90a")] {
        let output = driver.run(kind, &["--prepare"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let names = files(&cache);
        let name = names.iter().find(|name| name.starts_with(target)).expect("a CUBIN");
        assert!(name.ends_with("-13.7.cubin"), "{names:?}");
        let text = std::fs::read_to_string(cache.join(name)).expect("a file");
        for part in [
            "#include \"device.cu\"",
            &format!("--gpu-architecture={target}\n"),
            "--fmad=false\n",
            &format!("-DAMK_KERNELS=\"{}/kernels.cu\"", driver.folder().display()),
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        // CUDA's own headers, for what is not ours: in the compiler, or where a toolkit is installed.
        assert!(text.contains("--use-bundled-headers=/") || text.contains("/include\n"), "{text}");
    }
    assert_eq!(files(&cache).len(), 2);
    // A compiler that finds errors is not asked again.
    assert!(driver.run("does-not-compile", &["--prepare"]).status.success());
    std::fs::remove_dir_all(&cache).expect("a folder");
    let output = driver.run("does-not-compile", &["--prepare"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("kernels.cu(1): error: expected a declaration"), "{text}");

    let brought = driver.folder().join("brought");
    let out = brought.to_str().expect("a path");
    let output = driver.run("none", &["--compile", "sm_80,sm_90a", "--out", out]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 2);
    assert_eq!(files(&brought).len(), 2);
    std::fs::remove_file(driver.folder().join("libnvrtc.so")).expect("a file");
    assert!(driver.run("", &["--prepare", "--cubins", out]).status.success());
    let output = driver.run("sm_75", &["--prepare", "--cubins", out]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("there are no kernels for sm_75: NVRTC is not installed here"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_another_virtual_machine_is_compiled_or_taken_as_a_cubin() {
    let source = root().join("examples/cuda/vm.cu");
    let mut driver = Driver::vm(&source);
    for cubin in [false, true] {
        if cubin {
            driver = driver.with_cubin();
        }
        let mut worker = driver.worker("", &["--limit", "1"]);
        let good = chain(&[("COPY", &[]), ("ADD", &[]), ("COPY", &[])]);
        let answer = worker.execute(std::slice::from_ref(&good), &x());
        assert_eq!(answer["outcome"], "accept", "{answer}");
        assert_eq!(worker.reals("out-0", "y"), [2.0, -5.0, 6.0]);
        // It says nothing of its tasks: what they wait for is seen in the counters.
        let found = worker.failure(&chain(&[("COPY", &[]), ("COPY", &[(1, 1)])]));
        for part in
            ["TIMEOUT", "task 1 (COPY) waits for counter 1 to reach 1 (it is at 0)", "1 of 2 were done"]
        {
            assert!(found.contains(part), "{found}");
        }
    }
    let hello = driver.worker("", &[]).say(&json!({"type": "hello", "protocol": "1.0"}));
    let digest = blake3::hash(b"\x7fELF stand-in").to_hex().to_string();
    assert_eq!(hello["device"]["kernels"], json!(digest), "{hello}");
}

#[test]
fn a_gpu_is_chosen_by_its_number_or_its_uuid_and_a_part_of_one_is_named() {
    let second = "MIG-ffeeddcc-bbaa-9988-7766-554433221100";
    for (name, uuid, sharing) in [
        ("1", second, "a part of a GPU (MIG), without MPS"),
        ("ffeeddcc", second, "a part of a GPU (MIG), without MPS"),
        ("gpu-ffee", second, "a part of a GPU (MIG), without MPS"),
        ("MIG-ffeeddcc-bbaa", second, "a part of a GPU (MIG), without MPS"),
        ("0", "GPU-00112233-4455-6677-8899-aabbccddeeff", "a whole GPU, without MPS"),
    ] {
        let hello = plain().worker("", &["--gpu", name]).say(&json!({"type": "hello", "protocol": "1.0"}));
        assert_eq!(
            (&hello["device"]["uuid"], &hello["device"]["sharing"]),
            (&json!(uuid), &json!(sharing)),
            "{name}"
        );
    }
    let text = sentence(&plain().run("", &["--gpu", "2", "--prepare"]));
    assert!(
        text.contains("no GPU is called `2`; there are: 0 GPU-0011") && text.contains("; 1 MIG-ffee"),
        "{text}"
    );
    let text = sentence(&plain().run("", &["--gpu", "GPU-", "--prepare"]));
    assert!(text.contains("no GPU is called `GPU-`"), "{text}");
}

#[test]
fn blocks_have_the_threads_that_the_program_asks_for_unless_others_are_asked_for() {
    // The first element becomes the number of threads.
    let counts = "AMK_DEVICE void counts(const amk_program_t& program, const amk_instruction_t& task) {\n\
                  if (amk_thread() == 0) amk_store(amk_output(program, task, 0), 0, float(amk_threads()));\n}\n\
                  #define AMK_REPLACE_ADD counts\n";
    let driver = Driver::new(Some(counts));
    let mut program = chain(&[("ADD", &[])]);
    let found = |options: &[&str], program: &Value| {
        let mut worker = driver.worker("", options);
        let answer = worker.execute(std::slice::from_ref(program), &x());
        if answer["outcome"] == "accept" {
            Ok(worker.reals("out-0", "y")[0])
        } else {
            Err(message(&answer).to_owned())
        }
    };
    assert_eq!(found(&[], &program), Ok(256.0));
    program["config"] = json!({"target": "test", "threads_per_block": 96, "smem_bytes_per_block": 0});
    assert_eq!(found(&[], &program), Ok(96.0));
    assert_eq!(found(&["--threads", "64"], &program), Ok(64.0));
    program["config"]["threads_per_block"] = json!(100);
    assert!(found(&[], &program).is_err_and(|why| why.contains("a multiple of 32; found 100")));
}

/// What is said by a command that ends with 2, in one line.
#[track_caller]
fn sentence(output: &std::process::Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), text.lines().count()), (Some(2), 1), "{text}");
    text
}

#[test]
fn a_driver_gets_the_newest_kernels_that_it_takes() {
    let driver = plain().again();
    let out = driver.folder().join("brought");
    let folder = out.to_str().expect("a path");
    let older = driver.another_nvrtc(12, 4);
    let older = older.to_str().expect("a path");
    for options in [
        &["--compile", "sm_90a,compute_75", "--out", folder][..],
        &["--compile", "sm_80,compute_75", "--out", folder, "--nvrtc", older],
    ] {
        let output = driver.run("none", options);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let mut driver = driver;
    for (version, gpu, target, compiler) in [
        ("13.0", "sm_90", "sm_90a", "NVRTC 13.7"),
        ("12.8", "sm_90", "compute_75", "NVRTC 12.4"),
        ("12.4", "sm_86", "sm_80", "NVRTC 12.4"),
        ("12.8", "sm_100", "compute_75", "NVRTC 12.4"),
        // Of two files for one target, both of which it takes.
        ("13.7", "sm_100", "compute_75", "NVRTC 13.7"),
    ] {
        driver = driver.of(version);
        let mut worker = driver.worker(gpu, &["--cubins", folder]);
        let hello = worker.say(&json!({"type": "hello", "protocol": "1.0"}));
        let device = &hello["device"];
        assert_eq!((&device["target"], &device["toolkit"]), (&json!(target), &json!(compiler)), "{version}");
        assert!(device["driver"].as_str().is_some_and(|said| said.starts_with(&format!("CUDA {version}"))));
        let answer = worker.execute(&[chain(&[("ADD", &[])])], &x());
        assert_eq!(worker.reals("out-0", "y"), [2.0, -5.0, 6.0], "{answer}");
    }
    // What it refused is named, each with its compiler and the driver's reason.
    let text = sentence(&driver.of("11.8").run("sm_90", &["--prepare", "--cubins", folder]));
    for part in [
        "the driver (CUDA 11.8",
        "runs none of the kernels: the CUBIN for sm_90a, made by NVRTC 13.7:",
        "no kernel image is available",
        "; PTX for compute_75, made by NVRTC 13.7:",
        "; PTX for compute_75, made by NVRTC 12.4:",
        "unsupported toolchain",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// What can be wrong with a machine: its GPU, the CUDA of its driver, and what is said of it.
const LACKS: [(&str, &str, &[&str]); 7] = [
    ("none", "13.0", &["no CUDA-capable device is detected", "--device host runs the same kernels"]),
    ("sm_100", "12.4", &["no CUDA-capable device is detected"]),
    ("", "12.8", &["the CUBIN for sm_90a, made by NVRTC 13.7:", "no kernel image is available"]),
    ("exclusive", "13.0", &["exclusive mode", "--jobs 1"]),
    ("full", "13.0", &["the GPU has no context", "out of memory"]),
    ("hangs", "13.0", &["a launch without tasks did not end as it should: TimedOut"]),
    ("broken", "13.0", &["a launch without tasks crashed", "an illegal memory access was encountered"]),
];

#[test]
fn what_a_machine_lacks_is_one_sentence_before_any_case() {
    let mut driver = plain().again();
    for (kind, version, parts) in LACKS {
        driver = driver.of(version);
        // As the runner starts it, and as the bundle asks beforehand.
        for options in [&["--limit", "1", "--prepare"][..], &["--limit", "1"]] {
            let text = sentence(&driver.run(kind, options));
            assert!(parts.iter().all(|part| text.contains(part)), "{kind} {version}: {text}");
        }
    }
}

#[test]
fn of_two_processes_on_a_gpu_in_exclusive_mode_the_second_is_told() {
    let driver = plain().again();
    let mut first = driver.worker("alone", &[]);
    let hello = first.say(&json!({"type": "hello", "protocol": "1.0"}));
    assert_eq!(hello["device"]["name"], "stand-in", "{hello}");
    let text = sentence(&driver.run("alone", &["--prepare"]));
    assert!(text.contains("exclusive mode") && text.contains("--jobs 1"), "{text}");
    drop(first);
    // The process with the context was a child of the one that was killed: it ends a moment later.
    let freed = (0..100).any(|_| {
        let free = driver.run("alone", &["--prepare"]).status.success();
        if !free {
            std::thread::sleep(Duration::from_millis(50));
        }
        free
    });
    assert!(freed);
}

#[test]
fn a_launch_that_the_driver_ends_has_timed_out_and_not_crashed() {
    let mut worker = wrong().worker("impatient", &["--limit", "5"]);
    let mut said = |how: f64| {
        let program = chain(&[("COPY", &[]), ("ADD", &[])]);
        let answer = worker.execute(&[program], &[("x", f32s(&[how, 1.0, 1.0]))]);
        message(&answer).to_owned()
    };
    let hangs = said(1.0);
    assert!(hangs.contains("TIMEOUT") && hangs.contains("task 1 (ADD) runs"), "{hangs}");
    assert_eq!(said(0.0), "");
}

#[test]
fn the_compiler_that_is_named_is_taken_and_no_other() {
    let driver = plain().again();
    let cache = driver.folder().join("cache");
    let another = driver.another_nvrtc(13, 9);
    for path in [another.clone(), another.join("libnvrtc.so")] {
        let output = driver.run("", &["--prepare", "--nvrtc", path.to_str().expect("a path")]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let names = files(&cache);
        assert!(names.len() == 1 && names[0].ends_with("-13.9.cubin"), "{names:?}");
    }
    std::fs::remove_dir_all(&cache).expect("a folder");
    let empty = tempfile::tempdir().expect("a folder");
    let text = sentence(&driver.run("", &["--prepare", "--nvrtc", empty.path().to_str().expect("a path")]));
    assert!(text.contains("is no NVRTC, and holds none"), "{text}");
}

#[test]
fn each_launch_says_where_its_blocks_ran() {
    let lines = plain().folder().join("places");
    let mut worker = plain().worker("", &["--placement", lines.to_str().expect("a path")]);
    let mut program = chain(&[("COPY", &[]), ("ADD", &[]), ("COPY", &[])]);
    program["tasks"][1]["sm"] = json!(1);
    program["tasks"][2]["sm"] = json!(4);
    let answer = worker.execute(&[program], &x());
    assert_eq!(answer["outcome"], "accept", "{answer}");
    // SMs that the program names are numbered without gaps. Then the launch for the trace, which is one block.
    assert_eq!(std::fs::read_to_string(&lines).expect("a file"), "[0, 1, 2]\n[0]\n");
}
