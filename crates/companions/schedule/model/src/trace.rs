//! What happened in a run (clause SCH-17).

use megakernel_ir::decode::{Decode, Place};
use serde_json::Value;

use crate::decode::{Decoder, Fault};
use crate::document::{Access, Count, Schedule};

/// The launches of a run.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Each with its entries. Numbers of tasks and phases are as they stand there.
    pub launches: Vec<Vec<Entry>>,
}

/// What a task did.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its place among all tasks.
    pub task: i64,
    /// The place of the phase in the task; of no meaning for [`Done::Begin`].
    pub phase: i64,
    /// What it did.
    pub done: Done,
}

/// What a task or a phase did.
#[derive(Clone, Debug)]
pub enum Done {
    /// A worker took it: that of the queue.
    Begin(Option<i64>),
    /// Waited for an event, and saw this count.
    Wait(Count),
    /// Read.
    Read(Access),
    /// Wrote.
    Write(Access),
    /// Added.
    Add(Access),
    /// Raised an event.
    Signal(Count),
}

#[derive(Clone, Copy)]
enum Name {
    Begin,
    Wait,
    Read,
    Write,
    Add,
    Signal,
}

const NAMES: [(&str, Name); 6] = [
    ("begin", Name::Begin),
    ("wait", Name::Wait),
    ("read", Name::Read),
    ("write", Name::Write),
    ("add", Name::Add),
    ("signal", Name::Signal),
];

/// Reads a schedule, and the launches of a run of it, which may stand in the same document.
///
/// # Errors
/// Faults of the rules S03 to S05; never none.
pub fn read_trace(schedule: &Value, trace: &Value) -> Result<(Schedule, Trace), Vec<Fault>> {
    let mut decoder = Decoder::default();
    let read = decoder.schedule(&Place::root(schedule));
    let launches = trace.is_object().then(|| {
        decoder.required(&Place::root(trace), "launches", |decoder, at| {
            decoder.array(at, |decoder, at| decoder.array(at, Decoder::entry))
        })
    });
    match (read, launches.flatten()) {
        (Some(read), Some(launches)) if decoder.faults.is_empty() => {
            Ok((Schedule { names: decoder.names(), ..read }, Trace { launches }))
        }
        _ => Err(decoder.faults),
    }
}

impl Decoder {
    fn entry(&mut self, at: &Place<'_>) -> Option<Entry> {
        let Some(elements) = at.value.as_array().filter(|elements| !elements.is_empty()) else {
            self.wrong_type(at, "an array that begins with what happened");
            return None;
        };
        let places: Vec<Place<'_>> =
            elements.iter().enumerate().map(|(index, value)| at.element(index, value)).collect();
        let name = self.one_of(places.first()?, "kind of entry", &NAMES)?;
        let (length, required) = match name {
            Name::Begin => (3, "[\"begin\", task, queue]"),
            Name::Wait => (5, "[\"wait\", task, phase, event, count]"),
            Name::Signal => (5, "[\"signal\", task, phase, event, amount]"),
            Name::Read | Name::Write | Name::Add => (5, "[name, task, phase, tensor, region]"),
        };
        if places.len() != length {
            self.wrong_type(at, required);
            return None;
        }
        let task = self.integer(places.get(1)?);
        if let Name::Begin = name {
            let queue = places.get(2)?;
            let queue = if queue.value.is_null() { Some(None) } else { self.integer(queue).map(Some) };
            return Some(Entry { task: task?, phase: 0, done: Done::Begin(queue?) });
        }
        let phase = self.integer(places.get(2)?);
        let rest = places.get(3..)?;
        let done = match name {
            Name::Begin => None,
            Name::Wait => self.counted(rest).map(Done::Wait),
            Name::Signal => self.counted(rest).map(Done::Signal),
            Name::Read => self.part(rest).map(Done::Read),
            Name::Write => self.part(rest).map(Done::Write),
            Name::Add => self.part(rest).map(Done::Add),
        };
        Some(Entry { task: task?, phase: phase?, done: done? })
    }
}

#[cfg(test)]
mod tests {
    use megakernel_ir::Rule;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_wrong_element_is_found_at_its_place() {
        let trace = json!({"tensors": {}, "tasks": [], "launches": [[
            ["begin", 0], [], ["end", 0, null], [0, 0, null], ["begin", "0", null], ["begin", 0, 1.5], ["wait", 0, 0, "e"],
            ["wait", 0, 0, 1, 1], ["read", 0, null, "x", 4], "begin"], null]});
        let faults = read_trace(&trace, &trace).expect_err("faults");
        let found: Vec<(&str, &str)> =
            faults.iter().map(|fault| (fault.rule.id(), fault.pointer.as_str())).collect();
        let expected = [
            ("S04", "/launches/0/0"),
            ("S04", "/launches/0/1"),
            ("S05", "/launches/0/2/0"),
            ("S04", "/launches/0/3/0"),
            ("S04", "/launches/0/4/1"),
            ("S04", "/launches/0/5/2"),
            ("S04", "/launches/0/6"),
            ("S04", "/launches/0/7/3"),
            ("S04", "/launches/0/8/2"),
            ("S04", "/launches/0/8/4"),
            ("S04", "/launches/0/9"),
            ("S04", "/launches/1"),
        ];
        assert_eq!(found, expected);
        let none = read_trace(&json!({"tensors": {}, "tasks": []}), &json!({})).expect_err("a fault");
        assert_eq!((none[0].rule, none[0].pointer.as_str()), (Rule::S03, ""));
    }

    #[test]
    fn names_of_the_log_are_names_of_the_schedule() {
        let trace = json!({"tensors": {"x": {"shape": [4]}}, "tasks": [{"phases": []}], "launches": [[
            ["begin", 0, null], ["read", 0, 0, "x", [[0, 2]]], ["signal", 0, 0, "e", 3]]]});
        let (schedule, trace) = read_trace(&trace, &trace).expect("a trace");
        assert_eq!(schedule.names, ["x", "e"]);
        let [begin, read, signal] = &trace.launches[0][..] else { unreachable!("three entries") };
        assert!(matches!(begin.done, Done::Begin(None)));
        assert!(
            matches!(&read.done, Done::Read(Access { tensor, region: Some(_) }) if schedule.name(*tensor) == "x")
        );
        assert!(
            matches!(signal.done, Done::Signal(Count { event, number: 3 }) if schedule.name(event) == "e")
        );
    }
}
