//! Schedules of megakernel runtimes as their JSON states them (clauses SCH-01 to SCH-06 and SCH-17). Reading checks members, types and names, and
//! nothing else: numbers may be out of range here, and tensors unknown.

mod decode;
pub mod document;
mod stream;
mod trace;

pub use decode::{Fault, read};
pub use document::{
    Access, Add, Bounds, Copies, Count, Event, Init, Kind, Memory, NameId, Phase, Region, Repeat, Schedule,
    Storage, Task, Tensor,
};
pub use stream::read_text;
pub use trace::{Done, Entry, Trace, read_trace};
