//! The reference of the companion on memory-centric IR: the rules, the measures, what documents compute, passes, and Kernel IR (`spec/companions/mcir`).

mod attention;
mod axes;
mod bounds;
mod commands;
mod compute;
mod cuda;
mod draw;
mod elimination;
mod family;
mod form;
mod graph;
mod joint;
mod lower;
mod measure;
mod names;
mod nest;
mod operands;
mod operators;
mod order;
mod part;
mod passes;
mod producers;
mod program;
mod residency;
mod shapes;
mod storage;
mod streaming;
mod structure;
mod transform;
mod validate;
mod world;

pub use commands::COMPANION;
pub use compute::{
    Blocks, Choices, Landing, MOST_DATA, NoData, Refused, Tensors, compute, compute_document, compute_text,
    with_data,
};
pub use cuda::{NoCode, THREADS, generate};
pub use draw::picture;
pub use elimination::Stays;
pub use family::{Family, Member, family};
pub use lower::{lower, lowered};
pub use measure::{measure, measure_document};
pub use operators::{Instructions, operators};
pub use program::{NoProgram, Programmed, program, run_program};
pub use transform::{NotMade, transform, transform_text, transformed};
pub use validate::{read_document, validate, validate_document};

use megakernel_ir::companion::Reference;
use megakernel_ir::protocol::{Answer, Method, Profile, Request};

/// Answers the requests of the profile `mcir`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mcir;

impl Reference for Mcir {
    fn profiles(&self) -> &[Profile] {
        &[Profile::MCIR]
    }

    fn answer(&mut self, request: &Request<'_>) -> Answer {
        match request.method {
            Method::VALIDATE => validate(request.document.as_bytes()).into(),
            Method::MEASURE => measure(request.document.as_bytes()),
            Method::TRANSFORM => transform(request.document.as_bytes()),
            Method::LOWER => lower(request.document.as_bytes()),
            Method::COMPUTE => compute(request.document.as_bytes()),
            other => Answer::Unsupported { reason: format!("memory-centric IR has no method `{other}`") },
        }
    }
}
