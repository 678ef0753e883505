// Instructions of tensor memory, by the switches of tensor_memory.cu, which includes this file.
#pragma once

// Both by a whole warp.
__device__ __forceinline__ void allocate(unsigned to, unsigned columns) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;\n" ::"r"(to), "r"(columns) : "memory");
}
__device__ __forceinline__ void deallocate(unsigned tensor, unsigned columns) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;\n" ::"r"(tensor), "r"(columns) : "memory");
}
__device__ __forceinline__ void relinquish() { asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n" ::: "memory"); }

// Ordinary stores to shared memory go before what the matrix units read of it, which they do by another proxy.
__device__ __forceinline__ void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory"); }

// What this thread did with tensor memory goes before the barrier that follows, or behind the one before.
__device__ __forceinline__ void fence_before() { asm volatile("tcgen05.fence::before_thread_sync;\n" ::: "memory"); }
__device__ __forceinline__ void fence_after() { asm volatile("tcgen05.fence::after_thread_sync;\n" ::: "memory"); }

__device__ __forceinline__ void wait_loads() { asm volatile("tcgen05.wait::ld.sync.aligned;\n" ::: "memory"); }
__device__ __forceinline__ void wait_stores() { asm volatile("tcgen05.wait::st.sync.aligned;\n" ::: "memory"); }

// One arrival when all products that this thread has begun are there.
__device__ __forceinline__ void commit(unsigned barrier) {
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];\n" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void barrier_begin(unsigned barrier, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(barrier), "r"(count) : "memory");
}
__device__ __forceinline__ void barrier_end(unsigned barrier) { asm volatile("mbarrier.inval.shared::cta.b64 [%0];\n" ::"r"(barrier) : "memory"); }
__device__ __forceinline__ void barrier_wait(unsigned barrier, unsigned parity) {
    unsigned done = 0;
    while (done == 0) {
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}\n" : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    }
}

// Whether this thread is the one that multiplies.
__device__ __forceinline__ bool issues() {
#if TENSOR_ISSUER == 1
    if (threadIdx.x >= 32) return false;
    unsigned elected;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}\n" : "=r"(elected)::"memory");
    return elected != 0;
#elif TENSOR_ISSUER == 2
    return threadIdx.x == blockDim.x - 1;
#else
    return threadIdx.x == 0;
#endif
}

#if TENSOR_A_MEMORY
typedef unsigned a_operand_t;
#define A_TEXT "[%1]"
#define A_CONSTRAINT "r"
#else
typedef unsigned long long a_operand_t;
#define A_TEXT "%1"
#define A_CONSTRAINT "l"
#endif
#if TENSOR_MASKED
#define MASK_TEXT "{%5, %6, %7, %8}, "
#define MASK_OPERANDS , "r"(mask[0]), "r"(mask[1]), "r"(mask[2]), "r"(mask[3])
#else
#define MASK_TEXT ""
#define MASK_OPERANDS
#endif

#define MULTIPLY(KIND)                                                                                                          \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\n"                                                                    \
                 "tcgen05.mma.cta_group::1.kind::" KIND " [%0], " A_TEXT ", %2, %3, " MASK_TEXT "p;\n}\n"                       \
                 ::"r"(d), A_CONSTRAINT(a), "l"(b), "r"(instruction), "r"(accumulate) MASK_OPERANDS : "memory")

// d = A B, and d += A B if `accumulate` is not 0, by one thread.
template <int Kind>
__device__ __forceinline__ void multiply(unsigned d, a_operand_t a, unsigned long long b, unsigned instruction, unsigned accumulate, const unsigned (&mask)[4]) {
    if constexpr (Kind == KIND_F16) MULTIPLY("f16");
    else if constexpr (Kind == KIND_F8) MULTIPLY("f8f6f4");
    else MULTIPLY("tf32");
}

// Registers by number, from the first of an asm.
#define LIST_1 "%0"
#define LIST_2 LIST_1 ", %1"
#define LIST_4 LIST_2 ", %2, %3"
#define LIST_8 LIST_4 ", %4, %5, %6, %7"
#define LIST_16 LIST_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define LIST_32 LIST_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define LIST_64 LIST_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, " \
                        "%56, %57, %58, %59, %60, %61, %62, %63"
#define LIST_128 LIST_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, " \
                         "%88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, "    \
                         "%110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define OUT_1(i) "=r"(r[i])
#define OUT_2(i) OUT_1(i), OUT_1(i + 1)
#define OUT_4(i) OUT_2(i), OUT_2(i + 2)
#define OUT_8(i) OUT_4(i), OUT_4(i + 4)
#define OUT_16(i) OUT_8(i), OUT_8(i + 8)
#define OUT_32(i) OUT_16(i), OUT_16(i + 16)
#define OUT_64(i) OUT_32(i), OUT_32(i + 32)
#define OUT_128(i) OUT_64(i), OUT_64(i + 64)
#define IN_1(i) "r"(r[i])
#define IN_2(i) IN_1(i), IN_1(i + 1)
#define IN_4(i) IN_2(i), IN_2(i + 2)
#define IN_8(i) IN_4(i), IN_4(i + 4)
#define JOIN_AGAIN(a, b) a##b
#define JOIN(a, b) JOIN_AGAIN(a, b)
#define TEXT_AGAIN(a) #a
#define TEXT(a) TEXT_AGAIN(a)

// Of a shape: its name, the registers that a thread has of .x1, and the columns. .16x32bx2 has two halves, the second right behind the first.
#if TENSOR_LD == 32
#define LD_SHAPE "32x32b"
#define LD_COVER TENSOR_LD_NUM
#define LD_HALF ""
#elif TENSOR_LD == 64
#define LD_SHAPE "16x64b"
#define LD_COVER (2 * TENSOR_LD_NUM)
#define LD_HALF ""
#elif TENSOR_LD == 128
#define LD_SHAPE "16x128b"
#define LD_COVER (4 * TENSOR_LD_NUM)
#define LD_HALF ""
#elif TENSOR_LD == 256
#define LD_SHAPE "16x256b"
#define LD_COVER (8 * TENSOR_LD_NUM)
#define LD_HALF ""
#else
#define LD_SHAPE "16x32bx2"
#define LD_COVER (2 * TENSOR_LD_NUM)
#define LD_HALF ", " TEXT(TENSOR_LD_NUM)
#endif
static_assert(N % LD_COVER == 0, "loads of whole columns");

#if TENSOR_LD == 128
#define LD_SCALE 2
#elif TENSOR_LD == 256
#define LD_SCALE 4
#else
#define LD_SCALE 1
#endif
#if TENSOR_LD_NUM * LD_SCALE == 1
#define LD_REGISTERS 1
#elif TENSOR_LD_NUM * LD_SCALE == 2
#define LD_REGISTERS 2
#elif TENSOR_LD_NUM * LD_SCALE == 4
#define LD_REGISTERS 4
#elif TENSOR_LD_NUM * LD_SCALE == 8
#define LD_REGISTERS 8
#elif TENSOR_LD_NUM * LD_SCALE == 16
#define LD_REGISTERS 16
#elif TENSOR_LD_NUM * LD_SCALE == 32
#define LD_REGISTERS 32
#elif TENSOR_LD_NUM * LD_SCALE == 64
#define LD_REGISTERS 64
#elif TENSOR_LD_NUM * LD_SCALE == 128
#define LD_REGISTERS 128
#endif

__device__ __forceinline__ void load_sums(unsigned (&r)[LD_REGISTERS], unsigned from) {
    asm volatile("tcgen05.ld.sync.aligned." LD_SHAPE ".x" TEXT(TENSOR_LD_NUM) ".b32 {" JOIN(LIST_, LD_REGISTERS) "}, [%" TEXT(LD_REGISTERS) "]" LD_HALF ";\n"
                 : JOIN(OUT_, LD_REGISTERS)(0)
                 : "r"(from)
                 : "memory");
}

// The same of stores, each of the 8 columns that an instruction takes of A.
#if TENSOR_ST == 32
#define ST_SHAPE "32x32b.x8"
#define ST_REGISTERS 8
#define ST_HALF ""
#elif TENSOR_ST == 64
#define ST_SHAPE "16x64b.x4"
#define ST_REGISTERS 4
#define ST_HALF ""
#elif TENSOR_ST == 128
#define ST_SHAPE "16x128b.x2"
#define ST_REGISTERS 4
#define ST_HALF ""
#elif TENSOR_ST == 256
#define ST_SHAPE "16x256b.x1"
#define ST_REGISTERS 4
#define ST_HALF ""
#else
#define ST_SHAPE "16x32bx2.x4"
#define ST_REGISTERS 4
#define ST_HALF ", 4"
#endif

__device__ __forceinline__ void store_words(unsigned to, const unsigned (&r)[ST_REGISTERS]) {
    asm volatile("tcgen05.st.sync.aligned." ST_SHAPE ".b32 [%" TEXT(ST_REGISTERS) "]" ST_HALF ", {" JOIN(LIST_, ST_REGISTERS) "};\n" ::JOIN(IN_, ST_REGISTERS)(0), "r"(to)
                 : "memory");
}
#if TENSOR_STAGED
// Each half of a word to a cell of its own, and back.
__device__ __forceinline__ void store_unpacked(unsigned to, const unsigned (&r)[ST_REGISTERS]) {
    asm volatile("tcgen05.st.sync.aligned." ST_SHAPE ".unpack::16b.b32 [%" TEXT(ST_REGISTERS) "], {" JOIN(LIST_, ST_REGISTERS) "};\n" ::JOIN(IN_, ST_REGISTERS)(0), "r"(to)
                 : "memory");
}
__device__ __forceinline__ void load_packed(unsigned (&r)[ST_REGISTERS], unsigned from) {
    asm volatile("tcgen05.ld.sync.aligned." ST_SHAPE ".pack::16b.b32 {" JOIN(LIST_, ST_REGISTERS) "}, [%" TEXT(ST_REGISTERS) "];\n"
                 : JOIN(OUT_, ST_REGISTERS)(0)
                 : "r"(from)
                 : "memory");
}
#endif

// Lane, from the first one that a warp accesses, and column of a register, for each of the shapes.
template <int Shape>
__device__ __forceinline__ int lane_of(int thread, int i) {
    if constexpr (Shape == 32) return thread;
    else if constexpr (Shape == 64) return thread / 4 + thread % 2 * 8;
    else if constexpr (Shape == 128) return thread / 4 + i % 2 * 8;
    else if constexpr (Shape == 256) return thread / 4 + i / 2 % 2 * 8;
    else return thread % 16;
}
template <int Shape>
__device__ __forceinline__ int column_of(int thread, int i, int half) {
    if constexpr (Shape == 32) return i;
    else if constexpr (Shape == 64) return 2 * i + thread / 2 % 2;
    else if constexpr (Shape == 128) return i / 2 * 4 + thread % 4;
    else if constexpr (Shape == 256) return i / 4 * 8 + thread % 4 * 2 + i % 2;
    else return thread / 16 * half + i;
}
