// Faults that only a mode of the harness shows. The variable AMK_FAULT of the environment names the one that COPY or wait and signal
// have, so that each mode compiles this once; `checks/modes.py` says which mode finds which.
#include <cstdlib>
#include <cstring>

AMK_DEVICE bool has(const char* fault) {
    const char* named = std::getenv("AMK_FAULT");
    return named != nullptr && std::strcmp(named, fault) == 0;
}

AMK_DEVICE void amk_op_copy(const amk_program_t& program, const amk_instruction_t& task);

AMK_DEVICE void faulty_copy(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &y = amk_output(program, task, 0);
    const int t = amk_thread(), threads = amk_threads(), lane = t % AMK_WARP;
    float* scratch = amk_scratch();
    const amk_i64 n = y.numel;
    // From one thread to another by way of shared memory.
    const auto pass = [&](int partner, bool meets) {
        for (amk_i64 first = 0; first < n; first += threads) {
            scratch[t] = first + t < n ? amk_load(x, first + t) : 0.0f;
            if (meets) __syncthreads();
            if (first + partner < n) amk_store(y, first + partner, scratch[partner]);
            __syncthreads();
        }
    };
    if (has("barrier-missing")) return pass((t + AMK_WARP) % threads, false);
    if (has("warp-barrier-missing")) return pass(t ^ 1, false);
    if (has("two-writers")) return amk_each(n, [&](amk_i64 i) { amk_store(y, i, amk_load(x, i)); amk_store(y, 0, amk_load(x, 0)); });
    if (has("past-shared-memory")) amk_shared()[AMK_SHARED_BYTES(threads) + t] = 1;
    if (has("past-the-buffer")) {
        const float behind = amk_load(x, x.numel);
        if (behind != behind && t == 0) scratch[0] = behind;
    }
    if (has("unaligned-load")) (void)amk_load_chunk(static_cast<const amk_u8*>(x.ptr) + 4);
    if (has("mask-too-small")) (void)__shfl_sync(0x0000ffffu, 1, 0);
    if (has("lanes-missing") && lane < 16) (void)__shfl_sync(0xffffffffu, 1, 0);
    if (has("shared-memory-assumed-zero")) {
        for (amk_i64 i = t; i < n; i += threads) amk_store(y, i, (i < threads ? scratch[t] : 0.0f) + amk_load(x, i));
        return;
    }
    if (has("output-assumed-zero")) return amk_each(n, [&](amk_i64 i) { amk_store(y, i, amk_load(y, i) + amk_load(x, i)); });
    if (has("outside-the-footprint")) {
        const amk_buffer_t& other = program.buffers[(task.outputs[0] + 1) % program.n_buffers];
        if (t == 0) static_cast<amk_u8*>(other.ptr)[0] ^= 1;
    }
    if (has("block-size-assumed")) {
        for (amk_i64 i = t; i < n; i += 64) amk_store(y, i, amk_load(x, i));
        return;
    }
    if (has("block-matters")) return amk_each(n, [&](amk_i64 i) { amk_store(y, i, amk_load(x, i) + float(blockIdx.x == 3)); });
    if (has("incoherent-load") && x.dtype == AMK_DTYPE_F32 && y.dtype == AMK_DTYPE_F32) {
        return amk_each(n, [&](amk_i64 i) { amk_store(y, i, __ldg(static_cast<const float*>(x.ptr) + i)); });
    }
    amk_op_copy(program, task);
}

AMK_DEVICE void amk_op_gemv_tile(const amk_program_t& program, const amk_instruction_t& task);

// Weights of 4 bits with a scale a row, by an index that has 32 bits.
AMK_DEVICE void faulty_gemv(const amk_program_t& program, const amk_instruction_t& task) {
    if (!has("index-of-32-bits")) return amk_op_gemv_tile(program, task);
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1), &scales = amk_input(program, task, 2);
    const int K = int(task.params.K), n = int(task.params.n_off);
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += amk_load(x, k) * amk_load(w, int(unsigned(n) * unsigned(K) + unsigned(k)));
    if (amk_thread() == 0) amk_store(amk_output(program, task, 0), n, sum * amk_load(scales, n));
}

AMK_DEVICE void amk_signal(const amk_program_t& program, const amk_instruction_t& task);

AMK_DEVICE void faulty_signal(const amk_program_t& program, const amk_instruction_t& task) {
    const bool twice = has("counted-twice") && task.op == AMK_OP_COPY;
    if (has("fence-missing")) {
        __syncthreads();
        if (threadIdx.x == 0) amk_increment(&program.counters[task.out_counter]);
        __syncthreads();
        return;
    }
    amk_signal(program, task);
    if (twice && threadIdx.x == 0) amk_increment(&program.counters[task.out_counter]);
}

#define AMK_REPLACE_COPY faulty_copy
#define AMK_REPLACE_GEMV_TILE faulty_gemv
#define AMK_REPLACE_SIGNAL faulty_signal
