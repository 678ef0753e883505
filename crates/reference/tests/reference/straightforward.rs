//! The straightforward validator of the rules that need happens-before: a set of ancestors per task, and every pair of
//! accesses of every buffer. Quadratic in time and memory. It is what the real one is compared with, in verdicts by a
//! test and in time by the benchmark; of the real one it shares the opcodes' footprints and nothing else.

use std::collections::BTreeSet;

use megakernel_ir::model::Program;
use megakernel_ir::{BufferKind, Rule};
use megakernel_reference::opcodes::{self, InPlace, Operands, Problems};
use megakernel_reference::region::Region;

/// Broken rules and where; P01 by page.
pub type Found = BTreeSet<(Rule, String)>;

struct Access {
    task: usize,
    writes: bool,
    region: Region,
    pointer: String,
}

/// R02 to R06, M05 and P01 of a program that breaks neither an S rule nor D03; nothing where it has a cycle.
pub fn judge(program: &Program<'_>) -> Option<Found> {
    let ancestors = Ancestors::new(program)?;
    let mut accesses: Vec<Vec<Access>> = program.buffers.iter().map(|_| Vec::new()).collect();
    for (index, task) in program.tasks.iter().enumerate() {
        let operands = Operands::new(program, task);
        let op = opcodes::op(task.op);
        let mut problems = Problems::new();
        op.shapes(&operands, &mut problems);
        let whole = |id: i64| Region::of(&program.buffers[id as usize]);
        let mut push = |id: i64, writes, region: Option<Region>, pointer: String| {
            let region = if problems.is_empty() { region } else { Some(whole(id)) };
            if let Some(region) = region.filter(|region| !region.is_empty()) {
                accesses[id as usize].push(Access { task: index, writes, region, pointer });
            }
        };
        for (position, &id) in task.inputs.iter().enumerate() {
            if !op.accesses(position) {
                continue;
            }
            push(id, false, op.reads(&operands, position), format!("/tasks/{index}/inputs/{position}"));
        }
        for (position, &id) in task.outputs.iter().enumerate() {
            push(id, true, op.writes(&operands, position), format!("/tasks/{index}/outputs/{position}"));
        }
    }
    let mut found = Found::new();
    for (buffer, accesses) in program.buffers.iter().zip(&accesses) {
        match buffer.kind {
            kind if kind.is_read_only() => continue,
            BufferKind::KvCache => cache_reads(accesses, &ancestors, &mut found),
            _ => reads(accesses, &ancestors, &mut found),
        }
        writes(accesses, &ancestors, &mut found);
    }
    pages(program, &ancestors, &mut found);
    Some(found)
}

/// A bit set of ancestors per task.
struct Ancestors(Vec<Vec<u64>>);

impl Ancestors {
    fn new(program: &Program<'_>) -> Option<Ancestors> {
        let mut producers: Vec<Vec<usize>> = program.counters.iter().map(|_| Vec::new()).collect();
        for (index, task) in program.tasks.iter().enumerate() {
            producers[task.out_counter as usize].push(index);
        }
        let count = program.tasks.len();
        let mut sets: Vec<Vec<u64>> = vec![Vec::new(); count];
        let mut state = vec![0u8; count];
        for root in 0..count {
            let mut stack = vec![root];
            while let Some(&task) = stack.last() {
                if state[task] == 2 {
                    stack.pop();
                    continue;
                }
                let before =
                    || program.tasks[task].waits.iter().flat_map(|wait| &producers[wait.counter as usize]);
                if state[task] == 0 {
                    state[task] = 1;
                    if before().any(|&producer| state[producer] == 1) {
                        return None;
                    }
                    stack.extend(before().filter(|&&producer| state[producer] == 0));
                    continue;
                }
                let mut set = vec![0u64; count.div_ceil(64)];
                for &producer in before() {
                    set[producer / 64] |= 1 << (producer % 64);
                    set.iter_mut().zip(&sets[producer]).for_each(|(set, other)| *set |= other);
                }
                sets[task] = set;
                state[task] = 2;
                stack.pop();
            }
        }
        Some(Ancestors(sets))
    }

    fn before(&self, a: usize, b: usize) -> bool {
        self.0[b][a / 64] & (1 << (a % 64)) != 0
    }

    fn unordered(&self, a: usize, b: usize) -> bool {
        a != b && !self.before(a, b) && !self.before(b, a)
    }
}

fn without(region: Region, writes: impl Iterator<Item = Region>) -> Vec<Region> {
    writes.fold(vec![region], |rest, write| rest.iter().flat_map(|part| part.minus(&write)).collect())
}

fn overlapping<'a>(accesses: &'a [Access], read: &'a Access) -> impl Iterator<Item = &'a Access> + Clone {
    accesses.iter().filter(|w| w.writes && w.task != read.task && w.region.overlaps(&read.region))
}

fn reads(accesses: &[Access], order: &Ancestors, found: &mut Found) {
    for read in accesses.iter().filter(|access| !access.writes) {
        let writers = || overlapping(accesses, read);
        if !writers().any(|write| order.before(write.task, read.task)) {
            found.insert((Rule::R02, read.pointer.clone()));
            continue;
        }
        for write in writers().filter(|write| order.unordered(write.task, read.task)) {
            let shared = read.region.intersection(&write.region);
            let overwrites = writers().any(|earlier| {
                earlier.region.overlaps(&shared)
                    && order.before(earlier.task, read.task)
                    && order.before(earlier.task, write.task)
            });
            let (rule, at) = if overwrites { (Rule::R05, write) } else { (Rule::R03, read) };
            found.insert((rule, at.pointer.clone()));
        }
        let written =
            writers().filter(|write| !order.before(read.task, write.task)).map(|write| write.region);
        if !without(read.region, written).is_empty() {
            found.insert((Rule::M05, read.pointer.clone()));
        }
    }
}

fn cache_reads(accesses: &[Access], order: &Ancestors, found: &mut Found) {
    for read in accesses.iter().filter(|access| !access.writes) {
        let broken = overlapping(accesses, read).any(|write| {
            let shared = read.region.intersection(&write.region);
            let earlier = overlapping(accesses, read).filter(|earlier| order.before(earlier.task, read.task));
            order.unordered(read.task, write.task)
                || order.before(read.task, write.task)
                    && !without(shared, earlier.map(|earlier| earlier.region)).is_empty()
        });
        if broken {
            found.insert((Rule::R06, read.pointer.clone()));
        }
    }
}

fn writes(accesses: &[Access], order: &Ancestors, found: &mut Found) {
    for later in accesses.iter().filter(|access| access.writes) {
        let races = overlapping(accesses, later)
            .any(|earlier| earlier.task < later.task && order.unordered(earlier.task, later.task));
        if races {
            found.insert((Rule::R04, later.pointer.clone()));
        }
    }
}

fn pages(program: &Program<'_>, order: &Ancestors, found: &mut Found) {
    let Some(allocation) = &program.pages else { return };
    let uses = |buffer: i64| -> Vec<usize> {
        let lists = |task: &megakernel_ir::model::Task<'_>| {
            task.inputs.contains(&buffer) || task.outputs.contains(&buffer)
        };
        (0..program.tasks.len()).filter(|&task| lists(&program.tasks[task])).collect()
    };
    let bound: Vec<(i64, i64, Vec<usize>)> = allocation
        .buffer_to_page
        .0
        .iter()
        .filter(|(buffer, page)| {
            (*buffer as usize) < program.buffers.len()
                && (*page as usize) < allocation.pages.len()
                && *page >= 0
        })
        .map(|&(buffer, page)| (buffer, page, uses(buffer)))
        .collect();
    for (index, (first, page, first_uses)) in bound.iter().enumerate() {
        for (second, other_page, second_uses) in &bound[index + 1..] {
            let precedes = |a: i64, a_uses: &[usize], b: i64, b_uses: &[usize]| {
                a_uses.iter().all(|&x| {
                    b_uses.iter().all(|&y| order.before(x, y) || x == y && hands_over(program, x, a, b))
                })
            };
            if page == other_page
                && !precedes(*first, first_uses, *second, second_uses)
                && !precedes(*second, second_uses, *first, first_uses)
            {
                found.insert((Rule::P01, format!("page {page}")));
            }
        }
    }
}

fn hands_over(program: &Program<'_>, task: usize, from: i64, to: i64) -> bool {
    let task = &program.tasks[task];
    let (from_buffer, to_buffer) = (&program.buffers[from as usize], &program.buffers[to as usize]);
    let elementwise = (0..task.inputs.len())
        .all(|i| task.inputs[i] != from || opcodes::in_place(task.op, i) == InPlace::Allowed);
    elementwise
        && task.inputs.contains(&from)
        && !task.inputs.contains(&to)
        && task.outputs.contains(&to)
        && !task.outputs.contains(&from)
        && from_buffer.shape == to_buffer.shape
        && from_buffer.dtype.bits() == to_buffer.dtype.bits()
}
