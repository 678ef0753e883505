// OPC-09: gate * sigmoid(gate) * up.
#pragma once
#include "../task.cuh"

AMK_DEVICE void amk_op_silu_mul(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &gate = amk_input(program, task, 0), &up = amk_input(program, task, 1);
    const amk_buffer_t& y = amk_output(program, task, 0);
    amk_map(gate, up, y, [](float g, float by) { return g / (1.0f + expf(-g)) * by; });
}
