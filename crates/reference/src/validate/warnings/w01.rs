//! W01 unknown-param: a parameter that no field of `amk_params_t` takes.

use megakernel_ir::diagnostic::pointer_token;
use megakernel_ir::model::Task;
use megakernel_ir::params::ParamKey;
use megakernel_ir::{Rule, TaskId};
use megakernel_order::Findings;

pub(super) fn check(id: TaskId, task: &Task<'_>, findings: &mut Findings) {
    for (key, _) in &task.params.0 {
        if let ParamKey::Unknown(name) = key {
            let message = format!("the parameter `{name}` is not known and does not reach the device");
            let token = pointer_token(name);
            findings.broken(Rule::W01, format!("/tasks/{id}/params/{token}"), message);
        }
    }
}
