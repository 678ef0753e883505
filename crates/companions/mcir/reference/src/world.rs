//! A document with its names resolved.

use std::cell::{RefCell, RefMut};

use megakernel_ir::diagnostic::pointer_token;
use megakernel_mcir::{Body, Document, Memory, Node, Op, Region, Value};

/// A table by name that is emptied at once, however many names there are: what hundreds of thousands of names and regions need takes no memory
/// of its own for each region.
#[derive(Debug)]
pub struct ByName<T> {
    /// With the time at which it was set.
    all: Vec<(u32, T)>,
    now: u32,
}

impl<T: Copy + Default> ByName<T> {
    /// Of the names of a document; nothing is set.
    pub fn new(document: &Document) -> ByName<T> {
        ByName { all: vec![(0, T::default()); document.names.len()], now: 1 }
    }

    /// Nothing is set any more.
    pub fn clear(&mut self) {
        self.now += 1;
    }

    pub fn get(&self, name: u32) -> Option<T> {
        let (at, value) = self.all[name as usize];
        (at == self.now).then_some(value)
    }

    pub fn has(&self, name: u32) -> bool {
        self.all[name as usize].0 == self.now
    }

    /// Sets what a name has, and returns what it had.
    pub fn insert(&mut self, name: u32, value: T) -> Option<T> {
        let (at, before) = std::mem::replace(&mut self.all[name as usize], (self.now, value));
        (at == self.now).then_some(before)
    }
}

impl ByName<()> {
    /// Of a document, with these.
    pub fn of(document: &Document, names: impl IntoIterator<Item = u32>) -> ByName<()> {
        let mut set = ByName::new(document);
        set.extend(names);
        set
    }

    /// Adds a name, and says whether it is new.
    pub fn add(&mut self, name: u32) -> bool {
        self.insert(name, ()).is_none()
    }

    pub fn extend(&mut self, names: impl IntoIterator<Item = u32>) {
        names.into_iter().for_each(|name| {
            self.add(name);
        });
    }

    /// Only these from now on.
    pub fn set(&mut self, names: impl IntoIterator<Item = u32>) {
        self.clear();
        self.extend(names);
    }
}

/// The kinds of names: those of values, of tiles, and of inputs.
const VALUE: u8 = 1;
const TILE: u8 = 2;
const INPUT: u8 = 4;

/// A document, and where its values are.
pub struct World<'d> {
    pub document: &'d Document,
    /// By name: the place among the values.
    places: Vec<u32>,
    /// By name, as bits: what is asked most often, in as little memory as that takes.
    kinds: Vec<u8>,
    /// Lent for the time of a function that looks at one region.
    places_in_region: RefCell<ByName<usize>>,
}

impl<'d> World<'d> {
    pub fn new(document: &'d Document) -> World<'d> {
        let mut places = vec![0; document.names.len()];
        let mut kinds = vec![0; document.names.len()];
        for (place, value) in (0..).zip(&document.values) {
            places[value.name as usize] = place;
            kinds[value.name as usize] = VALUE | if value.memory == Memory::Global { 0 } else { TILE };
        }
        for &name in &document.inputs {
            kinds[name as usize] |= INPUT;
        }
        World { document, places, kinds, places_in_region: RefCell::new(ByName::new(document)) }
    }

    /// A table of places, with nothing set. Whoever has it calls nobody else who takes it.
    pub fn table(&self) -> RefMut<'_, ByName<usize>> {
        let mut table = self.places_in_region.borrow_mut();
        table.clear();
        table
    }

    fn is(&self, name: u32, kind: u8) -> bool {
        self.kinds[name as usize] & kind != 0
    }

    /// Whether there is a value of this name.
    pub fn has(&self, name: u32) -> bool {
        self.is(name, VALUE)
    }

    /// The place of a value that is there.
    pub fn place(&self, name: u32) -> usize {
        self.places[name as usize] as usize
    }

    /// A value that is there.
    pub fn value(&self, name: u32) -> &'d Value {
        &self.document.values[self.place(name)]
    }

    /// Whether a value is on chip.
    pub fn is_tile(&self, name: u32) -> bool {
        self.is(name, TILE)
    }

    /// Whether a value is an input of the document.
    pub fn is_input(&self, name: u32) -> bool {
        self.is(name, INPUT)
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

/// A body as a bit.
pub const fn bit(body: Body) -> u8 {
    1 << body as u8
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
