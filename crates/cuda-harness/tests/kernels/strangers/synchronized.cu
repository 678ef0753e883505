// A VM whose blocks wait without any sleep: each lane of the first warp spins on a counter of its own by loads that acquire, and an elected
// thread signals by a reduction that releases. All that orders blocks and threads is PTX; the opcodes are the suite's.
#include "dispatch.cuh"

// Barrier 0 is that of the opcodes.
#define ARRIVED 1
#define FINISHED 2

__device__ __forceinline__ void meet(int barrier) { asm volatile("bar.sync %0, %1;" : : "r"(barrier), "r"(blockDim.x) : "memory"); }

__device__ __forceinline__ unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now) : : "memory");
    return now;
}

// Whether the counter came to its threshold within some polls.
__device__ __forceinline__ bool spin(const amk_counter_t* counter, unsigned threshold) {
    unsigned is_met;
    asm volatile(
        "{ .reg .pred met, again; .reg .u32 seen, left;\n\t"
        "mov.u32 left, %3;\n"
        "POLL:\n\t"
        "ld.acquire.gpu.global.u32 seen, [%1];\n\t"
        "setp.hs.u32 met, seen, %2;\n\t"
        "@met bra DONE;\n\t"
        "add.s32 left, left, -1;\n\t"
        "setp.gt.s32 again, left, 0;\n\t"
        "@again bra POLL;\n"
        "DONE:\n\t"
        "selp.u32 %0, 1, 0, met;\n\t"
        "}"
        : "=r"(is_met) : "l"(counter), "r"(threshold), "n"(32) : "memory");
    return is_met != 0;
}

// One lane of the warp, all of whose lanes call this.
__device__ __forceinline__ bool elected() {
#if defined(AMK_HOST) || __CUDA_ARCH__ >= 900
    unsigned is_elected = 0;
    asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, %1;\n\t@p mov.u32 %0, 1;\n\t}" : "+r"(is_elected) : "r"(0xffffffffu));
    return is_elected != 0;
#else
    return threadIdx.x % 32 == 0;
#endif
}

// The first warp waits, lane w for wait w. False: the launch was aborted.
__device__ bool waits_are_met(const amk_program_t& program, const amk_instruction_t& task) {
    const int lane = threadIdx.x;
    unsigned is_met = lane >= task.n_waits, all_met, aborted = 0;
    for (unsigned long long looked = nanoseconds();;) {
        if (!is_met) is_met = spin(program.counters + task.wait_counter[lane], task.wait_threshold[lane]);
        asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.all.pred q, p, 0xffffffff; selp.u32 %0, 1, 0, q; }"
                     : "=r"(all_met) : "r"(is_met) : "memory");
        if (all_met) return true;
        // The host, or a block that does not know an opcode, ends the launch: who spins looks now and then.
        if (nanoseconds() - looked > 2000) {
            asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(aborted) : "l"(program.abort_flag) : "memory");
            looked = nanoseconds();
        }
        if (__any_sync(0xffffffffu, aborted != 0)) return false;
    }
}

extern "C" __global__ void amk_megakernel(amk_program_t program) {
    if (blockIdx.x >= program.num_sms) asm volatile("exit;");
    const unsigned proceed = unsigned(__cvta_generic_to_shared(amk_shared()));
    for (int position = 0; position < program.sm_queue_len[blockIdx.x]; ++position) {
        const amk_instruction_t& task = program.instructions[program.sm_queue[blockIdx.x][position]];
        if (threadIdx.x < 32) {
            const unsigned is_met = waits_are_met(program, task);
            if (elected()) asm volatile("st.shared.u32 [%0], %1;" : : "r"(proceed), "r"(is_met) : "memory");
        }
        meet(ARRIVED);
        unsigned goes_on;
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(goes_on) : "r"(proceed) : "memory");
        if (goes_on == 0) return;
        if (!amk_run(program, task)) {
            if (threadIdx.x == 0) asm volatile("red.relaxed.sys.global.or.b32 [%0], 1;" : : "l"(program.abort_flag) : "memory");
            return;
        }
        // What all threads stored comes before the signal, and nobody begins the next task.
        meet(FINISHED);
        if (threadIdx.x < 32 && elected()) {
            asm volatile("red.release.gpu.global.add.u32 [%0], %1;" : : "l"(program.counters + task.out_counter), "r"(1) : "memory");
        }
    }
}
