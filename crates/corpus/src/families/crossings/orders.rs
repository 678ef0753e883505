//! Waits and pairs of tasks, wherever they can stand.

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use crate::builder::Result;
use crate::edit::{self, Edit};
use crate::families::accept::pairs::{ROWS, RULES, Row, WAITERS};
use crate::families::library::Library;
use crate::families::sink::Sink;

/// R02 to R06: the one wait is dropped that keeps two tasks apart.
pub fn pairs(library: &Library, sink: &mut Sink) -> Result<()> {
    for rule in RULES {
        let (waiter, other) = Row::wait(rule);
        for row in ROWS.iter().filter(|row| row.has(rule)) {
            let base = library.get(&row.base(rule))?;
            let edit = edit::drop_wait(&base.program, waiter, other, rule)?.clause(clause::EXE_05);
            sink.reject_as(base, &format!("{waiter}-without-{other}"), &edit)?;
        }
    }
    Ok(())
}

/// R02 to R06 on two buffers of one program: on both, and on either alone.
pub fn twice(library: &Library, sink: &mut Sink) -> Result<()> {
    for rule in RULES {
        let base = library.get(&format!("twice/{}", rule.id().to_lowercase()))?;
        let (waiter, other) = Row::wait(rule);
        let drop = |name: &str| -> Result<Edit> {
            let [waiter, other] = [waiter, other].map(|task| format!("{name}.{task}"));
            let edit = edit::drop_wait(&base.program, &waiter, &other, rule)?.clause(clause::EXE_07);
            let is_write = [Rule::R04, Rule::R05].contains(&rule);
            let at = if is_write { "outputs/0" } else { "inputs/0" };
            Ok(edit.at(edit::task_pointer(&base.program, &waiter, at)?))
        };
        let [a, b] = [drop("a")?, drop("b")?];
        sink.reject_as(base, "on-the-first", &a)?;
        sink.reject_as(base, "on-the-second", &b)?;
        sink.reject_as(base, "on-both", &a.also(b))?;
    }
    Ok(())
}

/// What else is wrong with a pair, or is not: the second writer waits for nobody; an on-chip buffer is used from two SMs; a writer writes
/// where the other one does; a cache is not wholly written before it is read.
pub fn variations(library: &Library, sink: &mut Sink) -> Result<()> {
    for row in &ROWS {
        let base = library.get(&row.base(Rule::R05))?;
        let waits = edit::task_pointer(&base.program, "writer1", "waits")?;
        let edit =
            Edit::breaking(Rule::R04, "`writer1` waits for nobody").or(Rule::R03).clause(clause::EXE_07);
        sink.reject_as(base, "writer1-waits-for-nobody", &edit.replace(waits, json!([])))?;
        if row.is_on_chip() {
            for task in ["reader", "writer1", "writer0"] {
                let edit = edit::set_sm(&base.program, task, 1, Rule::R07)?.clause(clause::PAG_03);
                sink.reject_as(base, &format!("{task}-on-another-sm"), &edit)?;
            }
        }
        let base = library.get(&row.base(Rule::R03))?;
        let edit = edit::drop_wait(&base.program, "reader", "writer1", Rule::R03)?;
        sink.accept_under(&["memory-safety"], base, &format!("{}-unordered", base.slug()), edit)?;
        if !row.is_output() {
            let edit = edit::set_param(&base.program, "writer1", "m_off", json!(0), Rule::M05)?;
            sink.reject_as(base, "row-1-unwritten", &edit.clause(clause::EXE_08))?;
        }
    }
    for placement in ["unplaced", "one-queue", "queues"] {
        let base = library.get(&format!("refill/all-{placement}"))?;
        for (task, row) in [("early0", 1), ("early1", 0), ("early1", 2), ("early2", 1)] {
            let edit =
                edit::set_param(&base.program, task, "pos", json!(row), Rule::R06)?.clause(clause::EXE_11);
            sink.reject_as(base, &format!("{task}-writes-row-{row}"), &edit)?;
        }
    }
    for count in [3, 5, 9] {
        let base = library.get(&format!("nibbles/{count}"))?;
        let nbytes = count / 2;
        let edit = Edit::breaking(Rule::P02, format!("a page of {nbytes} bytes for {count} half bytes"));
        let edit = edit
            .clause(clause::DAT_03)
            .at("/pages/buffer_to_page/1")
            .replace("/pages/pages/0/nbytes", nbytes);
        sink.reject_as(base, "page-too-small", &edit)?;
    }
    Ok(())
}

/// D01, D02, D03 and R01: each wait of a task is the one at fault, also where it is a second one on its counter.
pub fn waits(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, ..) in WAITERS {
        let base = library.get(&format!("waits/{name}"))?;
        let waits = edit::task_pointer(&base.program, "waiter", "waits")?;
        let own = base.program.out_counter(base.program.task("waiter")?)?;
        let nine: Vec<Value> = (0..9).map(|place| json!({"counter": place % 3, "threshold": 2})).collect();
        let edit = Edit::breaking(Rule::S12, "`waiter` has nine waits").clause(clause::DAT_09);
        let edit = edit.at(waits.clone()).replace(waits.clone(), nine);
        sink.reject_as(base, "nine-waits", &edit)?;
        for place in 0..3 {
            let at = format!("{waits}/{place}");
            let threshold = |rule, value: i64| {
                let edit =
                    Edit::breaking(rule, format!("wait {place} of `waiter` is for {value} of 2 tasks"));
                edit.clause(clause::DAT_07).at(at.clone()).replace(format!("{at}/threshold"), value)
            };
            sink.reject_as(base, &format!("wait-{place}-for-1"), &threshold(Rule::R01, 1))?;
            sink.reject_as(base, &format!("wait-{place}-for-3"), &threshold(Rule::D02, 3))?;
            sink.reject_as(base, &format!("wait-{place}-for-65538"), &threshold(Rule::D02, 65_538))?;
            let insert = |rule, what: &str, counter: i64| {
                let edit = Edit::breaking(rule, format!("wait {place} of `waiter` is on {what}"));
                let wait = json!({"counter": counter, "threshold": 1});
                edit.clause(clause::DAT_07).at(at.clone()).insert(at.clone(), wait)
            };
            sink.reject_as(
                base,
                &format!("wait-{place}-on-its-own"),
                &insert(Rule::D03, "its own counter", own),
            )?;
            let orphan = base.program.len("/counters")?;
            let edit = insert(Rule::D01, "a counter without producers", orphan as i64);
            let edit = edit.insert("/counters/-", json!({"id": orphan}));
            sink.reject_as(base, &format!("wait-{place}-on-nothing"), &edit)?;
            for (rule, value) in [(Rule::R01, 1), (Rule::D02, 3)] {
                let edit = Edit::breaking(
                    rule,
                    format!("`waiter` waits for counter {place} again, for {value} of 2 tasks"),
                );
                let wait = json!({"counter": place, "threshold": value});
                let edit =
                    edit.clause(clause::DAT_07).at(format!("{waits}/3")).insert(format!("{waits}/-"), wait);
                sink.reject_as(base, &format!("again-on-{place}-for-{value}"), &edit)?;
            }
        }
    }
    Ok(())
}

/// D05 and D06 over NOPs and over tasks without SM.
pub fn queues(library: &Library, sink: &mut Sink) -> Result<()> {
    for name in ["detour/gelu", "detour/gelu-3", "detour/nop", "detour/nop-2", "detour/nop-4"] {
        let base = library.get(name)?;
        let edit =
            edit::add_wait(&base.program, "a", "end", Rule::D06)?.clause(clause::EXE_02).at("/tasks/0");
        sink.reject_as(base, "a-waits-for-the-end", &edit)?;
    }
    for name in ["placed/nops-on-0", "placed/nops-on-3"] {
        let base = library.get(name)?;
        for (task, sm) in [("n0", -1), ("n3", -2)] {
            let edit = edit::set_sm(&base.program, task, sm, Rule::D07)?.clause(clause::EXE_02);
            sink.reject_as(base, &format!("{task}-on-minus-{}", -sm), &edit)?;
        }
        for (early, late) in [("n0", "n1"), ("n2", "n3"), ("n0", "n3"), ("n1", "n3")] {
            let edit = edit::add_wait(&base.program, early, late, Rule::D05)?.clause(clause::EXE_02);
            let edit = edit.at(format!("/tasks/{}", base.program.task(early)?));
            sink.reject_as(base, &format!("{early}-waits-for-{late}"), &edit)?;
        }
    }
    Ok(())
}
