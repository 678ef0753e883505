//! How far tasks came, where the kernel does not say it: a VM that is not ours has nothing but counters.

use megakernel_abi::InstructionRecord;

use crate::device::TaskState;

/// Works the queues through as far as the counters tell. Where tasks of several queues share a counter, it may take one
/// for the other.
pub fn derive(instructions: &[InstructionRecord], counters: &[u32]) -> Vec<TaskState> {
    let counter = |id: i32| usize::try_from(id).ok();
    let count = |id: i32| counter(id).and_then(|id| counters.get(id)).copied().unwrap_or(0);
    let satisfied = |record: &InstructionRecord| {
        let waits = record.wait_counter.iter().zip(&record.wait_threshold);
        waits
            .take(usize::try_from(record.n_waits).unwrap_or(0))
            .all(|(id, t)| i64::from(count(*id)) >= i64::from(*t))
    };
    let mut states = vec![TaskState::NotStarted; instructions.len()];
    let mut unclaimed = counters.to_vec();
    let queues = instructions.iter().map(|record| record.sm.max(0) as usize + 1).max().unwrap_or(0);
    let mut stopped = vec![false; queues];
    for (record, state) in instructions.iter().zip(&mut states) {
        let Some(stopped) = stopped.get_mut(record.sm.max(0) as usize).filter(|stopped| !**stopped) else {
            continue;
        };
        let left = counter(record.out_counter).and_then(|id| unclaimed.get_mut(id));
        *state = match left.filter(|left| **left > 0) {
            _ if !satisfied(record) => TaskState::Waiting,
            Some(left) => {
                *left -= 1;
                TaskState::Done
            }
            None => TaskState::Running,
        };
        *stopped = *state != TaskState::Done;
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;
    use TaskState::{Done, NotStarted, Running, Waiting};

    fn task(sm: i32, out_counter: i32, wait: Option<(i32, i32)>) -> InstructionRecord {
        let mut record = InstructionRecord { sm, out_counter, ..InstructionRecord::default() };
        if let Some((counter, threshold)) = wait {
            record.n_waits = 1;
            record.wait_counter = [counter, 0, 0, 0, 0, 0, 0, 0];
            record.wait_threshold = [threshold, 0, 0, 0, 0, 0, 0, 0];
        }
        record
    }

    #[test]
    fn queues_stop_at_the_first_task_that_is_not_counted() {
        let tasks = [
            task(0, 0, None),
            task(1, 1, Some((0, 1))),
            task(0, 2, None),
            task(1, 3, None),
            task(2, 4, Some((2, 1))),
            task(2, 4, None),
        ];
        assert_eq!(derive(&tasks, &[1, 1, 0, 0, 0]), [Done, Done, Running, Running, Waiting, NotStarted]);
        assert_eq!(derive(&tasks, &[0; 5]), [Running, Waiting, NotStarted, NotStarted, Waiting, NotStarted]);
        assert_eq!(derive(&tasks, &[1, 1, 1, 1, 2]), [Done; 6]);
    }
}
