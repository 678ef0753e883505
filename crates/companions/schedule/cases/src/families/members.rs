//! S01 to S05: texts, members and names.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Document, Library, Sink};
use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::text;

const GOOD: &str = r##"{"tensors": {"x": {"shape": [8], "kind": "activation", "init": false, "element": 2, "storage": "a", "offset": 0}, "v": {"shape": [4], "view": "x"}}, "storages": {"a": {"bytes": 16}}, "events": {"e": {"period": 3}}, "any_order": [2], "memory": {"signal": "release", "wait": "acquire", "queue": "unordered"}, "tasks": [{"name": "t", "queue": 0, "source": "k.cu:7", "phases": [{"writes": [["x", [[0, 8]]]], "signals": [["e", 1]]}]}, {"phases": [{"waits": [["e", 3]], "reads": [["v", {"box": [[0, 1]], "runs": [[0, 2, 2]], "shift": [0]}]], "adds": [["x", null, "g"]]}]}, {"repeat": {"times": 2, "queue_step": 1, "queues": 2}, "phases": [{"signals": [["e", 1]]}]}]}"##;

/// S01 and S02.
pub fn texts(_: &Library, sink: &mut Sink) -> Result<()> {
    let accept = json!({"verdict": "accept", "warnings": []});
    text(sink, "good", "a schedule with every member", &["SCH-01"], GOOD, accept.clone(), None)?;
    let spaced = format!("\r\n\t{GOOD} \n");
    text(sink, "white-space", "white space around it", &["SCH-01"], &spaced, accept.clone(), None)?;
    let unknown = GOOD.replacen("\"source\"", "\"opcode\": 5, \"init\": {}, \"source\"", 1);
    text(
        sink,
        "unknown",
        "members that the format does not know",
        &["SCH-01"],
        &unknown,
        accept.clone(),
        None,
    )?;
    let nulls = r#"{"tensors": {"x": {"shape": [8], "storage": null, "view": null}}, "events": {"e": {"period": null}}, "tasks": [{"queue": null, "repeat": null, "phases": [{"writes": [["x", null]], "adds": [["x", null, null]]}]}]}"#;
    text(sink, "null", "null where there is nothing", &["SCH-01", "SCH-03"], nulls, accept.clone(), None)?;
    for (name, summary, document) in [
        (
            "null-period",
            "an event that is reset, and a task of no queue that is not repeated",
            r#"{"tensors": {}, "events": {"e": {"period": null}, "f": {}}, "tasks": [{"queue": null, "repeat": null, "phases": [{"signals": [["e", 1]]}]}, {"phases": [{"waits": [["e", 1]]}]}]}"#,
        ),
        (
            "null-queues",
            "a repetition over queues without end, and additions of no group",
            r#"{"tensors": {"x": {"shape": [8], "init": true}}, "tasks": [{"queue": -3, "repeat": {"times": 2, "queues": null}, "phases": [{"adds": [["x", null, null], ["x", [[0, 4]]]]}]}, {"queue": null, "phases": []}]}"#,
        ),
        (
            "null-group",
            "additions of no group, and queues below 0",
            r#"{"tensors": {"x": {"shape": [8], "init": true}}, "any_order": [-1], "tasks": [{"queue": -1, "phases": [{"adds": [["x", null, null]]}]}, {"queue": -9223372036854775808, "phases": [{"adds": [["x", null, null]]}]}]}"#,
        ),
    ] {
        text(sink, name, summary, &["SCH-01", "SCH-03"], document, accept.clone(), None)?;
    }
    let least = r#"{"tensors": {}, "tasks": []}"#;
    text(sink, "nothing", "no tensor and no task", &["SCH-01"], least, accept.clone(), None)?;
    let cut = GOOD.get(..GOOD.len() - 1).unwrap_or_default();
    // A member that nobody knows, with so many arrays in each other.
    let nested = format!("{cut}, \"z\": {}{}}}", "[".repeat(127), "]".repeat(127));
    text(sink, "nested", "128 levels in each other", &["FMT-01", "SCH-01"], &nested, accept, None)?;
    for (name, rule, summary, document) in [
        ("cut", "S01", "the last brace is missing", cut.to_owned()),
        ("behind", "S01", "there is more behind it", format!("{GOOD}]")),
        ("empty", "S01", "no text at all", String::new()),
        ("comment", "S01", "a comment", GOOD.replacen('{', "{ // schedule\n", 1)),
        ("comma", "S01", "a comma too many", GOOD.replacen("[2]", "[2,]", 1)),
        ("nan", "S01", "an extent that is NaN", GOOD.replacen("[8]", "[NaN]", 1)),
        ("twice", "S02", "tasks twice", format!("{cut}, \"tasks\": []}}")),
        (
            "twice-tensor",
            "S02",
            "a tensor twice",
            GOOD.replacen("{\"x\":", "{\"x\": {\"shape\": [8]}, \"x\":", 1),
        ),
        ("twice-event", "S02", "an event twice", GOOD.replacen("{\"e\":", "{\"e\": {}, \"e\":", 1)),
        (
            "twice-reads",
            "S02",
            "reads of a phase twice",
            GOOD.replacen("\"reads\":", "\"reads\": [], \"reads\":", 1),
        ),
        ("array", "S04", "an array", format!("[{GOOD}]")),
        ("null-root", "S04", "null", "null".to_owned()),
        ("infinity", "S01", "an extent without end", GOOD.replacen("[8]", "[Infinity]", 1)),
        (
            "minus-infinity",
            "S01",
            "in a member that nobody knows",
            GOOD.replacen('{', "{\"z\": -Infinity, ", 1),
        ),
        ("mark", "S01", "a byte order mark before it", format!("\u{feff}{GOOD}")),
        ("mark-space", "S01", "a byte order mark and white space", format!("\u{feff}\n {GOOD}")),
        ("mark-least", "S01", "a byte order mark before the least", format!("\u{feff}{least}")),
        ("half-name", "S01", "half a pair in a name", GOOD.replacen("\"t\"", "\"\\ud800\"", 1)),
        ("half-member", "S01", "half a pair in a member", GOOD.replacen('{', "{\"\\udc00\": 0, ", 1)),
        ("half-event", "S01", "half a pair in an event", GOOD.replace("\"e\"", "\"\\ud83d\"")),
        (
            "twice-cut",
            "S01",
            "a member twice, and the last brace is missing",
            cut.replacen("{\"e\":", "{\"e\": {}, \"e\":", 1),
        ),
        ("twice-behind", "S01", "a member twice, and more behind it", format!("{cut}, \"tasks\": []}} 0")),
        (
            "twice-comma",
            "S01",
            "a member twice, and a comma too many",
            GOOD.replacen("{\"e\":", "{\"e\": {}, \"e\":", 1).replacen("[2]", "[2,]", 1),
        ),
    ] {
        let expect = json!({"verdict": "reject", "rules": [rule]});
        text(sink, name, summary, &[rule, "SCH-01"], &document, expect, Some("good"))?;
    }
    for (name, summary, from, to) in [
        ("bytes-name", "a name that is not UTF-8", "\"t\"", "\"\u{1}\""),
        ("bytes-source", "a source that is not UTF-8", "k.cu", "k\u{1}cu"),
        (
            "bytes-member",
            "a member that nobody knows, and not UTF-8",
            "\"source\"",
            "\"\u{1}\": 0, \"source\"",
        ),
    ] {
        let mut bytes = GOOD.replacen(from, to, 1).into_bytes();
        // No byte of UTF-8.
        bytes.iter_mut().filter(|byte| **byte == 1).for_each(|byte| *byte = 0xff);
        let id = format!("{}/{name}", sink.family());
        let expect = json!({"verdict": "reject", "rules": ["S01"]});
        let twin = Some(format!("{}/good", sink.family()));
        let clauses = [*Rule::S01.clause(), clause::SCH_01];
        let document = Document::Bytes(&bytes);
        sink.push_as("validate", id, summary, &["schedule"], &clauses, &document, expect, twin)?;
    }
    let float = GOOD.replacen("[8]", "[8.0]", 1);
    let either = json!({"verdict": "either", "rules": ["S04"]});
    text(sink, "float", "an extent of 8.0, which a reader may take for 8", &["S04"], &float, either, None)
}

/// S03 to S05.
#[rustfmt::skip] // a table
pub fn members(_: &Library, sink: &mut Sink) -> Result<()> {
    text(sink, "good", "a schedule with every member", &["SCH-01"], GOOD, json!({"verdict": "accept", "warnings": []}), None)?;
    for (name, rule, at, from, to) in [
        ("no tensors", "S03", "", "\"tensors\":", "\"tensor\":"),
        ("no tasks", "S03", "", "\"tasks\":", "\"task\":"),
        ("a tensor without a shape", "S03", "/tensors/x", "\"shape\": [8]", "\"dims\": [8]"),
        ("a view without a shape", "S03", "/tensors/v", "\"shape\": [4], ", ""),
        ("a storage without its size", "S03", "/storages/a", "\"bytes\": 16", "\"size\": 16"),
        ("a task without phases", "S03", "/tasks/0", "\"phases\": [{\"writes\"", "\"steps\": [{\"writes\""),
        ("a region without a box", "S03", "/tasks/1/phases/0/reads/0/1", "\"box\": [[0, 1]], ", ""),
        ("a repetition without a number", "S03", "/tasks/2/repeat", "\"times\": 2, ", ""),
        ("tensors in an array", "S04", "/tensors", "{\"x\": {\"shape\": [8], \"kind\": \"activation\", \"init\": false, \"element\": 2, \"storage\": \"a\", \"offset\": 0}, \"v\": {\"shape\": [4], \"view\": \"x\"}}", "[]"),
        ("an extent in quotes", "S04", "/tensors/x/shape/0", "[8], \"kind\"", "[\"8\"], \"kind\""),
        ("a shape of null", "S04", "/tensors/x/shape", "[8], \"kind\"", "null, \"kind\""),
        ("an init of 1", "S04", "/tensors/x/init", "\"init\": false", "\"init\": 1"),
        ("a storage by number", "S04", "/tensors/x/storage", "\"storage\": \"a\"", "\"storage\": 0"),
        ("an offset of one and a half", "S04", "/tensors/x/offset", "\"offset\": 0", "\"offset\": 1.5"),
        ("a period in quotes", "S04", "/events/e/period", "\"period\": 3", "\"period\": \"3\""),
        ("a queue in quotes", "S04", "/tasks/0/queue", "\"queue\": 0", "\"queue\": \"0\""),
        ("queues in any order that are no array", "S04", "/any_order", "\"any_order\": [2]", "\"any_order\": 2"),
        ("phases of null", "S04", "/tasks/0/phases", "\"phases\": [{\"writes\": [[\"x\", [[0, 8]]]], \"signals\": [[\"e\", 1]]}]", "\"phases\": null"),
        ("a signal without an amount", "S04", "/tasks/0/phases/0/signals/0", "[\"e\", 1]", "[\"e\"]"),
        ("a signal of three", "S04", "/tasks/0/phases/0/signals/0", "[\"e\", 1]", "[\"e\", 1, 1]"),
        ("an event by number", "S04", "/tasks/0/phases/0/signals/0/0", "[\"e\", 1]", "[0, 1]"),
        ("a wait without its count", "S04", "/tasks/1/phases/0/waits/0", "[\"e\", 3]", "\"e\""),
        ("a region that is a number", "S04", "/tasks/0/phases/0/writes/0/1", "[\"x\", [[0, 8]]]", "[\"x\", 8]"),
        ("an access without a region", "S04", "/tasks/0/phases/0/writes/0", "[\"x\", [[0, 8]]]", "[\"x\"]"),
        ("an interval of one number", "S04", "/tasks/0/phases/0/writes/0/1/0", "[[0, 8]]", "[[8]]"),
        ("a run of two numbers", "S04", "/tasks/1/phases/0/reads/0/1/runs/0", "[0, 2, 2]", "[2, 2]"),
        ("a group by number", "S04", "/tasks/1/phases/0/adds/0/2", "null, \"g\"", "null, 7"),
        ("a name that is a number", "S04", "/tasks/0/name", "\"name\": \"t\"", "\"name\": 0"),
        ("a number of repetitions that is null", "S04", "/tasks/2/repeat/times", "\"times\": 2", "\"times\": null"),
        ("an extent that is true", "S04", "/tensors/x/shape/0", "[8], \"kind\"", "[true], \"kind\""),
        ("an amount that is true", "S04", "/tasks/0/phases/0/signals/0/1", "[\"e\", 1]", "[\"e\", true]"),
        ("a queue that is false", "S04", "/tasks/0/queue", "\"queue\": 0", "\"queue\": false"),
        ("a queue of 2^63", "S04", "/tasks/0/queue", "\"queue\": 0", "\"queue\": 9223372036854775808"),
        ("a queue below -2^63", "S04", "/tasks/0/queue", "\"queue\": 0", "\"queue\": -9223372036854775809"),
        ("a queue in any order of 2^64", "S04", "/any_order/0", "[2]", "[18446744073709551616]"),
        ("a shift of 2^63", "S04", "/tasks/1/phases/0/reads/0/1/shift/0", "\"shift\": [0]", "\"shift\": [9223372036854775808]"),
        ("a read of three", "S04", "/tasks/0/phases/0/writes/0", "[\"x\", [[0, 8]]]", "[\"x\", [[0, 8]], null]"),
        ("an interval of three", "S04", "/tasks/0/phases/0/writes/0/1/0", "[[0, 8]]", "[[0, 8, 1]]"),
        ("a run of four", "S04", "/tasks/1/phases/0/reads/0/1/runs/0", "[0, 2, 2]", "[0, 2, 2, 2]"),
        ("an addition of four", "S04", "/tasks/1/phases/0/adds/0", "null, \"g\"", "null, \"g\", \"h\""),
        ("an empty object for a region", "S03", "/tasks/1/phases/0/reads/0/1", "{\"box\": [[0, 1]], \"runs\": [[0, 2, 2]], \"shift\": [0]}", "{}"),
        ("a region with bounds in place of a box", "S03", "/tasks/1/phases/0/reads/0/1", "\"box\":", "\"bounds\":"),
        ("an init in capitals", "S05", "/tensors/x/init", "\"init\": false", "\"init\": \"ONCE\""),
        ("a queue order with a capital", "S05", "/memory/queue", "\"unordered\"", "\"Ordered\""),
        ("a kind that is none", "S05", "/tensors/x/kind", "\"kind\": \"activation\"", "\"kind\": \"buffer\""),
        ("a kind in capitals", "S05", "/tensors/x/kind", "\"kind\": \"activation\"", "\"kind\": \"ACTIVATION\""),
        ("an init that is no name", "S05", "/tensors/x/init", "\"init\": false", "\"init\": \"always\""),
        ("a signal of another order", "S05", "/memory/signal", "\"release\"", "\"acquire\""),
        ("a wait of another order", "S05", "/memory/wait", "\"acquire\"", "\"seq_cst\""),
        ("a queue of another order", "S05", "/memory/queue", "\"unordered\"", "\"in_order\""),
    ] {
        let document = GOOD.replacen(from, to, 1);
        let id = megakernel_corpus::families::words(name);
        let expect: Value = json!({"verdict": "reject", "rules": [rule], "at": at});
        text(sink, &id, name, &[rule, "SCH-01"], &document, expect, Some("good"))?;
    }
    Ok(())
}
