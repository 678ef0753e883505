// OPC-02: gathers rows of a table.
#pragma once
#include "../task.cuh"

AMK_DEVICE void amk_op_embed(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &ids = amk_input(program, task, 0), &table = amk_input(program, task, 1);
    const amk_buffer_t& y = amk_output(program, task, 0);
    const amk_i64 rows = table.shape[0], width = table.numel / rows;
    const int* index = static_cast<const int*>(ids.ptr);
    for (amk_i64 row = 0; row < ids.numel; ++row) {
        // An id out of range is a fault of the data: nothing outside of the table is touched.
        const amk_i64 id = index[row];
        const bool there = id >= 0 && id < rows;
        amk_each(width, [&](amk_i64 i) { amk_store(y, row * width + i, there ? amk_load(table, id * width + i) : 0.0f); });
    }
}
