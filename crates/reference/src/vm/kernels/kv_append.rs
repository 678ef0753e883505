//! KV_APPEND (clause OPC-16): the new rows as they are. Whatever the rank of the cache, the region that is
//! written has the order of `new`.

use super::{Kernel, TaskView, Written, elementwise};

pub(super) struct KvAppend;

pub(super) static KERNEL: KvAppend = KvAppend;

impl Kernel for KvAppend {
    fn run(&self, task: &TaskView<'_>) -> Written {
        elementwise::map(task, |new| new)
    }
}

#[cfg(test)]
mod tests {
    use crate::vm::kernels::testing::{assert_exact, reals};

    #[test]
    fn new_rows_are_written_in_their_order() {
        let rows: Vec<f64> = (0..12).map(f64::from).collect();
        let cache = reals(&[9.0; 48]);
        let task = "KV_APPEND F32[12] F16[8,2,3] -> #1; pos=4";
        assert_exact(task, &[reals(&rows), cache], &rows);
    }

    #[test]
    fn each_sequence_gets_its_row() {
        let rows: Vec<f64> = (0..6).map(f64::from).collect();
        let cache = reals(&[9.0; 24]);
        assert_exact("KV_APPEND F32[3,2] F32[3,4,1,2] -> #1; pos=3", &[reals(&rows), cache], &rows);
    }

    #[test]
    fn the_cache_does_not_matter() {
        let task = "KV_APPEND F32[2] F32[2,1,2] -> #1; pos=0";
        assert_exact(task, &[reals(&[1.0, -0.0]), reals(&[f64::NAN; 4])], &[1.0, 0.0]);
    }
}
