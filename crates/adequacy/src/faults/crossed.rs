//! Where two axes cross: ranks, dtypes of one width, storage that is shared, one buffer as several inputs, parameters that an opcode does
//! not have, numbers written in unusual ways.

use megakernel_ir::{BufferKind, DType, Opcode, Param};
use megakernel_numerics::{decode, encode};

use super::{FLOATS, Fault, I32, MATRIX, WRITE_FLOATS, and, round};
use crate::kernels::{Kernels, Plain};
use crate::memory::{Buffer, Elements};
use crate::parts::{Given, Site};

const ARGMAX: &[Opcode] = &[Opcode::SampleArgmax];
const ATTENTION: &[Opcode] = &[Opcode::AttentionTile];
const COMBINE: &[Opcode] = &[Opcode::AttentionCombine];
const EMBED: &[Opcode] = &[Opcode::Embed];
const EPS: &[Opcode] = &[Opcode::RmsNorm, Opcode::LayerNorm];
const GELU: &[Opcode] = &[Opcode::Gelu];
const GEMV: &[Opcode] = &[Opcode::GemvTile];
/// Opcodes whose result may stand in the place of an operand.
const IN_PLACE: &[Opcode] = Opcode::IN_PLACE;
const LAYER: &[Opcode] = &[Opcode::LayerNorm];
const MUL: &[Opcode] = &[Opcode::Mul];
const RMS: &[Opcode] = &[Opcode::RmsNorm];
const ROPE: &[Opcode] = &[Opcode::Rope];
/// Opcodes that may write a buffer of rank 0.
const SCALAR: &[Opcode] = &and::<{ Opcode::IN_PLACE.len() + 1 }>(Opcode::IN_PLACE, Opcode::LayerNorm);
/// Opcodes with several operands of one shape.
const SEVERAL: &[Opcode] = &[Opcode::SiluMul, Opcode::Add, Opcode::Mul, Opcode::AllreduceShard];
const SHARDS: &[Opcode] = &[Opcode::AllreduceShard];
const SILU: &[Opcode] = &[Opcode::SiluMul];
const SOFTMAX: &[Opcode] = &[Opcode::Softmax];
/// Opcodes whose operands may have several dtypes.
const WIDTHS: &[Opcode] = &[
    Opcode::RmsNorm,
    Opcode::LayerNorm,
    Opcode::GemvTile,
    Opcode::GemmTile,
    Opcode::AttentionTile,
    Opcode::SiluMul,
    Opcode::Add,
    Opcode::Mul,
    Opcode::AllreduceShard,
];
/// Dtypes that tell an infinity from a NaN.
const WITH_INFINITY: &[DType] = &[DType::F32, DType::F16, DType::BF16, DType::F8E5M2];
const SAME: &str = "F8E4M3 holds a NaN in either case";

/// Whether a task computes one of these.
fn is_of(given: &Given<'_, '_>, opcodes: &[Opcode]) -> bool {
    opcodes.contains(&given.task.op)
}

/// The bits of an element as another dtype reads them.
fn misread(stored: DType, read: DType, element: f32) -> f32 {
    decode(read, encode(stored, f64::from(element))) as f32
}

/// Reads an operand as another dtype of its width.
fn misread_operand(given: &mut Given<'_, '_>, index: usize, read: DType) {
    let stored = given.inputs.get(index).map(|buffer| buffer.dtype).filter(|stored| stored.is_float());
    if let Some(stored) =
        stored.filter(|&stored| read.is_float() && stored != read && stored.nbytes(2) == read.nbytes(2))
    {
        given.change(index, |_, element| misread(stored, read, element));
    }
}

/// Operand `index` in the place of operand `of`.
fn replace(given: &mut Given<'_, '_>, of: usize, index: usize) {
    if let (Some(other), Some(place)) = (given.inputs.get(index).cloned(), given.inputs.get_mut(of)) {
        *place = Buffer { elements: other.elements, dtype: other.dtype, ..place.clone() };
    }
}

/// Whether operand `index` is the buffer of one before it.
fn comes_again(given: &Given<'_, '_>, index: usize) -> bool {
    let before = given.task.inputs.get(..index).unwrap_or_default();
    given.task.inputs.get(index).is_some_and(|id| before.contains(id))
}

/// Reads an operand of several axes by the last of these extents alone.
fn by_last_axis(given: &mut Given<'_, '_>, index: usize, last: usize) {
    let Some(Buffer { elements: Elements::Reals(reals), .. }) = given.inputs.get(index).cloned() else {
        return;
    };
    given.change(index, |place, element| reals.get(place % last.max(1)).copied().unwrap_or(element));
}

/// The last extent of operand `index`, if it has several axes.
fn last_of_several(given: &Given<'_, '_>, index: usize) -> Option<usize> {
    let shape = &given.inputs.get(index)?.shape;
    (shape.len() > 1).then(|| shape.last().copied()).flatten()
}

faults! {
    "rank-0-not-written": "does not write an output of rank 0", SCALAR, FLOATS {
        fn skips(&self, given: &Given<'_, '_>) -> bool {
            is_of(given, SCALAR) && given.output().is_some_and(|buffer| buffer.shape.is_empty())
        }
    }

    "rank-0-tokens-not-written": "does not write an output of rank 0", ARGMAX, I32 {
        fn skips(&self, given: &Given<'_, '_>) -> bool {
            is_of(given, ARGMAX) && given.output().is_some_and(|buffer| buffer.shape.is_empty())
        }
    }

    "rank-0-zero": "takes 0 for an operand of rank 0", WRITE_FLOATS, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            for index in 0..given.inputs.len() {
                if given.buffer(index).is_some_and(|buffer| buffer.shape.is_empty()) {
                    given.change(index, |_, _| 0.0);
                    if let Some(Elements::Ints(ints)) = given.inputs.get_mut(index).map(|buffer| &mut buffer.elements) {
                        *ints = std::sync::Arc::new(vec![0]);
                    }
                }
            }
        }
    }

    "in-place-first-operand": "takes the first operand for a later one in whose place the result stands", SEVERAL, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            for index in 1..given.inputs.len() {
                if is_of(given, SEVERAL) && given.is_in_place(index) {
                    replace(given, index, 0);
                }
            }
        }
    }

    "page-first-operand": "takes the first operand for a later one on whose page the result is", SEVERAL, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            for index in 1..given.inputs.len() {
                if is_of(given, SEVERAL) && given.is_on_its_page(index) {
                    replace(given, index, 0);
                }
            }
        }
    }

    "page-cleared": "clears the page of the result before it reads an operand that is on it", IN_PLACE, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            for index in 0..given.inputs.len() {
                if given.is_on_its_page(index) {
                    given.change(index, |_, _| 0.0);
                }
            }
        }
    }

    "one-buffer-once": "counts a buffer that is several inputs once", SHARDS, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            for index in 1..given.inputs.len() {
                if is_of(given, SHARDS) && comes_again(given, index) {
                    given.change(index, |_, _| 0.0);
                }
            }
        }
    }

    "one-partial-once": "counts a partial that is several inputs once", COMBINE, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            for index in 1..given.inputs.len() {
                if is_of(given, COMBINE) && comes_again(given, index) {
                    given.change(index, |_, _| 0.0);
                }
            }
        }
    }

    "bias-of-x-dropped": "leaves out a bias that is the buffer of x", MATRIX, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            if is_of(given, MATRIX) && given.task.inputs.len() == 3 && given.task.inputs.first() == given.task.inputs.get(2) {
                given.change(2, |_, _| 0.0);
            }
        }
    }

    "norm-operands-by-axis": "reads a weight or bias of several axes by its last one", EPS, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            for index in 1..given.inputs.len() {
                if let Some(last) = last_of_several(given, index).filter(|_| is_of(given, EPS)) {
                    by_last_axis(given, index, last);
                }
            }
        }
    }

    "bias-by-axis": "reads a bias of several axes by its last one", MATRIX, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            let plain = is_of(given, MATRIX) && given.params.get(Param::QDType).is_none();
            if let Some(last) = last_of_several(given, 2).filter(|_| plain) {
                by_last_axis(given, 2, last);
            }
        }
    }

    "layer-bias-of-axis": "reads the bias by the last axis of x where a run spans several", LAYER, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            if let Some(last) = last_of_several(given, 0).filter(|_| is_of(given, LAYER)) {
                by_last_axis(given, 2, last);
            }
        }
    }

    "positions-of-axes": "takes the first of positions of several axes for all", ROPE, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            let several = is_of(given, ROPE) && last_of_several(given, 1).is_some();
            if let Some(Elements::Ints(ints)) =
                given.inputs.get_mut(1).filter(|_| several).map(|buffer| &mut buffer.elements)
            {
                *ints = std::sync::Arc::new(vec![ints.first().copied().unwrap_or_default(); ints.len()]);
            }
        }
    }

    "softmax-of-4-axes": "takes the last of four axes where `dim` counts from the last", SOFTMAX, FLOATS {
        fn axis(&self, dim: i64, rank: usize) -> usize {
            Plain.axis(if rank == 4 && dim < 0 { -1 } else { dim }, rank)
        }
    }

    "dtype-of-first": "reads operands by the dtype of the first one, where it has their width", WIDTHS, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            let Some(first) = given.inputs.first().map(|buffer| buffer.dtype).filter(|_| is_of(given, WIDTHS)) else {
                return;
            };
            for index in 1..given.inputs.len() {
                misread_operand(given, index, first);
            }
        }
    }

    "operands-in-first": "rounds operands to the dtype of the first one", WIDTHS, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            let first = given.inputs.first().map(|buffer| buffer.dtype);
            let Some(first) = first.filter(|first| first.is_float() && is_of(given, WIDTHS)) else { return };
            for index in 1..given.inputs.len() {
                given.change(index, |_, element| round(first, f64::from(element)) as f32);
            }
        }
    }

    "zeros-in-x": "rounds zero points to the dtype of x", MATRIX, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            if let Some(x) = given.inputs.first().map(|buffer| buffer.dtype).filter(|_| is_of(given, MATRIX)) {
                given.change(3, |_, element| round(x, f64::from(element)) as f32);
            }
        }
    }

    "constants-last-dropped": "takes 0 for the last element of a CONST", WRITE_FLOATS, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            for index in 0..given.inputs.len() {
                let last = given.inputs.get(index).map_or(0, |buffer| buffer.len().saturating_sub(1));
                if given.buffer(index).is_some_and(|buffer| buffer.kind == BufferKind::Const) {
                    given.change(index, |place, element| if place == last { 0.0 } else { element });
                }
            }
        }
    }

    "scale-of-all": "multiplies an operand by `scale`, which the opcode does not have", WRITE_FLOATS, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            let single = given.task.op == Opcode::Mul && given.inputs.len() == 1;
            let Some(scale) = given.params.real(Param::Scale) else { return };
            if given.task.op != Opcode::AttentionTile && !single {
                // The second operand, but for positions, and for a cache, of which nothing is read.
                let second = given.inputs.len() > 1 && !matches!(given.task.op, Opcode::Rope | Opcode::KvAppend);
                given.change(usize::from(second), |_, element| element * scale as f32);
            }
        }
    }

    "vocab-of-table": "takes zeros for rows of a table from `vocab` on", EMBED, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            let (op, vocab) = (given.task.op, given.int(Param::Vocab));
            let Some(rows) = given.inputs.get(1).and_then(|table| table.shape.first().copied()) else { return };
            if let Some(vocab) = vocab.filter(|_| op == Opcode::Embed) {
                let width = given.inputs.get(1).map_or(1, Buffer::len) / rows.max(1);
                given.change(1, |place, element| if (place / width.max(1)) as i64 >= vocab { 0.0 } else { element });
            }
        }
    }

    "vocab-of-logits": "looks at the first `vocab` logits of a row", ARGMAX, I32 {
        fn given(&self, given: &mut Given<'_, '_>) {
            let (op, vocab) = (given.task.op, given.int(Param::Vocab));
            let Some(width) = given.inputs.first().and_then(|logits| logits.shape.last().copied()) else { return };
            if let Some(vocab) = vocab.filter(|_| op == Opcode::SampleArgmax) {
                let beyond = |place: usize| (place % width.max(1)) as i64 >= vocab;
                given.change(0, |place, element| if beyond(place) { f32::NEG_INFINITY } else { element });
            }
        }
    }

    "m-off-of-gemv": "begins at the row `m_off` of x, which GEMV_TILE does not have", GEMV, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            if given.task.op == Opcode::GemvTile
                && let (Some(first), Some(k)) = (given.int(Param::MOff), given.int(Param::K))
            {
                given.change(0, |place, element| if (place as i64) < first * k { 0.0 } else { element });
            }
        }
    }

    "m-tile-of-gemv": "stops after `M_tile` rows of x, which GEMV_TILE does not have", GEMV, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            if given.task.op == Opcode::GemvTile
                && let (Some(rows), Some(k)) = (given.int(Param::MTile), given.int(Param::K))
            {
                given.change(0, |place, element| if (place as i64) >= rows * k { 0.0 } else { element });
            }
        }
    }

    "group-without-qdtype": "halves the weights of a plain product with `group`", MATRIX, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            let plain = is_of(given, MATRIX) && given.params.get(Param::QDType).is_none();
            if plain && given.int(Param::Group).is_some() {
                given.change(1, |_, element| element / 2.0);
            }
        }
    }

    "heads-of-rope": "takes zeros for heads from `n_heads` on", ROPE, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            let shape = given.inputs.first().map(|x| x.shape.clone()).unwrap_or_default();
            if let (Opcode::Rope, Some(limit), [.., heads, head_dim]) = (given.task.op, given.int(Param::NHeads), &shape[..]) {
                let head = |place: usize| (place / head_dim.max(&1) % heads.max(&1)) as i64;
                given.change(0, |place, element| if head(place) >= limit { 0.0 } else { element });
            }
        }
    }

    "heads-of-combine": "merges the first `n_heads` rows, which ATTENTION_COMBINE does not have", COMBINE, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            let (op, limit) = (given.task.op, given.int(Param::NHeads));
            let Some(limit) = limit.filter(|_| op == Opcode::AttentionCombine) else { return };
            for index in 0..given.inputs.len() {
                let width = given.inputs.get(index).and_then(|partial| partial.shape.last().copied()).unwrap_or(1);
                given.change(index, |place, x| if (place / width.max(1)) as i64 >= limit { 0.0 } else { x });
            }
        }
    }

    "gelu-in-place-cleared": "clears the result before it reads an operand in whose place it stands", GELU, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            if is_of(given, GELU) && given.is_in_place(0) {
                given.change(0, |_, _| 0.0);
            }
        }
    }

    "eps-whole-ignored": "takes 0 for an eps that is written without fraction and exponent", EPS, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            if is_of(given, EPS) && given.is_written_whole(Param::Eps) {
                given.set(Param::Eps, 0.0);
            }
        }
    }

    "scale-whole-ignored": "takes 1 for a `scale` that is written without fraction and exponent", MUL, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            if is_of(given, MUL) && given.is_written_whole(Param::Scale) {
                given.set(Param::Scale, 1.0);
            }
        }
    }

    "score-scale-whole-ignored": "takes 1 for a `scale` that is written without fraction and exponent", ATTENTION, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            if is_of(given, ATTENTION) && given.is_written_whole(Param::Scale) {
                given.set(Param::Scale, 1.0);
            }
        }
    }

    "theta-whole-ignored": "takes 10000 for a `theta` that is written without fraction and exponent", ROPE, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            if is_of(given, ROPE) && given.is_written_whole(Param::Theta) {
                given.set(Param::Theta, 10_000.0);
            }
        }
    }

    "mul-scale-most": "takes at most 1e30 for `scale`", MUL, FLOATS {
        fn scaled(&self, a: f64, scale: f64) -> f64 {
            self.mul(a, scale.min(1e30))
        }
    }

    "mul-scale-subnormal": "takes 0 for a subnormal `scale`", MUL, FLOATS {
        fn scaled(&self, a: f64, scale: f64) -> f64 {
            self.mul(a, if (scale as f32).is_subnormal() { 0.0 } else { scale })
        }
    }

    "score-scale-subnormal": "takes 0 for a subnormal `scale`", ATTENTION, FLOATS {
        fn score(&self, q: &[f32], k: &[f32], scale: f64) -> f64 {
            Plain.score(q, k, if (scale as f32).is_subnormal() { 0.0 } else { scale })
        }
    }

    "rms-weight-zero": "takes 0 for an element whose weight is 0, also in a row with a NaN", RMS, FLOATS {
        fn rms_element(&self, x: f64, factor: f64, w: f64, output: DType) -> f64 {
            if w == 0.0 { 0.0 } else { Plain.rms_element(x, factor, w, output) }
        }
    }

    "rms-floor-1e-30": "takes at least 1e-30 for the mean of squares and eps", RMS, FLOATS {
        fn rms_factor(&self, mean_square: f64, eps: f64, _: usize) -> f64 {
            let sum = self.add(mean_square, eps);
            self.inverse_root(if sum < 1e-30 && sum > 0.0 { 1e-30 } else { sum })
        }
    }

    "silu-tiny-gate": "takes NaN for a gate close to 0 beside an infinite up", SILU, WITH_INFINITY, SAME {
        fn silu_mul(&self, gate: f64, up: f64, output: DType) -> f64 {
            let tiny = gate.abs() < 1e-30 && up.is_infinite();
            if tiny { f64::NAN } else { Plain.silu_mul(gate, up, output) }
        }
    }

    "bias-cannot-cancel": "takes the product where it is infinite, whatever the bias", MATRIX, WITH_INFINITY, SAME {
        fn with_bias(&self, product: f64, bias: f64, _: usize, _: DType) -> f64 {
            if product.is_infinite() { product } else { self.add(product, bias) }
        }
    }

    "late-shards-finite": "leaves out what is not finite from the fifth shard on", SHARDS, FLOATS {
        fn all_reduce(&self, shards: &[f32], _: DType) -> f64 {
            let terms = shards.iter().enumerate().filter(|(shard, term)| *shard < 4 || term.is_finite());
            self.sum(Site::Shards, &terms.map(|(_, &term)| term).collect::<Vec<f32>>())
        }
    }
}
