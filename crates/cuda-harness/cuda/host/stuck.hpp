// What is said of the threads of a launch that cannot go on.
#pragma once

#include "phases.hpp"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace shim {

template <typename... Values>
std::string text(const char* format, Values... values) {
    char room[256];
    std::snprintf(room, sizeof room, format, values...);
    return room;
}

// What an mbarrier waits for. A word that is none any more has been stored over.
inline std::string missing(Phases phases) {
    if (!phases.is_one()) return "which is none any more";
    const unsigned to_come = unsigned(phases.to_come()), all = unsigned(phases.of_phase());
    const long long bytes = static_cast<long long>(phases.bytes()) - static_cast<long long>(Phases::NO_BYTES);
    std::string said = text("whose phase of parity %u has %u of %u arrivals still to come", phases.parity(), to_come, all);
    if (bytes > 0) said += text(", and %lld bytes", bytes);
    if (bytes < 0) said += text(", and %lld bytes too many", -bytes);
    return said;
}

// Where a thread stands, and how much that says of why nothing goes on: bytes that do not come, all; a word that nobody changes, much; a barrier for
// some, less; and what all threads of a block come to may only show that one of them is elsewhere.
struct Standing {
    unsigned block, thread;
    // As it is said of several threads, such as "wait" and "at barrier 1"; without a verb there is nothing to say.
    const char* verb;
    std::string what;
    enum Says { ALL, MUCH, SOME, LITTLE } says;
};

// Threads by number, which come in order.
inline std::string threads_of(const std::vector<unsigned>& threads) {
    std::vector<std::pair<unsigned, unsigned>> ranges;
    for (const unsigned thread : threads) {
        if (!ranges.empty() && ranges.back().second + 1 == thread) {
            ranges.back().second = thread;
        } else {
            ranges.push_back({thread, thread});
        }
    }
    if (ranges.size() > 3) return text("%zu threads, of which %u is the first,", threads.size(), threads[0]);
    std::string said = threads.size() == 1 ? "thread" : "threads";
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const auto [first, last] = ranges[i];
        said += i == 0 ? " " : i + 1 == ranges.size() ? " and " : ", ";
        said += first == last ? text("%u", first) : text("%u to %u", first, last);
    }
    return said;
}

// Of the blocks in which somebody stands at more than what all come to, two. The threads of a block stand together, in order.
inline std::string say(const std::vector<Standing>& all) {
    constexpr unsigned NAMED = 2;
    std::string said;
    unsigned blocks = 0;
    for (std::size_t first = 0, next; first < all.size(); first = next) {
        // First what says most. Where others are on their way, who waits for the block may wait for those.
        bool is_under_way = false;
        std::map<std::tuple<Standing::Says, std::string, std::string>, std::vector<unsigned>> places;
        for (next = first; next < all.size() && all[next].block == all[first].block; ++next) {
            const Standing& one = all[next];
            is_under_way |= one.verb == nullptr;
            if (one.verb != nullptr) places[{one.says, one.verb, one.what}].push_back(one.thread);
        }
        if (places.empty() || std::get<0>(places.begin()->first) == Standing::LITTLE || ++blocks > NAMED) continue;
        const char* before = blocks == 1 ? "" : "; ";
        said += before + text("in block %u ", all[first].block);
        const char* between = "";
        for (const auto& [place, threads] : places) {
            const auto& [says, verb, what] = place;
            if (says == Standing::LITTLE && is_under_way) continue;
            said += between + threads_of(threads) + " " + verb + (threads.size() == 1 ? "s " : " ") + what;
            between = ", ";
        }
    }
    if (blocks > NAMED) said += text("; and so on in %u more block%s", blocks - NAMED, blocks == NAMED + 1 ? "" : "s");
    return said;
}

}  // namespace shim
