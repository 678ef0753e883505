// GEMM_TILE on Blackwell's matrix units: tcgen05.mma of one CTA into tensor memory, with operands that ordinary stores laid down in shared memory as a
// matrix descriptor says, or with A in tensor memory. Compile for sm_100a; give --threads 128 or more, and declare --accumulator truncating.
//
// switch                 values                            what
//  TENSOR_M              64, 128                           M of the instruction
//  TENSOR_N              8, 16, 24 ... 256                 N of the instruction; with M = 128 multiples of 16, unless TENSOR_ODD_N is defined
//  TENSOR_A_LAYOUT       8, 16, 32, 64, 128, 132           how A lies in shared memory: 8x8 matrices in blocks, or in strips; a swizzle of 32, 64 or 128
//  TENSOR_B_LAYOUT                                         bytes; 132 is that of 128 bytes which moves 32 at once
//  TENSOR_A_MAJOR        0, 1                              K-major, or M-major
//  TENSOR_B_MAJOR        0, 1                              K-major, or N-major
//  TENSOR_A_MEMORY       0, 1                              A comes from shared memory, or from tensor memory
//  TENSOR_ST             32, 64, 128, 256, 2               how A is stored there: .32x32b, .16x64b, .16x128b, .16x256b, .16x32bx2
//  TENSOR_STAGED         0, 1                              1: A goes through tensor memory a first time, an element of 16 bits to a cell
//  TENSOR_LD             32, 64, 128, 256, 2               how sums are loaded, the same shapes
//  TENSOR_LD_NUM         1, 2, 4 ... 128                   .x1 ... .x128
//  TENSOR_ACCUMULATORS   1, 2                              2: the sums of a tile are loaded while the next one is multiplied
//  TENSOR_INTERLEAVED    0, 1                              1, for M = 64: two accumulators have the same columns, one in lanes 0-15 of 32, one in 16-31
//  TENSOR_KIND           0, 1                              0: F16 and BF16 by kind::f16, 8-bit floats by kind::f8f6f4; 1: all of them widened, by kind::tf32
//  TENSOR_NEGATED        0 ... 3                           bit 0: A is laid down negated and negated again by the instruction; bit 1: B
//  TENSOR_MASKED         0, 1                              1: lanes of rows behind the tile are not written
//  TENSOR_ISSUER         0, 1, 2                           who multiplies: the first thread, one that warp 0 elects, the last thread
//  TENSOR_RELINQUISH     0, 1                              1: gives up the right to allocate. Only for launches in which a block runs one such task
//
// Columns are allocated for each task, always as many: within a block allocations must not grow.
#include "task.cuh"
#include "ops/gemm_tile.cuh"

#if defined(AMK_HOST) || defined(__CUDA_ARCH_FEAT_SM100_ALL)

#ifndef TENSOR_M
#define TENSOR_M 128
#endif
#ifndef TENSOR_N
#define TENSOR_N 64
#endif
#ifndef TENSOR_A_LAYOUT
#define TENSOR_A_LAYOUT 128
#endif
#ifndef TENSOR_B_LAYOUT
#define TENSOR_B_LAYOUT 128
#endif
#ifndef TENSOR_A_MAJOR
#define TENSOR_A_MAJOR 0
#endif
#ifndef TENSOR_B_MAJOR
#define TENSOR_B_MAJOR 0
#endif
#ifndef TENSOR_A_MEMORY
#define TENSOR_A_MEMORY 0
#endif
#ifndef TENSOR_ST
#define TENSOR_ST 32
#endif
#ifndef TENSOR_STAGED
#define TENSOR_STAGED 0
#endif
#ifndef TENSOR_LD
#define TENSOR_LD 32
#endif
#ifndef TENSOR_LD_NUM
#define TENSOR_LD_NUM 8
#endif
#ifndef TENSOR_ACCUMULATORS
#define TENSOR_ACCUMULATORS 2
#endif
#ifndef TENSOR_INTERLEAVED
#define TENSOR_INTERLEAVED 0
#endif
#ifndef TENSOR_KIND
#define TENSOR_KIND 0
#endif
#ifndef TENSOR_NEGATED
#define TENSOR_NEGATED 0
#endif
#ifndef TENSOR_MASKED
#define TENSOR_MASKED 0
#endif
#ifndef TENSOR_ISSUER
#define TENSOR_ISSUER 0
#endif
#ifndef TENSOR_RELINQUISH
#define TENSOR_RELINQUISH 0
#endif

enum { BLOCKS = 8, STRIPS = 16, SWIZZLED_32 = 32, SWIZZLED_64 = 64, SWIZZLED_128 = 128, SWIZZLED_128_BY_32 = 132 };
enum { KIND_F16, KIND_F8, KIND_TF32 };

#define WARPGROUP 128
#define ALIGNMENT 1024
// The first bytes of scratch: four mbarriers, and where tensor memory was allocated.
#define STAGE_READ 0
#define SUMS_READY 16
#define ALLOCATED 32
#define SLOTS 64
#define ROOM (48 * 1024 - AMK_CONTROL_BYTES - SLOTS - ALIGNMENT)

constexpr int M = TENSOR_M, N = TENSOR_N;
constexpr bool FROM_TENSOR = TENSOR_A_MEMORY;
constexpr bool A_TRANSPOSED = TENSOR_A_MAJOR, B_TRANSPOSED = TENSOR_B_MAJOR;
constexpr int ACCUMULATORS = TENSOR_ACCUMULATORS;

static_assert(M == 64 || M == 128, "M of one CTA");
static_assert(N % 8 == 0 && N >= 8 && N <= 256, "N of one CTA");
#ifndef TENSOR_ODD_N
static_assert(M == 64 || N % 16 == 0, "the manual allows it, NVIDIA's own library does not");
#endif
static_assert(!FROM_TENSOR || !A_TRANSPOSED, "a row of A lies in a lane");
static_assert(!TENSOR_INTERLEAVED || (M == 64 && ACCUMULATORS == 2), "two halves of the lanes");
static_assert(!TENSOR_INTERLEAVED || (TENSOR_LD != 32 && (TENSOR_ST != 32 || !FROM_TENSOR)), "one half at a time");
static_assert(!TENSOR_STAGED || (FROM_TENSOR && TENSOR_ST != 2), "A is staged on its way to tensor memory");

// Bytes of a line that a swizzle permutes.
__device__ constexpr int line_bytes(int layout) { return layout == SWIZZLED_128_BY_32 ? 128 : layout; }

// Bytes along K of a stage, and how many stages there are: with two, one is laid down while the matrix units still read the other.
__device__ constexpr int round_up(int n, int to) { return (n + to - 1) / to * to; }
__device__ constexpr int b_bytes(int line) { return round_up(N * line, ALIGNMENT); }
__device__ constexpr int a_bytes(int line) { return FROM_TENSOR ? 0 : M * line; }
constexpr int SUM_COLUMNS = TENSOR_INTERLEAVED ? N : ACCUMULATORS * N;
constexpr int STAGING_COLUMNS = TENSOR_STAGED ? 16 : 0;
__device__ constexpr bool fits(int stages, int line) {
    if (!FROM_TENSOR && !A_TRANSPOSED && TENSOR_A_LAYOUT > STRIPS && line % line_bytes(TENSOR_A_LAYOUT) != 0) return false;
    if (!B_TRANSPOSED && TENSOR_B_LAYOUT > STRIPS && line % line_bytes(TENSOR_B_LAYOUT) != 0) return false;
    if (FROM_TENSOR && SUM_COLUMNS + STAGING_COLUMNS + stages * line / 4 > 512) return false;
    return stages * (a_bytes(line) + b_bytes(line)) <= ROOM;
}
constexpr int STAGES = fits(2, 128) || fits(2, 64) || fits(2, 32) ? 2 : 1;
constexpr int LINE = fits(STAGES, 128) ? 128 : fits(STAGES, 64) ? 64 : fits(STAGES, 32) ? 32 : 0;
static_assert(LINE > 0, "no room for a stage");
constexpr int A_BYTES = a_bytes(LINE), STAGE_BYTES = A_BYTES + b_bytes(LINE);
// What an instruction takes along K, in bytes of shared memory and columns of tensor memory.
constexpr int PART = 32, PART_COLUMNS = 8;
constexpr int STAGING_AT = SUM_COLUMNS, A_AT = STAGING_AT + STAGING_COLUMNS;
constexpr int USED_COLUMNS = A_AT + (FROM_TENSOR ? STAGES * LINE / 4 : 0);
static_assert(USED_COLUMNS <= 512, "all columns there are");
constexpr int COLUMNS = USED_COLUMNS <= 32 ? 32 : USED_COLUMNS <= 64 ? 64 : USED_COLUMNS <= 128 ? 128 : USED_COLUMNS <= 256 ? 256 : 512;

template <int Kind>
constexpr int BYTES = Kind == KIND_F16 ? 2 : Kind == KIND_F8 ? 1 : 4;

// Whether an operand of a kind can lie so.
__device__ constexpr bool lies(int kind, int bytes, int layout, bool transposed, int rows) {
    if (layout == SWIZZLED_128_BY_32 || (kind == KIND_TF32 && transposed)) return kind == KIND_TF32 && transposed && layout == SWIZZLED_128_BY_32 && rows % 32 == 0;
    if (transposed && kind == KIND_F8 && rows % 16 != 0) return false;
    return !transposed || rows * bytes % (layout > STRIPS ? layout : 16) == 0;
}
template <int Kind>
constexpr bool POSSIBLE = (FROM_TENSOR || lies(Kind, BYTES<Kind>, TENSOR_A_LAYOUT, A_TRANSPOSED, M)) && lies(Kind, BYTES<Kind>, TENSOR_B_LAYOUT, B_TRANSPOSED, N);
static_assert(POSSIBLE<TENSOR_KIND ? KIND_TF32 : KIND_F16>, "no such layout of the operands");

#include "tensor_memory.cuh"

// ---------------------------------------------------------------------------------------------------------------- operands

// Where an element lies, in bytes from the first of its tile, which has so many rows along M or N and LINE bytes along K.
template <int Layout, bool Transposed, int Bytes>
__device__ __forceinline__ int place(int row, int k, int rows) {
    constexpr int TILE_K = LINE / Bytes, WIDTH = line_bytes(Layout);
    if constexpr (Layout <= STRIPS && !Transposed) {
        // Matrices of 8 rows of 16 bytes.
        const int column = k * Bytes, within = row % 8 * 16 + column % 16;
        return Layout == STRIPS ? column / 16 * rows * 16 + row / 8 * 128 + within : row / 8 * LINE * 8 + column / 16 * 128 + within;
    } else if constexpr (Layout <= STRIPS) {
        // The same, of 8 columns of K, each of 16 bytes along M or N.
        const int column = row * Bytes, within = k % 8 * 16 + column % 16;
        return Layout == STRIPS ? k / 8 * rows * Bytes * 8 + column / 16 * 128 + within : column / 16 * TILE_K * 16 + k / 8 * 128 + within;
    } else {
        // Lines of so many bytes, as many as the minor side is long; then the next such panel.
        const int line = Transposed ? k : row, lines = Transposed ? TILE_K : rows, column = Bytes * (Transposed ? row : k);
        const int plain = column / WIDTH * lines * WIDTH + line * WIDTH + column % WIDTH;
        // Chunks of 16 bytes change places by the number of their line of 128 bytes, or chunks of 32.
        if constexpr (Layout == SWIZZLED_128_BY_32) return plain ^ (plain >> 2 & 0x60);
        return plain ^ (plain >> 3 & (WIDTH - 16));
    }
}

__device__ __forceinline__ unsigned long long encode(unsigned bytes) { return (bytes & 0x3ffff) >> 4; }

// The descriptor of what begins at `start`. Tiles lie at multiples of what a swizzle repeats in, so the base offset is 0.
template <int Layout, bool Transposed, int Bytes>
__device__ __forceinline__ unsigned long long describe(unsigned start, int rows) {
    constexpr int TILE_K = LINE / Bytes, WIDTH = line_bytes(Layout);
    unsigned leading, stride;
    if constexpr (Layout == STRIPS) {
        // Without a swizzle: from 16 bytes, or 8 columns, to the next along K, and from 8 rows, or 16 bytes, to the next along M or N.
        leading = Transposed ? rows * Bytes * 8 : rows * 16;
        stride = 128;
    } else if constexpr (Layout == BLOCKS) {
        leading = 128;
        stride = Transposed ? TILE_K * 16 : LINE * 8;
    } else if constexpr (Transposed) {
        // From panel to panel along M or N, and along K by as many lines as the swizzle repeats in.
        leading = TILE_K * WIDTH;
        stride = (Layout == SWIZZLED_128_BY_32 ? 4 : 8) * WIDTH;
    } else {
        // An instruction never leaves a panel along K, so the first is not looked at.
        leading = 16;
        stride = 8 * WIDTH;
    }
    const unsigned long long swizzle = Layout == SWIZZLED_128 ? 2 : Layout == SWIZZLED_64 ? 4 : Layout == SWIZZLED_32 ? 6 : Layout == SWIZZLED_128_BY_32 ? 1 : 0;
    return encode(start) | encode(leading) << 16 | encode(stride) << 32 | 1ull << 46 | swizzle << 61;
}

// What is multiplied, for all instructions of a task.
template <int Kind>
__device__ __forceinline__ unsigned format(int dtype) {
    if constexpr (Kind == KIND_F16) return dtype == AMK_DTYPE_BF16 ? 1 : 0;
    else if constexpr (Kind == KIND_F8) return dtype == AMK_DTYPE_F8E5M2 ? 1 : 0;
    else return 2;
}
template <int Kind>
__device__ __forceinline__ unsigned instruct(int a, int b) {
    unsigned bits = 1u << 4;                                  // sums of F32
    bits |= format<Kind>(a) << 7;
    bits |= format<Kind>(b) << 10;
    bits |= (TENSOR_NEGATED & 1u) << 13;
    bits |= (TENSOR_NEGATED >> 1 & 1u) << 14;
    bits |= (A_TRANSPOSED ? 1u : 0u) << 15;
    bits |= (B_TRANSPOSED ? 1u : 0u) << 16;
    bits |= unsigned(N >> 3) << 17;
    bits |= unsigned(M >> 4) << 24;
    return bits;
}

// An element's bits, and zero where nothing is there.
template <int Kind, bool Negated>
__device__ __forceinline__ unsigned element(const amk_buffer_t& from, amk_i64 row, amk_i64 end, amk_i64 k, amk_i64 K) {
    unsigned bits = 0;
    if (row < end && k < K) {
        if constexpr (Kind == KIND_F16) bits = static_cast<const unsigned short*>(from.ptr)[row * K + k];
        else if constexpr (Kind == KIND_F8) bits = static_cast<const unsigned char*>(from.ptr)[row * K + k];
        else bits = __float_as_uint(amk_load(from, row * K + k));
    }
    return Negated ? bits ^ 1u << (8 * BYTES<Kind> - 1) : bits;
}

// Rows from `first` and columns from `k0` to shared memory, by all threads.
template <int Kind, int Layout, bool Transposed, bool Negated>
__device__ void lay(char* to, int rows, const amk_buffer_t& from, amk_i64 first, amk_i64 end, amk_i64 k0, amk_i64 K) {
    constexpr int TILE_K = LINE / BYTES<Kind>;
    for (int i = threadIdx.x; i < rows * TILE_K; i += blockDim.x) {
        const int row = i / TILE_K, k = i % TILE_K;
        const unsigned bits = element<Kind, Negated>(from, first + row, end, k0 + k, K);
        char* at = to + place<Layout, Transposed, BYTES<Kind>>(row, k, rows);
        if constexpr (Kind == KIND_F16) *reinterpret_cast<unsigned short*>(at) = (unsigned short)bits;
        else if constexpr (Kind == KIND_F8) *reinterpret_cast<unsigned char*>(at) = (unsigned char)bits;
        else *reinterpret_cast<unsigned*>(at) = bits;
    }
}

// The row of the tile that lies in a lane, from `quarter`, `half` of it and the lane in that; -1 if none does.
template <int Shape>
__device__ __forceinline__ int row_of(int quarter, int half, int lane) {
    if (M == 128) return quarter * 32 + half * 16 + lane;
    return lane < 16 ? quarter * 16 + lane : -1;
}
// With 16 lanes at once, all 32 of a quarter take two of them.
template <int Shape>
constexpr int HALVES = M == 128 && Shape != 32 ? 2 : 1;

// Tensor memory of an accumulator, and the first lane of what goes with it.
__device__ __forceinline__ unsigned sums_of(unsigned tensor, int accumulator) {
    return TENSOR_INTERLEAVED ? tensor + (unsigned(accumulator) << 20) : tensor + accumulator * N;
}
__device__ __forceinline__ unsigned first_lane(int accumulator) { return TENSOR_INTERLEAVED ? unsigned(accumulator) << 20 : 0; }

// The same columns of A to tensor memory, by the first four warps. A word has what fits of a row.
template <int Kind>
__device__ void lay_tensor(unsigned tensor, unsigned to, const amk_buffer_t& from, amk_i64 first, amk_i64 end, amk_i64 k0, amk_i64 K) {
    constexpr int EACH = 4 / BYTES<Kind>;
    const int quarter = threadIdx.x / 32 % 4, thread = threadIdx.x % 32;
    for (int part = 0; part < LINE / PART; ++part) {
        for (int half = 0; half < HALVES<TENSOR_ST>; ++half) {
            unsigned words[ST_REGISTERS];
#pragma unroll
            for (int i = 0; i < ST_REGISTERS; ++i) {
                const int row = row_of<TENSOR_ST>(quarter, half, lane_of<TENSOR_ST>(thread, i));
                const int column = part * PART_COLUMNS + column_of<TENSOR_ST>(thread, i, 4);
                words[i] = 0;
                for (int e = 0; e < EACH; ++e) {
                    const unsigned bits = element<Kind, (TENSOR_NEGATED & 1) != 0>(from, row < 0 ? end : first + row, end, k0 + column * EACH + e, K);
                    words[i] |= bits << (8 * BYTES<Kind> * e);
                }
            }
            const unsigned lanes = unsigned(quarter * 32 + half * 16) << 16;
            // Lanes that found nothing there, and those that did, come together for what a warp does as one.
            __syncwarp();
#if TENSOR_STAGED
            store_unpacked(tensor + STAGING_AT + lanes, words);
            wait_stores();
            load_packed(words, tensor + STAGING_AT + lanes);
            wait_loads();
#endif
            store_words(to + part * PART_COLUMNS + lanes, words);
        }
    }
    wait_stores();
}

// ---------------------------------------------------------------------------------------------------------------- the task

// The sums of a tile to the output, by all whole warpgroups.
__device__ void finish(unsigned tensor, unsigned slots, int tile, const amk_program_t& program, const amk_instruction_t& task, amk_i64 m0, amk_i64 n0) {
    const amk_buffer_t& y = amk_output(program, task, 0);
    const amk_i64 m_end = task.params.m_off + task.params.M_tile, n_end = task.params.n_off + task.params.N_tile, width = amk_last(y);
    const int accumulator = tile % ACCUMULATORS, quarter = threadIdx.x / 32 % 4, thread = threadIdx.x % 32;
    const int groups = blockDim.x / WARPGROUP, group = threadIdx.x / WARPGROUP;
    barrier_wait(slots + SUMS_READY + 8 * accumulator, tile / ACCUMULATORS & 1);
    fence_after();
    for (int column = group * LD_COVER; column < N && group < groups; column += groups * LD_COVER) {
        for (int half = 0; half < HALVES<TENSOR_LD>; ++half) {
            unsigned sums[LD_REGISTERS];
            __syncwarp();
            load_sums(sums, sums_of(tensor, accumulator) + column + (unsigned(quarter * 32 + half * 16) << 16));
            wait_loads();
#pragma unroll
            for (int i = 0; i < LD_REGISTERS; ++i) {
                // Keeps the compiler from looking at a register before the wait.
                asm volatile("" : "+r"(sums[i])::"memory");
                const int row = row_of<TENSOR_LD>(quarter, half, lane_of<TENSOR_LD>(thread, i));
                const amk_i64 m = m0 + row, n = n0 + column + column_of<TENSOR_LD>(thread, i, TENSOR_LD_NUM);
                if (row < 0 || m >= m_end || n >= n_end) continue;
                const float sum = __uint_as_float(sums[i]);
                amk_store(y, m * width + n, task.n_inputs > 2 ? sum + amk_load(amk_input(program, task, 2), n) : sum);
            }
        }
    }
}

template <int Kind>
__device__ void multiply_tiles(const amk_program_t& program, const amk_instruction_t& task) {
    constexpr int PART_K = PART / BYTES<Kind>, TILE_K = LINE / BYTES<Kind>;
    constexpr bool A_NEGATED = (TENSOR_NEGATED & 1) != 0, B_NEGATED = (TENSOR_NEGATED & 2) != 0;
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1);
    const amk_i64 K = task.params.K;
    const amk_i64 m_end = task.params.m_off + task.params.M_tile, n_end = task.params.n_off + task.params.N_tile;
    const int steps = int((K + TILE_K - 1) / TILE_K);
    const unsigned slots = unsigned(__cvta_generic_to_shared(amk_scratch())), room_at = (slots + SLOTS + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char* room = reinterpret_cast<char*>(amk_scratch()) + (room_at - slots);
    if (threadIdx.x < 32) {
        allocate(slots + ALLOCATED, COLUMNS);
        if (TENSOR_RELINQUISH) relinquish();
    }
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; ++i) barrier_begin(slots + STAGE_READ + 8 * i, 1);
        for (int i = 0; i < 2; ++i) barrier_begin(slots + SUMS_READY + 8 * i, 1);
    }
    __syncthreads();
    const unsigned tensor = *reinterpret_cast<const volatile unsigned*>(reinterpret_cast<const char*>(amk_scratch()) + ALLOCATED);
    const unsigned instruction = instruct<Kind>(x.dtype, w.dtype);
    int filled = 0, tile = 0;
    amk_i64 m_before = 0, n_before = 0;
    for (amk_i64 m0 = task.params.m_off; m0 < m_end; m0 += M) {
        for (amk_i64 n0 = task.params.n_off; n0 < n_end; n0 += N) {
            const int accumulator = tile % ACCUMULATORS;
            for (int step = 0; step < steps; ++step, ++filled) {
                const amk_i64 k0 = amk_i64(step) * TILE_K;
                const int stage = filled % STAGES;
                // What lay here has been read: the arrival of the products before.
                if (filled >= STAGES) barrier_wait(slots + STAGE_READ + 8 * stage, filled / STAGES - 1 & 1);
                char* a_room = room + stage * STAGE_BYTES;
                char* b_room = a_room + A_BYTES;
                const unsigned a_tensor = tensor + A_AT + stage * (LINE / 4) + first_lane(accumulator);
                if constexpr (!FROM_TENSOR) lay<Kind, TENSOR_A_LAYOUT, A_TRANSPOSED, A_NEGATED>(a_room, M, x, m0, m_end, k0, K);
                lay<Kind, TENSOR_B_LAYOUT, B_TRANSPOSED, B_NEGATED>(b_room, N, w, n0, n_end, k0, K);
                proxy_fence();
                if constexpr (FROM_TENSOR) {
                    fence_after();
                    if (threadIdx.x < WARPGROUP) lay_tensor<Kind>(tensor + first_lane(accumulator), a_tensor, x, m0, m_end, k0, K);
                }
                fence_before();
                __syncthreads();
                if (issues()) {
                    fence_after();
                    unsigned mask[4] = {};
                    for (int lane = 0; TENSOR_MASKED && lane < 128; ++lane) {
                        const int own = M == 128 ? lane : lane % 32 - int(first_lane(accumulator) >> 16);
                        const int row = M == 128 ? lane : lane / 32 * 16 + own;
                        if ((M == 64 && (own < 0 || own >= 16)) || m0 + row >= m_end) mask[lane / 32] |= 1u << lane % 32;
                    }
                    const unsigned a_at = room_at + stage * STAGE_BYTES, b_at = a_at + A_BYTES;
                    for (int k = 0; k < TILE_K; k += PART_K) {
                        const unsigned accumulate = step > 0 || k > 0;
                        a_operand_t a;
                        if constexpr (FROM_TENSOR) a = a_tensor + k / PART_K * PART_COLUMNS;
                        else a = describe<TENSOR_A_LAYOUT, A_TRANSPOSED, BYTES<Kind>>(a_at + place<TENSOR_A_LAYOUT, A_TRANSPOSED, BYTES<Kind>>(0, k, M), M);
                        const unsigned long long b = describe<TENSOR_B_LAYOUT, B_TRANSPOSED, BYTES<Kind>>(b_at + place<TENSOR_B_LAYOUT, B_TRANSPOSED, BYTES<Kind>>(0, k, N), N);
                        multiply<Kind>(sums_of(tensor, accumulator), a, b, instruction, accumulate, mask);
                    }
                    commit(slots + STAGE_READ + 8 * stage);
                    if (step == steps - 1) commit(slots + SUMS_READY + 8 * accumulator);
                }
                // Lanes of the warp that multiplies wait for each other before the next instruction of all of them.
                __syncwarp();
            }
            // With two accumulators, while the matrix units are at this tile, the sums of the one before.
            if (ACCUMULATORS == 1) finish(tensor, slots, tile, program, task, m0, n0);
            else if (tile > 0) finish(tensor, slots, tile - 1, program, task, m_before, n_before);
            m_before = m0;
            n_before = n0;
            ++tile;
        }
    }
    if (ACCUMULATORS == 2 && tile > 0) finish(tensor, slots, tile - 1, program, task, m_before, n_before);
    // Each mbarrier has had its last arrival.
    for (int stage = 0; stage < STAGES && stage < filled; ++stage) barrier_wait(slots + STAGE_READ + 8 * stage, (filled - stage + STAGES - 1) / STAGES - 1 & 1);
    fence_before();
    __syncthreads();
    if (threadIdx.x < 32) {
        fence_after();
        deallocate(tensor, COLUMNS);
    }
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; ++i) barrier_end(slots + STAGE_READ + 8 * i);
        for (int i = 0; i < 2; ++i) barrier_end(slots + SUMS_READY + 8 * i);
    }
    __syncthreads();
}

template <int Kind>
__device__ void multiply_possible(const amk_program_t& program, const amk_instruction_t& task) {
    if constexpr (POSSIBLE<Kind>) multiply_tiles<Kind>(program, task);
    else amk_op_gemm_tile(program, task);
}

__device__ __forceinline__ bool is_f8(int dtype) { return dtype == AMK_DTYPE_F8E4M3 || dtype == AMK_DTYPE_F8E5M2; }

__device__ void gemm_by_tensor_memory(const amk_program_t& program, const amk_instruction_t& task) {
    const amk_buffer_t &x = amk_input(program, task, 0), &w = amk_input(program, task, 1);
    if (task.params.qdtype != 0 || blockDim.x < WARPGROUP || task.params.K < 1 || x.dtype == AMK_DTYPE_F32 || w.dtype == AMK_DTYPE_F32) amk_op_gemm_tile(program, task);
    else if (TENSOR_KIND == 1) multiply_possible<KIND_TF32>(program, task);
    else if (x.dtype == w.dtype && !is_f8(x.dtype)) multiply_possible<KIND_F16>(program, task);
    else if (is_f8(x.dtype) && is_f8(w.dtype)) multiply_possible<KIND_F8>(program, task);
    else amk_op_gemm_tile(program, task);
}

#define AMK_REPLACE_GEMM_TILE gemm_by_tensor_memory

#endif
