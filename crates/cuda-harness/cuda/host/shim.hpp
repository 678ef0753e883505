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
    // The instruction of PTX that it is at, with its file and line, if any.
    mutable const char* doing = nullptr;
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

// The end of a message: where that was.
[[noreturn]] inline void end_of_fault() {
    if (running != nullptr && running->doing != nullptr) std::fprintf(stderr, " (%s)", running->doing);
    std::fputc('\n', stderr);
    std::_Exit(66);
}

// Ends the process with a message: the kernels do what no GPU defines.
[[noreturn, gnu::format(printf, 1, 2)]] inline void fault(const char* what, ...) {
    va_list arguments;
    va_start(arguments, what);
    std::vfprintf(stderr, what, arguments);
    end_of_fault();
}

// The same of a lane of the running thread's warp.
[[noreturn, gnu::format(printf, 2, 3)]] inline void fault_of(unsigned lane, const char* what, ...) {
    std::fprintf(stderr, "lane %u of warp %u in block %u ", lane, self().thread.x / WARP, self().block.x);
    va_list arguments;
    va_start(arguments, what);
    std::vfprintf(stderr, what, arguments);
    end_of_fault();
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

// Threads of the block meet at one of its sixteen barriers that have a number: so many, by whole warps, some of which may not wait. For how many
// of them it holds, to those that wait.
unsigned named_barrier(unsigned id, unsigned threads, bool waits, bool holds = false);

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

// Copies of a multiple of 16 bytes from and to such multiples, which bulk.hpp describes. Into shared memory: they belong to the block, and when one
// lands, `arrived` is told. A look at its barrier, for the end of the phase of a parity, and whether something has landed by it.
using Arrived = void (*)(std::uint64_t* barrier, unsigned bytes);
void bulk_load(unsigned char* to, const unsigned char* from, unsigned bytes, std::uint64_t* barrier, Arrived arrived);
bool bulk_poll(const std::uint64_t* barrier, unsigned parity);
// Out of it: of the running thread, in groups, all of which but so many of the last are waited for, until they have read or until they have landed.
// What lands is copied, or `land` adds it to what is there.
using Landing = void (*)(unsigned char* to, const unsigned char* from, unsigned bytes);
void bulk_store(unsigned char* to, const unsigned char* from, unsigned bytes, Landing land = nullptr);
void bulk_commit();
void bulk_wait(unsigned groups, bool only_read);

// Products of four warps that go on beside them, which products.hpp describes: one is begun; a sum, as it was, and as it will be in that place, and
// what the register holds until then; 16 bytes of an operand in shared memory, which are kept in mind to be as they are until it is waited for; a
// group of products ends, and all but so many of the last are waited for.
void products_fence();
void products_begin();
std::uint32_t product_before(const std::uint32_t* place, std::uint32_t held, bool adds);
std::uint32_t product(std::uint32_t* place, std::uint32_t sum);
const unsigned char* product_operand(std::uint32_t address, bool keeps);
void products_commit();
void products_wait(unsigned groups);

// A register that is there later: where it is while the instruction runs, and where it will be.
struct Sum {
    std::uint32_t *now, *later;
};

// Tensor memory (`tcgen05`), which tensor_memory.hpp describes. By whole warps: columns are allocated, and given back; registers are loaded and stored,
// so many times a shape, which has the number of its bits or is 2 for two halves that lie apart; those are waited for.
struct TensorAccess {
    unsigned shape, times;
    bool by_halves;
    std::uint32_t apart;
};
void tensor_allocate(std::uint32_t* to, std::uint32_t columns);
void tensor_free(std::uint32_t address, std::uint32_t columns);
void tensor_relinquish();
void tensor_load(const TensorAccess& access, std::uint32_t address, const Sum* registers);
void tensor_store(const TensorAccess& access, std::uint32_t address, const std::uint32_t* registers);
void tensor_wait_loads();
void tensor_wait_stores();
// By one thread: a product is begun; an mbarrier is told when all of the thread are there.
enum class TensorKind { F16, TF32, F8, I8 };
struct TensorProduct {
    TensorKind kind;
    std::uint32_t to;
    bool a_in_tensor;
    std::uint64_t a, b;
    std::uint32_t instruction;
    bool adds;
    unsigned halved;
    std::uint32_t left_out[4];
};
void tensor_multiply(const TensorProduct& product);
void tensor_commit(std::uint64_t* barrier);

// The 32-bit address of a place in the block's shared memory, or at the end of a variable there, and the place of one from which so many bytes
// lie in one variable. All else is a fault.
std::uint32_t shared_address(const void* place);
unsigned char* shared_place(std::uint32_t address, unsigned bytes);
bool is_shared(const void* place);

// Lets other threads run.
void pause();

// Lets other threads run so many times, whether or not they get on.
void linger(unsigned turns);

void fence();

// For the block alone.
void fence_block();

// What threads have stored in shared memory becomes known to bulk copies and matrix units.
void fence_proxy();

// The running thread has seen that others of its block have come somewhere, by a word for the block alone: what it signals from now on comes after
// what they did. To the model of a GPU's memory all of the block have met, which is more than a GPU does.
void block_met();

// A kernel ends for the running thread.
struct Left {};
[[noreturn]] inline void leave_kernel() { throw Left{}; }

// How often a block of this launch has come to a barrier of the grid.
extern std::uint32_t blocks_met;

// What an atomic access orders by itself. A fence before one that releases nothing, or after one that acquires nothing, does so for it.
struct Order {
    bool acquires = false, releases = false;
};

// The running thread has found this in a word. Whoever finds the same again and again lets others run.
void found(const void* word, std::uint64_t value);

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
