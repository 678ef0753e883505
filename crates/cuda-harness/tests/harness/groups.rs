//! What cooperative groups of lanes are defined to give.

use crate::functions::LANES;

/// What each of the groups in `groups.cu` gives to each lane that has `v`, in its order.
pub fn defined(v: &[i32; LANES]) -> Vec<(&'static str, [i32; LANES])> {
    let each = |f: &dyn Fn(usize) -> i32| -> [i32; LANES] { std::array::from_fn(f) };
    // The eight of a lane.
    let of = |lane: usize| &v[lane / 8 * 8..lane / 8 * 8 + 8];
    let ranks = |lane: usize, holds: &dyn Fn(i32) -> bool| {
        of(lane).iter().enumerate().fold(0, |bits, (rank, value)| bits | i32::from(holds(*value)) << rank)
    };
    let sum = |values: &[i32]| values.iter().fold(0i32, |sum, value| sum.wrapping_add(*value));
    vec![
        ("shfl", each(&|lane| of(lane)[3])),
        ("shfl_up", each(&|lane| if lane % 8 >= 3 { v[lane - 3] } else { v[lane] })),
        ("shfl_down", each(&|lane| if lane % 8 < 5 { v[lane + 3] } else { v[lane] })),
        ("shfl_xor", each(&|lane| v[lane ^ 5])),
        ("any", each(&|lane| i32::from(lane / 8 == 1))),
        ("all", each(&|lane| i32::from(lane / 8 != 1))),
        ("ballot", each(&|lane| ranks(lane, &|value| value & 1 == 1))),
        ("match_any", each(&|lane| ranks(lane, &|value| value & 1 == v[lane] & 1))),
        ("match_all", each(&|lane| if lane < 8 { 255 } else { 0 })),
        ("do all match", each(&|lane| i32::from(lane < 8))),
        ("plus", each(&|lane| sum(of(lane)))),
        ("less", each(&|lane| of(lane).iter().copied().fold(i32::MAX, i32::min))),
        ("greater", each(&|lane| of(lane).iter().copied().fold(i32::MIN, i32::max))),
        ("bit_xor", each(&|lane| of(lane).iter().fold(0, |bits, value| bits ^ value))),
        ("inclusive_scan", each(&|lane| sum(&v[lane / 8 * 8..=lane]))),
        ("exclusive_scan", each(&|lane| v[lane / 8 * 8..lane].iter().map(|value| value & 255).sum())),
        ("ranks", each(&|lane| (1000 * (lane % 8) + 100 * (lane / 8) + 80 + lane % 8 / 2) as i32)),
        ("of two, shfl_xor", each(&|lane| v[lane ^ 1])),
        ("of two, ranks", each(&|lane| 40 + lane as i32 % 2)),
        ("of those together", *v),
        ("those together", [1; LANES]),
        ("of the block", each(&|lane| 100 + lane as i32)),
    ]
}
