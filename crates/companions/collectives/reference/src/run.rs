//! Running a program (clauses COL-11 to COL-13): one maximal execution stands for all. What handles hold is for a domain to say.

use std::collections::VecDeque;

use megakernel_collectives::{Dtype, Fault};
use megakernel_ir::Rule;

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
}

/// Nothing but the order.
struct Order;

impl Domain for Order {
    type Handle = ();

    fn load(&mut self, _: usize, _: u32, _: u32) {}
    fn store(&mut self, _: usize, _: u32, (): &()) {}
    fn add(&mut self, (): &(), (): &()) {}
    fn cast(&mut self, (): &(), _: Dtype) {}
}

/// Where each element came to, with queues of at least this capacity. It is the number of its operations for all, or the
/// program is stuck.
pub fn run<D: Domain>(program: &Program, least: i64, domain: &mut D) -> Vec<usize> {
    let all = program.lines.len();
    let mut done = vec![0; all];
    let mut handles: Vec<Vec<Option<D::Handle>>> = vec![Vec::new(); all];
    let mut queues: Vec<VecDeque<D::Handle>> = vec![VecDeque::new(); program.queues.len()];
    let mut ready: Vec<usize> = (0..all).rev().collect();
    while let Some(element) = ready.pop() {
        let (ops, Some(held)) = (program.ops(element), handles.get_mut(element)) else { continue };
        let mut at = done.get(element).copied().unwrap_or_default();
        if at == 0 {
            held.resize(program.lines.get(element).map_or(0, |line| line.handles), None);
        }
        while let Some(op) = ops.get(at) {
            if step(op.action, element, program, least, domain, held, &mut queues, &mut ready).is_none() {
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
    done
}

/// Does one operation, and wakes who may have waited for it. Nothing if it is not enabled.
#[allow(
    clippy::too_many_arguments,
    reason = "the state of a run in its parts, which are borrowed one by one"
)]
fn step<D: Domain>(
    action: Action,
    element: usize,
    program: &Program,
    least: i64,
    domain: &mut D,
    held: &mut [Option<D::Handle>],
    queues: &mut [VecDeque<D::Handle>],
    ready: &mut Vec<usize>,
) -> Option<()> {
    let (to, made) = match action {
        Action::Load { to, at, n } => (to, domain.load(element, at, n)),
        Action::Store { of, at } => {
            domain.store(element, at, held.get(of as usize)?.as_ref()?);
            return Some(());
        }
        Action::Send { of, queue } => {
            let (queue, messages) = (program.queues.get(queue as usize)?, queues.get_mut(queue as usize)?);
            let capacity = usize::try_from(queue.capacity.max(least)).unwrap_or(usize::MAX);
            if messages.len() >= capacity {
                return None;
            }
            if messages.is_empty() {
                ready.push(queue.receiver as usize);
            }
            messages.push_back(held.get(of as usize)?.clone()?);
            return Some(());
        }
        Action::Recv { to, queue } => {
            let (queue, messages) = (program.queues.get(queue as usize)?, queues.get_mut(queue as usize)?);
            let capacity = usize::try_from(queue.capacity.max(least)).unwrap_or(usize::MAX);
            if messages.len() >= capacity {
                ready.push(queue.sender as usize);
            }
            (to, messages.pop_front()?)
        }
        Action::Add { to, a, b } => {
            (to, domain.add(held.get(a as usize)?.as_ref()?, held.get(b as usize)?.as_ref()?))
        }
        Action::Cast { to, of, dtype } => (to, domain.cast(held.get(of as usize)?.as_ref()?, dtype)),
    };
    *held.get_mut(to as usize)? = Some(made);
    Some(())
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
        let mut pairs = queue.sent.iter().zip(&queue.received);
        let Some(at) = pairs.position(|(sent, received)| sent != received) else { continue };
        let of_queue =
            |action: Action| matches!(action, Action::Recv { queue, .. } if queue as usize == number);
        let receiver = queue.receiver as usize;
        let ops = program.ops(receiver).iter().enumerate().filter(|(_, op)| of_queue(op.action));
        let place = ops.map(|(at, _)| at).nth(at).unwrap_or_default();
        let text = |list: &[(u32, Dtype)]| {
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

/// Whether all operations are done.
fn complete(program: &Program, done: &[usize]) -> bool {
    done.iter().enumerate().all(|(element, &done)| done == program.ops(element).len())
}

/// The least capacity with which a program completes. Sends and receives match.
///
/// # Errors
/// Where each element comes to with room for all messages, if that does not complete.
pub fn least_capacity(program: &Program) -> Result<i64, Vec<usize>> {
    let completes = |least: i64| complete(program, &run(program, least, &mut Order));
    let most = program.queues.iter().map(|queue| queue.sent.len()).max().unwrap_or(0);
    let mut enough = i64::try_from(most).unwrap_or(i64::MAX).max(1);
    let unbounded = run(program, enough, &mut Order);
    if !complete(program, &unbounded) {
        return Err(unbounded);
    }
    // It is monotone: COL-13.
    let mut too_few = 0;
    while enough - too_few > 1 {
        let middle = i64::midpoint(too_few, enough);
        if completes(middle) { enough = middle } else { too_few = middle }
    }
    Ok(enough)
}

/// CD03 and CD04.
pub fn deadlock(program: &Program, network: &Network, done: &[usize]) -> Option<Fault> {
    if complete(program, done) {
        return None;
    }
    let least = least_capacity(program);
    let (rule, done) = match &least {
        Ok(_) => (Rule::CD03, done),
        // Of what is stuck, show a cycle that no capacity resolves.
        Err(unbounded) => (Rule::CD04, unbounded.as_slice()),
    };
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
