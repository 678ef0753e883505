// What instructions of PTX make of numbers, bits and predicates.
#pragma once

#include "values.hpp"

namespace shim::ptx {

template <typename T>
constexpr bool is_half = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;
template <typename T>
constexpr bool is_byte = std::is_same_v<T, E4M3> || std::is_same_v<T, E5M2>;
template <typename T>
constexpr bool is_pair = false;
template <typename T>
constexpr bool is_pair<Pair<T>> = true;

template <typename T>
bool is_nan(T value) {
    return value != value;
}

// The NaN that instructions give; and -0 or +0 for a subnormal number, where that is asked for.
template <unsigned MODE = 0>
float finished(float value) {
    if (is_nan(value)) return MODE & SAT ? 0.0f : __uint_as_float(0x7fffffffu);
    if (MODE & FTZ && fabsf(value) < 0x1p-126f) value = copysignf(0.0f, value);
    if (MODE & SAT) value = value > 0.0f ? fminf(value, 1.0f) : 0.0f;
    return value;
}
template <unsigned MODE = 0>
double finished(double value) {
    return value;
}

template <unsigned MODE, typename T>
T taken(T value) {
    if constexpr (std::is_same_v<T, float> && (MODE & FTZ) != 0) {
        if (fabsf(value) < 0x1p-126f) return copysignf(0.0f, value);
    } else if constexpr (is_half<T> && (MODE & FTZ) != 0) {
        constexpr unsigned exponent = std::is_same_v<T, F16> ? 0x7c00 : 0x7f80;
        if ((value.__x & exponent) == 0) return T::of_bits(value.__x & 0x8000u);
    }
    return value;
}

constexpr int DIRECTIONS[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

// What `f` makes of floats, in the direction of a mode.
template <unsigned MODE, typename T, typename F, typename... Numbers>
T rounded(F f, Numbers... numbers) {
    if constexpr ((MODE & DIRECTION) == RN) {
        return finished<MODE>(f(taken<MODE>(numbers)...));
    } else {
        return finished<MODE>(directed<DIRECTIONS[MODE & DIRECTION], T>(f, taken<MODE>(numbers)...));
    }
}

// A number as one of 16 bits.
template <typename H, unsigned MODE>
H to_half(double value) {
    if (is_nan(value)) return MODE & SAT ? H::of_bits(0) : H::of_bits(0x7fff);
    if (MODE & SAT) value = value > 0.0 ? fmin(value, 1.0) : 0.0;
    if (MODE & RELU && value <= 0.0) value = 0.0;
    constexpr Round round[] = {Round::nearest, Round::zero, Round::down, Round::up};
    const H half = taken<MODE>(H::rounded(to_odd(value), round[MODE & DIRECTION]));
    constexpr std::uint16_t largest = std::is_same_v<H, F16> ? 0x7bff : 0x7f7f;
    if (MODE & FINITE && (half.__x & 0x7fff) > largest) return H::of_bits((half.__x & 0x8000u) | largest);
    return half;
}

// Of numbers of 16 bits, `f` of binary64: sums and products of two are exact there, or rounded far from where these are.
template <unsigned MODE, typename T, typename F, typename... Rest>
T each(F f, T first, Rest... rest) {
    if constexpr (is_pair<T>) {
        return {each<MODE>(f, first.low, rest.low...), each<MODE>(f, first.high, rest.high...)};
    } else if constexpr (is_half<T>) {
        return to_half<T, MODE>(f(double(float(taken<MODE>(first))), double(float(taken<MODE>(rest)))...));
    } else {
        return rounded<MODE, T>(f, first, rest...);
    }
}

#define AMK_SUM(NAME, OPERATOR)                                                                           \
    template <unsigned MODE, typename T>                                                                  \
    T NAME##_of(T a, T b) {                                                                               \
        if constexpr (std::is_integral_v<T>) {                                                            \
            const __int128 exact = __int128(a) OPERATOR __int128(b);                                      \
            if (MODE & SAT) {                                                                             \
                const __int128 least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max(); \
                return T(exact < least ? least : exact > most ? most : exact);                            \
            }                                                                                             \
            return T(exact);                                                                              \
        } else {                                                                                          \
            return each<MODE>([](auto x, auto y) { return x OPERATOR y; }, a, b);                         \
        }                                                                                                 \
    }
AMK_SUM(add, +)
AMK_SUM(sub, -)
#undef AMK_SUM

// With what was carried, which a subtraction borrows.
template <bool TAKES, bool GIVES, typename T>
T add_carry(bool& carry, T a, T b) {
    using U = std::make_unsigned_t<T>;
    const unsigned __int128 sum = static_cast<unsigned __int128>(U(a)) + U(b) + (TAKES && carry ? 1 : 0);
    if (GIVES) carry = sum >> (8 * sizeof(T)) != 0;
    return T(sum);
}
template <bool TAKES, bool GIVES, typename T>
T sub_carry(bool& carry, T a, T b) {
    using U = std::make_unsigned_t<T>;
    const unsigned __int128 less = static_cast<unsigned __int128>(U(b)) + (TAKES && carry ? 1 : 0);
    const bool borrows = U(a) < less;
    if (GIVES) carry = borrows;
    return T(U(a) - U(less));
}

template <unsigned MODE, typename T>
T mul_of(T a, T b) {
    return each<MODE>([](auto x, auto y) { return x * y; }, a, b);
}

template <unsigned MODE, typename T>
T fma_of(T a, T b, T c) {
    if constexpr (is_pair<T>) {
        return {fma_of<MODE>(a.low, b.low, c.low), fma_of<MODE>(a.high, b.high, c.high)};
    } else if constexpr (is_half<T>) {
        // To odd: it is rounded once more.
        return to_half<T, MODE>(double(fma_to_odd(taken<MODE>(a), taken<MODE>(b), taken<MODE>(c))));
    } else {
        return rounded<MODE, T>([](T x, T y, T z) { return std::is_same_v<T, float> ? T(fmaf(float(x), float(y), float(z))) : T(fma(x, y, z)); }, a, b, c);
    }
}

template <bool SATURATES, typename T>
T mul_lo(T a, T b) {
    return T(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
}
template <bool SATURATES, typename T>
T mul_hi(T a, T b) {
    return T((__int128(a) * __int128(b)) >> (8 * sizeof(T)));
}
template <bool SATURATES>
std::uint64_t mul_hi(std::uint64_t a, std::uint64_t b) {
    return __umul64hi(a, b);
}
template <bool SATURATES, typename T>
auto mul_wide(T a, T b) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::conditional_t<sizeof(T) == 2, std::int32_t, std::int64_t>,
                                    std::conditional_t<sizeof(T) == 2, std::uint32_t, std::uint64_t>>;
    return Wide(Wide(a) * Wide(b));
}
template <bool SATURATES, typename T>
T mad_lo(T a, T b, T c) {
    return T(static_cast<unsigned __int128>(mul_lo<false>(a, b)) + static_cast<unsigned __int128>(c));
}
template <bool SATURATES, typename T>
T mad_hi(T a, T b, T c) {
    return add_of<SATURATES ? SAT : 0u>(mul_hi<false>(a, b), c);
}
template <bool SATURATES, typename T, typename Wide>
Wide mad_wide(T a, T b, Wide c) {
    return add_of<0>(Wide(mul_wide<false>(a, b)), c);
}

// Of the lower 24 bits of each, with their sign: 48 bits, of which the lower or the upper 32.
template <typename T>
std::int64_t product24(T a, T b) {
    if constexpr (std::is_signed_v<T>) return std::int64_t(std::int32_t(std::uint32_t(a) << 8) >> 8) * (std::int32_t(std::uint32_t(b) << 8) >> 8);
    return std::int64_t(std::uint64_t(a & 0xffffff) * std::uint64_t(b & 0xffffff));
}
template <bool SATURATES, typename T>
T mul24_lo(T a, T b) {
    return T(product24(a, b));
}
template <bool SATURATES, typename T>
T mul24_hi(T a, T b) {
    return T(product24(a, b) >> 16);
}
template <bool SATURATES, typename T>
T mad24_lo(T a, T b, T c) {
    return add_of<0>(mul24_lo<false>(a, b), c);
}
template <bool SATURATES, typename T>
T mad24_hi(T a, T b, T c) {
    return add_of<SATURATES ? SAT : 0u>(mul24_hi<false>(a, b), c);
}

// What a division by 0 gives is not defined.
template <unsigned MODE, typename T>
T div_of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        return b == 0 ? T(-1) : T(__int128(a) / __int128(b));
    } else if constexpr (std::is_same_v<T, float> && (MODE & APPROX)) {
        return finished<MODE>(__fdividef(taken<MODE>(a), taken<MODE>(b)));
    } else {
        return each<MODE>([](auto x, auto y) { return x / y; }, a, b);
    }
}
template <unsigned MODE, typename T>
T rem_of(T a, T b) {
    return b == 0 ? a : T(__int128(a) % __int128(b));
}

// Of two zeros the sign counts; of a number and a NaN the number, or the NaN where it is kept.
template <unsigned MODE, bool LEAST, typename T>
T extreme(T a, T b) {
    if constexpr (is_pair<T>) {
        return {extreme<MODE, LEAST>(a.low, b.low), extreme<MODE, LEAST>(a.high, b.high)};
    } else if constexpr (std::is_integral_v<T>) {
        T chosen = (LEAST ? b < a : a < b) ? b : a;
        if (MODE & RELU && chosen < 0) chosen = 0;
        return chosen;
    } else {
        using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
        Number x = Number(taken<MODE>(a)), y = Number(taken<MODE>(b));
        if (MODE & MAGNITUDE) x = fabs(x), y = fabs(y);
        Number chosen = is_nan(x) ? y : is_nan(y) ? x : x == y ? (std::signbit(x) == LEAST ? x : y) : (x < y) == LEAST ? x : y;
        if (MODE & KEEPS_NAN && (is_nan(x) || is_nan(y))) chosen = Number(__builtin_nanf(""));
        if constexpr (is_half<T>) {
            return to_half<T, MODE & RELU>(double(chosen));
        } else {
            return finished<MODE>(chosen);
        }
    }
}
template <unsigned MODE, typename T, typename... Rest>
T min_of(T a, Rest... rest) {
    ((a = extreme<MODE, true>(a, rest)), ...);
    return a;
}
template <unsigned MODE, typename T, typename... Rest>
T max_of(T a, Rest... rest) {
    ((a = extreme<MODE, false>(a, rest)), ...);
    return a;
}

template <unsigned MODE, typename T>
T neg_of(T a) {
    if constexpr (is_pair<T>) {
        return {neg_of<MODE>(a.low), neg_of<MODE>(a.high)};
    } else if constexpr (is_half<T>) {
        return T::of_bits(taken<MODE>(a).__x ^ 0x8000u);
    } else if constexpr (std::is_integral_v<T>) {
        return T(0u - std::make_unsigned_t<T>(a));
    } else {
        return taken<MODE>(-a);
    }
}
template <unsigned MODE, typename T>
T abs_of(T a) {
    if constexpr (is_pair<T>) {
        return {abs_of<MODE>(a.low), abs_of<MODE>(a.high)};
    } else if constexpr (is_half<T>) {
        return T::of_bits(taken<MODE>(a).__x & 0x7fffu);
    } else if constexpr (std::is_integral_v<T>) {
        return a < 0 ? neg_of<0>(a) : a;
    } else {
        return taken<MODE>(std::is_same_v<T, float> ? T(fabsf(float(a))) : T(fabs(a)));
    }
}

template <unsigned MODE, typename T>
T sad_of(T a, T b, T c) {
    const auto difference = a < b ? __int128(b) - a : __int128(a) - b;
    return T(difference + c);
}

// The sign of the first, with the magnitude of the second.
template <unsigned MODE, typename T>
T copysign_of(T a, T b) {
    return std::is_same_v<T, float> ? T(copysignf(float(b), float(a))) : T(copysign(b, a));
}

// Those that are near on a GPU are those of the C++ library.
#define AMK_UNARY(NAME, OF_FLOAT, OF_DOUBLE)                                                        \
    template <unsigned MODE, typename T>                                                            \
    T NAME##_of(T a) {                                                                              \
        return each<MODE>([](auto x) { return std::is_same_v<decltype(x), float> ? OF_FLOAT : OF_DOUBLE; }, a); \
    }
AMK_UNARY(rcp, 1.0f / float(x), 1.0 / x)
AMK_UNARY(sqrt, sqrtf(float(x)), ::sqrt(x))
AMK_UNARY(rsqrt, rsqrtf(float(x)), 1.0 / ::sqrt(x))
AMK_UNARY(ex2, exp2f(float(x)), ::exp2(x))
AMK_UNARY(lg2, log2f(float(x)), ::log2(x))
AMK_UNARY(sin, sinf(float(x)), ::sin(x))
AMK_UNARY(cos, cosf(float(x)), ::cos(x))
AMK_UNARY(tanh, tanhf(float(x)), ::tanh(x))
#undef AMK_UNARY

// Bits, and predicates.
template <typename T>
T bits_and(T a, T b) { return T(a & b); }
template <typename T>
T bits_or(T a, T b) { return T(a | b); }
template <typename T>
T bits_xor(T a, T b) { return T(a ^ b); }
template <typename T>
T bits_not(T a) { return T(~a); }
inline bool bits_not(bool a) { return !a; }
template <typename T>
T bits_cnot(T a) { return T(a == 0); }

template <typename T>
T reversed(T a) {
    T turned = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i) turned |= T(a >> i & 1) << (8 * sizeof(T) - 1 - i);
    return turned;
}
template <typename T>
std::uint32_t popc(T a) { return std::uint32_t(std::popcount(a)); }
template <typename T>
std::uint32_t clz(T a) { return std::uint32_t(std::countl_zero(a)); }

// The highest bit that is not the sign's, or how far to shift it to the left.
template <unsigned MODE, typename T>
std::uint32_t bfind(T a) {
    using U = std::make_unsigned_t<T>;
    const U bits = a < 0 ? U(~a) : U(a);
    if (bits == 0) return ~0u;
    const std::uint32_t zeros = std::uint32_t(std::countl_zero(bits));
    return MODE & SHIFT ? zeros : std::uint32_t(8 * sizeof(T) - 1 - zeros);
}

template <typename T>
T shl(T a, std::uint32_t by) { return by >= 8 * sizeof(T) ? T(0) : T(std::make_unsigned_t<T>(a) << by); }
template <typename T>
T shr(T a, std::uint32_t by) {
    constexpr std::uint32_t most = 8 * sizeof(T);
    return by >= most ? T(a < 0 ? -1 : 0) : T(a >> by);
}

template <bool WRAPS>
std::uint32_t funnel_l(std::uint32_t low, std::uint32_t high, std::uint32_t by) {
    by = WRAPS ? by & 31 : by < 32 ? by : 32;
    return std::uint32_t((low | std::uint64_t(high) << 32) << by >> 32);
}
template <bool WRAPS>
std::uint32_t funnel_r(std::uint32_t low, std::uint32_t high, std::uint32_t by) {
    by = WRAPS ? by & 31 : by < 32 ? by : 32;
    return std::uint32_t((low | std::uint64_t(high) << 32) >> by);
}

// A field of so many bits from a place on; of signed numbers with its sign.
template <typename T>
T bfe(T a, std::uint32_t place, std::uint32_t length) {
    using U = std::make_unsigned_t<T>;
    constexpr std::uint32_t last = 8 * sizeof(T) - 1;
    place &= 255, length &= 255;
    const std::uint32_t end = place + length - 1 < last ? place + length - 1 : last;
    const U sign = std::is_signed_v<T> && length > 0 ? U(a) >> end & 1 : 0;
    U field = 0;
    for (std::uint32_t i = 0; i <= last; ++i) {
        const bool is_there = i < length && place + i <= last;
        field |= (is_there ? U(a) >> (place + i) & 1 : sign) << i;
    }
    return T(field);
}
template <typename T>
T bfi(T field, T into, std::uint32_t place, std::uint32_t length) {
    constexpr std::uint32_t last = 8 * sizeof(T) - 1;
    place &= 255, length &= 255;
    for (std::uint32_t i = 0; i < length && place + i <= last; ++i) {
        into = T((into & ~(T(1) << (place + i))) | (field >> i & 1) << (place + i));
    }
    return into;
}

// Bit i of the table is what three bits become that make up the number i, the first one's highest.
template <typename T>
T lop3(T a, T b, T c, T table) {
    T result = 0;
    for (unsigned i = 0; i < 8; ++i) {
        if (table >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    }
    return result;
}

// Bytes by their numbers in nibbles, which a table gives for each of four selectors.
inline std::uint32_t prmt_plain(std::uint32_t a, std::uint32_t b, std::uint32_t selector) { return __byte_perm(a, b, selector); }
#define AMK_BYTES(NAME, FIRST, SECOND, THIRD, FOURTH)                                               \
    inline std::uint32_t prmt_##NAME(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {    \
        const std::uint32_t tables[] = {FIRST, SECOND, THIRD, FOURTH};                              \
        return __byte_perm(a, b, tables[selector & 3]);                                             \
    }
AMK_BYTES(f4e, 0x3210, 0x4321, 0x5432, 0x6543)
AMK_BYTES(b4e, 0x5670, 0x6701, 0x7012, 0x0123)
AMK_BYTES(rc8, 0x0000, 0x1111, 0x2222, 0x3333)
AMK_BYTES(ecl, 0x3210, 0x3211, 0x3222, 0x3333)
AMK_BYTES(ecr, 0x0000, 0x1110, 0x2210, 0x3210)
AMK_BYTES(rc16, 0x1010, 0x3232, 0x1010, 0x3232)
#undef AMK_BYTES

template <typename T>
T selp(T a, T b, bool holds) { return holds ? a : b; }

template <bool SIGNED>
std::int64_t byte_of(std::uint32_t word, int i) {
    const std::uint8_t byte = std::uint8_t(word >> 8 * i);
    return SIGNED ? std::int64_t(std::int8_t(byte)) : std::int64_t(byte);
}
template <bool SIGNED>
std::int64_t short_of(std::uint32_t word, int i) {
    const std::uint16_t half = std::uint16_t(word >> 16 * i);
    return SIGNED ? std::int64_t(std::int16_t(half)) : std::int64_t(half);
}
template <bool A, bool B, typename T>
T dp4a(std::uint32_t a, std::uint32_t b, T sum) {
    std::int64_t all = sum;
    for (int i = 0; i < 4; ++i) all += byte_of<A>(a, i) * byte_of<B>(b, i);
    return T(all);
}
template <bool A, bool B, typename T>
T dp2alo(std::uint32_t a, std::uint32_t b, T sum) {
    return T(sum + short_of<A>(a, 0) * byte_of<B>(b, 0) + short_of<A>(a, 1) * byte_of<B>(b, 1));
}
template <bool A, bool B, typename T>
T dp2ahi(std::uint32_t a, std::uint32_t b, T sum) {
    return T(sum + short_of<A>(a, 0) * byte_of<B>(b, 2) + short_of<A>(a, 1) * byte_of<B>(b, 3));
}

template <typename T>
bool is_finite(T a) { return fabs(a) < __builtin_inf(); }
template <typename T>
bool is_infinite(T a) { return fabs(a) == __builtin_inf(); }
template <typename T>
bool is_number(T a) { return !is_nan(a); }
template <typename T>
bool is_notanumber(T a) { return is_nan(a); }
template <typename T>
bool is_normal(T a) { return is_finite(a) && fabs(a) >= std::numeric_limits<T>::min(); }
template <typename T>
bool is_subnormal(T a) { return a != 0 && fabs(a) < std::numeric_limits<T>::min(); }

// Comparisons: of numbers, those of a NaN do not hold, and those with a `u` do.
template <unsigned MODE, typename T>
auto compared(T a) {
    if constexpr (is_half<T>) {
        return float(taken<MODE>(a));
    } else {
        return taken<MODE>(a);
    }
}
#define AMK_COMPARISON(NAME, EXPRESSION)                                \
    template <unsigned MODE, typename T>                                \
    bool compare_##NAME(T a, T b) {                                     \
        const auto x = compared<MODE>(a), y = compared<MODE>(b);        \
        const bool unordered = is_nan(x) || is_nan(y);                  \
        (void)unordered;                                                \
        return EXPRESSION;                                              \
    }
AMK_COMPARISON(eq, x == y)
AMK_COMPARISON(ne, x != y && !unordered)
AMK_COMPARISON(lt, x < y)
AMK_COMPARISON(le, x <= y)
AMK_COMPARISON(gt, x > y)
AMK_COMPARISON(ge, x >= y)
AMK_COMPARISON(lo, x < y)
AMK_COMPARISON(ls, x <= y)
AMK_COMPARISON(hi, x > y)
AMK_COMPARISON(hs, x >= y)
AMK_COMPARISON(equ, x == y || unordered)
AMK_COMPARISON(neu, x != y || unordered)
AMK_COMPARISON(ltu, x < y || unordered)
AMK_COMPARISON(leu, x <= y || unordered)
AMK_COMPARISON(gtu, x > y || unordered)
AMK_COMPARISON(geu, x >= y || unordered)
AMK_COMPARISON(num, !unordered)
AMK_COMPARISON(nan, unordered)
#undef AMK_COMPARISON

// A block of a cluster, of which there is one.
template <typename T>
T of_block_of_cluster(T address, std::uint32_t block) {
    if (block != 0) fault("a kernel asks for block %u of a cluster: on the CPU each block is a cluster of its own", block);
    return address;
}

}  // namespace shim::ptx
