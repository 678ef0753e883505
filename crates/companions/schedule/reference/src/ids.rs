//! Ids of what the tasks of a schedule are made of, all repetition done. Tasks themselves have a [`TaskId`].
//!
//! To [`megakernel_order`] what is ordered is a task, and what orders it a counter: a [`Node`] is both there.

use megakernel_ir::{CounterId, TaskId, id};
use megakernel_order::happens_before::Question;

id! {
    /// A phase, among those of all tasks.
    PhaseId
}

id! {
    /// A node of happens-before: a phase, or a join, which is numbered on from the phases.
    Node
}

id! {
    /// An event.
    EventId
}

id! {
    /// A tensor of the document.
    TensorId
}

id! {
    /// A storage: those of the document, then those of single tensors.
    StorageId
}

id! {
    /// A group of additions.
    GroupId
}

id! {
    /// An access, among those of all phases.
    AccessId
}

id! {
    /// Where an access of a storage stands among those of the storage, along happens-before.
    Place
}

impl From<PhaseId> for Node {
    fn from(phase: PhaseId) -> Node {
        Node(phase.0)
    }
}

impl PhaseId {
    /// The phase after this one.
    pub fn next(self) -> PhaseId {
        PhaseId(self.0 + 1)
    }
}

impl Node {
    /// What is ordered.
    pub fn task(self) -> TaskId {
        TaskId::from(self.0)
    }

    /// What orders it.
    pub fn counter(self) -> CounterId {
        CounterId::from(self.0)
    }
}

impl From<CounterId> for Node {
    fn from(counter: CounterId) -> Node {
        Node(counter.into())
    }
}

/// Whether a node comes before another one.
pub fn question(earlier: impl Into<Node>, later: impl Into<Node>) -> Question {
    Question { earlier: earlier.into().task(), later: later.into().task() }
}
