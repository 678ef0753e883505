//! Buffers that share storage: the P rules.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::{BufferId, BufferKind, DType, MemSpace, Rule, TaskId};

use crate::found::Found;
use crate::opcodes::arity;
use crate::program::{Buffer, Page, Pages, Program, Task};
use crate::relation::Relation;
use crate::steps::Steps;

/// Judges the pages of a program.
pub fn judge(steps: &Steps, program: &Program, before: Option<&Relation>, found: &Found<'_>) {
    let Some(pages) = &program.pages else { return };
    let judging = Judging { steps, program, pages, found };
    let bound = judging.mapping();
    for &(_, buffer, page) in &bound {
        judging.fits(buffer, page);
    }
    if let Some(before) = before {
        judging.clobber(before, &bound);
    }
    judging.capacity(&bound);
}

struct Judging<'a> {
    steps: &'a Steps,
    program: &'a Program,
    pages: &'a Pages,
    found: &'a Found<'a>,
}

/// Buffer id, buffer, page.
type Bound<'a> = (BufferId, &'a Buffer, &'a Page);

impl<'a> Judging<'a> {
    /// P03.
    fn mapping(&self) -> Vec<Bound<'a>> {
        let mut bound = Vec::new();
        let (buffers, pages) = (self.program.buffers.len() as i64, self.pages.pages.len() as i64);
        for &(buffer, page) in &self.pages.map {
            let good = (0..buffers).contains(&buffer) && (0..pages).contains(&page);
            let step = |name, good, wrong: bool| self.steps.step(name, good, || wrong);
            let good = step("mapping-of-buffers-unchecked", good, (0..pages).contains(&page));
            let good = step("mapping-to-pages-unchecked", good, (0..buffers).contains(&buffer));
            let good =
                step("mapping-one-buffer-too-far", good, buffer <= buffers && (0..pages).contains(&page));
            let good =
                step("mapping-one-page-too-far", good, buffer < buffers && (0..=pages).contains(&page));
            let good = step("mapping-to-negative-pages", good, buffer < buffers && page < pages);
            let good = step(
                "mapping-to-last-page-refused",
                good,
                buffer < buffers && (0..pages - 1).contains(&page),
            );
            let good = step(
                "mapping-of-last-buffer-refused",
                good,
                buffer < buffers - 1 && (0..pages).contains(&page),
            );
            self.found.require(Rule::P03, good);
            let place = usize::try_from(page).ok().and_then(|page| self.pages.pages.get(page));
            if let (Some(record), Some(page)) = (self.program.buffer(buffer), place) {
                bound.push((BufferId::stated(buffer), record, page));
            }
        }
        bound
    }

    /// P02, P04, P05.
    fn fits(&self, buffer: &Buffer, page: &Page) {
        let steps = self.steps;
        let size = i128::from(page.nbytes);
        let nbytes = buffer.nbytes();
        let numel = buffer.numel().unwrap_or(i128::MAX);
        let bits = i128::from(buffer.dtype.bits());
        let step = |name, good, wrong: bool| steps.step(name, good, || wrong);
        let good = nbytes <= size;
        let good = step("page-one-byte-short", good, nbytes <= size + 1);
        let good = step("page-full-refused", good, nbytes < size);
        let good = step("page-by-elements", good, numel <= size);
        let good = step("page-by-whole-bytes", good, numel.saturating_mul(bits / 8) <= size);
        let good = step("page-by-bytes-each", good, numel.saturating_mul((bits + 7) / 8) <= size);
        let good = step("page-by-bits-rounded-down", good, numel.saturating_mul(bits) / 8 <= size);
        let good = step("page-of-four-bytes-each", good, numel.saturating_mul(4) <= size);
        let good = step("page-of-two-bytes-each", good, numel.saturating_mul(2) <= size);
        let good = step(
            "page-by-first-extent",
            good,
            buffer.shape.first().map_or(1, |&e| i128::from(e)) * bits / 8 <= size,
        );
        self.found.require(Rule::P02, good);

        let kind = buffer.kind;
        let pageable = kind == BufferKind::Activation;
        let pageable = steps.step_of(["page-of-kind-turned", kind.name(), ""], pageable, || !pageable);
        self.found.require(Rule::P04, pageable);

        let alike = buffer.space == page.space;
        let alike = alike || steps.errs_of(["page-space-unchecked", buffer.space.name(), page.space.name()]);
        let alike =
            steps.step("page-space-by-chip", alike, || buffer.space.is_on_chip() == page.space.is_on_chip());
        let alike = steps.step_of(["page-space-refused", page.space.name(), ""], alike, || false);
        self.found.require(Rule::P05, alike);
    }

    fn users(&self, buffer: BufferId, inputs: bool, outputs: bool) -> Vec<TaskId> {
        let lists = |task: &Task| inputs && task.reads(buffer) || outputs && task.writes(buffer);
        self.program.tasks_by_id().filter(|(_, task)| lists(task)).map(|(id, _)| id).collect()
    }

    /// P01.
    fn clobber(&self, before: &Relation, bound: &[Bound<'_>]) {
        let steps = self.steps;
        for (index, &b) in bound.iter().enumerate() {
            for (other, &a) in bound.iter().take(index).enumerate().filter(|(_, a)| std::ptr::eq(a.2, b.2)) {
                let precedes = |a: Bound<'_>, b: Bound<'_>, first: [bool; 2], second: [bool; 2]| {
                    let (of_a, of_b) =
                        (self.users(a.0, first[0], first[1]), self.users(b.0, second[0], second[1]));
                    of_a.iter().all(|&x| of_b.iter().all(|&y| self.ordered(before, a, b, x, y)))
                };
                let whole = |[first, second]: [[bool; 2]; 2]| {
                    precedes(a, b, first, second) || precedes(b, a, first, second)
                };
                const ALL: [bool; 2] = [true, true];
                const READS: [bool; 2] = [true, false];
                const WRITES: [bool; 2] = [false, true];
                let good = whole([ALL, ALL]);
                let step = |name, right: bool, wrong: &dyn Fn() -> bool| steps.step(name, right, wrong);
                let good = step("p01-writes-against-writes-only", good, &|| whole([WRITES, WRITES]));
                let good = step("p01-reads-against-writes-only", good, &|| whole([READS, WRITES]));
                let good = step("p01-later-reads-only", good, &|| whole([ALL, READS]));
                let good = step("p01-later-writes-only", good, &|| whole([ALL, WRITES]));
                let good = step("p01-earlier-writes-only", good, &|| whole([WRITES, ALL]));
                let good = step("p01-not-both-ways", good, &|| precedes(a, b, ALL, ALL));
                let good = step("p01-not-backwards", good, &|| precedes(b, a, ALL, ALL));
                let good = step("p01-each-pair-either-way", good, &|| {
                    let (of_a, of_b) = (self.users(a.0, true, true), self.users(b.0, true, true));
                    of_a.iter().all(|&x| {
                        of_b.iter()
                            .all(|&y| self.ordered(before, a, b, x, y) || self.ordered(before, b, a, y, x))
                    })
                });
                let ends =
                    |of: &[TaskId], last: bool| if last { of.last().copied() } else { of.first().copied() };
                let good = step("p01-last-user-against-first-only", good, &|| {
                    let check = |a: Bound<'_>, b: Bound<'_>| {
                        let (of_a, of_b) = (self.users(a.0, true, true), self.users(b.0, true, true));
                        match (ends(&of_a, true), ends(&of_b, false)) {
                            (Some(x), Some(y)) => self.ordered(before, a, b, x, y),
                            _ => true,
                        }
                    };
                    check(a, b) || check(b, a)
                });
                let good = step("p01-first-users-only", good, &|| {
                    let (of_a, of_b) = (self.users(a.0, true, true), self.users(b.0, true, true));
                    match (ends(&of_a, false), ends(&of_b, false)) {
                        (Some(x), Some(y)) => x == y || before.orders(x, y),
                        _ => true,
                    }
                });
                let good = step("p01-by-live-ranges", good, &|| {
                    b.2.live[0] >= 0 && b.2.live[0] <= b.2.live[1] || good
                });
                let good = step("p01-in-list-order", good, &|| {
                    let (of_a, of_b) = (self.users(a.0, true, true), self.users(b.0, true, true));
                    let apart =
                        |a: &[TaskId], b: &[TaskId]| a.last().zip(b.first()).is_none_or(|(x, y)| x < y);
                    apart(&of_a, &of_b) || apart(&of_b, &of_a) || good
                });
                let good = step("p01-of-neighbouring-ids-only", good, &|| good || index != other + 1);
                let good = step("p01-of-neighbouring-ids-passed-over", good, &|| good || index == other + 1);
                let good = step("p01-of-first-page-only", good, &|| good || b.2.id != 0);
                let good = step("p01-of-first-page-passed-over", good, &|| good || b.2.id == 0);
                let good = step("p01-of-other-shapes-passed-over", good, &|| good || a.1.shape != b.1.shape);
                let good = step("p01-of-equal-shapes-passed-over", good, &|| good || a.1.shape == b.1.shape);
                let good = step("p01-of-other-dtypes-passed-over", good, &|| good || a.1.dtype != b.1.dtype);
                let space = b.2.space;
                let good = steps.step_of(["p01-of-space-passed-over", space.name(), ""], good, || true);
                let unused = self.users(a.0, true, true).is_empty() || self.users(b.0, true, true).is_empty();
                let good = step("p01-of-unused-buffers-refused", good, &|| good && !unused);
                let good = step("p01-sharing-refused", good, &|| false);
                self.found.require(Rule::P01, good);
            }
        }
    }

    /// Whether task x, which uses a, is done with it before task y uses b.
    fn ordered(&self, before: &Relation, a: Bound<'_>, b: Bound<'_>, x: TaskId, y: TaskId) -> bool {
        if x != y {
            return before.has(x, y);
        }
        let Some(task) = self.program.task(x) else { return false };
        let step = |name, right: bool, wrong: &dyn Fn() -> bool| self.steps.step(name, right, wrong);
        let reads = task.reads(a.0) && task.writes(b.0);
        let only = !task.writes(a.0) && !task.reads(b.0);
        let allows = arity(task.op, false).in_place;
        let width = |dtype: DType| dtype.bits();
        let widths = width(a.1.dtype) == width(b.1.dtype);
        let shapes = a.1.shape == b.1.shape;
        let good = reads && only && allows && widths && shapes;
        let good = step("hand-over-by-any-opcode", good, &|| reads && only && widths && shapes);
        let good = step("hand-over-of-any-width", good, &|| reads && only && allows && shapes);
        let good = step("hand-over-of-equal-dtypes-only", good, &|| good && a.1.dtype == b.1.dtype);
        let good = step("hand-over-of-any-shape", good, &|| reads && only && allows && widths);
        let good = step("hand-over-of-equal-bytes", good, &|| {
            reads && only && allows && a.1.nbytes() == b.1.nbytes()
        });
        let good = step("hand-over-of-equal-elements", good, &|| {
            reads && only && allows && widths && a.1.numel() == b.1.numel()
        });
        let good = step("hand-over-while-both-are-read", good, &|| {
            reads && !task.writes(a.0) && allows && widths && shapes
        });
        let good = step("hand-over-from-first-input-only", good, &|| {
            good && task.inputs.first() == Some(&a.0.into())
        });
        step("hand-over-refused", good, &|| false)
    }

    /// P06.
    fn capacity(&self, bound: &[Bound<'_>]) {
        let Some(target) = &self.program.target else { return };
        let steps = self.steps;
        let limits = [
            (MemSpace::Smem, target.int("smem_bytes_per_block_optin")),
            (MemSpace::Register, target.int("regs_per_sm") * 4),
        ];
        let mut pools: BTreeMap<Option<i64>, BTreeSet<i64>> = BTreeMap::new();
        let mut used = BTreeSet::new();
        for &(buffer, _, page) in bound {
            for user in self.users(buffer, true, true) {
                let Some(sm) = self.program.task(user).map(|task| task.sm) else { continue };
                used.insert(page.id);
                pools.entry(sm).or_default().insert(page.id);
            }
        }
        let unused = self.pages.pages.iter().map(|page| page.id).filter(|id| !used.contains(id));
        if !steps.errs("pool-without-unused-pages") {
            pools.entry(None).or_default().extend(unused);
        }
        let all: BTreeSet<i64> = self.pages.pages.iter().map(|page| page.id).collect();
        for (space, limit) in limits {
            let bytes = |pages: &BTreeSet<i64>, keep: &dyn Fn(&Page) -> bool| -> i128 {
                let pages = self.pages.pages.iter().filter(|page| pages.contains(&page.id));
                pages.filter(|page| keep(page)).map(|page| i128::from(page.nbytes)).sum()
            };
            let of_space = |page: &Page| page.space == space;
            let fits = |limit: i128| pools.values().all(|pages| bytes(pages, &of_space) <= limit);
            let good = fits(limit);
            let id = space.name();
            let step =
                |name, right: bool, wrong: &dyn Fn() -> bool| steps.step_of([name, id, ""], right, wrong);
            let good = step("pool-one-byte-more", good, &|| fits(limit + 1));
            let good = step("pool-full-refused", good, &|| fits(limit - 1));
            let good = step("pool-of-all-pages", good, &|| bytes(&all, &of_space) <= limit);
            let good = step("pool-unchecked", good, &|| true);
            let good = step("pool-of-any-space", good, &|| {
                pools.values().all(|pages| bytes(pages, &|_| true) <= limit)
            });
            let good = step("pool-of-all-on-chip", good, &|| {
                pools.values().all(|pages| bytes(pages, &|page| page.space.is_on_chip()) <= limit)
            });
            let good = step("pool-each-page-by-itself", good, &|| {
                self.pages.pages.iter().all(|page| page.space != space || i128::from(page.nbytes) <= limit)
            });
            let good = step("pool-of-unplaced-unchecked", good, &|| {
                pools.iter().all(|(sm, pages)| sm.is_none() || bytes(pages, &of_space) <= limit)
            });
            let good = step("pool-of-placed-unchecked", good, &|| {
                pools.iter().all(|(sm, pages)| sm.is_some() || bytes(pages, &of_space) <= limit)
            });
            let good = step("pool-of-sm-0-only", good, &|| {
                pools
                    .iter()
                    .all(|(sm, pages)| *sm != Some(0) && sm.is_some() || bytes(pages, &of_space) <= limit)
            });
            let good = step("pool-by-buffers", good, &|| {
                let total = |sm: Option<i64>| -> i128 {
                    let of = bound.iter().filter(|(buffer, _, page)| {
                        page.space == space
                            && self
                                .users(*buffer, true, true)
                                .iter()
                                .any(|&user| self.program.task(user).is_some_and(|task| task.sm == sm))
                    });
                    of.map(|(_, buffer, _)| buffer.nbytes()).sum()
                };
                pools.keys().all(|&sm| total(sm) <= limit)
            });
            let good = step("pool-counted-by-buffers", good, &|| {
                let total = |sm: Option<i64>| -> i128 {
                    let of = bound.iter().filter(|(buffer, _, page)| {
                        page.space == space
                            && self
                                .users(*buffer, true, true)
                                .iter()
                                .any(|&user| self.program.task(user).is_some_and(|task| task.sm == sm))
                    });
                    of.map(|(_, _, page)| i128::from(page.nbytes)).sum()
                };
                pools.keys().all(|&sm| total(sm) <= limit)
            });
            let per_sm = target.int("smem_bytes_per_sm");
            let good = match space {
                MemSpace::Smem => step("pool-of-the-whole-sm", good, &|| fits(per_sm)),
                _ => {
                    let good = step("pool-of-registers-as-bytes", good, &|| fits(limit / 4));
                    step("pool-of-registers-of-8-bytes", good, &|| fits(limit * 2))
                }
            };
            self.found.require(Rule::P06, good);
        }
    }
}
