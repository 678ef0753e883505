//! From plans to cases: binding the inputs, asking the oracle for references and bounds, and writing the files.

use std::collections::BTreeMap;

use crate::oracle::{Launch, Oracle};
use megakernel_conformance::case::{Case, Execution};
use megakernel_conformance::oracle::Expected;
use megakernel_ir::formula::{self, Formulas};
use megakernel_ir::protocol::Accumulator;
use megakernel_numerics::{Stored, Tensor, TensorFile};
use megakernel_numerics::{encode, pack};
use serde_json::{Value, json};

use crate::builder::{DType, Error, Result};
use crate::families::GENERATOR;
use crate::families::numeric::{Operand, Values};
use crate::families::plan::{Inputs, Launch as LaunchPlan, Plan};

/// What finds the seeded faults that a case rejects: given the id of the case and what it executes, the ids of the faults in
/// order.
pub type Certify<'a> = dyn Fn(&str, &ToCertify<'_>) -> std::result::Result<Vec<String>, String> + Sync + 'a;

/// The launches of a case, and what is expected of each by either accumulator (clause NUM-06).
pub struct ToCertify<'a> {
    /// What is bound and run.
    pub launches: &'a [Launch],
    /// With the bounds of `binary32`.
    pub binary32: &'a [Outputs],
    /// With those of `truncating`.
    pub truncating: &'a [Outputs],
}

/// References and bounds of the buffers that one launch is judged by.
pub type Outputs = BTreeMap<String, Expected>;

/// A case with everything that the oracle adds, and its tensor files by path.
pub struct Filled {
    /// The case.
    pub case: Case,
    /// Files that no other case has.
    pub files: Vec<(String, Vec<u8>)>,
}

/// Why a plan is not filled in.
#[derive(Debug)]
pub enum Unfilled {
    /// The oracle has no answer: it cannot run the program, or rounding decides which integer a buffer holds.
    Refused(Error),
    /// The plan contradicts itself or the oracle.
    Wrong(Error),
}

impl Unfilled {
    fn of(self, id: &str) -> Self {
        let named = |error: Error| Error(format!("case `{id}`: {error}"));
        match self {
            Unfilled::Refused(error) => Unfilled::Refused(named(error)),
            Unfilled::Wrong(error) => Unfilled::Wrong(named(error)),
        }
    }
}

impl From<Error> for Unfilled {
    fn from(error: Error) -> Self {
        Unfilled::Wrong(error)
    }
}

impl From<Unfilled> for Error {
    fn from(unfilled: Unfilled) -> Self {
        match unfilled {
            Unfilled::Refused(error) | Unfilled::Wrong(error) => error,
        }
    }
}

/// Fills in a plan.
///
/// # Errors
/// The oracle cannot run the program, is not certain of an integer, or disagrees with what the plan knows.
pub fn fill(
    plan: &Plan,
    seed: u64,
    oracle: &dyn Oracle,
    certify: Option<&Certify<'_>>,
) -> std::result::Result<Filled, Unfilled> {
    fill_in(plan, seed, oracle, certify).map_err(|error| error.of(&plan.id))
}

fn fill_in(
    plan: &Plan,
    seed: u64,
    oracle: &dyn Oracle,
    certify: Option<&Certify<'_>>,
) -> std::result::Result<Filled, Unfilled> {
    let mut launches: Vec<Launch> = Vec::new();
    let mut files = Vec::new();
    let mut records = Vec::new();
    for (index, planned) in plan.launches.iter().enumerate() {
        let document = document(plan, planned)?;
        let mut tensors = BTreeMap::new();
        let mut paths = Vec::new();
        for (path, inputs) in &planned.files {
            tensors.extend(bound(inputs)?);
            paths.push(path.clone());
        }
        if !planned.feeds.is_empty() {
            let earlier = run(oracle, &launches, Accumulator::Binary32)?;
            let fed = fed(plan, &document, planned, &earlier)?;
            let path = format!("tensors/{}.{index}.fed.safetensors", plan.id);
            files.push((path.clone(), file(&fed)?));
            paths.push(path);
            tensors.extend(fed);
        }
        launches.push(Launch { document, tensors });
        let mut record = json!({"tensors": paths, "expected": Execution::expected_path(&plan.id, index)});
        if !planned.edit.is_empty() {
            record["edit"] = json!(planned.edit);
        }
        records.push(record);
    }
    let mut outputs = run(oracle, &launches, Accumulator::Binary32)?;
    let mut truncating = run(oracle, &launches, Accumulator::Truncating)?;
    for (index, planned) in plan.launches.iter().enumerate() {
        let (Some(found), Some(wider), Some(launch)) =
            (outputs.get_mut(index), truncating.get_mut(index), launches.get(index))
        else {
            return Err(Error(format!("the oracle answered {} launches", truncating.len())).into());
        };
        if let Some(judged) = &planned.judged {
            found.retain(|name, _| judged.contains(name));
            wider.retain(|name, _| judged.contains(name));
        }
        let buffers = buffers(&launch.document, &["IO_OUTPUT", "KV_CACHE"])?;
        let is_known = |name: &String| planned.known.contains_key(name);
        if let Some((name, _)) = planned.open.iter().find(|(name, open)| !open.is_empty() && !is_known(name))
        {
            let what = format!("launch {index}: `{name}` is open in part, and the rest is not known");
            return Err(Error(what).into());
        }
        for (name, values) in &planned.known {
            let (dtype, _) =
                buffers.get(name).ok_or_else(|| Error(format!("no buffer is named `{name}`")))?;
            let open = planned.open.get(name).map_or(&[][..], Vec::as_slice);
            agrees(*dtype, values, found.get(name), open)
                .map_err(|what| Error(format!("launch {index}: `{name}`: {what}")))?;
        }
        for (name, places) in &planned.sampled {
            for expected in [&mut *found, &mut *wider].into_iter().filter_map(|outputs| outputs.get_mut(name))
            {
                leave_open(expected, places)
                    .map_err(|what| Error(format!("launch {index}: `{name}`: {what}")))?;
            }
        }
        files.push((
            Execution::expected_path(&plan.id, index),
            expected(&buffers, found, wider, &planned.sampled)?,
        ));
    }
    let mut execute = json!({"launches": records});
    if let Some(certify) = certify {
        let executed = ToCertify { launches: &launches, binary32: &outputs, truncating: &truncating };
        let faults = certify(&plan.id, &executed).map_err(Error)?;
        if !faults.is_empty() {
            execute["certificate"] = json!(faults);
        }
    }
    let record = json!({
        "id": plan.id, "summary": plan.summary, "profiles": ["execute"], "method": "execute",
        "clauses": plan.clauses, "document": {"base": plan.path}, "expect": {"verdict": "accept"},
        "execute": execute,
        "provenance": {"family": plan.family, "seed": seed, "generator": GENERATOR}
    });
    let case: Case =
        serde_json::from_value(record).map_err(|error| Error(format!("does not read back: {error}")))?;
    case.check().map_err(Error)?;
    Ok(Filled { case, files })
}

fn run(
    oracle: &dyn Oracle,
    launches: &[Launch],
    accumulator: Accumulator,
) -> std::result::Result<Vec<Outputs>, Unfilled> {
    let refused = |error| Unfilled::Refused(Error(format!("the reference: {error}")));
    oracle.run(launches, accumulator).map_err(refused)
}

/// The text of a launch's document: the program's file, unless the launch edits it.
fn document(plan: &Plan, launch: &LaunchPlan) -> Result<Vec<u8>> {
    if launch.edit.is_empty() {
        return Ok(plan.program.to_text().into_bytes());
    }
    let failed = |error: serde_json::Error| Error(error.to_string());
    let edit: json_patch::Patch = serde_json::from_value(json!(launch.edit)).map_err(failed)?;
    let mut value = plan.program.value().clone();
    json_patch::patch(&mut value, &edit).map_err(|error| Error(error.to_string()))?;
    serde_json::to_vec(&value).map_err(failed)
}

/// Dtype and shape of each buffer of some kinds, by name: those of other kinds may have the same name.
fn buffers(document: &[u8], kinds: &[&str]) -> Result<BTreeMap<String, (DType, Vec<u64>)>> {
    let value: Value = serde_json::from_slice(document).map_err(|error| Error(error.to_string()))?;
    let buffers = value["buffers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of_kinds =
        buffers.iter().filter(|buffer| buffer["kind"].as_str().is_some_and(|kind| kinds.contains(&kind)));
    let known = of_kinds.filter_map(|buffer| {
        let dtype = DType::from_name(buffer["dtype"].as_str()?)?;
        let shape = buffer["shape"].as_array()?.iter().filter_map(Value::as_u64).collect();
        Some((buffer["name"].as_str()?.to_owned(), (dtype, shape)))
    });
    Ok(known.collect())
}

/// An operand as a tensor.
pub fn tensor(operand: &Operand) -> Result<Tensor> {
    let shape = operand.shape.clone();
    let tensor = match &operand.values {
        Values::Formula(formula) => return formula.tensor().map_err(Error),
        Values::Reals(values) => Tensor::from_reals(operand.dtype, shape, values),
        Values::Ints(values) => Tensor::from_ints(operand.dtype, shape, values),
        Values::Bits(bits) => {
            let bytes = pack(operand.dtype, bits.iter().copied());
            return Ok(Tensor { dtype: operand.dtype, shape, bytes });
        }
    };
    tensor.map_err(|error| Error(error.to_string()))
}

fn bound(inputs: &Inputs) -> Result<BTreeMap<String, Tensor>> {
    inputs
        .iter()
        .map(|(name, operand)| {
            let tensor = tensor(operand).map_err(|error| Error(format!("`{name}`: {error}")))?;
            Ok((name.clone(), tensor))
        })
        .collect()
}

/// The bytes of a file of inputs.
pub(super) fn inputs_file(path: &str, inputs: &Inputs) -> Result<Vec<u8>> {
    if !formula::is_formula(path) {
        return file(&bound(inputs)?);
    }
    let formula = |(name, operand): (&String, &Operand)| match &operand.values {
        Values::Formula(formula) => Ok((name.clone(), formula.clone())),
        _ => Err(Error(format!("`{path}` has `{name}`, which no formula gives"))),
    };
    let formulas = inputs.iter().map(formula).collect::<Result<Formulas>>()?;
    let mut text = serde_json::to_string(&formulas).map_err(|error| Error(error.to_string()))?;
    text.push('\n');
    Ok(text.into_bytes())
}

fn file(tensors: &BTreeMap<String, Tensor>) -> Result<Vec<u8>> {
    let tensors =
        tensors.iter().map(|(name, tensor)| (name.clone(), Stored::Buffer(tensor.clone()))).collect();
    TensorFile { tensors }.to_bytes().map_err(|error| Error(error.to_string()))
}

/// The inputs that earlier launches computed.
fn fed(
    plan: &Plan,
    document: &[u8],
    launch: &LaunchPlan,
    earlier: &[Outputs],
) -> Result<BTreeMap<String, Tensor>> {
    let buffers = buffers(document, &["IO_INPUT"])?;
    let mut fed = BTreeMap::new();
    for feed in &launch.feeds {
        let found = earlier.get(feed.launch).and_then(|outputs| outputs.get(&feed.from));
        let (Some(Expected::Ints(values)), Some((dtype, shape))) = (found, buffers.get(&feed.to)) else {
            return Err(Error(format!("{}: nothing to feed from `{}` to `{}`", plan.id, feed.from, feed.to)));
        };
        let tensor =
            Tensor::from_ints(*dtype, shape.clone(), values).map_err(|error| Error(error.to_string()))?;
        fed.insert(feed.to.clone(), tensor);
    }
    Ok(fed)
}

/// Whether the oracle yields what the family says: the very elements, with nothing left to the implementation but those at the
/// places that are `open`, and those for certain. The sign of a zero is not compared.
fn agrees(
    dtype: DType,
    known: &Values,
    found: Option<&Expected>,
    open: &[u64],
) -> std::result::Result<(), String> {
    match (known, found) {
        (Values::Reals(known), Some(Expected::Reals { values, bounds })) if known.len() == values.len() => {
            for (index, ((known, value), bound)) in known.iter().zip(values).zip(bounds).enumerate() {
                if open.contains(&(index as u64)) {
                    if *bound < f64::INFINITY {
                        return Err(format!("element {index} is open by construction, not by the reference"));
                    }
                    continue;
                }
                let free = known.is_nan() && value.is_nan();
                let bits = |value: f64| encode(dtype, if value == 0.0 { 0.0 } else { value });
                // The bound of a zero is the smallest number, for the sake of the sign alone.
                let bound = if *value == 0.0 && *bound <= f64::from_bits(1) { 0.0 } else { *bound };
                let exact = bits(value - bound) == bits(*known) && bits(value + bound) == bits(*known);
                if !free && !exact {
                    return Err(format!(
                        "element {index} is {known} by construction, {value} within {bound} by the reference"
                    ));
                }
            }
            Ok(())
        }
        (Values::Ints(known), Some(Expected::Ints(values))) => {
            match known.iter().zip(values).position(|(a, b)| a != b) {
                _ if known.len() != values.len() => Err(format!(
                    "{} elements by construction, {} by the reference",
                    known.len(),
                    values.len()
                )),
                Some(index) => Err(format!(
                    "element {index} is {:?} by construction, {:?} by the reference",
                    known.get(index),
                    values.get(index)
                )),
                None => Ok(()),
            }
        }
        (_, None) => Err("the reference yields no such buffer".to_owned()),
        _ => Err("the reference yields another type or number of elements".to_owned()),
    }
}

/// Opens the bounds of all elements but these.
fn leave_open(expected: &mut Expected, places: &[u64]) -> std::result::Result<(), String> {
    let Expected::Reals { values, bounds } = expected else {
        return Err("only a sample of float elements is judged".to_owned());
    };
    if places.windows(2).any(|pair| pair[0] >= pair[1])
        || places.last().is_none_or(|&last| last >= values.len() as u64)
    {
        return Err("a sample is of ascending places".to_owned());
    }
    for (place, bound) in bounds.iter_mut().enumerate() {
        if places.binary_search(&(place as u64)).is_err() {
            *bound = f64::INFINITY;
        }
    }
    Ok(())
}

/// The file of references and bounds of a launch of this document: all that it leaves, with bounds for either accumulator.
///
/// # Errors
/// The document is no program, or has no such buffers.
pub fn expected_file(document: &[u8], found: &Outputs, truncating: &Outputs) -> Result<Vec<u8>> {
    let buffers = buffers(document, &["IO_OUTPUT", "KV_CACHE"])?;
    expected(&buffers, found, truncating, &BTreeMap::new())
}

/// The file of references and bounds. Of buffers that are sampled it has the elements at these places.
fn expected(
    buffers: &BTreeMap<String, (DType, Vec<u64>)>,
    found: &Outputs,
    truncating: &Outputs,
    sampled: &BTreeMap<String, Vec<u64>>,
) -> Result<Vec<u8>> {
    let mut tensors = BTreeMap::new();
    for (name, expected) in found {
        let (dtype, shape) =
            buffers.get(name).ok_or_else(|| Error(format!("no buffer is named `{name}`")))?;
        match expected {
            Expected::Ints(values) => {
                let tensor = Tensor::from_ints(*dtype, shape.clone(), values)
                    .map_err(|error| Error(format!("`{name}`: {error}")))?;
                tensors.insert(name.clone(), Stored::Buffer(tensor));
            }
            Expected::Reals { values, bounds } => {
                let places = sampled.get(name);
                let stored = |values: &[f64]| match places {
                    None => Stored::F64 { shape: shape.clone(), values: plain(values) },
                    Some(places) => {
                        let picked: Vec<f64> =
                            places.iter().filter_map(|&place| values.get(place as usize)).copied().collect();
                        Stored::F64 { shape: vec![places.len() as u64], values: plain(&picked) }
                    }
                };
                if let Some(places) = places {
                    let ints: Vec<i64> = places.iter().map(|&place| place as i64).collect();
                    let tensor = Tensor::from_ints(DType::I32, vec![places.len() as u64], &ints)
                        .map_err(|error| Error(format!("`{name}`: {error}")))?;
                    tensors.insert(format!("{name}.at"), Stored::Buffer(tensor));
                }
                tensors.insert(name.clone(), stored(values));
                tensors.insert(format!("{name}.bound"), stored(bounds));
                match truncating.get(name) {
                    Some(Expected::Reals { bounds: wider, .. }) if !same_bits(bounds, wider) => {
                        tensors.insert(format!("{name}.bound.truncating"), stored(wider));
                    }
                    _ => {}
                }
            }
        }
    }
    TensorFile { tensors }.to_bytes().map_err(|error| Error(error.to_string()))
}

fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

/// The same numbers with one kind of NaN: which bits an operation gives it is up to the machine.
fn plain(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| if v.is_nan() { f64::NAN } else { *v }).collect()
}
