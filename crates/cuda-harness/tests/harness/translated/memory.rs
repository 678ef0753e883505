//! Instructions on memory, on lanes that meet, and on matrices.

use super::*;

/// The product of two matrices of 16 and 8 rows, which lanes have in registers: of how many elements of a register each, and each element's number. What each
/// lane has of the result.
fn product(
    k: usize,
    each: usize,
    a: &dyn Fn(usize, usize, usize) -> f64,
    b: &dyn Fn(usize, usize, usize) -> f64,
) -> [[f64; 4]; LANES] {
    let (mut left, mut right) = (vec![[0.0; 16]; k], vec![[0.0; 8]; k]);
    for lane in 0..LANES {
        let (group, place) = (lane / 4, lane % 4);
        for register in 0..k / each / 4 {
            for i in 0..each {
                let column = register * 4 * each + place * each + i;
                right[column][group] = b(lane, register, i);
                left[column][group] = a(lane, 2 * register, i);
                left[column][group + 8] = a(lane, 2 * register + 1, i);
            }
        }
    }
    std::array::from_fn(|lane| {
        std::array::from_fn(|i| {
            let (row, column) = (lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
            (0..k).map(|k| left[k][row] * right[k][column]).sum()
        })
    })
}

/// The same of `translated_memory.cu`.
pub fn defined_memory(v: &[i32; LANES]) -> Results {
    let lanes = lanes(v);
    let mut all: Results = Vec::new();
    let mut put = |name: &'static str, f: &dyn Fn(&Lane) -> i32| {
        all.push((name, std::array::from_fn(|lane| f(&lanes[lane]))))
    };
    let ballot = |holds: &dyn Fn(usize) -> bool| {
        (0..LANES).filter(|lane| holds(*lane)).fold(0i32, |bits, lane| bits | 1 << lane)
    };
    let with = |o: &Lane| (o.lane % 3..LANES).step_by(3);

    // Where each lane reads from, if it does.
    let mut shuffle = |name, from: &dyn Fn(usize) -> Option<usize>| {
        put(name, &|o| v[from(o.lane).unwrap_or(o.lane)]);
        put(name, &|o| i32::from(from(o.lane).is_some()));
    };
    shuffle("SHUFFLE(\"idx\"", &|lane| Some((lane + 3) % 32).filter(|from| *from <= 9));
    shuffle("SHUFFLE(\"up\"", &|lane| (lane % 8 >= 3).then(|| lane - 3));
    shuffle("SHUFFLE(\"down\"", &|lane| (lane % 16 + 5 < 16).then(|| lane + 5));
    shuffle("SHUFFLE(\"bfly\"", &|lane| Some(lane ^ 6).filter(|from| *from <= lane / 4 * 4 + 3));
    shuffle("SHUFFLE(\"idx\"", &|lane| Some(lane % 3));
    put("shfl.sync.down.b32", &|o| v[if o.lane == 31 { 31 } else { o.lane + 1 }]);
    put("shfl.sync.bfly.b32", &|o| v[o.lane ^ 16]);

    put("vote.sync.all.pred", &|o| i32::from(o.lane % 3 != 1));
    put("vote.sync.any.pred", &|o| i32::from(o.lane % 3 == 1));
    put("vote.sync.uni.pred", &|_| 1);
    put("vote.sync.uni.pred", &|_| 0);
    put("vote.sync.ballot.b32", &|_| ballot(&|lane| v[lane] < 0));
    put("vote.sync.ballot.b32", &|o| ballot(&|lane| lane % 3 == o.lane % 3 && v[lane] >= 0));
    put("match.any.sync.b32", &|o| ballot(&|lane| lane % 3 == o.lane % 3 && v[lane] & 3 == o.v & 3));
    put("match.any.sync.b64", &|o| ballot(&|lane| v[lane] & 1 == o.v & 1));
    put("match.all.sync.b32", &|o| {
        if o.lane % 3 == 1 { ballot(&|lane| lane % 3 == 1).wrapping_add(2) } else { 0 }
    });
    let total = v.iter().fold(0i32, |sum, value| sum.wrapping_add(*value));
    put("redux.sync.add.s32", &|_| total);
    put("redux.sync.min.s32", &|o| with(o).map(|lane| v[lane]).min().expect("one"));
    put("redux.sync.max.u32", &|o| with(o).map(|lane| v[lane] as u32).max().expect("one") as i32);
    put("redux.sync.and.b32", &|o| with(o).fold(-1, |bits, lane| bits & (v[lane] | 255)));
    put("redux.sync.or.b32", &|o| with(o).fold(0, |bits, lane| bits | (v[lane] & 255)));
    put("redux.sync.xor.b32", &|_| v.iter().fold(0, |bits, value| bits ^ value));
    put("activemask.b32", &|_| 1);

    put("laneid", &|o| o.lane as i32);
    put("lanemask_lt", &|o| ballot(&|lane| lane < o.lane));
    put("lanemask_le", &|o| ballot(&|lane| lane <= o.lane));
    put("lanemask_gt", &|o| 1 << o.lane);
    put("lanemask_eq", &|o| 1 << o.lane);
    put("tid.x", &|o| o.lane as i32);
    put("clock64", &|_| 0);

    // Four words of a lane, byte by byte.
    let word = |o: &Lane, i: usize| [o.v, o.w, !o.v, !o.w][i];
    let byte = |o: &Lane, i: usize| word(o, i / 4).to_le_bytes()[i % 4];
    let half = |o: &Lane, i: usize| i16::from_le_bytes([byte(o, i), byte(o, i + 1)]);
    let long = |o: &Lane, i: usize| i64::from(word(o, i + 1)) << 32 | i64::from(word(o, i) as u32);
    let four =
        |of: [i32; 4]| (0..4).fold(0i32, |sum, i| sum.wrapping_add(of[i].wrapping_mul(2 * i as i32 + 1)));
    put("ld.shared.s8", &|o| i32::from(byte(o, 1) as i8));
    put("ld.shared.u8", &|o| i32::from(byte(o, 5)));
    put("ld.shared.s16", &|o| i32::from(half(o, 6)));
    put("ld.shared.u16", &|o| i32::from(half(o, 10) as u16));
    put("ld.shared.b16", &|o| i32::from(half(o, 4)));
    put("ld.shared::cta.s64", &|o| fold(long(o, 2)));
    put("ld.shared.s32", &|o| fold(i64::from(o.w)));
    put("ld.shared.v2.s16", &|o| 3 * i32::from(half(o, 4)) + i32::from(half(o, 6)));
    put("ld.shared.v4.u8", &|o| four(o.v.to_le_bytes().map(i32::from)));
    put("ld.shared.v4.s8", &|o| four(o.w.to_le_bytes().map(|byte| i32::from(byte as i8))));
    put("ld.volatile.shared.v2.b64", &|o| fold(long(o, 0)) ^ fold(long(o, 2)));
    put("ld.relaxed.cta.shared.u32", &|o| !o.w);
    put("ld.b32", &|o| o.w);
    put("cvta.shared.u64", &|o| !o.v);
    put("ld.shared.b32", &|o| o.v & 0xff | 0x6700 | o.w << 16);
    put("ld.shared.b32", &|o| o.lane as i32 | (o.v & 0xff) << 8 | o.v << 16);
    put("ld.acquire.cta.shared::cta.b64", &|o| fold(o.l));
    put("isspacep.shared", &|_| 3);
    put("isspacep.shared", &|_| 0);

    put("ld.global.ca.s32", &|o| o.v);
    put("ld.global.nc", &|o| four(std::array::from_fn(|i| v[o.lane / 4 * 4 + i])));
    put("ld.global.cg.v2.u32", &|o| v[o.lane / 2 * 2].wrapping_sub(v[o.lane / 2 * 2 + 1]));
    put("ld.global.cv.s8", &|o| o.v >> 24);
    put("ld.global.cs.u16", &|o| o.v >> 16);
    put("ld.relaxed.gpu.global.u32", &|o| v[31 - o.lane]);
    let two = |first: usize| i64::from(v[first + 1]) << 32 | i64::from(v[first] as u32);
    put("ld.acquire.sys.b64", &|o| fold(two(o.lane / 2 * 2)));
    put("ld.global.b128", &|o| fold(two(o.lane / 4 * 4)) ^ fold(two(o.lane / 4 * 4 + 2)));
    put("red.relaxed.gpu.global.add.s32", &|o| o.v.wrapping_add(5));
    put("atom.acq_rel.sys.global.exch.b32", &|o| o.w);
    put("atom.acq_rel.sys.global.exch.b32", &|o| o.v);
    put("atom.global.cas.b32", &|o| if o.v & 1 == 0 { o.w } else { o.v });

    // What was there, and what is there.
    let mut own = |name, f: &dyn Fn(&Lane) -> (i32, i32)| {
        put(name, &|o| {
            let (old, now) = f(o);
            old.wrapping_add(now.wrapping_mul(31))
        });
    };
    own("atom.shared.add.u32", &|o| (o.v, o.v.wrapping_add(o.w)));
    own("shared.min.s32", &|o| (o.v, o.v.min(o.w)));
    own("max.s32", &|o| (o.v, o.v.max(o.w)));
    own("shared.min.u32", &|o| (o.v, (o.v as u32).min(o.w as u32) as i32));
    own("shared.max.u32", &|o| (o.v, (o.v as u32).max(o.w as u32) as i32));
    own("atom.shared.and.b32", &|o| (o.v, o.v & o.w));
    own("atom.or.b32", &|o| (o.v, o.v | o.w));
    own("atom.shared.xor.b32", &|o| (o.v, o.v ^ o.w));
    own("shared.exch.b32", &|o| (o.v, o.w));
    own("atom.shared.cas.b32", &|o| (o.v, if o.v & 1 == 0 { o.w } else { o.v }));
    own("atom.shared.inc.u32", &|o| (o.lane as i32, if o.lane >= 9 { 0 } else { o.lane as i32 + 1 }));
    own("atom.shared.dec.u32", &|o| {
        (o.lane as i32, if o.lane == 0 || o.lane > 9 { 9 } else { o.lane as i32 - 1 })
    });
    own("atom.shared.add.f32", &|_| (3.140625f32.to_bits() as i32, 5.140625f32.to_bits() as i32));
    own("atom.shared.add.f32", &|o| {
        let old = 0x4b80_0000 + (o.w as u32 & 0x8000_0001);
        // Of 2^24 and 2^24 + 2, one more is in the middle, and the even one is a multiple of 4.
        (old as i32, (old + (o.w as u32 & 1)) as i32)
    });
    // To 2 and 1, 1 and -2.
    own("atom.shared.add.noftz.f16x2", &|_| (0x3c00_4000, 0xbc00_4200u32 as i32));
    let mut own_wide = |name, f: &dyn Fn(&Lane) -> (i64, i64)| {
        put(name, &|o| {
            let (old, now) = f(o);
            fold(old).wrapping_add(fold(now).wrapping_mul(31))
        });
    };
    own_wide("atom.shared.add.u64", &|o| (o.l, o.l.wrapping_add(o.m)));
    own_wide("atom.shared.max.u64", &|o| (o.l, (o.l as u64).max(o.m as u64) as i64));
    own_wide("atom.shared.or.b64", &|o| (o.l, o.l | o.m));
    own_wide("atom.shared.exch.b64", &|o| (o.l, o.m));
    own_wide("atom.shared.cas.b64", &|o| (o.l, if o.l & 1 == 0 { o.m } else { o.l }));

    put("red.shared.add.u32", &|_| total.wrapping_add(7));
    put("red.release.cta.shared.add.s32", &|_| total.wrapping_add(7));
    put("red.shared::cta.max.s32", &|_| v.iter().fold(7, |most, value| most.max(*value)));
    put("red.shared.max.u32", &|_| v.iter().fold(7u32, |most, value| most.max(*value as u32)) as i32);
    put("red.relaxed.cta.shared.xor.b32", &|_| v.iter().fold(7, |bits, value| bits ^ value));
    put("red.shared.and.b32", &|_| v.iter().fold(-1, |bits, value| bits & (value | 255)));
    // Three times round, and twice more.
    put("red.shared.inc.u32", &|_| 2);
    put("red.shared.dec.u32", &|_| 8);
    put("red.shared.add.f32", &|_| 496f32.to_bits() as i32);
    put("red.shared.add.u64", &|_| (0xffff_ffffu64 + 32 * 0x8000_0001) as i32);
    put("atom.shared.cas.b32 before", &|_| total.wrapping_add(5));

    put("ld.shared.v2.b32", &|o| v[o.lane / 2 * 2]);
    put("ld.shared.v4.b32", &|o| {
        four(std::array::from_fn(|i| if i < o.lane % 5 { v[o.lane / 4 * 4 + i] } else { 0 }))
    });
    put("mbarrier.test_wait.parity", &|_| 4 + 8 + 16);

    let halves = |word: i32| [word as u16, (word >> 16) as u16];
    let transposed = |of: &dyn Fn(usize) -> i32, o: &Lane| {
        // Row 2 p and the next one of column g, where lane l has g in l / 4 and p in l % 4.
        let (group, place) = (o.lane / 4, o.lane % 4);
        let at = |row: usize| u32::from(halves(of(4 * row + group / 2))[group % 2]);
        pair([at(2 * place), at(2 * place + 1)])
    };
    put("ldmatrix.sync.aligned.m8n8.x1.shared", &|o| o.v);
    put("ldmatrix.sync.aligned.m8n8.x1.trans", &|o| transposed(&|lane| v[lane], o));
    put("ldmatrix.sync.aligned.m8n8.x2.shared", &|o| o.v.wrapping_add(o.w.wrapping_mul(3)));
    put("ldmatrix.sync.aligned.m8n8.x4.trans", &|o| {
        four(std::array::from_fn(|i| transposed(&|lane| word(&lanes[lane], i), o)))
    });
    put("movmatrix.sync.aligned.m8n8.trans.b16", &|o| transposed(&|lane| v[lane], o));

    let left = |lane: usize, i: usize| {
        let (u, t) = (lanes[lane].v, lanes[lane].w);
        [u, t, (!u).wrapping_mul(3), t.wrapping_add(u)][i]
    };
    let right = |lane: usize, i: usize| [lanes[lane].w.wrapping_mul(5), lanes[lane].v ^ lanes[lane].w][i];
    let small = |word: i32, i: usize| f64::from((word >> (16 * i) & 7) - 3);
    let smalls = |k: usize, each: usize| {
        product(k, each, &|lane, r, i| small(left(lane, r), i), &|lane, r, i| small(right(lane, r), i))
    };
    let folded = |of: [f64; 4]| {
        let of = of.map(|number| number as i32);
        of[0] + 1000 * of[1] + 31 * of[2] + 31000 * of[3]
    };
    let mut multiply = |name, of: [[f64; 4]; LANES]| put(name, &|o| folded(of[o.lane]));
    let sums = smalls(16, 2);
    let begun = std::array::from_fn(|lane| {
        let first = [1.0, 2.0, 3.0, lane as f64];
        std::array::from_fn(|i| first[i] + sums[lane][i])
    });
    multiply("m16n8k16.row.col.f32.f16", begun);
    multiply("m16n8k16.row.col.f32.bf16", sums);
    multiply("m16n8k8.row.col.f32.f16", smalls(8, 2));
    multiply("m16n8k8.row.col.f32.tf32", smalls(8, 1));
    multiply("m16n8k4.row.col.f32.tf32", smalls(4, 1));
    put("m16n8k16.row.col.f16.f16", &|o| pair([0, 1].map(|i| F16.code(1.0 + sums[o.lane][i], Nearest))));
    put("m16n8k16.row.col.f16.f16", &|o| pair([2, 3].map(|i| F16.code(1.0 + sums[o.lane][i], Nearest))));
    let eighth = |word: i32, i: usize, signed: bool| {
        let byte = word.to_le_bytes()[i];
        if signed { f64::from(byte as i8) } else { f64::from(byte) }
    };
    let eights = |k: usize, a_signed: bool, b_signed: bool| {
        product(k, 4, &|lane, r, i| eighth(left(lane, r), i, a_signed), &|lane, r, i| {
            eighth(right(lane, r), i, b_signed)
        })
    };
    let mut integers = |name, of: [[f64; 4]; LANES], begins: bool| {
        put(name, &|o| four(of[o.lane].map(|number| number as i32 + if begins { o.lane as i32 } else { 0 })));
    };
    integers("m16n8k32.row.col.s32.s8.s8", eights(32, true, true), true);
    integers("m16n8k32.row.col.s32.u8.s8", eights(32, false, true), false);
    integers("m16n8k16.row.col.s32.s8.u8", eights(16, true, false), false);

    let few =
        |word: i32, i: usize| 64.0f64.sqrt() * E4M3.value(u32::from(word.to_le_bytes()[i]) & 0x87 | 0x38);
    let of_eight = product(32, 4, &|lane, r, i| few(left(lane, r), i), &|lane, r, i| few(right(lane, r), i));
    put("m16n8k32.row.col.f32.e4m3.e4m3", &|o| folded(of_eight[o.lane]));
    put("stmatrix.sync.aligned.m8n8.x2.trans", &|o| {
        let of = [&|lane: usize| lanes[lane].w, &|lane: usize| v[lane]] as [&dyn Fn(usize) -> i32; 2];
        transposed(of[0], o).wrapping_add(transposed(of[1], o).wrapping_mul(3))
    });
    // To the same, the same.
    put("atom.shared.add.noftz.bf16x2", &|_| {
        0x3f80_4000i32.wrapping_add(0xbf80_4040u32.wrapping_mul(31) as i32)
    });
    put("mbarrier.try_wait.parity", &|_| 2 + 4);
    all
}
