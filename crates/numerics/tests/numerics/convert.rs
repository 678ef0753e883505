//! Conversions of every float dtype against a table of its numbers that is made by counting up (clauses NUM-01 to
//! NUM-04). Nothing here takes an element apart into fields, as the code does.

use megakernel_numerics::DType::{self, BF16, F8E4M3, F8E5M2, F16, F32};
use megakernel_numerics::{decode, encode, encode_f32, is_nan, ulp};
use proptest::prelude::*;

use crate::table::{NARROW, Table};

/// Holds `encode` to the required bits for `x` and `-x`, from binary32 too where it holds `x`.
fn assert_encodes(table: &Table, dtype: DType, x: f64, required: u32) {
    for (x, required) in [(x, required), (-x, required | table.sign)] {
        let found = encode(dtype, x);
        assert_eq!(found, required, "{dtype} of {x:?} is {found:#x}, required is {required:#x}");
        if f64::from(x as f32) == x {
            assert_eq!(encode_f32(dtype, x as f32), required, "{dtype} of the binary32 {x:?}");
        }
    }
}

#[test]
fn every_element_stands_for_its_number() {
    for dtype in NARROW {
        let table = Table::new(dtype);
        let largest = table.largest();
        for bits in 0..2 * table.sign {
            let magnitude = bits % table.sign;
            let sign = if bits < table.sign { 1.0 } else { -1.0 };
            let found = decode(dtype, bits);
            assert_eq!(found.is_nan(), is_nan(dtype, bits), "{dtype} {bits:#x}");
            if magnitude <= largest {
                let required = sign * table.values[magnitude as usize];
                assert_eq!(found.to_bits(), required.to_bits(), "{dtype} {bits:#x}");
            } else if magnitude == largest + 1 && !table.overflow_is_nan {
                assert_eq!(found, sign * f64::INFINITY, "{dtype} {bits:#x}");
            } else {
                assert!(found.is_nan(), "{dtype} {bits:#x}");
            }
        }
    }
}

#[test]
fn every_element_is_its_own_cast() {
    for dtype in NARROW {
        let bits = 0..1u32 << dtype.bits();
        for bits in bits.filter(|&bits| !is_nan(dtype, bits)) {
            assert_eq!(encode(dtype, decode(dtype, bits)), bits, "{dtype} {bits:#x}");
        }
        for bits in [f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001)].map(|nan| encode(dtype, nan))
        {
            assert!(is_nan(dtype, bits));
        }
    }
}

#[test]
fn ties_go_to_even_and_their_neighbours_do_not() {
    for dtype in NARROW {
        let table = Table::new(dtype);
        for (below, pair) in table.values.windows(2).enumerate() {
            let (below, above) = (below as u32, below as u32 + 1);
            let middle = (pair[0] + pair[1]) / 2.0;
            let even = if below.is_multiple_of(2) { below } else { above };
            assert_encodes(&table, dtype, middle, even);
            let near = [middle.next_down(), (middle as f32).next_down().into(), pair[0].next_up(), pair[0]];
            near.into_iter().for_each(|x| assert_encodes(&table, dtype, x, below));
            let near = [middle.next_up(), (middle as f32).next_up().into(), pair[1].next_down()];
            near.into_iter().for_each(|x| assert_encodes(&table, dtype, x, above));
        }
    }
}

#[test]
fn too_much_overflows_and_too_little_is_zero() {
    // The first that overflows, or the last that does not; as the table of NUM-01 says.
    for (dtype, threshold, included, overflow) in [
        (F16, 65520.0, true, 0x7c00),
        (BF16, 2f64.powi(128) - 2f64.powi(119), true, 0x7f80),
        (F8E4M3, 464.0, false, 0x7f),
        (F8E5M2, 61440.0, true, 0x7c),
    ] {
        let table = Table::new(dtype);
        let largest = table.largest();
        assert_encodes(&table, dtype, threshold, if included { overflow } else { largest });
        assert_encodes(&table, dtype, threshold.next_down(), largest);
        for x in [threshold.next_up(), 2.0 * threshold, 1e39, f64::MAX, f64::INFINITY] {
            assert_encodes(&table, dtype, x, overflow);
        }
        let half = table.values[1] / 2.0;
        for x in [half, half / 2.0, f64::from(f32::from_bits(1)) / 4.0, f64::MIN_POSITIVE, 5e-324, 0.0] {
            assert_encodes(&table, dtype, x, 0);
        }
    }
}

#[test]
fn binary32_agrees_with_the_processor() {
    // Every 4,093rd element, which meets all exponents, with the ties behind it and their neighbours.
    for bits in (0..0x7f80_0000u32).step_by(4093).chain(0x7f7f_fff0..0x7f80_0000) {
        let value = f64::from(f32::from_bits(bits));
        assert_eq!(decode(F32, bits).to_bits(), value.to_bits());
        assert_eq!(encode_f32(F32, f32::from_bits(bits | 1 << 31)), bits | 1 << 31);
        let next = if bits == 0x7f7f_ffff { 2f64.powi(128) } else { f64::from(f32::from_bits(bits + 1)) };
        let middle = (value + next) / 2.0;
        for x in [value, middle.next_down(), middle, middle.next_up(), -middle, -middle.next_up()] {
            assert_eq!(encode(F32, x), (x as f32).to_bits(), "{x:?}");
        }
    }
    for x in
        [f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 2f64.powi(128) - 2f64.powi(103), 2f64.powi(-150), -0.0]
    {
        assert_eq!(encode(F32, x), (x as f32).to_bits(), "{x:?}");
    }
    assert!(decode(F32, 0xff80_0001).is_nan() && is_nan(F32, encode(F32, f64::NAN)));
}

#[test]
fn a_second_rounding_would_show() {
    // The nearest binary32 is a tie of the dtype, the number itself is not.
    for (dtype, x, required) in [
        (F16, 1.0 + 2f64.powi(-11) + 2f64.powi(-40), 0x3c01),
        (BF16, 1.0 + 2f64.powi(-8) + 2f64.powi(-52), 0x3f81),
    ] {
        assert_eq!(encode(dtype, x), required);
        assert_ne!(encode_f32(dtype, x as f32), required);
    }
}

#[test]
fn the_ulp_is_the_distance_of_neighbours() {
    for dtype in NARROW {
        let table = Table::new(dtype);
        for pair in table.values.windows(2) {
            for x in [pair[0], pair[0].next_up(), pair[1].next_down()] {
                // Behind the largest number, nothing follows: its own unit stays.
                assert_eq!(ulp(dtype, x), pair[1] - pair[0], "{dtype} at {x:?}");
                assert_eq!(ulp(dtype, -x), pair[1] - pair[0], "{dtype} at -{x:?}");
            }
        }
    }
    assert_eq!(ulp(F32, 1.0), f64::from(f32::EPSILON));
    assert_eq!(ulp(F32, 1.0f64.next_down()), f64::from(f32::EPSILON) / 2.0);
    assert_eq!(ulp(F32, 0.0), f64::from(f32::from_bits(1)));
    assert_eq!([ulp(F8E4M3, 1e300), ulp(F8E4M3, f64::NEG_INFINITY)], [32.0, 32.0]);
    assert!(ulp(F16, f64::NAN).is_nan());
}

/// Numbers of every sign, size and kind, some of them with few bits so that ties occur.
fn reals() -> impl Strategy<Value = f64> {
    let ranged =
        (any::<bool>(), -160i32..140, any::<u64>(), 0u32..53).prop_map(|(minus, exponent, bits, keep)| {
            let fraction = bits >> 12 & (u64::MAX << keep);
            let value = f64::from_bits(1023 << 52 | fraction) * 2f64.powi(exponent);
            if minus { -value } else { value }
        });
    prop_oneof![4 => ranged, 1 => any::<u64>().prop_map(f64::from_bits)]
}

proptest! {
    #![proptest_config(crate::cases(20_000))]

    #[test]
    fn encode_finds_the_nearest(x in reals()) {
        thread_local!(static TABLES: Vec<(DType, Table)> = NARROW.map(|dtype| (dtype, Table::new(dtype))).into());
        prop_assume!(!x.is_nan());
        TABLES.with(|tables| for (dtype, table) in tables {
            assert_encodes(table, *dtype, x.abs(), table.nearest(x.abs()));
        });
        prop_assert_eq!(encode(F32, x), (x as f32).to_bits());
    }

    #[test]
    fn encode_is_monotone(a in reals(), b in reals(), steps in 0u64..1 << 44) {
        prop_assume!(!a.is_nan() && !b.is_nan());
        // A neighbour of `a` too: two numbers drawn apart rarely meet the same tie.
        let near = f64::from_bits(a.to_bits() & (1 << 63) | (a.abs().to_bits() + steps).min(0x7ff0 << 48));
        for dtype in [F32, F16, BF16, F8E4M3, F8E5M2] {
            // F8E4M3 overflows to a NaN that stands for an infinity here.
            let cast = |x: f64| match decode(dtype, encode(dtype, x)) {
                nan if nan.is_nan() => x.signum() * f64::INFINITY,
                value => value,
            };
            for (x, y) in [(a, b), (a, near)] {
                prop_assert!(cast(x.min(y)) <= cast(x.max(y)), "{} {:?} {:?}", dtype, x, y);
            }
        }
    }
}
