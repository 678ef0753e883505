//! What the handshake says of a GPU, of how launches run and of the sources, on the stand-ins for the driver and for NVRTC.

use megakernel_test_support::{files, root};
use serde_json::json;

use crate::cuda::plain;

#[test]
fn a_gpu_that_others_may_use_through_mps_is_named_so() {
    let pipes = tempfile::tempdir().expect("a folder");
    let sharing = || {
        let environment = [("CUDA_MPS_PIPE_DIRECTORY", pipes.path().as_os_str())];
        let mut worker = plain().worker_with("", &[], &environment);
        worker.say(&json!({"type": "hello", "protocol": "1.0"}))["device"]["sharing"].clone()
    };
    assert_eq!(sharing(), "a whole GPU, without MPS");
    // What NVIDIA's daemon listens on.
    std::fs::write(pipes.path().join("control"), "").expect("a file");
    assert_eq!(sharing(), "a whole GPU, through MPS");
}

#[test]
fn how_launches_run_and_each_source_are_in_the_handshake() {
    let driver = plain().again();
    let kernels = driver.folder().join("kernels.cu");
    std::fs::write(&kernels, "#include \"beside.cuh\"\n").expect("a file");
    std::fs::write(driver.folder().join("beside.cuh"), "abc").expect("a file");
    let driver = driver.given("--kernels", kernels);
    let options = ["--seed", "3", "--repeat", "2", "--perturb", "--zeros"];
    let mut worker = driver.worker("", &options);
    let device = worker.say(&json!({"type": "hello", "protocol": "1.0"}))["device"].clone();
    let said = json!({"seed": 3, "repeats": 2, "delays": true, "undefined": "zeros"});
    for (key, value) in said.as_object().expect("an object") {
        assert_eq!(&device[key], value, "{key}: {device}");
    }
    let sources = device["sources"].as_array().expect("sources");
    let (given, ours): (Vec<_>, Vec<_>) = sources.iter().partition(|file| file["given"] == true);
    let names: Vec<_> = given.iter().map(|file| &file["name"]).collect();
    assert_eq!(names, ["kernels.cu", "beside.cuh"]);
    // Of `abc`, by the standard.
    assert_eq!(given[1]["sha256"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    let mut names: Vec<&str> = ours.iter().filter_map(|file| file["name"].as_str()).collect();
    names.sort_unstable();
    let folder = root().join("crates/cuda-harness/cuda");
    let mut expected: Vec<String> = files::below(&folder)
        .iter()
        .filter_map(|path| Some(path.strip_prefix(&folder).ok()?.to_str()?.to_owned()))
        .filter(|name| !name.starts_with("host/"))
        .collect();
    expected.sort();
    assert_eq!(names, expected);
}
