// OPC-03: scales each row by the inverse of its root mean square, and by a weight.
#pragma once
#include "../task.cuh"

AMK_DEVICE void amk_op_rmsnorm(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1);
    const amk_buffer_t& y = amk_output(program, task, 0);
    const amk_i64 hidden = task.params.hidden;
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
