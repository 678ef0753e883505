//! Every step that an opcode takes, as a method with a correct default. A fault or a variant overrides one of them.
//!
//! The defaults are those of an ordinary implementation: binary32, one operation after the other. A *held* value is an
//! `f64`, because an implementation may hold more than binary32; the defaults hold binary32 values in it. Operands and
//! whatever is kept in arrays are `f32`, which represents every float dtype exactly.

mod steps;
pub use steps::Plain;

use std::ops::Range;

use megakernel_ir::{DType, Opcode};

use crate::parts::{
    Attended, Binding, Given, Heads, Moments, Operand, QuantisedRow, Site, Tile, Unwritten, Window, tiles,
};

/// The steps of an implementation.
pub trait Kernels: Send + Sync {
    /// Itself. What a default does in a loop or with arrays stands in the module `steps`, once, and not in every implementation.
    fn steps(&self) -> &dyn Kernels;

    // Arithmetic on held values.

    /// `a + b`
    fn add(&self, a: f64, b: f64) -> f64 {
        f64::from(a as f32 + b as f32)
    }
    /// `a - b`
    fn sub(&self, a: f64, b: f64) -> f64 {
        self.add(a, -b)
    }
    /// `a * b`
    fn mul(&self, a: f64, b: f64) -> f64 {
        f64::from(a as f32 * b as f32)
    }
    /// `a * b + c`
    fn mul_add(&self, a: f64, b: f64, c: f64) -> f64 {
        self.add(self.mul(a, b), c)
    }
    /// `a / b`
    fn div(&self, a: f64, b: f64) -> f64 {
        f64::from(a as f32 / b as f32)
    }
    /// The square root.
    fn root(&self, x: f64) -> f64 {
        f64::from((x as f32).sqrt())
    }
    /// `1 / sqrt(x)`
    fn inverse_root(&self, x: f64) -> f64 {
        self.div(1.0, self.root(x))
    }
    /// `e^x`
    fn exp(&self, x: f64) -> f64 {
        f64::from(libm::expf(x as f32))
    }
    /// The error function.
    fn erf(&self, x: f64) -> f64 {
        f64::from(libm::erff(x as f32))
    }
    /// Sine and cosine of an angle in radians.
    fn sin_cos(&self, angle: f64) -> (f64, f64) {
        (f64::from(libm::sinf(angle as f32)), f64::from(libm::cosf(angle as f32)))
    }
    /// `base^y`
    fn pow(&self, base: f64, y: f64) -> f64 {
        f64::from(libm::powf(base as f32, y as f32))
    }

    // Sums.

    /// The sum of terms.
    fn sum(&self, _site: Site, terms: &[f32]) -> f64 {
        steps::sum(terms)
    }
    /// `start` plus the products of two rows.
    fn dot_onto(&self, _site: Site, start: f64, x: &[f32], w: &[f32]) -> f64 {
        steps::dot_onto(start, x, w)
    }
    /// The sum of the products of two rows.
    fn dot(&self, site: Site, x: &[f32], w: &[f32]) -> f64 {
        self.dot_onto(site, 0.0, x, w)
    }

    // Reading and storing elements.

    /// The elements of an operand as the opcode sees them; nothing: as they are stored.
    fn load(&self, _operand: Operand, _output: DType, _elements: &[f32]) -> Option<Vec<f32>> {
        None
    }
    /// The bits that are stored for a held value.
    fn cast(&self, _op: Opcode, dtype: DType, value: f64) -> u32 {
        megakernel_numerics::encode(dtype, value)
    }
    /// The bits of a NaN in outputs; nothing: those of the quiet one without payload.
    fn nan(&self, _dtype: DType) -> Option<u32> {
        None
    }
    /// How many of the `n` elements that a task computes reach its output, the first ones.
    fn written(&self, _op: Opcode, n: usize) -> usize {
        n
    }
    /// How many of `n` elements an elementwise opcode computes.
    fn elements(&self, n: usize) -> usize {
        n
    }

    // GEMV_TILE, GEMM_TILE, DEQUANT.

    /// The tiles of K.
    fn k_tiles(&self, k: usize) -> Vec<Tile> {
        tiles(k)
    }
    /// One element of a matrix product, without bias.
    fn product(&self, tiles: &[Tile], x: &[f32], w: &[f32]) -> f64 {
        steps::product(self.steps(), tiles, x, w)
    }
    /// The partial sum that is kept from one tile to the next.
    fn carry(&self, sum: f64) -> f64 {
        sum
    }
    /// One element of a matrix product, with its bias.
    fn biased_product(&self, tiles: &[Tile], x: &[f32], w: &[f32], bias: f64, output: DType) -> f64 {
        self.with_bias(self.product(tiles, x, w), bias, tiles.len(), output)
    }
    /// The product with its bias.
    fn with_bias(&self, product: f64, bias: f64, _tiles: usize, _output: DType) -> f64 {
        self.add(product, bias)
    }
    /// Which bias column `n` gets, in a tile that begins at `n_off`.
    fn bias_index(&self, n: usize, _n_off: usize) -> usize {
        n
    }
    /// Which row of W column `n` gets.
    fn weight_row(&self, n: usize, _n_off: usize) -> usize {
        n
    }
    /// Which row of x row `m` gets, in a tile that begins at `m_off`.
    fn x_row(&self, m: usize, _m_off: usize) -> usize {
        m
    }
    /// Which columns of the output a tile of `n_tile` columns writes.
    fn columns(&self, n_off: usize, n_tile: usize) -> Range<usize> {
        n_off..n_off + n_tile
    }
    /// The nibble of a packed byte that holds `column`.
    fn nibble(&self, byte: u8, column: usize) -> u8 {
        if column.is_multiple_of(2) { byte & 15 } else { byte >> 4 }
    }
    /// The value of a nibble.
    fn i4(&self, nibble: u8, _zeros: bool) -> f32 {
        f32::from(nibble) - 8.0
    }
    /// The value of a stored I8.
    fn i8(&self, stored: i8) -> f32 {
        f32::from(stored)
    }
    /// The zero point that is stored as an integer.
    fn zero(&self, _dtype: DType, stored: i64) -> f32 {
        stored as f32
    }
    /// The group of a column, in a row of `k` columns.
    fn group(&self, column: usize, group: usize, _k: usize) -> usize {
        column / group.max(1)
    }
    /// The weight of one column: `(q - zero) * scale`.
    fn weight(&self, q: f32, zero: Option<f32>, scale: f32) -> f64 {
        let shifted = zero.map_or(f64::from(q), |zero| self.sub(f64::from(q), f64::from(zero)));
        self.mul(shifted, f64::from(scale))
    }
    /// The weights of a quantised row.
    fn weights(&self, row: &QuantisedRow<'_>) -> Vec<f64> {
        steps::weights(self.steps(), row)
    }
    /// One element of a product with a quantised weight.
    fn quantised_product(&self, tiles: &[Tile], x: &[f32], weights: &[f32], _row: &QuantisedRow<'_>) -> f64 {
        self.product(tiles, x, weights)
    }

    // Norms.

    /// The mean of the squares of a row.
    fn mean_square(&self, row: &[f32]) -> f64 {
        self.div(self.dot(Site::Squares, row, row), row.len() as f64)
    }
    /// What RMSNORM multiplies by.
    fn rms_factor(&self, mean_square: f64, eps: f64, _n: usize) -> f64 {
        self.inverse_root(self.add(mean_square, eps))
    }
    /// One element of RMSNORM.
    fn rms_element(&self, x: f64, factor: f64, w: f64, _output: DType) -> f64 {
        self.mul(self.mul(x, factor), w)
    }
    /// The rows that RMSNORM normalises, each of `hidden` elements.
    fn rms_rows<'x>(&self, x: &'x [f32], row: usize, hidden: usize) -> &'x [f32] {
        x.get(row * hidden..(row + 1) * hidden).unwrap_or_default()
    }
    /// How long a run of LAYERNORM is.
    fn layer_run(&self, hidden: usize, _last: usize) -> usize {
        hidden
    }
    /// The mean of a run.
    fn mean(&self, run: &[f32]) -> f64 {
        self.div(self.sum(Site::Mean, run), run.len() as f64)
    }
    /// The variance of a run around its mean.
    fn variance(&self, run: &[f32], mean: f64) -> f64 {
        steps::variance(self.steps(), run, mean)
    }
    /// One element of LAYERNORM.
    fn layer_value(&self, x: f64, moments: Moments, w: f64, b: Option<f64>, output: DType) -> f64 {
        let Moments { mean, variance, eps } = moments;
        self.layer_element(self.normalised(self.sub(x, mean), variance, eps), w, b, output)
    }
    /// A deviation from the mean, normalised.
    fn normalised(&self, deviation: f64, variance: f64, eps: f64) -> f64 {
        self.div(deviation, self.root(self.add(variance, eps)))
    }
    /// One element of LAYERNORM from its normalised deviation.
    fn layer_element(&self, normalised: f64, w: f64, b: Option<f64>, _output: DType) -> f64 {
        match b {
            Some(b) => self.mul_add(normalised, w, b),
            None => self.mul(normalised, w),
        }
    }

    // Softmax and attention.

    /// The axis of SOFTMAX, from `dim`.
    fn axis(&self, dim: i64, rank: usize) -> usize {
        let axis = if dim < 0 { dim + rank as i64 } else { dim };
        usize::try_from(axis).unwrap_or_default()
    }
    /// The largest of some numbers; `-inf` if there is none, NaN if one is NaN.
    fn maximum(&self, numbers: &[f32]) -> f64 {
        steps::maximum(numbers)
    }
    /// `exp(s - m)`
    fn exponential(&self, s: f64, m: f64) -> f64 {
        self.exp(self.sub(s, m))
    }
    /// SOFTMAX of one line; `all` is the whole operand.
    fn softmax(&self, line: &[f32], _all: &[f32]) -> Vec<f64> {
        steps::softmax(self.steps(), line)
    }
    /// The cache head of a query head.
    fn kv_head(&self, head: usize, heads: Heads) -> usize {
        head / (heads.queries / heads.caches.max(1)).max(1)
    }
    /// The cache of a sequence, among `sequences`.
    fn cache_of(&self, sequence: usize, _sequences: usize) -> usize {
        sequence
    }
    /// The rows of the keys that are attended to.
    fn window(&self, start: usize, len: usize, _rows: usize) -> Range<usize> {
        start..start + len
    }
    /// The row of the values that belongs to a row of the keys.
    fn value_row(&self, row: usize, _window: &Range<usize>) -> usize {
        row
    }
    /// The scaled score.
    fn score(&self, q: &[f32], k: &[f32], scale: f64) -> f64 {
        self.mul(self.dot(Site::Scores, q, k), scale)
    }
    /// The score with a float mask.
    fn masked(&self, score: f64, mask: f64, _scale: f64) -> f64 {
        self.add(score, mask)
    }
    /// Whether a BOOL mask keeps a row.
    fn keeps(&self, mask: bool) -> bool {
        mask
    }
    /// What counts as the score of a row that a BOOL mask leaves out; nothing: the row does not count.
    fn left_out(&self, _score: f64) -> Option<f64> {
        None
    }
    /// The row of the mask for a head, where there is one for each.
    fn mask_row(&self, head: usize) -> usize {
        head
    }
    /// Attention of one head over its window.
    fn attend(&self, window: &Window<'_>) -> Attended {
        steps::attend(self.steps(), window)
    }
    /// Attention over an empty window.
    fn attended_nothing(&self, head_dim: usize) -> Attended {
        Attended { a: vec![0.0; head_dim], m: f64::NEG_INFINITY, l: 0.0 }
    }
    /// The row that PARTIAL_WRITE writes.
    fn partial(&self, attended: Attended) -> Vec<f64> {
        let Attended { mut a, m, l } = attended;
        a.extend([m, l]);
        a
    }
    /// Attention of one head over its window, normalised.
    fn attend_plain(&self, window: &Window<'_>) -> Vec<f64> {
        self.normalise(&self.attend(window))
    }
    /// The row that plain attention writes.
    fn normalise(&self, attended: &Attended) -> Vec<f64> {
        steps::normalise(self.steps(), attended)
    }
    /// `m` and `l` of a partial, from the two elements behind its accumulator.
    fn partial_tail(&self, first: f64, second: f64) -> (f64, f64) {
        (first, second)
    }
    /// ATTENTION_COMBINE of one row.
    fn combine(&self, partials: &[Attended]) -> Vec<f64> {
        steps::combine(self.steps(), partials)
    }
    /// How many of the partials are merged.
    fn partials(&self, n: usize) -> usize {
        n
    }
    /// What a partial weighs, where `m` is the largest score of all.
    fn partial_weight(&self, m_p: f64, l_p: f64, m: f64) -> f64 {
        if l_p > 0.0 { self.exponential(m_p, m) } else { 0.0 }
    }
    /// A merged element, from the weighted sums of accumulators and denominators.
    fn merged(&self, a: f64, l: f64) -> f64 {
        if l == 0.0 { 0.0 } else { self.div(a, l) }
    }

    // ROPE.

    /// The two elements of a head that pair `i` rotates.
    fn rope_pair(&self, i: usize, half: usize) -> (usize, usize) {
        (i, half + i)
    }
    /// `theta^(-i / half)`
    fn rope_frequency(&self, theta: f64, i: usize, half: usize) -> f64 {
        self.pow(theta, -self.div(i as f64, half as f64))
    }
    /// The position of row `s`, head `h`.
    fn rope_position(&self, positions: &[i64], s: usize, _h: usize) -> i64 {
        positions.get(s).copied().unwrap_or_default()
    }
    /// The angle.
    fn rope_angle(&self, position: i64, frequency: f64) -> f64 {
        self.mul(position as f64, frequency)
    }
    /// A pair, rotated.
    fn rotate(&self, a: f64, b: f64, sin: f64, cos: f64) -> (f64, f64) {
        (self.sub(self.mul(a, cos), self.mul(b, sin)), self.add(self.mul(b, cos), self.mul(a, sin)))
    }

    // Elementwise opcodes.

    /// ADD
    fn sum_of_two(&self, a: f64, b: f64, _output: DType) -> f64 {
        self.add(a, b)
    }
    /// MUL with two inputs.
    fn product_of_two(&self, a: f64, b: f64, _scale: Option<f64>) -> f64 {
        self.mul(a, b)
    }
    /// MUL with one input.
    fn scaled(&self, a: f64, scale: f64) -> f64 {
        self.mul(a, scale)
    }
    /// GELU
    fn gelu(&self, x: f64) -> f64 {
        let erf = self.erf(self.mul(x, std::f64::consts::FRAC_1_SQRT_2 as f32 as f64));
        self.mul(self.mul(0.5, x), self.add(1.0, erf))
    }
    /// SILU_MUL
    fn silu_mul(&self, gate: f64, up: f64, _output: DType) -> f64 {
        self.mul(self.silu(gate), up)
    }
    /// `x * sigmoid(x)`
    fn silu(&self, x: f64) -> f64 {
        self.div(x, self.add(1.0, self.exp(-x)))
    }
    /// ALLREDUCE_SHARD: one element of every shard.
    fn all_reduce(&self, shards: &[f32], _output: DType) -> f64 {
        self.sum(Site::Shards, shards)
    }

    // Opcodes that move.

    /// The row of the table for an id.
    fn table_row(&self, id: i64) -> i64 {
        id
    }
    /// How many elements a row of the table has.
    fn table_width(&self, width: usize, _hidden: usize) -> usize {
        width
    }
    /// The row of the cache for row `i` of `n` new ones.
    fn append_row(&self, pos: usize, i: usize, _n: usize) -> usize {
        pos + i
    }
    /// The sequence of the cache for row `b` of the new ones.
    fn append_sequence(&self, b: usize, _sequences: usize) -> usize {
        b
    }
    /// How many of the new rows are appended.
    fn append_rows(&self, n: usize) -> usize {
        n
    }
    /// Whether a logit takes the place of the best one before it.
    fn better(&self, logit: f32, best: f32) -> bool {
        logit > best
    }
    /// What the first logit has to exceed; nothing: it is the best so far.
    fn least_logit(&self) -> Option<f32> {
        None
    }
    /// Which of `vocab` logits are looked at.
    fn candidates(&self, vocab: usize) -> Range<usize> {
        0..vocab
    }
    /// The id of logit `i` of row `r`.
    fn token(&self, i: usize, _r: usize, _vocab: usize) -> usize {
        i
    }

    // Tasks.

    /// Changes what a task is given.
    fn given(&self, _given: &mut Given<'_, '_>) {}
    /// Whether a task does nothing.
    fn skips(&self, _given: &Given<'_, '_>) -> bool {
        false
    }

    // Launches.

    /// Whether a wait is satisfied.
    fn reached(&self, count: u64, threshold: u64) -> bool {
        count >= threshold
    }
    /// Whether the wait with this index is looked at.
    fn waits_for(&self, _index: usize) -> bool {
        true
    }
    /// Which of `n` tasks that may start is started, at turn `turn`.
    fn pick(&self, _n: usize, _turn: u64) -> usize {
        0
    }
    /// How buffers are bound, and what is left from launch to launch.
    fn binding(&self) -> Binding {
        Binding::Right
    }
    /// What buffers hold that nobody has written.
    fn unwritten(&self) -> Unwritten {
        Unwritten::Zeros
    }
    /// Whether counters start at 0 in every launch.
    fn resets_counters(&self) -> bool {
        true
    }
    /// Whether caches keep their contents from launch to launch.
    fn keeps_caches(&self) -> bool {
        true
    }
    /// Whether a counter grows only when the task's writes are done.
    fn writes_first(&self) -> bool {
        true
    }
}
