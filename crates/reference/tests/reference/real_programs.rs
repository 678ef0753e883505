//! Programs that another project's compiler wrote are accepted under every profile; with one edit each, they are
//! rejected under the rule that the edit breaks.

use megakernel_ir::protocol::Profile;
use megakernel_ir::{Diagnostic, Rule};
use megakernel_reference::validate::{Classes, validate};
use megakernel_test_support::fixtures;
use serde_json::{Value, json};

fn program(name: &str) -> Vec<u8> {
    fixtures::bytes(&format!("amk/{name}"))
}

fn errors(document: &[u8], classes: Classes) -> Vec<Rule> {
    let mut rules: Vec<Rule> = validate(document, classes)
        .diagnostics
        .iter()
        .filter(|d| d.is_error())
        .map(|d: &Diagnostic| d.rule)
        .collect();
    rules.dedup();
    rules
}

#[test]
fn real_programs_are_accepted_under_every_profile() {
    for name in ["toy_decoder.json", "llama32_1b_decode.json"] {
        let document = program(name);
        for profile in Profile::STATIC {
            assert_eq!(errors(&document, Classes::of_profile(profile)), [], "{name} under {profile}");
        }
        let verdict = validate(&document, Classes::ALL);
        assert_eq!(verdict.diagnostics, [], "{name} is not even worth a warning");
    }
}

/// An edit of a program, and the rules that it breaks, all of them.
type Mutant = (&'static str, fn(&mut Value), &'static [Rule]);

/// The first task with this opcode that passes a test.
fn task<'v>(program: &'v mut Value, op: &str, index: usize) -> &'v mut Value {
    let tasks = program["tasks"].as_array_mut().expect("tasks");
    tasks.iter_mut().filter(|task| task["op"] == op).nth(index).expect("such a task")
}

const MUTANTS: &[Mutant] = &[
    ("drops the version", |p| drop(p.as_object_mut().expect("object").remove("ir_version")), &[Rule::S03]),
    ("is of the next major version", |p| p["ir_version"] = json!("1.0.0"), &[Rule::S06]),
    ("renumbers a buffer", |p| p["buffers"][4]["id"] = json!(5), &[Rule::S08]),
    ("reads a buffer that is not there", |p| task(p, "ADD", 0)["inputs"][0] = json!(100_000), &[Rule::S09]),
    (
        "loses an operand",
        |p| drop(task(p, "ADD", 0)["inputs"].as_array_mut().expect("list").pop()),
        &[Rule::S11],
    ),
    (
        "loses a parameter",
        |p| drop(task(p, "ROPE", 0)["params"].as_object_mut().expect("object").remove("theta")),
        &[Rule::S13],
    ),
    ("starts a counter at one", |p| p["counters"][3]["init"] = json!(1), &[Rule::S17]),
    (
        "waits for a counter beyond its producers",
        |p| task(p, "ADD", 0)["waits"][1]["threshold"] = json!(1000),
        &[Rule::D02],
    ),
    (
        "waits on its own counter",
        |p| {
            let own = task(p, "RMSNORM", 0)["out_counter"].clone();
            task(p, "RMSNORM", 0)["waits"]
                .as_array_mut()
                .expect("list")
                .push(json!({"counter": own, "threshold": 1}));
        },
        &[Rule::D03],
    ),
    (
        "waits for the end at the beginning",
        |p| {
            let last = p["counters"].as_array().expect("list").len() - 1;
            let producers = p["tasks"]
                .as_array()
                .expect("list")
                .iter()
                .filter(|task| task["out_counter"] == last)
                .count();
            p["tasks"][0]["waits"] = json!([{"counter": last, "threshold": producers}]);
        },
        &[Rule::D04],
    ),
    (
        "waits for all tiles but one",
        |p| {
            let threshold = task(p, "ADD", 0)["waits"][1]["threshold"].as_i64().expect("a number");
            task(p, "ADD", 0)["waits"][1]["threshold"] = json!(threshold - 1);
        },
        &[Rule::R01],
    ),
    ("forgets to wait for its only producer", |p| task(p, "RMSNORM", 0)["waits"] = json!([]), &[Rule::R02]),
    (
        "forgets to wait for the append",
        |p| {
            drop(task(p, "ATTENTION_TILE", 0)["waits"].as_array_mut().expect("list").remove(1));
        },
        &[Rule::R06],
    ),
    (
        "writes another task's tile",
        |p| {
            let offset = task(p, "GEMV_TILE", 1)["params"]["n_off"].clone();
            task(p, "GEMV_TILE", 2)["params"]["n_off"] = offset;
        },
        &[Rule::R04, Rule::M05],
    ),
    ("shrinks a tile", |p| task(p, "GEMV_TILE", 1)["params"]["N_tile"] = json!(15), &[Rule::M05]),
    (
        "leaves the matrix",
        |p| task(p, "GEMV_TILE", 1)["params"]["n_off"] = json!(1 << 30),
        &[Rule::M03, Rule::M05],
    ),
    ("appends behind the cache", |p| task(p, "KV_APPEND", 0)["params"]["pos"] = json!(1 << 20), &[Rule::M04]),
    (
        "attends behind the cache",
        |p| task(p, "ATTENTION_TILE", 0)["params"]["kv_len"] = json!(1 << 20),
        &[Rule::M04],
    ),
    ("reads integers as floats", |p| p["buffers"][3]["dtype"] = json!("I32"), &[Rule::M01]),
    (
        "asks for too much shared memory",
        |p| p["config"]["smem_bytes_per_block"] = json!(1 << 30),
        &[Rule::L01],
    ),
    ("asks for too many threads", |p| p["config"]["threads_per_block"] = json!(2048), &[Rule::L02]),
    (
        "runs where blocks are not resident together",
        |p| p["target"]["supports_cooperative"] = json!(false),
        &[Rule::L03],
    ),
];

#[test]
fn single_edits_of_real_programs_break_the_rule_that_they_mean() {
    for name in ["toy_decoder.json", "llama32_1b_decode.json"] {
        let document = program(name);
        let original: Value = serde_json::from_slice(&document).expect("JSON");
        for (what, edit, rules) in MUTANTS {
            let mut mutant = original.clone();
            edit(&mut mutant);
            assert_ne!(mutant, original, "{name} that {what} is another program");
            assert_eq!(errors(mutant.to_string().as_bytes(), Classes::ALL), *rules, "{name} that {what}");
        }
    }
}
