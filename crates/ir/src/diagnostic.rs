//! What a validator says about a document (clause CON-10).

use serde::{Deserialize, Serialize};

use crate::ids::{BufferId, CounterId, TaskId};
use crate::rule::{Rule, Severity};

/// One finding: which rule, where, about what, and the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The rule that the document breaks.
    pub rule: Rule,
    /// Follows from the rule's class.
    pub severity: Severity,
    /// For people: what was found, what is required.
    pub message: String,
    /// JSON pointer (RFC 6901) of the offending value; empty for the whole document.
    pub pointer: String,
    /// Line and column, where known.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// Ids of the tasks involved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskId>,
    /// Ids of the buffers involved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buffers: Vec<BufferId>,
    /// Ids of the counters involved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterId>,
    /// Evidence that can be checked without trusting the validator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}

/// A place in the text of a document, for people: both count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
}

impl Position {
    /// The position of a byte offset in `text`; an offset past the end is taken for the end.
    pub fn of_offset(text: &str, offset: usize) -> Position {
        let before = text.get(..offset.min(text.len())).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Position {
            line: before.bytes().filter(|&byte| byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// A member name as a reference token of a JSON pointer (RFC 6901).
pub fn pointer_token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Half-open interval of indices per axis of a buffer.
pub type Region = Vec<[i64; 2]>;

/// Evidence for a diagnostic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Witness {
    /// Each step has to come before the next, and the last before the first.
    Cycle {
        /// In order; at least two.
        steps: Vec<CycleStep>,
    },
    /// Two tasks that no chain of waits orders touch the same elements.
    Unordered {
        /// One of the tasks.
        first: Access,
        /// The other.
        second: Access,
        /// The buffer that both access.
        buffer: BufferId,
        /// The elements that both access.
        region: Region,
    },
    /// An execution that the counters allow.
    Schedule {
        /// Starts and finishes, in order.
        events: Vec<Event>,
        /// What goes wrong after the last event.
        then: String,
    },
    /// Two buffers of one page that are live at the same time.
    Clobber {
        /// The page.
        page: u32,
        /// An access of one buffer ...
        first: PageAccess,
        /// ... that is not ordered before this access of the other.
        second: PageAccess,
    },
    /// Elements that a task reads before any task wrote them.
    Unwritten {
        /// The reader.
        task: TaskId,
        /// The buffer.
        buffer: BufferId,
        /// Some of the elements.
        region: Region,
    },
    /// Two tasks of task graphs access the same elements of a tensor (clause TGR-21). Tasks are numbered on through the ranks.
    Overlap {
        /// One of the tasks; of TR05 the one whose write is lost.
        first: Access,
        /// The other.
        second: Access,
        /// In the memory of this rank.
        rank: u32,
        /// Name of the tensor.
        tensor: String,
        /// What both access.
        region: TileRegion,
        /// Whether the second access is that of the next iteration.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        next_iteration: bool,
    },
    /// Ops of a sequence and kernels of an index that show what is wrong with the choice of kernels.
    Choice {
        /// Ids of ops, ascending.
        ops: Vec<u64>,
        /// Ids of kernels.
        kernels: Vec<String>,
    },
}

/// Part of the memory of a tensor (clause TGR-04).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TileRegion {
    /// Of a regular tensor: exactly these elements.
    Box {
        /// Elements between neighbours, of one axis after the other, largest first.
        strides: Vec<i64>,
        /// Half-open interval of indices along each of these strides.
        r#box: Region,
    },
    /// Of any other: from the first byte to the last.
    Bytes {
        /// Half-open interval.
        bytes: [i64; 2],
    },
}

/// A step of [`Witness::Cycle`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CycleStep {
    /// A task.
    pub task: TaskId,
    /// Why it has to come before the task of the next step.
    pub then: Before,
}

/// Why one task comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Before {
    /// The later task waits on this counter, which the earlier one increments.
    Counter(CounterId),
    /// Both stand in this SM's queue in this order.
    Queue(i64),
}

/// A task and what it does to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// The task.
    pub task: TaskId,
    /// Read or write.
    pub access: AccessKind,
}

/// Read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessKind {
    /// The buffer is an input.
    Read,
    /// The buffer is an output.
    Write,
}

/// An event of [`Witness::Schedule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// The task starts.
    Start(TaskId),
    /// The task finishes and increments its counter.
    Finish(TaskId),
}

/// A side of [`Witness::Clobber`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageAccess {
    /// The buffer.
    pub buffer: BufferId,
    /// A task that accesses it.
    pub task: TaskId,
}

impl Diagnostic {
    /// A diagnostic without ids and witness; `pointer` is a JSON pointer.
    pub fn new(rule: Rule, pointer: impl Into<String>, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            rule,
            severity: rule.severity(),
            message: message.into(),
            pointer: pointer.into(),
            position: None,
            tasks: Vec::new(),
            buffers: Vec::new(),
            counters: Vec::new(),
            witness: None,
        }
    }

    /// Adds the tasks involved.
    pub fn tasks(mut self, tasks: impl IntoIterator<Item = TaskId>) -> Diagnostic {
        self.tasks.extend(tasks);
        self
    }

    /// Adds the buffers involved.
    pub fn buffers(mut self, buffers: impl IntoIterator<Item = BufferId>) -> Diagnostic {
        self.buffers.extend(buffers);
        self
    }

    /// Adds the counters involved.
    pub fn counters(mut self, counters: impl IntoIterator<Item = CounterId>) -> Diagnostic {
        self.counters.extend(counters);
        self
    }

    /// Sets the evidence.
    pub fn witness(mut self, witness: Witness) -> Diagnostic {
        self.witness = Some(witness);
        self
    }

    /// Sets line and column.
    pub fn at(mut self, position: Position) -> Diagnostic {
        self.position = Some(position);
        self
    }

    /// Whether it rejects the document.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_escape_the_tilde_first() {
        assert_eq!(pointer_token("a/b~1"), "a~1b~01");
    }

    #[test]
    fn positions_count_from_one() {
        let text = "a\nbé c";
        assert_eq!(Position::of_offset(text, 0), Position { line: 1, column: 1 });
        assert_eq!(Position::of_offset(text, 2), Position { line: 2, column: 1 });
        assert_eq!(Position::of_offset(text, 5), Position { line: 2, column: 3 });
        assert_eq!(Position::of_offset(text, 99), Position { line: 2, column: 5 });
    }

    #[test]
    fn the_json_form_is_the_one_of_the_specification() {
        let witness = Witness::Cycle {
            steps: vec![
                CycleStep { task: TaskId::from(0), then: Before::Counter(CounterId::from(3)) },
                CycleStep { task: TaskId::from(2), then: Before::Queue(1) },
            ],
        };
        let diagnostic =
            Diagnostic::new(Rule::D06, "/tasks/0", "m").tasks([0, 2].map(TaskId::from)).witness(witness);
        let json = serde_json::to_string(&diagnostic).expect("serialises");
        assert_eq!(
            json,
            r#"{"rule":"D06","severity":"error","message":"m","pointer":"/tasks/0","tasks":[0,2],"witness":{"kind":"cycle","steps":[{"task":0,"then":{"counter":3}},{"task":2,"then":{"queue":1}}]}}"#
        );
        let back: Diagnostic = serde_json::from_str(&json).expect("reads back");
        assert_eq!(back, diagnostic);
    }
}
