//! Plays a unit that executes.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use megakernel_numerics::Tensor;

use super::{Outcome, RunError, Shared, Unit, interrupted};
use crate::execution::{Bound, Expectation, Fault, Session, Touched, Workspace, follow, outputs};
use crate::judge::{self, Judgement};
use crate::oracle::{NoAnswer, Oracle};
use crate::store::CorpusError;
use crate::worker::{Failure, WorkerProcess};

impl Shared<'_> {
    pub(super) fn execute(
        &self,
        unit: &Unit<'_>,
        worker: &mut Option<WorkerProcess>,
    ) -> Result<Outcome, RunError> {
        let documents = self.corpus.launch_documents(unit.case)?;
        let session = Session::new(self.corpus, unit.case, &documents)?;
        if let Some(reason) = session.skip(self.hello) {
            return Ok(Outcome::Skipped(reason));
        }
        let expectations = session.expectations(self.hello.accumulator)?;
        let mut touched = Touched::new(&session.keys(&expectations), session.class());
        let workspace = match Workspace::new(self.workspaces, self.corpus, &session, self.oracle.is_some())? {
            Ok(workspace) => workspace,
            Err(failure) => {
                touched.failed(None);
                self.executed.lock().unwrap_or_else(PoisonError::into_inner).add(&touched);
                return Ok(Outcome::WorkerFailed { failure, stderr: String::new() });
            }
        };
        let watch = || workspace.watch(&session);
        let answer = self.attempt(worker, |process| {
            let answer = process.execute(workspace.launches(&session), &watch)?;
            // Once more: what came with the answer counts as well.
            watch().map(|()| answer)
        });
        let outcome = match answer.map(|answer| judge::verdict(unit.case, &answer)) {
            Ok(Judgement::Passed) => match self.judge(&session, &workspace, &expectations, &mut touched) {
                Ok(Ok(())) => Outcome::Passed,
                Ok(Err(Fault { mismatch, key, class })) => {
                    touched.failed(key.map(|key| (key, class.unwrap_or_else(|| session.class()))));
                    Outcome::WrongAnswer(mismatch.of_elements(key))
                }
                Err(Unjudged::Run(cause)) => return Err(cause),
                Err(Unjudged::Stopped) => return Ok(interrupted()),
                Err(Unjudged::Lost(cause)) => {
                    touched.failed(None);
                    Outcome::WorkerFailed { failure: Failure::NoOracle(cause), stderr: String::new() }
                }
            },
            Ok(Judgement::Skipped(reason)) => return Ok(Outcome::Skipped(reason)),
            Ok(judgement @ Judgement::Failed(_)) => {
                touched.failed(None);
                judgement.into()
            }
            Err(Outcome::Skipped(reason)) => return Ok(Outcome::Skipped(reason)),
            Err(failure) => {
                touched.failed(None);
                failure
            }
        };
        self.executed.lock().unwrap_or_else(PoisonError::into_inner).add(&touched);
        Ok(outcome)
    }

    /// Judges the files of a session that the worker accepted. The first launch that is wrong ends it.
    fn judge(
        &self,
        session: &Session<'_>,
        workspace: &Workspace,
        expectations: &[Vec<Expectation>],
        touched: &mut Touched,
    ) -> Result<Result<(), Fault>, Unjudged> {
        let (opcode, class) = (session.opcode(), session.class());
        let mut caches = BTreeMap::new();
        for (n, expected) in expectations.iter().enumerate() {
            // The trace first: it says which task is to blame for what is wrong with the outputs.
            if let Some(oracle) = self.oracle
                && let Err(fault) = self.judge_trace(oracle, session, workspace, n, &mut caches, touched)?
            {
                return Ok(Err(fault));
            }
            let Some(launch) = session.launches.get(n) else { continue };
            let judged = workspace
                .output(n, &launch.program)
                .and_then(|file| outputs(&format!("launch {n}"), expected, &file));
            match judged {
                Ok(judged) => {
                    judged.iter().for_each(|one| touched.used(((opcode, one.dtype), class), one.share))
                }
                Err(fault) => {
                    let key = fault.key.map(|(_, dtype)| (opcode, dtype));
                    return Ok(Err(Fault { key, ..fault }));
                }
            }
        }
        Ok(Ok(()))
    }

    /// Judges the trace of a launch. `caches` are those that the launch before left.
    fn judge_trace(
        &self,
        oracle: &dyn Oracle,
        session: &Session<'_>,
        workspace: &Workspace,
        n: usize,
        caches: &mut BTreeMap<String, Tensor>,
        touched: &mut Touched,
    ) -> Result<Result<(), Fault>, Unjudged> {
        let Some(launch) = session.launches.get(n) else { return Ok(Ok(())) };
        let program = &launch.program;
        let files = workspace.trace(n, program).and_then(|trace| Ok((trace, workspace.output(n, program)?)));
        let (trace, output) = match files {
            Ok(files) => files,
            Err(fault) => return Ok(Err(fault)),
        };
        let Bound { tensors, caches: given } = session.bound(launch)?;
        // Caches are bound in the first launch only (EXE-08).
        if n == 0 {
            caches.extend(given);
        }
        let place = format!("launch {n}");
        let judged = || {
            let mut following =
                oracle.follow(launch.document, program, &tensors, caches, self.hello.accumulator)?;
            follow(&place, program, &mut *following, &trace, &output)
        };
        // An oracle that was killed while it was idle says nothing about this launch.
        let traced = match judged() {
            Err(NoAnswer::Killed(_) | NoAnswer::Silent(_)) => judged()?,
            answered => answered?,
        };
        Ok(traced.map(|traced| {
            for (place, share) in traced.tasks {
                touched.used(place, share);
            }
            // A cache that no task lists stays as it was.
            caches.extend(traced.caches);
        }))
    }
}

/// Why what a worker wrote is not judged.
enum Unjudged {
    /// The run cannot go on.
    Run(RunError),
    /// The oracle is lost, which only this case pays for.
    Lost(String),
    /// The run was asked to stop.
    Stopped,
}

impl From<CorpusError> for Unjudged {
    fn from(cause: CorpusError) -> Unjudged {
        Unjudged::Run(cause.into())
    }
}

impl From<NoAnswer> for Unjudged {
    fn from(cause: NoAnswer) -> Unjudged {
        match cause {
            NoAnswer::Faulty(cause) => Unjudged::Run(RunError::Oracle(cause)),
            NoAnswer::Killed(cause) | NoAnswer::Silent(cause) => Unjudged::Lost(cause),
            NoAnswer::Stopped => Unjudged::Stopped,
        }
    }
}
