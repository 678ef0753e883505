//! Experts whose rows are known, and sums that begin with zero.

use megakernel_ir::{DType, Opcode};
use serde_json::json;

use super::{BufferKind, Lowering, Record, plain};
use crate::bridge::work::{Choose, Weighted};

impl Lowering<'_, '_> {
    /// All of an operand is set to zero: a copy of a constant.
    pub(super) fn zero(&mut self, out: usize) -> Result<(), String> {
        let area = self.of(out)?.area;
        let (shape, dtype) = (area.shape(), self.tensors.dtype(area.tensor));
        let zeros = self.constant("zeros".to_owned(), dtype, shape, vec![0; area.numel().max(0) as usize]);
        let target = self.store(out)?;
        self.step(Opcode::Copy, &[zeros], Some(target), json!({}));
        Ok(())
    }

    /// The softmax of the logits of the chosen experts: that of all, taken for these, and divided by their sum.
    pub(super) fn choose(&mut self, choose: &Choose) -> Result<(), String> {
        let experts = self.of(choose.logits)?.area.width();
        let rows = choose.chosen.len() as i64;
        let logits = self.load_as(choose.logits, vec![rows * experts])?;
        let ids: Vec<i64> = (0..)
            .zip(&choose.chosen)
            .flat_map(|(row, list)| list.iter().map(move |id| row * experts + id))
            .collect();
        let area = self.of(choose.weights)?.area;
        let chosen = self.scratch32("chosen", area.shape());
        self.embed(ids, logits, 1, chosen);
        let target = self.store(choose.weights)?;
        self.step(Opcode::Softmax, &[chosen], Some(target), json!({}));
        self.zero(choose.reset)
    }

    /// A row of the residual, and to it each row of an expert times its weight, in order.
    pub(super) fn expert_sum(&mut self, sum: &Weighted) -> Result<(), String> {
        let area = self.of(sum.out)?.area;
        let shape = area.shape();
        let count = sum.rows.len() as i64;
        let weights = self.load_as(sum.weights, vec![count])?;
        let mut so_far = self.load(sum.residual)?;
        for (&row, slot) in sum.rows.iter().zip(0..) {
            let row = self.load(row)?;
            let [weight, product] = ["weight", "weighted"].map(|name| self.scratch32(name, shape.clone()));
            self.embed(vec![slot; area.width().max(0) as usize], weights, 1, weight);
            self.step(Opcode::Mul, &[row, weight], Some(plain(product)), json!({}));
            if slot + 1 == count {
                let target = self.store(sum.out)?;
                self.step(Opcode::Add, &[so_far, product], Some(target), json!({}));
            } else {
                let next = self.scratch32("sum", shape.clone());
                self.step(Opcode::Add, &[so_far, product], Some(plain(next)), json!({}));
                so_far = next;
            }
        }
        Ok(())
    }

    /// Scratch of binary32, in which the task computes.
    pub(super) fn scratch32(&mut self, name: &str, shape: Vec<i64>) -> usize {
        self.lowered.records.add(Record {
            name: format!("{}.{name}", self.prefix),
            kind: BufferKind::Activation,
            dtype: DType::F32,
            shape,
            source: None,
            pieces: Vec::new(),
            values: Vec::new(),
        })
    }
}
