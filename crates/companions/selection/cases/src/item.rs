//! Cases before they are written: a document, what is asked, and what is expected.

use megakernel_corpus::builder::{Error, Result};
use megakernel_ir::rule::{Clause, Rule, clause};
use megakernel_selection::{Document, read, read_request};
use serde_json::{Value, json};

use crate::definition::{self, Question};

/// A case.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its name below its family.
    pub name: String,
    /// What it shows.
    pub summary: String,
    /// Clauses and rules.
    pub clauses: Vec<Clause>,
    /// `validate`, `select` or `explain`.
    pub method: &'static str,
    /// The name of its file, below `programs/selection/`.
    pub file: String,
    /// What the file holds.
    pub base: Value,
    /// RFC 6902 operations on it.
    pub edit: Vec<Value>,
    /// What is expected.
    pub expect: Expect,
}

/// What is expected of an answer.
#[derive(Clone, Debug)]
pub enum Expect {
    /// A plan or an explanation. The plan has this outline, where the family declares one.
    Answer(Option<String>),
    /// A plan and no warning: rejected cases differ from this one by an edit.
    Clean,
    /// No plan: this op.
    Stuck(usize),
    /// A rule is broken, at this place.
    Reject(Rule, Option<String>),
    /// Accepted with these warnings.
    Warn(Vec<Rule>),
    /// Accepted, whatever is warned of.
    Accept,
}

/// An accepted request to select.
pub fn select(file: &str, summary: &str, clauses: &[Clause], base: Value) -> Item {
    Item {
        name: words(file),
        summary: summary.to_owned(),
        clauses: clauses.to_vec(),
        method: "select",
        file: file.to_owned(),
        base,
        edit: Vec::new(),
        expect: Expect::Answer(None),
    }
}

fn words(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

impl Item {
    /// Declares the regions of the plan: `0-1 linear_bias compose:sig_conflict; 2-2 relu end`.
    #[must_use]
    pub fn plan(self, outline: &str) -> Item {
        Item { expect: Expect::Answer(Some(outline.to_owned())), ..self }
    }

    /// Declares that there is no plan.
    #[must_use]
    pub fn stuck(self, op: usize) -> Item {
        Item { expect: Expect::Stuck(op), ..self }
    }

    /// The same document with an edit, under another name.
    #[must_use]
    pub fn edited(&self, name: &str, summary: &str, edit: Vec<Value>) -> Item {
        Item {
            name: format!("{}-{}", self.name, words(name)),
            summary: summary.to_owned(),
            edit,
            expect: Expect::Answer(None),
            ..self.clone()
        }
    }

    /// The same, explained.
    #[must_use]
    pub fn explained(&self) -> Item {
        let mut item = self.clone();
        item.method = "explain";
        item.name = format!("{}-explained", self.name);
        item.clauses = vec![clause::SEL_24];
        if matches!(item.expect, Expect::Answer(_)) {
            item.expect = Expect::Answer(None);
        }
        item
    }

    /// The document that is sent.
    pub fn document(&self) -> Result<Value> {
        let mut document = self.base.clone();
        let patch: json_patch::Patch = serde_json::from_value(json!(self.edit))
            .map_err(|error| Error(format!("{}: {error}", self.name)))?;
        json_patch::patch(&mut document, &patch).map_err(|error| Error(format!("{}: {error}", self.name)))?;
        Ok(document)
    }

    /// The member `expect` of the case. Plans and explanations are those of the definitions; where the family declares an
    /// outline, they have to agree with it.
    pub fn expectation(&self) -> Result<Value> {
        let problem = |what: String| Error(format!("`{}`: {what}", self.name));
        let document = self.document()?;
        Ok(match &self.expect {
            Expect::Reject(rule, at) => {
                let mut expect = json!({"verdict": "reject", "rules": [rule]});
                if let (Some(at), Some(members)) = (at, expect.as_object_mut()) {
                    members.insert("at".to_owned(), json!(at));
                }
                expect
            }
            Expect::Warn(rules) => json!({"verdict": "accept", "warnings": rules}),
            Expect::Accept => {
                read(&document).map_err(|faults| problem(format!("{faults:?}")))?;
                json!({"verdict": "accept"})
            }
            Expect::Stuck(op) => {
                let request = read_request(&document).map_err(|faults| problem(format!("{faults:?}")))?;
                let found = definition::plan(&Question::of(&request));
                match found {
                    Err(stuck) if stuck.0 == *op => {}
                    other => return Err(problem(format!("declared stuck at {op}, found {other:?}"))),
                }
                json!({"verdict": "reject", "rules": [Rule::KN01], "at": format!("/sequence/ops/{op}")})
            }
            Expect::Answer(outline) => {
                let request = read_request(&document).map_err(|faults| problem(format!("{faults:?}")))?;
                let question = Question::of(&request);
                let found = if self.method == "explain" {
                    definition::explanation(&question)
                } else {
                    definition::plan(&question)
                };
                let found = found.map_err(|stuck| problem(format!("stuck at {}", stuck.0)))?;
                if let Some(outline) = outline {
                    let is = outline_of(&found);
                    if is != *outline {
                        return Err(problem(format!("declared `{outline}`, found `{is}`")));
                    }
                }
                json!({"verdict": "accept", "document": found})
            }
            Expect::Clean => {
                let mut expect = Item { expect: Expect::Answer(None), ..self.clone() }.expectation()?;
                expect["warnings"] = json!([]);
                expect
            }
        })
    }
}

/// The regions of a plan in one line.
pub fn outline_of(plan: &Value) -> String {
    let text = |region: &Value, name: &str| {
        region
            .get(name)
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .unwrap_or_default()
    };
    let region = |region: &Value| {
        let reason = match text(region, "reason").as_str() {
            "null" | "" | "no_viable_kernel" => String::new(),
            reason => format!(":{reason}"),
        };
        format!(
            "{}-{} {} {}{reason}",
            text(region, "anchor"),
            text(region, "last"),
            text(region, "kernel"),
            text(region, "trigger")
        )
    };
    let regions = plan.get("regions").and_then(Value::as_array).cloned().unwrap_or_default();
    regions.iter().map(region).collect::<Vec<_>>().join("; ")
}

/// What kind of document it is, by what `validate` takes it for.
pub fn is_request(document: &Value) -> bool {
    matches!(read(document), Ok(Document::Request(_)))
}
