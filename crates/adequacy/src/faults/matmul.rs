//! Products over K: GEMV_TILE, GEMM_TILE, and what tensor cores do to any product.

use std::ops::Range;

use megakernel_ir::protocol::Accumulator;
use megakernel_ir::{DType, Opcode};

use super::{F32, FLOATS, Fault, HELD, LOST, MATRIX, NARROW, TENSOR_CORES, round};
use crate::kernels::{Kernels, Plain};
use crate::order::truncating;
use crate::parts::{Operand, Site, TILE, Tile, tiles};

const GEMM: &[Opcode] = &[Opcode::GemmTile];

faults! {
    "accumulator-bf16": "accumulates products in bfloat16", TENSOR_CORES, FLOATS {
        fn dot_onto(&self, site: Site, start: f64, x: &[f32], w: &[f32]) -> f64 {
            if !site.on_tensor_cores() {
                return Plain.dot_onto(site, start, x, w);
            }
            x.iter().zip(w).fold(start, |sum, (&x, &w)| round(DType::BF16, f64::from(x) * f64::from(w) + sum))
        }
    }

    "accumulator-fp16": "accumulates products in binary16", TENSOR_CORES, FLOATS {
        fn dot_onto(&self, site: Site, start: f64, x: &[f32], w: &[f32]) -> f64 {
            if !site.on_tensor_cores() {
                return Plain.dot_onto(site, start, x, w);
            }
            x.iter().zip(w).fold(start, |sum, (&x, &w)| round(DType::F16, f64::from(x) * f64::from(w) + sum))
        }
    }

    "adder-undeclared": "adds products up as matrix units of today do, in blocks of 16 with 25 bits behind the point, and declares `binary32`",
        TENSOR_CORES, F32, LOST {
        fn dot_onto(&self, site: Site, start: f64, x: &[f32], w: &[f32]) -> f64 {
            if !site.on_tensor_cores() {
                return Plain.dot_onto(site, start, x, w);
            }
            truncating(16, 25, start, x, w)
        }
    }

    "bias-after-cast": "rounds the product to the output's dtype before it adds the bias",
        MATRIX, NARROW, HELD {
        fn with_bias(&self, product: f64, bias: f64, _: usize, output: DType) -> f64 {
            self.add(round(output, product), bias)
        }
    }

    "bias-dropped": "leaves out the bias of a product", MATRIX, FLOATS {
        fn with_bias(&self, product: f64, _: f64, _: usize, _: DType) -> f64 {
            product
        }
    }

    "bias-offset-ignored": "takes the bias from the beginning, whatever `n_off` says", MATRIX, FLOATS {
        fn bias_index(&self, n: usize, n_off: usize) -> usize {
            n - n_off
        }
    }

    "bias-per-tile": "adds the bias once for every tile of K", MATRIX, FLOATS {
        fn with_bias(&self, product: f64, bias: f64, tiles: usize, _: DType) -> f64 {
            self.add(product, self.mul(bias, tiles as f64))
        }
    }

    "columns-by-four": "writes columns of a tile in whole groups of four only", MATRIX, FLOATS {
        fn columns(&self, n_off: usize, n_tile: usize) -> Range<usize> {
            n_off..n_off + n_tile / 4 * 4
        }
    }

    "k-first-dropped": "leaves out the first column of K", MATRIX, FLOATS {
        fn k_tiles(&self, k: usize) -> Vec<Tile> {
            let mut tiles = tiles(k);
            if let Some(first) = tiles.first_mut() {
                first.x.start += 1;
                first.w.start += 1;
            }
            tiles
        }
    }

    "k-last-dropped": "leaves out the last column of K", MATRIX, FLOATS {
        fn k_tiles(&self, k: usize) -> Vec<Tile> {
            tiles(k.saturating_sub(1))
        }
    }

    "k-tail-dropped": "goes over whole tiles of 64 columns of K only", MATRIX, FLOATS {
        fn k_tiles(&self, k: usize) -> Vec<Tile> {
            tiles(k / TILE * TILE)
        }
    }

    "k-tile-dropped": "leaves out the last tile of 64 columns of K, where there are several", MATRIX, FLOATS {
        fn k_tiles(&self, k: usize) -> Vec<Tile> {
            let mut tiles = tiles(k);
            if tiles.len() > 1 {
                tiles.pop();
            }
            tiles
        }
    }

    "k-tile-missed": "leaves out one tile of 64 columns in the middle of K", MATRIX, FLOATS {
        fn k_tiles(&self, k: usize) -> Vec<Tile> {
            let mut tiles = tiles(k);
            if tiles.len() > 2 {
                tiles.remove(tiles.len() / 2);
            }
            tiles
        }
    }

    "k-tile-overlapping": "begins every tile of K but the first one column early", MATRIX, FLOATS {
        fn k_tiles(&self, k: usize) -> Vec<Tile> {
            let mut tiles = tiles(k);
            for tile in tiles.iter_mut().skip(1) {
                tile.x.start -= 1;
                tile.w.start -= 1;
            }
            tiles
        }
    }

    "k-tile-repeated": "counts one tile of 64 columns in the middle of K twice", MATRIX, FLOATS {
        fn k_tiles(&self, k: usize) -> Vec<Tile> {
            let mut tiles = tiles(k);
            let middle = tiles.len() / 2;
            if let Some(tile) = tiles.get(middle).filter(|_| middle > 0).cloned() {
                tiles.push(tile);
            }
            tiles
        }
    }

    "k-tile-stale-input": "multiplies the second tile of weights with the first tile of x, as if a copy were not awaited",
        MATRIX, FLOATS {
        fn k_tiles(&self, k: usize) -> Vec<Tile> {
            let mut tiles = tiles(k);
            if let [first, second, ..] = tiles.as_mut_slice() {
                second.x = first.x.start..first.x.start + second.w.len();
            }
            tiles
        }
    }

    "k-tile-stale-weight": "multiplies the last tile of x with the weights of the tile before, as if a copy were not awaited",
        MATRIX, FLOATS {
        fn k_tiles(&self, k: usize) -> Vec<Tile> {
            let mut tiles = tiles(k);
            if let [.., before, last] = tiles.as_mut_slice() {
                last.w = before.w.start..before.w.start + last.x.len();
            }
            tiles
        }
    }

    "operands-bf16": "rounds the operands of a product to bfloat16", TENSOR_CORES, FLOATS {
        fn load(&self, operand: Operand, _: DType, elements: &[f32]) -> Option<Vec<f32>> {
            let bf16 = |&x: &f32| round(DType::BF16, f64::from(x)) as f32;
            TENSOR_CORES.contains(&operand.op).then(|| elements.iter().map(bf16).collect())
        }
    }

    "operands-tf32": "rounds binary32 operands of a product to 11 significant bits", TENSOR_CORES, FLOATS {
        fn load(&self, operand: Operand, _: DType, elements: &[f32]) -> Option<Vec<f32>> {
            let Operand { op, dtype, .. } = operand;
            let tf32 = |x: &f32| f32::from_bits((x.to_bits() + 0x1000) & !0x1fff);
            (TENSOR_CORES.contains(&op) && dtype == DType::F32).then(|| elements.iter().map(tf32).collect())
        }
    }

    "output-offset-ignored": "writes the columns from the beginning, whatever `n_off` says", MATRIX, FLOATS {
        fn columns(&self, _: usize, n_tile: usize) -> Range<usize> {
            0..n_tile
        }
    }

    "partial-sums-bf16": "rounds the partial sum to bfloat16 between two tiles of K", MATRIX, FLOATS {
        fn carry(&self, sum: f64) -> f64 {
            round(DType::BF16, sum)
        }
    }

    "partial-sums-fp16": "rounds the partial sum to binary16 between two tiles of K", MATRIX, FLOATS {
        fn carry(&self, sum: f64) -> f64 {
            round(DType::F16, sum)
        }
    }

    "row-offset-ignored": "takes the rows of x from the beginning, whatever `m_off` says", GEMM, FLOATS {
        fn x_row(&self, m: usize, m_off: usize) -> usize {
            m - m_off
        }
    }

    "weight-offset-ignored": "takes the rows of W from the beginning, whatever `n_off` says", MATRIX, FLOATS {
        fn weight_row(&self, n: usize, n_off: usize) -> usize {
            n - n_off
        }
    }
}

/// Those that declare `truncating`, and do worse than that.
pub(super) const DECLARED: &[Fault] = &[{
    struct Short;
    impl Kernels for Short {
        fn steps(&self) -> &dyn Kernels {
            self
        }
        fn dot_onto(&self, site: Site, start: f64, x: &[f32], w: &[f32]) -> f64 {
            if !site.on_tensor_cores() {
                return Plain.dot_onto(site, start, x, w);
            }
            truncating(16, 21, start, x, w)
        }
    }
    Fault {
        id: "adder-of-21-bits",
        summary: "adds products up in blocks of 16 with 21 bits behind the point, and declares `truncating`",
        opcodes: TENSOR_CORES,
        outputs: F32,
        why: LOST,
        kernels: &Short,
        accumulator: Accumulator::Truncating,
        needs: None,
    }
}];
