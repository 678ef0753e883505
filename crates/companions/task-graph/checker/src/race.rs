//! TR02 to TR07: pairs of tasks of one rank.

use std::collections::BTreeSet;

use megakernel_ir::Rule;

use super::Findings;
use super::access::{Access, Storages};
use super::order::Order;

/// TR02 to TR07.
pub fn errors(order: &Order, accesses: &[Access], storages: &Storages) -> Findings {
    let mut found = Findings::new();
    let mut racing: BTreeSet<&(u16, String)> = BTreeSet::new();
    let mut unordered_sums = BTreeSet::new();
    for (n, later) in accesses.iter().enumerate() {
        for (m, earlier) in accesses.iter().enumerate() {
            if earlier.node >= later.node || earlier.storage != later.storage {
                continue;
            }
            if !order.unordered(order.index(earlier.node), order.index(later.node))
                || !conflict(storages, accesses, m, n)
            {
                continue;
            }
            racing.insert(&later.storage);
            if earlier.remote || later.remote {
                // TX03 says so.
                continue;
            }
            if let Some(adding) = [earlier, later].into_iter().find(|access| access.adds) {
                found.insert((Rule::TR06, adding.at.clone()));
                unordered_sums.insert(&later.storage);
                continue;
            }
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
    for (n, sum) in accesses.iter().enumerate().filter(|(_, access)| access.adds && !access.remote) {
        if !unordered_sums.contains(&sum.storage) && !is_set(accesses, storages, n) {
            found.insert((Rule::TR07, sum.at.clone()));
        }
    }
    let values = |access: &Access| access.writes && !access.adds && !access.resets && !access.remote;
    for (n, write) in accesses.iter().enumerate().filter(|(_, access)| values(access)) {
        if !racing.contains(&write.storage) && dead(order, accesses, storages, n) {
            found.insert((Rule::TR05, write.at.clone()));
        }
    }
    found
}

/// Whether every element of a tile to which is added is written by some task of the rank, without adding.
fn is_set(accesses: &[Access], storages: &Storages, n: usize) -> bool {
    let Some(sum) = accesses.get(n) else { return true };
    let Some(storage) = storages.get(&sum.storage) else { return true };
    let sets =
        |access: &Access| access.writes && !access.adds && !access.remote && access.storage == sum.storage;
    let all: BTreeSet<usize> = (0..accesses.len()).filter(|m| accesses.get(*m).is_some_and(sets)).collect();
    storage
        .overlap(n, n)
        .into_iter()
        .all(|element| all.iter().any(|m| storage.touches(*m, &BTreeSet::from([element]))))
}

/// Whether the two touch a common element, and one of them writes.
pub fn conflict(storages: &Storages, accesses: &[Access], a: usize, b: usize) -> bool {
    let (Some(first), Some(second)) = (accesses.get(a), accesses.get(b)) else { return false };
    first.storage == second.storage
        && (first.writes || second.writes)
        && !(first.adds && second.adds)
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
            (reader.reads || reader.adds)
                && reader.storage == write.storage
                && order.is_before(from, at)
                && (at == to || order.is_before(at, to))
                && storage.touches(r, &part)
        });
        !part.is_empty() && !read
    })
}
