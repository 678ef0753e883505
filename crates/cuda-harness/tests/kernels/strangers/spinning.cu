// A VM that waits without a pause: for counters by loops around an atomic function, for a lock by one around a compare-and-swap, and within a block
// by words of its shared memory, which are known by their 32-bit addresses. Fences for the block alone are what orders its threads between tasks.
#include <cuda/atomic>

#include "dispatch.cuh"

// A lock, and what it guards: the queue that is drawn next, which is the first one again after the last.
__device__ int taken;
__device__ unsigned drawn;

__device__ unsigned draw_queue() {
    while (atomicCAS(&taken, 0, 1) != 0) {}
    __threadfence();
    const unsigned queue = drawn;
    // Others come meanwhile.
    __nanosleep(100);
    drawn = (queue + 1) % gridDim.x;
    __threadfence();
    atomicExch(&taken, 0);
    return queue;
}

struct Words {
    unsigned queue, begun, ended;
};

__device__ Words& at(unsigned address) { return *static_cast<Words*>(__cvta_shared_to_generic(address)); }

__device__ void wait_for_task(const amk_program_t& program, const amk_instruction_t& task) {
    for (int w = 0; w < task.n_waits; ++w) {
        while (atomicAdd(&program.counters[task.wait_counter[w]], 0u) < amk_u32(task.wait_threshold[w])) {}
    }
    __threadfence();
}

extern "C" __global__ void amk_megakernel(amk_program_t program) {
    __shared__ Words words;
    const unsigned address = unsigned(__cvta_generic_to_shared(&words));
    if (threadIdx.x == 0) at(address) = {draw_queue(), 0, 0};
    __syncthreads();
    const unsigned queue = at(address).queue;
    if (queue >= unsigned(program.num_sms)) return;
    for (int position = 0; position < program.sm_queue_len[queue]; ++position) {
        const amk_instruction_t& task = program.instructions[program.sm_queue[queue][position]];
        if (threadIdx.x == 0) {
            wait_for_task(program, task);
            __threadfence_block();
            atomicExch(&at(address).begun, unsigned(position + 1));
        } else {
            const cuda::atomic_ref<unsigned, cuda::thread_scope_block> begun(at(address).begun);
            while (begun.load(cuda::memory_order_relaxed) != unsigned(position + 1)) {}
            __threadfence_block();
        }
        amk_run(program, task);
        __threadfence_block();
        atomicAdd(&at(address).ended, 1u);
        if (threadIdx.x == 0) {
            while (atomicAdd(&at(address).ended, 0u) != blockDim.x * unsigned(position + 1)) {}
            __threadfence_block();
            __threadfence();
            atomicAdd(&program.counters[task.out_counter], 1u);
        }
    }
}
