//! From the sources to a program for the CPU, once for each set of inputs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use megakernel_ir::protocol::SourceFile;

use super::{ptx, shared};
use crate::cuda::binary::is_binary;
use crate::given::{Given, Source};
use crate::sources::{Kernels, SOURCES, TENSOR_CORES, digest, files, options};

/// What checks the kernels while they run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sanitizers {
    /// Nothing.
    #[default]
    None,
    /// Addresses.
    Address,
    /// Undefined behaviour.
    Undefined,
    /// Addresses and undefined behaviour.
    AddressUndefined,
    /// Races, with a thread of the CPU for each CUDA thread.
    Thread,
    /// No finding of a compiler's: memory is as weakly ordered as a GPU's may be.
    Order,
}

impl Sanitizers {
    /// As the compiler takes it.
    pub const fn list(self) -> &'static str {
        match self {
            Sanitizers::None => "",
            Sanitizers::Address => "address",
            Sanitizers::Undefined => "undefined",
            Sanitizers::AddressUndefined => "address,undefined",
            Sanitizers::Thread => "thread",
            Sanitizers::Order => "order",
        }
    }
}

impl FromStr for Sanitizers {
    type Err = String;

    fn from_str(list: &str) -> Result<Sanitizers, String> {
        match list {
            "address" => Ok(Sanitizers::Address),
            "undefined" => Ok(Sanitizers::Undefined),
            "address,undefined" | "undefined,address" => Ok(Sanitizers::AddressUndefined),
            "thread" => Ok(Sanitizers::Thread),
            "order" => Ok(Sanitizers::Order),
            other => {
                Err(format!("`{other}` is none of address, undefined, address,undefined, thread and order"))
            }
        }
    }
}

/// The files that say what becomes of a source before it is compiled.
const REPLACING: [&[u8]; 11] = [
    include_bytes!("tokens.rs"),
    include_bytes!("shared/mod.rs"),
    include_bytes!("ptx/mod.rs"),
    include_bytes!("ptx/assembly.rs"),
    include_bytes!("ptx/types.rs"),
    include_bytes!("ptx/cxx/mod.rs"),
    include_bytes!("ptx/cxx/arithmetic.rs"),
    include_bytes!("ptx/cxx/matrices.rs"),
    include_bytes!("ptx/cxx/memory.rs"),
    include_bytes!("ptx/cxx/tensor_memory.rs"),
    include_bytes!("ptx/cxx/threads.rs"),
];

/// What the program is made of.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The compiler: g++ or clang++ by any name.
    pub compiler: String,
    /// What checks the kernels while they run.
    pub sanitizers: Sanitizers,
    /// Use matrix units, or what stands in for them.
    pub tensor_cores: bool,
    /// What is given in place of kernels of ours.
    pub given: Given,
    /// The folder of programs that were built before; by default the user's cache.
    pub cache: Option<PathBuf>,
}

/// The options of every build. Contraction would round where the clauses do not let it, and the order of operations is the
/// source's. Without the last one, g++ 12.2 loses a mask between a cast of bits and a conversion, as
/// tests/kernels/cast_truncates.cu shows.
pub const OPTIONS: [&str; 4] = ["-std=c++20", "-O1", "-ffp-contract=off", "-fno-tree-ter"];

/// A program that was built, and what a record of evidence says of it.
#[derive(Clone, Debug)]
pub struct Built {
    /// Its path.
    pub program: PathBuf,
    /// The compiler and its version.
    pub toolkit: String,
    /// Digest of the kernels.
    pub kernels: String,
    /// The files of which they are made.
    pub sources: Vec<SourceFile>,
}

/// The program, which is built if that has not been done yet.
///
/// # Errors
/// There is no compiler, it does not take the sources, or the cache cannot be written.
pub fn build(settings: &Settings) -> Result<Built, String> {
    let cache = settings.cache.clone().unwrap_or_else(default_cache);
    let version = Command::new(&settings.compiler).arg("--version").output().map_err(|cause| {
        format!(
            "the C++ compiler `{}` cannot be started ({cause}): --device host compiles the kernels with one; \
             install g++ or clang++, or name another with --cxx",
            settings.compiler
        )
    })?;
    if let Some(path) = settings.given.vm.as_ref().filter(|path| is_binary(path)) {
        return Err(format!(
            "{} holds code for a GPU: --device host compiles the source, a .cu file",
            path.display()
        ));
    }
    let given = settings.given.source()?;
    let checked = checked_by(settings.sanitizers);
    let has = |word: &str| {
        given
            .iter()
            .flat_map(|given| &given.files)
            .any(|(_, text)| String::from_utf8_lossy(text).contains(word))
    };
    let (has_shared, has_ptx) = (has("__shared__"), has("asm"));
    let mut chosen: Vec<String> = given.iter().flat_map(of_given).collect();
    chosen.extend(settings.tensor_cores.then(|| TENSOR_CORES.to_owned()));
    chosen.extend(has_ptx.then(|| "-DAMK_PTX".to_owned()));
    chosen.extend((has_ptx && has("tcgen05")).then(|| "-DAMK_TENSOR_MEMORY".to_owned()));

    let mut hash = blake3::Hasher::new();
    part(&mut hash, &version.stdout);
    checked.iter().for_each(|flag| part(&mut hash, flag.as_bytes()));
    for (path, text) in SOURCES {
        part(&mut hash, path.as_bytes());
        part(&mut hash, text.as_bytes());
    }
    // What runs the kernels is the same for all of them, and takes longer to compile than a few.
    let runner = cache.join(format!("amk-runner-{}.o", so_far(&hash)));
    chosen.iter().for_each(|flag| part(&mut hash, flag.as_bytes()));
    // What becomes of a source is in no file that is compiled.
    REPLACING.iter().for_each(|text| part(&mut hash, text));
    for (name, text) in given.iter().flat_map(|given| &given.files) {
        part(&mut hash, name.as_bytes());
        part(&mut hash, text);
    }
    let program = cache.join(format!("amk-host-{}", so_far(&hash)));

    once(&cache, &program, |sources, built| {
        // For whoever waits for a handshake, or did not wait long enough.
        eprintln!(
            "note: compiling the kernels, which may take minutes the first time; --prepare does so beforehand"
        );
        once(&cache, &runner, |sources, built| {
            compile(
                settings,
                &[&checked[..], &["-c".to_owned()]].concat(),
                sources,
                &sources.join("host/main.cpp"),
                built,
            )
        })?;
        let flags = [&checked[..], &chosen].concat();
        let source = sources.join("host/kernels.cpp");
        let source =
            if has_shared || has_ptx { replaced(settings, &flags, sources, &source)? } else { source };
        compile(settings, &[&flags[..], &[runner.display().to_string()]].concat(), sources, &source, built)
    })?;
    Ok(Built {
        program,
        toolkit: String::from_utf8_lossy(&version.stdout)
            .lines()
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned(),
        kernels: kernels_digest(settings, given.as_ref()),
        sources: files(Kernels::Host, given.as_ref().map_or(&[], |given| &given.files)),
    })
}

/// Adds to what the name of a file of the cache depends on.
fn part(hash: &mut blake3::Hasher, bytes: &[u8]) {
    hash.update(&(bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

/// What has been added, for a name.
fn so_far(hash: &blake3::Hasher) -> String {
    hash.finalize().to_hex()[..24].to_owned()
}

/// Makes a file of the cache that is not there: of several workers that start at once, one does, and the others wait. `make` gets a folder of
/// its own with the sources, and a path in it: what has the final name is whole.
fn once(
    cache: &Path,
    made: &Path,
    make: impl FnOnce(&Path, &Path) -> Result<(), String>,
) -> Result<(), String> {
    if made.is_file() {
        return Ok(());
    }
    let about = |path: &Path, cause: std::io::Error| format!("{}: {cause}", path.display());
    fs::create_dir_all(cache).map_err(|cause| about(cache, cause))?;
    let lock = made.with_extension("lock");
    // The lock goes with the file.
    let _lock = File::create(&lock)
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|cause| about(&lock, cause))?;
    if made.is_file() {
        return Ok(());
    }
    let folder = tempfile::tempdir_in(cache).map_err(|cause| about(cache, cause))?;
    unpack(folder.path())?;
    let part = folder.path().join("made");
    make(folder.path(), &part)?;
    fs::rename(&part, made).map_err(|cause| about(made, cause))
}

/// The digest that evidence names: of a file that replaces kernels, the name counts and not the folder.
fn kernels_digest(settings: &Settings, given: Option<&Source>) -> String {
    let mut options = options(&OPTIONS, settings.tensor_cores);
    if settings.sanitizers != Sanitizers::None {
        options.push(settings.sanitizers.list());
    }
    let mut replaced: &[_] = &[];
    if let Some(given) = given {
        options.extend(given.defines.iter().map(String::as_str));
        // A file means something else as a VM than as instructions.
        options.extend(given.is_vm.then_some("vm"));
        replaced = &given.files;
    }
    digest(Kernels::Host, &options, replaced)
}

/// Where compiled kernels are kept, unless another folder is named.
pub(crate) fn default_cache() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let user = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    user.unwrap_or_else(std::env::temp_dir).join("megakernel-cuda")
}

/// The compiler's arguments for all that is compiled.
fn checked_by(sanitizers: Sanitizers) -> Vec<String> {
    let mut flags: Vec<String> = OPTIONS.map(String::from).to_vec();
    match sanitizers {
        Sanitizers::None => {}
        Sanitizers::Thread => {
            flags.extend(["-fsanitize=thread", "-DAMK_HOST_THREADS", "-pthread", "-g1"].map(String::from))
        }
        // The calls that g++ makes for ThreadSanitizer, and not its library: weak.hpp has the functions.
        Sanitizers::Order => flags.extend(
            [
                "-DAMK_HOST_WEAK",
                "-fsanitize=thread",
                "--param=tsan-instrument-func-entry-exit=0",
                "-nodefaultlibs",
                "-Wl,--no-as-needed",
                "-lstdc++",
                "-lm",
                "-lc",
                "-lgcc_s",
                "-lgcc",
            ]
            .map(String::from),
        ),
        other => {
            flags.push(format!("-fsanitize={}", other.list()));
            flags.extend(["-fno-sanitize-recover=all", "-g1"].map(String::from));
        }
    }
    flags
}

/// Those for somebody's file, with the macro by which the sources include it.
fn of_given(given: &Source) -> Vec<String> {
    let name = if given.is_vm { "AMK_VM" } else { "AMK_KERNELS" };
    let file = format!("-D{name}=\"{}\"", given.path);
    std::iter::once(&file).chain(&given.includes).chain(&given.defines).cloned().collect()
}

/// Writes the sources into a folder.
pub(crate) fn unpack(folder: &Path) -> Result<(), String> {
    let about = |path: &Path, cause: std::io::Error| format!("{}: {cause}", path.display());
    for (path, text) in SOURCES {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|cause| about(parent, cause))?;
        }
        fs::write(&path, text).map_err(|cause| about(&path, cause))?;
    }
    Ok(())
}

/// Compiles one of the sources, which are in a folder.
fn compile(
    settings: &Settings,
    flags: &[String],
    folder: &Path,
    source: &Path,
    made: &Path,
) -> Result<(), String> {
    let output = Command::new(&settings.compiler)
        // First of all: a toolkit's headers of these names are not for a CPU.
        .arg("-I")
        .arg(folder.join("host/include"))
        .args(flags)
        .arg("-I")
        .arg(folder)
        .arg(source)
        .arg("-o")
        .arg(made)
        .output()
        .map_err(|cause| format!("the C++ compiler `{}` cannot be started: {cause}", settings.compiler))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().take(20).collect();
        return Err(format!("`{}` does not compile the kernels:\n{}", settings.compiler, said.join("\n")));
    }
    Ok(())
}

/// The source in one file, whose `__shared__` variables are those of a block, and whose PTX is C++.
fn replaced(settings: &Settings, flags: &[String], folder: &Path, source: &Path) -> Result<PathBuf, String> {
    let about = |path: &Path, cause: std::io::Error| format!("{}: {cause}", path.display());
    let whole = folder.join("whole.cpp");
    compile(settings, &[flags, &["-E".to_owned()]].concat(), folder, source, &whole)?;
    let text = fs::read(&whole).map_err(|cause| about(&whole, cause))?;
    fs::write(&whole, shared::replace(&ptx::replace(&String::from_utf8_lossy(&text)))?)
        .map_err(|cause| about(&whole, cause))?;
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_is_not_there_is_said() {
        let settings = Settings {
            compiler: "no-such-compiler".into(),
            sanitizers: Sanitizers::None,
            tensor_cores: false,
            given: Given::default(),
            cache: None,
        };
        assert!(build(&settings).is_err_and(|error| error.contains("install g++ or clang++")));
    }

    #[test]
    fn sanitizers_are_what_the_compiler_takes() {
        for list in ["address", "undefined", "address,undefined", "thread"] {
            assert_eq!(list.parse::<Sanitizers>().map(Sanitizers::list), Ok(list));
        }
        assert!("memory".parse::<Sanitizers>().is_err());
        let given = Source {
            path: "a b/k.cu".to_owned(),
            is_vm: false,
            includes: vec!["-Ic d".to_owned()],
            defines: vec!["-DE".to_owned()],
            files: Vec::new(),
        };
        let flags = [checked_by(Sanitizers::Thread), of_given(&given)].concat();
        for flag in ["-DAMK_HOST_THREADS", "-DAMK_KERNELS=\"a b/k.cu\"", "-Ic d", "-DE"] {
            assert!(flags.contains(&flag.to_owned()), "{flag}");
        }
    }
}
