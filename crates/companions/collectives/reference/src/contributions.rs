//! What trees are made of: the leaves that contribute, and leaves by which two trees differ.

use std::collections::HashSet;

use megakernel_collectives::Dtype;

use crate::trees::{Node, Tree, Trees};

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
                Some(Node::Add(_, a, b, between)) => {
                    open.extend([(a, further), (b, further + i64::from(between))])
                }
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
