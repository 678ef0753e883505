//! GEMM_TILE (clause OPC-06): a product of a matrix.

use super::matrix::Matrix;

pub(super) static KERNEL: Matrix = Matrix;
