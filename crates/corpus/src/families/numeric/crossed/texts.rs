//! Parameters: numbers written in unusual ways, values that implementers have a path of their own for, and parameters that an opcode
//! does not have.

use serde_json::{Value, json};

use super::super::bench::{Bench, every};
use super::super::data::{Operand, Values, power, reals};
use super::{operands, pairs, plain};
use crate::builder::{DType, FLOATS, Op, Result};
use megakernel_ir::rule::clause;

/// Every key, with a value that shows where it has an effect.
fn every_key() -> Vec<(&'static str, Value)> {
    let integers = [
        ("K", 2),
        ("N", 2),
        ("M", 2),
        ("N_tile", 1),
        ("M_tile", 1),
        ("n_off", 1),
        ("m_off", 1),
        ("hidden", 2),
        ("vocab", 2),
        ("head_dim", 2),
        ("n_heads", 1),
        ("n_kv_heads", 1),
        ("kv_start", 1),
        ("kv_len", 1),
        ("pos", 1),
        ("qdtype", 6),
        ("group", 2),
        ("flags", 2),
        ("dim", 0),
    ];
    let floats = [("eps", 1.5), ("scale", 2.0), ("theta", 2.0)];
    let integers = integers.into_iter().map(|(key, value)| (key, json!(value)));
    integers.chain(floats.into_iter().map(|(key, value)| (key, json!(value)))).collect()
}

/// The keys that have an effect on an opcode with the operands of [`operands`], or have to agree with them.
fn own(op: Op) -> &'static [&'static str] {
    match op {
        Op::Embed => &["hidden"],
        Op::RmsNorm | Op::LayerNorm => &["hidden", "eps"],
        Op::GemvTile => &["K", "N", "M", "N_tile", "n_off", "qdtype"],
        Op::GemmTile => &["K", "N", "M", "N_tile", "n_off", "M_tile", "m_off", "qdtype"],
        Op::AttentionTile => &["head_dim", "kv_start", "kv_len", "n_heads", "n_kv_heads", "scale", "flags"],
        Op::Rope => &["head_dim", "theta"],
        Op::Dequant => &["qdtype", "group"],
        Op::Softmax => &["dim"],
        Op::KvAppend => &["pos"],
        _ => &[],
    }
}

/// The cases of an opcode.
pub fn fill(b: &mut Bench, op: Op) -> Result<()> {
    for (from, to) in pairs(op, every()) {
        let given = operands(b, "foreign", op, &[from]);
        let about = "every parameter that the opcode does not have, and that has no effect";
        let mut spec = plain(b, op, "every-key", "foreign", about, given, to);
        for (key, value) in every_key().into_iter().filter(|(key, _)| !own(op).contains(key)) {
            spec = spec.param(key, value);
        }
        b.add(spec.clause(clause::DAT_08))?;
    }
    for heads in [2, 3].into_iter().filter(|_| op == Op::AttentionCombine) {
        for &to in FLOATS {
            let given = operands(b, "foreign", op, &[DType::F32]);
            let about = "as many heads by a parameter as the opcode does not have, fewer than rows";
            let spec = plain(b, op, &format!("heads-{heads}"), "foreign", about, given, to);
            b.add(spec.param("n_heads", heads).param("n_kv_heads", 1).clause(clause::DAT_08))?;
        }
    }
    written(b, op)
}

/// Pairs of dtypes of one width.
pub(super) const ALIKE: &[(DType, DType)] = &[
    (DType::F16, DType::BF16),
    (DType::BF16, DType::F16),
    (DType::F8E4M3, DType::F8E5M2),
    (DType::F8E5M2, DType::F8E4M3),
];

/// A number by the name of its form, and what the numbers of the operand are multiplied by so that results are ordinary.
type Written = (&'static str, Value, i32);

fn written(b: &mut Bench, op: Op) -> Result<()> {
    let (key, numbers): (&'static str, Vec<Written>) = match op {
        Op::RmsNorm | Op::LayerNorm => (
            "eps",
            vec![
                ("one", json!(1), 0),
                ("two", json!(2), 0),
                ("exponent", json!(2.5e-7), -11),
                ("large", json!(1e20), 30),
            ],
        ),
        Op::Rope => {
            ("theta", vec![("integer", json!(500), 0), ("one", json!(1), 0), ("exponent", json!(1e20), 0)])
        }
        Op::Mul => (
            "scale",
            vec![
                ("integer", json!(3), 0),
                ("one", json!(1.0), 0),
                ("one-integer", json!(1), 0),
                ("minus-one", json!(-1.0), 0),
                ("minus-one-integer", json!(-1), 0),
                ("zero", json!(0), 0),
                ("exponent", json!(1e-5), 15),
                ("large-exponent", json!(1e20), -67),
                ("huge", json!(1e35), -117),
                ("huge-2", json!(3e37), -124),
                ("subnormal", json!(1e-40), 120),
                ("subnormal-2", json!(-3e-39), 120),
                ("subnormal-3", json!(1.1e-38), 124),
                ("subnormal-4", json!(-9e-39), 124),
                ("subnormal-5", json!(7e-39), 124),
            ],
        ),
        Op::AttentionTile => (
            "scale",
            vec![
                ("integer", json!(2), 0),
                ("one", json!(1.0), 0),
                ("one-integer", json!(1), 0),
                ("minus-one", json!(-1.0), 0),
                ("minus-two", json!(-2), 0),
                ("exponent", json!(1e-5), 8),
                ("large", json!(1e6), -10),
                ("huge", json!(1e35), -58),
                ("subnormal", json!(5e-39), 61),
                ("subnormal-2", json!(-3e-39), 61),
            ],
        ),
        _ => return Ok(()),
    };
    for (form, number, exponent) in numbers {
        // A number that changes nothing, between dtypes of one width.
        let alike = if op == Op::Mul && form.split('-').any(|part| part == "one") { ALIKE } else { &[] };
        let dtypes: Vec<(DType, DType)> =
            if matches!(exponent, -20..=20) { every().collect() } else { wide() };
        for (from, to) in dtypes.into_iter().chain(alike.iter().copied()) {
            let mut given = operands(b, "written", op, &[from]);
            if op == Op::Mul {
                given.truncate(1);
            }
            if op == Op::AttentionTile {
                given.truncate(3);
            }
            let scaled = if op == Op::AttentionTile { 2 } else { 1 };
            for operand in given.iter_mut().take(scaled) {
                *operand = times(operand, exponent);
            }
            let form = format!("{key}-{form}");
            let mut spec = plain(
                b,
                op,
                &form,
                "written",
                "a number written in an unusual way, or of unusual size",
                given,
                to,
            );
            spec = spec.without(key).param(key, number.clone());
            b.add(spec.clause(clause::DAT_08).clause(clause::FMT_04))?;
        }
    }
    Ok(())
}

/// Dtypes whose numbers reach far enough for unusual sizes, with every output.
fn wide() -> Vec<(DType, DType)> {
    let inputs = [DType::F32, DType::BF16].into_iter();
    inputs.flat_map(|from| FLOATS.iter().map(move |&to| (from, to))).collect()
}

/// An operand with all numbers multiplied by a power of two.
fn times(operand: &Operand, exponent: i32) -> Operand {
    match &operand.values {
        Values::Reals(values) => {
            let values = values.iter().map(|value| value * power(exponent)).collect();
            reals(operand.dtype, &operand.shape, values)
        }
        _ => operand.clone(),
    }
}
