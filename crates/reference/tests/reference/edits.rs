//! Single edits of a program, each with the rules that it has to break: what the edit does, and what is known of the
//! program, decide; the validator is not asked.

use std::collections::BTreeSet;

use megakernel_ir::model::{Counter, Program, Text, Wait};
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::{MemSpace, Rule};

use super::random::WAITS;
use super::random::model::Model;

/// The kinds of edits.
pub const EDITS: [Edit; 13] = [
    ("drops a wait", drop_wait),
    ("lowers a threshold", lower_threshold),
    ("raises a threshold", raise_threshold),
    ("waits for its own descendant", back_edge),
    ("waits for itself", self_wait),
    ("waits for nobody", no_producer),
    ("swaps a task and its producer in a queue", swap_in_queue),
    ("moves to an SM that does not exist", no_sm),
    ("shrinks a page", shrink_page),
    ("binds a buffer to a missing page", missing_page),
    ("moves a page to another space", other_space),
    ("binds a buffer to another's page", rebind),
    ("binds the cache to a page", bind_cache),
];

/// What an edit does, and how it does it: on a program of which all is known, it gives back the rules that break, or nothing
/// where there is no place for it.
pub type Edit = (&'static str, fn(&mut Program<'_>, &Model, &mut SplitMix64) -> Option<BTreeSet<Rule>>);

fn set<const N: usize>(rules: [Rule; N]) -> Option<BTreeSet<Rule>> {
    Some(BTreeSet::from(rules))
}

/// One of the things that fit, at random.
fn one_of<T>(all: impl Iterator<Item = T>, rng: &mut SplitMix64) -> Option<T> {
    let mut all: Vec<T> = all.collect();
    (!all.is_empty()).then(|| all.swap_remove(rng.index(all.len())))
}

fn waits(model: &Model) -> impl Iterator<Item = (usize, usize)> + '_ {
    model
        .tasks
        .iter()
        .enumerate()
        .flat_map(|(task, known)| (0..known.waits.len()).map(move |wait| (task, wait)))
}

fn wait(counter: usize, threshold: usize) -> Wait<'static> {
    Wait { counter: counter as i64, threshold: threshold as i64, extra: Vec::new() }
}

/// Who then conflicts without an order says which rules break; perhaps nobody does.
fn drop_wait(program: &mut Program<'_>, model: &Model, rng: &mut SplitMix64) -> Option<BTreeSet<Rule>> {
    let (task, index) = one_of(waits(model), rng)?;
    program.tasks[task].waits.remove(index);
    let mut model = model.clone();
    model.tasks[task].waits.remove(index);
    Some(model.broken())
}

fn lower_threshold(program: &mut Program<'_>, model: &Model, rng: &mut SplitMix64) -> Option<BTreeSet<Rule>> {
    let producers = model.producers();
    let many = waits(model).filter(|&(task, wait)| producers[model.tasks[task].waits[wait]].len() > 1);
    let (task, wait) = one_of(many, rng)?;
    let all = producers[model.tasks[task].waits[wait]].len();
    program.tasks[task].waits[wait].threshold = 1 + rng.index(all - 1) as i64;
    set([Rule::R01])
}

fn raise_threshold(program: &mut Program<'_>, model: &Model, rng: &mut SplitMix64) -> Option<BTreeSet<Rule>> {
    let (task, wait) = one_of(waits(model), rng)?;
    program.tasks[task].waits[wait].threshold += 1 + rng.index(3) as i64;
    set([Rule::D02])
}

/// With a cycle there is no order, and the rules that need one are silent. If the descendant stands in the same queue, it
/// stands behind, so that the queue contradicts the wait as well. Other producers of the counter may close a cycle with the queues.
fn back_edge(program: &mut Program<'_>, model: &Model, rng: &mut SplitMix64) -> Option<BTreeSet<Rule>> {
    let (before, producers) = (model.before(), model.producers());
    let tasks = || 0..model.tasks.len();
    let free = tasks().filter(|&task| model.tasks[task].waits.len() < WAITS);
    let pairs = free.flat_map(|task| {
        let later = tasks().filter(|&later| before.has(task, later));
        later.map(|later| (task, model.tasks[later].out)).collect::<Vec<_>>()
    });
    let own = |task: usize| model.tasks[task].out;
    let (task, counter) = one_of(pairs.filter(|&(task, counter)| counter != own(task)), rng)?;
    let producers = &producers[counter];
    program.tasks[task].waits.push(wait(counter, producers.len()));
    let mut waiting = model.clone();
    waiting.tasks[task].waits.push(counter);
    let mut broken = BTreeSet::from([Rule::D04]);
    if producers.iter().any(|&producer| model.is_behind(producer, task)) {
        broken.insert(Rule::D05);
    }
    // All cycles of waits go through the new one.
    let up_to = |a: usize, b: usize| a == b || before.has(a, b);
    let is_on_cycle = |a: usize| up_to(task, a) && producers.iter().any(|&producer| up_to(a, producer));
    let is_left_out = |a: usize, b: usize| model.is_behind(a, b) || is_on_cycle(a) && is_on_cycle(b);
    let mut kept = producers.iter().filter(|&&producer| !is_left_out(producer, task));
    if kept.any(|&producer| waiting.leads(task, producer, is_left_out)) {
        broken.insert(Rule::D06);
    }
    Some(broken)
}

fn self_wait(program: &mut Program<'_>, model: &Model, rng: &mut SplitMix64) -> Option<BTreeSet<Rule>> {
    let free = (0..model.tasks.len()).filter(|&task| model.tasks[task].waits.len() < WAITS);
    let task = one_of(free, rng)?;
    let counter = model.tasks[task].out;
    program.tasks[task].waits.push(wait(counter, model.producers()[counter].len()));
    set([Rule::D03])
}

fn no_producer(program: &mut Program<'_>, model: &Model, rng: &mut SplitMix64) -> Option<BTreeSet<Rule>> {
    let free = (0..model.tasks.len()).filter(|&task| model.tasks[task].waits.len() < WAITS);
    let task = one_of(free, rng)?;
    let id = program.counters.len();
    program.counters.push(Counter { id: id as i64, init: 0, note: Text::from(""), extra: Vec::new() });
    program.tasks[task].waits.push(wait(id, 1));
    set([Rule::D01])
}

/// The two are neighbours in their queue, so that no other task changes its place. If the edge is not the only way from
/// the one to the other, the other way closes a cycle with the queue, too.
fn swap_in_queue(program: &mut Program<'_>, model: &Model, rng: &mut SplitMix64) -> Option<BTreeSet<Rule>> {
    let tasks = &model.tasks;
    let next = |task: usize| {
        let sm = tasks[task].sm?;
        (task + 1..tasks.len()).find(|&other| tasks[other].sm == Some(sm))
    };
    let pairs = (0..tasks.len()).filter_map(|task| Some((task, next(task)?)));
    let (first, second) = one_of(pairs.filter(|&(a, b)| tasks[b].waits.contains(&tasks[a].out)), rng)?;
    program.tasks.swap(first, second);
    program.tasks[first].id = first as i64;
    program.tasks[second].id = second as i64;
    let mut swapped = model.clone();
    swapped.tasks.swap(first, second);
    // The producer stands second now.
    let is_left_out = |a: usize, b: usize| swapped.is_behind(a, b);
    if swapped.leads(second, first, is_left_out) { set([Rule::D05, Rule::D06]) } else { set([Rule::D05]) }
}

fn no_sm(program: &mut Program<'_>, model: &Model, rng: &mut SplitMix64) -> Option<BTreeSet<Rule>> {
    let task = rng.index(model.tasks.len());
    program.tasks[task].sm = Some(-1);
    set([Rule::D07])
}

fn on_page(model: &Model) -> impl Iterator<Item = (usize, usize)> + '_ {
    model.pages.iter().enumerate().filter_map(|(buffer, page)| Some((buffer, (*page)?)))
}

fn shrink_page(program: &mut Program<'_>, model: &Model, rng: &mut SplitMix64) -> Option<BTreeSet<Rule>> {
    let (_, page) = one_of(on_page(model), rng)?;
    let page = &mut program.pages.as_mut()?.pages[page];
    page.nbytes = 1 + rng.index(page.nbytes as usize - 1) as i64;
    set([Rule::P02])
}

fn missing_page(program: &mut Program<'_>, model: &Model, rng: &mut SplitMix64) -> Option<BTreeSet<Rule>> {
    let (buffer, _) = one_of(on_page(model), rng)?;
    let pages = program.pages.as_mut()?;
    let missing = pages.pages.len() as i64;
    pages
        .buffer_to_page
        .0
        .iter_mut()
        .filter(|(id, _)| *id == buffer as i64)
        .for_each(|entry| entry.1 = missing);
    set([Rule::P03])
}

fn other_space(program: &mut Program<'_>, model: &Model, rng: &mut SplitMix64) -> Option<BTreeSet<Rule>> {
    let (_, page) = one_of(on_page(model), rng)?;
    program.pages.as_mut()?.pages[page].space = MemSpace::GlobalScratch;
    set([Rule::P05])
}

/// The page is made large enough: it is the order that decides.
fn bind(program: &mut Program<'_>, model: &Model, buffer: usize, page: usize) -> Option<BTreeSet<Rule>> {
    let pages = program.pages.as_mut()?;
    pages.buffer_to_page.0.retain(|&(id, _)| id != buffer as i64);
    pages.buffer_to_page.0.push((buffer as i64, page as i64));
    pages.pages[page].nbytes = 1 << 20;
    let mut model = model.clone();
    model.pages[buffer] = Some(page);
    Some(model.broken())
}

fn rebind(program: &mut Program<'_>, model: &Model, rng: &mut SplitMix64) -> Option<BTreeSet<Rule>> {
    let (other, page) = one_of(on_page(model), rng)?;
    let is_written = |buffer: usize| {
        model
            .tasks
            .iter()
            .flat_map(|task| &task.accesses)
            .any(|access| access.buffer == buffer && access.writes)
    };
    let is_output = |buffer: usize| program.buffers[buffer].kind != megakernel_ir::BufferKind::Activation;
    let buffers = (0..model.buffers.len())
        .filter(|&buffer| buffer != other && is_written(buffer) && !is_output(buffer));
    let buffer = one_of(buffers, rng)?;
    bind(program, model, buffer, page)
}

fn bind_cache(program: &mut Program<'_>, model: &Model, rng: &mut SplitMix64) -> Option<BTreeSet<Rule>> {
    let (_, page) = one_of(on_page(model), rng)?;
    let cache = model.buffers.iter().position(|&(_, _, is_cache)| is_cache)?;
    let mut rules = bind(program, model, cache, page)?;
    rules.insert(Rule::P04);
    Some(rules)
}
