//! What the unit tests of the VM share.

use serde_json::{Value, json};

/// A program of NOPs: `"c1 c0>=2 sm3"` increments counter 1, waits until counter 0 is 2, and stands in the queue of SM 3.
pub fn nops(tasks: &[&str]) -> String {
    let mut counters = 0;
    let mut number = |text: &str| {
        let id = text.parse::<usize>().expect("a number");
        counters = counters.max(id + 1);
        id
    };
    let records: Vec<Value> = tasks
        .iter()
        .enumerate()
        .map(|(id, task)| {
            let mut record = json!({"id": id, "op": "NOP", "inputs": [], "outputs": [], "waits": []});
            for word in task.split_whitespace() {
                if let Some(sm) = word.strip_prefix("sm") {
                    record["sm"] = json!(sm.parse::<i64>().expect("a number"));
                } else if let Some((counter, threshold)) = word[1..].split_once(">=") {
                    let wait = json!({"counter": number(counter), "threshold": threshold.parse::<i64>().expect("a number")});
                    record["waits"].as_array_mut().expect("a list").push(wait);
                } else {
                    record["out_counter"] = json!(number(&word[1..]));
                }
            }
            record
        })
        .collect();
    let counters: Vec<Value> = (0..counters).map(|id| json!({"id": id})).collect();
    json!({"ir_version": "0.2.0", "abi_version": "0.2", "buffers": [], "counters": counters, "tasks": records}).to_string()
}
