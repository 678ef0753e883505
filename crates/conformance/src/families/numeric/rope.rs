//! ROPE, and DEQUANT: elements with a factor of their own.

use super::bench::{Bench, FROM_F32, Spec, most, round};
use super::data::{Operand, Values, coded, ints, normals, numel, reals, spread};
use crate::builder::{DType, Result};

struct Rope<'a> {
    form: &'a str,
    data: &'static str,
    about: &'a str,
    /// `[n_heads, head_dim]` or `[S, n_heads, head_dim]`.
    shape: &'a [u64],
    positions: &'a [i64],
    theta: f64,
}

impl Rope<'_> {
    fn spec(&self, (from, to): (DType, DType), x: Vec<f64>) -> Spec {
        let positions = ints(DType::I32, &[self.positions.len() as u64], self.positions.to_vec());
        Spec::new(self.form, self.data, self.about)
            .inputs([reals(from, self.shape, x), positions])
            .output(to, self.shape)
            .param("head_dim", self.shape.last().copied().unwrap_or(2))
            .param("theta", self.theta)
            .clause("NUM-07")
    }
}

/// ROPE: one position and several, positions from 0 to hundreds of thousands, several bases.
pub fn rope(b: &mut Bench) -> Result<()> {
    let forms = [
        Rope {
            form: "heads-3x16",
            data: "random",
            about: "one position",
            shape: &[3, 16],
            positions: &[7],
            theta: 10_000.0,
        },
        Rope {
            form: "positions-4x2x16",
            data: "random",
            about: "several positions, out of order",
            shape: &[4, 2, 16],
            positions: &[3, 0, 41, 17],
            theta: 10_000.0,
        },
        Rope {
            form: "theta-500000",
            data: "theta",
            about: "a base of 500,000",
            shape: &[3, 2, 8],
            positions: &[5, 19, 200],
            theta: 500_000.0,
        },
        Rope {
            form: "theta-100",
            data: "theta",
            about: "a base of 100",
            shape: &[3, 2, 8],
            positions: &[5, 19, 200],
            theta: 100.0,
        },
        Rope {
            form: "theta-1",
            data: "theta",
            about: "a base of 1: every pair turns alike",
            shape: &[3, 2, 8],
            positions: &[1, 2, 30],
            theta: 1.0,
        },
        // 257 and 2,049 are no numbers of BF16 and F16; the others have angles of more than 16 significant bits.
        Rope {
            form: "positions-257-to-4097",
            data: "far",
            about: "positions that 16-bit floats cannot hold",
            shape: &[6, 1, 16],
            positions: &[257, 515, 1027, 2049, 3001, 4097],
            theta: 10_000.0,
        },
        Rope {
            form: "positions-30011-to-131071",
            data: "far",
            about: "positions of long contexts",
            shape: &[3, 2, 32],
            positions: &[30_011, 65_537, 131_071],
            theta: 1_000_000.0,
        },
        Rope {
            form: "head-dim-128",
            data: "long",
            about: "a head of 128 elements",
            shape: &[1, 128],
            positions: &[1001],
            theta: 10_000.0,
        },
        Rope {
            form: "head-dim-2",
            data: "short",
            about: "a head of 2 elements: one pair, one frequency",
            shape: &[5, 3, 2],
            positions: &[1, 2, 3, 4, 5],
            theta: 10_000.0,
        },
    ];
    for (turn, form) in forms.iter().enumerate() {
        for pair in round(turn).chain(round(turn + 1)) {
            let prng = &mut b.prng(form.data, &format!("{}-{}", form.form, pair.0));
            b.add(form.spec(pair, normals(prng, numel(form.shape), 2.0)))?;
        }
    }
    for pair in most() {
        let at_zero = Rope {
            form: "position-0",
            data: "coded",
            about: "position 0 turns nothing",
            shape: &[2, 12],
            positions: &[0],
            theta: 10_000.0,
        };
        let x = coded(pair.0, 24);
        b.add(at_zero.spec(pair, x.clone()).known(Values::Reals(x)))?;
        let one_in_a_head = Rope {
            form: "unit-vectors",
            data: "coded",
            about: "one element of each head, so that its partner shows",
            shape: &[8, 8],
            positions: &[1],
            theta: 10_000.0,
        };
        let x = (0..64).map(|i| if i / 8 == i % 8 { 1.0 } else { 0.0 }).collect();
        b.add(one_in_a_head.spec(pair, x))?;
        let magnitudes = Rope {
            form: "magnitudes",
            data: "range",
            about: "pairs of very different magnitudes",
            shape: &[4, 2, 16],
            positions: &[1, 10, 100, 1000],
            theta: 10_000.0,
        };
        let x = spread(&mut b.prng("range", pair.0.name()), 128, -12, 6);
        b.add(magnitudes.spec(pair, x))?;
    }
    for pair in round(0) {
        let special = Rope {
            form: "rows-3x4",
            data: "special",
            about: "a NaN and zeros: the NaN spreads to its partner and no further",
            shape: &[3, 4],
            positions: &[2],
            theta: 10_000.0,
        };
        let x = vec![1.0, f64::NAN, 0.5, 2.0, 0.0, -0.0, -0.0, 0.0, 1.0, 0.0, -0.0, -1.0];
        b.add(special.spec(pair, x).clause("NUM-03"))?;
    }
    Ok(())
}

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
                    b.add(spec.clause("NUM-05"))?;
                }
            }
            turn += 1;
        }
    }
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
