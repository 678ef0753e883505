// OPC-08: rotary position embedding, rotate-half.
#pragma once
#include "../task.cuh"

AMK_DEVICE void amk_op_rope(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &positions = amk_input(program, task, 1);
    const amk_buffer_t& y = amk_output(program, task, 0);
    const amk_i64 dim = task.params.head_dim, half = dim / 2;
    const amk_i64 heads = x.numel / dim / positions.numel;
    amk_each(x.numel / 2, [&](amk_i64 pair) {
        const amk_i64 i = pair % half, head = pair / half;
        const float frequency = powf(task.params.theta, -float(i) / float(half));
        const float angle = amk_load(positions, head / heads) * frequency;
        const float c = cosf(angle), s = sinf(angle);
        const float a = amk_load(x, head * dim + i), b = amk_load(x, head * dim + half + i);
        amk_store(y, head * dim + i, a * c - b * s);
        amk_store(y, head * dim + half + i, b * c + a * s);
    });
}
