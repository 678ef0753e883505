//! What buffers an opcode is given: the result in the place of each operand, on its page, in every space; one buffer as several
//! inputs; weights of each kind; contents that change from launch to launch.

use super::super::bench::{Bench, Sharing, Spec, every};
use super::super::data::Operand;
use super::{count, operands, pairs, plain, some};
use crate::builder::{FLOATS, Kind, Op, Result, Space, is_unary};
use megakernel_ir::rule::clause;

const SPACES: [(&str, Space); 4] = [
    ("hbm", Space::Hbm),
    ("scratch", Space::GlobalScratch),
    ("smem", Space::Smem),
    ("register", Space::Register),
];

/// The cases of an opcode.
pub fn fill(b: &mut Bench, op: Op) -> Result<()> {
    in_place(b, op)?;
    repeated(b, op)?;
    kinds(b, op)?;
    launches(b, op)
}

fn in_place(b: &mut Bench, op: Op) -> Result<()> {
    let inputs = match op {
        _ if is_unary(op) => 1,
        Op::SiluMul | Op::Add | Op::Mul => 2,
        Op::AllreduceShard => 5,
        _ => return Ok(()),
    };
    for operand in 0..inputs {
        for (turn, &dtype) in FLOATS.iter().enumerate() {
            for paged in [false, true] {
                // Every space, unless there are more than two operands: then one, by turns.
                let first = turn + operand + usize::from(paged);
                let spaces = if inputs > 2 { 1 } else { SPACES.len() };
                for (name, space) in SPACES.into_iter().cycle().skip(first % SPACES.len()).take(spaces) {
                    let form = format!("{}-{operand}-{name}", if paged { "page" } else { "in-place" });
                    let given: Vec<Operand> = (0..inputs)
                        .map(|index| some(b, "storage", &format!("{inputs}-{index}"), dtype, &[2, 5]))
                        .collect();
                    let about =
                        if paged { "the result takes over the page of an operand" } else { "in place" };
                    let spec = plain(b, op, &form, "storage", about, given, dtype);
                    let clause = if paged { clause::PAG_02 } else { clause::EXE_10 };
                    b.add(spec.sharing(Sharing { operand, space, paged }).clause(clause))?;
                }
            }
        }
    }
    Ok(())
}

/// One buffer as several inputs.
fn repeated(b: &mut Bench, op: Op) -> Result<()> {
    let patterns: &[(&str, &[usize])] = match op {
        Op::SiluMul | Op::Add | Op::Mul => &[("both", &[0, 0])],
        Op::RmsNorm => &[("x-and-weight", &[0, 0])],
        Op::LayerNorm => &[("weight-and-bias", &[0, 1, 1]), ("all", &[0, 0, 0])],
        Op::GemvTile | Op::GemmTile => &[("x-and-bias", &[0, 1, 0])],
        Op::AttentionTile => &[("keys-and-values", &[0, 1, 1])],
        Op::Dequant => &[("scales-and-zeros", &[0, 1, 1])],
        Op::AllreduceShard => {
            &[("two", &[0, 0]), ("three", &[0, 1, 0]), ("six", &[1, 0, 0, 2, 1, 0]), ("eight", &[2; 8])]
        }
        Op::AttentionCombine => &[("first", &[0, 0, 1]), ("last", &[1, 2, 2]), ("apart", &[0, 1, 0, 2, 0])],
        _ => return Ok(()),
    };
    for &(form, reading) in patterns {
        for (from, to) in pairs(op, every()) {
            let x = |what: &str, shape: &[u64]| some(b, "repeated", what, from, shape);
            let given = match op {
                Op::RmsNorm => vec![x("x", &[8])],
                Op::LayerNorm if form == "all" => vec![x("x", &[8])],
                Op::LayerNorm => vec![x("x", &[2, 8]), x("w", &[8])],
                Op::GemvTile | Op::GemmTile => Vec::new(),
                Op::AttentionTile | Op::Dequant => {
                    operands(b, "repeated", op, &[from]).into_iter().take(2).collect()
                }
                _ => operands(b, "repeated", op, &[from]),
            };
            let mut spec = plain(b, op, form, "repeated", "one buffer as several inputs", given, to);
            if op == Op::GemvTile || op == Op::GemmTile {
                // Of one row, so that x has an element for each column.
                spec = Spec::new(form, "repeated", "one buffer as several inputs");
                spec = spec.input(x("x", &[1, 6])).input(x("w", &[6, 6])).output(to, &[1, 6]);
                spec = spec.param("K", 6).param("N_tile", 6).param("n_off", 0);
                spec = if op == Op::GemmTile { spec.param("M_tile", 1) } else { spec };
            }
            b.add(spec.reading(reading).clause(clause::DAT_06))?;
        }
    }
    Ok(())
}

/// Operands as CONST; the first of several as a WEIGHT.
fn kinds(b: &mut Bench, op: Op) -> Result<()> {
    for (from, to) in pairs(op, every()) {
        let given = operands(b, "constants", op, &[from]);
        let inputs = given.len();
        let mut spec = plain(b, op, "constants", "constants", "operands of kind CONST", given, to);
        for operand in 0..inputs {
            let is_weight = operand == 0 && inputs > 1;
            spec = spec.of_kind(operand, if is_weight { Kind::Weight } else { Kind::Const });
        }
        b.add(spec.clause(clause::DAT_04))?;
    }
    Ok(())
}

/// Three launches, of which each binds other weights, bias, scales, zeros, masks, tables and positions.
fn launches(b: &mut Bench, op: Op) -> Result<()> {
    for (from, to) in pairs(op, every()) {
        let given = operands(b, "launches", op, &[from]);
        let inputs = given.len();
        let mut more = [operands(b, "launch-2", op, &[from]), operands(b, "launch-3", op, &[from])];
        if op == Op::Rope {
            for (more, first) in more.iter_mut().zip([7, 0]) {
                more.truncate(1);
                more.push(count(first, &[3]));
            }
        }
        let mut spec = plain(b, op, "launches", "launches", "other contents in each launch", given, to);
        for operand in 1..inputs {
            spec = spec.of_kind(operand, Kind::Weight);
        }
        let [second, third] = more;
        b.add(spec.again(second).again(third).clause(clause::EXE_08))?;
    }
    Ok(())
}
