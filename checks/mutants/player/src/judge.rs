//! One case under one profile, judged by the runner's judge.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{self, AssertUnwindSafe};

use megakernel_active::{NONE, PROBE, activate, take};
use megakernel_conformance::case::Case;
use megakernel_conformance::judge::{Judgement, conversation, owed};
use megakernel_conformance::store::{Corpus, Filter};
use megakernel_ir::companion::{Question, Reference};
use megakernel_ir::diagnostic::Diagnostic;
use megakernel_ir::model::Program;
use megakernel_ir::protocol::{Answer, DocumentBytes, FromWorker, Hello, Method, Profile, Reported, Request};
use megakernel_ir::read;
use megakernel_reference::answer::Programs;
use megakernel_reference::validate::{Classes, validate_program};
use megakernel_task_graph_reference::TaskGraphs;

use crate::process::processor_micros;

/// Larger documents are read anew each time, so that all fits in memory.
const KEPT: usize = 1 << 18;

/// A case under a profile.
pub struct Unit<'c> {
    pub case: &'c Case,
    pub profile: Profile,
    document: &'static [u8],
    program: Option<&'static Program<'static>>,
    /// What the reference takes.
    pub micros: u64,
    differs: [u64; 64],
    answer: Said,
}

/// What was answered, in digests: the rules; the rules and places; all of it.
#[derive(Clone, Copy, Default, PartialEq)]
struct Said([u64; 3]);

impl Said {
    fn add(&mut self, answer: &Answer) {
        let (Answer::Accept { diagnostics, .. } | Answer::Reject { diagnostics }) = answer else { return };
        let digest = |to: &mut u64, what: &dyn Debug| {
            let mut hasher = DefaultHasher::new();
            (*to, format!("{what:?}")).hash(&mut hasher);
            *to = hasher.finish();
        };
        let rules: BTreeSet<&str> = diagnostics.iter().map(|found| found.rule.id()).collect();
        let places: Vec<(&str, String)> =
            diagnostics.iter().map(|found| (found.rule.id(), found.pointer.to_string())).collect();
        digest(&mut self.0[0], &rules);
        digest(&mut self.0[1], &places);
        digest(&mut self.0[2], diagnostics);
    }
}

/// How an answer that passes differs from that of the reference: not, in words, in places, in rules.
pub type Other = u32;

/// In words.
pub const OTHERS: [&str; 4] = ["nothing", "words", "places", "rules"];

impl Unit<'_> {
    pub fn differs(&self, id: u32) -> bool {
        self.differs[id as usize / 64] >> (id % 64) & 1 == 1
    }
}

pub struct Units<'c> {
    pub all: Vec<Unit<'c>>,
    reached: Vec<u32>,
}

impl<'c> Units<'c> {
    /// Plays all cases to the reference.
    pub fn probe(corpus: &'c Corpus, filter: &Filter) -> Result<Units<'c>, String> {
        panic::set_hook(Box::new(|_| {}));
        let judged = [
            Profile::FORMAT,
            Profile::VALIDATE,
            Profile::MEMORY_SAFETY,
            Profile::LAUNCH,
            Profile::TASK_GRAPH,
        ];
        let mut units = Units { all: Vec::new(), reached: vec![0; 4096] };
        for case in corpus.cases().iter().filter(|case| case.execute.is_none() && filter.matches(&case.id)) {
            let profiles: Vec<Profile> =
                judged.into_iter().filter(|profile| case.profiles.contains(profile)).collect();
            if profiles.is_empty() {
                continue;
            }
            // They live as long as the process.
            let document: &'static [u8] =
                Vec::leak(corpus.document(case).map_err(|cause| cause.to_string())?);
            let programs = case.method == Method::VALIDATE && !profiles.contains(&Profile::TASK_GRAPH);
            let program = (programs && document.len() < KEPT).then(|| read(document).ok()).flatten();
            let program: Option<&'static Program<'static>> =
                program.map(|program| &*Box::leak(Box::new(program)));
            for profile in profiles {
                let mut unit = Unit {
                    case,
                    profile,
                    document,
                    program,
                    micros: 0,
                    differs: [0; 64],
                    answer: Said::default(),
                };
                activate(PROBE);
                let judged = judge(&unit, true);
                activate(NONE);
                judged.map_err(|reason| format!("{} fails without a mutant: {reason}", case.id))?;
                let (reached, differs) = take();
                for (n, count) in units.reached.iter_mut().enumerate() {
                    *count += (reached[n / 64] >> (n % 64) & 1) as u32;
                }
                unit.differs = differs;
                let start = processor_micros();
                judge(&unit, false)?;
                unit.micros = processor_micros() - start;
                unit.answer = answer_and_judge(&unit, false)?;
                units.all.push(unit);
            }
        }
        if units.all.is_empty() { Err("no case is selected".to_owned()) } else { Ok(units) }
    }

    /// In how many units a mutant is reached.
    pub fn reached(&self, id: u32) -> u32 {
        self.reached[id as usize]
    }
}

/// Says why an answer is wrong, or how it differs.
pub fn judge(unit: &Unit<'_>, reads: bool) -> Result<Other, String> {
    let said = panic::catch_unwind(AssertUnwindSafe(|| answer_and_judge(unit, reads)));
    let said = said.unwrap_or_else(|_| Err("panics".to_owned()))?;
    let same = said.0.iter().zip(unit.answer.0).take_while(|(said, answer)| **said == *answer).count();
    Ok(3 - same as u32)
}

fn answer_and_judge(unit: &Unit<'_>, reads: bool) -> Result<Said, String> {
    let (mut pointers, mut said) = (Vec::new(), Said::default());
    let mut ask = |question: &Question<'_>| -> Result<FromWorker, String> {
        let answer = match unit.program {
            Some(program) if !reads => validate_program(program, Classes::of_profile(unit.profile)).into(),
            _ => answer(unit.profile, question),
        };
        if let Answer::Accept { diagnostics, .. } | Answer::Reject { diagnostics } = &answer {
            pointers.extend(diagnostics.iter().map(|found| found.pointer.to_string()));
        }
        said.add(&answer);
        from_worker(answer)
    };
    let mut hello = Hello::new("mutant", "0", &[unit.profile]);
    hello.every_rule = true;
    match conversation(unit.case, &owed(unit.case, &hello), unit.document, &mut ask)? {
        Judgement::Passed => {}
        Judgement::Failed(mismatch) => return Err(mismatch.actual),
        Judgement::Skipped(reason) => return Err(reason),
    }
    match &unit.case.expect.at {
        Some(at) if !pointers.contains(at) => Err(format!("nothing at {at}, but at {}", pointers.join(" "))),
        _ => Ok(said),
    }
}

fn answer(profile: Profile, question: &Question<'_>) -> Answer {
    let document = match std::str::from_utf8(question.document) {
        Ok(text) => DocumentBytes::Text(text.into()),
        Err(_) => DocumentBytes::Binary(question.document.to_vec()),
    };
    let request =
        Request { method: question.method, profile, document, arguments: question.arguments.cloned() };
    if profile == Profile::TASK_GRAPH { TaskGraphs.answer(&request) } else { Programs.answer(&request) }
}

fn from_worker(answer: Answer) -> Result<FromWorker, String> {
    let one = |found: Diagnostic| Reported {
        rule: found.rule.id().to_owned(),
        severity: if found.is_error() { "error" } else { "warning" }.to_owned(),
        message: Some(found.message.to_string()),
        pointer: Some(found.pointer.to_string()),
    };
    let (outcome, diagnostics, document, reason) = match answer {
        Answer::Accept { diagnostics, document } => ("accept", diagnostics, document, None),
        Answer::Reject { diagnostics } => ("reject", diagnostics, None, None),
        Answer::Unsupported { reason } => ("unsupported", Vec::new(), None, Some(reason)),
        Answer::Failed { message } => return Err(message),
    };
    Ok(FromWorker {
        kind: "response".to_owned(),
        id: None,
        outcome: Some(outcome.to_owned()),
        diagnostics: Some(diagnostics.into_iter().map(one).collect()),
        document,
        reason,
        message: None,
    })
}
