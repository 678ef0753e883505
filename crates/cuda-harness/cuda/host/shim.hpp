// The part of CUDA that the kernels use, on a CPU, for g++ or clang++.
//
// Blocks and threads are fibers that take turns on one thread of the CPU, so that a run is the same each time, sanitizers
// for addresses and undefined behaviour see every access, and a launch that cannot go on is noticed at once. With
// AMK_HOST_THREADS each CUDA thread is a real thread: then ThreadSanitizer judges the ordering of signal and wait.
#pragma once

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cstring>
#include <vector>

#define AMK_DEVICE static inline
#define AMK_METHOD inline
#define AMK_CALLED static inline
#define AMK_GLOBAL static

namespace shim {

struct Index {
    unsigned x, y, z;
};

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

// All threads of the block that have not returned meet.
void block_barrier();

// Every lane of the warp hands in a word and gets that of a lane, itself if it is none.
std::uint64_t exchange(std::uint64_t word, unsigned from);

// Every lane of the warp hands in a word and gets those of all 32.
void gather(std::uint64_t word, std::uint64_t* all);

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

// Atomic, with the ordering that a fence before it or after it gives. What was there before.
std::uint32_t add(std::uint32_t* word, std::uint32_t value);
std::uint32_t swap(std::uint32_t* word, std::uint32_t value);
std::uint32_t compare_and_swap(std::uint32_t* word, std::uint32_t expected, std::uint32_t value);

template <typename T>
T exchange_as(T value, unsigned from) {
    static_assert(sizeof(T) <= sizeof(std::uint64_t));
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof(T));
    word = exchange(word, from);
    std::memcpy(&value, &word, sizeof(T));
    return value;
}

}  // namespace shim

#include "weak.hpp"
#include "names.hpp"

inline unsigned char* amk_shared() { return shim::shared(); }
inline std::uint32_t amk_poll(const std::uint32_t* counter) { return shim::poll(counter); }
inline void amk_pause(unsigned) { shim::pause(); }
inline void amk_linger(unsigned nanoseconds) { shim::linger(1 + nanoseconds / 1024); }
inline void amk_fence() { shim::fence(); }
inline void amk_increment(std::uint32_t* counter) { shim::add(counter, 1); }
inline std::uint32_t amk_poll_acquire(const std::uint32_t* counter) { return shim::poll_acquire(counter); }
inline void amk_increment_release(std::uint32_t* counter) { shim::increment_release(counter); }
// Where blocks run means nothing here; each has an SM of its own.
inline std::uint32_t amk_sm() { return shim::self().block.x; }
inline float amk_infinity() { return __uint_as_float(0x7f800000u); }
