// OPC-05: columns of a product with all rows of x.
#pragma once
#include "../matrix.cuh"

AMK_DEVICE void amk_op_gemv_tile(const amk_program_t& program, const amk_instruction_t& task) {
    amk_matrix(program, task, 0, amk_input(program, task, 0).numel / task.params.K);
}
