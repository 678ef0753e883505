//! Who is whose neighbour (clauses COL-02 and COL-03).

use megakernel_collectives::{Topology, TopologyKind};

/// A queue: who receives from it, and from which direction.
pub type Queue = (usize, String);

/// What a direction leads to.
pub enum Way {
    /// A queue and its capacity.
    Queue(Queue, i64),
    /// Nothing here.
    Nowhere,
    /// Nothing anywhere in this topology.
    Unknown,
}

/// The devices and their cubes.
pub struct Place<'a> {
    topology: &'a Topology,
    cube_w: i64,
    cubes: i64,
    link: i64,
}

fn opposite(direction: &str) -> Option<String> {
    let (front, end) = direction.split_at_checked(direction.len().checked_sub(1)?)?;
    let other = match end {
        "E" => "W",
        "W" => "E",
        "S" => "N",
        "N" => "S",
        _ => return None,
    };
    (front.is_empty() || front == "global_").then(|| format!("{front}{other}"))
}

impl<'a> Place<'a> {
    /// Of a topology that breaks no rule.
    pub fn new(topology: &'a Topology) -> Place<'a> {
        let Topology { cube_w, cube_h, .. } = *topology;
        let middle = (cube_h / 2) * cube_w + cube_w / 2;
        Place { topology, cube_w, cubes: cube_w * cube_h, link: topology.link_cube.unwrap_or(middle) }
    }

    /// How many elements there are.
    pub fn elements(&self) -> usize {
        usize::try_from(self.topology.ranks * self.cubes).unwrap_or(0)
    }

    /// Rank and cube of an element.
    pub fn of(&self, element: usize) -> (i64, i64) {
        let id = i64::try_from(element).unwrap_or(i64::MAX);
        (id / self.cubes, id % self.cubes)
    }

    /// The element of a rank that is connected to other devices.
    pub fn link(&self, rank: i64) -> usize {
        usize::try_from(rank * self.cubes + self.link).unwrap_or(usize::MAX)
    }

    /// How many cubes a device has.
    pub fn cubes(&self) -> usize {
        usize::try_from(self.cubes).unwrap_or(1)
    }

    /// Where an element sends to in a direction, or receives from.
    pub fn way(&self, element: usize, direction: &str, sends: bool) -> Way {
        let global = direction.starts_with("global_");
        if self.topology.kind == TopologyKind::Explicit && (global || opposite(direction).is_none()) {
            return self.edge(element, direction, sends);
        }
        let Some(back) = opposite(direction) else { return Way::Unknown };
        let upright = direction.ends_with(['S', 'N']);
        if global && upright && self.topology.kind == TopologyKind::Ring {
            return Way::Unknown;
        }
        let step = if direction.ends_with(['E', 'S']) { 1 } else { -1 };
        let other =
            if global { self.device(element, upright, step) } else { self.cube(element, upright, step) };
        let Some(other) = other else { return Way::Nowhere };
        let queue = if sends { (other, back) } else { (element, direction.to_owned()) };
        Way::Queue(queue, self.topology.capacity)
    }

    fn edge(&self, element: usize, name: &str, sends: bool) -> Way {
        let named = |edge: &&megakernel_collectives::Edge| name == if sends { &edge.out } else { &edge.into };
        if !self.topology.edges.iter().any(|edge| named(&edge)) {
            return Way::Unknown;
        }
        let (rank, cube) = self.of(element);
        let here = |edge: &&megakernel_collectives::Edge| rank == if sends { edge.from } else { edge.to };
        let edge = self.topology.edges.iter().filter(named).find(here).filter(|_| cube == self.link);
        edge.map_or(Way::Nowhere, |edge| {
            let capacity = edge.capacity.unwrap_or(self.topology.capacity);
            Way::Queue((self.link(edge.to), edge.into.clone()), capacity)
        })
    }

    /// The neighbour of a cube in its device, column by column or row by row.
    fn cube(&self, element: usize, upright: bool, step: i64) -> Option<usize> {
        let (rank, cube) = self.of(element);
        let (mut column, mut row) = (cube % self.cube_w, cube / self.cube_w);
        *if upright { &mut row } else { &mut column } += step;
        let inside = (0..self.cube_w).contains(&column) && (0..self.cubes / self.cube_w).contains(&row);
        let id = rank * self.cubes + row * self.cube_w + column;
        usize::try_from(id).ok().filter(|_| inside)
    }

    /// The same cube of the neighbour of its device.
    fn device(&self, element: usize, upright: bool, step: i64) -> Option<usize> {
        let (rank, cube) = self.of(element);
        let ring = self.topology.kind == TopologyKind::Ring;
        let (w, h) = if ring {
            (self.topology.ranks, 1)
        } else {
            (self.topology.w.unwrap_or(1), self.topology.h.unwrap_or(1))
        };
        let (mut x, mut y) = (rank % w, rank / w);
        let (at, extent) = if upright { (&mut y, h) } else { (&mut x, w) };
        *at += step;
        if self.topology.kind != TopologyKind::Mesh {
            *at = at.rem_euclid(extent);
        }
        let inside = extent > 1 && (0..extent).contains(at) && cube == self.link;
        inside.then(|| self.link(y * w + x))
    }
}
