//! Queues of SMs: rules D05, D06 and D07.

use megakernel_ir::rule::{Rule, clause};
use serde_json::json;

use super::deadlock::plain;
use super::library::Library;
use super::sink::Sink;
use crate::builder::Result;
use crate::edit::{self, Edit};

/// D05: a consumer stands before its producer in the queue of one SM.
pub fn queue_order(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, length) in [("placed/reversed-3", 3), ("placed/reversed-6", 6), ("placed/no-target", 4)] {
        let base = library.get(name)?;
        for consumer in 0..length - 1 {
            let edit = edit::set_sm(&base.program, &format!("t{}", consumer + 1), consumer, Rule::D05)?
                .clause(clause::EXE_02)
                .at(format!("/tasks/{consumer}"));
            sink.reject_as(base, &format!("t{}-joins-t{consumer}", consumer + 1), &edit)?;
        }
    }
    for (name, first, second) in [
        ("chain/one-sm-5", "t0", "t1"),
        ("chain/one-sm-5", "t1", "t2"),
        ("chain/one-sm-5", "t2", "t3"),
        ("chain/one-sm-5", "t3", "t4"),
        ("chain/one-sm-5", "t1", "t3"),
        ("decoder/placed-one-sm", "embed", "L0.input_norm"),
        ("decoder/placed-one-sm", "L0.q.reshape", "L0.q.rope"),
    ] {
        let base = library.get(name)?;
        // After the swap the consumer stands where the first of the two stood.
        let edit = edit::swap_tasks(&base.program, first, second, Rule::D05)?
            .clause(clause::EXE_02)
            .at(format!("/tasks/{}", base.program.task(first)?));
        sink.reject_as(base, &format!("swap-{}-{}", plain(first), plain(second)), &edit)?;
    }
    let base = library.get("decoder/placed-one-sm")?;
    let edit = edit::add_wait(&base.program, "L0.k[t0]", "L0.q.rope", Rule::D05)?
        .at(format!("/tasks/{}", base.program.task("L0.k[t0]")?));
    sink.reject_as(base, "wait-for-a-later-entry", &edit)
}

/// D06: queues that break no edge block each other.
pub fn queue_cycle(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, last) in [
        ("placed/ring-2", "b1"),
        ("placed/ring-3", "b2"),
        ("placed/ring-4", "b3"),
        ("placed/ring-7", "b6"),
        ("placed/long-ring-3", "b2"),
        ("placed/long-ring-3", "f2.1"),
    ] {
        let base = library.get(name)?;
        let mut edit = edit::add_wait(&base.program, "a0", last, Rule::D06)?
            .clause(clause::EXE_02)
            .clause(clause::EXE_06);
        edit = edit.at("/tasks/0");
        sink.reject_as(base, &format!("closed-by-{}", plain(last)), &edit)?;
    }
    for (name, consumer, ancestor) in [
        ("placed/reversed-3", 0, 2),
        ("placed/reversed-6", 0, 2),
        ("placed/reversed-6", 0, 5),
        ("placed/reversed-6", 1, 4),
        ("placed/reversed-6", 2, 4),
        ("placed/reversed-6", 3, 5),
        ("placed/no-target", 1, 3),
    ] {
        let base = library.get(name)?;
        let edit = edit::set_sm(&base.program, &format!("t{ancestor}"), consumer, Rule::D06)?
            .clause(clause::EXE_06)
            .at(format!("/tasks/{consumer}"));
        sink.reject_as(base, &format!("t{ancestor}-joins-t{consumer}"), &edit)?;
    }
    for (first, second) in [("t0", "t4"), ("t1", "t5")] {
        let base = library.get("chain/round-robin-6")?;
        let edit = edit::swap_tasks(&base.program, first, second, Rule::D06)?
            .at(format!("/tasks/{}", base.program.task(first)?));
        sink.reject_as(base, &format!("swap-{first}-{second}"), &edit)?;
    }
    Ok(())
}

/// D06 beside D04 and D05: of the edges over one counter it leaves out those that break another rule, and no others.
pub fn beside_queue_cycle(library: &Library, sink: &mut Sink) -> Result<()> {
    for where_other_is in ["unplaced", "placed", "behind"] {
        // `back` closes a cycle of waits, and `other` comes after `second`, which stands behind `first`.
        let base = library.get(&format!("placed/round-{where_other_is}"))?;
        let edit = edit::add_wait(&base.program, "first", "back", Rule::D04)?.and(Rule::D06);
        sink.reject_as(base, "first-waits", &edit.clause(clause::EXE_05).at("/tasks/0"))?;
    }
    // `second` comes after `first` and `back` anyway, and what comes after it lies on the cycle of waits.
    for where_other_is in ["unplaced", "placed"] {
        let base = library.get(&format!("placed/round-{where_other_is}"))?;
        let edit = edit::add_wait(&base.program, "second", "back", Rule::D04)?;
        let edit = edit.at(format!("/tasks/{}", base.program.task("second")?));
        sink.reject_as(base, "second-waits", &edit)?;
    }
    for where_other_is in ["unplaced", "placed", "behind"] {
        // `behind` is in the queue of who waits for it, and `other` comes after `second`.
        let base = library.get(&format!("placed/joint-{where_other_is}"))?;
        let edit = edit::add_wait(&base.program, "first", "behind", Rule::D05)?.and(Rule::D06);
        sink.reject_as(base, "first-waits", &edit.clause(clause::EXE_02).at("/tasks/0"))?;
        let edit = edit::add_wait(&base.program, "third", "behind", Rule::D05)?;
        let edit = edit.at(format!("/tasks/{}", base.program.task("third")?));
        sink.reject_as(base, "third-waits", &edit)?;
    }
    // Of each queue the first task waits for the second one, and so for that of another queue.
    for (sms, waiters) in
        [(2, &["a0", "a1"][..]), (3, &["a0", "a2"]), (3, &["a1", "a2"]), (3, &["a0", "a1", "a2"])]
    {
        let base = library.get(&format!("placed/together-{sms}"))?;
        let mut edit = edit::add_wait(&base.program, waiters[0], "b0", Rule::D05)?.and(Rule::D06);
        edit = edit.clause(clause::EXE_02).at(format!("/tasks/{}", base.program.task(waiters[0])?));
        for waiter in &waiters[1..] {
            let wait = edit::add_wait(&base.program, waiter, "b0", Rule::D05)?;
            edit.operations.extend(wait.operations);
        }
        edit.what = format!("`{}` wait for the last tasks of all queues", waiters.join("`, `"));
        sink.reject_as(base, &format!("{}-wait", waiters.join("-")), &edit)?;
    }
    let base = library.get("placed/together-2")?;
    for (waiter, at) in [("a0", 0), ("a1", 2)] {
        let edit = edit::add_wait(&base.program, waiter, "b0", Rule::D05)?.at(format!("/tasks/{at}"));
        sink.reject_as(base, &format!("{waiter}-waits"), &edit)?;
    }
    Ok(())
}

/// D07: an SM that the target does not have.
pub fn sm_out_of_range(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, task, sm) in [
        ("chain/round-robin-6", "t5", -1),
        ("chain/round-robin-6", "t0", 4),
        ("chain/round-robin-6", "t3", 2_147_483_648),
        ("chain/one-sm-5", "t4", i64::MAX),
        ("chain/one-sm-5", "t2", i64::MIN),
        ("placed/independent-12", "t7", 5),
        ("placed/ring-3", "b1", 128),
        ("placed/no-target", "t2", -1),
        ("decoder/placed-half", "L0.q[t1]", 4),
        ("decoder/two-layers", "argmax", 128),
        ("chain/copy-1", "t0", -2),
    ] {
        let base = library.get(name)?;
        let at = edit::task_pointer(&base.program, task, "sm")?;
        let edit = edit::set_sm(&base.program, task, sm, Rule::D07)?.clause(clause::TGT_01).at(at);
        sink.reject_as(
            base,
            &format!("{}-on-{}", plain(task), sm.to_string().replace('-', "minus-")),
            &edit,
        )?;
    }
    for (name, sms, first) in
        [("placed/independent-12", 3, 3), ("placed/ring-7", 6, 12), ("chain/one-sm-5", 2, 0)]
    {
        let base = library.get(name)?;
        let edit = Edit::breaking(Rule::D07, format!("the target has {sms} SMs only"))
            .at(format!("/tasks/{first}/sm"))
            .replace("/target/num_sms", sms);
        sink.reject_as(base, &format!("target-of-{sms}"), &edit)?;
    }
    // Without a target every number from 0 on is an SM.
    let base = library.get("placed/no-target")?;
    let edit =
        Edit::harmless("an SM that few targets have, without a target").replace("/tasks/2/sm", json!(4096));
    sink.accept(base, "no-target-any-sm", &edit)
}
