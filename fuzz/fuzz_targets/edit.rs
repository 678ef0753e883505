//! The validator on a real program with a few values replaced: most of these get past the reader, into the rules.
#![no_main]

use libfuzzer_sys::fuzz_target;
use megakernel_reference::validate::{Classes, validate};
use serde_json::{Value, json};

const PROGRAM: &str = include_str!("../../corpus/programs/paged-every-kind.json");

fuzz_target!(|bytes: &[u8]| {
    let mut program: Value = serde_json::from_str(PROGRAM).expect("the program is JSON");
    for edit in bytes.chunks_exact(6).take(6) {
        let number = |index: usize| usize::from(edit[index]) | usize::from(edit[index + 1]) << 8;
        if let Some(slot) = nth_leaf(&mut program, &mut number(0).clone()) {
            *slot = match edit[2] % 12 {
                0 => json!(number(3)),
                1 => json!(i64::from(edit[3]) - 128),
                2 => json!(i64::MAX - i64::from(edit[3])),
                3 => json!(i32::MAX),
                4 => json!([]),
                5 => json!(["F32", "I8", "I4", "U8", "BOOL", "BF16"][usize::from(edit[3]) % 6]),
                6 => json!(["SMEM", "HBM", "REGISTER"][usize::from(edit[3]) % 3]),
                7 => json!(["WEIGHT", "ACTIVATION", "KV_CACHE", "IO_OUTPUT"][usize::from(edit[3]) % 4]),
                8 => json!(["ADD", "KV_APPEND", "GEMM_TILE", "SOFTMAX", "DEQUANT", "NOP"][usize::from(edit[3]) % 6]),
                _ => json!(u32::from(edit[3]) % 8),
            };
        }
    }
    let text = program.to_string();
    let verdict = validate(text.as_bytes(), Classes::ALL);
    assert_eq!(verdict.accepts(), verdict.diagnostics.iter().all(|diagnostic| !diagnostic.is_error()));
});

/// The leaf that many leaves into the value.
fn nth_leaf<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    let is_leaf = match &*value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => true,
    };
    if is_leaf {
        let here = *left == 0;
        *left = left.saturating_sub(1);
        return here.then_some(value);
    }
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth_leaf(item, left)),
        Value::Object(members) => members.values_mut().find_map(|member| nth_leaf(member, left)),
        _ => None,
    }
}
