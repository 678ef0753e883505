//! Rules that there are not: what a validator refuses by habit, and the text allows.

use megakernel_ir::{Opcode, Rule, TaskId};

use crate::found::Found;
use crate::json::Json;
use crate::opcodes::arity;
use crate::parameters::is_known;
use crate::program::{Program, Task};
use crate::steps::Steps;

/// The largest shared memory of an SM that there is.
const LARGEST: i64 = 228 << 10;

fn member<'j>(value: &'j Json, name: &str) -> Option<&'j Json> {
    match value {
        Json::Object(members) => {
            members.iter().find(|member| member.name == name).map(|member| &member.value)
        }
        _ => None,
    }
}

/// The texts that a member holds in the records of a list.
fn texts<'j>(root: &'j Json, list: &str, name: &str) -> Vec<&'j str> {
    let records = match member(root, list) {
        Some(Json::List(records)) => records.as_slice(),
        _ => &[],
    };
    let text = |record: &'j Json| match member(record, name) {
        Some(Json::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    records.iter().filter_map(text).collect()
}

fn repeats<T: PartialEq>(items: &[T]) -> bool {
    (1..items.len()).any(|place| items[..place].contains(&items[place]))
}

/// Judges a program that keeps the rules on values.
pub fn judge(steps: &Steps, root: &Json, program: &Program, found: &Found<'_>) {
    let refuse = |name, is_there: bool| {
        if is_there && steps.errs(name) {
            found.report(Rule::S22);
        }
    };
    records(root, program, &refuse);
    configs(root, program, &refuse);
    program.tasks.iter().for_each(|task| parameters(task, &refuse));
}

fn records(root: &Json, program: &Program, refuse: &dyn Fn(&'static str, bool)) {
    let first = match root {
        Json::Object(members) => members.first().map(|member| member.name.as_str()),
        _ => None,
    };
    refuse("members-in-another-order-refused", first != Some("ir_version"));
    let names = texts(root, "buffers", "name");
    refuse("names-twice-refused", repeats(&names));
    refuse("names-empty-refused", names.iter().any(|name| name.is_empty()));
    refuse("labels-twice-refused", repeats(&texts(root, "tasks", "label")));
    refuse("notes-beyond-ascii-refused", texts(root, "counters", "note").iter().any(|note| !note.is_ascii()));
    let meta = match member(root, "meta") {
        Some(Json::Object(members)) => members.as_slice(),
        _ => &[],
    };
    refuse("meta-beyond-texts-refused", meta.iter().any(|one| !matches!(one.value, Json::Text(_))));
    refuse("no-tasks-refused", program.tasks.is_empty());
    let large = |task: &Task| task.estimates.iter().any(|&estimate| i32::try_from(estimate).is_err());
    refuse("estimates-beyond-32-bits-refused", program.tasks.iter().any(large));
    let counters = |task: &Task| task.waits.iter().map(|(counter, _)| *counter).collect::<Vec<_>>();
    refuse("waits-on-one-counter-refused", program.tasks.iter().any(|task| repeats(&counters(task))));
    if let Some(pages) = &program.pages {
        refuse("no-pages-refused", pages.pages.is_empty());
        let is_spare = |id: i64| !pages.map.iter().any(|(_, page)| *page == id);
        refuse("page-without-buffer-refused", pages.pages.iter().any(|page| is_spare(page.id)));
        let large = pages.pages.iter().any(|page| page.space.is_on_chip() && page.nbytes > LARGEST);
        refuse("capacity-without-target-refused", program.target.is_none() && large);
    }
}

fn configs(root: &Json, program: &Program, refuse: &dyn Fn(&'static str, bool)) {
    let Some(config) = &program.config else { return };
    let source = member(root, "config");
    if let Some(Json::Object(operations)) = source.and_then(|config| member(config, "tiling")) {
        let known = |name: &str| ["gemv", "gemm", "attention"].contains(&name);
        refuse("tiling-of-other-operations-refused", operations.iter().any(|one| !known(&one.name)));
    }
    if let Some(Json::List(groups)) = source.and_then(|config| member(config, "fusion_grouping")) {
        let is_empty = |group: &Json| matches!(group, Json::List(names) if names.is_empty());
        refuse("fusion-of-nothing-refused", groups.iter().any(is_empty));
    }
    refuse("depth-beyond-8-refused", config.depth > 8);
    let assignment = &config.assignment;
    refuse("assignment-of-some-tasks-refused", {
        !assignment.is_empty() && assignment.len() != program.tasks.len()
    });
    refuse("assignment-without-target-refused", !assignment.is_empty() && program.target.is_none());
    let sm = |task: i64| program.task(TaskId::stated(task)).and_then(|task| task.sm);
    let differs = |&(task, assigned): &(i64, i64)| sm(task).is_some_and(|sm| sm != assigned);
    refuse("assignment-beside-sm-refused", assignment.iter().any(differs));
}

fn parameters(task: &Task, refuse: &dyn Fn(&'static str, bool)) {
    let arity = arity(task.op, task.param("qdtype").is_some());
    let is_unused = |key: &str| {
        is_known(key) && key != "qdtype" && !arity.required.contains(&key) && !arity.optional.contains(&key)
    };
    refuse("parameter-without-effect-refused", task.params.iter().any(|(key, _)| is_unused(key)));
    let is_product = matches!(task.op, Opcode::GemvTile | Opcode::GemmTile);
    refuse("extents-given-refused", is_product && ["N", "M"].iter().any(|key| task.param(key).is_some()));
    let flags = task.int("flags").unwrap_or(0);
    refuse("causal-refused", task.op == Opcode::AttentionTile && flags & 1 != 0);
    refuse("scale-of-two-inputs-refused", {
        task.op == Opcode::Mul && task.inputs.len() == 2 && task.param("scale").is_some()
    });
}
