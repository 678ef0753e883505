//! What would repair a finding: the missing wait, or the threshold that is meant. A wait is offered only where it makes no cycle, of
//! waits or of queues.

use std::collections::BTreeMap;

use megakernel_ir::model::{Program, Wait};
use megakernel_ir::rule::Class;
use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_order::happens_before::Question;
use megakernel_order::{Edges, Graph, HappensBefore, Order};

use super::describe::Names;

/// Most waits of a task (rule S12), which a repair keeps to.
const MOST_WAITS: usize = 8;
/// Most findings for which a wait is looked for, and most tasks: each try orders the program anew.
const MOST_FINDINGS: usize = 32;
const MOST_TASKS: usize = 200_000;

/// A change of a program after which a finding is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// The task waits for all tasks that increment a counter.
    Wait {
        /// The task.
        task: TaskId,
        /// The counter.
        counter: CounterId,
        /// How many they are.
        threshold: u32,
    },
    /// A wait has another threshold.
    Threshold {
        /// The task.
        task: TaskId,
        /// The wait, by its position.
        wait: usize,
        /// How many tasks increment the counter.
        threshold: u32,
    },
}

/// Repairs of findings about a program, each with its words.
pub fn repairs(program: &Program<'_>, findings: &[&Diagnostic]) -> Vec<Option<(Repair, String)>> {
    let is_malformed = |found: &&Diagnostic| found.is_error() && found.rule.class() == Class::STRUCTURE;
    if !findings.iter().any(|found| found.is_error()) || findings.iter().any(is_malformed) {
        return findings.iter().map(|_| None).collect();
    }
    let edges = edges(program, None);
    let graph = Graph::new(&edges, program.counters.len());
    let waits_for_itself =
        program.tasks.iter().any(|task| task.waits.iter().any(|w| w.counter == task.out_counter));
    let order = Order::new(&graph).filter(|_| !waits_for_itself && program.tasks.len() <= MOST_TASKS);
    let order = order.as_ref().map(|order| HappensBefore::new(&graph, order));
    let known = Known { program, graph: &graph, order };
    let repair = |(number, found): (usize, &&Diagnostic)| {
        let repair = known.repair(found, number < MOST_FINDINGS)?;
        Some((repair, known.words(repair, found)))
    };
    findings.iter().enumerate().map(repair).collect()
}

/// Who waits for whom; with one wait more, and with the queues of SMs as edges, if so asked.
fn edges(program: &Program<'_>, added: Option<(TaskId, CounterId)>) -> Edges {
    let mut edges = Edges::with_capacity(program.tasks.len());
    let with_queues = added.is_some();
    // The turn of a placed task is a counter of its own, behind those of the program.
    let turn = |task: usize| CounterId::at(program.counters.len() + task);
    let mut last: BTreeMap<i64, usize> = BTreeMap::new();
    let mut turns = Vec::new();
    for (number, (id, task)) in TaskId::range(0..program.tasks.len()).zip(&program.tasks).enumerate() {
        let mut waits: Vec<CounterId> =
            task.waits.iter().map(|wait| CounterId::stated(wait.counter)).collect();
        waits.extend(added.filter(|(waiter, _)| *waiter == id).map(|(_, counter)| counter));
        if let Some(sm) = task.sm.filter(|_| with_queues)
            && let Some(before) = last.insert(sm, number)
        {
            waits.push(turn(number));
            turns.push((number, before));
        }
        edges.push(CounterId::stated(task.out_counter), waits);
    }
    for (number, before) in turns {
        // A task comes up when the one before it has started: when that had its turn, and all that it waits for.
        let task = &program.tasks[before];
        let mut waits: Vec<CounterId> =
            task.waits.iter().map(|wait| CounterId::stated(wait.counter)).collect();
        waits.extend(added.filter(|(waiter, _)| waiter.index() == before).map(|(_, counter)| counter));
        waits.push(turn(before));
        edges.push(turn(number), waits);
    }
    edges
}

struct Known<'p, 'g> {
    program: &'p Program<'p>,
    graph: &'g Graph,
    /// Nothing where there is a cycle, or the program is too large to look for waits.
    order: Option<HappensBefore<'g>>,
}

impl Known<'_, '_> {
    fn repair(&self, found: &Diagnostic, may_order: bool) -> Option<Repair> {
        match (found.rule, &*found.tasks) {
            (Rule::D02 | Rule::R01, &[task, ..]) => {
                let wait: usize = found.pointer.rsplit('/').find_map(|part| part.parse().ok())?;
                let counter = self.program.tasks.get(task.index())?.waits.get(wait)?.counter;
                let threshold = self.graph.producers(CounterId::stated(counter));
                Some(Repair::Threshold { task, wait, threshold })
            }
            (Rule::R02 | Rule::R03 | Rule::R04 | Rule::R05 | Rule::R06, &[one, other, ..])
                if may_order && one != other =>
            {
                self.missing_wait(one, other).or_else(|| self.missing_wait(other, one))
            }
            _ => None,
        }
    }

    /// What makes `later` wait for `earlier`, which nothing orders.
    fn missing_wait(&self, earlier: TaskId, later: TaskId) -> Option<Repair> {
        let order = self.order.as_ref()?;
        let counter = self.graph.out(earlier);
        if order
            .answer(&[Question { earlier, later }, Question { earlier: later, later: earlier }])
            .contains(&true)
        {
            return None;
        }
        let record = self.program.tasks.get(later.index())?;
        if record.waits.len() >= MOST_WAITS || self.graph.out(later) == counter {
            return None;
        }
        // Who increments the counter is waited for too.
        let questions: Vec<Question> = TaskId::range(0..self.graph.tasks())
            .filter(|&task| self.graph.out(task) == counter)
            .map(|task| Question { earlier: later, later: task })
            .collect();
        if order.answer(&questions).contains(&true) {
            return None;
        }
        let edges = edges(self.program, Some((later, counter)));
        let counters = self.program.counters.len() + self.program.tasks.len();
        Order::new(&Graph::new(&edges, counters))?;
        let threshold = self.graph.producers(counter);
        let states = |wait: &Wait<'_>| CounterId::stated(wait.counter) == counter;
        match record.waits.iter().position(states) {
            Some(wait) => Some(Repair::Threshold { task: later, wait, threshold }),
            None => Some(Repair::Wait { task: later, counter, threshold }),
        }
    }

    fn words(&self, repair: Repair, found: &Diagnostic) -> String {
        let names = Names::new(self.program);
        match repair {
            Repair::Wait { task, counter, threshold } => {
                let others = found.tasks.iter().find(|&&other| other != task);
                let whose = others.map(|&other| format!(", which {} increments", names.task(other)));
                format!(
                    "let {} wait for counter {counter} to reach {threshold}{}",
                    names.task(task),
                    whose.unwrap_or_default()
                )
            }
            Repair::Threshold { task, wait, threshold } => {
                format!(
                    "let wait {wait} of {} have the threshold {threshold}, the number of tasks that increment its counter",
                    names.task(task)
                )
            }
        }
    }
}
