//! Seeded numeric faults: each an implementation that is right but for one step. The corpus has to reject every one.

use megakernel_ir::numerics::{FloatFormat, decode, encode};
use megakernel_ir::{DType, Opcode};

use crate::kernels::Kernels;

/// Declares the files of this directory and lists their faults.
macro_rules! faults {
    ($($file:ident)+) => {
        $(mod $file;)+
        /// Every fault, in order of id.
        pub const ALL: &[Fault] = &[$($file::FAULT),+];
    };
}

faults! {
    accumulator_bf16
    accumulator_fp16
    add_first_twice
    add_in_output_dtype
    append_first_row
    append_next_row
    append_reversed
    append_row_zero
    append_sequences_swapped
    argmax_bf16
    argmax_first_missed
    argmax_global_index
    argmax_last_missed
    argmax_last_tie
    argmax_magnitude
    argmax_signed_zero
    attention_not_normalised
    bias_after_cast
    bias_dropped
    bias_offset_ignored
    bias_per_tile
    cache_of_first_sequence
    caches_cleared
    cast_e4m3_early_nan
    cast_flushes_subnormals
    cast_fp16_saturates
    cast_fp8_saturates
    cast_fp8_twice
    cast_half_away
    cast_half_up
    cast_nan_swallowed
    cast_truncates
    cast_zero_unsigned
    columns_by_four
    combine_empty_weighed
    combine_last_dropped
    combine_not_normalised
    combine_tail_swapped
    combine_without_rescaling
    counter_before_write
    counters_kept
    elements_by_eight
    embed_next_row
    embed_stride_hidden
    empty_partial_lowest
    empty_partial_zero
    exponential_base_2
    exponential_bf16
    exponential_constant
    gelu_argument
    gelu_sigmoid
    gelu_tanh
    gqa_by_tile
    gqa_first_head
    group_boundary_late
    group_ragged_joined
    groups_even
    i4_offset_missing
    i4_offset_replaced
    i8_unsigned
    k_first_dropped
    k_last_dropped
    k_tail_dropped
    k_tile_dropped
    k_tile_missed
    k_tile_overlapping
    k_tile_repeated
    k_tile_stale_input
    k_tile_stale_weight
    layer_bias_dropped
    layer_cast_before_weight
    layer_eps_missing
    layer_eps_outside
    layer_last_axis
    layer_mean_kept
    layer_moments_difference
    layer_unbiased
    layer_weight_missing
    load_flushes_subnormals
    mask_ignored
    mask_inverted
    mask_of_first_head
    mask_scaled
    mul_scale_always
    mul_scale_ignored
    nibbles_swapped
    online_accumulator_kept
    online_denominator_kept
    operands_bf16
    operands_tf32
    output_offset_ignored
    partial_maximum_base_2
    partial_normalised
    partial_sums_bf16
    partial_sums_fp16
    partial_tail_swapped
    probabilities_bf16
    rms_cast_before_weight
    rms_eps_before_mean
    rms_eps_fixed
    rms_eps_missing
    rms_eps_outside
    rms_mean_subtracted
    rms_over_all_rows
    rms_squares_fp16
    rms_unbiased
    rms_weight_missing
    rms_weight_plus_one
    rope_adjacent_pairs
    rope_angle_bf16
    rope_angle_fp16
    rope_exponent
    rope_first_position
    rope_frequency_bf16
    rope_next_position
    rope_position_per_head
    rope_sign
    rope_table_bf16
    rope_theta_fixed
    row_offset_ignored
    scales_bf16
    score_scale_from_head
    score_scale_missing
    score_scale_twice
    scores_bf16
    shard_first_twice
    shard_last_skipped
    shards_averaged
    shards_in_output_dtype
    silu_cast_before_up
    silu_of_up
    silu_overflow
    silu_without_gate
    silu_without_up
    softmax_common_maximum
    softmax_first_axis
    softmax_last_axis
    softmax_nan_lost
    softmax_without_maximum
    value_row_behind
    waits_any_producer
    waits_first_only
    waits_one_less
    weight_offset_ignored
    weights_bf16
    window_ends_early
    window_ends_late
    window_start_ignored
    window_starts_early
    window_starts_late
    zero_point_added
    zero_point_after_scale
    zero_point_ignored
    zero_point_sign
}

/// A fault, and what it can show in.
#[derive(Clone, Copy)]
pub struct Fault {
    /// Names the fault in certificates and tables.
    pub id: &'static str,
    /// What the implementation does wrong, as the end of a sentence.
    pub summary: &'static str,
    /// Opcodes whose results it can change; none: it is about launches, and any program may show it.
    pub opcodes: &'static [Opcode],
    /// Element types of outputs that it can change, of those that the opcodes have; none for a fault of launches.
    pub outputs: &'static [DType],
    /// Why these are not all that the opcodes have.
    pub why: &'static str,
    /// The faulty implementation.
    pub kernels: &'static dyn Kernels,
}

impl std::fmt::Debug for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

/// The fault with this id.
pub fn fault(id: &str) -> Option<&'static Fault> {
    ALL.iter().find(|fault| fault.id == id)
}

impl Fault {
    /// Whether it is about launches and not about opcodes.
    pub fn is_of_launches(&self) -> bool {
        self.opcodes.is_empty()
    }
}

/// What most opcodes write.
const FLOATS: &[DType] = &[DType::F32, DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2];
/// The floats to which a binary32 value has to be rounded.
const NARROW: &[DType] = &[DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2];
/// What SAMPLE_ARGMAX writes.
const I32: &[DType] = &[DType::I32];

/// The products over K.
const MATRIX: &[Opcode] = &[Opcode::GemvTile, Opcode::GemmTile];
/// Opcodes that take quantised weights.
const QUANTISED: &[Opcode] = &[Opcode::GemvTile, Opcode::GemmTile, Opcode::Dequant];
/// Opcodes whose sums tensor cores may make.
const TENSOR_CORES: &[Opcode] = &[Opcode::GemvTile, Opcode::GemmTile, Opcode::AttentionTile];
/// Opcodes that write floats.
const WRITE_FLOATS: &[Opcode] = &[
    Opcode::Copy,
    Opcode::Embed,
    Opcode::RmsNorm,
    Opcode::LayerNorm,
    Opcode::GemvTile,
    Opcode::GemmTile,
    Opcode::AttentionTile,
    Opcode::Rope,
    Opcode::SiluMul,
    Opcode::Gelu,
    Opcode::Add,
    Opcode::Mul,
    Opcode::Dequant,
    Opcode::Softmax,
    Opcode::AllreduceShard,
    Opcode::KvAppend,
    Opcode::AttentionCombine,
];

/// `value` rounded to a dtype.
fn round(dtype: DType, value: f64) -> f64 {
    decode(dtype, encode(dtype, value))
}

/// The neighbour of `nearest` that is as near to `value`, if there is one.
fn tie(dtype: DType, nearest: u32, value: f64) -> Option<u32> {
    let stored = decode(dtype, nearest);
    if stored == value || !stored.is_finite() {
        return None;
    }
    // Bits grow with the magnitude.
    let other = if stored.abs() < value.abs() { nearest + 1 } else { nearest - 1 };
    ((stored + decode(dtype, other)) / 2.0 == value).then_some(other)
}

/// The same bits, or those of a zero where they are of a subnormal number.
fn flushed(dtype: DType, bits: u32) -> u32 {
    match FloatFormat::of(dtype) {
        Some(format) if format.magnitude(bits) < 1 << format.fraction_bits => bits & format.sign(),
        _ => bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_in_order() {
        assert!(ALL.len() >= 40);
        assert!(ALL.windows(2).all(|pair| pair[0].id < pair[1].id));
        assert_eq!(fault("gqa-by-tile").map(|fault| fault.opcodes), Some(&[Opcode::AttentionTile][..]));
        assert!(fault("no-such-fault").is_none());
    }

    #[test]
    fn what_a_fault_cannot_change_has_a_reason() {
        for fault in ALL {
            let all = match fault.opcodes {
                [] => FLOATS,
                [Opcode::SampleArgmax] => I32,
                _ => FLOATS,
            };
            assert_eq!(fault.outputs == all, fault.why.is_empty(), "{}", fault.id);
            assert!(fault.outputs.iter().all(|dtype| all.contains(dtype)), "{}", fault.id);
            assert!(!fault.summary.ends_with('.') && fault.summary.starts_with(char::is_lowercase));
        }
    }

    #[test]
    fn ties_are_found_on_both_sides() {
        // 1 + 2^-8 is between the bfloat16 numbers 0x3f80 and 0x3f81.
        assert_eq!(tie(DType::BF16, 0x3f80, 1.00390625), Some(0x3f81));
        assert_eq!(tie(DType::BF16, 0xbf82, -1.01171875), Some(0xbf81));
        assert_eq!(tie(DType::BF16, 0x3f80, 1.0), None);
        assert_eq!(tie(DType::BF16, 0x3f80, 1.001), None);
    }

    #[test]
    fn subnormals_are_flushed_with_their_sign() {
        assert_eq!(flushed(DType::F16, 0x83ff), 0x8000);
        assert_eq!(flushed(DType::F16, 0x0400), 0x0400);
        assert_eq!(flushed(DType::F32, 1), 0);
    }
}
