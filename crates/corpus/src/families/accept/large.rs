//! One program larger than the limit above which an existing implementation stops looking for races.

use megakernel_ir::rule::clause;
use serde_json::Value;

use super::Base;
use crate::builder::{DType, Op, Program, ProgramBuilder, Weights};

/// Tiles of the large program.
pub const TILES: u64 = 8_200;

/// The accepted programs of this file.
pub fn bases() -> Vec<Base> {
    let mut p = ProgramBuilder::new("large");
    let x = p.input("x", DType::F32, &[1, 1]);
    let y = p.act("y", DType::F32, &[1, TILES]);
    let out = p.output("out", DType::F32, &[1, TILES]);
    let matrix = p.matrix("w", TILES, 1, Weights::Float(DType::F32));
    let done = p.matmul("t", x, &matrix, y, 1.into(), &[]);
    p.op(Op::Softmax, "reader", &[y], out, &[], &[done]);
    let summary = format!("{TILES} tasks write one buffer, an element each; defaults are left out");
    let mut base = Base::new("large/one-buffer", summary, &[clause::EXE_07, clause::FMT_03], p);
    base.program = without_defaults(&base.program);
    vec![base]
}

/// Leaves out the members of tasks that have their defaults, and the labels and costs.
fn without_defaults(program: &Program) -> Program {
    let mut value = program.value().clone();
    for task in value["tasks"].as_array_mut().map(Vec::as_mut_slice).unwrap_or_default() {
        if let Value::Object(members) = task {
            members.retain(|key, member| match key.as_str() {
                "sm" | "est_bytes" | "est_flops" | "label" => false,
                "waits" => member.as_array().is_some_and(|waits| !waits.is_empty()),
                "params" => member.as_object().is_some_and(|params| !params.is_empty()),
                _ => true,
            });
        }
    }
    Program::new(value)
}
