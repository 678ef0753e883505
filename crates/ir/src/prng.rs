//! Pseudo-random numbers: the one generator of the repository (clause CON-09).
//!
//! Every family of the corpus draws from its own SplitMix64 stream. The stream is seeded from the family's id, so adding a
//! family, or drawing more numbers in one, never changes what another family generates.

/// Increment of the SplitMix64 state.
const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// A SplitMix64 generator.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// Starts a stream at `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The stream of a family: the FNV-1a 64 hash of its id, xor the corpus seed.
    pub fn for_family(family: &str, corpus_seed: u64) -> Self {
        Self::new(fnv1a64(family.as_bytes()) ^ corpus_seed)
    }

    /// The stream that goes on with value number `n`, counted from 0, of the stream that starts at `seed`.
    pub const fn nth(seed: u64, n: u64) -> Self {
        Self { state: seed.wrapping_add(GOLDEN_GAMMA.wrapping_mul(n)) }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`: the high 64 bits of the next number times `n` (0 when `n` is 0).
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// A position in something of length `len`: [`SplitMix64::below`] for a `usize`.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// A number in `low..=high`, for sizes and counts.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below((high.saturating_sub(low) as u64).saturating_add(1)) as usize
    }

    /// One entry of `items`; `None` when it is empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.index(items.len()))
    }

    /// Puts the items in any order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }
}

/// FNV-1a, 64 bits.
pub fn fnv1a64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_gives_the_published_sequence_for_seed_0() {
        let mut prng = SplitMix64::new(0);
        let first: Vec<u64> = (0..5).map(|_| prng.next_u64()).collect();
        assert_eq!(
            first,
            [
                0xE220_A839_7B1D_CDAF,
                0x6E78_9E6A_A1B9_65F4,
                0x06C4_5D18_8009_454F,
                0xF88B_B8A8_724C_81EC,
                0x1B39_896A_51A8_749B
            ]
        );
    }

    #[test]
    fn a_stream_can_go_on_anywhere() {
        let mut prng = SplitMix64::new(7);
        for n in 0..5 {
            assert_eq!(prng.next_u64(), SplitMix64::nth(7, n).next_u64());
        }
    }

    #[test]
    fn fnv1a64_gives_the_published_values() {
        assert_eq!(fnv1a64(b""), 0xCBF2_9CE4_8422_2325);
        assert_eq!(fnv1a64(b"a"), 0xAF63_DC4C_8601_EC8C);
        assert_eq!(fnv1a64(b"foobar"), 0x8594_4171_F739_67E8);
    }

    #[test]
    fn below_takes_the_high_half_of_the_product() {
        let mut prng = SplitMix64::new(0);
        // 0xE220A8397B1DCDAF is about 0.8833 of 2^64.
        assert_eq!(prng.below(1000), 883);
        assert_eq!(SplitMix64::new(7).below(0), 0);
        assert!((0..1000).all(|seed| SplitMix64::new(seed).below(3) < 3));
    }

    #[test]
    fn shuffles_reach_every_order() {
        let mut prng = SplitMix64::new(3);
        let mut orders = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let mut items = [0, 1, 2];
            prng.shuffle(&mut items);
            orders.insert(items);
        }
        assert_eq!(orders.len(), 6);
    }

    #[test]
    fn families_draw_from_different_streams() {
        let a = SplitMix64::for_family("race/first-k-of-n", 0).next_u64();
        let b = SplitMix64::for_family("race/drop-wait", 0).next_u64();
        assert_ne!(a, b);
    }
}
