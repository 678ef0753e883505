// OPC-13: integer weights with scales per group, as floating point.
#pragma once
#include "../matrix.cuh"

AMK_DEVICE void amk_op_dequant(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t& y = amk_output(program, task, 0);
    amk_weight weight;
    weight.values = &amk_input(program, task, 0);
    weight.scales = &amk_input(program, task, 1);
    weight.zeros = task.n_inputs > 2 ? &amk_input(program, task, 2) : 0;
    weight.K = amk_last(y);
    weight.group = task.params.group;
    weight.groups = (weight.K + weight.group - 1) / weight.group;
    amk_each(y.numel, [&](amk_i64 i) { amk_store(y, i, weight.at(i / weight.K, i % weight.K)); });
}
