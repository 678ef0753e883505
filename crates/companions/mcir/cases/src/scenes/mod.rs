//! What is run with which numbers, and what comes out as far as it is known without running anything.

mod attention;
mod corners;
mod functions;
mod long;
mod products;

use std::collections::BTreeMap;

use megakernel_ir::prng::SplitMix64;
use megakernel_numerics::{decode, encode};
use serde_json::Value;

use crate::bases;
use crate::definition::{Array, dtype, shape};
use crate::plant::list;

/// A document with numbers.
#[derive(Clone, Debug)]
pub struct Scene {
    pub name: String,
    pub summary: String,
    pub document: Value,
    /// The file of the document, if it has one.
    pub base: Option<String>,
    pub clauses: Vec<&'static str>,
    /// The inputs by name: elements in row-major order.
    pub inputs: BTreeMap<String, Vec<f64>>,
    /// Outputs by name, where they are known.
    pub known: BTreeMap<String, Vec<Option<f64>>>,
    /// Whether they come out so to the bit.
    pub is_exact: bool,
}

impl Scene {
    /// A document of the bases, with inputs from its shapes.
    fn of(base: &str, what: &str, summary: &str, inputs: &mut dyn FnMut(&str, &[i64]) -> Vec<f64>) -> Scene {
        let found = bases::find(base);
        let document = found.map(|base| base.document.clone()).unwrap_or_default();
        let mut scene = Scene {
            name: format!("{}-{what}", base.trim_start_matches("small-")),
            summary: format!("{}; {summary}", found.map_or("", |base| base.summary.as_str())),
            document,
            base: Some(base.to_owned()),
            clauses: Vec::new(),
            inputs: BTreeMap::new(),
            known: BTreeMap::new(),
            is_exact: true,
        };
        for name in list(&scene.document["inputs"]).iter().filter_map(Value::as_str) {
            let value = &scene.document["values"][name];
            let dtype = dtype(value);
            let cast = |number: f64| decode(dtype, encode(dtype, number));
            let numbers = inputs(name, &shape(value)).into_iter().map(cast).collect();
            scene.inputs.insert(name.to_owned(), numbers);
        }
        scene
    }

    /// The clauses that it shows, beside those about computing.
    fn citing(mut self, clauses: &[&'static str]) -> Scene {
        self.clauses = clauses.to_vec();
        self
    }

    /// The inputs as arrays.
    pub fn arrays(&self) -> BTreeMap<String, Array> {
        let array = |(name, numbers): (&String, &Vec<f64>)| {
            let shape = shape(&self.document["values"][name.as_str()]);
            (name.clone(), Array::given(shape, numbers.iter().copied()))
        };
        self.inputs.iter().map(array).collect()
    }
}

/// How many elements.
pub fn count(shape: &[i64]) -> usize {
    usize::try_from(shape.iter().product::<i64>()).unwrap_or(0)
}

/// Numbers between -1 and 1 with all their bits.
pub fn random(draws: &mut SplitMix64, count: usize) -> Vec<f64> {
    (0..count).map(|_| draws.below(1 << 40) as f64 / (1_u64 << 39) as f64 - 1.0).collect()
}

/// Small integers.
fn integers(draws: &mut SplitMix64, count: usize) -> Vec<f64> {
    (0..count).map(|_| draws.below(9) as f64 - 4.0).collect()
}

/// All scenes.
pub fn all() -> Vec<Scene> {
    let mut all = attention::all();
    all.extend(products::all());
    all.extend(functions::all());
    all.extend(corners::all());
    all.extend(long::all());
    all
}
