//! What the instructions of `translated.cu` and `translated_memory.cu` give, from the definitions of PTX ISA alone.

use crate::functions::LANES;

mod memory;
mod numbers;

pub use memory::defined_memory;
pub use numbers::defined;

type Results = Vec<(&'static str, [i32; LANES])>;

/// How a number is rounded that is none of its type: to the nearest, to zero, down, or up.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Nearest,
    Zero,
    Down,
    Up,
}
use Way::{Down, Nearest, Up, Zero};

/// Bits of an exponent and of a fraction, and the largest code of a number.
#[derive(Clone, Copy)]
struct Format {
    exponent: i32,
    fraction: i32,
    largest: u32,
}

const F32: Format = Format { exponent: 8, fraction: 23, largest: 0x7f7f_ffff };
const F16: Format = Format { exponent: 5, fraction: 10, largest: 0x7bff };
const BF16: Format = Format { exponent: 8, fraction: 7, largest: 0x7f7f };
const E4M3: Format = Format { exponent: 4, fraction: 3, largest: 0x7e };
const E5M2: Format = Format { exponent: 5, fraction: 2, largest: 0x7b };

impl Format {
    fn sign(self) -> u32 {
        1 << (self.exponent + self.fraction)
    }

    fn least(self) -> i32 {
        2 - (1 << (self.exponent - 1))
    }

    /// The number of a code.
    fn value(self, code: u32) -> f64 {
        let magnitude = code & (self.sign() - 1);
        let (exponent, fraction) =
            (magnitude >> self.fraction, f64::from(magnitude & ((1 << self.fraction) - 1)));
        let unit = f64::from(self.least() - self.fraction).exp2();
        let value = if magnitude > self.largest {
            if magnitude == self.largest + 1 && self.largest != E4M3.largest {
                f64::INFINITY
            } else {
                f64::NAN
            }
        } else if exponent == 0 {
            fraction * unit
        } else {
            (fraction + f64::from(self.fraction).exp2()) * unit * f64::from(exponent - 1).exp2()
        };
        if code & self.sign() != 0 { -value } else { value }
    }

    /// The code of a number, of which a binary64 that has been rounded to odd tells enough. NaN has all bits but the sign.
    fn code(self, exact: f64, way: Way) -> u32 {
        if exact.is_nan() {
            return self.sign() - 1;
        }
        let sign = if exact.is_sign_negative() { self.sign() } else { 0 };
        if exact == 0.0 {
            return sign;
        }
        if exact.is_infinite() {
            return sign | (self.largest + 1);
        }
        let bits = exact.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as i32 - 1023;
        assert!(exponent > -1023, "no subnormal number of binary64");
        let significand = bits & ((1 << 52) - 1) | 1 << 52;
        let unit = exponent.max(self.least()) - self.fraction;
        let shift = (unit - (exponent - 52)).min(60);
        let (kept, rest, half) =
            (significand >> shift, significand & ((1 << shift) - 1), 1u64 << (shift - 1));
        let away = match way {
            Nearest => rest > half || (rest == half && kept % 2 == 1),
            Zero => false,
            Down => rest != 0 && sign != 0,
            Up => rest != 0 && sign == 0,
        };
        let code = (((unit - self.least() + self.fraction) as u64) << self.fraction) + kept + u64::from(away);
        if code <= u64::from(self.largest) {
            return sign | code as u32;
        }
        let infinite = match way {
            Nearest => true,
            Zero => false,
            Down => sign != 0,
            Up => sign == 0,
        };
        sign | (self.largest + u32::from(infinite))
    }

    /// The same, with the largest number where there is none.
    fn finite(self, exact: f64) -> u32 {
        let code = self.code(exact, Nearest);
        if exact.is_nan() { 0x7f } else { code & self.sign() | (code & (self.sign() - 1)).min(self.largest) }
    }
}

/// A number that is off by an error, to odd: that of the two beside the exact one whose last bit is 1.
fn odd(near: f64, error: f64) -> f64 {
    if error == 0.0 || !near.is_finite() || near.to_bits() % 2 == 1 {
        return near;
    }
    let away = (error > 0.0) == (near > 0.0);
    f64::from_bits(if away { near.to_bits() + 1 } else { near.to_bits() - 1 })
}

fn sum(a: f64, b: f64, way: Way) -> f64 {
    let near = a + b;
    if near == 0.0 && (a != 0.0 || a.is_sign_negative() != b.is_sign_negative()) {
        return if way == Down { -0.0 } else { 0.0 };
    }
    let part = near - a;
    odd(near, if near.is_finite() { (a - (near - part)) + (b - part) } else { 0.0 })
}

fn quotient(a: f64, b: f64) -> f64 {
    let near = a / b;
    if near == 0.0 || !near.is_finite() || b.is_infinite() {
        near
    } else {
        odd(near, (-near).mul_add(b, a) * b.signum())
    }
}

fn root(a: f64) -> f64 {
    let near = a.sqrt();
    if near == 0.0 || !near.is_finite() { near } else { odd(near, (-near).mul_add(near, a)) }
}

/// A whole number, to odd.
fn whole(number: i128) -> f64 {
    let near = number as f64;
    odd(near, (number - near as i128) as f64)
}

fn flushed(number: f64) -> f64 {
    if number.abs() < f64::from(f32::MIN_POSITIVE) { 0.0f64.copysign(number) } else { number }
}

fn flushed_code(code: u32) -> u32 {
    if code & 0x7f80_0000 == 0 { code & 0x8000_0000 } else { code }
}

/// From 0 to 1; NaN becomes 0.
fn saturated(number: f64) -> f64 {
    if number > 0.0 { number.min(1.0) } else { 0.0 }
}

fn above_zero(number: f64) -> f64 {
    if number.is_nan() || number > 0.0 { number } else { 0.0 }
}

fn least(a: f64, b: f64) -> f64 {
    if a.is_nan() || b < a { b } else { a }
}

fn largest(a: f64, b: f64) -> f64 {
    if a.is_nan() || b > a { b } else { a }
}

fn nan_if_any(a: f64, b: f64, number: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { number }
}

/// To an integer of so many bits.
fn integer(number: f64, rounded: fn(f64) -> f64, bits: u32, signed: bool, nan: i128) -> i128 {
    let (low, high) =
        if signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    if number.is_nan() { nan } else { (rounded(number) as i128).clamp(low, high) }
}

fn fold(wide: i64) -> i32 {
    (wide as i32).wrapping_add(((wide >> 32) as i32).wrapping_mul(0x9e37_79b1u32 as i32))
}

fn fold_number(number: f64) -> i32 {
    if number.is_nan() { 0x7fff_ffff } else { fold(number.to_bits() as i64) }
}

/// Two codes, the first of which is the lower one.
fn pair(codes: [u32; 2]) -> i32 {
    (codes[0] | codes[1] << 16) as i32
}

fn eights(codes: [u32; 2]) -> i32 {
    (codes[0] | codes[1] << 8) as i32
}

const SINGLES: [u32; LANES] = [
    0x0000_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x8000_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x0000_0001,
    0x807f_ffff,
    0x0080_0000,
    0x8080_0001,
    0x7f7f_ffff,
    0x3f00_0000,
    0x3fc0_0000,
    0xc020_0000,
    0x4020_0000,
    0x4f00_0000,
    0xcf00_0000,
    0x4f7f_ffff,
    0x5f00_0000,
    0xdf80_0000,
    0x477f_e000,
    0x477f_f000,
    0x43e0_0000,
    0xc3e8_0000,
    0x4770_0000,
    0x3dcc_cccd,
    0x3eaa_aaab,
    0xc2f6_e979,
    0x3380_0001,
    0xb27f_ffff,
    0x3f80_1000,
];

const HALVES: [u32; LANES] = [
    0x0000, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x0001, 0x8001, 0x03ff, 0x0400, 0x8400, 0x7bff,
    0xfbff, 0x3555, 0x3800, 0x4100, 0xc100, 0x3c01, 0xbc01, 0x3bff, 0x5bff, 0x6400, 0x67ff, 0x2e66, 0x4248,
    0x1400, 0x0c00, 0x7800, 0xf801, 0x4d01, 0x9abc,
];

/// Bits from a place on, so many.
fn extracted(from: i64, msb: u32, place: u32, length: u32, signed: bool) -> i64 {
    let bit = |i: u32| from >> i & 1;
    let filled = if signed && length > 0 { bit((place + length - 1).min(msb)) } else { 0 };
    (0..=msb)
        .map(|i| (if i < length && place + i <= msb { bit(place + i) } else { filled }) << i)
        .fold(0, |all, bit| all | bit)
}

fn inserted(from: i64, into: i64, msb: u32, place: u32, length: u32) -> i64 {
    (0..length)
        .filter(|i| place + i <= msb)
        .fold(into, |all, i| all & !(1 << (place + i)) | (from >> i & 1) << (place + i))
}

/// Bytes of two words by their numbers, the lowest first.
fn bytes(low: i32, high: i32, places: [u32; 4]) -> i32 {
    let all = u64::from(high as u32) << 32 | u64::from(low as u32);
    i32::from_le_bytes(places.map(|place| {
        let byte = (all >> (8 * (place & 7))) as u8;
        if place & 8 == 0 { byte } else { 0u8.wrapping_sub(byte >> 7) }
    }))
}

/// What `lop3` makes of three words.
fn looked_up(a: i32, b: i32, c: i32, table: u32) -> i32 {
    (0..32).fold(0, |all, i| {
        let index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
        all | ((table >> index & 1) as i32) << i
    })
}

fn divisor(left: u32, right: u32) -> u32 {
    if right == 0 { left } else { divisor(right, left % right) }
}

fn steps(value: u32) -> i32 {
    if value <= 1 { 0 } else { 1 + steps(if value % 2 == 1 { 3 * value + 1 } else { value / 2 }) }
}

/// What lane `lane` has of its own.
struct Lane {
    lane: usize,
    v: i32,
    w: i32,
    l: i64,
    m: i64,
    a: f64,
    b: f64,
    c: f64,
    /// Pairs of F16, and of BF16.
    p: [[f64; 2]; 3],
    q: [[f64; 2]; 3],
}

impl Lane {
    fn new(lane: usize, v: i32) -> Lane {
        let w = v.wrapping_mul(0x9e37_79b1u32 as i32).wrapping_add(lane as i32);
        let places = [[lane, 31 - lane], [lane * 7 + 4, lane * 9 + 2], [lane * 3 + 1, lane * 13 + 7]];
        let single = |i: usize| F32.value(SINGLES[i % LANES]);
        Lane {
            lane,
            v,
            w,
            l: i64::from(w) << 32 | i64::from(v as u32),
            m: i64::from(v) << 32 | i64::from(w as u32),
            a: single(lane),
            b: single(lane * 7 + 4),
            c: single(lane * 5 + 1),
            p: places.map(|pair| pair.map(|i| F16.value(HALVES[i % LANES]))),
            q: places.map(|pair| pair.map(|i| BF16.value(SINGLES[i % LANES] >> 16))),
        }
    }

    /// Of each half of pairs.
    fn of_p(&self, f: impl Fn(f64, f64, f64) -> f64, way: Way) -> i32 {
        pair([0, 1].map(|i| F16.code(f(self.p[0][i], self.p[1][i], self.p[2][i]), way)))
    }

    fn of_q(&self, f: impl Fn(f64, f64, f64) -> f64, way: Way) -> i32 {
        pair([0, 1].map(|i| BF16.code(f(self.q[0][i], self.q[1][i], self.q[2][i]), way)))
    }
}

fn lanes(v: &[i32; LANES]) -> [Lane; LANES] {
    std::array::from_fn(|lane| Lane::new(lane, v[lane]))
}
