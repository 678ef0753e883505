//! Tasks that wait for each of their operands, one of which comes late: who drops a wait has what was there before.

use super::super::bench::{Behind, Bench, Join};
use super::{operands, plain, some};
use crate::builder::{FLOATS, Op, Result};
use megakernel_ir::rule::clause;

/// SMs that few GPUs have; most tasks are on none.
const SMS: [Option<usize>; 5] = [None, Some(70), None, Some(131), None];

/// The cases of an opcode.
pub fn fill(b: &mut Bench, op: Op) -> Result<()> {
    let eight = matches!(op, Op::AllreduceShard | Op::AttentionCombine);
    let inputs = if eight { 8 } else { operands(b, "waits", op, &[FLOATS[0]]).len() };
    let joins = [Join::Twice, Join::One, Join::Nop, Join::NopOne];
    let each = (0..inputs).map(|late| (late, Join::Each));
    let last = inputs.saturating_sub(1);
    let first = joins[1..].iter().filter(|_| last > 0).map(|&join| (0, join));
    let forms = each.chain(joins.map(|join| (last, join))).chain(first);
    for (turn, (late, join)) in forms.enumerate() {
        // A task has room for 8 waits.
        if eight && join == Join::Twice {
            continue;
        }
        let name = match join {
            Join::Each => "each",
            Join::Twice => "twice",
            Join::One => "one-counter",
            Join::Nop => "nop",
            Join::NopOne => "nop-one-counter",
        };
        let form = format!("{name}-late-{late}");
        let from = FLOATS[turn % FLOATS.len()];
        let to = FLOATS[(turn + 2) % FLOATS.len()];
        let mut given = operands(b, "waits", op, &[from]);
        if op == Op::AllreduceShard {
            given = (0..8).map(|index| some(b, "waits", &format!("shard-{index}"), from, &[2, 5])).collect();
        }
        if op == Op::AttentionCombine {
            given = (0..8).map(|index| super::partial(b, "waits", index)).collect();
        }
        let about = "the copy of one operand comes late, and the task waits for all";
        let spec = plain(b, op, &form, "waits", about, given, to);
        let sm = SMS[turn % SMS.len()];
        b.add(spec.behind(Behind { late, join, sm }).clause(clause::EXE_01))?;
    }
    Ok(())
}
