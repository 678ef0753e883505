// Matrix units on the CPU, written from the descriptions of ldmatrix, mma.sync and cp.async in NVIDIA's PTX ISA.
#pragma once

#include "adder.hpp"

AMK_DEVICE void amk_copy_begin(amk_u8* to, const amk_u8* from, bool there) {
    const auto is_whole = [](const amk_u8* place) { return reinterpret_cast<std::uintptr_t>(place) % 16 == 0; };
    if (!is_whole(to) || !is_whole(from)) shim::fault("a copy of 16 bytes from or to an address that is no multiple of 16");
    shim::copy_begin(to, there ? from : nullptr, 16);
}

AMK_DEVICE void amk_copy_commit() { shim::copy_commit(); }
AMK_DEVICE void amk_copy_wait() { shim::copy_wait(1); }

AMK_DEVICE amk_u16 amk_to_half(float value) { return amk_u16(amk_f16::encode(value)); }

AMK_DEVICE void amk_load_matrices(amk_u32* words, const amk_u8* row) {
    const unsigned lane = threadIdx.x % AMK_WARP;
    std::uint64_t rows[AMK_WARP];
    shim::gather_all("amk_load_matrices", reinterpret_cast<std::uintptr_t>(row), rows);
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
        words[matrix] = reinterpret_cast<const amk_u32*>(rows[8 * matrix + lane / 4])[lane % 4];
    }
}

template <int DTYPE>
AMK_DEVICE float amk_half_of(amk_u32 word, int half) {
    const amk_u32 code = word >> 16 * half & 0xffffu;
    return DTYPE == AMK_DTYPE_F16 ? amk_f16::decode(code) : amk_bf16::decode(code);
}

template <int DTYPE>
AMK_DEVICE void amk_multiply_fragments(float* sums, const amk_u32* a, const amk_u32* b) {
    const unsigned lane = threadIdx.x % AMK_WARP;
    // Words 0 and 1 of a are of rows l / 4 and 8 more; 2 and 3 of the same rows, eight elements further. So are those of b, whose columns
    // are l / 4.
    std::uint64_t of_a[2][AMK_WARP], of_b[AMK_WARP];
    for (int part = 0; part < 2; ++part) shim::gather_all("amk_multiply_fragments", a[2 * part] | std::uint64_t(a[2 * part + 1]) << 32, of_a[part]);
    shim::gather_all("amk_multiply_fragments", b[0] | std::uint64_t(b[1]) << 32, of_b);
    float rows[2][16], columns[2][16];
    for (int k = 0; k < 16; ++k) {
        const int half = k % 2, owner = k % 8 / 2;
        for (int i = 0; i < 2; ++i) {
            rows[i][k] = amk_half_of<DTYPE>(amk_u32(of_a[k / 8][lane / 4 * 4 + owner] >> 32 * i), half);
            columns[i][k] = amk_half_of<DTYPE>(amk_u32(of_b[(lane % 4 * 2 + i) * 4 + owner] >> 32 * (k / 8)), half);
        }
    }
    for (int i = 0; i < 4; ++i) {
        double terms[17];
        for (int k = 0; k < 16; ++k) terms[k] = double(rows[i / 2][k]) * double(columns[i % 2][k]);
        terms[16] = double(sums[i]);
        sums[i] = amk_truncating_sum(terms, 17);
    }
}

// Fragments of TF32. Words of a: rows l / 4 and 8 more of column l % 4, then of the column four further. Words of b: rows l % 4 and four more
// of column l / 4.
AMK_DEVICE void amk_multiply_short(float* sums, const amk_u32* a, const amk_u32* b) {
    const unsigned lane = threadIdx.x % AMK_WARP;
    std::uint64_t of_a[2][AMK_WARP], of_b[AMK_WARP];
    for (int part = 0; part < 2; ++part) shim::gather_all("amk_multiply_short", a[2 * part] | std::uint64_t(a[2 * part + 1]) << 32, of_a[part]);
    shim::gather_all("amk_multiply_short", b[0] | std::uint64_t(b[1]) << 32, of_b);
    // What TF32 has no room for is cut off.
    const auto number = [](std::uint64_t words, int which) { return double(__uint_as_float(amk_u32(words >> 32 * which) & 0xffffe000u)); };
    for (int i = 0; i < 4; ++i) {
        double terms[9];
        for (int k = 0; k < 8; ++k) {
            terms[k] = number(of_a[k / 4][lane / 4 * 4 + k % 4], i / 2) * number(of_b[(lane % 4 * 2 + i % 2) * 4 + k % 4], k / 4);
        }
        terms[8] = double(sums[i]);
        sums[i] = amk_truncating_sum(terms, 9);
    }
}
