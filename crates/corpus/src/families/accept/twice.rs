//! What a pair of tasks at one buffer is, on two buffers of one program: see `pairs.rs`.

use megakernel_ir::Rule;
use megakernel_ir::rule::clause;
use serde_json::Value;

use super::Base;
use super::pairs::RULES;
use crate::builder::{Ctr, DType, Kind, Op, ProgramBuilder, Space};

/// Of each of the buffers `a` and `b`: `writer0` and perhaps `writer1` write it, all of it or a row each, and `reader` reads it.
fn twice(rule: Rule) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("twice");
    let x = p.input("x", DType::F32, &[2, 1]);
    let one = (rule == Rule::R03).then(|| p.input("one", DType::F32, &[1, 1]));
    let kind = if rule == Rule::R06 { Kind::KvCache } else { Kind::Activation };
    for name in ["a", "b"] {
        let buffer = p.buffer(name, kind, DType::F32, &[2, 1], Space::Hbm);
        let y = p.output(&format!("y{name}"), DType::F32, &[2, 1]);
        let write = |p: &mut ProgramBuilder, number: u64, after: &[Ctr]| {
            let label = format!("{name}.writer{number}");
            let Some(one) = one else { return p.copy(&label, x, buffer, after) };
            let params: [(&str, Value); 5] = [
                ("K", 1.into()),
                ("N_tile", 1.into()),
                ("n_off", 0.into()),
                ("M_tile", 1.into()),
                ("m_off", number.into()),
            ];
            p.op(Op::GemmTile, &label, &[x, one], buffer, &params, after)
        };
        let read = |p: &mut ProgramBuilder, after: &[Ctr]| {
            p.op(Op::Gelu, &format!("{name}.reader"), &[buffer], y, &[], after)
        };
        let first = write(&mut p, 0, &[]);
        if rule == Rule::R05 {
            let read = read(&mut p, &[first]);
            write(&mut p, 1, &[first, read]);
            continue;
        }
        let mut written = vec![first];
        match rule {
            Rule::R03 => written.push(write(&mut p, 1, &[])),
            Rule::R04 => written.push(write(&mut p, 1, &[first])),
            _ => {}
        }
        read(&mut p, &written);
    }
    p
}

/// The accepted programs of this file.
pub fn bases() -> Vec<Base> {
    let base = |rule: Rule| {
        let summary = format!("what {} is about, on two buffers", rule.id());
        Base::new(format!("twice/{}", rule.id().to_lowercase()), summary, &[clause::EXE_07], twice(rule))
    };
    RULES.into_iter().map(base).collect()
}
