//! `megakernel-cuda`: CUDA kernels as a worker of the protocol.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use megakernel_cuda_harness::cuda::{self, Cuda};
use megakernel_cuda_harness::device::{Device, Threads};
use megakernel_cuda_harness::given::Given;
use megakernel_cuda_harness::host::{self, Host, Launching, Sanitizers, Settings};
use megakernel_cuda_harness::session::Options;
use megakernel_cuda_harness::sources;
use megakernel_cuda_harness::worker::Harness;
use megakernel_ir::protocol::Accumulator;
use megakernel_ir::terminal;

/// Run programs with CUDA kernels, and answer the conformance runner on standard input (clauses CON-02 and CON-11).
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:\n  cargo xtask conform --impl cuda\n  cargo xtask conform --impl 'cuda --trace --sanitize address,undefined'\n  cargo xtask conform --impl 'cuda --kernels my_gelu.cu' --filter 'numeric/gelu/*'"
)]
struct Cli {
    /// What runs the kernels
    #[arg(long, value_enum, default_value = "host")]
    device: DeviceName,

    /// Run each task in a launch of its own, so that only the opcodes are judged and not signal and wait
    #[arg(long)]
    opcode_only: bool,

    /// Offer to write what each task wrote (clause NUM-12)
    #[arg(long)]
    trace: bool,

    /// Fill buffers that start undefined with zeros, and not with bits that are NaN in every float type
    #[arg(long)]
    zeros: bool,

    /// Use matrix units for products and attention: the accumulator is then `truncating` (clause NUM-06)
    #[arg(long)]
    tensor_cores: bool,

    /// How the file of --kernels or --vm adds up products (clause NUM-06), for the handshake: `truncating`, if with matrix units of its own
    #[arg(long, value_enum, value_name = "MODEL")]
    accumulator: Option<AccumulatorName>,

    /// With --device cuda: which GPU, by its number or by its UUID or the beginning of that
    #[arg(long, value_name = "GPU")]
    gpu: Option<String>,

    /// A CUDA C++ file whose functions replace instructions, or signal and wait
    #[arg(long, value_name = "FILE")]
    kernels: Option<PathBuf>,

    /// A folder in which the file of --kernels or --vm finds headers; may be given several times
    #[arg(long, value_name = "FOLDER")]
    include: Vec<PathBuf>,

    /// A macro for the file of --kernels or --vm; may be given several times
    #[arg(long, value_name = "NAME[=VALUE]")]
    define: Vec<String>,

    /// Check the kernels while they run: address,undefined or thread; or order, for memory as weak as a GPU's may be
    #[arg(long, value_name = "LIST")]
    sanitize: Option<Sanitizers>,

    /// Threads of a block; by default what the program asks for, or else 256 on a GPU and 64 on the CPU
    #[arg(long, value_name = "N")]
    threads: Option<u32>,

    /// Other than 0: place tasks and queues elsewhere, and let blocks and threads take turns in another order
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Seconds after which a launch has timed out
    #[arg(long, value_name = "SECONDS", default_value_t = 8)]
    limit: u64,

    /// The C++ compiler
    #[arg(long, value_name = "COMMAND", default_value = "c++")]
    cxx: String,

    /// Where compiled kernels are kept; by default in the cache of the user
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,

    /// Compile the kernels, on a GPU try a launch without tasks, and answer nothing
    #[arg(long)]
    prepare: bool,

    /// Run each launch N times from the same memory, each time placed anew: all outputs must be the same, bit for bit
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeat: u64,

    /// Delay random tasks before they wait, run and signal
    #[arg(long)]
    perturb: bool,

    /// With --device cuda: a folder of kernels that --compile made
    #[arg(long, value_name = "FOLDER")]
    cubins: Option<PathBuf>,

    /// With --device cuda: add a line to this file for each launch, the SMs on which its blocks ran
    #[arg(long, value_name = "FILE")]
    placement: Option<PathBuf>,

    /// The library of NVRTC, or the folder that holds it, if the system does not find it
    #[arg(long, value_name = "PATH")]
    nvrtc: Option<PathBuf>,

    /// Compile the kernels for targets such as sm_90a, or to PTX for compute_75, which needs no GPU, and answer nothing
    #[arg(long, value_name = "TARGETS", value_delimiter = ',', requires = "out")]
    compile: Vec<String>,

    /// The folder for the files of --compile, or the file in which --bandwidth writes its figures as JSON
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,

    /// Measure on a GPU how fast opcodes run that read so many MiB, and steps of decoders, beside a plain copy; below 64, all is smaller. And answer nothing
    #[arg(long, value_name = "MIB", num_args = 0..=1, default_missing_value = "512")]
    bandwidth: Option<usize>,

    /// Draw what --bandwidth measures as SVG in this file
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,

    /// Draw with --picture what --bandwidth wrote as JSON before, which needs no GPU, and answer nothing
    #[arg(long, value_name = "FILE", requires = "picture", conflicts_with_all = ["bandwidth", "compile"])]
    figures: Option<PathBuf>,

    /// With --picture: the record of the GPU, such as targets/h100.json, beside whose peaks figures are put too
    #[arg(long, value_name = "FILE", requires = "picture")]
    peaks: Option<PathBuf>,

    /// Print the digests of the kernels, which records of evidence name, and answer nothing
    #[arg(long)]
    digests: bool,

    /// Run launches on the GPU for the harness: a CUBIN, how its kernel is launched and the number of the GPU
    #[arg(long, hide = true, num_args = 3)]
    cuda_runner: Option<Vec<PathBuf>>,

    /// A whole VM in place of this one: a file with the kernel `amk_megakernel`, which takes the records of the ABI; on a GPU also a CUBIN,
    /// a fat binary, PTX, or a JSON file that says how such a file is launched
    #[arg(long, value_name = "FILE", conflicts_with = "kernels")]
    vm: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum DeviceName {
    /// The CPU, through a shim
    Host,
    /// A GPU
    Cuda,
}

#[derive(Clone, Copy, ValueEnum)]
enum AccumulatorName {
    /// Each addition is rounded
    Binary32,
    /// Products are aligned and cut off, as in matrix units
    Truncating,
}

/// What the handshake declares.
fn accumulator(cli: &Cli) -> Result<Accumulator, String> {
    let own = if cli.tensor_cores { Accumulator::Truncating } else { Accumulator::Binary32 };
    let Some(declared) = cli.accumulator else { return Ok(own) };
    if cli.kernels.is_none() && cli.vm.is_none() {
        return Err("--accumulator says how the file of --kernels or --vm adds up, and there is none: the kernels of this harness use matrix units \
                    with --tensor-cores, and declare it themselves"
            .to_owned());
    }
    match declared {
        AccumulatorName::Truncating => Ok(Accumulator::Truncating),
        AccumulatorName::Binary32 if cli.tensor_cores => Err(
            "--tensor-cores has kernels of this harness add up as `truncating`: leave one of it and --accumulator binary32 out"
                .to_owned(),
        ),
        AccumulatorName::Binary32 => Ok(Accumulator::Binary32),
    }
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|cause| format!("{}: {cause}", path.display()))
}

fn draw(path: &Path, report: &cuda::Report, peaks: Option<&Path>) -> Result<(), String> {
    let peaks = peaks.map(|record| cuda::Peaks::read(record, report)).transpose()?;
    write(path, &cuda::svg(report, peaks.as_ref()))
}

fn run(cli: Cli) -> Result<(), String> {
    if cli.opcode_only && (cli.repeat > 1 || cli.perturb) {
        return Err(
            "--repeat and --perturb are about signal and wait, which --opcode-only leaves out".to_owned()
        );
    }
    if cli.perturb && cli.vm.is_some() {
        return Err("--perturb delays tasks in the VM of this harness, and cannot in that of --vm".to_owned());
    }
    if cli.placement.is_some() && (matches!(cli.device, DeviceName::Host) || cli.vm.is_some()) {
        return Err("--placement says where the VM of this harness runs on a GPU: it needs --device cuda, and no --vm".to_owned());
    }
    if let Some([cubin, kernel, gpu]) = cli.cuda_runner.as_deref() {
        return cuda::serve(cubin, &kernel.to_string_lossy(), &gpu.to_string_lossy());
    }
    if cli.digests {
        let host = sources::digest(sources::Kernels::Host, &host::OPTIONS, &[]);
        let gpu = sources::digest(sources::Kernels::Gpu, &cuda::OPTIONS, &[]);
        let tensor = sources::digest(sources::Kernels::Gpu, &sources::options(&cuda::OPTIONS, true), &[]);
        println!("{{\"host\": \"{host}\", \"gpu\": \"{gpu}\", \"tensor_cores\": \"{tensor}\"}}");
        return Ok(());
    }
    if let (Some(figures), Some(path)) = (&cli.figures, &cli.picture) {
        return draw(path, &cuda::Report::read(figures)?, cli.peaks.as_deref());
    }
    if cli.picture.is_some() && cli.bandwidth.is_none() {
        return Err("--picture draws what --bandwidth measures, or with --figures what it wrote".to_owned());
    }
    let accumulator = accumulator(&cli)?;
    let limit = Duration::from_secs(cli.limit);
    let given = Given { kernels: cli.kernels, vm: cli.vm, includes: cli.include, defines: cli.define };
    let on_gpu = cuda::Settings {
        gpu: cli.gpu,
        tensor_cores: cli.tensor_cores,
        given: given.clone(),
        cubins: cli.cubins,
        cache: cli.cache.clone(),
        nvrtc: cli.nvrtc,
    };
    if let (Some(folder), false) = (&cli.out, cli.compile.is_empty()) {
        let made = cuda::compile(&on_gpu, &cli.compile, folder)?;
        made.iter().for_each(|path| println!("{}", path.display()));
        return Ok(());
    }
    if let Some(mebibytes) = cli.bandwidth {
        let report = cuda::measure(&on_gpu, mebibytes.max(1))?;
        // First of all, since a file may not be as it should.
        print!("{}", report.text());
        if let Some(path) = &cli.out {
            write(path, &report.json()?)?;
        }
        if let Some(path) = &cli.picture {
            draw(path, &report, cli.peaks.as_deref())?;
        }
        return Ok(());
    }
    let sanitizers = cli.sanitize.unwrap_or_default();
    let on_host =
        Settings { compiler: cli.cxx, sanitizers, tensor_cores: cli.tensor_cores, given, cache: cli.cache };
    let device: Box<dyn Device> = match cli.device {
        DeviceName::Cuda if sanitizers != Sanitizers::None => {
            return Err(
                "--sanitize checks kernels on the CPU: on a GPU, run this program under compute-sanitizer"
                    .to_owned(),
            );
        }
        DeviceName::Host if cli.prepare => return host::build(&on_host).map(|_| ()),
        DeviceName::Cuda => {
            let threads = Threads::new(cli.threads, cuda::THREADS)?;
            let cuda = Cuda::new(&on_gpu, cuda::Launching { threads, limit, placement: cli.placement })?;
            if cli.prepare {
                return Ok(());
            }
            Box::new(cuda)
        }
        DeviceName::Host => {
            // Two warps, so that what is missing between warps shows.
            let threads = Threads::new(cli.threads, 64)?;
            Box::new(Host::new(&on_host, Launching { threads, limit })?)
        }
    };
    let Cli { opcode_only, zeros, seed, repeat, perturb, .. } = cli;
    let options = Options { opcode_only, poison: !zeros, seed, repeat, perturb };
    let mut worker = Harness { device, options, trace: cli.trace, accumulator };
    terminal::work(&mut worker)
}
