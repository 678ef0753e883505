//! What people see of `megakernel-conform`: `tests/snapshots/*.trycmd` hold command lines and what they print.
//!
//! The commands judge `test-worker` on a corpus of 12 cases. They run in a folder that holds another one, `sessions`, of two cases that
//! execute. CONTRIBUTING.md says how a change of what is printed is written down. Standard error stands among the output, and `\` as `/`.

mod arithmetic;
#[allow(dead_code, reason = "other tests use the rest")]
mod support;

use std::env;
use std::path::Path;

#[test]
fn the_runner_prints_what_is_written_down() {
    let corpus = support::corpus();
    let folder = tempfile::tempdir().expect("a folder");
    let sessions = folder.path().join("sessions");
    support::sessions::write(&sessions);
    // Which the program demands.
    for root in [corpus.path(), &sessions] {
        support::write_manifest(root);
    }
    env::set_current_dir(folder.path()).expect("the folder is there");
    let program = Path::new(env!("CARGO_BIN_EXE_megakernel-conform"));
    // The worker stands beside the program.
    let path = env::join_paths(
        [program.parent().expect("a folder").to_owned()]
            .into_iter()
            .chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())),
    );
    trycmd::TestCases::new()
        .register_bin("megakernel-conform", program)
        .register_bin("sh", Path::new("/bin/sh"))
        .env("PATH", path.expect("a path").to_str().expect("UTF-8"))
        .env("MEGAKERNEL_CORPUS", corpus.path().to_str().expect("UTF-8"))
        .insert_var("[VERSION]", env!("CARGO_PKG_VERSION"))
        .expect("a name of a variable")
        .insert_var("[CORPUS]", corpus.path().to_str().expect("UTF-8").to_owned())
        .expect("a name of a variable")
        .case(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/*.trycmd"))
        .run();
}
