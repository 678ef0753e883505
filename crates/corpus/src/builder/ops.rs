//! Common shapes of work: one task an operation, or one task a tile.

use serde_json::Value;

use super::{Buf, Ctr, DType, Op, ProgramBuilder};

/// Storage of the weight of a matrix product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weights {
    /// Floating point `[N, K]`.
    Float(DType),
    /// Signed bytes `[N, K]` with a scale for each group of columns.
    I8 {
        /// Columns that share a scale.
        group: u64,
        /// Type of the zero points, if the scheme has them.
        zeros: Option<DType>,
    },
    /// Two 4-bit numbers a byte, `[N, K / 2]` of U8.
    I4Bytes {
        /// Columns that share a scale.
        group: u64,
        /// Type of the zero points, if the scheme has them.
        zeros: Option<DType>,
    },
    /// 4-bit numbers, `[N, K]` of I4.
    I4 {
        /// Columns that share a scale.
        group: u64,
        /// Type of the zero points, if the scheme has them.
        zeros: Option<DType>,
    },
}

/// The weight operands of a matrix product, and the params that describe them.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Rows (outputs).
    pub n: u64,
    /// Columns (inputs).
    pub k: u64,
    /// Weight, then bias or scales, then zeros.
    pub operands: Vec<Buf>,
    /// `qdtype` and `group`.
    pub quantised: Option<(u64, u64)>,
}

/// How a matrix product is cut into tasks.
#[derive(Clone, Copy, Debug)]
pub struct Tiles {
    /// Columns of the output a task writes.
    pub n: u64,
    /// Rows of the output a task writes; `None` makes GEMV_TILE tasks, `Some` GEMM_TILE tasks.
    pub m: Option<u64>,
}

impl From<u64> for Tiles {
    fn from(n: u64) -> Self {
        Self { n, m: None }
    }
}

impl ProgramBuilder {
    /// Adds the weight operands of an `[n, k]` matrix.
    pub fn matrix(&mut self, name: &str, n: u64, k: u64, weights: Weights) -> Matrix {
        let (main, quantised, zeros) = match weights {
            Weights::Float(dtype) => (self.weight(name, dtype, &[n, k]), None, None),
            Weights::I8 { group, zeros } => (self.weight(name, DType::I8, &[n, k]), Some((6, group)), zeros),
            Weights::I4Bytes { group, zeros } => {
                (self.weight(name, DType::U8, &[n, k / 2]), Some((7, group)), zeros)
            }
            Weights::I4 { group, zeros } => (self.weight(name, DType::I4, &[n, k]), Some((7, group)), zeros),
        };
        let mut operands = vec![main];
        if let Some((_, group)) = quantised {
            let shape = [n, k.div_ceil(group)];
            operands.push(self.weight(&format!("{name}.scales"), DType::F16, &shape));
            if let Some(dtype) = zeros {
                operands.push(self.weight(&format!("{name}.zeros"), dtype, &shape));
            }
        }
        Matrix { n, k, operands, quantised }
    }

    /// Multiplies `x` by a matrix, one task a tile; the tasks share one counter, which is returned.
    /// Tasks are labelled `label[t0]`, `label[t1]`, ... in row-major order of the tiles.
    pub fn matmul(
        &mut self,
        label: &str,
        x: Buf,
        matrix: &Matrix,
        y: Buf,
        tiles: Tiles,
        after: &[Ctr],
    ) -> Ctr {
        let done = self.counter(label);
        let (rows, height) = match tiles.m {
            Some(height) => (self.shape(x).first().copied().unwrap_or(1), height),
            None => (1, 1),
        };
        let mut index = 0;
        for m_off in (0..rows).step_by(height.max(1) as usize) {
            for n_off in (0..matrix.n).step_by(tiles.n.max(1) as usize) {
                let n_tile = tiles.n.min(matrix.n - n_off);
                let m_tile = height.min(rows - m_off);
                let mut inputs = vec![x];
                inputs.extend(&matrix.operands);
                let op = if tiles.m.is_some() { Op::GemmTile } else { Op::GemvTile };
                let mut task = self.task(op).reads(&inputs).writes(&[y]).out(done).after(after);
                task = task.param("K", matrix.k).param("N_tile", n_tile).param("n_off", n_off);
                if tiles.m.is_some() {
                    task = task.param("M_tile", m_tile).param("m_off", m_off);
                }
                if let Some((qdtype, group)) = matrix.quantised {
                    task = task.param("qdtype", qdtype).param("group", group);
                }
                task.cost(n_tile * matrix.k * 2, n_tile * matrix.k * m_tile * 2)
                    .label(&format!("{label}[t{index}]"))
                    .add();
                index += 1;
            }
        }
        done
    }

    /// One task with the given operands and params.
    pub fn op(
        &mut self,
        op: Op,
        label: &str,
        inputs: &[Buf],
        output: Buf,
        params: &[(&str, Value)],
        after: &[Ctr],
    ) -> Ctr {
        self.task(op).reads(inputs).writes(&[output]).after(after).label(label).params(params).add()
    }

    /// One COPY.
    pub fn copy(&mut self, label: &str, x: Buf, y: Buf, after: &[Ctr]) -> Ctr {
        self.op(Op::Copy, label, &[x], y, &[], after)
    }

    /// One RMSNORM over the last axis of `x`.
    pub fn rmsnorm(&mut self, label: &str, x: Buf, w: Buf, y: Buf, after: &[Ctr]) -> Ctr {
        let hidden = self.shape(x).last().copied().unwrap_or(1);
        self.op(Op::RmsNorm, label, &[x, w], y, &[("eps", 1e-6.into()), ("hidden", hidden.into())], after)
    }

    /// Assigns every task to the SM that `place` gives for its index.
    pub fn assign(&mut self, place: impl Fn(usize) -> Option<usize>) {
        for (index, task) in self.tasks.iter_mut().enumerate() {
            task.sm = place(index).map(|sm| sm as i64);
        }
    }
}

impl ProgramBuilder {
    /// Puts every ACTIVATION on a page; buffers for which `key` gives the same text share one, as large as the largest.
    /// Their space becomes `space`.
    pub fn page_activations(&mut self, space: super::Space, key: impl Fn(&str) -> String) {
        let mut page_of_key: Vec<(String, super::PageId)> = Vec::new();
        for index in 0..self.buffers.len() {
            let Some(buffer) = self.buffers.get_mut(index) else { continue };
            if buffer.kind != super::Kind::Activation {
                continue;
            }
            buffer.space = space;
            let key = key(&buffer.name);
            let bytes = self.bytes(Buf(index));
            let page = match page_of_key.iter().find(|(known, _)| *known == key) {
                Some((_, page)) => *page,
                None => {
                    let page = self.page(space, bytes);
                    page_of_key.push((key, page));
                    page
                }
            };
            if let Some((_, nbytes)) = self.pages.get_mut(page.0) {
                *nbytes = bytes.max(*nbytes);
            }
            self.place(Buf(index), page);
        }
    }
}
