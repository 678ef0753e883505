//! Reports side by side as one page: cases as rows, by profile, by rule and clause or by opcode, and runs as columns.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::protocol::Profile;
use megakernel_ir::registry;
use serde_json::{Value, json};

use super::fill;
use crate::case::Case;
use crate::compare::notes;
use crate::execution::used;
use crate::report::{FailureKind, FailureReport, Report};
use crate::store::Corpus;
use crate::worker::Failure;

const PAGE: &str = include_str!("compare.html");

/// A case under a profile.
type Key<'a> = (&'a str, Profile);

/// How a case ended in a run, as the page has it: one letter.
mod end {
    pub const PASSED: char = 'p';
    pub const FAILED: char = 'f';
    pub const TIMEOUT: char = 't';
    pub const SKIPPED: char = 's';
    /// Not selected.
    pub const ABSENT: char = 'a';
    /// The run was on another corpus, or counts other cases, and its report names what failed and what was skipped alone.
    pub const UNNAMED: char = 'u';
}

/// The page. Each report has the name of its column. What passed is known of runs on this corpus.
///
/// # Errors
/// None that reports can cause; they are passed on rather than hidden.
pub fn compare(reports: &[(&str, &Report)], corpus: &Corpus) -> serde_json::Result<String> {
    let sides: Vec<Side<'_>> = reports.iter().map(|(_, report)| Side::new(report, corpus)).collect();
    let keys: BTreeSet<Key<'_>> = sides.iter().flat_map(Side::keys).collect();
    let mut texts = Texts::default();
    let mut opcodes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut cases = Vec::with_capacity(keys.len());
    for key in keys {
        let (id, profile) = key;
        let case = corpus.case(id);
        let failures: Vec<Option<&FailureReport>> =
            sides.iter().map(|side| side.failures.get(&key).copied()).collect();
        let ends: String = sides.iter().map(|side| side.end(key)).collect();
        let mut causes: Vec<Option<&str>> =
            failures.iter().map(|it| it.map(|failure| failure.cause.as_str())).collect();
        // Who does not say how a case ended does not differ from another.
        let mut said = ends.chars().filter(|end| ![end::ABSENT, end::UNNAMED].contains(end));
        let first = said.next();
        let same = said.all(|end| Some(end) == first);
        causes.dedup();
        let executed = opcodes.entry(id).or_insert_with(|| {
            let executed = case.map_or_else(BTreeSet::new, |case| used(corpus, case).0);
            executed.iter().map(|opcode| texts.index(opcode.name())).collect()
        });
        let mut row = json!({ "case": id, "profile": profile, "clauses": clauses(case, &failures, &mut texts), "ends": ends });
        if let Some(row) = row.as_object_mut() {
            if !executed.is_empty() {
                row.insert("opcodes".to_owned(), json!(executed));
            }
            if !same || causes.len() > 1 {
                row.insert("differs".to_owned(), true.into());
            }
            let why: Vec<Value> = sides.iter().map(|side| side.why(key, &mut texts)).collect();
            if why.iter().any(|why| !why.is_null()) {
                row.insert("why".to_owned(), why.into());
                let summary = failures.iter().flatten().next().map(|failure| failure.summary.as_str());
                let summary = summary.or(case.map(|case| case.summary.as_str())).unwrap_or_default();
                row.insert("summary".to_owned(), summary.into());
            }
        }
        cases.push(row);
    }
    let run = |(name, report): &(&str, &Report)| {
        let (who, suite, cases) = (report.who(), &report.suite, report.corpus.cases);
        json!({ "name": name, "who": who, "verdict": report.verdict.name(), "suite": suite, "cases": cases })
    };
    let all: Vec<&Report> = reports.iter().map(|(_, report)| *report).collect();
    let headings: BTreeMap<&str, &str> = registry::headings().map(|it| (it.id, it.title)).collect();
    let data = json!({
        "runs": reports.iter().map(run).collect::<Vec<_>>(),
        "notes": notes(&all),
        "profiles": registry::profiles().map(Profile::name).collect::<Vec<_>>(),
        "headings": headings,
        "texts": texts.all,
        "cases": cases,
    });
    fill(PAGE, &data)
}

/// What a case cites, as indices of texts: as the corpus says, or what failed.
fn clauses(case: Option<&Case>, failures: &[Option<&FailureReport>], texts: &mut Texts) -> Vec<usize> {
    let failed =
        failures.iter().flatten().flat_map(|failure| failure.clauses.iter().map(|clause| clause.id.as_str()));
    let cited: BTreeSet<&str> = match case {
        Some(case) => case.clauses.iter().map(String::as_str).collect(),
        None => failed.collect(),
    };
    cited.into_iter().map(|id| texts.index(id)).collect()
}

/// A run, to be asked how a case ended.
struct Side<'a> {
    failures: BTreeMap<Key<'a>, &'a FailureReport>,
    skips: BTreeMap<Key<'a>, &'a str>,
    /// What was selected, if the run was on this corpus and counts as many.
    selected: Option<BTreeSet<Key<'a>>>,
}

impl<'a> Side<'a> {
    fn new(report: &'a Report, corpus: &'a Corpus) -> Side<'a> {
        let failure = |it: &'a FailureReport| ((it.case.as_str(), it.profile), it);
        let key = |unit: crate::run::Unit<'a>| (unit.case.id.as_str(), unit.profile);
        Side {
            failures: report.failures.iter().map(failure).collect(),
            skips: report.skipped(),
            selected: report.units(corpus).map(|units| units.into_iter().map(key).collect()),
        }
    }

    fn keys(&self) -> impl Iterator<Item = Key<'a>> {
        let selected = self.selected.iter().flatten();
        selected.chain(self.failures.keys()).chain(self.skips.keys()).copied()
    }

    fn end(&self, key: Key<'_>) -> char {
        match (self.failures.get(&key), &self.selected) {
            (Some(failure), _) if is_late(failure) => end::TIMEOUT,
            (Some(_), _) => end::FAILED,
            _ if self.skips.contains_key(&key) => end::SKIPPED,
            (None, None) => end::UNNAMED,
            (None, Some(selected)) if selected.contains(&key) => end::PASSED,
            (None, Some(_)) => end::ABSENT,
        }
    }

    /// What there is to say about an end, as indices of texts.
    fn why(&self, key: Key<'_>, texts: &mut Texts) -> Value {
        if let Some(failure) = self.failures.get(&key) {
            let said = [&failure.cause, &failure.expected, &failure.actual, &failure.rerun];
            return json!(said.map(|text| texts.index(text)));
        }
        self.skips.get(&key).map_or(Value::Null, |reason| json!([texts.index(reason)]))
    }
}

/// Whether no answer came in time.
fn is_late(failure: &FailureReport) -> bool {
    failure.kind == FailureKind::Worker && failure.actual.starts_with(Failure::LATE)
}

/// Texts that many cases have in common, each once.
#[derive(Default)]
struct Texts {
    all: Vec<String>,
    places: BTreeMap<String, usize>,
}

impl Texts {
    fn index(&mut self, text: &str) -> usize {
        if let Some(&index) = self.places.get(text) {
            return index;
        }
        self.all.push(text.to_owned());
        self.places.insert(text.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }
}
