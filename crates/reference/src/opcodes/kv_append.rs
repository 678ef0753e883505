//! KV_APPEND (clause OPC-16): `[new, cache] -> cache`, new rows from `pos` on.
//!
//! Both *float*. A cache `[max_seq, n_kv_heads, head_dim]` takes n >= 1 rows of n_kv_heads * head_dim
//! elements each; a cache `[B, max_seq, n_kv_heads, head_dim]` takes one row a sequence. Reads new whole, and
//! not the cache; writes the rows `[pos, pos + n)`. In place: required, the output is the second input.

use megakernel_ir::model::Buffer;
use megakernel_ir::{Param, Rule};

use super::cache::{self, Cache};
use super::{Op, Operands, Place, Problems, checks};
use crate::region::Region;

pub(super) struct KvAppend;

pub(super) static OP: KvAppend = KvAppend;

const NEW: Place = Place::Input(0);
const CACHE: Place = Place::Input(1);
const OUT: Place = Place::Output(0);

/// Elements of one row of one sequence.
fn row(cache: Cache) -> i128 {
    i128::from(cache.heads).saturating_mul(i128::from(cache.head_dim))
}

/// The number of rows that each sequence gets; nothing where `new` does not fit.
fn new_rows(new: &Buffer<'_>, cache: Cache) -> Option<i64> {
    let rows = checks::divided(checks::numel(new), row(cache).saturating_mul(cache.sequences()))?;
    let count = i64::try_from(rows).ok().filter(|&count| count >= 1)?;
    (cache.batch.is_none() || count == 1).then_some(count)
}

impl Op for KvAppend {
    fn dtypes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        checks::dtype_in(operands, NEW, checks::FLOAT, problems);
        checks::dtype_in(operands, CACHE, checks::FLOAT, problems);
        let ([_, cache, ..], [out, ..]) = (operands.inputs.as_slice(), operands.outputs.as_slice()) else {
            return;
        };
        if out.dtype != cache.dtype {
            let required = format_args!("{}, the dtype of input 1", cache.dtype);
            checks::wrong_dtype(Rule::M01, operands, OUT, required, problems);
        }
    }

    fn shapes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        let [new, cache, ..] = operands.inputs.as_slice() else { return };
        let Some(cache) = Cache::of(cache) else {
            return checks::wrong_shape(Rule::M02, operands, CACHE, cache::REQUIRED, problems);
        };
        if new_rows(new, cache).is_none() {
            let elements = row(cache).saturating_mul(cache.sequences());
            let required = match cache.batch {
                None => format!("a multiple of {elements} elements, the size of a row of input 1"),
                Some(batch) => {
                    format!("{elements} elements, one row of input 1 for each of {batch} sequences")
                }
            };
            checks::wrong_shape(Rule::M02, operands, NEW, required, problems);
        }
    }

    fn bounds(&self, operands: &Operands<'_>, problems: &mut Problems) {
        let [new, cache, ..] = operands.inputs.as_slice() else { return };
        let Some(cache) = Cache::of(cache) else { return };
        let Some(count) = new_rows(new, cache) else { return };
        let start = (Param::Pos, operands.int(Param::Pos, 0));
        let limit = ("max_seq", cache.max_seq, CACHE);
        checks::within(Rule::M04, operands, start, ("the number of new rows", count), limit, problems);
    }

    fn accesses(&self, input: usize) -> bool {
        input == 0
    }

    fn reads(&self, operands: &Operands<'_>, input: usize) -> Option<Region> {
        operands.inputs.get(input).filter(|_| input == 0).map(|new| Region::of(new))
    }

    fn writes(&self, operands: &Operands<'_>, output: usize) -> Option<Region> {
        let whole = Region::of(operands.outputs.get(output)?);
        let [new, cache, ..] = operands.inputs.as_slice() else { return Some(whole) };
        // An append to another buffer than its cache (M07) has no rows to speak of.
        if operands.task.inputs.get(1) != operands.task.outputs.get(output) {
            return Some(whole);
        }
        let written = Cache::of(cache).and_then(|cache| Some((cache.rows_axis(), new_rows(new, cache)?)));
        Some(match written {
            Some((axis, count)) => whole.slice(axis, operands.int(Param::Pos, 0), count),
            None => whole,
        })
    }
}

#[cfg(test)]
mod tests {
    use megakernel_ir::{Param, Rule};

    use crate::opcodes::testing::{case, input, output, param};

    #[test]
    fn it_appends_rows_to_one_sequence() {
        case("KV_APPEND F32[1,2,8] F16[16,2,8] -> #1; pos=3")
            .assert_clean()
            .assert_reads(0, Some(&[[0, 1], [0, 2], [0, 8]]))
            .assert_reads(1, None)
            .assert_writes(0, Some(&[[3, 4], [0, 2], [0, 8]]));
        case("KV_APPEND F32[48] F32[16,2,8] -> #1; pos=13")
            .assert_clean()
            .assert_writes(0, Some(&[[13, 16], [0, 2], [0, 8]]));
    }

    #[test]
    fn it_appends_a_row_to_each_of_several_sequences() {
        case("KV_APPEND F32[3,2,8] F32[3,16,2,8] -> #1; pos=15")
            .assert_clean()
            .assert_writes(0, Some(&[[0, 3], [15, 16], [0, 2], [0, 8]]));
    }

    #[test]
    fn another_output_than_the_cache_is_written_whole() {
        case("KV_APPEND F32[16] F32[16,2,8] -> F32[16,2,8]; pos=3")
            .assert_reads(1, None)
            .assert_writes(0, Some(&[[0, 16], [0, 2], [0, 8]]));
        case("KV_APPEND F32[16] F32[16,2,8] -> F32[5]; pos=3").assert_writes(0, Some(&[[0, 5]]));
    }

    #[test]
    fn operands_are_floats_and_the_output_is_like_the_cache() {
        case("KV_APPEND I32[16] F32[16,2,8] -> #1; pos=0").assert_problem(Rule::M01, input(0));
        case("KV_APPEND F32[16] I8[16,2,8] -> #1; pos=0").assert_problem(Rule::M01, input(1));
        case("KV_APPEND F32[16] F32[16,2,8] -> F16[16,2,8]; pos=0").assert_problem(Rule::M01, output(0));
    }

    #[test]
    fn new_fits_the_cache() {
        case("KV_APPEND F32[16] F32[16,16] -> #1; pos=0").assert_problem(Rule::M02, input(1));
        case("KV_APPEND F32[8] F32[16,2,8] -> #1; pos=0").assert_problem(Rule::M02, input(0));
        case("KV_APPEND F32[24] F32[16,2,8] -> #1; pos=0").assert_problem(Rule::M02, input(0));
        case("KV_APPEND F32[2,2,8] F32[3,16,2,8] -> #1; pos=0").assert_problem(Rule::M02, input(0));
        case("KV_APPEND F32[6,2,8] F32[3,16,2,8] -> #1; pos=0").assert_problem(Rule::M02, input(0));
    }

    #[test]
    fn rows_lie_inside_the_cache() {
        case("KV_APPEND F32[16] F32[16,2,8] -> #1; pos=16")
            .assert_problem(Rule::M04, param(Param::Pos))
            .assert_message(
                "`pos` 16 plus the number of new rows 1 is 17; required at most 16, the max_seq of input 1 \
                 `in1` (buffer 1)",
            )
            .assert_writes(0, Some(&[[16, 16], [0, 2], [0, 8]]));
        case("KV_APPEND F32[2,2,8] F32[16,2,8] -> #1; pos=15").assert_problem(Rule::M04, param(Param::Pos));
        case("KV_APPEND F32[30,2,8] F32[30,16,2,8] -> #1; pos=16")
            .assert_problem(Rule::M04, param(Param::Pos));
    }
}
