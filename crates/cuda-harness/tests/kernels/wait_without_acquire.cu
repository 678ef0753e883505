// Goes on when the counters are there, without acquiring what was released with them.
AMK_DEVICE bool faulty(const amk_program_t& program, const amk_instruction_t& task) {
    int* proceed = reinterpret_cast<int*>(amk_shared());
    if (threadIdx.x == 0) {
        *proceed = 1;
        for (int w = 0; w < task.n_waits && *proceed; ++w) {
            while (amk_poll(&program.counters[task.wait_counter[w]]) < amk_u32(task.wait_threshold[w])) {
                if (amk_poll(reinterpret_cast<const amk_u32*>(program.abort_flag)) != 0) {
                    *proceed = 0;
                    break;
                }
                amk_pause(32);
            }
        }
    }
    __syncthreads();
    return *proceed;
}
#define AMK_REPLACE_WAIT faulty
