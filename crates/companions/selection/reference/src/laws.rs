//! The laws that SEL-05 states of the rows, over all pairs and triples of a small domain of each.

use std::collections::BTreeMap;

use megakernel_selection::document::Extent;
use megakernel_selection::{Activation, Core, Dtype, Flag, Linearity, Reason, Rows};

use crate::rows::Matrix;

/// The operator on regions; whatever fails has failed for good, and is compared without its reason.
fn then(a: Option<&Matrix>, b: Option<&Matrix>) -> Option<Matrix> {
    a?.then(b?).ok()
}

/// Whether the operator is commutative on a domain, and on which of its elements it is idempotent. That it is associative, has
/// an identity, and gives on an op what it gives on the region of that op, is asserted.
fn laws(domain: &[Rows]) -> (bool, Vec<bool>) {
    let regions: Vec<Matrix> = domain.iter().map(Matrix::of).collect();
    let nothing = Matrix::default();
    for (rows, a) in domain.iter().zip(&regions) {
        assert_eq!(then(Some(a), Some(&nothing)).as_ref(), Some(a), "right identity: {a:?}");
        assert_eq!(then(Some(&nothing), Some(a)).as_ref(), Some(a), "left identity: {a:?}");
        for b in &regions {
            assert_eq!(b.compose(rows).ok(), then(Some(b), Some(a)), "op and region differ: {b:?} {a:?}");
        }
    }
    let mut commutes = true;
    for a in &regions {
        for b in &regions {
            let ab = then(Some(a), Some(b));
            commutes &= ab == then(Some(b), Some(a));
            for c in &regions {
                let bc = then(Some(b), Some(c));
                let (left, right) = (then(ab.as_ref(), Some(c)), then(Some(a), bc.as_ref()));
                assert_eq!(left, right, "not associative: {a:?} {b:?} {c:?}");
            }
        }
    }
    let idempotent = regions.iter().map(|a| then(Some(a), Some(a)).as_ref() == Some(a)).collect();
    (commutes, idempotent)
}

fn domain<T: Clone>(values: &[T], set: impl Fn(&mut Rows, T)) -> Vec<Rows> {
    let one = |value: &T| {
        let mut rows = Rows::of_class("a");
        set(&mut rows, value.clone());
        rows
    };
    values.iter().map(one).collect()
}

const CORES: [Core; 6] =
    [Core::Elementwise, Core::Norm, Core::Move, Core::Gemm, Core::Attention, Core::Opaque];
const DTYPES: [Dtype; 9] = [
    Dtype::F32,
    Dtype::F16,
    Dtype::BF16,
    Dtype::F8E4M3,
    Dtype::F8E5M2,
    Dtype::I32,
    Dtype::I8,
    Dtype::I4,
    Dtype::Bool,
];

#[test]
fn cores_are_a_table() {
    let (commutes, idempotent) = laws(&domain(&CORES, |rows, core| rows.core = Some(core)));
    assert!(!commutes, "a norm before a product is not one behind it");
    assert_eq!(idempotent, [true, true, true, false, false, false]);
}

#[test]
fn linearity_is_dominance() {
    let both = [Linearity::Linear, Linearity::Nonlinear];
    assert_eq!(laws(&domain(&both, |rows, one| rows.linearity = Some(one))), (true, vec![true; 2]));
}

#[test]
fn there_is_only_one_activation() {
    let all: Vec<Activation> =
        Activation::ALL.iter().copied().filter(|one| *one != Activation::None).collect();
    let (commutes, idempotent) = laws(&domain(&all, |rows, one| rows.activation = Some(one)));
    let known = ["relu", "relu6", "hardtanh"];
    let wanted: Vec<bool> = all.iter().map(|one| known.contains(&one.name())).collect();
    assert!(commutes);
    assert_eq!(idempotent, wanted);
    assert_eq!(wanted.iter().filter(|idempotent| **idempotent).count(), 3);
}

#[test]
fn flags_are_set_once() {
    let all: Vec<[bool; 3]> = (0..8).map(|bits| [0, 1, 2].map(|at| bits >> at & 1 == 1)).collect();
    let (commutes, idempotent) = laws(&domain(&all, |rows, flags| rows.epilogue = flags));
    assert!(commutes);
    assert_eq!(idempotent, [true, false, false, false, false, false, false, false]);
}

#[test]
fn shapes_are_unified() {
    let extents = |role: &'static str| {
        let symbol = |name: &str| Some(Extent::Symbol(name.to_owned()));
        let all = [None, Some(Extent::Known(4)), Some(Extent::Known(8)), symbol("s"), symbol("t")];
        all.into_iter().chain([Some(Extent::Unknown)]).map(move |extent| (role, extent))
    };
    let mut all = Vec::new();
    for (m, m_extent) in extents("m") {
        for (n, n_extent) in extents("n") {
            let pairs = [(m, m_extent.clone()), (n, n_extent)];
            let row: BTreeMap<String, Extent> =
                pairs.into_iter().filter_map(|(role, extent)| Some((role.to_owned(), extent?))).collect();
            all.push(row);
        }
    }
    let (commutes, idempotent) = laws(&domain(&all, |rows, shape| rows.shape = shape));
    assert_eq!((commutes, idempotent), (true, vec![true; 36]));
}

#[test]
fn dtypes_are_chained() {
    let few = [Dtype::F32, Dtype::F16, Dtype::BF16, Dtype::I8];
    let all: Vec<(Dtype, Dtype)> = few.iter().flat_map(|&a| few.map(|b| (a, b))).collect();
    let (commutes, idempotent) = laws(&domain(&all, |rows, (first, last)| {
        (rows.dtype_in, rows.dtype_out) = (Some(first), Some(last));
    }));
    let wanted: Vec<bool> = all.iter().map(|(first, last)| first == last).collect();
    assert!(!commutes, "F16 to F32 and F32 to F16 chain in both orders, to different things");
    assert_eq!(idempotent, wanted);
}

#[test]
fn accumulators_have_a_least_upper_bound() {
    let all = domain(&DTYPES, |rows, acc| rows.acc = Some(acc));
    assert_eq!(laws(&all), (true, vec![true; 9]));
    // As the clause lists it.
    use Dtype::{BF16, F8E4M3, F8E5M2, F16, F32, I4, I8, I32};
    let below = [
        (F8E4M3, F16),
        (F8E5M2, F16),
        (F16, F32),
        (BF16, F32),
        (F8E4M3, F32),
        (F8E5M2, F32),
        (I4, I8),
        (I8, I32),
        (I4, I32),
    ];
    let at_or_below = |a: Dtype, b: Dtype| a == b || below.contains(&(a, b));
    for (rows, a) in all.iter().zip(DTYPES) {
        for (other, b) in all.iter().zip(DTYPES) {
            let bounds: Vec<Dtype> =
                DTYPES.into_iter().filter(|&c| at_or_below(a, c) && at_or_below(b, c)).collect();
            let least = bounds.iter().copied().find(|&c| bounds.iter().all(|&other| at_or_below(c, other)));
            let found = Matrix::of(rows).compose(other);
            assert_eq!(found.as_ref().ok().and_then(|matrix| matrix.acc), least, "{a:?} {b:?}");
            assert_eq!(found.err(), least.is_none().then_some(Reason::DtypeMismatch));
        }
    }
}

#[test]
fn weights_orders_and_packs_are_the_same() {
    assert_eq!(laws(&domain(&DTYPES, |rows, weight| rows.weight = Some(weight))), (true, vec![true; 9]));
    let texts = ["row", "col", "strided:128"].map(str::to_owned);
    assert_eq!(laws(&domain(&texts, |rows, order| rows.order = Some(order))), (true, vec![true; 3]));
    assert_eq!(laws(&domain(&texts, |rows, pack| rows.pack = Some(pack))), (true, vec![true; 3]));
}

#[test]
fn transpositions_are_made_once() {
    let texts = ["nt", "nn"].map(str::to_owned);
    assert_eq!(laws(&domain(&texts, |rows, trans| rows.trans = Some(trans))), (true, vec![false; 2]));
}

#[test]
fn effects_are_united_and_order_shows() {
    let names = |bits: usize| -> Vec<String> {
        ["k", "v"]
            .iter()
            .enumerate()
            .filter(|(at, _)| bits >> at & 1 == 1)
            .map(|(_, name)| (*name).to_owned())
            .collect()
    };
    let flags = [vec![], vec![Flag::Cache], vec![Flag::Cache, Flag::Random]];
    let mut all = Vec::new();
    for flags in flags {
        for bits in 0..16 {
            all.push((flags.clone(), names(bits & 3), names(bits >> 2)));
        }
    }
    let (commutes, idempotent) = laws(&domain(&all, |rows, (flags, reads, writes)| {
        (rows.flags, rows.storage_reads, rows.storage_writes) = (flags, reads, writes);
    }));
    assert!(!commutes, "a read behind a write is not a read before it");
    let wanted: Vec<bool> = all.iter().map(|(_, _, writes)| writes.is_empty()).collect();
    assert_eq!(idempotent, wanted);
}

#[test]
fn requirements_are_multiples_and_divisors() {
    let numbers = [None, Some(1), Some(2), Some(3), Some(4), Some(12), Some(1 << 31), Some((1 << 32) - 1)];
    let all: Vec<(Option<i64>, Option<i64>)> = numbers
        .iter()
        .flat_map(|&required| numbers.map(|offered| (required, offered)))
        // What an op asks for and does not offer is no op: rule KQ04.
        .filter(|(required, offered)| {
            required.zip(*offered).is_none_or(|(required, offered)| offered % required == 0)
        })
        .collect();
    let (commutes, idempotent) = laws(&domain(&all, |rows, (required, offered)| {
        (rows.required, rows.offered) = (required, offered);
    }));
    assert!(commutes);
    assert!(idempotent.iter().all(|idempotent| *idempotent));
}

#[test]
fn rows_fail_in_the_order_of_the_reasons() {
    // An op for each reason that fails beside it, and the region that all of them fail on.
    let mut region = Rows::of_class("a");
    region.core = Some(Core::Gemm);
    region.activation = Some(Activation::Gelu);
    region.epilogue = [true, false, false];
    region.shape = BTreeMap::from([("m".to_owned(), Extent::Known(4))]);
    region.weight = Some(Dtype::I4);
    region.order = Some("row".to_owned());
    region.storage_writes = vec!["k".to_owned()];
    region.offered = Some(8);
    type Spoil = fn(&mut Rows);
    let spoil: [(Reason, Spoil); 8] = [
        (Reason::SigConflict, |op| op.core = Some(Core::Norm)),
        (Reason::ActivationConflict, |op| op.activation = Some(Activation::Gelu)),
        (Reason::EpilogueRepeat, |op| op.epilogue = [true, false, false]),
        (Reason::ShapeMismatch, |op| op.shape = BTreeMap::from([("m".to_owned(), Extent::Known(5))])),
        (Reason::DtypeMismatch, |op| op.weight = Some(Dtype::I8)),
        (Reason::LayoutMismatch, |op| op.order = Some("col".to_owned())),
        (Reason::EffectConflict, |op| op.storage_writes = vec!["k".to_owned()]),
        (Reason::RequirementConflict, |op| op.required = Some(16)),
    ];
    for wrong in 1..256usize {
        let mut op = Rows::of_class("b");
        let mut first = None;
        for (at, (reason, spoil)) in spoil.iter().enumerate().filter(|(at, _)| wrong >> at & 1 == 1) {
            spoil(&mut op);
            first = first.or(Some((at, *reason)));
        }
        let found = Matrix::of(&region).compose(&op).err();
        assert_eq!(found, first.map(|(_, reason)| reason), "{wrong:#b}");
    }
}
