//! From a system on which validator and explorer disagree to smaller ones.

use megakernel_task_graph::{EVENT_INVALID, EventId, System};

/// Without a task, an event, or a tile; with fewer triggers awaited.
pub fn smaller<'a>(system: &System<'a>) -> Vec<System<'a>> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut System<'a>)| {
        let mut copy = system.clone();
        change(&mut copy);
        all.push(copy);
    };
    let named = |rank: usize, position: usize| {
        let bits = |nvshmem| EventId { rank: rank as u16, position: position as u32, nvshmem }.bits();
        [bits(false), bits(true)]
    };
    if system.ranks.len() > 1 {
        with(&|copy| drop(copy.ranks.pop()));
    }
    for (rank, graph) in system.ranks.iter().enumerate() {
        for task in 2..graph.all_tasks.len() {
            with(&|copy| remove_task(copy, rank, task));
            let lists = [&graph.all_tasks[task].inputs, &graph.all_tasks[task].outputs];
            for (list, tiles) in lists.iter().enumerate() {
                for tile in 0..tiles.as_ref().map_or(0, Vec::len) {
                    with(&|copy| {
                        let task = &mut copy.ranks[rank].all_tasks[task];
                        let tiles = if list == 0 { &mut task.inputs } else { &mut task.outputs };
                        tiles.iter_mut().for_each(|tiles| drop(tiles.remove(tile)));
                    });
                }
            }
        }
        for event in 2..graph.all_events.len() {
            let ids = named(rank, event);
            let used = system.ranks.iter().flat_map(|graph| &graph.all_tasks);
            let used =
                used.flat_map(|task| [task.dependent_event, task.trigger_event]).any(|id| ids.contains(&id));
            if !used && graph.all_events[event].event_type == 900 {
                with(&|copy| remove_event(copy, rank, event));
            }
            if graph.all_events[event].num_triggers > 1 {
                with(&|copy| copy.ranks[rank].all_events[event].num_triggers -= 1);
            }
        }
    }
    all
}

fn remove_task(system: &mut System<'_>, rank: usize, task: usize) {
    let graph = &mut system.ranks[rank];
    graph.all_tasks.remove(task);
    let down = |id: &mut i64| *id -= i64::from(*id > task as i64);
    graph.all_events.iter_mut().for_each(|event| {
        down(&mut event.first_task_id);
        down(&mut event.last_task_id);
    });
    let waits = |id: &&i64| **id as usize != task;
    graph.first_tasks = graph.first_tasks.iter().filter(waits).copied().collect();
    graph.first_tasks.iter_mut().for_each(down);
}

fn remove_event(system: &mut System<'_>, rank: usize, event: usize) {
    system.ranks[rank].all_events.remove(event);
    for id in system
        .ranks
        .iter_mut()
        .flat_map(|graph| &mut graph.all_tasks)
        .flat_map(|task| [&mut task.dependent_event, &mut task.trigger_event])
    {
        let named = EventId::from_bits(*id).filter(|named| usize::from(named.rank) == rank);
        if let Some(named) = named.filter(|named| named.position as usize > event && *id != EVENT_INVALID) {
            *id = EventId { position: named.position - 1, ..named }.bits();
        }
    }
}
