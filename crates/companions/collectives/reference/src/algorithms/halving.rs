//! Recursive halving and doubling on a ring of a power of two. Partners are 1, 2, 4 and so on devices apart, and those in between
//! relay.

use super::lines::{gather_cubes, is_link, spread_cubes};
use super::tl::{Handle, Tl};
use super::{Setting, block};
use crate::network::Element;

/// Both halves of the `2 * far` devices around a rank send to their partners in the other one, and relay for each other. What is
/// sent, and how long what comes from the partner is. Nothing is sent that has no numbers.
fn exchange(rank: i64, far: i64, sent: Option<Handle>, lengths: [i64; 2], tl: &mut Tl) -> Option<Handle> {
    let place = rank % (2 * far);
    let is_low = place < far;
    let [east, west] = ["global_E", "global_W"];
    if let Some(sent) = sent {
        tl.send(if is_low { east } else { west }, sent);
    }
    let mut own = None;
    // Messages of the low half pass first, the nearest first, then those of the high half; at most one of them is for this device.
    let eastward = if is_low { place } else { 2 * far - place };
    let westward = if is_low { place + 1 } else { 2 * far - 1 - place };
    for (from, to, count, n, ends) in
        [(west, east, eastward, lengths[0], !is_low), (east, west, westward, lengths[1], is_low)]
    {
        for message in 1..=count {
            if n == 0 {
                continue;
            }
            let came = tl.recv(from, n);
            if ends && message == count {
                own = Some(came);
            } else {
                tl.send(to, came);
            }
        }
    }
    own
}

/// The sum over all elements.
pub fn all_reduce(setting: &Setting, element: Element, tl: &mut Tl) {
    let tile = (0, setting.n_elem);
    let own = tl.load(tile);
    let mut sum = gather_cubes(setting, element, own, tl);
    if is_link(setting, element) {
        sum = devices(setting, element, sum, tl);
    }
    let sum = spread_cubes(setting, element, sum, tl);
    tl.store(0, sum);
}

fn devices(setting: &Setting, element: Element, sum: Handle, tl: &mut Tl) -> Handle {
    let (rank, ranks, tile) = (setting.network.rank(element), setting.topology.ranks, (0, setting.n_elem));
    if ranks == 1 {
        return sum;
    }
    tl.store(0, sum);
    let mut part = tile;
    let mut steps = Vec::new();
    let mut far = ranks / 2;
    while far >= 1 {
        let halves = [block(part, 2, 0), block(part, 2, 1)];
        let is_low = rank % (2 * far) < far;
        let [kept, given] = if is_low { halves } else { [halves[1], halves[0]] };
        let length = |(from, to): (i64, i64)| to - from;
        let sent = (length(given) > 0).then(|| tl.load(given));
        // The low half sends the upper numbers.
        let came = exchange(rank, far, sent, [length(halves[1]), length(halves[0])], tl);
        if let Some(came) = came {
            let own = tl.load(kept);
            let sum = tl.add(own, came);
            tl.store(kept.0, sum);
        }
        steps.push((far, halves, kept, given));
        part = kept;
        far /= 2;
    }
    for (far, halves, kept, given) in steps.into_iter().rev() {
        let length = |(from, to): (i64, i64)| to - from;
        let sent = (length(kept) > 0).then(|| tl.load(kept));
        if let Some(came) = exchange(rank, far, sent, halves.map(length), tl) {
            tl.store(given.0, came);
        }
    }
    tl.load(tile)
}
