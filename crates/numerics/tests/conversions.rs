//! The conversions against ml_dtypes and numpy, where Python has them: see `checks/conversions.py`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The exit code of the check if its packages are missing.
const SKIPPED: i32 = 3;

/// The Python to use: the one that `PYTHON` names, or that of `checks/run`, or that of the system.
fn python() -> PathBuf {
    // This program stands in `deps/` of a profile's folder.
    let target = std::env::current_exe().ok().and_then(|path| Some(path.ancestors().nth(3)?.to_owned()));
    let prepared = target.map(|target| target.join("checks-venv/bin/python")).filter(|path| path.exists());
    std::env::var_os("PYTHON").map(PathBuf::from).or(prepared).unwrap_or_else(|| "python3".into())
}

#[test]
fn conversions_agree_with_ml_dtypes_and_numpy() {
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../checks/conversions.py");
    let run = Command::new(python()).arg(check).arg(env!("CARGO_BIN_EXE_convert")).output();
    let (said, code) = match run {
        Ok(run) => {
            let said = [run.stdout, run.stderr].concat();
            (String::from_utf8_lossy(&said).into_owned(), run.status.code())
        }
        Err(error) => (format!("conversions: skipped, nothing was checked: {error}\n"), Some(SKIPPED)),
    };
    // Past the test harness, which hides what a test that passes prints: a check that was skipped has to show.
    let _ = std::io::stderr().write_all(said.as_bytes());
    assert!(matches!(code, Some(0 | SKIPPED)), "{said}");
}
