//! What a schedule does in every run, for tests: who wrote each element that a task reads, who added to it, and what outputs and caches hold at
//! the end. It shares nothing with the validator.
//!
//! One run stands for all of them where every two accesses that conflict are ordered: another run takes the same phases and exchanges neighbours
//! that do not conflict. What comes before each phase is a set of bits, filled along that run. Tensors have one axis here, and are no views.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;

use serde_json::Value;

/// A set of phases.
type Bits = Vec<u64>;

/// A phase: the name of its task, how many tasks before it have the same, and its place.
type Who = (String, usize, usize);

/// What is looked at: a read of a phase, by its place among the accesses; or at the end, what an output or a cache holds.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Read(Who, usize),
    Left(String),
}

/// What an element holds: who wrote it, and who has added to it since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Held {
    written: Option<Who>,
    added: BTreeSet<Who>,
}

/// What is seen at each place in every run: from an element on, up to the next one that is listed.
#[derive(Debug, PartialEq, Eq)]
pub struct Effect(BTreeMap<Place, Vec<(u64, Rc<Held>)>>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Read,
    Write,
    Add,
}

struct Access {
    does: Does,
    tensor: usize,
    elements: Range<u64>,
    group: Option<String>,
}

struct Phase {
    task: usize,
    place: usize,
    waits: Vec<(usize, u64)>,
    accesses: Vec<Access>,
    signals: Vec<(usize, u64)>,
}

struct Tensor {
    name: String,
    is_left: bool,
    extent: u64,
}

/// A schedule.
pub struct Schedule {
    tensors: Vec<Tensor>,
    /// Name, and how many before it have the same.
    tasks: Vec<(String, usize)>,
    phases: Vec<Phase>,
    /// The phases of each queue, in their order.
    queues: Vec<Vec<usize>>,
    is_ordered: bool,
    events: usize,
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a name").to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

impl Schedule {
    /// Reads what a document says.
    pub fn read(document: &Value) -> Schedule {
        let of_tensor = |(name, tensor): (&String, &Value)| {
            assert!(
                tensor["view"].is_null() && tensor["storage"].is_null() && list(&tensor["shape"]).len() == 1
            );
            let is_left = ["output", "cache"].contains(&tensor["kind"].as_str().unwrap_or_default());
            Tensor { name: name.clone(), is_left, extent: number(&tensor["shape"][0]) }
        };
        let tensors: Vec<Tensor> =
            document["tensors"].as_object().expect("tensors").iter().map(of_tensor).collect();
        let of_name: HashMap<&str, usize> =
            tensors.iter().enumerate().map(|(index, tensor)| (tensor.name.as_str(), index)).collect();
        let mut events = HashMap::new();
        let mut counts = |counts: &Value| -> Vec<(usize, u64)> {
            let mut event = |name: String| {
                let next = events.len();
                *events.entry(name).or_insert(next)
            };
            list(counts).iter().map(|count| (event(text(&count[0])), number(&count[1]))).collect()
        };
        let mut known: HashMap<String, usize> = HashMap::new();
        let (mut tasks, mut phases) = (Vec::new(), Vec::new());
        let mut queues: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for task in list(&document["tasks"]) {
            assert!(task["repeat"].is_null(), "repetition is done");
            let name = text(&task["name"]);
            let before = known.entry(name.clone()).or_default();
            tasks.push((name, *before));
            *before += 1;
            for (place, phase) in list(&task["phases"]).iter().enumerate() {
                queues.entry(task["queue"].as_i64().expect("a queue")).or_default().push(phases.len());
                let lists = [("reads", Does::Read), ("writes", Does::Write), ("adds", Does::Add)];
                let accesses = lists
                    .into_iter()
                    .flat_map(|(member, does)| list(&phase[member]).iter().map(move |access| (does, access)));
                let accesses = accesses.map(|(does, access)| {
                    let tensor = of_name[access[0].as_str().expect("a name")];
                    let elements = match access[1].as_array() {
                        Some(region) => number(&region[0][0])..number(&region[0][1]),
                        None => 0..tensors[tensor].extent,
                    };
                    Access { does, tensor, elements, group: access[2].as_str().map(str::to_owned) }
                });
                phases.push(Phase {
                    task: tasks.len() - 1,
                    place,
                    waits: counts(&phase["waits"]),
                    accesses: accesses.collect(),
                    signals: counts(&phase["signals"]),
                });
            }
        }
        let is_ordered = document["memory"]["queue"] == "ordered";
        let queues = queues.into_values().collect();
        Schedule { tensors, tasks, phases, queues, is_ordered, events: events.len() }
    }

    /// A run, in which the workers take turns. Nothing if it gets stuck.
    fn run(&self) -> Option<Vec<usize>> {
        let mut counts = vec![0; self.events];
        let mut next = vec![0; self.queues.len()];
        let mut order = Vec::new();
        while order.len() < self.phases.len() {
            let before = order.len();
            for (queue, next) in self.queues.iter().zip(&mut next) {
                while let Some(&phase) = queue.get(*next) {
                    let Phase { waits, signals, .. } = &self.phases[phase];
                    if waits.iter().any(|&(event, count)| counts[event] < count) {
                        break;
                    }
                    signals.iter().for_each(|&(event, amount)| counts[event] += amount);
                    order.push(phase);
                    *next += 1;
                }
            }
            if order.len() == before {
                return None;
            }
        }
        Some(order)
    }

    /// For each phase, all phases that happen before it, by the clause on happens-before. Nothing if some run gets stuck.
    pub fn before(&self) -> Option<Vec<Bits>> {
        let mut signals: Vec<BTreeMap<usize, u64>> = vec![BTreeMap::new(); self.events];
        for (number, phase) in self.phases.iter().enumerate() {
            for &(event, amount) in &phase.signals {
                *signals[event].entry(number).or_default() += amount;
            }
        }
        let mut previous = vec![None; self.phases.len()];
        for pair in self.queues.iter().flat_map(|queue| queue.windows(2)) {
            let is_same_task = self.phases[pair[0]].task == self.phases[pair[1]].task;
            previous[pair[1]] = (self.is_ordered || is_same_task).then_some(pair[0]);
        }
        let mut before = vec![vec![0; self.phases.len().div_ceil(64)]; self.phases.len()];
        for phase in self.run()? {
            let mut bits = std::mem::take(&mut before[phase]);
            let mut add = |earlier: usize| {
                bits.iter_mut().zip(&before[earlier]).for_each(|(bits, more)| *bits |= more);
                bits[earlier / 64] |= 1 << (earlier % 64);
            };
            previous[phase].into_iter().for_each(&mut add);
            for &(event, count) in &self.phases[phase].waits {
                let total: u64 = signals[event].values().sum();
                let seen = signals[event].iter().filter(|(_, amount)| total - **amount < count);
                seen.for_each(|(&earlier, _)| add(earlier));
            }
            before[phase] = bits;
        }
        Some(before)
    }

    /// The tasks of two accesses that conflict and may come in either order.
    fn race(&self, before: &[Bits]) -> Option<[String; 2]> {
        let mut of_tensor: Vec<Vec<(usize, &Access)>> = (0..self.tensors.len()).map(|_| Vec::new()).collect();
        for (phase, of) in self.phases.iter().enumerate() {
            of.accesses.iter().for_each(|access| of_tensor[access.tensor].push((phase, access)));
        }
        let is_before = |one: usize, other: usize| before[other][one / 64] >> (one % 64) & 1 == 1;
        for accesses in of_tensor {
            for (at, &(second, two)) in accesses.iter().enumerate() {
                for &(first, one) in &accesses[..at] {
                    let conflicts = match (one.does, two.does) {
                        (Does::Read, Does::Read) => false,
                        (Does::Add, Does::Add) => one.group.is_some() && one.group == two.group,
                        _ => true,
                    };
                    let overlaps =
                        one.elements.start.max(two.elements.start) < one.elements.end.min(two.elements.end);
                    let tasks = [first, second].map(|phase| self.phases[phase].task);
                    if conflicts
                        && overlaps
                        && tasks[0] != tasks[1]
                        && !is_before(first, second)
                        && !is_before(second, first)
                    {
                        return Some(tasks.map(|task| self.tasks[task].0.clone()));
                    }
                }
            }
        }
        None
    }

    /// What it does in every run.
    ///
    /// # Errors
    /// Why runs differ.
    pub fn effect(&self) -> Result<Effect, String> {
        let order = self.run().ok_or("a run gets stuck")?;
        let before = self.before().ok_or("a run gets stuck")?;
        match self.race(&before) {
            Some([one, other]) => Err(format!("{one} and {other} conflict, and either may come first")),
            None => Ok(self.seen(&order)),
        }
    }

    /// What is seen in this run.
    fn seen(&self, order: &[usize]) -> Effect {
        let mut memory: Vec<Memory> =
            self.tensors.iter().map(|_| Memory([(0, Rc::default())].into())).collect();
        let mut seen = BTreeMap::new();
        for &number in order {
            let phase = &self.phases[number];
            let (name, copy) = &self.tasks[phase.task];
            let who = (name.clone(), *copy, phase.place);
            for (at, access) in phase.accesses.iter().enumerate() {
                let (memory, elements) = (&mut memory[access.tensor], access.elements.clone());
                match access.does {
                    Does::Read => {
                        seen.insert(Place::Read(who.clone(), at), memory.of(elements));
                    }
                    Does::Write => {
                        let held = Held { written: Some(who.clone()), added: BTreeSet::new() };
                        memory.change(elements, |of| *of = Rc::new(held.clone()));
                    }
                    Does::Add => memory.change(elements, |of| {
                        Rc::make_mut(of).added.insert(who.clone());
                    }),
                }
            }
        }
        for (tensor, memory) in self.tensors.iter().zip(memory).filter(|(tensor, _)| tensor.is_left) {
            seen.insert(Place::Left(tensor.name.clone()), memory.of(0..tensor.extent));
        }
        Effect(seen)
    }
}

/// What a tensor holds, from each of these elements on up to the next one.
struct Memory(BTreeMap<u64, Rc<Held>>);

impl Memory {
    /// What a range holds, each part that is alike once.
    fn of(&self, elements: Range<u64>) -> Vec<(u64, Rc<Held>)> {
        let first = self.0.range(..=elements.start).next_back().map(|(_, held)| (elements.start, held));
        let all = first
            .into_iter()
            .chain(self.0.range(elements.start + 1..elements.end).map(|(&at, held)| (at, held)));
        let mut parts: Vec<(u64, Rc<Held>)> = Vec::new();
        for (at, held) in all {
            if parts.last().is_none_or(|(_, last)| last != held) {
                parts.push((at, Rc::clone(held)));
            }
        }
        parts
    }

    fn change(&mut self, elements: Range<u64>, change: impl Fn(&mut Rc<Held>)) {
        for at in [elements.start, elements.end] {
            let held = self.0.range(..=at).next_back().map(|(_, held)| Rc::clone(held));
            self.0.entry(at).or_insert(held.expect("all begins at 0"));
        }
        self.0.range_mut(elements).for_each(|(_, held)| change(held));
    }
}
