//! An implementation, faulty or not, as a worker of the protocol: judged like anyone's program (clause CON-11).

use std::collections::BTreeMap;
use std::path::Path;

use megakernel_ir::protocol::{self, Accumulator, Answer, Execute, Hello, Profile, Request, Worker};
use megakernel_numerics::{Stored, Tensor, TensorFile};

use crate::kernels::Kernels;
use crate::launch::{Launch, Outputs, session};
use crate::memory::{Broken, Result};

/// Answers requests to execute.
pub struct Executor<'k> {
    name: String,
    kernels: &'k dyn Kernels,
    accumulator: Accumulator,
}

impl<'k> Executor<'k> {
    /// A worker of this name that takes these steps and claims this accumulator.
    pub fn new(name: String, kernels: &'k dyn Kernels, accumulator: Accumulator) -> Executor<'k> {
        Executor { name, kernels, accumulator }
    }

    fn run(&self, request: &Execute<'_>) -> Result<()> {
        let mut launches = Vec::with_capacity(request.launches.len());
        for launch in &request.launches {
            let tensors = tensors(launch)?;
            launches.push(Launch::new(launch.document.as_bytes(), &tensors)?);
        }
        let outputs = session(self.kernels, &launches)?;
        for (launch, outputs) in request.launches.iter().zip(outputs) {
            write(&launch.output, outputs)?;
        }
        Ok(())
    }
}

/// Every tensor that the files of a launch hold.
fn tensors(launch: &protocol::Launch<'_>) -> Result<BTreeMap<String, Tensor>> {
    let mut tensors = BTreeMap::new();
    for path in &launch.tensors {
        let about = |cause: &dyn std::fmt::Display| Broken(format!("{}: {cause}", path.display()));
        let bytes = std::fs::read(path).map_err(|cause| about(&cause))?;
        let file = TensorFile::read(&bytes).map_err(|cause| about(&cause))?;
        tensors.extend(file.tensors.into_iter().filter_map(|(name, stored)| match stored {
            Stored::Buffer(tensor) => Some((name, tensor)),
            Stored::F64 { .. } => None,
        }));
    }
    Ok(tensors)
}

fn write(path: &Path, outputs: Outputs) -> Result<()> {
    let about = |cause: &dyn std::fmt::Display| Broken(format!("{}: {cause}", path.display()));
    let tensors = outputs.into_iter().map(|(name, tensor)| (name, Stored::Buffer(tensor))).collect();
    let bytes = TensorFile { tensors }.to_bytes().map_err(|cause| about(&cause))?;
    std::fs::write(path, bytes).map_err(|cause| about(&cause))
}

impl Worker for Executor<'_> {
    fn hello(&self) -> Hello {
        let profiles = [Profile::EXECUTE];
        let mut hello = Hello::new(&self.name, env!("CARGO_PKG_VERSION"), &profiles);
        hello.accumulator = self.accumulator;
        hello
    }

    fn answer(&mut self, _: &Request<'_>) -> Answer {
        Answer::Unsupported { reason: "this worker only executes".to_owned() }
    }

    fn execute(&mut self, request: &Execute<'_>) -> Answer {
        match self.run(request) {
            Ok(()) => Answer::Accept { diagnostics: Vec::new(), document: None },
            // Whatever does not load or run is for the runner to judge.
            Err(Broken(reason)) => Answer::Unsupported { reason },
        }
    }
}
