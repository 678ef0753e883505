//! A case: a document, what is asked about it, and the answer that the specification gives (clause CON-05).

use json_patch::Patch;
use megakernel_ir::protocol::{Method, Profile};
use megakernel_ir::registry::Carries;
use megakernel_ir::rule::{Rule, Severity};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::checkers;

mod execution;

pub use execution::{EXPECTED, Execution, LaunchCase};

/// One file under `corpus/cases/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Path of the file below `corpus/cases/`, without `.json`; never changes.
    pub id: String,
    /// What the case shows, in a sentence.
    pub summary: String,
    /// The profiles that are judged by it, each by a request of its own.
    pub profiles: Vec<Profile>,
    /// What is asked.
    pub method: Method,
    /// Ids of the clauses and rules that it tests.
    pub clauses: Vec<String>,
    /// The document that is sent.
    pub document: Document,
    /// What else is sent, for a method that takes arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// The declared answer, never sent.
    pub expect: Expect,
    /// For [`Method::EXECUTE`]: the launches and what is expected of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execute: Option<Execution>,
    /// For a rejected case: the accepted case that differs by one edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin: Option<String>,
    /// Where the case comes from.
    pub provenance: Provenance,
}

/// How a case holds its document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Document {
    /// A program of the corpus, perhaps edited.
    Base {
        /// Path of the program's file below `corpus/`.
        base: String,
        /// RFC 6902. Without operations the file is sent as it is, byte for byte.
        #[serde(default = "no_edit", skip_serializing_if = "is_empty")]
        edit: Patch,
    },
    /// The text itself, for what only the text can show.
    Text {
        /// UTF-8.
        text: String,
    },
    /// Bytes that are not UTF-8.
    Base64 {
        /// RFC 4648, with padding.
        base64: String,
    },
}

fn no_edit() -> Patch {
    Patch(Vec::new())
}

fn is_empty(edit: &Patch) -> bool {
    edit.0.is_empty()
}

/// The declared answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expect {
    /// The verdict.
    pub verdict: Verdict,
    /// For a rejection: the rules that may be named, at least one of which has to be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// Whether the document breaks each of the rules, so that who claims to name every one has to name them all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub every_rule: bool,
    /// JSON pointer that the reference reports. Other implementations are not held to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Exactly the warnings to be reported; absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<Rule>>,
    /// For a round trip: the document to be written back, without members that the specification does not know. For another
    /// method that gives a document: that document, member for member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Value>,
    /// Where not one document alone is right: the members that the checker of a companion judges.
    #[serde(flatten)]
    pub checks: Map<String, Value>,
}

/// What the specification says about a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No rule is broken.
    Accept,
    /// A rule is broken.
    Reject,
    /// The specification leaves the answer to the implementation.
    Either,
}

impl Verdict {
    /// The name in case files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Accept => "accept",
            Verdict::Reject => "reject",
            Verdict::Either => "either",
        }
    }
}

/// Where a case comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The family of cases, whose id seeds its pseudo-random numbers (clause CON-09).
    pub family: String,
    /// The corpus seed.
    pub seed: u64,
    /// Version of the generator.
    pub generator: String,
}

impl Case {
    /// Says what is wrong with the case itself: a case that cannot be judged as declared must not count.
    ///
    /// # Errors
    /// The first contradiction found.
    pub fn check(&self) -> Result<(), String> {
        if self.profiles.is_empty() {
            return Err("case has no profile; list at least one in `profiles`".to_owned());
        }
        if self.clauses.is_empty() {
            return Err("case cites no clause; list at least one in `clauses`".to_owned());
        }
        if let Some(twice) = repeated(&self.profiles) {
            return Err(format!("profile `{twice}` is listed twice in `profiles`"));
        }
        let expect = &self.expect;
        if (expect.verdict == Verdict::Reject) == expect.rules.is_empty() && expect.verdict != Verdict::Either
        {
            return Err(format!(
                "`expect` has {} rules for verdict `{}`; a rejection names at least one rule, an acceptance none",
                expect.rules.len(),
                expect.verdict.name()
            ));
        }
        for &rule in &expect.rules {
            if rule.severity() == Severity::Warning {
                return Err(format!("`expect.rules` names {rule}, but a warning rejects nothing"));
            }
            if let Some(profile) = self.profiles.iter().find(|profile| !profile.judges(rule.class())) {
                return Err(format!("`expect.rules` names {rule}, which profile `{profile}` does not judge"));
            }
        }
        for &rule in expect.warnings.iter().flatten() {
            if rule.severity() != Severity::Warning {
                return Err(format!("`expect.warnings` names {rule}, which is not a warning"));
            }
        }
        if expect.every_rule && (expect.verdict != Verdict::Reject || expect.rules.len() < 2) {
            return Err("`expect.every_rule` says that a rejected document breaks each of several rules; list them in \
                        `expect.rules`, or leave it out"
                .to_owned());
        }
        let accepts = expect.verdict == Verdict::Accept;
        let judged = expect.document.is_some() || !expect.checks.is_empty();
        if accepts && self.method.answer() == Carries::Document {
            if expect.document.is_some() != expect.checks.is_empty() {
                return Err(format!(
                    "an accepted `{}` needs `expect.document`, or else a member that the checker of a companion judges",
                    self.method
                ));
            }
        } else if expect.document.is_some() || (judged && !accepts) {
            return Err("`expect.document` says what an accepting answer carries, and is for nothing else; so are the members \
                        that the checker of a companion judges"
                .to_owned());
        }
        checkers::well_formed(self)?;
        execution::check(self)
    }
}

fn repeated(profiles: &[Profile]) -> Option<Profile> {
    profiles
        .iter()
        .enumerate()
        .find(|(i, profile)| profiles[..*i].contains(profile))
        .map(|(_, &profile)| profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The format documents itself here.
    const EXAMPLE: &str = r#"{
      "id": "race/first-k-of-n/four-tiles-wait-two",
      "summary": "the reader waits for two of the four tiles that it reads",
      "profiles": ["validate"],
      "method": "validate",
      "clauses": ["R01"],
      "document": {"base": "programs/gemv-four-tiles.json",
                   "edit": [{"op": "replace", "path": "/tasks/4/waits/0/threshold", "value": 2}]},
      "expect": {"verdict": "reject", "rules": ["R01"], "at": "/tasks/4/waits/0"},
      "twin": "accept/gemv/four-tiles",
      "provenance": {"family": "race/first-k-of-n", "seed": 0, "generator": "0.1.0"}
    }"#;

    fn example() -> Case {
        serde_json::from_str(EXAMPLE).expect("the example reads")
    }

    #[test]
    fn the_example_survives_writing_and_reading() {
        let case = example();
        assert_eq!(case.check(), Ok(()));
        let value: Value = serde_json::from_str(EXAMPLE).expect("JSON");
        assert_eq!(serde_json::to_value(&case).expect("serialises"), value);
    }

    #[test]
    fn a_misspelt_member_is_refused() {
        let misspelt = EXAMPLE.replace("\"twin\"", "\"twins\"");
        assert!(serde_json::from_str::<Case>(&misspelt).is_err());
        let misspelt = EXAMPLE.replace("\"edit\"", "\"edits\"");
        assert!(serde_json::from_str::<Case>(&misspelt).is_err());
    }

    #[test]
    fn contradictions_are_named() {
        let mut case = example();
        case.profiles.push(Profile::MEMORY_SAFETY);
        let error = case.check().expect_err("R01 is not judged by memory-safety");
        assert!(error.contains("R01") && error.contains("memory-safety"), "{error}");

        let mut case = example();
        case.expect.rules.clear();
        assert!(case.check().expect_err("nothing to compare").contains("0 rules"));

        let mut case = example();
        case.expect.verdict = Verdict::Accept;
        assert!(case.check().expect_err("accepted, yet a rule").contains("1 rules"));

        let mut case = example();
        case.method = Method::ROUNDTRIP;
        case.expect.verdict = Verdict::Accept;
        case.expect.rules.clear();
        assert!(case.check().expect_err("nothing to compare with").contains("expect.document"));

        let mut case = example();
        case.expect.every_rule = true;
        assert!(case.check().expect_err("one rule is not several").contains("`expect.every_rule`"));

        case.method = Method::VALIDATE;
        case.expect.every_rule = false;
        case.expect.verdict = Verdict::Accept;
        case.expect.rules.clear();
        case.expect.checks.insert("undeclared".to_owned(), Value::Null);
        assert!(case.check().expect_err("nobody judges it").contains("`expect.undeclared`"));
    }
}
