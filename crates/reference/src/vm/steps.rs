//! The host's side of a decode loop (clause EXE-09): what changes in a program from one launch to the next.

use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::model::Program;
use megakernel_ir::params::{ParamKey, ParamValue, Params};
use megakernel_ir::{BufferId, BufferKind, DType, Number, Opcode, Param};

use super::load::Loaded;
use super::memory::Reference;

/// What one launch appends to a cache: first row, and number of rows.
struct Append {
    cache: BufferId,
    first: i64,
    rows: i64,
}

/// Moves a decode step on: each KV_APPEND to a KV_CACHE goes behind the rows that it has appended, and each ATTENTION_TILE
/// whose window ends with the appended rows takes in as many more. Other windows, of old rows, stay as they are, and so do
/// appends to buffers that no launch leaves to the next.
///
/// The program with the new values is another program, and may break a rule that the old one keeps: a cache is full
/// some time.
pub fn advance(program: &mut Program<'_>) {
    let appends = match Loaded::load_unchecked(program) {
        Ok(loaded) => appends(&loaded),
        Err(_) => return,
    };
    for task in &mut program.tasks {
        let int = |param| task.params.int(param).unwrap_or(0);
        match task.op {
            Opcode::KvAppend => {
                let cache = task.outputs.first().map(|&id| BufferId::stated(id));
                let first = int(Param::Pos);
                if let Some(append) =
                    appends.iter().find(|append| Some(append.cache) == cache && append.first == first)
                {
                    set(&mut task.params, Param::Pos, first.saturating_add(append.rows));
                }
            }
            Opcode::AttentionTile => {
                let cache = task.inputs.get(1).map(|&id| BufferId::stated(id));
                let length = int(Param::KvLen);
                let end = int(Param::KvStart).saturating_add(length);
                let ends_here = |append: &&Append| append.first.saturating_add(append.rows) == end;
                if let Some(append) =
                    appends.iter().filter(|append| Some(append.cache) == cache).find(ends_here)
                {
                    set(&mut task.params, Param::KvLen, length.saturating_add(append.rows));
                }
            }
            _ => {}
        }
    }
}

fn appends(loaded: &Loaded<'_>) -> Vec<Append> {
    let program = loaded.program();
    let appends = loaded.planned.iter().flatten().filter(|planned| planned.access.kind == AccessKind::Write);
    let appends = appends.filter_map(|planned| {
        let task =
            program.tasks.get(planned.access.task.index()).filter(|task| task.op == Opcode::KvAppend)?;
        let buffer = program.buffers.get(planned.access.buffer.index())?;
        let rank = (buffer.kind == BufferKind::KvCache).then_some(buffer.shape.len())?;
        let [low, high] = *planned.region.axes().get(rank.checked_sub(3)?)?;
        Some(Append { cache: planned.access.buffer, first: task.params.int(Param::Pos)?, rows: high - low })
    });
    appends.collect()
}

fn set(params: &mut Params<'_>, param: Param, value: i64) {
    let key = ParamKey::Known(param);
    if let Some((_, slot)) = params.0.iter_mut().find(|(other, _)| *other == key) {
        *slot = ParamValue::Number(Number::Int(value));
    }
}

/// The inputs that hold positions: `IO_INPUT` buffers of I32 that a ROPE takes for the positions of its rows.
pub fn position_inputs(program: &Program<'_>) -> Vec<BufferId> {
    let is_input = |buffer: &BufferId| {
        let record = program.buffers.get(buffer.index());
        record.is_some_and(|record| record.kind == BufferKind::IoInput && record.dtype == DType::I32)
    };
    let ropes = program.tasks.iter().filter(|task| task.op == Opcode::Rope);
    let mut found: Vec<BufferId> = ropes
        .filter_map(|task| task.inputs.get(1))
        .map(|&id| BufferId::stated(id))
        .filter(is_input)
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Of each row of `width` elements of an output: the index of the largest, and whether every conforming implementation
/// picks it. Of integers: the elements themselves.
pub fn greedy(reference: &Reference, width: usize) -> Vec<(i64, bool)> {
    match reference {
        Reference::Ints(values) => values.iter().map(|value| (value.unwrap_or(0), value.is_some())).collect(),
        Reference::Reals { values, bounds } => {
            let rows = values.chunks(width.max(1)).zip(bounds.chunks(width.max(1)));
            rows.map(|(values, bounds)| {
                let mut best = 0;
                for (index, value) in values.iter().enumerate() {
                    if values.get(best).is_some_and(|most| value > most) {
                        best = index;
                    }
                }
                let least = values.get(best).zip(bounds.get(best)).map_or(f64::NAN, |(v, e)| v - e);
                let others = values.iter().zip(bounds).enumerate().filter(|&(index, _)| index != best);
                let is_certain = others.map(|(_, (v, e))| v + e).all(|most| most < least);
                (best as i64, is_certain)
            })
            .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appends_and_the_windows_that_end_with_them_move_on() {
        let attend = |id: usize, start: i64, length: i64| {
            format!(
                r#"{{"id":{id},"op":"ATTENTION_TILE","inputs":[0,1,1],"outputs":[{}],"out_counter":{id},
                    "waits":[{{"counter":0,"threshold":1}}],"params":{{"head_dim":2,"kv_start":{start},"kv_len":{length},
                    "scale":1.0,"n_heads":1,"n_kv_heads":1}}}}"#,
                id + 1
            )
        };
        let text = format!(
            r#"{{"ir_version":"0.2.0","abi_version":"0.2",
                "buffers":[{{"id":0,"name":"x","kind":"IO_INPUT","dtype":"F32","shape":[2]}},
                           {{"id":1,"name":"k","kind":"KV_CACHE","dtype":"F32","shape":[9,1,2]}},
                           {{"id":2,"name":"y","kind":"IO_OUTPUT","dtype":"F32","shape":[2]}},
                           {{"id":3,"name":"z","kind":"IO_OUTPUT","dtype":"F32","shape":[2]}},
                           {{"id":4,"name":"n","kind":"IO_INPUT","dtype":"F32","shape":[2,1,2]}}],
                "counters":[{{"id":0}},{{"id":1}},{{"id":2}}],
                "tasks":[{{"id":0,"op":"KV_APPEND","inputs":[4,1],"outputs":[1],"out_counter":0,"params":{{"pos":4}}}},
                         {},{}]}}"#,
            attend(1, 0, 3),
            attend(2, 3, 3)
        );
        let mut program = megakernel_ir::read(text.as_bytes()).expect("reads");
        let values = |program: &Program<'_>| {
            let int = |task: usize, param| program.tasks[task].params.int(param).expect("given");
            [int(0, Param::Pos), int(1, Param::KvLen), int(2, Param::KvStart), int(2, Param::KvLen)]
        };
        advance(&mut program);
        assert_eq!(values(&program), [6, 3, 3, 5]);
        assert!(Loaded::load(&program).is_ok());
        advance(&mut program);
        assert_eq!(values(&program), [8, 3, 3, 7]);
        assert!(Loaded::load(&program).is_err(), "the cache has 9 rows");
    }

    #[test]
    fn a_token_is_certain_if_no_other_can_be_larger() {
        let reals = |values: &[f64], bounds: &[f64]| Reference::Reals {
            values: values.to_vec(),
            bounds: bounds.to_vec(),
        };
        assert_eq!(greedy(&reals(&[1.0, 3.0, 2.0], &[0.4, 0.4, 0.4]), 3), [(1, true)]);
        assert_eq!(greedy(&reals(&[1.0, 3.0, 2.0], &[0.5, 0.5, 0.5]), 3), [(1, false)]);
        assert_eq!(greedy(&reals(&[1.0, 3.0, 2.0, 2.0], &[0.0; 4]), 2), [(1, true), (0, false)]);
        assert_eq!(greedy(&Reference::Ints(vec![Some(7), None]), 1), [(7, true), (0, false)]);
    }
}
