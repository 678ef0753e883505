// Signal and wait with the atomic words of libcu++, and ADD by CUDA's primitives of pipelines.
#include <cuda/atomic>
#include <cuda_pipeline.h>

#include "task.cuh"

using word = cuda::atomic_ref<amk_u32, cuda::thread_scope_device>;

__device__ bool wait_by_word(const amk_program_t& program, const amk_instruction_t& task) {
    if (threadIdx.x == 0) {
        for (int w = 0; w < task.n_waits; ++w) {
            const word counter(program.counters[task.wait_counter[w]]);
            while (counter.load(cuda::memory_order_acquire) < amk_u32(task.wait_threshold[w])) __nanosleep(64);
        }
    }
    __syncthreads();
    return true;
}

__device__ void signal_by_word(const amk_program_t& program, const amk_instruction_t& task) {
    __syncthreads();
    if (threadIdx.x == 0) word(program.counters[task.out_counter]).fetch_add(1, cuda::memory_order_release);
    __syncthreads();
}

#define AMK_REPLACE_WAIT wait_by_word
#define AMK_REPLACE_SIGNAL signal_by_word

// A thread copies the number that it needs next while it adds one.
__device__ void add_by_pipeline(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &a = amk_input(program, task, 0), &b = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    __shared__ float parts[2][32 * 32];
    // Threads of the block draw their numbers from a word of its own.
    __shared__ cuda::atomic<unsigned, cuda::thread_scope_block> drawn;
    if (threadIdx.x == 0) drawn.store(0, cuda::memory_order_relaxed);
    __syncthreads();
    const bool is_words = b.dtype == AMK_DTYPE_F32;
    const int thread = drawn.fetch_add(1, cuda::std::memory_order_relaxed), threads = blockDim.x;
    const auto begin = [&](amk_i64 i) {
        const bool there = i < y.numel;
        const float* const from = static_cast<const float*>(b.ptr) + (there ? i : 0);
        if (is_words) __pipeline_memcpy_async(&parts[i / threads % 2][thread], from, sizeof(float), there ? 0 : sizeof(float));
        __pipeline_commit();
    };
    begin(thread);
    for (amk_i64 i = thread; i < y.numel; i += threads) {
        begin(i + threads);
        __pipeline_wait_prior(1);
        const float other = is_words ? parts[i / threads % 2][thread] : amk_load(b, i);
        amk_store(y, i, amk_load(a, i) + other);
    }
    __pipeline_wait_prior(0);
}
#define AMK_REPLACE_ADD add_by_pipeline
