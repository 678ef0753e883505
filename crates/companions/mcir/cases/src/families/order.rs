//! IO01 to IO05, and the warnings.

use serde_json::{Value, json};

use crate::plant::{Node, Planted, View, add, list, number, remove, replace};

/// The nodes of the pipeline of a tile: the `Prefetch` in `each`, those in `begin`, the entries of waits in both bodies, the readers
/// in `each`.
struct Pipeline<'b> {
    tile: &'b str,
    issue: Node<'b>,
    ahead: i64,
    begun: Vec<Node<'b>>,
    early: Vec<(Node<'b>, usize, i64)>,
    waits: Vec<(Node<'b>, usize, i64)>,
    readers: Vec<Node<'b>>,
    buffers: i64,
}

fn pipelines(view: View<'_>) -> Vec<Pipeline<'_>> {
    let mut found = Vec::new();
    for issue in view.of("Prefetch").into_iter().filter(|node| node.body == "each") {
        let tile = issue.value["out"][0].as_str().unwrap_or_default();
        let begun =
            view.of("Prefetch").into_iter().filter(|node| node.body == "begin" && node.first("out") == tile);
        let waits = |body: &str| -> Vec<_> {
            let barriers = view.of("Barrier").into_iter().filter(|node| node.body == body);
            let entries = |node: Node<'_>| -> Vec<(usize, i64)> {
                let all = list(&node.value["wait"]).iter().enumerate();
                all.filter(|(_, entry)| entry[0] == tile)
                    .map(|(place, entry)| (place, number(&entry[1])))
                    .collect()
            };
            let of = |node| entries(node).into_iter().map(move |(place, version)| (node, place, version));
            barriers.flat_map(of).collect()
        };
        found.push(Pipeline {
            tile,
            issue,
            ahead: number(&issue.value["version"]),
            begun: begun.collect(),
            early: waits("begin"),
            waits: waits("each"),
            readers: view.readers(tile).into_iter().filter(|node| node.body == "each").collect(),
            buffers: view.value(tile).get("buffers").map_or(1, number),
        });
    }
    found
}

/// IO03.
pub fn prefetches(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    for pipeline in pipelines(view) {
        let at = pipeline.issue.at();
        let first = pipeline.begun.first().map_or(at.clone(), Node::at);
        let mut wrong = |name: &str, at: &str, edit| found.push(view.plant("IO03", name, at, edit));
        let ahead = pipeline.ahead;
        if let (Some(one), Some(last)) = (pipeline.begun.first(), pipeline.begun.last()) {
            // The first prefetch that is left stands where the removed one stood, or further on.
            if pipeline.begun.len() == 1 {
                wrong("no prologue", &at, vec![remove(one.at())]);
            } else {
                wrong("a prologue without its last tile", &first, vec![remove(last.at())]);
            }
            let edit = vec![replace(format!("{}/version", last.at()), number(&last.value["version"]) + 1)];
            wrong("a prologue that leaves a tile out", &first, edit);
            let mut copy = last.value.clone();
            copy["id"] = json!("again");
            let begin = format!("/regions/{}/streaming/tile/begin/{}", last.region, last.place + 1);
            wrong("a prologue that begins a tile twice", &first, vec![add(begin, copy)]);
            wrong("only a prologue", &first, vec![remove(at.clone())]);
        } else {
            let edit = vec![replace(format!("{at}/version"), 1)];
            wrong("a later tile without a prologue", &at, edit);
        }
        let edit = vec![replace(format!("{at}/version"), ahead + 1)];
        wrong("one tile further ahead than the prologue", &first, edit);
        let mut copy = pipeline.issue.value.clone();
        copy["id"] = json!("again");
        let again =
            format!("/regions/{}/streaming/tile/each/{}", pipeline.issue.region, pipeline.issue.place + 1);
        wrong("each tile twice", &first, vec![add(again, copy)]);
        let mut more = pipeline.issue.value.clone();
        more["id"] = json!("more");
        more["version"] = json!(ahead);
        let begin = format!("/regions/{}/streaming/tile/begin", pipeline.issue.region);
        if !pipeline.begun.is_empty() {
            wrong("a prologue of one tile too many", &first, vec![add(format!("{begin}/-"), more)]);
        }
    }
    found
}

/// IO02.
pub fn slots(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    for pipeline in pipelines(view) {
        let at = pipeline.issue.at();
        let last = pipeline.readers.iter().map(|node| node.place).max().unwrap_or(0);
        let is_before = pipeline.issue.place < last;
        let buffers = format!("/values/{}/buffers", pipeline.tile);
        if pipeline.ahead > 0 && pipeline.buffers == pipeline.ahead + 1 && is_before {
            let edit = vec![replace(buffers.clone(), pipeline.ahead)];
            found.push(view.plant("IO02", "as many slots as tiles ahead", at.clone(), edit));
        }
        if pipeline.ahead > 1 {
            let edit = vec![replace(buffers.clone(), 1)];
            found.push(view.plant("IO02", "one slot", at.clone(), edit));
            // Behind the last reader, and still too few.
            let each = format!("/regions/{}/streaming/tile/each", pipeline.issue.region);
            let end =
                list(&view.document()["regions"][pipeline.issue.region]["streaming"]["tile"]["each"]).len();
            let edit = vec![
                replace(buffers, pipeline.ahead - 1),
                json!({"op": "move", "from": at, "path": format!("{each}/{}", end - 1)}),
            ];
            let kind = "too few slots, though it is filled late";
            // A wait for the version of this very iteration would come before the load.
            if pipeline.waits.iter().all(|&(_, _, version)| version < pipeline.ahead) {
                found.push(view.plant("IO02", kind, format!("{each}/{}", end - 1), edit));
            }
        }
        if pipeline.buffers == pipeline.ahead && !is_before {
            let each = format!("/regions/{}/streaming/tile/each", pipeline.issue.region);
            let wait = pipeline.waits.first().map_or(0, |(node, ..)| node.place);
            for (kind, place) in [("filled before the read", wait + 1), ("filled before the wait", wait)] {
                let edit = vec![json!({"op": "move", "from": at, "path": format!("{each}/{place}")})];
                found.push(view.plant("IO02", kind, format!("{each}/{place}"), edit));
            }
        }
    }
    found
}

/// IO01, IO04, IO05.
pub fn barriers(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    for pipeline in pipelines(view) {
        let each = format!("/regions/{}/streaming/tile/each", pipeline.issue.region);
        let now: Vec<_> = pipeline.waits.iter().filter(|(_, _, version)| *version == 0).collect();
        let later: Vec<_> = pipeline.waits.iter().filter(|(_, _, version)| *version > 0).collect();
        let entry = |(node, place, _): &(Node<'_>, usize, i64)| format!("{}/wait/{place}", node.at());
        if let ([wait], []) = (now.as_slice(), later.as_slice()) {
            let (barrier, place, _) = wait;
            let edit = vec![remove(entry(wait))];
            found.push(view.plant("IO04", "a tile that nobody waits for", pipeline.issue.at(), edit));
            if list(&barrier.value["wait"]).len() == 1 {
                let shift = usize::from(barrier.place < pipeline.issue.place);
                let at = format!("{each}/{}", pipeline.issue.place - shift);
                found.push(view.plant("IO04", "no barrier", at, vec![remove(barrier.at())]));
            }
            if pipeline.ahead > 0 && pipeline.issue.place < barrier.place {
                let edit = vec![replace(format!("{}/1", entry(wait)), 1)];
                let kind = "a wait for the next tile alone";
                found.push(view.plant("IO04", kind, pipeline.issue.at(), edit));
            }
            if *place == 0 {
                // The barrier behind the first reader, and behind all.
                let readers = &pipeline.readers;
                for (kind, reader) in [
                    ("a barrier behind the first read", readers.first()),
                    ("a barrier behind the last read", readers.last()),
                ] {
                    let Some(reader) = reader.filter(|reader| reader.place > barrier.place) else { continue };
                    let edit = vec![json!({"op": "move", "from": barrier.at(), "path": reader.at()})];
                    let first = &readers[0];
                    let input =
                        list(&first.value["in"]).iter().position(|name| *name == pipeline.tile).unwrap_or(0);
                    let at = format!("{each}/{}/in/{input}", first.place - 1);
                    found.push(view.plant("IO01", kind, at, edit));
                }
            }
            let edit =
                vec![add(format!("{}/wait/-", barrier.at()), json!([pipeline.tile, pipeline.ahead + 1]))];
            let at = format!("{}/wait/{}", barrier.at(), list(&barrier.value["wait"]).len());
            found.push(view.plant("IO05", "a wait for a tile of the next iteration", at, edit));
            if pipeline.issue.place < barrier.place {
                let first = json!({"id": "soon", "op": "Barrier", "wait": [[pipeline.tile, pipeline.ahead]]});
                let edit = vec![add(format!("{each}/0"), first)];
                let kind = "a wait before the load in the same iteration";
                found.push(view.plant("IO05", kind, format!("{each}/0/wait/0"), edit));
            }
        }
        if let ([], [wait]) = (now.as_slice(), later.as_slice()) {
            for early in &pipeline.early {
                let name = if early.2 == 0 { "the first tile" } else { "the second tile" };
                let edit = vec![remove(entry(early))];
                let kind = format!("nobody waits for {name}");
                found.push(view.plant("IO04", &kind, pipeline.issue.at(), edit));
            }
            let edit = vec![remove(entry(wait))];
            found.push(view.plant("IO04", "only the first tiles are waited for", pipeline.issue.at(), edit));
            let (version, at) = (wait.2, entry(wait));
            if version < pipeline.ahead + 1 {
                let edit = vec![replace(format!("{at}/1"), pipeline.ahead + 1)];
                found.push(view.plant("IO05", "a wait that is one too far", at, edit));
            }
        }
        if let Some(last) = pipeline.begun.last() {
            let begin = format!("/regions/{}/streaming/tile/begin", last.region);
            let wait =
                |version: i64| json!({"id": "soon", "op": "Barrier", "wait": [[pipeline.tile, version]]});
            let edit = vec![add(last.at(), wait(pipeline.ahead - 1))];
            let kind = "a wait before the prologue begins the tile";
            found.push(view.plant("IO05", kind, format!("{}/wait/0", last.at()), edit));
            let place = list(&view.document()["regions"][last.region]["streaming"]["tile"]["begin"]).len();
            let edit = vec![add(format!("{begin}/-"), wait(pipeline.ahead))];
            let kind = "a wait in the prologue for a tile of the stream";
            found.push(view.plant("IO05", kind, format!("{begin}/{place}/wait/0"), edit));
        }
    }
    // Both ways to wait at once: the one that is left has to suffice.
    for pipeline in pipelines(view).iter().filter(|pipeline| pipeline.waits.len() == 2) {
        let Some((node, place, _)) = pipeline.waits.iter().find(|(_, _, version)| *version == 0) else {
            continue;
        };
        let edit = vec![remove(format!("{}/wait/{place}", node.at()))];
        let kind = "a wait for the next tile, and none for the first one";
        found.push(view.plant("IO04", kind, pipeline.issue.at(), edit));
    }
    found
}

/// IW01 to IW05.
pub fn warnings(view: View<'_>) -> Vec<Planted> {
    let mut found = Vec::new();
    let memory = |name: &str| view.value(name)["residency"].clone();
    for (number, _, streaming) in view.regions() {
        let at = format!("/regions/{number}/streaming/tile");
        for body in ["begin", "each", "end"] {
            let nodes = list(&streaming["tile"][body]);
            let Some((place, node)) = nodes.iter().enumerate().find(|(_, node)| node["op"] == "Compute")
            else {
                continue;
            };
            let name = node["out"][0].as_str().unwrap_or_default();
            // A copy that nobody reads. It takes memory for one node, less than what the target leaves nobody knows: no target.
            let extra = json!({"id": "idle", "op": "Compute", "fn": "copy", "in": [name], "out": ["idle"]});
            let mut edit = vec![
                add(format!("{at}/{body}/{}", place + 1), extra),
                add(
                    "/values/idle",
                    json!({"shape": view.value(name)["shape"], "dtype": "F32", "residency": memory(name)}),
                ),
                add("/residency/-", json!({"memory": memory(name), "values": ["idle"], "lifetime": "node"})),
            ];
            if view.document().get("target").is_some() {
                edit.push(remove("/target"));
            }
            let kind = format!("a tile of `{body}` that nobody reads");
            found.push(view.plant("IW01", &kind, "/values/idle", edit));
        }
        for node in view.of("LoadTile").iter().filter(|node| node.region == number && node.body == "each") {
            if streaming.get("stream").is_none() {
                continue;
            }
            let at_all = list(&node.value["at"]);
            let axis = &streaming["stream"]["axis"];
            let Some(place) = at_all.iter().position(|index| index == axis) else { continue };
            // Of a tensor that is longer than the stream is nothing said: the first tile, again and again, has the same extents only
            // where no tile is cut.
            let tensor = view.value(node.first("in"));
            let step =
                crate::plant::number(&streaming["tile"]["tile_shape"][axis.as_str().unwrap_or_default()]);
            let of = crate::plant::number(&tensor["shape"][place]);
            if step > 0 && of % step == 0 {
                let edit = vec![replace(format!("{}/at/{place}", node.at()), 0)];
                found.push(view.plant("IW04", "the first tile in each iteration", node.at(), edit));
                let edit = vec![replace(
                    format!("{}/at/{place}", node.at()),
                    json!([[3, axis.clone()], [-3, axis.clone()]]),
                )];
                found.push(view.plant("IW04", "coefficients that add up to 0", node.at(), edit));
            }
        }
    }
    for node in view.of("UpdateState").iter().filter(|node| node.function() == "add") {
        // A second state that goes on like the first, and that nobody reads.
        let (state, met) = (node.first("out"), &node.value["in"][1]);
        let mut value = view.value(state).clone();
        value["dtype"] = json!("F32");
        let extra =
            json!({"id": "idle", "op": "UpdateState", "fn": "add", "in": ["idle", met], "out": ["idle"]});
        let streaming = format!("/regions/{}/streaming", node.region);
        let mut edit = vec![
            add(format!("{streaming}/tile/{}/{}", node.body, node.place + 1), extra),
            add(format!("{streaming}/state/-"), json!({"value": "idle", "init": 0})),
            add("/values/idle", value),
            add("/residency/-", json!({"memory": memory(state), "values": ["idle"], "lifetime": "block"})),
        ];
        if view.document().get("target").is_some() {
            edit.push(remove("/target"));
        }
        found.push(view.plant("IW01", "a state that is updated and not read", "/values/idle", edit));
    }
    let tensor = json!({"shape": [4], "dtype": "F32", "residency": "global"});
    if !view.regions().is_empty() {
        let edit = vec![add("/values/Idle", tensor), add("/inputs/-", "Idle")];
        found.push(view.plant("IW01", "an input that nobody loads", "/values/Idle", edit));
    }
    for (name, value) in view.tiles() {
        let buffers = value.get("buffers").map_or(1, number);
        let mut edit = vec![add(format!("/values/{name}/buffers"), buffers + 1)];
        if view.document().get("target").is_some() {
            edit.push(remove("/target"));
        }
        let kind = if view.is_prefetched(name) {
            "a slot more than the pipeline has"
        } else {
            "two slots of one version"
        };
        let fits = pipelines(view)
            .iter()
            .all(|pipeline| pipeline.tile != name || pipeline.buffers == pipeline.ahead + 1);
        if fits {
            found.push(view.plant("IW02", kind, format!("/values/{name}/buffers"), edit));
        }
    }
    for node in view.of("Barrier") {
        let wait = list(&node.value["wait"]);
        let again = wait[0].clone();
        let edit = vec![add(format!("{}/wait/-", node.at()), again.clone())];
        let at = format!("{}/wait/{}", node.at(), wait.len());
        found.push(view.plant("IW03", "the same wait twice", at, edit));
        let place = format!("/regions/{}/streaming/tile/{}/{}", node.region, node.body, node.place + 1);
        let edit = vec![add(place.clone(), json!({"id": "again", "op": "Barrier", "wait": [again]}))];
        found.push(view.plant("IW03", "a second barrier", format!("{place}/wait/0"), edit));
    }
    for boundary in 0..list(&view.document()["outputs"]).len() {
        let name = &view.document()["outputs"][boundary];
        let place = list(&view.document()["boundaries"]).iter().position(|entry| entry["value"] == *name);
        if let Some(place) = place {
            let edit = vec![remove(format!("/outputs/{boundary}"))];
            found.push(view.plant(
                "IW05",
                "a result that nobody asks for",
                format!("/boundaries/{place}"),
                edit,
            ));
        }
    }
    extra_store(view, &mut found);
    found
}

/// IW05: a second result of the same kernel.
fn extra_store(view: View<'_>, found: &mut Vec<Planted>) {
    let Some(store) = view.of("StoreTile").into_iter().next() else { return };
    let name = store.first("out");
    let mut copy: Value = store.value.clone();
    copy["id"] = json!("spare");
    copy["out"] = json!(["Spare"]);
    let place = format!("/regions/{}/streaming/tile/{}/{}", store.region, store.body, store.place + 1);
    let mut edit = vec![
        add(place, copy),
        add("/values/Spare", view.value(name).clone()),
        add(format!("/regions/{}/outputs/-", store.region), "Spare"),
        add("/boundaries/-", json!({"value": "Spare"})),
    ];
    let at = format!("/boundaries/{}", list(&view.document()["boundaries"]).len());
    // What is stored twice lives until the second store.
    if view.document().get("target").is_some() {
        edit.push(remove("/target"));
    }
    found.push(view.plant("IW05", "a second copy of the result", at, edit));
}
