//! NVRTC, the compiler of CUDA as a library: it needs no GPU. All calls into it are here.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char};
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr;

use cudarc::nvrtc::sys::{self, nvrtcProgram, nvrtcResult};

/// Where CUDA may be installed.
fn homes() -> impl Iterator<Item = PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(std::env::var_os).map(PathBuf::from);
    named.chain([PathBuf::from("/usr/local/cuda")])
}

/// NVRTC of a version.
#[derive(Clone, Debug)]
pub struct Nvrtc {
    /// Such as `13.0`.
    pub version: String,
}

impl Nvrtc {
    /// Loads the library: the one given, as a file or as the folder that holds it; or else one that the system finds, or
    /// that lies where CUDA is usually installed.
    ///
    /// # Errors
    /// There is none.
    pub fn load(given: Option<&Path>) -> Result<Nvrtc, String> {
        match given {
            Some(path) => {
                open(path).ok_or_else(|| format!("{} is no NVRTC, and holds none", path.display()))?
            }
            None => {
                // SAFETY: loads a library of CUDA, as any program that uses it does.
                if !unsafe { sys::is_culib_present() }
                    && !homes().any(|home| open(&home.join("lib64")).is_some())
                {
                    return Err("NVRTC is not installed here".to_owned());
                }
            }
        }
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the library is there, and the numbers are there to be written.
        check(unsafe { sys::nvrtcVersion(&mut major, &mut minor) }, "NVRTC does not work")?;
        Ok(Nvrtc { version: format!("{major}.{minor}") })
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

    /// Compiles a source to a CUBIN.
    ///
    /// # Errors
    /// The source has errors; the message has the compiler's.
    pub fn compile(&self, source: &str, name: &str, options: &[String]) -> Result<Vec<u8>, String> {
        let text = |text: &str| CString::new(text).map_err(|_| "an option has a byte 0".to_owned());
        let (source, name) = (text(source)?, text(name)?);
        let options: Vec<CString> = options.iter().map(|option| text(option)).collect::<Result<_, _>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut program = Program(ptr::null_mut());
        // SAFETY: the strings end with 0 and outlive the program; there are no headers.
        let made = unsafe {
            sys::nvrtcCreateProgram(
                &mut program.0,
                source.as_ptr(),
                name.as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        check(made, "NVRTC does not take the source")?;
        // SAFETY: the program has just been made, and there are as many options as is said.
        let compiled = unsafe {
            sys::nvrtcCompileProgram(
                program.0,
                pointers.len().try_into().unwrap_or_default(),
                pointers.as_ptr(),
            )
        };
        if compiled != nvrtcResult::NVRTC_SUCCESS {
            let log = program.log();
            let log: Vec<&str> = log.lines().take(20).collect();
            return Err(format!("NVRTC does not compile the kernels ({compiled:?}):\n{}", log.join("\n")));
        }
        let mut size = 0;
        // SAFETY: the program has been compiled, and `size` is there to be written.
        check(unsafe { sys::nvrtcGetCUBINSize(program.0, &mut size) }, "NVRTC made no CUBIN")?;
        let mut cubin = vec![0u8; size];
        // SAFETY: there is room for as many bytes as NVRTC said.
        check(unsafe { sys::nvrtcGetCUBIN(program.0, cubin.as_mut_ptr().cast()) }, "NVRTC made no CUBIN")?;
        Ok(cubin)
    }
}

/// Destroys itself.
struct Program(nvrtcProgram);

impl Program {
    fn log(&self) -> String {
        let mut size = 0;
        // SAFETY: the program has been made, and `size` is there to be written.
        if unsafe { sys::nvrtcGetProgramLogSize(self.0, &mut size) } != nvrtcResult::NVRTC_SUCCESS {
            return String::new();
        }
        let mut log = vec![0u8; size];
        // SAFETY: there is room for as many bytes as NVRTC said.
        let result = unsafe { sys::nvrtcGetProgramLog(self.0, log.as_mut_ptr().cast()) };
        let log = if result == nvrtcResult::NVRTC_SUCCESS { log } else { Vec::new() };
        String::from_utf8_lossy(&log).trim_end_matches('\0').to_owned()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: made once, destroyed once.
            let _ = unsafe { sys::nvrtcDestroyProgram(&mut self.0) };
        }
    }
}

fn check(result: nvrtcResult, what: &str) -> Result<(), String> {
    if result == nvrtcResult::NVRTC_SUCCESS { Ok(()) } else { Err(format!("{what}: {result:?}")) }
}

/// Loads NVRTC from a file or a folder, so that it is there when it is asked for by name.
fn open(path: &Path) -> Option<()> {
    let files = if path.is_dir() {
        let entries = fs::read_dir(path).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        let library = |file: &PathBuf| {
            file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libnvrtc.so"))
        };
        let mut files: Vec<PathBuf> = entries.filter(library).collect();
        files.sort();
        files
    } else {
        vec![path.to_path_buf()]
    };
    for file in files {
        // SAFETY: loads a library that is said to be NVRTC, which has no effect before it is called.
        if let Ok(library) = unsafe { libloading::Library::new(&file) } {
            // The system takes a library that is loaded for the one of its name.
            std::mem::forget(library);
            // SAFETY: as above.
            return unsafe { sys::is_culib_present() }.then_some(());
        }
    }
    None
}
