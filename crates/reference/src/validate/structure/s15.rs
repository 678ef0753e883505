//! S15 param-range: a known parameter lies in its range, wherever it is given.

use megakernel_ir::Rule;
use megakernel_ir::model::Task;
use megakernel_ir::params::{FLAG_CAUSAL, FLAG_PARTIAL_WRITE, Param, ParamKey};
use megakernel_order::Findings;

use crate::opcodes::{self, Place, Problems};
use crate::validate::structure::s14;

pub(super) fn check(index: usize, task: &Task<'_>, findings: &mut Findings) {
    for (key, value) in &task.params.0 {
        let ParamKey::Known(param) = key else { continue };
        // A value that does not fit its field is S14's.
        if s14::fits(*param, value)
            && let Some(required) = broken(*param, task)
        {
            let found = task.params.real(*param).unwrap_or_default();
            let message = format!("`{}` is {found}, required {required}", param.name());
            findings.broken(Rule::S15, format!("/tasks/{index}/params/{}", param.name()), message);
        }
    }
    let mut problems = Problems::new();
    opcodes::op(task.op).param_ranges(task, &mut problems);
    for problem in problems {
        if let Place::Param(param) = problem.place {
            findings.broken(problem.rule, format!("/tasks/{index}/params/{}", param.name()), problem.message);
        }
    }
}

/// The range that the value of a parameter is outside of.
fn broken(param: Param, task: &Task<'_>) -> Option<&'static str> {
    use Param::*;
    let int = task.params.int(param).unwrap_or_default();
    // As the device sees it.
    let real = task.params.real(param).unwrap_or_default() as f32;
    let (holds, required) = match param {
        K | N | M | NTile | MTile | Hidden | Vocab | HeadDim | NHeads | NKvHeads | Group => {
            (int >= 1, "at least 1")
        }
        NOff | MOff | KvStart | KvLen | Pos => (int >= 0, "at least 0"),
        QDType => (matches!(int, 6 | 7), "6 (I8) or 7 (I4)"),
        Flags => {
            (int & !(FLAG_CAUSAL | FLAG_PARTIAL_WRITE) == 0, "no bits but 0 (causal) and 1 (partial write)")
        }
        Eps => (real >= 0.0, "at least 0"),
        Theta => (real > 0.0, "above 0"),
        Dim | Scale => (true, ""),
    };
    (!holds).then_some(required)
}
