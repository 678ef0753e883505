//! What is enumerated: the families of each scope.

use super::buffer_set::{Action, BufferSet, Storage, tiles};
use super::family::{Family, Waits};
use crate::Scope;

/// Every scope, smallest first.
pub fn all() -> Vec<Scope<Family>> {
    vec![
        Scope { name: "quick", about: "seconds; for tests and for trying things out", families: quick() },
        Scope {
            name: "ci",
            about: "some minutes on 2 cores; part of `cargo xtask release-gate`",
            families: ci(),
        },
        Scope {
            name: "medium",
            about: "half an hour on 2 cores; more tasks, buffers and rows",
            families: medium(),
        },
        Scope { name: "large", about: "an hour on 2 cores; up to 5 tasks", families: large() },
        Scope { name: "huge", about: "days on 2 cores; pages under 5 tasks", families: huge() },
    ]
}

const NO_BUFFERS: BufferSet = BufferSet::activations(0, 1, Storage::Own);

/// Only counters and queues: no task accesses anything.
fn order(name: &'static str, tasks: usize, counters: usize, waits: Waits, sms: usize) -> Family {
    Family { name, tasks, counters, waits, sms, buffers: NO_BUFFERS, actions: vec![Action::Nothing] }
}

/// Tasks that write, read, move, copy and change tiles of activations.
fn tiled(name: &'static str, tasks: usize, waits: Waits, sms: usize, shared: u8, rows: u8) -> Family {
    let mut actions = vec![Action::Nothing];
    for buffer in 0..shared {
        actions.extend(tiles(rows).into_iter().map(|tile| Action::Write(buffer, tile)));
        actions.extend(tiles(rows).into_iter().map(|tile| Action::Read(buffer, tile)));
        actions.push(Action::InPlace(buffer));
        for to in (0..shared).filter(|&to| to != buffer) {
            actions.extend(tiles(rows).into_iter().map(|tile| Action::Move(buffer, to, tile)));
        }
    }
    let buffers = BufferSet::activations(shared, rows, Storage::Own);
    Family { name, tasks, counters: 3, waits, sms, buffers, actions }
}

/// Tasks that append rows to a cache and attend to rows of it.
fn cached(name: &'static str, tasks: usize, waits: Waits, sms: usize, rows: u8) -> Family {
    let mut actions = vec![Action::Nothing];
    let appends = tiles(rows).into_iter().filter(|&(_, count)| count == 1 || count == rows);
    actions.extend(appends.map(Action::Append));
    actions.extend(tiles(rows).into_iter().map(Action::Attend));
    Family { name, tasks, counters: 3, waits, sms, buffers: BufferSet::cache(rows), actions }
}

/// As above, with tasks that fill the cache whole, and that change it in place.
fn cached_in_place(name: &'static str, tasks: usize, waits: Waits, sms: usize, rows: u8) -> Family {
    let mut family = cached(name, tasks, waits, sms, rows);
    family.actions.extend([Action::Fill, Action::Update]);
    family
}

/// Tasks that use activations of two rows that share storage; by tiles, or each whole.
fn paged(
    name: &'static str,
    tasks: usize,
    waits: Waits,
    sms: usize,
    buffers: BufferSet,
    by_tiles: bool,
) -> Family {
    let mut actions = vec![Action::Nothing];
    let parts = if by_tiles { tiles(buffers.rows) } else { vec![(0, buffers.rows)] };
    for buffer in 0..buffers.shared {
        actions.extend(parts.iter().map(|&tile| Action::Write(buffer, tile)));
        actions.extend(parts.iter().map(|&tile| Action::Read(buffer, tile)));
        actions.push(Action::InPlace(buffer));
        for to in (0..buffers.shared).filter(|&to| to != buffer) {
            actions.extend([Action::Copy(buffer, to), Action::Mix(buffer, to)]);
        }
    }
    Family { name, tasks, counters: 3, waits, sms, buffers, actions }
}

/// Storage that the rules P02 to P05, R07 and D07 are about.
fn odd_storage(tasks: usize, sms: usize) -> Vec<Family> {
    let on = |storage| BufferSet::activations(1, 2, storage);
    let cache = Family {
        buffers: BufferSet { storage: Storage::PagedCache, ..BufferSet::cache(2) },
        ..cached("cache-on-page", tasks, Waits::Others, 0, 2)
    };
    vec![
        paged("small-page", tasks, Waits::Others, 0, on(Storage::SmallPage), true),
        paged("no-page", tasks, Waits::Others, 0, on(Storage::NoPage), true),
        paged("other-space", tasks, Waits::Others, 0, on(Storage::OtherSpace), true),
        cache,
        paged("on-chip", tasks, Waits::Others, sms, on(Storage::OnChip), true),
        paged("one-sm-target", tasks, Waits::Others, sms, on(Storage::OneSm), true),
    ]
}

const TWO_ON_A_PAGE: BufferSet = BufferSet::activations(2, 2, Storage::OnePage);
const THREE_ON_A_PAGE: BufferSet = BufferSet::activations(3, 1, Storage::OnePage);
const WIDE_AND_NARROW: BufferSet = BufferSet::activations(2, 2, Storage::MixedWidths);

fn quick() -> Vec<Family> {
    let mut families = vec![
        order("counters", 2, 2, Waits::Any, 0),
        order("queues", 3, 3, Waits::AllOfOthers, 2),
        tiled("tiles", 3, Waits::Others, 0, 1, 2),
        cached("cache", 3, Waits::Others, 0, 2),
        cached_in_place("cache-in-place", 3, Waits::Earlier, 0, 2),
        paged("pages", 3, Waits::Earlier, 0, TWO_ON_A_PAGE, false),
    ];
    families.extend(odd_storage(2, 2));
    families
}

fn ci() -> Vec<Family> {
    let mut families = vec![
        order("counters", 3, 3, Waits::Any, 0),
        order("counters-of-four", 4, 2, Waits::Any, 0),
        order("three-counters-of-four", 4, 3, Waits::Others, 0),
        order("queues", 5, 3, Waits::AllOfOthers, 3),
        order("partial-waits-in-queues", 3, 3, Waits::Any, 2),
        tiled("tiles", 4, Waits::Earlier, 0, 1, 2),
        tiled("five-tasks", 5, Waits::Earlier, 0, 1, 1),
        tiled("tiles-of-two-buffers", 3, Waits::Earlier, 0, 2, 2),
        tiled("tiles-of-three-rows", 3, Waits::Earlier, 0, 1, 3),
        tiled("tiles-in-queues", 3, Waits::Others, 3, 1, 2),
        cached("cache", 4, Waits::Earlier, 0, 2),
        cached("cache-of-three-rows", 3, Waits::Earlier, 0, 3),
        cached("cache-in-queues", 3, Waits::Others, 3, 2),
        cached_in_place("cache-in-place", 3, Waits::Earlier, 0, 2),
        cached_in_place("cache-in-place-in-queues", 3, Waits::Others, 2, 2),
        paged("page", 4, Waits::Earlier, 0, TWO_ON_A_PAGE, false),
        paged("page-of-three", 4, Waits::Earlier, 0, THREE_ON_A_PAGE, false),
        paged("page-by-tiles", 3, Waits::Earlier, 0, TWO_ON_A_PAGE, true),
        paged("page-of-two-widths", 3, Waits::Earlier, 0, WIDE_AND_NARROW, true),
        paged("page-in-queues", 3, Waits::Others, 2, TWO_ON_A_PAGE, false),
    ];
    families.extend(odd_storage(3, 2));
    families
}

fn medium() -> Vec<Family> {
    vec![
        order("partial-waits-in-queues", 4, 3, Waits::Others, 3),
        tiled("tiles-of-two-buffers", 4, Waits::Earlier, 0, 2, 2),
        tiled("tiles-of-three-rows", 4, Waits::Earlier, 0, 1, 3),
        tiled("tiles-in-queues", 4, Waits::Earlier, 3, 1, 2),
        tiled("tiles-of-two-buffers-in-queues", 3, Waits::Others, 3, 2, 2),
        cached("cache-in-queues", 4, Waits::Earlier, 3, 2),
        paged("page-by-tiles", 4, Waits::Earlier, 0, TWO_ON_A_PAGE, true),
        paged("page-in-queues", 4, Waits::Earlier, 2, TWO_ON_A_PAGE, false),
    ]
}

fn large() -> Vec<Family> {
    vec![
        order("counters", 4, 3, Waits::Any, 0),
        tiled("tiles", 5, Waits::Earlier, 0, 1, 2),
        cached("cache", 5, Waits::Earlier, 0, 2),
    ]
}

fn huge() -> Vec<Family> {
    vec![
        paged("page", 5, Waits::Earlier, 0, TWO_ON_A_PAGE, false),
        paged("page-of-three", 5, Waits::Earlier, 0, THREE_ON_A_PAGE, false),
    ]
}
