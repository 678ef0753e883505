//! Pointers, and words for people: which task, which access.

use megakernel_ir::TaskId;

use crate::ids::{PhaseId, TensorId};
use crate::world::{Access, Does, World};

impl World<'_> {
    /// A task in words.
    pub fn task_name(&self, task: TaskId) -> String {
        let at = &self.tasks[task.index()];
        let written = &self.document.tasks[at.written];
        let name = written.name.replace('#', &at.copy.to_string());
        let mut parts = Vec::new();
        if !name.is_empty() {
            parts.push(format!("`{name}`"));
        }
        if written.repeat.is_some() && !written.name.contains('#') {
            let of = if name.is_empty() { " of its repetition" } else { "" };
            parts.push(format!("number {}{of}", at.copy));
        }
        if !written.source.is_empty() {
            parts.push(written.source.clone());
        }
        match parts.is_empty() {
            true => format!("task {task}"),
            false => format!("task {task} ({})", parts.join(", ")),
        }
    }

    /// The pointer of a phase.
    pub fn phase_pointer(&self, phase: PhaseId) -> String {
        format!("/tasks/{}/phases/{}", self.of_phase(phase).written, self.place(phase))
    }

    /// The pointer of a wait, by its place among all waits.
    pub fn wait_pointer(&self, phase: PhaseId, wait: usize) -> String {
        let index = wait - self.waits.range(phase).start;
        format!("{}/waits/{index}", self.phase_pointer(phase))
    }

    /// The pointer of an access.
    pub fn access_pointer(&self, access: &Access) -> String {
        let list = match access.does {
            Does::Read => "reads",
            Does::Write => "writes",
            Does::Add => "adds",
        };
        format!("{}/{list}/{}", self.phase_pointer(access.phase), access.index)
    }

    /// The name of the tensor of an access.
    pub fn tensor_name(&self, tensor: TensorId) -> &str {
        let tensor = &self.document.tensors[tensor.index()];
        self.document.name(tensor.name)
    }

    /// An access in words: `task 3 (`name`) reads x in phase 1`.
    pub fn access_text(&self, access: &Access) -> String {
        let task = self.task_of[access.phase.index()];
        let does = match access.does {
            Does::Read => "reads",
            Does::Write => "writes",
            Does::Add => "adds to",
        };
        let phase = self.place(access.phase);
        let name = self.tensor_name(access.tensor);
        format!("{} {does} `{name}` in phase {phase}", self.task_name(task))
    }
}
