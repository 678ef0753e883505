//! ALLREDUCE_SHARD and ATTENTION_COMBINE: the same element of several buffers.

use super::bench::{Bench, FROM_F32, Spec, most, round};
use super::data::{
    Values, coded, ends, ints, normal, normals, numel, reals, sign, specials, spread, uniform,
};
use crate::builder::{DType, Result};
use megakernel_ir::rule::clause;

/// ALLREDUCE_SHARD over one to eight shards.
pub fn allreduce(b: &mut Bench) -> Result<()> {
    let shape = [4, 24];
    let n = numel(&shape);
    for (turn, shards) in [1, 2, 5, 8].into_iter().enumerate() {
        for (from, to) in round(turn) {
            let mut prng = b.prng("random", &format!("{from}-{shards}"));
            let inputs: Vec<_> =
                (0..shards).map(|_| reals(from, &shape, normals(&mut prng, n, 2.0))).collect();
            let spec = Spec::new(format!("shards-{shards}"), "random", "ordinary numbers");
            b.add(spec.inputs(inputs).output(to, &shape).clause(clause::NUM_08))?;
        }
    }
    for (from, to) in most() {
        for shards in [3, 8] {
            // Shard j holds a number of its own size, so that the sum tells which shards are in it, and how often.
            let mut prng = b.prng("probe", &format!("{from}-{shards}"));
            let mut totals = Vec::new();
            let mut columns = vec![Vec::new(); shards];
            while totals.len() < n {
                let column: Vec<i64> = (0..shards).map(|_| 1 + prng.below(4) as i64).collect();
                let column: Vec<i64> =
                    column.iter().map(|v| if prng.below(2) == 0 { *v } else { -*v }).collect();
                let total: i64 = column.iter().sum();
                if total.abs() <= 7 {
                    totals.push(total as f64);
                    columns.iter_mut().zip(column).for_each(|(list, value)| list.push(value));
                }
            }
            let inputs: Vec<_> = columns.into_iter().map(|values| ints(from, &shape, values)).collect();
            let spec = Spec::new(format!("shards-{shards}"), "probe", "small integers, none of them zero");
            let known = Values::Reals(totals);
            b.add(spec.inputs(inputs).output(to, &shape).clause(clause::NUM_09).known(known))?;
        }
        let mut prng = b.prng("cancellation", from.name());
        let a = normals(&mut prng, n, 4.0);
        let c = normals(&mut prng, n, 0.01);
        let inputs = [a.clone(), c, a.iter().map(|v| -v).collect()].map(|values| reals(from, &shape, values));
        let spec = Spec::new("shards-3", "cancellation", "sums much smaller than their terms");
        b.add(spec.inputs(inputs).output(to, &shape).clause(clause::NUM_08))?;
        let mut prng = b.prng("range", from.name());
        let inputs: Vec<_> = (0..4).map(|_| reals(from, &shape, spread(&mut prng, n, -10, 7))).collect();
        let spec = Spec::new("shards-4", "range", "terms of very different magnitudes");
        b.add(spec.inputs(inputs).output(to, &shape).clause(clause::NUM_08))?;
    }
    for (from, to) in most() {
        let inputs: Vec<_> = (0..6)
            .map(|j| coded(from, n).iter().map(|v| v * if j % 2 == 0 { 1.0 } else { -0.5 }).collect())
            .map(|values| reals(from, &shape, values))
            .collect();
        let spec = Spec::new("shards-6", "coded", "every element tells its place");
        b.add(spec.inputs(inputs).output(to, &shape))?;
        let values = specials(from);
        let size = [values.len() as u64];
        let other = vec![0.0; values.len()];
        let inputs = [other.clone(), values, other].map(|values| reals(from, &size, values));
        let spec = Spec::new("shards-of-specials", "special", "zeros, ends of the range, infinities, NaN");
        b.add(spec.inputs(inputs).output(to, &size).clause(clause::NUM_03))?;
    }
    for &(from, to) in FROM_F32 {
        // 4,099 and 32,771 need 13 and 16 bits; what is left over is small.
        let mut prng = b.prng("accumulator", from.name());
        let mut shards = vec![Vec::new(); 6];
        let mut totals = Vec::new();
        for _ in 0..n {
            let mut column: Vec<i64> =
                (0..5).map(|_| (2049 + 2 * prng.below(15_000) as i64) * sign(&mut prng) as i64).collect();
            let total = 1 + prng.below(7) as i64;
            column.push(total - column.iter().sum::<i64>());
            totals.push(total as f64);
            shards.iter_mut().zip(column).for_each(|(list, value)| list.push(value));
        }
        let inputs: Vec<_> = shards.into_iter().map(|values| ints(from, &shape, values)).collect();
        let spec =
            Spec::new("shards-6", "accumulator", "partial sums that an accumulator of 16 bits cannot hold");
        let known = Values::Reals(totals);
        b.add(
            spec.inputs(inputs).output(to, &shape).clause(clause::NUM_06).clause(clause::NUM_09).known(known),
        )?;
    }
    Ok(())
}

/// A partial result: accumulator, maximum and denominator of each row.
struct Partial {
    a: Vec<Vec<f64>>,
    m: Vec<f64>,
    l: Vec<f64>,
}

impl Partial {
    fn values(&self) -> Vec<f64> {
        let rows = self.a.iter().zip(&self.m).zip(&self.l);
        rows.flat_map(|((a, m), l)| a.iter().copied().chain([*m, *l]).collect::<Vec<f64>>()).collect()
    }
}

/// ATTENTION_COMBINE of two to eight partials, some of them empty, with maxima close together and far apart.
pub fn combine(b: &mut Bench) -> Result<()> {
    let (rows, dim) = (6, 10);
    for &(_, to) in FROM_F32 {
        for (form, count, batch) in [
            ("partials-2", 2, None),
            ("partials-3", 3, None),
            ("partials-8", 8, None),
            ("batch-5", 5, Some(2)),
        ] {
            let shape: Vec<u64> = match batch {
                Some(batch) => vec![batch, rows as u64 / batch, dim as u64 + 2],
                None => vec![rows as u64, dim as u64 + 2],
            };
            let output: &[u64] = if batch.is_some() { &[2, 30] } else { &[6, 10] };
            // What sets the data families apart: how far maxima are apart, and which partials are empty.
            type Empty = fn(usize, usize, usize) -> bool;
            let kinds: [(&'static str, &str, f64, Empty); 5] = [
                ("random", "maxima close together", 1.5, |_, _, _| false),
                ("rescaled", "maxima far apart, so that most partials weigh little", 12.0, |_, _, _| false),
                ("large", "maxima that overflow exp unless the largest is subtracted", 150.0, |_, _, _| {
                    false
                }),
                ("empty-some", "some partials are empty", 2.0, |row, part, count| {
                    (row + part) % count.max(2) == 0
                }),
                ("empty-most", "all partials but one are empty", 2.0, |row, part, count| part != row % count),
            ];
            for (data, about, distance, empty) in kinds {
                let mut prng = b.prng(data, form);
                let inputs: Vec<_> = (0..count)
                    .map(|part| {
                        let mut partial = Partial { a: Vec::new(), m: Vec::new(), l: Vec::new() };
                        for row in 0..rows {
                            if empty(row, part, count) {
                                partial.a.push(vec![0.0; dim]);
                                partial.m.push(f64::NEG_INFINITY);
                                partial.l.push(0.0);
                                continue;
                            }
                            let l = uniform(&mut prng, 1.0, 6.0);
                            partial.a.push((0..dim).map(|_| l * normal(&mut prng, 1.0)).collect());
                            partial.m.push(normal(&mut prng, distance));
                            partial.l.push(l);
                        }
                        reals(DType::F32, &shape, partial.values())
                    })
                    .collect();
                b.add(Spec::new(form, data, about).inputs(inputs).output(to, output).clause(clause::NUM_08))?;
            }
        }
        // An empty partial weighs nothing, whatever its maximum and its accumulator hold. Maxima of 0 weigh exactly 1.
        let row = |a: [f64; 3], m, l| [a[0], a[1], a[2], m, l];
        let first = [
            row([1.0, 2.0, -3.0], 0.0, 1.0),
            row([2.0, 4.0, 6.0], 0.0, 2.0),
            row([0.0; 3], f64::NEG_INFINITY, 0.0),
        ];
        let second = [
            row([9.0, 9.0, 9.0], -4.0, 0.0),
            row([0.0; 3], f64::NEG_INFINITY, 0.0),
            row([3.0, -1.0, 5.0], 0.0, 1.0),
        ];
        let known = vec![1.0, 2.0, -3.0, 1.0, 2.0, 3.0, 3.0, -1.0, 5.0];
        let inputs = [first, second].map(|rows| reals(DType::F32, &[3, 5], rows.concat()));
        let spec = Spec::new(
            "partials-2x3",
            "empty-exact",
            "one partial of each row is empty; the other is the result",
        );
        b.add(spec.inputs(inputs).output(to, &[3, 3]).known(Values::Reals(known)))?;
        for (form, others) in [("partials-3x2", 2), ("partials-5x2", 4)] {
            // The maximum of an empty partial is below the others', so that a weight of its own would show.
            let full = [row([2.0, -4.0, 6.0], 0.0, 2.0), row([1.0, 3.0, -7.0], 0.0, 1.0)];
            let stale = [row([8.0, 8.0, 8.0], -0.5, 0.0), row([-9.0, 5.0, 64.0], -1.5, 0.0)];
            let known = vec![1.0, -2.0, 3.0, 1.0, 3.0, -7.0];
            let partials = (0..others).map(|_| stale).chain([full]);
            let inputs: Vec<_> = partials.map(|rows| reals(DType::F32, &[2, 5], rows.concat())).collect();
            let spec =
                Spec::new(form, "empty-exact", "partials that are empty, and hold what they must not add");
            b.add(spec.inputs(inputs).output(to, &[2, 3]).known(Values::Reals(known)))?;
        }
        for (form, count) in [("ends-34", 34), ("ends-24", 24), ("ends-17", 17)] {
            let values = ends(to, count);
            let partial = |a: &[f64], m: f64, l: f64| {
                reals(DType::F32, &[1, count as u64 + 2], a.iter().copied().chain([m, l]).collect())
            };
            let inputs = [partial(&vec![0.0; count], f64::NEG_INFINITY, 0.0), partial(&values, 0.0, 1.0)];
            let about = "results around the smallest and the largest number of the output";
            let spec = Spec::new(form, "ends", about).own_inputs().inputs(inputs).output(to, &[count as u64]);
            b.add(spec.clause(clause::NUM_02).clause(clause::NUM_03))?;
        }
        let nan = [row([1.0, f64::NAN, 3.0], 0.0, 1.0), row([2.0, 4.0, 6.0], 1.0, 2.0)];
        let plain = [row([2.0, 1.0, 5.0], 0.0, 1.0), row([1.0, -1.0, 2.0], 1.0, 2.0)];
        for (form, parts) in [("nan-first", [nan, plain]), ("nan-second", [plain, nan])] {
            let inputs = parts.map(|rows| reals(DType::F32, &[2, 5], rows.concat()));
            let spec = Spec::new(form, "special", "a NaN reaches its own element and no other");
            b.add(spec.inputs(inputs).output(to, &[2, 3]).clause(clause::NUM_03))?;
        }
        // Maxima of 0: no rescaling, and exact sums divided by a power of two.
        let parts = [[8.0, -4.0, 12.0, 0.0, 2.0], [0.0, 8.0, 4.0, 0.0, 1.0], [4.0, 4.0, -4.0, 0.0, 1.0]];
        let known = vec![3.0, 2.0, 3.0];
        let inputs = parts.map(|row| reals(DType::F32, &[1, 5], row.to_vec()));
        let spec = Spec::new("partials-3x1", "equal", "maxima of 0: exact sums");
        b.add(spec.inputs(inputs).output(to, &[3]).clause(clause::NUM_09).known(Values::Reals(known)))?;
        let empty = reals(DType::F32, &[2, 5], row([0.0; 3], f64::NEG_INFINITY, 0.0).repeat(2));
        let spec = Spec::new("partials-2x2", "empty-all", "every partial is empty: the result is 0");
        let known = Values::Reals(vec![0.0; 6]);
        b.add(spec.inputs([empty.clone(), empty]).output(to, &[2, 3]).known(known))?;
    }
    Ok(())
}
