// Registers of PTX and what they hold, for instructions that the harness has written as C++ (src/host/ptx.rs). By NVIDIA's PTX ISA.
//
// A register is so many bits: an unsigned integer, or `bool` for a predicate. An instruction says what it takes them for.
#pragma once

#include "../halves.hpp"

#include <bit>

namespace shim::ptx {

// How an instruction rounds, and what else its name says of the result. A direction alone is of its numbers; with WHOLE, to integers.
constexpr unsigned RN = 0, RZ = 1, RM = 2, RP = 3, DIRECTION = 3;
constexpr unsigned AWAY = 1 << 2, WHOLE = 1 << 3, FTZ = 1 << 4, SAT = 1 << 5, FINITE = 1 << 6, RELU = 1 << 7, KEEPS_NAN = 1 << 8;
constexpr unsigned MAGNITUDE = 1 << 9, APPROX = 1 << 10, SHIFT = 1 << 11;

// An immediate, which has as many bits as it needs.
struct Constant {
    long long value;
};

// Where a result goes that nobody wants.
struct Nowhere {};
inline Nowhere nowhere;

// Two numbers in one register, the first one in its lower half.
template <typename T>
struct Pair {
    T low, high;
};

using F16 = Half<amk_f16>;
using BF16 = Half<amk_bf16>;
using F16x2 = Pair<F16>;
using BF16x2 = Pair<BF16>;
using F32x2 = Pair<float>;
template <typename Format>
struct Byte {
    std::uint8_t code;
};
using E4M3 = Byte<amk_e4m3>;
using E5M2 = Byte<amk_e5m2>;
using E4M3x2 = Pair<E4M3>;
using E5M2x2 = Pair<E5M2>;
// The upper 19 bits of binary32, in a register of 32.
struct TF32 {
    std::uint32_t bits;
};

// What no instruction has set: in most types NaN.
template <typename Bits>
Bits unset() {
    return Bits(~Bits(0));
}

// An operand of the statement as a register.
template <typename Bits, typename T>
Bits bits(const T& value) {
    if constexpr (std::is_array_v<T>) {
        return bits<Bits>(&value[0]);
    } else if constexpr (std::is_function_v<T>) {
        return bits<Bits>(&value);
    } else {
        static_assert(sizeof(T) == sizeof(Bits), "inline PTX: an operand has more or fewer bits than its constraint says");
        return std::bit_cast<Bits>(value);
    }
}

// A register as an operand of the statement.
template <typename T, typename Bits>
void give(T& place, Bits bits) {
    static_assert(sizeof(T) == sizeof(Bits), "inline PTX: an operand has more or fewer bits than its constraint says");
    place = std::bit_cast<std::remove_cv_t<T>>(bits);
}

// What an assembler would not take. That is said when it is come to: what nobody calls, nobody assembles.
[[noreturn]] inline void wrong(const char* what) { fault("the kernel comes to PTX that is wrong: %s", what); }
constexpr const char* OTHER_BITS = "a register has more or fewer bits than the type of its instruction";

// A source as what an instruction takes it for.
template <typename T, typename Bits>
T as(Bits bits) {
    if constexpr (sizeof(T) == sizeof(Bits) && std::is_same_v<T, bool> == std::is_same_v<Bits, bool>) {
        return std::bit_cast<T>(bits);
    } else {
        wrong(OTHER_BITS);
    }
}
template <typename T>
T as(Constant constant) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, unsigned __int128>) {
        return T(constant.value);
    } else {
        return std::bit_cast<T>(std::conditional_t<sizeof(T) == 1, std::uint8_t, Bits<T>>(constant.value));
    }
}

// The same of a register that may have more bits, of which the lower ones count.
template <typename T, typename Bits>
T part(Bits bits) {
    if constexpr (sizeof(T) > sizeof(Bits)) wrong(OTHER_BITS);
    T value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof(T) < sizeof(Bits) ? sizeof(T) : sizeof(Bits));
    return value;
}
template <typename T>
T part(Constant constant) {
    return as<T>(constant);
}

// A result in a register.
template <typename T, typename Bits>
void put(Bits& place, std::type_identity_t<T> value) {
    if constexpr (std::is_same_v<Bits, Nowhere>) {
        return;
    } else if constexpr (sizeof(T) == sizeof(Bits) && std::is_same_v<T, bool> == std::is_same_v<Bits, bool>) {
        place = std::bit_cast<Bits>(value);
    } else {
        wrong(OTHER_BITS);
    }
}

// The same where the register may have more bits: integers keep their sign, and of all others they are zeros.
template <typename T, typename Bits>
void put_part(Bits& place, std::type_identity_t<T> value) {
    if constexpr (!std::is_same_v<Bits, Nowhere>) {
        if constexpr (sizeof(T) > sizeof(Bits) || std::is_same_v<Bits, bool>) {
            wrong(OTHER_BITS);
        } else if constexpr (std::is_integral_v<T> || std::is_same_v<T, unsigned __int128>) {
            place = Bits(value);
        } else {
            place = 0;
            std::memcpy(&place, &value, sizeof(T));
        }
    }
}

// Registers side by side, the first one lowest.
template <typename T, typename... Each>
T packed(Each... each) {
    constexpr std::size_t bytes = sizeof(T) / sizeof...(Each);
    unsigned char all[sizeof(T)];
    std::size_t at = 0;
    const auto add = [&](auto one) {
        if constexpr (std::is_same_v<decltype(one), Constant>) {
            std::memcpy(all + at, &one.value, bytes);
        } else {
            if (sizeof one != bytes) wrong(OTHER_BITS);
            std::memcpy(all + at, &one, bytes);
        }
        at += bytes;
    };
    (add(each), ...);
    T value;
    std::memcpy(static_cast<void*>(&value), all, sizeof(T));
    return value;
}

template <typename T, typename... Each>
void unpack(T value, Each&... each) {
    constexpr std::size_t bytes = sizeof(T) / sizeof...(Each);
    const unsigned char* from = reinterpret_cast<const unsigned char*>(&value);
    const auto take = [&](auto& one) {
        if constexpr (!std::is_same_v<std::remove_reference_t<decltype(one)>, Nowhere>) {
            if (sizeof one != bytes) wrong(OTHER_BITS);
            std::memcpy(&one, from, bytes);
        }
        from += bytes;
    };
    (take(each), ...);
}

}  // namespace shim::ptx
