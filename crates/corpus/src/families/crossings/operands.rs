//! Every operand of every opcode crossed with what can be wrong with it, on the programs of `accept/units.rs`.

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use crate::builder::{DType, Op, Result, clause_of, slug};
use crate::edit::{self, Edit};
use crate::families::accept::units::{PLACEMENTS, Unit, units};
use crate::families::accept::windows::{self, Rows};
use crate::families::library::{Base, Library};
use crate::families::parameters;
use crate::families::sink::Sink;

/// Calls `each` with every form in every placement, and the number of the placement.
pub fn everywhere(library: &Library, each: &mut dyn FnMut(&Unit, &Base, usize) -> Result<()>) -> Result<()> {
    for unit in units() {
        for (number, placement) in PLACEMENTS.iter().enumerate() {
            each(&unit, library.get(&unit.base(placement))?, number)?;
        }
    }
    Ok(())
}

/// Pointer of a member of the task under test.
pub fn op_pointer(base: &Base, rest: &str) -> Result<String> {
    edit::task_pointer(&base.program, "op", rest)
}

/// The inputs that tasks write before the opcode reads them.
fn made(unit: &Unit) -> impl Iterator<Item = usize> {
    (0..unit.inputs.len()).filter(|&input| !unit.is_cache(input))
}

/// The buffer of an operand, and the one that it is copied from or to.
fn buffers(input: Option<usize>) -> [String; 2] {
    match input {
        Some(input) => [format!("i{input}"), format!("s{input}")],
        None => ["y".to_owned(), "z".to_owned()],
    }
}

/// R02 and R05: the task does not wait for the writer of an operand, or the one that overwrites it not for the task; and who reads
/// the output does not wait.
pub fn waits(library: &Library, sink: &mut Sink) -> Result<()> {
    everywhere(library, &mut |unit, base, number| {
        for input in made(unit) {
            let waiter = if PLACEMENTS[number] == "joined" { "join" } else { "op" };
            let edit = edit::drop_wait(&base.program, waiter, &format!("make{input}"), Rule::R02)?
                .clause(clause_of(unit.op))
                .at(op_pointer(base, &format!("inputs/{input}"))?);
            sink.reject_as(base, &format!("i{input}-before-it-is-written"), &edit)?;
            let again = format!("again{input}");
            let edit = edit::drop_wait(&base.program, &again, "op", Rule::R05)?
                .clause(clause_of(unit.op))
                .at(edit::task_pointer(&base.program, &again, "outputs/0")?);
            sink.reject_as(base, &format!("i{input}-overwritten-early"), &edit)?;
        }
        let edit = edit::drop_wait(&base.program, "use", "op", Rule::R02)?
            .clause(clause_of(unit.op))
            .at(edit::task_pointer(&base.program, "use", "inputs/0")?);
        sink.reject_as(base, "y-before-it-is-written", &edit)
    })
}

/// R02 and R03 of tiles: an operand that one task writes, or a row that the task reads, is not waited for.
pub fn windows(library: &Library, sink: &mut Sink) -> Result<()> {
    for window in windows::windows() {
        for placement in window.placements() {
            let base = library.get(&window.base(placement))?;
            let waiter = if placement == "joined" { "join" } else { "op" };
            for (input, rows) in window.inputs.iter().enumerate() {
                let (rule, writers) = match rows {
                    Rows::Given(..) => continue,
                    Rows::Whole(_) => (Rule::R02, vec![(format!("i{input}"), format!("i{input}"))]),
                    _ => {
                        let row = |row| (format!("i{input}.{row}"), format!("i{input}-row-{row}"));
                        (Rule::R03, vec![row(1), row(2)])
                    }
                };
                for (writer, name) in writers {
                    let edit = edit::drop_wait(&base.program, waiter, &writer, rule)?
                        .clause(clause_of(window.op))
                        .clause(clause::EXE_04)
                        .at(op_pointer(base, &format!("inputs/{input}"))?);
                    sink.reject_as(base, &format!("{name}-before-it-is-written"), &edit)?;
                }
            }
        }
    }
    Ok(())
}

/// S11: operands too few and too many.
pub fn arity(library: &Library, sink: &mut Sink) -> Result<()> {
    everywhere(library, &mut |unit, base, _| {
        let inputs = base.program.at(&op_pointer(base, "inputs")?)?.as_array().cloned().unwrap_or_default();
        let output = base.program.at(&op_pointer(base, "outputs/0")?)?.clone();
        let count = |list: &str, operands: Vec<Value>| -> Result<Edit> {
            let at = op_pointer(base, list)?;
            let what = format!("{} {list} of {}", operands.len(), unit.op.name());
            let edit = Edit::breaking(Rule::S11, what).clause(clause_of(unit.op)).clause(clause::DAT_06);
            Ok(edit.at(at.clone()).replace(at, operands))
        };
        let [fewest, most] = takes(unit);
        if inputs.len() == fewest {
            let fewer = inputs.split_last().map(|(_, rest)| rest.to_vec()).unwrap_or_default();
            sink.reject_as(base, "one-input-less", &count("inputs", fewer)?)?;
        }
        if inputs.len() == most && most < 8 {
            let more = [inputs.as_slice(), &inputs[..1]].concat();
            sink.reject_as(base, "one-input-more", &count("inputs", more)?)?;
        }
        if inputs.len() == 8 {
            let capacity = |list: &str, operands: Vec<Value>| -> Result<Edit> {
                let edit = count(list, operands)?;
                Ok(Edit { rules: vec![Rule::S12], ..edit }.clause(clause::DAT_09))
            };
            let more = [inputs.as_slice(), &inputs[..1]].concat();
            sink.reject_as(base, "nine-inputs", &capacity("inputs", more)?)?;
            let outputs = [std::slice::from_ref(&output), &inputs[..4]].concat();
            sink.reject_as(base, "five-outputs", &capacity("outputs", outputs)?)?;
        }
        if unit.op != Op::KvAppend {
            let spare = inputs.first().cloned().into_iter().collect::<Vec<_>>();
            sink.reject_as(base, "two-outputs", &count("outputs", [vec![output], spare].concat())?)?;
        }
        sink.reject_as(base, "no-output", &count("outputs", Vec::new())?)
    })
}

/// Fewest and most inputs.
fn takes(unit: &Unit) -> [usize; 2] {
    unit.op.record().inputs(unit.is_quantised())
}

/// What an operand may hold besides what it does.
enum Takes {
    Floats,
    OrIntegers,
    OrBool,
    One,
    /// Judged by M08, or together with another operand.
    Other,
}

fn takes_dtype(unit: &Unit, input: Option<usize>) -> Takes {
    let weight = unit.weight();
    let partial = unit.params.iter().any(|(key, _)| *key == "flags");
    match (unit.op, input) {
        (Op::Copy, _) | (Op::KvAppend, None | Some(1)) => Takes::Other,
        (_, Some(input)) if unit.is_quantised() && input == weight => Takes::Other,
        (_, Some(input)) if unit.is_quantised() && input == weight + 2 => Takes::OrIntegers,
        (Op::Embed, Some(0)) | (Op::Rope, Some(1)) | (Op::SampleArgmax, None) => Takes::One,
        (Op::AttentionCombine, Some(_)) => Takes::One,
        (Op::AttentionTile, None) if partial => Takes::One,
        (Op::AttentionTile, Some(3)) => Takes::OrBool,
        _ => Takes::Floats,
    }
}

/// M01, and what it allows: each operand in a dtype that it takes, and in one that it does not.
pub fn dtypes(library: &Library, sink: &mut Sink) -> Result<()> {
    everywhere(library, &mut |unit, base, number| {
        if unit.op == Op::Copy {
            for dtype in
                [[DType::F16, DType::F8E4M3], [DType::BF16, DType::F8E5M2], [DType::F8E4M3, DType::BF16]]
                    [number]
            {
                let edit =
                    Edit::harmless(format!("`i0` holds {}, `y` F32", dtype.name())).clause(clause::OPC_01);
                let edit = edit.replace(edit::buffer_pointer(&base.program, "i0", "dtype")?, dtype.name());
                let edit = edit.replace(edit::buffer_pointer(&base.program, "s0", "dtype")?, dtype.name());
                sink.accept(base, &format!("{}-from-{}", base.slug(), slug(dtype.name())), &edit)?;
            }
        }
        let operands = made(unit).map(Some).chain([None]);
        for input in operands {
            let [buffer, copy] = buffers(input);
            let at = input.map_or_else(|| "outputs/0".to_owned(), |input| format!("inputs/{input}"));
            let (good, bad) = match takes_dtype(unit, input) {
                Takes::Other => continue,
                Takes::One => (None, [DType::F16, DType::I8, DType::U8]),
                Takes::Floats => (
                    Some([DType::F8E4M3, DType::F8E5M2, DType::F8E4M3]),
                    [DType::I32, DType::I8, DType::Bool],
                ),
                Takes::OrBool => {
                    (Some([DType::F8E4M3, DType::F8E5M2, DType::F16]), [DType::I32, DType::I8, DType::U8])
                }
                Takes::OrIntegers => {
                    (Some([DType::I8, DType::F8E4M3, DType::F8E5M2]), [DType::I32, DType::I4, DType::Bool])
                }
            };
            let in_dtype = |dtype: DType, edit: Edit| -> Result<Edit> {
                let edit = edit.clause(clause_of(unit.op)).clause(clause::DAT_02);
                let edit = edit.replace(edit::buffer_pointer(&base.program, &buffer, "dtype")?, dtype.name());
                Ok(edit.replace(edit::buffer_pointer(&base.program, &copy, "dtype")?, dtype.name()))
            };
            if let Some(dtype) = good.map(|good| good[number]) {
                let edit = in_dtype(dtype, Edit::harmless(format!("`{buffer}` holds {}", dtype.name())))?;
                sink.accept(base, &format!("{}-{buffer}-{}", base.slug(), slug(dtype.name())), &edit)?;
            }
            let dtype = bad[number];
            let edit =
                in_dtype(dtype, Edit::breaking(Rule::M01, format!("`{buffer}` holds {}", dtype.name())))?;
            sink.reject_as(
                base,
                &format!("{buffer}-{}", slug(dtype.name())),
                &edit.at(op_pointer(base, &at)?),
            )?;
        }
        Ok(())
    })
}

/// What is judged in a task with two faults: shapes only where dtypes are right, bounds only where both are. And what a task touches
/// does not depend on its dtypes.
pub fn precedence(library: &Library, sink: &mut Sink) -> Result<()> {
    everywhere(library, &mut |unit, base, number| {
        let shape = edit::buffer_pointer(&base.program, "y", "shape/0")?;
        let other = edit::buffer_pointer(&base.program, "z", "shape/0")?;
        let dtypes = ["y", "z"].map(|buffer| edit::buffer_pointer(&base.program, buffer, "dtype"));
        let [dtype, dtype_of_copy] = [dtypes[0].clone()?, dtypes[1].clone()?];
        let grows =
            grown(unit, None, 0, base.program.len(&edit::buffer_pointer(&base.program, "y", "shape")?)?);
        if grows == Some(Rule::M02) && matches!(takes_dtype(unit, None), Takes::Floats) {
            let wrong = [DType::I32, DType::I8, DType::U8][number].name();
            let edit = Edit::breaking(Rule::M01, format!("`y` holds {wrong}, and has another shape"));
            let edit = edit.clause(clause_of(unit.op)).replace(shape.clone(), 3).replace(other.clone(), 3);
            sink.reject_as(
                base,
                "y-dtype-and-shape",
                &edit.replace(dtype, wrong).replace(dtype_of_copy, wrong),
            )?;
        }
        if matches!(unit.op, Op::GemvTile | Op::GemmTile) {
            let at = op_pointer(base, "params/n_off")?;
            let edit = Edit::breaking(Rule::M02, "`y` has another shape, and the tile lies outside");
            let edit = edit.clause(clause_of(unit.op)).replace(shape, 3).replace(other, 3).replace(at, 1);
            sink.reject_as(base, "y-shape-and-bounds", &edit)?;
            for key in ["N", "M"] {
                let edit = edit::set_param(&base.program, "op", key, json!(2), Rule::M02)?
                    .clause(clause_of(unit.op));
                sink.reject_as(base, &format!("{}-of-2", slug(key)), &edit)?;
            }
        }
        Ok(())
    })?;
    for window in windows::windows() {
        for placement in window.placements() {
            let base = library.get(&window.base(placement))?;
            let quantised = window.params.iter().any(|(key, _)| *key == "qdtype");
            let buffer = if quantised { "i1" } else { "i0" };
            let rule = if quantised { Rule::M08 } else { Rule::M01 };
            let edit = edit::set_dtype(&base.program, buffer, "I32", rule)?.clause(clause::EXE_04);
            if matches!(window.inputs.first(), Some(Rows::Given(..))) || quantised {
                sink.accept_under(&["validate"], base, &format!("{}-{buffer}-i32", base.slug()), edit)?;
            }
        }
    }
    Ok(())
}

/// The rule that an operand breaks when one of its axes grows and nothing else does; nothing where it may.
fn grown(unit: &Unit, input: Option<usize>, axis: usize, rank: usize) -> Option<Rule> {
    let weight = unit.weight();
    let last = axis + 1 == rank;
    match (unit.op, input) {
        (Op::Embed, Some(1)) if axis == 0 => None,
        (Op::SampleArgmax, Some(0)) if last => None,
        // Rows of the cache, or more of them to append.
        (Op::KvAppend, None) if axis + 3 == rank => None,
        (Op::KvAppend, Some(0)) if rank == 2 => Some(Rule::M04),
        _ if !unit.is_quantised() => Some(Rule::M02),
        (_, Some(input)) if input == weight => Some(if last { Rule::M08 } else { Rule::M02 }),
        (_, Some(input)) if input > weight => Some(Rule::M08),
        // K of the weight follows the output.
        (Op::Dequant, None) if last => None,
        _ => Some(Rule::M02),
    }
}

/// M02 and M08: each axis of each operand, longer than it has to be.
pub fn shapes(library: &Library, sink: &mut Sink) -> Result<()> {
    everywhere(library, &mut |unit, base, number| {
        for input in made(unit).map(Some).chain([None]) {
            let [buffer, copy] = buffers(input);
            let shape = edit::buffer_pointer(&base.program, &buffer, "shape")?;
            let rank = base.program.len(&shape)?;
            for axis in 0..rank {
                let Some(rule) = grown(unit, input, axis, rank) else { continue };
                let extent = base.program.int(&format!("{shape}/{axis}"))? + [1, 2, 6][number];
                let what = format!("axis {axis} of `{buffer}` has {extent} elements");
                let mut edit = Edit::breaking(rule, what).clause(clause_of(unit.op));
                edit = edit.replace(format!("{shape}/{axis}"), extent);
                if unit.is_quantised() && unit.op != Op::Dequant && input == Some(1) && rule == Rule::M02 {
                    // Its scales lack rows as well.
                    edit = edit.and(Rule::M08);
                }
                let other = edit::buffer_pointer(&base.program, &copy, &format!("shape/{axis}"))?;
                edit = edit.replace(other, extent);
                sink.reject_as(base, &format!("{buffer}-axis-{axis}-of-{extent}"), &edit)?;
            }
        }
        Ok(())
    })
}

/// What comes of one axis more, of extent 1, in front of the others: nothing, if the operand is judged by its elements or by its last
/// axes alone.
fn with_axis(unit: &Unit, input: Option<usize>) -> Option<Rule> {
    let weight = unit.weight();
    let is_batch = unit.name.starts_with("batch");
    let is_partial = unit.name.contains("partial");
    match (unit.op, input) {
        (Op::Copy | Op::Embed | Op::SampleArgmax, _) => None,
        (Op::RmsNorm | Op::LayerNorm, Some(1..)) | (Op::Rope, Some(1)) => None,
        (Op::GemvTile, Some(0) | None) => None,
        (Op::GemvTile | Op::GemmTile, Some(2)) if !unit.is_quantised() => None,
        (Op::AttentionTile, Some(0)) if !is_batch => None,
        (Op::AttentionTile, Some(3)) if unit.name == "mask" || unit.name == "batch-mask" => None,
        (Op::AttentionTile, None) if !is_partial => None,
        (Op::AttentionCombine, None) => None,
        // A row for one sequence of several, or any rows.
        (Op::KvAppend, _) => None,
        (_, Some(input)) if unit.is_quantised() && input > weight => Some(Rule::M08),
        _ => Some(Rule::M02),
    }
}

/// M02 and M08, and what they allow: one axis more.
pub fn ranks(library: &Library, sink: &mut Sink) -> Result<()> {
    everywhere(library, &mut |unit, base, _| {
        for input in made(unit).map(Some).chain([None]) {
            let [buffer, copy] = buffers(input);
            let shape = edit::buffer_pointer(&base.program, &buffer, "shape")?;
            if base.program.len(&shape)? == 4 {
                continue;
            }
            let other = edit::buffer_pointer(&base.program, &copy, "shape/0")?;
            let what = format!("`{buffer}` has one axis more");
            let edit = |edit: Edit| {
                let edit = edit.clause(clause_of(unit.op));
                edit.insert(format!("{shape}/0"), 1).insert(other.clone(), 1)
            };
            match with_axis(unit, input) {
                Some(rule) => sink.reject_as(
                    base,
                    &format!("{buffer}-one-axis-more"),
                    &edit(Edit::breaking(rule, what)),
                )?,
                None => sink.accept(
                    base,
                    &format!("{}-{buffer}-one-axis-more", base.slug()),
                    &edit(Edit::harmless(what)),
                )?,
            }
        }
        Ok(())
    })
}

/// M07, and what it allows: the output in place of an input.
pub fn in_place(library: &Library, sink: &mut Sink) -> Result<()> {
    everywhere(library, &mut |unit, base, _| {
        let output = base.program.int(&op_pointer(base, "outputs/0")?)?;
        let alike = |input: &usize| unit.inputs[*input] == (unit.dtype, unit.output.clone());
        for input in made(unit).filter(alike) {
            let at = op_pointer(base, &format!("inputs/{input}"))?;
            let what = format!("`op` reads its output as input {input}");
            if Op::IN_PLACE.contains(&unit.op) {
                let edit = Edit::breaking(Rule::R02, what).clause(clause::EXE_10).replace(at, output);
                sink.accept_under(&["memory-safety"], base, &format!("{}-i{input}", base.slug()), edit)?;
            } else {
                let edit = Edit::breaking(Rule::M07, what).clause(clause::EXE_10).clause(clause_of(unit.op));
                let edit = edit.at(op_pointer(base, "outputs/0")?).replace(at, output);
                sink.reject_as(base, &format!("i{input}"), &edit)?;
            }
        }
        Ok(())
    })
}

/// S13 to S15: every parameter of every opcode left out, of another type, below its range.
pub fn parameters(library: &Library, sink: &mut Sink) -> Result<()> {
    everywhere(library, &mut |unit, base, number| {
        for (key, _) in &unit.params {
            let at = op_pointer(base, &format!("params/{key}"))?;
            let edit = |rule, what: String| {
                Edit::breaking(rule, what).clause(clause_of(unit.op)).clause(clause::DAT_08)
            };
            if parameters::required(unit.op, unit.is_quantised()).contains(key) {
                let edit = edit(Rule::S13, format!("no `{key}`")).at(op_pointer(base, "params")?);
                sink.reject_as(base, &format!("no-{}", slug(key)), &edit.remove(at.clone()))?;
            }
            let wrong = [json!("1"), Value::Null, json!(true)][number].clone();
            let name = ["text", "null", "true"][number];
            let broken = edit(Rule::S14, format!("`{key}` is {wrong}")).at(at.clone());
            sink.reject_as(base, &format!("{}-{name}", slug(key)), &broken.replace(at.clone(), wrong))?;
            let least = match *key {
                "dim" | "scale" | "eps" => continue,
                "qdtype" => 6,
                "n_off" | "m_off" | "kv_start" | "kv_len" | "pos" | "flags" => 0,
                _ => 1,
            };
            let below = [least - 1, least - 7, least - 1][number];
            let edit = edit(Rule::S15, format!("`{key}` is {below}")).at(at.clone());
            sink.reject_as(
                base,
                &format!("{}-of-{}", slug(key), parameters::value_slug(&json!(below))),
                &edit.replace(at, below),
            )?;
        }
        Ok(())
    })
}

/// S14 and S15 of parameters that the opcode does not use.
pub fn unused_parameters(library: &Library, sink: &mut Sink) -> Result<()> {
    const KEYS: [(&str, i64); 19] = [
        ("K", 1),
        ("N", 1),
        ("M", 1),
        ("N_tile", 1),
        ("M_tile", 1),
        ("n_off", 0),
        ("m_off", 0),
        ("hidden", 1),
        ("vocab", 1),
        ("head_dim", 1),
        ("n_heads", 1),
        ("n_kv_heads", 1),
        ("kv_start", 0),
        ("kv_len", 0),
        ("pos", 0),
        ("qdtype", 6),
        ("group", 1),
        ("flags", 0),
        ("dim", -1),
    ];
    for (number, name) in ["chain/copy-1", "chain/nop-8", "reuse/in-place-2"].into_iter().enumerate() {
        let base = library.get(name)?;
        for (key, least) in KEYS {
            let at = format!("/tasks/0/params/{key}");
            let edit = Edit::harmless(format!("`{key}` is {least}"))
                .clause(clause::DAT_08)
                .insert(at.clone(), least);
            sink.accept(base, &format!("{}-{}-least", base.slug(), slug(key)), &edit)?;
            let wrong = [json!([least]), json!({}), json!(1.5)][number].clone();
            let edit = Edit::breaking(Rule::S14, format!("`{key}` is {wrong}"))
                .clause(clause::DAT_08)
                .at(at.clone());
            sink.reject_as(
                base,
                &format!("{}-{}", slug(key), ["array", "object", "fraction"][number]),
                &edit.insert(at.clone(), wrong),
            )?;
            if key == "dim" {
                continue;
            }
            let edit = Edit::breaking(Rule::S15, format!("`{key}` is {}", least - 1))
                .clause(clause::DAT_08)
                .at(at.clone());
            sink.reject_as(base, &format!("{}-below", slug(key)), &edit.insert(at, least - 1))?;
        }
        for (key, most) in [("qdtype", 7), ("flags", 3)] {
            let at = format!("/tasks/0/params/{key}");
            let edit =
                Edit::harmless(format!("`{key}` is {most}")).clause(clause::DAT_08).insert(at.clone(), most);
            sink.accept(base, &format!("{}-{}-most", base.slug(), slug(key)), &edit)?;
            let edit = Edit::breaking(Rule::S15, format!("`{key}` is {}", most + 1))
                .clause(clause::DAT_08)
                .at(at.clone());
            sink.reject_as(base, &format!("{}-above", slug(key)), &edit.insert(at, most + 1))?;
        }
    }
    Ok(())
}
