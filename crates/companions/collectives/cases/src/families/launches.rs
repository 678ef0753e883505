//! What modules are asked for: `describe`, `kernel-args` and `launch`, and requests that are wrong.

use megakernel_corpus::builder::{Error, Result};
use megakernel_corpus::families::{Document, Library, Sink, words};
use serde_json::{Value, json};

use crate::build::Shape;
use crate::item::cited;

/// A launch request with a name.
struct Asked {
    name: String,
    request: Value,
}

fn asked(shape: &Shape, n_elem: usize, collective: Value) -> Asked {
    let kind = collective["kind"].as_str().unwrap_or_default().replace('_', "-");
    let loose = if collective["bits"] == json!("per_element") { "-any" } else { "" };
    let root = collective["root"].as_u64().map(|root| format!("-from-{root}")).unwrap_or_default();
    let name = format!("{kind}{loose}{root}-{}-n{n_elem}", shape.slug());
    // The first question is for an element in the middle.
    let element = shape.elements() / 2;
    let request =
        json!({"topology": shape.topology(), "n_elem": n_elem, "collective": collective, "element": element});
    Asked { name, request }
}

/// Where all-reduces are launched. Positions, cubes and ranks differ, so that arguments in a wrong order show.
fn sums() -> Vec<Asked> {
    let sum = || json!({"kind": "all_reduce"});
    let mut all: Vec<Asked> = [(1, 3), (2, 5), (3, 2), (4, 9), (5, 5), (7, 1), (8, 11), (13, 4)]
        .map(|(ranks, n)| asked(&Shape::ring(ranks), n, sum()))
        .into();
    for (w, h, n) in [(1, 1, 2), (1, 3, 4), (3, 1, 5), (2, 2, 3), (3, 2, 7), (3, 3, 1), (2, 4, 13)] {
        all.push(asked(&Shape::torus(w, h), n, sum()));
        all.push(asked(&Shape::mesh(w, h), n, sum()));
    }
    let cubes = [
        (Shape::ring(1).cubes(4, 4), 3),
        (Shape::ring(2).cubes(4, 4), 7),
        (Shape::ring(5).cubes(2, 3), 4),
        (Shape::torus(2, 2).cubes(3, 2), 5),
        (Shape::torus(1, 4).cubes(1, 5), 2),
        (Shape::mesh(2, 2).cubes(3, 1), 6),
        (Shape::mesh(3, 1).cubes(2, 2), 1),
    ];
    all.extend(cubes.map(|(shape, n)| asked(&shape, n, sum())));
    let one_slot = [(Shape::ring(6).capacity(1), 8), (Shape::mesh(3, 2).capacity(1), 3)];
    all.extend(one_slot.map(|(shape, n)| asked(&shape, n, sum())));
    let loose = || json!({"kind": "all_reduce", "bits": "per_element"});
    let shapes = [
        (Shape::ring(3), 4),
        (Shape::ring(6), 2),
        (Shape::torus(3, 2), 1),
        (Shape::mesh(2, 3), 5),
        (Shape::ring(3).cubes(2, 3), 7),
        (Shape::torus(3, 3).cubes(2, 1), 2),
    ];
    all.extend(shapes.map(|(shape, n)| asked(&shape, n, loose())));
    all
}

/// Where other collectives are launched: on rings, one device and two included.
fn others() -> Vec<Asked> {
    let mut all = Vec::new();
    for (ranks, n) in [(1, 2), (2, 3), (3, 7), (5, 3), (8, 8)] {
        for kind in ["broadcast", "all_gather", "reduce_scatter"] {
            all.push(asked(&Shape::ring(ranks), n, json!({"kind": kind})));
        }
    }
    all.push(asked(&Shape::ring(3).cubes(2, 2), 5, json!({"kind": "broadcast"})));
    all
}

fn push(sink: &mut Sink, method: &str, asked: &Asked, clauses: &[&str]) -> Result<()> {
    let what = match method {
        "describe" => "what a module offers",
        "kernel-args" => "what a kernel gets",
        _ => "what a kernel does",
    };
    let summary = format!("{what}: {}", asked.name.replace('-', " "));
    let expect = json!({"verdict": "accept", "warnings": [], "contract": true});
    let id = format!("{}/{}", sink.family(), words(&asked.name));
    let text = asked.request.to_string();
    let document = Document::Text(&text);
    sink.push_as(method, id, &summary, &["collectives"], &cited(clauses)?, &document, expect, None)
}

/// What kernels do.
pub fn launched(_: &Library, sink: &mut Sink) -> Result<()> {
    sums().iter().chain(&others()).try_for_each(|asked| push(sink, "launch", asked, &["COL-23", "COL-10"]))
}

/// What modules offer.
pub fn described(_: &Library, sink: &mut Sink) -> Result<()> {
    let all: Vec<Asked> = sums().into_iter().step_by(5).chain(others().into_iter().step_by(6)).collect();
    all.iter().try_for_each(|asked| push(sink, "describe", asked, &["COL-22", "COL-07"]))
}

/// What kernels get.
pub fn arguments(_: &Library, sink: &mut Sink) -> Result<()> {
    let all: Vec<Asked> = sums().into_iter().skip(1).step_by(4).collect();
    all.iter().try_for_each(|asked| push(sink, "kernel-args", asked, &["COL-22", "COL-08", "COL-09"]))
}

/// What kernels get where a device has several cubes: the rank is not the element.
pub fn arguments_of_cubes(_: &Library, sink: &mut Sink) -> Result<()> {
    let shapes = [
        (Shape::ring(3).cubes(2, 3), 4),
        (Shape::torus(2, 3).cubes(3, 1), 5),
        (Shape::mesh(3, 2).cubes(1, 2), 7),
        (Shape::mesh(1, 4).cubes(2, 2), 3),
    ];
    let all = shapes.map(|(shape, n)| asked(&shape, n, json!({"kind": "all_reduce"})));
    all.iter().try_for_each(|asked| push(sink, "kernel-args", asked, &["COL-22", "COL-08", "COL-09"]))
}

/// Requests that are wrong.
pub fn wrong(_: &Library, sink: &mut Sink) -> Result<()> {
    let Asked { request, .. } = asked(&Shape::torus(2, 3).cubes(2, 1), 4, json!({"kind": "all_reduce"}));
    let text = request.to_string();
    let accept = json!({"verdict": "accept", "warnings": [], "contract": true});
    let good = "collectives/launch-requests/good";
    let summary = "a request that is right";
    let clauses = cited(&["COL-21"])?;
    let document = Document::Text(&text);
    sink.push_as("launch", good.to_owned(), summary, &["collectives"], &clauses, &document, accept, None)?;
    let set = |path: &str, value: Value| json!({"op": "add", "path": path, "value": value});
    let remove = |path: &str| json!({"op": "remove", "path": path});
    let table = [
        ("no-topology", "S03", remove("/topology"), ""),
        ("no-n-elem", "S03", remove("/n_elem"), ""),
        ("no-collective", "S03", remove("/collective"), ""),
        ("no-kind", "S03", remove("/collective/kind"), "/collective"),
        ("element-text", "S04", set("/element", json!("3")), "/element"),
        ("element-null", "S04", set("/element", Value::Null), "/element"),
        ("topology-array", "S04", set("/topology", json!([])), "/topology"),
        ("collective", "S05", set("/collective/kind", json!("scatter")), "/collective/kind"),
        ("over", "S05", set("/collective/over", json!("cubes")), "/collective/over"),
        ("element-below", "CS01", set("/element", json!(-1)), "/element"),
        ("element-above", "CS01", set("/element", json!(12)), "/element"),
        ("n-elem", "CS01", set("/n_elem", json!(0)), "/n_elem"),
        ("root", "CS01", set("/collective/root", json!(6)), "/collective/root"),
        ("grid", "CS02", set("/topology/w", json!(3)), "/topology"),
    ];
    for (number, (name, rule, edit, at)) in table.into_iter().enumerate() {
        // All three methods take the same requests.
        let method = ["launch", "kernel-args", "describe"][number % 3];
        let id = format!("{}/{name}", sink.family());
        let summary = format!("a request that is wrong: {}", name.replace('-', " "));
        let mut request = request.clone();
        let patch: json_patch::Patch =
            serde_json::from_value(json!([edit])).map_err(|error| Error(format!("{name}: {error}")))?;
        json_patch::patch(&mut request, &patch).map_err(|error| Error(format!("{name}: {error}")))?;
        let text = request.to_string();
        let expect = json!({"verdict": "reject", "rules": [rule], "at": at});
        let document = Document::Text(&text);
        let clauses = cited(&[rule, "COL-21"])?;
        sink.push_as(
            method,
            id,
            &summary,
            &["collectives"],
            &clauses,
            &document,
            expect,
            Some(good.to_owned()),
        )?;
    }
    Ok(())
}
