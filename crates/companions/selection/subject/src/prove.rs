//! The scopes for `megakernel-suite prove`.

use std::path::Path;

use megakernel_prove::{Options, Provable};

use crate::{run, scopes};

/// The requests of selection.
pub static SUBJECT: Requests = Requests;

/// What the scopes enumerate.
#[derive(Debug)]
pub struct Requests;

impl Provable for Requests {
    fn scopes(&self) -> Vec<&'static str> {
        vec!["selection-words", "selection-escapes", "selection-rows", "selection-effects", "selection-cuts"]
    }

    fn list(&self) -> String {
        let line = |scope: crate::Scope| {
            let (sequences, indices) = (scope.sequences(), scope.indices());
            format!("selection-{:<8} {sequences} sequences, {indices} indices: {}\n", scope.name, scope.about)
        };
        scopes().into_iter().map(line).collect()
    }

    fn prove(
        &self,
        _: &Path,
        scope: &str,
        _: &Options,
        print: &dyn Fn(&str) -> Result<(), String>,
    ) -> Result<bool, String> {
        let name = scope.strip_prefix("selection-").unwrap_or(scope);
        let found = scopes().into_iter().find(|scope| scope.name == name);
        let scope = found.ok_or_else(|| format!("selection has no scope `{scope}`"))?;
        match run(&scope, 0..scope.sequences()) {
            Ok(count) => {
                print(&format!(
                    "{} requests: {} with a plan, {} rewind, {} stuck where there is a plan, {} dearer than the optimum\n",
                    count.requests, count.planned, count.rewound, count.stuck, count.dearer
                ))?;
                Ok(true)
            }
            Err(found) => {
                print(&format!(
                    "sequence {}, index {}, limit {}: {}\n",
                    found.sequence, found.index, found.limit, found.what
                ))?;
                Ok(false)
            }
        }
    }
}
