// CUDA's functions of a warp. The lanes that the mask names meet, and of each other they see what they handed in; who returned has not.
#pragma once

inline unsigned amk_lane() { return threadIdx.x % 32; }

namespace shim {

template <typename T>
T of_word(std::uint64_t word) {
    T value;
    std::memcpy(&value, &word, sizeof(T));
    return value;
}

template <typename T>
std::uint64_t word_of(const T& value) {
    static_assert(sizeof(T) <= sizeof(std::uint64_t), "a function of a warp takes values of up to 8 bytes");
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof(T));
    return word;
}

// What a lane has. Of one that does not take part, it is not defined.
template <typename T>
T shuffle(const char* function, unsigned mask, const T& value, unsigned from) {
    const Gathered all = gather(function, mask, word_of(value));
    if ((all.lanes >> from & 1) == 0) {
        const char* why = mask >> from & 1 ? ", which has returned" : ", which the mask does not name";
        fault_of(amk_lane(), "reads in %s(0x%08x) from lane %u%s", function, mask, from, why);
    }
    return of_word<T>(all.words[from]);
}

// The first lane of the caller's group of so many, and the last one.
inline unsigned first_of(const char* function, int width) {
    if (width == 32) return 0;
    if (width <= 0 || width > 32 || (width & (width - 1)) != 0) {
        fault_of(amk_lane(), "calls %s with the width %d, which is no power of two up to 32", function, width);
    }
    return amk_lane() & ~unsigned(width - 1);
}

inline unsigned last_of(const char* function, int width) { return first_of(function, width) + unsigned(width) - 1; }

// The values of all lanes that take part, put together.
template <typename T, typename F>
T reduce(const char* function, unsigned mask, T value, F f) {
    const Gathered all = gather(function, mask, word_of(value));
    for (unsigned lane = 0; lane < WARP; ++lane) {
        if (all.lanes & ~(1u << amk_lane()) & 1u << lane) value = f(value, of_word<T>(all.words[lane]));
    }
    return value;
}

// The lanes that take part and have handed in this word.
inline unsigned alike(const Gathered& all, std::uint64_t word) {
    unsigned lanes = 0;
    for (unsigned lane = 0; lane < WARP; ++lane) {
        if (all.lanes >> lane & 1 && all.words[lane] == word) lanes |= 1u << lane;
    }
    return lanes;
}

}  // namespace shim

template <typename T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
    const unsigned first = shim::first_of("__shfl_sync", width);
    return shim::shuffle("__shfl_sync", mask, value, first + unsigned(from) % unsigned(width));
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
    const unsigned from = amk_lane() ^ (unsigned(lanes) & 31);
    return shim::shuffle("__shfl_xor_sync", mask, value, from <= shim::last_of("__shfl_xor_sync", width) ? from : amk_lane());
}

template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    const unsigned from = amk_lane() + (delta & 31);
    return shim::shuffle("__shfl_down_sync", mask, value, from <= shim::last_of("__shfl_down_sync", width) ? from : amk_lane());
}

template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    const unsigned first = shim::first_of("__shfl_up_sync", width);
    const bool within = amk_lane() >= first + (delta & 31);
    return shim::shuffle("__shfl_up_sync", mask, value, within ? amk_lane() - (delta & 31) : amk_lane());
}

inline unsigned __ballot_sync(unsigned mask, int holds) { return shim::alike(shim::gather("__ballot_sync", mask, holds != 0), 1); }
inline int __any_sync(unsigned mask, int holds) { return shim::alike(shim::gather("__any_sync", mask, holds != 0), 1) != 0; }
inline int __all_sync(unsigned mask, int holds) { return shim::alike(shim::gather("__all_sync", mask, holds != 0), 0) == 0; }
inline void __syncwarp(unsigned mask = 0xffffffffu) { (void)shim::gather("__syncwarp", mask, 0); }

template <typename T>
unsigned __match_any_sync(unsigned mask, T value) {
    return shim::alike(shim::gather("__match_any_sync", mask, shim::word_of(value)), shim::word_of(value));
}

template <typename T>
unsigned __match_all_sync(unsigned mask, T value, int* all_match) {
    const shim::Gathered all = shim::gather("__match_all_sync", mask, shim::word_of(value));
    *all_match = shim::alike(all, shim::word_of(value)) == all.lanes;
    return *all_match ? all.lanes : 0;
}

#define AMK_REDUCE(NAME, T, EXPRESSION) \
    inline T NAME(unsigned mask, T value) { return shim::reduce(#NAME, mask, value, [](T a, T b) -> T { return EXPRESSION; }); }
AMK_REDUCE(__reduce_add_sync, unsigned, a + b)
AMK_REDUCE(__reduce_min_sync, unsigned, b < a ? b : a)
AMK_REDUCE(__reduce_max_sync, unsigned, b > a ? b : a)
AMK_REDUCE(__reduce_and_sync, unsigned, a & b)
AMK_REDUCE(__reduce_or_sync, unsigned, a | b)
AMK_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
AMK_REDUCE(__reduce_add_sync, int, int(unsigned(a) + unsigned(b)))
AMK_REDUCE(__reduce_min_sync, int, b < a ? b : a)
AMK_REDUCE(__reduce_max_sync, int, b > a ? b : a)
#undef AMK_REDUCE

// The lanes that happen to be together: on the CPU each is by itself, which no GPU promises to do better.
inline unsigned __activemask() { return 1u << amk_lane(); }
