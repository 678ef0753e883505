// SOFTMAX, RMSNORM, ADD and COPY with the barriers of libcu++ in shared memory: the block, or what is left of it, meets in phases, and copies
// beside the threads count into them.
#include <cooperative_groups.h>
#include <cuda/barrier>

#include "task.cuh"
#include "ops/copy.cuh"

// Barriers have a constructor, which shared memory does not run: `init` does.
#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;
using barrier = cuda::barrier<cuda::thread_scope_block>;

#define TILE_BYTES 1024
#define TILE_ELEMENTS 256
#define PIECE_BYTES 2048

#if defined(AMK_HOST) || __CUDA_ARCH__ >= 900
#define HAS_TRANSACTIONS
#endif

// Bulk copies have a proxy of their own: makes known to it what threads have done to barriers, and to memory.
__device__ __forceinline__ void fence_for_copies() {
#ifdef HAS_TRANSACTIONS
    asm volatile("fence.proxy.async;" : : : "memory");
#endif
}

__device__ __forceinline__ bool is_whole(const void* place, amk_i64 bytes) {
    return (reinterpret_cast<unsigned long long>(place) | static_cast<unsigned long long>(bytes)) % 16 == 0;
}

__device__ __forceinline__ const unsigned char* bytes_of(const amk_buffer_t& buffer) { return static_cast<const unsigned char*>(buffer.ptr); }

// Two phases a line: the maxima of all warps, then their sums.
__device__ void softmax_by_phases(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &y = amk_output(program, task, 0);
    const int axis = task.params.dim < 0 ? task.params.dim + x.rank : task.params.dim;
    const amk_i64 length = x.shape[axis];
    amk_i64 stride = 1;
    for (int a = axis + 1; a < x.rank; ++a) stride *= x.shape[a];
    __shared__ barrier met;
    __shared__ float maxima[32], sums[32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int needed = length < blockDim.x ? int(length + 31) / 32 : blockDim.x / 32;
    if (threadIdx.x == 0) init(&met, blockDim.x);
    __syncthreads();
    if (warp >= needed) {
        // No line has an element for this warp.
        met.arrive_and_drop();
    } else {
        for (amk_i64 line = 0; line < x.numel / length; ++line) {
            const amk_i64 first = line / stride * stride * length + line % stride;
            float own = -amk_infinity();
            for (amk_i64 i = threadIdx.x; i < length; i += 32 * needed) own = fmaxf(own, amk_load(x, first + i * stride));
            own = amk_warp_max(own);
            if (lane == 0) maxima[warp] = own;
            barrier::arrival_token token = met.arrive();
            // Weights relative to the warp's own maximum, while other warps are on their way.
            const bool nothing = own == -amk_infinity();
            float sum = 0.0f;
            for (amk_i64 i = threadIdx.x; i < length; i += 32 * needed) {
                sum += expf(amk_load(x, first + i * stride) - (nothing ? 0.0f : own));
            }
            sum = amk_warp_sum(sum);
            met.wait(cuda::std::move(token));
            float largest = -amk_infinity();
            for (int other = 0; other < needed; ++other) largest = fmaxf(largest, maxima[other]);
            if (lane == 0) sums[warp] = nothing ? sum : sum * expf(own - largest);
            met.arrive_and_wait();
            float total = 0.0f;
            for (int other = 0; other < needed; ++other) total += sums[other];
            for (amk_i64 i = threadIdx.x; i < length; i += 32 * needed) {
                amk_store(y, first + i * stride, expf(amk_load(x, first + i * stride) - largest) / total);
            }
        }
    }
    // The next task may begin another barrier in its place.
    __syncthreads();
    if (threadIdx.x == 0) met.~barrier();
}
#define AMK_REPLACE_SOFTMAX softmax_by_phases

// A warp has a row, and all of them go through the weight together, which the first one brings tile by tile.
__device__ void rmsnorm_by_phases(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    __shared__ barrier full[2];
    __shared__ alignas(16) unsigned char tiles[2][TILE_BYTES];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    const int size = amk_dtype_bits(w.dtype) / 8;
    const amk_i64 hidden = task.params.hidden, rows = x.numel / hidden, per_tile = TILE_BYTES / size;
    const amk_i64 tiles_of_row = (hidden + per_tile - 1) / per_tile, steps = (rows + warps - 1) / warps * tiles_of_row;
    if (threadIdx.x < 2) init(&full[threadIdx.x], blockDim.x);
    fence_for_copies();
    __syncthreads();
    const auto lanes = cg::tiled_partition<32>(cg::this_thread_block());
    const auto count_of = [&](amk_i64 first) { return hidden - first < per_tile ? hidden - first : per_tile; };
    const auto bring = [&](amk_i64 step) {
        const amk_i64 first = step % tiles_of_row * per_tile;
        const size_t bytes = count_of(first) * size;
        const unsigned char* const from = bytes_of(w) + first * size;
        if (is_whole(from, bytes)) cuda::memcpy_async(lanes, tiles[step % 2], from, cuda::aligned_size_t<16>(bytes), full[step % 2]);
        else cuda::memcpy_async(lanes, tiles[step % 2], from, bytes, full[step % 2]);
    };
    if (warp == 0) bring(0);
    amk_i64 step = 0;
    for (amk_i64 row = warp; row < rows; row += warps) {
        float sum = 0.0f;
        for (amk_i64 i = lane; i < hidden; i += 32) {
            const float value = amk_load(x, row * hidden + i);
            sum += value * value;
        }
        const float inverse = 1.0f / sqrtf(amk_warp_sum(sum) / float(hidden) + task.params.eps);
        for (amk_i64 first = 0; first < hidden; first += per_tile, ++step) {
            barrier& ready = full[step % 2];
            ready.wait(ready.arrive());
            // Whoever has come here has read the tile before: the next one goes there.
            if (warp == 0 && step + 1 < steps) bring(step + 1);
            amk_buffer_t weight = w;
            weight.ptr = tiles[step % 2];
            for (amk_i64 i = lane; i < count_of(first); i += 32) {
                const amk_i64 place = row * hidden + first + i;
                amk_store(y, place, amk_load(x, place) * inverse * amk_load(weight, i));
            }
        }
    }
    if (step < steps) {
        // The last round has no row for this warp: in neither barrier is it waited for.
        full[step % 2].arrive_and_drop();
        full[(step + 1) % 2].arrive_and_drop();
    }
    __syncthreads();
    if (threadIdx.x < 2) full[threadIdx.x].~barrier();
}
#define AMK_REPLACE_RMSNORM rmsnorm_by_phases

// Tiles of both numbers come to shared memory one step ahead: by transactions, or else by the whole block.
__device__ void add_by_phases(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &a = amk_input(program, task, 0), &b = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    __shared__ barrier full[2];
    __shared__ alignas(16) unsigned char left[2][TILE_BYTES], right[2][TILE_BYTES];
    const cg::thread_block block = cg::this_thread_block();
    const int a_size = amk_dtype_bits(a.dtype) / 8, b_size = amk_dtype_bits(b.dtype) / 8;
    const amk_i64 tiles = (y.numel + TILE_ELEMENTS - 1) / TILE_ELEMENTS;
    if (block.thread_rank() < 2) init(full + block.thread_rank(), block.size());
    fence_for_copies();
    block.sync();
    const auto count_of = [&](amk_i64 first) { return y.numel - first < TILE_ELEMENTS ? y.numel - first : amk_i64(TILE_ELEMENTS); };
    const auto bring = [&](amk_i64 tile) {
        const int slot = tile % 2;
        const amk_i64 first = tile * TILE_ELEMENTS, count = count_of(first);
        const size_t a_bytes = count * a_size, b_bytes = count * b_size;
        const unsigned char *const from_a = bytes_of(a) + first * a_size, *const from_b = bytes_of(b) + first * b_size;
        if (is_whole(from_a, a_bytes) && is_whole(from_b, b_bytes)) {
            if (threadIdx.x != 0) return;
            const cuda::aligned_size_t<16> a_whole(a_bytes), b_whole(b_bytes);
#ifdef HAS_TRANSACTIONS
            cuda::device::barrier_expect_tx(full[slot], a_bytes + b_bytes);
            cuda::device::memcpy_async_tx(left[slot], from_a, a_whole, full[slot]);
            cuda::device::memcpy_async_tx(right[slot], from_b, b_whole, full[slot]);
#else
            cuda::memcpy_async(left[slot], from_a, a_whole, full[slot]);
            cuda::memcpy_async(right[slot], from_b, b_whole, full[slot]);
#endif
            return;
        }
        cuda::memcpy_async(block, left[slot], from_a, a_bytes, full[slot]);
        if (b.dtype == AMK_DTYPE_F32) {
            // A thread brings its own numbers.
            float* const to = reinterpret_cast<float*>(right[slot]);
            const float* const from = reinterpret_cast<const float*>(from_b);
            for (amk_i64 i = threadIdx.x; i < count; i += blockDim.x) cuda::memcpy_async(to + i, from + i, sizeof(float), full[slot]);
        } else {
            cuda::memcpy_async(block, right[slot], from_b, b_bytes, full[slot]);
        }
    };
    bring(0);
    for (amk_i64 tile = 0; tile < tiles; ++tile) {
        full[tile % 2].arrive_and_wait();
        if (tile + 1 < tiles) bring(tile + 1);
        amk_buffer_t one = a, other = b;
        one.ptr = left[tile % 2];
        other.ptr = right[tile % 2];
        // Not in the order in which threads have copied.
        for (amk_i64 i = blockDim.x - 1 - threadIdx.x; i < count_of(tile * TILE_ELEMENTS); i += blockDim.x) {
            amk_store(y, tile * TILE_ELEMENTS + i, amk_load(one, i) + amk_load(other, i));
        }
    }
    block.sync();
    if (threadIdx.x < 2) full[threadIdx.x].~barrier();
}
#define AMK_REPLACE_ADD add_by_phases

// One thread brings pieces, all of them carry them away, and phases are told by their parity.
__device__ void copy_by_phases(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &y = amk_output(program, task, 0);
    if (x.dtype != y.dtype || !is_whole(x.ptr, 0) || !is_whole(y.ptr, 0)) {
        amk_op_copy(program, task);
        return;
    }
    __shared__ barrier full[2], empty[2];
    __shared__ alignas(16) unsigned char pieces[2][PIECE_BYTES];
    const amk_i64 bytes = (x.numel * amk_dtype_bits(x.dtype) + 7) / 8, whole = bytes / 16 * 16, count = (whole + PIECE_BYTES - 1) / PIECE_BYTES;
    const unsigned char* const from = bytes_of(x);
    unsigned char* const to = static_cast<unsigned char*>(y.ptr);
    if (threadIdx.x < 2) {
        init(&full[threadIdx.x], 1);
        init(&empty[threadIdx.x], blockDim.x);
    }
    fence_for_copies();
    __syncthreads();
    const auto size_of = [&](amk_i64 piece) {
        const amk_i64 rest = whole - piece * PIECE_BYTES;
        return rest < PIECE_BYTES ? rest : amk_i64(PIECE_BYTES);
    };
    const auto bring = [&](amk_i64 piece) {
        const int slot = piece % 2;
        const cuda::aligned_size_t<16> size(size_of(piece));
        // A phase that has not begun counts as one that has ended: the first pieces wait for nobody.
        empty[slot].wait_parity((piece / 2 & 1) ^ 1);
#ifdef HAS_TRANSACTIONS
        cuda::device::memcpy_async_tx(pieces[slot], from + piece * PIECE_BYTES, size, full[slot]);
        (void)cuda::device::barrier_arrive_tx(full[slot], 1, size);
#else
        cuda::memcpy_async(pieces[slot], from + piece * PIECE_BYTES, size, full[slot]);
        (void)full[slot].arrive();
#endif
    };
    if (threadIdx.x == 0 && count > 0) bring(0);
    for (amk_i64 piece = 0; piece < count; ++piece) {
        const int slot = piece % 2;
        if (threadIdx.x == 0 && piece + 1 < count) bring(piece + 1);
        full[slot].wait_parity(piece / 2 & 1);
        const amk_chunk* const chunks = reinterpret_cast<const amk_chunk*>(pieces[slot]);
        for (amk_i64 i = threadIdx.x; i < size_of(piece) / 16; i += blockDim.x) amk_store_chunk(to + piece * PIECE_BYTES + 16 * i, chunks[i]);
        (void)empty[slot].arrive();
    }
    for (amk_i64 i = whole + threadIdx.x; i < bytes; i += blockDim.x) to[i] = from[i];
    __syncthreads();
    if (threadIdx.x < 2) {
        full[threadIdx.x].~barrier();
        empty[threadIdx.x].~barrier();
    }
}
#define AMK_REPLACE_COPY copy_by_phases
