//! The loop: samples are drawn, played, and where the implementation differs, shrunk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use megakernel_conformance::run;
use megakernel_ir::protocol::Profile;

use crate::bases::Bases;
use crate::coverage::Coverage;
use crate::difference::Difference;
use crate::draw::Source;
use crate::features;
use crate::findings::Finding;
use crate::player::Player;
use crate::reference::Reference;
use crate::sample::{Declared, Sample};
use crate::shrink::Shrinker;

/// How many samples are drawn before what was seen counts, and played together.
const ROUND: u64 = 96;

/// What to do, and how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which samples: another seed draws others.
    pub seed: u64,
    /// How many samples.
    pub count: u64,
    /// When to stop drawing and shrinking, at whatever number.
    pub deadline: Option<Instant>,
    /// The profiles that are asked about.
    pub profiles: Vec<Profile>,
    /// How many disagreements of one cause, in the words of a report, are shrunk; the others are counted.
    pub per_cause: usize,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Samples drawn so far.
    pub drawn: u64,
    /// Findings so far.
    pub findings: usize,
}

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// How many samples were drawn.
    pub drawn: u64,
    /// How many of them the reference had no answer to.
    pub unanswered: u64,
    /// How many the implementation was judged by.
    pub compared: u64,
    /// Why others were not, and how many.
    pub skipped: BTreeMap<String, u64>,
    /// Disagreements of causes that were found before.
    pub duplicates: u64,
    /// Those of causes that were not, shrunk, in the order in which they were found.
    pub findings: Vec<Finding>,
    /// What was seen.
    pub coverage: Coverage,
}

/// An implementation, a reference, and what they are compared on.
pub struct Fuzz<'a> {
    /// Says what is required.
    pub reference: &'a dyn Reference,
    /// What documents start from.
    pub bases: &'a Bases,
    /// The implementation.
    pub player: &'a Player,
}

impl Fuzz<'_> {
    /// Plays the samples of earlier findings: those on which the implementation still differs, the number of those on which it does
    /// not, and that of those which were not played: not claimed, not asked, or without an answer of the reference.
    ///
    /// # Errors
    /// The implementation cannot be played.
    pub fn replay(&self, former: Vec<(String, Sample)>) -> Result<(Vec<Finding>, usize, usize), String> {
        let all = former.len();
        let former: Vec<(String, Declared)> = former
            .into_iter()
            .filter(|(_, sample)| self.player.hello().claims(sample.profile))
            .filter_map(|(id, sample)| Some((id, sample.declare(self.reference)?)))
            .collect();
        let declared: Vec<Declared> = former.iter().map(|(_, declared)| declared.clone()).collect();
        let outcomes = self.player.play(&declared)?;
        let mut differ = Vec::new();
        let mut agree = 0;
        for ((id, declared), outcome) in former.into_iter().zip(&outcomes) {
            match Difference::of(&declared, outcome) {
                Some(difference) => differ.push(Finding { id, declared, difference }),
                None if *outcome == run::Outcome::Passed => agree += 1,
                None => {}
            }
        }
        let unplayed = all - differ.len() - agree;
        Ok((differ, agree, unplayed))
    }

    /// Draws samples and plays them, and passes on each finding as soon as it is shrunk. Causes that `former` findings have are not
    /// found again. Two runs with one seed and count find the same, at any number of jobs, unless a deadline cuts one short or the
    /// implementation is given up.
    ///
    /// # Errors
    /// The implementation cannot be played.
    pub fn run(
        &self,
        options: &Options,
        former: &[Finding],
        progress: &dyn Fn(Progress),
        found: &dyn Fn(&Finding) -> Result<(), String>,
    ) -> Result<Outcome, String> {
        let mut outcome = Outcome::default();
        let signature = |finding: &Finding| finding.difference.signature(&finding.declared);
        let mut known: BTreeSet<String> = former.iter().map(signature).collect();
        let mut shrunk: BTreeMap<String, usize> = BTreeMap::new();
        let shrinker =
            Shrinker { reference: self.reference, player: self.player, deadline: options.deadline };
        while outcome.drawn < options.count && !self.is_over(options) {
            let round = ROUND.min(options.count - outcome.drawn);
            let samples = self.round(options, &outcome.coverage, outcome.drawn..outcome.drawn + round);
            outcome.drawn += round;
            outcome.unanswered += round - samples.len() as u64;
            for sample in &samples {
                outcome.coverage.add(sample.sample.profile, &features::crossings(sample));
            }
            let results = self.player.play(&samples)?;
            for (sample, result) in samples.into_iter().zip(&results) {
                match result {
                    run::Outcome::Skipped(reason) | run::Outcome::NotAsked(reason) => {
                        *outcome.skipped.entry(reason.clone()).or_default() += 1;
                    }
                    _ => outcome.compared += 1,
                }
                let Some(difference) = Difference::of(&sample, result) else { continue };
                let times = shrunk.entry(difference.cause.clone()).or_default();
                if *times >= options.per_cause || self.is_over(options) && *times > 0 {
                    outcome.duplicates += 1;
                    continue;
                }
                *times += 1;
                let (declared, difference) = shrinker.shrink(sample, difference)?;
                let finding = Finding::new(declared, difference);
                match known.insert(signature(&finding)) {
                    true => {
                        found(&finding)?;
                        outcome.findings.push(finding);
                    }
                    false => outcome.duplicates += 1,
                }
                progress(Progress { drawn: outcome.drawn, findings: outcome.findings.len() });
            }
            progress(Progress { drawn: outcome.drawn, findings: outcome.findings.len() });
        }
        Ok(outcome)
    }

    fn is_over(&self, options: &Options) -> bool {
        options.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || self.player.stop().asked().is_some()
    }

    /// The samples with these numbers, in order; each depends on what was seen before the round.
    fn round(&self, options: &Options, coverage: &Coverage, range: std::ops::Range<u64>) -> Vec<Declared> {
        let source =
            Source { reference: self.reference, bases: self.bases, coverage, profiles: &options.profiles };
        let next = AtomicU64::new(range.start);
        let drawn = Mutex::new(BTreeMap::new());
        std::thread::scope(|scope| {
            for _ in 0..self.player.jobs().get() {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= range.end {
                            break;
                        }
                        if let Some(sample) = source.draw(options.seed, index) {
                            drawn.lock().unwrap_or_else(PoisonError::into_inner).insert(index, sample);
                        }
                    }
                });
            }
        });
        drawn.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
    }
}
