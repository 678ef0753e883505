// What examples/cuda/worker.cuh uses of CUDA beside the names of host/shim.hpp.
#pragma once

// What of a block's shared memory this takes: the first word. The kernel has none of its own.
constexpr std::size_t SHARED_BLOCK_BYTES = 16;

// True in all threads of a block where it holds in one.
inline int __syncthreads_or(int holds) {
    auto* any = reinterpret_cast<unsigned*>(shim::shared());
    if (threadIdx.x == 0) atomicExch(any, 0u);
    __syncthreads();
    if (holds) atomicExch(any, 1u);
    __syncthreads();
    const int found = *any != 0;
    __syncthreads();
    return found;
}
