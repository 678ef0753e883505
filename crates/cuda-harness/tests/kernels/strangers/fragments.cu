// GEMM_TILE of F16 and of BF16 by what ptx.cuh has in place of PTX: copies beside the threads, ldmatrix and mma.sync. A warp has 16 by 16
// elements of the output at a time.
#include "task.cuh"
#include "ptx.cuh"
#include "ops/gemm_tile.cuh"

template <int DTYPE>
__device__ void by_fragments(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    const amk_i64 K = task.params.K, width = amk_last(y), m_end = task.params.m_off + task.params.M_tile, n_end = task.params.n_off + task.params.N_tile;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = min(blockDim.x / 32, 2);
    if (warp >= warps) return;
    // 16 rows of 16 elements each: of x, then of the weight.
    amk_u8* room = reinterpret_cast<amk_u8*>(amk_scratch()) + 1024 * warp;
    const amk_i64 across = (task.params.N_tile + 15) / 16, tiles = (task.params.M_tile + 15) / 16 * across;
    for (amk_i64 tile = warp; tile < tiles; tile += warps) {
        const amk_i64 m0 = task.params.m_off + tile / across * 16, n0 = task.params.n_off + tile % across * 16;
        float sums[2][4] = {};
        for (amk_i64 k0 = 0; k0 < K; k0 += 16) {
            const auto stage = [&](amk_u8* to, const amk_buffer_t& from, amk_i64 first, amk_i64 end) {
                const amk_i64 row = first + lane / 2, k = k0 + lane % 2 * 8;
                const bool there = row < end && k < K;
                amk_copy_begin(to + 16 * lane, static_cast<const amk_u8*>(from.ptr) + (there ? 2 * (row * K + k) : 0), there);
            };
            stage(room, x, m0, m_end);
            stage(room + 512, w, n0, n_end);
            amk_copy_commit();
            // All but the last group, which is empty.
            amk_copy_commit();
            amk_copy_wait();
            __syncwarp();
            amk_u32 a[4], b[4];
            amk_load_matrices(a, room + lane % 16 * 32 + lane / 16 * 16);
            amk_load_matrices(b, room + 512 + (lane / 16 * 8 + lane % 8) * 32 + lane / 8 % 2 * 16);
            amk_multiply_fragments<DTYPE>(sums[0], a, b);
            amk_multiply_fragments<DTYPE>(sums[1], a, b + 2);
            __syncwarp();
        }
        for (int i = 0; i < 8; ++i) {
            const amk_i64 m = m0 + lane / 4 + i / 2 % 2 * 8, n = n0 + i / 4 * 8 + lane % 4 * 2 + i % 2;
            if (m < m_end && n < n_end) amk_store(y, m * width + n, sums[i / 4][i % 4] + (task.n_inputs > 2 ? amk_load(amk_input(program, task, 2), n) : 0.0f));
        }
    }
}

__device__ void gemm_by_fragments(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1);
    const bool fits = task.params.qdtype == 0 && x.dtype == w.dtype && task.params.K % 8 == 0
        && (reinterpret_cast<unsigned long long>(x.ptr) | reinterpret_cast<unsigned long long>(w.ptr)) % 16 == 0;
    if (fits && x.dtype == AMK_DTYPE_F16) {
        by_fragments<AMK_DTYPE_F16>(program, task);
    } else if (fits && x.dtype == AMK_DTYPE_BF16) {
        by_fragments<AMK_DTYPE_BF16>(program, task);
    } else {
        amk_op_gemm_tile(program, task);
    }
}

#define AMK_REPLACE_GEMM_TILE gemm_by_fragments
