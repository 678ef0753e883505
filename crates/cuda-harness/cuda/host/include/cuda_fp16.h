// Numbers of binary16, for kernels on the CPU.
#pragma once

#include "../halves.hpp"

using __half = shim::Half<amk_f16>;
using __half2 = shim::Half2<amk_f16>;
using half = __half;
using half2 = __half2;

AMK_HALF_FUNCTIONS(__half, __half2)
AMK_HALF_CONVERSIONS(__half, __half2, half, half2)

#define CUDART_INF_FP16 __ushort_as_half(0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00)
