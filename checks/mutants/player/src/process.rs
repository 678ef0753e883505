//! A process for each mutant: whatever one does, it ends alone.

use std::io::Error;
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

use nix::libc;

/// The states that a process leaves behind. Where it leaves none, it crashed or took too long.
pub const SURVIVED: u32 = 1;
pub const PART: u32 = 2;
pub const REJECTED: u32 = 3;

const LENGTH: usize = 400;
/// No mutant may take more memory, in bytes.
const MEMORY: u64 = 12 << 30;

/// What a process says, in memory that it shares.
#[repr(C)]
pub struct Report {
    played: AtomicU32,
    state: AtomicU32,
    other: AtomicU32,
    how: [AtomicU8; LENGTH],
}

impl Report {
    /// Begins with a case.
    pub fn plays(&self, number: u32) {
        self.played.store(number, Relaxed);
    }

    /// How far answers differ that pass.
    pub fn differs(&self, other: u32) {
        self.other.fetch_max(other, Relaxed);
    }

    /// Ends.
    pub fn end(&self, state: u32) {
        self.state.store(state, Relaxed);
    }

    /// Why.
    pub fn say(&self, text: &str) {
        for (to, byte) in self.how.iter().zip(text.bytes().chain([0])) {
            to.store(byte, Relaxed);
        }
    }
}

/// How a process ended.
pub struct End {
    pub state: u32,
    /// The number of cases that it passed; the next one rejects it.
    pub played: u32,
    /// How far answers differed that passed.
    pub other: u32,
    pub how: String,
}

impl End {
    pub fn survived(&self) -> bool {
        matches!(self.state, SURVIVED | PART)
    }
}

/// The processes under way.
pub struct Processes {
    free: Vec<&'static Report>,
    running: Vec<(libc::pid_t, u32, &'static Report)>,
}

impl Processes {
    pub fn new(jobs: usize) -> Processes {
        Processes { free: (0..jobs.max(1)).map(|_| shared()).collect(), running: Vec::new() }
    }

    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Does something in a process of its own. There has to be room.
    pub fn start(&mut self, id: u32, work: impl FnOnce(&Report)) {
        let Some(report) = self.free.pop() else { return };
        report.plays(0);
        report.end(0);
        report.other.store(0, Relaxed);
        report.say("");
        // SAFETY: this process has one thread.
        match unsafe { libc::fork() } {
            0 => {
                let limit = libc::rlimit { rlim_cur: MEMORY, rlim_max: MEMORY };
                // SAFETY: the limit is a valid one; `_exit` ends the process.
                unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
                let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
                unsafe { libc::close(2) };
                work(report);
                unsafe { libc::_exit(0) }
            }
            -1 => panic!("fork: {}", Error::last_os_error()),
            pid => self.running.push((pid, id, report)),
        }
    }

    /// Waits for one of them.
    pub fn wait(&mut self) -> Option<(u32, End)> {
        if self.running.is_empty() {
            return None;
        }
        let mut status = 0;
        // SAFETY: the status is a valid place.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        let place = self.running.iter().position(|(running, _, _)| *running == pid)?;
        let (_, id, report) = self.running.swap_remove(place);
        self.free.push(report);
        let state = report.state.load(Relaxed);
        let how = if state != 0 {
            let bytes: Vec<u8> =
                report.how.iter().map(|byte| byte.load(Relaxed)).take_while(|&b| b != 0).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        } else if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGPROF {
            "takes too long".to_owned()
        } else {
            "crashes".to_owned()
        };
        Some((id, End { state, played: report.played.load(Relaxed), other: report.other.load(Relaxed), how }))
    }
}

fn shared() -> &'static Report {
    let (length, access) = (size_of::<Report>(), libc::PROT_READ | libc::PROT_WRITE);
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping of zeros, which a report of atomics may be, and which is never unmapped.
    unsafe {
        let place = libc::mmap(ptr::null_mut(), length, access, flags, -1, 0);
        assert!(place != libc::MAP_FAILED, "mmap: {}", Error::last_os_error());
        &*place.cast::<Report>()
    }
}

/// Ends this process after so much more time of the processor.
pub fn alarm(micros: u64) {
    let zero = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let value = libc::timeval { tv_sec: (micros / 1_000_000) as _, tv_usec: (micros % 1_000_000) as _ };
    let timer = libc::itimerval { it_interval: zero, it_value: value };
    // SAFETY: the timer is valid.
    unsafe { libc::setitimer(libc::ITIMER_PROF, &raw const timer, ptr::null_mut()) };
}

/// The time that this process has taken.
pub fn processor_micros() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is a valid place.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1_000
}
