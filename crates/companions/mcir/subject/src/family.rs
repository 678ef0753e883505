//! What is enumerated: families of documents, all that their dimensions allow.

use megakernel_prove::{Digits, Family as Described, Numbered, Scope};

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

impl Numbered for Family {
    type Document = Small;

    fn count(&self) -> u64 {
        let bodies: usize = self.bodies.iter().map(Vec::len).product();
        (bodies * self.buffers.len() * self.kept.len()) as u64
    }

    fn made(&self, digits: &mut Digits) -> Option<Small> {
        let mut pick = |choices| digits.pick(choices);
        let buffers = self.buffers[pick(self.buffers.len())];
        let kept = self.kept[pick(self.kept.len())];
        let bodies = self.bodies.each_ref().map(|choices| choices[pick(choices.len())].clone());
        Some(Small { bodies, buffers, kept }).filter(Small::is_formed)
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
