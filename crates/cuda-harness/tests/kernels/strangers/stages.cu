// MUL and COPY with a pipeline that each thread has for itself, SILU_MUL with one of the block, and RMSNORM with one in which a warp brings what the
// others work on.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "task.cuh"
#include "ops/copy.cuh"
#include "ops/mul.cuh"

// Barriers have a constructor, which shared memory does not run: `init` and `make_pipeline` do.
#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;

__device__ __forceinline__ bool lies_at(const void* place, int multiple) { return reinterpret_cast<unsigned long long>(place) % multiple == 0; }

// Threads that have words of their own in shared memory; of a larger block the others have nothing to do.
#define MUL_THREADS 128
#define MUL_STAGES 3

// Words of four bytes, of which a thread multiplies what came for itself alone.
__device__ void mul_by_stages(const amk_program_t& program, const amk_instruction_t& task) {
    const bool two = task.n_inputs > 1;
    const amk_buffer_t &a = amk_input(program, task, 0), &b = amk_input(program, task, two ? 1 : 0), &y = amk_output(program, task, 0);
    if (a.dtype != b.dtype || !lies_at(a.ptr, 4) || !lies_at(b.ptr, 4)) {
        amk_op_mul(program, task);
        return;
    }
    __shared__ unsigned words[MUL_STAGES][2][MUL_THREADS];
    const amk_i64 per_word = 32 / amk_dtype_bits(a.dtype), whole = y.numel / per_word;
    const int threads = blockDim.x < MUL_THREADS ? blockDim.x : MUL_THREADS, own = threadIdx.x;
    const unsigned *const left = static_cast<const unsigned*>(a.ptr), *const right = static_cast<const unsigned*>(b.ptr);
    if (own < threads) {
        cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
        const auto begin = [&](amk_i64 turn) {
            const amk_i64 word = turn * threads + own;
            unsigned (&stage)[2][MUL_THREADS] = words[turn % MUL_STAGES];
            pipe.producer_acquire();
            if (word < whole) {
                cuda::memcpy_async(&stage[0][own], left + word, sizeof(unsigned), pipe);
                if (two) cuda::memcpy_async(&stage[1][own], right + word, sizeof(unsigned), pipe);
            }
            // A stage without a copy counts as well, so that there are always as many behind the one that is waited for.
            pipe.producer_commit();
        };
        for (int turn = 0; turn < MUL_STAGES - 1; ++turn) begin(turn);
        for (amk_i64 turn = 0; turn * threads + own < whole; ++turn) {
            begin(turn + MUL_STAGES - 1);
            cuda::pipeline_consumer_wait_prior<MUL_STAGES - 1>(pipe);
            amk_buffer_t one = a, other = b;
            one.ptr = &words[turn % MUL_STAGES][0][own];
            other.ptr = &words[turn % MUL_STAGES][1][own];
            for (amk_i64 e = 0; e < per_word; ++e) {
                amk_store(y, (turn * threads + own) * per_word + e, amk_load(one, e) * (two ? amk_load(other, e) : task.params.scale));
            }
            pipe.consumer_release();
        }
    }
    for (amk_i64 i = whole * per_word + threadIdx.x; i < y.numel; i += blockDim.x) {
        amk_store(y, i, amk_load(a, i) * (two ? amk_load(b, i) : task.params.scale));
    }
}
#define AMK_REPLACE_MUL mul_by_stages

#define COPY_THREADS 64
#define COPY_STAGES 3

// Chunks of 16 bytes, of which as many are under way as there are stages: the oldest one is waited for.
__device__ void copy_by_stages(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &y = amk_output(program, task, 0);
    const bool converts = x.dtype != y.dtype;
    if (!lies_at(x.ptr, 16) || !lies_at(y.ptr, 16)) {
        amk_op_copy(program, task);
        return;
    }
    __shared__ amk_chunk chunks[COPY_STAGES][COPY_THREADS];
    const amk_i64 bytes = (x.numel * amk_dtype_bits(x.dtype) + 7) / 8, whole = bytes / 16, per_chunk = 128 / amk_dtype_bits(x.dtype);
    const amk_chunk* const from = static_cast<const amk_chunk*>(x.ptr);
    unsigned char* const to = static_cast<unsigned char*>(y.ptr);
    const int threads = blockDim.x < COPY_THREADS ? blockDim.x : COPY_THREADS, own = threadIdx.x;
    if (own < threads) {
        auto chunk_pipe = cuda::make_pipeline();
        amk_i64 begun = own;
        for (amk_i64 chunk = own; chunk < whole; chunk += threads) {
            for (; begun < whole && begun < chunk + COPY_STAGES * threads; begun += threads) {
                chunk_pipe.producer_acquire();
                amk_chunk* const there = &chunks[begun / threads % COPY_STAGES][own];
                cuda::memcpy_async(there, from + begun, cuda::aligned_size_t<16>(sizeof(amk_chunk)), chunk_pipe);
                chunk_pipe.producer_commit();
            }
            chunk_pipe.consumer_wait();
            amk_chunk& here = chunks[chunk / threads % COPY_STAGES][own];
            if (converts) {
                amk_buffer_t staged = x;
                staged.ptr = &here;
                for (amk_i64 e = 0; e < per_chunk; ++e) amk_store(y, chunk * per_chunk + e, amk_load(staged, e));
            } else {
                amk_store_chunk(to + 16 * chunk, here);
            }
            chunk_pipe.consumer_release();
        }
    }
    if (converts) {
        for (amk_i64 i = whole * per_chunk + threadIdx.x; i < x.numel; i += blockDim.x) amk_store(y, i, amk_load(x, i));
    } else {
        for (amk_i64 i = 16 * whole + threadIdx.x; i < bytes; i += blockDim.x) to[i] = static_cast<const unsigned char*>(x.ptr)[i];
    }
}
#define AMK_REPLACE_COPY copy_by_stages

#define SILU_STAGES 3
#define SILU_ELEMENTS 128

// All threads bring a tile, and all of them compute one that came before.
__device__ void silu_mul_by_stages(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &gate = amk_input(program, task, 0), &up = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, SILU_STAGES> state;
    alignas(16) __shared__ unsigned char gates[SILU_STAGES][4 * SILU_ELEMENTS], ups[SILU_STAGES][4 * SILU_ELEMENTS];
    const auto block = cg::this_thread_block();
    auto tile_pipe = cuda::make_pipeline(block, &state);
    const amk_i64 tiles = (y.numel + SILU_ELEMENTS - 1) / SILU_ELEMENTS;
    const auto count_of = [&](amk_i64 tile) {
        const amk_i64 rest = y.numel - tile * SILU_ELEMENTS;
        return rest < SILU_ELEMENTS ? rest : amk_i64(SILU_ELEMENTS);
    };
    const auto bring = [&](unsigned char* to, const amk_buffer_t& buffer, amk_i64 tile) {
        const int size = amk_dtype_bits(buffer.dtype) / 8;
        const unsigned char* const from = static_cast<const unsigned char*>(buffer.ptr) + tile * SILU_ELEMENTS * size;
        const size_t bytes = count_of(tile) * size;
        if (lies_at(from, 16) && bytes % 16 == 0) {
            cuda::memcpy_async(block, to, from, cuda::aligned_size_t<16>(bytes), tile_pipe);
        } else if (buffer.dtype == AMK_DTYPE_F32) {
            for (size_t i = 4 * block.thread_rank(); i < bytes; i += 4 * block.size()) {
                cuda::memcpy_async(reinterpret_cast<float*>(to + i), reinterpret_cast<const float*>(from + i), sizeof(float), tile_pipe);
            }
        } else {
            cuda::memcpy_async(block, to, from, bytes, tile_pipe);
        }
    };
    const auto compute = [&](amk_i64 tile) {
        amk_buffer_t left = gate, right = up;
        left.ptr = gates[tile % SILU_STAGES];
        right.ptr = ups[tile % SILU_STAGES];
        // A thread has numbers that another one brought.
        for (amk_i64 i = blockDim.x - 1 - threadIdx.x; i < count_of(tile); i += blockDim.x) {
            const float g = amk_load(left, i);
            amk_store(y, tile * SILU_ELEMENTS + i, g / (1.0f + expf(-g)) * amk_load(right, i));
        }
    };
    amk_i64 begun = 0;
    for (amk_i64 tile = 0; tile < tiles; ++tile) {
        for (; begun < tiles && begun < tile + SILU_STAGES; ++begun) {
            tile_pipe.producer_acquire();
            bring(gates[begun % SILU_STAGES], gate, begun);
            bring(ups[begun % SILU_STAGES], up, begun);
            tile_pipe.producer_commit();
        }
        tile_pipe.consumer_wait();
        compute(tile); tile_pipe.consumer_release();
    }
    tile_pipe.quit();
}
#define AMK_REPLACE_SILU_MUL silu_mul_by_stages

#define ROW_STAGES 3
#define ROW_BYTES 512

// The last warp brings each row twice, tile by tile: once for its sum, once for its results. A warp that is alone has both roles.
__device__ void rmsnorm_by_stages(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, ROW_STAGES> state;
    __shared__ cuda::barrier<cuda::thread_scope_block> summed;
    alignas(16) __shared__ unsigned char stages[ROW_STAGES][ROW_BYTES];
    __shared__ float sums[2][32];
    const auto block = cg::this_thread_block();
    const auto lanes = cg::tiled_partition<32>(block);
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32, consumers = warps > 1 ? warps - 1 : 1;
    const bool brings = warp == warps - 1;
    const int size = amk_dtype_bits(x.dtype) / 8;
    const amk_i64 hidden = task.params.hidden, rows = x.numel / hidden, per_tile = ROW_BYTES / size, tiles = (hidden + per_tile - 1) / per_tile;
    const amk_i64 visits = 2 * rows * tiles;
    if (block.thread_rank() == 0) init(&summed, 32 * consumers);
    block.sync();
    auto row_pipe = warps > 1 ? cuda::make_pipeline(block, &state, brings ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer)
                              : cuda::make_pipeline(block, &state);
    const auto count_of = [&](amk_i64 tile) { return hidden - tile * per_tile < per_tile ? hidden - tile * per_tile : per_tile; };
    const auto bring = [&](amk_i64 visit) {
        const amk_i64 row = visit / (2 * tiles), tile = visit % tiles;
        unsigned char* const to = stages[visit % ROW_STAGES];
        const unsigned char* const from = static_cast<const unsigned char*>(x.ptr) + (row * hidden + tile * per_tile) * size;
        const size_t bytes = count_of(tile) * size;
        row_pipe.producer_acquire();
        if (bytes % 16 == 0 && lies_at(from, 16)) {
            cuda::memcpy_async(lanes, to, from, cuda::aligned_size_t<16>(bytes), row_pipe);
        } else {
            cuda::memcpy_async(lanes, to, from, bytes, row_pipe);
        }
        row_pipe.producer_commit();
    };
    if (warp < consumers) {
        amk_i64 begun = 0, visit = 0;
        // Runs `use` over the elements of this thread, in the next tile of a row.
        const auto visit_tile = [&](amk_i64 tile, auto use) {
            for (; brings && begun < visits && begun < visit + ROW_STAGES; ++begun) bring(begun);
            row_pipe.consumer_wait();
            amk_buffer_t staged = x;
            staged.ptr = stages[visit % ROW_STAGES];
            for (amk_i64 i = threadIdx.x; i < count_of(tile); i += 32 * consumers) use(tile * per_tile + i, amk_load(staged, i));
            row_pipe.consumer_release();
            ++visit;
        };
        for (amk_i64 row = 0; row < rows; ++row) {
            float sum = 0.0f;
            for (amk_i64 tile = 0; tile < tiles; ++tile) visit_tile(tile, [&](amk_i64, float value) { sum += value * value; });
            sum = amk_warp_sum(sum);
            if (lanes.thread_rank() == 0) sums[row % 2][warp] = sum;
            // Consumers alone: the producer is rows ahead.
            summed.arrive_and_wait();
            sum = 0.0f;
            for (int other = 0; other < consumers; ++other) sum += sums[row % 2][other];
            const float inverse = 1.0f / sqrtf(sum / float(hidden) + task.params.eps);
            for (amk_i64 tile = 0; tile < tiles; ++tile) {
                visit_tile(tile, [&](amk_i64 i, float value) { amk_store(y, row * hidden + i, value * inverse * amk_load(w, i)); });
            }
        }
    } else {
        for (amk_i64 visit = 0; visit < visits; ++visit) bring(visit);
    }
    block.sync();
    if (block.thread_rank() == 0) summed.~barrier();
}
#define AMK_REPLACE_RMSNORM rmsnorm_by_stages
