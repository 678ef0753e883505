//! IL, IT and IM: lifetimes, limits and boundaries; and legitimate variants.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Document, Library, Sink, words};
use serde_json::{Value, json};

use super::{PROFILE, cited, path};
use crate::bases;
use crate::plant::{Planted, View, add, list, number, remove, replace};

/// IL01 and IL02.
pub fn residency(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    let regions = list(&view.document()["residency"]);
    for (place, region) in regions.iter().enumerate() {
        let at = format!("/residency/{place}");
        let other = if region["memory"] == "shared" { "register" } else { "shared" };
        let edit = vec![replace(format!("{at}/memory"), other)];
        found.push(view.plant("IL01", "the other memory", format!("{at}/values/0"), edit));
        let first = region["values"][0].as_str().unwrap_or_default();
        let edit = vec![remove(format!("{at}/values/0"))];
        found.push(view.plant("IL01", "a tile that stands nowhere", format!("/values/{first}"), edit));
        let edit = vec![add(format!("{at}/values/-"), first)];
        let last = list(&region["values"]).len();
        found.push(view.plant("IL01", "a tile twice", format!("{at}/values/{last}"), edit));
        let tensor = view.tensors()[0].0;
        let edit = vec![add(format!("{at}/values/-"), tensor)];
        found.push(view.plant("IL01", "a tensor", format!("{at}/values/{last}"), edit));
        let copy = json!({"memory": region["memory"], "values": [first], "lifetime": "block"});
        let edit = vec![add("/residency/-", copy)];
        let entry = format!("/residency/{}/values/0", regions.len());
        found.push(view.plant("IL01", "a tile in two residency regions", entry, edit));
        let edit = vec![replace(format!("/values/{first}/residency"), other)];
        found.push(view.plant("IL01", "a tile that is elsewhere", format!("{at}/values/0"), edit));
    }
    for (name, _) in view.tiles() {
        let Some((at, _)) = view.lifetime(name) else { continue };
        let memory = view.value(name)["residency"].clone();
        // In a residency region of its own, with another lifetime.
        let last = format!("/residency/{}/values/0", regions.len());
        let mut short = |kind: &str, lifetime: &str| {
            let region = json!({"memory": memory, "values": [name], "lifetime": lifetime});
            let edit = vec![remove(at.clone()), add("/residency/-", region)];
            found.push(view.plant("IL02", kind, last.clone(), edit));
        };
        let is_state = view.regions().iter().any(|(number, ..)| view.states(*number).contains(&name));
        let nodes = view.nodes();
        let made: Vec<_> =
            nodes.iter().filter(|node| list(&node.value["out"]).iter().any(|out| out == name)).collect();
        let read = view.readers(name);
        if is_state {
            short("a state for the stream", "stream");
            short("a state for an iteration", "iteration");
            short("a state for a node", "node");
            continue;
        }
        if view.is_prefetched(name) {
            let begun = made.iter().any(|node| node.body == "begin");
            short(
                if begun { "a prefetched tile for a node" } else { "a tile that lands later, for a node" },
                "node",
            );
            continue;
        }
        let body = made.first().map_or("", |node| node.body);
        if body == "begin" {
            short("a tile of `begin` for an iteration", "iteration");
            if read.iter().any(|node| node.body != "begin") {
                short("a tile of `begin` for a node", "node");
            }
            if read.iter().any(|node| node.body == "end") {
                short("a tile that `end` reads for the stream", "stream");
            }
        }
        if body == "end" {
            short("a tile of `end` for the stream", "stream");
            short("a tile of `end` for an iteration", "iteration");
        }
    }
    found
}

/// IT01 and IT02.
pub fn target(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    for (rule, member, measure) in
        [("IT01", "shared_bytes", "shared"), ("IT02", "register_bytes", "register")]
    {
        let rows = list(&view.0.measures["regions"]);
        let most = rows.iter().map(|row| number(&row[measure])).max().unwrap_or(0);
        let Some(place) = rows.iter().position(|row| number(&row[measure]) == most) else { continue };
        if most == 0 {
            continue;
        }
        let is_given = view.document().get("target").is_some();
        let given = |limit: i64| {
            if is_given {
                vec![replace(format!("/target/{member}"), limit)]
            } else {
                let mut target = json!({});
                target[member] = json!(limit);
                vec![add("/target", target)]
            }
        };
        let at = format!("/regions/{place}");
        let kind = if is_given { "one byte less than there was" } else { "one byte too few" };
        found.push(view.plant(rule, kind, at.clone(), given(most - 1)));
        found.push(view.plant(
            rule,
            "nothing there",
            format!("/regions/{}", first_with(rows, measure)),
            given(0),
        ));
        found.push(view.plant(rule, "half of it", at, given(most / 2)));
    }
    found
}

fn first_with(rows: &[Value], measure: &str) -> usize {
    rows.iter().position(|row| number(&row[measure]) > 0).unwrap_or(0)
}

/// IM01 and IM02.
pub fn storage(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    let boundaries = list(&view.document()["boundaries"]);
    for (place, boundary) in boundaries.iter().enumerate() {
        let name = boundary["value"].as_str().unwrap_or_default();
        let edit = vec![remove(format!("/boundaries/{place}"))];
        let is_output = list(&view.document()["outputs"]).iter().any(|output| output == name);
        let kind = if is_output {
            "a result without a boundary"
        } else {
            "a value between kernels without a boundary"
        };
        found.push(view.plant("IM01", kind, format!("/values/{name}"), edit));
    }
    if view.regions().is_empty() {
        return found;
    }
    let tensor = json!({"shape": [4], "dtype": "F32", "residency": "global"});
    let edit = vec![add("/values/Spare", tensor.clone())];
    found.push(view.plant("IM01", "storage that nobody uses", "/values/Spare", edit));
    let end = format!("/boundaries/{}", boundaries.len());
    let edit = vec![add("/values/Spare", tensor), add("/boundaries/-", json!({"value": "Spare"}))];
    found.push(view.plant("IM02", "a boundary that nobody stores", end.clone(), edit));
    for input in list(&view.document()["inputs"]).iter().take(1) {
        let edit = vec![add("/boundaries/-", json!({"value": input}))];
        found.push(view.plant("IM02", "a boundary of an input", end.clone(), edit));
    }
    // A second store of what is computed, under another name.
    for store in view.of("StoreTile") {
        let mut copy = store.value.clone();
        copy["id"] = json!("hidden");
        copy["out"] = json!(["Hidden"]);
        let place = format!("/regions/{}/streaming/tile/{}/{}", store.region, store.body, store.place + 1);
        let mut edit = vec![
            add(place, copy),
            add("/values/Hidden", view.value(store.first("out")).clone()),
            add(format!("/regions/{}/outputs/-", store.region), "Hidden"),
        ];
        if view.document().get("target").is_some() {
            edit.push(remove("/target"));
        }
        found.push(view.plant("IM01", "a copy under another name", "/values/Hidden", edit));
    }
    found
}

/// Documents that differ from accepted ones in what does not matter.
pub fn variants(_: &Library, sink: &mut Sink) -> Result<()> {
    for base in
        bases::all().iter().filter(|base| base.is_planted && !list(&base.document["regions"]).is_empty())
    {
        let view = View(base);
        let mut all: Vec<(&str, Vec<Value>, &str)> = Vec::new();
        let tile = json!({"tile_shape": {"i": 1, "j": 1}, "blocks": {"i": 40_000, "j": 40_000}});
        let idle = json!({"id": "idle", "inputs": [], "outputs": [], "streaming": {"tile": tile}});
        all.push(("a region that does nothing", vec![add("/regions/-", idle)], "MCI-05"));
        let first = view.nodes()[0].at();
        let edit = vec![add("/origin", "made by hand"), add(format!("{first}/cost"), 7)];
        all.push(("members that mean nothing", edit, "MCI-01"));
        all.push(("no limits", vec![add("/target", json!({"shared_bytes": null}))], "MCI-01"));
        let of = |measure: &str| number(&base.measures[measure]);
        let target = json!({"shared_bytes": of("shared"), "register_bytes": of("register")});
        // Of some documents these are the limits already.
        if base.document.get("target") != Some(&target) {
            all.push(("limits that just suffice", vec![add("/target", target)], "MCI-11"));
        }
        let located: Vec<Value> = (0..list(&base.document["boundaries"]).len())
            .map(|place| add(format!("/boundaries/{place}/location"), "global"))
            .collect();
        all.push(("locations that are said", located, "MCI-01"));
        let mut indices = Vec::new();
        for node in view.nodes().iter().filter(|node| node.value.get("at").is_some()) {
            for (place, index) in list(&node.value["at"]).iter().enumerate() {
                if index.is_string() {
                    let other = json!([3, [2, index], -3, [-1, index]]);
                    indices.push(replace(format!("{}/at/{place}", node.at()), other));
                } else if index.is_number() {
                    indices.push(replace(format!("{}/at/{place}", node.at()), json!([])));
                }
            }
        }
        all.push(("indices written in other terms", indices, "MCI-03"));
        for (name, edit, clause) in all {
            let id = format!("{}/{}-{}", sink.family(), words(name), base.name);
            let file = path(&base.name);
            let document = Document::Edited(&file, &edit);
            let expect = json!({"verdict": "accept", "warnings": []});
            let clauses = cited(&[clause, "MCI-13"])?;
            sink.push_as("validate", id, name, PROFILE, &clauses, &document, expect, None)?;
        }
    }
    Ok(())
}
