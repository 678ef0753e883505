use megakernel_ir::{Diagnostic, Rule};
use megakernel_task_graph::{EVENT_INVALID, TaskGraph, read_system, read_task_graph};

use super::thorough;
use super::*;

/// A tile: name, first element, number of elements.
type Tile = (&'static str, i64, i64);

/// `[type, dependent position or -1, trigger position or -1, reads, writes]`; END is at position 2.
struct Task(i64, i64, i64, &'static [Tile], &'static [Tile]);

fn tile(&(name, first, count): &Tile) -> String {
    format!(r#"{{"base_ptr":"{name}","data_type":930,"dims":[{count}],"offset":{first},"strides":[1]}}"#)
}

fn text(thresholds: &[i64], tasks: &[Task], rank: i64) -> String {
    let own = rank << 32;
    let event = |position: i64, tag: i64| {
        if position < 0 { EVENT_INVALID } else { tag | own | position }
    };
    let mut events =
        vec![r#"{"event_type":911,"first_task_id":0,"last_task_id":0,"num_triggers":1}"#.to_owned()];
    let last = tasks.len() + 2;
    events.push(format!(r#"{{"event_type":903,"first_task_id":2,"last_task_id":{last},"num_triggers":1}}"#));
    for (index, threshold) in thresholds.iter().enumerate() {
        let kind = if index == 0 { 910 } else { 900 };
        let mut waiting =
            tasks.iter().enumerate().filter(|(_, task)| task.1 == index as i64 + 2).map(|(id, _)| id + 2);
        let first = waiting.next().unwrap_or(0);
        let end = waiting.next_back().unwrap_or(first.wrapping_sub(1)).wrapping_add(1);
        events.push(format!(r#"{{"event_type":{kind},"first_task_id":{first},"last_task_id":{end},"num_triggers":{threshold}}}"#));
    }
    let task = |kind: i64, dependent: i64, trigger: i64, reads: &[Tile], writes: &[Tile]| {
        let tiles = |tiles: &[Tile]| tiles.iter().map(tile).collect::<Vec<_>>().join(",");
        format!(
            r#"{{"task_type":{kind},"variant_id":0,"dependent_event":{dependent},"trigger_event":{trigger},"inputs":[{}],"outputs":[{}]}}"#,
            tiles(reads),
            tiles(writes)
        )
    };
    let mut all =
        vec![task(0, EVENT_INVALID, EVENT_INVALID, &[], &[]), task(10, EVENT_INVALID, own | 1, &[], &[])];
    for &Task(kind, dependent, trigger, reads, writes) in tasks {
        // A copy triggers the event of the other one of two ranks.
        let trigger =
            if kind == 199 { 0x1e00_0000_0000_0000 | (1 - rank) << 32 | trigger } else { event(trigger, 0) };
        all.push(task(kind, event(dependent, 0), trigger, reads, writes));
    }
    format!(r#"{{"all_events":[{}],"all_tasks":[{}],"first_tasks":[]}}"#, events.join(","), all.join(","))
}

fn graph(thresholds: &[i64], tasks: &[Task]) -> Setup {
    let text = text(thresholds, tasks, 0);
    let graph: TaskGraph<'_> = read_task_graph(text.as_bytes()).expect("a graph");
    Setup::bare(&graph).expect("a setup")
}

/// Two ranks with the same tasks.
fn twins(thresholds: &[i64], tasks: &[Task]) -> Setup {
    let ranks = [0, 1].map(|rank| text(thresholds, tasks, rank)).join(",");
    let text = format!(r#"{{"ranks":[{ranks}]}}"#);
    Setup::new(&read_system(text.as_bytes()).expect("a system")).expect("a setup")
}

/// Explores in both ways.
fn explored(setup: &Setup) -> Faults {
    let compact = Compact::new(setup, ITERATIONS).expect("small");
    let found = Explorer::default().explore(&compact);
    if compact.instances <= 8 {
        assert_eq!(Faults { dead: found.dead, ..thorough::explore(&compact) }, found);
    }
    found
}

fn replayed(setup: &Setup, rule: Rule, tasks: &[u32]) -> Result<Outcome, NotReplayed> {
    let diagnostic = Diagnostic::new(rule, "", "").tasks(tasks.iter().map(|&task| task.into()));
    let found = replay(setup, &diagnostic)?;
    let mut machine = Machine::new(setup, ITERATIONS + 1);
    for &step in &found.steps {
        machine.step(step).expect("the steps are allowed");
    }
    Ok(found.outcome)
}

const X: Tile = ("x", 0, 8);

#[test]
fn a_chain_has_no_fault() {
    let setup = graph(&[1, 1], &[Task(101, -1, 3, &[], &[X]), Task(101, 3, 2, &[X], &[])]);
    let found = explored(&setup);
    assert!(found.is_empty(), "{:?}", found.names());
    assert_eq!(replayed(&setup, Rule::TR02, &[2, 3]), Err(NotReplayed::NoFault));
}

#[test]
fn two_tasks_that_nothing_orders_race() {
    let setup = graph(&[2], &[Task(101, -1, 2, &[], &[("x", 0, 5)]), Task(101, -1, 2, &[("x", 4, 4)], &[])]);
    let found = explored(&setup);
    assert_eq!(found.names(), ["read-write race"]);
    assert_eq!(found.read_write[1], 1);
    assert!(matches!(replayed(&setup, Rule::TR02, &[2, 3]), Ok(Outcome::Race { bits: (32, 40), .. })));
    let apart = graph(&[2], &[Task(101, -1, 2, &[], &[("x", 0, 4)]), Task(101, -1, 2, &[], &[("x", 4, 4)])]);
    assert!(explored(&apart).is_empty());
}

#[test]
fn an_attention_task_writes_its_caches() {
    let reads: &[Tile] = &[("q", 0, 1), X, ("v", 0, 1)];
    let setup = graph(&[2], &[Task(103, -1, 2, reads, &[]), Task(103, -1, 2, &[X], &[])]);
    assert_eq!(explored(&setup).names(), ["read-write race"]);
}

#[test]
fn counts_that_are_never_reached_are_a_deadlock() {
    let setup = graph(&[1, 2], &[Task(101, -1, 3, &[], &[]), Task(101, 3, 2, &[], &[])]);
    let found = explored(&setup);
    assert!(found.deadlock() && found.endless && found.queues);
    assert!(matches!(
        replayed(&setup, Rule::TD02, &[3]),
        Ok(Outcome::Deadlock { queues: false, stuck, .. }) if stuck.len() == 1
    ));
    let cycle = graph(&[1, 1, 1], &[Task(101, 3, 4, &[], &[]), Task(101, 4, 3, &[], &[])]);
    assert!(explored(&cycle).deadlock());
}

#[test]
fn descending_ids_are_a_deadlock_of_one_worker() {
    let setup = graph(&[1, 1], &[Task(101, 3, 2, &[], &[]), Task(101, -1, 3, &[], &[])]);
    let found = explored(&setup);
    assert_eq!(found.names(), ["deadlock (with one worker a rank)"]);
    assert!(matches!(
        replayed(&setup, Rule::TD04, &[2, 3]),
        Ok(Outcome::Deadlock { queues: true, stuck, .. }) if stuck.len() == 1
    ));
    assert_eq!(replayed(&setup, Rule::TD01, &[2]), Err(NotReplayed::NoFault));
}

#[test]
fn an_end_that_does_not_wait_loses_a_task() {
    let setup = graph(&[1], &[Task(101, -1, -1, &[], &[X]), Task(101, -1, 2, &[], &[])]);
    let found = explored(&setup);
    assert_eq!(found.names(), ["lost task", "write-write race"], "and it may meet itself");
    assert!(matches!(replayed(&setup, Rule::TD05, &[2]), Ok(Outcome::Lost(_))));
    let partial =
        graph(&[1, 1], &[Task(101, -1, 3, &[], &[]), Task(101, -1, 3, &[], &[]), Task(101, 3, 2, &[], &[])]);
    assert_eq!(explored(&partial).names(), ["lost task"]);
    assert!(matches!(replayed(&partial, Rule::TR01, &[4, 3]), Ok(Outcome::Early { .. })));
}

#[test]
fn what_is_overwritten_unread_is_dead() {
    let write = Task(101, -1, 3, &[], &[X]);
    let setup = graph(&[1, 1], &[write, Task(101, 3, 2, &[], &[("x", 2, 2)])]);
    let found = explored(&setup);
    assert_eq!(found.names(), ["dead write"]);
    assert!(matches!(replayed(&setup, Rule::TR05, &[2, 3]), Ok(Outcome::DeadWrite { bits: (16, 32), .. })));
    let in_place = Task(101, 3, 2, &[X], &[X]);
    assert!(explored(&graph(&[1, 1], &[Task(101, -1, 3, &[], &[X]), in_place])).is_empty());
    // Elements 2 and 3 are read, the others are not before the third task overwrites them.
    let chain: &[Task] = &[
        Task(101, -1, 3, &[], &[X]),
        Task(101, 3, 4, &[("x", 2, 2)], &[("x", 2, 2)]),
        Task(101, 4, 2, &[("x", 2, 2)], &[X]),
    ];
    let found = explored(&graph(&[1, 1, 1], chain));
    assert_eq!((found.dead[0], found.dead[1]), (4, 0));
}

const PART: Tile = ("part", 0, 4);
const SLOT: Tile = ("slot", 0, 4);

#[test]
fn ranks_that_wait_for_each_other_first_are_a_deadlock_of_one_worker() {
    let setup = twins(&[1, 1], &[Task(107, 3, 2, &[], &[]), Task(199, -1, 3, &[PART], &[SLOT])]);
    let found = explored(&setup);
    assert!(found.names().contains(&"deadlock (with one worker a rank)"));
    // Tasks 2 and 3 of rank 0; 6 and 7 are those of rank 1.
    assert!(matches!(replayed(&setup, Rule::TD04, &[2, 7]), Ok(Outcome::Deadlock { queues: true, .. })));
}

#[test]
fn a_rank_that_is_ahead_overwrites_what_is_not_read_yet() {
    let once: &[Task] = &[Task(199, -1, 3, &[PART], &[SLOT]), Task(107, 3, 2, &[SLOT], &[])];
    let setup = twins(&[1, 1], once);
    // The copy may even be overtaken by its next iteration, whose trigger then stands in for its own.
    assert_eq!(explored(&setup).names(), ["lost task", "read-write race", "write-write race"]);
    assert!(matches!(replayed(&setup, Rule::TX04, &[2, 2]), Ok(Outcome::Race { .. })));
    // The reduction on rank 1 in iteration 0, the copy of rank 0 in iteration 1.
    assert!(
        matches!(replayed(&setup, Rule::TX04, &[7, 2]), Ok(Outcome::Race { tasks, .. }) if tasks[1].iteration == 1)
    );
    // Twice is enough: nobody is through the second exchange before both are through the first.
    const BACK: Tile = ("back", 0, 4);
    let twice: &[Task] = &[
        Task(199, -1, 3, &[PART], &[SLOT]),
        Task(107, 3, 4, &[SLOT], &[]),
        Task(199, 4, 5, &[PART], &[BACK]),
        Task(107, 5, 2, &[BACK], &[]),
    ];
    let found = explored(&twins(&[1, 1, 1, 1], twice));
    assert!(found.is_empty(), "{:?}", found.names());
}

#[test]
fn a_bare_graph_gets_what_others_send_at_any_time() {
    let text = text(&[1, 1], &[Task(199, -1, 3, &[PART], &[SLOT]), Task(107, 3, 2, &[SLOT], &[])], 1);
    let setup = Setup::bare(&read_task_graph(text.as_bytes()).expect("a graph")).expect("a setup");
    assert_eq!(setup.tasks[0].trigger, None);
    assert!(!Explorer::default().explore(&Compact::new(&setup, 1).expect("small")).deadlock());
}

#[test]
fn what_does_not_fit_is_said() {
    let setup = graph(&[1], &[Task(101, -1, 2, &[], &[])]);
    assert!(matches!(replayed(&setup, Rule::TD05, &[1]), Err(NotReplayed::Invalid(_))));
    assert!(matches!(replayed(&setup, Rule::TR02, &[2]), Err(NotReplayed::Invalid(_))));
    assert_eq!(replayed(&setup, Rule::TB01, &[2]), Err(NotReplayed::NoRun));
    let text = text(&[1], &[Task(101, -1, 7, &[], &[])], 0);
    let dangling = read_task_graph(text.as_bytes()).expect("a graph");
    assert!(Setup::bare(&dangling).is_err());
}
