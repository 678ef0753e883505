//! What each task reads and writes, and by which opcodes it is done (the table of clause TGR-18).

mod attention;
mod experts;
mod tiles;

use megakernel_task_graph::{EventId, KernelGraph, Task, TaskGraph};
use serde_json::{Map, Value};

use super::Refusal;
use super::given::Run;
use super::order::TaskRef;
use super::tensors::{Area, Tensors};
use super::work::{Access, Left, Partial, Plan, Work};
use crate::types;

/// Plans every task of every rank.
pub(super) fn plan(
    graphs: &[&TaskGraph<'_>],
    ranks: &[u16],
    kernel: &KernelGraph<'_>,
    tensors: &Tensors<'_>,
    (run, position): (&Run, i64),
) -> (Plan, Vec<Refusal>) {
    let mut plan = Plan::default();
    let mut refusals = Vec::new();
    let mut routing = run.routing.iter();
    for (rank, graph) in graphs.iter().enumerate() {
        for (number, task) in graph.all_tasks.iter().enumerate().skip(2) {
            let chosen = if kind(task.task_type) == CHOOSE { routing.next() } else { None };
            let id = (rank, number);
            let mut planner =
                Planner { task, id, ranks, kernel, tensors, run, position, chosen, plan: &mut plan };
            match planner.work() {
                Ok(work) => plan.tasks.push(((rank, number), work)),
                Err(reason) => {
                    refusals.push(Refusal { pointer: format!("/all_tasks/{number}"), rank, reason });
                }
            }
        }
    }
    let surplus = routing.count();
    if surplus > 0 {
        let (given, most) = (run.routing.len(), run.routing.len() - surplus);
        let reason = format!("the run routes {given} tasks of type {CHOOSE}, and there are {most}");
        refusals.push(Refusal { pointer: String::new(), rank: 0, reason });
    }
    (plan, refusals)
}

/// MOE_TOPK_SOFTMAX_SM100, which chooses experts.
const CHOOSE: i64 = 260;

/// The type of the table of TGR-18 that computes the same: types of the current generator differ in how.
fn kind(task_type: i64) -> i64 {
    match task_type {
        160 => 101,
        152 | 156 | 158 | 252 => 108,
        259 => 110,
        111 | 258 => 111,
        159 => 118,
        154 => 119,
        151 | 155 | 157 | 253 => 120,
        153 | 257 => 116,
        163 => 251,
        161 | 162 | 255 => 254,
        301 => 199,
        other => other,
    }
}

/// What no opcode does, of the types that this is known of; and what would.
fn missing(task_type: i64) -> Option<&'static str> {
    Some(match task_type {
        112..=114 | 271..=274 | 283..=286 | 294 => {
            "it searches, verifies or keeps drafts: missing is an opcode for each"
        }
        164 | 263 | 264 => {
            "its parts of an attention lie in two tensors, and those of ATTENTION_TILE in one, which ATTENTION_COMBINE takes: \
             missing is a LOG_SUM_EXP"
        }
        266..=270 | 278 | 287..=293 | 295 => {
            "its keys are longer than its values, and those of ATTENTION_TILE as long: missing is a LATENT_ATTENTION"
        }
        248 | 249 | 275..=277 => {
            "its rows have a scale for each block of columns, and weights of GEMV_TILE alone have scales: missing is a SCALED_GEMV"
        }
        265 => "it draws at random, and SAMPLE_ARGMAX takes the largest: missing is a SAMPLE",
        280 => "it weighs experts by sigmoids, and SOFTMAX among each other: missing is a SIGMOID",
        _ => return None,
    })
}

struct Planner<'p, 'k> {
    task: &'p Task<'p>,
    id: TaskRef,
    ranks: &'p [u16],
    kernel: &'p KernelGraph<'k>,
    tensors: &'p Tensors<'k>,
    run: &'p Run,
    /// Of the token, where there are no requests.
    position: i64,
    /// What the task chooses, if it chooses experts and the run says so.
    chosen: Option<&'p Vec<Vec<i64>>>,
    plan: &'p mut Plan,
}

impl Planner<'_, '_> {
    fn work(&mut self) -> Result<Work, String> {
        let kind = kind(self.task.task_type);
        let params = match kind {
            101..=103 | 105 | 108..=111 | 115 | 116 | 118..=120 | 251 | 254 | 260..=262 | 281 => {
                self.params()?
            }
            _ => Map::new(),
        };
        let left = |planner: &mut Self, x, weight, eps| -> Result<Left, String> {
            let hidden = planner.area(x).width();
            planner.require(
                weight,
                hidden,
                "the norm's weight has",
                "elements, as many as a row of its input",
            )?;
            Ok(Left::Norm { x, weight, eps })
        };
        match kind {
            101 => {
                self.arity(2, 1)?;
                let (ids, table) = (self.input(0, Access::Read)?, self.input(1, Access::Weight)?);
                let out = self.output(0, Access::Write)?;
                let (rows, width) = (self.area(out).rows(), self.area(out).width());
                self.require(ids, rows, "the ids are", "elements, one for each row of the output")?;
                if self.area(table).width() != width {
                    let found = self.area(table).width();
                    return Err(format!(
                        "rows of the table have {found} elements, and those of the output {width}"
                    ));
                }
                Ok(Work::Embed { ids, table, out })
            }
            102 => {
                self.arity(3, 1)?;
                let (x, weight) = (self.input(0, Access::Read)?, self.input(1, Access::Weight)?);
                let left = left(self, x, weight, number(&params, "eps")?)?;
                self.linear(left, x, 2, None, false)
            }
            105 => {
                self.arity(3, 1)?;
                let (gate, up) = self.halves()?;
                self.linear(Left::SiluMul { gate, up }, gate, 1, Some(2), false)
            }
            108 => {
                self.arity(3, 1)?;
                let x = self.input(0, Access::Read)?;
                self.linear(Left::Plain(x), x, 1, Some(2), false)
            }
            120 | 251 => {
                self.arity(2, 1)?;
                let x = self.input(0, Access::Read)?;
                self.linear(Left::Plain(x), x, 1, None, kind == 251)
            }
            118 => {
                self.arity(1, 1)?;
                let (gate, up) = self.halves()?;
                let out = self.output(0, Access::Write)?;
                self.same_shape(gate, out)?;
                Ok(Work::SiluMul { gate, up, out })
            }
            119 => {
                self.arity(2, 1)?;
                let (x, weight) = (self.input(0, Access::Read)?, self.input(1, Access::Weight)?);
                let Left::Norm { x, weight, eps } = left(self, x, weight, number(&params, "eps")?)? else {
                    return Ok(Work::Nothing);
                };
                let out = self.output(0, Access::Write)?;
                self.same_shape(x, out)?;
                Ok(Work::Norm { x, weight, eps, out })
            }
            103 | 115 => self.attention(&params),
            116 => self.paged_attention(&params),
            254 => self.routed(),
            CHOOSE => self.choose(),
            261 => self.expert_sum(),
            262 => {
                self.arity(2, 1)?;
                Ok(Work::Zero { out: self.input(0, Access::Zero)? })
            }
            107 => self.reduce(),
            109 => {
                self.arity(1, 1)?;
                let (logits, out) = (self.input(0, Access::Read)?, self.output(0, Access::Write)?);
                self.require(
                    out,
                    self.area(logits).rows(),
                    "the output is",
                    "elements, one for each row of logits",
                )?;
                Ok(Work::Argmax { logits, out })
            }
            110 => {
                self.arity(1, 2)?;
                let logits = self.input(0, Access::Dropped)?;
                let value = self.output(0, Access::DroppedWrite)?;
                let index = self.output(1, Access::DroppedWrite)?;
                self.plan.partials.push(Partial { logits, value, index });
                Ok(Work::Nothing)
            }
            111 => {
                self.arity(2, 1)?;
                let (values, indices) = (self.input(0, Access::Dropped)?, self.input(1, Access::Dropped)?);
                Ok(Work::ArgmaxReduce { values, indices, out: self.output(0, Access::Write)? })
            }
            121 => {
                self.arity(1, 1)?;
                let (from, to) = (self.input(0, Access::Read)?, self.output(0, Access::Write)?);
                self.same_shape(from, to)?;
                Ok(Work::Copy { from, to })
            }
            281 => {
                self.arity(2, 1)?;
                let (left, right) = (self.input(0, Access::Read)?, self.input(1, Access::Read)?);
                let out = self.output(0, Access::Write)?;
                self.same_shape(left, out)?;
                self.same_shape(right, out)?;
                Ok(Work::Add { left, right, out })
            }
            199 => self.copy(),
            302 => self.collective(),
            other => {
                let why = missing(other).unwrap_or("no opcodes of it stand in the table of TGR-18");
                Err(format!("task type {other} ({}) has no program: {why}", types::name(other)))
            }
        }
    }

    fn linear(
        &mut self,
        left: Left,
        x: usize,
        weight: usize,
        residual: Option<usize>,
        adds: bool,
    ) -> Result<Work, String> {
        let weight = self.input(weight, Access::Weight)?;
        let out = self.tile_of("outputs", 0)?;
        let (x, w) = (self.area(x), self.area(weight));
        if [w.width(), w.rows()] != [x.width(), out.width()] || x.rows() != out.rows() {
            return Err(format!(
                "a weight of {} by {} does not take {} rows of {} to {} rows of {}",
                w.rows(),
                w.width(),
                x.rows(),
                x.width(),
                out.rows(),
                out.width()
            ));
        }
        // A bias is a row: only of one row can a part of the residual be added.
        let is_row = out.rows() == 1;
        let (read, write) = if is_row || residual.is_none() {
            (Access::Slice, Access::Columns)
        } else {
            (Access::Read, Access::Write)
        };
        let residual = match residual {
            // The current generator adds it once, on rank 0, to what all ranks sum up.
            Some(position) if self.id.0 > 0 && self.task.expert_offset.0.is_some() => {
                self.input(position, Access::Dropped)?;
                None
            }
            residual => residual.map(|position| self.input(position, read)).transpose()?,
        };
        let out = self.output(0, if adds { Access::Add } else { write })?;
        if let Some(residual) = residual {
            self.same_shape(residual, out)?;
        }
        Ok(Work::Linear { left, weight, residual, out })
    }

    /// REDUCE: its own partial result, and the slots of all other ranks.
    fn reduce(&mut self) -> Result<Work, String> {
        self.arity(2, 1)?;
        let own = self.input(0, Access::Read)?;
        let slots = self.tile(1)?;
        let count = self.ranks.len();
        if count < 2 || slots.axes < 2 || slots.interval(0) != [0, count as i64] {
            return Err(format!(
                "REDUCE adds up slots {:?} of axis 0 and {count} rank(s) are given; required: the graphs of all ranks, and a slot for each",
                slots.interval(0)
            ));
        }
        let mut shards = vec![own];
        for slot in 0..count {
            let access = if slot == self.id.0 { Access::Dropped } else { Access::Read };
            let area = slots.slice(0, slot as i64, 1);
            let shard = self.put(area, access, self.pointer("inputs", 1));
            if slot == self.id.0 {
                continue;
            }
            self.same_shape(own, shard)?;
            shards.push(shard);
        }
        let out = self.output(0, Access::Write)?;
        self.same_shape(own, out)?;
        Ok(Work::Sum { shards, out })
    }

    /// A collective: the partial results of all ranks, each in the memory of its rank.
    fn collective(&mut self) -> Result<Work, String> {
        self.arity(1, 1)?;
        let own = self.tile(0)?;
        let pointer = self.pointer("inputs", 0);
        if self.ranks.len() < 2 {
            return Err(
                "it sums up over all ranks, and one is given; give the graphs of all ranks".to_owned()
            );
        }
        let shards: Vec<usize> = (0..self.ranks.len())
            .map(|rank| self.put(Area { rank, ..own }, Access::Read, pointer.clone()))
            .collect();
        let out = self.output(0, Access::Write)?;
        if let Some(&first) = shards.first() {
            self.same_shape(first, out)?;
        }
        Ok(Work::Sum { shards, out })
    }

    /// COPY: to the own slot in the memory of the rank whose event it triggers.
    fn copy(&mut self) -> Result<Work, String> {
        self.arity(1, 1)?;
        let from = self.input(0, Access::Read)?;
        let target = EventId::from_bits(self.task.trigger_event)
            .and_then(|event| self.ranks.iter().position(|&rank| rank == event.rank));
        let target =
            target.ok_or("its trigger event names no rank that is given; give the graphs of all ranks")?;
        // The tile has the extents of the whole buffer, and begins at the slot that is written.
        let stated = self.task.outputs().iter().find(|tile| !tile.is_null());
        let mut tile = stated.cloned().ok_or("outputs[0] is missing")?;
        if let Some(slots) = tile.dims.first_mut() {
            *slots = 1;
        }
        let area = Area { rank: target, ..self.tensors.area(&tile, self.id.0)? };
        let slot = self.id.0 as i64;
        if area.axes < 2 || area.interval(0) != [slot, slot + 1] {
            return Err(format!(
                "writes slot {:?} on axis 0 of its output; required: slot {slot}, that of its rank",
                area.interval(0)
            ));
        }
        let to = self.put(area, Access::Write, self.pointer("outputs", 0));
        self.same_shape(from, to)?;
        Ok(Work::Copy { from, to })
    }

    /// The halves of input 0: what is activated, and what it is multiplied with.
    fn halves(&mut self) -> Result<(usize, usize), String> {
        let x = self.tile(0)?;
        let [start, end] = x.columns();
        if x.width() % 2 != 0 {
            return Err(format!("input 0 has {} columns; required: an even number, gate and up", x.width()));
        }
        let middle = start + x.width() / 2;
        let pointer = self.pointer("inputs", 0);
        let gate = self.put(x.between(start, middle), Access::Read, pointer.clone());
        Ok((gate, self.put(x.between(middle, end), Access::Read, pointer)))
    }
}

fn number(params: &Map<String, Value>, name: &str) -> Result<f64, String> {
    let value = params.get(name).and_then(Value::as_f64);
    value.ok_or_else(|| {
        format!("the operator has no number `{name}`; add it to its `params` in the kernel graph")
    })
}
