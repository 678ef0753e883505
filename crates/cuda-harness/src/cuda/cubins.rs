//! CUBINs: made by NVRTC once for each target, set of sources and compiler, and kept; or made elsewhere and brought along.

use std::fs;
use std::path::{Path, PathBuf};

use super::nvrtc::Nvrtc;
use crate::host::{beside, default_cache, unpack};
use crate::sources::{Kernels, digest};

/// The options of every build, besides the target. Products and sums are rounded one by one, except where the source says
/// `fmaf`. With so many registers, blocks of 512 threads fit.
pub const OPTIONS: [&str; 3] = ["--std=c++17", "--fmad=false", "--maxrregcount=128"];

/// What is compiled, and where compiled kernels are looked for.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// A file that replaces instructions.
    pub kernels: Option<PathBuf>,
    /// A virtual machine in place of ours: a source, or a CUBIN.
    pub vm: Option<PathBuf>,
    /// A folder of CUBINs that were made elsewhere.
    pub cubins: Option<PathBuf>,
    /// Where CUBINs are kept; by default the user's cache.
    pub cache: Option<PathBuf>,
    /// NVRTC, as a file or as a folder that holds it.
    pub nvrtc: Option<PathBuf>,
}

/// Compiled kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cubin {
    /// The file.
    pub path: PathBuf,
    /// What it was compiled for.
    pub target: String,
    /// The compiler, where that is known.
    pub toolkit: Option<String>,
    /// Digest of the kernels.
    pub kernels: String,
    /// The kernel to launch.
    pub entry: &'static str,
}

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
    entry: &'static str,
    digest: String,
}

impl Source {
    fn new(settings: &Settings) -> Result<Source, String> {
        let (given, entry) = match &settings.vm {
            Some(path) => (Some(path), "amk_megakernel"),
            None => (settings.kernels.as_ref(), "amk_vm"),
        };
        let about = |path: &Path, cause: std::io::Error| format!("{}: {cause}", path.display());
        let (mut replaced, mut options) = (Vec::new(), Vec::new());
        let mut text = "#include \"device.cu\"\n".to_owned();
        if let Some(path) = given {
            let path = path.canonicalize().map_err(|cause| about(path, cause))?;
            let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let files = beside(&path).map_err(|cause| about(&path, cause))?;
            replaced = files.into_iter().map(|(path, text)| (name(&path), text)).collect();
            let quoted = path.to_str().filter(|path| !path.contains(['"', '\\']));
            let quoted =
                quoted.ok_or("the path of the kernels has a quote or a backslash, or is not UTF-8")?;
            if settings.vm.is_some() {
                text = format!("#include \"platform.cuh\"\n#include \"{quoted}\"\n");
            } else {
                options.push(format!("-DAMK_KERNELS=\"{quoted}\""));
            }
            options.push(format!("-I{}", path.parent().unwrap_or(&path).display()));
        }
        let digest = digest(Kernels::Gpu, &OPTIONS, &replaced);
        Ok(Source { text, options, entry, digest })
    }

    /// Files of this source have this name, with the version of the compiler at the end.
    fn prefix(&self, target: &str) -> String {
        format!("{target}-{}-", self.digest.get(..16).unwrap_or_default())
    }

    fn file(&self, target: &str, nvrtc: &Nvrtc) -> String {
        format!("{}{}.cubin", self.prefix(target), nvrtc.version)
    }

    /// The newest of a folder.
    fn find(&self, folder: &Path, target: &str) -> Option<Cubin> {
        let prefix = self.prefix(target);
        let entries = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        let found = entries.filter_map(|path| {
            let version =
                path.file_name()?.to_str()?.strip_prefix(&prefix)?.strip_suffix(".cubin")?.to_owned();
            let key: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
            Some((key, version, path))
        });
        let (_, version, path) = found.max()?;
        Some(self.cubin(path, target, Some(format!("NVRTC {version}"))))
    }

    fn cubin(&self, path: PathBuf, target: &str, toolkit: Option<String>) -> Cubin {
        Cubin { path, target: target.to_owned(), toolkit, kernels: self.digest.clone(), entry: self.entry }
    }

    fn compile(&self, nvrtc: &Nvrtc, target: &str, folder: &Path) -> Result<PathBuf, String> {
        let about = |path: &Path, cause: std::io::Error| format!("{}: {cause}", path.display());
        fs::create_dir_all(folder).map_err(|cause| about(folder, cause))?;
        let sources = tempfile::tempdir_in(folder).map_err(|cause| about(folder, cause))?;
        unpack(sources.path())?;
        let mut options: Vec<String> = OPTIONS.map(str::to_owned).to_vec();
        options.push(format!("--gpu-architecture={target}"));
        options.push(format!("-I{}", sources.path().display()));
        options.extend(self.options.iter().cloned());
        // Our own sources need none of CUDA's headers.
        if !self.options.is_empty() {
            options.extend(nvrtc.headers(&sources.path().join("cuda")));
        }
        let bytes = nvrtc.compile(&self.text, "kernels.cu", &options)?;
        // What has the final name is whole.
        let (built, path) = (sources.path().join("cubin"), folder.join(self.file(target, nvrtc)));
        fs::write(&built, bytes).map_err(|cause| about(&built, cause))?;
        fs::rename(&built, &path).map_err(|cause| about(&path, cause))?;
        Ok(path)
    }
}

/// The kernels for a GPU of a compute capability: from the folder that was given, compiled now or before, or the virtual
/// machine that was given as a CUBIN.
///
/// # Errors
/// There is no CUBIN that fits and no compiler, or the compiler does not take the sources.
pub fn find(settings: &Settings, (major, minor): (i32, i32)) -> Result<Cubin, String> {
    let targets = targets(major, minor);
    let best = targets.first().map(String::as_str).unwrap_or_default();
    if let Some(path) = settings.vm.as_ref().filter(|path| path.extension().is_some_and(|end| end == "cubin"))
    {
        let bytes = fs::read(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
        return Ok(Cubin {
            path: path.clone(),
            target: best.to_owned(),
            toolkit: None,
            kernels: blake3::hash(&bytes).to_hex().to_string(),
            entry: "amk_megakernel",
        });
    }
    let source = Source::new(settings)?;
    let brought = settings.cubins.as_ref();
    if let Some(cubin) =
        brought.and_then(|folder| targets.iter().find_map(|target| source.find(folder, target)))
    {
        return Ok(cubin);
    }
    let cache = settings.cache.clone().unwrap_or_else(default_cache);
    match Nvrtc::load(settings.nvrtc.as_deref()) {
        Ok(nvrtc) => {
            let path = cache.join(source.file(best, &nvrtc));
            let path = if path.is_file() { path } else { source.compile(&nvrtc, best, &cache)? };
            Ok(source.cubin(path, best, Some(format!("NVRTC {}", nvrtc.version))))
        }
        // What an NVRTC made that has gone since is as good.
        Err(missing) => source.find(&cache, best).ok_or_else(|| {
            format!(
                "there are no kernels for {best}: {missing}, and no CUBIN of these sources is {}; install CUDA or the pip \
                 package nvidia-cuda-nvrtc and name its library with --nvrtc",
                brought.map_or("given with --cubins".to_owned(), |folder| format!("in {}", folder.display()))
            )
        }),
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
        let found = || find(&settings, (8, 6)).map(|found| (found.path, found.target, found.toolkit));
        for name in &names {
            fs::write(folder.path().join(name), "").unwrap_or_else(|cause| unreachable!("{cause}"));
        }
        let expected = (folder.path().join(&names[2]), "sm_80".to_owned(), Some("NVRTC 12.10".to_owned()));
        assert_eq!(found(), Ok(expected));
    }
}
