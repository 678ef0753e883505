// OPC-00: does nothing.
#pragma once
#include "../task.cuh"

AMK_DEVICE void amk_op_nop(const amk_program_t&, const amk_instruction_t&) {}
