// CUDA's functions of bits, and of numbers: those that round once do here, the fast ones are those of the C++ library.
#pragma once

#include <fenv.h>

#include <bit>
#include <limits>

// The C library has these names for itself.
#define __expf expf
#define __exp10f exp10f
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __powf powf
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __sincosf sincosf

inline float __uint_as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline std::uint32_t __float_as_uint(float value) { return std::bit_cast<std::uint32_t>(value); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }
inline long long __double_as_longlong(double value) { return std::bit_cast<long long>(value); }

inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __popcll(unsigned long long bits) { return std::popcount(bits); }
inline int __clz(int bits) { return std::countl_zero(unsigned(bits)); }
inline int __clzll(long long bits) { return std::countl_zero(static_cast<unsigned long long>(bits)); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __ffsll(long long bits) { return __builtin_ffsll(bits); }

inline unsigned __brev(unsigned bits) {
    unsigned turned = 0;
    for (int i = 0; i < 32; ++i) turned |= (bits >> i & 1u) << (31 - i);
    return turned;
}

// Byte i of the result is that of the eight whose number is in nibble i of the selector; with its upper bit, eight copies of that byte's sign.
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    const std::uint64_t bytes = low | std::uint64_t(high) << 32;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned choice = selector >> 4 * i & 15u, byte = unsigned(bytes >> 8 * (choice & 7u)) & 255u;
        result |= (choice & 8u ? (byte & 128u ? 255u : 0u) : byte) << 8 * i;
    }
    return result;
}

inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return unsigned((low | std::uint64_t(high) << 32) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return unsigned((low | std::uint64_t(high) << 32) >> (shift & 31));
}
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned(std::uint64_t(a) * b >> 32); }
inline int __mulhi(int a, int b) { return int(std::int64_t(a) * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
// Of the lower 24 bits of each, with their sign.
inline int __mul24(int a, int b) { return int(std::int64_t(int(unsigned(a) << 8) >> 8) * (int(unsigned(b) << 8) >> 8)); }
inline unsigned __umul24(unsigned a, unsigned b) { return unsigned(std::uint64_t(a & 0xffffffu) * (b & 0xffffffu)); }

// The sum of four products of bytes, and of what there was.
inline int __dp4a(int a, int b, int sum) {
    for (int i = 0; i < 32; i += 8) sum = int(unsigned(sum) + unsigned(int(std::int8_t(a >> i)) * int(std::int8_t(b >> i))));
    return sum;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
    for (int i = 0; i < 32; i += 8) sum += (a >> i & 255u) * (b >> i & 255u);
    return sum;
}

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
// By double, whose error is far below that of binary32.
inline float __frsqrt_rn(float a) { return float(1.0 / sqrt(double(a))); }
inline float rsqrtf(float a) { return __frsqrt_rn(a); }
inline double rsqrt(double a) { return 1.0 / sqrt(a); }
inline float __saturatef(float a) { return a > 0.0f ? fminf(a, 1.0f) : 0.0f; }

// A divisor above 2^126 gives 0, by CUDA's manual; an infinity by it, NaN.
inline float __fdividef(float a, float b) {
    const bool large = fabsf(b) > 0x1p126f && fabsf(b) < __builtin_inff();
    return large ? a * 0.0f : a / b;
}

namespace shim {
// From here on the compiler knows nothing of a number.
template <typename T>
void hide(T& number) { asm volatile("" : "+m"(number)); }

// What `f` makes of numbers with another direction of rounding.
template <int MODE, typename T, typename F, typename... Numbers>
T directed(F f, Numbers... numbers) {
    const int before = fegetround();
    fesetround(MODE);
    (hide(numbers), ...);
    T value = f(numbers...);
    hide(value);
    fesetround(before);
    return value;
}
}  // namespace shim
#define AMK_DIRECTED(SUFFIX, MODE)                                                                                                        \
    inline float __fadd_##SUFFIX(float a, float b) { return shim::directed<MODE, float>([](float x, float y) { return x + y; }, a, b); }  \
    inline float __fsub_##SUFFIX(float a, float b) { return shim::directed<MODE, float>([](float x, float y) { return x - y; }, a, b); }  \
    inline float __fmul_##SUFFIX(float a, float b) { return shim::directed<MODE, float>([](float x, float y) { return x * y; }, a, b); }  \
    inline float __fdiv_##SUFFIX(float a, float b) { return shim::directed<MODE, float>([](float x, float y) { return x / y; }, a, b); }  \
    inline float __frcp_##SUFFIX(float a) { return __fdiv_##SUFFIX(1.0f, a); }                                                            \
    inline float __fsqrt_##SUFFIX(float a) { return shim::directed<MODE, float>([](float x) { return sqrtf(x); }, a); }                   \
    inline float __fmaf_##SUFFIX(float a, float b, float c) {                                                                             \
        return shim::directed<MODE, float>([](float x, float y, float z) { return fmaf(x, y, z); }, a, b, c);                             \
    }                                                                                                                                     \
    inline float __double2float_##SUFFIX(double a) { return shim::directed<MODE, float>([](double x) { return float(x); }, a); }          \
    inline float __int2float_##SUFFIX(int a) { return shim::directed<MODE, float>([](int x) { return float(x); }, a); }                   \
    inline float __uint2float_##SUFFIX(unsigned a) { return shim::directed<MODE, float>([](unsigned x) { return float(x); }, a); }
AMK_DIRECTED(rz, FE_TOWARDZERO)
AMK_DIRECTED(rd, FE_DOWNWARD)
AMK_DIRECTED(ru, FE_UPWARD)
#undef AMK_DIRECTED

#define AMK_TO_INTEGER(SUFFIX, ROUND)                                                                     \
    inline int __float2int_##SUFFIX(float a) { return shim::to_integer<int>(ROUND(a)); }                  \
    inline unsigned __float2uint_##SUFFIX(float a) { return shim::to_integer<unsigned>(ROUND(a)); }
namespace shim {
// What is too large becomes the largest one, and NaN 0.
template <typename T>
T to_integer(float whole) {
    const double value = whole, least = double(std::numeric_limits<T>::min()), most = double(std::numeric_limits<T>::max());
    return whole != whole ? T(0) : value < least ? std::numeric_limits<T>::min() : value > most ? std::numeric_limits<T>::max() : T(value);
}
}  // namespace shim
AMK_TO_INTEGER(rn, nearbyintf)
AMK_TO_INTEGER(rz, truncf)
AMK_TO_INTEGER(rd, floorf)
AMK_TO_INTEGER(ru, ceilf)
#undef AMK_TO_INTEGER
inline float __int2float_rn(int a) { return float(a); }
inline float __double2float_rn(double a) { return float(a); }
inline float __uint2float_rn(unsigned a) { return float(a); }

#define AMK_LEAST_AND_LARGEST(T)                       \
    inline T min(T a, T b) { return b < a ? b : a; }   \
    inline T max(T a, T b) { return a < b ? b : a; }
AMK_LEAST_AND_LARGEST(int)
AMK_LEAST_AND_LARGEST(unsigned)
AMK_LEAST_AND_LARGEST(long)
AMK_LEAST_AND_LARGEST(unsigned long)
AMK_LEAST_AND_LARGEST(long long)
AMK_LEAST_AND_LARGEST(unsigned long long)
#undef AMK_LEAST_AND_LARGEST
inline unsigned min(unsigned a, int b) { return min(a, unsigned(b)); }
inline unsigned min(int a, unsigned b) { return min(unsigned(a), b); }
inline unsigned max(unsigned a, int b) { return max(a, unsigned(b)); }
inline unsigned max(int a, unsigned b) { return max(unsigned(a), b); }
inline unsigned umin(unsigned a, unsigned b) { return min(a, b); }
inline unsigned umax(unsigned a, unsigned b) { return max(a, b); }
// Of a number and a NaN, the number.
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
