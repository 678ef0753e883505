// The names of CUDA that kernels use, for a compiler that does not know CUDA. What is not here is not there on the CPU.
#pragma once

// In a file of its own, shim.hpp declares what these stand for.
#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline
// What headers of the C++ library put between the parentheses of an attribute.
#define __noinline__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
// To a compiler for a CPU no variable is a block's: the harness puts a reference in the place of each (src/host/shared.rs).
#define __shared__ amk_of_the_block

#define threadIdx (shim::self().thread)
#define blockIdx (shim::self().block)
#define blockDim (shim::self().threads_per_block)
#define gridDim (shim::self().blocks)
#define warpSize 32
#ifndef __clang__
#define __builtin_assume(condition) ((void)0)
#endif

inline void __syncthreads() { shim::block_barrier(); }
inline int __syncthreads_count(int holds) { return int(shim::block_barrier(holds != 0)); }
inline int __syncthreads_or(int holds) { return shim::block_barrier(holds != 0) != 0; }
inline int __syncthreads_and(int holds) { return shim::block_barrier(holds == 0) == 0; }
inline void __nanosleep(unsigned) { shim::pause(); }

inline void __threadfence() { shim::fence(); }
inline void __threadfence_system() { shim::fence(); }
// It orders nothing for other blocks.
inline void __threadfence_block() { shim::fence_block(); }

inline void __trap() { __builtin_trap(); }

// Nanoseconds. The C library has clock().
inline long long clock64() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}
