//! Playing a case that executes: what is sent, which files there are, and how they are judged (clauses CON-11 and
//! CON-12).
//!
//! The worker gets programs and copies of the input files in a directory of its own, whose names tell nothing. What it
//! writes is read with a limit and judged element by element against the references and bounds of the corpus; with a
//! trace, also task by task on the inputs that the task really had.

mod elements;
mod expect;
mod outputs;
mod session;
mod sizes;
mod table;
mod trace;
mod used;
mod workspace;

pub use elements::Elements;
pub use expect::{Expectation, expectations};
pub use outputs::{Judged, outputs};
pub use session::{Bound, Session};
pub use sizes::{Sizes, size};
pub use table::{Class, Counts, Key, Place, Row, Table, Touched};
pub use trace::{Traced, follow};
pub use used::used;
pub use workspace::{Workspace, Workspaces};

use crate::judge::Mismatch;

/// Why an execution fails its case.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// In words: what was required, and what there is.
    pub mismatch: Mismatch,
    /// The line of the table that it belongs to, where it is one opcode's or one dtype's.
    pub key: Option<Key>,
    /// The class of the task that is wrong, where a trace tells; otherwise it is of the size of the case.
    pub class: Option<Class>,
}

impl Fault {
    /// A fault of a file as a whole.
    fn of_file(expected: impl Into<String>, actual: impl Into<String>) -> Fault {
        Fault { mismatch: Mismatch::new(expected, actual), key: None, class: None }
    }
}
