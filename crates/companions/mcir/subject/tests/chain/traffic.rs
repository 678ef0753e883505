//! What attention, a norm and products move, written out and after the passes, on a chip with the memory of an H100: by commands, and by adding up what each block has to load and store.

use megakernel_mcir::{Pass, Target};
use megakernel_mcir_reference::{Family, NotMade, family, measure_document, read_document, transform_text};
use megakernel_prove::thousands;
use megakernel_test_support::{files, root};
use serde_json::{Map, Value, json};

/// What a block of an H100 may hold: 227 KiB of shared memory, 65,536 registers of 4 bytes.
const H100: Target = Target { shared: Some(232_448), register: Some(262_144) };

/// A graph of nodes that are written down one after the other, in F16 where nothing else is said.
#[derive(Default)]
struct Draft {
    values: Map<String, Value>,
    inputs: Vec<&'static str>,
    nodes: Vec<Value>,
}

impl Draft {
    fn input(&mut self, name: &'static str, shape: &[i64]) {
        self.inputs.push(name);
        self.values.insert(name.to_owned(), json!({"shape": shape, "dtype": "F16"}));
    }

    /// A node with members of its own, called as what it makes.
    fn node(&mut self, op: &str, ins: &[&str], out: &str, (shape, dtype): (&[i64], &str), more: Value) {
        self.values.insert(out.to_owned(), json!({"shape": shape, "dtype": dtype}));
        let mut node = json!({"id": out, "op": op, "in": ins, "out": out});
        node.as_object_mut().expect("a node").extend(more.as_object().expect("members").clone());
        self.nodes.push(node);
    }

    /// With `O` as the only output.
    fn graph(self) -> Value {
        json!({"values": self.values, "inputs": self.inputs, "outputs": ["O"], "nodes": self.nodes})
    }
}

/// Attention of `n` queries and keys of `d` numbers.
#[derive(Clone, Copy)]
struct Attention {
    n: i64,
    d: i64,
    /// Heads of queries, and of keys; a single head has no axis of its own.
    heads: [i64; 2],
    is_causal: bool,
    /// How many keys each query sees, up to its own.
    window: Option<i64>,
}

impl Attention {
    const fn of(n: i64, d: i64, is_causal: bool) -> Attention {
        Attention { n, d, heads: [1, 1], is_causal, window: None }
    }

    /// What it is, as the page says it.
    fn name(self) -> String {
        let [queries, keys] = self.heads;
        let heads = if queries > 1 { format!(", {queries} heads on {keys}") } else { String::new() };
        let mask = match self.window {
            Some(window) => format!(", window of {}", thousands(window.unsigned_abs())),
            None if self.is_causal => ", causal".to_owned(),
            None => String::new(),
        };
        format!("{} x {}{heads}{mask}", thousands(self.n.unsigned_abs()), self.d)
    }

    /// Written out.
    fn graph(self) -> Value {
        let Attention { n, d, heads: [queries, keys], is_causal, window } = self;
        let shape = |heads: i64, rows: i64, columns: i64| {
            if queries > 1 { vec![heads, rows, columns] } else { vec![rows, columns] }
        };
        let mut draft = Draft::default();
        draft.input("Q", &shape(queries, n, d));
        draft.input("K", &shape(keys, n, d));
        draft.input("V", &shape(keys, n, d));
        let (scores, axis) = (shape(queries, n, n), if queries > 1 { 2 } else { 1 });
        let all = (&scores[..], "F32");
        draft.node("transpose", &["K"], "KT", (&shape(keys, d, n), "F16"), json!({}));
        draft.node("matmul", &["Q", "KT"], "s", all, json!({}));
        draft.node("scale", &["s"], "t", all, json!({"by": [1, 8]}));
        let mut last = "t";
        if is_causal {
            draft.node("mask", &["t"], "u", all, json!({"window": window}));
            last = "u";
        }
        draft.node("softmax", &[last], "p", all, json!({"axis": axis}));
        draft.node("matmul", &["p", "V"], "O", (&shape(queries, n, d), "F16"), json!({}));
        draft.graph()
    }

    /// The measures of what the passes make of it.
    fn streaming(self) -> Value {
        measures(&self.graph(), &[&[Pass::AttentionPattern], &DOCUMENT[..]].concat())
    }

    /// The node of attention, as AttentionPatternPass makes it.
    fn node(self) -> String {
        let made = transform_text(Pass::AttentionPattern, self.graph().to_string().as_bytes(), H100);
        made.unwrap_or_else(|not_made| unreachable!("{not_made:?}")).0.to_string()
    }

    fn family(self) -> Family {
        family(self.node().as_bytes(), 232_448, 262_144).expect("a family")
    }
}

/// Those of the page.
const ALL: [Attention; 7] = [
    Attention::of(4096, 64, false),
    Attention::of(4096, 64, true),
    Attention::of(32_768, 128, false),
    Attention::of(32_768, 128, true),
    GROUPED,
    Attention { is_causal: true, ..GROUPED },
    WINDOW,
];
const GROUPED: Attention = Attention { heads: [32, 8], ..Attention::of(4096, 128, false) };
const WINDOW: Attention = Attention { window: Some(1024), ..Attention::of(8192, 128, true) };

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

fn moved(measures: &Value) -> i64 {
    let number = |name: &str| measures[name].as_i64().expect("a number");
    number("loaded") + number("stored")
}

fn bytes(number: i64) -> String {
    thousands(number.unsigned_abs())
}

/// Bytes of `n` by `d` numbers of two bytes, so many times.
fn halves(n: i64, d: i64, times: i64) -> i64 {
    2 * n * d * times
}

#[test]
fn attention_at_full_size_moves_what_its_blocks_need_and_stores_no_score() {
    for (n, d) in [(4096, 64), (32_768, 128)] {
        let blocks = n / 128;
        let all = Attention::of(n, d, false).streaming();
        assert_eq!(all["materialized"], json!([]), "{n}");
        assert_eq!(all["compulsory"], halves(n, d, 4), "{n}");
        // Queries and results once; keys and values once for each block of 128 queries.
        assert_eq!(moved(&all), halves(n, d, 2 + 2 * blocks), "{n}");
        // A block of queries up to row i meets the keys up to row i, in tiles that divide 128.
        let causal = Attention::of(n, d, true).streaming();
        assert_eq!(causal["materialized"], json!([]), "{n}");
        let met: i64 = (1..=blocks).map(|block| 128 * block).sum();
        assert_eq!(moved(&causal), halves(n, d, 2) + halves(met, d, 2), "{n}");
    }
}

#[test]
fn heads_that_share_keys_and_windows_load_what_their_blocks_need() {
    let Attention { n, d, heads: [queries, keys], .. } = GROUPED;
    let blocks = n / 128;
    let all = GROUPED.streaming();
    assert_eq!(all["materialized"], json!([]));
    assert_eq!(all["compulsory"], halves(n, d, 2 * queries + 2 * keys));
    // Each block has one head of queries, and loads the keys and values that it shares with others for itself.
    assert_eq!(moved(&all), queries * halves(n, d, 2 + 2 * blocks));

    let Attention { n, d, window: Some(window), .. } = WINDOW else { unreachable!("it has a window") };
    let all = WINDOW.streaming();
    assert_eq!(all["materialized"], json!([]));
    assert_eq!(all["compulsory"], halves(n, d, 4));
    // Queries up to i + 127 meet keys from i + 1 - window on, in tiles of 128, of which the last one ends where keys do.
    let met = |i: i64| {
        let first = (i + 1 - window).max(0);
        ((i + 128 - first + 127) / 128 * 128).min(n - first)
    };
    let met: i64 = (0..n / 128).map(|block| met(128 * block)).sum();
    assert_eq!(moved(&all), halves(n, d, 2) + halves(met, d, 2));
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
        let found = measures(&Attention::of(n, d, false).graph(), &DOCUMENT);
        assert_eq!(found["materialized"], json!(["p", "t"]), "{n}");
        assert_eq!(moved(&found), naive(n, d), "{n}");
    }
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
        let family = Attention::of(n, d, false).family();
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
    assert!(reason(&Attention::of(64, 16, false).graph().to_string()).contains("there are others"));
    let other = json!({
        "values": {"X": {"shape": [4], "dtype": "F32"}, "Y": {"shape": [4], "dtype": "F32"}}, "inputs": ["X"], "outputs": ["Y"],
        "nodes": [{"id": "n", "op": "neg", "in": ["X"], "out": "Y"}],
    });
    assert!(reason(&other.to_string()).contains("another one"));
    let cut = family(b"{", 232_448, 262_144);
    assert!(matches!(cut, Err(NotMade::Rejected(_))), "{cut:?}");
    // Where nothing fits there is no least, and nothing was measured.
    let none = family(Attention::of(64, 16, false).node().as_bytes(), 0, 0).expect("a family");
    assert_eq!((none.least(1), none.compulsory), (None, None));
    // A target that there cannot be is no target on which nothing fits.
    for (shared, register, pointer) in
        [(-1, 0, "/target/shared_bytes"), (0, 3_000_000_000, "/target/register_bytes")]
    {
        let Err(NotMade::Rejected(found)) =
            family(Attention::of(64, 16, false).node().as_bytes(), shared, register)
        else {
            unreachable!("{pointer} is out of range")
        };
        assert_eq!(found.iter().map(|found| found.pointer.as_str()).collect::<Vec<_>>(), [pointer]);
    }
}

/// A region for each node of a graph.
const APART: [Pass; 3] = [Pass::StreamingConversion, Pass::TileScheduling, Pass::ResidencyAssignment];

/// What else the page has: its name, a graph that is written out, one as a model has it, and what the passes leave in memory of that.
fn others() -> Vec<(&'static str, Value, Value, Value)> {
    let (n, wide) = ([4096, 4096], [4096, 11_008]);
    let (matrix, row, one) = ((&n[..], "F32"), (&[4096, 1][..], "F32"), json!({}));
    let mut written = Draft::default();
    let mut norm = Draft::default();
    for draft in [&mut written, &mut norm] {
        draft.input("X", &n);
        draft.input("G", &[4096]);
        draft.input("W", &n);
    }
    written.node("mul", &["X", "X"], "squares", matrix, one.clone());
    written.node("reduce", &["squares"], "sum", row, json!({"fn": "sum", "axis": 1}));
    written.node("scale", &["sum"], "mean", row, json!({"by": [1, 4096]}));
    written.node("rsqrt", &["mean"], "root", row, one.clone());
    written.node("mul", &["X", "root"], "normed", matrix, one.clone());
    written.node("mul", &["normed", "G"], "H", (&n, "F16"), one.clone());
    norm.node("rms_norm", &["X", "G"], "H", (&n, "F16"), json!({"eps": [0, 1]}));
    for draft in [&mut written, &mut norm] {
        draft.node("matmul", &["H", "W"], "O", (&n, "F16"), one.clone());
    }

    let mut mlp = Draft::default();
    mlp.input("X", &n);
    mlp.input("W1", &wide);
    mlp.input("B1", &[11_008]);
    mlp.input("W2", &[11_008, 4096]);
    mlp.node("matmul", &["X", "W1"], "h", (&wide, "F32"), one.clone());
    mlp.node("add", &["h", "B1"], "hb", (&wide, "F32"), one.clone());
    mlp.node("gelu", &["hb"], "g", (&wide, "F16"), one.clone());
    mlp.node("matmul", &["g", "W2"], "O", (&n, "F16"), one);
    let mlp = mlp.graph();
    vec![
        ("norm and product", written.graph(), norm.graph(), json!(["H"])),
        ("product, bias, GELU, product", mlp.clone(), mlp, json!(["g"])),
    ]
}

#[test]
fn norms_and_products_move_what_their_blocks_need() {
    // A block of a product has 128 rows and 128 columns, and loads what they are sums of.
    let product = |m: i64, k: i64, n: i64| (m / 128) * (n / 128) * halves(128, k, 2) + halves(m, n, 1);
    let moved: Vec<i64> =
        others().iter().map(|(_, _, graph, _)| moved(&measures(graph, &DOCUMENT))).collect();
    // Of the norm, registers hold eight rows, with their squares; each block loads the weights.
    let norm = halves(4096, 4096, 2) + 4096 / 8 * halves(1, 4096, 1);
    let bias = 4096 / 128 * halves(1, 11_008, 1);
    let mlp = product(4096, 4096, 11_008) + bias + product(4096, 11_008, 4096);
    assert_eq!(moved, [norm + product(4096, 4096, 4096), mlp]);
}

#[test]
fn the_page_says_what_is_moved() {
    let page = files::text(&root().join("examples/mcir/README.md"));
    let mut rows = Vec::new();
    for attention in ALL {
        let family = attention.family();
        let least = |blocks: i64| {
            let member = family.least(blocks).expect("a member");
            format!("{} ({} x {})", thousands(member.moved.unsigned_abs()), member.queries, member.keys)
        };
        let streamed = attention.streaming();
        assert_eq!(streamed["materialized"], json!([]), "{}", attention.name());
        let row = [
            attention.name(),
            bytes(moved(&measures(&attention.graph(), &DOCUMENT))),
            bytes(moved(&streamed)),
            least(1),
            least(132),
            bytes(family.compulsory.expect("bytes")),
        ];
        rows.push(format!("| {} |", row.join(" | ")));
    }
    for (name, written, graph, kept) in others() {
        let [before, after] = [measures(&written, &APART), measures(&graph, &DOCUMENT)];
        assert_eq!((&after["materialized"], &before["compulsory"]), (&kept, &after["compulsory"]), "{name}");
        let stored = |measures: &Value| {
            let names = measures["materialized"].as_array().expect("names").iter();
            names.filter_map(Value::as_str).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let moved = [moved(&before), moved(&after), after["compulsory"].as_i64().expect("bytes")].map(bytes);
        let [before, after] = [stored(&before), stored(&after)];
        rows.push(format!("| {name} | {} | {before} | {} | {after} | {} |", moved[0], moved[1], moved[2]));
    }
    let missing: Vec<&String> = rows.iter().filter(|row| !page.contains(row.as_str())).collect();
    assert!(missing.is_empty(), "examples/mcir/README.md lacks\n{missing:#?}");
}
