//! What the script of a bundle does with the machine that it runs on. Its programs, and the machine's, are stand-ins here.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Writes a program that a shell runs.
fn program(path: &Path, lines: &str) {
    fs::write(path, format!("#!/bin/sh\n{lines}\n")).expect("a program is written");
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("it may be run");
}

/// How many jobs the steps of the script ask the runner for, where the GPU of a number is in a mode; none where no tool tells.
fn jobs(mode: Option<&str>) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let (bundle, tools) = (folder.path().join("bundle"), folder.path().join("tools"));
    for made in [&bundle, &tools] {
        fs::create_dir(made).expect("a folder is made");
    }
    let asked = folder.path().join("asked");
    program(&bundle.join("megakernel-cuda"), "exit 0");
    program(&bundle.join("megakernel-conform"), &format!("echo \"$@\" >> '{}'", asked.display()));
    // Another GPU than the one that is played on is in no such mode.
    let said = mode.map(|mode| format!("case $1 in --id=2) echo {mode} ;; *) echo Default ;; esac"));
    program(&tools.join("nvidia-smi"), said.as_deref().unwrap_or("exit 9"));
    let script = bundle.join("run.sh");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bundle/run.sh"), &script).expect("the script");
    // What else is on the path, such as tools of CUDA, is no part of this.
    let path = format!("{}:/usr/bin:/bin", tools.display());
    let ended = Command::new("sh")
        .args([&script, &folder.path().join("results")])
        .env("PATH", path)
        .env("GPU", "2")
        .output()
        .expect("the script runs");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
    let asked = fs::read_to_string(asked).expect("the runner was asked");
    let of = |line: &str| {
        let mut words = line.split(' ').skip_while(|word| *word != "--jobs").skip(1);
        words.next().expect("a number of jobs").to_owned()
    };
    asked.lines().map(of).collect()
}

#[test]
fn one_job_plays_on_a_gpu_in_exclusive_mode() {
    let alone = jobs(Some("Exclusive_Process"));
    assert!(alone.len() >= 4 && alone.iter().all(|jobs| jobs == "1"), "{alone:?}");
    for mode in [Some("Default"), None] {
        let together = jobs(mode);
        assert!(together.len() >= 4 && together.iter().all(|jobs| jobs == "4"), "{mode:?}: {together:?}");
    }
}
