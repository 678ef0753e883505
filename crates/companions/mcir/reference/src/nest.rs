//! The loop nest of a region (clause MCI-28): where memory is taken, what each node becomes, and where threads meet.

use std::collections::{BTreeMap, HashMap, HashSet};

use megakernel_mcir::{Body, Lifetime, Memory, Op};
use serde_json::{Map, Value as Json, json};

use crate::axes::Extent;
use crate::form::Form;
use crate::names::Names;
use crate::residency::{Lifetimes, Use, bytes, uses};
use crate::shapes::Shaped;
use crate::world::{Site, World, moves, nodes};

/// The members of nodes that instructions have too.
const MEMBERS: &[&str] = &["fn", "by", "along", "axis", "rows", "columns", "window"];

/// Which slot of a tile: by the number of the iteration that is run, and by a number.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Slot {
    is_of_iteration: bool,
    number: i64,
}

const FIRST: Slot = Slot { is_of_iteration: false, number: 0 };

/// A slot in shared memory that threads have touched since they met.
struct Touched {
    slot: Slot,
    is_written: bool,
}

/// The stream of a region.
struct Run {
    axis: String,
    number: String,
    from: Form,
    to: Form,
    step: i64,
}

/// A loop nest that is being made.
pub struct Nest<'n, 'd> {
    world: &'n World<'d>,
    shaped: &'n Shaped<'d>,
    names: Names,
    stream: Option<Run>,
    prefetched: HashSet<u32>,
    /// Integers that depend on the block alone, and those that depend on the iteration: each with its instruction.
    known: [BTreeMap<(i64, Form), (String, Json)>; 2],
    /// By tile.
    touched: HashMap<u32, Vec<Touched>>,
    /// By axis.
    steps: HashMap<u32, i64>,
    /// Whether shared memory was given back that threads have touched since they met.
    is_given_back: bool,
    made: Vec<Json>,
}

impl<'n, 'd> Nest<'n, 'd> {
    /// The kernel of a region.
    pub fn kernel(world: &'n World<'d>, shaped: &'n Shaped<'d>, lifetimes: &Lifetimes, json: &Json) -> Json {
        let region = shaped.region;
        let stream_axis = region.stream.iter().map(|stream| stream.axis);
        let axes = region.tile.blocks.iter().map(|&(axis, _)| axis).chain(stream_axis);
        let names = axes.map(|axis| world.name(axis).to_owned()).collect();
        let all = uses(world, shaped);
        let mut nest = Nest {
            world,
            shaped,
            names,
            stream: None,
            prefetched: all.iter().filter(|(_, used)| used.is_prefetched).map(|&(tile, _)| tile).collect(),
            known: Default::default(),
            touched: HashMap::new(),
            steps: region.tile.shape.iter().copied().collect(),
            is_given_back: false,
            made: Vec::new(),
        };
        let mut head = nest.begin_stream();
        nest.body(lifetimes, json, &all);
        let body = std::mem::take(&mut nest.made);
        head.extend(nest.integers(0));
        head.extend(body);
        let mut allocations = Map::new();
        let mut buffers = Map::new();
        for &(tile, _) in &all {
            let (value, name) = (world.value(tile), world.name(tile));
            let bytes = bytes(world, tile);
            allocations.insert(name.to_owned(), json!({"memory": value.memory.name(), "bytes": bytes}));
            let mut buffer = json!({"allocation": name, "shape": value.shape, "dtype": value.dtype.name()});
            if value.buffers != 1 {
                buffer["slots"] = json!(value.buffers);
            }
            buffers.insert(name.to_owned(), buffer);
        }
        let blocks: Vec<Json> = region
            .tile
            .blocks
            .iter()
            .map(|&(axis, to)| json!({"axis": world.name(axis), "to": to, "step": nest.steps.get(&axis)}))
            .collect();
        json!({
            "id": world.name(region.id), "blocks": blocks, "allocations": allocations, "buffers": buffers,
            "body": head,
        })
    }

    /// The bounds of the stream: integers of the block, where they are no single indices.
    fn begin_stream(&mut self) -> Vec<Json> {
        let Some(stream) = &self.shaped.region.stream else { return Vec::new() };
        let document = self.world.document;
        let step = self.steps.get(&stream.axis).copied().unwrap_or(1);
        let mut head = Vec::new();
        let mut bound = |names: &mut Names, name: &str, function: &str, all: &[megakernel_mcir::Index]| {
            let forms: Vec<Form> = all.iter().map(|index| Form::of(&document.names, index)).collect();
            if let [form] = forms.as_slice() {
                return form.clone();
            }
            let name = names.free(name);
            let of: Vec<Json> = forms.iter().map(Form::json).collect();
            head.push(json!({"op": "let", "name": name, "fn": function, "of": of}));
            Form::name(&name)
        };
        let from = if stream.from.is_empty() {
            Form::number(0)
        } else {
            bound(&mut self.names, "from", "max", &stream.from)
        };
        let to = bound(&mut self.names, "to", "min", &stream.to);
        let (axis, number) = (self.world.name(stream.axis).to_owned(), self.names.free("t"));
        self.stream = Some(Run { axis, number, from, to, step });
        head
    }

    /// The instructions for integers of the block, or of the iteration.
    fn integers(&mut self, which: usize) -> Vec<Json> {
        std::mem::take(&mut self.known[which]).into_values().map(|(_, json)| json).collect()
    }

    fn body(&mut self, lifetimes: &Lifetimes, json: &Json, all: &[(u32, Use)]) {
        let region = self.shaped.region;
        let [begin, each, end] = region.tile.bodies.each_ref().map(Vec::len);
        // By the position of a node: what is taken before it, and what is given back after it.
        let (mut taken, mut given) = (HashMap::new(), HashMap::new());
        let (mut whole, mut streamed) = (Vec::new(), Vec::new());
        for &(tile, ref used) in all {
            let (place, until): (usize, Option<usize>) = match lifetimes.of(tile) {
                Lifetime::Block => {
                    whole.push(tile);
                    continue;
                }
                Lifetime::Node => (used.first.unwrap_or(0), used.last),
                Lifetime::Stream | Lifetime::Iteration => {
                    streamed.push((tile, used.first_in_begin.is_some()));
                    match used.first_in_begin {
                        Some(place) => (place, None),
                        None => continue,
                    }
                }
            };
            taken.entry(place).or_insert_with(Vec::new).push(tile);
            if let Some(until) = until {
                given.entry(until).or_insert_with(Vec::new).push(tile);
            }
        }
        whole.iter().for_each(|&tile| self.take(tile));
        for state in &region.state {
            let init = match state.init {
                megakernel_mcir::Init::Number(number) => json!(number),
                megakernel_mcir::Init::Least => json!("-inf"),
                megakernel_mcir::Init::Most => json!("inf"),
            };
            self.meet_before(&[(state.value, FIRST, true)]);
            let out = self.view(state.value, FIRST);
            self.made.push(json!({"op": "fill", "value": init, "out": out}));
        }
        let mut outer = None;
        for (position, site) in nodes(self.shaped.number, region).enumerate() {
            if position == begin {
                outer = self.enter(&streamed);
            }
            if position == begin + each {
                self.leave(outer.take(), &streamed);
            }
            taken.get(&position).into_iter().flatten().for_each(|&tile| self.take(tile));
            let raw = &json["streaming"]["tile"][site.body.name()][site.place];
            self.node(&site, raw);
            given.get(&position).into_iter().flatten().for_each(|&tile| self.give_back(tile));
        }
        if each + end == 0 {
            outer = self.enter(&streamed);
        }
        if end == 0 {
            self.leave(outer.take(), &streamed);
        }
        whole.iter().for_each(|&tile| self.give_back(tile));
    }

    /// Before the nodes of `each`: what has been made so far, where these stand in a loop.
    fn enter(&mut self, streamed: &[(u32, bool)]) -> Option<Vec<Json>> {
        streamed.iter().filter(|(_, is_taken)| !is_taken).for_each(|&(tile, _)| self.take(tile));
        self.stream.as_ref()?;
        self.meet_if_touched();
        Some(std::mem::take(&mut self.made))
    }

    /// After them.
    fn leave(&mut self, outer: Option<Vec<Json>>, streamed: &[(u32, bool)]) {
        if let Some(outer) = outer {
            self.meet_if_touched();
            let mut body = self.integers(1);
            body.append(&mut self.made);
            self.made = outer;
            if let Some(Run { axis, number, from, to, step }) = &self.stream {
                self.made.push(json!({
                    "op": "loop", "axis": axis, "number": number, "from": from.json(), "to": to.json(),
                    "step": step, "body": body,
                }));
            }
        }
        streamed.iter().for_each(|&(tile, _)| self.give_back(tile));
    }

    fn is_shared(&self, tile: u32) -> bool {
        self.world.value(tile).memory == Memory::Shared
    }

    fn take(&mut self, tile: u32) {
        if self.is_shared(tile) && self.is_given_back {
            self.meet();
        }
        self.made.push(json!({"op": "alloc", "allocation": self.world.name(tile)}));
    }

    fn give_back(&mut self, tile: u32) {
        self.is_given_back |= self.touched.contains_key(&tile);
        self.made.push(json!({"op": "free", "allocation": self.world.name(tile)}));
    }

    fn meet(&mut self) {
        self.made.push(json!({"op": "sync"}));
        self.touched.clear();
        self.is_given_back = false;
    }

    fn meet_if_touched(&mut self) {
        if self.is_given_back || !self.touched.is_empty() {
            self.meet();
        }
    }

    /// Meets, if what an instruction is about to touch needs it; and notes it.
    fn meet_before(&mut self, about: &[(u32, Slot, bool)]) {
        let is_other = |a: Slot, b: Slot, buffers: i64| {
            a.is_of_iteration == b.is_of_iteration && (a.number - b.number) % buffers.max(1) != 0
        };
        let shared: Vec<_> = about.iter().copied().filter(|&(tile, ..)| self.is_shared(tile)).collect();
        let is_needed = shared.iter().any(|&(tile, slot, is_written)| {
            self.touched.get(&tile).into_iter().flatten().any(|before| {
                (is_written || before.is_written)
                    && !is_other(before.slot, slot, self.world.value(tile).buffers)
            })
        });
        if is_needed {
            self.meet();
        }
        shared.into_iter().for_each(|(tile, slot, is_written)| self.touch(tile, slot, is_written));
    }

    fn touch(&mut self, tile: u32, slot: Slot, is_written: bool) {
        let all = self.touched.entry(tile).or_default();
        // Noted once: a tile may be read any number of times.
        if !all.iter().any(|known| known.slot == slot && known.is_written == is_written) {
            all.push(Touched { slot, is_written });
        }
    }

    /// The slot that a node reads or writes.
    fn slot(&self, tile: u32) -> Slot {
        Slot { is_of_iteration: self.prefetched.contains(&tile), number: 0 }
    }

    fn slot_form(&self, tile: u32, slot: Slot) -> Option<Json> {
        let buffers = self.world.value(tile).buffers;
        let form = match &self.stream {
            Some(run) if slot.is_of_iteration => Form::name(&run.number).plus(slot.number),
            _ => Form::number(slot.number % buffers.max(1)),
        };
        (buffers > 1 && form != Form::number(0)).then(|| form.json())
    }

    /// A tile as it is in the iteration that is run.
    fn view(&mut self, tile: u32, slot: Slot) -> Json {
        let extents = self.shaped.extents(tile).iter().map(|extent| self.extent(extent)).collect();
        self.view_of(tile, slot, extents)
    }

    fn view_of(&self, tile: u32, slot: Slot, extents: Vec<Json>) -> Json {
        let mut view = json!({"buffer": self.world.name(tile)});
        if let Some(slot) = self.slot_form(tile, slot) {
            view["slot"] = slot;
        }
        if extents != self.world.value(tile).shape.iter().map(|&extent| json!(extent)).collect::<Vec<_>>() {
            view["extent"] = json!(extents);
        }
        view
    }

    fn rest(&self, extent: &Extent) -> Option<Form> {
        let rest = extent.rest.as_ref()?;
        Some(Form::of_affine(&self.world.document.names, &self.shaped.axes, rest))
    }

    fn extent(&mut self, extent: &Extent) -> Json {
        let Some(rest) = self.rest(extent) else { return json!(extent.size) };
        if let Some(number) = rest.as_number() {
            return json!(number.min(extent.size));
        }
        let which = usize::from(self.stream.as_ref().is_some_and(|run| rest.has(&run.axis)));
        let key = (extent.size, rest);
        if let Some((name, _)) = self.known[which].get(&key) {
            return json!(name);
        }
        let (name, json) = least(&mut self.names, &key);
        self.known[which].insert(key, (name.clone(), json));
        json!(name)
    }

    fn node(&mut self, site: &Site<'_>, raw: &Json) {
        let node = site.node;
        let indices = |nest: &Self| -> Vec<Form> {
            let all = node.op.at().unwrap_or_default();
            all.iter().map(|index| Form::of(&nest.world.document.names, index)).collect()
        };
        let json = |forms: &[Form]| forms.iter().map(Form::json).collect::<Vec<Json>>();
        match (&node.op, moves(node)) {
            (Op::Prefetch(_, version), _) => self.prefetch(site, &indices(self), *version),
            (Op::Barrier(waits), _) => {
                let mut slots = Vec::new();
                for &(tile, version) in waits {
                    let slot = Slot { is_of_iteration: site.body == Body::Each, number: version };
                    let mut waited = json!({"buffer": self.world.name(tile)});
                    if let Some(slot) = self.slot_form(tile, slot) {
                        waited["slot"] = slot;
                    }
                    slots.push(waited);
                    // What has landed, a thread has written.
                    if self.is_shared(tile) {
                        self.touch(tile, slot, true);
                    }
                }
                self.made.push(json!({"op": "wait", "for": slots}));
            }
            (_, Some(moved)) => {
                let slot = if moved.stores { self.slot(moved.tile) } else { FIRST };
                self.meet_before(&[(moved.tile, slot, !moved.stores)]);
                let view = self.view(moved.tile, slot);
                let (op, side) = if moved.stores { ("store", "in") } else { ("load", "out") };
                let tensor = self.world.name(moved.tensor);
                self.made.push(json!({"op": op, "tensor": tensor, "at": json(&indices(self)), side: view}));
            }
            _ => self.compute(site, raw),
        }
    }

    fn compute(&mut self, site: &Site<'_>, raw: &Json) {
        let node = site.node;
        let read = node.ins.iter().map(|&tile| (tile, self.slot(tile), false));
        let about: Vec<_> = read.chain(node.outs.iter().map(|&tile| (tile, FIRST, true))).collect();
        self.meet_before(&about);
        let op = match node.op {
            Op::Reduce(..) => "reduce",
            Op::UpdateState(_) => "update",
            _ => "compute",
        };
        let mut made = json!({"op": op});
        for member in MEMBERS.iter().filter(|member| raw.get(**member).is_some()) {
            made[*member] = raw[*member].clone();
        }
        made["in"] = node.ins.iter().map(|&tile| self.view(tile, self.slot(tile))).collect();
        made["out"] = node.outs.iter().map(|&tile| self.view(tile, FIRST)).collect();
        self.made.push(made);
    }

    /// A load that begins now, of an iteration that may not be there.
    fn prefetch(&mut self, site: &Site<'_>, at: &[Form], version: i64) {
        let (Some(moved), Some(run)) = (moves(site.node), &self.stream) else { return };
        let slot = Slot { is_of_iteration: site.body == Body::Each, number: version };
        let base = if slot.is_of_iteration { Form::name(&run.axis) } else { run.from.clone() };
        let value = base.plus(version.saturating_mul(run.step));
        let (axis, left) = (run.axis.clone(), run.to.clone().plus(-1).minus(&value));
        let needs_no_test = slot.is_of_iteration && version == 0;
        if !needs_no_test && left.as_number().is_some_and(|left| left < 0) {
            return;
        }
        self.meet_before(&[(moved.tile, slot, true)]);
        let mut body = Vec::new();
        let mut extents = Vec::new();
        for extent in self.shaped.part(self.world, site.node, &moved) {
            let rest = self.rest(&extent).filter(|rest| rest.has(&axis));
            extents.push(match rest.map(|rest| rest.with(&axis, &value)) {
                None => self.extent(&extent),
                Some(rest) => match rest.as_number() {
                    Some(number) => json!(number.min(extent.size)),
                    None => {
                        let (name, json) = least(&mut self.names, &(extent.size, rest));
                        body.push(json);
                        json!(name)
                    }
                },
            });
        }
        let at: Vec<Json> = at.iter().map(|form| form.clone().with(&axis, &value).json()).collect();
        let view = self.view_of(moved.tile, slot, extents);
        let tensor = self.world.name(moved.tensor);
        body.push(json!({"op": "prefetch", "tensor": tensor, "at": at, "out": view}));
        if needs_no_test || left.as_number().is_some() {
            self.made.append(&mut body);
        } else {
            self.made.push(json!({"op": "if", "all": [left.json()], "body": body}));
        }
    }
}

/// A name for the least of a number and a form, and the instruction for it.
fn least(names: &mut Names, (size, rest): &(i64, Form)) -> (String, Json) {
    let name = names.free("n");
    let json = json!({"op": "let", "name": name, "fn": "min", "of": [size, rest.json()]});
    (name, json)
}
