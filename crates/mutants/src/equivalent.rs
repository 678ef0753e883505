//! Faults that no document shows, and why. Whatever a validator with one of them passes over, it rejects the document all the same, by
//! a rule that is broken too; and a validator need not name every rule that is broken.

use crate::Step;

/// A fault that cannot be seen.
pub struct Equivalent {
    /// The fault.
    pub step: Step,
    /// Why it cannot.
    pub why: &'static str,
}

const fn equivalent(name: &'static str, of: &'static str, why: &'static str) -> Equivalent {
    Equivalent { step: Step { name, of, at: "" }, why }
}

/// All of them. A case that rejects one refutes its argument, and so does a document that the tests draw.
pub const EQUIVALENT: [Equivalent; 6] = [
    equivalent(
        "hand-over-while-both-are-read",
        "",
        "The task reads all of the buffer that it writes, and every other task that uses that one comes after it or breaks P01 as before; \
         so nobody wrote it earlier, and R02 is broken, or the buffer is of a kind that breaks P04.",
    ),
    equivalent(
        "in-place-allowed",
        "ATTENTION_COMBINE",
        "A partial has more elements than the output, so an output that is one of the partials breaks M02, or M01 where its dtype is wrong.",
    ),
    equivalent(
        "in-place-allowed",
        "SAMPLE_ARGMAX",
        "The logits are floating point and the ids are not, so one buffer for both breaks M01.",
    ),
    equivalent(
        "read-only-first-output",
        "",
        "No opcode has a second output, so a task that lists one breaks S10, S11 or S12.",
    ),
    equivalent(
        "reference-negative",
        "sm_assignment",
        "The reference is a key of a map, and a key with a sign breaks S04, which is judged in an earlier stage.",
    ),
    equivalent(
        "warnings-under-every-profile",
        "",
        "Cases ask for warnings of documents that deserve one under `validate` alone, as the chapter on warnings says.",
    ),
];

/// Why a fault cannot be seen, if it cannot.
pub fn why(step: &Step) -> Option<&'static str> {
    EQUIVALENT.iter().find(|equivalent| equivalent.step == *step).map(|equivalent| equivalent.why)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use megakernel_ir::Rule;
    use megakernel_ir::prng::SplitMix64;
    use megakernel_ir::protocol::Profile;
    use megakernel_ir::rule::Severity;
    use serde_json::{Value, json};

    use super::EQUIVALENT;
    use crate::{Steps, judge, stages};

    /// A program of up to four buffers and three tasks, often with something wrong.
    fn program(draws: &mut SplitMix64) -> Value {
        let mut pick = |below: u64| draws.below(below) as usize;
        let buffers: Vec<Value> = (0..3 + pick(2))
            .map(|id| {
                let kind =
                    ["IO_INPUT", "ACTIVATION", "ACTIVATION", "ACTIVATION", "KV_CACHE", "IO_OUTPUT"][pick(6)];
                let dtype = ["F32", "F32", "F32", "I32"][pick(4)];
                let shape = [json!([1, 3]), json!([1, 3]), json!([1, 1])][pick(3)].clone();
                json!({"id": id, "name": "b", "kind": kind, "dtype": dtype, "shape": shape})
            })
            .collect();
        let count = 1 + pick(3);
        let tasks: Vec<Value> = (0..count)
            .map(|id| {
                let (op, inputs) = [
                    ("COPY", 1),
                    ("GELU", 1),
                    ("ADD", 2),
                    ("ADD", 2),
                    ("SAMPLE_ARGMAX", 1),
                    ("ATTENTION_COMBINE", 2),
                ][pick(6)];
                let inputs: Vec<usize> = (0..inputs).map(|_| pick(buffers.len() as u64)).collect();
                let outputs = if pick(5) == 0 { 2 } else { 1 };
                let outputs: Vec<usize> = (0..outputs).map(|_| pick(buffers.len() as u64)).collect();
                let waits = if id > 0 && pick(3) > 0 { json!([{"counter": id - 1, "threshold": 1}]) } else { json!([]) };
                json!({"id": id, "op": op, "inputs": inputs, "outputs": outputs, "out_counter": id, "waits": waits})
            })
            .collect();
        let on_page: serde_json::Map<String, Value> = (0..buffers.len())
            .filter(|&id| buffers[id]["kind"] == "ACTIVATION" && pick(4) > 0)
            .map(|id| (id.to_string(), json!(0)))
            .collect();
        let pages = json!({"buffer_to_page": on_page, "pages": [{"id": 0, "space": "HBM", "nbytes": 12}]});
        let assignment = [json!({}), json!({"0": 1}), json!({"-1": 1}), json!({"7": 1})][pick(4)].clone();
        let counters: Vec<Value> = (0..count).map(|id| json!({"id": id})).collect();
        let mut program = json!({"ir_version": "0.2.0", "abi_version": "0.2", "buffers": buffers,
            "counters": counters, "tasks": tasks, "pages": pages});
        if pick(4) == 0 {
            program["config"] = json!({"sm_assignment": assignment});
        }
        program
    }

    fn errors(steps: &Steps, document: &[u8], profile: Profile) -> BTreeSet<Rule> {
        judge(steps, document, profile)
            .into_iter()
            .filter(|rule| rule.severity() == Severity::Error)
            .collect()
    }

    #[test]
    fn no_drawn_document_shows_an_equivalent_fault() {
        let mut draws = SplitMix64::for_family("equivalent", 0);
        let mut seen = BTreeSet::new();
        for _ in 0..2000 {
            let document = program(&mut draws).to_string().into_bytes();
            for profile in [Profile::FORMAT, Profile::VALIDATE, Profile::MEMORY_SAFETY] {
                let steps = Steps::recording(BTreeSet::new());
                stages(&steps, &document, profile, &crate::found::Found::new(&steps));
                let met = steps.met();
                for equivalent in EQUIVALENT.iter().filter(|one| met.different.contains(&one.step)) {
                    let right = errors(&Steps::right(), &document, profile);
                    let wrong = errors(&Steps::wrong(equivalent.step), &document, profile);
                    assert!(
                        wrong.is_subset(&right) && wrong.is_empty() == right.is_empty(),
                        "{} under {profile}: {right:?} became {wrong:?} in {}",
                        equivalent.step,
                        String::from_utf8_lossy(&document)
                    );
                    seen.insert(equivalent.step);
                }
            }
        }
        // A fault that no drawn document meets would pass unseen; a key with a sign does not get as far as its step.
        let met = EQUIVALENT.iter().filter(|one| one.step.name != "reference-negative");
        assert_eq!(seen.len(), met.count(), "met: {seen:?}");
    }
}
