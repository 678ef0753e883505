//! Which block works through which queue.

use crate::device::Room;
use crate::plan::Plan;
use megakernel_ir::prng::SplitMix64;

/// Gives the queues of a plan to random blocks. Blocks between them have nothing to do, but they decide which SM the
/// others come to: in the order of their numbers, blocks go to one SM after the other, and then to the first one again.
pub fn scatter(plan: &mut Plan, room: Room, random: &mut SplitMix64) {
    let queues = plan.num_sms;
    let most = room.sms.saturating_mul(room.blocks_per_sm);
    let mut blocks: Vec<usize> = if most <= queues {
        (0..queues).collect()
    } else {
        match random.index(3) {
            // Next to each other.
            0 => (0..queues).collect(),
            // Anywhere.
            1 => (0..most).collect(),
            // Few SMs with as many as they hold.
            _ => {
                let mut sms: Vec<usize> = (0..room.sms).collect();
                random.shuffle(&mut sms);
                sms.truncate(queues.div_ceil(room.blocks_per_sm));
                let layers = 0..room.blocks_per_sm;
                sms.iter().flat_map(|sm| layers.clone().map(move |layer| sm + layer * room.sms)).collect()
            }
        }
    };
    random.shuffle(&mut blocks);
    blocks.truncate(queues);
    for sm in &mut plan.sm {
        let block = usize::try_from(*sm).ok().and_then(|queue| blocks.get(queue));
        *sm = block.and_then(|block| i32::try_from(*block).ok()).unwrap_or(*sm);
    }
    plan.num_sms = blocks.iter().max().map_or(0, |block| block + 1);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use megakernel_ir::TaskId;

    fn scattered(queues: usize, room: Room, seed: u64) -> Plan {
        // Two tasks a queue.
        let sm = (0..2 * queues).map(|task| (task % queues) as i32).collect();
        let mut plan = Plan { order: TaskId::range(0..2 * queues).collect(), sm, num_sms: queues };
        scatter(&mut plan, room, &mut SplitMix64::new(seed));
        plan
    }

    #[test]
    fn queues_stay_apart_and_come_to_every_kind_of_place() {
        let room = Room { sms: 5, blocks_per_sm: 2 };
        let (mut dense, mut crowded, mut anywhere) = (0, 0, 0);
        for seed in 0..300 {
            let plan = scattered(4, room, seed);
            assert_eq!(plan.sm[..4], plan.sm[4..], "tasks of a queue stay together");
            let blocks: BTreeSet<i32> = plan.sm.iter().copied().collect();
            assert_eq!((blocks.len(), blocks.last().map(|last| last + 1)), (4, Some(plan.num_sms as i32)));
            assert!(plan.num_sms <= 10);
            let sms: BTreeSet<i32> = blocks.iter().map(|block| block % 5).collect();
            match sms.len() {
                2 => crowded += 1,
                _ if plan.num_sms == 4 => dense += 1,
                _ => anywhere += 1,
            }
        }
        assert!(dense > 50 && crowded > 50 && anywhere > 50, "{dense} {crowded} {anywhere}");
    }

    #[test]
    fn without_room_queues_only_change_places() {
        let found: BTreeSet<Vec<i32>> =
            (0..50).map(|seed| scattered(3, Room { sms: 3, blocks_per_sm: 1 }, seed).sm).collect();
        assert_eq!(found.len(), 6);
        assert_eq!(scattered(0, Room { sms: 3, blocks_per_sm: 1 }, 1).num_sms, 0);
    }
}
