//! Programs in which every record of the data model occurs, for edits of single members, and programs at the limits.

use megakernel_ir::rule::clause;
use serde_json::{Value, json};

use super::Base;
use crate::builder::{Buf, Ctr, DType, Kind, Op, ProgramBuilder, Space, config, laptop, server};

pub fn bases() -> Vec<Base> {
    let mut bases = vec![
        Base::new(
            "record/empty",
            "no buffers, counters and tasks",
            &[clause::DAT_01],
            ProgramBuilder::new("empty"),
        ),
        Base::new(
            "record/every-record",
            "a program in which every record occurs",
            &[clause::DAT_01, clause::TGT_01, clause::TGT_02, clause::PAG_01],
            every_record(),
        ),
        Base::new(
            "record/capacities",
            "8 inputs, 8 waits and rank 4, which is as much as a task may have",
            &[clause::DAT_09],
            capacities(),
        ),
        Base::new(
            "record/spare-activations",
            "six activations that tasks write and nothing reads",
            &[clause::DAT_04, clause::DAT_09],
            spare_activations(),
        ),
        Base::new(
            "record/large-shapes",
            "shapes of more than 2^40 elements",
            &[clause::DAT_03],
            large_shapes(),
        ),
        Base::new(
            "record/large-nibbles",
            "2^63 - 1 elements of half a byte",
            &[clause::DAT_03],
            large_nibbles(),
        ),
    ];
    for (name, summary, target, config) in [
        ("target-only", "a target and no config", laptop(), Value::Null),
        ("config-only", "a config and no target", Value::Null, config()),
        ("laptop", "the config of a 4-SM target", laptop(), config()),
        ("server", "the config of a 128-SM target", server(), config()),
        ("limits", "block size and shared memory at the limits of the target", laptop(), limits()),
        ("smallest-block", "one thread to a block, no shared memory", laptop(), smallest()),
        ("explicit", "an SM for each of some tasks in the config", laptop(), explicit()),
        (
            "explicit-config-only",
            "an SM for each of some tasks in the config, without a target",
            Value::Null,
            explicit(),
        ),
    ] {
        bases.push(Base::new(
            format!("launch/{name}"),
            summary,
            &[clause::TGT_02, clause::TGT_03],
            launch(target, config),
        ));
    }
    bases
}

fn limits() -> Value {
    let mut value = config();
    value["threads_per_block"] = json!(1024);
    value["smem_bytes_per_block"] = json!(16384);
    value
}

fn smallest() -> Value {
    let mut value = config();
    value["threads_per_block"] = json!(1);
    value["smem_bytes_per_block"] = json!(0);
    value["pipelining_depth"] = json!(0);
    value["page_allocation"] = json!("none");
    value
}

fn explicit() -> Value {
    let mut value = config();
    value["sm_assignment"] = json!({"0": 3, "2": 0});
    value["page_allocation"] = json!("graph_color");
    value
}

/// Three GELU tasks, `t0` to `t2`.
fn launch(target: Value, config: Value) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("launch");
    if !target.is_null() {
        p.target(target);
    }
    p.config(config);
    let x = p.input("x", DType::F32, &[4]);
    let mut last = x;
    let mut done: Vec<Ctr> = Vec::new();
    for index in 0..3 {
        let y = if index == 2 {
            p.output("y", DType::F32, &[4])
        } else {
            p.act(&format!("a{index}"), DType::F32, &[4])
        };
        done = vec![p.op(Op::Gelu, &format!("t{index}"), &[last], y, &[], &done)];
        last = y;
    }
    p
}

/// Target, pages, config, waits, params, an SM: `norm`, `product` and `last` on SM 1.
fn every_record() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("every-record");
    p.meta("regime", json!("decode"));
    p.meta("nested", json!({"list": [1, 2.5, null, true, {"deep": "é"}]}));
    p.target(server());
    let mut config = config();
    config["sm_assignment"] = json!({"0": 1, "1": 1, "2": 1});
    p.config(config);
    let x = p.input("x", DType::F16, &[1, 16]);
    let w = p.weight("norm.weight", DType::F16, &[16]);
    let m = p.weight("proj.weight", DType::F16, &[16, 16]);
    let h = p.act_in(Space::Smem, "h", DType::F16, &[1, 16]);
    let g = p.act("g", DType::F16, &[1, 16]);
    let y = p.output("y", DType::F16, &[1, 16]);
    let (page, other) = (p.page(Space::Smem, 64), p.page(Space::Hbm, 32));
    p.place(h, page);
    p.place(g, other);
    let task = p.task(Op::RmsNorm).reads(&[x, w]).writes(&[h]).sm(1).label("norm").cost(96, 64);
    let norm = task.param("eps", 1e-6).param("hidden", 16).add();
    let task = p.task(Op::GemvTile).reads(&[h, m]).writes(&[g]).after(&[norm]).sm(1).label("product");
    let product = task.param("K", 16).param("N_tile", 16).param("n_off", 0).cost(512, 512).add();
    p.task(Op::Gelu).reads(&[g]).writes(&[y]).after(&[product]).sm(1).label("last").add();
    p
}

/// `join` has 8 inputs and 8 waits; a buffer has rank 4.
fn capacities() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("capacities");
    let shape = [2, 1, 3, 2];
    let x = p.input("x", DType::F32, &shape);
    let y = p.output("y", DType::F32, &shape);
    let parts: Vec<Buf> = (0..8).map(|i| p.act(&format!("p{i}"), DType::F32, &shape)).collect();
    let done: Vec<Ctr> =
        parts.iter().enumerate().map(|(i, part)| p.copy(&format!("part{i}"), x, *part, &[])).collect();
    p.op(Op::AllreduceShard, "join", &parts, y, &[], &done);
    p.task(Op::Nop).label("loose").add();
    p
}

/// `w0`.. write `s0`.., and `last` writes the output.
fn spare_activations() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("spares");
    let x = p.input("x", DType::F32, &[2, 4]);
    for index in 0..6 {
        let spare = p.act(&format!("s{index}"), DType::F32, &[2, 4]);
        p.copy(&format!("w{index}"), x, spare, &[]);
    }
    let y = p.output("y", DType::F32, &[2, 4]);
    p.copy("last", x, y, &[]);
    p
}

/// As many elements as may be, in half as many bytes.
fn large_nibbles() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("large");
    let x = p.input("x", DType::I4, &[(1 << 63) - 1]);
    let y = p.output("y", DType::I4, &[(1 << 63) - 1]);
    p.copy("t0", x, y, &[]);
    p
}

fn large_shapes() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("large");
    // 2^60 elements of 4 bytes are 2^62 bytes; 2^63 - 1 elements of a byte are as many as may be.
    let x = p.input("x", DType::F32, &[1 << 30, 1 << 30]);
    let h = p.buffer("h", Kind::Activation, DType::U8, &[(1 << 63) - 1], Space::GlobalScratch);
    let y = p.output("y", DType::F32, &[1 << 20, 1 << 20, 1 << 20]);
    let z = p.input("z", DType::U8, &[(1 << 63) - 1]);
    p.copy("t0", x, y, &[]);
    p.copy("t1", z, h, &[]);
    p
}
