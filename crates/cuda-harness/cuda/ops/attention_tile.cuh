// OPC-07: attention of one query a sequence over a window of the cache. Rows are taken in chunks of one a thread; what has
// been summed is rescaled when a chunk brings a larger score.
#pragma once
#include "../task.cuh"

// exp(score - max), where a score of -inf weighs nothing even if there is no larger one.
AMK_DEVICE float amk_attention_weight(float score, float max) {
    return score == -amk_infinity() ? 0.0f : expf(score - max);
}

AMK_DEVICE void amk_op_attention_tile(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &q = amk_input(program, task, 0), &k = amk_input(program, task, 1), &v = amk_input(program, task, 2);
    const amk_buffer_t* mask = task.n_inputs > 3 ? &amk_input(program, task, 3) : 0;
    const amk_buffer_t& y = amk_output(program, task, 0);
    const amk_params_t& p = task.params;
    const bool partial = p.flags & AMK_FLAG_PARTIAL_WRITE;
    const bool batched = k.rank == 4;
    const amk_i64 dim = p.head_dim, heads = p.n_heads, shared_heads = heads / p.n_kv_heads;
    const amk_i64 row = p.n_kv_heads * dim, rows = batched ? k.shape[1] : k.shape[0];
    const amk_i64 sequences = batched ? k.shape[0] : 1;
    const bool mask_by_head = mask && mask->rank == (batched ? 3 : 2);

    float* warps = amk_scratch();
    float* scores = warps + amk_threads() / AMK_WARP;
    float* sums = scores + amk_threads();

    // As many elements of a head at a time as there is room for; scores are computed anew for each such part.
    const amk_i64 parts = (dim + AMK_MAX_HEAD_DIM - 1) / AMK_MAX_HEAD_DIM;
    for (amk_i64 bh_part = 0; bh_part < sequences * heads * parts; ++bh_part) {
        const amk_i64 bh = bh_part / parts, from = bh_part % parts * AMK_MAX_HEAD_DIM;
        const amk_i64 width = dim - from < AMK_MAX_HEAD_DIM ? dim - from : AMK_MAX_HEAD_DIM;
        const amk_i64 b = bh / heads, h = bh % heads;
        const amk_i64 window = (b * rows + p.kv_start) * row + h / shared_heads * dim;
        const amk_i64 mask_row = (mask_by_head ? bh : b) * p.kv_len;
        float max = -amk_infinity(), weight = 0.0f;
        amk_each(width, [&](amk_i64 d) { sums[d] = 0.0f; });
        for (amk_i64 first = 0; first < p.kv_len; first += amk_threads()) {
            const amk_i64 j = first + amk_thread();
            float score = -amk_infinity();
            const bool live = j < p.kv_len
                && !(mask && mask->dtype == AMK_DTYPE_BOOL && amk_load(*mask, mask_row + j) == 0.0f);
            if (live) {
                score = 0.0f;
                for (amk_i64 d = 0; d < dim; ++d) {
                    score = fmaf(amk_load(q, bh * dim + d), amk_load(k, window + j * row + d), score);
                }
                score *= p.scale;
                if (mask && mask->dtype != AMK_DTYPE_BOOL) score += amk_load(*mask, mask_row + j);
            }
            const float larger = fmaxf(max, amk_block_max(score, warps));
            const float rescale = max == -amk_infinity() ? 0.0f : expf(max - larger);
            const float mine = amk_attention_weight(score, larger);
            scores[amk_thread()] = mine;
            weight = weight * rescale + amk_block_sum(mine, warps);
            const amk_i64 chunk = p.kv_len - first < amk_threads() ? p.kv_len - first : amk_threads();
            amk_each(width, [&](amk_i64 d) {
                float sum = 0.0f;
                for (amk_i64 i = 0; i < chunk; ++i) {
                    // A row that weighs nothing counts for nothing, whatever v holds there.
                    if (scores[i] != 0.0f) sum = fmaf(scores[i], amk_load(v, window + (first + i) * row + from + d), sum);
                }
                sums[d] = sums[d] * rescale + sum;
            });
            max = larger;
            __syncthreads();
        }
        if (partial) {
            amk_each(width, [&](amk_i64 d) { amk_store(y, bh * (dim + 2) + from + d, sums[d]); });
            if (amk_thread() == 0 && from == 0) {
                amk_store(y, bh * (dim + 2) + dim, max);
                amk_store(y, bh * (dim + 2) + dim + 1, weight);
            }
        } else {
            amk_each(width, [&](amk_i64 d) { amk_store(y, bh * dim + from + d, sums[d] / weight); });
        }
    }
}
