// OPC-17: the first index of the largest logit of each row.
#pragma once
#include "../task.cuh"

AMK_DEVICE void amk_op_sample_argmax(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &logits = amk_input(program, task, 0), &ids = amk_output(program, task, 0);
    const amk_i64 vocabulary = amk_last(logits);
    const int warp = amk_thread() / AMK_WARP, lane = amk_thread() % AMK_WARP, warps = amk_threads() / AMK_WARP;
    const amk_i64 nowhere = vocabulary;
    for (amk_i64 row = warp; row < ids.numel; row += warps) {
        float best = -amk_infinity();
        amk_i64 at = nowhere;
        for (amk_i64 i = lane; i < vocabulary; i += AMK_WARP) {
            const float logit = amk_load(logits, row * vocabulary + i);
            if (logit > best || (logit == best && i < at)) {
                best = logit;
                at = i;
            }
        }
        for (int step = AMK_WARP / 2; step > 0; step /= 2) {
            const float other = __shfl_xor_sync(0xffffffffu, best, step);
            const amk_i64 place = __shfl_xor_sync(0xffffffffu, at, step);
            if (other > best || (other == best && place < at)) {
                best = other;
                at = place;
            }
        }
        // Nothing but NaN has no largest: any index will do.
        if (lane == 0) static_cast<int*>(ids.ptr)[row] = at == nowhere ? 0 : int(at);
    }
}
