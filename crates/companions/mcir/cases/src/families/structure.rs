//! IS01 to IS03: any number and any name, since these rules are judged before all others.

use serde_json::{Value, json};

use crate::plant::{Planted, View, add, list, remove, replace};

const ALMOST: i64 = 2_147_483_648;

/// IS01.
pub fn numbers(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    let mut wrong = |name: &str, at: String, value: i64| {
        found.push(view.plant("IS01", name, at.clone(), vec![replace(at, value)]));
    };
    for (name, value) in view.values() {
        let of = if value["residency"] == "global" { "a tensor" } else { "a tile" };
        if !list(&value["shape"]).is_empty() {
            wrong(&format!("an extent of 0 of {of}"), format!("/values/{name}/shape/0"), 0);
            wrong(&format!("an extent of 2^31 of {of}"), format!("/values/{name}/shape/0"), ALMOST);
        }
        if value.get("buffers").is_some() {
            wrong("no slot", format!("/values/{name}/buffers"), 0);
            wrong("65 slots", format!("/values/{name}/buffers"), 65);
        }
    }
    if view.document().get("target").is_some() {
        wrong("a target of minus one byte", "/target/shared_bytes".to_owned(), -1);
        wrong("a target of 2^31 bytes", "/target/register_bytes".to_owned(), ALMOST);
    }
    for node in view.of("Prefetch") {
        wrong("a version of -1", format!("{}/version", node.at()), -1);
        wrong("a version of 64", format!("{}/version", node.at()), 64);
    }
    for node in view.of("Barrier") {
        wrong("a wait for the version -1", format!("{}/wait/0/1", node.at()), -1);
        wrong("a wait for the version 64", format!("{}/wait/0/1", node.at()), 64);
    }
    for node in view.of("Compute").iter().filter(|node| node.function() == "scale") {
        wrong("a denominator of 0", format!("{}/by/1", node.at()), 0);
        wrong("a negative denominator", format!("{}/by/1", node.at()), -8);
        wrong("a numerator of 2^31", format!("{}/by/0", node.at()), ALMOST);
    }
    for node in view.of("Compute").iter().filter(|node| node.value.get("window").is_some()) {
        wrong("a window of 0", format!("{}/window", node.at()), 0);
    }
    for node in view.of("LoadTile") {
        wrong("an index of 2^31", format!("{}/at/0", node.at()), ALMOST);
    }
    for (number, _, streaming) in view.regions() {
        let at = format!("/regions/{number}/streaming");
        for (which, of) in [("tile_shape", "a step"), ("blocks", "an extent of blocks")] {
            for axis in streaming["tile"][which].as_object().into_iter().flatten().map(|(axis, _)| axis) {
                wrong(&format!("{of} of 0"), format!("{at}/tile/{which}/{axis}"), 0);
                wrong(&format!("{of} of 2^31"), format!("{at}/tile/{which}/{axis}"), ALMOST);
            }
        }
        if streaming.get("state").is_some() {
            wrong("an initial value of 2^31", format!("{at}/state/0/init"), ALMOST);
            wrong("a negative initial value beyond 31 bits", format!("{at}/state/0/init"), -ALMOST);
        }
        if streaming.get("stream").is_some() {
            wrong("a stream that ends at 2^31", format!("{at}/stream/to/0"), ALMOST);
        }
    }
    let mut put = |name: &str, at: String, value: Value| {
        found.push(view.plant("IS01", name, at.clone(), vec![replace(at, value)]));
    };
    for (number, _, streaming) in view.regions() {
        if streaming.get("stream").is_some() {
            let at = |which: &str| format!("/regions/{number}/streaming/stream/{which}");
            put("no end of a stream", at("to"), json!([]));
            put("a stream with 65 ends", at("to"), json!([4096; 65].as_slice()));
            if streaming["stream"].get("from").is_some() {
                put("a stream with 65 beginnings", at("from"), json!([0; 65].as_slice()));
            }
        }
    }
    for (name, _) in view.tiles() {
        let at = format!("/values/{name}/shape");
        put("a tile of more than 2^20 elements", at.clone(), json!([1024, 1025]));
        put("a tile whose size is beyond 64 bits", at, json!([2_147_483_647, 2_147_483_647, 2_147_483_647]));
    }
    for (name, _) in view.tensors() {
        let at = format!("/values/{name}/shape");
        put("a tensor of 65 extents", at.clone(), json!([1; 65].as_slice()));
        put("a tensor of more than 2^62 bytes", at, json!([2_147_483_647, 2_147_483_647, 4]));
    }
    for node in view.of("StoreTile") {
        let at = format!("{}/at/0", node.at());
        let index = json!([[-ALMOST, "i"]]);
        let edit = vec![replace(at.clone(), index)];
        let known = view.document()["regions"][node.region]["streaming"]["tile"]["blocks"].get("i").is_some();
        if known {
            found.push(view.plant("IS01", "a coefficient of -2^31", format!("{at}/0/0"), edit));
        }
    }
    found
}

/// IS02.
pub fn names(view: View<'_>) -> Vec<Planted> {
    let wrong =
        |name: &str, at: String, value: Value| view.plant("IS02", name, at.clone(), vec![replace(at, value)]);
    let unknown = || json!("nobody");
    let mut found = Vec::new();
    for which in ["inputs", "outputs"] {
        if !list(&view.document()[which]).is_empty() {
            found.push(wrong(&format!("{which} of the document"), format!("/{which}/0"), unknown()));
        }
    }
    if !list(&view.document()["boundaries"]).is_empty() {
        found.push(wrong("a boundary", "/boundaries/0/value".to_owned(), unknown()));
    }
    for (place, region) in list(&view.document()["residency"]).iter().enumerate() {
        let last = list(&region["values"]).len().saturating_sub(1);
        found.push(wrong("a residency region", format!("/residency/{place}/values/{last}"), unknown()));
    }
    for (number, region, streaming) in view.regions() {
        let at = format!("/regions/{number}");
        for which in ["inputs", "outputs"] {
            let last = list(&region[which]).len().saturating_sub(1);
            found.push(wrong(&format!("{which} of a region"), format!("{at}/{which}/{last}"), unknown()));
        }
        for place in 0..list(&streaming["state"]).len() {
            found.push(wrong("a state", format!("{at}/streaming/state/{place}/value"), unknown()));
        }
        let shape = format!("{at}/streaming/tile/tile_shape");
        let extra = vec![add(format!("{shape}/nobody"), 8)];
        found.push(view.plant("IS02", "a step of no axis", format!("{shape}/nobody"), extra));
        for (axis, _) in streaming["tile"]["tile_shape"].as_object().into_iter().flatten() {
            let edit = vec![remove(format!("{shape}/{axis}"))];
            found.push(view.plant("IS02", "an axis without a step", shape.clone(), edit));
        }
        if streaming.get("stream").is_some() {
            let to = format!("{at}/streaming/stream/to/0");
            let axis = streaming["stream"]["axis"].clone();
            found.push(wrong("a stream that ends where it stands", to.clone(), axis));
            let edit = vec![replace(to.clone(), json!([4, "nobody"]))];
            found.push(view.plant("IS02", "an end by an axis that is none", format!("{to}/1"), edit));
        }
    }
    for node in view.nodes() {
        for side in ["in", "out"] {
            let last = list(&node.value[side]).len();
            if last > 0 {
                let at = format!("{}/{side}/{}", node.at(), last - 1);
                let op = node.value["op"].as_str().unwrap_or_default();
                found.push(wrong(&format!("{side} of a {op}"), at, unknown()));
            }
        }
        if node.is("Barrier") {
            found.push(wrong("a wait", format!("{}/wait/0/0", node.at()), unknown()));
        }
        let stream = &view.document()["regions"][node.region]["streaming"]["stream"]["axis"];
        if node.is("StoreTile") {
            let at = format!("{}/at/0", node.at());
            let edit = vec![replace(at.clone(), json!([[2, "nobody"]]))];
            found.push(view.plant("IS02", "a coefficient of no axis", format!("{at}/0/1"), edit));
            if node.body == "end" && stream.is_string() {
                found.push(wrong("the axis of the stream behind it", at, stream.clone()));
            }
        }
        if node.is("LoadTile") && node.body == "begin" && stream.is_string() {
            let at = format!("{}/at/0", node.at());
            found.push(wrong("the axis of the stream before it", at, stream.clone()));
        }
        if node.function() == "mask" {
            found.push(wrong("a mask by no axis", format!("{}/columns", node.at()), unknown()));
        }
    }
    found
}

/// IS03.
pub fn repeated(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    let mut again = |name: &str, at: &str, names: &Value| {
        if let Some(first) = list(names).first() {
            let place = format!("{at}/{}", list(names).len());
            found.push(view.plant("IS03", name, place, vec![add(format!("{at}/-"), first.clone())]));
        }
    };
    again("inputs of the document", "/inputs", &view.document()["inputs"]);
    again("outputs of the document", "/outputs", &view.document()["outputs"]);
    for (number, region, _) in view.regions() {
        again("inputs of a region", &format!("/regions/{number}/inputs"), &region["inputs"]);
        again("outputs of a region", &format!("/regions/{number}/outputs"), &region["outputs"]);
    }
    let boundaries = list(&view.document()["boundaries"]);
    if let Some(first) = boundaries.first() {
        let at = format!("/boundaries/{}/value", boundaries.len());
        found.push(view.plant("IS03", "a boundary", at, vec![add("/boundaries/-", first.clone())]));
    }
    let regions = view.regions();
    for (number, _, streaming) in &regions {
        let at = format!("/regions/{number}/streaming");
        if let Some(first) = list(&streaming["state"]).first() {
            let place = format!("{at}/state/{}/value", list(&streaming["state"]).len());
            found.push(view.plant(
                "IS03",
                "a state",
                place,
                vec![add(format!("{at}/state/-"), first.clone())],
            ));
        }
        if streaming.get("stream").is_some() {
            let axis = streaming["stream"]["axis"].as_str().unwrap_or_default();
            let mut edit = vec![add(format!("{at}/tile/blocks/{axis}"), 8)];
            if streaming["tile"].get("blocks").is_none() {
                edit.insert(0, add(format!("{at}/tile/blocks"), json!({})));
            }
            found.push(view.plant("IS03", "a block axis of this name", format!("{at}/stream/axis"), edit));
        }
        if *number > 0 {
            let at = format!("/regions/{number}/id");
            let edit = vec![replace(at.clone(), view.document()["regions"][0]["id"].clone())];
            found.push(view.plant("IS03", "a region", at, edit));
        }
    }
    for pair in view.nodes().windows(2) {
        let [first, second] = pair else { continue };
        if first.region == second.region {
            let at = format!("{}/id", second.at());
            let edit = vec![replace(at.clone(), first.value["id"].clone())];
            let name = if first.body == second.body { "a node" } else { "a node of another body" };
            found.push(view.plant("IS03", name, at, edit));
        }
    }
    found
}
