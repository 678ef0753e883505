//! The records under `targets/` as targets of programs: the validator accepts what just fits each of them, and rejects what does
//! not by one (rules L01, L02, L04 and D07).

use megakernel_ir::Rule;
use megakernel_reference::validate::{Classes, validate};
use megakernel_test_support::{files, root};
use serde_json::{Value, json};

/// One task on an SM, launched with so many threads and bytes of shared memory.
fn program(target: &Value, sm: &Value, threads: u64, bytes: &Value) -> Value {
    json!({
        "ir_version": "0.2.0", "abi_version": "0.2", "target": target, "meta": {"gpu": target["name"]},
        "buffers": [], "counters": [{"id": 0}],
        "tasks": [{"id": 0, "op": "NOP", "inputs": [], "outputs": [], "out_counter": 0, "sm": sm}],
        "config": {"sm_assignment": {"0": sm}, "threads_per_block": threads, "smem_bytes_per_block": bytes}
    })
}

fn found(program: &Value) -> Vec<Rule> {
    let verdict = validate(program.to_string().as_bytes(), Classes::ALL);
    verdict.diagnostics.iter().map(|diagnostic| diagnostic.rule).collect()
}

#[test]
fn what_fits_a_target_is_accepted_and_what_does_not_by_one_is_rejected() {
    let mut records = 0;
    for path in files::json_below(&root().join("targets")) {
        records += 1;
        let record = files::json(&path);
        let target = &record["target"];
        let name = path.display();
        let sms = target["num_sms"].as_u64().expect("a number");
        let bytes = target["smem_bytes_per_block_optin"].as_u64().expect("a number");
        let (last, all) = (json!(sms - 1), json!(bytes));
        assert_eq!(found(&program(target, &last, 1024, &all)), [], "{name}");
        assert_eq!(found(&program(target, &last, 1024, &json!(bytes + 1))), [Rule::L01], "{name}");
        assert_eq!(found(&program(target, &last, 1025, &all)), [Rule::L02], "{name}");
        assert_eq!(found(&program(target, &json!(sms), 1024, &all)), [Rule::D07, Rule::L04], "{name}");
    }
    assert!(records >= 4, "{records} records of targets");
}
