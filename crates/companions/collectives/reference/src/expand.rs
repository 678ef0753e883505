//! From templates to the operations of each element (clauses COL-04 and COL-05): the rules CS05 to CS13 and CS16, and CW02.

use std::collections::{BTreeMap, HashSet};

use megakernel_collectives::document::Handle;
use megakernel_collectives::{Affine, Algorithm, Dtype, Fault, Log, Number, Op as Template, Variable};
use megakernel_ir::Rule;

use crate::messages::Messages;
use crate::network::{Element, Network, Way};
use crate::program::{Action, Line, Operation, Program, Queue};

/// The most operations and turns of loops.
const MOST_STEPS: usize = 33_554_432;

/// Expands an algorithm whose elements have logs. Beside the program come warnings, CW02.
///
/// # Errors
/// What is wrong with operations.
pub fn expand(
    algorithm: &Algorithm,
    network: &Network,
    log_of: &[usize],
) -> Result<(Program, Vec<Fault>), Vec<Fault>> {
    let mut expansion = Expansion {
        algorithm,
        network,
        program: Program::default(),
        ends: Vec::new(),
        numbers: vec![u32::MAX; network.queues()],
        found: Vec::new(),
        warned: Vec::new(),
        reported: HashSet::new(),
        steps: 0,
    };
    for (number, log) in algorithm.logs.iter().enumerate() {
        let (mut places, mut ends) = (Vec::new(), Vec::new());
        unknown(&log.ops, &format!("/logs/{number}/ops"), &mut places, &mut ends, &mut expansion.found);
        expansion.program.places.push(places);
        expansion.ends.push(ends);
    }
    if !expansion.found.is_empty() {
        return Err(expansion.found);
    }
    for (element, &log) in log_of.iter().enumerate() {
        let start = expansion.program.ops.len();
        let Some(template) = algorithm.logs.get(log) else { continue };
        let ops = expansion.ends.get(log).map_or(0, Vec::len);
        let mut env = Env::new(network, Element::try_from(element).unwrap_or(0), log, template, ops);
        if expansion.ops(&template.ops, &mut env, 0).is_none() {
            let message = format!("the logs expand to more than {MOST_STEPS} operations and turns of loops");
            return Err(vec![Fault::new(Rule::CS16, "/logs", message)]);
        }
        let ops = start..expansion.program.ops.len();
        expansion.program.lines.push(Line { log, ops, handles: template.handles.len() });
    }
    if expansion.found.is_empty() { Ok((expansion.program, expansion.warned)) } else { Err(expansion.found) }
}

/// CS05, and of each operation its place, and the number of the one behind it and all that is in it.
fn unknown(
    ops: &[Template],
    at: &str,
    places: &mut Vec<String>,
    ends: &mut Vec<u32>,
    found: &mut Vec<Fault>,
) {
    for (number, op) in ops.iter().enumerate() {
        let at = format!("{at}/{number}");
        let here = places.len();
        places.push(at.clone());
        ends.push(0);
        match op {
            Template::Other(name) => {
                let message = format!("`{name}` is none of load, store, send, recv, add and cast");
                found.push(Fault::new(Rule::CS05, at, message));
            }
            Template::For { ops, .. } => unknown(ops, &format!("{at}/ops"), places, ends, found),
            _ => {}
        }
        if let Some(end) = ends.get_mut(here) {
            *end = u32::try_from(places.len()).unwrap_or(u32::MAX);
        }
    }
}

/// What is known of a handle.
#[derive(Clone, Copy)]
enum Known {
    /// Nothing has made it.
    No,
    /// A broken operation has.
    Broken,
    /// How many numbers, and of which dtype.
    Yes(u32, Dtype),
}

/// An element while its log is expanded.
struct Env {
    element: Element,
    log: usize,
    rank: i64,
    cube: i64,
    loops: Vec<i64>,
    handles: Vec<Known>,
    /// From which message of which queue a handle was received.
    arrived: Vec<Option<(u32, usize)>>,
    /// Of the scratch, what has been stored: from each first position to the position behind.
    stored: BTreeMap<i64, i64>,
    /// The queue in the program of each operation of the log that sends or receives, once it was looked up.
    queues: Vec<Option<u32>>,
}

impl Env {
    /// Before the first of so many operations of the template.
    fn new(network: &Network, element: Element, log: usize, template: &Log, ops: usize) -> Env {
        Env {
            element,
            log,
            rank: network.rank(element),
            cube: network.cube(element),
            loops: Vec::new(),
            handles: vec![Known::No; template.handles.len()],
            arrived: vec![None; template.handles.len()],
            stored: BTreeMap::new(),
            queues: vec![None; ops],
        }
    }

    fn number(&self, number: &Number) -> i64 {
        match number {
            Number::Plain(number) => *number,
            Number::Affine(affine) => self.affine(affine),
        }
    }

    fn affine(&self, affine: &Affine) -> i64 {
        let value = |variable: &Variable| match variable {
            Variable::Rank => self.rank,
            Variable::Cube => self.cube,
            Variable::Loop(depth) => self.loops.get(*depth).copied().unwrap_or(0),
        };
        let near = || {
            let mut inner = affine.add;
            for (variable, factor) in &affine.of {
                inner = inner.checked_add(factor.checked_mul(value(variable))?)?;
            }
            if let Some(modulus) = affine.modulus {
                inner = inner.checked_rem_euclid(modulus)?;
            }
            affine.times.checked_mul(inner)?.checked_add(affine.plus)
        };
        if let Some(near) = near() {
            return near;
        }
        // Factors have 32 bits and variables too, so none of this overflows.
        let terms =
            affine.of.iter().map(|(variable, factor)| i128::from(*factor) * i128::from(value(variable)));
        let mut inner = i128::from(affine.add) + terms.sum::<i128>();
        if let Some(modulus) = affine.modulus {
            inner = inner.rem_euclid(i128::from(modulus));
        }
        let outer = i128::from(affine.plus) + i128::from(affine.times) * inner;
        i64::try_from(outer).unwrap_or(if outer < 0 { i64::MIN } else { i64::MAX })
    }

    fn store(&mut self, from: i64, to: i64) {
        let before = self.stored.range(..=to).next_back().map(|(&from, &to)| (from, to));
        let (mut from, mut to) = (from, to);
        let mut meeting = before;
        while let Some((first, last)) = meeting.filter(|&(_, last)| last >= from) {
            self.stored.remove(&first);
            (from, to) = (from.min(first), to.max(last));
            meeting = self.stored.range(..=to).next_back().map(|(&from, &to)| (from, to));
        }
        self.stored.insert(from, to);
    }

    fn holds(&self, from: i64, to: i64) -> bool {
        from >= to || self.stored.range(..=from).next_back().is_some_and(|(_, &last)| last >= to)
    }
}

struct Expansion<'a> {
    algorithm: &'a Algorithm,
    network: &'a Network,
    program: Program,
    /// Of each operation of each log, the number of the one behind it.
    ends: Vec<Vec<u32>>,
    /// The number in the program of each queue of the network.
    numbers: Vec<u32>,
    found: Vec<Fault>,
    warned: Vec<Fault>,
    reported: HashSet<(Rule, usize, u32)>,
    steps: usize,
}

impl Expansion<'_> {
    /// Expands some operations, of which the first has the number `origin` in its template; nothing if there are too many.
    fn ops(&mut self, ops: &[Template], env: &mut Env, mut origin: u32) -> Option<()> {
        for op in ops {
            let here = origin;
            origin = *self.ends.get(env.log)?.get(here as usize)?;
            if let Template::For { count, ops } = op {
                let count = env.number(count).max(0);
                // Every turn takes at least this: what is too long is refused before it is done.
                let least = (ops.len() as i128 + 1) * i128::from(count);
                if least + self.steps as i128 > MOST_STEPS as i128 {
                    return None;
                }
                if ops.is_empty() {
                    self.steps += usize::try_from(count).unwrap_or(MOST_STEPS);
                    continue;
                }
                env.loops.push(0);
                for turn in 0..count {
                    self.step()?;
                    if let Some(last) = env.loops.last_mut() {
                        *last = turn;
                    }
                    self.ops(ops, env, here + 1)?;
                }
                env.loops.pop();
                continue;
            }
            self.step()?;
            if let Some(action) = self.action(op, env, here) {
                self.program.ops.push(Operation { action, origin: here });
            }
        }
        Some(())
    }

    fn step(&mut self) -> Option<()> {
        self.steps += 1;
        (self.steps <= MOST_STEPS).then_some(())
    }

    fn broken(&mut self, rule: Rule, env: &Env, origin: u32, message: impl FnOnce() -> String) {
        if !self.reported.insert((rule, env.log, origin)) {
            return;
        }
        let place = self.program.places.get(env.log).and_then(|places| places.get(origin as usize));
        let message = format!("{}: {}", self.network.name(env.element), message());
        let fault = Fault::new(rule, place.cloned().unwrap_or_default(), message);
        if rule == Rule::CW02 { self.warned.push(fault) } else { self.found.push(fault) }
    }

    /// The operation, if it breaks no rule.
    fn action(&mut self, op: &Template, env: &mut Env, origin: u32) -> Option<Action> {
        match op {
            Template::Load { to, at, n } => {
                let (at, n) = (env.number(at), env.number(n));
                env.make(*to, Known::Broken, None);
                let n = self.length(n, env, origin)?;
                let from = self.inside(at, n, env, origin)?;
                let tile = self.algorithm.n_elem;
                if !env.holds(at.max(tile), at + i64::from(n)) {
                    self.broken(Rule::CS12, env, origin, || {
                        format!(
                            "positions {at} to {} are loaded before all were stored",
                            at + i64::from(n) - 1
                        )
                    });
                    return None;
                }
                env.make(*to, Known::Yes(n, Dtype::F16), None);
                Some(Action::Load { to: index(*to), at: from, n })
            }
            Template::Store { of, at } => {
                let at = env.number(at);
                let (n, dtype) = self.used(*of, env, origin)?;
                if dtype != Dtype::F16 {
                    self.broken(Rule::CS11, env, origin, || {
                        "a handle of dtype f32 is stored, required f16".to_owned()
                    });
                    return None;
                }
                let from = self.inside(at, n, env, origin)?;
                let tile = self.algorithm.n_elem;
                if at + i64::from(n) > tile {
                    env.store(at.max(tile), at + i64::from(n));
                }
                Some(Action::Store { of: index(*of), at: from })
            }
            Template::Send { of, dir } => {
                let queue = self.queue(dir, true, env, origin);
                let (n, dtype) = self.used(*of, env, origin)?;
                let bytes = i64::from(n) * dtype.bytes();
                if let Some(most) = self.algorithm.topology.slot_bytes.filter(|&most| bytes > most) {
                    self.broken(Rule::CS13, env, origin, || {
                        format!("the message has {bytes} bytes, and a slot {most}")
                    });
                    return None;
                }
                let queue = queue?;
                self.program.queues.get_mut(queue as usize)?.sent.push((n, dtype));
                Some(Action::Send { of: index(*of), queue })
            }
            Template::Recv { to, dir, n, dtype } => {
                let n = env.number(n);
                env.make(*to, Known::Broken, None);
                let queue = self.queue(dir, false, env, origin);
                let n = self.length(n, env, origin)?;
                let queue = queue?;
                let received = &mut self.program.queues.get_mut(queue as usize)?.received;
                received.push((n, *dtype));
                let number = received.len();
                env.make(*to, Known::Yes(n, *dtype), Some((queue, number)));
                Some(Action::Recv { to: index(*to), queue })
            }
            Template::Add { to, a, b } => {
                let operands = (self.used(*a, env, origin), self.used(*b, env, origin));
                env.make(*to, Known::Broken, None);
                let (one, other) = (operands.0?, operands.1?);
                if one != other {
                    self.broken(Rule::CS11, env, origin, || {
                        let [one, other] = [one, other].map(|(n, dtype)| format!("{n} of {}", dtype.name()));
                        format!("the operands have {one} and {other}")
                    });
                    return None;
                }
                env.make(*to, Known::Yes(one.0, one.1), None);
                Some(Action::Add { to: index(*to), a: index(*a), b: index(*b) })
            }
            Template::Cast { to, of, dtype } => {
                let of_known = self.used(*of, env, origin);
                env.make(*to, Known::Broken, None);
                env.make(*to, Known::Yes(of_known?.0, *dtype), None);
                Some(Action::Cast { to: index(*to), of: index(*of), dtype: *dtype })
            }
            Template::Other(_) | Template::For { .. } => None,
        }
    }

    /// CS06, and CW02. What is known of a handle that is used.
    fn used(&mut self, handle: Handle, env: &Env, origin: u32) -> Option<(u32, Dtype)> {
        if let Some((queue, number)) = env.arrived.get(handle).copied().flatten()
            && let Some(queue) = self.program.queues.get(queue as usize)
        {
            let (later, slots) = (queue.received.len() - number, queue.capacity);
            if i64::try_from(later).unwrap_or(i64::MAX) >= slots {
                self.broken(Rule::CW02, env, origin, || {
                    format!("the handle came in a slot that has taken a later message: {later} came since, into {slots} slots")
                });
            }
        }
        match env.handles.get(handle)? {
            Known::Yes(n, dtype) => Some((*n, *dtype)),
            Known::Broken => None,
            Known::No => {
                self.broken(Rule::CS06, env, origin, || "the handle has not been made".to_owned());
                None
            }
        }
    }

    /// CS09.
    fn length(&mut self, n: i64, env: &Env, origin: u32) -> Option<u32> {
        if n < 1 {
            self.broken(Rule::CS09, env, origin, || format!("found {n} numbers, required at least 1"));
            return None;
        }
        // What is longer than any memory is outside it, or matches no message.
        Some(u32::try_from(n).unwrap_or(u32::MAX))
    }

    /// CS10. The first position.
    fn inside(&mut self, at: i64, n: u32, env: &Env, origin: u32) -> Option<u32> {
        let all = self.algorithm.n_elem + self.algorithm.scratch;
        if at < 0 || at > all - i64::from(n) {
            self.broken(Rule::CS10, env, origin, || {
                format!("{n} numbers from position {at} on, and there are {all} positions")
            });
            return None;
        }
        u32::try_from(at).ok()
    }

    /// CS07 and CS08. The number of the queue in the program.
    fn queue(&mut self, dir: &str, sends: bool, env: &mut Env, origin: u32) -> Option<u32> {
        let known = env.queues.get(origin as usize).copied().flatten();
        known.or_else(|| {
            let found = self.look_up(dir, sends, env, origin);
            if let Some(known) = env.queues.get_mut(origin as usize) {
                *known = found;
            }
            found
        })
    }

    fn look_up(&mut self, dir: &str, sends: bool, env: &Env, origin: u32) -> Option<u32> {
        match self.network.way(env.element, dir, sends) {
            Way::Unknown => {
                self.broken(Rule::CS07, env, origin, || format!("this topology has no direction `{dir}`"));
                None
            }
            Way::Missing => {
                self.broken(Rule::CS08, env, origin, || format!("`{dir}` leads nowhere from here"));
                None
            }
            Way::Queue(queue, other) => {
                let number = self.numbers.get_mut(queue)?;
                if *number == u32::MAX {
                    *number = u32::try_from(self.program.queues.len()).ok()?;
                    let (sender, receiver) = if sends { (env.element, other) } else { (other, env.element) };
                    let capacity = self.network.capacity(queue);
                    let (sent, received) = (Messages::default(), Messages::default());
                    self.program.queues.push(Queue { sender, receiver, capacity, sent, received });
                }
                Some(*number)
            }
        }
    }
}

impl Env {
    fn make(&mut self, handle: Handle, known: Known, arrived: Option<(u32, usize)>) {
        if let (Some(held), Some(from)) = (self.handles.get_mut(handle), self.arrived.get_mut(handle)) {
            (*held, *from) = (known, arrived);
        }
    }
}

fn index(handle: Handle) -> u32 {
    u32::try_from(handle).unwrap_or(u32::MAX)
}
