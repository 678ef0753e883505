//! TS10 metadata-alias.

use megakernel_ir::Rule;
use megakernel_order::Findings;
use megakernel_task_graph::Task;

use crate::validate::rank::Rank;

type Members = [(&'static str, Option<i64>); 5];

/// The members, that first which has all bits of the lower half.
pub(in crate::validate) fn members(task: &Task<'_>) -> Members {
    [
        ("expert_offset", task.expert_offset.0),
        ("task_offset", task.task_offset.0),
        ("request_id", task.request_id.0),
        ("kv_idx", task.kv_idx.0),
        ("merge_task_offset", task.merge_task_offset.0),
    ]
}

pub(super) fn check(rank: &Rank<'_, '_>, findings: &mut Findings) {
    let is_extended = rank.is_extended();
    for (index, task) in rank.graph.all_tasks.iter().enumerate() {
        if let Some((member, message)) = wrong(&members(task), is_extended) {
            let pointer = match member {
                Some(member) => format!("/all_tasks/{index}/{member}"),
                None => format!("/all_tasks/{index}"),
            };
            findings.broken(Rule::TS10, rank.at(&pointer), message);
        }
    }
}

/// The member that is wrong, none where one is missing, and why.
fn wrong(members: &Members, is_extended: bool) -> Option<(Option<&'static str>, String)> {
    if !is_extended {
        let (name, _) = members.iter().find(|(_, value)| value.is_some())?;
        let message =
            format!("`{name}` is here, but task 0 has no metadata; give it to all tasks or to none");
        return Some((Some(name), message));
    }
    if let Some((name, _)) = members.iter().find(|(_, value)| value.is_none()) {
        return Some((
            None,
            format!("the member `{name}` is missing, and task 0 has metadata; give all five to all tasks"),
        ));
    }
    let [low, task_offset, request, kv, merge] = members.map(|(_, value)| value.unwrap_or_default());
    let halves = i64::from(i32::MIN)..=i64::from(i32::MAX);
    let (low_half, high_half) = (low & 0xffff, low >> 16 & 0xffff);
    let checks = [
        ("expert_offset", halves.contains(&low), "an integer of 32 bits".to_owned()),
        ("task_offset", task_offset == low, format!("{low}, as expert_offset: they are the same bits")),
        (
            "request_id",
            (-0x8000..0x8000).contains(&request) && request & 0xffff == low_half,
            format!("{}, the low 16 bits of expert_offset", low_half as u16 as i16),
        ),
        (
            "kv_idx",
            (-0x8000..0x1_0000).contains(&kv) && kv & 0xffff == high_half,
            format!("{high_half}, the high 16 bits of expert_offset"),
        ),
        ("merge_task_offset", halves.contains(&merge), "an integer of 32 bits".to_owned()),
    ];
    let (name, _, required) = checks.into_iter().find(|(_, holds, _)| !holds)?;
    let found = members.iter().find(|(member, _)| *member == name).and_then(|(_, value)| *value);
    Some((Some(name), format!("found {}, required {required}", found.unwrap_or_default())))
}
