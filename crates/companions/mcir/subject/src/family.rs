//! What is enumerated: families of documents, all that their dimensions allow.

use std::ops::Range;

use megakernel_prove::{Enumeration as Enumerates, Family as Described, Scope};

use crate::small::{Kept, Small, Step};

/// A family of documents.
#[derive(Clone, Debug)]
pub struct Family {
    name: &'static str,
    /// For each body, all that it may consist of.
    bodies: [Vec<Vec<Step>>; 3],
    buffers: Vec<u8>,
    kept: Vec<[Kept; 3]>,
}

impl Described for Family {
    fn name(&self) -> &'static str {
        self.name
    }

    fn describe(&self) -> String {
        let [begin, each, end] = self.bodies.each_ref().map(Vec::len);
        let (buffers, kept) = (self.buffers.len(), self.kept.len());
        format!("{begin} x {each} x {end} bodies, {buffers} numbers of slots, {kept} choices of lifetimes")
    }
}

/// A family that is laid out: the numbers from 0 on are its documents.
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
        let buffers = family.buffers[pick(family.buffers.len())];
        let kept = family.kept[pick(family.kept.len())];
        let bodies = family.bodies.each_ref().map(|choices| choices[pick(choices.len())].clone());
        Small { bodies, buffers, kept }
    }
}

impl Enumerates for Enumeration {
    type Document = Small;
    type Chunk = Range<u64>;

    fn size(&self) -> u64 {
        let Enumeration(family) = self;
        let bodies: usize = family.bodies.iter().map(Vec::len).product();
        (bodies * family.buffers.len() * family.kept.len()) as u64
    }

    fn chunks(&self) -> Vec<Range<u64>> {
        let size = self.size();
        (0..size.div_ceil(CHUNK)).map(|chunk| chunk * CHUNK..size.min((chunk + 1) * CHUNK)).collect()
    }

    fn len(&self, chunk: &Range<u64>) -> u64 {
        chunk.end - chunk.start
    }

    fn visit(&self, chunk: &Range<u64>, visit: &mut dyn FnMut(&Small)) {
        chunk
            .clone()
            .map(|number| self.made(number))
            .filter(Small::is_formed)
            .for_each(|small| visit(&small));
    }
}

/// Every sequence of at most so many of these steps.
fn sequences(steps: &[Step], most: usize) -> Vec<Vec<Step>> {
    let mut all = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..most {
        last = last
            .iter()
            .flat_map(|sequence| {
                steps.iter().map(|&step| {
                    let mut longer = sequence.clone();
                    longer.push(step);
                    longer
                })
            })
            .collect();
        all.extend(last.iter().cloned());
    }
    all
}

const PLAIN: [Kept; 3] = [Kept::Iteration, Kept::Block, Kept::Block];

/// Families in two sizes.
fn families(is_large: bool) -> Vec<Family> {
    use Step::{Load, Prefetch, Read, Use, Wait};
    let few = |large: usize, small: usize| if is_large { large } else { small };
    let none = || vec![Vec::new()];
    let prologue = [Prefetch(0), Wait(0), Prefetch(1), Wait(1)];
    let steady = [Prefetch(1), Wait(0), Read, Prefetch(0), Wait(1), Prefetch(2), Wait(2)];
    let every = |of: fn(Kept) -> [Kept; 3]| Kept::ALL.map(of).to_vec();
    vec![
        Family {
            name: "pipelines",
            bodies: [sequences(&prologue, few(3, 2)), sequences(&steady[..few(7, 5)], 3), none()],
            buffers: vec![1, 2, 3][..few(3, 2)].to_vec(),
            kept: vec![PLAIN],
        },
        Family {
            name: "deep-pipelines",
            bodies: [
                vec![
                    vec![Prefetch(0), Prefetch(1)],
                    vec![Prefetch(0), Prefetch(1), Wait(0), Wait(1)],
                    vec![Prefetch(0), Prefetch(1), Wait(1)],
                ],
                sequences(&[Prefetch(2), Wait(0), Read, Wait(2), Wait(1)][..few(5, 4)], few(4, 3)),
                none(),
            ],
            buffers: vec![1, 2, 3],
            kept: vec![PLAIN],
        },
        Family {
            name: "two-stages",
            bodies: [sequences(&prologue[..2], 2), sequences(&[Prefetch(1), Wait(0), Read], 4), none()],
            buffers: vec![1, 2],
            kept: vec![PLAIN],
        },
        Family {
            name: "lifetimes",
            bodies: [sequences(&[Load, Use], 2), sequences(&[Load, Use], 2), sequences(&[Load, Use], 2)],
            buffers: vec![1],
            kept: every(|kept| [Kept::Iteration, kept, Kept::Block]),
        },
        Family {
            name: "lifetimes-of-states",
            bodies: [none(), none(), none()],
            buffers: vec![1],
            kept: every(|kept| [Kept::Iteration, Kept::Block, kept]),
        },
        Family {
            name: "lifetimes-of-prefetched",
            bodies: [
                sequences(&prologue[..2], 2),
                sequences(&[Prefetch(0), Prefetch(1), Wait(0), Read], 3),
                none(),
            ],
            buffers: vec![2],
            kept: every(|kept| [kept, Kept::Block, Kept::Block]),
        },
    ]
}

/// Every scope, smallest first.
pub fn scopes() -> Vec<Scope<Family>> {
    vec![
        Scope { name: "mcir-quick", about: "seconds; for tests", families: families(false) },
        Scope { name: "mcir-ci", about: "the same families with more choices", families: families(true) },
    ]
}
