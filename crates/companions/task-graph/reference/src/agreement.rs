//! What the validator says of a system of task graphs beside what the explorer finds, and whether the two agree.
//!
//! An accepted system has no fault. A rejected one has, for each finding, the fault that the rule forbids, or the rule
//! is stricter than the semantics in one of the ways of [`Reason`]. And what goes wrong is rejected by a rule about just
//! that, so that no rule can hide behind another one. `cargo xtask prove --scope task-graph-ci` asks this of all small systems. Here
//! alone do validator and explorer meet.

use std::fmt;

use megakernel_ir::rule::Severity;
use megakernel_ir::{Diagnostic, Rule};
use megakernel_task_graph::System;

use super::explore::{Compact, Explorer, Faults, ITERATIONS, Instances, MAX_INSTANCES, Setup};

/// Why a rule rejects a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Some run goes wrong in the way that the rule forbids, whatever the number of workers.
    Shown,
    /// Some run goes wrong with one worker a rank.
    OneWorker,
    /// A cycle, or a descending id, through an event that does not wait for all of its triggers.
    PartialTrigger,
    /// An event that waits for no trigger has none.
    NothingAwaited,
    /// What is put together wrongly goes wrong in no order of accesses: copies of one rank, or copies and other tasks, that trigger
    /// one event; mates of different tiles; a sum that nothing sets.
    Composition,
    /// Tiles of several layouts: their hulls meet, they do not.
    Hull,
    /// A write that is overwritten unread: no result is wrong.
    DeadWrite,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Reason; 7] = [
        Reason::Shown,
        Reason::OneWorker,
        Reason::PartialTrigger,
        Reason::NothingAwaited,
        Reason::Composition,
        Reason::Hull,
        Reason::DeadWrite,
    ];

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Shown => "shown",
            Reason::OneWorker => "one worker",
            Reason::PartialTrigger => "partial trigger",
            Reason::NothingAwaited => "nothing awaited",
            Reason::Composition => "composition",
            Reason::Hull => "hull",
            Reason::DeadWrite => "dead write",
        }
    }
}

/// What the two say of one system.
#[derive(Clone, Debug)]
pub struct Verdicts {
    /// The rules that the validator finds broken, ascending.
    pub rules: Vec<Rule>,
    /// Why, for each rule; nothing for one with a finding that no run bears out.
    pub reasons: Vec<Option<Reason>>,
    /// What the explorer finds.
    pub faults: Faults,
    /// What goes wrong and no rule about that rejects.
    pub missed: Option<&'static str>,
}

impl Verdicts {
    /// Whether an accepted system goes wrong, a rule rejects one without cause, or the right rule does not.
    pub fn disagree(&self) -> bool {
        self.missed.is_some()
            || if self.rules.is_empty() { !self.faults.is_empty() } else { self.reasons.contains(&None) }
    }
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules: Vec<&str> = self.rules.iter().map(|rule| rule.id()).collect();
        match rules.as_slice() {
            [] => writeln!(f, "validator: accept")?,
            rules => writeln!(f, "validator: reject, {}", rules.join(" "))?,
        }
        match self.faults.names().as_slice() {
            [] => write!(f, "explorer: no bad execution"),
            names => write!(f, "explorer: {}", names.join(", ")),
        }
    }
}

/// Judges systems one after the other. `V` is the validator.
pub struct Judge<V> {
    validate: V,
    explorer: Explorer,
    dropped: Option<Rule>,
}

impl<V: FnMut(&System<'_>) -> Vec<Diagnostic>> Judge<V> {
    /// A judge who drops the findings of a rule, if one is given: a deliberately weakened validator.
    pub fn new(validate: V, dropped: Option<Rule>) -> Judge<V> {
        Judge { validate, explorer: Explorer::default(), dropped }
    }

    /// Asks both. Nothing for a system that breaks a rule of structure or is too large: then it should not have been asked about.
    pub fn judge(&mut self, system: &System<'_>) -> Option<Verdicts> {
        let mut found = (self.validate)(system);
        let hulls = found.iter().any(|diagnostic| diagnostic.rule == Rule::TW03);
        found.retain(|diagnostic| diagnostic.severity == Severity::Error);
        if found
            .iter()
            .any(|diagnostic| ["S", "TS"].contains(&diagnostic.rule.id().trim_end_matches(char::is_numeric)))
        {
            return None;
        }
        found.retain(|diagnostic| Some(diagnostic.rule) != self.dropped);
        let setup = Setup::new(system).ok()?;
        let compact = Compact::new(&setup, ITERATIONS).ok()?;
        let mut faults = self.explorer.explore(&compact);
        let mut alone = self.explorer.explore(&Compact::new(&setup, 1).ok()?);
        if hulls {
            // A read whose hull meets a write counts as a read of it, so what is dead is another question.
            (faults.dead, alone.dead) = ([0; MAX_INSTANCES], [0; MAX_INSTANCES]);
        }
        let evidence = Evidence { setup: &setup, alone: &alone, faults: &faults, hulls };
        let mut rules: Vec<Rule> = found.iter().map(|diagnostic| diagnostic.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        let reasons = rules.iter().map(|&rule| {
            let mut of_rule = found.iter().filter(|d| d.rule == rule).map(|d| evidence.reason(d));
            let first = of_rule.next().flatten()?;
            of_rule.try_fold(first, |least, reason| Some(least.min(reason?)))
        });
        let reasons = reasons.collect();
        let missed = evidence.missed(&rules);
        Some(Verdicts { rules, reasons, faults, missed })
    }

    /// How many states have been visited so far.
    pub fn states(&self) -> u64 {
        self.explorer.states()
    }
}

struct Evidence<'e> {
    setup: &'e Setup,
    /// Of one iteration by itself: no trigger of another one stands in for one of this.
    alone: &'e Faults,
    /// Of two.
    faults: &'e Faults,
    /// Whether some storage is judged by hulls.
    hulls: bool,
}

impl Evidence<'_> {
    /// Why a finding rejects.
    fn reason(&self, found: &Diagnostic) -> Option<Reason> {
        let (alone, faults) = (self.alone, self.faults);
        let tasks: Option<Vec<usize>> =
            found.tasks.iter().map(|&number| self.setup.by_number(number)).collect();
        let tasks = tasks?;
        let shown = |shown: bool| shown.then_some(Reason::Shown);
        // Tasks that never run show nothing; the deadlock does.
        let or_deadlock = |there: bool| shown(there || faults.deadlock());
        let partial = || self.awaits_less().then_some(Reason::PartialTrigger);
        let next = self.setup.tasks.len();
        let pair = || if let &[one, other, ..] = tasks.as_slice() { Some((one, other)) } else { None };
        let race = |sets: &[Instances], one: usize, other: usize| {
            let has = |a: usize, b: usize| sets.get(a).is_some_and(|set| set >> b & 1 == 1);
            has(one, other) || has(other, one)
        };
        match found.rule {
            Rule::TD01 | Rule::TD02 => {
                let nothing = self.setup.events.iter().skip(2).any(|event| event.threshold <= 0);
                or_deadlock(false).or_else(|| nothing.then_some(Reason::NothingAwaited))
            }
            Rule::TD03 => or_deadlock(false).or_else(partial),
            Rule::TD04 => {
                or_deadlock(false).or_else(|| faults.queues.then_some(Reason::OneWorker)).or_else(partial)
            }
            Rule::TD05 => or_deadlock(tasks.iter().any(|&task| faults.lost >> task & 1 == 1)),
            Rule::TR01 => shown(faults.shows()),
            Rule::TR07 => Some(Reason::Composition),
            // A mate that is missing hangs the others.
            Rule::TX05 if tasks.len() == 1 => or_deadlock(false),
            Rule::TX05 => shown(faults.shows()).or(Some(Reason::Composition)),
            Rule::TX06 => {
                let (one, other) = pair()?;
                or_deadlock(race(&faults.at_once, one, other) || race(&faults.at_once, one, next + other))
            }
            Rule::TR02 | Rule::TR03 | Rule::TR04 | Rule::TR06 | Rule::TX03 => {
                let (one, other) = pair()?;
                let rw = found.rule != Rule::TR04 && race(&alone.read_write, one, other);
                let ww = [Rule::TR04, Rule::TR06, Rule::TX03].contains(&found.rule)
                    && race(&alone.write_write, one, other);
                or_deadlock(rw || ww).or_else(|| self.hulls.then_some(Reason::Hull))
            }
            Rule::TR05 => {
                let (one, other) = pair()?;
                let dead = alone.dead.get(one).is_some_and(|set| set >> other & 1 == 1);
                let hull = || self.hulls.then_some(Reason::Hull);
                or_deadlock(false)
                    .or_else(|| dead.then_some(Reason::DeadWrite))
                    .or_else(hull)
                    .or_else(partial)
            }
            Rule::TX02 => shown(faults.shows()).or(Some(Reason::Composition)),
            Rule::TX04 => {
                let (one, other) = pair()?;
                let later = next + other;
                let raced = race(&faults.read_write, one, later) || race(&faults.write_write, one, later);
                let overtaken = faults.without.get(one).is_some_and(|set| set >> later & 1 == 1)
                    && self.setup.tasks.get(one).map(|task| task.trigger)
                        == self.setup.tasks.get(other).map(|task| task.trigger);
                // A trigger of the iteration after the next can stand in for one of this: then it takes three to race.
                let third = || {
                    let compact = Compact::new(self.setup, ITERATIONS + 1).ok()?;
                    let faults = Explorer::default().explore(&compact);
                    let raced = race(&faults.read_write, one, later) || race(&faults.write_write, one, later);
                    shown(raced)
                };
                // An event that is reached too early shows by what comes of it.
                or_deadlock(raced || overtaken && faults.shows())
                    .or_else(third)
                    .or_else(|| self.hulls.then_some(Reason::Hull))
            }
            _ => None,
        }
    }

    /// Whether an event waits for fewer triggers than it gets.
    fn awaits_less(&self) -> bool {
        let triggers =
            |index: usize| self.setup.tasks.iter().filter(|task| task.trigger == Some(index)).count();
        self.setup
            .events
            .iter()
            .enumerate()
            .skip(2)
            .any(|(index, event)| event.threshold < triggers(index) as i64)
    }

    /// What goes wrong and none of these rules is about.
    fn missed(&self, rules: &[Rule]) -> Option<&'static str> {
        let broken = |any: &[Rule]| any.iter().any(|rule| rules.contains(rule));
        let (alone, faults) = (self.alone, self.faults);
        let counts = broken(&[Rule::TD01, Rule::TD02, Rule::TD03, Rule::TR01, Rule::TX05]);
        if (alone.deadlock() || faults.deadlock()) && !counts {
            return Some("a deadlock");
        }
        if faults.queues && !counts && !broken(&[Rule::TD04]) {
            return Some("a deadlock with one worker a rank");
        }
        if counts {
            // What is unordered is so because of that; without it, it need not be.
            return None;
        }
        if alone.lost != 0 && !broken(&[Rule::TD05]) {
            return Some("a lost task");
        }
        let tasks = 0..self.setup.tasks.len();
        let own = |one: usize, other: usize| {
            let rank = |task: usize| self.setup.tasks.get(task).map(|task| task.rank);
            rank(one) == rank(other)
        };
        let raced = |sets: &[Instances], wanted: &dyn Fn(usize, usize) -> bool| {
            tasks.clone().any(|one| {
                let others = sets.get(one).copied().unwrap_or_default();
                tasks.clone().any(|other| others >> other & 1 == 1 && wanted(one, other))
            })
        };
        if raced(&alone.read_write, &own) && !broken(&[Rule::TR02, Rule::TR03, Rule::TR06, Rule::TX03]) {
            return Some("a race of a read and a write");
        }
        // Two copies of a rank into another one's memory race there.
        if raced(&alone.write_write, &own) && !broken(&[Rule::TR04, Rule::TR06, Rule::TX03]) {
            return Some("a race of two writes");
        }
        let cross = |one: usize, other: usize| !own(one, other);
        let across = raced(&alone.read_write, &cross) || raced(&alone.write_write, &cross);
        if across && !broken(&[Rule::TX03]) {
            return Some("a race across ranks");
        }
        if alone.has_teams_at_once() && !broken(&[Rule::TX06]) {
            return Some("two collectives of a team at once");
        }
        if alone.has_dead_write() && !alone.has_race() && !broken(&[Rule::TR05]) {
            return Some("a dead write");
        }
        let excused = broken(&[
            Rule::TD05,
            Rule::TR02,
            Rule::TR03,
            Rule::TR04,
            Rule::TR06,
            Rule::TX02,
            Rule::TX03,
            Rule::TX04,
        ]);
        if faults.has_teams_at_once() && !excused && !broken(&[Rule::TX06]) {
            return Some("two collectives of a team at once, in two iterations");
        }
        if (faults.has_race() || faults.lost != 0) && !excused && !broken(&[Rule::TX06]) {
            return Some("what one iteration does to the next");
        }
        None
    }
}
