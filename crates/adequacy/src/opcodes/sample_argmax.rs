//! SAMPLE_ARGMAX

use super::{Task, divide, part};
use crate::kernels::Kernels;
use crate::memory::{Result, Writer};

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let logits = task.reals(0)?;
    let vocab = task.input(0)?.last()?;
    for r in 0..divide(logits.len(), vocab)? {
        let row = part(logits, r * vocab, vocab)?;
        let seen = kernels.candidates(vocab);
        let mut best = seen.start;
        let mut so_far = kernels.least_logit().or(row.get(best).copied());
        for i in seen {
            if let (Some(&logit), Some(best_logit)) = (row.get(i), so_far)
                && kernels.better(logit, best_logit)
            {
                best = i;
                so_far = Some(logit);
            }
        }
        writer.int(r, kernels.token(best, r, vocab) as i64);
    }
    Ok(())
}
