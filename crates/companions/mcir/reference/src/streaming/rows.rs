//! Norms, reductions, rotations and softmax: what is computed along a row, or of pairs in it.

use megakernel_mcir::{Fold, GraphNode};
use serde_json::{Value as Json, json};

use super::{BEGIN, Draft, EACH, END, LOADED, Region};

fn reduced(fold: Fold, axis: usize) -> Json {
    json!({"op": "Reduce", "fn": fold.name(), "axis": axis})
}

fn along(function: &str, which: &str) -> Json {
    json!({"fn": function, "along": which})
}

fn scaled(by: [i64; 2]) -> Json {
    json!({"fn": "scale", "by": by})
}

impl Draft<'_> {
    /// The second operand of what is computed element by element: its tile, and along which axis there is one number of it.
    pub(super) fn second(
        &mut self,
        region: &mut Region,
        tensor: u32,
        shape: &[i64],
        (tile, at): (&[i64], &[Json]),
        function: &str,
    ) -> Result<(String, Option<&'static str>), String> {
        let (other, dtype) = (self.value(tensor).0.to_vec(), self.value(tensor).1);
        let lacking = shape.len() - other.len().min(shape.len());
        // Where an extent is 1, and that of the first operand is not, there is one place.
        let place = |(axis, &extent): (usize, &i64)| {
            let is_whole = extent == shape[lacking + axis];
            if is_whole { at[lacking + axis].clone() } else { json!(0) }
        };
        let places: Vec<Json> = other.iter().enumerate().map(place).collect();
        let tiled = |back: usize| {
            let extent = other.len().checked_sub(back).map(|place| other[place]);
            extent.is_some() && extent == shape.len().checked_sub(back).map(|place| shape[place])
        };
        match *tile {
            _ if (1..=tile.len()).all(tiled) => Ok((self.load(region, BEGIN, tensor, tile, &places), None)),
            [_, columns] if tiled(1) => {
                Ok((self.load(region, BEGIN, tensor, &[columns], &places), Some("columns")))
            }
            [rows, _] if tiled(2) => {
                let whole = self.load(region, BEGIN, tensor, &[rows, 1], &places);
                // The largest of one number.
                let each = self.make(region, BEGIN, &[&whole], (&[rows], dtype), reduced(Fold::Max, 1));
                Ok((each, Some("rows")))
            }
            _ => Err(format!("there are no tiles for `{function}` of {other:?} and {shape:?}")),
        }
    }

    /// Blocks of whole rows: where a tile of them lies, and its shape.
    fn whole_rows(
        &self,
        region: &mut Region,
        shape: &[i64],
        op: &str,
    ) -> Result<(Vec<Json>, [i64; 2]), String> {
        let [.., m, n] = *shape else {
            return Err(format!("there are no tiles for `{op}` of one axis"));
        };
        let mut at = Draft::lead(region, shape, 2);
        let rows = self.step.block.min(m);
        region.axis("i", m, rows);
        at.extend([json!("i"), json!(0)]);
        Ok((at, [rows, n]))
    }

    /// Whole rows in each block.
    pub(super) fn softmax(&mut self, region: &mut Region, node: &GraphNode, axis: i64) -> Result<(), String> {
        let (shape, dtype) = (self.value(node.out).0.to_vec(), self.value(node.out).1);
        let (at, tile) = self.whole_rows(region, &shape, node.op.name())?;
        if usize::try_from(axis).map_or(true, |axis| axis + 1 != shape.len()) {
            return Err("there are no tiles for `softmax` along another axis than the last one".to_owned());
        }
        let rows = [tile[0]];
        let x = self.load(region, BEGIN, node.ins[0], &tile, &at);
        let top = self.make(region, BEGIN, &[&x], (&rows, "F32"), reduced(Fold::Max, 1));
        let below = self.make(region, BEGIN, &[&x, &top], (&tile, "F32"), along("sub", "rows"));
        let weights = self.make(region, BEGIN, &[&below], (&tile, "F32"), json!({"fn": "exp"}));
        let sum = self.make(region, BEGIN, &[&weights], (&rows, "F32"), reduced(Fold::Sum, 1));
        // What is stored lies where it was loaded: of a long row, registers do not hold two and their sums.
        let out =
            self.make_in(LOADED, region, BEGIN, &[&weights, &sum], (&tile, dtype), along("div", "rows"));
        self.store(region, BEGIN, &out, node.out, &at);
        Ok(())
    }

    /// A state with this number for each row. No function makes a constant, and each state is updated: 0 is added to it, which is the exponential of the largest
    /// number of a row of which a mask keeps none. So it is this number whatever the tile holds, and after any number of iterations.
    fn constant(&mut self, region: &mut Region, tile: (&str, &[i64]), name: &str, number: i64) -> String {
        let (of, shape) = tile;
        let rows = &shape[..1];
        let kept = self.state(region, name, rows, json!(number));
        let mask = json!({"fn": "mask", "rows": -rows[0], "columns": 0});
        let none = self.make(region, EACH, &[of], (shape, "F32"), mask);
        let least = self.make(region, EACH, &[&none], (rows, "F32"), reduced(Fold::Max, 1));
        let nothing = self.make(region, EACH, &[&least], (rows, "F32"), json!({"fn": "exp"}));
        region.push(EACH, json!({"op": "UpdateState", "fn": "add", "in": [kept, nothing], "out": [kept]}));
        kept
    }

    /// Whole rows in each block. Where there is an eps p / q, a state is p, which is divided by q and added to the mean of squares.
    pub(super) fn norm(
        &mut self,
        region: &mut Region,
        node: &GraphNode,
        [p, q]: [i64; 2],
        is_layer: bool,
    ) -> Result<(), String> {
        let (shape, dtype) = (self.value(node.out).0.to_vec(), self.value(node.out).1);
        let (at, tile) = self.whole_rows(region, &shape, node.op.name())?;
        let (rows, n) = ([tile[0]], tile[1]);
        let (row, whole) = ((&rows[..], "F32"), (&tile[..], "F32"));
        let mut centred = self.load(region, EACH, node.ins[0], &tile, &at);
        let kept = (p != 0).then(|| self.constant(region, (&centred, &tile), "eps", p));
        if is_layer {
            let sum = self.make(region, EACH, &[&centred], row, reduced(Fold::Sum, 1));
            let mean = self.make(region, EACH, &[&sum], row, scaled([1, n]));
            centred = self.make(region, EACH, &[&centred, &mean], whole, along("sub", "rows"));
        }
        let squares = self.make(region, EACH, &[&centred, &centred], whole, json!({"fn": "mul"}));
        let sum = self.make(region, EACH, &[&squares], row, reduced(Fold::Sum, 1));
        let mut variance = self.make(region, EACH, &[&sum], row, scaled([1, n]));
        if let Some(kept) = kept {
            let eps = self.make(region, EACH, &[&kept], row, scaled([1, q]));
            variance = self.make(region, EACH, &[&variance, &eps], row, json!({"fn": "add"}));
        }
        let root = self.make(region, EACH, &[&variance], row, json!({"fn": "rsqrt"}));
        let normed = self.make(region, EACH, &[&centred, &root], whole, along("mul", "rows"));
        let weight = self.load(region, EACH, node.ins[1], &[n], &[json!(0)]);
        let last = if is_layer { "F32" } else { dtype };
        let mut out = self.make(region, EACH, &[&normed, &weight], (&tile, last), along("mul", "columns"));
        if is_layer {
            let bias = self.load(region, EACH, node.ins[2], &[n], &[json!(0)]);
            out = self.make(region, EACH, &[&out, &bias], (&tile, dtype), along("add", "columns"));
        }
        self.store(region, EACH, &out, node.out, &at);
        Ok(())
    }

    /// A stream along the axis that is reduced. A tile has the last two axes; of any other axis, and of a value of one axis, one place.
    pub(super) fn reduce(
        &mut self,
        region: &mut Region,
        node: &GraphNode,
        fold: Fold,
        axis: i64,
    ) -> Result<(), String> {
        let (shape, dtype) = (self.value(node.ins[0]).0.to_vec(), self.value(node.out).1);
        let gone = usize::try_from(axis).unwrap_or(usize::MAX);
        let Some(&extent) = shape.get(gone) else {
            return Err("there are no tiles for `reduce` along an axis that there is not".to_owned());
        };
        let back = shape.len() - gone;
        // Rows are summed up tile by tile, as columns are; what is left of a row has an axis, which its first element brings.
        let is_row = back == 1 && shape.len() > 1 && extent > 1;
        let is_column = back == 2;
        let step = if is_row || is_column { self.step.stream.min(extent) } else { 1 };
        let first = i64::from(is_row);
        region.steps.insert("k".to_owned(), json!(step));
        region.stream = json!({"axis": "k", "from": [first], "to": [extent]});
        let (mut at, mut stored, mut tile) = (Vec::new(), Vec::new(), Vec::new());
        for (place, &extent) in shape.iter().enumerate() {
            let is_tiled = place + 2 >= shape.len();
            if place == gone {
                at.push(json!("k"));
                stored.push(json!(0));
                tile.extend(is_tiled.then_some(step));
                continue;
            }
            let name = match shape.len() - place {
                1 => "j".to_owned(),
                2 => "i".to_owned(),
                _ => format!("h{place}"),
            };
            let step = if is_tiled { self.step.block.min(extent) } else { 1 };
            region.axis(&name, extent, step);
            tile.extend(is_tiled.then_some(step));
            at.push(json!(name));
            stored.push(json!(name));
        }
        let (init, update) = match fold {
            Fold::Sum => (json!(0), "add"),
            Fold::Max => (json!("-inf"), "max"),
        };
        let mut left = tile.clone();
        if is_row || is_column {
            left.remove(2 - back);
        }
        let kept = self.state(region, "kept", &left, init);
        let begun = is_row.then(|| self.load(region, BEGIN, node.ins[0], &[left[0], 1], &stored));
        let mut part = self.load(region, EACH, node.ins[0], &tile, &at);
        if is_row || is_column {
            part = self.make(region, EACH, &[&part], (&left, "F32"), reduced(fold, 2 - back));
        }
        region.push(EACH, json!({"op": "UpdateState", "fn": update, "in": [kept, part], "out": [kept]}));
        let out = match begun {
            Some(begun) => {
                self.make(region, END, &[&begun, &kept], (&[left[0], 1], dtype), along(update, "rows"))
            }
            None if dtype == "F32" => kept,
            None => self.make(region, END, &[&kept], (&left, dtype), json!({"fn": "copy"})),
        };
        self.store(region, END, &out, node.out, &stored);
        Ok(())
    }

    /// Pairs turned by angles. An axis of two values says which half of a row a block computes, and two masks keep the difference in the one and the sum in
    /// the other: a tensor is stored by one node alone.
    pub(super) fn rope(&mut self, region: &mut Region, node: &GraphNode) -> Result<(), String> {
        let (shape, dtype) = (self.value(node.out).0.to_vec(), self.value(node.out).1);
        let [.., m, wide] = shape[..] else {
            return Err("there are no tiles for `rope` of one axis".to_owned());
        };
        let half = wide / 2;
        let rows = self.step.block.min(m);
        // Tiles of a half have to end where it ends.
        let columns = (1..=self.step.block.min(half)).rev().find(|step| half % step == 0).unwrap_or(1);
        let lead = Draft::lead(region, &shape, 2);
        region.axis("i", m, rows);
        region.axis("j", half, columns);
        region.axis("half", wide, half);
        let at = |last: Json| [&lead[..], &[json!("i"), last]].concat();
        let tile = [rows, columns];
        let whole = (&tile[..], "F32");
        let own = self.load(region, BEGIN, node.ins[0], &tile, &at(json!(["half", "j"])));
        let other = self.load(region, BEGIN, node.ins[0], &tile, &at(json!([half, [-1, "half"], "j"])));
        let [cosine, sine] =
            [1, 2].map(|place| self.load(region, BEGIN, node.ins[place], &tile, &[json!("i"), json!("j")]));
        let straight = self.make(region, BEGIN, &[&own, &cosine], whole, json!({"fn": "mul"}));
        let across = self.make(region, BEGIN, &[&other, &sine], whole, json!({"fn": "mul"}));
        // An index of rows beyond all columns keeps everything, one below 0 by more than there are rows nothing.
        let far = (rows + columns) / half + 1;
        let mut kept = Vec::new();
        for (function, index) in
            [("sub", json!([[-far, "half"], columns])), ("add", json!([[far, "half"], -rows]))]
        {
            let turned = self.make(region, BEGIN, &[&straight, &across], whole, json!({"fn": function}));
            let does = json!({"fn": "mask", "rows": index, "columns": 0});
            kept.push(self.make(region, BEGIN, &[&turned], whole, does));
        }
        let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
        let out = self.make(region, BEGIN, &kept, (&tile, dtype), json!({"fn": "max"}));
        self.store(region, BEGIN, &out, node.out, &at(json!(["half", "j"])));
        Ok(())
    }
}
