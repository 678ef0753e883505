//! Round trips: what is read is written back, with ids to the last bit and members that nobody knows.

use megakernel_corpus::builder::{Error, Result};
use megakernel_corpus::families::Library;
use megakernel_corpus::families::{Document, Sink};
use megakernel_ir::rule::clause;
use serde_json::{Value, json};

use super::base::{GraphCases, library};

/// Round trips of bases, and of texts that only have to be read.
pub fn trips(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    for name in [
        "chain/one",
        "chain/extended",
        "chain/rank-three",
        "chain/no-operands",
        "chain/full",
        "decoder/earlier",
        "decoder/extended",
        "bare/many-copies",
        "reuse/caches",
        "tiles/four-axes",
    ] {
        let base = library.get(name)?;
        let path = base.path();
        let id = format!("{}/{}", sink.family(), base.name.replace('/', "-"));
        let expect = json!({"verdict": "accept", "document": base.document.value});
        let clauses = [clause::TGR_06];
        sink.push_as(
            "roundtrip",
            id,
            &base.summary,
            &["task-graph"],
            &clauses,
            &Document::Edited(&path, &[]),
            expect,
            None,
        )?;
    }
    let task = |members: &str| {
        format!(
            r#"{{"all_events":[{{"event_type":911,"first_task_id":0,"last_task_id":0,"num_triggers":1}}],"all_tasks":[{{{members}}}],"first_tasks":[]}}"#
        )
    };
    let whole = |trigger: &str, dependent: &str| {
        task(&format!(
            r#""dependent_event":{dependent},"inputs":null,"outputs":[],"task_type":0,"trigger_event":{trigger},"variant_id":0"#
        ))
    };
    let texts = [
        ("id-remote", "the id of an event of rank 1, with the tag", whole("2161727825432805400", "9223372036854775806")),
        ("id-odd", "ids that differ from their neighbours in the last bit", whole("2161727821137838081", "2161727821137838083")),
        ("id-largest", "the largest integer of 64 bits with sign", whole("9223372036854775807", "9223372036854775805")),
        ("id-smallest", "the smallest one, and -1", whole("-9223372036854775808", "-1")),
        ("id-above-2-53", "the first integers that binary64 does not have", whole("9007199254740993", "-9007199254740993")),
        (
            "unknown-members",
            "members that nobody knows, in a task, an event and the graph",
            task(
                r#""dependent_event":1,"inputs":null,"outputs":null,"task_type":0,"trigger_event":2,"variant_id":0,"xcd_id":3,"later":{"a":[null,true,"\u00e9"],"b":{}}"#,
            )
            .replace("\"num_triggers\":1", "\"num_triggers\":1,\"hint\":[]")
            .replace("\"first_tasks\":[]", "\"first_tasks\":[],\"generator\":\"x\""),
        ),
        (
            "unknown-in-event",
            "members that nobody knows in an event, one of them an integer that binary64 does not have",
            whole("3", "4").replace("\"num_triggers\":1", "\"num_triggers\":1,\"epoch\":9007199254740993,\"tag\":null"),
        ),
        (
            "unknown-in-graph",
            "a member that nobody knows beside the three of a graph",
            whole("3", "4").replace("\"first_tasks\":[]", "\"first_tasks\":[],\"version\":{\"major\":2}"),
        ),
        (
            "tile-members",
            "a tile with a member that nobody knows, and one of an absent tensor",
            task(
                r#""dependent_event":1,"inputs":[{"base_ptr":"x","data_type":941,"dims":[1,8],"offset":16,"strides":[8,1],"swizzle":2},{"base_ptr":"nullptr","data_type":999,"dims":[],"offset":0,"strides":[]}],"outputs":[],"task_type":108,"trigger_event":2,"variant_id":0"#,
            ),
        ),
        (
            "unknown-codes",
            "types of tasks, events and elements that nobody knows",
            task(
                r#""dependent_event":1,"inputs":[{"base_ptr":"x","data_type":12345,"dims":[-1],"offset":-3,"strides":[]}],"outputs":null,"task_type":-7,"trigger_event":2,"variant_id":-1"#,
            )
            .replace("911", "4711"),
        ),
        (
            "some-metadata",
            "two of the five metadata members",
            task(
                r#""dependent_event":1,"inputs":null,"kv_idx":-1,"outputs":null,"request_id":70000,"task_type":0,"trigger_event":2,"variant_id":0"#,
            ),
        ),
        ("empty", "no task, no event", r#"{"all_events":[],"all_tasks":[],"first_tasks":[]}"#.to_owned()),
        (
            "other-order",
            "members in another order, with white space, and a name with an escape",
            "{ \"first_tasks\": [5, 4,\n 3],\n\t\"all_events\": [],\r\n \"all_\\u0074asks\": [] }".to_owned(),
        ),
    ];
    for (name, summary, text) in texts {
        let expected: Value =
            serde_json::from_str(&text).map_err(|error| Error(format!("{name}: {error}")))?;
        let expect = json!({"verdict": "accept", "document": expected});
        sink.graph_text(
            "roundtrip",
            name,
            summary,
            &[clause::TGR_06, clause::TGR_03],
            &Document::Text(&text),
            expect,
            None,
        )?;
    }
    Ok(())
}
