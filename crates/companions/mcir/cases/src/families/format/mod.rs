//! Structure, place by place: each member of the wrong type, each number at the ends of its range and beyond them, each name that leads nowhere. A place at which a
//! validator does not look has a case of its own.

mod kinds;
mod limits;
mod names;
mod producers;
mod ranges;
mod scenes;
mod sizes;

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Document, Sink, words};
use serde_json::{Value, json};

use super::{PROFILE, cited, path};

pub use kinds::kinds;
pub use limits::limits;
pub use names::names;
pub use producers::producers;
pub use ranges::ranges;
pub use sizes::sizes;

/// An accepted document, in a file of its own.
struct Scene {
    name: &'static str,
    summary: &'static str,
    cites: &'static [&'static str],
    document: Value,
}

/// A document that differs from a scene, and the rule that it breaks, and where; or none.
struct Edit {
    name: String,
    broken: Option<(&'static str, String)>,
    edit: Vec<Value>,
}

fn breaks(name: impl Into<String>, rule: &'static str, at: impl Into<String>, edit: Vec<Value>) -> Edit {
    Edit { name: name.into(), broken: Some((rule, at.into())), edit }
}

fn allowed(name: impl Into<String>, edit: Vec<Value>) -> Edit {
    Edit { name: name.into(), broken: None, edit }
}

/// The files of the scenes.
///
/// # Errors
/// A text that is none.
pub fn files() -> Result<Vec<(String, Value)>> {
    let mut all = vec![scenes::every()?, scenes::graph()?, scenes::states()?];
    all.extend([scenes::largest(), scenes::large(), scenes::ranks(), scenes::largest_graph()]);
    all.extend(names::scenes());
    all.extend(ranges::scenes());
    all.extend(sizes::scenes());
    Ok(all.into_iter().map(|scene| (path(scene.name), scene.document)).collect())
}

/// A scene, and what differs from it.
fn push(sink: &mut Sink, scene: &Scene, edits: &[Edit]) -> Result<()> {
    let file = path(scene.name);
    let twin = format!("{}/{}", sink.family(), scene.name);
    let accept = json!({"verdict": "accept", "warnings": []});
    let cites = cited(if scene.cites.is_empty() { &["MCI-01"] } else { scene.cites })?;
    let document = Document::Edited(&file, &[]);
    sink.push_as("validate", twin.clone(), scene.summary, PROFILE, &cites, &document, accept.clone(), None)?;
    for Edit { name, broken, edit } in edits {
        let id = format!("{}/{}-{}", sink.family(), scene.name, words(name));
        let document = Document::Edited(&file, edit);
        match broken {
            Some((rule, at)) => {
                let expect = json!({"verdict": "reject", "rules": [rule], "at": at});
                let cites = cited(&[rule])?;
                sink.push_as("validate", id, name, PROFILE, &cites, &document, expect, Some(twin.clone()))?;
            }
            None => {
                sink.push_as("validate", id, name, PROFILE, &cites, &document, accept.clone(), None)?;
            }
        }
    }
    Ok(())
}

/// Each value of a document with the pointer to it, from the outside in.
fn walk<'d>(at: &str, value: &'d Value, found: &mut Vec<(String, &'d Value)>) {
    found.push((at.to_owned(), value));
    match value {
        Value::Array(values) => {
            for (place, value) in values.iter().enumerate() {
                walk(&format!("{at}/{place}"), value, found);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                walk(&format!("{at}/{name}"), value, found);
            }
        }
        _ => {}
    }
}

fn places(document: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    walk("", document, &mut found);
    found
}

/// The last member on the way to a place, and the places in arrays behind it.
fn member(at: &str) -> (&str, Vec<usize>) {
    let mut behind = Vec::new();
    for part in at.rsplit('/') {
        match part.parse() {
            Ok(place) => behind.insert(0, place),
            Err(_) => return (part, behind),
        }
    }
    ("", behind)
}
