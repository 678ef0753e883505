// A stand-in for CUDA's runtime API: what examples/cuda/worker.cu uses of it, with kernels compiled for the CPU behind it. It keeps to
// the manual where a worker depends on it: memory is not cleared, a launch returns at once, copies wait for it, and places and sizes
// that are not those of an allocation are refused.
//
// AMK_STAND_IN=none says that there is no GPU.
#pragma once

#define AMK_HOST 1
#include "host/shim.hpp"
// host/fibers.cpp is compiled by itself.
#include "host/launch.hpp"

#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorNoDevice = 100, cudaErrorNotReady = 600, cudaErrorCooperativeLaunchTooLarge = 720 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount = 16 };
using cudaStream_t = void*;
constexpr unsigned cudaHostAllocMapped = 2;

namespace runtime {

constexpr int SMS = 3, BLOCKS_PER_SM = 2;
inline std::map<std::uintptr_t, std::size_t> allocations;
inline std::atomic<bool> busy{false};

inline void settle() {
    while (busy) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

inline bool within(const void* at, std::size_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    auto next = allocations.upper_bound(address);
    if (next == allocations.begin()) return bytes == 0;
    const auto& [start, size] = *--next;
    return address - start <= size && bytes <= size - (address - start);
}

}  // namespace runtime

inline const char* cudaGetErrorString(cudaError_t error) {
    return error == cudaErrorNoDevice ? "no CUDA-capable device is detected" : error == cudaSuccess ? "no error" : "an error of the stand-in";
}

inline cudaError_t cudaGetDeviceCount(int* count) {
    const char* kind = std::getenv("AMK_STAND_IN");
    const bool none = kind && std::string(kind) == "none";
    *count = none ? 0 : 1;
    return none ? cudaErrorNoDevice : cudaSuccess;
}

inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int device) {
    *value = runtime::SMS;
    return device == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

template <class T>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T*, int threads, std::size_t shared) {
    *blocks = threads <= 1024 && shared == 0 ? runtime::BLOCKS_PER_SM : 0;
    return cudaSuccess;
}

inline cudaError_t cudaMalloc(void** address, std::size_t bytes) {
    *address = nullptr;
    if (bytes == 0) return cudaSuccess;
    *address = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!*address) return cudaErrorMemoryAllocation;
    std::memset(*address, 0xcd, bytes);
    runtime::allocations[reinterpret_cast<std::uintptr_t>(*address)] = bytes;
    return cudaSuccess;
}

inline cudaError_t cudaFree(void* address) {
    runtime::settle();
    if (address && runtime::allocations.erase(reinterpret_cast<std::uintptr_t>(address)) == 0) return cudaErrorInvalidValue;
    std::free(address);
    return cudaSuccess;
}

inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    runtime::settle();
    if (!runtime::within(kind == cudaMemcpyHostToDevice ? to : from, bytes)) return cudaErrorInvalidValue;
    if (bytes > 0) std::memcpy(to, from, bytes);
    return cudaSuccess;
}

inline cudaError_t cudaMemset(void* at, int byte, std::size_t bytes) {
    runtime::settle();
    if (!runtime::within(at, bytes)) return cudaErrorInvalidValue;
    std::memset(at, byte, bytes);
    return cudaSuccess;
}

inline cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
    *memory = std::malloc(bytes);
    std::memset(*memory, 0xcd, bytes);
    return flags == cudaHostAllocMapped ? cudaSuccess : cudaErrorInvalidValue;
}

inline cudaError_t cudaFreeHost(void* memory) {
    std::free(memory);
    return cudaSuccess;
}

inline cudaError_t cudaHostGetDevicePointer(void** address, void* memory, unsigned) {
    *address = memory;
    return cudaSuccess;
}

// A kernel that takes one record by value.
template <class T>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(T), dim3 blocks, dim3 threads, void** arguments, std::size_t shared, cudaStream_t) {
    runtime::settle();
    if (blocks.x == 0 || threads.x == 0 || threads.x > 1024 || shared != 0) return cudaErrorInvalidValue;
    if (blocks.x > unsigned(runtime::SMS * runtime::BLOCKS_PER_SM)) return cudaErrorCooperativeLaunchTooLarge;
    runtime::busy = true;
    std::thread([kernel, blocks, threads, given = *static_cast<T*>(arguments[0])] {
        // What is stuck stays so until the host tells it to end, as on a GPU.
        const auto wait = [&] {
            while (*given.abort == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
        };
        shim::launch({blocks.x, threads.x, 0, 0}, [&] { kernel(given); }, wait);
        runtime::busy = false;
    }).detach();
    return cudaSuccess;
}

inline cudaError_t cudaStreamQuery(cudaStream_t) { return runtime::busy ? cudaErrorNotReady : cudaSuccess; }
