//! Buffers of rank 0, and of other ranks than the usual ones.

use super::super::bench::{Bench, Spec, every, round};
use super::super::data::{Operand, Values, ints, reals};
use super::{count, pairs, some};
use crate::builder::{DType, Op, Result, is_unary};
use megakernel_ir::rule::clause;

const SCALAR: &str = "scalar";
const RANKS: &str = "ranks";

const OF_RANK_0: &str = "buffers of rank 0, which have one element";
const OF_OTHERS: &str = "operands of other ranks than the usual ones";

/// The cases of an opcode.
pub fn fill(b: &mut Bench, op: Op) -> Result<()> {
    for (from, to) in pairs(op, every()) {
        for (form, spec) in scalars(b, op, from, to) {
            let spec = spec(Spec::new(form, SCALAR, OF_RANK_0));
            b.add(spec.clause(clause::DAT_03))?;
        }
    }
    for (from, to) in pairs(op, round(0)) {
        for (form, spec) in others(b, op, from, to) {
            b.add(spec(Spec::new(form, RANKS, OF_OTHERS)))?;
        }
    }
    Ok(())
}

/// What is added to an empty case.
type Fill = Box<dyn Fn(Spec) -> Spec>;

/// A form by its inputs, its output and its parameters.
fn form(
    name: &'static str,
    inputs: Vec<Operand>,
    (to, shape): (DType, &[u64]),
    params: &[(&'static str, f64)],
) -> (&'static str, Fill) {
    let (shape, params) = (shape.to_vec(), params.to_vec());
    let fill = move |spec: Spec| {
        let spec = spec.inputs(inputs.clone()).output(to, &shape);
        params.iter().fold(spec, |spec, &(key, value)| match key {
            "eps" | "theta" | "scale" => spec.param(key, value),
            _ => spec.param(key, value as i64),
        })
    };
    (name, Box::new(fill))
}

fn scalars(b: &Bench, op: Op, from: DType, to: DType) -> Vec<(&'static str, Fill)> {
    let one = |value: f64, shape: &[u64]| reals(from, shape, vec![value]);
    let unary = |value: f64| vec![form("scalar", vec![one(value, &[])], (to, &[]), &[])];
    let binary = |a: f64, b: f64| vec![form("scalar", vec![one(a, &[]), one(b, &[])], (to, &[]), &[])];
    match op {
        Op::Copy => vec![
            form("scalar", vec![one(-1.5, &[])], (to, &[]), &[]),
            form("from-scalar", vec![one(1.75, &[])], (to, &[1, 1]), &[]),
            form("to-scalar", vec![one(0.5, &[1])], (to, &[]), &[]),
        ],
        Op::Embed => {
            let ids = ints(DType::I32, &[], vec![2]);
            vec![form(
                "scalar",
                vec![ids, some(b, SCALAR, "table", from, &[4, 5])],
                (to, &[5]),
                &[("hidden", 5.0)],
            )]
        }
        Op::RmsNorm => {
            let inputs = vec![one(1.5, &[1]), one(-2.0, &[])];
            vec![form("scalar-weight", inputs, (to, &[1]), &[("hidden", 1.0), ("eps", 0.5)])]
        }
        Op::LayerNorm => {
            let inputs = vec![one(1.5, &[]), one(-2.0, &[]), one(0.75, &[])];
            vec![form("scalar", inputs, (to, &[]), &[("hidden", 1.0), ("eps", 0.5)])]
        }
        Op::GemvTile => {
            let inputs =
                vec![some(b, SCALAR, "x", from, &[3, 4]), some(b, SCALAR, "w", from, &[1, 4]), one(2.5, &[])];
            let params = [("K", 4.0), ("N_tile", 1.0), ("n_off", 0.0)];
            vec![form("scalar-bias", inputs, (to, &[3, 1]), &params)]
        }
        Op::GemmTile => {
            let inputs =
                vec![some(b, SCALAR, "x", from, &[3, 4]), some(b, SCALAR, "w", from, &[1, 4]), one(2.5, &[])];
            let params = [("K", 4.0), ("N_tile", 1.0), ("n_off", 0.0), ("M_tile", 3.0)];
            vec![form("scalar-bias", inputs, (to, &[3, 1]), &params)]
        }
        Op::Rope => {
            let inputs = vec![some(b, SCALAR, "x", from, &[2, 4]), ints(DType::I32, &[], vec![3])];
            vec![form("scalar-position", inputs, (to, &[2, 4]), &[("head_dim", 4.0), ("theta", 100.0)])]
        }
        Op::SiluMul => binary(1.5, -2.0),
        Op::Add => binary(1.5, 0.25),
        Op::Mul => binary(1.5, -2.0),
        Op::AllreduceShard => {
            let shards = [1.5, -0.5, 2.0].map(|value| one(value, &[])).to_vec();
            let alone = form("scalar-1", vec![one(1.25, &[])], (to, &[]), &[]);
            vec![form("scalar-3", shards, (to, &[]), &[]), alone]
        }
        Op::KvAppend => {
            let (new, cache) = (one(1.5, &[]), reals(to, &[4, 1, 1], vec![2.0, 3.0, 4.0, 6.0]));
            let fill = move |spec: Spec| spec.input(new.clone()).cache(cache.clone()).param("pos", 2);
            vec![("scalar", Box::new(fill) as Fill)]
        }
        Op::SampleArgmax => {
            let logits = reals(from, &[8], vec![1.0, -2.0, 0.5, 1.5, 0.0, 3.0, 2.0, -1.0]);
            let fill = move |spec: Spec| {
                spec.input(logits.clone()).output(DType::I32, &[]).known(Values::Ints(vec![5]))
            };
            vec![("scalar", Box::new(fill) as Fill)]
        }
        _ if is_unary(op) => unary(1.5),
        _ => Vec::new(),
    }
}

fn others(b: &Bench, op: Op, from: DType, to: DType) -> Vec<(&'static str, Fill)> {
    let x = |what: &str, shape: &[u64]| some(b, RANKS, what, from, shape);
    let norm = [("hidden", 8.0), ("eps", 0.25)];
    match op {
        Op::Copy => vec![form("rank-4", vec![x("x", &[2, 2, 2, 3])], (to, &[6, 4]), &[])],
        Op::Embed => {
            // The first id of a later row of ids is that of the last row of the table.
            let ids = ints(DType::I32, &[2, 2], vec![1, 3, 3, 0]);
            let more = ints(DType::I32, &[2, 1, 3], vec![1, 3, 2, 3, 3, 0]);
            vec![
                form("ids-2x2", vec![ids, x("table", &[4, 5])], (to, &[2, 2, 5]), &[("hidden", 5.0)]),
                form("ids-2x1x3", vec![more, x("table", &[4, 5])], (to, &[6, 5]), &[("hidden", 5.0)]),
            ]
        }
        Op::RmsNorm => vec![
            form("weight-2x4", vec![x("x", &[3, 8]), x("w", &[2, 4])], (to, &[3, 8]), &norm),
            form("rank-4", vec![x("x", &[2, 2, 2, 8]), x("w", &[8])], (to, &[2, 2, 2, 8]), &norm),
            form("rank-1", vec![x("x", &[8]), x("w", &[1, 8, 1])], (to, &[8]), &norm),
        ],
        Op::LayerNorm => vec![
            form("bias-2x4", vec![x("x", &[3, 8]), x("w", &[8]), x("b", &[2, 4])], (to, &[3, 8]), &norm),
            form("weight-2x4", vec![x("x", &[3, 8]), x("w", &[2, 4])], (to, &[3, 8]), &norm),
            form(
                "several-axes",
                vec![x("x", &[3, 2, 4]), x("w", &[8]), x("b", &[8])],
                (to, &[3, 2, 4]),
                &norm,
            ),
            form(
                "three-axes",
                vec![x("x", &[2, 2, 2, 2]), x("w", &[8]), x("b", &[8])],
                (to, &[2, 2, 2, 2]),
                &norm,
            ),
            form("one-run", vec![x("x", &[2, 4]), x("w", &[8]), x("b", &[8])], (to, &[2, 4]), &norm),
            form(
                "rank-4",
                vec![x("x", &[2, 2, 2, 8]), x("w", &[8]), x("b", &[8])],
                (to, &[2, 2, 2, 8]),
                &norm,
            ),
        ],
        Op::GemvTile => {
            let params = [("K", 4.0), ("N_tile", 5.0), ("n_off", 0.0)];
            let rows = vec![x("x", &[6, 4]), x("w", &[5, 4])];
            let tiles = vec![x("x", &[6, 4]), x("w", &[8, 4]), x("bias", &[2, 4])];
            vec![
                form("rows-to-2x3", rows, (to, &[2, 3, 5]), &params),
                form("from-2x3", vec![x("x", &[2, 3, 4]), x("w", &[5, 4])], (to, &[6, 5]), &params),
                tiled("bias-2x4", tiles.clone(), to, None),
                tiled("bias-4x2", with_bias(b, tiles, from), to, None),
            ]
        }
        Op::GemmTile => {
            let tiles = vec![x("x", &[6, 4]), x("w", &[8, 4]), x("bias", &[2, 4])];
            vec![
                tiled("bias-2x4", tiles.clone(), to, Some(3)),
                tiled("bias-4x2", with_bias(b, tiles, from), to, Some(3)),
            ]
        }
        Op::Rope => {
            let params = [("head_dim", 4.0), ("theta", 100.0)];
            let row = vec![x("x", &[3, 2, 4]), count(3, &[1, 3])];
            let cube = vec![x("x", &[3, 2, 4]), count(3, &[1, 3, 1])];
            let column = vec![x("x", &[3, 2, 4]), count(3, &[3, 1])];
            vec![
                form("positions-1x3", row, (to, &[3, 2, 4]), &params),
                form("positions-1x3x1", cube, (to, &[3, 2, 4]), &params),
                form("positions-3x1", column, (to, &[3, 2, 4]), &params),
            ]
        }
        Op::SiluMul | Op::Add | Op::Mul => {
            let inputs = vec![x("a", &[2, 2, 2, 2]), x("b", &[2, 2, 2, 2])];
            vec![form("rank-4", inputs, (to, &[2, 2, 2, 2]), &[])]
        }
        Op::AllreduceShard => {
            let shards = ["a", "b", "c"].map(|name| x(name, &[2, 2, 2, 2])).to_vec();
            vec![form("rank-4", shards, (to, &[2, 2, 2, 2]), &[])]
        }
        Op::Softmax => {
            let axes = [("axis-0", 0.0), ("axis-1", 1.0), ("axis-2", 2.0), ("axis-3", 3.0)];
            let back = [("axis-back-2", -2.0), ("axis-back-3", -3.0), ("axis-back-4", -4.0)];
            let all = axes.into_iter().chain(back);
            all.map(|(name, dim)| {
                form(name, vec![x("x", &[2, 3, 4, 5])], (to, &[2, 3, 4, 5]), &[("dim", dim)])
            })
            .collect()
        }
        Op::SampleArgmax => vec![
            form("rank-3", vec![x("x", &[2, 2, 8])], (to, &[4]), &[]),
            form("rank-4", vec![x("x", &[2, 1, 3, 8])], (to, &[2, 3]), &[]),
        ],
        _ if is_unary(op) => vec![form("rank-4", vec![x("x", &[2, 2, 2, 2])], (to, &[2, 2, 2, 2]), &[])],
        _ => Vec::new(),
    }
}

/// The same operands with a bias of four rows.
fn with_bias(b: &Bench, mut operands: Vec<Operand>, from: DType) -> Vec<Operand> {
    operands.pop();
    operands.push(some(b, RANKS, "bias", from, &[4, 2]));
    operands
}

/// A product in two tiles of 4 columns, and of these rows each.
fn tiled(name: &'static str, inputs: Vec<Operand>, to: DType, rows: Option<u64>) -> (&'static str, Fill) {
    let fill = move |spec: Spec| {
        let mut spec = spec.inputs(inputs.clone()).output(to, &[6, 8]).param("K", 4).param("N_tile", 4);
        if let Some(rows) = rows {
            spec = spec.param("M_tile", rows);
        }
        for n_off in [0, 4] {
            spec = match rows {
                None => spec.tile(&[("n_off", n_off)]),
                Some(rows) => {
                    spec.tile(&[("n_off", n_off), ("m_off", 0)]).tile(&[("n_off", n_off), ("m_off", rows)])
                }
            };
        }
        spec
    };
    (name, Box::new(fill))
}
