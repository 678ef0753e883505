//! What a task takes and touches: rules M01 to M04, M07, M08, and footprints (clause EXE-04).

use megakernel_ir::{BufferId, DType, Opcode, Rule, TaskId};

use crate::found::Found;
use crate::opcodes::arity;
use crate::program::{Buffer, Program, Task};
use crate::shapes::Shapes;
use crate::steps::Steps;

/// A box: an interval for each axis.
pub type Region = Vec<[i128; 2]>;

/// An operand of a task, and what the task reads or writes of it.
#[derive(Clone, Debug)]
pub struct Access {
    /// The task.
    pub task: TaskId,
    /// The place among inputs, or among outputs.
    pub operand: usize,
    /// Whether it is an output.
    pub is_write: bool,
    /// The buffer.
    pub buffer: BufferId,
    /// The elements.
    pub region: Region,
}

/// A task with its operands. In a program without a broken S rule, all of them are there.
pub struct Operands<'a> {
    /// The task.
    pub task: &'a Task,
    /// What it reads.
    pub inputs: Vec<&'a Buffer>,
    /// What it writes.
    pub output: Option<&'a Buffer>,
    /// Whether `qdtype` is given.
    pub is_quantised: bool,
    /// Opcode, and whether its quantised form.
    pub form: &'static str,
}

/// The operands by place.
pub const INPUTS: [&str; 9] = [
    "inputs/0", "inputs/1", "inputs/2", "inputs/3", "inputs/4", "inputs/5", "inputs/6", "inputs/7",
    "inputs/8",
];

impl<'a> Operands<'a> {
    /// Those of a task.
    pub fn new(program: &'a Program, task: &'a Task) -> Operands<'a> {
        let is_quantised = task.param("qdtype").is_some();
        let form = match (task.op, is_quantised) {
            (Opcode::GemvTile, true) => "GEMV_TILE quantised",
            (Opcode::GemmTile, true) => "GEMM_TILE quantised",
            (op, _) => op.name(),
        };
        Operands {
            task,
            inputs: task.inputs.iter().filter_map(|&id| program.buffer(id)).collect(),
            output: task.outputs.first().and_then(|&id| program.buffer(id)),
            is_quantised,
            form,
        }
    }

    /// The value of a parameter, 0 where there is none.
    pub fn int(&self, name: &str) -> i128 {
        self.task.int(name).unwrap_or(0)
    }
}

/// Whether a dtype is of the class *float*.
pub fn is_float(dtype: DType) -> bool {
    DType::FLOATS.contains(&dtype)
}

/// Judges each task by itself, and gives what it accesses.
pub fn judge(steps: &Steps, program: &Program, found: &Found<'_>) -> Vec<Access> {
    let mut accesses = Vec::new();
    for (id, task) in program.tasks_by_id() {
        let operands = Operands::new(program, task);
        let memory = Memory { steps, operands: &operands };
        let dtypes = memory.dtypes();
        let shapes = Shapes::new(steps, &operands).judge();
        found.require(Rule::M01, dtypes);
        let judged = dtypes || steps.errs("shapes-beside-dtypes");
        if judged {
            found.require(Rule::M02, shapes.is_good);
            found.require(Rule::M08, shapes.is_quantisation_good && shapes.is_storage_good);
        }
        let all = shapes.is_good && shapes.is_quantisation_good && shapes.is_storage_good;
        if dtypes && all || steps.errs("bounds-beside-shapes") {
            memory.bounds(found);
        }
        memory.in_place(found);
        let fits = shapes.is_good && shapes.is_quantisation_good;
        let fits = steps.step("footprint-by-dtype-of-weight", fits, || fits && shapes.is_storage_good);
        let fits = steps.step("footprint-by-dtypes", fits, || fits && dtypes);
        let fits = steps.step("footprint-despite-shapes", fits, || true);
        memory.footprint(id, fits, &mut accesses);
    }
    accesses
}

struct Memory<'a> {
    steps: &'a Steps,
    operands: &'a Operands<'a>,
}

impl Memory<'_> {
    /// Rule M01.
    fn dtypes(&self) -> bool {
        let operands = self.operands;
        let (op, is_quantised) = (operands.task.op, operands.is_quantised);
        let dtype = |index: usize| operands.inputs.get(index).map(|buffer| buffer.dtype);
        let mut good = true;
        for (index, buffer) in operands.inputs.iter().enumerate() {
            let fits: fn(DType) -> bool = match (op, index) {
                // Of these, other rules or the output say more.
                (Opcode::Copy, _) | (Opcode::Dequant, 0) | (Opcode::KvAppend, 1) => continue,
                (Opcode::GemvTile | Opcode::GemmTile, 1) if is_quantised => continue,
                (Opcode::Embed, 0) | (Opcode::Rope, 1) => |dtype| dtype == DType::I32,
                (Opcode::AttentionTile, 3) => |dtype| is_float(dtype) || dtype == DType::Bool,
                (Opcode::AttentionCombine, _) => |dtype| dtype == DType::F32,
                (Opcode::GemvTile | Opcode::GemmTile, 3) | (Opcode::Dequant, 2) => {
                    |dtype| is_float(dtype) || matches!(dtype, DType::I8 | DType::U8)
                }
                _ => is_float,
            };
            good &= self.dtype(INPUTS[index.min(8)], buffer.dtype, fits(buffer.dtype));
        }
        let Some(output) = operands.output.map(|buffer| buffer.dtype) else { return good };
        let fits = match op {
            Opcode::Nop => true,
            Opcode::Copy => {
                let [x, y] = [dtype(0).unwrap_or(output), output];
                let fits = x == y || is_float(x) && is_float(y);
                let fits = self.steps.step("copy-of-equal-dtypes-only", fits, || x == y);
                let fits = self.steps.step("copy-of-floats-only", fits, || is_float(x) && is_float(y));
                self.steps.step("copy-to-any-integer", fits, || fits || !is_float(y))
            }
            Opcode::SampleArgmax => output == DType::I32,
            Opcode::KvAppend => {
                let fits = dtype(1).is_none_or(|cache| cache == output) && is_float(output);
                self.steps.step("append-in-dtype-of-new-only", fits, || fits && dtype(0) == Some(output))
            }
            Opcode::AttentionTile if operands.int("flags") & 2 != 0 => {
                let fits = output == DType::F32;
                self.steps.step("partial-in-any-float", fits, || is_float(output))
            }
            Opcode::AttentionTile => {
                self.steps.step("tile-in-f32-only", is_float(output), || output == DType::F32)
            }
            _ => is_float(output),
        };
        good & self.dtype("outputs/0", output, fits)
    }

    fn dtype(&self, place: &'static str, dtype: DType, fits: bool) -> bool {
        let form = self.operands.form;
        let fits = self.steps.step_of(["dtype-unchecked", form, place], fits, || true);
        // Where one dtype alone is taken, it has 32 bits.
        if self.takes_one(place) {
            return fits;
        }
        self.steps.step_of(["dtype-of-8-bits-refused", form, place], fits, || fits && dtype.bits() != 8)
    }

    fn takes_one(&self, place: &str) -> bool {
        match self.operands.task.op {
            Opcode::Embed => place == "inputs/0",
            Opcode::Rope => place == "inputs/1",
            Opcode::SampleArgmax => place == "outputs/0",
            Opcode::AttentionCombine => place != "outputs/0",
            Opcode::AttentionTile => place == "outputs/0" && self.operands.int("flags") & 2 != 0,
            _ => false,
        }
    }

    /// Rules M03 and M04, of a task whose shapes are right.
    fn bounds(&self, found: &Found<'_>) {
        let operands = self.operands;
        let extent = |buffer: Option<&Buffer>, axis: usize| {
            let shape = buffer.map(|buffer| buffer.shape.as_slice()).unwrap_or_default();
            shape.get(axis).map_or(0, |&extent| i128::from(extent))
        };
        let input = |index: usize| operands.inputs.get(index).copied();
        match operands.task.op {
            Opcode::GemvTile | Opcode::GemmTile => {
                let n = extent(input(1), 0);
                self.within(found, Rule::M03, "n_off", operands.int("N_tile"), n);
                if operands.task.op == Opcode::GemmTile {
                    self.within(found, Rule::M03, "m_off", operands.int("M_tile"), extent(input(0), 0));
                }
            }
            Opcode::KvAppend => {
                let Some(cache) = input(1) else { return };
                let axis = cache.shape.len().saturating_sub(3);
                self.within(found, Rule::M04, "pos", self.rows_appended(), extent(Some(cache), axis));
            }
            Opcode::AttentionTile => {
                let axis = input(1).map_or(0, |k| k.shape.len().saturating_sub(3));
                self.within(found, Rule::M04, "kv_start", operands.int("kv_len"), extent(input(1), axis));
            }
            _ => {}
        }
    }

    fn within(&self, found: &Found<'_>, rule: Rule, offset: &'static str, length: i128, extent: i128) {
        let (form, start) = (self.operands.form, self.operands.int(offset));
        let step = |name, good, wrong: bool| self.steps.step_of([name, form, offset], good, || wrong);
        let good = start + length <= extent;
        let good = step("bounds-unchecked", good, true);
        let good = step("bounds-one-more", good, start + length <= extent + 1);
        let good = step("bounds-end-refused", good, start + length < extent);
        let good = step("bounds-of-offset-only", good, start < extent);
        let good = step("bounds-of-offset-and-end", good, start <= extent);
        let good = step("bounds-of-length-only", good, length <= extent);
        let good = step("bounds-wrap", good, i128::from((start + length) as i32) <= extent);
        found.require(rule, good);
    }

    /// How many rows KV_APPEND writes.
    fn rows_appended(&self) -> i128 {
        let (new, cache) = (self.operands.inputs.first(), self.operands.inputs.get(1));
        let (Some(new), Some(cache)) = (new, cache) else { return 0 };
        let row: i128 = cache.shape.iter().rev().take(2).map(|&extent| i128::from(extent)).product();
        let rows = if cache.shape.len() == 4 { 1 } else { new.numel().unwrap_or(0) / row.max(1) };
        self.steps.step("append-of-one-row", rows, || 1)
    }

    /// Rule M07.
    fn in_place(&self, found: &Found<'_>) {
        let (task, steps, form) = (self.operands.task, self.steps, self.operands.form);
        let Some(output) = task.outputs.first() else { return };
        let is_input = task.inputs.contains(output);
        let is_allowed = arity(task.op, false).in_place;
        let good = match task.op {
            Opcode::KvAppend => {
                let cache = task.inputs.get(1) == Some(output);
                let cache = steps.step("append-to-another-buffer", cache, || true);
                let other = task.inputs.first() != Some(output);
                let other = steps.step("append-of-the-cache", other, || true);
                let good = cache && other;
                steps.step("append-in-place-refused", good, || !is_input)
            }
            _ => {
                let good = !is_input || is_allowed;
                let later = || task.inputs.iter().skip(1).any(|input| input == output);
                let good = match is_allowed {
                    true => {
                        let good = steps.step_of(["in-place-refused", form, ""], good, || !is_input);
                        match task.inputs.len() {
                            0 | 1 => good,
                            _ => steps.step_of(["in-place-first-input-only", form, ""], good, || !later()),
                        }
                    }
                    false => steps.step_of(["in-place-allowed", form, ""], good, || true),
                };
                let good = steps.step("in-place-at-first-input-unseen", good, || is_allowed || !later());
                steps.step("in-place-at-later-inputs-unseen", good, || {
                    is_allowed || task.inputs.first() != Some(output)
                })
            }
        };
        found.require(Rule::M07, good);
    }

    /// What the task reads and writes.
    fn footprint(&self, task: TaskId, fits: bool, accesses: &mut Vec<Access>) {
        let record = self.operands.task;
        let all = record.inputs.iter().enumerate().map(|(operand, &id)| (operand, false, id));
        // Where a second output is passed over, nothing says what the task writes of it.
        let outputs = record.outputs.iter().take(1);
        let all = all.chain(outputs.enumerate().map(|(operand, &id)| (operand, true, id)));
        for (operand, is_write, id) in all {
            let buffer =
                if is_write { self.operands.output } else { self.operands.inputs.get(operand).copied() };
            let (Some(buffer), Ok(id)) = (buffer, usize::try_from(id).map(BufferId::at)) else { continue };
            let Some(region) = self.region(operand, is_write, buffer, fits) else { continue };
            if region.iter().all(|[low, high]| low < high) {
                accesses.push(Access { task, operand, is_write, buffer: id, region });
            }
        }
    }

    fn region(&self, operand: usize, is_write: bool, buffer: &Buffer, fits: bool) -> Option<Region> {
        let (steps, operands, form) = (self.steps, self.operands, self.operands.form);
        let place = if is_write { "outputs/0" } else { INPUTS[operand.min(8)] };
        let whole: Region = buffer.shape.iter().map(|&extent| [0, i128::from(extent)]).collect();
        let is_cache_of_append = operands.task.op == Opcode::KvAppend && operand == 1 && !is_write;
        if is_cache_of_append && !steps.errs("append-reads-its-cache") {
            return None;
        }
        let mut region = whole.clone();
        let parts = self.tiles(operand, is_write, buffer);
        let tiles = if fits { parts.as_slice() } else { &[] };
        let row = if is_write { 4 } else { operand.min(3) };
        for &(axis, start, length) in tiles {
            let Some(interval) = region.get_mut(axis) else { continue };
            let all = *interval;
            let clip = |low: i128, high: i128| [low.clamp(0, all[1]), high.clamp(0, all[1])];
            let step = |name, right: [i128; 2], low: i128, high: i128| {
                steps.step_of([name, form, PLACES[row][axis.min(3)]], right, || clip(low, high))
            };
            let end = start + length;
            let tile = clip(start, end);
            if operands.is_quantised && operand == 1 && !is_write {
                // Only COPY writes such a buffer, and as a whole: all that shows is whether something is read.
                *interval = step("tile-shrunk-at-its-end", tile, start, end - 1);
                continue;
            }
            let tile = step("tile-as-whole", tile, 0, all[1]);
            let tile = step("tile-grown-at-its-end", tile, start, end + 1);
            let tile = step("tile-grown-at-its-begin", tile, start - 1, end);
            let tile = step("tile-shrunk-at-its-end", tile, start, end - 1);
            let tile = step("tile-shrunk-at-its-begin", tile, start + 1, end);
            let tile = step("tile-shifted-up", tile, start + 1, end + 1);
            let tile = step("tile-shifted-down", tile, start - 1, end - 1);
            let tile = step("tile-from-the-begin", tile, 0, end);
            let tile = step("tile-to-the-end", tile, start, all[1]);
            let tile = step("tile-without-offset", tile, 0, length);
            *interval = if length > 1 { step("tile-of-one", tile, start, start + 1) } else { tile };
        }
        if parts.is_empty() && operands.task.op != Opcode::KvAppend {
            region = steps
                .step_of(["whole-without-last-row", form, place], region.clone(), || shrink(&region, [0, 1]));
            region = steps.step_of(["whole-without-first-row", form, place], region.clone(), || {
                shrink(&region, [1, 0])
            });
        }
        let kept = steps.step_of(["operand-forgotten", form, place], true, || false);
        kept.then_some(region)
    }

    /// The intervals of an operand of which the task touches a part: axis, first, number.
    fn tiles(&self, operand: usize, is_write: bool, buffer: &Buffer) -> Vec<(usize, i128, i128)> {
        let operands = self.operands;
        let (task, int) = (operands.task, |name| operands.int(name));
        let columns = (int("n_off"), int("N_tile"));
        let rows = (int("m_off"), int("M_tile"));
        let rank = buffer.shape.len();
        match (task.op, operand, is_write) {
            (Opcode::GemvTile, _, true) => vec![(rank.saturating_sub(1), columns.0, columns.1)],
            (Opcode::GemmTile, _, true) => vec![(0, rows.0, rows.1), (1, columns.0, columns.1)],
            (Opcode::GemmTile, 0, false) => vec![(0, rows.0, rows.1)],
            (Opcode::GemvTile | Opcode::GemmTile, 1.., false)
                if operand == 1 || operands.is_quantised || rank == 1 =>
            {
                vec![(0, columns.0, columns.1)]
            }
            (Opcode::AttentionTile, 1 | 2, false) => {
                vec![(rank.saturating_sub(3), int("kv_start"), int("kv_len"))]
            }
            (Opcode::KvAppend, _, true) if task.outputs.first() == task.inputs.get(1) => {
                vec![(rank.saturating_sub(3), int("pos"), self.rows_appended())]
            }
            _ => Vec::new(),
        }
    }
}

/// A region with fewer elements at the ends of its first axis.
fn shrink(region: &Region, [first, last]: [i128; 2]) -> Region {
    let mut region = region.clone();
    if let Some(interval) = region.first_mut() {
        *interval = [interval[0] + first, interval[1] - last];
    }
    region
}

/// Operands by place, and their axes: inputs, then the output.
const PLACES: [[&str; 4]; 5] = [
    ["inputs/0 axis 0", "inputs/0 axis 1", "inputs/0 axis 2", "inputs/0 axis 3"],
    ["inputs/1 axis 0", "inputs/1 axis 1", "inputs/1 axis 2", "inputs/1 axis 3"],
    ["inputs/2 axis 0", "inputs/2 axis 1", "inputs/2 axis 2", "inputs/2 axis 3"],
    ["inputs/3 axis 0", "inputs/3 axis 1", "inputs/3 axis 2", "inputs/3 axis 3"],
    ["outputs/0 axis 0", "outputs/0 axis 1", "outputs/0 axis 2", "outputs/0 axis 3"],
];
