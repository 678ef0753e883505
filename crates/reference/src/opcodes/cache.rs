//! A KV cache as ATTENTION_TILE and KV_APPEND see it.

use megakernel_ir::model::Buffer;

/// The extents of a cache `[max_seq, n_kv_heads, head_dim]` or `[B, max_seq, n_kv_heads, head_dim]`.
#[derive(Clone, Copy)]
pub(super) struct Cache {
    /// B; nothing for a cache of rank 3.
    pub batch: Option<i64>,
    /// `max_seq`.
    pub max_seq: i64,
    /// `n_kv_heads`.
    pub heads: i64,
    /// `head_dim`.
    pub head_dim: i64,
}

/// The shapes as messages name them.
pub(super) const REQUIRED: &str = "[max_seq, n_kv_heads, head_dim] or [B, max_seq, n_kv_heads, head_dim]";

impl Cache {
    /// The extents of a buffer of rank 3 or 4.
    pub fn of(buffer: &Buffer<'_>) -> Option<Cache> {
        match *buffer.shape.as_slice() {
            [max_seq, heads, head_dim] => Some(Cache { batch: None, max_seq, heads, head_dim }),
            [batch, max_seq, heads, head_dim] => Some(Cache { batch: Some(batch), max_seq, heads, head_dim }),
            _ => None,
        }
    }

    /// The axis of positions.
    pub fn rows_axis(&self) -> usize {
        usize::from(self.batch.is_some())
    }

    /// B, or 1 for a cache of rank 3.
    pub fn sequences(&self) -> i128 {
        self.batch.map_or(1, i128::from)
    }
}
