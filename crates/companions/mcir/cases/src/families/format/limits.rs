//! IS01 and IG01: each number at the ends of its range, and beyond them.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use serde_json::{Value, json};

use super::kinds::depth;
use super::scenes::{self, MOST};
use super::{Edit, Scene, breaks, member, places, push};
use crate::plant::replace;

/// What is as long as 32 bits go, and nothing to who keeps no more of it.
const WRAP: i64 = 1 << 32;

/// The range of the number at a place.
fn range(document: &Value, at: &str) -> Option<(i64, i64)> {
    let (name, behind) = member(at);
    let is_step = at.ends_with(&format!("/tile_shape/{name}")) || at.ends_with(&format!("/blocks/{name}"));
    match (name, behind.as_slice()) {
        _ if is_step => Some((1, MOST)),
        _ if depth(at).is_some() => Some((-MOST, MOST)),
        ("shape" | "window", _) | ("by" | "eps", [1]) => Some((1, MOST)),
        ("by", [0]) | ("init" | "offset", _) => Some((-MOST, MOST)),
        ("eps", [0]) | ("shared_bytes" | "register_bytes", _) => Some((0, MOST)),
        ("buffers", _) => Some((1, 64)),
        ("version" | "wait", _) => Some((0, 63)),
        ("axis", _) => {
            // Not a matter of ranges, but of what is there: IS09 and IG06.
            document.pointer(at).and_then(Value::as_i64).map(|_| (0, 0))
        }
        _ => None,
    }
}

fn numbers(scene: &Scene, rules: [&'static str; 2]) -> Vec<Edit> {
    let mut found = Vec::new();
    for (at, value) in places(&scene.document) {
        let (Some(number), Some((least, most))) = (value.as_i64(), range(&scene.document, &at)) else {
            continue;
        };
        if member(&at).0 == "axis" {
            let node = at.strip_suffix("/axis").unwrap_or_default();
            let others = [
                ("below 0", -1),
                ("far beyond", 7),
                ("2^32 more", number + WRAP),
                ("2^32 less", number - WRAP),
                ("the most of 64 bits", i64::MAX),
            ];
            for (name, other) in others {
                let edit = vec![replace(&at, other)];
                found.push(breaks(format!("{name} at {at}"), rules[1], node, edit));
            }
            continue;
        }
        let others = [
            ("one below the least", least - 1),
            ("one above the most", most + 1),
            ("2^32 more", number + WRAP),
        ];
        for (name, other) in others {
            found.push(breaks(format!("{name} at {at}"), rules[0], &at, vec![replace(&at, other)]));
        }
    }
    found
}

/// Integers in each index: alone, as a term, and as a coefficient.
fn indices(scene: &Scene) -> Vec<Edit> {
    let mut found = Vec::new();
    for (at, _) in places(&scene.document).into_iter().filter(|(at, _)| depth(at) == Some(0)) {
        let axis = if at.starts_with("/regions/0") { "i" } else { "k" };
        for (name, behind, index) in [
            ("2^31", "", json!(MOST + 1)),
            ("a term of -2^31", "/1", json!([axis, -MOST - 1])),
            ("a coefficient of 2^31", "/1/0", json!([0, [MOST + 1, axis]])),
            ("a coefficient of -2^32", "/0/0", json!([[-WRAP, axis]])),
        ] {
            let edit = vec![replace(&at, index)];
            found.push(breaks(format!("{name} at {at}"), "IS01", format!("{at}{behind}"), edit));
        }
    }
    found
}

/// Shapes that are too long, or have too many elements, bytes or axes.
fn shapes(value: &str, rule: &'static str, is_tile: bool) -> Vec<Edit> {
    let (half, quarter) = (1_i64 << 30, 1_i64 << 22);
    let mut all = vec![
        ("65 axes", vec![1; 65]),
        ("2^64 elements in 64 axes", vec![2; 64]),
        ("2^64 elements in 4 axes", vec![1 << 16; 4]),
        ("2^64 elements in 3 axes", vec![quarter, quarter, 1 << 20]),
        ("2^96 elements", vec![1 << 24; 4]),
        ("2^62 elements", vec![half, half, 4]),
        ("2^63 elements", vec![half, half, 8]),
        ("the longest axes", vec![MOST, MOST]),
        ("64 of the longest axes", vec![MOST; 64]),
    ];
    all.extend(if is_tile {
        vec![
            ("2^20 + 1 elements", vec![17, 61681]),
            ("2^20 + 1 elements in a row", vec![(1 << 20) + 1]),
            ("2^21 elements in 3 axes", vec![128, 128, 128]),
            ("2^31 elements", vec![1 << 16, 1 << 15]),
            ("2^32 elements", vec![1 << 16, 1 << 16]),
            ("the longest axis", vec![MOST]),
        ]
    } else {
        vec![
            ("2^62 + 8 bytes", vec![6, 2833, 37171, 1_824_726_041]),
            ("2^62 + 2^32 bytes", vec![half, half + 1]),
            ("2^63 bytes", vec![half, half, 2]),
        ]
    });
    let at = format!("/values/{value}/shape");
    all.into_iter()
        .map(|(name, shape)| {
            breaks(format!("{name} at {at}"), rule, at.clone(), vec![replace(at.clone(), json!(shape))])
        })
        .collect()
}

/// IS01 and IG01.
pub fn limits(_: &Library, sink: &mut Sink) -> Result<()> {
    let every = scenes::every()?;
    let mut all = numbers(&every, ["IS01", "IS09"]);
    all.extend(indices(&every));
    push(sink, &every, &all)?;
    let graph = scenes::graph()?;
    push(sink, &graph, &numbers(&graph, ["IG01", "IG06"]))?;
    let stream = "/regions/0/streaming/stream";
    let counts = ["from", "to"].map(|which| {
        let at = format!("{stream}/{which}");
        breaks(
            format!("65 indices in {which}"),
            "IS01",
            at.clone(),
            vec![replace(at, json!([0; 65].as_slice()))],
        )
    });
    push(sink, &scenes::largest(), &counts)?;
    let mut all = shapes("X", "IS01", false);
    all.extend(shapes("x", "IS01", true).into_iter().map(|mut edit| {
        edit.name = format!("a tile of {}", edit.name);
        edit
    }));
    push(sink, &scenes::large(), &all)?;
    push(sink, &scenes::ranks(), &[])?;
    push(sink, &scenes::largest_graph(), &shapes("large", "IG01", false))
}
