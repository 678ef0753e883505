// The names of CUDA that kernels use, for a compiler that does not know CUDA. What is not here is not there on the CPU.
#pragma once

// In a file of its own, shim.hpp declares what these stand for.
#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline
#define __launch_bounds__(...)
// Dynamic shared memory is amk_shared(), here and on a GPU. Variables that a block shares: to the compiler they are those of a thread, of
// which fibers.cpp has one, and keeps a copy for each block.
#ifdef AMK_HOST_THREADS
#define __shared__ no_shared_variables_with_threads_of_the_CPU_but_amk_shared
#else
#define __shared__ thread_local
#endif

#define threadIdx (shim::self().thread)
#define blockIdx (shim::self().block)
#define blockDim (shim::self().threads_per_block)
#define gridDim (shim::self().blocks)
#define warpSize 32

inline void __syncthreads() { shim::block_barrier(); }
inline void __nanosleep(unsigned) { shim::pause(); }

inline void __threadfence() { shim::fence(); }
inline void __threadfence_system() { shim::fence(); }
// They order nothing for other blocks.
inline void __threadfence_block() {}

// Of the functions of a warp, all 32 lanes take part: another mask promises less than what is called, or names lanes that do not come.
inline unsigned amk_lane() { return threadIdx.x % 32; }

inline void amk_check_mask(unsigned mask) {
    if (mask != 0xffffffffu) shim::fault("a function of a warp has a mask without some of the lanes that call it");
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int from) {
    amk_check_mask(mask);
    return shim::exchange_as(value, unsigned(from) % 32);
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
    amk_check_mask(mask);
    return shim::exchange_as(value, amk_lane() ^ unsigned(lanes));
}

template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta) {
    amk_check_mask(mask);
    return shim::exchange_as(value, amk_lane() + delta);
}

template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta) {
    amk_check_mask(mask);
    return shim::exchange_as(value, amk_lane() - delta);
}

// By way of a cache that nothing brings up to date within a launch (`ld.global.nc`).
template <typename T>
T __ldg(const T* from) {
    const weak::Incoherent way;
    return *static_cast<const volatile T*>(from);
}

inline unsigned __ballot_sync(unsigned mask, int holds) {
    unsigned bits = holds ? 1u << amk_lane() : 0;
    for (int step = 16; step > 0; step /= 2) bits |= __shfl_xor_sync(mask, bits, step);
    return bits;
}

inline int __any_sync(unsigned mask, int holds) { return __ballot_sync(mask, holds) != 0; }
inline int __all_sync(unsigned mask, int holds) { return __ballot_sync(mask, !holds) == 0; }
inline void __syncwarp(unsigned mask = 0xffffffffu) { (void)__shfl_sync(mask, 0, 0); }

inline unsigned atomicAdd(unsigned* word, unsigned value) { return shim::add(word, value); }
inline unsigned atomicExch(unsigned* word, unsigned value) { return shim::swap(word, value); }
inline unsigned atomicCAS(unsigned* word, unsigned expected, unsigned value) {
    return shim::compare_and_swap(word, expected, value);
}
inline int atomicAdd(int* word, int value) { return int(shim::add(reinterpret_cast<unsigned*>(word), unsigned(value))); }
inline int atomicExch(int* word, int value) { return int(shim::swap(reinterpret_cast<unsigned*>(word), unsigned(value))); }

inline float __uint_as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline std::uint32_t __float_as_uint(float value) { return std::bit_cast<std::uint32_t>(value); }
