// CUDA's loads and stores with a cache to go by, and its atomic functions.
#pragma once

#include <type_traits>

namespace shim {

template <typename T>
void check_alignment(const T* place, const char* what) {
    if (reinterpret_cast<std::uintptr_t>(place) % alignof(T) == 0) return;
    fault("%s of %zu bytes at an address that is no multiple of %zu", what, sizeof(T), alignof(T));
}

// A load that the compiler neither leaves out nor moves.
template <typename T>
T load(const T* from) {
    check_alignment(from, "a load");
    asm volatile("" ::: "memory");
    const T value = *from;
    asm volatile("" ::: "memory");
    return value;
}

// The same by a way of its own through the model of a GPU's memory.
template <typename T>
T load_by(weak::Way way, const T* from) {
    const weak::By by(way);
    return load(from);
}

template <typename T>
void store(T* to, const T& value) {
    check_alignment(to, "a store");
    *to = value;
}

// The bits of a number as an atomic function changes them.
template <typename T>
using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

template <typename T, typename F>
T change_number(T* place, F f, Order order = {}) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);
    check_alignment(place, "an atomic change");
    const auto bits = [&](Bits<T> before) { return std::bit_cast<Bits<T>>(f(std::bit_cast<T>(before))); };
    return std::bit_cast<T>(change(reinterpret_cast<Bits<T>*>(place), bits, order));
}

// An atomic load of a number.
template <typename T>
T poll_number(const T* place, Order order = {}) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);
    check_alignment(place, "an atomic load");
    return std::bit_cast<T>(poll(reinterpret_cast<const Bits<T>*>(place), order));
}

}  // namespace shim

// Shared memory has addresses of its own; that of all blocks has those of the CPU.
inline std::size_t __cvta_generic_to_shared(const void* place) { return shim::shared_address(place); }
inline void* __cvta_shared_to_generic(std::size_t address) { return shim::shared_place(std::uint32_t(address), 0); }
inline std::size_t __cvta_generic_to_global(const void* place) { return reinterpret_cast<std::uintptr_t>(place); }
inline void* __cvta_global_to_generic(std::size_t address) { return reinterpret_cast<void*>(address); }
inline unsigned __isShared(const void* place) { return shim::is_shared(place); }
inline unsigned __isGlobal(const void* place) { return !shim::is_shared(place); }

// By way of a cache that nothing brings up to date within a launch (`ld.global.nc`).
template <typename T>
T __ldg(const T* from) { return shim::load_by(weak::Way::incoherent, from); }

// Past the cache of the SM.
template <typename T>
T __ldcg(const T* from) { return shim::load_by(weak::Way::second, from); }
template <typename T>
T __ldcv(const T* from) { return shim::load_by(weak::Way::second, from); }

// What is said of how soon it is read again changes no result.
template <typename T>
T __ldca(const T* from) { return shim::load(from); }
template <typename T>
T __ldcs(const T* from) { return shim::load(from); }
template <typename T>
T __ldlu(const T* from) { return shim::load(from); }
template <typename T>
void __stwb(T* to, std::type_identity_t<T> value) { shim::store(to, value); }
template <typename T>
void __stcg(T* to, std::type_identity_t<T> value) { shim::store(to, value); }
template <typename T>
void __stcs(T* to, std::type_identity_t<T> value) { shim::store(to, value); }
template <typename T>
void __stwt(T* to, std::type_identity_t<T> value) { shim::store(to, value); }

#define AMK_ATOMIC(NAME, T, EXPRESSION) \
    inline T NAME(T* place, T value) { return shim::change_number(place, [=](T old) -> T { return EXPRESSION; }); }
#define AMK_ATOMIC_OF_INTEGERS(T)                              \
    AMK_ATOMIC(atomicExch, T, (void(old), value))              \
    AMK_ATOMIC(atomicMin, T, value < old ? value : old)        \
    AMK_ATOMIC(atomicMax, T, value > old ? value : old)        \
    AMK_ATOMIC(atomicAnd, T, old& value)                       \
    AMK_ATOMIC(atomicOr, T, old | value)                       \
    AMK_ATOMIC(atomicXor, T, old ^ value)                      \
    inline T atomicCAS(T* place, T expected, T value) {        \
        return shim::change_number(place, [=](T old) { return old == expected ? value : old; }); \
    }
AMK_ATOMIC_OF_INTEGERS(int)
AMK_ATOMIC_OF_INTEGERS(unsigned)
AMK_ATOMIC_OF_INTEGERS(long long)
AMK_ATOMIC_OF_INTEGERS(unsigned long long)
AMK_ATOMIC(atomicAdd, int, int(unsigned(old) + unsigned(value)))
AMK_ATOMIC(atomicSub, int, int(unsigned(old) - unsigned(value)))
AMK_ATOMIC(atomicAdd, unsigned, old + value)
AMK_ATOMIC(atomicSub, unsigned, old - value)
AMK_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
AMK_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
AMK_ATOMIC(atomicAdd, unsigned long long, old + value)
AMK_ATOMIC(atomicAdd, float, old + value)
AMK_ATOMIC(atomicAdd, double, old + value)
AMK_ATOMIC(atomicExch, float, (void(old), value))
inline unsigned short atomicCAS(unsigned short* place, unsigned short expected, unsigned short value) {
    return shim::change_number(place, [=](unsigned short old) { return old == expected ? value : old; });
}
#undef AMK_ATOMIC_OF_INTEGERS
#undef AMK_ATOMIC
