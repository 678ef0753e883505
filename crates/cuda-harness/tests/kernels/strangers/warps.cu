// RMSNORM, half a warp to a row: the lanes of a half meet without those of the other, which may have a row less.
#include "task.cuh"

__device__ void rmsnorm_by_half_warps(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    const amk_i64 hidden = task.params.hidden;
    const int lane = threadIdx.x % 32, halves = blockDim.x / 16;
    const unsigned mask = lane < 16 ? 0x0000ffffu : 0xffff0000u;
    for (amk_i64 row = threadIdx.x / 16; row < x.numel / hidden; row += halves) {
        float sum = 0.0f;
        for (amk_i64 i = lane % 16; i < hidden; i += 16) sum = __fmaf_rn(amk_load(x, row * hidden + i), amk_load(x, row * hidden + i), sum);
        for (int delta = 8; delta > 0; delta /= 2) sum += __shfl_down_sync(mask, sum, delta, 16);
        const float inverse = 1.0f / sqrtf(__shfl_sync(mask, sum, 0, 16) / float(hidden) + task.params.eps);
        for (amk_i64 i = lane % 16; i < hidden; i += 16) amk_store(y, row * hidden + i, amk_load(x, row * hidden + i) * inverse * amk_load(w, i));
        __syncwarp(mask);
    }
}

#define AMK_REPLACE_RMSNORM rmsnorm_by_half_warps
