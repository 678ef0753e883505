// Numbers of bfloat16, for kernels on the CPU.
#pragma once

#include "../halves.hpp"

using __nv_bfloat16 = shim::Half<amk_bf16>;
using __nv_bfloat162 = shim::Half2<amk_bf16>;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

AMK_HALF_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
AMK_HALF_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)
