//! RMSNORM, LAYERNORM, SOFTMAX: a reduction over a line, then every element of it.

use super::bench::{Bench, FROM_F32, Spec, most, round};
use super::data::{coded, cycle, ends, exponents, ints, normals, numel, reals, spread, uniforms};
use crate::builder::{DType, Result};
use megakernel_ir::rule::clause;

/// A weight whose elements differ in magnitude and sign.
fn weight(n: u64) -> Vec<f64> {
    cycle(&[1.0, -0.75, 1.5, 0.5, -1.25, 2.0, 0.875], n as usize)
}

struct Norm<'a> {
    form: &'a str,
    data: &'static str,
    about: &'a str,
    shape: &'a [u64],
    eps: f64,
    x: Vec<f64>,
}

impl Norm<'_> {
    fn rms(self, (from, to): (DType, DType)) -> Spec {
        let hidden = self.shape.last().copied().unwrap_or(1);
        Spec::new(self.form, self.data, self.about)
            .inputs([reals(from, self.shape, self.x), reals(from, &[hidden], weight(hidden))])
            .output(to, self.shape)
            .param("eps", self.eps)
            .param("hidden", hidden)
            .clause(clause::NUM_08)
    }

    fn layer(self, (from, to): (DType, DType), bias: bool) -> Spec {
        let hidden = self.shape.last().copied().unwrap_or(1);
        let mut inputs = vec![reals(from, self.shape, self.x), reals(from, &[hidden], weight(hidden))];
        if bias {
            inputs.push(reals(from, &[hidden], cycle(&[0.25, -1.0, 0.5, 0.0, 1.5], hidden as usize)));
        }
        Spec::new(self.form, self.data, self.about)
            .inputs(inputs)
            .output(to, self.shape)
            .param("eps", self.eps)
            .param("hidden", hidden)
            .clause(clause::NUM_08)
    }
}

/// Rows of `width` in which one element outweighs all others: the last, the first, then every place in between in
/// steps. A sum that leaves it out, or counts it twice, is far off.
fn spikes(rows: usize, width: usize, height: f64) -> Vec<f64> {
    let mut values = cycle(&[0.5, -0.25, 0.75, -0.5, 0.25, 1.0], rows * width);
    for row in 0..rows {
        let place = match row {
            0 => width - 1,
            1 => 0,
            _ => row * width / rows,
        };
        if let Some(value) = values.get_mut(row * width + place) {
            *value = if row % 2 == 0 { height } else { -height };
        }
    }
    values
}

/// RMSNORM.
pub fn rmsnorm(b: &mut Bench) -> Result<()> {
    at_the_ends(b)?;
    for pair in most() {
        let name = pair.0.name();
        let x = normals(&mut b.prng("random", name), 192, 1.5);
        let about = "ordinary numbers";
        let (form, data) = ("rows-4x48", "random");
        b.add(Norm { form, data, about, shape: &[4, 48], eps: 1e-6, x }.rms(pair))?;

        let x = coded(pair.0, 90);
        let about = "every element tells its place; the weight alternates";
        let (form, data) = ("rank-3", "coded");
        b.add(Norm { form, data, about, shape: &[2, 3, 15], eps: 1e-5, x }.rms(pair))?;

        let x = spikes(6, 40, 12.0);
        let about = "one element of each row outweighs the others: the last, the first, one between";
        let (form, data) = ("rows-6x40", "spike");
        b.add(Norm { form, data, about, shape: &[6, 40], eps: 1e-6, x }.rms(pair))?;

        // The mean of squares is about 1e-3: with eps inside the root the result is x, otherwise x / 1.03 or x / 0.03.
        let x = uniforms(&mut b.prng("eps", name), 96, -0.0625, 0.0625);
        let about = "eps outweighs the mean of squares";
        let (form, data) = ("rows-3x32", "eps");
        b.add(Norm { form, data, about, shape: &[3, 32], eps: 1.0, x }.rms(pair))?;
        let x = uniforms(&mut b.prng("eps", &format!("{name}-equal")), 128, -0.25, 0.25);
        let about = "eps is about as large as the mean of squares";
        let (form, data) = ("rows-8x16", "eps");
        b.add(Norm { form, data, about, shape: &[8, 16], eps: 0.03125, x }.rms(pair))?;

        let (low, high) = exponents(pair.0);
        // Squares must neither vanish nor overflow in binary32.
        let (low, high) = (low.max(-50), high.min(40));
        let mut x = Vec::new();
        for row in 0..8 {
            let middle = low + 4 + (high - low - 8) * row / 7;
            x.extend(spread(&mut b.prng("range", &format!("{name}-{row}")), 16, middle - 3, middle + 3));
        }
        let about = "each row of another magnitude";
        let (form, data) = ("rows-8x16-no-eps", "range");
        b.add(Norm { form, data, about, shape: &[8, 16], eps: 0.0, x }.rms(pair))?;
    }
    for pair in round(0) {
        let x = normals(&mut b.prng("long", pair.0.name()), 1000, 1.0);
        let about = "a long row, no multiple of a power of two above 8";
        let (form, data) = ("vector-1000", "long");
        b.add(Norm { form, data, about, shape: &[1000], eps: 1e-6, x }.rms(pair))?;
        let mut x =
            vec![1.0, -1.0, 0.5, 0.0, 2.0, f64::NAN, 1.0, -0.0, 0.0, -0.0, 0.0, 0.0, -1.0, 1.0, 1.0, -1.0];
        let about = "a row with a NaN, a row of zeros, and rows beside them";
        x.extend([0.25; 4]);
        let (form, data) = ("rows-5x4", "special");
        b.add(Norm { form, data, about, shape: &[5, 4], eps: 1e-6, x }.rms(pair).clause(clause::NUM_03))?;
        let x = vec![3.0, -5.0, 0.25, 1.0];
        let about = "rows of one element";
        let (form, data) = ("rows-4x1", "special");
        b.add(Norm { form, data, about, shape: &[4, 1], eps: 0.5, x }.rms(pair))?;
    }
    for &pair in FROM_F32 {
        // 2,048 squares of 1 after one of 4,096: 16-bit accumulators stay where they are.
        let mut x = vec![1.0; 4096];
        if let Some(first) = x.first_mut() {
            *first = 64.0;
        }
        let about = "many small squares after a large one, which an accumulator of 16 bits loses";
        let (form, data) = ("vector-4096", "accumulator");
        b.add(Norm { form, data, about, shape: &[4096], eps: 0.0, x }.rms(pair).clause(clause::NUM_06))?;
    }
    Ok(())
}

/// Cases of a norm whose rows are 1 and -1, so that the result is the weight: the ends of what the output holds.
fn at_the_ends(b: &mut Bench) -> Result<()> {
    for &(from, to) in FROM_F32 {
        for (form, width) in [("ends-34", 34_u64), ("ends-16", 16), ("ends-28", 28)] {
            let x = reals(from, &[2, width], cycle(&[1.0, -1.0], 2 * width as usize));
            let spec =
                Spec::new(form, "ends", "results around the smallest and the largest number of the output")
                    .own_inputs()
                    .inputs([x, reals(from, &[width], ends(to, width as usize))])
                    .output(to, &[2, width])
                    .param("eps", 0.0)
                    .param("hidden", width);
            b.add(spec.clause(clause::NUM_02).clause(clause::NUM_03))?;
        }
    }
    Ok(())
}

/// A mean as large as the dtype can hold beside a variance of a few units in the last place.
fn large(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => 12_000.0,
        DType::F16 => 1024.0,
        DType::BF16 => 128.0,
        _ => 8.0,
    }
}

/// LAYERNORM.
pub fn layernorm(b: &mut Bench) -> Result<()> {
    at_the_ends(b)?;
    for pair in most() {
        // Runs that span axes: a norm over the last axis alone is another one.
        for (form, shape, hidden) in [
            ("two-axes", &[4_u64, 3, 8][..], 24),
            ("three-axes", &[3, 2, 3, 5], 30),
            ("whole-buffer", &[6, 7], 42),
        ] {
            let x = normals(&mut b.prng("axes", &format!("{form}-{}", pair.0)), numel(shape), 2.0);
            let spec = Spec::new(form, "axes", "a run that spans several axes")
                .inputs([reals(pair.0, shape, x), reals(pair.0, &[hidden], weight(hidden))])
                .output(pair.1, shape)
                .param("eps", 1e-5)
                .param("hidden", hidden);
            b.add(spec)?;
        }
    }
    for pair in most() {
        let name = pair.0.name();
        for (form, bias) in [("bias-4x48", true), ("plain-4x48", false)] {
            let x = normals(&mut b.prng("random", name), 192, 1.5);
            let (data, about) = ("random", "ordinary numbers");
            b.add(Norm { form, data, about, shape: &[4, 48], eps: 1e-5, x }.layer(pair, bias))?;
        }
        let x = coded(pair.0, 96);
        let (form, data, about) = ("rank-3", "coded", "every element tells its place; the weight alternates");
        b.add(Norm { form, data, about, shape: &[2, 3, 16], eps: 1e-5, x }.layer(pair, true))?;

        let x = spikes(6, 40, 12.0);
        let about = "one element of each row is far from the others: the last, the first, one between";
        let (form, data) = ("bias-6x40", "spike");
        b.add(Norm { form, data, about, shape: &[6, 40], eps: 1e-6, x }.layer(pair, true))?;

        // Dividing by hidden - 1 changes these by a fifth and more.
        let x = normals(&mut b.prng("short", name), 96, 1.0);
        let about = "rows of 3, where dividing by hidden - 1 is far off";
        let (form, data) = ("plain-32x3", "short");
        b.add(Norm { form, data, about, shape: &[32, 3], eps: 1e-5, x }.layer(pair, false))?;
        let x = normals(&mut b.prng("short", &format!("{name}-5")), 100, 1.0);
        let about = "rows of 5, where dividing by hidden - 1 is off by a tenth";
        let (form, data) = ("bias-20x5", "short");
        b.add(Norm { form, data, about, shape: &[20, 5], eps: 1e-5, x }.layer(pair, true))?;

        let x = uniforms(&mut b.prng("eps", name), 96, -0.125, 0.125);
        let (form, data, about) = ("plain-3x32", "eps", "eps outweighs the variance");
        b.add(Norm { form, data, about, shape: &[3, 32], eps: 1.0, x }.layer(pair, false))?;
        let x = uniforms(&mut b.prng("eps", &format!("{name}-equal")), 128, -0.25, 0.25);
        let (form, data, about) = ("bias-8x16", "eps", "eps is about as large as the variance");
        b.add(Norm { form, data, about, shape: &[8, 16], eps: 0.03125, x }.layer(pair, true))?;

        let mean = large(pair.0);
        let prng = &mut b.prng("offset", name);
        let x = (0..256).map(|_| mean + prng.below(5) as f64).collect();
        let about = "a large mean and a small variance, which the difference of moments cannot tell";
        let (form, data) = ("bias-8x32", "offset");
        b.add(Norm { form, data, about, shape: &[8, 32], eps: 0.0, x }.layer(pair, true))?;
    }
    for pair in most() {
        // s is 11.3: the rounding of x s and of mean s is all that there is to the error.
        let mean = large(pair.0);
        let x = (0..8).flat_map(|row| [mean + f64::from(row); 16]).collect();
        let about = "rows without variance far from zero: the bias, up to the rounding of x s and mean s";
        let (form, data) = ("level-8x16", "level");
        b.add(Norm { form, data, about, shape: &[8, 16], eps: 0.007_812_5, x }.layer(pair, true))?;
        // Runs so short that an error of the mean is small beside that of the two products.
        for (form, rows, width) in [("bias-24x2", 24_u32, 2_u32), ("bias-16x4", 16, 4)] {
            let level = |i: u32| mean + f64::from(i / width % 4);
            let x = (0..rows * width).map(|i| level(i) + f64::from(i % 2)).collect();
            let about = "a large mean and a small variance, in short runs";
            let shape = &[u64::from(rows), u64::from(width)];
            b.add(Norm { form, data: "offset", about, shape, eps: 0.25, x }.layer(pair, true))?;
        }
    }
    for pair in round(0) {
        let mut x = vec![1.0, -1.0, 0.5, 0.0, 2.0, f64::NAN, 1.0, -0.0, 0.0, -0.0, 0.0, 0.0];
        x.extend([3.0; 4]);
        x.extend([-0.5, 0.5, 0.5, -0.5]);
        let about = "a row with a NaN, rows without variance, and rows beside them";
        let (form, data) = ("bias-5x4", "special");
        b.add(
            Norm { form, data, about, shape: &[5, 4], eps: 0.5, x }.layer(pair, true).clause(clause::NUM_03),
        )?;
        let x = normals(&mut b.prng("long", pair.0.name()), 1000, 1.0);
        let about = "a long row, no multiple of a power of two above 8";
        let (form, data) = ("plain-1000", "long");
        b.add(Norm { form, data, about, shape: &[1000], eps: 1e-6, x }.layer(pair, false))?;
    }
    for &pair in FROM_F32 {
        for (form, shape, mean) in [
            ("bias-12x8", [12_u64, 8], 6000.0),
            ("bias-8x12", [8, 12], 5000.0),
            ("bias-6x16", [6, 16], 9000.0),
        ] {
            let prng = &mut b.prng("offset", form);
            let x = (0..numel(&shape)).map(|_| mean + prng.below(5) as f64).collect();
            let about = "a large mean and a small variance, which the difference of moments cannot tell";
            let data = "offset";
            b.add(Norm { form, data, about, shape: &shape, eps: 0.0, x }.layer(pair, true))?;
        }
        let mut x = cycle(&[1.0, -1.0], 2048);
        x.iter_mut().take(2).for_each(|v| *v *= 64.0);
        let about = "many small squares after large ones, which an accumulator of 16 bits loses";
        let (form, data) = ("plain-2048", "accumulator");
        b.add(
            Norm { form, data, about, shape: &[2048], eps: 0.0, x }.layer(pair, false).clause(clause::NUM_06),
        )?;
    }
    Ok(())
}

/// SOFTMAX.
pub fn softmax(b: &mut Bench) -> Result<()> {
    let soft = |form: &str,
                data,
                about: &str,
                (from, to): (DType, DType),
                shape: &[u64],
                x: Vec<f64>,
                dim: Option<i64>| {
        let spec = Spec::new(form, data, about)
            .input(reals(from, shape, x))
            .output(to, shape)
            .clause(clause::NUM_07);
        match dim {
            Some(dim) => spec.param("dim", dim),
            None => spec,
        }
    };
    for pair in most() {
        let name = pair.0.name();
        let x = normals(&mut b.prng("random", name), 160, 2.0);
        b.add(soft("rows-4x40", "random", "ordinary numbers", pair, &[4, 40], x, None))?;

        let x = normals(&mut b.prng("axes", name), 120, 2.0);
        for (form, dim) in
            [("dim-0", 0), ("dim-1", 1), ("dim-2", 2), ("dim-minus-3", -3), ("dim-minus-2", -2)]
        {
            if (dim == 1 || dim < 0) && pair.0 != DType::F32 {
                continue;
            }
            b.add(soft(form, "axes", "along each axis", pair, &[4, 5, 6], x.clone(), Some(dim)))?;
        }

        let x = (0..84_u32).map(|i| f64::from(i * 31 % 84) * 0.09375 - 4.0).collect();
        b.add(soft("rows-12x7", "coded", "every element tells its place", pair, &[12, 7], x, None))?;

        // exp of these overflows unless the maximum is subtracted first.
        let offset = if pair.0 == DType::F32 { 1000.0 } else { 128.0 };
        let prng = &mut b.prng("offset", name);
        let x = (0..96).map(|i| (offset + prng.below(5) as f64) * if i < 48 { 1.0 } else { -1.0 }).collect();
        b.add(soft("rows-6x16", "offset", "scores far from zero", pair, &[6, 16], x, None))?;

        // Each line on a level of its own: the maximum of all lines is no maximum of one.
        let step = if pair.0 == DType::F8E4M3 { 110.0 } else { 300.0 };
        let prng = &mut b.prng("levels", name);
        let x = (0..60).map(|i| f64::from(1 - i / 20) * step + (prng.below(9) as f64 - 4.0) * 8.0).collect();
        b.add(soft("rows-3x20", "levels", "each line on another level", pair, &[3, 20], x, None))?;
        let x = (0..60).map(|i| f64::from(i / 20) * -step + prng.below(3) as f64 * 16.0).collect();
        b.add(soft("descending-3x20", "levels", "each line below the one before", pair, &[3, 20], x, None))?;

        let x = uniforms(&mut b.prng("range", name), 96, -96.0, 8.0);
        b.add(soft("rows-6x16", "range", "terms from the smallest to the largest", pair, &[6, 16], x, None))?;

        let mut x = vec![-3.0; 24];
        let tops = [23, 0, 11, 12];
        let mut lines = Vec::new();
        for top in tops {
            x.fill(-3.0);
            if let Some(value) = x.get_mut(top) {
                *value = 1.0;
            }
            lines.extend(x.clone());
        }
        let about = "one term outweighs the others: the last, the first, one between";
        b.add(soft("rows-4x24", "spike", about, pair, &[4, 24], lines, None))?;
    }
    for (from, to) in most() {
        // Scores of zero weigh exactly one, also in base 2.
        for (form, shape, line) in
            [("rows-3x8", [3_u64, 8], 8.0), ("rows-2x64", [2, 64], 64.0), ("rows-5x1", [5, 1], 1.0)]
        {
            let n = numel(&shape);
            let spec = Spec::new(form, "equal", "scores of zero: exactly one over their number")
                .input(reals(from, &shape, vec![0.0; n]))
                .output(to, &shape)
                .known(super::data::Values::Reals(vec![1.0 / line; n]));
            b.add(spec.clause(clause::NUM_09))?;
        }
        for (form, shape, value) in [("alike-4x16", [4_u64, 16], -7.0), ("alike-3x1", [3, 1], 100.0)] {
            let x = reals(from, &shape, vec![value; numel(&shape)]);
            let spec = Spec::new(form, "offset", "equal scores far from zero").input(x).output(to, &shape);
            b.add(spec.clause(clause::NUM_08))?;
        }
        let (nan, inf) = (f64::NAN, f64::NEG_INFINITY);
        let mut x = vec![1.0, nan, 0.5, -2.0, 0.0, -0.0, 0.0, -0.0, 3.0, 1.0, 2.0, -1.0];
        if from != DType::F8E4M3 {
            x.extend([0.0, inf, 1.0, inf, inf, 2.0, inf, inf]);
        }
        let shape = [x.len() as u64 / 4, 4];
        let spec = Spec::new("lines-of-4", "special", "a line with a NaN, terms of minus infinity, zeros")
            .input(reals(from, &shape, x))
            .output(to, &shape);
        b.add(spec.clause(clause::NUM_03))?;
    }
    for &(from, to) in FROM_F32 {
        // One term of 1 and 2,047 of about 2^-12: half as much again in all, of which 16-bit accumulators keep nothing.
        for (form, place) in [("vector-2048-first", 0), ("vector-2048-middle", 1024)] {
            let mut x = vec![-8.317_766_189_575_195; 2048];
            if let Some(value) = x.get_mut(place) {
                *value = 0.0;
            }
            let spec = Spec::new(form, "accumulator", "small terms that an accumulator of 16 bits loses")
                .input(reals(from, &[2048], x))
                .output(to, &[2048]);
            b.add(spec.clause(clause::NUM_06))?;
        }
        let x = ints(from, &[2, 3, 300], (0..1800).map(|i| (i * 7 % 13) - 6).collect());
        let spec = Spec::new("long-lines", "long", "lines no multiple of a power of two above 4")
            .input(x)
            .output(to, &[2, 3, 300]);
        b.add(spec.clause(clause::NUM_08))?;
    }
    Ok(())
}
