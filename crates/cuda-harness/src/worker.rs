//! The harness as a worker of the protocol.

use megakernel_ir::protocol::{Accumulator, Answer, Execute, Facts, Hello, Profile, Request, Worker};

use crate::device::Device;
use crate::session::{Failure, Options, Session};

/// Answers requests to execute with what a device computes.
pub struct Harness {
    /// What runs launches.
    pub device: Box<dyn Device>,
    /// How.
    pub options: Options,
    /// Whether it says that it can write traces.
    pub trace: bool,
    /// How its kernels add up products.
    pub accumulator: Accumulator,
}

impl Harness {
    /// The device, and how launches run on it.
    fn facts(&self) -> Facts {
        let Options { seed, repeat, perturb, poison, .. } = self.options;
        Facts {
            seed: Some(seed),
            repeats: Some(repeat.max(1)),
            delays: Some(perturb),
            undefined: Some(if poison { "NaN" } else { "zeros" }.to_owned()),
            ..self.device.facts()
        }
    }
}

impl Worker for Harness {
    fn hello(&self) -> Hello {
        let profiles = [Profile::EXECUTE];
        let hello = Hello::new("megakernel-cuda", env!("CARGO_PKG_VERSION"), &profiles);
        Hello {
            targets: vec![self.device.name()],
            trace: self.trace,
            accumulator: self.accumulator,
            // Without signal and wait, nothing is evidence of a megakernel (clause CON-14).
            device: (!self.options.opcode_only).then(|| self.facts()),
            ..hello
        }
    }

    fn answer(&mut self, _: &Request<'_>) -> Answer {
        Answer::Unsupported { reason: "this worker runs programs, and does not judge them".to_owned() }
    }

    fn execute(&mut self, request: &Execute<'_>) -> Answer {
        let mut session = Session::new(self.device.as_mut(), self.options);
        for (number, launch) in request.launches.iter().enumerate() {
            match session.launch(launch) {
                Ok(()) => {}
                Err(Failure::Unsupported(reason)) => {
                    return Answer::Unsupported { reason: format!("launch {number}: {reason}") };
                }
                Err(Failure::Failed(message)) => {
                    return Answer::Failed { message: format!("launch {number}: {message}") };
                }
            }
        }
        Answer::Accept { diagnostics: Vec::new(), document: None }
    }
}
