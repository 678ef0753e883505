//! KV_APPEND (clause OPC-16): the new rows as they are. Whatever the rank of the cache, the region that is
//! written has the order of `new`.

use super::{Kernel, TaskView, Written, elementwise};

pub(super) struct KvAppend;

impl Kernel for KvAppend {
    fn run(&self, task: &TaskView<'_>) -> Written {
        elementwise::map(task, |new| new)
    }
}
