// What CUDA's header of this name has for kernels is there already.
#pragma once
