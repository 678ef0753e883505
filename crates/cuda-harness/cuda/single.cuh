// One kernel an opcode, which runs one task with one block: what a compiler reports about it is the opcode's own.
#pragma once

#include "vm.cuh"

#define AMK_SINGLE(OPCODE)                                                           \
    AMK_GLOBAL void amk_single_##OPCODE(amk_program_t program, int id) {             \
        AMK_REPLACE_##OPCODE(program, program.instructions[id]);                     \
    }

AMK_SINGLE(COPY)
AMK_SINGLE(EMBED)
AMK_SINGLE(RMSNORM)
AMK_SINGLE(LAYERNORM)
AMK_SINGLE(GEMV_TILE)
AMK_SINGLE(GEMM_TILE)
AMK_SINGLE(ATTENTION_TILE)
AMK_SINGLE(ROPE)
AMK_SINGLE(SILU_MUL)
AMK_SINGLE(GELU)
AMK_SINGLE(ADD)
AMK_SINGLE(MUL)
AMK_SINGLE(DEQUANT)
AMK_SINGLE(SOFTMAX)
AMK_SINGLE(ALLREDUCE_SHARD)
AMK_SINGLE(KV_APPEND)
AMK_SINGLE(SAMPLE_ARGMAX)
AMK_SINGLE(ATTENTION_COMBINE)
