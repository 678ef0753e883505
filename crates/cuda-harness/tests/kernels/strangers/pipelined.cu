// RMSNORM by a pipeline: a warp brings rows to shared memory by bulk copies that tell a barrier there, the others compute, and what they have goes
// back by bulk copies as well. COPY by the same copies, with one thread. Rows that bulk copies cannot have, since they are no multiple of 16 bytes or
// lie elsewhere, are brought and stored element by element.
#include "task.cuh"
#include "ops/copy.cuh"
#include "ops/rmsnorm.cuh"

#if defined(AMK_HOST) || __CUDA_ARCH__ >= 900

#define STAGES 2
#define STAGE_BYTES 11264
// Barrier 0 is that of the whole block; these are the consumers'.
#define SUMMED 1
#define WRITTEN 2

struct alignas(16) Room {
    unsigned char rows[STAGES][STAGE_BYTES], results[STAGES][STAGE_BYTES];
    unsigned long long full[STAGES], empty[STAGES];
    float sums[STAGES][32];
};
static_assert(AMK_CONTROL_BYTES + sizeof(Room) <= 48 * 1024, "shared memory that a block always has");

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
    unsigned address;
    asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }" : "=r"(address) : "l"(pointer));
    return address;
}

__device__ __forceinline__ void barrier_init(unsigned long long& barrier, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(shared_address(&barrier)), "r"(count) : "memory");
}

__device__ __forceinline__ void barrier_end(unsigned long long& barrier) {
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" : : "r"(shared_address(&barrier)) : "memory");
}

__device__ __forceinline__ void barrier_expect(unsigned long long& barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(shared_address(&barrier)), "r"(bytes) : "memory");
}

__device__ __forceinline__ void barrier_arrive(unsigned long long& barrier) {
    asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.release.cta.shared::cta.b64 state, [%0];\n\t}"
        : : "r"(shared_address(&barrier)) : "memory");
}

__device__ __forceinline__ void barrier_wait(unsigned long long& barrier, unsigned parity) {
    asm volatile(
        "{\n"
        ".reg .pred P1;\n"
        "LAB_WAIT:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
        "@P1 bra DONE;\n"
        "bra LAB_WAIT;\n"
        "DONE:\n"
        "}" : : "r"(shared_address(&barrier)), "r"(parity) : "memory");
}

// Makes barriers known to bulk copies, and to them what came before in the generic proxy.
__device__ __forceinline__ void fence_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
    asm volatile("fence.proxy.async;" : : : "memory");
}

__device__ __forceinline__ unsigned long long read_once() {
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ __forceinline__ void bulk_load(void* to, const void* from, unsigned bytes, unsigned long long& barrier, unsigned long long policy) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint" " [%0], [%1], %2, [%3], %4;"
                 : : "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(&barrier)), "l"(policy) : "memory");
}

__device__ __forceinline__ void bulk_store(void* to, const void* from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n\t"
                 "cp.async.bulk.commit_group;"
                 : : "l"(to), "r"(shared_address(from)), "r"(bytes) : "memory");
}

template <int Pending>
__device__ __forceinline__ void bulk_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(Pending) : "memory"); }

__device__ __forceinline__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group 0;" : : : "memory"); }

__device__ __forceinline__ void meet(int barrier, int threads) { asm volatile("barrier.sync %0, %1;" : : "r"(barrier), "r"(threads) : "memory"); }

__device__ __forceinline__ void meet_warp() { asm volatile("bar.warp.sync 0xffffffff;" : : : "memory"); }

__device__ __forceinline__ float sum_of_warp(float value) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        float other;
        asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(other) : "f"(value), "r"(lanes));
        value += other;
    }
    return value;
}

__device__ __forceinline__ bool is_for_bulk(const void* place, amk_i64 bytes) {
    return (reinterpret_cast<unsigned long long>(place) | bytes) % 16 == 0;
}

__device__ void rmsnorm_by_pipeline(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    const amk_i64 hidden = task.params.hidden, rows = x.numel / hidden;
    const amk_i64 row_bytes = hidden * amk_dtype_bits(x.dtype) / 8, result_bytes = hidden * amk_dtype_bits(y.dtype) / 8;
    if (row_bytes > STAGE_BYTES || result_bytes > STAGE_BYTES) {
        amk_op_rmsnorm(program, task);
        return;
    }
    Room& room = *reinterpret_cast<Room*>(amk_scratch());
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    // The last warp brings rows. One that is alone does both.
    const int consumers = warps > 1 ? warps - 1 : 1;
    const bool brings = warp == warps - 1, computes = warp < consumers;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            barrier_init(room.full[s], 1);
            barrier_init(room.empty[s], consumers);
        }
        fence_barriers();
    }
    meet(0, blockDim.x);
    const bool rows_in_bulk = is_for_bulk(x.ptr, row_bytes), results_in_bulk = is_for_bulk(y.ptr, result_bytes);
    const unsigned long long policy = read_once();
    const auto bring = [&](amk_i64 row) {
        const int s = row % STAGES;
        const unsigned char* from = static_cast<const unsigned char*>(x.ptr) + row * row_bytes;
        if (lane == 0) barrier_wait(room.empty[s], (row / STAGES & 1) ^ 1);
        meet_warp();
        if (!rows_in_bulk) {
            for (int i = lane; i < row_bytes; i += 32) {
                unsigned byte;
                asm volatile("ld.global.u8 %0, [%1];" : "=r"(byte) : "l"(from + i) : "memory");
                asm volatile("st.shared.u8 [%0], %1;" : : "r"(shared_address(room.rows[s]) + i), "r"(byte) : "memory");
            }
            meet_warp();
            if (lane == 0) barrier_arrive(room.full[s]);
        } else if (lane == 0) {
            // Others wrote the rows in the generic proxy, in this launch.
            if (row == 0) asm volatile("fence.proxy.async.global;" : : : "memory");
            barrier_expect(room.full[s], row_bytes);
            bulk_load(room.rows[s], from, row_bytes, room.full[s], policy);
        }
    };
    if (brings) bring(0);
    for (amk_i64 row = 1; row < rows && !computes; ++row) bring(row);
    for (amk_i64 row = 0; row < rows && computes; ++row) {
        if (brings && row + 1 < rows) bring(row + 1);
        const int s = row % STAGES;
        amk_buffer_t staged = x, result = y;
        staged.ptr = room.rows[s];
        if (results_in_bulk) result.ptr = room.results[s];
        barrier_wait(room.full[s], row / STAGES & 1);
        float sum = 0.0f;
        for (amk_i64 i = threadIdx.x; i < hidden; i += 32 * consumers) {
            asm("fma.rn.f32 %0, %1, %1, %0;" : "+f"(sum) : "f"(amk_load(staged, i)));
        }
        sum = sum_of_warp(sum);
        if (lane == 0) asm volatile("st.shared.f32 [%0], %1;" : : "r"(shared_address(&room.sums[s][warp])), "f"(sum) : "memory");
        // Where the results of this row will lie, those of the row before the last one have been read.
        if (threadIdx.x == 0) bulk_wait_read<1>();
        meet(SUMMED, 32 * consumers);
        sum = 0.0f;
        for (int other = 0; other < consumers; ++other) {
            float part;
            asm volatile("ld.shared.f32 %0, [%1];" : "=f"(part) : "r"(shared_address(&room.sums[s][other])) : "memory");
            sum += part;
        }
        float inverse = sum / float(hidden) + task.params.eps;
        asm("sqrt.rn.f32 %0, %0;\n\trcp.rn.f32 %0, %0;" : "+f"(inverse));
        for (amk_i64 i = threadIdx.x; i < hidden; i += 32 * consumers) {
            amk_store(result, (results_in_bulk ? 0 : row * hidden) + i, amk_load(staged, i) * inverse * amk_load(w, i));
        }
        meet_warp();
        if (lane == 0) barrier_arrive(room.empty[s]);
        if (results_in_bulk) {
            // What each thread has stored in the generic proxy, the copy is to see.
            asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
            meet(WRITTEN, 32 * consumers);
            if (threadIdx.x == 0) bulk_store(static_cast<unsigned char*>(y.ptr) + row * result_bytes, room.results[s], result_bytes);
        }
    }
    // Not only read, but there, before the task is done.
    if (threadIdx.x == 0) bulk_wait();
    meet(0, blockDim.x);
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            barrier_end(room.full[s]);
            barrier_end(room.empty[s]);
        }
    }
}

// Pieces go through the same stages, and no thread ever has them.
__device__ void copy_by_pipeline(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &y = amk_output(program, task, 0);
    if (x.dtype != y.dtype || !is_for_bulk(x.ptr, 0) || !is_for_bulk(y.ptr, 0)) {
        amk_op_copy(program, task);
        return;
    }
    const amk_i64 bytes = (x.numel * amk_dtype_bits(x.dtype) + 7) / 8, whole = bytes / 16 * 16, pieces = (whole + STAGE_BYTES - 1) / STAGE_BYTES;
    const unsigned char* from = static_cast<const unsigned char*>(x.ptr);
    unsigned char* to = static_cast<unsigned char*>(y.ptr);
    for (amk_i64 i = whole + threadIdx.x; i < bytes; i += blockDim.x) to[i] = from[i];
    if (threadIdx.x != 0 || pieces == 0) return;
    Room& room = *reinterpret_cast<Room*>(amk_scratch());
    for (int s = 0; s < STAGES; ++s) barrier_init(room.full[s], 1);
    fence_barriers();
    const auto size = [&](amk_i64 piece) { return unsigned(whole - piece * STAGE_BYTES < STAGE_BYTES ? whole - piece * STAGE_BYTES : STAGE_BYTES); };
    const auto bring = [&](amk_i64 piece) {
        const int s = piece % STAGES;
        barrier_expect(room.full[s], size(piece));
        asm volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     : : "r"(shared_address(room.rows[s])), "l"(from + piece * STAGE_BYTES), "r"(size(piece)), "r"(shared_address(&room.full[s]))
                     : "memory");
    };
    bring(0);
    for (amk_i64 piece = 0; piece < pieces; ++piece) {
        if (piece + 1 < pieces) {
            // From where the next piece will lie, the last one has gone.
            bulk_wait_read<0>();
            bring(piece + 1);
        }
        barrier_wait(room.full[piece % STAGES], piece / STAGES & 1);
        bulk_store(to + piece * STAGE_BYTES, room.rows[piece % STAGES], size(piece));
    }
    bulk_wait();  // There, and not only read.
    for (int s = 0; s < STAGES; ++s) barrier_end(room.full[s]);
}

#else
#define rmsnorm_by_pipeline amk_op_rmsnorm
#define copy_by_pipeline amk_op_copy
#endif

#define AMK_REPLACE_RMSNORM rmsnorm_by_pipeline
#define AMK_REPLACE_COPY copy_by_pipeline
