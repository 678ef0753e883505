//! Adversarial schedules: in which order a machine takes the steps that it could.

use megakernel_ir::TaskId;
use megakernel_ir::diagnostic::Event;
use megakernel_ir::model::Program;
use megakernel_ir::prng::SplitMix64;
use megakernel_reference::explore::{Fault, Machine, Status};

/// How to choose the next step.
#[derive(Clone, Copy, Debug)]
pub enum Schedule {
    /// Any start or finish.
    Random,
    /// The start of the task that stands last in the list, or else the finish of the task that started last.
    NewestFirst,
    /// All starts before any finish, and of these the task that started last first.
    LateFinishes,
    /// Nothing of this SM, or of every fourth task where there are no SMs, as long as anything else can go on.
    Starved(i64),
    /// One task starts as early as it can, and finishes when nothing else is left.
    Held(TaskId),
}

impl Schedule {
    /// Whether the schedule avoids this task.
    fn avoids(self, program: &Program<'_>, task: TaskId) -> bool {
        match self {
            Schedule::Starved(sm) => match program[task].sm {
                Some(other) => other == sm,
                None => i64::from(u32::from(task) % 4) == sm,
            },
            _ => false,
        }
    }

    fn choose(
        self,
        program: &Program<'_>,
        ready: &[TaskId],
        running: &[TaskId],
        rng: &mut SplitMix64,
    ) -> Event {
        let any = |tasks: &[TaskId], rng: &mut SplitMix64| tasks[rng.index(tasks.len())];
        match self {
            Schedule::NewestFirst | Schedule::LateFinishes => {
                let newest = match self {
                    Schedule::NewestFirst => ready.iter().max().copied(),
                    _ => ready.get(rng.index(ready.len().max(1))).copied(),
                };
                newest.map_or_else(|| Event::Finish(running[running.len() - 1]), Event::Start)
            }
            Schedule::Random | Schedule::Starved(_) | Schedule::Held(_) => {
                let held = |task: &TaskId| matches!(self, Schedule::Held(held) if *task == held);
                if let Some(&task) = ready.iter().find(|task| held(task)) {
                    return Event::Start(task);
                }
                let wanted = |task: &&TaskId| !self.avoids(program, **task);
                let starts: Vec<TaskId> = ready.iter().filter(wanted).copied().collect();
                let finishes: Vec<TaskId> =
                    running.iter().filter(|task| wanted(task) && !held(task)).copied().collect();
                match starts.len() + finishes.len() {
                    0 if ready.is_empty() => Event::Finish(any(running, rng)),
                    0 => Event::Start(any(ready, rng)),
                    count => {
                        let index = rng.index(count);
                        starts.get(index).map_or_else(
                            || Event::Finish(finishes[index - starts.len()]),
                            |&t| Event::Start(t),
                        )
                    }
                }
            }
        }
    }
}

/// Takes a program through one run, to the first thing that goes wrong.
pub fn run(program: &Program<'_>, schedule: Schedule, seed: u64) -> Option<Fault> {
    let mut rng = SplitMix64::new(seed);
    let mut machine = Machine::new(program);
    let mut waiting: Vec<TaskId> = machine.tasks().collect();
    let (mut ready, mut running) = (Vec::new(), Vec::new());
    loop {
        waiting.retain(|&task| {
            let free = machine.blocked(task).is_none();
            ready.extend(free.then_some(task));
            !free
        });
        // Only a finish makes tasks ready.
        loop {
            if ready.is_empty() && running.is_empty() {
                return ended(&machine, &waiting);
            }
            let event = schedule.choose(program, &ready, &running, &mut rng);
            let faults = machine.step(event).expect("an enabled step");
            if let Some(fault) = faults.into_iter().next() {
                return Some(fault);
            }
            match event {
                Event::Start(task) => {
                    ready.retain(|&other| other != task);
                    running.push(task);
                }
                Event::Finish(task) => {
                    running.retain(|&other| other != task);
                    break;
                }
            }
        }
    }
}

fn ended(machine: &Machine<'_>, waiting: &[TaskId]) -> Option<Fault> {
    let fault = machine.deadlock().or_else(|| machine.host_reads().into_iter().next());
    let all = waiting.is_empty() && machine.tasks().all(|task| machine.status(task) == Status::Finished);
    assert!(fault.is_some() || all, "a run that ends well has run all tasks");
    fault
}
