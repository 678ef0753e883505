// What is known of the lanes of a warp: who waits for whom, and what they have handed in. How a lane waits is for fibers.cpp and
// threads.cpp. A wait that can never end is a fault at once, with a sentence.
#pragma once

#include "shim.hpp"

#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <string>

namespace shim {

// Lanes that meet in a function of the warp: those of one mask. They use two sets of words in turns, since nobody can be two meetings
// ahead of anybody.
struct Gathering {
    std::uint64_t words[2][WARP] = {};
    // The lanes that have handed in their words, of this meeting and, by set, of those before it.
    unsigned waiting = 0, came[2] = {};
    unsigned set = 0;
    // For threads of the CPU, by which ThreadSanitizer knows what a meeting orders, by set: who goes on late from one meeting does not come after
    // what others did before the next.
    std::atomic<unsigned> met[2] = {};
};

class Warp {
public:
    // Most meetings are of the mask of the one before.
    AMK_OWN Gathering& of_mask(unsigned mask) {
        if (last == nullptr || last->first != mask) last = &*gatherings.try_emplace(mask).first;
        return last->second;
    }

    // A lane comes to a function. Whether it is the last one of its mask, so that all go on.
    AMK_OWN bool arrive(unsigned lane, const char* function, unsigned mask, std::uint64_t word) {
        Gathering& gathering = of_mask(mask);
        functions[lane] = function;
        masks[lane] = mask;
        met_in[lane] = &gathering;
        if ((mask >> lane & 1) == 0) fault_of(lane, "calls %s, whose mask does not name it", call(lane).c_str());
        if (gathering.waiting != 0) {
            const unsigned other = unsigned(std::countr_zero(gathering.waiting));
            if (functions[other] != function && std::strcmp(functions[other], function) != 0) {
                fault_of(lane, "calls %s, and lane %u %s", call(lane).c_str(), other, call(other).c_str());
            }
        }
        gathering.words[gathering.set][lane] = word;
        gathering.waiting |= 1u << lane;
        in_function |= 1u << lane;
        if (open(gathering, mask)) return true;
        look_for_cycle(lane);
        return false;
    }

    // A lane comes to the barrier of the block.
    AMK_OWN void arrive_at_barrier(unsigned lane) {
        at_barrier |= 1u << lane;
        look_for_cycle(lane);
    }

    // That barrier lets all go on.
    void leave_barrier() { at_barrier = 0; }

    // The same of a barrier with a number, at which others than the lanes of this warp may stay.
    AMK_OWN void arrive_at_named_barrier(unsigned lane) {
        at_named |= 1u << lane;
        look_for_cycle(lane);
    }
    void leave_named_barrier(unsigned lane) { at_named &= ~(1u << lane); }

    // What a lane has called, in which it may wait.
    std::string call(unsigned lane) const {
        char mask[16];
        std::snprintf(mask, sizeof mask, "(0x%08x)", masks[lane]);
        return std::string(functions[lane]) + mask;
    }

    // The lanes that have not returned.
    unsigned left() const { return ~returned; }

    // A lane has returned: nobody waits for it any more. The lanes that go on.
    unsigned quit(unsigned lane) {
        returned |= 1u << lane;
        unsigned free = 0;
        for (auto& [mask, gathering] : gatherings) {
            const unsigned waiting = gathering.waiting;
            if (waiting != 0 && open(gathering, mask)) free |= waiting;
        }
        return free;
    }

private:
    AMK_OWN bool open(Gathering& gathering, unsigned mask) {
        if ((mask & ~returned & ~gathering.waiting) != 0) return false;
        in_function &= ~gathering.waiting;
        gathering.came[gathering.set] = gathering.waiting;
        gathering.waiting = 0;
        gathering.set ^= 1;
        return true;
    }

    // The lanes for which a lane waits.
    AMK_OWN unsigned waited_for(unsigned lane) {
        const unsigned at_any = at_barrier | at_named;
        if (at_any >> lane & 1) return left() & ~at_any;
        if (in_function >> lane & 1) return left() & masks[lane] & ~met_in[lane]->waiting;
        return 0;
    }

    // Those that cannot go on before others have come.
    unsigned blocked() const { return at_barrier | at_named | in_function; }

    // The lanes for which a lane waits, directly or since others do.
    AMK_OWN unsigned reach(unsigned lane) {
        unsigned reached = waited_for(lane), seen = 0;
        while (reached & ~seen) {
            const unsigned next = unsigned(std::countr_zero(reached & ~seen));
            seen |= 1u << next;
            reached |= waited_for(next);
        }
        return reached;
    }

    // A lane that waits for itself, by way of others, never goes on.
    AMK_OWN void look_for_cycle(unsigned lane) {
        if ((waited_for(lane) & blocked()) == 0 || (reach(lane) >> lane & 1) == 0) return;
        // One of the lanes that wait for each other says it: one that waits in a function.
        for (unsigned first = 0; first < WARP; ++first) {
            if ((in_function >> first & 1) == 0) continue;
            for (unsigned other = 0; other < WARP; ++other) {
                if ((waited_for(first) & blocked() & 1u << other) == 0 || (reach(other) >> first & 1) == 0) continue;
                const std::string where = (at_barrier | at_named) >> other & 1 ? "at a barrier of the block" : "in " + call(other);
                fault_of(first, "waits in %s for lane %u, which waits %s", call(first).c_str(), other, where.c_str());
            }
        }
    }

    std::map<unsigned, Gathering> gatherings;
    std::pair<const unsigned, Gathering>* last = nullptr;
    // Where each lane waits, or has waited.
    const Gathering* met_in[WARP] = {};
    unsigned returned = 0, at_barrier = 0, at_named = 0, in_function = 0;
    unsigned masks[WARP] = {};
    const char* functions[WARP] = {};
};

}  // namespace shim
