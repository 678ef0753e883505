// Copies of many bytes that go on by themselves (`cp.async.bulk`).
#pragma once

#include "copies.hpp"
#include "shim.hpp"
#include "variables.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace shim {

inline void check_bulk(const unsigned char* to, const unsigned char* from, unsigned bytes) {
    const auto is_whole = [](std::uintptr_t number) { return number % 16 == 0; };
    if (!is_whole(bytes)) fault("a bulk copy of %u bytes, which is no multiple of 16", bytes);
    if (!is_whole(reinterpret_cast<std::uintptr_t>(to)) || !is_whole(reinterpret_cast<std::uintptr_t>(from))) {
        fault("a bulk copy of %u bytes from or to an address that is no multiple of 16", bytes);
    }
}

// Those of a block into its shared memory. Each other one lands at once; the rest at the second look at their barrier, so that who looks once
// has looked too early, and until then there are NaN in their places.
class BulkLoads {
public:
    explicit BulkLoads(Variables& variables) : variables(variables) {}

    void begin(unsigned char* to, const unsigned char* from, unsigned bytes, std::uint64_t* barrier, Arrived arrived) {
        check_bulk(to, from, bytes);
        const One copy{to, from, bytes, barrier, arrived, false};
        if (begun++ % 2 == 1) return land(copy);
        under_way.push_back(copy);
        std::memset(to, 0xff, bytes);
        variables.make_known(to, bytes);
    }

    // What a look at a barrier has brought about.
    struct Looked {
        bool landed = false, marked = false;
    };

    Looked look(const std::uint64_t* barrier) {
        std::vector<One> landing, left;
        Looked looked;
        for (One copy : under_way) {
            const bool lands = copy.barrier == barrier && copy.looked_for;
            looked.marked |= copy.barrier == barrier && !lands;
            copy.looked_for |= copy.barrier == barrier;
            (lands ? landing : left).push_back(copy);
        }
        under_way = std::move(left);
        looked.landed = !landing.empty();
        // Whoever is told of it may begin others.
        for (const One& copy : landing) land(copy);
        return looked;
    }

private:
    struct One {
        unsigned char* to;
        const unsigned char* from;
        unsigned bytes;
        std::uint64_t* barrier;
        Arrived arrived;
        bool looked_for;
    };

    // No first-level cache is on its way.
    void land(const One& copy) {
        for (unsigned i = 0; i < copy.bytes; i += 4) {
            *reinterpret_cast<std::uint32_t*>(copy.to + i) = load_by(weak::Way::second, reinterpret_cast<const std::uint32_t*>(copy.from + i));
        }
        variables.make_known(copy.to, copy.bytes);
        copy.arrived(copy.barrier, copy.bytes);
    }

    Variables& variables;
    std::vector<One> under_way;
    std::uint64_t begun = 0;
};

// Those of a thread out of shared memory. Each other one lands at once; the rest as late as they may, and read as late what they copy.
class BulkStores {
public:
    void begin(unsigned char* to, const unsigned char* from, unsigned bytes, Landing land, const Variables& variables) {
        check_bulk(to, from, bytes);
        variables.check_known(from, bytes, "a bulk copy");
        if (begun++ % 2 == 1) return land(to, from, bytes);
        under_way.push_back({to, from, bytes, land, groups, {}});
    }

    void commit() { groups += 1; }

    void wait(unsigned last, bool only_read) {
        const auto is_waited_for = [&](const One& copy) { return copy.group + last < groups; };
        for (One& copy : under_way) {
            if (!is_waited_for(copy)) continue;
            copy.read();
            if (!only_read) copy.arrive();
        }
        if (!only_read) std::erase_if(under_way, is_waited_for);
    }

    // The thread returns, and shared memory is not for it any more.
    void finish() {
        for (One& copy : under_way) {
            if (copy.words.empty()) fault("a thread returns while a bulk copy of it reads shared memory: cp.async.bulk.wait_group is missing");
            copy.arrive();
        }
        under_way.clear();
    }

private:
    struct One {
        unsigned char* to;
        const unsigned char* from;
        unsigned bytes;
        Landing land;
        std::uint64_t group;
        std::vector<std::uint32_t> words;

        void read() {
            if (!words.empty()) return;
            words.resize(bytes / 4);
            copy_words(bytes_of_words(), from, bytes);
        }
        void arrive() { land(to, bytes_of_words(), bytes); }
        unsigned char* bytes_of_words() { return reinterpret_cast<unsigned char*>(words.data()); }
    };

    std::vector<One> under_way;
    std::uint64_t groups = 0, begun = 0;
};

}  // namespace shim
