//! The rules KS, KQ and KI.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use megakernel_ir::Rule;
use megakernel_selection::document::{EPILOGUE, Extent};
use megakernel_selection::{Fault, Index, Kernel, Options, Rational, Rows, Sequence};

use crate::rows::MOST_ALIGNED;

/// The largest extent.
const MOST: i64 = 2_147_483_647;
const ALIGNED: i64 = MOST_ALIGNED as i64;

/// KS of a sequence.
pub fn sequence(sequence: &Sequence, at: &str, found: &mut Vec<Fault>) {
    for (id, op) in sequence.ops.iter().enumerate() {
        let at = format!("{at}/ops/{id}");
        rows(&op.rows, &at, found);
    }
}

fn rows(rows: &Rows, at: &str, found: &mut Vec<Fault>) {
    for (role, extent) in &rows.shape {
        if let Extent::Known(extent) = extent {
            range(*extent, 1, MOST, || format!("{at}/shape/{}", token(role)), found);
        }
    }
    if rows.dtype_in.is_some() != rows.dtype_out.is_some() {
        found.push(Fault::new(
            Rule::KS04,
            format!("{at}/dtype"),
            "found one of `in` and `out`, required both or neither",
        ));
    }
    set(&rows.flags, || format!("{at}/effects/flags"), found);
    set(&rows.storage_reads, || format!("{at}/effects/reads"), found);
    set(&rows.storage_writes, || format!("{at}/effects/writes"), found);
    for (name, number) in [("required", rows.required), ("offered", rows.offered)] {
        if let Some(number) = number {
            range(number, 1, ALIGNED, || format!("{at}/requirements/{name}"), found);
        }
    }
}

/// KS of an index.
pub fn index(index: &Index, at: &str, found: &mut Vec<Fault>) {
    for (number, kernel) in index.kernels.iter().enumerate() {
        self::kernel(kernel, &format!("{at}/kernels/{number}"), found);
    }
}

fn kernel(kernel: &Kernel, at: &str, found: &mut Vec<Fault>) {
    if kernel.stages.is_empty() {
        found.push(Fault::new(
            Rule::KS05,
            format!("{at}/stages"),
            "the kernel has no stage, required one or more",
        ));
    }
    for (number, stage) in kernel.stages.iter().enumerate() {
        let chain = stage.chain.as_deref().unwrap_or_default();
        for (place, &position) in chain.iter().enumerate() {
            range(position, 0, 255, || format!("{at}/stages/{number}/chain/{place}"), found);
        }
        set(chain, || format!("{at}/stages/{number}/chain"), found);
    }
    let asked = &kernel.constraints;
    for (role, given) in &asked.shape {
        for (name, number) in
            [("min", Some(given.min)), ("max", given.max), ("multiple", Some(given.multiple))]
        {
            if let Some(number) = number {
                range(number, 1, MOST, || format!("{at}/shape/{}/{name}", token(role)), found);
            }
        }
    }
    let dtypes =
        [("in", &asked.dtype_in), ("out", &asked.dtype_out), ("acc", &asked.acc), ("weight", &asked.weight)];
    for (name, list) in dtypes {
        set(list.as_deref().unwrap_or_default(), || format!("{at}/dtype/{name}"), found);
    }
    for (name, list) in [("order", &asked.order), ("pack", &asked.pack), ("trans", &asked.trans)] {
        set(list.as_deref().unwrap_or_default(), || format!("{at}/layout/{name}"), found);
    }
    set(asked.allow.as_deref().unwrap_or_default(), || format!("{at}/epilogue/allow"), found);
    set(&asked.require, || format!("{at}/epilogue/require"), found);
    set(asked.activation.as_deref().unwrap_or_default(), || format!("{at}/epilogue/activation"), found);
    set(&asked.effects, || format!("{at}/effects"), found);
    for (name, number, most) in [("align", asked.align, ALIGNED), ("vector", asked.vector, 4096)] {
        if let Some(number) = number {
            range(number, 1, most, || format!("{at}/requirements/{name}"), found);
        }
    }
    rational(&kernel.cost.fixed, false, || format!("{at}/cost/fixed"), found);
    for (name, terms) in [("bytes", &kernel.cost.bytes), ("flops", &kernel.cost.flops)] {
        for (number, term) in terms.iter().enumerate() {
            rational(&term.times, false, || format!("{at}/cost/{name}/{number}/times"), found);
        }
    }
}

/// KS of options.
pub fn options(options: &Options, at: &str, found: &mut Vec<Fault>) {
    for (name, number) in [("limit", options.limit), ("beam", options.beam)] {
        range(number, 1, 4096, || format!("{at}/options/{name}"), found);
    }
    if let Some(machine) = &options.machine {
        for (name, text) in [("gbs", &machine.gbs), ("tflops", &machine.tflops)] {
            rational(text, true, || format!("{at}/options/machine/{name}"), found);
        }
    }
}

fn range(number: i64, least: i64, most: i64, at: impl Fn() -> String, found: &mut Vec<Fault>) {
    if !(least..=most).contains(&number) {
        found.push(Fault::new(Rule::KS01, at(), format!("found {number}, required {least} to {most}")));
    }
}

fn rational(text: &str, positive: bool, at: impl Fn() -> String, found: &mut Vec<Fault>) {
    let number = Rational::parse(text);
    if number.as_ref().is_none_or(|number| positive && number.is_zero()) {
        let required = if positive { "a rational number above 0" } else { "a rational number" };
        let message = format!("found `{text}`, required {required}, such as 209.5 or 419/2");
        found.push(Fault::new(Rule::KS02, at(), message));
    }
}

fn set<T: Eq + Hash>(entries: &[T], at: impl Fn() -> String, found: &mut Vec<Fault>) {
    let mut seen = HashSet::new();
    if let Some(second) = entries.iter().position(|entry| !seen.insert(entry)) {
        found.push(Fault::new(
            Rule::KS03,
            format!("{}/{second}", at()),
            "the entry stands there before; name it once",
        ));
    }
}

fn token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// KQ.
pub fn computable(sequence: &Sequence, at: &str, found: &mut Vec<Fault>) {
    let mut written: HashMap<u32, usize> = HashMap::new();
    let mut readers: HashMap<u32, Vec<i64>> = HashMap::new();
    let mut wrong: HashSet<u32> = HashSet::new();
    for (id, op) in sequence.ops.iter().enumerate() {
        for (place, write) in op.writes.iter().enumerate() {
            if let Some(first) = written.get(&write.value) {
                let message = format!("op {first} writes the value too");
                let at = format!("{at}/ops/{id}/writes/{place}/value");
                found.push(Fault::new(Rule::KQ02, at, message).shown_by([*first, id], []));
                wrong.insert(write.value);
            } else {
                written.insert(write.value, id);
            }
        }
    }
    for (id, op) in sequence.ops.iter().enumerate() {
        for (place, value) in op.reads.iter().enumerate() {
            if let Some(&writer) = written.get(value)
                && writer >= id
            {
                let message = format!("op {writer} writes the value, which is not before op {id}");
                let at = format!("{at}/ops/{id}/reads/{place}");
                found.push(Fault::new(Rule::KQ01, at, message).shown_by([id, writer], []));
                wrong.insert(*value);
            }
            let list = readers.entry(*value).or_default();
            let id = i64::try_from(id).unwrap_or(i64::MAX);
            if list.last() != Some(&id) {
                list.push(id);
            }
        }
    }
    for (id, op) in sequence.ops.iter().enumerate() {
        for (place, write) in op.writes.iter().enumerate() {
            let actual = readers.get(&write.value).map(Vec::as_slice).unwrap_or_default();
            if write.readers != actual && !wrong.contains(&write.value) {
                let message = format!("found {:?}, required {actual:?}, the ops that read it", write.readers);
                let readers = actual.iter().filter_map(|&reader| usize::try_from(reader).ok());
                let at = format!("{at}/ops/{id}/writes/{place}/readers");
                found.push(Fault::new(Rule::KQ03, at, message).shown_by(readers.chain([id]), []));
            }
        }
        if let (Some(required), Some(offered)) = (op.rows.required, op.rows.offered)
            && offered.checked_rem(required) != Some(0)
        {
            let message = format!("{offered} is no multiple of {required}");
            let at = format!("{at}/ops/{id}/requirements");
            found.push(Fault::new(Rule::KQ04, at, message).shown_by([id], []));
        }
    }
}

/// KI.
pub fn choosable(index: &Index, at: &str, found: &mut Vec<Fault>) {
    let mut ids = HashSet::new();
    for (number, kernel) in index.kernels.iter().enumerate() {
        let at = format!("{at}/kernels/{number}");
        if !ids.insert(&kernel.id) {
            found.push(Fault::new(
                Rule::KI01,
                format!("{at}/id"),
                format!("another kernel is called `{}`", kernel.id),
            ));
        }
        if let Some(stage) = ambiguous(kernel) {
            let message = "the stage can come where another one of its class can".to_owned();
            found.push(Fault::new(Rule::KI02, format!("{at}/stages/{stage}"), message));
        }
        contradictions(kernel, &at, found);
    }
}

/// A stage that can come where an earlier one of its class can.
fn ambiguous(kernel: &Kernel) -> Option<usize> {
    let stages = &kernel.stages;
    let next = |from: usize| {
        let optional = stages.iter().skip(from).take_while(|stage| stage.optional).count();
        from..(from + optional + 1).min(stages.len())
    };
    let twice = |from: usize| {
        let mut seen = HashSet::new();
        next(from).find(|&stage| stages.get(stage).is_some_and(|stage| !seen.insert(&stage.class)))
    };
    (0..stages.len()).filter_map(twice).min()
}

fn contradictions(kernel: &Kernel, at: &str, found: &mut Vec<Fault>) {
    let asked = &kernel.constraints;
    let mut empty = |is_empty: bool, name: &str| {
        if is_empty {
            let message = "the array is empty: nothing meets the constraint".to_owned();
            found.push(Fault::new(Rule::KI03, format!("{at}/{name}"), message));
        }
    };
    let dtypes =
        [("in", &asked.dtype_in), ("out", &asked.dtype_out), ("acc", &asked.acc), ("weight", &asked.weight)];
    for (name, list) in dtypes {
        empty(list.as_ref().is_some_and(Vec::is_empty), &format!("dtype/{name}"));
    }
    for (name, list) in [("order", &asked.order), ("pack", &asked.pack), ("trans", &asked.trans)] {
        empty(list.as_ref().is_some_and(Vec::is_empty), &format!("layout/{name}"));
    }
    empty(asked.activation.as_ref().is_some_and(Vec::is_empty), "epilogue/activation");
    for (role, range) in &asked.shape {
        let most = range.max.unwrap_or(MOST);
        if most / range.multiple.max(1) * range.multiple < range.min {
            let message = format!("no multiple of {} is from {} to {most}", range.multiple, range.min);
            found.push(Fault::new(Rule::KI03, format!("{at}/shape/{}", token(role)), message));
        }
    }
    if let Some(allow) = &asked.allow
        && let Some(&flag) = asked.require.iter().find(|flag| !allow.contains(flag))
    {
        let name = EPILOGUE.get(flag).copied().unwrap_or_default();
        let message = format!("`{name}` is required and not allowed");
        found.push(Fault::new(Rule::KI03, format!("{at}/epilogue/require"), message));
    }
}
