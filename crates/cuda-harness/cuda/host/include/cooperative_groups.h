// CUDA's groups of threads, on the CPU: of a block, of a grid, of lanes of a warp.
#pragma once

#include "host/shim.hpp"

namespace cooperative_groups {

struct thread_block {
    static void sync() { __syncthreads(); }
    static unsigned thread_rank() { return threadIdx.x; }
    static unsigned num_threads() { return blockDim.x; }
    static unsigned size() { return num_threads(); }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 dim_threads() { return blockDim; }
    static dim3 group_dim() { return blockDim; }
};

inline thread_block this_thread_block() { return {}; }

struct grid_group {
    static void sync() {
        // Each block counts itself once its threads have met, and waits until as many have as there are.
        __syncthreads();
        if (threadIdx.x == 0) {
            shim::fence();
            const std::uint32_t before = shim::change(&shim::blocks_met, [](std::uint32_t count) { return count + 1; });
            const std::uint32_t all = (before / gridDim.x + 1) * gridDim.x;
            while (shim::poll(&shim::blocks_met) < all) shim::pause();
            shim::fence();
        }
        __syncthreads();
    }
    static bool is_valid() { return true; }
    static unsigned long long thread_rank() { return static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x; }
    static unsigned long long num_threads() { return static_cast<unsigned long long>(gridDim.x) * blockDim.x; }
    static unsigned long long size() { return num_threads(); }
    static unsigned long long block_rank() { return blockIdx.x; }
    static unsigned long long num_blocks() { return gridDim.x; }
    static dim3 block_index() { return blockIdx; }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 group_dim() { return gridDim; }
};

inline grid_group this_grid() { return {}; }

// Lanes of one warp by their rank among them.
class lanes_of_warp {
public:
    void sync() const { __syncwarp(mask); }
    unsigned num_threads() const { return unsigned(__popc(mask)); }
    unsigned size() const { return num_threads(); }
    unsigned thread_rank() const { return unsigned(__popc(mask & ((1u << amk_lane()) - 1))); }
    unsigned meta_group_rank() const { return rank_of_group; }
    unsigned meta_group_size() const { return groups; }

    template <typename T>
    T shfl(T value, unsigned rank) const { return shim::shuffle("shfl", mask, value, lane_of(rank % num_threads())); }
    template <typename T>
    T shfl_up(T value, unsigned delta) const {
        return shim::shuffle("shfl_up", mask, value, thread_rank() >= delta ? lane_of(thread_rank() - delta) : amk_lane());
    }
    template <typename T>
    T shfl_down(T value, unsigned delta) const {
        return shim::shuffle("shfl_down", mask, value, thread_rank() + delta < num_threads() ? lane_of(thread_rank() + delta) : amk_lane());
    }

    int any(int holds) const { return __any_sync(mask, holds); }
    int all(int holds) const { return __all_sync(mask, holds); }
    unsigned ballot(int holds) const { return by_rank(__ballot_sync(mask, holds)); }
    template <typename T>
    unsigned match_any(T value) const { return by_rank(__match_any_sync(mask, value)); }
    template <typename T>
    unsigned match_all(T value, int& all_match) const { return by_rank(__match_all_sync(mask, value, &all_match)); }

    // For functions of a group.
    unsigned mask_of_lanes() const { return mask; }

protected:
    lanes_of_warp(unsigned mask, unsigned rank_of_group, unsigned groups) : mask(mask), rank_of_group(rank_of_group), groups(groups) {}

    unsigned lane_of(unsigned rank) const {
        unsigned left = mask;
        for (; rank > 0; --rank) left &= left - 1;
        return unsigned(std::countr_zero(left));
    }

private:
    unsigned by_rank(unsigned lanes) const {
        unsigned ranks = 0, rank = 0;
        for (unsigned left = mask; left != 0; left &= left - 1, ++rank) ranks |= (lanes >> std::countr_zero(left) & 1u) << rank;
        return ranks;
    }

    unsigned mask, rank_of_group, groups;
};

// Neighbours, as many as a power of two up to a warp.
template <unsigned Size, typename Parent = void>
class thread_block_tile : public lanes_of_warp {
    static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0, "a tile of more than a warp is not there on the CPU");

public:
    thread_block_tile(unsigned rank_of_group, unsigned groups)
        : lanes_of_warp((Size == 32 ? 0xffffffffu : (1u << Size % 32) - 1) << (amk_lane() & ~(Size - 1)), rank_of_group, groups) {}

    template <typename Other>
    thread_block_tile(const thread_block_tile<Size, Other>& tile) : lanes_of_warp(tile) {}

    template <typename T>
    T shfl_xor(T value, unsigned ranks) const {
        const unsigned rank = this->thread_rank() ^ ranks;
        return shim::shuffle("shfl_xor", this->mask_of_lanes(), value, rank < Size ? this->lane_of(rank) : amk_lane());
    }
};

template <unsigned Size>
thread_block_tile<Size, thread_block> tiled_partition(const thread_block& block) {
    return {block.thread_rank() / Size, (block.num_threads() + Size - 1) / Size};
}

template <unsigned Size, unsigned Larger, typename Parent>
thread_block_tile<Size, thread_block_tile<Larger, Parent>> tiled_partition(const thread_block_tile<Larger, Parent>& tile) {
    static_assert(Size <= Larger);
    return {tile.thread_rank() / Size, Larger / Size};
}

struct coalesced_group : lanes_of_warp {
    coalesced_group() : lanes_of_warp(__activemask(), 0, 1) {}
};

// Those that happen to be together: the caller alone, which is as much as a GPU promises.
inline coalesced_group coalesced_threads() { return {}; }

template <typename Group>
void sync(const Group& group) { group.sync(); }
template <typename Group>
auto thread_rank(const Group& group) { return group.thread_rank(); }
template <typename Group>
auto group_size(const Group& group) { return group.size(); }

}  // namespace cooperative_groups
