//! A schedule as a program (clause SCH-15).

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::Rule;
use megakernel_ir::rule::Class;
use megakernel_schedule::{Init, Kind, Schedule};
use serde_json::{Value, json};

use crate::ids::{PhaseId, StorageId, TensorId};
use crate::validate::{load, validate_schedule, world};
use crate::world::{Access, Does, World};

/// Tasks and buffers of a program, most of them.
const MOST: u64 = 1 << 20;
/// Waits of a task of a program (DAT-09).
const WAITS: usize = 8;

/// A value, and which part of it.
type Part = (TensorId, usize);

/// Counter and threshold.
type Wait = (usize, u64);

/// The program of a schedule.
///
/// # Errors
/// What of it a program cannot say.
pub fn lower(document: &[u8]) -> Result<Value, String> {
    let unread = |rule: Rule| format!("it breaks {rule} {}; `validate-schedule` says where", rule.slug());
    let schedule = load(document).map_err(|verdict| {
        verdict.diagnostics.first().map_or_else(String::new, |found| unread(found.rule))
    })?;
    let Some(world) = world(&schedule) else {
        let found = validate_schedule(&schedule).diagnostics;
        let structure = found.iter().find(|found| found.rule.class() == Class::SCHEDULE_STRUCTURE);
        return Err(unread(structure.map_or(Rule::ES01, |found| found.rule)));
    };
    refuse(&schedule, &world)?;
    let elements = Elements::new(&world);
    elements.refuse(&schedule, &world)?;
    Ok(Program::new(&world, &elements)?.document(&world))
}

/// Refuses what no counter and no queue of a program does.
fn refuse(schedule: &Schedule, world: &World<'_>) -> Result<(), String> {
    if !schedule.memory.signal || !schedule.memory.wait {
        return Err("its signals or its waits are relaxed; in a program they always order memory".to_owned());
    }
    if world.tasks.iter().any(|task| task.queue.is_some_and(|queue| world.any_order.contains(&queue))) {
        return Err("a queue is in any order; in a program queues are in order".to_owned());
    }
    if let Some(add) = world.accesses.iter().find(|access| access.does == Does::Add) {
        return Err(format!("{}; in a program nothing commutes", world.access_text(add)));
    }
    let totals = world.totals();
    for phase in world.phase_ids() {
        for wait in world.waits.of(phase) {
            let (total, name) = (totals[wait.event.index()], &world.events[wait.event.index()]);
            if wait.number < total {
                let task = world.task_name(world.task_of[phase.index()]);
                return Err(format!(
                    "{task} waits for {} of the {total} of `{name}`; a program waits for all (R01)",
                    wait.number
                ));
            }
            let period = world.periods[wait.event.index()];
            if let Some(period) = period.filter(|period| *period != total && total != 0) {
                return Err(format!(
                    "`{name}` grows by {total} with each launch, and what is waited for by {period}; counters of a program are set back"
                ));
            }
        }
    }
    let signals: u64 = totals.iter().sum();
    match signals > MOST {
        true => Err(format!(
            "all signals together raise events by {signals}, each time by a task of its own; {MOST} are too many"
        )),
        false => Ok(()),
    }
}

/// The bytes of values, in parts that each access has as a whole.
struct Elements {
    /// By value: where parts begin and end.
    cuts: BTreeMap<TensorId, Vec<u64>>,
    /// Parts that are written, and parts that are read: value and place.
    written: BTreeSet<Part>,
    read: BTreeSet<Part>,
}

impl Elements {
    fn new(world: &World<'_>) -> Elements {
        let mut cuts: BTreeMap<TensorId, Vec<u64>> = BTreeMap::new();
        for access in &world.accesses {
            let of = cuts.entry(world.placed(access).value).or_default();
            of.extend(world.bytes(access).iter().flatten());
        }
        for cuts in cuts.values_mut() {
            cuts.sort_unstable();
            cuts.dedup();
        }
        let mut elements = Elements { cuts, written: BTreeSet::new(), read: BTreeSet::new() };
        for access in &world.accesses {
            let parts = elements.of(world, access);
            match access.does {
                Does::Read => elements.read.extend(parts),
                Does::Write | Does::Add => elements.written.extend(parts),
            }
        }
        elements
    }

    /// The parts of an access.
    fn of(&self, world: &World<'_>, access: &Access) -> Vec<Part> {
        let value = world.placed(access).value;
        let cuts = self.cuts.get(&value).map_or(&[][..], Vec::as_slice);
        let at = |byte: u64| cuts.partition_point(|&cut| cut < byte);
        world
            .bytes(access)
            .iter()
            .flat_map(|&[from, to]| at(from)..at(to))
            .map(|place| (value, place))
            .collect()
    }

    /// Refuses memory that no kind of buffer is like.
    fn refuse(&self, schedule: &Schedule, world: &World<'_>) -> Result<(), String> {
        let mut ends: BTreeMap<StorageId, Vec<(u64, u64, TensorId)>> = BTreeMap::new();
        for (&value, cuts) in &self.cuts {
            if let (Some(&first), Some(&last)) = (cuts.first(), cuts.last()) {
                let storage = world.tensors[value.index()].storage;
                ends.entry(storage).or_default().push((first, last, value));
            }
        }
        for spans in ends.values_mut() {
            spans.sort_unstable();
            if let Some([one, other]) = spans.array_windows().find(|[one, other]| other.0 < one.1) {
                let [one, other] = [one, other].map(|span| world.tensor_name(span.2));
                return Err(format!(
                    "`{one}` and `{other}` share memory; in a program buffers that do are taken whole (P01)"
                ));
            }
        }
        for &(value, _) in &self.written {
            let placed = &world.tensors[value.index()];
            if placed.init == Init::Launch && matches!(placed.kind, Kind::Activation | Kind::Output) {
                let name = world.tensor_name(value);
                return Err(format!(
                    "`{name}` is filled for each launch, and tasks change it; no buffer is both"
                ));
            }
        }
        self.refuse_stale(schedule, world)
    }

    /// What a launch finds of the one before, a program allows where nobody changes it, or the same task alone.
    fn refuse_stale(&self, schedule: &Schedule, world: &World<'_>) -> Result<(), String> {
        let changed = |tensor: TensorId| {
            let is_both = |part: &Part| part.0 == tensor && self.read.contains(part);
            world.tensors[tensor.index()].kind == Kind::Cache && self.written.iter().any(is_both)
        };
        let tensors = TensorId::range(0..schedule.tensors.len());
        let caches: Vec<TensorId> = tensors.filter(|&tensor| changed(tensor)).collect();
        if caches.is_empty() {
            return Ok(());
        }
        let mut strict = schedule.clone();
        for cache in &caches {
            let strict = &mut strict.tensors[cache.index()];
            (strict.kind, strict.init) = (Kind::Activation, Init::Once);
        }
        let found = validate_schedule(&strict).diagnostics;
        match found.iter().find(|found| found.rule == Rule::ER06) {
            Some(_) => {
                let names: Vec<String> =
                    caches.iter().map(|&cache| format!("`{}`", world.tensor_name(cache))).collect();
                Err(format!(
                    "a task reads of {} what the launch before left, and tasks change it; a program lets only the one task do both (R06)",
                    names.join(" or ")
                ))
            }
            None => Ok(()),
        }
    }

    /// The kind of buffer of a part.
    fn kind(&self, world: &World<'_>, part: Part) -> &'static str {
        let placed = &world.tensors[part.0.index()];
        let is_written = self.written.contains(&part);
        match (placed.kind, placed.init, is_written) {
            (Kind::Input, ..) => "IO_INPUT",
            (Kind::Weight, ..) => "WEIGHT",
            (Kind::Cache, ..) | (_, Init::Once, _) => "KV_CACHE",
            (_, Init::Launch, _) => "IO_INPUT",
            (Kind::Output, Init::Never, true) => "IO_OUTPUT",
            (_, Init::Never, _) => "ACTIVATION",
        }
    }
}

/// What has been written of a program.
struct Program {
    buffers: Vec<Value>,
    buffer_of: BTreeMap<Part, usize>,
    tasks: Vec<Value>,
    counters: usize,
    /// Of which queue a task is an SM.
    sms: BTreeMap<i128, usize>,
}

impl Program {
    fn new(world: &World<'_>, elements: &Elements) -> Result<Program, String> {
        let mut program = Program {
            buffers: Vec::new(),
            buffer_of: BTreeMap::new(),
            tasks: Vec::new(),
            counters: world.events.len(),
            sms: BTreeMap::new(),
        };
        program.buffer("what is written", "IO_INPUT");
        for &part in elements.read.union(&elements.written) {
            let name = format!("{} part {}", world.tensor_name(part.0), part.1);
            let buffer = program.buffer(&name, elements.kind(world, part));
            program.buffer_of.insert(part, buffer);
        }
        let mut last: BTreeMap<i128, Wait> = BTreeMap::new();
        for number in 0..world.tasks.len() {
            let task = &world.tasks[number];
            let next = program.sms.len();
            let sm = task.queue.map(|queue| *program.sms.entry(queue).or_insert(next));
            let ordered = task.queue.filter(|_| world.document.memory.queue);
            let mut before = ordered.and_then(|queue| last.get(&queue).copied());
            for phase in task.each_phase() {
                before = Some(program.phase(world, elements, phase, sm, before));
                if (program.tasks.len() + program.buffers.len()) as u64 > MOST {
                    return Err(format!("its program has more than {MOST} tasks and buffers"));
                }
            }
            if let (Some(queue), Some(before)) = (ordered, before) {
                last.insert(queue, before);
            }
        }
        Ok(program)
    }

    fn buffer(&mut self, name: &str, kind: &str) -> usize {
        let id = self.buffers.len();
        self.buffers.push(json!({"id": id, "name": name, "kind": kind, "dtype": "U8", "shape": [1]}));
        id
    }

    fn counter(&mut self) -> usize {
        self.counters += 1;
        self.counters - 1
    }

    fn task(
        &mut self,
        copies: Option<[usize; 2]>,
        waits: &[Wait],
        out: usize,
        sm: Option<usize>,
        label: &str,
    ) {
        let waits: Vec<Value> = waits
            .iter()
            .map(|(counter, threshold)| json!({"counter": counter, "threshold": threshold}))
            .collect();
        let (op, [inputs, outputs]) = match copies {
            Some([from, to]) => ("COPY", [vec![from], vec![to]]),
            None => ("NOP", [Vec::new(), Vec::new()]),
        };
        self.tasks.push(json!({"id": self.tasks.len(), "op": op, "inputs": inputs, "outputs": outputs,
                               "out_counter": out, "waits": waits, "sm": sm, "label": label}));
    }

    /// The tasks of a phase: those that read wait for what comes before it, those that write wait for them, and one for these, for which those
    /// wait that signal, and what comes after the phase.
    fn phase(
        &mut self,
        world: &World<'_>,
        elements: &Elements,
        phase: PhaseId,
        sm: Option<usize>,
        before: Option<Wait>,
    ) -> Wait {
        let label = format!("{} phase {}", world.task_name(world.task_of[phase.index()]), world.place(phase));
        let waits = world.waits.of(phase).iter().map(|wait| (wait.event.index(), wait.number));
        let mut after: Vec<Wait> = before.into_iter().chain(waits).collect();
        while after.len() > WAITS {
            let gate = self.counter();
            let groups: Vec<Vec<Wait>> = after.chunks(WAITS).map(<[Wait]>::to_vec).collect();
            groups.iter().for_each(|group| self.task(None, group, gate, sm, &label));
            after = vec![(gate, groups.len() as u64)];
        }
        for does in [Does::Read, Does::Write] {
            let like = world.accesses_in(phase).iter().filter(|access| access.does == does);
            let parts: BTreeSet<Part> = like.flat_map(|access| elements.of(world, access)).collect();
            let done = self.counter();
            for part in &parts {
                let Some(&buffer) = self.buffer_of.get(part) else { continue };
                let copies = match does {
                    Does::Read => [buffer, self.buffer("what is read", "ACTIVATION")],
                    Does::Write | Does::Add => [0, buffer],
                };
                self.task(Some(copies), &after, done, sm, &label);
            }
            if !parts.is_empty() {
                after = vec![(done, parts.len() as u64)];
            }
        }
        let done = self.counter();
        self.task(None, &after, done, sm, &label);
        for signal in world.signals.of(phase) {
            for _ in 0..signal.number {
                self.task(None, &[(done, 1)], signal.event.index(), sm, &label);
            }
        }
        (done, 1)
    }

    fn document(self, world: &World<'_>) -> Value {
        let counter = |id: usize| match world.events.get(id) {
            Some(event) => json!({"id": id, "note": event}),
            None => json!({"id": id}),
        };
        let counters: Vec<Value> = (0..self.counters).map(counter).collect();
        json!({"ir_version": "0.2.0", "abi_version": "0.2", "buffers": self.buffers, "counters": counters, "tasks": self.tasks})
    }
}
