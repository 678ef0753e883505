//! Single values at their limits, in every place where they can stand.

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::operands::{everywhere, op_pointer};
use crate::builder::{Op, Result, clause_of};
use crate::edit::{self, Edit};
use crate::families::accept::units::Unit;
use crate::families::library::{Base, Library};
use crate::families::parameters::value_slug;
use crate::families::sink::{Sink, words};

/// `value` at `at`, which breaks a rule: what is there is replaced, and a member that is not is added.
fn put(base: &Base, rule: Rule, at: &str, value: Value) -> Edit {
    let edit = Edit::breaking(rule, format!("`{at}` is {value}")).at(at);
    if base.program.at(at).is_ok() { edit.replace(at, value) } else { edit.insert(at, value) }
}

fn named(at: &str, value: &Value) -> String {
    words(&format!("{at}-{}", value_slug(value)))
}

/// Rejects each of some values.
fn reject_all(sink: &mut Sink, base: &Base, rule: Rule, at: &str, values: &[Value]) -> Result<()> {
    for value in values {
        sink.reject_as(base, &named(at, value), &put(base, rule, at, value.clone()))?;
    }
    Ok(())
}

/// M03 and M04: tiles and windows that begin or end one element behind their operand, and at the largest number that there is.
pub fn bounds(library: &Library, sink: &mut Sink) -> Result<()> {
    everywhere(library, &mut |unit, base, _| {
        let has_mask = unit.name.contains("mask");
        let tiles: &[(&str, &str, Rule)] = match unit.op {
            Op::GemvTile => &[("n_off", "N_tile", Rule::M03)],
            Op::GemmTile => &[("n_off", "N_tile", Rule::M03), ("m_off", "M_tile", Rule::M03)],
            Op::AttentionTile => &[("kv_start", "kv_len", Rule::M04)],
            Op::KvAppend => &[("pos", "", Rule::M04)],
            _ => &[],
        };
        for (offset, length, rule) in tiles {
            for (what, key, value) in [
                ("behind", offset, 1),
                ("far-behind", offset, 2),
                ("at-the-largest-number", offset, i64::from(i32::MAX)),
                ("longer", length, 2),
            ] {
                if key.is_empty() || *key == "kv_len" && has_mask {
                    continue;
                }
                let edit = edit::set_param(&base.program, "op", key, json!(value), *rule)?
                    .clause(clause_of(unit.op))
                    .at(op_pointer(base, &format!("params/{offset}"))?);
                sink.reject_as(base, &words(&format!("{offset}-{what}")), &edit)?;
            }
        }
        Ok(())
    })
}

/// S15: relations between parameters, with all that they allow.
pub fn relations(library: &Library, sink: &mut Sink) -> Result<()> {
    everywhere(library, &mut |unit, base, number| {
        let at = |key: &str| op_pointer(base, &format!("params/{key}"));
        let edit =
            |rule, what: &str| Edit::breaking(rule, what).clause(clause_of(unit.op)).clause(clause::DAT_08);
        match unit.op {
            Op::Rope => {
                for dim in [1, 3] {
                    let edit = edit(Rule::S15, "an odd `head_dim`").at(at("head_dim")?);
                    let name = format!("head-dim-{dim}");
                    sink.reject_as(base, &name, &edit.replace(at("head_dim")?, dim))?;
                }
            }
            Op::AttentionTile => {
                for (heads, groups) in [(1, 2), (3, 2), (4, 8)] {
                    let edit =
                        edit(Rule::S15, &format!("{heads} heads in {groups} groups")).at(at("n_heads")?);
                    let edit = edit.replace(at("n_heads")?, heads).replace(at("n_kv_heads")?, groups);
                    sink.reject_as(base, &format!("{heads}-heads-in-{groups}-groups"), &edit)?;
                }
                if unit.name.contains("partial") {
                    for flags in [2, 3] {
                        let edit = Edit::harmless(format!("an empty window with `flags` {flags}"));
                        let edit = edit
                            .clause(clause_of(unit.op))
                            .replace(at("kv_len")?, 0)
                            .insert(at("flags")?, flags);
                        sink.accept(base, &format!("{}-empty-{flags}", base.slug()), &edit)?;
                    }
                } else if !unit.name.contains("mask") {
                    for flags in [0, 1] {
                        let edit = edit(Rule::S15, &format!("an empty window with `flags` {flags}"))
                            .at(at("kv_len")?);
                        let edit = edit.replace(at("kv_len")?, 0).insert(at("flags")?, flags);
                        sink.reject_as(base, &format!("empty-{flags}"), &edit)?;
                    }
                    let wrong = [json!("2"), json!(2.5), json!([3])][number].clone();
                    let other = edit(Rule::S14, "an empty window beside flags that are no integer");
                    let other = other.at(at("flags")?).replace(at("kv_len")?, 0).insert(at("flags")?, wrong);
                    sink.reject_as(base, "empty-beside-no-flags", &other)?;
                    let wrong = [4, -1, 8][number];
                    let edit =
                        edit(Rule::S15, "an empty window beside flags that there are not").at(at("flags")?);
                    let edit = edit.replace(at("kv_len")?, 0).insert(at("flags")?, wrong);
                    sink.reject_as(base, "empty-beside-wrong-flags", &edit)?;
                }
            }
            Op::Softmax => {
                for dim in [2, -3, 3] {
                    let edit = edit::set_param(&base.program, "op", "dim", json!(dim), Rule::M02)?;
                    let name = named("dim", &json!(dim));
                    sink.reject_as(base, &name, &edit.clause(clause_of(unit.op)).at(at("dim")?))?;
                }
                for dim in [-2, 0, 1] {
                    let edit = Edit::harmless(format!("`dim` is {dim}")).clause(clause_of(unit.op));
                    let name = format!("{}-{}", base.slug(), named("dim", &json!(dim)));
                    sink.accept(base, &name, &edit.replace(at("dim")?, dim))?;
                }
            }
            Op::Mul if unit.name == "scale" => {
                for value in [json!(0), json!(-1.5), json!(-3), json!(7)] {
                    let edit = Edit::harmless(format!("`scale` is {value}")).clause(clause_of(unit.op));
                    let name = format!("{}-{}", base.slug(), named("scale", &value));
                    sink.accept(base, &name, &edit.replace(at("scale")?, value))?;
                }
            }
            Op::RmsNorm | Op::LayerNorm => {
                for value in [json!(0), json!(1.0), json!(-1e-60)] {
                    let edit = Edit::harmless(format!("`eps` is {value}")).clause(clause_of(unit.op));
                    let name = format!("{}-{}", base.slug(), named("eps", &value));
                    sink.accept(base, &name, &edit.replace(at("eps")?, value))?;
                }
                reject_all(sink, base, Rule::S15, &at("eps")?, &[json!(-1), json!(-1e-3)])?;
            }
            _ => {}
        }
        if unit.op == Op::Rope {
            let edit = Edit::harmless("`theta` is 0.5").clause(clause_of(unit.op));
            sink.accept(base, &format!("{}-theta-half", base.slug()), &edit.replace(at("theta")?, 0.5))?;
            reject_all(sink, base, Rule::S15, &at("theta")?, &[json!(1e-60), json!(-0.5)])?;
        }
        Ok(())
    })
}

/// M08 and what it allows: dtypes of quantised weights, odd rows, groups that do not divide their row.
pub fn quantisation(library: &Library, sink: &mut Sink) -> Result<()> {
    everywhere(library, &mut |unit, base, number| {
        if !unit.is_quantised() {
            return Ok(());
        }
        let weight = unit.weight();
        let is_i8 = unit.name.starts_with("i8");
        let clauses = |edit: Edit| edit.clause(clause_of(unit.op)).clause(clause::DAT_08);
        let buffers = |edit: Edit, index: usize, rest: &str, value: Value| -> Result<Edit> {
            let pointer = |kind: &str| edit::buffer_pointer(&base.program, &format!("{kind}{index}"), rest);
            Ok(edit.replace(pointer("i")?, value.clone()).replace(pointer("s")?, value))
        };
        let wrong = if is_i8 { ["U8", "I4", "I32"] } else { ["I8", "F32", "BOOL"] };
        let bytes = (is_i8 && number > 0).then_some("U8");
        for dtype in [wrong[number], "F16"].into_iter().chain(bytes) {
            let edit = clauses(Edit::breaking(Rule::M08, format!("the weight holds {dtype}")));
            let edit = edit.at(op_pointer(base, &format!("inputs/{weight}"))?);
            sink.reject_as(
                base,
                &words(&format!("weight-{dtype}")),
                &buffers(edit, weight, "dtype", json!(dtype))?,
            )?;
        }
        let group = op_pointer(base, "params/group")?;
        if is_i8 {
            for value in [2, 128] {
                let edit = clauses(Edit::harmless(format!("a group of {value}, of a row of 1")));
                sink.accept(
                    base,
                    &format!("{}-group-{value}", base.slug()),
                    &edit.replace(group.clone(), value),
                )?;
            }
            return Ok(());
        }
        let edit = clauses(Edit::breaking(Rule::M08, "a scale for each column is wanted"));
        sink.reject_as(base, "group-1", &edit.replace(group.clone(), 1))?;
        let mut edit = clauses(Edit::harmless("a scale for each column")).replace(group.clone(), 1);
        for operand in weight + 1..unit.inputs.len() {
            edit = buffers(edit, operand, "shape/1", json!(2))?;
        }
        sink.accept(base, &format!("{}-group-1-scales", base.slug()), &edit)?;
        let edit = clauses(Edit::harmless("a group of 3, of a row of 2")).replace(group, 3);
        sink.accept(base, &format!("{}-group-3", base.slug()), &edit)?;
        let edit = clauses(Edit::breaking(Rule::M08, "a row of one column"));
        let edit = if unit.op == Op::Dequant {
            let shape = |name: &str| edit::buffer_pointer(&base.program, name, "shape/1");
            edit.replace(shape("y")?, 1).replace(shape("z")?, 1)
        } else {
            buffers(edit.replace(op_pointer(base, "params/K")?, 1), 0, "shape/1", json!(1))?
        };
        sink.reject_as(base, "odd-row", &edit)
    })
}

/// M07: KV_APPEND that appends a cache to itself, or to another one than it names.
pub fn appends(library: &Library, sink: &mut Sink) -> Result<()> {
    everywhere(library, &mut |unit: &Unit, base, _| {
        if unit.op != Op::KvAppend {
            return Ok(());
        }
        let (y, z) = (base.program.buffer("y")?, base.program.buffer("z")?);
        let inputs = op_pointer(base, "inputs")?;
        for (name, operands) in [("itself", [y, y]), ("other", [y, z])] {
            // One sequence takes as many rows as there are, several one each.
            let edit = Edit::breaking(Rule::M07, format!("the inputs are {operands:?}, the output {y}"));
            let edit = edit
                .clause(clause::EXE_10)
                .clause(clause_of(unit.op))
                .replace(inputs.clone(), json!(operands));
            sink.reject_as(base, name, &edit)?;
        }
        Ok(())
    })
}

/// S08, S09, S12, S17, S20: ids, references, capacities, starts and extents, in several programs.
pub fn records(library: &Library, sink: &mut Sink) -> Result<()> {
    for name in ["fan-in/shared-3", "launch/explicit", "decoder/paged", "diamond/depth-1"] {
        let base = library.get(name)?;
        let mut lists = vec!["/buffers", "/counters", "/tasks"];
        if base.program.len("/pages/pages").is_ok() {
            lists.push("/pages/pages");
        }
        for list in lists {
            let count = base.program.len(list)? as i64;
            let records = base.program.at(list)?.clone();
            let ids = |what: &str, id: &dyn Fn(i64) -> i64| {
                let mut records = records.clone();
                for (place, record) in (0..).zip(records.as_array_mut().into_iter().flatten()) {
                    record["id"] = json!(id(place));
                }
                let edit =
                    Edit::breaking(Rule::S08, format!("the ids of `{list}` {what}")).clause(clause::DAT_01);
                edit.replace(list, records)
            };
            sink.reject_as(base, &words(&format!("{list}-from-1")), &ids("begin at 1", &|place| place + 1))?;
            sink.reject_as(
                base,
                &words(&format!("{list}-last")),
                &ids("end with a gap", &|place| {
                    if place + 1 == count { place + 5 } else { place }
                }),
            )?;
            if count > 1 {
                sink.reject_as(
                    base,
                    &words(&format!("{list}-backwards")),
                    &ids("run backwards", &|place| count - 1 - place),
                )?;
            }
        }
        let (buffers, counters) =
            (base.program.len("/buffers")? as i64, base.program.len("/counters")? as i64);
        let tasks = base.program.len("/tasks")?;
        let last = format!("/tasks/{}", tasks - 1);
        let mut places = vec![
            (format!("{last}/inputs/0"), buffers),
            ("/tasks/0/outputs/0".to_owned(), buffers),
            (format!("{last}/out_counter"), counters),
        ];
        if base.program.at(&format!("{last}/waits/0")).is_ok() {
            places.push((format!("{last}/waits/0/counter"), counters));
        }
        for (at, count) in places {
            let values = [count, count + 1, -1, -count].map(Value::from);
            reject_all(sink, base, Rule::S09, &at, &values)?;
        }
        reject_all(sink, base, Rule::S17, "/counters/0/init", &[json!(1), json!(-1), json!(2)])?;
        let shapes = [json!([1, 1, 1, 1, 4]), json!([1, 1, 1, 1, 1, 1])];
        reject_shapes(sink, base, Rule::S12, &shapes)?;
        let shapes = [json!([4, 0]), json!([0, 4]), json!([-1, 4]), json!([4, -1]), json!([-2, -2])];
        reject_shapes(sink, base, Rule::S20, &shapes)?;
        let shapes = [
            json!([i64::MAX, 2]),
            json!([4_294_967_296_i64, 4_294_967_296_i64]),
            json!([3_037_000_500_i64, 3_037_000_500_i64]),
            json!([1, i64::MAX / 2]),
        ];
        reject_shapes(sink, base, Rule::S20, &shapes)?;
    }
    Ok(())
}

fn reject_shapes(sink: &mut Sink, base: &Base, rule: Rule, shapes: &[Value]) -> Result<()> {
    for shape in shapes {
        let edit = put(base, rule, "/buffers/0/shape", shape.clone()).clause(clause::DAT_03);
        let name = words(&format!("shape-{}", shape.to_string().replace('-', "minus-")));
        sink.reject_as(base, &name, &edit)?;
    }
    Ok(())
}

/// S04: keys of maps that are no ids, and truth values that are none.
pub fn keys(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, map) in [
        ("decoder/paged", "/pages/buffer_to_page"),
        ("paged/every-kind", "/pages/buffer_to_page"),
        ("launch/explicit", "/config/sm_assignment"),
        ("launch/explicit-config-only", "/config/sm_assignment"),
    ] {
        let base = library.get(name)?;
        for key in ["00", "01", "+0", "+1", " 1", "1 ", "-1", "9223372036854775808", "18446744073709551617"] {
            let at = format!("{map}/{key}");
            let edit =
                Edit::breaking(Rule::S04, format!("the key `{key}` in `{map}`")).clause(clause::FMT_03);
            let sign = key.replace('+', "plus").replace('-', "minus").replace(' ', "space");
            sink.reject_as(base, &words(&format!("key-{sign}")), &edit.at(at.clone()).insert(at, 0))?;
        }
    }
    for name in ["launch/laptop", "launch/server"] {
        let base = library.get(name)?;
        for at in ["/target/supports_cooperative", "/target/wddm_tdr"] {
            reject_all(sink, base, Rule::S04, at, &[json!(1), json!(0), json!("true"), json!("false")])?;
        }
    }
    Ok(())
}

/// L01, L02 and L04 with a target, without one, and at both of their ends.
pub fn launches(library: &Library, sink: &mut Sink) -> Result<()> {
    for name in [
        "launch/laptop",
        "launch/server",
        "launch/config-only",
        "launch/limits",
        "launch/explicit-config-only",
    ] {
        let base = library.get(name)?;
        let smem = base.program.int("/target/smem_bytes_per_block_optin").ok();
        let mut values = vec![json!(-1), json!(-65_536)];
        values.extend(smem.map(|most| json!(most + 1)));
        reject_all(sink, base, Rule::L01, "/config/smem_bytes_per_block", &values)?;
        let values = [json!(0), json!(-1), json!(1025), json!(4096)];
        reject_all(sink, base, Rule::L02, "/config/threads_per_block", &values)?;
        for threads in [1, 33, 1000] {
            let edit = Edit::harmless(format!("blocks of {threads} threads")).clause(clause::TGT_03);
            let edit = edit.replace("/config/threads_per_block", threads);
            if base.program.int("/config/threads_per_block")? != threads {
                sink.accept(base, &format!("{}-{threads}-threads", base.slug()), &edit)?;
            }
        }
        if name.contains("explicit") {
            let tasks = base.program.len("/tasks")?;
            for key in [tasks, tasks + 1] {
                let at = format!("/config/sm_assignment/{key}");
                let edit = put(base, Rule::S09, &at, json!(0)).clause(clause::TGT_02);
                sink.reject_as(base, &format!("assigns-task-{key}"), &edit)?;
            }
            reject_all(sink, base, Rule::L04, "/config/sm_assignment/1", &[json!(-1), json!(-9)])?;
            reject_all(sink, base, Rule::L04, "/config/sm_assignment/0", &[json!(-1), json!(-9)])?;
        }
    }
    Ok(())
}

/// S21, S22, P04 and P05: kinds and spaces of buffers and pages.
pub fn spaces(library: &Library, sink: &mut Sink) -> Result<()> {
    const SPACES: [&str; 4] = ["HBM", "GLOBAL_SCRATCH", "SMEM", "REGISTER"];
    let base = library.get("paged/every-kind")?;
    for buffer in ["x", "w", "bias", "cache", "y"] {
        let at = edit::buffer_pointer(&base.program, buffer, "space")?;
        for space in &SPACES[1..] {
            let edit = put(base, Rule::S21, &at, json!(space)).clause(clause::DAT_04);
            sink.reject_as(base, &words(&format!("{buffer}-in-{space}")), &edit)?;
        }
        let id = base.program.buffer(buffer)?;
        for page in [2, 3] {
            let edit = edit::move_to_page(&base.program, buffer, page, Rule::P04)?.clause(clause::DAT_04);
            let edit = edit.replace(format!("/pages/pages/{page}/nbytes"), 100_000 + page);
            sink.reject_as(
                base,
                &format!("{buffer}-on-wide-page-{page}"),
                &edit.at(format!("/pages/buffer_to_page/{id}")),
            )?;
        }
    }
    for (name, buffer, page) in
        [("paged/every-kind", "h", 0), ("paged/every-kind", "sink", 1), ("paged/unread-half", "h", 0)]
    {
        let base = library.get(name)?;
        let at = edit::buffer_pointer(&base.program, buffer, "space")?;
        for of_buffer in SPACES {
            for of_page in SPACES.into_iter().filter(|space| *space != of_buffer) {
                let what = format!("`{buffer}` in {of_buffer} on a page in {of_page}");
                let edit =
                    Edit::breaking(Rule::P05, what).clause(clause::PAG_01).replace(at.clone(), of_buffer);
                let edit = edit.replace(format!("/pages/pages/{page}/space"), of_page);
                sink.reject_as(base, &words(&format!("{buffer}-in-{of_buffer}-on-{of_page}")), &edit)?;
            }
        }
    }
    for name in ["paged/every-kind", "decoder/paged"] {
        let base = library.get(name)?;
        reject_all(sink, base, Rule::S22, "/pages/pages/1/nbytes", &[json!(0), json!(-1), json!(i64::MIN)])?;
    }
    for name in ["launch/server", "launch/laptop"] {
        let base = library.get(name)?;
        let at = "/config/tiling/gemv/N_tile";
        if base.program.at(at).is_ok() {
            reject_all(sink, base, Rule::S22, at, &[json!(0), json!(-1)])?;
        }
    }
    Ok(())
}

/// A form of `accept/opcodes.rs`, shapes of its buffers, parameters.
type Misfit = (&'static str, &'static [(&'static str, &'static [i64])], &'static [(&'static str, i64)]);

/// Operands that agree with each other, and not with the opcode.
const MISFITS: &[Misfit] = &[
    ("rmsnorm-plain", &[("i1", &[4])], &[("hidden", 4)]),
    ("rmsnorm-plain", &[("i1", &[16])], &[("hidden", 16)]),
    ("rmsnorm-vector", &[("i1", &[2])], &[("hidden", 2)]),
    ("rmsnorm-plain", &[("i0", &[]), ("y", &[]), ("i1", &[1])], &[("hidden", 1)]),
    ("rmsnorm-vector", &[("i0", &[]), ("y", &[]), ("i1", &[1, 1])], &[("hidden", 1)]),
    ("rmsnorm-vector", &[("i0", &[]), ("y", &[]), ("i1", &[])], &[("hidden", 1)]),
    ("layernorm-no-bias", &[("i1", &[5])], &[("hidden", 5)]),
    ("layernorm-no-bias", &[("i1", &[3])], &[("hidden", 3)]),
    ("layernorm-two-axes", &[("i1", &[5])], &[("hidden", 5)]),
    ("sample-argmax-vector", &[("i0", &[])], &[]),
    ("sample-argmax-one", &[("i0", &[])], &[]),
    ("sample-argmax-one", &[("i0", &[]), ("y", &[])], &[]),
    ("gemv-tile-vector", &[("i0", &[])], &[]),
    ("gemv-tile-plain", &[("i0", &[])], &[("M", 1)]),
    ("gemv-tile-rows", &[("i0", &[])], &[]),
    ("gemv-tile-i8", &[("i0", &[])], &[]),
    ("gemv-tile-i4", &[("i0", &[])], &[]),
    ("gemv-tile-i4-bytes", &[("i0", &[])], &[]),
    ("gemv-tile-vector", &[("y", &[])], &[]),
    ("gemv-tile-rows", &[("y", &[])], &[]),
    ("gemv-tile-i8", &[("y", &[])], &[]),
    ("gemv-tile-i4", &[("y", &[])], &[]),
    ("gemv-tile-i4-bytes", &[("y", &[])], &[]),
    ("attention-tile-plain", &[("i0", &[4, 2]), ("y", &[4, 2])], &[("head_dim", 2)]),
    ("attention-tile-plain", &[("i0", &[4, 8]), ("y", &[32])], &[("head_dim", 8)]),
    ("attention-tile-batch", &[("i0", &[3, 4, 2]), ("y", &[3, 4, 2])], &[("head_dim", 2)]),
    ("attention-tile-plain", &[], &[("n_kv_heads", 1)]),
    ("attention-tile-batch", &[], &[("n_kv_heads", 4)]),
    ("attention-tile-plain", &[("i1", &[8, 8]), ("i2", &[8, 8])], &[]),
    ("attention-tile-partial", &[("i1", &[64]), ("i2", &[64])], &[]),
    ("attention-tile-mask-row", &[("i1", &[]), ("i2", &[])], &[]),
    ("rope-one-position", &[("i0", &[8]), ("y", &[8])], &[]),
    ("rope-one-position", &[("i0", &[1, 1, 3, 8]), ("y", &[1, 1, 3, 8])], &[]),
    ("rope-positions", &[("i0", &[8]), ("y", &[8]), ("i1", &[1])], &[]),
    ("rope-one-position", &[], &[("head_dim", 2)]),
    ("kv-append-flat", &[("y", &[8, 8])], &[]),
    ("kv-append-rows", &[("y", &[64])], &[]),
    ("dequant-i8-vector", &[("i0", &[]), ("i1", &[]), ("y", &[])], &[]),
    ("dequant-i8", &[("i0", &[]), ("i1", &[]), ("y", &[])], &[]),
    ("dequant-i8-zeros-i8", &[("y", &[])], &[]),
    ("attention-combine-two", &[("i0", &[6]), ("i1", &[6]), ("y", &[4])], &[]),
    ("attention-combine-two", &[("i0", &[1, 1, 4, 6]), ("i1", &[1, 1, 4, 6])], &[]),
    ("attention-combine-two", &[("i0", &[3]), ("i1", &[3]), ("y", &[])], &[]),
    ("embed-rows", &[("i1", &[]), ("y", &[3])], &[]),
    ("embed-bridge", &[("i1", &[]), ("y", &[])], &[]),
];

/// M02: several operands at odds with the opcode alike.
pub fn misfits(library: &Library, sink: &mut Sink) -> Result<()> {
    for (form, shapes, params) in MISFITS {
        let base = library.get(&format!("opcode/{form}"))?;
        let mut edit =
            Edit::breaking(Rule::M02, format!("operands that fit each other: {shapes:?} {params:?}"));
        for (buffer, shape) in *shapes {
            edit = edit.replace(edit::buffer_pointer(&base.program, buffer, "shape")?, json!(shape));
        }
        for (key, value) in *params {
            edit = edit.insert(format!("/tasks/0/params/{key}"), *value);
        }
        if let Some(&clause) = base.clauses.first() {
            edit = edit.clause(clause);
        }
        let shapes = shapes.iter().map(|(buffer, shape)| {
            let extents: Vec<String> = shape.iter().map(i64::to_string).collect();
            format!("{buffer}-{}", if extents.is_empty() { "scalar".to_owned() } else { extents.join("x") })
        });
        let params = params.iter().map(|(key, value)| format!("{key}-{value}"));
        let what: Vec<String> = shapes.chain(params).collect();
        sink.reject_as(base, &words(&what.join("-")), &edit)?;
    }
    Ok(())
}
