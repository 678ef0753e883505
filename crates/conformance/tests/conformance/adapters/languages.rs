//! The four libraries: where their files stand, and how their workers are built.

use std::path::{Path, PathBuf};
use std::process::Command;

use megakernel_test_support::root;
use megakernel_test_support::tools::{Tool, require};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Python,
    Cpp,
    Go,
    Rust,
}

impl Language {
    pub const ALL: [Language; 4] = [Language::Python, Language::Cpp, Language::Go, Language::Rust];

    fn folder(self) -> PathBuf {
        let name = match self {
            Language::Python => "python",
            Language::Cpp => "cpp",
            Language::Go => "go",
            Language::Rust => "rust",
        };
        root().join("adapters").join(name)
    }

    /// The source of a worker, `minimal`, `complete` or `careless`.
    pub fn source(self, worker: &str) -> PathBuf {
        self.source_below(&self.folder(), worker)
    }

    fn source_below(self, folder: &Path, worker: &str) -> PathBuf {
        let folder = folder.join(if worker == "careless" { "tests" } else { "examples" });
        match self {
            Language::Python => folder.join(format!("{worker}.py")),
            Language::Cpp => folder.join(format!("{worker}.cpp")),
            Language::Go => folder.join(worker).join("main.go"),
            Language::Rust if worker == "complete" => folder.join("complete/main.rs"),
            Language::Rust => folder.join(format!("{worker}.rs")),
        }
    }

    /// The command of a worker of the repository, which is built.
    pub fn worker(self, worker: &str) -> Vec<String> {
        self.build(&self.folder(), worker, Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    /// The same with a library where `text` stands in place of what `file` has; built into `into`.
    ///
    /// The library is copied, so that the one of the repository is as it was.
    pub fn broken(self, file: &str, from: &str, to: &str, into: &Path) -> Vec<String> {
        let copy = into.join("library");
        for path in megakernel_test_support::files::below(&self.folder()) {
            if path.components().any(|part| part.as_os_str() == "__pycache__") {
                continue;
            }
            let target = copy.join(path.strip_prefix(self.folder()).expect("below it"));
            std::fs::create_dir_all(target.parent().expect("a parent")).expect("a folder");
            std::fs::copy(&path, &target).expect("a copy");
        }
        let file = copy.join(file);
        let text = std::fs::read_to_string(&file).expect("a file of the library");
        assert_eq!(text.matches(from).count(), 1, "{}: `{from}` stands there once", file.display());
        std::fs::write(&file, text.replace(from, to)).expect("a file of the library");
        self.build(&copy, "careless", into)
    }

    fn build(self, folder: &Path, worker: &str, into: &Path) -> Vec<String> {
        let source = self.source_below(folder, worker);
        let program = into.join(format!("{self:?}-{worker}"));
        let mut command = match self {
            Language::Python => return vec![require(Tool::Python), source.display().to_string()],
            Language::Cpp => {
                let mut command = Command::new(require(Tool::Cxx));
                command.args([
                    "-std=c++17",
                    "-Wall",
                    "-Wextra",
                    "-Wpedantic",
                    "-Wconversion",
                    "-Werror",
                    "-I",
                ]);
                command.arg(folder).arg(&source).arg("-o").arg(&program);
                command
            }
            Language::Go => {
                let mut command = Command::new(require(Tool::Go));
                command
                    .args(["build", "-o"])
                    .arg(&program)
                    .arg(".")
                    .current_dir(source.parent().expect("a folder"));
                // Nothing is fetched, and what is compiled of Go's own packages stays for the next time.
                command.env("GOCACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-cache"));
                command.envs([("GOPROXY", "off"), ("GOTOOLCHAIN", "local"), ("GOFLAGS", "-mod=mod")]);
                command
            }
            Language::Rust => {
                let library = into.join("libmegakernel_adapter.rlib");
                let edition = ["--edition", "2024"];
                let mut command = Command::new(require(Tool::Rustc));
                command.args(edition).args(["--crate-type", "rlib", "--crate-name", "megakernel_adapter"]);
                run(command.arg(folder.join("src/lib.rs")).arg("-o").arg(&library));
                let mut command = Command::new(require(Tool::Rustc));
                let library = format!("megakernel_adapter={}", library.display());
                command.args(edition).arg(&source).arg("--extern").arg(library).arg("-o").arg(&program);
                command
            }
        };
        run(&mut command);
        vec![program.display().to_string()]
    }
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().expect("the compiler starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
}
