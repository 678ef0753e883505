// ATTENTION_TILE on matrix units, where heads share rows of the caches.
//
// A block takes up to 16 heads that share rows at a time, and of the rows a tile after the other, the next one of which is under way by
// cp.async. The scores of a tile are products of F16 or BF16. Weights must not be rounded to those (OPC-07): the 24 bits of each are cut
// into three parts of at most 11, which TF32 has exactly, as it has all numbers of F16 and BF16. Each part has sums of its own, those of the
// second 2^10 and those of the third 2^20 times as large as what they stand for, so that no part is too small for TF32 where the weight is
// a normal number.
#pragma once

#include "tensor.cuh"

// Elements of a head at most; heads at a time; rows of a tile at most.
#define AMK_TENSOR_HEAD_DIM 256
#define AMK_TENSOR_HEADS 16
#define AMK_TENSOR_KEYS 64
#define AMK_TENSOR_PARTS 3

// Where chunk `chunk` of row `row` lies, of `rows` rows that `amk_stage_rows` has staged in segments of 128 bytes.
AMK_DEVICE amk_u8* amk_staged(amk_u8* stage, int rows, int row, int chunk) {
    return stage + (chunk / 8 * rows + row) * AMK_TENSOR_ROW + 16 * ((chunk ^ row) % 8);
}

// The parts of a weight, whose fractions end after 10 bits: it is parts[0] + 2^-10 (parts[1] + 2^-10 parts[2]).
AMK_DEVICE void amk_cut(float weight, float* parts) {
    for (int part = 0; part < AMK_TENSOR_PARTS; ++part) {
        parts[part] = __uint_as_float(__float_as_uint(weight) & 0xffffe000u);
        weight = (weight - parts[part]) * 1024.0f;
    }
}

// By how much sums relative to one maximum are too large for a larger one, which is `base` unless it is -inf.
AMK_DEVICE float amk_rescaled(float max, float base) { return expf(max - base); }

// A tile of rows in shared memory, and what has been summed of those before.
struct amk_attention_tile {
    // Elements of a row, a multiple of 64 that is at least head_dim, and rows of a tile.
    int width, keys;
    amk_u8 *queries, *stages;
    // By head and row: scores, then weights.
    float* scores;
    // By part, eight rows, lane and word: the weights as `amk_multiply_short` takes them.
    float* parts;
    // By head and element.
    float* sums;
    // By head.
    float *max, *weight, *rescale;

    AMK_METHOD explicit amk_attention_tile(int dim) {
        width = (dim + AMK_TENSOR_K - 1) / AMK_TENSOR_K * AMK_TENSOR_K;
        keys = width <= AMK_TENSOR_HEAD_DIM / 2 ? AMK_TENSOR_KEYS : AMK_TENSOR_KEYS / 2;
        queries = amk_tiles();
        stages = queries + 2 * AMK_TENSOR_HEADS * AMK_TENSOR_HEAD_DIM;
        // Two stages of rows of k and of v.
        max = reinterpret_cast<float*>(stages + 4 * AMK_TENSOR_KEYS * AMK_TENSOR_HEAD_DIM);
        weight = max + AMK_TENSOR_HEADS;
        rescale = weight + AMK_TENSOR_HEADS;
        sums = rescale + AMK_TENSOR_HEADS + 16;
        scores = sums + AMK_TENSOR_HEADS * width;
        parts = scores + AMK_TENSOR_HEADS * keys;
        // A head has as many scores and parts again as it has rows, and rows are 64 where elements are 128 at most.
        static_assert(2 * AMK_TENSOR_HEADS * AMK_TENSOR_HEAD_DIM + 4 * AMK_TENSOR_KEYS * AMK_TENSOR_HEAD_DIM
                + int(sizeof(float)) * (4 * AMK_TENSOR_HEADS + AMK_TENSOR_HEADS * AMK_TENSOR_HEAD_DIM / 2
                    + AMK_TENSOR_HEADS * (1 + AMK_TENSOR_PARTS) * AMK_TENSOR_KEYS) <= AMK_TENSOR_BYTES, "what heads of 128 elements take");
        static_assert(2 * AMK_TENSOR_HEADS * AMK_TENSOR_HEAD_DIM + 4 * AMK_TENSOR_KEYS * AMK_TENSOR_HEAD_DIM
                + int(sizeof(float)) * (4 * AMK_TENSOR_HEADS + AMK_TENSOR_HEADS * AMK_TENSOR_HEAD_DIM
                    + AMK_TENSOR_HEADS * (1 + AMK_TENSOR_PARTS) * AMK_TENSOR_KEYS / 2) <= AMK_TENSOR_BYTES, "what heads of 256 elements take");
    }

    AMK_METHOD amk_u8* keys_of(int tile) const { return stages + tile % 2 * 4 * keys * width; }
    AMK_METHOD amk_u8* values_of(int tile) const { return keys_of(tile) + 2 * keys * width; }

    // Eight heads of one row, or element, lie in different banks.
    AMK_METHOD float& score(int head, int key) const { return scores[head * keys + (key ^ head % 8 * 4)]; }
    AMK_METHOD float& sum(int head, int d) const { return sums[head * width + (d ^ head % 8 * 8)]; }

    // The parts of a weight to where they are multiplied from.
    AMK_METHOD void set_parts(int head, int key, float value) const {
        float cut[AMK_TENSOR_PARTS];
        amk_cut(value, cut);
        const int lane = head % 8 * 4 + key % 4, word = head / 8 + key / 4 % 2 * 2;
        for (int part = 0; part < AMK_TENSOR_PARTS; ++part) {
            parts[((part * keys + key) / 8 * AMK_WARP + lane) * 4 + word] = cut[part];
        }
    }
};

// Element d of row `row` of v, as bits of binary32.
template <int DTYPE>
AMK_DEVICE amk_u32 amk_staged_element(amk_u8* stage, int rows, int row, int d) {
    const amk_u16 code = reinterpret_cast<const amk_u16*>(amk_staged(stage, rows, row, d / 8))[d % 8];
    return DTYPE == AMK_DTYPE_F16 ? __float_as_uint(amk_of_half(code)) : amk_u32(code) << 16;
}

// Products of queries with eight rows of k, the first of which is `at`: rows l / 4 and 8 more, columns 2 (l % 4) and the next.
template <int DTYPE>
AMK_DEVICE void amk_attention_scores(const amk_attention_tile& t, amk_u8* of_k, int at, int dim, float* sums) {
    const int lane = amk_thread() % AMK_WARP;
    // What lies behind the elements of a row is zero, up to a multiple of 64.
    for (int chunk = 0; 8 * chunk < dim; chunk += 4) {
        amk_u32 first[2][4], second[4];
        amk_load_matrices(second, amk_staged(of_k, t.keys, at + lane % 8, chunk + lane / 8));
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            amk_load_matrices(first[half], amk_staged(t.queries, AMK_TENSOR_HEADS, lane % 16, chunk + 2 * half + lane / 16));
            amk_multiply_fragments<DTYPE>(sums, first[half], second + 2 * half);
        }
    }
}

// Adds what the rows of a tile have for 16 elements, the first of which is `at`, by a warp.
template <int DTYPE>
AMK_DEVICE void amk_attention_values(const amk_attention_tile& t, amk_u8* of_v, int at, int heads) {
    const int lane = amk_thread() % AMK_WARP;
    float sums[AMK_TENSOR_PARTS][2][4];
#pragma unroll
    for (int part = 0; part < AMK_TENSOR_PARTS; ++part) {
#pragma unroll
        for (int i = 0; i < 8; ++i) sums[part][i / 4][i % 4] = 0.0f;
    }
    bool finite = true;
    for (int row = 0; row < t.keys; row += 8) {
        amk_u32 second[2][2];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            second[i / 2][i % 2] = amk_staged_element<DTYPE>(of_v, t.keys, row + lane % 4 + i % 2 * 4, at + i / 2 * 8 + lane / 4);
            finite = finite && (second[i / 2][i % 2] & 0x7f800000u) != 0x7f800000u;
        }
#pragma unroll
        for (int part = 0; part < AMK_TENSOR_PARTS; ++part) {
            const amk_chunk first = reinterpret_cast<const amk_chunk*>(t.parts)[(part * t.keys + row) / 8 * AMK_WARP + lane];
            amk_multiply_short(sums[part][0], first.word, second[0]);
            amk_multiply_short(sums[part][1], first.word, second[1]);
        }
    }
    // A part that is zero, and a weight, would make a NaN of an infinity.
    finite = amk_warp_max(finite ? 0.0f : 1.0f) == 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int head = lane / 4 + i % 4 / 2 * 8, d = at + i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (head >= heads) continue;
        float sum = sums[0][i / 4][i % 4] + (sums[1][i / 4][i % 4] + sums[2][i / 4][i % 4] / 1024.0f) / 1024.0f;
        if (!finite) {
            sum = 0.0f;
            for (int row = 0; row < t.keys; ++row) {
                // A row that weighs nothing counts for nothing, whatever v holds there.
                const float weight = t.score(head, row);
                if (weight != 0.0f) sum = fmaf(weight, __uint_as_float(amk_staged_element<DTYPE>(of_v, t.keys, row, d)), sum);
            }
        }
        t.sum(head, d) = t.sum(head, d) * t.rescale[head] + sum;
    }
}

// q, k and v of one of the two dtypes, aligned to 16 bytes, and heads of at most AMK_TENSOR_HEAD_DIM elements, a multiple of 8.
template <int DTYPE>
AMK_CALLED void amk_attention_by_fragment(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &q = amk_input(program, task, 0), &k = amk_input(program, task, 1), &v = amk_input(program, task, 2);
    const amk_buffer_t* mask = task.n_inputs > 3 ? &amk_input(program, task, 3) : 0;
    const amk_buffer_t& y = amk_output(program, task, 0);
    const amk_params_t& p = task.params;
    const bool partial = p.flags & AMK_FLAG_PARTIAL_WRITE, batched = k.rank == 4;
    const bool leaves_out = mask && mask->dtype == AMK_DTYPE_BOOL, mask_by_head = mask && mask->rank == (batched ? 3 : 2);
    const int dim = p.head_dim, window_rows = p.kv_len, heads = p.n_heads, caches = p.n_kv_heads, shared_heads = heads / caches;
    const float scale = p.scale;
    const amk_i64 rows = batched ? k.shape[1] : k.shape[0], sequences = batched ? k.shape[0] : 1;
    const int warp = amk_thread() / AMK_WARP, lane = amk_thread() % AMK_WARP, warps = amk_threads() / AMK_WARP;
    const amk_i64 head_bytes = 2 * dim, row_bytes = head_bytes * caches;
    const amk_attention_tile t(dim);
    const auto stage_rows = [&](amk_u8* to, const amk_u8* from, amk_i64 step, int rows, int there) {
        for (int at = 0; at < head_bytes; at += AMK_TENSOR_ROW) amk_stage_rows(to + at * rows, from + at, step, rows, there, head_bytes - at);
    };

    const int turns = (shared_heads + AMK_TENSOR_HEADS - 1) / AMK_TENSOR_HEADS;
    for (amk_i64 turn = 0; turn < sequences * caches * turns; ++turn) {
        const amk_i64 b = turn / turns / caches;
        const int cache = int(turn / turns % caches), first = int(turn % turns) * AMK_TENSOR_HEADS;
        const int there = shared_heads - first < AMK_TENSOR_HEADS ? shared_heads - first : AMK_TENSOR_HEADS;
        const amk_i64 bh = b * heads + cache * shared_heads + first;
        const amk_i64 window = (b * rows + p.kv_start) * row_bytes + cache * head_bytes;
        const auto stage = [&](int tile) {
            const int at = tile * t.keys, left = window_rows - at;
            if (left > 0) {
                const amk_i64 from = window + at * row_bytes;
                stage_rows(t.keys_of(tile), static_cast<const amk_u8*>(k.ptr) + from, row_bytes, t.keys, left);
                stage_rows(t.values_of(tile), static_cast<const amk_u8*>(v.ptr) + from, row_bytes, t.keys, left);
            }
            amk_copy_commit();
        };
        // Nobody still reads what is written now.
        __syncthreads();
        stage_rows(t.queries, static_cast<const amk_u8*>(q.ptr) + bh * head_bytes, head_bytes, AMK_TENSOR_HEADS, there);
        stage(0);
        // Weights of heads that are not there stay zero.
        amk_each(AMK_TENSOR_HEADS * AMK_TENSOR_PARTS * t.keys, [&](amk_i64 i) { t.parts[i] = 0.0f; });
        amk_each(AMK_TENSOR_HEADS * t.width, [&](amk_i64 i) { t.sums[i] = 0.0f; });
        amk_each(AMK_TENSOR_HEADS, [&](amk_i64 head) {
            t.max[head] = -amk_infinity();
            t.weight[head] = 0.0f;
        });
        for (int tile = 0; tile * t.keys < window_rows; ++tile) {
            stage(tile + 1);
            amk_copy_wait();
            __syncthreads();
            for (int at = 8 * warp; at < t.keys; at += 8 * warps) {
                float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
                amk_attention_scores<DTYPE>(t, t.keys_of(tile), at, dim, sums);
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const int head = lane / 4 + i / 2 * 8, key = at + lane % 4 * 2 + i % 2, j = tile * t.keys + key;
                    if (head >= there) continue;
                    bool live = j < window_rows;
                    float score = sums[i] * scale;
                    if (mask && live) {
                        const float of_mask = amk_load(*mask, (mask_by_head ? bh + head : b) * window_rows + j);
                        live = !leaves_out || of_mask != 0.0f;
                        if (!leaves_out) score += of_mask;
                    }
                    t.score(head, key) = live ? score : -amk_infinity();
                }
            }
            __syncthreads();
            for (int head = warp; head < there; head += warps) {
                // One lane keeps what is of the head.
                const float before = lane == 0 ? t.max[head] : -amk_infinity();
                float larger = before;
                for (int key = lane; key < t.keys; key += AMK_WARP) larger = fmaxf(larger, t.score(head, key));
                larger = amk_warp_max(larger);
                // Where there is no score yet that weighs, scores of -inf weigh nothing all the same.
                const float base = larger == -amk_infinity() ? 0.0f : larger;
                float weight = 0.0f;
                for (int key = lane; key < t.keys; key += AMK_WARP) {
                    const float own = expf(t.score(head, key) - base);
                    t.score(head, key) = own;
                    t.set_parts(head, key, own);
                    weight += own;
                }
                weight = amk_warp_sum(weight);
                if (lane == 0) {
                    t.rescale[head] = amk_rescaled(before, base);
                    t.weight[head] = t.weight[head] * t.rescale[head] + weight;
                    t.max[head] = larger;
                }
            }
            __syncthreads();
            for (int at = 16 * warp; at < dim; at += 16 * warps) amk_attention_values<DTYPE>(t, t.values_of(tile), at, there);
            // Then the next stage may be written.
            __syncthreads();
        }
        // The queries of an empty window are still under way.
        amk_copy_commit();
        amk_copy_wait();
        __syncthreads();
        const amk_i64 length = partial ? dim + 2 : dim;
        amk_each(there * dim, [&](amk_i64 i) {
            const int head = int(i) / dim, d = int(i) % dim;
            amk_store(y, (bh + head) * length + d, partial ? t.sum(head, d) : t.sum(head, d) / t.weight[head]);
        });
        if (partial) {
            amk_each(there, [&](amk_i64 head) {
                amk_store(y, (bh + head) * length + dim, t.max[head]);
                amk_store(y, (bh + head) * length + dim + 1, t.weight[head]);
            });
        }
    }
}
