//! Who reads and writes which part of which buffer (clause EXE-04), gathered per buffer.

use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::model::Program;
use megakernel_ir::{BufferId, BufferKind, TaskId};

use crate::opcodes::{self, Operands};
use crate::region::Region;
use crate::validate::columns::Columns;

/// One operand of one task.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The task.
    pub task: TaskId,
    /// Read or write.
    pub kind: AccessKind,
    /// Index in the task's inputs or outputs.
    pub operand: u32,
    /// The elements; never empty.
    pub region: Region,
}

impl Access {
    /// JSON pointer of the operand.
    pub fn pointer(&self) -> String {
        let list = match self.kind {
            AccessKind::Read => "inputs",
            AccessKind::Write => "outputs",
        };
        format!("/tasks/{}/{list}/{}", self.task, self.operand)
    }
}

/// The operands of all tasks by buffer.
pub struct Accesses<'p> {
    program: &'p Program<'p>,
    starts: Vec<u32>,
    operands: Vec<Operand>,
    /// Tasks whose operands have shapes that their opcode does not take (M02, M08): their footprint is
    /// every operand whole.
    misshapen: Vec<bool>,
}

#[derive(Clone, Copy)]
struct Operand {
    task: TaskId,
    /// Index in inputs, or in outputs with the top bit set.
    position: u8,
}

const OUTPUT: u8 = 0x80;

impl<'p> Accesses<'p> {
    /// Gathers the operands of a program whose references hold. `misshapen` says of each task whether its opcode does
    /// not take operands of these shapes.
    pub fn new(program: &'p Program<'p>, columns: &Columns, misshapen: Vec<bool>) -> Accesses<'p> {
        let mut starts = vec![0u32; program.buffers.len() + 1];
        columns.all_operands().iter().for_each(|id| starts[id.index() + 1] += 1);
        for buffer in 0..program.buffers.len() {
            starts[buffer + 1] += starts[buffer];
        }
        let mut next = starts.clone();
        let mut operands =
            vec![Operand { task: TaskId::default(), position: 0 }; starts[program.buffers.len()] as usize];
        for task in TaskId::range(0..program.tasks.len()) {
            let (ids, inputs) = columns.operands(task);
            for (position, id) in ids.iter().enumerate() {
                let position = match position.checked_sub(inputs) {
                    None => position as u8,
                    Some(output) => output as u8 | OUTPUT,
                };
                let slot = &mut next[id.index()];
                operands[*slot as usize] = Operand { task, position };
                *slot += 1;
            }
        }
        Accesses { program, starts, operands, misshapen }
    }

    /// Whether any task lists the buffer.
    pub fn is_used(&self, buffer: BufferId) -> bool {
        !self.slice(buffer).is_empty()
    }

    /// The tasks that list a buffer, in list order; a task as often as it lists it.
    pub fn tasks(&self, buffer: BufferId) -> impl Iterator<Item = TaskId> + '_ {
        self.slice(buffer).iter().map(|operand| operand.task)
    }

    /// Every access of a buffer with a footprint, in list order; of one task, reads before writes.
    pub fn of(&self, buffer: BufferId) -> Vec<Access> {
        self.slice(buffer).iter().filter_map(|operand| self.access(operand)).collect()
    }

    fn slice(&self, buffer: BufferId) -> &[Operand] {
        let buffer = buffer.index();
        &self.operands[self.starts[buffer] as usize..self.starts[buffer + 1] as usize]
    }

    fn access(&self, operand: &Operand) -> Option<Access> {
        let task = &self.program[operand.task];
        let operands = Operands::new(self.program, task);
        let op = opcodes::op(task.op);
        let position = usize::from(operand.position & !OUTPUT);
        let whole = self.misshapen[operand.task.index()];
        let (kind, region) = if operand.position & OUTPUT != 0 {
            let whole_output = operands.outputs.get(position).map(|buffer| Region::of(buffer));
            (AccessKind::Write, if whole { whole_output } else { op.writes(&operands, position) })
        } else {
            let input = operands.inputs.get(position).filter(|_| op.accesses(position));
            let whole_input = input.map(|buffer| Region::of(buffer));
            (AccessKind::Read, if whole { whole_input } else { op.reads(&operands, position) })
        };
        let region = region.filter(|region| !region.is_empty())?;
        Some(Access { task: operand.task, kind, operand: position as u32, region })
    }
}

/// Whether the contents at launch are undefined, so that a read needs a write before it (clause EXE-08).
pub fn starts_undefined(kind: BufferKind) -> bool {
    matches!(kind, BufferKind::Activation | BufferKind::IoOutput)
}
