//! All runs of a small document (MCI-08, MCI-10, MCI-11): streams of every length up to a few tiles, and every moment at which a load can land.

use std::collections::HashSet;

use crate::small::{Kept, Small, Step};

/// The longest stream that is run.
const TILES: u8 = 5;

/// What goes wrong in some run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// A node reads something else than the version of its iteration.
    pub read: bool,
    /// A barrier waits for what nobody has begun to load.
    pub wait: bool,
    /// A load is under way when its block ends.
    pub flight: bool,
    /// A tile is used when its memory is not its own.
    pub lifetime: bool,
}

/// A step, and where it stands in a run.
#[derive(Clone, Copy)]
struct Event {
    body: usize,
    iteration: u8,
    step: Step,
}

/// What can differ between runs that are at one place, in few bits: how many events are behind, what each of three slots holds, which
/// versions have landed, and how many loads of each are on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct State(u64);

/// Marks what a slot holds when its memory has been given to others.
const LOST: u64 = 0x10;

impl State {
    const LANDED: u32 = 24;
    const PENDING: u32 = 32;

    fn at(self) -> usize {
        (self.0 & 0xFF) as usize
    }

    fn later(self) -> State {
        State(self.0 + 1)
    }

    /// What a slot holds: nothing, or one more than a version, perhaps marked.
    fn slot(self, version: u8, slots: u8) -> u64 {
        self.0 >> (8 + 5 * u32::from(version % slots)) & 0x1F
    }

    fn landed(self, version: u8) -> bool {
        self.0 >> (State::LANDED + u32::from(version)) & 1 == 1
    }

    fn pending(self, version: u8) -> bool {
        self.0 >> (State::PENDING + 3 * u32::from(version)) & 7 != 0
    }

    fn is_idle(self) -> bool {
        self.0 >> State::PENDING == 0
    }

    fn begun(self, version: u8) -> State {
        State(self.0 + (1 << (State::PENDING + 3 * u32::from(version))))
    }

    fn land(self, version: u8, slots: u8) -> State {
        let place = 8 + 5 * u32::from(version % slots);
        let cleared = self.0 & !(0x1F << place) | (u64::from(version) + 1) << place;
        State(
            (cleared | 1 << (State::LANDED + u32::from(version)))
                - (1 << (State::PENDING + 3 * u32::from(version))),
        )
    }

    /// All that slots hold is lost.
    fn lost(self) -> State {
        let held = (0..3).filter(|slot| self.0 >> (8 + 5 * slot) & 0xF != 0);
        State(held.fold(self.0, |state, slot| state | LOST << (8 + 5 * slot)))
    }
}

/// Explores all runs.
pub fn explore(small: &Small) -> Faults {
    let mut faults = Faults::default();
    for tiles in 0..=TILES {
        let mut events = Vec::new();
        let mut run = |body: usize, iteration: u8| {
            let event = |&step: &Step| Event { body, iteration, step };
            events.extend(small.bodies[body].iter().map(event));
        };
        run(0, 0);
        (0..tiles).for_each(|iteration| run(1, iteration));
        run(2, 0);
        lifetimes(small, &events, tiles, &mut faults);
        // What goes wrong in a short stream says enough, but where memory is looked at too.
        if small.kept[0] == Kept::Node || !(faults.read || faults.wait || faults.flight) {
            orders(small, &events, tiles, &mut faults);
        }
    }
    faults
}

/// Memory of y and of the state is theirs for as long as they are kept, whatever lands when.
fn lifetimes(small: &Small, events: &[Event], tiles: u8, faults: &mut Faults) {
    let [_, y, s] = small.kept;
    // Where a tile was produced last: a body and an iteration.
    let mut made: Option<(usize, u8)> = None;
    let is_lost = |kept: Kept, (body, iteration): (usize, u8), now: (usize, u8)| match kept {
        Kept::Block => false,
        Kept::Stream => now.0 == 2 || body == 2,
        Kept::Iteration => body != 1 || now != (body, iteration),
        Kept::Node => now != (body, iteration),
    };
    for event in events {
        let now = (event.body, event.iteration);
        match event.step {
            Step::Load => {
                made = Some(now);
                faults.lifetime |= is_lost(y, now, now);
            }
            Step::Use => faults.lifetime |= made.is_some_and(|made| is_lost(y, made, now)),
            _ => {}
        }
    }
    // The state is filled when the block begins, updated in each iteration, and read in `end`.
    let filled = (0, 0);
    let updates = (0..tiles).map(|iteration| (1, iteration)).chain([(2, 0)]);
    let mut last = filled;
    for now in updates {
        faults.lifetime |= is_lost(s, last, now);
        last = now;
    }
}

fn orders(small: &Small, events: &[Event], tiles: u8, faults: &mut Faults) {
    let slots = small.buffers;
    let mut seen = HashSet::from([State::default()]);
    let mut open = vec![State::default()];
    while let Some(state) = open.pop() {
        let mut go = |next: State| {
            if seen.insert(next) {
                open.push(next);
            }
        };
        // A load that is under way can land now.
        for version in (0..tiles).filter(|&version| state.pending(version)) {
            go(state.land(version, slots));
        }
        let Some(event) = events.get(state.at()) else {
            faults.flight |= !state.is_idle();
            continue;
        };
        let mut next = state.later();
        // Between bodies and iterations, memory that is kept for a node goes to others.
        let before = state.at().checked_sub(1).map(|before| &events[before]);
        let is_new =
            before.is_some_and(|before| (before.body, before.iteration) != (event.body, event.iteration));
        if is_new && small.kept[0] == Kept::Node {
            faults.lifetime |= !state.is_idle();
            next = next.lost();
        }
        match event.step {
            Step::Prefetch(version) if event.iteration + version < tiles => {
                next = next.begun(event.iteration + version);
            }
            Step::Wait(version) if event.iteration + version < tiles => {
                let version = event.iteration + version;
                if !state.landed(version) {
                    // It waits for as long as the load takes, or for ever.
                    faults.wait |= !state.pending(version);
                    continue;
                }
            }
            Step::Read => {
                let held = next.slot(event.iteration, slots);
                if held & LOST != 0 {
                    faults.lifetime = true;
                } else {
                    faults.read |= held != u64::from(event.iteration) + 1;
                }
            }
            _ => {}
        }
        go(next);
    }
}
