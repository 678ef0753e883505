// Two instructions of somebody's own, judged in place of the suite's:
//
//     cargo xtask conform --impl 'cuda --kernels examples/cuda/kernels.cu' --filter 'numeric/rmsnorm/*'
//     cargo xtask conform --impl 'cuda --kernels examples/cuda/kernels.cu' --filter 'numeric/silu-mul/*'
//
// An instruction is one function of the program and its record, which all threads of a block call together. It touches
// nothing but what its opcode's page in spec/opcodes/ lets it, and no counters. The last lines say what it replaces.

#include "task.cuh"

// The suite's own, for what ours does not do.
#include "ops/rmsnorm.cuh"

// RMSNORM of BF16 rows, two elements to a word and a warp to a row, where the suite has the block work on each row in turn.
// The order of a sum is free within the bound of NUM-05; the rounding at the end is not.
AMK_DEVICE void my_rmsnorm(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &weight = amk_input(program, task, 1);
    const amk_buffer_t& y = amk_output(program, task, 0);
    const amk_i64 hidden = task.params.hidden;
    if (x.dtype != AMK_DTYPE_BF16 || y.dtype != AMK_DTYPE_BF16 || hidden % 2 != 0) {
        amk_op_rmsnorm(program, task);
        return;
    }
    const int warp = amk_thread() / AMK_WARP, lane = amk_thread() % AMK_WARP, warps = amk_threads() / AMK_WARP;
    for (amk_i64 row = warp; row < x.numel / hidden; row += warps) {
        const amk_u32* words = static_cast<const amk_u32*>(x.ptr) + row * hidden / 2;
        amk_u32* stored = static_cast<amk_u32*>(y.ptr) + row * hidden / 2;
        float sum = 0.0f;
        for (amk_i64 i = lane; i < hidden / 2; i += AMK_WARP) {
            const float low = amk_bf16::decode(words[i] & 0xffffu), high = amk_bf16::decode(words[i] >> 16);
            sum = fmaf(low, low, fmaf(high, high, sum));
        }
        const float inverse = 1.0f / sqrtf(amk_warp_sum(sum) / float(hidden) + task.params.eps);
        for (amk_i64 i = lane; i < hidden / 2; i += AMK_WARP) {
            const float low = amk_bf16::decode(words[i] & 0xffffu) * inverse * amk_load(weight, 2 * i);
            const float high = amk_bf16::decode(words[i] >> 16) * inverse * amk_load(weight, 2 * i + 1);
            stored[i] = amk_bf16::encode(low) | amk_bf16::encode(high) << 16;
        }
    }
}

// SILU_MUL by a quotient that cannot overflow: exp is asked for numbers up to 0 only.
AMK_DEVICE void my_silu_mul(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &gate = amk_input(program, task, 0), &up = amk_input(program, task, 1);
    const amk_buffer_t& y = amk_output(program, task, 0);
    amk_each(y.numel, [&](amk_i64 i) {
        const float g = amk_load(gate, i), e = expf(-fabsf(g));
        const float sigmoid = g < 0.0f ? e / (1.0f + e) : 1.0f / (1.0f + e);
        amk_store(y, i, g * sigmoid * amk_load(up, i));
    });
}

#define AMK_REPLACE_RMSNORM my_rmsnorm
#define AMK_REPLACE_SILU_MUL my_silu_mul
