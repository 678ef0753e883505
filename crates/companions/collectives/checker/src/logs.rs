//! Each element's own operations (clauses COL-04 and COL-05): CS05 to CS13 and CS16, CD01, CD02 and CS14.

use std::collections::{BTreeMap, HashSet};

use megakernel_collectives::{Algorithm, Dtype, Number, Op, Variable};
use megakernel_ir::Rule;

use crate::Broken;
use crate::place::{Place, Queue, Way};

/// How many operations and turns of loops there may be.
const MOST: usize = 33_554_432;

/// What an element does. Handles are told by the positions of their names.
#[derive(Clone, Debug)]
pub enum Act {
    /// Makes a handle of some positions.
    Load { to: usize, at: usize, n: usize },
    /// Writes one to some.
    Store { of: usize, at: usize },
    /// Sends one.
    Send { of: usize, queue: Queue },
    /// Receives one.
    Recv { to: usize, queue: Queue },
    /// Adds two.
    Add { to: usize, a: usize, b: usize, dtype: Dtype },
    /// Converts one.
    Cast { to: usize, of: usize, from: Dtype, dtype: Dtype },
}

/// Numbers and dtype of a message or a handle.
type Shape = (i64, Dtype);

/// What goes through a queue.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// How many messages it holds.
    pub capacity: i64,
    /// What is sent, in order.
    pub sent: Vec<Shape>,
    /// What is received.
    pub received: Vec<Shape>,
}

/// What all elements do.
#[derive(Debug, Default)]
pub struct Logs {
    /// The operations of each element.
    pub acts: Vec<Vec<Act>>,
    /// The queues that are used.
    pub queues: BTreeMap<Queue, Traffic>,
}

struct Reader<'a> {
    algorithm: &'a Algorithm,
    place: &'a Place<'a>,
    element: usize,
    loops: Vec<i64>,
    /// Of each handle that was made: its shape, if nothing was wrong with that.
    made: BTreeMap<usize, Option<Shape>>,
    /// Positions of the scratch that were stored.
    stored: HashSet<i64>,
    logs: Logs,
    found: Vec<Broken>,
    steps: usize,
}

/// The operations of all elements.
///
/// # Errors
/// What is wrong with them.
pub fn expand(algorithm: &Algorithm, place: &Place<'_>) -> Result<Logs, Vec<Broken>> {
    let other = algorithm.logs.iter().find_map(|log| unknown(&log.ops));
    if let Some(other) = other {
        return Err(vec![Broken { rule: Rule::CS05, what: format!("`{other}` is no operation") }]);
    }
    let logs = Logs { acts: vec![Vec::new(); place.elements()], queues: BTreeMap::new() };
    let mut reader = Reader {
        algorithm,
        place,
        element: 0,
        loops: Vec::new(),
        made: BTreeMap::new(),
        stored: HashSet::new(),
        logs,
        found: Vec::new(),
        steps: 0,
    };
    for element in 0..place.elements() {
        let id = i64::try_from(element).unwrap_or(i64::MAX);
        let has = |&[first, last, step]: &[i64; 3]| (first..=last).contains(&id) && (id - first) % step == 0;
        let Some(log) = algorithm.logs.iter().find(|log| log.elements.iter().any(has)) else { continue };
        (reader.element, reader.made, reader.stored) = (element, BTreeMap::new(), HashSet::new());
        if reader.ops(&log.ops).is_none() {
            let what = format!("there are more than {MOST} operations and turns of loops");
            return Err(vec![Broken { rule: Rule::CS16, what }]);
        }
    }
    if reader.found.is_empty() { Ok(reader.logs) } else { Err(reader.found) }
}

fn unknown(ops: &[Op]) -> Option<&str> {
    ops.iter().find_map(|op| match op {
        Op::Other(name) => Some(name.as_str()),
        Op::For { ops, .. } => unknown(ops),
        _ => None,
    })
}

impl Reader<'_> {
    fn number(&self, number: &Number) -> i64 {
        let affine = match number {
            Number::Plain(number) => return *number,
            Number::Affine(affine) => affine,
        };
        let (rank, cube) = self.place.of(self.element);
        let value = |variable: &Variable| match variable {
            Variable::Rank => rank,
            Variable::Cube => cube,
            Variable::Loop(depth) => self.loops.get(*depth).copied().unwrap_or(0),
        };
        let terms =
            affine.of.iter().map(|(variable, factor)| i128::from(*factor) * i128::from(value(variable)));
        let sum = i128::from(affine.add) + terms.sum::<i128>();
        let rest = affine.modulus.map_or(sum, |modulus| sum.rem_euclid(i128::from(modulus)));
        let all = i128::from(affine.plus) + i128::from(affine.times) * rest;
        i64::try_from(all).unwrap_or(if all < 0 { i64::MIN } else { i64::MAX })
    }

    /// Does some operations; nothing, if there are too many.
    fn ops(&mut self, ops: &[Op]) -> Option<()> {
        for op in ops {
            if let Op::For { count, ops } = op {
                let count = self.number(count);
                self.loops.push(0);
                for turn in 0..count {
                    self.step()?;
                    if let Some(last) = self.loops.last_mut() {
                        *last = turn;
                    }
                    self.ops(ops)?;
                }
                self.loops.pop();
                continue;
            }
            self.step()?;
            if let Some(act) = self.act(op)
                && let Some(acts) = self.logs.acts.get_mut(self.element)
            {
                acts.push(act);
            }
        }
        Some(())
    }

    fn step(&mut self) -> Option<()> {
        self.steps += 1;
        (self.steps <= MOST).then_some(())
    }

    /// Says that a rule is broken. Nothing, for who has nothing to do then.
    fn broken<T>(&mut self, rule: Rule, what: &str) -> Option<T> {
        let what = format!("element {}: {what}", self.element);
        self.found.push(Broken { rule, what });
        None
    }

    fn act(&mut self, op: &Op) -> Option<Act> {
        match op {
            Op::Load { to, at, n } => {
                let (at, n) = (self.number(at), self.number(n));
                self.made.insert(*to, None);
                let n = self.length(n)?;
                let from = self.inside(at, n)?;
                let scratch = at.max(self.algorithm.n_elem)..at + n;
                if scratch.clone().any(|position| !self.stored.contains(&position)) {
                    return self.broken(Rule::CS12, "scratch is loaded that nothing was stored to");
                }
                self.made.insert(*to, Some((n, Dtype::F16)));
                Some(Act::Load { to: *to, at: from, n: usize::try_from(n).ok()? })
            }
            Op::Store { of, at } => {
                let at = self.number(at);
                let (n, dtype) = self.shape(*of)?;
                if dtype != Dtype::F16 {
                    return self.broken(Rule::CS11, "a handle of dtype f32 is stored");
                }
                let from = self.inside(at, n)?;
                self.stored.extend(at.max(self.algorithm.n_elem)..at + n);
                Some(Act::Store { of: *of, at: from })
            }
            Op::Send { of, dir } => {
                let queue = self.queue(dir, true);
                let (n, dtype) = self.shape(*of)?;
                if self.algorithm.topology.slot_bytes.is_some_and(|most| n * dtype.bytes() > most) {
                    return self.broken(Rule::CS13, "a message is larger than a slot");
                }
                let queue = queue?;
                self.logs.queues.entry(queue.clone()).or_default().sent.push((n, dtype));
                Some(Act::Send { of: *of, queue })
            }
            Op::Recv { to, dir, n, dtype } => {
                let n = self.number(n);
                self.made.insert(*to, None);
                let queue = self.queue(dir, false);
                let n = self.length(n)?;
                let queue = queue?;
                self.logs.queues.entry(queue.clone()).or_default().received.push((n, *dtype));
                self.made.insert(*to, Some((n, *dtype)));
                Some(Act::Recv { to: *to, queue })
            }
            Op::Add { to, a, b } => {
                let (one, other) = (self.shape(*a), self.shape(*b));
                self.made.insert(*to, None);
                let (one, other) = (one?, other?);
                if one != other {
                    return self.broken(Rule::CS11, "the operands of an addition differ in length or dtype");
                }
                self.made.insert(*to, Some(one));
                Some(Act::Add { to: *to, a: *a, b: *b, dtype: one.1 })
            }
            Op::Cast { to, of, dtype } => {
                let shape = self.shape(*of);
                self.made.insert(*to, None);
                let (n, from) = shape?;
                self.made.insert(*to, Some((n, *dtype)));
                Some(Act::Cast { to: *to, of: *of, from, dtype: *dtype })
            }
            Op::Other(_) | Op::For { .. } => None,
        }
    }

    fn length(&mut self, n: i64) -> Option<i64> {
        if n >= 1 { Some(n) } else { self.broken(Rule::CS09, "a handle without numbers") }
    }

    fn inside(&mut self, at: i64, n: i64) -> Option<usize> {
        let all = self.algorithm.n_elem + self.algorithm.scratch;
        if at < 0 || n > all || at > all - n {
            return self.broken(Rule::CS10, &format!("{n} numbers from position {at} on, of {all}"));
        }
        usize::try_from(at).ok()
    }

    fn shape(&mut self, handle: usize) -> Option<Shape> {
        match self.made.get(&handle) {
            Some(shape) => *shape,
            None => self.broken(Rule::CS06, "a handle is used that nothing has made"),
        }
    }

    fn queue(&mut self, dir: &str, sends: bool) -> Option<Queue> {
        match self.place.way(self.element, dir, sends) {
            Way::Unknown => self.broken(Rule::CS07, &format!("there is no direction `{dir}`")),
            Way::Nowhere => self.broken(Rule::CS08, &format!("`{dir}` leads nowhere")),
            Way::Queue(queue, capacity) => {
                self.logs.queues.entry(queue.clone()).or_default().capacity = capacity;
                Some(queue)
            }
        }
    }
}

fn name((element, direction): &Queue) -> String {
    format!("the queue of element {element} from `{direction}`")
}

impl Logs {
    /// CD01 and CD02.
    pub fn unmatched(&self) -> Vec<Broken> {
        let mut found = Vec::new();
        for (queue, Traffic { sent, received, .. }) in &self.queues {
            let what = format!("{} sends to {}, and {} receives", sent.len(), name(queue), received.len());
            match sent.len().cmp(&received.len()) {
                std::cmp::Ordering::Less => found.push(Broken { rule: Rule::CD01, what }),
                std::cmp::Ordering::Greater => found.push(Broken { rule: Rule::CD02, what }),
                std::cmp::Ordering::Equal => {}
            }
        }
        found
    }

    /// CS14.
    pub fn mismatched(&self) -> Vec<Broken> {
        let differ = |traffic: &Traffic| traffic.sent != traffic.received;
        let queues = self.queues.iter().filter(|(_, traffic)| differ(traffic));
        let what = |queue| format!("a message of {} is received with another length or dtype", name(queue));
        queues.map(|(queue, _)| Broken { rule: Rule::CS14, what: what(queue) }).collect()
    }
}
