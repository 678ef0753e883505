//! Programs in which one opcode writes several dtypes: quantised products, exponentials and copies of integers, with lines whose
//! lengths are no multiples of a power of two.

use std::sync::Arc;

use megakernel_ir::prng::SplitMix64;
use megakernel_ir::rule::clause;

use super::super::numeric::Operand;
use super::super::numeric::data::{ints, normals, numel, power, reals, uniforms};
use super::super::plan::{Inputs, Launch, Plan};
use crate::builder::{Buf, DType, Op, ProgramBuilder, Result};

use DType::{BF16, F8E5M2, F16, F32, I4, I8, I32, U8};

const FAMILY: &str = "execution/several";

/// A program with inputs and outputs alone: no task waits for another.
struct Sketch {
    p: ProgramBuilder,
    inputs: Inputs,
}

impl Sketch {
    fn input(&mut self, name: &str, operand: Operand) -> Buf {
        let buffer = self.p.input(name, operand.dtype, &operand.shape);
        self.inputs.insert(name.to_owned(), operand);
        buffer
    }
}

/// The cases: each has other dtypes and sizes.
pub fn plans(seed: u64) -> Result<Vec<Plan>> {
    let forms: [(&str, [DType; 2], u64, u64); 4] = [
        ("f32-f16", [F32, F16], 7, 22),
        ("f32-bf16", [F32, BF16], 5, 18),
        ("f16-bf16", [F16, BF16], 9, 26),
        ("f32-f8e5m2", [F32, F8E5M2], 6, 30),
    ];
    Ok(forms.map(|(name, outputs, n, k)| plan(seed, name, outputs, n, k)).into())
}

fn plan(seed: u64, name: &str, outputs: [DType; 2], n: u64, k: u64) -> Plan {
    let mut prng = SplitMix64::for_family(&format!("{FAMILY}/{name}"), seed);
    let mut s = Sketch { p: ProgramBuilder::new("several"), inputs: Inputs::new() };
    // 24 significant bits in x; some weights are as small as binary32 has them, beside factors as large.
    let x = s.input("x", reals(F32, &[2, k], normals(&mut prng, 2 * k as usize, 1.0)));
    let mut tiny = normals(&mut prng, (n * k) as usize, 1.0);
    tiny.iter_mut().for_each(|value| *value *= power(-128));
    let w = s.input("w", reals(F32, &[n, k], tiny));
    let mut wide = normals(&mut prng, 2 * k as usize, 1.0);
    wide.iter_mut().for_each(|value| *value *= power(120));
    let wide = s.input("wide", reals(F32, &[2, k], wide));
    let plain = s.input("plain", reals(F32, &[n, k], normals(&mut prng, (n * k) as usize, 1.0)));
    let groups = k.div_ceil(4);
    let scales =
        s.input("scales", reals(F32, &[n, groups], uniforms(&mut prng, (n * groups) as usize, 0.01, 0.03)));
    let zeros = (0..n * groups).map(|_| prng.below(9) as i64 - 4).collect();
    let zeros = s.input("zeros", ints(I8, &[n, groups], zeros));
    let mut stored = |dtype: DType, shape: [u64; 2], low: i64, count: u64| {
        let values = (0..numel(&shape)).map(|_| low + prng.below(count) as i64).collect();
        ints(dtype, &shape, values)
    };
    let bytes = s.input("bytes", stored(I8, [n, k], -128, 256));
    let packed = s.input("packed", stored(U8, [n, k / 2], 0, 256));
    let nibbles = s.input("nibbles", stored(I4, [n, k], 0, 16));
    let tokens = s.input("tokens", stored(I32, [n, 3], -500, 1000));
    let mut scores =
        normals(&mut SplitMix64::for_family(&format!("{FAMILY}/{name}/scores"), seed), (3 * n) as usize, 2.0);
    // Without the maximum of its line, the exponential of these overflows.
    scores.iter_mut().take(n as usize).for_each(|score| *score += 120.0);
    let scores = s.input("scores", reals(F32, &[3, n], scores));
    for (index, to) in outputs.into_iter().enumerate() {
        let mut product = |form: &str, x: Buf, weight: &[Buf], qdtype: Option<u64>| {
            let y = s.p.output(&format!("{form}-{index}"), to, &[2, n]);
            let inputs: Vec<Buf> = [&[x], weight].concat();
            let mut task =
                s.p.task(Op::GemvTile).reads(&inputs).writes(&[y]).label(&format!("{form}-{index}"));
            task = task.param("K", k).param("N_tile", n).param("n_off", 0);
            if let Some(qdtype) = qdtype {
                task = task.param("qdtype", qdtype).param("group", 4);
            }
            task.add();
        };
        product("plain", x, &[plain], None);
        product("tiny", wide, &[w], None);
        product("i8", x, &[bytes, scales], Some(6));
        product("i8-zeros", x, &[bytes, scales, zeros], Some(6));
        product("i4-bytes", x, &[packed, scales], Some(7));
        product("i4-zeros", x, &[nibbles, scales, zeros], Some(7));
        let y = s.p.output(&format!("softmax-{index}"), to, &[3, n]);
        s.p.task(Op::Softmax).reads(&[scores]).writes(&[y]).label(&format!("softmax-{index}")).add();
    }
    let copied = s.p.output("copied", I32, &[3, n]);
    s.p.task(Op::Copy).reads(&[tokens]).writes(&[copied]).label("copied").add();
    let path = format!("tensors/{FAMILY}/{name}.safetensors");
    Plan {
        id: format!("{FAMILY}/{name}"),
        family: FAMILY.to_owned(),
        summary: format!("quantised products and SOFTMAX to {} and {}, lines of {n}", outputs[0], outputs[1]),
        clauses: vec![clause::NUM_08, clause::OPC_05, clause::OPC_14],
        path: format!("programs/{FAMILY}/{name}.json"),
        program: Arc::new(s.p.finish()),
        launches: vec![Launch::of(&path, s.inputs)],
        weights: None,
    }
}
