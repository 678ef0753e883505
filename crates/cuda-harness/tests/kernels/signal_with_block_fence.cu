// Releases what a task wrote to its own block only.
AMK_DEVICE void faulty_signal(const amk_program_t& program, const amk_instruction_t& task) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence_block();
        amk_increment(&program.counters[task.out_counter]);
    }
    __syncthreads();
}
#define AMK_REPLACE_SIGNAL faulty_signal
