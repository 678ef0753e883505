// OPC-10: the exact GELU.
#pragma once
#include "../task.cuh"

AMK_DEVICE void amk_op_gelu(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &y = amk_output(program, task, 0);
    amk_each(y.numel, [&](amk_i64 i) {
        const float value = amk_load(x, i);
        amk_store(y, i, 0.5f * value * (1.0f + erff(value * 0.70710678118654752440f)));
    });
}
