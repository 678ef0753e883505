//! Documents of several regions, some of which can be one (clause MCI-26).

mod kernels;
mod masks;
mod order;
mod rounded;

use serde_json::{Value, json};

use crate::bases;
use crate::build::Draft;
use kernels::{Map, Product};

/// A document for MaterializationEliminationPass: its name, what it is, and the document.
pub type Joined = (String, String, Value);

/// A document that is being written, and what it is called.
struct Case {
    name: &'static str,
    summary: &'static str,
    draft: Draft,
}

/// Documents of several regions.
pub fn all() -> Vec<Joined> {
    let mut cases = Vec::new();
    maps(&mut cases);
    products(&mut cases);
    others(&mut cases);
    order::all(&mut cases);
    rounded::all(&mut cases);
    masks::all(&mut cases);
    let mut all: Vec<Joined> = cases
        .into_iter()
        .map(|Case { name, summary, draft }| (name.to_owned(), summary.to_owned(), draft.value()))
        .collect();
    let limits: Vec<Joined> =
        all.iter().filter(|(name, ..)| LIMITED.contains(&name.as_str())).flat_map(limited).collect();
    all.extend(limits);
    // Documents of regions that stay as they are, and one without a tensor to get rid of.
    for name in ["small-pair", "small-parts", "small-chain"] {
        let base = bases::find(name);
        all.extend(base.map(|base| (base.name.clone(), base.summary.clone(), base.document.clone())));
    }
    all
}

/// Documents whose regions are tried with little memory.
const LIMITED: &[&str] = &["two maps", "scaled norm", "epilogue", "norm of a sum", "read twice in a block"];

/// A document on targets that have what the tiles of its first two regions take, and a byte less of the one memory or of the other.
fn limited((name, summary, document): &Joined) -> Vec<Joined> {
    let mut bytes = [0_i64; 2];
    let regions = document["regions"].as_array().into_iter().flatten().take(2);
    let text: String = regions.map(Value::to_string).collect();
    for (tile, value) in document["values"].as_object().into_iter().flatten() {
        if value["residency"] != "global" && text.contains(&json!(tile).to_string()) {
            let extents = value["shape"].as_array().into_iter().flatten().filter_map(Value::as_i64);
            let size = crate::build::size(value["dtype"].as_str().unwrap_or_default());
            bytes[usize::from(value["residency"] == "register")] +=
                extents.product::<i64>() * size * value["buffers"].as_i64().unwrap_or(1);
        }
    }
    let of = |what: &str, [shared, register]: [i64; 2]| {
        let mut document = document.clone();
        document["target"] = json!({"shared_bytes": shared, "register_bytes": register});
        (format!("{name}, {what}"), format!("{summary}; {what}"), document)
    };
    let [shared, register] = bytes;
    vec![
        of("just enough memory", bytes),
        of("a byte too little of shared memory", [shared - 1, register]),
        of("a byte too little of registers", [shared, register - 1]),
    ]
}

fn maps(all: &mut Vec<Case>) {
    let mut put = |name, summary, draft| all.push(Case { name, summary, draft });

    let mut draft = Draft::default();
    draft.input("X", &[7, 9], "F16");
    draft.stored("T", &[7, 9], "F16");
    draft.output("Y", &[7, 9], "F32");
    Map::of("first", "X", "T", "exp").push(&mut draft);
    Map::of("second", "T", "Y", "neg").push(&mut draft);
    put("two maps", "two functions of elements", draft);

    let mut draft = Draft::default();
    draft.input("X", &[7, 9], "F32");
    for (name, dtype) in [("A", "BF16"), ("B", "F32"), ("C", "F16")] {
        draft.stored(name, &[7, 9], dtype);
    }
    draft.output("Y", &[7, 9], "F16");
    Map::of("one", "X", "A", "gelu").push(&mut draft);
    Map { axes: ["a", "b"], body: 1, ..Map::of("two", "A", "B", "silu") }.push(&mut draft);
    Map { axes: ["j", "i"], body: 2, ..Map::of("three", "B", "C", "exp") }.push(&mut draft);
    Map { axes: ["x", "x2"], body: 1, ..Map::of("four", "C", "Y", "gelu") }.push(&mut draft);
    put("four maps", "four functions with axes of other names, in other bodies", draft);

    let mut draft = Draft::default();
    draft.input("X", &[7, 9], "F16");
    draft.stored("T", &[7, 9], "F16");
    draft.output("Y", &[7, 9], "F16");
    Map::of("first", "X", "T", "exp").push(&mut draft);
    Map { step: [4, 3], ..Map::of("second", "T", "Y", "silu") }.push(&mut draft);
    put("other steps", "tiles of other sizes", draft);

    let mut draft = Draft::default();
    draft.input("X", &[3, 5], "F16");
    draft.stored("T", &[3, 5], "F16");
    draft.output("Y", &[3, 5], "F16");
    Map { step: [4, 2], ..Map::of("first", "X", "T", "gelu") }.push(&mut draft);
    Map { step: [4, 2], ..Map::of("second", "T", "Y", "silu") }.push(&mut draft);
    put("one row of blocks", "an axis of one value, whose tiles are smaller than they might be", draft);

    let mut draft = Draft::default();
    draft.input("X", &[6, 6], "F16");
    draft.stored("T", &[6, 6], "F16");
    draft.output("Y", &[6, 6], "F16");
    Map { is_turned: [true, false], ..Map::of("first", "X", "T", "copy") }.push(&mut draft);
    Map { is_turned: [true, false], ..Map::of("second", "T", "Y", "exp") }.push(&mut draft);
    put(
        "turned twice",
        "each region loads the tile across the diagonal, and stores it on its own side",
        draft,
    );

    for (name, summary, step) in [
        ("turned back", "what is stored across the diagonal is loaded there", [3, 3]),
        ("turned back by other tiles", "the same with tiles that are no squares", [4, 2]),
    ] {
        let mut draft = Draft::default();
        draft.input("X", &[6, 6], "F16");
        draft.stored("T", &[6, 6], "F16");
        draft.output("Y", &[6, 6], "F16");
        Map { is_turned: [false, true], step, ..Map::of("first", "X", "T", "gelu") }.push(&mut draft);
        let back = if step[0] == step[1] { step } else { [step[1], step[0]] };
        Map { is_turned: [true, false], step: [back[1], back[0]], ..Map::of("second", "T", "Y", "exp") }
            .push(&mut draft);
        put(name, summary, draft);
    }

    let mut draft = Draft::default();
    draft.input("X", &[7, 9], "F16");
    draft.stored("A", &[7, 9], "F32");
    draft.stored("B", &[7, 9], "F16");
    draft.stored("C", &[7, 9], "F32");
    draft.output("Y", &[7, 9], "F16");
    Map::of("a", "X", "A", "exp").push(&mut draft);
    Map::of("b", "A", "B", "neg").push(&mut draft);
    Map::of("c", "A", "C", "gelu").push(&mut draft);
    Map { other: Some("C"), ..Map::of("d", "B", "Y", "mul") }.push(&mut draft);
    put("diamond", "what two regions load, and a region that loads what both store", draft);

    let mut draft = Draft::default();
    draft.input("X", &[7, 9], "F16");
    draft.stored("T", &[7, 9], "F32");
    draft.output("U", &[7, 9], "F32");
    draft.output("Y", &[7, 9], "F16");
    Map::of("a", "X", "T", "exp").push(&mut draft);
    Map::of("b", "T", "U", "neg").push(&mut draft);
    Map::of("c", "U", "Y", "gelu").push(&mut draft);
    put("asked for on the way", "an output that a later region loads", draft);

    let mut draft = Draft::default();
    draft.input("X", &[7, 9], "F16");
    draft.stored("T", &[7, 9], "F16");
    draft.output("Y", &[7, 9], "F16");
    Map::of("a", "X", "T", "exp").push(&mut draft);
    Map { other: Some("T"), ..Map::of("b", "T", "Y", "mul") }.push(&mut draft);
    put("read twice in a block", "two loads of the same tile", draft);

    let mut draft = Draft::default();
    draft.input("X", &[8, 8], "F16");
    draft.stored("T", &[8, 8], "F16");
    draft.output("Y", &[8, 8], "F16");
    Map::of("a", "X", "T", "exp").push(&mut draft);
    Map { other: Some("T"), is_other_turned: true, ..Map::of("b", "T", "Y", "mul") }.push(&mut draft);
    put("two tiles in a block", "a load of the own tile, and of the one across the diagonal", draft);
}

fn products(all: &mut Vec<Case>) {
    let mut put = |name, summary, draft| all.push(Case { name, summary, draft });
    let inputs = |draft: &mut Draft, more: &[(&str, &[i64])]| {
        for (name, shape) in [("X", &[5, 9][..]), ("W", &[9, 6]), ("B", &[6])].iter().chain(more) {
            draft.input(name, shape, "F16");
        }
    };

    for (name, summary, ahead) in [
        ("epilogue", "a product, a bias, and GELU", 0),
        ("epilogue ahead", "the same with loads that begin ahead", 1),
    ] {
        let mut draft = Draft::default();
        inputs(&mut draft, &[]);
        draft.stored("H", &[5, 6], "F32");
        draft.stored("C", &[5, 6], "F32");
        draft.output("Y", &[5, 6], "F16");
        Product { ahead, ..Product::of("product", "X", "W", "H") }.push(&mut draft);
        Map { bias: Some("B"), ..Map::of("bias", "H", "C", "add") }.push(&mut draft);
        Map::of("gelu", "C", "Y", "gelu").push(&mut draft);
        put(name, summary, draft);
    }

    for (name, summary, dtype) in [
        ("mlp", "product, bias, GELU, product, residual", "F16"),
        ("mlp in BF16", "the same with a rounding to BF16 between the products", "BF16"),
        ("mlp in F32", "the same without a rounding", "F32"),
    ] {
        let mut draft = Draft::default();
        inputs(&mut draft, &[("V", &[6, 9])]);
        draft.stored("H", &[5, 6], "F32");
        draft.stored("C", &[5, 6], "F32");
        draft.stored("G", &[5, 6], dtype);
        draft.stored("D", &[5, 9], "F32");
        draft.output("Y", &[5, 9], "F16");
        Product::of("up", "X", "W", "H").push(&mut draft);
        Map { bias: Some("B"), ..Map::of("bias", "H", "C", "add") }.push(&mut draft);
        Map::of("gelu", "C", "G", "gelu").push(&mut draft);
        Product::of("down", "G", "V", "D").push(&mut draft);
        Map { other: Some("X"), ..Map::of("residual", "D", "Y", "add") }.push(&mut draft);
        put(name, summary, draft);
    }

    let mut draft = Draft::default();
    inputs(&mut draft, &[]);
    draft.stored("A", &[5, 6], "F16");
    draft.stored("C", &[5, 6], "F16");
    draft.output("Y", &[5, 6], "F16");
    Product::of("a", "X", "W", "A").push(&mut draft);
    Product::of("c", "X", "W", "C").push(&mut draft);
    Map { other: Some("C"), ..Map::of("gate", "A", "Y", "mul") }.push(&mut draft);
    put("two products", "two products, and what their tiles are multiplied to", draft);

    let mut draft = Draft::default();
    inputs(&mut draft, &[]);
    draft.output("H", &[5, 6], "F16");
    draft.stored("C", &[5, 6], "F32");
    draft.output("Y", &[5, 6], "F16");
    Product::of("product", "X", "W", "H").push(&mut draft);
    Map { bias: Some("B"), ..Map::of("bias", "H", "C", "add") }.push(&mut draft);
    Map::of("silu", "C", "Y", "silu").push(&mut draft);
    put("product asked for", "a product that is asked for, a bias, and SiLU", draft);

    let mut draft = Draft::default();
    inputs(&mut draft, &[]);
    draft.stored("A", &[5, 9], "F16");
    draft.output("Y", &[5, 6], "F16");
    Map::of("exp", "X", "A", "exp").push(&mut draft);
    Product::of("product", "A", "W", "Y").push(&mut draft);
    put("streamed", "a function whose result is streamed", draft);

    let mut draft = Draft::default();
    inputs(&mut draft, &[]);
    draft.stored("H", &[5, 6], "F16");
    draft.output("Y", &[5, 6], "F16");
    Product::of("product", "X", "W", "H").push(&mut draft);
    Map { step: [2, 4], ..Map::of("gelu", "H", "Y", "gelu") }.push(&mut draft);
    put("epilogue of other tiles", "a product, and GELU with smaller tiles", draft);

    let mut draft = Draft::default();
    inputs(&mut draft, &[]);
    draft.stored("H", &[5, 6], "F16");
    draft.output("U", &[5, 6], "F32");
    draft.output("Y", &[5, 6], "F32");
    Product::of("product", "X", "W", "H").push(&mut draft);
    Map::of("gelu", "H", "U", "gelu").push(&mut draft);
    Map::of("silu", "H", "Y", "silu").push(&mut draft);
    put("two epilogues", "a product that two regions load", draft);
}

fn others(all: &mut Vec<Case>) {
    let mut put = |name, summary, draft| all.push(Case { name, summary, draft });

    for (name, summary, wide, is_kept) in [
        ("norm of a sum", "a residual and a norm of rows, whose tiles are whole rows", 8, false),
        ("norm of a sum with a state", "the same with a state in the norm", 8, true),
        ("norm of a sum in parts", "a residual in tiles that are parts of rows", 4, false),
    ] {
        let mut draft = Draft::default();
        draft.input("X", &[5, 8], "F16");
        draft.input("R", &[5, 8], "F16");
        draft.stored("T", &[5, 8], "F16");
        draft.output("Y", &[5, 8], "F16");
        Map { other: Some("R"), step: [2, wide], ..Map::of("sum", "X", "T", "add") }.push(&mut draft);
        kernels::norm(&mut draft, "norm", "T", "Y", 2, is_kept);
        put(name, summary, draft);
    }

    for (name, summary, is_kept) in [
        ("scaled norm", "a norm of rows, and a function of what it gives", false),
        (
            "scaled norm with a state",
            "the same, where the norm has a state and stores in its iteration",
            true,
        ),
    ] {
        let mut draft = Draft::default();
        draft.input("X", &[5, 8], "F16");
        draft.stored("T", &[5, 8], "F32");
        draft.output("Y", &[5, 8], "F16");
        kernels::norm(&mut draft, "norm", "X", "T", 2, is_kept);
        Map { step: [2, 8], ..Map::of("silu", "T", "Y", "silu") }.push(&mut draft);
        put(name, summary, draft);
    }

    for (name, summary, body) in [
        ("queries", "queries that are scaled before attention", 0),
        ("queries in each", "the same, loaded in each iteration", 1),
    ] {
        let mut draft = Draft::default();
        draft.input("X", &[7, 4], "F16");
        draft.input("K", &[10, 4], "F16");
        draft.input("V", &[10, 4], "F16");
        draft.stored("Q", &[7, 4], "F16");
        draft.stored("O", &[7, 4], "F16");
        draft.output("Y", &[7, 4], "F16");
        Map { step: [3, 4], ..Map::of("scale", "X", "Q", "gelu") }.push(&mut draft);
        kernels::attention(&mut draft, [7, 10], body, None);
        Map { step: [3, 4], other: Some("X"), ..Map::of("residual", "O", "Y", "add") }.push(&mut draft);
        put(name, summary, draft);
    }

    for (name, summary, is_point) in [
        ("streamed map", "a map that stores in each iteration, and another one", false),
        ("streamed map of points", "the same in blocks of one row", true),
    ] {
        let mut draft = Draft::default();
        draft.input("X", &[3, 9], "F16");
        draft.stored("T", &[3, 9], "F16");
        draft.output("Y", &[3, 9], "F16");
        kernels::stream(&mut draft, "stream", "X", "T", if is_point { 1 } else { 2 });
        Map { step: [if is_point { 1 } else { 2 }, 4], ..Map::of("exp", "T", "Y", "exp") }.push(&mut draft);
        put(name, summary, draft);
    }

    for (name, summary, groups) in [
        ("heads in groups", "matrices with an index of two axes, the same in both regions", [2, 2]),
        ("heads in other groups", "matrices with an index of two axes, and of one", [2, 4]),
    ] {
        let mut draft = Draft::default();
        draft.input("X", &[4, 3, 5], "F16");
        draft.stored("T", &[4, 3, 5], "F16");
        draft.output("Y", &[4, 3, 5], "F16");
        kernels::heads(&mut draft, "first", "X", "T", groups[0], "exp");
        kernels::heads(&mut draft, "second", "T", "Y", groups[1], "silu");
        put(name, summary, draft);
    }
}
