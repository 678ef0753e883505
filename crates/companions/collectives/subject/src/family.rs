//! What is enumerated: families of systems, all that their dimensions allow.

use std::ops::Range;

use megakernel_prove::{Enumeration as Enumerates, Family as Described, Scope};

use crate::small::{Small, Step, Way};

/// A family of systems.
#[derive(Clone, Debug)]
pub struct Family {
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

impl Described for Family {
    fn name(&self) -> &'static str {
        self.name
    }

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
}

/// A family that is laid out: the numbers from 0 on are its systems.
pub struct Enumeration(pub Family);

const CHUNK: u64 = 1 << 10;

impl Enumeration {
    fn made(&self, mut number: u64) -> Small {
        let Enumeration(family) = self;
        let mut pick = |choices: usize| {
            let choices = choices as u64;
            let pick = (number % choices) as usize;
            number /= choices;
            pick
        };
        let capacity = 1 + pick(family.capacities);
        let mut log = || {
            let mut log: Vec<Step> =
                (0..family.steps).map(|_| family.choices[pick(family.choices.len())]).collect();
            log.extend(family.has_store.then_some(Step::Store));
            log
        };
        let logs = if family.is_alike {
            vec![log(); family.elements]
        } else {
            (0..family.elements).map(|_| log()).collect()
        };
        Small { is_sum: family.is_sum, capacity, logs }
    }
}

impl Enumerates for Enumeration {
    type Document = Small;
    type Chunk = Range<u64>;

    fn size(&self) -> u64 {
        let Enumeration(family) = self;
        let steps = if family.is_alike { family.steps } else { family.steps * family.elements };
        family.capacities as u64 * (family.choices.len() as u64).pow(steps as u32)
    }

    fn chunks(&self) -> Vec<Range<u64>> {
        let size = self.size();
        (0..size.div_ceil(CHUNK)).map(|chunk| chunk * CHUNK..size.min((chunk + 1) * CHUNK)).collect()
    }

    fn len(&self, chunk: &Range<u64>) -> u64 {
        chunk.end - chunk.start
    }

    fn visit(&self, chunk: &Range<u64>, visit: &mut dyn FnMut(&Small)) {
        chunk.clone().for_each(|number| visit(&self.made(number)));
    }
}

/// Families in two sizes: of the small one each dimension is cut.
fn families(is_large: bool) -> Vec<Family> {
    let few = |large: usize, small: usize| if is_large { large } else { small };
    let (next, before) = (Way::Next, Way::Before);
    let pairs = [Step::Send(next), Step::Add(before), Step::Store, Step::Take(before), Step::StoreOwn];
    let around = [Step::Send(next), Step::Add(before), Step::Send(before), Step::Add(next)];
    let passing = [Step::SendOwn(next), Step::SendLast(next), Step::Add(before), Step::Send(next)];
    let base = Family {
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
        Family {
            name: "orders",
            elements: 3,
            steps: few(6, 4),
            choices: passing[..few(4, 3)].to_vec(),
            is_alike: true,
            has_store: true,
            capacities: few(2, 1),
            ..base.clone()
        },
        Family {
            name: "four",
            elements: 4,
            steps: 6,
            choices: passing[..3].to_vec(),
            is_alike: true,
            has_store: true,
            capacities: 1,
            ..base.clone()
        },
        Family {
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
        Family {
            name: "capacities",
            steps: few(6, 4),
            choices: around[..2].to_vec(),
            has_store: true,
            capacities: 3,
            ..base.clone()
        },
        Family { name: "overwritten", steps: 5, is_alike: true, choices: pairs.to_vec(), ..base.clone() },
        base.clone(),
        Family {
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

/// Every scope, smallest first.
pub fn scopes() -> Vec<Scope<Family>> {
    vec![
        Scope { name: "collectives-quick", about: "seconds; for tests", families: families(false) },
        Scope {
            name: "collectives-ci",
            about: "the same families with more choices",
            families: families(true),
        },
    ]
}
