//! A straightforward judge of schedules: every rule as its sentence says it, on small documents, with no thought for speed.
//!
//! It never decides what a case expects. It judges which waits a worker leaves out (clause SCH-14), where many answers are right, and it
//! gives a second opinion on every case of the corpus in the tests.

use std::collections::BTreeSet;

use megakernel_ir::{Rule, read_value};
use megakernel_schedule::{Schedule, read};

mod checker;
mod contents;
mod deadlock;
mod minimum;
mod order;
mod parts;
mod race;
mod structure;

pub use checker::{CHECKER, Waits};
pub use minimum::minimal;

/// Broken rules, each with the pointer of its place.
pub type Findings = BTreeSet<(Rule, String)>;

/// Phases, accesses and intervals that this judge takes; it compares all pairs.
const MOST: usize = 2000;

/// Why a document is not judged: it is too large for one who compares all pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

/// Judges a document.
///
/// # Errors
/// It is too large.
pub fn judge(document: &[u8]) -> Result<Findings, TooLarge> {
    let value = match read_value(document) {
        Ok(value) => value,
        Err(found) => {
            return Ok(found.into_iter().map(|found| (found.rule, found.pointer.to_string())).collect());
        }
    };
    match read(&value) {
        Ok(schedule) => judge_schedule(&schedule),
        Err(faults) => Ok(faults.into_iter().map(|fault| (fault.rule, fault.pointer)).collect()),
    }
}

/// Judges a schedule that has been read.
///
/// # Errors
/// It is too large.
pub fn judge_schedule(schedule: &Schedule) -> Result<Findings, TooLarge> {
    let found = structure::errors(schedule);
    if !found.is_empty() {
        return Ok(found);
    }
    let world = parts::World::new(schedule)?;
    let (mut found, run) = deadlock::errors(&world);
    if !found.is_empty() {
        return Ok(found);
    }
    let order = order::Order::new(&world, &run);
    for storage in world.storages() {
        let races = race::errors(&world, &order, storage);
        found.extend(if races.is_empty() { contents::errors(&world, &order, storage) } else { races });
    }
    if found.is_empty() {
        found.extend(order.redundant(&world).into_keys().map(|pointer| (Rule::EW01, pointer)));
    }
    found.extend(deadlock::dead_events(&world));
    Ok(found)
}
