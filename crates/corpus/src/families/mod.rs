//! The case families. Accepted programs are in [`accept`]; every other module makes cases out of them by single
//! edits, or out of text.

pub mod accept;
mod bounds;
mod caches;
mod crossings;
mod deadlock;
pub mod execution;
mod known_gaps;
mod launch;
mod library;
mod members;
mod memory;
pub mod numeric;
mod pages;
mod parameters;
pub mod plan;
mod profiles;
mod queues;
mod race;
mod randoms;
mod references;
mod round_trips;
mod sink;
mod spec_examples;
mod texts;
mod warnings;
mod writes;

pub use library::{Base, Library};
pub use sink::{Document, GENERATOR, Sink, words};
pub use spec_examples::spec_examples;

use self::plan::{Draws, Plan};
use crate::builder::Result;
use crate::companion::Companion;

/// One family of cases.
#[derive(Clone, Copy)]
pub struct Family {
    /// The id, which starts the id of each of its cases.
    pub id: &'static str,
    /// Writes the cases.
    pub cases: Cases,
}

/// Writes the cases of one family.
pub type Cases = fn(&Library, &mut Sink) -> Result<()>;

/// The cases that are executed, before an oracle has filled in what they expect; of families that begin as asked for.
pub fn plans(seed: u64, begun: &dyn Fn(&str) -> bool) -> Result<Vec<Plan>> {
    let mut plans = numeric::plans(seed, begun)?;
    if begun("execution/") {
        plans.extend(execution::plans(seed, &Draws::new())?);
    }
    Ok(plans)
}

/// Those of them whose weights are drawn, with some sets of weights drawn anew.
pub fn redrawn(seed: u64, draws: &Draws) -> Result<Vec<Plan>> {
    let plans = execution::plans(seed, draws)?;
    Ok(plans.into_iter().filter(|plan| plan.weights.is_some()).collect())
}

/// Every family of programs and of the companions, besides the examples of the specification.
pub fn all(companions: &[Companion]) -> Vec<Family> {
    let table: &[(&'static str, Cases)] = &[
        ("accept", accept::cases),
        ("format/not-json", texts::not_json),
        ("format/duplicate-members", texts::duplicate_members),
        ("format/accepted", texts::accepted),
        ("format/undecided", texts::undecided),
        ("format/stages", texts::stages),
        ("format/roots", texts::roots),
        ("format/integral-floats", members::integral_floats),
        ("format/missing-member", members::missing),
        ("format/wrong-type", members::types),
        ("format/unknown-name", members::names),
        ("format/versions", members::versions),
        ("round-trip/programs", round_trips::programs),
        ("round-trip/texts", round_trips::texts),
        ("round-trip/values", round_trips::values),
        ("structure/ids", references::ids),
        ("structure/references", references::references),
        ("structure/duplicate-output", references::duplicate_output),
        ("structure/arity", references::arity),
        ("structure/capacity", references::capacity),
        ("structure/missing-param", parameters::missing),
        ("structure/param-type", parameters::types),
        ("structure/param-range", parameters::ranges),
        ("structure/threshold", parameters::thresholds),
        ("structure/counter-init", references::counter_init),
        ("structure/read-only", references::read_only),
        ("structure/outputs", references::outputs),
        ("structure/shapes", references::shapes),
        ("structure/spaces", references::spaces),
        ("structure/ranges", references::ranges),
        ("deadlock/wait-without-producer", deadlock::wait_without_producer),
        ("deadlock/threshold-above-producers", deadlock::threshold_above_producers),
        ("deadlock/self-wait", deadlock::self_wait),
        ("deadlock/beside-self-wait", deadlock::beside_self_wait),
        ("deadlock/dependency-cycle", deadlock::dependency_cycle),
        ("deadlock/queue-order", queues::queue_order),
        ("deadlock/queue-cycle", queues::queue_cycle),
        ("deadlock/beside-queue-cycle", queues::beside_queue_cycle),
        ("deadlock/sm-out-of-range", queues::sm_out_of_range),
        ("race/first-k-of-n", race::first_k_of_n),
        ("race/drop-wait", race::drop_wait),
        ("race/some-tiles-unordered", race::some_tiles_unordered),
        ("race/nothing-written", caches::nothing_written),
        ("race/rows", caches::rows),
        ("race/unordered-writers", writes::unordered_writers),
        ("race/overlapping-tiles", writes::overlapping_tiles),
        ("race/overwritten-early", writes::overwritten_early),
        ("race/kv-order", caches::kv_order),
        ("race/kv-in-place", caches::kv_in_place),
        ("race/kv-unread", caches::kv_unread),
        ("race/on-chip-sharing", caches::on_chip_sharing),
        ("pages/clobber", pages::clobber),
        ("pages/too-small", pages::too_small),
        ("pages/bad-mapping", pages::bad_mapping),
        ("pages/not-pageable", pages::not_pageable),
        ("pages/space-mismatch", pages::space_mismatch),
        ("pages/on-chip-capacity", pages::on_chip_capacity),
        ("memory-safety/operand-dtype", memory::operand_dtype),
        ("memory-safety/operand-shape", memory::operand_shape),
        ("memory-safety/quantisation", memory::quantisation),
        ("memory-safety/tile-bounds", bounds::tile_bounds),
        ("memory-safety/window-bounds", bounds::window_bounds),
        ("memory-safety/unwritten-read", bounds::unwritten_read),
        ("memory-safety/output-coverage", bounds::output_coverage),
        ("memory-safety/in-place", bounds::in_place),
        ("launch/shared-memory", launch::shared_memory),
        ("launch/threads", launch::threads),
        ("launch/cooperative", launch::cooperative),
        ("launch/assignment", launch::assignment),
        ("crossing/operands-waits", crossings::operands::waits),
        ("crossing/operands-windows", crossings::operands::windows),
        ("crossing/operands-arity", crossings::operands::arity),
        ("crossing/operands-dtypes", crossings::operands::dtypes),
        ("crossing/operands-shapes", crossings::operands::shapes),
        ("crossing/operands-ranks", crossings::operands::ranks),
        ("crossing/operands-precedence", crossings::operands::precedence),
        ("crossing/operands-in-place", crossings::operands::in_place),
        ("crossing/operands-parameters", crossings::operands::parameters),
        ("crossing/operands-unused-parameters", crossings::operands::unused_parameters),
        ("crossing/members-absent", crossings::members::absent),
        ("crossing/members-unknown", crossings::members::unknown),
        ("crossing/members-twice", crossings::members::twice),
        ("crossing/members-ranges", crossings::members::ranges),
        ("crossing/members-names", crossings::members::names),
        ("crossing/members-versions", crossings::members::versions),
        ("crossing/texts-values", crossings::texts::values),
        ("crossing/texts-ends", crossings::texts::ends),
        ("crossing/values-bounds", crossings::values::bounds),
        ("crossing/values-relations", crossings::values::relations),
        ("crossing/values-quantisation", crossings::values::quantisation),
        ("crossing/values-misfits", crossings::values::misfits),
        ("crossing/values-appends", crossings::values::appends),
        ("crossing/values-records", crossings::values::records),
        ("crossing/values-keys", crossings::values::keys),
        ("crossing/values-launches", crossings::values::launches),
        ("crossing/values-spaces", crossings::values::spaces),
        ("crossing/orders-pairs", crossings::orders::pairs),
        ("crossing/orders-twice", crossings::orders::twice),
        ("crossing/orders-variations", crossings::orders::variations),
        ("crossing/orders-waits", crossings::orders::waits),
        ("crossing/orders-queues", crossings::orders::queues),
        ("crossing/members-spelling", crossings::members::spelling),
        ("crossing/pages-hand-over", crossings::pages::hand_over),
        ("crossing/pages-late-readers", crossings::pages::late_readers),
        ("crossing/pages-listed", crossings::pages::listed),
        ("crossing/many-tiles", crossings::many::tiles),
        ("crossing/many-rows", crossings::many::rows),
        ("crossing/many-pages", crossings::many::pages),
        ("crossing/coverage-outputs", crossings::coverage::outputs),
        ("crossing/coverage-aligned", crossings::coverage::aligned),
        ("crossing/coverage-columns", crossings::coverage::columns),
        ("crossing/coverage-cells", crossings::coverage::cells),
        ("crossing/coverage-blocks", crossings::coverage::blocks),
        ("crossing/coverage-caches", crossings::coverage::caches),
        ("crossing/coverage-lanes", crossings::coverage::lanes),
        ("crossing/tasks-nops", crossings::tasks::nops),
        ("crossing/tasks-outputs", crossings::tasks::outputs),
        ("crossing/tasks-waits", crossings::tasks::waits),
        ("crossing/tasks-shared-counters", crossings::tasks::shared_counters),
        ("crossing/tasks-rows", crossings::tasks::rows),
        ("crossing/allowed-operands", crossings::allowed::operands),
        ("crossing/allowed-targets", crossings::allowed::targets),
        ("crossing/targets-cooperative", crossings::allowed::cooperative),
        ("crossing/allowed-orders", crossings::allowed::orders),
        ("crossing/allowed-records", crossings::allowed::records),
        ("profiles/other-classes", profiles::other_classes),
        ("profiles/misfits", profiles::misfits),
        ("profiles/judged-when", profiles::judged_when),
        ("known-gaps/large", known_gaps::large),
        ("known-gaps/reported", known_gaps::gaps),
        ("known-gaps/conservative", known_gaps::conservative),
        ("random/weakened", randoms::weakened),
        ("random/raised", randoms::raised),
        ("random/dropped", randoms::dropped),
        ("random/cyclic", randoms::cyclic),
        ("random/widened", randoms::widened),
        ("random/narrowed", randoms::narrowed),
        ("warnings/unknown-param", warnings::unknown_param),
        ("warnings/gpu-label", warnings::gpu_label),
        ("warnings/on-chip-unplaced", warnings::on_chip_unplaced),
        ("warnings/unused-buffer", warnings::unused_buffer),
        ("warnings/unused-counter", warnings::unused_counter),
        ("warnings/unknown-member", warnings::unknown_member),
    ];
    let families = table.iter().chain(companions.iter().flat_map(|companion| companion.families));
    families.map(|&(id, cases)| Family { id, cases }).collect()
}
