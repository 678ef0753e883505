//! What is admitted around a reference, and how a tensor is judged (clause NUM-10).

use megakernel_ir::DType::{self, BF16, F8E4M3, F8E5M2, F16, F32};
use megakernel_ir::numerics::{Interval, interval};

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
