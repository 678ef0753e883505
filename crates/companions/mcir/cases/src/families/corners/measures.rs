//! Measures: what counts, and in which order it is named.

use serde_json::{Value, json};

use super::places::alone;
use super::{Corner, accepted};
use crate::build::{Draft, Kernel, Tile};

/// The larger elements of two tensors, and an input that nobody loads.
fn larger() -> (Value, Value) {
    let mut draft = Draft::default();
    draft.input("X", &[8], "F32");
    draft.input("Z", &[8], "F32");
    draft.input("idle", &[5], "F32");
    draft.output("Y", &[8], "F32");
    draft.tiles(&[
        Tile("x", &[8], "F32", "shared", "block"),
        Tile("z", &[8], "F32", "shared", "block"),
        Tile("y", &[8], "F32", "register", "block"),
    ]);
    let mut kernel = Kernel::new("larger", &[]);
    kernel.load("lx", "X", "x", json!([0]));
    kernel.load("lz", "Z", "z", json!([0]));
    kernel.compute("max", "max", &["x", "z"], "y", json!({}));
    kernel.end();
    kernel.store("store", "y", "Y", json!([0]));
    let moved = json!({"loaded": 64, "stored": 32, "operations": 8, "shared": 64, "register": 32});
    let measures = measures(&[("larger", moved)], 96, &[]);
    (alone(draft, kernel), measures)
}

/// A tensor that is copied from one to the next, with names of which the order by bytes is another one than by units of UTF-16.
fn named() -> (Value, Value) {
    let names = ["X", "😀", "～", "Y"];
    let mut draft = Draft::default();
    draft.input("X", &[4], "F32");
    draft.stored("😀", &[4], "F32");
    draft.stored("～", &[4], "F32");
    draft.output("Y", &[4], "F32");
    let mut rows = Vec::new();
    for (pair, region) in names.windows(2).zip(["first", "second", "third"]) {
        let tile = format!("of {region}");
        draft.tiles(&[Tile(&tile, &[4], "F32", "shared", "block")]);
        let mut kernel = Kernel::new(region, &[]);
        kernel.load("load", pair[0], &tile, json!([0]));
        kernel.end();
        kernel.store("store", &tile, pair[1], json!([0]));
        draft.push(kernel);
        let moved = json!({"loaded": 16, "stored": 16, "operations": 0, "shared": 16, "register": 0});
        rows.push((region, moved));
    }
    (draft.value(), measures(&rows, 32, &["～", "😀"]))
}

/// Measures of regions of one block and one iteration each.
fn measures(rows: &[(&str, Value)], compulsory: i64, materialized: &[&str]) -> Value {
    let of = |member: &str| rows.iter().filter_map(|(_, row)| row[member].as_i64()).collect::<Vec<_>>();
    let [loaded, stored, operations] =
        ["loaded", "stored", "operations"].map(|member| of(member).iter().sum::<i64>());
    let [shared, register] = ["shared", "register"].map(|member| of(member).into_iter().max().unwrap_or(0));
    let regions: Vec<Value> = rows
        .iter()
        .map(|(id, row)| {
            let mut row = row.clone();
            (row["id"], row["blocks"], row["iterations"]) = (json!(id), json!(1), json!(1));
            row
        })
        .collect();
    json!({
        "regions": regions, "loaded": loaded, "stored": stored, "operations": operations, "shared": shared, "register": register,
        "compulsory": compulsory, "materialized": materialized,
    })
}

fn measured(name: &'static str, (document, measures): (Value, Value), warnings: &[&str]) -> Corner {
    let mut corner = accepted(name, &["MCI-15"], document, warnings);
    corner.expect["document"] = measures;
    corner.method = "measure";
    corner
}

pub fn all() -> Vec<Corner> {
    vec![
        measured("a maximum, and an input that nobody loads", larger(), &["IW01"]),
        measured("names that are sorted by their bytes", named(), &[]),
    ]
}
