//! Class R, and M05, which needs the same knowledge: who comes before whom on every buffer.

pub mod cover;
mod exact;
mod frontier;
mod gaps;
pub mod lanes;
mod r01;
mod r02;
mod r03;
mod r04;
mod r05;
mod r06;
mod r07;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use megakernel_ir::diagnostic::{self, Diagnostic, Witness};
use megakernel_ir::model::{Program, Task};
use megakernel_ir::{BufferId, BufferKind, TaskId};
use megakernel_order::happens_before::{Around, HappensBefore, LANES, Question};
use megakernel_order::{Findings, Graph, Threads};

use crate::validate::accesses::{Access, Accesses, starts_undefined};
use crate::validate::describe::Names;
use crate::validate::memory::m05;
pub use exact::Exact;
use exact::Relations;
use frontier::{Contents, neighbours};

/// Questions are answered when there are this many.
const CHUNK: usize = 1 << 22;

/// How many pairs that nothing orders are kept of a buffer: their tasks are judged together.
const PAIRS: usize = LANES / 2;

/// What the search for suspects found out about a buffer.
#[derive(Debug, Default)]
pub struct Suspects {
    /// The tasks whose read nobody wrote before, or whose read a later write of this launch makes stale.
    pub unwritten: BTreeSet<TaskId>,
    /// Two neighbours each that nothing orders, and of many the first `PAIRS`, which are evidence enough.
    pub unordered: BTreeSet<[TaskId; 2]>,
}

/// Whether a task breaks R01.
pub fn has_partial_wait(graph: &Graph, task: &Task<'_>) -> bool {
    task.waits.iter().any(|wait| r01::is_partial(graph, task, wait))
}

/// R01, of all tasks: which of them gets a schedule depends on those before it.
pub fn check_partial_waits(program: &Program<'_>, graph: &Graph, findings: &mut Findings) {
    for (id, task) in program.tasks_by_id() {
        r01::check(program, graph, id, task, findings);
    }
}

/// R07, which needs no happens-before.
pub fn check_placement(program: &Program<'_>, accesses: &Accesses<'_>, findings: &mut Findings) {
    r07::check(program, accesses, findings);
}

/// The rules that need happens-before: R02 to R06 and M05.
pub fn check_ordered(
    program: &Program<'_>,
    accesses: &Accesses<'_>,
    order: &HappensBefore<'_>,
    threads: Threads,
    findings: &mut Findings,
) {
    let names = Names::new(program);
    let parts =
        threads.by_ranges(program.buffers.len(), |buffers| suspects(program, accesses, order, buffers));
    // One pass over the counters serves as many small buffers as have room in it.
    let (mut few, mut lanes) = (Vec::new(), 0);
    let mut settle = |few: &mut Vec<(BufferId, Vec<Access>, Suspects)>| {
        let tasks: Vec<TaskId> = few.iter().flat_map(|(_, all, _)| all).map(|access| access.task).collect();
        let around = Around::new(order, &tasks, order.positions(tasks.iter().copied()));
        let mut base = 0;
        for (buffer, all, suspects) in few.drain(..) {
            let count = all.len();
            let exact = Exact::new(buffer, all, &suspects, Relations::Known(&around, base));
            judge(program, &exact, order, &names, findings);
            base += count;
        }
    };
    let mut large = Vec::new();
    for (buffer, suspects) in parts.into_iter().flatten() {
        let all = accesses.of(buffer);
        if all.len() > LANES {
            large.push((buffer, suspects));
            continue;
        }
        if lanes + all.len() > LANES {
            settle(&mut few);
            lanes = 0;
        }
        lanes += all.len();
        few.push((buffer, all, suspects));
    }
    if !few.is_empty() {
        settle(&mut few);
    }
    for (buffer, suspects) in large {
        let exact = Exact::new(buffer, accesses.of(buffer), &suspects, Relations::Computed(order));
        judge(program, &exact, order, &names, findings);
    }
}

/// The rules on one buffer.
fn judge(
    program: &Program<'_>,
    exact: &Exact<'_>,
    order: &HappensBefore<'_>,
    names: &Names<'_>,
    findings: &mut Findings,
) {
    let rank = |task| order.rank(task);
    if starts_undefined(program[exact.buffer].kind) {
        let pairs = exact.pairs();
        r02::check(exact, names, findings);
        r03::check(exact, &pairs, names, findings);
        r05::check(exact, &pairs, names, findings);
        m05::check(exact, &rank, names, findings);
    } else {
        r06::check(exact, &rank, names, findings);
    }
    r04::check(exact, names, findings);
}

/// Those of these buffers that may break a rule, each with tasks that do. Without any, the buffer is to be looked at closely.
fn suspects(
    program: &Program<'_>,
    accesses: &Accesses<'_>,
    order: &HappensBefore<'_>,
    buffers: Range<usize>,
) -> BTreeMap<BufferId, Suspects> {
    let mut suspects = BTreeMap::<BufferId, Suspects>::new();
    let (mut questions, mut asked_for) = (Vec::<Question>::new(), Vec::<BufferId>::new());
    let settle = |questions: &mut Vec<Question>,
                  asked_for: &mut Vec<BufferId>,
                  suspects: &mut BTreeMap<BufferId, Suspects>| {
        let answers = order.answer(questions);
        for ((answer, question), buffer) in
            answers.into_iter().zip(questions.drain(..)).zip(asked_for.drain(..))
        {
            if !answer {
                let unordered = &mut suspects.entry(buffer).or_default().unordered;
                unordered.insert([question.earlier, question.later]);
                if unordered.len() > PAIRS {
                    unordered.pop_last();
                }
            }
        }
    };
    for (id, buffer) in BufferId::range(buffers.clone()).zip(&program.buffers[buffers]) {
        let contents = match buffer.kind {
            kind if kind.is_read_only() => continue,
            BufferKind::KvCache => Contents::Persistent,
            _ => Contents::Undefined,
        };
        let tasks = neighbours(&mut accesses.of(id), contents, order, &mut |question| {
            questions.push(question);
            asked_for.push(id);
        });
        if tasks.as_ref().is_none_or(|tasks| !tasks.is_empty()) {
            suspects.entry(id).or_default().unwritten.extend(tasks.into_iter().flatten());
        }
        if questions.len() >= CHUNK {
            settle(&mut questions, &mut asked_for, &mut suspects);
        }
    }
    settle(&mut questions, &mut asked_for, &mut suspects);
    suspects
}

/// The diagnostic of two accesses of a buffer that no chain of waits orders.
fn unordered(
    rule: megakernel_ir::Rule,
    exact: &Exact<'_>,
    [first, second]: [usize; 2],
    pointer: String,
    message: String,
) -> Diagnostic {
    let access = |i: usize| {
        let Access { task, kind, .. } = exact.accesses[i];
        diagnostic::Access { task, access: kind }
    };
    Diagnostic::new(rule, pointer, message)
        .tasks([exact.accesses[first].task, exact.accesses[second].task])
        .buffers([exact.buffer])
        .witness(Witness::Unordered {
            first: access(first),
            second: access(second),
            buffer: exact.buffer,
            region: exact.shared(first, second).to_witness(),
        })
}
