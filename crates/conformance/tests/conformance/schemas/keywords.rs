//! A misspelt keyword is ignored by every JSON Schema implementation, and the metaschema allows it. This walk does not.

use serde_json::{Value, json};

use super::set::schemas;

/// Keywords whose value is one schema.
const ONE: [&str; 10] = [
    "additionalProperties",
    "propertyNames",
    "items",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose value is an array of schemas.
const MANY: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords whose value is an object from names to schemas.
const NAMED: [&str; 4] = ["$defs", "properties", "patternProperties", "dependentSchemas"];
/// Keywords whose value is no schema.
const PLAIN: [&str; 32] = [
    "$schema",
    "$id",
    "$ref",
    "$anchor",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "type",
    "enum",
    "const",
    "required",
    "dependentRequired",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
    "format",
    "contentEncoding",
];

/// JSON pointers of the keywords that no draft 2020-12 validator knows.
fn unknown_keywords(schema: &Value, at: &str, found: &mut Vec<String>) {
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        let here = format!("{at}/{keyword}");
        let name = keyword.as_str();
        if ONE.contains(&name) {
            unknown_keywords(value, &here, found);
        } else if MANY.contains(&name) {
            for (n, part) in value.as_array().into_iter().flatten().enumerate() {
                unknown_keywords(part, &format!("{here}/{n}"), found);
            }
        } else if NAMED.contains(&name) {
            for (member, part) in value.as_object().into_iter().flatten() {
                unknown_keywords(part, &format!("{here}/{member}"), found);
            }
        } else if !PLAIN.contains(&name) {
            found.push(here);
        }
    }
}

#[test]
fn no_schema_uses_an_unknown_keyword() {
    for (name, schema) in schemas() {
        let mut found = Vec::new();
        unknown_keywords(&schema, "", &mut found);
        assert_eq!(found, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_misspelt_keyword_is_found_at_any_depth() {
    let schema = json!({
        "requred": ["a"],
        "properties": { "requred": { "maxItem": 2 }, "b": { "items": { "anyOf": [{}, { "minimun": 0 }] } } },
        "if": { "not": { "proprties": {} } },
        "enum": [{ "anything": 1 }]
    });
    assert!(jsonschema::draft202012::meta::is_valid(&schema), "the metaschema does not see it");
    let mut found = Vec::new();
    unknown_keywords(&schema, "", &mut found);
    found.sort();
    let expected = [
        "/if/not/proprties",
        "/properties/b/items/anyOf/1/minimun",
        "/properties/requred/maxItem",
        "/requred",
    ];
    assert_eq!(found, expected);
}

/// Required members that `properties` does not describe are misspelt too, unless another branch describes them.
#[test]
fn required_members_of_plain_objects_are_described() {
    fn walk(schema: &Value, at: &str, wrong: &mut Vec<String>) {
        if let (Some(required), Some(known)) =
            (schema["required"].as_array(), schema["properties"].as_object())
            && schema["type"] == "object"
        {
            let missing = required.iter().filter_map(Value::as_str).filter(|m| !known.contains_key(*m));
            wrong.extend(missing.map(|m| format!("{at}: {m}")));
        }
        match schema {
            Value::Object(members) => members.iter().for_each(|(k, v)| walk(v, &format!("{at}/{k}"), wrong)),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(n, v)| walk(v, &format!("{at}/{n}"), wrong))
            }
            _ => {}
        }
    }
    let mut wrong = Vec::new();
    for (name, schema) in schemas() {
        walk(&schema, &name, &mut wrong);
    }
    assert_eq!(wrong, Vec::<String>::new());
    walk(&json!({ "type": "object", "required": ["nmae"], "properties": { "name": {} } }), "t", &mut wrong);
    assert_eq!(wrong, ["t: nmae"]);
}
