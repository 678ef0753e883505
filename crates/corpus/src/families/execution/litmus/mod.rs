//! Litmus programs: small exact programs whose results are wrong if signal or wait orders less than EXE-03 asks for. They
//! do little but hand buffers from SM to SM, many times over, so that what a device shows once in a thousand runs of a
//! model shows here often. [ABI-06](../../../../../../spec/abi.md) says what each shape is for.
//!
//! What makes a missing order show:
//!
//! - Buffers are used again round after round, and each round's values are larger than those of the round before, in every
//!   element: sums with no negative term tell one stale element, or one that came too early, from none.
//! - Large buffers are written by all threads of a block, and read from the end as soon as they are signalled.
//! - A reader has had the lines that it reads in its cache before, with their earlier contents.
//!
//! Each shape is placed, with a role to an SM; some also stand in the corpus without SMs, for a worker to place as it likes.

mod places;
mod shapes;

use super::super::plan::Plan;
use super::arrange::Form;
use super::ledger::session;
use crate::builder::{Result, server};
use megakernel_ir::rule::{Clause, clause};
use places::Places;

/// A case: its name, what it is about, its clauses, and what it does.
type Row = (&'static str, &'static str, &'static [Clause], fn(&mut Places<'_>));

const TABLE: &[Row] = &[
    (
        "message",
        "6 times: one SM writes a buffer of 64 x 64, and 4 others read a part each as soon as they may",
        &[clause::OPC_02, clause::OPC_06],
        shapes::message,
    ),
    (
        "ping-pong",
        "8 times: one SM writes a buffer, 3 others read it and answer, and it is written again",
        &[clause::EXE_07, clause::OPC_02, clause::OPC_06],
        shapes::ping_pong,
    ),
    (
        "relay",
        "24 times: a buffer goes from SM to SM, and each adds to it in place",
        &[clause::EXE_10, clause::OPC_11],
        shapes::relay,
    ),
    (
        "causality",
        "9 times: one SM writes, a second reads and writes, and a third that waits for the second alone reads both",
        &[clause::EXE_05, clause::OPC_01, clause::OPC_11],
        shapes::causality,
    ),
    (
        "behind-nops",
        "8 times: what one SM writes is read by another that waits for a NOP on a third and a fourth",
        &[clause::EXE_05, clause::OPC_00, clause::OPC_01],
        shapes::behind_nops,
    ),
    (
        "join-one-counter",
        "5 times: 8 SMs write 12 columns each and share a counter, and a ninth reads all of them",
        &[clause::OPC_01, clause::OPC_05],
        |l| shapes::join(l, true),
    ),
    (
        "join-8-counters",
        "5 times: one SM writes a row, 7 others 12 columns each from it, and a ninth waits for the counters of all 8",
        &[clause::OPC_01, clause::OPC_05],
        |l| shapes::join(l, false),
    ),
    (
        "fork",
        "5 times: one SM writes a buffer, 8 others read it, and it is written again",
        &[clause::EXE_07, clause::OPC_01, clause::OPC_02],
        shapes::fork,
    ),
    (
        "all-to-all",
        "16 times: 4 SMs write a tile each of one of two buffers, from all of the other",
        &[clause::EXE_07, clause::OPC_05],
        shapes::all_to_all,
    ),
    (
        "rows",
        "20 rows of 8 bytes: each is the row before and an input, appended by the next of 3 SMs",
        &[clause::EXE_04, clause::OPC_07, clause::OPC_11, clause::OPC_16],
        shapes::rows,
    ),
    (
        "token",
        "12 times: one SM picks a token, a second gathers its row, and a third multiplies it",
        &[clause::OPC_02, clause::OPC_05, clause::OPC_17],
        shapes::token,
    ),
];

/// Shapes whose roles need not be on SMs of their own to tell something.
const UNPLACED: &[&str] = &["message", "ping-pong", "relay", "causality", "all-to-all"];

/// The cases. They depend on no seed.
pub fn plans() -> Result<Vec<Plan>> {
    let mut plans = Vec::new();
    let mut add =
        |name: &str, about: &str, clauses: &[Clause], form, placed, build: &dyn Fn(&mut Places<'_>)| {
            let clauses = [clause::EXE_03, clause::ABI_04, clause::ABI_06]
                .iter()
                .chain(clauses)
                .copied()
                .collect::<Vec<_>>();
            let plan = session(("litmus", name), about, &clauses, form, 1, |l, _| {
                let mut places = Places::new(l);
                build(&mut places);
                if placed {
                    places.assign();
                    l.p.target(server());
                }
                Ok(())
            });
            plan.map(|plan| plans.push(plan))
        };
    for (name, about, clauses, build) in TABLE {
        add(name, about, clauses, Form::Plain, true, build)?;
        if UNPLACED.contains(name) {
            let (name, about) = (format!("{name}-unplaced"), format!("{about}; the tasks are on no SM"));
            add(&name, &about, clauses, Form::Plain, false, build)?;
        }
    }
    add(
        "pages",
        "10 times: one SM writes an activation of its own, and 4 others read it",
        &[clause::OPC_02, clause::OPC_06],
        Form::Paged,
        true,
        &shapes::pages,
    )?;
    Ok(plans)
}
