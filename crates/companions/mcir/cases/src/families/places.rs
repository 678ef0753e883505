//! IS09 to IS11: shapes, dtypes, and how much there is.

use serde_json::{Value, json};

use crate::plant::{Node, Planted, View, add, list, number, remove, replace};

/// IS09.
pub fn shapes(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    for node in view.nodes() {
        let at = node.at();
        let mut wrong = |name: &str, edit: Vec<Value>| found.push(view.plant("IS09", name, at.clone(), edit));
        let out = node.first("out");
        let is_state = view.states(node.region).contains(&out);
        match node.value["op"].as_str().unwrap_or_default() {
            "Reduce" => {
                let rank = list(&view.value(node.first("in"))["shape"]).len();
                wrong("an axis that is none", vec![replace(format!("{at}/axis"), rank)]);
                wrong("a negative axis", vec![replace(format!("{at}/axis"), -1)]);
                let shape = list(&view.value(node.first("in"))["shape"]);
                if rank == 2 && shape[0] != shape[1] {
                    let other = 1 - number(&node.value["axis"]);
                    wrong("the other axis", vec![replace(format!("{at}/axis"), other)]);
                }
            }
            "Compute" if !is_state => {
                let shape = list(&view.value(out)["shape"]);
                let function = node.function();
                // What reads it has the same shape in mind; only a tile that is read by nobody else is wrong here alone. The rest breaks
                // the same rule elsewhere, and the place that is declared is the first one.
                if !shape.is_empty() {
                    let edit = vec![replace(format!("/values/{out}/shape/0"), number(&shape[0]) + 1)];
                    wrong(&format!("a result of {function} that is one larger"), edit);
                }
                if function == "matmul_nt" {
                    let [a, b] = [0, 1].map(|place| {
                        &view.value(node.value["in"][place].as_str().unwrap_or_default())["shape"]
                    });
                    if a[1] != b[0] {
                        wrong(
                            "a product without its transpose",
                            vec![replace(format!("{at}/fn"), "matmul_nn")],
                        );
                    }
                }
                if function == "matmul_nn" {
                    let [a, b] = [0, 1].map(|place| {
                        &view.value(node.value["in"][place].as_str().unwrap_or_default())["shape"]
                    });
                    if a[1] != b[1] {
                        wrong("a product with a transpose", vec![replace(format!("{at}/fn"), "matmul_nt")]);
                    }
                }
                if let Some(along) = node.value["along"].as_str() {
                    let tile = &view.value(node.first("in"))["shape"];
                    let other = if along == "rows" { "columns" } else { "rows" };
                    if tile[0] != tile[1] {
                        wrong(
                            &format!("{other} instead of {along}"),
                            vec![replace(format!("{at}/along"), other)],
                        );
                    }
                    wrong("a row and a matrix element by element", vec![remove(format!("{at}/along"))]);
                }
            }
            "UpdateState" if node.function() == "add" => {
                let x = node.value["in"][1].as_str().unwrap_or_default();
                let shape = list(&view.value(x)["shape"]);
                let edit = vec![replace(format!("/values/{out}/shape/0"), number(&shape[0]) + 1)];
                wrong("a state that is one larger", edit);
            }
            "UpdateState" if node.function() == "online_softmax" => {
                let r = node.value["out"][3].as_str().unwrap_or_default();
                let shape = list(&view.value(r)["shape"]);
                wrong(
                    "factors of another number",
                    vec![replace(format!("/values/{r}/shape/0"), number(&shape[0]) + 1)],
                );
                let m = node.value["out"][0].as_str().unwrap_or_default();
                wrong("a state of two axes", vec![add(format!("/values/{m}/shape/-"), 1)]);
            }
            "StoreTile" => edges(view, node, &mut found),
            _ => {}
        }
    }
    contracted(view, &mut found);
    changing(view, &mut found);
    found
}

/// A state that has the extents of a tile of the stream, of which the last one is cut.
fn changing(view: View<'_>, found: &mut Vec<Planted>) {
    for load in
        view.nodes().iter().filter(|node| node.body == "each" && (node.is("LoadTile") || node.is("Prefetch")))
    {
        let streaming = &view.document()["regions"][load.region]["streaming"];
        let (Some(axis), [end]) = (streaming["stream"]["axis"].as_str(), list(&streaming["stream"]["to"]))
        else {
            continue;
        };
        let Some(place) = list(&load.value["at"]).iter().position(|index| *index == axis) else { continue };
        let extent = number(&view.value(load.first("in"))["shape"][place]);
        let step = number(&streaming["tile"]["tile_shape"][axis]);
        if number(end) != extent || extent % step == 0 {
            continue;
        }
        let tile = load.first("out");
        let at = format!("/regions/{}/streaming", load.region);
        let last = format!("{at}/tile/each/{}", list(&streaming["tile"]["each"]).len());
        let shape = view.value(tile)["shape"].clone();
        let update = json!({"id": "keep-all", "op": "UpdateState", "fn": "add", "in": ["kept", tile], "out": ["kept"]});
        let mut edit = vec![
            add("/values/kept", json!({"shape": shape, "dtype": "F32", "residency": "register"})),
            add("/residency/-", json!({"memory": "register", "values": ["kept"], "lifetime": "block"})),
        ];
        if streaming.get("state").is_none() {
            edit.push(add(format!("{at}/state"), json!([])));
        }
        edit.push(add(format!("{at}/state/-"), json!({"value": "kept", "init": 0})));
        edit.push(add(last.clone(), update));
        found.push(view.plant("IS09", "a state that is cut with the last tile", last, edit));
    }
}

/// A result that ends elsewhere than what it is made of, in its last tile alone.
fn edges(view: View<'_>, node: Node<'_>, found: &mut Vec<Planted>) {
    let (tile, tensor) = (node.first("in"), node.first("out"));
    let (sizes, shape) = (list(&view.value(tile)["shape"]), list(&view.value(tensor)["shape"]));
    let lacking = shape.len() - sizes.len();
    let is_read = !view.readers(tensor).is_empty();
    for (axis, size) in sizes.iter().enumerate() {
        let extent = number(&shape[lacking + axis]);
        let path = format!("/values/{tensor}/shape/{}", lacking + axis);
        // One element less, so that the last tile of the result is cut, and that of the operands is not, or less.
        let index = &node.value["at"][lacking + axis];
        if extent > 1 && index.is_string() && !is_read && number(size) > 1 && extent % number(size) != 1 {
            let edit = vec![replace(path, extent - 1)];
            found.push(view.plant("IS09", "a result that ends one element earlier", node.at(), edit));
        }
    }
}

/// Operands whose sums end at different edges.
fn contracted(view: View<'_>, found: &mut Vec<Planted>) {
    for (number_of_region, _, streaming) in view.regions() {
        let Some(axis) = streaming["stream"]["axis"].as_str() else { continue };
        let product = view.of("Compute").into_iter().find(|node| {
            node.region == number_of_region && node.function() == "matmul_nt" && node.body == "each"
        });
        let Some(product) = product else { continue };
        let second = product.value["in"][1].as_str().unwrap_or_default();
        let nodes = view.nodes();
        let load = nodes
            .iter()
            .find(|load| load.first("out") == second && (load.is("LoadTile") || load.is("Prefetch")));
        let Some(load) = load else { continue };
        let place = list(&load.value["at"]).iter().position(|index| *index == axis);
        let tensor = load.first("in");
        let others = view.of("StoreTile").iter().any(|store| store.first("out") == tensor);
        if let (Some(place), false) = (place, others) {
            let extent = number(&view.value(tensor)["shape"][place]);
            let edit = vec![replace(format!("/values/{tensor}/shape/{place}"), extent - 1)];
            let inner = list(&load.value["at"]).len() - 1 == place;
            // Of a product it is the axis that is added up; of scores, the one that the values are added up along.
            let at = if inner {
                product.at()
            } else {
                let after = view.of("Compute").into_iter().find(|node| {
                    node.region == number_of_region && node.function() == "matmul_nn" && node.body == "each"
                });
                let Some(after) = after else { continue };
                after.at()
            };
            if extent > 1 && list(&streaming["stream"]["to"]).len() == 1 {
                // The stream ends with the shorter one, so that no index leaves it.
                let end = format!("/regions/{number_of_region}/streaming/stream/to/0");
                let edit = [edit, vec![replace(end, extent - 1)]].concat();
                found.push(view.plant("IS09", "operands that end at different edges", at, edit));
            }
        }
    }
}

/// IS10.
pub fn dtypes(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    for node in view.nodes() {
        let (tile, tensor) = match node.value["op"].as_str().unwrap_or_default() {
            "LoadTile" => ("out", "in"),
            "StoreTile" => ("in", "out"),
            _ => continue,
        };
        let op = node.value["op"].as_str().unwrap_or_default();
        let of = |name: &str| view.value(name)["dtype"].as_str().unwrap_or_default().to_owned();
        let other = if of(node.first(tile)) == "F32" { "F16" } else { "F32" };
        let name = node.first(tile);
        let is_moved_twice = view.nodes().iter().any(|another| {
            another.at() != node.at()
                && another.value.get("at").is_some()
                && [another.first("in"), another.first("out")].contains(&name)
        });
        if !is_moved_twice {
            let edit = vec![replace(format!("/values/{name}/dtype"), other)];
            found.push(view.plant("IS10", &format!("a {op} that converts its tile"), node.at(), edit));
        }
        let name = node.first(tensor);
        let users =
            view.nodes().iter().filter(|user| [user.first("in"), user.first("out")].contains(&name)).count();
        if users == 1 {
            let edit =
                vec![replace(format!("/values/{name}/dtype"), if other == "F16" { "BF16" } else { "F32" })];
            found.push(view.plant("IS10", &format!("a {op} from or to another dtype"), node.at(), edit));
        }
    }
    for node in view.of("Prefetch").iter().filter(|node| node.body == "each") {
        let name = node.first("out");
        let other = if view.value(name)["dtype"] == "F32" { "F16" } else { "F32" };
        let edit = vec![replace(format!("/values/{name}/dtype"), other)];
        found.push(view.plant("IS10", "a Prefetch that converts", node.at(), edit));
        let swapped = match view.value(name)["dtype"].as_str() {
            Some("F16") => "BF16",
            _ => "F16",
        };
        let edit = vec![replace(format!("/values/{name}/dtype"), swapped)];
        found.push(view.plant("IS10", "a Prefetch into a dtype of other bits", node.at(), edit));
    }
    found
}

/// IS11.
pub fn large(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    // What does nothing takes its time all the same.
    let axes = json!({"i": 2_147_483_647, "j": 2_147_483_647});
    let tile = json!({"tile_shape": {"i": 1, "j": 1}, "blocks": axes});
    let idle = json!({"id": "idle", "inputs": [], "outputs": [], "streaming": {"tile": tile}});
    let place = list(&view.document()["regions"]).len();
    found.push(view.plant(
        "IS11",
        "a region without nodes",
        format!("/regions/{place}"),
        vec![add("/regions/-", idle)],
    ));
    for (region, _, streaming) in view.regions() {
        let at = format!("/regions/{region}");
        for (axis, _) in streaming["tile"]["blocks"].as_object().into_iter().flatten() {
            let edit = vec![
                replace(format!("{at}/streaming/tile/blocks/{axis}"), 2_147_483_647),
                replace(format!("{at}/streaming/tile/tile_shape/{axis}"), 1),
            ];
            found.push(view.plant("IS11", "2^31 - 1 blocks", at.clone(), edit));
        }
        let nodes: usize =
            ["begin", "each", "end"].iter().map(|body| list(&streaming["tile"][*body]).len()).sum();
        if let Some(axis) = streaming["stream"]["axis"].as_str() {
            let edit = vec![
                replace(format!("{at}/streaming/stream/to"), json!([2_147_483_647])),
                replace(format!("{at}/streaming/tile/tile_shape/{axis}"), 1),
            ];
            found.push(view.plant("IS11", "2^31 - 1 iterations", at.clone(), edit));
            // The least number of iterations that is too many for one block.
            let nodes = i64::try_from(nodes).unwrap_or(1);
            let most = (1_i64 << 31) / nodes + 1;
            let blocks = streaming["tile"]["blocks"].as_object().is_none_or(serde_json::Map::is_empty);
            if blocks && list(&streaming["stream"]["to"]).len() == 1 {
                let edit = vec![
                    replace(format!("{at}/streaming/stream/to"), json!([most])),
                    replace(format!("{at}/streaming/tile/tile_shape/{axis}"), 1),
                ];
                found.push(view.plant("IS11", "one iteration too many", at.clone(), edit));
            }
        }
    }
    found
}
