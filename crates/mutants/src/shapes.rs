//! Shapes of operands: rules M02 and M08.

use megakernel_ir::{DType, Opcode};

use crate::memory::{Operands, is_float};
use crate::opcodes::arity;
use crate::program::Buffer;
use crate::steps::Steps;

/// What came of the shapes of a task.
pub struct Judged {
    /// Whether M02 holds.
    pub is_good: bool,
    /// Whether the shape conditions of M08 hold.
    pub is_quantisation_good: bool,
    /// Whether the dtype of the quantised operand is that of `qdtype`.
    pub is_storage_good: bool,
}

/// The shapes of one task.
pub struct Shapes<'a> {
    steps: &'a Steps,
    operands: &'a Operands<'a>,
    good: bool,
    quantised: bool,
    storage: bool,
}

fn numel(buffer: &Buffer) -> i128 {
    buffer.numel().unwrap_or(i128::MAX)
}

fn rank(buffer: &Buffer) -> usize {
    buffer.shape.len()
}

fn extent(buffer: &Buffer, axis: usize) -> i128 {
    buffer.shape.get(axis).map_or(-1, |&extent| i128::from(extent))
}

impl<'a> Shapes<'a> {
    /// Of a task.
    pub fn new(steps: &'a Steps, operands: &'a Operands<'a>) -> Shapes<'a> {
        Shapes { steps, operands, good: true, quantised: true, storage: true }
    }

    fn need(&mut self, what: &'static str, holds: bool) {
        let form = self.operands.form;
        self.good &= self.steps.step_of(["shape-unchecked", form, what], holds, || true);
    }

    /// A condition on a shape that the text does not make: a validator that makes it refuses what is allowed.
    fn refuse(&mut self, what: &'static str, holds: bool) {
        let form = self.operands.form;
        self.good &= self.steps.step_of(["shape-refused", form, what], true, || holds);
    }

    fn need_quantised(&mut self, what: &'static str, holds: bool) {
        let form = self.operands.form;
        self.quantised &= self.steps.step_of(["quantisation-unchecked", form, what], holds, || true);
    }

    /// All conditions of the opcode's page.
    pub fn judge(mut self) -> Judged {
        let inputs = self.operands.inputs.clone();
        if let Some(output) = self.operands.output {
            self.opcode(&inputs, output);
        }
        Judged { is_good: self.good, is_quantisation_good: self.quantised, is_storage_good: self.storage }
    }

    fn opcode(&mut self, inputs: &[&Buffer], y: &Buffer) {
        let int = |name: &str| self.operands.int(name);
        let op = self.operands.task.op;
        match (op, inputs) {
            (Opcode::Copy, [x]) => {
                self.need("as many elements", numel(x) == numel(y));
                self.refuse("equal shapes only", x.shape == y.shape);
                self.refuse("equal ranks only", rank(x) == rank(y));
            }
            (Opcode::Embed, [ids, table]) => {
                self.need("rank of the table", rank(table) >= 1);
                let rows = extent(table, 0);
                if rows >= 1 {
                    let row = numel(table) / rows;
                    self.need("elements of the output", numel(y) == numel(ids).saturating_mul(row));
                    let hidden = int("hidden");
                    self.refuse("hidden as the row only", hidden == row);
                    self.refuse("flat rows only", rank(table) == 2);
                    self.refuse("output with the row last", y.shape.last() == table.shape.last());
                }
            }
            (Opcode::RmsNorm, [x, w]) => {
                let hidden = int("hidden");
                self.need("rank of x", rank(x) >= 1);
                self.need("hidden of x", rank(x) < 1 || x.last() == Some(hidden));
                self.need("elements of the weight", numel(w) == hidden);
                self.need("shape of the output", y.shape == x.shape);
                self.refuse("flat weight only", rank(w) == 1);
                self.refuse("x of rank 2 only", rank(x) == 2);
            }
            (Opcode::LayerNorm, [x, w, bias @ ..]) => {
                let hidden = int("hidden").max(1);
                self.need("hidden of x", numel(x) % hidden == 0);
                self.need("elements of the weight", numel(w) == hidden);
                if let [bias, ..] = bias {
                    self.need("elements of the bias", numel(bias) == hidden);
                }
                self.need("shape of the output", y.shape == x.shape);
                self.refuse("last axis only", x.last() == Some(hidden));
                self.refuse("flat weight only", rank(w) == 1);
            }
            (Opcode::SiluMul | Opcode::Add | Opcode::Mul, [a, rest @ ..]) => {
                if let [b, ..] = rest {
                    self.need("shape of the second input", b.shape == a.shape);
                }
                self.need("shape of the output", y.shape == a.shape);
            }
            (Opcode::Softmax, [x]) => {
                self.need("shape of the output", y.shape == x.shape);
                let (dim, rank) = (self.operands.task.int("dim").unwrap_or(-1), rank(x) as i128);
                let good = (-rank..rank).contains(&dim);
                let good = self.steps.step("softmax-dim-of-rank", good, || (-rank..=rank).contains(&dim));
                let good =
                    self.steps.step("softmax-dim-below-rank", good, || (-rank - 1..rank).contains(&dim));
                let good = self.steps.step("softmax-dim-negative-refused", good, || (0..rank).contains(&dim));
                let good =
                    self.steps.step("softmax-dim-least-refused", good, || (1 - rank..rank).contains(&dim));
                let good = self.steps.step("softmax-dim-last-only", good, || dim == -1 || dim == rank - 1);
                self.need("dim", good);
            }
            (Opcode::AllreduceShard, [first, rest @ ..]) => {
                let last = rest.last().is_none_or(|shard| shard.shape == first.shape);
                let middle = rest.split_last().map_or(&[][..], |(_, middle)| middle);
                self.need(
                    "shapes of the shards between",
                    middle.iter().all(|shard| shard.shape == first.shape),
                );
                self.need("shape of the last shard", last);
                self.need("shape of the output", y.shape == first.shape);
            }
            (Opcode::SampleArgmax, [x]) => {
                self.need("rank of x", rank(x) >= 1);
                if let Some(v) = x.last() {
                    self.need("elements of the output", numel(y) == numel(x) / v.max(1));
                    self.refuse(
                        "shape of the rows only",
                        x.shape.split_last().is_some_and(|(_, rows)| rows == y.shape),
                    );
                }
            }
            (Opcode::AttentionCombine, [first, rest @ ..]) => {
                self.need("rank of the partials", matches!(rank(first), 2 | 3));
                self.need("equal partials", rest.iter().all(|partial| partial.shape == first.shape));
                let e = first.last().unwrap_or(0);
                // With fewer the output would have no element.
                self.good &= e >= 3;
                if e >= 1 {
                    self.need("elements of the output", numel(y) == numel(first) / e * (e - 2));
                }
                self.refuse("rank of the output", rank(y) == rank(first));
            }
            (Opcode::Rope, [x, positions]) => {
                self.need("rank of x", matches!(rank(x), 2 | 3));
                self.need("head_dim", x.last().is_none_or(|last| last == int("head_dim")));
                let many = if rank(x) == 3 { extent(x, 0) } else { 1 };
                self.need("positions", numel(positions) == many);
                self.need("shape of the output", y.shape == x.shape);
                self.refuse("flat positions only", rank(positions) == 1);
                let heads = self.operands.task.int("n_heads");
                let second = extent(x, rank(x).saturating_sub(2));
                self.refuse("n_heads as the axis", heads.is_none_or(|heads| heads == second));
            }
            (Opcode::KvAppend, [new, cache]) => self.append(new, cache),
            (Opcode::AttentionTile, [q, k, v, mask @ ..]) => {
                self.attention([q, k, v], mask.first().copied(), y)
            }
            (Opcode::GemvTile | Opcode::GemmTile, [x, w, rest @ ..]) => self.matrix(x, w, rest, y),
            (Opcode::Dequant, [q, rest @ ..]) => self.dequant(q, rest, y),
            (op, [x]) if arity(op, false).in_place => {
                self.need("shape of the output", y.shape == x.shape);
            }
            _ => {}
        }
    }

    fn append(&mut self, new: &Buffer, cache: &Buffer) {
        self.need("rank of the cache", matches!(rank(cache), 3 | 4));
        if !matches!(rank(cache), 3 | 4) {
            return;
        }
        let row: i128 = cache.shape.iter().rev().take(2).map(|&extent| i128::from(extent)).product();
        let fits = match rank(cache) {
            3 => numel(new) % row == 0,
            _ => numel(new) == extent(cache, 0) * row,
        };
        self.need("elements of new", fits);
        self.refuse("rows of new as in the cache", new.shape.ends_with(&cache.shape[rank(cache) - 2..]));
        self.refuse("one row only", rank(cache) == 4 || numel(new) == row);
    }

    fn attention(&mut self, [q, k, v]: [&Buffer; 3], mask: Option<&Buffer>, y: &Buffer) {
        let int = |name: &str| self.operands.int(name);
        let [heads, groups, dim, length] = ["n_heads", "n_kv_heads", "head_dim", "kv_len"].map(int);
        let partial = int("flags") & 2 != 0;
        let is_batch = rank(k) == 4;
        self.need("rank of k", matches!(rank(k), 3 | 4));
        self.need("shape of v", v.shape == k.shape);
        if !matches!(rank(k), 3 | 4) {
            return;
        }
        self.need("n_kv_heads of k", extent(k, rank(k) - 2) == groups);
        self.need("head_dim of k", extent(k, rank(k) - 1) == dim);
        let batch = if is_batch { vec![extent(k, 0)] } else { Vec::new() };
        let shape = |rest: &[i128]| [&batch, rest].concat();
        let is = |buffer: &Buffer, rest: &[i128]| {
            let found: Vec<i128> = buffer.shape.iter().map(|&extent| i128::from(extent)).collect();
            found == shape(rest)
        };
        if is_batch {
            self.need("q of several sequences", is(q, &[heads, dim]));
        } else {
            self.need("elements of q", numel(q) == heads * dim);
            self.refuse("q by heads only", is(q, &[heads, dim]));
        }
        if partial {
            self.need("shape of a partial", is(y, &[heads, dim + 2]));
        } else {
            self.need("elements of the output", numel(y) == numel(q));
            self.refuse("output in the shape of q", y.shape == q.shape);
        }
        if let Some(mask) = mask {
            let fits = is(mask, &[length]) || is(mask, &[heads, length]);
            self.need("shape of the mask", fits);
            self.refuse("mask for each head only", is(mask, &[heads, length]));
            self.refuse("mask for all heads only", is(mask, &[length]));
        }
    }

    fn matrix(&mut self, x: &Buffer, w: &Buffer, rest: &[&Buffer], y: &Buffer) {
        let task = self.operands.task;
        let k = self.operands.int("K");
        let is_gemm = task.op == Opcode::GemmTile;
        let ranks = |buffer: &Buffer| if is_gemm { rank(buffer) == 2 } else { rank(buffer) >= 1 };
        self.need("rank of x", ranks(x));
        self.need("rank of the weight", rank(w) == 2);
        self.need("rank of the output", ranks(y));
        if ranks(x) {
            self.need("K of x", x.last() == Some(k));
        }
        let rows = numel(x) / x.last().unwrap_or(1).max(1);
        if ranks(x) && ranks(y) {
            let wide = y.last().unwrap_or(1).max(1);
            self.need("rows of the output", numel(y) / wide == rows);
            if !is_gemm {
                self.refuse("rank of the output as of x", rank(x) == rank(y));
            }
        }
        if ranks(x) {
            self.need("M", task.int("M").is_none_or(|m| m == rows));
        }
        if !is_gemm {
            self.refuse("x of rank 2 only", rank(x) == 2);
        }
        if rank(w) != 2 {
            return self.storage_of(w, k);
        }
        let n = extent(w, 0);
        if ranks(y) {
            self.need("columns of the output", y.last() == Some(n));
        }
        self.need("N", task.int("N").is_none_or(|given| given == n));
        if self.operands.is_quantised {
            let known = self.good;
            self.storage_of(w, k);
            self.width(w, k);
            if known {
                self.scales(w, k, rest);
            }
            return;
        }
        self.need("K of the weight", extent(w, 1) == k);
        if let [bias, ..] = rest {
            self.need("elements of the bias", numel(bias) == n);
            self.refuse("flat bias only", rank(bias) == 1);
        }
    }

    fn dequant(&mut self, q: &Buffer, rest: &[&Buffer], y: &Buffer) {
        self.need("rank of the output", rank(y) >= 1);
        let Some(k) = y.last() else { return };
        let rows = |buffer: &Buffer| buffer.shape.split_last().map(|(_, rows)| rows.to_vec());
        let fits = rows(q) == rows(y);
        self.need("rows of the output", fits);
        self.storage_of(q, k);
        if rank(q) == rank(y) {
            self.width(q, k);
        }
        if fits {
            self.scales(q, k, rest);
        }
    }

    /// The dtype of quantised weights, and whether their number is even.
    fn storage_of(&mut self, w: &Buffer, k: i128) {
        if !self.operands.is_quantised {
            return;
        }
        let form = self.operands.form;
        let qdtype = self.operands.int("qdtype");
        let fits = match qdtype {
            6 => w.dtype == DType::I8,
            _ => matches!(w.dtype, DType::U8 | DType::I4),
        };
        let step = |name, fits, wrong: bool| self.steps.step_of([name, form, ""], fits, || wrong);
        let fits = step("storage-unchecked", fits, true);
        let fits = step("storage-of-any-integer", fits, !is_float(w.dtype));
        let fits = step("storage-i4-refused", fits, fits && w.dtype != DType::I4);
        let fits = step("storage-u8-refused", fits, fits && w.dtype != DType::U8);
        let fits = step("storage-by-width", fits, fits || qdtype == 6 && w.dtype == DType::U8);
        self.storage = fits;
        let even = qdtype != 7 || k % 2 == 0;
        let even = step("odd-rows-of-i4", even, even || w.dtype == DType::I4);
        let even = step("odd-rows-of-u8", even, even || w.dtype == DType::U8);
        let even = step("odd-rows-of-i8-refused", even, k % 2 == 0);
        self.need_quantised("even rows", even);
    }

    /// The last extent of the quantised operand.
    fn width(&mut self, w: &Buffer, k: i128) {
        let qdtype = self.operands.int("qdtype");
        let wanted = match (qdtype, w.dtype) {
            (6, DType::I8) => Some(k),
            (7, DType::I4) => Some(k).filter(|k| k % 2 == 0),
            (7, DType::U8) => Some(k / 2).filter(|_| k % 2 == 0),
            _ => None,
        };
        let fits = wanted.is_none_or(|wanted| w.last() == Some(wanted));
        let form = self.operands.form;
        let fits = self
            .steps
            .step_of(["width-of-bytes-unpacked", form, ""], fits, || wanted.is_none() || w.last() == Some(k));
        let fits = self.steps.step_of(["width-of-nibbles-packed", form, ""], fits, || match w.dtype {
            DType::I4 => w.last() == Some(k / 2),
            _ => fits,
        });
        self.need_quantised("width", fits);
    }

    fn scales(&mut self, w: &Buffer, k: i128, rest: &[&Buffer]) {
        let group = self.operands.int("group").max(1);
        let shape = |groups: i128| {
            let mut shape: Vec<i128> = w.shape.iter().map(|&extent| i128::from(extent)).collect();
            if let Some(last) = shape.last_mut() {
                *last = groups;
            }
            shape
        };
        let is = |buffer: &Buffer, groups: i128| {
            buffer.shape.iter().map(|&extent| i128::from(extent)).eq(shape(groups))
        };
        let groups = (k + group - 1) / group;
        let form = self.operands.form;
        for (buffer, what) in rest.iter().zip(["scales", "zeros"]) {
            let fits = is(buffer, groups);
            let fits =
                self.steps.step_of(["groups-rounded-down", form, what], fits, || is(buffer, k / group));
            let fits =
                self.steps.step_of(["groups-of-whole-only", form, what], fits, || fits && k % group == 0);
            let fits = self.steps.step_of(["groups-of-stored-width", form, what], fits, || {
                let stored = w.last().unwrap_or(k);
                is(buffer, (stored + group - 1) / group)
            });
            let fits = self
                .steps
                .step_of(["groups-of-last-axis-only", form, what], fits, || buffer.last() == Some(groups));
            let fits = self.steps.step_of(["groups-of-rows-only", form, what], fits, || {
                rank(buffer) == rank(w) && buffer.shape.first() == w.shape.first()
            });
            self.need_quantised(what, fits);
        }
    }
}
