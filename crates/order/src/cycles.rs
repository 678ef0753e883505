//! Cycles in a directed graph, without recursion: strongly connected components, and a shortest cycle in one.

use std::collections::VecDeque;

/// What a graph is of: numbers from 0 on.
pub trait Node: Copy + Ord + From<u32> + Into<u32> {}

impl<N: Copy + Ord + From<u32> + Into<u32>> Node for N {}

fn place(node: impl Node) -> usize {
    node.into() as usize
}

/// Strongly connected components of more than one node, each sorted, in the order of their lowest nodes.
///
/// `successors` gives the successors of a node from an index on, so that the search can stop and go on. Nodes are ids, or numbers
/// where they are of several kinds.
pub fn components<N: Node>(nodes: usize, successors: impl Fn(N, usize) -> Option<N>) -> Vec<Vec<N>> {
    const UNSEEN: u32 = u32::MAX;
    let mut index = vec![UNSEEN; nodes];
    let mut low = vec![0u32; nodes];
    let mut on_stack = vec![false; nodes];
    let (mut stack, mut next_index, mut found) = (Vec::new(), 0u32, Vec::new());
    // Tarjan's algorithm; the path holds each open node with the index of its next successor.
    let mut path: Vec<(N, usize)> = Vec::new();
    for root in (0..nodes as u32).map(N::from) {
        if index[place(root)] != UNSEEN {
            continue;
        }
        path.push((root, 0));
        while let Some((open, successor)) = path.last_mut() {
            let (open, at) = (*open, *successor);
            let node = place(open);
            if at == 0 && index[node] == UNSEEN {
                (index[node], low[node], on_stack[node]) = (next_index, next_index, true);
                next_index += 1;
                stack.push(open);
            }
            *successor += 1;
            match successors(open, at) {
                Some(to) if index[place(to)] == UNSEEN => path.push((to, 0)),
                Some(to) if on_stack[place(to)] => low[node] = low[node].min(index[place(to)]),
                Some(_) => {}
                None => {
                    path.pop();
                    if let Some(&(parent, _)) = path.last() {
                        low[place(parent)] = low[place(parent)].min(low[node]);
                    }
                    if low[node] == index[node] {
                        let start = stack.iter().rposition(|&member| member == open).unwrap_or(0);
                        let mut component = stack.split_off(start);
                        component.iter().for_each(|&member| on_stack[place(member)] = false);
                        if component.len() > 1 {
                            component.sort_unstable();
                            found.push(component);
                        }
                    }
                }
            }
        }
    }
    found.sort_unstable_by_key(|component| component[0]);
    found
}

/// A shortest cycle through `start`, as the nodes from `start` on; empty if there is none.
pub fn shortest_cycle<N: Node>(nodes: usize, start: N, successors: impl Fn(N, usize) -> Option<N>) -> Vec<N> {
    let mut parent = vec![None; nodes];
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for to in (0..).map_while(|index| successors(node, index)) {
            if to == start {
                let mut cycle = vec![node];
                // Nobody comes before `start`.
                while let Some(before) = cycle.last().and_then(|&node: &N| parent[place(node)]) {
                    cycle.push(before);
                }
                cycle.reverse();
                return cycle;
            }
            if parent[place(to)].is_none() {
                parent[place(to)] = Some(node);
                queue.push_back(to);
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_components_and_cycles() {
        let edges: [&[u32]; 7] = [&[1], &[2, 4], &[0, 3], &[], &[5], &[6, 4], &[]];
        let successors = |node: u32, index: usize| edges[node as usize].get(index).copied();
        assert_eq!(components(7, successors), [vec![0, 1, 2], vec![4, 5]]);
        assert_eq!(shortest_cycle(7, 4, successors), [4, 5]);
        assert_eq!(shortest_cycle(7, 1, successors), [1, 2, 0]);
        assert!(shortest_cycle(7, 3, successors).is_empty());
    }

    #[test]
    fn a_long_cycle_needs_no_stack() {
        let nodes = 300_000u32;
        let successors = |node: u32, index: usize| (index == 0).then_some((node + 1) % nodes);
        assert_eq!(components(nodes as usize, successors).len(), 1);
        assert_eq!(shortest_cycle(nodes as usize, 0, successors).len(), nodes as usize);
    }
}
