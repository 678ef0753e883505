//! DEQUANT, and how quantised weights are stored.

use super::bench::{Bench, FROM_F32, Spec};
use super::data::{Operand, Values, ends, ints, numel, power, precision, reals};
use crate::builder::{DType, Result};
use megakernel_ir::rule::clause;

/// How weights are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Store {
    /// Signed bytes.
    I8,
    /// Two nibbles a byte of U8.
    Packed,
    /// I4.
    I4,
}

impl Store {
    /// Every storage.
    pub const ALL: [Store; 3] = [Store::I8, Store::Packed, Store::I4];

    /// The name within a form.
    pub fn name(self) -> &'static str {
        match self {
            Store::I8 => "i8",
            Store::Packed => "i4-bytes",
            Store::I4 => "i4",
        }
    }

    /// The least and largest value of `q`.
    pub fn range(self) -> (i64, i64) {
        match self {
            Store::I8 => (-128, 127),
            Store::Packed | Store::I4 => (-8, 7),
        }
    }

    /// The operand that stores `q` in the shape `[.., k]`.
    pub fn operand(self, shape: &[u64], q: &[i64]) -> Operand {
        match self {
            Store::I8 => ints(DType::I8, shape, q.to_vec()),
            Store::I4 => ints(DType::I4, shape, q.iter().map(|v| v + 8).collect()),
            Store::Packed => {
                let bytes = q.chunks(2).map(|pair| match pair {
                    [low, high] => (low + 8) | (high + 8) << 4,
                    _ => 0,
                });
                let mut shape = shape.to_vec();
                if let Some(last) = shape.last_mut() {
                    *last /= 2;
                }
                ints(DType::U8, &shape, bytes.collect())
            }
        }
    }

    /// `qdtype`.
    pub fn code(self) -> u64 {
        match self {
            Store::I8 => 6,
            Store::Packed | Store::I4 => 7,
        }
    }
}

/// DEQUANT: each storage, with and without zero points of each dtype, groups that divide the row and that do not.
pub fn dequant(b: &mut Bench) -> Result<()> {
    let scales_dtypes = [DType::F32, DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2];
    let outputs = [DType::F32, DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2];
    let zeros_dtypes = [
        None,
        Some(DType::I8),
        Some(DType::U8),
        Some(DType::F32),
        Some(DType::F16),
        Some(DType::BF16),
        Some(DType::F8E4M3),
        Some(DType::F8E5M2),
    ];
    let mut turn = 0;
    for store in Store::ALL {
        for &zeros in &zeros_dtypes {
            for (index, &to) in outputs.iter().enumerate() {
                // The scales' dtype goes round, so that each meets each output.
                let scales = scales_dtypes.get((index + turn) % 5).copied().unwrap_or(DType::F32);
                let with =
                    zeros.map_or("symmetric".to_owned(), |z| format!("zeros-{}", z.name().to_lowercase()));
                // Two outputs for each storage and dtype of the zero points, each in another shape.
                let forms = [(&[6_u64, 20][..], 4, "groups-of-4"), (&[2, 3, 22], 8, "ragged")];
                for (place, (shape, group, name)) in forms.into_iter().enumerate() {
                    if index != (turn + 2 * place) % 5 {
                        continue;
                    }
                    let form = format!("{}-{with}-{name}", store.name());
                    let mut prng = b.prng("random", &format!("{form}-{scales}"));
                    let (low, high) = store.range();
                    let q: Vec<i64> =
                        (0..numel(shape)).map(|_| low + prng.below((high - low + 1) as u64) as i64).collect();
                    let mut groups = shape.to_vec();
                    if let Some(last) = groups.last_mut() {
                        *last = last.div_ceil(group);
                    }
                    let n = numel(&groups);
                    // No two neighbouring groups have the same scale or zero point.
                    let scale: Vec<f64> = (0..n)
                        .map(|i| {
                            [0.75, 0.0625, 1.5, 0.3, 0.125][i % 5] * (1.0 + (prng.below(8) as f64) / 16.0)
                        })
                        .collect();
                    let mut operands = vec![store.operand(shape, &q), reals(scales, &groups, scale)];
                    if let Some(dtype) = zeros {
                        let least = if dtype == DType::U8 { 1 } else { -6 };
                        let zero =
                            (0..n as i64).map(|i| least + (i * 5 + prng.below(2) as i64) % 13).collect();
                        operands.push(ints(dtype, &groups, zero));
                    }
                    let spec = Spec::new(form, "random", "any integers, scales and zero points")
                        .inputs(operands)
                        .output(to, shape)
                        .param("qdtype", store.code())
                        .param("group", group);
                    b.add(spec.clause(clause::NUM_05))?;
                }
            }
            turn += 1;
        }
    }
    dequant_scales(b)?;
    for (_, to) in FROM_F32 {
        for store in Store::ALL {
            // Every value that the storage has, times a power of two.
            let (low, high) = store.range();
            let q: Vec<i64> = (low..=high).collect();
            let k = q.len() as u64;
            let values = q.iter().map(|v| *v as f64 * 0.5).collect();
            let spec = Spec::new(format!("{}-all", store.name()), "coded", "every value of the storage")
                .inputs([store.operand(&[k], &q), reals(DType::F32, &[1], vec![0.5])])
                .output(*to, &[k])
                .param("qdtype", store.code())
                .param("group", k + 3);
            b.add(spec.known(Values::Reals(values)))?;
        }
    }
    Ok(())
}

/// Scales whose last bits matter, scales that make results of every magnitude, and zero points of every magnitude.
fn dequant_scales(b: &mut Bench) -> Result<()> {
    for &(_, to) in FROM_F32 {
        for store in Store::ALL {
            let (low, high) = store.range();
            let groups = 40;
            let mut prng = b.prng("scales", &format!("{}-{to}", store.name()));
            // The first element of each group is just beside a tie of the output: rounding the scale crosses it.
            let first: Vec<i64> = (0..groups).map(|_| [3, 5, 6, 7][prng.below(4) as usize]).collect();
            let scale = first.iter().map(|q| {
                let odd = ((1_u64 << precision(to).min(22)) + prng.below(1 << precision(to).min(22))) | 1;
                let beside = 1.0 + power(-20) * if prng.below(2) == 0 { 1.0 } else { -1.0 };
                odd as f64 * power(-precision(to)) * beside / *q as f64
            });
            let scale: Vec<f64> = scale.collect();
            let q: Vec<i64> =
                first.iter().flat_map(|q| [*q, low + prng.below((high - low + 1) as u64) as i64]).collect();
            let spec =
                Spec::new(format!("{}-groups-of-2", store.name()), "scales", "scales whose last bits matter")
                    .own_inputs()
                    .inputs([store.operand(&[2, groups], &q), reals(DType::F32, &[2, groups / 2], scale)])
                    .output(to, &[2, groups])
                    .param("qdtype", store.code())
                    .param("group", 2);
            b.add(spec.clause(clause::NUM_02))?;

            let scale = ends(to, groups as usize).iter().map(|v| v * 0.5).collect();
            let q: Vec<i64> = (0..groups as usize).flat_map(|i| [2, -1 - (i % 3) as i64]).collect();
            let spec = Spec::new(
                format!("{}-ends", store.name()),
                "ends",
                "results around the smallest and the largest number of the output",
            )
            .own_inputs()
            .inputs([store.operand(&[2, groups], &q), reals(DType::F32, &[2, groups / 2], scale)])
            .output(to, &[2, groups])
            .param("qdtype", store.code())
            .param("group", 2);
            b.add(spec.clause(clause::NUM_03))?;

            let prng = &mut b.prng("special", store.name());
            let q: Vec<i64> = (0..24).map(|_| low + prng.below((high - low + 1) as u64) as i64).collect();
            let scale = vec![1.0, f64::NAN, 0.5, 2.0, -0.25, 1.5];
            let spec = Spec::new(
                format!("{}-nan", store.name()),
                "special",
                "a scale that is NaN reaches its group and no other",
            )
            .inputs([store.operand(&[24], &q), reals(DType::F32, &[6], scale)])
            .output(to, &[24])
            .param("qdtype", store.code())
            .param("group", 4);
            b.add(spec.clause(clause::NUM_03))?;
        }
        for (dtype, low, high) in [(DType::I8, -128, 127), (DType::U8, 0, 255)] {
            for store in [Store::I8, Store::Packed] {
                let form = format!("{}-zeros-{}-wide", store.name(), dtype.name().to_lowercase());
                let mut prng = b.prng("zeros", &form);
                let (least, most) = store.range();
                let q: Vec<i64> =
                    (0..48).map(|_| least + prng.below((most - least + 1) as u64) as i64).collect();
                let mut zero: Vec<i64> =
                    (0..10).map(|_| low + prng.below((high - low + 1) as u64) as i64).collect();
                zero.extend([low, high]);
                let spec = Spec::new(form, "zeros", "zero points over the whole range of their dtype")
                    .inputs([
                        store.operand(&[2, 24], &q),
                        reals(DType::F32, &[2, 6], (0..12).map(|i| [0.25, 0.5, 0.75][i % 3]).collect()),
                        ints(dtype, &[2, 6], zero),
                    ])
                    .output(to, &[2, 24])
                    .param("qdtype", store.code())
                    .param("group", 4);
                b.add(spec)?;
            }
        }
    }
    Ok(())
}
