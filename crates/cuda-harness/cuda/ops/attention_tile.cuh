// OPC-07: attention of one query a sequence over a window of the cache. Rows are taken in chunks of one a thread; what has
// been summed is rescaled when a chunk brings a larger score.
#pragma once
#include "../task.cuh"

// exp(score - max), where a score of -inf weighs nothing even if there is no larger one.
AMK_DEVICE float amk_attention_weight(float score, float max) {
    return score == -amk_infinity() ? 0.0f : expf(score - max);
}

// Any dtypes, any extents: element by element.
AMK_CALLED void amk_attention_by_element(const amk_program_t& program, const amk_instruction_t& task) {
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

// Rows of k, and of v, that a lane has under way at once.
#define AMK_ATTENTION_ROWS 4

// q, k and v of one dtype, whose rows are so many whole chunks that they divide a warp: a warp takes a head, and a group of its lanes a
// row, a chunk each. What has been summed is rescaled when some rows bring a larger score.
template <int DTYPE>
AMK_CALLED void amk_attention_by_chunk(const amk_program_t& program, const amk_instruction_t& task) {
    typedef amk_elements<DTYPE> elements;
    const amk_buffer_t &q = amk_input(program, task, 0), &k = amk_input(program, task, 1), &v = amk_input(program, task, 2);
    const amk_buffer_t* mask = task.n_inputs > 3 ? &amk_input(program, task, 3) : 0;
    const amk_buffer_t& y = amk_output(program, task, 0);
    const amk_params_t& p = task.params;
    const bool partial = p.flags & AMK_FLAG_PARTIAL_WRITE, batched = k.rank == 4;
    const bool leaves_out = mask && mask->dtype == AMK_DTYPE_BOOL, mask_by_head = mask && mask->rank == (batched ? 3 : 2);
    const int heads = p.n_heads, shared_heads = heads / p.n_kv_heads, chunks = p.head_dim / elements::N;
    const amk_i64 rows = batched ? k.shape[1] : k.shape[0], sequences = batched ? k.shape[0] : 1;
    const int warp = amk_thread() / AMK_WARP, lane = amk_thread() % AMK_WARP, warps = amk_threads() / AMK_WARP;
    const int group = lane / chunks, groups = AMK_WARP / chunks, chunk = lane % chunks;
    const amk_i64 row_bytes = 16 * amk_i64(p.n_kv_heads) * chunks;

    for (amk_i64 bh = warp; bh < sequences * heads; bh += warps) {
        const amk_i64 b = bh / heads;
        const int h = int(bh % heads);
        const amk_i64 window = (b * rows + p.kv_start) * row_bytes + 16 * (h / shared_heads * chunks + chunk);
        const amk_u8 *const from_k = static_cast<const amk_u8*>(k.ptr) + window, *const from_v = static_cast<const amk_u8*>(v.ptr) + window;
        const amk_i64 mask_row = (mask_by_head ? bh : b) * p.kv_len;
        const amk_chunk query = amk_chunk_of(q, bh * chunks + chunk);
        float max = -amk_infinity(), weight = 0.0f, sums[elements::N];
#pragma unroll
        for (int i = 0; i < elements::N; ++i) sums[i] = 0.0f;
        // All lanes go round as often, for they exchange what they have.
        for (int from = 0; from < p.kv_len; from += AMK_ATTENTION_ROWS * groups) {
            amk_chunk keys[AMK_ATTENTION_ROWS], values[AMK_ATTENTION_ROWS];
            float scores[AMK_ATTENTION_ROWS];
            bool live[AMK_ATTENTION_ROWS];
#pragma unroll
            for (int u = 0; u < AMK_ATTENTION_ROWS; ++u) {
                const int j = from + u * groups + group;
                live[u] = j < p.kv_len && !(leaves_out && amk_load(*mask, mask_row + j) == 0.0f);
                if (live[u]) {
                    keys[u] = amk_load_chunk(from_k + j * row_bytes);
                    values[u] = amk_load_chunk(from_v + j * row_bytes);
                }
            }
            float larger = max;
#pragma unroll
            for (int u = 0; u < AMK_ATTENTION_ROWS; ++u) {
                float score = 0.0f;
                if (live[u]) {
#pragma unroll
                    for (int i = 0; i < elements::N; ++i) score = fmaf(elements::at(query, i), elements::at(keys[u], i), score);
                }
                for (int step = chunks / 2; step > 0; step /= 2) score += __shfl_xor_sync(0xffffffffu, score, step);
                score *= p.scale;
                if (live[u] && mask && !leaves_out) score += amk_load(*mask, mask_row + from + u * groups + group);
                scores[u] = live[u] ? score : -amk_infinity();
                larger = fmaxf(larger, scores[u]);
            }
            for (int step = chunks; step < AMK_WARP; step *= 2) larger = fmaxf(larger, __shfl_xor_sync(0xffffffffu, larger, step));
            const float rescale = max == -amk_infinity() ? 0.0f : expf(max - larger);
            weight *= rescale;
#pragma unroll
            for (int i = 0; i < elements::N; ++i) sums[i] *= rescale;
#pragma unroll
            for (int u = 0; u < AMK_ATTENTION_ROWS; ++u) {
                const float mine = amk_attention_weight(scores[u], larger);
                weight += mine;
                // A row that weighs nothing counts for nothing, whatever v holds there.
                if (mine == 0.0f) continue;
#pragma unroll
                for (int i = 0; i < elements::N; ++i) sums[i] = fmaf(mine, elements::at(values[u], i), sums[i]);
            }
            max = larger;
        }
        // Groups have had rows in turns.
        for (int step = chunks; step < AMK_WARP; step *= 2) {
            weight += __shfl_xor_sync(0xffffffffu, weight, step);
#pragma unroll
            for (int i = 0; i < elements::N; ++i) sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], step);
        }
        const amk_i64 out = bh * (partial ? p.head_dim + 2 : p.head_dim);
        if (group == 0) {
#pragma unroll
            for (int i = 0; i < elements::N; ++i) {
                amk_store(y, out + chunk * elements::N + i, partial ? sums[i] : sums[i] / weight);
            }
        }
        if (partial && lane == 0) {
            amk_store(y, out + p.head_dim, max);
            amk_store(y, out + p.head_dim + 1, weight);
        }
    }
}

// Whether rows of a dtype are as `amk_attention_by_chunk` needs them.
AMK_DEVICE bool amk_attention_fits(amk_i64 dim, int elements) {
    const amk_i64 chunks = dim / elements;
    return dim % elements == 0 && chunks > 0 && chunks <= AMK_WARP && (chunks & (chunks - 1)) == 0;
}

AMK_DEVICE void amk_op_attention_tile(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &q = amk_input(program, task, 0), &k = amk_input(program, task, 1), &v = amk_input(program, task, 2);
    const unsigned long long places = reinterpret_cast<unsigned long long>(q.ptr) | reinterpret_cast<unsigned long long>(k.ptr)
        | reinterpret_cast<unsigned long long>(v.ptr);
    const bool fits = q.dtype == k.dtype && k.dtype == v.dtype && places % 16 == 0
        && amk_attention_fits(task.params.head_dim, 128 / amk_dtype_bits(k.dtype));
    switch (fits ? k.dtype : int(AMK_DTYPE_COUNT)) {
        case AMK_DTYPE_F32: amk_attention_by_chunk<AMK_DTYPE_F32>(program, task); break;
        case AMK_DTYPE_F16: amk_attention_by_chunk<AMK_DTYPE_F16>(program, task); break;
        case AMK_DTYPE_BF16: amk_attention_by_chunk<AMK_DTYPE_BF16>(program, task); break;
        default: amk_attention_by_element(program, task); break;
    }
}
