//! Structure rules about ids, references, kinds and counts: S08 to S12 and S17 to S22.

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::deadlock::plain;
use super::library::Library;
use super::sink::Sink;
use crate::builder::{Result, slug};
use crate::edit::{self, Edit};

fn put(rule: Rule, pointer: &str, value: Value) -> Edit {
    Edit::breaking(rule, format!("`{pointer}` is {value}")).at(pointer).replace(pointer, value)
}

/// A pointer and a value as part of a case name.
fn case(pointer: &str, value: &Value) -> String {
    let value = value.to_string().replace('-', "minus-").replace(['"', '[', ']', '{', '}', ':', ','], "");
    format!("{}-{}", plain(pointer.trim_start_matches('/')), plain(&value))
}

/// S08: ids that are not 0, 1, 2, ... in order.
pub fn ids(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, pointer, id) in [
        ("record/every-record", "/buffers/0/id", 1_i64),
        ("record/every-record", "/buffers/5/id", 6),
        ("record/every-record", "/buffers/3/id", -3),
        ("record/every-record", "/counters/0/id", 2),
        ("record/every-record", "/counters/2/id", 1),
        ("record/every-record", "/tasks/1/id", 0),
        ("record/every-record", "/tasks/2/id", 4_294_967_298),
        ("record/every-record", "/pages/pages/0/id", 1),
        ("record/every-record", "/pages/pages/1/id", i64::MAX),
        ("paged/turns-9-3", "/pages/pages/2/id", 3),
        ("paged/every-kind", "/pages/pages/4/id", -1),
        ("chain/copy-1", "/tasks/0/id", 1),
        ("chain/nop-8", "/tasks/7/id", 8),
        ("gemv/four-tiles", "/buffers/4/id", 0),
    ] {
        let edit = put(Rule::S08, pointer, json!(id)).clause(clause::DAT_01);
        sink.reject_as(library.get(name)?, &case(pointer, &json!(id)), &edit)?;
    }
    for (name, list) in [
        ("chain/nop-8", "tasks"),
        ("decoder/gqa", "buffers"),
        ("fan-in/separate-5", "counters"),
        ("paged/turns-9-3", "pages/pages"),
        ("paged/every-kind", "pages/pages"),
        ("on-chip/smem", "pages/pages"),
    ] {
        let base = library.get(name)?;
        let edit = Edit::breaking(Rule::S08, format!("the ids 1 and 2 of `{list}` change places"))
            .at(format!("/{list}/1/id"))
            .replace(format!("/{list}/1/id"), 2)
            .replace(format!("/{list}/2/id"), 1);
        sink.reject_as(base, &format!("{}-out-of-order", plain(list)), &edit)?;
    }
    // From 1 on, without a gap.
    for name in ["paged/turns-4-2", "paged/turns-7-2", "record/every-record"] {
        let base = library.get(name)?;
        let edit = Edit::breaking(Rule::S08, "the ids of the two pages are 1 and 2")
            .at("/pages/pages/0/id")
            .replace("/pages/pages/0/id", 1)
            .replace("/pages/pages/1/id", 2);
        sink.reject_as(base, "pages-from-one", &edit)?;
    }
    Ok(())
}

/// S09: references to records that do not exist.
pub fn references(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, pointer, id) in [
        ("record/every-record", "/tasks/0/inputs/1", 6_i64),
        ("record/every-record", "/tasks/1/inputs/0", -1),
        ("record/every-record", "/tasks/1/outputs/0", 6),
        ("record/every-record", "/tasks/0/outputs/0", -2_147_483_648),
        ("record/every-record", "/tasks/1/out_counter", 3),
        ("record/every-record", "/tasks/0/out_counter", -1),
        ("record/every-record", "/tasks/1/waits/0/counter", 3),
        ("record/every-record", "/tasks/2/waits/0/counter", 4_294_967_297),
        ("decoder/two-layers", "/tasks/4/inputs/0", i64::MAX),
        ("chain/nop-8", "/tasks/7/out_counter", 8),
        ("chain/nop-8", "/tasks/1/waits/0/counter", i64::MIN),
    ] {
        let edit = put(Rule::S09, pointer, json!(id)).clause(clause::DAT_06);
        sink.reject_as(library.get(name)?, &case(pointer, &json!(id)), &edit)?;
    }
    for (name, task) in
        [("launch/explicit", 3_i64), ("record/every-record", 3), ("launch/explicit", i64::MAX)]
    {
        let at = format!("/config/sm_assignment/{task}");
        let edit = Edit::breaking(Rule::S09, format!("the config assigns task {task}, which does not exist"));
        let edit = edit.clause(clause::TGT_02).at(at.clone()).insert(at, 0);
        sink.reject_as(library.get(name)?, &format!("sm-assignment-{task}"), &edit)?;
    }
    Ok(())
}

/// S10: one buffer twice among the outputs of a task.
pub fn duplicate_output(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, task) in [
        ("chain/copy-1", "t0"),
        ("fan-in/shared-4", "join"),
        ("gemv/four-tiles", "tile[t2]"),
        ("attention/mha", "k_append"),
        ("decoder/gqa", "argmax"),
        ("record/spare-activations", "w3"),
    ] {
        let base = library.get(name)?;
        let index = base.program.task(task)?;
        let output = base.program.int(&format!("/tasks/{index}/outputs/0"))?;
        let edit = Edit::breaking(Rule::S10, format!("`{task}` lists its output twice"))
            .clause(clause::DAT_06)
            .at(format!("/tasks/{index}/outputs/1"))
            .insert(format!("/tasks/{index}/outputs/-"), output);
        sink.reject_as(base, &plain(task), &edit)?;
    }
    let base = library.get("record/spare-activations")?;
    let edit = Edit::breaking(Rule::S10, "the first and the last of three outputs are one buffer")
        .at("/tasks/0/outputs/2")
        .replace("/tasks/0/outputs", json!([1, 2, 1]));
    sink.reject_as(base, "first-and-last", &edit)
}

/// S11: numbers of operands that the opcode does not take.
pub fn arity(library: &Library, sink: &mut Sink) -> Result<()> {
    for (form, inputs) in [
        ("copy-plain", &[0, 0][..]),
        ("copy-plain", &[]),
        ("embed-rows", &[0]),
        ("embed-rows", &[0, 1, 1]),
        ("rmsnorm-plain", &[0]),
        ("rmsnorm-plain", &[0, 1, 1]),
        ("layernorm-no-bias", &[0]),
        ("layernorm-bias", &[0, 1, 2, 2]),
        ("gemv-tile-plain", &[0]),
        ("gemv-tile-bias", &[0, 1, 2, 2]),
        ("gemv-tile-i8", &[0, 1]),
        ("gemv-tile-i4-bytes-zeros-u8", &[0, 1, 2, 3, 3]),
        ("gemm-tile-plain", &[1]),
        ("gemm-tile-bias", &[0, 1, 2, 2]),
        ("gemm-tile-i4-bytes", &[0, 1]),
        ("attention-tile-plain", &[0, 1]),
        ("attention-tile-mask-row", &[0, 1, 2, 3, 3]),
        ("rope-one-position", &[0]),
        ("rope-positions", &[0, 1, 1]),
        ("silu-mul-plain", &[0]),
        ("silu-mul-plain", &[0, 1, 1]),
        ("gelu-plain", &[]),
        ("gelu-plain", &[0, 0]),
        ("add-plain", &[0]),
        ("add-plain", &[0, 1, 0]),
        ("mul-two", &[0, 1, 1]),
        ("mul-scale", &[]),
        ("dequant-i8", &[0]),
        ("dequant-i4-zeros-u8", &[0, 1, 2, 2]),
        ("softmax-plain", &[0, 0]),
        ("allreduce-shard-one", &[]),
        ("kv-append-row", &[0]),
        ("kv-append-row", &[0, 1, 1]),
        ("sample-argmax-one", &[0, 0]),
        ("attention-combine-two", &[0]),
    ] {
        let base = library.get(&format!("opcode/{form}"))?;
        let mut edit = put(Rule::S11, "/tasks/0/inputs", json!(inputs));
        if let Some(&clause) = base.clauses.first() {
            edit = edit.clause(clause);
        }
        sink.reject_as(base, &format!("{}-inputs", inputs.len()), &edit)?;
    }
    let base = library.get("record/spare-activations")?;
    for (op, inputs) in [
        ("COPY", json!([0])),
        ("ADD", json!([0, 0])),
        ("GELU", json!([0])),
        ("ALLREDUCE_SHARD", json!([0, 0])),
    ] {
        for outputs in [json!([]), json!([1, 2]), json!([1, 2, 3, 4])] {
            let count = outputs.as_array().map_or(0, Vec::len);
            let edit = Edit::breaking(Rule::S11, format!("{op} with {count} outputs"))
                .at("/tasks/0/outputs")
                .replace("/tasks/0/op", op)
                .replace("/tasks/0/inputs", inputs.clone())
                .replace("/tasks/0/outputs", outputs);
            sink.reject_as(base, &format!("{}-{count}-outputs", slug(op)), &edit)?;
        }
    }
    let base = library.get("chain/nop-8")?;
    for (what, list, buffer) in [("input", "inputs", "IO_INPUT"), ("output", "outputs", "ACTIVATION")] {
        let edit = Edit::breaking(Rule::S11, format!("NOP with an {what}"))
            .clause(clause::OPC_00)
            .at(format!("/tasks/0/{list}"))
            .insert("/buffers/-", json!({"id": 0, "name": "b", "kind": buffer, "dtype": "F32", "shape": [1]}))
            .insert(format!("/tasks/0/{list}/-"), 0);
        sink.reject_as(base, &format!("nop-{what}"), &edit)?;
    }
    Ok(())
}

/// S12: more operands, waits or axes than the device records hold.
pub fn capacity(library: &Library, sink: &mut Sink) -> Result<()> {
    let base = library.get("record/capacities")?;
    let join = base.program.task("join")?;
    let counter = base.program.out_counter(base.program.task("loose")?)?;
    let edit =
        Edit::breaking(Rule::S12, "9 inputs").clause(clause::DAT_09).at(format!("/tasks/{join}/inputs"));
    sink.reject_as(base, "9-inputs", &edit.insert(format!("/tasks/{join}/inputs/-"), 0))?;
    let edit = Edit::breaking(Rule::S12, "9 waits").clause(clause::DAT_09).at(format!("/tasks/{join}/waits"));
    let wait = json!({"counter": counter, "threshold": 1});
    sink.reject_as(base, "9-waits", &edit.insert(format!("/tasks/{join}/waits/-"), wait))?;
    let edit = Edit::breaking(Rule::S12, "9 inputs of a COPY").clause(clause::DAT_09).at("/tasks/0/inputs");
    sink.reject_as(
        base,
        "copy-9-inputs",
        &edit.replace("/tasks/0/inputs", json!([0, 0, 0, 0, 0, 0, 0, 0, 0])),
    )?;
    let spares = library.get("record/spare-activations")?;
    for count in [5, 6] {
        let outputs: Vec<usize> = (1..=count).collect();
        let edit = put(Rule::S12, "/tasks/0/outputs", json!(outputs)).clause(clause::DAT_09);
        sink.reject_as(spares, &format!("{count}-outputs"), &edit)?;
    }
    for (name, buffer, shape) in [
        ("chain/copy-1", 0, json!([1, 1, 1, 1, 16])),
        ("record/capacities", 0, json!([2, 1, 3, 2, 1])),
        ("gemv/one-tile", 4, json!([1, 1, 1, 1, 1, 1, 16, 32])),
    ] {
        let base = library.get(name)?;
        let rank = shape.as_array().map_or(0, Vec::len);
        let edit = put(Rule::S12, &format!("/buffers/{buffer}/shape"), shape)
            .clause(clause::DAT_03)
            .clause(clause::DAT_09);
        sink.reject_as(base, &format!("buffer-{buffer}-rank-{rank}"), &edit)?;
    }
    Ok(())
}

/// S17: counters that do not start at 0.
pub fn counter_init(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, counter, init) in [
        ("chain/copy-1", 0, 1_i64),
        ("chain/gelu-2", 0, 1),
        ("chain/gelu-2", 0, -1),
        ("fan-in/shared-4", 0, 4),
        ("gemv/four-tiles", 1, 2_147_483_648),
        ("decoder/gqa", 3, i64::MAX),
        ("record/every-record", 2, i64::MIN),
    ] {
        let pointer = format!("/counters/{counter}/init");
        let edit = put(Rule::S17, &pointer, json!(init)).clause(clause::DAT_05).clause(clause::EXE_09);
        sink.reject_as(library.get(name)?, &case(&pointer, &json!(init)), &edit)?;
    }
    Ok(())
}

/// S18: a write to a buffer that the host binds.
pub fn read_only(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, task, buffer) in [
        ("gemv/four-tiles", "source", "w"),
        ("gemv/four-tiles", "source", "x"),
        ("paged/every-kind", "sink", "bias"),
        ("paged/every-kind", "sink", "w"),
        ("reuse/in-place-1", "step0", "x"),
        ("decoder/gqa", "L0.post_norm", "L0.post_norm.weight"),
    ] {
        let base = library.get(name)?;
        let at = edit::task_pointer(&base.program, task, "outputs/0")?;
        let edit = put(Rule::S18, &at, json!(base.program.buffer(buffer)?))
            .clause(clause::DAT_04)
            .clause(clause::EXE_08);
        sink.reject_as(base, &format!("{}-writes-{}", plain(task), plain(buffer)), &edit)?;
    }
    for (name, buffer, writer) in [("chain/gelu-2", "a0", "t0"), ("diamond/depth-1", "side0.1", "side0.1")] {
        let base = library.get(name)?;
        for kind in ["WEIGHT", "CONST", "IO_INPUT"] {
            let pointer = edit::buffer_pointer(&base.program, buffer, "kind")?;
            let edit = Edit::breaking(Rule::S18, format!("`{buffer}` is a {kind}"))
                .clause(clause::DAT_04)
                .at(edit::task_pointer(&base.program, writer, "outputs/0")?)
                .replace(pointer, kind);
            sink.reject_as(base, &format!("{}-is-{}", plain(buffer), plain(kind)), &edit)?;
        }
    }
    Ok(())
}

/// S19: an output of the program that no task writes.
pub fn outputs(library: &Library, sink: &mut Sink) -> Result<()> {
    for name in ["record/empty", "chain/copy-1", "decoder/gqa", "gemv/output-2"] {
        let base = library.get(name)?;
        let id = base.program.len("/buffers")?;
        let buffer = json!({"id": id, "name": "lost", "kind": "IO_OUTPUT", "dtype": "F32", "shape": [1]});
        let edit =
            Edit::breaking(Rule::S19, "another output").clause(clause::DAT_04).at(format!("/buffers/{id}"));
        sink.reject_as(base, "another-output", &edit.insert("/buffers/-", buffer))?;
    }
    for (name, task, output) in [
        ("chain/copy-1", "t0", "y"),
        ("fan-out/readers-4", "reader3", "y3"),
        ("decoder/gqa", "argmax", "next_token"),
    ] {
        let base = library.get(name)?;
        let at = format!("/buffers/{}", base.program.buffer(output)?);
        let edit = edit::to_nop(&base.program, task, Rule::S19)?.clause(clause::DAT_04).at(at);
        sink.reject_as(base, &format!("{}-is-dropped", plain(task)), &edit)?;
    }
    for (name, buffer) in [("chain/gelu-2", "x"), ("gemv/four-tiles", "w")] {
        let base = library.get(name)?;
        let id = base.program.buffer(buffer)?;
        let edit = Edit::breaking(Rule::S19, format!("`{buffer}` is an output")).at(format!("/buffers/{id}"));
        sink.reject_as(
            base,
            &format!("{buffer}-is-output"),
            &edit.replace(format!("/buffers/{id}/kind"), "IO_OUTPUT"),
        )?;
    }
    Ok(())
}

/// S20: shapes that have no size, or one beyond 63 bits.
pub fn shapes(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, buffer, shape) in [
        ("chain/copy-1", 0, json!([0])),
        ("chain/copy-1", 1, json!([1, -16])),
        ("chain/copy-1", 0, json!([0, 0, 0, 0])),
        ("chain/copy-1", 0, json!([2_305_843_009_213_693_952_i64])),
        ("chain/copy-1", 1, json!([4_294_967_296_i64, 4_294_967_296_i64])),
        (
            "chain/copy-1",
            0,
            json!([4_294_967_296_i64, 4_294_967_296_i64, 4_294_967_296_i64, 4_294_967_296_i64]),
        ),
        ("chain/copy-1", 0, json!([i64::MAX, i64::MAX])),
        ("chain/copy-1", 0, json!([i64::MIN, i64::MIN])),
        ("record/large-shapes", 1, json!([i64::MAX, 2])),
        ("record/large-shapes", 0, json!([1_073_741_824, 1_073_741_824, 2])),
        ("record/large-nibbles", 0, json!([4_611_686_018_427_387_904_i64, 2])),
        ("record/large-nibbles", 1, json!([2, 1, 4_611_686_018_427_387_904_i64])),
        ("record/large-nibbles", 0, json!([2, 2, 2_305_843_009_213_693_952_i64])),
        ("decoder/gqa", 4, json!([1, 0])),
    ] {
        let pointer = format!("/buffers/{buffer}/shape");
        let edit = put(Rule::S20, &pointer, shape.clone()).clause(clause::DAT_03);
        sink.reject_as(
            library.get(name)?,
            &case(&pointer, &json!(shape.to_string().replace(',', "x"))),
            &edit,
        )?;
    }
    // The type decides too: 2^63 - 1 bytes are the limit, and the same count of wider elements is beyond it.
    let base = library.get("record/large-shapes")?;
    let edit = Edit::breaking(Rule::S20, "2^63 - 1 elements of 4 bytes")
        .clause(clause::DAT_03)
        .at("/buffers/1/shape");
    sink.reject_as(base, "wider-elements", &edit.replace("/buffers/1/dtype", "I32"))
}

/// S21: kinds that live in HBM, elsewhere.
pub fn spaces(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, buffer, space) in [
        ("paged/every-kind", "x", "GLOBAL_SCRATCH"),
        ("paged/every-kind", "w", "SMEM"),
        ("paged/every-kind", "bias", "REGISTER"),
        ("paged/every-kind", "cache", "SMEM"),
        ("paged/every-kind", "y", "GLOBAL_SCRATCH"),
        ("chain/copy-1", "y", "REGISTER"),
        ("attention/mha", "k_cache", "GLOBAL_SCRATCH"),
    ] {
        let base = library.get(name)?;
        let pointer = edit::buffer_pointer(&base.program, buffer, "space")?;
        let edit = put(Rule::S21, &pointer, json!(space)).clause(clause::DAT_04);
        sink.reject_as(base, &format!("{buffer}-in-{}", plain(space)), &edit)?;
    }
    let base = library.get("on-chip/no-pages")?;
    let pointer = edit::buffer_pointer(&base.program, "hot0", "kind")?;
    let edit = Edit::breaking(Rule::S21, "a KV_CACHE in SMEM").clause(clause::DAT_04);
    let edit = edit.at(edit::buffer_pointer(&base.program, "hot0", "space")?).replace(pointer, "KV_CACHE");
    sink.reject_as(base, "hot0-is-cache", &edit)
}

/// S22: numbers of target, pages, config and tasks that no program can mean.
pub fn ranges(library: &Library, sink: &mut Sink) -> Result<()> {
    let base = library.get("record/every-record")?;
    for (pointer, value) in [
        ("/target/num_sms", json!(0)),
        ("/target/num_sms", json!(-1)),
        ("/target/sm_arch", json!(-90)),
        ("/target/smem_bytes_per_sm", json!(-1)),
        ("/target/smem_bytes_per_block_optin", json!(-1)),
        ("/target/regs_per_sm", json!(-1)),
        ("/target/max_threads_per_sm", json!(-2048)),
        ("/target/max_regs_per_thread", json!(-1)),
        ("/target/l2_bytes", json!(i64::MIN)),
        ("/target/hbm_bytes", json!(-1)),
        ("/target/hbm_bandwidth_gbs", json!(-0.5)),
        ("/target/fp16_tflops", json!(-1)),
        ("/target/clock_ghz", json!(-1e-300)),
        ("/target/measured_bw_gbs", json!(-3089.5)),
        ("/pages/pages/0/nbytes", json!(0)),
        ("/pages/pages/1/nbytes", json!(-32)),
        ("/config/pipelining_depth", json!(-1)),
        ("/config/tiling/gemv/N_tile", json!(0)),
        ("/config/tiling/attention/kv_block", json!(-128)),
        ("/tasks/0/est_bytes", json!(-1)),
        ("/tasks/2/est_flops", json!(i64::MIN)),
    ] {
        let edit = put(Rule::S22, pointer, value.clone());
        let edit = if pointer.starts_with("/target") { edit.clause(clause::TGT_01) } else { edit };
        sink.reject(base, &case(pointer, &value), &edit)?;
    }
    for (what, pointer, value) in [
        ("zero-figures", "/target/hbm_bandwidth_gbs", json!(0.0)),
        ("negative-zero", "/target/clock_ghz", json!(-0.0)),
        ("integer-for-float", "/target/fp16_tflops", json!(989)),
        ("no-l2", "/target/l2_bytes", json!(0)),
        ("live-range-below-zero", "/pages/pages/0/live_start", json!(-77)),
        ("no-prefetch", "/config/pipelining_depth", json!(0)),
    ] {
        let edit =
            Edit::harmless(format!("`{pointer}` is {value}")).clause(clause::TGT_01).replace(pointer, value);
        sink.accept(base, what, &edit)?;
    }
    Ok(())
}
