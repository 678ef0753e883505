//! What an algorithm costs (clause COL-24), beside what it costs at least (COL-25).

mod bounds;
mod picture;

use std::collections::VecDeque;

use megakernel_collectives::Algorithm;

use crate::messages::Shape;
use crate::network::Network;
use crate::program::{Action, Program};
use crate::run::least_capacity;

pub use bounds::{Bounds, bounds};
pub use picture::picture;

/// What messages cost: `alpha` each, and `beta` for each byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Of a message.
    pub alpha: f64,
    /// Of a byte.
    pub beta: f64,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// Its queue in the program.
    pub queue: usize,
    /// How long it is.
    pub bytes: u64,
    /// When it starts.
    pub start: f64,
    /// When it arrives.
    pub end: f64,
}

/// A queue as a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether it is between devices.
    pub between_devices: bool,
}

/// What an algorithm costs.
#[derive(Debug)]
pub struct Figures {
    /// The longest chain of messages each of which is sent after the one before was received.
    pub steps: u64,
    /// What goes through each queue of the program.
    pub loads: Vec<Load>,
    /// The least capacity with which it completes.
    pub least_capacity: i64,
    /// When the last operation is done.
    pub time: f64,
    /// All messages, in an order in which they can be sent.
    pub messages: Vec<Message>,
}

impl Figures {
    /// The queue with most bytes, of those between devices or of all others.
    pub fn busiest(&self, between_devices: bool) -> Option<(usize, Load)> {
        let of_kind = |(_, load): &(usize, &Load)| load.between_devices == between_devices;
        let loads = self.loads.iter().enumerate().filter(of_kind);
        // Of equal ones the first.
        loads
            .map(|(queue, load)| (queue, *load))
            .reduce(|most, next| if next.1.bytes > most.1.bytes { next } else { most })
    }

    /// Messages and bytes of all queues of a kind.
    pub fn total(&self, between_devices: bool) -> (u64, u64) {
        let loads = self.loads.iter().filter(|load| load.between_devices == between_devices);
        loads.fold((0, 0), |(messages, bytes), load| (messages + load.messages, bytes + load.bytes))
    }
}

/// How far a handle or an element is: in messages, and in time.
#[derive(Clone, Copy, Debug, Default)]
struct At {
    steps: u64,
    time: f64,
}

/// The bytes of a message.
fn bytes((n, dtype): Shape) -> u64 {
    u64::from(n) * dtype.bytes().unsigned_abs()
}

/// The cost of a program that completes. Nothing is known of one that does not.
pub fn figures(program: &Program, network: &Network, costs: Costs) -> Option<Figures> {
    let loads = program.queues.iter().map(|queue| Load {
        messages: queue.sent.len() as u64,
        bytes: queue.sent.runs().map(|(count, shape)| count as u64 * bytes(shape)).sum(),
        between_devices: network.rank(queue.sender) != network.rank(queue.receiver),
    });
    let loads: Vec<Load> = loads.collect();
    let (steps, time, messages) = timed(program, costs)?;
    Some(Figures { steps, loads, least_capacity: least_capacity(program).ok()?, time, messages })
}

/// A queue while the clock runs.
#[derive(Default)]
struct Line {
    /// What is on its way or waits: of each message the chain that it is the end of, and when it arrives.
    waiting: VecDeque<At>,
    sent: usize,
    /// When each message was received.
    received: Vec<f64>,
    /// When the connection is free.
    free: f64,
}

/// Steps, time and messages. The times do not depend on the order in which enabled operations are looked at.
fn timed(program: &Program, costs: Costs) -> Option<(u64, f64, Vec<Message>)> {
    let mut at = vec![At::default(); program.lines.len()];
    let mut next = vec![0; program.lines.len()];
    let mut queues: Vec<Line> = program.queues.iter().map(|_| Line::default()).collect();
    let mut messages = Vec::new();
    let mut open: Vec<usize> = (0..program.lines.len()).rev().collect();
    while let Some(element) = open.pop() {
        let (here, next) = (at.get_mut(element)?, next.get_mut(element)?);
        while let Some(op) = program.ops(element).get(*next) {
            match op.action {
                Action::Send { queue, .. } => {
                    let (number, of) = (queue as usize, program.queues.get(queue as usize)?);
                    let line = queues.get_mut(number)?;
                    let capacity = usize::try_from(of.capacity).ok()?;
                    let slot = match line.sent.checked_sub(capacity) {
                        None => 0.0,
                        Some(before) => match line.received.get(before) {
                            Some(&received) => received,
                            None => break,
                        },
                    };
                    let bytes = bytes(of.sent.get(line.sent)?);
                    here.time = here.time.max(slot);
                    let start = here.time.max(line.free);
                    let end = start + costs.alpha + costs.beta * bytes as f64;
                    (line.free, line.sent) = (end, line.sent + 1);
                    line.waiting.push_back(At { steps: here.steps + 1, time: end });
                    messages.push(Message { queue: number, bytes, start, end });
                    open.push(of.receiver as usize);
                }
                Action::Recv { queue, .. } => {
                    let line = queues.get_mut(queue as usize)?;
                    let Some(came) = line.waiting.pop_front() else { break };
                    *here = At { steps: here.steps.max(came.steps), time: here.time.max(came.time) };
                    line.received.push(here.time);
                    open.push(program.queues.get(queue as usize)?.sender as usize);
                }
                Action::Load { .. } | Action::Store { .. } | Action::Add { .. } | Action::Cast { .. } => {}
            }
            *next += 1;
        }
    }
    let is_done = next.iter().enumerate().all(|(element, &next)| next == program.ops(element).len());
    let steps = at.iter().map(|at| at.steps).max().unwrap_or(0);
    let time = at.iter().map(|at| at.time).fold(0.0, f64::max);
    is_done.then_some((steps, time, messages))
}

/// Figures and bounds in words, a line each.
pub fn report(
    algorithm: &Algorithm,
    network: &Network,
    program: &Program,
    figures: &Figures,
    costs: Costs,
) -> String {
    let least = bounds(algorithm, network);
    let collective = algorithm.collective;
    let mut text = format!(
        "{} over {} of {} devices of {} cubes (`{}`), {} positions\n\n{:<34} {:>14} {:>14}\n",
        collective.kind.name(),
        collective.over.name(),
        algorithm.topology.ranks,
        network.cubes(),
        algorithm.topology.kind.name(),
        algorithm.n_elem,
        "",
        "found",
        "at least"
    );
    let mut line = |name: &str, found: String, least: Option<String>| {
        text.push_str(&format!("{name:<34} {found:>14} {:>14}\n", least.unwrap_or_else(|| "-".to_owned())));
    };
    line("steps", figures.steps.to_string(), least.steps.map(|steps| steps.to_string()));
    for (between, name) in [(true, "between devices"), (false, "between cubes")] {
        let (messages, bytes) = figures.total(between);
        if messages == 0 && !between {
            continue;
        }
        line(&format!("messages {name}"), messages.to_string(), None);
        line(
            &format!("bytes {name}"),
            bytes.to_string(),
            least.bytes.filter(|_| between).map(|bytes| bytes.to_string()),
        );
        let most = figures.busiest(between).map_or(0, |(_, load)| load.bytes);
        line(
            &format!("bytes of the busiest, {name}"),
            most.to_string(),
            least.busiest.filter(|_| between).map(|bytes| bytes.to_string()),
        );
    }
    line(
        "least capacity",
        figures.least_capacity.to_string(),
        Some("1".to_owned()).filter(|_| !figures.messages.is_empty()),
    );
    line("time", format!("{:.3}", figures.time), least.time(costs).map(|time| format!("{time:.3}")));
    for between in [true, false] {
        if let Some((queue, load)) = figures.busiest(between)
            && let Some(queue) = program.queues.get(queue)
        {
            text.push_str(&format!(
                "\nbusiest between {}: {} to {}, {} bytes in {} messages",
                if between { "devices" } else { "cubes" },
                network.name(queue.sender),
                network.name(queue.receiver),
                load.bytes,
                load.messages
            ));
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests;
