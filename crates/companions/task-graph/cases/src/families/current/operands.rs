//! What each type does with its operands, one operand at a time: two tasks that nothing orders, or that wait for each other, and
//! the other one reads or writes it.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::{Library, Sink};
use megakernel_ir::rule::{Rule, clause};
use serde_json::json;

use super::super::base::{GraphBase, GraphCases, library};
use super::super::graphs::act;
use super::with_type;
use crate::build::{GraphBuilder, NewTask};

const IDENTITY: i64 = 121;
const LINEAR: i64 = 120;

/// A task with as many operands as there can be, between two that have nothing to do with it; or that come before and after.
pub fn bases() -> Result<Vec<GraphBase>> {
    let mut out = Vec::new();
    for (name, summary, ordered) in [
        ("operands/apart", "a task with all its operands between two others", false),
        ("operands/in-a-row", "three tasks in a row, the second with all its operands", true),
    ] {
        let mut graph = GraphBuilder::new().extended();
        let events = ["first", "second"].map(|label| graph.event(label));
        let inputs: Vec<_> = (0..7).map(|n| act(&format!("i{n}"), 4).whole()).collect();
        let outputs: Vec<_> = (0..3).map(|n| act(&format!("o{n}"), 4).whole()).collect();
        let plain = |label: &str, from: &str, to: &str| {
            NewTask::new(label, IDENTITY).reads(&[act(from, 4).whole()]).writes(&[act(to, 4).whole()])
        };
        let mut before = plain("before", "x", "y");
        let mut one = NewTask::new("one", LINEAR).reads(&inputs).writes(&outputs);
        let mut after = plain("after", "u", "v");
        if ordered {
            before = before.triggers(events[0]);
            one = one.after(events[0]).triggers(events[1]);
            after = after.after(events[1]);
        } else {
            // Nobody waits for these two but a task of their own.
            for (n, event) in events.into_iter().enumerate() {
                graph.add(plain(&format!("signal{n}"), "s", &format!("s{n}")).triggers(event));
                graph.add(plain(&format!("waits{n}"), "s", &format!("t{n}")).after(event));
            }
        }
        graph.add(before);
        graph.add(one);
        graph.add(after);
        let clauses = &[clause::TGR_02, clause::TGR_05];
        out.push(GraphBase::new(name, summary, clauses, graph.finish()?));
    }
    Ok(out)
}

/// Inputs that a type writes: with `true` where it reads them as well.
const IN_PLACE: [(i64, usize, bool); 26] = [
    (103, 1, true),
    (103, 2, true),
    (104, 1, true),
    (104, 2, true),
    (115, 1, true),
    (115, 2, true),
    (116, 1, true),
    (116, 2, true),
    (153, 1, true),
    (153, 2, true),
    (257, 1, true),
    (257, 2, true),
    (164, 1, true),
    (164, 2, true),
    (263, 1, true),
    (263, 2, true),
    (260, 0, true),
    (280, 0, true),
    (262, 0, false),
    (268, 4, false),
    (274, 2, false),
    (278, 2, true),
    (278, 3, false),
    (293, 2, true),
    (293, 3, false),
    (293, 4, false),
];

/// How many inputs and outputs a type has that does with them what they are listed as, as far as the table above says nothing else.
const LISTED: [(i64, usize, usize); 76] = [
    (101, 2, 1),
    (102, 3, 1),
    (105, 3, 1),
    (107, 2, 1),
    (108, 3, 1),
    (109, 1, 1),
    (110, 1, 2),
    (111, 2, 1),
    (112, 1, 1),
    (113, 2, 1),
    (116, 7, 1),
    (118, 1, 1),
    (119, 2, 1),
    (120, 2, 1),
    (121, 1, 1),
    (151, 2, 1),
    (152, 3, 1),
    (153, 7, 1),
    (154, 2, 1),
    (155, 2, 1),
    (156, 3, 1),
    (157, 2, 1),
    (158, 3, 1),
    (159, 1, 1),
    (160, 2, 1),
    (161, 4, 1),
    (162, 4, 1),
    (164, 7, 2),
    (248, 6, 1),
    (249, 6, 1),
    (252, 3, 1),
    (253, 2, 1),
    (254, 4, 1),
    (255, 4, 1),
    (257, 7, 1),
    (258, 2, 1),
    (259, 1, 2),
    (260, 1, 3),
    (261, 3, 1),
    (263, 7, 2),
    (264, 2, 1),
    (265, 1, 1),
    (266, 2, 2),
    (267, 2, 1),
    (269, 2, 2),
    (270, 2, 1),
    (271, 2, 2),
    (272, 3, 3),
    (273, 1, 1),
    (274, 4, 1),
    (275, 1, 2),
    (276, 4, 1),
    (277, 5, 1),
    (278, 4, 0),
    (280, 2, 3),
    (281, 2, 1),
    (282, 2, 1),
    (283, 5, 2),
    (284, 2, 1),
    (285, 1, 1),
    (286, 2, 1),
    (287, 2, 2),
    (288, 2, 1),
    (289, 2, 2),
    (290, 2, 1),
    (291, 2, 2),
    (292, 2, 1),
    (293, 5, 0),
    (294, 1, 1),
    (295, 4, 1),
    (268, 5, 0),
    (103, 7, 1),
    (104, 7, 1),
    (115, 7, 1),
    (302, 1, 1),
    (106, 2, 1),
];

/// Operands that carry edges and are not touched: in the list of outputs, where `true`.
const UNTOUCHED: [(i64, bool, usize); 3] = [(114, true, 0), (262, false, 1), (262, true, 0)];

/// Operand by operand.
pub fn operands(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    let (apart, row) = (library.get("operands/apart")?, library.get("operands/in-a-row")?);
    let typed = |edit: Edit, base: &GraphBase, code: i64| with_type(edit, base, "one", code);
    // What a task names.
    let uses = |edit: Edit, base: &GraphBase, task: &str, list: &str, tensor: String| -> Result<Edit> {
        Ok(edit.replace(base.at(task, &format!("{list}/0/base_ptr"))?, json!(tensor)))
    };
    for (code, input, reads) in IN_PLACE {
        let tensor = format!("i{input}");
        let what = format!("a task reads input {input} of type {code}, which writes it");
        let edit =
            typed(Edit::breaking(Rule::TR02, what.clone()), apart, code)?.at(apart.at("after", "inputs/0")?);
        let edit = uses(edit, apart, "after", "inputs", tensor.clone())?.clause(clause::TGR_05);
        sink.graph_reject(apart, &format!("{code} and a later reader of input {input}"), &edit)?;
        let edit = typed(Edit::breaking(Rule::TR03, what), apart, code)?
            .at(apart.at("one", &format!("inputs/{input}"))?);
        let edit = uses(edit, apart, "before", "inputs", tensor.clone())?.clause(clause::TGR_05);
        sink.graph_reject(apart, &format!("{code} and an earlier reader of input {input}"), &edit)?;
        let what = format!("readers of input {input} of type {code} come before and after it");
        let edit = typed(Edit::harmless(what), row, code)?;
        let edit = uses(edit, row, "before", "inputs", tensor.clone())?;
        let edit = uses(edit, row, "after", "inputs", tensor.clone())?.clause(clause::TGR_05);
        sink.graph_accept(row, &format!("{code} and readers of input {input}"), &edit)?;
        if !reads {
            // What it does not read can be lost.
            let what =
                format!("input {input} of type {code} is not read, and what was written there is lost");
            let edit = typed(Edit::breaking(Rule::TR05, what), row, code)?.at(row.at("before", "outputs/0")?);
            let edit = uses(edit, row, "before", "outputs", tensor)?.clause(clause::TGR_05);
            sink.graph_reject(row, &format!("{code} overwrites input {input}"), &edit)?;
        }
    }
    for (code, inputs, outputs) in LISTED {
        let is_written = |input: &usize| IN_PLACE.iter().any(|&(other, at, _)| (other, at) == (code, *input));
        // The last of each list, so that the whole list is there.
        if let Some(input) = (0..inputs).rev().find(|input| !is_written(input)).filter(|_| code != 302) {
            let what = format!("a task overwrites input {input} of type {code}");
            let edit =
                typed(Edit::breaking(Rule::TR03, what), apart, code)?.at(apart.at("after", "outputs/0")?);
            let edit = uses(edit, apart, "after", "outputs", format!("i{input}"))?.clause(clause::TGR_05);
            sink.graph_reject(apart, &format!("{code} and a writer of input {input}"), &edit)?;
        }
        if let Some(output) = outputs.checked_sub(1).filter(|_| code != 302) {
            let what = format!("a task reads output {output} of type {code}");
            let edit =
                typed(Edit::breaking(Rule::TR02, what), apart, code)?.at(apart.at("after", "inputs/0")?);
            let edit = uses(edit, apart, "after", "inputs", format!("o{output}"))?.clause(clause::TGR_05);
            sink.graph_reject(apart, &format!("{code} and a reader of output {output}"), &edit)?;
        }
    }
    for (code, is_output, index) in UNTOUCHED {
        let list = if is_output { "output" } else { "input" };
        let tensor = format!("{}{index}", if is_output { "o" } else { "i" });
        for (task, operand) in [("before", "outputs"), ("after", "outputs")] {
            let what = format!("{list} {index} of type {code} is not touched, so anybody may write it");
            let edit = typed(Edit::harmless(what), apart, code)?.clause(clause::TGR_05);
            let edit = uses(edit, apart, task, operand, tensor.clone())?;
            sink.graph_accept(apart, &format!("{code} and {task} that writes {list} {index}"), &edit)?;
        }
    }
    for code in [1, 100, 117, 150, 198, 230, 256, 279, 300, 303] {
        let edit = typed(Edit::breaking(Rule::TW01, format!("a task of type {code}")), apart, code)?
            .at(apart.at("one", "task_type")?)
            .clause(clause::TGR_05);
        sink.graph_warn(apart, &format!("of type {code}"), &edit)?;
    }
    Ok(())
}
