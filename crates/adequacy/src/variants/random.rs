//! Pseudo-random numbers for orders and schedules. The corpus has a generator of its own (clause CON-09); what a
//! variant draws does not have to be the same for anybody else.

/// A xorshift generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence for each seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03 | 1)
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// A number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        self.bits() as f64 / u64::MAX as f64
    }

    /// One of some things; the first if there are none but it.
    pub fn pick<T: Copy>(&mut self, first: T, others: &[T]) -> T {
        let chosen = self.below(1 + others.len() as u64) as usize;
        chosen.checked_sub(1).and_then(|at| others.get(at)).copied().unwrap_or(first)
    }

    /// The numbers below `n` in a random order.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i as u64 + 1) as usize);
        }
        order
    }
}
