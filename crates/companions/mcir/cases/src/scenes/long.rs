//! Functions along one long axis, in many blocks, iterations and operands, and of numbers in pairs: what is right for a few only, or rounds on the way, shows here.

use serde_json::{Value, json};

use super::functions::scene;
use super::{Scene, count, integers, random};
use crate::build::{Draft, Kernel, Tile};
use crate::definition::shape;
use crate::wide;

/// More than a thousand, and a prime number.
const LONG: i64 = 1031;

/// A tensor or a tile: extents and dtype.
type Of<'s> = (&'s [i64], &'s str);

/// A function of whole tensors, each of which is a tile.
fn one(name: &str, function: &str, more: Value, ins: &[Of<'_>], (extents, dtype): Of<'_>) -> Scene {
    let mut draft = Draft::default();
    let mut kernel = Kernel::new("one", &[]);
    let names: Vec<String> = (0..ins.len()).map(|number| format!("x{number}")).collect();
    let at = |rank: usize| json!(vec![0; rank]);
    for ((extents, dtype), name) in ins.iter().zip(&names) {
        let tensor = name.to_uppercase();
        draft.input(&tensor, extents, dtype);
        draft.tiles(&[Tile(name, extents, dtype, "shared", "block")]);
        kernel.load(&format!("load-{name}"), &tensor, name, at(extents.len()));
    }
    draft.output("Y", extents, dtype);
    draft.tiles(&[Tile("y", extents, dtype, "register", "node")]);
    kernel.each();
    let operands: Vec<&str> = names.iter().map(String::as_str).collect();
    match function.strip_prefix("reduce-") {
        Some(fold) => kernel.reduce("node", fold, more["axis"].as_i64().unwrap_or(0), "x0", "y"),
        None => kernel.compute("node", function, &operands, "y", more),
    }
    kernel.store("store", "y", "Y", at(extents.len()));
    draft.push(kernel);
    let shapes: Vec<String> = ins.iter().map(|(extents, dtype)| format!("{dtype} {extents:?}")).collect();
    let summary = format!("`{function}` of {}, to {dtype} {extents:?}", shapes.join(" and "));
    scene(name, &summary, &["MCI-06", "MCI-12"], draft, integers)
}

/// The scene with these numbers in an input, by their places.
fn with(mut scene: Scene, name: &str, of: &dyn Fn(usize) -> f64) -> Scene {
    let numbers = (0..count(&shape(&scene.document["values"][name]))).map(of).collect();
    scene.inputs.insert(name.to_owned(), numbers);
    scene
}

/// The scene in which this is known of an output.
fn known(mut scene: Scene, name: &str, of: &dyn Fn(usize) -> f64) -> Scene {
    let numbers = (0..count(&shape(&scene.document["values"][name]))).map(|place| Some(of(place))).collect();
    scene.known.insert(name.to_owned(), numbers);
    scene
}

fn long_functions(all: &mut Vec<Scene>) {
    let none = || json!({});
    let n = LONG;
    let shapes: [(&str, &[i64]); 3] = [("vector", &[n]), ("row", &[2, n]), ("column", &[n, 2])];
    for (what, shape) in shapes {
        all.push(one(&format!("long-neg-{what}"), "neg", none(), &[(shape, "F16")], (shape, "F16")));
        all.push(one(&format!("long-add-{what}"), "add", none(), &[(shape, "F16"); 2], (shape, "F16")));
        let [rows, columns] = shape else { continue };
        let turned: &[i64] = &[*columns, *rows];
        all.push(one(
            &format!("long-transpose-{what}"),
            "transpose",
            none(),
            &[(shape, "F16")],
            (turned, "F16"),
        ));
        for (along, extent) in [("rows", rows), ("columns", columns)] {
            let ins: [Of<'_>; 2] = [(shape, "F16"), (&[*extent], "F16")];
            let name = format!("long-mul-{along}-{what}");
            all.push(one(&name, "mul", json!({"along": along}), &ins, (shape, "F16")));
        }
        let more = json!({"rows": 600, "columns": if what == "row" { 0 } else { 700 }, "window": 500});
        all.push(one(&format!("long-mask-{what}"), "mask", more, &[(shape, "F16")], (shape, "F32")));
        for (axis, left) in [(0, columns), (1, rows)] {
            for fold in ["sum", "max"] {
                let name = format!("long-{fold}-{axis}-{what}");
                let out: Of<'_> = (&[*left], "F32");
                all.push(one(
                    &name,
                    &format!("reduce-{fold}"),
                    json!({"axis": axis}),
                    &[(shape, "F16")],
                    out,
                ));
            }
        }
    }
    for [m, k, n] in [[LONG, 2, 3], [2, LONG, 3], [2, 3, LONG]] {
        let out: Of<'_> = (&[m, n], "F32");
        let ins: [Of<'_>; 2] = [(&[m, k], "F16"), (&[k, n], "F16")];
        all.push(one(&format!("long-nn-{m}-{k}-{n}"), "matmul_nn", none(), &ins, out));
        let ins: [Of<'_>; 2] = [(&[m, k], "F16"), (&[n, k], "F16")];
        all.push(one(&format!("long-nt-{m}-{k}-{n}"), "matmul_nt", none(), &ins, out));
    }
}

/// Reductions over each axis of tiles of three to five.
fn axes(all: &mut Vec<Scene>) {
    for shape in [&[2, 3, 4][..], &[3, 2, 4, 2], &[2, 3, 2, 2, 3]] {
        for axis in 0..shape.len() {
            let left = [&shape[..axis], &shape[axis + 1..]].concat();
            for fold in ["sum", "max"] {
                let name = format!("reduce-{fold}-{axis}-of-{}-axes", shape.len());
                let more = json!({"axis": axis});
                all.push(one(&name, &format!("reduce-{fold}"), more, &[(shape, "F16")], (&left, "F32")));
            }
        }
    }
}

/// Sums that are other ones if they are rounded on the way to what they are rounded to in the end.
fn sums(all: &mut Vec<Scene>) {
    for (from, to, most) in [
        ("F32", "F16", 2048.0),
        ("F32", "BF16", 256.0),
        ("F16", "F16", 2048.0),
        ("BF16", "BF16", 256.0),
        ("F16", "F32", 2048.0),
        ("BF16", "F32", 256.0),
    ] {
        // The large number stands in each place once.
        let number = |place: usize| if place / 3 == place % 3 { most } else { 1.0 };
        let sum = one(
            &format!("sum-{from}-{to}"),
            "reduce-sum",
            json!({"axis": 1}),
            &[(&[3, 3], from)],
            (&[3], to),
        );
        all.push(known(with(sum, "X0", &number), "Y", &|_| most + 2.0));
        let ins: [Of<'_>; 2] = [(&[3, 3], from), (&[3, 1], from)];
        let product = one(&format!("product-{from}-{to}"), "matmul_nn", json!({}), &ins, (&[3, 1], to));
        all.push(known(with(with(product, "X0", &number), "X1", &|_| 1.0), "Y", &|_| most + 2.0));
    }
    // Maxima below what a search may begin with.
    let rows = [[-2e38, -3e38, -3.4e38], [-1.1e30, -1.2e30, -1e31], [-1e38; 3], [f64::NEG_INFINITY; 3]];
    let most = one("max-of-lowest", "reduce-max", json!({"axis": 1}), &[(&[4, 3], "F32")], (&[4], "F32"));
    all.push(with(most, "X0", &|place| f64::from(rows[place / 3][place % 3] as f32)));
}

/// Numbers that a cast to 16 bits rounds: ties, and what lies beside them, at both ends.
fn casts(all: &mut Vec<Scene>) {
    for (dtype, bits, least, most) in [("F16", 10, -24, 65_504.0), ("BF16", 7, -133, 255.0 * 2_f64.powi(120))]
    {
        let unit = 2_f64.powi(-bits);
        let least = 2_f64.powi(least);
        let gap = most - most / (2.0 - unit) * (2.0 - 2.0 * unit);
        let mut numbers =
            vec![most, most + gap / 4.0, most + gap * 0.4375, most + gap / 2.0, most + gap * 0.5625];
        for part in [0.25, 0.5, 0.5625, 0.75, 1.5, 2.5, 3.5, 1000.5] {
            // Subnormal numbers, and numbers from 1 on.
            numbers.extend([least * part, 1.0 + unit * part, 1.0 + unit * (part + 2.0)]);
        }
        numbers.extend([1.0 - unit / 4.0, 2.0 - unit / 2.0, 2.0 - unit * 0.5625]);
        let negative: Vec<f64> = numbers.iter().map(|number| -number).collect();
        numbers.extend(negative);
        let long: &[i64] = &[numbers.len() as i64];
        let copy = one(&format!("casts-{dtype}"), "copy", json!({}), &[(long, "F32")], (long, dtype));
        all.push(with(copy, "X0", &|place| f64::from(numbers[place] as f32)));
    }
}

/// Zeros, ones, ends and what is beyond them.
const PAIRED: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.1,
    -3.25,
    65_504.0,
    88.5,
    -104.0,
    3.4e38,
    -3.4e38,
    1e-40,
    -1.2e-38,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn paired(place: usize) -> f64 {
    f64::from(PAIRED[place % 16] as f32)
}

/// All pairs of these numbers: in two tiles, and with one of them for each row or column.
fn pairs(all: &mut Vec<Scene>) {
    let square: Of<'_> = (&[16, 16], "F32");
    let line: Of<'_> = (&[16], "F32");
    let (first, second) = (|place: usize| paired(place / 16), paired);
    for function in ["add", "sub", "mul", "div", "max"] {
        let both = one(&format!("pairs-{function}"), function, json!({}), &[square; 2], square);
        all.push(with(with(both, "X0", &first), "X1", &second));
        for along in ["rows", "columns"] {
            let name = format!("pairs-{function}-{along}");
            let made = one(&name, function, json!({"along": along}), &[square, line], square);
            let x: &dyn Fn(usize) -> f64 = if along == "rows" { &second } else { &first };
            all.push(with(with(made, "X0", x), "X1", &paired));
        }
    }
    let column: Of<'_> = (&[16, 1], "F32");
    let outer = one("pairs-matmul", "matmul_nt", json!({}), &[column; 2], square);
    all.push(with(with(outer, "X0", &paired), "X1", &paired));
    for fold in ["sum", "max"] {
        let made = one(
            &format!("pairs-reduce-{fold}"),
            &format!("reduce-{fold}"),
            json!({"axis": 2}),
            &[(&[16, 16, 2], "F32")],
            square,
        );
        all.push(with(made, "X0", &|place| {
            if place % 2 == 0 { first(place / 2) } else { second(place / 2) }
        }));
    }
    for (name, init) in [("0", json!(0)), ("1", json!(1)), ("inf", json!("inf"))] {
        let made = scale_add(&format!("pairs-scale-add-{name}"), 1, &[16, 16], [16, 16], init);
        all.push(with(with(made, "R", &paired), "X", &second));
    }
}

/// A state that is scaled by rows and added to, so often; with as many elements as `extents` in blocks of `steps`.
fn scale_add(name: &str, times: i64, extents: &[i64], steps: [i64; 2], init: Value) -> Scene {
    let with_times = |extents: &[i64]| [&[times][..], extents].concat();
    let steps = &steps[..extents.len()];
    let mut draft = Draft::default();
    draft.input("X", &with_times(extents), "F32");
    draft.input("R", &with_times(&extents[..1]), "F32");
    draft.output("Y", extents, "F32");
    draft.tiles(&[
        Tile("x", steps, "F32", "shared", "iteration"),
        Tile("r", &steps[..1], "F32", "shared", "iteration"),
        Tile("s", steps, "F32", "register", "block"),
    ]);
    let axes = &["i", "k"][..extents.len()];
    let blocks: Vec<(&str, i64, i64)> =
        axes.iter().zip(extents).zip(steps).map(|((axis, &extent), &step)| (*axis, extent, step)).collect();
    let mut kernel = Kernel::new("scale", &blocks);
    kernel.stream("t", 1, None, json!([times]));
    kernel.state("s", init);
    kernel.each();
    kernel.load("x", "X", "x", json!([&["t"][..], axes].concat()));
    kernel.load("r", "R", "r", json!(["t", "i"]));
    kernel.update("keep", "scale_add", &["s", "r", "x"], &["s"]);
    kernel.end();
    kernel.store("store", "s", "Y", json!(axes));
    draft.push(kernel);
    let summary =
        format!("a state of {extents:?} in tiles of {steps:?} that is scaled and added to {times} times");
    scene(name, &summary, &["MCI-06", "MCI-08", "MCI-09"], draft, integers)
}

/// An online softmax of rows that are one tile in each iteration.
struct Softmax<'s> {
    /// Of scores, weights, factors, largest scores and sums.
    dtypes: [&'s str; 5],
    rows: i64,
    columns: i64,
    times: i64,
    /// What the largest scores and the sums begin with.
    begin: [Value; 2],
}

impl Softmax<'_> {
    fn plain(rows: i64, columns: i64) -> Self {
        Softmax { dtypes: ["F32"; 5], rows, columns, times: 1, begin: [json!("-inf"), json!(0)] }
    }

    fn scene(self, name: &str, summary: &str, number: &dyn Fn(usize, usize) -> f64) -> Scene {
        let Softmax { dtypes: [x, p, r, u, l], rows, columns, times, begin: [most, sum] } = self;
        let mut draft = Draft::default();
        let wide = columns * times;
        draft.input("X", &[rows, wide], x);
        for (name, shape, dtype) in
            [("P", &[rows, wide][..], p), ("R", &[times, rows], r), ("U", &[rows], u), ("L", &[rows], l)]
        {
            draft.output(name, shape, dtype);
        }
        draft.tiles(&[
            Tile("x", &[rows, columns], x, "shared", "iteration"),
            Tile("p", &[rows, columns], p, "register", "node"),
            Tile("r", &[rows], r, "register", "node"),
            Tile("u", &[rows], u, "register", "block"),
            Tile("l", &[rows], l, "register", "block"),
        ]);
        let mut kernel = Kernel::new("softmax", &[]);
        kernel.stream("j", 1, None, json!([times]));
        kernel.state("u", most);
        kernel.state("l", sum);
        kernel.each();
        kernel.load("x", "X", "x", json!([0, [[columns, "j"]]]));
        kernel.update("keep", "online_softmax", &["x", "u", "l"], &["u", "l", "p", "r"]);
        kernel.store("p", "p", "P", json!([0, [[columns, "j"]]]));
        kernel.store("r", "r", "R", json!(["j", 0]));
        kernel.end();
        kernel.store("u", "u", "U", json!([0]));
        kernel.store("l", "l", "L", json!([0]));
        draft.push(kernel);
        let made = scene(name, summary, &["MCI-06", "MCI-12"], draft, integers);
        let wide = usize::try_from(wide).unwrap_or(1);
        with(made, "X", &|place| f64::from(number(place / wide, place % wide) as f32))
    }
}

/// Rows of three scores with all that they begin with, in F32.
fn scores(name: &str, summary: &str, begin: [Value; 2], rows: &[[f64; 3]]) -> Scene {
    let of = Softmax { begin, ..Softmax::plain(rows.len() as i64, 3) };
    of.scene(name, summary, &|row, column| rows[row][column])
}

fn softmax(all: &mut Vec<Scene>) {
    let (none, nan) = (f64::NEG_INFINITY, f64::NAN);
    let plain = || [json!("-inf"), json!(0)];
    // Weights are 1 or 0, so that sums count them.
    let long = |row: usize, column: usize| if (row + column).is_multiple_of(row + 2) { none } else { 0.0 };
    let wide = Softmax { times: 2, ..Softmax::plain(2, LONG) };
    all.push(wide.scene("long-softmax-row", "weights of 1 and of 0 in long rows, twice", &long));
    let high =
        |row: usize, column: usize| if column == 0 || !row.is_multiple_of(3) { row as f64 } else { none };
    all.push(Softmax::plain(LONG, 2).scene("long-softmax-column", "many rows of two scores", &high));
    let many = |row: usize, column: usize| (column * (row + 3) % 7) as f64;
    let often = Softmax { times: 70, ..Softmax::plain(2, 3) };
    all.push(often.scene("long-softmax", "70 iterations, with scores that fall and rise", &many));
    all.push(scores(
        "softmax-far-below",
        "rows whose largest score is far below 0, or far above",
        plain(),
        &[
            [-10_001.0, -10_001.5, none],
            [-20_000.0, -20_001.0, -20_002.0],
            [-1e30, -1e30, -2e30],
            [-3e38, -3e38, -1e38],
            [-1e38, none, none],
            [1e30, 1e30, -1e30],
        ],
    ));
    all.push(scores(
        "softmax-small-weights",
        "weights that binary32 barely has",
        plain(),
        &[[0.0, -70.0, -80.0], [0.0, -60.0, -87.0], [5.0, -64.0, -65.5], [-20.0, 0.0, -75.0]],
    ));
    all.push(scores(
        "softmax-nan",
        "a NaN reaches all of its row, also beside -∞",
        plain(),
        &[
            [none, nan, 0.0],
            [nan, none, none],
            [none, none, nan],
            [1.0, 1.0, none],
            [f64::INFINITY, none, nan],
        ],
    ));
    let rows = [[1.0, 2.0, none], [none; 3], [nan, none, 0.0], [-5.0, none, none]];
    let (infinite, summary) = (json!("inf"), "states that begin with ∞");
    all.push(scores("softmax-infinite-sum", summary, [json!("-inf"), infinite.clone()], &rows));
    all.push(scores("softmax-infinite-most", summary, [infinite, json!(1)], &rows));
    for (dtype, begin, unit) in [("F16", 4096, 2.0), ("BF16", 512, 2.0)] {
        let of = |rows, columns| Softmax {
            dtypes: ["F32", "F32", "F32", "F32", dtype],
            ..Softmax::plain(rows, columns)
        };
        // What is left of the sum lies just below a half, and a weight of 1 takes it above.
        let scaled = Softmax { begin: [json!(0), json!(begin)], ..of(3, 2) };
        let begin = f64::from(begin);
        let number = |row: usize, column: usize| {
            let left = begin / 2.0 + unit * [0.3, 0.375, 0.45][row];
            if column == 0 { libm::log(begin / left) } else { none }
        };
        all.push(scaled.scene(
            &format!("softmax-sum-{dtype}"),
            "the product in a sum is not rounded alone",
            &number,
        ));
        let small = |_: usize, column: usize| if column == 0 || column == 301 { 0.0 } else { -7.63 };
        let summary = "weights that are each too small for the dtype of their sum";
        all.push(of(1, 302).scene(&format!("softmax-weights-{dtype}"), summary, &small));
    }
}

/// Documents whose size or bounds are unusual.
fn documents(all: &mut Vec<Scene>) {
    let mut put = |name: &str, summary: &str, draft| {
        all.push(scene(name, summary, &["MCI-07", "MCI-08"], draft, integers))
    };
    put("blocks-1031", "1,031 blocks, the last one smaller", wide::mapped(&[2 * LONG - 1], 2));
    put(
        "blocks-along-two-axes",
        "blocks along two axes, most of them along the second",
        wide::mapped(&[3, 201], 2),
    );
    put("blocks-along-five-axes", "blocks with tails along five axes", wide::mapped(&[3; 5], 2));
    put("iterations-1031", "1,031 additions", wide::iterations(LONG));
    put(
        "copied-1031",
        "1,031 iterations, two tiles ahead, the last one smaller",
        wide::streamed(2 * LONG - 1, 2),
    );
    put("copied-63-ahead", "63 tiles ahead", wide::streamed(161, 63));
    put("copied-63-ahead-of-50", "63 tiles ahead in a stream of 50", wide::streamed(100, 63));
    put("below-zero", "a stream that begins below 0", wide::below_zero());
    put("late", "streams that end long before they begin", wide::late());
    put("ahead-in-some", "tiles ahead in some blocks", wide::ahead_in_some());
    put("nothing", "a stream without iterations", wide::nothing());
    put("operands-70", "70 inputs and 70 outputs", wide::operands(70));
    let fractions = scene("fractions", "a tile times fractions", &["MCI-06"], wide::fractions(), random);
    let numbers = [2e38, -1.5, 3.0, -1e-37];
    all.push(with(fractions, "X", &|place| f64::from(numbers[place] as f32)));
    for (name, extents, steps) in [
        ("scale-add-rows", &[6][..], [4, 1]),
        ("scale-add-tails", &[6, 5], [4, 3]),
        ("scale-add-long-vector", &[LONG], [LONG, 1]),
        ("scale-add-long-rows", &[LONG, 2], [LONG, 2]),
        ("scale-add-long-columns", &[2, LONG], [2, LONG]),
    ] {
        all.push(scale_add(name, 2, extents, steps, json!(1)));
    }
}

/// All of them.
pub fn all() -> Vec<Scene> {
    let mut all = Vec::new();
    long_functions(&mut all);
    axes(&mut all);
    sums(&mut all);
    casts(&mut all);
    pairs(&mut all);
    softmax(&mut all);
    documents(&mut all);
    all
}
