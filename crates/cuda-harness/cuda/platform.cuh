// What the kernels need of the machine they are compiled for: a GPU of NVIDIA's (nvcc or NVRTC), one of AMD's (hip.cuh), or the CPU through
// host/shim.hpp. No other file of the kernels has what only one of them knows, but for ptx.cuh, which
// is about matrix units.
#pragma once

#ifdef AMK_HOST
#include "host/shim.hpp"
#elif !defined(__HIP__)
#define AMK_DEVICE static __device__ __forceinline__
#define AMK_METHOD __device__ __forceinline__
// For what is long and called from several places: there is one of it in a kernel, with registers of its own.
#define AMK_CALLED static __device__ __noinline__
#define AMK_GLOBAL extern "C" __global__
#endif

#include "abi.h"

typedef unsigned int amk_u32;
typedef unsigned short amk_u16;
typedef unsigned char amk_u8;
typedef long long amk_i64;

// What a thread loads at once, at an address that is a multiple of 16.
struct alignas(16) amk_chunk {
    amk_u32 word[4];
};

#ifdef __HIP__
#include "hip.cuh"
#else

// What lane `from` of the warp has; all 32 lanes take part.
template <typename T>
AMK_DEVICE T amk_shuffle(T value, int from) {
    return __shfl_sync(0xffffffffu, value, from);
}

// What the lane has whose number differs in the bits of `lanes`; all 32 take part.
template <typename T>
AMK_DEVICE T amk_shuffle_xor(T value, int lanes) {
    return __shfl_xor_sync(0xffffffffu, value, lanes);
}

#ifdef AMK_HOST

AMK_DEVICE amk_chunk amk_load_chunk(const amk_u8* from) {
    if (reinterpret_cast<std::uintptr_t>(from) % 16 != 0) shim::fault("a load of 16 bytes at an address that is no multiple of 16");
    amk_chunk chunk;
    for (int i = 0; i < 4; ++i) chunk.word[i] = reinterpret_cast<const amk_u32*>(from)[i];
    return chunk;
}

AMK_DEVICE amk_chunk amk_load_chunk_once(const amk_u8* from) { return amk_load_chunk(from); }

AMK_DEVICE void amk_store_chunk(amk_u8* to, const amk_chunk& chunk) {
    if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0) shim::fault("a store of 16 bytes at an address that is no multiple of 16");
    for (int i = 0; i < 4; ++i) reinterpret_cast<amk_u32*>(to)[i] = chunk.word[i];
}

#else

// Not by way of `ld.global.nc`: another SM may have written this in the same launch.
AMK_DEVICE amk_chunk amk_load_chunk(const amk_u8* from) {
    amk_chunk chunk;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(chunk.word[0]), "=r"(chunk.word[1]), "=r"(chunk.word[2]), "=r"(chunk.word[3])
                 : "l"(from)
                 : "memory");
    return chunk;
}

// The same of what nobody reads again soon, as weights are: it takes no place in the cache of the SM.
AMK_DEVICE amk_chunk amk_load_chunk_once(const amk_u8* from) {
    amk_chunk chunk;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(chunk.word[0]), "=r"(chunk.word[1]), "=r"(chunk.word[2]), "=r"(chunk.word[3])
                 : "l"(from)
                 : "memory");
    return chunk;
}

AMK_DEVICE void amk_store_chunk(amk_u8* to, const amk_chunk& chunk) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 : : "l"(to), "r"(chunk.word[0]), "r"(chunk.word[1]), "r"(chunk.word[2]), "r"(chunk.word[3])
                 : "memory");
}

// The SM on which this block runs.
AMK_DEVICE amk_u32 amk_sm() {
    amk_u32 sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

// Dynamic shared memory of the block. Nothing is in static shared memory, so that a launch says all that it needs.
AMK_DEVICE amk_u8* amk_shared() {
    extern __shared__ __align__(16) amk_u8 amk_dynamic_shared[];
    return amk_dynamic_shared;
}

// One poll of a counter, at device scope. Ordering comes from the fence after the last poll.
AMK_DEVICE amk_u32 amk_poll(const amk_u32* counter) {
    amk_u32 value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
    return value;
}

// Lets others run between two polls.
AMK_DEVICE void amk_pause(amk_u32 nanoseconds) {
#if __CUDA_ARCH__ >= 700
    __nanosleep(nanoseconds);
#endif
}

// Keeps the warp back for a while.
AMK_DEVICE void amk_linger(amk_u32 nanoseconds) { amk_pause(nanoseconds); }

AMK_DEVICE void amk_fence() { __threadfence(); }

AMK_DEVICE void amk_increment(amk_u32* counter) { atomicAdd(counter, 1u); }

// The same two with their ordering, in place of a fence.
AMK_DEVICE amk_u32 amk_poll_acquire(const amk_u32* counter) {
    amk_u32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
    return value;
}

AMK_DEVICE void amk_increment_release(amk_u32* counter) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" : : "l"(counter) : "memory");
}

AMK_DEVICE float amk_infinity() { return __uint_as_float(0x7f800000u); }

AMK_DEVICE float amk_of_half(amk_u16 code) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(code));
    return value;
}

#endif

#endif
