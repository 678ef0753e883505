// Running a grid of blocks on the CPU: the other side of shim.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace shim {

// How a launch ended.
enum class End {
    returned,   // every thread returned
    stuck,      // every thread that is left waits for a counter that nobody will increment
};

struct Grid {
    unsigned blocks, threads;
    std::size_t shared_bytes;
    // Other than 0: the order in which threads take turns.
    std::uint64_t seed;
};

// Who asks what threads do where a launch is stuck.
struct Question {
    // What a word of global memory is called that they look at, or nothing.
    std::function<std::string(const void* word)> name_of;
    // What there is to say of them, or nothing.
    std::string answer;
};

// Runs `kernel` in every thread of the grid. Where the launch is stuck, `abort` is called once, and may make the threads
// return.
End launch(const Grid& grid, const std::function<void()>& kernel, const std::function<void()>& abort, Question* question = nullptr);

// The words that kernels change.
#define AMK_CHANGES_OF(WORD)                         \
    template WORD poll(const WORD*, Order);          \
    template WORD look(WORD*, Order);                \
    template bool replace(WORD*, WORD&, WORD, Order);
#define AMK_CHANGES               \
    AMK_CHANGES_OF(std::uint16_t) \
    AMK_CHANGES_OF(std::uint32_t) \
    AMK_CHANGES_OF(std::uint64_t)

}  // namespace shim
