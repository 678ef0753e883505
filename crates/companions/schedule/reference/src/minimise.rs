//! `minimise`: which waits can go (clause SCH-14). What breaks a rule with some waits left out breaks one with more of them left out, so
//! that the waits are gone through once: as many as can go together, then the next one, which stays.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use megakernel_ir::TaskId;
use megakernel_ir::protocol::Answer;
use megakernel_order::Order;
use megakernel_order::happens_before::{HappensBefore, Question};
use megakernel_schedule::Schedule;
use serde_json::json;

use crate::order::{Before, signals};
use crate::validate::{accepts, is_redundant, load, validate_schedule, world};

/// A wait of the document: its task, its phase and its place.
pub type Wait = [usize; 3];

/// A wait that can go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Which one.
    pub wait: Wait,
    /// Whether it would be redundant (EW01) beside those that stay.
    pub implied: bool,
}

/// The pointer of a wait.
pub fn pointer([task, phase, place]: &Wait) -> String {
    format!("/tasks/{task}/phases/{phase}/waits/{place}")
}

/// Answers a request.
pub fn minimise(document: &[u8]) -> Answer {
    let schedule = match load(document) {
        Ok(schedule) => schedule,
        Err(verdict) => return verdict.into(),
    };
    let verdict = validate_schedule(&schedule);
    if !verdict.accepts() {
        return verdict.into();
    }
    let dropped = minimal(&schedule);
    let entry = |dropped: &Dropped| json!({"wait": pointer(&dropped.wait), "implied": dropped.implied});
    let list: Vec<_> = dropped.iter().map(entry).collect();
    Answer::Accept { diagnostics: verdict.diagnostics, document: Some(json!({"dropped": list}).to_string()) }
}

/// The waits that can go together from a schedule that is accepted; of the others none can. In the order of the document.
pub fn minimal(schedule: &Schedule) -> Vec<Dropped> {
    let all = waits(schedule);
    let mut gone: BTreeSet<Wait> = BTreeSet::new();
    let mut rest = &all[..];
    // How many are tried at once: twice as many after a success, half as many after a failure. One that fails alone stays.
    let mut size = 1;
    while !rest.is_empty() {
        let (some, later) = rest.split_at(size.min(rest.len()));
        let mut more = gone.clone();
        more.extend(some);
        if accepts(&without(schedule, &more)) {
            (gone, rest) = (more, later);
            size *= 2;
        } else if some.len() == 1 {
            rest = later;
        } else {
            size = some.len() / 2;
        }
    }
    let implied = implied(schedule, &gone);
    gone.iter().zip(implied).map(|(&wait, implied)| Dropped { wait, implied }).collect()
}

fn waits(schedule: &Schedule) -> Vec<Wait> {
    let phases = schedule.tasks.iter().enumerate().flat_map(|(task, record)| {
        record.phases.iter().enumerate().map(move |(phase, record)| (task, phase, record.waits.len()))
    });
    phases.flat_map(|(task, phase, waits)| (0..waits).map(move |place| [task, phase, place])).collect()
}

/// The schedule without some of its waits.
pub fn without(schedule: &Schedule, gone: &BTreeSet<Wait>) -> Schedule {
    let mut left = schedule.clone();
    for &[task, phase, place] in gone.iter().rev() {
        if let Some(phase) = left.tasks.get_mut(task).and_then(|task| task.phases.get_mut(phase)) {
            phase.waits.remove(place);
        }
    }
    left
}

/// Of each of these waits, whether it is redundant in all of its tasks when the other ones have gone. What comes before the phase of a task
/// without its wait is what comes before it when all have gone, so that one order tells of all of them. One of a repeated task is looked at by
/// itself, since the same wait of another of its tasks stays.
fn implied(schedule: &Schedule, gone: &BTreeSet<Wait>) -> Vec<bool> {
    let is_repeated = |task: usize| schedule.tasks.get(task).is_some_and(|task| task.repeat.is_some());
    let mut implied: BTreeMap<Wait, bool> = BTreeMap::new();
    implied.extend(
        gone.iter().filter(|wait| is_repeated(wait[0])).map(|&wait| (wait, alone(schedule, gone, wait))),
    );
    let single: Vec<Wait> = gone.iter().copied().filter(|wait| !is_repeated(wait[0])).collect();
    implied.extend(single.iter().copied().zip(together(schedule, gone, &single)));
    implied.into_values().collect()
}

/// Of waits of tasks that are not repeated.
fn together(schedule: &Schedule, gone: &BTreeSet<Wait>, single: &[Wait]) -> Vec<bool> {
    let none = vec![false; single.len()];
    let left = without(schedule, gone);
    let Some(world) = world(&left) else { return none };
    let signals = signals(&world);
    let before = Before::new(&world, &signals);
    let graph = before.graph(&world);
    let Some(order) = Order::new(&graph) else { return none };
    let order = HappensBefore::new(&graph, &order);
    let events: HashMap<&str, usize> =
        world.events.iter().enumerate().map(|(event, name)| (name.as_str(), event)).collect();
    // What is still to come before the phase of each wait. And for each question, whose it is, and the amount.
    let mut lacking: Vec<u64> = Vec::with_capacity(single.len());
    let (mut questions, mut whose) = (Vec::new(), Vec::new());
    for (index, &[task, phase, place]) in single.iter().enumerate() {
        let wait = schedule.tasks.get(task).and_then(|task| task.phases.get(phase)?.waits.get(place));
        lacking.push(wait.map_or(u64::MAX, |wait| wait.number.unsigned_abs()));
        let at = world.tasks.partition_point(|of| (of.written as usize) < task);
        let (Some(wait), Some(of)) = (wait, world.tasks.get(at)) else { continue };
        let later = TaskId::from(of.phases.start + phase as u32);
        let event = events.get(schedule.names[wait.event as usize].as_str());
        for &(earlier, amount) in event.map_or(&[][..], |&event| &signals[event]) {
            questions.push(Question { earlier: earlier.into(), later });
            whose.push((index, amount));
        }
    }
    for (_, (of, amount)) in order.answer(&questions).into_iter().zip(whose).filter(|(answer, _)| *answer) {
        lacking[of] = lacking[of].saturating_sub(amount);
    }
    lacking.into_iter().map(|lacking| lacking == 0).collect()
}

/// Of one wait.
fn alone(schedule: &Schedule, gone: &BTreeSet<Wait>, wait: Wait) -> bool {
    let mut others = gone.clone();
    others.remove(&wait);
    let [task, phase, place] = wait;
    let moved = others.range([task, phase, 0]..wait).count();
    is_redundant(&without(schedule, &others), [task, phase, place - moved])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(document: &str) -> Vec<(String, bool)> {
        let schedule = load(document.as_bytes()).expect("a schedule");
        assert!(accepts(&schedule));
        minimal(&schedule).iter().map(|dropped| (pointer(&dropped.wait), dropped.implied)).collect()
    }

    #[test]
    fn of_two_waits_for_one_task_one_stays() {
        let document = r#"{"tensors": {"x": {"shape": [4]}}, "tasks": [
            {"phases": [{"writes": [["x", null]], "signals": [["e", 1], ["f", 1]]}]},
            {"phases": [{"waits": [["e", 1], ["f", 1]], "reads": [["x", null]]}]},
            {"phases": [{"waits": [["f", 1]]}]}]}"#;
        assert_eq!(
            dropped(document),
            [("/tasks/1/phases/0/waits/0".to_owned(), true), ("/tasks/2/phases/0/waits/0".to_owned(), false)]
        );
    }

    #[test]
    fn what_is_implied_by_one_pass_is_what_each_alone_says() {
        // Chains in which each wait is implied by the one before it, next to tasks that share nothing.
        let task = |at: usize| {
            let waits: Vec<String> =
                (at.saturating_sub(3)..at).map(|to| format!(r#"["e{to}", 1]"#)).collect();
            let reads = (0..at % 3).map(|to| format!(r#"["x{}", null]"#, at - 1 - to)).collect::<Vec<_>>();
            format!(
                r#"{{"phases": [{{"waits": [{}], "reads": [{}], "writes": [["x{at}", null]], "signals": [["e{at}", 1], ["all", 1]]}}]}}"#,
                waits.join(", "),
                reads.join(", ")
            )
        };
        let tasks: Vec<String> = (0..9).map(task).collect();
        let tensors: Vec<String> = (0..9).map(|at| format!(r#""x{at}": {{"shape": [1]}}"#)).collect();
        let document = format!(
            r#"{{"tensors": {{{}}}, "tasks": [{}, {{"phases": [{{"waits": [["all", 8]]}}, {{"waits": [["all", 8], ["e3", 1]]}}]}},
            {{"phases": [{{"waits": [["all", 9]], "signals": [["r", 1]]}}], "repeat": {{"times": 2}}}}]}}"#,
            tensors.join(", "),
            tasks.join(", ")
        );
        let schedule = load(document.as_bytes()).expect("a schedule");
        assert!(accepts(&schedule));
        let found = minimal(&schedule);
        let gone: BTreeSet<Wait> = found.iter().map(|dropped| dropped.wait).collect();
        for dropped in &found {
            assert_eq!(dropped.implied, alone(&schedule, &gone, dropped.wait), "{}", pointer(&dropped.wait));
        }
        let implied = found.iter().filter(|dropped| dropped.implied).count();
        assert!(implied >= 3 && found.len() - implied > 3, "{implied} of {}", found.len());
    }

    #[test]
    fn many_waits_go_at_once_and_those_between_them_stay() {
        // Nine waits for a task that writes nothing, and one for the task that does, at each place.
        for place in 0..10 {
            let wait = |at: usize| if at == place { r#"["x", 1]"# } else { r#"["e", 1]"# };
            let waits: Vec<&str> = (0..10).map(wait).collect();
            let document = format!(
                r#"{{"tensors": {{"x": {{"shape": [4]}}}}, "tasks": [
                {{"phases": [{{"writes": [["x", null]], "signals": [["x", 1]]}}]}},
                {{"phases": [{{"signals": [["e", 1]]}}]}},
                {{"phases": [{{"waits": [{}], "reads": [["x", null]]}}]}}]}}"#,
                waits.join(", ")
            );
            let found = dropped(&document);
            assert_eq!(found.len(), 9, "{place}");
            assert!(
                !found.iter().any(|(at, _)| *at == format!("/tasks/2/phases/0/waits/{place}")),
                "{place}"
            );
        }
    }
}
