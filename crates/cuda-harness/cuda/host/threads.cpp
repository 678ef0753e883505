// Every CUDA thread as a thread of the CPU, for ThreadSanitizer. It does not know fences, so a fence is modelled by what it
// orders: after polls and atomic changes, an acquire load of the same words; before an atomic change, release ordering of that
// change. Without the fence, they are relaxed and order nothing.

#include "bulk.hpp"
#include "copies.hpp"
#include "launch.hpp"
#include "looks.hpp"
#include "named.hpp"
#include "products.hpp"
#include "shim.hpp"
#include "variables.hpp"
#include "warp.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace shim {
namespace {

// While one of these is there, ThreadSanitizer does not look: what the shim itself keeps, and how it waits, orders nothing of the kernels.
extern "C" {
void AnnotateIgnoreSyncBegin(const char* file, int line);
void AnnotateIgnoreSyncEnd(const char* file, int line);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
struct Unseen {
    Unseen() {
        AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    }
    ~Unseen() {
        AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
        AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    }
};
// Within one of those, what is seen all the same.
struct Seen {
    Seen() { AnnotateIgnoreSyncEnd(__FILE__, __LINE__); }
    ~Seen() { AnnotateIgnoreSyncBegin(__FILE__, __LINE__); }
};

struct ThreadWarp : Warp {
    std::condition_variable everybody;
};

// The threads of a block. How they wait for each other orders nothing for ThreadSanitizer, but that who goes on comes after all whom it met:
// so the one lock of a block hides no race of threads that only pass it.
struct Block {
    Block(unsigned members, std::size_t shared_bytes) : members(members), warps((members + WARP - 1) / WARP), variables(shared_bytes), products(members / (WARPS_OF_GROUP * WARP)) {}

    void open() {
        arrived = 0;
        opened += 1;
        holding[opened % 2] = 0;
        for (ThreadWarp& warp : warps) warp.leave_barrier();
        everybody.notify_all();
    }

    unsigned open(NamedBarrier<struct Worker>& barrier);

    std::mutex mutex;
    std::condition_variable everybody;
    unsigned members, arrived = 0, opened = 0;
    // For how many threads what each hands in holds: of this barrier and of the one before, in turns.
    unsigned holding[2] = {};
    // By which ThreadSanitizer knows what a barrier orders: this one, and the one before, which some may not have left.
    std::atomic<unsigned> met[2] = {};
    std::vector<ThreadWarp> warps;
    NamedBarriers<Worker> named;
    Variables variables;
    std::vector<ProductsOfGroup> products;
};

struct Worker {
    Thread thread;
    Block* block;
    ThreadWarp* warp;
    Copies copies{};
    Products products{};
    // How many barriers of the block it has come to.
    unsigned barriers = 0;
    // Whether it waits at a barrier with a number, and what that has told it: for how many threads it holds, and which time it was.
    bool is_at_named = false;
    unsigned counted = 0, named_time = 0;
    // The words that it has looked at, and how each is acquired.
    struct Polled {
        const void* word;
        void (*acquire)(const void*);
    };
    std::vector<Polled> polled;
    // For all, and for the block alone.
    bool fenced = false, fenced_block = false;
    Looks looks;
};

thread_local Worker* worker = nullptr;

unsigned Block::open(NamedBarrier<Worker>& barrier) {
    const unsigned time = barrier.opened;
    // Lanes whose warp has not come as a whole meet those of the next time.
    if (barrier.is_in_part()) {
        const Seen seen;
        (void)barrier.met[time % 2].load(std::memory_order_acquire);
        barrier.met[(time + 1) % 2].fetch_add(1, std::memory_order_release);
    }
    everybody.notify_all();
    return barrier.open([&](Worker& waiter, unsigned count) {
        waiter.is_at_named = false;
        waiter.counted = count;
        waiter.named_time = time;
        waiter.warp->leave_named_barrier(waiter.thread.thread.x % WARP);
    });
}

template <typename Word>
std::atomic_ref<Word> atomic(const Word* word) {
    return std::atomic_ref<Word>(*const_cast<Word*>(word));
}

template <typename Word>
void acquire(const void* word) {
    (void)atomic(static_cast<const Word*>(word)).load(std::memory_order_acquire);
}

// Whether a word is in the shared memory of the block that runs.
bool in_shared(const void* word) {
    const Unseen unseen;
    const std::lock_guard lock(worker->block->mutex);
    return worker->block->variables.hold(word);
}

// A fence that follows makes an acquire of it. Whoever waits for some words looks at them in turns.
template <typename Word>
void saw(const Word* word) {
    std::vector<Worker::Polled>& polled = worker->polled;
    const auto last = polled.end() - std::min<std::ptrdiff_t>(8, polled.end() - polled.begin());
    if (std::none_of(last, polled.end(), [&](const Worker::Polled& other) { return other.word == word; })) polled.push_back({word, acquire<Word>});
}

// Of an atomic change: with a fence before it, a release.
std::memory_order order_of(Order order, const void* word) {
    const bool releases = order.releases || worker->fenced || (worker->fenced_block && in_shared(word));
    if (order.acquires) return releases ? std::memory_order_acq_rel : std::memory_order_acquire;
    return releases ? std::memory_order_release : std::memory_order_relaxed;
}

}  // namespace

constinit thread_local const Thread* running = nullptr;

unsigned char* shared() { return worker->block->variables.dynamic; }

unsigned char* variable(const char* key, std::size_t bytes, std::size_t alignment, const char* name) {
    const Unseen unseen;
    const std::lock_guard lock(worker->block->mutex);
    return worker->block->variables.of(key, bytes, alignment, name);
}

std::uint32_t shared_address(const void* place) {
    const Unseen unseen;
    const std::lock_guard lock(worker->block->mutex);
    return worker->block->variables.address_of(place);
}

unsigned char* shared_place(std::uint32_t address, unsigned bytes) {
    const Unseen unseen;
    const std::lock_guard lock(worker->block->mutex);
    return worker->block->variables.at(address, bytes);
}

bool is_shared(const void* place) { return in_shared(place); }

std::uint32_t blocks_met = 0;

void copy_begin(unsigned char* to, const unsigned char* from, unsigned bytes) { worker->copies.begin(to, from, bytes); }
void copy_commit() { worker->copies.commit(); }
void copy_wait(unsigned groups) { worker->copies.wait(groups); }

// All at once: what is looked for is who else uses the places meanwhile.
void bulk_load(unsigned char* to, const unsigned char* from, unsigned bytes, std::uint64_t* barrier, Arrived arrived) {
    check_bulk(to, from, bytes);
    copy_words(to, from, bytes);
    arrived(barrier, bytes);
}
bool bulk_poll(const std::uint64_t*, unsigned) { return false; }

void bulk_store(unsigned char* to, const unsigned char* from, unsigned bytes, Landing land) {
    check_bulk(to, from, bytes);
    (land != nullptr ? land : copy_words)(to, from, bytes);
}
void bulk_commit() {}
void bulk_wait(unsigned, bool) {}

// Of the running thread's four warps.
static ProductsOfGroup& products_of_group() { return worker->block->products[threadIdx.x / WARP / WARPS_OF_GROUP]; }

void products_fence() { worker->products.fence(); }
void products_begin() {
    if (!is_of_group(worker->block->products.size())) fault("wgmma by threads that are not of four whole warps of the block");
    worker->products.check_fenced();
}
std::uint32_t product_before(const std::uint32_t* place, std::uint32_t held, bool adds) {
    return worker->products.before(place, held, adds);
}
std::uint32_t product(std::uint32_t* place, std::uint32_t sum) { return worker->products.begin(place, sum); }
const unsigned char* product_operand(std::uint32_t address, bool) { return shared_place(address, 16); }
void products_commit() {
    Products& own = worker->products;
    own.commit();
    if (is_of_group(worker->block->products.size())) {
        std::atomic_ref(products_of_group().committed[threadIdx.x % (WARPS_OF_GROUP * WARP)]).store(own.committed(), std::memory_order_release);
    }
}
void products_wait(unsigned groups) {
    Products& own = worker->products;
    if (own.committed() <= groups) return;
    const std::uint64_t first_under_way = own.committed() - groups;
    const auto load = [](std::uint64_t& groups) { return std::atomic_ref(groups).load(std::memory_order_acquire); };
    while (is_of_group(worker->block->products.size()) && !products_of_group().all_committed(first_under_way, load)) pause();
    own.land(first_under_way);
}

// Nothing goes on by itself, and what orders it are no accesses that ThreadSanitizer sees.
[[noreturn]] static void no_tensor_memory() { fault("tensor memory (tcgen05) is not there with --sanitize thread"); }
void tensor_allocate(std::uint32_t*, std::uint32_t) { no_tensor_memory(); }
void tensor_free(std::uint32_t, std::uint32_t) { no_tensor_memory(); }
void tensor_relinquish() { no_tensor_memory(); }
void tensor_load(const TensorAccess&, std::uint32_t, const Sum*) { no_tensor_memory(); }
void tensor_store(const TensorAccess&, std::uint32_t, const std::uint32_t*) { no_tensor_memory(); }
void tensor_wait_loads() { no_tensor_memory(); }
void tensor_wait_stores() { no_tensor_memory(); }
void tensor_multiply(const TensorProduct&) { no_tensor_memory(); }
void tensor_commit(std::uint64_t*) { no_tensor_memory(); }

// The running thread waits for others. A fence before that, such as that of a wait, does not order the stores that come after.
static void meets() {
    worker->fenced = worker->fenced_block = false;
    worker->looks.forget();
}

unsigned block_barrier(bool holds) {
    meets();
    Block& block = *worker->block;
    unsigned count;
    std::atomic<unsigned>& met = block.met[worker->barriers++ % 2];
    met.fetch_add(1, std::memory_order_release);
    {
        const Unseen unseen;
        std::unique_lock lock(block.mutex);
        const unsigned before = block.opened;
        block.holding[before % 2] += holds;
        worker->warp->arrive_at_barrier(worker->thread.thread.x % WARP);
        block.arrived += 1;
        if (block.arrived == block.members) {
            block.open();
        } else {
            block.everybody.wait(lock, [&] { return block.opened != before; });
        }
        count = block.holding[before % 2];
    }
    (void)met.load(std::memory_order_acquire);
    return count;
}

unsigned named_barrier(unsigned id, unsigned threads, bool waits, bool holds) {
    if (waits) meets();
    Block& block = *worker->block;
    NamedBarrier<Worker>& barrier = block.named.of(id);
    {
        const Unseen unseen;
        std::unique_lock lock(block.mutex);
        const unsigned time = barrier.opened;
        {
            const Seen seen;
            barrier.met[time % 2].fetch_add(1, std::memory_order_release);
        }
        if (barrier.arrive(id, threads, holds, worker->warp->left())) {
            worker->counted = block.open(barrier);
            worker->named_time = time;
        } else if (waits) {
            barrier.waiting.push_back(worker);
            worker->is_at_named = true;
            worker->warp->arrive_at_named_barrier(worker->thread.thread.x % WARP);
            block.everybody.wait(lock, [] { return !worker->is_at_named; });
        }
    }
    if (!waits) return 0;
    (void)barrier.met[worker->named_time % 2].load(std::memory_order_acquire);
    return worker->counted;
}

Gathered gather(const char* function, unsigned mask, std::uint64_t word) {
    const unsigned lane = worker->thread.thread.x % WARP;
    ThreadWarp& warp = *worker->warp;
    Gathering* gathering;
    unsigned set, lanes;
    {
        const Unseen unseen;
        const std::lock_guard lock(worker->block->mutex);
        gathering = &warp.of_mask(mask);
        set = gathering->set;
    }
    gathering->met[set].fetch_add(1, std::memory_order_release);
    {
        const Unseen unseen;
        std::unique_lock lock(worker->block->mutex);
        if (warp.arrive(lane, function, mask, word)) {
            warp.everybody.notify_all();
        } else {
            warp.everybody.wait(lock, [&] { return (gathering->waiting >> lane & 1) == 0; });
        }
        lanes = gathering->came[set];
    }
    (void)gathering->met[set].load(std::memory_order_acquire);
    return {gathering->words[set], lanes};
}

void pause() {
    worker->looks.forget();
    std::this_thread::yield();
}

void linger(unsigned turns) {
    for (unsigned turn = 0; turn < turns; ++turn) pause();
}

// Others get on meanwhile, however few CPUs there are.
void found(const void* word, std::uint64_t value) {
    if (worker->looks.is_enough(word, value)) pause();
}

void fence() {
    for (const Worker::Polled& polled : worker->polled) polled.acquire(polled.word);
    worker->polled.clear();
    worker->fenced = true;
}

// Words in shared memory alone are seen by nobody else: of others it orders nothing.
void fence_block() {
    std::erase_if(worker->polled, [](const Worker::Polled& polled) {
        if (!in_shared(polled.word)) return false;
        polled.acquire(polled.word);
        return true;
    });
    worker->fenced_block = true;
}

void block_met() {}

// How things are ordered that are none of threads is not looked at.
void fence_proxy() {}

template <typename Word>
Word poll(const Word* word, Order order) {
    if (!order.acquires) saw(word);
    const Word value = atomic(word).load(order.acquires ? std::memory_order_acquire : std::memory_order_relaxed);
    found(word, value);
    return value;
}

template <typename Word>
Word look(Word* word, Order order) {
    if (!order.acquires) saw(word);
    return atomic(word).load(std::memory_order_relaxed);
}

template <typename Word>
bool replace(Word* word, Word& before, Word after, Order order) {
    const bool done = atomic(word).compare_exchange_strong(before, after, order_of(order, word), std::memory_order_relaxed);
    if (!done) return false;
    if (worker->fenced_block && in_shared(word)) worker->fenced_block = false;
    worker->fenced = false;
    if (after == before) {
        found(word, before);
    } else {
        worker->looks.changed(word);
    }
    return true;
}

AMK_CHANGES

// The running thread has returned.
static void quit() {
    const Unseen unseen;
    Block& block = *worker->block;
    const std::lock_guard lock(block.mutex);
    block.members -= 1;
    if (block.members > 0 && block.arrived == block.members) block.open();
    const unsigned thread = worker->thread.thread.x;
    if (worker->warp->quit(thread % WARP) != 0) worker->warp->everybody.notify_all();
    for (NamedBarrier<Worker>& barrier : block.named.all) {
        if (barrier.is_last(thread / WARP, worker->warp->left())) block.open(barrier);
    }
}

End launch(const Grid& grid, const std::function<void()>& kernel, const std::function<void()>&, Question*) {
    blocks_met = 0;
    std::vector<std::unique_ptr<Block>> blocks;
    for (unsigned b = 0; b < grid.blocks; ++b) {
        blocks.push_back(std::make_unique<Block>(grid.threads, grid.shared_bytes));
    }
    std::vector<std::thread> threads;
    for (unsigned b = 0; b < grid.blocks; ++b) {
        for (unsigned t = 0; t < grid.threads; ++t) {
            threads.emplace_back([&, b, t] {
                Worker own{};
                own.thread = {{t, 0, 0}, {b, 0, 0}, {grid.threads, 1, 1}, {grid.blocks, 1, 1}};
                own.block = blocks[b].get();
                own.warp = &own.block->warps[t / WARP];
                worker = &own;
                running = &own.thread;
                try {
                    kernel();
                } catch (const Left&) {
                }
                own.products.finish();
                quit();
            });
        }
    }
    for (std::thread& thread : threads) thread.join();
    return End::returned;
}

}  // namespace shim
