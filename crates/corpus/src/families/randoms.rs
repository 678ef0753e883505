//! Random programs with a random edit each. Their tasks come in layers, and every buffer is written under one counter,
//! so what an edit breaks follows from where it is made. A case is named after its program, and not after what was drawn.

use megakernel_ir::rule::{Rule, clause};
use serde_json::Value;

use super::library::{Base, Library};
use super::sink::Sink;
use crate::builder::{Program, Result};
use crate::edit::Edit;
use megakernel_ir::prng::SplitMix64;

fn tasks(program: &Program) -> &[Value] {
    program.value()["tasks"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The tasks for which `keep` holds; one of them is drawn.
fn draw(prng: &mut SplitMix64, base: &Base, keep: impl Fn(&Value) -> bool) -> Option<usize> {
    let found: Vec<usize> = tasks(&base.program)
        .iter()
        .enumerate()
        .filter(|(_, task)| keep(task))
        .map(|(index, _)| index)
        .collect();
    prng.pick(&found).copied()
}

fn producers(base: &Base, wait: &Value) -> i64 {
    wait["counter"].as_i64().map_or(0, |counter| base.program.producers(counter).unwrap_or(0) as i64)
}

/// The first input of a task that is an activation.
fn activation_input(base: &Base, task: &Value) -> Option<usize> {
    let inputs = task["inputs"].as_array()?;
    inputs.iter().position(|input| {
        input.as_u64().is_some_and(|id| base.program.value()["buffers"][id as usize]["kind"] == "ACTIVATION")
    })
}

/// R01: a wait somewhere goes on after k of its n producers.
pub fn weakened(library: &Library, sink: &mut Sink) -> Result<()> {
    for base in library.starting("random/") {
        let prng = &mut sink.draws(&base.slug());
        let joins = |task: &Value| producers(base, &task["waits"][0]) > 1;
        let Some(index) = draw(prng, base, joins) else { continue };
        let n = producers(base, &tasks(&base.program)[index]["waits"][0]);
        let k = 1 + prng.below(n as u64 - 1) as i64;
        let at = format!("/tasks/{index}/waits/0");
        let edit = Edit::breaking(Rule::R01, format!("task {index} goes on after {k} of {n} producers"));
        sink.reject(base, &base.slug(), &edit.at(at.clone()).replace(format!("{at}/threshold"), k))?;
    }
    Ok(())
}

/// D02: a wait somewhere asks for more increments than there are.
pub fn raised(library: &Library, sink: &mut Sink) -> Result<()> {
    for base in library.starting("random/").step_by(2) {
        let prng = &mut sink.draws(&base.slug());
        let Some(index) = draw(prng, base, |task| producers(base, &task["waits"][0]) > 0) else { continue };
        let n = producers(base, &tasks(&base.program)[index]["waits"][0]);
        let k = n + 1 + prng.below(3) as i64;
        let at = format!("/tasks/{index}/waits/0");
        let edit =
            Edit::breaking(Rule::D02, format!("task {index} waits for {k} increments of {n} producers"));
        sink.reject(base, &base.slug(), &edit.at(at.clone()).replace(format!("{at}/threshold"), k))?;
    }
    Ok(())
}

/// R02: the only wait of a task that reads an activation is dropped.
pub fn dropped(library: &Library, sink: &mut Sink) -> Result<()> {
    for base in library.starting("random/") {
        let prng = &mut sink.draws(&base.slug());
        let reads = |task: &Value| task["waits"][0].is_object() && activation_input(base, task).is_some();
        let Some(index) = draw(prng, base, reads) else { continue };
        let input = activation_input(base, &tasks(&base.program)[index]).unwrap_or_default();
        let edit = Edit::breaking(Rule::R02, format!("task {index} waits for nothing"))
            .at(format!("/tasks/{index}/inputs/{input}"))
            .remove(format!("/tasks/{index}/waits/0"));
        sink.reject(base, &base.slug(), &edit)?;
    }
    Ok(())
}

/// D04: the first task waits for a task of the last layer.
pub fn cyclic(library: &Library, sink: &mut Sink) -> Result<()> {
    for base in library.starting("random/") {
        let prng = &mut sink.draws(&base.slug());
        // With queues the new edge would also break their order.
        if !base.program.value()["target"].is_null() {
            continue;
        }
        let Some(last) = draw(prng, base, |task| task["waits"][0].is_object()) else { continue };
        let counter = base.program.out_counter(last)?;
        let threshold = base.program.producers(counter)?;
        let edit = Edit::breaking(Rule::D04, format!("the first task waits for task {last} and its layer"))
            .at("/tasks/0")
            .insert("/tasks/0/waits/-", serde_json::json!({"counter": counter, "threshold": threshold}));
        sink.reject(base, &base.slug(), &edit)?;
    }
    Ok(())
}

/// A tile that another tile of the same product follows.
fn followed_tile(prng: &mut SplitMix64, base: &Base, least: i64) -> Option<usize> {
    let list = tasks(&base.program);
    let next_is_tile = |index: usize| {
        list.get(index + 1)
            .is_some_and(|next| next["op"] == "GEMV_TILE" && next["outputs"] == list[index]["outputs"])
    };
    let found: Vec<usize> = (0..list.len())
        .filter(|&index| list[index]["op"] == "GEMV_TILE" && next_is_tile(index))
        .filter(|&index| list[index]["params"]["N_tile"].as_i64() >= Some(least))
        .collect();
    prng.pick(&found).copied()
}

/// R04: a tile reaches into the next one.
pub fn widened(library: &Library, sink: &mut Sink) -> Result<()> {
    for base in library.starting("random/") {
        let prng = &mut sink.draws(&base.slug());
        let Some(index) = followed_tile(prng, base, 1) else { continue };
        let pointer = format!("/tasks/{index}/params/N_tile");
        let wider = base.program.int(&pointer)? + 1;
        let edit = Edit::breaking(Rule::R04, format!("the tile of task {index} is one column wider"))
            .clause(clause::EXE_04)
            .at(format!("/tasks/{}/outputs/0", index + 1))
            .replace(pointer, wider);
        sink.reject(base, &base.slug(), &edit)?;
    }
    Ok(())
}

/// M05: a tile leaves its last column out.
pub fn narrowed(library: &Library, sink: &mut Sink) -> Result<()> {
    for base in library.starting("random/") {
        let prng = &mut sink.draws(&base.slug());
        let Some(index) = followed_tile(prng, base, 2) else { continue };
        let pointer = format!("/tasks/{index}/params/N_tile");
        let narrower = base.program.int(&pointer)? - 1;
        let output = base.program.at(&format!("/tasks/{index}/outputs/0"))?;
        let reader = tasks(&base.program).iter().enumerate().find_map(|(reader, task)| {
            let input = task["inputs"].as_array()?.iter().position(|input| input == output)?;
            Some(format!("/tasks/{reader}/inputs/{input}"))
        });
        let mut edit = Edit::breaking(Rule::M05, format!("the tile of task {index} is one column narrower"));
        edit.at = reader;
        sink.reject(base, &base.slug(), &edit.clause(clause::EXE_08).replace(pointer, narrower))?;
    }
    Ok(())
}
