//! IB01 to IB03: where tiles lie, and what is stored.

use serde_json::{Value, json};

use crate::plant::{Planted, View, add, list, number, remove, replace};

/// IB01.
pub fn bounds(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    for node in view.nodes() {
        let Some(at_all) = node.value["at"].as_array() else { continue };
        let op = node.value["op"].as_str().unwrap_or_default();
        let tensor = node.first(if node.is("StoreTile") { "out" } else { "in" });
        let shape = list(&view.value(tensor)["shape"]);
        let others =
            view.of("Prefetch").iter().filter(|other| other.first("out") == node.first("out")).count();
        if op == "Prefetch" && others > 1 {
            continue;
        }
        for (place, index) in at_all.iter().enumerate() {
            let at = format!("{}/at/{place}", node.at());
            let wrong = |name: &str, index: Value| {
                let kind = format!("a {op} {name}");
                view.plant("IB01", &kind, at.clone(), vec![replace(at.clone(), index)])
            };
            // A tile that is whole everywhere stays so when all of it moves, and no extent differs.
            if index.is_number() {
                found.push(wrong("that begins at -1", json!(-1)));
                if op != "StoreTile" && number(&shape[place]) == 1 {
                    found.push(wrong("that begins at the end", shape[place].clone()));
                }
            }
        }
    }
    // Blocks beyond the tensors: every index that the axis moves is outside.
    for (region, _, streaming) in view.regions() {
        for (axis, extent) in streaming["tile"]["blocks"].as_object().into_iter().flatten() {
            let step = number(&streaming["tile"]["tile_shape"][axis]);
            let extent = number(extent);
            if extent % step != 0 && extent > 1 {
                continue;
            }
            let user = view.nodes().into_iter().find(|node| {
                node.region == region && list(&node.value["at"]).iter().any(|index| index == axis)
            });
            let Some(user) = user else { continue };
            let place = list(&user.value["at"]).iter().position(|index| index == axis).unwrap_or(0);
            let edit =
                vec![replace(format!("/regions/{region}/streaming/tile/blocks/{axis}"), extent + step)];
            // Extents are cut at the same edge in all of them.
            found.push(view.plant("IB01", "one block too many", format!("{}/at/{place}", user.at()), edit));
        }
        if let Some(axis) = streaming["stream"]["axis"].as_str() {
            let to = list(&streaming["stream"]["to"]);
            let user = view.nodes().into_iter().find(|node| {
                node.region == region && list(&node.value["at"]).iter().any(|index| index == axis)
            });
            if let (Some(user), [end]) = (user, to) {
                let place = list(&user.value["at"]).iter().position(|index| index == axis).unwrap_or(0);
                let tensor = view.value(user.first("in"));
                let whole = number(&tensor["shape"][place]) == number(end);
                let step = number(&streaming["tile"]["tile_shape"][axis]);
                if whole && number(end) % step == 0 {
                    let edit =
                        vec![replace(format!("/regions/{region}/streaming/stream/to/0"), number(end) + 1)];
                    let kind = "one iteration too many";
                    found.push(view.plant("IB01", kind, format!("{}/at/{place}", user.at()), edit));
                    let from = json!([-step]);
                    let edit = vec![add(format!("/regions/{region}/streaming/stream/from"), from)];
                    let kind = "one iteration too early";
                    found.push(view.plant("IB01", kind, format!("{}/at/{place}", user.at()), edit));
                }
            }
        }
    }
    found
}

/// IB02 and IB03.
pub fn coverage(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    for store in view.of("StoreTile") {
        let region = store.region;
        let at = format!("{}/at", store.at());
        let tile = &view.document()["regions"][region]["streaming"]["tile"];
        let blocks = tile["blocks"].as_object().cloned().unwrap_or_default();
        let stores = view.of("StoreTile").iter().filter(|other| other.region == region).count();
        // A further block axis that no index has: each of its blocks stores the same.
        if stores == 1 {
            let edit = vec![
                add(format!("/regions/{region}/streaming/tile/blocks/z"), 2),
                add(format!("/regions/{region}/streaming/tile/tile_shape/z"), 1),
            ];
            found.push(view.plant("IB02", "blocks that all store the same", at.clone(), edit));
            for (axis, extent) in &blocks {
                let (extent, step) = (number(extent), number(&tile["tile_shape"][axis]));
                if extent > step {
                    let less = (extent - 1) / step * step;
                    let edit = vec![replace(format!("/regions/{region}/streaming/tile/blocks/{axis}"), less)];
                    // Extents that are cut at the end of the tensor are whole without the last block, in all operands.
                    found.push(view.plant("IB02", "one block too few", at.clone(), edit));
                    // Blocks a little apart: as many as before, and each still begins in the tensor.
                    let apart = (extent - 1) / ((extent - 1) / step);
                    if extent % step != 0 && apart > step {
                        let path = format!("/regions/{region}/streaming/tile/tile_shape/{axis}");
                        let edit = vec![replace(path, apart)];
                        found.push(view.plant("IB02", "blocks a little apart", at.clone(), edit));
                    }
                    if extent % step == 0 && step % 2 == 0 {
                        let edit = vec![replace(
                            format!("/regions/{region}/streaming/tile/tile_shape/{axis}"),
                            step / 2,
                        )];
                        if extent % (step / 2) == 0 && whole(view, region, axis) {
                            found.push(view.plant("IB02", "blocks that overlap", at.clone(), edit));
                        }
                    }
                    if extent % (2 * step) == 0 {
                        let edit = vec![replace(
                            format!("/regions/{region}/streaming/tile/tile_shape/{axis}"),
                            2 * step,
                        )];
                        if whole(view, region, axis) {
                            found.push(view.plant("IB02", "blocks with gaps", at.clone(), edit));
                        }
                    }
                }
            }
        }
        if store.body == "each" && view.document()["regions"][region]["streaming"].get("stream").is_some() {
            let to = format!("/regions/{region}/streaming/stream/to");
            let axis = view.document()["regions"][region]["streaming"]["stream"]["axis"].clone();
            let extent = number(&view.document()["regions"][region]["streaming"]["stream"]["to"][0]);
            let step = number(&tile["tile_shape"][axis.as_str().unwrap_or_default()]);
            if extent > step {
                let less = (extent - 1) / step * step;
                found.push(view.plant(
                    "IB02",
                    "an iteration too few",
                    at.clone(),
                    vec![replace(format!("{to}/0"), less)],
                ));
                let from = vec![add(format!("/regions/{region}/streaming/stream/from"), json!([step]))];
                found.push(view.plant("IB02", "a stream that begins later", at.clone(), from));
                if let Some((block, _)) = blocks.iter().next() {
                    let end = json!([extent, [extent, block]]);
                    let edit = vec![replace(to.clone(), json!([extent, end]))];
                    let kind = "an end that depends on the block";
                    found.push(view.plant("IB02", kind, at.clone(), edit));
                }
            }
            let none = vec![replace(format!("{to}/0"), 0)];
            let kind = if extent > step {
                "a stream without iterations"
            } else {
                "a single tile that is never stored"
            };
            found.push(view.plant("IB02", kind, at.clone(), none));
            if let Some((block, _)) = blocks.iter().next() {
                let from = json!([0, [[-1, block]]]);
                let edit = vec![add(format!("/regions/{region}/streaming/stream/from"), from)];
                found.push(view.plant("IB02", "a beginning that depends on the block", at.clone(), edit));
            }
        }
        // What is stored is loaded beside it.
        if let Some((name, tensor)) = view.tensors().into_iter().find(|(name, _)| *name == store.first("out"))
        {
            let shape: Vec<i64> = list(&tensor["shape"]).iter().map(|_| 1).collect();
            let origin: Vec<i64> = shape.iter().map(|_| 0).collect();
            let end = format!("/regions/{region}/streaming/tile/end");
            let mut edit = vec![
                add(
                    "/values/old",
                    json!({"shape": shape, "dtype": tensor["dtype"], "residency": "register"}),
                ),
                add("/residency/-", json!({"memory": "register", "values": ["old"], "lifetime": "block"})),
                add(format!("/regions/{region}/inputs/-"), name),
            ];
            let has_end = !list(&tile["end"]).is_empty();
            let place = if has_end { list(&tile["end"]).len() } else { 0 };
            if !has_end {
                edit.push(add(end.clone(), json!([])));
            }
            let load = json!({"id": "old", "op": "LoadTile", "in": [name], "out": ["old"], "at": origin});
            edit.push(add(format!("{end}/-"), load));
            if view.document().get("target").is_some() {
                edit.push(remove("/target"));
            }
            let kind = "a result that is read back";
            found.push(view.plant("IB03", kind, format!("{end}/{place}/in/0"), edit.clone()));
            let begin = format!("/regions/{region}/streaming/tile/begin");
            if !list(&tile["begin"]).is_empty() {
                edit.retain(|operation| !operation["path"].as_str().unwrap_or_default().starts_with(&end));
                let load = json!({"id": "old", "op": "LoadTile", "in": [name], "out": ["old"], "at": origin});
                edit.push(add(format!("{begin}/0"), load));
                found.push(view.plant(
                    "IB03",
                    "a result that is read before",
                    format!("{begin}/0/in/0"),
                    edit,
                ));
            }
        }
    }
    found
}

/// Whether no tile along an axis is ever cut, with steps of half and double size.
fn whole(view: View<'_>, region: usize, axis: &str) -> bool {
    let users = view.nodes().into_iter().filter(|node| node.region == region);
    let mut all = users.filter(|node| node.value.get("at").is_some()).map(|node| {
        let tensor = view.value(node.first(if node.is("StoreTile") { "out" } else { "in" }));
        let tile = view.value(node.first(if node.is("StoreTile") { "in" } else { "out" }));
        let lacking = list(&tensor["shape"]).len() - list(&tile["shape"]).len();
        let mut places = list(&node.value["at"]).iter().enumerate().filter(|(_, index)| **index == axis);
        places.all(|(place, _)| {
            let size = place.checked_sub(lacking).map_or(1, |place| number(&tile["shape"][place]));
            size == 1 || number(&tensor["shape"][place]) % size == 0
        })
    });
    // A smaller step lets the last tile begin beyond where it fits; it is cut alike in all operands, which have one edge.
    all.all(|fits| fits)
}
