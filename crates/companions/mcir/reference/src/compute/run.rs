//! A region in its blocks: states, iterations, slots.

use megakernel_mcir::Dtype;
use megakernel_numerics::{decode, encode};

use super::functions::made;
use super::plan::{Part, Plan, Step};
use super::{Blocks, Choices, Landing, format};
use crate::axes::{Affine, Axis, Extent};

/// A tile: its extents here, and its numbers in row-major order.
#[derive(Clone, Debug, Default)]
pub struct Tile {
    pub shape: Vec<usize>,
    pub numbers: Vec<f64>,
}

/// A load that has not landed.
struct Pending<'p> {
    part: &'p Part,
    version: i64,
}

/// A region that is being run.
pub struct Run<'p, 'm> {
    plan: &'p Plan<'p>,
    /// The tensors, by the places of their values.
    memory: &'m mut [Vec<f64>],
    choices: Choices,
    /// By tile and slot.
    slots: Vec<Vec<Tile>>,
    /// By tile: memory for the next result.
    spare: Vec<Tile>,
    /// The slot of each tile that nodes read now.
    now: Vec<usize>,
    pending: Vec<Pending<'p>>,
    /// The values of the axes, the stream last.
    point: Vec<i64>,
    /// The least value of the stream here, and one past the number of its last iteration.
    first: i64,
    iterations: i64,
}

/// The value of an affine form, which need not be an index: only the bounds of what is accessed are judged.
pub fn value(form: &Affine, point: &[i64]) -> i128 {
    let part = |&(place, factor): &(u32, i64)| i128::from(factor) * i128::from(point[place as usize]);
    i128::from(form.number) + form.factors.iter().map(part).sum::<i128>()
}

fn here(extents: &[Extent], point: &[i64]) -> Vec<usize> {
    let extent = |extent: &Extent| {
        let size = i128::from(extent.size);
        let left = extent.rest.as_ref().map_or(size, |rest| value(rest, point));
        usize::try_from(size.min(left)).unwrap_or(0)
    };
    extents.iter().map(extent).collect()
}

/// Rounds a number to a dtype. There is one NaN.
pub fn rounded(dtype: Dtype, number: f64) -> f64 {
    match dtype {
        _ if number.is_nan() => f64::NAN,
        Dtype::F32 => f64::from(number as f32),
        other => decode(format(other), encode(format(other), number)),
    }
}

impl<'p, 'm> Run<'p, 'm> {
    /// One that has done nothing yet.
    pub fn new(plan: &'p Plan<'p>, memory: &'m mut [Vec<f64>], choices: Choices) -> Run<'p, 'm> {
        Run {
            slots: plan.tiles.iter().map(|&(_, slots)| vec![Tile::default(); slots]).collect(),
            spare: vec![Tile::default(); plan.tiles.len()],
            now: vec![0; plan.tiles.len()],
            pending: Vec::new(),
            point: vec![0; plan.axes.blocks.len() + 1],
            first: 0,
            iterations: 0,
            plan,
            memory,
            choices,
        }
    }

    /// Runs all blocks.
    pub fn blocks(&mut self) {
        let axes: &[Axis] = &self.plan.axes.blocks;
        let is_descending = self.choices.blocks == Blocks::Descending;
        let first = |axis: &Axis| if is_descending { axis.most } else { 0 };
        for (place, axis) in axes.iter().enumerate() {
            self.point[place] = first(axis);
        }
        loop {
            self.block();
            // An odometer.
            let mut carried = true;
            for (place, axis) in axes.iter().enumerate() {
                let next = self.point[place] + if is_descending { -axis.step } else { axis.step };
                if (0..=axis.most).contains(&next) {
                    self.point[place] = next;
                    carried = false;
                    break;
                }
                self.point[place] = first(axis);
            }
            if carried {
                return;
            }
        }
    }

    fn block(&mut self) {
        let plan = self.plan;
        for (tile, init, extents) in &plan.states {
            let shape = here(extents, &self.point);
            let numbers = vec![rounded(plan.tiles[*tile].0, *init); shape.iter().product()];
            self.slots[*tile][0] = Tile { shape, numbers };
        }
        self.now.fill(0);
        self.pending.clear();
        let axes = plan.axes;
        let Some(stream) = axes.stream else {
            plan.bodies.iter().for_each(|body| self.body(body, None));
            return;
        };
        let at = |form: &Affine| value(form, &self.point);
        let (first, end) =
            (axes.from.iter().map(at).max().unwrap_or(0), axes.to.iter().map(at).min().unwrap_or(0));
        let count = if end > first { (end - first - 1) / i128::from(stream.step) + 1 } else { 0 };
        // Where there is an iteration, both are within the range, which IS11 bounds.
        self.first = i64::try_from(first).unwrap_or(0);
        self.iterations = i64::try_from(count).unwrap_or(0);
        let [begin, each, last] = &plan.bodies;
        self.body(begin, None);
        for iteration in 0..self.iterations {
            *self.stream() = self.first + iteration * stream.step;
            for (now, slots) in self.now.iter_mut().zip(&self.slots) {
                *now = usize::try_from(iteration).unwrap_or(0) % slots.len();
            }
            self.body(each, Some(iteration));
        }
        self.now.fill(0);
        self.body(last, None);
    }

    fn stream(&mut self) -> &mut i64 {
        let last = self.point.len() - 1;
        &mut self.point[last]
    }

    /// Runs a body, in an iteration of the stream or outside of it.
    fn body(&mut self, steps: &'p [Step], iteration: Option<i64>) {
        for step in steps {
            match step {
                Step::Load(part) => {
                    self.load(part, self.now[part.tile]);
                }
                Step::Store(part) => self.store(part),
                Step::Prefetch(part, version) => self.prefetch(part, iteration.unwrap_or(0) + version),
                Step::Barrier(waits) => {
                    for &(tile, version) in waits {
                        self.wait(tile, iteration.unwrap_or(0) + version);
                    }
                }
                Step::Compute { does, ins, outs } => {
                    let mut results: Vec<Tile> =
                        outs.iter().map(|&out| std::mem::take(&mut self.spare[out])).collect();
                    let tile = |place: usize| ins.get(place).map(|&tile| &self.slots[tile][self.now[tile]]);
                    made(does, &tile, &self.point, &mut results);
                    for (&out, mut tile) in outs.iter().zip(results) {
                        let dtype = self.plan.tiles[out].0;
                        tile.numbers.iter_mut().for_each(|number| *number = rounded(dtype, *number));
                        std::mem::swap(&mut tile, &mut self.slots[out][self.now[out]]);
                        self.spare[out] = tile;
                    }
                }
            }
        }
    }

    fn prefetch(&mut self, part: &'p Part, version: i64) {
        if version >= self.iterations {
            return;
        }
        match self.choices.landing {
            Landing::Early => self.land(&Pending { part, version }),
            Landing::Late => self.pending.push(Pending { part, version }),
        }
    }

    fn wait(&mut self, tile: usize, version: i64) {
        let found = self.pending.iter().position(|load| load.part.tile == tile && load.version == version);
        if let Some(place) = found {
            let load = self.pending.remove(place);
            self.land(&load);
        }
    }

    /// Loads the version that a prefetch was for into its slot.
    fn land(&mut self, load: &Pending<'p>) {
        let now = *self.stream();
        let step = self.plan.axes.stream.map_or(1, |stream| stream.step);
        *self.stream() = self.first + load.version * step;
        let slots = self.slots[load.part.tile].len();
        self.load(load.part, usize::try_from(load.version).unwrap_or(0) % slots);
        *self.stream() = now;
    }

    fn load(&mut self, part: &Part, slot: usize) {
        let mut tile = std::mem::take(&mut self.slots[part.tile][slot]);
        tile.shape = here(&part.extents, &self.point);
        tile.numbers.clear();
        let from = &self.memory[part.tensor];
        let numbers = &mut tile.numbers;
        lines(part, &tile.shape, &self.point, &mut |place, length, stride| {
            if stride == 1 {
                numbers.extend_from_slice(&from[place..place + length]);
            } else {
                numbers.extend((0..length).map(|along| from[place + along * stride]));
            }
        });
        self.slots[part.tile][slot] = tile;
    }

    fn store(&mut self, part: &Part) {
        let tile = &self.slots[part.tile][self.now[part.tile]];
        let to = &mut self.memory[part.tensor];
        let mut numbers = tile.numbers.iter();
        lines(part, &tile.shape, &self.point, &mut |place, length, stride| {
            for along in 0..length {
                if let Some(&number) = numbers.next() {
                    to[place + along * stride] = number;
                }
            }
        });
    }
}

/// Goes through the lines of a part along its last axis: where each begins, how long it is, and what lies between two elements.
fn lines(part: &Part, shape: &[usize], point: &[i64], visit: &mut dyn FnMut(usize, usize, usize)) {
    let index = |(form, stride): &(Affine, usize)| usize::try_from(value(form, point)).unwrap_or(0) * stride;
    let first = part.at.iter().map(index).sum();
    let Some((&length, outer)) = shape.split_last() else {
        visit(first, 1, 1);
        return;
    };
    let stride = part.strides.last().copied().unwrap_or(1);
    let count: usize = outer.iter().product();
    for line in 0..count {
        let (mut rest, mut place) = (line, first);
        for (&extent, &stride) in outer.iter().zip(&part.strides).rev() {
            place += rest % extent * stride;
            rest /= extent;
        }
        visit(place, length, stride);
    }
}
