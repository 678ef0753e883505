// A VM whose blocks work in step: in each round every block may run the next task of its queue, and all meet as a grid before what is done is
// counted. Nothing else orders one block's tasks behind another's. A count may be seen a round late.
#include <cooperative_groups.h>

#include "dispatch.cuh"

extern "C" __global__ void amk_megakernel(amk_program_t program) {
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    const int sm = int(grid.block_rank());
    __shared__ bool ready;
    for (int round = 0, next = 0; round < 2 * program.n_instructions; ++round) {
        const bool more = sm < program.num_sms && next < program.sm_queue_len[sm];
        const amk_instruction_t* const task = more ? &program.instructions[program.sm_queue[sm][next]] : nullptr;
        if (threadIdx.x == 0) {
            ready = more;
            for (int w = 0; more && w < task->n_waits; ++w) {
                if (amk_poll(&program.counters[task->wait_counter[w]]) < amk_u32(task->wait_threshold[w])) ready = false;
            }
        }
        __syncthreads();
        const bool runs = ready;
        if (runs) amk_run(program, *task);
        grid.sync();
        if (runs && threadIdx.x == 0) amk_increment(&program.counters[task->out_counter]);
        next += runs;
    }
}
