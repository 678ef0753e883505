// Conversions of PTX (`cvt`).
#pragma once

#include "arithmetic.hpp"

namespace shim::ptx {

template <typename T>
double number(T value) {
    if constexpr (is_half<T>) {
        return double(float(value));
    } else {
        return double(value);
    }
}
template <typename Format>
double number(Byte<Format> value) {
    return double(Format::decode(value.code));
}

// To a whole number in a direction.
template <unsigned MODE>
double whole(double value) {
    switch (MODE & DIRECTION) {
        case RZ: return trunc(value);
        case RM: return floor(value);
        case RP: return ceil(value);
        default: return nearbyint(value);
    }
}

// What is too large becomes the largest one.
template <typename T>
T limited(double value) {
    constexpr double least = double(std::numeric_limits<T>::min());
    // One more than the largest, which is a power of two.
    constexpr double beyond = 2.0 * double(std::uint64_t(1) << (8 * sizeof(T) - (std::is_signed_v<T> ? 2 : 1)));
    return value < least ? std::numeric_limits<T>::min() : value >= beyond ? std::numeric_limits<T>::max() : T(value);
}

template <typename Format, unsigned MODE>
Byte<Format> to_byte(double value) {
    if (is_nan(value)) return {0x7f};
    if (MODE & RELU && value <= 0.0) value = 0.0;
    // Beyond the largest one, which both formats keep.
    const double most = std::is_same_v<Format, amk_e4m3> ? 448.0 : 57344.0;
    if (fabs(value) > most) value = copysign(most, value);
    return {std::uint8_t(Format::encode(to_odd(value)))};
}

// The bits of binary32 that are no bits of TF32 are zeros.
template <unsigned MODE>
TF32 to_tf32(float value) {
    const std::uint32_t bits = __float_as_uint(value);
    if (is_nan(value)) return {0x7fffffffu};
    if (fabsf(value) == __builtin_inff()) return {bits};
    std::uint32_t up = 0x1000u;
    if ((MODE & DIRECTION) == RZ) up = 0;
    if ((MODE & AWAY) == 0 && (MODE & DIRECTION) == RN) up = 0xfffu + (bits >> 13 & 1u);
    const std::uint32_t code = (bits + up) & ~0x1fffu;
    return {MODE & RELU && code >> 31 ? 0u : code};
}

template <typename To, unsigned MODE, typename From>
To convert(From from) {
    if constexpr (is_pair<To>) {
        using One = decltype(To::low);
        if constexpr (is_pair<From>) return {convert<One, MODE>(from.low), convert<One, MODE>(from.high)};
        else wrong("a pair of numbers is converted to from one");
    } else if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
        const __int128 exact = from, least = std::numeric_limits<To>::min(), most = std::numeric_limits<To>::max();
        return MODE & SAT ? To(exact < least ? least : exact > most ? most : exact) : To(exact);
    } else if constexpr (std::is_integral_v<To>) {
        double value = number(from);
        if (MODE & FTZ && fabs(value) < 0x1p-126) value = 0.0;
        // NaN becomes 0, or where either has 64 bits, the number in the middle.
        constexpr To middle = sizeof(To) == 8 || sizeof(From) == 8 ? To(std::uint64_t(1) << (8 * sizeof(To) - 1)) : To(0);
        return is_nan(value) ? middle : limited<To>(whole<MODE>(value));
    } else if constexpr (std::is_integral_v<From>) {
        if constexpr (is_half<To>) {
            // Integers of 64 bits are rounded before, to the 53 of binary64.
            return to_half<To, MODE>(double(from));
        } else {
            return rounded<MODE & DIRECTION, To>([](From x) { return To(x); }, from);
        }
    } else if constexpr (std::is_same_v<To, TF32>) {
        return to_tf32<MODE>(float(number(from)));
    } else if constexpr (is_byte<To>) {
        if constexpr (std::is_same_v<To, E4M3>) return to_byte<amk_e4m3, MODE>(number(from));
        else return to_byte<amk_e5m2, MODE>(number(from));
    } else {
        double value = number(from);
        if (std::is_same_v<From, float> && MODE & FTZ && fabs(value) < 0x1p-126) value = copysign(0.0, value);
        if (MODE & WHOLE) value = whole<MODE>(value);
        if constexpr (is_half<To>) {
            return to_half<To, MODE & WHOLE ? MODE & ~DIRECTION : MODE>(value);
        } else if constexpr (std::is_same_v<To, float>) {
            constexpr unsigned mode = MODE & WHOLE ? MODE & ~DIRECTION : MODE;
            if (is_nan(value)) return finished<mode & ~FTZ>(float(value));
            if constexpr ((mode & DIRECTION) == RN) return finished<mode>(float(value));
            return finished<mode>(directed<DIRECTIONS[mode & DIRECTION], float>([](double x) { return float(x); }, value));
        } else {
            return MODE & SAT ? (value > 0.0 ? fmin(value, 1.0) : 0.0) : value;
        }
    }
}

// Two numbers to a pair, the first one in its upper half.
template <typename To, unsigned MODE, typename From>
To convert(From high, From low) {
    using One = decltype(To::low);
    return {convert<One, MODE>(low), convert<One, MODE>(high)};
}

}  // namespace shim::ptx
