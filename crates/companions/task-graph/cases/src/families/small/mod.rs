//! Small documents in which one thing decides, each beside one in which that is right: the last pair of many, a part of a tile, an
//! order that only other ranks could bring, one queue, one step from an iteration to the next.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Document, Sink};
use megakernel_ir::rule::{Clause, Rule};
use serde_json::{Value, json};

use super::base::GraphCases;
use crate::build::text;
use crate::lines;

pub mod alone;
pub mod races;
pub mod ranks;

use Expected::{Accepted, Broken, Warned};

/// The lines of the ranks.
#[derive(Clone, Copy)]
enum Graphs {
    Bare(&'static [&'static str]),
    System(&'static [&'static [&'static str]]),
}

/// What is declared.
#[derive(Clone, Copy)]
enum Expected {
    Accepted,
    /// Accepted with these warnings. The twin is free of them.
    Warned(&'static [Rule], &'static str),
    /// Each of these rules is broken, and one of them there. The twin breaks none.
    Broken(&'static [Rule], &'static str, &'static str),
}

/// A case: its name, what it is, its graphs, and what is declared of them.
type Row = (&'static str, &'static str, Graphs, Expected);

/// The cases of one family.
struct Cases<'s> {
    sink: &'s mut Sink,
    clauses: &'static [Clause],
}

impl Cases<'_> {
    fn rows(&mut self, rows: &[Row]) -> Result<()> {
        for &(name, what, graphs, expected) in rows {
            let document = match graphs {
                Graphs::Bare(lines) => lines::bare(lines)?,
                Graphs::System(ranks) => lines::ranks(ranks)?,
            };
            self.add(name, what, &text(&document), expected)?;
        }
        Ok(())
    }

    fn add(&mut self, name: &str, what: &str, document: &str, expected: Expected) -> Result<()> {
        let (expect, cited, twin) = match expected {
            Accepted => (json!({"verdict": "accept", "warnings": []}), &[][..], None),
            Warned(rules, twin) => (json!({"verdict": "accept", "warnings": rules}), rules, Some(twin)),
            Broken(rules, at, twin) => {
                let mut expect = json!({"verdict": "reject", "rules": rules, "at": at});
                if rules.len() > 1 {
                    expect["every_rule"] = json!(true);
                }
                (expect, rules, Some(twin))
            }
        };
        self.put(name, what, document, expect, cited, twin)
    }

    fn put(
        &mut self,
        name: &str,
        what: &str,
        document: &str,
        expect: Value,
        rules: &[Rule],
        twin: Option<&str>,
    ) -> Result<()> {
        let cited: Vec<Clause> =
            rules.iter().map(|rule| *rule.clause()).chain(self.clauses.iter().copied()).collect();
        self.sink.graph_text("validate", name, what, &cited, &Document::Text(document), expect, twin)
    }
}
