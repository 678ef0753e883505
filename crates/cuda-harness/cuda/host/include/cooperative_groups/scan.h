// What lanes of a warp up to each have, put together.
#pragma once

#include "cooperative_groups/reduce.h"

namespace cooperative_groups {

template <typename T, typename F = plus<T>>
T inclusive_scan(const lanes_of_warp& group, T value, F f = {}) {
    const shim::Gathered all = shim::gather("inclusive_scan", group.mask_of_lanes(), shim::word_of(value));
    return put_together<T>(all, all.lanes & ((2u << amk_lane()) - 1), f);
}

// Of the first lane, 0.
template <typename T, typename F = plus<T>>
T exclusive_scan(const lanes_of_warp& group, T value, F f = {}) {
    const shim::Gathered all = shim::gather("exclusive_scan", group.mask_of_lanes(), shim::word_of(value));
    const unsigned before = all.lanes & ((1u << amk_lane()) - 1);
    return before == 0 ? T() : put_together<T>(all, before, f);
}

}  // namespace cooperative_groups
