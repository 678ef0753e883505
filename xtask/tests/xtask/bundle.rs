//! What the script of a bundle does with the machine that it runs on. Its programs, and the machine's, are stand-ins here.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes a program that a shell runs.
fn program(path: &Path, lines: &str) {
    fs::write(path, format!("#!/bin/sh\n{lines}\n")).expect("a program is written");
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("it may be run");
}

/// A bundle with these programs in place of the runner and the harness, and these tools on the path.
struct Bundle {
    folder: tempfile::TempDir,
}

impl Bundle {
    fn new(runner: &str, harness: &str, tools: &[(&str, &str)]) -> Bundle {
        let made = Bundle { folder: tempfile::tempdir().expect("a folder") };
        for folder in ["bundle", "tools"] {
            fs::create_dir(made.path(folder)).expect("a folder is made");
        }
        program(&made.path("bundle/megakernel-conform"), runner);
        program(&made.path("bundle/megakernel-cuda"), harness);
        for (name, lines) in tools {
            program(&made.path("tools").join(name), lines);
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bundle/run.sh");
        fs::copy(script, made.path("bundle/run.sh")).expect("the script");
        made
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Its exit code, and what it says.
    fn run(&self) -> (Option<i32>, String) {
        // What else is on the path, such as tools of CUDA, is no part of this.
        let path = format!("{}:/usr/bin:/bin", self.path("tools").display());
        let ended = Command::new("sh")
            .args([self.path("bundle/run.sh"), self.path("results")])
            .env("PATH", path)
            .env("GPU", "2")
            .output()
            .expect("the script runs");
        let said = [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (ended.status.code(), said.concat())
    }
}

/// How many jobs the steps of the script ask the runner for, where the GPU of a number is in a mode; none where no tool tells.
fn jobs(mode: Option<&str>) -> Vec<String> {
    // Another GPU than the one that is played on is in no such mode.
    let said = mode.map(|mode| format!("case $1 in --id=2) echo {mode} ;; *) echo Default ;; esac"));
    let tool = said.as_deref().unwrap_or("exit 9");
    let bundle = Bundle::new("echo \"$@\" >> \"${0%/*}/asked\"", "exit 0", &[("nvidia-smi", tool)]);
    let (code, said) = bundle.run();
    assert_eq!(code, Some(0), "{said}");
    let asked = fs::read_to_string(bundle.path("bundle/asked")).expect("the runner was asked");
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

/// What a bundle comes to where each process under a tool of compute-sanitizer leaves such a log, one line for each process.
fn under_sanitizers(tool: &str, logs: &[&str]) -> (Option<i32>, String) {
    // It runs its worker, as the runner does.
    let runner = "while [ $# -gt 0 ]; do [ \"$1\" != --impl ] || eval \"$2\"; shift; done";
    let right = "echo '========= ERROR SUMMARY: 0 errors' > \"${6%.%p}.1\"";
    let logs = logs.iter().enumerate().map(|(number, log)| format!("echo '{log}' > \"${{6%.%p}}.{number}\""));
    let wrong: Vec<String> = logs.collect();
    let sanitizer = format!(
        "[ \"$1 $3 $4 $5\" = '--tool --target-processes all --log-file' ] || exit 9\ncase $2 in {tool}) :; {} ;; *) {right} ;; esac",
        wrong.join("; ")
    );
    Bundle::new(runner, "exit 0", &[("nvidia-smi", "exit 9"), ("compute-sanitizer", &sanitizer)]).run()
}

#[test]
fn a_sanitizer_passes_where_each_process_wrote_its_summary_and_found_nothing() {
    const NOTHING: &str = "========= ERROR SUMMARY: 0 errors";
    const HAZARDS: &str = "========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)";
    for tool in ["memcheck", "racecheck", "synccheck", "initcheck"] {
        let (code, said) = under_sanitizers(tool, &[NOTHING, NOTHING]);
        assert_eq!(code, Some(0), "{tool}: {said}");
        let both = format!("{NOTHING}\n{HAZARDS}");
        let killed = "========= COMPUTE-SANITIZER: 0 errors so far";
        for logs in
            [&[NOTHING, killed][..], &[NOTHING, HAZARDS], &[HAZARDS, NOTHING], &[both.as_str()], &[""], &[]]
        {
            let (code, said) = under_sanitizers(tool, logs);
            assert_eq!(code, Some(1), "{tool}, {logs:?}: {said}");
            assert!(said.contains("findings, or no summary:"), "{said}");
            assert!(said.contains(&format!("failed: {tool}-findings;")), "{tool}, {logs:?}: {said}");
        }
    }
}

#[test]
fn an_older_c_library_is_said_in_a_sentence_and_nothing_is_played() {
    let harness = "echo \"megakernel-cuda: libc.so.6: version 'GLIBC_2.34' not found\" >&2; exit 1";
    let bundle = Bundle::new("touch \"${0%/*}/asked\"", harness, &[]);
    let (code, said) = bundle.run();
    assert_eq!(code, Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("these programs need glibc") && said.contains("'GLIBC_2.34' not found"), "{said}");
    assert!(!bundle.path("bundle/asked").exists(), "cases were played");
}
