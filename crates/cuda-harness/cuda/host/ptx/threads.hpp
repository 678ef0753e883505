// Instructions of PTX in which threads meet.
#pragma once

#include "values.hpp"

namespace shim::ptx {

// Threads of the block come to one of its barriers, and wait or do not.
inline unsigned meet(std::uint32_t id, std::uint32_t threads, bool waits, bool holds = false) {
    if (id == 0 && waits && threads == blockDim.x) return block_barrier(holds);
    return named_barrier(id, threads, waits, holds);
}

// A result, and a predicate with it.
template <typename T>
struct Found {
    T value;
    bool holds;
};

// Lanes are in groups of which the clamp's upper bits say how large they are, and its lower ones where they end.
struct Segment {
    unsigned first, last;

    explicit Segment(std::uint32_t clamp) {
        const unsigned mask = clamp >> 8 & 31;
        first = amk_lane() & mask;
        last = first | (clamp & 31 & ~mask);
    }
};

template <typename T>
Found<T> shuffle_by(const char* name, T value, unsigned from, bool holds, std::uint32_t mask) {
    return {shuffle(name, mask, value, holds ? from : amk_lane()), holds};
}
template <typename T>
Found<T> shuffle_idx(T value, std::uint32_t lane, std::uint32_t clamp, std::uint32_t mask) {
    const Segment segment(clamp);
    const unsigned from = segment.first | (lane & 31 & ~(clamp >> 8 & 31));
    return shuffle_by("shfl.sync.idx", value, from, from <= segment.last, mask);
}
template <typename T>
Found<T> shuffle_up(T value, std::uint32_t delta, std::uint32_t clamp, std::uint32_t mask) {
    const int from = int(amk_lane()) - int(delta & 31);
    return shuffle_by("shfl.sync.up", value, unsigned(from), from >= int(Segment(clamp).last), mask);
}
template <typename T>
Found<T> shuffle_down(T value, std::uint32_t delta, std::uint32_t clamp, std::uint32_t mask) {
    const unsigned from = amk_lane() + (delta & 31);
    return shuffle_by("shfl.sync.down", value, from, from <= Segment(clamp).last, mask);
}
template <typename T>
Found<T> shuffle_bfly(T value, std::uint32_t lanes, std::uint32_t clamp, std::uint32_t mask) {
    const unsigned from = amk_lane() ^ (lanes & 31);
    return shuffle_by("shfl.sync.bfly", value, from, from <= Segment(clamp).last, mask);
}

inline bool vote_all(bool holds, std::uint32_t mask) { return alike(gather("vote.sync.all", mask, holds), 0) == 0; }
inline bool vote_any(bool holds, std::uint32_t mask) { return alike(gather("vote.sync.any", mask, holds), 1) != 0; }
inline bool vote_uni(bool holds, std::uint32_t mask) {
    const Gathered all = gather("vote.sync.uni", mask, holds);
    return alike(all, holds) == all.lanes;
}
inline std::uint32_t vote_ballot(bool holds, std::uint32_t mask) { return alike(gather("vote.sync.ballot", mask, holds), 1); }

template <typename T>
Found<std::uint32_t> match_any(T value, std::uint32_t mask) {
    return {alike(gather("match.any.sync", mask, word_of(value)), word_of(value)), true};
}
template <typename T>
Found<std::uint32_t> match_all(T value, std::uint32_t mask) {
    const Gathered all = gather("match.all.sync", mask, word_of(value));
    const bool holds = alike(all, word_of(value)) == all.lanes;
    return {holds ? all.lanes : 0, holds};
}

// One lane of those that meet, which is always the same: the first.
inline Found<std::uint32_t> elect(std::uint32_t mask) {
    const unsigned first = unsigned(std::countr_zero(gather("elect.sync", mask, 0).lanes));
    return {first, first == amk_lane()};
}

}  // namespace shim::ptx
