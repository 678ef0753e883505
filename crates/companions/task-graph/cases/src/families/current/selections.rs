//! Requests, experts and blocks: tasks that list one tile and write different parts of it.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::{Library, Sink};
use megakernel_ir::rule::{Rule, clause};

use super::super::base::{GraphBase, GraphCases, library};
use super::super::graphs::act;
use super::{with_type, with_word};
use crate::build::{GraphBuilder, NewTask, Tensor};

const LINEAR: i64 = 120;
const ATTENTION: i64 = 153;
const W13: i64 = 254;
const W2: i64 = 255;

/// A word whose lower, middle and upper parts are these.
fn word(low: i64, middle: i64, high: i64) -> [i64; 2] {
    [middle << 16 | low, high]
}

/// The metadata of a request and nothing else.
fn of_request(request: i64) -> [i64; 2] {
    [-65536 + request, -1]
}

/// Two requests and two heads of paged attention, between a projection and another; experts after a router; blocks of one tensor.
pub fn bases() -> Result<Vec<GraphBase>> {
    let clauses = &[clause::TGR_22, clause::TGR_05];
    let mut out = Vec::new();
    for (name, summary, requests) in [
        ("batch/two", "paged attention of two requests and two heads", 2),
        ("batch/eight", "paged attention of eight requests and two heads", 8),
    ] {
        let heads = 2;
        let width = 4;
        let mut graph = GraphBuilder::new().extended();
        let (projected, attended) = (graph.event("projected"), graph.event("attended"));
        let x = Tensor::bf16("x", &[requests, 8]);
        let qkv = Tensor::bf16("attn_in", &[requests, heads * width]);
        let o = Tensor::bf16("attn_out", &[requests, heads * width]);
        for n in 0..heads {
            let w = Tensor::bf16("layer_0_qkv_proj", &[heads * width, 8]);
            let task = NewTask::new(&format!("qkv{n}"), LINEAR)
                .reads(&[x.whole(), w.block(0, n, heads)])
                .writes(&[qkv.block(1, n, heads)])
                .triggers(projected);
            graph.add(task);
        }
        for request in 0..requests {
            for n in 0..heads {
                let cache = |kind: &str| {
                    Tensor::bf16(&format!("layer_0_{kind}_cache"), &[2, 4, heads, 4]).block(2, n, heads)
                };
                let norm = |kind: &str| Tensor::bf16(&format!("layer_0_{kind}_norm"), &[4]).whole();
                let turn = |kind: &str| Tensor::bf16(&format!("{kind}_position_embedding"), &[8, 4]).whole();
                let task = NewTask::new(&format!("attend-q{request}-h{n}"), ATTENTION)
                    .reads(&[
                        qkv.block(1, n, heads),
                        cache("k"),
                        cache("v"),
                        norm("q"),
                        norm("k"),
                        turn("cos"),
                        turn("sin"),
                    ])
                    .writes(&[o.block(1, n, heads)])
                    .after(projected)
                    .triggers(attended)
                    .request(request);
                graph.add(task);
            }
        }
        for n in 0..heads {
            let y = Tensor::bf16("attn_proj_out", &[requests, 8]);
            let task = NewTask::new(&format!("out{n}"), LINEAR)
                .reads(&[o.whole(), Tensor::bf16("layer_0_o_proj", &[8, heads * width]).block(0, n, heads)])
                .writes(&[y.block(1, n, heads)])
                .after(attended);
            graph.add(task);
        }
        out.push(GraphBase::new(name, summary, clauses, graph.finish()?));
    }

    let mut graph = GraphBuilder::new().extended();
    let (routed, mixed, gated, done) =
        (graph.event("routed"), graph.event("mixed"), graph.event("gated"), graph.event("done"));
    let (x, weight) = (act("rmsnorm_out", 8), act("moe_topk_weight", 4));
    let routing = Tensor::new("moe_routing_indices", 955, &[4, 2]);
    let mask = Tensor::new("moe_mask", 955, &[5]);
    let mid = Tensor::bf16("mlp_mid", &[2, 2, 4]);
    let act_mid = Tensor::bf16("silu_mul_out", &[2, 2, 2]);
    let y = Tensor::bf16("mlp_out", &[2, 2, 4]);
    graph.add(
        NewTask::new("top-k", 260)
            .reads(&[act("moe_gate_out", 4).whole()])
            .writes(&[weight.whole(), routing.whole(), mask.whole()])
            .triggers(routed),
    );
    for (label, code, from, w, to, after, triggers, count) in [
        ("w13", W13, x.whole(), "gateup_proj", &mid, routed, mixed, 10),
        ("w2", W2, act_mid.whole(), "down_proj", &y, gated, done, 8),
    ] {
        for offset in 0..count {
            for column in 0..2 {
                let w = Tensor::bf16(w, &[4, 4, 2]).block(1, column, 2);
                graph.add(
                    NewTask::new(&format!("{label}-e{offset}-c{column}"), code)
                        .reads(&[from.clone(), w, routing.whole(), mask.whole()])
                        .writes(&[to.block(2, column, 2)])
                        .after(after)
                        .triggers(triggers)
                        .word(offset, -1),
                );
            }
        }
        if label == "w13" {
            graph.add(
                NewTask::new("silu", 118)
                    .reads(&[mid.whole()])
                    .writes(&[act_mid.whole()])
                    .after(mixed)
                    .triggers(gated),
            );
        }
    }
    graph.add(
        NewTask::new("sum", 261)
            .reads(&[y.whole(), weight.whole(), act("residual", 8).whole()])
            .writes(&[act("x", 8).whole()])
            .after(done),
    );
    let summary = "a router, experts in strides of 10 and 8, and their sum";
    out.push(GraphBase::new("experts/layer", summary, clauses, graph.finish()?));

    let mut graph = GraphBuilder::new().extended();
    let all = graph.event("all");
    for n in 0..3 {
        let inputs: Vec<_> = (0..5).map(|i| act(&format!("i{n}{i}"), 4).whole()).collect();
        let outputs: Vec<_> = (0..2).map(|o| act(&format!("o{n}{o}"), 4).whole()).collect();
        let task = NewTask::new(&format!("b{n}"), LINEAR).reads(&inputs).writes(&outputs);
        graph.add(task.triggers(all).word(n, 0));
    }
    graph.add(
        NewTask::new("reader", 121).reads(&[act("x", 4).whole()]).writes(&[act("y", 4).whole()]).after(all),
    );
    let summary = "three tasks side by side, and one after them";
    out.push(GraphBase::new("blocks/three", summary, clauses, graph.finish()?));
    Ok(out)
}

/// What of the word, or else the variant, tells parts of an operand apart.
#[derive(Clone, Copy)]
enum By {
    Low,
    Middle,
    High,
    Expert(i64),
    Variant,
}

/// An operand that tasks of a type write in parts, in the list of outputs where `true`.
const PARTS: [(i64, bool, usize, &[By]); 41] = [
    (116, true, 0, &[By::Low]),
    (153, true, 0, &[By::Low]),
    (257, true, 0, &[By::Low]),
    (164, true, 0, &[By::Middle]),
    (164, true, 1, &[By::Low, By::Middle]),
    (263, true, 0, &[By::Middle]),
    (263, true, 1, &[By::Low, By::Middle]),
    (161, true, 0, &[By::Expert(5)]),
    (162, true, 0, &[By::Expert(4)]),
    (254, true, 0, &[By::Expert(10)]),
    (255, true, 0, &[By::Expert(8)]),
    (248, true, 0, &[By::Expert(0)]),
    (249, true, 0, &[By::Expert(0)]),
    (266, true, 0, WORD),
    (266, true, 1, WORD),
    (269, true, 0, WORD),
    (269, true, 1, WORD),
    (287, true, 0, WORD),
    (287, true, 1, WORD),
    (289, true, 0, WORD),
    (289, true, 1, WORD),
    (291, true, 0, WORD),
    (291, true, 1, WORD),
    (267, true, 0, WORD),
    (270, true, 0, WORD),
    (288, true, 0, WORD),
    (290, true, 0, WORD),
    (292, true, 0, WORD),
    (295, true, 0, WORD),
    (268, false, 4, WORD),
    (273, true, 0, &[By::Variant]),
    (285, true, 0, &[By::Variant]),
    (274, false, 2, &[By::Low]),
    (274, true, 0, &[By::Low]),
    (293, false, 3, &[By::Low]),
    (293, false, 4, &[By::Low]),
    // These count rows from 0 for every request, go by the worker, or write everything.
    (264, true, 0, &[]),
    (275, true, 0, &[]),
    (278, false, 3, &[]),
    (284, true, 0, &[]),
    (260, true, 1, &[]),
];
const WORD: &[By] = &[By::Low, By::Middle, By::High];

/// Parts that are apart, and parts that are not.
pub fn selections(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    let base = library.get("blocks/three")?;
    for (code, is_output, index, by) in PARTS {
        let list = if is_output { "outputs" } else { "inputs" };
        // Tasks 0 and 2 of the type name one tensor, and differ in these members; task 1 has nothing to do with them.
        let pair = |edit: Edit, name: &str, apart: Option<By>| -> Result<(String, Edit)> {
            let mut edit = edit;
            let parts = match apart {
                Some(By::Low) => [1, 0, 0],
                Some(By::Middle) => [0, 1, 0],
                Some(By::High) => [0, 0, 1],
                Some(By::Expert(_)) => [3, 0, 0],
                Some(By::Variant) | None => [0, 0, 0],
            };
            edit = with_word(edit, base, "b0", word(0, 0, 0))?;
            edit = with_word(edit, base, "b2", word(parts[0], parts[1], parts[2]))?;
            if matches!(apart, Some(By::Variant)) {
                edit = edit.replace(base.at("b2", "variant_id")?, 1);
            }
            for task in ["b0", "b2"] {
                edit = with_type(edit, base, task, code)?;
                edit = edit.replace(base.at(task, &format!("{list}/{index}/base_ptr"))?, "shared");
            }
            Ok((format!("{code} {list} {index} {name}"), edit.clause(clause::TGR_22)))
        };
        let what =
            format!("two tasks of type {code} name one tensor, and nothing that tells their parts apart");
        let edit = Edit::breaking(Rule::TR04, what).at(base.at("b2", &format!("{list}/{index}"))?);
        let (name, edit) = pair(edit, "alike", None)?;
        sink.graph_reject(base, &name, &edit)?;
        for (part, name) in [
            (By::Low, "other low part"),
            (By::Middle, "other middle part"),
            (By::High, "other upper part"),
            (By::Variant, "other variant"),
        ] {
            let counts = by.iter().any(|own| match (own, part) {
                (By::Low, By::Low) | (By::Middle, By::Middle) | (By::High, By::High) => true,
                (By::Variant, By::Variant) => true,
                // The offset of experts is both lower parts.
                (By::Expert(_), By::Low) => true,
                (By::Expert(stride), By::Middle) => *stride == 0 || 65536 % stride != 0,
                _ => false,
            });
            // Where a part says nothing, one look is enough.
            let what = format!("two tasks of type {code} name one tensor, with another {name}");
            match counts {
                true => {
                    let (name, edit) = pair(Edit::harmless(what), name, Some(part))?;
                    sink.graph_accept(base, &name, &edit)?;
                }
                false if by.len() < 2 && matches!(part, By::Low | By::High) => {
                    let edit =
                        Edit::breaking(Rule::TR04, what).at(base.at("b2", &format!("{list}/{index}"))?);
                    let (name, edit) = pair(edit, name, Some(part))?;
                    sink.graph_reject(base, &name, &edit)?;
                }
                false => {}
            }
        }
    }
    strides(sink, base)?;
    signs(sink, base)?;
    batches(sink)
}

/// Values of which one is the other with a sign: requests in 16 bits, and offsets of experts in 32.
fn signs(sink: &mut Sink, base: &GraphBase) -> Result<()> {
    for (code, name, bits) in [(116, "requests", 0xffff), (274, "requests", 0xffff), (248, "experts", -1)] {
        for (one, other) in [(1, -1), (-3, 3), (-2, -2)] {
            let what = format!("{name} {one} and {other}, of type {code}");
            let edit = match one == other {
                true => Edit::breaking(Rule::TR04, what).at(base.at("b2", "outputs/0")?),
                false => Edit::harmless(what),
            };
            let edit = with_word(edit, base, "b0", [one & bits, -1])?;
            let mut edit = with_word(edit, base, "b2", [other & bits, -1])?;
            for task in ["b0", "b2"] {
                edit = with_type(edit, base, task, code)?;
                edit = edit.replace(base.at(task, "outputs/0/base_ptr")?, "shared");
            }
            let sign = |value: i64| if value < 0 { format!("minus {}", -value) } else { value.to_string() };
            let name = format!("{code} {name} {} and {}", sign(one), sign(other));
            let edit = edit.clause(clause::TGR_22);
            match one == other {
                true => sink.graph_reject(base, &name, &edit)?,
                false => sink.graph_accept(base, &name, &edit)?,
            }
        }
    }
    Ok(())
}

/// Experts of one stride.
fn strides(sink: &mut Sink, base: &GraphBase) -> Result<()> {
    for (code, stride) in [(254, 10), (255, 8), (161, 5), (162, 4), (248, 0), (249, 0)] {
        for (one, other) in [(0, stride), (1, 2 * stride + 1), (2, stride + 3), (0, 3), (0, 40)] {
            let meets = one == other || stride > 0 && (other - one) % stride == 0;
            if one == other {
                continue;
            }
            let what = format!("experts from {one} and from {other} on, of type {code}");
            let edit = match meets {
                true => Edit::breaking(Rule::TR04, what).at(base.at("b2", "outputs/0")?),
                false => Edit::harmless(what),
            };
            let edit = with_word(edit, base, "b0", word(one, 0, 0))?;
            let mut edit = with_word(edit, base, "b2", word(other, 0, 0))?;
            for task in ["b0", "b2"] {
                edit = with_type(edit, base, task, code)?;
                edit = edit.replace(base.at(task, "outputs/0/base_ptr")?, "shared");
            }
            let (name, edit) = (format!("{code} experts {one} and {other}"), edit.clause(clause::TGR_22));
            match meets {
                true => sink.graph_reject(base, &name, &edit)?,
                false => sink.graph_accept(base, &name, &edit)?,
            }
        }
    }
    // Different strides, and different types with blocks of their own, say nothing of each other.
    for (one, other) in [(254, 255), (161, 162), (254, 248), (266, 295), (287, 289), (273, 285)] {
        let what = format!("tasks of types {one} and {other} name one tensor, with different metadata");
        let edit = Edit::breaking(Rule::TR04, what).at(base.at("b2", "outputs/0")?);
        let mut edit = with_word(edit, base, "b2", word(1, 1, 1))?.replace(base.at("b2", "variant_id")?, 1);
        for (task, code) in [("b0", one), ("b2", other)] {
            edit = with_type(edit, base, task, code)?;
            edit = edit.replace(base.at(task, "outputs/0/base_ptr")?, "shared");
        }
        sink.graph_reject(base, &format!("{one} and {other}"), &edit.clause(clause::TGR_22))?;
    }
    // Requests mean the same to all types.
    for (one, other) in [(116, 153), (153, 257)] {
        let what = format!("requests 0 and 1 of types {one} and {other}");
        let mut edit = with_word(Edit::harmless(what), base, "b2", word(1, 0, 0))?;
        for (task, code) in [("b0", one), ("b2", other)] {
            edit = with_type(edit, base, task, code)?;
            edit = edit.replace(base.at(task, "outputs/0/base_ptr")?, "shared");
        }
        sink.graph_accept(base, &format!("requests of {one} and {other}"), &edit.clause(clause::TGR_22))?;
    }
    Ok(())
}

/// Layers with requests and with experts.
fn batches(sink: &mut Sink) -> Result<()> {
    let library = library()?;
    for (name, request, other) in [("batch/two", 0, 1), ("batch/eight", 2, 5), ("batch/eight", 6, 7)] {
        let base = library.get(name)?;
        let task = format!("attend-q{other}-h1");
        let what = format!("a task of request {other} says that it is of request {request}");
        // It reads and writes the same pages, and writes the same rows.
        let edit = Edit::breaking(Rule::TR04, what).or(Rule::TR02).or(Rule::TR03);
        let edit = with_word(edit, base, &task, of_request(request))?
            .at(base.at(&task, "outputs/0")?)
            .clause(clause::TGR_22);
        sink.graph_reject(base, &format!("request {request} twice"), &edit)?;
        let base = library.get(name)?;
        let edit = Edit::breaking(Rule::TR02, "a head of one request is not awaited")
            .at(base.at("out0", "inputs/0")?);
        let attended = base.at("attended", "num_triggers")?;
        let end = base.at("END", "num_triggers")?;
        let late = format!("attend-q{other}-h0");
        let edit = edit
            .replace(base.at(&late, "trigger_event")?, base.index("END")?)
            .replace(attended.clone(), base.int(&attended)? - 1)
            .replace(end.clone(), base.int(&end)? + 1);
        sink.graph_reject(base, &format!("{late} not awaited"), &edit)?;
        let edit = Edit::harmless("all requests change their numbers").clause(clause::TGR_22);
        let edit = with_word(edit, base, &format!("attend-q{request}-h0"), of_request(20))?;
        sink.graph_accept(base, &format!("request {request} renumbered"), &edit)?;
        // A kernel that knows no requests writes all rows.
        let edit = Edit::breaking(Rule::TR04, "one of the tasks is of a type that knows no requests")
            .or(Rule::TR02)
            .or(Rule::TR03);
        let edit = with_type(edit, base, &late, 115)?.at(base.at(&late, "outputs/0")?).clause(clause::TGR_05);
        sink.graph_reject(base, &format!("{late} of one request"), &edit)?;
    }
    let base = library.get("experts/layer")?;
    for (label, from, to, column) in [
        ("w13", 9, 10, 0),
        ("w13", 4, 3, 1),
        ("w13", 2, 25, 0),
        ("w2", 7, 8, 1),
        ("w2", 1, 0, 0),
        ("w2", 5, 12, 1),
    ] {
        let task = format!("{label}-e{from}-c{column}");
        let stride = if label == "w13" { 10 } else { 8 };
        let what = format!(
            "a task takes the experts from {to} on in place of those from {from} on, in strides of {stride}"
        );
        let edit = with_word(Edit::breaking(Rule::TR04, what), base, &task, [to, -1])?.clause(clause::TGR_22);
        sink.graph_reject(base, &format!("{task} from {to}"), &edit)?;
    }
    for (task, code) in [("w13-e3-c0", 253), ("w13-e7-c1", 255), ("w2-e0-c0", 254), ("w2-e6-c1", 252)] {
        let edit = Edit::breaking(Rule::TR04, format!("one of the tasks is of type {code}"));
        let edit = with_type(edit, base, task, code)?.clause(clause::TGR_22);
        sink.graph_reject(base, &format!("{task} of type {code}"), &edit)?;
    }
    for (task, list, what) in [
        ("silu", "inputs/0", "the activation does not wait for the last experts"),
        ("sum", "inputs/0", "the sum does not wait for the last experts"),
    ] {
        let late = if task == "silu" { "w13-e9-c1" } else { "w2-e7-c1" };
        let event = if task == "silu" { "mixed" } else { "done" };
        let (count, end) = (base.at(event, "num_triggers")?, base.at("END", "num_triggers")?);
        let edit = Edit::breaking(Rule::TR02, what)
            .at(base.at(task, list)?)
            .replace(base.at(late, "trigger_event")?, base.index("END")?)
            .replace(count.clone(), base.int(&count)? - 1)
            .replace(end.clone(), base.int(&end)? + 1);
        sink.graph_reject(base, what, &edit)?;
    }
    Ok(())
}
