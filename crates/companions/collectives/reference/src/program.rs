//! All operations of all elements, one by one.

use megakernel_collectives::Dtype;

use crate::messages::Messages;
use crate::network::Element;

/// What an operation does. Handles are numbers within their element, queues within the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Makes handle `to` of `n` numbers from position `at` on.
    Load {
        /// The handle.
        to: u32,
        /// First position.
        at: u32,
        /// How many numbers.
        n: u32,
    },
    /// Writes a handle.
    Store {
        /// The handle.
        of: u32,
        /// First position.
        at: u32,
    },
    /// Sends a handle.
    Send {
        /// The handle.
        of: u32,
        /// Where to.
        queue: u32,
    },
    /// Receives one.
    Recv {
        /// The handle.
        to: u32,
        /// Where from.
        queue: u32,
    },
    /// Adds two.
    Add {
        /// The handle.
        to: u32,
        /// One operand.
        a: u32,
        /// The other.
        b: u32,
    },
    /// Converts one.
    Cast {
        /// The handle.
        to: u32,
        /// What is converted.
        of: u32,
        /// Into which dtype.
        dtype: Dtype,
    },
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub action: Action,
    /// Its place in the template, counted through all loops.
    pub origin: u32,
}

/// A queue that is used.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Who sends to it.
    pub sender: Element,
    /// Who receives from it.
    pub receiver: Element,
    /// Messages that it holds.
    pub capacity: i64,
    /// Messages that are sent to it.
    pub sent: Messages,
    /// Messages that are received from it.
    pub received: Messages,
}

impl Queue {
    /// Messages that it holds, one at least.
    pub fn room(&self) -> usize {
        usize::try_from(self.capacity.max(1)).unwrap_or(usize::MAX)
    }
}

/// What an element does.
#[derive(Clone, Debug)]
pub struct Line {
    /// The log it comes from.
    pub log: usize,
    /// Where its operations stand.
    pub ops: std::ops::Range<usize>,
    /// How many names of handles there are.
    pub handles: usize,
}

/// All operations of all elements.
#[derive(Debug, Default)]
pub struct Program {
    /// What each element does.
    pub lines: Vec<Line>,
    /// The operations, element by element.
    pub ops: Vec<Operation>,
    /// The queues.
    pub queues: Vec<Queue>,
    /// Where each template operation stands, for each log.
    pub places: Vec<Vec<String>>,
}

impl Program {
    /// The operations of an element.
    pub fn ops(&self, element: usize) -> &[Operation] {
        self.lines.get(element).and_then(|line| self.ops.get(line.ops.clone())).unwrap_or_default()
    }

    /// The pointer of an operation of an element.
    pub fn place(&self, element: usize, operation: usize) -> String {
        let place = || {
            let line = self.lines.get(element)?;
            let origin = self.ops.get(line.ops.start + operation)?.origin;
            self.places.get(line.log)?.get(origin as usize).cloned()
        };
        place().unwrap_or_default()
    }
}
