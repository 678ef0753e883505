//! The reference as the oracle of the generator. `corpus` knows nothing of `reference`: this is where they meet.

use std::collections::BTreeMap;

use megakernel_conformance::oracle::Expected;
use megakernel_corpus::oracle::{Launch, Oracle};
use megakernel_ir::protocol::Accumulator;
use megakernel_reference::vm::{Loaded, Reference, Session, Settings};

/// The VM of the reference.
pub struct Vm;

impl Oracle for Vm {
    fn run(
        &self,
        launches: &[Launch],
        accumulator: Accumulator,
    ) -> Result<Vec<BTreeMap<String, Expected>>, String> {
        let mut session = Session::new();
        launches.iter().map(|launch| run(&mut session, launch, accumulator)).collect()
    }
}

fn run(
    session: &mut Session,
    launch: &Launch,
    accumulator: Accumulator,
) -> Result<BTreeMap<String, Expected>, String> {
    let program = megakernel_ir::read(&launch.document).map_err(|found| first(&found))?;
    let loaded = Loaded::load(&program).map_err(|found| first(&found))?;
    let settings = Settings { accumulator, ..Settings::default() };
    let finished = session.launch(&loaded, &launch.tensors, &settings).map_err(|error| error.to_string())?;
    let outputs = finished.outputs.into_iter();
    outputs.map(|output| Ok((output.name.clone(), expected(&output.name, output.reference)?))).collect()
}

fn first(found: &[megakernel_ir::Diagnostic]) -> String {
    found
        .first()
        .map_or_else(String::new, |found| format!("{} at {}: {}", found.rule, found.pointer, found.message))
}

/// An integer that is not specified is no answer: which index an uncertain maximum has, say.
fn expected(name: &str, reference: Reference) -> Result<Expected, String> {
    match reference {
        Reference::Reals { values, bounds } => Ok(Expected::Reals { values, bounds }),
        Reference::Ints(values) => {
            let certain: Option<Vec<i64>> = values.iter().copied().collect();
            let place = values.iter().position(Option::is_none).unwrap_or_default();
            certain.map(Expected::Ints).ok_or_else(|| format!("element {place} of `{name}` is not certain"))
        }
    }
}

#[cfg(test)]
mod tests;
