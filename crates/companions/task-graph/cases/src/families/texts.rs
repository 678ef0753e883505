//! Texts and members of task graphs and requests: rules S01 to S05.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::Library;
use megakernel_corpus::families::{Document, Sink};
use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::base::{GraphCases, library};

/// S01 and S02: text that is no JSON, and members that are there twice.
pub fn texts(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    let text = library.get("chain/one")?.document.value.to_string();
    let accept = json!({"verdict": "accept", "warnings": []});
    let clauses = &[clause::TGR_06];
    sink.graph_text(
        "validate",
        "good",
        "a graph in one line",
        clauses,
        &Document::Text(&text),
        accept.clone(),
        None,
    )?;
    let spaced = format!(" \n\t{text}\r\n");
    sink.graph_text(
        "validate",
        "white-space",
        "white space around it",
        clauses,
        &Document::Text(&spaced),
        accept,
        None,
    )?;
    let floats = text.replace("\"num_triggers\":1", "\"num_triggers\":1.0e0");
    let either = json!({"verdict": "either", "rules": [Rule::S04]});
    let summary = "counts as floats without fraction, which a reader may take for integers";
    sink.graph_text(
        "validate",
        "floats",
        summary,
        &[clause::FMT_04],
        &Document::Text(&floats),
        either,
        None,
    )?;
    let cut = text.len().saturating_sub(1);
    let rejected = [
        ("cut-short", Rule::S01, "the last brace is missing", text.get(..cut).unwrap_or_default().to_owned()),
        ("trailing", Rule::S01, "there is more behind it", format!("{text}x")),
        ("comma", Rule::S01, "a comma too many", text.replace("\"first_tasks\":[2]", "\"first_tasks\":[2,]")),
        ("empty", Rule::S01, "no text at all", String::new()),
        (
            "twice",
            Rule::S02,
            "`first_tasks` is there twice",
            text.replace("\"first_tasks\":[2]", "\"first_tasks\":[2],\"first_tasks\":[2]"),
        ),
        (
            "twice-in-task",
            Rule::S02,
            "a task has two types",
            text.replace("\"task_type\":10", "\"task_type\":10,\"task_type\":10"),
        ),
        (
            "twice-unknown",
            Rule::S02,
            "a member that nobody knows is there twice",
            text.replace("\"task_type\":10", "\"task_type\":10,\"x\":1,\"x\":1"),
        ),
    ];
    for (name, rule, summary, text) in rejected {
        let expect = json!({"verdict": "reject", "rules": [rule]});
        sink.graph_text(
            "validate",
            name,
            summary,
            &[*rule.clause(), clause::TGR_06],
            &Document::Text(&text),
            expect.clone(),
            Some("good"),
        )?;
        if rule == Rule::S02 {
            let (name, expect) = (format!("{name}-round-trip"), expect);
            sink.graph_text(
                "roundtrip",
                &name,
                summary,
                &[*rule.clause(), clause::TGR_06],
                &Document::Text(&text),
                expect,
                Some("good"),
            )?;
        }
    }
    let bytes = [text.as_bytes(), b"\xff"].concat();
    let expect = json!({"verdict": "reject", "rules": [Rule::S01]});
    sink.graph_text(
        "validate",
        "not-utf-8",
        "a byte that is not UTF-8",
        &[*Rule::S01.clause()],
        &Document::Bytes(&bytes),
        expect,
        Some("good"),
    )
}

/// S03 and S04: members that are missing or of another type.
pub fn members(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    let base = library.get("chain/two")?;
    for path in [
        "/all_tasks",
        "/all_events",
        "/first_tasks",
        "/all_tasks/2/task_type",
        "/all_tasks/3/inputs",
        "/all_tasks/0/outputs",
        "/all_tasks/1/trigger_event",
        "/all_tasks/2/dependent_event",
        "/all_tasks/3/variant_id",
        "/all_events/2/num_triggers",
        "/all_events/3/event_type",
        "/all_events/0/first_task_id",
        "/all_events/1/last_task_id",
        "/all_tasks/2/inputs/0/base_ptr",
        "/all_tasks/2/outputs/0/strides",
        "/all_tasks/3/inputs/1/offset",
    ] {
        let record = path.rsplit_once('/').map_or("", |(record, _)| record);
        let edit = Edit::breaking(Rule::S03, format!("`{path}` is missing")).at(record).remove(path);
        sink.graph_reject(base, &format!("without {path}"), &edit)?;
    }
    let wrong: [(&str, Value); 12] = [
        ("/all_tasks/2/task_type", json!("LINEAR")),
        ("/all_tasks/2/trigger_event", json!("2")),
        ("/all_tasks/3/trigger_event", json!(1.5)),
        ("/all_tasks/3/dependent_event", json!(9_223_372_036_854_775_808_u64)),
        ("/all_tasks/2/inputs", json!({})),
        ("/all_tasks/3/outputs", json!(0)),
        ("/all_tasks/2/inputs/0/dims/1", json!("8")),
        ("/all_tasks/2/inputs/0/offset", json!(0.5)),
        ("/all_tasks/3/outputs/0/base_ptr", json!(null)),
        ("/all_events/2/num_triggers", json!(true)),
        ("/first_tasks/0", json!([2])),
        ("/all_tasks/1", json!(null)),
    ];
    for (path, value) in wrong {
        let edit =
            Edit::breaking(Rule::S04, format!("`{path}` is {value}")).at(path).replace(path, value.clone());
        sink.graph_reject(base, &format!("{path} is {value}"), &edit)?;
    }
    let base = library.get("ranks/one")?;
    let edit = Edit::breaking(Rule::S04, "the graphs of a system are no list")
        .at("/ranks")
        .replace("/ranks", json!({}));
    sink.graph_reject(base, "ranks are no list", &edit)?;
    let edit = Edit::breaking(Rule::S03, "a graph of a system lacks its events")
        .at("/ranks/0")
        .remove("/ranks/0/all_events");
    sink.graph_reject(base, "graph lacks events", &edit)?;
    let base = library.get("exact/decoder")?;
    for path in ["/kernel_graph/operators", "/kernel_graph/tensors/0/name", "/kernel_graph/operators/0/grid"]
    {
        let record = path.rsplit_once('/').map_or("", |(record, _)| record);
        let edit = Edit::breaking(Rule::S03, format!("`{path}` is missing")).at(record).remove(path);
        sink.graph_reject(base, &format!("without {path}"), &edit)?;
    }
    for (path, value) in
        [("/mode", json!(7)), ("/ranks", json!("1")), ("/kernel_graph/operators/0/inputs/0", json!("x"))]
    {
        let edit =
            Edit::breaking(Rule::S04, format!("`{path}` is {value}")).at(path).replace(path, value.clone());
        sink.graph_reject(base, &format!("{path} is {value}"), &edit)?;
    }
    for (path, value) in [("/mode", json!("safe")), ("/kernel_graph/tensors/0/io", json!("hbm"))] {
        let edit =
            Edit::breaking(Rule::S05, format!("`{path}` is {value}")).at(path).replace(path, value.clone());
        sink.graph_reject(base, &format!("{path} is {value}"), &edit)?;
    }
    Ok(())
}
