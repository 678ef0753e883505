//! The conflicting accesses of one buffer pair by pair, for saying precisely what is wrong with it.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use megakernel_ir::diagnostic::AccessKind;
use megakernel_order::happens_before::{HappensBefore, Question};

use crate::region::Region;
use crate::validate::accesses::Access;

/// A buffer with at most this many accesses has all of them compared, so that every diagnostic of the specification
/// is found. Of one with more, those are compared that the search for suspects has named; each of them breaks a rule,
/// so whether the program is accepted does not depend on this number.
const COMPARE_ALL: usize = 512;

/// Tasks that break a rule on one buffer.
#[derive(Debug, Default)]
pub struct Suspects {
    /// Those whose read nobody wrote before, or whose read a later write of this launch makes stale. All of them are
    /// compared, since they may break R02 or M05, rules of different profiles.
    pub unwritten: BTreeSet<u32>,
    /// Those that some neighbour is not ordered with. Of many, the first few are evidence enough.
    pub unordered: BTreeSet<u32>,
}

/// How another task's access lies to a given one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The other happens before.
    Before,
    /// The other happens after.
    After,
    /// Neither.
    Unordered,
}

/// An access that overlaps a given one; of the two, one is a write.
#[derive(Clone, Copy, Debug)]
pub struct Conflict {
    /// Index of the other access.
    pub other: usize,
    /// Where the other lies.
    pub relation: Relation,
}

/// The accesses of one buffer, in task-list order.
pub struct Exact<'o> {
    /// The buffer.
    pub buffer: u32,
    /// Reads and writes.
    pub accesses: Vec<Access>,
    compared: Vec<usize>,
    writers: Vec<usize>,
    order: &'o HappensBefore<'o>,
    rows: RefCell<HashMap<usize, Rc<[Conflict]>>>,
}

impl<'o> Exact<'o> {
    /// The accesses of a buffer, of which those by `suspects` break a rule.
    pub fn new(
        buffer: u32,
        accesses: Vec<Access>,
        suspects: &Suspects,
        order: &'o HappensBefore<'o>,
    ) -> Exact<'o> {
        let all = accesses.len() <= COMPARE_ALL;
        let first: BTreeSet<u32> = suspects.unordered.iter().copied().take(COMPARE_ALL).collect();
        let is_compared = |access: &Access| {
            all || first.contains(&access.task)
                || access.kind == AccessKind::Read && suspects.unwritten.contains(&access.task)
        };
        let compared = (0..accesses.len()).filter(|&i| is_compared(&accesses[i])).collect();
        let writers = (0..accesses.len()).filter(|&i| accesses[i].kind == AccessKind::Write).collect();
        Exact { buffer, accesses, compared, writers, order, rows: RefCell::default() }
    }

    /// The reads to judge, by index.
    pub fn reads(&self) -> impl Iterator<Item = usize> + '_ {
        self.of_kind(AccessKind::Read)
    }

    /// The writes to judge, by index.
    pub fn writes(&self) -> impl Iterator<Item = usize> + '_ {
        self.of_kind(AccessKind::Write)
    }

    fn of_kind(&self, kind: AccessKind) -> impl Iterator<Item = usize> + '_ {
        self.compared.iter().copied().filter(move |&i| self.accesses[i].kind == kind)
    }

    /// The accesses by other tasks that conflict with this one.
    pub fn conflicts(&self, access: usize) -> Rc<[Conflict]> {
        if let Some(row) = self.rows.borrow().get(&access) {
            return Rc::clone(row);
        }
        let row: Rc<[Conflict]> = self.compare(access).into();
        self.rows.borrow_mut().insert(access, Rc::clone(&row));
        row
    }

    fn compare(&self, access: usize) -> Vec<Conflict> {
        let this = self.accesses[access];
        let conflicts = |&other: &usize| {
            let other = self.accesses[other];
            other.task != this.task && other.region.overlaps(&this.region)
        };
        let others: Vec<usize> = match this.kind {
            AccessKind::Read => self.writers.iter().copied().filter(conflicts).collect(),
            AccessKind::Write => (0..self.accesses.len()).filter(conflicts).collect(),
        };
        let mut questions = Vec::with_capacity(2 * others.len());
        for &other in &others {
            let other = self.accesses[other].task;
            questions.push(Question { earlier: other, later: this.task });
            questions.push(Question { earlier: this.task, later: other });
        }
        let relation = |answers: &[bool]| match answers {
            [true, _] => Relation::Before,
            [_, true] => Relation::After,
            _ => Relation::Unordered,
        };
        let answers = self.order.answer(&questions);
        others
            .into_iter()
            .zip(answers.chunks(2).map(relation))
            .map(|(other, relation)| Conflict { other, relation })
            .collect()
    }

    /// The writes by other tasks that conflict with this access and lie so to it, by index.
    pub fn writes_that(&self, access: usize, relation: Relation) -> impl Iterator<Item = usize> + '_ {
        let row = self.conflicts(access);
        (0..row.len())
            .map(move |index| row[index])
            .filter(move |conflict| {
                conflict.relation == relation && self.accesses[conflict.other].kind == AccessKind::Write
            })
            .map(|conflict| conflict.other)
    }

    /// What two accesses share.
    pub fn shared(&self, i: usize, j: usize) -> Region {
        self.accesses[i].region.intersection(&self.accesses[j].region)
    }
}
