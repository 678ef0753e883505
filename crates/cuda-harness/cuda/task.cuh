// A task as an instruction sees it.
#pragma once

#include "block.cuh"
#include "numeric.cuh"

// Bytes of shared memory that any instruction may use: a float a warp, a score a thread, and an accumulator a head element.
#define AMK_MAX_HEAD_DIM 512
#define AMK_SHARED_BYTES(threads) (sizeof(float) * ((threads) / AMK_WARP + (threads) + AMK_MAX_HEAD_DIM) + 16)

AMK_DEVICE const amk_buffer_t& amk_input(const amk_program_t& program, const amk_instruction_t& task, int i) {
    return program.buffers[task.inputs[i]];
}

AMK_DEVICE const amk_buffer_t& amk_output(const amk_program_t& program, const amk_instruction_t& task, int i) {
    return program.buffers[task.outputs[i]];
}

// The last extent; 1 of a scalar.
AMK_DEVICE amk_i64 amk_last(const amk_buffer_t& buffer) {
    return buffer.rank > 0 ? buffer.shape[buffer.rank - 1] : 1;
}

// Shared memory behind the words that the VM keeps for itself.
AMK_DEVICE float* amk_scratch() { return reinterpret_cast<float*>(amk_shared() + 16); }

// Runs `body(i)` for every i below n, spread over the threads of the block.
template <typename Body>
AMK_DEVICE void amk_each(amk_i64 n, Body body) {
    for (amk_i64 i = amk_thread(); i < n; i += amk_threads()) body(i);
}
