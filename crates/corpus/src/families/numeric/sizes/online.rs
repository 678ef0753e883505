//! The paths of a softmax that goes over its line tile by tile: where the maximum rises and by how much, how far the rest lies below
//! it, and what is merged of the parts.

use super::super::bench::{Bench, FROM_F32, Pair, Spec, round};
use super::super::data::{Operand, formula, reals};
use super::attention::{ONE, Tile};
use super::{at, draw, draws, empty, line};
use crate::builder::{DType, Result};
use megakernel_ir::formula::{Formula, Set, Term};
use megakernel_ir::rule::clause;

/// The data family of these cases.
const ONLINE: &str = "online";

const PARTIAL: u64 = 2;

/// The scores of one line.
struct Path {
    form: &'static str,
    about: &'static str,
    len: u64,
    /// In units of `2^exponent`; with runs and places in rows.
    terms: Vec<Term>,
    set: Vec<Set>,
    exponent: i32,
}

/// Rows `first` and on, `count` of them.
fn rows(first: u64, count: u64, value: i64) -> Set {
    Set { first, count, stride: 1, value }
}

fn paths() -> Vec<Path> {
    let noise = |low: i64, high: i64, seed: u64| Term::Draw(draw(low, high, seed));
    let mut paths = Vec::new();
    // The largest score of each tile is its first or its last, and each tile's is larger than that of the one before.
    for (first, last, tile, len) in [
        ("first-of-32", "last-of-32", 32_u64, 131_u64),
        ("first-of-64", "last-of-64", 64, 259),
        ("first-of-128", "last-of-128", 128, 515),
        ("first-of-512", "last-of-512", 512, 1543),
    ] {
        let rise = line(0, 24, tile, None);
        // In eight steps from the one end of a tile to the other.
        let (down, up) = (line(0, -2, tile / 8, Some(8)), line(-14, 2, tile / 8, Some(8)));
        let edge = |place: u64| Set { first: place, count: 1, stride: 1, value: 0 };
        let tops = |offset: u64| {
            (0..len.div_ceil(tile))
                .map(|n| (n * tile + offset, n))
                .filter(|(place, _)| *place < len)
                .map(|(place, n)| Set { value: 24 * n as i64 + 6, ..edge(place) })
                .collect::<Vec<Set>>()
        };
        let about = "the largest score of each tile comes first, and each tile rises";
        paths.push(Path {
            form: first,
            about,
            len,
            terms: vec![rise.clone(), down],
            set: tops(0),
            exponent: -4,
        });
        let about = "the largest score of each tile comes last, and each tile rises";
        paths.push(Path { form: last, about, len, terms: vec![rise, up], set: tops(tile - 1), exponent: -4 });
    }
    // The maximum rises in one tile only, wherever tiles of 16 to 128 begin, and stays.
    for (form, place, len) in [
        ("rises-at-32", 32, 200),
        ("rises-at-128", 128, 300),
        ("rises-at-last", 256, 257),
        ("rises-at-1", 1, 260),
    ] {
        let about = "the maximum rises once, and stays";
        let terms = vec![noise(-4, 0, 5)];
        paths.push(Path { form, about, len, terms, set: vec![rows(place, len - place, 16)], exponent: -3 });
    }
    // A rise of 1/32 or 1/8 for each 16 rows, which a threshold would not see.
    for (form, step, len) in
        [("rises-little", 1, 513), ("rises-by-eighths", 4, 385), ("rises-every-row", 1, 0)]
    {
        let (every, len) = if len == 0 { (1, 129) } else { (16, len) };
        let about = "the maximum rises by little, and often";
        paths.push(Path {
            form,
            about,
            len,
            terms: vec![line(0, step, every, None)],
            set: vec![],
            exponent: -5,
        });
    }
    let about = "the maximum falls from tile to tile, so that only the first one counts for it";
    paths.push(Path {
        form: "falls",
        about,
        len: 300,
        terms: vec![line(0, -1, 8, None)],
        set: vec![],
        exponent: -3,
    });
    let about = "thousands of rows far below the one that counts";
    paths.push(Path {
        form: "far-below",
        about,
        len: 3001,
        terms: vec![noise(-416, -384, 7)],
        set: vec![at(1500, 0)],
        exponent: -2,
    });
    let about = "thousands of rows below, which together count as much as the largest";
    paths.push(Path {
        form: "together",
        about,
        len: 4099,
        terms: vec![noise(-64, -64, 7)],
        set: vec![at(2050, 0)],
        exponent: -3,
    });
    let about = "a first tile so far below that nothing of it is left";
    paths.push(Path {
        form: "nothing-left",
        about,
        len: 150,
        terms: vec![noise(-3, 3, 9)],
        set: vec![rows(0, 64, -400)],
        exponent: -1,
    });
    paths.extend(more());
    paths
}

/// Further lines on which the same mistakes show, in every dtype.
fn more() -> Vec<Path> {
    let noise = |seed: u64| vec![Term::Draw(draw(-3, 3, seed))];
    let left = |form, len, seed, value| Path {
        form,
        about: "a first tile so far below that nothing of it is left",
        len,
        terms: noise(seed),
        set: vec![rows(0, 64, value)],
        exponent: -1,
    };
    let rises = |form, len| Path {
        form,
        about: "the maximum rises by little with every row",
        len,
        terms: vec![line(0, 1, 1, None)],
        set: vec![],
        exponent: -5,
    };
    let late = |form, len: u64, seed| Path {
        form,
        about: "what counts comes behind 4,096 rows",
        len,
        terms: noise(seed),
        set: vec![rows(4096, len - 4096, 24)],
        exponent: -1,
    };
    vec![
        left("nothing-left-of-300", 300, 11, -60),
        left("nothing-left-of-66", 66, 12, -80),
        rises("rises-every-row-of-33", 33),
        late("late-of-4300", 4300, 13),
        late("late-of-5000", 5000, 14),
        rises("rises-every-row-of-65", 65),
        late("late-of-8192", 8192, 15),
    ]
}

/// The scores as a tensor of rows of `width` elements that are alike.
fn scores(path: &Path, dtype: DType, shape: &[u64], width: u64) -> Operand {
    let wider = |term: &Term| match term {
        Term::Draw(term) => {
            Term::Draw(megakernel_ir::formula::Draw { every: term.every * width, ..term.clone() })
        }
        Term::Line(term) => {
            Term::Line(megakernel_ir::formula::Line { every: term.every * width, ..term.clone() })
        }
    };
    let set = |set: &Set| Set { first: set.first * width, count: set.count * width, ..set.clone() };
    formula(Formula {
        exponent: path.exponent,
        terms: path.terms.iter().map(wider).collect(),
        set: path.set.iter().map(set).collect(),
        ..empty(dtype, shape)
    })
}

/// ATTENTION_TILE whose scores are those of each path: q is 1 and zeros, and the rows of k are alike in all elements.
pub fn attention(b: &mut Bench) -> Result<()> {
    for (turn, path) in paths().iter().enumerate() {
        for (place, pair) in round(turn).enumerate() {
            let flags = if place == 0 && turn % 2 == 0 { PARTIAL } else { 0 };
            along(b, path, Tile { len: path.len, scale: 1.0, flags, ..ONE }, pair)?;
        }
    }
    beyond(b)?;
    positions(b)?;
    scaled(b)
}

fn along(b: &mut Bench, path: &Path, tile: Tile, (from, to): Pair) -> Result<()> {
    let tile = Tile { dim: 4, ..tile };
    let q = Formula { set: vec![at(0, 1)], ..empty(from, &tile.query()) };
    let k = scores(path, from, &tile.cache(), 4);
    let v = values(from, &tile.cache(), b.formula_seed(path.form));
    let partial = if tile.flags == 0 { "" } else { "partial-" };
    let to = if tile.flags == 0 { to } else { DType::F32 };
    let form = format!("{partial}{}", path.form);
    let spec = tile.spec(&form, ONLINE, path.about, vec![formula(q), k, v], to);
    b.add(spec.clause(clause::NUM_08).clause(clause::NUM_13))
}

/// Values of rows of four that differ in each run of 16, 48 and 240 rows: the first ones are large.
fn values(dtype: DType, shape: &[u64], seed: u64) -> Operand {
    let mut values = draws(dtype, shape, (-1, 1), 0, seed);
    values.terms.push(line(6, -2, 4 * 16, Some(3)));
    values.terms.push(line(4, -4, 4 * 48, Some(5)));
    values.set.push(Set { first: 0, count: 30.min(shape.iter().product::<u64>() / 4), stride: 4, value: 12 });
    formula(values)
}

/// Scores beyond 1,000, by keys or by `scale`, of either sign.
fn beyond(b: &mut Bench) -> Result<()> {
    for (turn, (form, unit, scale)) in [
        ("scores-1000", 4, 4.0),
        ("scores-minus-1000", -4, 4.0),
        ("scores-3000", 12, 4.0),
        ("scores-by-scale", 1, 64.0),
    ]
    .into_iter()
    .enumerate()
    {
        for (from, to) in round(turn) {
            let tile = Tile { dim: 4, len: 70, scale, ..ONE };
            let q = Formula { set: vec![rows(0, 4, 4)], ..empty(from, &tile.query()) };
            // Sums of four products of 4 and `unit` times 14 to 16.
            let mut k = draws(from, &tile.cache(), (14, 16), 0, b.formula_seed(form));
            if from == DType::F8E5M2 {
                k = draws(from, &tile.cache(), (7, 8), 1, b.formula_seed(form));
            }
            for term in &mut k.terms {
                if let Term::Draw(draw) = term {
                    draw.every = 4;
                }
            }
            let v = values(from, &tile.cache(), b.formula_seed(form));
            let tile = Tile { scale: scale * f64::from(unit) / 4.0, ..tile };
            let about = "scores whose magnitude is beyond 1,000";
            let spec = tile.spec(form, ONLINE, about, vec![formula(q), formula(k), v], to);
            b.add(spec.clause(clause::NUM_08).clause(clause::NUM_13))?;
        }
    }
    Ok(())
}

/// The largest score at each row of the window in turn, in a head of its own.
fn positions(b: &mut Bench) -> Result<()> {
    for (turn, (form, len)) in
        [("positions-33", 33_u64), ("positions-66", 66), ("positions-17", 17)].into_iter().enumerate()
    {
        for (from, to) in round(turn) {
            let tile = Tile { heads: len, kv: len, dim: 2, len, scale: 1.0, ..ONE };
            let q = Formula { set: vec![Set { stride: 2, ..rows(0, len, 1) }], ..empty(from, &tile.query()) };
            let mut k = draws(from, &tile.cache(), (-1, 1), -1, b.formula_seed(form));
            // Row r of head r.
            k.set.push(Set { first: 0, count: len, stride: len * 2 + 2, value: 6 });
            let mut v = draws(from, &tile.cache(), (-1, 1), 0, b.formula_seed("v"));
            v.terms.push(line(-4, 1, len * 2, Some(9)));
            let about = "the largest score at each row in turn, in a head of its own";
            let spec = tile.spec(form, ONLINE, about, vec![formula(q), formula(k), formula(v)], to);
            b.add(spec.clause(clause::NUM_08).clause(clause::NUM_13))?;
        }
    }
    Ok(())
}

/// Negative scales and a scale of 0, plain and with PARTIAL_WRITE, over several tiles.
fn scaled(b: &mut Bench) -> Result<()> {
    for (turn, (form, scale)) in
        [("turned-round", -1.0), ("turned-round-little", -0.0625), ("all-alike", 0.0), ("far-apart", 8.0)]
            .into_iter()
            .enumerate()
    {
        for (place, (from, to)) in round(turn).enumerate() {
            let tile = Tile { heads: 2, dim: 4, len: 77, scale, ..ONE };
            let flags = if place < 2 { PARTIAL } else { 0 };
            let tile = Tile { flags, ..tile };
            let seed = |what: &str| b.formula_seed(&format!("{form}-{what}"));
            let operands = vec![
                formula(draws(from, &tile.query(), (-3, 3), 0, seed("q"))),
                formula(draws(from, &tile.cache(), (-3, 3), -1, seed("k"))),
                values(from, &tile.cache(), seed("v")),
            ];
            let (form, to) = match flags {
                0 => (form.to_owned(), to),
                _ => (format!("partial-{form}"), DType::F32),
            };
            let about = "a scale that turns the order of the scores round, or makes them all alike";
            let spec = tile.spec(&form, ONLINE, about, operands, to);
            b.add(spec.clause(clause::NUM_08).clause(clause::NUM_13))?;
        }
    }
    Ok(())
}

/// SOFTMAX of lines with the scores of each path.
pub fn softmax(b: &mut Bench) -> Result<()> {
    for (turn, path) in paths().iter().enumerate() {
        for (from, to) in round(turn) {
            let shape = [1, path.len];
            let spec = Spec::new(path.form, ONLINE, path.about)
                .input(scores(path, from, &shape, 1))
                .output(to, &shape);
            b.add_sampled(spec.clause(clause::NUM_07).clause(clause::NUM_08), &shape)?;
        }
    }
    Ok(())
}

/// ATTENTION_COMBINE of partials with tiny denominators beside ordinary ones, in either order, and with maxima that make up for them.
pub fn combine(b: &mut Bench) -> Result<()> {
    // Denominators, and maxima, of three partials; each row has them in another order.
    let kinds: [(&str, &str, [f64; 3], [f64; 3]); 6] = [
        ("denominator-1e-4", "a tiny denominator beside others", [1e-4, 1.0, 7.0], [0.5, -1.0, -0.25]),
        ("denominator-1e-25", "a tiny denominator beside others", [1e-25, 2.0, 3.0], [1.0, 0.0, 0.5]),
        ("denominators-1e-4", "tiny denominators alone", [1e-4, 3e-4, 2e-4], [0.5, 0.25, -1.0]),
        ("denominators-1e-25", "tiny denominators alone", [1e-25, 3e-25, 2e-25], [0.5, 0.25, -1.0]),
        (
            "made-up-for",
            "a tiny denominator whose maximum makes up for it",
            [1e-25, 1.0, 5.0],
            [57.0, 0.0, -1.5],
        ),
        ("maxima-beyond-1000", "maxima beyond 1,000", [1.5, 2.0, 300.0], [1001.0, 1002.5, 996.0]),
    ];
    let dim = 5;
    for (form, about, l, m) in kinds {
        for &(_, to) in FROM_F32 {
            let inputs = (0..3).map(|part: usize| {
                let mut values = Vec::new();
                for row in 0..6 {
                    let at = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]][row][part];
                    values.extend((0..dim).map(|d| l[at] * (f64::from(d) - 1.5) * (at as f64 + 1.0)));
                    values.extend([m[at], l[at]]);
                }
                reals(DType::F32, &[6, 7], values)
            });
            let inputs: Vec<Operand> = inputs.collect();
            let spec = Spec::new(form, ONLINE, about).inputs(inputs).output(to, &[6, 5]);
            b.add(spec.clause(clause::NUM_08))?;
        }
    }
    Ok(())
}
