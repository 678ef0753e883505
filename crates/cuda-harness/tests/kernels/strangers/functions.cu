// What CUDA's functions of a warp, of bits and of shared words give, lane by lane: as COPY of I32, from 32 elements to 32 for each function.
#include <cuda_pipeline.h>
#include <math_constants.h>

#include "task.cuh"

__device__ void functions(const amk_program_t& program, const amk_instruction_t& task) {
    const int* x = static_cast<const int*>(amk_input(program, task, 0).ptr);
    int* y = static_cast<int*>(amk_output(program, task, 0).ptr);
    const int lane = threadIdx.x, v = lane < 32 ? x[lane] : 0;
    const int many = __syncthreads_count(lane < 32 && v % 2 != 0), more = __syncthreads_count(lane < 7);
    const int any = __syncthreads_or(lane == 5), none = __syncthreads_or(lane < 0), all_of_them = __syncthreads_and(lane >= 0);
    const int not_all = __syncthreads_and(lane != 5);
    if (lane >= 32) return;
    const auto put = [&](int value) {
        y[lane] = value;
        y += 32;
    };
    const unsigned all = 0xffffffffu, third = lane % 3 == 0 ? 0x49249249u : lane % 3 == 1 ? 0x92492492u : 0x24924924u;
    for (int width = 4; width <= 32; width *= 2) {
        put(__shfl_sync(all, v, 5, width));
        put(__shfl_sync(all, v, lane + 3, width));
        put(__shfl_up_sync(all, v, 3, width));
        put(__shfl_down_sync(all, v, 3, width));
        put(__shfl_xor_sync(all, v, 6, width));
    }
    put(int(__ballot_sync(all, v & 1)));
    put(int(__ballot_sync(third, v & 1)));
    put(__any_sync(third, lane == 7));
    put(__all_sync(third, lane != 7));
    put(__reduce_add_sync(third, v));
    put(__reduce_min_sync(third, v));
    put(int(__reduce_max_sync(third, unsigned(v))));
    put(int(__reduce_and_sync(third, unsigned(v | 255))));
    put(int(__reduce_or_sync(third, unsigned(v & 255))));
    put(int(__reduce_xor_sync(third, unsigned(v))));
    put(int(__match_any_sync(third, v & 3)));
    int same = 0;
    put(int(__match_all_sync(third, lane % 3 == 1 ? 5 : lane, &same)));
    put(same);
    put(int(__activemask() >> lane & 1));

    put(__popc(unsigned(v)));
    put(__clz(v >> lane));
    put(__ffs(v & ~1));
    put(int(__brev(unsigned(v))));
    put(int(__byte_perm(unsigned(v), ~unsigned(v), 0x7351)));
    put(int(__funnelshift_l(unsigned(v), 0x12345678u, unsigned(lane))));
    put(int(__umulhi(unsigned(v), 0x87654321u)));
    put(__mulhi(v, -1000003));
    put(__dp4a(v, 0x7f8001fe, 100));
    const float quarters = float(v % 1000) * 0.25f;
    put(__float2int_rn(quarters));
    put(__float2int_rz(quarters));
    put(__float2int_rd(quarters));
    put(__float2int_ru(quarters));
    put(int(__float2uint_rz(quarters)));
    put(max(v, -5) + min(unsigned(lane), 9u));
    __shared__ __align__(8) int pairs[32][2];
    __pipeline_memcpy_async(pairs[lane], x + lane / 2 * 2, 8, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    put(pairs[lane][0]);
    put(pairs[lane][1]);
    put(many);
    put(more);
    put((any != 0) + 2 * (none != 0) + 4 * (all_of_them != 0) + 8 * (not_all != 0));
    put(__mul24(v, 5));
    put(int(__umul24(unsigned(v), 5u)));
    put(int(__umul64hi(static_cast<unsigned long long>(unsigned(v)) << 32, 3ull << 32)));
    put(int(umin(unsigned(v), umax(7u, unsigned(lane)))));
    const dim3 extents(blockDim.x, 2);
    const long long began = clock64();
    if (extents.x != blockDim.x) __trap();
    put(int(extents.y + extents.z) + (clock64() < began));
    put(CUDART_INF_F > CUDART_MAX_NORMAL_F && CUDART_NAN_F != CUDART_NAN_F && __float_as_int(CUDART_PI_F) == 0x40490fdb
        && __float_as_int(CUDART_L2E_F) == 0x3fb8aa3b && __float_as_int(CUDART_LN2_F) == 0x3f317218 && __float_as_int(CUDART_MIN_DENORM_F) == 1);
    put(__fdividef(1.0f, 1.5e38f) == 0.0f && __saturatef(-2.0f) == 0.0f && __saturatef(3.0f) == 1.0f && rsqrtf(0.25f) == 2.0f);

    int* words = reinterpret_cast<int*>(amk_scratch());
    const auto shared = [&](int before, auto change) {
        if (lane == 0) words[0] = before, words[1] = 0;
        __syncwarp();
        change(words);
        __syncwarp();
        put(words[0]);
        __syncwarp();
    };
    shared(7, [&](int* word) { atomicAdd(word, v); });
    shared(7, [&](int* word) { atomicSub(reinterpret_cast<unsigned*>(word), unsigned(v)); });
    shared(7, [&](int* word) { atomicMin(word, v); });
    shared(7, [&](int* word) { atomicMax(reinterpret_cast<unsigned*>(word), unsigned(v)); });
    shared(-1, [&](int* word) { atomicAnd(word, v | 255); });
    shared(0, [&](int* word) { atomicOr(word, v & 255); });
    shared(7, [&](int* word) { atomicXor(word, v); });
    shared(0, [&](int* word) { atomicInc(reinterpret_cast<unsigned*>(word), 9u); });
    shared(0, [&](int* word) { atomicDec(reinterpret_cast<unsigned*>(word), 9u); });
    shared(5, [&](int* word) {
        int seen = atomicAdd(word, 0), before;
        __nanosleep(1);
        while ((before = atomicCAS(word, seen, int(unsigned(seen) + unsigned(v)))) != seen) seen = before;
    });
    shared(0, [&](int* word) { atomicAdd(reinterpret_cast<float*>(word), float(lane)); });
    // Of a word of 64 bits, the lower half: what it carries over is in the upper one.
    shared(-1, [&](int* word) { atomicAdd(reinterpret_cast<unsigned long long*>(word), 1ull << 31); });
}

#define AMK_REPLACE_COPY functions
