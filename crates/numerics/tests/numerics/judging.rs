//! What is admitted around a reference, and how a tensor is judged (clause NUM-10).

use megakernel_numerics::DType::{self, BF16, F8E4M3, F8E5M2, F16, F32, I4};
use megakernel_numerics::Tensor;
use megakernel_numerics::{
    Interval, Mismatch, compare, compare_ints, encode, encode_f32, interval, is_nan, share,
};
use proptest::prelude::*;

use crate::table::Table;

/// The bits of the least and the greatest admitted element.
fn ends(dtype: DType, reference: f64, bound: f64) -> (u32, u32) {
    match interval(dtype, reference, bound) {
        Interval::Between { low, high, .. } => (low, high),
        other => panic!("{dtype} {reference:?} ± {bound:?} admits {other}"),
    }
}

#[test]
fn without_a_bound_only_the_cast_passes() {
    assert_eq!(ends(F16, 1.0, 0.0), (0x3c00, 0x3c00));
    assert_eq!(ends(F32, 0.0, 0.0), (0, 0));
    assert_eq!(ends(F32, -0.0, 0.0), (0x8000_0000, 0x8000_0000));
    assert_eq!(ends(BF16, f64::NEG_INFINITY, 0.0), (0xff80, 0xff80));
}

#[test]
fn the_smallest_bound_frees_the_sign_of_a_zero() {
    for zero in [0.0, -0.0] {
        assert_eq!(ends(F32, zero, 5e-324), (0x8000_0000, 0));
        assert_eq!(ends(F8E5M2, zero, 5e-324), (0x80, 0));
    }
    // Ends that are zero by subtraction too.
    assert_eq!(ends(F16, 1.0, 1.0), (0x8000, 0x4000));
    assert_eq!(ends(F16, -1.0, 1.0), (0xc000, 0));
}

#[test]
fn both_ends_are_rounded_as_the_dtype_rounds() {
    // 1 and its neighbours in F16 are 2^-10 and 2^-11 apart; ties go to 1, which is even.
    assert_eq!(ends(F16, 1.0, 2f64.powi(-11)), (0x3bff, 0x3c00));
    assert_eq!(ends(F16, 1.0, 2f64.powi(-12)), (0x3c00, 0x3c00));
    // The least bit of e counts, however small: v + e is just above the tie, though not in binary64.
    assert_eq!(ends(F16, 1.0 + 2f64.powi(-11), 2f64.powi(-80)), (0x3c00, 0x3c01));
    assert_eq!(ends(F16, 1.0 + 3.0 * 2f64.powi(-11), 2f64.powi(-80)), (0x3c01, 0x3c02));
}

#[test]
fn nan_passes_where_it_is_meant_and_nowhere_else() {
    assert!(!interval(F16, 1.0, 1e300).admits(0x7e00));
    assert!(interval(F16, 1.0, f64::INFINITY).admits(0x7e00));
    let nan = interval(F16, f64::NAN, 0.0);
    assert!(nan.admits(0x7e00) && nan.admits(0xfc01) && !nan.admits(0x7c00));
    // F8E4M3 overflows to NaN, from 464 on.
    assert!(!interval(F8E4M3, 448.0, 16.0).admits(0x7f));
    let overflow = interval(F8E4M3, 448.0, 17.0);
    assert!(
        overflow.admits(0x7f) && overflow.admits(0xff) && overflow.admits(0x7e) && !overflow.admits(0xfe)
    );
    assert!(interval(F8E4M3, f64::INFINITY, 0.0).admits(0xff));
}

#[test]
fn a_bound_that_is_none_admits_nothing() {
    for bound in [-1.0, f64::NAN, f64::NEG_INFINITY] {
        assert_eq!(interval(F32, 0.0, bound), Interval::Nothing);
        assert!(!interval(F32, 0.0, bound).admits(0));
    }
}

/// The elements whose cell of rounding meets `[low, high]`: found from the ties around each element, without rounding.
fn reachable(table: &Table, bits: u32, low: f64, high: f64) -> bool {
    let largest = table.largest();
    let magnitude = bits & (table.sign - 1);
    // From here on, the element is not negative.
    let (low, high) = if bits & table.sign == 0 { (low, high) } else { (-high, -low) };
    if magnitude > largest + 1 || (magnitude > largest && table.overflow_is_nan) {
        return false;
    }
    let tie = |below: u32| (table.values[below as usize] + table.values[below as usize + 1]) / 2.0;
    // A tie belongs to the even element, and one behind the largest number to the overflow if that is even.
    let even = magnitude.is_multiple_of(2);
    let above_start = match magnitude {
        // Zero of this sign: reached by zero itself and by all of its side up to the tie.
        0 => high >= 0.0,
        _ if even => high >= tie(magnitude - 1),
        _ => high > tie(magnitude - 1),
    };
    let below_end = match magnitude {
        m if m > largest => true,
        m if even => low <= tie(m),
        m => low < tie(m),
    };
    above_start && below_end
}

#[test]
fn what_passes_is_what_rounding_can_reach() {
    for dtype in [F8E4M3, F8E5M2] {
        let table = Table::new(dtype);
        let smallest = table.values[1];
        let top = table.values[table.values.len() - 1];
        // References around every number and tie, and bounds of every size, with exact sums.
        let mut references: Vec<f64> = table.values.iter().flat_map(|v| [*v, *v - smallest / 2.0]).collect();
        references.extend(table.values.iter().map(|v| -v - smallest / 4.0));
        for reference in references {
            for bound in [smallest / 8.0, smallest / 4.0, smallest / 2.0, 3.0 * smallest, 1.0, 17.0, top] {
                let interval = interval(dtype, reference, bound);
                let (low, high) = (reference - bound, reference + bound);
                // The NaN of F8E4M3 stands for all behind its last tie, which is 464.
                let overflows = table.overflow_is_nan && (low < -464.0 || high > 464.0);
                for bits in 0..2 * table.sign {
                    let required =
                        if is_nan(dtype, bits) { overflows } else { reachable(&table, bits, low, high) };
                    assert_eq!(interval.admits(bits), required, "{dtype} {bits:#x} of {reference} ± {bound}");
                }
            }
        }
    }
}

#[test]
fn the_share_is_the_least_part_of_the_bound_that_admits() {
    // The example of NUM-10: the tie below 1000.3 is 1000.25.
    let of = |out| share(F16, encode(F16, out), 1000.3, 0.06);
    assert!((of(1000.0) - 0.05 / 0.06).abs() < 1e-9);
    assert_eq!(of(1000.5), 0.0);
    assert!((of(1001.0) - 0.45 / 0.06).abs() < 1e-9);
    // What no bound explains.
    assert_eq!(share(F16, 0x7e00, 1.0, 0.5), f64::INFINITY);
    assert_eq!(share(F16, 0x3c01, 1.0, 0.0), f64::INFINITY);
    // What needs none.
    assert_eq!(share(F16, 0x3c00, 1.0, 0.0), 0.0);
    assert_eq!(share(F16, 0x1234, 1.0, f64::INFINITY), 0.0);
    assert_eq!(share(F16, 0xfe01, f64::NAN, 0.0), 0.0);
    // An overflow is as far as its threshold.
    assert_eq!(share(F16, 0x7c00, 65500.0, 10.0), 2.0);
    assert_eq!(share(F8E4M3, 0xff, 400.0, 32.0), 2.0);
}

#[test]
fn a_tensor_that_passes_tells_how_tight_its_bounds_are() {
    let tensor = Tensor::from_reals(F16, vec![2, 2], &[1.0, 1000.0, 7.0, -0.0]).expect("a tensor");
    let found =
        compare(&tensor, &[1.0, 1000.3, 5.0, 0.0], &[0.0, 0.06, f64::INFINITY, 5e-324]).expect("it passes");
    assert_eq!((found.index, found.judged, found.unspecified), (1, 4, 1));
    assert!((found.share - 0.05 / 0.06).abs() < 1e-9);
    let exact = compare(&tensor, &[1.0, 1000.0, 7.0, -0.0], &[0.0; 4]).expect("it passes");
    assert_eq!(exact.share, 0.0);
}

#[test]
fn a_tensor_that_fails_tells_the_first_element_and_how_many() {
    let tensor =
        Tensor::from_reals(BF16, vec![2, 3], &[1.0, 2.0, 3.0, 4.0, f64::NAN, 6.0]).expect("a tensor");
    let reference = [1.0, 2.0, 3.0, 5.0, 5.0, 5.0];
    let error = compare(&tensor, &reference, &[0.125; 6]).expect_err("three are wrong");
    assert_eq!(
        error.to_string(),
        "element [1, 0] is 4.0 (bits 0x4080), admitted is 4.875 to 5.125 (reference 5.0, bound 0.125); 3 of 6 elements are wrong"
    );
    let Mismatch::Elements(wrong) = error else { panic!("lengths are equal") };
    assert_eq!((wrong.index, wrong.got, wrong.wrong, wrong.worst), (3, 4.0, 3, f64::INFINITY));
    // Without the NaN, the worst is the 6: the tie of 5.96875 and 6 is 0.984375 away from 5.
    let tensor = Tensor::from_reals(BF16, vec![2], &[5.0, 6.0]).expect("a tensor");
    match compare(&tensor, &[5.0, 5.0], &[0.125; 2]) {
        Err(Mismatch::Elements(wrong)) => assert_eq!((wrong.at, wrong.worst), (vec![1], 0.984375 / 0.125)),
        other => panic!("{other:?}"),
    }
    for (reference, bound) in [(&[1.0][..], &[0.0; 2][..]), (&[1.0; 2], &[0.0]), (&[1.0; 3], &[0.0; 3])] {
        assert!(matches!(compare(&tensor, reference, bound), Err(Mismatch::Lengths { tensor: 2, .. })));
    }
}

#[test]
fn integers_have_to_be_equal() {
    let tensor = Tensor::from_ints(I4, vec![3], &[1, 2, 15]).expect("a tensor");
    assert_eq!(compare_ints(&tensor, &[1, 2, 15]), Ok(()));
    let error = compare_ints(&tensor, &[1, 3, -1]).expect_err("two are wrong").to_string();
    assert_eq!(error, "element [1] is 2, required is 3; 2 of 3 elements are wrong");
    assert!(matches!(compare_ints(&tensor, &[1]), Err(Mismatch::Lengths { tensor: 3, reference: 1, .. })));
    // A reference in reals says nothing about integers.
    assert!(compare(&tensor, &[1.0, 2.0, 15.0], &[0.0; 3]).is_err());
}

fn numbers() -> impl Strategy<Value = f64> {
    (any::<bool>(), -30i32..20, 0u64..1 << 52).prop_map(|(minus, exponent, fraction)| {
        let value = f64::from_bits(1023 << 52 | fraction) * 2f64.powi(exponent);
        if minus { -value } else { value }
    })
}

proptest! {
    #![proptest_config(crate::cases(20_000))]

    /// Whatever is rounded from within the bound passes, by way of binary32 too if that stays within.
    #[test]
    fn no_false_alarm(reference in numbers(), relative in -40i32..2, part in -1.0f64..1.0) {
        let bound = reference.abs() * 2f64.powi(relative);
        let held = reference + part * bound;
        prop_assume!((held - reference).abs() <= bound);
        for dtype in [F32, F16, BF16, F8E4M3, F8E5M2] {
            let interval = interval(dtype, reference, bound);
            prop_assert!(interval.admits(encode(dtype, held)), "{} {:?}", dtype, held);
            prop_assert!(share(dtype, encode(dtype, held), reference, bound) <= 1.0, "{} {:?}", dtype, held);
            let single = held as f32;
            if (f64::from(single) - reference).abs() <= bound {
                prop_assert!(interval.admits(encode_f32(dtype, single)), "{} {:?}", dtype, single);
            }
        }
    }

    /// A bound scaled by the share is where an element begins to pass.
    #[test]
    fn the_share_separates(reference in numbers(), relative in -12i32..4, steps in -3i32..4) {
        let bound = reference.abs() * 2f64.powi(relative);
        for dtype in [F16, BF16, F8E4M3, F8E5M2] {
            let bits = encode(dtype, reference).wrapping_add_signed(steps) & ((1 << dtype.bits()) - 1);
            let share = share(dtype, bits, reference, bound);
            let admits = |part: f64| interval(dtype, reference, part * share * bound).admits(bits);
            if share == f64::INFINITY {
                prop_assert!(!interval(dtype, reference, 1e300).admits(bits));
            } else if share == 0.0 {
                // The cast itself, or its neighbour at a tie.
                prop_assert!(interval(dtype, reference, reference.abs() * 1e-12).admits(bits));
            } else if share < 1.0 || !interval(dtype, reference, bound).admits(bits) {
                prop_assert!(admits(1.0 + 1e-9) && !admits(1.0 - 1e-9), "{} {:#x} {}", dtype, bits, share);
            }
        }
    }
}
