//! The checkers of companions, which judge the members of `expect` that the core does not know.

use std::sync::{PoisonError, RwLock};

use megakernel_ir::companion::{Checker, Question, Unanswered};
use megakernel_ir::protocol::FromWorker;
use megakernel_ir::registry;

use crate::case::Case;
use crate::companions::CHECKERS;
use crate::judge::{Ask, Mismatch};
use crate::text::excerpt;

static INSTALLED: RwLock<Vec<&'static dyn Checker>> = RwLock::new(Vec::new());

/// Adds the checker of a companion that this build does not know, before a process loads cases; [`registry::install`] adds what
/// the companion declares.
pub fn install(checker: &'static dyn Checker) {
    INSTALLED.write().unwrap_or_else(PoisonError::into_inner).push(checker);
}

/// The checkers that judge a member of the case.
fn of(case: &Case) -> impl Iterator<Item = &'static dyn Checker> {
    let installed = INSTALLED.read().unwrap_or_else(PoisonError::into_inner).clone();
    let concerned = |checker: &&dyn Checker| {
        checker.checks().iter().any(|&member| case.expect.checks.contains_key(member))
    };
    CHECKERS.iter().copied().chain(installed).filter(concerned)
}

/// Says what is wrong with the members that the core does not know.
pub(crate) fn well_formed(case: &Case) -> Result<(), String> {
    let judged = |name: &str| of(case).any(|checker| checker.checks().contains(&name));
    for name in case.expect.checks.keys() {
        if !registry::has_check(name) {
            return Err(format!("`expect.{name}` is declared neither by the suite nor by a companion"));
        }
        if !judged(name) {
            return Err(format!(
                "`expect.{name}` is declared by a companion, but this runner lacks its checker"
            ));
        }
    }
    of(case).try_for_each(|checker| {
        checker.well_formed(case.method, case.arguments.as_ref(), &case.expect.checks)
    })
}

/// Judges an answer that accepts.
///
/// # Errors
/// Those of `ask`.
pub(crate) fn judge<E>(
    case: &Case,
    question: &Question<'_>,
    answer: &FromWorker,
    ask: &mut Ask<'_, E>,
) -> Result<Result<(), Mismatch>, E> {
    for checker in of(case) {
        let mut failure = None;
        let mut relay = |question: &Question<'_>| {
            ask(question).map_err(|cause| {
                failure = Some(cause);
                Unanswered
            })
        };
        let judged = checker.judge(question, &case.expect.checks, answer, &mut relay);
        if let Some(cause) = failure {
            return Err(cause);
        }
        match judged {
            Ok(Ok(())) => {}
            Ok(Err(wrong)) => {
                let actual = excerpt(wrong.actual.as_bytes());
                return Ok(Err(Mismatch::new(wrong.expected, actual)));
            }
            Err(Unanswered) => unreachable!("a checker has this from `ask` alone"),
        }
    }
    Ok(Ok(()))
}
