//! Every opcode in each of its operand forms, and with each dtype that it takes. Each program has one task under test,
//! labelled `op`, whose inputs are the buffers `i0`, `i1`, ... and whose output is `y`.

use megakernel_ir::rule::clause;
use serde_json::{Value, json};

use super::Base;
use crate::builder::{Buf, DType, FLOATS, Op, ProgramBuilder, clause_of, slug};

/// One operand form of an opcode.
#[derive(Clone)]
pub struct Form {
    /// The opcode.
    pub op: Op,
    /// Name of the form.
    pub name: &'static str,
    /// Dtype and shape of each input.
    pub inputs: Vec<(DType, Vec<u64>)>,
    /// Dtype and shape of the output. For KV_APPEND it is the cache, which is an input as well.
    pub output: Option<(DType, Vec<u64>)>,
    /// Parameters.
    pub params: Vec<(&'static str, Value)>,
}

fn form(
    op: Op,
    name: &'static str,
    inputs: &[(DType, &[u64])],
    output: (DType, &[u64]),
    params: &[(&'static str, i64)],
) -> Form {
    Form {
        op,
        name,
        inputs: inputs.iter().map(|(dtype, shape)| (*dtype, shape.to_vec())).collect(),
        output: Some((output.0, output.1.to_vec())),
        params: params.iter().map(|(key, value)| (*key, json!(value))).collect(),
    }
}

impl Form {
    fn with(mut self, key: &'static str, value: f64) -> Self {
        self.params.push((key, json!(value)));
        self
    }

    /// The form with every F32 operand in another dtype. Partials stay F32.
    fn in_dtype(&self, dtype: DType) -> Self {
        let mut form = self.clone();
        let partial = form.params.iter().any(|(key, value)| *key == "flags" && *value == json!(2));
        for (index, (found, _)) in form.inputs.iter_mut().chain(form.output.as_mut()).enumerate() {
            let is_output = index == self.inputs.len();
            if *found == DType::F32 && form.op != Op::AttentionCombine && !(is_output && partial) {
                *found = dtype;
            }
        }
        if let (Op::AttentionCombine, Some((found, _))) = (form.op, form.output.as_mut()) {
            *found = dtype;
        }
        form
    }

    fn program(&self) -> ProgramBuilder {
        let mut p = ProgramBuilder::new("opcode");
        let mut inputs: Vec<Buf> = Vec::new();
        for (index, (dtype, shape)) in self.inputs.iter().enumerate() {
            inputs.push(p.input(&format!("i{index}"), *dtype, shape));
        }
        let mut outputs = Vec::new();
        if let Some((dtype, shape)) = &self.output {
            let y = if self.op == Op::KvAppend {
                p.cache("y", *dtype, shape)
            } else {
                p.output("y", *dtype, shape)
            };
            if self.op == Op::KvAppend {
                inputs.push(y);
            }
            outputs.push(y);
        }
        let mut task = p.task(self.op).reads(&inputs).writes(&outputs).label("op");
        for (key, value) in &self.params {
            task = task.param(key, value.clone());
        }
        task.add();
        p
    }
}

/// Every opcode in each operand form, with F32 where any float will do.
pub fn forms() -> Vec<Form> {
    let mut forms = written();
    for &op in Op::IN_PLACE {
        if !forms.iter().any(|form| form.op == op) {
            let inputs = vec![(DType::F32, &[2, 5][..]); op.record().inputs[0]];
            forms.push(form(op, "plain", &inputs, (DType::F32, &[2, 5]), &[]));
        }
    }
    forms
}

/// The forms that are written down. An opcode that computes each element by itself needs none.
fn written() -> Vec<Form> {
    use DType::{Bool, F16, F32, I4, I8, I32, U8};
    let attention =
        |name, q: &[u64], cache: &[u64], mask: Option<(DType, &[u64])>, y: &[u64], heads, kv_heads, flags| {
            let mut inputs = vec![(F32, q), (F32, cache), (F32, cache)];
            inputs.extend(mask);
            let mut params = vec![
                ("head_dim", 4),
                ("kv_start", 1),
                ("kv_len", 5),
                ("n_heads", heads),
                ("n_kv_heads", kv_heads),
            ];
            if flags != 0 {
                params.push(("flags", flags));
            }
            form(Op::AttentionTile, name, &inputs, (F32, y), &params).with("scale", 0.5)
        };
    let (one, many) = (&[8, 2, 4][..], &[3, 8, 2, 4][..]);
    let gemv = [("K", 6), ("N_tile", 4), ("n_off", 0)];
    let gemm = [("K", 6), ("N_tile", 4), ("n_off", 0), ("M_tile", 3)];
    let q8 = [("K", 6), ("N_tile", 4), ("n_off", 0), ("qdtype", 6), ("group", 4)];
    let q4 = [("K", 6), ("N_tile", 4), ("n_off", 0), ("qdtype", 7), ("group", 4)];
    let gq4 =
        [("K", 6), ("N_tile", 4), ("n_off", 0), ("M_tile", 3), ("m_off", 0), ("qdtype", 7), ("group", 6)];
    vec![
        Form { op: Op::Nop, name: "plain", inputs: vec![], output: None, params: vec![] },
        form(Op::Copy, "plain", &[(F32, &[3, 4])], (F32, &[3, 4]), &[]),
        form(Op::Copy, "reshape", &[(F32, &[3, 4])], (F32, &[2, 1, 6]), &[]),
        form(Op::Copy, "scalar", &[(F32, &[])], (F32, &[1]), &[]),
        form(Op::Embed, "rows", &[(I32, &[3]), (F32, &[10, 4])], (F32, &[3, 4]), &[("hidden", 4)]),
        form(Op::Embed, "bridge", &[(I32, &[1]), (F32, &[1, 24])], (F32, &[4, 6]), &[("hidden", 6)]),
        form(
            Op::Embed,
            "bridge-rank-3",
            &[(I32, &[1]), (F32, &[1, 24])],
            (F32, &[1, 4, 6]),
            &[("hidden", 6)],
        ),
        form(Op::Embed, "vector-table", &[(I32, &[2, 2]), (F32, &[5])], (F32, &[4]), &[("hidden", 1)]),
        form(Op::RmsNorm, "plain", &[(F32, &[2, 8]), (F32, &[8])], (F32, &[2, 8]), &[("hidden", 8)])
            .with("eps", 1e-6),
        form(Op::RmsNorm, "vector", &[(F32, &[8]), (F32, &[1, 8])], (F32, &[8]), &[("hidden", 8)])
            .with("eps", 0.0),
        form(Op::LayerNorm, "no-bias", &[(F32, &[2, 8]), (F32, &[8])], (F32, &[2, 8]), &[("hidden", 8)])
            .with("eps", 1e-5),
        form(
            Op::LayerNorm,
            "bias",
            &[(F32, &[2, 8]), (F32, &[8]), (F32, &[8])],
            (F32, &[2, 8]),
            &[("hidden", 8)],
        )
        .with("eps", 1e-5),
        form(
            Op::LayerNorm,
            "two-axes",
            &[(F32, &[3, 2, 4]), (F32, &[2, 4])],
            (F32, &[3, 2, 4]),
            &[("hidden", 8)],
        )
        .with("eps", 1e-5),
        form(Op::GemvTile, "plain", &[(F32, &[1, 6]), (F32, &[4, 6])], (F32, &[1, 4]), &gemv),
        form(Op::GemvTile, "vector", &[(F32, &[6]), (F32, &[4, 6])], (F32, &[4]), &gemv),
        form(Op::GemvTile, "rows", &[(F32, &[2, 3, 6]), (F32, &[4, 6])], (F32, &[6, 4]), &gemv),
        form(Op::GemvTile, "bias", &[(F32, &[1, 6]), (F32, &[4, 6]), (F32, &[4])], (F32, &[1, 4]), &gemv),
        form(
            Op::GemvTile,
            "bias-row",
            &[(F32, &[1, 6]), (F32, &[4, 6]), (F32, &[1, 4])],
            (F32, &[1, 4]),
            &gemv,
        ),
        form(
            Op::GemvTile,
            "sizes-given",
            &[(F32, &[2, 6]), (F32, &[4, 6])],
            (F32, &[2, 4]),
            &[("K", 6), ("N_tile", 4), ("n_off", 0), ("N", 4), ("M", 2)],
        ),
        form(Op::GemvTile, "i8", &[(F32, &[1, 6]), (I8, &[4, 6]), (F32, &[4, 2])], (F32, &[1, 4]), &q8),
        form(
            Op::GemvTile,
            "i8-zeros-i8",
            &[(F32, &[1, 6]), (I8, &[4, 6]), (F32, &[4, 2]), (I8, &[4, 2])],
            (F32, &[1, 4]),
            &q8,
        ),
        form(Op::GemvTile, "i4-bytes", &[(F32, &[1, 6]), (U8, &[4, 3]), (F32, &[4, 2])], (F32, &[1, 4]), &q4),
        form(
            Op::GemvTile,
            "i4-bytes-zeros-u8",
            &[(F32, &[1, 6]), (U8, &[4, 3]), (F32, &[4, 2]), (U8, &[4, 2])],
            (F32, &[1, 4]),
            &q4,
        ),
        form(Op::GemvTile, "i4", &[(F32, &[1, 6]), (I4, &[4, 6]), (F32, &[4, 2])], (F32, &[1, 4]), &q4),
        form(
            Op::GemvTile,
            "i4-zeros-f16",
            &[(F32, &[1, 6]), (I4, &[4, 6]), (F32, &[4, 2]), (F16, &[4, 2])],
            (F32, &[1, 4]),
            &q4,
        ),
        form(Op::GemmTile, "plain", &[(F32, &[3, 6]), (F32, &[4, 6])], (F32, &[3, 4]), &gemm),
        form(Op::GemmTile, "bias", &[(F32, &[3, 6]), (F32, &[4, 6]), (F32, &[4])], (F32, &[3, 4]), &gemm),
        form(
            Op::GemmTile,
            "i4-bytes",
            &[(F32, &[3, 6]), (U8, &[4, 3]), (F32, &[4, 1])],
            (F32, &[3, 4]),
            &gq4,
        ),
        form(
            Op::GemmTile,
            "i4-zeros-f32",
            &[(F32, &[3, 6]), (I4, &[4, 6]), (F32, &[4, 1]), (F32, &[4, 1])],
            (F32, &[3, 4]),
            &gq4,
        ),
        attention("plain", &[4, 4], one, None, &[4, 4], 4, 2, 0),
        attention("flat-query", &[1, 16], one, None, &[16], 4, 2, 0),
        attention("causal", &[4, 4], one, None, &[4, 4], 4, 2, 1),
        attention("mask-row", &[4, 4], one, Some((F32, &[5])), &[4, 4], 4, 2, 0),
        attention("mask-bool", &[4, 4], one, Some((Bool, &[5])), &[4, 4], 4, 2, 0),
        attention("mask-heads", &[4, 4], one, Some((F32, &[4, 5])), &[4, 4], 4, 2, 0),
        attention("partial", &[4, 4], one, None, &[4, 6], 4, 2, 2),
        attention("partial-causal", &[4, 4], one, None, &[4, 6], 4, 2, 3),
        attention("batch", &[3, 4, 4], many, None, &[3, 4, 4], 4, 2, 0),
        attention("batch-mask", &[3, 4, 4], many, Some((F32, &[3, 5])), &[3, 4, 4], 4, 2, 0),
        attention("batch-mask-bool-heads", &[3, 4, 4], many, Some((Bool, &[3, 4, 5])), &[3, 16], 4, 2, 0),
        attention("batch-partial", &[3, 4, 4], many, None, &[3, 4, 6], 4, 2, 2),
        form(Op::Rope, "one-position", &[(F32, &[3, 8]), (I32, &[1])], (F32, &[3, 8]), &[("head_dim", 8)])
            .with("theta", 10000.0),
        form(Op::Rope, "positions", &[(F32, &[2, 3, 8]), (I32, &[2])], (F32, &[2, 3, 8]), &[("head_dim", 8)])
            .with("theta", 500_000.0),
        form(Op::SiluMul, "plain", &[(F32, &[2, 5]), (F32, &[2, 5])], (F32, &[2, 5]), &[]),
        form(Op::Gelu, "plain", &[(F32, &[2, 5])], (F32, &[2, 5]), &[]),
        form(Op::Gelu, "scalar", &[(F32, &[])], (F32, &[]), &[]),
        form(Op::Add, "plain", &[(F32, &[2, 5]), (F32, &[2, 5])], (F32, &[2, 5]), &[]),
        form(Op::Mul, "two", &[(F32, &[2, 5]), (F32, &[2, 5])], (F32, &[2, 5]), &[]),
        form(Op::Mul, "scale", &[(F32, &[2, 5])], (F32, &[2, 5]), &[]).with("scale", 0.125),
        form(Op::Mul, "no-scale", &[(F32, &[2, 5])], (F32, &[2, 5]), &[]),
        form(
            Op::Dequant,
            "i8",
            &[(I8, &[3, 10]), (F32, &[3, 3])],
            (F32, &[3, 10]),
            &[("qdtype", 6), ("group", 4)],
        ),
        form(
            Op::Dequant,
            "i8-vector",
            &[(I8, &[10]), (F32, &[1])],
            (F32, &[10]),
            &[("qdtype", 6), ("group", 16)],
        ),
        form(
            Op::Dequant,
            "i4-bytes",
            &[(U8, &[3, 5]), (F32, &[3, 3])],
            (F32, &[3, 10]),
            &[("qdtype", 7), ("group", 4)],
        ),
        form(
            Op::Dequant,
            "i4-zeros-u8",
            &[(I4, &[3, 10]), (F32, &[3, 5]), (U8, &[3, 5])],
            (F32, &[3, 10]),
            &[("qdtype", 7), ("group", 2)],
        ),
        form(
            Op::Dequant,
            "i8-zeros-i8",
            &[(I8, &[2, 3, 4]), (F32, &[2, 3, 1]), (I8, &[2, 3, 1])],
            (F32, &[2, 3, 4]),
            &[("qdtype", 6), ("group", 4)],
        ),
        form(Op::Softmax, "plain", &[(F32, &[2, 5])], (F32, &[2, 5]), &[]),
        form(Op::Softmax, "dim-0", &[(F32, &[2, 5])], (F32, &[2, 5]), &[("dim", 0)]),
        form(Op::Softmax, "dim-minus-rank", &[(F32, &[2, 5, 3])], (F32, &[2, 5, 3]), &[("dim", -3)]),
        form(Op::AllreduceShard, "one", &[(F32, &[2, 5])], (F32, &[2, 5]), &[]),
        form(
            Op::AllreduceShard,
            "four",
            &[(F32, &[5]), (F32, &[5]), (F32, &[5]), (F32, &[5])],
            (F32, &[5]),
            &[],
        ),
        form(Op::KvAppend, "row", &[(F32, &[2, 4])], (F32, &[8, 2, 4]), &[("pos", 3)]),
        form(Op::KvAppend, "flat", &[(F32, &[1, 8])], (F32, &[8, 2, 4]), &[("pos", 0)]),
        form(Op::KvAppend, "rows", &[(F32, &[3, 2, 4])], (F32, &[8, 2, 4]), &[("pos", 5)]),
        form(Op::KvAppend, "batch", &[(F32, &[3, 2, 4])], (F32, &[3, 8, 2, 4]), &[("pos", 7)]),
        form(Op::SampleArgmax, "one", &[(F32, &[1, 9])], (I32, &[1]), &[]),
        form(Op::SampleArgmax, "vector", &[(F32, &[9])], (I32, &[]), &[]),
        form(Op::SampleArgmax, "batch", &[(F32, &[2, 3, 9])], (I32, &[6]), &[]),
        form(Op::AttentionCombine, "two", &[(F32, &[4, 6]), (F32, &[4, 6])], (F32, &[4, 4]), &[]),
        form(
            Op::AttentionCombine,
            "batch",
            &[(F32, &[3, 4, 6]), (F32, &[3, 4, 6]), (F32, &[3, 4, 6])],
            (F32, &[3, 16]),
            &[],
        ),
    ]
}

/// The accepted programs of this file.
pub fn bases() -> Vec<Base> {
    let mut bases = Vec::new();
    for form in forms() {
        let op = slug(form.op.name());
        let clause = clause_of(form.op);
        let summary = format!("{}, form `{}`", form.op.name(), form.name);
        let clauses = [clause, clause::DAT_06];
        bases.push(Base::new(format!("opcode/{op}-{}", form.name), summary, &clauses, form.program()));
    }
    // The first form of each opcode in the other floating-point types.
    let mut seen: Vec<Op> = vec![Op::Nop];
    for form in forms() {
        if seen.contains(&form.op) {
            continue;
        }
        seen.push(form.op);
        for dtype in FLOATS.iter().filter(|dtype| **dtype != DType::F32) {
            let op = slug(form.op.name());
            let clause = clause_of(form.op);
            let summary = format!("{} with {} operands", form.op.name(), dtype.name());
            let clauses = [clause, clause::DAT_02];
            let name = format!("dtype/{op}-{}", slug(dtype.name()));
            bases.push(Base::new(name, summary, &clauses, form.in_dtype(*dtype).program()));
        }
    }
    for dtype in [DType::I32, DType::I8, DType::I4, DType::U8, DType::Bool] {
        let shape = vec![3, 5];
        let copy = Form {
            op: Op::Copy,
            name: "",
            inputs: vec![(dtype, shape.clone())],
            output: Some((dtype, shape)),
            params: vec![],
        };
        let name = format!("dtype/copy-{}", slug(dtype.name()));
        let summary = format!("COPY between {} buffers", dtype.name());
        bases.push(Base::new(name, summary, &[clause::OPC_01, clause::DAT_02], copy.program()));
    }
    let summary = "every operand of a GEMV_TILE in another floating-point type";
    let mixed = form(
        Op::GemvTile,
        "mixed",
        &[(DType::F16, &[1, 6]), (DType::F8E4M3, &[4, 6]), (DType::BF16, &[4])],
        (DType::F32, &[1, 4]),
        &[("K", 6), ("N_tile", 4), ("n_off", 0)],
    );
    bases.push(Base::new(
        "dtype/gemv-tile-mixed",
        summary,
        &[clause::OPC_05, clause::DAT_02],
        mixed.program(),
    ));
    bases
}
