// GEMM_TILE of F16 and of BF16 on matrix units, in the way of Ampere: three stages of cp.async, ldmatrix and mma.sync. A warp has 16 rows by 32
// columns. Where K is no multiple of 8, or a row does not lie at one of 16 bytes, elements come one at a time, and the weight is laid down
// transposed.
#include "task.cuh"
#include "ops/gemm_tile.cuh"

#define STAGES 3
#define TILE_N 32
#define TILE_K 32
// A row of a tile, with 16 bytes more, so that eight rows have banks of their own.
#define PITCH 80
#define WEIGHT_AT (64 * PITCH)
#define STAGE_BYTES (WEIGHT_AT + 32 * PITCH)
static_assert(AMK_CONTROL_BYTES + STAGES * STAGE_BYTES <= 48 * 1024, "shared memory that a block always has");

// 16 bytes, or zeros where nothing is there.
__device__ __forceinline__ void copy_async(unsigned to, const void* from, bool is_there) {
    const int bytes = is_there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2, %3;\n" : : "r"(to), "l"(from), "n"(16), "r"(bytes) : "memory");
}

__device__ __forceinline__ void commit_group() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }

template <int Pending>
__device__ __forceinline__ void wait_group() { asm volatile("cp.async.wait_group %0;\n" ::"n"(Pending) : "memory"); }

__device__ __forceinline__ void load_matrices(unsigned (&words)[4], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "r"(row) : "memory");
}

__device__ __forceinline__ void load_transposed(unsigned (&words)[4], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "r"(row) : "memory");
}

template <int DTYPE>
__device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    if constexpr (DTYPE == AMK_DTYPE_F16) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{%0,  %1,  %2,  %3},"
                     "{%4,  %5,  %6,  %7},"
                     "{%8,  %9},"
                     "{%0,  %1,  %2,  %3};\n"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    } else {
        asm volatile(R"(
            mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
                {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};
            )"
                     : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(d[0]), "f"(d[1]), "f"(d[2]), "f"(d[3]));
    }
}

// Two numbers, the first in the lower half.
template <int DTYPE>
__device__ __forceinline__ unsigned pack(float low, float high) {
    unsigned pair;
    if constexpr (DTYPE == AMK_DTYPE_F16) asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    else asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

// Transposed: the weight of a stage has a row for each k.
template <int DTYPE, bool Transposed>
__device__ void multiply_tiles(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    const unsigned short *rows = static_cast<const unsigned short*>(x.ptr), *weights = static_cast<const unsigned short*>(w.ptr);
    const amk_i64 K = task.params.K, width = amk_last(y);
    const amk_i64 m_end = task.params.m_off + task.params.M_tile, n_end = task.params.n_off + task.params.N_tile;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, steps = (K + TILE_K - 1) / TILE_K;
    // More warps than four only load.
    const int computing = min(int(blockDim.x) / 32, 4), tile_m = 16 * computing;
    const unsigned room = unsigned(__cvta_generic_to_shared(amk_scratch()));
    // One matrix of a stage; nothing is read behind its last row, nor behind K.
    const auto load_rows = [&](unsigned to, const unsigned short* from, amk_i64 first, amk_i64 end, int count, amk_i64 k0, bool across) {
        for (int i = threadIdx.x; !Transposed && i < count * 4; i += blockDim.x) {
            const amk_i64 row = first + i / 4, k = k0 + i % 4 * 8;
            const bool is_there = row < end && k < K;
            copy_async(to + i / 4 * PITCH + i % 4 * 16, from + (is_there ? row * K + k : 0), is_there);
        }
        for (int i = threadIdx.x; Transposed && i < count * TILE_K; i += blockDim.x) {
            const amk_i64 row = first + i / TILE_K, k = k0 + i % TILE_K;
            unsigned short element = 0;
            if (row < end && k < K) asm volatile("ld.global.b16 %0, [%1];" : "=h"(element) : "l"(from + row * K + k) : "memory");
            const int place = across ? i % TILE_K * PITCH + i / TILE_K * 2 : i / TILE_K * PITCH + i % TILE_K * 2;
            asm volatile("st.shared.b16 [%0], %1;" : : "r"(to + place), "h"(element) : "memory");
        }
    };
    for (amk_i64 m0 = task.params.m_off; m0 < m_end; m0 += tile_m) {
        for (amk_i64 n0 = task.params.n_off; n0 < n_end; n0 += TILE_N) {
            float sums[TILE_N / 8][4] = {};
            const auto load_stage = [&](int step) {
                const unsigned stage = room + step % STAGES * STAGE_BYTES;
                if (step < steps) {
                    load_rows(stage, rows, m0, m_end, tile_m, amk_i64(step) * TILE_K, false);
                    load_rows(stage + WEIGHT_AT, weights, n0, n_end, TILE_N, amk_i64(step) * TILE_K, true);
                }
                // An empty one, too, so that a number of groups is a number of stages.
                commit_group();
            };
            for (int step = 0; step < STAGES - 1; ++step) load_stage(step);
            for (int step = 0; step < steps; ++step) {
                // All but the last group of each thread are there; behind the barrier those of all, and nobody reads the stage before this one.
                wait_group<STAGES - 2>();
                asm __volatile__("bar.sync 0;" ::: "memory");
                load_stage(step + STAGES - 1);
                if (warp >= computing) continue;
                const unsigned stage = room + step % STAGES * STAGE_BYTES, mine = stage + 16 * warp * PITCH, weight = stage + WEIGHT_AT;
#pragma unroll
                for (int k = 0; k < TILE_K; k += 16) {
                    unsigned a[4], b[4];
                    load_matrices(a, mine + lane % 16 * PITCH + (k + lane / 16 * 8) * 2);
#pragma unroll
                    for (int n = 0; n < TILE_N; n += 16) {
                        if (Transposed) {
                            load_transposed(b, weight + (k + lane % 16) * PITCH + (n + lane / 16 * 8) * 2);
                        } else {
                            load_matrices(b, weight + (n + lane / 16 * 8 + lane % 8) * PITCH + (k + lane / 8 % 2 * 8) * 2);
                        }
                        multiply<DTYPE>(sums[n / 8], a, b[0], b[1]);
                        multiply<DTYPE>(sums[n / 8 + 1], a, b[2], b[3]);
                    }
                }
            }
            // The next tile begins in the stages of this one.
            wait_group<0>();
            __syncthreads();
            for (int part = 0; part < TILE_N / 8 * 2 && warp < computing; ++part) {
                const amk_i64 m = m0 + 16 * warp + lane / 4 + part % 2 * 8, n = n0 + part / 2 * 8 + lane % 4 * 2;
                if (m >= m_end || n >= n_end) continue;
                float low = sums[part / 2][part % 2 * 2], high = sums[part / 2][part % 2 * 2 + 1];
                const bool is_pair = n + 1 < n_end;
                if (task.n_inputs > 2) {
                    low += amk_load(amk_input(program, task, 2), n);
                    if (is_pair) high += amk_load(amk_input(program, task, 2), n + 1);
                }
                unsigned short* to = static_cast<unsigned short*>(y.ptr) + m * width + n;
                if (is_pair && y.dtype == DTYPE && reinterpret_cast<unsigned long long>(to) % 4 == 0) {
                    asm volatile("st.global.b32 [%0], %1;" : : "l"(to), "r"(pack<DTYPE>(low, high)) : "memory");
                } else {
                    amk_store(y, m * width + n, low);
                    if (is_pair) amk_store(y, m * width + n + 1, high);
                }
            }
        }
    }
}

__device__ void gemm_by_stages(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1);
    const unsigned long long places = reinterpret_cast<unsigned long long>(x.ptr) | reinterpret_cast<unsigned long long>(w.ptr);
    const bool in_chunks = task.params.K % 8 == 0 && places % 16 == 0;
    if (task.params.qdtype != 0 || x.dtype != w.dtype || (x.dtype != AMK_DTYPE_F16 && x.dtype != AMK_DTYPE_BF16)) {
        amk_op_gemm_tile(program, task);
    } else if (x.dtype == AMK_DTYPE_F16) {
        in_chunks ? multiply_tiles<AMK_DTYPE_F16, false>(program, task) : multiply_tiles<AMK_DTYPE_F16, true>(program, task);
    } else {
        in_chunks ? multiply_tiles<AMK_DTYPE_BF16, false>(program, task) : multiply_tiles<AMK_DTYPE_BF16, true>(program, task);
    }
}

#define AMK_REPLACE_GEMM_TILE gemm_by_stages
