#ifndef MEGAKERNEL_MCIR
#define MEGAKERNEL_MCIR

// Elements, and what is computed of them. Device code needs no header. On a CPU, whoever includes this has included before it what
// stands for CUDA there, such as host/shim.hpp of crates/cuda-harness: `amk_shared()` is the shared memory of the running block.

#ifndef __CUDACC__
#include <cmath>
#include <cstring>
#endif

namespace mcir {

#ifdef __CUDACC__
__device__ __forceinline__ unsigned char *shared_memory() {
  extern __shared__ __align__(16) unsigned char mcir_dynamic_shared[];
  return mcir_dynamic_shared;
}
__device__ __forceinline__ unsigned bits_of(float value) { return __float_as_uint(value); }
__device__ __forceinline__ float of_bits(unsigned bits) { return __uint_as_float(bits); }
#else
inline unsigned char *shared_memory() { return amk_shared(); }
inline unsigned bits_of(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
inline float of_bits(unsigned bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
#endif

// Each dtype: how an element is stored, the number that it is, and the nearest element to a number, the even one of two.
struct F32 {
  typedef float Stored;
  __device__ static __forceinline__ float get(float stored) { return stored; }
  __device__ static __forceinline__ float put(float value) { return value; }
};

struct BF16 {
  typedef unsigned short Stored;
  __device__ static __forceinline__ float get(unsigned short stored) { return of_bits((unsigned)stored << 16); }
  __device__ static __forceinline__ unsigned short put(float value) {
    const unsigned bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (unsigned short)(bits >> 16 | 0x40u);
    return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
  }
};

struct F16 {
  typedef unsigned short Stored;
  __device__ static __forceinline__ float get(unsigned short stored) {
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(stored));
    return value;
#else
    const unsigned sign = (unsigned)(stored & 0x8000u) << 16, rest = stored & 0x7fffu;
    if (rest >= 0x7c00u) return of_bits(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    // A multiple of the least element above 0, 2^-24; or with an exponent of its own, 112 below that of binary32.
    if (rest < 0x400u) return of_bits(sign | bits_of((float)rest * 5.9604644775390625e-8f));
    return of_bits(sign | (rest + (112u << 10)) << 13);
#endif
  }
  __device__ static __forceinline__ unsigned short put(float value) {
    const unsigned bits = bits_of(value), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) return (unsigned short)(sign | 0x7e00u);
    // From the middle between the largest number and 2^16 on.
    if (rest >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
    if (rest >= 0x38800000u) {
      return (unsigned short)(sign | (rest - (112u << 23) + 0xfffu + (rest >> 13 & 1u)) >> 13);
    }
    // Below 2^-14: added to 1/2, whose last bit is worth 2^-24, a number is rounded where it has to be.
    return (unsigned short)(sign | (bits_of(of_bits(rest) + 0.5f) - 0x3f000000u));
  }
};

__device__ __forceinline__ float infinity() { return of_bits(0x7f800000u); }

// The larger one; a NaN if one of them is.
__device__ __forceinline__ float most(float a, float b) { return a != a ? a : b > a || b != b ? b : a; }

__device__ __forceinline__ float silu(float a) { return a / (1.0f + expf(-a)); }
__device__ __forceinline__ float gelu(float a) { return 0.5f * a * (1.0f + erff(a * 0.70710678118654752440f)); }

// The weight of a score, if `largest` is the largest one: none has any before there is a score.
__device__ __forceinline__ float weight(float score, float largest) {
  return largest == -infinity() ? 0.0f : expf(score - largest);
}
// What an earlier sum of weights is worth now.
__device__ __forceinline__ float rescale(float before, float largest) {
  return largest == -infinity() ? 1.0f : expf(before - largest);
}

// The slot of a version.
__device__ __forceinline__ int slot(long long version, int slots) {
  const long long rest = version % slots;
  return (int)(rest < 0 ? rest + slots : rest);
}

__device__ __forceinline__ long long least_of(long long a, long long b) { return a < b ? a : b; }
__device__ __forceinline__ long long largest_of(long long a, long long b) { return a > b ? a : b; }

// What the host launches.
struct Kernel {
  const char *id;
  unsigned blocks;
  unsigned threads;
  // Dynamic shared memory of a block. Beyond 48 KiB the kernel has to be told: cudaFuncAttributeMaxDynamicSharedMemorySize.
  unsigned shared_bytes;
};

struct Tensor {
  const char *name;
  long long bytes;
};

} // namespace mcir

#endif
