//! The kernels on the CPU: compiled once by a C++ compiler, kept by the hash of all that goes in, and run in a process of
//! its own for each launch, so that what hangs or crashes there costs nothing here.

mod build;

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::device::{Device, End, Ended, Job};
use crate::image;

pub use build::{Sanitizers, Settings, build};

/// CUDA threads that a launch may have: fibers, or threads of the CPU.
const MOST_FIBERS: usize = 1 << 16;
const MOST_THREADS: usize = 1 << 10;

/// Shared memory that a block has in any case, as on every GPU.
const SHARED_BYTES: u64 = 48 << 10;

/// How launches are run.
#[derive(Clone, Debug)]
pub struct Launching {
    /// Threads of a block; a multiple of 32.
    pub threads: u32,
    /// How long a launch may take.
    pub limit: Duration,
    /// Other than 0: the order in which blocks and threads take turns.
    pub seed: u64,
}

/// The kernels as a program for the CPU.
#[derive(Debug)]
pub struct Host {
    program: PathBuf,
    launching: Launching,
    sanitizers: Sanitizers,
    folder: tempfile::TempDir,
}

impl Host {
    /// Compiles the kernels, unless that has been done before.
    ///
    /// # Errors
    /// There is no compiler, it does not take the sources, or a folder cannot be written.
    pub fn new(settings: &Settings, launching: Launching) -> Result<Host, String> {
        if launching.threads == 0 || launching.threads > 1024 || !launching.threads.is_multiple_of(32) {
            return Err(format!(
                "a block has 32 to 1024 threads, a multiple of 32; found {}",
                launching.threads
            ));
        }
        let program = build(settings)?;
        let folder = tempfile::tempdir().map_err(|cause| format!("no folder for launches: {cause}"))?;
        Ok(Host { program, launching, sanitizers: settings.sanitizers, folder })
    }
}

impl Device for Host {
    fn name(&self) -> String {
        match self.sanitizers.list() {
            "" => "host".to_owned(),
            list => format!("host with {list} sanitizers"),
        }
    }

    fn launch(&mut self, job: &Job, allocations: &mut [Vec<u8>]) -> Result<Ended, String> {
        let threads = job.num_sms.saturating_mul(self.launching.threads as usize);
        let most = if self.sanitizers == Sanitizers::Thread { MOST_THREADS } else { MOST_FIBERS };
        if threads > most {
            return Ok(Ended { end: End::Refused, tasks: Vec::new() });
        }
        let job = Job { shared_bytes: job.shared_bytes.max(SHARED_BYTES), ..job.clone() };
        let (bytes, places) =
            image::write(&job, u64::from(self.launching.threads), self.launching.seed, allocations);
        let path = self.folder.path().join("image");
        let errors = self.folder.path().join("errors");
        fs::write(&path, bytes).map_err(|cause| format!("the image cannot be written: {cause}"))?;
        let stderr = File::create(&errors).map_err(|cause| format!("{}: {cause}", errors.display()))?;
        let child = Command::new(&self.program)
            .arg(&path)
            // Fibers leave nothing for the search of leaks to find; the other two make every finding end the process.
            .env("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=0")
            .env("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1")
            .env("TSAN_OPTIONS", "exitcode=66")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn();
        let mut child =
            child.map_err(|cause| format!("{} cannot be started: {cause}", self.program.display()))?;
        let status = wait(&mut child, self.launching.limit)
            .map_err(|cause| format!("a launch cannot be waited for: {cause}"))?;
        let image = fs::read(&path).map_err(|cause| format!("the image cannot be read: {cause}"))?;
        let (state, tasks) = image::read_status(&image, &places);
        let end = match (status, state) {
            (None, _) => End::TimedOut,
            (Some(status), state) if status.success() && state != 0 => match state {
                image::DONE => End::Done,
                image::ABORTED => End::Stuck,
                image::NO_OPCODE => End::NoOpcode,
                image::REFUSED => End::Refused,
                image::DIVERGENT => End::Divergent,
                other => return Err(format!("the host runner ended in state {other}, which is none")),
            },
            (Some(status), _) => {
                let said = fs::read(&errors).unwrap_or_default();
                End::Crashed(format!("{status}: {}", summary(&String::from_utf8_lossy(&said))))
            }
        };
        image::read_memory(&image, &places, allocations);
        Ok(Ended { end, tasks })
    }
}

/// Waits for the process; after the limit it is ended, and there is no status.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(100);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > limit {
            // It may have ended just now, which is as good.
            let _ = child.kill();
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// What a sanitizer found and where, or the last line.
fn summary(text: &str) -> String {
    let marks = ["ERROR: AddressSanitizer", "WARNING: ThreadSanitizer", "runtime error:"];
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let Some(first) = lines().position(|line| marks.iter().any(|mark| line.contains(mark))) else {
        return lines().next_back().unwrap_or("it said nothing").to_owned();
    };
    let found = lines().nth(first).unwrap_or_default();
    let frames = lines().skip(first).filter(|line| line.starts_with('#')).take(2);
    std::iter::once(found).chain(frames).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_report_the_finding_and_its_place_are_shown() {
        let text = "noise\n==7==ERROR: AddressSanitizer: heap-buffer-overflow\nWRITE of size 4\n    #0 0x1 in f a.cu:3\n #1 0x2 in g\n #2 0x3 in h\n";
        let found = summary(text);
        assert_eq!(
            found,
            "==7==ERROR: AddressSanitizer: heap-buffer-overflow; #0 0x1 in f a.cu:3; #1 0x2 in g"
        );
        assert_eq!((summary("a\nb\n"), summary("")), ("b".to_owned(), "it said nothing".to_owned()));
    }

    #[test]
    fn a_process_that_does_not_end_is_ended() {
        let Ok(mut child) = Command::new("sleep").arg("60").spawn() else { return };
        assert!(wait(&mut child, Duration::from_millis(20)).is_ok_and(|status| status.is_none()));
    }
}
