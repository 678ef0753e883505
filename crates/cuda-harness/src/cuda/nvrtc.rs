//! NVRTC, the compiler of CUDA as a library: it needs no GPU. All calls into it are here.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;

/// As the system may know it, the newest first.
const NAMES: [&str; 3] = ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"];

/// Where a toolkit, pip or an environment of its keeps it, below a folder.
const BELOW: [&str; 6] =
    ["", "lib64", "lib", "nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", "targets/x86_64-linux/lib"];

const SUCCESS: c_int = 0;

/// Where CUDA may be installed.
fn homes() -> impl Iterator<Item = PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(std::env::var_os).map(PathBuf::from);
    named.chain([PathBuf::from("/usr/local/cuda")])
}

/// Where pip may have put packages.
fn packages() -> Vec<PathBuf> {
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(std::env::var_os).map(PathBuf::from);
    let user = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local"));
    let prefixes = environments.chain(user).chain(["/usr/local", "/usr"].map(PathBuf::from));
    let mut found = Vec::new();
    for prefix in prefixes {
        let entries = fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
        let mut pythons: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")))
            .collect();
        pythons.sort();
        found.extend(
            pythons
                .iter()
                .rev()
                .flat_map(|path| ["site-packages", "dist-packages"].map(|name| path.join(name))),
        );
    }
    found
}

/// NVRTC of a version.
#[derive(Clone, Debug)]
pub struct Nvrtc {
    /// Such as `13.0`.
    pub version: String,
    /// Never unloaded.
    library: &'static Library,
}

impl Nvrtc {
    /// Loads the library: the one given, as a file or as the folder that holds it, and no other; or else one that the system
    /// finds, or that lies where CUDA or pip usually puts it.
    ///
    /// # Errors
    /// There is none.
    pub fn load(given: Option<&Path>) -> Result<Nvrtc, String> {
        let library = match given {
            Some(path) => {
                open(path).ok_or_else(|| format!("{} is no NVRTC, and holds none", path.display()))?
            }
            None => NAMES
                .iter()
                .find_map(|name| load(Path::new(name)))
                .or_else(|| homes().chain(packages()).find_map(|folder| open(&folder)))
                .ok_or("NVRTC is not installed here")?,
        };
        let mut nvrtc = Nvrtc { version: String::new(), library: Box::leak(Box::new(library)) };
        let (mut major, mut minor) = (0, 0);
        let call = nvrtc.function::<unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int>("nvrtcVersion")?;
        // SAFETY: the function of the manual, and the numbers are there to be written.
        check(unsafe { call(&mut major, &mut minor) }, "NVRTC does not work")?;
        nvrtc.version = format!("{major}.{minor}");
        Ok(nvrtc)
    }

    /// A function of the library. `F` has to be its type in NVRTC's manual.
    fn function<F: Copy>(&self, name: &str) -> Result<F, String> {
        // SAFETY: the type is the manual's, and the library is never unloaded.
        let found = unsafe { self.library.get::<F>(name.as_bytes()) };
        found.map(|function| *function).map_err(|_| format!("this NVRTC has no {name}"))
    }

    /// Options with which a source finds CUDA's own headers, such as cuda_fp16.h: those of the toolkit, or those that the
    /// library has in it, unpacked into a folder.
    pub fn headers(&self, folder: &Path) -> Vec<String> {
        let mut installed = homes().map(|home| home.join("include"));
        if let Some(path) = installed.find(|path| path.join("cuda_fp16.h").is_file()) {
            return vec![format!("-I{}", path.display())];
        }
        let mut version = self.version.split('.').map(|part| part.parse().unwrap_or(0));
        let version = (version.next().unwrap_or(0), version.next().unwrap_or(0));
        // Older ones have none in them, and do not know the option.
        let bundled = format!("--use-bundled-headers={}", folder.display());
        if version >= (13, 5) { vec![bundled] } else { Vec::new() }
    }

    /// Compiles a source: to a CUBIN, or, with `ptx`, to PTX.
    ///
    /// # Errors
    /// The source has errors; the message has the compiler's.
    pub fn compile(
        &self,
        source: &str,
        name: &str,
        options: &[String],
        ptx: bool,
    ) -> Result<Vec<u8>, String> {
        type Create = unsafe extern "C" fn(
            *mut *mut c_void,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char,
        ) -> c_int;
        type Compile = unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int;
        let text = |text: &str| CString::new(text).map_err(|_| "an option has a byte 0".to_owned());
        let (source, name) = (text(source)?, text(name)?);
        let options: Vec<CString> = options.iter().map(|option| text(option)).collect::<Result<_, _>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let create = self.function::<Create>("nvrtcCreateProgram")?;
        let mut program = Program { nvrtc: self, program: ptr::null_mut() };
        // SAFETY: the function of the manual. The strings end with 0 and outlive the program; there are no headers.
        let made = unsafe {
            create(&mut program.program, source.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null())
        };
        check(made, "NVRTC does not take the source")?;
        let compile = self.function::<Compile>("nvrtcCompileProgram")?;
        let count = pointers.len().try_into().unwrap_or_default();
        // SAFETY: the program has just been made, and there are as many options as is said.
        let compiled = unsafe { compile(program.program, count, pointers.as_ptr()) };
        if compiled != SUCCESS {
            let log = program.output("ProgramLog").unwrap_or_default();
            let log = String::from_utf8_lossy(&log).trim_end_matches('\0').to_owned();
            let log: Vec<&str> = log.lines().take(20).collect();
            return Err(format!(
                "NVRTC does not compile the kernels (error {compiled}):\n{}",
                log.join("\n")
            ));
        }
        program.output(if ptx { "PTX" } else { "CUBIN" })
    }
}

/// Destroys itself.
struct Program<'n> {
    nvrtc: &'n Nvrtc,
    program: *mut c_void,
}

impl Program<'_> {
    /// What NVRTC keeps of a program under a name, by two functions: one for the size and one for the bytes.
    fn output(&self, what: &str) -> Result<Vec<u8>, String> {
        type Size = unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int;
        type Get = unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int;
        let size_of = self.nvrtc.function::<Size>(&format!("nvrtcGet{what}Size"))?;
        let get = self.nvrtc.function::<Get>(&format!("nvrtcGet{what}"))?;
        let about = format!("NVRTC made no {what}");
        let mut size = 0;
        // SAFETY: the program has been made, and `size` is there to be written.
        check(unsafe { size_of(self.program, &mut size) }, &about)?;
        let mut bytes = vec![0u8; size];
        // SAFETY: there is room for as many bytes as NVRTC said.
        check(unsafe { get(self.program, bytes.as_mut_ptr().cast()) }, &about)?;
        Ok(bytes)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        let destroy =
            self.nvrtc.function::<unsafe extern "C" fn(*mut *mut c_void) -> c_int>("nvrtcDestroyProgram");
        if let (false, Ok(destroy)) = (self.program.is_null(), destroy) {
            // SAFETY: made once, destroyed once.
            let _ = unsafe { destroy(&mut self.program) };
        }
    }
}

fn check(result: c_int, what: &str) -> Result<(), String> {
    if result == SUCCESS { Ok(()) } else { Err(format!("{what}: error {result} of NVRTC")) }
}

/// The libraries of a folder whose names begin so, sorted.
fn libraries(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start)))
        .collect();
    files.sort();
    files
}

/// NVRTC from a file, or from a folder that holds it or has it where toolkits and pip put it.
fn open(path: &Path) -> Option<Library> {
    if !path.is_dir() {
        return path.is_file().then(|| load(path)).flatten();
    }
    BELOW
        .iter()
        .find_map(|below| libraries(&path.join(below), "libnvrtc.so").iter().find_map(|file| load(file)))
}

fn load(file: &Path) -> Option<Library> {
    // It asks the system for a library with its builtins, by name. One that lies beside it, as pip puts it, is not found in
    // this way unless it has been loaded before.
    if let Some(folder) = file.parent().filter(|folder| folder.is_dir()) {
        for builtins in libraries(folder, "libnvrtc-builtins.so") {
            use libloading::os::unix;
            // SAFETY: a library of NVRTC's, which has no effect before NVRTC calls it.
            let loaded = unsafe { unix::Library::open(Some(&builtins), unix::RTLD_NOW | unix::RTLD_GLOBAL) };
            std::mem::forget(loaded);
        }
    }
    // SAFETY: loads a library that is said to be NVRTC, which has no effect before it is called.
    let library = unsafe { Library::new(file) }.ok()?;
    // SAFETY: the symbol is only looked for.
    let is_nvrtc = unsafe { library.get::<*const c_void>(b"nvrtcVersion") }.is_ok();
    is_nvrtc.then_some(library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_or_folder_without_nvrtc_is_said_and_nothing_else_is_taken() {
        let folder = tempfile::tempdir().unwrap_or_else(|cause| unreachable!("{cause}"));
        let file = folder.path().join("libnvrtc.so");
        fs::write(&file, "no library").unwrap_or_else(|cause| unreachable!("{cause}"));
        for path in [folder.path(), &file, &folder.path().join("absent")] {
            let found = Nvrtc::load(Some(path)).map(|found| found.version);
            assert!(found.as_ref().is_err_and(|why| why.contains("is no NVRTC")), "{found:?}");
        }
    }
}
