//! IS04 to IS08: operands, lists of regions, producers, states.

use serde_json::{Value, json};

use crate::plant::{Planted, View, add, list, remove, replace};

/// IS04.
pub fn operands(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    for node in view.nodes() {
        let at = node.at();
        let op = node.value["op"].as_str().unwrap_or_default();
        let mut wrong = |name: &str, edit: Vec<Value>| {
            found.push(view.plant("IS04", name, at.clone(), edit));
        };
        let streaming = &view.document()["regions"][node.region]["streaming"];
        if !node.is("Barrier") {
            let first = node.value["in"][0].clone();
            wrong(&format!("a {op} with one value too many"), vec![add(format!("{at}/in/-"), first)]);
            wrong(&format!("a {op} without `out`"), vec![remove(format!("{at}/out"))]);
            wrong(&format!("a {op} without `in`"), vec![replace(format!("{at}/in"), json!([]))]);
        } else {
            let tile = view.tiles()[0].0;
            wrong("a Barrier that reads", vec![add(format!("{at}/in"), json!([tile]))]);
            let place = list(&node.value["wait"]).len();
            let plain = view.tiles().into_iter().find(|(name, _)| !view.is_prefetched(name));
            if let Some((name, _)) = plain {
                let edit = vec![add(format!("{at}/wait/-"), json!([name, 0]))];
                let entry = format!("{at}/wait/{place}");
                found.push(view.plant("IS04", "a wait for a tile that nothing prefetches", entry, edit));
            }
            continue;
        }
        let (tile, tensor) = match op {
            "StoreTile" => ("in", "out"),
            "LoadTile" | "Prefetch" => ("out", "in"),
            _ => {
                let tensor = view.tensors()[0].0;
                wrong(&format!("a {op} of a tensor"), vec![replace(format!("{at}/in/0"), tensor)]);
                if op == "UpdateState" {
                    let edit = vec![
                        add(format!("/regions/{}/streaming/tile/end/0", node.region), node.value.clone()),
                        remove(at.clone()),
                    ];
                    let place = format!("/regions/{}/streaming/tile/end/0", node.region);
                    found.push(view.plant("IS04", "an UpdateState behind the stream", place, edit));
                }
                continue;
            }
        };
        let shape = list(&view.value(node.first(tensor))["shape"]).len();
        wrong(&format!("a {op} with an index too many"), vec![add(format!("{at}/at/-"), 0)]);
        wrong(&format!("a {op} with an index too few"), vec![remove(format!("{at}/at/{}", shape - 1))]);
        let tensor_name = json!(node.first(tensor));
        wrong(&format!("a {op} between tensors"), vec![replace(format!("{at}/{tile}/0"), tensor_name)]);
        let tile_name = json!(node.first(tile));
        wrong(&format!("a {op} between tiles"), vec![replace(format!("{at}/{tensor}/0"), tile_name)]);
        if op == "Prefetch" && node.body == "each" {
            let end = format!("/regions/{}/streaming/tile/end/0", node.region);
            let edit = vec![add(end.clone(), node.value.clone()), remove(at.clone())];
            found.push(view.plant("IS04", "a Prefetch behind the stream", end, edit));
        }
        if op == "LoadTile" && streaming.get("stream").is_none() {
            let edit = vec![replace(format!("{at}/op"), "Prefetch"), add(format!("{at}/version"), 0)];
            found.push(view.plant("IS04", "a Prefetch without a stream", at.clone(), edit));
        }
        if op == "LoadTile" {
            let mut shape = vec![1; shape + 1];
            shape[0] = 2;
            let edit = vec![replace(format!("/values/{}/shape", node.first("out")), json!(shape))];
            found.push(view.plant("IS04", "a tile with more axes than its tensor", at.clone(), edit));
        }
    }
    found
}

/// IS05.
pub fn interface(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    let document = view.document();
    if view.regions().is_empty() {
        return found;
    }
    // A tile that nothing produces: an input would be a second producer of any other.
    let spare = || add("/values/spare", json!({"shape": [1], "dtype": "F32", "residency": "register"}));
    for which in ["inputs", "outputs"] {
        let at = format!("/{which}/{}", list(&document[which]).len());
        let edit = vec![spare(), add(format!("/{which}/-"), "spare")];
        found.push(view.plant("IS05", &format!("a tile among the {which}"), at, edit));
    }
    let at = format!("/boundaries/{}/value", list(&document["boundaries"]).len());
    let edit = vec![spare(), add("/boundaries/-", json!({"value": "spare"}))];
    found.push(view.plant("IS05", "a tile with a boundary", at, edit));
    let at = format!("/outputs/{}", list(&document["outputs"]).len());
    let edit = vec![add("/outputs/-", document["inputs"][0].clone())];
    found.push(view.plant("IS05", "an input that is an output", at, edit));
    for (number, region, _) in view.regions() {
        for (which, ops, side) in
            [("inputs", ["LoadTile", "Prefetch"], "in"), ("outputs", ["StoreTile", "StoreTile"], "out")]
        {
            let list = list(&region[which]);
            for (place, name) in list.iter().enumerate() {
                let is_user = |node: &&crate::plant::Node<'_>| {
                    ops.iter().any(|op| node.is(op)) && node.region == number && *name == node.first(side)
                };
                let nodes = view.nodes();
                let Some(user) = nodes.iter().find(is_user) else { continue };
                let edit = vec![remove(format!("/regions/{number}/{which}/{place}"))];
                let kind = format!("a tensor that the {which} of a region lack");
                // A tensor that is stored and not said is also one that others may miss: alone where nobody loads it.
                let is_stored = which == "outputs";
                if !is_stored || view.readers(name.as_str().unwrap_or_default()).is_empty() {
                    found.push(view.plant("IS05", &kind, format!("{}/{side}/0", user.at()), edit));
                }
            }
            let idle = view.tensors().into_iter().find(|(name, _)| !list.iter().any(|known| known == name));
            if let Some((name, _)) = idle {
                let at = format!("/regions/{number}/{which}/{}", list.len());
                let edit = vec![add(format!("/regions/{number}/{which}/-"), name)];
                let kind = format!("{which} of a region that nothing moves");
                found.push(view.plant("IS05", &kind, at, edit));
            }
        }
    }
    found
}

/// IS06 and IS07.
pub fn producers(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    reordered(view, &mut found);
    for node in view.nodes() {
        let at = node.at();
        let (region, body, place) = (node.region, node.body, node.place);
        let here = format!("/regions/{region}/streaming/tile/{body}");
        let mut copy = node.value.clone();
        copy["id"] = json!("again");
        let again = format!("{here}/{}", place + 1);
        match node.value["op"].as_str().unwrap_or_default() {
            "LoadTile" | "Compute" | "Reduce" => {
                let op = node.value["op"].as_str().unwrap_or_default();
                let edit = vec![add(again.clone(), copy)];
                let kind = format!("a {op} twice");
                found.push(view.plant("IS06", &kind, format!("{again}/out/0"), edit));
            }
            "StoreTile" => {
                let edit = vec![add(again.clone(), copy.clone())];
                found.push(view.plant("IS06", "a StoreTile twice", format!("{again}/out/0"), edit));
            }
            "Prefetch" if body == "each" => {
                copy["op"] = json!("LoadTile");
                let edit = vec![add(again.clone(), copy)];
                let kind = "a LoadTile beside a Prefetch";
                found.push(view.plant("IS06", kind, format!("{again}/out/0"), edit));
                let index = json!([node.value["at"][0].clone(), 4]);
                let flat = if node.value["at"][0].is_string() { index } else { json!(4) };
                let others = view.of("Prefetch").into_iter().any(|other| {
                    other.body == "begin" && other.region == region && other.first("out") == node.first("out")
                });
                if others {
                    let edit = vec![replace(format!("{at}/at/0"), flat)];
                    let kind = "prefetches at other indices";
                    found.push(view.plant("IS06", kind, format!("{at}/out/0"), edit));
                }
            }
            "UpdateState" if node.function() == "online_softmax" => {
                let p = node.value["out"][2].clone();
                let edit = vec![replace(format!("{at}/out/3"), p)];
                // Weights twice, and factors that nothing produces: two rules, unless who reads those is gone too.
                let r = node.value["out"][3].as_str().unwrap_or_default();
                if view.readers(r).is_empty() {
                    found.push(view.plant("IS06", "one tile for two results", format!("{at}/out/3"), edit));
                }
            }
            _ => {}
        }
        missing(view, node, &mut found);
    }
    if let Some(store) = view.of("StoreTile").first()
        && view.regions().len() == 1
    {
        let at = store.at();
        let (input, output) = (view.document()["inputs"][0].clone(), json!(store.first("out")));
        let edit = vec![
            replace(format!("{at}/out/0"), input.clone()),
            replace(format!("/regions/{}/outputs/0", store.region), input.clone()),
        ];
        let ranks =
            [&input, &output].map(|name| list(&view.value(name.as_str().unwrap_or_default())["shape"]).len());
        if ranks[0] == ranks[1] {
            found.push(view.plant("IS06", "an input that is stored", format!("{at}/out/0"), edit));
        }
    }
    found
}

/// IS07: regions in an order in which one loads what the next one stores.
fn reordered(view: View<'_>, found: &mut Vec<Planted>) {
    for pair in view.regions().windows(2) {
        let [first, second] = pair else { continue };
        let stored = &first.1["outputs"][0];
        let nodes = view.nodes();
        let load = nodes.iter().find(|load| load.region == second.0 && *stored == load.first("in"));
        if let Some(load) = load {
            let (from, to) = (format!("/regions/{}", second.0), format!("/regions/{}", first.0));
            let at = format!("{}/in/0", load.at().replacen(&from, &to, 1));
            let edit = vec![json!({"op": "move", "from": from, "path": to})];
            found.push(view.plant("IS07", "regions in another order", at, edit));
        }
    }
}

/// IS07: a producer that stands too late, or elsewhere, or not at all.
fn missing(view: View<'_>, node: crate::plant::Node<'_>, found: &mut Vec<Planted>) {
    let is_producer = ["LoadTile", "Compute", "Reduce"].iter().any(|op| node.is(op));
    if !is_producer {
        return;
    }
    let at = node.at();
    let name = node.first("out");
    let readers = view.readers(name);
    let [reader] = readers.as_slice() else { return };
    let input = list(&reader.value["in"]).iter().position(|value| *value == name).unwrap_or(0);
    // What the node itself reads would be unused, but no rule of this stage says so; a tensor that is not loaded any more is IS05.
    if !node.is("LoadTile") {
        let shift = usize::from(
            reader.body == node.body && reader.place > node.place && reader.region == node.region,
        );
        let place = format!(
            "/regions/{}/streaming/tile/{}/{}/in/{input}",
            reader.region,
            reader.body,
            reader.place - shift
        );
        found.push(view.plant("IS07", "no producer", place, vec![remove(at.clone())]));
    }
    let is_next = reader.body == node.body && reader.place == node.place + 1;
    if is_next && !node.is("Prefetch") {
        let edit = vec![json!({"op": "move", "from": at, "path": reader.at()})];
        found.push(view.plant("IS07", "the reader before the producer", format!("{at}/in/{input}"), edit));
    }
    // Something that reads the tile in a body that comes too early or too late for it.
    let tiles = view.document()["regions"][node.region]["streaming"]["tile"].clone();
    if node.body == "each" && !list(&tiles["end"]).is_empty() {
        let end = format!("/regions/{}/streaming/tile/end/0", node.region);
        let extra = json!({"id": "late", "op": "Compute", "fn": "copy", "in": [name], "out": ["late"]});
        let edit = vec![add(end.clone(), extra), add("/values/late", view.value(name).clone())];
        found.push(view.plant("IS07", "what an iteration leaves", format!("{end}/in/0"), edit));
    }
    if node.body == "each" && !list(&tiles["begin"]).is_empty() {
        let begin = format!("/regions/{}/streaming/tile/begin/0", node.region);
        let extra = json!({"id": "early", "op": "Compute", "fn": "copy", "in": [name], "out": ["early"]});
        let edit = vec![add(begin.clone(), extra), add("/values/early", view.value(name).clone())];
        found.push(view.plant("IS07", "what an iteration will produce", format!("{begin}/in/0"), edit));
    }
    for (number, _, streaming) in view.regions().iter().filter(|(number, ..)| *number > node.region) {
        for body in ["begin", "each", "end"] {
            let first = format!("/regions/{number}/streaming/tile/{body}/0");
            if list(&streaming["tile"][body]).is_empty() {
                continue;
            }
            let extra = json!({"id": "other", "op": "Compute", "fn": "copy", "in": [name], "out": ["other"]});
            let edit = vec![add(first.clone(), extra), add("/values/other", view.value(name).clone())];
            let kind = format!("`{body}` reads a tile of another region");
            found.push(view.plant("IS07", &kind, format!("{first}/in/0"), edit));
        }
    }
    if view.is_prefetched(name) {
        return;
    }
    for prefetch in view.of("Prefetch").iter().filter(|prefetch| prefetch.body == "each").take(1) {
        let end = format!("/regions/{}/streaming/tile/end/0", prefetch.region);
        let tile = prefetch.first("out");
        let extra = json!({"id": "late", "op": "Compute", "fn": "copy", "in": [tile], "out": ["late"]});
        let edit = vec![add(end.clone(), extra), add("/values/late", view.value(tile).clone())];
        found.push(view.plant("IS07", "a prefetched tile behind the stream", format!("{end}/in/0"), edit));
    }
}

/// IS08: the state of one region in place of that of the next one.
fn shared(view: View<'_>, found: &mut Vec<Planted>) {
    for pair in view.regions().windows(2) {
        let [first, second] = pair else { continue };
        let (own, other) = (view.states(first.0), view.states(second.0));
        let ([own], [other]) = (own.as_slice(), other.as_slice()) else { continue };
        let at = format!("/regions/{}/streaming/state/0/value", second.0);
        let mut edit = vec![replace(at.clone(), *own)];
        for node in view.nodes().iter().filter(|node| node.region == second.0) {
            for side in ["in", "out"] {
                for (place, _) in
                    list(&node.value[side]).iter().enumerate().filter(|(_, name)| *name == other)
                {
                    edit.push(replace(format!("{}/{side}/{place}", node.at()), *own));
                }
            }
        }
        found.push(view.plant("IS08", "one state in two regions", at, edit));
    }
}

/// IS08.
pub fn states(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    shared(view, &mut found);
    for node in view.of("UpdateState") {
        let at = node.at();
        let states = view.states(node.region);
        let softmax = node.function() == "online_softmax";
        let own = usize::from(softmax);
        let prefetches = view.of("Prefetch");
        let other = prefetches.iter().find(|prefetch| prefetch.region == node.region);
        let place = list(&view.document()["regions"][node.region]["streaming"]["state"])
            .iter()
            .position(|state| state["value"] == node.value["out"][0])
            .unwrap_or(0);
        let entry = format!("/regions/{}/streaming/state/{place}", node.region);
        if let Some(other) = other {
            // The place of the old state has something else.
            let edit = vec![replace(format!("{at}/in/{own}"), other.first("out"))];
            found.push(view.plant("IS08", "an update from no state", at.clone(), edit));
        }
        if states.len() > 1 && !softmax {
            let another = states.iter().find(|name| **name != node.first("out")).copied().unwrap_or_default();
            let edit = vec![replace(format!("{at}/in/0"), another)];
            found.push(view.plant("IS08", "an update from another state", at.clone(), edit));
        }
        let mut copy = node.value.clone();
        copy["id"] = json!("again");
        if !softmax {
            let again = format!("/regions/{}/streaming/tile/each/{}", node.region, node.place + 1);
            let edit = vec![add(again.clone(), copy)];
            found.push(view.plant("IS08", "a second update", again, edit));
            let edit = vec![remove(at.clone())];
            found.push(view.plant("IS08", "a state that nothing updates", entry.clone(), edit));
            // A node before the update reads the state.
            let first = format!("/regions/{}/streaming/tile/each/0", node.region);
            let name = node.first("out");
            let extra = json!({"id": "early", "op": "Compute", "fn": "copy", "in": [name], "out": ["early"]});
            let edit =
                vec![add(first.clone(), extra.clone()), add("/values/early", view.value(name).clone())];
            found.push(view.plant(
                "IS08",
                "a state that is read before it is updated",
                format!("{first}/in/0"),
                edit,
            ));
            if !list(&view.document()["regions"][node.region]["streaming"]["tile"]["begin"]).is_empty() {
                let first = format!("/regions/{}/streaming/tile/begin/0", node.region);
                let edit = vec![add(first.clone(), extra), add("/values/early", view.value(name).clone())];
                let kind = "a state that is read before the stream";
                found.push(view.plant("IS08", kind, format!("{first}/in/0"), edit));
            }
            let end = format!("/regions/{}/streaming/tile/end/0", node.region);
            let extra = json!({"id": "late", "op": "Compute", "fn": "copy", "in": [name], "out": [name]});
            let edit = vec![add(end.clone(), extra)];
            found.push(view.plant("IS08", "a state that a Compute writes", format!("{end}/out/0"), edit));
        } else {
            let edit = vec![
                replace(format!("{at}/in/1"), node.value["in"][2].clone()),
                replace(format!("{at}/in/2"), node.value["in"][1].clone()),
            ];
            found.push(view.plant("IS08", "states in another order", at.clone(), edit));
        }
    }
    for (region, _, streaming) in view.regions() {
        if streaming.get("stream").is_none() {
            continue;
        }
        let count = list(&streaming["state"]).len();
        let at = format!("/regions/{region}/streaming/state");
        let tensor = view.tensors()[0].0;
        let mut edit = vec![add(format!("{at}/-"), json!({"value": tensor, "init": 0}))];
        if count == 0 {
            edit.insert(0, add(at.clone(), json!([])));
        }
        found.push(view.plant("IS08", "a tensor as a state", format!("{at}/{count}/value"), edit));
        let idle = json!({"shape": [1], "dtype": "F32", "residency": "register"});
        let mut edit =
            vec![add(format!("{at}/-"), json!({"value": "idle", "init": 0})), add("/values/idle", idle)];
        if count == 0 {
            edit.insert(0, add(at.clone(), json!([])));
        }
        found.push(view.plant("IS08", "a state that is only declared", format!("{at}/{count}"), edit));
    }
    found
}
