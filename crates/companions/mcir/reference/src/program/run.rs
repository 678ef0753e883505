//! Programs of documents, run by the VM on the data of the document.

use std::collections::BTreeMap;

use megakernel_ir::{DType, read};
use megakernel_numerics::Tensor;
use megakernel_reference::vm::{Loaded, Schedule, Session, Settings};
use serde_json::{Map, Value as Json, json};

use super::Programmed;

/// What `compute` answers (clause MCI-17), as the program has it: `data` has the bits of the inputs, and `schedule` says in which order steps are taken.
///
/// # Errors
/// An input that is not there as it should be, or what the VM says.
pub fn run_program(made: &Programmed, data: &Json, schedule: u64) -> Result<Json, String> {
    let failed = |what: &dyn std::fmt::Display| what.to_string();
    let program = read(made.program.as_bytes()).map_err(|_| "the program does not read".to_owned())?;
    let value: Json = serde_json::from_str(&made.program).map_err(|error| failed(&error))?;
    let records = value["buffers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut tensors = BTreeMap::new();
    let mut outputs = Vec::new();
    for record in records {
        let name = record["name"].as_str().unwrap_or_default();
        let Some(bound) = made.binding.get(name) else { continue };
        let tensor = bound["tensor"].as_str();
        if record["kind"] == "IO_OUTPUT" {
            outputs.push((name, tensor.unwrap_or_default()));
            continue;
        }
        let dtype = record["dtype"].as_str().and_then(DType::from_name).unwrap_or(DType::F32);
        let shape: Option<Vec<u64>> =
            record["shape"].as_array().and_then(|shape| shape.iter().map(Json::as_u64).collect());
        let bits = tensor.map_or(&bound["values"], |tensor| &data[tensor]).as_array();
        let size = match dtype {
            DType::F32 => 4,
            DType::Bool => 1,
            _ => 2,
        };
        let bytes = bits.and_then(|bits| {
            let one = |bits: &Json| {
                let bits = bits.as_u64().filter(|&bits| bits >> (8 * size) == 0)?;
                Some(bits.to_le_bytes().into_iter().take(size))
            };
            let all: Option<Vec<_>> = bits.iter().map(one).collect();
            Some(all?.into_iter().flatten().collect::<Vec<u8>>())
        });
        let wrong = || format!("`data` has not the elements of `{}`", tensor.unwrap_or(name));
        let (shape, bytes) = shape.zip(bytes).ok_or_else(wrong)?;
        let tensor = Tensor::new(dtype, shape, bytes).map_err(|error| format!("{}: {error}", wrong()))?;
        tensors.insert(name.to_owned(), tensor);
    }
    let loaded = Loaded::load(&program).map_err(|_| "the program breaks a rule".to_owned())?;
    let settings = Settings { schedule: Schedule::seeded(schedule), ..Settings::default() };
    let finished = Session::new().launch(&loaded, &tensors, &settings).map_err(|error| failed(&error))?;
    let mut found = Map::new();
    for (name, tensor) in outputs {
        let output = finished.output(name).ok_or("an output that is not there")?;
        found.insert(tensor.to_owned(), json!(output.tensor.elements()));
    }
    Ok(json!({"data": found}))
}
