// Numbers of 16 bits as CUDA's headers have them, for include/cuda_fp16.h and include/cuda_bf16.h: each operation is rounded once.
#pragma once

#include "../numeric.cuh"

namespace shim {

// A number that was rounded to odd, to 24 bits: what rounds it further to 22 bits or fewer rounds the sum of value and rest, which is less
// than the last bit of the value.
inline float to_odd(double value, double rest = 0.0) {
    const float near = float(value);
    if (!(fabs(value) < __builtin_inf()) || (double(near) == value && rest == 0.0)) return near;
    const bool too_large = fabs(double(near)) > fabs(value) || (double(near) == value && (rest < 0.0) != (value < 0.0));
    return __uint_as_float((__float_as_uint(near) - (too_large ? 1u : 0u)) | 1u);
}

// a b + c, of numbers whose product is one of binary64.
inline float fma_to_odd(float a, float b, float c) {
    const double product = double(a) * double(b), sum = product + double(c);
    const double of_c = sum - product, of_product = sum - of_c;
    const double rest = (product - of_product) + (double(c) - of_c);
    return fabs(sum) < __builtin_inf() ? to_odd(sum, rest) : float(sum);
}

// Neither rounds to nearest: the number itself, or its neighbour on the side of `down`, `up` or 0.
enum class Round { nearest, zero, down, up };

template <typename Format>
std::uint16_t encode(float value, Round round) {
    std::uint32_t code = Format::encode(value);
    const float near = Format::decode(code);
    const bool negative = __float_as_uint(value) >> 31;
    if (near == value || value != value || round == Round::nearest) return std::uint16_t(code);
    const bool outwards = round == (negative ? Round::down : Round::up), is_outside = fabsf(near) > fabsf(value);
    return std::uint16_t(outwards && !is_outside ? code + 1 : !outwards && is_outside ? code - 1 : code);
}

template <typename Format>
struct Half {
    std::uint16_t __x;

    Half() = default;
    Half(float value) : __x(std::uint16_t(Format::encode(value))) {}
    Half(double value) : Half(to_odd(value)) {}
    // Integers of 64 bits are rounded before, to the 53 of binary64.
    template <typename T>
        requires std::is_integral_v<T>
    Half(T value) : Half(double(value)) {}
    operator float() const { return Format::decode(__x); }

    static Half of_bits(std::uint32_t bits) {
        Half half;
        half.__x = std::uint16_t(bits);
        return half;
    }
    static Half rounded(float value, Round round) { return of_bits(encode<Format>(value, round)); }
};

template <typename Format>
struct alignas(4) Half2 {
    Half<Format> x, y;

    Half2() = default;
    Half2(Half<Format> x, Half<Format> y) : x(x), y(y) {}
};

template <typename H>
int to_int(H a, float (*whole)(float)) { return to_integer<int>(whole(float(a))); }

// Of two zeros the sign counts; of a number and a NaN, the number, unless a NaN shall remain.
template <typename H>
H least(H a, H b, bool keeps_nan) {
    const float x = a, y = b;
    if (x != x || y != y) return keeps_nan == (x != x) ? a : b;
    return x < y || (x == y && a.__x >> 15) ? a : b;
}
template <typename H>
H largest(H a, H b, bool keeps_nan) {
    const float x = a, y = b;
    if (x != x || y != y) return keeps_nan == (x != x) ? a : b;
    return x > y || (x == y && !(a.__x >> 15)) ? a : b;
}

}  // namespace shim

// What binary32 rounds first is rounded again without harm, since it has more than twice the bits of either type; except quotients, which may be
// smaller than its numbers.
//
// Of one type H and its pair H2.
#define AMK_HALF_UNARY(H, H2, NAME, NAME2, EXPRESSION)                            \
    inline H NAME(H a) { const float x = a; (void)x; return EXPRESSION; }         \
    inline H2 NAME2(H2 a) { return {NAME(a.x), NAME(a.y)}; }
#define AMK_HALF_BINARY(H, H2, NAME, EXPRESSION)                                                  \
    inline H NAME(H a, H b) { const float x = a, y = b; (void)x, (void)y; return EXPRESSION; }    \
    inline H2 NAME##2(H2 a, H2 b) { return {NAME(a.x, b.x), NAME(a.y, b.y)}; }
#define AMK_HALF_OPERATOR(H, H2, OPERATOR, NAME)                                  \
    inline H operator OPERATOR(H a, H b) { return NAME(a, b); }                   \
    inline H& operator OPERATOR##=(H& a, H b) { return a = NAME(a, b); }          \
    inline H2 operator OPERATOR(H2 a, H2 b) { return NAME##2(a, b); }             \
    inline H2& operator OPERATOR##=(H2& a, H2 b) { return a = NAME##2(a, b); }
#define AMK_HALF_COMPARISON(H, H2, NAME, OPERATOR)                                \
    inline bool NAME(H a, H b) { return float(a) OPERATOR float(b); }             \
    inline bool operator OPERATOR(H a, H b) { return NAME(a, b); }                \
    inline H2 NAME##2(H2 a, H2 b) { return {H(NAME(a.x, b.x)), H(NAME(a.y, b.y))}; }

#define AMK_HALF_FUNCTIONS(H, H2)                                                                     \
    AMK_HALF_BINARY(H, H2, __hadd, x + y)                                                             \
    AMK_HALF_BINARY(H, H2, __hsub, x - y)                                                             \
    AMK_HALF_BINARY(H, H2, __hmul, x * y)                                                             \
    AMK_HALF_BINARY(H, H2, __hdiv, double(x) / double(y))                                             \
    AMK_HALF_BINARY(H, H2, __hadd_rn, x + y)                                                          \
    AMK_HALF_BINARY(H, H2, __hsub_rn, x - y)                                                          \
    AMK_HALF_BINARY(H, H2, __hmul_rn, x * y)                                                          \
    AMK_HALF_BINARY(H, H2, __hadd_sat, __saturatef(x + y))                                            \
    AMK_HALF_BINARY(H, H2, __hsub_sat, __saturatef(x - y))                                            \
    AMK_HALF_BINARY(H, H2, __hmul_sat, __saturatef(x * y))                                            \
    AMK_HALF_BINARY(H, H2, __hmin, shim::least(a, b, false))                                          \
    AMK_HALF_BINARY(H, H2, __hmax, shim::largest(a, b, false))                                        \
    AMK_HALF_BINARY(H, H2, __hmin_nan, shim::least(a, b, true))                                       \
    AMK_HALF_BINARY(H, H2, __hmax_nan, shim::largest(a, b, true))                                     \
    inline H __hfma(H a, H b, H c) { return shim::fma_to_odd(a, b, c); }                              \
    inline H __hfma_sat(H a, H b, H c) { return __saturatef(shim::fma_to_odd(a, b, c)); }             \
    inline H __hfma_relu(H a, H b, H c) { return __hmax_nan(__hfma(a, b, c), H(0.0f)); }              \
    inline H2 __hfma2(H2 a, H2 b, H2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }    \
    AMK_HALF_UNARY(H, H2, __hneg, __hneg2, H::of_bits(a.__x ^ 0x8000u))                               \
    AMK_HALF_UNARY(H, H2, __habs, __habs2, H::of_bits(a.__x & 0x7fffu))                               \
    AMK_HALF_UNARY(H, H2, hsqrt, h2sqrt, sqrtf(x))                                                    \
    AMK_HALF_UNARY(H, H2, hrsqrt, h2rsqrt, 1.0 / sqrt(double(x)))                                     \
    AMK_HALF_UNARY(H, H2, hrcp, h2rcp, 1.0 / double(x))                                               \
    AMK_HALF_UNARY(H, H2, hexp, h2exp, exp(double(x)))                                                \
    AMK_HALF_UNARY(H, H2, hexp2, h2exp2, exp2(double(x)))                                             \
    AMK_HALF_UNARY(H, H2, hexp10, h2exp10, pow(10.0, double(x)))                                      \
    AMK_HALF_UNARY(H, H2, hlog, h2log, log(double(x)))                                                \
    AMK_HALF_UNARY(H, H2, hlog2, h2log2, log2(double(x)))                                             \
    AMK_HALF_UNARY(H, H2, hlog10, h2log10, log10(double(x)))                                          \
    AMK_HALF_UNARY(H, H2, hsin, h2sin, sin(double(x)))                                                \
    AMK_HALF_UNARY(H, H2, hcos, h2cos, cos(double(x)))                                                \
    AMK_HALF_UNARY(H, H2, htanh, h2tanh, tanh(double(x)))                                             \
    AMK_HALF_UNARY(H, H2, hfloor, h2floor, floorf(x))                                                 \
    AMK_HALF_UNARY(H, H2, hceil, h2ceil, ceilf(x))                                                    \
    AMK_HALF_UNARY(H, H2, htrunc, h2trunc, truncf(x))                                                 \
    AMK_HALF_UNARY(H, H2, hrint, h2rint, nearbyintf(x))                                               \
    AMK_HALF_OPERATOR(H, H2, +, __hadd)                                                               \
    AMK_HALF_OPERATOR(H, H2, -, __hsub)                                                               \
    AMK_HALF_OPERATOR(H, H2, *, __hmul)                                                               \
    AMK_HALF_OPERATOR(H, H2, /, __hdiv)                                                               \
    inline H operator-(H a) { return __hneg(a); }                                                     \
    inline H operator+(H a) { return a; }                                                             \
    inline H2 operator-(H2 a) { return __hneg2(a); }                                                  \
    inline H& operator++(H& a) { return a += H(1.0f); }                                               \
    inline H& operator--(H& a) { return a -= H(1.0f); }                                               \
    AMK_HALF_COMPARISON(H, H2, __heq, ==)                                                             \
    AMK_HALF_COMPARISON(H, H2, __hne, !=)                                                             \
    AMK_HALF_COMPARISON(H, H2, __hlt, <)                                                              \
    AMK_HALF_COMPARISON(H, H2, __hle, <=)                                                             \
    AMK_HALF_COMPARISON(H, H2, __hgt, >)                                                              \
    AMK_HALF_COMPARISON(H, H2, __hge, >=)                                                             \
    inline bool __hisnan(H a) { return float(a) != float(a); }                                        \
    inline int __hisinf(H a) { return fabsf(a) == __builtin_inff() ? (a.__x >> 15 ? -1 : 1) : 0; }    \
    inline float __low2float(H2 a) { return a.x; }                                                    \
    inline float __high2float(H2 a) { return a.y; }                                                   \
    inline H2 __lowhigh2highlow(H2 a) { return {a.y, a.x}; }                                          \
    inline H atomicAdd(H* place, H value) { return shim::change_number(place, [=](H old) { return old + value; }); } \
    inline H2 atomicAdd(H2* place, H2 value) { return shim::change_number(place, [=](H2 old) { return old + value; }); }

// The conversions of a type, by the names that CUDA makes of its NAME and of that of its PAIR.
#define AMK_HALF_CONVERSIONS(H, H2, NAME, PAIR)                                                       \
    inline H __float2##NAME(float a) { return a; }                                                    \
    inline H __float2##NAME##_rn(float a) { return a; }                                               \
    inline H __float2##NAME##_rz(float a) { return H::rounded(a, shim::Round::zero); }                \
    inline H __float2##NAME##_rd(float a) { return H::rounded(a, shim::Round::down); }                \
    inline H __float2##NAME##_ru(float a) { return H::rounded(a, shim::Round::up); }                  \
    inline H __double2##NAME(double a) { return a; }                                                  \
    inline H __int2##NAME##_rn(int a) { return a; }                                                   \
    inline H __uint2##NAME##_rn(unsigned a) { return a; }                                             \
    inline H __short2##NAME##_rn(short a) { return a; }                                               \
    inline H __ushort2##NAME##_rn(unsigned short a) { return a; }                                     \
    inline float __##NAME##2float(H a) { return a; }                                                  \
    inline int __##NAME##2int_rn(H a) { return shim::to_int(a, nearbyintf); }                         \
    inline int __##NAME##2int_rz(H a) { return shim::to_int(a, truncf); }                             \
    inline int __##NAME##2int_rd(H a) { return shim::to_int(a, floorf); }                             \
    inline int __##NAME##2int_ru(H a) { return shim::to_int(a, ceilf); }                              \
    inline unsigned short __##NAME##_as_ushort(H a) { return a.__x; }                                 \
    inline short __##NAME##_as_short(H a) { return short(a.__x); }                                    \
    inline H __ushort_as_##NAME(unsigned short bits) { return H::of_bits(bits); }                     \
    inline H __short_as_##NAME(short bits) { return H::of_bits(std::uint16_t(bits)); }                \
    inline H2 __float2##PAIR##_rn(float a) { return {a, a}; }                                         \
    inline H2 __floats2##PAIR##_rn(float a, float b) { return {a, b}; }                               \
    inline H2 __float22##PAIR##_rn(float2 a) { return {a.x, a.y}; }                                   \
    inline float2 __##PAIR##2float2(H2 a) { return {a.x, a.y}; }                                      \
    inline H2 __##NAME##2##PAIR(H a) { return {a, a}; }                                               \
    inline H2 __halves2##PAIR(H a, H b) { return {a, b}; }                                            \
    inline H2 make_##PAIR(H a, H b) { return {a, b}; }                                                \
    inline H __low2##NAME(H2 a) { return a.x; }                                                       \
    inline H __high2##NAME(H2 a) { return a.y; }                                                      \
    inline H2 __low2##PAIR(H2 a) { return {a.x, a.x}; }                                               \
    inline H2 __high2##PAIR(H2 a) { return {a.y, a.y}; }                                              \
    inline H2 __lows2##PAIR(H2 a, H2 b) { return {a.x, b.x}; }                                        \
    inline H2 __highs2##PAIR(H2 a, H2 b) { return {a.y, b.y}; }
