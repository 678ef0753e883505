//! Masks: long ones, whole blocks of rows left out, CAUSAL beside a mask, as many sequences as heads, a NaN in a row that is kept;
//! and lines of SOFTMAX that begin with `-inf`.

use super::super::bench::{Bench, Spec, round};
use super::super::data::{Operand, Values, numel, reals};
use super::some;
use crate::builder::{DType, FLOATS, Op, Result};
use megakernel_ir::rule::clause;

use DType::{BF16, F16, F32};

/// The cases of an opcode.
pub fn fill(b: &mut Bench, op: Op) -> Result<()> {
    match op {
        Op::AttentionTile => attention(b),
        Op::Softmax => softmax(b),
        _ => Ok(()),
    }
}

/// Which rows a mask keeps: the row, of how many, and the head.
type Keeps = fn(u64, u64, u64) -> bool;

/// Blocks of rows that are left out, by name.
const BLOCKS: [(&str, u64, Keeps); 9] = [
    ("first-16", 34, |j, _, _| j >= 16),
    ("first-32", 70, |j, _, _| j >= 32),
    ("first-64", 130, |j, _, _| j >= 64),
    ("first-128", 262, |j, _, _| j >= 128),
    ("middle-16", 50, |j, _, _| !(16..32).contains(&j)),
    ("middle-64", 200, |j, _, _| !(64..128).contains(&j)),
    ("last-32", 96, |j, _, _| j < 64),
    ("all-but-one", 67, |j, _, h| j == 40 + h),
    ("every-other", 65, |j, _, h| (j + h).is_multiple_of(2)),
];

/// How rows are left out.
#[derive(Clone, Copy, PartialEq)]
enum Mask {
    Bool,
    Float(DType),
}

impl Mask {
    fn name(self) -> &'static str {
        if self == Mask::Bool { "bool" } else { "infinite" }
    }

    /// The mask of this shape that keeps these rows.
    fn operand(self, shape: &[u64], keeps: impl Fn(u64, u64) -> bool) -> Operand {
        let len = shape.last().copied().unwrap_or(1);
        let each = (0..numel(shape) as u64).map(|index| keeps(index % len, index / len));
        match self {
            Mask::Bool => {
                let values = Values::Ints(each.map(i64::from).collect());
                Operand { dtype: DType::Bool, shape: shape.to_vec(), values }
            }
            Mask::Float(dtype) => {
                let added = |(index, kept)| if kept { (index % 3) as f64 / 2.0 } else { f64::NEG_INFINITY };
                reals(dtype, shape, each.enumerate().map(added).collect())
            }
        }
    }
}

/// A tile over these caches, with a mask.
#[derive(Clone, Copy)]
struct Tile {
    batch: u64,
    heads: u64,
    start: u64,
    len: u64,
    flags: u64,
}

impl Tile {
    fn spec(self, b: &Bench, form: &str, from: DType, mask: Operand, to: DType) -> Spec {
        let Tile { batch, heads, start, len, flags } = self;
        let with = |shape: &[u64]| -> Vec<u64> {
            (batch > 0).then_some(batch).iter().chain(shape).copied().collect()
        };
        let cache = with(&[start + len, 1, 4]);
        let x = |what: &str, shape: &[u64]| some(b, "masks", &format!("{form}-{what}"), from, shape);
        let y = with(&[heads, if flags & 2 == 0 { 4 } else { 6 }]);
        Spec::new(
            form,
            "masks",
            "rows that a mask leaves out, in places and numbers that implementers do not try",
        )
        .inputs([x("q", &with(&[heads, 4])), x("k", &cache), x("v", &cache), mask])
        .output(to, &y)
        .param("head_dim", 4)
        .param("kv_start", start)
        .param("kv_len", len)
        .param("n_heads", heads)
        .param("n_kv_heads", 1)
        .param("scale", 0.5)
        .param("flags", flags)
    }
}

fn attention(b: &mut Bench) -> Result<()> {
    for (turn, (name, len, keeps)) in BLOCKS.into_iter().enumerate() {
        for (place, &to) in FLOATS.iter().enumerate() {
            let kinds = [Mask::Bool, Mask::Float(if place % 2 == 0 { F32 } else { F16 })];
            for mask in kinds {
                let per_head = (turn + place) % 2 == 0;
                let heads = if per_head { 3 } else { 2 };
                let tile = Tile { batch: 0, heads, start: (turn % 3) as u64, len, flags: 0 };
                let shape: &[u64] = if per_head { &[heads, len] } else { &[len] };
                let operand = mask.operand(shape, |j, h| keeps(j, len, h));
                let form = format!("{name}-{}{}", mask.name(), if per_head { "-heads" } else { "" });
                b.add(tile.spec(b, &form, if turn % 2 == 0 { F32 } else { BF16 }, operand, to))?;
            }
        }
    }
    // More rows than 8 bits and 10 bits count. The mask differs in every row.
    for (form, len, per_head) in [
        ("long-259", 259, false),
        ("long-1027", 1027, false),
        ("long-heads-65", 65, true),
        ("long-heads-261", 261, true),
    ] {
        for &to in FLOATS {
            for mask in [Mask::Bool, Mask::Float(F32)] {
                let heads = 2;
                let tile = Tile { batch: 0, heads, start: 1, len, flags: 0 };
                let shape: &[u64] = if per_head { &[heads, len] } else { &[len] };
                // Few rows are kept, in a pattern of 19 rows, which divides no power of two; some in each head, since 5 and 5 - 4 are squares modulo 19.
                let operand = mask.operand(shape, |j, h| (j * j + 4 * h) % 19 == 5);
                let form = format!("{form}-{}", mask.name());
                b.add(tile.spec(b, &form, F32, operand, to))?;
            }
        }
    }
    for &to in FLOATS {
        // As many sequences as heads: a mask of rank 2 has a row for each sequence.
        for (form, count) in [("sequences-2-heads-2", 2), ("sequences-3-heads-3", 3)] {
            for mask in [Mask::Bool, Mask::Float(F32)] {
                let tile = Tile { batch: count, heads: count, start: 1, len: 6, flags: 0 };
                let operand = mask.operand(&[count, 6], |j, s| (j + s) % 3 != 0);
                let form = format!("{form}-{}", mask.name());
                b.add(tile.spec(b, &form, F32, operand, to).clause(clause::NUM_10))?;
            }
        }
        for (form, batch, len) in [("causal", 0, 7), ("causal-long", 0, 40), ("causal-sequences", 2, 7)] {
            for mask in [Mask::Bool, Mask::Float(F32)] {
                let tile = Tile { batch, heads: 3, start: 2, len, flags: 1 };
                let rows: u64 = if batch == 0 { 3 } else { batch };
                let operand = mask.operand(&[rows, len], |j, h| j > h || j + 1 == len);
                let form = format!("{form}-{}", mask.name());
                b.add(tile.spec(b, &form, F32, operand, to))?;
            }
        }
        // A NaN in the keys of a row that is kept makes every head NaN; in a row that is left out, none.
        for (form, row) in [("nan-kept-first", 0), ("nan-kept-last", 5), ("nan-kept", 2), ("nan-left-out", 3)]
        {
            let tile = Tile { batch: 0, heads: 2, start: 0, len: 6, flags: 0 };
            let operand = Mask::Bool.operand(&[6], |j, _| j != 3);
            let mut k = some(b, "masks", "nan-keys", F32, &[6, 1, 4]);
            if let Values::Reals(values) = &mut k.values {
                values.iter_mut().skip(4 * row).take(1).for_each(|value| *value = f64::NAN);
            }
            let spec = tile.spec(b, form, F32, operand.clone(), to).replaced(1, k);
            let spec = if row == 3 { spec } else { spec.known(Values::Reals(vec![f64::NAN; 8])) };
            b.add(spec.clause(clause::NUM_03))?;
        }
    }
    // Partials of windows of which blocks or all rows are left out.
    for (name, len, keeps) in BLOCKS {
        for mask in [Mask::Bool, Mask::Float(F32)] {
            let tile = Tile { batch: 0, heads: 2, start: 1, len, flags: 2 };
            let operand = mask.operand(&[2, len], |j, h| keeps(j, len, h));
            b.add(tile.spec(b, &format!("{name}-{}-partial", mask.name()), F32, operand, F32))?;
        }
    }
    for (form, keeps) in
        [("none", (|_, _| false) as fn(u64, u64) -> bool), ("none-of-one-head", |_, h| h == 1)]
    {
        for mask in [Mask::Bool, Mask::Float(F32), Mask::Float(BF16)] {
            let tile = Tile { batch: 0, heads: 2, start: 1, len: 33, flags: 2 };
            let operand = mask.operand(&[2, 33], keeps);
            b.add(tile.spec(b, &format!("{form}-{}-partial", mask.name()), F32, operand, F32))?;
        }
    }
    // Partials of a head length that is odd, of several heads.
    for from in [F32, F16, BF16] {
        for (form, heads, dim) in [("odd-2x3", 2, 3), ("odd-3x5", 3, 5), ("odd-4x1", 4, 1)] {
            let x = |what: &str, shape: &[u64]| some(b, "masks", &format!("{form}-{what}"), from, shape);
            let spec = Spec::new(form, "partial", "a partial with a head of odd length, of several heads")
                .inputs([x("q", &[heads, dim]), x("k", &[4, 1, dim]), x("v", &[4, 1, dim])])
                .output(F32, &[heads, dim + 2])
                .param("head_dim", dim)
                .param("kv_start", 0)
                .param("kv_len", 4)
                .param("n_heads", heads)
                .param("n_kv_heads", 1)
                .param("scale", 0.5)
                .param("flags", 2);
            b.add(spec)?;
        }
    }
    Ok(())
}

/// Lines whose first block of elements is `-inf`, or one in the middle.
fn softmax(b: &mut Bench) -> Result<()> {
    for (turn, (form, len, keeps)) in BLOCKS.into_iter().enumerate() {
        for (from, to) in round(turn).filter(|(from, _)| *from != DType::F8E4M3) {
            let mut x = some(b, "masks", form, from, &[2, len]);
            if let Values::Reals(values) = &mut x.values {
                let places = values.iter_mut().enumerate();
                places.filter(|(i, _)| !keeps(*i as u64 % len, len, *i as u64 / len)).for_each(
                    |(_, value)| {
                        *value = f64::NEG_INFINITY;
                    },
                );
            }
            let about = "whole blocks of a line are -inf, the first among them";
            b.add(Spec::new(form, "masks", about).input(x).output(to, &[2, len]))?;
        }
    }
    for (form, block, len) in [("first-33", 33, 41), ("first-65", 65, 70), ("first-100", 100, 103)] {
        for from in [F32, BF16] {
            for &to in FLOATS {
                let mut x = some(b, "masks", form, from, &[2, len]);
                if let Values::Reals(values) = &mut x.values {
                    let lines = values.chunks_mut(len as usize);
                    lines.for_each(|line| line.iter_mut().take(block).for_each(|x| *x = f64::NEG_INFINITY));
                }
                let about = "the beginning of a line is -inf, and few elements are behind it";
                b.add(Spec::new(form, "masks", about).input(x).output(to, &[2, len]))?;
            }
        }
    }
    Ok(())
}
