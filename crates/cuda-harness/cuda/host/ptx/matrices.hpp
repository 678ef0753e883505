// Matrix units as PTX has them, on the CPU: fragments by NVIDIA's PTX ISA, and the adder that is the weakest which `truncating` covers (../adder.hpp).
#pragma once

#include "../adder.hpp"
#include "conversions.hpp"
#include "memory.hpp"
#include "threads.hpp"

namespace shim::ptx {

// Registers that are set, and those that are read.
template <std::size_t N>
struct Places {
    std::uint32_t* at[N];
};
inline std::uint32_t* place_of(std::uint32_t& word) { return &word; }
inline std::uint32_t* place_of(Nowhere&) {
    static thread_local std::uint32_t unwanted;
    return &unwanted;
}
template <typename Bits>
std::uint32_t* place_of(Bits&) { wrong(OTHER_BITS); }
template <typename... Each>
Places<sizeof...(Each)> places(Each&... each) {
    return {{place_of(each)...}};
}
template <std::size_t N>
struct Registers {
    std::uint32_t at[N];
};
template <typename... Each>
Registers<sizeof...(Each)> registers(Each... each) {
    return {{as<std::uint32_t>(each)...}};
}

// The registers of all lanes.
template <std::size_t N>
struct OfWarp {
    std::uint64_t words[(N + 1) / 2][WARP];

    OfWarp(const char* name, const Registers<N>& own) {
        for (std::size_t i = 0; i < N; i += 2) {
            gather_all(name, own.at[i] | std::uint64_t(i + 1 < N ? own.at[i + 1] : 0) << 32, words[i / 2]);
        }
    }
    std::uint32_t of(unsigned lane, std::size_t i) const { return std::uint32_t(words[i / 2][lane] >> 32 * (i % 2)); }
};

template <typename T>
constexpr unsigned bits_of = 8 * sizeof(T);

// Element `i` of a register.
template <typename T>
auto element(std::uint32_t word, unsigned i) {
    if constexpr (std::is_integral_v<T>) {
        return std::int64_t(T(word >> bits_of<T> * i));
    } else if constexpr (std::is_same_v<T, TF32>) {
        // What TF32 has no room for is cut off.
        return double(__uint_as_float(word & 0xffffe000u));
    } else if constexpr (is_half<T>) {
        return double(float(T::of_bits(std::uint16_t(word >> 16 * i))));
    } else {
        return number(T{std::uint8_t(word >> 8 * i)});
    }
}

// d = a b + c, of 16 by K and K by 8. Of a, register r is of row l / 4, and eight more where r is odd; of b, of column l / 4. Each has as many
// neighbours of K as it has room for: those of lane l begin with l % 4 such, and four such more for each register, of a each other one. Of c and
// d a lane has two neighbours of row l / 4, and two of the row eight further.
template <unsigned K, bool SATURATES, typename D, typename A, typename B, typename C, std::size_t OF_D, std::size_t OF_A, std::size_t OF_B, std::size_t OF_C>
void multiply_fitting(Places<OF_D> d, const Registers<OF_A>& a, const Registers<OF_B>& b, const Registers<OF_C>& c) {
    constexpr unsigned N = 32 / bits_of<A>;
    const unsigned lane = amk_lane();
    const OfWarp<OF_A> of_a("mma.sync", a);
    const OfWarp<OF_B> of_b("mma.sync", b);
    decltype(element<A>(0, 0)) rows[2][K];
    decltype(element<B>(0, 0)) columns[2][K];
    for (unsigned k = 0; k < K; ++k) {
        const unsigned owner = k / N % 4, further = k / N / 4;
        for (unsigned i = 0; i < 2; ++i) {
            rows[i][k] = element<A>(of_a.of(lane / 4 * 4 + owner, 2 * further + i), k % N);
            columns[i][k] = element<B>(of_b.of((lane % 4 * 2 + i) * 4 + owner, further), k % N);
        }
    }
    for (unsigned i = 0; i < 4; ++i) {
        const auto &row = rows[i / 2], &column = columns[i % 2];
        if constexpr (std::is_integral_v<A>) {
            std::int64_t sum = std::int32_t(c.at[i]);
            for (unsigned k = 0; k < K; ++k) sum += row[k] * column[k];
            *d.at[i] = std::uint32_t(SATURATES ? limited<std::int32_t>(double(sum)) : std::int32_t(sum));
        } else {
            double terms[K + 1];
            for (unsigned k = 0; k < K; ++k) terms[k] = row[k] * column[k];
            terms[K] = bits_of<C> == 16 ? element<F16>(c.at[i / 2], i % 2) : double(__uint_as_float(c.at[i % OF_C]));
            const float sum = amk_truncating_sum(terms, K + 1);
            if constexpr (bits_of<D> == 16) {
                const std::uint32_t code = to_half<F16, RN>(sum).__x;
                *d.at[i / 2] = i % 2 == 0 ? code : *d.at[i / 2] | code << 16;
            } else {
                *d.at[i] = __float_as_uint(sum);
            }
        }
    }
}

template <unsigned K, bool SATURATES, typename D, typename A, typename B, typename C, std::size_t OF_D, std::size_t OF_A, std::size_t OF_B, std::size_t OF_C>
void multiply(Places<OF_D> d, const Registers<OF_A>& a, const Registers<OF_B>& b, const Registers<OF_C>& c) {
    constexpr unsigned N = 32 / bits_of<A>;
    constexpr bool fits = bits_of<A> == bits_of<B> && OF_A * N * WARP == 16 * K && OF_B * N * WARP == 8 * K &&
                          OF_C * 32 * WARP == 16 * 8 * bits_of<C> && OF_D * 32 * WARP == 16 * 8 * bits_of<D>;
    if constexpr (!fits) wrong("a product of matrices has other registers than its shape");
    else multiply_fitting<K, SATURATES, D, A, B, C>(d, a, b, c);
}

// The address of a row, of which only those count that an instruction asks for.
template <typename Base>
std::uint64_t row_address(Base base, long long offset) {
    return raw(base) + std::uint64_t(offset);
}

// The words of 16 bytes that a lane has named.
inline std::uint32_t* row_at(std::uint64_t address) {
    unsigned char* const row = place<SHARED_OR_ANY>(address, 0, 16);
    whole_vector(row, 16, "a row of a matrix");
    return reinterpret_cast<std::uint32_t*>(row);
}

// Matrices of 8 by 8 halves, of which lanes 8 i to 8 i + 7 name the rows of matrix i; each lane has word l % 4 of row l / 4 of each. Transposed, it has
// of two rows what stands in column l / 4.
template <bool TRANSPOSED, std::size_t N>
void load_matrices(std::uint64_t row, Places<N> words) {
    const unsigned lane = amk_lane();
    std::uint64_t rows[WARP];
    gather_all("ldmatrix.sync", row, rows);
    for (std::size_t matrix = 0; matrix < N; ++matrix) {
        const std::uint64_t* const of_matrix = rows + 8 * matrix;
        if (!TRANSPOSED) {
            *words.at[matrix] = row_at(of_matrix[lane / 4])[lane % 4];
        } else {
            const auto half = [&](unsigned r) { return row_at(of_matrix[r])[lane / 8] >> 16 * (lane / 4 % 2) & 0xffffu; };
            *words.at[matrix] = half(lane % 4 * 2) | half(lane % 4 * 2 + 1) << 16;
        }
    }
}

template <bool TRANSPOSED, std::size_t N>
void store_matrices(std::uint64_t row, const Registers<N>& words) {
    const unsigned lane = amk_lane();
    std::uint64_t rows[WARP];
    gather_all("stmatrix.sync", row, rows);
    for (std::size_t matrix = 0; matrix < N; ++matrix) {
        const std::uint64_t* const of_matrix = rows + 8 * matrix;
        if (!TRANSPOSED) {
            row_at(of_matrix[lane / 4])[lane % 4] = words.at[matrix];
        } else {
            for (unsigned i = 0; i < 2; ++i) {
                auto* const halves = reinterpret_cast<std::uint16_t*>(row_at(of_matrix[lane % 4 * 2 + i]));
                halves[lane / 4] = std::uint16_t(words.at[matrix] >> 16 * i);
            }
        }
    }
}

// A matrix whose rows lie as those that are loaded.
inline std::uint32_t transposed(std::uint32_t word) {
    std::uint64_t all[WARP];
    gather_all("movmatrix.sync", word, all);
    const unsigned lane = amk_lane();
    const auto half = [&](unsigned r) { return std::uint32_t(all[r * 4 + lane / 8] >> 16 * (lane / 4 % 2)) & 0xffffu; };
    return half(lane % 4 * 2) | half(lane % 4 * 2 + 1) << 16;
}

}  // namespace shim::ptx
