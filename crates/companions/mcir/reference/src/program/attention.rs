//! Attention as ATTENTION_TILE: query rows are heads, and what a mask and the bounds of streams leave out is a mask of elements.

use std::collections::{BTreeMap, HashMap};

use megakernel_mcir::Index;
use serde_json::json;

use super::NoProgram;
use super::find::{Attention, form};
use super::tasks::{Form, Lowering, Whole};

/// The most pairs of a query and a key of which a mask is written down.
const MOST_PAIRS: i128 = 1 << 26;

impl<'d> Lowering<'_, 'd> {
    pub(super) fn attention(
        &mut self,
        tile: u32,
        attention: &Attention<'d>,
        target: Option<(&Whole, String)>,
    ) -> Result<Whole, NoProgram> {
        let refused = |reason: &str| NoProgram::at(attention.found.pointer.clone(), reason);
        if self.is_in_each {
            return Err(refused(
                "its result is stored before the stream ends, and ATTENTION_TILE has no such result",
            ));
        }
        self.is_in_each = self.region.stream.is_some();
        let [q, k, v] = [self.value(attention.q)?, self.value(attention.k)?, self.value(attention.v)?];
        self.is_in_each = false;
        if k.shape != v.shape || k.at != v.at {
            return Err(refused(
                "ATTENTION_TILE takes keys and values of one shape, and the same rows of both",
            ));
        }
        let zero: Form = (Vec::new(), 0);
        let (lead, count, depth) = match *k.shape.as_slice() {
            [count, depth] => (None, count, depth),
            [batch, count, depth] => (Some(batch), count, depth),
            _ => {
                return Err(refused(
                    "ATTENTION_TILE takes a cache for each sequence, and this one has more axes",
                ));
            }
        };
        let axes = k.at.len();
        let axis = self.region.stream.as_ref().map_or(u32::MAX, |stream| stream.axis);
        let is_right = k.at[axes - 1] == zero
            && k.at[axes - 2] == (vec![(axis, 1)], 0)
            && q.at.last() == Some(&zero)
            && q.shape.last() == Some(&depth)
            && self.world.value(attention.q).shape.len() == 2
            && q.shape.len() > usize::from(lead.is_some()) + 1
            && lead.is_none_or(|batch| q.shape[0] == batch && q.at[0] == k.at[0])
            && [attention.q, attention.k, attention.v]
                .iter()
                .all(|&tile| self.world.value(tile).shape.last().is_some_and(|&size| size >= depth))
            && self.follow(attention.k, 0, count);
        if !is_right {
            return Err(refused(
                "ATTENTION_TILE takes whole rows of queries, keys and values, along the stream one key after the other, and for each sequence its own keys",
            ));
        }
        let batch = lead.unwrap_or(1);
        let heads = q.shape.iter().product::<i64>() / (batch * depth);
        let with_batch = |mut shape: Vec<i64>| {
            lead.into_iter().for_each(|batch| shape.insert(0, batch));
            shape
        };
        let kept = self.kept(attention, &q, count)?;
        let cache = with_batch(vec![count, 1, depth]);
        let mut inputs = vec![
            if lead.is_some() { self.shaped(attention.q, &q, vec![batch, heads, depth]) } else { q.buffer },
            self.shaped(attention.k, &k, cache.clone()),
            self.shaped(attention.v, &v, cache),
        ];
        if let Some(kept) = kept {
            let name = format!("{}.mask", self.name(self.region.id));
            inputs.push(self.buffers.kept(&name, with_batch(vec![heads, count]), kept));
        }
        let made = self.output(tile, q, target)?;
        let scale = attention.scale.0 as f64 / attention.scale.1 as f64;
        let params = json!({
            "head_dim": depth, "n_heads": heads, "n_kv_heads": 1, "kv_start": 0, "kv_len": count, "scale": scale,
        });
        self.task("ATTENTION_TILE", &inputs, made.buffer, params);
        Ok(made)
    }

    /// Which keys each query meets, by the stream of its block and the mask; nothing where it is all of them.
    fn kept(&self, attention: &Attention<'d>, q: &Whole, count: i64) -> Result<Option<Vec<u8>>, NoProgram> {
        let Some(stream) = &self.region.stream else { return Ok(None) };
        if attention.mask.is_none() && self.streams(stream.axis, count) {
            return Ok(None);
        }
        let queries: i64 = q.shape.iter().product::<i64>() / q.shape.last().copied().unwrap_or(1);
        if i128::from(queries) * i128::from(count) > MOST_PAIRS {
            let reason = format!(
                "ATTENTION_TILE would need a mask of {queries} by {count}, of which no more than {MOST_PAIRS} elements are written down"
            );
            return Err(NoProgram::at(attention.found.pointer.clone(), reason));
        }
        let rank = q.shape.len();
        let (size_q, size_k) =
            (self.world.value(attention.q).shape[0], self.world.value(attention.k).shape[0]);
        // One mask is for all blocks that have the same queries.
        let is_own = |axis: u32| q.at.iter().any(|(parts, _)| parts.iter().any(|&(name, _)| name == axis));
        let of_mask = attention.mask.iter().flat_map(|&(rows, columns, _)| [rows, columns]);
        let is_one = stream
            .from
            .iter()
            .chain(&stream.to)
            .chain(of_mask)
            .all(|index| form(index).0.iter().all(|&(axis, _)| axis == stream.axis || is_own(axis)));
        if !is_one {
            return Err(NoProgram::at(
                attention.found.pointer.clone(),
                "ATTENTION_TILE has one mask, and blocks with the same queries leave out different keys",
            ));
        }
        let steps: BTreeMap<u32, i64> = self.region.tile.shape.iter().copied().collect();
        let own = self.region.tile.blocks.iter().filter(|&&(axis, _)| is_own(axis));
        let axes: Vec<(u32, i64, i64)> = own
            .map(|&(axis, to)| {
                let step = steps.get(&axis).copied().unwrap_or(1);
                (axis, step, (to - 1) / step + 1)
            })
            .collect();
        let blocks =
            axes.iter().fold(1_i128, |blocks, &(_, _, count)| blocks.saturating_mul(i128::from(count)));
        if blocks.saturating_mul(i128::from(size_q)).saturating_mul(i128::from(count)) > 2 * MOST_PAIRS {
            let reason = format!(
                "ATTENTION_TILE would need a mask, put together of {blocks} blocks, which are too many"
            );
            return Err(NoProgram::at(attention.found.pointer.clone(), reason));
        }
        let mut kept = vec![0_u8; usize::try_from(queries * count).unwrap_or(0)];
        let step = steps.get(&stream.axis).copied().unwrap_or(1);
        let mut point: HashMap<u32, i64> = HashMap::new();
        for block in 0..i64::try_from(blocks).unwrap_or(0) {
            point.clear();
            let mut rest = block;
            for &(axis, step, count) in &axes {
                point.insert(axis, rest % count * step);
                rest /= count;
            }
            let at = |index: &Index, point: &HashMap<u32, i64>| value(&form(index), point);
            let from = stream.from.iter().map(|index| at(index, &point)).max().unwrap_or(0);
            let to = stream.to.iter().map(|index| at(index, &point)).min().unwrap_or(0);
            let starts: Vec<i64> = q.at.iter().map(|index| clamped(value(index, &point))).collect();
            let mut first = clamped(from);
            while i128::from(first) < to {
                point.insert(stream.axis, first);
                for row in 0..size_q.min(q.shape[rank - 2] - starts[rank - 2]) {
                    let query = (0..rank - 1).fold(0, |query, axis| {
                        let along = if axis == rank - 2 { row } else { 0 };
                        query * q.shape[axis] + starts[axis] + along
                    });
                    for column in 0..size_k.min(count - first) {
                        let is_kept = attention.mask.is_none_or(|(rows, columns, window)| {
                            let row = at(rows, &point) + i128::from(row);
                            let column = at(columns, &point) + i128::from(column);
                            column <= row && window.is_none_or(|window| column > row - i128::from(window))
                        });
                        if let Some(cell) = usize::try_from(query * count + first + column)
                            .ok()
                            .and_then(|at| kept.get_mut(at))
                        {
                            *cell = u8::from(is_kept);
                        }
                    }
                }
                first += step;
            }
        }
        Ok(Some(kept))
    }
}

fn value(form: &Form, point: &HashMap<u32, i64>) -> i128 {
    let part = |&(axis, factor): &(u32, i64)| {
        i128::from(factor) * i128::from(point.get(&axis).copied().unwrap_or(0))
    };
    i128::from(form.1) + form.0.iter().map(part).sum::<i128>()
}

fn clamped(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
