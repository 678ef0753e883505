//! The schemas agree with the text of the specification: with its table of members, and with its examples of messages.

use megakernel_test_support::schemas::validator;
use megakernel_test_support::spec::{self, Shown};
use serde_json::{Value, json};

use super::set::{
    collective_schema, errors, mcir_schema, schedule_schema, schemas, selection_schema, task_graph_schema,
};

/// A row of the table in FMT-03: object, member, JSON type, default.
fn rows() -> Vec<[String; 4]> {
    let mut object = String::new();
    let mut rows = Vec::new();
    for line in spec::section("FMT-03").lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [first, member, kind, default] = cells[..] else { continue };
        let Some(member) = member.strip_prefix('`').and_then(|m| m.strip_suffix('`')) else { continue };
        if !first.is_empty() {
            object = first.trim_matches('*').to_owned();
        }
        // What stands behind the value says when it need not be written.
        let value = default.strip_prefix('`').and_then(|rest| rest.split_once('`')).map(|(value, _)| value);
        let default = value.unwrap_or(default).to_owned();
        rows.push([object.clone(), member.to_owned(), kind.to_owned(), default]);
    }
    rows
}

/// The JSON types in the words of the table, such as "array of integer" or "object (target) or null".
fn types_in_words(kind: &str) -> Vec<&str> {
    let mut types: Vec<&str> = kind
        .split(" or ")
        .map(|part| match part.split([' ', ':', ',']).next().unwrap_or_default() {
            "map" => "object",
            "name" => "string",
            word => word,
        })
        .collect();
    types.sort_unstable();
    types
}

/// The types that a schema of this file gives.
fn types_in_schema<'s>(file: &'s Value, schema: &'s Value) -> Vec<&'s str> {
    let schema = match schema["$ref"].as_str().and_then(|target| target.split_once('#')) {
        Some(("", pointer)) => file.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}")),
        // Names of opcodes and the like stand in a file of their own, and are strings.
        Some((_, names)) if names.ends_with("/name") => return vec!["string"],
        _ => schema,
    };
    let mut types: Vec<&str> = match &schema["type"] {
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    types.sort_unstable();
    types
}

#[test]
fn members_order_types_and_defaults_are_those_of_fmt_03() {
    let schemas = schemas();
    let program = &schemas["program"];
    let (target, config) = (&schemas["target"], &schemas["schedule-config"]);
    let records = ["buffer", "counter", "task", "wait", "pages", "page"];
    let objects = [("program", program, program), ("target", target, target), ("config", config, config)];
    let records = records.map(|name| (name, program, &program["$defs"][name]));
    let objects = objects.into_iter().chain(records);
    let rows = rows();
    assert!(rows.len() > 60, "the table has only {} rows", rows.len());
    for (object, file, schema) in objects.clone() {
        let of_object: Vec<_> = rows.iter().filter(|[of, ..]| of == object).collect();
        let members: Vec<&str> = of_object.iter().map(|[_, member, ..]| member.as_str()).collect();
        let properties: Vec<&str> =
            schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        assert_eq!(properties, members, "{object}");
        for [_, member, kind, default] in of_object {
            let types = types_in_schema(file, &schema["properties"][member]);
            assert_eq!(types, types_in_words(kind), "{object}.{member}");
            let required = schema["required"].as_array().is_some_and(|list| list.contains(&json!(member)));
            assert_eq!(required, default == "required", "{object}.{member}");
            let found = schema["properties"][member].get("default");
            let expected = match default.as_str() {
                "required" | "absent" => None,
                text => Some(serde_json::from_str(text).unwrap_or_else(|e| panic!("{object}.{member}: {e}"))),
            };
            assert_eq!(found, expected.as_ref(), "{object}.{member}");
        }
    }
    let known: Vec<&str> = objects.map(|(name, ..)| name).collect();
    let unknown: Vec<_> = rows.iter().filter(|[of, ..]| !known.contains(&of.as_str())).collect();
    assert!(unknown.is_empty(), "objects that no schema describes: {unknown:?}");
}

#[test]
fn messages_of_the_protocol_chapter_conform() {
    let mut lines: Vec<(bool, String)> = Vec::new();
    for fence in spec::blocks("CON-02", "json") {
        lines.push((!fence.contains("profiles"), fence));
    }
    for fence in spec::blocks("CON-03", "text") {
        for line in fence.lines() {
            let (arrow, message) = line.split_at(3);
            lines.push((arrow == "-> ", message.to_owned()));
        }
    }
    assert!(lines.len() >= 6, "found only {} messages", lines.len());
    let (runner, worker) =
        (validator("protocol.schema.json#from-runner"), validator("protocol.schema.json#from-worker"));
    for (from_runner, line) in lines {
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert_eq!(errors(if from_runner { &runner } else { &worker }, &message), [], "{line}");
    }
}

#[test]
fn the_example_case_and_witnesses_conform() {
    let cases = spec::blocks("CON-05", "json");
    assert_eq!(cases.len(), 2, "CON-05 shows two cases");
    for case in cases {
        let case: Value = serde_json::from_str(&case).expect("JSON");
        assert_eq!(errors(&validator("case"), &case), []);
    }
    let witnesses = spec::blocks("CON-10", "json").concat();
    let mut kinds = Vec::new();
    for line in witnesses.lines() {
        let witness: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert_eq!(errors(&validator("diagnostics.schema.json#/$defs/witness"), &witness), [], "{line}");
        kinds.push(witness["kind"].clone());
    }
    assert_eq!(json!(kinds), schemas()["diagnostics"]["$defs"]["witness"]["properties"]["kind"]["enum"]);
}

/// The smallest failing documents conform where nothing is wrong with their structure.
#[test]
fn examples_of_rules_beyond_structure_conform() {
    let mut examples = 0;
    for Shown { rule, failing, .. } in spec::examples() {
        let Ok(document) = serde_json::from_str::<Value>(&failing) else {
            assert_eq!(rule, "S01");
            continue;
        };
        let (of, about_form) = match (rule.len(), &rule[..1]) {
            (3, class) => ("program", class == "S"),
            (_, "T") => (task_graph_schema(&document), rule.starts_with("TS")),
            // Of operations and what names hold, a schema says nothing.
            (_, "C") => (collective_schema(&document), rule.starts_with("CS")),
            (_, "E") => (schedule_schema(&document), rule.starts_with("ES")),
            (_, "I") => (mcir_schema(&document), rule.starts_with("IS") || rule.starts_with("IG")),
            (_, "K") => (selection_schema(&document), rule.starts_with("KS")),
            _ => panic!("of which kind is the document of {rule}? This test has to be told"),
        };
        let found = errors(&validator(of), &document);
        assert!(found.is_empty() || about_form, "{rule}: {found:?}");
        examples += 1;
    }
    assert!(examples > 70, "the specification has only {examples} examples");
}
