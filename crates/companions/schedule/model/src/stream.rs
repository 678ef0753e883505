//! Reading a schedule in one pass over its text. Each task is made into its record before the next one is read, so that a large document
//! is never held as a tree of values. Whatever is not as the format says ends it: then [`crate::decode`] says what is wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use megakernel_ir::decode::Intern;
use megakernel_ir::model::{Extra, Text};
use megakernel_ir::record::check_extra;
use megakernel_ir::record::serde::de::value::MapAccessDeserializer;
use megakernel_ir::record::serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor,
};

use crate::decode::Decoder;
use crate::document::{
    Access, Add, Copies, Count, Event, Init, Kind, Memory, Phase, Region, Repeat, Schedule, Storage, Task,
    Tensor,
};

/// Reads a text that breaks none of the rules S01 to S05. Nothing where it breaks one, or nests deeper than the JSON reader goes.
pub fn read_text(text: &str) -> Option<Schedule> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let schedule = reader.deserialize_map(Document).ok()?;
    reader.end().ok()?;
    Some(schedule)
}

struct Document;

impl<'de> Visitor<'de> for Document {
    type Value = Schedule;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a schedule")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Schedule, A::Error> {
        let mut names = Decoder::default();
        let (mut tensors, mut storages, mut events) = (None, None, None);
        let (mut any_order, mut memory, mut tasks) = (None, None, None);
        let mut extra = Extra::new();
        while let Some(member) = members.next_key::<Text<'de>>()? {
            let is_repeated = match &*member {
                "tensors" => tensors.replace(members.next_value::<Named<WireTensor<'de>>>()?).is_some(),
                "storages" => storages.replace(members.next_value::<Named<WireStorage<'de>>>()?).is_some(),
                "events" => events.replace(members.next_value::<Named<WireEvent<'de>>>()?).is_some(),
                "any_order" => any_order.replace(members.next_value::<Vec<i64>>()?).is_some(),
                "memory" => memory.replace(members.next_value::<WireMemory<'de>>()?).is_some(),
                "tasks" => tasks.replace(members.next_value_seed(Tasks(&mut names))?).is_some(),
                _ => {
                    extra.push((member, members.next_value()?));
                    false
                }
            };
            if is_repeated {
                return Err(A::Error::custom("a member twice"));
            }
        }
        check_extra(&extra).map_err(A::Error::custom)?;
        let (Some(Named(tensors)), Some(tasks)) = (tensors, tasks) else {
            return Err(A::Error::custom("a member is missing"));
        };
        let tensors: Option<Vec<Tensor>> =
            tensors.into_iter().map(|(name, wire)| wire.made(&name, &mut names)).collect();
        let storages = storages.into_iter().flat_map(|Named(all)| all);
        let storages = storages.map(|(name, wire)| Storage { name: names.intern(&name), bytes: wire.bytes });
        let storages: Vec<Storage> = storages.collect();
        let events = events.into_iter().flat_map(|Named(all)| all);
        let events = events.map(|(name, wire)| Event { name: names.intern(&name), period: wire.period });
        let events: Vec<Event> = events.collect();
        let memory = memory.map_or_else(|| Some(Memory::default()), |wire| wire.made());
        let (Some(tensors), Some(memory)) = (tensors, memory) else {
            return Err(A::Error::custom("an unknown name"));
        };
        let any_order = any_order.unwrap_or_default();
        Ok(Schedule { names: names.names(), tensors, storages, events, any_order, memory, tasks })
    }
}

/// An object by names, in their order; no name stands there twice.
struct Named<T>(BTreeMap<String, T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Named<T>, D::Error> {
        reader.deserialize_map(NamedVisitor(PhantomData))
    }
}

struct NamedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for NamedVisitor<T> {
    type Value = Named<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Named<T>, A::Error> {
        let mut all = BTreeMap::new();
        while let Some((name, value)) = members.next_entry()? {
            if all.insert(name, value).is_some() {
                return Err(A::Error::custom("a name twice"));
            }
        }
        Ok(Named(all))
    }
}

/// The tasks, one after the other.
struct Tasks<'n>(&'n mut Decoder);

impl<'de> DeserializeSeed<'de> for Tasks<'_> {
    type Value = Vec<Task>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Vec<Task>, D::Error> {
        reader.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Tasks<'_> {
    type Value = Vec<Task>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of tasks")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<Task>, A::Error> {
        let mut tasks = Vec::new();
        while let Some(wire) = elements.next_element::<WireTask<'de>>()? {
            tasks.push(wire.made(self.0));
        }
        Ok(tasks)
    }
}

/// Declares a record of the text: each member with its type, and what it is where it is absent, if it may be.
///
/// serde's derive would also take an array for an object, and an object for a name.
macro_rules! wire {
    ($record:ident { $($member:ident $name:literal: $type:ty = $absent:expr;)+ }) => {
        struct $record<'a> {
            $($member: $type,)+
            /// There may be none else that borrows.
            text: PhantomData<&'a str>,
        }

        impl<'de: 'a, 'a> Deserialize<'de> for $record<'a> {
            fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
                struct Members<'a>(PhantomData<&'a str>);
                impl<'de: 'a, 'a> Visitor<'de> for Members<'a> {
                    type Value = $record<'a>;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
                        $(let mut $member: Option<$type> = None;)+
                        let mut extra = Extra::new();
                        while let Some(name) = members.next_key::<Text<'de>>()? {
                            match &*name {
                                $($name => {
                                    if $member.replace(members.next_value()?).is_some() {
                                        return Err(A::Error::duplicate_field($name));
                                    }
                                })+
                                _ => extra.push((name, members.next_value()?)),
                            }
                        }
                        check_extra(&extra).map_err(A::Error::custom)?;
                        Ok($record {
                            $($member: $member.or($absent).ok_or_else(|| A::Error::missing_field($name))?,)+
                            text: PhantomData,
                        })
                    }
                }
                reader.deserialize_map(Members(PhantomData))
            }
        }
    };
}

wire! {
    WireTensor {
        shape "shape": Vec<i64> = None;
        kind "kind": Text<'a> = Some(Text::from("activation"));
        init "init": WireInit = Some(WireInit(Init::Never));
        element "element": i64 = Some(1);
        storage "storage": Option<Text<'a>> = Some(None);
        offset "offset": i64 = Some(0);
        view "view": Option<Text<'a>> = Some(None);
    }
}

impl WireTensor<'_> {
    fn made(self, name: &str, names: &mut Decoder) -> Option<Tensor> {
        let kind = Kind::ALL.iter().find(|(known, _)| **known == *self.kind).map(|(_, kind)| *kind)?;
        let WireInit(init) = self.init;
        Some(Tensor {
            name: names.intern(name),
            shape: self.shape,
            kind,
            init,
            element: self.element,
            storage: self.storage.map(|name| names.intern(&name)),
            offset: self.offset,
            view: self.view.map(|name| names.intern(&name)),
        })
    }
}

wire! {
    WireStorage {
        bytes "bytes": i64 = None;
    }
}

wire! {
    WireEvent {
        period "period": Option<i64> = Some(None);
    }
}

wire! {
    WireMemory {
        signal "signal": Text<'a> = Some(Text::from("release"));
        wait "wait": Text<'a> = Some(Text::from("acquire"));
        queue "queue": Text<'a> = Some(Text::from("unordered"));
    }
}

impl WireMemory<'_> {
    fn made(&self) -> Option<Memory> {
        let choice =
            |found: &str, [yes, no]: [&str; 2]| (found == yes || found == no).then_some(found == yes);
        Some(Memory {
            signal: choice(&self.signal, ["release", "relaxed"])?,
            wait: choice(&self.wait, ["acquire", "relaxed"])?,
            queue: choice(&self.queue, ["ordered", "unordered"])?,
        })
    }
}

wire! {
    WireTask {
        phases "phases": Vec<WirePhase<'a>> = None;
        queue "queue": Option<i64> = Some(None);
        name "name": Text<'a> = Some(Text::from(""));
        repeat "repeat": Option<WireRepeat<'a>> = Some(None);
        source "source": Text<'a> = Some(Text::from(""));
    }
}

impl WireTask<'_> {
    fn made(self, names: &mut Decoder) -> Task {
        let repeat = self.repeat.map(|WireRepeat { times, queue_step, queues, .. }| Repeat {
            times,
            queue_step,
            queues,
        });
        let phases = exactly(self.phases, |phase| phase.made(names));
        let (name, source) = (self.name.to_string(), self.source.to_string());
        Task { name, source, queue: self.queue, repeat, phases }
    }
}

wire! {
    WireRepeat {
        times "times": i64 = None;
        queue_step "queue_step": i64 = Some(0);
        queues "queues": Option<i64> = Some(None);
    }
}

wire! {
    WirePhase {
        waits "waits": Vec<(Text<'a>, i64)> = Some(Vec::new());
        reads "reads": Vec<(Text<'a>, WireRegion)> = Some(Vec::new());
        writes "writes": Vec<(Text<'a>, WireRegion)> = Some(Vec::new());
        adds "adds": Vec<WireAdd<'a>> = Some(Vec::new());
        signals "signals": Vec<(Text<'a>, i64)> = Some(Vec::new());
    }
}

impl WirePhase<'_> {
    fn made(self, names: &mut Decoder) -> Phase {
        let mut counts = |all: Vec<(Text<'_>, i64)>| {
            exactly(all, |(event, number)| Count { event: names.intern(&event), number })
        };
        let (waits, signals) = (counts(self.waits), counts(self.signals));
        let mut accesses = |all: Vec<(Text<'_>, WireRegion)>| {
            exactly(all, |(tensor, WireRegion(region))| Access { tensor: names.intern(&tensor), region })
        };
        let (reads, writes) = (accesses(self.reads), accesses(self.writes));
        let adds = exactly(self.adds, |WireAdd { tensor, region, group }| Add {
            access: Access { tensor: names.intern(&tensor), region },
            group: group.map(|group| names.intern(&group)),
        });
        Phase { waits, reads, writes, adds, signals }
    }
}

/// A list that has no room to spare: there are very many of them.
fn exactly<A, B>(all: Vec<A>, made: impl FnMut(A) -> B) -> Vec<B> {
    let mut list = Vec::with_capacity(all.len());
    list.extend(all.into_iter().map(made));
    list
}

/// `true`, `false` or `once`.
struct WireInit(Init);

impl<'de> Deserialize<'de> for WireInit {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<WireInit, D::Error> {
        struct Value;
        impl Visitor<'_> for Value {
            type Value = WireInit;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or `once`")
            }

            fn visit_bool<E: Error>(self, is_filled: bool) -> Result<WireInit, E> {
                Ok(WireInit(if is_filled { Init::Launch } else { Init::Never }))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<WireInit, E> {
                if text == "once" { Ok(WireInit(Init::Once)) } else { Err(E::custom("no `init`")) }
            }
        }
        reader.deserialize_any(Value)
    }
}

/// A tensor, a region, and perhaps a group.
struct WireAdd<'a> {
    tensor: Text<'a>,
    region: Option<Region>,
    group: Option<Text<'a>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for WireAdd<'a> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<WireAdd<'a>, D::Error> {
        struct Elements<'a>(PhantomData<&'a str>);
        impl<'de: 'a, 'a> Visitor<'de> for Elements<'a> {
            type Value = WireAdd<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("[tensor, region, group]")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<WireAdd<'a>, A::Error> {
                let short = |at: usize| A::Error::invalid_length(at, &"2 or 3");
                let tensor = elements.next_element()?.ok_or_else(|| short(0))?;
                let WireRegion(region) = elements.next_element()?.ok_or_else(|| short(1))?;
                let group = elements.next_element::<Option<Text<'de>>>()?.flatten();
                Ok(WireAdd { tensor, region, group })
            }
        }
        reader.deserialize_seq(Elements(PhantomData))
    }
}

/// Null, a box, or an object with one.
struct WireRegion(Option<Region>);

wire! {
    WireRuns {
        bounds "box": Vec<[i64; 2]> = None;
        runs "runs": Vec<[i64; 3]> = Some(Vec::new());
        shift "shift": WireShift = Some(WireShift(None));
    }
}

/// An array of numbers, and not null.
struct WireShift(Option<Vec<i64>>);

impl<'de> Deserialize<'de> for WireShift {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<WireShift, D::Error> {
        Vec::deserialize(reader).map(|shift| WireShift(Some(shift)))
    }
}

impl<'de> Deserialize<'de> for WireRegion {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<WireRegion, D::Error> {
        struct Value;
        impl<'de> Visitor<'de> for Value {
            type Value = WireRegion;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a region")
            }

            fn visit_unit<E: Error>(self) -> Result<WireRegion, E> {
                Ok(WireRegion(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<WireRegion, A::Error> {
                let mut bounds = Vec::with_capacity(2);
                while let Some(interval) = elements.next_element()? {
                    bounds.push(interval);
                }
                Ok(WireRegion(Some(Region { bounds: bounds.into(), object: None })))
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<WireRegion, A::Error> {
                let wire = WireRuns::deserialize(MapAccessDeserializer::new(members))?;
                let (WireShift(shift), bounds, runs) = (wire.shift, wire.bounds, wire.runs);
                let object = Some(Box::new(Copies { runs, shift }));
                Ok(WireRegion(Some(Region { bounds: bounds.into(), object })))
            }
        }
        reader.deserialize_any(Value)
    }
}
