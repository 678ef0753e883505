//! Every reachable state of a small system, step by step, as clause COL-11 says. It shares nothing with the validator.
//!
//! Numbers are followed in two ways that know no trees: as how often each initial number is in them, and as the binary16 bits that
//! come out for every choice of 0, 1 and 2048 as initial numbers.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use megakernel_numerics::{DType, decode, encode};

use crate::small::{Small, Step, Way};

/// What initial numbers are tried.
const TRIED: [f64; 3] = [0.0, 1.0, 2048.0];

/// A number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// How often each element's initial number is in it.
    pub count: Vec<u32>,
    /// Its bits for each choice of initial numbers.
    pub bits: Vec<u32>,
}

impl Number {
    fn initial(element: usize, elements: usize) -> Number {
        let choices = TRIED.len().pow(elements as u32);
        let stride = TRIED.len().pow(element as u32);
        let bits =
            (0..choices).map(|choice| encode(DType::F16, TRIED[choice / stride % TRIED.len()])).collect();
        Number { count: (0..elements).map(|other| u32::from(other == element)).collect(), bits }
    }

    fn plus(&self, other: &Number) -> Number {
        let sum = |(&a, &b): (&u32, &u32)| encode(DType::F16, decode(DType::F16, a) + decode(DType::F16, b));
        Number {
            count: self.count.iter().zip(&other.count).map(|(a, b)| a + b).collect(),
            bits: self.bits.iter().zip(&other.bits).map(sum).collect(),
        }
    }
}

/// What an element holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holds {
    sum: Rc<Number>,
    own: Rc<Number>,
    last: Rc<Number>,
    /// Its tile.
    pub tile: Rc<Number>,
    /// Whether anything was stored.
    pub stored: bool,
    /// What the tile held before.
    pub before: Vec<Rc<Number>>,
}

/// A state: how far each element is, what it holds, and what is on its way, by receiver and direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    next: Vec<usize>,
    /// What each element holds.
    pub holds: Vec<Holds>,
    queues: Vec<[VecDeque<Rc<Number>>; 2]>,
}

/// Where all executions end.
#[derive(Clone, Debug)]
pub struct End {
    /// The state.
    pub state: State,
    /// Whether every element is done.
    pub is_done: bool,
    /// Whether messages are left.
    pub has_left: bool,
    /// Whether two executions came to one place with different numbers, or ended in different places.
    pub is_torn: bool,
}

fn place(way: Way) -> usize {
    usize::from(way == Way::Before)
}

/// The state after an element's next step; nothing, if that is not enabled or it is done.
fn after(small: &Small, capacity: usize, state: &State, element: usize) -> Option<State> {
    let step = *small.logs[element].get(state.next[element])?;
    let mut next = state.clone();
    next.next[element] += 1;
    let here = &mut next.holds[element];
    let (sent, way) = match step {
        Step::Send(way) => (Rc::clone(&here.sum), way),
        Step::SendOwn(way) => (Rc::clone(&here.own), way),
        Step::SendLast(way) => (Rc::clone(&here.last), way),
        Step::Add(way) => {
            let came = next.queues[element][place(way)].pop_front()?;
            here.sum = Rc::new(here.sum.plus(&came));
            here.last = came;
            return Some(next);
        }
        Step::Take(way) => {
            here.sum = next.queues[element][place(way)].pop_front()?;
            return Some(next);
        }
        Step::Store | Step::StoreOwn => {
            let new = Rc::clone(if step == Step::Store { &here.sum } else { &here.own });
            let old = std::mem::replace(&mut here.tile, new);
            here.before.push(old);
            here.stored = true;
            return Some(next);
        }
    };
    let queue = &mut next.queues[way.of(element, small.logs.len())][place(way.opposite())];
    if queue.len() >= capacity {
        return None;
    }
    queue.push_back(sent);
    Some(next)
}

/// Explores every state.
pub fn explore(small: &Small, capacity: usize) -> End {
    let all = small.logs.len();
    let holds = |element: usize| {
        let own = Rc::new(Number::initial(element, all));
        let [sum, last, tile] = std::array::from_fn(|_| Rc::clone(&own));
        Holds { sum, own, last, tile, stored: false, before: Vec::new() }
    };
    let start = State {
        next: vec![0; all],
        holds: (0..all).map(holds).collect(),
        queues: vec![Default::default(); all],
    };
    let mut known: HashMap<Vec<usize>, State> = HashMap::from([(start.next.clone(), start.clone())]);
    let mut open = vec![start.clone()];
    let (mut is_torn, mut end): (bool, Option<State>) = (false, None);
    while let Some(state) = open.pop() {
        let mut is_last = true;
        for element in 0..all {
            let Some(next) = after(small, capacity, &state, element) else { continue };
            is_last = false;
            match known.get(&next.next) {
                Some(same) => is_torn |= *same != next,
                None => {
                    known.insert(next.next.clone(), next.clone());
                    open.push(next);
                }
            }
        }
        if is_last {
            is_torn |= end.as_ref().is_some_and(|end| end.next != state.next);
            end = Some(state);
        }
    }
    let state = end.unwrap_or(start);
    let is_done = state.next.iter().zip(&small.logs).all(|(&next, steps)| next == steps.len());
    let has_left = state.queues.iter().flatten().any(|queue| !queue.is_empty());
    End { state, is_done, has_left, is_torn }
}
