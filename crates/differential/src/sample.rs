//! A document with what is asked about it.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use megakernel_conformance::case::{Case, Execution};
use megakernel_conformance::oracle::Expected;
use megakernel_corpus::generate::{Outputs, expected_file};
use megakernel_corpus::oracle::Launch;
use megakernel_ir::protocol::{Accumulator, Profile};
use megakernel_ir::rule::{Rule, Severity};
use megakernel_ir::{DType, Diagnostic, Opcode};
use megakernel_numerics::{Stored, Tensor, TensorFile};
use serde_json::{Value, json};

use crate::reference::{Reference, Says};

/// Files, by path relative to a corpus.
pub type Files = Vec<(String, Vec<u8>)>;

/// The inputs of one launch, by the name under which a buffer is bound.
pub type Tensors = BTreeMap<String, Tensor>;

/// A document with what is asked about it: a verdict under a profile, or launches.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The profile. Under `execute` there are launches.
    pub profile: Profile,
    /// The bytes that are sent.
    pub document: Vec<u8>,
    /// What each launch binds; none where a verdict is asked for.
    pub launches: Vec<Tensors>,
}

/// A sample with the answer that the reference gives: everything that a case has.
#[derive(Clone, Debug)]
pub struct Declared {
    /// What was asked.
    pub sample: Sample,
    /// What the reference reports: errors where the document is rejected, else warnings.
    pub found: Vec<Diagnostic>,
    /// The file of references and bounds of each launch.
    expected: Vec<Vec<u8>>,
}

/// A buffer that a launch binds.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The name under which it is bound.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its extents.
    pub shape: Vec<u64>,
}

/// The buffers of a program that its first launch binds, or a later one, which binds no caches; in order of id.
pub fn bound(program: &Value, first: bool) -> Vec<Bound> {
    let buffers = program["buffers"].as_array().into_iter().flatten();
    let bound = buffers.filter_map(|buffer| {
        let name = match buffer["kind"].as_str()? {
            "WEIGHT" | "CONST" => buffer["source"].as_str().or(buffer["name"].as_str())?,
            "IO_INPUT" => buffer["name"].as_str()?,
            "KV_CACHE" if first => buffer["name"].as_str()?,
            _ => return None,
        };
        let dtype = DType::from_name(buffer["dtype"].as_str()?)?;
        let shape = buffer["shape"].as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
        Some(Bound { name: name.to_owned(), dtype, shape })
    });
    bound.collect()
}

impl Sample {
    /// The document as JSON, if it is that.
    pub fn value(&self) -> Option<Value> {
        serde_json::from_slice(&self.document).ok()
    }

    /// The same question about another document.
    pub fn with(&self, document: impl Into<Vec<u8>>) -> Sample {
        Sample { document: document.into(), ..self.clone() }
    }

    /// Asks the reference. Nothing where it has no answer, or one that binds nobody: a program that executes has to be accepted, and
    /// some element of its outputs judged.
    pub fn declare(self, reference: &dyn Reference) -> Option<Declared> {
        if self.profile != Profile::EXECUTE {
            let found = match reference.verdict(self.profile, &self.document) {
                Says::Accept(found) | Says::Reject(found) => found,
                Says::Nothing => return None,
            };
            return Some(Declared { sample: self, found, expected: Vec::new() });
        }
        if !names_are_distinct(&self.value()?) {
            return None;
        }
        let launch = |tensors: &Tensors| Launch { document: self.document.clone(), tensors: tensors.clone() };
        let launches: Vec<Launch> = self.launches.iter().map(launch).collect();
        let outputs = reference.run(&launches, Accumulator::Binary32).ok()?;
        let truncating = reference.run(&launches, Accumulator::Truncating).ok()?;
        if !outputs.iter().any(is_judged) {
            return None;
        }
        let file = |(found, wider)| expected_file(&self.document, found, wider).ok();
        let expected = outputs.iter().zip(&truncating).map(file).collect::<Option<_>>()?;
        Some(Declared { sample: self, found: Vec::new(), expected })
    }
}

/// Whether each buffer has a name of its own, so that it is plain what a file of tensors is about.
fn names_are_distinct(program: &Value) -> bool {
    let buffers = || program["buffers"].as_array().into_iter().flatten();
    let distinct = |member: &str| {
        let mut names = BTreeSet::new();
        buffers().filter_map(|buffer| buffer[member].as_str()).all(|name| names.insert(name))
    };
    distinct("name") && distinct("source")
}

/// Whether anything at all is required of these outputs.
fn is_judged(outputs: &Outputs) -> bool {
    outputs.values().any(|expected| match expected {
        Expected::Reals { bounds, .. } => bounds.iter().any(|bound| *bound < f64::INFINITY),
        Expected::Ints(values) => !values.is_empty(),
    })
}

impl Declared {
    /// The rules that the document breaks.
    pub fn broken(&self) -> BTreeSet<Rule> {
        let errors = self.found.iter().filter(|found| found.severity == Severity::Error);
        errors.map(|found| found.rule).collect()
    }

    /// The case with this id, and its files by path. A document that is JSON gets a file of its own, `program`, where one is named.
    ///
    /// # Errors
    /// The case contradicts itself, which would be a defect of this crate.
    pub fn case(
        &self,
        id: &str,
        summary: &str,
        program: Option<&str>,
        warnings: bool,
    ) -> Result<(Case, Files), String> {
        let Sample { profile, document, launches } = &self.sample;
        let mut files = Vec::new();
        let held = match (program, std::str::from_utf8(document)) {
            (Some(path), Ok(_)) => {
                files.push((path.to_owned(), document.clone()));
                json!({ "base": path })
            }
            (None, Ok(text)) => json!({ "text": text }),
            (_, Err(_)) => json!({ "base64": BASE64.encode(document) }),
        };
        let broken: Vec<&str> = self.broken().into_iter().map(Rule::id).collect();
        let expect = if !broken.is_empty() {
            let every = broken.len() > 1;
            let mut expect = json!({ "verdict": "reject", "rules": broken });
            if every {
                expect["every_rule"] = json!(true);
            }
            expect
        } else if warnings && *profile == Profile::VALIDATE {
            let warned: BTreeSet<&str> = self.found.iter().map(|found| found.rule.id()).collect();
            json!({ "verdict": "accept", "warnings": warned })
        } else {
            json!({ "verdict": "accept" })
        };
        let mut record = json!({
            "id": id, "summary": summary, "profiles": [profile.name()],
            "method": if launches.is_empty() { "validate" } else { "execute" },
            "clauses": self.clauses(&broken),
            "document": held, "expect": expect,
            "provenance": { "family": "fuzz", "seed": 0, "generator": env!("CARGO_PKG_VERSION") }
        });
        let mut played = Vec::new();
        for (index, (tensors, expected)) in launches.iter().zip(&self.expected).enumerate() {
            let path = format!("tensors/{id}.{index}.safetensors");
            let tensors = tensors.iter().map(|(name, tensor)| (name.clone(), Stored::Buffer(tensor.clone())));
            let file = TensorFile { tensors: tensors.collect() }.to_bytes();
            files.push((path.clone(), file.map_err(|cause| cause.to_string())?));
            files.push((Execution::expected_path(id, index), expected.clone()));
            played.push(json!({ "tensors": [path], "expected": Execution::expected_path(id, index) }));
        }
        if !played.is_empty() {
            record["execute"] = json!({ "launches": played });
        }
        let case: Case = serde_json::from_value(record).map_err(|cause| cause.to_string())?;
        case.check()?;
        Ok((case, files))
    }

    /// What the case is about: the rules that are broken, the opcodes that execute, or that a verdict is judged at all.
    pub fn clauses(&self, broken: &[&str]) -> Vec<String> {
        if !broken.is_empty() {
            return broken.iter().map(|rule| (*rule).to_owned()).collect();
        }
        if self.sample.launches.is_empty() {
            return vec!["CON-06".to_owned()];
        }
        let value = self.sample.value().unwrap_or_default();
        let ops = value["tasks"].as_array().into_iter().flatten().filter_map(|task| task["op"].as_str());
        let ops: BTreeSet<Opcode> = ops.filter_map(Opcode::from_name).collect();
        match ops.is_empty() {
            true => vec!["CON-12".to_owned()],
            false => ops.into_iter().map(|op| format!("OPC-{:02}", op.code())).collect(),
        }
    }
}
