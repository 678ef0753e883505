//! Algorithms of MSCCL, from their XML to documents: each GPU is a device of one cube, each pair of GPUs and channel a queue.
//!
//! The thread blocks of a GPU become one log, in an order that they can run in. So what is found of the document is found of the
//! algorithm but for races between thread blocks that nothing orders: of those, one order is taken. And but for slots: in MSCCL, a
//! step that receives and sends keeps the slot of what came until it has sent, and in a log a slot is free when its message is
//! received. Which capacity that takes is said beside the document.

use std::collections::{BTreeSet, HashMap, VecDeque};

use roxmltree::{Document, Node};
use serde_json::{Value, json};

/// How chunks become positions.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Positions of a chunk.
    pub chunk: i64,
    /// Messages that each queue holds.
    pub capacity: i64,
}

/// What an XML says.
#[derive(Debug)]
pub struct Imported {
    /// The document.
    pub document: Value,
    /// The least capacity with which the thread blocks come to their ends, where steps keep their slots until they have sent and the
    /// given capacity is too small for that.
    pub kept: Option<i64>,
}

/// Makes a document of an XML.
///
/// # Errors
/// What is wrong with it, or not known here.
pub fn msccl(text: &str, form: Form) -> Result<Imported, String> {
    let xml = Document::parse(text).map_err(|cause| format!("no XML: {cause}"))?;
    let algorithm = Algorithm::read(xml.root_element(), form)?;
    let logs = algorithm.logs()?;
    Ok(Imported { kept: algorithm.kept()?, document: algorithm.document(logs) })
}

/// Where a step reads or writes: the buffer, and the first chunk.
type Place = (char, i64);

/// A step of a thread block.
struct Step {
    kind: String,
    from: Place,
    to: Place,
    count: i64,
    /// The thread block and the step that come before.
    after: Option<(i64, usize)>,
}

struct ThreadBlock {
    id: i64,
    send: i64,
    recv: i64,
    channel: i64,
    steps: Vec<Step>,
}

struct Gpu {
    id: i64,
    /// Chunks of input, output and scratch.
    chunks: [i64; 3],
    blocks: Vec<ThreadBlock>,
}

struct Algorithm {
    name: String,
    collective: &'static str,
    is_in_place: bool,
    /// Chunks of a tile.
    chunks: i64,
    gpus: Vec<Gpu>,
    form: Form,
}

/// The most chunks of a buffer, so that no product overflows.
const MOST: i64 = 1 << 20;

fn number(node: Node<'_, '_>, name: &str) -> Result<i64, String> {
    let text = node.attribute(name).ok_or_else(|| format!("`{}` has no `{name}`", node.tag_name().name()))?;
    let number = text.parse::<i64>().ok().filter(|number| (-1..=MOST).contains(number));
    number.ok_or_else(|| {
        format!("`{name}` of `{}` is `{text}`, required a number from -1 to {MOST}", node.tag_name().name())
    })
}

fn children<'a, 'b>(node: Node<'a, 'b>, name: &'a str) -> impl Iterator<Item = Node<'a, 'b>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

impl Algorithm {
    fn read(root: Node<'_, '_>, form: Form) -> Result<Algorithm, String> {
        if !root.has_tag_name("algo") {
            return Err(format!("the root is `{}`, required `algo`", root.tag_name().name()));
        }
        let collective = match root.attribute("coll").unwrap_or_default() {
            "allreduce" => "all_reduce",
            "allgather" => "all_gather",
            "reduce_scatter" | "reducescatter" => "reduce_scatter",
            other => {
                return Err(format!(
                    "the collective is `{other}`, known are allreduce, allgather and reduce_scatter"
                ));
            }
        };
        let mut gpus = children(root, "gpu").map(Gpu::read).collect::<Result<Vec<Gpu>, String>>()?;
        gpus.sort_by_key(|gpu| gpu.id);
        if gpus.iter().enumerate().any(|(rank, gpu)| usize::try_from(gpu.id) != Ok(rank)) || gpus.is_empty() {
            return Err("the ids of the `gpu`s are not 0, 1 and so on".to_owned());
        }
        let side = usize::from(collective == "all_gather");
        let chunks = gpus.iter().flat_map(|gpu| gpu.chunks.get(side)).max().copied().unwrap_or(0);
        let chunks = chunks.max(number(root, "nchunksperloop").unwrap_or(1)).max(1);
        let is_in_place = root.attribute("inplace").is_some_and(|is| is == "1");
        let name = root.attribute("name").unwrap_or_default().to_owned();
        Ok(Algorithm { name, collective, is_in_place, chunks, gpus, form })
    }

    /// The first position of a chunk in the memory of a device.
    fn position(&self, gpu: &Gpu, (buffer, chunk): Place) -> i64 {
        let ranks = i64::try_from(self.gpus.len()).unwrap_or(1);
        let at = match (buffer, self.collective) {
            ('i', "all_gather") => gpu.id * (self.chunks / ranks) + chunk,
            ('i', _) => chunk,
            ('o', _) if self.is_in_place => return self.home(gpu, chunk),
            ('o', _) => self.chunks + chunk,
            _ => self.chunks + self.outputs() + chunk,
        };
        at * self.form.chunk
    }

    /// Chunks of an output that is not the tile.
    fn outputs(&self) -> i64 {
        if self.is_in_place { 0 } else { self.gpus.iter().map(|gpu| gpu.chunks[1]).max().unwrap_or(0) }
    }

    /// Where a chunk of an output belongs in the tile.
    fn home(&self, gpu: &Gpu, chunk: i64) -> i64 {
        let ranks = i64::try_from(self.gpus.len()).unwrap_or(1);
        let at =
            if self.collective == "reduce_scatter" { gpu.id * (self.chunks / ranks) + chunk } else { chunk };
        at * self.form.chunk
    }

    fn document(&self, logs: Vec<Vec<Value>>) -> Value {
        let mut edges: BTreeSet<(i64, i64, i64)> = BTreeSet::new();
        for gpu in &self.gpus {
            for block in &gpu.blocks {
                edges.extend([(gpu.id, block.send, block.channel), (block.recv, gpu.id, block.channel)]);
            }
        }
        let edges = edges.into_iter().filter(|&(from, to, _)| from >= 0 && to >= 0 && from != to);
        let edges: Vec<Value> = edges
            .map(|(from, to, channel)| json!({"from": from, "out": out(to, channel), "to": to, "in": into(from, channel)}))
            .collect();
        let logs: Vec<Value> = logs
            .into_iter()
            .enumerate()
            .map(|(rank, ops)| json!({"elements": [[rank, rank, 1]], "ops": ops}))
            .collect();
        let scratch = self.gpus.iter().map(|gpu| gpu.chunks[2]).max().unwrap_or(0) + self.outputs();
        json!({
            "name": self.name,
            "topology": {"kind": "explicit", "ranks": self.gpus.len(), "cube_w": 1, "cube_h": 1,
                         "capacity": self.form.capacity, "edges": edges},
            "n_elem": self.chunks * self.form.chunk,
            "scratch": scratch * self.form.chunk,
            "collective": {"kind": self.collective},
            "logs": logs,
        })
    }
}

fn out(to: i64, channel: i64) -> String {
    format!("to{to}.{channel}")
}

fn into(from: i64, channel: i64) -> String {
    format!("from{from}.{channel}")
}

impl Gpu {
    fn read(node: Node<'_, '_>) -> Result<Gpu, String> {
        let chunks =
            ["i_chunks", "o_chunks", "s_chunks"].map(|name| number(node, name).map(|chunks| chunks.max(0)));
        let [inputs, outputs, scratch] = chunks;
        let blocks = children(node, "tb").map(ThreadBlock::read).collect::<Result<_, _>>()?;
        Ok(Gpu { id: number(node, "id")?, chunks: [inputs?, outputs?, scratch?], blocks })
    }
}

impl ThreadBlock {
    fn read(node: Node<'_, '_>) -> Result<ThreadBlock, String> {
        let steps = children(node, "step").map(Step::read).collect::<Result<_, _>>()?;
        let [id, send, recv, channel] = ["id", "send", "recv", "chan"].map(|name| number(node, name));
        Ok(ThreadBlock { id: id?, send: send?, recv: recv?, channel: channel?, steps })
    }
}

impl Step {
    fn read(node: Node<'_, '_>) -> Result<Step, String> {
        let place = |buffer: &str, offset: &str| -> Result<Place, String> {
            let letter = node.attribute(buffer).and_then(|text| text.chars().next()).unwrap_or('i');
            Ok((letter, number(node, offset)?))
        };
        let before = (number(node, "depid")?, usize::try_from(number(node, "deps")?));
        let after = match before {
            (block, Ok(step)) if block >= 0 => Some((block, step)),
            _ => None,
        };
        Ok(Step {
            kind: node.attribute("type").unwrap_or_default().to_owned(),
            from: place("srcbuf", "srcoff")?,
            to: place("dstbuf", "dstoff")?,
            count: number(node, "cnt")?,
            after,
        })
    }

    /// Whether it receives, adds, stores and sends; and whether it reads what stands at its source.
    fn does(&self) -> Result<[bool; 5], String> {
        Ok(match self.kind.as_str() {
            "s" => [false, false, false, true, true],
            "r" => [true, false, true, false, false],
            "rcs" => [true, false, true, true, false],
            "rrs" => [true, true, false, true, true],
            "rrc" => [true, true, true, false, true],
            "rrcs" => [true, true, true, true, true],
            "cpy" => [false, false, true, false, true],
            "re" => [false, true, true, false, true],
            "nop" => [false; 5],
            other => return Err(format!("a step has the type `{other}`, which is not known")),
        })
    }
}

/// What a part of a step needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// Nothing.
    Nothing,
    /// A message.
    Message,
    /// Room for one.
    Room,
}

/// A part of a step: at most one message.
struct Part {
    ops: Vec<Value>,
    needs: Needs,
    /// Of the first part of a step: the thread block and step that come before.
    after: Option<(i64, usize)>,
    /// Whether the step is done with it.
    is_last: bool,
    /// Whether it receives what the step sends on.
    is_passed: bool,
}

impl Algorithm {
    fn parts(&self, gpu: &Gpu, block: &ThreadBlock) -> Result<Vec<Part>, String> {
        let mut parts: Vec<Part> = Vec::new();
        for step in &block.steps {
            let [receives, adds, stores, sends, reads] = step.does()?;
            let n = step.count * self.form.chunk;
            let name = |what: &str| format!("{what}{}", block.id);
            let first = parts.len();
            let mut push = |ops: Vec<Value>, needs| {
                parts.push(Part { ops, needs, after: None, is_last: false, is_passed: false })
            };
            if receives {
                let recv =
                    json!({"op": "recv", "to": name("in"), "dir": into(block.recv, block.channel), "n": n});
                push(vec![recv], Needs::Message);
            }
            let mut ops = Vec::new();
            let load = |what: &str, place| json!({"op": "load", "to": name(what), "at": self.position(gpu, place), "n": n});
            if reads {
                ops.push(load("own", step.from));
            }
            if adds && !receives {
                ops.push(load("in", step.to));
            }
            let mut held = if receives { name("in") } else { name("own") };
            if adds {
                ops.push(json!({"op": "add", "to": name("sum"), "a": name("in"), "b": name("own")}));
                held = name("sum");
            }
            if stores {
                ops.push(json!({"op": "store", "of": held, "at": self.position(gpu, step.to)}));
            }
            push(ops, Needs::Nothing);
            if sends {
                push(
                    vec![json!({"op": "send", "of": held, "dir": out(block.send, block.channel)})],
                    Needs::Room,
                );
            }
            if let Some(part) = parts.get_mut(first) {
                (part.after, part.is_passed) = (step.after, receives && sends);
            }
            if let Some(part) = parts.last_mut() {
                part.is_last = true;
            }
        }
        Ok(parts)
    }

    /// The logs, in an order in which all thread blocks can run; with room for all messages where the capacity does not suffice,
    /// since that is for the rules to say.
    fn logs(&self) -> Result<Vec<Vec<Value>>, String> {
        let capacity = usize::try_from(self.form.capacity).unwrap_or(usize::MAX);
        for capacity in [capacity, usize::MAX] {
            if let Some(mut logs) = self.run(capacity, false)? {
                logs.iter_mut().zip(&self.gpus).for_each(|(log, gpu)| log.extend(self.copied(gpu)));
                return Ok(logs);
            }
        }
        Err("the thread blocks wait for each other, whatever the queues hold".to_owned())
    }

    /// The capacity that is enough where slots are kept, if the given one is not.
    fn kept(&self) -> Result<Option<i64>, String> {
        let steps = self.gpus.iter().flat_map(|gpu| &gpu.blocks).map(|block| block.steps.len());
        let most = i64::try_from(steps.max().unwrap_or(0)).unwrap_or(i64::MAX);
        for capacity in self.form.capacity..=most.max(self.form.capacity) {
            if self.run(usize::try_from(capacity).unwrap_or(usize::MAX), true)?.is_some() {
                return Ok(Some(capacity).filter(|&capacity| capacity > self.form.capacity));
            }
        }
        Ok(None)
    }

    /// Each GPU's operations, if all get done; a step that receives and sends may keep its slot until it has sent.
    fn run(&self, capacity: usize, keeps: bool) -> Result<Option<Vec<Vec<Value>>>, String> {
        let mut logs = vec![Vec::new(); self.gpus.len()];
        // Of each thread block, the parts that are still to be done.
        let mut open: Vec<(&Gpu, &ThreadBlock, VecDeque<Part>)> = Vec::new();
        for gpu in &self.gpus {
            for block in &gpu.blocks {
                open.push((gpu, block, self.parts(gpu, block)?.into()));
            }
        }
        let mut steps: HashMap<(i64, i64), usize> = HashMap::new();
        let mut queues: HashMap<(i64, i64, i64), usize> = HashMap::new();
        let mut moved = true;
        while std::mem::take(&mut moved) {
            for (gpu, block, parts) in &mut open {
                let rank = usize::try_from(gpu.id).unwrap_or(0);
                while let Some(part) = parts.front() {
                    let comes_later = |(other, behind): (i64, usize)| {
                        steps.get(&(gpu.id, other)).copied().unwrap_or(0) <= behind
                    };
                    let incoming = (block.recv, gpu.id, block.channel);
                    let outgoing = (gpu.id, block.send, block.channel);
                    let count = |queue| queues.get(queue).copied().unwrap_or(0);
                    let waits = match part.needs {
                        Needs::Nothing => false,
                        Needs::Message => {
                            let is_full = keeps && part.is_passed && count(&outgoing) >= capacity;
                            count(&incoming) == 0 || is_full
                        }
                        Needs::Room => count(&outgoing) >= capacity,
                    };
                    if waits || part.after.is_some_and(comes_later) {
                        break;
                    }
                    match part.needs {
                        Needs::Nothing => {}
                        Needs::Message => *queues.entry(incoming).or_default() -= 1,
                        Needs::Room => *queues.entry(outgoing).or_default() += 1,
                    }
                    *steps.entry((gpu.id, block.id)).or_default() += usize::from(part.is_last);
                    if let (Some(log), Some(part)) = (logs.get_mut(rank), parts.pop_front()) {
                        log.extend(part.ops);
                    }
                    moved = true;
                }
            }
        }
        Ok(open.iter().all(|(_, _, parts)| parts.is_empty()).then_some(logs))
    }

    /// What is left to do at the end: an output that is not the tile goes there, as far as it was written.
    fn copied(&self, gpu: &Gpu) -> Vec<Value> {
        if self.is_in_place {
            return Vec::new();
        }
        let written = gpu.blocks.iter().flat_map(|block| &block.steps).filter(|step| step.to.0 == 'o');
        let written = written.filter(|step| step.does().is_ok_and(|[_, _, stores, ..]| stores));
        let chunks: BTreeSet<i64> = written.flat_map(|step| step.to.1..step.to.1 + step.count).collect();
        let copy = |chunk| {
            let from = self.position(gpu, ('o', chunk));
            [
                json!({"op": "load", "to": "copied", "at": from, "n": self.form.chunk}),
                json!({"op": "store", "of": "copied", "at": self.home(gpu, chunk)}),
            ]
        };
        chunks.into_iter().flat_map(copy).collect()
    }
}

#[cfg(test)]
mod tests;
