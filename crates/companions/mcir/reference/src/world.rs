//! A document with its names resolved.

use megakernel_ir::diagnostic::pointer_token;
use megakernel_mcir::{Body, Document, Memory, Node, Op, Region, Value};

/// A document, and where its values are.
pub struct World<'d> {
    pub document: &'d Document,
    /// By name: the place among the values.
    places: Vec<Option<u32>>,
    /// By place: whether it is an input of the document.
    inputs: Vec<bool>,
}

impl<'d> World<'d> {
    pub fn new(document: &'d Document) -> World<'d> {
        let mut places = vec![None; document.names.len()];
        for (place, value) in (0..).zip(&document.values) {
            places[value.name as usize] = Some(place);
        }
        let mut inputs = vec![false; document.values.len()];
        for &name in &document.inputs {
            if let Some(place) = places[name as usize] {
                inputs[place as usize] = true;
            }
        }
        World { document, places, inputs }
    }

    /// Whether there is a value of this name.
    pub fn has(&self, name: u32) -> bool {
        self.places[name as usize].is_some()
    }

    /// The place of a value that is there.
    pub fn place(&self, name: u32) -> usize {
        self.places[name as usize].unwrap_or_default() as usize
    }

    /// A value that is there.
    pub fn value(&self, name: u32) -> &'d Value {
        &self.document.values[self.place(name)]
    }

    /// Whether a value is on chip.
    pub fn is_tile(&self, name: u32) -> bool {
        self.value(name).memory != Memory::Global
    }

    /// Whether a value is an input of the document.
    pub fn is_input(&self, name: u32) -> bool {
        self.inputs[self.place(name)]
    }

    /// How a document writes a name.
    pub fn name(&self, name: u32) -> &'d str {
        &self.document.names[name as usize]
    }

    /// The pointer to a value.
    pub fn value_pointer(&self, name: u32) -> String {
        format!("/values/{}", pointer_token(self.name(name)))
    }
}

/// A node, and where it stands.
#[derive(Clone, Copy)]
pub struct Site<'d> {
    pub region: usize,
    pub body: Body,
    pub place: usize,
    pub node: &'d Node,
}

impl Site<'_> {
    pub fn pointer(&self) -> String {
        format!("/regions/{}/streaming/tile/{}/{}", self.region, self.body.name(), self.place)
    }

    pub fn input(&self, place: usize) -> String {
        format!("{}/in/{place}", self.pointer())
    }

    pub fn output(&self, place: usize) -> String {
        format!("{}/out/{place}", self.pointer())
    }
}

/// The nodes of a region in the order of its bodies.
pub fn nodes(number: usize, region: &Region) -> impl Iterator<Item = Site<'_>> {
    let bodies = Body::ALL.iter().zip(&region.tile.bodies);
    bodies.flat_map(move |(&body, nodes)| {
        let site = move |(place, node)| Site { region: number, body, place, node };
        nodes.iter().enumerate().map(site)
    })
}

/// What a node moves, if it moves a tile.
pub struct Move {
    pub tensor: u32,
    pub tile: u32,
    pub stores: bool,
}

/// What a node moves. A node with wrong operands moves nothing.
pub fn moves(node: &Node) -> Option<Move> {
    let (&first, &second) = (node.ins.first()?, node.outs.first()?);
    match node.op {
        Op::StoreTile(_) => Some(Move { tensor: second, tile: first, stores: true }),
        Op::LoadTile(_) | Op::Prefetch(..) => Some(Move { tensor: first, tile: second, stores: false }),
        _ => None,
    }
}
