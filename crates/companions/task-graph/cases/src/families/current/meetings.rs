//! Meetings in the wrong order: small systems, each beside one in which the order is right.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Document, Library, Sink};
use megakernel_ir::rule::{Rule, clause};
use serde_json::json;

use super::super::base::GraphCases;
use super::super::graphs::act;
use super::collectives::ALL_REDUCE;
use crate::build::{GraphBuilder, NewTask, system};
use crate::lines;

const IDENTITY: i64 = 121;
const PUT: i64 = 301;

/// Which meetings a rank goes to, one after the other or at will.
struct Plan {
    meetings: &'static [&'static str],
    in_order: bool,
}

const fn row(meetings: &'static [&'static str]) -> Plan {
    Plan { meetings, in_order: true }
}

const fn at_will(meetings: &'static [&'static str]) -> Plan {
    Plan { meetings, in_order: false }
}

/// The graph of a rank: a collective for each meeting, whose team is its letter, or 0 for all if they are one team.
fn graph(rank: u16, plan: &Plan, one_team: bool) -> GraphBuilder {
    let mut graph = GraphBuilder::of_rank(rank).extended();
    let mut after = None;
    for (n, name) in plan.meetings.iter().enumerate() {
        let team = if one_team { 0 } else { i64::from(name.as_bytes().first().copied().unwrap_or(0)) };
        let mut task = NewTask::new(name, ALL_REDUCE)
            .reads(&[act(&format!("partial_{name}"), 4).whole()])
            .writes(&[act(&format!("sum_{name}"), 4).whole()])
            .word(team, -1);
        if let Some(event) = after {
            task = task.after(event);
        }
        if plan.in_order && n + 1 < plan.meetings.len() {
            let event = graph.event(&format!("after-{name}"));
            task = task.triggers(event);
            after = Some(event);
        }
        graph.add(task);
    }
    graph
}

/// TD03, TD04, TX05 and TX06.
pub fn meetings(_: &Library, sink: &mut Sink) -> Result<()> {
    let mut case =
        |name: &str, what: &str, graphs: Vec<GraphBuilder>, rule: Option<(Rule, &str)>| -> Result<()> {
            let text = crate::build::text(&system(&graphs, None)?.value);
            let mut clauses = vec![clause::TGR_23];
            let mut expect = json!({"verdict": "accept", "warnings": []});
            if let Some((rule, at)) = rule {
                clauses.insert(0, *rule.clause());
                expect = json!({"verdict": "reject", "rules": [rule], "at": at});
            }
            let twin = rule.map(|_| name.replace("-wrong", "-right"));
            sink.graph_text("validate", name, what, &clauses, &Document::Text(&text), expect, twin.as_deref())
        };
    let all = |plans: &[Plan], one_team: bool| -> Vec<GraphBuilder> {
        (0..).zip(plans).map(|(rank, plan)| graph(rank, plan, one_team)).collect()
    };
    let first = "/ranks/0/all_tasks/2";
    let waits = "/ranks/0/all_tasks/2/dependent_event";

    case(
        "row-right",
        "two ranks go to two meetings in one order",
        all(&[row(&["a", "b"]), row(&["a", "b"])], false),
        None,
    )?;
    let wrong = all(&[row(&["a", "b"]), row(&["b", "a"])], false);
    case(
        "row-wrong",
        "each of two ranks goes first to the meeting that is the other's second",
        wrong,
        Some((Rule::TD03, first)),
    )?;
    let right = all(&[row(&["a", "b", "c"]), row(&["a", "b", "c"]), row(&["a", "b", "c"])], false);
    case("ring-right", "three ranks go to three meetings in one order", right, None)?;
    let wrong = all(&[row(&["a", "b", "c"]), row(&["a", "b", "c"]), row(&["b", "a", "c"])], false);
    case(
        "ring-wrong",
        "one of three ranks goes to two meetings in the other order",
        wrong,
        Some((Rule::TD03, first)),
    )?;

    let right = all(&[at_will(&["a", "b"]), at_will(&["a", "b"])], false);
    case("ids-right", "two ranks go to two meetings at will, in one order of ids", right, None)?;
    let wrong = all(&[at_will(&["a", "b"]), at_will(&["b", "a"])], false);
    case(
        "ids-wrong",
        "two ranks go to two meetings at will, in another order of ids",
        wrong,
        Some((Rule::TD04, waits)),
    )?;
    let right =
        all(&[at_will(&["a", "b", "c"]), at_will(&["a", "b", "c"]), at_will(&["a", "b", "c"])], false);
    case("ids-of-three-right", "three ranks go to three meetings at will, in one order of ids", right, None)?;
    let wrong =
        all(&[at_will(&["a", "b", "c"]), at_will(&["a", "b", "c"]), at_will(&["c", "a", "b"])], false);
    case(
        "ids-of-three-wrong",
        "one of three ranks has its last meeting first in its queue",
        wrong,
        Some((Rule::TD04, waits)),
    )?;
    let wrong = all(&[at_will(&["a", "b"]), row(&["b", "a"])], false);
    case(
        "mixed-wrong",
        "one rank goes in an order that the queue of the other does not have",
        wrong,
        Some((Rule::TD04, waits)),
    )?;
    case(
        "mixed-right",
        "one rank goes in the order of the other's queue",
        all(&[at_will(&["a", "b"]), row(&["a", "b"])], false),
        None,
    )?;

    case(
        "team-right",
        "two meetings of one team, one after the other",
        all(&[row(&["a", "b"]), row(&["a", "b"])], true),
        None,
    )?;
    let wrong = all(&[row(&["a", "b"]), row(&["b", "a"])], true);
    case(
        "team-wrong",
        "two meetings of one team, in another order on one rank",
        wrong,
        Some((Rule::TX05, "/ranks/1/all_tasks/2")),
    )?;
    case(
        "once-right",
        "two meetings of one team, one after the other on three ranks",
        all(&[row(&["a", "b"]), row(&["a", "b"]), row(&["a", "b"])], true),
        None,
    )?;
    let wrong = all(&[row(&["a", "b"]), at_will(&["a", "b"]), row(&["a", "b"])], true);
    case(
        "once-wrong",
        "two meetings of one team, on one rank both at will",
        wrong,
        Some((Rule::TX06, "/ranks/1/all_tasks/3")),
    )?;
    case(
        "missing-right",
        "two ranks go to two meetings",
        all(&[row(&["a", "b"]), row(&["a", "b"])], false),
        None,
    )?;
    let wrong = all(&[row(&["a", "b"]), row(&["a"])], false);
    case(
        "missing-wrong",
        "one of two ranks goes to one of two meetings",
        wrong,
        Some((Rule::TX05, "/ranks/0/all_tasks/3")),
    )?;

    // An input 0 that one of them has and the other has not.
    for (name, what, ranks, wrong) in [
        ("inputs-right", "two ranks meet to sum up one tile", ["meet r:p w:s", "meet r:p w:s"], false),
        ("no-input-right", "two ranks meet, and have nothing to sum up", ["meet w:s", "meet w:s"], false),
        (
            "inputs-wrong",
            "of two ranks that meet the second sums up nothing",
            ["meet r:p w:s", "meet w:s"],
            true,
        ),
        (
            "no-input-wrong",
            "of two ranks that meet the first sums up nothing",
            ["meet w:s", "meet r:p w:s"],
            true,
        ),
    ] {
        let graphs = lines::graphs(&ranks.map(|line| [line]))?;
        case(name, what, graphs, wrong.then_some((Rule::TX05, "/ranks/1/all_tasks/2")))?;
    }

    // What a collective leads to is the end of another rank alone: its own goes on, and starts it once more.
    for right in [true, false] {
        let mut ranks = vec![GraphBuilder::of_rank(0).extended(), GraphBuilder::of_rank(1).extended()];
        let met = ranks[0].event("met");
        let meet = |label: &str| {
            NewTask::new(label, ALL_REDUCE)
                .reads(&[act("partial_a", 4).whole()])
                .writes(&[act("sum_a", 4).whole()])
                .word(0, -1)
        };
        // Rank 1 counts the put at its end.
        let end = ranks[1].event("told");
        ranks[1].add(meet("meet"));
        ranks[1].add(NewTask::new("told-of", IDENTITY).after_signal(end));
        ranks[1].count(end, 1);
        ranks[0].add(meet("meet").triggers(met));
        ranks[0].add(NewTask::new("put", PUT).after(met).triggers_at(1, end));
        let mut filler = NewTask::new("filler", IDENTITY);
        if right {
            filler = filler.after(met);
        }
        ranks[0].add(filler);
        let name = if right { "again-right" } else { "again-wrong" };
        let what = "a collective that leads to the end of its own rank, or of the other one only";
        let rule = (!right).then_some((Rule::TX06, "/ranks/0/all_tasks/2"));
        case(name, what, ranks, rule)?;
    }
    Ok(())
}
