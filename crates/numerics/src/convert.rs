//! Conversions between the float dtypes and binary64 (clauses NUM-01 to NUM-04).

use crate::DType;

/// Fraction bits of binary64.
const F64_FRACTION: u32 = 52;
/// Exponent bias of binary64.
const F64_BIAS: i32 = 1023;

/// How a float dtype lays out its bits: sign, exponent, fraction, from the highest bit.
///
/// A *magnitude* below is the bits without the sign; magnitudes are in the order of the values that they stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatFormat {
    /// Bits of an element.
    pub bits: u32,
    /// Bits of the fraction, the leading one not counted.
    pub fraction_bits: u32,
    /// Exponent of the smallest normal number.
    pub min_exponent: i32,
    /// Magnitude of the largest finite number.
    pub largest: u32,
    /// Magnitude that stands for all that is too large: infinity, or NaN in a format without infinities.
    pub overflow: u32,
    /// Magnitude of the NaN that this library writes.
    pub nan: u32,
}

impl FloatFormat {
    /// The format of a float dtype; none for integers and BOOL.
    pub const fn of(dtype: DType) -> Option<FloatFormat> {
        match dtype {
            DType::F32 => Some(FloatFormat::ieee(8, 23)),
            DType::F16 => Some(FloatFormat::ieee(5, 10)),
            DType::BF16 => Some(FloatFormat::ieee(8, 7)),
            DType::F8E5M2 => Some(FloatFormat::ieee(5, 2)),
            DType::F8E4M3 => Some(FloatFormat {
                bits: 8,
                fraction_bits: 3,
                min_exponent: -6,
                largest: 0x7e,
                overflow: 0x7f,
                nan: 0x7f,
            }),
            DType::I32 | DType::I8 | DType::I4 | DType::U8 | DType::Bool => None,
        }
    }

    /// A format after IEEE 754: the highest exponent holds the infinity and the NaNs.
    const fn ieee(exponent_bits: u32, fraction_bits: u32) -> FloatFormat {
        let infinity = ((1 << exponent_bits) - 1) << fraction_bits;
        FloatFormat {
            bits: 1 + exponent_bits + fraction_bits,
            fraction_bits,
            min_exponent: 2 - (1 << (exponent_bits - 1)),
            largest: infinity - 1,
            overflow: infinity,
            nan: infinity | 1 << (fraction_bits - 1),
        }
    }

    /// The bit of the sign.
    pub const fn sign(self) -> u32 {
        1 << (self.bits - 1)
    }

    /// The bits without the sign, and without what lies above an element.
    pub const fn magnitude(self, bits: u32) -> u32 {
        bits & (self.sign() - 1)
    }

    /// Whether the format has infinities.
    pub const fn has_infinity(self) -> bool {
        self.overflow != self.nan
    }

    /// Whether these bits are a NaN.
    pub const fn is_nan(self, bits: u32) -> bool {
        self.magnitude(bits) > if self.has_infinity() { self.overflow } else { self.largest }
    }

    /// Exponent of the largest number.
    const fn max_exponent(self) -> i32 {
        (self.largest >> self.fraction_bits) as i32 - 1 + self.min_exponent
    }

    /// The value of a magnitude, read as finite even where it stands for an overflow: then it is the number that would
    /// follow the largest one.
    pub(super) fn finite(self, magnitude: u32) -> f64 {
        let fraction = magnitude & ((1 << self.fraction_bits) - 1);
        match (magnitude >> self.fraction_bits) as i32 {
            0 => f64::from(fraction) * power_of_two(self.min_exponent - self.fraction_bits as i32),
            field => {
                let exponent = (field - 1 + self.min_exponent + F64_BIAS) as u64;
                let fraction = u64::from(fraction) << (F64_FRACTION - self.fraction_bits);
                f64::from_bits(exponent << F64_FRACTION | fraction)
            }
        }
    }

    fn decode(self, bits: u32) -> f64 {
        let magnitude = self.magnitude(bits);
        let value = if self.is_nan(bits) {
            f64::NAN
        } else if magnitude == self.overflow {
            f64::INFINITY
        } else {
            self.finite(magnitude)
        };
        if bits & self.sign() == 0 { value } else { -value }
    }

    fn encode(self, value: f64) -> u32 {
        let sign = if value.is_sign_negative() { self.sign() } else { 0 };
        let magnitude = if value.is_nan() {
            self.nan
        } else if value.is_infinite() {
            self.overflow
        } else {
            self.round(value.to_bits() & !(1 << 63)).min(self.overflow)
        };
        sign | magnitude
    }

    /// The magnitude nearest to a finite binary64 without its sign, ties to even, as if exponents had no upper end.
    fn round(self, bits: u64) -> u32 {
        let fraction = bits & ((1 << F64_FRACTION) - 1);
        let field = (bits >> F64_FRACTION) as i32;
        if field == 0 {
            // A subnormal binary64 is far below half of the smallest number of any format.
            return 0;
        }
        // The value is significand * 2^(exponent - 52).
        let significand = fraction | 1 << F64_FRACTION;
        let exponent = field - F64_BIAS;
        if exponent > self.max_exponent() {
            return self.overflow;
        }
        // How many binades above the smallest normal one; the subnormal numbers share its spacing.
        let binade = (exponent - self.min_exponent).max(0);
        // Low bits of the significand that lie below the spacing of the format's numbers.
        let dropped = (F64_FRACTION - self.fraction_bits) as i32 + (self.min_exponent - exponent).max(0);
        if dropped > F64_FRACTION as i32 + 1 {
            return 0;
        }
        let kept = significand >> dropped;
        let rest = significand & ((1 << dropped) - 1);
        let half = 1 << (dropped - 1);
        let up = rest > half || (rest == half && kept & 1 == 1);
        // A carry out of the fraction goes into the exponent, which is the next binade, as it should be.
        ((binade as u32) << self.fraction_bits) + kept as u32 + u32::from(up)
    }
}

/// 2^n as a binary64, for normal results.
const fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((n + F64_BIAS) as u64) << F64_FRACTION)
}

/// The value of an element from its bits, which stand in the low end of `bits`; what lies above them is not read.
///
/// Integers give their value. I4 gives the nibble as it stands, 0 to 15: its sign depends on the opcode.
pub fn decode(dtype: DType, bits: u32) -> f64 {
    match FloatFormat::of(dtype) {
        Some(format) => format.decode(bits),
        None => int(dtype, bits) as f64,
    }
}

/// The value of an element of an integer dtype or BOOL from its bits, as in [`decode`].
pub(super) fn int(dtype: DType, bits: u32) -> i64 {
    match dtype {
        DType::I32 => i64::from(bits as i32),
        DType::I8 => i64::from(bits as i8),
        DType::I4 => i64::from(bits & 0xf),
        _ => i64::from(bits as u8),
    }
}

/// The element of a float dtype nearest to `value`, ties to even (clause NUM-02).
///
/// What is too large becomes an infinity, in F8E4M3 a NaN. A NaN keeps its sign and nothing else. An integer dtype
/// holds no reals: the result is 0 and means nothing.
pub fn encode(dtype: DType, value: f64) -> u32 {
    FloatFormat::of(dtype).map_or(0, |format| format.encode(value))
}

/// [`encode`] of a binary32: every binary32 is a binary64, so nothing is rounded on the way.
pub fn encode_f32(dtype: DType, value: f32) -> u32 {
    encode(dtype, f64::from(value))
}

/// Whether an element is a NaN; never so for integer dtypes.
pub fn is_nan(dtype: DType, bits: u32) -> bool {
    FloatFormat::of(dtype).is_some_and(|format| format.is_nan(bits))
}

/// The unit in the last place of a float dtype at the real `value` (clause NUM-04).
///
/// It is the distance between the two numbers of the dtype around `value`, the larger one at a power of two. Below the
/// normal numbers it is the smallest subnormal number, beyond the largest number it is that of the largest. NaN for a
/// NaN; 1 for integer dtypes.
pub fn ulp(dtype: DType, value: f64) -> f64 {
    let Some(format) = FloatFormat::of(dtype) else { return 1.0 };
    if value.is_nan() {
        return f64::NAN;
    }
    let field = (value.to_bits() >> F64_FRACTION & 0x7ff) as i32;
    // A subnormal binary64 has field 0 and ends at the lower limit, an infinity at the upper one.
    let exponent = (field - F64_BIAS).clamp(format.min_exponent, format.max_exponent());
    power_of_two(exponent - format.fraction_bits as i32)
}
