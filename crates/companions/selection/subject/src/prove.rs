//! The scopes for `megakernel-suite prove`.

use std::fmt::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use megakernel_prove::{Options, Provable, Shard, keep, thousands};

use crate::compare::{Count, Disagreement};
use crate::{Scope, run, scopes};

/// The requests of selection.
pub static SUBJECT: Requests = Requests;

/// What the scopes enumerate.
#[derive(Debug)]
pub struct Requests;

/// Where the result stands.
const DOCUMENT: &str = "spec/companions/selection/soundness.md";

/// The scopes: the longest sequences in them, where a family has longer ones, and which of the indices are taken, every so-many-th.
const SCOPES: [(&str, &str, usize, usize); 2] = [
    ("selection-ci", "sequences of up to 3 ops, every seventh index", 3, 7),
    ("selection-large", "every family to its full length", usize::MAX, 1),
];

/// Sequences that a thread takes at a time.
const CHUNK: usize = 4;

impl Provable for Requests {
    fn scopes(&self) -> Vec<&'static str> {
        SCOPES.iter().map(|(name, ..)| *name).collect()
    }

    fn list(&self) -> String {
        let mut out = String::new();
        for (name, about, longest, step) in SCOPES {
            let _ = writeln!(out, "{name}: {about}");
            for family in families(longest, step) {
                let requests = thousands(family.requests());
                let _ = writeln!(out, "  {}: {}; {requests} requests", family.name, family.describe());
            }
        }
        out
    }

    fn prove(
        &self,
        root: &Path,
        scope: &str,
        options: &Options,
        print: &dyn Fn(&str) -> Result<(), String>,
    ) -> Result<bool, String> {
        let found = SCOPES.iter().find(|(name, ..)| *name == scope);
        let &(_, _, longest, step) = found.ok_or_else(|| format!("selection has no scope `{scope}`"))?;
        if options.checkpoint.is_some() || !options.merge.is_empty() || options.without.is_some() {
            return Err("selection takes none of --checkpoint, --merge and --without".to_owned());
        }
        let mut families = families(longest, step);
        if let Some(wanted) = &options.family {
            families.retain(|family| family.name == wanted);
            if families.is_empty() {
                return Err(format!("scope {scope} has no family `{wanted}`"));
            }
        }
        let (mut table, mut all) = (heading(), Count::default());
        for family in &families {
            match parallel(family, options) {
                Ok(count) => {
                    row(&mut table, &format!("`{}`: {}", family.name, family.describe()), &count);
                    all.add(&count);
                }
                Err(found) => {
                    let Disagreement { what, sequence, index, limit } = *found;
                    print(&format!(
                        "family {}, sequence {sequence}, index {index}, limit {limit}: {what}\n{:#?}\n{:#?}\n",
                        family.name,
                        family.sequence(sequence),
                        family.index(index)
                    ))?;
                    return Ok(false);
                }
            }
        }
        row(&mut table, "**all**", &all);
        print(&table)?;
        keep(root, DOCUMENT, scope, &table, options)?;
        print(&format!("{} requests, no disagreement\n", thousands(all.requests)))?;
        Ok(true)
    }
}

fn families(longest: usize, step: usize) -> Vec<Scope> {
    let mut families = scopes();
    for family in &mut families {
        family.longest = family.longest.min(longest);
        family.step = step;
    }
    families
}

fn heading() -> String {
    "| family | requests | with a plan | where a flush rewinds | dearer than the optimum | stuck, though there is a plan | \
     disagreements |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        .to_owned()
}

fn row(out: &mut String, name: &str, count: &Count) {
    let numbers = [count.requests, count.planned, count.rewound, count.dearer, count.stuck, 0].map(thousands);
    let _ = writeln!(out, "| {name} | {} |", numbers.join(" | "));
}

/// All sequences of a family, on as many threads as are asked for.
fn parallel(family: &Scope, options: &Options) -> Result<Count, Box<Disagreement>> {
    let shard = options.shard.unwrap_or(Shard::WHOLE);
    let (next, stop) = (AtomicUsize::new(shard.index() - 1), AtomicBool::new(false));
    let result = Mutex::new(Ok(Count::default()));
    std::thread::scope(|threads| {
        for _ in 0..options.jobs.get() {
            threads.spawn(|| {
                loop {
                    let chunk = next.fetch_add(shard.of(), Ordering::Relaxed);
                    let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(family.sequences());
                    if range.is_empty() || stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let found = run(family, range);
                    let mut result = result.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    match (found, &mut *result) {
                        (Ok(count), Ok(all)) => all.add(&count),
                        (Err(found), all) => {
                            stop.store(true, Ordering::Relaxed);
                            *all = Err(found);
                        }
                        (Ok(_), Err(_)) => {}
                    }
                }
            });
        }
    });
    result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}
