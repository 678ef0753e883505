//! TR02 to TR05: pairs of tasks of one rank.

use std::collections::BTreeSet;

use megakernel_ir::Rule;

use super::Findings;
use super::access::{Access, Storages};
use super::order::Order;

/// TR02 to TR05.
pub fn errors(order: &Order, accesses: &[Access], storages: &Storages) -> Findings {
    let mut found = Findings::new();
    let mut racing: BTreeSet<&(u16, String)> = BTreeSet::new();
    for (n, later) in accesses.iter().enumerate() {
        for (m, earlier) in accesses.iter().enumerate() {
            let pair = earlier.node.0 == later.node.0 && earlier.node.1 < later.node.1;
            if !pair || earlier.remote || later.remote || !conflict(storages, accesses, m, n) {
                continue;
            }
            if !order.unordered(order.index(earlier.node), order.index(later.node)) {
                continue;
            }
            racing.insert(&later.storage);
            if earlier.writes && later.reads {
                found.insert((Rule::TR02, later.at.clone()));
            }
            if earlier.reads && later.writes {
                found.insert((Rule::TR03, later.at.clone()));
            }
            if earlier.writes && later.writes {
                found.insert((Rule::TR04, later.at.clone()));
            }
        }
    }
    for (n, write) in accesses.iter().enumerate().filter(|(_, access)| access.writes && !access.remote) {
        if !racing.contains(&write.storage) && dead(order, accesses, storages, n) {
            found.insert((Rule::TR05, write.at.clone()));
        }
    }
    found
}

/// Whether the two touch a common element, and one of them writes.
pub fn conflict(storages: &Storages, accesses: &[Access], a: usize, b: usize) -> bool {
    let (Some(first), Some(second)) = (accesses.get(a), accesses.get(b)) else { return false };
    first.storage == second.storage
        && (first.writes || second.writes)
        && storages.get(&first.storage).is_some_and(|storage| !storage.overlap(a, b).is_empty())
}

/// Whether a later write covers a part of this one that nobody reads in between.
fn dead(order: &Order, accesses: &[Access], storages: &Storages, n: usize) -> bool {
    let Some(write) = accesses.get(n) else { return false };
    let Some(storage) = storages.get(&write.storage) else { return false };
    let from = order.index(write.node);
    let later: Vec<(usize, usize)> = (0..accesses.len())
        .filter_map(|m| accesses.get(m).map(|access| (m, access)))
        .filter(|(_, over)| over.writes && over.storage == write.storage)
        .map(|(m, over)| (m, order.index(over.node)))
        .filter(|&(_, to)| order.is_before(from, to))
        .collect();
    later.iter().any(|&(m, to)| {
        // What no other write comes to first.
        let mut part = storage.overlap(n, m);
        for &(between, at) in &later {
            if order.is_before(at, to) {
                part.retain(|element| !storage.touches(between, &BTreeSet::from([*element])));
            }
        }
        let read = accesses.iter().enumerate().any(|(r, reader)| {
            let at = order.index(reader.node);
            reader.reads
                && reader.storage == write.storage
                && order.is_before(from, at)
                && (at == to || order.is_before(at, to))
                && storage.touches(r, &part)
        });
        !part.is_empty() && !read
    })
}
