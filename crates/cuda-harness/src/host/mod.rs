//! The kernels on the CPU: compiled once by a C++ compiler, kept by the hash of all that goes in, and run in a process that
//! a hang or a crash costs.

mod build;
mod ptx;
mod shared;
mod tokens;

use std::time::Duration;

use megakernel_ir::protocol::{Facts, SourceFile};

use crate::cuda::shared_bytes;
use crate::device::{Device, End, Ended, Job, Room, Threads};
use crate::image;
use crate::runner::Runner;
use crate::sources::{of_file, options};

pub use build::{Built, OPTIONS, Sanitizers, Settings, build};
pub(crate) use build::{default_cache, unpack};

/// CUDA threads that a launch may have: fibers, or threads of the CPU.
const MOST_FIBERS: usize = 1 << 16;
const MOST_THREADS: usize = 1 << 11;

/// How launches are run.
#[derive(Clone, Debug)]
pub struct Launching {
    /// Threads of a block.
    pub threads: Threads,
    /// How long a launch may take.
    pub limit: Duration,
}

/// The kernels as a program for the CPU.
#[derive(Debug)]
pub struct Host {
    runner: Runner,
    /// Of the kernels, for [`Device::facts`].
    toolkit: String,
    kernels: String,
    sources: Vec<SourceFile>,
    binary: Option<String>,
    launching: Launching,
    sanitizers: Sanitizers,
    tensor_cores: bool,
    given_shared: u64,
}

impl Host {
    /// Compiles the kernels, unless that has been done before.
    ///
    /// # Errors
    /// There is no compiler, it does not take the sources, or a folder cannot be written.
    pub fn new(settings: &Settings, launching: Launching) -> Result<Host, String> {
        let Built { program, toolkit, kernels, sources } = build(settings)?;
        // Fibers leave nothing for the search of leaks to find; every finding ends the process.
        let environment = vec![
            ("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=0"),
            ("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1"),
            ("TSAN_OPTIONS", "halt_on_error=1:exitcode=66"),
        ];
        let binary = of_file(&program);
        let runner = Runner::new(program, Vec::new(), environment)?;
        let Settings { sanitizers, tensor_cores, .. } = *settings;
        let given_shared = settings.given.shared_bytes();
        Ok(Host {
            runner,
            toolkit,
            kernels,
            sources,
            binary,
            launching,
            sanitizers,
            tensor_cores,
            given_shared,
        })
    }
}

impl Host {
    /// CUDA threads of a launch at most.
    fn most(&self) -> usize {
        if self.sanitizers == Sanitizers::Thread { MOST_THREADS } else { MOST_FIBERS }
    }
}

impl Device for Host {
    fn name(&self) -> String {
        match self.sanitizers.list() {
            "" => "host".to_owned(),
            list => format!("host with {list} sanitizers"),
        }
    }

    fn facts(&self) -> Facts {
        let described = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Facts {
            name: processor(&described).unwrap_or_else(|| format!("{} CPU", std::env::consts::ARCH)),
            target: "host".to_owned(),
            toolkit: Some(self.toolkit.clone()),
            kernels: self.kernels.clone(),
            binary: self.binary.clone(),
            options: options(&OPTIONS, self.tensor_cores).into_iter().map(str::to_owned).collect(),
            threads_per_block: Some(self.launching.threads.usual()),
            fixed_threads: Some(self.launching.threads.fixed()),
            sources: self.sources.clone(),
            ..Facts::default()
        }
    }

    /// SMs do not differ here, but a few blocks without a queue do stand between the others.
    fn room(&mut self, job: &Job) -> Result<Room, String> {
        let threads = self.launching.threads.of(job).unwrap_or_else(|_| self.launching.threads.usual());
        let most = self.most() / threads as usize;
        Ok(Room { sms: (job.num_sms + 2).min(most), blocks_per_sm: 1 })
    }

    fn launch(&mut self, job: &Job, allocations: &mut [Vec<u8>]) -> Result<Ended, String> {
        let refused = |reason| Ok(Ended { end: End::Refused(reason), ..Ended::default() });
        let threads = match self.launching.threads.of(job) {
            Ok(threads) => threads,
            Err(reason) => return refused(reason),
        };
        let most = self.most();
        if job.num_sms.saturating_mul(threads as usize) > most {
            return refused(format!("the CPU runs at most {most} CUDA threads at once"));
        }
        let limit = self.launching.limit;
        // Not a byte more than on a GPU, so that an access behind the end is seen.
        let least = shared_bytes(threads, self.tensor_cores).max(self.given_shared);
        let job = Job { shared_bytes: job.shared_bytes.max(least), ..job.clone() };
        let settings = image::Settings { threads, limit: limit.as_millis() as u64 };
        self.runner.launch(&job, settings, limit, allocations)
    }
}

/// The processor's name, from what Linux says of it.
fn processor(described: &str) -> Option<String> {
    let line = described.lines().find_map(|line| line.strip_prefix("model name"))?;
    let name = line.trim_start_matches([' ', '\t', ':']).trim();
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_called_what_the_system_calls_it() {
        let described = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nmodel name\t: another\n";
        assert_eq!(processor(described).as_deref(), Some("Some CPU @ 2.0GHz"));
        assert_eq!((processor("model name\t:\n"), processor("")), (None, None));
    }
}
