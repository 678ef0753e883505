//! The reference as a worker with faults that no case of the corpus shows, for tests of differential fuzzing: `faulty-worker ID...`.
//! Without an id it has none; `all` stands for every one; `list` prints them.

use std::collections::BTreeMap;

use megakernel_ir::companion::Composed;
use megakernel_ir::model::{Buffer, Program, Task};
use megakernel_ir::protocol::{Answer, Execute, Hello, Launch, Request, Worker};
use megakernel_ir::rule::Severity;
use megakernel_ir::{DType, Diagnostic, Opcode, Param, Rule, read, terminal};
use megakernel_numerics::{Stored, Tensor, TensorFile};
use megakernel_suite::judge;

/// A finding that a faulty validator overlooks.
type Overlooks = fn(&Program<'_>, &Diagnostic) -> bool;

/// A task whose output a faulty VM leaves as zeros.
type Forgets = fn(&Program<'_>, &Task<'_>) -> bool;

/// Faults of validators.
const VALIDATORS: &[(&str, Overlooks)] = &[
    // Contents that an earlier launch left, in caches of a narrow dtype.
    ("stale-narrow", |program, found| found.rule == Rule::R06 && !dtypes(program, found, DType::F32)),
    // Two writers without an order, of 16-bit elements.
    ("writers-narrow", |program, found| found.rule == Rule::R03 && !dtypes(program, found, DType::F32)),
    // Pages with buffers of BF16.
    ("clobber-bf16", |program, found| found.rule == Rule::P01 && dtypes(program, found, DType::BF16)),
    // What may not be done in place, of elements that are not F32.
    ("in-place-narrow", |program, found| found.rule == Rule::M07 && !dtypes(program, found, DType::F32)),
];

/// Faults of VMs.
const MACHINES: &[(&str, Forgets)] = &[
    // A scalar has one element.
    ("copy-scalar", |program, task| task.op == Opcode::Copy && rank(program, &task.outputs, 0) == Some(0)),
    // Ids may have any shape.
    ("embed-ranks", |program, task| task.op == Opcode::Embed && rank(program, &task.inputs, 0) != Some(1)),
    // One buffer may be both inputs.
    ("silu-of-itself", |_, task| task.op == Opcode::SiluMul && task.inputs.first() == task.inputs.get(1)),
    // Positions may have any shape.
    ("rope-ranks", |program, task| task.op == Opcode::Rope && rank(program, &task.inputs, 1) != Some(1)),
    // Weights of LAYERNORM may have any shape.
    ("weight-ranks", |program, task| {
        task.op == Opcode::LayerNorm && rank(program, &task.inputs, 1) != Some(1)
    }),
    // A parameter that the opcode has no use for.
    ("stray-scale", |_, task| task.op == Opcode::Rope && task.params.get(Param::Scale).is_some()),
];

fn main() {
    let ids: Vec<String> = std::env::args().skip(1).collect();
    let all = VALIDATORS.iter().map(|(id, _)| *id).chain(MACHINES.iter().map(|(id, _)| *id));
    if ids == ["list"] {
        all.for_each(|id| println!("{id}"));
        return;
    }
    let known: Vec<&str> = all.collect();
    assert!(
        ids.iter().all(|id| id == "all" || known.contains(&id.as_str())),
        "{ids:?}: the faults are {known:?}"
    );
    let has = |id: &str| ids.iter().any(|given| given == id || given == "all");
    let mut worker = Faulty {
        reference: judge::worker(),
        overlooks: VALIDATORS.iter().filter(|(id, _)| has(id)).map(|(_, fault)| *fault).collect(),
        forgets: MACHINES.iter().filter(|(id, _)| has(id)).map(|(_, fault)| *fault).collect(),
    };
    if let Err(cause) = terminal::work(&mut worker) {
        eprintln!("{cause}");
    }
}

struct Faulty {
    reference: Composed,
    overlooks: Vec<Overlooks>,
    forgets: Vec<Forgets>,
}

impl Worker for Faulty {
    fn hello(&self) -> Hello {
        self.reference.hello()
    }

    fn answer(&mut self, request: &Request<'_>) -> Answer {
        let answer = self.reference.answer(request);
        let Answer::Reject { mut diagnostics } = answer else { return answer };
        if let Ok(program) = read(request.document.as_bytes()) {
            diagnostics.retain(|found| !self.overlooks.iter().any(|overlooks| overlooks(&program, found)));
        }
        match diagnostics.iter().any(|found| found.severity == Severity::Error) {
            true => Answer::Reject { diagnostics },
            false => Answer::Accept { diagnostics, document: None },
        }
    }

    fn execute(&mut self, request: &Execute<'_>) -> Answer {
        let answer = self.reference.execute(request);
        if matches!(answer, Answer::Accept { .. }) {
            request.launches.iter().for_each(|launch| self.spoil(launch));
        }
        answer
    }
}

impl Faulty {
    /// Makes the outputs of the tasks that are forgotten zeros.
    fn spoil(&self, launch: &Launch<'_>) {
        let Ok(program) = read(launch.document.as_bytes()) else { return };
        let forgotten =
            program.tasks.iter().filter(|task| self.forgets.iter().any(|forgets| forgets(&program, task)));
        let forgotten: Vec<&Buffer<'_>> =
            forgotten.filter_map(|task| buffer(&program, *task.outputs.first()?)).collect();
        if forgotten.is_empty() {
            return;
        }
        let file = std::fs::read(&launch.output).expect("the reference has written its outputs");
        let mut tensors: BTreeMap<String, Stored> =
            TensorFile::read(&file).expect("what the reference has written").tensors;
        for buffer in forgotten {
            if let Some(Stored::Buffer(Tensor { bytes, .. })) = tensors.get_mut(&*buffer.name) {
                bytes.fill(0);
            }
        }
        let bytes = TensorFile { tensors }.to_bytes().expect("tensors that were read");
        std::fs::write(&launch.output, bytes).expect("the file is there");
    }
}

/// Whether a buffer that the finding names has this dtype.
fn dtypes(program: &Program<'_>, found: &Diagnostic, dtype: DType) -> bool {
    found.buffers.iter().any(|id| program.buffers[id.index()].dtype == dtype)
}

/// The rank of one of a list of operands, if it has so many.
fn rank(program: &Program<'_>, operands: &[i64], index: usize) -> Option<usize> {
    Some(buffer(program, *operands.get(index)?)?.shape.len())
}

fn buffer<'p, 'a>(program: &'p Program<'a>, id: i64) -> Option<&'p Buffer<'a>> {
    program.buffers.get(usize::try_from(id).ok()?)
}
