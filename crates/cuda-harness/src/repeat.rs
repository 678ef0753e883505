//! A launch many times over, each time from the same memory, and elsewhere on the device: what its tasks leave must not
//! depend on that (clause EXE-07).

use megakernel_ir::model::Program;
use megakernel_ir::{BufferKind, TaskId};

use crate::device::{Device, Job};
use crate::footprint;
use crate::memory::Memory;
use crate::place::scatter;
use crate::plan::{Plan, plan};
use crate::run::Run;
use crate::session::{Failure, Options, Result, failed, job};
use crate::stuck;
use megakernel_ir::prng::SplitMix64;

/// A launch that is repeated.
pub struct Repeat<'a, 'p> {
    /// Its program.
    pub program: &'a Program<'p>,
    /// Memory as it is before.
    pub start: &'a Memory,
    /// How often, and how.
    pub options: Options,
}

impl Repeat<'_, '_> {
    /// Where the first run has its tasks, and what it runs.
    pub fn first(&self, device: &mut dyn Device) -> Result<(Plan, Job)> {
        // Where there are others, it is as plain as it can be.
        self.prepared(device, self.options.seed, self.options.perturb && self.options.repeat < 2)
    }

    /// All runs but the first, which left `memory`.
    pub fn others(&self, device: &mut dyn Device, first: &Plan, memory: &Memory) -> Result<()> {
        let times = self.options.repeat;
        for number in 1..times {
            let seed = SplitMix64::new(self.options.seed.wrapping_add(number)).next_u64() >> 32 | 1;
            let (plan, job) = self.prepared(device, seed, self.options.perturb)?;
            let mut run = Run { device: &mut *device, program: self.program, plan: &plan, job: &job };
            let perturb = if self.options.perturb { " --perturb" } else { "" };
            // Reports show the beginning of a message: what it takes to see it again comes first.
            let about = format!("run {} of {times} (--seed {seed}{perturb})", number + 1);
            let found = run.whole(self.start).map_err(|failure| match failure {
                Failure::Failed(message) => {
                    failed(format_args!("{about} fails, and the first did not: {message}"))
                }
                // There may be less room where another placement needs more.
                unsupported => unsupported,
            })?;
            if let Some(what) = self.difference(&first.order, memory, &found) {
                return Err(failed(format_args!("unstable: {about} differs from the first {what}")));
            }
        }
        Ok(())
    }

    fn prepared(&self, device: &mut dyn Device, seed: u64, perturb: bool) -> Result<(Plan, Job)> {
        let mut random = (seed != 0).then(|| SplitMix64::new(seed));
        let mut plan = plan(self.program, random.as_mut());
        if let Some(random) = &mut random {
            let room = device.room(&job(self.program, &plan, self.start)?).map_err(Failure::Failed)?;
            scatter(&mut plan, room, random);
        }
        let job = Job { seed, perturb, ..job(self.program, &plan, self.start)? };
        Ok((plan, job))
    }

    /// The first output that is not the same, bit for bit, and the first task that wrote something else.
    fn difference(&self, order: &[TaskId], first: &Memory, other: &Memory) -> Option<String> {
        let kept = |kind| matches!(kind, BufferKind::IoOutput | BufferKind::KvCache);
        let mut buffers = self.program.buffers_by_id();
        let (id, buffer) =
            buffers.find(|(id, buffer)| kept(buffer.kind) && first.buffer(*id) != other.buffer(*id))?;
        let size = usize::try_from(buffer.dtype.nbytes(1)).unwrap_or(1);
        let pairs = first.buffer(id).chunks(size).zip(other.buffer(id).chunks(size));
        let wrong: Vec<usize> = pairs.enumerate().filter(|(_, (a, b))| a != b).map(|(i, _)| i).collect();
        let at = wrong.first().copied().unwrap_or_default();
        let bits = |memory: &Memory| {
            let bytes = memory.buffer(id).chunks(size).nth(at).unwrap_or_default();
            bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        // What is written again, or shares a page, shows what came last there.
        let differs = |task: &&TaskId| {
            let record = self.program.tasks.get(task.index());
            let region = record.and_then(|record| footprint::written(self.program, record));
            region.is_some_and(|region| {
                let buffer = self.program.buffers.get(region.buffer.index());
                let spans = buffer.map(|buffer| region.spans(buffer)).unwrap_or_default();
                let part = |memory: &Memory, span| memory.buffer(region.buffer).get(span).map(<[u8]>::to_vec);
                spans.into_iter().any(|span| part(first, span.clone()) != part(other, span))
            })
        };
        let task = order.iter().find(differs).map(|task| stuck::name(self.program, *task));
        let task = task.map(|task| format!("from {task} on, "));
        Some(format!(
            "{}in {} of {} elements of `{}`; element {at} has the bits {} and had {}",
            task.unwrap_or_default(),
            wrong.len(),
            first.buffer(id).len() / size.max(1),
            buffer.name,
            bits(other),
            bits(first),
        ))
    }
}
