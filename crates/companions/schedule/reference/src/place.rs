//! Pointers, and words for people: which task, which access.

use crate::world::{Access, Does, World};

impl World<'_> {
    /// A task in words.
    pub fn task_name(&self, task: u32) -> String {
        let at = &self.tasks[task as usize];
        let written = &self.document.tasks[at.written as usize];
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
    pub fn phase_pointer(&self, phase: u32) -> String {
        let task = &self.tasks[self.task_of[phase as usize] as usize];
        format!("/tasks/{}/phases/{}", task.written, phase - task.phases.start)
    }

    /// The pointer of a wait, by its place among all waits.
    pub fn wait_pointer(&self, phase: u32, wait: usize) -> String {
        let index = wait - self.waits.range(phase as usize).start;
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
    pub fn tensor_name(&self, tensor: u32) -> &str {
        let tensor = &self.document.tensors[tensor as usize];
        &self.document.names[tensor.name as usize]
    }

    /// An access in words: `task 3 (`name`) reads x in phase 1`.
    pub fn access_text(&self, access: &Access) -> String {
        let task = self.task_of[access.phase as usize];
        let does = match access.does {
            Does::Read => "reads",
            Does::Write => "writes",
            Does::Add => "adds to",
        };
        let phase = access.phase - self.tasks[task as usize].phases.start;
        let name = self.tensor_name(access.tensor);
        format!("{} {does} `{name}` in phase {phase}", self.task_name(task))
    }
}
