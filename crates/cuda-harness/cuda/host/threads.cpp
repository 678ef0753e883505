// Every CUDA thread as a thread of the CPU, for ThreadSanitizer. It does not know fences, so a fence is modelled by what it
// orders: after polls and atomic changes, an acquire load of the same words; before an atomic change, release ordering of that
// change. Without the fence, they are relaxed and order nothing.

#include "launch.hpp"
#include "shim.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace shim {
namespace {

constexpr unsigned WARP = 32;

// Threads that wait for each other. Not std::barrier: its waiting goes through tables that all barriers share, which would
// order blocks that nothing orders, and hide their races.
class Barrier {
public:
    explicit Barrier(unsigned members) : members(members) {}

    void arrive_and_wait() {
        std::unique_lock lock(mutex);
        arrived += 1;
        if (arrived == members) return open();
        const unsigned before = opened;
        everybody.wait(lock, [&] { return opened != before; });
    }

    void arrive_and_drop() {
        const std::lock_guard lock(mutex);
        members -= 1;
        if (members > 0 && arrived == members) open();
    }

private:
    void open() {
        arrived = 0;
        opened += 1;
        everybody.notify_all();
    }

    std::mutex mutex;
    std::condition_variable everybody;
    unsigned members, arrived = 0, opened = 0;
};

struct Warp {
    explicit Warp(unsigned members) : barrier(members) {}
    Barrier barrier;
    std::atomic<std::uint64_t> slots[2][WARP] = {};
};

struct Block {
    explicit Block(unsigned members) : barrier(members) {}
    Barrier barrier;
    std::vector<std::unique_ptr<Warp>> warps;
    std::vector<unsigned char> shared;
};

struct Worker {
    Thread thread;
    Block* block;
    Warp* warp;
    unsigned parity = 0;
    Copies copies{};
    std::vector<const std::uint32_t*> polled;
    bool fenced = false;
};

thread_local Worker* worker = nullptr;

std::atomic_ref<std::uint32_t> atomic(const std::uint32_t* word) {
    return std::atomic_ref<std::uint32_t>(*const_cast<std::uint32_t*>(word));
}

// A fence that follows makes an acquire of it.
void saw(const std::uint32_t* word) {
    if (worker->polled.empty() || worker->polled.back() != word) worker->polled.push_back(word);
}

// Of an atomic change: with a fence before it, a release.
std::memory_order order() {
    const bool fenced = worker->fenced;
    worker->fenced = false;
    return fenced ? std::memory_order_release : std::memory_order_relaxed;
}

}  // namespace

const Thread& self() { return worker->thread; }

unsigned char* shared() { return worker->block->shared.data(); }

Copies& copies() { return worker->copies; }

void block_barrier() {
    // A fence before it, such as that of a wait, does not order the stores that come after.
    worker->fenced = false;
    worker->block->barrier.arrive_and_wait();
}

namespace {

// Where the words of all lanes are, until this lane's next exchange but one.
const std::atomic<std::uint64_t>* put(std::uint64_t word) {
    auto* slots = worker->warp->slots[worker->parity];
    worker->parity ^= 1;
    slots[worker->thread.thread.x % WARP].store(word, std::memory_order_relaxed);
    worker->warp->barrier.arrive_and_wait();
    return slots;
}

}  // namespace

std::uint64_t exchange(std::uint64_t word, unsigned from) {
    return put(word)[from < WARP ? from : worker->thread.thread.x % WARP].load(std::memory_order_relaxed);
}

void gather(std::uint64_t word, std::uint64_t* all) {
    const auto* slots = put(word);
    for (unsigned lane = 0; lane < WARP; ++lane) all[lane] = slots[lane].load(std::memory_order_relaxed);
}

void pause() { std::this_thread::yield(); }

void linger(unsigned turns) {
    for (unsigned turn = 0; turn < turns; ++turn) pause();
}

std::uint32_t poll(const std::uint32_t* counter) {
    saw(counter);
    return atomic(counter).load(std::memory_order_relaxed);
}

std::uint32_t poll_acquire(const std::uint32_t* counter) { return atomic(counter).load(std::memory_order_acquire); }

void fence() {
    for (const std::uint32_t* counter : worker->polled) (void)atomic(counter).load(std::memory_order_acquire);
    worker->polled.clear();
    worker->fenced = true;
}

void increment_release(std::uint32_t* counter) { atomic(counter).fetch_add(1, std::memory_order_release); }

std::uint32_t add(std::uint32_t* word, std::uint32_t value) {
    saw(word);
    return atomic(word).fetch_add(value, order());
}

std::uint32_t swap(std::uint32_t* word, std::uint32_t value) {
    saw(word);
    return atomic(word).exchange(value, order());
}

std::uint32_t compare_and_swap(std::uint32_t* word, std::uint32_t expected, std::uint32_t value) {
    saw(word);
    atomic(word).compare_exchange_strong(expected, value, order(), std::memory_order_relaxed);
    return expected;
}

End launch(const Grid& grid, const std::function<void()>& kernel, const std::function<void()>&) {
    std::vector<std::unique_ptr<Block>> blocks;
    for (unsigned b = 0; b < grid.blocks; ++b) {
        auto block = std::make_unique<Block>(grid.threads);
        for (unsigned first = 0; first < grid.threads; first += WARP) {
            const unsigned members = grid.threads - first < WARP ? grid.threads - first : WARP;
            block->warps.push_back(std::make_unique<Warp>(members));
        }
        // Nothing is in it at first; so many ones are NaN in every float type.
        block->shared.assign(grid.shared_bytes, 0xff);
        blocks.push_back(std::move(block));
    }
    std::vector<std::thread> threads;
    for (unsigned b = 0; b < grid.blocks; ++b) {
        for (unsigned t = 0; t < grid.threads; ++t) {
            threads.emplace_back([&, b, t] {
                Worker own{};
                own.thread = {{t, 0, 0}, {b, 0, 0}, {grid.threads, 1, 1}, {grid.blocks, 1, 1}};
                own.block = blocks[b].get();
                own.warp = own.block->warps[t / WARP].get();
                worker = &own;
                kernel();
                own.block->barrier.arrive_and_drop();
                own.warp->barrier.arrive_and_drop();
            });
        }
    }
    for (std::thread& thread : threads) thread.join();
    return End::returned;
}

}  // namespace shim
