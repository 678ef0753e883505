//! What a program computes (clauses COL-14 and COL-20), to the bit.

use std::sync::Arc;

use megakernel_collectives::Dtype;
use megakernel_numerics::{DType, decode, encode};

use crate::program::Program;
use crate::run::{Domain, Turns, run};

/// Bits of numbers, of one dtype.
#[derive(Clone, Debug)]
struct Handle {
    bits: Arc<[u32]>,
    dtype: Dtype,
}

/// The domain of numbers: what each element holds.
struct Numbers(Vec<Vec<u32>>);

fn dtype(dtype: Dtype) -> DType {
    match dtype {
        Dtype::F16 => DType::F16,
        Dtype::F32 => DType::F32,
    }
}

/// The bits of a number, rounded once; of a NaN, those of COL-14.
fn rounded(to: Dtype, number: f64) -> u32 {
    match to {
        Dtype::F16 if number.is_nan() => 0x7E00,
        Dtype::F32 if number.is_nan() => 0x7FC0_0000,
        _ => encode(dtype(to), number),
    }
}

/// The sum of two binary16 or binary32 numbers, rounded once.
fn sum(of: Dtype, a: u32, b: u32) -> u32 {
    match of {
        // Exact in binary64: 11 bits each, and exponents at most 40 apart.
        Dtype::F16 => rounded(of, decode(DType::F16, a) + decode(DType::F16, b)),
        Dtype::F32 => {
            let sum = f32::from_bits(a) + f32::from_bits(b);
            if sum.is_nan() { 0x7FC0_0000 } else { sum.to_bits() }
        }
    }
}

impl Domain for Numbers {
    type Handle = Handle;

    fn load(&mut self, element: usize, at: u32, n: u32) -> Handle {
        let memory = self.0.get(element).map(Vec::as_slice).unwrap_or_default();
        let bits = memory.get(at as usize..at as usize + n as usize).unwrap_or_default();
        Handle { bits: bits.into(), dtype: Dtype::F16 }
    }

    fn store(&mut self, element: usize, at: u32, handle: &Handle) {
        let Some(memory) = self.0.get_mut(element) else { return };
        let end = at as usize + handle.bits.len();
        if memory.len() < end {
            memory.resize(end, 0);
        }
        if let Some(place) = memory.get_mut(at as usize..end) {
            place.copy_from_slice(&handle.bits);
        }
    }

    fn add(&mut self, a: &Handle, b: &Handle) -> Handle {
        let bits = a.bits.iter().zip(b.bits.iter()).map(|(&x, &y)| sum(a.dtype, x, y)).collect();
        Handle { bits, dtype: a.dtype }
    }

    fn cast(&mut self, handle: &Handle, to: Dtype) -> Handle {
        if handle.dtype == to {
            return handle.clone();
        }
        let convert = |&bits: &u32| rounded(to, decode(dtype(handle.dtype), bits));
        Handle { bits: handle.bits.iter().map(convert).collect(), dtype: to }
    }

    fn size(handle: &Handle) -> usize {
        handle.bits.len().max(1)
    }
}

/// The tiles after a program that breaks no rule.
pub fn simulate(program: &Program, tiles: &[Vec<i64>]) -> Vec<Vec<u32>> {
    let bits = |tile: &Vec<i64>| tile.iter().map(|&bits| u32::try_from(bits).unwrap_or(0)).collect();
    let mut numbers = Numbers(tiles.iter().map(bits).collect());
    run(program, Turns::Ahead, &mut numbers);
    let mut held = numbers.0;
    for (held, tile) in held.iter_mut().zip(tiles) {
        held.truncate(tile.len());
    }
    held
}
