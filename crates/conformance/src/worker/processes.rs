//! Every process that a worker started, wherever it went (clause CON-04).
//!
//! A process group ends with its worker, but a process can leave it: by a session of its own, or by forking twice, so that
//! nobody knows any more whose it was. Each worker therefore has a mark in its environment, which its processes inherit and
//! by which they are found. A process that clears its environment loses the mark; where the runner has
//! [adopted](adopt) what its workers leave behind, it is the runner's own child then, and is ended with the run.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use crate::text::secret;

/// The name of the mark in the environment.
pub const MARK: &str = "MEGAKERNEL_CONFORM_WORKER";

/// How long processes may go on starting others before the runner stops to chase them.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the processes of one worker have in common.
pub struct Mark(String);

impl Mark {
    /// A mark that no other process has.
    pub fn random() -> Mark {
        Mark(secret())
    }

    /// Its value in the environment.
    pub fn value(&self) -> &str {
        &self.0
    }

    /// Ends all processes that have the mark.
    pub fn end(&self) {
        let mark = format!("{MARK}={}", self.0);
        let marked = |pid: i32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes())
        };
        end(&marked);
    }
}

/// Whether this process takes in what its workers leave behind.
static ADOPTING: AtomicBool = AtomicBool::new(false);

/// The children of this process that nobody left behind. It is held while one is started.
static OWN: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn own() -> MutexGuard<'static, BTreeSet<i32>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes this process the parent of all that its workers leave behind, so that [`end_orphans`] can end it. The children that it
/// has already are its own. Only for a process that starts no others, except by [`started`]: a command, not a library.
///
/// Where the system has no such thing, nothing happens.
pub fn adopt() {
    #[cfg(target_os = "linux")]
    if nix::sys::prctl::set_child_subreaper(true).is_ok() {
        own().extend(children());
        ADOPTING.store(true, Ordering::Relaxed);
    }
}

/// Starts a child that is not to be taken for one that was left behind.
///
/// # Errors
/// Those of `start`.
pub fn started<T, E>(start: impl FnOnce() -> Result<T, E>, id: impl FnOnce(&T) -> u32) -> Result<T, E> {
    let mut own = own();
    let child = start()?;
    own.extend(i32::try_from(id(&child)));
    Ok(child)
}

/// Ends the process group that a child of this process leads.
pub fn end_group(leader: u32) {
    if let Ok(group) = i32::try_from(leader) {
        // It may have gone by itself, which is as good.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
}

/// A child that [`started`] is over, so that its number may be another's from now on.
pub fn ended(id: u32) {
    if let Ok(id) = i32::try_from(id) {
        own().remove(&id);
    }
}

/// Ends the processes that workers left behind and that lost their mark, once there is no worker any more.
pub fn end_orphans() {
    if ADOPTING.load(Ordering::Relaxed) {
        end(&is_orphan);
    }
}

/// Ends all processes of which `ours` is true. Those that they start meanwhile come next.
fn end(ours: &dyn Fn(i32) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut living = false;
        for pid in running().into_iter().filter(|&pid| pid != this()) {
            let Some((state, _)) = stat(pid) else { continue };
            if matches!(state, 'Z' | 'X') {
                // Nobody else asks how it ended.
                if ADOPTING.load(Ordering::Relaxed) && is_orphan(pid) {
                    let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
                }
            } else if ours(pid) {
                living = true;
                // It may have gone by itself, which is as good.
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
        if !living || Instant::now() > deadline {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a process is a child of this one that it did not start.
fn is_orphan(pid: i32) -> bool {
    // In this order: while a child is being started, nobody can tell.
    let own = own();
    !own.contains(&pid) && stat(pid).is_some_and(|(_, parent)| parent == this())
}

fn this() -> i32 {
    std::process::id().cast_signed()
}

/// All processes that this one can see.
fn running() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(target_os = "linux")]
fn children() -> Vec<i32> {
    running().into_iter().filter(|&pid| stat(pid).is_some_and(|(_, parent)| parent == this())).collect()
}

/// State and parent of a process.
fn stat(pid: i32) -> Option<(char, i32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may hold anything.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
