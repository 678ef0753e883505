// Products of matrices that go on beside the four warps which have begun them (`wgmma`).
#pragma once

#include "shim.hpp"
#include "variables.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

namespace shim {

constexpr unsigned WARPS_OF_GROUP = 4;

// Whether the running thread is one of four warps, in a block of which there are so many.
inline bool is_of_group(std::size_t groups) { return threadIdx.x / WARP / WARPS_OF_GROUP < groups; }

// What one thread has of them. A sum is NaN in its register until its group is waited for, and nobody may write to it until then, or between then and
// the next product without a fence.
class Products {
public:
    AMK_OWN void fence() {
        is_fenced = true;
        landed.clear();
    }
    void check_fenced() const {
        if (!is_fenced) fault("a thread begins its first wgmma without a `wgmma.fence` before it");
    }

    // What is added to: a sum that is under way, or what the register holds.
    AMK_OWN std::uint32_t before(const std::uint32_t* place, std::uint32_t held, bool adds) const {
        if (const auto known = under_way.find(place); known != under_way.end() && held == UNDER_WAY) return known->second.sum;
        if (const auto known = landed.find(place); adds && known != landed.end() && known->second != held) {
            fault("a wgmma adds to a register that was written with no `wgmma.fence` since");
        }
        return held;
    }
    AMK_OWN std::uint32_t begin(std::uint32_t* place, std::uint32_t sum) {
        under_way[place] = {sum, groups};
        return UNDER_WAY;
    }

    void commit() { groups += 1; }
    std::uint64_t committed() const { return groups; }

    AMK_OWN void land(std::uint64_t first_under_way) {
        std::erase_if(under_way, [&](const auto& one) {
            const auto& [place, product] = one;
            if (product.group >= first_under_way) return false;
            std::uint32_t held;
            std::memcpy(&held, place, sizeof held);
            if (held != UNDER_WAY) fault("a sum of a wgmma was written, or its variable has gone, before it was waited for");
            std::memcpy(const_cast<std::uint32_t*>(place), &product.sum, sizeof held);
            landed[place] = product.sum;
            return true;
        });
    }

    // The thread returns.
    void finish() const {
        if (!under_way.empty()) fault("a thread returns while sums of a wgmma are under way: wgmma.commit_group or wgmma.wait_group is missing");
    }

private:
    // NaN as binary32 and as two halves; of the kind that is another one after any arithmetic.
    static constexpr std::uint32_t UNDER_WAY = 0x7fb17db1;

    struct One {
        std::uint32_t sum;
        std::uint64_t group;
    };
    std::map<const std::uint32_t*, One> under_way;
    // What was there when it was waited for, since the last fence.
    std::map<const std::uint32_t*, std::uint32_t> landed;
    std::uint64_t groups = 0;
    bool is_fenced = false;
};

// 16 bytes of an operand, which may not change until its product is waited for.
struct Kept {
    const unsigned char* place;
    unsigned char was[16];

    explicit Kept(const unsigned char* place) : place(place) { std::memcpy(was, place, sizeof was); }

    AMK_OWN void check(const char* reader, const Variables& variables) const {
        if (std::memcmp(place, was, sizeof was) == 0) return;
        fault("an operand of a %s, at %s, was stored over when it had been read and not waited for", reader, variables.name_of(place).c_str());
    }
};

// What the four warps have together.
class ProductsOfGroup {
public:
    // How many groups each thread has ended. All of them have read what they need when all have.
    std::uint64_t committed[WARPS_OF_GROUP * WARP] = {};

    template <typename Load>
    AMK_OWN bool all_committed(std::uint64_t groups, Load load) {
        return std::all_of(std::begin(committed), std::end(committed), [&](std::uint64_t& own) { return load(own) >= groups; });
    }

    // 16 bytes of an operand.
    AMK_OWN void read(const unsigned char* place, std::uint64_t group) { operands.push_back({Kept(place), group}); }

    AMK_OWN void check_operands(std::uint64_t first_under_way, const Variables& variables) {
        std::erase_if(operands, [&](const One& one) {
            if (one.group >= first_under_way) return false;
            one.operand.check("wgmma", variables);
            return true;
        });
    }

private:
    struct One {
        Kept operand;
        std::uint64_t group;
    };
    std::vector<One> operands;
};

}  // namespace shim
