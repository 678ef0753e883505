// Memory as instructions of PTX see it: spaces, accesses with an order, copies beside the threads, and barriers that count phases.
#pragma once

#include "../phases.hpp"
#include "arithmetic.hpp"

namespace shim::ptx {

// What an address is of. A barrier's is in shared memory, and may be given as one of all memory.
enum class Space { ANY, GLOBAL, SHARED, SHARED_OR_ANY };
constexpr Space ANY = Space::ANY, GLOBAL = Space::GLOBAL, SHARED = Space::SHARED, SHARED_OR_ANY = Space::SHARED_OR_ANY;

// What is added to an address.
inline long long offset(Constant constant) { return constant.value; }
inline long long offset(std::uint32_t bits) { return std::int32_t(bits); }
inline long long offset(std::uint64_t bits) { return std::int64_t(bits); }

inline std::uint64_t raw(Constant base) { return std::uint64_t(base.value); }
inline std::uint64_t raw(std::uint32_t base) { return base; }
inline std::uint64_t raw(std::uint64_t base) { return base; }

// An address of 32 bits is one within shared memory, and so is one of 64 bits that fits.
inline bool is_of_window(std::uint64_t base) { return base >> 32 == 0; }

// The place of an address, of which so many bytes are meant.
template <Space SPACE, typename Base>
unsigned char* place(Base base, long long offset, std::size_t bytes) {
    const std::uint64_t address = raw(base) + std::uint64_t(offset);
    if (SPACE == SHARED || (SPACE == SHARED_OR_ANY && is_of_window(address))) {
        return shared_place(std::uint32_t(address), unsigned(bytes));
    }
    if (SPACE != SHARED && SPACE != SHARED_OR_ANY && sizeof(Base) != 8) wrong("an address of 32 bits that is not in shared memory");
    unsigned char* const place = reinterpret_cast<unsigned char*>(address);
    if (SPACE == GLOBAL && is_shared(place)) fault("an access by `.global` to an address in shared memory");
    if (SPACE == SHARED_OR_ANY && !is_shared(place)) fault("an mbarrier that is not in shared memory");
    return place;
}

inline std::uint64_t to_window(std::uint64_t address) { return shared_address(reinterpret_cast<const void*>(address)); }
inline std::uint32_t to_window(std::uint32_t address) { return address; }
inline std::uint64_t of_window(std::uint64_t address) { return reinterpret_cast<std::uint64_t>(shared_place(std::uint32_t(address), 0)); }
inline std::uint64_t of_window(std::uint32_t address) { return of_window(std::uint64_t(address)); }
inline std::uint64_t to_global(std::uint64_t address) {
    if (is_shared(reinterpret_cast<const void*>(address))) fault("`cvta.to.global` of an address in shared memory");
    return address;
}
inline bool is_shared(std::uint64_t address) { return shim::is_shared(reinterpret_cast<const void*>(address)); }

inline void whole_vector(const unsigned char* place, std::size_t bytes, const char* what) {
    if (reinterpret_cast<std::uintptr_t>(place) % bytes != 0) fault("%s of %zu bytes at an address that is no multiple of it", what, bytes);
}

template <typename T, weak::Way WAY, typename... Places>
void load(const unsigned char* from, Places&... places) {
    whole_vector(from, sizeof(T) * sizeof...(places), "a load");
    const T* at = reinterpret_cast<const T*>(from);
    const auto one = [](const T* element) { return WAY == weak::Way::plain ? shim::load(element) : load_by(WAY, element); };
    (put_part<T>(places, one(at++)), ...);
}

template <typename T, typename... Values>
void store(unsigned char* to, Values... values) {
    whole_vector(to, sizeof(T) * sizeof...(values), "a store");
    int i = 0;
    (shim::store(reinterpret_cast<T*>(to) + i++, values), ...);
}

// What is for a block alone orders nothing for others. ThreadSanitizer knows no blocks.
template <bool ALL>
constexpr Order within(Order order) {
#ifdef AMK_HOST_THREADS
    return order;
#else
    return ALL ? order : Order{};
#endif
}

template <typename T>
constexpr bool is_word = sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8;

// Loads and stores that others may see while they happen. Those of a byte, or of 16, are ordered and not atomic.
template <typename T, bool ALL, typename... Places>
void poll(const unsigned char* from, Order order, Places&... places) {
    whole_vector(from, sizeof(T) * sizeof...(places), "a load");
    const T* at = reinterpret_cast<const T*>(from);
    const auto one = [&](const T* word) {
        if constexpr (is_word<T>) {
            if (!ALL) block_met();
            return poll_number(word, within<ALL>(order));
        } else {
            const T value = load_by(weak::Way::second, word);
            if (order.acquires) ALL ? fence() : fence_block();
            return value;
        }
    };
    (put_part<T>(places, one(at++)), ...);
}

template <typename T, bool ALL, typename... Values>
void change(unsigned char* to, Order order, Values... values) {
    whole_vector(to, sizeof(T) * sizeof...(values), "a store");
    T* at = reinterpret_cast<T*>(to);
    const auto one = [&](T* word, T value) {
        if constexpr (is_word<T>) {
            (void)change_number(word, [=](T) { return value; }, within<ALL>(order));
        } else {
            if (order.releases) ALL ? fence() : fence_block();
            shim::store(word, value);
        }
    };
    (one(at++, values), ...);
}

// Atomic changes: what becomes of a word with a value.
#define AMK_WORD(NAME, EXPRESSION)                        \
    struct NAME##_word {                                  \
        template <typename T>                             \
        T operator()(T old, T value) const {              \
            return EXPRESSION;                            \
        }                                                 \
    };
AMK_WORD(add, add_of<0>(old, value))
AMK_WORD(min, (extreme<0, true>(old, value)))
AMK_WORD(max, (extreme<0, false>(old, value)))
AMK_WORD(and, T(old& value))
AMK_WORD(or, T(old | value))
AMK_WORD(xor, T(old ^ value))
AMK_WORD(exch, (void(old), value))
AMK_WORD(inc, old >= value ? T(0) : T(old + 1))
AMK_WORD(dec, old == 0 || old > value ? value : T(old - 1))
#undef AMK_WORD
struct cas_word {};

template <typename T, typename... Each>
struct Values {
    T at[sizeof...(Each)];
};
template <typename T, typename... Each>
Values<T, Each...> values(Each... each) {
    return {{T(each)...}};
}

template <typename T, bool ALL, typename F, typename Given, typename... Places>
void atomic(F f, unsigned char* place, Order order, const Given& given, Places&... places) {
    static_assert(is_word<T>, "inline PTX: an atomic function of such a word is not there on the CPU");
    whole_vector(place, sizeof(T) * sizeof...(places), "an atomic change");
    T* at = reinterpret_cast<T*>(place);
    int i = 0;
    const auto one = [&](T value) { return change_number(at++, [=](T old) { return f(old, value); }, within<ALL>(order)); };
    (put<T>(places, one(given.at[i++])), ...);
}
template <typename T, bool ALL, typename Given, typename Place>
void atomic(cas_word, unsigned char* place, Order order, const Given& given, Place& old_one) {
    static_assert(is_word<T>, "inline PTX: an atomic function of such a word is not there on the CPU");
    whole_vector(place, sizeof(T), "an atomic change");
    const T expected = given.at[0], value = given.at[1];
    put<T>(old_one, change_number(reinterpret_cast<T*>(place), [=](T old) { return old == expected ? value : old; }, within<ALL>(order)));
}

// `cp.async`: of so many bytes the first are copied, and the rest are zeros.
template <bool WHOLE_CHUNK>
void copy(unsigned char* to, const unsigned char* from, std::uint32_t bytes, std::uint32_t copied) {
    if (bytes != 16 && (WHOLE_CHUNK || (bytes != 4 && bytes != 8))) fault("cp.async of %u bytes", bytes);
    if (copied > bytes || copied % 4 != 0) fault("cp.async of %u bytes copies %u of them: on the CPU words, up to all", bytes, copied);
    whole_vector(to, bytes, "cp.async to shared memory");
    whole_vector(from, bytes, "cp.async from global memory");
    if (copied > 0) copy_begin(to, from, copied);
    if (copied < bytes) copy_begin(to + copied, nullptr, bytes - copied);
}
// Where a policy of the cache stands, all bytes are copied.
inline std::uint32_t size_of_copy(std::uint32_t, Constant size) { return std::uint32_t(size.value); }
inline std::uint32_t size_of_copy(std::uint32_t, std::uint32_t size) { return size; }
inline std::uint32_t size_of_copy(std::uint32_t bytes, std::uint64_t) { return bytes; }

inline std::uint64_t* phases_at(unsigned char* place) {
    whole_vector(place, 8, "an mbarrier");
    return reinterpret_cast<std::uint64_t*>(place);
}

inline void phases_begin(unsigned char* place, std::uint32_t count) {
    if (count == 0 || count > Phases::COUNT) fault("an mbarrier for %u arrivals", count);
    shim::store(phases_at(place), Phases::of(count, count, Phases::NO_BYTES, 0).word);
}

inline void phases_end(unsigned char* place) {
    Phases{*phases_at(place)}.check();
    shim::store(phases_at(place), std::uint64_t(0));
}

// What an mbarrier was, before so many arrivals and bytes. One for the block alone orders nothing for others.
template <bool ALL = false>
Phases change_phases(unsigned char* place, std::uint64_t arrivals, long long bytes, Order order) {
    const auto after = [=](std::uint64_t word) { return Phases{word}.after(arrivals, bytes).word; };
    return {shim::change(phases_at(place), after, within<ALL>(order))};
}

template <bool ALL = false>
std::uint64_t arrive(unsigned char* place, std::uint32_t count, std::uint32_t bytes, Order order) {
    return change_phases<ALL>(place, count, bytes, order).word;
}
// And the same as many are not expected any more.
template <bool ALL = false>
std::uint64_t arrive_drop(unsigned char* place, std::uint32_t count, std::uint32_t bytes, Order order) {
    const auto after = [=](std::uint64_t word) {
        const Phases phases{word};
        phases.check();
        if (count > phases.of_phase()) wrong("more arrivals leave an mbarrier than it expects");
        return Phases::of(phases.to_come(), phases.of_phase() - count, phases.bytes(), phases.parity()).after(count, bytes).word;
    };
    return shim::change(phases_at(place), after, within<ALL>(order));
}
inline void expect(unsigned char* place, std::uint32_t bytes) { (void)change_phases(place, 0, bytes, {}); }
inline void complete(unsigned char* place, std::uint32_t bytes) { (void)change_phases(place, 0, -static_cast<long long>(bytes), RELEASES); }

// Whether the phase of a parity is over. Who finds that it is not lets others run.
template <bool ALL = false>
bool has_passed(unsigned char* place, std::uint32_t parity, Order order) {
    std::uint64_t* const word = phases_at(place);
    (void)bulk_poll(word, parity & 1);
    const Phases phases{shim::poll(word, within<ALL>(order))};
    phases.check();
    const bool passed = phases.parity() != (parity & 1);
    passed ? block_met() : pause();
    return passed;
}
// The same of the phase in which an arrival gave this state.
inline bool has_passed_since(unsigned char* place, std::uint64_t state, Order order) { return has_passed(place, Phases{state}.parity(), order); }

inline void bulk_load(unsigned char* to, const unsigned char* from, std::uint32_t bytes, unsigned char* barrier) {
    Phases{shim::poll(phases_at(barrier))}.check();
    shim::bulk_load(to, from, bytes, phases_at(barrier), [](std::uint64_t* word, unsigned all) { complete(reinterpret_cast<unsigned char*>(word), all); });
}

// What a bulk copy brings becomes part of each number, atomically.
template <typename T, typename F>
void join(unsigned char* to, const unsigned char* from, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i += sizeof(T)) {
        T value;
        std::memcpy(static_cast<void*>(&value), from + i, sizeof(T));
        (void)change_number(reinterpret_cast<T*>(to + i), [=](T old) { return F()(old, value); }, {});
    }
}

// Arrives once the copies of this thread have landed, which on the CPU is at once. Where they are counted by themselves, the arrival adds nothing.
template <bool BY_THEMSELVES>
void arrive_after_copies(unsigned char* place) {
    copy_commit();
    copy_wait(0);
    if (!BY_THEMSELVES) (void)arrive(place, 1, 0, RELEASES);
}

}  // namespace shim::ptx
