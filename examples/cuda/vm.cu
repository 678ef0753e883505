// A VM of another design than the suite's own, judged behind the records of the ABI alone:
//
//     cargo xtask conform --impl 'cuda --vm examples/cuda/vm.cu' --filter 'execution/*'
//
// Blocks draw their queues, and each lane of the first warp polls a counter of its own with acquire, where the suite's VM has one thread
// that polls them in turn and a fence after several. The opcodes are the suite's; put your own in their place.

#include "dispatch.cuh"

// How many queues have been drawn, and how many blocks are through. Globals last from launch to launch, so the last block
// puts both back to 0.
__device__ unsigned drawn, through;

// What the block shares, at the start of its shared memory. Opcodes use what lies behind the first 16 bytes.
struct shared_words {
    int queue;
    int aborted;
};

__device__ shared_words& block_words() { return *reinterpret_cast<shared_words*>(amk_shared()); }

__device__ bool aborted(const amk_program_t& program) {
    return amk_poll(reinterpret_cast<const amk_u32*>(program.abort_flag)) != 0;
}

// The first warp waits: lane w for wait w (ABI-04). False: the program was aborted.
__device__ bool warp_waits(const amk_program_t& program, const amk_instruction_t& task) {
    const int lane = int(threadIdx.x);
    bool met = lane >= task.n_waits;
    for (;;) {
        if (!met) {
            met = amk_poll_acquire(&program.counters[task.wait_counter[lane]]) >= amk_u32(task.wait_threshold[lane]);
        }
        if (__all_sync(0xffffffffu, met)) return true;
        if (__any_sync(0xffffffffu, aborted(program))) return false;
        amk_pause(64);
    }
}

// Runs a queue from front to back (ABI-05). All threads leave together, whatever happens.
__device__ void run_queue(const amk_program_t& program, int queue) {
    for (int position = 0; position < program.sm_queue_len[queue]; ++position) {
        const amk_instruction_t& task = program.instructions[program.sm_queue[queue][position]];
        if (threadIdx.x < AMK_WARP) {
            const bool proceeds = warp_waits(program, task);
            if (threadIdx.x == 0) block_words().aborted = !proceeds;
        }
        // What the first warp acquired, all threads may read from here on.
        __syncthreads();
        if (block_words().aborted) return;
        if (!amk_run(program, task)) {
            // An opcode that is not there must not pass for a NOP (ABI-02).
            if (threadIdx.x == 0) atomicExch(program.abort_flag, 1);
            return;
        }
        // The stores of all threads come before the increment that releases them.
        __syncthreads();
        if (threadIdx.x == 0) amk_increment_release(&program.counters[task.out_counter]);
    }
}

extern "C" __global__ void amk_megakernel(amk_program_t program) {
    if (threadIdx.x == 0) block_words().queue = int(atomicAdd(&drawn, 1u));
    __syncthreads();
    const int queue = block_words().queue;
    if (queue < program.num_sms) run_queue(program, queue);
    if (threadIdx.x == 0 && atomicAdd(&through, 1u) == gridDim.x - 1) {
        atomicExch(&drawn, 0u);
        atomicExch(&through, 0u);
    }
}
