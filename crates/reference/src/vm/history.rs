//! Who last wrote, and who has since read, each element of a storage. The clocks say whether the next access may follow.
//!
//! The elements of a buffer are kept as boxes, so that a tile is one entry, and two entries never hold the same written
//! element. Of a page the elements are its bytes, and the entries may be of different buffers. Judgements are exact to
//! the element.

use megakernel_ir::TaskId;
use smallvec::SmallVec;

use super::clocks::Clocks;
use super::fault::{Access, Fault};
use super::memory::volume;
use crate::region::Region;

/// An access that has happened to a box of elements.
#[derive(Clone, Copy, Debug)]
struct Past {
    access: Access,
    region: Region,
}

/// The accesses of one storage in one launch.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// Disjoint: the last write of each element.
    writes: Vec<Past>,
    /// Reads of elements that have not been written since.
    reads: Vec<Past>,
}

/// What a read is held to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Elements that this launch has not written have no value.
    pub needs_write: bool,
    /// The SM, where the storage is on chip and the task is placed.
    pub on_chip: Option<i64>,
}

impl History {
    /// A read by a task that has just started. `sm_of` gives the SM of a task.
    pub fn read(
        &mut self,
        access: Access,
        region: Region,
        reading: Reading,
        clocks: &Clocks,
        sm_of: impl Fn(TaskId) -> Option<i64>,
    ) -> Result<(), Fault> {
        self.check_read(access, &region, reading, &|other| clocks.has_acquired(access.task, other), &sm_of)?;
        // What follows this read in order follows those that it follows, too.
        self.reads.retain(|past| {
            !(contains(&region, &past.region) && clocks.has_acquired(access.task, past.access.task))
        });
        self.reads.push(Past { access, region });
        Ok(())
    }

    /// Judges a read by somebody who has acquired from the tasks that `knows` admits.
    pub fn check_read(
        &self,
        access: Access,
        region: &Region,
        reading: Reading,
        knows: &dyn Fn(TaskId) -> bool,
        sm_of: &dyn Fn(TaskId) -> Option<i64>,
    ) -> Result<(), Fault> {
        let mut covered = 0;
        for past in &self.writes {
            let shared = past.region.intersection(region);
            if shared.is_empty() {
                continue;
            }
            if !knows(past.access.task) {
                return Err(Fault::Unordered {
                    first: past.access,
                    second: access,
                    region: shared.to_witness(),
                });
            }
            if past.access.buffer != access.buffer {
                return Err(Fault::Clobbered {
                    read: access,
                    write: past.access,
                    region: shared.to_witness(),
                });
            }
            if let (Some(reader), Some(writer)) = (reading.on_chip, sm_of(past.access.task))
                && reader != writer
            {
                return Err(Fault::Hidden { read: access, write: past.access, sms: [reader, writer] });
            }
            covered += volume(&shared);
        }
        if reading.needs_write && covered < volume(region) {
            let missing = self.missing(region).unwrap_or(*region);
            return Err(Fault::Unwritten { read: access, region: missing.to_witness() });
        }
        Ok(())
    }

    /// Some elements of a region that nobody has written.
    pub fn missing(&self, region: &Region) -> Option<Region> {
        let covered: u128 = self.writes.iter().map(|past| volume(&past.region.intersection(region))).sum();
        if covered >= volume(region) {
            return None;
        }
        let mut rest = vec![*region];
        for past in &self.writes {
            rest = rest.iter().flat_map(|part| part.minus(&past.region)).collect();
        }
        rest.first().copied()
    }

    /// A write by a task that has just started, after its reads.
    pub fn write(&mut self, access: Access, region: Region, clocks: &Clocks) -> Result<(), Fault> {
        for past in self.writes.iter().chain(&self.reads) {
            let own = past.access.task == access.task;
            let shared = past.region.intersection(&region);
            if !own && !shared.is_empty() && !clocks.has_acquired(access.task, past.access.task) {
                return Err(Fault::Unordered {
                    first: past.access,
                    second: access,
                    region: shared.to_witness(),
                });
            }
        }
        cut(&mut self.writes, &region);
        cut(&mut self.reads, &region);
        self.writes.push(Past { access, region });
        Ok(())
    }
}

/// Takes the elements of a region out of all entries.
fn cut(entries: &mut Vec<Past>, region: &Region) {
    let mut pieces: SmallVec<[Past; 8]> = SmallVec::new();
    entries.retain(|past| {
        let hit = past.region.overlaps(region);
        if hit {
            pieces.extend(past.region.minus(region).into_iter().map(|region| Past { region, ..*past }));
        }
        !hit
    });
    entries.extend(pieces);
}

fn contains(outer: &Region, inner: &Region) -> bool {
    outer.axes().iter().zip(inner.axes()).all(|(outer, inner)| outer[0] <= inner[0] && inner[1] <= outer[1])
}
