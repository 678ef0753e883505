//! Algorithms as kernels in the form of the module contract (clauses COL-08 to COL-10): what one element does, told by its place.

mod halving;
mod lines;
mod ring;
mod tl;
mod tree;

use megakernel_collectives::document::{Bits, Over};
use megakernel_collectives::{Collective, CollectiveKind, Topology, TopologyKind};
use serde_json::{Map, Value, json};

use crate::network::{Element, Network};
use tl::Tl;

/// Where and for what an algorithm runs.
#[derive(Debug)]
pub struct Setting {
    /// The devices.
    pub topology: Topology,
    /// Their connections.
    pub network: Network,
    /// Positions of each tile.
    pub n_elem: i64,
    /// What is to be reached.
    pub collective: Collective,
}

impl Setting {
    /// A setting of a topology that breaks no rule.
    pub fn new(topology: &Topology, n_elem: i64, collective: Collective) -> Setting {
        Setting { topology: topology.clone(), network: Network::new(topology), n_elem, collective }
    }

    /// Columns and rows of the grid of devices; a ring is a row.
    fn grid(&self) -> (i64, i64) {
        let top = &self.topology;
        match top.kind {
            TopologyKind::Ring | TopologyKind::Explicit => (top.ranks, 1),
            TopologyKind::Torus | TopologyKind::Mesh => (top.w.unwrap_or(1), top.h.unwrap_or(1)),
        }
    }

    fn is_grid(&self) -> bool {
        self.topology.kind != TopologyKind::Explicit
    }

    /// Whether each device is one cube.
    fn is_flat(&self) -> bool {
        self.network.cubes() == 1
    }

    /// Row and column of a cube.
    fn cube(&self, cube: i64) -> (i64, i64) {
        (cube / self.topology.cube_w, cube % self.topology.cube_w)
    }
}

/// An algorithm.
#[derive(Debug)]
pub struct Algorithm {
    /// What people call it.
    pub name: &'static str,
    /// What it does, in words.
    pub about: &'static str,
    /// What it reaches.
    pub kind: CollectiveKind,
    /// Whether all elements end with the same bits, wherever it runs.
    pub identical: bool,
    runs: fn(&Setting) -> bool,
    kernel: fn(&Setting, Element, &mut Tl),
}

/// All of them. Of those that do what is asked, the first is launched.
pub const ALGORITHMS: &[Algorithm] = &[
    Algorithm {
        name: "torus-quarters",
        about: "four quarters of the tile go round rows and columns of a torus at once, each in its own order and direction",
        kind: CollectiveKind::AllReduce,
        identical: true,
        runs: |setting| setting.topology.kind == TopologyKind::Torus,
        kernel: ring::quarters,
    },
    Algorithm {
        name: "ring-both-ways",
        about: "reduce-scatter and all-gather of half the tile in each direction of a ring, or of a closed way through a grid",
        kind: CollectiveKind::AllReduce,
        identical: true,
        runs: |setting| ring::is_closed(setting),
        kernel: |setting, element, tl| ring::all_reduce(setting, element, tl, true),
    },
    Algorithm {
        name: "ring",
        about: "reduce-scatter and all-gather in one direction of a ring, or of a closed way through a grid",
        kind: CollectiveKind::AllReduce,
        identical: true,
        runs: |setting| ring::is_closed(setting),
        kernel: |setting, element, tl| ring::all_reduce(setting, element, tl, false),
    },
    Algorithm {
        name: "halving-doubling",
        about: "recursive halving and doubling on a ring of a power of two devices; those in between relay",
        kind: CollectiveKind::AllReduce,
        identical: true,
        runs: |setting| {
            setting.topology.kind == TopologyKind::Ring
                && setting.topology.ranks.unsigned_abs().is_power_of_two()
        },
        kernel: halving::all_reduce,
    },
    Algorithm {
        name: "lines",
        about: "rows and columns of cubes, then of devices, are each reduced to their middle, and the sum is spread back",
        kind: CollectiveKind::AllReduce,
        identical: true,
        runs: Setting::is_grid,
        kernel: |setting, element, tl| lines::all_reduce(setting, element, tl, false),
    },
    Algorithm {
        name: "tree",
        about: "sums go up a shortest tree over all devices, and the total comes down",
        kind: CollectiveKind::AllReduce,
        identical: true,
        runs: tree::is_connected,
        kernel: tree::all_reduce,
    },
    Algorithm {
        name: "published",
        about: "the hierarchical all-reduce of the source: around a ring, each device adds what comes as it comes",
        kind: CollectiveKind::AllReduce,
        identical: false,
        runs: Setting::is_grid,
        kernel: |setting, element, tl| lines::all_reduce(setting, element, tl, true),
    },
    Algorithm {
        name: "broadcast",
        about: "what the root holds goes down a shortest tree over all devices, and over their cubes",
        kind: CollectiveKind::Broadcast,
        identical: true,
        runs: tree::is_connected,
        kernel: tree::broadcast,
    },
    Algorithm {
        name: "all-gather-ring",
        about: "blocks go round a ring, or a closed way through a grid",
        kind: CollectiveKind::AllGather,
        identical: true,
        runs: |setting| setting.is_flat() && ring::is_closed(setting),
        kernel: ring::all_gather,
    },
    Algorithm {
        name: "all-gather-trees",
        about: "one block after the other goes down a tree of its own",
        kind: CollectiveKind::AllGather,
        identical: true,
        runs: |setting| setting.is_flat() && tree::is_connected(setting),
        kernel: tree::all_gather,
    },
    Algorithm {
        name: "reduce-scatter-ring",
        about: "sums of blocks go round a ring, or a closed way through a grid",
        kind: CollectiveKind::ReduceScatter,
        identical: true,
        runs: |setting| setting.is_flat() && ring::is_closed(setting),
        kernel: ring::reduce_scatter,
    },
    Algorithm {
        name: "reduce-scatter-trees",
        about: "one block after the other is reduced along a tree of its own",
        kind: CollectiveKind::ReduceScatter,
        identical: true,
        runs: |setting| setting.is_flat() && tree::is_connected(setting),
        kernel: tree::reduce_scatter,
    },
];

impl Algorithm {
    /// Whether it reaches what the setting asks for.
    pub fn serves(&self, setting: &Setting) -> bool {
        let Collective { kind, over, bits, .. } = setting.collective;
        self.kind == kind
            && (over == Over::Elements || setting.is_flat())
            && (bits == Bits::PerElement || self.identical)
            && (self.runs)(setting)
    }

    /// What an element does: operations of a log (clause COL-04).
    pub fn launch(&self, setting: &Setting, element: Element) -> Vec<Value> {
        let mut tl = Tl::default();
        (self.kernel)(setting, element, &mut tl);
        tl.ops
    }

    /// All elements together, as a document. Those that do the same share a log.
    pub fn document(&self, setting: &Setting, topology: &Value, collective: &Value) -> Value {
        let mut logs: Vec<(Vec<Value>, Vec<Element>)> = Vec::new();
        let mut known: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
        for element in 0..Element::try_from(setting.network.elements()).unwrap_or(0) {
            let ops = self.launch(setting, element);
            let at = *known.entry(json!(ops).to_string()).or_insert_with(|| {
                logs.push((ops, Vec::new()));
                logs.len() - 1
            });
            if let Some((_, elements)) = logs.get_mut(at) {
                elements.push(element);
            }
        }
        let log = |(ops, elements): (Vec<Value>, Vec<Element>)| {
            let elements: Vec<[Element; 3]> = elements.into_iter().map(|id| [id, id, 1]).collect();
            json!({"elements": elements, "ops": ops})
        };
        let mut document = Map::new();
        document.insert("topology".to_owned(), topology.clone());
        document.insert("n_elem".to_owned(), json!(setting.n_elem));
        document.insert("collective".to_owned(), collective.clone());
        document.insert("logs".to_owned(), logs.into_iter().map(log).collect());
        Value::Object(document)
    }
}

/// The algorithm that is launched.
pub fn chosen(setting: &Setting) -> Option<&'static Algorithm> {
    ALGORITHMS.iter().find(|algorithm| algorithm.serves(setting))
}

/// The algorithm of this name.
pub fn named(name: &str) -> Option<&'static Algorithm> {
    ALGORITHMS.iter().find(|algorithm| algorithm.name == name)
}

/// The positions of block `j` of `q` of some positions.
fn block((from, to): (i64, i64), q: i64, j: i64) -> (i64, i64) {
    let q = q.max(1);
    (from + j * (to - from) / q, from + (j + 1) * (to - from) / q)
}

#[cfg(test)]
mod tests;
