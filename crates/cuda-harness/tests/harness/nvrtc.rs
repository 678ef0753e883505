//! NVRTC is found where pip puts it, and finds its builtins there.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::driver::Wheel;

/// Compiles for a GPU, which needs none, with these variables of the environment and none of others that say where NVRTC is.
fn compile(home: &Path, environment: &[(&str, &OsStr)], options: &[&OsStr]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_megakernel-cuda"));
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH"] {
        command.env_remove(name);
    }
    command.env("HOME", home).envs(environment.iter().copied());
    command.args(["--device", "cuda", "--compile", "sm_90a", "--out"]).arg(home.join("made")).args(options);
    command.output().expect("it runs")
}

#[track_caller]
fn assert_compiled(output: &Output) {
    let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success() && said[0].ends_with("-13.9.cubin\n"), "{said:?}");
}

#[test]
fn builtins_that_lie_beside_nvrtc_in_a_wheel_are_loaded_before_it_asks_for_them() {
    let (wheel, home) = (Wheel::new(), tempfile::tempdir().expect("a folder"));
    let packages = home.path().join("packages");
    let folder = packages.join("nvidia/cu13/lib");
    let library = folder.join("libnvrtc.so.13");
    let nvrtc = |path: &Path| compile(home.path(), &[], &["--nvrtc".as_ref(), path.as_os_str()]);
    wheel.install(&folder, false);
    let said = String::from_utf8_lossy(&nvrtc(&library).stderr).into_owned();
    assert!(said.contains("failed to open libnvrtc-builtins.so.13.9"), "{said}");
    wheel.install(&folder, true);
    for path in [&library, &folder, &packages] {
        assert_compiled(&nvrtc(path));
    }
}

#[test]
fn nvrtc_of_a_wheel_is_found_without_being_named() {
    let wheel = Wheel::new();
    for (variable, place) in [
        ("VIRTUAL_ENV", "lib/python3.12/site-packages/nvidia/cu13/lib"),
        ("CONDA_PREFIX", "lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib"),
        ("HOME", ".local/lib/python3.11/site-packages/nvidia/cu13/lib"),
    ] {
        let (home, prefix) = [(); 2].map(|()| tempfile::tempdir().expect("a folder")).into();
        wheel.install(&prefix.path().join(place), true);
        let environment = [(variable, prefix.path().as_os_str())];
        let output = compile(home.path(), &environment, &[]);
        assert_compiled(&output);
    }
}
