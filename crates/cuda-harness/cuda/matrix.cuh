// The matrix product of GEMV_TILE and GEMM_TILE: a warp a column of the output, lanes along K.
#pragma once

#include "task.cuh"

#ifdef AMK_TENSOR_CORES
#include "tensor.cuh"
#endif

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
AMK_CALLED void amk_matrix_by_element(
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

// The same of a quantised weight: chunks of integers, each within one group, and x in as many chunks as that takes.
template <int DTYPE, int QDTYPE, int COUNT>
AMK_DEVICE void amk_multiply_integers(
    const amk_weight& weight, const amk_u8* x, const amk_u8* const* columns, const amk_i64* first_scale, amk_i64 at, float* sums
) {
    typedef amk_elements<DTYPE> elements;
    typedef amk_integers<QDTYPE> integers;
    amk_chunk weights[COUNT][AMK_MATRIX_COLUMNS];
#pragma unroll
    for (int u = 0; u < COUNT; ++u) {
#pragma unroll
        for (int c = 0; c < AMK_MATRIX_COLUMNS; ++c) weights[u][c] = amk_load_chunk_once(columns[c] + 16 * (at + u * AMK_WARP));
    }
    // Scales, of the dtype of x, come while the weights do. A chunk lies in one group; of chunks there are less than 2^31.
    float scales[COUNT][AMK_MATRIX_COLUMNS], zeros[COUNT][AMK_MATRIX_COLUMNS];
#pragma unroll
    for (int u = 0; u < COUNT; ++u) {
        const amk_u32 group = amk_u32(at + u * AMK_WARP) / amk_u32(weight.group / integers::N);
#pragma unroll
        for (int c = 0; c < AMK_MATRIX_COLUMNS; ++c) {
            scales[u][c] = elements::one(weight.scales->ptr, first_scale[c] + group);
            zeros[u][c] = weight.zeros ? amk_load_plain(*weight.zeros, first_scale[c] + group) : 0.0f;
        }
    }
#pragma unroll
    for (int u = 0; u < COUNT; ++u) {
        const amk_u8* const from = x + 16 * (at + u * AMK_WARP) * (integers::N / elements::N);
        // The scale, and the zero, are applied to the sums of the chunk.
        float dots[AMK_MATRIX_COLUMNS], all = 0.0f;
#pragma unroll
        for (int c = 0; c < AMK_MATRIX_COLUMNS; ++c) dots[c] = 0.0f;
#pragma unroll
        for (int part = 0; part < integers::N / elements::N; ++part) {
            const amk_chunk row = amk_load_chunk(from + 16 * part);
#pragma unroll
            for (int i = 0; i < elements::N; ++i) {
#pragma unroll
                for (int c = 0; c < AMK_MATRIX_COLUMNS; ++c) {
                    dots[c] = fmaf(elements::at(row, i), integers::at(weights[u][c], part * elements::N + i), dots[c]);
                }
            }
            if (weight.zeros == 0) continue;
#pragma unroll
            for (int i = 0; i < elements::N; ++i) all += elements::at(row, i);
        }
#pragma unroll
        for (int c = 0; c < AMK_MATRIX_COLUMNS; ++c) {
            sums[c] = fmaf(scales[u][c], dots[c], sums[c]);
            if (weight.zeros) sums[c] = fmaf(-zeros[u][c] * scales[u][c], all, sums[c]);
        }
    }
}

// The elements of a chunk of the weight.
template <int DTYPE, int QDTYPE>
struct amk_weight_chunk {
    static constexpr int N = amk_integers<QDTYPE>::N;
};
template <int DTYPE>
struct amk_weight_chunk<DTYPE, AMK_DTYPE_COUNT> {
    static constexpr int N = amk_elements<DTYPE>::N;
};

// Rows of x and of the weight in chunks: QDTYPE is that of a quantised weight, and otherwise none.
template <int DTYPE, int QDTYPE>
AMK_CALLED void amk_matrix_by_chunk(
    const amk_program_t& program, const amk_instruction_t& task, amk_i64 m_lo, amk_i64 m_hi
) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1);
    const amk_buffer_t& y = amk_output(program, task, 0);
    const amk_weight weight = amk_weight_of(program, task);
    const amk_buffer_t* bias = weight.scales == 0 && task.n_inputs > 2 ? &amk_input(program, task, 2) : 0;
    const amk_i64 N = amk_last(y), n_lo = task.params.n_off, n_hi = n_lo + task.params.N_tile;
    const amk_i64 x_bytes = 16 * (weight.K / amk_elements<DTYPE>::N);
    const amk_i64 chunks = weight.K / amk_weight_chunk<DTYPE, QDTYPE>::N;
    const int warp = amk_thread() / AMK_WARP, lane = amk_thread() % AMK_WARP, warps = amk_threads() / AMK_WARP;
    // Where there are more warps than columns to share among them, several share a pair, each with a part of K.
    const int places = int((n_hi - n_lo + AMK_MATRIX_COLUMNS - 1) / AMK_MATRIX_COLUMNS);
    const int parts = places < warps ? warps / places : 1, part = parts > 1 ? warp / places : 0;
    const int place = parts > 1 ? (part < parts ? warp % places : places) : warp;
    const amk_i64 from = chunks * part / parts, to = chunks * (part + 1) / parts;
    float* const partial = amk_scratch();
    // A column then is a thread's that adds its parts up.
    const int column = amk_thread();
    const float of_bias = bias && parts > 1 && n_lo + column < n_hi ? amk_load(*bias, n_lo + column) : 0.0f;
    for (amk_i64 m = m_lo; m < m_hi; ++m) {
        const amk_u8* row = static_cast<const amk_u8*>(x.ptr) + m * x_bytes;
        for (amk_i64 n = n_lo + place * AMK_MATRIX_COLUMNS; n < n_hi; n += warps * AMK_MATRIX_COLUMNS) {
            const amk_u8* columns[AMK_MATRIX_COLUMNS];
            amk_i64 first_scale[AMK_MATRIX_COLUMNS];
            float sums[AMK_MATRIX_COLUMNS];
#pragma unroll
            for (int c = 0; c < AMK_MATRIX_COLUMNS; ++c) {
                // Where columns are left over, the last one stands in for those that are not there.
                const amk_i64 column = n + c < n_hi ? n + c : n_hi - 1;
                columns[c] = static_cast<const amk_u8*>(w.ptr) + 16 * column * chunks;
                first_scale[c] = column * weight.groups;
                sums[c] = 0.0f;
            }
            amk_i64 at = from + lane;
            if constexpr (QDTYPE == AMK_DTYPE_COUNT) {
                for (; at + (AMK_MATRIX_CHUNKS - 1) * AMK_WARP < to; at += AMK_MATRIX_CHUNKS * AMK_WARP) {
                    amk_multiply_chunks<DTYPE, AMK_MATRIX_CHUNKS>(row, columns, at, sums);
                }
                for (; at < to; at += AMK_WARP) amk_multiply_chunks<DTYPE, 1>(row, columns, at, sums);
            } else {
                for (; at + AMK_WARP < to; at += 2 * AMK_WARP) {
                    amk_multiply_integers<DTYPE, QDTYPE, 2>(weight, row, columns, first_scale, at, sums);
                }
                if (at < to) amk_multiply_integers<DTYPE, QDTYPE, 1>(weight, row, columns, first_scale, at, sums);
            }
#pragma unroll
            for (int c = 0; c < AMK_MATRIX_COLUMNS; ++c) {
                float sum = amk_warp_sum(sums[c]);
                if (parts > 1) {
                    if (lane == 0) partial[(part * places + place) * AMK_MATRIX_COLUMNS + c] = sum;
                    continue;
                }
                if (bias && n + c < n_hi) sum += amk_load(*bias, n + c);
                if (lane == 0 && n + c < n_hi) amk_store(y, m * N + n + c, sum);
            }
        }
        if (parts == 1) continue;
        __syncthreads();
        if (n_lo + column < n_hi) {
            float sum = 0.0f;
            for (int other = 0; other < parts; ++other) sum += partial[other * places * AMK_MATRIX_COLUMNS + column];
            amk_store(y, m * N + n_lo + column, sum + of_bias);
        }
        __syncthreads();
    }
}

// Rows [m_lo, m_hi) of x times the columns of the task, in the way that dtypes and places allow.
AMK_CALLED void amk_matrix(const amk_program_t& program, const amk_instruction_t& task, amk_i64 m_lo, amk_i64 m_hi) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1);
    const amk_params_t& p = task.params;
#ifdef AMK_TENSOR_CORES
    const int dtype = m_hi - m_lo > 1 ? amk_fragment_dtype(program, task) : int(AMK_DTYPE_COUNT);
    if (dtype != AMK_DTYPE_COUNT) {
        amk_matrix_by_fragment(program, task, dtype, m_lo, m_hi);
        return;
    }
#endif
    const bool aligned = (reinterpret_cast<unsigned long long>(x.ptr) | reinterpret_cast<unsigned long long>(w.ptr)) % 16 == 0;
    if (p.qdtype != 0) {
        const amk_weight weight = amk_weight_of(program, task);
        // A chunk has 16 bytes or 32 nibbles, and lies in one group.
        const int unit = p.qdtype == AMK_DTYPE_I8 ? 16 : 32;
        const bool whole = aligned && p.K % unit == 0 && p.group % unit == 0 && weight.scales->dtype == x.dtype
            && (weight.zeros == 0 || amk_is_plain(*weight.zeros));
        switch (whole ? x.dtype * 16 + p.qdtype : -1) {
            case AMK_DTYPE_F16 * 16 + AMK_DTYPE_I8: amk_matrix_by_chunk<AMK_DTYPE_F16, AMK_DTYPE_I8>(program, task, m_lo, m_hi); break;
            case AMK_DTYPE_F16 * 16 + AMK_DTYPE_I4: amk_matrix_by_chunk<AMK_DTYPE_F16, AMK_DTYPE_I4>(program, task, m_lo, m_hi); break;
            case AMK_DTYPE_BF16 * 16 + AMK_DTYPE_I8: amk_matrix_by_chunk<AMK_DTYPE_BF16, AMK_DTYPE_I8>(program, task, m_lo, m_hi); break;
            case AMK_DTYPE_BF16 * 16 + AMK_DTYPE_I4: amk_matrix_by_chunk<AMK_DTYPE_BF16, AMK_DTYPE_I4>(program, task, m_lo, m_hi); break;
            default: amk_matrix_by_element(program, task, m_lo, m_hi); break;
        }
        return;
    }
    const bool whole = aligned && x.dtype == w.dtype && p.K % 8 == 0;
    switch (whole ? w.dtype : int(AMK_DTYPE_COUNT)) {
        case AMK_DTYPE_F32: amk_matrix_by_chunk<AMK_DTYPE_F32, AMK_DTYPE_COUNT>(program, task, m_lo, m_hi); break;
        case AMK_DTYPE_F16: amk_matrix_by_chunk<AMK_DTYPE_F16, AMK_DTYPE_COUNT>(program, task, m_lo, m_hi); break;
        case AMK_DTYPE_BF16: amk_matrix_by_chunk<AMK_DTYPE_BF16, AMK_DTYPE_COUNT>(program, task, m_lo, m_hi); break;
        default: amk_matrix_by_element(program, task, m_lo, m_hi); break;
    }
}
