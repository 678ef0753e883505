//! Which task stands in which queue, and in what order tasks can run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use megakernel_ir::model::Program;
use megakernel_ir::{CounterId, TaskId};

use megakernel_ir::prng::SplitMix64;

/// Blocks over which tasks without an SM are spread, where that can be done.
const BLOCKS: usize = 4;

/// Queues for every task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// An order in which the tasks can run; shorter than the list if some never start.
    pub order: Vec<TaskId>,
    /// By task: its queue, below `num_sms`.
    pub sm: Vec<i32>,
    /// Number of queues.
    pub num_sms: usize,
}

/// Plans a launch. SMs that the program names keep their queues, numbered without gaps. A task without an SM goes to one
/// of a few more queues, in which it does not stand before a task that it needs: so a program that cannot deadlock does
/// not deadlock for being placed. With `random`, another of these plans each time.
pub fn plan(program: &Program<'_>, mut random: Option<&mut SplitMix64>) -> Plan {
    let given: BTreeMap<i64, i32> = program.tasks.iter().filter_map(|task| Some((task.sm?, 0))).collect();
    let given: BTreeMap<i64, i32> = given.into_keys().zip(0..).collect();
    let order = order(program, random.as_deref_mut());
    let most = random.as_deref_mut().map_or(BLOCKS, |random| 1 + random.index(2 * BLOCKS));
    let mut sm = vec![None; program.tasks.len()];
    let mut last: Vec<TaskId> = Vec::new();
    let mut turn = 0;
    // Tasks that never start come last: where they stand does not matter, but they must stand somewhere.
    let mut started = vec![false; program.tasks.len()];
    for &task in &order {
        if let Some(started) = started.get_mut(task.index()) {
            *started = true;
        }
    }
    let all = TaskId::range(0..program.tasks.len());
    let rest = all.zip(&started).filter(|(_, started)| !**started).map(|(task, _)| task);
    for task in order.iter().copied().chain(rest) {
        let (record, place) = (program.tasks.get(task.index()), sm.get_mut(task.index()));
        let Some((record, place)) = record.zip(place) else { continue };
        if let Some(number) = record.sm.and_then(|sm| given.get(&sm)) {
            *place = Some(*number);
            continue;
        }
        // Queues are in the order of ids, and ends are in the order of running.
        let open = last.len();
        let fits = |queue: &usize| last.get(*queue).is_none_or(|last| *last < task);
        let queue = match random.as_deref_mut() {
            Some(random) => {
                let fitting: Vec<usize> =
                    (0..open).filter(fits).chain((open < most).then_some(open)).collect();
                fitting.get(random.index(fitting.len())).copied().unwrap_or(open)
            }
            None if open < most => open,
            None => (turn..turn + open).map(|queue| queue % open).find(fits).unwrap_or(open),
        };
        turn = queue + 1;
        match last.get_mut(queue) {
            Some(last) => *last = task,
            None => last.push(task),
        }
        *place = Some((given.len() + queue) as i32);
    }
    let num_sms = given.len() + last.len();
    Plan { order, sm: sm.into_iter().map(Option::unwrap_or_default).collect(), num_sms }
}

/// Runs the counters and the queues of the program, lowest id first, or in any order that they permit.
fn order(program: &Program<'_>, random: Option<&mut SplitMix64>) -> Vec<TaskId> {
    let n = program.tasks.len();
    let mut rank: Vec<usize> = (0..n).collect();
    if let Some(random) = random {
        random.shuffle(&mut rank);
    }
    let ranked = |task: TaskId| Reverse((rank.get(task.index()).copied().unwrap_or(task.index()), task));
    let mut queues: BTreeMap<i64, Vec<TaskId>> = BTreeMap::new();
    let mut waiters: Vec<Vec<(i64, TaskId)>> = vec![Vec::new(); program.counters.len()];
    let mut missing = vec![0usize; n];
    for (id, task) in program.tasks_by_id() {
        if let Some(sm) = task.sm {
            queues.entry(sm).or_default().push(id);
        }
        for wait in task.waits.iter().filter(|wait| wait.threshold > 0) {
            if let Some(missing) = missing.get_mut(id.index()) {
                *missing += 1;
            }
            if let Some(waiters) = waiters.get_mut(CounterId::stated(wait.counter).index()) {
                waiters.push((wait.threshold, id));
            }
        }
    }
    // The next one is the last of each list.
    queues.values_mut().for_each(|queue| queue.reverse());
    waiters.iter_mut().for_each(|waiters| waiters.sort_by_key(|(threshold, _)| Reverse(*threshold)));
    let mut counts = vec![0i64; program.counters.len()];
    let mut ready: BinaryHeap<Reverse<(usize, TaskId)>> = BinaryHeap::new();
    let at_head = |queues: &BTreeMap<i64, Vec<TaskId>>, task: TaskId| {
        let sm = program.tasks.get(task.index()).and_then(|task| task.sm);
        sm.is_none_or(|sm| queues.get(&sm).and_then(|queue| queue.last()) == Some(&task))
    };
    let is_ready = |missing: &[usize], task: TaskId| missing.get(task.index()) == Some(&0);
    let all = TaskId::range(0..n);
    ready.extend(all.filter(|&task| is_ready(&missing, task) && at_head(&queues, task)).map(ranked));
    let mut order = Vec::with_capacity(n);
    while let Some(Reverse((_, task))) = ready.pop() {
        order.push(task);
        let Some(record) = program.tasks.get(task.index()) else { continue };
        if let Some(queue) = record.sm.and_then(|sm| queues.get_mut(&sm)) {
            queue.pop();
            ready.extend(queue.last().filter(|&&next| is_ready(&missing, next)).map(|&next| ranked(next)));
        }
        let counter = CounterId::stated(record.out_counter).index();
        let (Some(count), Some(waiters)) = (counts.get_mut(counter), waiters.get_mut(counter)) else {
            continue;
        };
        *count += 1;
        while let Some((_, waiter)) = waiters.pop_if(|(threshold, _)| *threshold <= *count) {
            let Some(missing) = missing.get_mut(waiter.index()) else { continue };
            *missing -= 1;
            if *missing == 0 && at_head(&queues, waiter) {
                ready.push(ranked(waiter));
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tasks as `sm:waits`, each with a counter of its own.
    fn planned(tasks: &[(&str, &[usize])]) -> Plan {
        planned_with(tasks, None)
    }

    fn ids(tasks: &[u32]) -> Vec<TaskId> {
        tasks.iter().copied().map(TaskId::from).collect()
    }

    fn planned_with(tasks: &[(&str, &[usize])], random: Option<&mut SplitMix64>) -> Plan {
        let list = |items: Vec<String>| items.join(",");
        let counters = list((0..tasks.len()).map(|id| format!(r#"{{"id":{id}}}"#)).collect());
        let each = tasks.iter().enumerate().map(|(id, (sm, waits))| {
            let waits = list(waits.iter().map(|c| format!(r#"{{"counter":{c},"threshold":1}}"#)).collect());
            format!(r#"{{"id":{id},"op":"NOP","inputs":[],"outputs":[],"out_counter":{id},"sm":{sm},"waits":[{waits}]}}"#)
        });
        let text = format!(
            r#"{{"ir_version":"0.2.0","abi_version":"0.2","buffers":[],"counters":[{counters}],"tasks":[{}]}}"#,
            list(each.collect())
        );
        let program = megakernel_ir::read(text.as_bytes()).unwrap_or_else(|found| unreachable!("{found:?}"));
        plan(&program, random)
    }

    #[test]
    fn tasks_without_an_sm_are_spread() {
        let found = planned(&[
            ("null", &[]),
            ("null", &[0]),
            ("null", &[1]),
            ("null", &[2]),
            ("null", &[3]),
            ("null", &[4]),
        ]);
        assert_eq!(
            (found.order, found.sm, found.num_sms),
            (ids(&[0, 1, 2, 3, 4, 5]), vec![0, 1, 2, 3, 0, 1], 4)
        );
    }

    #[test]
    fn given_sms_keep_their_queues() {
        let found = planned(&[("131", &[2]), ("7", &[]), ("null", &[]), ("131", &[])]);
        assert_eq!((found.order, found.sm, found.num_sms), (ids(&[1, 2, 0, 3]), vec![1, 0, 2, 1], 3));
    }

    #[test]
    fn a_list_that_runs_backwards_does_not_deadlock() {
        let tasks: Vec<(&str, Vec<usize>)> =
            (0..9).map(|id| ("null", if id < 8 { vec![id + 1] } else { vec![] })).collect();
        let tasks: Vec<(&str, &[usize])> = tasks.iter().map(|(sm, waits)| (*sm, waits.as_slice())).collect();
        let found = planned(&tasks);
        assert_eq!((found.order, found.num_sms), (ids(&[8, 7, 6, 5, 4, 3, 2, 1, 0]), 9));
    }

    #[test]
    fn what_never_starts_stands_somewhere() {
        let found = planned(&[("null", &[1]), ("null", &[0]), ("null", &[])]);
        assert_eq!((found.order, found.sm), (ids(&[2]), vec![1, 2, 0]));
    }

    #[test]
    fn random_plans_differ_and_never_deadlock() {
        // A diamond on one SM and off it, listed backwards in part.
        let tasks: &[(&str, &[usize])] = &[
            ("null", &[2]),
            ("3", &[2]),
            ("null", &[]),
            ("null", &[0, 1]),
            ("3", &[3]),
            ("null", &[3]),
            ("null", &[4, 5]),
        ];
        let mut random = SplitMix64::new(1);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let found = planned_with(tasks, Some(&mut random));
            let at = |task: usize| {
                found.order.iter().position(|other| other.index() == task).unwrap_or(usize::MAX)
            };
            assert_eq!(found.order.len(), tasks.len());
            for (task, (sm, waits)) in tasks.iter().enumerate() {
                assert!(waits.iter().all(|before| at(*before) < at(task)), "{found:?}");
                assert_eq!(*sm == "3", found.sm[task] == 0, "{found:?}");
                // Each queue is in the order of ids, and no later task of it runs first.
                let behind = (task + 1..tasks.len()).filter(|other| found.sm[*other] == found.sm[task]);
                assert!(behind.into_iter().all(|other| at(task) < at(other)), "{found:?}");
            }
            seen.insert(found.sm);
        }
        assert!(seen.len() > 20, "{} placements", seen.len());
    }
}
