//! What numbers are made of (clauses COL-18 and COL-19): trees of additions, each equal one once.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher as _;
use std::sync::Arc;

use foldhash::fast::FixedState;
use megakernel_collectives::Dtype;

use crate::run::Domain;

/// The number of a tree in [`Trees`].
pub type Tree = u32;

/// A tree, for all positions at once: its leaves are the initial numbers at some position and at places beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// What an element holds at the beginning.
    Leaf(u32),
    /// A sum in a dtype; the second operand is taken so many positions further on. Tiles have fewer than 2^31 of them.
    Add(Dtype, Tree, Tree, i32),
    /// A conversion.
    Cast(Dtype, Tree),
}

/// All trees of a document. Those that are equal up to swapping have one number, and whatever a tree is made of has a smaller one.
#[derive(Debug, Default)]
pub struct Trees {
    nodes: Vec<Node>,
    /// Half of the hash of a node, and its number, at the first free place from the other half on: a quarter of what a map takes
    /// that has the nodes once more. A power of two, at most half of it taken.
    table: Vec<(u32, Tree)>,
    hasher: FixedState,
}

/// A place in the table of [`Trees`] that is free.
const FREE: (u32, Tree) = (0, Tree::MAX);

/// Numbers in a row that are made alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// How.
    pub tree: Tree,
    /// The position of the tile that the tree is taken at for the first of them.
    pub start: u32,
    /// How many.
    pub len: u32,
}

impl Segment {
    fn part(self, from: u32, len: u32) -> Segment {
        Segment { tree: self.tree, start: self.start + from, len }
    }

    /// Without its first numbers.
    pub fn behind(self, from: u32) -> Segment {
        self.part(from, self.len - from)
    }

    /// Whether `next` goes on where this ends.
    fn goes_on(self, next: Segment) -> bool {
        self.tree == next.tree && self.start + self.len == next.start
    }
}

impl Trees {
    /// The number of a node, which may have one already.
    pub fn tree(&mut self, node: Node) -> Tree {
        if self.table.len() <= 2 * self.nodes.len() {
            self.grow();
        }
        let (tag, place) = self.place(node);
        let Some(entry) = self.table.get_mut(place).filter(|entry| **entry == FREE) else {
            return self.table.get(place).map_or(Tree::MAX, |entry| entry.1);
        };
        let tree = Tree::try_from(self.nodes.len()).unwrap_or(Tree::MAX);
        *entry = (tag, tree);
        self.nodes.push(node);
        tree
    }

    /// The number of a node, if there is such a tree.
    pub fn find(&self, node: Node) -> Option<Tree> {
        let entry = self.table.get(self.place(node).1);
        entry.filter(|&&entry| entry != FREE).map(|entry| entry.1)
    }

    /// The tag of a node, and the place in the table where it stands, or would.
    fn place(&self, node: Node) -> (u32, usize) {
        let (tag, mut place) = halves(self.hasher.hash_one(node));
        let mask = self.table.len().wrapping_sub(1);
        loop {
            place &= mask;
            match self.table.get(place) {
                Some(&entry) if entry != FREE && (entry.0 != tag || self.node(entry.1) != Some(node)) => {
                    place += 1
                }
                _ => return (tag, place),
            }
        }
    }

    fn grow(&mut self) {
        let size = (4 * self.nodes.len()).next_power_of_two().max(64);
        let mut table = vec![FREE; size];
        for (tree, node) in (0..).zip(&self.nodes) {
            let (tag, mut place) = halves(self.hasher.hash_one(node));
            place &= size - 1;
            while table.get(place).is_some_and(|&entry| entry != FREE) {
                place = (place + 1) & (size - 1);
            }
            if let Some(entry) = table.get_mut(place) {
                *entry = (tag, tree);
            }
        }
        self.table = table;
    }

    /// A tree by its number.
    pub fn node(&self, tree: Tree) -> Option<Node> {
        self.nodes.get(tree as usize).copied()
    }

    /// All of them, by number.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// A sum, whichever operand stands first.
    fn add(&mut self, dtype: Dtype, a: (Tree, u32), b: (Tree, u32)) -> (Tree, u32) {
        let (first, second) = if a <= b { (a, b) } else { (b, a) };
        let further = second.1.wrapping_sub(first.1).cast_signed();
        (self.tree(Node::Add(dtype, first.0, second.0, further)), first.1)
    }

    /// A conversion; those that change nothing vanish, and those around an exact step too.
    fn cast(&mut self, dtype: Dtype, (of, start): (Tree, u32)) -> (Tree, u32) {
        if dtype == Dtype::F32 {
            return (self.tree(Node::Cast(Dtype::F32, of)), start);
        }
        let widened = |trees: &Trees, tree| match trees.node(tree) {
            Some(Node::Cast(Dtype::F32, narrow)) => Some(narrow),
            _ => None,
        };
        if let Some(narrow) = widened(self, of) {
            return (narrow, start);
        }
        if let Some(Node::Add(Dtype::F32, a, b, further)) = self.node(of)
            && let (Some(a), Some(b)) = (widened(self, a), widened(self, b))
        {
            return self.add(Dtype::F16, (a, start), (b, start.wrapping_add_signed(further)));
        }
        (self.tree(Node::Cast(Dtype::F16, of)), start)
    }
}

/// The tag of a hash, and where in a table it is looked for.
fn halves(hash: u64) -> (u32, usize) {
    ((hash >> 32) as u32, hash as u32 as usize)
}

/// Numbers made alike within a handle: from which of its numbers on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    at: u32,
    segment: Segment,
}

/// A handle. Messages and memories that hold the same numbers share them.
#[derive(Clone, Debug)]
enum Numbers {
    /// All made alike.
    One(Part),
    /// Several segments, one behind the other.
    Many(Arc<[Part]>),
}

impl Numbers {
    fn one(segment: Segment) -> Numbers {
        Numbers::One(Part { at: 0, segment })
    }

    fn all(&self) -> &[Part] {
        match self {
            Numbers::One(part) => std::slice::from_ref(part),
            Numbers::Many(parts) => parts,
        }
    }

    fn len(&self) -> u32 {
        self.all().last().map_or(0, |last| last.at + last.segment.len)
    }

    /// The segments of some of the numbers.
    fn between(&self, from: u32, to: u32) -> impl Iterator<Item = Part> + '_ {
        let all = self.all();
        let first = all.partition_point(|part| part.at + part.segment.len <= from);
        let parts = all.iter().skip(first).take_while(move |part| from < to && part.at < to);
        parts.map(move |part| {
            let at = part.at.max(from);
            let end = (part.at + part.segment.len).min(to);
            Part { at, segment: part.segment.part(at - part.at, end - at) }
        })
    }
}

impl FromIterator<Segment> for Numbers {
    fn from_iter<T: IntoIterator<Item = Segment>>(segments: T) -> Numbers {
        let mut parts: Vec<Part> = Vec::new();
        for segment in segments {
            match parts.last_mut() {
                Some(last) if last.segment.goes_on(segment) => last.segment.len += segment.len,
                last => {
                    let at = last.map_or(0, |last| last.at + last.segment.len);
                    parts.push(Part { at, segment });
                }
            }
        }
        match parts[..] {
            [one] => Numbers::One(one),
            _ => Numbers::Many(parts.into()),
        }
    }
}

/// A handle.
#[derive(Clone, Debug)]
pub struct Handle {
    numbers: Numbers,
    dtype: Dtype,
}

/// A part of an element's memory: numbers of one handle, or those of the beginning.
#[derive(Clone, Debug)]
pub struct Piece {
    numbers: Numbers,
    /// How many of the numbers come before this part.
    skip: u32,
    len: u32,
    /// Whether it was stored.
    pub stored: bool,
}

/// What several memories may hold alike: which handle, and from which position on it would stand there as a whole.
pub type Shared = (usize, i64);

impl Piece {
    /// A handle that was stored.
    pub fn of(handle: &Handle) -> Piece {
        let numbers = handle.numbers.clone();
        Piece { skip: 0, len: numbers.len(), numbers, stored: true }
    }

    /// What is the same wherever this handle stands at the same place.
    pub fn shared(&self, at: u32) -> Option<Shared> {
        match &self.numbers {
            Numbers::One(_) => None,
            // No handle goes away as long as a memory holds it, so that its address is its name.
            Numbers::Many(parts) => Some((parts.as_ptr().addr(), i64::from(at) - i64::from(self.skip))),
        }
    }

    /// Of some positions, those of the piece, if it stands at `at`.
    pub fn within(&self, at: u32, (from, to): (u32, u32)) -> (u32, u32) {
        (from.clamp(at, at + self.len), to.clamp(at, at + self.len))
    }

    /// The segments of some positions, each with its position, if the piece stands at `at`.
    pub fn between(&self, at: u32, range: (u32, u32)) -> impl Iterator<Item = (u32, Segment)> + '_ {
        let (from, to) = self.within(at, range);
        let parts = self.numbers.between(from - at + self.skip, to - at + self.skip);
        parts.map(move |part| (at + (part.at - self.skip), part.segment))
    }

    /// Without its first numbers, and without what comes behind a length.
    fn cut(&self, from: u32, len: u32) -> Piece {
        Piece { skip: self.skip + from, len, ..self.clone() }
    }
}

/// The store of a handle: the position, and what was stored.
pub type Stored = (u32, Handle);

/// The domain of trees.
#[derive(Debug)]
pub struct Symbols {
    /// The trees.
    pub trees: Trees,
    /// Of each element, what its memory holds, by the first positions of the pieces.
    memory: Vec<BTreeMap<u32, Piece>>,
    /// Elements whose stores are written down.
    pub watched: HashMap<usize, Vec<Stored>>,
}

impl Symbols {
    /// Memories at the beginning.
    pub fn new(elements: usize, n_elem: u32) -> Symbols {
        let mut symbols = Symbols {
            trees: Trees::default(),
            memory: Vec::with_capacity(elements),
            watched: HashMap::new(),
        };
        for element in 0..elements {
            let tree = symbols.trees.tree(Node::Leaf(u32::try_from(element).unwrap_or(u32::MAX)));
            let numbers = Numbers::one(Segment { tree, start: 0, len: n_elem });
            let piece = Piece { numbers, skip: 0, len: n_elem, stored: false };
            symbols.memory.push(BTreeMap::from([(0, piece)]));
        }
        symbols
    }

    /// The pieces of an element's memory that reach into some positions, in order, with their first positions.
    pub fn pieces(&self, element: usize, from: u32, to: u32) -> impl Iterator<Item = (u32, &Piece)> + '_ {
        let memory = self.memory.get(element);
        let first = memory.and_then(|memory| memory.range(..=from).next_back()).map_or(from, |(&at, _)| at);
        let pieces = memory.into_iter().flat_map(move |memory| memory.range(first..to.max(first)));
        pieces.map(|(&at, piece)| (at, piece)).filter(move |(at, piece)| at + piece.len > from)
    }

    /// The segments of some positions, each with its first position.
    fn held(&self, element: usize, from: u32, to: u32) -> impl Iterator<Item = (u32, Segment)> + '_ {
        self.pieces(element, from, to).flat_map(move |(at, piece)| piece.between(at, (from, to)))
    }

    /// First positions and trees of some positions, where neighbours differ.
    pub fn alike(&self, element: usize, from: u32, to: u32) -> Vec<(u32, Tree)> {
        let mut found: Vec<(u32, Tree)> = Vec::new();
        for (at, segment) in self.held(element, from, to) {
            if found.last().is_none_or(|&(_, tree)| tree != segment.tree) {
                found.push((at, segment.tree));
            }
        }
        found
    }
}

impl Domain for Symbols {
    type Handle = Handle;

    fn load(&mut self, element: usize, at: u32, n: u32) -> Handle {
        let end = at + n;
        let numbers = match self.pieces(element, at, end).next() {
            // All of what was stored is loaded, as a whole.
            Some((first, piece))
                if first == at && piece.skip == 0 && piece.len == n && piece.numbers.len() == n =>
            {
                piece.numbers.clone()
            }
            _ => self.held(element, at, end).map(|(_, segment)| segment).collect(),
        };
        Handle { numbers, dtype: Dtype::F16 }
    }

    fn store(&mut self, element: usize, at: u32, handle: &Handle) {
        if let Some(watched) = self.watched.get_mut(&element) {
            watched.push((at, handle.clone()));
        }
        let Some(memory) = self.memory.get_mut(element) else { return };
        let new = Piece::of(handle);
        let end = at + new.len;
        // What reaches in from before keeps its beginning, and what reaches out its end.
        let mut behind = None;
        if let Some((&first, piece)) = memory.range_mut(..at).next_back() {
            let last = first + piece.len;
            if last > end {
                behind = Some(piece.cut(end - first, last - end));
            }
            piece.len = piece.len.min(at - first);
        }
        while let Some((&first, piece)) = memory.range(at..end).next() {
            let last = first + piece.len;
            if last > end {
                behind = Some(piece.cut(end - first, last - end));
            }
            if first == at && last >= end {
                // It is replaced below.
                break;
            }
            memory.remove(&first);
        }
        memory.insert(at, new);
        memory.extend(behind.map(|piece| (end, piece)));
    }

    fn add(&mut self, a: &Handle, b: &Handle) -> Handle {
        let mut sum = |x: Segment, y: Segment, len: u32| {
            let (tree, start) = self.trees.add(a.dtype, (x.tree, x.start), (y.tree, y.start));
            Segment { tree, start, len }
        };
        let numbers = if let (Numbers::One(x), Numbers::One(y)) = (&a.numbers, &b.numbers) {
            Numbers::one(sum(x.segment, y.segment, x.segment.len))
        } else {
            let mut left = a.numbers.all().iter().map(|part| part.segment);
            let mut right = b.numbers.all().iter().map(|part| part.segment);
            let (mut one, mut other) = (left.next(), right.next());
            std::iter::from_fn(|| {
                let (x, y) = (one?, other?);
                let len = x.len.min(y.len);
                one = if x.len > len { Some(x.part(len, x.len - len)) } else { left.next() };
                other = if y.len > len { Some(y.part(len, y.len - len)) } else { right.next() };
                Some(sum(x, y, len))
            })
            .collect()
        };
        Handle { numbers, dtype: a.dtype }
    }

    fn cast(&mut self, handle: &Handle, dtype: Dtype) -> Handle {
        if handle.dtype == dtype {
            return handle.clone();
        }
        let cast = |part: &Part| {
            let (tree, start) = self.trees.cast(dtype, (part.segment.tree, part.segment.start));
            Segment { tree, start, ..part.segment }
        };
        Handle { numbers: handle.numbers.all().iter().map(cast).collect(), dtype }
    }

    fn size(handle: &Handle) -> usize {
        handle.numbers.all().len().max(1)
    }
}
