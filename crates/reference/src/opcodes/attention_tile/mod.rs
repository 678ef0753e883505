//! ATTENTION_TILE (clause OPC-07): `[q, k, v(, mask)] -> y`, attention over the rows `[kv_start, kv_start +
//! kv_len)`.
//!
//! k and v have one shape: `[max_seq, n_kv_heads, head_dim]`, with n_heads * head_dim elements in q, or `[B,
//! max_seq, n_kv_heads, head_dim]`, with q `[B, n_heads, head_dim]`. y has as many elements as q; with
//! PARTIAL_WRITE it is F32 `[n_heads, head_dim + 2]`, with B in front for rank 4. mask is *float* or BOOL,
//! `[kv_len]` or `[n_heads, kv_len]`, likewise. Reads these rows of k and v and the whole of the rest.

use megakernel_ir::model::{Buffer, Task};
use megakernel_ir::params::{FLAG_CAUSAL, FLAG_PARTIAL_WRITE};
use megakernel_ir::{DType, Param, Rule};

use super::cache::{self, Cache};
use super::{Op, Operands, Place, Problems, checks};
use crate::region::Region;

pub(super) struct AttentionTile;

pub(super) static OP: AttentionTile = AttentionTile;

const Q: Place = Place::Input(0);
const K: Place = Place::Input(1);
const V: Place = Place::Input(2);
const MASK: Place = Place::Input(3);
const Y: Place = Place::Output(0);

const MASK_DTYPES: &[DType] =
    &[DType::F32, DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2, DType::Bool];

fn is_partial(operands: &Operands<'_>) -> bool {
    operands.int(Param::Flags, 0) & FLAG_PARTIAL_WRITE != 0
}

impl Op for AttentionTile {
    fn param_ranges(&self, task: &Task<'_>, problems: &mut Problems) {
        // Values that are out of their own range are reported by S14 and S15 and enter no relation.
        let in_range = |param, least: i64| {
            task.params.int(param).filter(|value| (least..=i64::from(i32::MAX)).contains(value))
        };
        if let (Some(heads), Some(kv_heads)) = (in_range(Param::NHeads, 1), in_range(Param::NKvHeads, 1))
            && heads.checked_rem(kv_heads) != Some(0)
        {
            let message = format!("`n_heads` is {heads}; required a multiple of `n_kv_heads` {kv_heads}");
            checks::wrong_param(Rule::S15, Param::NHeads, message, problems);
        }
        let may_be_empty = match task.params.get(Param::Flags) {
            None => false,
            Some(_) => in_range(Param::Flags, 0).is_none_or(|flags| {
                flags & FLAG_PARTIAL_WRITE != 0 || flags & !(FLAG_CAUSAL | FLAG_PARTIAL_WRITE) != 0
            }),
        };
        if task.params.int(Param::KvLen) == Some(0) && !may_be_empty {
            let message = "`kv_len` is 0; required at least 1 unless `flags` has bit 1 (PARTIAL_WRITE)";
            checks::wrong_param(Rule::S15, Param::KvLen, message.to_owned(), problems);
        }
    }

    fn dtypes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        for place in [Q, K, V] {
            checks::dtype_in(operands, place, checks::FLOAT, problems);
        }
        checks::dtype_in(operands, MASK, MASK_DTYPES, problems);
        if !is_partial(operands) {
            checks::dtype_in(operands, Y, checks::FLOAT, problems);
        } else if operands.outputs.first().is_some_and(|y| y.dtype != DType::F32) {
            checks::wrong_dtype(Rule::M01, operands, Y, "F32 with PARTIAL_WRITE", problems);
        }
    }

    fn shapes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        let ([q, k, v, masks @ ..], [y, ..]) = (operands.inputs.as_slice(), operands.outputs.as_slice())
        else {
            return;
        };
        let Some(cache) = Cache::of(k) else {
            return checks::wrong_shape(Rule::M02, operands, K, cache::REQUIRED, problems);
        };
        let head_dim = caches(operands, cache, k, v, problems);

        let q_heads = heads_of_query(q, cache, head_dim);
        if q_heads.is_none() {
            match cache.batch {
                None => {
                    let required = format_args!("n_heads * {head_dim} elements");
                    checks::wrong_shape(Rule::M02, operands, Q, required, problems);
                }
                Some(batch) => {
                    let required = format_args!("[{batch}, n_heads, {head_dim}] for caches of rank 4");
                    checks::wrong_shape(Rule::M02, operands, Q, required, problems);
                }
            }
        }
        let y_heads = if is_partial(operands) {
            heads_of_partial(y, cache, head_dim)
        } else {
            checks::divided(checks::numel(y), cache.sequences().saturating_mul(head_dim))
        };
        if y_heads.is_none() {
            let batch = cache.batch.map(|batch| format!("{batch}, ")).unwrap_or_default();
            if is_partial(operands) {
                let required =
                    format_args!("[{batch}n_heads, {}] with PARTIAL_WRITE", head_dim.saturating_add(2));
                checks::wrong_shape(Rule::M02, operands, Y, required, problems);
            } else {
                checks::wrong_shape(Rule::M02, operands, Y, "as many elements as input 0 has", problems);
            }
        }
        checks::agree(operands, "number of heads", (Q, q_heads), (Y, y_heads), Param::NHeads, problems);

        if let [mask, ..] = masks {
            let given = i128::from(operands.int(Param::NHeads, 0));
            let heads = if q_heads == y_heads { q_heads.unwrap_or(given) } else { given };
            check_mask(operands, mask, cache, heads, problems);
        }
    }

    fn bounds(&self, operands: &Operands<'_>, problems: &mut Problems) {
        let Some(cache) = operands.inputs.get(1).and_then(|k| Cache::of(k)) else { return };
        let start = (Param::KvStart, operands.int(Param::KvStart, 0));
        let length = ("`kv_len`", operands.int(Param::KvLen, 0));
        checks::within(Rule::M04, operands, start, length, ("max_seq", cache.max_seq, K), problems);
    }

    fn reads(&self, operands: &Operands<'_>, input: usize) -> Option<Region> {
        let buffer = operands.inputs.get(input)?;
        let whole = Region::of(buffer);
        if !matches!(input, 1 | 2) {
            return Some(whole);
        }
        let (start, length) = (operands.int(Param::KvStart, 0), operands.int(Param::KvLen, 0));
        Some(match Cache::of(buffer) {
            Some(cache) => whole.slice(cache.rows_axis(), start, length),
            None => whole,
        })
    }
}

/// Compares k and v with each other and with the parameters. The result is the head size to compare q and y
/// with: that of k and v where they agree, and otherwise the parameter.
fn caches(
    operands: &Operands<'_>,
    cache: Cache,
    k: &Buffer<'_>,
    v: &Buffer<'_>,
    problems: &mut Problems,
) -> i128 {
    let same_rank = Cache::of(v).filter(|other| other.batch.is_some() == cache.batch.is_some());
    if same_rank.is_none_or(|other| [other.batch, Some(other.max_seq)] != [cache.batch, Some(cache.max_seq)])
    {
        let required = format_args!("the shape of input 1, {:?}", k.shape.as_slice());
        checks::wrong_shape(Rule::M02, operands, V, required, problems);
    }
    let size = |extent: i64| Some(i128::from(extent));
    let (k_heads, v_heads) = (size(cache.heads), same_rank.and_then(|other| size(other.heads)));
    let (k_dim, v_dim) = (size(cache.head_dim), same_rank.and_then(|other| size(other.head_dim)));
    checks::agree(operands, "number of heads", (K, k_heads), (V, v_heads), Param::NKvHeads, problems);
    checks::agree(operands, "head size", (K, k_dim), (V, v_dim), Param::HeadDim, problems);
    if k_dim == v_dim { i128::from(cache.head_dim) } else { i128::from(operands.int(Param::HeadDim, 0)) }
}

/// The number of heads of a query that fits the caches in all else.
fn heads_of_query(q: &Buffer<'_>, cache: Cache, head_dim: i128) -> Option<i128> {
    match (cache.batch, q.shape.as_slice()) {
        (None, _) => checks::divided(checks::numel(q), head_dim),
        (Some(batch), &[q_batch, heads, q_dim]) if q_batch == batch && i128::from(q_dim) == head_dim => {
            Some(i128::from(heads))
        }
        _ => None,
    }
}

/// The number of heads of a partial result that fits the caches in all else.
fn heads_of_partial(y: &Buffer<'_>, cache: Cache, head_dim: i128) -> Option<i128> {
    let (batch, heads, width) = match *y.shape.as_slice() {
        [heads, width] => (None, heads, width),
        [batch, heads, width] => (Some(batch), heads, width),
        _ => return None,
    };
    (batch == cache.batch && i128::from(width) == head_dim.saturating_add(2)).then(|| i128::from(heads))
}

fn check_mask(
    operands: &Operands<'_>,
    mask: &Buffer<'_>,
    cache: Cache,
    heads: i128,
    problems: &mut Problems,
) {
    let length = operands.int(Param::KvLen, 0);
    let without_batch = match (cache.batch, mask.shape.as_slice()) {
        (None, shape) => Some(shape),
        (Some(batch), [mask_batch, shape @ ..]) if *mask_batch == batch => Some(shape),
        _ => None,
    };
    let fits = match without_batch {
        Some(&[row]) => row == length,
        Some(&[mask_heads, row]) => i128::from(mask_heads) == heads && row == length,
        _ => false,
    };
    if !fits {
        let batch = cache.batch.map(|batch| format!("{batch}, ")).unwrap_or_default();
        let required = format_args!("[{batch}{length}] or [{batch}{heads}, {length}] for `kv_len` {length}");
        checks::wrong_shape(Rule::M02, operands, MASK, required, problems);
    }
}

#[cfg(test)]
mod tests;
