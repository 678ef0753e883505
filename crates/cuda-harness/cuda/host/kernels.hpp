// What main.cpp needs of the kernels, which are compiled by themselves (kernels.cpp).
#pragma once

#include "../abi.h"

#include <cstddef>
#include <cstdint>

namespace shim {

// Whether blocks of so many threads can run with so much shared memory.
bool takes(unsigned threads, std::size_t shared_bytes);

// What a thread of a launch runs. `states` holds a byte a task; `delays` is the seed of delays between tasks, or 0.
void megakernel(const amk_program_t& program, unsigned char* states, std::uint32_t delays);

}  // namespace shim
