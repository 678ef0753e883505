//! What a document computes, with bounds: the clauses MCI-07 to MCI-10, MCI-16 and MCI-17 as their sentences say it, on the text of a document
//! and with no thought for speed. Cases expect what this says, and what is known by construction beside it.

mod functions;
mod real;

use std::collections::{BTreeMap, HashMap};

use megakernel_ir::DType;
use serde_json::Value;

pub use real::Real;

use crate::plant::{list, number};

/// An array of numbers: extents, and the elements in row-major order.
#[derive(Clone, Debug)]
pub struct Array {
    pub shape: Vec<i64>,
    /// What was computed, before the cast.
    pub computed: Vec<Real>,
    /// What it holds.
    pub held: Vec<Real>,
}

impl Array {
    /// What is there before.
    pub fn given(shape: Vec<i64>, numbers: impl IntoIterator<Item = f64>) -> Array {
        let held: Vec<Real> = numbers.into_iter().map(Real::exact).collect();
        Array { shape, computed: held.clone(), held }
    }

    /// Casts what was computed.
    fn cast(shape: Vec<i64>, computed: Vec<Real>, dtype: DType) -> Array {
        let held = computed.iter().map(|element| element.cast(dtype)).collect();
        Array { shape, computed, held }
    }
}

/// The dtype of a value.
pub fn dtype(value: &Value) -> DType {
    value["dtype"].as_str().and_then(DType::from_name).unwrap_or(DType::F32)
}

pub fn shape(value: &Value) -> Vec<i64> {
    list(&value["shape"]).iter().map(number).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

type Point<'d> = HashMap<&'d str, i64>;

/// The value of an index.
fn index(index: &Value, point: &Point<'_>) -> i64 {
    let axis = |name: &Value| point.get(text(name)).copied().unwrap_or(0);
    let term = |term: &Value| match term {
        Value::String(_) => axis(term),
        Value::Array(pair) => pair.first().map_or(0, number) * pair.get(1).map_or(0, axis),
        other => number(other),
    };
    index.as_array().map_or_else(|| term(index), |terms| terms.iter().map(term).sum())
}

/// What the tensors of a document hold in the end, from what its inputs hold. The document is accepted.
pub fn run(document: &Value, inputs: BTreeMap<String, Array>) -> BTreeMap<String, Array> {
    let mut tensors = inputs;
    for region in list(&document["regions"]) {
        let streaming = &region["streaming"];
        let tile = &streaming["tile"];
        let mut points = vec![Point::new()];
        for (axis, extent) in tile["blocks"].as_object().into_iter().flatten() {
            let step = usize::try_from(number(&tile["tile_shape"][axis.as_str()])).unwrap_or(1);
            let values = || (0..number(extent)).step_by(step);
            let all = points.iter().flat_map(|point| {
                values().map(|value| {
                    let mut point = point.clone();
                    point.insert(axis.as_str(), value);
                    point
                })
            });
            points = all.collect();
        }
        for point in points {
            Block { document, streaming, point, tiles: HashMap::new(), tensors: &mut tensors }.run();
        }
    }
    tensors
}

struct Block<'r, 'd> {
    document: &'d Value,
    streaming: &'d Value,
    point: Point<'d>,
    tiles: HashMap<&'d str, Array>,
    tensors: &'r mut BTreeMap<String, Array>,
}

impl<'d> Block<'_, 'd> {
    fn value(&self, name: &str) -> &'d Value {
        &self.document["values"][name]
    }

    fn body(&self, body: &str) -> &'d [Value] {
        list(&self.streaming["tile"][body])
    }

    fn run(mut self) {
        let stream = &self.streaming["stream"];
        let axis = text(&stream["axis"]);
        let bounds = |all: &Value, point: &Point<'_>| -> Vec<i64> {
            list(all).iter().map(|each| index(each, point)).collect()
        };
        let first = bounds(&stream["from"], &self.point).into_iter().max().unwrap_or(0);
        let last = bounds(&stream["to"], &self.point).into_iter().min().unwrap_or(0);
        let step = number(&self.streaming["tile"]["tile_shape"][axis]).max(1);
        self.states(axis, first);
        self.nodes("begin");
        if stream.is_null() {
            self.nodes("each");
        } else {
            let mut value = first;
            while value < last {
                self.point.insert(axis, value);
                self.prefetched();
                self.nodes("each");
                value += step;
            }
            self.point.remove(axis);
        }
        self.nodes("end");
    }

    /// Fills the states. Their extents are those of an iteration, whichever.
    fn states(&mut self, axis: &'d str, first: i64) {
        let states = list(&self.streaming["state"]);
        if states.is_empty() {
            return;
        }
        let mut shapes: HashMap<&str, Vec<i64>> = HashMap::new();
        self.point.insert(axis, first);
        let prefetches = self.body("each").iter().filter(|node| node["op"] == "Prefetch");
        for node in prefetches.chain(self.body("begin")).chain(self.body("each")) {
            let ins: Vec<Vec<i64>> = list(&node["in"])
                .iter()
                .map(|name| shapes.get(text(name)).cloned().unwrap_or_default())
                .collect();
            let made = match text(&node["op"]) {
                "LoadTile" | "Prefetch" => {
                    vec![self.part(node, text(&node["in"][0]), text(&node["out"][0])).0]
                }
                "StoreTile" | "Barrier" => Vec::new(),
                _ => functions::shapes(node, &ins),
            };
            for (name, shape) in list(&node["out"]).iter().zip(made) {
                shapes.insert(text(name), shape);
            }
        }
        self.point.remove(axis);
        for state in states {
            let name = text(&state["value"]);
            let number = match &state["init"] {
                Value::String(sign) if sign == "-inf" => f64::NEG_INFINITY,
                Value::String(_) => f64::INFINITY,
                other => other.as_f64().unwrap_or(0.0),
            };
            let shape = shapes.get(name).cloned().unwrap_or_default();
            let count = usize::try_from(shape.iter().product::<i64>()).unwrap_or(0);
            let tile = Array::cast(shape, vec![Real::exact(number); count], dtype(self.value(name)));
            self.tiles.insert(name, tile);
        }
    }

    /// A node of `each` reads the version of this iteration, whenever it landed.
    fn prefetched(&mut self) {
        for node in self.body("each").iter().filter(|node| node["op"] == "Prefetch") {
            self.load(node);
        }
    }

    fn nodes(&mut self, body: &str) {
        for node in self.body(body) {
            match text(&node["op"]) {
                "LoadTile" => self.load(node),
                "StoreTile" => self.store(node),
                "Prefetch" | "Barrier" => {}
                _ => self.compute(node),
            }
        }
    }

    /// The extents of a tile here, and the places of its elements in the tensor (MCI-05, MCI-09).
    fn part(&self, node: &Value, tensor: &str, tile: &str) -> (Vec<i64>, Vec<usize>) {
        let (sizes, extents) = (shape(self.value(tile)), shape(self.value(tensor)));
        let at: Vec<i64> = list(&node["at"]).iter().map(|each| index(each, &self.point)).collect();
        let lacking = extents.len() - sizes.len();
        let clipped = sizes.iter().zip(&extents[lacking..]).zip(&at[lacking..]);
        let here: Vec<i64> = clipped.map(|((&size, &extent), &at)| size.min(extent - at).max(0)).collect();
        let count: i64 = here.iter().product();
        let place = |element: i64| {
            let (mut rest, mut place, mut stride) = (element, 0, 1);
            for axis in (0..extents.len()).rev() {
                let along = match axis.checked_sub(lacking) {
                    Some(own) => {
                        let along = rest % here[own];
                        rest /= here[own];
                        along
                    }
                    None => 0,
                };
                place += (at[axis] + along) * stride;
                stride *= extents[axis];
            }
            usize::try_from(place).unwrap_or(usize::MAX)
        };
        let places = (0..count).map(place).collect();
        (here, places)
    }

    fn load(&mut self, node: &'d Value) {
        let (tensor, tile) = (text(&node["in"][0]), text(&node["out"][0]));
        let (shape, places) = self.part(node, tensor, tile);
        let Some(from) = self.tensors.get(tensor) else { return };
        let held: Vec<Real> = places.into_iter().map(|place| from.held[place]).collect();
        self.tiles.insert(tile, Array { shape, computed: held.clone(), held });
    }

    fn store(&mut self, node: &'d Value) {
        let (tile, tensor) = (text(&node["in"][0]), text(&node["out"][0]));
        let (_, places) = self.part(node, tensor, tile);
        let extents = shape(self.value(tensor));
        let Some(from) = self.tiles.get(tile) else { return };
        let count = usize::try_from(extents.iter().product::<i64>()).unwrap_or(0);
        let empty = || Array::given(extents, vec![f64::NAN; count]);
        let to = self.tensors.entry(tensor.to_owned()).or_insert_with(empty);
        for (element, place) in places.into_iter().enumerate() {
            to.computed[place] = from.computed[element];
            to.held[place] = from.held[element];
        }
    }

    fn compute(&mut self, node: &'d Value) {
        let ins: Vec<&Array> =
            list(&node["in"]).iter().filter_map(|name| self.tiles.get(text(name))).collect();
        let dtypes: Vec<DType> =
            list(&node["out"]).iter().map(|name| dtype(self.value(text(name)))).collect();
        let made = functions::made(node, &ins, &dtypes, &|each| index(each, &self.point));
        for ((name, dtype), (shape, computed)) in list(&node["out"]).iter().zip(dtypes).zip(made) {
            self.tiles.insert(text(name), Array::cast(shape, computed, dtype));
        }
    }
}
