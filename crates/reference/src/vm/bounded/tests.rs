use super::*;

fn within(value: Bounded, v: f64, units: f64) {
    assert!((value.v - v).abs() <= 1e-15 * v.abs(), "{value:?} instead of {v}");
    let e = units * UNIT * v.abs();
    assert!(value.e >= e && value.e <= 1.001 * e, "{value:?} instead of a bound of {e}");
}

#[test]
fn operations_that_binary32_holds_are_exact() {
    let [a, b] = [1.5, 0.25].map(Bounded::exact);
    assert_eq!(a + b, Bounded::exact(1.75));
    assert_eq!(a - b, Bounded::exact(1.25));
    assert_eq!(a * b, Bounded::exact(0.375));
    assert_eq!(a / b, Bounded::exact(6.0));
    assert_eq!(Bounded::exact(2f64.powi(-149)) * Bounded::exact(3.0), Bounded::exact(3.0 * 2f64.powi(-149)));
    assert_eq!(Bounded::ZERO.exp(), Bounded::ONE);
    assert_eq!(Bounded::ZERO.cos_sin(), [Bounded::ONE, Bounded::ZERO]);
    assert_eq!(Bounded::pow(10_000.0, 0.0), Bounded::ONE);
}

#[test]
fn other_operations_err_by_their_budgets() {
    let [one, three] = [1.0, 3.0].map(Bounded::exact);
    within(one + Bounded::exact(2f64.powi(-30)), 1.0 + 2f64.powi(-30), 1.0);
    within(Bounded::exact(0.1f32.into()) * three, 0.1f32 as f64 * 3.0, 1.0);
    within(one / three, 1.0 / 3.0, 4.0);
    // Two is a power of two, but the quotient has to be one of binary32.
    within(Bounded { v: 1.0 / 3.0, e: 0.0 } / Bounded::exact(2.0), 1.0 / 6.0, 4.0);
    within(Bounded::exact(4.0).inverse_root(), 0.5, 6.0);
    within(Bounded::exact(2.0).exp(), 2f64.exp(), 10.0);
    within(Bounded::pow(100.0, -0.5), 0.1, 8.0 + 2.0 * 100f64.ln());
    let [cos, sin] = one.cos_sin();
    assert_eq!((cos.v, sin.v), (libm::cos(1.0), libm::sin(1.0)));
    assert!(cos.e == sin.e && sin.e > 4.0 * UNIT && sin.e < 4.001 * UNIT);
}

#[test]
fn the_smallest_error_is_half_a_subnormal() {
    let tiny = Bounded::exact(2f64.powi(-100)) * Bounded::exact(2f64.powi(-100));
    assert_eq!(tiny, Bounded { v: 2f64.powi(-200), e: TINY });
    assert_eq!(TINY, 2f64.powi(-150));
    assert_eq!(SMALLEST_NORMAL, 2f64.powi(-126));
}

#[test]
fn small_results_of_functions_may_be_zero() {
    let small = Bounded::exact(-90.0).exp();
    assert!(small.e >= small.v && small.v > 0.0);
    let quotient = Bounded::exact(SMALLEST_NORMAL) / Bounded::exact(2.0);
    assert_eq!(quotient.e, quotient.v);
    assert_eq!(Bounded::exact(-200.0).exp().e, TINY);
}

#[test]
fn errors_of_operands_propagate() {
    let (x, y) = (Bounded { v: 2.0, e: 0.5 }, Bounded { v: -4.0, e: 1.0 });
    assert_eq!(x.product(y), Bounded { v: -8.0, e: 2.0 + 2.0 + 0.5 });
    let sum = x + y;
    assert!(sum.v == -2.0 && sum.e >= 1.5 && sum.e < 1.500_001);
    // 2.5 / -3 is the farthest.
    let quotient = x / y;
    assert!(quotient.e >= 2.5 / 3.0 - 0.5 && quotient.e < 0.334);
    let root = Bounded { v: 4.0, e: 3.0 }.inverse_root();
    assert!(root.e >= 0.5 && root.e < 0.500_01);
    let power = Bounded { v: 1.0, e: 1.0 }.exp();
    assert!(power.e >= 2f64.exp() - 1f64.exp() && power.e < 4.671);
    let erf = Bounded { v: 0.0, e: 0.1 }.erf();
    assert!(erf.e >= libm::erf(0.1) && erf.e < 0.1129);
}

#[test]
fn an_interval_around_zero_has_no_reciprocal() {
    let around = Bounded { v: 1.0, e: 1.0 };
    assert_eq!(Bounded::ONE / around, Bounded::UNSPECIFIED);
    assert_eq!(around.inverse_root(), Bounded::UNSPECIFIED);
    assert_eq!(Bounded::ONE / Bounded::ZERO, Bounded::UNSPECIFIED);
    assert!((Bounded::ZERO / Bounded::ZERO).is_nan());
    assert_eq!(Bounded::ZERO.inverse_root().v, f64::INFINITY);
    assert!(Bounded::exact(-1.0).inverse_root().is_nan());
}

#[test]
fn infinities_need_operands_of_known_sign() {
    let infinity = Bounded::exact(f64::INFINITY);
    assert_eq!(infinity * Bounded { v: -1.0, e: 0.5 }, -infinity);
    assert_eq!(infinity * Bounded { v: -1.0, e: 1.0 }, Bounded::UNSPECIFIED);
    assert!((infinity * Bounded::ZERO).is_nan());
    assert!((infinity - infinity).is_nan());
    assert_eq!(Bounded::ONE / infinity, Bounded::ZERO);
    assert_eq!((-infinity).exp(), Bounded::ZERO);
    assert_eq!(infinity + Bounded::UNSPECIFIED, Bounded::UNSPECIFIED);
}

#[test]
fn nan_wins_over_what_is_not_specified() {
    let nan = Bounded::exact(f64::NAN);
    assert!((nan * Bounded::UNSPECIFIED).is_nan());
    assert!((Bounded::UNSPECIFIED + nan).is_nan());
    assert!(Bounded::max(&[Bounded::ONE, nan, Bounded::UNSPECIFIED]).is_nan());
}

#[test]
fn what_binary32_might_not_hold_is_not_specified() {
    let large = Bounded::exact(LARGEST);
    assert_eq!(large + large, Bounded::UNSPECIFIED);
    assert_eq!(large * Bounded::exact(2.0), Bounded::UNSPECIFIED);
    assert_eq!(Bounded::exact(89.0).exp(), Bounded::UNSPECIFIED);
    assert_eq!(large.widened(1e30), Bounded::UNSPECIFIED);
}

#[test]
fn a_maximum_lies_between_the_largest_ends() {
    let terms = [Bounded { v: 1.0, e: 0.25 }, Bounded { v: 0.5, e: 2.0 }, Bounded { v: -3.0, e: 0.0 }];
    assert_eq!(Bounded::max(&terms), Bounded { v: 1.0, e: 1.5 });
    assert_eq!(Bounded::max(&[]), Bounded::exact(f64::NEG_INFINITY));
}

#[test]
fn the_lowest_bit_of_a_number() {
    for (v, expected) in [(1.0, 1.0), (6.0, 2.0), (-0.75, 0.25), (2f64.powi(-149), 2f64.powi(-149))] {
        assert_eq!(lowest_bit(v), expected);
    }
    assert_eq!(lowest_bit(f64::from(f32::MAX)), 2f64.powi(104));
    assert_eq!(lowest_bit(3.0 * 5e-324), 5e-324);
}

/// The integral of `2 / sqrt(pi) exp(-t^2)` from `a` to `b`, by Gauss's rule with five points on each of 64
/// parts: its error is below 1e-18 on intervals of length 1/2.
fn integral(a: f64, b: f64) -> f64 {
    let points = [
        (0.0, 128.0 / 225.0),
        (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
        (0.906_179_845_938_664, 0.236_926_885_056_189_08),
    ];
    let width = (b - a) / 64.0;
    let mut sum = 0.0;
    for part in 0..64 {
        let middle = a + (f64::from(part) + 0.5) * width;
        for (x, weight) in points {
            let value = |x: f64| (-(middle + x * width / 2.0).powi(2)).exp();
            sum += weight * if x == 0.0 { value(0.0) } else { value(x) + value(-x) };
        }
    }
    sum * width / 2.0 * std::f64::consts::FRAC_2_SQRT_PI
}

#[test]
fn erf_is_the_integral_of_the_bell_curve() {
    let mut erf = 0.0;
    for step in 0..12 {
        let x = f64::from(step) / 2.0;
        assert!((libm::erf(x) - erf).abs() < 1e-15, "erf({x})");
        assert_eq!(libm::erf(-x), -libm::erf(x));
        erf += integral(x, x + 0.5);
    }
    // Abramowitz and Stegun, table 7.1.
    assert!((libm::erf(0.5) - 0.520_499_877_8).abs() < 5e-11);
    assert!((libm::erf(1.0) - 0.842_700_792_9).abs() < 5e-11);
    assert_eq!(Bounded::exact(f64::INFINITY).erf(), Bounded::ONE);
}
