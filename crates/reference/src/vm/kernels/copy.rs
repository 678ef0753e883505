//! COPY (clause OPC-01): every element as it is.

use super::{Data, Kernel, TaskView, Written, elementwise};

pub(super) struct Copy;

impl Kernel for Copy {
    fn run(&self, task: &TaskView<'_>) -> Written {
        match task.inputs.first().map(|x| x.data) {
            Some(Data::Ints(ints)) => Written::Ints(ints.iter().map(|&int| Some(int)).collect()),
            _ => elementwise::map(task, |x| x),
        }
    }
}
