//! The property that probes are built for, checked by brute force: each fault is made, by other means than the
//! generator's, and the result compared as the output's dtype stores it.

use megakernel_ir::DType;
use megakernel_numerics::encode;

use super::*;
use crate::builder::FLOATS;

fn signed(limit: i64) -> Vec<i64> {
    (-limit..=limit).filter(|v| *v != 0).collect()
}

fn small(m: usize, n: usize, k: usize) -> Probe {
    let shape = Shape { m, n, k, x: vec![1, 2, 3, 4], w: signed(7), reach: 0 };
    probe(&mut SplitMix64::new(k as u64), &shape).expect("a probe")
}

/// Whether every dtype stores the two sums differently.
fn told_apart(wrong: i64, right: i64) -> bool {
    FLOATS.iter().all(|&dtype| encode(dtype, wrong as f64) != encode(dtype, right as f64))
}

/// What the sum changes by if the operands of the places `[start, start + len)` come from `from` on, each or both.
fn stale(x: &[i64], w: &[i64], start: usize, len: usize, from: usize, (of_x, of_w): (bool, bool)) -> i64 {
    (0..len)
        .map(|i| {
            let (here, there) = (start + i, from + i);
            x[if of_x { there } else { here }] * w[if of_w { there } else { here }] - x[here] * w[here]
        })
        .sum()
}

#[track_caller]
fn assert_tells(x: &[i64], w: &[i64], tile: usize) {
    let right: i64 = x.iter().zip(w).map(|(x, w)| x * w).sum();
    assert!(right != 0 && right.abs() <= LIMIT, "{right}");
    for start in (0..x.len()).step_by(tile) {
        let end = (start + tile).min(x.len());
        let part: i64 = (start..end).map(|k| x[k] * w[k]).sum();
        assert!(told_apart(right - part, right), "dropped: {start}..{end}");
        assert!(told_apart(right + part, right), "repeated: {start}..{end}");
        for (of_x, of_w) in [(true, false), (false, true), (true, true)] {
            // Only x stale, where x is the same everywhere, is no fault.
            if of_x && !of_w && x.iter().all(|v| *v == 1) {
                continue;
            }
            if let Some(before) = start.checked_sub(tile) {
                let wrong = right + stale(x, w, start, end - start, before, (of_x, of_w));
                assert!(told_apart(wrong, right), "{start}..{end} from {before}, x {of_x}, w {of_w}");
            }
            let after = start + tile;
            if after < x.len() {
                let len = (x.len() - after).min(tile);
                let wrong = right + stale(x, w, start, len, after, (of_x, of_w));
                assert!(told_apart(wrong, right), "{start}..{end} from {after}, x {of_x}, w {of_w}");
            }
        }
    }
}

#[test]
fn every_k_and_every_aligned_tile_of_a_long_probe_tells() {
    for k in [64, 100, 1000, 8192] {
        let found = small(2, 2, k);
        for (x, y) in found.x.iter().zip(&found.y) {
            for (w, y) in found.w.iter().zip(y) {
                assert_eq!(x.iter().zip(w).map(|(x, w)| x * w).sum::<i64>(), *y);
                assert_tells(x, w, 1);
                TILES.iter().for_each(|&tile| assert_tells(x, w, tile));
            }
        }
    }
}

#[test]
fn every_row_of_an_exact_mean_tells() {
    let shape = Shape { m: 1, n: 3, k: 128, x: vec![1], w: signed(7), reach: 0 };
    let found = sums(&mut SplitMix64::new(3), &shape).expect("a probe");
    for w in &found.w {
        assert_tells(&vec![1; 128], w, 1);
        TILES.iter().for_each(|&tile| assert_tells(&vec![1; 128], w, tile));
    }
}

#[test]
fn accumulators_of_16_bits_lose_what_large_probes_sum_up() {
    let magnitudes: Vec<i64> = (33..=127).step_by(2).chain([1, 2, 3]).collect();
    for k in [64, 1000, 8192] {
        let w = signed(if k > 4096 { 31 } else { 63 });
        let shape = Shape { m: 1, n: 3, k, x: magnitudes.clone(), w, reach: 20_000 };
        let found = probe(&mut SplitMix64::new(5), &shape).expect("a probe");
        for w in &found.w {
            let x = &found.x[0];
            let right: i64 = x.iter().zip(w).map(|(x, w)| x * w).sum();
            let magnitude: i64 = x.iter().zip(w).map(|(x, w)| (x * w).abs()).sum();
            assert!(magnitude <= 1 << 24, "the sum is not exact: {magnitude}");
            for (dtype, tile) in [(DType::BF16, 1), (DType::F16, 1), (DType::BF16, 16), (DType::F16, 16)] {
                let wrong = accumulated(x, w, dtype, tile);
                assert!(
                    FLOATS.iter().all(|&to| encode(to, wrong) != encode(to, right as f64)),
                    "{dtype} after each {tile} of {k}: {wrong} for {right}"
                );
            }
        }
    }
}

#[test]
fn a_shape_without_room_is_an_error() {
    let shape = Shape { m: 1, n: 1, k: 64, x: vec![2], w: vec![-2, 2], reach: 0 };
    assert!(probe(&mut SplitMix64::new(0), &shape).is_err());
}
