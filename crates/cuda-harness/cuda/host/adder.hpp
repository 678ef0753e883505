// The adder of matrix units on the CPU: the weakest that the accumulator `truncating` covers (NUM-06). Each product and the running sum are cut off
// below 24 bits of the largest.
#pragma once

#include "shim.hpp"

// 2 to a power that binary64 has as a normal number.
AMK_DEVICE double amk_power_of_two(int exponent) { return std::bit_cast<double>(std::uint64_t(1023 + exponent) << 52); }

// The sum of products and what was there before, none of which is rounded, each cut off below the 24 bits of the largest. All are far from the ends of
// binary64.
AMK_DEVICE float amk_truncating_sum(const double* terms, int count) {
    double largest = 0.0, plain = 0.0;
    for (int i = 0; i < count; ++i) {
        plain += terms[i];
        if (std::fabs(terms[i]) > largest) largest = std::fabs(terms[i]);
    }
    // Infinities and NaN are as of any sum.
    if (!(std::fabs(plain) < 1e300) || largest == 0.0) return float(plain);
    const int last = int(std::bit_cast<std::uint64_t>(largest) >> 52) - 1023 - 23;
    const double scale = amk_power_of_two(-last);
    std::int64_t sum = 0;
    for (int i = 0; i < count; ++i) sum += std::int64_t(terms[i] * scale);
    // At most 30 bits before the point: 24 of them are kept.
    const int excess = 40 - std::countl_zero(std::uint64_t(sum < 0 ? -sum : sum));
    if (excess > 0) sum = sum / (std::int64_t(1) << excess) * (std::int64_t(1) << excess);
    return float(double(sum) * amk_power_of_two(last));
}
