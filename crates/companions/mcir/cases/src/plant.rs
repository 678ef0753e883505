//! What is planted in accepted documents: single edits, of which the rule that breaks and the place follow from how they are made.

use serde_json::{Value, json};

use crate::bases::Base;

/// A rejected or warned edit of an accepted document.
#[derive(Clone, Debug)]
pub struct Planted {
    /// The name of the document.
    pub base: String,
    /// What is planted.
    pub name: String,
    /// RFC 6902 operations.
    pub edit: Vec<Value>,
    /// The rule that breaks.
    pub rule: &'static str,
    /// Where.
    pub at: String,
}

/// A node of a document.
#[derive(Clone, Copy, Debug)]
pub struct Node<'b> {
    pub region: usize,
    pub body: &'static str,
    pub place: usize,
    pub value: &'b Value,
}

impl Node<'_> {
    pub fn at(&self) -> String {
        format!("/regions/{}/streaming/tile/{}/{}", self.region, self.body, self.place)
    }

    pub fn is(&self, op: &str) -> bool {
        self.value["op"] == op
    }

    pub fn function(&self) -> &str {
        self.value["fn"].as_str().unwrap_or_default()
    }

    /// The first name in `in` or `out`.
    pub fn first(&self, side: &str) -> &str {
        self.value[side][0].as_str().unwrap_or_default()
    }
}

/// Looks at a base.
#[derive(Clone, Copy, Debug)]
pub struct View<'b>(pub &'b Base);

impl<'b> View<'b> {
    pub fn document(&self) -> &'b Value {
        &self.0.document
    }

    /// The nodes of all regions, in order.
    pub fn nodes(&self) -> Vec<Node<'b>> {
        let mut found = Vec::new();
        for (region, value) in list(&self.document()["regions"]).iter().enumerate() {
            for body in ["begin", "each", "end"] {
                for (place, value) in list(&value["streaming"]["tile"][body]).iter().enumerate() {
                    found.push(Node { region, body, place, value });
                }
            }
        }
        found
    }

    /// The nodes of a kind.
    pub fn of(&self, op: &str) -> Vec<Node<'b>> {
        self.nodes().into_iter().filter(|node| node.is(op)).collect()
    }

    /// The regions, each with its number and its streaming region.
    pub fn regions(&self) -> Vec<(usize, &'b Value, &'b Value)> {
        let regions = list(&self.document()["regions"]).iter().enumerate();
        regions.map(|(number, region)| (number, region, &region["streaming"])).collect()
    }

    /// The values, by name.
    pub fn values(&self) -> Vec<(&'b str, &'b Value)> {
        let values = self.document()["values"].as_object().into_iter().flatten();
        values.map(|(name, value)| (name.as_str(), value)).collect()
    }

    pub fn tiles(&self) -> Vec<(&'b str, &'b Value)> {
        self.values().into_iter().filter(|(_, value)| value["residency"] != "global").collect()
    }

    pub fn tensors(&self) -> Vec<(&'b str, &'b Value)> {
        self.values().into_iter().filter(|(_, value)| value["residency"] == "global").collect()
    }

    pub fn value(&self, name: &str) -> &'b Value {
        &self.document()["values"][name]
    }

    /// The states of a region.
    pub fn states(&self, region: usize) -> Vec<&'b str> {
        let states = &self.document()["regions"][region]["streaming"]["state"];
        list(states).iter().filter_map(|state| state["value"].as_str()).collect()
    }

    /// Whether a tile is prefetched.
    pub fn is_prefetched(&self, name: &str) -> bool {
        self.of("Prefetch").iter().any(|node| node.first("out") == name)
    }

    /// The pointer to a tile in its residency region, and the lifetime.
    pub fn lifetime(&self, name: &str) -> Option<(String, &'b str)> {
        list(&self.document()["residency"]).iter().enumerate().find_map(|(place, region)| {
            let number = list(&region["values"]).iter().position(|value| *value == name)?;
            Some((format!("/residency/{place}/values/{number}"), region["lifetime"].as_str()?))
        })
    }

    /// The nodes that read a value.
    pub fn readers(&self, name: &str) -> Vec<Node<'b>> {
        self.nodes()
            .into_iter()
            .filter(|node| list(&node.value["in"]).iter().any(|value| *value == name))
            .collect()
    }

    /// Something that is planted here.
    pub fn plant(&self, rule: &'static str, name: &str, at: impl Into<String>, edit: Vec<Value>) -> Planted {
        Planted { base: self.0.name.clone(), name: name.to_owned(), edit, rule, at: at.into() }
    }
}

/// An array, or none.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A number, or 0.
pub fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

/// Another value in place of the one that is there.
pub fn replace(path: impl Into<String>, value: impl Into<Value>) -> Value {
    json!({"op": "replace", "path": path.into(), "value": value.into()})
}

/// A member or an element more.
pub fn add(path: impl Into<String>, value: impl Into<Value>) -> Value {
    json!({"op": "add", "path": path.into(), "value": value.into()})
}

/// A member or an element less.
pub fn remove(path: impl Into<String>) -> Value {
    json!({"op": "remove", "path": path.into()})
}
