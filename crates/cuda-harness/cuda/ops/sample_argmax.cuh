// OPC-17: the first index of the largest logit of each row.
#pragma once
#include "../task.cuh"

// The largest logit so far, and its first index; `at` is beyond the row as long as there is none.
struct amk_best {
    float logit;
    amk_i64 at;

    AMK_METHOD void meet(float other, amk_i64 place) {
        if (other > logit || (other == logit && place < at)) {
            logit = other;
            at = place;
        }
    }
};

#define AMK_ARGMAX_CHUNKS 8

// Chunks of a row, eight of each thread under way.
template <int DTYPE>
AMK_CALLED void amk_best_of_chunks(const amk_u8* row, amk_i64 chunks, amk_best& best) {
    typedef amk_elements<DTYPE> elements;
    for (amk_i64 first = amk_thread(); first < chunks; first += AMK_ARGMAX_CHUNKS * amk_threads()) {
        amk_chunk found[AMK_ARGMAX_CHUNKS];
#pragma unroll
        for (int u = 0; u < AMK_ARGMAX_CHUNKS; ++u) {
            const amk_i64 chunk = first + u * amk_threads();
            found[u] = amk_load_chunk(row + 16 * (chunk < chunks ? chunk : first));
        }
#pragma unroll
        for (int u = 0; u < AMK_ARGMAX_CHUNKS; ++u) {
            const amk_i64 chunk = first + u * amk_threads() < chunks ? first + u * amk_threads() : first;
            // Most chunks have nothing larger, and are not looked at more closely. A NaN is never the largest.
            float largest = -amk_infinity();
#pragma unroll
            for (int i = 0; i < elements::N; ++i) largest = fmaxf(largest, elements::at(found[u], i));
            if (!(largest > best.logit) && !(largest == best.logit && chunk * elements::N < best.at)) continue;
#pragma unroll
            for (int i = 0; i < elements::N; ++i) best.meet(elements::at(found[u], i), chunk * elements::N + i);
        }
    }
}

AMK_DEVICE void amk_op_sample_argmax(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &logits = amk_input(program, task, 0), &ids = amk_output(program, task, 0);
    const amk_i64 vocabulary = amk_last(logits);
    const int warp = amk_thread() / AMK_WARP, lane = amk_thread() % AMK_WARP, warps = amk_threads() / AMK_WARP;
    const int bits = amk_dtype_bits(logits.dtype);
    const bool whole = bits > 8 && vocabulary * bits % 128 == 0 && reinterpret_cast<unsigned long long>(logits.ptr) % 16 == 0;
    float* best_logits = amk_scratch();
    amk_i64* best_places = reinterpret_cast<amk_i64*>(best_logits + 2 * warps);
    for (amk_i64 row = 0; row < ids.numel; ++row) {
        amk_best best = {-amk_infinity(), vocabulary};
        const amk_u8* from = static_cast<const amk_u8*>(logits.ptr) + row * vocabulary * bits / 8;
        const amk_i64 chunks = vocabulary * bits / 128;
        switch (whole ? logits.dtype : int(AMK_DTYPE_COUNT)) {
            case AMK_DTYPE_F32: amk_best_of_chunks<AMK_DTYPE_F32>(from, chunks, best); break;
            case AMK_DTYPE_F16: amk_best_of_chunks<AMK_DTYPE_F16>(from, chunks, best); break;
            case AMK_DTYPE_BF16: amk_best_of_chunks<AMK_DTYPE_BF16>(from, chunks, best); break;
            default: amk_each(vocabulary, [&](amk_i64 i) { best.meet(amk_load(logits, row * vocabulary + i), i); }); break;
        }
        for (int step = AMK_WARP / 2; step > 0; step /= 2) {
            const float other = amk_shuffle_xor(best.logit, step);
            const amk_i64 place = amk_shuffle_xor(best.at, step);
            best.meet(other, place);
        }
        if (lane == 0) {
            best_logits[warp] = best.logit;
            best_places[warp] = best.at;
        }
        __syncthreads();
        if (amk_thread() == 0) {
            for (int other = 1; other < warps; ++other) best.meet(best_logits[other], best_places[other]);
            // Nothing but NaN has no largest: any index will do.
            static_cast<int*>(ids.ptr)[row] = best.at == vocabulary ? 0 : int(best.at);
        }
        __syncthreads();
    }
}
