//! The kernels on a GPU: compiled by NVRTC for its architecture, or brought along as CUBINs, and run by a process that a
//! hang, a crash or a context that is lost costs.

mod bandwidth;
mod cubins;
mod gpu;
mod launches;
mod nvrtc;

use std::path::Path;
use std::time::Duration;

use megakernel_ir::protocol::Facts;

use crate::device::{Device, Ended, Job, Room};
use crate::image;
use crate::runner::Runner;

pub use bandwidth::measure;
pub use cubins::{Cubin, OPTIONS, Settings, compile};
pub use launches::serve;

/// Threads of a block, unless others are asked for.
pub const THREADS: u32 = 256;

/// The option that makes this program a runner; its values are the CUBIN and the kernel.
pub const RUNNER: &str = "--cuda-runner";

/// For a driver that does not even come back from a launch that it was told to stop: the start of its process, and more.
const PATIENCE: Duration = Duration::from_secs(60);

/// What can be checked where there is no GPU.
const WITHOUT: &str = "--device host runs the same kernels on the CPU, and checks what they compute, where they write, and signal and wait";

/// How launches are run.
#[derive(Clone, Copy, Debug)]
pub struct Launching {
    /// Threads of a block; a multiple of 32.
    pub threads: u32,
    /// How long a launch may take.
    pub limit: Duration,
}

/// A GPU with the kernels for it.
#[derive(Debug)]
pub struct Cuda {
    runner: Runner,
    launching: Launching,
    cubin: Cubin,
    name: String,
    driver: String,
}

/// The kernels for the GPU of this machine, which are compiled if that has not been done yet.
///
/// # Errors
/// There is no driver, no GPU, or nothing to compile with; the sentence says what there is without.
pub fn prepare(settings: &Settings) -> Result<Cubin, String> {
    let gpu = gpu()?;
    cubins::find(settings, gpu.capability()?).map_err(|missing| format!("{missing}; {WITHOUT}"))
}

fn gpu() -> Result<gpu::Gpu, String> {
    if !gpu::present() {
        return Err(format!("no NVIDIA driver is installed here (libcuda.so cannot be loaded); {WITHOUT}"));
    }
    gpu::Gpu::first().map_err(|cause| format!("{cause}; {WITHOUT}"))
}

impl Cuda {
    /// Finds the GPU and the kernels for it, and starts the process that runs them.
    ///
    /// # Errors
    /// As [`prepare`] does; or the process cannot be started.
    pub fn new(settings: &Settings, launching: Launching) -> Result<Cuda, String> {
        if launching.threads == 0 || launching.threads > 1024 || !launching.threads.is_multiple_of(32) {
            return Err(format!(
                "a block has 32 to 1024 threads, a multiple of 32; found {}",
                launching.threads
            ));
        }
        let cubin = prepare(settings)?;
        let own = std::env::current_exe()
            .map_err(|cause| format!("the path of this program is unknown: {cause}"))?;
        let arguments = [RUNNER.to_owned(), path(&cubin.path)?, cubin.entry.to_owned()];
        let mut runner = Runner::new(own, arguments.to_vec(), Vec::new())?;
        runner.prepare()?;
        let version = gpu::Gpu::driver_version();
        let driver = format!("CUDA {}.{}", version / 1000, version % 1000 / 10);
        Ok(Cuda { runner, launching, cubin, name: gpu()?.name(), driver })
    }
}

fn path(path: &Path) -> Result<String, String> {
    path.to_str().map(str::to_owned).ok_or_else(|| format!("the path {} is not UTF-8", path.display()))
}

/// Shared memory that our kernels need; `AMK_SHARED_BYTES` of cuda/task.cuh.
fn shared_bytes(threads: u32) -> u64 {
    4 * (u64::from(threads) / 32 + u64::from(threads) + 512) + 16
}

impl Device for Cuda {
    fn name(&self) -> String {
        self.cubin.target.clone()
    }

    fn facts(&self) -> Facts {
        Facts {
            name: self.name.clone(),
            target: self.cubin.target.clone(),
            driver: Some(self.driver.clone()),
            toolkit: self.cubin.toolkit.clone(),
            kernels: self.cubin.kernels.clone(),
        }
    }

    fn room(&mut self, job: &Job) -> Result<Room, String> {
        let threads = self.launching.threads;
        let shared = job.shared_bytes.max(shared_bytes(threads));
        let said = self.runner.answer(&format!("room {threads} {shared}"), PATIENCE)?;
        let numbers =
            said.split_once(' ').and_then(|(sms, blocks)| Some((sms.parse().ok()?, blocks.parse().ok()?)));
        let (sms, blocks_per_sm) = numbers.ok_or_else(|| format!("the runner's room is `{said}`"))?;
        Ok(Room { sms, blocks_per_sm })
    }

    fn launch(&mut self, job: &Job, allocations: &mut [Vec<u8>]) -> Result<Ended, String> {
        let Launching { threads, limit } = self.launching;
        let job = Job { shared_bytes: job.shared_bytes.max(shared_bytes(threads)), ..job.clone() };
        let settings = image::Settings { threads, limit: limit.as_millis() as u64 };
        self.runner.launch(&job, settings, limit + PATIENCE, allocations)
    }
}
