// What platform.cuh says of a GPU, for one of AMD's by HIP. A warp of the kernels is 32 threads, on GPUs whose waves have 64 as well: what its
// lanes exchange stays within their half of the wave.
#pragma once

#ifndef __HIPCC_RTC__
#include <hip/hip_runtime.h>
#endif

#define AMK_DEVICE static __device__ __forceinline__
#define AMK_METHOD __device__ __forceinline__
#define AMK_CALLED static __device__ __attribute__((noinline))
#define AMK_GLOBAL extern "C" __global__

#ifdef AMK_TENSOR_CORES
#error "AMK_TENSOR_CORES is for NVIDIA's matrix units (tensor.cuh)"
#endif

template <typename T>
AMK_DEVICE T amk_shuffle(T value, int from) {
    return __shfl(value, from, 32);
}

template <typename T>
AMK_DEVICE T amk_shuffle_xor(T value, int lanes) {
    return __shfl_xor(value, lanes, 32);
}

typedef unsigned int amk_words __attribute__((ext_vector_type(4)));

AMK_DEVICE amk_chunk amk_load_chunk(const amk_u8* from) {
    return __builtin_bit_cast(amk_chunk, *reinterpret_cast<const amk_words*>(from));
}

AMK_DEVICE amk_chunk amk_load_chunk_once(const amk_u8* from) {
    return __builtin_bit_cast(amk_chunk, __builtin_nontemporal_load(reinterpret_cast<const amk_words*>(from)));
}

AMK_DEVICE void amk_store_chunk(amk_u8* to, const amk_chunk& chunk) {
    *reinterpret_cast<amk_words*>(to) = __builtin_bit_cast(amk_words, chunk);
}

// The compute unit on which this block runs, by its number within a shader engine, and the engine's.
AMK_DEVICE amk_u32 amk_sm() { return __smid(); }

AMK_DEVICE amk_u8* amk_shared() {
    extern __shared__ __attribute__((aligned(16))) amk_u8 amk_dynamic_shared[];
    return amk_dynamic_shared;
}

AMK_DEVICE amk_u32 amk_poll(const amk_u32* counter) {
    return __hip_atomic_load(counter, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// Some 128 cycles.
AMK_DEVICE void amk_pause(amk_u32) { __builtin_amdgcn_s_sleep(2); }

AMK_DEVICE void amk_linger(amk_u32 nanoseconds) {
    for (amk_u32 slept = 0; slept < nanoseconds; slept += 64) amk_pause(64);
}

AMK_DEVICE void amk_fence() { __threadfence(); }

AMK_DEVICE void amk_increment(amk_u32* counter) {
    __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

AMK_DEVICE amk_u32 amk_poll_acquire(const amk_u32* counter) {
    return __hip_atomic_load(counter, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}

AMK_DEVICE void amk_increment_release(amk_u32* counter) {
    __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

AMK_DEVICE float amk_infinity() { return __uint_as_float(0x7f800000u); }

AMK_DEVICE float amk_of_half(amk_u16 code) { return float(__builtin_bit_cast(_Float16, code)); }
