//! Values that nobody expects where nobody expects them: NaN with any payload, infinities and NaN in a late shard, sums of infinities of
//! both signs, zeros that do not hide a NaN, ties in later rows.

use megakernel_numerics::{decode, encode};

use super::super::bench::{Bench, Spec, every};
use super::super::data::{Operand, Values, bits, ints, power, reals};
use super::pairs;
use crate::builder::{DType, FLOATS, Op, Result, is_unary};
use megakernel_ir::rule::clause;

use DType::{BF16, F8E4M3, F8E5M2, F16, F32};

/// The cases of an opcode.
pub fn fill(b: &mut Bench, op: Op) -> Result<()> {
    payloads(b, op)?;
    match op {
        Op::RmsNorm => rms(b),
        Op::LayerNorm => constant_runs(b),
        Op::GemvTile | Op::GemmTile => infinite_bias(b, op),
        Op::SiluMul => gates(b),
        Op::AllreduceShard => late_shards(b),
        Op::SampleArgmax => argmax(b),
        _ => Ok(()),
    }
}

/// NaN of a dtype: of both signs, signalling and quiet, with payloads in the highest bits and in the lowest alone.
fn nans(dtype: DType) -> Vec<u32> {
    match dtype {
        F32 => {
            vec![0x7f80_0001, 0xff80_0001, 0x7f80_1fff, 0x7f80_ffff, 0xffbf_ffff, 0x7fc0_0001, 0xffff_ffff]
        }
        F16 => vec![0x7c01, 0xfc01, 0x7c0f, 0x7cff, 0x7dff, 0xfe01, 0xffff],
        BF16 => vec![0x7f81, 0xff81, 0x7f8f, 0x7fbf, 0xffc1, 0x7fff],
        F8E5M2 => vec![0x7d, 0xfd, 0x7e, 0xfe, 0x7f, 0xff],
        _ => vec![0x7f, 0xff],
    }
}

fn payloads(b: &mut Bench, op: Op) -> Result<()> {
    let about = "NaN of every sign and payload";
    for (from, to) in pairs(op, every()) {
        let stored = nans(from);
        let n = stored.len();
        let shape = vec![n as u64];
        let x = bits(from, &shape, stored.clone());
        let ones = || reals(from, &shape, vec![1.0; n]);
        let spec = Spec::new("payloads", "nan", about);
        let spec = match op {
            _ if is_unary(op) => spec.input(x).output(to, &shape),
            Op::Embed => {
                let ids = ints(DType::I32, &[2], vec![1, 0]);
                let table = bits(from, &[2, n as u64], stored.repeat(2));
                spec.inputs([ids, table]).output(to, &[2, n as u64]).param("hidden", n)
            }
            Op::KvAppend => {
                let cache = reals(to, &[2, 1, n as u64], vec![0.0; 2 * n]);
                spec.input(x).cache(cache).param("pos", 1)
            }
            Op::SiluMul | Op::Add | Op::Mul => spec.inputs([x, ones()]).output(to, &shape),
            Op::AllreduceShard => spec.inputs([ones(), ones(), x]).output(to, &shape),
            Op::Softmax => spec.input(Operand { shape: vec![shape[0], 1], ..x }).output(to, &[shape[0], 1]),
            _ => return Ok(()),
        };
        let spec = match op {
            Op::KvAppend => {
                let mut known = vec![0.0; n];
                known.extend(vec![f64::NAN; n]);
                spec.known(Values::Reals(known))
            }
            Op::Embed => spec.known(Values::Reals(vec![f64::NAN; 2 * n])),
            _ => spec.known(Values::Reals(vec![f64::NAN; n])),
        };
        b.add(spec.clause(clause::NUM_03))?;
    }
    lowest(b, op)
}

/// One NaN whose payload is in its lowest bits, among ordinary numbers, where values are moved: who cuts those bits off stores an
/// infinity.
fn lowest(b: &mut Bench, op: Op) -> Result<()> {
    let about = "NaN whose payload is in the lowest bits, among ordinary numbers";
    for (from, to) in pairs(op, every()) {
        let Some(&nan) = nans(from).first() else { continue };
        let sign = 1 << (8 * from.nbytes(1) - 1);
        for (form, bits_of) in [("payload-lowest", nan), ("payload-lowest-negative", nan | sign)] {
            let stored = |place: usize, n: u32| {
                let number = |i: u32| encode(from, [1.0, -2.0, 0.5, 3.0, -1.5][i as usize % 5]);
                (0..n).map(|i| if i as usize == place { bits_of } else { number(i) }).collect::<Vec<u32>>()
            };
            let held = |place: usize| stored(place, 6).into_iter().map(|bits| decode(from, bits));
            let spec = Spec::new(form, "nan", about);
            let spec = match op {
                Op::Copy => {
                    spec.input(bits(from, &[2, 3], stored(4, 6))).output(to, &[6]).known(known(held(4)))
                }
                Op::Embed => {
                    let ids = ints(DType::I32, &[1], vec![1]);
                    let table = [stored(6, 6), stored(4, 6)].concat();
                    let spec = spec.inputs([ids, bits(from, &[2, 6], table)]).output(to, &[1, 6]);
                    spec.param("hidden", 6).known(known(held(4)))
                }
                Op::KvAppend => {
                    let cache = reals(to, &[2, 1, 6], vec![0.0; 12]);
                    let before = std::iter::repeat_n(0.0, 6);
                    let spec = spec.input(bits(from, &[1, 1, 6], stored(4, 6))).cache(cache).param("pos", 1);
                    spec.known(known(before.chain(held(4))))
                }
                _ => return Ok(()),
            };
            b.add(spec.clause(clause::NUM_03))?;
        }
    }
    Ok(())
}

fn known(values: impl Iterator<Item = f64>) -> Values {
    Values::Reals(values.collect())
}

/// A weight of 0 beside a NaN or an infinity; squares far below 1 without eps.
fn rms(b: &mut Bench) -> Result<()> {
    for (from, to) in every() {
        let nan = f64::NAN;
        let rows = vec![nan, 1.0, 2.0, 0.5, 1.0, 2.0, 1.0, nan];
        let spec =
            Spec::new("weight-zero", "hidden-nan", "a weight of 0 in a row with a NaN: the whole row is NaN")
                .input(reals(from, &[2, 4], rows))
                .input(reals(from, &[4], vec![1.0, 0.0, -0.0, 2.0]))
                .output(to, &[2, 4])
                .param("hidden", 4)
                .param("eps", 0.5)
                .known(Values::Reals(vec![nan; 8]));
        b.add(spec.clause(clause::NUM_03))?;
    }
    for from in [F32, BF16] {
        for to in FLOATS.iter().copied() {
            for (form, exponent) in [("two-to-minus-52", -52), ("two-to-minus-58", -58)] {
                let x = [1.0, -2.0, 3.0, 0.5].map(|value| value * power(exponent));
                let spec = Spec::new(form, "tiny-squares", "squares far below 1, and no eps")
                    .input(reals(from, &[4], x.to_vec()))
                    .input(reals(from, &[4], vec![1.0, 2.0, 0.5, -1.0]))
                    .output(to, &[4])
                    .param("hidden", 4)
                    .param("eps", 0);
                b.add(spec.clause(clause::NUM_08))?;
            }
        }
    }
    Ok(())
}

/// A run of equal elements has variance 0, which without eps makes NaN of all.
fn constant_runs(b: &mut Bench) -> Result<()> {
    for (from, to) in every() {
        let spec =
            Spec::new("no-eps", "constant", "a run of one value and eps 0, without bias: NaN throughout")
                .input(reals(from, &[3, 4], [[1.5; 4], [0.0; 4], [-2.0; 4]].concat()))
                .input(reals(from, &[4], vec![1.0, 2.0, 0.5, -1.0]))
                .output(to, &[3, 4])
                .param("hidden", 4)
                .param("eps", 0)
                .known(Values::Reals(vec![f64::NAN; 12]));
        b.add(spec.clause(clause::NUM_03))?;
    }
    Ok(())
}

/// Sums of infinities of both signs.
fn infinite_bias(b: &mut Bench, op: Op) -> Result<()> {
    let inf = f64::INFINITY;
    for (from, to) in every().filter(|(from, _)| *from != F8E4M3) {
        let spec = Spec::new(
            "infinite-bias",
            "infinities",
            "an infinite product, and an infinite bias of either sign",
        )
        .input(reals(from, &[2, 2], vec![inf, 1.0, 2.0, -inf]))
        .input(reals(from, &[2, 2], vec![1.0, 2.0, 1.0, 1.0]))
        .input(reals(from, &[2], vec![-inf, inf]))
        .output(to, &[2, 2])
        .param("K", 2)
        .param("N_tile", 2)
        .param("n_off", 0)
        .known(Values::Reals(vec![f64::NAN, inf, -inf, f64::NAN]));
        let spec = if op == Op::GemmTile { spec.param("M_tile", 2) } else { spec };
        b.add(spec.clause(clause::NUM_03))?;
    }
    Ok(())
}

/// Gates close to 0 beside an infinity, and products beyond what the output holds.
fn gates(b: &mut Bench) -> Result<()> {
    let inf = f64::INFINITY;
    for from in [F32, BF16] {
        for to in FLOATS.iter().copied() {
            for (form, by) in [("tiny-gates", 1.0), ("tinier-gates", -power(-6))] {
                let gates = [1e-31, -1e-33, 1e-20, 3e-36, 1e-34, -1e-10].map(|gate| gate * by).to_vec();
                let known = [inf, -inf, -inf, inf, -inf, -inf].map(|y| y * by);
                let spec = Spec::new(form, "infinities", "a gate close to 0, and an infinite up")
                    .input(reals(from, &[6], gates))
                    .input(reals(from, &[6], vec![inf, inf, -inf, inf, -inf, inf]))
                    .output(to, &[6])
                    .known(Values::Reals(known.to_vec()));
                b.add(spec.clause(clause::NUM_03))?;
            }
        }
    }
    for from in [F32, F16, BF16] {
        for to in FLOATS.iter().copied() {
            let spec = Spec::new("beyond", "ends", "products beyond what narrow outputs hold")
                .input(reals(from, &[6], vec![300.0, 300.0, -2.0, 256.0, 30.0, 60_000.0]))
                .input(reals(from, &[6], vec![300.0, -300.0, 60_000.0, 255.0, -32.0, 2.0]))
                .output(to, &[6]);
            b.add(spec.clause(clause::NUM_02))?;
        }
    }
    Ok(())
}

/// The special value of each element in another shard, zeros in all others.
fn late_shards(b: &mut Bench) -> Result<()> {
    for (from, to) in every() {
        let least = decode(from, 1);
        let specials = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, least, -least, 1.0];
        for shards in [4_usize, 5, 7, 8] {
            let n = shards * specials.len();
            let inputs = (0..shards).map(|shard| {
                let element = |index: usize| {
                    let special = specials.get(index % specials.len()).copied().unwrap_or_default();
                    if index / specials.len() == shard { special } else { 0.0 }
                };
                reals(from, &[n as u64], (0..n).map(element).collect())
            });
            let form = format!("in-each-of-{shards}");
            let spec =
                Spec::new(form, "specials", "a NaN, infinities and subnormal numbers in each shard in turn")
                    .inputs(inputs)
                    .output(to, &[n as u64]);
            b.add(spec.clause(clause::NUM_03))?;
        }
    }
    Ok(())
}

/// Ties in later rows, the least of numbers, rows of one NaN.
fn argmax(b: &mut Bench) -> Result<()> {
    for &from in FLOATS {
        // Each row has its maximum at two places.
        let places: [(usize, usize); 12] = [
            (3, 31),
            (30, 31),
            (7, 63),
            (0, 69),
            (31, 63),
            (32, 64),
            (1, 2),
            (15, 16),
            (63, 64),
            (8, 40),
            (68, 69),
            (5, 37),
        ];
        let rows: Vec<f64> = places
            .iter()
            .flat_map(|&(a, c)| {
                (0..70).map(move |i| if i == a || i == c { 3.0 } else { (i % 5) as f64 / 2.0 })
            })
            .collect();
        let spec = Spec::new("later-rows-70", "ties", "equal maxima in every row: the first one counts")
            .input(reals(from, &[12, 70], rows))
            .output(DType::I32, &[12])
            .known(Values::Ints(places.iter().map(|&(a, _)| a as i64).collect()));
        b.add(spec)?;
        let least = decode(from, 1);
        let rows = [[-1.0, -2.0, -least, -0.5], [-least, -1.0, -2.0, -0.5], [-2.0, -1.0, -0.5, -least]];
        let more =
            [[-2.0 * least, -least, -1.0, -1.0], [-1.0, -1.0, -1.0, -least], [-least, 0.0, -1.0, least]];
        let spec =
            Spec::new("least-negative", "small", "the largest logit is the subnormal number just below 0")
                .input(reals(from, &[6, 4], [rows, more].concat().concat()))
                .output(DType::I32, &[6])
                .known(Values::Ints(vec![2, 0, 3, 1, 3, 3]));
        b.add(spec.clause(clause::NUM_03))?;
        for (form, width, place) in [("least-negative-37", 37, 35), ("least-negative-70", 70, 66)] {
            let row = (0..width).map(|i| if i == place { -least } else { -1.0 - (i % 4) as f64 / 2.0 });
            let spec = Spec::new(
                form,
                "small",
                "one logit is the subnormal number just below 0, the others are far below",
            )
            .input(reals(from, &[1, width as u64], row.collect()))
            .output(DType::I32, &[1])
            .known(Values::Ints(vec![place]));
            b.add(spec.clause(clause::NUM_03))?;
        }
        let spec = Spec::new("rows-of-one", "nan", "rows of one logit, NaN among them: its index is 0")
            .input(reals(from, &[5, 1], vec![f64::NAN, 1.0, f64::NAN, -1.0, f64::NAN]))
            .output(DType::I32, &[5])
            .known(Values::Ints(vec![0; 5]));
        b.add(spec.clause(clause::NUM_03))?;
        behind_nan(b, from)?;
    }
    Ok(())
}

/// Rows with a NaN between others. Their tokens may be any, and the others may not: an EMBED shows them by rows of a table.
fn behind_nan(b: &mut Bench, from: DType) -> Result<()> {
    // Of each row the place of its NaN, if it has one, and of its largest logit.
    type Row = (Option<usize>, usize);
    let forms: [(&str, &[Row]); 4] = [
        ("behind-nan-first", &[(Some(0), 2), (None, 3), (None, 1), (None, 4)]),
        ("behind-nan-last", &[(None, 2), (Some(4), 1), (None, 4), (None, 1)]),
        ("behind-nan-each", &[(Some(2), 2), (None, 3), (Some(3), 0), (None, 2), (Some(1), 4), (None, 4)]),
        ("behind-nan-rows", &[(Some(1), 0), (Some(0), 3), (Some(4), 2), (None, 1), (None, 2), (None, 3)]),
    ];
    for (form, rows) in forms {
        let logit = |(nan, top): Row, i: usize| match nan {
            Some(place) if place == i => f64::NAN,
            _ if i == top => 4.0,
            _ => (i * 3 % 5) as f64 / 2.0,
        };
        let logits = rows.iter().flat_map(|&row| (0..5).map(move |i| logit(row, i))).collect();
        let table = [1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0, 5.0, -5.0];
        let picked = rows.iter().flat_map(|&(_, top)| [table[2 * top], table[2 * top + 1]]).collect();
        let is_open = |place: &u64| rows.get(*place as usize / 2).is_some_and(|(nan, _)| nan.is_some());
        let count = rows.len() as u64;
        let spec = Spec::new(form, "nan", "rows of logits before and behind rows with a NaN")
            .input(reals(from, &[count, 5], logits))
            .output(DType::I32, &[count])
            .picking(reals(DType::F32, &[5, 2], table.to_vec()))
            .known(Values::Reals(picked))
            .open((0..2 * count).filter(is_open).collect());
        b.add(spec.clause(clause::NUM_03).clause(clause::OPC_02))?;
    }
    Ok(())
}
