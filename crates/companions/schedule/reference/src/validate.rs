//! The rules in the order in which they are judged (clause SCH-01).

use megakernel_ir::{Diagnostic, read_value};
use megakernel_order::happens_before::HappensBefore;
use megakernel_order::{Findings, Order, Verdict};
use megakernel_schedule::{Schedule, read, read_text};

use crate::order::{Before, signals};
use crate::world::World;
use crate::{contents, deadlock, expand, race, structure, warnings};

/// Reads a document.
///
/// # Errors
/// What is wrong with it, as its verdict.
pub fn load(document: &[u8]) -> Result<Schedule, Verdict> {
    // What is wrong with a text, only the tree of its values tells.
    if let Some(schedule) = std::str::from_utf8(document).ok().and_then(read_text) {
        return Ok(schedule);
    }
    let value = read_value(document).map_err(Verdict::of_unread)?;
    read(&value).map_err(|faults| Verdict::of_unread(faults.into_iter().map(Diagnostic::from).collect()))
}

/// Judges a document.
pub fn validate(document: &[u8]) -> Verdict {
    load(document).map_or_else(|verdict| verdict, |schedule| validate_schedule(&schedule))
}

/// Judges a schedule that has been read.
pub fn validate_schedule(schedule: &Schedule) -> Verdict {
    let mut findings = Findings::default();
    judge(schedule, true, &mut findings);
    Verdict::from(findings)
}

/// Whether a schedule breaks no rule of severity error.
pub fn accepts(schedule: &Schedule) -> bool {
    let mut findings = Findings::quiet();
    judge(schedule, false, &mut findings);
    findings.accepts()
}

/// The tasks of a schedule, repetition done; nothing if it breaks an ES rule.
pub fn world(schedule: &Schedule) -> Option<World<'_>> {
    expanded(schedule, &mut Findings::quiet())
}

/// The same, with what rules of structure find.
pub fn expanded<'d>(schedule: &'d Schedule, findings: &mut Findings) -> Option<World<'d>> {
    let placed = structure::check(schedule, findings);
    if findings.accepts() { expand::expand(schedule, placed, findings) } else { None }
}

/// Whether the wait at this place of a phase of a task is redundant (EW01) in each task that it stands for. The schedule is accepted.
pub fn is_redundant(schedule: &Schedule, [task, phase, place]: [usize; 3]) -> bool {
    let Some(world) = world(schedule) else { return false };
    let signals = signals(&world);
    let before = Before::new(&world, &signals);
    let graph = before.graph(&world);
    let Some(order) = Order::new(&graph) else { return false };
    let sums = warnings::sums(&world, &before, &signals, &HappensBefore::new(&graph, &order));
    world.tasks.iter().filter(|of| of.written == task).all(|of| {
        let index = world.waits.range(of.phase(phase)).start + place;
        sums[index] >= world.waits.all()[index].number
    })
}

fn judge(schedule: &Schedule, with_warnings: bool, findings: &mut Findings) {
    let Some(world) = expanded(schedule, findings) else { return };
    deadlock::check(&world, findings);
    if !findings.accepts() {
        return;
    }
    let signals = signals(&world);
    let before = Before::new(&world, &signals);
    let graph = before.graph(&world);
    // Without a deadlock there is an order: that of the run that finishes.
    let Some(order) = Order::new(&graph) else { return };
    let order = HappensBefore::new(&graph, &order);
    let storages = race::storages(&world, &order);
    let racing = race::check(&world, &order, &storages, findings);
    for (storage, _) in storages.iter().zip(racing).filter(|(_, racing)| !racing) {
        contents::check(&world, storage, findings);
    }
    if !with_warnings {
        return;
    }
    if findings.accepts() {
        warnings::redundant_waits(&world, &before, &signals, &order, findings);
    }
    warnings::dead_events(&world, &signals, findings);
}
