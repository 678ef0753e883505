//! Systems that are too many to enumerate: the number of one is where the generator starts that draws it.

use megakernel_ir::prng::SplitMix64;

use crate::small::{Small, Step, Way};

/// Most messages that a queue holds.
const CAPACITIES: usize = 3;

/// A family of systems that are drawn.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Its name, from which the draws follow too.
    pub name: &'static str,
    /// What is drawn.
    pub kind: Kind,
    /// Devices in the ring.
    pub elements: usize,
    /// How many are drawn.
    pub systems: u64,
}

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// What elements do in a run with so many messages at most, of which each is received; then steps of a log change places.
    Runs(usize),
    /// An algorithm, edited in two places at most.
    Edited,
}

impl Sample {
    /// The dimensions in words.
    pub fn describe(&self) -> String {
        let Sample { elements, .. } = self;
        match self.kind {
            Kind::Runs(messages) => format!(
                "{elements} elements, up to {messages} messages of a run, up to 2 pairs of steps swapped, {CAPACITIES} capacities"
            ),
            Kind::Edited => {
                format!("{elements} elements, an algorithm with up to 2 edits, {CAPACITIES} capacities")
            }
        }
    }

    /// The system of a number.
    pub fn drawn(&self, number: u64) -> Small {
        let mut draws = SplitMix64::for_family(self.name, number);
        let capacity = draws.between(1, CAPACITIES);
        let (is_sum, logs) = match self.kind {
            Kind::Runs(messages) => (draws.index(4) > 0, run(&mut draws, self.elements, messages)),
            Kind::Edited => {
                let algorithm = Algorithm::ALL[draws.index(Algorithm::ALL.len())];
                let first = if algorithm.is_sum() { draws.index(self.elements) } else { 0 };
                let to = if draws.index(2) == 0 { Way::Next } else { Way::Before };
                let mut logs = algorithm.logs(self.elements, first, to);
                (0..draws.index(3)).for_each(|_| edit(&mut draws, &mut logs));
                (algorithm.is_sum(), logs)
            }
        };
        Small { is_sum, capacity, logs }
    }
}

/// Sends and receives as a run goes that never waits. Waiting is for those who take its steps in another order, or in smaller queues.
fn run(draws: &mut SplitMix64, elements: usize, messages: usize) -> Vec<Vec<Step>> {
    let mut logs = vec![Vec::new(); elements];
    // By sender and direction, as one queue has one sender.
    let mut on_their_way = Vec::new();
    let mut left = draws.between(messages / 2, messages);
    while left > 0 || !on_their_way.is_empty() {
        if left > 0 && (on_their_way.is_empty() || draws.index(2) == 0) {
            let (element, way) = (draws.index(elements), any_way(draws));
            logs[element].push(any_send(draws, way));
            on_their_way.push((element, way));
            left -= 1;
        } else {
            // All messages of a queue are alike here: which of them it is does not matter.
            let (sender, way) = on_their_way.swap_remove(draws.index(on_their_way.len()));
            let receive = if draws.index(4) > 0 { Step::Add } else { Step::Take };
            logs[way.of(sender, elements)].push(receive(way.opposite()));
        }
    }
    logs.iter_mut().for_each(|log: &mut Vec<Step>| log.push(Step::Store));
    for _ in 0..draws.index(3) {
        swap(draws, &mut logs);
    }
    logs
}

fn any_way(draws: &mut SplitMix64) -> Way {
    if draws.index(2) == 0 { Way::Next } else { Way::Before }
}

fn any_send(draws: &mut SplitMix64, way: Way) -> Step {
    [Step::Send, Step::SendOwn, Step::SendLast][draws.index(3)](way)
}

fn any_step(draws: &mut SplitMix64) -> Step {
    let way = any_way(draws);
    match draws.index(5) {
        0 | 1 => any_send(draws, way),
        2 => Step::Add(way),
        3 => Step::Take(way),
        _ if draws.index(2) == 0 => Step::Store,
        _ => Step::StoreOwn,
    }
}

/// Two steps of a log that follow each other change places.
fn swap(draws: &mut SplitMix64, logs: &mut [Vec<Step>]) {
    let log = draws.index(logs.len());
    if logs[log].len() > 1 {
        let at = draws.index(logs[log].len() - 1);
        logs[log].swap(at, at + 1);
    }
}

/// A step more, less, twice, another one, or elsewhere.
fn edit(draws: &mut SplitMix64, logs: &mut [Vec<Step>]) {
    let log = draws.index(logs.len());
    if logs[log].is_empty() {
        return;
    }
    let at = draws.index(logs[log].len());
    match draws.index(5) {
        0 => drop(logs[log].remove(at)),
        1 => logs[log].insert(at, logs[log][at]),
        2 => logs[log][at] = any_step(draws),
        3 => logs[log].insert(at, any_step(draws)),
        _ => swap(draws, logs),
    }
}

/// What is edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Each passes on what came last, and adds as it comes: a sum whose bits differ from three elements on.
    Flood,
    /// A sum along a line, which comes back along it.
    Line,
    /// A sum around the ring, which goes around once more.
    Around,
    /// A broadcast along a line.
    Spread,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 4] = [Algorithm::Flood, Algorithm::Line, Algorithm::Around, Algorithm::Spread];

    /// Whether it makes a sum; else a broadcast of its first element.
    pub fn is_sum(self) -> bool {
        self != Algorithm::Spread
    }

    /// What each element does, if the first one is `first` and the next one lies in direction `to`.
    pub fn logs(self, elements: usize, first: usize, to: Way) -> Vec<Vec<Step>> {
        let mut logs = vec![Vec::new(); elements];
        let mut element = first;
        for place in 0..elements {
            logs[element] = self.log(place, elements, to);
            element = to.of(element, elements);
        }
        logs
    }

    fn log(self, place: usize, elements: usize, to: Way) -> Vec<Step> {
        let from = to.opposite();
        let (is_first, is_last) = (place == 0, place + 1 == elements);
        let mut log = Vec::new();
        let mut push = |applies: bool, step| log.extend(applies.then_some(step));
        match self {
            Algorithm::Flood => {
                for _ in 1..elements {
                    push(true, Step::SendLast(to));
                    push(true, Step::Add(from));
                }
            }
            Algorithm::Line => {
                push(!is_first, Step::Add(from));
                push(!is_last, Step::Send(to));
                push(!is_last, Step::Take(to));
                push(!is_first, Step::Send(from));
            }
            Algorithm::Around => {
                push(!is_first, Step::Add(from));
                push(true, Step::Send(to));
                push(!is_last, Step::Take(from));
                push(place + 2 < elements, Step::Send(to));
            }
            Algorithm::Spread => {
                push(!is_first, Step::Take(from));
                push(!is_last, Step::Send(to));
            }
        }
        push(true, Step::Store);
        log
    }
}
