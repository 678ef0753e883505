//! Dependency edges, happens-before (clause EXE-05), and what can never start: the D rules, and R01.

use std::collections::BTreeMap;

use megakernel_ir::{Opcode, Rule, TaskId};

use crate::found::Found;
use crate::program::{Program, Task};
use crate::relation::Relation;
use crate::steps::Steps;

/// Which edges are kept.
type Keep<'k> = &'k dyn Fn(TaskId, TaskId) -> bool;

/// Judges waits and queues, and gives happens-before, where there is an order.
pub fn judge(steps: &Steps, program: &Program, found: &Found<'_>) -> Option<Relation> {
    let judging = Judging { steps, program, found };
    let mut self_wait = false;
    for (id, task) in program.tasks_by_id() {
        for place in 0..task.waits.len() {
            self_wait |= judging.wait(id, task, place);
        }
        judging.queue_of(task);
    }
    let edges = judging.edges();
    let cycle = judging.cycles(&edges);
    judging.queues(&edges);
    let has_order = !self_wait && !cycle;
    let has_order = steps.step("order-despite-self-waits", has_order, || !cycle);
    let has_order = has_order || self_wait && !cycle && steps.errs("order-of-what-waits-for-itself");
    has_order.then(|| judging.happens_before(&edges))
}

struct Judging<'a> {
    steps: &'a Steps,
    program: &'a Program,
    found: &'a Found<'a>,
}

impl Judging<'_> {
    fn producers(&self, counter: i64) -> impl Iterator<Item = TaskId> {
        self.program.tasks_by_id().filter(move |(_, task)| task.out == counter).map(|(id, _)| id)
    }

    fn sm(&self, task: TaskId) -> Option<i64> {
        self.program.task(task).and_then(|task| task.sm)
    }

    fn is_nop(&self, task: TaskId) -> bool {
        self.program.task(task).is_some_and(|task| task.op == Opcode::Nop)
    }

    /// Whether a faulty validator passes over this wait under this rule.
    fn passed_over(&self, rule: Rule, task: &Task, place: usize) -> bool {
        let (steps, id) = (self.steps, rule.id());
        let is = |name, holds: bool| steps.step_of([name, id, ""], false, || holds);
        let last = place + 1 == task.waits.len();
        let twice = task
            .waits
            .iter()
            .take(place)
            .any(|(other, _)| Some(other) == task.waits.get(place).map(|(c, _)| c));
        let is_nop = task.op == Opcode::Nop;
        let zero = task.waits.get(place).is_some_and(|(counter, _)| *counter == 0);
        is("wait-of-nop-passed-over", is_nop)
            || is("wait-of-other-than-nop-passed-over", !is_nop)
            || is("wait-without-sm-passed-over", task.sm.is_none())
            || is("wait-with-sm-passed-over", task.sm.is_some())
            || is("wait-but-first-passed-over", place > 0)
            || is("wait-but-last-passed-over", !last)
            || matches!(rule.id(), "D02" | "R01") && is("wait-repeated-passed-over", twice)
            || is("wait-on-counter-0-passed-over", zero)
    }

    /// D01, D02, D03 and R01 of one wait; says whether it is on the task's own counter.
    fn wait(&self, id: TaskId, task: &Task, place: usize) -> bool {
        let (steps, found) = (self.steps, self.found);
        let Some(&(counter, threshold)) = task.waits.get(place) else { return false };
        let producers = self.producers(counter).count() as i128;
        let own = task.out == counter;
        let own = steps.step("self-wait-of-sole-producer-only", own, || own && producers == 1);
        let own = steps.step("self-wait-of-shared-only", own, || own && producers > 1);
        let own = steps.step("self-wait-for-all-only", own, || own && threshold >= producers);
        let own = steps.step("self-wait-for-one-only", own, || own && threshold == 1);
        if own {
            if !self.passed_over(Rule::D03, task, place) {
                found.report(Rule::D03);
            }
            let beside = threshold > producers && steps.errs("d02-beside-d03");
            if beside {
                found.report(Rule::D02);
            }
            if threshold < producers && steps.errs("r01-beside-d03") {
                found.report(Rule::R01);
            }
            return true;
        }
        if task.out == counter {
            return false;
        }
        if producers == 0 {
            if !self.passed_over(Rule::D01, task, place) {
                found.report(Rule::D01);
            }
            let waited =
                self.program.tasks.iter().any(|other| {
                    other.id != task.id && other.waits.iter().any(|(other, _)| *other == counter)
                });
            if steps.errs("d01-only-if-others-wait") && !waited {
                found.report(Rule::D02);
            }
            if steps.errs("d02-beside-d01") {
                found.report(Rule::D02);
            }
            return false;
        }
        let above = threshold > producers;
        let above = steps.step("threshold-above-by-one", above, || threshold > producers + 1);
        let above = steps.step("threshold-equal-refused", above, || threshold >= producers);
        let above = steps.step("threshold-above-32-bits", above, || threshold as i32 as i128 > producers);
        let above = steps.step("threshold-above-16-bits", above, || i128::from(threshold as u16) > producers);
        let above =
            steps.step("threshold-above-all-tasks", above, || threshold > self.program.tasks.len() as i128);
        if above && !self.passed_over(Rule::D02, task, place) {
            found.report(Rule::D02);
        }
        let below = threshold < producers;
        let below = steps.step("partial-by-one", below, || threshold < producers - 1);
        let below = steps.step("partial-but-one", below, || below && threshold != 1);
        let below = steps.step("partial-of-one-only", below, || below && threshold == 1);
        let below = steps.step("partial-of-half-only", below, || threshold * 2 < producers);
        let with = |keep: &dyn Fn(&Task) -> bool| {
            self.producers(counter).filter(|&p| self.program.task(p).is_some_and(keep)).count() as i128
        };
        let below = steps.step("partial-of-other-queues", below, || {
            threshold < with(&|producer| producer.sm.is_none() || producer.sm != task.sm)
        });
        let below = steps.step("partial-of-earlier-producers", below, || {
            threshold < self.producers(counter).filter(|&p| p < id).count() as i128
        });
        let below = steps.step("partial-of-producers-but-nop", below, || {
            threshold < with(&|producer| producer.op != Opcode::Nop)
        });
        let below = steps.step("partial-of-placed-producers", below, || {
            threshold < with(&|producer| producer.sm.is_some())
        });
        let below = steps.step("partial-of-unplaced-producers", below, || {
            threshold < with(&|producer| producer.sm.is_none())
        });
        let below = steps.step("partial-added-up-over-waits", below, || {
            let same = task.waits.iter().filter(|(other, _)| *other == counter);
            same.map(|(_, threshold)| *threshold).sum::<i128>() < producers
        });
        let below = steps.step("partial-only-if-producers-write", below, || {
            let written =
                |p: TaskId| self.program.task(p).map(|task| task.outputs.clone()).unwrap_or_default();
            below && self.producers(counter).any(|p| written(p).iter().any(|id| task.inputs.contains(id)))
        });
        if below && !self.passed_over(Rule::R01, task, place) {
            found.report(Rule::R01);
        }
        false
    }

    /// D07.
    fn queue_of(&self, task: &Task) {
        let (steps, Some(sm)) = (self.steps, task.sm) else { return };
        let sms = self.program.target.as_ref().map(|target| target.int("num_sms"));
        let sm = i128::from(sm);
        let good = sm >= 0 && sms.is_none_or(|sms| sm < sms);
        let good = steps.step("sm-one-too-far", good, || sm >= 0 && sms.is_none_or(|sms| sm <= sms));
        let good = steps.step("sm-negative", good, || sms.is_none_or(|sms| sm < sms));
        let good =
            steps.step("sm-negative-without-target", good, || sms.is_none_or(|sms| sm >= 0 && sm < sms));
        let good = steps.step("sm-unbounded", good, || sm >= 0);
        let good = steps.step("sm-last-refused", good, || sm >= 0 && sms.is_none_or(|sms| sm < sms - 1));
        let good = steps.step("sm-first-refused", good, || good && sm > 0);
        let good = steps.step("sm-of-nop-unchecked", good, || good || task.op == Opcode::Nop);
        let good = steps.step("sm-without-target-refused", good, || good && sms.is_some());
        self.found.require(Rule::D07, good);
    }

    /// The dependency edges.
    fn edges(&self) -> Relation {
        let make = |waits: &dyn Fn(&Task, usize) -> bool, of: &dyn Fn(&Vec<TaskId>) -> Vec<TaskId>| {
            let mut edges = Relation::empty(self.program.tasks.len());
            for (id, task) in self.program.tasks_by_id() {
                for (place, &(counter, _)) in task.waits.iter().enumerate() {
                    if waits(task, place) {
                        let producers = of(&self.producers(counter).collect());
                        producers.into_iter().for_each(|producer| edges.add(producer, id));
                    }
                }
            }
            edges
        };
        let all = |producers: &Vec<TaskId>| producers.clone();
        let wait = |task: &Task, place: usize| task.waits.get(place).copied().unwrap_or((0, 0));
        let other = |task: &Task, place: usize| wait(task, place).0 != task.out;
        let edges = make(&other, &all);
        let step = |name, right: Relation, wrong: &dyn Fn() -> Relation| self.steps.step(name, right, wrong);
        let edges = step("edges-of-own-counter", edges, &|| make(&|_, _| true, &all).filtered(|a, b| a != b));
        let edges = step("edges-of-partial-waits-missing", edges, &|| {
            let full = |task: &Task, place: usize| {
                let (counter, threshold) = wait(task, place);
                other(task, place) && threshold >= self.producers(counter).count() as i128
            };
            make(&full, &all)
        });
        let edges = step("edges-of-waits-above-missing", edges, &|| {
            let below = |task: &Task, place: usize| {
                let (counter, threshold) = wait(task, place);
                other(task, place) && threshold <= self.producers(counter).count() as i128
            };
            make(&below, &all)
        });
        let edges = step("edges-of-first-producer-only", edges, &|| {
            make(&other, &|producers| producers.first().copied().into_iter().collect())
        });
        let edges = step("edges-of-last-producer-only", edges, &|| {
            make(&other, &|producers| producers.last().copied().into_iter().collect())
        });
        let edges = step("edges-without-last-producer", edges, &|| {
            make(&other, &|producers| match producers.as_slice() {
                [rest @ .., _] if !rest.is_empty() => rest.to_vec(),
                all => all.to_vec(),
            })
        });
        let edges = step("edges-of-first-wait-only", edges, &|| {
            make(&|task, place| place == 0 && other(task, place), &all)
        });
        let edges = step("edges-of-last-wait-only", edges, &|| {
            make(&|task, place| place + 1 == task.waits.len() && other(task, place), &all)
        });
        let edges = step("edges-of-at-most-two-waits", edges, &|| {
            make(&|task, place| place < 2 && other(task, place), &all)
        });
        let edges = step("edges-of-at-most-four-waits", edges, &|| {
            make(&|task, place| place < 4 && other(task, place), &all)
        });
        let sm = |task: TaskId| self.sm(task);
        let is_nop = |task: TaskId| self.is_nop(task);
        let cuts: [(&'static str, Keep<'_>); 7] = [
            ("edges-backwards-in-the-list-missing", &|a, b| a < b),
            ("edges-of-neighbours-missing", &|a, b| !follows(b, a)),
            ("edges-from-nop-missing", &|a, _| !is_nop(a)),
            ("edges-to-nop-missing", &|_, b| !is_nop(b)),
            ("edges-within-a-queue-missing", &|a, b| sm(a).is_none() || sm(a) != sm(b)),
            ("edges-between-queues-missing", &|a, b| sm(a).is_none() || sm(b).is_none() || sm(a) == sm(b)),
            ("edges-with-unplaced-tasks-missing", &|a, b| sm(a).is_some() == sm(b).is_some()),
        ];
        cuts.into_iter().fold(edges, |edges, (name, keep)| {
            let whole = edges.clone();
            step(name, edges, &|| whole.filtered(keep))
        })
    }

    /// D04; says whether it is broken.
    fn cycles(&self, edges: &Relation) -> bool {
        let steps = self.steps;
        let cycles = edges.cycles();
        let has = !cycles.is_empty();
        let has = steps.step("cycle-of-two-only", has, || edges.pairs().any(|(a, b)| edges.has(b, a)));
        let has = steps.step("cycle-of-more-than-two-only", has, || cycles.iter().any(|set| set.len() > 2));
        let has = steps.step("cycle-of-at-most-three", has, || {
            let short = edges.closure(|_| true, 3);
            short.pairs().any(|(a, b)| a == b)
        });
        let is_nop = |task: TaskId| self.is_nop(task);
        let has = steps.step("cycle-with-nop-unseen", has, || {
            !edges.filtered(|a, b| !is_nop(a) && !is_nop(b)).cycles().is_empty()
        });
        let has = steps.step("cycle-of-nop-alone-unseen", has, || {
            cycles.iter().any(|set| set.iter().any(|&task| !is_nop(task)))
        });
        let has = steps.step("cycle-with-the-first-task-only", has, || {
            cycles.iter().any(|set| set.contains(&TaskId::at(0)))
        });
        let has = steps.step("cycle-from-a-task-without-waits-only", has, || {
            let closed = edges.closed();
            let mut starts = self.program.tasks_by_id().filter(|(_, task)| task.waits.is_empty());
            starts.any(|(a, _)| cycles.iter().any(|set| closed.has(a, set[0])))
        });
        self.found.require(Rule::D04, !has);
        has
    }

    /// D05 and D06.
    fn queues(&self, edges: &Relation) {
        let (steps, program) = (self.steps, self.program);
        let sm = |task: TaskId| self.sm(task);
        let is_nop = |task: TaskId| self.is_nop(task);
        let backward = |a: TaskId, b: TaskId| sm(a).is_some() && sm(a) == sm(b) && a > b;
        let any =
            |keep: &dyn Fn(TaskId, TaskId) -> bool| edges.pairs().any(|(a, b)| backward(a, b) && keep(a, b));
        let closed = edges.closed();
        let has = any(&|_, _| true);
        let has = steps.step("queue-order-of-neighbours-only", has, || any(&|a, b| follows(a, b)));
        let has = steps.step("queue-order-but-of-neighbours", has, || any(&|a, b| !follows(a, b)));
        let has = steps.step("queue-order-without-nop", has, || any(&|a, b| !is_nop(a) && !is_nop(b)));
        let has = steps.step("queue-order-of-sm-0-only", has, || any(&|a, _| sm(a) == Some(0)));
        let has = steps.step("queue-order-but-of-sm-0", has, || any(&|a, _| sm(a) != Some(0)));
        let has = steps.step("queue-order-of-unplaced-tasks", has, || {
            edges.pairs().any(|(a, b)| sm(a) == sm(b) && a > b)
        });
        let has = steps.step("queue-order-of-all-tasks", has, || edges.pairs().any(|(a, b)| a > b));
        let has = steps.step("queue-order-forwards-refused", has, || {
            edges.pairs().any(|(a, b)| sm(a).is_some() && sm(a) == sm(b))
        });
        let has =
            steps.step("queue-order-through-others", has, || closed.pairs().any(|(a, b)| backward(a, b)));
        self.found.require(Rule::D05, !has);

        let common = |a: TaskId, b: TaskId| closed.has(a, b) && closed.has(b, a);
        let kept = edges.filtered(|a, b| !backward(a, b) && !common(a, b));
        let ring = |edges: &Relation, next: &dyn Fn(TaskId, TaskId) -> bool| {
            let mut graph = edges.clone();
            let mut last: BTreeMap<i64, TaskId> = BTreeMap::new();
            for task in program.task_ids() {
                let Some(sm) = sm(task) else { continue };
                if let Some(before) = last.insert(sm, task).filter(|&before| next(before, task)) {
                    graph.add(before, task);
                }
            }
            graph.cycles()
        };
        let all = |_: TaskId, _: TaskId| true;
        let rings = ring(&kept, &all);
        let has = !rings.is_empty();
        let step = |name, right: bool, wrong: &dyn Fn() -> bool| steps.step(name, right, wrong);
        let found = |edges: &Relation| !ring(edges, &all).is_empty();
        let has = step("ring-unless-neighbours-in-the-list", has, &|| {
            !ring(&kept, &|a, b| follows(b, a)).is_empty()
        });
        let has =
            step("ring-unless-apart-in-the-list", has, &|| !ring(&kept, &|a, b| !follows(b, a)).is_empty());
        let has = step("ring-with-nop-in-a-queue-unseen", has, &|| {
            !ring(&kept, &|a, b| !is_nop(a) && !is_nop(b)).is_empty()
        });
        let has =
            step("ring-over-nop-unseen", has, &|| found(&kept.filtered(|a, b| !is_nop(a) && !is_nop(b))));
        let has = step("ring-over-unplaced-tasks-unseen", has, &|| {
            found(&kept.filtered(|a, b| sm(a).is_some() && sm(b).is_some()))
        });
        let has = step("ring-of-two-queues-only", has, &|| {
            rings.iter().any(|set| {
                let mut sms: Vec<_> = set.iter().filter_map(|&task| sm(task)).collect();
                sms.sort_unstable();
                sms.dedup();
                sms.len() == 2
            })
        });
        let has = step("ring-of-one-queue-unseen", has, &|| {
            rings.iter().any(|set| {
                let mut sms: Vec<_> = set.iter().filter_map(|&task| sm(task)).collect();
                sms.dedup();
                sms.len() > 1
            })
        });
        let has = step("ring-of-three-queues-unseen", has, &|| {
            rings.iter().any(|set| {
                let mut sms: Vec<_> = set.iter().filter_map(|&task| sm(task)).collect();
                sms.sort_unstable();
                sms.dedup();
                sms.len() < 3
            })
        });
        let has =
            step("ring-within-one-queue-counted", has, &|| found(&edges.filtered(|a, b| !common(a, b))));
        let has =
            step("ring-of-dependencies-counted", has, &|| found(&edges.filtered(|a, b| !backward(a, b))));
        let has = step("ring-of-direct-waits-only", has, &|| {
            kept.pairs().any(|(a, b)| {
                kept.pairs().any(|(c, d)| {
                    let before = |x: TaskId, y: TaskId| sm(x).is_some() && sm(x) == sm(y) && x < y;
                    before(b, c) && before(d, a)
                })
            })
        });
        let has = step("ring-of-unplaced-tasks-in-list-order", has, &|| {
            let mut graph = kept.clone();
            let unplaced: Vec<TaskId> = program.task_ids().filter(|&task| sm(task).is_none()).collect();
            unplaced.windows(2).for_each(|pair| graph.add(pair[0], pair[1]));
            found(&graph)
        });
        self.found.require(Rule::D06, !has);
    }

    fn happens_before(&self, edges: &Relation) -> Relation {
        let sm = |task: TaskId| self.sm(task);
        let is_nop = |task: TaskId| self.is_nop(task);
        let any = |_: TaskId| true;
        let step = |name, right: Relation, wrong: &dyn Fn() -> Relation| self.steps.step(name, right, wrong);
        let closed = edges.closed();
        let closed = step("order-direct-only", closed, &|| edges.clone());
        let closed = step("order-over-two-edges-only", closed, &|| edges.closure(any, 2));
        let closed = step("order-over-three-edges-only", closed, &|| edges.closure(any, 3));
        let closed = step("order-not-over-nop", closed, &|| edges.closure(|task| !is_nop(task), usize::MAX));
        let closed = step("order-over-nop-only", closed, &|| edges.closure(is_nop, usize::MAX));
        let closed = step("order-not-over-other-queues", closed, &|| {
            edges.closure(|task| sm(task).is_none(), usize::MAX)
        });
        let closed = step("order-not-over-unplaced-tasks", closed, &|| {
            edges.closure(|task| sm(task).is_some(), usize::MAX)
        });
        // The pairs of the list in its order that are kept, beside those of a relation.
        let beside = |order: &Relation, keep: Keep<'_>| {
            let mut more = order.clone();
            for b in self.program.task_ids() {
                let earlier = self.program.task_ids().take_while(|&a| a < b);
                earlier.filter(|&a| keep(a, b)).for_each(|a| more.add(a, b));
            }
            more
        };
        let in_queue = |a, b| sm(a).is_some() && sm(a) == sm(b);
        let closed = step("order-of-queues", closed, &|| beside(edges, &in_queue).closed());
        let closed = step("order-of-neighbours-in-a-queue", closed, &|| {
            beside(edges, &|a, b| follows(b, a) && in_queue(a, b)).closed()
        });
        let closed = step("order-of-the-list", closed, &|| {
            let closed = edges.closed();
            beside(&closed, &|a, b| !closed.has(b, a))
        });
        let task = |id: TaskId| self.program.task(id);
        let closed = step("order-of-producers-of-one-counter", closed, &|| {
            let out = |id: TaskId| task(id).map(|task| task.out);
            beside(edges, &|a, b| out(a) == out(b)).closed()
        });
        step("order-of-joint-waiters", closed, &|| {
            let waits = |id: TaskId| task(id).map_or(&[][..], |task| &task.waits);
            beside(&edges.closed(), &|a, b| !waits(a).is_empty() && waits(a) == waits(b))
        })
    }
}

/// Whether a task stands right after another in the list.
fn follows(b: TaskId, a: TaskId) -> bool {
    b.index() == a.index() + 1
}
