//! An algorithm in a program, in place of ALLREDUCE_SHARD (clause COL-26).

use std::collections::{BTreeMap, HashMap};

use megakernel_collectives::{Algorithm, CollectiveKind};
use serde_json::{Value, json};

use super::{Order, lower, piece};
use crate::program::Program;

/// Replaces each all-reduce of a program by an algorithm: tasks ALLREDUCE_SHARD of the same buffers, one of each element, and as
/// many as it has elements.
///
/// # Errors
/// There are none, or their buffers are not what the algorithm is for.
pub fn splice(algorithm: &Algorithm, program: &Program, into: &Value) -> Result<Value, String> {
    if algorithm.collective.kind != CollectiveKind::AllReduce {
        return Err("the algorithm is no all-reduce".to_owned());
    }
    let elements = program.lines.len();
    let groups = groups(into, elements)?;
    let lowered = lower(algorithm, program, Order::Counters)?;
    let name = |buffer: &'_ Value| Some((buffer.get("name")?.as_str()?.to_owned(), number(buffer, "id")));
    let mut splice = Splice {
        names: list(&lowered, "buffers").iter().filter_map(name).collect(),
        lowered: &lowered,
        piece: piece(algorithm, program),
        n_elem: algorithm.n_elem.unsigned_abs(),
        into: into.clone(),
        constants: BTreeMap::new(),
    };
    for (number, (shards, tasks)) in groups.iter().enumerate() {
        splice.group(&format!("sum{number}."), shards, tasks)?;
    }
    Ok(splice.into)
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn number(value: &Value, name: &str) -> usize {
    value.get(name).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}

fn ids(value: &Value, name: &str) -> Vec<usize> {
    let ids = list(value, name).iter().filter_map(Value::as_u64);
    ids.filter_map(|id| usize::try_from(id).ok()).collect()
}

/// The shards of each all-reduce, and its tasks: that of element 0 first.
type Group = (Vec<usize>, Vec<usize>);

fn groups(into: &Value, elements: usize) -> Result<Vec<Group>, String> {
    if into.get("pages").is_some_and(|pages| !pages.is_null()) {
        return Err("the program has pages: which of them new buffers lie on is not known".to_owned());
    }
    let mut groups: Vec<Group> = Vec::new();
    for (id, task) in list(into, "tasks").iter().enumerate() {
        let shards = ids(task, "inputs");
        if task.get("op") != Some(&json!("ALLREDUCE_SHARD")) || shards.len() != elements {
            continue;
        }
        // A program may sum up in the same buffers again and again.
        match groups.iter_mut().find(|(known, tasks)| *known == shards && tasks.len() < elements) {
            Some((_, tasks)) => tasks.push(id),
            None => groups.push((shards, vec![id])),
        }
    }
    if groups.is_empty() {
        return Err(format!(
            "the program has no ALLREDUCE_SHARD of {elements} buffers, one for each element"
        ));
    }
    match groups.iter().find(|(_, tasks)| tasks.len() < elements) {
        Some((_, tasks)) => Err(format!(
            "task {} and others are {} sums of the same buffers, required {elements}, one for each element",
            tasks.first().copied().unwrap_or_default(),
            tasks.len()
        )),
        None => Ok(groups),
    }
}

struct Splice<'a> {
    lowered: &'a Value,
    /// Its buffers, by name.
    names: HashMap<String, usize>,
    piece: u64,
    n_elem: u64,
    into: Value,
    /// Buffers that hold a number.
    constants: BTreeMap<usize, usize>,
}

impl Splice<'_> {
    fn count(&self, name: &str) -> usize {
        list(&self.into, name).len()
    }

    fn push(&mut self, name: &str, value: Value) {
        if let Some(list) = self.into.get_mut(name).and_then(Value::as_array_mut) {
            list.push(value);
        }
    }

    fn buffer(&mut self, name: String, kind: &str, dtype: &str, shape: &[u64]) -> usize {
        let id = self.count("buffers");
        let buffer = json!({"id": id, "name": name, "kind": kind, "dtype": dtype, "shape": shape, "space": "HBM",
                            "source": null});
        self.push("buffers", buffer);
        id
    }

    /// A task with a counter of its own, which is its answer.
    fn task(&mut self, op: &str, inputs: &[usize], output: usize, params: Value, waits: Vec<Value>) -> usize {
        let (id, counter) = (self.count("tasks"), self.count("counters"));
        self.push("counters", json!({"id": counter, "init": 0, "note": ""}));
        let task = json!({"id": id, "op": op, "inputs": inputs, "outputs": [output], "out_counter": counter, "waits": waits,
                          "params": params, "sm": null, "est_bytes": 0, "est_flops": 0, "label": ""});
        self.push("tasks", task);
        counter
    }

    /// The buffer that holds a number, which the host binds by its name.
    fn constant(&mut self, number: usize) -> usize {
        if let Some(&known) = self.constants.get(&number) {
            return known;
        }
        let id = self.buffer(format!("piece.{number}"), "CONST", "I32", &[1]);
        self.constants.insert(number, id);
        id
    }

    fn fits(&self, id: usize) -> Result<(), String> {
        let buffer = list(&self.into, "buffers").get(id).unwrap_or(&Value::Null);
        let numbers: u64 = list(buffer, "shape").iter().map(|extent| extent.as_u64().unwrap_or(0)).product();
        if buffer.get("dtype") == Some(&json!("F16")) && numbers == self.n_elem {
            return Ok(());
        }
        Err(format!(
            "buffer {id} has {numbers} numbers of {}, and a tile of the algorithm {} of F16",
            buffer.get("dtype").and_then(Value::as_str).unwrap_or_default(),
            self.n_elem
        ))
    }

    fn group(&mut self, prefix: &str, shards: &[usize], tasks: &[usize]) -> Result<(), String> {
        let of = |task: &usize| list(&self.into, "tasks").get(*task).cloned().unwrap_or_default();
        let sums: Vec<Value> = tasks.iter().map(of).collect();
        let outputs: Vec<usize> = sums.iter().flat_map(|sum| ids(sum, "outputs")).collect();
        shards.iter().chain(&outputs).try_for_each(|&id| self.fits(id))?;
        // Every one of them reads all shards, so that it waits for all of them.
        let waits = sums.first().map(|sum| list(sum, "waits").to_vec()).unwrap_or_default();
        let first = self.count("buffers");
        for buffer in list(self.lowered, "buffers") {
            let mut buffer = buffer.clone();
            buffer["id"] = json!(number(&buffer, "id") + first);
            buffer["name"] = json!(format!("{prefix}{}", buffer["name"].as_str().unwrap_or_default()));
            buffer["kind"] = json!("ACTIVATION");
            self.push("buffers", buffer);
        }
        let cut = self.cut(prefix, first, shards, &waits);
        let done = self.algorithm(first, &cut);
        for (element, ((&task, &output), sum)) in tasks.iter().zip(&outputs).zip(&sums).enumerate() {
            let (whole, mut ready) = self.joined(prefix, first, element, &done);
            // What the first sum waits for comes before all pieces.
            ready.extend(list(sum, "waits").iter().filter(|wait| !waits.contains(wait)).cloned());
            let members = self.into.pointer_mut(&format!("/tasks/{task}")).and_then(Value::as_object_mut);
            if let Some(members) = members {
                members.insert("op".to_owned(), json!("COPY"));
                members.insert("inputs".to_owned(), json!([whole]));
                members.insert("outputs".to_owned(), json!([output]));
                members.insert("waits".to_owned(), json!(ready));
            }
        }
        Ok(())
    }

    /// The number of the buffer of the algorithm's program with this name.
    fn named(&self, first: usize, name: &str) -> Option<usize> {
        self.names.get(name).map(|id| first + id)
    }

    fn pieces(&self) -> usize {
        usize::try_from(self.n_elem / self.piece.max(1)).unwrap_or(0)
    }

    /// Cuts each shard into the pieces of the tile: for each buffer of them the counter of the task that writes it.
    fn cut(
        &mut self,
        prefix: &str,
        first: usize,
        shards: &[usize],
        waits: &[Value],
    ) -> BTreeMap<usize, usize> {
        let (pieces, mut found) = (self.pieces(), BTreeMap::new());
        for (element, &shard) in shards.iter().enumerate() {
            let tiles: Vec<(usize, usize)> = (0..pieces)
                .filter_map(|at| Some((at, self.named(first, &format!("tile.{element}.{at}"))?)))
                .collect();
            if let ([(_, tile)], 1) = (&tiles[..], pieces) {
                found.insert(*tile, self.task("COPY", &[shard], *tile, json!({}), waits.to_vec()));
                continue;
            }
            // An opcode that takes a part of a buffer is EMBED: rows of a table.
            let shape = [self.n_elem / self.piece, self.piece];
            let table = self.buffer(format!("{prefix}rows.{element}"), "ACTIVATION", "F16", &shape);
            let copied = self.task("COPY", &[shard], table, json!({}), waits.to_vec());
            for (at, tile) in tiles {
                let (row, params) = (self.constant(at), json!({"hidden": self.piece}));
                found.insert(tile, self.task("EMBED", &[row, table], tile, params, vec![wait(copied)]));
            }
        }
        found
    }

    /// The tasks of the algorithm: for each buffer the counter of the task that writes it.
    fn algorithm(&mut self, first: usize, cut: &BTreeMap<usize, usize>) -> BTreeMap<usize, usize> {
        let (lowered, before) = (self.lowered, self.count("counters"));
        let mut done = BTreeMap::new();
        for task in list(lowered, "tasks") {
            let inputs: Vec<usize> = ids(task, "inputs").into_iter().map(|id| first + id).collect();
            let outputs = ids(task, "outputs");
            let Some(output) = outputs.first().map(|id| first + id) else { continue };
            let earlier = list(task, "waits").iter().map(|wait| number(wait, "counter") + before);
            let mut waits: Vec<usize> =
                earlier.chain(inputs.iter().filter_map(|id| cut.get(id).copied())).collect();
            waits.sort_unstable();
            waits.dedup();
            let op = task.get("op").and_then(Value::as_str).unwrap_or_default();
            // Its tasks and counters have the same numbers.
            done.insert(
                output,
                self.task(op, &inputs, output, json!({}), waits.into_iter().map(wait).collect()),
            );
        }
        done
    }

    /// What an element ends with in one buffer, and what to wait for.
    fn joined(
        &mut self,
        prefix: &str,
        first: usize,
        element: usize,
        done: &BTreeMap<usize, usize>,
    ) -> (usize, Vec<Value>) {
        let ends: Vec<(usize, usize)> = (0..self.pieces())
            .filter_map(|at| {
                let end = self.named(first, &format!("end.{element}.{at}"))?;
                Some((end, *done.get(&end)?))
            })
            .collect();
        if let [(end, counter)] = ends[..] {
            return (end, vec![wait(counter)]);
        }
        // An opcode that writes a part of a buffer is KV_APPEND: rows of a cache.
        let shape = [self.n_elem / self.piece, 1, self.piece];
        let whole = self.buffer(format!("{prefix}whole.{element}"), "ACTIVATION", "F16", &shape);
        // One after the other, since a task can wait for a few counters only.
        let mut last = None;
        for (at, (end, counter)) in ends.into_iter().enumerate() {
            let waits = [Some(counter), last].into_iter().flatten().map(wait).collect();
            last = Some(self.task("KV_APPEND", &[end, whole], whole, json!({"pos": at}), waits));
        }
        (whole, last.map(wait).into_iter().collect())
    }
}

fn wait(counter: usize) -> Value {
    json!({"counter": counter, "threshold": 1})
}
