// What instructions of PTX give, lane by lane: as COPY of I32, from 32 elements to 32 for each result, by the first warp. Which NaN a NaN becomes is
// left open, and so is the sign of zeros that are clamped.
#include "task.cuh"

__device__ __forceinline__ int fold(unsigned long long wide) { return int(unsigned(wide) + 0x9e3779b1u * unsigned(wide >> 32)); }

__device__ __forceinline__ int bits_of(float value) { return value != value ? 0x7fffffff : __float_as_int(value); }

__device__ __forceinline__ int bits_of(double value) { return value != value ? 0x7fffffff : fold(__double_as_longlong(value)); }

// Two codes of 16 bits, whose infinity is this.
__device__ __forceinline__ int pair_of(unsigned pair, unsigned infinity) {
    if ((pair & 0x7fffu) > infinity) pair = (pair & 0xffff0000u) | 0x7fffu;
    return int((pair >> 16 & 0x7fffu) > infinity ? (pair & 0xffffu) | 0x7fff0000u : pair);
}
#define F16 0x7c00u
#define BF16 0x7f80u

// The same with no zero below 0.
__device__ __forceinline__ int clamped_pair_of(unsigned pair, unsigned infinity) {
    if ((pair & 0xffffu) == 0x8000u) pair &= 0xffff0000u;
    return pair_of(pair >> 16 == 0x8000u ? pair & 0xffffu : pair, infinity);
}

// Two codes of 8 bits, the largest of which that is a number is this.
__device__ __forceinline__ int eights_of(unsigned pair, unsigned largest) {
    if ((pair & 0x7fu) > largest) pair = (pair & 0xff00u) | 0x7fu;
    return int((pair >> 8 & 0x7fu) > largest ? (pair & 0xffu) | 0x7f00u : pair & 0xffffu);
}
#define F8E4M3 0x7eu
#define F8E5M2 0x7cu

__device__ void translated(const amk_program_t& program, const amk_instruction_t& task) {
    const int* x = static_cast<const int*>(amk_input(program, task, 0).ptr);
    int* y = static_cast<int*>(amk_output(program, task, 0).ptr);
    if (threadIdx.x >= 32) return;
    const int lane = threadIdx.x, v = x[lane], w = int(unsigned(v) * 0x9e3779b1u + unsigned(lane));
    const auto put = [&](int value) {
        y[lane] = value;
        y += 32;
    };
    const unsigned u = unsigned(v), t = unsigned(w);
    const long long l = (static_cast<long long>(w) << 32) | u, m = (static_cast<long long>(v) << 32) | t;
    const short h = short(v), g = short(w);
    const unsigned singles[32] = {
        0x00000000u, 0x3f800000u, 0xbf800000u, 0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0x00000001u,
        0x807fffffu, 0x00800000u, 0x80800001u, 0x7f7fffffu, 0x3f000000u, 0x3fc00000u, 0xc0200000u, 0x40200000u,
        0x4f000000u, 0xcf000000u, 0x4f7fffffu, 0x5f000000u, 0xdf800000u, 0x477fe000u, 0x477ff000u, 0x43e00000u,
        0xc3e80000u, 0x47700000u, 0x3dcccccdu, 0x3eaaaaabu, 0xc2f6e979u, 0x33800001u, 0xb27fffffu, 0x3f801000u,
    };
    const unsigned halves[32] = {
        0x0000u, 0x8000u, 0x3c00u, 0xbc00u, 0x7c00u, 0xfc00u, 0x7e00u, 0x0001u,
        0x8001u, 0x03ffu, 0x0400u, 0x8400u, 0x7bffu, 0xfbffu, 0x3555u, 0x3800u,
        0x4100u, 0xc100u, 0x3c01u, 0xbc01u, 0x3bffu, 0x5bffu, 0x6400u, 0x67ffu,
        0x2e66u, 0x4248u, 0x1400u, 0x0c00u, 0x7800u, 0xf801u, 0x4d01u, 0x9abcu,
    };
    const auto single = [&](int i) { return __uint_as_float(singles[i % 32]); };
    const float a = single(lane), b = single(lane * 7 + 4), c = single(lane * 5 + 1);
    const double d = a, e = b;
    const auto two = [&](int low, int high) { return halves[low % 32] | halves[high % 32] << 16; };
    const unsigned pa = two(lane, 31 - lane), pb = two(lane * 7 + 4, lane * 9 + 2), pc = two(lane * 3 + 1, lane * 13 + 7);
    const auto upper = [&](int low, int high) { return singles[low % 32] >> 16 | (singles[high % 32] & 0xffff0000u); };
    const unsigned qa = upper(lane, 31 - lane), qb = upper(lane * 7 + 4, lane * 9 + 2), qc = upper(lane * 3 + 1, lane * 13 + 7);
    int r;
    unsigned s;
    short n;
    float f;
    double o;
    long long k;

    // Integers.
    asm("add.s32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(w)); put(r);
    asm("add.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(w)); put(r);
    asm("sub.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(w), "r"(v)); put(r);
    asm("mul.lo.s32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(w)); put(r);
    asm("mul.hi.s32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(w)); put(r);
    asm("mul.hi.u32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(w)); put(r);
    asm("mul.wide.s32 %0, %1, %2;" : "=l"(k) : "r"(v), "r"(w)); put(fold(k));
    asm("mul.wide.u16 %0, %1, %2;" : "=r"(r) : "h"(h), "h"(g)); put(r);
    asm("mad.lo.s32 %0, %1, %2, %1;" : "=r"(r) : "r"(v), "r"(w)); put(r);
    asm("mad.hi.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane)); put(r);
    asm("mad.hi.sat.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(0x7fffff00)); put(r);
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(k) : "r"(v), "r"(w), "l"(l)); put(fold(k));
    asm("div.s32 %0, %1, %2;" : "=r"(r) : "r"(w), "r"(v | 1)); put(r);
    asm("rem.s32 %0, %1, %2;" : "=r"(r) : "r"(w), "r"(v | 1)); put(r);
    asm("div.u32 %0, %1, %2;" : "=r"(r) : "r"(w), "r"(v | 1)); put(r);
    asm("rem.u32 %0, %1, %2;" : "=r"(r) : "r"(w), "r"(v | 1)); put(r);
    asm("abs.s32 %0, %1;" : "=r"(r) : "r"(v)); put(r);
    asm("neg.s32 %0, %1;" : "=r"(r) : "r"(v)); put(r);
    asm("min.s32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(w)); put(r);
    asm("max.u32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(w)); put(r);
    asm("min.s64 %0, %1, %2;" : "=l"(k) : "l"(l), "l"(m)); put(fold(k));
    asm("sad.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane)); put(r);
    asm("sad.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane)); put(r);
    asm("mul24.lo.s32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(w)); put(r);
    asm("mul24.hi.u32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(w)); put(r);
    asm("mad24.lo.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane)); put(r);
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane)); put(r);
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane)); put(r);
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(-5)); put(r);
    asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane)); put(r);
    asm("dp2a.hi.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane)); put(r);
    asm("add.cc.u32 %0, %2, %3;\n\taddc.u32 %1, %3, %2;" : "=&r"(r), "=r"(s) : "r"(v), "r"(w)); put(r ^ int(s));
    asm("sub.cc.u32 %0, %2, %3;\n\tsubc.u32 %1, %3, %2;" : "=&r"(r), "=r"(s) : "r"(v), "r"(w)); put(r ^ int(s * 3));
    asm("{\n\t.reg .u32 low;\n\tmad.lo.cc.u32 low, %1, %2, %3;\n\taddc.u32 %0, low, 0;\n\t}" : "=r"(r) : "r"(v), "r"(w), "r"(v ^ w)); put(r);
    asm("{ .reg .b32 low, middle; add.cc.u32 low, %1, %2; addc.cc.u32 middle, %2, 0xffffffff; addc.u32 %0, %1, 0; }" : "=r"(r) : "r"(v), "r"(w));
    put(r);
    asm("add.s64 %0, %1, %2;" : "=l"(k) : "l"(l), "l"(m)); put(fold(k));
    asm("mul.lo.s64 %0, %1, %2;" : "=l"(k) : "l"(l), "l"(m)); put(fold(k));
    asm("mul.hi.u64 %0, %1, %2;" : "=l"(k) : "l"(l), "l"(m)); put(fold(k));
    asm("mul.hi.s64 %0, %1, %2;" : "=l"(k) : "l"(l), "l"(m)); put(fold(k));
    asm("div.s64 %0, %1, %2;" : "=l"(k) : "l"(l), "l"(m >> 20 | 1)); put(fold(k));
    asm("rem.u64 %0, %1, %2;" : "=l"(k) : "l"(l), "l"(m >> 20 | 1)); put(fold(k));
    asm("shr.s64 %0, %1, %2;" : "=l"(k) : "l"(l), "r"(lane * 3)); put(fold(k));
    asm("add.s16 %0, %1, %2;" : "=h"(n) : "h"(h), "h"(g)); put(n);
    asm("mul.hi.s16 %0, %1, %2;" : "=h"(n) : "h"(h), "h"(g)); put(n);
    asm("mad.lo.u16 %0, %1, %2, %1;" : "=h"(n) : "h"(h), "h"(g)); put(n);
    asm("min.u16 %0, %1, %2;" : "=h"(n) : "h"(h), "h"(g)); put(n);
    asm("shr.s16 %0, %1, %2;" : "=h"(n) : "h"(h), "r"(lane)); put(n);
    asm("neg.s16 %0, %1;" : "=h"(n) : "h"(h)); put(n);

    // Bits.
    asm("and.b32 %0, %1, %2;" : "=r"(r) : "r"(v), "n"(0x5a5aa5a5)); put(r);
    asm("or.b32 %0, %1, 0x00ff0f01;" : "=r"(r) : "r"(v)); put(r);
    asm("xor.b64 %0, %1, %2;" : "=l"(k) : "l"(l), "l"(m)); put(fold(k));
    asm("not.b32 %0, %1;" : "=r"(r) : "r"(v)); put(r);
    asm("cnot.b32 %0, %1;" : "=r"(r) : "r"(v & 1)); put(r);
    asm("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(lane * 2)); put(r);
    asm("shr.u32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(lane * 2)); put(r);
    asm("shr.s32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(lane * 2)); put(r);
    asm("shl.b64 %0, %1, %2;" : "=l"(k) : "l"(l), "r"(lane * 3)); put(fold(k));
    asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane * 2)); put(r);
    asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane * 2)); put(r);
    asm("shf.l.clamp.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane * 2)); put(r);
    asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane * 2)); put(r);
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(w), "r"(lane), "r"(lane * 5 % 40)); put(r);
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(w), "r"(lane), "r"(lane * 5 % 40)); put(r);
    asm("bfe.s64 %0, %1, %2, %3;" : "=l"(k) : "l"(m), "r"(lane * 2), "r"(lane * 5 % 40)); put(fold(k));
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(v), "r"(w), "r"(lane), "r"(lane * 5 % 40)); put(r);
    asm("bfi.b64 %0, %1, %2, %3, %4;" : "=l"(k) : "l"(l), "l"(m), "r"(lane * 2), "r"(lane * 5 % 40)); put(fold(k));
    asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(u >> lane)); put(r);
    asm("bfind.s32 %0, %1;" : "=r"(r) : "r"(v >> lane)); put(r);
    asm("bfind.shiftamt.s32 %0, %1;" : "=r"(r) : "r"(v >> lane)); put(r);
    asm("bfind.u64 %0, %1;" : "=r"(r) : "l"(m)); put(r);
    asm("brev.b32 %0, %1;" : "=r"(r) : "r"(v)); put(r);
    asm("brev.b64 %0, %1;" : "=l"(k) : "l"(l)); put(fold(k));
    asm("popc.b32 %0, %1;" : "=r"(r) : "r"(v)); put(r);
    asm("popc.b64 %0, %1;" : "=r"(r) : "l"(l)); put(r);
    asm("clz.b32 %0, %1;" : "=r"(r) : "r"(u >> lane)); put(r);
    asm("clz.b64 %0, %1;" : "=r"(r) : "l"(m & 0xffffffffffll)); put(r);
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(w >> 3)); put(r);
    asm("prmt.b32 %0, %1, %2, 0x9e70;" : "=r"(r) : "r"(v), "r"(w)); put(r);
    asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane)); put(r);
    asm("prmt.b32.b4e %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane)); put(r);
    asm("prmt.b32.rc8 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane)); put(r);
    asm("prmt.b32.ecl %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane)); put(r);
    asm("prmt.b32.ecr %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane)); put(r);
    asm("prmt.b32.rc16 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(w), "r"(lane)); put(r);
    asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(r) : "r"(v), "r"(w), "r"(0x0f1e2d3c)); put(r);
    asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(v), "r"(w), "r"(0x0f1e2d3c), "n"((0xf0 & ~0xcc) ^ 0xaa)); put(r);

    // Vectors in registers.
    asm("{ .reg .b16 low, high; mov.b32 {low, high}, %1; mov.b32 %0, {high, low}; }" : "=r"(r) : "r"(v)); put(r);
    asm("{\n\t.reg .b32 low, high;\n\tmov.b64 {low, high}, %1;\n\tsub.u32 %0, high, low;\n\t}" : "=r"(r) : "l"(l)); put(r);
    asm("mov.b64 %0, {%1, %2};" : "=l"(k) : "r"(w), "r"(v)); put(fold(k));
    asm("{ .reg .b16 p0, p1, p2, p3; mov.b64 {p0, p1, p2, p3}, %1; mov.b64 %0, {p3, p0, p2, p1}; }" : "=l"(k) : "l"(l)); put(fold(k));

    // Predicates.
    asm("{ .reg .pred p; setp.lt.s32 p, %1, %2; selp.s32 %0, %1, %2, p; }" : "=r"(r) : "r"(v), "r"(w)); put(r);
    asm("{ .reg .pred p; setp.lo.u32 p, %1, %2; selp.b32 %0, 1, -1, p; }" : "=r"(r) : "r"(v), "r"(w)); put(r);
    asm("{ .reg .pred p, q; setp.ne.s32 q, %2, 0; setp.hs.and.u32 p, %1, %2, q; selp.u32 %0, 1, 0, p; }" : "=r"(r) : "r"(v), "r"(w & 0xffff)); put(r);
    asm("{\n\t.reg .pred p, q, o;\n\tsetp.gt.s32 o, %1, 5;\n\tsetp.ge.xor.s32 p|q, %1, %2, o;\n\tselp.u32 %0, 2, 0, p;\n\t@q add.u32 %0, %0, 1;\n\t}"
        : "=r"(r) : "r"(v), "r"(w)); put(r);
    asm("{ .reg .pred p<2>; setp.le.s32 p0, %1, %2; setp.eq.or.b32 p1, %3, 1, !p0; selp.u32 %0, 7, 9, p1; }"
        : "=r"(r) : "r"(v), "r"(w), "r"(lane & 1));
    put(r);
    asm("{ .reg .pred p; setp.ls.u32 p, %1, 255; mov.u32 %0, 10; @!p mov.u32 %0, 20; @p add.u32 %0, %0, %2; }" : "=&r"(r) : "r"(v), "r"(lane));
    put(r);
    asm("{ .reg .pred p, q, o; setp.ne.u32 p, %1, 0; setp.ne.u32 q, %2, 0; xor.pred o, p, q; not.pred q, q; and.pred q, q, p; or.pred o, o, q; "
        "selp.u32 %0, 3, 4, o; }" : "=r"(r) : "r"(v & 1), "r"(v & 2)); put(r);
    asm("set.lt.u32.s32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(w)); put(r);
    asm("set.hi.f32.u32 %0, %1, %2;" : "=f"(f) : "r"(v), "r"(w)); put(bits_of(f));
    asm("set.gtu.s32.f32 %0, %1, %2;" : "=r"(r) : "f"(a), "f"(b)); put(r);
    // All fourteen, and two of them with subnormal numbers for zeros.
    const auto compare = [&](auto is) { return unsigned(is(a, b)) | unsigned(is(b, c)) << 1 | unsigned(is(a, a)) << 2; };
#define COMPARISON(NAME)                                                                                                         \
    put(int(compare([](float left, float right) {                                                                                \
        int holds;                                                                                                               \
        asm("{ .reg .pred p;\n\tsetp." #NAME ".f32 p, %1, %2;\n\tselp.s32 %0, 1, 0, p; }" : "=r"(holds) : "f"(left), "f"(right)); \
        return holds;                                                                                                            \
    })))
    COMPARISON(eq);
    COMPARISON(ne);
    COMPARISON(lt);
    COMPARISON(le);
    COMPARISON(gt);
    COMPARISON(ge);
    COMPARISON(equ);
    COMPARISON(neu);
    COMPARISON(ltu);
    COMPARISON(leu);
    COMPARISON(gtu);
    COMPARISON(geu);
    COMPARISON(num);
    COMPARISON(nan);
    COMPARISON(lt.ftz);
    COMPARISON(geu.ftz);
    asm("{ .reg .pred p, q; setp.gt.f64 p|q, %1, %2; selp.u32 %0, 1, 0, p; @q or.b32 %0, %0, 2; }" : "=r"(r) : "d"(d), "d"(e)); put(r);

    // Loops.
    asm("{\n\t"
        ".reg .pred p;\n\t"
        ".reg .u32 left, right, rest;\n\t"
        "mov.u32 left, %1;\n\t"
        "mov.u32 right, %2;\n"
        "AGAIN:\n\t"
        "rem.u32 rest, left, right;\n\t"
        "mov.u32 left, right;\n\t"
        "mov.u32 right, rest;\n\t"
        "setp.ne.u32 p, right, 0;\n\t"
        "@p bra AGAIN;\n\t"
        "mov.u32 %0, left;\n\t"
        "}" : "=r"(r) : "r"(v), "r"(w | 1)); put(r);
    asm(R"({
            .reg .pred odd, done;
            .reg .u32 value, three;
            mov.u32 value, %1;
            mov.u32 %0, 0;
        $step:
            setp.le.u32 done, value, 1;
            @done bra $out;
            and.b32 three, value, 1;
            setp.eq.u32 odd, three, 1;
            @odd bra $odd;
            shr.u32 value, value, 1;
            bra.uni $next;
        $odd:
            mad.lo.u32 value, value, 3, 1;
        $next:
            add.u32 %0, %0, 1;
            bra.uni $step;
        $out:
        })" : "=&r"(r) : "r"(v & 255)); put(r);
    asm("{ .reg .pred p; .reg .s32 i; mov.s32 %0, 0; mov.s32 i, %1; LOOP: mad.lo.s32 %0, i, i, %0; sub.s32 i, i, 1; setp.lt.s32 p, i, 0; "
        "@!p bra LOOP; }" : "=&r"(r) : "r"(lane)); put(r);

    // Between integers.
    asm("cvt.s32.s8 %0, %1;" : "=r"(r) : "r"(v)); put(r);
    asm("cvt.u32.u8 %0, %1;" : "=r"(r) : "r"(v)); put(r);
    asm("cvt.s32.s16 %0, %1;" : "=r"(r) : "h"(h)); put(r);
    asm("cvt.u64.u16 %0, %1;" : "=l"(k) : "h"(h)); put(fold(k));
    asm("cvt.s64.s32 %0, %1;" : "=l"(k) : "r"(v)); put(fold(k));
    asm("cvt.u32.u64 %0, %1;" : "=r"(r) : "l"(l)); put(r);
    asm("cvt.sat.u8.s32 %0, %1;" : "=r"(r) : "r"(v)); put(r);
    asm("cvt.sat.s8.s32 %0, %1;" : "=r"(r) : "r"(v)); put(r);
    asm("cvt.sat.s16.s32 %0, %1;" : "=h"(n) : "r"(v)); put(n);
    asm("cvt.sat.u32.s32 %0, %1;" : "=r"(r) : "r"(v)); put(r);
    asm("cvt.sat.s32.u32 %0, %1;" : "=r"(r) : "r"(v)); put(r);
    asm("cvt.sat.s32.s64 %0, %1;" : "=r"(r) : "l"(l >> lane)); put(r);

    // From integers, and to them.
    asm("cvt.rn.f32.s32 %0, %1;" : "=f"(f) : "r"(w)); put(bits_of(f));
    asm("cvt.rz.f32.s32 %0, %1;" : "=f"(f) : "r"(w)); put(bits_of(f));
    asm("cvt.rm.f32.s32 %0, %1;" : "=f"(f) : "r"(w)); put(bits_of(f));
    asm("cvt.rp.f32.u32 %0, %1;" : "=f"(f) : "r"(w)); put(bits_of(f));
    asm("cvt.rn.f32.u64 %0, %1;" : "=f"(f) : "l"(l)); put(bits_of(f));
    asm("cvt.rp.f32.s64 %0, %1;" : "=f"(f) : "l"(l)); put(bits_of(f));
    asm("cvt.rn.f16.s32 %0, %1;" : "=h"(n) : "r"(v)); put(n);
    asm("cvt.rz.f16.u32 %0, %1;" : "=h"(n) : "r"(v)); put(n);
    asm("cvt.rn.f64.s64 %0, %1;" : "=d"(o) : "l"(l)); put(bits_of(o));
    asm("cvt.rni.s32.f32 %0, %1;" : "=r"(r) : "f"(a)); put(r);
    asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(r) : "f"(a)); put(r);
    asm("cvt.rmi.s32.f32 %0, %1;" : "=r"(r) : "f"(a)); put(r);
    asm("cvt.rpi.s32.f32 %0, %1;" : "=r"(r) : "f"(a)); put(r);
    asm("cvt.rmi.ftz.s32.f32 %0, %1;" : "=r"(r) : "f"(a)); put(r);
    asm("cvt.rzi.u32.f32 %0, %1;" : "=r"(r) : "f"(a)); put(r);
    asm("cvt.rni.s64.f32 %0, %1;" : "=l"(k) : "f"(a)); put(fold(k));
    asm("cvt.rzi.u64.f32 %0, %1;" : "=l"(k) : "f"(a)); put(fold(k));
    asm("cvt.rmi.s16.f32 %0, %1;" : "=h"(n) : "f"(a)); put(n);
    asm("cvt.rzi.s32.f64 %0, %1;" : "=r"(r) : "d"(d)); put(r);
    asm("cvt.rpi.u32.f64 %0, %1;" : "=r"(r) : "d"(d)); put(r);
    asm("cvt.rni.s32.f16 %0, %1;" : "=r"(r) : "h"(short(pa))); put(r);

    // Between floats.
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(n) : "f"(a)); put(pair_of(n & 0xffff, F16));
    asm("cvt.rz.f16.f32 %0, %1;" : "=h"(n) : "f"(a)); put(pair_of(n & 0xffff, F16));
    asm("cvt.rm.f16.f32 %0, %1;" : "=h"(n) : "f"(a)); put(pair_of(n & 0xffff, F16));
    asm("cvt.rp.f16.f32 %0, %1;" : "=h"(n) : "f"(a)); put(pair_of(n & 0xffff, F16));
    asm("cvt.rn.sat.f16.f32 %0, %1;" : "=h"(n) : "f"(a)); put(clamped_pair_of(n & 0xffff, F16));
    asm("cvt.rn.relu.f16.f32 %0, %1;" : "=h"(n) : "f"(a)); put(clamped_pair_of(n & 0xffff, F16));
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(n) : "f"(a)); put(pair_of(n & 0xffff, BF16));
    asm("cvt.rz.bf16.f32 %0, %1;" : "=h"(n) : "f"(a)); put(pair_of(n & 0xffff, BF16));
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(a), "f"(b)); put(pair_of(r, F16));
    asm("cvt.rz.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(a), "f"(b)); put(pair_of(r, BF16));
    asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a)); put(clamped_pair_of(r, BF16));
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(short(pa))); put(bits_of(f));
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(a)); put(bits_of(__int_as_float(r & 0xffffe000)));
    asm("cvt.f64.f32 %0, %1;" : "=d"(o) : "f"(a)); put(bits_of(o));
    o = d / 3.0;
    asm("cvt.rn.f32.f64 %0, %1;" : "=f"(f) : "d"(o)); put(bits_of(f));
    asm("cvt.rz.f32.f64 %0, %1;" : "=f"(f) : "d"(o)); put(bits_of(f));
    asm("cvt.rm.f32.f64 %0, %1;" : "=f"(f) : "d"(o)); put(bits_of(f));
    asm("cvt.rp.f32.f64 %0, %1;" : "=f"(f) : "d"(o)); put(bits_of(f));
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(n) : "d"(o)); put(pair_of(n & 0xffff, F16));
    asm("cvt.rni.f32.f32 %0, %1;" : "=f"(f) : "f"(a)); put(bits_of(f));
    asm("cvt.rzi.f32.f32 %0, %1;" : "=f"(f) : "f"(a)); put(bits_of(f));
    asm("cvt.rmi.f32.f32 %0, %1;" : "=f"(f) : "f"(a)); put(bits_of(f));
    asm("cvt.rpi.f64.f64 %0, %1;" : "=d"(o) : "d"(d)); put(bits_of(o));
    asm("cvt.sat.f32.f32 %0, %1;" : "=f"(f) : "f"(a)); put(bits_of(f + 0.0f));

    // Numbers of 32 and 64 bits.
    asm("add.rn.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b)); put(bits_of(f));
    asm("add.rz.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b)); put(bits_of(f));
    asm("add.rm.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b)); put(bits_of(f));
    asm("add.rp.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b)); put(bits_of(f));
    asm("add.ftz.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(c)); put(bits_of(f));
    asm("add.sat.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(c)); put(bits_of(f + 0.0f));
    asm("sub.rm.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(a)); put(bits_of(f));
    asm("sub.rp.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(c)); put(bits_of(f));
    asm("mul.rn.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b)); put(bits_of(f));
    asm("mul.rz.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b)); put(bits_of(f));
    asm("mul.rm.f32 %0, %1, %2;" : "=f"(f) : "f"(b), "f"(c)); put(bits_of(f));
    asm("mul.rp.f32 %0, %1, %2;" : "=f"(f) : "f"(b), "f"(c)); put(bits_of(f));
    asm("mul.ftz.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b)); put(bits_of(f));
    asm("mul.sat.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b)); put(bits_of(f + 0.0f));
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(a), "f"(b), "f"(c)); put(bits_of(f));
    asm("fma.rz.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(a), "f"(b), "f"(c)); put(bits_of(f));
    asm("fma.rm.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(a), "f"(b), "f"(c)); put(bits_of(f));
    asm("fma.rp.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(a), "f"(b), "f"(c)); put(bits_of(f));
    asm("fma.rn.ftz.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(a), "f"(c), "f"(b)); put(bits_of(f));
    asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(a), "f"(c), "f"(b)); put(bits_of(f + 0.0f));
    asm("mad.rn.f32 %0, %1, 0f3F800001, 0fBF800000;" : "=f"(f) : "f"(a)); put(bits_of(f));
    asm("div.rn.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b)); put(bits_of(f));
    asm("div.rz.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(c)); put(bits_of(f));
    asm("div.rm.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b)); put(bits_of(f));
    asm("div.rp.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b)); put(bits_of(f));
    asm("rcp.rn.f32 %0, %1;" : "=f"(f) : "f"(a)); put(bits_of(f));
    asm("rcp.rm.f32 %0, %1;" : "=f"(f) : "f"(a)); put(bits_of(f));
    asm("sqrt.rn.f32 %0, %1;" : "=f"(f) : "f"(a)); put(bits_of(f));
    asm("sqrt.rz.f32 %0, %1;" : "=f"(f) : "f"(a)); put(bits_of(f));
    asm("sqrt.rp.f32 %0, %1;" : "=f"(f) : "f"(a)); put(bits_of(f));
    asm("min.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b)); put(bits_of(f));
    asm("max.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b)); put(bits_of(f));
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(b)); put(bits_of(f));
    asm("min.ftz.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(-1e-30f)); put(bits_of(f));
    asm("abs.f32 %0, %1;" : "=f"(f) : "f"(a)); put(bits_of(f));
    asm("neg.f32 %0, %1;" : "=f"(f) : "f"(a)); put(bits_of(f));
    asm("neg.ftz.f32 %0, %1;" : "=f"(f) : "f"(a)); put(bits_of(f));
    asm("add.rn.f64 %0, %1, %2;" : "=d"(o) : "d"(d), "d"(e)); put(bits_of(o));
    asm("mul.f64 %0, %1, %2;" : "=d"(o) : "d"(d / 3.0), "d"(e)); put(bits_of(o));
    asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(o) : "d"(d / 3.0), "d"(e), "d"(d)); put(bits_of(o));
    asm("div.rn.f64 %0, %1, %2;" : "=d"(o) : "d"(d), "d"(e)); put(bits_of(o));
    asm("sqrt.rn.f64 %0, %1;" : "=d"(o) : "d"(d)); put(bits_of(o));
    asm("max.f64 %0, %1, %2;" : "=d"(o) : "d"(d), "d"(e)); put(bits_of(o));

    // Pairs of 16 bits.
    asm("add.f16x2 %0, %1, %2;" : "=r"(r) : "r"(pa), "r"(pb)); put(pair_of(r, F16));
    asm("add.sat.f16x2 %0, %1, %2;" : "=r"(r) : "r"(pa), "r"(pb)); put(clamped_pair_of(r, F16));
    asm("add.ftz.f16x2 %0, %1, %2;" : "=r"(r) : "r"(pa), "r"(pc)); put(pair_of(r, F16));
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(pa), "r"(pb)); put(pair_of(r, F16));
    asm("mul.f16x2 %0, %1, %2;" : "=r"(r) : "r"(pa), "r"(pb)); put(pair_of(r, F16));
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(pa), "r"(pb), "r"(pc)); put(pair_of(r, F16));
    asm("fma.rn.relu.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(pa), "r"(pb), "r"(pc)); put(clamped_pair_of(r, F16));
    asm("min.f16x2 %0, %1, %2;" : "=r"(r) : "r"(pa), "r"(pb)); put(pair_of(r, F16));
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(pa), "r"(pb)); put(pair_of(r, F16));
    asm("neg.f16x2 %0, %1;" : "=r"(r) : "r"(pa)); put(pair_of(r, F16));
    asm("abs.f16x2 %0, %1;" : "=r"(r) : "r"(pa)); put(pair_of(r, F16));
    asm("mul.f16 %0, %1, %2;" : "=h"(n) : "h"(short(pa)), "h"(short(pb))); put(pair_of(n & 0xffff, F16));
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(qa), "r"(qb), "r"(qc)); put(pair_of(r, BF16));
    asm("max.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(qa), "r"(qb)); put(pair_of(r, BF16));
    asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(qa), "r"(qb)); put(pair_of(r, BF16));
    asm("neg.bf16x2 %0, %1;" : "=r"(r) : "r"(qa)); put(pair_of(r, BF16));

#if defined(AMK_HOST) || __CUDA_ARCH__ >= 900
    // What came later.
    asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(qa), "r"(qb)); put(pair_of(r, BF16));
    asm("mul.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(qa), "r"(qb)); put(pair_of(r, BF16));
    asm("sub.bf16 %0, %1, %2;" : "=h"(n) : "h"(short(qa)), "h"(short(qb))); put(pair_of(n & 0xffff, BF16));
    asm("cvt.f32.bf16 %0, %1;" : "=f"(f) : "h"(short(qa))); put(bits_of(f));
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(n) : "f"(a), "f"(b)); put(eights_of(n, F8E4M3));
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(n) : "f"(a), "f"(b)); put(eights_of(n, F8E5M2));
    asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(n) : "r"(pa)); put(eights_of(n, F8E4M3));
    asm("cvt.rn.satfinite.f16.f32 %0, %1;" : "=h"(n) : "f"(a)); put(pair_of(n & 0xffff, F16));
    asm("cvt.rz.satfinite.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(a), "f"(b)); put(pair_of(r, BF16));
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(r) : "f"(a)); put(bits_of(__int_as_float(r & 0xffffe000)));
    asm("cvt.rz.tf32.f32 %0, %1;" : "=r"(r) : "f"(a)); put(bits_of(__int_as_float(r & 0xffffe000)));
    o = single(lane + 9) * 0.7;
    asm("cvt.sat.f64.f64 %0, %1;" : "=d"(o) : "d"(o)); put(bits_of(o + 0.0));
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"(h)); put(pair_of(r, F16));
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(r) : "h"(h)); put(pair_of(r, F16));
    asm("{ .reg .pred p; .reg .b32 leader; elect.sync leader|p, 0xffffffff; mov.u32 %0, 64; @p mov.u32 %0, leader; }" : "=r"(r));
    // One lane is elected, and all are told which.
    put(__popc(__ballot_sync(0xffffffffu, r < 32)) + 10 * int(r < 32 ? r == lane : true));
#endif

#if defined(AMK_HOST) || __CUDA_ARCH__ >= 1000
    // Two numbers of 32 bits at once.
    const auto pair = [](float low, float high) { return static_cast<long long>(__float_as_uint(high)) << 32 | __float_as_uint(low); };
    const auto put_both = [&](long long both) {
        put(bits_of(__int_as_float(int(both))));
        put(bits_of(__int_as_float(int(both >> 32))));
    };
    asm("add.rn.f32x2 %0, %1, %2;" : "=l"(k) : "l"(pair(a, b)), "l"(pair(c, c))); put_both(k);
    asm("mul.rz.f32x2 %0, %1, %2;" : "=l"(k) : "l"(pair(a, b)), "l"(pair(b, c))); put_both(k);
    asm("fma.rn.f32x2 %0, %1, %2, %3;" : "=l"(k) : "l"(pair(a, b)), "l"(pair(b, c)), "l"(pair(c, a))); put_both(k);
#endif
}

#define AMK_REPLACE_COPY translated
