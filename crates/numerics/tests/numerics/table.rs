//! The numbers of the narrow float dtypes, made by counting up: the tests' own view of the formats.

use megakernel_numerics::DType::{self, BF16, F8E4M3, F8E5M2, F16};

/// The float dtypes that are narrower than binary32.
pub const NARROW: [DType; 4] = [F16, BF16, F8E4M3, F8E5M2];

/// The numbers of a dtype from 0 up, and behind the largest the one that would follow it.
pub struct Table {
    pub values: Vec<f64>,
    pub sign: u32,
    pub overflow_is_nan: bool,
}

impl Table {
    pub fn new(dtype: DType) -> Table {
        // Fraction bits, exponent of the smallest subnormal number, largest number, the sign bit.
        let (fraction, smallest, largest, sign) = match dtype {
            F16 => (10, -24, 65504.0, 0x8000),
            BF16 => (7, -133, f64::from(f32::from_bits(0x7f7f_0000)), 0x8000),
            F8E4M3 => (3, -9, 448.0, 0x80),
            F8E5M2 => (2, -16, 57344.0, 0x80),
            _ => unreachable!("no narrow float"),
        };
        let mut values = vec![0.0];
        let mut spacing = 2f64.powi(smallest);
        let binade = 1 << fraction;
        while values.last() <= Some(&largest) {
            // The subnormal numbers and the first binade share a spacing; then it doubles with each binade.
            if values.len() > binade && values.len() % binade == 1 {
                spacing *= if values.len() == binade + 1 { 1.0 } else { 2.0 };
            }
            values.push(values[values.len() - 1] + spacing);
        }
        assert_eq!(values[values.len() - 2], largest);
        Table { values, sign, overflow_is_nan: dtype == F8E4M3 }
    }

    /// Bits of the largest number.
    pub fn largest(&self) -> u32 {
        self.values.len() as u32 - 2
    }

    /// The element nearest to `x >= 0`, by search.
    pub fn nearest(&self, x: f64) -> u32 {
        let above = self.values.partition_point(|&value| value < x).min(self.values.len() - 1);
        if self.values[above] <= x {
            return above as u32;
        }
        let below = above - 1;
        let middle = (self.values[below] + self.values[above]) / 2.0;
        let up = x > middle || (x == middle && above % 2 == 0);
        if up { above as u32 } else { below as u32 }
    }
}
