// A product of `tcgen05.mma` by its descriptors, by NVIDIA's PTX ISA.
#pragma once

#include "../numeric.cuh"
#include "adder.hpp"
#include "operands.hpp"
#include "products.hpp"

#include <algorithm>
#include <vector>

namespace shim {

// Tensor memory of a block: lanes of words. An address has the lane in its upper half, and the column in the lower one.
constexpr unsigned TENSOR_LANES = 128, TENSOR_COLUMNS = 512;
// What an instruction takes along K, in bytes of a line and in columns.
constexpr unsigned TENSOR_BYTES_OF_K = 32, TENSOR_COLUMNS_OF_K = TENSOR_BYTES_OF_K / 4;

enum class TensorNumber { F16, BF16, TF32, E4M3, E5M2, U8, S8 };

inline unsigned bytes_of(TensorNumber number) {
    return number == TensorNumber::TF32 ? 4 : number == TensorNumber::F16 || number == TensorNumber::BF16 ? 2 : 1;
}

// The number of which these are the lower bits of a word.
inline double number_of(TensorNumber number, std::uint32_t bits) {
    switch (number) {
    case TensorNumber::F16: return amk_f16::decode(bits & 0xffffu);
    case TensorNumber::BF16: return amk_bf16::decode(bits & 0xffffu);
    // What TF32 has no room for is cut off.
    case TensorNumber::TF32: return __uint_as_float(bits & 0xffffe000u);
    case TensorNumber::E4M3: return amk_e4m3::decode(bits & 0xffu);
    case TensorNumber::E5M2: return amk_e5m2::decode(bits & 0xffu);
    case TensorNumber::U8: return std::uint8_t(bits);
    default: return std::int8_t(bits);
    }
}

// What an instruction descriptor says.
struct TensorInstruction {
    TensorNumber a, b;
    bool saturates, to_half, negates_a, negates_b, a_by_columns, b_by_columns;
    unsigned m, n;

    TensorInstruction(TensorKind kind, std::uint32_t bits) {
        const auto field = [&](unsigned first, unsigned count) { return bits >> first & ((1u << count) - 1); };
        const auto check = [&](bool holds, const char* why) {
            if (!holds) fault("0x%08x is no instruction descriptor of such a tcgen05.mma: %s", bits, why);
        };
        const bool is_integer = kind == TensorKind::I8;
        constexpr std::uint32_t RESERVED = 1u << 6 | 1u << 23 | 1u << 29;
        check((bits & RESERVED) == 0, "a reserved bit is set");
        check(field(0, 3) == 0 && field(30, 2) == 0, "it is of a sparse or another product");
        check(is_integer || field(3, 1) == 0, "floats do not saturate");
        check(!is_integer || field(13, 2) == 0, "integers are not negated");
        to_half = field(4, 2) == 0;
        check(is_integer ? field(4, 2) == 2 : field(4, 2) == 1 || (to_half && kind != TensorKind::TF32), "no such sums");
        const auto number = [&](unsigned code) {
            using enum TensorNumber;
            if (kind == TensorKind::F8 && (code == 3 || code == 4 || code == 5)) fault("floats of 4 and 6 bits are not there on the CPU");
            check(kind == TensorKind::TF32 ? code == 2 : code < 2, "no such factors");
            constexpr TensorNumber ALL[][2] = {{F16, BF16}, {TF32, TF32}, {E4M3, E5M2}, {U8, S8}};
            return ALL[unsigned(kind)][code % 2];
        };
        a = number(field(7, 3));
        b = number(field(10, 3));
        check(!to_half || kind != TensorKind::F16 || (a == TensorNumber::F16 && b == TensorNumber::F16), "sums of F16 are of factors of F16");
        saturates = field(3, 1);
        negates_a = field(13, 1);
        negates_b = field(14, 1);
        a_by_columns = field(15, 1);
        b_by_columns = field(16, 1);
        n = field(17, 6) * 8;
        m = field(24, 5) * 16;
        check(m == 64 || m == 128, "M is neither 64 nor 128");
        // Of integers beyond 32, there is only each other N.
        check(n >= 8 && n <= 256 && (!is_integer || n % 16 == 0 || n < 32), "there is no such N");
        check(!b_by_columns || bytes_of(b) != 1 || n % 16 == 0, "of bytes that lie by columns N is a multiple of 16");
    }
};

// The matrix in shared memory that a descriptor describes.
inline Lying tensor_operand(std::uint64_t descriptor, bool by_columns, TensorNumber number) {
    constexpr std::uint64_t FIELDS = 0xe00e'3fff'3fff'3fff, VERSION = std::uint64_t(1) << 46, BASE = 0x000e'0000'0000'0000, ABSOLUTE = std::uint64_t(1) << 52;
    constexpr unsigned WIDTHS[] = {0, 128, 128, 0, 64, 0, 32, 0};
    const unsigned swizzle = unsigned(descriptor >> 61);
    if ((descriptor & ABSOLUTE) != 0 || (descriptor & BASE) != 0) fault("a descriptor with a base offset or an absolute address is not there on the CPU");
    if ((descriptor & ~FIELDS) != VERSION || swizzle == 3 || swizzle == 5 || swizzle == 7) {
        fault("0x%016llx is no descriptor of a matrix for tcgen05", static_cast<unsigned long long>(descriptor));
    }
    const bool by_32 = swizzle == 1, is_by_columns_of_words = by_columns && bytes_of(number) == 4;
    if (by_32 != is_by_columns_of_words) fault("a swizzle by 32 bytes is for words that lie by columns, and those have no other");
    return {descriptor, WIDTHS[swizzle], by_columns, by_32};
}

// A product that goes on.
struct TensorProductBegun : TensorProduct {
    TensorInstruction of;
    unsigned thread;
    std::uint64_t number;
    const char* doing;
    // The operands as they were, in the order in which they are read; of a first one in tensor memory, words.
    std::vector<Kept> of_a, of_b;
    std::vector<std::uint32_t> words_of_a;

    unsigned column() const { return to & 0xffffu; }
    unsigned lane() const { return to >> 16; }
    // Where row `i` lies, which of 64 is one of 16 of each 32.
    unsigned lane_of(unsigned i) const { return of.m == 128 ? i : lane() + i / 16 * 32 + i % 16; }
    bool leaves_out(unsigned lane) const { return left_out[lane / 32] >> lane % 32 & 1; }

    bool has(unsigned lane) const { return of.m == 128 || lane % 32 / 16 == this->lane() / 16; }
    // Whether it writes a word, or reads it as a factor.
    bool writes(unsigned lane, unsigned column) const { return column - this->column() < of.n && has(lane) && !leaves_out(lane); }
    bool reads(unsigned lane, unsigned column) const { return a_in_tensor && column - std::uint32_t(a & 0xffffu) < TENSOR_COLUMNS_OF_K && has(lane); }
};

// Rows of a factor, as numbers.
struct TensorRows {
    unsigned k;
    std::vector<double> all;
    // Of which all numbers are 0, and of which all are finite.
    std::vector<char> are_zero, are_finite;

    // `bits` of a row and an element of it.
    template <typename Bits>
    AMK_OWN TensorRows(unsigned rows, TensorNumber number, bool negates, Bits bits) : k(TENSOR_BYTES_OF_K / bytes_of(number)), are_zero(rows, true), are_finite(rows, true) {
        all.reserve(std::size_t(rows) * k);
        for (unsigned row = 0; row < rows; ++row) {
            for (unsigned i = 0; i < k; ++i) {
                const double value = number_of(number, bits(row, i));
                all.push_back(negates ? -value : value);
                are_zero[row] &= value == 0.0;
                are_finite[row] &= std::fabs(value) < 1e300;
            }
        }
    }
    const double* of(unsigned row) const { return all.data() + std::size_t(row) * k; }
};

// Which of the parts that `read_operand` reads has an element, and where in it.
inline std::uint32_t part_of(const std::vector<Kept>& parts, bool by_columns, unsigned lines, unsigned line, unsigned k, unsigned bytes) {
    const unsigned part = by_columns ? k * (lines * bytes / 16) + line * bytes / 16 : line * (TENSOR_BYTES_OF_K / 16) + k * bytes / 16;
    std::uint32_t word = 0;
    std::memcpy(&word, parts[part].was + (by_columns ? line : k) * bytes % 16, bytes);
    return word;
}

AMK_OWN inline std::vector<Kept> read_operand(const Lying& lying, unsigned lines, unsigned bytes, const Variables& variables) {
    std::vector<Kept> parts;
    const unsigned each = 16 / bytes, k = TENSOR_BYTES_OF_K / bytes;
    const auto read = [&](unsigned line, unsigned k) {
        const unsigned char* const place = variables.at(lying.address(line, k, bytes), 16);
        variables.check_known(place, 16, "tcgen05.mma");
        parts.emplace_back(place);
    };
    parts.reserve(std::size_t(lines) * 2);
    if (lying.by_columns) {
        for (unsigned i = 0; i < k; ++i) {
            for (unsigned line = 0; line < lines; line += each) read(line, i);
        }
    } else {
        for (unsigned line = 0; line < lines; ++line) {
            for (unsigned i = 0; i < k; i += each) read(line, i);
        }
    }
    return parts;
}

// What becomes of an element of it.
inline std::uint32_t sum_of(const TensorProductBegun& product, const double* a, const double* b, unsigned k, std::uint32_t before, bool is_zero) {
    double terms[TENSOR_BYTES_OF_K + 1];
    if (product.kind == TensorKind::I8) {
        std::int64_t total = product.adds ? std::int32_t(before) : 0;
        for (unsigned i = 0; i < k; ++i) total += std::int64_t(a[i] * b[i]);
        return std::uint32_t(product.of.saturates ? std::clamp<std::int64_t>(total, INT32_MIN, INT32_MAX) : total);
    }
    const double held = !product.adds ? 0.0 : double(product.of.to_half ? amk_f16::decode(before & 0xffffu) : __uint_as_float(before)) * amk_power_of_two(-int(product.halved));
    float total = float(held + 0.0);
    if (!is_zero) {
        for (unsigned i = 0; i < k; ++i) terms[i] = a[i] * b[i];
        terms[k] = held;
        total = amk_truncating_sum(terms, int(k + 1));
    }
    return product.of.to_half ? amk_f16::encode(total) : __float_as_uint(total);
}

// Its sums, in the words of tensor memory, lane by lane.
AMK_OWN inline void multiply(const TensorProductBegun& product, std::uint32_t* words) {
    const TensorInstruction& of = product.of;
    const unsigned bytes_a = bytes_of(of.a), bytes_b = bytes_of(of.b);
    const TensorRows a(of.m, of.a, of.negates_a, [&](unsigned row, unsigned i) {
        if (!product.a_in_tensor) return part_of(product.of_a, of.a_by_columns, of.m, row, i, bytes_a);
        return product.words_of_a[row * TENSOR_COLUMNS_OF_K + i * bytes_a / 4] >> 8 * (i * bytes_a % 4);
    });
    const TensorRows b(of.n, of.b, of.negates_b, [&](unsigned row, unsigned i) { return part_of(product.of_b, of.b_by_columns, of.n, row, i, bytes_b); });
    for (unsigned i = 0; i < of.m; ++i) {
        const unsigned lane = product.lane_of(i);
        if (product.leaves_out(lane)) continue;
        std::uint32_t* const row = words + lane * TENSOR_COLUMNS + product.column();
        for (unsigned j = 0; j < of.n; ++j) {
            // Much of a tile may lie beyond what there is.
            const bool is_zero = (a.are_zero[i] && b.are_finite[j]) || (b.are_zero[j] && a.are_finite[i]);
            row[j] = sum_of(product, a.of(i), b.of(j), a.k, row[j], is_zero);
        }
    }
}

}  // namespace shim
