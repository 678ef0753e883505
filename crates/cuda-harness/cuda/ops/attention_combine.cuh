// OPC-18: merges partial results of ATTENTION_TILE.
#pragma once
#include "../task.cuh"

AMK_DEVICE void amk_op_attention_combine(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t& y = amk_output(program, task, 0);
    const amk_i64 width = amk_last(amk_input(program, task, 0)), dim = width - 2;
    amk_each(y.numel, [&](amk_i64 i) {
        const amk_i64 row = i / dim * width, d = i % dim;
        float max = -amk_infinity();
        for (int p = 0; p < task.n_inputs; ++p) {
            const amk_buffer_t& part = amk_input(program, task, p);
            if (amk_load(part, row + dim + 1) > 0.0f) max = fmaxf(max, amk_load(part, row + dim));
        }
        float sum = 0.0f, weight = 0.0f;
        for (int p = 0; p < task.n_inputs; ++p) {
            const amk_buffer_t& part = amk_input(program, task, p);
            const float l = amk_load(part, row + dim + 1);
            if (!(l > 0.0f)) continue;  // An empty partial weighs nothing, whatever it holds.
            const float w = expf(amk_load(part, row + dim) - max);
            sum = fmaf(w, amk_load(part, row + d), sum);
            weight = fmaf(w, l, weight);
        }
        amk_store(y, i, weight > 0.0f ? sum / weight : 0.0f);
    });
}
