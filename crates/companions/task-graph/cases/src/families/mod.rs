//! The families: graphs of one rank, of several, and requests to translate.

mod areas;
mod base;
mod bounds;
mod current;
mod deadlock;
mod defects;
mod exact_current;
mod graphs;
mod ids;
mod kernels;
mod near;
mod race;
mod ranks;
mod rejected;
mod small;
mod structure;
mod systems;
mod texts;
mod trips;
mod warnings;

pub use base::{GraphBase, GraphCases, GraphLibrary, library, spec_example};

use megakernel_corpus::families::Cases;

/// The families.
pub const FAMILIES: &[(&str, Cases)] = &[
    ("task-graph/accept", base::cases),
    ("task-graph/texts", texts::texts),
    ("task-graph/members", texts::members),
    ("task-graph/reserved", structure::reserved),
    ("task-graph/event-types", structure::event_types),
    ("task-graph/ids", ids::ids),
    ("task-graph/ranges", structure::ranges),
    ("task-graph/first-tasks", structure::first_tasks),
    ("task-graph/capacity", structure::capacity),
    ("task-graph/tensors", structure::tensors),
    ("task-graph/metadata", structure::metadata),
    ("task-graph/counts", deadlock::counts),
    ("task-graph/order", deadlock::order),
    ("task-graph/lost", deadlock::lost),
    ("task-graph/partial", race::partial),
    ("task-graph/unordered", race::unordered),
    ("task-graph/areas", areas::beside),
    ("task-graph/diagonal", areas::diagonal),
    ("task-graph/dead-writes", race::dead_writes),
    ("task-graph/bounds", bounds::bounds),
    ("task-graph/declared", bounds::declared),
    ("task-graph/ranks", ranks::ranks),
    ("task-graph/warnings", warnings::warnings),
    ("task-graph/operands", current::operands::operands),
    ("task-graph/selections", current::selections::selections),
    ("task-graph/sums", current::sums::sums),
    ("task-graph/collectives", current::collectives::collectives),
    ("task-graph/meetings", current::meetings::meetings),
    ("task-graph/puts", current::puts::puts),
    ("task-graph/pairs", small::races::pairs),
    ("task-graph/parts", small::races::parts),
    ("task-graph/alone", small::alone::alone),
    ("task-graph/queues", small::ranks::queues),
    ("task-graph/iterations", small::ranks::iterations),
    ("task-graph/near", near::near),
    ("task-graph/round-trip", trips::trips),
    ("task-graph/defects", defects::defects),
    ("task-graph/translate", rejected::rejected),
    ("task-graph/translate-current", exact_current::rejected),
];
