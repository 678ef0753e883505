//! What a region computes, looked at from a tile back to the nodes that it is made of.

use std::collections::HashMap;

use megakernel_mcir::{Along, Binary, Dtype, Fold, Function, Index, Init, Node, Op, Region, Unary, Update};

use crate::producers::added;
use crate::world::{World, nodes};

/// What an index adds up to: each axis with its factor, and the number.
pub(super) fn form(index: &Index) -> (Vec<(u32, i64)>, i64) {
    let (factors, number) = added(index);
    (factors.into_vec(), number)
}

/// A node, and its pointer.
#[derive(Clone)]
pub struct Found<'d> {
    pub node: &'d Node,
    pub pointer: String,
}

/// The nodes of a region by what they produce.
pub struct Tiles<'d> {
    world: &'d World<'d>,
    /// The last producer in the text: of a tile that is prefetched any one, since `at` says where each version lies.
    by: HashMap<u32, Found<'d>>,
    states: HashMap<u32, Init>,
}

/// A product: what is multiplied, whether by rows of the second operand, and what is added to each row.
pub struct Product<'d> {
    pub found: Found<'d>,
    pub x: u32,
    pub w: u32,
    pub by_rows: bool,
    pub bias: Option<u32>,
    /// Whether it is summed up over the stream.
    pub is_streamed: bool,
}

/// Attention of one region.
pub struct Attention<'d> {
    pub found: Found<'d>,
    pub q: u32,
    pub k: u32,
    pub v: u32,
    pub scale: (i64, i64),
    pub mask: Option<(&'d Index, &'d Index, Option<i64>)>,
}

/// A norm of rows.
pub struct Norm {
    pub x: u32,
    pub weight: u32,
    pub bias: Option<u32>,
    /// Whether the mean is taken off.
    pub is_layer: bool,
    /// What is added to the mean of squares: p / q.
    pub eps: (i64, i64),
}

impl<'d> Tiles<'d> {
    pub fn new(world: &'d World<'d>, number: usize, region: &'d Region) -> Tiles<'d> {
        let mut by = HashMap::new();
        for site in nodes(number, region) {
            if matches!(site.node.op, Op::StoreTile(_) | Op::Barrier(_)) {
                continue;
            }
            for &out in &site.node.outs {
                by.insert(out, Found { node: site.node, pointer: site.pointer() });
            }
        }
        let states = region.state.iter().map(|state| (state.value, state.init)).collect();
        Tiles { world, by, states }
    }

    /// What produces a tile.
    pub fn of(&self, tile: u32) -> Option<&Found<'d>> {
        self.by.get(&tile)
    }

    fn node(&self, tile: u32) -> Option<&'d Node> {
        self.by.get(&tile).map(|found| found.node)
    }

    fn is_f32(&self, tile: u32) -> bool {
        self.world.value(tile).dtype == Dtype::F32
    }

    /// The operand of a function of one tile, if that makes a tile of binary32.
    fn one(&self, tile: u32, is_it: impl Fn(&Function) -> bool) -> Option<u32> {
        let node = self.node(tile).filter(|_| self.is_f32(tile))?;
        match (&node.op, node.ins.as_slice()) {
            (Op::Compute(function), &[a]) if is_it(function) => Some(a),
            _ => None,
        }
    }

    /// The operands of a function of two tiles. What it makes may be anything: who asks knows whether it stands within an opcode.
    fn two(&self, tile: u32, which: Binary, along: Option<Along>) -> Option<(u32, u32)> {
        let node = self.node(tile)?;
        match (&node.op, node.ins.as_slice()) {
            (Op::Compute(Function::Binary(binary, found)), &[a, b])
                if *binary == which && *found == along =>
            {
                Some((a, b))
            }
            _ => None,
        }
    }

    fn inner(&self, tile: u32, which: Binary, along: Option<Along>) -> Option<(u32, u32)> {
        self.two(tile, which, along).filter(|_| self.is_f32(tile))
    }

    /// What is cast, where a tile is the copy of one of binary32: an opcode casts its result itself.
    fn uncast(&self, tile: u32) -> u32 {
        let copied = self.node(tile).and_then(|node| match (&node.op, node.ins.as_slice()) {
            (Op::Compute(Function::Unary(Unary::Copy)), &[a]) if self.is_f32(a) => Some(a),
            _ => None,
        });
        copied.unwrap_or(tile)
    }

    /// A product with a bias or without, streamed or not.
    pub fn product(&self, tile: u32) -> Option<Product<'d>> {
        let tile = self.uncast(tile);
        if let Some((sum, bias)) = self.two(tile, Binary::Add, Some(Along::Columns))
            && self.is_f32(sum)
            && matches!(self.node(bias)?.op, Op::LoadTile(_) | Op::Prefetch(..))
            && let Some(product) = self.plain_product(sum)
        {
            return Some(Product { bias: Some(bias), ..product });
        }
        self.plain_product(tile)
    }

    fn plain_product(&self, tile: u32) -> Option<Product<'d>> {
        let node = self.node(tile)?;
        let (part, is_streamed) = match (&node.op, node.ins.as_slice()) {
            (Op::UpdateState(Update::Add), &[sum, part])
                if sum == tile && self.states.get(&tile) == Some(&Init::Number(0)) =>
            {
                let inner = self.is_f32(sum) && self.is_f32(part);
                (if inner { part } else { return None }, true)
            }
            _ => (tile, false),
        };
        let found = self.by.get(&part)?;
        match (&found.node.op, found.node.ins.as_slice()) {
            (Op::Compute(Function::Matmul(by_rows)), &[x, w]) => {
                let (by_rows, bias) = (*by_rows, None);
                Some(Product { found: found.clone(), x, w, by_rows, bias, is_streamed })
            }
            _ => None,
        }
    }

    /// Attention, of which the weights are never rounded.
    pub fn attention(&self, tile: u32) -> Option<Attention<'d>> {
        let tile = self.uncast(tile);
        let (sums, total) = self.two(tile, Binary::Div, Some(Along::Rows))?;
        let last = self.node(sums)?;
        let (Op::UpdateState(Update::ScaleAdd), &[acc, scale, part]) = (&last.op, last.ins.as_slice()) else {
            return None;
        };
        let weighted = self.by.get(&part)?;
        let (Op::Compute(Function::Matmul(false)), &[weights, v]) =
            (&weighted.node.op, weighted.node.ins.as_slice())
        else {
            return None;
        };
        let softmax = self.node(weights)?;
        let (Op::UpdateState(Update::OnlineSoftmax), &[scores, most, old]) =
            (&softmax.op, softmax.ins.as_slice())
        else {
            return None;
        };
        let begins = |state: u32, init: Init| self.states.get(&state) == Some(&init);
        let is_right = softmax.outs[..] == [most, total, weights, scale]
            && old == total
            && acc == sums
            && begins(most, Init::Least)
            && begins(total, Init::Number(0))
            && begins(acc, Init::Number(0))
            && [acc, scale, part, weights, scores, most, total].iter().all(|&tile| self.is_f32(tile));
        if !is_right {
            return None;
        }
        let (mut inside, mut mask, mut by) = (scores, None, (1, 1));
        if let Some(masked) = self.one(inside, |function| matches!(function, Function::Mask(..))) {
            if let Op::Compute(Function::Mask(of)) = &self.node(inside)?.op {
                mask = Some((&of.rows, &of.columns, of.window));
            }
            inside = masked;
        }
        if let Some(scaled) = self.one(inside, |function| matches!(function, Function::Scale(..))) {
            if let Op::Compute(Function::Scale(p, q)) = self.node(inside)?.op {
                by = (p, q);
            }
            inside = scaled;
        }
        let product = self.node(inside).filter(|_| self.is_f32(inside))?;
        match (&product.op, product.ins.as_slice()) {
            (Op::Compute(Function::Matmul(true)), &[q, k]) => {
                Some(Attention { found: weighted.clone(), q, k, v, scale: by, mask })
            }
            _ => None,
        }
    }

    /// The sum of rows over their length, if that is it.
    fn mean(&self, tile: u32, width: i64) -> Option<u32> {
        let sum = self.one(tile, |function| matches!(function, Function::Scale(1, q) if *q == width))?;
        let node = self.node(sum).filter(|_| self.is_f32(sum))?;
        matches!(node.op, Op::Reduce(Fold::Sum, 1)).then(|| node.ins.first().copied())?
    }

    /// The same and a constant p / q: a state that begins with p, to which every iteration adds 0, divided by q.
    fn mean_and_more(&self, tile: u32, width: i64) -> Option<(u32, (i64, i64))> {
        let (mean, more) = self.inner(tile, Binary::Add, None)?;
        let squares = self.mean(mean, width)?;
        let node = self.node(more).filter(|_| self.is_f32(more))?;
        let (&Op::Compute(Function::Scale(1, q)), &[kept]) = (&node.op, node.ins.as_slice()) else {
            return None;
        };
        let update = self.node(kept).filter(|_| self.is_f32(kept))?;
        let (Op::UpdateState(Update::Add), &[old, nothing]) = (&update.op, update.ins.as_slice()) else {
            return None;
        };
        let Some(&Init::Number(p)) = self.states.get(&kept).filter(|_| old == kept) else { return None };
        (p >= 0 && self.is_nothing(nothing)).then_some((squares, (p, q)))
    }

    /// Whether a tile is 0 whatever there is: the exponential of the largest number of a row of which a mask keeps none.
    fn is_nothing(&self, tile: u32) -> bool {
        let least = self.one(tile, |function| matches!(function, Function::Unary(Unary::Exp)));
        let node = least.filter(|&least| self.is_f32(least)).and_then(|least| self.node(least));
        let Some(&[none]) = node.map(|node| node.ins.as_slice()) else { return false };
        let masked = self.node(none).filter(|_| self.is_f32(none)).map(|node| &node.op);
        let Some(Op::Compute(Function::Mask(mask))) = masked else { return false };
        let ((axes, row), (none_too, column)) = (form(&mask.rows), form(&mask.columns));
        let last = self.world.value(none).shape.first().map_or(0, |&rows| row + rows - 1);
        let is_largest = matches!(node.map(|node| &node.op), Some(Op::Reduce(Fold::Max, 1)));
        is_largest && axes.is_empty() && none_too.is_empty() && last < column
    }

    /// A norm with a weight, and of which nothing is rounded on the way.
    pub fn norm(&self, tile: u32, width: i64) -> Option<Norm> {
        let tile = self.uncast(tile);
        let is_loaded = |tile: u32| {
            self.node(tile).is_some_and(|node| matches!(node.op, Op::LoadTile(_) | Op::Prefetch(..)))
        };
        let (scaled, bias) = match self.two(tile, Binary::Add, Some(Along::Columns)) {
            Some((scaled, bias)) if self.is_f32(scaled) && is_loaded(bias) => (scaled, Some(bias)),
            _ => (tile, None),
        };
        let (normed, weight) = self.two(scaled, Binary::Mul, Some(Along::Columns))?;
        let (centred, root) = self.inner(normed, Binary::Mul, Some(Along::Rows))?;
        let variance = self.one(root, |function| matches!(function, Function::Unary(Unary::Rsqrt)))?;
        let plain = self.mean(variance, width).map(|squares| (squares, (0, 1)));
        let (squares, eps) = plain.or_else(|| self.mean_and_more(variance, width))?;
        if !is_loaded(weight) || self.inner(squares, Binary::Mul, None) != Some((centred, centred)) {
            return None;
        }
        if let Some((x, mean)) = self.inner(centred, Binary::Sub, Some(Along::Rows))
            && self.mean(mean, width) == Some(x)
        {
            return Some(Norm { x, weight, bias, is_layer: true, eps });
        }
        bias.is_none().then_some(Norm { x: centred, weight, bias, is_layer: false, eps })
    }

    /// Whether it is a rotation: of two masks, of which each keeps what the other leaves out, one of a difference and one of the sum of the same two products.
    pub fn is_rotated(&self, tile: u32) -> bool {
        let Some((first, second)) = self.two(self.uncast(tile), Binary::Max, None) else { return false };
        let inside = |tile| self.one(tile, |function| matches!(function, Function::Mask(..)));
        let (Some(first), Some(second)) = (inside(first), inside(second)) else { return false };
        let terms = self.inner(first, Binary::Sub, None);
        let is_product = |tile| self.inner(tile, Binary::Mul, None).is_some();
        terms.is_some_and(|(a, b)| is_product(a) && is_product(b))
            && terms == self.inner(second, Binary::Add, None)
    }

    /// The gate and what it multiplies.
    pub fn gated(&self, tile: u32) -> Option<(u32, u32)> {
        let tile = self.uncast(tile);
        let (a, b) = self.two(tile, Binary::Mul, None)?;
        let gate = |tile| self.one(tile, |function| matches!(function, Function::Unary(Unary::Silu)));
        match (gate(a), gate(b)) {
            (Some(gate), _) => Some((gate, b)),
            (_, Some(gate)) => Some((gate, a)),
            _ => None,
        }
    }
}
