// OPC-18: merges partial results of ATTENTION_TILE.
#pragma once
#include "../task.cuh"

// Rows that a warp merges at a time: a lane has the maximum and the weight of one partial of one of them.
#define AMK_COMBINE_ROWS (AMK_WARP / AMK_MAX_INPUTS)

AMK_DEVICE void amk_op_attention_combine(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t& y = amk_output(program, task, 0);
    const amk_i64 width = amk_last(amk_input(program, task, 0)), dim = width - 2, rows = y.numel / dim;
    const int warp = amk_thread() / AMK_WARP, lane = amk_thread() % AMK_WARP, warps = amk_threads() / AMK_WARP;
    const int mine = lane % AMK_MAX_INPUTS, count = task.n_inputs;
    // Partials are F32. The first stands in for those that are not there, which weigh nothing.
    const float* parts[AMK_MAX_INPUTS];
#pragma unroll
    for (int p = 0; p < AMK_MAX_INPUTS; ++p) parts[p] = static_cast<const float*>(amk_input(program, task, p < count ? p : 0).ptr);
    for (amk_i64 first = amk_i64(warp) * AMK_COMBINE_ROWS; first < rows; first += amk_i64(warps) * AMK_COMBINE_ROWS) {
        const amk_i64 row = first + lane / AMK_MAX_INPUTS < rows ? first + lane / AMK_MAX_INPUTS : rows - 1;
        const float* own = static_cast<const float*>(amk_input(program, task, mine < count ? mine : 0).ptr) + row * width + dim;
        const float found = own[0], weight = own[1];
        // An empty partial weighs nothing, whatever it holds.
        const bool live = mine < count && weight > 0.0f;
        float max = live ? found : -amk_infinity();
        for (int step = 1; step < AMK_MAX_INPUTS; step *= 2) max = fmaxf(max, amk_shuffle_xor(max, step));
        const float scale = live ? expf(found - max) : 0.0f;
        float whole = live ? scale * weight : 0.0f;
        for (int step = 1; step < AMK_MAX_INPUTS; step *= 2) whole += amk_shuffle_xor(whole, step);
        // All lanes go round as often, for they exchange what they have.
        for (amk_i64 begin = 0; begin < dim; begin += AMK_WARP) {
            const amk_i64 d = begin + lane < dim ? begin + lane : dim - 1;
            float values[AMK_COMBINE_ROWS][AMK_MAX_INPUTS];
#pragma unroll
            for (int r = 0; r < AMK_COMBINE_ROWS; ++r) {
                const amk_i64 at = (first + r < rows ? first + r : rows - 1) * width + d;
#pragma unroll
                for (int p = 0; p < AMK_MAX_INPUTS; ++p) values[r][p] = parts[p][at];
            }
#pragma unroll
            for (int r = 0; r < AMK_COMBINE_ROWS; ++r) {
                float sum = 0.0f;
#pragma unroll
                for (int p = 0; p < AMK_MAX_INPUTS; ++p) {
                    const float by = amk_shuffle(scale, r * AMK_MAX_INPUTS + p);
                    const bool counts = amk_shuffle(int(live), r * AMK_MAX_INPUTS + p) != 0;
                    if (counts) sum = fmaf(by, values[r][p], sum);
                }
                const float all = amk_shuffle(whole, r * AMK_MAX_INPUTS);
                if (first + r < rows && begin + lane < dim) amk_store(y, (first + r) * dim + d, all > 0.0f ? sum / all : 0.0f);
            }
        }
    }
}
