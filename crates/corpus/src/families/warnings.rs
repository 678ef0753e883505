//! Rules W01 to W06: accepted programs with exactly one warning.

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::library::Library;
use super::sink::Sink;
use crate::builder::Result;
use crate::edit::{self, Edit};

fn name_of(base: &str, what: &str) -> String {
    format!("{}-{what}", base.replace('/', "-"))
}

/// W01: a parameter that no opcode knows.
pub fn unknown_param(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, task, key, value) in [
        ("chain/copy-1", "t0", "speed", json!(1)),
        ("chain/nop-8", "t3", "n_offset", json!(16)),
        ("gemv/four-tiles", "tile[t1]", "k", json!(32)),
        ("gemv/four-tiles", "tile[t3]", "N_TILE", json!(1e300)),
        ("decoder/gqa", "L0.attention", "softcap", json!("text")),
        ("opcode/rope-positions", "op", "theta ", json!(null)),
        ("opcode/mul-scale", "op", "", json!([1, {"a": 2}])),
        ("attention/mha", "attention", "pos/0", json!(-1)),
        // Known keys in another case, and short ones.
        ("chain/copy-1", "t0", "n", json!(3)),
        ("attention/mha", "attention", "m", json!(2)),
        ("chain/nop-8", "t7", "k", json!(1)),
        ("chain/nop-8", "t0", "Eps", json!(1e-5)),
        ("chain/copy-1", "t0", "Theta", json!(10000)),
        ("opcode/mul-scale", "op", "Scale", json!(0.5)),
    ] {
        let base = library.get(name)?;
        let escaped = megakernel_ir::diagnostic::pointer_token(key);
        let at = edit::task_pointer(&base.program, task, &format!("params/{escaped}"))?;
        let edit = Edit::breaking(Rule::W01, format!("`{task}` has the parameter `{key}`"));
        let edit = edit.clause(clause::DAT_08).at(at.clone()).insert(at, value);
        let what: String = key
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .collect();
        sink.warn(base, &name_of(name, &format!("{}-{what}", super::deadlock::plain(task))), &edit)?;
    }
    // A known key that the opcode does not use is no reason to warn.
    let base = library.get("chain/copy-1")?;
    let edit = Edit::harmless("COPY with parameters that it does not use").clause(clause::DAT_08);
    let edit = edit.replace("/tasks/0/params", json!({"vocab": 7, "dim": -9, "scale": 0, "eps": 0.0}));
    sink.accept(base, "known-but-unused", &edit)
}

/// W02: a label that names another GPU than the target.
pub fn gpu_label(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, label) in [
        ("launch/laptop", "lab-128sm"),
        ("launch/server", "LAB-128SM"),
        ("launch/target-only", ""),
        ("placed/ring-2", "lab-128sm "),
        ("record/every-record", "h100"),
    ] {
        let base = library.get(name)?;
        let edit = Edit::breaking(Rule::W02, format!("`meta.gpu` is `{label}`"))
            .clause(clause::TGT_01)
            .at("/meta/gpu");
        let what = label.to_lowercase().trim().replace(' ', "-");
        let case = if what == label { what } else { format!("{what}-changed") };
        let case = if label.is_empty() { "empty".to_owned() } else { case };
        sink.warn(base, &name_of(name, &case), &edit.replace("/meta/gpu", label))?;
    }
    let base = library.get("launch/server")?;
    let edit =
        Edit::breaking(Rule::W02, "the target changes its name").clause(clause::TGT_01).at("/meta/gpu");
    sink.warn(base, "launch-server-renamed-target", &edit.replace("/target/name", "lab-129sm"))?;
    for name in ["launch/laptop", "launch/target-only", "placed/ring-2"] {
        let base = library.get(name)?;
        let target = base.program.at("/target/name")?.as_str().unwrap_or_default();
        for (what, label) in [
            ("capitals", target.to_uppercase()),
            ("padded", format!(" {target}")),
            ("longer", format!("{target}-2")),
            ("part", target.split('-').next().unwrap_or_default().to_owned()),
            ("no-letter", String::new()),
        ] {
            let edit =
                Edit::breaking(Rule::W02, format!("`meta.gpu` is `{label}`, and the target `{target}`"))
                    .clause(clause::TGT_01)
                    .at("/meta/gpu");
            sink.warn(base, &name_of(name, what), &edit.replace("/meta/gpu", label))?;
        }
    }
    for (what, value) in [("number", json!(128)), ("null", Value::Null), ("object", json!({"name": "h100"}))]
    {
        let edit = Edit::harmless(format!("`meta.gpu` is a {what}"))
            .clause(clause::DAT_01)
            .replace("/meta/gpu", value);
        sink.accept(base, &format!("label-is-a-{what}"), &edit)?;
    }
    let edit = Edit::harmless("no label").clause(clause::DAT_01).remove("/meta/gpu");
    sink.accept(base, "no-label", &edit)?;
    let edit = Edit::harmless("a label and no target").clause(clause::DAT_01).replace("/target", Value::Null);
    sink.accept(library.get("launch/laptop")?, "no-target", &edit)
}

/// W03: an on-chip buffer whose tasks have no SM.
pub fn on_chip_unplaced(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, task, buffer) in [
        ("on-chip/no-pages", "read0", "hot0"),
        ("on-chip/no-pages", "write1", "hot1"),
        ("on-chip/no-pages", "write2", "hot2"),
        ("on-chip/no-pages", "read1", "hot1"),
        ("on-chip/no-pages", "read2", "hot2"),
        ("on-chip/smem", "out0", "s0.1"),
        ("record/every-record", "norm", "h"),
    ] {
        let base = library.get(name)?;
        let mut edit = Edit::breaking(Rule::W03, format!("`{task}` has no SM"))
            .clause(clause::PAG_03)
            .at(format!("/buffers/{}", base.program.buffer(buffer)?))
            .replace(edit::task_pointer(&base.program, task, "sm")?, Value::Null);
        if name == "on-chip/smem" {
            // The spare page would share the pool of the unassigned task, and not fit.
            edit = edit.replace("/pages/pages/4/nbytes", 64);
        }
        sink.warn(base, &name_of(name, &super::deadlock::plain(task)), &edit)?;
    }
    for name in ["chain/gelu-2", "chain/mul-5", "chain/softmax-16"] {
        let base = library.get(name)?;
        for space in ["SMEM", "REGISTER"] {
            let edit = Edit::breaking(Rule::W03, format!("a buffer of tasks without SM is in {space}"));
            let pointer = edit::buffer_pointer(&base.program, "a0", "space")?;
            let edit = edit.at(format!("/buffers/{}", base.program.buffer("a0")?)).replace(pointer, space);
            sink.warn(base, &name_of(name, &space.to_lowercase()), &edit)?;
        }
    }
    Ok(())
}

/// W04: a buffer that no task lists.
pub fn unused_buffer(library: &Library, sink: &mut Sink) -> Result<()> {
    for name in ["chain/copy-1", "chain/nop-8", "gemv/four-tiles", "decoder/gqa", "record/empty"] {
        let base = library.get(name)?;
        let id = base.program.len("/buffers")?;
        for kind in ["WEIGHT", "ACTIVATION", "CONST", "KV_CACHE", "IO_INPUT"] {
            let buffer = json!({"id": id, "name": "idle", "kind": kind, "dtype": "F32", "shape": [4]});
            let edit =
                Edit::breaking(Rule::W04, format!("a {kind} that no task lists")).clause(clause::DAT_03);
            let edit = edit.at(format!("/buffers/{id}")).insert("/buffers/-", buffer);
            sink.warn(base, &name_of(name, &kind.to_lowercase().replace('_', "-")), &edit)?;
        }
    }
    // It is in nobody's way there, whatever else is on the page.
    for (name, page, what) in [
        ("paged/every-kind", 0, "on-a-page"),
        ("paged/every-kind", 3, "on-a-page-of-its-own"),
        ("paged/turns-4-2", 1, "paged-turns-4-2-on-a-page"),
        ("decoder/paged", 0, "decoder-paged-on-a-page"),
    ] {
        let base = library.get(name)?;
        let id = base.program.len("/buffers")?;
        let edit = Edit::breaking(Rule::W04, "a buffer on a page that no task lists").clause(clause::PAG_01);
        let buffer = json!({"id": id, "name": "idle", "kind": "ACTIVATION", "dtype": "F32", "shape": [4]});
        let edit = edit.at(format!("/buffers/{id}")).insert("/buffers/-", buffer);
        sink.warn(base, what, &edit.insert(format!("/pages/buffer_to_page/{id}"), page))?;
    }
    Ok(())
}

/// W05: a counter that no task increments or waits on.
pub fn unused_counter(library: &Library, sink: &mut Sink) -> Result<()> {
    for name in ["record/empty", "chain/copy-1", "gemv/four-tiles", "decoder/gqa", "placed/ring-3"] {
        let base = library.get(name)?;
        let id = base.program.len("/counters")?;
        let edit = Edit::breaking(Rule::W05, "a counter that nothing touches").clause(clause::DAT_05);
        let edit = edit.at(format!("/counters/{id}")).insert("/counters/-", json!({"id": id}));
        sink.warn(base, &name_of(name, "idle-counter"), &edit)?;
    }
    let base = library.get("record/empty")?;
    for (what, counter) in
        [("with-a-note", json!({"id": 0, "note": "idle"})), ("with-init", json!({"id": 0, "init": 0}))]
    {
        let edit =
            Edit::breaking(Rule::W05, "the only counter, which nothing touches").clause(clause::DAT_05);
        sink.warn(
            base,
            &format!("record-empty-{what}"),
            &edit.at("/counters/0").insert("/counters/-", counter),
        )?;
    }
    let base = library.get("chain/side-branch")?;
    let edit = edit::redirect_out(&base.program, "loose", "after_side", Rule::W05)?.clause(clause::DAT_05);
    let counter = base.program.out_counter(base.program.task("loose")?)?;
    sink.warn(base, "chain-side-branch-producer-leaves", &edit.at(format!("/counters/{counter}")))
}

/// W06: a member that the data model does not know, outside meta, target and config.
pub fn unknown_member(library: &Library, sink: &mut Sink) -> Result<()> {
    let base = library.get("record/every-record")?;
    for (what, pointer, value) in [
        ("root", "/comment", json!("text")),
        ("root-capital", "/Tasks", json!([])),
        ("buffer", "/buffers/1/stride", json!([16, 1])),
        ("counter", "/counters/0/initial", json!(1)),
        ("task", "/tasks/2/wait", json!([{"counter": 0, "threshold": 1}])),
        ("wait", "/tasks/1/waits/0/thresholds", json!(9)),
        ("pages", "/pages/total", Value::Null),
        ("page", "/pages/pages/1/colour", json!({"deep": {"er": [1.5]}})),
    ] {
        let edit =
            Edit::breaking(Rule::W06, format!("an unknown member at `{pointer}`")).clause(clause::FMT_03);
        sink.warn(base, what, &edit.at(pointer).insert(pointer, value))?;
    }
    for (what, pointer) in [
        ("meta", "/meta/anything"),
        ("meta-nested", "/meta/nested/anything"),
        ("target", "/target/tensor_cores"),
        ("config", "/config/search_seed"),
    ] {
        let edit = Edit::harmless(format!("an unknown member at `{pointer}`")).clause(clause::FMT_03);
        sink.accept(base, what, &edit.insert(pointer, json!({"id": "x", "list": [null, 1e-7]})))?;
    }
    Ok(())
}
