//! The validator: whether a document is a program that can neither hang, nor race, nor leave its memory.
//!
//! Judging goes in stages. Reading and class S come first; where they find nothing, ids are indices and every reference
//! holds, and the other classes index without fear. The rules that need happens-before come last and are not judged
//! where D03 or D04 leave no such order. One file per rule; each names its clause.

mod accesses;
mod columns;
mod deadlock;
mod describe;
mod launch;
mod memory;
mod pages;
mod race;
mod repair;
mod structure;
mod warnings;

use std::ops::Range;

use megakernel_ir::model::Program;
use megakernel_ir::protocol::Profile;
use megakernel_ir::rule::{Class, Severity};
use megakernel_ir::{Rule, TaskId, read, registry};
use megakernel_order::{Findings, Graph, HappensBefore, Order};

pub use megakernel_order::{KEPT_PER_RULE, Threads, Verdict};

use accesses::Accesses;
use columns::Columns;
pub use repair::{Repair, repairs};

/// A set of classes of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes(u8);

impl Classes {
    /// All of them.
    pub const ALL: Classes = Classes(u8::MAX);

    /// These.
    pub fn of(classes: &[Class]) -> Classes {
        Classes(classes.iter().fold(0, |bits, &class| bits | bit(class)))
    }

    /// The classes that a profile judges (clause CON-01).
    pub fn of_profile(profile: Profile) -> Classes {
        let judged: Vec<Class> = registry::classes().filter(|&class| profile.judges(class)).collect();
        Classes::of(&judged)
    }

    /// Whether a class is among them.
    pub const fn has(self, class: Class) -> bool {
        self.0 & bit(class) != 0
    }
}

/// Rules of programs are of the first classes; those of companions have no part here.
const fn bit(class: Class) -> u8 {
    if class.index() < 8 { 1 << class.index() } else { 0 }
}

/// Judges the bytes of a document by the rules of some classes. Gives a verdict for any bytes.
pub fn validate(document: &[u8], classes: Classes) -> Verdict {
    match read(document) {
        Ok(program) => validate_program(&program, classes),
        Err(diagnostics) => Verdict::of_unread(diagnostics),
    }
}

/// The rules of severity error that a program breaks, in order. The verdict of [`validate_program`] at a fraction of its cost.
pub fn broken_rules(program: &Program<'_>, classes: Classes) -> Vec<Rule> {
    let mut findings = Findings::quiet();
    check(program, classes, Threads::for_tasks(program.tasks.len()), &mut findings);
    findings.rules().filter(|rule| classes.has(rule.class()) && rule.severity() == Severity::Error).collect()
}

/// Judges a program that has been read; a large one in several threads.
pub fn validate_program(program: &Program<'_>, classes: Classes) -> Verdict {
    validate_in_threads(program, classes, Threads::for_tasks(program.tasks.len()))
}

/// [`validate_program`] in so many threads. The verdict is the same for any number.
pub fn validate_in_threads(program: &Program<'_>, classes: Classes, threads: Threads) -> Verdict {
    let mut findings = Findings::default();
    check(program, classes, threads, &mut findings);
    let (mut diagnostics, mut suppressed) = findings.into_parts();
    diagnostics.retain(|diagnostic| classes.has(diagnostic.rule.class()));
    suppressed.retain(|rule, _| classes.has(rule.class()));
    Verdict { diagnostics, suppressed }
}

fn check(program: &Program<'_>, classes: Classes, threads: Threads, findings: &mut Findings) {
    let columns = structure::check(program, threads, findings);
    if findings.accepts() {
        check_sound(program, &columns, classes, threads, findings);
    }
}

/// What comes of some of the tasks.
struct Part {
    findings: Findings,
    /// Of each task, whether its opcode does not take operands of these shapes.
    misshapen: Vec<bool>,
    /// Whether one of them breaks R01.
    has_partial_wait: bool,
    /// Whether one of them breaks D03.
    waits_for_itself: bool,
}

/// The rules that look at one task.
fn check_tasks(
    program: &Program<'_>,
    graph: &Graph,
    classes: Classes,
    range: Range<usize>,
    mut findings: Findings,
) -> Part {
    let mut misshapen = Vec::with_capacity(range.len());
    let (mut has_partial_wait, mut waits_for_itself) = (false, false);
    let judged = classes.has(Class::MEMORY_SAFETY);
    for (id, task) in TaskId::range(range.clone()).zip(&program.tasks[range]) {
        warnings::check_task(id, task, &mut findings);
        deadlock::check_task(program, graph, id, task, &mut findings);
        misshapen.push(!memory::check_task(program, id, task, judged, &mut findings));
        has_partial_wait |= race::has_partial_wait(graph, task);
        waits_for_itself |= task.waits.iter().any(|wait| wait.counter == task.out_counter);
    }
    Part { findings, misshapen, has_partial_wait, waits_for_itself }
}

/// The classes other than S, on a program whose references hold.
fn check_sound(
    program: &Program<'_>,
    columns: &Columns,
    classes: Classes,
    threads: Threads,
    findings: &mut Findings,
) {
    let graph = Graph::new(&columns.edges, program.counters.len());
    // One walk over the tasks for all rules that look at one: a large program does not fit the caches.
    let work = |range| check_tasks(program, &graph, classes, range, findings.part());
    let mut misshapen = Vec::with_capacity(program.tasks.len());
    let (mut has_partial_wait, mut waits_for_itself) = (false, false);
    for part in threads.by_ranges(program.tasks.len(), work) {
        misshapen.extend(part.misshapen);
        has_partial_wait |= part.has_partial_wait;
        waits_for_itself |= part.waits_for_itself;
        findings.append(part.findings);
    }
    if has_partial_wait {
        race::check_partial_waits(program, &graph, findings);
    }
    let accesses = Accesses::new(program, columns, misshapen);
    warnings::check(program, &graph, &accesses, findings);
    if classes.has(Class::LAUNCH) {
        launch::check(program, findings);
    }
    let order = Order::new(&graph);
    if classes.has(Class::DEADLOCK) {
        deadlock::check_cycles(program, &graph, columns.placed, order.is_none(), findings);
    }
    if classes.has(Class::MEMORY_SAFETY) {
        memory::check_outputs(program, &accesses, findings);
    }
    let needs_order =
        [Class::RACE, Class::PAGES, Class::MEMORY_SAFETY].into_iter().any(|class| classes.has(class));
    if !needs_order {
        return;
    }
    race::check_placement(program, &accesses, findings);
    let order = order.as_ref().filter(|_| !waits_for_itself);
    let order = order.map(|order| HappensBefore::new(&graph, order));
    pages::check(program, &accesses, order.as_ref(), findings);
    if let Some(order) = &order {
        race::check_ordered(program, &accesses, order, threads, findings);
    }
}
