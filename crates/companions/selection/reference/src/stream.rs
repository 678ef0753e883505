//! The walk with one state (clauses SEL-18 to SEL-21): op by op, with a memory of one region.

use std::borrow::Borrow;
use std::sync::Arc;

use megakernel_selection::{Flag, Op, Reason, Trigger};

use crate::automaton::{Automaton, Node, Places, Ready, Refusal, insert};
use crate::kernels::{Chain, Kernels};
use crate::plan::Region;

/// Chooses kernels for ops as they come: by value from a stream, or by reference from a sequence.
pub struct Selector<'a, O> {
    automaton: Automaton<'a>,
    limit: usize,
    /// The op that comes next has this id.
    next: usize,
    /// Ops that have come and are in no closed region.
    held: Vec<O>,
    state: Option<State>,
}

struct State {
    anchor: usize,
    node: u32,
    /// How many of the ops that are held are in the region.
    length: usize,
    checkpoint: Option<Checkpoint>,
}

struct Checkpoint {
    length: usize,
    node: u32,
    ready: Ready,
}

/// There is no plan (rule KN01): the op that no kernel takes, or the anchor of a region that none completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The op.
    pub op: usize,
    /// Whether no kernel begins with it; otherwise none completes a region that it begins.
    pub begins: bool,
}

/// An attempt of the walk, for explanations (clause SEL-24).
pub enum Attempt<'s> {
    /// A region begins, or grows: the op that joined, the node, and what escapes.
    Joined {
        /// Whether it is the first op of the region.
        start: bool,
        /// The op.
        op: usize,
        /// What the region is like.
        node: &'s Node,
        /// Which of its ops lose something unless it is written out.
        escaping: &'s Places,
        /// The classes of the region.
        word: Vec<&'s str>,
    },
    /// A region is closed.
    Flushed {
        /// The op that was not taken; none at the end.
        op: Option<usize>,
        /// What was closed.
        region: &'s Region,
        /// How many ops are fed again.
        rewound: usize,
    },
}

/// Takes what happens, as it happens.
pub trait Listener {
    /// A region is closed.
    fn closed(&mut self, region: Region);
    /// Whether it wants to know what was tried.
    fn explains(&self) -> bool {
        false
    }
    /// Something was tried.
    fn attempted(&mut self, _: Attempt<'_>) {}
}

impl Listener for Vec<Region> {
    fn closed(&mut self, region: Region) {
        self.push(region);
    }
}

impl<'a, O: Borrow<Op>> Selector<'a, O> {
    /// One before the first op.
    pub fn new(kernels: &'a Kernels, limit: usize) -> Selector<'a, O> {
        Selector { automaton: Automaton::new(kernels), limit, next: 0, held: Vec::new(), state: None }
    }

    /// How many ops are remembered: never more than the limit, and the one that has just come.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Takes the next op.
    ///
    /// # Errors
    /// Where there is no plan. Nothing may be asked of the selector afterwards.
    pub fn push(&mut self, op: O, listener: &mut impl Listener) -> Result<(), Stuck> {
        self.held.push(op);
        self.next += 1;
        self.feed(false, listener)
    }

    /// There are no more ops.
    ///
    /// # Errors
    /// Where there is no plan.
    pub fn end(mut self, listener: &mut impl Listener) -> Result<(), Stuck> {
        self.feed(true, listener)
    }

    fn feed(&mut self, end: bool, listener: &mut impl Listener) -> Result<(), Stuck> {
        loop {
            let taken = self.state.as_ref().map_or(0, |state| state.length);
            if taken == self.held.len() {
                if end && taken > 0 {
                    self.flush(None, Trigger::End, None, listener)?;
                    continue;
                }
                return Ok(());
            }
            let id = self.next - self.held.len() + taken;
            let Some(state) = &self.state else {
                self.start(id, listener)?;
                continue;
            };
            let (region, rest) = self.held.split_at(taken);
            match extended(&mut self.automaton, state.node, region, rest.first().map(O::borrow), self.limit) {
                Ok(node) => {
                    let state = State { node, length: taken + 1, anchor: state.anchor, checkpoint: None };
                    let checkpoint = self.state.take().and_then(|state| state.checkpoint);
                    self.state = Some(State { checkpoint, ..state });
                    self.joined(id, listener);
                }
                Err((trigger, reason)) => self.flush(Some(id), trigger, reason, listener)?,
            }
        }
    }

    fn start(&mut self, id: usize, listener: &mut impl Listener) -> Result<(), Stuck> {
        self.automaton.tidy();
        let node = self.held.first().and_then(|op| self.automaton.start(op.borrow()));
        let node = node.ok_or(Stuck { op: id, begins: true })?;
        self.state = Some(State { anchor: id, node, length: 1, checkpoint: None });
        self.joined(id, listener);
        Ok(())
    }

    /// Sets the checkpoint, where a kernel is complete.
    fn joined(&mut self, id: usize, listener: &mut impl Listener) {
        let Some(state) = &mut self.state else {
            return;
        };
        let Some(node) = self.automaton.node(state.node) else {
            return;
        };
        let region = self.held.get(..state.length).unwrap_or_default();
        let escaping = escaping(region, id);
        if let Some(ready) = node.complete(&escaping).next() {
            state.checkpoint =
                Some(Checkpoint { length: state.length, node: state.node, ready: ready.clone() });
        }
        let start = state.length == 1;
        if listener.explains() {
            let word = region.iter().map(|op| op.borrow().rows.class.as_str()).collect();
            listener.attempted(Attempt::Joined { start, op: id, node, escaping: &escaping, word });
        }
    }

    fn flush(
        &mut self,
        op: Option<usize>,
        trigger: Trigger,
        reason: Option<Reason>,
        listener: &mut impl Listener,
    ) -> Result<(), Stuck> {
        let Some(State { anchor, length, checkpoint, .. }) = self.state.take() else {
            return Ok(());
        };
        let Checkpoint { length: closed, node, ready } =
            checkpoint.ok_or(Stuck { op: anchor, begins: false })?;
        let ops = self.held.drain(..closed).map(|op| Arc::clone(&op.borrow().rows)).collect();
        let matrix = self.automaton.node(node).map(|node| Arc::clone(&node.matrix)).unwrap_or_default();
        let last = anchor + closed - 1;
        let Ready { kernel, cost, .. } = ready;
        let region = Region { anchor, last, kernel, trigger, reason, cost, matrix, ops };
        listener.attempted(Attempt::Flushed { op, region: &region, rewound: length - closed });
        listener.closed(region);
        Ok(())
    }
}

/// The region with the op behind it, or what keeps the op from joining.
pub fn extended<O: Borrow<Op>>(
    automaton: &mut Automaton<'_>,
    node: u32,
    region: &[O],
    op: Option<&Op>,
    limit: usize,
) -> Result<u32, (Trigger, Option<Reason>)> {
    let Some(op) = op else {
        return Err((Trigger::End, None));
    };
    let barrier = |op: &Op| op.rows.flags.contains(&Flag::Barrier);
    if barrier(op) || automaton.node(node).is_some_and(Node::is_barrier) {
        return Err((Trigger::Barrier, None));
    }
    if op.marker.is_some() {
        return Err((Trigger::Sync, None));
    }
    if region.len() >= limit {
        return Err((Trigger::Limit, None));
    }
    let chain = connection(region, op).ok_or((Trigger::Compose, Some(Reason::NotConnected)))?;
    automaton.step(node, op, chain).map_err(|refusal| match refusal {
        Refusal::Rows(reason) => (Trigger::Compose, Some(reason)),
        Refusal::Empty => (Trigger::Empty, Some(Reason::NoViableKernel)),
    })
}

/// Which operands of an op the region has written; `None` if it has to do with none of them (clause SEL-06).
pub fn connection<O: Borrow<Op>>(region: &[O], op: &Op) -> Option<Chain> {
    let (mut connected, mut chain) = (false, Chain::default());
    for (position, value) in op.reads.iter().enumerate() {
        // The latest ops are the likeliest.
        let mut before = region.iter().rev().map(O::borrow);
        if before.clone().any(|before| before.writes.iter().any(|write| write.value == *value)) {
            connected = true;
            chain.add(position);
        } else if !connected {
            connected = before.any(|before| before.reads.contains(value));
        }
    }
    connected.then_some(chain)
}

/// The places in a region, which ends at the op `last`, of the ops that lose something unless it is written out (clause
/// SEL-15).
pub fn escaping<O: Borrow<Op>>(region: &[O], last: usize) -> Places {
    let mut places = Places::new();
    for (place, op) in region.iter().map(O::borrow).enumerate() {
        let beyond = |reader: &i64| usize::try_from(*reader).is_ok_and(|reader| reader > last);
        let escapes = !op.rows.storage_writes.is_empty()
            || op.writes.iter().any(|write| write.output || write.readers.last().is_some_and(beyond));
        if escapes {
            insert(&mut places, place);
        }
    }
    places
}
