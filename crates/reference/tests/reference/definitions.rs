//! The rules that need happens-before, judged a second time straight from their definitions: every pair of accesses,
//! element by element, with the transitive closure of the edges. So are D04 to D06, edge by edge. On random small programs both have to
//! report the same rules at the same places.

use std::collections::BTreeSet;

use megakernel_ir::Rule;
use megakernel_ir::diagnostic::{Before, Witness};
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::rule::Class;
use megakernel_reference::validate::{Classes, validate};
use megakernel_test_support::part;
use serde_json::{Value, json};

/// Elements of every shared buffer: four, whichever axis a tile cuts.
const ELEMENTS: usize = 4;

/// A task of the model: what it reads and writes, as sets of elements, and its place in the counters.
struct Model {
    out: usize,
    waits: Vec<usize>,
    reads: Vec<(usize, BTreeSet<usize>, String)>,
    writes: Vec<(usize, BTreeSet<usize>, String)>,
}

struct Program {
    document: Value,
    tasks: Vec<Model>,
    kv: Vec<bool>,
    page: Vec<Option<usize>>,
    in_place: Vec<bool>,
}

/// Buffers 0 and 1 are inputs, 2 to 4 activations of shape [1, 4], 5 a cache of 4 rows, 6 and 7 constants.
fn random_program(rng: &mut SplitMix64) -> Program {
    let buffer = |id: usize, kind: &str, shape: Value| json!({"id": id, "name": format!("b{id}"), "kind": kind, "dtype": "F32", "shape": shape});
    let buffers = json!([
        buffer(0, "IO_INPUT", json!([1, 1])),
        buffer(1, "IO_INPUT", json!([1, 4])),
        buffer(2, "ACTIVATION", json!([1, 4])),
        buffer(3, "ACTIVATION", json!([1, 4])),
        buffer(4, "ACTIVATION", json!([1, 4])),
        buffer(5, "KV_CACHE", json!([4, 1, 1])),
        buffer(6, "CONST", json!([4, 1])),
        buffer(7, "ACTIVATION", json!([1, 1])),
    ]);
    let count = 2 + rng.index(6);
    let whole: BTreeSet<usize> = (0..ELEMENTS).collect();
    let (mut tasks, mut models, mut in_place) = (Vec::new(), Vec::new(), Vec::new());
    let mut counters = 0;
    for id in 0..count {
        if counters == 0 || rng.index(4) > 0 {
            counters += 1;
        }
        let out = counters - 1;
        let mut waits: Vec<usize> = (0..rng.index(3)).filter(|_| out > 0).map(|_| rng.index(out)).collect();
        waits.sort_unstable();
        waits.dedup();
        let start = rng.index(ELEMENTS);
        let length = 1 + rng.index(ELEMENTS - start);
        let tile: BTreeSet<usize> = (start..start + length).collect();
        let (read, write) = (2 + rng.index(3), 2 + rng.index(3));
        let at = |list: &str, position: usize| format!("/tasks/{id}/{list}/{position}");
        let (op, inputs, output, params, reads, writes, elementwise) = match rng.index(7) {
            0 => (
                "GEMV_TILE",
                json!([0, 6]),
                write,
                json!({"K": 1, "N_tile": length, "n_off": start}),
                vec![],
                vec![(write, tile, at("outputs", 0))],
                false,
            ),
            1 => (
                "COPY",
                json!([1]),
                write,
                json!({}),
                vec![],
                vec![(write, whole.clone(), at("outputs", 0))],
                true,
            ),
            2 => (
                "KV_APPEND",
                json!([0, 5]),
                5,
                json!({"pos": start}),
                vec![],
                vec![(5, BTreeSet::from([start]), at("outputs", 0))],
                false,
            ),
            3 => (
                "ATTENTION_TILE",
                json!([0, 5, 5]),
                7,
                json!({"head_dim": 1, "kv_start": start, "kv_len": length, "scale": 1.0, "n_heads": 1, "n_kv_heads": 1}),
                vec![(5, tile.clone(), at("inputs", 1)), (5, tile, at("inputs", 2))],
                vec![(7, BTreeSet::from([0]), at("outputs", 0))],
                false,
            ),
            4 => (
                "GELU",
                json!([5]),
                5,
                json!({}),
                vec![(5, whole.clone(), at("inputs", 0))],
                vec![(5, whole.clone(), at("outputs", 0))],
                true,
            ),
            _ => (
                "COPY",
                json!([read]),
                write,
                json!({}),
                vec![(read, whole.clone(), at("inputs", 0))],
                vec![(write, whole.clone(), at("outputs", 0))],
                true,
            ),
        };
        let wait_records: Vec<Value> =
            waits.iter().map(|counter| json!({"counter": counter, "threshold": 1})).collect();
        tasks.push(json!({"id": id, "op": op, "inputs": inputs, "outputs": [output], "out_counter": out, "waits": wait_records, "params": params}));
        models.push(Model { out, waits, reads, writes });
        in_place.push(elementwise);
    }
    let page: Vec<Option<usize>> = (0..8)
        .map(|buffer| (2..5).contains(&buffer).then(|| rng.index(3)).filter(|&page| page < 2))
        .collect();
    let mapping: serde_json::Map<String, Value> = page
        .iter()
        .enumerate()
        .filter_map(|(buffer, page)| Some((buffer.to_string(), json!((*page)?))))
        .collect();
    let pages: Vec<Value> = (0..2).map(|id| json!({"id": id, "space": "HBM", "nbytes": 16})).collect();
    let document = json!({
        "ir_version": "0.2.0", "abi_version": "0.2", "buffers": buffers,
        "counters": (0..counters).map(|id| json!({"id": id})).collect::<Vec<_>>(),
        "tasks": tasks, "pages": {"buffer_to_page": mapping, "pages": pages},
    });
    let kv = (0..8).map(|buffer| buffer == 5).collect();
    Program { document, tasks: models, kv, page, in_place }
}

/// `before[a][b]`: a happens before b.
fn closure(tasks: &[Model]) -> Vec<Vec<bool>> {
    let count = tasks.len();
    let edge = |a: usize, b: usize| a != b && tasks[b].waits.contains(&tasks[a].out);
    let mut before: Vec<Vec<bool>> = (0..count).map(|a| (0..count).map(|b| edge(a, b)).collect()).collect();
    for middle in 0..count {
        for a in 0..count {
            for b in 0..count {
                before[a][b] |= before[a][middle] && before[middle][b];
            }
        }
    }
    before
}

type Found = BTreeSet<(Rule, String)>;

/// Buffer, elements and pointer of an access.
type ModelAccess = (usize, BTreeSet<usize>, String);

/// The rules by their definitions.
fn judge(program: &Program) -> Found {
    let before = closure(&program.tasks);
    let unordered = |a: usize, b: usize| a != b && !before[a][b] && !before[b][a];
    let mut found = Found::new();
    let all = |list: fn(&Model) -> &Vec<ModelAccess>| {
        program
            .tasks
            .iter()
            .enumerate()
            .flat_map(move |(task, model)| list(model).iter().map(move |access| (task, access)))
    };
    for (reader, (buffer, elements, at)) in all(|model| &model.reads) {
        let writers: Vec<(usize, &BTreeSet<usize>)> = all(|model| &model.writes)
            .filter(|(writer, (other, written, _))| {
                *writer != reader && other == buffer && !written.is_disjoint(elements)
            })
            .map(|(writer, (_, written, _))| (writer, written))
            .collect();
        if program.kv[*buffer] {
            let broken = writers.iter().any(|&(writer, written)| {
                let stale = elements.intersection(written).any(|element| {
                    !writers
                        .iter()
                        .any(|(earlier, others)| others.contains(element) && before[*earlier][reader])
                });
                unordered(writer, reader) || before[reader][writer] && stale
            });
            if broken {
                found.insert((Rule::R06, at.clone()));
            }
            continue;
        }
        if !writers.iter().any(|&(writer, _)| before[writer][reader]) {
            found.insert((Rule::R02, at.clone()));
            continue;
        }
        let mut races = false;
        for &(writer, written) in writers.iter().filter(|(writer, _)| unordered(*writer, reader)) {
            let shared: BTreeSet<usize> = elements.intersection(written).copied().collect();
            let overwritten = writers.iter().any(|(earlier, others)| {
                !others.is_disjoint(&shared) && before[*earlier][reader] && before[*earlier][writer]
            });
            if overwritten {
                let (_, _, place) =
                    program.tasks[writer].writes.iter().find(|(b, ..)| b == buffer).expect("it writes");
                found.insert((Rule::R05, place.clone()));
            }
            races |= !overwritten;
        }
        if races {
            found.insert((Rule::R03, at.clone()));
        }
        let missing = elements.iter().any(|element| {
            !writers.iter().any(|(writer, written)| written.contains(element) && !before[reader][*writer])
        });
        if missing {
            found.insert((Rule::M05, at.clone()));
        }
    }
    for (later, (buffer, elements, at)) in all(|model| &model.writes) {
        let races = all(|model| &model.writes).any(|(earlier, (other, written, _))| {
            earlier < later && other == buffer && !written.is_disjoint(elements) && unordered(earlier, later)
        });
        if races {
            found.insert((Rule::R04, at.clone()));
        }
    }
    for first in 2..5 {
        for second in first + 1..5 {
            if program.page[first].is_some() && program.page[first] == program.page[second] {
                let clobbers =
                    !precedes(program, &before, first, second) && !precedes(program, &before, second, first);
                if clobbers {
                    found.insert((Rule::P01, String::new()));
                }
            }
        }
    }
    found
}

/// Whether every access of one buffer happens before every access of another.
fn precedes(program: &Program, before: &[Vec<bool>], first: usize, second: usize) -> bool {
    let reads =
        |task: usize, buffer: usize| program.tasks[task].reads.iter().any(|access| access.0 == buffer);
    let writes =
        |task: usize, buffer: usize| program.tasks[task].writes.iter().any(|access| access.0 == buffer);
    let uses = |task: usize, buffer: usize| reads(task, buffer) || writes(task, buffer);
    let tasks = 0..program.tasks.len();
    tasks.clone().filter(|&a| uses(a, first)).all(|a| {
        tasks.clone().filter(|&b| uses(b, second)).all(|b| {
            let hands_over = program.in_place[a]
                && reads(a, first)
                && !writes(a, first)
                && writes(a, second)
                && !reads(a, second);
            before[a][b] || a == b && hands_over
        })
    })
}

#[test]
fn both_judges_agree_on_random_programs() {
    let classes = [Class::RACE, Class::PAGES, Class::MEMORY_SAFETY];
    let considered = [Rule::R02, Rule::R03, Rule::R04, Rule::R05, Rule::R06, Rule::P01, Rule::M05];
    let mut seen: std::collections::BTreeMap<Option<Rule>, usize> = std::collections::BTreeMap::new();
    for seed in 0..part::share(4, 40_000) {
        let program = random_program(&mut SplitMix64::new(seed));
        let expected = judge(&program);
        let verdict = validate(program.document.to_string().as_bytes(), Classes::ALL);
        assert!(
            !verdict.diagnostics.iter().any(|d| d.rule.class() == Class::STRUCTURE),
            "{:?}",
            verdict.diagnostics
        );
        let found: Found = verdict
            .diagnostics
            .iter()
            .filter(|d| classes.contains(&d.rule.class()) && considered.contains(&d.rule))
            .map(|d| (d.rule, if d.rule == Rule::P01 { String::new() } else { d.pointer.clone() }))
            .collect();
        assert_eq!(found, expected, "seed {seed}: {}", program.document);
        for rule in considered.into_iter().filter(|&rule| found.iter().any(|(other, _)| *other == rule)) {
            *seen.entry(Some(rule)).or_default() += 1;
        }
        if found.is_empty() {
            *seen.entry(None).or_default() += 1;
        }
    }
    // Every rule was broken, and accepted programs occurred, often enough to mean something.
    assert_eq!(seen.len(), considered.len() + 1, "{seen:?}");
    assert!(seen.values().all(|&count| count > part::share(4, 100)), "{seen:?}");
}

/// The tasks of a program of NOPs: the counter that each increments, those that it waits on, and its SM.
struct Nops {
    out: Vec<usize>,
    waits: Vec<Vec<usize>>,
    sm: Vec<Option<usize>>,
}

impl Nops {
    /// Few counters for the tasks, so that most have several producers, and few SMs.
    fn random(rng: &mut SplitMix64) -> Nops {
        let (count, counters) = (6 + rng.index(5), 3 + rng.index(6));
        let (sms, odds) = (2 + rng.index(3), 1 + rng.index(4));
        let out = (0..count).map(|_| rng.index(counters)).collect();
        let sm = (0..count).map(|_| Some(rng.index(sms)).filter(|_| rng.index(8) > 0)).collect();
        let waits = (0..count).map(|_| (0..counters).filter(|_| rng.index(24) < odds).collect());
        Nops { out, waits: waits.collect(), sm }
    }

    fn document(&self) -> Value {
        let counters = 1 + self.out.iter().chain(self.waits.iter().flatten()).max().expect("there are tasks");
        let task = |id: usize| {
            let waits: Vec<Value> =
                self.waits[id].iter().map(|counter| json!({"counter": counter, "threshold": 1})).collect();
            json!({"id": id, "op": "NOP", "inputs": [], "outputs": [], "out_counter": self.out[id], "waits": waits, "sm": self.sm[id]})
        };
        json!({
            "ir_version": "0.2.0", "abi_version": "0.2", "buffers": [],
            "counters": (0..counters).map(|id| json!({"id": id})).collect::<Vec<_>>(),
            "tasks": (0..self.out.len()).map(task).collect::<Vec<_>>(),
        })
    }

    /// `edges[a][b]`: b waits on a counter that a produces and b does not.
    fn edges(&self) -> Vec<Vec<bool>> {
        let edge = |a: usize, b: usize| self.waits[b].contains(&self.out[a]) && self.out[b] != self.out[a];
        self.pairs(edge)
    }

    fn pairs(&self, holds: impl Fn(usize, usize) -> bool) -> Vec<Vec<bool>> {
        let count = self.out.len();
        (0..count).map(|a| (0..count).map(|b| holds(a, b)).collect()).collect()
    }

    /// Whether the first stands before the second in a queue.
    fn stands_before(&self, a: usize, b: usize) -> bool {
        self.sm[a].is_some() && self.sm[a] == self.sm[b] && a < b
    }

    /// The dependency edges of D06.
    fn kept(&self) -> Vec<Vec<bool>> {
        let edges = self.edges();
        let reached = reach(edges.clone());
        self.pairs(|a, b| edges[a][b] && !self.stands_before(b, a) && !(reached[a][b] && reached[b][a]))
    }

    /// D04 to D06 by their definitions.
    fn judge(&self) -> Found {
        let edges = self.edges();
        let mut found = cycles(&reach(edges.clone()), Rule::D04);
        let breaks_d05 = self.pairs(|a, b| edges[a][b] && self.stands_before(b, a));
        let consumers = (0..self.out.len()).filter(|&b| breaks_d05.iter().any(|of_a| of_a[b]));
        found.extend(consumers.map(|consumer| (Rule::D05, format!("/tasks/{consumer}"))));
        let kept = self.kept();
        let all = self.pairs(|a, b| kept[a][b] || self.stands_before(a, b));
        found.extend(cycles(&reach(all), Rule::D06));
        found
    }
}

/// The transitive closure.
fn reach(mut edges: Vec<Vec<bool>>) -> Vec<Vec<bool>> {
    let count = edges.len();
    for middle in 0..count {
        for a in 0..count {
            for b in 0..count {
                edges[a][b] |= edges[a][middle] && edges[middle][b];
            }
        }
    }
    edges
}

/// The lowest of each set of tasks that all reach each other.
fn cycles(reached: &[Vec<bool>], rule: Rule) -> Found {
    let both = |a: usize, b: usize| reached[a][b] && reached[b][a];
    let lowest = (0..reached.len()).filter(|&a| (0..a).all(|b| !both(a, b)));
    lowest
        .filter(|&a| (a + 1..reached.len()).any(|b| both(a, b)))
        .map(|a| (rule, format!("/tasks/{a}")))
        .collect()
}

#[test]
fn both_judges_agree_on_queues_of_random_programs() {
    let considered = [Rule::D04, Rule::D05, Rule::D06];
    let mut seen: std::collections::BTreeMap<BTreeSet<Rule>, usize> = std::collections::BTreeMap::new();
    for seed in 0..part::share(4, 100_000) {
        let program = Nops::random(&mut SplitMix64::new(seed));
        let document = program.document();
        let verdict = validate(document.to_string().as_bytes(), Classes::ALL);
        assert!(!verdict.diagnostics.iter().any(|d| d.rule.class() == Class::STRUCTURE), "{document}");
        let diagnostics = || verdict.diagnostics.iter().filter(|d| considered.contains(&d.rule));
        let found: Found = diagnostics().map(|d| (d.rule, d.pointer.clone())).collect();
        assert_eq!(found, program.judge(), "seed {seed}: {document}");
        // Each step of a cycle that is named has its reason.
        let kept = program.kept();
        for diagnostic in diagnostics().filter(|diagnostic| diagnostic.rule == Rule::D06) {
            let steps = match &diagnostic.witness {
                Some(Witness::Cycle { steps }) => &steps[..],
                _ => &[],
            };
            assert!(steps.len() > 1, "seed {seed}: {document}");
            for (step, next) in steps.iter().zip(steps.iter().cycle().skip(1)) {
                let (a, b) = (step.task.index(), next.task.index());
                let holds = match step.then {
                    Before::Counter(counter) => counter.index() == program.out[a] && kept[a][b],
                    Before::Queue(sm) => {
                        program.sm[a].is_some_and(|a| a as i64 == sm) && program.stands_before(a, b)
                    }
                };
                assert!(holds, "seed {seed}: {steps:?} in {document}");
            }
        }
        *seen.entry(found.iter().map(|(rule, _)| *rule).collect()).or_default() += 1;
    }
    // Whatever is broken together, and nothing at all.
    assert_eq!(seen.len(), 8, "{seen:?}");
    assert!(seen.values().all(|&count| count > part::share(4, 800)), "{seen:?}");
}

/// Copies that nothing orders turn buffers of one page into others, in any order of their numbers: whatever the sorting of these
/// buffers begins with, they are still in use by one task when another one uses the next.
#[test]
fn many_buffers_of_a_page_that_tasks_turn_into_each_other_are_put_in_order() {
    const PAIRS: usize = 24;
    for seed in 0..40 {
        let mut rng = SplitMix64::new(seed);
        let mut order: Vec<usize> = (0..2 * PAIRS).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, rng.index(last + 1));
        }
        let buffers: Vec<Value> = (0..2 * PAIRS)
            .map(|id| json!({"id": id, "name": format!("b{id}"), "kind": "ACTIVATION", "dtype": "F32", "shape": [4]}))
            .collect();
        let tasks: Vec<Value> = (0..PAIRS)
            .map(|id| json!({"id": id, "op": "COPY", "inputs": [order[2 * id]], "outputs": [order[2 * id + 1]], "out_counter": id}))
            .collect();
        let mapping: serde_json::Map<String, Value> =
            (0..2 * PAIRS).map(|id| (id.to_string(), json!(0))).collect();
        let document = json!({
            "ir_version": "0.2.0", "abi_version": "0.2", "buffers": buffers,
            "counters": (0..PAIRS).map(|id| json!({"id": id})).collect::<Vec<_>>(), "tasks": tasks,
            "pages": {"buffer_to_page": mapping, "pages": [{"id": 0, "space": "HBM", "nbytes": 16}]},
        });
        let verdict = validate(document.to_string().as_bytes(), Classes::ALL);
        let count = |rule: Rule| verdict.diagnostics.iter().filter(|found| found.rule == rule).count();
        // All that is read was never written; and between the buffers of one task and those of the next there is no order.
        assert_eq!((count(Rule::R02), count(Rule::P01)), (PAIRS, PAIRS - 1), "seed {seed}: {document}");
    }
}

/// All writes of the first half are unordered with those of the second half, and there are too many to look at each: R04 is about the
/// later write of a pair, of which none is among the first.
#[test]
fn of_a_hundred_thousand_writes_that_race_some_are_named() {
    const TILES: usize = 66_000;
    let task = |id: usize| {
        let params = json!({"K": 1, "N_tile": 1, "n_off": id % TILES});
        json!({"id": id, "op": "GEMV_TILE", "inputs": [0, 1], "outputs": [2], "out_counter": id / TILES, "params": params})
    };
    let document = json!({
        "ir_version": "0.2.0", "abi_version": "0.2",
        "buffers": [
            {"id": 0, "name": "x", "kind": "IO_INPUT", "dtype": "F32", "shape": [1, 1]},
            {"id": 1, "name": "w", "kind": "WEIGHT", "dtype": "F32", "shape": [TILES, 1]},
            {"id": 2, "name": "y", "kind": "IO_OUTPUT", "dtype": "F32", "shape": [1, TILES]},
        ],
        "counters": [{"id": 0}, {"id": 1}],
        "tasks": (0..2 * TILES).map(task).collect::<Vec<_>>(),
    });
    let verdict = validate(document.to_string().as_bytes(), Classes::ALL);
    let found: BTreeSet<Rule> = verdict.diagnostics.iter().map(|found| found.rule).collect();
    assert_eq!(found, BTreeSet::from([Rule::R04]));
}
