//! What attention moves, written out and after the passes, on a chip with the memory of an H100: by commands, and by adding up what each block has to load and store.

use megakernel_mcir::{Pass, Target};
use megakernel_mcir_reference::{measure_document, read_document, transform_text};
use serde_json::{Value, json};

/// What a block of an H100 may hold: 227 KiB of shared memory, 65,536 registers of 4 bytes.
const H100: Target = Target { shared: Some(232_448), register: Some(262_144) };

/// Attention of `n` queries and keys of `d` numbers, written out.
fn graph(n: i64, d: i64, is_causal: bool) -> Value {
    let half = |shape: [i64; 2]| json!({"shape": shape, "dtype": "F16"});
    let score = json!({"shape": [n, n], "dtype": "F32"});
    let node =
        |id: &str, op: &str, ins: &[&str], out: &str| json!({"id": id, "op": op, "in": ins, "out": out});
    let mut scale = node("scale", "scale", &["s"], "t");
    scale["by"] = json!([1, 8]);
    let mut nodes =
        vec![node("turn", "transpose", &["K"], "KT"), node("scores", "matmul", &["Q", "KT"], "s"), scale];
    let scores = if is_causal { "u" } else { "t" };
    nodes.extend(is_causal.then(|| node("mask", "mask", &["t"], "u")));
    let mut softmax = node("softmax", "softmax", &[scores], "p");
    softmax["axis"] = json!(1);
    nodes.extend([softmax, node("out", "matmul", &["p", "V"], "O")]);
    let mut values = json!({
        "Q": half([n, d]), "K": half([n, d]), "V": half([n, d]), "O": half([n, d]), "KT": half([d, n]),
        "s": score, "t": score, "p": score,
    });
    if is_causal {
        values["u"] = score;
    }
    json!({"values": values, "inputs": ["Q", "K", "V"], "outputs": ["O"], "nodes": nodes})
}

/// The measures of what passes make of a graph.
fn measures(graph: &Value, passes: &[Pass]) -> Value {
    let mut text = graph.to_string();
    for &pass in passes {
        let made = transform_text(pass, text.as_bytes(), H100);
        text = made.unwrap_or_else(|not_made| unreachable!("{pass:?}: {not_made:?}")).0.to_string();
    }
    let document = read_document(text.as_bytes()).expect("a document");
    measure_document(&document).1.expect("accepted").expect("it is counted")
}

const DOCUMENT: [Pass; 4] = [
    Pass::StreamingConversion,
    Pass::MaterializationElimination,
    Pass::TileScheduling,
    Pass::ResidencyAssignment,
];

fn streaming(n: i64, d: i64, is_causal: bool) -> Value {
    measures(&graph(n, d, is_causal), &[&[Pass::AttentionPattern], &DOCUMENT[..]].concat())
}

fn moved(measures: &Value) -> i64 {
    let number = |name: &str| measures[name].as_i64().expect("a number");
    number("loaded") + number("stored")
}

/// Bytes of `n` by `d` numbers of two bytes, so many times.
fn halves(n: i64, d: i64, times: i64) -> i64 {
    2 * n * d * times
}

#[test]
fn attention_at_full_size_moves_what_its_blocks_need_and_stores_no_score() {
    for (n, d) in [(4096, 64), (32_768, 128)] {
        let blocks = n / 128;
        let all = streaming(n, d, false);
        assert_eq!(all["materialized"], json!([]), "{n}");
        assert_eq!(all["compulsory"], halves(n, d, 4), "{n}");
        // Queries and results once; keys and values once for each block of 128 queries.
        assert_eq!(moved(&all), halves(n, d, 2 + 2 * blocks), "{n}");
        // A block of queries up to row i meets the keys up to row i, in tiles that divide 128.
        let causal = streaming(n, d, true);
        assert_eq!(causal["materialized"], json!([]), "{n}");
        let met: i64 = (1..=blocks).map(|block| 128 * block).sum();
        assert_eq!(moved(&causal), halves(n, d, 2) + halves(met, d, 2), "{n}");
    }
}

#[test]
fn attention_written_out_stores_its_scores() {
    let (n, d) = (4096, 64);
    let naive = measures(&graph(n, d, false), &DOCUMENT);
    assert_eq!(naive["materialized"], json!(["KT", "p", "t"]));
    // Keys are turned; scores in tiles of 128 by 128 are stored, and weights; each is loaded again. Four bytes each.
    let tiles = n / 128;
    let scores = 4 * n * n;
    assert_eq!(
        moved(&naive),
        halves(n, d, 2) + halves(n, d, 2 * tiles) + 4 * scores + halves(n, d, tiles + 1)
    );
}
