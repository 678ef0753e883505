// Threads as fibers that take turns. One round resumes every thread that can run; rounds in which nobody does anything but
// poll repeat themselves for ever, so the launch is stuck.

#include "bulk.hpp"
#include "copies.hpp"
#include "launch.hpp"
#include "looks.hpp"
#include "model.hpp"
#include "named.hpp"
#include "products.hpp"
#include "shim.hpp"
#include "stuck.hpp"
#include "tensor_memory.hpp"
#include "variables.hpp"
#include "warp.hpp"

#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define AMK_FIBER_SANITIZER 1
#endif

#if defined(__x86_64__)
// Saves what a called function has to preserve on the stack that is left, and takes it from the other. `swapcontext` does this too, but
// asks the system for the mask of signals each time, which takes longer than all else that a launch does; and the address sanitizer
// clears a whole stack at each call of it.
extern "C" void amk_switch_stack(void** left, void* entered);
asm(R"(
    .text
    .type amk_switch_stack, @function
amk_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size amk_switch_stack, . - amk_switch_stack
)");
#endif

namespace shim {
namespace {

#if defined(__x86_64__)
// Where something that runs on a stack of its own stands while others run.
struct Context {
    void* stack_pointer = nullptr;

    // So that it begins with `entry`, which does not return.
    void begin(void* stack, std::size_t bytes, void (*entry)()) {
        // What `amk_switch_stack` takes off: six registers, and where it returns to; the stack is then aligned as after a call.
        void** top = reinterpret_cast<void**>(static_cast<char*>(stack) + bytes) - 2;
        *top = reinterpret_cast<void*>(entry);
        stack_pointer = top - 6;
    }

    void leave_for(const Context& other) { amk_switch_stack(&stack_pointer, other.stack_pointer); }
};
#else
struct Context {
    ucontext_t saved;

    void begin(void* stack, std::size_t bytes, void (*entry)()) {
        getcontext(&saved);
        saved.uc_stack.ss_sp = stack;
        saved.uc_stack.ss_size = bytes;
        saved.uc_link = nullptr;
        makecontext(&saved, entry, 0);
    }

    void leave_for(const Context& other) { swapcontext(&saved, &other.saved); }
};
#endif

constexpr std::size_t STACK_BYTES = 256 * 1024;

// So many rounds are taken for ever: threads that all sleep a few times are not stuck.
constexpr unsigned IDLE_ROUNDS = 100;

// The same where somebody was made to let others run, who may compute and look at a word now and then.
constexpr unsigned SPINNING_ROUNDS = 20000;

// And so many turns, half a second: few threads may sleep often, or look at a clock.
constexpr std::uint64_t IDLE_TURNS = std::uint64_t(1) << 22;

// Where threads meet so often and look at no word meanwhile, they do not meet to look at one.
constexpr unsigned MEETINGS_OF_A_LOOK = 4;

struct FiberWarp : Warp {
    // Those that wait in a function of the warp, as they came.
    std::vector<struct Fiber*> waiting;

    // Whether its lanes go round a word in which they find what they found before: that they meet in a function gets nobody on.
    bool goes_round = false;

    // One of them finds this in a word.
    AMK_OWN void found(const void* word, std::uint64_t value) {
        for (auto& [known, before] : words) {
            if (known != word) continue;
            goes_round = before == value;
            before = value;
            return;
        }
        words[next++ % std::size(words)] = {word, value};
    }

private:
    std::pair<const void*, std::uint64_t> words[8] = {};
    unsigned next = 0;
};

struct Block {
    explicit Block(std::size_t shared_bytes) : variables(shared_bytes) {}

    // Of its threads, those that have not returned, and those that wait at a barrier.
    unsigned members = 0;
    std::vector<struct Fiber*> waiting;
    // How often a barrier has opened, and for how many threads what each hands in holds: of this time and of the time before, in turns.
    unsigned opened = 0, holding[2] = {};
    // Whether one of its threads goes round a word in which it finds what it found before, as warps do; and how often a barrier has opened since.
    bool goes_round = false;
    unsigned opened_since = 0;
    std::vector<FiberWarp> warps;
    NamedBarriers<struct Fiber> named;
    Variables variables;
    BulkLoads bulk_loads{variables};
    std::vector<ProductsOfGroup> products;
    // Once somebody comes to an instruction of it.
    std::unique_ptr<TensorMemory> tensor;
};

struct Fiber {
    Thread thread;
    Block* block = nullptr;
    FiberWarp* warp = nullptr;
    Copies copies;
    BulkStores bulk_stores;
    Products products;
    // Whether it waits for others of its four warps to begin those that it has begun.
    bool waits_for_products = false;
    // How many columns of tensor memory it waits for.
    unsigned waits_for_columns = 0;
    // What the barrier with a number has told it.
    unsigned counted = 0;
    // Where it has looked last: the word, what it found there, the instruction of PTX that looked, if any, how often the block had met, and whether
    // it is an mbarrier.
    struct Look {
        const void* word = nullptr;
        std::uint64_t value = 0;
        const char* by = nullptr;
        unsigned opened = 0;
        bool is_of_phases = false;
    } look;
    bool returned = false;
    Context context;
    void* stack = nullptr;
    void* fake_stack = nullptr;
};

struct Scheduler {
    Context context;
    void* fake_stack = nullptr;
    const void* stack = nullptr;
    std::size_t stack_bytes = 0;
    std::vector<Fiber*> ready;
    Fiber* running = nullptr;
    const std::function<void()>* kernel = nullptr;
    unsigned left = 0;
    bool progress = false, spins = false;
    // Those of the fiber that runs: all that ran before it have let others run.
    Looks looks;
    std::uint64_t seed = 0;

    AMK_OWN std::uint64_t random() {
        seed += 0x9e3779b97f4a7c15u;
        std::uint64_t z = seed;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
};

Scheduler* scheduler = nullptr;

// From the running fiber back to the scheduler.
AMK_OWN void leave(bool for_ever) {
    Fiber* fiber = scheduler->running;
#ifdef AMK_FIBER_SANITIZER
    __sanitizer_start_switch_fiber(for_ever ? nullptr : &fiber->fake_stack, scheduler->stack, scheduler->stack_bytes);
#else
    (void)for_ever;
#endif
    fiber->context.leave_for(scheduler->context);
#ifdef AMK_FIBER_SANITIZER
    __sanitizer_finish_switch_fiber(fiber->fake_stack, nullptr, nullptr);
#endif
}

AMK_OWN void resume(Fiber* fiber) {
    scheduler->running = fiber;
    running = &fiber->thread;
    scheduler->looks.forget();
    weak::enter(fiber->thread.block.x, fiber->thread.thread.x);
#ifdef AMK_FIBER_SANITIZER
    __sanitizer_start_switch_fiber(&scheduler->fake_stack, fiber->stack, STACK_BYTES);
#endif
    scheduler->context.leave_for(fiber->context);
#ifdef AMK_FIBER_SANITIZER
    __sanitizer_finish_switch_fiber(scheduler->fake_stack, nullptr, nullptr);
#endif
    weak::leave();
}

// Lets the threads go on that wait at a barrier of their block.
AMK_OWN void open(Block& block) {
    weak::block_met(scheduler->running->thread.block.x);
    scheduler->ready.insert(scheduler->ready.end(), block.waiting.begin(), block.waiting.end());
    block.waiting.clear();
    block.opened += 1;
    block.holding[block.opened % 2] = 0;
    if (++block.opened_since == MEETINGS_OF_A_LOOK) block.goes_round = false;
    for (FiberWarp& warp : block.warps) warp.leave_barrier();
}

// The same of a barrier with a number. To the model all of the block have met there, which is more than a GPU does.
AMK_OWN unsigned open(NamedBarrier<Fiber>& barrier) {
    weak::block_met(scheduler->running->thread.block.x);
    return barrier.open([](Fiber& fiber, unsigned count) {
        fiber.counted = count;
        fiber.warp->leave_named_barrier(fiber.thread.thread.x % WARP);
        scheduler->ready.push_back(&fiber);
    });
}

// The running fiber comes to where others do.
AMK_OWN void meets(bool gets_on = true) {
    (gets_on ? scheduler->progress : scheduler->spins) = true;
    scheduler->looks.forget();
    scheduler->running->warp->goes_round = false;
}

AMK_OWN void wake(FiberWarp& warp, unsigned lanes) {
    // Mostly all that wait.
    if (warp.waiting.size() + 1 == unsigned(std::popcount(lanes))) {
        scheduler->ready.insert(scheduler->ready.end(), warp.waiting.begin(), warp.waiting.end());
        warp.waiting.clear();
        return;
    }
    std::erase_if(warp.waiting, [&](Fiber* fiber) {
        const bool wakes = lanes >> fiber->thread.thread.x % WARP & 1;
        if (wakes) scheduler->ready.push_back(fiber);
        return wakes;
    });
}

// Where a thread stands that has not returned and cannot go on.
Standing standing(const Fiber& fiber, const Question& question) {
    const Block& block = *fiber.block;
    const unsigned thread = fiber.thread.thread.x;
    const auto said = [&](const char* verb, const std::string& what, const char* by, Standing::Says says) {
        return Standing{fiber.thread.block.x, thread, verb, by == nullptr ? what : what + " (" + by + ")", says};
    };
    const auto is_among = [&](const std::vector<Fiber*>& waiting) { return std::find(waiting.begin(), waiting.end(), &fiber) != waiting.end(); };
    const char* doing = fiber.thread.doing;
    if (is_among(block.waiting)) {
        return said("wait", text("at the barrier of the block, to which %zu of %u have come", block.waiting.size(), block.members), doing, Standing::LITTLE);
    }
    for (unsigned id = 0; id < block.named.COUNT; ++id) {
        const NamedBarrier<Fiber>& barrier = block.named.all[id];
        if (!is_among(barrier.waiting)) continue;
        return said("wait", text("at barrier %u, to which %u of %u threads have come by whole warps", id, barrier.come(), barrier.expected()), doing, Standing::SOME);
    }
    if (is_among(fiber.warp->waiting)) return said("wait", "in " + fiber.warp->call(thread % WARP), doing, Standing::LITTLE);
    if (fiber.waits_for_products) {
        const ProductsOfGroup& group = block.products[thread / WARP / WARPS_OF_GROUP];
        const auto have_come = std::count_if(std::begin(group.committed), std::end(group.committed), [&](std::uint64_t own) {
            return own >= fiber.products.committed();
        });
        return said("wait", text("for wgmma that %u of the 128 threads of four warps have begun", unsigned(have_come)), doing, Standing::ALL);
    }
    if (fiber.waits_for_columns > 0) {
        return said("wait", text("for %u columns of tensor memory, of which %u are free", fiber.waits_for_columns, block.tensor->free()), doing, Standing::ALL);
    }
    const bool is_old = block.opened - fiber.look.opened > MEETINGS_OF_A_LOOK;
    const Fiber::Look look = is_old ? Fiber::Look() : fiber.look;
    const std::string variable = block.variables.name_of(look.word);
    if (look.is_of_phases) {
        const Phases phases{*static_cast<const std::uint64_t*>(look.word)};
        // Where all have arrived, it is bytes.
        return said("wait", "for the mbarrier " + variable + ", " + missing(phases), look.by, phases.to_come() == 0 ? Standing::ALL : Standing::MUCH);
    }
    const std::string name = variable.empty() ? question.name_of(look.word) : variable;
    const std::string held = ", which holds " + std::to_string(look.value);
    if (!name.empty()) return said("look", "at " + name + held, look.by, Standing::MUCH);
    if (look.by != nullptr) return said("look", "at a word of global memory" + held, look.by, Standing::MUCH);
    return said(nullptr, "", nullptr, Standing::LITTLE);
}

void entry() {
#ifdef AMK_FIBER_SANITIZER
    __sanitizer_finish_switch_fiber(nullptr, &scheduler->stack, &scheduler->stack_bytes);
#endif
    try {
        (*scheduler->kernel)();
    } catch (const Left&) {
    }
    Fiber* fiber = scheduler->running;
    fiber->bulk_stores.finish();
    fiber->products.finish();
    fiber->returned = true;
    scheduler->progress = true;
    scheduler->left -= 1;
    Block& block = *fiber->block;
    block.members -= 1;
    if (block.tensor) block.tensor->finish(block.members == 0);
    if (block.members > 0 && block.waiting.size() == block.members) open(block);
    const unsigned thread = fiber->thread.thread.x;
    wake(*fiber->warp, fiber->warp->quit(thread % WARP));
    for (NamedBarrier<Fiber>& barrier : block.named.all) {
        if (barrier.is_last(thread / WARP, fiber->warp->left())) open(barrier);
    }
    leave(true);
}

}  // namespace

const Thread* running = nullptr;

unsigned char* shared() { return scheduler->running->block->variables.dynamic; }

unsigned char* variable(const char* key, std::size_t bytes, std::size_t alignment, const char* name) {
    return scheduler->running->block->variables.of(key, bytes, alignment, name);
}

std::uint32_t shared_address(const void* place) { return scheduler->running->block->variables.address_of(place); }
unsigned char* shared_place(std::uint32_t address, unsigned bytes) { return scheduler->running->block->variables.at(address, bytes); }
bool is_shared(const void* place) { return scheduler->running->block->variables.hold(place); }

std::uint32_t blocks_met = 0;

void copy_begin(unsigned char* to, const unsigned char* from, unsigned bytes) { scheduler->running->copies.begin(to, from, bytes); }
void copy_commit() { scheduler->running->copies.commit(); }
void copy_wait(unsigned groups) { scheduler->running->copies.wait(groups); }

void bulk_load(unsigned char* to, const unsigned char* from, unsigned bytes, std::uint64_t* barrier, Arrived arrived) {
    scheduler->progress = true;
    scheduler->running->block->bulk_loads.begin(to, from, bytes, barrier, arrived);
}

bool bulk_poll(const std::uint64_t* barrier, unsigned parity) {
    Block& block = *scheduler->running->block;
    const BulkLoads::Looked looked = block.bulk_loads.look(barrier);
    scheduler->progress |= looked.landed || looked.marked || (block.tensor && block.tensor->look(barrier, parity));
    scheduler->running->look = {barrier, 0, nullptr, 0, true};
    return looked.landed;
}

void bulk_store(unsigned char* to, const unsigned char* from, unsigned bytes, Landing land) {
    scheduler->running->bulk_stores.begin(to, from, bytes, land != nullptr ? land : copy_words, scheduler->running->block->variables);
}
void bulk_commit() { scheduler->running->bulk_stores.commit(); }
void bulk_wait(unsigned groups, bool only_read) { scheduler->running->bulk_stores.wait(groups, only_read); }

// Of the running thread's four warps.
static ProductsOfGroup& products_of_group() { return scheduler->running->block->products[threadIdx.x / WARP / WARPS_OF_GROUP]; }

void products_fence() { scheduler->running->products.fence(); }
void products_begin() {
    if (!is_of_group(scheduler->running->block->products.size())) fault("wgmma by threads that are not of four whole warps of the block");
    scheduler->running->products.check_fenced();
}
std::uint32_t product_before(const std::uint32_t* place, std::uint32_t held, bool adds) {
    return scheduler->running->products.before(place, held, adds);
}
std::uint32_t product(std::uint32_t* place, std::uint32_t sum) { return scheduler->running->products.begin(place, sum); }
const unsigned char* product_operand(std::uint32_t address, bool keeps) {
    const Variables& variables = scheduler->running->block->variables;
    const unsigned char* const place = variables.at(address, 16);
    variables.check_known(place, 16, "wgmma");
    if (keeps) products_of_group().read(place, scheduler->running->products.committed());
    return place;
}
void products_commit() {
    Products& own = scheduler->running->products;
    own.commit();
    scheduler->progress = true;
    if (is_of_group(scheduler->running->block->products.size())) products_of_group().committed[threadIdx.x % (WARPS_OF_GROUP * WARP)] = own.committed();
}
AMK_OWN void products_wait(unsigned groups) {
    Products& own = scheduler->running->products;
    if (own.committed() <= groups) return;
    const std::uint64_t first_under_way = own.committed() - groups;
    if (is_of_group(scheduler->running->block->products.size())) {
        bool& waits = scheduler->running->waits_for_products;
        while ((waits = !products_of_group().all_committed(first_under_way, [](std::uint64_t groups) { return groups; }))) pause();
        products_of_group().check_operands(first_under_way, scheduler->running->block->variables);
    }
    own.land(first_under_way);
}

static TensorMemory& tensor() {
    std::unique_ptr<TensorMemory>& tensor = scheduler->running->block->tensor;
    if (!tensor) tensor = std::make_unique<TensorMemory>(scheduler->running->block->variables, blockDim.x);
    return *tensor;
}

// The lanes of a warp come to what all do together. Whether the running one is the first of them.
static bool come_together(const char* function, std::uint64_t word) {
    const Gathered all = gather(function, ~0u, word);
    if (alike(all, word) != all.lanes) fault("the lanes of a warp come to %s with other operands each", function);
    return unsigned(std::countr_zero(all.lanes)) == amk_lane();
}

AMK_OWN void tensor_allocate(std::uint32_t* to, std::uint32_t columns) {
    if (come_together("tcgen05.alloc.sync", columns | std::uint64_t(shared_address(to)) << 32)) {
        std::uint32_t address;
        while (!tensor().allocate(columns, address)) {
            scheduler->running->waits_for_columns = columns;
            pause();
        }
        scheduler->running->waits_for_columns = 0;
        store(to, address);
    }
    (void)come_together("tcgen05.alloc.sync", 0);
}
void tensor_free(std::uint32_t address, std::uint32_t columns) {
    if (come_together("tcgen05.dealloc.sync", columns | std::uint64_t(address) << 32)) tensor().give_back(address, columns);
    // Somebody may wait for them.
    scheduler->progress = true;
}
void tensor_relinquish() {
    (void)come_together("tcgen05.relinquish_alloc_permit.sync", 0);
    tensor().relinquish();
}
void tensor_load(const TensorAccess& access, std::uint32_t address, const Sum* registers) {
    (void)come_together("tcgen05.ld.sync", address);
    tensor().load(access, address, registers);
}
void tensor_store(const TensorAccess& access, std::uint32_t address, const std::uint32_t* registers) {
    (void)come_together("tcgen05.st.sync", address);
    tensor().store(access, address, registers);
}
void tensor_wait_loads() {
    (void)come_together("tcgen05.wait::ld.sync", 0);
    tensor().wait_loads();
}
void tensor_wait_stores() {
    (void)come_together("tcgen05.wait::st.sync", 0);
    tensor().wait_stores();
}
void tensor_multiply(const TensorProduct& product) { tensor().multiply(product); }
void tensor_commit(std::uint64_t* barrier) { tensor().commit(barrier); }

AMK_OWN unsigned block_barrier(bool holds) {
    Fiber* fiber = scheduler->running;
    Block& block = *fiber->block;
    unsigned& holding = block.holding[block.opened % 2];
    holding += holds;
    meets(!block.goes_round);
    fiber->warp->arrive_at_barrier(fiber->thread.thread.x % WARP);
    if (block.waiting.size() + 1 < block.members) {
        block.waiting.push_back(fiber);
        leave(false);
        return holding;
    }
    open(block);
    return holding;
}

AMK_OWN unsigned named_barrier(unsigned id, unsigned threads, bool waits, bool holds) {
    Fiber* fiber = scheduler->running;
    NamedBarrier<Fiber>& barrier = fiber->block->named.of(id);
    meets();
    if (barrier.arrive(id, threads, holds, fiber->warp->left())) {
        const unsigned count = open(barrier);
        return waits ? count : 0;
    }
    if (!waits) return 0;
    barrier.waiting.push_back(fiber);
    fiber->warp->arrive_at_named_barrier(fiber->thread.thread.x % WARP);
    leave(false);
    return fiber->counted;
}

AMK_OWN Gathered gather(const char* function, unsigned mask, std::uint64_t word) {
    Fiber* fiber = scheduler->running;
    const unsigned lane = fiber->thread.thread.x % WARP;
    (fiber->warp->goes_round ? scheduler->spins : scheduler->progress) = true;
    scheduler->looks.forget();
    Gathering& gathering = fiber->warp->of_mask(mask);
    const unsigned set = gathering.set;
    if (fiber->warp->arrive(lane, function, mask, word)) {
        weak::lanes_met(fiber->thread.block.x, fiber->thread.thread.x / WARP, gathering.came[set]);
        wake(*fiber->warp, gathering.came[set]);
    } else {
        fiber->warp->waiting.push_back(fiber);
        leave(false);
    }
    return {gathering.words[set], gathering.came[set]};
}

AMK_OWN void pause() {
    scheduler->ready.push_back(scheduler->running);
    leave(false);
}

AMK_OWN void linger(unsigned turns) {
    for (unsigned turn = 0; turn < turns; ++turn) {
        scheduler->progress = true;
        pause();
    }
}

AMK_OWN void found(const void* word, std::uint64_t value) {
    Fiber& fiber = *scheduler->running;
    fiber.look = {word, value, fiber.thread.doing, fiber.block->opened, fiber.look.is_of_phases && fiber.look.word == word};
    fiber.warp->found(word, value);
    fiber.block->goes_round = fiber.warp->goes_round;
    fiber.block->opened_since = 0;
    if (!scheduler->looks.is_enough(word, value)) return;
    scheduler->spins = true;
    pause();
}

void fence() {
    weak::release();
    weak::acquire();
}

// What the block knows of each other, a release of any of its threads sends on. To the model all of them have met, which is more than a GPU does.
void block_met() { weak::block_met(scheduler->running->thread.block.x); }
void fence_block() { block_met(); }

void fence_proxy() { scheduler->running->block->variables.make_known(); }

template <typename Word>
Word poll(const Word* word, Order order) {
    Word value;
    {
        const weak::By by(weak::Way::second);
        value = *static_cast<const volatile Word*>(word);
    }
    if (order.acquires) weak::acquire();
    found(word, value);
    return value;
}

template <typename Word>
Word look(Word* word, Order order) {
    if (order.releases) weak::release();
    weak::at_second(word, sizeof(Word));
    return *word;
}

template <typename Word>
bool replace(Word* word, Word& before, Word after, Order order) {
    scheduler->progress |= after != before;
    *word = after;
    weak::at_second(word, sizeof(Word));
    if (order.acquires) weak::acquire();
    if (after == before) {
        found(word, before);
    } else {
        scheduler->looks.changed(word);
        scheduler->running->warp->goes_round = scheduler->running->block->goes_round = false;
    }
    return true;
}

AMK_CHANGES

AMK_OWN End launch(const Grid& grid, const std::function<void()>& kernel, const std::function<void()>& abort, Question* question) {
    Scheduler own;
    own.kernel = &kernel;
    own.seed = grid.seed;
    own.left = grid.blocks * grid.threads;
    scheduler = &own;

    blocks_met = 0;
    std::vector<std::unique_ptr<Block>> blocks;
    std::vector<std::unique_ptr<Fiber>> fibers;
    const std::size_t bytes = STACK_BYTES * own.left;
    // One mapping for all stacks: only what is touched takes memory.
    char* stacks = static_cast<char*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (stacks == MAP_FAILED) {
        std::fprintf(stderr, "no memory for the stacks of %u threads\n", own.left);
        std::exit(2);
    }
    for (unsigned b = 0; b < grid.blocks; ++b) {
        auto block = std::make_unique<Block>(grid.shared_bytes);
        block->members = grid.threads;
        block->warps = std::vector<FiberWarp>((grid.threads + WARP - 1) / WARP);
        block->products = std::vector<ProductsOfGroup>(grid.threads / (WARPS_OF_GROUP * WARP));
        for (unsigned t = 0; t < grid.threads; ++t) {
            auto fiber = std::make_unique<Fiber>();
            fiber->thread = {{t, 0, 0}, {b, 0, 0}, {grid.threads, 1, 1}, {grid.blocks, 1, 1}};
            fiber->block = block.get();
            fiber->warp = &block->warps[t / WARP];
            fiber->stack = stacks + STACK_BYTES * fibers.size();
            fiber->context.begin(fiber->stack, STACK_BYTES, entry);
            own.ready.push_back(fiber.get());
            fibers.push_back(std::move(fiber));
        }
        blocks.push_back(std::move(block));
    }

    End end = End::returned;
    unsigned idle = 0, spinning = 0;
    std::uint64_t turns = 0;
    std::vector<Fiber*> round;
    while (own.left > 0) {
        round.clear();
        round.swap(own.ready);
        if (grid.seed != 0) {
            for (std::size_t i = round.size(); i > 1; --i) std::swap(round[i - 1], round[own.random() % i]);
        }
        own.progress = own.spins = false;
        weak::round();
        for (Fiber* fiber : round) resume(fiber);
        if (own.progress) {
            idle = spinning = 0;
            turns = 0;
        } else {
            (own.spins ? spinning : idle) += 1;
            turns += round.size();
        }
        // All that are left wait for each other.
        if (own.ready.empty() && own.left > 0) {
            idle = IDLE_ROUNDS;
            turns = IDLE_TURNS;
        }
        if ((idle >= IDLE_ROUNDS || spinning >= SPINNING_ROUNDS) && turns >= IDLE_TURNS) {
            if (end == End::stuck) break;
            end = End::stuck;
            idle = spinning = 0;
            turns = 0;
            if (question != nullptr) {
                std::vector<Standing> all;
                for (const auto& fiber : fibers) {
                    if (!fiber->returned) all.push_back(standing(*fiber, *question));
                }
                question->answer = say(all);
            }
            abort();
        }
    }
#ifdef AMK_FIBER_SANITIZER
    // Fibers that never returned leave red zones, where the next launch may have its memory.
    __asan_unpoison_memory_region(stacks, bytes);
#endif
    munmap(stacks, bytes);
    scheduler = nullptr;
    running = nullptr;
    return end;
}

}  // namespace shim
