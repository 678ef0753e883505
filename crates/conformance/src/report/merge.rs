//! The reports of all shards of a run as the report of the whole.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::protocol::Profile;
use megakernel_ir::shard::Shard;

use super::results::{Ended, Parts, Played};
use super::{Counts, ExecutedResult, FailureReport, KnownResult, Refusal, Report};
use crate::run::{Selection, Unit};
use crate::store::Corpus;

/// Puts the reports of shards together; each comes with a name for messages.
///
/// # Errors
/// They are not all shards of one run of this corpus, each of them once and whole. The message says which, and why.
pub fn merge(corpus: &Corpus, reports: &[(String, Report)]) -> Result<Report, String> {
    let [(first_name, first), others @ ..] = reports else {
        return Err("there is no report to merge".to_owned());
    };
    for (name, report) in reports {
        alone(corpus, report).map_err(|why| format!("{name}: {why}"))?;
    }
    for (name, report) in others {
        together(first, report).map_err(|why| format!("{name} and {first_name} {why}"))?;
    }
    complete(reports)?;
    let selection = first.corpus.selection().map_err(|why| format!("{first_name}: {why}"))?;
    let whole = Selection { shard: None, ..selection.clone() };
    let mut played: BTreeMap<(&str, Profile), Ended> = BTreeMap::new();
    let mut executed: Vec<ExecutedResult> = Vec::new();
    let (mut notes, mut known) = (BTreeSet::new(), None::<Vec<KnownResult>>);
    for (name, report) in reports {
        let part = Selection { shard: report.corpus.shard, ..selection.clone() };
        let units = part.units(corpus).map_err(|why| format!("{name}: {why}"))?;
        let ends = ends(&units, report).ok_or_else(|| {
            format!("{name}: it contradicts itself: what it lists is not what it counts, or not of its shard")
        })?;
        played.extend(ends.into_iter().map(|(unit, ended)| ((unit.case.id.as_str(), unit.profile), ended)));
        for line in &report.executed {
            match executed.iter_mut().find(|sum| sum.key() == line.key()) {
                Some(sum) => sum.add(line),
                None => executed.push(line.clone()),
            }
        }
        notes.extend(report.notes.iter().cloned());
        if let Some(lines) = &report.known {
            known.get_or_insert_default().extend(lines.iter().cloned());
        }
    }
    executed.sort_by_key(ExecutedResult::key);
    if let Some(lines) = &mut known {
        lines.sort_by(|a, b| (&a.case, a.profile).cmp(&(&b.case, b.profile)));
    }
    let units = whole.units(corpus).map_err(|why| why.to_string())?;
    let results: Option<Vec<Played<'_>>> = units
        .into_iter()
        .map(|unit| played.remove(&(unit.case.id.as_str(), unit.profile)).map(|ended| (unit, ended)))
        .collect();
    let parts = Parts {
        selection: &whole,
        implementation: first.implementation.clone(),
        handshake: None,
        partial: None,
        known,
        results: results.ok_or("the shards leave out a case")?,
        executed,
        notes: notes.into_iter().collect(),
    };
    Ok(Report::assembled(corpus, parts))
}

/// The report that follows from what this one lists: who was judged, what was selected, what failed and what was skipped, and what was
/// measured of what was executed. A run wrote none that is another one.
///
/// # Errors
/// It is about another corpus or by another suite, or it lists what it does not count, or what was not selected.
pub fn recompute(corpus: &Corpus, report: &Report) -> Result<Report, Refusal> {
    of_this(corpus, report).map_err(Refusal::Elsewhere)?;
    let selection = report.corpus.selection().map_err(Refusal::Contradiction)?;
    let units = selection.units(corpus).map_err(|why| Refusal::Contradiction(why.to_string()))?;
    let results = ends(&units, report).ok_or_else(|| {
        Refusal::Contradiction("what it lists is not what it counts, or not what was selected".to_owned())
    })?;
    let parts = Parts {
        selection: &selection,
        implementation: report.implementation.clone(),
        handshake: report.handshake.clone(),
        partial: report.partial.clone(),
        known: report.known.clone(),
        results,
        executed: report.executed.clone(),
        notes: report.notes.clone(),
    };
    Ok(Report::assembled(corpus, parts))
}

impl Counts {
    /// All of them, if there are so many numbers.
    fn all(self) -> Option<usize> {
        self.passed.checked_add(self.failed)?.checked_add(self.skipped)
    }
}

impl Report {
    /// Whether it is about this corpus.
    fn is_on(&self, corpus: &Corpus) -> bool {
        corpus.digest().is_some() && self.corpus.digest.as_deref() == corpus.digest()
    }

    /// What was selected, in order of case and profile; none if the run was on another corpus than this one, or if it counts another
    /// number of them.
    pub(crate) fn units<'a>(&self, corpus: &'a Corpus) -> Option<Vec<Unit<'a>>> {
        if !self.is_on(corpus) {
            return None;
        }
        let units = self.corpus.selection().ok()?.units(corpus).ok()?;
        (self.totals.all()? == units.len()).then_some(units)
    }

    /// Who was judged, for people.
    pub(crate) fn who(&self) -> String {
        let who = self.implementation.as_ref();
        who.map_or_else(|| "no worker".to_owned(), |who| format!("{} {}", who.name, who.version))
    }

    /// Why each unit was skipped that was.
    pub(crate) fn skipped(&self) -> BTreeMap<(&str, Profile), &str> {
        let mut skipped = BTreeMap::new();
        for line in &self.skips {
            skipped
                .extend(line.cases.iter().map(|case| ((case.as_str(), line.profile), line.reason.as_str())));
        }
        skipped
    }
}

/// Whether a report is by this suite, and about this corpus.
fn of_this(corpus: &Corpus, report: &Report) -> Result<(), String> {
    if report.suite != env!("CARGO_PKG_VERSION") {
        let own = env!("CARGO_PKG_VERSION");
        return Err(format!("it is a report of suite {}, and this is {own}", report.suite));
    }
    if !report.is_on(corpus) {
        return Err("it is a report on another corpus than this one: the digests differ".to_owned());
    }
    Ok(())
}

/// What a report has to be to be merged.
fn alone(corpus: &Corpus, report: &Report) -> Result<(), String> {
    if report.corpus.shard.is_none() {
        return Err("it is no report of a shard; only what `run --shard` reports can be merged".to_owned());
    }
    of_this(corpus, report)?;
    if let Some(partial) = &report.partial {
        return Err(format!("the shard was {partial}; play it again"));
    }
    match &report.handshake {
        Some(failure) => Err(format!("there was no worker: {failure}; play the shard again")),
        None => Ok(()),
    }
}

/// What two reports have to have in common.
fn together(a: &Report, b: &Report) -> Result<(), String> {
    let asked = |report: &Report| {
        let mut info = report.corpus.clone();
        info.shard = None;
        info
    };
    if a.implementation != b.implementation {
        return Err("are about different implementations, or it describes itself differently".to_owned());
    }
    if asked(a) != asked(b) {
        return Err("selected different cases before they were shared".to_owned());
    }
    if a.known.is_some() != b.known.is_some() {
        return Err("do not both go by a list of known failures".to_owned());
    }
    Ok(())
}

/// Each shard has to be there, and once.
fn complete(reports: &[(String, Report)]) -> Result<(), String> {
    let shards: Vec<(&String, Shard)> =
        reports.iter().filter_map(|(name, report)| report.corpus.shard.map(|shard| (name, shard))).collect();
    let of = shards.first().map_or(0, |(_, shard)| shard.of());
    let mut found: BTreeMap<usize, &String> = BTreeMap::new();
    for (name, shard) in &shards {
        if shard.of() != of {
            let first = shards.first().map_or("", |(name, _)| name);
            return Err(format!("{name} is of {} shards, and {first} of {of}", shard.of()));
        }
        if let Some(other) = found.insert(shard.index(), name) {
            return Err(format!("{name} and {other} are both shard {shard}"));
        }
    }
    let missing: Vec<String> =
        (1..=of).filter(|index| !found.contains_key(index)).map(|index| format!("{index}/{of}")).collect();
    match missing.as_slice() {
        [] => Ok(()),
        [one] => Err(format!("shard {one} is missing")),
        several => Err(format!("shards {} are missing", several.join(", "))),
    }
}

/// How the units of a shard ended, as its report says; none if the report does not speak of just these.
fn ends<'a>(units: &[Unit<'a>], report: &Report) -> Option<Vec<Played<'a>>> {
    let mut failures: BTreeMap<(&str, Profile), &FailureReport> = BTreeMap::new();
    for failure in &report.failures {
        failures.insert((&failure.case, failure.profile), failure);
    }
    let mut skips = report.skipped();
    let mut ends = Vec::with_capacity(units.len());
    let mut passed = 0;
    for unit in units {
        let key = (unit.case.id.as_str(), unit.profile);
        let ended = match (failures.remove(&key), skips.remove(&key)) {
            (Some(_), Some(_)) => return None,
            (Some(failure), None) => Ended::Failed(Box::new(failure.clone())),
            (None, Some(reason)) => Ended::Skipped(reason.to_owned()),
            (None, None) => {
                passed += 1;
                Ended::Passed
            }
        };
        ends.push((*unit, ended));
    }
    let counted = report.totals.failed == report.failures.len() && report.totals.passed == passed;
    let all = report.totals.all() == Some(units.len());
    (failures.is_empty() && skips.is_empty() && counted && all).then_some(ends)
}
