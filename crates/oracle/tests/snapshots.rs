//! What people see of `megakernel-reference`: `snapshots/*.trycmd` hold command lines and what they print.
//!
//! So does the page `docs/dumping-a-schedule.md`, whose commands find `examples/` beside them.
//!
//! The commands run in a folder that holds `snapshots/documents/`, the failing example of each rule in the specification, `R05.json`
//! say, the kernel graph of `examples/`, and two task graphs of `fixtures/`. After a change of what is printed, `TRYCMD=overwrite cargo test --test snapshots`
//! writes it down (CONTRIBUTING.md). Standard error stands among the output, and `\` as `/`.

use std::path::{Path, PathBuf};
use std::{env, fs};

use megakernel_test_support::tools::{Tool, require};
use megakernel_test_support::{files, root, spec};

/// Where a program is: one that is registered by its name alone would be skipped.
fn on_path(program: &str) -> PathBuf {
    let folders = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file());
    found.expect("it has just been run")
}

#[test]
fn the_reference_prints_what_is_written_down() {
    let snapshots = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let folder = tempfile::tempdir().expect("a folder");
    let mut copied = files::below(&snapshots.join("documents"));
    copied.push(root().join("examples/task-graph/decoder.json"));
    copied.extend(["old_tp2_r0.json", "old_tp2_r1.json"].map(|name| root().join("fixtures/mpk").join(name)));
    for path in copied {
        let name = path.file_name().expect("a name");
        fs::copy(&path, folder.path().join(name)).expect("copied");
    }
    for shown in spec::examples() {
        let path = folder.path().join(format!("{}.json", shown.rule));
        fs::write(path, format!("{}\n", shown.failing)).expect("written");
    }
    std::os::unix::fs::symlink(root().join("examples"), folder.path().join("examples")).expect("a link");
    env::set_current_dir(folder.path()).expect("the folder is there");
    let program = Path::new(env!("CARGO_BIN_EXE_megakernel-reference"));
    // `sh` is for pipes and for files that one command writes and the next one reads.
    let path = env::join_paths(
        [program.parent().expect("a folder").to_owned()]
            .into_iter()
            .chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())),
    );
    trycmd::TestCases::new()
        .register_bin("megakernel-reference", program)
        .register_bin("sh", Path::new("/bin/sh"))
        .register_bin("cat", Path::new("/bin/cat"))
        .register_bin("python3", on_path(&require(Tool::Python)))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PATH", path.expect("a path").to_str().expect("UTF-8"))
        .insert_var("[VERSION]", env!("CARGO_PKG_VERSION"))
        .expect("a name of a variable")
        .case(snapshots.join("*.trycmd"))
        .case(root().join("docs/dumping-a-schedule.md"))
        .run();
}
