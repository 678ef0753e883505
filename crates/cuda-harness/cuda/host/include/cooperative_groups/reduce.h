// What lanes of a warp have, put together.
#pragma once

#include "cooperative_groups.h"

namespace cooperative_groups {

#define AMK_OPERATOR(NAME, EXPRESSION)                             \
    template <typename T>                                          \
    struct NAME {                                                  \
        T operator()(T a, T b) const { return T(EXPRESSION); }     \
    };
AMK_OPERATOR(plus, a + b)
AMK_OPERATOR(less, b < a ? b : a)
AMK_OPERATOR(greater, a < b ? b : a)
AMK_OPERATOR(bit_and, a & b)
AMK_OPERATOR(bit_or, a | b)
AMK_OPERATOR(bit_xor, a ^ b)
#undef AMK_OPERATOR

// Those of the lanes that a mask has, of which there is one.
template <typename T, typename F>
T put_together(const shim::Gathered& all, unsigned lanes, F f) {
    T result = shim::of_word<T>(all.words[std::countr_zero(lanes)]);
    while ((lanes &= lanes - 1) != 0) result = f(result, shim::of_word<T>(all.words[std::countr_zero(lanes)]));
    return result;
}

template <typename T, typename F>
T reduce(const lanes_of_warp& group, T value, F f) {
    const shim::Gathered all = shim::gather("reduce", group.mask_of_lanes(), shim::word_of(value));
    return put_together<T>(all, all.lanes, f);
}

}  // namespace cooperative_groups
