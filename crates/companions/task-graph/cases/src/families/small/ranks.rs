//! Systems in which the order of queues, or of iterations, decides.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use megakernel_ir::rule::{Rule, clause};
use serde_json::json;

use super::Expected::{Accepted, Broken};
use super::{Cases, Graphs};
use crate::build::{system, text};
use crate::lines;

/// TD04 over ranks: with one worker each, a rank waits for what stands behind in the queue of another.
pub fn queues(_: &Library, sink: &mut Sink) -> Result<()> {
    let mut cases = Cases { sink, clauses: &[clause::TGR_23, clause::TGR_09] };
    const FIRST: &str = "/ranks/0/all_tasks/2/dependent_event";
    const SECOND: &str = "/ranks/1/all_tasks/2/dependent_event";
    cases.rows(&[
        (
            "copies-first-right",
            "of two ranks that meet, one waits for a copy that the other makes before",
            Graphs::System(&[&["meet e"], &["copy > 0.e", "meet"]]),
            Accepted,
        ),
        (
            "copies-first-wrong",
            "of two ranks that meet, one waits for a copy that the other makes when they have met",
            Graphs::System(&[&["meet e"], &["meet", "copy > 0.e"]]),
            Broken(&[Rule::TD04], SECOND, "copies-first-right"),
        ),
        (
            "copies-first-turned-right",
            "of two ranks that meet, the second waits for a copy that the first makes before",
            Graphs::System(&[&["copy > 1.e", "meet"], &["meet e"]]),
            Accepted,
        ),
        (
            "copies-first-turned-wrong",
            "of two ranks that meet, the second waits for a copy that the first makes when they have met",
            Graphs::System(&[&["meet", "copy > 1.e"], &["meet e"]]),
            Broken(&[Rule::TD04], FIRST, "copies-first-turned-right"),
        ),
        (
            "copies-first-of-three-right",
            "of three ranks that meet, one waits for a copy that another makes before",
            Graphs::System(&[&["meet"], &["meet e"], &["copy > 1.e", "meet"]]),
            Accepted,
        ),
        (
            "copies-first-of-three-wrong",
            "of three ranks that meet, one waits for a copy that another makes when they have met",
            Graphs::System(&[&["meet"], &["meet e"], &["meet", "copy > 1.e"]]),
            Broken(&[Rule::TD04], "/ranks/2/all_tasks/2/dependent_event", "copies-first-of-three-right"),
        ),
        (
            "lets-mate-come-right",
            "a rank copies before it meets another, which waits for that",
            Graphs::System(&[&["copy h > 1.e", "meet"], &["copy > 0.h", "meet e"]]),
            Accepted,
        ),
        (
            "lets-mate-come-wrong",
            "a rank copies when it has met another, which waits for that before it comes",
            Graphs::System(&[&["meet", "copy h > 1.e"], &["copy > 0.h", "meet e"]]),
            Broken(&[Rule::TD04], FIRST, "lets-mate-come-right"),
        ),
        (
            "two-signs-right",
            "a task that waits for the signs of two ranks sends one itself, for which a later task of the first waits",
            Graphs::System(&[
                &["copy > 1.e", "put f > 1.END"],
                &["put e > 2.END", "put e > 0.END", "copy > 0.f"],
                &["copy > 1.e"],
            ]),
            Accepted,
        ),
        (
            "two-signs-wrong",
            "a rank sends one of two signs when it has had an answer that comes after both",
            Graphs::System(&[
                &["put f > 1.END", "copy > 1.e"],
                &["put e > 2.END", "put e > 0.END", "copy > 0.f"],
                &["copy > 1.e"],
            ]),
            Broken(&[Rule::TD04], FIRST, "two-signs-right"),
        ),
    ])
}

/// TX04, TX06 and what they pass over: whether the next iteration of a rank waits for the last one.
pub fn iterations(_: &Library, sink: &mut Sink) -> Result<()> {
    let mut cases = Cases { sink, clauses: &[clause::TGR_09, clause::TGR_23] };
    cases.rows(&[
        (
            "meets-elsewhere-right",
            "a collective leads to the end of the other rank alone, and waits for the begin there",
            Graphs::System(&[
                &["run h > e", "meet e > f", "copy f > 1.n", "run"],
                &["copy > 0.h", "meet", "run n"],
            ]),
            Accepted,
        ),
        (
            "meets-elsewhere-wrong",
            "a collective leads to the end of the other rank alone, and waits for what follows its own begin alone",
            Graphs::System(&[&["run > e", "meet e > f", "copy f > 1.n", "run"], &["meet", "run n"]]),
            Broken(&[Rule::TX04, Rule::TX06], "/ranks/0/all_tasks/3", "meets-elsewhere-right"),
        ),
        (
            "meets-elsewhere-turned-right",
            "a collective of the second rank leads to the end of the first alone, and waits for the begin there",
            Graphs::System(&[
                &["copy > 1.h", "meet", "run n"],
                &["run h > e", "meet e > f", "copy f > 0.n", "run"],
            ]),
            Accepted,
        ),
        (
            "meets-in-vain-right",
            "two ranks meet, and one has another task",
            Graphs::System(&[&["meet", "run"], &["meet"]]),
            Accepted,
        ),
        (
            "meets-in-vain-wrong",
            "a collective triggers nothing",
            Graphs::System(&[&["meet > -", "run"], &["meet"]]),
            Broken(&[Rule::TD05], "/ranks/0/all_tasks/2/trigger_event", "meets-in-vain-right"),
        ),
        (
            "meets-in-vain-turned-wrong",
            "a collective of the second rank triggers nothing",
            Graphs::System(&[&["meet"], &["meet > -", "run"]]),
            Broken(&[Rule::TD05], "/ranks/1/all_tasks/2/trigger_event", "meets-in-vain-right"),
        ),
        (
            "one-copy-right",
            "a copy lets a task of another rank go, and its own rank waits for the answer",
            Graphs::System(&[&["copy > 1.f", "run g"], &["run f > h", "copy h > 0.g", "run h"]]),
            Accepted,
        ),
        (
            "two-copies-wrong",
            "two copies of one rank let a task of another go, and their own rank does not wait for an answer",
            Graphs::System(&[&["copy > 1.f", "copy > 1.f", "run"], &["run f"]]),
            Broken(&[Rule::TX02], "/ranks/1/all_events/2", "one-copy-right"),
        ),
    ])?;
    // An event of which one producer follows the begin of its own rank alone, and nothing after it leads to the end there.
    let ahead = |ranks: usize, own: usize, other: usize, wrong: bool| -> Result<String> {
        let mut lines: Vec<Vec<String>> = vec![vec!["run".to_owned()]; ranks];
        let first = if wrong { "run > e" } else { "run h > e" };
        for (rank, list) in [
            (
                own,
                vec![
                    first.to_owned(),
                    "run h > e".to_owned(),
                    format!("copy e > {other}.f"),
                    "run".to_owned(),
                ],
            ),
            (other, vec![format!("copy > {own}.h"), "run f".to_owned()]),
        ] {
            if let Some(lines) = lines.get_mut(rank) {
                *lines = list;
            }
        }
        Ok(text(&lines::ranks(&lines)?))
    };
    for (name, ranks, own, other, at) in [
        ("first", 2, 0, 1, "/ranks/0/all_tasks/2/trigger_event"),
        ("second", 2, 1, 0, "/ranks/1/all_tasks/2/trigger_event"),
        ("third", 3, 2, 0, "/ranks/2/all_tasks/2/trigger_event"),
        ("sixty-fifth", 65, 64, 0, "/ranks/64/all_tasks/2/trigger_event"),
    ] {
        let twin = format!("ahead-{name}-right");
        let of = format!(
            "of {ranks} ranks the {name} has two tasks that trigger an event which leads to the end of rank {other} alone"
        );
        cases.add(
            &twin,
            &format!("{of}, whose begin both follow"),
            &ahead(ranks, own, other, false)?,
            Accepted,
        )?;
        let expect = json!({"verdict": "reject", "rules": ["TX04"], "at": at});
        let what = format!("{of}, whose begin one follows");
        cases.put(
            &format!("ahead-{name}-wrong"),
            &what,
            &ahead(ranks, own, other, true)?,
            expect,
            &[Rule::TX04],
            Some(&twin),
        )?;
    }
    // TX01, and no warning of what is missing then.
    let twin = "own-rank";
    let what = "a rank copies to itself";
    cases.add(twin, what, &text(&lines::ranks(&[["copy > 0.x", "run x"]])?), Accepted)?;
    let mut ranks =
        lines::graphs(&[&["copy > 1.f", "reduce g"][..], &["reduce f > h", "copy h > 0.g", "run h"]])?;
    ranks.reverse();
    for (name, what, document) in [
        ("no-such-rank", "the only rank copies to the fourth", lines::ranks(&[["copy > 3.x", "run"]])?),
        (
            "ranks-reversed",
            "two ranks that copy to each other stand in the other order",
            system(&ranks, None)?.value,
        ),
    ] {
        let expect = json!({"verdict": "reject", "rules": ["TX01"], "at": "/ranks/0", "warnings": []});
        cases.put(name, what, &text(&document), expect, &[Rule::TX01, Rule::TW04], Some(twin))?;
    }
    Ok(())
}
