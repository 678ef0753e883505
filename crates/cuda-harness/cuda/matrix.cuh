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

// Rows [m_lo, m_hi) and columns [n_lo, n_hi) of x times the transpose of the weight.
AMK_DEVICE void amk_matrix(const amk_program_t& program, const amk_instruction_t& task, amk_i64 m_lo, amk_i64 m_hi) {
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
