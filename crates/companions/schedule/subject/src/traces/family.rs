//! What is enumerated: small schedules, each with all logs of so many entries from a list.

use megakernel_prove::{Digits, Family as Described, Numbered, Scope};

use super::small::{Access, Done, Entry, Phase, Plan, Small, Task, Tensors};
use crate::small::Does::{Add, Read, Write};

/// A family of traces.
#[derive(Clone, Debug)]
pub struct Family {
    name: &'static str,
    plans: Vec<Plan>,
    /// What each log begins with.
    first: Vec<Entry>,
    /// What its other entries can be.
    entries: Vec<Entry>,
    /// How many of them there are at most.
    most: u32,
}

impl Described for Family {
    fn name(&self) -> &'static str {
        self.name
    }

    fn describe(&self) -> String {
        format!(
            "{} schedules, logs of {} to {} entries, {} kinds of entries",
            self.plans.len(),
            self.first.len(),
            self.first.len() + self.most as usize,
            self.entries.len()
        )
    }
}

impl Numbered for Family {
    type Document = Small;

    fn count(&self) -> u64 {
        let entries = self.entries.len() as u64;
        self.plans.len() as u64 * (0..=self.most).map(|most| entries.pow(most)).sum::<u64>()
    }

    fn made(&self, digits: &mut Digits) -> Option<Small> {
        let plan = self.plans[digits.pick(self.plans.len())].clone();
        let mut log = self.first.clone();
        // The logs of each length follow those that are shorter.
        let mut number = digits.rest();
        let entries = self.entries.len() as u64;
        let mut length = 0;
        while number >= entries.pow(length) {
            number -= entries.pow(length);
            length += 1;
        }
        for _ in 0..length {
            log.push(self.entries[(number % entries) as usize]);
            number /= entries;
        }
        Some(Small { plan, log })
    }
}

const ALL: [i64; 2] = [0, 2];
const FIRST: [i64; 2] = [0, 1];
const SECOND: [i64; 2] = [1, 2];

fn phase(waits: &[(char, u64)], accesses: &[Access], signals: &[(char, u64)]) -> Phase {
    Phase { waits: waits.to_vec(), accesses: accesses.to_vec(), signals: signals.to_vec() }
}

fn alone(phases: Vec<Phase>) -> Task {
    Task { queue: None, phases }
}

fn plan(tasks: Vec<Task>) -> Plan {
    Plan { tasks, any_order: false, period: None, tensors: Tensors::Empty }
}

/// An entry of the first phase of task 0.
const fn did(done: Done) -> Entry {
    Entry::Did(0, 0, done)
}

const BEGIN: Entry = Entry::Begin(0, None);

/// Families in two sizes.
fn families(is_large: bool) -> Vec<Family> {
    let few = |large: u32, small: u32| if is_large { large } else { small };
    let access = |does, tensor, bytes| did(Done::Access((does, tensor, bytes)));
    let with = |tensors: Tensors| {
        move |accesses: &[Access]| Plan { tensors, ..plan(vec![alone(vec![phase(&[], accesses, &[])])]) }
    };
    let held = [Tensors::Empty, Tensors::Filled, Tensors::Cache, Tensors::Shared];
    let kept: [&[Access]; 3] = [
        &[(Read, 'x', ALL), (Write, 'x', FIRST), (Add, 'x', ALL)],
        &[(Read, 'y', FIRST), (Write, 'v', ALL)],
        &[(Write, 'x', ALL), (Write, 'y', SECOND)],
    ];
    let in_queue = |queues: [Option<i64>; 2], any_order| {
        let read = |bytes| phase(&[], &[(Read, 'x', bytes)], &[]);
        let tasks = vec![
            Task { queue: queues[0], phases: vec![read(FIRST), read(SECOND)] },
            Task { queue: queues[1], phases: vec![read(ALL)] },
        ];
        Plan { any_order, tensors: Tensors::Filled, ..plan(tasks) }
    };
    let read = |task, phase| {
        Entry::Did(task, phase, Done::Access((Read, 'x', if phase == 0 { FIRST } else { SECOND })))
    };
    let counted = |waits: &[(char, u64)], period| {
        let phases = vec![phase(&[], &[], &[('a', 1)]), phase(waits, &[], &[])];
        Plan { period, ..plan(vec![alone(phases)]) }
    };
    let waits = |task, count| Entry::Did(task, 1 - task, Done::Wait('a', count));
    let signals = |amount| did(Done::Signal('a', amount));
    vec![
        Family {
            name: "parts",
            plans: vec![with(Tensors::Filled)(&[(Read, 'x', ALL)])],
            first: vec![BEGIN],
            entries: vec![
                access(Read, 'x', ALL),
                access(Read, 'x', [0, 3]),
                access(Read, 'x', [2, 1]),
                access(Read, 'z', FIRST),
                Entry::Begin(1, None),
                Entry::Begin(-1, None),
                Entry::Did(0, 1, Done::Access((Read, 'x', ALL))),
                Entry::Did(0, -1, Done::Access((Read, 'x', ALL))),
                Entry::Did(2, 0, Done::Access((Read, 'x', ALL))),
                did(Done::Wait('a', -1)),
                did(Done::Wait('a', 0)),
                did(Done::Signal('a', 0)),
                Entry::Launch,
            ],
            most: few(3, 2),
        },
        Family {
            name: "accesses",
            plans: held.into_iter().flat_map(|tensors| kept.map(with(tensors))).collect(),
            first: vec![BEGIN],
            entries: vec![
                access(Read, 'x', FIRST),
                access(Read, 'y', FIRST),
                access(Write, 'x', FIRST),
                access(Write, 'v', ALL),
                access(Write, 'x', [1, 1]),
                access(Write, 'y', SECOND),
                access(Add, 'v', FIRST),
                access(Add, 'x', SECOND),
            ],
            most: few(5, 3),
        },
        Family {
            name: "queues",
            plans: vec![
                in_queue([Some(0), Some(0)], false),
                in_queue([Some(0), Some(0)], true),
                in_queue([Some(0), Some(1)], false),
                in_queue([None, None], true),
            ],
            first: Vec::new(),
            entries: vec![
                Entry::Begin(0, Some(0)),
                Entry::Begin(0, None),
                Entry::Begin(1, Some(0)),
                Entry::Begin(1, None),
                read(0, 0),
                read(0, 1),
                read(1, 0),
            ],
            most: few(5, 4),
        },
        Family {
            name: "waits",
            plans: vec![
                plan(vec![
                    alone(vec![phase(&[], &[], &[('a', 1), ('a', 1)])]),
                    alone(vec![phase(&[('a', 2)], &[], &[])]),
                ]),
                plan(vec![
                    alone(vec![phase(&[], &[], &[('a', 2)]), phase(&[('a', 1)], &[], &[])]),
                    alone(vec![phase(&[('a', 1), ('a', 2)], &[(Read, 'x', ALL)], &[('b', 1)])]),
                ]),
            ],
            first: vec![BEGIN],
            entries: vec![
                Entry::Begin(1, None),
                signals(1),
                signals(2),
                waits(1, 1),
                waits(1, 2),
                waits(0, 1),
                Entry::Did(1, 0, Done::Signal('b', 1)),
                Entry::Did(1, 0, Done::Wait('b', 1)),
            ],
            most: few(6, 4),
        },
        Family {
            name: "launches",
            plans: vec![counted(&[('a', 1)], None), counted(&[('a', 1)], Some(1)), counted(&[], Some(1))],
            first: vec![BEGIN, signals(1), waits(0, 1), Entry::Launch],
            entries: vec![BEGIN, signals(1), waits(0, 0), waits(0, 1), waits(0, 2), Entry::Launch],
            most: few(6, 4),
        },
    ]
}

/// Every scope, smallest first.
pub fn scopes() -> Vec<Scope<Family>> {
    vec![
        Scope { name: "trace-quick", about: "a second; for tests", families: families(false) },
        Scope { name: "trace-ci", about: "the same families with longer logs", families: families(true) },
    ]
}
