//! Documents that are run: clauses MCI-16 and MCI-17. What comes out is what the definition says, and where it is known by construction, that.

use std::collections::BTreeMap;

use megakernel_corpus::builder::{Error, Result};
use megakernel_corpus::families::{Document, Library, Sink, words};
use megakernel_ir::prng::SplitMix64;
use megakernel_numerics::{decode, encode, interval};
use serde_json::{Map, Value, json};

use super::{PROFILE, bounds, cited, memory, order, path, users};
use crate::bases;
use crate::definition::{Array, Real, dtype, run, shape};
use crate::plant::{Planted, View, add, list};
use crate::scenes::{self, Scene};

/// A number as cases write it.
fn written(number: f64) -> Value {
    match number {
        _ if number.is_nan() => json!("nan"),
        f64::INFINITY => json!("inf"),
        f64::NEG_INFINITY => json!("-inf"),
        _ => json!(number),
    }
}

/// A bound with few digits, which is none the smaller for it.
fn rounded(bound: f64) -> f64 {
    // The sign of a zero, infinities and nothing at all stay what they are.
    if bound < 1e-300 || !bound.is_finite() {
        return bound;
    }
    format!("{:.2e}", bound * 1.006).parse().unwrap_or(bound)
}

fn output(value: &Value, array: &Array) -> Value {
    let mut record = Map::new();
    record.insert("dtype".to_owned(), json!(dtype(value).name()));
    let values: Vec<Value> = array.computed.iter().map(|element| written(element.v)).collect();
    record.insert("values".to_owned(), json!(values));
    if array.computed.iter().any(|element| element.e != 0.0) {
        let bounds: Vec<Value> = array.computed.iter().map(|element| written(rounded(element.e))).collect();
        record.insert("bounds".to_owned(), json!(bounds));
    }
    Value::Object(record)
}

/// What is known has to be what the definition says, and to the bit where that is known too.
fn check(scene: &Scene, outputs: &BTreeMap<String, Array>) -> Result<()> {
    for (name, known) in &scene.known {
        let dtype = dtype(&scene.document["values"][name.as_str()]);
        let computed = outputs.get(name).map(|array| array.computed.as_slice()).unwrap_or_default();
        if computed.len() != known.len() {
            return Err(Error(format!(
                "{}: {} of {} elements are known",
                scene.name,
                known.len(),
                computed.len()
            )));
        }
        for (place, (Real { v, e }, known)) in computed.iter().zip(known).enumerate() {
            let Some(known) = known else { continue };
            let is_within =
                interval(dtype, *v, *e).admits(encode(dtype, *known)) || (*v == 0.0 && *known == 0.0);
            if !is_within || (scene.is_exact && *e > f64::from_bits(1)) {
                return Err(Error(format!(
                    "{}: `{name}` at {place} is {known}, not {v} within {e}",
                    scene.name
                )));
            }
        }
    }
    Ok(())
}

fn data(scene: &Scene) -> Value {
    let bits = |(name, numbers): (&String, &Vec<f64>)| {
        let dtype = dtype(&scene.document["values"][name.as_str()]);
        let bits: Vec<u32> = numbers.iter().map(|&number| encode(dtype, number)).collect();
        (name.clone(), json!(bits))
    };
    Value::Object(scene.inputs.iter().map(bits).collect())
}

/// A document with random numbers between -1 and 1 as its inputs, in the member `data`, and what its outputs are expected to be then.
pub fn drawn(document: &Value, seed: u64) -> (Value, Map<String, Value>) {
    let mut draws = SplitMix64::new(seed);
    let mut inputs = BTreeMap::new();
    let mut bits = Map::new();
    for name in list(&document["inputs"]).iter().filter_map(Value::as_str) {
        let value = &document["values"][name];
        let (dtype, shape) = (dtype(value), shape(value));
        let codes: Vec<u32> = scenes::random(&mut draws, scenes::count(&shape))
            .into_iter()
            .map(|number| encode(dtype, number))
            .collect();
        inputs.insert(name.to_owned(), Array::given(shape, codes.iter().map(|&code| decode(dtype, code))));
        bits.insert(name.to_owned(), json!(codes));
    }
    let outputs = run(document, inputs);
    let mut with_data = document.clone();
    with_data["data"] = Value::Object(bits);
    (with_data, expected(document, &outputs))
}

fn expected(document: &Value, outputs: &BTreeMap<String, Array>) -> Map<String, Value> {
    let names = list(&document["outputs"]).iter().filter_map(Value::as_str);
    let record = |name: &str| {
        let array = outputs.get(name)?;
        Some((name.to_owned(), output(&document["values"][name], array)))
    };
    names.filter_map(record).collect()
}

/// All cases that run.
///
/// # Errors
/// What is known is not what the definition says, or a case is not well formed.
pub fn computed(_: &Library, sink: &mut Sink) -> Result<()> {
    let all = scenes::all();
    for scene in &all {
        let outputs = run(&scene.document, scene.arrays());
        check(scene, &outputs)?;
        let expected = expected(&scene.document, &outputs);
        let expect = json!({"verdict": "accept", "outputs": expected});
        let mut clauses = scene.clauses.clone();
        clauses.extend(["MCI-16", "MCI-17"]);
        let id = format!("{}/{}", sink.family(), words(&scene.name));
        let edit = [add("/data", data(scene))];
        let file = scene.base.as_deref().map(path);
        let text;
        let document = match &file {
            Some(file) => Document::Edited(file, &edit),
            None => {
                let mut whole = scene.document.clone();
                whole["data"] = data(scene);
                text = whole.to_string();
                Document::Text(&text)
            }
        };
        let clauses = cited(&clauses)?;
        sink.push_as("compute", id, &scene.summary, PROFILE, &clauses, &document, expect, None)?;
    }
    rejected(&all, sink)
}

/// What is planted is found by `compute` too, before anything runs.
fn rejected(scenes: &[Scene], sink: &mut Sink) -> Result<()> {
    let scene = scenes.iter().find(|scene| scene.name == "attention-random");
    let scene = scene.ok_or_else(|| Error("there is no plain attention".to_owned()))?;
    let base = bases::find("small-attention").ok_or_else(|| Error("nor its document".to_owned()))?;
    let plants: [fn(View<'_>) -> Vec<Planted>; 6] =
        [order::slots, order::barriers, bounds::bounds, memory::residency, memory::storage, users::states];
    for planted in plants.into_iter().filter_map(|plant| plant(View(base)).into_iter().next()) {
        let rule = planted.rule;
        let mut edit = vec![add("/data", data(scene))];
        edit.extend(planted.edit);
        let expect = json!({"verdict": "reject", "rules": [rule], "at": planted.at});
        let id = format!("{}/rejected-{}", sink.family(), words(rule));
        let (file, twin) = (path(&base.name), format!("mcir/measure/{}", base.name));
        let document = Document::Edited(&file, &edit);
        let clauses = cited(&[rule, "MCI-17"])?;
        sink.push_as("compute", id, &planted.name, PROFILE, &clauses, &document, expect, Some(twin))?;
    }
    Ok(())
}
