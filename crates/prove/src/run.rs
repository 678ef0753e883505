//! A run over a scope: pieces of work for threads, counts or the first disagreement, which is shrunk.

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::checkpoint::{self, Checkpoint};
use crate::{Enumeration, Family, Scope, Shard, Subject, Tally, Weakness};

/// What is asked of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many threads.
    pub jobs: NonZeroUsize,
    /// Which pieces of work; none: all.
    pub shard: Option<Shard>,
    /// The family; none: all.
    pub family: Option<String>,
    /// Where to write down how far the run has come, and to go on from.
    pub checkpoint: Option<PathBuf>,
    /// The checkpoints of all shards of a run, to be put together in place of a run.
    pub merge: Vec<PathBuf>,
    /// What the validator is not to find.
    pub without: Option<Weakness>,
    /// Write the result into the specification.
    pub write: bool,
    /// Compare the result with the specification.
    pub check: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            jobs: NonZeroUsize::MIN,
            shard: None,
            family: None,
            checkpoint: None,
            merge: Vec::new(),
            without: None,
            write: false,
            check: false,
        }
    }
}

/// How a run over a scope ends.
pub enum Outcome<S: Subject> {
    /// The counts, family by family.
    Agreement(Vec<Tally>),
    /// The first document on which the two disagree.
    Disagreement(Box<Disagreement<S>>),
}

/// A document on which validator and explorer disagree, as small as possible.
pub struct Disagreement<S: Subject> {
    /// The family it was found in.
    pub family: &'static str,
    /// The document.
    pub document: S::Document,
    /// What the two say of it.
    pub verdicts: S::Verdicts,
    /// What else there is to say.
    pub remarks: Vec<String>,
}

impl<S: Subject> std::fmt::Display for Disagreement<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&S::text(&self.document))?;
        writeln!(f, "family {}: validator and explorer disagree on the {} above", self.family, S::NOUN)?;
        writeln!(f, "{}", self.verdicts)?;
        for (index, rule) in S::rules(&self.verdicts).iter().enumerate() {
            if S::reason(&self.verdicts, index).is_none() {
                writeln!(f, "no run bears out {rule} {}", rule.slug())?;
            }
        }
        self.remarks.iter().try_for_each(|remark| writeln!(f, "{remark}"))
    }
}

/// What a worker makes of a piece. The error is a disagreement, or nothing for a document that could not be judged.
type Judged<S> = Result<Tally, Option<Box<Disagreement<S>>>>;

/// The families that are asked for, by their place in the scope.
fn enumerations<S: Subject>(
    scope: &Scope<S::Family>,
    options: &Options,
) -> Result<Vec<(usize, S::Enumeration)>, String> {
    if let Some(name) = &options.family
        && scope.families.iter().all(|family| family.name() != name)
    {
        let names: Vec<&str> = scope.families.iter().map(Family::name).collect();
        return Err(format!(
            "scope {} has no family `{name}`; required one of {}",
            scope.name,
            names.join(", ")
        ));
    }
    let wanted = |family: &&S::Family| options.family.as_ref().is_none_or(|name| family.name() == name);
    let families = scope.families.iter().enumerate().filter(|(_, family)| wanted(family));
    Ok(families.map(|(index, family)| (index, S::enumerate(family))).collect())
}

/// The counts of a run whose shards have all come to their end, from the checkpoints that the options name.
///
/// # Errors
/// The scope has no such family; or a checkpoint cannot be read, is of another run or of no shard, or is not complete; or a shard is missing
/// or there twice.
pub fn merged<S: Subject>(scope: &Scope<S::Family>, options: &Options) -> Result<Vec<Tally>, String> {
    let enumerations = enumerations::<S>(scope, options)?;
    let pieces = enumerations.iter().map(|(_, layout)| layout.chunks().len()).sum();
    checkpoint::merged::<S>(options, scope, pieces)
}

/// Judges every document of a scope, or of the part that is asked for.
///
/// # Errors
/// The scope has no such family, the checkpoint cannot be used, or a document cannot be judged.
pub fn run<S: Subject>(scope: &Scope<S::Family>, options: &Options) -> Result<Outcome<S>, String> {
    let enumerations = enumerations::<S>(scope, options)?;
    let shard = options.shard.unwrap_or(Shard::WHOLE);
    let chunks: Vec<_> = enumerations
        .iter()
        .flat_map(|(family, layout)| layout.chunks().into_iter().map(move |chunk| (*family, layout, chunk)))
        .skip(shard.index() - 1)
        .step_by(shard.of())
        .collect();
    let mut checkpoint = Checkpoint::open::<S>(options, scope, chunks.len())?;
    let bar = progress_bar(chunks.iter().map(|(_, layout, chunk)| layout.len(chunk)).sum());
    bar.set_position(chunks.iter().take(checkpoint.done).map(|(_, layout, chunk)| layout.len(chunk)).sum());
    bar.reset_eta();
    let next = AtomicUsize::new(checkpoint.done);
    let stop = AtomicBool::new(false);
    let jobs = options.jobs.get();
    let mut found = None;
    let mut saved = Ok(());
    std::thread::scope(|threads| {
        let (sender, results) = mpsc::sync_channel(2 * jobs);
        for _ in 0..jobs {
            let (sender, chunks, next, stop) = (sender.clone(), &chunks, &next, &stop);
            threads.spawn(move || {
                let mut judge = S::judge(options.without);
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some((family, layout, chunk)) = chunks.get(index) else { return };
                    let name = scope.families[*family].name();
                    let result: Judged<S> = run_chunk::<S>(&mut judge, name, layout, chunk, stop);
                    // After a stop the counts of this piece are not whole.
                    if stop.load(Ordering::Relaxed) && result.is_ok() || sender.send((index, result)).is_err()
                    {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut last_saved = Instant::now();
        for (index, result) in results {
            let (family, layout, chunk) = &chunks[index];
            match result {
                Ok(tally) => checkpoint.add(index, *family, tally),
                Err(disagreement) => {
                    stop.store(true, Ordering::Relaxed);
                    found.get_or_insert(disagreement);
                }
            }
            bar.inc(layout.len(chunk));
            if last_saved.elapsed() > Duration::from_secs(10) && saved.is_ok() {
                saved = checkpoint.save();
                last_saved = Instant::now();
            }
        }
    });
    bar.finish_and_clear();
    saved.and_then(|()| checkpoint.save())?;
    match found {
        Some(Some(disagreement)) => Ok(Outcome::Disagreement(disagreement)),
        Some(None) => Err(format!(
            "the enumeration made a {} that breaks {} rule or is too large to explore",
            S::NOUN,
            S::STRUCTURE
        )),
        None => Ok(Outcome::Agreement(checkpoint.tallies)),
    }
}

fn run_chunk<S: Subject>(
    judge: &mut S::Judge,
    family: &'static str,
    layout: &S::Enumeration,
    chunk: &<S::Enumeration as Enumeration>::Chunk,
    stop: &AtomicBool,
) -> Judged<S> {
    let mut tally = Tally::default();
    let mut wrong: Option<S::Document> = None;
    layout.visit(chunk, &mut |document| {
        if wrong.is_some() || stop.load(Ordering::Relaxed) {
            return;
        }
        match S::ask(judge, document) {
            Some(verdicts) if !S::disagree(&verdicts) => tally.count::<S>(&verdicts),
            _ => wrong = Some(document.clone()),
        }
    });
    match wrong {
        None => Ok(tally),
        Some(document) => Err(explain::<S>(judge, family, document)),
    }
}

/// Makes a document smaller as long as the two disagree on it in the same way, and says what is wrong with what is left.
fn explain<S: Subject>(
    judge: &mut S::Judge,
    family: &'static str,
    document: S::Document,
) -> Option<Box<Disagreement<S>>> {
    let first = S::ask(judge, &document)?;
    let mut smallest = document;
    let mut still_wrong = |smaller: &S::Document| {
        S::ask(judge, smaller).is_some_and(|found| S::disagree(&found) && S::alike(&first, &found))
    };
    while let Some(smaller) = S::smaller(&smallest).into_iter().find(&mut still_wrong) {
        smallest = smaller;
    }
    let verdicts = S::ask(judge, &smallest)?;
    let remarks = S::remarks(judge, &smallest, &verdicts);
    Some(Box::new(Disagreement { family, document: smallest, verdicts, remarks }))
}

fn progress_bar(choices: u64) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(choices), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} {per_sec} {eta} left") {
        bar.set_style(style);
    }
    bar
}
