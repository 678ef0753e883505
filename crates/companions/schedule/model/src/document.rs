//! The records of a schedule. Names stand once in [`Schedule::names`], and records refer to them by position.

use std::rc::Rc;

use megakernel_ir::id;
use smallvec::SmallVec;

id! {
    /// A name, as its place in [`Schedule::names`].
    NameId
}

/// A schedule (clause SCH-01).
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// Every name that the document uses.
    pub names: Vec<String>,
    /// By name, in the order of the names.
    pub tensors: Vec<Tensor>,
    /// By name, in the order of the names.
    pub storages: Vec<Storage>,
    /// The events that the document says something of.
    pub events: Vec<Event>,
    /// Queues whose workers take any task that is ready.
    pub any_order: Vec<i64>,
    /// What orders memory.
    pub memory: Memory,
    /// In the order of the document.
    pub tasks: Vec<Task>,
}

impl Schedule {
    /// The text of a name.
    pub fn name(&self, name: NameId) -> &str {
        self.names.get(name.index()).map_or("", String::as_str)
    }
}

/// A tensor (clause SCH-02).
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its name.
    pub name: NameId,
    /// Extents, outermost first.
    pub shape: Vec<i64>,
    /// What it is for.
    pub kind: Kind,
    /// Who fills it before the tasks do.
    pub init: Init,
    /// Bytes of an element.
    pub element: i64,
    /// Name of the storage in which it lies.
    pub storage: Option<NameId>,
    /// Where it begins there, in bytes.
    pub offset: i64,
    /// Name of the tensor of which it is a view.
    pub view: Option<NameId>,
}

/// What a tensor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Passed on between tasks.
    Activation,
    /// Read by the host.
    Output,
    /// Filled by the host for each launch.
    Input,
    /// Filled by the host once.
    Weight,
    /// Carried over from launch to launch.
    Cache,
}

impl Kind {
    /// Every kind with its name.
    pub const ALL: [(&'static str, Kind); 5] = [
        ("activation", Kind::Activation),
        ("output", Kind::Output),
        ("input", Kind::Input),
        ("weight", Kind::Weight),
        ("cache", Kind::Cache),
    ];
}

/// Who fills a tensor before the tasks do (clause SCH-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Init {
    /// Nobody.
    Never,
    /// The host, before each launch.
    Launch,
    /// The host, before the first launch.
    Once,
}

/// Memory that tensors share.
#[derive(Clone, Debug)]
pub struct Storage {
    /// Its name.
    pub name: NameId,
    /// Its size.
    pub bytes: i64,
}

/// An event that counts over launches, if it has a period.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its name.
    pub name: NameId,
    /// What is added to the counts of its waits with each launch.
    pub period: Option<i64>,
}

/// Which fences a runtime has (clause SCH-06).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Whether a signal releases.
    pub signal: bool,
    /// Whether a wait acquires.
    pub wait: bool,
    /// Whether a task sees what the one before it in its queue did.
    pub queue: bool,
}

impl Memory {
    /// The orders of a signal, and whether it releases.
    pub const SIGNAL: [(&'static str, bool); 2] = [("release", true), ("relaxed", false)];
    /// The orders of a wait, and whether it acquires.
    pub const WAIT: [(&'static str, bool); 2] = [("acquire", true), ("relaxed", false)];
    /// The orders of queues, and whether a task sees what the one before it did.
    pub const QUEUE: [(&'static str, bool); 2] = [("ordered", true), ("unordered", false)];
}

impl Default for Memory {
    fn default() -> Memory {
        Memory { signal: true, wait: true, queue: false }
    }
}

/// A task, or many of them (clauses SCH-03 and SCH-05).
#[derive(Clone, Debug)]
pub struct Task {
    /// For people.
    pub name: String,
    /// The line of source that it comes from, for people.
    pub source: String,
    /// The queue in which it stands.
    pub queue: Option<i64>,
    /// How often it stands there.
    pub repeat: Option<Repeat>,
    /// In the order in which they run.
    pub phases: Vec<Phase>,
}

/// How a task stands for many.
#[derive(Clone, Copy, Debug)]
pub struct Repeat {
    /// How many.
    pub times: i64,
    /// What is added to the queue from one to the next.
    pub queue_step: i64,
    /// Queues are taken modulo this number.
    pub queues: Option<i64>,
}

/// A part of a task.
#[derive(Clone, Debug, Default)]
pub struct Phase {
    /// All have to hold.
    pub waits: Vec<Count>,
    /// What it reads.
    pub reads: Vec<Access>,
    /// What it writes.
    pub writes: Vec<Access>,
    /// What it adds to.
    pub adds: Vec<Add>,
    /// What it signals at its end.
    pub signals: Vec<Count>,
}

/// An event and a number: the count of a wait, or the amount of a signal.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// Name of the event.
    pub event: NameId,
    /// The number.
    pub number: i64,
}

/// A part of a tensor.
#[derive(Clone, Debug)]
pub struct Access {
    /// Name of the tensor.
    pub tensor: NameId,
    /// Which elements; all where there is none. Accesses may share it: the tiles of a tensor are read many times.
    pub region: Option<Rc<Region>>,
}

/// A part of a tensor that is added to.
#[derive(Clone, Debug)]
pub struct Add {
    /// What is added to.
    pub access: Access,
    /// The group within which additions do not commute.
    pub group: Option<NameId>,
}

/// A half-open interval for each axis: those of two axes take no memory of their own.
pub type Bounds = SmallVec<[[i64; 2]; 2]>;

/// Elements of a tensor (clause SCH-04). Few are more than a box.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// A half-open interval for each axis.
    pub bounds: Bounds,
    /// What else stands there where it is written as an object, which pointers follow.
    pub object: Option<Box<Copies>>,
}

/// What is done with the box of a region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// Copies: axis, step, count.
    pub runs: Vec<[i64; 3]>,
    /// By how much each repetition moves it, where it says so.
    pub shift: Option<Vec<i64>>,
}

impl Region {
    /// Copies: axis, step, count.
    pub fn runs(&self) -> &[[i64; 3]] {
        self.object.as_ref().map_or(&[], |object| &object.runs)
    }

    /// By how much each repetition moves it, where it says so.
    pub fn shift(&self) -> Option<&[i64]> {
        self.object.as_ref()?.shift.as_deref()
    }

    /// Whether it is written as an object.
    pub fn is_object(&self) -> bool {
        self.object.is_some()
    }
}
