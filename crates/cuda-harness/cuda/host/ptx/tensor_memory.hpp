// Tensor memory of PTX (`tcgen05`), for files that have it: what ../tensor_memory.hpp does.
#pragma once

#include "warpgroups.hpp"

namespace shim::ptx {

// An address in tensor memory.
template <typename Base>
std::uint32_t tensor_address(Base base, long long offset) {
    return std::uint32_t(raw(base) + std::uint64_t(offset));
}

inline void tensor_allocate(unsigned char* to, std::uint32_t columns) {
    whole_vector(to, 4, "an address of tensor memory");
    shim::tensor_allocate(reinterpret_cast<std::uint32_t*>(to), columns);
}

template <std::size_t N>
void tensor_load(const TensorAccess& access, std::uint32_t address, Sums<N> registers) {
    shim::tensor_load(access, address, registers.of);
}
template <std::size_t N>
void tensor_store(const TensorAccess& access, std::uint32_t address, const Registers<N>& registers) {
    shim::tensor_store(access, address, registers.at);
}

inline void tensor_commit(unsigned char* barrier) { shim::tensor_commit(phases_at(barrier)); }

}  // namespace shim::ptx
