//! Every fault and every variant on every case, judged in process as the runner judges a worker.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::faults::{Fault, Watch};
use crate::variants::Variant;
use megakernel_conformance::case::Case;
use megakernel_conformance::store::Corpus;
use megakernel_ir::protocol::Accumulator;
use megakernel_ir::{DType, Opcode};

pub mod report;
mod subject;

use subject::{Played, Subject};

/// What is played.
pub struct Plan<'a> {
    /// The corpus.
    pub corpus: &'a Corpus,
    /// The cases, all of which execute.
    pub cases: Vec<&'a Case>,
    /// The faults.
    pub faults: Vec<&'static Fault>,
    /// The variants.
    pub variants: Vec<Variant>,
}

/// A legitimate implementation that failed a case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FalseAlarm {
    /// The case.
    pub case: String,
    /// The number of the variant.
    pub variant: usize,
    /// What was judged wrong.
    pub what: String,
}

/// An opcode, or none for programs of several, and an output dtype.
pub type Line = (Option<Opcode>, DType);

/// How far results are from what is admitted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tightness {
    /// Cases.
    pub cases: usize,
    /// The largest share of a bound that a legitimate variant uses.
    pub legitimate: f64,
    /// The smallest multiple of a bound by which a fault is rejected, and the fault.
    pub fault: Option<(f64, &'static str)>,
}

/// Where rejections of a fault count: an output dtype, or nothing for all that have none of their own.
pub type Column = Option<DType>;

/// Where a bound alone, as wide as the sum is long, would hide a missing tile from a narrow output.
pub const LONG: i64 = 8192;

/// What came out.
#[derive(Debug, Default)]
pub struct Result {
    /// For each fault, the cases that reject it.
    pub kills: BTreeMap<&'static str, BTreeMap<Column, Vec<String>>>,
    /// The same, of those that sum over at least [`LONG`] columns only.
    pub long_kills: BTreeMap<&'static str, BTreeMap<Column, usize>>,
    /// For each opcode and dtype.
    pub tightness: BTreeMap<Line, Tightness>,
    /// What must not be.
    pub false_alarms: Vec<FalseAlarm>,
}

impl Result {
    /// Cases that reject the fault in this column.
    pub fn count(&self, fault: &str, column: Column) -> usize {
        self.kills.get(fault).and_then(|columns| columns.get(&column)).map_or(0, Vec::len)
    }

    fn add(&mut self, other: Result) {
        for (fault, columns) in other.kills {
            let mine = self.kills.entry(fault).or_default();
            columns.into_iter().for_each(|(column, cases)| mine.entry(column).or_default().extend(cases));
        }
        for (fault, columns) in other.long_kills {
            let mine = self.long_kills.entry(fault).or_default();
            columns.into_iter().for_each(|(column, count)| *mine.entry(column).or_default() += count);
        }
        for (line, theirs) in other.tightness {
            let mine = self.tightness.entry(line).or_default();
            mine.cases += theirs.cases;
            mine.legitimate = mine.legitimate.max(theirs.legitimate);
            mine.fault = nearer(mine.fault, theirs.fault);
        }
        self.false_alarms.extend(other.false_alarms);
    }
}

/// The smaller of two errors; of equal ones, the first by name.
fn nearer(a: Option<(f64, &'static str)>, b: Option<(f64, &'static str)>) -> Option<(f64, &'static str)> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if a.0.total_cmp(&b.0).then(a.1.cmp(b.1)).is_le() { a } else { b }),
        (one, None) | (None, one) => one,
    }
}

/// Plays everything. The result does not depend on `jobs`.
///
/// # Errors
/// The corpus is broken.
pub fn measure(
    plan: &Plan<'_>,
    jobs: NonZeroUsize,
    progress: &(dyn Fn(&Result) + Sync),
) -> std::result::Result<Result, String> {
    let next = AtomicUsize::new(0);
    let done: Mutex<std::result::Result<Result, String>> = Mutex::new(Ok(Result::default()));
    std::thread::scope(|scope| {
        for _ in 0..jobs.get() {
            scope.spawn(|| {
                while let Some(case) = plan.cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = of_case(plan, case);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    match (&mut *done, found) {
                        (Ok(all), Ok(found)) => {
                            all.add(found);
                            progress(all);
                        }
                        (Ok(_), Err(cause)) => {
                            *done = Err(cause);
                            next.store(plan.cases.len(), Ordering::Relaxed);
                        }
                        (Err(_), _) => {}
                    }
                }
            });
        }
    });
    let mut result = done.into_inner().unwrap_or_else(PoisonError::into_inner)?;
    result.kills.values_mut().flat_map(BTreeMap::values_mut).for_each(|cases| cases.sort());
    result.false_alarms.sort();
    Ok(result)
}

fn of_case(plan: &Plan<'_>, case: &Case) -> std::result::Result<Result, String> {
    let documents = plan.corpus.launch_documents(case).map_err(|cause| cause.to_string())?;
    let subject = Subject::of_case(plan.corpus, case, &documents)?;
    let mut result = Result::default();
    let mut tightness = Tightness { cases: 1, ..Tightness::default() };
    for variant in &plan.variants {
        let truncates = variant.style.truncates();
        let accumulator = if truncates { Accumulator::Truncating } else { Accumulator::Binary32 };
        match subject.play(&variant.style, accumulator) {
            Played::Passed(share) => tightness.legitimate = tightness.legitimate.max(share),
            Played::Failed { what, .. } => {
                let case = case.id.clone();
                result.false_alarms.push(FalseAlarm { case, variant: variant.number, what });
            }
        }
    }
    let watch = Watch::default();
    let _ = subject.play(&watch, Accumulator::Binary32);
    let seen = watch.seen();
    let can_show = |fault: &&&Fault| subject.concerns(fault) && fault.can_show(&seen);
    for fault in plan.faults.iter().filter(can_show) {
        let Played::Failed { worst, .. } = subject.play(fault.kernels, fault.accumulator) else {
            continue;
        };
        tightness.fault = nearer(tightness.fault, Some((worst, fault.id)));
        let column = subject.counts_for(fault);
        if subject.columns >= LONG {
            *result.long_kills.entry(fault.id).or_default().entry(column).or_default() += 1;
        }
        result.kills.entry(fault.id).or_default().entry(column).or_default().push(case.id.clone());
    }
    for line in subject.lines() {
        result.tightness.insert(line, tightness);
    }
    Ok(result)
}
