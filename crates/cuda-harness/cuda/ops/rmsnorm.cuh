// OPC-03: scales each row by the inverse of its root mean square, and by a weight.
#pragma once
#include "../task.cuh"

// Rows of whole chunks.
template <int DTYPE>
AMK_DEVICE void amk_rmsnorm_by_chunk(const amk_buffer_t& x, const amk_buffer_t& w, const amk_buffer_t& y, amk_i64 hidden, float eps) {
    typedef amk_elements<DTYPE> elements;
    const amk_i64 chunks = hidden / elements::N;
    for (amk_i64 row = 0; row < x.numel / elements::N; row += chunks) {
        float sum = 0.0f;
        const auto square = [&](const amk_chunk& values) {
#pragma unroll
            for (int e = 0; e < elements::N; ++e) sum += elements::at(values, e) * elements::at(values, e);
        };
        // What a thread has of a short row it keeps, with the weight, which comes at the same time.
        const amk_i64 own = amk_thread() < chunks ? amk_thread() : 0;
        const amk_chunk kept = amk_chunk_of(x, row + own), kept_weights = amk_chunk_of(w, own);
        if (amk_thread() < chunks) square(kept);
        for (amk_i64 i = amk_thread() + amk_threads(); i < chunks; i += amk_threads()) square(amk_chunk_of(x, row + i));
        sum = amk_block_sum(sum, amk_scratch());
        const float inverse = 1.0f / sqrtf(sum / float(hidden) + eps);
        amk_each(chunks, [&](amk_i64 i) {
            const bool first = i == own;
            const amk_chunk values = first ? kept : amk_chunk_of(x, row + i), weights = first ? kept_weights : amk_chunk_of(w, i);
            amk_chunk chunk = {};
#pragma unroll
            for (int e = 0; e < elements::N; ++e) {
                elements::set(chunk, e, elements::at(values, e) * inverse * elements::at(weights, e));
            }
            amk_store_chunk(static_cast<amk_u8*>(y.ptr) + 16 * (row + i), chunk);
        });
    }
}

AMK_DEVICE void amk_op_rmsnorm(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1);
    const amk_buffer_t& y = amk_output(program, task, 0);
    const amk_i64 hidden = task.params.hidden;
    switch (amk_in_chunks(x, w, y, hidden) ? x.dtype : int(AMK_DTYPE_COUNT)) {
        case AMK_DTYPE_F32: amk_rmsnorm_by_chunk<AMK_DTYPE_F32>(x, w, y, hidden, task.params.eps); return;
        case AMK_DTYPE_F16: amk_rmsnorm_by_chunk<AMK_DTYPE_F16>(x, w, y, hidden, task.params.eps); return;
        case AMK_DTYPE_BF16: amk_rmsnorm_by_chunk<AMK_DTYPE_BF16>(x, w, y, hidden, task.params.eps); return;
        default: break;
    }
    for (amk_i64 row = 0; row < x.numel; row += hidden) {
        float sum = 0.0f;
        amk_each(hidden, [&](amk_i64 i) {
            const float value = amk_load(x, row + i);
            sum += value * value;
        });
        sum = amk_block_sum(sum, amk_scratch());
        const float inverse = 1.0f / sqrtf(sum / float(hidden) + task.params.eps);
        amk_each(hidden, [&](amk_i64 i) { amk_store(y, row + i, amk_load(x, row + i) * inverse * amk_load(w, i)); });
    }
}
