// The kernels for the CPU: those of this folder, with somebody's instructions among them, or somebody's VM.

#define AMK_HOST 1
#include "kernels.hpp"
#ifdef AMK_PTX
#include "ptx/warpgroups.hpp"
#endif
#ifdef AMK_TENSOR_MEMORY
#include "ptx/tensor_memory.hpp"
#endif

#ifdef AMK_VM
// All that is known of it is the name of its kernel.
#include "../platform.cuh"
#include AMK_VM
#else
#include "../vm.cuh"
#endif

namespace shim {

#ifdef AMK_VM
bool takes(unsigned, std::size_t) { return true; }
void megakernel(const amk_program_t& program, unsigned char*, std::uint32_t) { amk_megakernel(program); }
#else
bool takes(unsigned threads, std::size_t shared_bytes) { return shared_bytes >= AMK_SHARED_BYTES(threads) && threads % AMK_WARP == 0; }
void megakernel(const amk_program_t& program, unsigned char* states, std::uint32_t delays) { amk_vm(program, states, delays, nullptr); }
#endif

}  // namespace shim
