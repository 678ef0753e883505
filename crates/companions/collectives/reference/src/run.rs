//! Running a program (clauses COL-11 to COL-13): one maximal execution stands for all. What handles hold is for a domain to say.

use std::collections::VecDeque;

use megakernel_collectives::{Dtype, Fault};
use megakernel_ir::Rule;

use crate::messages::Messages;
use crate::network::Network;
use crate::program::{Action, Program};

/// What handles and memories hold.
pub trait Domain {
    /// A handle.
    type Handle: Clone;

    /// A handle of what stands in the memory of an element.
    fn load(&mut self, element: usize, at: u32, n: u32) -> Self::Handle;

    /// Writes to it.
    fn store(&mut self, element: usize, at: u32, handle: &Self::Handle);

    /// Adds.
    fn add(&mut self, a: &Self::Handle, b: &Self::Handle) -> Self::Handle;

    /// Converts.
    fn cast(&mut self, handle: &Self::Handle, dtype: Dtype) -> Self::Handle;

    /// How much memory a handle takes, one at least, in a unit of the domain's own.
    fn size(handle: &Self::Handle) -> usize;
}

/// How much may be in queues beyond their capacities, in the units of [`Domain::size`]. Elements then get far before another one
/// has its turn, and find what they hold in the caches.
const AHEAD: usize = 65_536;

/// In which order elements have their turns. All executions end alike (COL-11); the trees of additions are numbered as they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    /// No queue ever holds more than its capacity.
    Within,
    /// Queues hold up to [`AHEAD`] beyond their capacities: for programs that complete.
    ///
    /// What completes within the capacities completes so too. Of the operations that are not done yet, take the one that comes first
    /// in an execution within the capacities: all operations before it are done, so there is a message if it receives, and
    /// there are fewer messages than the capacity if it sends.
    Ahead,
}

/// Runs a program that completes, if no queue holds more than it may.
pub fn run<D: Domain>(program: &Program, turns: Turns, domain: &mut D) {
    let all = program.lines.len();
    let mut run = Run {
        program,
        queues: vec![VecDeque::new(); program.queues.len()],
        ready: (0..all).rev().collect(),
        ahead: 0,
        most: if turns == Turns::Ahead { AHEAD } else { 0 },
    };
    let mut done = vec![0; all];
    let mut handles: Vec<Vec<Option<D::Handle>>> = vec![Vec::new(); all];
    while let Some(element) = run.ready.pop() {
        let (ops, Some(held)) = (program.ops(element), handles.get_mut(element)) else { continue };
        let mut at = done.get(element).copied().unwrap_or_default();
        if at == 0 {
            held.resize(program.lines.get(element).map_or(0, |line| line.handles), None);
        }
        while let Some(op) = ops.get(at) {
            if run.step(op.action, element, domain, held).is_none() {
                break;
            }
            at += 1;
        }
        if at == ops.len() {
            // Its handles are of no use to anybody.
            *held = Vec::new();
        }
        if let Some(done) = done.get_mut(element) {
            *done = at;
        }
    }
}

/// What a run shares between the elements.
struct Run<'a, D: Domain> {
    program: &'a Program,
    queues: Vec<VecDeque<D::Handle>>,
    /// Elements that may go on, the next one last.
    ready: Vec<usize>,
    /// What is in queues beyond their capacities, and how much of that there may be before nothing is sent to full queues.
    ahead: usize,
    most: usize,
}

impl<D: Domain> Run<'_, D> {
    /// Does one operation, and wakes who may have waited for it. Nothing if it is not enabled.
    fn step(
        &mut self,
        action: Action,
        element: usize,
        domain: &mut D,
        held: &mut [Option<D::Handle>],
    ) -> Option<()> {
        let (to, made) = match action {
            Action::Load { to, at, n } => (to, domain.load(element, at, n)),
            Action::Store { of, at } => {
                domain.store(element, at, held.get(of as usize)?.as_ref()?);
                return Some(());
            }
            Action::Send { of, queue } => {
                let messages = self.queues.get_mut(queue as usize)?;
                let queue = self.program.queues.get(queue as usize)?;
                let is_beyond = messages.len() >= queue.room();
                if is_beyond && self.ahead >= self.most {
                    return None;
                }
                let message = held.get(of as usize)?.clone()?;
                if is_beyond {
                    self.ahead += D::size(&message);
                }
                if messages.is_empty() {
                    self.ready.push(queue.receiver as usize);
                }
                messages.push_back(message);
                return Some(());
            }
            Action::Recv { to, queue } => {
                let messages = self.queues.get_mut(queue as usize)?;
                let queue = self.program.queues.get(queue as usize)?;
                let room = queue.room();
                if messages.len() == room {
                    self.ready.push(queue.sender as usize);
                }
                let message = messages.pop_front()?;
                // The message that was beyond the capacity before is not any more.
                if let Some(now_within) = room.checked_sub(1).and_then(|last| messages.get(last)) {
                    self.ahead -= D::size(now_within);
                }
                (to, message)
            }
            Action::Add { to, a, b } => {
                (to, domain.add(held.get(a as usize)?.as_ref()?, held.get(b as usize)?.as_ref()?))
            }
            Action::Cast { to, of, dtype } => (to, domain.cast(held.get(of as usize)?.as_ref()?, dtype)),
        };
        *held.get_mut(to as usize)? = Some(made);
        Some(())
    }
}

/// The messages of each element, in order, without what it does between.
struct Traffic<'a> {
    program: &'a Program,
    /// Of each send and receive its queue, twice, and one more where it sends.
    steps: Vec<u32>,
    /// Where those of each element begin, and of the last one where they end.
    starts: Vec<usize>,
}

impl Traffic<'_> {
    fn new(program: &Program) -> Traffic<'_> {
        let messages = program.queues.iter().map(|queue| queue.sent.len() + queue.received.len()).sum();
        let (mut steps, mut starts) =
            (Vec::with_capacity(messages), Vec::with_capacity(program.lines.len() + 1));
        for element in 0..program.lines.len() {
            starts.push(steps.len());
            steps.extend(program.ops(element).iter().filter_map(|op| message(op.action)));
        }
        starts.push(steps.len());
        Traffic { program, steps, starts }
    }

    fn of(&self, element: usize) -> &[u32] {
        let ends = (self.starts.get(element), self.starts.get(element + 1));
        let (Some(&start), Some(&end)) = ends else { return &[] };
        self.steps.get(start..end).unwrap_or_default()
    }

    /// How many messages each element has sent and received when nothing goes on, with queues of at least this capacity.
    fn run(&self, least: usize) -> Vec<usize> {
        let all = self.program.lines.len();
        let mut done = vec![0; all];
        let mut held = vec![0_usize; self.program.queues.len()];
        let mut ready: Vec<usize> = (0..all).rev().collect();
        while let Some(element) = ready.pop() {
            let (steps, Some(at)) = (self.of(element), done.get_mut(element)) else { continue };
            while let Some(&step) = steps.get(*at) {
                let number = (step / 2) as usize;
                let (Some(held), Some(queue)) = (held.get_mut(number), self.program.queues.get(number))
                else {
                    break;
                };
                let room = queue.room().max(least);
                if step % 2 == 1 {
                    if *held >= room {
                        break;
                    }
                    if *held == 0 {
                        ready.push(queue.receiver as usize);
                    }
                    *held += 1;
                } else {
                    if *held == 0 {
                        break;
                    }
                    if *held >= room {
                        ready.push(queue.sender as usize);
                    }
                    *held -= 1;
                }
                *at += 1;
            }
        }
        done
    }

    fn is_complete(&self, done: &[usize]) -> bool {
        done.iter().enumerate().all(|(element, &done)| done == self.of(element).len())
    }

    /// The least capacity with which it completes; how many messages each element comes to with room for all, if not with that.
    fn least_capacity(&self) -> Result<i64, Vec<usize>> {
        let completes = |least: usize| self.is_complete(&self.run(least));
        let mut enough = self.program.queues.iter().map(|queue| queue.sent.len()).max().unwrap_or(0).max(1);
        let unbounded = self.run(enough);
        if !self.is_complete(&unbounded) {
            return Err(unbounded);
        }
        // It is monotone: COL-13.
        let mut too_few = 0;
        while enough - too_few > 1 {
            let middle = usize::midpoint(too_few, enough);
            if completes(middle) { enough = middle } else { too_few = middle }
        }
        Ok(i64::try_from(enough).unwrap_or(i64::MAX))
    }

    /// The operations with which elements go on that have so many messages behind them.
    fn operations(&self, done: &[usize]) -> Vec<usize> {
        done.iter().enumerate().map(|(element, &done)| self.next(element, done)).collect()
    }

    /// The operation with which an element goes on that has so many messages behind it; that behind its last one if there is none.
    fn next(&self, element: usize, done: usize) -> usize {
        let ops = self.program.ops(element);
        let mut messages = ops.iter().enumerate().filter(|(_, op)| message(op.action).is_some());
        messages.nth(done).map_or(ops.len(), |(at, _)| at)
    }
}

/// A send or receive, as [`Traffic`] has it.
fn message(action: Action) -> Option<u32> {
    match action {
        Action::Send { queue, .. } => Some(queue * 2 + 1),
        Action::Recv { queue, .. } => Some(queue * 2),
        _ => None,
    }
}

/// CD01 and CD02.
pub fn unmatched(program: &Program, network: &Network) -> Vec<Fault> {
    let mut found: Vec<Fault> = Vec::new();
    for (number, queue) in program.queues.iter().enumerate() {
        let (sent, received) = (queue.sent.len(), queue.received.len());
        if sent == received {
            continue;
        }
        let more = |action: Action| match action {
            Action::Send { queue, .. } => sent > received && queue as usize == number,
            Action::Recv { queue, .. } => received > sent && queue as usize == number,
            _ => false,
        };
        let (rule, element) = if sent > received {
            (Rule::CD02, queue.sender as usize)
        } else {
            (Rule::CD01, queue.receiver as usize)
        };
        let (sender, receiver) = (network.name(queue.sender), network.name(queue.receiver));
        let places = program.ops(element).iter().enumerate().filter(|(_, op)| more(op.action));
        let place = places.map(|(at, _)| at).nth(sent.min(received)).unwrap_or_default();
        let message =
            format!("{sender} sends {sent} messages to this queue, and {receiver} receives {received}");
        let pointer = program.place(element, place);
        if !found.iter().any(|known| known.rule == rule && known.pointer == pointer) {
            found.push(Fault::new(rule, pointer, message));
        }
    }
    found
}

/// CS14, where counts agree.
pub fn mismatched(program: &Program, network: &Network) -> Vec<Fault> {
    let mut found: Vec<Fault> = Vec::new();
    for (number, queue) in program.queues.iter().enumerate() {
        let Some(at) = queue.sent.first_difference(&queue.received) else { continue };
        let of_queue =
            |action: Action| matches!(action, Action::Recv { queue, .. } if queue as usize == number);
        let receiver = queue.receiver as usize;
        let ops = program.ops(receiver).iter().enumerate().filter(|(_, op)| of_queue(op.action));
        let place = ops.map(|(at, _)| at).nth(at).unwrap_or_default();
        let text = |list: &Messages| {
            list.get(at).map(|(n, dtype)| format!("{n} of {}", dtype.name())).unwrap_or_default()
        };
        let message = format!(
            "{} receives {}, and message {at} from {} is {}",
            network.name(queue.receiver),
            text(&queue.received),
            network.name(queue.sender),
            text(&queue.sent)
        );
        let pointer = program.place(receiver, place);
        if !found.iter().any(|known| known.pointer == pointer) {
            found.push(Fault::new(Rule::CS14, pointer, message));
        }
    }
    found
}

/// The least capacity with which a program completes. Sends and receives match.
///
/// # Errors
/// Where each element comes to with room for all messages, if that does not complete.
pub fn least_capacity(program: &Program) -> Result<i64, Vec<usize>> {
    let traffic = Traffic::new(program);
    traffic.least_capacity().map_err(|done| traffic.operations(&done))
}

/// CD03 and CD04.
pub fn deadlock(program: &Program, network: &Network) -> Option<Fault> {
    let traffic = Traffic::new(program);
    let done = traffic.run(1);
    if traffic.is_complete(&done) {
        return None;
    }
    let least = traffic.least_capacity();
    // Of what is stuck, show a cycle that no capacity resolves.
    let (rule, done) = match &least {
        Ok(_) => (Rule::CD03, &done),
        Err(unbounded) => (Rule::CD04, unbounded),
    };
    let done = traffic.operations(done);
    let waits = |element: usize| -> Option<(usize, &'static str)> {
        let op = program.ops(element).get(*done.get(element)?)?;
        match op.action {
            Action::Recv { queue, .. } => {
                Some((program.queues.get(queue as usize)?.sender as usize, "waits for a message of"))
            }
            Action::Send { queue, .. } => {
                Some((program.queues.get(queue as usize)?.receiver as usize, "waits for a free slot at"))
            }
            _ => None,
        }
    };
    // Each stuck element waits for another stuck one: whoever follows long enough is on a cycle.
    let mut on = (0..program.lines.len()).find(|&element| waits(element).is_some())?;
    for _ in 0..program.lines.len() {
        on = waits(on)?.0;
    }
    let (mut steps, mut at) = (Vec::new(), on);
    loop {
        let (next, why) = waits(at)?;
        let names = [at, next].map(|element| network.name(u32::try_from(element).unwrap_or(0)));
        if steps.len() < 8 {
            let place = program.place(at, *done.get(at)?);
            steps.push(format!("{} at {place} {why} {}", names[0], names[1]));
        } else if steps.len() == 8 {
            steps.push("and so on".to_owned());
        }
        at = next;
        if at == on {
            break;
        }
    }
    let helps = match &least {
        Ok(least) => format!("the least capacity that suffices is {least}"),
        Err(_) => "no capacity helps".to_owned(),
    };
    let message = format!("{}; {helps}", steps.join(", "));
    Some(Fault::new(rule, program.place(on, *done.get(on)?), message))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::AHEAD;
    use crate::answer::{Answered, Method, answer};

    #[test]
    fn who_is_too_far_ahead_goes_on_when_the_queue_has_room() {
        // One slot, and more messages than may be ahead; what matters comes last.
        let rounds = AHEAD + 1000;
        let own = json!({"op": "load", "to": "own", "at": 0, "n": 1});
        let send = json!({"op": "send", "of": "own", "dir": "global_E"});
        let recv = json!({"op": "recv", "to": "in", "dir": "global_W", "n": 1});
        let document = json!({
            "topology": {"kind": "ring_1d", "ranks": 2, "cube_w": 1, "cube_h": 1, "capacity": 1},
            "n_elem": 1,
            "collective": {"kind": "broadcast", "root": 0},
            "logs": [
                {"elements": [[0, 0, 1]], "ops": [own, {"for": "s", "count": rounds, "ops": [send]}, {"op": "store", "of": "own", "at": 0}]},
                {"elements": [[1, 1, 1]], "ops": [{"for": "s", "count": rounds, "ops": [recv]}, {"op": "store", "of": "in", "at": 0}]}]
        });
        let answered = answer(Method::Validate, &document);
        assert!(matches!(answered, Answered::Accept { .. }), "{answered:?}");
    }
}
