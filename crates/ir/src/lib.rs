//! AMK IR as a library: the data model, reading and writing its JSON, the ids of the rules, diagnostics, and the
//! protocol that every judged program speaks. It judges nothing beyond the shape of a document.

pub mod companion;
pub mod day;
pub mod decode;
pub mod diagnostic;
pub mod formula;
mod generated;
pub mod ids;
pub mod input;
mod maps;
pub mod model;
pub mod names;
pub mod opcode;
mod opcodes;
pub mod params;
pub mod prng;
pub mod protocol;
mod read;
#[doc(hidden)]
pub mod record;
pub mod registry;
pub mod rule;
pub mod shard;
pub mod stream;
pub mod terminal;
mod text;
mod write;

pub use diagnostic::Diagnostic;
pub use ids::{BufferId, CounterId, TaskId};
pub use megakernel_numerics::names;
pub use names::{BufferKind, DType, MemSpace, Opcode};
pub use params::{Number, Param};
pub use read::{ABI_VERSION, IR_VERSION, MAX_DEPTH, Source, read, read_record, read_value, shape, too_deep};
pub use rule::{Rule, clause};
pub use write::{Layout, float_text, write, write_record};
