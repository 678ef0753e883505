// With cooperative groups: RMSNORM by tiles of a warp, ADD by copies beside the threads; and what groups give.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "task.cuh"

namespace cg = cooperative_groups;

// Eight lanes have a row.
__device__ void rmsnorm_by_tiles(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    const amk_i64 hidden = task.params.hidden;
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    for (amk_i64 row = tile.meta_group_rank(); row < x.numel / hidden; row += tile.meta_group_size()) {
        float sum = 0.0f;
        for (amk_i64 i = tile.thread_rank(); i < hidden; i += tile.num_threads()) {
            sum = fmaf(amk_load(x, row * hidden + i), amk_load(x, row * hidden + i), sum);
        }
        sum = cg::reduce(tile, sum, cg::plus<float>());
        const float inverse = 1.0f / sqrtf(sum / float(hidden) + task.params.eps);
        for (amk_i64 i = tile.thread_rank(); i < hidden; i += tile.num_threads()) {
            amk_store(y, row * hidden + i, amk_load(x, row * hidden + i) * inverse * amk_load(w, i));
        }
    }
}
#define AMK_REPLACE_RMSNORM rmsnorm_by_tiles

// The second operand comes by copies of whole words, where it is of words.
__device__ void add_by_copies(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &a = amk_input(program, task, 0), &b = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    const cg::thread_block block = cg::this_thread_block();
    __shared__ __align__(16) float parts[2][128];
    const bool is_words = b.dtype == AMK_DTYPE_F32;
    const float* const from = static_cast<const float*>(b.ptr);
    const auto begin = [&](amk_i64 first) {
        const amk_i64 n = y.numel - first < 128 ? y.numel - first : 128;
        if (is_words && n > 0) cg::memcpy_async(block, parts[first / 128 % 2], from + first, n * sizeof(float));
    };
    begin(0);
    for (amk_i64 first = 0; first < y.numel; first += 128) {
        begin(first + 128);
        if (first + 128 < y.numel) cg::wait_prior<1>(block); else cg::wait(block);
        for (amk_i64 i = block.thread_rank(); i < 128 && first + i < y.numel; i += block.size()) {
            const float other = is_words ? parts[first / 128 % 2][i] : amk_load(b, first + i);
            amk_store(y, first + i, amk_load(a, first + i) + other);
        }
        block.sync();
    }
}
#define AMK_REPLACE_ADD add_by_copies

// What groups give, lane by lane: as COPY of I32, from 32 elements to 32 for each function.
__device__ void functions_of_groups(const amk_program_t& program, const amk_instruction_t& task) {
    const int* x = static_cast<const int*>(amk_input(program, task, 0).ptr);
    int* y = static_cast<int*>(amk_output(program, task, 0).ptr);
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_block_tile<32, cg::thread_block> warp = cg::tiled_partition<32>(block);
    const cg::thread_block_tile<8> eight = cg::tiled_partition<8>(block);
    const auto two = cg::tiled_partition<2>(eight);
    const cg::coalesced_group together = cg::coalesced_threads();
    if (warp.meta_group_rank() > 0) return;
    const int lane = int(warp.thread_rank()), v = x[lane];
    const auto put = [&](int value) {
        y[lane] = value;
        y += 32;
    };
    put(eight.shfl(v, 11));
    put(eight.shfl_up(v, 3));
    put(eight.shfl_down(v, 3));
    put(eight.shfl_xor(v, 5));
    put(eight.any(lane == 9));
    put(eight.all(lane != 9));
    put(int(eight.ballot(v & 1)));
    put(int(eight.match_any(v & 1)));
    int same = 0;
    put(int(eight.match_all(lane < 8 ? 5 : v, same)));
    put(same);
    put(cg::reduce(eight, v, cg::plus<int>()));
    put(cg::reduce(eight, v, cg::less<int>()));
    put(cg::reduce(eight, v, cg::greater<int>()));
    put(cg::reduce(eight, v, cg::bit_xor<int>()));
    put(cg::inclusive_scan(eight, v));
    put(cg::exclusive_scan(eight, v & 255, cg::plus<int>()));
    put(int(1000 * eight.thread_rank() + 100 * eight.meta_group_rank() + 10 * eight.size() + two.meta_group_rank()));
    put(two.shfl_xor(v, 1));
    put(int(two.meta_group_size() * 10 + two.thread_rank()));
    put(together.shfl(v, together.thread_rank()));
    put(int(together.num_threads() > 0 && together.thread_rank() < together.num_threads()));
    put(int(block.thread_index().x + block.dim_threads().y * 100 + block.group_index().z));
    warp.sync();
}
#define AMK_REPLACE_COPY functions_of_groups
