//! What the reference answers to requests about programs.

use megakernel_ir::companion::Reference;
use megakernel_ir::protocol::{Answer, Execute, Launch, Method, Profile, Request};
use megakernel_ir::{Diagnostic, Layout, read, write};

use crate::validate::{Classes, validate};
use crate::vm::files::{read_tensors, write_outputs, write_trace};
use crate::vm::{LaunchError, Loaded, Session, Settings};

/// Answers the requests of the profiles of programs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Programs;

impl Reference for Programs {
    fn profiles(&self) -> &[Profile] {
        const ALL: [Profile; 5] =
            [Profile::FORMAT, Profile::VALIDATE, Profile::MEMORY_SAFETY, Profile::LAUNCH, Profile::EXECUTE];
        &ALL
    }

    fn answer(&mut self, request: &Request<'_>) -> Answer {
        answer(request)
    }

    fn execute(&mut self, request: &Execute<'_>) -> Answer {
        execute(request)
    }
}

/// Answers a request about one program with the verdict of [`validate`].
pub fn answer(request: &Request<'_>) -> Answer {
    let document = request.document.as_bytes();
    let verdict = validate(document, Classes::of_profile(request.profile));
    if !verdict.accepts() || request.method == Method::VALIDATE {
        return verdict.into();
    }
    match request.method {
        Method::ROUNDTRIP => Answer::Accept {
            diagnostics: verdict.diagnostics,
            document: read(document).ok().map(|program| write(&program, Layout::Indent(2))),
        },
        method => Answer::Unsupported { reason: format!("programs have no method `{method}`") },
    }
}

/// Executes launches with the VM: what it writes is the reference of each element, correctly rounded.
pub fn execute(request: &Execute<'_>) -> Answer {
    let mut session = Session::new();
    for (number, each) in request.launches.iter().enumerate() {
        match launch(&mut session, each) {
            Ok(()) => {}
            Err(Refusal::Rejected(diagnostics)) => return Answer::Reject { diagnostics },
            Err(Refusal::Failed(reason)) => {
                return Answer::Unsupported { reason: format!("launch {number}: {reason}") };
            }
        }
    }
    Answer::Accept { diagnostics: Vec::new(), document: None }
}

/// Why a launch was not executed.
enum Refusal {
    Rejected(Vec<Diagnostic>),
    Failed(String),
}

fn launch(session: &mut Session, launch: &Launch<'_>) -> Result<(), Refusal> {
    fn failed(error: impl std::fmt::Display) -> Refusal {
        Refusal::Failed(error.to_string())
    }
    let program = read(launch.document.as_bytes()).map_err(Refusal::Rejected)?;
    let loaded = Loaded::load(&program).map_err(Refusal::Rejected)?;
    let tensors = read_tensors(&launch.tensors).map_err(failed)?;
    let settings = Settings { trace: launch.trace.is_some(), ..Settings::default() };
    let finished = session.launch(&loaded, &tensors, &settings).map_err(|error| match error {
        LaunchError::Fault(fault) => Refusal::Failed(fault.explain(&program)),
        other => failed(other),
    })?;
    write_outputs(&launch.output, &finished.outputs).map_err(failed)?;
    launch.trace.as_ref().map_or(Ok(()), |path| write_trace(path, &finished)).map_err(failed)
}
