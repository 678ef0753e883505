//! The conversions against ml_dtypes and numpy: see `checks/conversions.py`.

use std::process::Command;

use megakernel_test_support::root;
use megakernel_test_support::tools::{Tool, require};

#[test]
#[ignore = "needs numpy and ml_dtypes, which checks/run --prepare installs"]
fn conversions_agree_with_ml_dtypes_and_numpy() {
    let python = require(Tool::PythonPackage("ml_dtypes"));
    let check = root().join("checks/conversions.py");
    let run = Command::new(python).arg(check).arg(env!("CARGO_BIN_EXE_convert")).output().expect("it starts");
    let said = [run.stdout, run.stderr].concat();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&said));
}
