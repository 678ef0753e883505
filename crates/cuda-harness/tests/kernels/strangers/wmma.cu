// GEMM_TILE of F16 and of BF16 by nvcuda::wmma, a tile of the output to each of up to two warps.
#include <mma.h>

#include "task.cuh"
#include "ops/gemm_tile.cuh"

template <typename T, int M, int N>
__device__ void by_tiles(const amk_program_t& program, const amk_instruction_t& task) {
    using namespace nvcuda;
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    const amk_i64 K = task.params.K, width = amk_last(y), m_end = task.params.m_off + task.params.M_tile, n_end = task.params.n_off + task.params.N_tile;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = min(blockDim.x / 32, 2);
    if (warp >= warps) return;
    // Operands, and then the sums in their place.
    const unsigned long long room = (reinterpret_cast<unsigned long long>(amk_scratch()) + 31) / 32 * 32 + warp * 1280;
    T *a = reinterpret_cast<T*>(room), *b = a + M * 16;
    float* sums = reinterpret_cast<float*>(room);
    const amk_i64 across = (task.params.N_tile + N - 1) / N, tiles = (task.params.M_tile + M - 1) / M * across;
    for (amk_i64 tile = warp; tile < tiles; tile += warps) {
        const amk_i64 m0 = task.params.m_off + tile / across * M, n0 = task.params.n_off + tile % across * N;
        wmma::fragment<wmma::accumulator, M, N, 16, float> sum;
        wmma::fill_fragment(sum, 0.0f);
        for (amk_i64 k0 = 0; k0 < K; k0 += 16) {
            const auto stage = [&](T* to, const amk_buffer_t& from, amk_i64 first, int rows, amk_i64 end) {
                for (int i = lane; i < rows * 16; i += 32) {
                    const amk_i64 row = first + i / 16, k = k0 + i % 16;
                    to[i] = row < end && k < K ? static_cast<const T*>(from.ptr)[row * K + k] : T(0.0f);
                }
            };
            stage(a, x, m0, M, m_end);
            stage(b, w, n0, N, n_end);
            __syncwarp();
            wmma::fragment<wmma::matrix_a, M, N, 16, T, wmma::row_major> left;
            wmma::fragment<wmma::matrix_b, M, N, 16, T, wmma::col_major> right;
            wmma::load_matrix_sync(left, a, 16);
            wmma::load_matrix_sync(right, b, 16);
            wmma::mma_sync(sum, left, right, sum);
            __syncwarp();
        }
        wmma::fragment<wmma::accumulator, M, N, 16, float> turned;
        for (int e = 0; e < sum.num_elements; ++e) turned.x[e] = sum.x[e];
        wmma::store_matrix_sync(sums, turned, N, wmma::mem_row_major);
        __syncwarp();
        for (int i = lane; i < M * N; i += 32) {
            const amk_i64 m = m0 + i / N, n = n0 + i % N;
            if (m < m_end && n < n_end) amk_store(y, m * width + n, sums[i] + (task.n_inputs > 2 ? amk_load(amk_input(program, task, 2), n) : 0.0f));
        }
        __syncwarp();
    }
}

__device__ void gemm_by_wmma(const amk_program_t& program, const amk_instruction_t& task) {
    const int dtype = amk_input(program, task, 0).dtype, stored = amk_output(program, task, 0).dtype;
    if (task.params.qdtype != 0 || dtype != amk_input(program, task, 1).dtype) {
        amk_op_gemm_tile(program, task);
    } else if (dtype == AMK_DTYPE_F16) {
        stored == AMK_DTYPE_F32 ? by_tiles<half, 16, 16>(program, task) : by_tiles<half, 32, 8>(program, task);
    } else if (dtype == AMK_DTYPE_BF16) {
        stored == AMK_DTYPE_F32 ? by_tiles<__nv_bfloat16, 16, 16>(program, task) : by_tiles<__nv_bfloat16, 8, 32>(program, task);
    } else {
        amk_op_gemm_tile(program, task);
    }
}

#define AMK_REPLACE_GEMM_TILE gemm_by_wmma
