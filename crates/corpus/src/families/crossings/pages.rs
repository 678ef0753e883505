//! Two buffers on one page: which task may turn one into the other, and which task is too late or too early.

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use crate::builder::{Op, Result, slug};
use crate::edit::{self, Edit};
use crate::families::accept::rows::LISTED;
use crate::families::library::{Base, Library};
use crate::families::sink::{Sink, words};

/// Pointer of the entry of a buffer in the map of pages.
fn entry(base: &Base, buffer: &str) -> Result<String> {
    Ok(format!("/pages/buffer_to_page/{}", base.program.buffer(buffer)?))
}

/// P01: one more task reads a buffer, on the SM of another task and with these waits. It increments the counter of a task, or one of its
/// own.
pub fn one_more_reader(
    base: &Base,
    buffer: &str,
    beside: &str,
    waits: &Value,
    signals: Option<&str>,
) -> Result<Edit> {
    let program = &base.program;
    let read = program.buffer(buffer)?;
    let [buffers, counters, tasks] =
        [program.len("/buffers")?, program.len("/counters")?, program.len("/tasks")?];
    let edit = Edit::breaking(Rule::P01, format!("one more task reads `{buffer}`")).clause(clause::PAG_02);
    let shape = program.at(&format!("/buffers/{read}/shape"))?;
    let late = json!({"id": buffers, "name": "late", "kind": "IO_OUTPUT", "dtype": "F32", "shape": shape});
    let edit = edit.insert("/buffers/-", late);
    let (out, edit) = match signals {
        Some(other) => (json!(program.out_counter(program.task(other)?)?), edit),
        None => (json!(counters), edit.insert("/counters/-", json!({"id": counters}))),
    };
    let task = json!({
        "id": tasks, "op": "GELU", "inputs": [read], "outputs": [buffers], "out_counter": out,
        "waits": waits, "sm": program.at(&edit::task_pointer(program, beside, "sm")?)?
    });
    Ok(edit.insert("/tasks/-", task))
}

/// One wait, for one task.
fn after(base: &Base, task: &str) -> Result<Value> {
    let counter = base.program.out_counter(base.program.task(task)?)?;
    Ok(json!([{"counter": counter, "threshold": 1}]))
}

/// P01 and what it allows: a task turns one buffer of a page into the other, whichever of its inputs that is, if their elements have one
/// width, and whichever of the two has the lower id.
pub fn hand_over(library: &Library, sink: &mut Sink) -> Result<()> {
    for &op in Op::IN_PLACE {
        let base = library.get(&format!("paged/in-place-{}", slug(op.name())))?;
        let pointer = |buffer: &str| edit::buffer_pointer(&base.program, buffer, "dtype");
        let dtypes = |edit: Edit, from: &str, to: &str| -> Result<Edit> {
            let edit = edit.clause(clause::EXE_10).clause(clause::PAG_02);
            Ok(edit.replace(pointer("a")?, from).replace(pointer("b")?, to))
        };
        for (from, to) in [("F16", "BF16"), ("BF16", "F16"), ("F8E4M3", "F8E5M2")] {
            let edit = dtypes(Edit::harmless(format!("{from} becomes {to} in its place")), from, to)?;
            sink.accept(base, &words(&format!("{}-{from}-to-{to}", base.slug())), &edit)?;
        }
        for (from, to) in [("F16", "F8E4M3"), ("F16", "F32")] {
            let what = format!("{from} becomes {to} in its place");
            let edit = dtypes(Edit::breaking(Rule::P01, what), from, to)?.at(entry(base, "b")?);
            sink.reject_as(base, &words(&format!("{from}-to-{to}")), &edit)?;
        }
        let task = |label: &str, rest: &str| edit::task_pointer(&base.program, label, rest);
        let (a, b) = (base.program.buffer("a")?, base.program.buffer("b")?);
        let turned = Edit::harmless("the buffer that comes first has the higher id");
        let turned = turned
            .clause(clause::PAG_02)
            .replace(task("init", "outputs/0")?, b)
            .replace(task("change", "inputs/0")?, b)
            .replace(task("change", "outputs/0")?, a)
            .replace(task("last", "inputs/0")?, a);
        sink.accept(base, &format!("{}-turned", base.slug()), &turned)?;
        // What signals with the task that takes the page over is not done with the page for that.
        let edit =
            one_more_reader(base, "a", "init", &after(base, "init")?, Some("change"))?.at(entry(base, "b")?);
        let wait = edit::wait_pointer(&base.program, "last", "change")?;
        sink.reject_as(base, "late-reader-of-one-counter", &edit.replace(format!("{wait}/threshold"), 2))?;
        if base.program.len(&task("change", "inputs")?)? < 2 {
            continue;
        }
        let what = "`change` also reads what it writes, which nobody has written before";
        let edit = Edit::breaking(Rule::P01, what).and(Rule::R02).clause(clause::EXE_10);
        let edit = edit.at(entry(base, "b")?).replace(task("change", "inputs")?, json!([a, b]));
        sink.reject_as(base, "reads-both", &edit)?;
        let inputs = json!([base.program.buffer("x")?, a]);
        let edit = Edit::harmless("the second input gives its storage to the output").clause(clause::EXE_10);
        let edit = edit.replace(task("change", "inputs")?, inputs.clone());
        sink.accept(base, &format!("{}-second-input", base.slug()), &edit)?;
        let edit = edit::set_dtype(&base.program, "b", "F16", Rule::P01)?.clause(clause::EXE_10);
        let edit = edit.at(entry(base, "b")?).replace(task("change", "inputs")?, inputs);
        sink.reject_as(base, "second-input-narrower-output", &edit)?;
    }
    Ok(())
}

/// P01: one more task reads a buffer, and nothing keeps the next buffer of the page waiting for it.
pub fn late_readers(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, buffer, next) in [
        ("paged/turns-4-2", 0, 2),
        ("paged/turns-7-2", 0, 2),
        ("paged/turns-7-2", 1, 3),
        ("paged/turns-7-2", 3, 5),
        ("paged/turns-9-3", 2, 5),
        ("paged/turns-9-3", 4, 7),
        ("on-chip/mixed-smem-first", 0, 3),
        ("on-chip/mixed-smem-first", 1, 4),
        ("on-chip/mixed-register-first", 0, 3),
        ("on-chip/mixed-register-first", 1, 4),
        ("on-chip/mixed-hbm-first", 0, 3),
        ("on-chip/mixed-hbm-first", 1, 4),
    ] {
        let base = library.get(name)?;
        let writer = format!("t{buffer}");
        let edit = one_more_reader(base, &format!("b{buffer}"), &writer, &after(base, &writer)?, None)?;
        let edit = edit.at(entry(base, &format!("b{next}"))?);
        sink.reject_as(base, &format!("late-reader-of-b{buffer}"), &edit)?;
    }
    for (readers, reader) in [(3, 1), (5, 0), (5, 1), (5, 3), (5, 4)] {
        let base = library.get(&format!("paged/after-{readers}-readers"))?;
        let edit = edit::drop_wait(&base.program, "second", &format!("reader{reader}"), Rule::P01)?
            .clause(clause::PAG_02)
            .at(entry(base, "b")?);
        sink.reject_as(base, &format!("without-reader{reader}"), &edit)?;
    }
    Ok(())
}

/// P01: a task counts that lists a buffer, also if it touches none of its elements.
pub fn listed(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, _, _, turned) in LISTED {
        let base = library.get(&format!("rows/listed-{name}"))?;
        let at = entry(base, if turned { "a" } else { "b" })?;
        let edit = edit::drop_wait(&base.program, "window", "second", Rule::P01)?.clause(clause::PAG_02);
        sink.reject_as(base, "window-waits-for-nobody", &edit.at(at.clone()))?;
        // What takes the page over has the same waits then.
        let base = library.get(&format!("rows/listed-made-{name}"))?;
        let wait = edit::wait_pointer(&base.program, "window", "second")?;
        let first = base.program.out_counter(base.program.task("first")?)?;
        let edit =
            Edit::breaking(Rule::P01, "`window` waits for what `second` waits for, and not for `second`");
        let edit = edit.clause(clause::PAG_02).at(at).replace(format!("{wait}/counter"), first);
        sink.reject_as(base, "window-waits-like-second", &edit)?;
    }
    Ok(())
}
