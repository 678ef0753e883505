//! `cargo xtask bundle`: all that a machine with a GPU needs to judge the CUDA kernels, without Rust and without a network.

mod glibc;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use glibc::{Glibc, Linker};

use crate::dist::archive::{Packing, gather, pack};
use crate::dist::{create, remove};
use crate::print;

/// Every target that the kernels are compiled for in CI, and PTX for what comes after them.
const TARGETS: &str = "sm_75,sm_80,sm_86,sm_89,sm_90a,sm_100a,sm_103,sm_110,sm_120,compute_75";

/// What the packed bundle may take.
const MOST_BYTES: u64 = 64_000_000;

const RUN: &str = include_str!("run.sh");

/// Pack the CUDA harness, its kernels as CUBINs, the runner and the corpus, to be run on a machine with a GPU
///
/// There, `tar xzf megakernel-cuda.tar.gz && megakernel-cuda/run.sh` does everything. To compile the kernels, NVRTC is needed here,
/// but no GPU: `pip install nvidia-cuda-nvrtc`.
#[derive(clap::Args)]
pub struct Args {
    /// The folder for the bundle
    #[arg(long, value_name = "FOLDER", default_value = "target/bundle")]
    out: PathBuf,

    /// The library of NVRTC, or the folder that holds it, if the system does not find it; or several, the newest first. Each makes
    /// kernels for the targets that it knows, the first for all; a driver takes nothing that was made for a later one, and gets the
    /// newest of the rest
    #[arg(long, value_name = "PATH")]
    nvrtc: Vec<PathBuf>,

    /// What to compile the kernels for
    #[arg(long, value_name = "LIST", default_value = TARGETS)]
    targets: String,

    /// The profile of the programs
    #[arg(long, value_name = "NAME", default_value = "release")]
    profile: String,

    /// The oldest C library that the programs have to run with, such as 2.28; by default that of this machine decides. It needs zig, as
    /// ZIG, the path or `pip install ziglang` has it, which links for it
    #[arg(long, value_name = "VERSION")]
    glibc: Option<Glibc>,
}

/// The command: 0 when there is a bundle.
pub fn run(root: &Path, args: &Args) -> ExitCode {
    match bundle(root, args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn bundle(root: &Path, args: &Args) -> Result<(), String> {
    let out = root.join(&args.out);
    let folder = out.join("megakernel-cuda");
    remove(&folder)?;
    create(&folder)?;
    let linker = args.glibc.map(|floor| Linker::new(floor, &out)).transpose()?;
    let mut floor = Glibc::LEAST;
    for name in ["megakernel-cuda", "megakernel-conform", "megakernel-reference"] {
        let built = build(root, name, &args.profile, linker.as_ref())?;
        let to = folder.join(name);
        fs::copy(&built, &to).map_err(|cause| format!("{}: {cause}", built.display()))?;
        floor = floor.max(Glibc::of(&to)?);
        // What debuggers need is most of a program. Without `strip` the bundle is larger, which is noticed below.
        let _ = Command::new("strip").arg(&to).status();
    }
    match args.glibc {
        Some(asked) => floor.within(asked)?,
        None => {
            eprintln!(
                "note: the programs need glibc {floor}; --glibc 2.28 has zig link them for an older one"
            );
        }
    }
    compile(args, &folder, &args.targets, None)?;
    compile(args, &folder, &of_matrix_units(&args.targets), Some("--tensor-cores"))?;
    gather(root, &["corpus"], &folder)?;
    let script = folder.join("run.sh");
    fs::write(&script, RUN.replace("@GLIBC@", &floor.to_string()))
        .map_err(|cause| format!("{}: {cause}", script.display()))?;
    succeed(Command::new("chmod").arg("+x").arg(&script), "run.sh is not made executable")?;
    let packed = pack(&folder, &out, Packing::Gzip)?;
    let bytes = fs::metadata(&packed).map_err(|cause| format!("{}: {cause}", packed.display()))?.len();
    if bytes > MOST_BYTES {
        return Err(format!("{} has {bytes} bytes, and may have {MOST_BYTES}", packed.display()));
    }
    print(&format!("{}: {:.1} MB\n", packed.display(), bytes as f64 / 1e6))
}

/// Compiles the kernels for targets, if there are any, with each NVRTC. All have to come of the first one.
fn compile(args: &Args, folder: &Path, targets: &str, option: Option<&str>) -> Result<(), String> {
    if targets.is_empty() {
        return Ok(());
    }
    let compile = |targets: &str, nvrtc: Option<&PathBuf>| {
        let mut compile = Command::new(folder.join("megakernel-cuda"));
        compile.args(["--compile", targets, "--out"]).arg(folder.join("cubins")).args(option);
        if let Some(path) = nvrtc {
            compile.arg("--nvrtc").arg(path);
        }
        compile
    };
    let hint = if args.nvrtc.len() > 1 { "; of several --nvrtc, give the newest first" } else { "" };
    if args.nvrtc.len() < 2 {
        eprintln!(
            "note: kernels of one compiler: drivers of an earlier CUDA take none of its CUBINs; --nvrtc takes an older one beside it"
        );
    }
    succeed(&mut compile(targets, args.nvrtc.first()), &format!("the kernels are not compiled{hint}"))?;
    for path in args.nvrtc.iter().skip(1) {
        let mut made = false;
        for target in targets.split(',') {
            let output = compile(target, Some(path)).output();
            if output.is_ok_and(|output| output.status.success()) {
                made = true;
            } else {
                eprintln!("note: {} makes no kernels for {target}", path.display());
            }
        }
        if !made {
            return Err(format!("{} makes no kernels at all", path.display()));
        }
    }
    Ok(())
}

/// Those of the targets that have the instructions of kernels with matrix units: from 8.0 on.
fn of_matrix_units(targets: &str) -> String {
    let capable = targets.split(',').filter_map(|target| match target {
        "sm_75" => None,
        "compute_75" => Some("compute_80"),
        other => Some(other),
    });
    capable.collect::<Vec<_>>().join(",")
}

/// Builds a program of this repository: its path.
fn build(root: &Path, name: &str, profile: &str, linker: Option<&Linker>) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--workspace", "--bin", name, "--profile", profile]).current_dir(root);
    if let Some(linker) = linker {
        linker.link(&mut build);
    }
    succeed(&mut build, &format!("{name} does not build"))?;
    let own = std::env::current_exe().map_err(|cause| format!("the path of xtask is unknown: {cause}"))?;
    let target = own.parent().and_then(Path::parent).ok_or("xtask is in no directory")?;
    let target = if linker.is_some() { &target.join(glibc::TARGET) } else { target };
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target.join(folder).join(name))
}

fn succeed(command: &mut Command, what: &str) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("{what}; see above")),
        Err(cause) => Err(format!("{what}: {program} cannot be started: {cause}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{TARGETS, of_matrix_units};

    #[test]
    fn kernels_with_matrix_units_are_for_what_has_them() {
        let capable = "sm_80,sm_86,sm_89,sm_90a,sm_100a,sm_103,sm_110,sm_120,compute_80";
        assert_eq!((of_matrix_units(TARGETS).as_str(), of_matrix_units("sm_75").as_str()), (capable, ""));
    }
}
