//! IS02 to IS05: each name that leads nowhere, stands twice, or is of another kind; and names that differ in little.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use serde_json::{Value, json};

use super::kinds::depth;
use super::{Edit, Scene, breaks, member, places, push};
use super::{allowed, scenes};
use crate::build::{Draft, Kernel, Tile};
use crate::plant::{add, list, remove, replace};

const NOBODY: &str = "nobody";
const REGIONS: [&str; 2] = ["/regions/0", "/regions/1"];

/// Whether the name of a value stands at a place.
fn is_value(at: &str, value: &Value) -> bool {
    let (name, behind) = member(at);
    value.is_string()
        && match name {
            "inputs" | "outputs" | "in" | "out" => true,
            "values" => !behind.is_empty(),
            "value" => true,
            "wait" => behind.get(1) == Some(&0),
            _ => false,
        }
}

/// IS02 and IG02.
fn unknown(document: &Value, rule: &'static str) -> Vec<Edit> {
    let mut found = Vec::new();
    for (at, value) in places(document) {
        if is_value(&at, value) {
            found.push(breaks(format!("no value at {at}"), rule, &at, vec![replace(&at, NOBODY)]));
        }
        if depth(&at) != Some(0) {
            continue;
        }
        let is_first = at.starts_with(REGIONS[0]);
        let mut others = vec![
            ("no axis", "", json!(NOBODY)),
            ("no axis in a second term", "/1", json!([0, NOBODY])),
            ("no axis with a coefficient of 0", "/0/1", json!([[0, NOBODY]])),
            ("the axis of the other region", "/1/1", json!([0, [1, if is_first { "k" } else { "i" }]])),
        ];
        let has_stream = ["/each/", "/begin/1/", "/begin/2/"].iter().any(|part| at.contains(part));
        if is_first && !has_stream {
            others.push(("the axis of the stream", "/0/1", json!([[1, "j"]])));
            others.push(("the axis of the stream with a coefficient of 0", "/0/1", json!([[0, "j"]])));
        }
        for (name, behind, index) in others {
            let edit = vec![replace(&at, index)];
            found.push(breaks(format!("{name} at {at}"), rule, format!("{at}{behind}"), edit));
        }
    }
    for (region, axis) in [(0, "i"), (0, "j"), (1, "k")] {
        let at = format!("{}/streaming/tile/tile_shape", REGIONS[region]);
        found.push(breaks(format!("no step of {axis}"), rule, &at, vec![remove(format!("{at}/{axis}"))]));
        let at = format!("{at}/{NOBODY}");
        found.push(breaks(
            format!("a step of nobody beside that of {axis}"),
            rule,
            at.clone(),
            vec![add(at, 1)],
        ));
    }
    found.dedup_by(|a, b| a.edit == b.edit);
    found
}

/// IS03.
fn twice(document: &Value) -> Vec<Edit> {
    let mut found = Vec::new();
    for (at, value) in places(document) {
        let (name, behind) = member(&at);
        let values = list(value);
        if values.len() < 2 || !behind.is_empty() {
            continue;
        }
        let second = format!("{at}/1");
        match name {
            "inputs" | "outputs" => {
                found.push(breaks(
                    format!("one name twice at {at}"),
                    "IS03",
                    &second,
                    vec![replace(&second, values[0].clone())],
                ));
                let last = format!("{at}/{}", values.len());
                let edit = vec![add(&last, values[1].clone())];
                found.push(breaks(format!("the second name again at {at}"), "IS03", &last, edit));
            }
            "boundaries" | "state" | "regions" => {
                let member = if name == "regions" { "id" } else { "value" };
                let place = format!("{second}/{member}");
                let edit = vec![replace(&place, values[0][member].clone())];
                found.push(breaks(format!("one {member} twice at {at}"), "IS03", place, edit));
            }
            "begin" | "each" | "end" => {
                let place = format!("{second}/id");
                let edit = vec![replace(&place, values[0]["id"].clone())];
                found.push(breaks(format!("one id twice at {at}"), "IS03", place, edit));
                // An id of an earlier body, or that of the first node for the last one.
                let region = at.get(..REGIONS[0].len()).unwrap_or_default();
                let first = document["regions"][usize::from(region == REGIONS[1])]["streaming"]["tile"]["begin"][0]["id"].clone();
                let place = format!("{at}/{}/id", values.len() - 1);
                let edit = vec![replace(&place, first)];
                found.push(breaks(format!("the id of the first node at {place}"), "IS03", place, edit));
            }
            _ => {}
        }
    }
    found
}

/// What is said of a node: which value of the other kind there is for it.
fn other_kind(document: &Value, name: &Value) -> &'static str {
    let is_tensor = document["values"][name.as_str().unwrap_or_default()]["residency"] == "global";
    if is_tensor { "r" } else { "RR" }
}

/// IS04.
fn operands(document: &Value) -> Vec<Edit> {
    let mut found = Vec::new();
    for (at, node) in places(document).into_iter().filter(|(_, node)| node.get("op").is_some()) {
        let mut wrong = |name: String, edit: Value| found.push(breaks(name, "IS04", &at, vec![edit]));
        for side in ["in", "out", "at"] {
            let values = list(&node[side]);
            for (place, value) in values.iter().enumerate().filter(|_| side != "at") {
                let place = format!("{at}/{side}/{place}");
                wrong(
                    format!("the other kind of value at {place}"),
                    replace(&place, other_kind(document, value)),
                );
            }
            let place = format!("{at}/{side}");
            if side == "at" && values.is_empty() {
                continue;
            }
            let more = if side == "at" { json!(0) } else { values.first().cloned().unwrap_or(json!("r")) };
            if values.is_empty() {
                wrong(format!("one more at {place}"), add(&place, json!([more])));
            } else {
                wrong(format!("one more at {place}"), add(format!("{place}/-"), more));
                wrong(format!("one less at {place}"), remove(format!("{place}/{}", values.len() - 1)));
            }
        }
        for (place, wait) in list(&node["wait"]).iter().enumerate() {
            let at = format!("{at}/wait/{place}");
            for (name, value) in [("a tile that is loaded", "r"), ("a state", "m"), ("a tensor", "XX")] {
                let edit = vec![replace(&at, json!([value, wait[1]]))];
                found.push(breaks(format!("a wait for {name} at {at}"), "IS04", &at, edit));
            }
        }
        let body = at.rsplit('/').nth(1).unwrap_or_default();
        let bodies: &[&str] = match node["op"].as_str().unwrap_or_default() {
            "UpdateState" => &["begin", "end"],
            "Barrier" | "Prefetch" => &["end"],
            _ => &[],
        };
        for other in bodies.iter().filter(|other| **other != body) {
            let region = usize::from(at.starts_with(REGIONS[1]));
            let count = list(&document["regions"][region]["streaming"]["tile"][*other]).len();
            let place = format!("{}/streaming/tile/{other}/{count}", REGIONS[region]);
            let mut copy = node.clone();
            copy["id"] = json!("copy");
            let name = format!("a copy of {at} in {other}");
            found.push(breaks(name, "IS04", &place, vec![add(&place, copy)]));
        }
    }
    let place = format!("{}/streaming/tile/each/1", REGIONS[1]);
    let elsewhere = json!({"id": "wait", "op": "Barrier", "wait": [["x", 0]]});
    let edit = vec![add(&place, elsewhere)];
    found.push(breaks("a wait for a tile of another region", "IS04", format!("{place}/wait/0"), edit));
    let alone =
        json!({"id": "fetch", "op": "Prefetch", "in": ["WW"], "out": ["w"], "at": [0, 0], "version": 0});
    found.push(breaks("a Prefetch without a stream", "IS04", &place, vec![add(&place, alone)]));
    found
}

/// IS05.
fn interface(document: &Value) -> Vec<Edit> {
    let mut found = Vec::new();
    for (region, at) in REGIONS.iter().enumerate() {
        let tile = &document["regions"][region]["streaming"]["tile"];
        for (side, other) in [("inputs", "in"), ("outputs", "out")] {
            let names = list(&document["regions"][region][side]);
            for (place, name) in names.iter().enumerate() {
                let bodies = ["begin", "each", "end"].into_iter();
                let mut nodes = bodies.flat_map(|body| {
                    list(&tile[body]).iter().enumerate().map(move |(number, node)| (body, number, node))
                });
                let Some((body, number, _)) = nodes.find(|(_, _, node)| node[other][0] == *name) else {
                    continue;
                };
                let place = format!("{at}/{side}/{place}");
                let node = format!("{at}/streaming/tile/{body}/{number}/{other}/0");
                found.push(breaks(format!("nothing at {place}"), "IS05", node, vec![remove(&place)]));
            }
            let place = format!("{at}/{side}/{}", names.len());
            for (what, value) in
                [("a tensor of the other region", if region == 0 { "ZZ" } else { "XX" }), ("a tile", "r")]
            {
                found.push(breaks(format!("{what} at {place}"), "IS05", &place, vec![add(&place, value)]));
            }
        }
    }
    let idle = add("/values/idle", json!({"shape": [1], "dtype": "F32", "residency": "register"}));
    found.push(breaks("a tile at /inputs/3", "IS05", "/inputs/3", vec![idle, add("/inputs/3", "idle")]));
    found.push(breaks("a tile at /outputs/2", "IS05", "/outputs/2", vec![add("/outputs/2", "r")]));
    let tile = vec![add("/boundaries/4", json!({"value": "r"}))];
    found.push(breaks("a tile at /boundaries/4", "IS05", "/boundaries/4/value", tile));
    found.push(breaks("an input at /outputs/2", "IS05", "/outputs/2", vec![add("/outputs/2", "XX")]));
    found
}

/// A copy for each name: the name of its region, of its tile, of its axis, of a node, and the beginning of those of two tensors.
fn named(name: &'static str, summary: &'static str, names: &[&str]) -> Scene {
    let mut draft = Draft::default();
    for (place, name) in names.iter().enumerate() {
        let next = names[(place + 1) % names.len()];
        let [from, to] = ["in", "out"].map(|side| format!("{name} {side}"));
        draft.input(&from, &[8], "F32");
        draft.output(&to, &[8], "F32");
        draft.tiles(&[Tile(name, &[4], "F32", "shared", "block")]);
        let mut kernel = Kernel::new(name, &[(name, 8, 4), (next, 1, 1)]);
        kernel.load(name, &from, name, json!([name]));
        kernel.end();
        kernel.store(next, name, &to, json!([[name, next]]));
        draft.push(kernel);
    }
    Scene { name, summary, cites: &["IS02", "IS03"], document: draft.value() }
}

pub fn scenes() -> Vec<Scene> {
    let long = "n".repeat(300);
    let [first, second] = ["1", "2"].map(|end| format!("{long}{end}"));
    vec![
        named(
            "names-that-begin-alike",
            "names of which one is the beginning of the other, or that differ behind 5 to 64 letters",
            &[
                "tile",
                "tile ",
                "tile1",
                "tile12",
                "tile123",
                "tile1234",
                "tile12345678901",
                "tile12345678902",
                "tile1234567890123456789012345678",
                "tile1234567890123456789012345679",
                "tile12345678901234567890123456789012345678901234567890123456789",
                "tile12345678901234567890123456789012345678901234567890123456780",
            ],
        ),
        named("names-of-300-letters", "names of 301 letters that differ in the last one", &[&first, &second]),
        named("names-with-a-zero", "names that differ behind a character of code 0", &["a\0b", "a\0c", "a"]),
        named("names-in-both-cases", "names that differ in the case of a letter", &["tile", "Tile", "TILE"]),
        named(
            "names-in-unicode",
            "names that look alike: an accent as a letter and as a mark, letters of other scripts, and characters beyond 16 bits",
            &[
                "\u{e9}",
                "e\u{301}",
                "e",
                "A",
                "\u{391}",
                "\u{410}",
                "\u{1f600}",
                "\u{1f601}",
                "\u{212b}",
                "\u{c5}",
            ],
        ),
        named(
            "names-like-numbers",
            "names that are numbers, or the same number",
            &["1", "01", "1.0", "-1", "0", "-0", "1e0"],
        ),
        named(
            "names-of-other-things",
            "names that stand for other things elsewhere",
            &["null", "true", "inf", "-inf", "global", "rows", "LoadTile", "F32", "__proto__", "/"],
        ),
        named(
            "names-of-white-space",
            "names of no letter, or of white space",
            &["", " ", "  ", "\t", "\n", "\u{a0}"],
        ),
    ]
}

/// IS02 to IS05, and IG02.
pub fn names(_: &Library, sink: &mut Sink) -> Result<()> {
    let every = scenes::every()?;
    let document = &every.document;
    let mut all = unknown(document, "IS02");
    let axis = format!("{}/streaming/stream/axis", REGIONS[0]);
    all.push(breaks(
        "the axis of the stream has the name of a block axis",
        "IS03",
        &axis,
        vec![add(format!("{}/streaming/tile/blocks/j", REGIONS[0]), 4)],
    ));
    all.extend(twice(document));
    all.extend(operands(document));
    all.extend(interface(document));
    // The same ids in the other region.
    let node = format!("{}/streaming/tile/begin/0/id", REGIONS[1]);
    all.push(allowed("the id of a node of the other region", vec![replace(node, "factors")]));
    let node = format!("{}/streaming/tile/begin/0/id", REGIONS[0]);
    all.push(allowed("the id of the region for a node", vec![replace(node, "all")]));
    push(sink, &every, &all)?;
    let graph = scenes::graph()?;
    let values = places(&graph.document);
    let unknown = values.into_iter().filter(|(at, value)| is_value(at, value));
    let mut all: Vec<Edit> = unknown
        .map(|(at, _)| breaks(format!("no value at {at}"), "IG02", at.clone(), vec![replace(at, NOBODY)]))
        .collect();
    for (name, at) in [
        ("inputs", "/inputs/1"),
        ("outputs", "/outputs/1"),
        ("ids", "/nodes/1/id"),
        ("last ids", "/nodes/10/id"),
    ] {
        let first =
            if name.ends_with("ids") { &graph.document["nodes"][0]["id"] } else { &graph.document[name][0] };
        all.push(breaks(
            format!("the first one again in {name}"),
            "IG03",
            at,
            vec![replace(at, first.clone())],
        ));
    }
    push(sink, &graph, &all)?;
    scenes().iter().try_for_each(|scene| push(sink, scene, &[]))
}
