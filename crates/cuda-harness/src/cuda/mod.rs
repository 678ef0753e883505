//! The kernels on a GPU: compiled by NVRTC for its architecture, or brought along as CUBINs, and run by a process that a
//! hang, a crash or a context that is lost costs.

mod bandwidth;
pub mod binary;
mod cubins;
mod decode;
mod figures;
mod gpu;
mod launches;
mod maker;
mod nvrtc;
mod picture;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use megakernel_ir::protocol::Facts;

use crate::device::{Device, End, Ended, Job, Room, Threads};
use crate::image;
use crate::runner::Runner;
use crate::sources::of_file;

pub use cubins::{Cubin, OPTIONS, Settings, compile};
pub use figures::{Peaks, Report};
pub use launches::serve;
pub use picture::svg;

/// Threads of a block, unless others are asked for.
pub const THREADS: u32 = 256;

/// The option that makes this program a runner; its values are the CUBIN, how its kernel is launched and the number of the GPU.
pub const RUNNER: &str = "--cuda-runner";

/// For a driver that does not even come back from a launch that it was told to stop: the start of its process, and more.
const PATIENCE: Duration = Duration::from_secs(60);

/// What can be checked where there is no GPU.
const WITHOUT: &str = "--device host runs the same kernels on the CPU, and checks what they compute, where they write, and signal and wait";

/// How launches are run.
#[derive(Clone, Debug)]
pub struct Launching {
    /// Threads of a block.
    pub threads: Threads,
    /// How long a launch may take.
    pub limit: Duration,
    /// A file that gets a line for each launch: the SMs of its blocks.
    pub placement: Option<PathBuf>,
}

/// A GPU with the kernels for it.
#[derive(Debug)]
pub struct Cuda {
    runner: Runner,
    launching: Launching,
    tensor_cores: bool,
    given_shared: u64,
    cubin: Cubin,
    /// With where the blocks of a launch without tasks ran, which was as large as can be.
    facts: Facts,
    placements: Option<File>,
}

/// The kernels for the GPU of this machine, best first, which are compiled if that has not been done yet.
fn prepare(gpu: gpu::Gpu, settings: &Settings) -> Result<Vec<Cubin>, String> {
    cubins::find(settings, gpu.capability()?).map_err(|missing| format!("{missing}; {WITHOUT}"))
}

/// How fast opcodes run that read so many MiB, and steps of decoders, beside a plain copy.
///
/// # Errors
/// There is no driver, no GPU, nothing to compile with, or too little memory; the sentence says which.
pub fn measure(settings: &Settings, mebibytes: usize) -> Result<Report, String> {
    let mut refused = Vec::new();
    let gpu = gpu(settings)?;
    for cubin in prepare(gpu, settings)? {
        match bandwidth::measure(gpu, &cubin, settings.tensor_cores, mebibytes) {
            Ok(report) => return Ok(report),
            Err(cause) => refused.push(format!("{}: {cause}", cubin.describe())),
        }
    }
    Err(refused.join("; "))
}

fn gpu(settings: &Settings) -> Result<gpu::Gpu, String> {
    if !gpu::present() {
        return Err(format!("no NVIDIA driver is installed here (libcuda.so cannot be loaded); {WITHOUT}"));
    }
    gpu::Gpu::named(settings.gpu.as_deref()).map_err(|cause| format!("{cause}; {WITHOUT}"))
}

impl Cuda {
    /// Finds the GPU and the kernels for it, and starts the process that runs them.
    ///
    /// # Errors
    /// There is no driver, no GPU, no kernels for it, or a number of threads that no block has; or the process cannot be started.
    pub fn new(settings: &Settings, launching: Launching) -> Result<Cuda, String> {
        let gpu = gpu(settings)?;
        let found = prepare(gpu, settings)?;
        let own = std::env::current_exe()
            .map_err(|cause| format!("the path of this program is unknown: {cause}"))?;
        let placements = match &launching.placement {
            None => None,
            Some(path) => {
                let file = OpenOptions::new().append(true).create(true).open(path);
                Some(file.map_err(|cause| format!("{}: {cause}", path.display()))?)
            }
        };
        let mut refused = Vec::new();
        for cubin in found {
            let entry = serde_json::to_string(&cubin.entry).map_err(|cause| cause.to_string())?;
            let arguments = [RUNNER.to_owned(), path(&cubin.path)?, entry, gpu.number().to_string()];
            let runner = Runner::new(own.clone(), arguments.to_vec(), Vec::new())?;
            let threads = launching.threads;
            let fixed_threads = Some(threads.fixed());
            let facts = Facts { fixed_threads, ..facts(gpu, &cubin, threads.usual()) };
            let mut cuda = Cuda {
                runner,
                launching: launching.clone(),
                tensor_cores: settings.tensor_cores,
                given_shared: settings.given.shared_bytes(),
                cubin,
                facts,
                placements: None,
            };
            match cuda.try_out() {
                Ok(()) => return Ok(Cuda { placements, ..cuda }),
                Err(cause) => refused.push(format!("{}: {cause}", cuda.cubin.describe())),
            }
        }
        let driver = driver();
        Err(format!("the driver ({driver}) runs none of the kernels: {}; {WITHOUT}", refused.join("; ")))
    }

    /// What a block of a launch needs of shared memory.
    fn shared_bytes(&self, job: &Job, threads: u32) -> u64 {
        let own = shared_bytes(threads, self.tensor_cores);
        job.shared_bytes.max(own).max(self.given_shared).max(self.cubin.entry.shared_bytes)
    }

    /// Has the driver take the kernels, and runs a launch without tasks on all of the GPU: what the machine cannot do is then
    /// said once, and no case fails by it.
    fn try_out(&mut self) -> Result<(), String> {
        let Room { sms, blocks_per_sm } = self.room(&Job::default())?;
        let job = Job { num_sms: sms * blocks_per_sm, ..Job::default() };
        let ended = self.launch(&job, &mut [])?;
        self.facts.placement = placement(&ended.places);
        match ended.end {
            // Where not one block has room nothing ran; of each launch it is said why.
            End::Done | End::Refused(_) => Ok(()),
            End::Crashed(said) => Err(format!("a launch without tasks crashed: {said}")),
            other => Err(format!("a launch without tasks did not end as it should: {other:?}")),
        }
    }
}

/// How blocks lie on SMs, in words.
fn placement(places: &[u32]) -> Option<String> {
    let mut blocks: BTreeMap<u32, usize> = BTreeMap::new();
    places.iter().for_each(|sm| *blocks.entry(*sm).or_default() += 1);
    let (least, most) = (blocks.values().min()?, blocks.values().max()?);
    let each = if least == most { most.to_string() } else { format!("{least} to {most}") };
    Some(format!("{} blocks on {} SMs, {each} on each", places.len(), blocks.len()))
}

/// What is known of a GPU and of the kernels for it before they have run.
fn facts(gpu: gpu::Gpu, cubin: &Cubin, threads: u32) -> Facts {
    Facts {
        name: gpu.name(),
        target: cubin.target.clone(),
        driver: Some(driver()),
        toolkit: cubin.toolkit.clone(),
        kernels: cubin.kernels.clone(),
        binary: of_file(&cubin.path),
        options: cubin.options.clone(),
        uuid: gpu.uuid(),
        threads_per_block: Some(threads),
        clocks: gpu.clocks(),
        sharing: gpu.sharing(),
        sources: cubin.sources.clone(),
        ..Facts::default()
    }
}

/// The CUDA of the driver and, where the system shows it, its own version.
fn driver() -> String {
    let version = gpu::Gpu::driver_version();
    let cuda = format!("CUDA {}.{}", version / 1000, version % 1000 / 10);
    driver_build().map_or(cuda.clone(), |build| format!("{cuda}, driver {build}"))
}

/// The version of the driver itself, where the system shows it.
fn driver_build() -> Option<String> {
    let said = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    version_in(&said)
}

/// The first word that is numbers with points between them.
fn version_in(said: &str) -> Option<String> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_version = |word: &&str| word.contains('.') && word.split('.').all(is_number);
    said.lines().next()?.split_whitespace().find(is_version).map(str::to_owned)
}

fn path(path: &Path) -> Result<String, String> {
    path.to_str().map(str::to_owned).ok_or_else(|| format!("the path {} is not UTF-8", path.display()))
}

/// Shared memory that our kernels need; `AMK_SHARED_BYTES` of cuda/task.cuh.
pub(crate) fn shared_bytes(threads: u32, tensor_cores: bool) -> u64 {
    let scratch = 4 * (u64::from(threads) / 32 * 4 + u64::from(threads) * 8 + 512);
    1392 + if tensor_cores { 98_560 } else { scratch }
}

impl Device for Cuda {
    fn name(&self) -> String {
        self.cubin.target.clone()
    }

    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn room(&mut self, job: &Job) -> Result<Room, String> {
        let threads = self.launching.threads.of(job).unwrap_or_else(|_| self.launching.threads.usual());
        let shared = self.shared_bytes(job, threads);
        let said = self.runner.answer(&format!("room {threads} {shared}"), PATIENCE)?;
        let numbers =
            said.split_once(' ').and_then(|(sms, blocks)| Some((sms.parse().ok()?, blocks.parse().ok()?)));
        let (sms, blocks_per_sm) = numbers.ok_or_else(|| format!("the runner's room is `{said}`"))?;
        Ok(Room { sms, blocks_per_sm })
    }

    fn launch(&mut self, job: &Job, allocations: &mut [Vec<u8>]) -> Result<Ended, String> {
        let limit = self.launching.limit;
        let threads = match self.launching.threads.of(job) {
            Ok(threads) => threads,
            Err(reason) => return Ok(Ended { end: End::Refused(reason), ..Ended::default() }),
        };
        let job = Job { shared_bytes: self.shared_bytes(job, threads), ..job.clone() };
        let settings = image::Settings { threads, limit: limit.as_millis() as u64 };
        let ended = self.runner.launch(&job, settings, limit + PATIENCE, allocations)?;
        if let (Some(file), false) = (&mut self.placements, ended.places.is_empty()) {
            let line = format!("{:?}\n", ended.places);
            file.write_all(line.as_bytes()).map_err(|cause| format!("the file of placements: {cause}"))?;
        }
        Ok(ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placement_is_said_in_blocks_and_sms() {
        assert_eq!(placement(&[3, 1, 3, 1]).as_deref(), Some("4 blocks on 2 SMs, 2 on each"));
        assert_eq!(placement(&[3, 1, 3]).as_deref(), Some("3 blocks on 2 SMs, 1 to 2 on each"));
        assert_eq!(placement(&[]), None);
    }

    #[test]
    fn the_version_of_the_driver_is_that_of_its_module() {
        let said = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\nGCC version: gcc 12.3.0\n";
        assert_eq!(version_in(said).as_deref(), Some("580.159.04"));
        assert_eq!(version_in("NVRM version\nGCC version: 12.3.0\n"), None);
    }
}
