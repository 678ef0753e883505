//! From a sample that shows a disagreement to a small one that shows it too (delta debugging).

use std::collections::HashSet;
use std::time::Instant;

use megakernel_ir::prng::fnv1a64;

use crate::difference::Difference;
use crate::player::Player;
use crate::reference::Reference;
use crate::sample::{Declared, Sample};
use crate::smaller::{STEPS, weight};

/// How many samples the implementation is given at once, of which the first that still disagrees is taken.
const BATCH: usize = 24;

/// How often it is given some, for one disagreement.
const BATCHES: usize = 400;

/// What shrinks disagreements.
pub struct Shrinker<'a> {
    /// Says what is required of smaller samples.
    pub reference: &'a dyn Reference,
    /// The implementation.
    pub player: &'a Player,
    /// When to be content with what there is.
    pub deadline: Option<Instant>,
}

impl Shrinker<'_> {
    /// A smallest sample that no step makes smaller, or the smallest that was found in time.
    ///
    /// # Errors
    /// The implementation cannot be played.
    pub fn shrink(
        &self,
        mut declared: Declared,
        mut found: Difference,
    ) -> Result<(Declared, Difference), String> {
        let mut batches = 0;
        let mut tried: HashSet<u64> = HashSet::new();
        loop {
            let before = weight(&declared.sample);
            for step in STEPS {
                loop {
                    let now = weight(&declared.sample);
                    let candidates = step(&declared.sample, self.reference);
                    let candidates = candidates
                        .into_iter()
                        .take_while(|_| !self.is_over(0))
                        .filter(|sample| weight(sample) < now && tried.insert(key(sample)))
                        .filter_map(|sample| self.as_meant(sample, &declared));
                    let Some(smaller) = self.first(candidates, &found, &mut batches)? else { break };
                    (declared, found) = smaller;
                }
            }
            if weight(&declared.sample) == before || self.is_over(batches) {
                return Ok((declared, found));
            }
        }
    }

    fn is_over(&self, batches: usize) -> bool {
        batches >= BATCHES
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || self.player.stop().asked().is_some()
    }

    /// The candidate with the reference's answer, if that is an acceptance where the sample was accepted, and else a rejection by rules
    /// that the sample was rejected by.
    fn as_meant(&self, candidate: Sample, now: &Declared) -> Option<Declared> {
        let declared = candidate.declare(self.reference)?;
        let (broken, before) = (declared.broken(), now.broken());
        (broken.is_empty() == before.is_empty() && broken.is_subset(&before)).then_some(declared)
    }

    /// The first of the candidates on which the implementation disagrees in the same way.
    fn first(
        &self,
        mut candidates: impl Iterator<Item = Declared>,
        found: &Difference,
        batches: &mut usize,
    ) -> Result<Option<(Declared, Difference)>, String> {
        // What takes most away stands first and mostly goes, so the first batches are small.
        let mut size = 2;
        while !self.is_over(*batches) {
            let batch: Vec<Declared> = candidates.by_ref().take(size).collect();
            if batch.is_empty() {
                break;
            }
            *batches += 1;
            let outcomes = self.player.play(&batch)?;
            for (declared, outcome) in batch.into_iter().zip(&outcomes) {
                if let Some(smaller) = Difference::of(&declared, outcome).filter(|other| found.covers(other))
                {
                    return Ok(Some((declared, smaller)));
                }
            }
            size = BATCH;
        }
        Ok(None)
    }
}

/// What tells samples apart.
fn key(sample: &Sample) -> u64 {
    let mut key = sample.document.clone();
    for (name, tensor) in sample.launches.iter().flatten() {
        key.push(0);
        key.extend(name.as_bytes());
        key.extend(&tensor.bytes);
    }
    fnv1a64(&key)
}
