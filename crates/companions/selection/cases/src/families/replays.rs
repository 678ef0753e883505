//! The same question in other words: renamed values and storages, kernels in another order, labels, and the same request
//! again. The plan is the same (SEL-22).

use megakernel_ir::rule::clause;
use serde_json::{Value, json};

use super::layers::mpk;
use crate::build::{chain, kernel, op, request};
use crate::item::{Item, outline_of, select};

/// Renames values and storages, turns the index around, adds labels.
pub fn replays() -> Vec<Item> {
    let mut items = Vec::new();
    let layer = mpk::request(&mpk::QWEN3_0_6B, 1, &[]);
    let kernels = [
        kernel("b", "1", "a!"),
        kernel("a", "1", "a!"),
        kernel("ab", "3", "a b!"),
        kernel("ba", "3", "a b!"),
        kernel("c", "1", "b!"),
    ];
    let ties = request(&chain(&["a", "b", "a", "a", "b"]), &kernels);
    let branch = request(
        &[
            op("a").reads(&["x"]).writes("p").rows(&json!({"effects": {"reads": ["k"]}})),
            op("b").reads(&["p", "x"]).writes("q").rows(&json!({"shape": {"m": "s", "n": "t"}})),
            op("a").reads(&["p"]).writes("r").rows(&json!({"shape": {"m": "t"}})),
            op("b").reads(&["q", "r"]).writes("y").output(),
        ],
        &kernels,
    );
    for (name, base) in [("layer", layer), ("ties", ties), ("branch", branch)] {
        let variants: Vec<(&str, &str, Value)> = vec![
            ("plain", "as it is", base.clone()),
            ("again", "the same once more", base.clone()),
            ("values", "with other names of values", renamed(&base, &|name| format!("value {name}/~\"é"))),
            (
                "values-reversed",
                "with names of values in another order",
                renamed(&base, &|name| name.chars().rev().chain(['!']).collect()),
            ),
            ("index-reversed", "with the index turned around", reordered(&base, true)),
            ("index-rotated", "with the index begun elsewhere", reordered(&base, false)),
            ("labels", "with labels and notes", labelled(&base)),
        ];
        for (variant, summary, document) in variants {
            let mut item = select(&format!("replay-{name}-{variant}"), summary, &[clause::SEL_22], document);
            item.summary = format!("{name} {summary}");
            if let Ok(expect) = select("plain", "", &[clause::SEL_22], base.clone()).expectation()
                && let Some(plan) = expect.get("document")
            {
                item = item.plan(&outline_of(plan));
            }
            items.push(item);
        }
    }
    items
}

fn renamed(request: &Value, name: &dyn Fn(&str) -> String) -> Value {
    let mut request = request.clone();
    let ops = request.pointer_mut("/sequence/ops").and_then(Value::as_array_mut);
    let rename = |value: &mut Value| {
        if let Some(text) = value.as_str() {
            *value = json!(name(text));
        }
    };
    for op in ops.into_iter().flatten() {
        op.get_mut("reads").and_then(Value::as_array_mut).into_iter().flatten().for_each(rename);
        for write in op.get_mut("writes").and_then(Value::as_array_mut).into_iter().flatten() {
            write.get_mut("value").into_iter().for_each(rename);
        }
    }
    request
}

fn reordered(request: &Value, reverse: bool) -> Value {
    let mut request = request.clone();
    if let Some(kernels) = request.pointer_mut("/index/kernels").and_then(Value::as_array_mut) {
        if reverse { kernels.reverse() } else { kernels.rotate_left(2) }
    }
    request
}

fn labelled(request: &Value) -> Value {
    let mut request = request.clone();
    for (path, name) in [("/sequence/ops", "label"), ("/index/kernels", "note")] {
        let records = request.pointer_mut(path).and_then(Value::as_array_mut);
        for (at, record) in records.into_iter().flatten().enumerate() {
            if let Some(members) = record.as_object_mut() {
                members.insert(name.to_owned(), json!(format!("{name} {at}")));
            }
        }
    }
    request
}
