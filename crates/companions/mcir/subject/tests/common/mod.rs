//! What tests of passes that make documents share.

use std::collections::BTreeMap;
use std::sync::Mutex;

use megakernel_mcir_checker::judge_transform;
use megakernel_mcir_reference::transformed;
use serde_json::Value;

/// What a faulty or another right pass answers; nothing where it would do what is right.
pub type Pass = fn(&Value) -> Option<Value>;

/// What an answer is rejected for, as the judge says it.
pub const FIELD: &str = "in a finite field";
pub const TARGET: &str = "the target";
pub const MOVED: &str = "bytes loaded";

/// What the reference answers to a request; each is asked once, since every faulty pass begins with it.
pub fn answer(request: &Value) -> Value {
    static KNOWN: Mutex<BTreeMap<String, Value>> = Mutex::new(BTreeMap::new());
    let request = request.to_string();
    let known = KNOWN.lock().expect("no test panics with it").get(&request).cloned();
    known.unwrap_or_else(|| {
        let answer = transformed(request.as_bytes()).expect("an accepted request");
        KNOWN.lock().expect("no test panics with it").insert(request, answer.clone());
        answer
    })
}

pub fn array(value: &mut Value) -> &mut Vec<Value> {
    value.as_array_mut().expect("an array")
}

/// What the judge says of an answer to a request, if it rejects it.
pub fn rejected(name: &str, request: &Value, answer: &Value) -> Option<String> {
    let (expected, found) = judge_transform(request.to_string().as_bytes(), &answer.to_string()).err()?;
    Some(format!("{name}: expected {expected}, found {found}"))
}
