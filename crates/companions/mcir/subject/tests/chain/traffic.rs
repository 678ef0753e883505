//! What attention moves, written out and after the passes, on a chip with the memory of an H100: by commands, and by adding up what each block has to load and store.

use megakernel_mcir::{Pass, Target};
use megakernel_mcir_reference::{Family, NotMade, family, measure_document, read_document, transform_text};
use megakernel_prove::thousands;
use megakernel_test_support::{files, root};
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

/// What the document of attention that is written out moves: scores in tiles of 128 by 128 are stored, and weights; each is loaded again. Four bytes each.
fn naive(n: i64, d: i64) -> i64 {
    let tiles = n / 128;
    let scores = 4 * n * n;
    halves(n, d, 2 * tiles) + 4 * scores + halves(n, d, tiles + 1)
}

#[test]
fn attention_written_out_stores_its_scores() {
    for (n, d) in [(4096, 64), (32_768, 128)] {
        let found = measures(&graph(n, d, false), &DOCUMENT);
        assert_eq!(found["materialized"], json!(["p", "t"]), "{n}");
        assert_eq!(moved(&found), naive(n, d), "{n}");
    }
}

/// The node of attention, as AttentionPatternPass makes it.
fn node(n: i64, d: i64, is_causal: bool) -> String {
    let made = transform_text(Pass::AttentionPattern, graph(n, d, is_causal).to_string().as_bytes(), H100);
    made.unwrap_or_else(|not_made| unreachable!("{not_made:?}")).0.to_string()
}

fn of_h100(n: i64, d: i64, is_causal: bool) -> Family {
    family(node(n, d, is_causal).as_bytes(), 232_448, 262_144).expect("a family")
}

/// What a block holds with so many queries and keys, by hand: in shared memory its queries, and keys or values; in registers the accumulator, the largest
/// score and the sum of each row; and beside them scores twice (as they are and scaled, or with their weights) and a factor for each row, or weights, factors
/// and a part of the accumulator.
fn fits(d: i64, queries: i64, keys: i64) -> bool {
    let shared = 2 * d * (queries + keys);
    let twice = 8 * queries * keys + 4 * queries;
    let part = 4 * queries * keys + 4 * queries + 4 * queries * d;
    let register = 4 * queries * (d + 2) + twice.max(part);
    shared <= 232_448 && register <= 262_144 && queries * keys <= 1 << 20
}

#[test]
fn the_least_of_the_family_is_the_largest_block_that_fits() {
    for (n, d, queries, blocks) in [(4096, 64, 416, 10), (32_768, 128, 224, 147)] {
        let family = of_h100(n, d, false);
        let found: Vec<(i64, i64)> =
            family.members.iter().map(|member| (member.queries, member.keys)).collect();
        let steps = || (1..=n / 16).map(|times| 16 * times);
        let by_hand = steps().flat_map(|queries| steps().map(move |keys| (queries, keys)));
        let by_hand: Vec<(i64, i64)> = by_hand.filter(|&(queries, keys)| fits(d, queries, keys)).collect();
        assert_eq!(found, by_hand, "{n}");
        for member in &family.members {
            let blocks = (n + member.queries - 1) / member.queries;
            assert_eq!((member.blocks, member.moved), (blocks, halves(n, d, 2 + 2 * blocks)), "{member:?}");
            assert!(member.shared <= 232_448 && member.register <= 262_144, "{member:?}");
        }
        let least = family.least(1).expect("a member");
        assert_eq!((least.queries, least.blocks), (queries, blocks), "{least:?}");
        // With a block for each multiprocessor at least.
        let busy = family.least(132).expect("a member");
        assert!(busy.blocks >= 132 && busy.moved >= least.moved, "{busy:?}");
        let better = family.members.iter().filter(|member| member.blocks >= 132 && member.moved < busy.moved);
        assert_eq!(better.count(), 0, "{busy:?}");
        assert_eq!(family.compulsory, Some(halves(n, d, 4)));
    }
}

#[test]
fn the_family_is_of_attention_alone() {
    let reason = |text: &str| match family(text.as_bytes(), 232_448, 262_144) {
        Err(NotMade::Unsupported(reason)) => reason,
        other => unreachable!("{other:?}"),
    };
    assert!(reason(&graph(64, 16, false).to_string()).contains("there are others"));
    let other = json!({
        "values": {"X": {"shape": [4], "dtype": "F32"}, "Y": {"shape": [4], "dtype": "F32"}}, "inputs": ["X"], "outputs": ["Y"],
        "nodes": [{"id": "n", "op": "neg", "in": ["X"], "out": "Y"}],
    });
    assert!(reason(&other.to_string()).contains("another one"));
    let cut = family(b"{", 232_448, 262_144);
    assert!(matches!(cut, Err(NotMade::Rejected(_))), "{cut:?}");
    // Where nothing fits there is no least, and nothing was measured.
    let none = family(node(64, 16, false).as_bytes(), 0, 0).expect("a family");
    assert_eq!((none.least(1), none.compulsory), (None, None));
    // A target that there cannot be is no target on which nothing fits.
    for (shared, register, pointer) in
        [(-1, 0, "/target/shared_bytes"), (0, 3_000_000_000, "/target/register_bytes")]
    {
        let Err(NotMade::Rejected(found)) = family(node(64, 16, false).as_bytes(), shared, register) else {
            unreachable!("{pointer} is out of range")
        };
        assert_eq!(found.iter().map(|found| found.pointer.as_str()).collect::<Vec<_>>(), [pointer]);
    }
}

#[test]
fn the_page_says_what_attention_moves() {
    let page = files::text(&root().join("examples/mcir/README.md"));
    let mut rows = Vec::new();
    for (n, d) in [(4096, 64), (32_768, 128)] {
        for is_causal in [false, true] {
            let family = of_h100(n, d, is_causal);
            let least = |blocks: i64| {
                let member = family.least(blocks).expect("a member");
                format!("{} ({} x {})", thousands(member.moved.unsigned_abs()), member.queries, member.keys)
            };
            let written = moved(&measures(&graph(n, d, is_causal), &DOCUMENT));
            let streamed = moved(&streaming(n, d, is_causal));
            let row = [
                format!("{} x {d}{}", thousands(n.unsigned_abs()), if is_causal { ", causal" } else { "" }),
                thousands(written.unsigned_abs()),
                thousands(streamed.unsigned_abs()),
                least(1),
                least(132),
                thousands(family.compulsory.expect("bytes").unsigned_abs()),
            ];
            rows.push(format!("| {} |", row.join(" | ")));
        }
    }
    let missing: Vec<&String> = rows.iter().filter(|row| !page.contains(row.as_str())).collect();
    assert!(missing.is_empty(), "examples/mcir/README.md lacks\n{missing:#?}");
}
