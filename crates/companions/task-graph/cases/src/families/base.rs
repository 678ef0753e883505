//! The accepted documents, and how cases are made of them.

use std::collections::BTreeMap;

use megakernel_corpus::builder::{Error, Result};
use megakernel_corpus::companion::Example;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::Library;
use megakernel_corpus::families::{Document as Sent, Sink, words};
use megakernel_ir::rule::{Class, Clause, Severity};
use megakernel_task_graph::{Mode, read_translation};
use serde_json::{Value, json};

use super::{graphs, kernels};
use crate::build::{Document, text};
use crate::exact::exact;
use crate::exact_current::exact_current;

const PROFILE: &[&str] = &["task-graph"];

/// An accepted document that cases are made from: a graph, a system, or a request to translate.
#[derive(Clone, Debug)]
pub struct GraphBase {
    /// Family and name, such as `fan/join`.
    pub name: String,
    /// One line on what it is.
    pub summary: String,
    /// Clauses that accepting it depends on.
    pub clauses: Vec<Clause>,
    /// The document, and where its tasks and events are.
    pub document: Document,
}

impl GraphBase {
    /// Names a finished document.
    pub fn new(name: &str, summary: &str, clauses: &[Clause], document: Document) -> GraphBase {
        GraphBase { name: name.to_owned(), summary: summary.to_owned(), clauses: clauses.to_vec(), document }
    }

    /// Names a request to translate.
    pub fn request(name: &str, summary: &str, clauses: &[Clause], request: Value) -> GraphBase {
        let document = Document { value: request, labels: BTreeMap::new() };
        GraphBase::new(name, summary, clauses, document)
    }

    /// Path of the file, relative to the corpus.
    pub fn path(&self) -> String {
        format!("programs/task-graph/{}.json", self.name.replace('/', "-"))
    }

    /// Id of the case that accepts it.
    pub fn case_id(&self) -> String {
        format!("task-graph/accept/{}", self.name)
    }

    /// Pointer of a member of the task or event with this label.
    pub fn at(&self, label: &str, rest: &str) -> Result<String> {
        let pointer = self.document.labels.get(label);
        let pointer =
            pointer.ok_or_else(|| Error(format!("`{}` has no task or event `{label}`", self.name)))?;
        Ok(if rest.is_empty() { pointer.clone() } else { format!("{pointer}/{rest}") })
    }

    /// The value at a pointer.
    pub fn value(&self, pointer: &str) -> Result<&Value> {
        let value = self.document.value.pointer(pointer);
        value.ok_or_else(|| Error(format!("`{}` has nothing at `{pointer}`", self.name)))
    }

    /// The integer at a pointer.
    pub fn int(&self, pointer: &str) -> Result<i64> {
        let value = self.value(pointer)?.as_i64();
        value.ok_or_else(|| Error(format!("`{}` has no integer at `{pointer}`", self.name)))
    }

    /// Index of the task or event with this label.
    pub fn index(&self, label: &str) -> Result<i64> {
        let pointer = self.at(label, "")?;
        let index = pointer.rsplit('/').next().and_then(|index| index.parse().ok());
        index.ok_or_else(|| Error(format!("`{pointer}` does not end with an index")))
    }

    fn is_request(&self) -> bool {
        is_request(&self.document.value)
    }
}

fn is_request(document: &Value) -> bool {
    document.get("kernel_graph").is_some() && !document.get("ranks").is_some_and(Value::is_array)
}

/// Every accepted document.
pub struct GraphLibrary {
    bases: BTreeMap<String, GraphBase>,
}

/// Builds the library.
pub fn library() -> Result<GraphLibrary> {
    let mut bases = BTreeMap::new();
    for base in graphs::all()?.into_iter().chain(kernels::all()?) {
        if let Some(twice) = bases.insert(base.name.clone(), base) {
            return Err(Error(format!("two documents are named `{}`", twice.name)));
        }
    }
    Ok(GraphLibrary { bases })
}

impl GraphLibrary {
    /// The base with this name.
    pub fn get(&self, name: &str) -> Result<&GraphBase> {
        self.bases.get(name).ok_or_else(|| Error(format!("no document is named `{name}`")))
    }

    /// Every base, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = &GraphBase> {
        self.bases.values()
    }

    /// Every file by its path below the corpus.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        self.iter().map(|base| (base.path(), text(&base.document.value).into_bytes())).collect()
    }
}

/// The case that accepts each of them.
pub fn cases(_: &Library, sink: &mut Sink) -> Result<()> {
    for base in library()?.iter() {
        let (path, expect) = (base.path(), accepted(&base.document.value)?);
        let method = if base.is_request() { "translate" } else { "validate" };
        let document = Sent::Edited(&path, &[]);
        sink.push_as(method, base.case_id(), &base.summary, PROFILE, &base.clauses, &document, expect, None)?;
    }
    Ok(())
}

/// The declared answer of an accepted document. An exact translation is written down from the clauses.
fn accepted(document: &Value) -> Result<Value> {
    let mut expect = json!({"verdict": "accept", "warnings": []});
    if document.get("mode").and_then(Value::as_str) == Some("sound") {
        expect["translation"] = json!("sound");
    } else if is_request(document) {
        let text = document.to_string();
        let request = read_translation(text.as_bytes())
            .map_err(|found| Error(format!("no request to translate: {found:?}")))?;
        let translate = if request.mode == Mode::ExactCurrent { exact_current } else { exact };
        expect["document"] = translate(&request.kernel_graph, request.ranks, request.rank)?;
    }
    Ok(expect)
}

/// Cases about task graphs, put into a sink.
pub trait GraphCases {
    /// A rejected document: the base with one edit.
    fn graph_reject(&mut self, base: &GraphBase, name: &str, edit: &Edit) -> Result<()>;

    /// A document that is accepted with exactly the warnings that the edit names.
    fn graph_warn(&mut self, base: &GraphBase, name: &str, edit: &Edit) -> Result<()>;

    /// A document that is accepted without any warning after the edit too.
    fn graph_accept(&mut self, base: &GraphBase, name: &str, edit: &Edit) -> Result<()>;

    /// A text that is judged or translated; a rejected one names its twin, a case of the same family.
    #[allow(clippy::too_many_arguments, reason = "one argument for each member of the record")]
    fn graph_text(
        &mut self,
        method: &str,
        name: &str,
        summary: &str,
        clauses: &[Clause],
        sent: &Sent<'_>,
        expect: Value,
        twin: Option<&str>,
    ) -> Result<()>;
}

impl GraphCases for Sink {
    fn graph_reject(&mut self, base: &GraphBase, name: &str, edit: &Edit) -> Result<()> {
        edited(self, base, name, edit, json!({"verdict": "reject", "rules": edit.rules}))
    }

    fn graph_warn(&mut self, base: &GraphBase, name: &str, edit: &Edit) -> Result<()> {
        edited(self, base, name, edit, json!({"verdict": "accept", "warnings": edit.rules}))
    }

    fn graph_accept(&mut self, base: &GraphBase, name: &str, edit: &Edit) -> Result<()> {
        let mut document = base.document.value.clone();
        let patch: json_patch::Patch =
            serde_json::from_value(json!(edit.operations)).map_err(|error| Error(error.to_string()))?;
        json_patch::patch(&mut document, &patch).map_err(|error| Error(format!("{name}: {error}")))?;
        edited(self, base, name, edit, accepted(&document)?)
    }

    fn graph_text(
        &mut self,
        method: &str,
        name: &str,
        summary: &str,
        clauses: &[Clause],
        sent: &Sent<'_>,
        expect: Value,
        twin: Option<&str>,
    ) -> Result<()> {
        let id = format!("{}/{name}", self.family());
        let twin = twin.map(|twin| format!("{}/{twin}", self.family()));
        self.push_as(method, id, summary, PROFILE, clauses, sent, expect, twin)
    }
}

fn edited(sink: &mut Sink, base: &GraphBase, name: &str, edit: &Edit, mut expect: Value) -> Result<()> {
    if let Some(at) = &edit.at {
        expect["at"] = json!(at);
    }
    let mut clauses = edit.cites();
    if clauses.is_empty() {
        clauses.clone_from(&base.clauses);
    }
    let id = format!("{}/{}", sink.family(), words(&format!("{} {name}", base.name)));
    let summary = format!("{}; base: {}", edit.what, base.summary);
    let method = if base.is_request() { "translate" } else { "validate" };
    let path = base.path();
    let document = Sent::Edited(&path, &edit.operations);
    sink.push_as(method, id, &summary, PROFILE, &clauses, &document, expect, Some(base.case_id()))
}

/// The example of a rule of the companion, and its twin.
///
/// # Errors
/// It is not of the kind that the rule calls for.
pub fn spec_example(sink: &mut Sink, example: &Example<'_>) -> Result<()> {
    let Example { rule, text, warned, accepted: accepted_twin } = *example;
    let method = if rule.class() == Class::KERNEL_GRAPH { "translate" } else { "validate" };
    if warned != (rule.severity() == Severity::Warning) {
        return Err(Error("a warning has a fence `json warned`, any other rule `json rejected`".to_owned()));
    }
    let (name, summary, expect) = if warned {
        let expect = json!({"verdict": "accept", "warnings": [rule]});
        (format!("{rule}/warned"), "the document that the specification warns of".to_owned(), expect)
    } else {
        let summary = format!("the document of the specification that rule {rule} rejects");
        (format!("{rule}/rejected"), summary, json!({"verdict": "reject", "rules": [rule]}))
    };
    let twin = format!("{rule}/accepted");
    sink.graph_text(method, &name, &summary, &[*rule.clause()], &Sent::Text(text), expect, Some(&twin))?;
    let (text, expect) = (accepted_twin.to_string(), accepted(accepted_twin)?);
    let summary = "the twin of the specification's document";
    sink.graph_text(method, &twin, summary, &[*rule.clause()], &Sent::Text(&text), expect, None)
}
