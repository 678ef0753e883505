//! The Python example and the reference were written apart, from the specification alone. On programs of the corpus with random
//! edits, most of them nonsense, both have to find the same broken rules, as far as the example claims them.

use std::collections::BTreeSet;

use megakernel_conformance::run::{HANDSHAKE, TIMEOUT};
use megakernel_conformance::stop::Stop;
use megakernel_conformance::worker::{WorkerCommand, WorkerProcess};
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::protocol::{Method, Profile};
use megakernel_reference::validate::{Classes, validate};
use megakernel_test_support::root;
use serde_json::Value;

/// Edited documents that are compared.
const DOCUMENTS: usize = 3000;

/// Values around the limits of the types and names that the members take.
fn values() -> Vec<Value> {
    let numbers =
        "[0, 1, -1, 2, 3, 4, 5, 6, 7, 8, 9, 64, 2147483647, 2147483648, -2147483648, 4294967295, 4294967296,
        9223372036854775807, -9223372036854775808, 1.5, -0.5, 1e39, 3.5e38, 1e-50, -1e-50, 1e-46]";
    let others = r#"[null, true, "", "0", "HBM", "SMEM", "ADD", "GEMV_TILE", "NOP", "FUSED", "F32", "I4", "WEIGHT",
        "IO_OUTPUT", "ACTIVATION", "round_robin", "none", "0.2", "1.0.0", "0.02", "0.2.0.1", [], {}, [0], [0, 0], [1],
        [1, 2, 3, 4, 5], {"0": 0}, {"01": 0}, {"9223372036854775807": 1}, {"9223372036854775808": 1}]"#;
    [numbers, others]
        .into_iter()
        .flat_map(|text| serde_json::from_str::<Vec<Value>>(text).expect("a list"))
        .collect()
}

/// Members that an edit may add where they are missing.
const NAMES: [&str; 18] = [
    "sm",
    "params",
    "waits",
    "qdtype",
    "flags",
    "K",
    "extra",
    "space",
    "pages",
    "config",
    "target",
    "init",
    "theta",
    "group",
    "kv_len",
    "n_heads",
    "measured_bw_gbs",
    "est_flops",
];

/// All values below `value`, each as the JSON pointer of the container and the key or index in it.
fn places(value: &Value, at: &str, found: &mut Vec<(String, String)>) {
    let mut add = |key: String, item: &Value| {
        found.push((at.to_owned(), key.clone()));
        places(item, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(key, item)| add(key.clone(), item)),
        Value::Array(items) => items.iter().enumerate().for_each(|(n, item)| add(n.to_string(), item)),
        _ => {}
    }
}

fn edit(document: &mut Value, rng: &mut SplitMix64, values: &[Value]) {
    let mut found = Vec::new();
    places(document, "", &mut found);
    let Some((container, key)) = rng.pick(&found).cloned() else { return };
    let new = rng.pick(values).cloned().unwrap_or_default();
    match (document.pointer_mut(&container), rng.below(8)) {
        (Some(Value::Object(members)), 0) => {
            members.shift_remove(&key);
        }
        (Some(Value::Object(members)), 1) => {
            members.insert(rng.pick(&NAMES).copied().unwrap_or_default().to_owned(), new);
        }
        (Some(Value::Object(members)), _) => {
            members.insert(key, new);
        }
        (Some(Value::Array(items)), choice) => {
            let index = key.parse::<usize>().unwrap_or(0).min(items.len().saturating_sub(1));
            match choice {
                0 => drop(items.remove(index)),
                1 => items.insert(index, items[index].clone()),
                _ => items[index] = new,
            }
        }
        _ => {}
    }
}

#[test]
fn the_reference_and_the_example_find_the_same_rules() {
    let mut programs: Vec<String> = std::fs::read_dir(root().join("corpus/programs"))
        .expect("programs")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .map(|path| std::fs::read_to_string(path).expect("text"))
        .filter(|text| text.len() < 6000)
        .collect();
    programs.sort();
    assert!(programs.len() > 20, "only {} small programs", programs.len());
    let command = WorkerCommand {
        program: "python3".to_owned(),
        arguments: vec![root().join("examples/python/adapter.py").display().to_string()],
        timeout: TIMEOUT,
        handshake: HANDSHAKE,
    };
    let (mut example, hello) =
        WorkerProcess::start(&command, &Stop::default()).expect("python3 starts: this test needs it");
    let values = values();
    let mut rng = SplitMix64::new(0);
    let mut seen = BTreeSet::new();
    for _ in 0..DOCUMENTS {
        let mut document: Value =
            serde_json::from_str(rng.pick(&programs).expect("a program")).expect("JSON");
        for _ in 0..=rng.below(3) {
            edit(&mut document, &mut rng, &values);
        }
        let text = document.to_string();
        let answer = example.ask(Method::VALIDATE, Profile::VALIDATE, text.as_bytes()).expect("an answer");
        let theirs: BTreeSet<String> =
            answer.diagnostics.into_iter().flatten().map(|diagnostic| diagnostic.rule).collect();
        let ours: BTreeSet<String> = validate(text.as_bytes(), Classes::of_profile(Profile::VALIDATE))
            .diagnostics
            .into_iter()
            .map(|diagnostic| diagnostic.rule.to_string())
            .filter(|rule| hello.implements(rule))
            .collect();
        assert_eq!(ours, theirs, "the reference and the example differ on {text}");
        seen.extend(ours);
    }
    assert_eq!(example.finish(), None);
    assert!(seen.len() >= 18, "the edits broke only {seen:?}");
}
