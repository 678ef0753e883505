//! COPY (clause OPC-01): every element as it is.

use super::{Data, Kernel, TaskView, Written, elementwise};

pub(super) struct Copy;

pub(super) static KERNEL: Copy = Copy;

impl Kernel for Copy {
    fn run(&self, task: &TaskView<'_>) -> Written {
        match task.inputs.first().map(|x| x.data) {
            Some(Data::Ints(ints)) => Written::Ints(ints.iter().map(|&int| Some(int)).collect()),
            _ => elementwise::map(task, |x| x),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::vm::bounded::Bounded;
    use crate::vm::kernels::testing::{Input, assert_exact, bounded, integers, ints, reals};

    #[test]
    fn elements_keep_their_order_and_value() {
        let x = [1.0, -2.5, 0.0, f64::INFINITY, f64::NAN, 1e-45];
        assert_exact("COPY F32[2,3] -> BF16[3,2]", &[reals(&x)], &x);
        assert!(bounded("COPY F32[1] -> F32[1]", &[reals(&[-0.0])])[0].v.is_sign_negative());
    }

    #[test]
    fn integers_are_copied_as_integers() {
        let written = integers("COPY I4[3] -> I4[3]", &[ints(&[0, 15, 7])]);
        assert_eq!(written, [Some(0), Some(15), Some(7)]);
    }

    #[test]
    fn errors_pass_through() {
        let written = bounded("COPY F32[2] -> F16[2]", &[Input::Bounded(vec![1.0, 2.0], vec![0.0, 0.5])]);
        assert_eq!(written, [Bounded::exact(1.0), Bounded { v: 2.0, e: 0.5 }]);
    }
}
