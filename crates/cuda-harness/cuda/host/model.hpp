// The memory of a GPU, at its weakest: a model for launches on fibers (AMK_HOST_WEAK), so that what signal and wait forget to
// order shows as a wrong result, without a GPU.
//
// Every block has a first-level cache of its own that nobody keeps up to date. Its stores wait in a queue, and reach the
// second-level cache, which all blocks share, in any order; those to one sector in their own order.
//  - A release sends on what waits in the queue of the block, as far as the thread stored it, or had met the storing thread
//    at a barrier since.
//  - An acquire brings each sector of the first-level cache up to date, or drops it. Real caches drop all; but another block
//    of the SM may fetch them again at once, and then they are there.
//  - A fence does both. Polls, atomic functions and `__ldcg` go to the second level; the block finds what it has stored itself all the same.
//  - `__ldg` finds what it found before in this launch, or, of what the block has not fetched so, what was there when the launch
//    began: a cache that nothing brings up to date.
//
// Loads and stores are seen through the calls that the compiler makes before each of them for ThreadSanitizer, whose
// library is replaced by this file: before a load, what the block would find is put where it loads from; what is stored
// is fetched from there afterwards. One thread of the CPU runs all fibers, so that nobody comes in between.
#pragma once

#include "weak.hpp"

#ifndef AMK_HOST_WEAK

namespace weak {
inline void begin(unsigned, unsigned, unsigned long long) {}
inline void share(void*, unsigned long long) {}
inline void enter(unsigned, unsigned) {}
inline void leave() {}
inline void block_met(unsigned) {}
inline void lanes_met(unsigned, unsigned, unsigned) {}
inline void release() {}
inline void acquire() {}
inline void round() {}
inline void end() {}
inline void at_second(const void*, unsigned) {}
}  // namespace weak

#else

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#define AMK_UNSEEN __attribute__((no_sanitize("thread"), noinline))
// For what those call at every access of the kernels.
#define AMK_UNSEEN_PART __attribute__((no_sanitize("thread"), always_inline)) inline

namespace weak {

constexpr std::uintptr_t SECTOR = 32;
constexpr unsigned WARP_LANES = 32;

// A store on its way. `met_block` and `met_warp`: how often the block, and the thread with others of its warp, had met when it was made.
struct Store {
    std::uintptr_t address;
    unsigned size, thread;
    std::uint64_t met_block, met_warp;
    unsigned char bytes[16];
};

// A sector as a block sees it; bit i of `known`: byte i is there.
struct Line {
    unsigned char bytes[SECTOR];
    std::uint32_t known = 0;
};

// How often each lane has met others, and how many of those meetings of lane j had been when lane i last met somebody who knew of them.
struct Meetings {
    std::uint64_t of[WARP_LANES] = {}, known[WARP_LANES][WARP_LANES] = {};

    AMK_OWN void meet(unsigned lanes) {
        std::uint64_t all[WARP_LANES] = {};
        for (unsigned i = 0; i < WARP_LANES; ++i) {
            if ((lanes >> i & 1) == 0) continue;
            of[i] += 1;
            for (unsigned j = 0; j < WARP_LANES; ++j) {
                if (known[i][j] > all[j]) all[j] = known[i][j];
            }
            all[i] = of[i];
        }
        for (unsigned i = 0; i < WARP_LANES; ++i) {
            if (lanes >> i & 1) std::memcpy(known[i], all, sizeof all);
        }
    }
};

struct Sm {
    std::unordered_map<std::uintptr_t, Line> cache;
    std::vector<Store> queue;
    std::uint64_t met = 0;
    std::vector<Meetings> warps;
};

volatile Way way = Way::plain;

// Memory that all blocks use, where the kernels find it; what the second level holds of it, and what it held when the launch began.
struct Range {
    std::uintptr_t start, end;
    unsigned char *second, *at_start;
};

struct Model {
    std::vector<std::vector<unsigned char>> held;
    // By address. `first` and `n` say the same: whether an address is in one is asked at every access, and what containers do are accesses too.
    std::vector<Range> ranges;
    Range* first = nullptr;
    std::size_t n = 0;
    std::vector<Sm> sms;
    Sm* sm = nullptr;
    unsigned thread = 0;
    // What the compiler has announced of a store, in parts of up to 16 bytes, and whether there is any.
    std::vector<Store> announced;
    bool pending = false;
    // One store in so many leaves the queue in a round.
    std::uint64_t slowness = 2;
    std::uint64_t seed = 0;

    std::uint64_t random() {
        seed += 0x9e3779b97f4a7c15u;
        std::uint64_t z = seed;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }

    void share(std::uintptr_t start, std::size_t size) {
        const auto* bytes = reinterpret_cast<const unsigned char*>(start);
        Range range{start, start + size, nullptr, nullptr};
        for (unsigned char** copy : {&range.second, &range.at_start}) {
            held.emplace_back(bytes, bytes + size);
            *copy = held.back().data();
        }
        ranges.insert(std::find_if(ranges.begin(), ranges.end(), [&](const Range& other) { return other.start > start; }), range);
        first = ranges.data();
        n = ranges.size();
    }

    AMK_UNSEEN_PART const Range* range_of(std::uintptr_t address) const {
        std::size_t low = 0, high = n;
        while (low < high) {
            const std::size_t middle = (low + high) / 2;
            if (address < first[middle].start) {
                high = middle;
            } else if (address >= first[middle].end) {
                low = middle + 1;
            } else {
                return first + middle;
            }
        }
        return nullptr;
    }

    AMK_UNSEEN unsigned char* second(std::uintptr_t address) const {
        const Range* range = range_of(address);
        return range == nullptr ? nullptr : range->second + (address - range->start);
    }

    static void set(Line& line, std::uintptr_t at, unsigned char byte) {
        line.bytes[at % SECTOR] = byte;
        line.known |= 1u << (at % SECTOR);
    }

    // What the block has stored, it finds.
    static void keep(Sm& sm, const Store& store) {
        for (unsigned i = 0; i < store.size; ++i) {
            set(sm.cache[(store.address + i) / SECTOR], store.address + i, store.bytes[i]);
        }
    }

    // Fetches the bytes of a sector that are not there.
    void fetch(std::uintptr_t sector, Line& line) {
        for (std::uintptr_t at = sector * SECTOR; at < (sector + 1) * SECTOR; ++at) {
            const unsigned char* byte = second(at);
            if (byte != nullptr && (line.known >> (at % SECTOR) & 1) == 0) set(line, at, *byte);
        }
    }

    void load(std::uintptr_t address, unsigned size) {
        if (way == Way::incoherent) {
            const Range* range = range_of(address);
            std::memcpy(reinterpret_cast<void*>(address), range->at_start + (address - range->start), size);
            return;
        }
        if (way == Way::second) {
            for (unsigned i = 0; i < size; ++i) *reinterpret_cast<unsigned char*>(address + i) = *second(address + i);
            for (const Store& store : sm->queue) {
                for (unsigned i = 0; i < store.size; ++i) {
                    const std::uintptr_t at = store.address + i;
                    if (at - address < size) *reinterpret_cast<unsigned char*>(at) = store.bytes[i];
                }
            }
            return;
        }
        for (std::uintptr_t at = address; at < address + size;) {
            const std::uintptr_t sector = at / SECTOR, next = (sector + 1) * SECTOR, end = next < address + size ? next : address + size;
            Line& line = sm->cache[sector];
            const std::uint32_t wanted = std::uint32_t((std::uint64_t(1) << (end - at)) - 1) << (at % SECTOR);
            if ((line.known & wanted) != wanted) fetch(sector, line);
            std::memcpy(reinterpret_cast<void*>(at), line.bytes + at % SECTOR, end - at);
            at = end;
        }
    }

    // Takes over what the last store has stored by now.
    void commit() {
        pending = false;
        for (Store& store : announced) {
            std::memcpy(store.bytes, reinterpret_cast<const void*>(store.address), store.size);
            keep(*sm, store);
            sm->queue.push_back(store);
        }
        announced.clear();
    }

    // Sends on the stores that `leaves` names, and those before them that share a sector.
    template <typename Leaves>
    void send(Sm& from, Leaves leaves) {
        std::unordered_set<std::uintptr_t> sectors;
        std::vector<bool> sent(from.queue.size());
        for (std::size_t i = from.queue.size(); i-- > 0;) {
            const Store& store = from.queue[i];
            const std::uintptr_t first = store.address / SECTOR, last = (store.address + store.size - 1) / SECTOR;
            sent[i] = leaves(store) || sectors.count(first) || sectors.count(last);
            if (sent[i]) sectors.insert({first, last});
        }
        std::size_t kept = 0;
        for (std::size_t i = 0; i < from.queue.size(); ++i) {
            const Store store = from.queue[i];
            if (!sent[i]) {
                from.queue[kept++] = store;
                continue;
            }
            for (unsigned b = 0; b < store.size; ++b) {
                if (unsigned char* byte = second(store.address + b)) *byte = store.bytes[b];
            }
        }
        from.queue.resize(kept);
    }

    void release() {
        commit();
        const Meetings& warp = sm->warps[thread / WARP_LANES];
        const std::uint64_t* known = warp.known[thread % WARP_LANES];
        send(*sm, [&](const Store& store) {
            const bool met_warp = store.thread / WARP_LANES == thread / WARP_LANES && store.met_warp < known[store.thread % WARP_LANES];
            return store.thread == thread || store.met_block < sm->met || met_warp;
        });
    }

    void acquire() {
        commit();
        for (auto line = sm->cache.begin(); line != sm->cache.end();) {
            line->second.known = 0;
            if (random() % 2 == 0) {
                fetch(line->first, line->second);
                ++line;
            } else {
                line = sm->cache.erase(line);
            }
        }
        for (const Store& store : sm->queue) keep(*sm, store);
    }

    // What the block has stored in the sector of these bytes is sent on, and of them it finds what the second level has.
    void meet_second(std::uintptr_t address, unsigned size) {
        commit();
        if (second(address) == nullptr) return;
        const std::uintptr_t sector = address / SECTOR;
        send(*sm, [&](const Store& store) { return store.address / SECTOR <= sector && (store.address + store.size - 1) / SECTOR >= sector; });
        for (std::uintptr_t at = address; at < address + size; ++at) set(sm->cache[sector], at, *second(at));
    }
};

inline Model* model = nullptr;
// The model's own loads and stores are seen as well.
inline bool inside = false;

struct Inside {
    AMK_UNSEEN Inside() { inside = true; }
    AMK_UNSEEN ~Inside() { inside = false; }
};

inline void begin(unsigned blocks, unsigned threads, unsigned long long seed) {
    Inside own;
    delete model;
    model = new Model;
    model->seed = seed;
    model->slowness = std::uint64_t(1) << (1 + 3 * (model->random() % 3));
    model->sms.resize(blocks);
    for (Sm& sm : model->sms) sm.warps.resize((threads + WARP_LANES - 1) / WARP_LANES);
}

// Memory that all blocks use.
inline void share(void* bytes, unsigned long long size) {
    Inside own;
    model->share(reinterpret_cast<std::uintptr_t>(bytes), size);
}

// From now on this thread runs.
inline void enter(unsigned block, unsigned thread) {
    Inside own;
    model->sm = &model->sms[block];
    model->thread = thread;
}

// It has stopped.
inline void leave() {
    Inside own;
    model->commit();
    model->sm = nullptr;
}

// All threads of a block, or these lanes of a warp, have met; the last of them runs.
inline void block_met(unsigned block) {
    Inside own;
    model->commit();
    model->sms[block].met += 1;
}

inline void lanes_met(unsigned block, unsigned warp, unsigned lanes) {
    Inside own;
    model->commit();
    model->sms[block].warps[warp].meet(lanes);
}

// By the thread that runs.
inline void release() {
    Inside own;
    model->release();
}

inline void acquire() {
    Inside own;
    model->acquire();
}

// Before and after an atomic change, which lies within a sector.
inline void at_second(const void* word, unsigned size) {
    Inside own;
    model->meet_second(reinterpret_cast<std::uintptr_t>(word), size);
}

// Time goes by: some stores arrive.
inline void round() {
    Inside own;
    for (Sm& sm : model->sms) {
        if (!sm.queue.empty()) model->send(sm, [](const Store&) { return model->random() % model->slowness == 0; });
    }
}

// The launch is over, and everything has arrived.
inline void end() {
    Inside own;
    for (Sm& sm : model->sms) model->send(sm, [](const Store&) { return true; });
    for (const Range& range : model->ranges) std::memcpy(reinterpret_cast<void*>(range.start), range.second, range.end - range.start);
    delete model;
    model = nullptr;
}

// Whether an access is one that the model follows. Before it, what was announced has been stored.
AMK_UNSEEN_PART bool is_of_kernel(const void* address) {
    if (inside || model == nullptr || model->sm == nullptr) return false;
    if (model->pending) {
        Inside own;
        model->commit();
    }
    return model->range_of(reinterpret_cast<std::uintptr_t>(address)) != nullptr;
}

AMK_UNSEEN inline void before_load(void* address, unsigned size) {
    if (!is_of_kernel(address)) return;
    Inside own;
    model->load(reinterpret_cast<std::uintptr_t>(address), size);
}

AMK_UNSEEN inline void before_store(void* address, unsigned long size) {
    if (!is_of_kernel(address)) return;
    Inside own;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const unsigned thread = model->thread;
    const std::uint64_t met_warp = model->sm->warps[thread / WARP_LANES].of[thread % WARP_LANES];
    for (unsigned long done = 0; done < size; done += 16) {
        const unsigned part = size - done < 16 ? unsigned(size - done) : 16;
        model->announced.push_back({at + done, part, thread, model->sm->met, met_warp, {}});
    }
    model->pending = true;
}

}  // namespace weak

#define AMK_HOOKS(SIZE)                                                                                     \
    extern "C" AMK_UNSEEN void __tsan_read##SIZE(void* address) { weak::before_load(address, SIZE); }       \
    extern "C" AMK_UNSEEN void __tsan_write##SIZE(void* address) { weak::before_store(address, SIZE); }     \
    extern "C" AMK_UNSEEN void __tsan_unaligned_read##SIZE(void* a) { weak::before_load(a, SIZE); }         \
    extern "C" AMK_UNSEEN void __tsan_unaligned_write##SIZE(void* a) { weak::before_store(a, SIZE); }
AMK_HOOKS(1)
AMK_HOOKS(2)
AMK_HOOKS(4)
AMK_HOOKS(8)
AMK_HOOKS(16)
extern "C" AMK_UNSEEN void __tsan_read_range(void* address, unsigned long size) {
    for (unsigned long i = 0; i < size; ++i) weak::before_load(static_cast<char*>(address) + i, 1);
}
extern "C" AMK_UNSEEN void __tsan_write_range(void* address, unsigned long size) { weak::before_store(address, size); }
extern "C" AMK_UNSEEN void __tsan_init() {}
extern "C" AMK_UNSEEN void __tsan_func_entry(void*) {}
extern "C" AMK_UNSEEN void __tsan_func_exit() {}
extern "C" AMK_UNSEEN void __tsan_vptr_update(void*, void*) {}
extern "C" AMK_UNSEEN void __tsan_vptr_read(void*) {}

#endif
