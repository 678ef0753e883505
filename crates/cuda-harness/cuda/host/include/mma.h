// nvcuda::wmma, for kernels on the CPU: matrices of F16 or BF16, sums in binary32, and the adder of tensor.hpp, so that a worker has to
// declare `truncating` (NUM-06); or sums of F16 in F16, which are rounded to nearest after each block, and which no declaration covers. Which lane has
// which element is this file's own affair, as it is a GPU's.
#pragma once

#include "../../ptx.cuh"
#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

// Element e of lane l is element 32 e + l of the rows, one after the other.
template <int ROWS, int COLUMNS, typename T>
struct tile {
    static constexpr int num_elements = ROWS * COLUMNS / 32, rows = ROWS, columns = COLUMNS;
    using element_type = T;
    using storage_element_type = T;
    T x[num_elements];

    // Where an element lies in memory.
    static std::int64_t place(int element, unsigned stride, bool by_rows) {
        const int index = 32 * element + int(amk_lane()), row = index / COLUMNS, column = index % COLUMNS;
        return by_rows ? std::int64_t(row) * stride + column : std::int64_t(column) * stride + row;
    }
};

template <typename USE, int M, int N, int K, typename T, typename LAYOUT = void>
struct fragment;
template <int M, int N, int K, typename T, typename LAYOUT>
struct fragment<matrix_a, M, N, K, T, LAYOUT> : tile<M, K, T> {};
template <int M, int N, int K, typename T, typename LAYOUT>
struct fragment<matrix_b, M, N, K, T, LAYOUT> : tile<K, N, T> {};
template <int M, int N, int K, typename T>
struct fragment<accumulator, M, N, K, T> : tile<M, N, T> {};

// All lanes meet with the same matrix, which lies where the units can take it.
template <typename T>
void meet_at(const char* function, const T* matrix, unsigned stride) {
    const auto address = reinterpret_cast<std::uintptr_t>(matrix);
    std::uint64_t matrices[32], strides[32];
    shim::gather_all(function, address, matrices);
    shim::gather_all(function, stride, strides);
    for (unsigned lane = 0; lane < 32; ++lane) {
        if (matrices[lane] == matrices[0] && strides[lane] == strides[0]) continue;
        shim::fault_of(lane, "calls %s with another matrix or stride than lane 0", function);
    }
    const unsigned lane = amk_lane();
    if (address % 32 != 0) shim::fault_of(lane, "calls %s with an address that is no multiple of 32", function);
    if (stride * sizeof(T) % 16 != 0) shim::fault_of(lane, "calls %s with rows or columns that are no multiple of 16 bytes", function);
}

template <typename F, typename V>
void fill_fragment(F& fragment, V value) {
    for (auto& x : fragment.x) x = value;
}

template <typename USE, int M, int N, int K, typename T, typename LAYOUT>
void load_matrix_sync(fragment<USE, M, N, K, T, LAYOUT>& to, const T* from, unsigned stride) {
    static_assert(!std::is_void_v<LAYOUT>, "an accumulator is loaded with mem_row_major or mem_col_major");
    meet_at("load_matrix_sync", from, stride);
    for (int e = 0; e < to.num_elements; ++e) to.x[e] = from[to.place(e, stride, std::is_same_v<LAYOUT, row_major>)];
}

template <int M, int N, int K, typename T>
void load_matrix_sync(fragment<accumulator, M, N, K, T>& to, const T* from, unsigned stride, layout_t layout) {
    meet_at("load_matrix_sync", from, stride);
    for (int e = 0; e < to.num_elements; ++e) to.x[e] = from[to.place(e, stride, layout == mem_row_major)];
}

template <int M, int N, int K, typename T>
void store_matrix_sync(T* to, const fragment<accumulator, M, N, K, T>& from, unsigned stride, layout_t layout) {
    meet_at("store_matrix_sync", to, stride);
    for (int e = 0; e < from.num_elements; ++e) to[from.place(e, stride, layout == mem_row_major)] = from.x[e];
}

// The rows of a matrix, of which each lane has a part.
template <typename F>
void gather_rows(const F& fragment, float* rows) {
    for (int e = 0; e < fragment.num_elements; ++e) {
        std::uint64_t words[32];
        shim::gather_all("mma_sync", __float_as_uint(float(fragment.x[e])), words);
        for (int lane = 0; lane < 32; ++lane) rows[32 * e + lane] = __uint_as_float(std::uint32_t(words[lane]));
    }
}

template <int M, int N, int K, typename T, typename SUM, typename LAYOUT_A, typename LAYOUT_B>
void mma_sync(
    fragment<accumulator, M, N, K, SUM>& d, const fragment<matrix_a, M, N, K, T, LAYOUT_A>& a,
    const fragment<matrix_b, M, N, K, T, LAYOUT_B>& b, const fragment<accumulator, M, N, K, SUM>& c
) {
    static_assert(K == 16 && ((M == 16 && N == 16) || (M == 32 && N == 8) || (M == 8 && N == 32)), "no shape of these units");
    static_assert(std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>, "units for F16 and BF16 alone");
    static_assert(std::is_same_v<SUM, float> || (std::is_same_v<SUM, __half> && std::is_same_v<T, __half>), "sums are in binary32, or of F16 in F16");
    float of_a[M * K], of_b[K * N];
    gather_rows(a, of_a);
    gather_rows(b, of_b);
    for (int e = 0; e < d.num_elements; ++e) {
        const int index = 32 * e + int(amk_lane()), row = index / N, column = index % N;
        double terms[K + 1];
        for (int k = 0; k < K; ++k) terms[k] = double(of_a[row * K + k]) * double(of_b[k * N + column]);
        terms[K] = double(float(c.x[e]));
        d.x[e] = SUM(amk_truncating_sum(terms, K + 1));
    }
}

}  // namespace nvcuda::wmma
