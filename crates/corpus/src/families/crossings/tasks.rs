//! What is wrong with the lists of a task: operands of a NOP, outputs beyond the first, waits that nobody serves, counters that two
//! tasks share; and rows that nobody writes in time.

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::operands::{everywhere, op_pointer};
use crate::builder::{Op, Result, clause_of, is_unary, slug};
use crate::edit::{self, Edit};
use crate::families::accept::pairs::{ROWS, RULES, Row, WAITERS};
use crate::families::accept::rows::PLACEMENTS;
use crate::families::library::Library;
use crate::families::sink::Sink;

/// S11: a NOP with operands. S05: a task of the reserved opcode.
pub fn nops(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, label) in [
        ("waits/nop", "waiter"),
        ("waits/nop-placed", "waiter"),
        ("detour/nop", "end"),
        ("detour/nop-2", "step1"),
        ("detour/nop-4", "step3"),
    ] {
        let base = library.get(name)?;
        let output = base.program.int(
            &edit::task_pointer(&base.program, "p0.0", "outputs/0")
                .or_else(|_| edit::task_pointer(&base.program, "a", "outputs/0"))?,
        )?;
        for (what, list, operands) in [
            ("an-input", "inputs", vec![0]),
            ("two-inputs", "inputs", vec![0, 0]),
            ("an-output", "outputs", vec![output]),
        ] {
            let at = edit::task_pointer(&base.program, label, list)?;
            let edit = Edit::breaking(Rule::S11, format!("a NOP has the {list} {operands:?}"));
            let edit = edit.clause(clause::OPC_00).clause(clause::DAT_06).at(at.clone());
            sink.reject_as(base, &format!("{label}-with-{what}"), &edit.replace(at, operands))?;
        }
        let at = edit::task_pointer(&base.program, label, "op")?;
        let edit = Edit::breaking(Rule::S05, "`FUSED` is no opcode of a document").clause(clause::DAT_06);
        sink.reject_as(base, &format!("{label}-is-fused"), &edit.at(at.clone()).replace(at, "FUSED"))?;
    }
    Ok(())
}

/// S10, S11 and S19: outputs beyond the first, which are outputs like it.
pub fn outputs(library: &Library, sink: &mut Sink) -> Result<()> {
    everywhere(library, &mut |unit, base, _| {
        if !matches!(unit.op, Op::Add | Op::RmsNorm | Op::KvAppend | Op::AttentionCombine) {
            return Ok(());
        }
        let id = |buffer: &str| base.program.buffer(buffer);
        let (y, z, i0) = (id("y")?, id("z")?, id("i0")?);
        let at = edit::task_pointer(&base.program, "use", "outputs")?;
        let edit = Edit::breaking(Rule::S11, "`use` makes the output of the program as its second one");
        let edit = edit.clause(clause::DAT_06).at(at.clone()).replace(at.clone(), json!([i0, z]));
        sink.reject_as(base, "made-second", &edit)?;
        let edit =
            Edit::breaking(Rule::S10, "one output twice, with another in between").clause(clause::DAT_06);
        let edit = edit.at(format!("{at}/2")).replace(at.clone(), json!([z, i0, z]));
        sink.reject_as(base, "twice-apart", &edit)?;
        let inputs = edit::task_pointer(&base.program, "use", "inputs")?;
        let edit =
            Edit::breaking(Rule::S19, "`use` reads the output of the program, and writes another buffer");
        let edit = edit.clause(clause::DAT_04).at(format!("/buffers/{z}"));
        sink.reject_as(base, "only-read", &edit.replace(inputs, json!([z])).replace(at, json!([y])))?;
        if unit.op == Op::KvAppend {
            let at = op_pointer(base, "outputs")?;
            let edit = Edit::breaking(Rule::S11, "a second output").clause(clause_of(unit.op));
            sink.reject_as(base, "two-outputs", &edit.at(at.clone()).replace(at, json!([y, i0])))?;
        }
        Ok(())
    })
}

/// S16: thresholds between two integers. D01: the first counter has lost its producers, and is in use all the same, so that nothing is to
/// be warned of.
pub fn waits(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, ..) in WAITERS {
        let base = library.get(&format!("waits/{name}"))?;
        for (place, value) in [(0, 1.5), (1, 2.5), (2, 2.25)] {
            let at = edit::task_pointer(&base.program, "waiter", &format!("waits/{place}/threshold"))?;
            let edit = Edit::breaking(Rule::S16, format!("wait {place} of `waiter` is for {value} tasks"));
            let edit = edit.clause(clause::DAT_07).at(at.clone()).replace(at, value);
            sink.reject_as(base, &format!("wait-{place}-between-integers"), &edit)?;
        }
        let own = base.program.out_counter(base.program.task("waiter")?)?;
        let mut edit = Edit::breaking(Rule::D01, "the producers of counter 0 increment another");
        for half in ["p0.0", "p0.1"] {
            edit = edit.replace(edit::task_pointer(&base.program, half, "out_counter")?, own);
        }
        let edit = edit.clause(clause::DAT_05).at(edit::task_pointer(&base.program, "waiter", "waits/0")?);
        sink.reject_without_warnings(base, "counter-0-without-producers", &edit)?;
    }
    let base = library.get("chain/nop-8")?;
    let edit = edit::redirect_out(&base.program, "t0", "t7", Rule::D01)?.clause(clause::DAT_05);
    sink.reject_without_warnings(base, "counter-0-without-producers", &edit.at("/tasks/1/waits/0"))
}

/// R02, R03, R05 and R06: two tasks that nothing orders increment one counter.
pub fn shared_counters(library: &Library, sink: &mut Sink) -> Result<()> {
    for rule in RULES.into_iter().filter(|rule| *rule != Rule::R04) {
        let (waiter, other) = Row::wait(rule);
        for row in ROWS.iter().filter(|row| row.has(rule)).step_by(2) {
            let base = library.get(&row.base(rule))?;
            let counter = base.program.out_counter(base.program.task(other)?)?;
            let edit = edit::drop_wait(&base.program, waiter, other, rule)?.clause(clause::EXE_05);
            let edit = edit.replace(edit::task_pointer(&base.program, waiter, "out_counter")?, counter);
            sink.reject_as(base, &format!("{waiter}-shares-the-counter-of-{other}"), &edit)?;
        }
    }
    Ok(())
}

/// M05, M06 and R03: a row is written after it was read, twice in place of another, or by the reader alone.
pub fn rows(library: &Library, sink: &mut Sink) -> Result<()> {
    for row in ROWS.iter().filter(|row| !row.is_on_chip()) {
        let base = library.get(&row.base(Rule::R03))?;
        let reader = base.program.task("reader")?;
        let counter = base.program.out_counter(reader)?;
        let edit = edit::drop_wait(&base.program, "reader", "writer1", Rule::M05)?.clause(clause::EXE_08);
        let edit = edit.at(format!("/tasks/{reader}/inputs/{}", if row.is_second() { 1 } else { 0 }));
        let edit = edit
            .insert(
                edit::task_pointer(&base.program, "writer1", "waits/-")?,
                json!({"counter": counter, "threshold": 1}),
            )
            // Not behind the reader in its own queue.
            .replace(edit::task_pointer(&base.program, "writer1", "sm")?, Value::Null);
        sink.reject_as(base, "row-1-written-later", &edit)?;
    }
    for &op in Op::IN_PLACE {
        let base = library.get(&format!("rows/in-place-{}", slug(op.name())))?;
        let change = base.program.task("change")?;
        let edit = edit::set_param(&base.program, "row1", "m_off", json!(0), Rule::M05)?;
        let operand = usize::from(!is_unary(op) && op != Op::SiluMul);
        let edit = edit.clause(clause::EXE_10).at(format!("/tasks/{change}/inputs/{operand}"));
        sink.reject_as(base, "row-1-written-by-its-reader-alone", &edit)?;
    }
    for placement in PLACEMENTS {
        let base = library.get(&format!("rows/output-{placement}"))?;
        for (label, row) in [("row1", 0), ("row2", 1), ("row0", 2)] {
            let edit = edit::set_param(&base.program, label, "m_off", json!(row), Rule::M06)?;
            let edit = edit.clause(clause::EXE_08).at(format!("/buffers/{}", base.program.buffer("y")?));
            sink.reject_as(base, &format!("{label}-writes-row-{row}"), &edit)?;
        }
        let base = library.get(&format!("rows/again-{placement}"))?;
        let edit = edit::drop_wait(&base.program, "reader", "again", Rule::R03)?.clause(clause::EXE_07);
        sink.reject_as(base, "row-1-written-twice-meanwhile", &edit)?;
    }
    Ok(())
}
