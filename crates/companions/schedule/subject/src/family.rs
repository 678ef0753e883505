//! What is enumerated: families of schedules, all that their dimensions allow.

use megakernel_prove::{Digits, Family as Described, Numbered, Scope};

use crate::small::{Access, Does, Held, PLAIN, Phase, Setting, Small, Task};

/// A family of schedules.
#[derive(Clone, Debug)]
pub struct Family {
    name: &'static str,
    /// Number of phases of each task.
    shape: Vec<usize>,
    /// Queues of the tasks, one choice after the other.
    queues: Vec<Vec<Option<u8>>>,
    /// What a phase can be.
    phases: Vec<Phase>,
    settings: Vec<Setting>,
}

impl Described for Family {
    fn name(&self) -> &'static str {
        self.name
    }

    fn describe(&self) -> String {
        format!(
            "{} tasks of {} phases, {} placements, {} kinds of phases, {} settings",
            self.shape.len(),
            self.shape.iter().sum::<usize>(),
            self.queues.len(),
            self.phases.len(),
            self.settings.len()
        )
    }
}

impl Numbered for Family {
    type Document = Small;

    fn count(&self) -> u64 {
        let phases = self.shape.iter().sum::<usize>() as u32;
        (self.settings.len() * self.queues.len()) as u64 * (self.phases.len() as u64).pow(phases)
    }

    fn made(&self, digits: &mut Digits) -> Option<Small> {
        let mut pick = |choices| digits.pick(choices);
        let setting = self.settings[pick(self.settings.len())];
        let queues = &self.queues[pick(self.queues.len())];
        let mut phases =
            |count: usize| (0..count).map(|_| self.phases[pick(self.phases.len())].clone()).collect();
        let tasks = self.shape.iter().zip(queues);
        let tasks = tasks.map(|(&count, &queue)| Task { queue, phases: phases(count) }).collect();
        Some(Small { tasks, setting })
    }
}

const fn access(does: Does, tensor: u8) -> Access {
    Access { does, tensor, group: None }
}

const READ: Access = access(Does::Read, 0);
const WRITE: Access = access(Does::Write, 0);
const ADD: Access = access(Does::Add, 0);
const ADD_G: Access = Access { does: Does::Add, tensor: 0, group: Some(1) };
const OTHER: [Access; 3] = [access(Does::Read, 1), access(Does::Write, 1), access(Does::Add, 1)];

/// Every phase of some waits, some accesses and some signals.
fn phases(waits: &[&[(u8, u64)]], accesses: &[&[Access]], signals: &[&[(u8, u64)]]) -> Vec<Phase> {
    let mut all = Vec::new();
    for waits in waits {
        for accesses in accesses {
            for signals in signals {
                all.push(Phase {
                    waits: waits.to_vec(),
                    accesses: accesses.to_vec(),
                    signals: signals.to_vec(),
                });
            }
        }
    }
    all
}

fn alone(tasks: usize) -> Vec<Vec<Option<u8>>> {
    vec![vec![None; tasks]]
}

const QUEUES: Setting = Setting { memory: [true, true, true], ..PLAIN };

/// Families in two sizes: of the small one each dimension is cut.
fn families(is_large: bool) -> Vec<Family> {
    let few = |large: usize, small: usize| if is_large { large } else { small };
    let every: [&[Access]; 5] = [&[], &[READ], &[WRITE], &[ADD_G], &[ADD]];
    let waits: [&[(u8, u64)]; 5] = [&[], &[(0, 1)], &[(0, 2)], &[(1, 1)], &[(0, 1), (1, 1)]];
    let signals: [&[(u8, u64)]; 4] = [&[], &[(0, 1)], &[(1, 1)], &[(0, 2)]];
    let counts: [&[(u8, u64)]; 3] = [&[], &[(0, 1)], &[(0, 2)]];
    let halves: [&[(u8, u64)]; 3] = [&[], &[(0, 2)], &[(0, 1)]];
    let sums: [&[Access]; 5] = [&[], &[ADD_G], &[READ], &[WRITE], &[ADD]];
    let plain: [&[Access]; 3] = [&[], &[WRITE], &[READ]];
    let held = |held: Held, is_shared: bool| Setting { held, is_shared, ..PLAIN };
    let relaxed = [[false, true, false], [true, false, true], [false, false, true]]
        .map(|memory| Setting { memory, ..PLAIN });
    let placements: Vec<Vec<Option<u8>>> = vec![
        vec![Some(0), Some(0), Some(0)],
        vec![Some(0), Some(1), Some(0)],
        vec![Some(0), Some(0), None],
        vec![None, Some(0), Some(0)],
    ];
    let any = Setting { any_order: true, ..QUEUES };
    let period = |period: u64| Setting { period: Some(period), ..PLAIN };
    let mine: [&[Access]; 7] = [&[], &[READ], &[WRITE], &[ADD], &OTHER[1..2], &OTHER[..1], &[READ, WRITE]];
    vec![
        Family {
            name: "orders",
            shape: vec![1; 3],
            queues: alone(3),
            phases: phases(&waits[..few(5, 3)], &every[..few(5, 4)], &signals[..few(4, 2)]),
            settings: vec![PLAIN],
        },
        Family {
            name: "amounts",
            shape: vec![1; 4],
            queues: alone(4),
            phases: phases(&[&[], &[(0, 2)], &[(0, 3)]], &[&[], &[WRITE]], &counts[..few(3, 2)]),
            settings: vec![PLAIN],
        },
        Family {
            name: "phases",
            shape: vec![2, 2],
            queues: alone(2),
            phases: phases(&waits[..few(4, 2)], &every[..few(4, 3)], &signals[..few(3, 2)]),
            settings: vec![PLAIN],
        },
        Family {
            name: "queues",
            shape: vec![1; 3],
            queues: placements[..few(4, 2)].to_vec(),
            phases: phases(&[&[], &[(0, 1)], &[(1, 1)]], &every[..few(4, 3)], &signals[..3]),
            settings: vec![QUEUES, PLAIN][..few(2, 1)].to_vec(),
        },
        Family {
            name: "any-order",
            shape: vec![2, 1, 1],
            queues: placements[..few(4, 2)].to_vec(),
            phases: phases(&[&[], &[(0, 1)]], &[&[], &[WRITE]], &[&[], &[(0, 1)]]),
            settings: vec![any],
        },
        Family {
            name: "fences",
            shape: vec![1; 3],
            queues: placements[1..2].to_vec(),
            phases: phases(&waits[..few(4, 2)], &every[1..3], &signals[..few(3, 2)]),
            settings: relaxed.to_vec(),
        },
        Family {
            name: "launches",
            shape: vec![1; 3],
            queues: alone(3),
            phases: phases(&waits[..3], &plain[..few(3, 2)], &counts),
            settings: [1, 2, 3].map(period).to_vec(),
        },
        Family {
            name: "contents",
            shape: vec![2, 1],
            queues: alone(2),
            phases: phases(&counts[..2], &mine[..few(7, 5)], &counts[..2]),
            settings: vec![
                held(Held::Nothing, false),
                held(Held::Once, false),
                held(Held::Nothing, true),
                held(Held::Launch, true),
                held(Held::Once, true),
                held(Held::Cache, true),
            ],
        },
        Family {
            name: "reuse",
            shape: vec![1; 3],
            queues: alone(3),
            phases: phases(
                &counts[..few(3, 2)],
                &[&[], &[READ], &[WRITE], &OTHER[1..2], &OTHER[2..]],
                &[&[], &[(0, 1)]],
            ),
            settings: vec![held(Held::Launch, true)],
        },
        // Phases, amounts, sums, workers and launches at once.
        Family {
            name: "crossed",
            shape: vec![2, 1],
            queues: vec![vec![Some(0), Some(1)], vec![Some(0), Some(0)]],
            phases: phases(&halves[..few(3, 2)], &sums[..few(5, 3)], &counts),
            settings: vec![Setting { period: Some(2), ..QUEUES }, period(2)][..few(2, 1)].to_vec(),
        },
    ]
}

/// Every scope, smallest first.
pub fn scopes() -> Vec<Scope<Family>> {
    vec![
        Scope { name: "schedule-quick", about: "seconds; for tests", families: families(false) },
        Scope { name: "schedule-ci", about: "the same families with more choices", families: families(true) },
    ]
}
