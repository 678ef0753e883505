//! W01 unknown-param: a parameter that no field of `amk_params_t` takes.

use megakernel_ir::Rule;
use megakernel_ir::diagnostic::pointer_token;
use megakernel_ir::model::Task;
use megakernel_ir::params::ParamKey;
use megakernel_order::Findings;

pub(super) fn check(index: usize, task: &Task<'_>, findings: &mut Findings) {
    for (key, _) in &task.params.0 {
        if let ParamKey::Unknown(name) = key {
            let message = format!("the parameter `{name}` is not known and does not reach the device");
            let token = pointer_token(name);
            findings.broken(Rule::W01, format!("/tasks/{index}/params/{token}"), message);
        }
    }
}
