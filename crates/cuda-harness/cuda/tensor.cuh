// Products on matrix units, for F16 and BF16, and for 8 and 4 bits, all of whose numbers those two have: compiled in by AMK_TENSOR_CORES,
// from compute capability 8.0 on. Their adder truncates, so that who uses it declares the accumulator `truncating` (NUM-06).
//
// A block computes a rectangle of the output at a time. Both operands have K as their last axis, so they come in the same way:
// AMK_TENSOR_K elements of each row, 128 bytes, by cp.async to shared memory, a few such stages under way; from there to registers by
// ldmatrix. Of the eight chunks of a row in shared memory, chunk c lies at c ^ (row % 8), so that eight rows of one column of
// chunks lie in different banks.
#pragma once

#include "ptx.cuh"
#include "task.cuh"

#define AMK_TENSOR_K 64
#define AMK_TENSOR_ROW (2 * AMK_TENSOR_K)
#define AMK_TENSOR_STAGES 3

// Shared memory for tiles. What the scratch memory of other instructions is for, no instruction that uses this needs.
AMK_DEVICE amk_u8* amk_tiles() { return amk_shared() + AMK_CONTROL_BYTES; }
static_assert(AMK_TENSOR_BYTES >= AMK_TENSOR_STAGES * 2 * 128 * AMK_TENSOR_ROW, "three stages of two operands of 128 rows");

// AMK_TENSOR_K elements of `rows` rows, the first `there` of which exist, to a stage of shared memory: `left` bytes of each are left.
AMK_DEVICE void amk_stage_rows(amk_u8* stage, const amk_u8* from, amk_i64 row_bytes, int rows, int there, amk_i64 left) {
    const int chunk = amk_thread() % 8, step = amk_threads() / 8;
    const bool in_row = 16 * chunk < left;
    const amk_u8* source = from + (amk_thread() / 8) * row_bytes + 16 * chunk;
    for (int row = amk_thread() / 8; row < rows; row += step, source += step * row_bytes) {
        const bool exists = in_row && row < there;
        // Where nothing is copied, the address is one that exists all the same.
        amk_copy_begin(stage + row * AMK_TENSOR_ROW + 16 * (chunk ^ row % 8), exists ? source : from, exists);
    }
}

// Element i of eight that lie in two words, or nibbles in one.
AMK_DEVICE float amk_short_element(int dtype, const amk_u32* words, int i) {
    const amk_u32 byte = words[i / 4] >> 8 * (i % 4) & 0xffu;
    switch (dtype) {
        case AMK_DTYPE_F8E4M3: return amk_e4m3::decode(byte);
        case AMK_DTYPE_F8E5M2: return amk_e5m2::decode(byte);
        case AMK_DTYPE_I8: return float(int(byte ^ 0x80u) - 128);
        default: return float(int(words[0] >> 4 * i & 15u) - 8);
    }
}

// `amk_stage_rows` for elements of 8 or 4 bits, each of which becomes one of DTYPE: `first` is the index of the first, K the elements of a row,
// `left` those that are left of each.
template <int DTYPE>
AMK_DEVICE void amk_stage_widened(
    amk_u8* stage, const void* from, int dtype, amk_i64 first, amk_i64 K, int rows, int there, amk_i64 left
) {
    const int chunk = amk_thread() % 8, bits = dtype == AMK_DTYPE_I4 ? 4 : 8;
    for (int row = amk_thread() / 8; row < rows; row += amk_threads() / 8) {
        amk_chunk wide = {};
        if (row < there && 8 * chunk < left) {
            const amk_u32* const words = static_cast<const amk_u32*>(from) + (first + row * K + 8 * chunk) / (32 / bits);
            const amk_u32 both[2] = {words[0], bits == 8 ? words[1] : 0};
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const float value = amk_short_element(dtype, both, i);
                const amk_u32 code = DTYPE == AMK_DTYPE_F16 ? amk_u32(amk_to_half(value)) : __float_as_uint(value) >> 16;
                wide.word[i / 2] |= code << 16 * (i % 2);
            }
        }
        for (int i = 0; i < 4; ++i) reinterpret_cast<amk_u32*>(stage + row * AMK_TENSOR_ROW + 16 * (chunk ^ row % 8))[i] = wide.word[i];
    }
}

// Calls for each sum that a lane has of a rectangle, and that is there: with its place in the fragments, and how far it is below the first and beside it.
template <int A, int B, class VISIT>
AMK_DEVICE void amk_each_sum(amk_i64 below, amk_i64 beside, const VISIT& visit) {
#pragma unroll
    for (int a = 0; a < A; ++a) {
#pragma unroll
        for (int b = 0; b < 2 * B; ++b) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int m = 16 * a + i / 2 * 8, n = 8 * b + i % 2;
                if (m < below && n < beside) visit(a, b, i, m, n);
            }
        }
    }
}

// A rectangle of 16 A by 16 B outputs for each warp, warps two by up to four. WIDENED: an operand has fewer bits than DTYPE, and the weight
// may be quantised; its scales are then applied to the sums of groups.
template <int DTYPE, int A, int B, bool WIDENED>
AMK_CALLED void amk_rectangles(const amk_program_t& program, const amk_instruction_t& task, amk_i64 m_lo, amk_i64 m_hi) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1);
    const amk_buffer_t& y = amk_output(program, task, 0);
    const bool quantised = WIDENED && task.params.qdtype != 0;
    const amk_buffer_t* const more = task.n_inputs > 2 ? &amk_input(program, task, 2) : 0;
    const amk_buffer_t *const bias = quantised ? 0 : more, *const scales = quantised ? more : 0;
    const amk_i64 K = task.params.K, row_bytes = 2 * K, N = amk_last(y);
    const int group = quantised ? task.params.group : 1, groups = quantised ? int((K + group - 1) / group) : 0;
    const amk_i64 n_lo = task.params.n_off, n_hi = n_lo + task.params.N_tile;
    const int warps = amk_threads() / AMK_WARP, warp = amk_thread() / AMK_WARP, lane = amk_thread() % AMK_WARP;
    const int warps_m = warps > 1 ? 2 : 1, fit = warps / warps_m, warps_n = fit < 4 ? fit : 4;
    const int rows = warps_m * 16 * A, columns = warps_n * 16 * B;
    // Warps beyond those only copy.
    const bool computes = warp < warps_m * warps_n;
    const int my_m = warp % warps_m * 16 * A, my_n = warp / warps_m % warps_n * 16 * B;
    amk_u8* const stages = amk_tiles();
    const int stage_bytes = (rows + columns) * AMK_TENSOR_ROW;
    const int steps = int(K + AMK_TENSOR_K - 1) / AMK_TENSOR_K;

    for (amk_i64 m = m_lo; m < m_hi; m += rows) {
        for (amk_i64 n = n_lo; n < n_hi; n += columns) {
            const int there_m = int(m_hi - m < rows ? m_hi - m : rows), there_n = int(n_hi - n < columns ? n_hi - n : columns);
            const auto stage_operand = [&](amk_u8* to, const void* from, int dtype, amk_i64 row, int rows, int there, int step) {
                const amk_i64 at = amk_i64(step) * AMK_TENSOR_K;
                if (WIDENED && dtype != DTYPE) {
                    amk_stage_widened<DTYPE>(to, from, dtype, row * K + at, K, rows, there, K - at);
                } else {
                    amk_stage_rows(to, static_cast<const amk_u8*>(from) + 2 * (row * K + at), row_bytes, rows, there, 2 * (K - at));
                }
            };
            const auto stage = [&](int step) {
                if (step < steps) {
                    amk_u8* const to = stages + step % AMK_TENSOR_STAGES * stage_bytes;
                    stage_operand(to, x.ptr, x.dtype, m, rows, there_m, step);
                    // Nibbles may lie in a buffer of bytes.
                    stage_operand(to + rows * AMK_TENSOR_ROW, w.ptr, quantised ? task.params.qdtype : w.dtype, n, columns, there_n, step);
                }
                amk_copy_commit();
            };
            float sums[A][2 * B][4], scaled[A][2 * B][4];
#pragma unroll
            for (int a = 0; a < A; ++a) {
#pragma unroll
                for (int b = 0; b < 2 * B; ++b) {
#pragma unroll
                    for (int i = 0; i < 4; ++i) sums[a][b][i] = scaled[a][b][i] = 0.0f;
                }
            }
            // What a group has summed up is multiplied with its scales.
            const auto scale = [&](int of_group) {
#pragma unroll
                for (int b = 0; b < 2 * B; ++b) {
#pragma unroll
                    for (int i = 0; i < 2; ++i) {
                        const amk_i64 column = n + my_n + 8 * b + lane % 4 * 2 + i;
                        const float by = column < n_hi ? amk_load(*scales, column * groups + of_group) : 0.0f;
#pragma unroll
                        for (int a = 0; a < A; ++a) {
#pragma unroll
                            for (int below = 0; below < 4; below += 2) {
                                scaled[a][b][below + i] = fmaf(by, sums[a][b][below + i], scaled[a][b][below + i]);
                                sums[a][b][below + i] = 0.0f;
                            }
                        }
                    }
                }
            };
            // Nobody still reads what is written now.
            __syncthreads();
            for (int step = 0; step < AMK_TENSOR_STAGES - 1; ++step) stage(step);
            for (int step = 0; step < steps; ++step) {
                amk_copy_wait();
                __syncthreads();
                stage(step + AMK_TENSOR_STAGES - 1);
                if (!computes) continue;
                const amk_u8* const of_x = stages + step % AMK_TENSOR_STAGES * stage_bytes;
                const amk_u8* const of_w = of_x + rows * AMK_TENSOR_ROW;
#pragma unroll 2
                for (int k = 0; k < AMK_TENSOR_K / 16; ++k) {
                    amk_u32 first[A][4], second[B][4];
#pragma unroll
                    for (int a = 0; a < A; ++a) {
                        // Matrices: rows 0 to 7 and 8 to 15 of the first eight of K, then of the other eight.
                        const int row = my_m + 16 * a + lane % 16, chunk = 2 * k + lane / 16;
                        amk_load_matrices(first[a], of_x + row * AMK_TENSOR_ROW + 16 * (chunk ^ row % 8));
                    }
#pragma unroll
                    for (int b = 0; b < B; ++b) {
                        // Matrices: columns 0 to 7 with both eights of K, then columns 8 to 15.
                        const int row = my_n + 16 * b + lane / 16 * 8 + lane % 8, chunk = 2 * k + lane / 8 % 2;
                        amk_load_matrices(second[b], of_w + row * AMK_TENSOR_ROW + 16 * (chunk ^ row % 8));
                    }
#pragma unroll
                    for (int a = 0; a < A; ++a) {
#pragma unroll
                        for (int b = 0; b < 2 * B; ++b) amk_multiply_fragments<DTYPE>(sums[a][b], first[a], second[b / 2] + b % 2 * 2);
                    }
                    if constexpr (WIDENED) {
                        const int end = step * AMK_TENSOR_K + 16 * (k + 1);
                        if (quantised && end < K && end % group == 0) scale(end / group - 1);
                    }
                }
            }
            if (!computes) continue;
            if constexpr (WIDENED) {
                if (quantised) scale(groups - 1);
            }
            // Lane l has two neighbours of row l / 4, and two of the row eight below. Whatever can be done once for all of them is: code that a task
            // runs for the first time comes from far away.
            const amk_i64 row = m + my_m + lane / 4, column = n + my_n + lane % 4 * 2, first = row * N + column;
            float added[2 * B][2];
#pragma unroll
            for (int i = 0; i < 4 * B; ++i) {
                const amk_i64 own = column + i / 2 * 8 + i % 2;
                added[i / 2][i % 2] = bias && own < n_hi ? amk_load(*bias, own) : 0.0f;
            }
            const auto value = [&](int a, int b, int i) {
                const float sum = quantised ? scaled[a][b][i] : sums[a][b][i];
                return bias ? sum + added[b][i % 2] : sum;
            };
            const amk_i64 below = m_hi - row, beside = n_hi - column;
            void* const to = y.ptr;
            switch (y.dtype) {
                case AMK_DTYPE_F32:
                    amk_each_sum<A, B>(below, beside, [&](int a, int b, int i, int m, int n) {
                        static_cast<float*>(to)[first + m * N + n] = value(a, b, i);
                    });
                    break;
                case AMK_DTYPE_BF16:
                    amk_each_sum<A, B>(below, beside, [&](int a, int b, int i, int m, int n) {
                        static_cast<amk_u16*>(to)[first + m * N + n] = amk_u16(amk_bf16::encode(value(a, b, i)));
                    });
                    break;
                default:
                    amk_each_sum<A, B>(below, beside, [&](int a, int b, int i, int m, int n) {
                        amk_store_rare(y, first + m * N + n, value(a, b, i));
                    });
                    break;
            }
        }
    }
    // The last stages, which were empty.
    amk_copy_wait();
    __syncthreads();
}

template <int DTYPE>
AMK_DEVICE void amk_matrix_of_dtype(const amk_program_t& program, const amk_instruction_t& task, amk_i64 m_lo, amk_i64 m_hi) {
    const amk_params_t& p = task.params;
    if (amk_input(program, task, 0).dtype != DTYPE || amk_input(program, task, 1).dtype != DTYPE) {
        amk_rectangles<DTYPE, 2, 1, true>(program, task, m_lo, m_hi);
    } else if (m_hi - m_lo > 64 && p.N_tile > 64) {
        amk_rectangles<DTYPE, 4, 2, false>(program, task, m_lo, m_hi);
    } else {
        amk_rectangles<DTYPE, 2, 1, false>(program, task, m_lo, m_hi);
    }
}

// The dtype in which matrix units multiply x and the weight, as it is stored, so that both have it or fewer bits; AMK_DTYPE_COUNT where they do
// not. K is a multiple of 8 then, both lie at multiples of 16, and a group is of whole fragments, and without zeros: a zero less than q may
// have more bits than BF16, and is not to be multiplied by itself (OPC-05).
AMK_DEVICE int amk_fragment_dtype(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_params_t& p = task.params;
    const bool quantised = p.qdtype != 0;
    bool halves[2] = {false, false};
    for (int i = 0; i < 2; ++i) {
        const amk_buffer_t& operand = amk_input(program, task, i);
        if (reinterpret_cast<unsigned long long>(operand.ptr) % 16 != 0) return AMK_DTYPE_COUNT;
        if (quantised && i == 1) break;
        switch (operand.dtype) {
            case AMK_DTYPE_F16: halves[0] = true; break;
            case AMK_DTYPE_BF16: halves[1] = true; break;
            case AMK_DTYPE_F8E4M3:
            case AMK_DTYPE_F8E5M2: break;
            default: return AMK_DTYPE_COUNT;
        }
    }
    if (p.K % 8 != 0 || (halves[0] && halves[1])) return AMK_DTYPE_COUNT;
    if (quantised && (task.n_inputs > 3 || (p.group % 16 != 0 && p.group < p.K))) return AMK_DTYPE_COUNT;
    return halves[1] ? AMK_DTYPE_BF16 : AMK_DTYPE_F16;
}

// Rows [m_lo, m_hi) of x times the columns of the task, in the dtype that `amk_fragment_dtype` names.
AMK_DEVICE void amk_matrix_by_fragment(
    const amk_program_t& program, const amk_instruction_t& task, int dtype, amk_i64 m_lo, amk_i64 m_hi
) {
    if (dtype == AMK_DTYPE_F16) {
        amk_matrix_of_dtype<AMK_DTYPE_F16>(program, task, m_lo, m_hi);
    } else {
        amk_matrix_of_dtype<AMK_DTYPE_BF16>(program, task, m_lo, m_hi);
    }
}
