//! The program of a case: one task, or the tiles of one operation, and what is around it.

use super::{Behind, Join, Sharing, Spec};
use crate::builder::{Buf, Kind, Op, Program, ProgramBuilder, Space};
use crate::families::numeric::data::Operand;

/// Copies in the chain of the operand that comes late.
const CHAIN: usize = 5;

impl Spec {
    /// The program of a case.
    pub(super) fn program(&self, op: Op) -> Program {
        let mut p = ProgramBuilder::new("numeric");
        let mut inputs: Vec<Buf> = Vec::new();
        for (index, operand) in self.inputs.iter().enumerate() {
            let kind = self.kinds.get(&index).copied().unwrap_or(Kind::IoInput);
            inputs.push(p.buffer(&format!("i{index}"), kind, operand.dtype, &operand.shape, Space::Hbm));
        }
        let (dtype, shape) = &self.output;
        if let Some(table) = &self.picking {
            return self.picked(op, p, &inputs, table);
        }
        let y = match self.preset {
            Some(_) => p.cache("y", *dtype, shape),
            None => p.output("y", *dtype, shape),
        };
        if let Some(sharing) = self.sharing {
            return self.shared(op, p, inputs, y, sharing);
        }
        if let Some(behind) = self.behind {
            return self.waiting(op, p, &inputs, y, behind);
        }
        if let Some(reading) = &self.reading {
            inputs = reading.iter().filter_map(|&index| inputs.get(index).copied()).collect();
        }
        if self.preset.is_some() {
            inputs.push(y);
        }
        let whole = [Vec::new()];
        let tiles = if self.tiles.is_empty() { &whole[..] } else { &self.tiles };
        for (index, tile) in tiles.iter().enumerate() {
            let label = if tiles.len() == 1 { "op".to_owned() } else { format!("op[t{index}]") };
            p.task(op).reads(&inputs).writes(&[y]).label(&label).params(self.params.iter().chain(tile)).add();
        }
        p.finish()
    }

    /// The program of ids by which an EMBED picks rows of a table.
    fn picked(&self, op: Op, mut p: ProgramBuilder, inputs: &[Buf], table: &Operand) -> Program {
        let ids = p.act("ids", self.output.0, &self.output.1);
        let width: u64 = table.shape.iter().skip(1).product();
        let rows = p.input("table", table.dtype, &table.shape);
        let y = p.output("y", table.dtype, &[self.output.1.iter().product(), width]);
        let ready = p.task(op).reads(inputs).writes(&[ids]).label("op").params(&self.params).add();
        let pick = p.task(Op::Embed).reads(&[ids, rows]).writes(&[y]).after(&[ready]);
        pick.label("pick").param("hidden", width).add();
        p.finish()
    }

    /// The program of an operand that shares its storage with the result: a copy, the task, and a copy of its result.
    fn shared(
        &self,
        op: Op,
        mut p: ProgramBuilder,
        mut inputs: Vec<Buf>,
        y: Buf,
        sharing: Sharing,
    ) -> Program {
        let Sharing { operand, space, paged } = sharing;
        // On-chip storage belongs to one SM.
        let sm = space.is_on_chip().then_some(0);
        let (dtype, shape) = &self.output;
        if let (Some(given), Some(buffer)) = (self.inputs.get(operand), inputs.get_mut(operand)) {
            let held = p.act_in(space, "held", given.dtype, &given.shape);
            let result = if paged { p.act_in(space, "result", *dtype, shape) } else { held };
            if paged {
                let page = p.page(space, p.bytes(held));
                p.place(held, page);
                p.place(result, page);
            }
            let ready = p.task(Op::Copy).reads(&[*buffer]).writes(&[held]).label("copy").sm(sm).add();
            *buffer = held;
            let task = p.task(op).reads(&inputs).writes(&[result]).after(&[ready]).label("op").sm(sm);
            let done = task.params(&self.params).add();
            p.task(Op::Copy).reads(&[result]).writes(&[y]).after(&[done]).label("out").sm(sm).add();
        }
        p.finish()
    }

    /// The program of a task that waits for copies of its operands. The last copy of each is the one that it waits for.
    fn waiting(&self, op: Op, mut p: ProgramBuilder, inputs: &[Buf], y: Buf, behind: Behind) -> Program {
        let shared = matches!(behind.join, Join::One | Join::NopOne);
        let all = shared.then(|| p.counter("all"));
        let mut waits = Vec::new();
        let mut held = Vec::new();
        for (index, (&input, operand)) in inputs.iter().zip(&self.inputs).enumerate() {
            let copies = if index == behind.late { CHAIN } else { 1 };
            let (mut from, mut before) = (input, None);
            for copy in 1..=copies {
                let to = p.act(&format!("held-{index}-{copy}"), operand.dtype, &operand.shape);
                let label = format!("copy-{index}-{copy}");
                let mut task = p.task(Op::Copy).reads(&[from]).writes(&[to]).label(&label);
                task = task.after(before.as_slice());
                if let Some(all) = all.filter(|_| copy == copies) {
                    task = task.out(all);
                }
                before = Some(task.add());
                from = to;
            }
            waits.extend(before);
            held.push(from);
        }
        if matches!(behind.join, Join::Nop | Join::NopOne) {
            waits = vec![p.task(Op::Nop).after(&waits).label("join").add()];
        }
        // A cache, which is an input as well, is no copy.
        held.extend(self.preset.is_some().then_some(y));
        let mut task = p.task(op).reads(&held).writes(&[y]).after(&waits).label("op").sm(behind.sm);
        if behind.join == Join::Twice {
            for &wait in &waits {
                task = task.wait(wait, 1);
            }
        }
        task.params(&self.params).add();
        p.finish()
    }
}
