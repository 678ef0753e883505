//! Programs that cannot finish: rules D01 to D04, by edits of waits and counters.

use super::library::{Base, Library};
use super::sink::Sink;
use crate::builder::{Program, Result};
use crate::edit::{self, Edit};
use megakernel_ir::rule::{Rule, clause};

/// D01: a wait on a counter that no task increments.
pub fn wait_without_producer(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, task, threshold) in [
        ("chain/copy-1", "t0", 1),
        ("chain/gelu-2", "t1", 1),
        ("chain/mul-5", "t2", 2),
        ("chain/nop-8", "t7", 1),
        ("fan-in/shared-4", "join", 4),
        ("fan-in/shared-4", "part3", 1),
        ("fan-in/separate-5", "join", 1),
        ("fan-out/readers-16", "reader15", 4_294_967_295),
        ("diamond/depth-3", "top1", 1),
        ("gemv/four-tiles", "tile[t2]", 1),
        ("gemm/grid-3x4", "tile[t11]", 12),
        ("gemv/cover-then-tile", "cover", 1),
    ] {
        let base = library.get(name)?;
        let edit = edit::add_orphan_wait(&base.program, task, threshold)?
            .clause(clause::EXE_06)
            .clause(clause::DAT_05);
        sink.reject_as(base, &format!("{}-orphan-wait-{threshold}", plain(task)), &edit)?;
    }
    // The sink of the side branch goes to a counter that nobody awaits; what it leaves behind is awaited for nothing.
    let base = library.get("chain/side-branch")?;
    let edit = edit::redirect_out(&base.program, "side", "loose", Rule::D01)?.at(edit::wait_pointer(
        &base.program,
        "after_side",
        "side",
    )?);
    sink.reject_as(base, "producer-goes-elsewhere", &edit)?;
    // The counter without producer is the first one, and the task a NOP, of whose data nothing else can be wrong.
    let base = library.get("chain/nop-8")?;
    let edit = edit::redirect_out(&base.program, "t0", "t7", Rule::D01)?;
    sink.reject_as(base, "first-goes-elsewhere", &edit.at(edit::wait_pointer(&base.program, "t1", "t0")?))?;
    for (name, task) in [("chain/redundant-waits-4", "t3"), ("chain/redundant-waits-9", "t5")] {
        let base = library.get(name)?;
        let wait = edit::task_pointer(&base.program, task, "waits/1")?;
        let counter = base.program.len("/counters")?;
        let edit = Edit::breaking(
            Rule::D01,
            format!("the second wait of `{task}` moves to a counter without producer"),
        )
        .at(wait.clone())
        .insert("/counters/-", serde_json::json!({"id": counter, "init": 0, "note": "orphan"}))
        .replace(format!("{wait}/counter"), counter);
        sink.reject_as(base, "redundant-wait-moves", &edit)?;
    }
    Ok(())
}

/// D02: a threshold above the number of producers.
pub fn threshold_above_producers(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, task, producer) in [
        ("chain/gelu-2", "t1", "t0"),
        ("chain/softmax-16", "t9", "t8"),
        ("chain/nop-8", "t4", "t3"),
        ("fan-in/shared-2", "join", "part0"),
        ("fan-in/shared-8", "join", "part7"),
        ("fan-in/separate-8", "join", "part5"),
        ("fan-in/nops-33", "join", "n32"),
        ("fan-out/readers-4", "reader2", "source"),
        ("diamond/wide-6", "bottom0", "side0.3"),
        ("gemv/four-tiles", "reader", "tile[t0]"),
        ("gemv/ragged-five", "reader", "tile[t4]"),
        ("gemv/waves-3-1", "reader", "tile[t3]"),
        ("gemm/grid-2x2", "reader", "tile[t0]"),
    ] {
        let base = library.get(name)?;
        let producers = producers_of(&base.program, producer)?;
        for (what, threshold) in
            [("one-more", producers + 1), ("twice", producers * 2), ("uint32-max", u64::from(u32::MAX))]
        {
            if what == "twice" && producers == 1 {
                continue;
            }
            let edit = edit::raise(&base.program, task, producer, threshold)?.clause(clause::EXE_06);
            sink.reject_as(base, &format!("{}-{what}", plain(task)), &edit)?;
        }
    }
    // One NOP of a join signals elsewhere: the join waits for more increments than are left.
    for count in [3, 9, 33] {
        let base = library.get(&format!("fan-in/nops-{count}"))?;
        let edit = edit::redirect_out(&base.program, "n1", "loose", Rule::D02)?.at(edit::wait_pointer(
            &base.program,
            "join",
            "n0",
        )?);
        sink.reject_as(base, "one-producer-goes-elsewhere", &edit)?;
    }
    Ok(())
}

/// D03: a task waits for its own counter.
pub fn self_wait(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, task) in [
        ("chain/copy-1", "t0"),
        ("chain/add-3", "t1"),
        ("chain/nop-8", "t0"),
        ("fan-in/shared-3", "join"),
        ("fan-out/readers-2", "source"),
        ("diamond/depth-1", "side0.1"),
        ("gemv/one-tile", "tile[t0]"),
    ] {
        let base = library.get(name)?;
        let waits = base.program.len(&edit::task_pointer(&base.program, task, "waits")?)?;
        let edit = edit::add_wait(&base.program, task, task, Rule::D03)?
            .clause(clause::EXE_06)
            .at(edit::task_pointer(&base.program, task, &format!("waits/{waits}"))?);
        sink.reject_as(base, &format!("{}-waits-for-itself", plain(task)), &edit)?;
    }
    // The last task of a chain signals the counter it waits for.
    for (name, last, before) in [
        ("chain/gelu-2", "t1", "t0"),
        ("chain/rmsnorm-8", "t7", "t6"),
        ("gemv/four-tiles", "reader", "tile[t0]"),
    ] {
        let base = library.get(name)?;
        let edit = edit::redirect_out(&base.program, last, before, Rule::D03)?.at(edit::wait_pointer(
            &base.program,
            last,
            before,
        )?);
        sink.reject_as(base, &format!("{}-signals-what-it-awaits", plain(last)), &edit)?;
    }
    // Two of those who increment a counter wait for it. Each waits for the other as well, but no cycle is named.
    for (name, one, other) in [
        ("fan-in/shared-3", "part0", "part2"),
        ("fan-in/shared-4", "part1", "part3"),
        ("gemv/four-tiles", "tile[t0]", "tile[t3]"),
        ("gemm/grid-2x2", "tile[t1]", "tile[t2]"),
    ] {
        let base = library.get(name)?;
        let counter = base.program.out_counter(base.program.task(one)?)?;
        let waits = base.program.len(&edit::task_pointer(&base.program, one, "waits")?)?;
        let wait = serde_json::json!({"counter": counter, "threshold": 1});
        let edit = Edit::breaking(
            Rule::D03,
            format!("`{one}` and `{other}` wait for the counter that both increment"),
        )
        .clause(clause::EXE_05)
        .at(edit::task_pointer(&base.program, one, &format!("waits/{waits}"))?)
        .insert(edit::task_pointer(&base.program, one, "waits/-")?, wait.clone())
        .insert(edit::task_pointer(&base.program, other, "waits/-")?, wait);
        sink.reject_as(base, &format!("{}-and-{}-wait-for-theirs", plain(one), plain(other)), &edit)?;
    }
    // The other producer stands behind the task in a queue, or behind what waits for a task behind it. No queue is at fault.
    for (name, early, late) in [
        ("placed/ring-2", "a0", "b1"),
        ("placed/ring-3", "a0", "b2"),
        ("placed/long-ring-3", "a0", "b2"),
        ("placed/independent-12", "t0", "t4"),
        ("placed/independent-12", "t3", "t11"),
        ("placed/independent-12", "t5", "t9"),
    ] {
        let base = library.get(name)?;
        let counter = base.program.out_counter(base.program.task(late)?)?;
        let edit = Edit::breaking(
            Rule::D03,
            format!("`{early}` waits for the counter that it increments together with `{late}`"),
        )
        .clause(clause::EXE_05)
        .at(edit::task_pointer(&base.program, early, "waits/0")?)
        .replace(edit::task_pointer(&base.program, early, "out_counter")?, counter)
        .insert(
            edit::task_pointer(&base.program, early, "waits/-")?,
            serde_json::json!({"counter": counter, "threshold": 2}),
        );
        sink.reject_as(base, &format!("{early}-waits-with-{late}-behind-it"), &edit)?;
    }
    // A tile waits for the counter that it and its neighbours increment.
    for (name, tile, threshold) in [("gemv/four-tiles", "tile[t1]", 4), ("gemm/grid-2x2", "tile[t3]", 3)] {
        let base = library.get(name)?;
        let pointer = edit::task_pointer(&base.program, tile, "waits/-")?;
        let counter = base.program.out_counter(base.program.task(tile)?)?;
        let edit = Edit::breaking(Rule::D03, format!("`{tile}` waits for the counter that it shares"))
            .at(edit::task_pointer(&base.program, tile, "waits/1")?)
            .insert(pointer, serde_json::json!({"counter": counter, "threshold": threshold}));
        sink.reject_as(base, &format!("{}-waits-for-its-join", plain(tile)), &edit)?;
    }
    Ok(())
}

/// D03 beside D04, D05 and D06: a self-wait makes no edges, and hides none of those that other waits make.
pub fn beside_self_wait(library: &Library, sink: &mut Sink) -> Result<()> {
    // A task awaits a later one, and one that may be of that cycle or not awaits itself.
    for (name, first, last, itself) in [
        ("chain/mul-5", "t1", "t3", "t4"),
        ("chain/nop-8", "t0", "t7", "t3"),
        ("fan-out/readers-4", "source", "reader1", "reader3"),
        ("diamond/depth-3", "side1.0", "top2", "bottom2"),
    ] {
        let base = library.get(name)?;
        let edit = edit::add_wait(&base.program, first, last, Rule::D03)?.and(Rule::D04);
        let name = format!("{}-awaits-{}", plain(first), plain(last));
        sink.reject_as(
            base,
            &format!("{name}-and-{}-itself", plain(itself)),
            &and_itself(base, itself, edit)?,
        )?;
    }
    // A consumer stands before its producer in a queue.
    for (name, consumer, itself) in
        [("placed/reversed-3", 0, "t2"), ("placed/reversed-6", 2, "t0"), ("placed/no-target", 1, "t1")]
    {
        let base = library.get(name)?;
        let producer = format!("t{}", consumer + 1);
        let edit = edit::set_sm(&base.program, &producer, consumer, Rule::D03)?.and(Rule::D05);
        let name = format!("{producer}-joins-t{consumer}-and-{itself}-awaits-itself");
        sink.reject_as(base, &name, &and_itself(base, itself, edit)?)?;
    }
    // Queues block each other.
    for (name, last, itself) in
        [("placed/ring-2", "b1", "a1"), ("placed/ring-3", "b2", "a0"), ("placed/long-ring-3", "f2.1", "b2")]
    {
        let base = library.get(name)?;
        let edit = edit::add_wait(&base.program, "a0", last, Rule::D03)?.and(Rule::D06);
        let name = format!("closed-by-{}-and-{itself}-awaits-itself", plain(last));
        sink.reject_as(base, &name, &and_itself(base, itself, edit)?)?;
    }
    Ok(())
}

/// The edit, after which a task awaits itself as well.
fn and_itself(base: &Base, task: &str, edit: Edit) -> Result<Edit> {
    let wait = edit::add_wait(&base.program, task, task, Rule::D03)?;
    Ok(edit.also(wait).clause(clause::EXE_05))
}

/// D04: a cycle of dependency edges.
pub fn dependency_cycle(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, first, last) in [
        ("chain/gelu-2", "t0", "t1"),
        ("chain/add-3", "t0", "t2"),
        ("chain/mul-5", "t1", "t3"),
        ("chain/softmax-16", "t0", "t15"),
        ("chain/softmax-16", "t7", "t8"),
        ("chain/nop-8", "t0", "t7"),
        ("chain/redundant-waits-9", "t2", "t6"),
        ("chain/side-branch", "side", "after_side"),
        ("fan-in/shared-4", "part0", "join"),
        ("fan-in/separate-8", "part6", "join"),
        ("fan-in/nops-9", "n4", "join"),
        ("fan-out/readers-4", "source", "reader1"),
        ("diamond/depth-1", "top0", "bottom0"),
        ("diamond/depth-1", "side0.1", "bottom0"),
        ("diamond/depth-3", "top0", "bottom2"),
        ("diamond/depth-3", "side1.0", "top2"),
        ("gemv/four-tiles", "source", "tile[t0]"),
        ("gemv/four-tiles", "tile[t2]", "reader"),
        ("gemm/grid-3x4", "source", "reader"),
        ("gemv/cover-then-tile", "cover", "reader"),
        // The tasks of the cycle stand in several queues, which do not block each other.
        ("chain/round-robin-6", "t0", "t1"),
        ("chain/round-robin-6", "t2", "t4"),
        ("placed/ring-2", "b0", "a1"),
        ("placed/ring-4", "b1", "a2"),
    ] {
        let base = library.get(name)?;
        // Task lists are in order of the dependency edges, so the edited task is the lowest of every cycle.
        let edit = edit::add_wait(&base.program, first, last, Rule::D04)?
            .clause(clause::EXE_06)
            .at(format!("/tasks/{}", base.program.task(first)?));
        sink.reject_as(base, &format!("{}-awaits-{}", plain(first), plain(last)), &edit)?;
    }
    // Two cycles of one set: the shorter one is that of the lowest counter, and the lowest task lies on the longer one alone.
    for (length, first, inner) in [(4, "t0", "t2"), (7, "t1", "t4")] {
        let base = library.get(&format!("chain/backwards-{length}"))?;
        let last = format!("t{}", length - 1);
        let edit = edit::add_wait(&base.program, first, &last, Rule::D04)?;
        let wait = edit::add_wait(&base.program, inner, &last, Rule::D04)?;
        let what = format!("`{first}` and `{inner}` also wait for `{last}`");
        let operations = edit.operations.into_iter().chain(wait.operations).collect();
        let edit = Edit { operations, what, ..edit }.at(format!("/tasks/{}", base.program.task(first)?));
        sink.reject_as(base, &format!("{first}-and-{inner}-await-{last}"), &edit)?;
    }
    Ok(())
}

/// A task label within a case name.
pub fn plain(label: &str) -> String {
    label.replace(['[', '.', ' ', '_', '/'], "-").replace(']', "").to_lowercase()
}

/// Number of producers of the counter of a task.
pub fn producers_of(program: &Program, task: &str) -> Result<u64> {
    Ok(program.producers(program.out_counter(program.task(task)?)?)? as u64)
}
