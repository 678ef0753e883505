// OPC-12: multiplies two buffers element by element, or one by a number.
#pragma once
#include "../task.cuh"

AMK_DEVICE void amk_op_mul(const amk_program_t& program, const amk_instruction_t& task) {
    const bool two = task.n_inputs > 1;
    const amk_buffer_t &a = amk_input(program, task, 0), &b = amk_input(program, task, two ? 1 : 0);
    const amk_buffer_t& y = amk_output(program, task, 0);
    amk_each(y.numel, [&](amk_i64 i) {
        amk_store(y, i, amk_load(a, i) * (two ? amk_load(b, i) : task.params.scale));
    });
}
