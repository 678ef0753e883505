// What matrix units are asked, and copies that go on beside the threads: in PTX, or on the CPU as that is emulated. What else only one kind of machine knows
// stands in platform.cuh.
#pragma once

#include "numeric.cuh"

#ifdef AMK_HOST
#include "host/tensor.hpp"
#else

#if __CUDA_ARCH__ < 800
#error "AMK_TENSOR_CORES needs compute capability 8.0 or more"
#endif

// An address in shared memory as PTX wants it.
AMK_DEVICE amk_u32 amk_shared_address(const void* in_shared) {
    return amk_u32(__cvta_generic_to_shared(in_shared));
}

// Begins a copy of 16 bytes to shared memory; of zeros, where there is nothing to copy.
AMK_DEVICE void amk_copy_begin(amk_u8* to, const amk_u8* from, bool there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 : : "r"(amk_shared_address(to)), "l"(from), "r"(there ? 16 : 0) : "memory");
}

// Ends a stage of copies.
AMK_DEVICE void amk_copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most one stage of this thread is under way.
AMK_DEVICE void amk_copy_wait() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }

// Four matrices of 8 rows of 16 bytes. Lanes 8 i to 8 i + 7 name the rows of matrix i; each lane gets word l % 4 of row l / 4 of each.
AMK_DEVICE void amk_load_matrices(amk_u32* words, const amk_u8* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(amk_shared_address(row))
                 : "memory");
}

// sums += a b, of 16 by 16 and 16 by 8.
template <int DTYPE>
AMK_DEVICE void amk_multiply_fragments(float* sums, const amk_u32* a, const amk_u32* b) {
    if constexpr (DTYPE == AMK_DTYPE_F16) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    } else {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
}

// The code in F16 of a number that F16 has.
AMK_DEVICE amk_u16 amk_to_half(float value) {
    amk_u16 code;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(code) : "f"(value));
    return code;
}

// sums += a b, of 16 by 8 and 8 by 8. To matrix units these numbers of binary32 are TF32, which has 10 bits of a fraction: who calls this has
// no more of them, so that nothing is cut off.
AMK_DEVICE void amk_multiply_short(float* sums, const amk_u32* a, const amk_u32* b) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif
