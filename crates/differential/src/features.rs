//! What a document has that faults may depend on, as keys that are counted.

use std::collections::BTreeSet;

use megakernel_ir::Diagnostic;
use megakernel_ir::protocol::Profile;
use serde_json::Value;

use crate::sample::Declared;

/// The crossings of a declared sample: of a verdict, each rule with the opcode and the buffer that it is about; of an execution, each
/// opcode with dtype, rank and position of each operand, and with each parameter.
pub fn crossings(declared: &Declared) -> BTreeSet<String> {
    let document = declared.sample.value().unwrap_or_default();
    if declared.sample.profile == Profile::EXECUTE {
        return executed(&document);
    }
    let profile = declared.sample.profile;
    if declared.found.is_empty() {
        let tasks = document["tasks"].as_array().into_iter().flatten();
        let ops: BTreeSet<String> =
            tasks.map(|task| format!("{profile} accept {}", name(&task["op"]))).collect();
        return if ops.is_empty() { BTreeSet::from([format!("{profile} accept")]) } else { ops };
    }
    declared.found.iter().map(|found| format!("{} {}", found.rule.id(), place(&document, found))).collect()
}

/// Opcode of the first task and kind, space and dtype of the first buffer that a finding names.
fn place(document: &Value, found: &Diagnostic) -> String {
    let mut tokens = found.pointer.split('/').skip(1);
    let (list, index) = (tokens.next().unwrap_or_default(), tokens.next());
    let pointed = |wanted: &str| index.filter(|_| list == wanted).and_then(|index| index.parse().ok());
    let task = found.tasks.first().map(|task| task.index()).or_else(|| pointed("tasks"));
    let buffer = found.buffers.first().map(|buffer| buffer.index()).or_else(|| pointed("buffers"));
    let op = task.map_or("-", |task| name(&document["tasks"][task]["op"]));
    let buffer = buffer.map_or_else(
        || "-".to_owned(),
        |buffer| {
            let buffer = &document["buffers"][buffer];
            let space = buffer["space"].as_str().unwrap_or("HBM");
            let rank = buffer["shape"].as_array().map_or(0, Vec::len);
            format!("{}/{space}/{}/{rank}", name(&buffer["kind"]), name(&buffer["dtype"]))
        },
    );
    // Where no task is meant it is the list that tells findings of one rule apart.
    let list = if op == "-" { list } else { "" };
    format!("{op} {buffer} {list}").trim_end().to_owned()
}

/// What a shrunk sample still has, because without it the disagreement is gone. Extents and numbers are left out: one cause shows at many.
pub fn lasting(declared: &Declared) -> BTreeSet<String> {
    if declared.sample.profile != Profile::EXECUTE {
        return crossings(declared);
    }
    let mut all = executed(&declared.sample.value().unwrap_or_default());
    if declared.sample.launches.len() > 1 {
        all.insert("several launches".to_owned());
    }
    for tensor in declared.sample.launches.iter().flat_map(|launch| launch.values()) {
        let values = if tensor.dtype.is_float() { tensor.reals() } else { Vec::new() };
        if values.iter().any(|value| value.is_nan()) {
            all.insert("a NaN".to_owned());
        }
        if values.iter().any(|value| value.is_infinite()) {
            all.insert("an infinity".to_owned());
        }
    }
    all
}

/// The crossings of a program that executes.
pub fn executed(document: &Value) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let buffer = |id: &Value| &document["buffers"][id.as_u64().unwrap_or(u64::MAX) as usize];
    for task in document["tasks"].as_array().into_iter().flatten() {
        let op = name(&task["op"]);
        for (list, short) in [("inputs", "in"), ("outputs", "out")] {
            for (position, id) in task[list].as_array().into_iter().flatten().enumerate() {
                let buffer = buffer(id);
                let rank = buffer["shape"].as_array().map_or(0, Vec::len);
                all.insert(format!("{op} {short}{position} {} rank {rank}", name(&buffer["dtype"])));
                all.insert(format!("{op} {short}{position} {}", name(&buffer["kind"])));
                let aliases = task["inputs"].as_array().into_iter().flatten().enumerate();
                for (other, _) in
                    aliases.filter(|(other, it)| *it == id && (list, position) > ("inputs", *other))
                {
                    all.insert(format!("{op} {short}{position} is in{other}"));
                }
            }
        }
        for key in task["params"].as_object().into_iter().flatten().map(|(key, _)| key) {
            all.insert(format!("{op} {key}"));
        }
    }
    all
}

/// A string, or nothing.
fn name(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}
