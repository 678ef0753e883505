//! What is enumerated: families of systems, all that their dimensions allow; and samples of larger ones.

use megakernel_prove::{Digits, Family as Described, Numbered, Scope};

use crate::sample::{Kind, Sample};
use crate::small::{Small, Step, Way};

/// A family of systems.
#[derive(Clone, Debug)]
pub enum Family {
    /// All that its dimensions allow.
    Every(Every),
    /// As many as are drawn.
    Drawn(Sample),
}

impl Described for Family {
    fn name(&self) -> &'static str {
        match self {
            Family::Every(every) => every.name,
            Family::Drawn(sample) => sample.name,
        }
    }

    fn describe(&self) -> String {
        match self {
            Family::Every(every) => every.describe(),
            Family::Drawn(sample) => sample.describe(),
        }
    }
}

impl Numbered for Family {
    type Document = Small;

    fn count(&self) -> u64 {
        match self {
            Family::Every(every) => every.count(),
            Family::Drawn(sample) => sample.systems,
        }
    }

    fn made(&self, digits: &mut Digits) -> Option<Small> {
        match self {
            Family::Every(every) => Some(every.made(digits)),
            Family::Drawn(sample) => Some(sample.drawn(digits.rest())),
        }
    }
}

/// A family of which every system is enumerated.
#[derive(Clone, Debug)]
pub struct Every {
    name: &'static str,
    is_sum: bool,
    elements: usize,
    /// Steps of each element, before a store where one is added.
    steps: usize,
    /// What a step can be.
    choices: Vec<Step>,
    /// Whether all elements do the same.
    is_alike: bool,
    /// Whether each ends with a store.
    has_store: bool,
    capacities: usize,
}

impl Every {
    fn describe(&self) -> String {
        format!(
            "{} elements, {} steps each{}, {} kinds of steps, {} capacities",
            self.elements,
            self.steps,
            if self.is_alike { ", all alike" } else { "" },
            self.choices.len(),
            self.capacities
        )
    }

    fn count(&self) -> u64 {
        let steps = if self.is_alike { self.steps } else { self.steps * self.elements };
        self.capacities as u64 * (self.choices.len() as u64).pow(steps as u32)
    }

    fn made(&self, digits: &mut Digits) -> Small {
        let mut pick = |choices| digits.pick(choices);
        let capacity = 1 + pick(self.capacities);
        let mut log = || {
            let mut log: Vec<Step> =
                (0..self.steps).map(|_| self.choices[pick(self.choices.len())]).collect();
            log.extend(self.has_store.then_some(Step::Store));
            log
        };
        let logs = if self.is_alike {
            vec![log(); self.elements]
        } else {
            (0..self.elements).map(|_| log()).collect()
        };
        Small { is_sum: self.is_sum, capacity, logs }
    }
}

/// Families in two sizes: of the small one each dimension is cut.
fn families(is_large: bool) -> Vec<Every> {
    let few = |large: usize, small: usize| if is_large { large } else { small };
    let (next, before) = (Way::Next, Way::Before);
    let pairs = [Step::Send(next), Step::Add(before), Step::Store, Step::Take(before), Step::StoreOwn];
    let around = [Step::Send(next), Step::Add(before), Step::Send(before), Step::Add(next)];
    let passing = [Step::SendOwn(next), Step::SendLast(next), Step::Add(before), Step::Send(next)];
    let base = Every {
        name: "pairs",
        is_sum: true,
        elements: 2,
        steps: 3,
        choices: pairs[..few(5, 4)].to_vec(),
        is_alike: false,
        has_store: false,
        capacities: few(2, 1),
    };
    let mut all = vec![
        Every {
            name: "orders",
            elements: 3,
            steps: few(6, 4),
            choices: passing[..few(4, 3)].to_vec(),
            is_alike: true,
            has_store: true,
            capacities: few(2, 1),
            ..base.clone()
        },
        Every {
            name: "four",
            elements: 4,
            steps: 6,
            choices: passing[..3].to_vec(),
            is_alike: true,
            has_store: true,
            capacities: 1,
            ..base.clone()
        },
        Every {
            name: "broadcasts",
            is_sum: false,
            elements: few(3, 2),
            steps: 2,
            choices: vec![
                Step::Send(next),
                Step::Add(before),
                Step::Take(before),
                Step::Store,
                Step::StoreOwn,
            ],
            capacities: 1,
            ..base.clone()
        },
        Every {
            name: "capacities",
            steps: few(6, 4),
            choices: around[..2].to_vec(),
            has_store: true,
            capacities: 3,
            ..base.clone()
        },
        Every { name: "overwritten", steps: 5, is_alike: true, choices: pairs.to_vec(), ..base.clone() },
        base.clone(),
        Every {
            name: "rings",
            elements: 3,
            steps: few(3, 2),
            choices: around.to_vec(),
            has_store: true,
            capacities: few(2, 1),
            ..base
        },
    ];
    // Four elements have thousands of states each.
    all.retain(|family| is_large || family.elements < 4);
    all
}

/// Larger systems: more elements and more messages than can be enumerated.
fn samples() -> Vec<Sample> {
    let sample = |name, kind, elements, systems| Sample { name, kind, elements, systems };
    vec![
        sample("runs-of-two", Kind::Runs(12), 2, 16_384),
        sample("runs-of-three", Kind::Runs(10), 3, 8_192),
        sample("runs-of-four", Kind::Runs(8), 4, 4_096),
        sample("runs-of-five", Kind::Runs(7), 5, 1_024),
        sample("edited-of-three", Kind::Edited, 3, 16_384),
        sample("edited-of-four", Kind::Edited, 4, 4_096),
        sample("edited-of-five", Kind::Edited, 5, 1_024),
    ]
}

/// Every scope, smallest first.
pub fn scopes() -> Vec<Scope<Family>> {
    let every = |is_large| families(is_large).into_iter().map(Family::Every).collect();
    vec![
        Scope { name: "collectives-quick", about: "seconds; for tests", families: every(false) },
        Scope { name: "collectives-ci", about: "the same families with more choices", families: every(true) },
        Scope {
            name: "collectives-sampled",
            about: "a sample of larger systems",
            families: samples().into_iter().map(Family::Drawn).collect(),
        },
    ]
}
