//! Sums that tell which adder made them: a term, and products just below the last place that the adder keeps beside it (clause
//! NUM-06). A worker that declares a better adder than it has loses them all, which is twice what the bound of its declaration
//! admits. One that keeps its word loses next to nothing.

use super::attention::Att;
use super::bench::{Bench, Spec};
use super::data::{power, precision, reals};
use super::dequant::Store;
use super::matmul::Extents;
use crate::builder::{DType, Result};
use megakernel_ir::rule::clause;

use DType::{BF16, F8E4M3, F8E5M2, F16, F32};

/// The data family of these cases.
const FAINT: &str = "faint";

/// Dtypes of x and of the weight.
const PAIRS: [(DType, DType); 7] =
    [(BF16, BF16), (F16, F16), (F32, F32), (BF16, F8E4M3), (F16, F8E5M2), (F8E4M3, F8E4M3), (F8E5M2, F8E5M2)];

/// How far below the term the products are.
#[derive(Clone, Copy)]
struct Depth {
    /// They are less than 2^-bits of it.
    bits: i32,
    name: &'static str,
    about: &'static str,
}

const DEPTHS: [Depth; 2] = [
    // Whoever rounds to nearest rounds each of them up. Whoever cuts off, be it the products or what becomes of a block, loses them.
    Depth {
        bits: 23,
        name: "binary32",
        about: "a term and products just below its last place: an adder that cuts off, and a worker that declares binary32, lose them",
    },
    // A truncating adder as declared keeps them but for two bits.
    Depth {
        bits: 21,
        name: "truncating",
        about: "a term and products that 23 bits behind the point keep: an adder with 21 or fewer loses them, whatever its worker declares",
    },
];

/// Where a row has products besides the term at its start. What matrix units add up at once is at most 32 products; where one of these is
/// not zero, all that the adder has besides does not save it from being cut off with the block's result. In the dense rows it is cut off
/// by itself.
const STEPS: [usize; 4] = [32, 1, 16, 3];

/// The large element of a weight, and what a small one is of it.
fn weight(dtype: DType) -> (f64, i32) {
    match dtype {
        F8E4M3 => (256.0, -14),
        F8E5M2 => (1.0, -14),
        _ => (1.0, -12),
    }
}

/// The elements of x: a large one, and small ones whose products with a weight's small ones are just below 2^-bits of the large product.
fn row(dtype: DType, bits: i32, share: i32, k: usize) -> Vec<f64> {
    // The large element leaves room below it for the small ones.
    let large = match dtype {
        F8E4M3 => 256.0,
        F8E5M2 | F16 => 1024.0,
        _ => 1.0,
    };
    let small = large * power(-bits - share) * (1.0 - power(-precision(dtype)));
    (0..k).map(|place| if place == 0 { large } else { small }).collect()
}

/// `large` at the start, `small` at every `step`th place, and zeros.
fn dotted(large: f64, small: f64, step: usize, k: usize) -> impl Iterator<Item = f64> {
    (0..k).map(move |place| match place {
        0 => large,
        _ if place.is_multiple_of(step) => small,
        _ => 0.0,
    })
}

/// The row and its negative in turn.
fn mirrored(row: &[f64], m: u64) -> Vec<f64> {
    (0..m).flat_map(|r| row.iter().map(move |v| if r % 2 == 0 { *v } else { -v })).collect()
}

/// GEMV_TILE.
pub fn gemv(b: &mut Bench) -> Result<()> {
    products(b, &[(2, 4, 2048, 4, 0), (1, 4, 2056, 3, 0)])
}

/// GEMM_TILE.
pub fn gemm(b: &mut Bench) -> Result<()> {
    products(b, &[(3, 4, 2048, 4, 3), (17, 4, 2056, 4, 17)])
}

fn products(b: &mut Bench, shapes: &[(u64, u64, u64, u64, u64)]) -> Result<()> {
    for &(m, n, k, n_tile, m_tile) in shapes {
        let e = Extents { m, n, k, n_tile, m_tile };
        for depth in DEPTHS {
            let form = format!("{}-{}", e.name(), depth.name);
            for (x, w) in PAIRS {
                let (large, share) = weight(w);
                let left = row(x, depth.bits, share, k as usize);
                let small = large * power(share);
                let right =
                    (0..n as usize).flat_map(|c| dotted(large, small, STEPS[c % 4], k as usize)).collect();
                let spec = Spec::new(form.as_str(), FAINT, depth.about)
                    .inputs([reals(x, &[m, k], mirrored(&left, m)), reals(w, &[n, k], right)])
                    .output(F32, &[m, n]);
                b.add(e.tiles(spec).clause(clause::NUM_06).clause(clause::NUM_08))?;
            }
            for store in Store::ALL {
                for x in [BF16, F16] {
                    let left = row(x, depth.bits, 0, k as usize);
                    let q: Vec<i64> = (0..n as usize)
                        .flat_map(|c| dotted(1.0, 1.0, STEPS[c % 4], k as usize))
                        .map(|q| q as i64)
                        .collect();
                    let spec = Spec::new(format!("{form}-{}", store.name()), FAINT, depth.about)
                        .inputs([
                            reals(x, &[m, k], mirrored(&left, m)),
                            store.operand(&[n, k], &q),
                            reals(F32, &[n, 1], vec![1.0; n as usize]),
                        ])
                        .output(F32, &[m, n])
                        .param("qdtype", store.code())
                        .param("group", k);
                    b.add(e.tiles(spec).clause(clause::NUM_06).clause(clause::NUM_08))?;
                }
            }
        }
    }
    Ok(())
}

/// ATTENTION_TILE: sums over the window, and over the elements of a head.
pub fn attention(b: &mut Bench) -> Result<()> {
    for depth in DEPTHS {
        for dtype in [BF16, F16, F32] {
            values(b, depth, dtype)?;
            scores(b, depth, dtype)?;
        }
        values(b, depth, F8E5M2)?;
    }
    Ok(())
}

/// Queries are zeros, so that each row of the window weighs 1, and the results are means of the values.
fn values(b: &mut Bench, depth: Depth, dtype: DType) -> Result<()> {
    // The sum of the weights is a power of two, and a mean is rounded no more.
    let att =
        Att { batch: None, heads: 4, kv: 2, dim: 16, rows: 1027, start: 3, len: 1024, scale: 1.0, flags: 0 };
    let column = row(dtype, depth.bits, 0, att.len as usize);
    let inside: Vec<f64> = column
        .iter()
        .enumerate()
        .flat_map(|(place, value)| {
            (0..(att.kv * att.dim) as usize).map(move |d| {
                let there = place.is_multiple_of(STEPS[d % 4]);
                let sign = if d % 8 < 4 { 1.0 } else { -1.0 };
                if there { sign * value } else { 0.0 }
            })
        })
        .collect();
    let operands = vec![
        reals(dtype, &att.q_shape(), vec![0.0; (att.heads * att.dim) as usize]),
        att.cache(dtype, &vec![1.0; att.inside()]),
        att.cache(dtype, &inside),
    ];
    let spec = att.spec(&format!("values-{}", depth.name), FAINT, depth.about, operands, F32);
    b.add(spec.clause(clause::NUM_06).clause(clause::NUM_08))
}

/// A window of one row each head, whose score a partial shows.
fn scores(b: &mut Bench, depth: Depth, dtype: DType) -> Result<()> {
    let att = Att {
        batch: None,
        heads: 8,
        kv: 4,
        dim: 256,
        rows: 5,
        start: 2,
        len: 1,
        scale: 1.0,
        flags: super::attention::PARTIAL,
    };
    let head = row(dtype, depth.bits, 0, att.dim as usize);
    let query: Vec<f64> = mirrored(&head, att.heads);
    // Steps of 32 leave too few products to tell.
    let keys: Vec<f64> =
        [16, 1, 3, 8].iter().flat_map(|step| dotted(1.0, 1.0, *step, att.dim as usize)).collect();
    let operands = vec![
        reals(dtype, &att.q_shape(), query),
        att.cache(dtype, &keys),
        att.cache(dtype, &vec![1.0; att.inside()]),
    ];
    let spec = att.spec(&format!("scores-{}", depth.name), FAINT, depth.about, operands, F32);
    b.add(spec.clause(clause::NUM_06).clause(clause::NUM_08))
}
