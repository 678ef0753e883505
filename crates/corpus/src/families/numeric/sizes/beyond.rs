//! Sizes just beyond further limits, each of which an implementation might have for one opcode.

use super::super::bench::{Bench, FROM_F32, Spec, round};
use super::super::data::{Values, formula, ints, power, reals};
use super::super::movement::first_maxima;
use super::attention::{ONE, Tile};
use super::{SIZES, draws, ordinary, small};
use crate::builder::{DType, FLOATS, Op, Result};
use megakernel_ir::rule::clause;

use DType::{BF16, F16, F32};

const ABOUT: &str = "just beyond a limit that an implementation may have";

/// The cases of an opcode.
pub fn fill(b: &mut Bench, op: Op) -> Result<()> {
    match op {
        Op::Copy => copy(b),
        Op::Embed => embed(b),
        Op::RmsNorm | Op::LayerNorm => one_row(b),
        Op::GemvTile => gemv(b),
        Op::GemmTile => gemm(b),
        Op::AttentionTile => attention(b),
        Op::Rope => rope(b),
        Op::Softmax => softmax(b),
        Op::AllreduceShard => allreduce(b),
        Op::KvAppend => kv_append(b),
        Op::SampleArgmax => argmax(b),
        Op::AttentionCombine => combine(b),
        _ => Ok(()),
    }
}

fn copy(b: &mut Bench) -> Result<()> {
    for n in [130_i64, 131, 300] {
        let values: Vec<i64> = (0..n).map(|i| (i * 7 + i / 16) % 16).collect();
        let spec = Spec::new(format!("i4-{n}"), SIZES, "nibbles, more than a block of 64 bytes holds")
            .input(ints(DType::I4, &[n as u64], values.clone()))
            .output(DType::I4, &[n as u64])
            .known(Values::Ints(values));
        b.add(spec.clause(clause::NUM_11))?;
    }
    for (form, n) in [("bool-65", 65_i64), ("bool-129", 129), ("bool-300", 300)] {
        let values = vec![1; n as usize];
        let spec = Spec::new(form, SIZES, "flags that are all set")
            .input(ints(DType::Bool, &[n as u64], values.clone()))
            .output(DType::Bool, &[n as u64])
            .known(Values::Ints(values));
        b.add(spec)?;
    }
    for (form, dtype, values) in [
        ("ends-i8", DType::I8, vec![-128, 127, -127, -1, 0, 1, -128]),
        ("ends-u8", DType::U8, vec![255, 128, 127, 0, 129, 1, 254]),
        (
            "ends-i32",
            DType::I32,
            vec![i64::from(i32::MIN), i64::from(i32::MAX), 16_777_217, -16_777_219, 1 << 30, 33_554_435, -1],
        ),
    ] {
        for n in [3_u64, 5, 7] {
            let values: Vec<i64> = values.iter().copied().take(n as usize).collect();
            let spec = Spec::new(
                format!("{form}-{n}"),
                "integers",
                "the ends of a dtype, and numbers beyond 24 bits",
            )
            .input(ints(dtype, &[n], values.clone()))
            .output(dtype, &[n])
            .known(Values::Ints(values));
            b.add(spec)?;
        }
    }
    Ok(())
}

fn embed(b: &mut Bench) -> Result<()> {
    for (turn, (form, rows)) in
        [("table-65", 65), ("table-130", 130), ("table-300", 300)].into_iter().enumerate()
    {
        for (from, to) in round(turn) {
            let table = ordinary(from, &[rows, 3], 2, b.formula_seed(&format!("{form}-{from}")));
            let spec = Spec::new(form, SIZES, "the first row and the last of a table, several times")
                .input(ints(DType::I32, &[5], vec![0, rows as i64 - 1, 0, 64, 0]))
                .input(table)
                .output(to, &[5, 3])
                .param("hidden", 3);
            b.add(spec.clause(clause::NUM_13))?;
        }
    }
    Ok(())
}

fn one_row(b: &mut Bench) -> Result<()> {
    for (form, n) in [("row-1027", 1027), ("row-1539", 1539), ("row-2050", 2050)] {
        for &(from, to) in FROM_F32 {
            let [x, w] =
                ["x", "w"].map(|what| ordinary(from, &[n], 1, b.formula_seed(&format!("{form}-{what}"))));
            let spec = Spec::new(form, SIZES, ABOUT).inputs([x, w]).output(to, &[n]);
            b.add_sampled(spec.param("hidden", n).param("eps", 0.25), &[n])?;
        }
    }
    Ok(())
}

/// A product of small integers, whose sums are exact.
fn product(b: &Bench, form: &str, from: DType, [m, n, k]: [u64; 3], to: DType) -> Spec {
    // Factors are -1, 0 and 1, so that sums stay small.
    let x = small(from, &[m, k], 1, b.formula_seed(&format!("{form}-x")));
    let w = small(from, &[n, k], 1, b.formula_seed(&format!("{form}-w")));
    let spec = Spec::new(form, SIZES, ABOUT).inputs([formula(x), formula(w)]).output(to, &[m, n]);
    spec.param("K", k)
}

fn gemv(b: &mut Bench) -> Result<()> {
    for (form, extents) in
        [("k-32771", [1, 2, 32_771]), ("k-40009", [1, 2, 40_009]), ("k-65537", [1, 1, 65_537])]
    {
        for &to in FLOATS {
            let spec = product(b, form, F32, extents, to);
            b.add_sampled(spec.param("N_tile", extents[1]).param("n_off", 0), &extents[..2])?;
        }
    }
    for to in [F32, F16, BF16] {
        let spec = product(b, "weights-2-to-20", BF16, [1, 257, 4099], to);
        b.add_sampled(spec.param("N_tile", 257).param("n_off", 0), &[1, 257])?;
    }
    for (form, m) in [("rows-4097", 4097), ("rows-4100", 4100), ("rows-4355", 4355)] {
        for &to in FLOATS {
            let spec = product(b, form, F32, [m, 1, 2], to).param("N_tile", 1).param("n_off", 0);
            b.add_sampled(spec, &[m, 1])?;
        }
    }
    Ok(())
}

fn gemm(b: &mut Bench) -> Result<()> {
    for (form, extents) in
        [("k-32771", [2, 1, 32_771]), ("k-40009", [1, 2, 40_009]), ("k-65537", [1, 1, 65_537])]
    {
        for &to in FLOATS {
            let spec = product(b, form, F32, extents, to).param("N_tile", extents[1]).param("n_off", 0);
            b.add_sampled(spec.param("M_tile", extents[0]), &extents[..2])?;
        }
    }
    // A tile that begins at row 1024 and beyond, and tiles of more rows than 1,000.
    for (form, m, tile) in
        [("m-off-1024", 1027, 1024), ("m-off-1030", 1040, 103 * 5), ("m-off-2048", 2051, 1024)]
    {
        for &to in FLOATS {
            let mut spec = product(b, form, F32, [m, 2, 3], to).param("N_tile", 2).param("n_off", 0);
            for m_off in (0..m).step_by(tile as usize) {
                spec = spec.tile(&[("m_off", m_off), ("M_tile", tile.min(m - m_off))]);
            }
            b.add_sampled(spec, &[m, 2])?;
        }
    }
    for (form, m) in [("m-tile-1001", 1001), ("m-tile-1025", 1025), ("m-tile-4097", 4097)] {
        for &to in FLOATS {
            let spec = product(b, form, F32, [m, 2, 3], to).param("N_tile", 2).param("n_off", 0);
            b.add_sampled(spec.param("M_tile", m), &[m, 2])?;
        }
    }
    // Without m_off, a tile has the first rows.
    for (form, m, tile) in [
        ("no-m-off-4", 4, 2),
        ("no-m-off-5", 5, 3),
        ("no-m-off-7", 7, 3),
        ("no-m-off-9", 9, 1),
        ("no-m-off-12", 12, 5),
        ("no-m-off-17", 17, 8),
    ] {
        for &to in FLOATS {
            let mut spec = product(b, form, F32, [m, 2, 3], to).param("N_tile", 2).param("n_off", 0);
            spec = spec.tile(&[("M_tile", tile)]).tile(&[("M_tile", m - tile), ("m_off", tile)]);
            b.add(spec.clause(clause::NUM_13))?;
        }
    }
    Ok(())
}

fn attention(b: &mut Bench) -> Result<()> {
    for (form, dim) in [("head-257", 257), ("head-320", 320), ("head-513", 513)] {
        for &to in FLOATS {
            let tile = Tile { heads: 2, dim, len: 3, scale: power(-4), ..ONE };
            let seed = |what: &str| b.formula_seed(&format!("{form}-{what}"));
            let x = vec![
                ordinary(F32, &tile.query(), 1, seed("q")),
                ordinary(F32, &tile.cache(), 1, seed("k")),
                ordinary(F32, &tile.cache(), 1, seed("v")),
            ];
            b.add_sampled(tile.spec(form, SIZES, ABOUT, x, to), &tile.output())?;
        }
    }
    Ok(())
}

fn rope(b: &mut Bench) -> Result<()> {
    for (form, dim) in [("head-258", 258), ("head-386", 386), ("head-514", 514)] {
        for &to in FLOATS {
            let x = ordinary(F32, &[1, dim], 1, b.formula_seed(form));
            // A small base, so that the last frequencies, the lowest ones, turn as well.
            let spec = Spec::new(form, SIZES, ABOUT)
                .input(x)
                .input(ints(DType::I32, &[1], vec![1]))
                .output(to, &[1, dim])
                .param("head_dim", dim)
                .param("theta", 5.0);
            b.add_sampled(spec, &[1, dim])?;
        }
    }
    Ok(())
}

fn softmax(b: &mut Bench) -> Result<()> {
    for (form, n) in [("line-32768", 32_768), ("line-32771", 32_771), ("line-40009", 40_009)] {
        for to in [F32, BF16, F16] {
            // Most elements are far below the last, which would be missed.
            let mut x = draws(F32, &[n], (-40, -20), 0, b.formula_seed(form));
            x.set.push(super::at(n - 1, 3));
            x.set.push(super::at(n / 2, 2));
            b.add_sampled(Spec::new(form, SIZES, ABOUT).input(formula(x)).output(to, &[n]), &[n])?;
        }
    }
    for (form, lines) in [("lines-1025", 1025), ("lines-1030", 1030), ("lines-2051", 2051)] {
        for &to in FLOATS {
            let x = ordinary(F32, &[lines, 4], 1, b.formula_seed(form));
            b.add_sampled(Spec::new(form, SIZES, ABOUT).input(x).output(to, &[lines, 4]), &[lines, 4])?;
        }
    }
    Ok(())
}

fn allreduce(b: &mut Bench) -> Result<()> {
    for (form, shards) in [("shards-5", 5), ("shards-6", 6), ("shards-7", 7)] {
        for &(from, to) in FROM_F32 {
            let n = 4099;
            let inputs = (0..shards).map(|j| ordinary(from, &[n], 2, b.formula_seed(&format!("{form}-{j}"))));
            let inputs: Vec<_> = inputs.collect();
            let spec = Spec::new(format!("{form}-of-{n}"), SIZES, ABOUT).inputs(inputs).output(to, &[n]);
            b.add_sampled(spec, &[n])?;
        }
    }
    Ok(())
}

fn kv_append(b: &mut Bench) -> Result<()> {
    for (turn, (form, pos)) in
        [("batch-257", 257), ("batch-300", 300), ("batch-513", 513)].into_iter().enumerate()
    {
        for (from, to) in round(turn) {
            let new = ordinary(from, &[2, 1, 2], 2, b.formula_seed(form));
            let cache = reals(to, &[2, pos + 3, 1, 2], vec![1.0; 4 * (pos as usize + 3)]);
            let spec = Spec::new(form, SIZES, ABOUT).input(new).cache(cache).param("pos", pos);
            b.add_sampled(spec, &[2, pos + 3, 1, 2])?;
        }
    }
    Ok(())
}

fn argmax(b: &mut Bench) -> Result<()> {
    for (form, rows) in [("rows-1025", 1025), ("rows-1030", 1030), ("rows-2051", 2051)] {
        for &from in &[F32, F16, BF16] {
            let x = small(from, &[rows, 4], 7, b.formula_seed(form));
            let values = x.integers().map_err(crate::builder::Error)?;
            let values: Vec<f64> = values.iter().map(|&value| value as f64).collect();
            let known = first_maxima(&values, 4);
            let spec = Spec::new(form, SIZES, ABOUT).input(formula(x)).output(DType::I32, &[rows]);
            b.add(spec.known(Values::Ints(known)).clause(clause::NUM_13))?;
        }
    }
    Ok(())
}

fn combine(b: &mut Bench) -> Result<()> {
    for (form, rows, columns) in [
        ("rows-1025", 1025, 1),
        ("rows-1030", 1030, 1),
        ("rows-2051", 2051, 1),
        ("columns-257", 2, 257),
        ("columns-320", 2, 320),
        ("columns-513", 2, 513),
    ] {
        for &to in FLOATS {
            let width = columns + 2;
            let partial = |index: usize| {
                let mut x =
                    draws(F32, &[rows, width], (-40, 40), -4, b.formula_seed(&format!("{form}-{index}")));
                // Denominators are positive.
                let l =
                    megakernel_ir::formula::Set { first: width - 1, count: rows, stride: width, value: 24 };
                x.set.push(l);
                formula(x)
            };
            let inputs = [partial(0), partial(1)];
            let spec = Spec::new(form, SIZES, ABOUT).inputs(inputs).output(to, &[rows, columns]);
            b.add_sampled(spec, &[rows, columns])?;
        }
    }
    for &to in FLOATS {
        let partial = |b: &Bench, index: usize| {
            let mut x = draws(F32, &[3, 5], (-40, 40), -4, b.formula_seed(&format!("seven-{index}")));
            x.set.push(megakernel_ir::formula::Set { first: 4, count: 3, stride: 5, value: 24 });
            formula(x)
        };
        for (form, of) in [("partials-7-last", 6), ("partials-7-first", 0), ("partials-7-middle", 3)] {
            // One of the seven outweighs the others.
            let heavy = reals(
                F32,
                &[3, 5],
                [[1.0, -2.0, 3.0, 9.0, 2.0], [4.0, 1.0, 2.0, 8.0, 1.0], [2.0, 2.0, 1.0, 7.0, 1.5]].concat(),
            );
            let inputs = (0..7).map(|index| if index == of { heavy.clone() } else { partial(b, index) });
            let spec = Spec::new(form, SIZES, "seven partials")
                .inputs(inputs.collect::<Vec<_>>())
                .output(to, &[3, 3]);
            b.add(spec.clause(clause::NUM_13))?;
        }
    }
    Ok(())
}
