//! What became of a schema, by its structure: whether it takes more documents than before.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Keywords that say nothing about documents.
const ANNOTATIONS: [&str; 7] =
    ["title", "description", "$comment", "examples", "default", "deprecated", "$schema"];

/// Keywords that map names to schemas.
const MAPS: [&str; 4] = ["properties", "patternProperties", "dependentSchemas", "$defs"];

/// Keywords with a bound below which nothing is taken, and with one above.
const LEAST: [&str; 6] =
    ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"];
const MOST: [&str; 6] =
    ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"];

/// What a change does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Documents are taken that were refused.
    TakesMore,
    /// Documents are refused that were taken.
    TakesLess,
    /// One or the other, or both, or neither: this is not told from the structure.
    Other,
}

/// A change of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// JSON pointer into the schema.
    pub at: String,
    /// What it does.
    pub effect: Effect,
    /// What was changed.
    pub what: String,
}

/// The schema without annotations, its members in order of their names.
pub fn shape(schema: &Value) -> Value {
    plain(schema, false)
}

fn plain(value: &Value, names: bool) -> Value {
    match value {
        Value::Object(members) => {
            let mut kept: Vec<_> =
                members.iter().filter(|(key, _)| names || !ANNOTATIONS.contains(&key.as_str())).collect();
            kept.sort_by_key(|(key, _)| key.as_str());
            let of = |(key, value): (&String, &Value)| {
                let literal = !names && ["const", "enum"].contains(&key.as_str());
                let below = !names && MAPS.contains(&key.as_str());
                (key.clone(), if literal { value.clone() } else { plain(value, below) })
            };
            Value::Object(kept.into_iter().map(of).collect())
        }
        Value::Array(items) => items.iter().map(|item| plain(item, false)).collect(),
        other => other.clone(),
    }
}

/// The changes from one shape to another, in order of their places.
pub fn changes(old: &Value, new: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    schema(old, new, "", &mut found);
    found.sort_by(|a, b| (&a.at, a.effect).cmp(&(&b.at, b.effect)));
    found
}

fn schema(old: &Value, new: &Value, at: &str, found: &mut Vec<Change>) {
    let mut push = |effect, what: String| found.push(Change { at: at.to_owned(), effect, what });
    match (old, new) {
        _ if old == new => {}
        (Value::Bool(false), _) => {
            push(Effect::TakesMore, "nothing was taken here, now something is".to_owned())
        }
        (_, Value::Bool(true)) => push(Effect::TakesMore, "anything is taken here now".to_owned()),
        (Value::Bool(true), _) | (_, Value::Bool(false)) => {
            push(Effect::TakesLess, "less is taken here".to_owned());
        }
        (Value::Object(before), Value::Object(after)) => keywords(before, after, at, found),
        _ => push(Effect::Other, "is another kind of value".to_owned()),
    }
}

fn keywords(before: &Map<String, Value>, after: &Map<String, Value>, at: &str, found: &mut Vec<Change>) {
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    // `tidy` compares a schema's own id with the version of the suite.
    for key in keys.into_iter().filter(|key| *key != "$id") {
        let place = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        let mut push = |effect, what: String| found.push(Change { at: place.clone(), effect, what });
        let closed =
            |members: &Map<String, Value>| members.get("additionalProperties") == Some(&Value::Bool(false));
        let (old, new) = match (before.get(key), after.get(key)) {
            (Some(old), Some(new)) if old == new => continue,
            (Some(old), Some(new)) => (old, new),
            (Some(_), None) if key == "$defs" => {
                push(Effect::Other, "was removed".to_owned());
                continue;
            }
            (Some(Value::Object(names)), None) if MAPS.contains(&key.as_str()) && closed(after) => {
                push(Effect::TakesLess, format!("was removed, with {} names", names.len()));
                continue;
            }
            (Some(_), None) => {
                push(Effect::TakesMore, "was removed".to_owned());
                continue;
            }
            (None, _) if key == "$defs" => continue,
            (None, Some(Value::Object(names))) if key == "properties" && closed(before) => {
                push(Effect::TakesMore, format!("was added, with {} names", names.len()));
                continue;
            }
            (None, _) => {
                push(Effect::TakesLess, "was added".to_owned());
                continue;
            }
        };
        match (key.as_str(), old, new) {
            (map, Value::Object(old), Value::Object(new)) if MAPS.contains(&map) => {
                names(map, (old, closed(before)), (new, closed(after)), &place, found);
            }
            ("required" | "enum" | "type", ..) => sets(key, old, new, push),
            (bound, ..) if LEAST.contains(&bound) || MOST.contains(&bound) => {
                let (old, new) = (old.as_f64().unwrap_or_default(), new.as_f64().unwrap_or_default());
                let more = if LEAST.contains(&bound) { new < old } else { new > old };
                let effect = if more { Effect::TakesMore } else { Effect::TakesLess };
                push(effect, format!("was {old}, is {new}"));
            }
            ("uniqueItems", ..) => {
                let effect = if *new == Value::Bool(true) { Effect::TakesLess } else { Effect::TakesMore };
                push(effect, format!("was {old}, is {new}"));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(old), Value::Array(new)) => {
                for (n, (old, new)) in old.iter().zip(new).enumerate() {
                    schema(old, new, &format!("{place}/{n}"), found);
                }
                let longer = new.len() > old.len();
                if new.len() != old.len() {
                    let effect = match (key.as_str(), longer) {
                        ("anyOf", true) | ("allOf" | "prefixItems", false) => Effect::TakesMore,
                        ("anyOf", false) | ("allOf" | "prefixItems", true) => Effect::TakesLess,
                        _ => Effect::Other,
                    };
                    let what = format!("has {} entries, had {}", new.len(), old.len());
                    found.push(Change { at: place, effect, what });
                }
            }
            (
                "items"
                | "additionalProperties"
                | "propertyNames"
                | "contains"
                | "then"
                | "else"
                | "unevaluatedProperties"
                | "unevaluatedItems",
                ..,
            ) => schema(old, new, &place, found),
            _ => push(Effect::Other, format!("was {old}, is {new}")),
        }
    }
}

/// Names that came and went. In a schema that takes no other names, a name that came makes it take more.
fn names(
    map: &str,
    (old, was_closed): (&Map<String, Value>, bool),
    (new, is_closed): (&Map<String, Value>, bool),
    at: &str,
    found: &mut Vec<Change>,
) {
    for name in old.keys().chain(new.keys().filter(|name| !old.contains_key(*name))) {
        let place = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        let (effect, what) = match (old.get(name), new.get(name)) {
            (Some(before), Some(after)) => {
                schema(before, after, &place, found);
                continue;
            }
            (Some(_), None) if map == "$defs" => (Effect::Other, "was removed"),
            (None, _) if map == "$defs" => continue,
            (Some(_), None) if is_closed => (Effect::TakesLess, "was removed"),
            (Some(_), None) => (Effect::TakesMore, "was removed, and any value of this name is taken"),
            (None, _) if was_closed => (Effect::TakesMore, "was added where no other name was taken"),
            (None, _) => (Effect::TakesLess, "was added"),
        };
        found.push(Change { at: place, effect, what: what.to_owned() });
    }
}

/// Lists whose order says nothing. A name that is no more required, or that came to an `enum` or a `type`, makes a schema take more.
fn sets(key: &str, old: &Value, new: &Value, mut push: impl FnMut(Effect, String)) {
    let list = |value: &Value| -> Vec<String> {
        match value {
            Value::Array(items) => items.iter().map(Value::to_string).collect(),
            one => vec![one.to_string()],
        }
    };
    let (old, new) = (list(old), list(new));
    let (if_gone, if_came) = match key {
        "required" => (Effect::TakesMore, Effect::TakesLess),
        _ => (Effect::TakesLess, Effect::TakesMore),
    };
    for item in old.iter().filter(|item| !new.contains(item)) {
        push(if_gone, format!("no longer has {item}"));
    }
    for item in new.iter().filter(|item| !old.contains(item)) {
        push(if_came, format!("has {item} now"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(old: Value, new: Value) -> Vec<(String, Effect)> {
        changes(&shape(&old), &shape(&new)).into_iter().map(|change| (change.at, change.effect)).collect()
    }

    #[test]
    fn what_makes_a_schema_take_more_or_less_is_told() {
        for (at, strict, lax) in [
            ("/required", json!({"required": ["a", "b"]}), json!({"required": ["b"]})),
            ("/required", json!({"required": ["a"]}), json!({})),
            ("/enum", json!({"enum": [1, 2]}), json!({"enum": [2, 1, 3]})),
            ("/type", json!({"type": "string"}), json!({"type": ["null", "string"]})),
            ("/minimum", json!({"minimum": 1}), json!({"minimum": 0})),
            ("/maxItems", json!({"maxItems": 1}), json!({"maxItems": 2})),
            ("/pattern", json!({"pattern": "^a$"}), json!({})),
            (
                "/additionalProperties",
                json!({"additionalProperties": false}),
                json!({"additionalProperties": {}}),
            ),
            ("/additionalProperties", json!({"additionalProperties": false}), json!({})),
            ("/anyOf", json!({"anyOf": [{}]}), json!({"anyOf": [{}, {"type": "null"}]})),
            ("/uniqueItems", json!({"uniqueItems": true}), json!({"uniqueItems": false})),
            (
                "/properties/a/const",
                json!({"properties": {"a": {"const": 1}}}),
                json!({"properties": {"a": {}}}),
            ),
            (
                "/properties/b",
                json!({"properties": {"a": {}}, "additionalProperties": false}),
                json!({"properties": {"a": {}, "b": {}}, "additionalProperties": false}),
            ),
            ("/items/maximum", json!({"items": {"maximum": 1}}), json!({"items": {"maximum": 2}})),
        ] {
            assert_eq!(found(strict.clone(), lax.clone()), [(at.to_owned(), Effect::TakesMore)]);
            assert_eq!(found(lax, strict), [(at.to_owned(), Effect::TakesLess)]);
        }
        let pattern = |text: &str| json!({"pattern": text});
        assert_eq!(found(pattern("a"), pattern("b")), [("/pattern".to_owned(), Effect::Other)]);
    }

    #[test]
    fn annotations_and_order_say_nothing() {
        let old = json!({"description": "a", "type": "object", "properties": {"title": {"type": "string"}}});
        let new = json!({"type": "object", "properties": {"title": {"title": "T", "type": "string"}}});
        assert_eq!(found(old.clone(), new), []);
        let without = json!({"type": "object", "properties": {}});
        assert_eq!(found(old, without), [("/properties/title".to_owned(), Effect::TakesMore)]);
    }
}
