// Products of matrices of four warps (`wgmma`), by NVIDIA's PTX ISA.
#pragma once

#include "../operands.hpp"
#include "matrices.hpp"

#include <bit>

namespace shim::ptx {

// A matrix in shared memory.
struct Matrix : Lying {
    Matrix(std::uint64_t descriptor, bool by_columns) : Lying(descriptor, WIDTHS[descriptor >> 62], by_columns) {
        constexpr std::uint64_t FIELDS = 0xc00e'3fff'3fff'3fff, BASE = 0x000e'0000'0000'0000;
        if ((descriptor & ~FIELDS) != 0) fault("0x%016llx is no descriptor of a matrix for wgmma", static_cast<unsigned long long>(descriptor));
        if ((descriptor & BASE) != 0) fault("a descriptor with a base offset is not there on the CPU");
    }

    template <typename T>
    auto element(unsigned line, unsigned k, bool keeps) const {
        const std::uint32_t at = address(line, k, sizeof(T));
        std::uint32_t word = 0;
        std::memcpy(&word, product_operand(at & ~15u, keeps) + at % 16, sizeof(T));
        return ptx::element<T>(word, 0);
    }

private:
    static constexpr unsigned WIDTHS[] = {0, 128, 64, 32};
};

// What the lane has of the first factor: two rows of the sixteen of its warp. From registers, which lie as those of `mma.sync`.
template <typename T, unsigned K>
struct Rows {
    decltype(element<T>(0, 0)) of[2][K];

    Rows(const Registers<4>& registers) {
        constexpr unsigned N = 32 / bits_of<T>;
        const OfWarp<4> all("wgmma.mma_async.sync", registers);
        for (unsigned i = 0; i < 2; ++i) {
            for (unsigned k = 0; k < K; ++k) of[i][k] = element<T>(all.of(amk_lane() / 4 * 4 + k / N % 4, 2 * (k / N / 4) + i), k % N);
        }
    }
    Rows(const Matrix& matrix) {
        const unsigned first = threadIdx.x / WARP % 4 * 16 + amk_lane() / 4;
        for (unsigned i = 0; i < 2; ++i) {
            for (unsigned k = 0; k < K; ++k) of[i][k] = matrix.element<T>(first + 8 * i, k, amk_lane() % 4 == 0);
        }
    }
};

// Of a register of sums.
inline Sum sum_of(std::uint32_t& now) { return {&now, &now}; }
template <typename Now, typename Later>
Sum sum_of(Now& now, Later& later) {
    if constexpr (sizeof(Now) != 4 || sizeof(Later) != 4) wrong(OTHER_BITS);
    else return {&now, reinterpret_cast<std::uint32_t*>(&later)};
}
template <std::size_t N>
struct Sums {
    Sum of[N];
};
template <typename... Each>
Sums<sizeof...(Each)> sums(Each... each) {
    return {{each...}};
}

// d = a b + d of 64 by N, or a b alone. Of every eight columns a lane has two neighbours, in each of its two rows.
template <unsigned N, unsigned K, bool SATURATES, typename D, typename A, typename B, std::size_t OF_D, typename First>
void multiply_group(Sums<OF_D> d, const First& first, const Matrix& second, bool adds, int sign_of_a, int sign_of_b) {
    constexpr bool is_half = bits_of<D> == 16;
    if constexpr (OF_D != N / 8 * (is_half ? 2 : 4)) {
        wrong("a product of matrices has other registers than its shape");
    } else {
        if (const int signs[] = {sign_of_a, sign_of_b}; std::abs(signs[0]) != 1 || std::abs(signs[1]) != 1) wrong("a factor of a wgmma is 1 or -1");
        products_begin();
        const Rows<A, K> rows(first);
        const bool keeps = threadIdx.x % (4 * WARP) < 4;
        for (unsigned pair = 0; pair < N / 4; ++pair) {
            const unsigned column = pair / 2 * 8 + amk_lane() % 4 * 2 + pair % 2;
            decltype(element<B>(0, 0)) of_column[K];
            for (unsigned k = 0; k < K; ++k) {
                // Of all lanes, the four of the first row have all columns between them.
                of_column[k] = second.element<B>(column, k, keeps);
            }
            for (unsigned i = 0; i < 2; ++i) {
                const Sum sum = d.of[is_half ? pair / 2 * 2 + i : pair / 2 * 4 + 2 * i + pair % 2];
                const std::uint32_t before = product_before(sum.later, *sum.now, adds);
                std::uint32_t after;
                if constexpr (std::is_integral_v<A>) {
                    std::int64_t total = adds ? std::int32_t(before) : 0;
                    for (unsigned k = 0; k < K; ++k) total += rows.of[i][k] * of_column[k];
                    after = std::uint32_t(SATURATES ? limited<std::int32_t>(double(total)) : std::int32_t(total));
                } else {
                    double terms[K + 1];
                    for (unsigned k = 0; k < K; ++k) terms[k] = rows.of[i][k] * of_column[k] * (sign_of_a * sign_of_b);
                    terms[K] = !adds ? 0.0 : is_half ? double(element<F16>(before, pair % 2)) : double(__uint_as_float(before));
                    const float total = amk_truncating_sum(terms, K + 1);
                    if constexpr (is_half) {
                        const std::uint32_t code = to_half<F16, RN>(total).__x, shift = 16 * (pair % 2);
                        after = (before & ~(0xffffu << shift)) | code << shift;
                    } else {
                        after = __float_as_uint(total);
                    }
                }
                *sum.now = product(sum.later, after);
            }
        }
    }
}

}  // namespace shim::ptx
