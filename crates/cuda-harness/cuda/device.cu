// What becomes a CUBIN.

#include "vm.cuh"

// Copies n words of 16 bytes: as fast as this device moves memory, to compare with.
AMK_GLOBAL void amk_copy(const uint4* from, uint4* to, unsigned long long n) {
    const unsigned long long threads = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) to[i] = from[i];
}
