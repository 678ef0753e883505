//! Lower bounds, by the distances and the connections of the devices (clause COL-25).

use std::collections::VecDeque;

use megakernel_collectives::document::Over;
use megakernel_collectives::{Algorithm, CollectiveKind, TopologyKind};

use super::Costs;
use crate::network::{Network, Way};

/// Devices whose distances are all looked at.
const MOST: usize = 2048;

/// What no algorithm is below. Nothing, where nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// Messages one after the other.
    pub steps: Option<u64>,
    /// Bytes between devices.
    pub bytes: Option<u64>,
    /// Bytes of some connection between devices.
    pub busiest: Option<u64>,
}

impl Bounds {
    /// Time: a chain of messages, or a connection that is busy all the time.
    pub fn time(&self, costs: Costs) -> Option<f64> {
        let chain = costs.alpha * self.steps? as f64;
        let busy = match self.busiest? {
            0 => 0.0,
            bytes => costs.alpha + costs.beta * bytes as f64,
        };
        Some(chain.max(busy))
    }
}

/// The bounds of what an algorithm is asked for, where it is.
pub fn bounds(algorithm: &Algorithm, network: &Network) -> Bounds {
    let ranks = usize::try_from(algorithm.topology.ranks).unwrap_or(0);
    if ranks > MOST {
        return Bounds::default();
    }
    let devices = Devices::new(algorithm, network);
    let steps = devices.steps(algorithm, network);
    let is_flat = network.cubes() == 1;
    let whole = matches!(algorithm.collective.kind, CollectiveKind::AllReduce | CollectiveKind::Broadcast);
    if !is_flat && (algorithm.collective.over == Over::Ranks || !whole) {
        return Bounds { steps, ..Bounds::default() };
    }
    let (bytes, busiest) = devices.loads(algorithm);
    Bounds { steps, bytes: Some(bytes), busiest }
}

struct Devices {
    /// Of each device, those it sends to, one entry for each connection.
    next: Vec<Vec<usize>>,
}

impl Devices {
    fn new(algorithm: &Algorithm, network: &Network) -> Devices {
        let ranks = usize::try_from(algorithm.topology.ranks).unwrap_or(0);
        let mut next = vec![Vec::new(); ranks];
        if algorithm.topology.kind == TopologyKind::Explicit {
            for edge in &algorithm.topology.edges {
                if let (Ok(from), Ok(to)) = (usize::try_from(edge.from), usize::try_from(edge.to))
                    && let Some(next) = next.get_mut(from)
                {
                    next.push(to);
                }
            }
            return Devices { next };
        }
        for (rank, next) in next.iter_mut().enumerate() {
            let link = network.link(i64::try_from(rank).unwrap_or(0));
            for dir in ["global_E", "global_W", "global_S", "global_N"] {
                if let Way::Queue(_, other) = network.way(link, dir, true) {
                    next.push(usize::try_from(network.rank(other)).unwrap_or(0));
                }
            }
        }
        Devices { next }
    }

    /// How far each device is from one. Nothing for those that cannot be reached.
    fn distances(&self, from: usize) -> Vec<Option<u64>> {
        let mut found = vec![None; self.next.len()];
        if let Some(first) = found.get_mut(from) {
            *first = Some(0);
        }
        let mut open = VecDeque::from([(from, 0)]);
        while let Some((at, far)) = open.pop_front() {
            for &other in self.next.get(at).into_iter().flatten() {
                if let Some(place @ None) = found.get_mut(other) {
                    *place = Some(far + 1);
                    open.push_back((other, far + 1));
                }
            }
        }
        found
    }

    /// The way that some number has to go to somebody who is asked for it.
    fn steps(&self, algorithm: &Algorithm, network: &Network) -> Option<u64> {
        let Over::Elements = algorithm.collective.over else {
            return if network.cubes() == 1 { self.farthest(algorithm, 0, 0) } else { None };
        };
        let cube_w = algorithm.topology.cube_w;
        let link = network.cube(network.link(0));
        let away = |a: i64, b: i64| {
            ((a / cube_w - b / cube_w).abs() + (a % cube_w - b % cube_w).abs()).unsigned_abs()
        };
        let to_link = (0..network.cubes()).map(|cube| away(cube, link)).max()?;
        let within = (cube_w - 1 + algorithm.topology.cube_h - 1).unsigned_abs();
        match algorithm.collective.kind {
            CollectiveKind::Broadcast => Some(self.farthest(algorithm, 0, 0)? + to_link),
            CollectiveKind::AllReduce => self.farthest(algorithm, within, 2 * to_link),
            _ if network.cubes() == 1 => self.farthest(algorithm, 0, 0),
            _ => None,
        }
    }

    /// The longest way between devices of which one is asked for what the other held: `within` for a device itself, and `beside`
    /// on top for two of them.
    fn farthest(&self, algorithm: &Algorithm, within: u64, beside: u64) -> Option<u64> {
        let root = usize::try_from(algorithm.collective.root).ok()?;
        let kind = algorithm.collective.kind;
        let q = i64::try_from(self.next.len()).unwrap_or(1);
        // A device whose block is empty is asked for nothing, and gives nothing.
        let has_block = |rank: usize| {
            let rank = i64::try_from(rank).unwrap_or(0);
            (rank + 1) * algorithm.n_elem / q > rank * algorithm.n_elem / q
        };
        let is_asked = |rank: usize| kind != CollectiveKind::ReduceScatter || has_block(rank);
        let gives = |rank: usize| match kind {
            CollectiveKind::Broadcast => rank == root,
            CollectiveKind::AllGather => has_block(rank),
            _ => true,
        };
        let mut most = within;
        for from in (0..self.next.len()).filter(|&rank| gives(rank)) {
            for (to, far) in self.distances(from).into_iter().enumerate().filter(|(to, _)| is_asked(*to)) {
                if to != from {
                    most = most.max(far? + beside);
                }
            }
        }
        Some(most)
    }

    /// Bytes of all connections together, and of some connection.
    fn loads(&self, algorithm: &Algorithm) -> (u64, Option<u64>) {
        let (p, n) = (self.next.len() as u64, algorithm.n_elem.unsigned_abs() * 2);
        let kind = algorithm.collective.kind;
        let bytes = match kind {
            CollectiveKind::AllReduce => 2 * (p - 1) * n,
            _ => (p - 1) * n,
        };
        let connections: u64 = self.next.iter().map(|next| next.len() as u64).sum();
        if p == 1 {
            return (0, Some(0));
        }
        if connections == 0 {
            return (bytes, None);
        }
        let mut most = bytes.div_ceil(connections);
        let root = usize::try_from(algorithm.collective.root).unwrap_or(0);
        for inside in self.cuts(algorithm) {
            let size = inside.iter().filter(|&&is_inside| is_inside).count() as u64;
            let has = |rank: usize| inside.get(rank).copied().unwrap_or(false);
            let entering = self.next.iter().enumerate().filter(|(rank, _)| !has(*rank));
            let entering = entering.flat_map(|(_, next)| next).filter(|&&to| has(to)).count() as u64;
            let needed = match kind {
                CollectiveKind::AllReduce => n,
                CollectiveKind::Broadcast if has(root) => 0,
                CollectiveKind::Broadcast => n,
                // Blocks differ by a position; the smaller ones count.
                CollectiveKind::AllGather => (algorithm.n_elem.unsigned_abs() / p) * (p - size) * 2,
                CollectiveKind::ReduceScatter => (algorithm.n_elem.unsigned_abs() / p) * size * 2,
            };
            if entering > 0 {
                most = most.max(needed.div_ceil(entering));
            }
        }
        (bytes, Some(most))
    }

    /// Parts of the devices that something has to enter: each by itself, and the two sides of each line across the grid.
    fn cuts(&self, algorithm: &Algorithm) -> Vec<Vec<bool>> {
        let p = self.next.len();
        let mut cuts: Vec<Vec<bool>> = Vec::new();
        if p <= 256 {
            cuts.extend((0..p).map(|rank| (0..p).map(|other| other == rank).collect()));
        }
        let extent =
            |extent: Option<i64>| extent.and_then(|extent| usize::try_from(extent).ok()).unwrap_or(p).max(1);
        let (w, h) = match algorithm.topology.kind {
            TopologyKind::Torus | TopologyKind::Mesh => {
                (extent(algorithm.topology.w), extent(algorithm.topology.h))
            }
            TopologyKind::Ring | TopologyKind::Explicit => return cuts,
        };
        for (along, extent) in [(true, w), (false, h)] {
            for line in 1..extent {
                let low = |rank: usize| (if along { rank % w } else { rank / w }) < line;
                cuts.extend([true, false].map(|side| (0..p).map(|rank| low(rank) == side).collect()));
            }
        }
        cuts
    }
}
