//! Records of evidence (clause CON-14): which kernels ran on which device, on which cases, and how they were judged.

use megakernel_ir::protocol::{Accumulator, Facts, Profile};
use megakernel_ir::{ABI_VERSION, IR_VERSION, Opcode};
use serde::{Deserialize, Serialize};

use crate::execution::{Class, Counts, Key, Row};
use crate::report::Implementation;
use crate::run::{Options, Outcome, Run, Selection};

mod examine;
mod subject;

pub use examine::{Findings, Kernels};
pub use subject::Subject;

/// Version of the form.
pub const FORMAT: &str = "1.1";

/// The version without sizes, of which there are records that are still true.
const WITHOUT_SIZES: &str = "1.0";

/// A record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// [`FORMAT`], or an earlier version.
    pub evidence: String,
    /// The day of the run, in UTC, such as `2026-11-22`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Version of the suite.
    pub suite: String,
    /// Version of the format that it specifies.
    pub ir_version: String,
    /// Version of the ABI that it specifies.
    pub abi_version: String,
    /// Who was judged.
    pub implementation: Judged,
    /// The device and the kernels.
    pub device: Facts,
    /// By what they were judged.
    pub corpus: Cases,
    /// Whether the profile conforms, and not in part.
    pub conforms: bool,
    /// Cases that passed.
    pub passed: usize,
    /// Cases that failed.
    pub failed: usize,
    /// Cases that were skipped.
    pub skipped: usize,
    /// By opcode and dtype.
    pub executed: Vec<Line>,
    /// What else was run with the same kernels on the same device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// Cases that failed, in order.
    pub failures: Vec<String>,
    /// Cases that were skipped, by reason.
    pub skips: Vec<Skip>,
}

/// Who was judged, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judged {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The model that its sums were judged by.
    pub accumulator: Accumulator,
    /// Whether each task was judged by itself.
    pub traced: bool,
}

/// The cases of the corpus that execute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cases {
    /// How many.
    pub cases: usize,
    /// Of what is sent and expected.
    pub digest: String,
}

/// What was executed of an opcode and a dtype.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// None for programs of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opcode: Option<String>,
    /// Of what was judged.
    pub dtype: String,
    /// Cases that have to do with it.
    pub cases: usize,
    /// Those that failed because of it.
    pub failed: usize,
    /// The largest error of an element that passed, as a share of its bound; none where only integers were judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_error: Option<f64>,
    /// The same by class of sizes, small ones first; none in records of version 1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<OfSize>,
}

/// What was executed of a line in a class of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfSize {
    /// The largest size of the class.
    pub up_to: u64,
    /// As of the line.
    pub cases: usize,
    /// As of the line.
    pub failed: usize,
    /// As of the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_error: Option<f64>,
}

impl Line {
    fn new((opcode, dtype): Key, Row { whole, sizes }: &Row) -> Line {
        let sized = |(class, counts): (&Class, &Counts)| OfSize {
            up_to: class.up_to(),
            cases: counts.cases,
            failed: counts.failed,
            largest_error: counts.share,
        };
        Line {
            opcode: opcode.map(|opcode: Opcode| opcode.name().to_owned()),
            dtype: dtype.name().to_owned(),
            cases: whole.cases,
            failed: whole.failed,
            largest_error: whole.share,
            sizes: sizes.iter().map(sized).collect(),
        }
    }

    /// What its sizes contradict: errors and counts are of the same cases, and a case counts in at least one class.
    fn contradiction(&self) -> Option<&'static str> {
        let largest = self.sizes.iter().filter_map(|of| of.largest_error).reduce(f64::max);
        let sum = |count: fn(&OfSize) -> usize| self.sizes.iter().map(count).sum::<usize>();
        if !self.sizes.is_sorted_by(|a, b| a.up_to < b.up_to) {
            return Some("sizes are not in order");
        }
        if largest != self.largest_error {
            return Some("the largest error is not that of its sizes");
        }
        let counts = sum(|of| of.cases) >= self.cases && sum(|of| of.failed) >= self.failed;
        let within = self.sizes.iter().all(|of| of.cases <= self.cases && of.failed <= self.failed);
        (!counts || !within).then_some("cases are not those of its sizes")
    }
}

/// Something else that was run: programs many times over, or cases under a tool that watches accesses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Such as `litmus`.
    pub name: String,
    /// Whether nothing was found.
    pub passed: bool,
    /// How often each launch ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u64>,
    /// From which places, turns and delays were drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Summaries, as they were printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
}

impl Check {
    /// Reads checks, one a line.
    ///
    /// # Errors
    /// A line is none.
    pub fn read(lines: &str) -> Result<Vec<Check>, String> {
        let lines = lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let read = |(number, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|cause| format!("line {}: {cause}", number + 1))
        };
        lines.map(read).collect()
    }
}

/// Cases that were skipped for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skip {
    /// The reason.
    pub reason: String,
    /// In order.
    pub cases: Vec<String>,
}

/// What a run has to be for evidence to be made of it.
///
/// # Errors
/// It leaves out cases. The message is for whoever asked for it.
pub fn may_be_made_of(options: &Options) -> Result<(), String> {
    let Selection { filter, profiles, .. } = &options.selection;
    if filter.is_some() {
        return Err("evidence is about all cases that execute; leave out --filter".to_owned());
    }
    if options.selection.narrows() || options.fail_fast {
        return Err(
            "evidence is about all cases that execute; leave out what narrows the selection, and --fail-fast"
                .to_owned(),
        );
    }
    if !profiles.is_empty() && !profiles.contains(&Profile::EXECUTE) {
        return Err("evidence is about the profile execute, which --profile leaves out".to_owned());
    }
    Ok(())
}

impl Evidence {
    /// The record of a run of all cases that execute; `subject` is what the corpus makes of them.
    ///
    /// # Errors
    /// The worker does not say what it runs on, or does not execute. The message is for whoever asked for evidence.
    pub fn new(subject: &Subject, run: &Run<'_>) -> Result<Evidence, String> {
        if let Some(asked) = run.stopped {
            return Err(format!("the run was interrupted by {asked}"));
        }
        let hello = run.hello.as_ref().map_err(|_| "the worker did not complete the handshake".to_owned())?;
        if !hello.claims(Profile::EXECUTE) {
            return Err("the worker does not claim the profile execute".to_owned());
        }
        let judged = Implementation::new(hello, run.traced);
        let device = judged.device.ok_or(
            "the worker does not say in its handshake which device and kernels it runs (member `device`, clause CON-02)",
        )?;
        let mut record = Evidence {
            evidence: FORMAT.to_owned(),
            date: None,
            suite: env!("CARGO_PKG_VERSION").to_owned(),
            ir_version: IR_VERSION.to_owned(),
            abi_version: ABI_VERSION.to_owned(),
            implementation: Judged {
                name: judged.name,
                version: judged.version,
                accumulator: hello.accumulator,
                traced: run.traced,
            },
            device,
            corpus: subject.cases.clone(),
            conforms: false,
            passed: 0,
            failed: 0,
            skipped: 0,
            executed: Vec::new(),
            checks: Vec::new(),
            failures: Vec::new(),
            skips: Vec::new(),
        };
        for (unit, outcome) in run.results.iter().filter(|(unit, _)| unit.profile == Profile::EXECUTE) {
            let id = unit.case.id.clone();
            match outcome {
                Outcome::Passed => record.passed += 1,
                Outcome::Skipped(reason) => {
                    record.skipped += 1;
                    match record.skips.iter_mut().find(|skip| skip.reason == *reason) {
                        Some(skip) => skip.cases.push(id),
                        None => record.skips.push(Skip { reason: reason.clone(), cases: vec![id] }),
                    }
                }
                Outcome::WrongAnswer(_) | Outcome::WorkerFailed { .. } | Outcome::NotAsked(_) => {
                    record.failed += 1;
                    record.failures.push(id);
                }
            }
        }
        record.conforms = record.whole();
        record.skips.sort_by(|a, b| a.reason.cmp(&b.reason));
        record.executed = run.executed.rows().map(|(key, row)| Line::new(key, row)).collect();
        Ok(record)
    }

    /// Whether every case passed.
    fn whole(&self) -> bool {
        self.passed > 0 && self.failed == 0 && self.skipped == 0
    }

    /// Whether cases passed and none failed, but some were skipped.
    pub fn conforms_in_part(&self) -> bool {
        self.passed > 0 && self.failed == 0 && self.skipped > 0
    }

    /// Reads a record.
    ///
    /// # Errors
    /// It is no record of this form, or it contradicts itself.
    pub fn read(text: &str) -> Result<Evidence, String> {
        let record: Evidence = serde_json::from_str(text).map_err(|cause| cause.to_string())?;
        let sized = record.evidence == FORMAT;
        if !sized && record.evidence != WITHOUT_SIZES {
            let found = &record.evidence;
            return Err(format!(
                "`evidence` is `{found}`, and this suite reads {FORMAT} and {WITHOUT_SIZES}"
            ));
        }
        for line in &record.executed {
            let of = || line.opcode.as_deref().unwrap_or("programs of several opcodes");
            let (found, dtype, sizes) = (&record.evidence, &line.dtype, line.sizes.len());
            if line.sizes.is_empty() == sized {
                return Err(format!("`evidence` is `{found}`, and {} in {dtype} has {sizes} sizes", of()));
            }
            if let Some(contradiction) = line.contradiction().filter(|_| sized) {
                return Err(format!("{} in {dtype}: {contradiction}", of()));
            }
        }
        let skipped: usize = record.skips.iter().map(|skip| skip.cases.len()).sum();
        for (count, named, what) in
            [(record.failed, record.failures.len(), "failures"), (record.skipped, skipped, "skips")]
        {
            if count != named {
                return Err(format!("{count} cases are counted under `{what}`, and {named} are named"));
            }
        }
        if record.conforms != record.whole() {
            return Err("`conforms` does not follow from the counts".to_owned());
        }
        Ok(record)
    }

    /// The record as JSON, ended by a line feed.
    ///
    /// # Errors
    /// None that a record can cause; they are passed on rather than hidden.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }
}
