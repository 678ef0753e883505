//! S22 record-range: sizes, counts and rates of the target, the pages, the config and the cost hints.

use megakernel_ir::diagnostic::pointer_token;
use megakernel_ir::model::{Program, Task};
use megakernel_ir::{Number, Rule};
use megakernel_order::Findings;

pub(super) fn task(index: usize, task: &Task<'_>, findings: &mut Findings) {
    for (name, hint) in [("est_bytes", task.est_bytes), ("est_flops", task.est_flops)] {
        at_least(0, Number::Int(hint), || format!("/tasks/{index}/{name}"), findings);
    }
}

pub(super) fn records(program: &Program<'_>, findings: &mut Findings) {
    if let Some(target) = &program.target {
        let integers = [
            ("num_sms", 1, target.num_sms),
            ("sm_arch", 0, target.sm_arch),
            ("smem_bytes_per_sm", 0, target.smem_bytes_per_sm),
            ("smem_bytes_per_block_optin", 0, target.smem_bytes_per_block_optin),
            ("regs_per_sm", 0, target.regs_per_sm),
            ("max_threads_per_sm", 0, target.max_threads_per_sm),
            ("max_regs_per_thread", 0, target.max_regs_per_thread),
            ("l2_bytes", 0, target.l2_bytes),
            ("hbm_bytes", 0, target.hbm_bytes),
        ];
        for (name, least, found) in integers {
            at_least(least, Number::Int(found), || format!("/target/{name}"), findings);
        }
        let rates = [
            ("hbm_bandwidth_gbs", Some(target.hbm_bandwidth_gbs)),
            ("fp16_tflops", Some(target.fp16_tflops)),
            ("clock_ghz", Some(target.clock_ghz)),
            ("measured_bw_gbs", target.measured_bw_gbs.0),
        ];
        for (name, found) in rates {
            at_least(0, found.unwrap_or(Number::Int(0)), || format!("/target/{name}"), findings);
        }
    }
    for (index, page) in program.pages.iter().flat_map(|allocation| &allocation.pages).enumerate() {
        at_least(1, Number::Int(page.nbytes), || format!("/pages/pages/{index}/nbytes"), findings);
    }
    if let Some(config) = &program.config {
        at_least(0, Number::Int(config.pipelining_depth), || "/config/pipelining_depth".to_owned(), findings);
        for (operation, sizes) in &config.tiling.0 {
            for (name, size) in &sizes.0 {
                let pointer =
                    || format!("/config/tiling/{}/{}", pointer_token(operation), pointer_token(name));
                at_least(1, Number::Int(*size), pointer, findings);
            }
        }
    }
}

fn at_least(least: i64, found: Number, pointer: impl Fn() -> String, findings: &mut Findings) {
    let (holds, found) = match found {
        Number::Int(value) => (value >= least, value.to_string()),
        Number::Float(value) => (value >= least as f64, megakernel_ir::float_text(value)),
    };
    if !holds {
        findings.broken(Rule::S22, pointer(), format!("found {found}, required at least {least}"));
    }
}
