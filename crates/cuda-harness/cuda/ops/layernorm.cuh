// OPC-04: normalises runs to mean 0 and variance 1, in two passes.
#pragma once
#include "../task.cuh"

AMK_DEVICE void amk_op_layernorm(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1);
    const amk_buffer_t& y = amk_output(program, task, 0);
    const bool biased = task.n_inputs > 2;
    const amk_buffer_t& bias = amk_input(program, task, biased ? 2 : 1);
    const amk_i64 hidden = task.params.hidden;
    for (amk_i64 run = 0; run < x.numel; run += hidden) {
        float sum = 0.0f;
        amk_each(hidden, [&](amk_i64 i) { sum += amk_load(x, run + i); });
        const float mean = amk_block_sum(sum, amk_scratch()) / float(hidden);
        float squares = 0.0f;
        amk_each(hidden, [&](amk_i64 i) {
            const float deviation = amk_load(x, run + i) - mean;
            squares += deviation * deviation;
        });
        const float variance = amk_block_sum(squares, amk_scratch()) / float(hidden);
        const float inverse = 1.0f / sqrtf(variance + task.params.eps);
        amk_each(hidden, [&](amk_i64 i) {
            const float scaled = (amk_load(x, run + i) - mean) * inverse * amk_load(w, i);
            amk_store(y, run + i, biased ? scaled + amk_load(bias, i) : scaled);
        });
    }
}
