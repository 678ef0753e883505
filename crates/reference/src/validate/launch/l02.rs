//! L02 threads-per-block: a block of this size can be launched.

use megakernel_ir::Rule;
use megakernel_ir::model::{ScheduleConfig, Target};
use megakernel_order::Findings;

/// The largest block that CUDA launches.
const MAX_THREADS: i64 = 1024;

pub(super) fn check(config: &ScheduleConfig<'_>, target: Option<&Target<'_>>, findings: &mut Findings) {
    let found = config.threads_per_block;
    let most = target.map_or(MAX_THREADS, |target| target.max_threads_per_sm.min(MAX_THREADS));
    if found < 1 || found > most {
        let message = format!("a block has {found} threads, required 1 to {most}");
        findings.broken(Rule::L02, "/config/threads_per_block", message);
    }
}
