//! Shortest trees over the devices of any topology.

use std::collections::VecDeque;

use megakernel_collectives::TopologyKind;

use super::lines::{gather_cubes, is_link, spread_cubes};
use super::tl::{Handle, Tl};
use super::{Setting, block};
use crate::network::{Element, Way};

/// What a device sends to, and what it receives from, to talk with one of its neighbours.
struct Neighbour {
    rank: usize,
    out: String,
    into: String,
}

/// The neighbours of each device that can answer.
fn neighbours(setting: &Setting) -> Vec<Vec<Neighbour>> {
    let ranks = usize::try_from(setting.topology.ranks).unwrap_or(0);
    let mut all: Vec<Vec<Neighbour>> = (0..ranks).map(|_| Vec::new()).collect();
    if setting.topology.kind == TopologyKind::Explicit {
        let edges = &setting.topology.edges;
        for edge in edges {
            let back = edges.iter().find(|back| (back.from, back.to) == (edge.to, edge.from));
            let ends = (usize::try_from(edge.from), usize::try_from(edge.to));
            if let (Some(back), (Ok(from), Ok(rank))) = (back, ends)
                && let Some(known) =
                    all.get_mut(from).filter(|known| known.iter().all(|other| other.rank != rank))
            {
                known.push(Neighbour { rank, out: edge.out.clone(), into: back.into.clone() });
            }
        }
        return all;
    }
    for (rank, known) in all.iter_mut().enumerate() {
        let link = setting.network.link(i64::try_from(rank).unwrap_or(0));
        for dir in ["global_E", "global_W", "global_S", "global_N"] {
            if let Way::Queue(_, other) = setting.network.way(link, dir, true)
                && let Ok(other) = usize::try_from(setting.network.rank(other))
                && known.iter().all(|known| known.rank != other)
            {
                // What lies in a direction sends back from there, but for a pair that has two connections.
                let into = match setting.network.way(link, opposite(dir), true) {
                    Way::Queue(_, same) if usize::try_from(setting.network.rank(same)) == Ok(other) => {
                        opposite(dir)
                    }
                    _ => dir,
                };
                known.push(Neighbour { rank: other, out: dir.to_owned(), into: into.to_owned() });
            }
        }
    }
    all
}

fn opposite(dir: &str) -> &'static str {
    match dir {
        "global_E" => "global_W",
        "global_W" => "global_E",
        "global_S" => "global_N",
        _ => "global_S",
    }
}

/// A device in a tree.
#[derive(Default)]
struct Node {
    /// What it sends to and receives from, to talk with who stands above.
    parent: Option<(String, String)>,
    /// The same for those below.
    children: Vec<(String, String)>,
}

/// The place of a device in the tree from a root, among the neighbours of all. Nothing, where some device is not in it.
fn tree(all: &[Vec<Neighbour>], root: i64, rank: i64) -> Option<Node> {
    let (root, rank) = (usize::try_from(root).ok()?, usize::try_from(rank).ok()?);
    let mut seen = vec![false; all.len()];
    *seen.get_mut(root)? = true;
    let (mut open, mut node, mut count) = (VecDeque::from([root]), Node::default(), 1);
    while let Some(at) = open.pop_front() {
        for Neighbour { rank: other, out, into } in all.get(at)? {
            let seen = seen.get_mut(*other)?;
            if std::mem::replace(seen, true) {
                continue;
            }
            count += 1;
            open.push_back(*other);
            if at == rank {
                node.children.push((out.clone(), into.clone()));
            }
            if *other == rank {
                let up = all.get(rank)?.iter().find(|neighbour| neighbour.rank == at)?;
                node.parent = Some((up.out.clone(), up.into.clone()));
            }
        }
    }
    (count == all.len()).then_some(node)
}

/// Whether every device can be reached and can answer.
pub fn is_connected(setting: &Setting) -> bool {
    tree(&neighbours(setting), 0, 0).is_some()
}

impl Node {
    fn gather(&self, own: Handle, tl: &mut Tl) -> Handle {
        let mut sum = own;
        for (_, into) in &self.children {
            let came = tl.recv(into, own.n);
            sum = tl.add(sum, came);
        }
        if let Some((out, _)) = &self.parent {
            tl.send(out, sum);
        }
        sum
    }

    fn spread(&self, own: Option<Handle>, n: i64, tl: &mut Tl) -> Option<Handle> {
        let what = match &self.parent {
            Some((_, into)) => Some(tl.recv(into, n)),
            None => own,
        };
        if let Some(what) = what {
            self.children.iter().for_each(|(out, _)| tl.send(out, what));
        }
        what
    }
}

/// Up a tree from rank 0, and down.
pub fn all_reduce(setting: &Setting, element: Element, tl: &mut Tl) {
    let own = tl.load((0, setting.n_elem));
    let mut sum = gather_cubes(setting, element, own, tl);
    if is_link(setting, element)
        && let Some(node) = tree(&neighbours(setting), 0, setting.network.rank(element))
    {
        sum = node.gather(sum, tl);
        sum = node.spread(Some(sum), setting.n_elem, tl).unwrap_or(sum);
    }
    let sum = spread_cubes(setting, element, sum, tl);
    tl.store(0, sum);
}

/// Down a tree from the root, and over the cubes.
pub fn broadcast(setting: &Setting, element: Element, tl: &mut Tl) {
    // Of the others, this is never looked at.
    let mut held = tl.load((0, setting.n_elem));
    if is_link(setting, element)
        && let Some(node) = tree(&neighbours(setting), setting.collective.root, setting.network.rank(element))
    {
        held = node.spread(Some(held), setting.n_elem, tl).unwrap_or(held);
    }
    let held = spread_cubes(setting, element, held, tl);
    if setting.network.link(setting.collective.root) != element {
        tl.store(0, held);
    }
}

/// Each rank's block down a tree of its own.
pub fn all_gather(setting: &Setting, element: Element, tl: &mut Tl) {
    let (all, rank) = (neighbours(setting), setting.network.rank(element));
    for root in 0..setting.topology.ranks {
        let (from, to) = block((0, setting.n_elem), setting.topology.ranks, root);
        if from == to {
            continue;
        }
        let Some(node) = tree(&all, root, rank) else { continue };
        let own = (root == rank).then(|| tl.load((from, to)));
        if let Some(held) = node.spread(own, to - from, tl).filter(|_| root != rank) {
            tl.store(from, held);
        }
    }
}

/// The sums of each rank's block, up a tree of its own.
pub fn reduce_scatter(setting: &Setting, element: Element, tl: &mut Tl) {
    let (all, rank) = (neighbours(setting), setting.network.rank(element));
    for root in 0..setting.topology.ranks {
        let (from, to) = block((0, setting.n_elem), setting.topology.ranks, root);
        if from == to {
            continue;
        }
        let Some(node) = tree(&all, root, rank) else { continue };
        let own = tl.load((from, to));
        let sum = node.gather(own, tl);
        if root == rank && setting.topology.ranks > 1 {
            tl.store(from, sum);
        }
    }
}
