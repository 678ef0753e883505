// Releases for tasks that write something, and leaves the fence out for those that do not: what they acquired, they do not
// pass on.
AMK_DEVICE void faulty_signal(const amk_program_t& program, const amk_instruction_t& task) {
    __syncthreads();
    if (threadIdx.x == 0) {
        if (task.n_outputs > 0) amk_fence();
        amk_increment(&program.counters[task.out_counter]);
    }
    __syncthreads();
}
#define AMK_REPLACE_SIGNAL faulty_signal
