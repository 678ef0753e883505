//! Kernel IR of documents (clauses MCI-27 to MCI-30): a loop nest for each region, with an allocation for each tile.

use megakernel_ir::protocol::Answer;
use megakernel_ir::{Diagnostic, read_value};
use megakernel_mcir::{Memory, read};
use megakernel_order::Findings;
use serde_json::{Map, Value as Json, json};

use crate::nest::Nest;
use crate::structure::MOST;
use crate::transform::{NotMade, answered, told};
use crate::validate::judge;
use crate::world::World;

/// Answers the method `lower`.
pub fn lower(text: &[u8]) -> Answer {
    answered(lowered(text).map(|(_, made)| made))
}

/// What is found in a document, and its Kernel IR.
///
/// # Errors
/// See [`NotMade`].
pub fn lowered(text: &[u8]) -> Result<(Vec<Diagnostic>, Json), NotMade> {
    let value = read_value(text).map_err(NotMade::Rejected)?;
    let document = read(&value).map_err(told)?;
    let world = World::new(&document);
    let mut findings = Findings::default();
    let judged = judge(&world, &mut findings);
    let found = findings.into_parts().0;
    let Some((regions, lifetimes)) = judged else { return Err(NotMade::Rejected(found)) };
    let mut kernels = Vec::with_capacity(regions.len());
    for shaped in &regions {
        let kernel = Nest::kernel(&world, shaped, &lifetimes, &value["regions"][shaped.number]);
        if let Some(number) = out_of_range(&kernel) {
            let id = world.name(shaped.region.id);
            return Err(NotMade::Unsupported(format!(
                "the kernel of `{id}` would need the integer {number}, and Kernel IR has none beyond {MOST}"
            )));
        }
        kernels.push(kernel);
    }
    let tensors: Map<String, Json> = document
        .values
        .iter()
        .filter(|value| value.memory == Memory::Global)
        .map(|value| {
            let tensor = json!({"shape": value.shape, "dtype": value.dtype.name()});
            (world.name(value.name).to_owned(), tensor)
        })
        .collect();
    let made = json!({
        "tensors": tensors, "inputs": value["inputs"], "outputs": value["outputs"], "kernels": kernels,
    });
    Ok((found, made))
}

fn out_of_range(value: &Json) -> Option<i64> {
    match value {
        Json::Number(number) => number.as_i64().filter(|number| !(-MOST..=MOST).contains(number)),
        Json::Array(all) => all.iter().find_map(out_of_range),
        Json::Object(all) => all.values().find_map(out_of_range),
        _ => None,
    }
}
