//! `minimise`: which waits can go (clause SCH-14). What breaks a rule with some waits left out breaks one with more of them left out, so
//! that the waits are gone through once: as many as can go together, then the next one, which stays.

use std::collections::BTreeSet;

use megakernel_ir::protocol::Answer;
use megakernel_schedule::Schedule;
use serde_json::json;

use crate::validate::{accepts, is_redundant, load, validate_schedule};

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
    gone.iter().map(|&wait| Dropped { wait, implied: is_implied(schedule, &gone, wait) }).collect()
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

/// Whether a wait is redundant in all of its tasks, when the other ones have gone.
fn is_implied(schedule: &Schedule, gone: &BTreeSet<Wait>, wait: Wait) -> bool {
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
