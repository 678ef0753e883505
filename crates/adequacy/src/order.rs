//! Orders of summation.

use crate::variants::random::Random;

/// How an implementation adds up the products of two rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One after the other.
    Forward,
    /// The last first.
    Reversed,
    /// Halves, halves of halves, and so on.
    Pairwise,
    /// One after the other with a running compensation.
    Kahan,
    /// So many lanes, of which each takes every so manieth term, and then the lanes pairwise: a warp.
    Lanes(usize),
    /// So many contiguous pieces, then the pieces one after the other: split-K.
    Split(usize),
    /// Pieces of this length, each added up by itself, then onto the running sum: K tiles.
    Tiles(usize),
    /// A random permutation.
    Shuffled(u64),
    /// A random binary tree: split at random places.
    Tree(u64),
    /// In binary64.
    Wide,
    /// Blocks of so many products, aligned with the running sum to the largest exponent and truncated, as tensor cores do.
    Truncating(usize),
}

impl Order {
    /// The sum of `x[i] * w[i]`; `fused` rounds each product together with its addition.
    pub fn dot(self, fused: bool, x: &[f32], w: &[f32]) -> f64 {
        let n = x.len().min(w.len());
        let (x, w) = (x.get(..n).unwrap_or_default(), w.get(..n).unwrap_or_default());
        match self {
            Order::Wide => x.iter().zip(w).map(|(&x, &w)| f64::from(x) * f64::from(w)).sum(),
            Order::Truncating(block) => truncating(block, 23, 0.0, x, w),
            Order::Shuffled(seed) => {
                let order = Random::new(seed).permutation(n);
                let pick = |from: &[f32]| -> Vec<f32> {
                    order.iter().filter_map(|&i| from.get(i)).copied().collect()
                };
                f64::from(forward(fused, 0.0, &pick(x), &pick(w)))
            }
            _ => f64::from(self.narrow(fused, x, w)),
        }
    }

    fn narrow(self, fused: bool, x: &[f32], w: &[f32]) -> f32 {
        let n = x.len();
        match self {
            Order::Reversed => x.iter().zip(w).rev().fold(0.0, |sum, (&x, &w)| step(fused, sum, x, w)),
            Order::Pairwise => halves(fused, x, w, &mut |n| n / 2),
            Order::Tree(seed) => {
                let mut random = Random::new(seed);
                halves(fused, x, w, &mut |n| 1 + random.below(n as u64 - 1) as usize)
            }
            Order::Kahan => {
                let (mut sum, mut lost) = (0f32, 0f32);
                for (&x, &w) in x.iter().zip(w) {
                    let term = if fused { x.mul_add(w, -lost) } else { x * w - lost };
                    let next = sum + term;
                    // Nothing is lost from an infinite sum.
                    lost = if next.is_finite() { (next - sum) - term } else { 0.0 };
                    sum = next;
                }
                sum
            }
            Order::Lanes(lanes) => {
                let lane = |lane: usize| {
                    let pairs = x.iter().zip(w).skip(lane).step_by(lanes.max(1));
                    pairs.fold(0.0, |sum, (&x, &w)| step(fused, sum, x, w))
                };
                let mut sums: Vec<f32> = (0..lanes.max(1)).map(lane).collect();
                // The butterfly of a warp.
                while sums.len() > 1 {
                    let upper = sums.split_off(sums.len().div_ceil(2));
                    sums.iter_mut().zip(upper).for_each(|(sum, other)| *sum += other);
                }
                sums.first().copied().unwrap_or_default()
            }
            Order::Split(pieces) => pieces_of(fused, x, w, n.div_ceil(pieces.max(1)).max(1)),
            Order::Tiles(length) => pieces_of(fused, x, w, length.max(1)),
            _ => forward(fused, 0.0, x, w),
        }
    }

    /// The sum of terms.
    pub fn sum(self, terms: &[f32]) -> f64 {
        self.dot(false, terms, &vec![1.0; terms.len()])
    }
}

fn step(fused: bool, sum: f32, x: f32, w: f32) -> f32 {
    if fused { x.mul_add(w, sum) } else { sum + x * w }
}

fn forward(fused: bool, start: f32, x: &[f32], w: &[f32]) -> f32 {
    x.iter().zip(w).fold(start, |sum, (&x, &w)| step(fused, sum, x, w))
}

fn pieces_of(fused: bool, x: &[f32], w: &[f32], length: usize) -> f32 {
    x.chunks(length).zip(w.chunks(length)).fold(0.0, |sum, (x, w)| sum + forward(fused, 0.0, x, w))
}

fn halves(fused: bool, x: &[f32], w: &[f32], cut: &mut dyn FnMut(usize) -> usize) -> f32 {
    if x.len() < 2 {
        return forward(fused, 0.0, x, w);
    }
    let at = cut(x.len());
    let ((x1, x2), (w1, w2)) = (x.split_at(at), w.split_at(at));
    halves(fused, x1, w1, cut) + halves(fused, x2, w2, cut)
}

/// `start` and products, which are exact; each block of them and the running sum are shifted to the largest exponent among them, cut
/// below so many bits behind the point, added exactly, and cut to the 24 bits of binary32.
pub fn truncating(block: usize, fraction_bits: i32, start: f64, x: &[f32], w: &[f32]) -> f64 {
    let block = block.max(1);
    let mut sum = start;
    for (x, w) in x.chunks(block).zip(w.chunks(block)) {
        let mut addends: Vec<f64> = x.iter().zip(w).map(|(&x, &w)| f64::from(x) * f64::from(w)).collect();
        addends.push(sum);
        let largest = addends.iter().fold(0.0, |largest: f64, addend| largest.max(addend.abs()));
        if addends.iter().any(|addend| !addend.is_finite()) || largest == 0.0 {
            sum = f64::from(addends.iter().sum::<f64>() as f32);
            continue;
        }
        let quantum = place(largest, fraction_bits);
        let aligned: f64 = addends.iter().map(|addend| (addend / quantum).trunc()).sum::<f64>() * quantum;
        // 24 bits of the result, or fewer where it is a binary32 subnormal.
        let kept = place(aligned, 23).max(libm::scalbn(1.0, -149));
        let total = (aligned / kept).trunc() * kept;
        sum = if total.abs() > f64::from(f32::MAX) { f64::from(total as f32) } else { total };
    }
    sum
}

/// The weight of a bit of a number, so many places behind the leading one.
fn place(number: f64, behind: i32) -> f64 {
    libm::scalbn(1.0, libm::ilogb(number).max(-1000) - behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: [Order; 11] = [
        Order::Forward,
        Order::Reversed,
        Order::Pairwise,
        Order::Kahan,
        Order::Lanes(32),
        Order::Split(7),
        Order::Tiles(64),
        Order::Shuffled(1),
        Order::Tree(2),
        Order::Wide,
        Order::Truncating(8),
    ];

    #[test]
    fn small_integers_sum_to_the_same_in_every_order() {
        for n in [0, 1, 2, 31, 64, 257] {
            let x: Vec<f32> = (0..n).map(|i| (i % 7) as f32 - 3.0).collect();
            let w: Vec<f32> = (0..n).map(|i| (i % 5) as f32 - 2.0).collect();
            let exact: f32 = x.iter().zip(&w).map(|(x, w)| x * w).sum();
            for order in ORDERS {
                for fused in [false, true] {
                    assert_eq!(order.dot(fused, &x, &w), f64::from(exact), "{order:?} of {n}");
                }
            }
        }
    }

    #[test]
    fn orders_round_differently_and_within_the_bound() {
        let mut random = Random::new(3);
        let mut row = || -> Vec<f32> { (0..1000).map(|_| random.unit() as f32 - 0.5).collect() };
        let (x, w) = (row(), row());
        let products: Vec<f64> = x.iter().zip(&w).map(|(&x, &w)| f64::from(x) * f64::from(w)).collect();
        let exact: f64 = products.iter().sum();
        let magnitude: f64 = products.iter().map(|product| product.abs()).sum();
        let mut found = std::collections::BTreeSet::new();
        for order in ORDERS {
            let sum = order.dot(false, &x, &w);
            let unit = if matches!(order, Order::Truncating(_)) { 4.0 } else { 1.0 } / f64::from(1 << 24);
            assert!((sum - exact).abs() <= 1001.0 * unit * magnitude, "{order:?}");
            found.insert(sum.to_bits());
        }
        assert!(found.len() >= 6, "{found:?}");
    }

    #[test]
    fn truncation_is_towards_zero_at_24_bits() {
        let tiny = 2f32.powi(-30);
        assert_eq!(Order::Truncating(4).dot(false, &[1.0, tiny, tiny], &[1.0; 3]), 1.0);
        assert_eq!(Order::Truncating(4).dot(false, &[1.0, -tiny, -tiny], &[1.0; 3]), 1.0);
        assert_eq!(Order::Truncating(4).dot(false, &[f32::INFINITY, 1.0], &[1.0; 2]), f64::INFINITY);
        let least = f32::from_bits(1);
        assert_eq!(Order::Truncating(4).dot(false, &[least, least], &[1.0; 2]), f64::from(f32::from_bits(2)));
    }

    #[test]
    fn what_is_beyond_the_bits_of_an_adder_is_lost_and_so_is_what_binary32_does_not_hold() {
        let place = |bits: i32| 2f32.powi(-bits);
        // Four products of a place that the adder has not, and that it has.
        assert_eq!(truncating(4, 21, 1.0, &[place(22); 4], &[1.0; 4]), 1.0);
        assert_eq!(truncating(4, 22, 1.0, &[place(22); 4], &[1.0; 4]), 1.0 + f64::from(place(20)));
        // The adder keeps one of 2^-25, the result does not; of eight at once it keeps them.
        assert_eq!(truncating(1, 25, 1.0, &[place(25); 8], &[1.0; 8]), 1.0);
        assert_eq!(truncating(8, 25, 1.0, &[place(25); 8], &[1.0; 8]), 1.0 + f64::from(place(22)));
    }
}
