// The adder of matrix units on the CPU: the weakest that the accumulator `truncating` covers (NUM-06). Each product and the running sum are cut off
// below 24 bits of the largest.
#pragma once

#include "shim.hpp"

// The sum of products and what was there before, none of which is rounded, each cut off below the 24 bits of the largest.
AMK_DEVICE float amk_truncating_sum(const double* terms, int count) {
    double largest = 0.0, plain = 0.0;
    for (int i = 0; i < count; ++i) {
        plain += terms[i];
        if (std::fabs(terms[i]) > largest) largest = std::fabs(terms[i]);
    }
    // Infinities and NaN are as of any sum.
    if (!(std::fabs(plain) < 1e300) || largest == 0.0) return float(plain);
    const int last = std::ilogb(largest) - 23;
    double sum = 0.0;
    for (int i = 0; i < count; ++i) sum += std::trunc(std::ldexp(terms[i], -last));
    // At most 29 bits before the point: 24 of them are kept.
    const int excess = sum == 0.0 ? 0 : std::ilogb(sum) - 23;
    if (excess > 0) sum = std::ldexp(std::trunc(std::ldexp(sum, -excess)), excess);
    return float(std::ldexp(sum, last));
}
