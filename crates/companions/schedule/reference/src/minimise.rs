//! `minimise`: which waits can go (clause SCH-14). What breaks a rule with some waits left out breaks one with more of them left out, so
//! that the waits are gone through once: as many as can go together, then the next one, which stays. Waits of which [`crate::needed`] knows that
//! they stay are not tried. Whether others can go, [`crate::required`] tells of a schedule of some thousand phases; of a larger one, a judgement.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use megakernel_ir::protocol::Answer;
use megakernel_order::Order;
use megakernel_order::happens_before::HappensBefore;
use megakernel_schedule::Schedule;
use serde_json::json;

use crate::ids::{EventId, PhaseId};
use crate::needed::needed;
use crate::order::{Before, signals};
use crate::required::Required;
use crate::validate::{accepts, is_redundant, load, validate_schedule, world};
use crate::warnings::come;

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
    let needed = needed(schedule);
    let open: Vec<Wait> = waits(schedule).into_iter().filter(|wait| !needed.contains(wait)).collect();
    let told = world(schedule)
        .as_ref()
        .and_then(Required::new)
        .map(|mut required| most(&open, |gone| required.holds_without(gone)));
    // A large one is judged anew, and not held beside what that takes.
    let gone = told.unwrap_or_else(|| most(&open, |gone| accepts(&without(schedule, gone))));
    let implied = implied(schedule, &gone);
    gone.iter().zip(implied).map(|(&wait, implied)| Dropped { wait, implied }).collect()
}

/// Judgements beyond one for each wait.
const MORE: usize = 8;

/// Of these waits as many as can go, the first ones first, where this judges whether some can. It judges once for each wait at most, and
/// [`MORE`] times: some are tried together only if what that may cost has been saved before.
fn most(waits: &[Wait], mut can_go: impl FnMut(&BTreeSet<Wait>) -> bool) -> BTreeSet<Wait> {
    let mut gone: BTreeSet<Wait> = BTreeSet::new();
    let and = |gone: &BTreeSet<Wait>, some: &[Wait]| -> BTreeSet<Wait> {
        gone.iter().chain(some).copied().collect()
    };
    // How many are tried at once: twice as many after a success, fewer after a failure.
    let (mut rest, mut size, mut saved) = (waits, 1, MORE);
    while !rest.is_empty() {
        // A failure among 2^n costs n judgements beyond the first.
        let some = &rest[..size.min(rest.len()).min(1 << saved.min(30))];
        let more = and(&gone, some);
        if can_go(&more) {
            (gone, rest, size) = (more, &rest[some.len()..], 2 * some.len());
            saved += some.len() - 1;
            continue;
        }
        // The first that stays: if the half before can go, it is in the other half, which need not be tried.
        let (mut low, mut high, mut judged) = (0, some.len(), 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let more = and(&gone, &some[low..middle]);
            judged += 1;
            if can_go(&more) {
                (gone, low) = (more, middle);
            } else {
                high = middle;
            }
        }
        (rest, size) = (&rest[high..], high.div_ceil(2));
        saved = saved + high - judged;
    }
    gone
}

/// All waits, in the order of the document.
pub fn waits(schedule: &Schedule) -> Vec<Wait> {
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
    let events: HashMap<&str, EventId> =
        world.event_ids().zip(&world.events).map(|(event, name)| (name.as_str(), event)).collect();
    // An event that nobody signals has none of what is waited for.
    let of = |&[task, phase, place]: &Wait| {
        let wait = schedule.tasks.get(task)?.phases.get(phase)?.waits.get(place)?;
        let at = world.tasks.partition_point(|of| of.written < task);
        let event = *events.get(schedule.name(wait.event))?;
        Some(((world.tasks.get(at)?.phase(phase), event), wait.number.unsigned_abs()))
    };
    let asked: Vec<_> = single.iter().map(of).collect();
    let known: Vec<(PhaseId, EventId)> = asked.iter().flatten().map(|(question, _)| *question).collect();
    let mut come = come(&signals, &order, &known).into_iter();
    let is_implied = |asked: Option<(_, u64)>| asked.is_some_and(|(_, count)| come.next() >= Some(count));
    asked.into_iter().map(is_implied).collect()
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
    fn as_many_go_as_one_by_one_and_nothing_is_judged_often() {
        let mut rng = megakernel_ir::prng::SplitMix64::new(20);
        let mut fewest = usize::MAX;
        for round in 0..400 {
            let waits: Vec<Wait> = (0..100).map(|task| [task, 0, 0]).collect();
            // Of each of these sets one has to stay.
            let sets = if round < 10 { round } else { rng.next_u64() % 120 };
            let members = 1 + round % 3;
            let sets: Vec<BTreeSet<Wait>> = (0..sets)
                .map(|_| (0..members).map(|_| [(rng.next_u64() % 100) as usize, 0, 0]).collect())
                .collect();
            let can_go = |gone: &BTreeSet<Wait>| !sets.iter().any(|set| set.is_subset(gone));
            let mut slow = BTreeSet::new();
            for &wait in &waits {
                slow.insert(wait);
                if !can_go(&slow) {
                    slow.remove(&wait);
                }
            }
            let mut judged = 0;
            let quick = most(&waits, |gone| {
                judged += 1;
                can_go(gone)
            });
            assert_eq!(quick, slow, "{sets:?}");
            assert!(judged <= waits.len() + MORE, "{judged} for {sets:?}");
            fewest = fewest.min(judged);
        }
        assert_eq!(fewest, 7, "1 + 2 + 4 + ... + 64 is more than 100");
    }

    #[test]
    fn a_wait_that_is_known_to_stay_cannot_go() {
        let writes = |event: &str| {
            format!(r#"{{"phases": [{{"writes": [["x", null]], "signals": [["{event}", 1]]}}]}}"#)
        };
        let reads =
            |waits: &str| format!(r#"{{"phases": [{{"waits": [{waits}], "reads": [["x", null]]}}]}}"#);
        let known = |tasks: &[String]| {
            let document =
                format!(r#"{{"tensors": {{"x": {{"shape": [4]}}}}, "tasks": [{}]}}"#, tasks.join(", "));
            let schedule = load(document.as_bytes()).expect("a schedule");
            assert!(accepts(&schedule), "{document}");
            let known = needed(&schedule);
            for wait in &known {
                assert!(!accepts(&without(&schedule, &BTreeSet::from([*wait]))), "{document}");
            }
            known.iter().map(pointer).collect::<Vec<_>>()
        };
        let first = "/tasks/1/phases/0/waits/0";
        assert_eq!(known(&[writes("e"), reads(r#"["e", 1]"#)]), [first]);
        // Either can go.
        let twice = r#"{"phases": [{"writes": [["x", null]], "signals": [["e", 1], ["f", 1]]}]}"#.to_owned();
        assert!(known(&[twice, reads(r#"["e", 1], ["f", 1]"#)]).is_empty());
        // What it waits for, it does not touch.
        let idle = r#"{"phases": [{"signals": [["f", 1]]}]}"#.to_owned();
        assert_eq!(known(&[writes("e"), reads(r#"["e", 1], ["f", 1]"#), idle]), [first]);
        // The second reader signals what the first waits for, and was before.
        let waits = r#"{"phases": [{"waits": [["e", 1]], "reads": [["x", null]], "signals": [["f", 1]]}]}"#
            .to_owned();
        assert_eq!(known(&[writes("e"), waits, reads(r#"["e", 1], ["f", 1]"#)]), [first]);
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
