// Barriers of a block that have a number (`barrier.sync 1, 64`).
#pragma once

#include "shim.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

namespace shim {

// One of them, at which threads wait that are known to fibers.cpp or threads.cpp as `Waiter`. It opens when so many threads have come, which are
// counted by whole warps, as on a GPU: a warp has come when all its lanes have that have not returned.
template <typename Waiter>
class NamedBarrier {
public:
    // A lane of the running thread's warp comes, of which these have not returned. Whether the barrier opens.
    AMK_OWN bool arrive(unsigned id, unsigned threads, bool holds, unsigned left) {
        const unsigned warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, all = (blockDim.x + WARP - 1) / WARP * WARP;
        if (threads == 0 || threads % WARP != 0 || threads > all) {
            fault_of(lane, "comes to barrier %u of %u threads, which has to be a multiple of 32 up to the %u of the block", id, threads, all);
        }
        if (wanted != 0 && wanted != threads) {
            fault_of(lane, "comes to barrier %u of %u threads, and others have come to it as to one of %u", id, threads, wanted);
        }
        warps.resize(all / WARP);
        if (warps[warp].lanes >> lane & 1) fault_of(lane, "comes to barrier %u again, and not all other lanes of its warp have come once", id);
        wanted = threads;
        warps[warp].lanes |= 1u << lane;
        warps[warp].holding += holds;
        return is_last(warp, left);
    }

    // Whether a warp, of which these lanes are left, is the last for which the barrier has waited.
    AMK_OWN bool is_last(unsigned warp, unsigned left) {
        if (warp >= warps.size() || warps[warp].lanes == 0 || (left & ~warps[warp].lanes) != 0) return false;
        arrived += WARP;
        holding += warps[warp].holding;
        warps[warp] = {};
        return arrived == wanted;
    }

    // Those go on that wait, but for those whose warp has not come as a whole; for how many threads it holds.
    template <typename Go>
    AMK_OWN unsigned open(Go go) {
        const unsigned count = holding;
        std::erase_if(waiting, [&](Waiter* waiter) {
            if (warps[waiter->thread.thread.x / WARP].lanes != 0) return false;
            go(*waiter, count);
            return true;
        });
        opened += 1;
        arrived = holding = 0;
        if (!is_in_part()) wanted = 0;
        return count;
    }

    // Whether some lanes have come of a warp of which others have not.
    AMK_OWN bool is_in_part() const {
        return std::any_of(warps.begin(), warps.end(), [](const Part& warp) { return warp.lanes != 0; });
    }

    // How many threads have come by whole warps, and to how many it opens.
    unsigned come() const { return arrived; }
    unsigned expected() const { return wanted; }

    std::vector<Waiter*> waiting;
    // How often it has opened.
    unsigned opened = 0;
    // By which ThreadSanitizer knows what it orders: this time, and the time before, which some may not have left.
    std::atomic<unsigned> met[2] = {};

private:
    struct Part {
        unsigned lanes = 0, holding = 0;
    };
    std::vector<Part> warps;
    // Threads as those say that have come, 0 where nobody has; those that have come, and for how many of them it holds.
    unsigned wanted = 0, arrived = 0, holding = 0;
};

template <typename Waiter>
struct NamedBarriers {
    NamedBarrier<Waiter>& of(unsigned id) {
        if (id >= COUNT) fault_of(threadIdx.x % WARP, "comes to barrier %u: a block has %u", id, COUNT);
        return all[id];
    }

    static constexpr unsigned COUNT = 16;
    NamedBarrier<Waiter> all[COUNT];
};

}  // namespace shim
