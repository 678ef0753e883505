// From the code of an opcode to its instruction. AMK_REPLACE_<OPCODE>, if defined, names a function to call instead.
#pragma once

#include "ops/nop.cuh"
#include "ops/copy.cuh"
#include "ops/embed.cuh"
#include "ops/rmsnorm.cuh"
#include "ops/layernorm.cuh"
#include "ops/gemv_tile.cuh"
#include "ops/gemm_tile.cuh"
#include "ops/attention_tile.cuh"
#include "ops/rope.cuh"
#include "ops/silu_mul.cuh"
#include "ops/gelu.cuh"
#include "ops/add.cuh"
#include "ops/mul.cuh"
#include "ops/dequant.cuh"
#include "ops/softmax.cuh"
#include "ops/allreduce_shard.cuh"
#include "ops/kv_append.cuh"
#include "ops/sample_argmax.cuh"
#include "ops/attention_combine.cuh"

#ifndef AMK_REPLACE_NOP
#define AMK_REPLACE_NOP amk_op_nop
#endif
#ifndef AMK_REPLACE_COPY
#define AMK_REPLACE_COPY amk_op_copy
#endif
#ifndef AMK_REPLACE_EMBED
#define AMK_REPLACE_EMBED amk_op_embed
#endif
#ifndef AMK_REPLACE_RMSNORM
#define AMK_REPLACE_RMSNORM amk_op_rmsnorm
#endif
#ifndef AMK_REPLACE_LAYERNORM
#define AMK_REPLACE_LAYERNORM amk_op_layernorm
#endif
#ifndef AMK_REPLACE_GEMV_TILE
#define AMK_REPLACE_GEMV_TILE amk_op_gemv_tile
#endif
#ifndef AMK_REPLACE_GEMM_TILE
#define AMK_REPLACE_GEMM_TILE amk_op_gemm_tile
#endif
#ifndef AMK_REPLACE_ATTENTION_TILE
#define AMK_REPLACE_ATTENTION_TILE amk_op_attention_tile
#endif
#ifndef AMK_REPLACE_ROPE
#define AMK_REPLACE_ROPE amk_op_rope
#endif
#ifndef AMK_REPLACE_SILU_MUL
#define AMK_REPLACE_SILU_MUL amk_op_silu_mul
#endif
#ifndef AMK_REPLACE_GELU
#define AMK_REPLACE_GELU amk_op_gelu
#endif
#ifndef AMK_REPLACE_ADD
#define AMK_REPLACE_ADD amk_op_add
#endif
#ifndef AMK_REPLACE_MUL
#define AMK_REPLACE_MUL amk_op_mul
#endif
#ifndef AMK_REPLACE_DEQUANT
#define AMK_REPLACE_DEQUANT amk_op_dequant
#endif
#ifndef AMK_REPLACE_SOFTMAX
#define AMK_REPLACE_SOFTMAX amk_op_softmax
#endif
#ifndef AMK_REPLACE_ALLREDUCE_SHARD
#define AMK_REPLACE_ALLREDUCE_SHARD amk_op_allreduce_shard
#endif
#ifndef AMK_REPLACE_KV_APPEND
#define AMK_REPLACE_KV_APPEND amk_op_kv_append
#endif
#ifndef AMK_REPLACE_SAMPLE_ARGMAX
#define AMK_REPLACE_SAMPLE_ARGMAX amk_op_sample_argmax
#endif
#ifndef AMK_REPLACE_ATTENTION_COMBINE
#define AMK_REPLACE_ATTENTION_COMBINE amk_op_attention_combine
#endif

// Runs one task with all threads of the block. False: this kernel does not have the opcode.
AMK_DEVICE bool amk_run(const amk_program_t& program, const amk_instruction_t& task) {
    switch (task.op) {
        case AMK_OP_NOP: AMK_REPLACE_NOP(program, task); return true;
        case AMK_OP_COPY: AMK_REPLACE_COPY(program, task); return true;
        case AMK_OP_EMBED: AMK_REPLACE_EMBED(program, task); return true;
        case AMK_OP_RMSNORM: AMK_REPLACE_RMSNORM(program, task); return true;
        case AMK_OP_LAYERNORM: AMK_REPLACE_LAYERNORM(program, task); return true;
        case AMK_OP_GEMV_TILE: AMK_REPLACE_GEMV_TILE(program, task); return true;
        case AMK_OP_GEMM_TILE: AMK_REPLACE_GEMM_TILE(program, task); return true;
        case AMK_OP_ATTENTION_TILE: AMK_REPLACE_ATTENTION_TILE(program, task); return true;
        case AMK_OP_ROPE: AMK_REPLACE_ROPE(program, task); return true;
        case AMK_OP_SILU_MUL: AMK_REPLACE_SILU_MUL(program, task); return true;
        case AMK_OP_GELU: AMK_REPLACE_GELU(program, task); return true;
        case AMK_OP_ADD: AMK_REPLACE_ADD(program, task); return true;
        case AMK_OP_MUL: AMK_REPLACE_MUL(program, task); return true;
        case AMK_OP_DEQUANT: AMK_REPLACE_DEQUANT(program, task); return true;
        case AMK_OP_SOFTMAX: AMK_REPLACE_SOFTMAX(program, task); return true;
        case AMK_OP_ALLREDUCE_SHARD: AMK_REPLACE_ALLREDUCE_SHARD(program, task); return true;
        case AMK_OP_KV_APPEND: AMK_REPLACE_KV_APPEND(program, task); return true;
        case AMK_OP_SAMPLE_ARGMAX: AMK_REPLACE_SAMPLE_ARGMAX(program, task); return true;
        case AMK_OP_ATTENTION_COMBINE: AMK_REPLACE_ATTENTION_COMBINE(program, task); return true;
        default: return false;
    }
}
