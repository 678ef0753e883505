// Copies to shared memory beside the threads of a group.
#pragma once

#include "cooperative_groups.h"

namespace cooperative_groups {

// The threads share the copy by turns, in parts as large as both addresses and the size allow.
template <typename Group, typename To, typename From>
void memcpy_async(const Group& group, To* to, const From* from, std::size_t bytes) {
    auto* const at = reinterpret_cast<unsigned char*>(to);
    const auto* const source = reinterpret_cast<const unsigned char*>(from);
    const std::uintptr_t all = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes;
    const unsigned part = all % 16 == 0 ? 16 : 4;
    // What is no multiple of a word is copied as it is stored.
    const std::size_t whole = all % 4 == 0 ? bytes : 0;
    for (std::size_t i = part * group.thread_rank(); i < whole; i += part * group.size()) shim::copy_begin(at + i, source + i, part);
    for (std::size_t i = whole + group.thread_rank(); i < bytes; i += group.size()) at[i] = source[i];
    shim::copy_commit();
}

template <unsigned Copies, typename Group>
void wait_prior(const Group& group) {
    shim::copy_wait(Copies);
    group.sync();
}

template <typename Group>
void wait(const Group& group) { wait_prior<0>(group); }

}  // namespace cooperative_groups
