//! Elements, directions and queues (clauses COL-02 and COL-03).

use std::collections::HashMap;

use megakernel_collectives::{Topology, TopologyKind};

/// The id of an element.
pub type Element = u32;

/// Directions in this order; each is followed or preceded by its opposite.
const DIRECTIONS: [&str; 8] = ["E", "W", "S", "N", "global_E", "global_W", "global_S", "global_N"];

/// What a direction leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A queue, by its number in the network, and the element at its other end.
    Queue(usize, Element),
    /// The topology has the direction, but not here.
    Missing,
    /// The topology does not have it.
    Unknown,
}

/// A topology without broken rules, with its elements.
#[derive(Debug)]
pub struct Network {
    kind: TopologyKind,
    ranks: i64,
    w: i64,
    h: i64,
    cube_w: i64,
    cube_h: i64,
    link: i64,
    capacity: i64,
    capacities: Vec<i64>,
    /// Edges by name, and then by the rank that sends.
    outs: HashMap<String, HashMap<i64, usize>>,
    /// The same by the rank that receives.
    ins: HashMap<String, HashMap<i64, usize>>,
    ends: Vec<(i64, i64)>,
}

/// The cube that is connected to other devices.
pub fn link_cube(topology: &Topology) -> i64 {
    topology.link_cube.unwrap_or((topology.cube_h / 2) * topology.cube_w + topology.cube_w / 2)
}

impl Network {
    /// Of a topology that breaks no rule.
    pub fn new(topology: &Topology) -> Network {
        let mut network = Network {
            kind: topology.kind,
            ranks: topology.ranks,
            w: topology.w.unwrap_or(1),
            h: topology.h.unwrap_or(1),
            cube_w: topology.cube_w,
            cube_h: topology.cube_h,
            link: link_cube(topology),
            capacity: topology.capacity,
            capacities: Vec::new(),
            outs: HashMap::new(),
            ins: HashMap::new(),
            ends: Vec::new(),
        };
        if topology.kind == TopologyKind::Explicit {
            for (number, edge) in topology.edges.iter().enumerate() {
                network.outs.entry(edge.out.clone()).or_default().insert(edge.from, number);
                network.ins.entry(edge.into.clone()).or_default().insert(edge.to, number);
                network.ends.push((edge.from, edge.to));
                network.capacities.push(edge.capacity.unwrap_or(topology.capacity));
            }
        }
        network
    }

    /// Cubes of a device.
    pub fn cubes(&self) -> i64 {
        self.cube_w * self.cube_h
    }

    /// All elements.
    pub fn elements(&self) -> usize {
        usize::try_from(self.ranks * self.cubes()).unwrap_or(0)
    }

    /// All queues, used or not.
    pub fn queues(&self) -> usize {
        self.elements() * DIRECTIONS.len() + self.ends.len()
    }

    /// Messages that a queue holds.
    pub fn capacity(&self, queue: usize) -> i64 {
        let edge = queue.checked_sub(self.elements() * DIRECTIONS.len());
        edge.and_then(|edge| self.capacities.get(edge)).copied().unwrap_or(self.capacity)
    }

    /// The rank of an element.
    pub fn rank(&self, element: Element) -> i64 {
        i64::from(element) / self.cubes()
    }

    /// The cube of an element.
    pub fn cube(&self, element: Element) -> i64 {
        i64::from(element) % self.cubes()
    }

    /// The element of a rank that is connected to other devices.
    pub fn link(&self, rank: i64) -> Element {
        Element::try_from(rank * self.cubes() + self.link).unwrap_or(0)
    }

    /// How people call an element.
    pub fn name(&self, element: Element) -> String {
        if self.cubes() == 1 {
            return format!("rank {element}");
        }
        format!("rank {} cube {}", self.rank(element), self.cube(element))
    }

    /// Where a message goes that this element sends in a direction, or comes from that it receives from there.
    pub fn way(&self, element: Element, direction: &str, sends: bool) -> Way {
        let known = DIRECTIONS.iter().position(|&name| name == direction);
        let explicit = self.kind == TopologyKind::Explicit;
        let Some(at) = known.filter(|&at| at < 4 || !explicit) else {
            return if explicit { self.edge(element, direction, sends) } else { Way::Unknown };
        };
        if at >= 6 && self.kind == TopologyKind::Ring {
            return Way::Unknown;
        }
        let Some(other) = self.neighbour(element, at) else { return Way::Missing };
        // Opposite directions stand next to each other.
        let (receiver, from) = if sends { (other, at ^ 1) } else { (element, at) };
        Way::Queue(receiver as usize * DIRECTIONS.len() + from, other)
    }

    fn edge(&self, element: Element, name: &str, sends: bool) -> Way {
        let table = if sends { &self.outs } else { &self.ins };
        let Some(edges) = table.get(name) else { return Way::Unknown };
        let rank = self.rank(element);
        if element != self.link(rank) {
            return Way::Missing;
        }
        let Some(&edge) = edges.get(&rank) else { return Way::Missing };
        let Some(&(from, to)) = self.ends.get(edge) else { return Way::Missing };
        let other = self.link(if sends { to } else { from });
        Way::Queue(self.elements() * DIRECTIONS.len() + edge, other)
    }

    fn neighbour(&self, element: Element, direction: usize) -> Option<Element> {
        let (rank, cube) = (self.rank(element), self.cube(element));
        let step = if direction.is_multiple_of(2) { 1 } else { -1 };
        let element = |rank: i64, cube: i64| Element::try_from(rank * self.cubes() + cube).ok();
        let line = |at: i64, extent: i64| Some(at + step).filter(|at| (0..extent).contains(at));
        let ring = |at: i64, extent: i64| Some((at + step).rem_euclid(extent)).filter(|_| extent > 1);
        let (column, row) = (cube % self.cube_w, cube / self.cube_w);
        match direction {
            0 | 1 => return element(rank, row * self.cube_w + line(column, self.cube_w)?),
            2 | 3 => return element(rank, line(row, self.cube_h)? * self.cube_w + column),
            _ if cube != self.link => return None,
            _ => {}
        }
        let (x, y) = (rank % self.w, rank / self.w);
        let other = match (self.kind, direction) {
            (TopologyKind::Ring, _) => ring(rank, self.ranks)?,
            (TopologyKind::Torus, 4 | 5) => y * self.w + ring(x, self.w)?,
            (TopologyKind::Torus, _) => ring(y, self.h)? * self.w + x,
            (TopologyKind::Mesh, 4 | 5) => y * self.w + line(x, self.w)?,
            (TopologyKind::Mesh, _) => line(y, self.h)? * self.w + x,
            (TopologyKind::Explicit, _) => return None,
        };
        element(other, cube)
    }
}
