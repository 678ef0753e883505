//! Rules M01, M02 and M08: operands that the opcode does not take, by edits of the programs of one opcode each.

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::accept::opcodes::{Form, forms};
use super::library::{Base, Library};
use super::sink::Sink;
use crate::builder::{DType, Op, Result, clause_of, slug};
use crate::edit::{self, Edit};

fn base_of<'a>(library: &'a Library, form: &Form) -> Result<&'a Base> {
    library.get(&format!("opcode/{}-{}", slug(form.op.name()), form.name))
}

/// Pointer of the operand that holds a buffer of a one-task program: `i0`.. or `y`.
fn operand(buffer: &str) -> String {
    match buffer.strip_prefix('i') {
        Some(index) => format!("/tasks/0/inputs/{index}"),
        None => "/tasks/0/outputs/0".to_owned(),
    }
}

/// The dtypes that an operand position takes, or nothing where M08 judges it.
fn takes(form: &Form, input: usize, found: DType) -> Option<Vec<DType>> {
    let quantised = form.params.iter().any(|(key, _)| *key == "qdtype");
    let weight = if form.op == Op::Dequant { 0 } else { 1 };
    let floats: Vec<DType> = DType::ALL.iter().copied().filter(|dtype| dtype.is_float()).collect();
    match form.op {
        _ if quantised && input == weight => None,
        _ if quantised && input == weight + 2 => Some([floats, vec![DType::I8, DType::U8]].concat()),
        Op::AttentionTile if input == 3 => Some([floats, vec![DType::Bool]].concat()),
        Op::AttentionCombine => Some(vec![DType::F32]),
        _ if found == DType::I32 => Some(vec![DType::I32]),
        _ => Some(floats),
    }
}

/// M01: every operand of every form in dtypes that its position does not take.
pub fn operand_dtype(library: &Library, sink: &mut Sink) -> Result<()> {
    let wrong = |taken: &[DType]| -> Vec<DType> {
        DType::ALL.iter().copied().filter(|dtype| !taken.contains(dtype)).collect()
    };
    for form in forms() {
        // Both operands of a COPY may have any one dtype, so that only a pair can be wrong.
        if form.op == Op::Copy {
            continue;
        }
        let base = base_of(library, &form)?;
        let clause = clause_of(form.op);
        for (index, (found, _)) in form.inputs.iter().enumerate() {
            let Some(taken) = takes(&form, index, *found) else { continue };
            // Two of the wrong dtypes, drawn anew for each operand.
            let buffer = format!("i{index}");
            for dtype in two(sink, base, &buffer, &wrong(&taken)) {
                let edit = edit::set_dtype(&base.program, &buffer, dtype.name(), Rule::M01)?;
                let edit = edit.clause(clause).clause(clause::DAT_02).at(operand(&buffer));
                sink.reject_as(base, &format!("{buffer}-{}", slug(dtype.name())), &edit)?;
            }
        }
        let Some((found, _)) = form.output else { continue };
        let partial = form.params.iter().any(|(key, value)| *key == "flags" && value.as_i64() >= Some(2));
        let taken = match found {
            DType::I32 => vec![DType::I32],
            _ if partial => vec![DType::F32],
            _ => DType::ALL.iter().copied().filter(|dtype| dtype.is_float()).collect(),
        };
        for dtype in two(sink, base, "y", &wrong(&taken)) {
            let edit = edit::set_dtype(&base.program, "y", dtype.name(), Rule::M01)?.clause(clause);
            // A cache is an input of its KV_APPEND as well, and reported there first.
            let at = if form.op == Op::KvAppend { "/tasks/0/inputs/1".to_owned() } else { operand("y") };
            sink.reject_as(base, &format!("y-{}", slug(dtype.name())), &edit.at(at))?;
        }
    }
    for (name, buffer, dtype) in [
        ("opcode/copy-plain", "i0", "I32"),
        ("opcode/copy-plain", "y", "BOOL"),
        ("dtype/copy-i32", "y", "F32"),
        ("dtype/copy-i8", "y", "U8"),
        ("dtype/copy-u8", "i0", "I8"),
        ("dtype/copy-i4", "y", "I8"),
        ("dtype/copy-bool", "i0", "U8"),
    ] {
        let base = library.get(name)?;
        let edit =
            edit::set_dtype(&base.program, buffer, dtype, Rule::M01)?.clause(clause::OPC_01).at(operand("y"));
        sink.reject_as(base, &format!("{buffer}-{}", slug(dtype)), &edit)?;
    }
    Ok(())
}

fn two(sink: &Sink, base: &Base, buffer: &str, dtypes: &[DType]) -> Vec<DType> {
    let mut draws = sink.draws(&format!("{}-{buffer}", base.slug()));
    let start = draws.below(dtypes.len() as u64) as usize;
    dtypes.iter().cycle().skip(start).take(dtypes.len().min(2)).copied().collect()
}

/// Wrong shapes: base, buffer, shape, and whether that buffer alone is at odds with the rest.
const SHAPES: &[(&str, &str, &[i64], bool)] = &[
    ("opcode/copy-plain", "y", &[3, 5], true),
    ("opcode/copy-reshape", "y", &[2, 2, 6], true),
    ("opcode/copy-scalar", "y", &[2], true),
    ("opcode/embed-rows", "y", &[3, 5], true),
    ("opcode/embed-rows", "i0", &[4], false),
    ("opcode/embed-rows", "i1", &[10, 5], false),
    ("opcode/embed-rows", "i1", &[], true),
    ("opcode/embed-bridge", "y", &[4, 5], true),
    ("opcode/embed-bridge", "i1", &[24, 1], false),
    ("opcode/embed-vector-table", "i0", &[3], false),
    ("opcode/rmsnorm-plain", "i1", &[7], true),
    ("opcode/rmsnorm-plain", "i0", &[4, 4], false),
    ("opcode/rmsnorm-plain", "y", &[16], true),
    ("opcode/rmsnorm-plain", "y", &[2, 9], true),
    ("opcode/rmsnorm-vector", "i0", &[], false),
    ("opcode/layernorm-no-bias", "i1", &[2, 8], true),
    ("opcode/layernorm-no-bias", "i0", &[3, 5], false),
    ("opcode/layernorm-bias", "i2", &[9], true),
    ("opcode/layernorm-bias", "y", &[8, 2], true),
    ("opcode/layernorm-two-axes", "i1", &[4], false),
    ("opcode/gemv-tile-plain", "i0", &[1, 7], false),
    ("opcode/gemv-tile-plain", "i0", &[], false),
    ("opcode/gemv-tile-plain", "i1", &[4, 7], false),
    ("opcode/gemv-tile-plain", "i1", &[24], false),
    ("opcode/gemv-tile-plain", "i1", &[5, 6], false),
    ("opcode/gemv-tile-plain", "y", &[1, 5], true),
    ("opcode/gemv-tile-plain", "y", &[2, 4], true),
    ("opcode/gemv-tile-plain", "y", &[], true),
    ("opcode/gemv-tile-rows", "y", &[4, 6], true),
    ("opcode/gemv-tile-bias", "i2", &[5], true),
    ("opcode/gemv-tile-bias", "i2", &[1], true),
    ("opcode/gemv-tile-bias-row", "i2", &[4, 4], true),
    ("opcode/gemv-tile-i8", "i1", &[24], false),
    ("opcode/gemv-tile-i4-bytes", "y", &[1, 3], true),
    ("opcode/gemv-tile-i4", "i0", &[1, 8], false),
    ("opcode/gemm-tile-plain", "i0", &[18], false),
    ("opcode/gemm-tile-plain", "i0", &[1, 3, 6], false),
    ("opcode/gemm-tile-plain", "i0", &[3, 5], false),
    ("opcode/gemm-tile-plain", "i1", &[4, 5], false),
    ("opcode/gemm-tile-plain", "y", &[12], true),
    ("opcode/gemm-tile-plain", "y", &[3, 4, 1], true),
    ("opcode/gemm-tile-plain", "y", &[4, 4], true),
    ("opcode/gemm-tile-bias", "i2", &[3], true),
    ("opcode/attention-tile-plain", "i0", &[4, 5], false),
    ("opcode/attention-tile-plain", "i1", &[7, 2, 4], false),
    ("opcode/attention-tile-plain", "i2", &[8, 4, 2], true),
    ("opcode/attention-tile-plain", "i2", &[8, 8], true),
    ("opcode/attention-tile-plain", "i1", &[64], false),
    ("opcode/attention-tile-plain", "y", &[4, 5], true),
    ("opcode/attention-tile-partial", "y", &[4, 4], true),
    ("opcode/attention-tile-partial", "y", &[24], true),
    ("opcode/attention-tile-mask-row", "i3", &[6], true),
    ("opcode/attention-tile-mask-row", "i3", &[1, 5], true),
    ("opcode/attention-tile-mask-heads", "i3", &[2, 5], true),
    ("opcode/attention-tile-mask-bool", "i3", &[8], true),
    ("opcode/attention-tile-batch", "i0", &[12, 4], true),
    ("opcode/attention-tile-batch", "i0", &[2, 4, 4], false),
    ("opcode/attention-tile-batch", "i2", &[3, 9, 2, 4], true),
    ("opcode/attention-tile-batch-mask", "i3", &[5], true),
    ("opcode/attention-tile-batch-mask-bool-heads", "i3", &[3, 2, 5], true),
    ("opcode/attention-tile-batch-partial", "y", &[12, 6], true),
    ("opcode/rope-one-position", "i1", &[3], true),
    ("opcode/rope-one-position", "i0", &[24], false),
    ("opcode/rope-one-position", "y", &[8, 3], true),
    ("opcode/rope-one-position", "y", &[], true),
    ("opcode/rope-one-position", "i0", &[], false),
    ("opcode/rope-positions", "y", &[], true),
    ("opcode/rope-positions", "i1", &[], true),
    ("opcode/embed-rows", "y", &[], true),
    ("opcode/rmsnorm-plain", "y", &[], true),
    ("opcode/rmsnorm-plain", "i1", &[], true),
    ("opcode/layernorm-bias", "y", &[], true),
    ("opcode/gemm-tile-plain", "y", &[], true),
    ("opcode/gemm-tile-plain", "i1", &[], false),
    ("opcode/gemv-tile-bias", "i2", &[], true),
    ("opcode/attention-tile-plain", "i0", &[], false),
    ("opcode/attention-tile-plain", "i1", &[], false),
    ("opcode/attention-tile-plain", "i2", &[], true),
    ("opcode/attention-tile-plain", "y", &[], true),
    ("opcode/attention-tile-partial", "y", &[], true),
    ("opcode/attention-tile-mask-row", "i3", &[], true),
    ("opcode/attention-tile-batch", "i0", &[], true),
    ("opcode/silu-mul-plain", "i1", &[], true),
    ("opcode/softmax-plain", "y", &[], true),
    ("opcode/dequant-i8", "i0", &[], true),
    ("opcode/kv-append-row", "i0", &[], true),
    ("opcode/kv-append-row", "y", &[], false),
    ("opcode/sample-argmax-batch", "y", &[], true),
    ("opcode/attention-combine-two", "y", &[], true),
    ("opcode/attention-combine-batch", "i2", &[], true),
    ("opcode/rope-positions", "i1", &[3], true),
    ("opcode/rope-positions", "y", &[6, 8], true),
    ("opcode/silu-mul-plain", "i1", &[5, 2], true),
    ("opcode/silu-mul-plain", "y", &[10], true),
    ("opcode/gelu-plain", "y", &[5, 2], true),
    ("opcode/gelu-scalar", "y", &[1], true),
    ("opcode/add-plain", "i1", &[1, 5], true),
    ("opcode/add-plain", "y", &[2, 6], true),
    ("opcode/mul-two", "i1", &[5], true),
    ("opcode/mul-scale", "y", &[2, 1, 5], true),
    ("opcode/dequant-i8", "i0", &[30], true),
    ("opcode/dequant-i8", "i0", &[4, 10], true),
    ("opcode/softmax-plain", "y", &[5, 2], true),
    ("opcode/allreduce-shard-four", "i2", &[6], true),
    ("opcode/allreduce-shard-four", "y", &[1, 5], true),
    ("opcode/kv-append-row", "i0", &[2, 3], true),
    ("opcode/kv-append-rows", "i0", &[3, 2, 5], true),
    ("opcode/kv-append-batch", "i0", &[2, 2, 4], true),
    ("opcode/kv-append-batch", "i0", &[6, 2, 4], true),
    ("opcode/kv-append-row", "y", &[8, 8], false),
    ("opcode/sample-argmax-one", "y", &[2], true),
    ("opcode/sample-argmax-vector", "i0", &[], false),
    ("opcode/sample-argmax-batch", "y", &[2], true),
    ("opcode/attention-combine-two", "i1", &[6, 4], true),
    ("opcode/attention-combine-two", "y", &[4, 6], true),
    ("opcode/attention-combine-batch", "i2", &[12, 6], true),
];

/// Parameters at odds with the shapes.
const PARAMS: &[(&str, &str, i64)] = &[
    ("opcode/rmsnorm-plain", "hidden", 16),
    ("opcode/layernorm-no-bias", "hidden", 5),
    ("opcode/gemv-tile-plain", "K", 5),
    ("opcode/gemv-tile-plain", "K", 7),
    ("opcode/gemv-tile-sizes-given", "N", 5),
    ("opcode/gemv-tile-sizes-given", "M", 1),
    ("opcode/gemv-tile-plain", "M", 2),
    ("opcode/gemm-tile-plain", "K", 12),
    ("opcode/gemm-tile-plain", "N", 3),
    ("opcode/gemm-tile-plain", "M", 4),
    ("opcode/attention-tile-plain", "head_dim", 2),
    ("opcode/attention-tile-plain", "n_heads", 8),
    ("opcode/attention-tile-plain", "n_kv_heads", 4),
    ("opcode/attention-tile-batch", "head_dim", 8),
    ("opcode/attention-tile-batch-partial", "n_heads", 2),
    ("opcode/rope-one-position", "head_dim", 4),
    ("opcode/rope-positions", "head_dim", 16),
    ("opcode/softmax-plain", "dim", 2),
    ("opcode/softmax-plain", "dim", -3),
    ("opcode/softmax-dim-0", "dim", 2_147_483_647),
    ("opcode/softmax-dim-minus-rank", "dim", -4),
];

/// M02: shapes and parameters that do not fit together.
pub fn operand_shape(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, buffer, shape, alone) in SHAPES {
        let base = library.get(name)?;
        let mut edit = edit::set_shape(&base.program, buffer, shape, Rule::M02)?.clause(clause::DAT_03);
        if let Some(&clause) = base.clauses.first() {
            edit = edit.clause(clause);
        }
        if *alone {
            edit = edit.at(operand(buffer));
        }
        let text: Vec<String> = shape.iter().map(i64::to_string).collect();
        let text = if text.is_empty() { "scalar".to_owned() } else { text.join("x") };
        sink.reject_as(base, &format!("{buffer}-{text}"), &edit)?;
    }
    for (name, key, value) in PARAMS {
        let base = library.get(name)?;
        let mut edit = edit::set_param(&base.program, "op", key, json!(value), Rule::M02)?;
        if let Some(&clause) = base.clauses.first() {
            edit = edit.clause(clause).at(format!("/tasks/0/params/{key}"));
        }
        let value = value.to_string().replace('-', "minus-");
        sink.reject_as(base, &format!("{}-{value}", slug(key)), &edit)?;
    }
    // No axis of a scalar can be normalised.
    let base = library.get("opcode/softmax-plain")?;
    let edit = Edit::breaking(Rule::M02, "SOFTMAX of a scalar")
        .replace("/buffers/0/shape", json!([]))
        .replace("/buffers/1/shape", json!([]));
    sink.reject_as(base, "scalar", &edit)
}

/// M08: quantised operands that disagree with `qdtype` and `group`.
pub fn quantisation(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, buffer, dtype) in [
        ("gemv-tile-i8", "i1", "U8"),
        ("gemv-tile-i8", "i1", "I4"),
        ("gemv-tile-i8", "i1", "F16"),
        ("gemv-tile-i4-bytes", "i1", "I8"),
        ("gemv-tile-i4", "i1", "I32"),
        ("gemm-tile-i4-bytes", "i1", "F32"),
        ("dequant-i8", "i0", "U8"),
        ("dequant-i8-vector", "i0", "BOOL"),
        ("dequant-i4-bytes", "i0", "I8"),
        ("dequant-i4-zeros-u8", "i0", "I8"),
    ] {
        let base = library.get(&format!("opcode/{name}"))?;
        let edit = edit::set_dtype(&base.program, buffer, dtype, Rule::M08)?
            .clause(clause::OPC_05)
            .at(operand(buffer));
        sink.reject_as(base, &format!("{buffer}-{}", slug(dtype)), &edit)?;
    }
    for (name, buffer, shape) in [
        ("gemv-tile-i8", "i1", &[4, 3][..]),
        ("gemv-tile-i8", "i2", &[4, 3]),
        ("gemv-tile-i8", "i2", &[4, 1]),
        ("gemv-tile-i8", "i2", &[8]),
        ("gemv-tile-i8-zeros-i8", "i3", &[4, 1]),
        ("gemv-tile-i4-bytes", "i1", &[4, 6]),
        ("gemv-tile-i4-bytes", "i2", &[2, 4]),
        ("gemv-tile-i4-bytes-zeros-u8", "i3", &[4, 2, 1]),
        ("gemv-tile-i4", "i1", &[4, 3]),
        ("gemm-tile-i4-bytes", "i2", &[4, 2]),
        ("gemm-tile-i4-zeros-f32", "i3", &[3, 1]),
        ("dequant-i8", "i0", &[3, 5]),
        ("dequant-i8", "i1", &[3, 2]),
        ("dequant-i4-bytes", "i0", &[3, 10]),
        ("dequant-i4-bytes", "i1", &[3]),
        ("dequant-i4-zeros-u8", "i2", &[3, 4]),
        ("dequant-i8-zeros-i8", "i2", &[6, 1]),
    ] {
        let base = library.get(&format!("opcode/{name}"))?;
        let edit = edit::set_shape(&base.program, buffer, shape, Rule::M08)?
            .clause(clause::OPC_13)
            .at(operand(buffer));
        let text: Vec<String> = shape.iter().map(i64::to_string).collect();
        sink.reject_as(base, &format!("{buffer}-{}", text.join("x")), &edit)?;
    }
    for (name, key, value, at) in [
        ("gemv-tile-i8", "group", 2, "/tasks/0/inputs/2"),
        ("gemv-tile-i8", "group", 6, "/tasks/0/inputs/2"),
        ("gemv-tile-i8", "group", 2_147_483_647, "/tasks/0/inputs/2"),
        ("gemv-tile-i8", "qdtype", 7, "/tasks/0/inputs/1"),
        ("gemv-tile-i4-bytes", "qdtype", 6, "/tasks/0/inputs/1"),
        ("gemv-tile-i4", "qdtype", 6, "/tasks/0/inputs/1"),
        ("gemm-tile-i4-zeros-f32", "group", 5, "/tasks/0/inputs/2"),
        ("dequant-i8", "qdtype", 7, "/tasks/0/inputs/0"),
        ("dequant-i8", "group", 3, "/tasks/0/inputs/1"),
        ("dequant-i4-bytes", "qdtype", 6, "/tasks/0/inputs/0"),
        ("dequant-i4-zeros-u8", "group", 1, "/tasks/0/inputs/1"),
    ] {
        let base = library.get(&format!("opcode/{name}"))?;
        let edit = edit::set_param(&base.program, "op", key, Value::from(value), Rule::M08)?
            .clause(clause::OPC_13)
            .at(at);
        sink.reject_as(base, &format!("{key}-{value}"), &edit)?;
    }
    // What the dtype of a weight says does not change which rows the tiles write.
    for (name, buffer, dtype) in [
        ("opcode/gemv-tile-i8", "i1", "F16"),
        ("decoder/i4-bytes", "L0.o.weight", "F16"),
        ("decoder/i4-bytes", "L0.gate.weight", "I8"),
    ] {
        let base = library.get(name)?;
        let edit = edit::set_dtype(&base.program, buffer, dtype, Rule::M08)?.clause(clause::EXE_04);
        let name = format!("{}-{buffer}-{}-tiles-as-before", base.slug(), slug(dtype));
        sink.accept_under(&["validate"], base, &name, edit)?;
    }
    wrong_ranks(library, sink)?;
    odd_rows(library, sink)
}

/// M08 beside M02: of a weight that has no last axis to judge, the dtype and an odd K are judged still.
fn wrong_ranks(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, weight, shape, dtype) in [
        ("gemv-tile-i8", "i1", &[24][..], "F16"),
        ("gemm-tile-i4-bytes", "i1", &[12], "I8"),
        ("dequant-i8", "i0", &[30], "U8"),
    ] {
        let base = library.get(&format!("opcode/{name}"))?;
        let edit = edit::set_shape(&base.program, weight, shape, Rule::M02)?
            .and(Rule::M08)
            .clause(clause::DAT_03)
            .at(operand(weight))
            .replace(edit::buffer_pointer(&base.program, weight, "dtype")?, dtype);
        sink.reject_as(base, &format!("{weight}-of-rank-1-and-{}", slug(dtype)), &edit)?;
    }
    let base = library.get("opcode/gemv-tile-i4")?;
    let edit = Edit::breaking(Rule::M02, "the I4 weight has one axis, and K is odd")
        .and(Rule::M08)
        .replace("/buffers/0/shape", json!([1, 5]))
        .replace("/buffers/1/shape", json!([20]))
        .replace("/tasks/0/params/K", 5);
    sink.reject_as(base, "i1-of-rank-1-and-odd-k", &edit)
}

/// M08: 4-bit weights with an odd number of columns, with everything else in agreement.
fn odd_rows(library: &Library, sink: &mut Sink) -> Result<()> {
    let base = library.get("opcode/gemv-tile-i4")?;
    let edit = Edit::breaking(Rule::M08, "K is odd: x has 5 elements, the I4 weight rows of 5")
        .clause(clause::OPC_05)
        .at("/tasks/0/params/K")
        .replace("/buffers/0/shape", json!([1, 5]))
        .replace("/buffers/1/shape", json!([4, 5]))
        .replace("/tasks/0/params/K", 5);
    sink.reject_as(base, "odd-k", &edit)?;
    let base = library.get("opcode/dequant-i4-zeros-u8")?;
    let edit = Edit::breaking(Rule::M08, "the I4 rows have 9 elements")
        .clause(clause::OPC_13)
        .at("/tasks/0/outputs/0")
        .replace("/buffers/0/shape", json!([3, 9]))
        .replace("/buffers/3/shape", json!([3, 9]));
    sink.reject_as(base, "odd-rows", &edit)
}
