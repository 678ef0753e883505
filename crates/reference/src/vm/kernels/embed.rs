//! EMBED (clause OPC-02): rows of a table as they are. A row of an id out of range is not specified.

use super::view::extent;
use super::{Kernel, TaskView, Written};
use crate::vm::bounded::Bounded;

pub(super) struct Embed;

pub(super) static KERNEL: Embed = Embed;

impl Kernel for Embed {
    fn run(&self, task: &TaskView<'_>) -> Written {
        let table = task.reals(1);
        let entries = task.shape(1).first().map_or(0, |&entries| extent(entries));
        let width = table.len().checked_div(entries).unwrap_or(0);
        let mut rows = Vec::with_capacity(task.ints(0).len().saturating_mul(width));
        for &id in task.ints(0) {
            match usize::try_from(id) {
                Ok(id) if id < entries => rows.extend(table.row(id, width).iter()),
                _ => rows.extend(std::iter::repeat_n(Bounded::UNSPECIFIED, width)),
            }
        }
        Written::Reals(rows)
    }
}

#[cfg(test)]
mod tests {
    use crate::vm::kernels::testing::{assert_exact, bounded, ints, reals, specified};

    #[test]
    fn rows_are_gathered_in_the_order_of_the_ids() {
        let table = reals(&[0.0, 1.0, 10.0, 11.0, 20.0, 21.0]);
        let task = "EMBED I32[3] F32[3,2] -> BF16[3,2]; hidden=2";
        assert_exact(task, &[ints(&[2, 0, 2]), table], &[20.0, 21.0, 0.0, 1.0, 20.0, 21.0]);
    }

    #[test]
    fn one_row_serves_as_a_reshape() {
        let table: Vec<f64> = (0..8).map(f64::from).collect();
        assert_exact("EMBED I32[1] F32[1,8] -> F32[2,4]; hidden=4", &[ints(&[0]), reals(&table)], &table);
    }

    #[test]
    fn an_id_out_of_range_leaves_its_row_open() {
        let inputs = [ints(&[1, -1, 2, 0]), reals(&[5.0, f64::NAN])];
        let task = "EMBED I32[4] F32[2,1] -> F32[4]; hidden=1";
        assert_eq!(specified(task, &inputs), [true, false, false, true]);
        assert!(bounded(task, &inputs)[0].v.is_nan());
    }
}
