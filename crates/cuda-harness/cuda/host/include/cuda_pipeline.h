// Copies to shared memory by CUDA's primitives of pipelines, on the CPU.
#pragma once

#include "host/shim.hpp"

// The last `zeros` bytes are zeros, and not copied.
inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes, std::size_t zeros = 0) {
    if (bytes != 4 && bytes != 8 && bytes != 16) shim::fault("__pipeline_memcpy_async copies 4, 8 or 16 bytes, and not %zu", bytes);
    if ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % bytes != 0) {
        shim::fault("__pipeline_memcpy_async of %zu bytes from or to an address that is no multiple of it", bytes);
    }
    if (zeros % 4 != 0 || zeros > bytes) shim::fault("__pipeline_memcpy_async with %zu bytes of zeros: on the CPU words, up to all", zeros);
    const unsigned copied = unsigned(bytes - zeros);
    if (copied > 0) shim::copy_begin(static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from), copied);
    if (zeros > 0) shim::copy_begin(static_cast<unsigned char*>(to) + copied, nullptr, unsigned(zeros));
}

inline void __pipeline_commit() { shim::copy_commit(); }
inline void __pipeline_wait_prior(unsigned groups) { shim::copy_wait(groups); }
