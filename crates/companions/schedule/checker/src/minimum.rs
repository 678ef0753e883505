//! Whether an answer to `minimise` is right (clause SCH-14).

use std::collections::BTreeSet;

use megakernel_ir::read_value;
use megakernel_ir::rule::Severity;
use megakernel_schedule::{Schedule, read};
use serde_json::Value;

use crate::deadlock;
use crate::judge_schedule;
use crate::order::Order;
use crate::parts::World;

/// A wait of the document: its task, its phase and its place.
type Wait = [usize; 3];

/// Judges an answer to a schedule.
///
/// # Errors
/// What is wrong, as a sentence.
pub fn minimal(document: &[u8], answer: &str) -> Result<(), String> {
    let value = read_value(document).map_err(|_| "the schedule of the case cannot be read".to_owned())?;
    let schedule = read(&value).map_err(|_| "the schedule of the case is none".to_owned())?;
    let answer: Value =
        serde_json::from_str(answer).map_err(|cause| format!("the document is no JSON: {cause}"))?;
    let listed =
        answer.get("dropped").and_then(Value::as_array).ok_or("the document has no array `dropped`")?;
    let all = waits(&schedule);
    let mut dropped: Vec<(Wait, bool)> = Vec::new();
    for entry in listed {
        let text =
            entry.get("wait").and_then(Value::as_str).ok_or("an entry of `dropped` has no string `wait`")?;
        let implied = entry
            .get("implied")
            .and_then(Value::as_bool)
            .ok_or("an entry of `dropped` has no boolean `implied`")?;
        let wait = all
            .iter()
            .find(|wait| pointer(wait) == text)
            .ok_or_else(|| format!("{text} is no wait of the schedule"))?;
        if dropped.iter().any(|(known, _)| known == wait) {
            return Err(format!("{text} is listed twice"));
        }
        dropped.push((*wait, implied));
    }
    let gone: BTreeSet<Wait> = dropped.iter().map(|(wait, _)| *wait).collect();
    if let Some((rule, at)) = broken(&without(&schedule, &gone))? {
        return Err(format!("without the waits of `dropped`, {rule} is broken at {at}"));
    }
    for wait in all.iter().filter(|wait| !gone.contains(*wait)) {
        let mut more = gone.clone();
        more.insert(*wait);
        if broken(&without(&schedule, &more))?.is_none() {
            return Err(format!("{} can go too", pointer(wait)));
        }
    }
    for (wait, implied) in dropped {
        let mut fewer = gone.clone();
        fewer.remove(&wait);
        if is_implied(&without(&schedule, &fewer), wait, &fewer)? != implied {
            return Err(format!("{}: `implied` is {implied}", pointer(&wait)));
        }
    }
    Ok(())
}

fn pointer([task, phase, place]: &Wait) -> String {
    format!("/tasks/{task}/phases/{phase}/waits/{place}")
}

fn waits(schedule: &Schedule) -> Vec<Wait> {
    let mut all = Vec::new();
    for (task, record) in schedule.tasks.iter().enumerate() {
        for (phase, record) in record.phases.iter().enumerate() {
            all.extend((0..record.waits.len()).map(|place| [task, phase, place]));
        }
    }
    all
}

fn without(schedule: &Schedule, gone: &BTreeSet<Wait>) -> Schedule {
    let mut left = schedule.clone();
    for (task, record) in left.tasks.iter_mut().enumerate() {
        for (phase, record) in record.phases.iter_mut().enumerate() {
            let mut place = 0;
            record.waits.retain(|_| {
                place += 1;
                !gone.contains(&[task, phase, place - 1])
            });
        }
    }
    left
}

/// A rule that rejects it.
fn broken(schedule: &Schedule) -> Result<Option<(megakernel_ir::Rule, String)>, String> {
    let found = judge_schedule(schedule)
        .map_err(|_| "the schedule of the case is too large to be judged".to_owned())?;
    Ok(found.into_iter().find(|(rule, _)| rule.severity() == Severity::Error))
}

/// Whether a wait is redundant in each of its tasks, by the sentence of EW01. `gone` has been left out already.
fn is_implied(schedule: &Schedule, wait: Wait, gone: &BTreeSet<Wait>) -> Result<bool, String> {
    let [task, phase, place] = wait;
    let moved = gone.range([task, phase, 0]..wait).count();
    let world =
        World::new(schedule).map_err(|_| "the schedule of the case is too large to be judged".to_owned())?;
    let (_, run) = deadlock::errors(&world);
    let redundant = Order::new(&world, &run).redundant(&world);
    let times = schedule.tasks.get(task).and_then(|task| task.repeat).map_or(1, |repeat| repeat.times);
    let count = redundant.get(&pointer(&[task, phase, place - moved])).copied().unwrap_or(0);
    Ok(i64::try_from(count) == Ok(times))
}
