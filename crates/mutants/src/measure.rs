//! Which faults of a validator the cases of a corpus reject.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use megakernel_conformance::case::Case;
use megakernel_conformance::judge::{Judgement, verdict};
use megakernel_conformance::store::Corpus;
use megakernel_ir::Rule;
use megakernel_ir::protocol::{FromWorker, Method, Profile, Reported};
use megakernel_ir::rule::Severity;

use crate::allowed::{ALLOWED, accepts};
use crate::{Step, Steps, judge};

/// Documents beyond this size are not played: the validator compares everything with everything.
const LARGEST: usize = 1 << 18;

/// So many cases that reject a fault are enough to know: it is not played further.
pub const ENOUGH: usize = 6;

/// What came out.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// How many cases were played.
    pub cases: usize,
    /// For each step that some case takes, the cases that reject a validator that goes wrong there; of very many, the first ones.
    pub kills: BTreeMap<Step, BTreeSet<String>>,
    /// Cases that the validator without a fault fails: one of the two is wrong.
    pub false_alarms: Vec<String>,
    /// What shows each of [`ALLOWED`].
    pub allowed: Vec<Shown>,
}

/// The cases that accept what a sentence allows and a fault refuses, and the names of these faults.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Ids of the cases.
    pub cases: BTreeSet<String>,
    /// Names of the faults.
    pub faults: BTreeSet<&'static str>,
}

impl Shown {
    fn play(&mut self, faults: &[&str], case: &Case, document: &[u8]) {
        for &profile in &case.profiles {
            let steps = Steps::recording(BTreeSet::new());
            passes(&steps, case, profile, document);
            let of = |step: &Step| faults.contains(&step.name);
            for step in steps.met().different.into_iter().filter(of) {
                if passes(&Steps::wrong(step), case, profile, document) != Judgement::Passed {
                    self.cases.insert(case.id.clone());
                    self.faults.insert(step.name);
                }
            }
        }
    }
}

impl Measured {
    /// How many cases reject a fault, up to [`ENOUGH`].
    pub fn count(&self, step: &Step) -> usize {
        self.kills.get(step).map_or(0, |cases| cases.len().min(ENOUGH))
    }
}

/// Whether the answer of a validator with these steps passes a case under a profile.
fn passes(steps: &Steps, case: &Case, profile: Profile, document: &[u8]) -> Judgement {
    let rules = judge(steps, document, profile);
    let severity = |rule: &Rule| if rule.severity() == Severity::Error { "error" } else { "warning" };
    let reported = |rule: &Rule| Reported {
        rule: rule.id().to_owned(),
        severity: severity(rule).to_owned(),
        message: None,
        pointer: None,
    };
    let rejects = rules.iter().any(|rule| rule.severity() == Severity::Error);
    let answer = FromWorker {
        kind: "response".to_owned(),
        id: None,
        outcome: Some(if rejects { "reject" } else { "accept" }.to_owned()),
        diagnostics: Some(rules.iter().map(reported).collect()),
        document: None,
        reason: None,
        message: None,
    };
    verdict(case, &answer)
}

/// Plays every fault that a case can show, on every case that asks for a verdict on a program.
///
/// # Errors
/// The corpus is broken.
pub fn measure(
    corpus: &Corpus,
    wanted: &(dyn Fn(&Case) -> bool + Sync),
    jobs: NonZeroUsize,
) -> Result<Measured, String> {
    let cases: Vec<&Case> = corpus
        .cases()
        .iter()
        .filter(|case| [Method::VALIDATE, Method::ROUNDTRIP].contains(&case.method))
        .filter(|case| case.profiles.iter().all(|profile| JUDGED.contains(profile)) && wanted(case))
        .collect();
    let mut documents = Vec::new();
    for case in cases {
        let document = corpus.document(case).map_err(|cause| cause.to_string())?;
        if document.len() <= LARGEST {
            documents.push((document, case));
        }
    }
    // Small documents first: what they reject need not be played on large ones.
    documents.sort_by_key(|(document, _)| document.len());
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Measured { cases: documents.len(), ..Measured::default() });
    std::thread::scope(|scope| {
        for _ in 0..jobs.get() {
            scope.spawn(|| {
                let mut taken = BTreeSet::new();
                while let Some((document, case)) = documents.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for &profile in &case.profiles {
                        taken = play(case, profile, document, taken, &done);
                    }
                }
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                taken.into_iter().for_each(|step| {
                    done.kills.entry(step).or_default();
                });
            });
        }
    });
    let mut measured = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    measured.false_alarms.sort();
    for allowed in ALLOWED {
        let filters = allowed.filters()?;
        let is_of = |case: &Case| accepts(case) && filters.iter().any(|filter| filter.matches(&case.id));
        let mut shown = Shown::default();
        for (document, case) in documents.iter().filter(|(_, case)| is_of(case)) {
            shown.play(allowed.faults, case, document);
        }
        measured.allowed.push(shown);
    }
    Ok(measured)
}

/// The profiles whose answers are verdicts on programs.
const JUDGED: [Profile; 4] = [Profile::FORMAT, Profile::VALIDATE, Profile::MEMORY_SAFETY, Profile::LAUNCH];

/// Plays the faults that can show in a case and are not known well enough. Which cases those are depends on the threads; whether
/// there are as many as [`ENOUGH`], and otherwise how many, does not.
fn play(
    case: &Case,
    profile: Profile,
    document: &[u8],
    taken: BTreeSet<Step>,
    done: &Mutex<Measured>,
) -> BTreeSet<Step> {
    let lock = || done.lock().unwrap_or_else(PoisonError::into_inner);
    let steps = Steps::recording(taken);
    let judged = passes(&steps, case, profile, document);
    let met = steps.met();
    if let Judgement::Failed(mismatch) = judged {
        let (expected, actual) = (mismatch.expected, mismatch.actual);
        lock().false_alarms.push(format!("{} under {profile}: {expected}; {actual}", case.id));
        return met.taken;
    }
    let open: Vec<Step> = {
        let done = lock();
        let is_open = |step: &Step| {
            done.kills.get(step).is_none_or(|cases| cases.len() < ENOUGH && !cases.contains(&case.id))
        };
        met.different.into_iter().filter(is_open).collect()
    };
    let fails = |step: &Step| passes(&Steps::wrong(*step), case, profile, document) != Judgement::Passed;
    let found: Vec<Step> = open.into_iter().filter(fails).collect();
    let mut done = lock();
    found.into_iter().for_each(|step| {
        done.kills.entry(step).or_default().insert(case.id.clone());
    });
    met.taken
}
