//! What is planted in whole documents: the other CS rules, CD03 and CD04, the results, the bits, and CW02.

use serde_json::{Value, json};

use crate::bases;
use crate::build::Made;
use crate::families::operations::plant;
use crate::families::some;
use crate::item::Planted;
use crate::view::number;

fn set(path: &str, value: Value) -> Value {
    json!({"op": "add", "path": path, "value": value})
}

fn starting(names: &[&str]) -> Vec<Made> {
    bases::all().into_iter().filter(|made| names.iter().any(|name| made.name.starts_with(name))).collect()
}

/// CS01: each number, in a document of its own.
pub fn ranges() -> Vec<Planted> {
    let all = starting(&["hierarchical-mesh", "hierarchical-torus", "broadcast-mesh"]);
    let mut numbers: Vec<(&str, i64)> = vec![
        ("/n_elem", 0),
        ("/n_elem", -4),
        ("/n_elem", 2_147_483_648),
        ("/scratch", -1),
        ("/scratch", 16_777_217),
        ("/topology/ranks", 0),
        ("/topology/ranks", 65537),
        ("/topology/w", 0),
        ("/topology/h", -1),
        ("/topology/cube_w", 0),
        ("/topology/cube_h", 257),
        ("/topology/link_cube", -1),
        ("/topology/link_cube", 256),
        ("/topology/capacity", 0),
        ("/topology/capacity", 65537),
        ("/topology/slot_bytes", 0),
        ("/collective/root", -1),
        ("/collective/root", 65536),
    ];
    numbers.extend([("/logs/0/elements/0/2", 0), ("/logs/0/elements/0/0", -1)]);
    let one = |(count, (path, number)): (usize, (&str, i64))| {
        let made = &all[count % all.len()];
        let name = format!("{}-{number}", path.rsplit('/').next().unwrap_or_default());
        // In an array, `add` would insert.
        let op = if path.starts_with("/logs") { "replace" } else { "add" };
        let edit = vec![json!({"op": op, "path": path, "value": number})];
        plant(made, "CS01", &name, &format!("`{path}` is {number}"), edit, Some(path.to_owned()))
    };
    let mut planted: Vec<Planted> = numbers.into_iter().enumerate().map(one).collect();
    for made in starting(&["template-ring-3", "template-ring-5"]) {
        let at = "/logs/0/ops/0/at/mod";
        planted.push(plant(
            &made,
            "CS01",
            "mod",
            "a modulus is 0",
            vec![set(at, json!(0))],
            Some(at.to_owned()),
        ));
        let at = "/logs/0/ops/0/at/times";
        let edit = vec![set(at, json!(2_147_483_648_i64))];
        planted.push(plant(
            &made,
            "CS01",
            "times",
            "a factor has more than 32 bits",
            edit,
            Some(at.to_owned()),
        ));
    }
    for made in starting(&["star-3", "star-5"]) {
        let at = "/topology/edges/1/to";
        let edit = vec![set(at, json!(made.elements()))];
        planted.push(plant(
            &made,
            "CS01",
            "to",
            "an edge leads to a rank that there is not",
            edit,
            Some(at.to_owned()),
        ));
        let at = "/topology/edges/0/capacity";
        planted.push(plant(
            &made,
            "CS01",
            "edge-capacity",
            "an edge holds nothing",
            vec![set(at, json!(0))],
            Some(at.to_owned()),
        ));
    }
    planted
}

/// CS02.
pub fn grids() -> Vec<Planted> {
    let all = starting(&["hierarchical-torus", "hierarchical-mesh", "published-mesh", "broadcast-torus"]);
    let one = |(count, made): (usize, &Made)| {
        let path = ["/topology/h", "/topology/w", "/topology/ranks"][count % 3];
        let more = number(&made.document, path).unwrap_or(1) + 1;
        let what = format!("`{path}` is {more}, which does not fit");
        plant(made, "CS02", "grid", &what, vec![set(path, json!(more))], Some("/topology".to_owned()))
    };
    some(all.iter().enumerate().map(one).collect())
}

/// CS03.
pub fn edges() -> Vec<Planted> {
    let mut planted = Vec::new();
    for made in starting(&["star-3", "star-5", "star-8"]) {
        let edges = &made.document["topology"]["edges"];
        let mut put = |name: &str, what: &str, edge: usize, edit: Value| {
            planted.push(plant(
                &made,
                "CS03",
                name,
                what,
                vec![edit],
                Some(format!("/topology/edges/{edge}")),
            ));
        };
        put("in", "two edges lead to one queue", 2, set("/topology/edges/2/in", edges[0]["in"].clone()));
        put(
            "out",
            "two edges have one name to send to",
            3,
            set("/topology/edges/3/out", edges[1]["out"].clone()),
        );
        put(
            "itself",
            "an edge leads to where it comes from",
            0,
            set("/topology/edges/0/to", edges[0]["from"].clone()),
        );
        put(
            "cube",
            "an edge has the name of a direction between cubes",
            1,
            set("/topology/edges/1/out", json!("N")),
        );
        let last = edges.as_array().map_or(0, Vec::len);
        put("twice", "an edge stands there twice", last, set("/topology/edges/-", edges[0].clone()));
    }
    planted
}

/// CS04.
pub fn elements() -> Vec<Planted> {
    let mut planted = Vec::new();
    for (count, made) in bases::all().iter().enumerate() {
        let entries = made.logs()[0]["elements"].as_array().map_or(0, Vec::len);
        let at = Some(format!("/logs/0/elements/{entries}"));
        let all = made.elements();
        let (name, what, edit, at) = match count % 3 {
            0 => {
                let edit = json!({"op": "remove", "path": "/logs/0/elements/0"});
                ("without", "some elements have no log", edit, Some("/logs".to_owned()))
            }
            1 => ("twice", "an element has two logs", set("/logs/0/elements/-", json!([0, 0, 1])), at),
            _ => (
                "beyond",
                "an element is named that there is not",
                set("/logs/0/elements/-", json!([all, all, 1])),
                at,
            ),
        };
        planted.push(plant(made, "CS04", name, what, vec![edit], at));
    }
    some(planted)
}

/// CS15.
pub fn tiles() -> Vec<Planted> {
    let mut planted = Vec::new();
    for (count, made) in bases::all().iter().filter(|made| made.elements() < 12).enumerate() {
        let mut tiles = vec![vec![0x3C00; made.n_elem()]; made.elements()];
        let (name, what, at) = match count % 4 {
            0 => {
                tiles.pop();
                ("fewer", "a tile is missing", "/tiles".to_owned())
            }
            1 => {
                tiles.push(vec![0; made.n_elem()]);
                ("more", "there is a tile too many", "/tiles".to_owned())
            }
            2 => {
                tiles[0].push(0);
                ("longer", "a tile has a number too many", "/tiles/0".to_owned())
            }
            _ => {
                let last = made.elements() - 1;
                tiles[last].pop();
                ("shorter", "a tile has a number too few", format!("/tiles/{last}"))
            }
        };
        planted.push(plant(made, "CS15", name, what, vec![set("/tiles", json!(tiles))], Some(at)));
    }
    some(planted)
}

/// CS16.
pub fn long() -> Vec<Planted> {
    let mut planted = Vec::new();
    for (count, made) in bases::all().iter().enumerate() {
        let empty = |count: i64| json!({"for": "planted", "count": count, "ops": []});
        let long = match count % 3 {
            0 => empty(33_554_433),
            1 => empty(i64::MAX),
            _ => json!({"for": "outer", "count": 6000, "ops": [empty(6000)]}),
        };
        let what = "a loop has more turns than a document may have";
        planted.push(plant(
            made,
            "CS16",
            "loop",
            what,
            vec![made.append(0, &long)],
            Some("/logs".to_owned()),
        ));
    }
    some(planted)
}

/// CD03: with a slot less than there are pieces in flight, and with one slot.
pub fn full_queues() -> Vec<Planted> {
    let mut planted = Vec::new();
    for made in starting(&["in-flight"]) {
        let pieces = made.n_elem() / made.elements();
        let mut capacities = vec![pieces - 1, 1];
        capacities.dedup();
        for capacity in capacities {
            let edit = vec![set("/topology/capacity", json!(capacity))];
            // The loads come first, then the sends: this one finds its queue full, everywhere.
            let at = format!("/logs/0/ops/{}", pieces + capacity);
            let what = format!("queues hold {capacity} of {pieces} messages");
            planted.push(plant(&made, "CD03", &format!("capacity-{capacity}"), &what, edit, Some(at)));
        }
    }
    planted
}

/// CD04.
pub fn crossed_waits() -> Vec<Planted> {
    let what = "everybody receives before sending";
    let mut planted = Vec::new();
    for made in starting(&["template"]) {
        let edit = json!({"op": "move", "from": "/logs/0/ops/1/ops/1", "path": "/logs/0/ops/1/ops/0"});
        planted.push(plant(
            &made,
            "CD04",
            "swapped",
            what,
            vec![edit],
            Some("/logs/0/ops/1/ops/0".to_owned()),
        ));
    }
    for made in starting(&["star"]) {
        let edit = json!({"op": "move", "from": "/logs/1/ops/2", "path": "/logs/1/ops/1"});
        planted.push(plant(
            &made,
            "CD04",
            "swapped",
            "the rays of a star wait for its centre",
            vec![edit],
            None,
        ));
    }
    planted
}

/// Sums with equal bits over more than one element, with the last log, whose last operation stores the sum of all.
fn sums() -> Vec<(Made, usize, usize)> {
    let all = starting(&["hierarchical"]).into_iter().filter(|made| made.elements() > 1);
    let one = |made: Made| {
        // The first cube of several has no link.
        let cubes = made.shape().is_some_and(|shape| shape.all_cubes() > 2);
        let log = if cubes { 0 } else { made.logs().len() - 1 };
        let last = made.ops(log).len() - 1;
        (made, log, last)
    };
    all.map(one).collect()
}

/// Names tell the two kinds of places apart, so that there are some of both.
fn name_of(made: &Made, name: &'static str) -> &'static str {
    let cubes = made.shape().is_some_and(|shape| shape.all_cubes() > 2);
    if cubes { "cube" } else { name }
}

/// CT01.
pub fn unwritten() -> Vec<Planted> {
    let one = |(made, log, last): &(Made, usize, usize)| {
        let edit = json!({"op": "remove", "path": format!("/logs/{log}/ops/{last}")});
        let what = "an element does not store the sum";
        plant(made, "CT01", name_of(made, "store"), what, vec![edit], Some(format!("/logs/{log}")))
    };
    let mut planted: Vec<Planted> = sums().iter().map(one).collect();
    for made in starting(&["in-flight-ring-3", "in-flight-ring-5"]) {
        let last = made.ops(0).len() - 1;
        let edit = json!({"op": "remove", "path": format!("/logs/0/ops/{last}")});
        let what = "the last piece is not stored";
        planted.push(plant(&made, "CT01", "piece", what, vec![edit], Some("/logs/0".to_owned())));
    }
    some(planted)
}

/// CT02.
pub fn missing() -> Vec<Planted> {
    let one = |(made, log, last): &(Made, usize, usize)| {
        let edit = set(&format!("/logs/{log}/ops/{last}/of"), json!("own"));
        let what = "an element stores what it had in place of the sum";
        plant(made, "CT02", name_of(made, "own"), what, vec![edit], Some(format!("/logs/{log}")))
    };
    let mut planted: Vec<Planted> = sums().iter().map(one).collect();
    for made in starting(&["rank-order"]) {
        let last = made.ops(0).len() - 2;
        let edit = json!({"op": "remove", "path": format!("/logs/0/ops/{last}")});
        // With two ranks nothing is left to store.
        if made.elements() > 2 {
            let what = "the last contribution is not added";
            planted.insert(0, plant(&made, "CT02", "last", what, vec![edit], Some("/logs/0".to_owned())));
        }
    }
    some(planted)
}

/// CT03.
pub fn double() -> Vec<Planted> {
    let one = |(made, log, last): &(Made, usize, usize)| {
        let again = json!({"op": "add", "to": "sum", "a": "sum", "b": "own"});
        let edit = set(&format!("/logs/{log}/ops/{last}"), again);
        let what = "an element adds what it had once more";
        plant(made, "CT03", name_of(made, "own"), what, vec![edit], Some(format!("/logs/{log}")))
    };
    some(sums().iter().map(one).collect())
}

/// CT04.
pub fn foreign() -> Vec<Planted> {
    let mut planted = Vec::new();
    for made in starting(&["broadcast"]).into_iter().filter(|made| made.elements() > 1) {
        let root = made.find("load").first().map_or(0, |found| found.log);
        let log = (0..made.logs().len()).rev().find(|&log| log != root).unwrap_or(0);
        let last = made.ops(log).len() - 1;
        let path = format!("/logs/{log}/ops/{last}");
        let edit = vec![
            set(&path, json!({"op": "add", "to": "sum", "a": "sum", "b": "planted"})),
            set(&path, json!({"op": "load", "to": "planted", "at": 0, "n": made.n_elem()})),
        ];
        let what = "an element adds what it had to what comes";
        planted.push(plant(&made, "CT04", "own", what, edit, Some(format!("/logs/{log}"))));
    }
    for made in starting(&["over-ranks"]) {
        let log = (0..made.logs().len()).find(|&log| made.ops(log).len() > 6).unwrap_or(0);
        let last = made.ops(log).len() - 1;
        let sum = json!({"op": "add", "to": "sum", "a": "sum", "b": "other"});
        let edit = vec![set(&format!("/logs/{log}/ops/{last}"), sum)];
        let what = "a cube adds what belongs to the other";
        planted.push(plant(&made, "CT04", "cube", what, edit, Some(format!("/logs/{log}"))));
    }
    planted
}

/// CT05.
pub fn stale() -> Vec<Planted> {
    let one = |(made, log, _): &(Made, usize, usize)| {
        let edit = made.append(*log, &json!({"op": "store", "of": "own", "at": 0}));
        let what = "an element stores what it had over the sum";
        plant(made, "CT05", name_of(made, "own"), what, vec![edit], Some(format!("/logs/{log}")))
    };
    some(sums().iter().map(one).collect())
}

/// CB01.
pub fn bits() -> Vec<Planted> {
    let one = |(published, base): (Made, Made)| {
        let logs = published.document["logs"].clone();
        let edit = vec![set("/logs", logs), set("/collective/bits", json!("identical"))];
        let what = format!("with the logs of {}, and identical bits asked for", published.summary);
        let at = (published.logs().len() == 1).then(|| "/logs/0".to_owned());
        plant(&base, "CB01", "published", &what, edit, at)
    };
    bases::published_apart().into_iter().map(one).collect()
}

/// CS08: code for a torus on a mesh.
pub fn wraps() -> Vec<Planted> {
    let apart = bases::published_apart().into_iter();
    let toruses = apart.filter(|(_, base)| base.shape().is_some_and(|shape| shape.kind == "torus_2d"));
    let one = |(published, base): (Made, Made)| {
        let edit = vec![
            set("/logs", published.document["logs"].clone()),
            set("/topology/kind", json!("mesh_2d_no_wrap")),
        ];
        let what = "on a mesh, with logs that send around";
        plant(&base, "CS08", "mesh", what, edit, None)
    };
    toruses.map(one).collect()
}

/// CW01.
pub fn orders() -> Vec<Planted> {
    let one = |(published, base): (Made, Made)| {
        let edit = vec![set("/logs", published.document["logs"].clone())];
        let at = (published.logs().len() == 1).then(|| "/logs/0".to_owned());
        plant(&base, "CW01", "published", &format!("with the logs of {}", published.summary), edit, at)
    };
    bases::published_apart().into_iter().map(one).collect()
}

/// CW02.
pub fn outlived() -> Vec<Planted> {
    let mut planted = Vec::new();
    for made in starting(&["rank-order"]) {
        for capacity in (1..made.elements().saturating_sub(1)).take(4) {
            let edit = vec![set("/topology/capacity", json!(capacity))];
            let what = format!("queues hold {capacity} messages, and more are kept");
            planted.push(plant(&made, "CW02", &format!("capacity-{capacity}"), &what, edit, None));
        }
    }
    planted
}
