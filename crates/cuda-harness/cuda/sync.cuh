// Signal and wait between blocks (ABI-04).
#pragma once

#include "platform.cuh"

// What the VM keeps at the start of shared memory.
struct amk_control {
    int proceed;
};

// Waits until every wait of the task is satisfied. False: the program was aborted, and all threads have to leave.
AMK_DEVICE bool amk_wait(const amk_program_t& program, const amk_instruction_t& task) {
    amk_control* control = reinterpret_cast<amk_control*>(amk_shared());
    if (threadIdx.x == 0) {
        bool proceed = true;
        for (int w = 0; w < task.n_waits && proceed; ++w) {
            const amk_u32* counter = &program.counters[task.wait_counter[w]];
            amk_u32 nanoseconds = 32;
            while (amk_poll(counter) < amk_u32(task.wait_threshold[w])) {
                if (amk_poll(reinterpret_cast<const amk_u32*>(program.abort_flag)) != 0) {
                    proceed = false;
                    break;
                }
                amk_pause(nanoseconds);
                if (nanoseconds < 128) nanoseconds *= 2;
            }
        }
        // Acquire: what the producers released is visible from here on.
        amk_fence();
        control->proceed = proceed;
    }
    __syncthreads();
    // Nobody writes the word again before the barriers of the next task.
    return control->proceed;
}

// Makes the stores of the whole block visible, then counts the task.
AMK_DEVICE void amk_signal(const amk_program_t& program, const amk_instruction_t& task) {
    __syncthreads();
    if (threadIdx.x == 0) {
        amk_fence();
        amk_increment(&program.counters[task.out_counter]);
    }
    __syncthreads();
}
