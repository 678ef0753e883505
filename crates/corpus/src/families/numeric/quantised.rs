//! GEMV_TILE and GEMM_TILE with integer weights.

use super::bench::{Bench, Spec};
use super::data::{Values, ints, normals, numel, reals};
use super::dequant::Store;
use super::matmul::{Extents, signed};
use super::probe::{Shape, probe};
use megakernel_ir::rule::clause;

use crate::builder::{DType, Result};

use DType::{BF16, F8E4M3, F8E5M2, F16, F32};

const OUTPUTS: [DType; 5] = [F32, F16, BF16, F8E4M3, F8E5M2];
const ZEROS: [Option<DType>; 8] =
    [None, Some(DType::I8), Some(DType::U8), Some(F32), Some(F16), Some(BF16), Some(F8E4M3), Some(F8E5M2)];

fn with(zeros: Option<DType>) -> String {
    zeros.map_or("symmetric".to_owned(), |dtype| format!("zeros-{}", dtype.name().to_lowercase()))
}

/// Quantised GEMV_TILE.
pub fn gemv(b: &mut Bench) -> Result<()> {
    // The last group of the second shape has 4 columns, the other groups 16.
    random(
        b,
        &[
            (Extents { m: 2, n: 7, k: 32, n_tile: 3, m_tile: 0 }, 8),
            (Extents { m: 1, n: 6, k: 52, n_tile: 6, m_tile: 0 }, 16),
        ],
    )?;
    // Groups that hold whole chunks of 16 bytes.
    for (turn, store) in Store::ALL.into_iter().enumerate() {
        for (x, scales, zeros, to) in
            [(BF16, F16, None, F32), (F16, BF16, Some(DType::I8), F16), (BF16, F32, Some(F16), BF16)]
        {
            let (k, group, n) = (1120, 32 << turn.min(1), 3);
            let e = Extents { m: 2, n, k, n_tile: 2, m_tile: 0 };
            let form = format!("{}-{}-{}-chunks", e.name(), store.name(), with(zeros));
            let mut prng = b.prng("quantised", &form);
            let (low, high) = store.range();
            let q: Vec<i64> =
                (0..numel(&[n, k])).map(|_| low + prng.below((high - low + 1) as u64) as i64).collect();
            let groups = [n, k.div_ceil(group)];
            let scale = (0..numel(&groups)).map(|i| [0.75, 0.0625, 1.5, 0.25][i % 4]).collect();
            let mut operands = vec![
                reals(x, &[2, k], normals(&mut prng, numel(&[2, k]), 1.0)),
                store.operand(&[n, k], &q),
                reals(scales, &groups, scale),
            ];
            operands.extend(
                zeros.map(|dtype| {
                    ints(dtype, &groups, (0..numel(&groups) as i64).map(|i| i % 7 - 3).collect())
                }),
            );
            let spec = Spec::new(form, "quantised", "groups that hold whole chunks of 16 bytes")
                .inputs(operands)
                .output(to, &[2, n])
                .param("qdtype", store.code())
                .param("group", group);
            b.add(e.tiles(spec).clause(clause::NUM_08))?;
        }
    }
    probes(b, &[(1, 3, 8192, 2, 0, 128), (1, 3, 1000, 3, 0, 64), (2, 4, 96, 2, 0, 32)])
}

/// Quantised GEMM_TILE.
pub fn gemm(b: &mut Bench) -> Result<()> {
    random(
        b,
        &[
            (Extents { m: 3, n: 7, k: 32, n_tile: 3, m_tile: 2 }, 8),
            (Extents { m: 2, n: 6, k: 52, n_tile: 4, m_tile: 1 }, 16),
        ],
    )?;
    probes(b, &[(2, 2, 8192, 1, 1, 128), (2, 3, 1000, 2, 1, 64), (3, 4, 96, 2, 2, 32)])
}

/// Any integers, with scales and zero points that differ from group to group and from row to row.
fn random(b: &mut Bench, shapes: &[(Extents, u64); 2]) -> Result<()> {
    let floats = [F32, F16, BF16, F8E4M3, F8E5M2];
    let mut turn = 0;
    for store in Store::ALL {
        for zeros in ZEROS {
            for (index, to) in OUTPUTS.into_iter().enumerate() {
                if index != turn % 5 && index != (turn + 2) % 5 {
                    continue;
                }
                // The dtypes of x and of the scales go round at different speeds.
                let pick = |n: usize| floats.get(n % 5).copied().unwrap_or(F32);
                let (x, scales) = (pick(index + turn), pick(index + 2 * turn + 1));
                let (e, group) = shapes[(index + turn) % 2];
                let form = format!("{}-{}-{}-groups-of-{group}", e.name(), store.name(), with(zeros));
                let mut prng = b.prng("quantised", &format!("{form}-{x}-{scales}"));
                let (low, high) = store.range();
                let q: Vec<i64> = (0..numel(&[e.n, e.k]))
                    .map(|_| low + prng.below((high - low + 1) as u64) as i64)
                    .collect();
                let groups = [e.n, e.k.div_ceil(group)];
                let n = numel(&groups);
                let scale = (0..n)
                    .map(|i| [0.75, 0.0625, 1.5, 0.3, 0.125][i % 5] * (1.0 + prng.below(8) as f64 / 16.0))
                    .collect();
                let mut operands = vec![
                    reals(x, &[e.m, e.k], normals(&mut prng, numel(&[e.m, e.k]), 1.0)),
                    store.operand(&[e.n, e.k], &q),
                    reals(scales, &groups, scale),
                ];
                if let Some(dtype) = zeros {
                    let least = if dtype == DType::U8 { 1 } else { -6 };
                    let zero = (0..n as i64).map(|i| least + (i * 5 + prng.below(2) as i64) % 13).collect();
                    operands.push(ints(dtype, &groups, zero));
                }
                let spec = Spec::new(form, "quantised", "any integers; scales and zero points of each group")
                    .inputs(operands)
                    .output(to, &[e.m, e.n])
                    .param("qdtype", store.code())
                    .param("group", group);
                b.add(e.tiles(spec).clause(clause::NUM_08))?;
            }
            turn += 1;
        }
    }
    Ok(())
}

/// Exact probes: m, n, k, columns and rows of a tile, columns of a group. Scales are 1 and 2 in turn, so that a scale
/// left out or taken from the next group shows.
fn probes(b: &mut Bench, shapes: &[(u64, u64, u64, u64, u64, u64)]) -> Result<()> {
    for (turn, &(m, n, k, n_tile, m_tile, group)) in shapes.iter().enumerate() {
        let e = Extents { m, n, k, n_tile, m_tile };
        let long = k == 8192;
        for (place, store) in Store::ALL.into_iter().enumerate() {
            let zeros = [Some(DType::I8), Some(DType::U8), Some(BF16)];
            for zeros in [None, zeros[(turn + place) % 3]] {
                let form = format!("{}-{}-{}", e.name(), store.name(), with(zeros));
                let mut prng = b.prng("quantised-probe", &form);
                // Zero points from -3 to 3 (1 to 3 in U8) leave room for weights from -4 to 4 in 4 bits.
                let shape = Shape {
                    m: m as usize,
                    n: n as usize,
                    k: k as usize,
                    x: vec![2, 4, 6],
                    w: signed(4),
                    reach: 0,
                };
                let probe = probe(&mut prng, &shape)?;
                let groups = k.div_ceil(group);
                let scale_of = |g: u64| 1 + g as i64 % 2;
                let zero_of = |row: u64, g: u64| match zeros {
                    None => 0,
                    Some(DType::U8) => 1 + (row + g) as i64 % 3,
                    Some(_) => (row + g) as i64 % 7 - 3,
                };
                let x: Vec<i64> = probe
                    .x
                    .iter()
                    .flat_map(|row| {
                        row.iter().zip(0..).map(|(v, k)| v / scale_of(k / group)).collect::<Vec<i64>>()
                    })
                    .collect();
                let q: Vec<i64> = probe
                    .w
                    .iter()
                    .zip(0..)
                    .flat_map(|(row, n)| {
                        row.iter().zip(0..).map(|(v, k)| v + zero_of(n, k / group)).collect::<Vec<i64>>()
                    })
                    .collect();
                let scales: Vec<i64> = (0..n).flat_map(|_| (0..groups).map(scale_of)).collect();
                let zero: Vec<i64> = (0..n).flat_map(|n| (0..groups).map(move |g| zero_of(n, g))).collect();
                for (index, to) in OUTPUTS.into_iter().enumerate() {
                    // Short ones with three outputs each.
                    if !long && (index + turn + place) % 5 >= 3 {
                        continue;
                    }
                    let from = if m % 2 == 1 { BF16 } else { F16 };
                    // One file of inputs is enough for a long probe.
                    let scales_dtype = if index % 2 == 0 && !long { F16 } else { F32 };
                    let mut operands = vec![
                        ints(from, &[m, k], x.clone()),
                        store.operand(&[n, k], &q),
                        ints(scales_dtype, &[n, groups], scales.clone()),
                    ];
                    if let Some(dtype) = zeros {
                        operands.push(ints(dtype, &[n, groups], zero.clone()));
                    }
                    let about = "small integers: every k, and every aligned tile of 8 to 1,024, shows if it is dropped, repeated or stale";
                    let spec = Spec::new(form.clone(), "quantised-probe", about)
                        .inputs(operands)
                        .output(to, &[m, n])
                        .param("qdtype", store.code())
                        .param("group", group);
                    b.add(e.tiles(spec).clause(clause::NUM_09).known(Values::Reals(probe.y())))?;
                }
            }
        }
    }
    Ok(())
}
