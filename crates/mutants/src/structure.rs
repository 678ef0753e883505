//! Values and references: rules S08 to S22.

use megakernel_ir::{BufferId, BufferKind, MemSpace, Opcode, Rule};

use crate::found::Found;
use crate::opcodes::arity;
use crate::program::{Buffer, Program, Task};
use crate::steps::Steps;

/// Judges what has no earlier fault.
pub fn judge(steps: &Steps, program: &Program, found: &Found<'_>) {
    Structure { steps, program, found }.judge();
}

pub(crate) struct Structure<'a> {
    pub(crate) steps: &'a Steps,
    program: &'a Program,
    pub(crate) found: &'a Found<'a>,
}

impl Structure<'_> {
    fn judge(&self) {
        let program = self.program;
        let ids = |name, ids: Vec<i64>| self.ids(name, &ids);
        ids("buffers", program.buffers.iter().map(|buffer| buffer.id).collect());
        ids("counters", program.counters.iter().map(|counter| counter.id).collect());
        ids("tasks", program.tasks.iter().map(|task| task.id).collect());
        if let Some(pages) = &program.pages {
            ids("pages", pages.pages.iter().map(|page| page.id).collect());
        }
        program.buffers_by_id().for_each(|(id, buffer)| self.buffer(id, buffer));
        for counter in &program.counters {
            let wrong = counter.init != 0;
            let wrong = self.steps.step("init-of-one-allowed", wrong, || !(0..=1).contains(&counter.init));
            let wrong = self.steps.step("init-negative-allowed", wrong, || counter.init > 0);
            self.found.require(Rule::S17, !wrong);
        }
        program.tasks.iter().for_each(|task| self.task(task));
        self.ranges();
        let tasks = program.tasks.len();
        for &(task, _) in program.config.iter().flat_map(|config| &config.assignment) {
            self.reference("sm_assignment", task, tasks);
        }
    }

    fn ids(&self, list: &'static str, ids: &[i64]) {
        let dense = |ids: &[i64], first: i64| ids.iter().zip(first..).all(|(&id, place)| id == place);
        let good = dense(ids, 0);
        let good = self.steps.step_of(["ids-unchecked", list, ""], good, || true);
        let good = self.steps.step_of(["ids-in-any-order", list, ""], good, || {
            let mut sorted = ids.to_vec();
            sorted.sort_unstable();
            dense(&sorted, 0)
        });
        let good = self.steps.step_of(["ids-only-growing", list, ""], good, || {
            ids.windows(2).all(|pair| pair[0] < pair[1]) && ids.iter().all(|&id| id >= 0)
        });
        let good = self.steps.step_of(["ids-from-any-number", list, ""], good, || {
            dense(ids, ids.first().copied().unwrap_or(0))
        });
        let good = self.steps.step_of(["ids-last-unchecked", list, ""], good, || {
            dense(ids.split_last().map_or(&[], |(_, rest)| rest), 0)
        });
        self.found.require(Rule::S08, good);
    }

    fn reference(&self, place: &'static str, id: i64, count: usize) {
        let (id, count) = (i128::from(id), count as i128);
        let good = (0..count).contains(&id);
        let good = self.steps.step_of(["reference-unchecked", place, ""], good, || true);
        let good =
            self.steps.step_of(["reference-one-too-far", place, ""], good, || (0..=count).contains(&id));
        let good = self.steps.step_of(["reference-negative", place, ""], good, || id < count);
        let good = self
            .steps
            .step_of(["reference-to-the-last-refused", place, ""], good, || (0..count - 1).contains(&id));
        self.found.require(Rule::S09, good);
    }

    fn buffer(&self, id: BufferId, buffer: &Buffer) {
        let steps = self.steps;
        self.capacity("rank", buffer.shape.len(), 4);
        const MOST: i128 = i64::MAX as i128;
        let positive = buffer.shape.iter().all(|&extent| extent >= 1);
        let positive =
            steps.step("extent-of-zero", positive, || buffer.shape.iter().all(|&extent| extent >= 0));
        let positive =
            steps.step("extent-negative", positive, || buffer.shape.iter().all(|&extent| extent != 0));
        let positive = steps
            .step("extents-first-only", positive, || buffer.shape.first().is_none_or(|&extent| extent >= 1));
        let positive = steps
            .step("extents-last-only", positive, || buffer.shape.last().is_none_or(|&extent| extent >= 1));
        let numel = buffer.numel();
        let elements = numel.is_some_and(|numel| numel <= MOST);
        let elements = steps.step("elements-unchecked", elements, || true);
        let elements = steps.step("elements-of-32-bits", elements, || numel.is_some_and(|n| n < 1 << 32));
        let elements = steps.step("elements-of-31-bits", elements, || numel.is_some_and(|n| n < 1 << 31));
        let elements = steps.step("elements-of-62-bits", elements, || numel.is_some_and(|n| n < 1 << 62));
        let elements = steps.step("elements-one-more", elements, || numel.is_some_and(|n| n <= MOST + 1));
        let nbytes = buffer.nbytes();
        let bytes = nbytes <= MOST;
        let bytes = steps.step("bytes-unchecked", bytes, || true);
        let bytes = steps.step("bytes-of-bits", bytes, || {
            numel.and_then(|n| n.checked_mul(buffer.dtype.bits().into())).is_some_and(|bits| bits <= MOST)
        });
        let bytes = steps.step("bytes-of-32-bits", bytes, || nbytes < 1 << 32);
        let bytes = steps.step("bytes-unsigned", bytes, || nbytes <= u64::MAX.into());
        let scalar = buffer.shape.is_empty() && steps.errs("scalar-refused");
        self.found.require(Rule::S20, positive && elements && bytes && !scalar);

        let kind = buffer.kind;
        let elsewhere = kind != BufferKind::Activation && buffer.space != MemSpace::Hbm;
        let elsewhere = match kind {
            BufferKind::Activation => elsewhere,
            _ => steps.step_of(["space-unchecked", kind.name(), ""], elsewhere, || false),
        };
        let elsewhere = steps.step("space-scratch-allowed", elsewhere, || {
            elsewhere && buffer.space != MemSpace::GlobalScratch
        });
        let elsewhere =
            steps.step("space-smem-allowed", elsewhere, || elsewhere && buffer.space != MemSpace::Smem);
        let elsewhere = steps
            .step("space-registers-allowed", elsewhere, || elsewhere && buffer.space != MemSpace::Register);
        let elsewhere = match buffer.space {
            MemSpace::Hbm => elsewhere,
            space => steps.step_of(["space-of-activation-refused", space.name(), ""], elsewhere, || true),
        };
        self.found.require(Rule::S21, !elsewhere);

        let tasks = || self.program.tasks.iter();
        if kind == BufferKind::IoOutput {
            let made = tasks().any(|task| task.writes(id));
            let made = steps.step("output-made-by-reading", made, || tasks().any(|task| task.uses(id)));
            let made = steps.step("output-made-by-first-operand", made, || {
                tasks().any(|task| task.outputs.first() == Some(&id.into()))
            });
            self.found.require(Rule::S19, made);
        } else if !kind.is_read_only()
            && steps.errs_of(["output-required", kind.name(), ""])
            && !tasks().any(|task| task.writes(id))
        {
            self.found.report(Rule::S19);
        }
    }

    fn capacity(&self, what: &'static str, count: usize, most: usize) -> bool {
        let wrong = count > most;
        let wrong = self.steps.step_of(["capacity-unchecked", what, ""], wrong, || false);
        let wrong = self.steps.step_of(["capacity-one-more", what, ""], wrong, || count > most + 1);
        let wrong = self.steps.step_of(["capacity-one-less", what, ""], wrong, || count > most - 1);
        self.found.require(Rule::S12, !wrong);
        wrong
    }

    fn task(&self, task: &Task) {
        let (steps, program) = (self.steps, self.program);
        let buffers = program.buffers.len();
        task.inputs.iter().for_each(|&id| self.reference("inputs", id, buffers));
        task.outputs.iter().for_each(|&id| self.reference("outputs", id, buffers));
        self.reference("out_counter", task.out, program.counters.len());
        for &(counter, threshold) in &task.waits {
            self.reference("wait", counter, program.counters.len());
            let good = (1..1 << 32).contains(&threshold);
            let good = steps.step("threshold-of-zero", good, || (0..1 << 32).contains(&threshold));
            let good = steps.step("threshold-negative", good, || threshold != 0 && threshold < 1 << 32);
            let good = steps.step("threshold-of-2-to-32", good, || (1..=1 << 32).contains(&threshold));
            let good = steps.step("threshold-unbounded", good, || threshold >= 1);
            let good = steps.step("threshold-signed", good, || (1..1 << 31).contains(&threshold));
            let good = steps.step("threshold-of-64-bits", good, || (1..1 << 63).contains(&threshold));
            let good = steps.step("threshold-wraps", good, || threshold & 0xffff_ffff != 0 && threshold > 0);
            let good = steps.step("threshold-most-refused", good, || (1..(1 << 32) - 1).contains(&threshold));
            self.found.require(Rule::S16, good);
        }
        for (place, &id) in task.outputs.iter().enumerate() {
            let Some(kind) = program.buffer(id).map(|buffer| buffer.kind) else { continue };
            let written = kind.is_read_only();
            let written = written && steps.step_of(["read-only-written", kind.name(), ""], written, || false);
            let written = steps.step("read-only-first-output", written, || written && place == 0);
            self.found.require(Rule::S18, !written);
        }
        let outputs = &task.outputs;
        let twice =
            |list: &[i64]| (1..list.len()).any(|i| list.get(..i).is_some_and(|seen| seen.contains(&list[i])));
        let duplicate = twice(outputs);
        let duplicate = steps.step("outputs-only-side-by-side", duplicate, || {
            outputs.windows(2).any(|pair| pair[0] == pair[1])
        });
        let duplicate = steps.step("inputs-twice-refused", duplicate, || duplicate || twice(&task.inputs));
        self.found.require(Rule::S10, !duplicate);
        let many =
            [self.capacity("inputs", task.inputs.len(), 8), self.capacity("outputs", outputs.len(), 4)];
        self.capacity("waits", task.waits.len(), 8);
        let again = steps.errs("arity-beyond-capacity");
        if !many[0] || again {
            self.inputs(task);
        }
        let judged = !many[1] && !twice(outputs) || again;
        if judged || steps.errs("arity-of-duplicates") {
            self.outputs(task);
        }
        self.parameters(task);
    }

    fn inputs(&self, task: &Task) {
        let (op, count) = (task.op.name(), task.inputs.len());
        let is_quantised = task.param("qdtype").is_some();
        let is_quantised = self
            .steps
            .step("arity-by-value-of-qdtype", is_quantised, || matches!(task.int("qdtype"), Some(6 | 7)));
        let is_quantised = self.steps.step("arity-without-qdtype", is_quantised, || false);
        let [least, most] = arity(task.op, is_quantised).inputs;
        let form =
            if is_quantised && arity(task.op, false).inputs != [least, most] { "quantised" } else { "" };
        let fits = |least: usize, most: usize| (least..=most).contains(&count);
        let good = fits(least, most);
        let step = |name, good, wrong: bool| self.steps.step_of([name, op, form], good, || wrong);
        let good = if least > 0 { step("inputs-one-less", good, fits(least - 1, most)) } else { good };
        // The capacity of the record is a rule of its own.
        let good = if most < 8 { step("inputs-one-more", good, fits(least, most + 1)) } else { good };
        let good = match least < most {
            true => {
                let good = step("inputs-fewest-refused", good, fits(least + 1, most));
                step("inputs-most-refused", good, fits(least, most - 1))
            }
            false => good,
        };
        self.found.require(Rule::S11, good);
    }

    fn outputs(&self, task: &Task) {
        let required = usize::from(task.op != Opcode::Nop);
        let good = task.outputs.len() == required;
        let op = task.op.name();
        let good = match required {
            0 => good,
            _ => self.steps.step_of(["outputs-none", op, ""], good, || task.outputs.len() <= required),
        };
        let good = self.steps.step_of(["outputs-one-more", op, ""], good, || {
            (required..=required + 1).contains(&task.outputs.len())
        });
        self.found.require(Rule::S11, good);
    }

    /// Rule S22.
    fn ranges(&self) {
        let at_least = |name: &'static str, value: f64, least: f64| {
            let good = value >= least;
            let good = self.steps.step_of(["record-unchecked", name, ""], good, || true);
            let good = self.steps.step_of(["record-least-refused", name, ""], good, || value > least);
            let good = match least {
                0.0 => good,
                _ => self.steps.step_of(["record-of-zero", name, ""], good, || value >= least - 1.0),
            };
            self.found.require(Rule::S22, good);
        };
        if let Some(target) = &self.program.target {
            for &(name, value) in &target.ints {
                at_least(name, value as f64, if name == "num_sms" { 1.0 } else { 0.0 });
            }
            target.numbers.iter().for_each(|&(name, value)| at_least(name, value, 0.0));
        }
        if let Some(pages) = &self.program.pages {
            for page in &pages.pages {
                at_least("nbytes", page.nbytes as f64, 1.0);
                let live = page.live.iter().all(|&at| at >= 0);
                if !live && self.steps.errs("live-range-of-minus-one-refused") {
                    self.found.report(Rule::S22);
                }
                if page.live[0] > page.live[1] && self.steps.errs("live-range-backwards-refused") {
                    self.found.report(Rule::S22);
                }
            }
        }
        if let Some(config) = &self.program.config {
            at_least("pipelining_depth", config.depth as f64, 0.0);
            config.tiling.iter().for_each(|&size| at_least("tiling", size as f64, 1.0));
        }
        for task in &self.program.tasks {
            at_least("est_bytes", task.estimates[0] as f64, 0.0);
            at_least("est_flops", task.estimates[1] as f64, 0.0);
        }
    }
}
