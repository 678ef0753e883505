//! Accepted documents, each with its measures: those are added up here tile by tile of the algorithm, as its author would, and not by
//! any general rule.

mod attention;
mod matrices;
mod rows;

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::build::{Draft, size};

/// An accepted document.
#[derive(Clone, Debug)]
pub struct Base {
    /// Its file.
    pub name: String,
    /// What it is.
    pub summary: String,
    /// The document.
    pub document: Value,
    /// What `measure` says.
    pub measures: Value,
    /// The clauses that it shows.
    pub clauses: Vec<&'static str>,
    /// Whether cases are planted in it.
    pub is_planted: bool,
}

/// The measures of a region.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub(crate) id: String,
    pub(crate) blocks: i64,
    pub(crate) iterations: i64,
    pub(crate) loaded: i64,
    pub(crate) stored: i64,
    pub(crate) operations: i64,
    pub(crate) shared: i64,
    pub(crate) register: i64,
}

impl Row {
    fn of(id: &str) -> Row {
        Row { id: id.to_owned(), ..Row::default() }
    }
}

/// What `measure` says of a document with these regions.
pub fn measures(rows: &[Row], compulsory: &Value, materialized: &[&str]) -> Value {
    let sum = |of: fn(&Row) -> i64| rows.iter().map(of).sum::<i64>();
    let most = |of: fn(&Row) -> i64| rows.iter().map(of).max().unwrap_or(0);
    let regions: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "id": row.id, "blocks": row.blocks, "iterations": row.iterations, "loaded": row.loaded,
                "stored": row.stored, "operations": row.operations, "shared": row.shared,
                "register": row.register,
            })
        })
        .collect();
    json!({
        "regions": regions,
        "loaded": sum(|row| row.loaded), "stored": sum(|row| row.stored),
        "operations": sum(|row| row.operations),
        "shared": most(|row| row.shared), "register": most(|row| row.register),
        "compulsory": compulsory, "materialized": materialized,
    })
}

/// Puts a base together.
fn base(
    name: &str,
    summary: &str,
    clauses: &[&'static str],
    draft: Draft,
    rows: &[Row],
    materialized: &[&str],
) -> Base {
    let document = draft.value();
    let names = ["inputs", "outputs"].into_iter().filter_map(|list| document[list].as_array()).flatten();
    // Every input of these documents is loaded.
    let compulsory: i64 = names
        .filter_map(Value::as_str)
        .map(|name| {
            let value = &document["values"][name];
            let shape = value["shape"].as_array().into_iter().flatten().filter_map(Value::as_i64);
            shape.product::<i64>() * size(value["dtype"].as_str().unwrap_or_default())
        })
        .sum();
    let measures = measures(rows, &json!(compulsory), materialized);
    let clauses = clauses.to_vec();
    Base { name: name.to_owned(), summary: summary.to_owned(), document, measures, clauses, is_planted: true }
}

/// All of them.
pub fn all() -> &'static [Base] {
    static ALL: LazyLock<Vec<Base>> = LazyLock::new(|| {
        let mut all = rows::all();
        all.extend(matrices::all());
        all.extend(attention::all());
        all.extend(small());
        all
    });
    &ALL
}

/// Documents of a few tiles, which cases run with numbers. Nothing is planted in them but there.
fn small() -> Vec<Base> {
    let mut all = rows::small();
    all.extend(matrices::small());
    all.extend(attention::small());
    for base in &mut all {
        base.name = format!("small-{}", base.name);
        base.is_planted = false;
    }
    all
}

/// The document of this name.
pub fn find(name: &str) -> Option<&'static Base> {
    all().iter().find(|base| base.name == name)
}
