// OPC-06: a tile of rows and columns of a product.
#pragma once
#include "../matrix.cuh"

AMK_DEVICE void amk_op_gemm_tile(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_i64 first = task.params.m_off;
    amk_matrix(program, task, first, first + task.params.M_tile);
}
