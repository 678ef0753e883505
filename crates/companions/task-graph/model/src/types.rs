//! What task types do with their operands: the types of the table in `task-types.json` (clauses TGR-05 and TGR-22).

use crate::Task;
use crate::generated::{SELECTIONS, TASK_TYPES};

/// A task type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskType {
    /// The number in documents.
    pub code: i64,
    /// The name, in capitals.
    pub name: &'static str,
    /// What kernel graphs of the current generator call it; empty where they do not.
    pub register: &'static str,
    /// Which generators write it.
    pub version: Version,
    /// Whether it has to do with other ranks.
    pub reach: Reach,
    /// What else there is to say.
    pub note: &'static str,
    /// What it does with its inputs.
    pub inputs: &'static [Role],
    /// What it does with its outputs.
    pub outputs: &'static [Role],
}

/// What a type does with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// What the operand is.
    pub role: &'static str,
    /// What is done to it.
    pub access: Effect,
    /// What of it; all if empty.
    pub by: &'static [Select],
}

/// Generators that write a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// That of mid 2025.
    Earlier,
    /// That of spring 2026.
    Current,
    /// Both.
    Both,
}

/// What a type has to do with other ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Nothing.
    Own,
    /// It writes a slot in the memory of the rank whose event it triggers.
    Put,
    /// It meets the tasks of all ranks, and reads their operands.
    Rendezvous,
}

/// What is done to an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// It is read and written.
    Modify,
    /// It is read, and then set to its start value.
    Reset,
    /// Something is added to it, atomically.
    Add,
}

/// A member that says what is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// `request_id`.
    RequestId,
    /// `kv_idx`.
    KvIdx,
    /// `merge_task_offset`.
    MergeTaskOffset,
    /// `expert_offset`.
    ExpertOffset,
    /// `variant_id`.
    VariantId,
}

/// A selection of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Select {
    /// Rows or pages of one request.
    Request,
    /// Positions of one chunk of the text.
    Chunk,
    /// Rows of the experts of one offset.
    Experts,
    /// The same, in strides of 10.
    Experts10,
    /// The same, in strides of 8.
    Experts8,
    /// The same, in strides of 5.
    Experts5,
    /// The same, in strides of 4.
    Experts4,
    /// One block, by the lowest part of the metadata word.
    WordLow,
    /// One block, by the part in its middle.
    WordMiddle,
    /// One block, by its upper half.
    WordHigh,
    /// One column, by the variant.
    Variant,
}

/// How a selection is read off a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Which.
    pub select: Select,
    /// The member that says what is selected.
    pub member: Member,
    /// Values that differ by a multiple of this select the same; 0 if only equal ones do.
    pub modulo: i64,
    /// Whether it means something to tasks of one type only.
    pub own: bool,
}

impl TaskType {
    /// The type with this number, if there is one.
    pub fn of(code: i64) -> Option<&'static TaskType> {
        let index = TASK_TYPES.binary_search_by_key(&code, |one| one.code).ok()?;
        TASK_TYPES.get(index)
    }

    /// The type that kernel graphs call so.
    pub fn registered(name: &str) -> Option<&'static TaskType> {
        TASK_TYPES.iter().find(|one| !name.is_empty() && one.register == name)
    }
}

impl Select {
    /// How it is read off a task.
    pub fn selection(self) -> Option<&'static Selection> {
        SELECTIONS.iter().find(|one| one.select == self)
    }
}

impl Task<'_> {
    /// Its type, if the table has it.
    pub fn known_type(&self) -> Option<&'static TaskType> {
        TaskType::of(self.task_type)
    }

    /// The value of a member; nothing where the document does not have it.
    pub fn member(&self, member: Member) -> Option<i64> {
        match member {
            Member::RequestId => self.request_id.0,
            Member::KvIdx => self.kv_idx.0,
            Member::MergeTaskOffset => self.merge_task_offset.0,
            Member::ExpertOffset => self.expert_offset.0,
            // Where there is no metadata, variants say nothing about parts either.
            Member::VariantId => self.expert_offset.0.map(|_| self.variant_id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend_and_every_selection_is_there() {
        assert!(TASK_TYPES.is_sorted_by(|one, other| one.code < other.code));
        for one in TASK_TYPES {
            assert_eq!(TaskType::of(one.code), Some(one));
            for select in one.inputs.iter().chain(one.outputs).flat_map(|role| role.by) {
                assert!(select.selection().is_some(), "{}: {select:?}", one.name);
            }
        }
        assert_eq!(TaskType::of(117), None);
        assert_eq!(TaskType::registered("tensor_init").map(|one| one.code), Some(262));
    }
}
