//! From JSON values to records: rules S03, S04 and S05. The text itself, S01 and S02, is judged before.

use std::collections::HashMap;
use std::rc::Rc;

use megakernel_ir::Rule;
pub use megakernel_ir::decode::Fault;
use megakernel_ir::decode::{Decode, Intern, Place};
use serde_json::Value;

use crate::document::{
    Access, Add, Copies, Count, Event, Init, Kind, Memory, NameId, Phase, Region, Repeat, Schedule, Storage,
    Task, Tensor,
};

/// Reads a schedule.
///
/// # Errors
/// Faults of the rules S03 to S05; never none.
pub fn read(value: &Value) -> Result<Schedule, Vec<Fault>> {
    let mut decoder = Decoder::default();
    let read = decoder.schedule(&Place::root(value));
    match read {
        Some(read) if decoder.faults.is_empty() => Ok(Schedule { names: decoder.names(), ..read }),
        _ => Err(decoder.faults),
    }
}

#[derive(Default)]
pub(crate) struct Decoder {
    pub(crate) faults: Vec<Fault>,
    names: HashMap<String, u32>,
}

impl Decode for Decoder {
    fn fault(&mut self, rule: Rule, at: &Place<'_>, message: String) {
        self.faults.push(Fault::new(rule, at.pointer(), message));
    }
}

impl Intern for Decoder {
    fn met(&mut self) -> &mut HashMap<String, u32> {
        &mut self.names
    }
}

impl Decoder {
    /// One of some names, each with what it stands for.
    pub(crate) fn one_of<T: Copy>(
        &mut self,
        at: &Place<'_>,
        what: &str,
        all: &[(&'static str, T)],
    ) -> Option<T> {
        self.named(at, what, all, |(name, _)| name).map(|(_, value)| value)
    }

    fn name_id(&mut self, at: &Place<'_>) -> Option<NameId> {
        self.name(at).map(NameId::from)
    }

    /// The names that were met, by number.
    pub(crate) fn names(&mut self) -> Vec<String> {
        let mut names = vec![String::new(); self.names.len()];
        for (name, id) in self.names.drain() {
            if let Some(place) = names.get_mut(id as usize) {
                *place = name;
            }
        }
        names
    }

    /// A schedule, without the texts of its names.
    pub(crate) fn schedule(&mut self, at: &Place<'_>) -> Option<Schedule> {
        self.object(at)?;
        let tensors = self.required(at, "tensors", |decoder, at| Some(decoder.map(at, Decoder::tensor)));
        let storages = self.optional(at, "storages", |decoder, at| Some(decoder.map(at, Decoder::storage)));
        let events = self.optional(at, "events", |decoder, at| Some(decoder.map(at, Decoder::event)));
        let any_order = self.list(at, "any_order", Decoder::integer);
        let memory = self.optional(at, "memory", Decoder::memory).unwrap_or_default();
        let tasks = self.required(at, "tasks", |decoder, at| decoder.array(at, Decoder::task));
        let (storages, events) = (storages.unwrap_or_default(), events.unwrap_or_default());
        Some(Schedule {
            names: Vec::new(),
            tensors: tensors?,
            storages,
            events,
            any_order,
            memory,
            tasks: tasks?,
        })
    }

    fn tensor(&mut self, name: u32, at: &Place<'_>) -> Option<Tensor> {
        self.object(at)?;
        let shape = self.required(at, "shape", |decoder, at| decoder.array(at, Decoder::integer));
        let kind = self.optional(at, "kind", |decoder, at| decoder.one_of(at, "kind of tensor", &Kind::ALL));
        let init = self.optional(at, "init", Decoder::init).unwrap_or(Init::Never);
        let element = self.optional(at, "element", Decoder::integer).unwrap_or(1);
        let storage = self.nullable(at, "storage", Decoder::name_id);
        let offset = self.optional(at, "offset", Decoder::integer).unwrap_or(0);
        let view = self.nullable(at, "view", Decoder::name_id);
        let (name, kind) = (name.into(), kind.unwrap_or(Kind::Activation));
        Some(Tensor { name, shape: shape?, kind, init, element, storage, offset, view })
    }

    fn init(&mut self, at: &Place<'_>) -> Option<Init> {
        match at.value {
            Value::Bool(true) => Some(Init::Launch),
            Value::Bool(false) => Some(Init::Never),
            Value::String(_) => self.one_of(at, "value of `init`", &[("once", Init::Once)]),
            _ => {
                self.wrong_type(at, "true, false or `once`");
                None
            }
        }
    }

    fn storage(&mut self, name: u32, at: &Place<'_>) -> Option<Storage> {
        self.object(at)?;
        Some(Storage { name: name.into(), bytes: self.required(at, "bytes", Decoder::integer)? })
    }

    fn event(&mut self, name: u32, at: &Place<'_>) -> Option<Event> {
        self.object(at)?;
        Some(Event { name: name.into(), period: self.nullable(at, "period", Decoder::integer) })
    }

    fn memory(&mut self, at: &Place<'_>) -> Option<Memory> {
        self.object(at)?;
        let sound = Memory::default();
        let signal = self
            .optional(at, "signal", |decoder, at| decoder.one_of(at, "order of a signal", &Memory::SIGNAL));
        let wait =
            self.optional(at, "wait", |decoder, at| decoder.one_of(at, "order of a wait", &Memory::WAIT));
        let queue =
            self.optional(at, "queue", |decoder, at| decoder.one_of(at, "order of a queue", &Memory::QUEUE));
        Some(Memory {
            signal: signal.unwrap_or(sound.signal),
            wait: wait.unwrap_or(sound.wait),
            queue: queue.unwrap_or(sound.queue),
        })
    }

    fn task(&mut self, at: &Place<'_>) -> Option<Task> {
        self.object(at)?;
        let phases = self.required(at, "phases", |decoder, at| decoder.array(at, Decoder::phase));
        let queue = self.nullable(at, "queue", Decoder::integer);
        let name = self.optional(at, "name", Decoder::text).unwrap_or_default();
        let repeat = self.nullable(at, "repeat", Decoder::repeat);
        let source = self.optional(at, "source", Decoder::text).unwrap_or_default();
        Some(Task { name, source, queue, repeat, phases: phases? })
    }

    fn repeat(&mut self, at: &Place<'_>) -> Option<Repeat> {
        self.object(at)?;
        let times = self.required(at, "times", Decoder::integer);
        let queue_step = self.optional(at, "queue_step", Decoder::integer).unwrap_or(0);
        let queues = self.nullable(at, "queues", Decoder::integer);
        Some(Repeat { times: times?, queue_step, queues })
    }

    fn phase(&mut self, at: &Place<'_>) -> Option<Phase> {
        self.object(at)?;
        Some(Phase {
            waits: self.list(at, "waits", |decoder, at| decoder.count(at, "[event, count]")),
            reads: self.list(at, "reads", Decoder::access),
            writes: self.list(at, "writes", Decoder::access),
            adds: self.list(at, "adds", Decoder::addition),
            signals: self.list(at, "signals", |decoder, at| decoder.count(at, "[event, amount]")),
        })
    }

    /// The elements of an array that has one of these lengths.
    fn elements<'a>(
        &mut self,
        at: &'a Place<'a>,
        lengths: &[usize],
        required: &str,
    ) -> Option<Vec<Place<'a>>> {
        let elements = at.value.as_array().filter(|elements| lengths.contains(&elements.len()));
        let Some(elements) = elements else {
            self.wrong_type(at, required);
            return None;
        };
        let place = |(index, value)| at.element(index, value);
        Some(elements.iter().enumerate().map(place).collect())
    }

    fn count(&mut self, at: &Place<'_>, required: &str) -> Option<Count> {
        let elements = self.elements(at, &[2], required)?;
        self.counted(&elements)
    }

    /// An event and a number.
    pub(crate) fn counted(&mut self, elements: &[Place<'_>]) -> Option<Count> {
        let event = self.name_id(elements.first()?);
        let number = self.integer(elements.get(1)?);
        Some(Count { event: event?, number: number? })
    }

    fn access(&mut self, at: &Place<'_>) -> Option<Access> {
        let elements = self.elements(at, &[2], "[tensor, region]")?;
        self.part(&elements)
    }

    /// A tensor and a region.
    pub(crate) fn part(&mut self, elements: &[Place<'_>]) -> Option<Access> {
        let tensor = self.name_id(elements.first()?);
        let region = elements.get(1)?;
        let region = if region.value.is_null() {
            Some(None)
        } else {
            self.region(region).map(|region| Some(Rc::new(region)))
        };
        Some(Access { tensor: tensor?, region: region? })
    }

    fn addition(&mut self, at: &Place<'_>) -> Option<Add> {
        let elements = self.elements(at, &[2, 3], "[tensor, region, group]")?;
        let access = self.part(&elements);
        let group = match elements.get(2).filter(|group| !group.value.is_null()) {
            None => Some(None),
            Some(group) => self.name_id(group).map(Some),
        };
        Some(Add { access: access?, group: group? })
    }

    fn region(&mut self, at: &Place<'_>) -> Option<Region> {
        if at.value.is_array() {
            let bounds = self.array(at, Decoder::interval)?;
            return Some(Region { bounds: bounds.into(), object: None });
        }
        if !at.value.is_object() {
            self.wrong_type(at, "null, an array of intervals, or an object with a `box`");
            return None;
        }
        let bounds = self.required(at, "box", |decoder, at| decoder.array(at, Decoder::interval));
        let runs = self.list(at, "runs", Decoder::run);
        let shift = self.optional(at, "shift", |decoder, at| decoder.array(at, Decoder::integer));
        Some(Region { bounds: bounds?.into(), object: Some(Box::new(Copies { runs, shift })) })
    }

    fn interval(&mut self, at: &Place<'_>) -> Option<[i64; 2]> {
        let elements = self.elements(at, &[2], "[lo, hi]")?;
        let (lo, hi) = (self.integer(elements.first()?), self.integer(elements.get(1)?));
        Some([lo?, hi?])
    }

    fn run(&mut self, at: &Place<'_>) -> Option<[i64; 3]> {
        let elements = self.elements(at, &[3], "[axis, step, count]")?;
        let mut read = |index: usize| self.integer(elements.get(index)?);
        let (axis, step, count) = (read(0), read(1), read(2));
        Some([axis?, step?, count?])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(value: &Value) -> Vec<(String, String)> {
        let faults = read(value).expect_err("a fault");
        faults.into_iter().map(|fault| (fault.rule.id().to_owned(), fault.pointer)).collect()
    }

    #[test]
    fn every_wrong_member_is_found_at_its_place() {
        let found = faults(&json!({
            "tensors": {"a/b": {"kind": "buffer", "init": 1}, "c": {"shape": [1.5]}},
            "memory": {"queue": "fifo"},
            "tasks": [
                {"phases": [{"waits": [["e"]], "reads": [["c", [[0]]]], "adds": [["c", {"runs": []}, 1]]}]},
                {"queue": "0", "repeat": {}}]}));
        let expected = [
            ("S03", "/tensors/a~1b"),
            ("S05", "/tensors/a~1b/kind"),
            ("S04", "/tensors/a~1b/init"),
            ("S04", "/tensors/c/shape/0"),
            ("S05", "/memory/queue"),
            ("S04", "/tasks/0/phases/0/waits/0"),
            ("S04", "/tasks/0/phases/0/reads/0/1/0"),
            ("S03", "/tasks/0/phases/0/adds/0/1"),
            ("S04", "/tasks/0/phases/0/adds/0/2"),
            ("S03", "/tasks/1"),
            ("S04", "/tasks/1/queue"),
            ("S03", "/tasks/1/repeat"),
        ];
        assert_eq!(found, expected.map(|(rule, pointer)| (rule.to_owned(), pointer.to_owned())));
    }

    #[test]
    fn names_are_numbers_and_defaults_are_those_of_the_clause() {
        let read = read(&json!({
            "tensors": {"x": {"shape": [4]}},
            "tasks": [{"phases": [{"adds": [["x", null]], "signals": [["x", 1]]}]}]}))
        .expect("a schedule");
        assert_eq!(read.names, ["x"]);
        let tensor = &read.tensors[0];
        assert_eq!((tensor.kind, tensor.init, tensor.element), (Kind::Activation, Init::Never, 1));
        assert_eq!(read.memory, Memory { signal: true, wait: true, queue: false });
        assert!(read.tasks[0].phases[0].adds[0].group.is_none());
    }
}
