//! L01 smem-optin: a block asks for no more shared memory than the target grants.

use megakernel_ir::Rule;
use megakernel_ir::model::{ScheduleConfig, Target};
use megakernel_order::Findings;

pub(super) fn check(config: &ScheduleConfig<'_>, target: Option<&Target<'_>>, findings: &mut Findings) {
    let found = config.smem_bytes_per_block;
    let most = target.map_or(i64::MAX, |target| target.smem_bytes_per_block_optin);
    if found < 0 || found > most {
        let required = match target {
            Some(target) => format!("0 to {most} (smem_bytes_per_block_optin of `{}`)", target.name),
            None => "at least 0".to_owned(),
        };
        let message = format!("a block asks for {found} bytes of shared memory, required {required}");
        findings.broken(Rule::L01, "/config/smem_bytes_per_block", message);
    }
}
