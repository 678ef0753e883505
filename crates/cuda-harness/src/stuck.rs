//! What to say of a launch that did not end.

use megakernel_ir::model::Program;
use megakernel_ir::{CounterId, TaskId};

use crate::device::TaskState;

/// Tasks that a message names at most.
const NAMED: usize = 8;

/// The task as messages call it.
pub fn name(program: &Program<'_>, task: TaskId) -> String {
    program
        .tasks
        .get(task.index())
        .map_or_else(|| format!("task {task}"), |record| format!("task {task} ({})", record.op))
}

/// Names the tasks that run or wait, and what they wait for.
pub fn describe(program: &Program<'_>, states: &[TaskState], counts: &[u32]) -> String {
    let all = TaskId::range(0..states.len()).zip(states);
    let of = |state: TaskState| all.clone().filter(move |(_, s)| **s == state).map(|(task, _)| task);
    let count = |id: i64| counts.get(CounterId::stated(id).index()).map_or(0, |count| i64::from(*count));
    let mut parts: Vec<String> =
        of(TaskState::Running).map(|task| format!("{} runs", name(program, task))).collect();
    for task in of(TaskState::Waiting) {
        let waits = program.tasks.get(task.index()).map(|task| task.waits.as_slice()).unwrap_or_default();
        let unmet = waits.iter().filter(|wait| count(wait.counter) < wait.threshold).map(|wait| {
            format!("counter {} to reach {} (it is at {})", wait.counter, wait.threshold, count(wait.counter))
        });
        let unmet = unmet.collect::<Vec<_>>().join(" and ");
        // It had just been satisfied when the launch was over.
        let unmet = if unmet.is_empty() { "its turn".to_owned() } else { unmet };
        parts.push(format!("{} waits for {unmet}", name(program, task)));
    }
    let more = parts.len().saturating_sub(NAMED);
    parts.truncate(NAMED);
    if more > 0 {
        parts.push(format!("{more} more tasks run or wait"));
    }
    let (behind, done) = (of(TaskState::NotStarted).count(), of(TaskState::Done).count());
    parts.push(format!("{behind} tasks had not had their turn, {done} of {} were done", states.len()));
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stuck_tasks_are_named_with_what_they_wait_for() {
        let text = r#"{"ir_version": "0.2.0", "abi_version": "0.2", "buffers": [], "counters": [{"id": 0}, {"id": 1}], "tasks": [
            {"id": 0, "op": "NOP", "inputs": [], "outputs": [], "out_counter": 0},
            {"id": 1, "op": "NOP", "inputs": [], "outputs": [], "out_counter": 1,
             "waits": [{"counter": 0, "threshold": 1}, {"counter": 1, "threshold": 2}]},
            {"id": 2, "op": "NOP", "inputs": [], "outputs": [], "out_counter": 1},
            {"id": 3, "op": "NOP", "inputs": [], "outputs": [], "out_counter": 1}]}"#;
        let program = megakernel_ir::read(text.as_bytes()).unwrap_or_else(|found| unreachable!("{found:?}"));
        use TaskState::{Done, NotStarted, Running, Waiting};
        assert_eq!(
            describe(&program, &[Done, Waiting, NotStarted, Running], &[1, 0]),
            "task 3 (NOP) runs; task 1 (NOP) waits for counter 1 to reach 2 (it is at 0); \
             1 tasks had not had their turn, 1 of 4 were done"
        );
    }
}
