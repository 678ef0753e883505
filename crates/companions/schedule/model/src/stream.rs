//! Reading a schedule in one pass over its text. Each task is made into its record before the next one is read, so that a large document
//! is never held as a tree of values. Whatever is not as the format says ends it: then [`crate::decode`] says what is wrong.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use megakernel_ir::stream::{Names, Reader, once};

use crate::document::{
    Access, Add, Bounds, Copies, Count, Event, Init, Kind, Memory, NameId, Phase, Region, Repeat, Schedule,
    Storage, Task, Tensor,
};

/// Reads a text that breaks none of the rules S01 to S05. Nothing where it breaks one.
pub fn read_text(text: &str) -> Option<Schedule> {
    let mut reader = Reader::new(text);
    let schedule = schedule(&mut reader)?;
    reader.end()?;
    Some(schedule)
}

/// Regions that were met lately, each at a place that its numbers make.
struct Regions(Vec<Rc<Region>>);

impl Regions {
    fn new() -> Regions {
        Regions(vec![Rc::default(); 1024])
    }

    /// The region, or one that was met and is the same.
    fn shared(&mut self, region: Region) -> Rc<Region> {
        let mix = |mixed: u64, number: &i64| {
            (mixed ^ *number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
        };
        let place = region.bounds.iter().flatten().fold(0, mix) as usize % self.0.len();
        let met = &mut self.0[place];
        if **met != region {
            *met = Rc::new(region);
        }
        met.clone()
    }
}

/// What is needed to read tasks.
struct Tasks<'t> {
    names: Names<'t>,
    regions: Regions,
    /// The list that is being read: those of the records have no room to spare, since there are very many of them.
    counts: Vec<Count>,
    accesses: Vec<Access>,
}

fn schedule(reader: &mut Reader<'_>) -> Option<Schedule> {
    let mut of =
        Tasks { names: Names::new(), regions: Regions::new(), counts: Vec::new(), accesses: Vec::new() };
    let (mut tensors, mut storages, mut events) = (None, None, None);
    let (mut any_order, mut memory, mut tasks) = (None, None, None);
    reader.object(|reader, member| match member {
        "tensors" => once(&mut tensors, named(reader, &mut of.names, tensor)),
        "storages" => once(&mut storages, named(reader, &mut of.names, storage)),
        "events" => once(&mut events, named(reader, &mut of.names, event)),
        "any_order" => once(&mut any_order, reader.list(Reader::integer)),
        "memory" => once(&mut memory, self::memory(reader)),
        "tasks" => once(&mut tasks, reader.list(|reader| of.task(reader))),
        _ => Some(false),
    })?;
    let (storages, events) = (storages.unwrap_or_default(), events.unwrap_or_default());
    let (any_order, memory) = (any_order.unwrap_or_default(), memory.unwrap_or_default());
    let (tensors, tasks) = (tensors?, tasks?);
    let names = of.names.into_texts();
    Some(Schedule { names, tensors, storages, events, any_order, memory, tasks })
}

/// An object by names, in their order; no name stands there twice.
fn named<'t, T>(
    reader: &mut Reader<'t>,
    names: &mut Names<'t>,
    mut value: impl FnMut(&mut Reader<'t>, NameId, &mut Names<'t>) -> Option<T>,
) -> Option<Vec<T>> {
    let mut all = BTreeMap::new();
    reader.members(|reader, name| {
        let id = names.number(name.clone()).into();
        let value = value(reader, id, names)?;
        all.insert(name, value).is_none().then_some(())
    })?;
    Some(all.into_values().collect())
}

/// One of some names.
fn one_of<T: Copy>(reader: &mut Reader<'_>, all: &[(&str, T)]) -> Option<T> {
    let name = reader.string()?;
    all.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

fn tensor<'t>(reader: &mut Reader<'t>, name: NameId, names: &mut Names<'t>) -> Option<Tensor> {
    let (mut shape, mut kind, mut init, mut element) = (None, None, None, None);
    let (mut storage, mut offset, mut view) = (None, None, None);
    reader.object(|reader, member| match member {
        "shape" => once(&mut shape, reader.list(Reader::integer)),
        "kind" => once(&mut kind, one_of(reader, &Kind::ALL)),
        "init" => once(&mut init, self::init(reader)),
        "element" => once(&mut element, reader.integer()),
        "storage" => once(&mut storage, reader.nullable(Reader::string)),
        "offset" => once(&mut offset, reader.integer()),
        "view" => once(&mut view, reader.nullable(Reader::string)),
        _ => Some(false),
    })?;
    let mut id = |name: Option<Option<Cow<'t, str>>>| name.flatten().map(|name| names.number(name).into());
    Some(Tensor {
        name,
        shape: shape?,
        kind: kind.unwrap_or(Kind::Activation),
        init: init.unwrap_or(Init::Never),
        element: element.unwrap_or(1),
        storage: id(storage),
        offset: offset.unwrap_or(0),
        view: id(view),
    })
}

/// `true`, `false` or `once`.
fn init(reader: &mut Reader<'_>) -> Option<Init> {
    if reader.word("true") {
        Some(Init::Launch)
    } else if reader.word("false") {
        Some(Init::Never)
    } else {
        one_of(reader, &[("once", Init::Once)])
    }
}

fn storage<'t>(reader: &mut Reader<'t>, name: NameId, _: &mut Names<'t>) -> Option<Storage> {
    let mut bytes = None;
    reader.object(|reader, member| match member {
        "bytes" => once(&mut bytes, reader.integer()),
        _ => Some(false),
    })?;
    Some(Storage { name, bytes: bytes? })
}

fn event<'t>(reader: &mut Reader<'t>, name: NameId, _: &mut Names<'t>) -> Option<Event> {
    let mut period = None;
    reader.object(|reader, member| match member {
        "period" => once(&mut period, reader.nullable(Reader::integer)),
        _ => Some(false),
    })?;
    Some(Event { name, period: period.flatten() })
}

fn memory(reader: &mut Reader<'_>) -> Option<Memory> {
    let (mut signal, mut wait, mut queue) = (None, None, None);
    reader.object(|reader, member| match member {
        "signal" => once(&mut signal, one_of(reader, &Memory::SIGNAL)),
        "wait" => once(&mut wait, one_of(reader, &Memory::WAIT)),
        "queue" => once(&mut queue, one_of(reader, &Memory::QUEUE)),
        _ => Some(false),
    })?;
    let sound = Memory::default();
    Some(Memory {
        signal: signal.unwrap_or(sound.signal),
        wait: wait.unwrap_or(sound.wait),
        queue: queue.unwrap_or(sound.queue),
    })
}

impl<'t> Tasks<'t> {
    fn task(&mut self, reader: &mut Reader<'t>) -> Option<Task> {
        let (mut phases, mut queue, mut name, mut repeat, mut source) = (None, None, None, None, None);
        reader.object(|reader, member| match member {
            "phases" => once(&mut phases, self.phases(reader)),
            "queue" => once(&mut queue, reader.nullable(Reader::integer)),
            "name" => once(&mut name, reader.string()),
            "repeat" => once(&mut repeat, reader.nullable(self::repeat)),
            "source" => once(&mut source, reader.string()),
            _ => Some(false),
        })?;
        let (name, source) = (name.unwrap_or_default().into_owned(), source.unwrap_or_default().into_owned());
        Some(Task { name, source, queue: queue.flatten(), repeat: repeat.flatten(), phases: phases? })
    }

    fn phases(&mut self, reader: &mut Reader<'t>) -> Option<Vec<Phase>> {
        let mut phases = Vec::with_capacity(1);
        reader.array(|reader| self.phase(reader).map(|phase| phases.push(phase)))?;
        phases.shrink_to_fit();
        Some(phases)
    }

    fn phase(&mut self, reader: &mut Reader<'t>) -> Option<Phase> {
        let (mut waits, mut reads, mut writes, mut adds, mut signals) = (None, None, None, None, None);
        reader.object(|reader, member| match member {
            "waits" => once(&mut waits, self.counted(reader)),
            "reads" => once(&mut reads, self.accessed(reader)),
            "writes" => once(&mut writes, self.accessed(reader)),
            "adds" => once(&mut adds, reader.list(|reader| self.add(reader))),
            "signals" => once(&mut signals, self.counted(reader)),
            _ => Some(false),
        })?;
        let (waits, signals) = (waits.unwrap_or_default(), signals.unwrap_or_default());
        let (reads, writes) = (reads.unwrap_or_default(), writes.unwrap_or_default());
        Some(Phase { waits, reads, writes, adds: adds.unwrap_or_default(), signals })
    }

    fn name(&mut self, reader: &mut Reader<'t>) -> Option<NameId> {
        Some(self.names.number(reader.string()?).into())
    }

    fn counted(&mut self, reader: &mut Reader<'t>) -> Option<Vec<Count>> {
        reader.array(|reader| {
            let (event, number) = reader.pair(|reader| self.name(reader), Reader::integer)?;
            self.counts.push(Count { event, number });
            Some(())
        })?;
        Some(self.counts.drain(..).collect())
    }

    fn accessed(&mut self, reader: &mut Reader<'t>) -> Option<Vec<Access>> {
        reader.array(|reader| {
            let (tensor, region) = reader.pair(|reader| self.name(reader), region)?;
            let region = region.map(|region| self.regions.shared(region));
            self.accesses.push(Access { tensor, region });
            Some(())
        })?;
        Some(self.accesses.drain(..).collect())
    }

    /// A tensor, a region, and perhaps a group.
    fn add(&mut self, reader: &mut Reader<'t>) -> Option<Add> {
        let group = |reader: &mut Reader<'t>| reader.nullable(Reader::string);
        let last = |reader: &mut Reader<'t>| Some((region(reader)?, reader.further(group)?));
        let (tensor, (region, group)) = reader.pair(|reader| self.name(reader), last)?;
        let group = group.flatten().map(|group| self.names.number(group).into());
        let region = region.map(|region| self.regions.shared(region));
        Some(Add { access: Access { tensor, region }, group })
    }
}

fn repeat(reader: &mut Reader<'_>) -> Option<Repeat> {
    let (mut times, mut queue_step, mut queues) = (None, None, None);
    reader.object(|reader, member| match member {
        "times" => once(&mut times, reader.integer()),
        "queue_step" => once(&mut queue_step, reader.integer()),
        "queues" => once(&mut queues, reader.nullable(Reader::integer)),
        _ => Some(false),
    })?;
    Some(Repeat { times: times?, queue_step: queue_step.unwrap_or(0), queues: queues.flatten() })
}

/// Null, a box, or an object with one.
fn region(reader: &mut Reader<'_>) -> Option<Option<Region>> {
    match reader.peek()? {
        b'[' => Some(Some(Region { bounds: bounds(reader)?, object: None })),
        b'{' => {
            let (mut bounds, mut runs, mut shift) = (None, None, None);
            reader.object(|reader, member| match member {
                "box" => once(&mut bounds, self::bounds(reader)),
                "runs" => once(&mut runs, reader.list(run)),
                "shift" => once(&mut shift, reader.list(Reader::integer)),
                _ => Some(false),
            })?;
            let copies = Copies { runs: runs.unwrap_or_default(), shift };
            Some(Some(Region { bounds: bounds?, object: Some(Box::new(copies)) }))
        }
        _ => reader.word("null").then_some(None),
    }
}

fn bounds(reader: &mut Reader<'_>) -> Option<Bounds> {
    let mut bounds = Bounds::new();
    reader.array(|reader| {
        let (lo, hi) = reader.pair(Reader::integer, Reader::integer)?;
        bounds.push([lo, hi]);
        Some(())
    })?;
    Some(bounds)
}

fn run(reader: &mut Reader<'_>) -> Option<[i64; 3]> {
    let last = |reader: &mut Reader<'_>| Some((reader.integer()?, reader.further(Reader::integer)??));
    let (axis, (step, count)) = reader.pair(Reader::integer, last)?;
    Some([axis, step, count])
}
