// ADD by bulk copies out of shared memory alone: the first operand is copied to where the sum will be, and the second one added to it there.
#include "task.cuh"
#include "ops/add.cuh"

#if defined(AMK_HOST) || __CUDA_ARCH__ >= 900

// The copies of a tile overtake those of the next where they are not waited for.
#define TILE_BYTES 128

__device__ __forceinline__ unsigned shared_address(const void* place) { return unsigned(__cvta_generic_to_shared(place)); }

__device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" : : : "memory");
}

// Of one dtype, and a whole number of 16 bytes.
__device__ bool is_for_bulk(const amk_buffer_t& buffer, const amk_buffer_t& other) {
    const amk_i64 bytes = buffer.numel * amk_dtype_bits(buffer.dtype) / 8;
    return buffer.dtype == other.dtype && buffer.numel == other.numel && (reinterpret_cast<unsigned long long>(buffer.ptr) | bytes) % 16 == 0;
}

__device__ void add_by_joining(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &a = amk_input(program, task, 0), &b = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    const bool known = y.dtype == AMK_DTYPE_F32 || y.dtype == AMK_DTYPE_F16 || y.dtype == AMK_DTYPE_BF16;
    if (!known || !is_for_bulk(a, y) || !is_for_bulk(b, y) || !is_for_bulk(y, y)) {
        amk_op_add(program, task);
        return;
    }
    __shared__ alignas(16) unsigned char tile[TILE_BYTES];
    const amk_i64 bytes = y.numel * amk_dtype_bits(y.dtype) / 8;
    for (int pass = 0; pass < 2; ++pass) {
        const unsigned char* const from = static_cast<const unsigned char*>(pass == 0 ? a.ptr : b.ptr);
        for (amk_i64 first = 0; first < bytes; first += TILE_BYTES) {
            const unsigned size = unsigned(bytes - first < TILE_BYTES ? bytes - first : TILE_BYTES);
            for (unsigned i = threadIdx.x; i < size / 4; i += blockDim.x) {
                reinterpret_cast<unsigned*>(tile)[i] = reinterpret_cast<const unsigned*>(from + first)[i];
            }
            asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
            __syncthreads();
            if (threadIdx.x == 0) {
                unsigned char* const to = static_cast<unsigned char*>(y.ptr) + first;
                const unsigned at = shared_address(tile);
                if (pass == 0) {
                    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" : : "l"(to), "r"(at), "r"(size) : "memory");
                } else if (y.dtype == AMK_DTYPE_F32) {
                    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;"
                                 : : "l"(to), "r"(at), "r"(size) : "memory");
                } else if (y.dtype == AMK_DTYPE_F16) {
                    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%0], [%1], %2;"
                                 : : "l"(to), "r"(at), "r"(size) : "memory");
                } else {
                    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%0], [%1], %2;"
                                 : : "l"(to), "r"(at), "r"(size) : "memory");
                }
                wait_for_copies();
            }
            __syncthreads();
        }
    }
}
#define AMK_REPLACE_ADD add_by_joining

#endif
