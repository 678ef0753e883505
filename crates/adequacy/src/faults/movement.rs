//! Opcodes that move or pick: EMBED, KV_APPEND, SAMPLE_ARGMAX.

use std::ops::Range;

use megakernel_ir::{DType, Opcode};
use megakernel_numerics::encode;

use super::{FLOATS, Fault, I32, round};
use crate::kernels::Kernels;

const APPEND: &[Opcode] = &[Opcode::KvAppend];
const ARGMAX: &[Opcode] = &[Opcode::SampleArgmax];
const EMBED: &[Opcode] = &[Opcode::Embed];
/// Opcodes that move elements as they are.
const MOVES: &[Opcode] = &[Opcode::Copy, Opcode::Embed, Opcode::KvAppend];

faults! {
    "append-first-row": "appends the first of several rows only", APPEND, FLOATS {
        fn append_rows(&self, n: usize) -> usize {
            n.min(1)
        }
    }

    "append-next-row": "appends at the row behind `pos`", APPEND, FLOATS {
        fn append_row(&self, pos: usize, i: usize, _: usize) -> usize {
            pos + i + 1
        }
    }

    "append-reversed": "appends several rows in reverse", APPEND, FLOATS {
        fn append_row(&self, pos: usize, i: usize, n: usize) -> usize {
            pos + n - 1 - i
        }
    }

    "append-row-zero": "appends at row 0, whatever `pos` says", APPEND, FLOATS {
        fn append_row(&self, _: usize, i: usize, _: usize) -> usize {
            i
        }
    }

    "append-sequences-swapped": "gives the rows of a batch to the sequences in reverse", APPEND, FLOATS {
        fn append_sequence(&self, b: usize, sequences: usize) -> usize {
            sequences - 1 - b
        }
    }

    "argmax-bf16": "compares logits after rounding to bfloat16", ARGMAX, I32 {
        fn better(&self, logit: f32, best: f32) -> bool {
            round(DType::BF16, f64::from(logit)) > round(DType::BF16, f64::from(best))
        }
    }

    "argmax-first-missed": "does not look at the first logit", ARGMAX, I32 {
        fn candidates(&self, vocab: usize) -> Range<usize> {
            1.min(vocab.saturating_sub(1))..vocab
        }
    }

    "argmax-global-index": "counts the index through all rows", ARGMAX, I32 {
        fn token(&self, i: usize, r: usize, vocab: usize) -> usize {
            r * vocab + i
        }
    }

    "argmax-last-missed": "does not look at the last logit", ARGMAX, I32 {
        fn candidates(&self, vocab: usize) -> Range<usize> {
            0..vocab.saturating_sub(1).max(1)
        }
    }

    "argmax-last-tie": "takes the last of equal logits", ARGMAX, I32 {
        fn better(&self, logit: f32, best: f32) -> bool {
            logit >= best
        }
    }

    "argmax-magnitude": "takes the logit of largest magnitude", ARGMAX, I32 {
        fn better(&self, logit: f32, best: f32) -> bool {
            logit.abs() > best.abs()
        }
    }

    "argmax-signed-zero": "takes +0 for larger than -0", ARGMAX, I32 {
        fn better(&self, logit: f32, best: f32) -> bool {
            logit.total_cmp(&best).is_gt()
        }
    }

    "cast-zero-unsigned": "stores +0 for -0", MOVES, FLOATS {
        fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
            encode(dtype, value + 0.0)
        }
    }

    "embed-next-row": "takes the row behind", EMBED, FLOATS {
        fn table_row(&self, id: i64) -> i64 {
            id + 1
        }
    }

    "embed-stride-hidden": "takes rows at a distance of `hidden`, whatever the table's shape says",
        EMBED, FLOATS {
        fn table_width(&self, _: usize, hidden: usize) -> usize {
            hidden
        }
    }
}
