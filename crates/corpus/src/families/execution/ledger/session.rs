//! Launch after launch of exact programs: what one leaves, the next one finds.

use megakernel_ir::rule::{Clause, clause};

use super::super::super::plan::Plan;
use super::super::arrange::Form;
use super::super::session::{SessionBuilder, Step};
use super::{Entry, Kept, Ledger, operand};
use crate::builder::{Error, Result};

/// A session of exact programs: `build` writes each launch.
pub fn session(
    at: (&str, &str),
    about: &str,
    clauses: &[Clause],
    form: Form,
    launches: usize,
    build: impl Fn(&mut Ledger, usize) -> Result<()>,
) -> Result<Plan> {
    let mut kept = Kept::new();
    let mut session: Option<SessionBuilder> = None;
    let (group, name) = at;
    let suffix = form.names().0;
    for launch in 0..launches {
        let mut ledger = Ledger::new(std::mem::take(&mut kept));
        build(&mut ledger, launch)?;
        let Ledger { p, entries, weights, inputs, feeds, judged, problems, .. } = ledger;
        if let Some(problem) = problems.first() {
            return Err(Error(format!("execution/{group}/{name}, launch {launch}: {problem}")));
        }
        let mut step = Step::default();
        if !inputs.is_empty() {
            step = step.file(&format!("{group}/{name}{suffix}.{launch}"), inputs);
        }
        for (from, to) in feeds {
            step = step.feed(launch - 1, &from, &to);
        }
        for Entry { name, dtype, values, .. } in entries.into_iter().filter(|entry| entry.read_back) {
            if judged.as_ref().is_none_or(|judged| judged.contains(&name)) {
                step = step.known(&name, operand(dtype, &[], &values).values);
            }
            kept.insert(name, values);
        }
        if let Some(judged) = judged {
            step = step.judge(&judged.iter().map(String::as_str).collect::<Vec<_>>());
        }
        session = Some(match session.take() {
            None => {
                let mut clauses = clauses.to_vec();
                clauses.push(clause::NUM_09);
                let session = SessionBuilder::new(at, about, &clauses, form, p)?;
                let session = match weights.is_empty() {
                    true => session,
                    false => session.shared(&format!("{group}/{name}{suffix}"), weights),
                };
                session.launch(step)
            }
            Some(session) => session.launch_of(p, step)?,
        });
    }
    session.map(SessionBuilder::plan).ok_or_else(|| Error(format!("execution/{group}/{name} has no launch")))
}
