//! What can go wrong in a run, with the place and the reason.

use std::fmt::Write as _;

use megakernel_ir::diagnostic::{self, AccessKind};
use megakernel_ir::model::Program;
use megakernel_ir::{BufferId, CounterId, Rule, TaskId};

/// An operand of a task as it is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The task.
    pub task: TaskId,
    /// Read or write.
    pub kind: AccessKind,
    /// Index in the task's inputs or outputs.
    pub operand: usize,
    /// The buffer.
    pub buffer: BufferId,
}

/// Why a task cannot start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// A counter is below the threshold of a wait.
    Counter {
        /// Index of the wait in the task.
        wait: usize,
        /// The counter.
        counter: CounterId,
        /// Its value.
        count: u64,
        /// What the task waits for.
        threshold: i64,
        /// How many tasks would still increment the counter, if they ever ran.
        unfinished: usize,
    },
    /// A task that stands before it in its queue is unfinished.
    Queue {
        /// The SM.
        sm: i64,
        /// The nearest such task.
        behind: TaskId,
    },
    /// Its queue is that of an SM that the target does not have.
    NoSm {
        /// The SM.
        sm: i64,
    },
}

/// A task that will never start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The task.
    pub task: TaskId,
    /// Everything that keeps it; never empty.
    pub by: Vec<Blocked>,
}

/// Why a buffer on a page has no storage where a task accesses it (clause PAG-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoStorage {
    /// It is mapped to a page that does not exist.
    NoPage,
    /// Its page is in another memory space.
    OtherSpace,
    /// The access goes beyond the page.
    TooSmall {
        /// Bytes that the page has.
        page: i64,
        /// Bytes that it would need.
        needed: i64,
    },
}

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Tasks are unfinished, nothing runs, and nothing can start (clause EXE-06). All of them, in list order.
    Deadlock {
        /// The unfinished tasks.
        stuck: Vec<Stuck>,
    },
    /// Two accesses of the same elements, one of them a write, and the later task has not acquired from the earlier
    /// one (clause EXE-07).
    Unordered {
        /// The access of the task that started first.
        first: Access,
        /// The access of the other one.
        second: Access,
        /// Elements that both access; of two buffers on a page, bytes of the page.
        region: diagnostic::Region,
    },
    /// Elements are read that nobody has written (clause EXE-08).
    Unwritten {
        /// The read.
        read: Access,
        /// Some of the elements; of a buffer on a page, bytes of the page.
        region: diagnostic::Region,
    },
    /// A read finds what was written to another buffer of the page (clause PAG-01).
    Clobbered {
        /// The read.
        read: Access,
        /// The write of the other buffer.
        write: Access,
        /// Bytes of the page.
        region: diagnostic::Region,
    },
    /// A buffer has no storage where it is accessed.
    NoStorage {
        /// The access.
        access: Access,
        /// Why.
        why: NoStorage,
    },
    /// A task overwrites an operand before it has read it: the opcode does not work in place (clause EXE-10).
    Overwrites {
        /// The read.
        read: Access,
        /// The write.
        write: Access,
    },
    /// On-chip storage that was written on another SM (rule R07).
    Hidden {
        /// The read.
        read: Access,
        /// The write.
        write: Access,
        /// The SMs of reader and writer.
        sms: [i64; 2],
    },
    /// The launch is over, and an output of it is not wholly written (rule M06).
    Unfilled {
        /// The buffer.
        buffer: BufferId,
        /// Some of the missing elements.
        region: diagnostic::Region,
    },
    /// The VM itself failed at a task.
    NotComputed {
        /// The task.
        task: TaskId,
        /// What is missing.
        what: String,
    },
    /// The opcode does not say what the task computes, because it breaks a rule about its operands.
    Undefined {
        /// The task.
        task: TaskId,
        /// The rule.
        rule: Rule,
        /// JSON pointer.
        pointer: String,
        /// What was found and what is required.
        message: String,
    },
}

/// How many tasks of a deadlock are explained.
const EXPLAINED: usize = 8;

impl Access {
    /// JSON pointer of the operand; of the buffer, where the host reads it.
    pub fn pointer(&self) -> String {
        if self.task == HOST {
            return format!("/buffers/{}", self.buffer);
        }
        let list = match self.kind {
            AccessKind::Read => "inputs",
            AccessKind::Write => "outputs",
        };
        format!("/tasks/{}/{list}/{}", self.task, self.operand)
    }
}

impl Fault {
    /// One word for each kind.
    pub const fn name(&self) -> &'static str {
        match self {
            Fault::Deadlock { .. } => "deadlock",
            Fault::Unordered { .. } => "unordered",
            Fault::Unwritten { .. } => "unwritten",
            Fault::Clobbered { .. } => "clobbered",
            Fault::NoStorage { .. } => "no-storage",
            Fault::Overwrites { .. } => "overwrites",
            Fault::Hidden { .. } => "hidden",
            Fault::Unfilled { .. } => "unfilled",
            Fault::Undefined { .. } => "undefined",
            Fault::NotComputed { .. } => "not-computed",
        }
    }

    /// JSON pointer of the place: the access at which the fault was found, or what keeps the first stuck task.
    pub fn pointer(&self) -> String {
        match self {
            Fault::Deadlock { stuck } => match stuck.first().map(|stuck| (stuck.task, stuck.by.first())) {
                Some((task, Some(Blocked::Counter { wait, .. }))) => format!("/tasks/{task}/waits/{wait}"),
                Some((task, _)) => format!("/tasks/{task}"),
                None => String::new(),
            },
            Fault::Unordered { second, .. } => second.pointer(),
            Fault::Unwritten { read, .. } | Fault::Clobbered { read, .. } | Fault::Hidden { read, .. } => {
                read.pointer()
            }
            Fault::NoStorage { access, .. } => access.pointer(),
            Fault::Overwrites { write, .. } => write.pointer(),
            Fault::Unfilled { buffer, .. } => format!("/buffers/{buffer}"),
            Fault::Undefined { pointer, .. } => pointer.clone(),
            Fault::NotComputed { task, .. } => format!("/tasks/{task}"),
        }
    }

    /// What happened, in words, with the names that the program gives.
    pub fn explain(&self, program: &Program<'_>) -> String {
        let names = Names(program);
        match self {
            Fault::Deadlock { stuck } => {
                let mut text =
                    format!("deadlock: nothing runs, nothing can start, {} unfinished", tasks(stuck.len()));
                for stuck in stuck.iter().take(EXPLAINED) {
                    let reasons: Vec<String> = stuck.by.iter().map(|by| names.blocked(by)).collect();
                    let _ = write!(text, "; {} {}", names.task(stuck.task), reasons.join(" and "));
                }
                if stuck.len() > EXPLAINED {
                    let _ = write!(text, "; and {} more", stuck.len() - EXPLAINED);
                }
                text
            }
            Fault::Unordered { first, second, region } => format!(
                "unordered: {} and {} access {}, and no counter orders them",
                names.access(second),
                names.access(first),
                names.part(region, first.buffer, second.buffer)
            ),
            Fault::Unwritten { read, region } => format!(
                "unwritten: {}, but nobody has written {}",
                names.access(read),
                names.part(region, read.buffer, read.buffer)
            ),
            Fault::Clobbered { read, write, region } => format!(
                "clobbered: {}, but {} on the same page, over bytes {}",
                names.access(read),
                names.access(write),
                slices(region)
            ),
            Fault::NoStorage { access, why } => {
                let why = match why {
                    NoStorage::NoPage => "is mapped to a page that does not exist".to_owned(),
                    NoStorage::OtherSpace => "is mapped to a page of another space".to_owned(),
                    NoStorage::TooSmall { page, needed } => {
                        format!("would need a page of {needed} bytes; its page has {page}")
                    }
                };
                format!("no storage: {}, which {why}", names.access(access))
            }
            Fault::Overwrites { read, write } => format!(
                "overwrites: {} and {} in the same storage, and its opcode may write before it has read",
                names.access(read),
                names.buffer_written(write)
            ),
            Fault::Hidden { read, write, sms: [reader, writer] } => format!(
                "hidden: {} on SM {reader}, but {} on SM {writer}, and the buffer is on chip",
                names.access(read),
                names.access(write)
            ),
            Fault::Unfilled { buffer, region } => {
                format!(
                    "unfilled: the launch is over, and nobody has written {} of {}",
                    slices(region),
                    names.buffer(*buffer)
                )
            }
            Fault::NotComputed { task, what } => format!("not computed: {}: {what}", names.task(*task)),
            Fault::Undefined { task, rule, message, .. } => {
                format!("undefined: {} breaks {rule} {}: {message}", names.task(*task), rule.slug())
            }
        }
    }
}

/// Words for the records of a program.
struct Names<'p>(&'p Program<'p>);

impl Names<'_> {
    fn task(&self, task: TaskId) -> String {
        match self.0.tasks.get(task.index()) {
            Some(record) if record.label.is_empty() => format!("task {task} ({})", record.op),
            Some(record) => format!("task {task} ({} `{}`)", record.op, &*record.label),
            None => format!("task {task}"),
        }
    }

    fn buffer(&self, buffer: BufferId) -> String {
        match self.0.buffers.get(buffer.index()) {
            Some(record) => format!("buffer {buffer} `{}`", &*record.name),
            None => format!("buffer {buffer}"),
        }
    }

    fn access(&self, access: &Access) -> String {
        if access.task == HOST {
            return format!("the host reads {}", self.buffer(access.buffer));
        }
        let verb = match access.kind {
            AccessKind::Read => "reads",
            AccessKind::Write => "writes",
        };
        format!("{} {verb} {}", self.task(access.task), self.buffer(access.buffer))
    }

    fn buffer_written(&self, access: &Access) -> String {
        format!("writes {}", self.buffer(access.buffer))
    }

    fn part(&self, region: &diagnostic::Region, first: BufferId, second: BufferId) -> String {
        match first == second {
            true => format!("{} of it", slices(region)),
            false => format!("bytes {} of one page", slices(region)),
        }
    }

    fn blocked(&self, by: &Blocked) -> String {
        match by {
            Blocked::Counter { counter, count, threshold, unfinished, .. } => {
                let note = self.0.counters.get(counter.index()).map_or("", |record| &*record.note);
                let note = if note.is_empty() { String::new() } else { format!(" `{note}`") };
                let from = match unfinished {
                    0 => "and no task is left to increment it".to_owned(),
                    1 => "which one unfinished task would increment".to_owned(),
                    many => format!("which {many} unfinished tasks would increment"),
                };
                format!("waits for counter {counter}{note} to reach {threshold}; it is {count}, {from}")
            }
            Blocked::Queue { sm, behind } => {
                format!("stands behind {} in the queue of SM {sm}", self.task(*behind))
            }
            Blocked::NoSm { sm } => {
                format!("stands in the queue of SM {sm}, which the target does not have")
            }
        }
    }
}

/// Stands for the host among tasks: it reads the outputs after the launch.
pub(super) const HOST: TaskId = TaskId::at(usize::MAX);

fn tasks(count: usize) -> String {
    if count == 1 { "1 task is".to_owned() } else { format!("{count} tasks are") }
}

/// A region as people write slices, such as `[0:4, 16:32]`.
fn slices(region: &diagnostic::Region) -> String {
    let axes: Vec<String> = region.iter().map(|[low, high]| format!("{low}:{high}")).collect();
    format!("[{}]", axes.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_host_reads_is_a_buffer() {
        let access = |task| Access { task, kind: AccessKind::Read, operand: 1, buffer: BufferId::from(3) };
        assert_eq!(access(HOST).pointer(), "/buffers/3");
        assert_eq!(access(TaskId::from(2)).pointer(), "/tasks/2/inputs/1");
    }
}
