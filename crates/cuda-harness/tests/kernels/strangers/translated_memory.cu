// What instructions of PTX that exchange numbers give, lane by lane, as translated.cu does: shuffles and votes, loads and stores, atomic changes,
// copies beside the threads, barriers in shared memory, and matrices.
#include "task.cuh"

__device__ __forceinline__ int folded(unsigned long long wide) { return int(unsigned(wide) + 0x9e3779b1u * unsigned(wide >> 32)); }

// A number from -3 to 4 as F16.
__device__ __forceinline__ unsigned half_of(unsigned bits) {
    short code;
    asm("cvt.rn.f16.s32 %0, %1;" : "=h"(code) : "r"(int(bits & 7) - 3));
    return code & 0xffffu;
}
__device__ __forceinline__ unsigned halves_of(unsigned bits) { return half_of(bits) | half_of(bits >> 16) << 16; }
__device__ __forceinline__ unsigned brains_of(unsigned bits) {
    return __float_as_uint(float(int(bits & 7) - 3)) >> 16 | __float_as_uint(float(int(bits >> 16 & 7) - 3));
}
__device__ __forceinline__ unsigned single_of(unsigned bits) { return __float_as_uint(float(int(bits & 7) - 3)); }

__device__ void translated_memory(const amk_program_t& program, const amk_instruction_t& task) {
    const int* x = static_cast<const int*>(amk_input(program, task, 0).ptr);
    int* y = static_cast<int*>(amk_output(program, task, 0).ptr);
    if (threadIdx.x >= 32) return;
    const int lane = threadIdx.x, v = x[lane], w = int(unsigned(v) * 0x9e3779b1u + unsigned(lane));
    const auto put = [&](int value) {
        y[lane] = value;
        y += 32;
    };
    const unsigned u = unsigned(v), t = unsigned(w), third = lane % 3 == 0 ? 0x49249249u : lane % 3 == 1 ? 0x92492492u : 0x24924924u;
    const long long l = (static_cast<long long>(w) << 32) | u, m = (static_cast<long long>(v) << 32) | t;
    int r, r1, r2, r3;
    unsigned s;
    short n, n1;
    float f;
    long long k, k1;

    // Shuffles, with the predicate as a second result.
#define SHUFFLE(MODE, VALUE, PLACE, CLAMP, MASK)                                                                               \
    asm volatile("{\n\t.reg .pred p;\n\tshfl.sync." MODE ".b32 %0|p, %2, %3, %4, %5;\n\tselp.s32 %1, 1, 0, p;\n\t}"            \
                 : "=r"(r), "=r"(s) : "r"(VALUE), "r"(PLACE), "r"(CLAMP), "r"(MASK));                                          \
    put(r);                                                                                                                    \
    put(int(s))
    SHUFFLE("idx", v, lane + 3, 9, 0xffffffffu);
    SHUFFLE("up", v, 3, 0x1800, 0xffffffffu);
    SHUFFLE("down", v, 5, 0x101f, 0xffffffffu);
    SHUFFLE("bfly", v, 6, 0x1c1f, 0xffffffffu);
    SHUFFLE("idx", v, lane % 3, 0x1f, third);
    asm volatile("shfl.sync.down.b32 %0, %1, 1, 31, -1;" : "=r"(r) : "r"(v)); put(r);
    asm volatile("shfl.sync.bfly.b32 %0, %1, 16, 0x1f, 0xffffffff;" : "=f"(f) : "f"(__int_as_float(v))); put(__float_as_int(f));

    // Votes.
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 7; vote.sync.all.pred q, p, %2; selp.s32 %0, 1, 0, q; }" : "=r"(r) : "r"(lane), "r"(third));
    put(r);
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 7; vote.sync.any.pred q, !p, %2; selp.s32 %0, 1, 0, q; }" : "=r"(r) : "r"(lane), "r"(third));
    put(r);
    asm volatile("{ .reg .pred p, q; setp.ge.s32 p, %1, 0; vote.sync.uni.pred q, p, %2; selp.s32 %0, 1, 0, q; }"
        : "=r"(r) : "r"(lane % 3 - 1), "r"(third));
    put(r);
    asm volatile("{ .reg .pred p, q; setp.eq.s32 p, %1, 4; vote.sync.uni.pred q, p, -1; selp.s32 %0, 1, 0, q; }" : "=r"(r) : "r"(lane)); put(r);
    asm volatile("{ .reg .pred p; setp.lt.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }" : "=r"(r) : "r"(v)); put(r);
    asm volatile("{ .reg .pred p; setp.lt.s32 p, %1, 0; vote.sync.ballot.b32 %0, !p, %2; }" : "=r"(r) : "r"(v), "r"(third)); put(r);
    asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(r) : "r"(v & 3), "r"(third)); put(r);
    asm volatile("match.any.sync.b64 %0, %1, 0xffffffff;" : "=r"(r) : "l"(static_cast<long long>(v & 1) << 40)); put(r);
    asm volatile("{ .reg .pred p; match.all.sync.b32 %0|p, %2, %3; selp.s32 %1, 1, 0, p; }"
        : "=r"(r), "=r"(s) : "r"(lane % 3 == 1 ? 5 : lane), "r"(third));
    put(r + 2 * int(s));
    asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(v)); put(r);
    asm volatile("redux.sync.min.s32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(third)); put(r);
    asm volatile("redux.sync.max.u32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(third)); put(r);
    asm volatile("redux.sync.and.b32 %0, %1, %2;" : "=r"(r) : "r"(v | 0xff), "r"(third)); put(r);
    asm volatile("redux.sync.or.b32 %0, %1, %2;" : "=r"(r) : "r"(v & 0xff), "r"(third)); put(r);
    asm volatile("redux.sync.xor.b32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(v)); put(r);
    asm volatile("activemask.b32 %0;" : "=r"(s)); put(int(s >> lane & 1));

    // Special registers.
    asm("mov.u32 %0, %%laneid;" : "=r"(r)); put(r);
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(r)); put(r);
    asm("mov.u32 %0, %%lanemask_le;" : "=r"(r)); put(r);
    asm("{ .reg .b32 above; mov.u32 above, %%lanemask_gt; mov.u32 %0, %%lanemask_ge; sub.u32 %0, %0, above; }" : "=&r"(r)); put(r);
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(r)); put(r);
    asm("{ .reg .u32 a, b, c; mov.u32 a, %%tid.x; mov.u32 b, %%ntid.x; mov.u32 c, %%ctaid.x; "
        "mad.lo.u32 a, c, b, a; mov.u32 b, %%tid.y; add.u32 %0, a, b; }"
        : "=r"(r));
    put(r - int(blockIdx.x * blockDim.x));
    asm volatile("{ .reg .u64 a, b; mov.u64 a, %%clock64; mov.u64 b, %%clock64; sub.u64 %0, b, a; }" : "=l"(k)); put(k < 0);

    // Shared memory: 64 bytes of each lane.
    char* const room = reinterpret_cast<char*>(amk_scratch());
    char* const mine = room + 64 * lane;
    const unsigned at = unsigned(__cvta_generic_to_shared(mine));
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" : : "r"(at), "r"(v), "r"(w), "r"(~v), "r"(~w) : "memory");
    asm volatile("ld.shared.s8 %0, [%1+1];" : "=r"(r) : "r"(at) : "memory"); put(r);
    asm volatile("ld.shared.u8 %0, [%1+5];" : "=r"(r) : "r"(at) : "memory"); put(r);
    asm volatile("ld.shared.s16 %0, [%1+6];" : "=r"(r) : "r"(at) : "memory"); put(r);
    asm volatile("ld.shared.u16 %0, [%1 + 10];" : "=r"(r) : "r"(at) : "memory"); put(r);
    asm volatile("ld.shared.b16 %0, [%1+4];" : "=h"(n) : "r"(at) : "memory"); put(n);
    asm volatile("ld.shared::cta.s64 %0, [%1+8];" : "=l"(k) : "r"(at) : "memory"); put(folded(k));
    asm volatile("{ .reg .s32 wide; ld.shared.s32 wide, [%1+-4]; cvt.s64.s32 %0, wide; }" : "=l"(k) : "r"(at + 8) : "memory"); put(folded(k));
    asm volatile("ld.shared.v2.s16 {%0, %1}, [%2+4];" : "=h"(n), "=h"(n1) : "r"(at) : "memory"); put(n * 3 + n1);
    asm volatile("ld.shared.v4.u8 {%0, %1, %2, %3}, [%4];" : "=r"(r), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(at) : "memory");
    put(r + 3 * r1 + 5 * r2 + 7 * r3);
    asm volatile("ld.shared.v4.s8 {%0, %1, %2, %3}, [%4+4];" : "=r"(r), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(at) : "memory");
    put(r + 3 * r1 + 5 * r2 + 7 * r3);
    asm volatile("ld.volatile.shared.v2.b64 {%0, %1}, [%2];" : "=l"(k), "=l"(k1) : "r"(at) : "memory"); put(folded(k) ^ folded(k1));
    asm volatile("ld.relaxed.cta.shared.u32 %0, [%1+12];" : "=r"(r) : "r"(at) : "memory"); put(r);
    asm volatile("ld.b32 %0, [%1+4];" : "=r"(r) : "l"(mine) : "memory"); put(r);
    asm volatile("{ .reg .u64 generic; cvta.shared.u64 generic, %1; ld.b32 %0, [generic+8]; }"
        : "=r"(r) : "l"(static_cast<unsigned long long>(at)) : "memory");
    put(r);
    asm volatile("st.shared.u8 [%0+1], %1;" : : "r"(at), "r"(0x1234567) : "memory");
    asm volatile("st.shared.b16 [%0+2], %1;" : : "r"(at), "h"(short(w)) : "memory");
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(r) : "r"(at) : "memory"); put(r);
    asm volatile("st.shared.v2.u8 [%0+4], {%1, %2};" : : "r"(at), "r"(lane), "r"(v) : "memory");
    asm volatile("st.volatile.shared.u16 [%0+6], %1;" : : "r"(at), "h"(short(v)) : "memory");
    asm volatile("ld.shared.b32 %0, [%1+4];" : "=r"(r) : "r"(at) : "memory"); put(r);
    asm volatile("st.release.cta.shared::cta.b64 [%0+8], %1;" : : "r"(at), "l"(l) : "memory");
    asm volatile("ld.acquire.cta.shared::cta.b64 %0, [%1+8];" : "=l"(k) : "r"(at) : "memory"); put(folded(k));
    asm volatile("{ .reg .pred p, q; isspacep.shared p, %1; isspacep.global q, %2; selp.s32 %0, 1, 0, p; @q add.s32 %0, %0, 2; }"
        : "=r"(r) : "l"(mine), "l"(x));
    put(r);
    asm volatile("{ .reg .pred p, q; isspacep.shared p, %2; isspacep.global q, %1; selp.s32 %0, 1, 0, p; @q add.s32 %0, %0, 2; }"
        : "=r"(r) : "l"(mine), "l"(x));
    put(r);

    // Global memory.
    asm volatile("ld.global.ca.s32 %0, [%1];" : "=r"(r) : "l"(x + lane) : "memory"); put(r);
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.s32 {%0, %1, %2, %3}, [%4];"
        : "=r"(r), "=r"(r1), "=r"(r2), "=r"(r3) : "l"(x + lane / 4 * 4));
    put(r + 3 * r1 + 5 * r2 + 7 * r3);
    asm volatile("ld.global.cg.v2.u32 {%0, %1}, [%2];" : "=r"(r), "=r"(r1) : "l"(x + lane / 2 * 2) : "memory"); put(r - r1);
    asm volatile("ld.global.cv.s8 %0, [%1+3];" : "=r"(r) : "l"(x + lane) : "memory"); put(r);
    asm volatile("ld.global.cs.u16 %0, [%1+2];" : "=h"(n) : "l"(x + lane) : "memory"); put(n);
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(r) : "l"(x + 31 - lane) : "memory"); put(r);
    asm volatile("ld.acquire.sys.b64 %0, [%1];" : "=l"(k) : "l"(x + lane / 2 * 2) : "memory"); put(folded(k));
    asm volatile("{ .reg .b128 all; ld.global.b128 all, [%2]; mov.b128 {%0, %1}, all; }" : "=l"(k), "=l"(k1) : "l"(x + lane / 4 * 4) : "memory");
    put(folded(k) ^ folded(k1));
    asm volatile("st.global.wt.s32 [%0], %1;\n\tred.relaxed.gpu.global.add.s32 [%0], 5;" : : "l"(y + lane), "r"(v) : "memory");
    y += 32;
    asm volatile("st.global.cs.b32 [%1], %2;\n\tatom.acq_rel.sys.global.exch.b32 %0, [%1], %3;" : "=r"(r) : "l"(y + lane), "r"(v), "r"(w) : "memory");
    y += 32;
    put(r);
    asm volatile("st.release.gpu.global.b32 [%1], %2;\n\tatom.global.cas.b32 %0, [%1], %3, %4;"
        : "=r"(r) : "l"(y + lane), "r"(v), "r"(v & ~1), "r"(w) : "memory");
    y += 32;

    // Atomic changes of a word of one's own: what was there before, and what is there now.
    const auto own = [&](unsigned before, auto change) {
        asm volatile("st.shared.u32 [%0], %1;" : : "r"(at), "r"(before) : "memory");
        unsigned old = 0, now;
        change(old);
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(now) : "r"(at) : "memory");
        put(int(old + 31 * now));
    };
    own(u, [&](unsigned& old) { asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(at), "r"(t) : "memory"); });
    own(u, [&](unsigned& old) { asm volatile("atom.relaxed.cta.shared.min.s32 %0, [%1], %2;" : "=r"(old) : "r"(at), "r"(t) : "memory"); });
    own(u, [&](unsigned& old) { asm volatile("atom.shared::cta.max.s32 %0, [%1], %2;" : "=r"(old) : "r"(at), "r"(t) : "memory"); });
    own(u, [&](unsigned& old) { asm volatile("atom.shared.min.u32 %0, [%1], %2;" : "=r"(old) : "r"(at), "r"(t) : "memory"); });
    own(u, [&](unsigned& old) { asm volatile("atom.acquire.cta.shared.max.u32 %0, [%1], %2;" : "=r"(old) : "r"(at), "r"(t) : "memory"); });
    own(u, [&](unsigned& old) { asm volatile("atom.shared.and.b32 %0, [%1], %2;" : "=r"(old) : "r"(at), "r"(t) : "memory"); });
    own(u, [&](unsigned& old) { asm volatile("atom.or.b32 %0, [%1], %2;" : "=r"(old) : "l"(mine), "r"(t) : "memory"); });
    own(u, [&](unsigned& old) { asm volatile("atom.shared.xor.b32 %0, [%1], %2;" : "=r"(old) : "r"(at), "r"(t) : "memory"); });
    own(u, [&](unsigned& old) { asm volatile("atom.acq_rel.cta.shared.exch.b32 %0, [%1], %2;" : "=r"(old) : "r"(at), "r"(t) : "memory"); });
    own(u, [&](unsigned& old) { asm volatile("atom.shared.cas.b32 %0, [%1], %2, %3;" : "=r"(old) : "r"(at), "r"(u & ~1u), "r"(t) : "memory"); });
    own(lane, [&](unsigned& old) { asm volatile("atom.shared.inc.u32 %0, [%1], 9;" : "=r"(old) : "r"(at) : "memory"); });
    own(lane, [&](unsigned& old) { asm volatile("atom.shared.dec.u32 %0, [%1], 9;" : "=r"(old) : "r"(at) : "memory"); });
    own(0x40490000u, [&](unsigned& old) {
        asm volatile("{ .reg .f32 seen; atom.shared.add.f32 seen, [%1], 0f40000000; mov.b32 %0, seen; }" : "=r"(old) : "r"(at) : "memory");
    });
    // In the middle between two numbers, of both signs.
    own(0x4b800000u + (t & 0x80000001u), [&](unsigned& old) {
        const float odd = t >> 31 ? -1.0f : 1.0f;
        asm volatile("{ .reg .f32 seen; atom.shared.add.f32 seen, [%1], %2; mov.b32 %0, seen; }" : "=r"(old) : "r"(at), "f"(odd) : "memory");
    });
    own(0x3c004000u, [&](unsigned& old) {
        asm volatile("atom.shared.add.noftz.f16x2 %0, [%1], %2;" : "=r"(old) : "r"(at), "r"(0xc0003c00u) : "memory");
    });
    const auto own_wide = [&](auto change) {
        asm volatile("st.shared.b64 [%0], %1;" : : "r"(at), "l"(l) : "memory");
        unsigned long long old, now;
        change(old);
        asm volatile("ld.shared.b64 %0, [%1];" : "=l"(now) : "r"(at) : "memory");
        put(folded(old) + 31 * folded(now));
    };
    own_wide([&](unsigned long long& old) { asm volatile("atom.shared.add.u64 %0, [%1], %2;" : "=l"(old) : "r"(at), "l"(m) : "memory"); });
    own_wide([&](unsigned long long& old) { asm volatile("atom.shared.max.u64 %0, [%1], %2;" : "=l"(old) : "r"(at), "l"(m) : "memory"); });
    own_wide([&](unsigned long long& old) { asm volatile("atom.shared.or.b64 %0, [%1], %2;" : "=l"(old) : "r"(at), "l"(m) : "memory"); });
    own_wide([&](unsigned long long& old) { asm volatile("atom.shared.exch.b64 %0, [%1], %2;" : "=l"(old) : "r"(at), "l"(m) : "memory"); });
    own_wide([&](unsigned long long& old) {
        asm volatile("atom.shared.cas.b64 %0, [%1], %2, %3;" : "=l"(old) : "r"(at), "l"(l & ~1ll), "l"(m) : "memory");
    });

    // Of one word, by all lanes.
    const unsigned word = unsigned(__cvta_generic_to_shared(room));
    const auto all = [&](unsigned before, auto change) {
        asm volatile("bar.warp.sync 0xffffffff;" : : : "memory");
        if (lane == 0) asm volatile("st.shared.v2.u32 [%0], {%1, 0};" : : "r"(word), "r"(before) : "memory");
        asm volatile("bar.warp.sync 0xffffffff;" : : : "memory");
        change();
        asm volatile("bar.warp.sync 0xffffffff;" : : : "memory");
        int now;
        asm volatile("ld.shared.s32 %0, [%1];" : "=r"(now) : "r"(word) : "memory");
        put(now);
    };
    all(7, [&] { asm volatile("red.shared.add.u32 [%0], %1;" : : "r"(word), "r"(v) : "memory"); });
    all(7, [&] { asm volatile("red.release.cta.shared.add.s32 [%0], %1;" : : "r"(word), "r"(v) : "memory"); });
    all(7, [&] { asm volatile("red.shared::cta.max.s32 [%0], %1;" : : "r"(word), "r"(v) : "memory"); });
    all(7, [&] { asm volatile("red.shared.max.u32 [%0], %1;" : : "r"(word), "r"(v) : "memory"); });
    all(7, [&] { asm volatile("red.relaxed.cta.shared.xor.b32 [%0], %1;" : : "r"(word), "r"(v) : "memory"); });
    all(0xffffffffu, [&] { asm volatile("red.shared.and.b32 [%0], %1;" : : "r"(word), "r"(v | 0xff) : "memory"); });
    all(0, [&] { asm volatile("red.shared.inc.u32 [%0], 9;" : : "r"(word) : "memory"); });
    all(0, [&] { asm volatile("red.shared.dec.u32 [%0], 9;" : : "r"(word) : "memory"); });
    all(0, [&] { asm volatile("red.shared.add.f32 [%0], %1;" : : "r"(word), "f"(float(lane)) : "memory"); });
    // Of 64 bits, where the lower half ends: what it carries is in the upper one.
    all(0xffffffffu, [&] { asm volatile("red.shared.add.u64 [%0], %1;" : : "r"(word), "l"(0x80000001ll) : "memory"); });
    all(5, [&] {
        asm volatile("{\n\t"
                     ".reg .pred p;\n\t"
                     ".reg .b32 seen, sum, before;\n\t"
                     "ld.volatile.shared.b32 seen, [%0];\n"
                     "RETRY:\n\t"
                     "add.u32 sum, seen, %1;\n\t"
                     "atom.shared.cas.b32 before, [%0], seen, sum;\n\t"
                     "setp.ne.b32 p, before, seen;\n\t"
                     "mov.b32 seen, before;\n\t"
                     "@p bra RETRY;\n\t"
                     "}" : : "r"(word), "r"(v) : "memory");
    });
    asm volatile("bar.warp.sync -1;" : : : "memory");

    // Copies beside the thread, of 4, 8 and 16 bytes, of which the last ones may be zeros.
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(at), "l"(x + lane) : "memory");
    asm volatile("cp.async.ca.shared.global [%0+8], [%1], %2, %3;" : : "r"(at), "l"(x + lane / 2 * 2), "n"(8), "r"(4) : "memory");
    asm volatile("cp.async.commit_group;" : : : "memory");
    asm volatile("cp.async.cg.shared.global.L2::128B [%0+16], [%1], 16, %2;" : : "r"(at), "l"(x + lane / 4 * 4), "r"(lane % 5 * 4) : "memory");
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 1;" : : : "memory");
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2+8];" : "=r"(r), "=r"(r1) : "r"(at) : "memory"); put(r + r1);
    asm volatile("cp.async.wait_all;" : : : "memory");
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4+16];" : "=r"(r), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(at) : "memory");
    put(r + 3 * r1 + 5 * r2 + 7 * r3);

    // A barrier of each lane, for two arrivals: three tests before the second one, and three behind it.
    asm volatile("{\n\t"
                 ".reg .pred p<6>; .reg .b64 state, other; .reg .b32 bit;\n\t"
                 "mbarrier.init.shared.b64 [%1], 2;\n\t"
                 "mbarrier.arrive.shared.b64 state, [%1];\n\t"
                 "mbarrier.test_wait.shared.b64 p0, [%1], state;\n\t"
                 "mbarrier.test_wait.parity.shared.b64 p1, [%1], 0;\n\t"
                 "mbarrier.test_wait.parity.shared.b64 p2, [%1], 1;\n\t"
                 "mbarrier.arrive.shared.b64 other, [%1];\n\t"
                 "mbarrier.test_wait.shared.b64 p3, [%1], state;\n\t"
                 "mbarrier.test_wait.parity.shared.b64 p4, [%1], 0;\n\t"
                 "mbarrier.test_wait.parity.shared.b64 p5, [%1], 1;\n\t"
                 "mbarrier.inval.shared.b64 [%1];\n\t"
                 "selp.b32 %0, 1, 0, p0;\n\t"
                 "selp.b32 bit, 2, 0, p1;\n\tor.b32 %0, %0, bit;\n\t"
                 "selp.b32 bit, 4, 0, p2;\n\tor.b32 %0, %0, bit;\n\t"
                 "selp.b32 bit, 8, 0, p3;\n\tor.b32 %0, %0, bit;\n\t"
                 "selp.b32 bit, 16, 0, p4;\n\tor.b32 %0, %0, bit;\n\t"
                 "selp.b32 bit, 32, 0, p5;\n\tor.b32 %0, %0, bit;\n\t"
                 "}" : "=&r"(r) : "r"(at + 32) : "memory"); put(r);

    // Four matrices of 8 rows of 16 bytes, in which lane l has word l.
    asm volatile("bar.warp.sync 0xffffffff;" : : : "memory");
    const int words[4] = {v, w, ~v, ~w};
    for (int i = 0; i < 4; ++i) asm volatile("st.shared.b32 [%0], %1;" : : "r"(word + 128 * i + 4 * lane), "r"(words[i]) : "memory");
    asm volatile("bar.warp.sync 0xffffffff;" : : : "memory");
    const unsigned row = word + 16 * lane;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(row) : "memory"); put(r);
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(row) : "memory"); put(r);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r), "=r"(r1) : "r"(row) : "memory"); put(r + 3 * r1);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(r), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(row) : "memory");
    put(r + 3 * r1 + 5 * r2 + 7 * r3);
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(v)); put(r);

    // Products of small whole numbers, which are exact.
    const auto put_product = [&](float d0, float d1, float d2, float d3) { put(int(d0) + 1000 * int(d1) + 31 * int(d2) + 31000 * int(d3)); };
    const unsigned a0 = u, a1 = t, a2 = ~u * 3, a3 = t + u, b0 = t * 5, b1 = u ^ t;
    float d0 = 1, d1 = 2, d2 = 3, d3 = float(lane);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
                 : "r"(halves_of(a0)), "r"(halves_of(a1)), "r"(halves_of(a2)), "r"(halves_of(a3)), "r"(halves_of(b0)), "r"(halves_of(b1)));
    put_product(d0, d1, d2, d3);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                 : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
                 : "r"(brains_of(a0)), "r"(brains_of(a1)), "r"(brains_of(a2)), "r"(brains_of(a3)), "r"(brains_of(b0)), "r"(brains_of(b1)), "f"(0.0f));
    put_product(d0, d1, d2, d3);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
                 : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3) : "r"(halves_of(a0)), "r"(halves_of(a1)), "r"(halves_of(b0)), "f"(0.0f));
    put_product(d0, d1, d2, d3);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                 : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
                 : "r"(single_of(a0)), "r"(single_of(a1)), "r"(single_of(a2)), "r"(single_of(a3)), "r"(single_of(b0)), "r"(single_of(b1)), "f"(0.0f));
    put_product(d0, d1, d2, d3);
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
                 : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3) : "r"(single_of(a0)), "r"(single_of(a1)), "r"(single_of(b0)), "f"(0.0f));
    put_product(d0, d1, d2, d3);
    // Two numbers of F16 in each register of the sums.
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %8};"
                 : "=r"(r), "=r"(r1)
                 : "r"(halves_of(a0)), "r"(halves_of(a1)), "r"(halves_of(a2)), "r"(halves_of(a3)), "r"(halves_of(b0)), "r"(halves_of(b1)),
                   "r"(0x3c003c00));
    put(r);
    put(r1);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                 : "=r"(r), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(lane));
    put(r + 3 * r1 + 5 * r2 + 7 * r3);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                 : "=r"(r), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(0));
    put(r + 3 * r1 + 5 * r2 + 7 * r3);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
                 : "=r"(r), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(a0), "r"(a1), "r"(b0), "r"(0));
    put(r + 3 * r1 + 5 * r2 + 7 * r3);

#if defined(AMK_HOST) || __CUDA_ARCH__ >= 900
    // What came later. Codes of 8 bits from 1 to 1.875, of both signs.
    const unsigned few = 0x38383838u, bits = 0x87878787u;
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                 : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
                 : "r"(few | (a0 & bits)), "r"(few | (a1 & bits)), "r"(few | (a2 & bits)), "r"(few | (a3 & bits)), "r"(few | (b0 & bits)),
                   "r"(few | (b1 & bits)), "f"(0.0f));
    put_product(d0 * 64, d1 * 64, d2 * 64, d3 * 64);
    asm volatile("bar.warp.sync 0xffffffff;" : : : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" : : "r"(row), "r"(w), "r"(v) : "memory");
    asm volatile("bar.warp.sync 0xffffffff;" : : : "memory");
    asm volatile("ld.shared.b32 %0, [%2];\n\tld.shared.b32 %1, [%2+128];" : "=&r"(r), "=r"(r1) : "r"(word + 4 * lane) : "memory");
    put(r + 3 * r1);
    asm volatile("bar.warp.sync 0xffffffff;" : : : "memory");
    own(0x3f804000u, [&](unsigned& old) {
        asm volatile("atom.shared.add.noftz.bf16x2 %0, [%1], %2;" : "=r"(old) : "r"(at), "r"(0xc0003f80u) : "memory");
    });
    // A barrier that bytes are expected at, also by way of a generic address.
    asm volatile("{\n\t"
                 ".reg .pred p<3>; .reg .b64 state, other; .reg .b32 bit;\n\t"
                 "mbarrier.init.b64 [%2], 3;\n\t"
                 "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%1], 24;\n\t"
                 "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 state, [%1], 8;\n\t"
                 "mbarrier.arrive.release.cta.shared::cta.b64 other, [%1], 2;\n\t"
                 "mbarrier.test_wait.acquire.cta.shared::cta.b64 p0, [%1], state;\n\t"
                 "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%1], 32;\n\t"
                 "mbarrier.try_wait.shared::cta.b64 p1, [%1], state;\n\t"
                 "mbarrier.try_wait.parity.b64 p2, [%2], 0, 1000;\n\t"
                 "mbarrier.inval.b64 [%2];\n\t"
                 "selp.b32 %0, 1, 0, p0;\n\t"
                 "selp.b32 bit, 2, 0, p1;\n\tor.b32 %0, %0, bit;\n\t"
                 "selp.b32 bit, 4, 0, p2;\n\tor.b32 %0, %0, bit;\n\t"
                 "}" : "=&r"(r) : "r"(at + 32), "l"(mine + 32) : "memory"); put(r);
#endif
}

#define AMK_REPLACE_COPY translated_memory
