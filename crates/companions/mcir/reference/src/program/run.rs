//! Programs of documents, run by the VM on the data of the document.

use std::collections::BTreeMap;

use megakernel_ir::{BufferKind, read};
use megakernel_numerics::{Tensor, pack};
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
    let mut tensors = BTreeMap::new();
    let mut outputs = Vec::new();
    for buffer in &program.buffers {
        let name: &str = &buffer.name;
        let Some(bound) = made.binding.get(name) else { continue };
        let tensor = bound["tensor"].as_str();
        if buffer.kind == BufferKind::IoOutput {
            outputs.push((name, tensor.unwrap_or_default()));
            continue;
        }
        let one = |bits: &Json| {
            let bits = bits.as_u64().filter(|&bits| bits >> buffer.dtype.bits() == 0)?;
            u32::try_from(bits).ok()
        };
        let bits = tensor.map_or(&bound["values"], |tensor| &data[tensor]).as_array();
        let bits = bits.and_then(|bits| bits.iter().map(one).collect::<Option<Vec<u32>>>());
        let shape: Option<Vec<u64>> = buffer.shape.iter().map(|&extent| u64::try_from(extent).ok()).collect();
        let wrong = || format!("`data` has not the elements of `{}`", tensor.unwrap_or(name));
        let (shape, bits) = shape.zip(bits).ok_or_else(wrong)?;
        let tensor = Tensor::new(buffer.dtype, shape, pack(buffer.dtype, bits))
            .map_err(|error| format!("{}: {error}", wrong()))?;
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
