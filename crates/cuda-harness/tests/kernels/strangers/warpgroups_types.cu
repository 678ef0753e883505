// GEMM_TILE on Hopper's matrix units of what is not of 16 bits: products of E4M3 and E5M2 in all four ways; of F32, in three parts of TF32 each; and
// of F32 where all operands are small integers, as S8 or U8. Operands are K-major, since wgmma has these in no other way. For sm_90a; on the CPU with
// --threads 128 or more and --accumulator truncating.
//
// WARPGROUP_VARIANT   A                       B
//  0                  shared, no swizzle      no swizzle
//  1                  shared, 32 bytes        32 bytes
//  2                  shared, 64 bytes        64 bytes, negated where that is possible
//  3                  shared, 128 bytes       128 bytes (the default)
//  4                  registers               64 bytes
//  5                  registers               no swizzle, negated where that is possible
//
// WARPGROUP_INTEGERS 0 leaves integers to TF32. WARPGROUP_COLUMNS, if defined, is the N of the instruction: 8 or 48, which integers have too; 40 they have not.
//
// A GPU of Hopper adds products of 8-bit floats with fewer bits than NUM-06 lets it, and so no more than 128 of them here before a sum goes to
// binary32; cases that are made to tell will tell all the same.
#include "task.cuh"
#include "ops/gemm_tile.cuh"

#if defined(AMK_HOST) || defined(__CUDA_ARCH_FEAT_SM90_ALL)

#ifndef WARPGROUP_VARIANT
#define WARPGROUP_VARIANT 3
#endif
#ifndef WARPGROUP_INTEGERS
#define WARPGROUP_INTEGERS 1
#endif

// Of every type, an instruction takes 32 bytes of a row, and a tile has 128.
#define STEP_BYTES 32
#define TILE_BYTES 128
#define GROUP 128
#define GROUP_ROWS 64
#define ALIGNMENT 1024

enum { PLAIN = 16, SWIZZLED_32 = 32, SWIZZLED_64 = 64, SWIZZLED_128 = 128 };
enum { E4M3_E4M3, E4M3_E5M2, E5M2_E4M3, E5M2_E5M2, TF32, S8_S8, S8_U8, U8_S8, U8_U8 };

struct variant_t {
    bool in_registers;
    int layout_a, layout_b, sign_b;
};
constexpr variant_t VARIANTS[] = {
    {false, PLAIN, PLAIN, 1},       {false, SWIZZLED_32, SWIZZLED_32, 1}, {false, SWIZZLED_64, SWIZZLED_64, -1}, {false, SWIZZLED_128, SWIZZLED_128, 1},
    {true, PLAIN, SWIZZLED_64, 1},  {true, PLAIN, PLAIN, -1},
};
constexpr variant_t V = VARIANTS[WARPGROUP_VARIANT];

// What the accumulators of a kind are, and how many elements a word has.
template <int KIND>
struct kind_t {
    typedef float sum;
    static constexpr int PER_WORD = KIND == TF32 ? 1 : 4, PAIRS = KIND == TF32 ? 6 : 1;
    static constexpr unsigned SIGN_BITS = KIND == TF32 ? 0x80000000u : 0x80808080u;
};
template <> struct kind_t<S8_S8> { typedef int sum; static constexpr int PER_WORD = 4, PAIRS = 1; static constexpr unsigned SIGN_BITS = 0; };
template <> struct kind_t<S8_U8> : kind_t<S8_S8> {};
template <> struct kind_t<U8_S8> : kind_t<S8_S8> {};
template <> struct kind_t<U8_U8> : kind_t<S8_S8> {};

#define LIST_4 "%0, %1, %2, %3"
#define LIST_24 LIST_4 ", %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23"
#define SUMS_4(C, i) C(d[i]), C(d[i + 1]), C(d[i + 2]), C(d[i + 3])
#define SUMS_24(C) SUMS_4(C, 0), SUMS_4(C, 4), SUMS_4(C, 8), SUMS_4(C, 12), SUMS_4(C, 16), SUMS_4(C, 20)

// Products of integers have no signs to change: what stands behind the predicate is a text.
#define FROM_SHARED(WHICH, K, TYPES, C, BEHIND_8, BEHIND_48)                                                                                \
    if constexpr (KIND == WHICH && N == 8)                                                                                                  \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\nwgmma.mma_async.sync.aligned.m64n8" K TYPES " {" LIST_4 "}, %4, %5, p" BEHIND_8 ";\n}\n" \
                     : SUMS_4(C, 0) : "l"(a), "l"(b), "r"(accumulate), "n"(1), "n"(V.sign_b));                                              \
    if constexpr (KIND == WHICH && N == 48)                                                                                                 \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %26, 0;\nwgmma.mma_async.sync.aligned.m64n48" K TYPES " {" LIST_24 "}, %24, %25, p" BEHIND_48 ";\n}\n" \
                     : SUMS_24(C) : "l"(a), "l"(b), "r"(accumulate), "n"(1), "n"(V.sign_b))

#define FROM_REGISTERS(WHICH, K, TYPES, C, BEHIND_8, BEHIND_48)                                                                             \
    if constexpr (KIND == WHICH && N == 8)                                                                                                  \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %9, 0;\nwgmma.mma_async.sync.aligned.m64n8" K TYPES " {" LIST_4                      \
                     "}, {%4, %5, %6, %7}, %8, p" BEHIND_8 ";\n}\n"                                                                         \
                     : SUMS_4(C, 0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate), "n"(1), "n"(V.sign_b));          \
    if constexpr (KIND == WHICH && N == 48)                                                                                                 \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %29, 0;\nwgmma.mma_async.sync.aligned.m64n48" K TYPES " {" LIST_24                   \
                     "}, {%24, %25, %26, %27}, %28, p" BEHIND_48 ";\n}\n"                                                                   \
                     : SUMS_24(C) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate), "n"(1), "n"(V.sign_b))

template <int KIND, int N, typename T>
__device__ __forceinline__ void multiply(T (&d)[N / 2], unsigned long long a, unsigned long long b, int accumulate) {
    FROM_SHARED(E4M3_E4M3, "k32", ".f32.e4m3.e4m3", "+f", ", %7, %8", ", %27, %28");
    FROM_SHARED(E4M3_E5M2, "k32", ".f32.e4m3.e5m2", "+f", ", %7, %8", ", %27, %28");
    FROM_SHARED(E5M2_E4M3, "k32", ".f32.e5m2.e4m3", "+f", ", %7, %8", ", %27, %28");
    FROM_SHARED(E5M2_E5M2, "k32", ".f32.e5m2.e5m2", "+f", ", %7, %8", ", %27, %28");
    FROM_SHARED(TF32, "k8", ".f32.tf32.tf32", "+f", ", %7, %8", ", %27, %28");
    FROM_SHARED(S8_S8, "k32", ".s32.s8.s8", "+r", "", "");
    FROM_SHARED(S8_U8, "k32", ".s32.s8.u8.satfinite", "+r", "", "");
    FROM_SHARED(U8_S8, "k32", ".s32.u8.s8", "+r", "", "");
    FROM_SHARED(U8_U8, "k32", ".s32.u8.u8", "+r", "", "");
}

template <int KIND, int N, typename T>
__device__ __forceinline__ void multiply(T (&d)[N / 2], const unsigned (&a)[4], unsigned long long b, int accumulate) {
    FROM_REGISTERS(E4M3_E4M3, "k32", ".f32.e4m3.e4m3", "+f", ", %10, %11", ", %30, %31");
    FROM_REGISTERS(E4M3_E5M2, "k32", ".f32.e4m3.e5m2", "+f", ", %10, %11", ", %30, %31");
    FROM_REGISTERS(E5M2_E4M3, "k32", ".f32.e5m2.e4m3", "+f", ", %10, %11", ", %30, %31");
    FROM_REGISTERS(E5M2_E5M2, "k32", ".f32.e5m2.e5m2", "+f", ", %10, %11", ", %30, %31");
    FROM_REGISTERS(TF32, "k8", ".f32.tf32.tf32", "+f", ", %10, %11", ", %30, %31");
    FROM_REGISTERS(S8_S8, "k32", ".s32.s8.s8", "+r", "", "");
    FROM_REGISTERS(S8_U8, "k32", ".s32.s8.u8.satfinite", "+r", "", "");
    FROM_REGISTERS(U8_S8, "k32", ".s32.u8.s8", "+r", "", "");
    FROM_REGISTERS(U8_U8, "k32", ".s32.u8.u8", "+r", "", "");
}

// Where a byte of a row lies, as in warpgroups.cu; without a swizzle in strips of 16 bytes.
template <int Layout>
__device__ __forceinline__ int place(int row, int byte, int rows) {
    const int plain = byte / Layout * rows * Layout + row * Layout + byte % Layout;
    return plain ^ (plain >> 3 & (Layout - 16));
}

__device__ __forceinline__ unsigned long long encode(unsigned bytes) { return (bytes & 0x3ffff) >> 4; }

template <int Layout>
__device__ __forceinline__ unsigned long long describe(unsigned start, int rows) {
    const unsigned long long mode = Layout == SWIZZLED_128 ? 1 : Layout == SWIZZLED_64 ? 2 : Layout == SWIZZLED_32 ? 3 : 0;
    return encode(start) | encode(Layout == PLAIN ? rows * 16 : 16) << 16 | encode(8 * Layout) << 32 | mode << 62;
}

// The first, second or third part of a number of binary32: 11, 11 and 2 bits, which TF32 has without rounding. They add up to the number.
__device__ __forceinline__ unsigned part_of(float value, int part) {
    for (int i = 0; i < part; ++i) value -= __uint_as_float(__float_as_uint(value) & 0xffffe000u);
    return __float_as_uint(value) & 0xffffe000u;
}

// A word of a row, and zeros where nothing is there: elements of 8 bits, the first in the lowest, or one of TF32.
template <int KIND>
__device__ __forceinline__ unsigned word(const amk_buffer_t& from, amk_i64 row, amk_i64 end, amk_i64 first, amk_i64 K, int part) {
    unsigned bits = 0;
    if (row >= end) return bits;
    for (int i = 0; i < kind_t<KIND>::PER_WORD; ++i) {
        const amk_i64 k = first + i;
        if (k >= K) break;
        if constexpr (KIND == TF32) bits = part_of(static_cast<const float*>(from.ptr)[row * K + k], part);
        else if constexpr (KIND < TF32) bits |= unsigned(static_cast<const amk_u8*>(from.ptr)[row * K + k]) << 8 * i;
        else bits |= (unsigned(int(static_cast<const float*>(from.ptr)[row * K + k])) & 0xffu) << 8 * i;
    }
    return bits;
}

template <int KIND, int Layout>
__device__ void lay(char* to, int rows, const amk_buffer_t& from, amk_i64 first, amk_i64 end, amk_i64 k0, amk_i64 K, int part, unsigned flipped) {
    for (int i = threadIdx.x; i < rows * (TILE_BYTES / 4); i += blockDim.x) {
        const int row = i / (TILE_BYTES / 4), at = i % (TILE_BYTES / 4);
        const unsigned bits = word<KIND>(from, first + row, end, k0 + at * kind_t<KIND>::PER_WORD, K, part);
        *reinterpret_cast<unsigned*>(to + place<Layout>(row, 4 * at, rows)) = bits ^ flipped;
    }
}

template <int KIND, int N>
__device__ void multiply_tiles(const amk_program_t& program, const amk_instruction_t& task) {
    typedef kind_t<KIND> kind;
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    const amk_i64 K = task.params.K, width = amk_last(y), per_tile = TILE_BYTES / 4 * kind::PER_WORD;
    const amk_i64 m_end = task.params.m_off + task.params.M_tile, n_end = task.params.n_off + task.params.N_tile;
    const int groups = min(int(blockDim.x) / GROUP, 2), rows = groups * GROUP_ROWS;
    const int group = threadIdx.x / GROUP, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const bool computes = group < groups;
    const unsigned scratch = unsigned(__cvta_generic_to_shared(amk_scratch())), a_at = (scratch + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const unsigned b_at = a_at + (V.in_registers ? 0 : rows * TILE_BYTES);
    char *a_room = reinterpret_cast<char*>(amk_scratch()) + (a_at - scratch), *b_room = a_room + (b_at - a_at);
    // Of three parts, the smallest products first; those below 2^-32 of the largest are left out.
    const int of_x[] = {2, 0, 1, 1, 0, 0}, of_w[] = {0, 2, 1, 0, 1, 0};
    for (amk_i64 m0 = task.params.m_off; m0 < m_end; m0 += rows) {
        for (amk_i64 n0 = task.params.n_off; n0 < n_end; n0 += N) {
            const amk_i64 first = m0 + group * GROUP_ROWS + warp * 16 + lane / 4;
            typename kind::sum d[N / 2];
            float sums[N / 2] = {};
            for (int i = 0; i < N / 2; ++i) d[i] = -1;
            for (amk_i64 k0 = 0; k0 < K; k0 += per_tile) {
                for (int pair = 0; pair < kind::PAIRS; ++pair) {
                    const int x_part = kind::PAIRS > 1 ? of_x[pair] : 0, w_part = kind::PAIRS > 1 ? of_w[pair] : 0;
                    if (!V.in_registers) lay<KIND, V.layout_a>(a_room, rows, x, m0, m_end, k0, K, x_part, 0);
                    lay<KIND, V.layout_b>(b_room, N, w, n0, n_end, k0, K, w_part, V.sign_b < 0 ? kind::SIGN_BITS : 0u);
                    asm volatile("fence.proxy.async;\n" ::: "memory");
                    __syncthreads();
                    if (computes) {
                        unsigned a[4][4] = {};
                        for (int i = 0; V.in_registers && i < 16; ++i) {
                            const amk_i64 k = k0 + (i / 4 * 8 + i / 2 % 2 * 4 + lane % 4) * kind::PER_WORD;
                            a[i / 4][i % 4] = word<KIND>(x, first + i % 2 * 8, m_end, k, K, x_part);
                        }
                        asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
#pragma unroll
                        for (int step = 0; step < TILE_BYTES / STEP_BYTES; ++step) {
                            // Integers add up to the end, floats only within a tile.
                            const int accumulate = step > 0 || (KIND > TF32 && k0 > 0);
                            const unsigned long long b = describe<V.layout_b>(b_at + place<V.layout_b>(0, step * STEP_BYTES, N), N);
                            if constexpr (V.in_registers) {
                                multiply<KIND, N>(d, a[step], b, accumulate);
                            } else {
                                const int mine = place<V.layout_a>(group * GROUP_ROWS, step * STEP_BYTES, rows);
                                multiply<KIND, N>(d, describe<V.layout_a>(a_at + mine, rows), b, accumulate);
                            }
                        }
                        asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
                        asm volatile("wgmma.wait_group.sync.aligned 0;\n" ::: "memory");
                        for (int i = 0; i < N / 2; ++i) sums[i] = KIND > TF32 ? float(d[i]) : sums[i] + float(d[i]);
                    }
                    __syncthreads();
                }
            }
            for (int i = 0; i < N / 2 && computes; ++i) {
                const amk_i64 m = first + i / 2 % 2 * 8, n = n0 + i / 4 * 8 + lane % 4 * 2 + i % 2;
                if (m >= m_end || n >= n_end) continue;
                const float sum = task.n_inputs > 2 ? sums[i] + amk_load(amk_input(program, task, 2), n) : sums[i];
                amk_store(y, m * width + n, sum);
            }
        }
    }
}

template <int KIND>
__device__ void multiply_columns(const amk_program_t& program, const amk_instruction_t& task) {
#ifdef WARPGROUP_COLUMNS
    multiply_tiles<KIND, WARPGROUP_COLUMNS>(program, task);
#else
    task.params.N_tile <= 8 ? multiply_tiles<KIND, 8>(program, task) : multiply_tiles<KIND, 48>(program, task);
#endif
}

// What all rows of a tile have in common, as bits: 1, no infinity and no NaN; 2, integers of 0 to 255; 4, integers of -128 to 127.
__device__ int common(const amk_buffer_t& buffer, amk_i64 first, amk_i64 count, amk_i64 K) {
    int found = 7;
    for (amk_i64 i = first * K + threadIdx.x; i < (first + count) * K; i += blockDim.x) {
        const float value = static_cast<const float*>(buffer.ptr)[i];
        const bool whole = value == truncf(value);
        if (!(fabsf(value) <= 3.4028235e38f)) found &= ~1;
        if (!(whole && value >= 0.0f && value <= 255.0f)) found &= ~2;
        if (!(whole && value >= -128.0f && value <= 127.0f)) found &= ~4;
    }
    return (__syncthreads_and(found & 1) ? 1 : 0) | (__syncthreads_and(found & 2) ? 2 : 0) | (__syncthreads_and(found & 4) ? 4 : 0);
}

__device__ void gemm_of_types(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1);
    const amk_params_t& p = task.params;
    const bool x_is_8 = x.dtype == AMK_DTYPE_F8E4M3 || x.dtype == AMK_DTYPE_F8E5M2, w_is_8 = w.dtype == AMK_DTYPE_F8E4M3 || w.dtype == AMK_DTYPE_F8E5M2;
    if (p.qdtype != 0 || blockDim.x < GROUP || p.K < 1) return amk_op_gemm_tile(program, task);
    if (x_is_8 && w_is_8) {
        if (x.dtype == AMK_DTYPE_F8E4M3) {
            w.dtype == AMK_DTYPE_F8E4M3 ? multiply_columns<E4M3_E4M3>(program, task) : multiply_columns<E4M3_E5M2>(program, task);
        } else {
            w.dtype == AMK_DTYPE_F8E4M3 ? multiply_columns<E5M2_E4M3>(program, task) : multiply_columns<E5M2_E5M2>(program, task);
        }
        return;
    }
    if (x.dtype != AMK_DTYPE_F32 || w.dtype != AMK_DTYPE_F32) return amk_op_gemm_tile(program, task);
    const int of_x = common(x, p.m_off, p.M_tile, p.K), of_w = common(w, p.n_off, p.N_tile, p.K);
    // So many products do not leave 32 bits.
    const bool integers = WARPGROUP_INTEGERS && (of_x & 6) && (of_w & 6) && p.K <= 32768;
    if (integers && (of_x & 4) && (of_w & 4)) multiply_columns<S8_S8>(program, task);
    else if (integers && (of_x & 4)) multiply_columns<S8_U8>(program, task);
    else if (integers && (of_w & 4)) multiply_columns<U8_S8>(program, task);
    else if (integers) multiply_columns<U8_U8>(program, task);
    // Parts of an infinity are no numbers.
    else if (of_x & of_w & 1) multiply_columns<TF32>(program, task);
    else amk_op_gemm_tile(program, task);
}

#define AMK_REPLACE_GEMM_TILE gemm_of_types

#endif
