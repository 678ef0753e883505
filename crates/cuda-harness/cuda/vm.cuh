// The megakernel: each block works through the queue of one SM (ABI-05).
#pragma once

#include "task.cuh"

// Somebody's own instructions, or their own signal and wait: the file defines functions and says which they replace, as in
// `#define AMK_REPLACE_GELU my_gelu`.
#ifdef AMK_KERNELS
#include AMK_KERNELS
#endif

#include "dispatch.cuh"
#include "sync.cuh"

// The records of a task are in place behind the barrier of `amk_wait`. Somebody's own wait need not have one for the whole block.
#ifdef AMK_REPLACE_WAIT
#define AMK_BROUGHT() __syncthreads()
#else
#define AMK_REPLACE_WAIT amk_wait
#define AMK_BROUGHT()
#endif
#ifndef AMK_REPLACE_SIGNAL
#define AMK_REPLACE_SIGNAL amk_signal
#endif

// For who measures: what a thread notes of a task at four points.
#ifndef AMK_MARK
#define AMK_MARK(id, point)
#endif

// What became of a task, for the host to read after a launch that did not end.
#define AMK_TASK_NOT_STARTED 0
#define AMK_TASK_WAITING 1
#define AMK_TASK_RUNNING 2
#define AMK_TASK_DONE 3

// Keeps the warp back for a while, in one of two cases; other warps, tasks and points for other times. `seed` 0: never.
AMK_DEVICE void amk_perturb(amk_u32 seed, int task, amk_u32 point) {
    if (seed == 0) return;
    amk_u32 h = seed ^ (amk_u32(task) * 3 + point) * 0x9e3779b9u ^ (threadIdx.x / AMK_WARP) * 0x85ebca6bu;
    h = (h ^ h >> 16) * 0x7feb352du;
    h = (h ^ h >> 15) * 0x846ca68bu;
    h ^= h >> 16;
    if (h & 1u) amk_linger(64u << (h >> 8) % 9u);
}

// `states` holds a byte a task, in memory that the host sees while this runs, or is null. `perturb` is the seed of delays, or 0.
// `places` holds a word a block, for the SM that it ran on, or is null.
AMK_GLOBAL void amk_vm(amk_program_t program, volatile amk_u8* states, amk_u32 perturb, amk_u32* places) {
    const int sm = int(blockIdx.x);
    if (sm >= program.num_sms) return;
    if (places != 0 && threadIdx.x == 0) places[sm] = amk_sm();
    const int* queue = program.sm_queue[sm];
    const int length = program.sm_queue_len[sm];
    for (int position = 0; position < length; ++position) {
        const int id = queue[position];
        const amk_instruction_t& next = program.instructions[id];
        const amk_instruction_t& task = amk_at_hand()->task;
        amk_bring(program, next);
        AMK_BROUGHT();
        const bool tells = states != 0 && threadIdx.x == 0;
        if (tells) states[id] = AMK_TASK_WAITING;
        amk_perturb(perturb, id, 0);
        AMK_MARK(id, 0);
        if (!AMK_REPLACE_WAIT(program, next)) return;
        AMK_MARK(id, 1);
        amk_perturb(perturb, id, 1);
        if (tells) states[id] = AMK_TASK_RUNNING;
        if (!amk_run_at_hand(program, task)) {
            // An opcode that is not there must not pass for a NOP (ABI-02).
            if (threadIdx.x == 0) *program.abort_flag = 1;
            return;
        }
        amk_perturb(perturb, id, 2);
        AMK_MARK(id, 2);
        AMK_REPLACE_SIGNAL(program, task);
        AMK_MARK(id, 3);
        if (tells) states[id] = AMK_TASK_DONE;
    }
}
