//! The method `trace`: does the schedule cover what happened in a run (clause SCH-17)?

mod bytes;
pub mod command;
mod launch;
mod parts;
mod phases;

use megakernel_ir::{Diagnostic, read_value};
use megakernel_order::{Findings, Verdict};
use megakernel_schedule::{Schedule, Trace, read_trace};
use serde_json::Value;

use crate::validate::expanded;

/// Judges a trace: a schedule and its launches in one text.
pub fn trace(document: &[u8]) -> Verdict {
    match read_value(document) {
        Err(found) => Verdict::of_unread(found),
        Ok(value) => trace_of(&value, &value),
    }
}

/// Judges a schedule and the launches of a run, which stand in another text or in the same.
pub fn trace_of(schedule: &Value, trace: &Value) -> Verdict {
    match read_trace(schedule, trace) {
        Err(faults) => Verdict::of_unread(faults.into_iter().map(Diagnostic::from).collect()),
        Ok((schedule, trace)) => {
            let mut findings = Findings::default();
            judge(&schedule, &trace, &mut findings);
            Verdict::from(findings)
        }
    }
}

fn judge(schedule: &Schedule, trace: &Trace, findings: &mut Findings) {
    let Some(world) = expanded(schedule, findings) else { return };
    let parts = parts::parts(&world, trace, findings);
    if !findings.accepts() {
        return;
    }
    launch::check(&world, &parts, findings);
}
