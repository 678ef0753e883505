//! Attention of one token over the pages of its text.

use megakernel_ir::Opcode;
use serde_json::json;

use super::{Lowering, plain};
use crate::bridge::work::Attention;

/// How many partial results ATTENTION_COMBINE takes.
const MOST_PARTIAL: usize = 8;

impl Lowering<'_, '_> {
    /// Norms and rotation of heads, the caches, the scores.
    pub(super) fn attention(&mut self, attention: &Attention) -> Result<(), String> {
        let &Attention { heads, kv_heads, head_dim, length, .. } = attention;
        let position = attention.row.map_or(self.position, |(_, position)| position);
        let query = self.heads("q", attention.query, heads, attention.query_norm, attention)?;
        let key = self.heads("k", attention.key, kv_heads, attention.key_norm, attention)?;
        let value = self.load(attention.value)?;
        let page = usize::try_from(position / length).ok().and_then(|page| attention.pages.get(page));
        let Some(page) = page else {
            let held = length * attention.pages.len() as i64;
            return Err(format!("position {position} is outside of a cache of {held}"));
        };
        for (new, cache) in [key, value].into_iter().zip(page) {
            let cache = self.cache(*cache)?;
            self.step(Opcode::KvAppend, &[new, cache], Some(plain(cache)), json!({"pos": position % length}));
        }
        let params = |held: i64, flags: i64| {
            let mut params = json!({
                "head_dim": head_dim, "kv_start": 0, "kv_len": held, "scale": attention.scale,
                "n_heads": heads, "n_kv_heads": kv_heads,
            });
            if flags != 0 {
                params["flags"] = json!(flags);
            }
            params
        };
        let mut partial = Vec::new();
        for (&[keys, values], page) in attention.pages.iter().zip(0..) {
            let held = (position + 1 - page * length).min(length);
            let inputs = [query, self.cache(keys)?, self.cache(values)?];
            if attention.pages.len() == 1 {
                let target = self.store(attention.out)?;
                self.step(Opcode::AttentionTile, &inputs, Some(target), params(held, 0));
                return Ok(());
            }
            let to = self.scratch32("partial", vec![heads, head_dim + 2]);
            // PARTIAL_WRITE.
            self.step(Opcode::AttentionTile, &inputs, Some(plain(to)), params(held, 2));
            partial.push(to);
        }
        if partial.len() > MOST_PARTIAL {
            return Err(format!(
                "attends over {} pages; required: at most {MOST_PARTIAL}, which is what ATTENTION_COMBINE puts together",
                partial.len()
            ));
        }
        let target = self.store(attention.out)?;
        self.step(Opcode::AttentionCombine, &partial, Some(target), json!({}));
        Ok(())
    }

    /// Heads, normed and rotated as the task does it.
    fn heads(
        &mut self,
        name: &str,
        from: usize,
        count: i64,
        norm: Option<usize>,
        attention: &Attention,
    ) -> Result<usize, String> {
        if norm.is_none() && attention.theta.is_none() {
            return self.load(from);
        }
        let area = self.of(from)?.area;
        let shape = vec![count, attention.head_dim];
        let mut heads = self.load_as(from, shape.clone())?;
        if let Some(norm) = norm {
            let weight = self.weight(norm)?;
            let normed = self.scratch(&format!("{name}.norm"), area, shape.clone());
            let params = json!({"eps": attention.eps, "hidden": attention.head_dim});
            self.step(Opcode::RmsNorm, &[heads, weight], Some(plain(normed)), params);
            heads = normed;
        }
        if let Some(theta) = attention.theta {
            let positions = self.positions(attention.row.map(|(row, _)| row));
            let rotated = self.scratch(&format!("{name}.rope"), area, shape);
            let params = json!({"head_dim": attention.head_dim, "theta": theta});
            self.step(Opcode::Rope, &[heads, positions], Some(plain(rotated)), params);
            heads = rotated;
        }
        Ok(heads)
    }
}
