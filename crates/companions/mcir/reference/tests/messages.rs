//! What is said of the smallest documents that break a rule (clause MCI-14): the two nodes and when they meet, the index, or the peak and what is held there.

use megakernel_mcir_reference::validate;
use megakernel_test_support::{files, root};

/// By rule: nodes, tiles, iterations, indices and bytes, as whoever reads the document finds them.
const SAID: [(&str, &[&str]); 9] = [
    ("IB02", &["axis 0", "the index 2", "more than once"]),
    ("IL02", &["`x`", "the lifetime `node`"]),
    (
        "IO01",
        &["`keep` reads the version t of `x` in the iteration t", "`next` began in the iteration t - 1"],
    ),
    (
        "IO02",
        &[
            "`next` loads the version t + 1 of `x` in the iteration t",
            "the version t + 0",
            "`keep`",
            "1 slots",
        ],
    ),
    ("IO03", &["the `Prefetch` nodes of `x`", "never, or twice"]),
    ("IO04", &["`next` loads `x`", "no `Barrier` waits for its version 0"]),
    ("IO05", &["`wait` waits for the version t + 2 of `x`"]),
    ("IT01", &["at `first`", "32 bytes in shared memory", "there are 31", "`x` 32"]),
    ("IT02", &["at `first`", "16 bytes in registers", "there are 15", "`sum` 16"]),
];

#[test]
fn messages_have_the_place_and_the_moment() {
    for (rule, parts) in SAID {
        let case = files::json(&root().join(format!("corpus/cases/spec/{rule}/rejected.json")));
        let text = case["document"]["text"].as_str().expect("the text of a document");
        let verdict = validate(text.as_bytes());
        let found = verdict.diagnostics.iter().find(|found| found.rule.id() == rule).expect(rule);
        for part in parts {
            assert!(found.message.contains(part), "{rule}: no `{part}` in: {}", found.message);
        }
    }
}
