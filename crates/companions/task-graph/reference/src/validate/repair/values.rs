//! Values that nobody reads, and sums that nobody starts.

use megakernel_ir::TaskId;
use megakernel_task_graph::{Effect, TaskType, Tile};

use crate::types;
use crate::validate::repair::{Known, Repair};

/// The position of the output that a pointer leads to.
fn output(pointer: &str) -> Option<usize> {
    let (rest, position) = pointer.rsplit_once('/')?;
    rest.ends_with("/outputs").then(|| position.parse().ok())?
}

impl Known<'_, '_, '_, '_> {
    /// A tensor of its own for what is overwritten unread.
    pub(super) fn apart(&self, task: TaskId, pointer: &str) -> Option<Repair> {
        let output = output(pointer)?;
        (!types::is_put(self.world.task(task).task_type)).then_some(Repair::Apart { task, output })
    }

    /// A start value for what tasks add to, if all of them wait for the same, and all others that have to do with it come after one of them.
    pub(super) fn start(&self, task: TaskId, pointer: &str) -> Option<Repair> {
        let world = self.world;
        let output = output(pointer)?;
        let name = &*world.task(task).outputs().get(output)?.base_ptr;
        let wait = world.dependent[task.index()];
        if wait.is_some_and(|event| self.is_of_puts(event)) {
            return None;
        }
        let touches = |other: TaskId, adds: bool| {
            let record = world.task(other);
            let lists = |tiles: &[Tile<'_>], is_output: bool| {
                tiles.iter().enumerate().any(|(position, tile)| {
                    let effect = types::effect(record.task_type, is_output, position);
                    &*tile.base_ptr == name
                        && if adds { effect == Effect::Add } else { effect != Effect::None }
                })
            };
            lists(record.inputs(), false) || lists(record.outputs(), true)
        };
        let known =
            world.tasks_of(world.rank(task)).skip(2).filter(|&other| touches(other, false)).all(|other| {
                touches(other, true) && world.dependent[other.index()] == wait || self.is_before(task, other)
            });
        // There has to be a type that sets a tile to zero.
        (known && TaskType::registered("tensor_init").is_some()).then_some(Repair::Start { task, output })
    }
}
