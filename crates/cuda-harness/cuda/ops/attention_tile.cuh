// OPC-07: attention of one query a sequence over a window of the cache. Rows are taken in chunks of one a thread; what has
// been summed is rescaled when a chunk brings a larger score.
#pragma once
#include "../task.cuh"

#ifdef AMK_TENSOR_CORES
#include "../tensor_attention.cuh"
#endif

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

// Merges what several warps have of HEADS heads, each of a part of the window, and stores it: N elements a lane of the first group, which begin
// at chunk. All threads of the block call this; warps behind the parts have nothing.
template <int N, int HEADS>
AMK_DEVICE void amk_attention_merged(
    const amk_buffer_t& y, int part, int parts, int turns, int turn, int chunk, int group, int dim, bool partial, amk_i64 out,
    const float* max, const float* weight, const float (*sums)[N]
) {
    const int warp = amk_thread() / AMK_WARP, lane = amk_thread() % AMK_WARP;
    // By warp and head; then by warp and element of one head, of which a lane has N.
    float* const of_warps = amk_scratch();
    float* const elements = of_warps + 2 * HEADS * (amk_threads() / AMK_WARP);
    if (lane == 0) {
#pragma unroll
        for (int head = 0; head < HEADS; ++head) {
            of_warps[2 * (warp * HEADS + head)] = max[head];
            of_warps[2 * (warp * HEADS + head) + 1] = weight[head];
        }
    }
    __syncthreads();
#pragma unroll
    for (int head = 0; head < HEADS; ++head) {
        // A lane has what a part has; the part of this warp is that of its lane `part`.
        const float* const own = of_warps + 2 * ((lane < parts ? lane * turns + turn : turn) * HEADS + head);
        const float largest = amk_warp_max(own[0]), base = largest == -amk_infinity() ? 0.0f : largest;
        const float scale = lane < parts ? expf(own[0] - base) : 0.0f;
        const float all = amk_warp_sum(lane < parts ? scale * own[1] : 0.0f), by = amk_shuffle(scale, part < parts ? part : 0);
        if (part < parts && group == 0) {
#pragma unroll
            for (int i = 0; i < N; ++i) elements[warp * dim + chunk * N + i] = by * sums[head][i];
        }
        __syncthreads();
        for (int d = part < parts ? part * AMK_WARP + lane : dim; d < dim; d += parts * AMK_WARP) {
            float sum = 0.0f;
            for (int other = 0; other < parts; ++other) sum += elements[(other * turns + turn) * dim + d];
            amk_store(y, out + d, partial ? sum : sum / all);
        }
        if (partial && part == 0 && lane == 0) {
            amk_store(y, out + dim, largest);
            amk_store(y, out + dim + 1, all);
        }
        out += partial ? dim + 2 : dim;
        __syncthreads();
    }
}

// q, k and v of one dtype, whose rows are so many whole chunks that they divide a warp: a warp takes HEADS heads that share rows of the
// caches, and a group of its lanes a row, a chunk each. What has been summed is rescaled when some rows bring a larger score. HEADS is 1
// where there is a mask. Where there are more warps than heads for them, several share the same, each with a part of the window.
template <int DTYPE, int HEADS>
AMK_CALLED void amk_attention_by_chunk(const amk_program_t& program, const amk_instruction_t& task) {
    typedef amk_elements<DTYPE> elements;
    const amk_buffer_t &q = amk_input(program, task, 0), &k = amk_input(program, task, 1), &v = amk_input(program, task, 2);
    const amk_buffer_t* mask = HEADS == 1 && task.n_inputs > 3 ? &amk_input(program, task, 3) : 0;
    const amk_buffer_t& y = amk_output(program, task, 0);
    const amk_params_t& p = task.params;
    const bool partial = p.flags & AMK_FLAG_PARTIAL_WRITE, batched = k.rank == 4;
    const bool leaves_out = mask && mask->dtype == AMK_DTYPE_BOOL, mask_by_head = mask && mask->rank == (batched ? 3 : 2);
    // Not read anew after each load.
    const int dim = p.head_dim, window_rows = p.kv_len, heads = p.n_heads, shared_heads = heads / p.n_kv_heads, chunks = dim / elements::N;
    const float scale = p.scale;
    const amk_i64 rows = batched ? k.shape[1] : k.shape[0], sequences = batched ? k.shape[0] : 1;
    const int warp = amk_thread() / AMK_WARP, lane = amk_thread() % AMK_WARP, warps = amk_threads() / AMK_WARP;
    const int group = lane / chunks, groups = AMK_WARP / chunks, chunk = lane % chunks;
    const amk_i64 row_bytes = 16 * amk_i64(p.n_kv_heads) * chunks;
    // Rows that a warp takes at once: a part is of whole steps, but for the last one.
    const int step_rows = AMK_ATTENTION_ROWS * groups, steps = int((amk_i64(window_rows) + step_rows - 1) / step_rows);
    const amk_i64 turns = sequences * heads / HEADS;
    const int fit = turns < warps ? warps / int(turns) : 1, parts = fit < steps ? fit : steps > 1 ? steps : 1;
    const int part = parts > 1 ? warp / int(turns) : 0;
    // A warp that is left over has no rows.
    const int begin = part < parts ? int(amk_i64(steps) * part / parts) * step_rows : window_rows;
    const int end = part + 1 < parts ? int(amk_i64(steps) * (part + 1) / parts) * step_rows : window_rows;
    // With parts, every warp goes round once, so that the block may meet.
    for (amk_i64 turn = parts > 1 ? warp % int(turns) : warp; turn < turns; turn += warps) {
        const amk_i64 bh = turn * HEADS, b = bh / heads;
        const int h = int(bh % heads);
        const amk_i64 window = (b * rows + p.kv_start) * row_bytes + 16 * (h / shared_heads * chunks + chunk);
        const amk_u8 *const from_k = static_cast<const amk_u8*>(k.ptr) + window, *const from_v = static_cast<const amk_u8*>(v.ptr) + window;
        const amk_i64 mask_row = (mask_by_head ? bh : b) * window_rows;
        amk_chunk queries[HEADS];
        float max[HEADS], weight[HEADS], sums[HEADS][elements::N];
#pragma unroll
        for (int head = 0; head < HEADS; ++head) {
            queries[head] = amk_chunk_of(q, (bh + head) * chunks + chunk);
            max[head] = -amk_infinity();
            weight[head] = 0.0f;
#pragma unroll
            for (int i = 0; i < elements::N; ++i) sums[head][i] = 0.0f;
        }
        // All lanes go round as often, for they exchange what they have. Whatever can be done for all rows and heads at once is: each chain
        // of instructions is long, and a warp has many of them under way.
        for (int from = begin; from < end; from += step_rows) {
            amk_chunk keys[AMK_ATTENTION_ROWS], values[AMK_ATTENTION_ROWS];
            float scores[AMK_ATTENTION_ROWS][HEADS];
            bool live[AMK_ATTENTION_ROWS];
#pragma unroll
            for (int u = 0; u < AMK_ATTENTION_ROWS; ++u) {
                const int j = from + u * groups + group;
                live[u] = j < end;
                // The last row stands in for those that are not there.
                keys[u] = amk_load_chunk(from_k + (live[u] ? j : end - 1) * row_bytes);
                values[u] = amk_load_chunk(from_v + (live[u] ? j : end - 1) * row_bytes);
            }
#pragma unroll
            for (int u = 0; u < AMK_ATTENTION_ROWS; ++u) {
                float key[elements::N];
#pragma unroll
                for (int i = 0; i < elements::N; ++i) key[i] = elements::at(keys[u], i);
#pragma unroll
                for (int head = 0; head < HEADS; ++head) {
                    scores[u][head] = 0.0f;
#pragma unroll
                    for (int i = 0; i < elements::N; ++i) scores[u][head] = fmaf(elements::at(queries[head], i), key[i], scores[u][head]);
                }
            }
            for (int step = chunks / 2; step > 0; step /= 2) {
#pragma unroll
                for (int u = 0; u < AMK_ATTENTION_ROWS; ++u) {
#pragma unroll
                    for (int head = 0; head < HEADS; ++head) scores[u][head] += amk_shuffle_xor(scores[u][head], step);
                }
            }
            float larger[HEADS];
#pragma unroll
            for (int head = 0; head < HEADS; ++head) larger[head] = max[head];
#pragma unroll
            for (int u = 0; u < AMK_ATTENTION_ROWS; ++u) {
                float added = 0.0f;
                if (mask && live[u]) {
                    const float of_mask = amk_load(*mask, mask_row + from + u * groups + group);
                    live[u] = !leaves_out || of_mask != 0.0f;
                    added = leaves_out ? 0.0f : of_mask;
                }
#pragma unroll
                for (int head = 0; head < HEADS; ++head) {
                    const float score = scores[u][head] * scale;
                    scores[u][head] = live[u] ? (mask && !leaves_out ? score + added : score) : -amk_infinity();
                    larger[head] = fmaxf(larger[head], scores[u][head]);
                }
            }
            for (int step = chunks; step < AMK_WARP; step *= 2) {
#pragma unroll
                for (int head = 0; head < HEADS; ++head) larger[head] = fmaxf(larger[head], amk_shuffle_xor(larger[head], step));
            }
            bool all_weigh = true;
#pragma unroll
            for (int head = 0; head < HEADS; ++head) {
                // Where there is no score yet that weighs, scores of -inf weigh nothing all the same.
                const float base = larger[head] == -amk_infinity() ? 0.0f : larger[head];
                const float rescale = expf(max[head] - base);
                max[head] = larger[head];
                weight[head] *= rescale;
#pragma unroll
                for (int i = 0; i < elements::N; ++i) sums[head][i] *= rescale;
#pragma unroll
                for (int u = 0; u < AMK_ATTENTION_ROWS; ++u) {
                    scores[u][head] = expf(scores[u][head] - base);
                    weight[head] += scores[u][head];
                    all_weigh = all_weigh && scores[u][head] != 0.0f;
                }
            }
            const auto add = [&](int u, int head) {
#pragma unroll
                for (int i = 0; i < elements::N; ++i) sums[head][i] = fmaf(scores[u][head], elements::at(values[u], i), sums[head][i]);
            };
            if (all_weigh) {
#pragma unroll
                for (int u = 0; u < AMK_ATTENTION_ROWS; ++u) {
#pragma unroll
                    for (int head = 0; head < HEADS; ++head) add(u, head);
                }
            } else {
                // A row that weighs nothing counts for nothing, whatever v holds there.
#pragma unroll
                for (int u = 0; u < AMK_ATTENTION_ROWS; ++u) {
#pragma unroll
                    for (int head = 0; head < HEADS; ++head) {
                        if (scores[u][head] != 0.0f) add(u, head);
                    }
                }
            }
        }
        // Groups have had rows in turns.
        for (int step = chunks; step < AMK_WARP; step *= 2) {
#pragma unroll
            for (int head = 0; head < HEADS; ++head) {
                weight[head] += amk_shuffle_xor(weight[head], step);
#pragma unroll
                for (int i = 0; i < elements::N; ++i) sums[head][i] += amk_shuffle_xor(sums[head][i], step);
            }
        }
        const amk_i64 length = partial ? dim + 2 : dim;
        if (parts > 1) {
            amk_attention_merged<elements::N, HEADS>(y, part, parts, int(turns), int(turn), chunk, group, dim, partial, bh * length, max, weight, sums);
            continue;
        }
        if (group != 0) continue;
#pragma unroll
        for (int head = 0; head < HEADS; ++head) {
            const amk_i64 out = (bh + head) * length, own = out + chunk * elements::N;
            if (partial) {
                // Partials are F32.
                float* const to = static_cast<float*>(y.ptr);
#pragma unroll
                for (int i = 0; i < elements::N; ++i) to[own + i] = sums[head][i];
                if (lane == 0) {
                    to[out + dim] = max[head];
                    to[out + dim + 1] = weight[head];
                }
            } else {
#pragma unroll
                for (int i = 0; i < elements::N; ++i) amk_store(y, own + i, sums[head][i] / weight[head]);
            }
        }
    }
}

template <int DTYPE>
AMK_DEVICE void amk_attention_of_dtype(const amk_program_t& program, const amk_instruction_t& task) {
    const int shared_heads = task.n_inputs > 3 ? 1 : task.params.n_heads / task.params.n_kv_heads;
    if (shared_heads % 4 == 0) {
        amk_attention_by_chunk<DTYPE, 4>(program, task);
    } else if (shared_heads % 2 == 0) {
        amk_attention_by_chunk<DTYPE, 2>(program, task);
    } else {
        amk_attention_by_chunk<DTYPE, 1>(program, task);
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
    const bool whole = q.dtype == k.dtype && k.dtype == v.dtype && places % 16 == 0;
#ifdef AMK_TENSOR_CORES
    // One head alone would have matrix units multiply zeros, for the most part.
    const bool halves = k.dtype == AMK_DTYPE_F16 || k.dtype == AMK_DTYPE_BF16;
    if (whole && halves && task.params.n_heads > task.params.n_kv_heads && task.params.head_dim % 8 == 0
        && task.params.head_dim <= AMK_TENSOR_HEAD_DIM) {
        if (k.dtype == AMK_DTYPE_F16) {
            amk_attention_by_fragment<AMK_DTYPE_F16>(program, task);
        } else {
            amk_attention_by_fragment<AMK_DTYPE_BF16>(program, task);
        }
        return;
    }
#endif
    const bool fits = whole && amk_attention_fits(task.params.head_dim, 128 / amk_dtype_bits(k.dtype));
    switch (fits ? k.dtype : int(AMK_DTYPE_COUNT)) {
        case AMK_DTYPE_F32: amk_attention_of_dtype<AMK_DTYPE_F32>(program, task); break;
        case AMK_DTYPE_F16: amk_attention_of_dtype<AMK_DTYPE_F16>(program, task); break;
        case AMK_DTYPE_BF16: amk_attention_of_dtype<AMK_DTYPE_BF16>(program, task); break;
        default: amk_attention_by_element(program, task); break;
    }
}
