// OPC-16: writes rows of a cache. The cache is an input only by name.
#pragma once
#include "../task.cuh"

AMK_DEVICE void amk_op_kv_append(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &rows = amk_input(program, task, 0), &cache = amk_output(program, task, 0);
    const bool batched = cache.rank == 4;
    const amk_i64 row = cache.shape[cache.rank - 2] * cache.shape[cache.rank - 1];
    const amk_i64 sequence = batched ? cache.shape[1] * row : 0;
    amk_each(rows.numel, [&](amk_i64 i) {
        const amk_i64 at = batched ? i / row * sequence + task.params.pos * row + i % row : task.params.pos * row + i;
        amk_store(cache, at, amk_load(rows, i));
    });
}
