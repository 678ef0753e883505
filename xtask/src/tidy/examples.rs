//! Examples in documents: JSON is JSON, and the cases that CON-05 shows have the members that their schema asks for.

use std::collections::BTreeMap;

use megakernel_codegen::markdown::code_blocks;
use serde_json::Value;

use super::tree::Files;

/// Sections whose examples are documents of a schema: the page, the heading's beginning, the schema.
const SHOWN: [(&str, &str, &str); 1] = [("spec/conformance.md", "### CON-05 ", "schemas/case.schema.json")];

/// Blocks marked as JSON that are none, neither whole nor line by line; and examples that do not fit their schema.
pub fn broken(files: &Files) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, text) in files.texts().filter(|(path, _)| path.ends_with(".md")) {
        for block in code_blocks(text).into_iter().filter(|block| block.info == "json") {
            let value: Result<Value, _> = serde_json::from_str(&block.text);
            let lines = || block.text.lines().all(|line| line.trim().is_empty() || is_json(line));
            match value {
                Err(cause) if !lines() => {
                    problems.push(format!("{path}:{}: the example is no JSON: {cause}", block.line));
                }
                Ok(value) => {
                    for (_, _, schema) in SHOWN
                        .iter()
                        .filter(|(page, heading, _)| *page == path && stands_in(text, block.line, heading))
                    {
                        let found = Schemas { files, read: BTreeMap::new() }.unlike(&value, schema);
                        problems.extend(found.into_iter().map(|what| {
                            format!("{path}:{}: the example does not fit {schema}: {what}", block.line)
                        }));
                    }
                }
                Err(_) => {}
            }
        }
    }
    problems
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}

/// Whether the last heading of level 3 or above before a line begins so.
fn stands_in(text: &str, line: usize, heading: &str) -> bool {
    let above = text.lines().take(line.saturating_sub(1));
    let headings = above.filter(|line| ["# ", "## ", "### "].iter().any(|mark| line.starts_with(mark)));
    headings.last().is_some_and(|last| last.starts_with(heading))
}

/// Schemas as they are read. Of their keywords those are looked at that say which members and names there are; the tests of the
/// runner look at all.
struct Schemas<'f> {
    files: &'f Files,
    read: BTreeMap<String, Value>,
}

impl Schemas<'_> {
    fn unlike(&mut self, value: &Value, schema: &str) -> Vec<String> {
        let mut found = Vec::new();
        match self.get(schema) {
            Ok(root) => self.check(value, &root, schema, "", &mut found),
            Err(problem) => found.push(problem),
        }
        found
    }

    fn get(&mut self, path: &str) -> Result<Value, String> {
        if let Some(schema) = self.read.get(path) {
            return Ok(schema.clone());
        }
        let schema: Value =
            serde_json::from_str(self.files.text(path)?).map_err(|cause| format!("{path}: {cause}"))?;
        self.read.insert(path.to_owned(), schema.clone());
        Ok(schema)
    }

    fn check(&mut self, value: &Value, schema: &Value, file: &str, at: &str, found: &mut Vec<String>) {
        if let Some(reference) = schema["$ref"].as_str() {
            let (other, pointer) = reference.split_once('#').unwrap_or((reference, ""));
            let file = if other.is_empty() { file.to_owned() } else { format!("schemas/{other}") };
            let whole = self.get(&file);
            match whole.as_ref().map(|whole| whole.pointer(pointer)) {
                Ok(Some(schema)) => self.check(value, schema, &file, at, found),
                // A name in place of a pointer: an anchor, which is left to the tests of the runner.
                Ok(None) if !pointer.starts_with('/') => {}
                Ok(None) => found.push(format!("{at}: `{reference}` leads nowhere")),
                Err(problem) => found.push(problem.clone()),
            }
        }
        if schema.get("const").is_some_and(|wanted| wanted != value) {
            found.push(format!("{at}: {value} is not {}", schema["const"]));
        }
        if schema["enum"].as_array().is_some_and(|allowed| !allowed.contains(value)) {
            found.push(format!("{at}: {value} is none of {}", schema["enum"]));
        }
        if !of_type(value, &schema["type"]) {
            found.push(format!("{at}: {value} is not of type {}", schema["type"]));
        }
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if value.as_object().is_some_and(|members| !members.contains_key(name)) {
                found.push(format!("{at}: there is no `{name}`"));
            }
        }
        for (name, member) in value.as_object().into_iter().flatten() {
            match schema["properties"].get(name) {
                Some(schema) => self.check(member, schema, file, &format!("{at}/{name}"), found),
                None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                    found.push(format!("{at}: there may be no `{name}`"));
                }
                None => {}
            }
        }
        if let Some(items) = schema.get("items") {
            for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                self.check(item, items, file, &format!("{at}/{n}"), found);
            }
        }
    }
}

fn of_type(value: &Value, types: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        _ => true,
    };
    match types {
        Value::Array(types) => types.iter().any(is),
        one => is(one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_json_whole_or_by_lines() {
        let found = broken(&Files::from_texts(&[(
            "a.md",
            "```json\n{\"a\": 1}\n{\"a\": 2}\n```\n\n```json\n[1,\n 2]\n```\n\n```json\n{\"a\": }\n```\n",
        )]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("a.md:11: the example is no JSON"), "{found:?}");
    }

    #[test]
    fn examples_fit_their_schema() {
        let schema = r##"{"type": "object", "required": ["id"], "additionalProperties": false, "properties": {
            "id": {"type": "string"}, "kinds": {"items": {"$ref": "names.schema.json#/$defs/kind"}}}}"##;
        let names = r#"{"$defs": {"kind": {"enum": ["a", "b"]}}}"#;
        for (example, part) in [
            (r#"{"id": "x", "kinds": ["a"]}"#, ""),
            (r#"{"kinds": []}"#, "there is no `id`"),
            (r#"{"id": 1}"#, "/id: 1 is not of type"),
            (r#"{"id": "x", "kind": 1}"#, "there may be no `kind`"),
            (r#"{"id": "x", "kinds": ["a", "c"]}"#, r#"/kinds/1: "c" is none of"#),
        ] {
            let page = format!(
                "# C\n### CON-05 Cases\n```json\n{example}\n```\n### CON-06 More\n```json\n[]\n```\n"
            );
            let found = broken(&Files::from_texts(&[
                ("spec/conformance.md", &page),
                ("schemas/case.schema.json", schema),
                ("schemas/names.schema.json", names),
            ]));
            assert_eq!(found.len(), usize::from(!part.is_empty()), "{example}: {found:?}");
            assert!(
                found.iter().all(|what| what.contains(part) && what.starts_with("spec/conformance.md:3"))
            );
        }
    }
}
