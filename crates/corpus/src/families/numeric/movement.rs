//! Opcodes that move elements: COPY, EMBED, KV_APPEND, SAMPLE_ARGMAX. What they write is known beforehand, bit for bit.

use megakernel_ir::rule::clause;
use megakernel_numerics::{decode, encode};

use super::bench::{Bench, Spec, every, most, round};
use super::data::{
    Values, coded, exponents, extremes, ints, normals, numel, reals, rounded, shuffle, specials, spread, ties,
};
use crate::builder::{DType, FLOATS, Result};

/// COPY: every pair of dtypes, ties and the ends of the ranges; reshaping; integers.
pub fn copy(b: &mut Bench) -> Result<()> {
    for &from in FLOATS {
        for &to in FLOATS {
            let values = specials(from);
            let spec = Spec::new("flat", "special", "zeros, ends of the range, infinities, NaN")
                .input(reals(from, &[values.len() as u64], values.clone()))
                .output(to, &[values.len() as u64]);
            b.add(spec.clause(clause::NUM_02).clause(clause::NUM_03).known(Values::Reals(values)))?;
            if from == to {
                continue;
            }
            let mut prng = b.prng("halfway", &format!("{from}-{to}"));
            let values = ties(&mut prng, from, to, 256);
            let spec =
                Spec::new("reshape", "halfway", "halfway between two numbers of the output, and beside it")
                    .own_inputs()
                    .input(reals(from, &[4, 64], values.clone()))
                    .output(to, &[2, 8, 16]);
            let values = values.iter().map(|v| rounded(from, *v)).collect();
            b.add(spec.clause(clause::NUM_02).known(Values::Reals(values)))?;
        }
    }
    for (from, to) in every() {
        let values = coded(from, 240);
        let spec = Spec::new("reshape-rank-4", "coded", "every element tells its place")
            .input(reals(from, &[6, 40], values.clone()))
            .output(to, &[5, 2, 8, 3]);
        b.add(spec.known(Values::Reals(values)))?;
        let (low, high) = exponents(from);
        let mut prng = b.prng("range", &format!("{from}"));
        let values = spread(&mut prng, 256, low, high);
        let spec = Spec::new("same-shape", "range", "magnitudes from the smallest to the largest")
            .input(reals(from, &[256], values))
            .output(to, &[256]);
        b.add(spec.clause(clause::NUM_02))?;
    }
    for (dtype, low, high) in [
        (DType::I32, i64::from(i32::MIN), i64::from(i32::MAX)),
        (DType::I8, -128, 127),
        (DType::I4, 0, 15),
        (DType::U8, 0, 255),
        (DType::Bool, 0, 1),
    ] {
        let mut prng = b.prng("random", dtype.name());
        let mut values: Vec<i64> =
            (0..94).map(|_| low + prng.below((high - low) as u64 + 1) as i64).collect();
        values.extend([low, high]);
        let spec = Spec::new("integers", "random", "integers over their whole range")
            .input(ints(dtype, &[8, 12], values.clone()))
            .output(dtype, &[6, 16]);
        b.add(spec.clause(clause::NUM_01).clause(clause::NUM_11).known(Values::Ints(values)))?;
    }
    Ok(())
}

/// EMBED: gathering in any order and twice, rows of one element, the reshape bridge, conversions.
pub fn embed(b: &mut Bench) -> Result<()> {
    // The table, ids, shape of the output, `hidden`.
    type Form = (&'static str, &'static [u64], &'static [i64], &'static [u64], u64);
    let forms: [Form; 7] = [
        ("rows", &[12, 20], &[11, 0, 5, 5, 3, 10, 1], &[7, 20], 20),
        ("bridge", &[1, 96], &[0], &[4, 24], 24),
        ("rank-3-table", &[7, 3, 8], &[6, 2, 4, 0], &[2, 2, 24], 24),
        ("vector-table", &[33], &[32, 1, 0, 17, 16, 8], &[6], 1),
        // `hidden` is no length of a row.
        ("hint-half", &[5, 24], &[3, 1], &[4, 12], 12),
        ("hint-double", &[6, 8], &[2, 5, 1, 4], &[2, 16], 16),
        ("hint-one", &[4, 10], &[3, 0, 2], &[3, 10], 1),
    ];
    for (turn, (form, table, ids, shape, hidden)) in forms.into_iter().enumerate() {
        for (from, to) in round(turn) {
            let (rows, width) =
                (table.first().copied().unwrap_or(1), numel(table.get(1..).unwrap_or_default()));
            let values = coded(from, rows as usize * width);
            let gathered = ids
                .iter()
                .flat_map(|&id| values.iter().skip(id as usize * width).take(width))
                .map(|v| rounded(from, *v))
                .collect();
            let spec = Spec::new(form, "coded", "every element of the table tells its place")
                .input(ints(DType::I32, &[ids.len() as u64], ids.to_vec()))
                .input(reals(from, table, values))
                .output(to, shape)
                .param("hidden", hidden);
            b.add(spec.known(Values::Reals(gathered)))?;
        }
    }
    for (from, to) in most() {
        let row = specials(from);
        let width = row.len() as u64;
        let table = [vec![3.0; row.len()], row.clone(), vec![-2.0; row.len()]].concat();
        let spec = Spec::new("special-row", "special", "zeros, ends of the range, infinities, NaN")
            .input(ints(DType::I32, &[2], vec![1, 0]))
            .input(reals(from, &[3, width], table))
            .output(to, &[2, width])
            .param("hidden", width);
        b.add(spec.clause(clause::NUM_03))?;
        if from != to {
            let mut prng = b.prng("halfway", &format!("{from}-{to}"));
            let spec = Spec::new("wide-row", "halfway", "halfway between two numbers of the output")
                .own_inputs()
                .input(ints(DType::I32, &[2], vec![1, 0]))
                .input(reals(from, &[2, 128], ties(&mut prng, from, to, 256)))
                .output(to, &[2, 128])
                .param("hidden", 128);
            b.add(spec.clause(clause::NUM_02))?;
        }
    }
    Ok(())
}

/// KV_APPEND: one row, several rows and one row a sequence, at the first, a middle and the last position; the other
/// rows of the cache keep what they hold.
pub fn kv_append(b: &mut Bench) -> Result<()> {
    // Shape of `new`, shape of the cache, position.
    let forms: [(&str, &[u64], &[u64], u64); 9] = [
        ("row-first", &[1, 2, 6], &[9, 2, 6], 0),
        ("row-middle", &[2, 6], &[9, 2, 6], 4),
        ("row-last", &[1, 2, 6], &[9, 2, 6], 8),
        ("rows-3", &[3, 2, 6], &[9, 2, 6], 5),
        ("flat-rows-2", &[24], &[9, 2, 6], 2),
        ("batch-3", &[3, 2, 6], &[3, 7, 2, 6], 3),
        ("batch-2-last", &[2, 2, 6], &[2, 5, 2, 6], 4),
        ("batch-4-flat", &[4, 12], &[4, 3, 2, 6], 0),
        ("batch-5", &[5, 1, 4], &[5, 4, 1, 4], 2),
    ];
    for (turn, (form, new, cache, pos)) in forms.into_iter().enumerate() {
        for (from, to) in round(turn) {
            let values = coded(from, numel(new));
            let held: Vec<f64> = coded(to, numel(cache)).iter().map(|v| rounded(to, -3.0 * v)).collect();
            let known = appended(new, cache, pos as usize, &values, &held);
            let spec =
                Spec::new(form, "coded", "every element tells its place; other rows keep what they hold")
                    .input(reals(from, new, values))
                    .cache(reals(to, cache, held))
                    .param("pos", pos);
            b.add(spec.clause(clause::EXE_08).known(Values::Reals(known)))?;
        }
    }
    for (from, to) in most() {
        let mut row = specials(from);
        row.resize(row.len() + row.len() % 2, 2.0);
        let shape = [1, 2, row.len() as u64 / 2];
        let cache = [3, shape[1], shape[2]];
        let held = vec![1.0; numel(&cache)];
        let spec = Spec::new("row-middle-wide", "special", "zeros, ends of the range, infinities, NaN")
            .input(reals(from, &shape, row))
            .cache(reals(to, &cache, held))
            .param("pos", 1);
        b.add(spec.clause(clause::NUM_03))?;
        if from != to {
            let mut prng = b.prng("halfway", &format!("{from}-{to}"));
            let spec = Spec::new("rows-2", "halfway", "halfway between two numbers of the cache's dtype")
                .input(reals(from, &[2, 4, 16], ties(&mut prng, from, to, 128)))
                .cache(reals(to, &[4, 4, 16], coded(to, 256)))
                .param("pos", 1);
            b.add(spec.clause(clause::NUM_02))?;
        }
    }
    Ok(())
}

/// The cache after the append.
pub fn appended(new: &[u64], cache: &[u64], pos: usize, values: &[f64], held: &[f64]) -> Vec<f64> {
    let row = numel(cache.get(cache.len() - 2..).unwrap_or_default());
    let mut out = held.to_vec();
    let starts: Vec<usize> = match cache {
        [batch, rows, ..] if cache.len() == 4 => {
            (0..*batch).map(|b| (b * rows) as usize * row + pos * row).collect()
        }
        _ => (0..numel(new) / row).map(|i| (pos + i) * row).collect(),
    };
    for (start, chunk) in starts.into_iter().zip(values.chunks(row)) {
        out.iter_mut().skip(start).zip(chunk).for_each(|(to, from)| *to = *from);
    }
    out
}

/// SAMPLE_ARGMAX: the maximum anywhere, ties, zeros of both signs, rows of one element, infinities.
pub fn sample_argmax(b: &mut Bench) -> Result<()> {
    for &dtype in FLOATS {
        let mut prng = b.prng("random", dtype.name());
        let rows = 6;
        let logits: Vec<f64> =
            normals(&mut prng, rows * 50, 2.0).iter().map(|v| rounded(dtype, *v)).collect();
        let spec = Spec::new("rows-6x50", "random", "in 8 bits with several equal maxima")
            .input(reals(dtype, &[6, 50], logits.clone()))
            .output(DType::I32, &[6]);
        b.add(spec.known(Values::Ints(first_maxima(&logits, 50))))?;

        // The maximum at the first, the last, and every place between.
        let mut logits: Vec<f64> = Vec::new();
        for place in 0..17 {
            let mut row = extremes(dtype).iter().map(|v| -v.abs()).chain([-0.5, -1.5]).collect::<Vec<f64>>();
            row.resize(17, -3.0);
            shuffle(&mut prng, &mut row);
            if let Some(winner) = row.get_mut(place) {
                *winner = 0.25;
            }
            logits.extend(row);
        }
        let spec = Spec::new("batch-17", "coded", "the largest logit at each place in turn")
            .input(reals(dtype, &[17, 1, 17], logits))
            .output(DType::I32, &[17, 1]);
        b.add(spec.known(Values::Ints((0..17).collect())))?;

        // Equal maxima: the first wins, also among zeros of either sign.
        let tied: Vec<Vec<f64>> = vec![
            vec![1.0, 3.0, 3.0, 2.0, 3.0],
            vec![3.0, 3.0, 3.0, 3.0, 3.0],
            vec![-2.0, -1.0, -4.0, -1.0, -1.0],
            vec![-1.0, -0.0, 0.0, -0.0, 0.0],
            vec![-1.0, 0.0, -0.0, 0.0, -2.0],
            vec![-8.0, -8.0, -6.0, -6.0, -7.0],
            vec![0.5, 0.25, 0.125, 0.5, 0.5],
            vec![-1.0, -2.0, -3.0, -4.0, -1.0],
        ];
        let known = Values::Ints(vec![1, 0, 1, 1, 1, 2, 0, 0]);
        let spec = Spec::new("rows-8x5", "equal", "several equal maxima, of which the first wins")
            .input(reals(dtype, &[8, 5], tied.concat()))
            .output(DType::I32, &[8]);
        b.add(spec.known(known))?;

        // Neighbours in the dtype differ.
        let mut rows = Vec::new();
        let mut winners = Vec::new();
        for row in 0..8 {
            let one = encode(dtype, 1.0);
            let mut values: Vec<f64> = (0..24).map(|step| decode(dtype, one + step)).collect();
            shuffle(&mut prng, &mut values);
            if row % 2 == 1 {
                values.iter_mut().for_each(|v| *v = -*v);
            }
            winners.extend(first_maxima(&values, 24));
            rows.extend(values);
        }
        let spec = Spec::new("rows-8x24", "neighbours", "logits that are neighbours in their dtype")
            .input(reals(dtype, &[8, 24], rows))
            .output(DType::I32, &[2, 4]);
        b.add(spec.known(Values::Ints(winners)))?;

        let (low, high) = exponents(dtype);
        let mut logits = spread(&mut prng, 400, low, high - 1);
        logits.iter_mut().for_each(|v| *v = rounded(dtype, *v));
        let known = first_maxima(&logits, 400);
        let spec = Spec::new("vector-400", "range", "magnitudes from the smallest to the largest")
            .input(reals(dtype, &[400], logits))
            .output(DType::I32, &[1]);
        b.add(spec.known(Values::Ints(known)))?;

        let mut values = extremes(dtype);
        values.push(0.0);
        let known = first_maxima(&values, values.len());
        let single = Spec::new("single", "special", "one logit")
            .input(reals(dtype, &[3, 1], vec![-1.0, 0.0, 5.0]))
            .output(DType::I32, &[3]);
        b.add(single.known(Values::Ints(vec![0; 3])))?;
        let ends = Spec::new("vector-ends", "special", "the ends of the range")
            .input(reals(dtype, &[values.len() as u64], values))
            .output(DType::I32, &[1]);
        b.add(ends.known(Values::Ints(known)))?;
        if dtype != DType::F8E4M3 {
            let inf = f64::INFINITY;
            let rows = vec![1.0, -inf, 2.0, -inf, -inf, -3.0, 5.0, inf, inf, -inf, -inf, -inf];
            let spec = Spec::new("rows-4x3", "special", "infinities, as masked logits have them")
                .input(reals(dtype, &[4, 3], rows))
                .output(DType::I32, &[4]);
            b.add(spec.clause(clause::NUM_03).known(Values::Ints(vec![2, 2, 1, 0])))?;
        }
    }
    Ok(())
}

/// The index of the first maximum of each row.
pub fn first_maxima(values: &[f64], width: usize) -> Vec<i64> {
    values
        .chunks(width.max(1))
        .map(|row| {
            let mut best = 0;
            for (index, value) in row.iter().enumerate() {
                if row.get(best).is_some_and(|found| value > found) {
                    best = index;
                }
            }
            best as i64
        })
        .collect()
}
