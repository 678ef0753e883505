// SOFTMAX and ADD with variables that a block shares: of a template's type, of an alignment, in two dimensions, and dynamic ones.
#include "task.cuh"

template <typename T, int Most>
struct Sums {
    struct Room {
        T of_warp[Most], all;
    };
};

// The sum over the block, by warps.
template <typename T, int Most = 32>
__device__ T sum_of_block(T value) {
    __shared__ typename Sums<T, Most>::Room room;
    for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(0xffffffffu, value, lanes);
    if (threadIdx.x % 32 == 0) room.of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        room.all = 0;
        for (int warp = 0; warp < blockDim.x / 32; ++warp) room.all += room.of_warp[warp];
    }
    __syncthreads();
    const T all = room.all;
    __syncthreads();
    return all;
}

// The largest of the block, by halves.
__device__ float largest_of_block(float value) {
    // What is before is the suite's.
    extern __shared__ __align__(16) unsigned char dynamic[];
    float* const of_thread = reinterpret_cast<float*>(dynamic + AMK_CONTROL_BYTES);
    of_thread[threadIdx.x] = value;
    __syncthreads();
    for (unsigned n = blockDim.x; n > 1;) {
        const unsigned half = (n + 1) / 2;
        if (threadIdx.x + half < n) of_thread[threadIdx.x] = fmaxf(of_thread[threadIdx.x], of_thread[threadIdx.x + half]);
        __syncthreads();
        n = half;
    }
    const float largest = of_thread[0];
    __syncthreads();
    return largest;
}

__device__ void softmax_in_shared(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &y = amk_output(program, task, 0);
    const int axis = task.params.dim < 0 ? task.params.dim + x.rank : task.params.dim;
    const amk_i64 length = x.shape[axis];
    amk_i64 stride = 1;
    for (int a = axis + 1; a < x.rank; ++a) stride *= x.shape[a];
    for (amk_i64 line = 0; line < x.numel / length; ++line) {
        const amk_i64 first = line / stride * stride * length + line % stride;
        float largest = -amk_infinity();
        for (amk_i64 i = threadIdx.x; i < length; i += blockDim.x) largest = fmaxf(largest, amk_load(x, first + i * stride));
        largest = largest_of_block(largest);
        float sum = 0.0f;
        for (amk_i64 i = threadIdx.x; i < length; i += blockDim.x) sum += expf(amk_load(x, first + i * stride) - largest);
        sum = sum_of_block(sum);
        for (amk_i64 i = threadIdx.x; i < length; i += blockDim.x) {
            amk_store(y, first + i * stride, expf(amk_load(x, first + i * stride) - largest) / sum);
        }
    }
}
#define AMK_REPLACE_SOFTMAX softmax_in_shared

// Four elements at a time go by way of tiles, of which each warp has its own.
__device__ void add_in_shared(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &a = amk_input(program, task, 0), &b = amk_input(program, task, 1), &y = amk_output(program, task, 0);
    __shared__ __align__(16) float tiles[32][32 * 4];
    __shared__ amk_i64 numel;
    if (threadIdx.x == 0) numel = y.numel;
    __syncthreads();
    float* const tile = tiles[threadIdx.x / 32];
    const int lane = threadIdx.x % 32;
    for (amk_i64 first = (threadIdx.x / 32) * 128; first < numel; first += blockDim.x * 4) {
        for (int i = lane; i < 128 && first + i < numel; i += 32) tile[i] = amk_load(a, first + i);
        __syncwarp();
        const float4 four = *reinterpret_cast<const float4*>(tile + 4 * lane);
        __syncwarp();
        const float of_lane[4] = {four.x, four.y, four.z, four.w};
        for (int i = 0; i < 4; ++i) tile[i * 32 + lane] = of_lane[i];
        __syncwarp();
        for (int i = lane; i < 128 && first + i < numel; i += 32) amk_store(y, first + i, tile[i % 4 * 32 + i / 4] + amk_load(b, first + i));
        __syncwarp();
    }
    __syncthreads();
}
#define AMK_REPLACE_ADD add_in_shared
