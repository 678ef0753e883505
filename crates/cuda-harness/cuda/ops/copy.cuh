// OPC-01: copies a buffer and converts its dtype.
#pragma once
#include "../task.cuh"

AMK_DEVICE void amk_op_copy(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &y = amk_output(program, task, 0);
    if (x.dtype != y.dtype) {
        amk_each(x.numel, [&](amk_i64 i) { amk_store(y, i, amk_load(x, i)); });
        return;
    }
    // Equal dtypes: bit for bit.
    const amk_i64 bytes = (x.numel * amk_dtype_bits(x.dtype) + 7) / 8;
    const amk_u8* from = static_cast<const amk_u8*>(x.ptr);
    amk_u8* to = static_cast<amk_u8*>(y.ptr);
    const bool whole = (reinterpret_cast<unsigned long long>(from) | reinterpret_cast<unsigned long long>(to) | bytes) % 16 == 0;
    if (whole) {
        amk_each(bytes / 16, [&](amk_i64 i) { amk_store_chunk(to + 16 * i, amk_load_chunk(from + 16 * i)); });
    } else {
        amk_each(bytes, [&](amk_i64 i) { to[i] = from[i]; });
    }
}
