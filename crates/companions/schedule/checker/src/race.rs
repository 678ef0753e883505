//! The rules ER01 to ER04 and ER07, by all pairs.

use megakernel_ir::Rule;

use crate::Findings;
use crate::order::Order;
use crate::parts::{Does, Storage, Touch, World};

pub fn errors(world: &World<'_>, order: &Order, storage: Storage) -> Findings {
    let touches = world.touches(storage);
    let mut found = Findings::new();
    for (number, &(one, first, earlier)) in touches.iter().enumerate() {
        for &(other, second, later) in &touches[number + 1..] {
            let is_ordered = world.phases[one].task == world.phases[other].task
                || order.earlier((one, first), (other, second))
                || order.earlier((other, second), (one, first));
            if !is_ordered && overlap(earlier, later) {
                found.extend(rule(earlier, later).map(|rule| (rule, later.pointer.clone())));
            }
        }
    }
    found
}

fn overlap(one: &Touch, other: &Touch) -> bool {
    one.bytes.iter().any(|a| other.bytes.iter().any(|b| a[0].max(b[0]) < a[1].min(b[1])))
}

/// What a pair breaks that nothing orders.
fn rule(one: &Touch, other: &Touch) -> Option<Rule> {
    match (one.does, other.does) {
        (Does::Read, Does::Read) => None,
        _ if one.value != other.value => Some(Rule::ER07),
        (Does::Add, Does::Add) => (one.group.is_some() && one.group == other.group).then_some(Rule::ER04),
        (Does::Add, _) | (_, Does::Add) => Some(Rule::ER03),
        (Does::Write, Does::Write) => Some(Rule::ER02),
        _ => Some(Rule::ER01),
    }
}
