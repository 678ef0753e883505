//! Experts: who has which rows is data, which the run says.

use super::Planner;
use crate::bridge::tensors::Area;
use crate::bridge::work::{Access, Choose, Routed, Weighted, Work};
use crate::types;

/// The row of an area that is counted from its first, on its first axis.
fn row(area: &Area, number: i64) -> Area {
    area.slice(0, area.interval(0)[0] + number, 1)
}

impl Planner<'_, '_> {
    /// The weights of the experts that each row is given to; the logits are set to zero.
    pub(super) fn choose(&mut self) -> Result<Work, String> {
        self.arity(1, 3)?;
        let chosen = self.chosen.cloned().ok_or(
            "which experts it chooses is data, and no opcode yields several indices: give the routing of the run",
        )?;
        let logits = self.input(0, Access::Read)?;
        let weights = self.output(0, Access::Write)?;
        let told = [self.output(1, Access::DroppedWrite)?, self.output(2, Access::DroppedWrite)?];
        let (of, to) = (self.area(logits), self.area(weights));
        let (rows, experts, count) = (of.rows(), of.width(), to.width());
        if of.axes != 2 || to.axes != 2 || to.rows() != rows {
            return Err(format!("weights of {} rows do not take logits of {rows}", to.rows()));
        }
        if self.area(told[0]).numel() != experts * rows {
            let found = self.area(told[0]).numel();
            return Err(format!(
                "the routing has {found} elements; required: {experts} experts times {rows} rows"
            ));
        }
        for (number, list) in chosen.iter().enumerate() {
            let mut sorted = list.clone();
            sorted.sort_unstable();
            sorted.dedup();
            let fits = list.len() as i64 == count && sorted.len() == list.len();
            if !fits || list.iter().any(|&expert| expert >= experts) {
                return Err(format!(
                    "the run gives row {number} to the experts {list:?}; required: {count} different ones of {experts}"
                ));
            }
        }
        if chosen.len() as i64 != rows {
            return Err(format!("the run routes {} rows; required: {rows}", chosen.len()));
        }
        let reset = self.input(0, Access::Zero)?;
        Ok(Work::Choose(Choose { logits, chosen, weights, reset, told }))
    }

    /// The products of the experts from an offset on, in strides of the type.
    pub(super) fn routed(&mut self) -> Result<Work, String> {
        self.arity(4, 1)?;
        let (x, weight, out) = (self.tile(0)?, self.tile(1)?, self.tile_of("outputs", 0)?);
        let told = [self.input(2, Access::Dropped)?, self.input(3, Access::Dropped)?];
        let stride = self
            .task
            .known_type()
            .and_then(|known| known.outputs.first()?.by.first()?.selection())
            .and_then(|selection| usize::try_from(selection.modulo).ok())
            .filter(|&stride| stride > 0);
        let stride = stride.ok_or("its stride through the experts is not known")?;
        let first = self.task.expert_offset.0.and_then(|offset| usize::try_from(offset).ok());
        let first = first.ok_or("it has no `expert_offset`, which says where it begins")?;
        let inner = [x.width(), x.interval(0)[1] - x.interval(0)[0]];
        let of_slots = x.axes == 2 || x.axes == 3 && x.extents().get(1) == out.extents().get(1);
        if weight.axes != 3
            || out.axes != 3
            || !of_slots
            || inner != [weight.width(), out.interval(0)[1] - out.interval(0)[0]]
            || weight.extents().get(1) != Some(&out.width())
        {
            return Err(format!(
                "experts of extents {:?} do not take extents {:?} to {:?}",
                weight.extents(),
                x.extents(),
                out.extents()
            ));
        }
        if first >= stride {
            let name = types::name(self.task.task_type);
            return Err(format!(
                "it begins with expert {first}, and {name} goes through them in strides of {stride}: others have its rows"
            ));
        }
        Ok(Work::Routed(Box::new(Routed { x, weight, out, told, first, stride })))
    }

    /// A residual and the rows of all experts of a token, by their weights.
    pub(super) fn expert_sum(&mut self) -> Result<Work, String> {
        self.arity(3, 1)?;
        let (rows, weights, residual) = (self.tile(0)?, self.tile(1)?, self.tile(2)?);
        let out = self.tile_of("outputs", 0)?;
        let tokens = out.rows();
        let fits = rows.axes == 3
            && [weights.axes, residual.axes, out.axes] == [2; 3]
            && rows.extents() == [tokens, weights.width(), out.width()]
            && [weights.rows(), residual.rows(), residual.width()] == [tokens, tokens, out.width()];
        if !fits {
            return Err(format!(
                "rows of extents {:?}, weights of {:?} and a residual of {:?} make no output of {:?}",
                rows.extents(),
                weights.extents(),
                residual.extents(),
                out.extents()
            ));
        }
        let mut sums = Vec::new();
        for token in 0..tokens {
            let of = row(&rows, token);
            let mut slots = Vec::new();
            for slot in 0..weights.width() {
                let area = of.slice(1, of.interval(1)[0] + slot, 1);
                slots.push(self.put(area, Access::Read, self.pointer("inputs", 0)));
            }
            sums.push(Weighted {
                rows: slots,
                weights: self.put(row(&weights, token), Access::Read, self.pointer("inputs", 1)),
                residual: self.put(row(&residual, token), Access::Read, self.pointer("inputs", 2)),
                out: self.put(row(&out, token), Access::Write, self.pointer("outputs", 0)),
            });
        }
        Ok(Work::ExpertSum(sums))
    }
}
