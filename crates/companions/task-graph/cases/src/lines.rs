//! Small documents from lines of text, one for each task of a rank from 2 on.
//!
//! A line is a type, the event that the task waits for, `>` and the event that it triggers, and its tiles: `run e > f r:a w:b@16`.
//! Without an event of its own a task triggers the end, and with `-` nothing; `1.f` is event `f` of rank 1, and `1.END` the end there.
//! `^e` is an event that a put signals. A tile is a tensor of 32-bit numbers, perhaps `@` its offset, and its extents in brackets,
//! 4 if there are none; behind a slash stand strides, else the tile lies as a tensor does. Events count all who trigger them.

use megakernel_corpus::builder::{Error, Result};
use serde_json::Value;

use crate::build::{Event, GraphBuilder, NewTask, Tensor, Tile, system};

/// Types by the words that lines begin with.
const TYPES: [(&str, i64); 6] =
    [("run", 101), ("reduce", 107), ("copy", 199), ("add", 251), ("put", 301), ("meet", 302)];

const F32: i64 = 950;

/// What a task triggers.
#[derive(Clone, Copy, PartialEq)]
enum Trigger<'l> {
    Nothing,
    End,
    Own(&'l str),
    Of(u16, &'l str),
}

/// A task.
struct Line<'l> {
    task_type: i64,
    after: Option<&'l str>,
    trigger: Trigger<'l>,
    reads: Vec<Tile>,
    writes: Vec<Tile>,
}

fn wrong<T>(line: &str) -> Result<T> {
    Err(Error(format!("`{line}` is no task")))
}

fn read(line: &str) -> Result<Line<'_>> {
    let mut words = line.split(' ');
    let task_type = TYPES.iter().find(|(word, _)| words.clone().next() == Some(word));
    let Some(&(_, task_type)) = task_type else { return wrong(line) };
    let mut task =
        Line { task_type, after: None, trigger: Trigger::End, reads: Vec::new(), writes: Vec::new() };
    words.next();
    while let Some(word) = words.next() {
        match word.split_once(':') {
            Some(("r", of)) => task.reads.push(tile(of)?),
            Some(("w", of)) => task.writes.push(tile(of)?),
            _ if word == ">" => {
                let Some(target) = words.next() else { return wrong(line) };
                task.trigger = match target.split_once('.') {
                    Some((rank, event)) => Trigger::Of(number(rank)?, event),
                    None if target == "-" => Trigger::Nothing,
                    None => Trigger::Own(target),
                };
            }
            None if task.after.is_none() => task.after = Some(word),
            _ => return wrong(line),
        }
    }
    Ok(task)
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N> {
    text.parse().map_err(|_| Error(format!("`{text}` is no number")))
}

fn tile(text: &str) -> Result<Tile> {
    let (text, form) = text.strip_suffix(']').and_then(|text| text.split_once('[')).unwrap_or((text, "4"));
    let (base, offset) = text.split_once('@').unwrap_or((text, "0"));
    let list = |text: &str| text.split('x').map(number).collect::<Result<Vec<i64>>>();
    let (dims, strides) = match form.split_once('/') {
        Some((dims, strides)) => (list(dims)?, list(strides)?),
        None => (list(form)?, Tensor::new(base, F32, &list(form)?).strides()),
    };
    Ok(Tile { base: base.to_owned(), dtype: F32, dims, strides, offset: number(offset)? })
}

/// The graphs of these ranks, of the earlier version. Others may be named, which are not there.
pub fn graphs<L: AsRef<str>>(ranks: &[impl AsRef<[L]>]) -> Result<Vec<GraphBuilder>> {
    let mut read_ranks = Vec::new();
    for lines in ranks {
        read_ranks.push(lines.as_ref().iter().map(|line| read(line.as_ref())).collect::<Result<Vec<_>>>()?);
    }
    let plain = |event: &'_ str| -> String { event.trim_start_matches('^').to_owned() };
    let triggered = |rank: usize, event: &str| {
        let by = |own: usize, line: &&Line<'_>| match line.trigger {
            Trigger::End => own == rank && event == "END",
            Trigger::Own(name) => own == rank && name == event,
            Trigger::Of(other, name) => usize::from(other) == rank && name == event,
            Trigger::Nothing => false,
        };
        read_ranks
            .iter()
            .enumerate()
            .map(|(own, lines)| lines.iter().filter(|line| by(own, line)).count())
            .sum()
    };
    let mut built: Vec<(GraphBuilder, Vec<(String, Event)>)> = Vec::new();
    for (rank, lines) in (0..).zip(&read_ranks) {
        let mut graph = GraphBuilder::of_rank(rank);
        let mut events: Vec<(String, Event)> = Vec::new();
        let own = |line: &Line<'_>| match line.trigger {
            Trigger::Own(name) => Some(plain(name)),
            Trigger::Of(other, name) if other == rank && name != "END" => Some(plain(name)),
            _ => None,
        };
        for name in lines.iter().flat_map(|line| line.after.map(plain).into_iter().chain(own(line))) {
            if !events.iter().any(|(other, _)| *other == name) {
                let event = graph.event(&name);
                // One that nobody triggers is triggered from where nobody sees it.
                let count: usize = triggered(usize::from(rank), &name);
                graph.count(event, count.max(1) as i64);
                events.push((name, event));
            }
        }
        let count: usize = triggered(usize::from(rank), "END");
        graph.count(graph.end(), count as i64);
        events.push(("END".to_owned(), graph.end()));
        built.push((graph, events));
    }
    let named = |rank: usize, event: &str| {
        let of = |rank: usize| {
            built.get(rank).and_then(|(_, events)| events.iter().find(|(name, _)| name == event))
        };
        // What ranks have that are not there, is here at the same place, if it is here.
        let found = if rank < built.len() { of(rank) } else { of(0) };
        match found {
            Some(&(_, event)) => Ok(event),
            None if rank >= built.len() => Ok(GraphBuilder::new().end()),
            None => Err(Error(format!("nobody waits for `{event}` on rank {rank}"))),
        }
    };
    let mut graphs = Vec::new();
    for (rank, lines) in read_ranks.iter().enumerate() {
        let Some((graph, _)) = built.get(rank) else { continue };
        let mut graph = graph.clone();
        for (n, line) in lines.iter().enumerate() {
            let mut task = NewTask::new(&format!("task {}", n + 2), line.task_type);
            if !line.reads.is_empty() {
                task = task.reads(&line.reads);
            }
            if !line.writes.is_empty() {
                task = task.writes(&line.writes);
            }
            if let Some(event) = line.after {
                let after = named(rank, &plain(event))?;
                task = if event.starts_with('^') { task.after_signal(after) } else { task.after(after) };
            }
            graph.add(match line.trigger {
                Trigger::End => task,
                Trigger::Nothing => task.triggers_nothing(),
                Trigger::Own(name) => task.triggers(named(rank, name)?),
                Trigger::Of(other, name) => task.triggers_at(other, named(usize::from(other), name)?),
            });
        }
        graphs.push(graph);
    }
    Ok(graphs)
}

/// The graph of one rank.
pub fn bare<L: AsRef<str>>(lines: &[L]) -> Result<Value> {
    let lines: Vec<&str> = lines.iter().map(AsRef::as_ref).collect();
    let graphs = graphs(&[lines])?;
    let graph = graphs.first().ok_or_else(|| Error("no graph".to_owned()))?;
    Ok(graph.finish()?.value)
}

/// The graphs of all ranks.
pub fn ranks<L: AsRef<str>>(lines: &[impl AsRef<[L]>]) -> Result<Value> {
    Ok(system(&graphs(lines)?, None)?.value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_is_a_task() {
        let graph = bare(&["run > e r:a w:b@16[2x3] w:c[2x2/8x1]", "reduce e", "put ^f > 1.f", "copy > 0.e"])
            .expect("a graph");
        let tile = |base: &str, offset: i64, dims: &[i64], strides: &[i64]| json!({"base_ptr": base, "data_type": 950, "dims": dims, "offset": offset, "strides": strides});
        let task = &graph["all_tasks"][2];
        assert_eq!(task["inputs"], json!([tile("a", 0, &[4], &[1])]));
        assert_eq!(task["outputs"], json!([tile("b", 16, &[2, 3], &[3, 1]), tile("c", 0, &[2, 2], &[8, 1])]));
        let members = |name: &str| -> Vec<Value> {
            graph["all_tasks"].as_array().expect("tasks")[2..].iter().map(|task| task[name].clone()).collect()
        };
        let (none, tag) = (9_223_372_036_854_775_806_i64, 2_161_727_821_137_838_080_i64);
        assert_eq!(members("task_type"), [101, 107, 301, 199]);
        assert_eq!(members("dependent_event"), [none, 2, tag | 3, none]);
        assert_eq!(members("trigger_event"), [2, 4, tag | 1 << 32 | 3, tag | 2]);
        let counts: Vec<&Value> =
            graph["all_events"].as_array().expect("events").iter().map(|e| &e["num_triggers"]).collect();
        assert_eq!(counts, [1, 1, 2, 1, 1]);
    }

    #[test]
    fn ranks_know_each_others_events() {
        let system =
            ranks(&[&["run > -", "meet g > f", "run f > 1.END"][..], &["copy > 0.g"]]).expect("a system");
        let trigger =
            |rank: usize, task: usize| system["ranks"][rank]["all_tasks"][task]["trigger_event"].clone();
        assert_eq!(trigger(0, 2), 9_223_372_036_854_775_806_i64);
        assert_eq!(trigger(1, 2), 2_161_727_821_137_838_082_i64);
        assert_eq!(system["ranks"][0]["all_events"][4]["num_triggers"], 0);
        assert_eq!(system["ranks"][1]["all_events"][2]["num_triggers"], 1);
        assert!(ranks(&[&["copy > 1.e"][..], &["run"]]).is_err(), "nobody waits for e");
        for wrong in ["walk", "run e f", "run >", "run x:a", "run r:a[x]", "copy > x.f"] {
            assert!(bare(&[wrong]).is_err(), "{wrong}");
        }
    }
}
