//! ROPE: pairs of elements, turned by an angle that grows with the position.

use super::bench::{Bench, FROM_F32, Spec, most, round};
use super::data::{Values, coded, ends, ints, normals, numel, reals, spread};
use crate::builder::{DType, Result};
use megakernel_ir::rule::clause;

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
            .clause(clause::NUM_07)
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
        for pair in round(turn) {
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
    for &pair in FROM_F32 {
        for (form, shape, position) in
            [("ends-2x20", [2_u64, 20], 1), ("ends-3x10", [3, 10], 2), ("ends-4x8", [4, 8], 100)]
        {
            let ends_of_range = Rope {
                form,
                data: "ends",
                about: "results around the smallest and the largest number of the output",
                shape: &shape,
                positions: &[position],
                theta: 10_000.0,
            };
            // Turning does not lengthen a pair beyond F32.
            let x = ends(pair.1, numel(&shape)).iter().map(|v| v * 0.5).collect();
            b.add(ends_of_range.spec(pair, x).own_inputs().clause(clause::NUM_03))?;
        }
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
        b.add(special.spec(pair, x).clause(clause::NUM_03))?;
    }
    Ok(())
}
