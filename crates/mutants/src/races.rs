//! Reads and writes that meet: rules R02 to R07, M05 and M06.

use megakernel_ir::{BufferId, BufferKind, Rule};

use crate::found::Found;
use crate::memory::{Access, Region};
use crate::program::{Program, Task};
use crate::relation::Relation;
use crate::steps::Steps;

/// The elements that two regions share; nothing if there are none.
pub fn meet(a: &Region, b: &Region) -> Option<Region> {
    let shared: Region = a.iter().zip(b).map(|(a, b)| [a[0].max(b[0]), a[1].min(b[1])]).collect();
    shared.iter().all(|[low, high]| low < high).then_some(shared)
}

/// What is left of a region without another.
fn without(region: &Region, hole: &Region) -> Vec<Region> {
    let Some(shared) = meet(region, hole) else { return vec![region.clone()] };
    let (mut rest, mut parts) = (region.clone(), Vec::new());
    for axis in 0..rest.len() {
        for part in [[rest[axis][0], shared[axis][0]], [shared[axis][1], rest[axis][1]]] {
            if part[0] < part[1] {
                let mut piece = rest.clone();
                piece[axis] = part;
                parts.push(piece);
            }
        }
        rest[axis] = shared[axis];
    }
    parts
}

/// Whether some regions together hold all of one.
fn covers<'a>(region: &Region, by: impl Iterator<Item = &'a Region>) -> bool {
    let mut open = vec![region.clone()];
    for hole in by {
        open = open.iter().flat_map(|part| without(part, hole)).collect();
    }
    open.is_empty()
}

/// The smallest region that holds some regions.
fn hull(regions: &[&Region]) -> Option<Region> {
    let (first, rest) = regions.split_first()?;
    let mut hull = (*first).clone();
    for region in rest {
        for (wide, axis) in hull.iter_mut().zip(region.iter()) {
            *wide = [wide[0].min(axis[0]), wide[1].max(axis[1])];
        }
    }
    Some(hull)
}

fn size(region: &Region) -> i128 {
    region.iter().map(|[low, high]| high - low).fold(1, i128::saturating_mul)
}

/// The accesses of a program, and what is asked of them.
pub struct Races<'a> {
    steps: &'a Steps,
    program: &'a Program,
    found: &'a Found<'a>,
    accesses: &'a [Access],
}

impl<'a> Races<'a> {
    /// Of these accesses.
    pub fn new(
        steps: &'a Steps,
        program: &'a Program,
        found: &'a Found<'a>,
        accesses: &'a [Access],
    ) -> Races<'a> {
        Races { steps, program, found, accesses }
    }

    fn kind(&self, buffer: BufferId) -> BufferKind {
        self.program.buffer_at(buffer).map_or(BufferKind::Const, |buffer| buffer.kind)
    }

    /// Whether a faulty validator passes over a pair of tasks at a buffer under this rule.
    fn exempt(&self, rule: Rule, a: &Access, b: &Access) -> bool {
        let id = rule.id();
        // What cannot be with a rule, or breaks another rule as well.
        let cannot: &[&str] = match id {
            "R03" => &["pair-of-whole-buffer"],
            "R04" => &[
                "pair-against-list-order",
                "pair-at-later-input",
                "pair-in-list-order",
                "pair-at-first-input",
            ],
            "R06" => &["pair-in-scratch", "pair-on-a-page", "pair-on-chip"],
            _ => &[],
        };
        let is = |name, holds: bool| {
            !cannot.contains(&name) && self.steps.step_of([name, id, ""], false, || holds)
        };
        let (Some(x), Some(y)) = (self.program.task(a.task), self.program.task(b.task)) else { return false };
        let is_in_place = |task: &Task| task.outputs.first().is_some_and(|out| task.inputs.contains(out));
        let space = self.program.buffer_at(a.buffer).map(|buffer| buffer.space);
        let paged = self.program.pages.as_ref().is_some_and(|pages| pages.hold(a.buffer));
        let distance = a.task.index().abs_diff(b.task.index());
        is("pair-in-one-queue", x.sm.is_some() && x.sm == y.sm)
            || is("pair-in-two-queues", x.sm.is_some() && y.sm.is_some() && x.sm != y.sm)
            || is("pair-unplaced", x.sm.is_none() && y.sm.is_none())
            || is("pair-with-in-place", is_in_place(x) || is_in_place(y))
            || is("pair-of-one-opcode", x.op == y.op)
            || is("pair-of-two-opcodes", x.op != y.op)
            || is("pair-of-one-counter", x.out == y.out)
            || is("pair-of-two-counters", x.out != y.out)
            || is("pair-of-neighbours", distance == 1)
            || is("pair-far-apart", distance > 1)
            || is("pair-in-list-order", a.task < b.task)
            || is("pair-against-list-order", a.task > b.task)
            || is("pair-on-chip", space.is_some_and(|space| space.is_on_chip()))
            || is("pair-in-scratch", space == Some(megakernel_ir::MemSpace::GlobalScratch))
            || is("pair-on-a-page", paged)
            || is("pair-at-first-input", a.operand == 0 && b.operand == 0)
            || is("pair-at-later-input", a.operand > 0 || b.operand > 0)
            || is("pair-of-whole-buffer", a.region == b.region)
            || is("pair-of-parts", a.region != b.region)
    }

    fn writes(&self, buffer: BufferId) -> impl Iterator<Item = &'a Access> {
        self.accesses.iter().filter(move |access| access.is_write && access.buffer == buffer)
    }

    /// The rules that rest on happens-before.
    pub fn ordered(&self, before: &Relation) {
        for read in self.accesses.iter().filter(|access| !access.is_write) {
            match self.kind(read.buffer) {
                kind @ (BufferKind::Activation | BufferKind::IoOutput) => {
                    if !self.steps.errs_of(["reads-unjudged", kind.name(), ""]) {
                        self.read(before, read);
                    }
                }
                BufferKind::KvCache => self.cache(before, read),
                kind => {
                    if self.steps.errs_of(["reads-of-the-host-judged", kind.name(), ""]) {
                        self.read(before, read);
                    }
                }
            }
        }
        self.writers(before);
    }

    fn read(&self, before: &Relation, read: &Access) {
        let steps = self.steps;
        let all: Vec<&Access> = self.writes(read.buffer).collect();
        let others = |own: bool, apart: bool| -> Vec<&Access> {
            let meets = |write: &&&Access| apart || meet(&write.region, &read.region).is_some();
            all.iter().filter(|write| own || write.task != read.task).filter(meets).copied().collect()
        };
        let writes = others(false, false);
        let is_earlier = |write: &Access| before.has(write.task, read.task);
        let is_later = |write: &Access| before.has(read.task, write.task);
        let produced = writes.iter().any(|write| is_earlier(write));
        let step = |name, right: bool, wrong: &dyn Fn() -> bool| steps.step(name, right, wrong);
        let produced =
            step("r02-unordered-writes-count", produced, &|| writes.iter().any(|write| !is_later(write)));
        let produced = step("r02-any-write-counts", produced, &|| !writes.is_empty());
        let produced = step("r02-earlier-in-the-list-counts", produced, &|| {
            writes.iter().any(|write| write.task < read.task || is_earlier(write))
        });
        let produced =
            step("r02-whatever-region", produced, &|| others(false, true).iter().any(|w| is_earlier(w)));
        let produced = step("r02-own-write-counts", produced, &|| {
            others(true, false).iter().any(|write| write.task == read.task || is_earlier(write))
        });
        let produced = step("r02-all-writes-have-to", produced, &|| {
            !writes.is_empty() && writes.iter().all(|write| is_earlier(write))
        });
        let produced =
            step("r02-first-write-has-to", produced, &|| writes.first().is_some_and(|w| is_earlier(w)));
        let produced =
            step("r02-last-write-has-to", produced, &|| writes.last().is_some_and(|w| is_earlier(w)));
        if !produced {
            let exempt = writes.iter().any(|write| self.exempt(Rule::R02, read, write));
            let alone = writes.is_empty() && steps.errs("r02-of-what-nobody-writes-unseen");
            if !exempt && !alone {
                self.found.report(Rule::R02);
            }
            if !steps.errs("m05-beside-r02") {
                return;
            }
        }
        for write in writes.iter().filter(|write| !is_earlier(write) && !is_later(write)) {
            let shared = meet(&write.region, &read.region).unwrap_or_default();
            let third = |keep: &dyn Fn(&Access) -> bool| {
                let thirds = all.iter().filter(|third| third.task != read.task && third.task != write.task);
                thirds.filter(|third| meet(&third.region, &shared).is_some()).any(|third| keep(third))
            };
            let both =
                |third: &Access| before.has(third.task, read.task) && before.has(third.task, write.task);
            let overwrites = third(&both);
            let overwrites =
                step("r05-third-before-the-reader", overwrites, &|| third(&|third| is_earlier(third)));
            let overwrites = step("r05-third-before-the-writer", overwrites, &|| {
                third(&|third| before.has(third.task, write.task))
            });
            let overwrites = step("r05-third-anywhere", overwrites, &|| {
                all.iter().any(|third| third.task != read.task && third.task != write.task && both(third))
            });
            let overwrites = step("r05-third-directly-listed-before", overwrites, &|| {
                third(&|third| both(third) && third.task < write.task && third.task < read.task)
            });
            let overwrites = step("r05-third-at-read", overwrites, &|| {
                all.iter().any(|third| {
                    third.task != write.task && meet(&third.region, &read.region).is_some() && both(third)
                })
            });
            let rule = if overwrites { Rule::R05 } else { Rule::R03 };
            if !self.exempt(rule, read, write) {
                self.found.report(rule);
            }
        }
        self.unwritten(before, read, &all);
    }

    /// M05.
    fn unwritten(&self, before: &Relation, read: &Access, all: &[&Access]) {
        let region = &read.region;
        let not_after = |write: &&&Access| write.task != read.task && !before.has(read.task, write.task);
        let regions = |keep: &dyn Fn(&&&Access) -> bool| -> Vec<&Region> {
            all.iter().filter(|write| keep(write)).map(|write| &write.region).collect()
        };
        let some = regions(&not_after);
        let good = covers(region, some.iter().copied());
        let step = |name, right: bool, wrong: &dyn Fn() -> bool| self.steps.step(name, right, wrong);
        let good = step("m05-later-writes-count", good, &|| {
            covers(region, regions(&|write| write.task != read.task).into_iter())
        });
        let good = step("m05-own-write-counts", good, &|| {
            covers(region, regions(&|write| write.task == read.task || not_after(write)).into_iter())
        });
        let good = step("m05-unordered-writes-missing", good, &|| {
            covers(region, regions(&|write| before.has(write.task, read.task)).into_iter())
        });
        let good = step("m05-hull-of-writes", good, &|| {
            hull(&some).is_some_and(|hull| covers(region, std::iter::once(&hull)))
        });
        let good = step("m05-sizes-added-up", good, &|| {
            some.iter().filter_map(|one| meet(one, region)).map(|one| size(&one)).sum::<i128>()
                >= size(region)
        });
        let good = step("m05-any-write", good, &|| some.iter().any(|one| meet(one, region).is_some()));
        let good = step("m05-one-write-has-to", good, &|| {
            some.iter().any(|one| covers(region, std::iter::once(*one)))
        });
        let flat = |axis: usize| {
            let cut = |region: &Region| region.get(axis).map_or_else(Region::new, |interval| vec![*interval]);
            let some: Vec<Region> = some.iter().map(|one| cut(one)).collect();
            covers(&cut(region), some.iter())
        };
        let good = step("m05-first-axis-only", good, &|| flat(0) && !some.is_empty());
        let good =
            step("m05-last-axis-only", good, &|| flat(region.len().saturating_sub(1)) && !some.is_empty());
        let good = step("m05-first-element-only", good, &|| {
            let first = region.iter().map(|[low, _]| [*low, low + 1]).collect();
            covers(&first, some.iter().copied())
        });
        let good = step("m05-last-element-only", good, &|| {
            let last = region.iter().map(|[_, high]| [high - 1, *high]).collect();
            covers(&last, some.iter().copied())
        });
        let good = step("m05-ends-only", good, &|| {
            let first = region.iter().map(|[low, _]| [*low, low + 1]).collect();
            let last = region.iter().map(|[_, high]| [high - 1, *high]).collect();
            covers(&first, some.iter().copied()) && covers(&last, some.iter().copied())
        });
        let good = step("m05-first-operand-only", good, &|| good || read.operand > 0);
        let kind = self.kind(read.buffer);
        let good = self.steps.step_of(["m05-of-kind-unjudged", kind.name(), ""], good, || true);
        self.found.require(Rule::M05, good);
    }

    /// R06.
    fn cache(&self, before: &Relation, read: &Access) {
        let steps = self.steps;
        let step = |name, right: bool, wrong: &dyn Fn() -> bool| steps.step(name, right, wrong);
        let all: Vec<&Access> = self.writes(read.buffer).collect();
        let is_own = |write: &Access| write.task == read.task;
        let has_own = all.iter().any(|write| is_own(write));
        for write in all.iter().filter(|write| !is_own(write)) {
            let Some(shared) = meet(&write.region, &read.region) else { continue };
            if self.exempt(Rule::R06, read, write) {
                continue;
            }
            if before.has(write.task, read.task) {
                continue;
            }
            if !before.has(read.task, write.task) {
                let race = step("r06-unordered-passed-over", true, &|| false);
                if race {
                    self.found.report(Rule::R06);
                }
                continue;
            }
            let earlier: Vec<&Region> = all
                .iter()
                .filter(|third| {
                    !is_own(third) && third.task != write.task && before.has(third.task, read.task)
                })
                .map(|third| &third.region)
                .collect();
            let fresh = covers(&shared, earlier.iter().copied());
            let fresh = step("r06-stale-reads-passed-over", fresh, &|| true);
            let fresh = step("r06-own-write-counts", fresh, &|| fresh || has_own);
            let fresh = step("r06-any-earlier-write-counts", fresh, &|| {
                earlier.iter().any(|third| meet(third, &shared).is_some())
            });
            let fresh = step("r06-earlier-write-anywhere-counts", fresh, &|| fresh || !earlier.is_empty());
            let fresh = step("r06-hull-of-writes", fresh, &|| {
                hull(&earlier).is_some_and(|hull| covers(&shared, std::iter::once(&hull)))
            });
            let fresh = step("r06-one-write-has-to-cover", fresh, &|| {
                earlier.iter().any(|third| covers(&shared, std::iter::once(*third)))
            });
            let fresh = step("r06-whole-read-has-to-be-covered", fresh, &|| {
                covers(&read.region, earlier.iter().copied())
            });
            let fresh = step("r06-every-later-write-refused", fresh, &|| false);
            if !fresh {
                self.found.report(Rule::R06);
            }
        }
    }

    /// R04.
    fn writers(&self, before: &Relation) {
        let writes: Vec<&Access> = self.accesses.iter().filter(|access| access.is_write).collect();
        for (index, b) in writes.iter().enumerate() {
            for a in writes.iter().take(index).filter(|a| a.buffer == b.buffer && a.task != b.task) {
                if before.orders(a.task, b.task) {
                    continue;
                }
                let kind = self.kind(a.buffer);
                let overlap = meet(&a.region, &b.region).is_some();
                let overlap = self.steps.step("r04-whatever-region", overlap, || true);
                let overlap =
                    self.steps.step("r04-same-region-only", overlap, || overlap && a.region == b.region);
                let overlap = self.steps.step("r04-same-begin-only", overlap, || {
                    overlap && a.region.iter().zip(&b.region).all(|(a, b)| a[0] == b[0])
                });
                let overlap = self.steps.step("r04-touching-counts", overlap, || {
                    a.region.iter().zip(&b.region).all(|(a, b)| a[0] <= b[1] && b[0] <= a[1])
                });
                let overlap = self.steps.step("r04-first-axis-only", overlap, || {
                    a.region.iter().zip(&b.region).take(1).all(|(a, b)| a[0] < b[1] && b[0] < a[1])
                });
                let overlap = self.steps.step("r04-last-axis-only", overlap, || {
                    a.region.iter().zip(&b.region).skip(1).all(|(a, b)| a[0] < b[1] && b[0] < a[1])
                });
                let overlap =
                    self.steps.step_of(["r04-of-kind-unjudged", kind.name(), ""], overlap, || false);
                if overlap && !self.exempt(Rule::R04, a, b) {
                    self.found.report(Rule::R04);
                }
            }
        }
    }

    /// M06.
    pub fn outputs(&self) {
        for (id, buffer) in self.program.buffers_by_id() {
            let regions: Vec<&Region> = self.writes(id).map(|write| &write.region).collect();
            let is_listed = self.program.tasks.iter().any(|task| task.writes(id));
            let kind = buffer.kind;
            let judged = kind == BufferKind::IoOutput;
            let others = !kind.is_read_only() && !judged;
            let judged = judged || others && self.steps.errs_of(["m06-of-other-kinds", kind.name(), ""]);
            if !judged || !is_listed {
                continue;
            }
            let whole: Region = buffer.shape.iter().map(|&extent| [0, i128::from(extent)]).collect();
            let good = covers(&whole, regions.iter().copied());
            let step = |name, right: bool, wrong: &dyn Fn() -> bool| self.steps.step(name, right, wrong);
            let good = step("m06-hull-of-writes", good, &|| {
                hull(&regions).is_some_and(|hull| covers(&whole, std::iter::once(&hull)))
            });
            let good = step("m06-sizes-added-up", good, &|| {
                regions.iter().map(|one| size(one)).sum::<i128>() >= size(&whole)
            });
            let good = step("m06-any-write", good, &|| !regions.is_empty());
            let good = step("m06-one-write-has-to", good, &|| {
                regions.iter().any(|one| covers(&whole, std::iter::once(*one)))
            });
            let good = step("m06-last-element-only", good, &|| {
                let last = whole.iter().map(|[_, high]| [high - 1, *high]).collect();
                covers(&last, regions.iter().copied())
            });
            let good = step("m06-first-element-only", good, &|| {
                let first = whole.iter().map(|[low, _]| [*low, low + 1]).collect();
                covers(&first, regions.iter().copied())
            });
            let good = step("m06-last-axis-only", good, &|| {
                let axis = whole.len().saturating_sub(1);
                let cut =
                    |region: &Region| region.get(axis).map_or_else(Region::new, |interval| vec![*interval]);
                let some: Vec<Region> = regions.iter().map(|one| cut(one)).collect();
                covers(&cut(&whole), some.iter())
            });
            let good = step("m06-writes-at-the-begin-missing", good, &|| {
                covers(&whole, regions.iter().copied().skip(1))
            });
            self.found.require(Rule::M06, good);
        }
    }

    /// R07.
    pub fn on_chip(&self) {
        for (id, buffer) in self.program.buffers_by_id() {
            let space = buffer.space;
            let judged = space.is_on_chip();
            let judged = self.steps.step_of(["r07-of-space-turned", space.name(), ""], judged, || !judged);
            if !judged {
                continue;
            }
            let sms = |inputs: bool, outputs: bool| -> Vec<i64> {
                let lists = |task: &&Task| inputs && task.reads(id) || outputs && task.writes(id);
                self.program.tasks.iter().filter(lists).filter_map(|task| task.sm).collect()
            };
            let alike = |sms: Vec<i64>| sms.windows(2).all(|pair| pair[0] == pair[1]);
            let good = alike(sms(true, true));
            let good = self.steps.step("r07-readers-only", good, || alike(sms(true, false)));
            let good = self.steps.step("r07-writers-only", good, || alike(sms(false, true)));
            let good = self
                .steps
                .step("r07-first-two-only", good, || alike(sms(true, true).into_iter().take(2).collect()));
            let good = self.steps.step("r07-first-and-last-only", good, || {
                let all = sms(true, true);
                all.first() == all.last()
            });
            let good = self.steps.step("r07-unplaced-tasks-refused", good, || {
                let users = self.program.tasks.iter().filter(|task| task.uses(id));
                let sms: Vec<_> = users.map(|task| task.sm).collect();
                sms.windows(2).all(|pair| pair[0] == pair[1])
            });
            self.found.require(Rule::R07, good);
        }
    }
}
