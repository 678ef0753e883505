//! What goes wrong where more is counted than 10, 12 or 16 bits hold.

use std::ops::Range;
use std::sync::Arc;

use megakernel_ir::{DType, Opcode, Param};

use super::{FLOATS, Fault, I32, MATRIX, QUANTISED};
use crate::kernels::{Kernels, Plain};
use crate::memory::{Buffer, Elements};
use crate::parts::{Given, Site, Tile, tiles};

const ARGMAX: &[Opcode] = &[Opcode::SampleArgmax];
const ATTENTION: &[Opcode] = &[Opcode::AttentionTile];
const GEMM: &[Opcode] = &[Opcode::GemmTile];
/// Opcodes that go over rows.
const LINES: &[Opcode] = &[
    Opcode::Embed,
    Opcode::RmsNorm,
    Opcode::LayerNorm,
    Opcode::Softmax,
    Opcode::Rope,
    Opcode::AttentionCombine,
    Opcode::KvAppend,
];
/// Opcodes whose elements depend on a whole line.
const LONG: &[Opcode] = &[Opcode::RmsNorm, Opcode::LayerNorm, Opcode::Softmax];

/// What 16 bits count.
const MOST: usize = 1 << 16;

/// Reads another element of an operand for each: `from` gets places.
pub(super) fn reread(buffer: &mut Buffer, from: impl Fn(usize) -> usize) {
    match &mut buffer.elements {
        Elements::Reals(reals) => {
            let read = |place: usize| reals.get(from(place)).or(reals.get(place)).copied();
            *reals = Arc::new((0..reals.len()).filter_map(read).collect());
        }
        Elements::Ints(ints) => {
            let read = |place: usize| ints.get(from(place)).or(ints.get(place)).copied();
            *ints = Arc::new((0..ints.len()).filter_map(read).collect());
        }
    }
}

/// Counts the columns of a mask modulo so many.
pub(super) fn mask_modulo(given: &mut Given<'_, '_>, most: usize) {
    if given.task.op == Opcode::AttentionTile
        && let Some(mask) = given.inputs.get_mut(3)
    {
        let width = mask.shape.last().copied().unwrap_or(1).max(1);
        reread(mask, |place| place / width * width + place % width % most);
    }
}

/// Counts the rows of operands in 16 bits.
fn rows_modulo(given: &mut Given<'_, '_>) {
    // Of a cache, which is written, nothing is read.
    let read = if given.task.op == Opcode::KvAppend { 1 } else { given.inputs.len() };
    for buffer in given.inputs.iter_mut().take(read) {
        let rows = buffer.shape.first().copied().unwrap_or(0);
        let is_of_rows = buffer.shape.len() > 1 || !buffer.dtype.is_float();
        if rows > MOST && is_of_rows {
            let width = buffer.len() / rows;
            reread(buffer, |place| place % (MOST * width));
        }
    }
}

/// The elements that 16 bits count.
fn counted(line: &[f32]) -> &[f32] {
    line.get(..MOST).unwrap_or(line)
}

faults! {
    "mask-in-8-bits": "counts the columns of a mask in 8 bits", ATTENTION, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            mask_modulo(given, 1 << 8);
        }
    }

    "mask-in-10-bits": "counts the columns of a mask in 10 bits", ATTENTION, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            mask_modulo(given, 1 << 10);
        }
    }

    "mask-in-12-bits": "counts the columns of a mask in 12 bits", ATTENTION, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            mask_modulo(given, 1 << 12);
        }
    }

    "mask-in-16-bits": "counts the columns of a mask in 16 bits", ATTENTION, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            mask_modulo(given, MOST);
        }
    }

    "window-in-16-bits": "counts the rows of a window in 16 bits", ATTENTION, FLOATS {
        fn window(&self, start: usize, len: usize, _: usize) -> Range<usize> {
            start..start + if len > MOST { len % MOST } else { len }
        }
    }

    "k-in-16-bits": "counts the columns of K in 16 bits", MATRIX, FLOATS {
        fn k_tiles(&self, k: usize) -> Vec<Tile> {
            tiles(if k > MOST { k % MOST } else { k })
        }
    }

    "k-beyond-65536-dropped": "leaves out the columns of K beyond 65,536", MATRIX, FLOATS {
        fn k_tiles(&self, k: usize) -> Vec<Tile> {
            tiles(k.min(MOST))
        }
    }

    "x-rows-in-16-bits": "counts the rows of x in 16 bits", MATRIX, FLOATS {
        fn x_row(&self, m: usize, _: usize) -> usize {
            m % MOST
        }
    }

    "groups-in-16-bits": "counts groups in 16 bits", QUANTISED, FLOATS {
        fn group(&self, column: usize, group: usize, _: usize) -> usize {
            column / group.max(1) % MOST
        }
    }

    "rows-in-16-bits": "counts rows in 16 bits", LINES, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            if LINES.contains(&given.task.op) {
                rows_modulo(given);
            }
        }
    }

    "logits-in-16-bits": "counts rows of logits in 16 bits", ARGMAX, I32 {
        fn given(&self, given: &mut Given<'_, '_>) {
            if given.task.op == Opcode::SampleArgmax {
                rows_modulo(given);
            }
        }
    }

    "line-beyond-65536": "looks at the first 65,536 elements of a row or line only, where all count for each", LONG, FLOATS {
        fn mean_square(&self, row: &[f32]) -> f64 {
            let seen = counted(row);
            self.div(self.dot(Site::Squares, seen, seen), row.len() as f64)
        }
        fn variance(&self, run: &[f32], mean: f64) -> f64 {
            let seen = counted(run);
            let variance = Plain.variance(seen, mean);
            if seen.len() == run.len() {
                return variance;
            }
            self.div(self.mul(variance, seen.len() as f64), run.len() as f64)
        }
        fn softmax(&self, line: &[f32], _: &[f32]) -> Vec<f64> {
            let mut weights = Plain.softmax(counted(line), &[]);
            weights.resize(line.len(), 0.0);
            weights
        }
    }

    "m-off-last": "takes the last rows of x for a tile without `m_off`", GEMM, FLOATS {
        fn given(&self, given: &mut Given<'_, '_>) {
            let (op, k, tile) = (given.task.op, given.int(Param::K), given.int(Param::MTile));
            let (Some(k), Some(tile), None, Opcode::GemmTile) = (k, tile, given.int(Param::MOff), op) else { return };
            if let Some(x) = given.inputs.first_mut() {
                let shift = x.len().saturating_sub((tile * k) as usize);
                reread(x, |place| place + shift);
            }
        }
    }

    "argmax-nan-zeros": "writes 0 for the rows behind one with a NaN", ARGMAX, I32 {
        fn given(&self, given: &mut Given<'_, '_>) {
            behind_nan(given, 0);
        }
    }

    "argmax-nan-kept": "takes the last logit for the largest of the rows behind one with a NaN", ARGMAX, I32 {
        fn given(&self, given: &mut Given<'_, '_>) {
            behind_nan(given, usize::MAX);
        }
    }

    "argmax-byte-81": "takes the byte 0x81 of F8E4M3, the largest number below 0, for the least of all", ARGMAX, I32 {
        fn given(&self, given: &mut Given<'_, '_>) {
            let of_bytes = given.inputs.first().is_some_and(|logits| logits.dtype == DType::F8E4M3);
            if given.task.op == Opcode::SampleArgmax && of_bytes {
                given.change(0, |_, x| if x < 0.0 && x > -0.0025 { f32::NEG_INFINITY } else { x });
            }
        }
    }
}

/// Makes the logit at this place the largest of every row behind one with a NaN; the last one, where the place is beyond it.
fn behind_nan(given: &mut Given<'_, '_>, top: usize) {
    if given.task.op != Opcode::SampleArgmax {
        return;
    }
    let Some(Buffer { elements: Elements::Reals(logits), shape, .. }) = given.inputs.first().cloned() else {
        return;
    };
    let width = shape.last().copied().unwrap_or(1).max(1);
    let Some(first) = logits.chunks(width).position(|row| row.iter().any(|x| x.is_nan())) else { return };
    let top = top.min(width - 1);
    given.change(0, |place, x| match place / width > first {
        true if place % width == top => f32::INFINITY,
        true => f32::NEG_INFINITY,
        false => x,
    });
}
