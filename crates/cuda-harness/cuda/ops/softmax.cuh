// OPC-14: softmax along one axis, a line at a time.
#pragma once
#include "../task.cuh"

AMK_DEVICE void amk_op_softmax(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &y = amk_output(program, task, 0);
    const int axis = task.params.dim < 0 ? task.params.dim + x.rank : task.params.dim;
    const amk_i64 length = x.shape[axis];
    amk_i64 stride = 1;
    for (int a = axis + 1; a < x.rank; ++a) stride *= x.shape[a];
    for (amk_i64 line = 0; line < x.numel / length; ++line) {
        const amk_i64 first = line / stride * stride * length + line % stride;
        float max = -amk_infinity();
        amk_each(length, [&](amk_i64 i) { max = fmaxf(max, amk_load(x, first + i * stride)); });
        max = amk_block_max(max, amk_scratch());
        float sum = 0.0f;
        // A NaN, an infinity, or nothing but -inf makes this sum a NaN, and so the whole line.
        amk_each(length, [&](amk_i64 i) { sum += expf(amk_load(x, first + i * stride) - max); });
        sum = amk_block_sum(sum, amk_scratch());
        amk_each(length, [&](amk_i64 i) {
            amk_store(y, first + i * stride, expf(amk_load(x, first + i * stride) - max) / sum);
        });
    }
}
