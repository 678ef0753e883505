// Numbers of binary16, for kernels on the CPU.
#pragma once

#include "../halves.hpp"

using __half = shim::Half<amk_f16>;
using __half2 = shim::Half2<amk_f16>;
using half = __half;
using half2 = __half2;

AMK_HALF_FUNCTIONS(__half, __half2)
AMK_HALF_CONVERSIONS(__half, __half2, half, half2)
