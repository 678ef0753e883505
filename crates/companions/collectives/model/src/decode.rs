//! From JSON values to records: rules S03, S04 and S05. The text itself, S01 and S02, is judged before.

use std::collections::HashMap;

use megakernel_ir::Rule;
pub use megakernel_ir::decode::Fault;
use megakernel_ir::decode::{Decode, Place};
use serde_json::Value;

use crate::document::{
    Affine, Algorithm, Bits, Collective, CollectiveKind, Document, Dtype, Edge, Handle, LaunchRequest, Log,
    Module, ModuleDescription, Number, Op, Over, Topology, TopologyKind, Variable,
};

/// Reads any document that `validate` takes: which of them, its members tell.
///
/// # Errors
/// Faults of the rules S03 to S05; never none.
pub fn read(value: &Value) -> Result<Document, Vec<Fault>> {
    if value.get("module").is_some() {
        return decoded(|decoder| decoder.description(&Place::root(value)).map(Document::Module));
    }
    read_algorithm(value).map(Document::Algorithm)
}

/// Reads an algorithm.
///
/// # Errors
/// Faults of the rules S03 to S05; never none.
pub fn read_algorithm(value: &Value) -> Result<Algorithm, Vec<Fault>> {
    decoded(|decoder| decoder.algorithm(&Place::root(value)))
}

/// Reads a launch request.
///
/// # Errors
/// Faults of the rules S03 to S05; never none.
pub fn read_launch(value: &Value) -> Result<LaunchRequest, Vec<Fault>> {
    decoded(|decoder| decoder.launch(&Place::root(value)))
}

fn decoded<T>(read: impl FnOnce(&mut Decoder) -> Option<T>) -> Result<T, Vec<Fault>> {
    let mut decoder = Decoder::default();
    match read(&mut decoder) {
        Some(read) if decoder.faults.is_empty() => Ok(read),
        _ => Err(decoder.faults),
    }
}

#[derive(Default)]
struct Decoder {
    faults: Vec<Fault>,
    /// Of the log that is read.
    handles: HashMap<String, Handle>,
    /// The variables of the loops around, outermost first.
    loops: Vec<String>,
}

impl Decode for Decoder {
    fn fault(&mut self, rule: Rule, at: &Place<'_>, message: String) {
        self.faults.push(Fault::new(rule, at.pointer(), message));
    }
}

impl Decoder {
    fn algorithm(&mut self, at: &Place<'_>) -> Option<Algorithm> {
        self.object(at)?;
        let topology = self.required(at, "topology", Decoder::topology);
        let n_elem = self.required(at, "n_elem", Decoder::integer);
        let scratch = self.optional(at, "scratch", Decoder::integer).unwrap_or(0);
        let collective = self.required(at, "collective", Decoder::collective);
        let logs = self.required(at, "logs", |decoder, at| decoder.array(at, Decoder::log));
        let tiles = self.optional(at, "tiles", |decoder, at| {
            decoder.array(at, |decoder, at| decoder.array(at, Decoder::integer))
        });
        Some(Algorithm {
            topology: topology?,
            n_elem: n_elem?,
            scratch,
            collective: collective?,
            logs: logs?,
            tiles,
        })
    }

    fn launch(&mut self, at: &Place<'_>) -> Option<LaunchRequest> {
        self.object(at)?;
        let topology = self.required(at, "topology", Decoder::topology);
        let n_elem = self.required(at, "n_elem", Decoder::integer);
        let collective = self.required(at, "collective", Decoder::collective);
        let element = self.optional(at, "element", Decoder::integer).unwrap_or(0);
        Some(LaunchRequest { topology: topology?, n_elem: n_elem?, collective: collective?, element })
    }

    fn topology(&mut self, at: &Place<'_>) -> Option<Topology> {
        self.object(at)?;
        let kind = self.required(at, "kind", |decoder, at| {
            decoder.named(at, TopologyKind::WHAT, TopologyKind::ALL, TopologyKind::name)
        });
        let ranks = self.required(at, "ranks", Decoder::integer);
        let grid = matches!(kind, Some(TopologyKind::Torus | TopologyKind::Mesh));
        let [w, h] = ["w", "h"].map(|name| {
            if grid {
                self.required(at, name, Decoder::integer)
            } else {
                self.optional(at, name, Decoder::integer)
            }
        });
        let [cube_w, cube_h, capacity] = ["cube_w", "cube_h", "capacity"]
            .map(|name| self.optional(at, name, Decoder::integer).unwrap_or(4));
        let link_cube = self.optional(at, "link_cube", Decoder::integer);
        let slot_bytes = self.nullable(at, "slot_bytes", Decoder::integer);
        let edges = self.optional(at, "edges", |decoder, at| decoder.array(at, Decoder::edge));
        Some(Topology {
            kind: kind?,
            ranks: ranks?,
            w,
            h,
            cube_w,
            cube_h,
            link_cube,
            capacity,
            slot_bytes,
            edges: edges.unwrap_or_default(),
        })
    }

    fn edge(&mut self, at: &Place<'_>) -> Option<Edge> {
        self.object(at)?;
        let [from, to] = ["from", "to"].map(|name| self.required(at, name, Decoder::integer));
        let [out, into] = ["out", "in"].map(|name| self.required(at, name, Decoder::text));
        let capacity = self.optional(at, "capacity", Decoder::integer);
        Some(Edge { from: from?, out: out?, to: to?, into: into?, capacity })
    }

    fn collective(&mut self, at: &Place<'_>) -> Option<Collective> {
        self.object(at)?;
        let kind = self.required(at, "kind", |decoder, at| {
            decoder.named(at, CollectiveKind::WHAT, CollectiveKind::ALL, CollectiveKind::name)
        });
        let over =
            self.optional(at, "over", |decoder, at| decoder.named(at, Over::WHAT, Over::ALL, Over::name));
        let root = self.optional(at, "root", Decoder::integer);
        let bits =
            self.optional(at, "bits", |decoder, at| decoder.named(at, Bits::WHAT, Bits::ALL, Bits::name));
        Some(Collective {
            kind: kind?,
            over: over.unwrap_or(Over::Elements),
            root: root.unwrap_or(0),
            bits: bits.unwrap_or(Bits::Identical),
        })
    }

    fn log(&mut self, at: &Place<'_>) -> Option<Log> {
        self.object(at)?;
        self.handles.clear();
        let elements = self.required(at, "elements", |decoder, at| decoder.array(at, Decoder::elements));
        let ops = self.required(at, "ops", |decoder, at| decoder.array(at, Decoder::op));
        let mut handles = vec![String::new(); self.handles.len()];
        for (name, handle) in self.handles.drain() {
            if let Some(named) = handles.get_mut(handle) {
                *named = name;
            }
        }
        Some(Log { elements: elements?, ops: ops?, handles })
    }

    fn elements(&mut self, at: &Place<'_>) -> Option<[i64; 3]> {
        let found = self.array(at, Decoder::integer)?;
        let found = found.try_into().ok();
        if found.is_none() && at.value.as_array().is_some_and(|array| array.len() != 3) {
            self.wrong_type(at, "three integers: first, last, step");
        }
        found
    }

    fn handle(&mut self, at: &Place<'_>) -> Option<Handle> {
        let name = self.text(at)?;
        let next = self.handles.len();
        Some(*self.handles.entry(name).or_insert(next))
    }

    fn dtype(&mut self, at: &Place<'_>) -> Option<Dtype> {
        self.named(at, Dtype::WHAT, Dtype::ALL, Dtype::name)
    }

    fn op(&mut self, at: &Place<'_>) -> Option<Op> {
        if self.object(at)?.contains_key("for") {
            return self.repeated(at);
        }
        let op = self.required(at, "op", Decoder::text)?;
        let handle = Decoder::handle;
        Some(match op.as_str() {
            "load" => {
                let to = self.required(at, "to", handle);
                let [from, n] = ["at", "n"].map(|name| self.required(at, name, Decoder::number));
                Op::Load { to: to?, at: from?, n: n? }
            }
            "store" => {
                let of = self.required(at, "of", handle);
                Op::Store { at: self.required(at, "at", Decoder::number)?, of: of? }
            }
            "send" => {
                let of = self.required(at, "of", handle);
                Op::Send { dir: self.required(at, "dir", Decoder::text)?, of: of? }
            }
            "recv" => {
                let to = self.required(at, "to", handle);
                let dir = self.required(at, "dir", Decoder::text);
                let n = self.required(at, "n", Decoder::number);
                let dtype = self.optional(at, "dtype", Decoder::dtype).unwrap_or(Dtype::F16);
                Op::Recv { to: to?, dir: dir?, n: n?, dtype }
            }
            "add" => {
                let [to, a, b] = ["to", "a", "b"].map(|name| self.required(at, name, handle));
                Op::Add { to: to?, a: a?, b: b? }
            }
            "cast" => {
                let [to, of] = ["to", "of"].map(|name| self.required(at, name, handle));
                Op::Cast { dtype: self.required(at, "dtype", Decoder::dtype)?, to: to?, of: of? }
            }
            _ => Op::Other(op),
        })
    }

    fn repeated(&mut self, at: &Place<'_>) -> Option<Op> {
        let variable = self.required(at, "for", Decoder::text);
        let count = self.required(at, "count", Decoder::number);
        self.loops.push(variable.unwrap_or_default());
        let ops = self.required(at, "ops", |decoder, at| decoder.array(at, Decoder::op));
        self.loops.pop();
        Some(Op::For { count: count?, ops: ops? })
    }

    fn number(&mut self, at: &Place<'_>) -> Option<Number> {
        if !at.value.is_object() {
            return self.integer(at).map(Number::Plain);
        }
        let of = self.optional(at, "of", |decoder, at| {
            let mut of = Vec::new();
            for (name, value) in decoder.object(at)? {
                let place = at.member(name, value);
                let factor = decoder.integer(&place);
                let depth = decoder.loops.iter().rposition(|variable| variable == name);
                let variable = match (depth, name.as_str()) {
                    (Some(depth), _) => Variable::Loop(depth),
                    (None, "rank") => Variable::Rank,
                    (None, "cube") => Variable::Cube,
                    (None, _) => {
                        let known = decoder.loops.join(", ");
                        let message = format!("`{name}` is no variable; known are rank, cube {known}");
                        decoder.fault(Rule::S05, &place, message);
                        continue;
                    }
                };
                of.extend(factor.map(|factor| (variable, factor)));
            }
            Some(of)
        });
        let [add, times, plus] =
            [("add", 0), ("times", 1), ("plus", 0)].map(|(name, default)| match at.value.get(name) {
                Some(_) => self.optional(at, name, Decoder::integer),
                None => Some(default),
            });
        let modulus = self.optional(at, "mod", Decoder::integer);
        Some(Number::Affine(Box::new(Affine {
            of: of.unwrap_or_default(),
            add: add?,
            modulus,
            times: times?,
            plus: plus?,
        })))
    }

    fn description(&mut self, at: &Place<'_>) -> Option<ModuleDescription> {
        let module = self.required(at, "module", Decoder::module);
        let topology = self.required(at, "topology", Decoder::topology);
        let world_size = self.nullable(at, "world_size", Decoder::integer);
        Some(ModuleDescription { module: module?, topology: topology?, world_size })
    }

    fn module(&mut self, at: &Place<'_>) -> Option<Module> {
        let stated = self.object(at)?.contains_key("kinds");
        let symbols = self.required(at, "symbols", |decoder, at| decoder.array(at, Decoder::text));
        let positional = self.required(at, "positional", Decoder::integer);
        let required = self.optional(at, "required", Decoder::integer);
        let variadic = self.optional(at, "variadic", Decoder::boolean).unwrap_or(false);
        let tl = self.required(at, "tl", Decoder::boolean);
        let arguments = self.required(at, "arguments", Decoder::integer);
        let kinds = self.nullable(at, "kinds", |decoder, at| {
            let mut kinds = Vec::new();
            for (name, value) in decoder.object(at)? {
                let kind = decoder.integer(&at.member(name, value));
                kinds.extend(kind.map(|kind| (name.clone(), kind)));
            }
            Some(kinds)
        });
        Some(Module {
            symbols: symbols?,
            positional: positional?,
            required,
            variadic,
            tl: tl?,
            arguments: arguments?,
            kinds,
            kinds_stated: stated,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_wrong_member_is_found_at_its_place() {
        let document = json!({
            "topology": {"kind": "torus_2d", "ranks": 2.5, "w": 1},
            "n_elem": 1, "collective": {"kind": "gather"},
            "logs": [{"elements": [[0, 1]], "ops": [
                {"op": "load", "to": 1, "at": 0},
                {"for": "s", "count": 2, "ops": [{"op": "load", "to": "a", "at": {"of": {"s": 1, "t": 1}}, "n": 1}]},
                {"op": "dance"}]}]});
        let found = read(&document).expect_err("faults");
        let found: Vec<_> = found.iter().map(|fault| (fault.rule.id(), fault.pointer.as_str())).collect();
        let expected = [
            ("S04", "/topology/ranks"),
            ("S03", "/topology"),
            ("S05", "/collective/kind"),
            ("S04", "/logs/0/elements/0"),
            ("S04", "/logs/0/ops/0/to"),
            ("S03", "/logs/0/ops/0"),
            ("S05", "/logs/0/ops/1/ops/0/at/of/t"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn variables_are_those_of_the_innermost_loop_of_their_name() {
        let inner = json!({"op": "store", "of": "a", "at": {"of": {"s": 3, "rank": -1}, "mod": 5}});
        let document = json!({
            "topology": {"kind": "ring_1d", "ranks": 1}, "n_elem": 1, "collective": {"kind": "broadcast"},
            "logs": [{"elements": [[0, 0, 1]], "ops": [
                {"for": "s", "count": 1, "ops": [{"for": "s", "count": 1, "ops": [inner]}]}]}]});
        let algorithm = read_algorithm(&document).expect("an algorithm");
        let Op::For { ops, .. } = &algorithm.logs[0].ops[0] else { unreachable!() };
        let Op::For { ops, .. } = &ops[0] else { unreachable!() };
        let Op::Store { at: Number::Affine(at), .. } = &ops[0] else { unreachable!() };
        // The members of an object have no order of their own.
        assert_eq!(at.of.len(), 2);
        assert!(
            at.of.contains(&(Variable::Rank, -1)) && at.of.contains(&(Variable::Loop(1), 3)),
            "{:?}",
            at.of
        );
        assert_eq!((at.modulus, at.times, at.plus), (Some(5), 1, 0));
    }
}
