// A task as an instruction sees it.
#pragma once

#include "block.cuh"
#include "numeric.cuh"

// Operands of a task: inputs, then outputs.
#define AMK_OPERANDS (AMK_MAX_INPUTS + AMK_MAX_OUTPUTS)

// What the VM keeps at the start of shared memory: whether the block goes on, and the task at hand with the records of its operands,
// which are brought there while it waits.
struct alignas(16) amk_control {
    int proceed, _pad[3];
    amk_buffer_t operands[AMK_OPERANDS];
    amk_instruction_t task;
};
#define AMK_CONTROL_BYTES 1392
static_assert(sizeof(amk_control) == AMK_CONTROL_BYTES, "the size of amk_control");

// Bytes of shared memory that any instruction may use: four floats a warp, eight a thread, and an accumulator a head element. With
// matrix units, what their tiles take, in the same place: 98 KB in all, of the 99 that a block can have from compute capability 8.6 on.
#define AMK_MAX_HEAD_DIM 512
#define AMK_TENSOR_BYTES 98560
#ifdef AMK_TENSOR_CORES
#define AMK_SHARED_BYTES(threads) (AMK_CONTROL_BYTES + AMK_TENSOR_BYTES)
#else
#define AMK_SHARED_BYTES(threads) \
    (sizeof(float) * ((threads) / AMK_WARP * 4 + (threads) * 8 + AMK_MAX_HEAD_DIM) + AMK_CONTROL_BYTES)
#endif

AMK_DEVICE amk_control* amk_at_hand() { return reinterpret_cast<amk_control*>(amk_shared()); }

// Begins to bring a task and the records of its operands to shared memory: the block has met since it ran the last one, and meets again
// before it runs this one.
AMK_DEVICE void amk_bring(const amk_program_t& program, const amk_instruction_t& task) {
    amk_control* control = amk_at_hand();
    // Word by word, for all threads. No record begins or ends within a word.
    const auto copy = [](void* to, const void* from, int i) {
        amk_u32 word;
        memcpy(&word, static_cast<const amk_u32*>(from) + i, sizeof(word));
        memcpy(static_cast<amk_u32*>(to) + i, &word, sizeof(word));
    };
    for (int i = amk_thread(); i < int(sizeof(amk_instruction_t) / 4); i += amk_threads()) copy(&control->task, &task, i);
    const int words = sizeof(amk_buffer_t) / 4;
    for (int i = amk_thread(); i < AMK_OPERANDS * words; i += amk_threads()) {
        const int operand = i / words, output = operand - AMK_MAX_INPUTS;
        if (output < 0 ? operand >= task.n_inputs : output >= task.n_outputs) continue;
        const int id = output < 0 ? task.inputs[operand] : task.outputs[output];
        copy(&control->operands[operand], &program.buffers[id], i % words);
    }
}

// The records of operands, as `amk_bring` has brought them.
AMK_DEVICE const amk_buffer_t& amk_input(const amk_program_t&, const amk_instruction_t&, int i) { return amk_at_hand()->operands[i]; }

AMK_DEVICE const amk_buffer_t& amk_output(const amk_program_t&, const amk_instruction_t&, int i) {
    return amk_at_hand()->operands[AMK_MAX_INPUTS + i];
}

// The last extent; 1 of a scalar.
AMK_DEVICE amk_i64 amk_last(const amk_buffer_t& buffer) {
    return buffer.rank > 0 ? buffer.shape[buffer.rank - 1] : 1;
}

// Shared memory behind the words that the VM keeps for itself.
AMK_DEVICE float* amk_scratch() { return reinterpret_cast<float*>(amk_shared() + AMK_CONTROL_BYTES); }

// Whether three buffers have one dtype of at least 16 bits, and rows of so many elements are whole chunks of 16 bytes.
AMK_DEVICE bool amk_in_chunks(const amk_buffer_t& a, const amk_buffer_t& b, const amk_buffer_t& c, amk_i64 row) {
    const unsigned long long places = reinterpret_cast<unsigned long long>(a.ptr) | reinterpret_cast<unsigned long long>(b.ptr)
        | reinterpret_cast<unsigned long long>(c.ptr);
    return a.dtype == b.dtype && b.dtype == c.dtype && a.dtype <= AMK_DTYPE_BF16 && places % 16 == 0
        && row * amk_dtype_bits(a.dtype) % 128 == 0;
}

// Chunk i of a buffer.
AMK_DEVICE amk_chunk amk_chunk_of(const amk_buffer_t& buffer, amk_i64 i) {
    return amk_load_chunk(static_cast<const amk_u8*>(buffer.ptr) + 16 * i);
}

// Runs `body(i)` for every i below n, spread over the threads of the block.
template <typename Body>
AMK_DEVICE void amk_each(amk_i64 n, Body body) {
    for (amk_i64 i = amk_thread(); i < n; i += amk_threads()) body(i);
}

// Chunks of each operand that a thread has under way.
#define AMK_MAP_CHUNKS 2

// Chunks of y become `f` of those of a and b, element by element.
template <int DTYPE, typename F>
AMK_DEVICE void amk_map_chunks(const amk_buffer_t& a, const amk_buffer_t& b, const amk_buffer_t& y, F f) {
    typedef amk_elements<DTYPE> elements;
    const amk_i64 chunks = y.numel / elements::N;
    for (amk_i64 first = amk_thread(); first < chunks; first += AMK_MAP_CHUNKS * amk_threads()) {
        amk_chunk left[AMK_MAP_CHUNKS], right[AMK_MAP_CHUNKS];
#pragma unroll
        for (int u = 0; u < AMK_MAP_CHUNKS; ++u) {
            const amk_i64 i = first + u * amk_threads() < chunks ? first + u * amk_threads() : first;
            left[u] = amk_chunk_of(a, i);
            right[u] = amk_chunk_of(b, i);
        }
#pragma unroll
        for (int u = 0; u < AMK_MAP_CHUNKS; ++u) {
            const amk_i64 i = first + u * amk_threads();
            if (i >= chunks) break;
            amk_chunk chunk = {};
#pragma unroll
            for (int e = 0; e < elements::N; ++e) elements::set(chunk, e, f(elements::at(left[u], e), elements::at(right[u], e)));
            amk_store_chunk(static_cast<amk_u8*>(y.ptr) + 16 * i, chunk);
        }
    }
}

// y[i] = f(a[i], b[i]).
template <typename F>
AMK_DEVICE void amk_map(const amk_buffer_t& a, const amk_buffer_t& b, const amk_buffer_t& y, F f) {
    switch (amk_in_chunks(a, b, y, y.numel) ? y.dtype : int(AMK_DTYPE_COUNT)) {
        case AMK_DTYPE_F32: amk_map_chunks<AMK_DTYPE_F32>(a, b, y, f); break;
        case AMK_DTYPE_F16: amk_map_chunks<AMK_DTYPE_F16>(a, b, y, f); break;
        case AMK_DTYPE_BF16: amk_map_chunks<AMK_DTYPE_BF16>(a, b, y, f); break;
        default: amk_each(y.numel, [&](amk_i64 i) { amk_store(y, i, f(amk_load(a, i), amk_load(b, i))); }); break;
    }
}
