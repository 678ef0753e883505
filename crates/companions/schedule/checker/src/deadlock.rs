//! The rules ED, by one run; and EW02.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::Rule;
use megakernel_ir::diagnostic::pointer_token;

use crate::Findings;
use crate::parts::World;

/// What breaks a rule; and the phases in the order of a run.
pub fn errors(world: &World<'_>) -> (Findings, Vec<usize>) {
    let mut found = Findings::new();
    for phase in &world.phases {
        for (event, count, pointer) in &phase.waits {
            let total = world.total(event);
            if total == 0 {
                found.insert((Rule::ED01, pointer.clone()));
            } else if *count > total {
                found.insert((Rule::ED02, pointer.clone()));
            }
            let known = world.schedule.events.iter().find(|known| world.schedule.name(known.name) == *event);
            let period = known.and_then(|known| known.period);
            if total != 0 && period.is_some_and(|period| i128::from(period) != total) {
                found.insert((Rule::ED05, format!("/events/{}/period", pointer_token(event))));
            }
        }
    }
    for (queue, phases) in &world.tasks {
        if queue.is_some_and(|queue| !world.is_in_order(queue)) {
            let late = phases.iter().skip(1).flat_map(|&phase| &world.phases[phase].waits);
            found.extend(late.map(|(_, _, pointer)| (Rule::ED06, pointer.clone())));
        }
    }
    let (run, stuck) = go(world, false);
    if let Some(pointer) = stuck {
        found.insert((Rule::ED03, pointer));
        return (found, run);
    }
    if found.iter().any(|(rule, _)| *rule == Rule::ED06) {
        return (found, run);
    }
    let (run, stuck) = go(world, true);
    found.extend(stuck.map(|pointer| (Rule::ED04, pointer)));
    (found, run)
}

/// Takes steps for as long as there are some. Gives them, and the first wait that stands for ever.
fn go(world: &World<'_>, with_queues: bool) -> (Vec<usize>, Option<String>) {
    let mut counts: BTreeMap<&str, i128> = BTreeMap::new();
    let mut done = vec![0; world.tasks.len()];
    let mut run = Vec::new();
    loop {
        let mut standing = None;
        let mut held = BTreeSet::new();
        let before = run.len();
        for (task, (queue, phases)) in world.tasks.iter().enumerate() {
            let queue = queue.filter(|&queue| with_queues && world.is_in_order(queue));
            if queue.is_some_and(|queue| held.contains(&queue)) {
                continue;
            }
            while done[task] < phases.len() {
                let phase = &world.phases[phases[done[task]]];
                let ends = |(event, count, _): &&(String, i128, String)| {
                    *count > world.total(event) || counts.get(event.as_str()).copied().unwrap_or(0) >= *count
                };
                if let Some((_, _, pointer)) = phase.waits.iter().find(|wait| !ends(wait)) {
                    standing = standing.or(Some(pointer.clone()));
                    held.extend(queue);
                    break;
                }
                for (event, amount, _) in &phase.signals {
                    *counts.entry(event).or_default() += amount;
                }
                run.push(phases[done[task]]);
                done[task] += 1;
            }
        }
        if run.len() == before {
            return (run, standing);
        }
    }
}

/// EW02.
pub fn dead_events(world: &World<'_>) -> Findings {
    let waited: BTreeSet<&str> =
        world.phases.iter().flat_map(|phase| &phase.waits).map(|(event, ..)| event.as_str()).collect();
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    for (event, _, pointer) in world.phases.iter().flat_map(|phase| &phase.signals) {
        first.entry(event).or_insert(pointer);
    }
    let dead = first.into_iter().filter(|(event, _)| !waited.contains(event));
    dead.map(|(_, pointer)| (Rule::EW02, pointer.to_owned())).collect()
}
