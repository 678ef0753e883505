//! What numbers are made of (clauses COL-18 and COL-19): trees of additions, each equal one once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use megakernel_collectives::Dtype;

use crate::run::Domain;

/// The number of a tree in [`Trees`].
pub type Tree = u32;

/// A tree, for all positions at once: its leaves are the initial numbers at some position and at places beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// What an element holds at the beginning.
    Leaf(u32),
    /// A sum in a dtype; the second operand is taken so many positions further on.
    Add(Dtype, Tree, Tree, i64),
    /// A conversion.
    Cast(Dtype, Tree),
}

/// All trees of a document. Those that are equal up to swapping have one number.
#[derive(Debug, Default)]
pub struct Trees {
    nodes: Vec<Node>,
    known: HashMap<Node, Tree>,
}

/// Numbers in a row that are made alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// How.
    pub tree: Tree,
    /// The position that the tree is taken at for the first of them.
    pub start: i64,
    /// How many.
    pub len: u32,
}

impl Segment {
    fn part(self, from: u32, len: u32) -> Segment {
        Segment { tree: self.tree, start: self.start + i64::from(from), len }
    }

    /// Whether `next` goes on where this ends.
    fn goes_on(self, next: Segment) -> bool {
        self.tree == next.tree && self.start + i64::from(self.len) == next.start
    }
}

impl Trees {
    /// The number of a node, which may have one already.
    pub fn tree(&mut self, node: Node) -> Tree {
        if let Some(&known) = self.known.get(&node) {
            return known;
        }
        let tree = Tree::try_from(self.nodes.len()).unwrap_or(Tree::MAX);
        self.nodes.push(node);
        self.known.insert(node, tree);
        tree
    }

    /// The number of a node, if there is such a tree.
    pub fn find(&self, node: Node) -> Option<Tree> {
        self.known.get(&node).copied()
    }

    /// A tree by its number.
    pub fn node(&self, tree: Tree) -> Option<Node> {
        self.nodes.get(tree as usize).copied()
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// A sum, whichever operand stands first.
    fn add(&mut self, dtype: Dtype, a: (Tree, i64), b: (Tree, i64)) -> (Tree, i64) {
        let (first, second) = if a <= b { (a, b) } else { (b, a) };
        (self.tree(Node::Add(dtype, first.0, second.0, second.1 - first.1)), first.1)
    }

    /// A conversion; those that change nothing vanish, and those around an exact step too.
    fn cast(&mut self, dtype: Dtype, (of, start): (Tree, i64)) -> (Tree, i64) {
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
            return self.add(Dtype::F16, (a, start), (b, start + further));
        }
        (self.tree(Node::Cast(Dtype::F16, of)), start)
    }
}

/// A part of an element's memory that holds numbers made alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// First position.
    pub at: u32,
    /// What it holds.
    pub segment: Segment,
    /// Whether it was stored.
    pub stored: bool,
}

/// The store of a handle: the position, and what was stored.
pub type Stored = (u32, Handle);

/// A handle.
#[derive(Clone, Debug)]
pub struct Handle {
    segments: Arc<[Segment]>,
    dtype: Dtype,
}

/// The domain of trees.
#[derive(Debug)]
pub struct Symbols {
    /// The trees.
    pub trees: Trees,
    /// Of each element, what its memory holds, ascending and without gaps, as far as anything was stored.
    memory: Vec<Vec<Held>>,
    /// Elements whose stores are written down.
    pub watched: HashMap<usize, Vec<Stored>>,
}

impl Symbols {
    /// Memories at the beginning.
    pub fn new(trees: Trees, elements: usize, n_elem: u32) -> Symbols {
        let mut symbols = Symbols { trees, memory: Vec::with_capacity(elements), watched: HashMap::new() };
        for element in 0..elements {
            let tree = symbols.trees.tree(Node::Leaf(u32::try_from(element).unwrap_or(u32::MAX)));
            let segment = Segment { tree, start: 0, len: n_elem };
            symbols.memory.push(vec![Held { at: 0, segment, stored: false }]);
        }
        symbols
    }

    /// What an element holds in some positions, in order.
    pub fn held(&self, element: usize, from: u32, to: u32) -> impl Iterator<Item = Held> + '_ {
        let memory = self.memory.get(element).map(Vec::as_slice).unwrap_or_default();
        let first = memory.partition_point(|held| held.at + held.segment.len <= from);
        memory.iter().skip(first).take_while(move |held| from < to && held.at < to).map(move |held| {
            let cut = from.saturating_sub(held.at);
            let end = (held.at + held.segment.len).min(to);
            let at = held.at + cut;
            Held { at, segment: held.segment.part(cut, end - at), stored: held.stored }
        })
    }
}

/// The segments of a store, with their positions.
pub fn stored(stored: &Stored) -> impl Iterator<Item = (u32, Segment)> + '_ {
    let mut at = stored.0;
    stored.1.segments.iter().map(move |&segment| {
        let here = at;
        at += segment.len;
        (here, segment)
    })
}

fn push(segments: &mut Vec<Segment>, segment: Segment) {
    match segments.last_mut() {
        Some(last) if last.goes_on(segment) => last.len += segment.len,
        _ => segments.push(segment),
    }
}

impl Domain for Symbols {
    type Handle = Handle;

    fn load(&mut self, element: usize, at: u32, n: u32) -> Handle {
        let mut segments = Vec::new();
        for held in self.held(element, at, at + n) {
            push(&mut segments, held.segment);
        }
        Handle { segments: segments.into(), dtype: Dtype::F16 }
    }

    fn store(&mut self, element: usize, at: u32, handle: &Handle) {
        if let Some(watched) = self.watched.get_mut(&element) {
            watched.push((at, handle.clone()));
        }
        let Some(memory) = self.memory.get_mut(element) else { return };
        let end = at + handle.segments.iter().map(|segment| segment.len).sum::<u32>();
        let first = memory.partition_point(|held| held.at + held.segment.len <= at);
        let last = memory.partition_point(|held| held.at < end);
        let mut new = Vec::with_capacity(handle.segments.len() + 2);
        if let Some(held) = memory.get(first).filter(|held| held.at < at) {
            new.push(Held { segment: held.segment.part(0, at - held.at), ..*held });
        } else if let Some(before) = first.checked_sub(1).and_then(|before| memory.get(before)) {
            // Scratch that nobody stores is nobody's to load either: what lies between is never looked at.
            let gap = before.at + before.segment.len;
            if gap < at && first == memory.len() {
                let segment = Segment { tree: Tree::MAX, start: 0, len: at - gap };
                new.push(Held { at: gap, segment, stored: false });
            }
        }
        new.extend(stored(&(at, handle.clone())).map(|(at, segment)| Held { at, segment, stored: true }));
        if let Some(held) =
            last.checked_sub(1).filter(|&last| last >= first).and_then(|last| memory.get(last))
        {
            let behind = held.at + held.segment.len;
            if behind > end {
                let segment = held.segment.part(end - held.at, behind - end);
                new.push(Held { at: end, segment, stored: held.stored });
            }
        }
        memory.splice(first..last.max(first), new);
    }

    fn add(&mut self, a: &Handle, b: &Handle) -> Handle {
        let mut segments = Vec::with_capacity(a.segments.len().max(b.segments.len()));
        let (mut left, mut right) = (a.segments.iter().copied(), b.segments.iter().copied());
        let (mut one, mut other) = (left.next(), right.next());
        while let (Some(x), Some(y)) = (one, other) {
            let len = x.len.min(y.len);
            let (tree, start) = self.trees.add(a.dtype, (x.tree, x.start), (y.tree, y.start));
            push(&mut segments, Segment { tree, start, len });
            one = if x.len > len { Some(x.part(len, x.len - len)) } else { left.next() };
            other = if y.len > len { Some(y.part(len, y.len - len)) } else { right.next() };
        }
        Handle { segments: segments.into(), dtype: a.dtype }
    }

    fn cast(&mut self, handle: &Handle, dtype: Dtype) -> Handle {
        if handle.dtype == dtype {
            return handle.clone();
        }
        let mut segments = Vec::with_capacity(handle.segments.len());
        for segment in handle.segments.iter() {
            let (tree, start) = self.trees.cast(dtype, (segment.tree, segment.start));
            push(&mut segments, Segment { tree, start, len: segment.len });
        }
        Handle { segments: segments.into(), dtype }
    }
}

/// What is contributed to a tree: the leaves, and what is wrong with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contributions {
    /// How many of the leaves that are asked for are there.
    pub wanted: usize,
    /// One that is there twice.
    pub double: Option<u32>,
    /// One that is not asked for, and how many positions further on it is taken.
    pub foreign: Option<(u32, i64)>,
}

/// Counts contributions. Trees that were looked at are marked with the number of the question.
#[derive(Debug, Default)]
pub struct Counter {
    marks: Vec<u32>,
    question: u32,
}

impl Counter {
    /// What contributes to a tree that is taken `further` positions on, where `wanted` says which leaves are asked for.
    pub fn count(
        &mut self,
        trees: &Trees,
        tree: Tree,
        further: i64,
        wanted: impl Fn(u32) -> bool,
    ) -> Contributions {
        self.question += 1;
        self.marks.resize(trees.size(), 0);
        let mut found = Contributions::default();
        let mut aside: HashSet<(Tree, i64)> = HashSet::new();
        let mut open = vec![(tree, further)];
        while let Some((tree, further)) = open.pop() {
            let again = if further == 0 {
                let mark = self.marks.get_mut(tree as usize);
                mark.is_some_and(|mark| std::mem::replace(mark, self.question) == self.question)
            } else {
                !aside.insert((tree, further))
            };
            if again {
                // Whatever it is made of has been counted, and is there a second time.
                found.double = found.double.or_else(|| some_leaf(trees, tree));
                continue;
            }
            match trees.node(tree) {
                Some(Node::Leaf(leaf)) if further == 0 && wanted(leaf) => found.wanted += 1,
                Some(Node::Leaf(leaf)) => found.foreign = found.foreign.or(Some((leaf, further))),
                Some(Node::Add(_, a, b, between)) => open.extend([(a, further), (b, further + between)]),
                Some(Node::Cast(_, of)) => open.push((of, further)),
                None => {}
            }
        }
        found
    }
}

fn some_leaf(trees: &Trees, mut tree: Tree) -> Option<u32> {
    loop {
        tree = match trees.node(tree)? {
            Node::Leaf(leaf) => return Some(leaf),
            Node::Add(_, of, ..) | Node::Cast(_, of) => of,
        };
    }
}

/// The leaves of a tree.
pub fn leaves(trees: &Trees, tree: Tree) -> HashSet<u32> {
    let (mut found, mut seen, mut open) = (HashSet::new(), HashSet::new(), vec![tree]);
    while let Some(tree) = open.pop() {
        if !seen.insert(tree) {
            continue;
        }
        match trees.node(tree) {
            Some(Node::Leaf(leaf)) => {
                found.insert(leaf);
            }
            Some(Node::Add(_, a, b, _)) => open.extend([a, b]),
            Some(Node::Cast(_, of)) => open.push(of),
            None => {}
        }
    }
    found
}

/// Three leaves `x`, `y`, `z` of two different trees with the same leaves once each and no conversions: the first adds `y` and `z`
/// before `x` comes in, the second does not.
pub fn triple(trees: &Trees, one: Tree, other: Tree) -> Option<[u32; 3]> {
    let (mut one, mut other) = (one, other);
    loop {
        let (Node::Add(Dtype::F16, a, b, 0), Node::Add(Dtype::F16, c, d, 0)) =
            (trees.node(one)?, trees.node(other)?)
        else {
            return None;
        };
        let [of_a, of_b, of_c] = [a, b, c].map(|tree| leaves(trees, tree));
        let of_d = leaves(trees, d);
        for (inner, outer) in [(&of_a, &of_b), (&of_b, &of_a)] {
            let (y, z) = (inner.intersection(&of_c).min(), inner.intersection(&of_d).min());
            if let (Some(&y), Some(&z), Some(&x)) = (y, z, outer.iter().min()) {
                return Some([x, y, z]);
            }
        }
        // Both are cut alike: what differs is further down.
        let pairs = if of_a == of_c { [(a, c), (b, d)] } else { [(a, d), (b, c)] };
        (one, other) = pairs.into_iter().find(|(one, other)| one != other)?;
    }
}
