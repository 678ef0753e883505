//! From JSON values to records: rules S03, S04 and S05. The text itself, S01 and S02, is judged before.

use std::collections::HashMap;

use megakernel_ir::Rule;
pub use megakernel_ir::decode::Fault;
use megakernel_ir::decode::{Decode, Intern, Place};
use serde_json::Value as Json;

use crate::document::{
    Along, Binary, Body, Boundary, Document, Dtype, Fold, Function, Index, Init, Lifetime, Mask, Memory,
    Node, Op, Region, Residency, State, Stream, Target, Term, Terms, Tile, Unary, Update, Value,
};

/// Reads a document.
///
/// # Errors
/// Faults of the rules S03 to S05; never none.
pub fn read(value: &Json) -> Result<Document, Vec<Fault>> {
    decoded(|decoder| decoder.document(&Place::root(value)))
}

/// What is read, if nothing is wrong with it.
pub fn decoded<T>(read: impl FnOnce(&mut Decoder) -> Option<T>) -> Result<T, Vec<Fault>> {
    let mut decoder = Decoder::default();
    let read = read(&mut decoder);
    match read {
        Some(read) if decoder.faults.is_empty() => Ok(read),
        _ => Err(decoder.faults),
    }
}

/// Reads documents and graphs.
#[derive(Default)]
pub struct Decoder {
    faults: Vec<Fault>,
    names: HashMap<String, u32>,
}

impl Decode for Decoder {
    fn fault(&mut self, rule: Rule, at: &Place<'_>, message: String) {
        self.faults.push(Fault::new(rule, at.pointer(), message));
    }
}

impl Intern for Decoder {
    fn met(&mut self) -> &mut HashMap<String, u32> {
        &mut self.names
    }
}

/// The kinds of nodes, of which the members depend.
const OPS: &[&str] = &["LoadTile", "StoreTile", "Compute", "Reduce", "UpdateState", "Prefetch", "Barrier"];

/// The functions of a `Compute`, by name.
#[derive(Clone, Copy)]
pub(crate) enum Named {
    Matmul(bool),
    Transpose,
    Unary(Unary),
    Scale,
    Binary(Binary),
    Mask,
}

impl Named {
    fn name(self) -> &'static str {
        match self {
            Named::Matmul(false) => "matmul_nn",
            Named::Matmul(true) => "matmul_nt",
            Named::Transpose => "transpose",
            Named::Unary(unary) => unary.name(),
            Named::Scale => "scale",
            Named::Binary(binary) => binary.name(),
            Named::Mask => "mask",
        }
    }

    /// The function of a name.
    pub(crate) fn of(name: &str) -> Option<Named> {
        let unary = || Unary::ALL.iter().find(|unary| unary.name() == name).copied().map(Named::Unary);
        let binary = || Binary::ALL.iter().find(|binary| binary.name() == name).copied().map(Named::Binary);
        match name {
            "matmul_nn" => Some(Named::Matmul(false)),
            "matmul_nt" => Some(Named::Matmul(true)),
            "transpose" => Some(Named::Transpose),
            "scale" => Some(Named::Scale),
            "mask" => Some(Named::Mask),
            _ => unary().or_else(binary),
        }
    }

    fn all() -> Vec<Named> {
        let mut all = vec![Named::Matmul(false), Named::Matmul(true), Named::Transpose];
        all.extend(Unary::ALL.iter().map(|&unary| Named::Unary(unary)));
        all.push(Named::Scale);
        all.extend(Binary::ALL.iter().map(|&binary| Named::Binary(binary)));
        all.push(Named::Mask);
        all
    }
}

impl Decoder {
    pub fn names(&mut self, at: &Place<'_>) -> Option<Vec<u32>> {
        self.array(at, Decoder::name)
    }

    /// The names that were met, by their numbers.
    pub fn met_names(&mut self) -> Vec<String> {
        let mut names = vec![String::new(); self.names.len()];
        for (name, id) in self.names.drain() {
            if let Some(place) = names.get_mut(id as usize) {
                *place = name;
            }
        }
        names
    }

    pub(crate) fn document(&mut self, at: &Place<'_>) -> Option<Document> {
        self.object(at)?;
        let values = self.required(at, "values", |decoder, at| Some(decoder.map(at, Decoder::value)));
        let inputs = self.required(at, "inputs", Decoder::names);
        let outputs = self.required(at, "outputs", Decoder::names);
        let regions = self.required(at, "regions", |decoder, at| decoder.array(at, Decoder::region));
        let boundaries = self.list(at, "boundaries", Decoder::boundary);
        let residency = self.list(at, "residency", Decoder::residency);
        let target = self.optional(at, "target", Decoder::target).unwrap_or_default();
        Some(Document {
            names: self.met_names(),
            values: values?,
            inputs: inputs?,
            outputs: outputs?,
            regions: regions?,
            boundaries,
            residency,
            target,
        })
    }

    fn value(&mut self, name: u32, at: &Place<'_>) -> Option<Value> {
        self.object(at)?;
        let shape = self.required(at, "shape", |decoder, at| decoder.array(at, Decoder::integer));
        let dtype =
            self.required(at, "dtype", |decoder, at| decoder.named(at, "dtype", Dtype::ALL, Dtype::name));
        let memory = self.required(at, "residency", |decoder, at| {
            decoder.named(at, "residency", Memory::ALL, Memory::name)
        });
        let buffers = self.optional(at, "buffers", Decoder::integer).unwrap_or(1);
        Some(Value { name, shape: shape?.into(), dtype: dtype?, memory: memory?, buffers })
    }

    fn boundary(&mut self, at: &Place<'_>) -> Option<Boundary> {
        self.object(at)?;
        let value = self.required(at, "value", Decoder::name);
        self.optional(at, "location", |decoder, at| {
            decoder.named(at, "location", &[Memory::Global], Memory::name)
        });
        Some(Boundary { value: value? })
    }

    fn residency(&mut self, at: &Place<'_>) -> Option<Residency> {
        self.object(at)?;
        let memory = self.required(at, "memory", |decoder, at| {
            decoder.named(at, "memory", &[Memory::Shared, Memory::Register], Memory::name)
        });
        let values = self.required(at, "values", Decoder::names);
        let lifetime = self.required(at, "lifetime", |decoder, at| {
            decoder.named(at, "lifetime", Lifetime::ALL, Lifetime::name)
        });
        Some(Residency { memory: memory?, values: values?, lifetime: lifetime? })
    }

    pub(crate) fn target(&mut self, at: &Place<'_>) -> Option<Target> {
        self.object(at)?;
        let shared = self.nullable(at, "shared_bytes", Decoder::integer);
        let register = self.nullable(at, "register_bytes", Decoder::integer);
        Some(Target { shared, register })
    }

    fn region(&mut self, at: &Place<'_>) -> Option<Region> {
        self.object(at)?;
        let id = self.required(at, "id", Decoder::name);
        let inputs = self.required(at, "inputs", Decoder::names);
        let outputs = self.required(at, "outputs", Decoder::names);
        let streaming = self.required(at, "streaming", Decoder::streaming);
        let (stream, state, tile) = streaming?;
        Some(Region { id: id?, inputs: inputs?.into(), outputs: outputs?.into(), stream, state, tile })
    }

    fn streaming(&mut self, at: &Place<'_>) -> Option<(Option<Stream>, Vec<State>, Tile)> {
        self.object(at)?;
        let stream = self.nullable(at, "stream", Decoder::stream);
        let state = self.list(at, "state", Decoder::state);
        let tile = self.required(at, "tile", Decoder::tile);
        Some((stream, state, tile?))
    }

    fn stream(&mut self, at: &Place<'_>) -> Option<Stream> {
        self.object(at)?;
        let axis = self.required(at, "axis", Decoder::name);
        let from = self.list(at, "from", Decoder::index);
        let to = self.required(at, "to", |decoder, at| decoder.array(at, Decoder::index));
        Some(Stream { axis: axis?, from: from.into(), to: to?.into() })
    }

    fn state(&mut self, at: &Place<'_>) -> Option<State> {
        self.object(at)?;
        let value = self.required(at, "value", Decoder::name);
        let init = self.required(at, "init", Decoder::initial);
        Some(State { value: value?, init: init? })
    }

    pub(crate) fn initial(&mut self, at: &Place<'_>) -> Option<Init> {
        if at.value.is_string() {
            let all = [Init::Least, Init::Most];
            let name = |init| if init == Init::Most { "inf" } else { "-inf" };
            return self.named(at, "initial value", &all, name);
        }
        self.integer(at).map(Init::Number)
    }

    fn tile(&mut self, at: &Place<'_>) -> Option<Tile> {
        self.object(at)?;
        let shape = self.required(at, "tile_shape", |decoder, at| Some(decoder.map(at, Decoder::of_axis)));
        let blocks = self.optional(at, "blocks", |decoder, at| Some(decoder.map(at, Decoder::of_axis)));
        let bodies =
            [Body::Begin, Body::Each, Body::End].map(|body| self.list(at, body.name(), Decoder::node));
        Some(Tile { shape: shape?.into(), blocks: blocks.unwrap_or_default().into(), bodies })
    }

    fn of_axis(&mut self, axis: u32, at: &Place<'_>) -> Option<(u32, i64)> {
        Some((axis, self.integer(at)?))
    }

    pub(crate) fn index(&mut self, at: &Place<'_>) -> Option<Index> {
        if at.value.is_array() {
            return Some(Index { terms: self.array(at, Decoder::term)?.into(), is_array: true });
        }
        Some(Index { terms: Terms::from_iter([self.single(at)?]), is_array: false })
    }

    fn single(&mut self, at: &Place<'_>) -> Option<Term> {
        if at.value.is_string() {
            return self.name(at).map(Term::Axis);
        }
        if at.value.is_number() {
            return self.integer(at).map(Term::Number);
        }
        self.wrong_type(at, "an integer, the name of an axis, or an array of terms");
        None
    }

    fn term(&mut self, at: &Place<'_>) -> Option<Term> {
        let Some(elements) = at.value.as_array() else { return self.single(at) };
        let [factor, axis] = elements.as_slice() else {
            self.wrong_type(at, "[coefficient, axis]");
            return None;
        };
        let (factor, axis) = (self.integer(&at.element(0, factor)), self.name(&at.element(1, axis)));
        Some(Term::Scaled(factor?, axis?))
    }

    fn node(&mut self, at: &Place<'_>) -> Option<Node> {
        self.object(at)?;
        let id = self.required(at, "id", Decoder::name);
        let ins = self.list(at, "in", Decoder::name);
        let outs = self.list(at, "out", Decoder::name);
        let op = self.required(at, "op", |decoder, at| decoder.named(at, "op", OPS, |name| name));
        let op = match op? {
            "LoadTile" => Op::LoadTile(self.at(at)?),
            "StoreTile" => Op::StoreTile(self.at(at)?),
            "Prefetch" => {
                let indices = self.at(at);
                let version = self.required(at, "version", Decoder::integer);
                Op::Prefetch(indices?, version?)
            }
            "Barrier" => {
                let wait = |decoder: &mut Decoder, at: &Place<'_>| decoder.array(at, Decoder::wait);
                Op::Barrier(self.required(at, "wait", wait)?.into())
            }
            "Compute" => Op::Compute(self.function(at)?),
            "Reduce" => {
                let (fold, axis) = self.fold(at)?;
                Op::Reduce(fold, axis)
            }
            _ => Op::UpdateState(self.update(at)?),
        };
        Some(Node { id: id?, op, ins: ins.into(), outs: outs.into() })
    }

    pub(crate) fn fold(&mut self, at: &Place<'_>) -> Option<(Fold, i64)> {
        let fold =
            self.required(at, "fn", |decoder, at| decoder.named(at, "reduction", Fold::ALL, Fold::name));
        let axis = self.required(at, "axis", Decoder::integer);
        Some((fold?, axis?))
    }

    pub(crate) fn update(&mut self, at: &Place<'_>) -> Option<Update> {
        self.required(at, "fn", |decoder, at| {
            decoder.named(at, "update of a state", Update::ALL, Update::name)
        })
    }

    pub(crate) fn at(&mut self, at: &Place<'_>) -> Option<Vec<Index>> {
        self.required(at, "at", |decoder, at| decoder.array(at, Decoder::index))
    }

    fn wait(&mut self, at: &Place<'_>) -> Option<(u32, i64)> {
        let Some([value, version]) = at.value.as_array().map(Vec::as_slice) else {
            self.wrong_type(at, "[value, version]");
            return None;
        };
        let (value, version) = (self.name(&at.element(0, value)), self.integer(&at.element(1, version)));
        Some((value?, version?))
    }

    pub(crate) fn function(&mut self, at: &Place<'_>) -> Option<Function> {
        let named = self.required(at, "fn", |decoder, at| {
            decoder.named(at, "function of a `Compute`", &Named::all(), Named::name)
        });
        Some(match named? {
            Named::Matmul(transposed) => Function::Matmul(transposed),
            Named::Transpose => Function::Transpose,
            Named::Unary(unary) => Function::Unary(unary),
            Named::Scale => {
                let [p, q] = self.required(at, "by", Decoder::fraction)?;
                Function::Scale(p, q)
            }
            Named::Binary(binary) => {
                let along = self.optional(at, "along", |decoder, at| {
                    decoder.named(at, "direction", Along::ALL, Along::name)
                });
                Function::Binary(binary, along)
            }
            Named::Mask => {
                let rows = self.required(at, "rows", Decoder::index);
                let columns = self.required(at, "columns", Decoder::index);
                let window = self.nullable(at, "window", Decoder::integer);
                Function::Mask(Box::new(Mask { rows: rows?, columns: columns?, window }))
            }
        })
    }

    pub fn fraction(&mut self, at: &Place<'_>) -> Option<[i64; 2]> {
        let Some([p, q]) = at.value.as_array().map(Vec::as_slice) else {
            self.wrong_type(at, "[p, q]");
            return None;
        };
        let (p, q) = (self.integer(&at.element(0, p)), self.integer(&at.element(1, q)));
        Some([p?, q?])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_wrong_member_is_found_at_its_place() {
        let document = json!({
            "values": {"a/b": {"shape": [1.5], "dtype": "F64"}},
            "inputs": [], "outputs": [3], "target": {"shared_bytes": "all"},
            "regions": [{"id": "r", "inputs": [], "outputs": [], "streaming": {
                "stream": {"axis": "j", "to": [[[1]]]}, "state": [{"value": "s", "init": "nan"}],
                "tile": {"tile_shape": {"j": "1"}, "each": [
                    {"id": "a", "op": "Load"}, {"id": "b", "op": "Prefetch", "at": [true]},
                    {"id": "c", "op": "Compute", "fn": "scale", "by": [1]}]}}}]});
        let faults = read(&document).expect_err("faults");
        let found: Vec<_> = faults.iter().map(|fault| (fault.rule.id(), fault.pointer.as_str())).collect();
        let tile = "/regions/0/streaming/tile";
        let expected = [
            ("S04", "/values/a~1b/shape/0".to_owned()),
            ("S05", "/values/a~1b/dtype".to_owned()),
            ("S03", "/values/a~1b".to_owned()),
            ("S04", "/outputs/0".to_owned()),
            ("S04", "/regions/0/streaming/stream/to/0/0".to_owned()),
            ("S05", "/regions/0/streaming/state/0/init".to_owned()),
            ("S04", format!("{tile}/tile_shape/j")),
            ("S05", format!("{tile}/each/0/op")),
            ("S04", format!("{tile}/each/1/at/0")),
            ("S03", format!("{tile}/each/1")),
            ("S04", format!("{tile}/each/2/by")),
            ("S04", "/target/shared_bytes".to_owned()),
        ];
        let expected: Vec<_> = expected.iter().map(|(rule, at)| (*rule, at.as_str())).collect();
        assert_eq!(found, expected);
    }
}
