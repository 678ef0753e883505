// RMSNORM by way of `__shared__` variables that are declared in all the ways that occur: each takes part in the result.
#include "task.cuh"

#define TILE 32
#define SHARED_ARRAY(T, name, n) __shared__ T name[n]

template <typename T>
struct Storage {
    T parts[33];
    union {
        T whole;
        unsigned bits;
    } last;
};

template <typename T, int N>
struct Padded {
    static constexpr int value = N + 1;
};

template <typename T>
__device__ T sum_by_all(T value) {
    static __shared__ T of_warp[32];
    __shared__ Storage<T> storage;
    volatile __shared__ T loose;
    __shared__ alignas(16) T tile[TILE][Padded<T, TILE>::value], other[2 * TILE], one;
    __shared__ union { T first; struct { T unused, second; } pair; } room;
    SHARED_ARRAY(T, made, TILE);
    for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(0xffffffffu, value, lanes);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        T sum = 0;
        for (int warp = 0; warp < blockDim.x / 32; ++warp) sum += of_warp[warp];
        storage.parts[32] = loose = one = tile[31][32] = other[63] = made[31] = storage.last.whole = room.pair.second = sum;
        room.first = 0;
    }
    __syncthreads();
    // Infinities would be NaN here, and are not in the cases.
    const T sum = storage.parts[32] + (loose - one) + (tile[31][32] - other[63]) + (made[31] - storage.last.whole) + (room.pair.second - one) + room.first;
    __syncthreads();
    return sum;
}

__device__ void rmsnorm_by_all(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    const amk_i64 hidden = task.params.hidden;
    extern __shared__ float4 fours[];
    float& inverse = reinterpret_cast<float*>(reinterpret_cast<unsigned char*>(fours) + AMK_CONTROL_BYTES)[0];
    const auto row_at = [&](amk_i64 first) {
        __shared__ struct { float eps; int unused[3]; } of_row;
        __shared__ float* pointer;
        if (threadIdx.x == 0) {
            of_row.eps = task.params.eps;
            pointer = &of_row.eps;
        }
        __syncthreads();
        float sum = 0.0f;
        for (amk_i64 i = threadIdx.x; i < hidden; i += blockDim.x) sum = fmaf(amk_load(x, first + i), amk_load(x, first + i), sum);
        sum = sum_by_all(sum);
        if (threadIdx.x == 0) inverse = 1.0f / sqrtf(sum / float(hidden) + *pointer);
        __syncthreads();
        for (amk_i64 i = threadIdx.x; i < hidden; i += blockDim.x) amk_store(y, first + i, amk_load(x, first + i) * inverse * amk_load(w, i));
        __syncthreads();
    };
    for (amk_i64 row = 0; row < x.numel / hidden; ++row) row_at(row * hidden);
}
#define AMK_REPLACE_RMSNORM rmsnorm_by_all
