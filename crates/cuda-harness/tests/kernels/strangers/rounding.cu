// Conversions of F32 that do not round to nearest, and products and sums that are rounded once, in place of other opcodes: COPY rounds to
// zero, GELU down, ADD up, and SILU_MUL is a b + c, with the element behind that of a as c. MUL is arithmetic of F32.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "task.cuh"

template <typename Half, typename F>
__device__ void each_of(const amk_buffer_t& x, const amk_buffer_t& y, F f) {
    for (amk_i64 i = threadIdx.x; i < y.numel; i += blockDim.x) static_cast<Half*>(y.ptr)[i] = f(static_cast<const float*>(x.ptr)[i]);
}

#define CONVERSION(NAME, HALF, BFLOAT16)                                                             \
    __device__ void NAME(const amk_program_t& program, const amk_instruction_t& task) {              \
        const amk_buffer_t &x = amk_input(program, task, 0), &y = amk_output(program, task, 0);      \
        if (y.dtype == AMK_DTYPE_F16) {                                                              \
            each_of<__half>(x, y, [](float value) { return HALF(value); });                          \
        } else {                                                                                     \
            each_of<__nv_bfloat16>(x, y, [](float value) { return BFLOAT16(value); });               \
        }                                                                                            \
    }
CONVERSION(to_zero, __float2half_rz, __float2bfloat16_rz)
CONVERSION(downwards, __float2half_rd, __float2bfloat16_rd)
CONVERSION(upwards, __float2half_ru, __float2bfloat16_ru)

template <typename Half>
__device__ void fused(const amk_buffer_t& a, const amk_buffer_t& b, const amk_buffer_t& y) {
    const Half *left = static_cast<const Half*>(a.ptr), *right = static_cast<const Half*>(b.ptr);
    for (amk_i64 i = threadIdx.x; i < y.numel; i += blockDim.x) static_cast<Half*>(y.ptr)[i] = __hfma(left[i], right[i], left[(i + 1) % y.numel]);
}

__device__ void fused_by_dtype(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &a = amk_input(program, task, 0), &b = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    y.dtype == AMK_DTYPE_F16 ? fused<__half>(a, b, y) : fused<__nv_bfloat16>(a, b, y);
}

// Of n pairs of F32, as MUL: n numbers for each function and direction.
__device__ void directed(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    const float *left = static_cast<const float*>(x.ptr), *right = static_cast<const float*>(w.ptr);
    for (amk_i64 i = threadIdx.x; i < x.numel; i += blockDim.x) {
        const float a = left[i], b = right[i];
        const int whole = __float_as_int(a);
        float* to = static_cast<float*>(y.ptr) + i;
        const auto put = [&](float zero, float down, float up) {
            to[0] = zero;
            to[x.numel] = down;
            to[2 * x.numel] = up;
            to += 3 * x.numel;
        };
        put(__fadd_rz(a, b), __fadd_rd(a, b), __fadd_ru(a, b));
        put(__fsub_rz(a, b), __fsub_rd(a, b), __fsub_ru(a, b));
        put(__fmul_rz(a, b), __fmul_rd(a, b), __fmul_ru(a, b));
        put(__fdiv_rz(a, b), __fdiv_rd(a, b), __fdiv_ru(a, b));
        put(__fmaf_rz(a, b, a), __fmaf_rd(a, b, a), __fmaf_ru(a, b, a));
        put(__fsqrt_rz(fabsf(a)), __fsqrt_rd(fabsf(a)), __fsqrt_ru(fabsf(a)));
        put(__frcp_rz(a), __frcp_rd(a), __frcp_ru(a));
        put(__double2float_rz(double(a) * b), __double2float_rd(double(a) * b), __double2float_ru(double(a) * b));
        put(__int2float_rz(whole), __int2float_rd(whole), __int2float_ru(whole));
        put(__uint2float_rz(whole), __uint2float_rd(whole), __uint2float_ru(whole));
    }
}

#define AMK_REPLACE_MUL directed
#define AMK_REPLACE_COPY to_zero
#define AMK_REPLACE_GELU downwards
#define AMK_REPLACE_ADD upwards
#define AMK_REPLACE_SILU_MUL fused_by_dtype
