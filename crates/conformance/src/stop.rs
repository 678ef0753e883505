//! Being asked to stop: by SIGINT, SIGTERM or SIGHUP (clause CON-08).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use nix::sys::signal::{SigSet, Signal};

/// A signal that asks a run to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked(Signal);

impl Asked {
    /// The exit code of a process that ended because of it, as shells have it.
    pub fn exit_code(self) -> u8 {
        128u8.saturating_add(self.0 as u8)
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

/// Tells a run whether it has to stop. By default nothing ever asks.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicI32>);

impl Stop {
    /// Listens to the signals that ask a process to end, instead of ending. To be called once, before other threads are
    /// started, since a signal goes to any thread that has not been told to leave it alone.
    ///
    /// # Errors
    /// The system refuses.
    pub fn on_signals() -> std::io::Result<Stop> {
        let stop = Stop::default();
        let mut signals = SigSet::empty();
        [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().for_each(|signal| signals.add(signal));
        signals.thread_block()?;
        let told = stop.clone();
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            // The first one counts.
            if let Ok(signal) = signals.wait() {
                told.ask(signal);
            }
        })?;
        Ok(stop)
    }

    /// Asks the run to stop.
    pub fn ask(&self, signal: Signal) {
        self.0.store(signal as i32, Ordering::Relaxed);
    }

    /// What has asked the run to stop.
    pub fn asked(&self) -> Option<Asked> {
        Signal::try_from(self.0.load(Ordering::Relaxed)).ok().map(Asked)
    }
}
