// OPC-08: rotary position embedding, rotate-half.
#pragma once
#include "../task.cuh"

// INDEX counts elements of x: 32 bits where they are enough, for a division of 64 bits is long.
template <typename INDEX>
AMK_DEVICE void amk_rope(const amk_buffer_t& x, const amk_buffer_t& positions, const amk_buffer_t& y, INDEX half, float theta) {
    const INDEX heads = INDEX(x.numel / 2) / half / INDEX(positions.numel);
    // A thread often has one place of many heads, whose angle is the same.
    INDEX i_before = half, at_before = 0;
    float c = 0.0f, s = 0.0f;
    for (INDEX pair = INDEX(amk_thread()); pair < INDEX(x.numel / 2); pair += INDEX(amk_threads())) {
        const INDEX head = pair / half, i = pair - head * half, at = head / heads, first = head * 2 * half + i;
        const float a = amk_load(x, first), b = amk_load(x, first + half);
        if (i != i_before || at != at_before) {
            const float frequency = powf(theta, -float(i) / float(half));
            const float angle = amk_load(positions, at) * frequency;
            sincosf(angle, &s, &c);
            i_before = i;
            at_before = at;
        }
        amk_store(y, first, a * c - b * s);
        amk_store(y, first + half, b * c + a * s);
    }
}

AMK_DEVICE void amk_op_rope(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &positions = amk_input(program, task, 1);
    const amk_buffer_t& y = amk_output(program, task, 0);
    if (x.numel < 1ll << 31) {
        amk_rope<amk_u32>(x, positions, y, amk_u32(task.params.head_dim / 2), task.params.theta);
    } else {
        amk_rope<amk_i64>(x, positions, y, task.params.head_dim / 2, task.params.theta);
    }
}
