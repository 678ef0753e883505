//! More rows, columns and groups than 16 bits count. What lies behind the first 65,536 is made to differ from what lies before, so that
//! nobody who begins again there, or stops, has the right result. Inputs are formulas; of results a sample is judged.

use super::super::bench::{Bench, Spec};
use super::super::data::{Operand, formula, reals};
use super::super::dequant::Store;
use super::attention::{ONE, Tile};
use super::{SIZES, at, draws, empty, line, ordinary};
use crate::builder::{DType, FLOATS, Op, Result};
use megakernel_ir::formula::{Formula, Set};
use megakernel_ir::rule::clause;

use DType::{BF16, F16, F32};

const ABOUT: &str = "more than 16 bits count";

/// How many 16 bits count.
const MOST: u64 = 1 << 16;

/// Numbers beyond that.
const BEYOND: [u64; 3] = [MOST + 3, MOST + 67, MOST + 1001];

/// The cases of an opcode.
pub fn fill(b: &mut Bench, op: Op) -> Result<()> {
    for (turn, &to) in FLOATS.iter().enumerate() {
        let n = BEYOND[turn % BEYOND.len()];
        match op {
            Op::Embed => ids(b, n, to)?,
            Op::RmsNorm | Op::LayerNorm => {
                norm(b, op, &format!("rows-{n}"), [n, 2], to)?;
                long_row(b, op, n, to)?;
            }
            Op::Softmax => {
                lines(b, n, to)?;
                long_line(b, n, to)?;
            }
            Op::Rope => positions(b, n, to)?,
            Op::AttentionCombine => partials(b, n, to)?,
            Op::KvAppend => appended(b, n, to)?,
            Op::Dequant => groups(b, n, to)?,
            Op::SampleArgmax => tokens(b, n, to)?,
            Op::AttentionTile => MASKED.iter().try_for_each(|one| masked(b, one, to))?,
            Op::GemvTile | Op::GemmTile => {
                for n in [n, BEYOND[(turn + 1) % BEYOND.len()]] {
                    columns(b, op, n, to)?;
                    rows(b, op, n, to)?;
                }
                quantised(b, op, n, to)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Elements that hold one integer.
fn run(first: u64, count: u64, value: i64) -> Set {
    Set { first, count, stride: 1, value }
}

/// Few ones among zeros: three before the first 65,536 elements end, and so many behind.
fn sparse(dtype: DType, shape: &[u64], behind: u64) -> Formula {
    let before = [7, 21_001, 60_013].map(|place| at(place, 1));
    let set = before.into_iter().chain([run(MOST, behind, 1)]).collect();
    Formula { set, ..empty(dtype, shape) }
}

/// Numbers that repeat after 97 rows, of which 65,536 is no multiple.
fn in_turn(dtype: DType, shape: &[u64], width: u64) -> Formula {
    Formula { exponent: -3, terms: vec![line(-48, 1, width, Some(97))], ..empty(dtype, shape) }
}

/// EMBED: the ids behind the first 65,536 are others than the first ones.
fn ids(b: &mut Bench, n: u64, to: DType) -> Result<()> {
    let mut ids = draws(DType::I32, &[n], (0, 2), 0, b.formula_seed("ids-beyond"));
    ids.set = vec![run(0, 3, 0), run(MOST, 3, 2), at(n - 1, 1)];
    let table = ordinary(to, &[3, 1], 2, b.formula_seed("table-beyond"));
    let spec = Spec::new(format!("ids-{n}"), SIZES, ABOUT).inputs([formula(ids), table]).output(to, &[n, 1]);
    b.add_sampled(spec.param("hidden", 1), &[n, 1])
}

fn norm(b: &mut Bench, op: Op, form: &str, shape: [u64; 2], to: DType) -> Result<()> {
    let x = ordinary(F32, &shape, 2, b.formula_seed(&format!("{form}-x")));
    let mut inputs = vec![x, ordinary(F32, &shape[1..], 1, b.formula_seed(&format!("{form}-w")))];
    if op == Op::LayerNorm {
        inputs.push(ordinary(F32, &shape[1..], 1, b.formula_seed(&format!("{form}-b"))));
    }
    let spec = Spec::new(form, SIZES, ABOUT).inputs(inputs).output(to, &shape);
    // A large eps, so that results depend on how large the row is.
    b.add_sampled(spec.param("eps", 8.0).param("hidden", shape[1]), &shape)
}

/// RMSNORM and LAYERNORM: what lies behind the first 65,536 elements outweighs them.
fn long_row(b: &mut Bench, op: Op, n: u64, to: DType) -> Result<()> {
    let form = format!("row-{n}");
    let mut x = draws(F32, &[n], (1, 7), -3, b.formula_seed(&form));
    x.set = vec![run(MOST, 3, 1 << 13)];
    let inputs = [formula(x), ordinary(F32, &[n], 1, b.formula_seed(&format!("{form}-w")))];
    let spec = Spec::new(form, SIZES, ABOUT).inputs(inputs).output(to, &[n]);
    let eps = if op == Op::RmsNorm { 0.25 } else { 1.0 };
    b.add_sampled(spec.param("eps", eps).param("hidden", n), &[n])
}

fn lines(b: &mut Bench, n: u64, to: DType) -> Result<()> {
    let x = ordinary(F32, &[n, 2], 2, b.formula_seed("lines-beyond"));
    let spec = Spec::new(format!("lines-{n}"), SIZES, ABOUT).input(x).output(to, &[n, 2]);
    b.add_sampled(spec, &[n, 2])
}

/// SOFTMAX: the largest elements are behind the first 65,536.
fn long_line(b: &mut Bench, n: u64, to: DType) -> Result<()> {
    let mut x = draws(F32, &[n], (-40, -20), 0, b.formula_seed(&format!("line-{n}")));
    x.set = vec![at(MOST / 2, 1), at(MOST, 2), at(n - 1, 3)];
    b.add_sampled(Spec::new(format!("line-{n}"), SIZES, ABOUT).input(formula(x)).output(to, &[n]), &[n])
}

fn positions(b: &mut Bench, n: u64, to: DType) -> Result<()> {
    // All rows are alike, 1 and -2: the position alone tells them apart.
    let row = Formula { terms: vec![line(1, -3, 1, Some(2))], ..empty(F32, &[n, 1, 2]) };
    let positions = Formula { terms: vec![line(0, 1, 1, Some(97))], ..empty(DType::I32, &[n]) };
    let spec = Spec::new(format!("rows-{n}"), SIZES, ABOUT)
        .inputs([formula(row), formula(positions)])
        .output(to, &[n, 1, 2])
        .param("head_dim", 2)
        .param("theta", 100.0);
    b.add_sampled(spec.clause(clause::NUM_07), &[n, 1, 2])
}

fn partials(b: &mut Bench, n: u64, to: DType) -> Result<()> {
    let partial = |m: i64| {
        let set = [(1, m), (2, 8)];
        let set = set.map(|(first, value)| Set { first, count: n, stride: 3, value }).to_vec();
        formula(Formula { set, ..in_turn(F32, &[n, 3], 3) })
    };
    let spec =
        Spec::new(format!("rows-{n}"), SIZES, ABOUT).inputs([partial(0), partial(3)]).output(to, &[n, 1]);
    b.add_sampled(spec, &[n, 1])
}

fn appended(b: &mut Bench, n: u64, to: DType) -> Result<()> {
    let x = formula(in_turn(F32, &[n, 1, 1], 1));
    let held = formula(empty(to, &[n + 2, 1, 1]));
    let spec = Spec::new(format!("rows-{n}"), SIZES, ABOUT).input(x).cache(held).param("pos", 1);
    b.add_sampled(spec, &[n + 2, 1, 1])
}

/// DEQUANT: a row of groups of one column.
fn groups(b: &mut Bench, n: u64, to: DType) -> Result<()> {
    let q = Formula { set: vec![run(0, n, 1)], ..empty(DType::I8, &[1, n]) };
    let spec = Spec::new(format!("groups-{n}"), SIZES, ABOUT)
        .inputs([formula(q), formula(in_turn(F32, &[1, n], 1))])
        .output(to, &[1, n])
        .param("qdtype", Store::I8.code())
        .param("group", 1);
    b.add_sampled(spec, &[1, n])
}

/// SAMPLE_ARGMAX: rows of three logits; their tokens pick the rows of a table, of which a sample is judged.
fn tokens(b: &mut Bench, n: u64, from: DType) -> Result<()> {
    // Of row r, logit r mod 3 is 3, and the others are 0; 65,536 is no multiple of 3.
    let top = |c: u64| Set { first: 4 * c, count: (n - c).div_ceil(3), stride: 9, value: 3 };
    let logits = Formula { set: (0..3).map(top).collect(), ..empty(from, &[n, 3]) };
    let spec = Spec::new(format!("rows-{n}"), SIZES, ABOUT)
        .input(formula(logits))
        .output(DType::I32, &[n])
        .picking(reals(F32, &[3, 1], vec![1.0, -2.0, 3.0]));
    b.add_sampled(spec, &[n])
}

/// A window with a mask that keeps few of its rows, most of them behind a limit.
struct Masked {
    form: &'static str,
    len: u64,
    limit: u64,
    dtype: DType,
    per_head: bool,
}

/// More rows than 10, 12 and 16 bits count.
const MASKED: [Masked; 9] = [
    Masked { form: "mask-1050", len: 1050, limit: 1 << 10, dtype: DType::Bool, per_head: false },
    Masked { form: "mask-1300", len: 1300, limit: 1 << 10, dtype: F32, per_head: false },
    Masked { form: "mask-2041", len: 2041, limit: 1 << 10, dtype: DType::Bool, per_head: true },
    Masked { form: "mask-4150", len: 4150, limit: 1 << 12, dtype: DType::Bool, per_head: true },
    Masked { form: "mask-4201", len: 4201, limit: 1 << 12, dtype: BF16, per_head: false },
    Masked { form: "mask-5003", len: 5003, limit: 1 << 12, dtype: DType::Bool, per_head: false },
    Masked { form: "mask-65539", len: MOST + 3, limit: MOST, dtype: DType::Bool, per_head: false },
    Masked { form: "mask-65603", len: MOST + 67, limit: MOST, dtype: F16, per_head: true },
    Masked { form: "mask-66537", len: MOST + 1001, limit: MOST, dtype: DType::Bool, per_head: false },
];

/// ATTENTION_TILE: of a long window a mask keeps few rows, most of them behind so many that a number of few bits counts.
fn masked(b: &mut Bench, masked: &Masked, to: DType) -> Result<()> {
    let &Masked { form, len, limit, dtype, per_head } = masked;
    let tile = Tile { heads: 2, dim: 2, start: 1, len, scale: 0.5, ..ONE };
    let seed = |what: &str| b.formula_seed(&format!("{form}-{what}"));
    let heads = if per_head { 2 } else { 1 };
    let shape: &[u64] = if per_head { &[2, len] } else { &[len] };
    let kept =
        |head: u64| [5 + head, 401, limit, limit + 2 - head, len - 1].map(|row| (head * len + row, row));
    // A score of 1000 less weighs nothing.
    let (left_out, value) = if dtype == DType::Bool { (0, 1) } else { (-1000, 0) };
    let set = (0..heads)
        .flat_map(kept)
        .map(|(place, row)| at(place, value + if left_out < 0 { row as i64 % 3 } else { 0 }));
    let mask = Formula { terms: vec![line(left_out, 0, 1, None)], set: set.collect(), ..empty(dtype, shape) };
    let mut x: Vec<Operand> = vec![ordinary(F32, &tile.query(), 1, seed("q"))];
    x.extend(["k", "v"].map(|what| ordinary(F32, &tile.cache(), 1, seed(what))));
    x.push(formula(mask));
    let about = "a mask keeps few rows of a long window, most of them behind a limit";
    b.add_sampled(tile.spec(form, SIZES, about, x, to), &tile.output())
}

fn with_rows(spec: Spec, op: Op, m: u64) -> Spec {
    if op == Op::GemmTile { spec.param("M_tile", m) } else { spec }
}

/// A product to which the columns of K behind the first 65,536 add 3: its sums are small integers, exact in every dtype.
fn columns(b: &mut Bench, op: Op, k: u64, to: DType) -> Result<()> {
    let from = if matches!(to, F16 | BF16) { to } else { F32 };
    let mut w = draws(from, &[1, k], (-1, 1), 0, b.formula_seed(&format!("k-{k}")));
    w.set = vec![run(MOST, 3, 1)];
    let spec =
        Spec::new(format!("k-{k}"), SIZES, "columns of K, more than 16 bits count, of which the last add 3")
            .inputs([formula(sparse(from, &[1, k], 3)), formula(w)])
            .output(to, &[1, 1])
            .param("K", k)
            .param("N_tile", 1)
            .param("n_off", 0);
    b.add_sampled(with_rows(spec, op, 1).clause(clause::NUM_09), &[1, 1])
}

/// Rows of x that repeat after 97.
fn rows(b: &mut Bench, op: Op, m: u64, to: DType) -> Result<()> {
    let x = Formula { exponent: 0, ..in_turn(F32, &[m, 1], 1) };
    let w = formula(Formula { set: vec![run(0, 1, 1)], ..empty(F32, &[1, 1]) });
    let spec = Spec::new(format!("rows-{m}"), SIZES, ABOUT)
        .inputs([formula(x), w])
        .output(to, &[m, 1])
        .param("K", 1)
        .param("N_tile", 1)
        .param("n_off", 0);
    b.add_sampled(with_rows(spec, op, m), &[m, 1])
}

/// Groups of one column; those behind the first 65,536 have another scale.
fn quantised(b: &mut Bench, op: Op, k: u64, to: DType) -> Result<()> {
    let q = Formula { set: vec![run(0, k, 1)], ..empty(DType::I8, &[1, k]) };
    let scales = Formula { set: vec![run(0, MOST, 1), run(MOST, k - MOST, 2)], ..empty(F32, &[1, k]) };
    let spec = Spec::new(format!("groups-{k}"), SIZES, "groups of a row, more than 16 bits count")
        .inputs([formula(sparse(F32, &[1, k], 2)), formula(q), formula(scales)])
        .output(to, &[1, 1])
        .param("K", k)
        .param("N_tile", 1)
        .param("n_off", 0)
        .param("qdtype", Store::I8.code())
        .param("group", 1);
    b.add_sampled(with_rows(spec, op, 1).clause(clause::NUM_09), &[1, 1])
}
