//! What is planted in single operations: CS05 to CS14, CD01 and CD02.

use serde_json::{Value, json};

use crate::bases;
use crate::build::Made;
use crate::families::some;
use crate::item::Planted;
use crate::view::number;

/// Something planted in a document of the library.
pub fn plant(
    made: &Made,
    rule: &'static str,
    name: &str,
    what: &str,
    edit: Vec<Value>,
    at: Option<String>,
) -> Planted {
    Planted {
        base: made.name.clone(),
        name: name.to_owned(),
        summary: format!("{}, but {what}", made.summary),
        edit,
        rule,
        at,
    }
}

fn replace(path: String, value: Value) -> Value {
    json!({"op": "replace", "path": path, "value": value})
}

fn add(path: &str, value: Value) -> Value {
    json!({"op": "add", "path": path, "value": value})
}

/// A load of one number under a name that nothing else has.
fn load_one(at: Value) -> Value {
    json!({"op": "load", "to": "planted", "at": at, "n": 1})
}

/// CS05.
pub fn primitives() -> Vec<Planted> {
    const OTHERS: [&str; 11] =
        ["sub", "mul", "div", "maximum", "minimum", "fma", "wait", "recv_async", "Add", "reduce", ""];
    let mut planted = Vec::new();
    for made in bases::all() {
        for found in made.find("add").into_iter().take(1) {
            let other = OTHERS[planted.len() % OTHERS.len()];
            let at = found.pointer();
            let edit = vec![replace(format!("{at}/op"), json!(other))];
            planted.push(plant(
                &made,
                "CS05",
                "add",
                &format!("`{other}` in place of a sum"),
                edit,
                Some(at),
            ));
        }
    }
    some(planted)
}

/// CS06.
pub fn handles() -> Vec<Planted> {
    let mut planted = Vec::new();
    for (count, made) in bases::all().iter().enumerate() {
        let (kind, member) = [("send", "of"), ("add", "b"), ("store", "of"), ("add", "a")][count % 4];
        for found in made.find(kind).into_iter().take(1) {
            let at = found.pointer();
            let edit = vec![replace(format!("{at}/{member}"), json!("nobody"))];
            let what = format!("a {kind} of a handle that nothing makes");
            planted.push(plant(made, "CS06", kind, &what, edit, Some(at)));
        }
        // A handle that is made, but too late.
        if let Some(found) = made.find("send").first().filter(|found| found.at == 1 && count % 5 == 0) {
            let edit =
                json!({"op": "move", "from": format!("/logs/{}/ops/0", found.log), "path": found.pointer()});
            let at = format!("/logs/{}/ops/0", found.log);
            let what = "a handle is sent before it is loaded";
            planted.push(plant(made, "CS06", "late", what, vec![edit], Some(at)));
        }
    }
    some(planted)
}

/// CS07.
pub fn directions() -> Vec<Planted> {
    const OTHERS: [&str; 9] = ["up", "e", "GLOBAL_E", "global_e", "East", "", "global_NE", "E ", "parent"];
    let mut planted = Vec::new();
    for (count, made) in bases::all().iter().enumerate() {
        let kind = ["send", "recv"][count % 2];
        let ring = made.shape().is_some_and(|shape| shape.kind == "ring_1d");
        for found in made.find(kind).into_iter().take(1) {
            let dir = match count % 3 {
                0 if ring => "global_S",
                // Of a star, what is sent to is not what is received from.
                _ if made.name.starts_with("star") && kind == "send" => "down",
                _ if made.name.starts_with("star") => "global_W",
                _ => OTHERS[planted.len() % OTHERS.len()],
            };
            let at = found.pointer();
            let edit = vec![replace(format!("{at}/dir"), json!(dir))];
            let what = format!("a {kind} in the direction `{dir}`");
            planted.push(plant(made, "CS07", kind, &what, edit, Some(at)));
        }
    }
    some(planted)
}

/// CS08.
pub fn borders() -> Vec<Planted> {
    let mut planted = Vec::new();
    let all = bases::all();
    for (count, made) in all.iter().enumerate() {
        let borders = made.borders();
        let Some(&(log, dir)) = borders.get(count % borders.len().max(1)) else { continue };
        let (edit, further) = if count % 2 == 0 {
            let send = json!({"op": "send", "of": "planted", "dir": dir});
            (vec![made.append(log, &load_one(json!(0))), made.append(log, &send)], 1)
        } else {
            (vec![made.append(log, &json!({"op": "recv", "to": "planted", "dir": dir, "n": 1}))], 0)
        };
        let what = format!("`{dir}` is named where it leads nowhere");
        let kind = made.shape().map_or("list", |shape| shape.kind.split('_').next().unwrap_or_default());
        let name = format!("{kind}-{dir}");
        planted.push(plant(made, "CS08", &name, &what, edit, Some(made.appended(log, further))));
    }
    planted.extend(all.iter().flat_map(to_oneself));
    some(planted)
}

/// A ring of one, or a torus with an extent of 1: its wrap would lead to the sender, and leads nowhere.
fn to_oneself(made: &Made) -> Vec<Planted> {
    let Some(shape) = made.shape().filter(|shape| shape.kind != "mesh_2d_no_wrap") else { return Vec::new() };
    let alone = |dir: &str| match dir {
        "global_E" | "global_W" => shape.w == 1,
        "global_S" | "global_N" => shape.h == 1,
        _ => false,
    };
    let borders = made.borders().into_iter().filter(|(log, dir)| *log == 0 && alone(dir));
    let one = |(log, dir): (usize, &'static str)| {
        let send = json!({"op": "send", "of": "planted", "dir": dir});
        let edit = vec![made.append(log, &load_one(json!(0))), made.append(log, &send)];
        let what = format!("`{dir}` is named, where there is nobody else");
        plant(made, "CS08", &format!("alone-{dir}"), &what, edit, Some(made.appended(log, 1)))
    };
    borders.map(one).collect()
}

/// CS09.
pub fn empty() -> Vec<Planted> {
    let mut planted = Vec::new();
    for (count, made) in bases::all().iter().enumerate() {
        let (name, n) =
            [("zero", json!(0)), ("negative", json!(-1)), ("modulo", json!({"add": 6, "mod": 3}))][count % 3]
                .clone();
        let op = match made.ways().first() {
            Some((0, dir)) if count % 2 == 0 => json!({"op": "recv", "to": "planted", "dir": dir, "n": n}),
            _ => json!({"op": "load", "to": "planted", "at": 0, "n": n}),
        };
        let edit = vec![made.append(0, &op)];
        let what = "a handle has no numbers";
        planted.push(plant(made, "CS09", name, what, edit, Some(made.appended(0, 0))));
    }
    some(planted)
}

/// CS10.
pub fn outside() -> Vec<Planted> {
    let mut planted = Vec::new();
    for (count, made) in
        bases::all().iter().enumerate().filter(|(_, made)| made.document.get("scratch").is_none())
    {
        let (n, log) = (made.n_elem(), made.logs().len() - 1);
        let cube = made.shape().is_some_and(|shape| shape.all_cubes() > 1);
        let beyond = made
            .elements_of(log)
            .into_iter()
            .any(|element| made.shape().is_some_and(|shape| element % shape.all_cubes() > 0));
        let (name, what, edit, further) = match count % 4 {
            _ if cube && beyond => {
                let at = json!({"of": {"cube": 1}, "times": n});
                (
                    "cube",
                    "an address counts the tiles of other cubes",
                    vec![made.append(log, &load_one(at))],
                    0,
                )
            }
            0 => ("behind", "a load behind the tile", vec![made.append(log, &load_one(json!(n)))], 0),
            1 => ("before", "a load before the tile", vec![made.append(log, &load_one(json!(-1)))], 0),
            2 => {
                let op = json!({"op": "load", "to": "planted", "at": 0, "n": n + 1});
                ("longer", "a load longer than the tile", vec![made.append(log, &op)], 0)
            }
            _ => {
                let load = json!({"op": "load", "to": "planted", "at": 0, "n": n});
                let store = json!({"op": "store", "of": "planted", "at": 1});
                let edit = vec![made.append(log, &load), made.append(log, &store)];
                ("store", "a store over the end of the tile", edit, 1)
            }
        };
        planted.push(plant(made, "CS10", name, what, edit, Some(made.appended(log, further))));
    }
    some(planted)
}

/// CS11.
pub fn operands() -> Vec<Planted> {
    let mut planted = Vec::new();
    for (count, made) in bases::all().iter().enumerate() {
        let cast = json!({"op": "cast", "to": "wide", "of": "planted", "dtype": "f32"});
        let load = made.append(0, &load_one(json!(0)));
        let sum = |a: &str, b: &str| made.append(0, &json!({"op": "add", "to": "planted", "a": a, "b": b}));
        let (name, what, edit) = match count % 3 {
            0 if made.n_elem() > 1 => {
                let longer = json!({"op": "load", "to": "longer", "at": 0, "n": 2});
                let edit = vec![load, made.append(0, &longer), sum("planted", "longer")];
                ("lengths", "one number is added to two", edit)
            }
            1 => {
                let edit = vec![load, made.append(0, &cast), sum("planted", "wide")];
                ("dtypes", "binary16 is added to binary32", edit)
            }
            _ => {
                let store = json!({"op": "store", "of": "wide", "at": 0});
                ("wide", "binary32 is stored", vec![load, made.append(0, &cast), made.append(0, &store)])
            }
        };
        planted.push(plant(made, "CS11", name, what, edit, Some(made.appended(0, 2))));
    }
    some(planted)
}

/// CS12.
pub fn scratch() -> Vec<Planted> {
    let mut planted = Vec::new();
    for (count, made) in
        bases::all().iter().enumerate().filter(|(_, made)| made.document.get("scratch").is_none())
    {
        let n = made.n_elem();
        let declared = add("/scratch", json!(3));
        let load = |at: usize, length: usize| {
            made.append(0, &json!({"op": "load", "to": "planted", "at": at, "n": length}))
        };
        let (name, what, edit, further) = match count % 3 {
            0 => ("never", "scratch is loaded that nobody stored", vec![declared, load(n, 1)], 0),
            1 => ("across", "a load goes on into the scratch", vec![declared, load(n - 1, 2)], 0),
            _ => {
                let store = made.append(0, &json!({"op": "store", "of": "planted", "at": n}));
                let edit = vec![declared, load(0, 1), store, load(n, 2)];
                ("more", "more scratch is loaded than was stored", edit, 2)
            }
        };
        planted.push(plant(made, "CS12", name, what, edit, Some(made.appended(0, further))));
    }
    some(planted)
}

/// CS13: of documents whose messages are all whole tiles.
pub fn slots() -> Vec<Planted> {
    let mut planted = Vec::new();
    for made in bases::all() {
        let whole = ["hierarchical", "published", "star", "broadcast", "rank", "wide"];
        if !whole.iter().any(|name| made.name.starts_with(name)) {
            continue;
        }
        let bytes = if made.name.starts_with("wide") { 4 } else { 2 };
        for found in made.find("send").into_iter().take(1) {
            let edit = vec![add("/topology/slot_bytes", json!(bytes * made.n_elem() - 1))];
            let what = "a slot is a byte too small";
            planted.push(plant(&made, "CS13", "slot", what, edit, Some(found.pointer())));
        }
    }
    some(planted)
}

/// Documents in which every element does the same, around a ring.
fn rings() -> Vec<Made> {
    let ring = |made: &Made| {
        made.logs().len() == 1
            && made.elements() > 1
            && made.shape().is_some_and(|shape| shape.kind == "ring_1d")
    };
    bases::all().into_iter().filter(ring).collect()
}

/// CS14.
pub fn messages() -> Vec<Planted> {
    let mut planted = Vec::new();
    for (count, made) in rings().iter().enumerate() {
        let mut edit = vec![made.append(0, &load_one(json!(0)))];
        let mut recv = json!({"op": "recv", "to": "planted", "dir": "global_W", "n": 1});
        let mut sent = "planted";
        let (name, what) = match count % 3 {
            0 => {
                recv["n"] = json!(2);
                ("longer", "two numbers are received where one was sent")
            }
            1 => {
                recv["dtype"] = json!("f32");
                ("wide", "binary32 is received where binary16 was sent")
            }
            _ => {
                edit.push(
                    made.append(0, &json!({"op": "cast", "to": "wide", "of": "planted", "dtype": "f32"})),
                );
                sent = "wide";
                ("narrow", "binary16 is received where binary32 was sent")
            }
        };
        edit.push(made.append(0, &json!({"op": "send", "of": sent, "dir": "global_E"})));
        let at = made.appended(0, edit.len());
        edit.push(made.append(0, &recv));
        planted.push(plant(made, "CS14", name, what, edit, Some(at)));
    }
    some(planted)
}

/// CD01.
pub fn receives() -> Vec<Planted> {
    let mut planted = Vec::new();
    for (count, made) in bases::all().iter().enumerate() {
        let ways = made.ways();
        let Some(&(log, dir)) = ways.get(count % ways.len().max(1)) else { continue };
        let edit = vec![made.append(log, &json!({"op": "recv", "to": "planted", "dir": dir, "n": 1}))];
        let what = format!("one more message is received from `{dir}`");
        planted.push(plant(made, "CD01", dir, &what, edit, Some(made.appended(log, 0))));
    }
    some(planted)
}

/// CD02.
pub fn leftovers() -> Vec<Planted> {
    let mut planted = Vec::new();
    for (count, made) in bases::all().iter().enumerate() {
        let ways = made.ways();
        let Some(&(log, dir)) = ways.get((count + 1) % ways.len().max(1)) else { continue };
        let send = json!({"op": "send", "of": "planted", "dir": dir});
        let edit = vec![made.append(log, &load_one(json!(0))), made.append(log, &send)];
        let what = format!("one more message is sent to `{dir}`");
        planted.push(plant(made, "CD02", dir, &what, edit, Some(made.appended(log, 1))));
    }
    // More of them than the queue holds: the sender never ends, and still this is the rule.
    for made in rings().iter().filter(|made| number(&made.document, "/topology/capacity") == Some(1)).take(3)
    {
        let send = json!({"op": "send", "of": "planted", "dir": "global_W"});
        let many = json!({"for": "planted", "count": 3, "ops": [send]});
        let edit = vec![made.append(0, &load_one(json!(0))), made.append(0, &many)];
        let what = "messages are sent that nobody receives, more than a queue holds";
        planted.insert(
            0,
            plant(made, "CD02", "many", what, edit, Some(format!("{}/ops/0", made.appended(0, 1)))),
        );
    }
    some(planted)
}
