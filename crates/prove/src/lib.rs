//! A validator against every interleaving of every small document of a kind.
//!
//! [`Subject`] says what the documents are, how they are enumerated, and who judges them; [`Provable`] is what every subject can
//! then do: list its scopes, and prove one. Programs are the subject of this crate; a companion brings its own.

mod checkpoint;
mod explored;
pub mod programs;
mod report;
mod run;
mod subject;
mod tally;

use std::path::Path;
use std::time::Instant;

pub use megakernel_ir::shard::Shard;

pub use explored::{Digits, Explored, Judge, Numbered, Numbers, Verdicts};
pub use report::{keep, thousands};
pub use run::{Disagreement, Options, Outcome, run};
pub use subject::{Enumeration, Family, Scope, Subject, Weakness};
pub use tally::Tally;

/// What `cargo xtask prove` asks of a subject.
pub trait Provable {
    /// The names of its scopes, smallest first.
    fn scopes(&self) -> Vec<&'static str>;

    /// What its scopes enumerate, for people.
    fn list(&self) -> String;

    /// [`Subject::PARTS`].
    fn parts(&self) -> &'static [&'static str] {
        &[]
    }

    /// Proves one of its scopes and prints what comes of it: the tables, or a smallest document on which validator and explorer
    /// disagree. Says whether they agree on all.
    ///
    /// # Errors
    /// The run cannot be done, or the specification has another result where it is to be compared.
    fn prove(
        &self,
        root: &Path,
        scope: &str,
        options: &Options,
        print: &dyn Fn(&str) -> Result<(), String>,
    ) -> Result<bool, String>;
}

impl<S: Subject> Provable for S {
    fn scopes(&self) -> Vec<&'static str> {
        S::scopes().iter().map(|scope| scope.name).collect()
    }

    fn list(&self) -> String {
        report::list::<S>()
    }

    fn parts(&self) -> &'static [&'static str] {
        S::PARTS
    }

    fn prove(
        &self,
        root: &Path,
        scope: &str,
        options: &Options,
        print: &dyn Fn(&str) -> Result<(), String>,
    ) -> Result<bool, String> {
        let scopes = S::scopes();
        let Some(scope) = scopes.iter().find(|known| known.name == scope) else {
            return Err(format!("there is no scope `{scope}`; required one of {}", self.scopes().join(", ")));
        };
        let start = Instant::now();
        let outcome = if options.merge.is_empty() {
            run::<S>(scope, options)?
        } else {
            Outcome::Agreement(run::merged::<S>(scope, options)?)
        };
        let tallies = match outcome {
            Outcome::Agreement(tallies) => tallies,
            Outcome::Disagreement(found) => {
                print(&found.to_string())?;
                return Ok(false);
            }
        };
        let table = report::table::<S>(scope, &tallies);
        print(&table)?;
        let total = tallies.iter().map(|tally| tally.documents).sum();
        if options.merge.is_empty() {
            let rate = total as f64 / start.elapsed().as_secs_f64();
            eprintln!("{} {}s a second", thousands(rate as u64), S::NOUN);
        }
        report::keep(root, S::DOCUMENT, scope.name, &table, options)?;
        print(&format!("{} {}s, no disagreement\n", thousands(total), S::NOUN))?;
        Ok(true)
    }
}
