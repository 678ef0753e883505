//! The reference of the companion on schedules: the rules (`spec/companions/schedule`).

mod commands;
mod contents;
mod convert;
mod deadlock;
mod exact;
mod expand;
mod ids;
mod mend;
mod minimise;
mod needed;
mod order;
mod picture;
mod place;
mod race;
mod region;
mod repair;
mod replay;
mod required;
mod structure;
mod trace;
mod validate;
mod warnings;
mod world;

pub use commands::COMPANION;
pub use convert::{convert, lower};
pub use repair::{Missing, repair};
pub use trace::{trace, trace_of};
pub use validate::{validate, validate_schedule};

use megakernel_ir::companion::Reference;
use megakernel_ir::protocol::{Answer, Method, Profile, Request};

/// Answers the requests of the profile `schedule`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Schedules;

impl Reference for Schedules {
    fn profiles(&self) -> &[Profile] {
        &[Profile::SCHEDULE]
    }

    fn answer(&mut self, request: &Request<'_>) -> Answer {
        match request.method {
            Method::VALIDATE => validate(request.document.as_bytes()).into(),
            Method::MINIMISE => minimise::minimise(request.document.as_bytes()),
            Method::TRACE => trace(request.document.as_bytes()).into(),
            other => Answer::Unsupported { reason: format!("schedules have no method `{other}`") },
        }
    }
}
