//! Tasks that touch two rows in the middle of operands of four, while other tasks write the first and the last one, before or after:
//! what is seen of an operand here is where its tile begins and ends.

use megakernel_ir::rule::clause;
use serde_json::Value;

use super::Base;
use super::units::{PLACEMENTS, number};
use crate::builder::{Buf, Ctr, DType, Op, ProgramBuilder, clause_of, slug};

/// An operand of which the task touches rows 1 and 2 of four.
#[derive(Clone, Copy, PartialEq)]
pub enum Rows {
    /// `[4, n]`, written by GEMM_TILE.
    Matrix(u64),
    /// `[4]`, written by GEMV_TILE.
    Vector,
    /// `[4, 1, 2]`, written by KV_APPEND.
    Cache,
    /// `[2, 4, 1, 2]`, written by KV_APPEND.
    Caches,
    /// Of this shape and read whole, wherever the tile lies; one task writes it.
    Whole(&'static [u64]),
    /// Not written by any task, of this shape.
    Given(DType, &'static [u64]),
}

impl Rows {
    /// The dtype and the shape of its buffer.
    fn buffer(self) -> (DType, Vec<u64>) {
        match self {
            Rows::Matrix(n) => (DType::F32, vec![4, n]),
            Rows::Vector => (DType::F32, vec![4]),
            Rows::Cache => (DType::F32, vec![4, 1, 2]),
            Rows::Caches => (DType::F32, vec![2, 4, 1, 2]),
            Rows::Whole(shape) => (DType::F32, shape.to_vec()),
            Rows::Given(dtype, shape) => (dtype, shape.to_vec()),
        }
    }
}

/// A task under test.
pub struct Window {
    /// The opcode.
    pub op: Op,
    /// Name of the form.
    pub name: &'static str,
    /// The inputs.
    pub inputs: Vec<Rows>,
    /// The shape of the output.
    pub output: &'static [u64],
    /// The boxes of the output that other tasks write, each by a task like this one: the parameters that differ.
    pub rest: Vec<Vec<(&'static str, i64)>>,
    /// The parameters.
    pub params: Vec<(&'static str, Value)>,
}

impl Window {
    /// The name of its program in a placement.
    pub fn base(&self, placement: &str) -> String {
        format!("window/{}-{}-{placement}", slug(self.op.name()), self.name)
    }

    /// The placements that it comes in: KV_APPEND has nothing to join.
    pub fn placements(&self) -> impl Iterator<Item = &'static str> {
        let is_append = self.op == Op::KvAppend;
        PLACEMENTS.into_iter().filter(move |&placement| !(is_append && placement == "joined"))
    }

    /// `i{operand}.{row}` write the rows, `op` reads those in the middle, `rest0`.. write what `op` does not.
    fn program(&self, placement: &str) -> ProgramBuilder {
        let mut p = ProgramBuilder::new("window");
        let mut inputs: Vec<Buf> = Vec::new();
        let (mut made, mut late): (Vec<Ctr>, Vec<(usize, Rows, Buf)>) = Default::default();
        for (index, &rows) in self.inputs.iter().enumerate() {
            let name = format!("i{index}");
            let (dtype, shape) = rows.buffer();
            if matches!(rows, Rows::Given(..)) {
                inputs.push(p.input(&name, dtype, &shape));
                continue;
            }
            let buffer = p.act(&name, dtype, &shape);
            inputs.push(buffer);
            if matches!(rows, Rows::Whole(_)) {
                let source = p.input(&format!("s{index}"), dtype, &shape);
                made.push(p.copy(&name, source, buffer, &[]));
                continue;
            }
            for row in [1, 2] {
                made.push(write(&mut p, index, rows, buffer, row));
            }
            late.push((index, rows, buffer));
        }
        let y = match self.op {
            Op::KvAppend => p.act("y", DType::F32, self.output),
            _ => p.output("y", DType::F32, self.output),
        };
        let waits = match (placement, made.is_empty()) {
            ("joined", false) => vec![p.task(Op::Nop).after(&made).label("join").add()],
            _ => made,
        };
        let mut operands = inputs.clone();
        if self.op == Op::KvAppend {
            operands.push(y);
        }
        let mut done = vec![p.op(self.op, "op", &operands, y, &self.params, &waits)];
        // The rest of the output, from inputs that the host gives.
        let needed =
            if self.rest.is_empty() || self.op == Op::KvAppend { &[] } else { self.inputs.as_slice() };
        let given: Vec<Buf> = needed
            .iter()
            .enumerate()
            .map(|(index, rows)| {
                let (dtype, shape) = rows.buffer();
                p.input(&format!("g{index}"), dtype, &shape)
            })
            .collect();
        for (index, params) in self.rest.iter().enumerate() {
            let mut all: Vec<(&str, Value)> = self
                .params
                .iter()
                .filter(|(key, _)| params.iter().all(|(other, _)| other != key))
                .cloned()
                .collect();
            all.extend(params.iter().map(|(key, value)| (*key, Value::from(*value))));
            let mut operands = given.clone();
            if self.op == Op::KvAppend {
                let row = self.output.iter().product::<u64>() / 4;
                operands = vec![p.input(&format!("r{index}"), DType::F32, &[row]), y];
            }
            done.push(p.op(self.op, &format!("rest{index}"), &operands, y, &all, &[]));
        }
        for (index, rows, buffer) in late {
            for row in [0, 3] {
                write(&mut p, index, rows, buffer, row);
            }
        }
        if self.op == Op::KvAppend {
            let z = p.output("z", DType::F32, self.output);
            p.copy("use", y, z, &done);
        }
        if placement == "one-queue" {
            p.assign(|_| Some(0));
        }
        p
    }
}

/// A task that writes one row of an operand.
fn write(p: &mut ProgramBuilder, operand: usize, rows: Rows, buffer: Buf, row: i64) -> Ctr {
    let label = format!("i{operand}.{row}");
    match rows {
        Rows::Matrix(n) => {
            let column = p.input(&format!("c{operand}.{row}"), DType::F32, &[4, 1]);
            let w = p.input(&format!("w{operand}.{row}"), DType::F32, &[n, 1]);
            let params: [(&str, Value); 5] = [
                ("K", 1.into()),
                ("N_tile", n.into()),
                ("n_off", 0.into()),
                ("M_tile", 1.into()),
                ("m_off", row.into()),
            ];
            p.op(Op::GemmTile, &label, &[column, w], buffer, &params, &[])
        }
        Rows::Vector => {
            let w = p.input(&format!("w{operand}.{row}"), DType::F32, &[4, 1]);
            let params: [(&str, Value); 3] = [("K", 1.into()), ("N_tile", 1.into()), ("n_off", row.into())];
            let x = p.input(&format!("x{operand}.{row}"), DType::F32, &[1]);
            p.op(Op::GemvTile, &label, &[x, w], buffer, &params, &[])
        }
        _ => {
            let shape: &[u64] = if rows == Rows::Cache { &[1, 2] } else { &[2, 1, 2] };
            let new = p.input(&format!("n{operand}.{row}"), DType::F32, shape);
            p.op(Op::KvAppend, &label, &[new, buffer], buffer, &[("pos", row.into())], &[])
        }
    }
}

/// Every form.
pub fn windows() -> Vec<Window> {
    use DType::{F32, I8};
    use Rows::{Cache, Caches, Given, Matrix, Vector, Whole};
    let columns = || vec![vec![("n_off", 0), ("N_tile", 1)], vec![("n_off", 3), ("N_tile", 1)]];
    let frame = || {
        vec![
            vec![("m_off", 0), ("M_tile", 1), ("n_off", 0), ("N_tile", 4)],
            vec![("m_off", 3), ("M_tile", 1), ("n_off", 0), ("N_tile", 4)],
            vec![("m_off", 1), ("M_tile", 2), ("n_off", 0), ("N_tile", 1)],
            vec![("m_off", 1), ("M_tile", 2), ("n_off", 3), ("N_tile", 1)],
        ]
    };
    let gemv = [("K", 2.0), ("N_tile", 2.0), ("n_off", 1.0)];
    let gemm = [("K", 2.0), ("N_tile", 2.0), ("n_off", 1.0), ("M_tile", 2.0), ("m_off", 1.0)];
    let q8 = [("qdtype", 6.0), ("group", 1.0)];
    let attention = [
        ("head_dim", 2.0),
        ("kv_start", 1.0),
        ("kv_len", 2.0),
        ("scale", 0.5),
        ("n_heads", 1.0),
        ("n_kv_heads", 1.0),
    ];
    let form = |op, name, inputs: &[Rows], output, rest, params: &[(&'static str, f64)]| Window {
        op,
        name,
        inputs: inputs.to_vec(),
        output,
        rest,
        params: params.iter().map(|(key, value)| (*key, number(*value))).collect(),
    };
    const X: Rows = Given(F32, &[1, 2]);
    const Q: Rows = Given(I8, &[4, 2]);
    vec![
        form(Op::GemvTile, "bias", &[X, Matrix(2), Vector], &[1, 4], columns(), &gemv),
        form(Op::GemvTile, "vector", &[Given(F32, &[2]), Matrix(2)], &[4], columns(), &gemv),
        form(Op::GemvTile, "rows", &[Given(F32, &[2, 1, 2]), Matrix(2)], &[2, 1, 4], columns(), &gemv),
        form(Op::GemvTile, "batch", &[Given(F32, &[2, 1, 1, 2]), Matrix(2)], &[2, 1, 1, 4], columns(), &gemv),
        form(
            Op::GemvTile,
            "i8-zeros",
            &[X, Q, Matrix(2), Matrix(2)],
            &[1, 4],
            columns(),
            &[&gemv[..], &q8].concat(),
        ),
        form(
            Op::GemvTile,
            "i8-rows",
            &[Given(F32, &[2, 1, 2]), Q, Matrix(2)],
            &[2, 1, 4],
            columns(),
            &[&gemv[..], &q8].concat(),
        ),
        form(Op::GemvTile, "bias-row", &[X, Matrix(2), Whole(&[1, 4])], &[1, 4], columns(), &gemv),
        form(
            Op::GemvTile,
            "i8-input",
            &[Whole(&[1, 2]), Q, Matrix(2)],
            &[1, 4],
            columns(),
            &[&gemv[..], &q8].concat(),
        ),
        form(Op::GemmTile, "bias", &[Matrix(2), Matrix(2), Vector], &[4, 4], frame(), &gemm),
        form(
            Op::GemmTile,
            "i8-zeros",
            &[Matrix(2), Q, Matrix(2), Matrix(2)],
            &[4, 4],
            frame(),
            &[&gemm[..], &q8].concat(),
        ),
        form(Op::AttentionTile, "one", &[X, Cache, Cache], &[1, 2], Vec::new(), &attention),
        form(
            Op::AttentionTile,
            "batch",
            &[Given(F32, &[2, 1, 2]), Caches, Caches],
            &[2, 1, 2],
            Vec::new(),
            &attention,
        ),
        form(
            Op::KvAppend,
            "rows",
            &[Given(F32, &[2, 1, 2])],
            &[4, 1, 2],
            vec![vec![("pos", 0)], vec![("pos", 3)]],
            &[("pos", 1.0)],
        ),
        form(
            Op::KvAppend,
            "batch",
            &[Given(F32, &[2, 1, 2])],
            &[2, 4, 1, 2],
            vec![vec![("pos", 0)], vec![("pos", 2)], vec![("pos", 3)]],
            &[("pos", 1.0)],
        ),
    ]
}

/// Each form in each placement.
pub fn bases() -> Vec<Base> {
    let mut bases = Vec::new();
    for window in windows() {
        for placement in window.placements() {
            let summary = format!(
                "{}, form `{}`, on two rows in the middle, while others write the first and the last, {placement}",
                window.op.name(),
                window.name,
            );
            let clauses = [clause_of(window.op), clause::EXE_04];
            bases.push(Base::new(window.base(placement), summary, &clauses, window.program(placement)));
        }
    }
    bases
}
