//! Integers that are too narrow for what they count: ids, positions, rows.

use std::ops::Range;

use megakernel_ir::Opcode;

use super::{FLOATS, Fault, I32, MATRIX};
use crate::kernels::{Kernels, Plain};

const APPEND: &[Opcode] = &[Opcode::KvAppend];
const ARGMAX: &[Opcode] = &[Opcode::SampleArgmax];
const ATTENTION: &[Opcode] = &[Opcode::AttentionTile];
const EMBED: &[Opcode] = &[Opcode::Embed];
const ROPE: &[Opcode] = &[Opcode::Rope];

faults! {
    "weight-row-in-8-bits": "counts the rows of W in 8 bits", MATRIX, FLOATS {
        fn weight_row(&self, n: usize, _: usize) -> usize {
            n % 256
        }
    }

    "weight-row-in-16-bits": "counts the rows of W in 16 bits", MATRIX, FLOATS {
        fn weight_row(&self, n: usize, _: usize) -> usize {
            n % 65_536
        }
    }

    "bias-in-8-bits": "counts the elements of the bias in 8 bits", MATRIX, FLOATS {
        fn bias_index(&self, n: usize, _: usize) -> usize {
            n % 256
        }
    }

    "window-start-in-8-bits": "counts the first row of a window in 8 bits", ATTENTION, FLOATS {
        fn window(&self, start: usize, len: usize, _: usize) -> Range<usize> {
            let start = start % 256;
            start..start + len
        }
    }

    "window-start-in-15-bits": "counts the first row of a window in 15 bits", ATTENTION, FLOATS {
        fn window(&self, start: usize, len: usize, _: usize) -> Range<usize> {
            let start = start % 32_768;
            start..start + len
        }
    }

    "window-start-in-16-bits": "counts the first row of a window in 16 bits", ATTENTION, FLOATS {
        fn window(&self, start: usize, len: usize, _: usize) -> Range<usize> {
            let start = start % 65_536;
            start..start + len
        }
    }

    "rope-position-in-8-bits": "counts positions in 8 bits", ROPE, FLOATS {
        fn rope_position(&self, positions: &[i64], s: usize, h: usize) -> i64 {
            Plain.rope_position(positions, s, h) % 256
        }
    }

    "rope-position-in-15-bits": "counts positions in 15 bits", ROPE, FLOATS {
        fn rope_position(&self, positions: &[i64], s: usize, h: usize) -> i64 {
            Plain.rope_position(positions, s, h) % 32_768
        }
    }

    "rope-position-in-16-bits": "counts positions in 16 bits", ROPE, FLOATS {
        fn rope_position(&self, positions: &[i64], s: usize, h: usize) -> i64 {
            Plain.rope_position(positions, s, h) % 65_536
        }
    }

    "embed-id-in-8-bits": "counts ids in 8 bits", EMBED, FLOATS {
        fn table_row(&self, id: i64) -> i64 {
            id % 256
        }
    }

    "embed-id-in-15-bits": "counts ids in 15 bits", EMBED, FLOATS {
        fn table_row(&self, id: i64) -> i64 {
            id % 32_768
        }
    }

    "embed-id-in-16-bits": "counts ids in 16 bits", EMBED, FLOATS {
        fn table_row(&self, id: i64) -> i64 {
            id % 65_536
        }
    }

    "embed-id-in-17-bits": "counts ids in 17 bits", EMBED, FLOATS {
        fn table_row(&self, id: i64) -> i64 {
            id % 131_072
        }
    }

    "append-position-in-8-bits": "counts positions of the cache in 8 bits", APPEND, FLOATS {
        fn append_row(&self, pos: usize, i: usize, _: usize) -> usize {
            pos % 256 + i
        }
    }

    "append-position-in-15-bits": "counts positions of the cache in 15 bits", APPEND, FLOATS {
        fn append_row(&self, pos: usize, i: usize, _: usize) -> usize {
            pos % 32_768 + i
        }
    }

    "append-position-in-16-bits": "counts positions of the cache in 16 bits", APPEND, FLOATS {
        fn append_row(&self, pos: usize, i: usize, _: usize) -> usize {
            pos % 65_536 + i
        }
    }

    "argmax-id-in-8-bits": "writes ids in 8 bits", ARGMAX, I32 {
        fn token(&self, i: usize, _: usize, _: usize) -> usize {
            i % 256
        }
    }

    "argmax-id-in-15-bits": "writes ids in 15 bits", ARGMAX, I32 {
        fn token(&self, i: usize, _: usize, _: usize) -> usize {
            i % 32_768
        }
    }

    "argmax-id-in-16-bits": "writes ids in 16 bits", ARGMAX, I32 {
        fn token(&self, i: usize, _: usize, _: usize) -> usize {
            i % 65_536
        }
    }

    "argmax-id-in-17-bits": "writes ids in 17 bits", ARGMAX, I32 {
        fn token(&self, i: usize, _: usize, _: usize) -> usize {
            i % 131_072
        }
    }
}
