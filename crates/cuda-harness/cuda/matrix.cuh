// The matrix product of GEMV_TILE and GEMM_TILE: a warp a column of the output, lanes along K.
#pragma once

#include "task.cuh"

// Row n of a weight: plain, or quantised with a scale a group (spec/opcodes, quantised operands).
struct amk_weight {
    const amk_buffer_t* values;
    const amk_buffer_t* scales;
    const amk_buffer_t* zeros;
    amk_i64 K, group, groups;

    AMK_METHOD float at(amk_i64 n, amk_i64 k) const {
        if (scales == 0) return amk_load(*values, n * K + k);
        const amk_i64 g = n * groups + k / group;
        float q;
        if (values->dtype == AMK_DTYPE_I8) {
            q = amk_load(*values, n * K + k);
        } else {
            const amk_u8 byte = static_cast<const amk_u8*>(values->ptr)[(n * K + k) / 2];
            q = float(int(k % 2 ? byte >> 4 : byte & 15) - 8);
        }
        return (zeros ? q - amk_load(*zeros, g) : q) * amk_load(*scales, g);
    }
};

AMK_DEVICE amk_weight amk_weight_of(const amk_program_t& program, const amk_instruction_t& task) {
    const bool quantised = task.params.qdtype != 0;
    amk_weight weight;
    weight.values = &amk_input(program, task, 1);
    weight.scales = quantised ? &amk_input(program, task, 2) : 0;
    weight.zeros = quantised && task.n_inputs > 3 ? &amk_input(program, task, 3) : 0;
    weight.K = task.params.K;
    weight.group = quantised ? task.params.group : 1;
    weight.groups = (weight.K + weight.group - 1) / weight.group;
    return weight;
}

// Rows [m_lo, m_hi) and columns [n_lo, n_hi) of x times the transpose of the weight, element by element: any dtypes, any place.
AMK_DEVICE void amk_matrix_by_element(
    const amk_program_t& program, const amk_instruction_t& task, amk_i64 m_lo, amk_i64 m_hi
) {
    const amk_buffer_t &x = amk_input(program, task, 0), &y = amk_output(program, task, 0);
    const amk_weight weight = amk_weight_of(program, task);
    const amk_buffer_t* bias = task.params.qdtype == 0 && task.n_inputs > 2 ? &amk_input(program, task, 2) : 0;
    const amk_i64 K = weight.K, N = amk_last(y), n_lo = task.params.n_off, n_hi = n_lo + task.params.N_tile;
    const int warp = amk_thread() / AMK_WARP, lane = amk_thread() % AMK_WARP, warps = amk_threads() / AMK_WARP;
    for (amk_i64 m = m_lo; m < m_hi; ++m) {
        for (amk_i64 n = n_lo + warp; n < n_hi; n += warps) {
            float sum = 0.0f;
            for (amk_i64 k = lane; k < K; k += AMK_WARP) sum = fmaf(amk_load(x, m * K + k), weight.at(n, k), sum);
            sum = amk_warp_sum(sum);
            if (bias) sum += amk_load(*bias, n);
            if (lane == 0) amk_store(y, m * N + n, sum);
        }
    }
}

// Columns that a warp computes at once, and chunks of each that a lane has under way: so many loads are in flight before the
// first is needed. Measured on an H100 (docs/performance.md).
#define AMK_MATRIX_COLUMNS 2
#define AMK_MATRIX_CHUNKS 4

// Adds the products of `COUNT` chunks of a row of x with those of each column. Chunks stand 32 apart, a lane each.
template <int DTYPE, int COUNT>
AMK_DEVICE void amk_multiply_chunks(const amk_u8* x, const amk_u8* const* columns, amk_i64 at, float* sums) {
    typedef amk_elements<DTYPE> elements;
    amk_chunk weights[COUNT][AMK_MATRIX_COLUMNS], row[COUNT];
#pragma unroll
    for (int u = 0; u < COUNT; ++u) {
#pragma unroll
        for (int c = 0; c < AMK_MATRIX_COLUMNS; ++c) weights[u][c] = amk_load_chunk_once(columns[c] + 16 * (at + u * AMK_WARP));
    }
#pragma unroll
    for (int u = 0; u < COUNT; ++u) row[u] = amk_load_chunk(x + 16 * (at + u * AMK_WARP));
#pragma unroll
    for (int u = 0; u < COUNT; ++u) {
#pragma unroll
        for (int i = 0; i < elements::N; ++i) {
#pragma unroll
            for (int c = 0; c < AMK_MATRIX_COLUMNS; ++c) {
                sums[c] = fmaf(elements::at(row[u], i), elements::at(weights[u][c], i), sums[c]);
            }
        }
    }
}

// The same product, of x and a plain weight of one dtype, whose rows are whole chunks.
template <int DTYPE>
AMK_DEVICE void amk_matrix_by_chunk(
    const amk_program_t& program, const amk_instruction_t& task, amk_i64 m_lo, amk_i64 m_hi
) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1);
    const amk_buffer_t& y = amk_output(program, task, 0);
    const amk_buffer_t* bias = task.n_inputs > 2 ? &amk_input(program, task, 2) : 0;
    const amk_i64 N = amk_last(y), n_lo = task.params.n_off, n_hi = n_lo + task.params.N_tile;
    const amk_i64 chunks = task.params.K / amk_elements<DTYPE>::N;
    const int warp = amk_thread() / AMK_WARP, lane = amk_thread() % AMK_WARP, warps = amk_threads() / AMK_WARP;
    for (amk_i64 m = m_lo; m < m_hi; ++m) {
        const amk_u8* row = static_cast<const amk_u8*>(x.ptr) + 16 * m * chunks;
        for (amk_i64 n = n_lo + warp * AMK_MATRIX_COLUMNS; n < n_hi; n += warps * AMK_MATRIX_COLUMNS) {
            const amk_u8* columns[AMK_MATRIX_COLUMNS];
            float sums[AMK_MATRIX_COLUMNS];
#pragma unroll
            for (int c = 0; c < AMK_MATRIX_COLUMNS; ++c) {
                // Where columns are left over, the last one stands in for those that are not there.
                const amk_i64 column = n + c < n_hi ? n + c : n_hi - 1;
                columns[c] = static_cast<const amk_u8*>(w.ptr) + 16 * column * chunks;
                sums[c] = 0.0f;
            }
            amk_i64 at = lane;
            for (; at + (AMK_MATRIX_CHUNKS - 1) * AMK_WARP < chunks; at += AMK_MATRIX_CHUNKS * AMK_WARP) {
                amk_multiply_chunks<DTYPE, AMK_MATRIX_CHUNKS>(row, columns, at, sums);
            }
            for (; at < chunks; at += AMK_WARP) amk_multiply_chunks<DTYPE, 1>(row, columns, at, sums);
#pragma unroll
            for (int c = 0; c < AMK_MATRIX_COLUMNS; ++c) {
                float sum = amk_warp_sum(sums[c]);
                if (bias && n + c < n_hi) sum += amk_load(*bias, n + c);
                if (lane == 0 && n + c < n_hi) amk_store(y, m * N + n + c, sum);
            }
        }
    }
}

// Rows [m_lo, m_hi) of x times the columns of the task, in the way that dtypes and places allow.
AMK_DEVICE void amk_matrix(const amk_program_t& program, const amk_instruction_t& task, amk_i64 m_lo, amk_i64 m_hi) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1);
    const bool plain = task.params.qdtype == 0 && x.dtype == w.dtype && task.params.K % 8 == 0
        && (reinterpret_cast<unsigned long long>(x.ptr) | reinterpret_cast<unsigned long long>(w.ptr)) % 16 == 0;
    switch (plain ? w.dtype : int(AMK_DTYPE_COUNT)) {
        case AMK_DTYPE_F32: amk_matrix_by_chunk<AMK_DTYPE_F32>(program, task, m_lo, m_hi); break;
        case AMK_DTYPE_F16: amk_matrix_by_chunk<AMK_DTYPE_F16>(program, task, m_lo, m_hi); break;
        case AMK_DTYPE_BF16: amk_matrix_by_chunk<AMK_DTYPE_BF16>(program, task, m_lo, m_hi); break;
        default: amk_matrix_by_element(program, task, m_lo, m_hi); break;
    }
}
