//! Documents with data, what their outputs have to be, and the runner's judge of it.

use megakernel_ir::companion::{Checker as _, Question, Unanswered};
use megakernel_ir::protocol::{FromWorker, Method};
use megakernel_mcir_cases::families::{compute, lowering};
use megakernel_mcir_checker::CHECKER;
use megakernel_test_support::{cases, files, root};
use serde_json::{Map, Value, json};

/// A document with its data, and what its outputs have to be.
pub struct Play {
    pub name: String,
    pub document: Value,
    pub outputs: Map<String, Value>,
}

/// The cases that compute.
pub fn computing() -> Vec<Play> {
    let edited = cases::documents("mcir/compute").into_iter().map(|found| (found.case, found.text));
    let whole = files::json_below(&root().join("corpus/cases/mcir/compute")).into_iter().filter_map(|path| {
        let case = files::json(&path);
        let text = case["document"]["text"].as_str()?.to_owned();
        Some((case, text))
    });
    let accepted = edited.chain(whole).filter(|(case, _)| case["expect"]["verdict"] == "accept");
    let mut all: Vec<Play> = accepted
        .map(|(case, text)| Play {
            name: case["id"].as_str().expect("an id").to_owned(),
            document: serde_json::from_str(&text).expect("JSON"),
            outputs: case["expect"]["outputs"].as_object().expect("outputs").clone(),
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// The documents of the cases that are lowered, on random numbers: what has to come out says the definition from which cases are made.
pub fn lowering() -> Vec<Play> {
    let play = |(seed, (name, _, document)): (u64, (String, String, Value))| {
        let (document, outputs) = compute::drawn(&document, seed);
        Play { name, document, outputs }
    };
    (0..).zip(lowering::all()).map(play).collect()
}

/// What the runner's judge says of an answer, if it is wrong.
pub fn wrong(play: &Play, answer: &Value) -> Option<String> {
    let document = play.document.to_string();
    let question =
        Question { method: Method::COMPUTE, document: document.as_bytes(), arguments: None, anew: false };
    let answer: FromWorker =
        serde_json::from_value(json!({"type": "response", "document": answer.to_string()}))
            .expect("an answer");
    let expect = Map::from_iter([("outputs".to_owned(), Value::Object(play.outputs.clone()))]);
    CHECKER.well_formed(Method::COMPUTE, None, &expect).expect("a case that judges something");
    let judged = CHECKER.judge(&question, &expect, &answer, &mut |_| Err(Unanswered));
    let wrong = judged.expect("no further question").err()?;
    Some(format!("{}: expected {}, found {}", play.name, wrong.expected, wrong.actual))
}
