//! Traces (clause SCH-17): what a run did, and a schedule that covers it or does not.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Document, Library, Sink, words};
use megakernel_ir::rule::{Clause, Rule, clause};
use serde_json::{Value, json};

use super::PROFILE;
use super::traces::{BAD_LOGS, BAD_SCHEDULES, COVERED};
use crate::log::{launches, traced};

fn put(
    sink: &mut Sink,
    name: &str,
    summary: &str,
    clauses: &[Clause],
    text: &str,
    expect: Value,
    twin: Option<String>,
) -> Result<String> {
    let id = format!("{}/{}", sink.family(), words(name));
    sink.push_as("trace", id.clone(), summary, PROFILE, clauses, &Document::Text(text), expect, twin)?;
    Ok(id)
}

fn text(tasks: &[&str], log: &[&str]) -> String {
    traced(tasks).with("launches", launches(log)).text()
}

/// A trace that breaks one rule, and its twin.
fn pair(sink: &mut Sink, rule: Rule, summary: &str, at: &str, bad: &str, good: &str) -> Result<()> {
    let name = format!("{rule} {summary}");
    let cited = [*rule.clause(), clause::SCH_17];
    let accept = json!({"verdict": "accept", "warnings": []});
    let twin = format!("the twin of: {summary}");
    let twin = put(sink, &format!("{name} twin"), &twin, &cited, good, accept, None)?;
    let expect = json!({"verdict": "reject", "rules": [rule], "at": at});
    put(sink, &name, summary, &cited[..1], bad, expect, Some(twin)).map(|_| ())
}

/// What a run did that the schedule does not cover, each with a run or a schedule that does.
pub fn departures(_: &Library, sink: &mut Sink) -> Result<()> {
    for (rule, rows) in BAD_LOGS {
        for (summary, tasks, bad, at, good) in *rows {
            pair(sink, *rule, summary, at, &text(tasks, bad), &text(tasks, good))?;
        }
    }
    for (rule, summary, bad, at, good, log) in BAD_SCHEDULES {
        pair(sink, *rule, summary, at, &text(bad, log), &text(good, log))?;
    }
    Ok(())
}

/// Runs that a schedule covers.
pub fn covered(_: &Library, sink: &mut Sink) -> Result<()> {
    for (summary, tasks, log) in COVERED {
        let accept = json!({"verdict": "accept", "warnings": []});
        put(sink, summary, summary, &[clause::SCH_17], &text(tasks, log), accept, None)?;
    }
    Ok(())
}

const GOOD: &str = r#"{"tensors": {"x": {"shape": [8], "init": true}}, "tasks": [{"queue": 0, "phases": [{"waits": [["e", 1]], "reads": [["x", null]], "signals": [["f", 1]]}]}, {"phases": [{"adds": [["x", null]], "signals": [["e", 1]]}]}], "launches": [[["begin", 1, null], ["add", 1, 0, "x", null], ["signal", 1, 0, "e", 1], ["begin", 0, 0], ["wait", 0, 0, "e", 1], ["read", 0, 0, "x", {"box": [[0, 2]], "runs": [[0, 2, 4]], "shift": [3]}], ["signal", 0, 0, "f", 1]], [["begin", 1, null], ["signal", 1, 0, "e", 1], ["begin", 0, 0], ["wait", 0, 0, "e", 1], ["signal", 0, 0, "f", 1]]]}"#;

/// Members, and which classes are judged beside each other.
#[rustfmt::skip] // a table
pub fn members(_: &Library, sink: &mut Sink) -> Result<()> {
    let accept = json!({"verdict": "accept", "warnings": []});
    let good = put(sink, "good", "a trace with every kind of entry", &[clause::SCH_17], GOOD, accept.clone(), None)?;
    let (schedule, _) = GOOD.split_once("\"launches\"").unwrap_or_default();
    for (summary, text) in [
        ("no launch at all", format!("{schedule}\"launches\": []}}")),
        ("members that nobody knows", GOOD.replacen("\"launches\"", "\"clock\": 5, \"launches\"", 1)),
    ] {
        put(sink, summary, summary, &[clause::SCH_17], &text, accept.clone(), None)?;
    }
    for (rule, summary, at, from, to) in [
        (Rule::S01, "the last brace is missing", "", "]]]}", "]]]"),
        (Rule::S02, "launches twice", "", "\"launches\"", "\"launches\": [], \"launches\""),
        (Rule::S03, "no launches", "", "\"launches\"", "\"launch\""),
        (Rule::S03, "launches in capitals", "", "\"launches\"", "\"Launches\""),
        (Rule::S03, "launches under the name of one", "", "\"launches\"", "\"entries\""),
        (Rule::S03, "no tensors", "", "\"tensors\"", "\"tensor\""),
        (Rule::S04, "launches of null", "/launches", "\"launches\": [[[", "\"launches\": null, \"more\": [[["),
        (Rule::S04, "a launch that is an object", "/launches/0", "\"launches\": [[", "\"launches\": [{}, ["),
        (Rule::S04, "an entry that is an object", "/launches/0/0", "[[[\"begin\"", "[[{}, [\"begin\""),
        (Rule::S04, "an empty entry", "/launches/0/0", "[[[\"begin\"", "[[[], [\"begin\""),
        (Rule::S04, "an entry without a name", "/launches/0/0/0", "[[[\"begin\"", "[[[0"),
        (Rule::S04, "a begin without a queue", "/launches/0/0", "[\"begin\", 1, null]", "[\"begin\", 1]"),
        (Rule::S04, "a begin of four", "/launches/0/0", "[\"begin\", 1, null]", "[\"begin\", 1, null, 0]"),
        (Rule::S04, "a queue in quotes", "/launches/0/3/2", "[\"begin\", 0, 0]", "[\"begin\", 0, \"0\"]"),
        (Rule::S04, "a task by name", "/launches/0/0/1", "[\"begin\", 1, null]", "[\"begin\", \"t\", null]"),
        (Rule::S04, "a phase of null", "/launches/0/1/2", "[\"add\", 1, 0,", "[\"add\", 1, null,"),
        (Rule::S04, "an access without a region", "/launches/0/1", "\"x\", null], [\"signal\"", "\"x\"], [\"signal\""),
        (Rule::S04, "an addition with a group", "/launches/0/1", "\"x\", null], [\"signal\"", "\"x\", null, \"g\"], [\"signal\""),
        (Rule::S04, "a region that is a number", "/launches/0/1/4", "\"x\", null], [\"signal\"", "\"x\", 8], [\"signal\""),
        (Rule::S03, "a region without a box", "/launches/0/5/4", "{\"box\": [[0, 2]], ", "{"),
        (Rule::S04, "an event by number", "/launches/0/2/3", "[\"signal\", 1, 0, \"e\", 1]", "[\"signal\", 1, 0, 0, 1]"),
        (Rule::S04, "a wait without its count", "/launches/0/4", "[\"wait\", 0, 0, \"e\", 1]", "[\"wait\", 0, 0, \"e\"]"),
        (Rule::S04, "a count of one and a half", "/launches/0/4/4", "[\"wait\", 0, 0, \"e\", 1]", "[\"wait\", 0, 0, \"e\", 1.5]"),
        (Rule::S05, "an entry of another name", "/launches/0/0/0", "[[[\"begin\"", "[[[\"end\", 1, null], [\"begin\""),
        (Rule::S05, "a name in capitals", "/launches/0/0/0", "[[[\"begin\"", "[[[\"Begin\""),
        (Rule::S05, "an entry of another name, and of another length", "/launches/0/0/0", "[[[\"begin\"", "[[[\"load\"], [\"begin\""),
        (Rule::ES01, "a schedule with a wait for nothing", "/tasks/0/phases/0/waits/0/1", "\"waits\": [[\"e\", 1]]", "\"waits\": [[\"e\", 0]]"),
        (Rule::ES02, "a schedule with a region beyond its tensor", "/tasks/0/phases/0/reads/0/1", "\"reads\": [[\"x\", null]]", "\"reads\": [[\"x\", [[0, 9]]]]"),
        (Rule::ES03, "a schedule with a tensor that is not there", "/tasks/0/phases/0/reads/0/0", "\"reads\": [[\"x\", null]]", "\"reads\": [[\"w\", null]]"),
        (Rule::ES06, "a schedule of too many tasks", "/tasks/0", "\"tasks\": [", "\"tasks\": [{\"phases\": [], \"repeat\": {\"times\": 16777217}}, "),
        (Rule::ET01, "a task that is not there hides what is missing", "/launches/0/0/1", "[[[\"begin\", 1, null]", "[[[\"begin\", 2, null]"),
    ] {
        let mut expect = json!({"verdict": "reject", "rules": [rule]});
        if !at.is_empty() {
            expect["at"] = json!(at);
        }
        let text = GOOD.replacen(from, to, 1);
        put(sink, summary, summary, &[*rule.clause(), clause::SCH_17], &text, expect, Some(good.clone()))?;
    }
    // Several rules at once, all of which are to be named.
    for (rules, summary, from, to) in [
        (vec![Rule::ET06, Rule::ET07], "a wait for another event", "[\"wait\", 0, 0, \"e\", 1], [\"read\"", "[\"wait\", 0, 0, \"g\", 0], [\"read\""),
        (vec![Rule::ET10, Rule::ET11], "a signal of another event", "[\"signal\", 0, 0, \"f\", 1]], [[", "[\"signal\", 0, 0, \"g\", 1]], [["),
        (vec![Rule::ET10, Rule::ET12], "a signal that is missing, and somebody saw it", "[\"signal\", 1, 0, \"e\", 1], [\"begin\", 0, 0]", "[\"begin\", 0, 0]"),
        (vec![Rule::ET02, Rule::ET12], "a task that is missing, and somebody waited for it", "[[\"begin\", 1, null], [\"signal\", 1, 0, \"e\", 1], [\"begin\"", "[[\"begin\""),
        (vec![Rule::ET03, Rule::ET08], "another queue and another access", "[\"begin\", 1, null], [\"add\"", "[\"begin\", 1, 0], [\"write\""),
        (vec![Rule::ET05, Rule::ET12], "a wait that came before the signal, and after an access", "[\"signal\", 1, 0, \"e\", 1], [\"begin\", 0, 0], [\"wait\", 0, 0, \"e\", 1]", "[\"begin\", 0, 0], [\"read\", 0, 0, \"x\", null], [\"wait\", 0, 0, \"e\", 1], [\"signal\", 1, 0, \"e\", 1]"),
    ] {
        let expect = json!({"verdict": "reject", "rules": rules, "every_rule": true});
        let cited: Vec<Clause> = rules.iter().map(|rule| *rule.clause()).collect();
        put(sink, summary, summary, &cited, &GOOD.replacen(from, to, 1), expect, Some(good.clone()))?;
    }
    Ok(())
}
