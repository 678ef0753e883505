//! P01 page-clobber: of two buffers on a page, all accesses of one come before all accesses of the other.

use std::collections::BTreeMap;

use megakernel_ir::diagnostic::{PageAccess, Witness};
use megakernel_ir::model::Program;
use megakernel_ir::{BufferId, Diagnostic, Rule, TaskId};
use megakernel_order::Findings;
use megakernel_order::happens_before::{Around, HappensBefore, LANES, Question};

use crate::opcodes::{self, InPlace};
use crate::validate::accesses::Accesses;
use crate::validate::describe::Names;
use crate::validate::pages::Binding;
use crate::validate::race::lanes;

pub(super) fn check(
    program: &Program<'_>,
    bound: Vec<Binding<'_>>,
    accesses: &Accesses<'_>,
    order: &HappensBefore<'_>,
    findings: &mut Findings,
) {
    let mut pages: BTreeMap<u32, Vec<Tenant>> = BTreeMap::new();
    for binding in &bound {
        let mut tasks: Vec<TaskId> = accesses.tasks(binding.buffer).collect();
        tasks.dedup();
        let ranks = tasks.iter().map(|&task| order.rank(task));
        if let Some(span) = ranks.clone().min().zip(ranks.max()) {
            pages.entry(binding.page).or_default().push(Tenant { buffer: binding.buffer, span, tasks });
        }
    }
    // Taken by their first access, each buffer only has to end before the next one begins: the rest is transitive.
    let mut pairs = Vec::new();
    for (&page, tenants) in &mut pages {
        // Of two buffers that one task alone turns into each other, the one that it writes comes later.
        let is_written =
            |tenant: &Tenant| program[tenant.tasks[0]].outputs.contains(&i64::from(tenant.buffer));
        tenants.sort_by_key(|tenant| (tenant.span, tenant.tasks[0], is_written(tenant), tenant.buffer));
        pairs.extend(tenants.windows(2).map(|pair| (page, &pair[0], &pair[1])));
    }
    let (mut questions, mut asked_for, mut broken) = (Vec::new(), Vec::new(), Vec::new());
    for (index, (_, earlier, later)) in pairs.iter().enumerate() {
        if earlier.tasks.len().saturating_mul(later.tasks.len()) > ONE_BY_ONE {
            broken.extend(earlier.overtaken(later, program, order).map(|question| (index, question)));
            continue;
        }
        earlier.ends_before(later, program, order, &mut |question| {
            questions.push(question);
            asked_for.push(index);
        });
    }
    let answers = order.answer(&questions).into_iter().zip(questions).zip(asked_for);
    broken.extend(answers.filter(|((answer, _), _)| !answer).map(|((_, question), index)| (index, question)));
    broken.sort_by_key(|&(index, _)| index);
    broken.dedup_by_key(|&mut (index, _)| index);
    let names = Names::new(program);
    for (index, question) in broken {
        let (page, earlier, later) = pairs[index];
        findings.report(Rule::P01, || {
            let message = format!(
                "{} and {} share page {page}, but {} may still use the first when {} uses the second",
                names.buffer(earlier.buffer),
                names.buffer(later.buffer),
                names.task(question.earlier),
                names.task(question.later),
            );
            let pointer = format!("/pages/buffer_to_page/{}", earlier.buffer.max(later.buffer));
            Diagnostic::new(Rule::P01, pointer, message)
                .tasks([question.earlier, question.later])
                .buffers([earlier.buffer, later.buffer])
                .witness(Witness::Clobber {
                    page,
                    first: PageAccess { buffer: earlier.buffer, task: question.earlier },
                    second: PageAccess { buffer: later.buffer, task: question.later },
                })
        });
    }
}

/// Pairs of tasks of two buffers that are asked about one by one, together with those of all other pages.
const ONE_BY_ONE: usize = 1 << 14;

/// A buffer of a page that some task accesses.
struct Tenant {
    buffer: BufferId,
    /// Lowest and highest rank of its tasks.
    span: (u32, u32),
    /// In list order, each once, at least one.
    tasks: Vec<TaskId>,
}

impl Tenant {
    /// Asks what has to hold for every access of this buffer to come before every access of `next`.
    fn ends_before(
        &self,
        next: &Tenant,
        program: &Program<'_>,
        order: &HappensBefore<'_>,
        ask: &mut dyn FnMut(Question),
    ) {
        let graph = order.graph();
        // Tasks of one counter are alike for those that come after, tasks with the same waits for those before.
        let mut earlier: Vec<TaskId> = self.tasks.clone();
        earlier.sort_by_key(|&task| (graph.out(task), task));
        let mut later: Vec<TaskId> = next.tasks.clone();
        later.sort_by(|&a, &b| graph.waits(a).cmp(graph.waits(b)).then(a.cmp(&b)));
        for (i, &last) in earlier.iter().enumerate() {
            let same_counter = i > 0 && graph.out(earlier[i - 1]) == graph.out(last);
            for (j, &first) in later.iter().enumerate() {
                let same_waits = j > 0 && graph.waits(later[j - 1]) == graph.waits(first);
                let shared = last == first;
                if shared && hands_over(program, last, self.buffer, next.buffer) {
                    continue;
                }
                // A task that stands on both sides is never alike to its neighbours.
                let alike_earlier = same_counter && earlier[i - 1] != first && !shared;
                let alike_later = same_waits && later[j - 1] != last && !shared;
                if alike_earlier || alike_later {
                    continue;
                }
                let question = Question { earlier: last, later: first };
                if order.quick(question) != Some(true) {
                    ask(question);
                }
            }
        }
    }
}

impl Tenant {
    /// [`Tenant::ends_before`] for very many tasks: a pair that is not ordered, if there is one. Those that come second are
    /// compared with all that come first some hundred at a time.
    fn overtaken(&self, next: &Tenant, program: &Program<'_>, order: &HappensBefore<'_>) -> Option<Question> {
        let graph = order.graph();
        let out = |task: TaskId| graph.out(task);
        let is_shared =
            |task: TaskId| self.tasks.binary_search(&task).is_ok() && next.tasks.binary_search(&task).is_ok();
        let mut earlier = self.tasks.clone();
        earlier.sort_by_key(|&task| (out(task), task));
        earlier.dedup_by(|&mut a, &mut b| out(a) == out(b) && !is_shared(a) && !is_shared(b));
        let mut later = next.tasks.clone();
        later.sort_by(|&a, &b| graph.waits(a).cmp(graph.waits(b)).then(a.cmp(&b)));
        later.dedup_by(|&mut a, &mut b| graph.waits(a) == graph.waits(b) && !is_shared(a) && !is_shared(b));
        let positions = order.positions(earlier.iter().chain(&later).copied());
        later.chunks(LANES).find_map(|chunk| {
            let around = Around::new(order, chunk, positions.clone());
            let all = lanes::without(lanes::from(0), &lanes::from(chunk.len()));
            earlier.iter().find_map(|&last| {
                lanes::each(lanes::without(all, &around.after(last)))
                    .map(|lane| Question { earlier: last, later: chunk[lane] })
                    .find(|question| {
                        question.later != last || !hands_over(program, last, self.buffer, next.buffer)
                    })
            })
        })
    }
}

/// Whether the task turns one buffer into the other in place: it reads the first, writes the second, each element of
/// which depends on the same element of the first alone.
fn hands_over(program: &Program<'_>, task: TaskId, from: BufferId, to: BufferId) -> bool {
    let task = &program[task];
    let alike = {
        let (from, to) = (&program[from], &program[to]);
        from.dtype.bits() == to.dtype.bits() && from.shape == to.shape
    };
    let (from, to) = (i64::from(from), i64::from(to));
    let reads_elementwise = task
        .inputs
        .iter()
        .enumerate()
        .filter(|(_, id)| **id == from)
        .all(|(input, _)| opcodes::in_place(task.op, input) == InPlace::Allowed);
    let one_way = task.inputs.contains(&from)
        && !task.inputs.contains(&to)
        && task.outputs.contains(&to)
        && !task.outputs.contains(&from);
    one_way && reads_elementwise && alike
}
