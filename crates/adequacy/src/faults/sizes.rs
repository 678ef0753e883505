//! What goes wrong only beyond a size: limits that an implementation may have, and tails of tiles.

use std::ops::Range;

use megakernel_ir::Opcode;

use super::{FLOATS, Fault, I32, MATRIX, QUANTISED, and};
use crate::kernels::{Kernels, Plain};
use crate::parts::{Attended, Heads, Site, Tile, Window, tiles};

const ADD: &[Opcode] = &[Opcode::Add];
const ALLREDUCE: &[Opcode] = &[Opcode::AllreduceShard];
const APPEND: &[Opcode] = &[Opcode::KvAppend];
const ARGMAX: &[Opcode] = &[Opcode::SampleArgmax];
const ATTENTION: &[Opcode] = &[Opcode::AttentionTile];
const COMBINE: &[Opcode] = &[Opcode::AttentionCombine];
const COPY: &[Opcode] = &[Opcode::Copy];
const DEQUANT: &[Opcode] = &[Opcode::Dequant];
const EMBED: &[Opcode] = &[Opcode::Embed];
/// Opcodes that compute each element by itself.
const ELEMENTWISE: &[Opcode] = &and::<{ Opcode::IN_PLACE.len() + 1 }>(Opcode::IN_PLACE, Opcode::Dequant);
const GELU: &[Opcode] = &[Opcode::Gelu];
const LAYER: &[Opcode] = &[Opcode::LayerNorm];
const MUL: &[Opcode] = &[Opcode::Mul];
const RMS: &[Opcode] = &[Opcode::RmsNorm];
const ROPE: &[Opcode] = &[Opcode::Rope];
const SILU: &[Opcode] = &[Opcode::SiluMul];
const SOFTMAX: &[Opcode] = &[Opcode::Softmax];

/// The first elements of a row, at most so many.
fn first(row: &[f32], most: usize) -> &[f32] {
    row.get(..most).unwrap_or(row)
}

faults! {
    "add-beyond-256": "writes the first 256 elements of ADD only", ADD, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::Add { n.min(256) } else { n }
        }
    }

    "add-beyond-1024": "writes the first 1,024 elements of ADD only", ADD, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::Add { n.min(1024) } else { n }
        }
    }

    "allreduce-beyond-256": "writes the first 256 elements of ALLREDUCE_SHARD only", ALLREDUCE, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::AllreduceShard { n.min(256) } else { n }
        }
    }

    "allreduce-beyond-1024": "writes the first 1,024 elements of ALLREDUCE_SHARD only", ALLREDUCE, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::AllreduceShard { n.min(1024) } else { n }
        }
    }

    "copy-beyond-256": "writes the first 256 elements of COPY only", COPY, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::Copy { n.min(256) } else { n }
        }
    }

    "copy-beyond-1024": "writes the first 1,024 elements of COPY only", COPY, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::Copy { n.min(1024) } else { n }
        }
    }

    "dequant-beyond-256": "writes the first 256 elements of DEQUANT only", DEQUANT, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::Dequant { n.min(256) } else { n }
        }
    }

    "dequant-beyond-1024": "writes the first 1,024 elements of DEQUANT only", DEQUANT, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::Dequant { n.min(1024) } else { n }
        }
    }

    "gelu-beyond-256": "writes the first 256 elements of GELU only", GELU, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::Gelu { n.min(256) } else { n }
        }
    }

    "gelu-beyond-1024": "writes the first 1,024 elements of GELU only", GELU, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::Gelu { n.min(1024) } else { n }
        }
    }

    "mul-beyond-256": "writes the first 256 elements of MUL only", MUL, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::Mul { n.min(256) } else { n }
        }
    }

    "mul-beyond-1024": "writes the first 1,024 elements of MUL only", MUL, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::Mul { n.min(1024) } else { n }
        }
    }

    "silu-beyond-256": "writes the first 256 elements of SILU_MUL only", SILU, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::SiluMul { n.min(256) } else { n }
        }
    }

    "silu-beyond-1024": "writes the first 1,024 elements of SILU_MUL only", SILU, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::SiluMul { n.min(1024) } else { n }
        }
    }

    "elements-beyond-65536": "writes the first 65,536 elements of what is computed element by element only", ELEMENTWISE, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if ELEMENTWISE.contains(&op) { n.min(65_536) } else { n }
        }
    }

    "argmax-rows-beyond-256": "writes the first 256 elements of SAMPLE_ARGMAX only", ARGMAX, I32 {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::SampleArgmax { n.min(256) } else { n }
        }
    }

    "append-beyond-1024": "writes the first 1,024 elements of KV_APPEND only", APPEND, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::KvAppend { n.min(1024) } else { n }
        }
    }

    "embed-beyond-4096": "writes the first 4,096 elements of EMBED only", EMBED, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::Embed { n.min(4096) } else { n }
        }
    }

    "embed-beyond-256": "writes the first 256 elements of EMBED only", EMBED, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::Embed { n.min(256) } else { n }
        }
    }

    "rms-beyond-4096": "writes the first 4,096 elements of RMSNORM only", RMS, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::RmsNorm { n.min(4096) } else { n }
        }
    }

    "layer-beyond-4096": "writes the first 4,096 elements of LAYERNORM only", LAYER, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::LayerNorm { n.min(4096) } else { n }
        }
    }

    "softmax-beyond-4096": "writes the first 4,096 elements of SOFTMAX only", SOFTMAX, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::Softmax { n.min(4096) } else { n }
        }
    }

    "rope-beyond-512": "writes the first 512 elements of ROPE only", ROPE, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::Rope { n.min(512) } else { n }
        }
    }

    "combine-beyond-512": "writes the first 512 elements of ATTENTION_COMBINE only", COMBINE, FLOATS {
        fn written(&self, op: Opcode, n: usize) -> usize {
            if op == Opcode::AttentionCombine { n.min(512) } else { n }
        }
    }

    "rms-squares-beyond-1024": "adds up the first 1,024 squares of a row only", RMS, FLOATS {
        fn mean_square(&self, row: &[f32]) -> f64 {
            let seen = first(row, 1024);
            self.div(self.dot(Site::Squares, seen, seen), row.len() as f64)
        }
    }

    "layer-mean-beyond-1024": "adds up the first 1,024 elements of a run only for its mean", LAYER, FLOATS {
        fn mean(&self, run: &[f32]) -> f64 {
            self.div(self.sum(Site::Mean, first(run, 1024)), run.len() as f64)
        }
    }

    "layer-variance-beyond-1024": "adds up the first 1,024 squares of a run only for its variance", LAYER, FLOATS {
        fn variance(&self, run: &[f32], mean: f64) -> f64 {
            let seen = first(run, 1024);
            self.div(self.mul(Plain.variance(seen, mean), seen.len() as f64), run.len() as f64)
        }
    }

    "softmax-denominator-beyond-1024": "adds up the first 1,024 weights of a line only", SOFTMAX, FLOATS {
        fn sum(&self, site: Site, terms: &[f32]) -> f64 {
            let softmax = site == Site::Denominator;
            Plain.sum(site, if softmax { first(terms, 1024) } else { terms })
        }
        fn attend(&self, window: &Window<'_>) -> Attended {
            Plain.attend(window)
        }
    }

    "softmax-maximum-beyond-1024": "looks for the largest of the first 1,024 elements of a line only, and lets the others weigh 0", SOFTMAX, FLOATS {
        fn softmax(&self, line: &[f32], _: &[f32]) -> Vec<f64> {
            let mut weights = Plain.softmax(first(line, 1024), &[]);
            weights.resize(line.len(), 0.0);
            weights
        }
    }

    "rms-squares-beyond-4096": "adds up the first 4,096 squares of a row only", RMS, FLOATS {
        fn mean_square(&self, row: &[f32]) -> f64 {
            let seen = first(row, 4096);
            self.div(self.dot(Site::Squares, seen, seen), row.len() as f64)
        }
    }

    "layer-mean-beyond-4096": "adds up the first 4,096 elements of a run only for its mean", LAYER, FLOATS {
        fn mean(&self, run: &[f32]) -> f64 {
            self.div(self.sum(Site::Mean, first(run, 4096)), run.len() as f64)
        }
    }

    "layer-variance-beyond-4096": "adds up the first 4,096 squares of a run only for its variance", LAYER, FLOATS {
        fn variance(&self, run: &[f32], mean: f64) -> f64 {
            let seen = first(run, 4096);
            self.div(self.mul(Plain.variance(seen, mean), seen.len() as f64), run.len() as f64)
        }
    }

    "softmax-denominator-beyond-4096": "adds up the first 4,096 weights of a line only", SOFTMAX, FLOATS {
        fn sum(&self, site: Site, terms: &[f32]) -> f64 {
            let softmax = site == Site::Denominator;
            Plain.sum(site, if softmax { first(terms, 4096) } else { terms })
        }
        fn attend(&self, window: &Window<'_>) -> Attended {
            Plain.attend(window)
        }
    }

    "softmax-maximum-beyond-4096": "looks for the largest of the first 4,096 elements of a line only, and lets the others weigh 0", SOFTMAX, FLOATS {
        fn softmax(&self, line: &[f32], _: &[f32]) -> Vec<f64> {
            let mut weights = Plain.softmax(first(line, 4096), &[]);
            weights.resize(line.len(), 0.0);
            weights
        }
    }

    "rms-rows-of-256": "takes the factor of a row for that 256 rows on as well", RMS, FLOATS {
        fn rms_rows<'x>(&self, x: &'x [f32], row: usize, hidden: usize) -> &'x [f32] {
            Plain.rms_rows(x, row % 256, hidden)
        }
    }

    "k-beyond-1024-dropped": "leaves out the columns of K beyond 1,024", MATRIX, FLOATS {
        fn k_tiles(&self, k: usize) -> Vec<Tile> {
            tiles(k.min(1024))
        }
    }

    "k-beyond-4096-dropped": "leaves out the columns of K beyond 4,096", MATRIX, FLOATS {
        fn k_tiles(&self, k: usize) -> Vec<Tile> {
            tiles(k.min(4096))
        }
    }

    "k-beyond-4096-repeats": "counts the tiles of K in 6 bits, and begins again after 64 of them", MATRIX, FLOATS {
        fn k_tiles(&self, k: usize) -> Vec<Tile> {
            let mut found = tiles(k);
            let ring = found.clone();
            for (n, tile) in found.iter_mut().enumerate() {
                if let Some(other) = ring.get(n % 64) {
                    let length = tile.x.len();
                    tile.x = other.x.start..other.x.start + length;
                    tile.w = tile.x.clone();
                }
            }
            found
        }
    }

    "k-tail-beyond-1024-dropped": "goes over whole groups of 8 columns only where K is beyond 1,024", MATRIX, FLOATS {
        fn k_tiles(&self, k: usize) -> Vec<Tile> {
            tiles(if k > 1024 { k / 8 * 8 } else { k })
        }
    }

    "columns-beyond-64": "writes the first 64 columns of a tile only", MATRIX, FLOATS {
        fn columns(&self, n_off: usize, n_tile: usize) -> Range<usize> {
            n_off..n_off + n_tile.min(64)
        }
    }

    "columns-beyond-256": "writes the first 256 columns of a tile only", MATRIX, FLOATS {
        fn columns(&self, n_off: usize, n_tile: usize) -> Range<usize> {
            n_off..n_off + n_tile.min(256)
        }
    }

    "columns-by-32": "writes whole groups of 32 columns only where a tile has more", MATRIX, FLOATS {
        fn columns(&self, n_off: usize, n_tile: usize) -> Range<usize> {
            n_off..n_off + if n_tile > 32 { n_tile / 32 * 32 } else { n_tile }
        }
    }

    "columns-by-128": "writes whole groups of 128 columns only where a tile has more", MATRIX, FLOATS {
        fn columns(&self, n_off: usize, n_tile: usize) -> Range<usize> {
            n_off..n_off + if n_tile > 128 { n_tile / 128 * 128 } else { n_tile }
        }
    }

    "x-rows-of-64": "takes the rows of x modulo 64", MATRIX, FLOATS {
        fn x_row(&self, m: usize, _: usize) -> usize {
            m % 64
        }
    }

    "x-rows-of-256": "takes the rows of x modulo 256", MATRIX, FLOATS {
        fn x_row(&self, m: usize, _: usize) -> usize {
            m % 256
        }
    }

    "groups-beyond-16": "takes the last of 16 groups for those behind it", QUANTISED, FLOATS {
        fn group(&self, column: usize, group: usize, _: usize) -> usize {
            (column / group.max(1)).min(15)
        }
    }

    "groups-beyond-64": "takes the last of 64 groups for those behind it", QUANTISED, FLOATS {
        fn group(&self, column: usize, group: usize, _: usize) -> usize {
            (column / group.max(1)).min(63)
        }
    }

    "groups-beyond-256": "takes the last of 256 groups for those behind it", QUANTISED, FLOATS {
        fn group(&self, column: usize, group: usize, _: usize) -> usize {
            (column / group.max(1)).min(255)
        }
    }

    "window-beyond-256": "attends to the first 256 rows of a window only", ATTENTION, FLOATS {
        fn window(&self, start: usize, len: usize, _: usize) -> Range<usize> {
            start..start + len.min(256)
        }
    }

    "window-beyond-1024": "attends to the first 1,024 rows of a window only", ATTENTION, FLOATS {
        fn window(&self, start: usize, len: usize, _: usize) -> Range<usize> {
            start..start + len.min(1024)
        }
    }

    "window-beyond-4096": "attends to the first 4,096 rows of a window only", ATTENTION, FLOATS {
        fn window(&self, start: usize, len: usize, _: usize) -> Range<usize> {
            start..start + len.min(4096)
        }
    }

    "scores-beyond-64": "goes over the first 64 elements of a head only for a score", ATTENTION, FLOATS {
        fn score(&self, q: &[f32], k: &[f32], scale: f64) -> f64 {
            Plain.score(first(q, 64), first(k, 64), scale)
        }
    }

    "values-beyond-64": "sums up the first 64 elements of a head only", ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            let mut attended = Plain.attend(window);
            attended.a.iter_mut().skip(64).for_each(|a| *a = 0.0);
            attended
        }
    }

    "scores-beyond-128": "goes over the first 128 elements of a head only for a score", ATTENTION, FLOATS {
        fn score(&self, q: &[f32], k: &[f32], scale: f64) -> f64 {
            Plain.score(first(q, 128), first(k, 128), scale)
        }
    }

    "values-beyond-128": "sums up the first 128 elements of a head only", ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            let mut attended = Plain.attend(window);
            attended.a.iter_mut().skip(128).for_each(|a| *a = 0.0);
            attended
        }
    }

    "gqa-by-shift": "takes the ratio of query heads to cache heads for a power of two", ATTENTION, FLOATS {
        fn kv_head(&self, head: usize, heads: Heads) -> usize {
            let ratio = (heads.queries / heads.caches.max(1)).max(1);
            (head >> ratio.ilog2()).min(heads.caches.saturating_sub(1))
        }
    }

    "gqa-beyond-64": "gives the query heads from the 64th on the caches of the first ones", ATTENTION, FLOATS {
        fn kv_head(&self, head: usize, heads: Heads) -> usize {
            Plain.kv_head(head % 64, heads)
        }
    }

    "caches-beyond-64": "gives the sequences from the 64th on the caches of the first ones", ATTENTION, FLOATS {
        fn cache_of(&self, sequence: usize, _: usize) -> usize {
            sequence % 64
        }
    }

    "rope-frequencies-beyond-64": "begins again after 64 frequencies", ROPE, FLOATS {
        fn rope_frequency(&self, theta: f64, i: usize, half: usize) -> f64 {
            Plain.rope_frequency(theta, i % 64, half)
        }
    }

    "rope-positions-beyond-256": "turns the rows from the 256th on by the positions of the first ones", ROPE, FLOATS {
        fn rope_position(&self, positions: &[i64], s: usize, h: usize) -> i64 {
            Plain.rope_position(positions, s % 256, h)
        }
    }

    "rope-heads-beyond-64": "does not turn heads from the 64th on", ROPE, FLOATS {
        fn rope_position(&self, positions: &[i64], s: usize, h: usize) -> i64 {
            if h < 64 { Plain.rope_position(positions, s, h) } else { 0 }
        }
    }

    "append-rows-beyond-64": "appends the first 64 of several rows only", APPEND, FLOATS {
        fn append_rows(&self, n: usize) -> usize {
            n.min(64)
        }
    }

    "append-rows-beyond-256": "appends the first 256 of several rows only", APPEND, FLOATS {
        fn append_rows(&self, n: usize) -> usize {
            n.min(256)
        }
    }

    "argmax-beyond-1024": "looks at the first 1,024 logits only", ARGMAX, I32 {
        fn candidates(&self, vocab: usize) -> Range<usize> {
            0..vocab.min(1024)
        }
    }

    "argmax-beyond-32768": "looks at the first 32,768 logits only", ARGMAX, I32 {
        fn candidates(&self, vocab: usize) -> Range<usize> {
            0..vocab.min(32_768)
        }
    }

    "argmax-beyond-65536": "looks at the first 65,536 logits only", ARGMAX, I32 {
        fn candidates(&self, vocab: usize) -> Range<usize> {
            0..vocab.min(65_536)
        }
    }

    "argmax-beyond-131072": "looks at the first 131,072 logits only", ARGMAX, I32 {
        fn candidates(&self, vocab: usize) -> Range<usize> {
            0..vocab.min(131_072)
        }
    }

    "combine-beyond-64": "merges the first 64 elements of a head only", COMBINE, FLOATS {
        fn combine(&self, partials: &[Attended]) -> Vec<f64> {
            let mut merged = Plain.combine(partials);
            merged.iter_mut().skip(64).for_each(|element| *element = 0.0);
            merged
        }
    }

    "combine-beyond-128": "merges the first 128 elements of a head only", COMBINE, FLOATS {
        fn combine(&self, partials: &[Attended]) -> Vec<f64> {
            let mut merged = Plain.combine(partials);
            merged.iter_mut().skip(128).for_each(|element| *element = 0.0);
            merged
        }
    }
}
