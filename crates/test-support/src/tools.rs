//! Tools that tests need beside Rust.
//!
//! A compiler and Python are on most machines: without one, the test fails and says so. What has to be installed or allowed (packages
//! of Python, a sanitizer) is needed by tests that are marked `#[ignore = "needs ..."]`, which the summary counts and `.ci/run` runs.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::python::python;

/// A program that a test runs.
#[derive(Debug, Clone, Copy)]
pub enum Tool {
    /// A C compiler, `cc`.
    C,
    /// A C++ compiler, `c++`.
    Cxx,
    /// Python 3, whichever [`python`] finds.
    Python,
    /// A package of that Python.
    PythonPackage(&'static str),
    /// Rust's compiler, `rustc`.
    Rustc,
    /// Go's commands, `go`: that beside [`python`], where a package brought it, or that of the system.
    Go,
}

impl Tool {
    fn probe(self) -> (String, Vec<String>) {
        let text = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        match self {
            Tool::C => ("cc".into(), text(&["--version"])),
            Tool::Cxx => ("c++".into(), text(&["--version"])),
            Tool::Python => (python(), text(&["--version"])),
            Tool::PythonPackage(name) => (python(), text(&["-c", &format!("import {name}")])),
            Tool::Rustc => ("rustc".into(), text(&["--version"])),
            Tool::Go => (go(), text(&["version"])),
        }
    }
}

fn go() -> String {
    let beside = Path::new(&python()).with_file_name("go");
    beside.to_str().filter(|_| beside.is_file()).unwrap_or("go").to_owned()
}

/// The command of a tool; fails the test where it is not installed.
#[track_caller]
pub fn require(tool: Tool) -> String {
    let (program, arguments) = tool.probe();
    let quiet = Command::new(&program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let found = quiet.is_ok_and(|status| status.success());
    let what = match tool {
        Tool::C => "a C compiler, `cc`".to_owned(),
        Tool::Cxx => "a C++ compiler, `c++`".to_owned(),
        Tool::Python => format!("Python 3, which `{program}` is not"),
        Tool::PythonPackage(name) => {
            format!("{name}, which `{program}` has not: `checks/run --prepare` installs it")
        }
        Tool::Rustc => "Rust's compiler, `rustc`".to_owned(),
        Tool::Go => format!("Go, which `{program}` is not: `checks/run --prepare` installs it"),
    };
    assert!(found, "this test needs {what}");
    program
}
