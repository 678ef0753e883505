//! Class TD, and TR01, which looks at the same counts.

mod cycles;
mod descending;
mod lost;
mod triggers;

use megakernel_order::Findings;

use crate::validate::world::World;

/// Judges the rules. `is_ordered` says that no cycle of events is known to the caller.
pub fn check(world: &World<'_, '_, '_>, is_ordered: bool, findings: &mut Findings) {
    triggers::check(world, findings);
    let on_cycle = cycles::check(world, is_ordered, findings);
    descending::check(world, &on_cycle, findings);
    lost::check(world, findings);
}
