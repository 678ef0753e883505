// OPC-15: adds up the shards, in the order of the inputs.
#pragma once
#include "../task.cuh"

AMK_DEVICE void amk_op_allreduce_shard(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t& y = amk_output(program, task, 0);
    amk_each(y.numel, [&](amk_i64 i) {
        float sum = amk_load(amk_input(program, task, 0), i);
        for (int shard = 1; shard < task.n_inputs; ++shard) sum += amk_load(amk_input(program, task, shard), i);
        amk_store(y, i, sum);
    });
}
