//! Events while a sound graph grows operator by operator (clause TGR-17).
//!
//! A task waits for one event and triggers one event, so a graph of tasks is a graph of events in which each task is an
//! edge: from the event that it waits for, its *tail*, to the one that it triggers, its *head*. A task comes before
//! another iff a path leads from its head to the other's tail. Heads are left open until somebody has to wait for the task;
//! whoever then needs several tasks needs their heads to be one event. Events on which an earlier operator depends are
//! *sealed*: they gain dependents but never producers, so every edge leads from an operator to a later one and no cycle
//! can come up. Where a sealed event would have to become one with another, a task that comes after it stands in.

use std::cmp::Reverse;
use std::collections::HashMap;

use megakernel_ir::id;

id! {
    /// A task while the graph grows, by the order in which tasks were added.
    NodeId
}

id! {
    /// An event while the graph grows.
    EventIndex
}

/// No event.
pub const NONE: EventIndex = EventIndex::at(u32::MAX as usize);

/// No landmark.
const UNMARKED: u32 = u32::MAX;

/// A task, as far as order matters.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Its operator.
    pub operator: u32,
    /// The place of its block.
    pub place: u32,
    /// What it waits for, or [`NONE`].
    pub tail: EventIndex,
    /// What it triggers, or [`NONE`] while that is open.
    pub head: EventIndex,
    /// What kind of task it is.
    pub kind: Kind,
}

/// Kinds of tasks that differ in what they may trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A task that may trigger any event of its rank.
    Plain,
    /// All copies of a block. Of their heads only that on this rank is shown here.
    Copies,
    /// The sum of a block.
    Reduce,
}

/// An event.
#[derive(Debug)]
pub struct Event {
    /// The event that it has become one with, or itself.
    merged: EventIndex,
    /// Tasks that trigger it.
    pub producers: Vec<NodeId>,
    /// Tasks that wait for it, in the order in which they were added.
    pub dependents: Vec<NodeId>,
    sealed: bool,
    /// The latest operator among the producers; grows along every path.
    key: u32,
    /// The first landmark that comes after it or is it, [`UNMARKED`] if none is known.
    before: u32,
    /// One more than the last landmark that comes before it or is it, 0 if none is known.
    after: u32,
    /// Whether a REDUCE comes before it.
    pub after_reduce: bool,
    /// Of a sealed event: the tails of its producers.
    sources: Vec<EventIndex>,
    /// Of a sealed event: where to go for an event that is not sealed and comes after it.
    onward: EventIndex,
}

/// All tasks and events so far.
#[derive(Debug, Default)]
pub struct Events {
    /// The tasks, operator by operator.
    pub nodes: Vec<Node>,
    /// The events; those that became one with another are empty.
    pub events: Vec<Event>,
    /// Events that are not sealed.
    unsealed: Vec<EventIndex>,
    /// Choices made for the operator at hand: sets of events, and the event that comes after all of them.
    chosen: HashMap<Vec<EventIndex>, EventIndex>,
    /// Number of landmarks: events on which all tasks of an operator depend, each after the one before.
    landmarks: u32,
    /// Marks of the search at hand, by event.
    marks: Vec<u32>,
    search: u32,
}

impl Events {
    /// Adds a task that waits for `tail`.
    pub fn node(&mut self, operator: u32, place: u32, tail: EventIndex, kind: Kind) -> NodeId {
        let id = NodeId::at(self.nodes.len());
        self.nodes.push(Node { operator, place, tail, head: NONE, kind });
        if let Some(event) = self.events.get_mut(tail.index()) {
            event.dependents.push(id);
        }
        id
    }

    /// The event that `event` is now.
    pub fn find(&mut self, event: EventIndex) -> EventIndex {
        let mut root = event;
        while self.events[root.index()].merged != root {
            root = self.events[root.index()].merged;
        }
        let mut step = event;
        while step != root {
            step = std::mem::replace(&mut self.events[step.index()].merged, root);
        }
        root
    }

    /// A new event that `producers`, whose heads are open, trigger.
    pub fn event(&mut self, producers: &[NodeId]) -> EventIndex {
        let id = EventIndex::at(self.events.len());
        let (mut key, mut after, mut after_reduce) = (0, 0, false);
        for &producer in producers {
            let node = &mut self.nodes[producer.index()];
            node.head = id;
            key = key.max(node.operator);
            after_reduce |= node.kind == Kind::Reduce;
            if let Some(tail) = self.events.get(node.tail.index()) {
                after = after.max(tail.after);
                after_reduce |= tail.after_reduce;
            }
        }
        self.events.push(Event {
            merged: id,
            producers: producers.to_vec(),
            dependents: Vec::new(),
            sealed: false,
            key,
            before: UNMARKED,
            after,
            after_reduce,
            sources: Vec::new(),
            onward: NONE,
        });
        self.marks.push(0);
        self.unsealed.push(id);
        id
    }

    /// The heads of tasks, of which somebody has to wait for all: distinct events, at most one of them not sealed.
    pub fn heads(&mut self, tasks: &[NodeId]) -> Vec<EventIndex> {
        let mut open: Vec<NodeId> =
            tasks.iter().copied().filter(|&task| self.nodes[task.index()].head == NONE).collect();
        open.sort_unstable();
        open.dedup();
        let mut events: Vec<EventIndex> =
            tasks.iter().map(|&task| self.nodes[task.index()].head).filter(|&head| head != NONE).collect();
        if !open.is_empty() {
            events.push(self.event(&open));
        }
        self.distinct(&mut events);
        let unsealed: Vec<EventIndex> =
            events.iter().copied().filter(|&event| !self.events[event.index()].sealed).collect();
        if unsealed.len() > 1 {
            self.unite(&unsealed);
            self.distinct(&mut events);
        }
        events
    }

    /// Sorts events, and leaves out what became one.
    pub fn distinct(&mut self, events: &mut Vec<EventIndex>) {
        for event in events.iter_mut() {
            *event = self.find(*event);
        }
        events.sort_unstable();
        events.dedup();
    }

    /// Makes one event of several that are not sealed.
    fn unite(&mut self, events: &[EventIndex]) -> EventIndex {
        // The small into the large, so that no task moves often.
        let size = |event: &EventIndex| {
            let event = &self.events[event.index()];
            (event.producers.len() + event.dependents.len(), Reverse(event.merged))
        };
        let Some(into) = events.iter().copied().max_by_key(size) else { return NONE };
        for &event in events.iter().filter(|&&event| event != into) {
            let from = &mut self.events[event.index()];
            from.merged = into;
            let (mut producers, mut dependents) =
                (std::mem::take(&mut from.producers), std::mem::take(&mut from.dependents));
            let (key, after, after_reduce) = (from.key, from.after, from.after_reduce);
            dependents.iter().for_each(|&task| self.nodes[task.index()].tail = into);
            producers.iter().for_each(|&task| self.nodes[task.index()].head = into);
            let into = &mut self.events[into.index()];
            into.producers.append(&mut producers);
            into.dependents.append(&mut dependents);
            into.key = into.key.max(key);
            into.after = into.after.max(after);
            into.after_reduce |= after_reduce;
        }
        into
    }

    /// An event that comes after all of `events`, or is it: what a task has to wait for that needs them all.
    pub fn meet(&mut self, mut events: Vec<EventIndex>) -> EventIndex {
        self.distinct(&mut events);
        match &*events {
            [] => return NONE,
            [only] => return *only,
            _ => {}
        }
        if let Some(&known) = self.chosen.get(&events) {
            return self.find(known);
        }
        let chosen = self.choose(&events);
        self.chosen.insert(events, chosen);
        chosen
    }

    fn choose(&mut self, events: &[EventIndex]) -> EventIndex {
        let (sealed, mut rest): (Vec<EventIndex>, Vec<EventIndex>) =
            events.iter().partition(|&&event| self.events[event.index()].sealed);
        let last = events.iter().map(|&event| self.events[event.index()].after).max().unwrap_or(0);
        // Before a landmark that one of the others comes after: the quick way to find out. The landmark itself only counts as
        // before those other events, and there is one if it is not alone.
        let mut maximal: Vec<EventIndex> = sealed
            .iter()
            .copied()
            .filter(|&event| {
                let event = &self.events[event.index()];
                event.before == UNMARKED || event.before + 1 > last || event.after >= last
            })
            .collect();
        if maximal.len() + rest.len() > 1 {
            self.mark_sources(&[&*maximal, &*rest].concat(), &maximal);
            maximal.retain(|&event| self.marks[event.index()] != self.search);
        }
        if let ([only], []) = (&*maximal, &*rest) {
            return *only;
        }
        for event in maximal {
            rest.push(self.onward(event));
        }
        self.distinct(&mut rest);
        self.unite(&rest)
    }

    /// Marks every event that comes before one of `events`, as far down as `wanted` may be found.
    fn mark_sources(&mut self, events: &[EventIndex], wanted: &[EventIndex]) {
        self.search += 1;
        let Some(lowest) = wanted.iter().map(|&event| self.events[event.index()].key).min() else { return };
        let mut open: Vec<EventIndex> = Vec::new();
        for &event in events {
            let event = &self.events[event.index()];
            if event.sealed {
                open.extend(&event.sources);
            } else {
                open.extend(event.producers.iter().map(|&task| self.nodes[task.index()].tail));
            }
        }
        while let Some(event) = open.pop() {
            let Some(found) = self.events.get(event.index()) else { continue };
            if found.key >= lowest && self.marks[event.index()] != self.search {
                self.marks[event.index()] = self.search;
                open.extend(&found.sources);
            }
        }
    }

    /// An event that is not sealed and comes after `event`: along the first dependents, to the first open head.
    fn onward(&mut self, event: EventIndex) -> EventIndex {
        let mut passed = Vec::new();
        let mut at = event;
        let end = loop {
            let found = &self.events[at.index()];
            if !found.sealed {
                break at;
            }
            passed.push(at);
            let Some(&first) = found.dependents.first() else { break at };
            let next = if found.onward == NONE { self.nodes[first.index()].head } else { found.onward };
            if next == NONE {
                break self.event(&[first]);
            }
            at = self.find(next);
        };
        passed.iter().for_each(|&event| self.events[event.index()].onward = end);
        end
    }

    /// Ends an operator, whose tasks begin at `first`.
    pub fn seal(&mut self, first: usize) {
        self.chosen.clear();
        let unsealed = std::mem::take(&mut self.unsealed);
        for &event in &unsealed {
            let event = &mut self.events[event.index()];
            event.sealed = true;
            event.sources = event.producers.iter().map(|&task| self.nodes[task.index()].tail).collect();
            event.sources.retain(|&source| source != NONE);
            event.sources.sort_unstable();
            event.sources.dedup();
        }
        let mut tails =
            self.nodes.iter().skip(first).filter(|node| node.kind != Kind::Reduce).map(|node| node.tail);
        let tail = tails.next().unwrap_or(NONE);
        if tails.all(|other| other == tail) {
            self.landmark(tail);
        }
    }

    /// All tasks of an operator wait for `event`: what is before it is before what comes after it, from now on at a glance.
    fn landmark(&mut self, event: EventIndex) {
        let number = self.landmarks;
        let Some(found) = self.events.get_mut(event.index()) else { return };
        if found.after != number || found.before != UNMARKED {
            return;
        }
        found.after = number + 1;
        self.landmarks += 1;
        let mut open = vec![event];
        while let Some(event) = open.pop() {
            let found = &mut self.events[event.index()];
            if found.before == UNMARKED {
                found.before = number;
                open.extend(&found.sources);
            }
        }
    }
}
