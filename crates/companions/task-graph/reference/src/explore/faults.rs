//! What the explorer finds.

use super::compact::{Instances, MAX_INSTANCES};

/// The faults of a system. Sets of instances are bit sets: bit `k * tasks + t` is task `t` in iteration `k`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Tasks that never start, however many workers there are.
    pub stuck: Instances,
    /// Whether an iteration of some rank never ends, however many workers there are.
    pub endless: bool,
    /// Whether one worker a rank gets stuck, or its iterations do not end.
    pub queues: bool,
    /// Tasks that may be unfinished when all ranks have ended their iteration.
    pub lost: Instances,
    /// For each task, those that may run beside it and write what it reads.
    pub read_write: [Instances; MAX_INSTANCES],
    /// For each task, those that may run beside it and write what it writes.
    pub write_write: [Instances; MAX_INSTANCES],
    /// For each collective, those of its team that may have started on its rank when it starts.
    pub at_once: [Instances; MAX_INSTANCES],
    /// For each task, those of the first iteration that overwrite what it wrote, unread.
    pub dead: [Instances; MAX_INSTANCES],
    /// For each task, those that can start before it has finished.
    pub without: [Instances; MAX_INSTANCES],
}

impl Default for Faults {
    fn default() -> Faults {
        Faults {
            stuck: 0,
            endless: false,
            queues: false,
            lost: 0,
            read_write: [0; MAX_INSTANCES],
            write_write: [0; MAX_INSTANCES],
            at_once: [0; MAX_INSTANCES],
            dead: [0; MAX_INSTANCES],
            without: [0; MAX_INSTANCES],
        }
    }
}

impl Faults {
    /// Whether there is a deadlock however many workers there are.
    pub fn deadlock(&self) -> bool {
        self.stuck != 0 || self.endless
    }

    /// Whether two tasks race.
    pub fn has_race(&self) -> bool {
        self.read_write.iter().chain(&self.write_write).any(|&others| others != 0)
    }

    /// Whether two collectives of a team run on one rank at once.
    pub fn has_teams_at_once(&self) -> bool {
        self.at_once.iter().any(|&others| others != 0)
    }

    /// Whether a write is overwritten unread.
    pub fn has_dead_write(&self) -> bool {
        self.dead.iter().any(|&others| others != 0)
    }

    /// Whether anything goes wrong but for dead writes, which change no result.
    pub fn shows(&self) -> bool {
        self.deadlock() || self.lost != 0 || self.has_race() || self.has_teams_at_once()
    }

    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        !self.shows() && !self.queues && !self.has_dead_write()
    }

    /// What there is, in words.
    pub fn names(&self) -> Vec<&'static str> {
        let any = |sets: &[Instances]| sets.iter().any(|&set| set != 0);
        [
            (self.deadlock(), "deadlock"),
            (self.queues && !self.deadlock(), "deadlock (with one worker a rank)"),
            (self.lost != 0, "lost task"),
            (any(&self.read_write), "read-write race"),
            (any(&self.write_write), "write-write race"),
            (any(&self.at_once), "two collectives of a team at once"),
            (any(&self.dead), "dead write"),
        ]
        .into_iter()
        .filter_map(|(there, name)| there.then_some(name))
        .collect()
    }
}
