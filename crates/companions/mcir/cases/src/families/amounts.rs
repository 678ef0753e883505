//! Measures (MCI-15) of documents of which one thing is large, empty, below 0 or unusual: what counts only up to a size shows there. All numbers follow from how the
//! documents are made.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Document, Library, Sink, words};
use serde_json::{Value, json};

use super::{PROFILE, cited};
use crate::bases::{Row, measures};
use crate::build::{Draft, Kernel, Tile};
use crate::wide;

/// A document with its measures, and with the rules that warn of it.
struct Amount {
    name: String,
    draft: Draft,
    rows: Vec<Row>,
    compulsory: Value,
    materialized: Vec<&'static str>,
    warnings: Vec<&'static str>,
    twin: Option<&'static str>,
}

fn amount(name: &str, draft: Draft, row: Row, compulsory: impl Into<Value>) -> Amount {
    let id = draft.clone().value()["regions"][0]["id"].as_str().unwrap_or_default().to_owned();
    Amount {
        name: name.to_owned(),
        draft,
        rows: vec![Row { id, ..row }],
        compulsory: compulsory.into(),
        materialized: Vec::new(),
        warnings: Vec::new(),
        twin: None,
    }
}

impl Amount {
    fn measures(&self) -> Value {
        measures(&self.rows, &self.compulsory, &self.materialized)
    }
}

/// Tiles along each axis of a tensor of binary32, whose numbers are each moved in and out and computed once.
fn mapped(name: &str, shape: &[i64], step: i64) -> Amount {
    let elements: i64 = shape.iter().product();
    let tile = 4 * step.pow(u32::try_from(shape.len()).unwrap_or(0));
    let blocks = shape.iter().map(|extent| (extent + step - 1) / step).product();
    let row = Row {
        blocks,
        iterations: blocks,
        loaded: 4 * elements,
        stored: 4 * elements,
        operations: elements,
        shared: tile,
        register: tile,
        ..Row::default()
    };
    amount(name, wide::mapped(shape, step), row, 8 * elements)
}

fn streamed(name: &str, extent: i64, ahead: i64) -> Amount {
    let row = Row {
        blocks: 1,
        iterations: (extent + 1) / 2,
        loaded: 4 * extent,
        stored: 4 * extent,
        shared: 8 * (ahead + 1),
        ..Row::default()
    };
    amount(name, wide::streamed(extent, ahead), row, 8 * extent)
}

/// Iterations, each of which loads as much as the states of its block are, and adds it.
fn sums(name: &str, draft: Draft, [blocks, iterations, tile, slots]: [i64; 4], compulsory: i64) -> Amount {
    let row = Row {
        blocks,
        iterations,
        loaded: 4 * tile * iterations,
        stored: 4 * tile * blocks,
        operations: tile * iterations,
        shared: 4 * tile * slots,
        register: 4 * tile,
        ..Row::default()
    };
    amount(name, draft, row, compulsory)
}

/// Rows of 2^20 numbers that go through tiles in both memories, all of which are there at once.
fn tiles(name: &str, count: i64, slots: i64) -> Amount {
    let long = 1 << 20;
    let mut draft = Draft::default();
    draft.input("X", &[count, long], "F32");
    let mut kernel = Kernel::new("rows", &[]);
    for row in 0..count {
        let [x, y, stored] = ["x", "y", "Y"].map(|name| format!("{name}{row}"));
        draft.output(&stored, &[long], "F32");
        draft.tiles(&[
            Tile(&x, &[long], "F32", "shared", "block"),
            Tile(&y, &[long], "F32", "register", "block"),
        ]);
        draft.buffers(&x, slots);
        draft.buffers(&y, slots);
        kernel.load(&format!("load{row}"), "X", &x, json!([row, 0]));
        kernel.compute(&format!("copy{row}"), "copy", &[&x], &y, json!({}));
        kernel.store(&format!("store{row}"), &y, &stored, json!([0]));
    }
    draft.push(kernel);
    let bytes = 4 * count * long;
    let row = Row {
        blocks: 1,
        iterations: 1,
        loaded: bytes,
        stored: bytes,
        shared: bytes * slots,
        register: bytes * slots,
        ..Row::default()
    };
    let mut made = amount(name, draft, row, 2 * bytes);
    if slots > 1 {
        (made.warnings, made.twin) = (vec!["IW02"], Some("17 tiles of one slot in each memory"));
    }
    made
}

/// Matrix products of 1,023 x 1,023 x 1,023, as many as there are iterations.
fn products(name: &str, iterations: i64) -> Amount {
    let n = 1023;
    let mut draft = Draft::default();
    draft.input("A", &[n, n], "F16");
    draft.input("B", &[n, n], "F16");
    draft.output("Y", &[n, n], "F32");
    draft.tiles(&[
        Tile("a", &[n, n], "F16", "shared", "block"),
        Tile("b", &[n, n], "F16", "shared", "block"),
        Tile("t", &[n, n], "F32", "register", "node"),
        Tile("s", &[n, n], "F32", "register", "block"),
    ]);
    let mut kernel = Kernel::new("products", &[]);
    kernel.stream("j", 1, None, json!([iterations]));
    kernel.state("s", json!(0));
    kernel.load("a", "A", "a", json!([0, 0]));
    kernel.load("b", "B", "b", json!([0, 0]));
    kernel.each();
    kernel.compute("mm", "matmul_nn", &["a", "b"], "t", json!({}));
    kernel.update("keep", "add", &["s", "t"], &["s"]);
    kernel.end();
    kernel.store("store", "s", "Y", json!([0, 0]));
    draft.push(kernel);
    let row = Row {
        blocks: 1,
        iterations,
        loaded: 4 * n * n,
        stored: 4 * n * n,
        operations: iterations * (2 * n * n * n + n * n),
        shared: 4 * n * n,
        register: 8 * n * n,
        ..Row::default()
    };
    amount(name, draft, row, 8 * n * n)
}

/// Tensors of nearly or just 2^62 bytes, of each of which a corner is loaded.
fn vast(name: &str, count: i64, extents: &[i64], compulsory: impl Into<Value>) -> Amount {
    let mut draft = Draft::default();
    draft.output("Y", &[4, 256], "F32");
    let mut kernel = Kernel::new("corners", &[]);
    kernel.each();
    let mut before = String::new();
    for number in 0..count {
        let name = |prefix: &str| format!("{prefix}{number}");
        let (tensor, tile, sum) = (name("X"), name("x"), name("s"));
        draft.input(&tensor, extents, "F16");
        draft.tiles(&[Tile(&tile, &[4, 256], "F16", "shared", "block")]);
        kernel.load(&name("load"), &tensor, &tile, json!(vec![0; extents.len()]));
        draft.tiles(&[Tile(&sum, &[4, 256], "F32", "register", "block")]);
        if number > 0 {
            kernel.compute(&name("add"), "add", &[&before, &tile], &sum, json!({}));
        } else {
            kernel.compute("copy", "copy", &[&tile], &sum, json!({}));
        }
        before = sum;
    }
    kernel.store("store", &before, "Y", json!([0, 0]));
    draft.push(kernel);
    let row = Row {
        blocks: 1,
        iterations: 1,
        loaded: 2048 * count,
        stored: 4096,
        operations: 1024 * (count - 1),
        shared: 2048 * count,
        register: 4096 * count,
        ..Row::default()
    };
    amount(name, draft, row, compulsory)
}

/// A vector that goes from tensor to tensor, with names of every kind.
fn names() -> Amount {
    let sorted = ["", " ", "A", "B", "Z", "_", "a", "a0", "a10", "a9", "aa", "b", "z", "ä", "é", "日本"];
    // Each next one is five further on.
    let order: Vec<&str> = (0..sorted.len()).map(|place| sorted[place * 5 % sorted.len()]).collect();
    let mut draft = Draft::default();
    draft.input("X", &[4], "F32");
    let mut rows = Vec::new();
    let mut from = "X";
    for (number, to) in order.iter().copied().chain(["Y"]).enumerate() {
        if to == "Y" {
            draft.output(to, &[4], "F32")
        } else {
            draft.stored(to, &[4], "F32")
        }
        let (tile, region) = (format!("tile {number}"), format!("region {number}"));
        draft.tiles(&[Tile(&tile, &[4], "F32", "shared", "block")]);
        let mut kernel = Kernel::new(&region, &[]);
        kernel.load("load", from, &tile, json!([0]));
        kernel.store("store", &tile, to, json!([0]));
        draft.push(kernel);
        rows.push(Row {
            id: region,
            blocks: 1,
            iterations: 1,
            loaded: 16,
            stored: 16,
            shared: 16,
            ..Row::default()
        });
        from = to;
    }
    let mut made = amount("names in the order of their bytes", draft, Row::default(), 32);
    (made.rows, made.materialized) = (rows, sorted.to_vec());
    made
}

/// An input that two regions load, one of them in two places; of another one, only a part.
fn shared_input() -> Amount {
    let mut draft = Draft::default();
    draft.input("X", &[8], "F32");
    draft.input("Z", &[100], "F16");
    draft.stored("P", &[4], "F32");
    draft.output("Y", &[4], "F32");
    let mut rows = Vec::new();
    for (region, other, to) in [("first", "Z", "P"), ("second", "P", "Y")] {
        let [one, two, three, sum, all] =
            ["one", "two", "three", "sum", "all"].map(|tile| format!("{tile} of {region}"));
        let dtype = if other == "Z" { "F16" } else { "F32" };
        draft.tiles(&[
            Tile(&one, &[4], "F32", "shared", "block"),
            Tile(&two, &[4], "F32", "shared", "block"),
            Tile(&three, &[4], dtype, "shared", "block"),
            Tile(&sum, &[4], "F32", "register", "block"),
            Tile(&all, &[4], "F32", "register", "block"),
        ]);
        let mut kernel = Kernel::new(region, &[]);
        kernel.load("one", "X", &one, json!([0]));
        kernel.each();
        kernel.load("two", "X", &two, json!([4]));
        kernel.load("three", other, &three, json!([0]));
        kernel.compute("sum", "add", &[&one, &two], &sum, json!({}));
        kernel.compute("all", "add", &[&sum, &three], &all, json!({}));
        kernel.store("store", &all, to, json!([0]));
        draft.push(kernel);
        let loaded = if other == "Z" { 40 } else { 48 };
        let row = Row {
            blocks: 1,
            iterations: 1,
            loaded,
            stored: 16,
            operations: 8,
            shared: loaded,
            register: 32,
            ..Row::default()
        };
        rows.push(Row { id: region.to_owned(), ..row });
    }
    let mut made = amount("an input that two regions load", draft, Row::default(), 32 + 200 + 16);
    (made.rows, made.materialized) = (rows, vec!["P"]);
    made
}

/// The functions of elements, with what each takes for one.
const FUNCTIONS: &[(&str, i64)] = &[
    ("copy", 0),
    ("neg", 1),
    ("exp", 1),
    ("rsqrt", 1),
    ("scale", 1),
    ("silu", 4),
    ("gelu", 5),
    ("mask", 0),
    ("add", 1),
    ("sub", 1),
    ("mul", 1),
    ("div", 1),
    ("max", 1),
];

/// A function alone, or with a vector along rows or columns, on tiles with tails along both axes.
fn function(function: &str, along: Option<&str>, each: i64) -> Amount {
    let (rows, columns) = (7, 11);
    let mut draft = Draft::default();
    draft.input("X", &[rows, columns], "F32");
    draft.output("Y", &[rows, columns], "F32");
    draft.tiles(&[
        Tile("x", &[3, 4], "F32", "shared", "iteration"),
        Tile("y", &[3, 4], "F32", "register", "node"),
    ]);
    let mut kernel = Kernel::new("function", &[("i", rows, 3)]);
    kernel.stream("j", 4, None, json!([columns]));
    let (mut loaded, mut shared, mut compulsory) = (4 * rows * columns, 48, 8 * rows * columns);
    let mut more = match function {
        "scale" => json!({"by": [1, 3]}),
        "mask" => json!({"rows": "i", "columns": "j"}),
        _ => json!({}),
    };
    let is_of_rows = along == Some("rows");
    if let Some(along) = along {
        more["along"] = json!(along);
        // A vector of rows once in each of the three blocks, of which each has rows of its own; one of columns in each of them.
        let (extent, tile, times) = if is_of_rows { (rows, 3, 1) } else { (columns, 4, 3) };
        draft.input("V", &[extent], "F32");
        draft.tiles(&[Tile("v", &[tile], "F32", "shared", if is_of_rows { "block" } else { "iteration" })]);
        loaded += 4 * times * extent;
        shared += 4 * tile;
        compulsory += 4 * extent;
    }
    if is_of_rows {
        kernel.load("rows", "V", "v", json!(["i"]));
    }
    kernel.each();
    kernel.load("load", "X", "x", json!(["i", "j"]));
    let mut ins = vec!["x"];
    if ["add", "sub", "mul", "div", "max"].contains(&function) {
        ins.push(if along.is_some() { "v" } else { "x" });
    }
    if along == Some("columns") {
        kernel.load("columns", "V", "v", json!(["j"]));
    }
    kernel.compute("node", function, &ins, "y", more);
    kernel.store("store", "y", "Y", json!(["i", "j"]));
    draft.push(kernel);
    let row = Row {
        blocks: 3,
        iterations: 9,
        loaded,
        stored: 4 * rows * columns,
        operations: each * rows * columns,
        shared,
        register: 48,
        ..Row::default()
    };
    let name = format!("{function}{}", along.map_or_else(String::new, |along| format!(" along {along}")));
    amount(&name, draft, row, compulsory)
}

fn all() -> Vec<Amount> {
    let half = (1_i64 << 31) - 1;
    let vast_bytes = 2 * half * ((1 << 30) - 1);
    let largest = [2, 1 << 30, 1 << 30];
    let row = Row { blocks: 1, stored: 32, shared: 48, register: 32, ..Row::default() };
    let mut all = vec![
        sums("a stream that begins below 0", wide::below_zero(), [1, 16, 1, 1], 68),
        sums("streams that end long before they begin", wide::late(), [4, 4, 2, 1], 64),
        sums("tiles ahead in some blocks", wide::ahead_in_some(), [4, 6, 1, 3], 32),
        sums("65537 additions", wide::iterations(65_537), [1, 65_537, 1, 1], 4 * 65_538),
        amount("a stream without iterations", wide::nothing(), row, 64),
        streamed("buffers of tensors and of what is stored", 8, 1),
        streamed("65537 iterations, the last one smaller", 131_073, 2),
        streamed("63 tiles ahead", 255, 63),
        streamed("63 tiles ahead in a stream of 50", 100, 63),
        mapped("65537 blocks, the last one smaller", &[131_073], 2),
        mapped("65537 blocks along the last of two axes", &[3, 131_073], 2),
        mapped("tails along three axes", &[5, 3, 7], 2),
        mapped("tails along nine axes", &[3; 9], 2),
        mapped("2^31 - 1 elements", &[half], 1 << 20),
        tiles("17 tiles of one slot in each memory", 17, 1),
        tiles("17 tiles of 64 slots in each memory", 17, 64),
        products("more operations than binary64 counts", 8_388_609),
        vast("an input of nearly 2^62 bytes", 1, &[half, (1 << 30) - 1], vast_bytes + 4096),
        vast("three inputs of 2^62 bytes", 3, &largest, (3_u64 << 62) + 4096),
        // Binary64 has this number.
        vast("five inputs of 2^62 bytes", 5, &largest, 5.0 * 2_f64.powi(62) + 4096.0),
        names(),
        shared_input(),
    ];
    for &(name, each) in FUNCTIONS {
        all.push(function(name, None, each));
    }
    for name in ["add", "sub", "mul", "div", "max"] {
        all.extend(["rows", "columns"].map(|along| function(name, Some(along), 1)));
    }
    all
}

/// Those that are lowered too.
const SMALL: &[&str] = &[
    "a stream that begins below 0",
    "streams that end long before they begin",
    "tiles ahead in some blocks",
    "a stream without iterations",
    "buffers of tensors and of what is stored",
    "63 tiles ahead",
    "63 tiles ahead in a stream of 50",
    "tails along three axes",
    "an input that two regions load",
    "names in the order of their bytes",
];

/// Small documents by their names.
pub fn small() -> impl Iterator<Item = (String, Draft)> {
    let all = all().into_iter().filter(|made| SMALL.contains(&made.name.as_str()));
    all.map(|made| (made.name, made.draft))
}

/// All of them.
///
/// # Errors
/// A case that is not well formed.
pub fn amounts(_: &Library, sink: &mut Sink) -> Result<()> {
    for made in all() {
        let measures = made.measures();
        let id = |name: &str| format!("{}/{}", sink.family(), words(name));
        let expect = json!({"verdict": "accept", "warnings": made.warnings, "document": measures});
        let (id, twin) = (id(&made.name), made.twin.map(id));
        let mut cites = vec!["MCI-15"];
        cites.extend(&made.warnings);
        let text = crate::build::text(&made.draft.value());
        let document = Document::Text(&text);
        sink.push_as("measure", id, &made.name, PROFILE, &cited(&cites)?, &document, expect, twin)?;
    }
    Ok(())
}
