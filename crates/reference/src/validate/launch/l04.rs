//! L04 assignment-range: an explicit assignment names SMs that the target has.

use megakernel_ir::Rule;
use megakernel_ir::model::{ScheduleConfig, SmAssignment, Target};
use megakernel_order::Findings;

pub(super) fn check(config: &ScheduleConfig<'_>, target: Option<&Target<'_>>, findings: &mut Findings) {
    let SmAssignment::Explicit(assignment) = &config.sm_assignment else { return };
    for &(task, sm) in &assignment.0 {
        if sm < 0 || target.is_some_and(|target| sm >= target.num_sms) {
            let known = match target {
                Some(target) => format!("the target `{}` has SMs 0 to {}", target.name, target.num_sms - 1),
                None => "SMs count from 0".to_owned(),
            };
            let message = format!("task {task} is assigned to SM {sm}; {known}");
            findings.broken(Rule::L04, format!("/config/sm_assignment/{task}"), message);
        }
    }
}
