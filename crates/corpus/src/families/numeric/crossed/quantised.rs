//! Quantised weights: groups of any length, zero points at the ends of their dtype, zero points that x cannot hold, infinite scales.

use super::super::bench::{Bench, Spec, every};
use super::super::data::{Operand, Values, ints, numel, power, reals};
use super::super::dequant::Store;
use super::some;
use crate::builder::{DType, FLOATS, Kind, Op, Result};
use megakernel_ir::rule::clause;

use DType::{F8E4M3, F16, F32};

const DATA: &str = "groups";

/// K and the group, of which the last may be short: of one column; groups at which a quotient by the rounded reciprocal is one less;
/// groups longer than 8 bits count; groups of one.
const GROUPS: [(u64, u64); 10] =
    [(7, 3), (10, 3), (26, 5), (128, 41), (100, 47), (112, 55), (66, 1), (130, 3), (1026, 512), (602, 300)];

/// The cases of an opcode.
pub fn fill(b: &mut Bench, op: Op) -> Result<()> {
    if !matches!(op, Op::GemvTile | Op::GemmTile | Op::Dequant) {
        return Ok(());
    }
    for (turn, (k, group)) in GROUPS.into_iter().enumerate() {
        for (place, &to) in FLOATS.iter().enumerate() {
            let store = if k % 2 == 1 { Store::I8 } else { Store::ALL[(turn + place) % 3] };
            let zeros = [None, Some(DType::I8), Some(F16)][(turn + place) % 3];
            let kind = ["symmetric", "zeros-i8", "zeros-f16"][(turn + place) % 3];
            let form = format!("{k}-by-{group}-{}-{kind}", store.name());
            let zeros = zeros.map(|dtype| Zeros { dtype, of: |group| group as f64 % 5.0 - 2.0 });
            let weight = Weight { store, k, group, zeros, scales: |group| power((group % 4) as i32 * 2 - 4) };
            b.add(weight.spec(b, op, &form, "groups whose length is no power of two, or that are long", to))?;
        }
    }
    ends(b, op)?;
    fractions(b, op)?;
    launches(b, op)?;
    if op == Op::Dequant { infinite(b) } else { Ok(()) }
}

/// Zero points by group.
#[derive(Clone, Copy)]
struct Zeros {
    dtype: DType,
    of: fn(usize) -> f64,
}

/// A quantised weight of two rows.
#[derive(Clone, Copy)]
struct Weight {
    store: Store,
    k: u64,
    group: u64,
    zeros: Option<Zeros>,
    scales: fn(usize) -> f64,
}

impl Weight {
    /// The weight, its scales and its zeros.
    fn operands(self, b: &Bench, form: &str, scale: DType) -> Vec<Operand> {
        let Weight { store, k, group, zeros, scales } = self;
        let (low, high) = store.range();
        let mut prng = b.prng(DATA, form);
        let shape = [2, k];
        let q: Vec<i64> =
            (0..numel(&shape)).map(|_| low + prng.below((high - low + 1) as u64) as i64).collect();
        let groups = [2, k.div_ceil(group)];
        let n = numel(&groups);
        let mut operands =
            vec![store.operand(&shape, &q), reals(scale, &groups, (0..n).map(scales).collect())];
        operands.extend(
            zeros.map(|zeros| {
                ints(zeros.dtype, &groups, (0..n).map(|group| (zeros.of)(group) as i64).collect())
            }),
        );
        operands
    }

    fn spec(self, b: &Bench, op: Op, form: &str, about: &str, to: DType) -> Spec {
        let weight = self.operands(b, form, F16);
        let x = some(b, DATA, &format!("{form}-x"), F16, &[3, self.k]);
        self.of(op, Spec::new(form, DATA, about), x, weight, to)
    }

    fn of(self, op: Op, spec: Spec, x: Operand, weight: Vec<Operand>, to: DType) -> Spec {
        let Weight { store, k, group, .. } = self;
        let spec = spec.param("qdtype", store.code()).param("group", group);
        if op == Op::Dequant {
            return spec.inputs(weight).output(to, &[2, k]);
        }
        let rows = x.shape.first().copied().unwrap_or(1);
        let spec = spec.input(x).inputs(weight).output(to, &[rows, 2]).param("K", k);
        let spec = spec.param("N_tile", 2).param("n_off", 0);
        if op == Op::GemmTile { spec.param("M_tile", rows) } else { spec }
    }
}

/// Zero points at the ends of their dtype.
fn ends(b: &mut Bench, op: Op) -> Result<()> {
    type Of = fn(usize) -> f64;
    let kinds: [(&str, DType, Of); 4] = [
        ("u8-high", DType::U8, |group| [200.0, 255.0, 128.0, 127.0, 0.0, 129.0][group % 6]),
        ("u8-all", DType::U8, |_| 255.0),
        ("i8-low", DType::I8, |group| [-128.0, 127.0, -127.0, -1.0][group % 4]),
        ("i8-all", DType::I8, |_| -128.0),
    ];
    for (name, dtype, of) in kinds {
        for store in Store::ALL {
            for &to in FLOATS {
                let zeros = Some(Zeros { dtype, of });
                let scales: fn(usize) -> f64 = |group| power(-(group as i32 % 3) - 4);
                let weight = Weight { store, k: 12, group: 4, zeros, scales };
                let form = format!("zeros-{name}-{}", store.name());
                b.add(weight.spec(b, op, &form, "zero points at the ends of their dtype", to))?;
            }
        }
    }
    Ok(())
}

/// Zero points that only F32 holds, close to the integers: what x or the scales could hold of them leaves no difference.
fn fractions(b: &mut Bench, op: Op) -> Result<()> {
    for (from, to) in every().filter(|(from, _)| *from != F32) {
        let groups = [2, 2];
        let zeros = [3.0, -5.0, 3.0, 6.0].map(|zero| zero + power(-10));
        let q = [3, 3, 3, -5, -5, -5, 3, 3, 3, 6, 6, 6].to_vec();
        let weight = Weight { store: Store::I8, k: 6, group: 3, zeros: None, scales: |_| 1.0 };
        let operands = vec![
            ints(DType::I8, &[2, 6], q),
            reals(from, &groups, vec![64.0, 128.0, 256.0, 64.0]),
            reals(F32, &groups, zeros.to_vec()),
        ];
        let x = reals(from, &[2, 6], vec![1.0, 2.0, 3.0, 4.0, 2.0, 1.0, 0.5, 4.0, 1.0, 2.0, 1.5, 3.0]);
        let spec =
            Spec::new("fractions", "zeros", "zero points that only F32 holds, beside integers close to them");
        b.add(weight.of(op, spec, x, operands, to).clause(clause::NUM_05))?;
    }
    Ok(())
}

/// Other scales and other zeros in later launches, beside the same integers.
fn launches(b: &mut Bench, op: Op) -> Result<()> {
    for (from, to) in every() {
        let weight = Weight {
            store: Store::I8,
            k: 8,
            group: 4,
            zeros: Some(Zeros { dtype: DType::I8, of: |group| group as f64 - 1.0 }),
            scales: |group| power(-(group as i32)),
        };
        let x = some(b, DATA, "launches-x", from, &[2, 8]);
        let given = weight.operands(b, "launches", from);
        let scales = Weight { scales: |group| 3.0 * power(-(group as i32) - 2), ..weight };
        let second = scales.operands(b, "launches", from);
        let zeros =
            Weight { zeros: Some(Zeros { dtype: DType::I8, of: |group| 4.0 - group as f64 }), ..scales };
        let third = zeros.operands(b, "launches", from);
        let with_x = |operands: Vec<Operand>| -> Vec<Operand> {
            (op != Op::Dequant).then_some(x.clone()).into_iter().chain(operands).collect()
        };
        let about = "other scales in the second launch, and other zeros in the third, for the same integers";
        let mut spec = weight.of(op, Spec::new("quantised", "launches", about), x.clone(), given, to);
        let first = usize::from(op != Op::Dequant);
        for operand in first..first + 3 {
            spec = spec.of_kind(operand, Kind::Weight);
        }
        b.add(spec.again(with_x(second)).again(with_x(third)).clause(clause::EXE_08))?;
    }
    Ok(())
}

/// An integer of 0 does not hide an infinite scale, nor a NaN.
fn infinite(b: &mut Bench) -> Result<()> {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for (from, to) in every().filter(|(from, _)| *from != F8E4M3) {
        let known = vec![nan, inf, -inf, nan, nan, nan, -inf, nan, inf, 0.0, 1.0, -1.0];
        let spec = Spec::new(
            "integer-zero",
            "infinite-scales",
            "an infinite scale beside integers of 0, without zeros",
        )
        .input(ints(DType::I8, &[1, 12], vec![0, 1, -1, 0, 5, -3, 2, 0, -7, 0, 1, -1]))
        .input(reals(from, &[1, 4], vec![inf, nan, -inf, 1.0]))
        .output(to, &[1, 12])
        .param("qdtype", 6)
        .param("group", 3)
        .known(Values::Reals(known));
        b.add(spec.clause(clause::NUM_03))?;
    }
    Ok(())
}
