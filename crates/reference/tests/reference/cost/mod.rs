//! What work costs.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Elapsed time and processor time.
#[derive(Clone, Copy)]
pub struct Cost {
    pub wall: Duration,
    pub cpu: Duration,
}

impl Cost {
    pub const NONE: Cost = Cost { wall: Duration::MAX, cpu: Duration::MAX };

    pub fn least(self, other: Cost) -> Cost {
        Cost { wall: self.wall.min(other.wall), cpu: self.cpu.min(other.cpu) }
    }
}

fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// What some work costs.
pub fn cost<T>(work: impl FnOnce() -> T) -> Cost {
    let (wall, before) = (Instant::now(), cpu());
    black_box(work());
    Cost { wall: wall.elapsed(), cpu: cpu() - before }
}
