// ADD and MUL of F16 and of BF16 in pairs, SILU_MUL of them in binary32, and COPY between F32 and the smaller ones, by CUDA's headers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "task.cuh"
#include "ops/add.cuh"
#include "ops/copy.cuh"
#include "ops/mul.cuh"
#include "ops/silu_mul.cuh"

__device__ bool all_are(const amk_program_t& program, const amk_instruction_t& task, int dtype) {
    return task.n_inputs == 2 && amk_input(program, task, 0).dtype == dtype && amk_input(program, task, 1).dtype == dtype
        && amk_output(program, task, 0).dtype == dtype
        && amk_input(program, task, 0).numel == amk_output(program, task, 0).numel
        && amk_input(program, task, 1).numel == amk_output(program, task, 0).numel;
}

template <typename Pair, typename F>
__device__ void in_pairs(const amk_program_t& program, const amk_instruction_t& task, F f) {
    const Pair *a = static_cast<const Pair*>(amk_input(program, task, 0).ptr), *b = static_cast<const Pair*>(amk_input(program, task, 1).ptr);
    Pair* y = static_cast<Pair*>(amk_output(program, task, 0).ptr);
    const amk_i64 n = amk_output(program, task, 0).numel;
    for (amk_i64 i = threadIdx.x; i < n / 2; i += blockDim.x) y[i] = f(a[i], b[i]);
    if (n % 2 == 1 && threadIdx.x == 0) {
        Pair left = {}, right = {};
        left.x = a[n / 2].x;
        right.x = b[n / 2].x;
        y[n / 2].x = f(left, right).x;
    }
}

__device__ void add_pairs(const amk_program_t& program, const amk_instruction_t& task) {
    if (all_are(program, task, AMK_DTYPE_F16)) {
        in_pairs<__half2>(program, task, [](__half2 a, __half2 b) { return __hadd2(a, b); });
    } else if (all_are(program, task, AMK_DTYPE_BF16)) {
        in_pairs<__nv_bfloat162>(program, task, [](__nv_bfloat162 a, __nv_bfloat162 b) { return a + b; });
    } else {
        amk_op_add(program, task);
    }
}

__device__ void mul_pairs(const amk_program_t& program, const amk_instruction_t& task) {
    if (all_are(program, task, AMK_DTYPE_F16)) {
        in_pairs<half2>(program, task, [](half2 a, half2 b) { return a * b; });
    } else if (all_are(program, task, AMK_DTYPE_BF16)) {
        in_pairs<__nv_bfloat162>(program, task, [](__nv_bfloat162 a, __nv_bfloat162 b) {
            return __halves2bfloat162(__hmul(__low2bfloat16(a), __low2bfloat16(b)), __hmul(__high2bfloat16(a), __high2bfloat16(b)));
        });
    } else {
        amk_op_mul(program, task);
    }
}

__device__ float silu(float g) { return g < 0.0f ? g * (__expf(g) / (1.0f + __expf(g))) : g / (1.0f + __expf(-g)); }

__device__ void silu_mul_pairs(const amk_program_t& program, const amk_instruction_t& task) {
    if (all_are(program, task, AMK_DTYPE_F16)) {
        in_pairs<__half2>(program, task, [](__half2 gate, __half2 up) {
            const float2 g = __half22float2(gate), u = __half22float2(up);
            return __floats2half2_rn(silu(g.x) * u.x, silu(g.y) * u.y);
        });
    } else if (all_are(program, task, AMK_DTYPE_BF16)) {
        in_pairs<__nv_bfloat162>(program, task, [](__nv_bfloat162 gate, __nv_bfloat162 up) {
            const float2 g = __bfloat1622float2(gate), u = __bfloat1622float2(up);
            return __float22bfloat162_rn(make_float2(silu(g.x) * u.x, silu(g.y) * u.y));
        });
    } else {
        amk_op_silu_mul(program, task);
    }
}

template <typename From, typename To, typename F>
__device__ bool converts(const amk_buffer_t& x, const amk_buffer_t& y, int from, int to, F f) {
    if (x.dtype != from || y.dtype != to) return false;
    for (amk_i64 i = threadIdx.x; i < y.numel; i += blockDim.x) static_cast<To*>(y.ptr)[i] = f(static_cast<const From*>(x.ptr)[i]);
    return true;
}

__device__ void copy_by_headers(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &y = amk_output(program, task, 0);
    if (converts<__half, float>(x, y, AMK_DTYPE_F16, AMK_DTYPE_F32, [](__half value) { return __half2float(value); })
        || converts<__nv_bfloat16, float>(x, y, AMK_DTYPE_BF16, AMK_DTYPE_F32, [](__nv_bfloat16 value) { return __bfloat162float(value); })
        || converts<__nv_fp8_e4m3, float>(x, y, AMK_DTYPE_F8E4M3, AMK_DTYPE_F32, [](__nv_fp8_e4m3 value) { return float(value); })
        || converts<__nv_fp8_e5m2, float>(x, y, AMK_DTYPE_F8E5M2, AMK_DTYPE_F32, [](__nv_fp8_e5m2 value) { return float(value); })
        || converts<float, __half>(x, y, AMK_DTYPE_F32, AMK_DTYPE_F16, [](float value) { return __float2half_rn(value); })
        || converts<float, __nv_bfloat16>(x, y, AMK_DTYPE_F32, AMK_DTYPE_BF16, [](float value) { return __float2bfloat16_rn(value); })
        || converts<float, unsigned char>(x, y, AMK_DTYPE_F32, AMK_DTYPE_F8E4M3, [](float value) {
               return __nv_cvt_float_to_fp8(value, __NV_NOSAT, __NV_E4M3);
           })
        || converts<float, unsigned char>(x, y, AMK_DTYPE_F32, AMK_DTYPE_F8E5M2, [](float value) {
               return __nv_cvt_float_to_fp8(value, __NV_NOSAT, __NV_E5M2);
           })) {
        return;
    }
    amk_op_copy(program, task);
}

#define AMK_REPLACE_ADD add_pairs
#define AMK_REPLACE_MUL mul_pairs
#define AMK_REPLACE_SILU_MUL silu_mul_pairs
#define AMK_REPLACE_COPY copy_by_headers
