//! CUBINs: made by NVRTC once for each target, set of sources and compiler, and kept; or made elsewhere and brought along.

use std::fs;
use std::path::{Path, PathBuf};

use megakernel_ir::protocol::SourceFile;

use super::binary::{self, Entry, KERNEL};
use super::nvrtc::Nvrtc;
use crate::given::Given;
use crate::host::{default_cache, unpack};
use crate::sources::{Kernels, digest, files, options};

/// The options of every build, besides the target. Products and sums are rounded one by one, except where the source says
/// `fmaf`. With so many registers, blocks of 512 threads fit.
pub const OPTIONS: [&str; 3] = ["--std=c++17", "--fmad=false", "--maxrregcount=128"];

/// What is compiled, and where compiled kernels are looked for.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Which GPU: its number, or its UUID or the beginning of that; the first unless one is named.
    pub gpu: Option<String>,
    /// Use matrix units.
    pub tensor_cores: bool,
    /// What is given in place of kernels of ours.
    pub given: Given,
    /// A folder of CUBINs that were made elsewhere.
    pub cubins: Option<PathBuf>,
    /// Where CUBINs are kept; by default the user's cache.
    pub cache: Option<PathBuf>,
    /// NVRTC, as a file or as a folder that holds it.
    pub nvrtc: Option<PathBuf>,
}

/// Compiled kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Cubin {
    /// The file: a CUBIN, or PTX, which the driver compiles.
    pub path: PathBuf,
    /// What it was compiled for.
    pub target: String,
    /// The compiler, where that is known.
    pub toolkit: Option<String>,
    /// Digest of the kernels.
    pub kernels: String,
    /// The options of the compiler that decide what the kernels compute; none where they came compiled.
    pub options: Vec<String>,
    /// The files of which they are made; none where they came compiled.
    pub sources: Vec<SourceFile>,
    /// The kernel to launch.
    pub entry: Entry,
}

impl Cubin {
    /// What it is, for a message.
    pub fn describe(&self) -> String {
        let by = self.toolkit.as_ref().map(|toolkit| format!(", made by {toolkit}")).unwrap_or_default();
        format!(
            "{} for {}{by}",
            if self.target.starts_with("compute_") { "PTX" } else { "the CUBIN" },
            self.target
        )
    }
}

/// Libraries of headers, CUTLASS among them, have functions that do not say where they run.
const DEVICE: &str = "--device-as-default-execution-space";

/// For what PTX is made: whatever is newer than that can run it.
const PTX: &str = "compute_75";

/// The same of kernels that use matrix units, whose instructions the other has not got.
const PTX_OF_MATRIX_UNITS: &str = "compute_80";

/// What to compile for a GPU of a compute capability; then, best first, what else runs there.
pub fn targets(major: i32, minor: i32) -> Vec<String> {
    // What is compiled for these two runs nowhere else, and has instructions that nothing else has.
    let own = if matches!((major, minor), (9 | 10, 0)) { "a" } else { "" };
    let earlier = (0..minor).rev().map(|minor| format!("sm_{major}{minor}"));
    [format!("sm_{major}{minor}{own}")].into_iter().chain(earlier).collect()
}

/// What becomes a CUBIN: a source that includes everything, and the files that are not ours.
struct Source {
    text: String,
    options: Vec<String>,
    entry: Entry,
    digest: String,
    /// Those that decide what is computed.
    decisive: Vec<String>,
    files: Vec<SourceFile>,
}

impl Source {
    fn new(settings: &Settings) -> Result<Source, String> {
        let given = settings.given.source()?;
        let mut decisive: Vec<String> =
            options(&OPTIONS, settings.tensor_cores).into_iter().map(str::to_owned).collect();
        let (mut replaced, mut options) = (Vec::new(), Vec::new());
        let mut text = "#include \"device.cu\"\n".to_owned();
        let mut entry = Entry::own();
        if let Some(given) = given {
            let path = given.path;
            if given.is_vm {
                text = format!("#include \"platform.cuh\"\n#include \"{path}\"\n");
                entry = Entry::taking_the_program(KERNEL);
            } else {
                options.push(format!("-DAMK_KERNELS=\"{path}\""));
            }
            options.push(format!("-I{}", Path::new(&path).parent().unwrap_or(Path::new("/")).display()));
            options.extend(given.includes);
            decisive.extend(given.defines);
            decisive.push(DEVICE.to_owned());
            replaced = given.files;
        }
        // A file means something else as a VM than as instructions.
        let role = settings.given.vm.as_ref().map(|_| KERNEL);
        let parts: Vec<&str> = decisive.iter().map(String::as_str).chain(role).collect();
        let digest = digest(Kernels::Gpu, &parts, &replaced);
        Ok(Source { text, options, entry, digest, decisive, files: files(Kernels::Gpu, &replaced) })
    }

    /// Files of this source have this name, with the version of the compiler at the end.
    fn prefix(&self, target: &str) -> String {
        format!("{target}-{}-", self.digest.get(..16).unwrap_or_default())
    }

    fn file(&self, target: &str, nvrtc: &Nvrtc) -> String {
        format!("{}{}.{}", self.prefix(target), nvrtc.version, ending(target))
    }

    /// Those of a folder, the newest first. A file that only has the name is passed over.
    fn find(&self, folder: &Path, target: &str) -> Vec<Cubin> {
        let prefix = self.prefix(target);
        let end = format!(".{}", ending(target));
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found: Vec<(Vec<u32>, String, PathBuf)> = entries
            .filter_map(|path| {
                let version =
                    path.file_name()?.to_str()?.strip_prefix(&prefix)?.strip_suffix(&end)?.to_owned();
                let key = version.split('.').map_while(|part| part.parse().ok()).collect();
                is_compiled(&path).then_some((key, version, path))
            })
            .collect();
        found.sort();
        let cubin = |(_, version, path)| self.cubin(path, target, Some(format!("NVRTC {version}")));
        found.into_iter().rev().map(cubin).collect()
    }

    fn cubin(&self, path: PathBuf, target: &str, toolkit: Option<String>) -> Cubin {
        Cubin {
            path,
            target: target.to_owned(),
            toolkit,
            kernels: self.digest.clone(),
            options: self.decisive.clone(),
            sources: self.files.clone(),
            entry: self.entry.clone(),
        }
    }

    fn compile(&self, nvrtc: &Nvrtc, target: &str, folder: &Path) -> Result<PathBuf, String> {
        let about = |path: &Path, cause: std::io::Error| format!("{}: {cause}", path.display());
        fs::create_dir_all(folder).map_err(|cause| about(folder, cause))?;
        let sources = tempfile::tempdir_in(folder).map_err(|cause| about(folder, cause))?;
        unpack(sources.path())?;
        let mut options = self.decisive.clone();
        options.push(format!("--gpu-architecture={target}"));
        options.push(format!("-I{}", sources.path().display()));
        options.extend(self.options.iter().cloned());
        // Our own sources need none of CUDA's headers.
        if !self.options.is_empty() {
            options.extend(nvrtc.headers(&sources.path().join("cuda")));
        }
        let bytes = nvrtc.compile(&self.text, "kernels.cu", &options, ending(target) == "ptx")?;
        // What has the final name is whole.
        let (built, path) = (sources.path().join("cubin"), folder.join(self.file(target, nvrtc)));
        fs::write(&built, bytes).map_err(|cause| about(&built, cause))?;
        fs::rename(&built, &path).map_err(|cause| about(&path, cause))?;
        Ok(path)
    }
}

/// PTX is made for a virtual architecture, `compute_75`; a CUBIN for a real one.
fn ending(target: &str) -> &'static str {
    if target.starts_with("compute_") { "ptx" } else { "cubin" }
}

/// Whether a file begins as a CUBIN does, or is text that may be PTX.
fn is_compiled(path: &Path) -> bool {
    let bytes = fs::read(path).unwrap_or_default();
    let text = path.extension().is_some_and(|end| end == "ptx");
    if text { bytes.windows(8).any(|part| part == b".version") } else { bytes.starts_with(b"\x7fELF") }
}

/// The kernels for a GPU of a compute capability, best first: from the folder that was given, compiled now or before, or the
/// virtual machine that was given as a CUBIN. A driver may be too old for the first and not for another.
///
/// # Errors
/// There is nothing that fits and no compiler, or the compiler does not take the sources.
pub fn find(settings: &Settings, (major, minor): (i32, i32)) -> Result<Vec<Cubin>, String> {
    let targets = targets(major, minor);
    let best = targets.first().map(String::as_str).unwrap_or_default();
    if let Some(path) = settings.given.vm.as_ref().filter(|path| binary::is_binary(path)) {
        let (path, entry) = binary::read(path)?;
        let bytes = fs::read(&path).map_err(|cause| format!("{}: {cause}", path.display()))?;
        let mut hash = blake3::Hasher::new();
        hash.update(&bytes);
        // Launched in another way, it computes something else.
        if entry != Entry::taking_the_program(KERNEL) {
            hash.update(format!("{entry:?}").as_bytes());
        }
        return Ok(vec![Cubin {
            path,
            target: best.to_owned(),
            toolkit: None,
            kernels: hash.finalize().to_hex().to_string(),
            options: Vec::new(),
            sources: Vec::new(),
            entry,
        }]);
    }
    let source = Source::new(settings)?;
    let mut found = Vec::new();
    if let Some(folder) = &settings.cubins {
        let ptx = if settings.tensor_cores { PTX_OF_MATRIX_UNITS } else { PTX };
        for target in targets.iter().map(String::as_str).chain([ptx]) {
            found.extend(source.find(folder, target));
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    let cache = settings.cache.clone().unwrap_or_else(default_cache);
    match Nvrtc::load(settings.nvrtc.as_deref()) {
        Ok(nvrtc) => {
            let path = cache.join(source.file(best, &nvrtc));
            let path = if is_compiled(&path) { path } else { source.compile(&nvrtc, best, &cache)? };
            Ok(vec![source.cubin(path, best, Some(format!("NVRTC {}", nvrtc.version)))])
        }
        Err(missing) => {
            // What an NVRTC made that has gone since is as good.
            let kept = source.find(&cache, best);
            if !kept.is_empty() {
                return Ok(kept);
            }
            let place = settings.cubins.as_ref();
            let place =
                place.map_or("given with --cubins".to_owned(), |folder| format!("in {}", folder.display()));
            Err(format!(
                "there are no kernels for {best}: {missing}, and no CUBIN of these sources is {place}; install CUDA or the pip \
                 package nvidia-cuda-nvrtc and name its library with --nvrtc"
            ))
        }
    }
}

/// Compiles for targets, into a folder, and says what was made.
///
/// # Errors
/// There is no compiler, or it does not take the sources.
pub fn compile(settings: &Settings, targets: &[String], folder: &Path) -> Result<Vec<PathBuf>, String> {
    let nvrtc = Nvrtc::load(settings.nvrtc.as_deref()).map_err(|missing| {
        format!("{missing}: --compile needs no GPU, but the compiler; the pip package nvidia-cuda-nvrtc has it, to be named with --nvrtc")
    })?;
    let source = Source::new(settings)?;
    targets.iter().map(|target| source.compile(&nvrtc, target, folder)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_on_a_gpu_is_compiled_for_it_or_for_an_earlier_one_of_its_kind() {
        assert_eq!(targets(7, 5)[0], "sm_75");
        assert_eq!(targets(8, 6), ["sm_86", "sm_85", "sm_84", "sm_83", "sm_82", "sm_81", "sm_80"]);
        assert_eq!((targets(9, 0), targets(10, 0)), (vec!["sm_90a".to_owned()], vec!["sm_100a".to_owned()]));
        assert_eq!(targets(12, 1), ["sm_121", "sm_120"]);
    }

    #[test]
    fn a_folder_is_searched_for_these_sources_and_no_others() {
        let folder = tempfile::tempdir().unwrap_or_else(|cause| unreachable!("{cause}"));
        let settings = Settings { cubins: Some(folder.path().to_path_buf()), ..Settings::default() };
        let source = Source::new(&settings).unwrap_or_else(|cause| unreachable!("{cause}"));
        let names = [
            "sm_80-0123456789abcdef-13.0.cubin".to_owned(),
            format!("{}12.9.cubin", source.prefix("sm_80")),
            format!("{}12.10.cubin", source.prefix("sm_80")),
        ];
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).unwrap_or_else(|cause| unreachable!("{cause}"));
        };
        for name in &names {
            write(name, "\x7fELF and more");
        }
        // It has the name of the newest, and is text.
        write(&format!("{}12.11.cubin", source.prefix("sm_80")), "no CUBIN");
        // A driver that refuses both may still take this.
        write(&format!("{}12.4.ptx", source.prefix(PTX)), "//\n.version 8.4\n");
        let found = find(&settings, (8, 6)).unwrap_or_else(|cause| unreachable!("{cause}"));
        let found: Vec<_> = found
            .iter()
            .map(|found| (found.target.as_str(), found.toolkit.as_deref().unwrap_or_default()))
            .collect();
        assert_eq!(found, [("sm_80", "NVRTC 12.10"), ("sm_80", "NVRTC 12.9"), (PTX, "NVRTC 12.4")]);
        // Those that use matrix units are others, with PTX of their own.
        let settings = Settings { tensor_cores: true, ..settings };
        let source = Source::new(&settings).unwrap_or_else(|cause| unreachable!("{cause}"));
        for target in [PTX, PTX_OF_MATRIX_UNITS] {
            write(&format!("{}12.4.ptx", source.prefix(target)), "//\n.version 8.4\n");
        }
        let found = find(&settings, (8, 6)).unwrap_or_else(|cause| unreachable!("{cause}"));
        let found: Vec<_> = found.iter().map(|found| found.target.as_str()).collect();
        assert_eq!(found, [PTX_OF_MATRIX_UNITS]);
    }

    #[test]
    fn each_file_of_a_folder_has_a_digest_of_its_own_and_so_has_each_of_its_roles() {
        let folder = tempfile::tempdir().unwrap_or_else(|cause| unreachable!("{cause}"));
        let path = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| {
            fs::write(path(name), text).unwrap_or_else(|cause| unreachable!("{cause}"));
        };
        fs::create_dir(path("deep")).unwrap_or_else(|cause| unreachable!("{cause}"));
        for name in ["a.cu", "b.cu"] {
            write(name, "#include \"deep/c.cuh\"\n");
        }
        write("deep/c.cuh", "// one");
        let digest = |kernels: Option<&str>, vm: Option<&str>, define: Option<&str>| {
            let given = Given {
                kernels: kernels.map(path),
                vm: vm.map(path),
                defines: define.map(str::to_owned).into_iter().collect(),
                ..Given::default()
            };
            let settings = Settings { given, ..Settings::default() };
            Source::new(&settings).map(|source| source.digest).unwrap_or_else(|cause| unreachable!("{cause}"))
        };
        let before = [
            digest(Some("a.cu"), None, None),
            digest(Some("b.cu"), None, None),
            digest(None, Some("a.cu"), None),
            digest(None, None, None),
            digest(Some("a.cu"), None, Some("A")),
            digest(Some("a.cu"), None, Some("A=2")),
        ];
        write("deep/c.cuh", "// two");
        let after = digest(Some("a.cu"), None, None);
        for (n, one) in before.iter().enumerate() {
            assert!(*one != after && !before.iter().skip(n + 1).any(|other| one == other), "{n}: {before:?}");
        }
    }
}
