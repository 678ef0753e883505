//! The stand-ins for a GPU's driver and for NVRTC: `tests/driver/`, compiled with the kernels of a test.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use megakernel_test_support::tools::{Tool, require};

use super::fewer;
use super::worker::Worker;

#[track_caller]
fn compile(library: &str, defines: &[&str], folder: &Path) {
    // The kernels of this repository are what is measured, and what most tests share; others run little, and are compiled sooner without.
    let optimised = if defines.is_empty() { "-O1" } else { "-O0" };
    let mut arguments: Vec<&OsStr> =
        [optimised, "-shared"].into_iter().chain(defines.iter().copied()).map(OsStr::new).collect();
    let source = format!("{}/tests/driver/{library}.cpp", env!("CARGO_MANIFEST_DIR"));
    arguments.push(source.as_ref());
    let object = folder.join("fibers.o");
    if library == "cuda" {
        std::fs::write(&object, fibers()).expect("a file");
        arguments.push(object.as_ref());
    }
    cxx(&arguments, &folder.join(format!("lib{library}.so")));
}

/// What runs the blocks of a stand-in, which is the same for all kernels: an object file.
#[track_caller]
pub fn fibers() -> &'static [u8] {
    static MADE: OnceLock<Vec<u8>> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let made = folder.path().join("fibers.o");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/cuda/host/fibers.cpp");
        let checked = ["-Wall", "-Wextra", "-Werror"];
        let arguments = [&checked[..], &["-O1", "-DAMK_HOST=1", "-c", source]].concat();
        cxx(&arguments.iter().map(OsStr::new).collect::<Vec<_>>(), &made);
        std::fs::read(made).expect("an object file")
    })
}

#[track_caller]
fn cxx(arguments: &[&OsStr], made: &Path) {
    let output = Command::new("c++")
        .args(["-std=c++20", "-ffp-contract=off", "-fno-tree-ter", "-fPIC", "-pthread"])
        .arg(concat!("-I", env!("CARGO_MANIFEST_DIR"), "/cuda"))
        .args(arguments)
        .arg("-o")
        .arg(made)
        .output()
        .expect("the compiler starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The CUDA of the driver, unless another is asked for.
const NEWEST: &str = "13.0";

/// A folder with a driver, a compiler and a cache for what it makes.
pub struct Driver {
    folder: tempfile::TempDir,
    /// The option for what is not this repository's, and its file.
    given: Option<(&'static str, PathBuf)>,
    /// The CUDA that it is made for.
    version: &'static str,
}

impl Driver {
    /// The driver with the kernels of this repository; or, replaced by a text, with those that [`super::worker::chain`] needs.
    pub fn new(replaced: Option<&str>) -> Driver {
        let folder = tempfile::tempdir().expect("a folder");
        let given = replaced.map(|text| {
            let path = folder.path().join("kernels.cu");
            std::fs::write(&path, format!("{}{text}", fewer::only(&fewer::CHAIN))).expect("a file");
            ("--kernels", path)
        });
        Driver::build(folder, given)
    }

    /// The driver with another virtual machine.
    pub fn vm(source: &Path) -> Driver {
        Driver::build(tempfile::tempdir().expect("a folder"), Some(("--vm", source.to_path_buf())))
    }

    /// The driver with the kernel of the workers of `examples/cuda`, by the names that cuda-python asks for.
    #[track_caller]
    pub fn of_worker(kernels: &Path) -> Driver {
        require(Tool::Cxx);
        let folder = tempfile::tempdir().expect("a folder");
        let define = format!("-DAMK_WORKER=\"{}\"", kernels.display());
        for (library, name) in [("cuda", "libcuda.so.1"), ("nvrtc", "libnvrtc.so.13")] {
            compile(library, &[&define], folder.path());
            let made = folder.path().join(format!("lib{library}.so"));
            std::fs::rename(made, folder.path().join(name)).expect("a library");
        }
        Driver { folder, given: None, version: NEWEST }
    }

    #[track_caller]
    fn build(folder: tempfile::TempDir, given: Option<(&'static str, PathBuf)>) -> Driver {
        require(Tool::Cxx);
        let define = given.as_ref().map(|(option, path)| {
            let name = if *option == "--vm" { "AMK_VM" } else { "AMK_KERNELS" };
            format!("-D{name}=\"{}\"", path.display())
        });
        for library in ["cuda", "nvrtc"] {
            compile(library, define.as_deref().as_slice(), folder.path());
        }
        Driver { folder, given, version: NEWEST }
    }

    /// The same libraries with a folder and a cache of their own, which is faster than to compile them.
    pub fn again(&self) -> Driver {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["libcuda.so", "libnvrtc.so"] {
            std::fs::copy(self.folder().join(name), folder.path().join(name)).expect("a library");
        }
        Driver { folder, given: self.given.clone(), version: self.version }
    }

    /// Another compiler, such as 12.4, in a folder of its own, which no search comes upon.
    pub fn another_nvrtc(&self, major: u32, minor: u32) -> PathBuf {
        let folder = self.folder().join(format!("nvrtc-{major}.{minor}"));
        std::fs::create_dir_all(&folder).expect("a folder");
        compile("nvrtc", &[&format!("-DAMK_VERSION={major},{minor}")], &folder);
        folder
    }

    /// As [`Driver::vm`] does, with a file that passes for the machine's CUBIN.
    pub fn with_cubin(self) -> Driver {
        let path = self.folder().join("vm.cubin");
        std::fs::write(&path, "\x7fELF stand-in").expect("a file");
        self.given("--vm", path)
    }

    /// The same with another option and file.
    pub fn given(mut self, option: &'static str, path: PathBuf) -> Driver {
        self.given = Some((option, path));
        self
    }

    /// The driver for another CUDA than 13.0.
    pub fn of(mut self, version: &'static str) -> Driver {
        self.version = version;
        self
    }

    /// Where the libraries are, and what is made with them.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn options<'a>(&'a self, options: &[&'a str]) -> Vec<&'a str> {
        let given = self.given.as_ref().and_then(|(option, path)| Some([*option, path.to_str()?]));
        ["--device", "cuda"]
            .into_iter()
            .chain(given.into_iter().flatten())
            .chain(options.iter().copied())
            .collect()
    }

    /// A worker on the stand-in for a GPU of a kind.
    pub fn worker(&self, kind: &str, options: &[&str]) -> Worker {
        self.worker_with(kind, options, &[])
    }

    /// The same with more variables of the environment.
    pub fn worker_with(&self, kind: &str, options: &[&str], more: &[(&str, &OsStr)]) -> Worker {
        let environment = [
            ("LD_LIBRARY_PATH", self.folder().as_os_str()),
            ("AMK_STAND_IN", OsStr::new(kind)),
            ("AMK_DRIVER", OsStr::new(self.version)),
        ];
        Worker::with(&self.options(options), &self.folder().join("cache"), &[&environment, more].concat())
    }

    /// What a command says that is no worker.
    pub fn run(&self, kind: &str, options: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_megakernel-cuda"))
            .args(self.options(options))
            .arg("--cache")
            .arg(self.folder().join("cache"))
            .env("LD_LIBRARY_PATH", self.folder())
            .env("AMK_STAND_IN", kind)
            .env("AMK_DRIVER", self.version)
            .output()
            .expect("it runs")
    }
}

/// NVRTC 13.9 as its package for pip lays it: `libnvrtc.so.13`, which opens its builtins by their name, and these beside it.
pub struct Wheel {
    folder: tempfile::TempDir,
}

impl Wheel {
    #[track_caller]
    pub fn new() -> Wheel {
        require(Tool::Cxx);
        let folder = tempfile::tempdir().expect("a folder");
        compile("nvrtc", &["-DAMK_VERSION=13,9", "-DAMK_BUILTINS"], folder.path());
        let name = format!("-Wl,-soname,{BUILTINS}");
        let made = Command::new("c++")
            .args(["-shared", &name, "-x", "c++", "/dev/null", "-o"])
            .arg(folder.path().join(BUILTINS))
            .status();
        assert!(made.expect("the compiler starts").success());
        Wheel { folder }
    }

    /// Puts it into a folder, with its builtins or without.
    pub fn install(&self, folder: &Path, builtins: bool) {
        std::fs::create_dir_all(folder).expect("a folder");
        let named = [("libnvrtc.so", "libnvrtc.so.13"), (BUILTINS, BUILTINS)];
        for (from, to) in named.into_iter().take(if builtins { 2 } else { 1 }) {
            std::fs::copy(self.folder.path().join(from), folder.join(to)).expect("a library");
        }
    }
}

/// As NVRTC 13.9 calls them.
const BUILTINS: &str = "libnvrtc-builtins.so.13.9";
