//! Which contributions are in trees (clause COL-18), where these are easily told: each of some neighbours of a group, once.

use crate::trees::{Node, Tree, Trees};

/// Neighbours of a group, of which the first comes behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arc {
    group: u32,
    start: u32,
    /// How many; 0 where it is not told.
    len: u32,
}

const UNTOLD: Arc = Arc { group: 0, start: 0, len: 0 };

/// What is in each tree, if that is an arc at one position. Of what goes around a ring, or from the halves of a row to the whole, it is.
#[derive(Debug, Default)]
pub struct Covers {
    arcs: Vec<Arc>,
    /// Members of a group.
    size: u32,
}

impl Covers {
    /// Of all trees, where groups have `size` members and `place` says the group of a leaf and which member it is there.
    pub fn new(trees: &Trees, size: usize, place: impl Fn(u32) -> (u32, u32)) -> Covers {
        let mut covers =
            Covers { arcs: Vec::with_capacity(trees.size()), size: u32::try_from(size).unwrap_or(0) };
        // Whatever a tree is made of has a smaller number.
        for &node in trees.nodes() {
            let arc = match node {
                Node::Leaf(leaf) => {
                    let (group, start) = place(leaf);
                    Arc { group, start, len: 1 }
                }
                Node::Add(_, a, b, 0) => covers.joined(covers.arc(a), covers.arc(b)),
                Node::Add(..) => UNTOLD,
                Node::Cast(_, of) => covers.arc(of),
            };
            covers.arcs.push(arc);
        }
        covers
    }

    /// Whether a tree has each contribution of a group once and no others. If not, that may be so all the same.
    pub fn is_whole(&self, tree: Tree, group: usize) -> bool {
        let arc = self.arc(tree);
        arc.len > 0 && arc.len == self.size && usize::try_from(arc.group) == Ok(group)
    }

    fn arc(&self, tree: Tree) -> Arc {
        self.arcs.get(tree as usize).copied().unwrap_or(UNTOLD)
    }

    /// Two arcs of which the one goes on where the other ends.
    fn joined(&self, a: Arc, b: Arc) -> Arc {
        if a.len == 0 || b.len == 0 || a.group != b.group || a.len > self.size - b.len.min(self.size) {
            return UNTOLD;
        }
        // Members are fewer than elements, of which there are a million at most: this does not overflow.
        let goes_on = |one: Arc, other: Arc| (one.start + one.len) % self.size == other.start;
        let len = a.len + b.len;
        if goes_on(a, b) {
            Arc { len, ..a }
        } else if goes_on(b, a) {
            Arc { len, ..b }
        } else {
            UNTOLD
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use megakernel_collectives::Dtype;

    /// Leaves, sums of what came before and conversions, all of one group with `size` members.
    fn covers(size: usize, nodes: &[Node]) -> Covers {
        let mut trees = Trees::default();
        for (number, &node) in (0..).zip(nodes) {
            assert_eq!(trees.tree(node), number, "{node:?} is there already");
        }
        Covers::new(&trees, size, |leaf| (0, leaf))
    }

    fn sum(a: Tree, b: Tree) -> Node {
        Node::Add(Dtype::F16, a, b, 0)
    }

    #[test]
    fn what_goes_around_is_whole_wherever_it_begins() {
        let leaves = [Node::Leaf(0), Node::Leaf(1), Node::Leaf(2)];
        for [x, y, z] in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [0, 2, 1]] {
            let nodes: Vec<Node> = leaves.into_iter().chain([sum(x, y), sum(3, z)]).collect();
            let covers = covers(3, &nodes);
            assert!(covers.is_whole(4, 0), "{x} {y} {z}");
            assert!(
                !covers.is_whole(3, 0) && !covers.is_whole(0, 0) && !covers.is_whole(4, 1),
                "{x} {y} {z}"
            );
        }
    }

    #[test]
    fn twice_is_not_whole() {
        let leaves = [Node::Leaf(0), Node::Leaf(1), Node::Leaf(2), Node::Leaf(3)];
        // Three of four and two more of them; a leaf twice; all four, and the first a second time; and two of which one is there twice.
        let sums = [sum(0, 1), sum(4, 2), sum(4, 5), sum(0, 0), sum(5, 3), sum(8, 0)];
        let nodes = sums.into_iter().chain([sum(1, 2), sum(4, 10)]);
        let covers = covers(4, &leaves.into_iter().chain(nodes).collect::<Vec<_>>());
        let whole: Vec<Tree> = (0..12).filter(|&tree| covers.is_whole(tree, 0)).collect();
        assert_eq!(whole, [8]);
    }

    #[test]
    fn another_position_and_another_group_are_not_whole() {
        let aside = Node::Add(Dtype::F16, 0, 1, 1);
        let nodes = [Node::Leaf(0), Node::Leaf(1), sum(0, 1), aside, Node::Cast(Dtype::F32, 2)];
        let near = covers(2, &nodes);
        assert_eq!((0..5).filter(|&tree| near.is_whole(tree, 0)).collect::<Vec<Tree>>(), [2, 4]);
        let mut trees = Trees::default();
        nodes.into_iter().for_each(|node| _ = trees.tree(node));
        // A member of each of two groups of two.
        let apart = Covers::new(&trees, 2, |leaf| (leaf, leaf));
        assert!((0..5).all(|tree| !apart.is_whole(tree, 0) && !apart.is_whole(tree, 1)));
    }
}
