//! Lines of cubes and of devices, reduced to a place and spread from there.

use megakernel_collectives::TopologyKind;

use super::Setting;
use super::tl::{Handle, Tl};
use crate::network::Element;

/// An element's place in a line.
#[derive(Clone, Copy)]
struct Line {
    place: i64,
    extent: i64,
    /// Towards higher places, and towards lower ones.
    names: [&'static str; 2],
}

const COLUMNS: [&str; 2] = ["E", "W"];
const ROWS: [&str; 2] = ["S", "N"];
const GLOBAL_COLUMNS: [&str; 2] = ["global_E", "global_W"];
const GLOBAL_ROWS: [&str; 2] = ["global_S", "global_N"];

impl Line {
    /// Reduces the line to one place; there, the lower arm is added first.
    fn gather(self, to: i64, own: Handle, tl: &mut Tl) -> Handle {
        let Line { place, extent, names: [up, down] } = self;
        let mut sum = own;
        let mut take = |from: &str, tl: &mut Tl| {
            let came = tl.recv(from, own.n);
            sum = tl.add(sum, came);
        };
        if place > 0 && place <= to {
            take(down, tl);
        }
        if place + 1 < extent && place >= to {
            take(up, tl);
        }
        match place.cmp(&to) {
            std::cmp::Ordering::Less => tl.send(up, sum),
            std::cmp::Ordering::Greater => tl.send(down, sum),
            std::cmp::Ordering::Equal => {}
        }
        sum
    }

    /// Passes on what one place holds.
    fn spread(self, from: i64, own: Handle, tl: &mut Tl) -> Handle {
        let Line { place, extent, names: [up, down] } = self;
        let what = match place.cmp(&from) {
            std::cmp::Ordering::Less => tl.recv(up, own.n),
            std::cmp::Ordering::Greater => tl.recv(down, own.n),
            std::cmp::Ordering::Equal => own,
        };
        if 0 < place && place <= from {
            tl.send(down, what);
        }
        if from <= place && place + 1 < extent {
            tl.send(up, what);
        }
        what
    }

    /// Sends what came last to the next place of a ring, and adds what comes.
    fn as_it_comes(self, own: Handle, tl: &mut Tl) -> Handle {
        let (mut passing, mut sum) = (own, own);
        for _ in 1..self.extent {
            tl.send(self.names[0], passing);
            passing = tl.recv(self.names[1], own.n);
            sum = tl.add(sum, passing);
        }
        sum
    }
}

/// Sums of the cubes of a device, at the link cube. Elsewhere, what was sent on.
pub fn gather_cubes(setting: &Setting, element: Element, own: Handle, tl: &mut Tl) -> Handle {
    let (row, column) = setting.cube(setting.network.cube(element));
    let (link_row, link_column) = link(setting);
    let line = Line { place: column, extent: setting.topology.cube_w, names: COLUMNS };
    let sum = line.gather(link_column, own, tl);
    if column != link_column {
        return sum;
    }
    Line { place: row, extent: setting.topology.cube_h, names: ROWS }.gather(link_row, sum, tl)
}

/// What the link cube holds, at every cube of the device.
pub fn spread_cubes(setting: &Setting, element: Element, own: Handle, tl: &mut Tl) -> Handle {
    let (row, column) = setting.cube(setting.network.cube(element));
    let (link_row, link_column) = link(setting);
    let mut held = own;
    if column == link_column {
        held = Line { place: row, extent: setting.topology.cube_h, names: ROWS }.spread(link_row, held, tl);
    }
    Line { place: column, extent: setting.topology.cube_w, names: COLUMNS }.spread(link_column, held, tl)
}

fn link(setting: &Setting) -> (i64, i64) {
    setting.cube(setting.network.cube(setting.network.link(0)))
}

/// Whether an element is connected to other devices.
pub fn is_link(setting: &Setting, element: Element) -> bool {
    setting.network.link(setting.network.rank(element)) == element
}

/// Over cubes, then over rows and columns of devices, and back.
pub fn all_reduce(setting: &Setting, element: Element, tl: &mut Tl, is_published: bool) {
    let own = tl.load((0, setting.n_elem));
    let mut sum = gather_cubes(setting, element, own, tl);
    if is_link(setting, element) {
        let (rank, (w, h)) = (setting.network.rank(element), setting.grid());
        for (place, extent, names) in [(rank % w, w, GLOBAL_COLUMNS), (rank / w, h, GLOBAL_ROWS)] {
            let line = Line { place, extent, names };
            let wraps = setting.topology.kind != TopologyKind::Mesh;
            if is_published && wraps {
                sum = line.as_it_comes(sum, tl);
                continue;
            }
            // In a ring, rank 0 is the middle, and the connection at the far side is not used.
            let middle = match (wraps, is_published) {
                (true, _) => (extent - 1) / 2,
                (false, true) => extent - 1,
                (false, false) => extent / 2,
            };
            let place = if wraps { (place + middle) % extent } else { place };
            let line = Line { place, ..line };
            sum = line.gather(middle, sum, tl);
            sum = line.spread(middle, sum, tl);
        }
    }
    let sum = spread_cubes(setting, element, sum, tl);
    tl.store(0, sum);
}
