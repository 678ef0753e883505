// Signal and wait between blocks (ABI-04).
#pragma once

#include "task.cuh"

// Polls after which the abort flag is read.
#define AMK_POLLS 8

// Waits until every wait of the task is satisfied. False: the program was aborted, and all threads have to leave.
AMK_DEVICE bool amk_wait(const amk_program_t& program, const amk_instruction_t& task) {
    amk_control* control = amk_at_hand();
    if (threadIdx.x == 0) {
        bool proceed = true;
        for (int w = 0; w < task.n_waits && proceed; ++w) {
            const amk_u32* counter = &program.counters[task.wait_counter[w]];
            for (amk_u32 polls = 1; amk_poll(counter) < amk_u32(task.wait_threshold[w]); ++polls) {
                if (polls % AMK_POLLS == 0 && amk_poll(reinterpret_cast<const amk_u32*>(program.abort_flag)) != 0) {
                    proceed = false;
                    break;
                }
                amk_pause(polls < 4 ? 16 << polls : 128);
            }
        }
        // Acquire: what the producers released is visible from here on. Of one counter a load that acquires is enough, and is faster
        // than a fence.
        if (task.n_waits == 1) {
            (void)amk_poll_acquire(&program.counters[task.wait_counter[0]]);
        } else {
            amk_fence();
        }
        control->proceed = proceed;
    }
    __syncthreads();
    // Nobody writes the word again before the barriers of the next task.
    return control->proceed;
}

// Makes the stores of the whole block visible, then counts the task.
AMK_DEVICE void amk_signal(const amk_program_t& program, const amk_instruction_t& task) {
    __syncthreads();
    if (threadIdx.x == 0) amk_increment_release(&program.counters[task.out_counter]);
    __syncthreads();
}
