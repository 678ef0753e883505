//! Where families put their cases.

use megakernel_conformance::case::Case;
use megakernel_ir::rule::{Clause, Rule, clause};
use serde_json::{Map, Value, json};

use super::library::Base;
use crate::builder::{Error, Program, Result};
use crate::edit::Edit;
use megakernel_ir::prng::SplitMix64;

/// Version of the generator, recorded in the provenance of each case.
pub const GENERATOR: &str = "0.1.0";

/// Every profile that judges a whole program.
const ALL_PROFILES: &[&str] = &["format", "validate", "memory-safety", "launch"];

/// A single edit has no more operations.
const MOST_OPERATIONS: usize = 4;

/// Collects the cases of one family.
pub struct Sink {
    family: String,
    corpus_seed: u64,
    cases: Vec<Case>,
}

/// The document of a case.
pub enum Document<'a> {
    /// The file of a base, by its path, with operations.
    Edited(&'a str, &'a [Value]),
    /// The text itself.
    Text(&'a str),
    /// Bytes that are not UTF-8.
    Bytes(&'a [u8]),
}

impl Sink {
    /// An empty sink for a family.
    pub fn new(family: &str, corpus_seed: u64) -> Self {
        Self { family: family.into(), corpus_seed, cases: Vec::new() }
    }

    /// The id of the family.
    pub fn family(&self) -> &str {
        &self.family
    }

    /// What a case of the family draws from: a stream of its own, seeded by its name, so that a case more or less beside it
    /// changes nothing about it (clause CON-09). Where the name says what was drawn, the part before that.
    pub fn draws(&self, name: &str) -> SplitMix64 {
        SplitMix64::for_family(&format!("{}/{name}", self.family), self.corpus_seed)
    }

    /// The cases, in the order they were made.
    pub fn into_cases(self) -> Vec<Case> {
        self.cases
    }

    /// The case that accepts a base as it is.
    pub fn base(&mut self, base: &Base) -> Result<()> {
        let mut clauses = base.clauses.clone();
        clauses.push(clause::DAT_01);
        let expect = json!({"verdict": "accept", "warnings": []});
        // Each accepted program belongs to the family of its name, not to the list that writes them all.
        let family = std::mem::replace(&mut self.family, format!("accept/{}", base.family()));
        let path = base.path();
        let document = Document::Edited(&path, &[]);
        let pushed =
            self.push(base.case_id(), &base.summary, ALL_PROFILES, &clauses, &document, expect, None);
        self.family = family;
        pushed
    }

    /// A rejected case: the base with one edit.
    pub fn reject(&mut self, base: &Base, name: &str, edit: &Edit) -> Result<()> {
        let profiles = profiles_of(&edit.rules)?;
        let mut expect = json!({"verdict": "reject", "rules": edit.rules});
        if edit.breaks_each {
            expect["every_rule"] = json!(true);
        }
        if let Some(at) = &edit.at {
            expect["at"] = json!(at);
        }
        self.edited(base, name, edit, profiles, expect)
    }

    /// A rejected case named after its base: `<base>-<what>`.
    pub fn reject_as(&mut self, base: &Base, what: &str, edit: &Edit) -> Result<()> {
        self.reject(base, &format!("{}-{what}", base.slug()), edit)
    }

    /// A rejected case, in which there is nothing to warn of either.
    pub fn reject_without_warnings(&mut self, base: &Base, what: &str, edit: &Edit) -> Result<()> {
        let mut expect = json!({"verdict": "reject", "rules": edit.rules, "warnings": []});
        if let Some(at) = &edit.at {
            expect["at"] = json!(at);
        }
        self.edited(base, &format!("{}-{what}", base.slug()), edit, profiles_of(&edit.rules)?, expect)
    }

    /// A warned case: the base with one edit is accepted, with exactly the warnings that the edit names.
    pub fn warn(&mut self, base: &Base, name: &str, edit: &Edit) -> Result<()> {
        let mut expect = json!({"verdict": "accept", "warnings": edit.rules});
        if let Some(at) = &edit.at {
            expect["at"] = json!(at);
        }
        self.edited(base, name, edit, &["validate"], expect)
    }

    /// An accepted case: an edit that changes nothing that a rule forbids. What takes more than a few operations is no single edit, and
    /// stands as a document of its own.
    pub fn accept(&mut self, base: &Base, name: &str, edit: &Edit) -> Result<()> {
        let expect = json!({"verdict": "accept", "warnings": []});
        if edit.operations.len() <= MOST_OPERATIONS {
            return self.edited(base, name, edit, ALL_PROFILES, expect);
        }
        let id = format!("{}/{}", self.family, words(name));
        let patch: json_patch::Patch = serde_json::from_value(json!(edit.operations))
            .map_err(|error| Error(format!("{id}: {error}")))?;
        let mut program = base.program.value().clone();
        json_patch::patch(&mut program, &patch).map_err(|error| Error(format!("{id}: {error}")))?;
        let summary = format!("{}; after: {}", edit.what, base.summary);
        let text = Program::new(program).to_text();
        self.push(id, &summary, ALL_PROFILES, &edit.cites(), &Document::Text(&text), expect, None)
    }

    /// An accepted case under some profiles only: the rules that the edit breaks belong to others.
    pub fn accept_under(&mut self, profiles: &[&str], base: &Base, name: &str, edit: Edit) -> Result<()> {
        let what = format!(
            "{}, which {} judges elsewhere",
            edit.what,
            edit.rules.iter().map(|rule| rule.id()).collect::<Vec<_>>().join(" and ")
        );
        let edit = Edit { clauses: vec![clause::CON_01], rules: Vec::new(), at: None, what, ..edit };
        self.edited(base, name, &edit, profiles, json!({"verdict": "accept"}))
    }

    /// A case in which the specification leaves the verdict to the implementation.
    pub fn either(&mut self, base: &Base, name: &str, edit: &Edit) -> Result<()> {
        let rules = edit.rules.clone();
        self.edited(base, name, edit, &["format", "validate"], json!({"verdict": "either", "rules": rules}))
    }

    fn edited(
        &mut self,
        base: &Base,
        name: &str,
        edit: &Edit,
        profiles: &[&str],
        expect: Value,
    ) -> Result<()> {
        if edit.operations.is_empty() {
            return Err(Error(format!("case `{}/{name}` has an edit without operations", self.family)));
        }
        let mut clauses = edit.cites();
        if clauses.is_empty() {
            clauses.clone_from(&base.clauses);
        }
        let summary = format!("{}; base: {}", edit.what, base.summary);
        let id = format!("{}/{}", self.family, words(name));
        let path = base.path();
        let document = Document::Edited(&path, &edit.operations);
        self.push(id, &summary, profiles, &clauses, &document, expect, Some(base.case_id()))
    }

    /// An accepted text.
    pub fn accept_text(&mut self, name: &str, summary: &str, clauses: &[Clause], text: &str) -> Result<()> {
        let id = format!("{}/{name}", self.family);
        let expect = json!({"verdict": "accept", "warnings": []});
        self.push(id, summary, ALL_PROFILES, clauses, &Document::Text(text), expect, None)
    }

    /// A text for which the specification leaves the verdict to the implementation.
    pub fn either_text(
        &mut self,
        name: &str,
        summary: &str,
        rule: Rule,
        clauses: &[Clause],
        text: &str,
    ) -> Result<()> {
        let id = format!("{}/{name}", self.family);
        let expect = json!({"verdict": "either", "rules": [rule]});
        let profiles = &["format", "validate"];
        self.push(id, summary, profiles, clauses, &Document::Text(text), expect, None)
    }

    /// A rejected text; `twin` is the name of an accepted text of the same family.
    pub fn reject_text(
        &mut self,
        name: &str,
        summary: &str,
        rules: &[Rule],
        twin: &str,
        text: &str,
    ) -> Result<()> {
        self.reject_document(name, summary, rules, twin, &Document::Text(text))
    }

    /// A rejected document that is not UTF-8.
    pub fn reject_bytes(
        &mut self,
        name: &str,
        summary: &str,
        rules: &[Rule],
        twin: &str,
        bytes: &[u8],
    ) -> Result<()> {
        self.reject_document(name, summary, rules, twin, &Document::Bytes(bytes))
    }

    /// A warned text: accepted, with exactly the warning `rule`.
    pub fn warn_text(&mut self, name: &str, summary: &str, rule: Rule, twin: &str, text: &str) -> Result<()> {
        let id = format!("{}/{name}", self.family);
        let twin = Some(format!("{}/{twin}", self.family));
        let expect = json!({"verdict": "accept", "warnings": [rule]});
        self.push(id, summary, &["validate"], &[*rule.clause()], &Document::Text(text), expect, twin)
    }

    fn reject_document(
        &mut self,
        name: &str,
        summary: &str,
        rules: &[Rule],
        twin: &str,
        document: &Document,
    ) -> Result<()> {
        let id = format!("{}/{name}", self.family);
        let twin = if twin.starts_with("accept/") { twin.into() } else { format!("{}/{twin}", self.family) };
        let expect = json!({"verdict": "reject", "rules": rules});
        self.push(id, summary, profiles_of(rules)?, &cited(rules), document, expect, Some(twin))
    }

    /// A round trip: the answer must say what `expected` says.
    pub fn round_trip(
        &mut self,
        name: &str,
        summary: &str,
        clauses: &[Clause],
        text: &str,
        expected: Value,
    ) -> Result<()> {
        let id = format!("{}/{name}", self.family);
        let expect = json!({"verdict": "accept", "document": expected});
        self.push(id, summary, &["format"], clauses, &Document::Text(text), expect, None)
    }

    /// The round trip of a base as it is.
    pub fn round_trip_base(&mut self, base: &Base, expected: Value) -> Result<()> {
        let id = format!("{}/{}", self.family, base.slug());
        let expect = json!({"verdict": "accept", "document": expected});
        let clauses = [clause::FMT_06];
        let path = base.path();
        let document = Document::Edited(&path, &[]);
        self.push(id, &base.summary, &["format"], &clauses, &document, expect, None)
    }

    #[allow(clippy::too_many_arguments, reason = "one argument for each member of the record")]
    fn push(
        &mut self,
        id: String,
        summary: &str,
        profiles: &[&str],
        clauses: &[Clause],
        document: &Document,
        expect: Value,
        twin: Option<String>,
    ) -> Result<()> {
        let method = if expect.get("document").is_some() { "roundtrip" } else { "validate" };
        self.push_as(method, id, summary, profiles, clauses, document, expect, twin)
    }

    /// Any case, from its members.
    #[allow(clippy::too_many_arguments, reason = "one argument for each member of the record")]
    pub fn push_as(
        &mut self,
        method: &str,
        id: String,
        summary: &str,
        profiles: &[&str],
        clauses: &[Clause],
        document: &Document,
        expect: Value,
        twin: Option<String>,
    ) -> Result<()> {
        let mut cited: Vec<&str> = Vec::new();
        for clause in clauses {
            if !cited.contains(&clause.id) {
                cited.push(clause.id);
            }
        }
        let mut record = Map::new();
        record.insert("id".into(), json!(id));
        record.insert("summary".into(), json!(summary));
        record.insert("profiles".into(), json!(profiles));
        record.insert("method".into(), json!(method));
        record.insert("clauses".into(), json!(cited));
        record.insert("document".into(), document.to_json());
        record.insert("expect".into(), expect);
        if let Some(twin) = twin {
            record.insert("twin".into(), json!(twin));
        }
        record.insert(
            "provenance".into(),
            json!({"family": self.family, "seed": self.corpus_seed, "generator": GENERATOR}),
        );
        let case: Case = serde_json::from_value(Value::Object(record))
            .map_err(|error| Error(format!("case `{id}` does not read back: {error}")))?;
        case.check().map_err(|error| Error(format!("case `{id}`: {error}")))?;
        self.cases.push(case);
        Ok(())
    }
}

impl Document<'_> {
    fn to_json(&self) -> Value {
        match self {
            Document::Edited(base, []) => json!({"base": base}),
            Document::Edited(base, operations) => json!({"base": base, "edit": operations}),
            Document::Text(text) => json!({"text": text}),
            Document::Bytes(bytes) => json!({"base64": base64_of(bytes)}),
        }
    }
}

fn base64_of(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// A case name made of names, values and numbers, as words in lower case with single dashes between them.
pub fn words(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

/// The headings of rules.
pub fn cited(rules: &[Rule]) -> Vec<Clause> {
    rules.iter().map(|rule| *rule.clause()).collect()
}

/// The profiles that judge a class of rules. All rules of a case are of classes with the same profiles.
fn profiles_of(rules: &[Rule]) -> Result<&'static [&'static str]> {
    let of = |rule: &Rule| -> &'static [&'static str] {
        match rule.id().as_bytes().first() {
            Some(b'S') => &["format", "validate"],
            Some(b'D' | b'R' | b'P' | b'W') => &["validate"],
            Some(b'M') => &["memory-safety"],
            Some(b'L') => &["launch"],
            Some(b'T') => &["task-graph"],
            _ => &[],
        }
    };
    let mut profiles = rules.iter().map(of);
    let first = profiles.next().unwrap_or_default();
    if first.is_empty() || profiles.any(|other| other != first) {
        return Err(Error(format!("no profile judges a case of the rules {rules:?}")));
    }
    Ok(first)
}
