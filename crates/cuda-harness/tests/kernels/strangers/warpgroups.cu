// GEMM_TILE of F16 and of BF16 on Hopper's matrix units: warpgroups of 128 threads, wgmma.mma_async of m64nNk16 into binary32, and operands that lie
// in shared memory as a matrix descriptor says. Compile for sm_90a; on the CPU give --threads 128 or more, and declare --accumulator truncating.
//
// WARPGROUP_VARIANT    A                                  B
//  0   shared, no swizzle, K-major, strips                no swizzle, K-major, strips
//  1   shared, no swizzle, K-major, blocks                no swizzle, K-major, blocks
//  2   shared, 32 bytes, K-major                          32 bytes, K-major
//  3   shared, 64 bytes, K-major                          64 bytes, K-major
//  4   shared, 128 bytes, K-major (the default)           128 bytes, K-major
//  5   registers                                          no swizzle, K-major, strips
//  6   registers                                          128 bytes, K-major
//  7   shared, no swizzle, K-major, strips                no swizzle, MN-major, strips
//  8   shared, 128 bytes, K-major                         128 bytes, MN-major
//  9   shared, no swizzle, MN-major, strips               no swizzle, MN-major, blocks
// 10   shared, no swizzle, MN-major, blocks               no swizzle, MN-major, strips
// 11   shared, 128 bytes, MN-major                        128 bytes, MN-major
// 12   shared, 128 bytes, MN-major, negated               64 bytes, K-major, negated
// 13   registers                                          128 bytes, MN-major, negated
// 14   shared, 32 bytes, MN-major                         32 bytes, MN-major
// 15   shared, 64 bytes, MN-major, negated                64 bytes, MN-major
// 16   registers, negated                                 32 bytes, K-major
//
// Strips and blocks are two ways to put the 8x8 matrices of an unswizzled tile in a row: along M or N first, and along K first. What is negated lies
// with its signs changed, and is multiplied by -1 again by the instruction: the products are the same.
//
// WARPGROUP_COLUMNS, if defined, is the N of the instruction: 8, 16, 24, 64 or 128. Otherwise it is chosen by the tile.
#include "task.cuh"
#include "ops/gemm_tile.cuh"

#if defined(AMK_HOST) || defined(__CUDA_ARCH_FEAT_SM90_ALL)

#ifndef WARPGROUP_VARIANT
#define WARPGROUP_VARIANT 4
#endif

// Columns of A and of B in a stage: a row is what the widest swizzle repeats, 128 bytes.
#define TILE_K 64
#define GROUP 128
#define GROUP_ROWS 64
// Shared memory that a block always has, without the records of the task and what is lost to alignment.
#define ALIGNMENT 1024
#define ROOM (48 * 1024 - AMK_CONTROL_BYTES - ALIGNMENT)

// How a tile lies; of a swizzle, how many bytes it repeats in.
enum { BLOCKS = 8, STRIPS = 16, SWIZZLED_32 = 32, SWIZZLED_64 = 64, SWIZZLED_128 = 128 };

struct variant_t {
    bool in_registers;
    int layout_a, transposed_a, sign_a;
    int layout_b, transposed_b, sign_b;
};

constexpr variant_t VARIANTS[] = {
    {false, STRIPS, 0, 1, STRIPS, 0, 1},
    {false, BLOCKS, 0, 1, BLOCKS, 0, 1},
    {false, SWIZZLED_32, 0, 1, SWIZZLED_32, 0, 1},
    {false, SWIZZLED_64, 0, 1, SWIZZLED_64, 0, 1},
    {false, SWIZZLED_128, 0, 1, SWIZZLED_128, 0, 1},
    {true, STRIPS, 0, 1, STRIPS, 0, 1},
    {true, STRIPS, 0, 1, SWIZZLED_128, 0, 1},
    {false, STRIPS, 0, 1, STRIPS, 1, 1},
    {false, SWIZZLED_128, 0, 1, SWIZZLED_128, 1, 1},
    {false, STRIPS, 1, 1, BLOCKS, 1, 1},
    {false, BLOCKS, 1, 1, STRIPS, 1, 1},
    {false, SWIZZLED_128, 1, 1, SWIZZLED_128, 1, 1},
    {false, SWIZZLED_128, 1, -1, SWIZZLED_64, 0, -1},
    {true, STRIPS, 0, 1, SWIZZLED_128, 1, -1},
    {false, SWIZZLED_32, 1, 1, SWIZZLED_32, 1, 1},
    {false, SWIZZLED_64, 1, -1, SWIZZLED_64, 1, 1},
    {true, STRIPS, 0, -1, SWIZZLED_32, 0, 1},
};
constexpr variant_t V = VARIANTS[WARPGROUP_VARIANT];
// A swizzled tile that is MN-major has whole lines along N.
constexpr int LEAST_COLUMNS = V.transposed_b && V.layout_b > STRIPS ? V.layout_b / 2 : 8;

// What the threads of a warpgroup have of its accumulators and of A has to be settled before the instruction reads it.
__device__ __forceinline__ void warpgroup_fence() { asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory"); }

__device__ __forceinline__ void warpgroup_commit() { asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory"); }

template <int Pending>
__device__ __forceinline__ void warpgroup_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(Pending) : "memory"); }

// Ordinary stores to shared memory go before what the matrix units read of it, which they do by another proxy.
__device__ __forceinline__ void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory"); }

// Keeps the compiler from moving accumulators across what it knows nothing of.
template <int COUNT>
__device__ __forceinline__ void keep(float (&d)[COUNT]) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

#define LIST_4 "%0, %1, %2, %3"
#define LIST_8 LIST_4 ", %4, %5, %6, %7"
#define LIST_12 LIST_8 ", %8, %9, %10, %11"
#define LIST_32 LIST_12 ", %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define LIST_64 LIST_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, " \
                        "%56, %57, %58, %59, %60, %61, %62, %63"
#define SUMS_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SUMS_8(i) SUMS_4(i), SUMS_4(i + 4)
#define SUMS_12(i) SUMS_8(i), SUMS_4(i + 8)
#define SUMS_32(i) SUMS_8(i), SUMS_8(i + 8), SUMS_8(i + 16), SUMS_8(i + 24)
#define SUMS_64(i) SUMS_32(i), SUMS_32(i + 32)

// One instruction with both operands in shared memory. The numbers are those of the operands behind the accumulators.
#define FROM_SHARED(SHAPE, TYPE, LIST, A, B, P, SA, SB, TA, TB, ...)                                                        \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #P ", 0;\n"                                                           \
                 "wgmma.mma_async.sync.aligned." SHAPE ".f32." TYPE "." TYPE " {" LIST "}, %" #A ", %" #B ", p, %" #SA ", %" #SB \
                 ", %" #TA ", %" #TB ";\n}\n"                                                                               \
                 : __VA_ARGS__                                                                                              \
                 : "l"(a), "l"(b), "r"(accumulate), "n"(V.sign_a), "n"(V.sign_b), "n"(V.transposed_a), "n"(V.transposed_b))

// One with A in registers, which is K-major always.
#define FROM_REGISTERS(SHAPE, TYPE, LIST, A0, A1, A2, A3, B, P, SA, SB, TB, ...)                                            \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #P ", 0;\n"                                                           \
                 "wgmma.mma_async.sync.aligned." SHAPE ".f32." TYPE "." TYPE " {" LIST "}, {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 \
                 "}, %" #B ", p, %" #SA ", %" #SB ", %" #TB ";\n}\n"                                                        \
                 : __VA_ARGS__                                                                                              \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate), "n"(V.sign_a), "n"(V.sign_b), "n"(V.transposed_b))

// d = A B, and d += A B if `accumulate` is not 0.
template <int DTYPE, int N>
__device__ __forceinline__ void multiply(float (&d)[N / 2], unsigned long long a, unsigned long long b, int accumulate) {
    constexpr bool half = DTYPE == AMK_DTYPE_F16;
    if constexpr (half && N == 8) FROM_SHARED("m64n8k16", "f16", LIST_4, 4, 5, 6, 7, 8, 9, 10, SUMS_4(0));
    else if constexpr (half && N == 16) FROM_SHARED("m64n16k16", "f16", LIST_8, 8, 9, 10, 11, 12, 13, 14, SUMS_8(0));
    else if constexpr (half && N == 24) FROM_SHARED("m64n24k16", "f16", LIST_12, 12, 13, 14, 15, 16, 17, 18, SUMS_12(0));
    else if constexpr (half && N == 64) FROM_SHARED("m64n64k16", "f16", LIST_32, 32, 33, 34, 35, 36, 37, 38, SUMS_32(0));
    else if constexpr (half && N == 128) FROM_SHARED("m64n128k16", "f16", LIST_64, 64, 65, 66, 67, 68, 69, 70, SUMS_64(0));
    else if constexpr (N == 8) FROM_SHARED("m64n8k16", "bf16", LIST_4, 4, 5, 6, 7, 8, 9, 10, SUMS_4(0));
    else if constexpr (N == 16) FROM_SHARED("m64n16k16", "bf16", LIST_8, 8, 9, 10, 11, 12, 13, 14, SUMS_8(0));
    else if constexpr (N == 24) FROM_SHARED("m64n24k16", "bf16", LIST_12, 12, 13, 14, 15, 16, 17, 18, SUMS_12(0));
    else if constexpr (N == 64) FROM_SHARED("m64n64k16", "bf16", LIST_32, 32, 33, 34, 35, 36, 37, 38, SUMS_32(0));
    else FROM_SHARED("m64n128k16", "bf16", LIST_64, 64, 65, 66, 67, 68, 69, 70, SUMS_64(0));
}

template <int DTYPE, int N>
__device__ __forceinline__ void multiply(float (&d)[N / 2], const unsigned (&a)[4], unsigned long long b, int accumulate) {
    constexpr bool half = DTYPE == AMK_DTYPE_F16;
    if constexpr (half && N == 8) FROM_REGISTERS("m64n8k16", "f16", LIST_4, 4, 5, 6, 7, 8, 9, 10, 11, 12, SUMS_4(0));
    else if constexpr (half && N == 16) FROM_REGISTERS("m64n16k16", "f16", LIST_8, 8, 9, 10, 11, 12, 13, 14, 15, 16, SUMS_8(0));
    else if constexpr (half && N == 24) FROM_REGISTERS("m64n24k16", "f16", LIST_12, 12, 13, 14, 15, 16, 17, 18, 19, 20, SUMS_12(0));
    else if constexpr (half && N == 64) FROM_REGISTERS("m64n64k16", "f16", LIST_32, 32, 33, 34, 35, 36, 37, 38, 39, 40, SUMS_32(0));
    else if constexpr (half && N == 128) FROM_REGISTERS("m64n128k16", "f16", LIST_64, 64, 65, 66, 67, 68, 69, 70, 71, 72, SUMS_64(0));
    else if constexpr (N == 8) FROM_REGISTERS("m64n8k16", "bf16", LIST_4, 4, 5, 6, 7, 8, 9, 10, 11, 12, SUMS_4(0));
    else if constexpr (N == 16) FROM_REGISTERS("m64n16k16", "bf16", LIST_8, 8, 9, 10, 11, 12, 13, 14, 15, 16, SUMS_8(0));
    else if constexpr (N == 24) FROM_REGISTERS("m64n24k16", "bf16", LIST_12, 12, 13, 14, 15, 16, 17, 18, 19, 20, SUMS_12(0));
    else if constexpr (N == 64) FROM_REGISTERS("m64n64k16", "bf16", LIST_32, 32, 33, 34, 35, 36, 37, 38, 39, 40, SUMS_32(0));
    else FROM_REGISTERS("m64n128k16", "bf16", LIST_64, 64, 65, 66, 67, 68, 69, 70, 71, 72, SUMS_64(0));
}

// Where an element lies, in bytes from the first of its tile, which has so many rows along M or N and TILE_K columns along K.
template <int Layout, bool Transposed>
__device__ __forceinline__ int place(int row, int k, int rows) {
    if constexpr (Layout <= STRIPS) {
        // Matrices of 8 by 8, each of 128 bytes without a gap; a line of one is along what is major.
        const int within = Transposed ? k % 8 * 16 + row % 8 * 2 : row % 8 * 16 + k % 8 * 2;
        if (Layout == STRIPS) return k / 8 * rows * 16 + row / 8 * 128 + within;
        return row / 8 * TILE_K * 16 + k / 8 * 128 + within;
    } else {
        // Lines of so many bytes, as many as the minor side is long; then the next such panel.
        const int line = Transposed ? k : row, lines = Transposed ? TILE_K : rows, column = 2 * (Transposed ? row : k);
        const int plain = column / Layout * lines * Layout + line * Layout + column % Layout;
        // Chunks of 16 bytes change places by the number of the line of 128 bytes: bits 4 to 6, as many as the swizzle has, by bits 7 to 9.
        return plain ^ (plain >> 3 & (Layout - 16));
    }
}

__device__ __forceinline__ unsigned long long encode(unsigned bytes) { return (bytes & 0x3ffff) >> 4; }

// The descriptor of what begins at `start`. Tiles lie at multiples of what a swizzle repeats in, so the base offset is 0.
template <int Layout, bool Transposed>
__device__ __forceinline__ unsigned long long describe(unsigned start, int rows) {
    unsigned leading, stride;
    if constexpr (Layout == STRIPS) {
        // Without a swizzle: from 8 columns to the next 8 along K, and from 8 rows to the next 8 along M or N, whatever is major.
        leading = rows * 16;
        stride = 128;
    } else if constexpr (Layout == BLOCKS) {
        leading = 128;
        stride = TILE_K * 16;
    } else if constexpr (Transposed) {
        // From panel to panel along M or N, and from 8 lines to the next 8 along K.
        leading = TILE_K * Layout;
        stride = 8 * Layout;
    } else {
        // An instruction never leaves a panel along K, so the first is not looked at.
        leading = 16;
        stride = 8 * Layout;
    }
    const unsigned long long mode = Layout == SWIZZLED_128 ? 1 : Layout == SWIZZLED_64 ? 2 : Layout == SWIZZLED_32 ? 3 : 0;
    return encode(start) | encode(leading) << 16 | encode(stride) << 32 | mode << 62;
}

// An element's bits, and zero where nothing is there.
template <int Sign>
__device__ __forceinline__ unsigned short element(const unsigned short* from, amk_i64 row, amk_i64 end, amk_i64 k, amk_i64 K) {
    const unsigned short bits = row < end && k < K ? from[row * K + k] : 0;
    return Sign < 0 ? bits ^ 0x8000 : bits;
}

// Rows from `first` and columns from `k0` to shared memory, by all threads.
template <int Layout, bool Transposed, int Sign>
__device__ void lay(char* to, int rows, const unsigned short* from, amk_i64 first, amk_i64 end, amk_i64 k0, amk_i64 K) {
    for (int i = threadIdx.x; i < rows * TILE_K; i += blockDim.x) {
        const int row = i / TILE_K, k = i % TILE_K;
        *reinterpret_cast<unsigned short*>(to + place<Layout, Transposed>(row, k, rows)) = element<Sign>(from, first + row, end, k0 + k, K);
    }
}

template <int DTYPE, int N>
__device__ void multiply_tiles(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    const unsigned short *xs = static_cast<const unsigned short*>(x.ptr), *ws = static_cast<const unsigned short*>(w.ptr);
    const amk_i64 K = task.params.K, width = amk_last(y);
    const amk_i64 m_end = task.params.m_off + task.params.M_tile, n_end = task.params.n_off + task.params.N_tile;
    const int steps = int((K + TILE_K - 1) / TILE_K);
    // Two warpgroups at most compute, each 64 rows; all other threads only load.
    const int groups = min(int(blockDim.x) / GROUP, 2), rows = groups * GROUP_ROWS;
    const int group = threadIdx.x / GROUP, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const bool computes = group < groups;
    // With two stages, one is laid down while the matrix units still read the other. Registers of A are there once.
    constexpr int A_BYTES = V.in_registers ? 0 : 2 * GROUP_ROWS * TILE_K * 2, STAGE_BYTES = A_BYTES + N * TILE_K * 2;
    constexpr int STAGES = !V.in_registers && 2 * STAGE_BYTES <= ROOM ? 2 : 1;
    const unsigned scratch = unsigned(__cvta_generic_to_shared(amk_scratch())), room_at = (scratch + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char* room = reinterpret_cast<char*>(amk_scratch()) + (room_at - scratch);
    for (amk_i64 m0 = task.params.m_off; m0 < m_end; m0 += rows) {
        for (amk_i64 n0 = task.params.n_off; n0 < n_end; n0 += N) {
            float d[N / 2];
            // Not zeros: the first instruction does not look at them.
            for (int i = 0; i < N / 2; ++i) d[i] = -1.0f;
            const amk_i64 first = m0 + group * GROUP_ROWS + warp * 16 + lane / 4;
            for (int step = 0; step < steps; ++step) {
                const amk_i64 k0 = amk_i64(step) * TILE_K;
                const int stage = step % STAGES * STAGE_BYTES;
                if constexpr (!V.in_registers) lay<V.layout_a, V.transposed_a, V.sign_a>(room + stage, rows, xs, m0, m_end, k0, K);
                lay<V.layout_b, V.transposed_b, V.sign_b>(room + stage + A_BYTES, N, ws, n0, n_end, k0, K);
                proxy_fence();
                __syncthreads();
                if (computes) {
                    // Rows lane / 4 and 8 below, columns 2 (lane % 4), the one behind, and the same 8 further.
                    unsigned a[TILE_K / 16][4] = {};
                    for (int part = 0; V.in_registers && part < TILE_K / 4; ++part) {
                        const amk_i64 row = first + part % 2 * 8, k = k0 + part / 4 * 16 + part / 2 % 2 * 8 + lane % 4 * 2;
                        const unsigned low = element<V.sign_a>(xs, row, m_end, k, K), high = element<V.sign_a>(xs, row, m_end, k + 1, K);
                        a[part / 4][part % 4] = low | high << 16;
                    }
                    const unsigned a_at = room_at + stage, b_at = room_at + stage + A_BYTES;
                    keep(d);
                    warpgroup_fence();
#pragma unroll
                    for (int k = 0; k < TILE_K; k += 16) {
                        const int accumulate = step > 0 || k > 0;
                        const unsigned long long b = describe<V.layout_b, V.transposed_b>(b_at + place<V.layout_b, V.transposed_b>(0, k, N), N);
                        if constexpr (V.in_registers) {
                            multiply<DTYPE, N>(d, a[k / 16], b, accumulate);
                        } else {
                            const int mine = place<V.layout_a, V.transposed_a>(group * GROUP_ROWS, k, rows);
                            multiply<DTYPE, N>(d, describe<V.layout_a, V.transposed_a>(a_at + mine, rows), b, accumulate);
                        }
                    }
                    warpgroup_commit();
                    // What the next step lays down is where the step before this one has been read.
                    warpgroup_wait<STAGES - 1>();
                    keep(d);
                }
                __syncthreads();
            }
            // The sums are there, and the next tile may begin in any stage.
            if (computes) warpgroup_wait<0>();
            keep(d);
            __syncthreads();
            for (int i = 0; i < N / 2 && computes; ++i) {
                const amk_i64 m = first + i / 2 % 2 * 8, n = n0 + i / 4 * 8 + lane % 4 * 2 + i % 2;
                if (m >= m_end || n >= n_end) continue;
                const float sum = task.n_inputs > 2 ? d[i] + amk_load(amk_input(program, task, 2), n) : d[i];
                amk_store(y, m * width + n, sum);
            }
        }
    }
}

// By the narrowest instruction that has all columns of the tile, or that leaves none of its own over.
template <int DTYPE>
__device__ void multiply_columns(const amk_program_t& program, const amk_instruction_t& task) {
#ifdef WARPGROUP_COLUMNS
    static_assert(WARPGROUP_COLUMNS % LEAST_COLUMNS == 0, "whole lines of a swizzle");
    multiply_tiles<DTYPE, WARPGROUP_COLUMNS>(program, task);
#else
    const int columns = task.params.N_tile;
    if (8 % LEAST_COLUMNS == 0 && columns <= 8) multiply_tiles<DTYPE, 8 % LEAST_COLUMNS == 0 ? 8 : 128>(program, task);
    else if (16 % LEAST_COLUMNS == 0 && columns <= 16) multiply_tiles<DTYPE, 16 % LEAST_COLUMNS == 0 ? 16 : 128>(program, task);
    else if (24 % LEAST_COLUMNS == 0 && (columns <= 24 || columns % 24 == 0)) multiply_tiles<DTYPE, 24 % LEAST_COLUMNS == 0 ? 24 : 128>(program, task);
    else if (columns <= 64) multiply_tiles<DTYPE, 64>(program, task);
    else multiply_tiles<DTYPE, 128>(program, task);
#endif
}

__device__ void gemm_by_warpgroups(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1);
    if (task.params.qdtype != 0 || x.dtype != w.dtype || blockDim.x < GROUP || task.params.K < 1) amk_op_gemm_tile(program, task);
    else if (x.dtype == AMK_DTYPE_F16) multiply_columns<AMK_DTYPE_F16>(program, task);
    else if (x.dtype == AMK_DTYPE_BF16) multiply_columns<AMK_DTYPE_BF16>(program, task);
    else amk_op_gemm_tile(program, task);
}

#define AMK_REPLACE_GEMM_TILE gemm_by_warpgroups

#endif
