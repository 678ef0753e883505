//! Algorithms as programs (clause COL-26): a slot of a queue is a buffer, a message two copies, and each task has a counter of its own.

mod splice;

use std::collections::HashMap;

use megakernel_collectives::{Algorithm, Dtype};
use serde_json::{Value, json};

use crate::program::{Action, Program};

pub use splice::splice;

/// What keeps the operations of an element in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// An SM for each element, in whose queue they stand.
    Queues,
    /// Counters: each task waits for the one before it.
    Counters,
}

/// The most tasks of a program.
const MOST: usize = 1 << 20;

/// The program of an algorithm whose sends and receives match.
///
/// # Errors
/// It would have too many tasks.
pub fn lower(algorithm: &Algorithm, program: &Program, order: Order) -> Result<Value, String> {
    let piece = piece(algorithm, program);
    let layout = Layout::new(algorithm, program, piece)?;
    let mut lowering = Lowering {
        piece,
        order,
        layout: &layout,
        program,
        buffers: Vec::new(),
        named: HashMap::new(),
        tasks: Vec::new(),
        previous: None,
    };
    for element in 0..program.lines.len() {
        lowering.element(algorithm, element);
    }
    let counters: Vec<Value> =
        (0..lowering.tasks.len()).map(|id| json!({"id": id, "init": 0, "note": ""})).collect();
    Ok(json!({
        "ir_version": "0.2.0",
        "abi_version": "0.2",
        "meta": {"collective": algorithm.collective.kind.name()},
        "target": null,
        "buffers": lowering.buffers,
        "counters": counters,
        "tasks": lowering.tasks,
        "pages": null,
        "config": null,
    }))
}

/// Opcodes take whole buffers, so memories are cut into pieces of one length: the longest with which every operation is about
/// whole pieces.
pub fn piece(algorithm: &Algorithm, program: &Program) -> u64 {
    let mut piece = algorithm.n_elem.unsigned_abs();
    let mut with = |number: u32| {
        let (mut a, mut b) = (piece, u64::from(number));
        while b > 0 {
            (a, b) = (b, a % b);
        }
        piece = a;
    };
    for op in &program.ops {
        match op.action {
            Action::Load { at, n, .. } => [at, n].into_iter().for_each(&mut with),
            Action::Store { at, .. } => with(at),
            _ => {}
        }
    }
    program.queues.iter().flat_map(|queue| queue.received.runs()).for_each(|(_, (n, _))| with(n));
    piece.max(1)
}

/// The numbers of all tasks, before they are written.
struct Layout {
    /// Of each message of each queue: the first task that sends it, and the first that receives it, with how many pieces it has.
    sends: Vec<Vec<usize>>,
    receives: Vec<Vec<(usize, usize)>>,
}

impl Layout {
    fn new(algorithm: &Algorithm, program: &Program, piece: u64) -> Result<Layout, String> {
        let queues = program.queues.len();
        let mut layout = Layout { sends: vec![Vec::new(); queues], receives: vec![Vec::new(); queues] };
        let pieces = |n: u64| usize::try_from(n / piece).unwrap_or(MOST);
        let mut next = 0;
        for (element, line) in program.lines.iter().enumerate() {
            let mut lengths: Vec<(u64, Dtype)> = vec![(0, Dtype::F16); line.handles];
            for op in program.ops(element) {
                let of = |handle: u32| lengths.get(handle as usize).copied().unwrap_or((0, Dtype::F16));
                let (made, tasks) = match op.action {
                    Action::Load { to, n, .. } => (Some((to, (u64::from(n), Dtype::F16))), 0),
                    Action::Store { .. } => (None, 0),
                    Action::Send { of: sent, queue } => {
                        layout.sends.get_mut(queue as usize).into_iter().for_each(|sends| sends.push(next));
                        (None, pieces(of(sent).0))
                    }
                    Action::Recv { to, queue } => {
                        let messages = layout.receives.get_mut(queue as usize);
                        let number = messages.as_ref().map_or(0, |messages| messages.len());
                        let received =
                            program.queues.get(queue as usize).and_then(|queue| queue.received.get(number));
                        let (n, dtype) = received.unwrap_or((0, Dtype::F16));
                        let tasks = pieces(u64::from(n));
                        messages.into_iter().for_each(|messages| messages.push((next, tasks)));
                        (Some((to, (u64::from(n), dtype))), tasks)
                    }
                    Action::Add { to, a, .. } => (Some((to, of(a))), pieces(of(a).0)),
                    Action::Cast { to, of: from, dtype } => {
                        let (n, before) = of(from);
                        (Some((to, (n, dtype))), if before == dtype { 0 } else { pieces(n) })
                    }
                };
                if let Some((to, shape)) = made
                    && let Some(length) = lengths.get_mut(to as usize)
                {
                    *length = shape;
                }
                next += tasks;
            }
            next += pieces(algorithm.n_elem.unsigned_abs());
            if next > MOST {
                return Err(format!("the program would have more than {MOST} tasks"));
            }
        }
        Ok(layout)
    }
}

/// A piece of a handle or a memory.
#[derive(Clone, Copy)]
enum Cell {
    /// What stood at this place of the element's tile at the beginning.
    Initial(usize),
    /// A buffer, and the task that writes it.
    Made(usize, usize),
}

impl Cell {
    /// The task that it waits for.
    fn by(self) -> Option<usize> {
        match self {
            Cell::Initial(_) => None,
            Cell::Made(_, task) => Some(task),
        }
    }
}

struct Lowering<'a> {
    piece: u64,
    order: Order,
    layout: &'a Layout,
    program: &'a Program,
    buffers: Vec<Value>,
    named: HashMap<String, usize>,
    tasks: Vec<Value>,
    /// Of this element, the task before.
    previous: Option<usize>,
}

fn dtype_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F16 => "F16",
        Dtype::F32 => "F32",
    }
}

impl Lowering<'_> {
    /// The buffer of this name.
    fn buffer(&mut self, name: String, kind: &str, dtype: Dtype) -> usize {
        let next = self.buffers.len();
        let id = *self.named.entry(name.clone()).or_insert(next);
        if id == next {
            self.buffers.push(json!({"id": id, "name": name, "kind": kind, "dtype": dtype_name(dtype),
                                     "shape": [self.piece], "space": "HBM", "source": null}));
        }
        id
    }

    fn task(
        &mut self,
        element: usize,
        op: &str,
        inputs: &[usize],
        output: usize,
        after: &[Option<usize>],
    ) -> usize {
        let id = self.tasks.len();
        let mut waits: Vec<usize> = after.iter().copied().flatten().collect();
        if self.order == Order::Counters {
            waits.extend(self.previous);
        }
        waits.sort_unstable();
        waits.dedup();
        let waits: Vec<Value> =
            waits.into_iter().map(|counter| json!({"counter": counter, "threshold": 1})).collect();
        let sm = (self.order == Order::Queues).then_some(element);
        self.tasks.push(json!({"id": id, "op": op, "inputs": inputs, "outputs": [output], "out_counter": id, "waits": waits,
                               "params": {}, "sm": sm, "est_bytes": 0, "est_flops": 0, "label": ""}));
        self.previous = Some(id);
        id
    }

    /// The buffer of a piece. Those of the beginning are made when they are read, so that none is there for nothing.
    fn read(&mut self, element: usize, cell: Cell) -> usize {
        match cell {
            Cell::Initial(at) => self.buffer(format!("tile.{element}.{at}"), "IO_INPUT", Dtype::F16),
            Cell::Made(buffer, _) => buffer,
        }
    }

    fn element(&mut self, algorithm: &Algorithm, element: usize) {
        let Some(line) = self.program.lines.get(element) else { return };
        self.previous = None;
        let mut handles: Vec<(Vec<Cell>, Dtype)> = vec![(Vec::new(), Dtype::F16); line.handles];
        let mut memory: HashMap<usize, Cell> = HashMap::new();
        let mut counts: HashMap<(u32, bool), usize> = HashMap::new();
        let piece = self.piece;
        let piece_of = |at: u32| usize::try_from(u64::from(at) / piece).unwrap_or(0);
        for (number, op) in self.program.ops(element).iter().enumerate() {
            let held =
                |handle: u32| handles.get(handle as usize).cloned().unwrap_or((Vec::new(), Dtype::F16));
            let name = |at: usize| format!("value.{element}.{number}.{at}");
            let (to, made) = match op.action {
                Action::Load { to, at, n } => {
                    let (from, count) = (piece_of(at), piece_of(n));
                    let cells =
                        (from..from + count).map(|at| memory.get(&at).copied().unwrap_or(Cell::Initial(at)));
                    (to, (cells.collect(), Dtype::F16))
                }
                Action::Store { of, at } => {
                    memory.extend(
                        held(of).0.into_iter().enumerate().map(|(place, cell)| (piece_of(at) + place, cell)),
                    );
                    continue;
                }
                Action::Send { of, queue } => {
                    let count = counts.entry((queue, true)).or_default();
                    let message = *count;
                    *count += 1;
                    let (cells, dtype) = held(of);
                    for (at, cell) in cells.into_iter().enumerate() {
                        let (slot, freed) = self.slot(queue, message, at, dtype);
                        let after = [cell.by(), freed[0], freed[1]];
                        let held = self.read(element, cell);
                        self.task(element, "COPY", &[held], slot, &after);
                    }
                    continue;
                }
                Action::Recv { to, queue } => {
                    let count = counts.entry((queue, false)).or_default();
                    let message = *count;
                    *count += 1;
                    (to, self.receive(element, queue, message, name))
                }
                Action::Add { to, a, b } => {
                    let ((a, dtype), (b, _)) = (held(a), held(b));
                    let cells = a.into_iter().zip(b).enumerate().map(|(at, (a, b))| {
                        let buffer = self.buffer(name(at), "ACTIVATION", dtype);
                        let inputs = [self.read(element, a), self.read(element, b)];
                        Cell::Made(buffer, self.task(element, "ADD", &inputs, buffer, &[a.by(), b.by()]))
                    });
                    (to, (cells.collect(), dtype))
                }
                Action::Cast { to, of, dtype } => {
                    let (cells, before) = held(of);
                    if before == dtype {
                        (to, (cells, dtype))
                    } else {
                        let cells = cells.into_iter().enumerate().map(|(at, cell)| {
                            let buffer = self.buffer(name(at), "ACTIVATION", dtype);
                            let held = self.read(element, cell);
                            Cell::Made(buffer, self.task(element, "COPY", &[held], buffer, &[cell.by()]))
                        });
                        (to, (cells.collect(), dtype))
                    }
                }
            };
            if let Some(handle) = handles.get_mut(to as usize) {
                *handle = made;
            }
        }
        let all = usize::try_from(algorithm.n_elem.unsigned_abs() / self.piece).unwrap_or(0);
        for at in 0..all {
            let cell = memory.get(&at).copied().unwrap_or(Cell::Initial(at));
            let held = self.read(element, cell);
            let end = self.buffer(format!("end.{element}.{at}"), "IO_OUTPUT", Dtype::F16);
            self.task(element, "COPY", &[held], end, &[cell.by()]);
        }
    }

    /// The buffer of a piece of a message, and the tasks that have read what the slot held before: the last piece of that message,
    /// and who read this piece last.
    fn slot(&mut self, queue: u32, message: usize, at: usize, dtype: Dtype) -> (usize, [Option<usize>; 2]) {
        let of = self.program.queues.get(queue as usize);
        let capacity = of.and_then(|of| usize::try_from(of.capacity).ok()).unwrap_or(1).max(1);
        let name = format!("slot.{queue}.{}.{at}.{}", message % capacity, dtype_name(dtype));
        let buffer = self.buffer(name, "ACTIVATION", dtype);
        let receives = self.layout.receives.get(queue as usize).map(Vec::as_slice).unwrap_or_default();
        let received = |message: usize| receives.get(message).copied();
        let before = message.checked_sub(capacity);
        let last = before.and_then(received).map(|(first, pieces)| first + pieces.saturating_sub(1));
        let has_piece = |&message: &usize| {
            let is_long = received(message).is_some_and(|(_, pieces)| pieces > at);
            is_long && of.and_then(|of| of.received.get(message)).is_some_and(|(_, of)| of == dtype)
        };
        let earlier = std::iter::successors(before, |message| message.checked_sub(capacity)).find(has_piece);
        let same = earlier.and_then(received).map(|(first, _)| first + at);
        (buffer, [last, same])
    }

    /// The pieces of a message, copied out of its slot.
    fn receive(
        &mut self,
        element: usize,
        queue: u32,
        message: usize,
        name: impl Fn(usize) -> String,
    ) -> (Vec<Cell>, Dtype) {
        let (program, layout) = (self.program, self.layout);
        let of = program.queues.get(queue as usize).and_then(|queue| queue.received.get(message));
        let dtype = of.map_or(Dtype::F16, |(_, dtype)| dtype);
        let pieces = layout
            .receives
            .get(queue as usize)
            .and_then(|all| all.get(message))
            .map_or(0, |(_, pieces)| *pieces);
        let sent = layout.sends.get(queue as usize).and_then(|sends| sends.get(message)).copied();
        let cells = (0..pieces).map(|at| {
            let (slot, _) = self.slot(queue, message, at, dtype);
            let buffer = self.buffer(name(at), "ACTIVATION", dtype);
            Cell::Made(buffer, self.task(element, "COPY", &[slot], buffer, &[sent.map(|first| first + at)]))
        });
        (cells.collect(), dtype)
    }
}

#[cfg(test)]
mod decoder;
#[cfg(test)]
mod tests;
