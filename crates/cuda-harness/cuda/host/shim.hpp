// The part of CUDA that the kernels use, on a CPU, for g++ or clang++.
//
// Blocks and threads are fibers that take turns on one thread of the CPU, so that a run is the same each time, sanitizers
// for addresses and undefined behaviour see every access, and a launch that cannot go on is noticed at once. With
// AMK_HOST_THREADS each CUDA thread is a real thread: then ThreadSanitizer judges the ordering of signal and wait.
//
// This is the side of the kernels, which is compiled anew for each file of somebody's: it has few of the C++ library's headers, and none that
// are long. The other side (main.cpp) is compiled once.
#pragma once

#include <math.h>
#include <time.h>

#include <bit>
#include <cassert>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

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

// The running thread.
#ifdef AMK_HOST_THREADS
extern constinit thread_local const Thread* running;
#else
extern const Thread* running;
#endif
inline const Thread& self() { return *running; }

// Dynamic shared memory of the running block.
unsigned char* shared();

// Memory of the running block for one of its `__shared__` variables, which the key tells from all others.
unsigned char* variable(const char* key, std::size_t bytes, std::size_t alignment, const char* name);

// Ends the process with a message: the kernels do what no GPU defines.
[[noreturn, gnu::format(printf, 1, 2)]] inline void fault(const char* what, ...) {
    va_list arguments;
    va_start(arguments, what);
    std::vfprintf(stderr, what, arguments);
    std::fputc('\n', stderr);
    std::_Exit(66);
}

// The same of a lane of the running thread's warp.
[[noreturn, gnu::format(printf, 2, 3)]] inline void fault_of(unsigned lane, const char* what, ...) {
    std::fprintf(stderr, "lane %u of warp %u in block %u ", lane, self().thread.x / WARP, self().block.x);
    va_list arguments;
    va_start(arguments, what);
    std::vfprintf(stderr, what, arguments);
    std::fputc('\n', stderr);
    std::_Exit(66);
}

// Where a `__shared__` variable is of the block that runs, and where one is that is `extern`.
template <typename T>
T& variable(const char* key, std::size_t alignment, const char* name) {
    if (running == nullptr) fault("the `__shared__` variable %s is outside a function: declare it where it is used", name);
    return *static_cast<T*>(static_cast<void*>(variable(key, sizeof(T), alignment > alignof(T) ? alignment : alignof(T), name)));
}
template <typename T>
T& dynamic(const char* name) {
    if (running == nullptr) fault("the `__shared__` variable %s is outside a function: declare it where it is used", name);
    return *static_cast<T*>(static_cast<void*>(shared()));
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

// Copies to shared memory beside the running thread, of a multiple of four bytes; from nowhere where they are zeros. A group of them ends, and all
// groups but so many of the last are waited for. copies.hpp says when they land.
void copy_begin(unsigned char* to, const unsigned char* from, unsigned bytes);
void copy_commit();
void copy_wait(unsigned groups);

// Lets other threads run.
void pause();

// Lets other threads run so many times, whether or not they get on.
void linger(unsigned turns);

void fence();

// How often a block of this launch has come to a barrier of the grid.
extern std::uint32_t blocks_met;

// What an atomic access orders by itself. A fence before one that releases nothing, or after one that acquires nothing, does so for it.
struct Order {
    bool acquires = false, releases = false;
};

// An atomic load.
template <typename Word>
Word poll(const Word* word, Order order = {});

// The two halves of an atomic change: what is there, and whether it was there still and has become something else.
template <typename Word>
Word look(Word* word, Order order);
template <typename Word>
bool replace(Word* word, Word& before, Word after, Order order);

// A word becomes `f` of what it was, atomically. What was there before.
template <typename Word, typename F>
Word change(Word* word, F f, Order order = {}) {
    Word before = look(word, order);
    while (!replace(word, before, f(before), order)) {}
    return before;
}

constexpr Order ACQUIRES{true, false}, RELEASES{false, true};

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
inline std::uint32_t amk_poll_acquire(const std::uint32_t* counter) { return shim::poll(counter, shim::ACQUIRES); }
inline void amk_increment_release(std::uint32_t* counter) { shim::change(counter, [](std::uint32_t count) { return count + 1; }, shim::RELEASES); }
// Where blocks run means nothing here; each has an SM of its own.
inline std::uint32_t amk_sm() { return shim::self().block.x; }
inline float amk_infinity() { return __builtin_inff(); }
