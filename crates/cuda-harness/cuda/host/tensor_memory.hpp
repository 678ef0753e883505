// Tensor memory of a block (`tcgen05`), and what goes on in it by itself: as late as it may. A product is made when somebody looks at the mbarrier of
// a commit behind it, for the second time, so that who looks once has looked too early; what is loaded and stored is there when it is waited for.
#pragma once

#include "phases.hpp"
#include "tensor_products.hpp"

#include <string>
#include <vector>

namespace shim {

class TensorMemory {
public:
    TensorMemory(const Variables& variables, unsigned threads)
        : variables(variables), words(TENSOR_LANES * TENSOR_COLUMNS, ~0u), loads(words.size()), stores(words.size()), threads(threads) {}

    // Columns, of which the last that are free are given. Whether there is room.
    AMK_OWN bool allocate(std::uint32_t columns, std::uint32_t& address) {
        check_count(columns, "alloc");
        if (relinquished) fault("tcgen05.alloc after tcgen05.relinquish_alloc_permit of the block");
        if (columns > most) fault("tcgen05.alloc of %u columns after one of %u: what a block allocates may not grow", columns, most);
        unsigned room = 0;
        for (unsigned column = TENSOR_COLUMNS; column-- > 0;) {
            room = is_allocated[column] ? 0 : room + 1;
            if (room < columns) continue;
            most = columns;
            all.push_back({column, columns});
            std::fill_n(is_allocated + column, columns, true);
            for (unsigned lane = 0; lane < TENSOR_LANES; ++lane) std::fill_n(&words[lane * TENSOR_COLUMNS + column], columns, ~0u);
            address = column;
            return true;
        }
        return false;
    }
    unsigned free() const { return unsigned(std::count(std::begin(is_allocated), std::end(is_allocated), false)); }

    AMK_OWN void give_back(std::uint32_t address, std::uint32_t columns) {
        check_count(columns, "dealloc");
        const auto same = [&](const Allocation& one) { return one.column == address && one.columns == columns; };
        const auto found = std::find_if(all.begin(), all.end(), same);
        if (found == all.end()) fault("tcgen05.dealloc of %u columns at 0x%08x, which are not allocated so", columns, address);
        for (unsigned lane = 0; lane < TENSOR_LANES; ++lane) {
            for (unsigned column = address; column < address + columns; ++column) {
                check_idle(lane, column, "tcgen05.dealloc of what");
                if (const auto* product = under_way(lane, column, true)) fault("tcgen05.dealloc of what a tcgen05.mma that is under way %s", does(*product, lane, column));
            }
        }
        all.erase(found);
        std::fill_n(is_allocated + address, columns, false);
    }
    void relinquish() { relinquished = true; }

    // By a lane of a warp.
    AMK_OWN void load(const TensorAccess& access, std::uint32_t address, const Sum* registers) {
        for (unsigned i = 0; i < registers_of(access); ++i) {
            Load one{registers[i], {}, access.by_halves};
            for (unsigned half = 0; half <= unsigned(access.by_halves); ++half) {
                const std::size_t cell = one.cells[half] = place(access, address, i, half, "tcgen05.ld");
                const unsigned lane = lane_of(cell), column = column_of(cell);
                if (stores[cell] != 0) fault("tcgen05.ld of what a tcgen05.st stores that was not waited for");
                if (under_way(lane, column, false) != nullptr) fault("tcgen05.ld of sums of a tcgen05.mma that was not waited for by an mbarrier");
                loads[cell] += 1;
            }
            // The place outside is not set before the end of the statement.
            std::memcpy(one.to.later, &NOT_SET, sizeof NOT_SET);
            *one.to.now = UNDER_WAY;
            own().loads.push_back(one);
        }
    }
    AMK_OWN void wait_loads() {
        for (const Load& load : own().loads) {
            std::uint32_t held;
            std::memcpy(&held, load.to.later, sizeof held);
            std::uint32_t* const to = held == NOT_SET ? load.to.now : load.to.later;
            std::memcpy(&held, to, sizeof held);
            if (held != UNDER_WAY) fault("a register of a tcgen05.ld was written, or its variable has gone, before it was waited for");
            const std::uint32_t low = words[load.cells[0]], value = load.by_halves ? (low & 0xffffu) | words[load.cells[1]] << 16 : low;
            std::memcpy(to, &value, sizeof value);
            for (unsigned half = 0; half <= unsigned(load.by_halves); ++half) loads[load.cells[half]] -= 1;
        }
        own().loads.clear();
    }

    AMK_OWN void store(const TensorAccess& access, std::uint32_t address, const std::uint32_t* registers) {
        for (unsigned i = 0; i < registers_of(access); ++i) {
            for (unsigned half = 0; half <= unsigned(access.by_halves); ++half) {
                const std::size_t cell = place(access, address, i, half, "tcgen05.st");
                const unsigned lane = lane_of(cell), column = column_of(cell);
                if (loads[cell] != 0) fault("tcgen05.st over what a tcgen05.ld loads that was not waited for");
                if (const auto* product = under_way(lane, column, true)) fault("tcgen05.st over what a tcgen05.mma that was not waited for %s", does(*product, lane, column));
                stores[cell] += 1;
                const std::uint32_t word = registers[i];
                own().stores.push_back({cell, access.by_halves ? word >> 16 * half & 0xffffu : word});
            }
        }
    }
    AMK_OWN void wait_stores() {
        for (const Store& store : own().stores) {
            words[store.cell] = store.word;
            stores[store.cell] -= 1;
        }
        own().stores.clear();
    }

    AMK_OWN void multiply(const TensorProduct& product) {
        TensorProductBegun one{product, TensorInstruction(product.kind, product.instruction), threadIdx.x, numbers++, self().doing, {}, {}, {}};
        const TensorInstruction& of = one.of;
        if (of.m == 128 ? one.lane() != 0 : one.lane() != 0 && one.lane() != 16) fault("sums of %u rows at lane %u of tensor memory", of.m, one.lane());
        check_columns(one.column(), of.n, "tcgen05.mma");
        if (product.a_in_tensor) {
            const std::uint32_t a = std::uint32_t(product.a);
            if (of.a_by_columns) fault("a factor in tensor memory does not lie by columns");
            if (a >> 16 != one.lane()) fault("a tcgen05.mma whose first factor is at lane %u of tensor memory, and its sums at lane %u", a >> 16, one.lane());
            check_columns(a & 0xffffu, TENSOR_COLUMNS_OF_K, "tcgen05.mma");
            one.words_of_a = words_of_a(one, true);
        } else {
            one.of_a = read_operand(tensor_operand(product.a, of.a_by_columns, of.a), of.m, bytes_of(of.a), variables);
        }
        one.of_b = read_operand(tensor_operand(product.b, of.b_by_columns, of.b), of.n, bytes_of(of.b), variables);
        for (unsigned i = 0; i < of.m; ++i) {
            const unsigned lane = one.lane_of(i);
            for (unsigned column = one.column(); column < one.column() + of.n && !one.leaves_out(lane); ++column) check_idle(lane, column, "tcgen05.mma into what");
        }
        products.push_back(std::move(one));
    }

    void commit(std::uint64_t* barrier) { commits.push_back({barrier, threadIdx.x, numbers++, false}); }

    // A look at an mbarrier, by whoever waits for a phase of this parity. Whether that has brought something about.
    AMK_OWN bool look(const std::uint64_t* barrier, unsigned parity) {
        // Where that is over, what the next one waits for may come later.
        if (Phases{*barrier}.parity() != parity) return false;
        const auto first = std::find_if(commits.begin(), commits.end(), [&](const Commit& one) { return one.barrier == barrier; });
        if (first == commits.end()) return false;
        if (!first->looked_for) return first->looked_for = true;
        const Commit last = *first;
        complete(last.thread, last.number);
        // Those before it of the same thread were for no more.
        const auto is_told = [&](const Commit& one) { return one.thread == last.thread && one.number <= last.number; };
        for (const Commit& one : commits) {
            if (is_told(one)) (void)change(one.barrier, [](std::uint64_t word) { return Phases{word}.after(1, 0).word; }, RELEASES);
        }
        std::erase_if(commits, is_told);
        return true;
    }

    // The running thread returns, and whether it is the last one of the block.
    AMK_OWN void finish(bool is_last) {
        if (!own().loads.empty()) fault("a thread returns while registers of a tcgen05.ld are under way: tcgen05.wait::ld is missing");
        if (!own().stores.empty()) fault("a thread returns while a tcgen05.st of it is under way: tcgen05.wait::st is missing");
        if (is_last && !products.empty()) fault("a block ends while a tcgen05.mma is under way: nobody has waited for an mbarrier of a tcgen05.commit (%s)", products[0].doing);
        if (is_last && !all.empty()) fault("a block ends with %u columns of tensor memory allocated: tcgen05.dealloc is missing", all[0].columns);
    }

private:
    // NaN, of the kind that is another one after any arithmetic.
    static constexpr std::uint32_t UNDER_WAY = 0x7fb17db1, NOT_SET = ~0u;

    struct Allocation {
        unsigned column, columns;
    };
    struct Load {
        Sum to;
        std::size_t cells[2];
        bool by_halves;
    };
    struct Store {
        std::size_t cell;
        std::uint32_t word;
    };
    struct Commit {
        std::uint64_t* barrier;
        unsigned thread;
        std::uint64_t number;
        bool looked_for;
    };
    // What a thread has not waited for.
    struct Own {
        std::vector<Load> loads;
        std::vector<Store> stores;
    };

    Own& own() { return threads[threadIdx.x]; }
    static unsigned lane_of(std::size_t cell) { return unsigned(cell / TENSOR_COLUMNS); }
    static unsigned column_of(std::size_t cell) { return unsigned(cell % TENSOR_COLUMNS); }

    static void check_count(std::uint32_t columns, const char* what) {
        if (columns < 32 || columns > TENSOR_COLUMNS || !std::has_single_bit(columns)) fault("tcgen05.%s of %u columns, which is no power of two from 32 to 512", what, columns);
    }
    AMK_OWN void check_columns(unsigned column, unsigned columns, const char* what) const {
        for (unsigned i = column; i < column + columns; ++i) {
            if (i >= TENSOR_COLUMNS || !is_allocated[i]) fault("%s of columns %u to %u of tensor memory, of which %u is not allocated", what, column, column + columns - 1, i);
        }
    }
    void check_idle(unsigned lane, unsigned column, const char* what) const {
        const std::size_t cell = lane * TENSOR_COLUMNS + column;
        if (loads[cell] != 0) fault("%s a tcgen05.ld loads that was not waited for", what);
        if (stores[cell] != 0) fault("%s a tcgen05.st stores that was not waited for", what);
    }

    static unsigned registers_of(const TensorAccess& access) { return access.times * (access.shape == 128 ? 2 : access.shape == 256 ? 4 : 1); }

    // The word of a register of the running lane, or the word of half of it.
    AMK_OWN std::size_t place(const TensorAccess& access, std::uint32_t address, unsigned i, unsigned half, const char* what) const {
        const unsigned t = amk_lane(), first = address >> 16, lanes = access.shape == 32 ? 32 : 16, quarter = threadIdx.x / WARP % WARPS_OF_GROUP;
        if (first / 32 != quarter || first % lanes != 0) {
            fault("%s at lane %u of tensor memory by warp %u, which reaches lanes %u to %u", what, first, threadIdx.x / WARP, quarter * 32, quarter * 32 + 31);
        }
        unsigned lane, column;
        switch (access.shape) {
        case 32: lane = t, column = i; break;
        case 64: lane = t / 4 + t % 2 * 8, column = 2 * i + t / 2 % 2; break;
        case 128: lane = t / 4 + i % 2 * 8, column = i / 2 * 4 + t % 4; break;
        case 256: lane = t / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + t % 4 * 2 + i % 2; break;
        default: lane = t % 16, column = i;
        }
        column = (address & 0xffffu) + column * (access.by_halves ? 2 : 1) + half + (access.shape == 2 ? t / 16 * access.apart : 0);
        check_columns(column, 1, what);
        return (first + lane) * TENSOR_COLUMNS + column;
    }

    // A product that writes a word, or reads it too.
    AMK_OWN const TensorProductBegun* under_way(unsigned lane, unsigned column, bool or_reads) const {
        for (const TensorProductBegun& product : products) {
            if (product.writes(lane, column) || (or_reads && product.reads(lane, column))) return &product;
        }
        return nullptr;
    }
    static const char* does(const TensorProductBegun& product, unsigned lane, unsigned column) { return product.writes(lane, column) ? "writes" : "reads"; }

    AMK_OWN std::vector<std::uint32_t> words_of_a(const TensorProductBegun& product, bool are_checked) const {
        std::vector<std::uint32_t> found;
        for (unsigned i = 0; i < product.of.m; ++i) {
            for (unsigned k = 0; k < TENSOR_COLUMNS_OF_K; ++k) {
                const std::size_t cell = product.lane_of(i) * TENSOR_COLUMNS + std::uint32_t(product.a & 0xffffu) + k;
                if (are_checked && stores[cell] != 0) fault("tcgen05.mma of what a tcgen05.st stores that was not waited for");
                found.push_back(words[cell]);
            }
        }
        return found;
    }

    // The products of a thread before something, and with them those of others before that have the same sums.
    AMK_OWN void complete(unsigned thread, std::uint64_t before) {
        const auto is_waited_for = [&](const TensorProductBegun& one) {
            return one.number < before && std::any_of(products.begin(), products.end(), [&](const TensorProductBegun& other) {
                return other.thread == thread && other.number < before && other.number >= one.number && (&other == &one || other.to == one.to);
            });
        };
        const char* const doing = self().doing;
        for (std::size_t i = 0; i < products.size();) {
            if (!is_waited_for(products[i])) {
                ++i;
                continue;
            }
            const TensorProductBegun& product = products[i];
            self().doing = product.doing;
            for (const auto* operand : {&product.of_a, &product.of_b}) {
                for (const Kept& part : *operand) part.check("tcgen05.mma", variables);
            }
            shim::multiply(product, words.data());
            products.erase(products.begin() + std::ptrdiff_t(i));
        }
        self().doing = doing;
    }

    const Variables& variables;
    std::vector<std::uint32_t> words;
    // How often a word is loaded and stored by what is not waited for.
    std::vector<std::uint16_t> loads, stores;
    std::vector<Own> threads;
    bool is_allocated[TENSOR_COLUMNS] = {};
    std::vector<Allocation> all;
    unsigned most = TENSOR_COLUMNS;
    bool relinquished = false;
    std::vector<TensorProductBegun> products;
    std::vector<Commit> commits;
    std::uint64_t numbers = 0;
};

}  // namespace shim
