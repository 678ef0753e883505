//! The smallest companion: lists of numbers, from which a number of at least some size can be picked. It plugs in from this file
//! alone, which is program and worker in one; docs/adding-a-companion.md walks through it.

use std::path::Path;

use megakernel_conformance::run::{Options, Outcome, TIMEOUT, Unit, run};
use megakernel_conformance::{case::Case, checkers, store::Corpus, worker::WorkerCommand};
use megakernel_ir::companion::{Ask, Checker, Composed, Question, Reference, Unanswered, Wrong};
use megakernel_ir::protocol::{Answer, FromWorker, Method, Profile, Request};
use megakernel_ir::registry::{self, Carries, ClassRecord, Declaration, MethodRecord};
use megakernel_ir::rule::{Clause, Rule, Severity};
use megakernel_ir::{Diagnostic, terminal};
use serde_json::{Map, Value, json};

static TOY: Declaration = Declaration {
    name: "toy",
    classes: &[ClassRecord { letters: "YS", name: "toy", title: "lists", severity: Severity::Error }],
    profiles: &[("toy", "Judges lists, and picks from them.", &["YS"])],
    methods: &[MethodRecord { name: "pick", summary: "Pick a number.", answer: Carries::Document }],
    rules: &[
        Clause { id: "YS01", title: "not-a-list", document: "toy.md" },
        Clause { id: "YS02", title: "negative", document: "toy.md" },
    ],
    clauses: &[Clause { id: "TOY-01", title: "Picking", document: "toy.md" }],
    checks: &["picked"],
};

type Members = Map<String, Value>;

fn list(document: &[u8]) -> Option<Vec<i64>> {
    serde_json::from_slice(document).ok()
}

/// Any number of the list that is large enough is right, and is the only one to be picked where it stands alone.
struct Picks;

impl Checker for Picks {
    fn checks(&self) -> &[&'static str] {
        &["picked"]
    }

    fn well_formed(&self, _: Method, arguments: Option<&Value>, _: &Members) -> Result<(), String> {
        arguments.and_then(Value::as_i64).map(|_| ()).ok_or_else(|| "`arguments` is no number".to_owned())
    }

    fn judge(
        &self,
        question: &Question<'_>,
        _: &Members,
        answer: &FromWorker,
        ask: &mut Ask<'_>,
    ) -> Result<Result<(), Wrong>, Unanswered> {
        let picked = answer.document.clone().unwrap_or_default();
        let least = question.arguments.and_then(Value::as_i64).unwrap_or_default();
        let all = list(question.document).unwrap_or_default();
        let wrong = |expected: String, actual| Ok(Err(Wrong { expected, actual }));
        if !picked.parse().is_ok_and(|number| all.contains(&number) && number >= least) {
            return wrong(format!("a number of the list that is at least {least}"), picked);
        }
        let again = ask(&Question { document: format!("[{picked}]").as_bytes(), ..*question })?.document;
        if again.as_ref() == Some(&picked) { Ok(Ok(())) } else { wrong(picked, format!("{again:?}")) }
    }
}

/// The reference, or something with a fault.
struct Toy(String, Vec<Profile>);

impl Reference for Toy {
    fn profiles(&self) -> &[Profile] {
        &self.1
    }

    fn answer(&mut self, request: &Request<'_>) -> Answer {
        let reject = |id: &str| Answer::Reject {
            diagnostics: Rule::from_id(id).map(|rule| Diagnostic::new(rule, "", "no")).into_iter().collect(),
        };
        let Some(all) = list(request.document.as_bytes()) else { return reject("YS01") };
        if (self.0 == "strict" && all.is_empty()) || (self.0 != "lenient" && all.iter().any(|&n| n < 0)) {
            return reject(if all.is_empty() { "YS01" } else { "YS02" });
        }
        let least = request.arguments.as_ref().and_then(Value::as_i64).filter(|_| self.0 != "careless");
        let picked = all.into_iter().find(|&number| least.is_none_or(|least| number >= least));
        let document = picked.filter(|_| request.method.name() == "pick").map(|number| number.to_string());
        Answer::Accept { diagnostics: Vec::new(), document }
    }
}

/// Six cases, and one that declares what nobody judges.
const CASES: &str = r#"[
  {"id": "empty", "method": "validate", "document": {"text": "[]"}, "expect": {"verdict": "accept"}},
  {"id": "text", "method": "validate", "document": {"text": "no list"}, "expect": {"verdict": "reject", "rules": ["YS01"]}},
  {"id": "negative", "method": "validate", "document": {"text": "[3, -1]"}, "expect": {"verdict": "reject", "rules": ["YS02"]}},
  {"id": "any", "method": "pick", "document": {"text": "[1, 7, 9]"}, "arguments": 5, "expect": {"verdict": "accept", "picked": true}},
  {"id": "one", "method": "pick", "document": {"text": "[5, 1]"}, "arguments": 5, "expect": {"verdict": "accept", "document": 5}},
  {"id": "no-list", "method": "pick", "document": {"text": "5"}, "arguments": 5, "expect": {"verdict": "reject", "rules": ["YS01"]}},
  {"id": "peeked", "method": "validate", "document": {"text": "[]"}, "expect": {"verdict": "accept", "peeked": true}}
]"#;

fn write(folder: &Path, mut case: Value) {
    let provenance = json!({"family": "toy", "seed": 0, "generator": "toy"});
    let common = json!({"summary": "", "profiles": ["toy"], "clauses": ["TOY-01"], "provenance": provenance});
    case.as_object_mut().expect("a case").extend(common.as_object().cloned().expect("members"));
    let path = folder.join(format!("{}.json", case["id"].as_str().expect("an id")));
    std::fs::write(path, case.to_string()).expect("a case is written");
    let read: Case = serde_json::from_value(case.clone()).expect("a case");
    assert_eq!(serde_json::to_value(read).expect("JSON"), case, "a case is written as it is read");
}

/// The cases that a worker fails: id, what was expected, and what came.
fn failed(corpus: &Corpus, how: &str) -> Vec<(String, String, String)> {
    let program = std::env::current_exe().expect("this program").to_str().expect("UTF-8").to_owned();
    let arguments = vec!["worker".into(), how.into()];
    let command = WorkerCommand { program, arguments, timeout: TIMEOUT, handshake: TIMEOUT };
    let options = Options::new(command);
    let run = run(corpus, &options, None, &|_| {}).expect("a run");
    assert_eq!((run.results.len(), run.notes), (6, Vec::<String>::new()));
    let wrong = |(unit, outcome): (Unit<'_>, Outcome)| match outcome {
        Outcome::Passed => None,
        Outcome::WrongAnswer(wrong) => Some((unit.case.id.clone(), wrong.expected, wrong.actual)),
        other => unreachable!("{how}: {}: {other:?}", unit.case.id),
    };
    run.results.into_iter().filter_map(wrong).collect()
}

fn main() {
    registry::install(&TOY).expect("nothing clashes");
    let words: Vec<String> = std::env::args().collect();
    if let [_, "worker", how] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        let toy = Box::new(Toy(how.to_owned(), "toy".parse().into_iter().collect()));
        return terminal::work(&mut Composed::new("toy", "1", vec![toy])).expect("the pipes hold");
    }
    checkers::install(&Picks);
    let directory = tempfile::tempdir().expect("a directory");
    let folder = directory.path().join("cases");
    std::fs::create_dir(&folder).expect("a directory");
    let mut cases: Vec<Value> = serde_json::from_str(CASES).expect("JSON");
    let undeclared = cases.pop().expect("the last");
    cases.into_iter().for_each(|case| write(&folder, case));
    let corpus = Corpus::load(directory.path()).expect("six cases");
    assert_eq!(failed(&corpus, "right"), []);
    let one = |case: &str, expected: &str, actual: &str| vec![(case.into(), expected.into(), actual.into())];
    assert_eq!(failed(&corpus, "lenient"), one("negative", "reject, error YS02", "accept"));
    assert_eq!(failed(&corpus, "strict"), one("empty", "accept", "reject, error YS01 (no)"));
    assert_eq!(failed(&corpus, "careless"), one("any", "a number of the list that is at least 5", "1"));
    write(&folder, undeclared);
    let refused = Corpus::load(directory.path()).err().expect("nobody judges it").to_string();
    assert!(refused.contains("peeked.json") && refused.contains("`expect.peeked`"), "{refused}");
}
