// OPC-11: adds two buffers element by element.
#pragma once
#include "../task.cuh"

AMK_DEVICE void amk_op_add(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &a = amk_input(program, task, 0), &b = amk_input(program, task, 1);
    const amk_buffer_t& y = amk_output(program, task, 0);
    amk_map(a, b, y, [](float left, float right) { return left + right; });
}
