// What the threads of a block do together. Every function here is called by all threads of the block.
#pragma once

#include "platform.cuh"

#define AMK_WARP 32

AMK_DEVICE int amk_thread() { return int(threadIdx.x); }
AMK_DEVICE int amk_threads() { return int(blockDim.x); }

// The sum over the lanes of a warp, known to all of them. Blocks are whole warps.
AMK_DEVICE float amk_warp_sum(float value) {
    for (int step = AMK_WARP / 2; step > 0; step /= 2) value += amk_shuffle_xor(value, step);
    return value;
}

AMK_DEVICE float amk_warp_max(float value) {
    for (int step = AMK_WARP / 2; step > 0; step /= 2) {
        value = fmaxf(value, amk_shuffle_xor(value, step));
    }
    return value;
}

// The sum over the block, known to all threads. `scratch` has room for a float a warp.
AMK_DEVICE float amk_block_sum(float value, float* scratch) {
    value = amk_warp_sum(value);
    if (amk_thread() % AMK_WARP == 0) scratch[amk_thread() / AMK_WARP] = value;
    __syncthreads();
    float sum = 0.0f;
    for (int warp = 0; warp < amk_threads() / AMK_WARP; ++warp) sum += scratch[warp];
    __syncthreads();
    return sum;
}

// The largest over the block that is not a NaN; -inf if there is none.
AMK_DEVICE float amk_block_max(float value, float* scratch) {
    value = amk_warp_max(value);
    if (amk_thread() % AMK_WARP == 0) scratch[amk_thread() / AMK_WARP] = value;
    __syncthreads();
    float max = -amk_infinity();
    for (int warp = 0; warp < amk_threads() / AMK_WARP; ++warp) max = fmaxf(max, scratch[warp]);
    __syncthreads();
    return max;
}
