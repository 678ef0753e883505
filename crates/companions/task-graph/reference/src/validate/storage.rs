//! Who accesses which memory (clause TGR-05): the tiles of all tasks by the memory that they are in.

use std::collections::HashMap;

use megakernel_ir::TaskId;
use megakernel_ir::diagnostic::AccessKind;
use megakernel_task_graph::{Effect, Select, Task, Tile};

use crate::types;
use crate::validate::area::{Area, Footprint, Layout};
use crate::validate::world::{Trigger, World};
use smallvec::SmallVec;

/// A tensor in the memory of a rank.
pub struct Storage<'g> {
    /// Index of the rank.
    pub rank: usize,
    /// Name of the tensor.
    pub name: &'g str,
    /// Whether any task writes it.
    pub is_written: bool,
    /// Whether any task adds to it.
    pub is_added_to: bool,
    /// What tasks select of it: each is one more axis of its areas.
    axes: Vec<Axis>,
    uses: Vec<Use>,
}

/// A selection, with the type of the tasks that it means something to if it is no other's (clause TGR-22).
type Axis = (Select, Option<i64>);

/// Along an axis of selections, the number of a value: those of metadata have 32 bits and a sign.
fn number(value: i64) -> u64 {
    value.saturating_add(1 << 40).unsigned_abs()
}

/// Along an axis of selections: what an access that selects nothing covers.
const EVERYTHING: [u64; 2] = [0, 1 << 41];

/// A tile of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The task.
    pub task: TaskId,
    /// Whether it stands among the outputs.
    pub is_output: bool,
    /// Index among inputs or outputs.
    pub position: u8,
}

/// What one task does to a storage with one tile.
#[derive(Clone, Debug)]
pub struct Access {
    /// The tile.
    pub of: Use,
    /// Read or write.
    pub kind: AccessKind,
    /// Of a write: whether it adds, so that it reads as well.
    pub adds: bool,
    /// The elements.
    pub area: Area,
}

impl Access {
    /// Whether two accesses in any order need not have the same result.
    pub fn conflicts(&self, other: &Access) -> bool {
        let writes = self.kind == AccessKind::Write || other.kind == AccessKind::Write;
        writes && !(self.adds && other.adds)
    }
}

impl Use {
    /// The tile, if there is one.
    pub fn tile<'g, 'a>(self, world: &World<'_, 'g, 'a>) -> Option<&'g Tile<'a>> {
        let task = world.task(self.task);
        let list = if self.is_output { task.outputs() } else { task.inputs() };
        list.get(usize::from(self.position))
    }

    /// What of the tile the task touches.
    pub fn footprint<'g, 'a>(self, world: &World<'_, 'g, 'a>) -> Option<Footprint<'g, 'a>> {
        Some(Footprint { tile: self.tile(world)?, is_slot: is_slot(world.task(self.task), self.is_output) })
    }

    /// What the task does with the tile.
    pub fn effect(self, world: &World<'_, '_, '_>) -> Effect {
        types::effect(world.task(self.task).task_type, self.is_output, usize::from(self.position))
    }

    /// What it selects of the tile, with the values.
    fn selected<'w>(self, world: &'w World<'_, '_, '_>) -> impl Iterator<Item = (Axis, i64)> + use<'w> {
        let task = world.task(self.task);
        let role = types::role(task.task_type, self.is_output, usize::from(self.position));
        role.map_or(&[][..], |role| role.by).iter().filter_map(move |&select| {
            let how = select.selection()?;
            let value = task.member(how.member)?;
            let value = if how.modulo == 0 { value } else { value.rem_euclid(how.modulo) };
            Some(((select, how.own.then_some(task.task_type)), value))
        })
    }

    /// JSON pointer of the tile.
    pub fn pointer(self, world: &World<'_, '_, '_>) -> String {
        let list = if self.is_output { "outputs" } else { "inputs" };
        world.at_task(self.task, &format!("/{list}/{}", self.position))
    }
}

/// Whether a task writes one slot of its outputs only.
pub fn is_slot(task: &Task<'_>, is_output: bool) -> bool {
    is_output && types::is_put(task.task_type)
}

impl<'g> Storage<'g> {
    /// All storages, in the order of their first tiles, and each one's tiles in the order of the document.
    pub fn all(world: &World<'_, 'g, '_>) -> Vec<Storage<'g>> {
        let mut storages: Vec<Storage<'g>> = Vec::new();
        let mut by_name: HashMap<(usize, &'g str), usize> = HashMap::new();
        // Neighbouring tasks mostly use the same tensors in the same places.
        let mut recent = [(usize::MAX, "", 0usize); 16];
        for rank in 0..world.ranks.len() {
            for (id, task) in world.tasks_of(rank).zip(&world.ranks[rank].graph.all_tasks).skip(2) {
                let inputs = task.inputs().iter().enumerate().map(|(i, tile)| (false, i, tile));
                let outputs = task.outputs().iter().enumerate().map(|(i, tile)| (true, i, tile));
                for (is_output, position, tile) in inputs.chain(outputs).filter(|(.., tile)| !tile.is_null())
                {
                    let of = Use { task: id, is_output, position: position as u8 };
                    let effect = types::effect(task.task_type, is_output, position);
                    if effect == Effect::None {
                        continue;
                    }
                    let owner = match world.triggers[id.index()] {
                        _ if !is_slot(task, is_output) => rank,
                        Trigger::Event(event) => world.event_place(event).0,
                        // In memory that is not there to be looked at.
                        Trigger::Elsewhere | Trigger::Nothing => continue,
                    };
                    let meets = !is_output && position == 0 && types::is_collective(task.task_type);
                    let everywhere = meets && !world.is_partial;
                    let others = (0..world.ranks.len()).filter(|&other| everywhere && other != rank);
                    for owner in [owner].into_iter().chain(others) {
                        let cached = &mut recent[position % 8 + if is_output { 8 } else { 0 }];
                        if cached.0 != owner || cached.1 != &*tile.base_ptr {
                            let index = *by_name.entry((owner, &tile.base_ptr)).or_insert_with(|| {
                                storages.push(Storage {
                                    rank: owner,
                                    name: &tile.base_ptr,
                                    is_written: false,
                                    is_added_to: false,
                                    axes: Vec::new(),
                                    uses: Vec::new(),
                                });
                                storages.len() - 1
                            });
                            *cached = (owner, &tile.base_ptr, index);
                        }
                        let storage = &mut storages[cached.2];
                        storage.is_written |= effect != Effect::Read;
                        storage.is_added_to |= effect == Effect::Add;
                        for (axis, _) in of.selected(world) {
                            if !storage.axes.contains(&axis) {
                                storage.axes.push(axis);
                            }
                        }
                        storage.uses.push(of);
                    }
                }
            }
        }
        storages
    }

    /// The layout that its tiles have in common.
    pub fn layout(&self, world: &World<'_, 'g, '_>) -> Layout {
        Layout::of(self.uses.iter().filter_map(|one| one.footprint(world)))
    }

    /// The first tile with which the layout is irregular.
    pub fn first_irregular(&self, world: &World<'_, 'g, '_>) -> Option<Use> {
        // What is regular is so without its last tiles too: the first one is found by halving.
        let irregular = |count: usize| {
            Layout::of(self.uses[..count].iter().filter_map(|one| one.footprint(world))) == Layout::Irregular
        };
        let (mut regular, mut broken) = (0, self.uses.len());
        while regular + 1 < broken {
            let middle = regular.midpoint(broken);
            *(if irregular(middle) { &mut broken } else { &mut regular }) = middle;
        }
        self.uses.get(broken.checked_sub(1)?).copied()
    }

    /// Every access, in the order of the document; a cache is read and written.
    pub fn accesses(&self, world: &World<'_, 'g, '_>, layout: &Layout) -> Vec<Access> {
        let mut accesses = Vec::with_capacity(self.uses.len());
        for &of in &self.uses {
            let Some(footprint) = of.footprint(world) else { continue };
            let mut area = layout.area(footprint);
            if !self.axes.is_empty() {
                let own: SmallVec<[(Axis, i64); 4]> = of.selected(world).collect();
                area.extend(self.axes.iter().map(|axis| {
                    let value = own.iter().find(|(other, _)| other == axis).map(|(_, value)| *value);
                    value.map_or(EVERYTHING, |value| [number(value), number(value) + 1])
                }));
            }
            let effect = of.effect(world);
            let adds = effect == Effect::Add;
            if !matches!(effect, Effect::None | Effect::Read) {
                accesses.push(Access { of, kind: AccessKind::Write, adds, area: area.clone() });
            }
            if matches!(effect, Effect::Read | Effect::Modify | Effect::Reset) {
                accesses.push(Access { of, kind: AccessKind::Read, adds, area });
            }
        }
        accesses
    }
}
