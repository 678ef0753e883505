//! Instructions on numbers, bits and predicates.

use super::*;

/// What each result of `translated.cu` is in each lane that has `v`, in its order.
pub fn defined(v: &[i32; LANES]) -> Results {
    let lanes = lanes(v);
    let mut all: Results = Vec::new();
    let mut put = |name: &'static str, f: &dyn Fn(&Lane) -> i32| {
        all.push((name, std::array::from_fn(|lane| f(&lanes[lane]))))
    };
    let short = |value: i32| value as i16;
    let wide = |a: i32, b: i32| i64::from(a) * i64::from(b);
    let unsigned = |a: i32, b: i32| u64::from(a as u32) * u64::from(b as u32);
    let n = |own: &Lane| own.lane as u32;
    put("add.s32", &|o| o.v.wrapping_add(o.w));
    put("add.sat.s32", &|o| o.v.saturating_add(o.w));
    put("sub.sat.s32", &|o| o.w.saturating_sub(o.v));
    put("mul.lo.s32", &|o| o.v.wrapping_mul(o.w));
    put("mul.hi.s32", &|o| (wide(o.v, o.w) >> 32) as i32);
    put("mul.hi.u32", &|o| (unsigned(o.v, o.w) >> 32) as i32);
    put("mul.wide.s32", &|o| fold(wide(o.v, o.w)));
    put("mul.wide.u16", &|o| (o.v & 0xffff).wrapping_mul(o.w & 0xffff));
    put("mad.lo.s32", &|o| o.v.wrapping_mul(o.w).wrapping_add(o.v));
    put("mad.hi.u32", &|o| ((unsigned(o.v, o.w) >> 32) as i32).wrapping_add(o.lane as i32));
    put("mad.hi.sat.s32", &|o| ((wide(o.v, o.w) >> 32) as i32).saturating_add(0x7fff_ff00));
    put("mad.wide.u32", &|o| fold((unsigned(o.v, o.w) as i64).wrapping_add(o.l)));
    put("div.s32", &|o| o.w.wrapping_div(o.v | 1));
    put("rem.s32", &|o| o.w.wrapping_rem(o.v | 1));
    put("div.u32", &|o| (o.w as u32 / (o.v | 1) as u32) as i32);
    put("rem.u32", &|o| (o.w as u32 % (o.v | 1) as u32) as i32);
    put("abs.s32", &|o| o.v.wrapping_abs());
    put("neg.s32", &|o| o.v.wrapping_neg());
    put("min.s32", &|o| o.v.min(o.w));
    put("max.u32", &|o| (o.v as u32).max(o.w as u32) as i32);
    put("min.s64", &|o| fold(o.l.min(o.m)));
    put("sad.s32", &|o| (o.lane as i32).wrapping_add((i64::from(o.v) - i64::from(o.w)).abs() as i32));
    put("sad.u32", &|o| (o.lane as i32).wrapping_add((o.v as u32).abs_diff(o.w as u32) as i32));
    put("mul24.lo.s32", &|o| wide(o.v << 8 >> 8, o.w << 8 >> 8) as i32);
    put("mul24.hi.u32", &|o| (unsigned(o.v & 0xff_ffff, o.w & 0xff_ffff) >> 16) as i32);
    put("mad24.lo.u32", &|o| (unsigned(o.v & 0xff_ffff, o.w & 0xff_ffff) as i32).wrapping_add(o.lane as i32));
    let signed = |word: i32| word.to_le_bytes().map(|byte| i32::from(byte as i8));
    let bare = |word: i32| word.to_le_bytes().map(i32::from);
    let dot = |a: [i32; 4], b: [i32; 4]| (0..4).map(|i| a[i] * b[i]).sum::<i32>();
    put("dp4a.s32.s32", &|o| dot(signed(o.v), signed(o.w)) + o.lane as i32);
    put("dp4a.u32.s32", &|o| dot(bare(o.v), signed(o.w)) + o.lane as i32);
    put("dp4a.u32.u32", &|o| dot(bare(o.v), bare(o.w)) - 5);
    put("dp2a.lo.s32.s32", &|o| {
        o.lane as i32 + i32::from(short(o.v)) * signed(o.w)[0] + i32::from(short(o.v >> 16)) * signed(o.w)[1]
    });
    put("dp2a.hi.u32.s32", &|o| {
        o.lane as i32 + (o.v & 0xffff) * signed(o.w)[2] + (o.v >> 16 & 0xffff) * signed(o.w)[3]
    });
    let carry = |a: i32, b: i32| i32::from((a as u32).checked_add(b as u32).is_none());
    put("add.cc.u32", &|o| o.v.wrapping_add(o.w) ^ o.w.wrapping_add(o.v).wrapping_add(carry(o.v, o.w)));
    put("sub.cc.u32", &|o| {
        let borrow = i32::from((o.v as u32) < o.w as u32);
        o.v.wrapping_sub(o.w) ^ o.w.wrapping_sub(o.v).wrapping_sub(borrow).wrapping_mul(3)
    });
    put("mad.lo.cc.u32", &|o| {
        let (product, added) = (o.v.wrapping_mul(o.w), o.v ^ o.w);
        product.wrapping_add(added).wrapping_add(carry(product, added))
    });
    put("addc.cc.u32", &|o| o.v.wrapping_add(i32::from(o.w != 0 || carry(o.v, o.w) == 1)));
    put("add.s64", &|o| fold(o.l.wrapping_add(o.m)));
    put("mul.lo.s64", &|o| fold(o.l.wrapping_mul(o.m)));
    put("mul.hi.u64", &|o| fold(((u128::from(o.l as u64) * u128::from(o.m as u64)) >> 64) as i64));
    put("mul.hi.s64", &|o| fold(((i128::from(o.l) * i128::from(o.m)) >> 64) as i64));
    put("div.s64", &|o| fold(o.l.wrapping_div(o.m >> 20 | 1)));
    put("rem.u64", &|o| fold((o.l as u64 % (o.m >> 20 | 1) as u64) as i64));
    put("shr.s64", &|o| fold(o.l >> (3 * o.lane).min(63)));
    put("add.s16", &|o| i32::from(short(o.v).wrapping_add(short(o.w))));
    put("mul.hi.s16", &|o| (i32::from(short(o.v)) * i32::from(short(o.w))) >> 16);
    put("mad.lo.u16", &|o| i32::from(short(o.v).wrapping_mul(short(o.w)).wrapping_add(short(o.v))));
    put("min.u16", &|o| i32::from((o.v as u16).min(o.w as u16) as i16));
    put("shr.s16", &|o| i32::from(short(o.v) >> o.lane.min(15)));
    put("neg.s16", &|o| i32::from(short(o.v).wrapping_neg()));

    put("and.b32", &|o| o.v & 0x5a5a_a5a5);
    put("or.b32", &|o| o.v | 0x00ff_0f01);
    put("xor.b64", &|o| fold(o.l ^ o.m));
    put("not.b32", &|o| !o.v);
    put("cnot.b32", &|o| i32::from(o.v & 1 == 0));
    put("shl.b32", &|o| o.v.checked_shl(2 * n(o)).unwrap_or(0));
    put("shr.u32", &|o| (o.v as u32).checked_shr(2 * n(o)).unwrap_or(0) as i32);
    put("shr.s32", &|o| o.v >> (2 * o.lane).min(31));
    put("shl.b64", &|o| fold(o.l.checked_shl(3 * n(o)).unwrap_or(0)));
    let both = |o: &Lane| u64::from(o.w as u32) << 32 | u64::from(o.v as u32);
    put("shf.l.wrap.b32", &|o| (both(o) << (2 * o.lane % 32) >> 32) as i32);
    put("shf.r.wrap.b32", &|o| (both(o) >> (2 * o.lane % 32)) as i32);
    put("shf.l.clamp.b32", &|o| (both(o) << (2 * o.lane).min(32) >> 32) as i32);
    put("shf.r.clamp.b32", &|o| (both(o) >> (2 * o.lane).min(32)) as i32);
    let length = |o: &Lane| 5 * n(o) % 40;
    put("bfe.u32", &|o| extracted(i64::from(o.w as u32), 31, n(o), length(o), false) as i32);
    put("bfe.s32", &|o| extracted(i64::from(o.w as u32), 31, n(o), length(o), true) as i32);
    put("bfe.s64", &|o| fold(extracted(o.m, 63, 2 * n(o), length(o), true)));
    put("bfi.b32", &|o| inserted(i64::from(o.v), i64::from(o.w), 31, n(o), length(o)) as i32);
    put("bfi.b64", &|o| fold(inserted(o.l, o.m, 63, 2 * n(o), length(o))));
    let highest = |word: u32| 31 - word.leading_zeros() as i32;
    put("bfind.u32", &|o| highest(o.v as u32 >> o.lane));
    let unlike = |word: i32| if word < 0 { !word as u32 } else { word as u32 };
    put("bfind.s32", &|o| highest(unlike(o.v >> o.lane)));
    put("bfind.shiftamt.s32", &|o| {
        if unlike(o.v >> o.lane) == 0 { -1 } else { unlike(o.v >> o.lane).leading_zeros() as i32 }
    });
    put("bfind.u64", &|o| 63 - o.m.leading_zeros() as i32);
    put("brev.b32", &|o| o.v.reverse_bits());
    put("brev.b64", &|o| fold(o.l.reverse_bits()));
    put("popc.b32", &|o| o.v.count_ones() as i32);
    put("popc.b64", &|o| o.l.count_ones() as i32);
    put("clz.b32", &|o| (o.v as u32 >> o.lane).leading_zeros() as i32);
    put("clz.b64", &|o| (o.m & 0xff_ffff_ffff).leading_zeros() as i32);
    put("prmt.b32", &|o| bytes(o.v, o.w, [3, 7, 11, 15].map(|at| o.w as u32 >> at & 15)));
    put("prmt.b32", &|o| bytes(o.v, o.w, [0, 7, 14, 9]));
    put("prmt.b32.f4e", &|o| bytes(o.v, o.w, [0, 1, 2, 3].map(|i| n(o) % 4 + i)));
    put("prmt.b32.b4e", &|o| bytes(o.v, o.w, [0, 7, 6, 5].map(|i| (n(o) % 4 + i) % 8)));
    put("prmt.b32.rc8", &|o| bytes(o.v, o.w, [n(o) % 4; 4]));
    put("prmt.b32.ecl", &|o| bytes(o.v, o.w, [0, 1, 2, 3].map(|i| i.max(n(o) % 4))));
    put("prmt.b32.ecr", &|o| bytes(o.v, o.w, [0, 1, 2, 3].map(|i| i.min(n(o) % 4))));
    put("prmt.b32.rc16", &|o| bytes(o.v, o.w, if o.lane % 2 == 0 { [0, 1, 0, 1] } else { [2, 3, 2, 3] }));
    put("lop3.b32", &|o| looked_up(o.v, o.w, 0x0f1e_2d3c, 0xe8));
    put("lop3.b32", &|o| (o.v & !o.w) ^ 0x0f1e_2d3c);

    put("mov.b32", &|o| o.v.rotate_left(16));
    put("mov.b64", &|o| o.w.wrapping_sub(o.v));
    put("mov.b64", &|o| fold(o.m));
    put("mov.b64", &|o| {
        let part = |i: u32, to: u32| (o.l >> (16 * i) & 0xffff) << (16 * to);
        fold(part(3, 0) | part(0, 1) | part(2, 2) | part(1, 3))
    });

    put("setp.lt.s32", &|o| o.v.min(o.w));
    put("setp.lo.u32", &|o| if (o.v as u32) < o.w as u32 { 1 } else { -1 });
    put("setp.hs.and.u32", &|o| i32::from(o.v as u32 >= (o.w & 0xffff) as u32 && o.w & 0xffff != 0));
    put("setp.ge.xor.s32", &|o| {
        let (first, second) = ((o.v >= o.w) ^ (o.v > 5), (o.v < o.w) ^ (o.v > 5));
        2 * i32::from(first) + i32::from(second)
    });
    put("setp.eq.or.b32", &|o| if o.lane % 2 == 1 || o.v > o.w { 7 } else { 9 });
    put("setp.ls.u32", &|o| if o.v as u32 <= 255 { 10 + o.lane as i32 } else { 20 });
    put("or.pred", &|o| {
        let (p, q) = (o.v & 1 != 0, o.v & 2 != 0);
        if (p != q) || (!q && p) { 3 } else { 4 }
    });
    put("set.lt.u32.s32", &|o| -i32::from(o.v < o.w));
    put("set.hi.f32.u32", &|o| if o.v as u32 > o.w as u32 { 0x3f80_0000 } else { 0 });
    let unordered = |a: f64, b: f64| a.is_nan() || b.is_nan();
    put("set.gtu.s32.f32", &|o| -i32::from(o.a > o.b || unordered(o.a, o.b)));
    let mut compare = |name, holds: &dyn Fn(f64, f64) -> bool| {
        put(name, &|o| {
            i32::from(holds(o.a, o.b)) | i32::from(holds(o.b, o.c)) << 1 | i32::from(holds(o.a, o.a)) << 2
        });
    };
    compare("COMPARISON(eq)", &|a, b| a == b);
    compare("COMPARISON(ne)", &|a, b| a != b && !unordered(a, b));
    compare("COMPARISON(lt)", &|a, b| a < b);
    compare("COMPARISON(le)", &|a, b| a <= b);
    compare("COMPARISON(gt)", &|a, b| a > b);
    compare("COMPARISON(ge)", &|a, b| a >= b);
    compare("COMPARISON(equ)", &|a, b| a == b || unordered(a, b));
    compare("COMPARISON(neu)", &|a, b| a != b);
    compare("COMPARISON(ltu)", &|a, b| a < b || unordered(a, b));
    compare("COMPARISON(leu)", &|a, b| a <= b || unordered(a, b));
    compare("COMPARISON(gtu)", &|a, b| a > b || unordered(a, b));
    compare("COMPARISON(geu)", &|a, b| a >= b || unordered(a, b));
    compare("COMPARISON(num)", &|a, b| !unordered(a, b));
    compare("COMPARISON(nan)", &unordered);
    compare("COMPARISON(lt.ftz)", &|a, b| flushed(a) < flushed(b));
    compare("COMPARISON(geu.ftz)", &|a, b| flushed(a) >= flushed(b) || unordered(a, b));
    put("setp.gt.f64", &|o| if o.a > o.b { 1 } else { 2 });

    put("rem.u32 rest", &|o| divisor(o.v as u32, (o.w | 1) as u32) as i32);
    put(".reg .pred odd", &|o| steps((o.v & 255) as u32));
    put("LOOP", &|o| (0..=o.lane as i32).map(|i| i * i).sum());

    put("cvt.s32.s8", &|o| i32::from(o.v as i8));
    put("cvt.u32.u8", &|o| o.v & 0xff);
    put("cvt.s32.s16", &|o| i32::from(short(o.v)));
    put("cvt.u64.u16", &|o| o.v & 0xffff);
    put("cvt.s64.s32", &|o| fold(i64::from(o.v)));
    put("cvt.u32.u64", &|o| o.v);
    put("cvt.sat.u8.s32", &|o| o.v.clamp(0, 255));
    put("cvt.sat.s8.s32", &|o| o.v.clamp(-128, 127));
    put("cvt.sat.s16.s32", &|o| o.v.clamp(-32768, 32767));
    put("cvt.sat.u32.s32", &|o| o.v.max(0));
    put("cvt.sat.s32.u32", &|o| (o.v as u32).min(0x7fff_ffff) as i32);
    put("cvt.sat.s32.s64", &|o| (o.l >> o.lane).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32);

    let single = |number: f64, way: Way| F32.code(number, way) as i32;
    put("cvt.rn.f32.s32", &|o| single(f64::from(o.w), Nearest));
    put("cvt.rz.f32.s32", &|o| single(f64::from(o.w), Zero));
    put("cvt.rm.f32.s32", &|o| single(f64::from(o.w), Down));
    put("cvt.rp.f32.u32", &|o| single(f64::from(o.w as u32), Up));
    put("cvt.rn.f32.u64", &|o| single(whole(i128::from(o.l as u64)), Nearest));
    put("cvt.rp.f32.s64", &|o| single(whole(i128::from(o.l)), Up));
    let sixteen = |code: u32| i32::from(code as i16);
    put("cvt.rn.f16.s32", &|o| sixteen(F16.code(f64::from(o.v), Nearest)));
    put("cvt.rz.f16.u32", &|o| sixteen(F16.code(f64::from(o.v as u32), Zero)));
    put("cvt.rn.f64.s64", &|o| fold_number(o.l as f64));
    put("cvt.rni.s32.f32", &|o| integer(o.a, f64::round_ties_even, 32, true, 0) as i32);
    put("cvt.rzi.s32.f32", &|o| integer(o.a, f64::trunc, 32, true, 0) as i32);
    put("cvt.rmi.s32.f32", &|o| integer(o.a, f64::floor, 32, true, 0) as i32);
    put("cvt.rpi.s32.f32", &|o| integer(o.a, f64::ceil, 32, true, 0) as i32);
    put("cvt.rmi.ftz.s32.f32", &|o| integer(flushed(o.a), f64::floor, 32, true, 0) as i32);
    put("cvt.rzi.u32.f32", &|o| integer(o.a, f64::trunc, 32, false, 0) as i32);
    // NaN of or to 64 bits is the number in the middle.
    put("cvt.rni.s64.f32", &|o| {
        fold(integer(o.a, f64::round_ties_even, 64, true, i128::from(i64::MIN)) as i64)
    });
    put("cvt.rzi.u64.f32", &|o| fold(integer(o.a, f64::trunc, 64, false, 1 << 63) as i64));
    put("cvt.rmi.s16.f32", &|o| integer(o.a, f64::floor, 16, true, 0) as i32);
    put("cvt.rzi.s32.f64", &|o| integer(o.a, f64::trunc, 32, true, i128::from(i32::MIN)) as i32);
    put("cvt.rpi.u32.f64", &|o| integer(o.a, f64::ceil, 32, false, 1 << 31) as i32);
    put("cvt.rni.s32.f16", &|o| integer(o.p[0][0], f64::round_ties_even, 32, true, 0) as i32);

    put("cvt.rn.f16.f32", &|o| F16.code(o.a, Nearest) as i32);
    put("cvt.rz.f16.f32", &|o| F16.code(o.a, Zero) as i32);
    put("cvt.rm.f16.f32", &|o| F16.code(o.a, Down) as i32);
    put("cvt.rp.f16.f32", &|o| F16.code(o.a, Up) as i32);
    put("cvt.rn.sat.f16.f32", &|o| F16.code(saturated(o.a), Nearest) as i32);
    put("cvt.rn.relu.f16.f32", &|o| F16.code(above_zero(o.a), Nearest) as i32);
    put("cvt.rn.bf16.f32", &|o| BF16.code(o.a, Nearest) as i32);
    put("cvt.rz.bf16.f32", &|o| BF16.code(o.a, Zero) as i32);
    put("cvt.rn.f16x2.f32", &|o| pair([o.b, o.a].map(|number| F16.code(number, Nearest))));
    put("cvt.rz.bf16x2.f32", &|o| pair([o.b, o.a].map(|number| BF16.code(number, Zero))));
    put("cvt.rn.relu.bf16x2.f32", &|o| pair([o.a, o.b].map(|number| BF16.code(above_zero(number), Nearest))));
    put("cvt.f32.f16", &|o| single(o.p[0][0], Nearest));
    put("cvt.rna.tf32.f32", &|o| {
        let code = SINGLES[o.lane];
        if o.a.is_nan() {
            0x7fff_ffff
        } else {
            ((code + u32::from(o.a.is_finite()) * 0x1000) & 0xffff_e000) as i32
        }
    });
    put("cvt.f64.f32", &|o| fold_number(o.a));
    put("cvt.rn.f32.f64", &|o| single(o.a / 3.0, Nearest));
    put("cvt.rz.f32.f64", &|o| single(o.a / 3.0, Zero));
    put("cvt.rm.f32.f64", &|o| single(o.a / 3.0, Down));
    put("cvt.rp.f32.f64", &|o| single(o.a / 3.0, Up));
    put("cvt.rn.f16.f64", &|o| F16.code(o.a / 3.0, Nearest) as i32);
    put("cvt.rni.f32.f32", &|o| single(o.a.round_ties_even(), Nearest));
    put("cvt.rzi.f32.f32", &|o| single(o.a.trunc(), Nearest));
    put("cvt.rmi.f32.f32", &|o| single(o.a.floor(), Nearest));
    put("cvt.rpi.f64.f64", &|o| fold_number(o.a.ceil()));
    put("cvt.sat.f32.f32", &|o| single(saturated(o.a), Nearest));

    put("add.rn.f32", &|o| single(sum(o.a, o.b, Nearest), Nearest));
    put("add.rz.f32", &|o| single(sum(o.a, o.b, Zero), Zero));
    put("add.rm.f32", &|o| single(sum(o.a, o.b, Down), Down));
    put("add.rp.f32", &|o| single(sum(o.a, o.b, Up), Up));
    let flush = |number: f64| flushed_code(F32.code(number, Nearest)) as i32;
    put("add.ftz.f32", &|o| flush(sum(flushed(o.a), flushed(o.c), Nearest)));
    put("add.sat.f32", &|o| single(saturated(sum(o.a, o.c, Nearest)), Nearest));
    put("sub.rm.f32", &|o| single(sum(o.a, -o.a, Down), Down));
    put("sub.rp.f32", &|o| single(sum(o.a, -o.c, Up), Up));
    put("mul.rn.f32", &|o| single(o.a * o.b, Nearest));
    put("mul.rz.f32", &|o| single(o.a * o.b, Zero));
    put("mul.rm.f32", &|o| single(o.b * o.c, Down));
    put("mul.rp.f32", &|o| single(o.b * o.c, Up));
    put("mul.ftz.f32", &|o| flush(flushed(o.a) * flushed(o.b)));
    put("mul.sat.f32", &|o| single(saturated(o.a * o.b), Nearest));
    put("fma.rn.f32", &|o| single(sum(o.a * o.b, o.c, Nearest), Nearest));
    put("fma.rz.f32", &|o| single(sum(o.a * o.b, o.c, Zero), Zero));
    put("fma.rm.f32", &|o| single(sum(o.a * o.b, o.c, Down), Down));
    put("fma.rp.f32", &|o| single(sum(o.a * o.b, o.c, Up), Up));
    put("fma.rn.ftz.f32", &|o| flush(sum(flushed(o.a) * flushed(o.c), flushed(o.b), Nearest)));
    put("fma.rn.sat.f32", &|o| single(saturated(sum(o.a * o.c, o.b, Nearest)), Nearest));
    put("mad.rn.f32", &|o| single(sum(o.a * F32.value(0x3f80_0001), -1.0, Nearest), Nearest));
    put("div.rn.f32", &|o| single(quotient(o.a, o.b), Nearest));
    put("div.rz.f32", &|o| single(quotient(o.a, o.c), Zero));
    put("div.rm.f32", &|o| single(quotient(o.a, o.b), Down));
    put("div.rp.f32", &|o| single(quotient(o.a, o.b), Up));
    put("rcp.rn.f32", &|o| single(quotient(1.0, o.a), Nearest));
    put("rcp.rm.f32", &|o| single(quotient(1.0, o.a), Down));
    put("sqrt.rn.f32", &|o| single(root(o.a), Nearest));
    put("sqrt.rz.f32", &|o| single(root(o.a), Zero));
    put("sqrt.rp.f32", &|o| single(root(o.a), Up));
    put("min.f32", &|o| single(least(o.a, o.b), Nearest));
    put("max.f32", &|o| single(largest(o.a, o.b), Nearest));
    put("max.NaN.f32", &|o| single(nan_if_any(o.a, o.b, largest(o.a, o.b)), Nearest));
    put("min.ftz.f32", &|o| single(least(flushed(o.a), f64::from(-1e-30f32)), Nearest));
    put("abs.f32", &|o| single(o.a.abs(), Nearest));
    put("neg.f32", &|o| single(-o.a, Nearest));
    put("neg.ftz.f32", &|o| single(-flushed(o.a), Nearest));
    put("add.rn.f64", &|o| fold_number(o.a + o.b));
    put("mul.f64", &|o| fold_number(o.a / 3.0 * o.b));
    put("fma.rn.f64", &|o| fold_number((o.a / 3.0).mul_add(o.b, o.a)));
    put("div.rn.f64", &|o| fold_number(o.a / o.b));
    put("sqrt.rn.f64", &|o| fold_number(o.a.sqrt()));
    put("max.f64", &|o| fold_number(largest(o.a, o.b)));

    let plus = |a: f64, b: f64| sum(a, b, Nearest);
    put("add.f16x2", &|o| o.of_p(|a, b, _| plus(a, b), Nearest));
    put("add.sat.f16x2", &|o| o.of_p(|a, b, _| saturated(plus(a, b)), Nearest));
    let small = |number: f64| if number.abs() < F16.value(0x0400) { 0.0f64.copysign(number) } else { number };
    put("add.ftz.f16x2", &|o| {
        o.of_p(|a, _, c| small(F16.value(F16.code(plus(small(a), small(c)), Nearest))), Nearest)
    });
    put("sub.rn.f16x2", &|o| o.of_p(|a, b, _| plus(a, -b), Nearest));
    put("mul.f16x2", &|o| o.of_p(|a, b, _| a * b, Nearest));
    put("fma.rn.f16x2", &|o| o.of_p(|a, b, c| plus(a * b, c), Nearest));
    put("fma.rn.relu.f16x2", &|o| o.of_p(|a, b, c| above_zero(plus(a * b, c)), Nearest));
    put("min.f16x2", &|o| o.of_p(|a, b, _| least(a, b), Nearest));
    put("max.NaN.f16x2", &|o| o.of_p(|a, b, _| nan_if_any(a, b, largest(a, b)), Nearest));
    // The sign of a NaN, which is open.
    let negated = |format: Format, of: &[f64; 2]| pair(of.map(|number| format.code(-number, Nearest)));
    put("neg.f16x2", &|o| negated(F16, &o.p[0]));
    put("abs.f16x2", &|o| o.of_p(|a, _, _| a.abs(), Nearest));
    put("mul.f16", &|o| F16.code(o.p[0][0] * o.p[1][0], Nearest) as i32);
    put("fma.rn.bf16x2", &|o| o.of_q(|a, b, c| plus(a * b, c), Nearest));
    put("max.bf16x2", &|o| o.of_q(|a, b, _| largest(a, b), Nearest));
    put("min.NaN.bf16x2", &|o| o.of_q(|a, b, _| nan_if_any(a, b, least(a, b)), Nearest));
    put("neg.bf16x2", &|o| negated(BF16, &o.q[0]));

    put("add.rn.bf16x2", &|o| o.of_q(|a, b, _| plus(a, b), Nearest));
    put("mul.bf16x2", &|o| o.of_q(|a, b, _| a * b, Nearest));
    put("sub.bf16", &|o| BF16.code(plus(o.q[0][0], -o.q[1][0]), Nearest) as i32);
    put("cvt.f32.bf16", &|o| single(o.q[0][0], Nearest));
    put("cvt.rn.satfinite.e4m3x2.f32", &|o| eights([o.b, o.a].map(|number| E4M3.finite(number))));
    put("cvt.rn.satfinite.e5m2x2.f32", &|o| eights([o.b, o.a].map(|number| E5M2.finite(number))));
    put("cvt.rn.satfinite.e4m3x2.f16x2", &|o| eights(o.p[0].map(|number| E4M3.finite(number))));
    // The largest number in place of those that are larger; what is cut off is never larger.
    let within = |format: Format, number: f64| match format.code(number, Nearest) {
        code if number.is_nan() => code,
        code => code & format.sign() | (code & (format.sign() - 1)).min(format.largest),
    };
    put("cvt.rn.satfinite.f16.f32", &|o| within(F16, o.a) as i32);
    put("cvt.rz.satfinite.bf16x2.f32", &|o| {
        pair([o.b, o.a].map(|number| BF16.code(number, Zero)).map(|code| match code & 0x7fff {
            0x7f80 => code - 1,
            _ => code,
        }))
    });
    let tf32 = Format { exponent: 8, fraction: 10, largest: 0x3_fbff };
    let wide = |o: &Lane, way| if o.a.is_nan() { 0x7fff_ffff } else { (tf32.code(o.a, way) << 13) as i32 };
    put("cvt.rn.tf32.f32", &|o| wide(o, Nearest));
    put("cvt.rz.tf32.f32", &|o| wide(o, Zero));
    put("cvt.sat.f64.f64", &|o| {
        let number = f64::from(f32::from_bits(SINGLES[(o.lane + 9) % LANES])) * 0.7;
        fold_number(if number.is_nan() { 0.0 } else { number.clamp(0.0, 1.0) + 0.0 })
    });
    let half = |format: Format, o: &Lane| {
        pair([o.v & 0xff, o.v >> 8 & 0xff].map(|code| F16.code(format.value(code as u32), Nearest)))
    };
    put("cvt.rn.f16x2.e4m3x2", &|o| half(E4M3, o));
    put("cvt.rn.f16x2.e5m2x2", &|o| half(E5M2, o));
    put("elect.sync", &|_| 11);
    put("add.rn.f32x2", &|o| single(sum(o.a, o.c, Nearest), Nearest));
    put("add.rn.f32x2", &|o| single(sum(o.b, o.c, Nearest), Nearest));
    let mut twice = |name, f: &dyn Fn(f64, f64, f64) -> f64, way: Way| {
        put(name, &|o| single(f(o.a, o.b, o.c), way));
        put(name, &|o| single(f(o.b, o.c, o.a), way));
    };
    // Pairs of a and b, of b and c, and of c and a.
    twice("mul.rz.f32x2", &|a, b, _| a * b, Zero);
    twice("fma.rn.f32x2", &|a, b, c| plus(a * b, c), Nearest);
    all
}
