//! What can go wrong in a run.

use std::fmt;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FaultKind {
    /// A task is unfinished, nothing runs, and nothing can start (clause EXE-06).
    Deadlock,
    /// A read and a write of the same elements by tasks that no counter orders (EXE-07).
    ReadWriteRace,
    /// Two writes of the same elements by such tasks (EXE-07).
    WriteWriteRace,
    /// A read of an element that holds nothing: no write of it is visible to the reader (EXE-03, EXE-08).
    UnwrittenRead,
    /// A read of a cache row before this launch writes it (rule R06): the value is of an earlier launch.
    StaleRead,
    /// A read that sees another buffer of its page, or an access of storage that the buffer's page does not give (PAG-01).
    PageViolation,
}

impl FaultKind {
    /// Every kind.
    pub const ALL: [FaultKind; 6] = [
        FaultKind::Deadlock,
        FaultKind::ReadWriteRace,
        FaultKind::WriteWriteRace,
        FaultKind::UnwrittenRead,
        FaultKind::StaleRead,
        FaultKind::PageViolation,
    ];

    /// The name that reports use.
    pub const fn name(self) -> &'static str {
        match self {
            FaultKind::Deadlock => "deadlock",
            FaultKind::ReadWriteRace => "read-write race",
            FaultKind::WriteWriteRace => "write-write race",
            FaultKind::UnwrittenRead => "unwritten read",
            FaultKind::StaleRead => "stale read",
            FaultKind::PageViolation => "page violation",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a fault needs the tasks to be placed otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strength {
    /// Some run leads to it, with the queues as the program states them.
    Shows,
    /// No counter orders the tasks, but the queues of this placement happen to.
    Latent,
}

/// A set of faults: kinds, each with the strengths in which it was found.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults(u16);

impl Faults {
    /// None.
    pub const NONE: Faults = Faults(0);

    pub(super) const fn bit(kind: FaultKind, strength: Strength) -> usize {
        kind as usize * 2 + strength as usize
    }

    /// Number of different bits.
    pub(super) const BITS: usize = FaultKind::ALL.len() * 2;

    /// Adds a fault.
    pub fn insert(&mut self, kind: FaultKind, strength: Strength) {
        self.0 |= 1 << Faults::bit(kind, strength);
    }

    /// Without the latent faults of kinds that also show.
    pub(super) fn strongest(mut self) -> Faults {
        for kind in FaultKind::ALL {
            if self.has(kind, Strength::Shows) {
                self.0 &= !(1 << Faults::bit(kind, Strength::Latent));
            }
        }
        self
    }

    pub(super) const fn has_bit(self, bit: usize) -> bool {
        self.0 & 1 << bit != 0
    }

    /// Whether this fault was found in this strength.
    pub const fn has(self, kind: FaultKind, strength: Strength) -> bool {
        self.has_bit(Faults::bit(kind, strength))
    }

    /// Whether this fault was found in any strength.
    pub const fn has_any(self, kind: FaultKind) -> bool {
        self.has(kind, Strength::Shows) || self.has(kind, Strength::Latent)
    }

    /// Whether some run goes wrong. A stale read alone is not wrong (clause EXE-11).
    pub fn shows(self) -> bool {
        FaultKind::ALL.into_iter().any(|kind| kind != FaultKind::StaleRead && self.has(kind, Strength::Shows))
    }

    /// The faults in the order of [`FaultKind::ALL`].
    pub fn iter(self) -> impl Iterator<Item = (FaultKind, Strength)> {
        FaultKind::ALL
            .into_iter()
            .flat_map(|kind| [(kind, Strength::Shows), (kind, Strength::Latent)])
            .filter(move |&(kind, strength)| self.has(kind, strength))
    }

    /// Whether nothing was found.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
