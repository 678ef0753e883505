//! What the host binds to which buffer, and what is left from launch to launch: tensors by `source`, caches by name whatever their
//! ids, other weights, inputs and tasks in a later launch, buffers of one name. Small integers, so that every result is known.

use std::collections::BTreeMap;
use std::sync::Arc;

use megakernel_ir::rule::{Clause, clause};
use serde_json::{Value, json};

use super::super::numeric::Values;
use super::super::numeric::data::reals;
use super::super::plan::{Inputs, Launch, Plan};
use crate::builder::{Buf, Ctr, DType, Error, Kind, Op, Program, ProgramBuilder, Result, Space, slug};

/// The family.
pub const FAMILY: &str = "execution/binding";

/// What every buffer has, but for new rows, which have half of it.
const SHAPE: [u64; 3] = [2, 1, 2];

/// What caches hold, by name.
type Caches = BTreeMap<String, Vec<f64>>;

/// One launch on its way: the program so far, and what each buffer holds.
struct Sketch<'c> {
    dtype: DType,
    p: ProgramBuilder,
    held: Vec<Vec<f64>>,
    /// Of buffers that bind another tensor than that of their name.
    sources: Vec<(Buf, Value)>,
    results: Vec<(Buf, String)>,
    tensors: Inputs,
    /// Each task waits for the one before.
    last: Option<Ctr>,
    caches: &'c mut Caches,
    listed: Vec<(Buf, String)>,
    is_first: bool,
}

impl Sketch<'_> {
    fn buffer(&mut self, name: &str, kind: Kind, held: Vec<f64>) -> Buf {
        let shape = if held.len() == 2 { vec![1, 1, 2] } else { SHAPE.to_vec() };
        self.held.push(held);
        self.p.buffer(name, kind, self.dtype, &shape, Space::Hbm)
    }

    /// A tensor of the launch's file.
    fn tensor(&mut self, name: &str, values: &[f64]) {
        let shape = if values.len() == 2 { vec![1, 1, 2] } else { SHAPE.to_vec() };
        self.tensors.insert(name.to_owned(), reals(self.dtype, &shape, values.to_vec()));
    }

    fn input(&mut self, name: &str, values: &[f64]) -> Buf {
        self.tensor(name, values);
        self.buffer(name, Kind::IoInput, values.to_vec())
    }

    /// A WEIGHT or CONST that is bound to the tensor `source`, or to that of its name.
    fn model(&mut self, kind: Kind, name: &str, source: Option<&str>, values: &[f64]) -> Buf {
        self.tensor(source.unwrap_or(name), values);
        let buffer = self.buffer(name, kind, values.to_vec());
        self.sources.push((buffer, json!(source)));
        buffer
    }

    /// A cache; `given` is what a file of this launch has for it.
    fn cache(&mut self, name: &str, given: Option<&[f64]>) -> Buf {
        if let Some(given) = given {
            self.tensor(name, given);
        }
        let bound = given.filter(|_| self.is_first).map_or(vec![0.0; 4], <[f64]>::to_vec);
        let held = self.caches.get(name).cloned().unwrap_or(bound);
        let buffer = self.buffer(name, Kind::KvCache, held);
        self.listed.push((buffer, name.to_owned()));
        buffer
    }

    fn act(&mut self, name: &str) -> Buf {
        self.buffer(name, Kind::Activation, vec![0.0; 4])
    }

    fn output(&mut self, name: &str) -> Buf {
        let buffer = self.buffer(name, Kind::IoOutput, vec![0.0; 4]);
        self.results.push((buffer, name.to_owned()));
        buffer
    }

    fn of(&self, buffer: Buf) -> Vec<f64> {
        self.held.get(buffer.0).cloned().unwrap_or_default()
    }

    fn task(&mut self, op: Op, inputs: &[Buf], output: Buf, pos: Option<u64>, made: Vec<f64>) {
        let mut task = self.p.task(op).reads(inputs).writes(&[output]);
        if let Some(last) = self.last {
            task = task.after(&[last]);
        }
        if let Some(pos) = pos {
            task = task.param("pos", pos);
        }
        self.last = Some(task.add());
        if let Some(held) = self.held.get_mut(output.0) {
            *held = made;
        }
    }

    fn copy(&mut self, from: Buf, to: Buf) {
        let made = self.of(from);
        self.task(Op::Copy, &[from], to, None, made);
    }

    fn add(&mut self, a: Buf, b: Buf, to: Buf) {
        let made = self.of(a).iter().zip(self.of(b)).map(|(a, b)| a + b).collect();
        self.task(Op::Add, &[a, b], to, None, made);
    }

    fn mul(&mut self, a: Buf, b: Buf, to: Buf) {
        let made = self.of(a).iter().zip(self.of(b)).map(|(a, b)| a * b).collect();
        self.task(Op::Mul, &[a, b], to, None, made);
    }

    /// Writes `new` into row `pos` of a cache, and the cache into an output.
    fn append(&mut self, new: Buf, cache: Buf, pos: usize, output: Buf) {
        let (mut made, row) = (self.of(cache), self.of(new));
        made.iter_mut().skip(2 * pos).zip(row).for_each(|(element, new)| *element = new);
        self.task(Op::KvAppend, &[new, cache], cache, Some(pos as u64), made);
        self.copy(cache, output);
    }

    fn finish(self, path: String) -> (Program, Launch) {
        let mut launch = Launch::of(&path, self.tensors);
        for (buffer, name) in self.results.iter().chain(&self.listed) {
            let held = self.held.get(buffer.0).cloned().unwrap_or_default();
            launch.known.insert(name.clone(), Values::Reals(held));
        }
        for (buffer, name) in &self.listed {
            let held = self.held.get(buffer.0).cloned().unwrap_or_default();
            self.caches.insert(name.clone(), held);
        }
        let mut value = self.p.finish().value().clone();
        for (buffer, source) in self.sources {
            value["buffers"][buffer.0]["source"] = source;
        }
        (Program::new(value), launch)
    }
}

/// A session: how many launches, and what makes each of them.
type Make = fn(&mut Sketch<'_>, usize);

/// The cases.
pub fn plans() -> Result<Vec<Plan>> {
    let bound: &[Clause] = &[clause::EXE_08];
    let lasting: &[Clause] = &[clause::EXE_08, clause::EXE_09];
    let sessions: [(&str, &str, &[Clause], usize, Make); 17] = [
        ("crossed", "weights and constants with each other's names as sources", bound, 1, crossed),
        (
            "elsewhere",
            "sources that are names of inputs, beside tensors with the names of the weights",
            bound,
            1,
            elsewhere,
        ),
        ("constants", "constants with sources, beside tensors of their names", bound, 1, constants),
        ("tied", "several buffers with one source", bound, 1, tied),
        ("renumbered", "caches in another order and with other ids in each launch", lasting, 3, renumbered),
        ("unlisted", "a launch does not list a cache that a later one lists again", lasting, 4, unlisted),
        (
            "late",
            "a later launch is the first to list a cache, and has a tensor for it: it begins with zeros",
            lasting,
            3,
            late,
        ),
        ("rebound", "every launch has tensors for the caches: those of the first count", lasting, 3, rebound),
        (
            "cache-and-input",
            "an input and a weight bound by the name of a cache: later tensors of that name are theirs alone",
            lasting,
            3,
            cache_and_input,
        ),
        ("other-weights", "other weights and constants in each launch", lasting, 3, other_weights),
        ("other-tasks", "other tasks in each launch", lasting, 3, other_tasks),
        ("long-31", "names and sources that differ behind 31 bytes", bound, 2, |s, launch| {
            long(s, launch, 31)
        }),
        ("long-63", "names and sources that differ behind 63 bytes", bound, 2, |s, launch| {
            long(s, launch, 63)
        }),
        ("long-255", "names and sources that differ behind 255 bytes", bound, 2, |s, launch| {
            long(s, launch, 255)
        }),
        (
            "odd-names",
            "names and sources that are empty, or hold NUL, quotes and letters beyond ASCII",
            bound,
            2,
            odd_names,
        ),
        (
            "idle-sources",
            "sources of inputs, outputs, caches and activations, which bind nothing",
            lasting,
            2,
            idle_sources,
        ),
        ("namesakes", "buffers of one name: activations, an input, a weight, an output", bound, 2, namesakes),
    ];
    let mut plans = Vec::new();
    for (name, about, clauses, launches, make) in sessions {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            plans.push(session(name, about, clauses, launches, make, dtype)?);
        }
    }
    Ok(plans)
}

fn session(
    name: &str,
    about: &str,
    clauses: &[Clause],
    count: usize,
    make: Make,
    dtype: DType,
) -> Result<Plan> {
    let name = format!("{name}-{}", slug(dtype.name()));
    let mut caches = Caches::new();
    let mut programs = Vec::new();
    let mut launches: Vec<Launch> = Vec::new();
    for index in 0..count {
        let mut sketch = Sketch {
            dtype,
            p: ProgramBuilder::new("binding"),
            held: Vec::new(),
            sources: Vec::new(),
            results: Vec::new(),
            tensors: Inputs::new(),
            last: None,
            caches: &mut caches,
            listed: Vec::new(),
            is_first: index == 0,
        };
        make(&mut sketch, index);
        let (program, mut launch) = sketch.finish(format!("tensors/{FAMILY}/{name}.{index}.safetensors"));
        if index > 0 {
            let replaced =
                |list: &str| Ok(json!({"op": "replace", "path": list, "value": program.at(list)?}));
            launch.edit =
                ["/buffers", "/counters", "/tasks"].map(replaced).into_iter().collect::<Result<_>>()?;
        }
        programs.push(program);
        launches.push(launch);
    }
    let program = programs.into_iter().next().ok_or_else(|| Error(format!("{name} has no launch")))?;
    Ok(Plan {
        id: format!("{FAMILY}/{name}"),
        family: FAMILY.to_owned(),
        summary: format!("{about}, in {}", dtype.name()),
        clauses: clauses.to_vec(),
        path: format!("programs/{FAMILY}/{name}.json"),
        program: Arc::new(program),
        launches,
        weights: None,
    })
}

fn crossed(s: &mut Sketch<'_>, _: usize) {
    let x = s.input("x", &[1.0, 2.0, 3.0, 4.0]);
    let p = s.model(Kind::Weight, "p", Some("q"), &[5.0, 6.0, 7.0, 8.0]);
    let q = s.model(Kind::Weight, "q", Some("p"), &[-1.0, 3.0, -2.0, 9.0]);
    let r = s.model(Kind::Const, "r", Some("t"), &[2.0, 2.0, 3.0, 3.0]);
    let t = s.model(Kind::Const, "t", Some("r"), &[4.0, -4.0, 1.0, -1.0]);
    let [sum, product, out, last] = ["sum", "product", "out", "last"].map(|name| s.output(name));
    s.add(x, p, sum);
    s.mul(x, q, product);
    s.mul(sum, r, out);
    s.add(product, t, last);
}

fn elsewhere(s: &mut Sketch<'_>, _: usize) {
    // The input and the weight are bound to one tensor.
    let x = s.input("layers.0.w", &[1.0, -2.0, 3.0, -4.0]);
    let w = s.model(Kind::Weight, "w", Some("layers.0.w"), &[1.0, -2.0, 3.0, -4.0]);
    let u = s.model(Kind::Weight, "u", Some("layers.1.w"), &[2.0, 5.0, -3.0, 1.0]);
    let c = s.model(Kind::Const, "c", None, &[7.0, 1.0, 2.0, 3.0]);
    s.tensor("w", &[9.0, 9.0, 8.0, 8.0]);
    s.tensor("u", &[6.0, 7.0, 6.0, 7.0]);
    let [sum, product] = ["sum", "product"].map(|name| s.output(name));
    let act = s.act("act");
    s.mul(x, w, act);
    s.add(act, u, sum);
    s.mul(sum, c, product);
}

fn constants(s: &mut Sketch<'_>, _: usize) {
    let x = s.input("x", &[3.0, 1.0, -1.0, 2.0]);
    let w = s.model(Kind::Weight, "w", None, &[1.0, 2.0, 2.0, 5.0]);
    let c = s.model(Kind::Const, "c", Some("rope.cos"), &[2.0, 4.0, 6.0, -8.0]);
    let d = s.model(Kind::Const, "d", Some("rope.sin"), &[-3.0, 1.0, 5.0, 7.0]);
    s.tensor("c", &[1.0; 4]);
    s.tensor("d", &[-1.0; 4]);
    let [y, z] = ["y", "z"].map(|name| s.output(name));
    let act = s.act("act");
    s.add(x, w, act);
    s.mul(act, c, y);
    s.add(act, d, z);
}

fn tied(s: &mut Sketch<'_>, _: usize) {
    let table = [2.0, -3.0, 5.0, 1.0];
    let x = s.input("x", &[1.0, 2.0, -1.0, 4.0]);
    let embed = s.model(Kind::Weight, "embed", Some("tok"), &table);
    let head = s.model(Kind::Weight, "head", Some("tok"), &table);
    let table = s.model(Kind::Const, "table", Some("tok"), &table);
    let [y, z] = ["y", "z"].map(|name| s.output(name));
    let act = s.act("act");
    s.add(x, embed, act);
    s.mul(act, head, y);
    s.add(y, table, z);
}

/// Rows that differ from launch to launch and from cache to cache.
fn row(launch: usize, cache: usize) -> [f64; 2] {
    [(10 * launch + 3 * cache + 1) as f64, -((7 * launch + cache + 2) as f64)]
}

/// What the tensor of a cache holds.
fn preset(cache: usize) -> [f64; 4] {
    [20, 21, 22, 23].map(|value| (value + 4 * cache) as f64)
}

fn renumbered(s: &mut Sketch<'_>, launch: usize) {
    let names = ["k", "v", "w"];
    let order = [[0, 1, 2], [2, 0, 1], [1, 2, 0]].get(launch).copied().unwrap_or([0; 3]);
    let mut outputs = Vec::new();
    // Other buffers stand between them, so that no id is what it was.
    if launch == 1 {
        outputs.extend(["out-k", "out-v", "out-w"].map(|name| s.output(name)));
    }
    let mut caches = vec![Buf(0); 3];
    for place in order {
        let given = preset(place);
        let name = names.get(place).copied().unwrap_or_default();
        let cache = s.cache(name, (launch == 0).then_some(&given[..]));
        caches.iter_mut().skip(place).take(1).for_each(|slot| *slot = cache);
    }
    if launch != 1 {
        outputs.extend(["out-k", "out-v", "out-w"].map(|name| s.output(name)));
    }
    for (place, (cache, output)) in caches.into_iter().zip(outputs).enumerate() {
        let new = s.input(&format!("new-{place}"), &row(launch, place));
        s.append(new, cache, (launch + place) % 2, output);
    }
}

fn unlisted(s: &mut Sketch<'_>, launch: usize) {
    for (place, name) in ["k", "v"].into_iter().enumerate() {
        // The second and third launch list one cache each, the fourth both.
        if matches!((launch, place), (1, 0) | (2, 1)) {
            continue;
        }
        let given = preset(place);
        let cache = s.cache(name, (launch == 0).then_some(&given[..]));
        let new = s.input(&format!("new-{name}"), &row(launch, place));
        let output = s.output(&format!("out-{name}"));
        s.append(new, cache, launch % 2, output);
    }
}

fn late(s: &mut Sketch<'_>, launch: usize) {
    for (place, name) in ["k", "v", "w"].into_iter().enumerate().take(launch + 1) {
        let given = preset(place);
        let cache = s.cache(name, (launch == place).then_some(&given[..]));
        let new = s.input(&format!("new-{name}"), &row(launch, place));
        let output = s.output(&format!("out-{name}"));
        s.append(new, cache, (launch + place) % 2, output);
    }
}

fn rebound(s: &mut Sketch<'_>, launch: usize) {
    for (place, name) in ["k", "v"].into_iter().enumerate() {
        let given = preset(place + 2 * launch);
        let cache = s.cache(name, Some(&given));
        let new = s.input(&format!("new-{name}"), &row(launch, place));
        let output = s.output(&format!("out-{name}"));
        s.append(new, cache, 0, output);
    }
}

fn cache_and_input(s: &mut Sketch<'_>, launch: usize) {
    let given = preset(launch);
    let cache = s.cache("k", Some(&given));
    let x = s.input("k", &given);
    let w = s.model(Kind::Weight, "w", Some("k"), &given);
    let new = s.input("new", &row(launch, 0));
    let [out, before, after] = ["out", "before", "after"].map(|name| s.output(name));
    s.copy(x, before);
    s.append(new, cache, launch % 2, out);
    s.add(w, cache, after);
}

fn other_weights(s: &mut Sketch<'_>, launch: usize) {
    let by = launch as f64;
    let x = s.input("x", &[1.0, 2.0, 3.0, 4.0]);
    let w = s.model(Kind::Weight, "w", Some("layer.w"), &[2.0 + by, -3.0 * by, 4.0, 5.0 - by]);
    let c = s.model(Kind::Const, "c", None, &[by, 1.0, 2.0 - by, 7.0]);
    let [y, z] = ["y", "z"].map(|name| s.output(name));
    s.mul(x, w, y);
    s.add(x, c, z);
}

fn other_tasks(s: &mut Sketch<'_>, launch: usize) {
    let by = launch as f64;
    let a = s.input("a", &[1.0 + by, 2.0, 3.0, 4.0]);
    let b = s.input("b", &[5.0, 6.0 - by, 7.0, 8.0]);
    let [y, z] = ["y", "z"].map(|name| s.output(name));
    match launch {
        0 => {
            s.add(a, b, y);
            s.copy(a, z);
        }
        1 => {
            s.mul(a, b, z);
            s.copy(b, y);
        }
        _ => {
            let act = s.act("act");
            s.mul(a, a, act);
            s.add(act, b, y);
            s.mul(act, b, z);
        }
    }
}

fn namesakes(s: &mut Sketch<'_>, launch: usize) {
    let by = launch as f64;
    let x = s.input("x", &[1.0 + by, 2.0, -3.0, 4.0]);
    let same = s.input("x", &[1.0 + by, 2.0, -3.0, 4.0]);
    let w = s.model(Kind::Weight, "x", Some("w"), &[3.0, 5.0 - by, 2.0, -1.0]);
    let [first, second, third] = ["a", "a", "y"].map(|name| s.act(name));
    let [y, z] = ["y", "z"].map(|name| s.output(name));
    s.add(x, w, first);
    s.mul(same, w, second);
    s.add(first, second, third);
    s.mul(first, x, y);
    s.add(third, second, z);
}

/// Names that are alike up to their last byte.
fn long(s: &mut Sketch<'_>, launch: usize, bytes: usize) {
    let by = launch as f64;
    let name = |what: char, last: char| format!("{}{last}", what.to_string().repeat(bytes));
    let x = s.input(&name('x', 'a'), &[1.0 + by, 2.0, 3.0, 4.0]);
    let y = s.input(&name('x', 'b'), &[-5.0, 6.0, 7.0 - by, 8.0]);
    let w = s.model(Kind::Weight, "w", Some(&name('s', 'a')), &[2.0, 3.0, 4.0, 5.0 - by]);
    let u = s.model(Kind::Weight, "u", Some(&name('s', 'b')), &[3.0, -1.0, 2.0, 2.0 + by]);
    let [first, second] = ['a', 'b'].map(|last| s.output(&name('y', last)));
    let [k, v] = ['a', 'b'].map(|last| s.cache(&name('c', last), None));
    let [keys, values] = ['a', 'b'].map(|last| s.output(&name('z', last)));
    s.mul(x, w, first);
    s.add(y, u, second);
    let rows = [0, 1].map(|cache| s.input(&format!("new-{cache}"), &row(launch, cache)));
    s.append(rows[0], k, launch % 2, keys);
    s.append(rows[1], v, launch % 2, values);
}

fn odd_names(s: &mut Sketch<'_>, launch: usize) {
    let by = launch as f64;
    let a = s.input("a\u{0}b", &[1.0 + by, 2.0, 3.0, 4.0]);
    let b = s.input("a\u{0}c", &[-5.0, 6.0, 7.0 - by, 8.0]);
    let c = s.input("a", &[2.0, 2.0, 9.0, 1.0]);
    let w = s.model(Kind::Weight, "w", Some(""), &[2.0, 3.0, 4.0, 5.0 - by]);
    let u = s.model(Kind::Const, "\u{e9}\"\\", Some("tensor\u{0}one"), &[3.0, -1.0, 2.0, 2.0 + by]);
    let v = s.model(Kind::Const, "e\u{301}\"\\", Some("tensor\u{0}two"), &[1.0, -4.0, 3.0, 2.0]);
    s.tensor("w", &[9.0, 9.0, 8.0, 8.0]);
    let outputs = ["y\u{0}1", "y\u{0}2", "y", "Y", "y "].map(|name| s.output(name));
    s.mul(a, w, outputs[0]);
    s.add(b, u, outputs[1]);
    s.add(c, v, outputs[2]);
    s.add(a, b, outputs[3]);
    s.mul(b, c, outputs[4]);
}

/// Other buffers than weights and constants are bound by their name.
fn idle_sources(s: &mut Sketch<'_>, launch: usize) {
    let by = launch as f64;
    let given = preset(1);
    let x = s.input("x", &[1.0 + by, 2.0, 3.0, 4.0]);
    let y = s.input("y", &[-5.0, 6.0, 7.0 - by, 8.0]);
    let cache = s.cache("k", (launch == 0).then_some(&given[..]));
    s.tensor("other", &[9.0, -9.0, 8.0, -8.0]);
    let act = s.act("act");
    let [sum, out] = ["sum", "out"].map(|name| s.output(name));
    s.sources.extend([x, cache, act, sum].map(|buffer| (buffer, json!("other"))));
    s.sources.push((y, json!("x")));
    s.add(x, y, act);
    s.add(act, x, sum);
    let new = s.input("new", &row(launch, 0));
    s.append(new, cache, launch % 2, out);
}
