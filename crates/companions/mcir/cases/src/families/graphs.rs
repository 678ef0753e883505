//! Semantic graphs (clauses MCI-18 to MCI-22): what is accepted, what breaks the rules IG01 to IG06, and passes.

use std::collections::BTreeMap;

use megakernel_corpus::builder::{Error, Result};
use megakernel_corpus::families::{Document, Library, Sink, words};
use serde_json::{Value, json};

use super::{MOST, PROFILE, cited, path, push, text_case};
use crate::graphs::{self, Sample};
use crate::plant::{Planted, add, list, remove, replace};

/// The graphs, one by one.
///
/// # Errors
/// A case that is not well formed.
pub fn accepted(sink: &mut Sink) -> Result<()> {
    for sample in graphs::all() {
        let id = format!("{}/{}", sink.family(), sample.name);
        let (file, expect) = (path(&sample.name), json!({"verdict": "accept", "warnings": []}));
        let document = Document::Edited(&file, &[]);
        let clauses = cited(&["MCI-18"])?;
        sink.push_as("validate", id, sample.summary, PROFILE, &clauses, &document, expect, None)?;
    }
    Ok(())
}

/// What breaks a rule.
///
/// # Errors
/// A case that is not well formed.
pub fn broken(_: &Library, sink: &mut Sink) -> Result<()> {
    let mut kinds: BTreeMap<(&'static str, String), Vec<Planted>> = BTreeMap::new();
    for sample in graphs::all() {
        let found = Plants::of(sample);
        let mut seen = Vec::new();
        for planted in found {
            let kind = (planted.rule, planted.name.clone());
            // One of a kind in each graph.
            if !seen.contains(&kind) {
                seen.push(kind.clone());
                kinds.entry(kind).or_default().push(planted);
            }
        }
    }
    for (_, all) in kinds {
        let step = all.len().div_ceil(MOST).max(1);
        for (number, planted) in all.into_iter().step_by(step).enumerate() {
            push(sink, &planted, number)?;
        }
    }
    Ok(())
}

struct Plants<'s> {
    sample: &'s Sample,
    found: Vec<Planted>,
}

/// The shape of a value.
fn shape<'s>(sample: &'s Sample, name: &Value) -> &'s [Value] {
    list(&sample.graph["values"][name.as_str().unwrap_or_default()]["shape"])
}

impl<'s> Plants<'s> {
    fn of(sample: &Sample) -> Vec<Planted> {
        let mut plants = Plants { sample, found: Vec::new() };
        plants.numbers();
        plants.names();
        plants.order();
        plants.shapes();
        plants.found
    }

    fn plant(&mut self, rule: &'static str, name: &str, at: impl Into<String>, edit: Vec<Value>) {
        let (base, name) = (self.sample.name.clone(), name.to_owned());
        self.found.push(Planted { base, name, edit, rule, at: at.into() });
    }

    fn nodes(&self) -> &'s [Value] {
        list(&self.sample.graph["nodes"])
    }

    fn inputs(&self) -> &'s [Value] {
        list(&self.sample.graph["inputs"])
    }

    /// Another number at a place.
    fn number(&mut self, name: &str, at: String, number: i64) {
        self.plant("IG01", name, at.clone(), vec![replace(at, number)]);
    }

    fn numbers(&mut self) {
        for name in self.inputs().iter().filter_map(Value::as_str) {
            self.number("an extent of 0", format!("/values/{name}/shape/0"), 0);
            self.number("an extent of 2^31", format!("/values/{name}/shape/1"), 1 << 31);
            let at = format!("/values/{name}/shape");
            self.plant(
                "IG01",
                "a value of 65 extents",
                at.clone(),
                vec![replace(at, json!([1; 65].as_slice()))],
            );
            let huge = json!([i64::from(i32::MAX), i64::from(i32::MAX), 2]);
            let at = format!("/values/{name}/shape");
            self.plant("IG01", "a value of 2^64 bytes", at.clone(), vec![replace(at, huge)]);
        }
        for (place, node) in self.nodes().iter().enumerate() {
            let at = |member: &str| format!("/nodes/{place}/{member}");
            if node.get("by").is_some() {
                self.number("a scale that is divided by 0", at("by/1"), 0);
                self.number("a scale of -2^31", at("by/0"), -(1 << 31));
            }
            if node.get("eps").is_some() {
                self.number("an epsilon below 0", at("eps/0"), -1);
                self.number("an epsilon that is divided by 0", at("eps/1"), 0);
            }
            for (mask, masked) in [("", node), ("mask/", &node["mask"])] {
                if masked.get("window").is_some_and(Value::is_i64) {
                    self.number("a window of nothing", at(&format!("{mask}window")), 0);
                }
                if masked.get("offset").is_some() {
                    self.number("an offset of 2^31", at(&format!("{mask}offset")), 1 << 31);
                }
            }
        }
    }

    fn names(&mut self) {
        let all = &self.sample.graph;
        for which in ["inputs", "outputs"] {
            let at = format!("/{which}/0");
            self.plant(
                "IG02",
                &format!("{which} that are no value"),
                at.clone(),
                vec![replace(at, "nobody")],
            );
            let at = format!("/{which}/{}", list(&all[which]).len());
            let twice = vec![add(at.clone(), all[which][0].clone())];
            self.plant("IG03", &format!("{which} with a name twice"), at, twice);
        }
        let last = self.nodes().len() - 1;
        for (side, at) in [("in", format!("/nodes/{last}/in/0")), ("out", "/nodes/0/out".to_owned())] {
            self.plant(
                "IG02",
                &format!("an unknown name in {side}"),
                at.clone(),
                vec![replace(at, "nobody")],
            );
        }
        if last > 0 {
            let at = format!("/nodes/{last}/id");
            self.plant("IG03", "an id twice", at.clone(), vec![replace(at, all["nodes"][0]["id"].clone())]);
        }
        for (place, node) in self.nodes().iter().enumerate() {
            let op = node["op"].as_str().unwrap_or_default();
            let (at, count) = (format!("/nodes/{place}"), list(&node["in"]).len());
            let more = vec![add(format!("{at}/in/{count}"), node["in"][0].clone())];
            self.plant("IG04", &format!("an operand too many of {op}"), at.clone(), more);
            let less = vec![remove(format!("{at}/in/{}", count - 1))];
            self.plant("IG04", &format!("an operand too few of {op}"), at, less);
        }
    }

    fn order(&mut self) {
        let (nodes, inputs) = (self.nodes(), self.inputs());
        let end = nodes.len();
        for (place, node) in nodes.iter().enumerate().skip(1) {
            let before = &nodes[place - 1]["out"];
            let Some(operand) = list(&node["in"]).iter().position(|name| name == before) else { continue };
            let moved = json!({"op": "move", "from": format!("/nodes/{place}"), "path": format!("/nodes/{}", place - 1)});
            let at = format!("/nodes/{}/in/{operand}", place - 1);
            self.plant("IG05", "a node before what it reads", at, vec![moved]);
        }
        let same = json!({"op": "copy", "from": "/nodes/0", "path": format!("/nodes/{end}")});
        let named = replace(format!("/nodes/{end}/id"), "again");
        self.plant("IG05", "a value that is produced twice", format!("/nodes/{end}/out"), vec![same, named]);
        let write = json!({"id": "again", "op": "copy", "in": [inputs[0]], "out": inputs[0]});
        let edit = vec![add(format!("/nodes/{end}"), write)];
        self.plant("IG05", "an input that is produced", format!("/nodes/{end}/out"), edit);
        let edit = vec![add("/values/nobody", json!({"shape": [2], "dtype": "F32"}))];
        self.plant("IG05", "a value that nobody produces", "/values/nobody", edit);
        let at = format!("/outputs/{}", list(&self.sample.graph["outputs"]).len());
        self.plant("IG05", "an output that is an input", at.clone(), vec![add(at, inputs[0].clone())]);
    }

    fn shapes(&mut self) {
        let (sample, nodes) = (self.sample, self.nodes());
        let last = nodes.len() - 1;
        if let Some(out) = nodes[last]["out"].as_str() {
            let longer = shape(sample, &nodes[last]["out"])[0].as_i64().unwrap_or(0) + 1;
            let edit = vec![replace(format!("/values/{out}/shape/0"), longer)];
            self.plant("IG06", "a result with a row more", format!("/nodes/{last}"), edit);
            let edit = vec![add(format!("/values/{out}/shape/0"), 1)];
            self.plant("IG06", "a result with an axis more", format!("/nodes/{last}"), edit);
        }
        for (place, node) in nodes.iter().enumerate() {
            let op = node["op"].as_str().unwrap_or_default();
            let at = format!("/nodes/{place}");
            let shape = |operand: usize| shape(sample, &node["in"][operand]);
            if node.get("axis").is_some() {
                let edit = vec![replace(format!("{at}/axis"), shape(0).len())];
                let below = vec![replace(format!("{at}/axis"), -1)];
                self.plant("IG06", &format!("{op} along an axis that is not there"), at.clone(), edit);
                self.plant("IG06", &format!("{op} along an axis below 0"), at.clone(), below);
            }
            if op == "matmul" && shape(0).len() == 2 && shape(0)[0] != shape(0)[1] {
                let edit = vec![replace(format!("{at}/in/1"), node["in"][0].clone())];
                self.plant("IG06", "a product of extents that do not meet", at.clone(), edit);
            }
            let operand = node["in"][0].as_str().unwrap_or_default();
            let readers = nodes.iter().flat_map(|node| list(&node["in"])).filter(|name| *name == operand);
            if ["matmul", "attention"].contains(&op)
                && readers.count() == 1
                && self.inputs().contains(&json!(operand))
            {
                let last = shape(0).len() - 1;
                let edit = vec![replace(format!("/values/{operand}/shape/{last}"), 2)];
                self.plant(
                    "IG06",
                    &format!("a {op} over another extent than that of its other operand"),
                    at.clone(),
                    edit,
                );
            }
            if op == "matmul" && shape(0).len() == 3 {
                let edit = vec![replace(format!("{at}/op"), "add")];
                self.plant("IG06", "a sum of what cannot be repeated", at.clone(), edit);
            }
            if op == "attention" {
                let edit = vec![replace(format!("{at}/in/1"), node["in"][0].clone())];
                self.plant("IG06", "more heads of keys than of values", at.clone(), edit);
            }
            if op.ends_with("_norm") {
                let edit = vec![replace(format!("{at}/in/1"), node["in"][0].clone())];
                self.plant("IG06", "weights of a norm for each element", at.clone(), edit);
            }
            if op == "rope" {
                let edit = vec![replace(format!("{at}/in/1"), node["in"][0].clone())];
                self.plant("IG06", "an angle for each element", at, edit);
            }
        }
    }
}

/// Graphs after a pass.
///
/// # Errors
/// A case that is not well formed.
pub fn transformed(_: &Library, sink: &mut Sink) -> Result<()> {
    let clauses = cited(&["MCI-19", "MCI-20", "MCI-21", "MCI-22"])?;
    for sample in graphs::all() {
        let id = format!("{}/{}", sink.family(), words(&sample.name));
        let text = request(sample).to_string();
        let expect = json!({"verdict": "accept", "warnings": [], "equivalent": true});
        let document = Document::Text(&text);
        sink.push_as("transform", id, sample.summary, PROFILE, &clauses, &document, expect, None)?;
    }
    rejected(sink)
}

fn request(sample: &Sample) -> Value {
    json!({"pass": "AttentionPatternPass", "graph": sample.graph})
}

/// Requests that are none, and graphs that break a rule.
fn rejected(sink: &mut Sink) -> Result<()> {
    let rules = ["IG01", "IG02", "IG03", "IG04", "IG05", "IG06"];
    for (rule, sample) in rules.into_iter().zip(graphs::all().iter().step_by(6)) {
        let found = Plants::of(sample);
        let Some(planted) = found.into_iter().find(|planted| planted.rule == rule) else { continue };
        let mut graph = sample.graph.clone();
        let edit: json_patch::Patch =
            serde_json::from_value(json!(planted.edit)).map_err(|error| Error(error.to_string()))?;
        json_patch::patch(&mut graph, &edit).map_err(|error| Error(error.to_string()))?;
        let text = json!({"pass": "AttentionPatternPass", "graph": graph}).to_string();
        let expect = json!({"verdict": "reject", "rules": [rule], "at": format!("/graph{}", planted.at)});
        let id = format!("{}/rejected-{}", sink.family(), words(rule));
        let twin = format!("{}/{}", sink.family(), words(&sample.name));
        let (clauses, document) = (cited(&[rule, "MCI-20"])?, Document::Text(&text));
        sink.push_as("transform", id, &planted.name, PROFILE, &clauses, &document, expect, Some(twin))?;
    }
    Ok(())
}

/// S03 to S05.
///
/// # Errors
/// A case that is not well formed.
pub fn members(_: &Library, sink: &mut Sink) -> Result<()> {
    let Some(sample) = graphs::all().iter().find(|sample| sample.name == "graph-window") else {
        return Ok(());
    };
    let good = graphs::text(&sample.graph);
    let accept = json!({"verdict": "accept", "warnings": []});
    text_case(sink, "good", sample.summary, &["MCI-18"], &good, accept.clone(), None)?;
    let least = r#"{"values": {}, "inputs": [], "outputs": [], "nodes": []}"#;
    text_case(sink, "nothing", "no node", &["MCI-18"], least, accept, None)?;
    for (name, rule, at, from, to) in [
        ("no values", "S03", "", "\"values\":", "\"value\":"),
        ("no outputs", "S03", "", "\"outputs\":", "\"output\":"),
        (
            "a value without a dtype",
            "S03",
            "/values/Q",
            "{\"shape\":[12,3],\"dtype\":\"F16\"}",
            "{\"shape\":[12,3]}",
        ),
        ("a node without an id", "S03", "/nodes/0", "\"id\":\"transpose-KT\",", ""),
        ("a node without what it reads", "S03", "/nodes/0", "\"in\":[\"K\"],", ""),
        ("a node without what it produces", "S03", "/nodes/0", ",\"out\":\"KT\"", ""),
        ("a scale without a fraction", "S03", "/nodes/2", "\"by\":[1,2],", ""),
        ("a softmax without an axis", "S03", "/nodes/4", "\"axis\":1,", ""),
        ("nodes in an object", "S04", "/nodes", "\"nodes\": [", "\"nodes\": {}, \"z\": ["),
        ("an extent in quotes", "S04", "/values/Q/shape/0", "\"shape\":[12,3],", "\"shape\":[\"12\",3],"),
        ("a result in an array", "S04", "/nodes/0/out", "\"out\":\"KT\"", "\"out\":[\"KT\"]"),
        ("a fraction of three numbers", "S04", "/nodes/2/by", "\"by\":[1,2]", "\"by\":[1,2,3]"),
        ("an offset of null", "S04", "/nodes/3/offset", "\"offset\":1", "\"offset\":null"),
        ("a window in quotes", "S04", "/nodes/3/window", "\"window\":3", "\"window\":\"3\""),
        ("an op that is none", "S05", "/nodes/0/op", "\"op\":\"transpose\"", "\"op\":\"reshape\""),
        ("an op of a document", "S05", "/nodes/0/op", "\"op\":\"transpose\"", "\"op\":\"LoadTile\""),
        (
            "a dtype that is none",
            "S05",
            "/values/Q/dtype",
            "{\"shape\":[12,3],\"dtype\":\"F16\"}",
            "{\"shape\":[12,3],\"dtype\":\"F8E4M3\"}",
        ),
    ] {
        let document = good.replacen(from, to, 1);
        let expect = json!({"verdict": "reject", "rules": [rule], "at": at});
        text_case(sink, name, name, &[rule, "MCI-18"], &document, expect, Some("good"))?;
    }
    let whole = json!({"pass": "AttentionPatternPass", "graph": sample.graph});
    for (name, rule, at, member, value) in [
        ("a request without a pass", "S03", "", "pass", None),
        ("a request without a graph", "S03", "", "graph", None),
        ("a pass by number", "S04", "/pass", "pass", Some(json!(1))),
        ("a pass that is none", "S05", "/pass", "pass", Some(json!("FlashAttentionPass"))),
        ("a graph in an array", "S04", "/graph", "graph", Some(json!([]))),
    ] {
        let mut request = whole.clone();
        if let Some(object) = request.as_object_mut() {
            match value {
                Some(value) => object.insert(member.to_owned(), value),
                None => object.remove(member),
            };
        }
        let (text, id) = (request.to_string(), format!("{}/{}", sink.family(), words(name)));
        let expect = json!({"verdict": "reject", "rules": [rule], "at": at});
        let (clauses, document) = (cited(&[rule, "MCI-20"])?, Document::Text(&text));
        let twin = Some("mcir/transform/graph-window".to_owned());
        sink.push_as("transform", id, name, PROFILE, &clauses, &document, expect, twin)?;
    }
    Ok(())
}
