//! Schedules: in which order the enabled steps of a launch are taken.
//!
//! A program that the rules accept gives the same result under every schedule. To test that, a schedule should be as
//! unlike a sensible one as the counters allow, so each seed draws one of several strange habits and keeps to it for the
//! whole launch. The same seed gives the same order on every machine.

use std::fmt;

use megakernel_ir::TaskId;
use megakernel_ir::prng::SplitMix64;

/// A step of a task, in the order in which it takes them (clause EXE-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The counters and the queue let it go: it acquires.
    Start,
    /// It reads its operands.
    Read,
    /// It writes its result.
    Write,
    /// It releases, and increments its counter.
    Finish,
}

/// The habit of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Habit {
    /// The task that stands first in the list, to its end, then the next: what a person would write down.
    ListOrder,
    /// Of the tasks that can go on, the one that stands last in the list, to its end.
    Backwards,
    /// The task that became ready last, to its end; what has long been ready waits longest.
    NewestFirst,
    /// Any enabled step.
    Random,
    /// Any task, to its end.
    RandomTask,
    /// Starts whatever can start before anything goes on, and finishes only when nothing else is left, newest first.
    AllAtOnce,
    /// As `AllAtOnce`, but all read as early and write as late as possible.
    ReadEarly,
    /// Every fourth SM, and of the tasks without one every fourth, moves only when nothing else can.
    Starve,
    /// One task in eight is slow: it starts at once, and goes on only when nothing else can.
    Stragglers,
}

impl Habit {
    /// Every habit.
    pub const ALL: [Habit; 9] = [
        Habit::ListOrder,
        Habit::Backwards,
        Habit::NewestFirst,
        Habit::Random,
        Habit::RandomTask,
        Habit::AllAtOnce,
        Habit::ReadEarly,
        Habit::Starve,
        Habit::Stragglers,
    ];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Habit::ListOrder => "list-order",
            Habit::Backwards => "backwards",
            Habit::NewestFirst => "newest-first",
            Habit::Random => "random",
            Habit::RandomTask => "random-task",
            Habit::AllAtOnce => "all-at-once",
            Habit::ReadEarly => "read-early",
            Habit::Starve => "starve",
            Habit::Stragglers => "stragglers",
        }
    }
}

impl fmt::Display for Habit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Chooses among the enabled steps.
#[derive(Clone, Debug)]
pub struct Schedule {
    habit: Habit,
    random: SplitMix64,
    /// Drawn once: which share is starved.
    victim: u64,
    /// Steps that have become enabled so far.
    age: u64,
}

impl Default for Schedule {
    fn default() -> Schedule {
        Schedule::new(Habit::ListOrder, 0)
    }
}

impl Schedule {
    /// A habit, with a seed for what it leaves open.
    pub fn new(habit: Habit, seed: u64) -> Schedule {
        let mut random = SplitMix64::new(seed);
        let victim = random.next_u64();
        Schedule { habit, random, victim, age: 0 }
    }

    /// The schedule of a seed: 0 is list order, every other number draws its habit.
    pub fn seeded(seed: u64) -> Schedule {
        let mut draw = SplitMix64::new(seed);
        let index = draw.below(Habit::ALL.len() as u64);
        let drawn = Habit::ALL.get(index as usize).copied().unwrap_or(Habit::Random);
        Schedule::new(if seed == 0 { Habit::ListOrder } else { drawn }, draw.next_u64())
    }

    /// The habit.
    pub const fn habit(&self) -> Habit {
        self.habit
    }

    /// The rank of a step that becomes enabled: of all enabled steps, the one with the least is taken next.
    pub(super) fn rank(&mut self, step: Step, task: TaskId, sm: Option<i64>) -> u64 {
        /// Above every other rank of the same habit.
        const LATE: u64 = 1 << 62;
        self.age += 1;
        let (task, newest) = (u64::from(u32::from(task)), LATE - self.age.min(LATE));
        let begun = step != Step::Start;
        match self.habit {
            Habit::ListOrder if begun => 0,
            Habit::ListOrder => 1 + task,
            Habit::Backwards if begun => 0,
            Habit::Backwards => LATE - task,
            Habit::NewestFirst if begun => 0,
            Habit::NewestFirst => newest,
            Habit::Random => self.random.next_u64(),
            Habit::RandomTask if begun => 0,
            Habit::RandomTask => 1 + self.random.below(LATE),
            Habit::AllAtOnce => match step {
                Step::Start => 0,
                Step::Read | Step::Write => 1 + self.random.below(LATE - 1),
                Step::Finish => LATE + newest,
            },
            Habit::ReadEarly => match step {
                Step::Start | Step::Read => 0,
                Step::Write => LATE + newest,
                Step::Finish => 1,
            },
            Habit::Starve => {
                // An SM in four, or a task in four.
                let starved = sm.map_or(task, |sm| sm as u64) % 4 == self.victim % 4;
                self.random.below(LATE) + if starved { LATE } else { 0 }
            }
            Habit::Stragglers => {
                let slow = SplitMix64::new(task ^ self.victim).below(8) == 0;
                let late = if slow && begun { LATE } else { 0 };
                late + if slow && !begun { 0 } else { self.random.below(LATE) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_reproducible_and_draw_every_habit() {
        let habits: Vec<Habit> = (0..200).map(|seed| Schedule::seeded(seed).habit()).collect();
        assert!(Habit::ALL.iter().all(|habit| habits.contains(habit)));
        assert_eq!(habits[0], Habit::ListOrder);
        let ranks = |seed| {
            let mut schedule = Schedule::seeded(seed);
            TaskId::range(0..20).map(|task| schedule.rank(Step::Start, task, None)).collect::<Vec<_>>()
        };
        assert_eq!(ranks(17), ranks(17));
    }
}
