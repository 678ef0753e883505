//! From JSON values to records: rules S03, S04 and S05. The text itself, S01 and S02, is judged before.

mod index;
mod sequence;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use megakernel_ir::Rule;
use megakernel_ir::decode::{Decode, Place, Read};
use serde_json::Value;

use crate::document::{
    Document, EPILOGUE, GivenPlan, GivenRegion, Index, Machine, Options, Request, Review, Rows, Sequence,
};
use crate::names::{Activation, Core, Dtype, Flag, Linearity, Marker, Reason, Trigger};

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rule.
    pub rule: Rule,
    /// JSON pointer.
    pub pointer: String,
    /// What was found, and what is required.
    pub message: String,
    /// Ops that show it.
    pub ops: Vec<usize>,
    /// Ids of kernels that show it.
    pub kernels: Vec<String>,
}

impl Fault {
    /// A broken rule and its place.
    pub fn new(rule: Rule, pointer: impl Into<String>, message: impl Into<String>) -> Fault {
        let (pointer, message) = (pointer.into(), message.into());
        Fault { rule, pointer, message, ops: Vec::new(), kernels: Vec::new() }
    }

    /// The same, shown by these ops and kernels.
    #[must_use]
    pub fn shown_by<'k>(
        mut self,
        ops: impl IntoIterator<Item = usize>,
        kernels: impl IntoIterator<Item = &'k str>,
    ) -> Fault {
        self.ops = ops.into_iter().collect();
        self.ops.sort_unstable();
        self.ops.dedup();
        self.kernels = kernels.into_iter().map(str::to_owned).collect();
        self
    }
}

/// Reads any document that `validate` takes: which of them, its members tell.
///
/// # Errors
/// Faults of the rules S03 to S05; never none.
pub fn read(value: &Value) -> Result<Document, Vec<Fault>> {
    let has = |name: &str| value.get(name).is_some();
    decoded(|decoder| {
        let at = Place::root(value);
        Some(if has("plan") {
            Document::Review(decoder.review(&at)?)
        } else if has("sequence") || has("index") {
            Document::Request(decoder.request(&at)?)
        } else if has("kernels") {
            Document::Index(decoder.index(&at)?)
        } else {
            Document::Sequence(decoder.sequence(&at)?)
        })
    })
}

/// Reads a request.
///
/// # Errors
/// Faults of the rules S03 to S05; never none.
pub fn read_request(value: &Value) -> Result<Request, Vec<Fault>> {
    decoded(|decoder| decoder.request(&Place::root(value)))
}

/// Reads a sequence.
///
/// # Errors
/// Faults of the rules S03 to S05; never none.
pub fn read_sequence(value: &Value) -> Result<Sequence, Vec<Fault>> {
    decoded(|decoder| decoder.sequence(&Place::root(value)))
}

/// Reads an index.
///
/// # Errors
/// Faults of the rules S03 to S05; never none.
pub fn read_index(value: &Value) -> Result<Index, Vec<Fault>> {
    decoded(|decoder| decoder.index(&Place::root(value)))
}

fn decoded<T>(read: impl FnOnce(&mut Decoder) -> Option<T>) -> Result<T, Vec<Fault>> {
    let mut decoder = Decoder::default();
    let read = read(&mut decoder);
    match read {
        Some(read) if decoder.faults.is_empty() => Ok(read),
        _ => Err(decoder.faults),
    }
}

#[derive(Default)]
struct Decoder {
    faults: Vec<Fault>,
    values: HashMap<String, u32>,
    rows: HashSet<Arc<Rows>>,
}

impl Decode for Decoder {
    fn fault(&mut self, rule: Rule, at: &Place<'_>, message: String) {
        self.faults.push(Fault::new(rule, at.pointer(), message));
    }
}

impl Decoder {
    /// A row: an object that may be absent.
    fn row<T: Default>(&mut self, at: &Place<'_>, name: &'static str, read: Read<Decoder, T>) -> T {
        self.optional(at, name, read).unwrap_or_default()
    }

    fn texts(&mut self, at: &Place<'_>) -> Option<Vec<String>> {
        self.array(at, Decoder::text)
    }

    fn core(&mut self, at: &Place<'_>) -> Option<Core> {
        self.named(at, Core::WHAT, Core::ALL, Core::name)
    }

    fn linearity(&mut self, at: &Place<'_>) -> Option<Linearity> {
        self.named(at, Linearity::WHAT, Linearity::ALL, Linearity::name)
    }

    fn dtype(&mut self, at: &Place<'_>) -> Option<Dtype> {
        self.named(at, Dtype::WHAT, Dtype::ALL, Dtype::name)
    }

    fn dtypes(&mut self, at: &Place<'_>) -> Option<Vec<Dtype>> {
        self.array(at, Decoder::dtype)
    }

    fn activation(&mut self, at: &Place<'_>) -> Option<Activation> {
        self.named(at, Activation::WHAT, Activation::ALL, Activation::name)
    }

    fn activations(&mut self, at: &Place<'_>) -> Option<Vec<Activation>> {
        self.array(at, Decoder::activation)
    }

    fn marker(&mut self, at: &Place<'_>) -> Option<Marker> {
        self.named(at, Marker::WHAT, Marker::ALL, Marker::name)
    }

    /// A flag of an op.
    fn op_flag(&mut self, at: &Place<'_>) -> Option<Flag> {
        self.named(at, Flag::WHAT, Flag::ALL.get(..5).unwrap_or_default(), Flag::name)
    }

    fn op_flags(&mut self, at: &Place<'_>) -> Option<Vec<Flag>> {
        self.array(at, Decoder::op_flag)
    }

    fn flag(&mut self, at: &Place<'_>) -> Option<Flag> {
        self.named(at, Flag::WHAT, Flag::ALL, Flag::name)
    }

    fn flags(&mut self, at: &Place<'_>) -> Option<Vec<Flag>> {
        self.array(at, Decoder::flag)
    }

    fn epilogue_flag(&mut self, at: &Place<'_>) -> Option<usize> {
        self.named(at, "flag", &[0, 1, 2], |at: usize| EPILOGUE.get(at).copied().unwrap_or_default())
    }

    fn epilogue_flags(&mut self, at: &Place<'_>) -> Option<Vec<usize>> {
        self.array(at, Decoder::epilogue_flag)
    }

    fn request(&mut self, at: &Place<'_>) -> Option<Request> {
        self.object(at)?;
        let sequence = self.required(at, "sequence", Decoder::sequence);
        let index = self.required(at, "index", Decoder::index);
        let options = self.optional(at, "options", Decoder::options);
        Some(Request { sequence: sequence?, index: index?, options: options.unwrap_or_default() })
    }

    fn options(&mut self, at: &Place<'_>) -> Option<Options> {
        self.object(at)?;
        let default = Options::default();
        let limit = self.optional(at, "limit", Decoder::integer).unwrap_or(default.limit);
        let beam = self.optional(at, "beam", Decoder::integer).unwrap_or(default.beam);
        let machine = self.nullable(at, "machine", |decoder, at| {
            decoder.object(at)?;
            let gbs = decoder.required(at, "gbs", Decoder::text);
            let tflops = decoder.required(at, "tflops", Decoder::text);
            Some(Machine { gbs: gbs?, tflops: tflops? })
        });
        Some(Options { limit, beam, machine })
    }

    fn review(&mut self, at: &Place<'_>) -> Option<Review> {
        let request = self.request(at);
        let plan = self.required(at, "plan", |decoder, at| {
            decoder.object(at)?;
            let regions = decoder.required(at, "regions", |decoder, at| decoder.array(at, Decoder::region));
            decoder.optional(at, "cost", Decoder::text);
            Some(GivenPlan { regions: regions?, cost: at.value.get("cost").cloned() })
        });
        Some(Review { request: request?, plan: plan? })
    }

    fn region(&mut self, at: &Place<'_>) -> Option<GivenRegion> {
        self.object(at)?;
        let anchor = self.required(at, "anchor", Decoder::integer);
        let last = self.required(at, "last", Decoder::integer);
        let kernel = self.required(at, "kernel", Decoder::text);
        self.optional(at, "trigger", |decoder, at| {
            decoder.named(at, Trigger::WHAT, Trigger::ALL, Trigger::name)
        });
        self.nullable(at, "reason", |decoder, at| decoder.named(at, Reason::WHAT, Reason::ALL, Reason::name));
        self.optional(at, "cost", Decoder::text);
        self.optional(at, "attrs", |decoder, at| decoder.object(at).map(|_| ()));
        let given = ["trigger", "reason", "cost", "attrs"];
        let given = given.into_iter().filter_map(|name| Some((name, at.value.get(name)?.clone()))).collect();
        Some(GivenRegion { anchor: anchor?, last: last?, kernel: kernel?, given })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn faults(value: &Value) -> Vec<(&'static str, String)> {
        match read(value) {
            Ok(_) => Vec::new(),
            Err(faults) => faults.into_iter().map(|fault| (fault.rule.id(), fault.pointer)).collect(),
        }
    }

    #[test]
    fn every_wrong_member_is_found_at_its_place() {
        let found = faults(&json!({"ops": [
            {"reads": ["x", 1], "writes": [{"value": "y"}], "sig": {"core": "gemm2"}, "shape": {"a/b": 1.5}},
            {"writes": [], "sig": {"class": "relu"}, "effects": {"flags": ["overwrite"]}}]}));
        let expected = [
            ("S04", "/ops/0/reads/1"),
            ("S03", "/ops/0/writes/0"),
            ("S03", "/ops/0/sig"),
            ("S05", "/ops/0/sig/core"),
            ("S04", "/ops/0/shape/a~1b"),
            ("S03", "/ops/1"),
            ("S05", "/ops/1/effects/flags/0"),
        ];
        assert_eq!(found, expected.map(|(rule, pointer)| (rule, pointer.to_owned())));
    }

    #[test]
    fn members_tell_the_kind_of_document() {
        assert!(matches!(read(&json!({"ops": []})), Ok(Document::Sequence(_))));
        assert!(matches!(read(&json!({"kernels": [], "ops": []})), Ok(Document::Index(_))));
        let request = json!({"sequence": {"ops": []}, "index": {"kernels": []}, "kernels": 1});
        assert!(matches!(read(&request), Ok(Document::Request(_))));
        assert_eq!(
            faults(&json!({"plan": {"regions": []}})),
            [("S03", String::new()), ("S03", String::new())]
        );
        assert_eq!(faults(&json!([])), [("S04", String::new())]);
    }

    #[test]
    fn equal_rows_are_shared_and_names_are_numbers() {
        let op = |x: &str, y: &str| json!({"reads": [x], "writes": [{"value": y, "readers": []}], "sig": {"class": "relu"}, "layout": {"order": "any"}, "epilogue": {"activation": "none"}});
        let sequence = read_sequence(&json!({"ops": [op("x", "y"), op("x", "z")]})).expect("a sequence");
        assert!(Arc::ptr_eq(&sequence.ops[0].rows, &sequence.ops[1].rows));
        assert_eq!(*sequence.ops[0].rows, Rows::of_class("relu"));
        assert_eq!(sequence.ops[0].reads, sequence.ops[1].reads);
        assert_eq!(sequence.values.len(), 3);
    }
}
