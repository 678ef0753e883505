// The part of CUDA that the kernels use, on a CPU, for g++ or clang++.
//
// Blocks and threads are fibers that take turns on one thread of the CPU, so that a run is the same each time, sanitizers
// for addresses and undefined behaviour see every access, and a launch that cannot go on is noticed at once. With
// AMK_HOST_THREADS each CUDA thread is a real thread: then ThreadSanitizer judges the ordering of signal and wait.
#pragma once

#include <bit>
#include <math.h>
#include <time.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "vectors.hpp"

#define AMK_DEVICE static inline
#define AMK_METHOD inline
#define AMK_CALLED static inline
#define AMK_GLOBAL static

namespace shim {

constexpr unsigned WARP = 32;

using Index = uint3;

// Coordinates of the running thread.
struct Thread {
    Index thread, block, threads_per_block, blocks;
};

const Thread& self();

// Dynamic shared memory of the running block.
unsigned char* shared();

// Ends the process with a message: the kernels do what no GPU defines.
[[noreturn]] inline void fault(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    std::_Exit(66);
}

// The same of a lane of the running thread's warp.
[[noreturn]] inline void fault_of(unsigned lane, const std::string& what) {
    const std::string warp = std::to_string(self().thread.x / WARP), block = std::to_string(self().block.x);
    fault(("lane " + std::to_string(lane) + " of warp " + warp + " in block " + block + " " + what).c_str());
}

// A function of a warp with the mask that it was called with.
inline std::string call_of(const char* function, unsigned mask) {
    char text[16];
    std::snprintf(text, sizeof text, "(0x%08x)", mask);
    return std::string(function) + text;
}

// All threads of the block that have not returned meet. For how many of them it holds.
unsigned block_barrier(bool holds = false);

// The words of lanes, until the caller's next meeting but one with the same mask; and the lanes that have handed one in, which are those of
// the mask without those that have returned.
struct Gathered {
    const std::uint64_t* words;
    unsigned lanes;
};

// The lanes of the mask meet in a function of this name, and each hands in a word.
Gathered gather(const char* function, unsigned mask, std::uint64_t word);

// The same of all lanes, whose words are copied.
inline void gather_all(const char* function, std::uint64_t word, std::uint64_t* all) {
    std::memcpy(all, gather(function, 0xffffffffu, word).words, WARP * sizeof(std::uint64_t));
}

// Copies to shared memory that the running thread has begun and that have not landed, from nowhere where they are zeros; how many groups of them it has
// ended, and how many copies it has begun.
struct Copies {
    struct One {
        unsigned char* to;
        const unsigned char* from;
        std::uint64_t group;
    };
    std::vector<One> under_way;
    std::uint64_t groups = 0, begun = 0;
};

Copies& copies();

// Lets other threads run.
void pause();

// Lets other threads run so many times, whether or not they get on.
void linger(unsigned turns);

std::uint32_t poll(const std::uint32_t* counter);
std::uint32_t poll_acquire(const std::uint32_t* counter);
void fence();
void increment_release(std::uint32_t* counter);

// A word becomes `f` of what it was, atomically, with the ordering that a fence before it or after it gives. What was there before.
template <typename Word, typename F>
Word change(Word* word, F f);

}  // namespace shim

#include "weak.hpp"
#include "names.hpp"
#include "lanes.hpp"
#include "memory.hpp"
#include "scalars.hpp"

inline unsigned char* amk_shared() { return shim::shared(); }
inline std::uint32_t amk_poll(const std::uint32_t* counter) { return shim::poll(counter); }
inline void amk_pause(unsigned) { shim::pause(); }
inline void amk_linger(unsigned nanoseconds) { shim::linger(1 + nanoseconds / 1024); }
inline void amk_fence() { shim::fence(); }
inline void amk_increment(std::uint32_t* counter) { shim::change(counter, [](std::uint32_t count) { return count + 1; }); }
inline std::uint32_t amk_poll_acquire(const std::uint32_t* counter) { return shim::poll_acquire(counter); }
inline void amk_increment_release(std::uint32_t* counter) { shim::increment_release(counter); }
// Where blocks run means nothing here; each has an SM of its own.
inline std::uint32_t amk_sm() { return shim::self().block.x; }
inline float amk_infinity() { return __builtin_inff(); }
